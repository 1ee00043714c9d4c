"""What localised orbitals are, in a few words: `C1-C2 sigma`, `O3 lone pair`, `N1 core`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...model.elements import SYMBOLS
from ...model.wavefunction import Shell, Wavefunction
from ..rotation import rotation_of_shell

_MOST = 0.75
"""Share of an orbital that the atoms hold at least that it is named by."""

_COUNTS, _EQUAL = 0.1, 0.005
"""Share of an atom that counts however much others hold, and difference of shares that are equal."""

_SYMMETRIC = 0.75
"""Share of one symmetry about the bond that makes an orbital sigma, pi or delta; with less it is bent."""

_CORE = 0.5
"""Share of core functions that makes an orbital a core orbital."""

_MOST_ATOMS = 6
"""Atoms that a name lists."""

_FLAT = 0.3
"""Distance in bohr, about, by which atoms may be off a line or a plane."""

_SYMMETRIES = ("sigma", "pi", "delta", "phi")


@dataclass(frozen=True, eq=False)
class OnAtoms:
    """Orbitals over functions of atoms that are orthonormal.

    Attributes
    ----------
    coefficients : ndarray, shape (n_sites, n)
    shells : tuple of Shell
        Whose functions the rows are.
    is_core : ndarray of bool, shape (n_sites,)
        Which functions are of the cores of atoms.
    """

    coefficients: Reals
    shells: tuple[Shell, ...]
    is_core: NDArray[np.bool_]

    @property
    def atoms(self) -> NDArray[np.int64]:
        """The atom of each row, shape (n_sites,)."""
        return np.repeat([shell.atom for shell in self.shells], [shell.n_functions for shell in self.shells])

    def shares(self, n_atoms: int) -> Reals:
        """Share of each orbital on each atom, shape (n_atoms, n)."""
        shares = np.zeros((n_atoms, self.coefficients.shape[1]))
        np.add.at(shares, self.atoms, self.coefficients**2)
        return shares


def atom_name(wavefunction: Wavefunction, atom: int) -> str:
    """Element and number of an atom, counted from 1: `C12`."""
    return f"{SYMBOLS[int(wavefunction.atomic_numbers[atom])]}{atom + 1}"


def main_atoms(shares: Reals) -> tuple[int, ...]:
    """The atoms that an orbital is named by, the largest share first, of shares of shape (n_atoms,).

    All with a share that counts, and as many more as it takes to hold most of it; equal ones all or none.
    """
    parts = shares / max(float(shares.sum()), 1e-12)
    order = np.argsort(-np.round(parts, 4), kind="stable")
    ranked = parts[order]
    enough = int(np.argmax(np.cumsum(ranked) >= _MOST)) + 1
    least = min(_COUNTS, float(ranked[enough - 1]) - _EQUAL)
    return tuple(int(atom) for atom in order[ranked >= least])


def name_of(wavefunction: Wavefunction, orbitals: OnAtoms, index: int, state: str) -> str:
    """What a localised orbital is.

    Parameters
    ----------
    wavefunction
        Its atoms.
    orbitals, index
        Which orbital it is.
    state
        occupied; unpaired, of one electron that no other of the other spin goes with; antibonding, of the unoccupied
        orbitals of free atoms; empty, of other unoccupied ones.
    """
    column = orbitals.coefficients[:, index]
    shares: Reals = np.bincount(orbitals.atoms, column**2, wavefunction.n_atoms).astype(np.float64)
    atoms = sorted(main_atoms(shares))
    place = "-".join(atom_name(wavefunction, atom) for atom in atoms[:_MOST_ATOMS])
    place += "..." if len(atoms) > _MOST_ATOMS else ""
    if len(atoms) == 1:
        if np.sum(column[orbitals.is_core] ** 2) > _CORE:
            return f"{place} core"
        return f"{place} {_ONE_CENTRE[state]}"
    if state == "empty":
        return f"{place} empty"
    symmetry = _symmetry(wavefunction, orbitals, column, atoms)
    mark = {"antibonding": "*", "unpaired": " unpaired"}.get(state, "")
    return f"{place} {symmetry}{mark}"


_ONE_CENTRE = {"occupied": "lone pair", "unpaired": "unpaired", "antibonding": "empty", "empty": "empty"}


def _symmetry(wavefunction: Wavefunction, orbitals: OnAtoms, column: Reals, atoms: Sequence[int]) -> str:
    """About the line that the atoms lie on; else about their plane; else there is none."""
    positions = wavefunction.positions[list(atoms)]
    _, sizes, axes = np.linalg.svd(positions - positions.mean(axis=0))
    if sizes[1] < _FLAT:
        weights = _about(axes[0], orbitals, column, atoms)
        largest = int(np.argmax(weights))
        return _SYMMETRIES[largest] if weights[largest] >= _SYMMETRIC * weights.sum() else "bent"
    if len(atoms) > 3 and sizes[2] > _FLAT:
        return "delocalised"
    return "pi" if _along(axes[2], orbitals, column) > 0.5 * float(column @ column) else "sigma"


def _about(axis: Reals, orbitals: OnAtoms, column: Reals, atoms: Sequence[int]) -> Reals:
    """Share of functions of some atoms with 0, 1, 2, ... nodal planes through an axis, shape (4,)."""
    weights = np.zeros(len(_SYMMETRIES))
    turn = _onto_z(axis).tobytes()
    for shell, part in _by_shell(orbitals, column):
        l = shell.angular_momentum
        if shell.atom in atoms and l < len(_SYMMETRIES) and (l < 2 or shell.pure):
            turned = rotation_of_shell(l, shell.pure, turn) @ part
            planes = [1, 1, 0] if l == 1 else [(component + 1) // 2 for component in range(2 * l + 1)]
            weights += np.bincount(planes, turned**2, len(_SYMMETRIES))
    return weights


def _along(axis: Reals, orbitals: OnAtoms, column: Reals) -> float:
    """Share of p functions along an axis."""
    return sum(float(part @ axis) ** 2 for shell, part in _by_shell(orbitals, column) if shell.angular_momentum == 1)


def _by_shell(orbitals: OnAtoms, column: Reals) -> Iterator[tuple[Shell, Reals]]:
    first = 0
    for shell in orbitals.shells:
        yield shell, column[first : first + shell.n_functions]
        first += shell.n_functions


def _onto_z(axis: Reals) -> Reals:
    """Rotation that takes a unit vector to z."""
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(other, axis)
    x /= np.linalg.norm(x)
    return np.ascontiguousarray(np.stack([x, np.cross(axis, x), axis]))
