"""What the windows of Orbitile beside that of PyMOL have in common."""

from __future__ import annotations

from typing import Any

from pymol.Qt import QtCore, QtWidgets

_PLACED = 1000
"""Milliseconds after which a place where a window was moved to is kept."""


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
        self._placed = QtCore.QTimer(self)
        self._placed.setSingleShot(True)
        self._placed.setInterval(_PLACED)
        self._placed.timeout.connect(self.placed)

    @property
    def place(self) -> dict[str, Any]:
        """Where it is, in plain types; see `placing`."""
        return {"floating": self.isFloating(), "geometry": [self.x(), self.y(), self.width(), self.height()]}

    def keyPressEvent(self, event: Any) -> None:
        """Keys that nothing here uses go nowhere: PyMOL would take them as typed at its prompt."""
        event.accept()

    def moveEvent(self, event: Any) -> None:
        super().moveEvent(event)
        self._placed.start()

    def resizeEvent(self, event: Any) -> None:
        super().resizeEvent(event)
        self._placed.start()
