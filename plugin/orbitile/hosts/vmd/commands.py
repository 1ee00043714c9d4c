"""The commands of Orbitile for a Python that has VMD as its module `vmd`: `from orbitile.hosts.vmd.commands import *`.

They have the names and arguments that they have everywhere, give back the name of what is shown, and raise
`OrbitileError`. They compute in this process; in VMD's own consoles `orbitile.hosts.vmd.console` takes their place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from ...session.commands import COMMANDS
from ...session.declaration import Command
from ...session.session import Session
from .viewer import VMDViewer


@cache
def session() -> Session:
    """What Orbitile shows in the VMD of this process."""
    return Session(VMDViewer(import_module("vmd")))


def _in_python(command: Command) -> Callable[..., str | None]:
    def run(*arguments: object, **named: object) -> str | None:
        answer = command.run(session(), arguments, named)
        if command.told and answer.text:
            print(answer.text)
        return answer.value

    run.__name__ = run.__qualname__ = command.name
    run.__doc__ = command.help
    return run


globals().update({command.name: _in_python(command) for command in COMMANDS})
__all__ = [command.name for command in COMMANDS]
