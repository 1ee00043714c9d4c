"""Saving, opening, undo and redo of Blender, and what they mean for what is shown."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.app.handlers import persistent

from .commands import session
from .keeping import keep, take_up


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
