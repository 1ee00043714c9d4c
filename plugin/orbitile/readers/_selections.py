"""Choices of atoms in PyMOL's words: `byres chain A within 5 of resn 478`."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from ..base.arguments import listed
from ..base.errors import OrbitileError
from ..model.elements import SYMBOLS
from ..model.structure import Structure
from ..model.units import angstrom

Mask = NDArray[np.bool_]

PROPERTIES = {
    "resn": "the name of a residue",
    "resi": "the number of a residue, with its insertion code if any, or a range: 10-20",
    "chain": "the name of a chain",
    "name": "the name of an atom",
    "elem": "an element",
    "index": "the number of an atom, counted from 1, or a range",
}
"""Words that take a value or several: `resn ASP+GLU`, `name C*`."""

GRAMMAR = (
    f"{', '.join(PROPERTIES)} with a value, several joined by + (resn ASP+GLU), a range of numbers (resi 10-20) or a "
    "pattern (name C*); all; hydro; not, and, or; S around D (others within D Angstrom of S), S expand D (with S); "
    "byres S (whole residues); R within D of S; parentheses. As in PyMOL, byres and within take all that follows them"
)
"""For help."""

_WORDS = re.compile(r"[()]|[^\s()]+")
_LONG = {"resname": "resn", "resid": "resi", "element": "elem", "&": "and", "|": "or", "!": "not"}
"""What else the words are called, in PyMOL and elsewhere."""


def select(structure: Structure, text: str) -> NDArray[np.int64]:
    """Atoms that a selection chooses, in order.

    Parameters
    ----------
    structure
    text
        In the language of selections of PyMOL, of which there are: resn, resi, chain, name, elem, index, all, hydro,
        not, and, or, around, expand, byres, within ... of, and parentheses.

    Raises
    ------
    OrbitileError
        When the text is not understood, or no atom is chosen.
    """
    try:
        chosen = np.flatnonzero(_Selection(structure, text).mask())
    except RecursionError as error:
        raise OrbitileError(f"selection {text[:40]!r}...: its parts are nested too deeply") from error
    if not len(chosen):
        names = listed(sorted({residue.name for residue in structure.residues}), 40)
        raise OrbitileError(f"selection {text!r}: expected one atom or more, got none; residues (resn) are {names}")
    return chosen


class _Selection:
    """The parser, which evaluates what it reads; each method reads what its name says and gives a mask of atoms."""

    def __init__(self, structure: Structure, text: str) -> None:
        self._structure, self._text = structure, text
        self._words = _WORDS.findall(text)
        self._at = 0

    def mask(self) -> Mask:
        found = self._all_of_it()
        if self._at < len(self._words):
            raise self._error("and, or, around, expand or within")
        return found

    def _all_of_it(self) -> Mask:
        found = self._joined("or", lambda: self._joined("and", self._one))
        while self._takes("within"):
            distance = self._distance()
            if not self._takes("of"):
                raise self._error("of")
            found = found & self._near(self._all_of_it(), distance)
        return found

    def _joined(self, word: str, part: Callable[[], Mask]) -> Mask:
        found = part()
        while self._takes(word):
            other = part()
            found = found | other if word == "or" else found & other
        return found

    def _one(self) -> Mask:
        if self._takes("not"):
            return ~self._one()
        if self._takes("byres"):
            residues = np.unique(self._structure.residue_of[self._all_of_it()])
            return np.isin(self._structure.residue_of, residues)
        found = self._of_a_word()
        while self._next() in ("around", "expand"):
            around = self._takes("around") or not self._takes("expand")  # one of them is there
            near = self._near(found, self._distance())
            found = near & ~found if around else near
        return found

    def _of_a_word(self) -> Mask:
        structure, n = self._structure, len(self._structure.names)
        if self._next() == "within":  # what it is to be within: anything
            return np.ones(n, bool)
        if self._takes("("):
            found = self._all_of_it()
            if not self._takes(")"):
                raise self._error(")")
            return found
        if self._takes("all"):
            return np.ones(n, bool)
        if self._takes("hydro"):
            return structure.atomic_numbers == 1
        word = self._next()
        if word not in PROPERTIES:
            raise self._error(f"one of {', '.join(PROPERTIES)}, all, hydro, not, byres, (")
        self._at += 1
        if self._at == len(self._words) or self._words[self._at] in "()":
            raise self._error(PROPERTIES[word])
        values = [re.sub(r"^(['\"])(.*)\1$", r"\2", value) for value in self._words[self._at].split("+")]
        self._at += 1
        return self._with(word, values)

    def _with(self, word: str, values: list[str]) -> Mask:
        """Atoms with one of several values of a property."""
        structure = self._structure
        if word in ("resn", "chain", "resi"):
            per_residue = {
                "resn": [residue.name.upper() for residue in structure.residues],
                "chain": [residue.chain for residue in structure.residues],
                "resi": [residue.number.upper() for residue in structure.residues],
            }[word]
            fits = _fitting(per_residue, values, word)
            return fits[structure.residue_of]
        if word == "index":
            return _fitting([str(n + 1) for n in range(len(structure.names))], values, word)
        if word == "elem":
            return _fitting([SYMBOLS[z].upper() for z in structure.atomic_numbers], values, word)
        return _fitting([name.upper() for name in structure.names], values, word)

    def _near(self, these: Mask, distance: float) -> Mask:
        """Atoms within a distance of these, these among them."""
        from scipy.spatial import cKDTree

        if not these.any():
            return these
        positions = self._structure.positions
        return cKDTree(positions[these]).query(positions, distance_upper_bound=distance * angstrom)[0] < np.inf

    def _distance(self) -> float:
        try:
            distance = float(self._words[self._at])
        except (IndexError, ValueError):
            distance = np.nan
        if not 0 < distance < 1e6:
            raise self._error("a distance in Angstrom")
        self._at += 1
        return distance

    def _next(self) -> str:
        word = self._words[self._at].lower() if self._at < len(self._words) else ""
        return _LONG.get(word, word)

    def _takes(self, word: str) -> bool:
        taken = self._next() == word
        self._at += taken
        return taken

    def _error(self, expected: str) -> OrbitileError:
        got = repr(self._words[self._at]) if self._at < len(self._words) else "the end"
        return OrbitileError(f"selection {self._text!r}: expected {expected}, got {got}")


def _fitting(texts: list[str], values: list[str], word: str) -> Mask:
    """Which texts are one of these values; names of chains count with their case, all else without."""
    known = {text: any(_fits(text, value, word) for value in values) for text in set(texts)}
    return np.array([known[text] for text in texts])


def _fits(text: str, value: str, word: str) -> bool:
    limits = re.fullmatch(r"(-?\d{1,9})[-:](-?\d{1,9})", value) if word in ("resi", "index") else None
    if limits:
        number = re.match(r"-?\d+", text)
        return number is not None and int(limits[1]) <= int(number[0]) <= int(limits[2])
    return fnmatchcase(text, (value if word == "chain" else value.upper()).replace("[", "[[]"))
