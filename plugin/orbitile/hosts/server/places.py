"""Where the atoms are in the viewer at the other end: what it was told, and what it has told since."""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np
from numpy.typing import NDArray

from ...errors import OrbitileError
from ...model.geometry import check_atoms
from ...model.units import angstrom
from ...session.declaration import brief

_ROUNDING = 2e-5
"""Bohr by which coordinates may be off because a viewer has them in single precision."""


class Places:
    """Atoms of the molecules of a viewer, and where they are."""

    def __init__(self) -> None:
        self._numbers: dict[str, NDArray[np.int64]] = {}
        self._geometries: dict[str, NDArray[np.float64]] = {}
        self._moved: dict[str, NDArray[np.int64]] = {}

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
        self._numbers[molecule], self._geometries[molecule] = numbers, geometries
        self._moved[molecule] = np.full(len(numbers), event)

    def keep(self, there: Set[str]) -> None:
        """Forget molecules that are not there any more."""
        for known in (self._numbers, self._geometries, self._moved):
            for molecule in known.keys() - there:
                known.pop(molecule)

    def geometries(self, molecule: str) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """Atomic numbers and all geometries; None of a molecule that nothing is known of."""
        if molecule not in self._numbers:
            return None
        return self._numbers[molecule], self._geometries[molecule]

    def positions(self, molecule: str) -> NDArray[np.float64] | None:
        """Where the atoms are; None of a molecule of several geometries, or that nothing is known of."""
        geometries = self._geometries.get(molecule)
        return None if geometries is None or len(geometries) != 1 else geometries[0]

    def move(self, molecule: str, positions: NDArray[np.float64], atoms: NDArray[np.int64], event: int) -> None:
        """Take note that an event tells the viewer to put some atoms somewhere else; positions of all, in bohr."""
        self._geometries[molecule] = positions[np.newaxis]
        self._moved[molecule][atoms] = event

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
        known = self.positions(molecule)
        if known is None:
            raise OrbitileError(
                f"positions: expected a molecule of one geometry that was told of, got {brief(molecule)}"
            )
        if len(told) != len(known):
            raise OrbitileError(f"positions of {molecule}: expected those of {len(known)} atoms, got {len(told)}")
        positions = np.array(told, np.float64) * angstrom
        check_atoms(self._numbers[molecule], positions)
        taken = moved_atoms(known, positions, _ROUNDING)
        if seen is not None:
            taken = taken[self._moved[molecule][taken] <= seen]
        now = known.copy()
        now[taken] = positions[taken]
        self._geometries[molecule] = now[np.newaxis]


def moved_atoms(before: NDArray[np.float64], after: NDArray[np.float64], by: float) -> NDArray[np.int64]:
    """Atoms, from 0, of which a coordinate differs by more than this; positions in bohr, shape (n_atoms, 3)."""
    return np.flatnonzero(np.abs(after - before).max(axis=1) > by)
