"""How a command is typed: in PyMOL, in Tcl, in Python. What a viewer prints is to be in its own syntax."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from ..base.errors import printable


@dataclass(frozen=True)
class Call:
    """A command with its arguments, whatever the syntax of the console.

    Attributes
    ----------
    command : str
    arguments : tuple of str
        By position.
    named : dict
        By name.
    """

    command: str
    arguments: tuple[str, ...] = ()
    named: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Syntax:
    """How the users of a viewer type commands.

    Attributes
    ----------
    line : callable
        Writes a `Call`.
    usage : callable
        Writes the name of a command and the names of its arguments, those that may be left out in brackets.
    """

    line: Callable[[Call], str]
    usage: Callable[[str, list[str], list[str]], str]


def read_example(text: str) -> Call | None:
    """A command as declarations give examples, which is as in PyMOL; None for what is no command of Orbitile."""
    if not text.startswith("orb_"):
        return None
    name, _, rest = text.partition(" ")
    words = [word.strip() for word in rest.split(", ")] if rest.strip() else []
    named = {word.partition("=")[0]: word.partition("=")[2] for word in words if re.match(r"[a-z_]+=", word)}
    return Call(name, tuple(word for word in words if word.partition("=")[0] not in named), named)


def _pymol_line(call: Call) -> str:
    """As a command, or as a statement of Python where PyMOL, which knows no escapes, would take an argument apart."""
    values = [*call.arguments, *call.named.values()]
    if all(value.isprintable() and re.search(r"""["'()\[\]]|^[=\s]|\s$""", value) is None for value in values):
        parts = [*map(_quoted, call.arguments), *(f"{name}={_quoted(value)}" for name, value in call.named.items())]
        return f"{call.command} {', '.join(parts)}".strip()
    parts = [*map(_escaped, call.arguments), *(f"{name}={_escaped(value)}" for name, value in call.named.items())]
    return f"/cmd.keyword[{_escaped(call.command)}][0]({', '.join([*parts, '_self=cmd'])})"


def _quoted(part: str) -> str:
    """An argument, in quotes where PyMOL would take it apart."""
    return part if re.fullmatch(r"[^\s,;={}#]*[^\s,;={}#\\]", part) else f'"{part}"'


def _escaped(part: str) -> str:
    """A text of Python without anything that ends a line or a command of PyMOL."""
    codes = [one if one.isprintable() and one not in "\\\"';" else rf"\U{ord(one):08x}" for one in part]
    return f'"{"".join(codes)}"'


def _tcl_line(call: Call) -> str:
    named = [word for name, value in call.named.items() for word in (f"-{name}", value)]
    return " ".join([call.command, *map(tcl_word, [*call.arguments, *named])])


def tcl_word(part: str) -> str:
    """A word of Tcl on one line, of which nothing is replaced."""
    if part.isprintable() and re.fullmatch(r"[^\s;\"$\[\]{}\\#]+", part):
        return part
    escaped = re.sub(r'([\\"$\[\]{}])', r"\\\1", part)
    codes = [one if one.isprintable() else rf"\u{ord(one):04x}" for one in escaped]
    return f'"{"".join(codes)}"'


def shell_line(words: Iterable[str]) -> str:
    r"""A line for bash, zsh and ksh; words that do not print are escaped, as $'a\012b'."""
    return " ".join(map(_shell_word, words))


def _shell_word(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    codes = [chr(byte) if chr(byte).isalnum() and byte < 128 else rf"\{byte:03o}" for byte in os.fsencode(word)]
    return f"$'{''.join(codes)}'"


def _python_line(call: Call) -> str:
    named = [f"{name}={_python_text(value)}" for name, value in call.named.items()]
    return f"{call.command}({', '.join([*map(_python_text, call.arguments), *named])})"


def _python_text(part: str) -> str:
    return printable(json.dumps(part, ensure_ascii=False))  # what JSON quotes is a text of Python too


def _usage(separator: str, opening: str, closing: str, name: str, needed: list[str], optional: list[str]) -> str:
    text = separator.join(needed)
    for one in optional:
        text += f" [{separator.rstrip() if text else ''} {one}".replace("  ", " ")
    text = f"{text}{' ' if optional else ''}{']' * len(optional)}".strip()
    return f"{name}{opening}{text}{closing}".strip()


PYMOL = Syntax(_pymol_line, partial(_usage, ", ", " ", ""))
"""`orb_mo benzene, homo, quality=fine`"""

TCL = Syntax(_tcl_line, partial(_usage, " ", " ", ""))
"""`orb_mo benzene homo -quality fine`"""

PYTHON = Syntax(_python_line, partial(_usage, ", ", "(", ")"))
"""`orb_mo("benzene", "homo", quality="fine")`"""
