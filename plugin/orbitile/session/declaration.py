"""How a command is declared, once for the consoles of all hosts, and how it is typed in each: PyMOL, Tcl, Python.

What a viewer prints is in its own syntax.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..base.arguments import Argument, brief
from ..base.errors import OrbitileError, printable
from ..base.memory import give_back
from ..files.reading import shortage_explained


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", printable(self.text, "\n\t"))


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
            When an argument is missing, unknown or cannot be read, where the system has run out of memory, room or
            handles, and as the command does.
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
        with shortage_explained():
            values = [argument.read(given.get(argument.name, "")) for argument in self.arguments]
            answer = self.function(session, *values)
        give_back()
        return answer

    def help(self, syntax: Syntax) -> str:
        """Help in the layout of PyMOL, which reads well in any console, with lines as they are typed there."""
        described = [
            f"{argument.name} = {argument.kind.name}: {argument.help}"
            + (f" {{default: {argument.otherwise}}}" if argument.otherwise else "")
            for argument in self.arguments
        ]
        if syntax is PYMOL:
            examples = list(self.examples)
        else:  # without PyMOL's own commands among them
            examples = [syntax.line(call) for call in map(read_example, self.examples) if call is not None]
        parts = [("DESCRIPTION", [self.summary]), ("USAGE", [self.usage(syntax)])]
        parts += [("ARGUMENTS", described)] if described else []
        parts += [("EXAMPLE", ["\n    ".join(examples)])] if examples else []
        parts += [("SEE ALSO", [", ".join(self.related)])] if self.related else []
        return "\n\n".join(f"{title}\n\n    " + "\n\n    ".join(lines) for title, lines in parts)

    def usage(self, syntax: Syntax) -> str:
        """The command with its arguments, those that may be left out in brackets."""
        needed = [argument.name for argument in self.arguments if argument.required]
        optional = [argument.name for argument in self.arguments if not argument.required]
        return syntax.usage(self.name, needed, optional)


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
