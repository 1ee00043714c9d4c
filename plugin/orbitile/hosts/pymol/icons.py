"""Small pictures of the list of surfaces, drawn in any colour."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from pymol.Qt import QtCore, QtGui

from .tints import faded

SIZE = 16
"""Pixels from side to side, on screens of usual density."""
_DENSITY = 2
"""Pixels drawn for one, for screens of high density."""

Qt = QtCore.Qt


def eye(is_open: bool, palette: Any) -> Any:
    """An eye, struck through and pale where it is not open."""
    return _icon_for(_draw_open_eye if is_open else _draw_closed_eye, palette, is_pale=not is_open)


def pin(is_set: bool, palette: Any) -> Any:
    """A drawing pin, hollow and pale where it is not set."""
    return _icon_for(_draw_set_pin if is_set else _draw_loose_pin, palette, is_pale=not is_set)


def cross(palette: Any) -> Any:
    """A cross, for deleting."""
    return _icon_for(_draw_cross, palette, is_pale=True)


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
    picture = QtGui.QPixmap(_DENSITY * SIZE, _DENSITY * SIZE)
    picture.setDevicePixelRatio(_DENSITY)
    picture.fill(Qt.transparent)
    painter = QtGui.QPainter(picture)
    painter.setRenderHint(QtGui.QPainter.Antialiasing)
    colour = QtGui.QColor.fromRgba(rgba)
    painter.setPen(QtGui.QPen(colour, 1.4, Qt.SolidLine, Qt.RoundCap, Qt.RoundJoin))
    draw(painter, colour)
    painter.end()
    return picture


def _draw_open_eye(painter: Any, colour: Any) -> None:
    lids = QtGui.QPainterPath(QtCore.QPointF(1.5, 8))
    lids.quadTo(8, 0.5, 14.5, 8)
    lids.quadTo(8, 15.5, 1.5, 8)
    painter.drawPath(lids)
    painter.setBrush(colour)
    painter.drawEllipse(QtCore.QPointF(8, 8), 1.9, 1.9)


def _draw_closed_eye(painter: Any, colour: Any) -> None:
    lids = QtGui.QPainterPath(QtCore.QPointF(1.5, 8))
    lids.quadTo(8, 0.5, 14.5, 8)
    lids.quadTo(8, 15.5, 1.5, 8)
    painter.drawPath(lids)
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
