"""How long the search for critical points takes."""

from __future__ import annotations

import numpy as np

from ...gaussians.packing import packed_shells
from ...model.wavefunction import Wavefunction
from .basis_functions import shells_of

_POINTS = 550
"""Points for each atom at which the density is evaluated with its Hessian: the search, the grid, the paths."""

_FUNCTION, _PRODUCT = 1e-7, 2e-10
"""Seconds for a basis function at a point, and for its product with an orbital."""


def seconds(wavefunction: Wavefunction) -> float:
    """Estimate of the time that the critical points and bond paths of a molecule take on one core."""
    shells = shells_of(packed_shells(wavefunction))
    atoms = np.flatnonzero(~wavefunction.is_ghost)
    sizes = (shells.angular_momentum + 1) * (shells.angular_momentum + 2) // 2
    some = wavefunction.positions[atoms[:: max(1, len(atoms) // 20)]]
    near = 0.0
    for place in some:
        away = np.sqrt(((shells.atom_position - place) ** 2).sum(axis=1))
        near += float(sizes[shells.reach > away[shells.atom] - _CELL].sum()) / len(some)
    orbitals = wavefunction.n_electrons / 2
    return _POINTS * len(atoms) * near * (_FUNCTION + _PRODUCT * orbitals)


_CELL = 3.0
"""About how far from the middle of a cell its points are, in bohr."""
