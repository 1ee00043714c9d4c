"""Atoms of a molecule that its bonds do not tell apart, such as the hydrogens of a methyl group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...model.bonds import find_bonds

Indices = NDArray[np.int64]

_HYDROGEN, _CARBON = 1, 6

_EQUAL = 0.01
"""Difference of distances in bohr up to which they are equal."""


def equivalent_atoms(atomic_numbers: Indices, positions: NDArray[np.float64]) -> Indices:
    """Classes of atoms that are alike by their bonds.

    Two atoms are of one class when they are the same element, belong to one molecule, and have neighbours of the same
    classes, at any distance (refinement after H. L. Morgan, J. Chem. Doc. 1965, 5, 107). Atoms of two molecules that
    lie side by side are never alike, since their surroundings differ.

    Parameters
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
    positions : ndarray, shape (n_atoms, 3)
        In bohr; bonds are those of `orbitile.model.bonds.find_bonds`.

    Returns
    -------
    ndarray of int, shape (n_atoms,)
        Number of the class of each atom, from 0.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n_atoms = len(atomic_numbers)
    neighbours = _neighbours(atomic_numbers, positions)
    ends = np.array([(a, b) for a, near in enumerate(neighbours) for b in near], np.int64).reshape(-1, 2)
    bonds = coo_matrix((np.ones(len(ends)), ends.T), shape=(n_atoms, n_atoms))
    molecule = connected_components(bonds, directed=False)[1]
    classes = np.unique(np.column_stack([molecule, atomic_numbers]), axis=0, return_inverse=True)[1].ravel()
    while True:
        around = [(int(classes[atom]), *sorted(classes[near].tolist())) for atom, near in enumerate(neighbours)]
        number = {kind: n for n, kind in enumerate(sorted(set(around)))}
        refined = np.array([number[kind] for kind in around], np.int64)
        if refined.max() == classes.max():  # classes are only ever split
            return refined
        classes = refined


def equal_atoms(atomic_numbers: Indices, positions: NDArray[np.float64]) -> Indices:
    """Classes of atoms with the same atoms at the same distances: those that symmetry makes equal.

    Parameters and result as for `equivalent_atoms`.
    """
    from scipy.spatial.distance import cdist

    beyond = 2 * float(np.ptp(positions, axis=0).sum()) + 1.0  # so that distances to other elements come later
    distances = cdist(positions, positions) + beyond * atomic_numbers
    distances.sort(axis=1)
    classes = np.full(len(atomic_numbers), -1, np.int64)
    for atom, number in enumerate(atomic_numbers):
        if classes[atom] < 0:
            left = np.flatnonzero((classes < 0) & (atomic_numbers == number))
            same = np.abs(distances[left] - distances[atom]).max(axis=1) < _EQUAL
            classes[left[same]] = classes.max() + 1
    return classes


def in_methyl_or_methylene(atomic_numbers: Indices, positions: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which atoms are carbons with four neighbours, two hydrogens or more among them, or such a hydrogen."""
    neighbours = _neighbours(atomic_numbers, positions)
    chosen = np.zeros(len(atomic_numbers), bool)
    for atom, near in enumerate(neighbours):
        hydrogens = [other for other in near if atomic_numbers[other] == _HYDROGEN]
        if atomic_numbers[atom] == _CARBON and len(near) == 4 and len(hydrogens) >= 2:
            chosen[[atom, *hydrogens]] = True
    return chosen


def _neighbours(atomic_numbers: Indices, positions: NDArray[np.float64]) -> list[list[int]]:
    near: list[list[int]] = [[] for _ in atomic_numbers]
    for a, b in find_bonds(atomic_numbers, positions).tolist():
        near[a].append(b)
        near[b].append(a)
    return near
