"""The orbitals of a molecule as a window lists them: levels, the columns of their table, words that filter it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..analysis.information import formula, frontier_marks
from ..model.units import electronvolt
from ..model.wavefunction import Spin, Wavefunction


@dataclass(frozen=True)
class Level:
    """One orbital.

    Attributes
    ----------
    spin : str
        Of the set it is counted in.
    index : int
        From 0, in the order of the file.
    energy : float
        In electronvolt; NaN where the file gives none.
    occupation : float
    symmetry : str
        Empty where the file gives none.
    mark : str
        HOMO, LUMO or empty.
    """

    spin: Spin
    index: int
    energy: float
    occupation: float
    symmetry: str
    mark: str

    @property
    def occupied(self) -> bool:
        """Whether there is an electron in it."""
        return self.occupation > 1e-3

    def text(self, what: str) -> str:
        """One of its properties for people: number, energy, occupation, symmetry or mark."""
        if what == "number":
            return str(self.index + 1)
        if what == "energy":
            return f"{self.energy:.3f}" if math.isfinite(self.energy) else "-"
        return f"{self.occupation:.2f}" if what == "occupation" else str(getattr(self, what))

    def has(self, word: str) -> bool:
        """Whether it is what a word of a filter says, in lower case.

        A number, a symmetry, homo, lumo, occ, virt, or a range of energies as -20..-5.
        """
        low, dots, high = word.partition("..")
        if dots:
            try:
                return float(low or "-inf") <= self.energy <= float(high or "inf")
            except ValueError:
                return True  # still being typed
        if word.isdigit():
            return str(self.index + 1).startswith(word)
        if len(word) > 1 and "occupied".startswith(word):
            return self.occupied
        if len(word) > 1 and "virtual".startswith(word):
            return not self.occupied
        return bool(word) and (self.mark.lower().startswith(word) or self.symmetry.lower().startswith(word))


@dataclass(frozen=True)
class Column:
    """A column of the table of orbitals.

    Attributes
    ----------
    title : str
    spin : int
        0 alpha or both, 1 beta.
    what : str
        See `Level.text`.
    """

    title: str
    spin: int
    what: str


Levels = list[list[Level]]
"""The orbitals of a wavefunction: one list, or one of each spin."""


def levels_of(wavefunction: Wavefunction) -> Levels:
    """The orbitals of a wavefunction."""
    spins: list[Spin] = ["alpha"] if wavefunction.beta is None else ["alpha", "beta"]
    listed = []
    for spin in spins:
        orbitals, marks = wavefunction.orbitals(spin), frontier_marks(wavefunction, spin)
        irreps = orbitals.irreps or [""] * len(orbitals)
        listed.append(
            [
                Level(
                    spin,
                    index,
                    float(orbitals.energies[index] / electronvolt),
                    float(orbitals.occupations[index]),
                    irreps[index] or "",
                    marks.get(index, ""),
                )
                for index in range(len(orbitals))
            ]
        )
    return listed


def columns_of(levels: Levels) -> list[Column]:
    """Columns of the table, a row a number; alpha and beta side by side where they differ."""
    with_symmetry = any(level.symmetry for those in levels for level in those)
    columns = [Column("#", 0, "number")]
    for spin in range(len(levels)):
        sign = ("α ", "β ")[spin] if len(levels) > 1 else ""
        columns += [Column(f"{sign}E / eV", spin, "energy"), Column(f"{sign}occ.", spin, "occupation")]
        columns += [Column(f"{sign}sym.", spin, "symmetry")] if with_symmetry else []
        columns += [Column("", spin, "mark")]
    return columns


def passes(row: int, levels: Levels, words: list[str]) -> bool:
    """Whether a row has all the words; see `Level.has`."""
    there = [those[row] for those in levels if row < len(those)]
    return all(any(level.has(word) for level in there) for word in words)


def summary(wavefunction: Wavefunction) -> str:
    """Formula, method and size of the basis, in one line."""
    method = f"{wavefunction.method}, " if wavefunction.method else ""
    return f"{formula(wavefunction)}, {method}{wavefunction.kind}, {wavefunction.n_basis} functions"
