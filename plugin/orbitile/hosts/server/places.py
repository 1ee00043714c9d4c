"""Where the atoms are in the viewer at the other end: what it was told, and what it has told since."""

from __future__ import annotations

import threading
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...base.arguments import brief
from ...base.errors import OrbitileError
from ...model.geometry import check_atoms
from ...model.units import angstrom

_ROUNDING = 2e-5
"""Bohr by which coordinates may be off because a viewer has them in single precision."""


@dataclass(frozen=True, eq=False)
class _Atoms:
    """Atoms of a molecule, positions in bohr, and by which event each was told of last."""

    numbers: NDArray[np.int64]
    geometries: NDArray[np.float64]
    events: NDArray[np.int64]

    @property
    def positions(self) -> NDArray[np.float64] | None:
        return self.geometries[0] if len(self.geometries) == 1 else None


class Places:
    """Atoms of the molecules of a viewer, and where they are. It may be asked and told from any thread."""

    def __init__(self) -> None:
        self._molecules: dict[str, _Atoms] = {}
        self._lock = threading.Lock()

    def add(self, molecule: str, numbers: NDArray[np.int64], geometries: NDArray[np.float64], event: int) -> None:
        """Take note of a molecule that the viewer was told of by an event of this number.

        Parameters
        ----------
        molecule
            Its name.
        numbers : ndarray of int, shape (n_atoms,)
            Atomic numbers.
        geometries : ndarray, shape (n_geometries, n_atoms, 3)
            In bohr.
        event
            Number of the event.
        """
        with self._lock:
            self._molecules[molecule] = _Atoms(numbers, geometries, np.full(len(numbers), event))

    def keep(self, there: Set[str]) -> None:
        """Forget molecules that are not there any more."""
        with self._lock:
            self._molecules = {name: atoms for name, atoms in self._molecules.items() if name in there}

    def geometries(self, molecule: str) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """Atomic numbers and all geometries; None of a molecule that nothing is known of."""
        atoms = self._molecules.get(molecule)
        return None if atoms is None else (atoms.numbers, atoms.geometries)

    def positions(self, molecule: str) -> NDArray[np.float64] | None:
        """Where the atoms are; None of a molecule of several geometries, or that nothing is known of."""
        atoms = self._molecules.get(molecule)
        return None if atoms is None else atoms.positions

    def move(self, molecule: str, positions: NDArray[np.float64], moved: NDArray[np.int64], event: int) -> None:
        """Take note that an event tells the viewer to put some atoms somewhere else; positions of all, in bohr."""
        with self._lock:
            atoms = self._molecules[molecule]
            events = atoms.events.copy()
            events[moved] = event
            self._molecules[molecule] = replace(atoms, geometries=_with(atoms, positions, moved), events=events)

    def take(self, molecule: str, told: Sequence[Sequence[float]], seen: int | None) -> None:
        """Take note of where the viewer has the atoms of a molecule of one geometry.

        What it tells of atoms that it has left alone is not taken: they are as they were, apart from rounding.

        Parameters
        ----------
        molecule
            Its name.
        told
            In Angstrom, three numbers an atom.
        seen
            How many events it had read then, all of them if None: before it has read where to put an atom, it tells
            where that was.

        Raises
        ------
        OrbitileError
            When it has no such molecule, of one geometry, or there are other numbers of atoms.
        """
        with self._lock:
            atoms = self._molecules.get(molecule)
            if atoms is None or atoms.positions is None:
                raise OrbitileError(
                    f"positions: expected a molecule of one geometry that is there, got {brief(molecule)}"
                )
            if len(told) != len(atoms.numbers):
                n = len(atoms.numbers)
                raise OrbitileError(f"positions of {molecule}: expected those of {n} atoms, got {len(told)}")
            positions = np.array(told, np.float64) * angstrom
            check_atoms(atoms.numbers, positions)
            moved = moved_atoms(atoms.positions, positions, _ROUNDING)
            if seen is not None:
                moved = moved[atoms.events[moved] <= seen]
            self._molecules[molecule] = replace(atoms, geometries=_with(atoms, positions, moved))


def _with(atoms: _Atoms, positions: NDArray[np.float64], moved: NDArray[np.int64]) -> NDArray[np.float64]:
    """The only geometry, with some of the atoms where they are in `positions`."""
    geometries = atoms.geometries.copy()
    geometries[0, moved] = positions[moved]
    return geometries


def moved_atoms(before: NDArray[np.float64], after: NDArray[np.float64], by: float) -> NDArray[np.int64]:
    """Atoms, from 0, of which a coordinate differs by more than this; positions in bohr, shape (n_atoms, 3)."""
    return np.flatnonzero(np.abs(after - before).max(axis=1) > by)
