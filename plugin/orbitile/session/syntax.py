"""How a command is typed: in PyMOL, in Tcl, in Python. What a viewer prints is to be in its own syntax."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial


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
    parts = [*map(_quoted, call.arguments), *(f"{name}={_quoted(value)}" for name, value in call.named.items())]
    return f"{call.command} {', '.join(parts)}".strip()


def _quoted(part: str) -> str:
    """An argument, in quotes where a console would take it apart."""
    return part if re.fullmatch(r"[^\s,;\"'()\[\]{}#]+", part) else f'"{part}"'


def _tcl_line(call: Call) -> str:
    named = [word for name, value in call.named.items() for word in (f"-{name}", value)]
    return " ".join([call.command, *map(_tcl_word, [*call.arguments, *named])])


def _tcl_word(part: str) -> str:
    if re.fullmatch(r"[^\s;\"$\[\]{}\\#]+", part):
        return part
    escaped = re.sub(r'([\\"$\[\]{}])', r"\\\1", part).replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _python_line(call: Call) -> str:
    text = partial(json.dumps, ensure_ascii=False)  # what JSON quotes is a text of Python too
    parts = [*map(text, call.arguments), *(f"{name}={text(value)}" for name, value in call.named.items())]
    return f"{call.command}({', '.join(parts)})"


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
