"""Surfaces that go with the atoms until those of the new geometry are there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...model.surface import Surface

_ATOMS = 4
"""Atoms that take a point along."""


def moved_along(surface: Surface, before: NDArray[np.float64], after: NDArray[np.float64]) -> Surface:
    """A surface whose points have gone with the atoms about them.

    Each point moves by the mean of what the nearest atoms have moved, by the inverse fourth powers of their distances:
    one beside an atom goes with that atom, one between two goes half the way of each.

    Parameters
    ----------
    surface
        Of the geometry before; it stays as it is.
    before, after : ndarray, shape (n_atoms, 3)
        Positions in bohr.

    Returns
    -------
    Surface
        Its triangles, phases and colours are those it had; normals are not turned.
    """
    steps = after - before
    if not np.any(steps):
        return surface
    from scipy.spatial import cKDTree

    k = min(_ATOMS, len(before))
    distances, atoms = cKDTree(before).query(surface.vertices, k=list(range(1, k + 1)))
    shares = 1 / np.maximum(distances, 1e-3) ** 4
    shares /= shares.sum(axis=1, keepdims=True)
    vertices = surface.vertices + np.einsum("va,vax->vx", shares, steps[atoms]).astype(surface.vertices.dtype)
    return replace(surface, vertices=vertices)
