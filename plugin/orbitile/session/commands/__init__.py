"""The commands, each declared once, in a module of this package: consoles of all hosts are made from `COMMANDS`.

A command is in the one file that declares it; what a module offers is stated by `Commands`, and no list names it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ...base.errors import OrbitileError
from ...base.registry import modules_of
from ..declaration import PYTHON, Answer, Command


class Commands(Protocol):
    """What a module of commands offers, beside the commands that it declares with `command`.

    Topics are in the order of the `PRIORITY` of their modules, commands of a topic in that of their declarations.
    """

    TOPIC: str
    """What the commands are for, as `orb_help` lists them; several modules may have one."""
    MADE: tuple[Command, ...] = ()
    """Commands that are made of something else."""
    __name__: str


def _topics() -> dict[str, tuple[Command, ...]]:
    topics: dict[str, tuple[Command, ...]] = {}
    for module in modules_of(__name__, Commands).values():
        stated = [one for one in vars(module).values() if isinstance(one, Command)]
        own = [one for one in stated if one.function.__module__ == module.__name__]
        topics[module.TOPIC] = (*topics.get(module.TOPIC, ()), *own, *module.MADE)
    counts = Counter(command.name for commands in topics.values() for command in commands)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise OrbitileError(f"{twice[0]}: expected one command of this name, got {counts[twice[0]]}; rename the others")
    return topics


TOPICS = _topics()
"""Commands by what they are for, as `orb_help` lists them."""

COMMANDS: tuple[Command, ...] = tuple(command for commands in TOPICS.values() for command in commands)


def __getattr__(name: str) -> Command:
    """The commands as attributes: `commands.orb_load`."""
    for command in COMMANDS:
        if command.name == name:
            return command
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


Run = Callable[[Command, Sequence[Any], Mapping[str, Any]], Answer]
"""Does a command of a viewer, with arguments by position and by name."""


def functions_of(run: Run, tell: Callable[[str], None]) -> dict[str, Callable[..., str | None]]:
    """All commands by name, with the arguments that they have everywhere; they raise `OrbitileError`.

    Parameters
    ----------
    run : callable
        What does them.
    tell : callable
        Takes the text of those that are asked for a text; the others give back the name of what is shown.
    """
    return {command.name: _function(command, run, tell) for command in COMMANDS}


def _function(command: Command, run: Run, tell: Callable[[str], None]) -> Callable[..., str | None]:
    def function(*arguments: object, **named: object) -> str | None:
        answer = run(command, arguments, named)
        if command.told and answer.text:
            tell(answer.text)
        return answer.value

    function.__name__ = function.__qualname__ = command.name
    function.__doc__ = command.help(PYTHON)
    return function
