"""Distances, angles and dihedrals of a geometry, and the geometry with another value of one of them.

What lies behind the bond that is stretched, bent or turned moves as a whole, the smaller part of the molecule. Bonds
are those of `find_bonds`, by distance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...base.errors import OrbitileError
from ...model.geometry import connected_parts, find_bonds

Positions = NDArray[np.float64]
Values = float | NDArray[np.float64]
_Numbers = NDArray[np.int64]

_IN_LINE = 1e-3
"""Sine of an angle below which three atoms are in a line."""


def distance(positions: Positions, atoms: tuple[int, int]) -> float:
    """Distance of two atoms in bohr; positions of shape (n_atoms, 3) in bohr, atoms from 0."""
    i, j = atoms
    return float(np.linalg.norm(positions[j] - positions[i]))


def angle(positions: Positions, atoms: tuple[int, int, int]) -> float:
    """Angle at the second of three atoms, from 0 to pi; arguments as for `distance`."""
    i, j, k = atoms
    one, other = positions[i] - positions[j], positions[k] - positions[j]
    return float(np.arctan2(np.linalg.norm(np.cross(one, other)), one @ other))


def dihedral(positions: Positions, atoms: tuple[int, int, int, int]) -> float:
    """Dihedral of four atoms in radian, from -pi to pi; arguments as for `distance`.

    It is positive where the last bond is turned clockwise from the first one, seen along the middle one (IUPAC).

    Raises
    ------
    OrbitileError
        When three atoms in a row are in a line: there is no dihedral.
    """
    i, j, k, l = atoms
    for row in ((i, j, k), (j, k, l)):
        if np.sin(angle(positions, row)) < _IN_LINE:
            raise OrbitileError(f"atoms {_listed(row)} are in a line: {_listed(atoms)} have no dihedral")
    first, axis, last = positions[j] - positions[i], positions[k] - positions[j], positions[l] - positions[k]
    one, other = np.cross(first, axis), np.cross(axis, last)
    return float(np.arctan2(np.linalg.norm(axis) * (first @ other), one @ other))


def with_distance(numbers: _Numbers, positions: Positions, atoms: tuple[int, int], value: Values) -> Positions:
    """The geometry with another distance of two atoms: one of them goes along their line with all that it holds.

    Parameters
    ----------
    numbers : ndarray of int, shape (n_atoms,)
        Atomic numbers.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    atoms : tuple of int
        From 0.
    value : float or ndarray, shape (n,)
        In bohr; of several a geometry each.

    Returns
    -------
    ndarray, shape (n_atoms, 3) or (n, n_atoms, 3)

    Raises
    ------
    OrbitileError
        When the atoms are joined by others as well, as in a ring, or are at one place.
    """
    i, j = atoms
    line = positions[j] - positions[i]
    length = np.linalg.norm(line)
    if not np.all(np.asarray(value) > 0) or length == 0:
        raise OrbitileError(f"distance of atoms {_listed(atoms)}: expected to be, and to become, more than 0")
    fragments = _fragments(numbers, positions, (i, j))
    if fragments[i] == fragments[j]:
        raise OrbitileError(f"{_bond(i, j)} cannot be stretched: it is in a ring, or others join its atoms")
    is_last = np.sum(fragments == fragments[j]) <= np.sum(fragments == fragments[i])
    moving = fragments == fragments[j if is_last else i]
    step = np.multiply.outer(np.asarray(value) - length, (1 if is_last else -1) * line / length)
    moved = _copies(positions, value)
    moved[..., moving, :] += step[..., None, :]
    return moved


def with_angle(numbers: _Numbers, positions: Positions, atoms: tuple[int, int, int], value: Values) -> Positions:
    """The geometry with another angle at the second of three atoms: what one of the others holds turns about it.

    Parameters and what is returned are as for `with_distance`, the value from 0 to pi.

    Raises
    ------
    OrbitileError
        When the angle is in a ring.
    """
    i, j, k = atoms
    if not np.all((np.asarray(value) > 0) & (np.asarray(value) <= np.pi)):
        raise OrbitileError(f"angle of atoms {_listed(atoms)}: expected more than 0 and 180 degrees at most")
    behind = []
    for end, other, sign in ((k, i, 1.0), (i, k, -1.0)):
        fragments = _fragments(numbers, positions, (j, end))
        moving = fragments == fragments[end]
        if not moving[j] and not moving[other]:
            behind.append((moving, sign))
    if not behind:
        raise OrbitileError(f"the angle of atoms {_listed(atoms)} is in a ring: it cannot be bent")
    moving, sign = min(behind, key=lambda one: int(one[0].sum()))
    first, last = positions[i] - positions[j], positions[k] - positions[j]
    axis = np.cross(first, last)
    if np.linalg.norm(axis) < _IN_LINE * np.linalg.norm(first) * np.linalg.norm(last):  # bent to any side
        axis = np.cross(first, np.eye(3)[np.argmin(np.abs(first))])
    return _turned(positions, moving, positions[j], axis, sign * (np.asarray(value) - angle(positions, atoms)))


def with_dihedral(
    numbers: _Numbers, positions: Positions, atoms: tuple[int, int, int, int], value: Values
) -> Positions:
    """The geometry with another dihedral of four atoms: what is behind the middle bond turns about it.

    Parameters and what is returned are as for `with_distance`, the value in radian.

    Raises
    ------
    OrbitileError
        When the middle bond is in a ring, the atoms are not in a row, or there is no dihedral, see `dihedral`.
    """
    i, j, k, l = atoms
    fragments = _fragments(numbers, positions, (j, k))
    if fragments[j] == fragments[k]:
        raise OrbitileError(f"{_bond(j, k)} is in a ring, or others join its atoms: the bond cannot be turned")
    behind = []
    for end, other, sign in ((l, i, 1.0), (i, l, -1.0)):
        moving = fragments == fragments[end]
        if not moving[other]:
            behind.append((moving, sign))
    if not behind:
        raise OrbitileError(f"atoms {_listed(atoms)} are not in a row: expected the first and last on either side")
    moving, sign = min(behind, key=lambda one: int(one[0].sum()))
    axis = positions[k] - positions[j]
    return _turned(positions, moving, positions[j], axis, sign * (np.asarray(value) - dihedral(positions, atoms)))


def _fragments(numbers: _Numbers, positions: Positions, bond: tuple[int, int]) -> NDArray[np.int32]:
    """Number of the connected part that each atom belongs to once a bond, if there is such, is broken."""
    bonds = [pair for pair in find_bonds(numbers, positions).tolist() if set(pair) != set(bond)]
    return connected_parts(len(positions), np.array(bonds, np.int64).reshape(-1, 2))


def _turned(
    positions: Positions, moving: NDArray[np.bool_], origin: Positions, axis: Positions, by: NDArray[np.float64]
) -> Positions:
    """Positions, some of them turned about an axis, anticlockwise where it points at the reader (O. Rodrigues)."""
    cross = np.cross(np.eye(3), axis / np.linalg.norm(axis))  # cross @ r is the product of the axis and r
    turns = np.eye(3) + np.multiply.outer(np.sin(by), cross) + np.multiply.outer(1 - np.cos(by), cross @ cross)
    moved = _copies(positions, by)
    moved[..., moving, :] = np.einsum("...xy,ay->...ax", turns, positions[moving] - origin) + origin
    return moved


def _copies(positions: Positions, value: Values) -> Positions:
    """Positions, for each of some values."""
    return np.broadcast_to(positions, (*np.shape(value), *positions.shape)).copy()


def _bond(one: int, other: int) -> str:
    return f"the bond {one + 1}-{other + 1}"


def _listed(atoms: Sequence[int]) -> str:
    return "-".join(str(atom + 1) for atom in atoms)
