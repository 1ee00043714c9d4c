"""How a command is declared: once, for the consoles of all hosts."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

from ..errors import OrbitileError
from .words import alternatives


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
        nothing.
    """

    name: str
    kind: Kind
    help: str
    default: Any = ""
    otherwise: str = ""
    required: bool = False
    completes: str = ""

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


@dataclass(frozen=True)
class Answer:
    """What a command gives back.

    Attributes
    ----------
    value : str or None
        For scripts, above all the name of what is shown.
    text : str
        For people.
    """

    value: str | None
    text: str


@dataclass(frozen=True)
class Command:
    """A command: in PyMOL, over a pipe and in Python it has the same name and the same arguments.

    Attributes
    ----------
    name : str
    summary : str
        One sentence.
    arguments : tuple of Argument
        Required ones first.
    examples : tuple of str
        Lines as at PyMOL's prompt.
    related : tuple of str
        Commands to look at next.
    told : bool
        Whether its text is told in scripts as well, being what was asked for.
    function : callable
        Takes the session and the arguments, read, by position.
    """

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    examples: tuple[str, ...]
    related: tuple[str, ...]
    told: bool
    function: Callable[..., Answer]

    def run(self, session: object, positional: Sequence[Any] = (), named: Mapping[str, Any] | None = None) -> Answer:
        """Do it.

        Raises
        ------
        OrbitileError
            When an argument is missing, unknown or cannot be read, and as the command does.
        """
        names = [argument.name for argument in self.arguments]
        if len(positional) > len(names):
            raise OrbitileError(f"{self.name} takes {len(names)} arguments at most, got {len(positional)}")
        given = dict(zip(names, positional, strict=False))
        for name, value in (named or {}).items():
            if name not in names or name in given:
                why = "is given twice" if name in given else f"is unknown; expected {', '.join(names) or 'none'}"
                raise OrbitileError(f"{self.name}: the argument {brief(name)} {why}")
            given[name] = value
        return self.function(session, *(argument.read(given.get(argument.name, "")) for argument in self.arguments))

    @property
    def usage(self) -> str:
        """The command with its arguments, those that may be left out in brackets."""
        needed = [argument.name for argument in self.arguments if argument.required]
        optional = [argument.name for argument in self.arguments if not argument.required]
        text = ", ".join(needed)
        for name in optional:
            text += f" [{',' if text else ''} {name}"
        return f"{self.name} {text.strip()}{' ' if optional else ''}{']' * len(optional)}".strip()

    @property
    def help(self) -> str:
        """Help in the layout of PyMOL, which reads well in any console."""
        parts = [("DESCRIPTION", [self.summary]), ("USAGE", [self.usage])]
        described = [
            f"{argument.name} = {argument.kind.name}: {argument.help}"
            + (f" {{default: {argument.otherwise}}}" if argument.otherwise else "")
            for argument in self.arguments
        ]
        parts += [("ARGUMENTS", described)] if described else []
        parts += [("EXAMPLE", ["\n    ".join(self.examples)])] if self.examples else []
        parts += [("SEE ALSO", [", ".join(self.related)])] if self.related else []
        return "\n\n".join(f"{title}\n\n    " + "\n\n    ".join(lines) for title, lines in parts)


def command(
    summary: str,
    *arguments: Argument,
    examples: tuple[str, ...] = (),
    related: tuple[str, ...] = (),
    told: bool = False,
) -> Callable[[Callable[..., Answer]], Command]:
    """Declare a function as a command, which is called as the function is; see `Command`."""

    def declare(function: Callable[..., Answer]) -> Command:
        return Command(function.__name__, summary, arguments, examples, related, told, function)

    return declare


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


def _number(what: str, value: Any) -> float:
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise OrbitileError(f"{what}: expected a number, got {brief(value)}") from None


def _finite(what: str, value: Any) -> float:
    number = _number(what, value)
    if not math.isfinite(number):
        raise OrbitileError(f"{what}: expected a finite number, got {brief(value)}")
    return number


def _positive(what: str, value: Any) -> float:
    number = _number(what, value)
    if not 0 < number < math.inf:
        raise OrbitileError(f"{what}: expected a positive number, got {brief(value)}")
    return number


def _share(what: str, value: Any) -> float:
    number = _number(what, value)
    if not 0 <= number <= 1:
        raise OrbitileError(f"{what}: expected a number from 0 to 1, got {brief(value)}")
    return number


def _whole(what: str, value: Any) -> int:
    number = _number(what, value)
    if number != round(number) or abs(number) > 1e9:
        raise OrbitileError(f"{what}: expected a whole number, got {brief(value)}")
    return int(number)


def _count(what: str, value: Any) -> int:
    number = _whole(what, value)
    if number < 0:
        raise OrbitileError(f"{what}: expected a whole number, 0 or more, got {brief(value)}")
    return number


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
NUMBER = Kind("float", _finite)
POSITIVE_NUMBER = Kind("float", _positive)
SHARE = Kind("float", _share)
PATHS = Kind("string", _paths)
WHOLE_NUMBER = Kind("int", _whole)
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
