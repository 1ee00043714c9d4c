"""The orbitals of a molecule: a table of them, and a diagram of their energies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pymol.Qt import QtCore, QtGui, QtWidgets

from ...model.units import electronvolt
from ...pictures.orbitals import (
    ENERGY_UNITS,
    Column,
    Condition,
    EnergyUnit,
    Level,
    Levels,
    columns_of,
    conditions_of,
    described,
    frontier_of,
    gap_of,
    passes,
)
from .widgets import ListView, faded, mark_colour, write_on

Qt = QtCore.Qt

_PADDING = 9
"""Room in pixels beside the text of a column."""

_AXIS = 46
"""Room in pixels left of the axis of energies."""
_MARGIN = 14
"""Room in pixels above the highest energy and below the lowest."""
_TIED = 2.5
"""Distance in pixels below which lines stand side by side."""
_LEAST_GAP = 1.5 * electronvolt
"""Smallest range that is shown above and below the gap at first, in hartree."""
_MOVES = 120
"""Time in milliseconds in which levels move to where they are at another geometry."""
_CORES = -2.0
"""Energy in hartree below which levels are those of cores, which are not shown at first."""
_WIDEST = 800.0
"""Largest range that can be zoomed out to, in hartree; core levels are deeper, and shifted to when they are chosen."""


class OrbitalModel(QtCore.QAbstractTableModel):  # type: ignore[misc]  # Qt has no types here
    """What stands in the cells; alpha and beta side by side where they differ."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self.levels: Levels = [[]]
        self.unit = next(iter(ENERGY_UNITS.values()))
        self.chosen: Level | None = None
        self.palette = QtGui.QPalette()
        self.columns: list[Column] = []

    def fill(self, levels: Levels) -> None:
        """List other orbitals, none of them chosen."""
        self.beginResetModel()
        self.levels, self.chosen = levels, None
        self.columns = columns_of(levels, self.unit)
        self.endResetModel()

    def follow(self, levels: Levels, chosen: Level | None) -> None:
        """List as many orbitals in place of those before."""
        self.levels, self.chosen = levels, chosen
        self.columns = columns_of(levels, self.unit)
        self.tell_changed(0, self.rowCount() - 1)

    def set_unit(self, unit: EnergyUnit) -> None:
        """Show energies in another unit."""
        self.unit = unit
        self.columns = columns_of(self.levels, unit)
        self.headerDataChanged.emit(Qt.Horizontal, 0, len(self.columns) - 1)
        self.tell_changed(0, self.rowCount() - 1)

    def choose(self, level: Level | None) -> None:
        """Mark another orbital as chosen."""
        before, self.chosen = self.chosen, level
        for changed in (before, level):
            if changed is not None:
                self.tell_changed(changed.index, changed.index)

    def tell_changed(self, first: int, last: int) -> None:
        """Have rows drawn anew."""
        if first <= last:
            self.dataChanged.emit(self.index(first, 0), self.index(last, self.columnCount() - 1))

    def rowCount(self, parent: Any = None) -> int:
        return max(len(those) for those in self.levels)

    def columnCount(self, parent: Any = None) -> int:
        return len(self.columns)

    def headerData(self, section: int, orientation: Any, role: Any = Qt.DisplayRole) -> Any:
        if orientation == Qt.Horizontal and role == Qt.DisplayRole:
            return self.columns[section].title
        if orientation == Qt.Horizontal and role == Qt.ToolTipRole:
            return self.columns[section].tip
        return None

    def level_at(self, row: int, column: int) -> Level | None:
        """The orbital in a cell."""
        those = self.levels[self.columns[column].spin]
        return those[row] if row < len(those) else None

    def column_of(self, spin: str) -> int:
        """Column of the energies of a spin."""
        number = 1 if spin == "beta" and len(self.levels) > 1 else 0
        return next(at for at, column in enumerate(self.columns) if column.spin == number and column.what == "energy")

    def data(self, index: Any, role: Any = Qt.DisplayRole) -> Any:
        level, column = self.level_at(index.row(), index.column()), self.columns[index.column()]
        if level is None:
            return str(index.row() + 1) if column.what == "number" and role == Qt.DisplayRole else None
        if role == Qt.DisplayRole:
            return column.text(level)
        if role == Qt.ToolTipRole:
            return described(level, of_one_spin=len(self.levels) > 1)
        if role == Qt.TextAlignmentRole:
            return int(
                (Qt.AlignLeft if column.what in ("symmetry", "label", "mark") else Qt.AlignRight) | Qt.AlignVCenter
            )
        if role == Qt.FontRole and level.mark:
            font = QtGui.QFont()
            font.setBold(True)
            return font
        if role == Qt.ForegroundRole:
            return self._ink(level, column)
        if role == Qt.BackgroundRole:
            return self._ground(level, column)
        return None

    def _is_chosen(self, level: Level, column: Column) -> bool:
        if column.what == "number":
            return self.chosen is not None and self.chosen.index == level.index
        return self.chosen is level

    def _ink(self, level: Level, column: Column) -> Any:
        if self._is_chosen(level, column):
            return self.palette.brush(QtGui.QPalette.HighlightedText)
        if level.mark:
            return QtGui.QBrush(mark_colour(level.mark, self.palette))
        return None if level.occupied else QtGui.QBrush(faded(self.palette))

    def _ground(self, level: Level, column: Column) -> Any:
        if self._is_chosen(level, column):
            return self.palette.brush(QtGui.QPalette.Highlight)
        if not level.mark:
            return None
        colour = mark_colour(level.mark, self.palette)
        colour.setAlpha(40)
        return QtGui.QBrush(colour)


class OrbitalFilter(QtCore.QSortFilterProxyModel):  # type: ignore[misc]  # Qt has no types here
    """Rows that have all the words, see `orbitile.session.orbital_filter`."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self._conditions: list[Condition] = []

    def set_conditions(self, conditions: list[Condition]) -> None:
        """Leave other rows."""
        self._conditions = conditions
        self.invalidateFilter()

    def filterAcceptsRow(self, row: int, parent: Any) -> bool:
        return passes(row, self.sourceModel().levels, self._conditions)


class OrbitalTable(ListView):
    """Orbitals to choose from.

    The one that is chosen stays so, and is marked again when it can be seen again, whatever the filter leaves.

    Attributes
    ----------
    chosen : signal of Level
        The user chose an orbital, or the same again.
    unit_changed : signal of str
        The user wants energies in another unit, see `ENERGY_UNITS`.
    """

    chosen = QtCore.Signal(object)
    unit_changed = QtCore.Signal(str)

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self.orbitals = OrbitalModel(self)
        self.orbitals.palette = self.palette()
        self.proxy = OrbitalFilter(self)
        self.proxy.setSourceModel(self.orbitals)
        self._filter = ""
        self._quiet = False
        self.setModel(self.proxy)
        self.setHorizontalScrollMode(self.ScrollPerPixel)
        header = self.horizontalHeader()
        header.setSectionsClickable(True)
        header.setHighlightSections(False)
        header.sectionClicked.connect(self._header_clicked)

    # ---- what it is told

    def fill(self, levels: Levels) -> None:
        """List other orbitals, none of them chosen, and bring the HOMO into view."""
        self._quiet = True
        self.orbitals.fill(levels)
        self._quiet = False
        self._fit_columns()
        homo = self._cell_of(self._homo())
        if homo.isValid():
            self.scrollTo(homo, self.PositionAtCenter)

    def follow(self, levels: Levels, chosen: Level | None) -> None:
        """List as many orbitals in place of those before; filter, columns and what is scrolled to stay."""
        column, top = self.currentIndex().column(), self.verticalScrollBar().value()
        self._quiet = True
        self.orbitals.follow(levels, chosen)
        self.setCurrentIndex(self._cell_of(chosen, column))
        self._quiet = False
        self.verticalScrollBar().setValue(top)

    def set_unit(self, name: str) -> None:
        """Show energies in a unit of `ENERGY_UNITS`."""
        self.orbitals.set_unit(ENERGY_UNITS[name])
        self._fit_columns()
        self.set_filter(self._filter)

    def set_filter(self, text: str) -> None:
        """Leave the orbitals that have all the words; what is chosen stays chosen."""
        self._filter = text
        self._quiet = True
        self.proxy.set_conditions(conditions_of(text, self.orbitals.unit))
        cell = self._cell_of(self.orbitals.chosen, self.currentIndex().column())
        self.setCurrentIndex(cell)
        self._quiet = False
        if cell.isValid():
            self.scrollTo(cell)

    def choose(self, spin: str, index: int) -> Level | None:
        """Mark an orbital as chosen, and bring it into view if the filter leaves it; no signal follows.

        Returns the orbital, or None where there is none of that number.
        """
        those = self.orbitals.levels[1 if spin == "beta" and len(self.orbitals.levels) > 1 else 0]
        level = those[index] if 0 <= index < len(those) else None
        if level is not self.orbitals.chosen:
            self._quiet = True
            self.orbitals.choose(level)
            self.setCurrentIndex(self._cell_of(level))
            self._quiet = False
        return level

    def forget(self) -> None:
        """Mark no orbital; no signal follows."""
        self._quiet = True
        self.orbitals.choose(None)
        self.setCurrentIndex(QtCore.QModelIndex())
        self._quiet = False

    def neighbours(self) -> list[Level]:
        """Orbitals below and above the chosen one, as filtered."""
        cell = self.currentIndex()
        near = [cell.sibling(cell.row() + step, cell.column()) for step in (1, -1)] if cell.isValid() else []
        return [level for level in map(self._level_of, near) if level is not None]

    # ---- what the user does

    def currentChanged(self, current: Any, previous: Any) -> None:
        super().currentChanged(current, previous)
        level = self._level_of(current)
        if not self._quiet and level is not None and level is not self.orbitals.chosen:
            self.orbitals.choose(level)
            self.chosen.emit(level)

    def mousePressEvent(self, event: Any) -> None:
        before = self.orbitals.chosen
        super().mousePressEvent(event)
        level = self._level_of(self.indexAt(event.pos()))
        if event.button() == Qt.LeftButton and level is not None and level is before:
            self.chosen.emit(level)

    def moveCursor(self, action: Any, modifiers: Any) -> Any:
        current = self.currentIndex()
        if action in (self.MoveHome, self.MoveEnd):
            at = max(current.column(), 0)
            return self.proxy.index(0 if action == self.MoveHome else self.proxy.rowCount() - 1, at)
        if not current.isValid() and not self._arriving:
            homo = self._cell_of(self._homo())
            return homo if homo.isValid() else self.proxy.index(0, 0)
        if action in (self.MoveLeft, self.MoveRight):
            column = self.orbitals.column_of("alpha" if action == self.MoveLeft else "beta")
            return current.sibling(current.row(), column)
        return super().moveCursor(action, modifiers)

    def selectionCommand(self, index: Any, event: Any = None) -> Any:
        return QtCore.QItemSelectionModel.Clear  # the model marks what is chosen, all its cells

    def keyPressEvent(self, event: Any) -> None:
        if event.key() in (Qt.Key_Return, Qt.Key_Enter) and self.orbitals.chosen is not None:
            self.chosen.emit(self.orbitals.chosen)
        else:
            super().keyPressEvent(event)

    def keyboardSearch(self, text: str) -> None:
        """Letters choose nothing; there is the filter."""

    def _header_clicked(self, section: int) -> None:
        if self.orbitals.columns[section].what == "energy":
            names = list(ENERGY_UNITS)
            name = names[(names.index(self.orbitals.unit.name) + 1) % len(names)]
            self.set_unit(name)
            self.unit_changed.emit(name)

    # ---- how it looks

    def sizeHint(self) -> Any:
        """Wide enough for all columns."""
        columns = sum(self.columnWidth(at) for at in range(self.orbitals.columnCount()))
        beside = self.verticalScrollBar().sizeHint().width() + 2 * self.frameWidth()
        return QtCore.QSize(max(columns + beside, 160), super().sizeHint().height())

    def changeEvent(self, event: Any) -> None:
        super().changeEvent(event)
        if event.type() == QtCore.QEvent.PaletteChange:
            self.orbitals.palette = self.palette()
            self.viewport().update()
        elif event.type() == QtCore.QEvent.FontChange:
            self._fit_columns()

    def paintEvent(self, event: Any) -> None:
        super().paintEvent(event)
        if self.orbitals.rowCount() and not self.proxy.rowCount():
            write_on(self, f"No orbital matches “{self._filter.strip()}”")

    def _fit_columns(self) -> None:
        """Give each column the width of its longest text, in bold as HOMO and LUMO are."""
        bold = self.font()
        bold.setBold(True)
        metrics = QtGui.QFontMetrics(bold)
        for at, column in enumerate(self.orbitals.columns):
            longest = max((column.text(level) for level in self.orbitals.levels[column.spin]), key=len, default="")
            self.setColumnWidth(at, _PADDING + max(map(metrics.horizontalAdvance, (longest, column.title))))
        self.updateGeometry()

    # ---- cells and orbitals

    def _homo(self) -> Level | None:
        return next((level for level in self.orbitals.levels[0] if level.mark == "HOMO"), None)

    def _cell_of(self, level: Level | None, column: int = -1) -> Any:
        """Cell of an orbital, in a column if that is of its spin; none where it is filtered away."""
        if level is None:
            return QtCore.QModelIndex()
        if column < 0 or self.orbitals.level_at(level.index, column) is not level:
            column = self.orbitals.column_of(level.spin)
        return self.proxy.mapFromSource(self.orbitals.index(level.index, column))

    def _level_of(self, cell: Any) -> Level | None:
        if not cell.isValid():
            return None
        place = self.proxy.mapToSource(cell)
        return self.orbitals.level_at(place.row(), place.column())


@dataclass(frozen=True)
class _Line:
    """Where a level is drawn, in pixels."""

    level: Level
    left: float
    right: float
    height: float


class LevelDiagram(QtWidgets.QWidget):  # type: ignore[misc]  # Qt has no types here
    """Energies as lines; the wheel zooms, a double click shows the surroundings of the gap again.

    Attributes
    ----------
    picked : signal of Level
        The user clicked on an orbital.
    """

    picked = QtCore.Signal(object)

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self._levels: Levels = []
        self._unit = next(iter(ENERGY_UNITS.values()))
        self._chosen: tuple[str, int] | None = None
        self._range = self._first_range()
        self._lines: list[_Line] | None = None
        self._before, self._after = self._levels, self._levels
        self._motion = QtCore.QVariantAnimation(
            self, duration=_MOVES, startValue=0.0, endValue=1.0, valueChanged=self._move
        )
        self.setMouseTracking(True)

    # ---- what it is told

    def fill(self, levels: Levels) -> None:
        """Show other orbitals, those about the gap."""
        self._motion.stop()
        self._levels = _with_energies(levels)
        self._chosen = None
        self.setMinimumWidth(130 if len(levels) < 2 else 152)
        self._show_range(*self._first_range())

    def follow(self, levels: Levels, chosen: Level | None) -> None:
        """Have levels move to the energies of as many others; the energies in view stay while the gap is among them."""
        self._before, self._after = self._levels, _with_energies(levels)
        if [len(those) for those in self._before] != [len(those) for those in self._after]:
            self.fill(levels)
            return
        self._chosen = None if chosen is None else (chosen.spin, chosen.index)
        self._motion.stop()
        self._motion.start()

    def _move(self, share: float) -> None:
        self._levels = [
            [
                replace(now, energy=then.energy + share * (now.energy - then.energy))
                for then, now in zip(*those, strict=True)
            ]
            for those in zip(self._before, self._after, strict=True)
        ]
        low, high = self._range
        frontier = [level.energy for those in self._levels for level in those if level.mark]
        edge = (high - low) / 10
        beyond = min(0.0, min(frontier, default=low + edge) - low - edge) or max(
            0.0, max(frontier, default=high - edge) - high + edge
        )
        self._show_range(low + beyond, high + beyond)

    def set_unit(self, name: str) -> None:
        """Show energies in a unit of `ENERGY_UNITS`."""
        self._unit = ENERGY_UNITS[name]
        self.update()

    def choose(self, spin: str, index: int) -> None:
        """Mark an orbital, and bring it into view."""
        self._chosen = (spin, index)
        low, high = self._range
        for level in (level for those in self._levels for level in those if self._is_chosen(level)):
            beyond = min(level.energy - low, 0) or max(level.energy - high, 0)
            if beyond:
                shift = beyond + np.sign(beyond) * (high - low) / 4
                self._show_range(low + shift, high + shift)
        self.update()

    def forget(self) -> None:
        """Mark no orbital."""
        self._chosen = None
        self.update()

    def position_of(self, spin: str, index: int) -> Any:
        """Where on the widget an orbital is, as a point; None where it is not in view."""
        for line in self._lines_in_view():
            if (line.level.spin, line.level.index) == (spin, index):
                return QtCore.QPoint(int((line.left + line.right) / 2), int(line.height))
        return None

    # ---- energies and pixels

    def _first_range(self) -> tuple[float, float]:
        """Energies about the gap, so that it takes a third of the height."""
        those = [level for levels in self._levels for level in levels]
        frontier = [level.energy for level in those if level.mark]
        frontier = frontier or [level.energy for level in those if level.energy > _CORES]
        frontier = frontier or [level.energy for level in those]
        if not frontier:
            return -1.0, 1.0
        low, high = min(frontier), max(frontier)
        beside = max(high - low, _LEAST_GAP) if any(level.mark for level in those) else 0.1 * (high - low) + 0.05
        return low - beside, high + beside

    def _show_range(self, low: float, high: float) -> None:
        self._range, self._lines = (low, high), None
        self.update()

    def _height_of(self, energy: float) -> float:
        low, high = self._range
        inner = self.height() - 2.0 * _MARGIN
        return _MARGIN + inner * (high - energy) / (high - low)

    def _column(self, at: int) -> tuple[float, float]:
        """Left and right end of the lines of a spin."""
        width = (self.width() - _AXIS - 8) / max(len(self._levels), 1)
        return _AXIS + at * width + 4, _AXIS + (at + 1) * width - 4

    def _lines_in_view(self) -> list[_Line]:
        """Lines of all orbitals in view; those that are too close stand side by side."""
        if self._lines is None:
            self._lines = [line for at in range(len(self._levels)) for line in self._place_lines(at)]
        return self._lines

    def _place_lines(self, at: int) -> list[_Line]:
        low, high = self._range
        left, right = self._column(at)
        in_view = sorted(
            (level for level in self._levels[at] if low <= level.energy <= high), key=lambda level: level.energy
        )
        tied: list[list[Level]] = []
        least = _TIED * (high - low) / max(self.height() - 2 * _MARGIN, 1)
        for level in in_view:
            if tied and level.energy - tied[-1][0].energy < least:
                tied[-1].append(level)
            else:
                tied.append([level])
        lines = []
        for side_by_side in tied:
            part = (right - left) / len(side_by_side)
            space = min(3.0, part * 0.15) if len(side_by_side) > 1 else 0.0
            for n, level in enumerate(side_by_side):
                start = left + n * part
                lines.append(_Line(level, start + space, start + part - space, self._height_of(level.energy)))
        return lines

    def _near(self, point: Any) -> Level | None:
        under = [line for line in self._lines_in_view() if line.left - 2 <= point.x() <= line.right + 2]
        nearest = min(under, key=lambda line: abs(line.height - point.y()), default=None)
        return nearest.level if nearest is not None and abs(nearest.height - point.y()) < 6 else None

    def _is_chosen(self, level: Level) -> bool:
        return (level.spin, level.index) == self._chosen

    # ---- how it looks

    def sizeHint(self) -> Any:
        return QtCore.QSize(_AXIS + 8 + 90 * max(len(self._levels), 1), 200)

    def paintEvent(self, event: Any) -> None:
        painter = QtGui.QPainter(self)
        painter.setRenderHint(QtGui.QPainter.Antialiasing)
        painter.fillRect(self.rect(), self.palette().base())
        small = painter.font()
        small.setPointSizeF(max(7.0, small.pointSizeF() * 0.85))
        painter.setFont(small)
        if any(self._levels):
            self._paint_axis(painter)
            for at in range(len(self._levels)):
                self._paint_frontier(painter, at)
            self._paint_lines(painter)
        elif self._levels and self.isEnabled():
            painter.setPen(faded(self.palette()))
            flags = int(Qt.AlignCenter | Qt.TextWordWrap)
            painter.drawText(self.rect().adjusted(8, 8, -8, -8), flags, "The file gives no orbital energies")
        painter.end()

    def _paint_axis(self, painter: Any) -> None:
        low, high = (energy / self._unit.hartree for energy in self._range)
        most = max(2.0, (self.height() - 2 * _MARGIN) / 28)
        power = 10.0 ** np.floor(np.log10((high - low) / most))
        step = next(power * n for n in (1, 2, 5, 10, 20) if (high - low) / (power * n) <= most)
        painter.setPen(QtGui.QPen(faded(self.palette())))
        painter.drawLine(_AXIS - 4, _MARGIN, _AXIS - 4, self.height() - 4)
        for tick in np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step:
            y = int(self._height_of(tick * self._unit.hartree))
            painter.drawLine(_AXIS - 8, y, _AXIS - 4, y)
            if y > 22:
                where = QtCore.QRect(0, y - 8, _AXIS - 11, 16)
                painter.drawText(where, int(Qt.AlignRight | Qt.AlignVCenter), f"{tick:.6g}")
        painter.drawText(QtCore.QRect(2, 0, 2 * _AXIS, 14), int(Qt.AlignLeft | Qt.AlignVCenter), self._unit.name)
        if len(self._levels) > 1:
            for at, sign in enumerate("αβ"):
                self._write(painter, at, 0.0, sign)

    def _paint_frontier(self, painter: Any, at: int) -> None:
        """HOMO and LUMO of a spin by name, and the gap between them, as far as there is room for it."""
        homo, lumo = frontier_of(self._levels[at])
        bottom = self.height() if homo is None else self._height_of(homo.energy)
        top = 0.0 if lumo is None else self._height_of(lumo.energy)
        line = painter.fontMetrics().height()
        if bottom - top < 2 * line + 2:
            return
        for level, y in ((homo, bottom - line - 2), (lumo, top + 2)):
            if level is not None:
                painter.setPen(mark_colour(level.mark, self.palette()))
                self._write(painter, at, y, level.mark)
        if homo is not None and lumo is not None:
            self._paint_gap(painter, at, top + line + 2, bottom - line - 2)

    def _paint_gap(self, painter: Any, at: int, top: float, bottom: float) -> None:
        """The size of a gap between two heights, and arrows from it to both."""
        left, right = self._column(at)
        metrics = painter.fontMetrics()
        line, middle, centre = metrics.height(), (left + right) / 2, (top + bottom) / 2
        text = f"{gap_of(self._levels[at]) / self._unit.hartree:.3g}"
        with_unit = f"{text} {self._unit.name}"
        if bottom - top < line:
            return
        painter.setPen(self.palette().color(QtGui.QPalette.Text))
        fits = metrics.horizontalAdvance(with_unit) <= right - left
        self._write(painter, at, centre - line / 2, with_unit if fits else text)
        painter.setPen(faded(self.palette()))
        for end, towards in ((top, -1), (bottom, 1)):
            start = centre + towards * line / 2
            if (end - start) * towards > 6:
                painter.drawLine(QtCore.QPointF(middle, start), QtCore.QPointF(middle, end))
                for side in (-3, 3):
                    painter.drawLine(QtCore.QPointF(middle, end), QtCore.QPointF(middle + side, end - 4 * towards))

    def _write(self, painter: Any, at: int, top: float, text: str) -> None:
        """Write in the middle of the column of a spin."""
        left, right = self._column(at)
        where = QtCore.QRectF(left, top, right - left, painter.fontMetrics().height())
        painter.drawText(where, int(Qt.AlignCenter | Qt.TextDontClip), text)

    def _paint_lines(self, painter: Any) -> None:
        palette = self.palette()
        text, pale = palette.color(QtGui.QPalette.Text), faded(palette)
        halo = QtGui.QColor(palette.color(QtGui.QPalette.Highlight))
        halo.setAlpha(110)
        plain: dict[bool, list[Any]] = {True: [], False: []}
        prominent = []
        for line in self._lines_in_view():
            if line.level.mark or self._is_chosen(line.level):
                prominent.append(line)
            else:
                plain[line.level.occupied].append(_segment(line))
        for occupied, segments in plain.items():
            painter.setPen(QtGui.QPen(text if occupied else pale, 1.4))
            painter.drawLines(segments)
        for line in prominent:
            level, is_chosen = line.level, self._is_chosen(line.level)
            if is_chosen:
                painter.fillRect(QtCore.QRectF(line.left - 2, line.height - 5, line.right - line.left + 4, 10), halo)
            colour = mark_colour(level.mark, palette) if level.mark else text if level.occupied else pale
            painter.setPen(QtGui.QPen(colour, 3 if is_chosen else 2))
            painter.drawLine(_segment(line))

    # ---- what the user does

    def resizeEvent(self, event: Any) -> None:
        super().resizeEvent(event)
        self._lines = None

    def mousePressEvent(self, event: Any) -> None:
        level = self._near(event.pos()) if event.button() == Qt.LeftButton else None
        if level is not None:
            self.picked.emit(level)

    def mouseDoubleClickEvent(self, event: Any) -> None:
        self._show_range(*self._first_range())

    def mouseMoveEvent(self, event: Any) -> None:
        level = self._near(event.pos())
        self.setCursor(Qt.PointingHandCursor if level is not None else Qt.ArrowCursor)

    def event(self, event: Any) -> bool:
        if event.type() == QtCore.QEvent.ToolTip:
            level = self._near(event.pos())
            QtWidgets.QToolTip.showText(event.globalPos(), self._describe(level), self)
            return True
        return super().event(event)

    def _describe(self, level: Level | None) -> str:
        if level is not None:
            return described(level, of_one_spin=len(self._levels) > 1)
        spins = ("alpha ", "beta ") if len(self._levels) > 1 else ("",)
        gaps = [
            f"{spin}{gap / self._unit.hartree:.4g} {self._unit.name} from HOMO to LUMO"
            for spin, gap in zip(spins, map(gap_of, self._levels), strict=False)
            if np.isfinite(gap)
        ]
        use = "Energies of the orbitals: click to show one, turn the wheel to zoom, double click to see the gap"
        return "\n".join([use, *gaps])

    def wheelEvent(self, event: Any) -> None:
        low, high = self._range
        point = event.position() if hasattr(event, "position") else event.pos()
        at = high - (point.y() - _MARGIN) / max(self.height() - 2 * _MARGIN, 1) * (high - low)
        factor = 0.8 if event.angleDelta().y() > 0 else 1.25
        if 0.01 < (high - low) * factor < _WIDEST:
            self._show_range(at + (low - at) * factor, at + (high - at) * factor)
        event.accept()


def _with_energies(levels: Levels) -> Levels:
    return [[level for level in those if np.isfinite(level.energy)] for those in levels]


def _segment(line: _Line) -> Any:
    return QtCore.QLineF(line.left, line.height, line.right, line.height)
