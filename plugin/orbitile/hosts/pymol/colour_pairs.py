"""Pairs of colours for the two signs of a field: a menu of them by name, and a button that drops it down."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from pymol.Qt import QtCore, QtGui, QtWidgets

from ...surfaces.colour_maps import Pair
from .widgets import ask_by

SWATCH = QtCore.QSize(34, 12)
"""Room for the picture of a pair, in pixels."""


def swatch_of(paint: Any, size: Any = SWATCH) -> Any:
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


class PairMenu(QtWidgets.QMenu):  # type: ignore[misc]  # Qt has no types here
    """Pairs by name, and others by Qt's dialog.

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
        super().__init__(parent)
        self._pair = next(iter(pairs.values()))
        self._named: dict[Any, Pair] = {}
        for name, pair in pairs.items():
            action = self.addAction(swatch_of(partial(fill_with_pair, pair=pair), QtCore.QSize(16, 16)), name)
            action.setCheckable(True)
            action.triggered.connect(partial(self._choose, pair))
            self._named[action] = pair
        self.addSeparator()
        self.addAction("Exchange the two").triggered.connect(lambda: self._choose((self._pair[1], self._pair[0])))
        self.addAction("Other colour where positive…").triggered.connect(lambda: self._ask(0))
        self.addAction("Other colour where negative…").triggered.connect(lambda: self._ask(1))

    def show_pair(self, pair: Pair) -> None:
        """Check the pair that is in use, if it is one of those with a name."""
        self._pair = pair
        for action, named in self._named.items():
            action.setChecked(all(abs(a - b) < 0.003 for a, b in zip(sum(pair, ()), sum(named, ()), strict=True)))

    def _choose(self, pair: Pair, checked: bool = False) -> None:
        self.show_pair(pair)
        self.chosen.emit(pair)

    def _ask(self, which: int) -> None:
        """Let the user choose one of the two freely."""
        dialog = QtWidgets.QColorDialog(QtGui.QColor.fromRgbF(*self._pair[which]), self.parentWidget() or self)
        dialog.setWindowTitle(f"Colour where the field is {('positive', 'negative')[which]}")
        dialog.colorSelected.connect(partial(self._replace, which))
        ask_by(dialog)

    def _replace(self, which: int, colour: Any) -> None:
        pair = list(self._pair)
        pair[which] = (colour.redF(), colour.greenF(), colour.blueF())
        self._choose((pair[0], pair[1]))


class PairButton(QtWidgets.QToolButton):  # type: ignore[misc]  # Qt has no types here
    """A button that shows two colours and drops down others.

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
        super().__init__(parent)
        self.setToolTip("Colours where the field is positive and where it is negative")
        self.setPopupMode(self.InstantPopup)
        self.setIconSize(SWATCH)
        self._menu = PairMenu(pairs, self)
        self._menu.chosen.connect(self.show_pair)
        self._menu.chosen.connect(self.chosen)
        self.setMenu(self._menu)
        self.show_pair(next(iter(pairs.values())))

    def show_pair(self, pair: Pair) -> None:
        """Show the pair that is in use."""
        self._menu.show_pair(pair)
        self.setIcon(swatch_of(partial(fill_with_pair, pair=pair)))
