"""A table of a report: sorted by a click on its head, with how far it closes below; rows show what they are about."""

from __future__ import annotations

import html
import math
from typing import Any

from pymol.Qt import QtCore, QtWidgets

from ...model.report import Table
from ...pictures.words import unit_in_print
from .tints import stage_colour
from .widgets import ChosenByUser

Qt = QtCore.Qt

_PADDING = 10
"""Pixels beside the text of a column."""
_SHORT = 5
"""Letters of a title that stand in one line."""


class ReportTableModel(QtCore.QAbstractTableModel):  # type: ignore[misc]  # Qt has no types here
    """What stands in the cells."""

    def __init__(self, table: Table, parent: Any = None) -> None:
        super().__init__(parent)
        self.table = table

    def fill(self, table: Table) -> None:
        """Have the numbers of another table of the same columns."""
        if len(table) == len(self.table):
            self.table = table
            if len(table):
                self.dataChanged.emit(self.index(0, 0), self.index(len(table) - 1, self.columnCount() - 1))
            return
        self.beginResetModel()
        self.table = table
        self.endResetModel()

    def rowCount(self, parent: Any = None) -> int:
        return len(self.table)

    def columnCount(self, parent: Any = None) -> int:
        return len(self.table.columns)

    def headerData(self, section: int, orientation: Any, role: Any = Qt.DisplayRole) -> Any:
        if orientation != Qt.Horizontal:
            return None
        column = self.table.columns[section]
        if role == Qt.DisplayRole:
            return _heading(column.title)
        return column.about or None if role == Qt.ToolTipRole else None

    def data(self, index: Any, role: Any = Qt.DisplayRole) -> Any:
        column = self.table.columns[index.column()]
        if role == Qt.DisplayRole:
            return column.text(index.row())
        value = column.values[index.row()]
        if role == Qt.UserRole:  # by which it is sorted: what is no number comes last, or first
            return value if isinstance(value, str) or math.isfinite(value) else -math.inf
        if role == Qt.TextAlignmentRole:
            return int((Qt.AlignLeft if isinstance(value, str) else Qt.AlignRight) | Qt.AlignVCenter)
        return None


class _View(ChosenByUser, QtWidgets.QTableView):  # type: ignore[misc]  # Qt has no types here
    """Tells which row was chosen by mouse or keys, or chosen again."""

    chosen = QtCore.Signal(int)

    def __init__(self, model: Any, parent: Any = None) -> None:
        super().__init__(parent)
        self._proxy = QtCore.QSortFilterProxyModel(self)
        self._proxy.setSourceModel(model)
        self._proxy.setSortRole(Qt.UserRole)
        self.setModel(self._proxy)
        self.setSortingEnabled(True)
        self.sortByColumn(-1, Qt.AscendingOrder)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(self.SelectRows)
        self.setSelectionMode(self.SingleSelection)
        self.setHorizontalScrollMode(self.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)
        self.horizontalHeader().setHighlightSections(False)

    def currentChanged(self, current: Any, previous: Any) -> None:
        super().currentChanged(current, previous)
        if current.isValid() and current.row() != previous.row() and not self.signalsBlocked():
            self.chosen.emit(self._proxy.mapToSource(current).row())

    def mousePressEvent(self, event: Any) -> None:
        before = self.currentIndex()
        super().mousePressEvent(event)
        cell = self.indexAt(event.pos())
        if event.button() == Qt.LeftButton and cell.isValid() and cell.row() == before.row():
            self.chosen.emit(self._proxy.mapToSource(cell).row())

    def fit_columns(self) -> None:
        """Give each column the width of its longest text."""
        metrics, table = self.fontMetrics(), self._proxy.sourceModel().table
        arrow = self.style().pixelMetric(QtWidgets.QStyle.PM_HeaderMarkSize)
        for at, column in enumerate(table.columns):
            texts = {column.text(row) for row in range(len(table))}
            widest = max(map(metrics.horizontalAdvance, texts), default=0)
            head = max(map(metrics.horizontalAdvance, _heading(column.title).splitlines()))
            self.setColumnWidth(at, _PADDING + max(widest, head + arrow))


class ReportTable(QtWidgets.QWidget):  # type: ignore[misc]  # Qt has no types here
    """A table with its title above and its closures below.

    Attributes
    ----------
    chosen : signal of Table, int
        The user chose a row.
    """

    chosen = QtCore.Signal(object, int)

    def __init__(self, table: Table, parent: Any = None) -> None:
        super().__init__(parent)
        self.model = ReportTableModel(table, self)
        self.view = _View(self.model)
        self.view.chosen.connect(lambda row: self.chosen.emit(self.model.table, row))
        self.closures = QtWidgets.QLabel()
        self.closures.setWordWrap(True)
        self.closures.setTextFormat(Qt.RichText)
        self.closures.setTextInteractionFlags(Qt.TextSelectableByMouse)
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(4, 6, 4, 4)
        title = QtWidgets.QLabel(unit_in_print(table.title))
        title.setWordWrap(True)
        for widget in (title, self.view, self.closures):
            layout.addWidget(widget)
        layout.setStretch(1, 1)
        self._tell_closures()
        self.view.fit_columns()

    @property
    def table(self) -> Table:
        """What it shows."""
        return self.model.table

    def fits(self, table: Table) -> bool:
        """Whether another table has the same columns, so that it can be shown in place."""
        return [column.title for column in table.columns] == [column.title for column in self.table.columns]

    def fill(self, table: Table) -> None:
        """Show another table of the same columns; order, choice and what is scrolled to stay."""
        self.model.fill(table)
        self._tell_closures()

    def text(self) -> str:
        """As lines of words with tabs between, for the clipboard, in the order that is seen."""
        rows, columns = self.view.model(), self.table.columns
        lines = [[column.title for column in columns]]
        lines += [[str(rows.index(row, at).data()) for at in range(len(columns))] for row in range(rows.rowCount())]
        return "\n".join("\t".join(line) for line in lines)

    def _tell_closures(self) -> None:
        red = stage_colour("failed", self.palette()).name()
        lines = [
            _escaped(one.text) if one.holds else f'<span style="color: {red}">{_escaped(one.text)}</span>'
            for one in self.table.closures
        ]
        self.closures.setText("<br>".join(lines))
        self.closures.setVisible(bool(lines))

    def changeEvent(self, event: Any) -> None:
        super().changeEvent(event)
        if event.type() == QtCore.QEvent.PaletteChange:
            self._tell_closures()


def _heading(title: str) -> str:
    """Title of a column, in two lines where it is long, so that more columns are seen at a time."""
    text = unit_in_print(title).replace("Angstrom", "Å")
    first, slash, unit = text.partition(" / ")
    if slash:
        return f"{first}\n{unit}"
    return "\n".join(text.rsplit(" ", 1)) if len(text) > _SHORT else text


def _escaped(text: str) -> str:
    return html.escape(unit_in_print(text), quote=False)
