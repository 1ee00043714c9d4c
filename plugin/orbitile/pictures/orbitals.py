"""The orbitals of a molecule as a window lists them: levels, columns and units of their table, and its filter.

At the end stand the patterns of names of fields, as `mo:N:alpha`, that a menu offers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from ..base.errors import OrbitileError
from ..fields._frontier import frontier_name, frontier_order
from ..fields.orbital import name_in_family, orbital_name, orbital_of
from ..gaussians.localised.localisation import SCHEMES, count_of, why_not
from ..model.geometry import formula
from ..model.units import electronvolt
from ..model.wavefunction import Spin, Wavefunction


@dataclass(frozen=True)
class EnergyUnit:
    """A unit in which energies of orbitals are shown.

    Attributes
    ----------
    name : str
    hartree : float
        One of it, in hartree.
    decimals : int
        Digits behind the point that are shown.
    """

    name: str
    hartree: float
    decimals: int

    def text(self, energy: float) -> str:
        """An energy, in hartree, as a number of this unit; a dash where there is none."""
        return f"{energy / self.hartree:.{self.decimals}f}" if math.isfinite(energy) else "-"


ENERGY_UNITS = {unit.name: unit for unit in (EnergyUnit("eV", electronvolt, 3), EnergyUnit("hartree", 1.0, 5))}
"""Units of energies by name; the first is the usual one."""


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
        In hartree; NaN where the file gives none.
    occupation : float
    symmetry : str
        Empty where the file gives none.
    place : int
        In the order in which `homo` and `lumo` count: 0 the HOMO, -1 the one below it, 1 the LUMO, 2 the one above.
        Where there is no HOMO, that of the file.
    scheme : str
        What it was localised by; empty for an orbital as the file has it.
    label : str
        What the file calls it; empty where it does not.
    counted : bool
        Whether it is counted from HOMO and LUMO: not where it is localised, or the orbitals have no order.
    """

    spin: Spin
    index: int
    energy: float
    occupation: float
    symmetry: str
    place: int
    scheme: str = ""
    label: str = ""
    counted: bool = True

    @property
    def mark(self) -> str:
        """HOMO, LUMO or empty."""
        return {0: "HOMO", 1: "LUMO"}.get(self.place, "") if self.counted else ""

    @property
    def frontier_name(self) -> str:
        """As counted from the HOMO or the LUMO: HOMO, HOMO-1, LUMO+2; empty where it is not."""
        return frontier_name(self.place) if self.counted else ""

    @property
    def occupied(self) -> bool:
        """Whether there is an electron in it."""
        return self.occupation > 1e-3


Levels = list[list[Level]]
"""The orbitals of a wavefunction: one list, or one of each spin."""


@dataclass(frozen=True)
class Column:
    """A column of the table of orbitals.

    Attributes
    ----------
    title, tip : str
    spin : int
        0 alpha or both, 1 beta.
    what : str
        number, energy, occupation, symmetry, label or mark.
    unit : EnergyUnit
        Of energies.
    decimals : int
        Of occupations.
    """

    title: str
    tip: str
    spin: int
    what: str
    unit: EnergyUnit
    decimals: int

    def text(self, level: Level) -> str:
        """What stands in the row of an orbital."""
        if self.what == "number":
            return str(level.index + 1)
        if self.what == "energy":
            return self.unit.text(level.energy)
        if self.what == "occupation":
            return f"{round(level.occupation, self.decimals) + 0.0:.{self.decimals}f}"
        return {"symmetry": level.symmetry, "label": level.label}.get(self.what, level.mark)


def levels_of(wavefunction: Wavefunction) -> Levels:
    """The orbitals of a wavefunction."""
    spins: list[Spin] = ["alpha"] if wavefunction.beta is None else ["alpha", "beta"]
    return [_levels_of_spin(wavefunction, spin) for spin in spins]


def _levels_of_spin(wavefunction: Wavefunction, spin: Spin) -> list[Level]:
    orbitals = wavefunction.orbitals(spin)
    occupied, unoccupied = frontier_order(wavefunction, spin)
    order = occupied + unoccupied
    places = {index: place for place, index in enumerate(order or range(len(orbitals)), 1 - len(occupied))}
    irreps = orbitals.irreps or [""] * len(orbitals)
    return [
        Level(
            spin,
            index,
            float(orbitals.energies[index]),
            float(orbitals.occupations[index]),
            irreps[index] or "",
            places[index],
            label=orbitals.labels[index],
            counted=bool(order),
        )
        for index in range(len(orbitals))
    ]


def localised_levels_of(wavefunction: Wavefunction, made: Wavefunction, scheme: str) -> Levels:
    """Localised orbitals of a wavefunction, as localisation `made` them; their names stand where symmetries do."""
    spins: list[Spin] = ["alpha"] if wavefunction.beta is None else ["alpha", "beta"]
    levels = []
    for spin in spins:
        orbitals = made.orbitals(spin)
        occupied = int((orbitals.occupations > 0).sum())
        listed = zip(orbitals.energies.tolist(), orbitals.occupations.tolist(), orbitals.irreps, strict=True)
        levels.append(
            [
                Level(spin, index, energy, occupation, name, index + 1 - occupied, scheme, counted=False)
                for index, (energy, occupation, name) in enumerate(listed)
            ]
        )
    return levels


def own_levels_of(wavefunction: Wavefunction) -> Levels:
    """The orbitals of a wavefunction; by the names of their scheme where they are localised."""
    if wavefunction.localised:
        return localised_levels_of(wavefunction, wavefunction, wavefunction.localised)
    return levels_of(wavefunction)


def field_of(wavefunction: Wavefunction, level: Level) -> str:
    """Name of the field that an orbital is."""
    if not level.scheme:
        return orbital_name(wavefunction, level.index, level.spin)
    return name_in_family(
        wavefunction, next(scheme for scheme in SCHEMES if scheme == level.scheme), level.index, level.spin
    )


def columns_of(levels: Levels, unit: EnergyUnit) -> list[Column]:
    """Columns of the table, a row a number; energies of alpha and beta side by side where they differ.

    What is looked at most stands first, since a narrow table shows no more.
    """
    listed = [level for those in levels for level in those]
    decimals = 0 if all(abs(level.occupation - round(level.occupation)) < 1e-4 for level in listed) else 2
    spins = (("α", "alpha "), ("β", "beta ")) if len(levels) > 1 else (("", ""),)

    def of_each_spin(*kinds: tuple[str, str, str]) -> list[Column]:
        return [
            Column(title.format(sign), tip.format(word), spin, what, unit, decimals)
            for spin, (sign, word) in enumerate(spins)
            for what, title, tip in kinds
        ]

    columns = [Column("#", "Number of the orbital in the order of the file", 0, "number", unit, decimals)]
    columns += of_each_spin(
        ("energy", "E{} / " + unit.name, "Energy of the {}orbital; click here for another unit"),
        ("mark", "", "Highest occupied and lowest unoccupied {}orbital"),
    )
    if any(level.scheme for level in listed):
        columns += of_each_spin(("symmetry", "orbital {}", "What the localised {}orbital is, by where it is"))
    elif any(level.symmetry for level in listed):
        columns += of_each_spin(("symmetry", "sym.{}", "Irreducible representation of the {}orbital"))
    if any(level.label for level in listed):
        columns += of_each_spin(("label", "name{}", "What the file calls the {}orbital"))
    return columns + of_each_spin(("occupation", "occ.{}", "Electrons in the {}orbital"))


def described(level: Level, of_one_spin: bool) -> str:
    """All that is known of an orbital, in one line, energies in every unit.

    Parameters
    ----------
    level
        The orbital.
    of_one_spin
        Whether alpha and beta orbitals differ, so that its spin is to be told.
    """
    energies = [f"{unit.text(level.energy)} {name}" for name, unit in ENERGY_UNITS.items()]
    parts = [
        f"Orbital {level.index + 1}{' ' + level.spin if of_one_spin else ''}",
        level.frontier_name,
        level.symmetry,
        level.label,
        " = ".join(energies) if math.isfinite(level.energy) else "no energy in the file",
        f"occupation {round(level.occupation, 4) + 0.0:g}",
    ]
    return ", ".join(part for part in parts if part)


def frontier_of(levels: list[Level]) -> tuple[Level | None, Level | None]:
    """HOMO and LUMO of one spin; None where there is none, or where it has no energy."""
    marked = {level.mark: level for level in levels if level.mark and math.isfinite(level.energy)}
    return marked.get("HOMO"), marked.get("LUMO")


def gap_of(levels: list[Level]) -> float:
    """Energy from the HOMO to the LUMO of one spin, in hartree; NaN where there are not both with energies."""
    homo, lumo = frontier_of(levels)
    return math.nan if homo is None or lumo is None else lumo.energy - homo.energy


def summary(wavefunction: Wavefunction) -> str:
    """Formula, method and size of the basis, in one line."""
    if wavefunction.promolecule:
        return f"{formula(wavefunction)}, free atoms: there is no wavefunction"
    method = f"{wavefunction.method}, " if wavefunction.method else ""
    return f"{formula(wavefunction)}, {method}{wavefunction.kind}, {wavefunction.n_basis} functions"


def level_of(wavefunction: Wavefunction, levels: Levels, field: str) -> Level | None:
    """The orbital that a field is; None for one that is none, or that the file does not hold."""
    if any(those and those[0].scheme for those in levels):
        return next((one for those in levels for one in those if field_of(wavefunction, one) == field.lower()), None)
    try:
        orbital = orbital_of(wavefunction, field)
    except OrbitileError:  # a saved session may name what the file does not hold
        return None
    if orbital is None:
        return None
    those = levels[1 if orbital.spin == "beta" and len(levels) > 1 else 0]
    return those[orbital.index] if orbital.index < len(those) else None


Condition = Callable[[Level], bool]
"""Whether an orbital is what a word says."""

EXPLANATION = (
    "Lists the orbitals that have all the words:\n"
    "by number: 17, 7-9\n"
    "counted from the gap: homo, lumo+1, homo-3..lumo+3\n"
    "occupied or not: occ, virt\n"
    "by symmetry or name: a1g, bd, c1-h2\n"
    "by energy, in the unit of the table: -20..-5, -13.6, 0.."
)
"""For people: a line for each kind of word."""

_FRONTIER = re.compile(r"(homo|lumo)([+-]\d{1,9})?[+-]?")
_NUMBERS = re.compile(r"(\d{1,9})-(\d{0,9})")
_ENERGY = re.compile(r"-\d*\.?\d*|\d+\.\d*")
_TYPOGRAPHY = str.maketrans({"−": "-", "\u2013": "-", "…": ".."})


def conditions_of(text: str, unit: EnergyUnit) -> list[Condition]:
    """What the words of a filter ask of an orbital.

    A word that is still being typed asks what is known by then: `homo-3..lu` is all from the HOMO-3 on.

    Parameters
    ----------
    text
        As the user writes it.
    unit
        Of the energies in it.
    """
    return [_condition(word, unit) for word in text.translate(_TYPOGRAPHY).lower().split()]


def passes(row: int, levels: Levels, conditions: list[Condition]) -> bool:
    """Whether an orbital in a row of the table is all that is asked for, of either spin."""
    there = [those[row] for those in levels if row < len(those)]
    return any(all(condition(level) for condition in conditions) for level in there)


def _condition(word: str, unit: EnergyUnit) -> Condition:
    low, dots, high = word.partition("..")
    if dots:
        first, last = _place(low), _place(high)
        if first is not None or last is not None:
            return partial(_is_between, attrgetter("place"), first, last)
        return partial(_is_between, attrgetter("energy"), _energy(low, unit), _energy(high, unit))
    place, numbers = _place(word), _NUMBERS.fullmatch(word)
    if place is not None:
        return lambda level: level.place == place and level.counted
    if numbers:
        first, last = int(numbers[1]), int(numbers[2] or 1e9)
        return lambda level: first <= level.index + 1 <= last
    if word.isdigit():
        return lambda level: str(level.index + 1) == word
    if _ENERGY.fullmatch(word):
        return lambda level: unit.text(level.energy).startswith(word)
    if len(word) > 1 and "occupied".startswith(word):
        return lambda level: level.occupied
    if len(word) > 1 and ("virtual".startswith(word) or "unoccupied".startswith(word)):
        return lambda level: not level.occupied
    return lambda level: level.mark.lower().startswith(word) or _is_called(level, word)


def _is_called(level: Level, word: str) -> bool:
    """Whether a symmetry, or a word or an atom in the name of an orbital, begins with a word.

    Blanks in the names of files aside: both `c1-h2` and `bd(1)` are in BD (1) C 1 - H 2.
    """
    names = level.symmetry.lower(), level.label.lower()
    if any(part.startswith(word) for name in names for part in (name, *re.split(r"[\s-]+", name))):
        return True
    return len(word) > 1 and word in re.sub(r"\s+", "", names[1])


def _place(word: str) -> int | None:
    """Place of `homo-3` or `lumo+2` as in `Level.place`; None for anything else."""
    found = _FRONTIER.fullmatch(word)
    return None if found is None else (found[1] == "lumo") + int(found[2] or 0)


def _energy(word: str, unit: EnergyUnit) -> float | None:
    """In hartree; None where there is no number."""
    return float(word) * unit.hartree if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)", word) else None


def _is_between(value_of: Callable[[Level], float], low: float | None, high: float | None, level: Level) -> bool:
    return (low is None or low <= value_of(level)) and (high is None or value_of(level) <= high)


# Patterns of names, taken apart into what a window can ask for -------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A part of a pattern.

    Attributes
    ----------
    kind : str
        text, which stands as it is; number, file or choice, which are asked for.
    text : str
        As it stands in the pattern.
    options : tuple of str
        What a choice is made from.
    """

    kind: str
    text: str
    options: tuple[str, ...] = ()


_OPTIONS = {
    ":alpha": (":alpha", ":beta"),
    ":x": (":x", ":y", ":z"),
    ":xy": (":xx", ":yy", ":zz", ":xy", ":xz", ":yz"),
}
"""Endings of patterns that stand for one of several."""

_RANGE = "homo-2..homo"
"""What stands in a pattern for a range of orbitals."""

_ASKED = re.compile(r"(?<![A-Za-z])(?:(?P<file>FILE)|(?P<number>N))(?![A-Za-z])|(?P<choice>:alpha|:xy|:x)$")


def parts_of(pattern: str) -> tuple[Part, ...]:
    """The parts of a pattern, in their order: one text where the name is complete as it stands."""
    pattern = pattern.replace(_RANGE, "mo:N..mo:N")
    parts, at = [], 0
    for found in _ASKED.finditer(pattern):
        parts.append(Part("text", pattern[at : found.start()]))
        parts.append(Part(str(found.lastgroup), found[0], _OPTIONS.get(found[0], ())))
        at = found.end()
    parts.append(Part("text", pattern[at:]))
    return tuple(part for part in parts if part.text)


def asked_for(pattern: str) -> list[Part]:
    """The parts of a pattern that the user has to give."""
    return [part for part in parts_of(pattern) if part.kind != "text"]


def completed(pattern: str, answers: Sequence[str]) -> str:
    """The name of a field: a pattern with an answer in place of each part that is asked for."""
    left = iter(answers)
    return "".join(part.text if part.kind == "text" else next(left) for part in parts_of(pattern))


def takes_several_files(pattern: str, sentence: str) -> bool:
    """Whether a pattern that names one file may be given several, with commas between."""
    return pattern.count("FILE") == 1 and "FILE,FILE" in sentence


def number_titles(pattern: str) -> tuple[str, ...]:
    """What the numbers are that are asked for, in their order."""
    if pattern.startswith("density:"):
        return "From orbital", "To orbital"
    titles = {"nocv": "Pair", "homo": "Orbitals below the HOMO", "lumo": "Orbitals above the LUMO", "mo": "Orbital"}
    titles |= dict.fromkeys(SCHEMES, "Localised orbital")
    return (titles.get(re.split(r"[-+:]", pattern)[0], "Excited state"),)


def largest(pattern: str, wavefunction: Wavefunction) -> int:
    """Largest number that a pattern makes sense with for a wavefunction; 0 where there is none."""
    occupied, unoccupied = (len(those) for those in frontier_order(wavefunction, "alpha"))
    if pattern.startswith("homo"):
        return max(occupied - 1, 0)
    if pattern.startswith("lumo"):
        return max(unoccupied - 1, 0)
    if pattern.startswith(("mo:", "density:")):
        return len(wavefunction.alpha)
    if pattern.startswith("nocv:"):
        return occupied
    for scheme in SCHEMES:
        if pattern.startswith(f"{scheme}:"):
            return 0 if why_not(wavefunction, scheme) else count_of(wavefunction, scheme)[1]
    return len(wavefunction.excitations)
