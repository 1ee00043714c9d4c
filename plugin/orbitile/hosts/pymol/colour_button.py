"""A button that holds a colour."""

from __future__ import annotations

from typing import Any

from pymol.Qt import QtCore, QtGui, QtWidgets


class ColourButton(QtWidgets.QToolButton):  # type: ignore[misc]  # Qt has no types here
    """A button that shows a colour and asks for another."""

    changed = QtCore.Signal()

    def __init__(self, colour: tuple[float, float, float], what: str, parent: Any = None) -> None:
        super().__init__(parent)
        self.setToolTip(what)
        self._what = what
        self.setIconSize(QtCore.QSize(28, 14))
        self.clicked.connect(self._ask)
        self.set_colour(colour)

    def set_colour(self, colour: tuple[float, float, float]) -> None:
        """Show another colour."""
        self.colour = (float(colour[0]), float(colour[1]), float(colour[2]))
        picture = QtGui.QPixmap(28, 14)
        picture.fill(QtGui.QColor.fromRgbF(*self.colour))
        self.setIcon(QtGui.QIcon(picture))

    def _ask(self) -> None:
        chosen = QtWidgets.QColorDialog.getColor(QtGui.QColor.fromRgbF(*self.colour), self, self._what)
        if chosen.isValid():
            self.set_colour((chosen.redF(), chosen.greenF(), chosen.blueF()))
            self.changed.emit()
