"""The list of what is shown: a row a surface, with what can be done to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from pymol.Qt import QtCore, QtGui, QtWidgets

from ...session.seen import Listed
from ...surfaces.colour_maps import tick_labels
from .colours import SWATCH, fill_with_pair, fill_with_ramp, make_swatch
from .widgets import ListView, faded, write_on

Qt = QtCore.Qt

_EYE, _PIN, _TEXT, _ISOVALUE, _COLOURS, _TRANSPARENCY, _DELETE = range(7)
_FEWEST, _MOST = 3, 5
"""Rows that there is room for, at least and at most; more are scrolled to."""
_ICON = 16
"""Width of an icon in pixels, on screens of usual density."""
_DENSITY = 2
"""Pixels drawn for each of these, for screens of high density."""


class ShownModel(QtCore.QAbstractTableModel):  # type: ignore[misc]  # Qt has no types here
    """What stands in the cells."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self.rows: list[Listed] = []
        self.palette = QtGui.QPalette()

    def fill(self, rows: list[Listed]) -> bool:
        """List surfaces; says whether their names are others, else only what has changed is drawn anew."""
        before = self.rows
        if [row.name for row in rows] != [row.name for row in before]:
            self.beginResetModel()
            self.rows = rows
            self.endResetModel()
            return True
        self.rows = rows
        for at, (old, new) in enumerate(zip(before, rows, strict=True)):
            if old != new:
                self.dataChanged.emit(self.index(at, 0), self.index(at, _DELETE))
        return False

    def rowCount(self, parent: Any = None) -> int:
        return len(self.rows)

    def columnCount(self, parent: Any = None) -> int:
        return _DELETE + 1

    def data(self, index: Any, role: Any = Qt.DisplayRole) -> Any:
        listed, column = self.rows[index.row()], index.column()
        if role == Qt.DisplayRole:
            return self._text(listed, column)
        if role == Qt.DecorationRole:
            return self._picture(listed, column)
        if role == Qt.ToolTipRole:
            return _tip(listed, column)
        if role == Qt.TextAlignmentRole and column in (_ISOVALUE, _TRANSPARENCY):
            return int(Qt.AlignRight | Qt.AlignVCenter)
        if role == Qt.ForegroundRole and not listed.visible:
            return QtGui.QBrush(faded(self.palette))
        return None

    def _text(self, listed: Listed, column: int) -> str | None:
        if column == _TEXT:
            several = len({row.molecule for row in self.rows}) > 1
            return f"{listed.text}, {listed.molecule}" if several else listed.text
        if column == _ISOVALUE:
            return f"{listed.isovalue:.3g}"
        return f"{100 * listed.look.transparency:.0f} %" if column == _TRANSPARENCY else None

    def _picture(self, listed: Listed, column: int) -> Any:
        if column == _EYE:
            draw = _draw_open_eye if listed.visible else _draw_closed_eye
            return _icon_for(draw, self.palette, is_pale=not listed.visible)
        if column == _PIN:
            draw = _draw_set_pin if listed.kept else _draw_loose_pin
            return _icon_for(draw, self.palette, is_pale=not listed.kept)
        if column == _COLOURS and listed.scale is not None:
            return make_swatch(partial(fill_with_ramp, colour_map=listed.scale.colour_map))
        if column == _COLOURS:
            return make_swatch(partial(fill_with_pair, pair=listed.look.colours))
        return _icon_for(_draw_cross, self.palette, is_pale=True) if column == _DELETE else None


class ShownList(ListView):
    """Surfaces, one of them current; it says what the user does, and changes nothing itself.

    Attributes
    ----------
    chosen : signal of str
        Name of a surface that the user made the current one.
    visibility_changed, kept_changed : signals of str, bool
        Name of a surface that is to be seen or not, or to be kept or not.
    deleted, colours_asked : signals of str
        Name of a surface that is to be deleted, or to get other colours.
    menu_asked : signal of str, QPoint
        Name of a surface, and where on the screen a menu of it is to open.
    """

    chosen = QtCore.Signal(str)
    visibility_changed = QtCore.Signal(str, bool)
    kept_changed = QtCore.Signal(str, bool)
    deleted = QtCore.Signal(str)
    colours_asked = QtCore.Signal(str)
    menu_asked = QtCore.Signal(str, QtCore.QPoint)

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self.surfaces = ShownModel(self)
        self.surfaces.palette = self.palette()
        self._quiet = False
        self._scrolling = QtCore.QTimer(self, singleShot=True, timeout=lambda: self.scrollTo(self.currentIndex()))
        self._pressed: tuple[str, int] | None = None
        self.setModel(self.surfaces)
        self.setSelectionBehavior(self.SelectRows)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarAlwaysOff)
        self.setIconSize(QtCore.QSize(_ICON, _ICON))
        self.setItemDelegateForColumn(_COLOURS, _Swatches(self))
        self.setSizePolicy(QtWidgets.QSizePolicy.Expanding, QtWidgets.QSizePolicy.Fixed)
        self.horizontalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(max(self.fontMetrics().height() + 6, _ICON + 4))
        self._place_columns()

    # ---- what it is told

    def fill(self, rows: list[Listed], current: str) -> None:
        """List what is shown, and mark the surface that the window acts on; empty for none."""
        self._quiet = True
        top = self.verticalScrollBar().value()
        if self.surfaces.fill(rows):
            self.verticalScrollBar().setValue(top)
            self.updateGeometry()
        self._fit_isovalues()
        at = next((at for at, row in enumerate(rows) if row.name == current), None)
        if at is None:
            self.setCurrentIndex(QtCore.QModelIndex())
            self.clearSelection()
        elif self.currentIndex().row() != at:
            self.setCurrentIndex(self.surfaces.index(at, _TEXT))
            self._scrolling.start()  # when its height is known
        self._quiet = False

    # ---- what the user does

    def currentChanged(self, current: Any, previous: Any) -> None:
        super().currentChanged(current, previous)
        if not self._quiet and current.isValid() and current.row() != previous.row():
            self.chosen.emit(self.surfaces.rows[current.row()].name)

    def mousePressEvent(self, event: Any) -> None:
        cell = self.indexAt(event.pos())
        self._pressed = None
        if event.button() == Qt.LeftButton and cell.isValid() and cell.column() in (_EYE, _PIN, _COLOURS, _DELETE):
            self._pressed = self.surfaces.rows[cell.row()].name, cell.column()
        else:
            super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: Any) -> None:
        self.mousePressEvent(event)  # two clicks in a row on an eye are two clicks

    def mouseMoveEvent(self, event: Any) -> None:
        if not event.buttons():  # what is dragged over is not chosen
            super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: Any) -> None:
        pressed, self._pressed = self._pressed, None
        if pressed is None:
            super().mouseReleaseEvent(event)
            return
        cell = self.indexAt(event.pos())
        listed = self.surfaces.rows[cell.row()] if cell.isValid() else None
        if listed is not None and pressed == (listed.name, cell.column()):
            self._act(listed, cell.column())

    def keyPressEvent(self, event: Any) -> None:
        acts = {Qt.Key_Space: _EYE, Qt.Key_Delete: _DELETE, Qt.Key_Backspace: _DELETE}
        current = self.currentIndex()
        if event.key() in acts and current.isValid():
            self._act(self.surfaces.rows[current.row()], acts[event.key()])
        else:
            super().keyPressEvent(event)

    def keyboardSearch(self, text: str) -> None:
        """Letters choose nothing."""

    def contextMenuEvent(self, event: Any) -> None:
        with_keys = event.reason() == QtGui.QContextMenuEvent.Keyboard
        cell = self.currentIndex() if with_keys else self.indexAt(event.pos())
        if cell.isValid():
            at = self.visualRect(cell).center() if with_keys else event.pos()
            self.menu_asked.emit(self.surfaces.rows[cell.row()].name, self.viewport().mapToGlobal(at))

    def _act(self, listed: Listed, column: int) -> None:
        if column == _EYE:
            self.visibility_changed.emit(listed.name, not listed.visible)
        elif column == _PIN:
            self.kept_changed.emit(listed.name, not listed.kept)
        elif column == _COLOURS:
            self.colours_asked.emit(listed.name)
        elif column == _DELETE:
            self.deleted.emit(listed.name)

    # ---- how it looks

    def sizeHint(self) -> Any:
        rows = min(max(len(self.surfaces.rows), _FEWEST), _MOST)
        height = rows * self.verticalHeader().defaultSectionSize() + 2 * self.frameWidth()
        return QtCore.QSize(300, height)

    def minimumSizeHint(self) -> Any:
        return QtCore.QSize(160, self.sizeHint().height())

    def changeEvent(self, event: Any) -> None:
        super().changeEvent(event)
        if event.type() == QtCore.QEvent.PaletteChange:
            self.surfaces.palette = self.palette()
        elif event.type() == QtCore.QEvent.FontChange:
            self._place_columns()

    def paintEvent(self, event: Any) -> None:
        super().paintEvent(event)
        if not self.surfaces.rows:
            write_on(self, "Nothing is shown yet: choose an orbital or a field")

    def _place_columns(self) -> None:
        header = self.horizontalHeader()
        header.setMinimumSectionSize(_ICON)
        for column in range(_DELETE + 1):
            header.setSectionResizeMode(column, header.Stretch if column == _TEXT else header.Fixed)
            self.setColumnWidth(column, _ICON + 8)
        self.setColumnWidth(_COLOURS, SWATCH.width() + 10)
        self.setColumnWidth(_TRANSPARENCY, self.fontMetrics().horizontalAdvance("100 %") + 8)
        self._fit_isovalues()

    def _fit_isovalues(self) -> None:
        """Leave what isovalues do not need to the names."""
        cells = (self.surfaces.index(at, _ISOVALUE) for at in range(self.surfaces.rowCount()))
        texts = [cell.data() for cell in cells] or [""]
        self.setColumnWidth(_ISOVALUE, max(map(self.fontMetrics().horizontalAdvance, texts)) + 10)


class _Swatches(QtWidgets.QStyledItemDelegate):  # type: ignore[misc]  # Qt has no types here
    """Gives colours the room that icons do not have."""

    def initStyleOption(self, option: Any, index: Any) -> None:
        super().initStyleOption(option, index)
        option.decorationSize = SWATCH


def _tip(listed: Listed, column: int) -> str:
    if column == _EYE:
        return "Hide (space)" if listed.visible else "Show (space)"
    if column == _PIN:
        kept = "Kept when the next surface is shown; click to have that replace it"
        return kept if listed.kept else "Click to keep it when the next surface is shown"
    if column == _COLOURS and listed.scale is not None:
        low, high = tick_labels(np.array([listed.scale.low, listed.scale.high]))
        return f"{listed.scale.quantity}: {low} to {high} {listed.scale.unit}; click for another range"
    tips = {
        _TEXT: f"{listed.text} of {listed.molecule}: object {listed.name}, drawn as {listed.look.style}",
        _ISOVALUE: f"Isovalue {listed.isovalue:.6g} {listed.unit}",
        _COLOURS: "Colours where the field is positive and negative; click for others",
        _TRANSPARENCY: "Transparency",
        _DELETE: "Delete (Del)",
    }
    return tips[column]


def _icon_for(draw: Callable[[Any, Any], None], palette: Any, is_pale: bool) -> Any:
    colour = faded(palette) if is_pale else palette.color(QtGui.QPalette.Text)
    return _icon(draw, colour.rgba(), palette.color(QtGui.QPalette.HighlightedText).rgba())


@lru_cache(maxsize=64)
def _icon(draw: Callable[[Any, Any], None], rgba: int, selected_rgba: int) -> Any:
    """An icon in one colour, and in another where its row is selected."""
    icon = QtGui.QIcon(_picture(draw, rgba))
    icon.addPixmap(_picture(draw, selected_rgba), QtGui.QIcon.Selected)
    return icon


def _picture(draw: Callable[[Any, Any], None], rgba: int) -> Any:
    picture = QtGui.QPixmap(_DENSITY * _ICON, _DENSITY * _ICON)
    picture.setDevicePixelRatio(_DENSITY)
    picture.fill(Qt.transparent)
    painter = QtGui.QPainter(picture)
    painter.setRenderHint(QtGui.QPainter.Antialiasing)
    colour = QtGui.QColor.fromRgba(rgba)
    painter.setPen(QtGui.QPen(colour, 1.4, Qt.SolidLine, Qt.RoundCap, Qt.RoundJoin))
    draw(painter, colour)
    painter.end()
    return picture


def _draw_lids(painter: Any) -> None:
    lids = QtGui.QPainterPath(QtCore.QPointF(1.5, 8))
    lids.quadTo(8, 0.5, 14.5, 8)
    lids.quadTo(8, 15.5, 1.5, 8)
    painter.drawPath(lids)


def _draw_open_eye(painter: Any, colour: Any) -> None:
    _draw_lids(painter)
    painter.setBrush(colour)
    painter.drawEllipse(QtCore.QPointF(8, 8), 1.9, 1.9)


def _draw_closed_eye(painter: Any, colour: Any) -> None:
    _draw_lids(painter)
    painter.drawLine(QtCore.QPointF(3, 13.5), QtCore.QPointF(13, 2.5))


def _draw_loose_pin(painter: Any, colour: Any) -> None:
    painter.translate(8, 8)
    painter.rotate(40)
    head = [(-3, -6.5), (3, -6.5), (2, -5.5), (2, -1.5), (4, 1), (-4, 1), (-2, -1.5), (-2, -5.5)]
    painter.drawPolygon(QtGui.QPolygonF([QtCore.QPointF(x, y) for x, y in head]))
    painter.drawLine(QtCore.QPointF(0, 1), QtCore.QPointF(0, 7))


def _draw_set_pin(painter: Any, colour: Any) -> None:
    painter.setBrush(colour)
    _draw_loose_pin(painter, colour)


def _draw_cross(painter: Any, colour: Any) -> None:
    painter.drawLine(QtCore.QPointF(4, 4), QtCore.QPointF(12, 12))
    painter.drawLine(QtCore.QPointF(12, 4), QtCore.QPointF(4, 12))
