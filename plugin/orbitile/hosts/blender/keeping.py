"""What is shown, kept with the objects that show it: so it is saved, opened, undone and redone with them."""

from __future__ import annotations

import json

from ...session.shelf import Shelf
from . import things


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
