"""The scale of a surface that a second field colours: its ramp, the values at it, and how far they go."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymol.Qt import QtCore, QtGui, QtWidgets

from ...surfaces.colour_maps import colours_along, tick_labels
from .widgets import row

Qt = QtCore.Qt

_STOPS = 33
"""Colours that a ramp is drawn through."""
_BAR = 12
"""Pixels from top to bottom of the ramp."""


def fill_with_ramp(painter: Any, where: Any, colour_map: str) -> None:
    """Fill a rectangle with a colour map, from left to right."""
    gradient = QtGui.QLinearGradient(where.left(), 0, where.right() + 1, 0)
    shares = np.linspace(0, 1, _STOPS)
    for share, colour in zip(shares, colours_along(colour_map, shares), strict=True):
        gradient.setColorAt(float(share), QtGui.QColor.fromRgbF(*map(float, colour)))
    painter.fillRect(where, gradient)


class ColourScale(QtWidgets.QWidget):  # type: ignore[misc]  # Qt has no types here
    """A ramp with its values, and where its range is typed; hide it where there is none.

    Attributes
    ----------
    range_changed : signal of float or None
        The colours are to span minus this to plus this, in the unit that is shown; None for what suits the values.
    """

    range_changed = QtCore.Signal(object)

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self._limit: float | None = None
        self.ramp = _Ramp()
        self.ramp.range_asked.connect(self.edit_range)
        self._unit = QtWidgets.QLabel()
        self.range_edit = QtWidgets.QLineEdit()
        self.range_edit.setPlaceholderText("automatic")
        self.range_edit.setToolTip(
            "The colours span minus this to plus this, in the unit beside; empty for what suits the values"
        )
        self.range_edit.setFixedWidth(self.fontMetrics().horizontalAdvance("automatic") + 22)
        self.range_edit.editingFinished.connect(self._typed)
        layout = row(self.ramp, self._unit, QtWidgets.QLabel("±"), self.range_edit)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setStretch(0, 1)
        self.setLayout(layout)
        self.setSizePolicy(QtWidgets.QSizePolicy.Expanding, QtWidgets.QSizePolicy.Fixed)

    def show_scale(self, colour_map: str, low: float, high: float, unit: str, limit: float | None = None) -> None:
        """Show a scale.

        Parameters
        ----------
        colour_map
            One of `orbitile.surfaces.colour_maps.MAPS`.
        low, high
            Values at its ends.
        unit
            Of the values.
        limit
            The range that was asked for; None where it follows from the values.
        """
        self.ramp.show_scale(colour_map, low, high)
        self._unit.setText(unit)
        if limit != self._limit and not self.range_edit.hasFocus():
            self._limit = limit
            self._write_limit()

    def _write_limit(self) -> None:
        self.range_edit.setText("" if self._limit is None else f"{self._limit:.4g}")

    def edit_range(self) -> None:
        """Put the keys where the range is typed."""
        self.range_edit.setFocus()
        self.range_edit.selectAll()

    def _typed(self) -> None:
        text = self.range_edit.text().strip()
        shown = "" if self._limit is None else f"{self._limit:.4g}"
        limit = _number(text)
        if text == shown or (text and limit is None):
            self._write_limit()
        else:
            self._limit = limit
            self.range_changed.emit(limit)


class _Ramp(QtWidgets.QWidget):  # type: ignore[misc]  # Qt has no types here
    range_asked = QtCore.Signal()

    def __init__(self) -> None:
        super().__init__()
        self._colour_map, self._labels = "", ["", "", ""]
        self.setToolTip("Colours of the second field; double click for another range")

    def show_scale(self, colour_map: str, low: float, high: float) -> None:
        self._colour_map = colour_map
        self._labels = tick_labels(np.array([low, (low + high) / 2, high]))
        self.update()

    def sizeHint(self) -> Any:
        return QtCore.QSize(160, _BAR + 2 + self.fontMetrics().height())

    minimumSizeHint = sizeHint

    def paintEvent(self, event: Any) -> None:
        if not self._colour_map:
            return
        painter = QtGui.QPainter(self)
        fill_with_ramp(painter, QtCore.QRect(0, 0, self.width(), _BAR), self._colour_map)
        painter.setPen(self.palette().color(QtGui.QPalette.WindowText))
        below = QtCore.QRect(0, _BAR + 2, self.width(), self.fontMetrics().height())
        needed = sum(self.fontMetrics().horizontalAdvance(f"{label}  ") for label in self._labels)
        sides = (Qt.AlignLeft, Qt.AlignHCenter, Qt.AlignRight)
        for at, (label, side) in enumerate(zip(self._labels, sides, strict=True)):
            if at != 1 or needed < self.width():
                painter.drawText(below, int(side | Qt.AlignVCenter), label)
        painter.end()

    def mouseDoubleClickEvent(self, event: Any) -> None:
        self.range_asked.emit()


def _number(text: str) -> float | None:
    """A positive number that was typed; None for anything else."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < np.inf else None
