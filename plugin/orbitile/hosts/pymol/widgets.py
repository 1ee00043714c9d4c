"""Parts of the window: the table of orbitals, the diagram of their energies, a button that holds a colour."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymol.Qt import QtCore, QtGui, QtWidgets

from ...model.wavefunction import Spin
from ...session.orbitals import Column, Level, Levels, columns_of, passes

Qt = QtCore.Qt

_HOMO, _LUMO, _VIRTUAL = "#2166ac", "#c2661b", "#808080"


class OrbitalModel(QtCore.QAbstractTableModel):  # type: ignore[misc]  # Qt has no types here
    """Table of orbitals, a row a number; alpha and beta side by side where they differ."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self.levels: Levels = [[]]
        self._columns: list[Column] = []

    def fill(self, levels: Levels) -> None:
        """Show other orbitals."""
        self.beginResetModel()
        self.levels = levels
        self._columns = columns_of(levels)
        self.endResetModel()

    def rowCount(self, parent: Any = None) -> int:
        return max(len(those) for those in self.levels)

    def columnCount(self, parent: Any = None) -> int:
        return len(self._columns)

    def headerData(self, section: int, orientation: Any, role: Any = Qt.DisplayRole) -> Any:
        if role == Qt.DisplayRole and orientation == Qt.Horizontal:
            return self._columns[section].title
        return None

    def level_at(self, row: int, column: int) -> Level | None:
        """The orbital in a cell."""
        those = self.levels[self._columns[column].spin]
        return those[row] if row < len(those) else None

    def column_of(self, spin: Spin) -> int:
        """First column of a spin."""
        number = 1 if spin == "beta" and len(self.levels) > 1 else 0
        return next(at for at, one in enumerate(self._columns) if one.spin == number and one.what == "energy")

    def data(self, index: Any, role: Any = Qt.DisplayRole) -> Any:
        level = self.level_at(index.row(), index.column())
        what = self._columns[index.column()].what
        if level is None:
            return str(index.row() + 1) if what == "number" and role == Qt.DisplayRole else None
        if role == Qt.DisplayRole:
            return level.text(what)
        if role == Qt.TextAlignmentRole:
            return int((Qt.AlignLeft if what in ("symmetry", "mark") else Qt.AlignRight) | Qt.AlignVCenter)
        if role == Qt.FontRole and level.mark:
            font = QtGui.QFont()
            font.setBold(True)
            return font
        if role == Qt.ForegroundRole:
            if level.mark:
                return QtGui.QBrush(QtGui.QColor(_HOMO if level.mark == "HOMO" else _LUMO))
            if not level.occupied:
                return QtGui.QBrush(QtGui.QColor(_VIRTUAL))
        if role == Qt.BackgroundRole and level.mark:
            colour = QtGui.QColor(_HOMO if level.mark == "HOMO" else _LUMO)
            colour.setAlpha(36)
            return QtGui.QBrush(colour)
        return None


class OrbitalFilter(QtCore.QSortFilterProxyModel):  # type: ignore[misc]  # Qt has no types here
    """Rows that have all the words: a number, a symmetry, homo, lumo, occ, virt, or a range of energies as -20..-5."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self._words: list[str] = []

    def set_text(self, text: str) -> None:
        """Filter by other words."""
        self._words = text.lower().split()
        self.invalidateFilter()

    def filterAcceptsRow(self, row: int, parent: Any) -> bool:
        return passes(row, self.sourceModel().levels, self._words)


class LevelDiagram(QtWidgets.QWidget):  # type: ignore[misc]  # Qt has no types here
    """Energies as lines to click on; the wheel zooms."""

    picked = QtCore.Signal(object)

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self._levels: list[list[Level]] = []
        self._chosen: tuple[str, int] | None = None
        self._range = (-20.0, 10.0)
        self.setMinimumWidth(120)
        self.setMouseTracking(True)
        self.setToolTip("Energies of the orbitals: click to show one, turn the wheel to zoom")

    def fill(self, levels: list[list[Level]]) -> None:
        """Show other orbitals, those about the gap."""
        self._levels = [[level for level in those if np.isfinite(level.energy)] for those in levels]
        frontier = [level.energy for those in self._levels for level in those if level.mark]
        if frontier:
            low, high = min(frontier), max(frontier)
            self._range = (low - max(6.0, high - low), high + max(4.0, (high - low) / 2))
        self.update()

    def choose(self, spin: str, index: int) -> None:
        """Mark an orbital, and bring it into view."""
        self._chosen = (spin, index)
        for those in self._levels:
            for level in those:
                if (level.spin, level.index) == self._chosen:
                    low, high = self._range
                    beyond = min(level.energy - low, 0) or max(level.energy - high, 0)
                    if beyond:
                        shift = beyond + np.sign(beyond) * (high - low) / 4
                        self._range = (low + shift, high + shift)
        self.update()

    def _height(self, energy: float) -> float:
        low, high = self._range
        inner = float(self.height() - 24)
        return 12 + inner * (high - energy) / (high - low)

    def _place(self, level: Level) -> tuple[float, float, float]:
        """Left and right end and height of the line of a level; degenerate ones share a height side by side."""
        those = self._levels[1 if level.spin == "beta" and len(self._levels) > 1 else 0]
        left = 44.0
        width = (self.width() - left - 8) / len(self._levels)
        if level.spin == "beta" and len(self._levels) > 1:
            left += width
        height = self._height(level.energy)
        tied = [one.index for one in those if abs(self._height(one.energy) - height) < 2.5]
        part = (width - 8) / len(tied)
        start = left + tied.index(level.index) * part
        return start + min(3.0, part * 0.1), start + part - min(3.0, part * 0.1), height

    def position_of(self, spin: str, index: int) -> Any:
        """Where on the widget an orbital is, as a point; None where it is not in view."""
        for those in self._levels:
            for level in those:
                if (level.spin, level.index) == (spin, index):
                    left, right, height = self._place(level)
                    return QtCore.QPoint(int((left + right) / 2), int(height))
        return None

    def paintEvent(self, event: Any) -> None:
        painter = QtGui.QPainter(self)
        palette = self.palette()
        painter.fillRect(self.rect(), palette.base())
        low, high = self._range
        faint = QtGui.QColor(_VIRTUAL)
        small = painter.font()
        small.setPointSizeF(max(7.0, small.pointSizeF() * 0.85))
        painter.setFont(small)
        step = next((s for s in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if (high - low) / s <= 10), 1000)
        painter.setPen(QtGui.QPen(faint))
        for tick in np.arange(np.ceil(low / step) * step, high, step):
            y = int(self._height(float(tick)))
            painter.drawLine(36, y, 40, y)
            painter.drawText(QtCore.QRect(0, y - 8, 33, 16), int(Qt.AlignRight | Qt.AlignVCenter), f"{tick:g}")
        painter.drawLine(40, 6, 40, self.height() - 6)
        painter.drawText(QtCore.QRect(44, 0, 40, 14), int(Qt.AlignLeft), "eV")
        text = palette.color(QtGui.QPalette.Text)
        for those in self._levels:
            for level in those:
                if not low <= level.energy <= high:
                    continue
                left, right, height = self._place(level)
                colour = QtGui.QColor(
                    {"HOMO": _HOMO, "LUMO": _LUMO}.get(level.mark) or (text if level.occupied else faint)
                )
                chosen = (level.spin, level.index) == self._chosen
                if chosen:
                    halo = QtGui.QColor(palette.color(QtGui.QPalette.Highlight))
                    halo.setAlpha(90)
                    painter.fillRect(QtCore.QRectF(left - 2, height - 5, right - left + 4, 10), halo)
                painter.setPen(QtGui.QPen(colour, 3 if chosen else 2 if level.mark else 1.4))
                painter.drawLine(QtCore.QPointF(left, height), QtCore.QPointF(right, height))
        painter.end()

    def mousePressEvent(self, event: Any) -> None:
        level = self._near(event.pos())
        if level is not None:
            self.picked.emit(level)

    def mouseMoveEvent(self, event: Any) -> None:
        level = self._near(event.pos())
        self.setCursor(Qt.PointingHandCursor if level is not None else Qt.ArrowCursor)
        if level is not None:
            name = f"{level.index + 1}{' ' + level.spin if len(self._levels) > 1 else ''}  {level.mark}".strip()
            QtWidgets.QToolTip.showText(
                self.mapToGlobal(event.pos()), f"{name}  {level.energy:.3f} eV  {level.symmetry}".strip(), self
            )

    def wheelEvent(self, event: Any) -> None:
        low, high = self._range
        point = event.position() if hasattr(event, "position") else event.pos()
        at = high - (point.y() - 12) / max(self.height() - 24, 1) * (high - low)
        factor = 0.8 if event.angleDelta().y() > 0 else 1.25
        if 0.5 < (high - low) * factor < 20000:
            self._range = (at + (low - at) * factor, at + (high - at) * factor)
            self.update()
        event.accept()

    def _near(self, point: Any) -> Level | None:
        found, least = None, 6.0
        for those in self._levels:
            for level in those:
                if not self._range[0] <= level.energy <= self._range[1]:
                    continue
                left, right, height = self._place(level)
                distance = abs(point.y() - height)
                if left - 2 <= point.x() <= right + 2 and distance < least:
                    found, least = level, distance
        return found


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
