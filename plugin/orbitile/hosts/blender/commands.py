"""The commands of Orbitile for Blender's Python: `from orbitile.hosts.blender.commands import *`.

They have the names and arguments that they have everywhere, give back the name of what is shown, and raise
`OrbitileError`. The same commands are operators: `bpy.ops.orbitile.load(filename="benzene.molden")`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import bpy
from bpy.app.handlers import persistent

from ...session.commands import COMMANDS, functions_of
from ...session.declaration import Answer, Command
from ...session.session import Session
from ...session.shelf import Shelf
from . import things
from .viewer import BlenderViewer


def keep(shelf: Shelf) -> None:
    """Write what surfaces show onto their objects."""
    for name, message in shelf.saved().items():
        surface = things.get(name, things.SURFACE)
        text = json.dumps(message)
        if surface is not None and surface.get(things.SHOWN) != text:
            surface[things.SHOWN] = text


def take_up(shelf: Shelf) -> None:
    """Take up what the objects say, after they have been replaced by others."""
    shelf.follow()
    saved = {}
    for surface in things.all_of(things.SURFACE):
        message = things.json_of(surface, things.SHOWN)
        if isinstance(message, dict):
            parent = surface.parent
            saved[surface.name] = {**message, **({} if parent is None else {"molecule": parent.name})}
    known = json.loads(json.dumps(shelf.saved()))  # as plain as what was kept
    changed = {name: message for name, message in saved.items() if known.get(name) != message}
    if changed:
        shelf.restore(changed)


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


@persistent  # type: ignore[untyped-decorator]  # Blender has no types here
def _keep(*_: Any) -> None:
    keep(session().shelf)


@persistent  # type: ignore[untyped-decorator]  # Blender has no types here
def _take_up(*_: Any) -> None:
    take_up(session().shelf)


_HANDLERS = {"save_pre": _keep, "undo_pre": _keep, "load_post": _take_up, "undo_post": _take_up, "redo_post": _take_up}


def follow_files() -> None:
    """Do so whenever Blender saves, opens, undoes or redoes."""
    for name, handler in _HANDLERS.items():
        listed = getattr(bpy.app.handlers, name)
        if handler not in listed:
            listed.append(handler)


def leave_files() -> None:
    """Do so no more."""
    for name, handler in _HANDLERS.items():
        listed = getattr(bpy.app.handlers, name)
        if handler in listed:
            listed.remove(handler)
