"""The table of orbitals: a row a number, walked through by mouse and keys, filtered by words."""

from __future__ import annotations

from typing import Any

from pymol.Qt import QtCore, QtGui, QtWidgets

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
    passes,
)
from .tints import faded, mark_colour
from .widgets import ChosenByUser, write_on

Qt = QtCore.Qt

_PADDING = 9
"""Pixels beside the text of a column."""


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
    """Rows that have all the words, see `orbitile.pictures.orbitals`."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self._conditions: list[Condition] = []

    def set_conditions(self, conditions: list[Condition]) -> None:
        """Leave other rows."""
        self._conditions = conditions
        self.invalidateFilter()

    def filterAcceptsRow(self, row: int, parent: Any) -> bool:
        return passes(row, self.sourceModel().levels, self._conditions)


class OrbitalTable(ChosenByUser, QtWidgets.QTableView):  # type: ignore[misc]  # Qt has no types here
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
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setSelectionMode(QtWidgets.QAbstractItemView.SingleSelection)
        self.setHorizontalScrollMode(QtWidgets.QAbstractItemView.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)
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
            write_on(self, f"No orbital is “{self._filter.strip()}”")

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
