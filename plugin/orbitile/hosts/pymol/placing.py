"""The windows of Orbitile, and where they stand: beside PyMOL's own window, or where they were left."""

from __future__ import annotations

from typing import Any, NamedTuple

from pymol.Qt import QtCore, QtGui, QtWidgets

_WIDTH, _HEIGHT = 540, 760
"""Size of the window at first, in pixels, where the screen has room for it."""
_LEAST = 450
"""Smallest width of the window, in pixels."""
_LEAST_HEIGHT = 300
"""Smallest height of the window, in pixels."""
_THIRD = 420
"""Smallest width of a third window beside both, in pixels."""
_GAP = 8
_NARROWEST = 560
"""Smallest width in pixels to which PyMOL's window is narrowed, to have both side by side."""
_PLACED = 1000
"""Delay in milliseconds after which the place of a window that was moved is kept."""


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

    @property
    def bottom(self) -> int:
        """The first pixel below it."""
        return self.y + self.height

    def covers(self, other: Place) -> bool:
        """Whether the two have any pixel in common."""
        across = self.x < other.right and other.x < self.right
        return across and self.y < other.bottom and other.y < self.bottom


def places_of(host: Place, screen: Place, kept: Place | None = None) -> tuple[Place, Place]:
    """Places for PyMOL's window and for ours: neither covers the other, as far as the screen has room for both.

    Ours stands where it was left, and PyMOL's makes room for it; at first it is beside PyMOL's on the right or on the
    left, PyMOL's being moved if need be.

    Parameters
    ----------
    host
        Where PyMOL's window is.
    screen
        What of the screen there is for windows.
    kept
        Where ours was left; None for nowhere.
    """
    if kept is not None:
        if not kept.covers(host):
            return host, kept
        before, behind = kept.x - _GAP - screen.x, screen.right - kept.right - _GAP
        if max(before, behind) >= _NARROWEST:
            width = min(host.width, max(before, behind))
            x = min(host.x, kept.x - _GAP - width) if before >= behind else max(host.x, kept.right + _GAP)
            x = min(max(x, screen.x), screen.right - width)
            return host._replace(x=x, width=width), kept
    width, height = (_WIDTH, _HEIGHT) if kept is None else (kept.width, kept.height)
    height = min(height, screen.height - 30)
    top = min(max(host.y if kept is None else kept.y, screen.y), screen.y + screen.height - height)
    width = min(width, max(screen.width - _NARROWEST - _GAP, _LEAST))
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


def places_with(host: Place, panel: Place, list_of: Place, screen: Place) -> tuple[Place, Place, Place]:
    """Places for PyMOL's window, for ours and for a third one beside them, which covers none of the others.

    It stands on the right of ours or on the left of PyMOL's, which is made narrower if need be. Where the screen is too
    small for three, it covers the list of orbitals: neither the molecule nor the controls.

    Parameters
    ----------
    host, panel
        Where PyMOL's window and ours are.
    list_of
        Where ours has the list of orbitals.
    screen
        What of the screen there is for windows.
    """
    first, last = min(host.x, panel.x), max(host.right, panel.right)
    top, height = panel.y, panel.height
    for left, right in ((last + _GAP, screen.right), (screen.x, first - _GAP)):
        if right - left >= _THIRD:
            width = min(panel.width, right - left)
            return host, panel, Place(left if left > screen.x else right - width, top, width, height)
    free = screen.width - _THIRD - 2 * _GAP
    if free >= _NARROWEST + _LEAST:
        panel = panel._replace(width=min(panel.width, free - _NARROWEST))
        host = host._replace(x=screen.x, width=min(host.width, free - panel.width))
        panel = panel._replace(x=host.right + _GAP)
        left = panel.right + _GAP
        return host, panel, Place(left, top, min(panel.width, screen.right - left), height)
    return host, panel, list_of._replace(height=max(list_of.height, _LEAST_HEIGHT))


def frame_of(window: Any) -> Place:
    """Where a window is, with what the window manager draws around it."""
    return Place(*window.frameGeometry().getRect())


def screen_of(window: Any, settings: dict[str, Any]) -> Place:
    """The screen on which a window of ours was left, if it is still there; otherwise that of PyMOL's window."""
    screens = [Place(*screen.availableGeometry().getRect()) for screen in QtGui.QGuiApplication.screens()]
    here = Place(*window.screen().availableGeometry().getRect())
    for screen in screens:
        kept = kept_place(settings, screen)
        if kept is not None and [*kept] == settings["geometry"]:
            return screen
    return here


def move(window: Any, to: Place) -> None:
    """Move a window to where its frame is to be; it keeps its height."""
    before = frame_of(window)
    if to != before:
        window.move(to.x, to.y)
        window.resize(to.width - (before.width - window.width()), window.height())


class ToolWindow(QtWidgets.QDockWidget):  # type: ignore[misc]  # Qt has no types here
    """A window that can be docked, and tells where it was left.

    Parameters
    ----------
    title
        Of the window.
    window
        Main window that it belongs to.

    Attributes
    ----------
    placed : signal
        It stands where it was moved to, or has another size. PyMOL ends without telling: what is to be kept is kept
        when it changes.
    """

    placed = QtCore.Signal()

    def __init__(self, title: str, window: Any) -> None:
        super().__init__(title, window)
        self._width_of_main: int | None = None
        self._placed = QtCore.QTimer(self, singleShot=True, interval=_PLACED, timeout=self.placed)

    @property
    def place(self) -> dict[str, Any]:
        """Where it is, in plain types; see `placing`."""
        return {"floating": self.isFloating(), "geometry": [self.x(), self.y(), self.width(), self.height()]}

    def put_beside(self, settings: dict[str, Any]) -> None:
        """Stand where it was left, at first beside PyMOL's window; docked, it is given room.

        Parameters
        ----------
        settings
            What was kept, `place` among it.
        """
        main = self.parentWidget()
        main.addDockWidget(QtCore.Qt.RightDockWidgetArea, self)
        self.topLevelChanged.connect(lambda floating: QtCore.QTimer.singleShot(0, self._share_width))
        self.setFloating(bool(settings.get("floating", True)))
        if self.isFloating() and (main.isMaximized() or main.isFullScreen()):
            self.setFloating(False)  # beside it there is no room
        if not self.isFloating():
            self._share_width()
            return
        screen = screen_of(main, settings)
        moved, place = places_of(frame_of(main), screen, kept_place(settings, screen))
        move(main, moved)
        self.setGeometry(*place)

    def _share_width(self) -> None:
        """Widen PyMOL's window by what this one takes of it when docked, as far as the screen goes; undo it after."""
        main = self.parentWidget()
        if main.isMaximized() or main.isFullScreen():
            return
        if self.isFloating():
            if self._width_of_main is not None:
                main.resize(self._width_of_main, main.height())
            self._width_of_main = None
            return
        self._width_of_main = main.width()
        room = main.screen().availableGeometry().right() - main.frameGeometry().right()
        main.resize(main.width() + max(0, min(room, self.width())), main.height())
        main.resizeDocks([self], [self.minimumSizeHint().width()], QtCore.Qt.Horizontal)

    def keyPressEvent(self, event: Any) -> None:
        """Keys that nothing here uses go nowhere: PyMOL would take them as typed at its prompt."""
        event.accept()

    def moveEvent(self, event: Any) -> None:
        super().moveEvent(event)
        self._placed.start()

    def resizeEvent(self, event: Any) -> None:
        super().resizeEvent(event)
        self._placed.start()
