"""Surfaces and volumes that go with the atoms until those of the new geometry are there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...model.lattice import Lattice
from ...model.surface import Surface
from ...model.volume import Volume

_ATOMS = 4
"""Atoms that take a point along."""

_SLAB = 100_000
"""Points of a volume that are moved at once, about."""


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
    moved = _moved(surface.vertices, before, steps).astype(surface.vertices.dtype)
    return replace(surface, vertices=surface.vertices + moved)


def volume_moved_along(volume: Volume, before: NDArray[np.float64], after: NDArray[np.float64]) -> Volume:
    """A volume whose values have gone with the atoms, for viewers that draw surfaces from volumes.

    The value at a point is that at the place it has come from: backwards along the mean of what the atoms have moved
    that are nearest now. Where the atoms have left the lattice, it is larger than before.

    Parameters
    ----------
    volume
        Of the geometry before; it stays as it is.
    before, after : ndarray, shape (n_atoms, 3)
        Positions in bohr.

    Returns
    -------
    Volume
        By trilinear interpolation; zero where the values have come from outside. Memory: 4 bytes a point, and 20 MB.
    """
    steps = after - before
    if not np.any(steps):
        return volume
    from scipy.ndimage import map_coordinates

    lattice = _with_room_for(volume.lattice, steps)
    values = np.empty(lattice.shape, np.float32)
    nx, ny, nz = lattice.shape
    n = max(1, _SLAB // (ny * nz))
    for start in range(0, nx, n):
        stop = min(start + n, nx)
        points = lattice.points(start, stop)
        places = (points - _moved(points, after, steps) - volume.lattice.origin) @ np.linalg.inv(volume.lattice.axes)
        values[start:stop] = map_coordinates(volume.values, places.T, order=1).reshape(stop - start, ny, nz)
    return replace(volume, values=values, lattice=lattice)


def _moved(points: NDArray[np.floating], atoms: NDArray[np.float64], steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far points go with the atoms that are nearest to them, shape (n_points, 3)."""
    from scipy.spatial import cKDTree

    k = min(_ATOMS, len(atoms))
    distances, nearest = cKDTree(atoms).query(points, k=list(range(1, k + 1)))
    shares = 1 / np.maximum(distances, 1e-3) ** 4
    shares /= shares.sum(axis=1, keepdims=True)
    return np.einsum("va,vax->vx", shares, steps[nearest])


def _with_room_for(lattice: Lattice, steps: NDArray[np.float64]) -> Lattice:
    """A lattice of the same points and of those that its box passes on the way of each step, up to its own width."""
    places = steps @ np.linalg.inv(lattice.axes)
    below = np.minimum(np.ceil(np.maximum(-places.min(axis=0), 0)), lattice.shape)
    above = np.minimum(np.ceil(np.maximum(places.max(axis=0), 0)), lattice.shape)
    nx, ny, nz = (int(n) for n in lattice.shape + below + above)
    return Lattice(lattice.origin - below @ lattice.axes, lattice.axes, (nx, ny, nz))
