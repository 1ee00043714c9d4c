"""The commands as functions of Python, for viewers whose scripts are Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .commands import COMMANDS
from .declaration import PYTHON, Answer, Command

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
