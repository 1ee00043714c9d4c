r"""Nuclei whose core electrons are in a core potential: the density has a hole there, and no maximum.

The valence density is largest on a sphere about such a nucleus, and has critical points of all kinds on it and within,
which mean nothing. Through a larger sphere on which the density falls outwards everywhere, the theorem of Poincare and
Hopf holds: what is inside counts as much as one maximum. So one is put there, at the nucleus, in place of all that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...gaussians.extent import directions
from ...model.wavefunction import Wavefunction
from .derivatives import DensityDerivatives

Reals = NDArray[np.float64]

_DIRECTIONS = 60
_RADII = np.arange(0.05, 3.0, 0.05)
"""Of the spheres that are tried, in bohr."""

_SHARE = 0.7
"""Of the distance to the nearest nucleus: how large a sphere may be."""


def with_missing_core(wavefunction: Wavefunction) -> NDArray[np.intp]:
    """Atoms of which some electrons are in a core potential, from 0."""
    missing = wavefunction.core_charges < wavefunction.atomic_numbers - 0.5
    return np.flatnonzero(missing & ~wavefunction.is_ghost)


def radius_of_hole(field: DensityDerivatives, wavefunction: Wavefunction, atom: int) -> float:
    """Radius of the smallest sphere about a nucleus, outside of the hole, on which the density falls everywhere.

    Returns
    -------
    float
        In bohr; NaN where there is none before the next nucleus is near.
    """
    centre = wavefunction.positions[atom]
    others = wavefunction.positions[~wavefunction.is_ghost & (np.arange(wavefunction.n_atoms) != atom)]
    nearest = np.sqrt(((others - centre) ** 2).sum(axis=1)).min(initial=np.inf)
    radii = _RADII[_SHARE * nearest > _RADII]
    along = directions(_DIRECTIONS)
    points = centre + radii[:, None, None] * along
    density, gradient = field.gradient(points.reshape(-1, 3))
    slope = np.einsum("rdi,di->rd", gradient.reshape(points.shape), along).max(axis=1)
    highest = int(np.argmax(density.reshape(len(radii), -1).mean(axis=1)))
    falling = np.flatnonzero(slope[highest:] < 0)
    return float(radii[highest + falling[0]]) if len(falling) else float("nan")
