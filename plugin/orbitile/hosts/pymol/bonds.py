"""Bonds of a molecule of PyMOL whose atoms were moved: those that are torn go, and those that were made come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.geometry import covalent_radius, find_bonds

_TORN = 1.5
"""Sums of covalent radii at which a bond is torn; until then it stays, drawn by whomever."""


def rebond(cmd: Any, name: str, atomic_numbers: NDArray[np.int64], positions: NDArray[np.float64]) -> None:
    """Have atoms at covalent distance bonded, and those that are far from each other not.

    Parameters
    ----------
    cmd
        Of the PyMOL.
    name
        Object of PyMOL.
    atomic_numbers, positions
        In its order; positions in bohr, shape (n_atoms, 3).
    """
    drawn = {(min(i, j), max(i, j)) for i, j, _ in cmd.get_bonds(f"%{name}")}
    near = {(i, j) for i, j in find_bonds(atomic_numbers, positions).tolist()}
    radii = [covalent_radius(z) for z in atomic_numbers]
    torn = {(i, j) for i, j in drawn if np.linalg.norm(positions[i] - positions[j]) > _TORN * (radii[i] + radii[j])}
    for change, pairs in ((cmd.unbond, torn), (cmd.bond, near - drawn)):
        for i, j in sorted(pairs):
            change(f"%{name} and index {i + 1}", f"%{name} and index {j + 1}")
