"""How a command is declared: once, for the consoles of all hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.arguments import Argument, brief
from ..base.errors import OrbitileError, printable
from ..files.reading import shortage_explained
from .syntax import PYMOL, Syntax, read_example


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
            return self.function(session, *(argument.read(given.get(argument.name, "")) for argument in self.arguments))

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
