"""What several widgets of the window share."""

from __future__ import annotations

from typing import Any

from pymol.Qt import QtCore, QtGui, QtWidgets

from .tints import faded


class ChosenByUser:
    """For views of items, before their class: no item becomes the current one because the view gets the focus.

    Qt would take the first.
    """

    _arriving = False

    def focusInEvent(self, event: Any) -> None:
        self._arriving = True
        super().focusInEvent(event)  # type: ignore[misc]  # of the view
        self._arriving = False

    def moveCursor(self, action: Any, modifiers: Any) -> Any:
        return QtCore.QModelIndex() if self._arriving else super().moveCursor(action, modifiers)  # type: ignore[misc]


def row(*widgets: Any, spacing: int = 6) -> Any:
    """Widgets side by side; None stretches."""
    layout = QtWidgets.QHBoxLayout()
    layout.setSpacing(spacing)
    for widget in widgets:
        if widget is None:
            layout.addStretch(1)
        else:
            layout.addWidget(widget)
    return layout


def write_on(view: Any, text: str) -> None:
    """Write a sentence in the middle of an empty view, from its `paintEvent`."""
    painter = QtGui.QPainter(view.viewport())
    painter.setPen(faded(view.palette()))
    flags = int(QtCore.Qt.AlignCenter | QtCore.Qt.TextWordWrap)
    painter.drawText(view.viewport().rect().adjusted(8, 4, -8, -4), flags, text)
    painter.end()
