"""Colours of a surface: a pair for the two signs of a field, or the scale of a second field."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from pymol.Qt import QtCore, QtGui, QtWidgets

from ...surfaces.colour_maps import Pair, colours_along, tick_labels
from .widgets import ask_by, row

Qt = QtCore.Qt

SWATCH = QtCore.QSize(34, 12)
"""Size of the picture of a pair, in pixels."""
_STOPS = 33
"""Number of colours that a ramp is drawn through."""
_BAR = 12
"""Height of the ramp in pixels."""


def make_swatch(paint: Any, size: Any = SWATCH) -> Any:
    """An icon that a function paints into a rectangle; Qt does not tint it where its row is selected."""
    picture = QtGui.QPixmap(size)
    painter = QtGui.QPainter(picture)
    paint(painter, QtCore.QRect(QtCore.QPoint(0, 0), size))
    painter.end()
    icon = QtGui.QIcon(picture)
    icon.addPixmap(picture, QtGui.QIcon.Selected)
    return icon


def fill_with_pair(painter: Any, where: Any, pair: Pair) -> None:
    """Fill the left half of a rectangle with one colour and the right half with the other."""
    half = where.width() // 2
    for left, colour in zip((0, half), pair, strict=True):
        painter.fillRect(where.left() + left, where.top(), half, where.height(), QtGui.QColor.fromRgbF(*colour))


class PairButton(QtWidgets.QToolButton):  # type: ignore[misc]  # Qt has no types here
    """A button that shows two colours and drops down others: pairs by name, or any by Qt's dialog.

    Parameters
    ----------
    pairs
        Pairs by their names.

    Attributes
    ----------
    chosen : signal of pair
        The user chose two colours.
    """

    chosen = QtCore.Signal(object)

    def __init__(self, pairs: Mapping[str, Pair], parent: Any = None) -> None:
        super().__init__(parent, popupMode=QtWidgets.QToolButton.InstantPopup, iconSize=SWATCH)
        self.setToolTip("Colours where the field is positive and where it is negative")
        self._named: dict[Any, Pair] = {}
        menu = QtWidgets.QMenu(self)
        for name, pair in pairs.items():
            action = menu.addAction(make_swatch(partial(fill_with_pair, pair=pair), QtCore.QSize(16, 16)), name)
            action.setCheckable(True)
            action.triggered.connect(partial(self._choose, pair))
            self._named[action] = pair
        menu.addSeparator()
        menu.addAction("Exchange the two").triggered.connect(lambda: self._choose((self._pair[1], self._pair[0])))
        menu.addAction("Other colour where positive…").triggered.connect(lambda: self._ask(0))
        menu.addAction("Other colour where negative…").triggered.connect(lambda: self._ask(1))
        self.setMenu(menu)
        self.show_pair(next(iter(pairs.values())))

    def show_pair(self, pair: Pair) -> None:
        """Show the pair that is in use, and check it in the menu if it is one of those with a name."""
        self._pair = pair
        self.setIcon(make_swatch(partial(fill_with_pair, pair=pair)))
        for action, named in self._named.items():
            action.setChecked(all(abs(a - b) < 0.003 for a, b in zip(sum(pair, ()), sum(named, ()), strict=True)))

    def _choose(self, pair: Pair, checked: bool = False) -> None:
        self.show_pair(pair)
        self.chosen.emit(pair)

    def _ask(self, which: int) -> None:
        """Let the user choose one of the two freely."""
        dialog = QtWidgets.QColorDialog(QtGui.QColor.fromRgbF(*self._pair[which]), self)
        dialog.setWindowTitle(f"Colour where the field is {('positive', 'negative')[which]}")
        dialog.colorSelected.connect(partial(self._replace, which))
        ask_by(dialog)

    def _replace(self, which: int, colour: Any) -> None:
        pair = list(self._pair)
        pair[which] = (colour.redF(), colour.greenF(), colour.blueF())
        self._choose((pair[0], pair[1]))


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
        self.range_edit = QtWidgets.QLineEdit(
            placeholderText="automatic",
            toolTip="The colours span minus this value to plus this value; leave it empty for an automatic range",
        )
        self.range_edit.setFixedWidth(self.fontMetrics().horizontalAdvance("automatic") + 22)
        self.range_edit.editingFinished.connect(self._take_range)
        self.setLayout(row(self.ramp, self._unit, QtWidgets.QLabel("±"), self.range_edit, stretch=0))
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

    def _take_range(self) -> None:
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
