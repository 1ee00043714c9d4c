"""Where the window stands: beside PyMOL's own window, or where it was left."""

from __future__ import annotations

from typing import Any, NamedTuple

from pymol.Qt import QtCore

_WIDTH, _HEIGHT = 540, 760
"""Pixels that the window takes at first, where the screen has them."""
_LEAST = 450
"""Pixels below which it cannot be made narrower."""
_LEAST_HEIGHT = 300
"""The same of its height."""
_TITLE = 30
"""Pixels from top to bottom of what a window manager writes the title into, about."""
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


def place_near(other: Place, screen: Place) -> Place:
    """A place beside another one, on its right where there is room, else over the lower part of it."""
    if screen.right - other.right >= other.width + _GAP:
        return other._replace(x=other.right + _GAP)
    top = other.y + other.height // 4
    height = min(other.height, screen.y + screen.height - top - _TITLE)
    return Place(other.x, top, other.width, max(height, _LEAST_HEIGHT))


def put_beside(panel: Any, window: Any, settings: dict[str, Any]) -> None:
    """Put the window where it was left, at first beside PyMOL's; docked, it is given room.

    Parameters
    ----------
    panel, window
        Our window, and PyMOL's.
    settings
        What the panel has kept.
    """
    window.addDockWidget(QtCore.Qt.RightDockWidgetArea, panel)
    sharing = _SharedWidth(panel, window)
    panel.topLevelChanged.connect(lambda floating: QtCore.QTimer.singleShot(0, sharing.follow))
    panel.setFloating(bool(settings.get("floating", True)))
    if not panel.isFloating():
        return
    screen = Place(*window.screen().availableGeometry().getRect())
    place = kept_place(settings, screen)
    if place is None:
        host = Place(*window.frameGeometry().getRect())
        moved, place = places_of(host, screen)
        if moved != host:
            frame = host.width - window.width()  # what the window manager draws around it
            window.move(moved.x, moved.y)
            window.resize(moved.width - frame, window.height())
    panel.setGeometry(*place)


class _SharedWidth:
    """PyMOL's window is wider by what ours takes of it when docked, as far as the screen goes; as before otherwise."""

    def __init__(self, panel: Any, window: Any) -> None:
        self._panel, self._window = panel, window
        self._before: int | None = None

    def follow(self) -> None:
        """Ours was docked, or undocked."""
        panel, window = self._panel, self._window
        if window.isMaximized() or window.isFullScreen():
            return
        if panel.isFloating():
            if self._before is not None:
                window.resize(self._before, window.height())
            self._before = None
            return
        self._before = window.width()
        room = window.screen().availableGeometry().right() - window.frameGeometry().right()
        window.resize(window.width() + max(0, min(room, panel.width())), window.height())
        window.resizeDocks([panel], [panel.minimumSizeHint().width()], QtCore.Qt.Horizontal)
