"""The commands of Orbitile for a Python that has VMD as its module `vmd`: `from orbitile.hosts.vmd.commands import *`.

They have the names and arguments that they have everywhere, give back the name of what is shown, and raise
`OrbitileError`. They compute in this process; in VMD's own consoles `orbitile.hosts.vmd.console` takes their place.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ...session.commands import COMMANDS, functions_of
from ...session.session import Session
from .viewer import VMDViewer


@cache
def session() -> Session:
    """What Orbitile shows in the VMD of this process."""
    return Session(VMDViewer(import_module("vmd")))


globals().update(functions_of(lambda command, *given: command.run(session(), *given), print))
__all__ = [command.name for command in COMMANDS]
