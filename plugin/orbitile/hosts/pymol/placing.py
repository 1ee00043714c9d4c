"""Where the window stands: beside PyMOL's own window, or where it was left."""

from __future__ import annotations

from typing import Any, NamedTuple

_WIDTH, _HEIGHT = 540, 760
"""Pixels that the window takes at first, where the screen has them."""
_LEAST = 450
"""Pixels below which it cannot be made narrower."""
_GAP = 8
_NARROWEST = 560
"""Pixels to which PyMOL's window is made narrower, to have both side by side."""


class Place(NamedTuple):
    """A rectangle of the screen, in pixels."""

    x: int
    y: int
    width: int
    height: int

    @property
    def right(self) -> int:
        """The first pixel beyond it."""
        return self.x + self.width


def places_of(host: Place, screen: Place) -> tuple[Place, Place]:
    """Places for PyMOL's window and for ours: beside it on the right or on the left, it being moved if need be.

    Parameters
    ----------
    host
        Where PyMOL's window is.
    screen
        What of the screen there is for windows.
    """
    height = min(_HEIGHT, screen.height - 30)
    top = min(max(host.y, screen.y), screen.y + screen.height - height)
    width = min(_WIDTH, max(screen.width - _NARROWEST - _GAP, _LEAST))
    if screen.right - host.right >= width + _GAP:
        return host, Place(host.right + _GAP, top, width, height)
    if host.x - screen.x >= width + _GAP:
        return host, Place(host.x - width - _GAP, top, width, height)
    moved = host._replace(x=screen.x, width=min(host.width, screen.width - width - _GAP))
    return moved, Place(moved.right + _GAP, top, width, height)


def kept_place(settings: dict[str, Any], screen: Place) -> Place | None:
    """Where the window was left, as far as that is on the screen; None where it was never, or that is damaged."""
    numbers = settings.get("geometry")
    if not (isinstance(numbers, list) and len(numbers) == 4 and all(type(number) is int for number in numbers)):
        return None
    x, y, width, height = numbers
    width, height = max(200, min(width, screen.width)), max(200, min(height, screen.height))
    x = min(max(x, screen.x), screen.right - width)
    return Place(x, min(max(y, screen.y), screen.y + screen.height - height), width, height)
