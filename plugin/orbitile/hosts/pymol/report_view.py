"""What an analysis found, in tabs: tables, plots, remarks."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymol.Qt import QtCore, QtGui, QtWidgets

from ...model.report import Curve, Plot, Report, Table
from ...pictures.words import unit_in_print
from ...surfaces.colour_maps import colours_along
from .widgets import ListView, faded, is_dark, stage_colour

Qt = QtCore.Qt

_PADDING = 10
"""Room in pixels beside the text of a column."""
_MEASURED = 50
"""Texts of a column, those of the most letters, whose widths are measured."""
_SHORT = 5
"""Largest number of letters of a title that stands in one line."""
_INKS = ("#1f5fa8", "#c2571a", "#1a7f37", "#a33846", "#6f4fb0", "#0f8c94", "#785717", "#b04fc4")
_DARK_INKS = ("#7fb8f5", "#f2a65e", "#5dd27a", "#ff7b8a", "#b9a0f5", "#5fd5dc", "#d8b273", "#e59bf5")
"""Colours of curves, on a light and on a dark ground."""
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 30, 14, 44
"""Margins of a plot in pixels."""
_NEAR = 9.0
"""Distance in pixels up to which a point is the one that is pointed at."""
_CLICK = 4
"""Pixels by which the mouse may move while it clicks."""
_MANY = 2000
"""Largest number of points that are painted one by one."""
_MARGIN = 0.04
"""Share of a range that is left free beyond the values."""
_FACTORS = (1.0, 2.0, 2.5, 5.0, 10.0)
"""Steps between marks of an axis, in powers of ten."""
_NARROWEST = 1e-6
"""Smallest range that can be zoomed in to, in units of the values at its ends."""

Range = tuple[float, float]


class ReportView(QtWidgets.QTabWidget):  # type: ignore[misc]  # Qt has no types here
    """A report.

    Attributes
    ----------
    row_chosen : signal of Table, int
        A row of a table.
    field_chosen : signal of str
        Field of a point of a plot.
    """

    row_chosen = QtCore.Signal(object, int)
    field_chosen = QtCore.Signal(str)

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self._tables: list[ReportTable] = []
        self._plots: list[ReportPlot] = []
        self._below: list[ReportTable] = []
        self._remarks: Any = None
        self._report: Report | None = None

    def show_report(self, report: Report | None) -> None:
        """Show a report; one of the same tables and plots as that before takes its place, each tab as it stands."""
        if report is self._report:
            return
        before, self._report = self._report, report
        if report is None or before is None or not self._fits(report):
            self._build(report)
            return
        for widget, table in zip(self._tables, self._alone(report), strict=True):
            widget.fill(table)
        for widget in self._below:
            widget.fill(report.tables[0])
        for picture, plot in zip(self._plots, report.plots, strict=True):
            picture.fill(plot)
        if self._remarks is not None:
            self._remarks.setPlainText(_text_of(report))

    def _fits(self, report: Report) -> bool:
        tables, below = self._alone(report), report.tables[:1] * len(self._below)
        shown = [*self._tables, *self._below]
        return (
            [table.name for table in (*tables, *below)] == [widget.table.name for widget in shown]
            and all(widget.fits(table) for widget, table in zip(shown, (*tables, *below), strict=True))
            and report.together == bool(self._below)
            and [plot.name for plot in report.plots] == [widget.plot.name for widget in self._plots]
            and bool(report.remarks) == (self._remarks is not None)
        )

    def _alone(self, report: Report) -> tuple[Table, ...]:
        """Tables that have a tab of their own."""
        return report.tables[1:] if report.together and report.plots else report.tables

    def _build(self, report: Report | None) -> None:
        while self.count():
            widget = self.widget(0)
            self.removeTab(0)
            widget.deleteLater()
        self._remarks = None
        report = report or Report("", "")
        self._plots, self._tables = [*map(ReportPlot, report.plots)], [*map(ReportTable, self._alone(report))]
        self._below = [ReportTable(report.tables[0]) for _ in self._plots] if report.together else []
        for number, plot in enumerate(self._plots):  # seen first: they say most at a glance
            plot.picked.connect(self.field_chosen)
            title = _title(plot.plot.name) if report.tables or len(report.plots) > 1 else "Plot"
            self.addTab(_both(plot, self._below[number]) if self._below else plot, title)
        for table in self._below:
            table.chosen.connect(self.row_chosen)
        for table in self._tables:
            table.chosen.connect(self.row_chosen)
            self.addTab(table, _title(table.table.name))
        if report.remarks:
            self._remarks = QtWidgets.QPlainTextEdit(_text_of(report))
            self._remarks.setReadOnly(True)
            self.addTab(self._remarks, f"Remarks ({len(report.remarks)})")

    def plot(self) -> ReportPlot | None:
        """The plot of the tab."""
        at = self.currentIndex()
        return self._plots[at] if 0 <= at < len(self._plots) else None

    def mark(self, field: str) -> None:
        """Mark the rows and the points of a field."""
        for mark in [widget.mark for widget in self._plots] + [widget.mark for widget in (*self._tables, *self._below)]:
            mark(field)

    def copy(self, clipboard: Any) -> None:
        """Copy what the tab shows: text, or a picture."""
        widget, plot = self.currentWidget(), self.plot()
        if isinstance(widget, ReportTable):
            clipboard.setText(widget.text())
        elif plot is not None:
            clipboard.setPixmap(plot.grab())
        elif widget is not None:
            clipboard.setText(widget.toPlainText())


def _both(plot: ReportPlot, table: ReportTable) -> Any:
    """A plot with a table below, which belong together: what is chosen in one is marked in the other."""
    splitter = QtWidgets.QSplitter(Qt.Vertical, childrenCollapsible=False)
    splitter.addWidget(plot)
    splitter.addWidget(table)
    splitter.setSizes([300, 200])
    table.chosen.connect(lambda shown, row: plot.mark(shown.fields[row]))
    plot.picked.connect(table.mark)
    return splitter


def _title(name: str) -> str:
    words = name.replace("_", " ")
    return f"{words[:1].upper()}{words[1:]}"


def _text_of(report: Report) -> str:
    return "\n\n".join(report.remarks)


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


class _View(ListView):
    """Tells which row was chosen by mouse or keys, or chosen again."""

    chosen = QtCore.Signal(int)

    def __init__(self, model: Any, parent: Any = None) -> None:
        super().__init__(parent)
        self._proxy = QtCore.QSortFilterProxyModel(self)
        self._proxy.setSourceModel(model)
        self._proxy.setSortRole(Qt.UserRole)
        self.setModel(self._proxy)
        self.horizontalHeader().setSortIndicator(-1, Qt.AscendingOrder)  # or enabling would sort a thousand rows
        self.setSortingEnabled(True)
        self.setAlternatingRowColors(True)
        self.setSelectionBehavior(self.SelectRows)
        self.setHorizontalScrollMode(self.ScrollPerPixel)
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

    def mark(self, row: int) -> None:
        """Have a row chosen without telling."""
        self.blockSignals(True)
        index = self._proxy.mapFromSource(self._proxy.sourceModel().index(row, 0))
        self.setCurrentIndex(index)
        self.scrollTo(index)
        self.blockSignals(False)

    def fit_columns(self) -> None:
        """Give each column the width of its longest text."""
        metrics, table = self.fontMetrics(), self._proxy.sourceModel().table
        arrow = self.style().pixelMetric(QtWidgets.QStyle.PM_HeaderMarkSize)
        for at, column in enumerate(table.columns):
            texts = map(column.text, _longest(column.values))
            widest = max(map(metrics.horizontalAdvance, texts), default=0)
            head = max(map(metrics.horizontalAdvance, _heading(column.title).splitlines()))
            self.setColumnWidth(at, _PADDING + max(widest, head + arrow))


def _longest(values: Sequence[Any]) -> set[int]:
    """Rows among which the longest text of a column is: of numbers the extreme ones, and the smallest other than zero.

    To write all of a thousand rows would hold up the window.
    """
    if not values:
        return set()
    if any(isinstance(value, str) for value in values):
        return set(sorted(range(len(values)), key=lambda row: len(str(values[row])))[-_MEASURED:])
    numbers = np.nan_to_num(np.asarray(values, np.float64), posinf=0.0, neginf=0.0)
    small = np.where(numbers == 0, np.inf, np.abs(numbers))
    negative = np.where(numbers < 0, small, np.inf)
    return {int(row) for row in (numbers.argmin(), numbers.argmax(), small.argmin(), negative.argmin())}


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
        self.closures = QtWidgets.QLabel(
            wordWrap=True, textFormat=Qt.RichText, textInteractionFlags=Qt.TextSelectableByMouse
        )
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(4, 6, 4, 4)
        title = QtWidgets.QLabel(unit_in_print(table.title), wordWrap=True)
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

    def mark(self, field: str) -> None:
        """Have the row of a field chosen, without telling."""
        if field in self.table.fields:
            self.view.mark(self.table.fields.index(field))

    def text(self) -> str:
        """As lines of words with tabs between, for the clipboard, in the order that is seen."""
        rows, columns = self.view.model(), self.table.columns
        lines = [[column.title for column in columns]]
        lines += [[str(rows.index(row, at).data()) for at in range(len(columns))] for row in range(rows.rowCount())]
        return "\n".join("\t".join(line) for line in lines)

    def _tell_closures(self) -> None:
        red = stage_colour("failed", self.palette()).name()
        lines = [
            _escape(one.text) if one.holds else f'<span style="color: {red}">{_escape(one.text)}</span>'
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


def _escape(text: str) -> str:
    return html.escape(unit_in_print(text), quote=False)


class ReportPlot(QtWidgets.QWidget):  # type: ignore[misc]  # Qt has no types here
    """Curves, sticks and points with axes; a double click shows all again.

    Attributes
    ----------
    picked : signal of str
        Field of the point that the user clicked on.
    """

    picked = QtCore.Signal(str)

    def __init__(self, plot: Plot, parent: Any = None) -> None:
        super().__init__(parent)
        self.plot = plot
        self._x, self._y = whole(plot)
        self._pressed: Any = None
        self._moved = False
        self._before: Axes | None = None
        self._marked: tuple[int, int] | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.StrongFocus)
        self.setMinimumSize(260, 180)

    def fill(self, plot: Plot) -> None:
        """Show another plot of the same kind; where it was zoomed to, it stays so."""
        if (self._x, self._y) == whole(self.plot):
            self._x, self._y = whole(plot)
        field = "" if self._marked is None else self._field(self._marked)
        self.plot = plot
        self.mark(field)

    def mark(self, field: str) -> None:
        """Mark the point of a field; of none, none."""
        every = ((number, curve.fields.index(field)) for number, curve in enumerate(self.plot.curves)
                 if field in curve.fields)  # fmt: skip
        self._marked = next(every, None)
        self.update()

    def seen(self) -> Plot:
        """The plot with the ranges that are seen."""
        if (self._x, self._y) == whole(self.plot):
            return self.plot
        return replace(self.plot, x_range=self._x, y_range=self._y)

    # ---- values and pixels

    def _axes(self) -> Axes:
        right, bottom = max(self.width() - _RIGHT, _LEFT + 10), max(self.height() - _BOTTOM, _TOP + 10)
        return Axes(self._x, self._y, _LEFT, _TOP, right, bottom)

    def _show(self, axes: Axes) -> None:
        self._x, self._y = axes.x, axes.y
        self.update()

    def place_of(self, curve: int, point: int) -> Any:
        """Where a point is, in pixels: the top of a stick."""
        one = self.plot.curves[curve]
        x, y = self._axes().pixels(one.x[point : point + 1], one.y[point : point + 1])[0]
        return QtCore.QPoint(round(float(x)), round(float(y)))

    def nearest(self, at: Any) -> tuple[int, int] | None:
        """Curve and point that a place belongs to; sticks are long, and of curves the place across counts."""
        found: list[tuple[float, int, int]] = []
        axes = self._axes()
        for number, curve in enumerate(self.plot.curves):
            if not len(curve.x):
                continue
            pixels = axes.pixels(curve.x, curve.y)
            across, up = np.abs(pixels[:, 0] - at.x()), np.abs(pixels[:, 1] - at.y())
            if curve.style == "sticks":
                foot = float(axes.pixels(np.zeros(1), np.full(1, curve.foot))[0, 1])
                low, high = np.minimum(pixels[:, 1], foot), np.maximum(pixels[:, 1], foot)
                up = np.maximum(np.maximum(low - at.y(), at.y() - high), 0.0)
            distance = np.hypot(across, up)
            point = int(np.nanargmin(distance)) if np.isfinite(distance).any() else 0
            if distance[point] < _NEAR:
                found.append((float(distance[point]) - (2.0 if curve.fields else 0.0), number, point))
        return min(found)[1:] if found else None

    # ---- how it looks

    def paintEvent(self, event: Any) -> None:
        painter = QtGui.QPainter(self)
        painter.fillRect(self.rect(), self.palette().base())
        self._paint(painter)
        painter.end()

    def _paint(self, painter: Any) -> None:
        painter.setRenderHint(QtGui.QPainter.Antialiasing)
        axes = self._axes()
        inside = QtCore.QRectF(axes.left, axes.top, axes.right - axes.left, axes.bottom - axes.top)
        self._paint_axes(painter, axes, inside)
        painter.save()
        painter.setClipRect(inside)
        for number, curve in enumerate(self.plot.curves):
            self._paint_curve(painter, axes, curve, self._ink(number))
        self._paint_marked(painter)
        painter.restore()
        self._paint_lines(painter, axes)
        self._paint_legend(painter, inside)

    def _ink(self, number: int) -> Any:
        inks = _DARK_INKS if is_dark(self.palette()) else _INKS
        return QtGui.QColor(inks[number % len(inks)])

    def _paint_axes(self, painter: Any, axes: Axes, inside: Any) -> None:
        text, pale = self.palette().color(QtGui.QPalette.Text), faded(self.palette())
        grid = QtGui.QColor(pale)
        grid.setAlpha(60)
        metrics = painter.fontMetrics()
        line = metrics.height()
        marks, words = ticks(axes.x, max(2, int(inside.width() / (6 * line))))
        places = axes.pixels(np.array(marks, np.float64), np.full(len(marks), axes.y[0]))[:, 0]
        for x, word in zip(places, words, strict=True):
            painter.setPen(grid)
            painter.drawLine(QtCore.QPointF(x, axes.top), QtCore.QPointF(x, axes.bottom))
            painter.setPen(text)
            painter.drawText(QtCore.QRectF(x - 50, axes.bottom + 3, 100, line), int(Qt.AlignCenter), word)
        marks, words = ticks(axes.y, max(2, int(inside.height() / (2.5 * line))))
        heights = axes.pixels(np.full(len(marks), axes.x[0]), np.array(marks, np.float64))[:, 1]
        for y, word in zip(heights, words, strict=True):
            painter.setPen(grid)
            painter.drawLine(QtCore.QPointF(axes.left, y), QtCore.QPointF(axes.right, y))
            painter.setPen(text)
            place = QtCore.QRectF(line, y - line / 2, axes.left - line - 4, line)
            painter.drawText(place, int(Qt.AlignRight | Qt.AlignVCenter), word)
        painter.setPen(pale)
        painter.drawRect(inside)
        painter.setPen(text)
        below = QtCore.QRectF(axes.left, axes.bottom + line + 4, inside.width(), line)
        painter.drawText(below, int(Qt.AlignCenter), unit_in_print(self.plot.x_label))
        above = QtCore.QRectF(0, 2, self.width(), line)
        if not self.plot.lines:
            painter.drawText(above, int(Qt.AlignCenter), unit_in_print(self.plot.title))
        painter.save()
        painter.translate(2, inside.center().y())
        painter.rotate(-90)
        beside = QtCore.QRectF(-inside.height() / 2, 0, inside.height(), line)
        painter.drawText(beside, int(Qt.AlignCenter | Qt.TextDontClip), unit_in_print(self.plot.y_label))
        painter.restore()

    def _paint_curve(self, painter: Any, axes: Axes, curve: Curve, ink: Any) -> None:
        pixels = axes.pixels(np.asarray(curve.x, np.float64), np.asarray(curve.y, np.float64))
        pixels = pixels[np.isfinite(pixels).all(axis=1)]
        far = 1e5  # what is farther away would overflow the painter
        shown = np.clip(pixels, -far, far)
        if curve.style == "points":
            self._paint_points(painter, pixels, np.asarray(curve.values), ink)
            return
        foot = float(np.clip(axes.pixels(np.zeros(1), np.full(1, curve.foot))[0, 1], -far, far))
        if curve.style == "sticks":
            painter.setPen(QtGui.QPen(ink, 1.6))
            painter.drawLines([QtCore.QLineF(x, foot, x, y) for x, y in shown.tolist()])
            return
        corners = [QtCore.QPointF(x, y) for x, y in shown.tolist()]
        if curve.style == "filled" and corners:
            pale = QtGui.QColor(ink)
            pale.setAlpha(60)
            painter.setPen(Qt.NoPen)
            painter.setBrush(pale)
            ends = [QtCore.QPointF(corners[-1].x(), foot), QtCore.QPointF(corners[0].x(), foot)]
            painter.drawPolygon(QtGui.QPolygonF([*corners, *ends]))
            painter.setBrush(Qt.NoBrush)
        painter.setPen(QtGui.QPen(ink, 1.6))
        painter.drawPolyline(QtGui.QPolygonF(corners))

    def _paint_points(self, painter: Any, pixels: NDArray[np.float64], values: NDArray[np.float64], ink: Any) -> None:
        inside = ((pixels >= 0) & (pixels < [self.width() - 1, self.height() - 1])).all(axis=1)
        colours = np.tile(np.array(ink.getRgbF()[:3]), (int(inside.sum()), 1))
        if len(values) == len(pixels):
            limit = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
            colours = colours_along("signed", (np.clip(np.nan_to_num(values[inside]) / limit, -1, 1) + 1) / 2)
        if len(colours) > _MANY:
            painter.drawImage(0, 0, self._cloud(pixels[inside], colours))
            return
        painter.setPen(Qt.NoPen)
        for (x, y), colour in zip(pixels[inside].tolist(), colours.tolist(), strict=True):
            painter.setBrush(QtGui.QColor.fromRgbF(*colour))
            painter.drawEllipse(QtCore.QPointF(x, y), 2.5, 2.5)
        painter.setBrush(Qt.NoBrush)

    def _cloud(self, pixels: NDArray[np.float64], colours: NDArray[np.float64]) -> Any:
        """Very many points as a picture, two pixels wide each: a painter would take a second for a hundred thousand."""
        width, height = self.width(), self.height()
        picture = np.zeros((height, width, 4), np.uint8)
        at = pixels.astype(np.int64)
        inks = np.concatenate([np.round(255 * colours[:, ::-1]), np.full((len(colours), 1), 255)], axis=1)
        for down in (0, 1):
            for right in (0, 1):
                picture[at[:, 1] + down, at[:, 0] + right] = inks
        return QtGui.QImage(picture.tobytes(), width, height, 4 * width, QtGui.QImage.Format_ARGB32).copy()

    def _paint_marked(self, painter: Any) -> None:
        if self._marked is not None and self._marked[1] < len(self.plot.curves[self._marked[0]].x):
            painter.setPen(QtGui.QPen(self.palette().color(QtGui.QPalette.Text), 1.5))
            painter.drawEllipse(self.place_of(*self._marked), 6, 6)

    def _paint_lines(self, painter: Any, axes: Axes) -> None:
        """Places on the x axis that are marked, with as many of their names as there is room for."""
        painter.setPen(QtGui.QPen(faded(self.palette()), 1, Qt.DashLine))
        metrics, free = painter.fontMetrics(), 0.0
        for place, what in sorted(self.plot.lines):
            x = float(axes.pixels(np.array([place]), np.zeros(1))[0, 0])
            if not axes.left <= x <= axes.right:
                continue
            painter.drawLine(QtCore.QPointF(x, axes.top), QtCore.QPointF(x, axes.bottom))
            half = metrics.horizontalAdvance(what) / 2
            if x - half > free:
                box = QtCore.QRectF(x - half, axes.top - metrics.height() - 2, 2 * half + 1, metrics.height())
                painter.drawText(box, int(Qt.AlignCenter | Qt.TextDontClip), what)
                free = x + half + 6

    def _paint_legend(self, painter: Any, inside: Any) -> None:
        metrics = painter.fontMetrics()
        line = metrics.height()
        named = [(number, curve.name) for number, curve in enumerate(self.plot.curves) if curve.name]
        if not named:
            return
        width = max(metrics.horizontalAdvance(name) for _, name in named) + 34
        box = self._least_covered(inside, QtCore.QSizeF(width, line * len(named) + 6))
        ground = QtGui.QColor(self.palette().color(QtGui.QPalette.Base))
        ground.setAlpha(190)
        painter.fillRect(box, ground)
        for at, (number, name) in enumerate(named):
            middle = box.top() + 3 + line * (at + 0.5)
            painter.setPen(QtGui.QPen(self._ink(number), 3))
            painter.drawLine(QtCore.QPointF(box.left() + 6, middle), QtCore.QPointF(box.left() + 22, middle))
            painter.setPen(self.palette().color(QtGui.QPalette.Text))
            painter.drawText(QtCore.QPointF(box.left() + 28, middle + metrics.ascent() / 2 - 1), name)

    def _least_covered(self, inside: Any, size: Any) -> Any:
        """The corner where the fewest points would be under something of a size."""
        axes, corners = self._axes(), []
        for x in (inside.right() - size.width() - 4, inside.left() + 4):
            corners += [(x, inside.top() + 4), (x, inside.bottom() - size.height() - 4)]
        pixels = np.concatenate([axes.pixels(curve.x, curve.y) for curve in self.plot.curves])
        ends = np.array([size.width(), size.height()])
        covered = [int(((pixels > corner) & (pixels < corner + ends)).all(axis=1).sum()) for corner in corners]
        return QtCore.QRectF(QtCore.QPointF(*corners[int(np.argmin(covered))]), size)

    # ---- what the user does

    def mousePressEvent(self, event: Any) -> None:
        if event.button() == Qt.LeftButton:
            self._pressed, self._before, self._moved = event.pos(), self._axes(), False

    def mouseMoveEvent(self, event: Any) -> None:
        if self._pressed is None or self._before is None:
            near = self.nearest(event.pos())
            has_field = near is not None and bool(self._field(near))
            self.setCursor(Qt.PointingHandCursor if has_field else Qt.ArrowCursor)
            self._tell(event, near)
            return
        moved = event.pos() - self._pressed
        if self._moved or moved.manhattanLength() > _CLICK:
            self._moved = True
            self._show(self._before.shifted(moved.x(), moved.y()))

    def mouseReleaseEvent(self, event: Any) -> None:
        if event.button() != Qt.LeftButton or self._pressed is None:
            return
        self._pressed = None
        if self._moved:
            return
        near = self.nearest(event.pos())
        field = self._field(near) if near is not None and self._field(near) else self._stick_below(event.pos())
        if field:
            self.mark(field)
            self.picked.emit(field)

    def _sticks(self) -> list[tuple[float, str]]:
        """Where sticks are across, in pixels, with their fields, from left to right."""
        axes = self._axes()
        found: list[tuple[float, str]] = []
        for curve in self.plot.curves:
            if curve.style == "sticks" and curve.fields:
                found += zip(axes.pixels(curve.x, curve.y)[:, 0].tolist(), curve.fields, strict=True)
        return sorted(found)

    def _stick_below(self, at: Any) -> str:
        """Field of the stick of a peak that was clicked on, as high as that may be."""
        far, field = min(((abs(x - at.x()), field) for x, field in self._sticks()), default=(math.inf, ""))
        return field if far < _NEAR else ""

    def keyPressEvent(self, event: Any) -> None:
        """The arrow keys walk from stick to stick."""
        step = {Qt.Key_Left: -1, Qt.Key_Right: 1}.get(event.key(), 0)
        fields = [field for _, field in self._sticks()]
        if not (step and fields):
            super().keyPressEvent(event)
            return
        here = "" if self._marked is None else self._field(self._marked)
        at = fields.index(here) + step if here in fields else (0 if step > 0 else -1)
        field = fields[at % len(fields)]
        self.mark(field)
        self.picked.emit(field)

    def mouseDoubleClickEvent(self, event: Any) -> None:
        self._x, self._y = whole(self.plot)
        self.update()

    def wheelEvent(self, event: Any) -> None:
        point = event.position() if hasattr(event, "position") else event.pos()
        axes, factor = self._axes(), 0.8 if event.angleDelta().y() > 0 else 1.25
        beside, below = point.x() < axes.left, point.y() > axes.bottom
        has_points = any(curve.style == "points" for curve in self.plot.curves)
        about = axes.values(point.x(), point.y())
        self._show(axes.zoomed(about, factor, across=not beside, up=beside or (has_points and not below)))
        event.accept()

    def _field(self, at: tuple[int, int]) -> str:
        fields = self.plot.curves[at[0]].fields
        return fields[at[1]] if at[1] < len(fields) else ""

    def _tell(self, event: Any, near: tuple[int, int] | None) -> None:
        if near is None:
            QtWidgets.QToolTip.hideText()
            return
        curve = self.plot.curves[near[0]]
        x, y = float(curve.x[near[1]]), float(curve.y[near[1]])
        lines = [curve.name, self._field(near), f"{self.plot.x_label}: {x:.6g}", f"{self.plot.y_label}: {y:.6g}"]
        text = "\n".join(unit_in_print(line) for line in lines if line)
        QtWidgets.QToolTip.showText(event.globalPos(), text, self)


@dataclass(frozen=True)
class Axes:
    """What of a plot is seen, and where: `x` from `left` to `right`, `y` from `bottom` to `top`, in pixels."""

    x: Range
    y: Range
    left: float
    top: float
    right: float
    bottom: float

    def pixels(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where values are, shape (n, 2)."""
        across = self.left + (x - self.x[0]) / (self.x[1] - self.x[0]) * (self.right - self.left)
        up = self.bottom - (y - self.y[0]) / (self.y[1] - self.y[0]) * (self.bottom - self.top)
        return np.stack([across, up], axis=1)

    def values(self, x: float, y: float) -> tuple[float, float]:
        """What is at a place."""
        across = self.x[0] + (x - self.left) / (self.right - self.left) * (self.x[1] - self.x[0])
        return across, self.y[0] + (self.bottom - y) / (self.bottom - self.top) * (self.y[1] - self.y[0])

    def zoomed(self, about: tuple[float, float], factor: float, *, across: bool, up: bool) -> Axes:
        """Ranges narrower by a factor about a point that stays where it is."""
        x, y = about
        return replace(
            self, x=_zoom(self.x, x, factor) if across else self.x, y=_zoom(self.y, y, factor) if up else self.y
        )

    def shifted(self, right: float, down: float) -> Axes:
        """Ranges moved along with a hand by so many pixels."""
        across = right / (self.right - self.left) * (self.x[1] - self.x[0])
        up = down / (self.bottom - self.top) * (self.y[1] - self.y[0])
        return replace(self, x=(self.x[0] - across, self.x[1] - across), y=(self.y[0] + up, self.y[1] + up))


def _zoom(span: Range, about: float, factor: float) -> Range:
    low, high = about + (span[0] - about) * factor, about + (span[1] - about) * factor
    return (low, high) if abs(high - low) > _NARROWEST * max(abs(low), abs(high), 1e-30) else span


def whole(plot: Plot) -> tuple[Range, Range]:
    """What of a plot is shown first: what it states, else all values, and zero where curves stand on it."""
    x = plot.x_range or _range([curve.x for curve in plot.curves], False)
    stands = any(curve.style in ("filled", "sticks") and not curve.foot for curve in plot.curves)
    return x, plot.y_range or _range([_within(curve, x) for curve in plot.curves], stands)


def _within(curve: Curve, x: Range) -> NDArray[np.float64]:
    return np.asarray(curve.y)[(curve.x >= min(x)) & (curve.x <= max(x))]


def _range(values: Sequence[NDArray[np.float64]], with_zero: bool) -> Range:
    every = np.concatenate([np.zeros(int(with_zero)), *values]) if values else np.zeros(0)
    every = every[np.isfinite(every)]
    if not len(every):
        return 0.0, 1.0
    low, high = float(every.min()), float(every.max())
    margin = (high - low) * _MARGIN or max(abs(high) * _MARGIN, 1e-9)
    return low - margin, high + margin


def ticks(span: Range, most: int) -> tuple[list[float], list[str]]:
    """Round values within a range, and how they are written; `most` of them, about."""
    low, high = sorted(span)
    rough = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in _FACTORS if factor * power >= rough * (1 - 1e-9))
    marks = [step * n for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9) + (1 if f"{step / power:g}" == "2.5" else 0))
    large = max(abs(low), abs(high))
    if large >= 1e5 or decimals > 5:
        return marks, [f"{mark:.3g}" for mark in marks]
    return marks, [f"{mark + 0.0:.{decimals}f}" for mark in marks]
