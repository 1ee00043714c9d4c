"""The commands of Orbitile for Blender's Python: `from orbitile.hosts.blender.commands import *`.

They have the names and arguments that they have everywhere, give back the name of what is shown, and raise
`OrbitileError`. The same commands are operators: `bpy.ops.orbitile.load(filename="benzene.molden")`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ...session.commands import COMMANDS
from ...session.declaration import Answer, Command
from ...session.functions import functions_of
from ...session.session import Session
from .keeping import keep
from .viewer import BlenderViewer


@cache
def session() -> Session:
    """What Orbitile shows in the Blender of this process."""
    return Session(BlenderViewer())


def run(command: Command, positional: Sequence[Any] = (), named: Mapping[str, Any] | None = None) -> Answer:
    """Do a command, and have the objects know what they show; errors as of the command."""
    try:
        return command.run(session(), positional, named)
    finally:
        keep(session().shelf)


globals().update(functions_of(run, print))
__all__ = [command.name for command in COMMANDS]
