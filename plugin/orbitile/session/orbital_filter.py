"""Words that filter the table of orbitals: `homo-3..lumo`, `7-9`, `a1g`, `occ`, `-20..-5`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from .orbitals import EnergyUnit, Level, Levels

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
            return partial(_is_between, _place_of, first, last)
        return partial(_is_between, _energy_of, _energy(low, unit), _energy(high, unit))
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


def _place_of(level: Level) -> float:
    return level.place


def _energy_of(level: Level) -> float:
    return level.energy


def _is_between(value_of: Callable[[Level], float], low: float | None, high: float | None, level: Level) -> bool:
    return (low is None or low <= value_of(level)) and (high is None or value_of(level) <= high)
