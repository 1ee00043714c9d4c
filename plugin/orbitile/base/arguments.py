"""Arguments of commands and of analyses: what each may be, and how it is read off the text of a console."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

from .errors import OrbitileError


@dataclass(frozen=True)
class Kind:
    """What an argument may be.

    Attributes
    ----------
    name : str
        For people.
    read : callable
        Makes what a console hands over into what a command wants; takes the name of the argument and the value, and
        raises an `OrbitileError` where it cannot be read.
    choices : tuple of str
        All that it may be, where that is one of some words.
    """

    name: str
    read: Callable[[str, Any], Any]
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Argument:
    """One argument of a command.

    Attributes
    ----------
    name : str
    kind : Kind
    help : str
    default : object
        What the command gets when the argument is not given, or empty.
    otherwise : str
        What happens then, in words.
    required : bool
    completes : str
        What a console may offer to complete it with, beside the choices of its kind: molecules, surfaces, fields, or
        nothing; styles, those of the choices that the viewer has.
    slider : tuple of float, optional
        Ends of a slider that a window has for it.
    """

    name: str
    kind: Kind
    help: str
    default: Any = ""
    otherwise: str = ""
    required: bool = False
    completes: str = ""
    slider: tuple[float, float] | None = None

    @property
    def has_words(self) -> bool:
        """Whether there are words that complete it; see `Session.words_for`."""
        return bool(self.completes or self.kind.choices)

    def read(self, value: Any) -> Any:
        """The value that the command gets.

        Raises
        ------
        OrbitileError
            When it is missing or cannot be read.
        """
        if isinstance(value, str) and not unquoted(value):
            if self.required:
                raise OrbitileError(f"{self.name}: expected {self.kind.name}, got nothing")
            return self.default
        return self.kind.read(self.name, value)


def unquoted(text: str) -> str:
    """Text without surrounding white space and without the quotes around it."""
    text = text.strip()
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def brief(value: object) -> str:
    """A value as an error message quotes it."""
    if isinstance(value, int) and value.bit_length() > 200:
        return "a number of very many digits"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def listed(texts: Iterable[str], most: int, between: str = ", ") -> str:
    """The first of some texts, and how many more there are."""
    several = list(texts)
    more = f" and {len(several) - most} more" if len(several) > most else ""
    return between.join(several[:most]) + more


def _text(what: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise OrbitileError(f"{what}: expected text, got {brief(value)}")
    text = brief(value) if isinstance(value, int) else str(value)
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise OrbitileError(f"{what}: expected text, got {brief(value)}, which is not Unicode") from None
    if any(ord(letter) < 32 for letter in text):
        raise OrbitileError(f"{what}: expected text of one line, got {brief(value)}")
    return unquoted(text)


def _path(what: str, value: Any) -> Path:
    text = _text(what, value)
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise OrbitileError(f"{what}: {brief(text)} has no home folder ({error})") from error


def number(text: str) -> float:
    """The number of a text, with a point or a decimal comma: 0.03 or 0,03.

    Raises
    ------
    ValueError
        When it is none, or a comma may part thousands as well: 1,000.
    """
    if re.fullmatch(r"\s*[-+]?(?:0?,\d+|\d+,(?:\d{1,2}|\d{4,}))(?:[eE][-+]?\d+)?\s*", text):
        return float(text.replace(",", "."))
    return float(text)


def _number(what: str, value: Any) -> float:
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise TypeError
        return number(value) if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        comma = "; a comma may part thousands: write a point" if isinstance(value, str) and "," in value else ""
        raise OrbitileError(f"{what}: expected a number, got {brief(value)}{comma}") from None


def _number_that(expected: str, fits: Callable[[float], bool]) -> Callable[[str, Any], float]:
    """Reads a number, and refuses one that does not fit what is expected."""

    def read(what: str, value: Any) -> float:
        number = _number(what, value)
        if not fits(number):
            raise OrbitileError(f"{what}: expected {expected}, got {brief(value)}")
        return number

    return read


_whole = _number_that("a whole number", lambda number: abs(number) <= 1e9 and number == round(number))
_not_negative = _number_that("a whole number, 0 or more", lambda number: number >= 0)


def _count(what: str, value: Any) -> int:
    _whole(what, value)
    return int(_not_negative(what, value))


def _paths(what: str, value: Any) -> tuple[Path, ...]:
    """One file or pattern; of a list several; of a text several where that is none, and words of it are files."""
    if isinstance(value, list | tuple) and value:
        return tuple(_path(what, path) for path in value)
    whole = _path(what, value)
    if _is_there(whole):
        return (whole,)
    words = [_path(what, word) for word in _WORDS.findall(str(value))]
    return tuple(words) if len(words) > 1 and any(map(_is_there, words)) else (whole,)


_WORDS = re.compile(r""""[^"]*"|'[^']*'|\S+""")
"""Names of files beside each other, in quotes where they have spaces."""


def _is_there(path: Path) -> bool:
    try:
        return path.exists() or bool(glob(str(path)))
    except OSError:  # a name too long
        return False


def _flag(what: str, value: Any) -> bool:
    number = float(value) if isinstance(value, bool) else _number(what, value)
    if number not in (0.0, 1.0):
        raise OrbitileError(f"{what}: expected 0 or 1, got {brief(value)}")
    return bool(number)


TEXT = Kind("string", _text)
PATH = Kind("string", _path)
NUMBER = Kind("float", _number_that("a finite number", math.isfinite))
POSITIVE_NUMBER = Kind("float", _number_that("a positive number", lambda number: 0 < number < math.inf))
SHARE = Kind("float", _number_that("a number from 0 to 1", lambda number: 0 <= number <= 1))
PATHS = Kind("string", _paths)
WHOLE_NUMBER = Kind("int", lambda what, value: int(_whole(what, value)))
COUNT = Kind("int", _count)
FLAG = Kind("0/1", _flag)


def one_of(*choices: str) -> Kind:
    """One of some words."""

    def read(what: str, value: Any) -> str:
        text = _text(what, value).lower()
        if text not in choices:
            raise OrbitileError(f"{what}: expected {', '.join(choices)}, got {brief(value)}")
        return text

    return Kind(alternatives(choices), read, choices)


def alternatives(words: Sequence[str]) -> str:
    """Words as a text offers them: a, b or c."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


# Atoms ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fragment:
    """Some atoms of a molecule, by a name.

    Attributes
    ----------
    name : str
        As the user called it.
    atoms : tuple of int
        From 0, rising.
    """

    name: str
    atoms: tuple[int, ...]


_ATOM_LIST = re.compile(r"\d{1,9}(-\d{1,9})?([,+\s]+\d{1,9}(-\d{1,9})?)*")


def is_atom_list(text: str) -> bool:
    """Whether a text is a list of numbers of atoms, as 1-6,9."""
    return bool(_ATOM_LIST.fullmatch(text.strip()))


def atoms_in(what: str, text: str) -> tuple[int, ...]:
    """Atoms from 0, in the order in which they are named, of a list of their numbers from 1, as 1-6,9 or 4,3.

    Raises
    ------
    OrbitileError
        When it is no such list.
    """
    if not is_atom_list(text):
        raise OrbitileError(f"{what}: expected numbers of atoms such as 1-6,9, got {brief(text)}")
    atoms: dict[int, None] = {}
    for piece in re.split(r"[,+\s]+", text.strip()):
        first, _, last = piece.partition("-")
        low, high = int(first), int(last or first)
        if not 1 <= low <= high <= 10_000_000:
            raise OrbitileError(f"{what}: expected rising numbers of atoms, counted from 1, got {brief(piece)}")
        atoms |= dict.fromkeys(range(low - 1, high))
    return tuple(atoms)


def atom_list(atoms: Sequence[int]) -> str:
    """Atoms, from 0, as a list of numbers from 1; the inverse of `atoms_in`."""
    runs: list[list[int]] = []
    for atom in atoms:
        if runs and runs[-1][1] == atom - 1:
            runs[-1][1] = atom
        else:
            runs.append([atom, atom])
    return ",".join(f"{low + 1}" if low == high else f"{low + 1}-{high + 1}" for low, high in runs)


def fragments_in(what: str, text: str) -> tuple[Fragment, ...]:
    """Fragments of a text such as `1-6; 7-12` or `ring = 1-6; rest = 7-12`.

    Raises
    ------
    OrbitileError
        When it is no such text, two have a name, or two share an atom.
    """
    fragments: list[Fragment] = []
    for piece in filter(None, (piece.strip() for piece in text.split(";"))):
        name, equals, listed = piece.rpartition("=")
        atoms = tuple(sorted(atoms_in(what, listed)))
        fragments.append(Fragment(name.strip() if equals else atom_list(atoms), atoms))
    if not fragments:
        raise OrbitileError(f"{what}: expected fragments such as 1-6; 7-12, got {brief(text)}")
    names = [fragment.name for fragment in fragments]
    shared = [atom for fragment in fragments for atom in fragment.atoms]
    if len(set(names)) < len(names) or len(set(shared)) < len(shared):
        raise OrbitileError(f"{what}: expected fragments of different names that share no atom, got {brief(text)}")
    return tuple(fragments)


ATOMS = Kind("atoms", lambda what, value: atoms_in(what, _text(what, value)))
FRAGMENTS = Kind("fragments", lambda what, value: fragments_in(what, _text(what, value)))
