"""A plot of a report: the wheel zooms, a drag shifts, what is pointed at is told, and a click shows its field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymol.Qt import QtCore, QtGui, QtWidgets

from ...base.errors import FileError
from ...model.report import Curve, Plot
from ...pictures.words import unit_in_print
from ...surfaces.colour_maps import colours_along
from .plot_axes import Axes, ticks, whole
from .tints import faded, is_dark

Qt = QtCore.Qt

_INKS = ("#1f5fa8", "#c2571a", "#1a7f37", "#a33846", "#6f4fb0", "#0f8c94", "#785717", "#b04fc4")
_DARK_INKS = ("#7fb8f5", "#f2a65e", "#5dd27a", "#ff7b8a", "#b9a0f5", "#5fd5dc", "#d8b273", "#e59bf5")
"""Of curves, on a light and on a dark ground."""
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 30, 14, 44
"""Pixels about what is plotted."""
_NEAR = 9.0
"""Pixels within which a point is the one that is pointed at."""
_CLICK = 4
"""Pixels by which the mouse may move while it clicks."""
_MANY = 2000
"""Points that are painted one by one at most."""
_SCALE = 2.0
"""Of a picture that is saved, to the window."""


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
        self.setMinimumSize(260, 180)

    def fill(self, plot: Plot) -> None:
        """Show another plot of the same kind; where it was zoomed to, it stays so."""
        if (self._x, self._y) == whole(self.plot):
            self._x, self._y = whole(plot)
        self.plot, self._marked = plot, None
        self.update()

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
                foot = float(axes.pixels(np.zeros(1), np.zeros(1))[0, 1])
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
            painter.drawText(above, int(Qt.AlignCenter), self.plot.title)
        painter.save()
        painter.translate(2, inside.center().y())
        painter.rotate(-90)
        beside = QtCore.QRectF(-inside.height() / 2, 0, inside.height(), line)
        painter.drawText(beside, int(Qt.AlignCenter), unit_in_print(self.plot.y_label))
        painter.restore()

    def _paint_curve(self, painter: Any, axes: Axes, curve: Curve, ink: Any) -> None:
        pixels = axes.pixels(np.asarray(curve.x, np.float64), np.asarray(curve.y, np.float64))
        pixels = pixels[np.isfinite(pixels).all(axis=1)]
        far = 1e5  # what is farther away would overflow the painter
        shown = np.clip(pixels, -far, far)
        if curve.style == "points":
            self._paint_points(painter, pixels, np.asarray(curve.values), ink)
            return
        foot = float(np.clip(axes.pixels(np.zeros(1), np.zeros(1))[0, 1], -far, far))
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

    def save(self, path: Path) -> None:
        """Draw it as it is seen into a file, .svg or .png.

        Raises
        ------
        FileError
            When it is another kind of file, or cannot be written.
        """
        size, suffix = self.size(), path.suffix.lower()
        if suffix == ".svg":
            from PyQt5.QtSvg import QSvgGenerator

            device = QSvgGenerator()
            device.setFileName(str(path))
            device.setSize(size)
            device.setViewBox(self.rect())
        elif suffix == ".png":
            device = QtGui.QImage(size * _SCALE, QtGui.QImage.Format_RGB32)
        else:
            raise FileError(f"{path.name}: expected a plot to end in .svg or .png")
        painter = QtGui.QPainter()
        if not painter.begin(device):
            raise FileError(f"{path}: cannot be written")
        if suffix == ".png":
            painter.scale(_SCALE, _SCALE)
        painter.fillRect(self.rect(), self.palette().base())
        self._paint(painter)
        painter.end()
        if suffix == ".png" and not device.save(str(path)):
            raise FileError(f"{path}: cannot be written")

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
        near = None if self._moved else self.nearest(event.pos())
        if near is not None and self._field(near):
            self._marked = near
            self.update()
            self.picked.emit(self._field(near))

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
