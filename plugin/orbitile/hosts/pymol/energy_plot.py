"""The energy of a live molecule against time, as a small plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pymol.Qt import QtCore, QtGui, QtWidgets

from ...model.units import kilocalorie_per_mole
from .tints import faded, mark_colour

Qt = QtCore.Qt

_LEFT, _TOP, _BOTTOM, _RIGHT = 58, 8, 5, 8
"""Pixels about what is plotted."""
_LEAST = 1.0 * kilocalorie_per_mole
"""Range of energies that is shown at least, in hartree."""
_SPAN = 60.0
"""Seconds that are seen: what was long ago and high up would make all else flat."""
_NEAR = 12
"""Pixels within which a point is the one that is pointed at."""


class EnergyPlot(QtWidgets.QWidget):  # type: ignore[misc]  # Qt has no types here
    """Energies of the last minute, in kcal/mol above the lowest; one that is pointed at is told."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self._energies = np.empty((0, 2))
        self._pointed: int | None = None
        self.setFixedHeight(4 * self.fontMetrics().height())
        self.setMouseTracking(True)
        self.setAttribute(Qt.WA_OpaquePaintEvent)  # nothing is seen of it that it does not paint: it does not flicker

    def show_energies(self, energies: Sequence[tuple[float, float]]) -> None:
        """Plot others: seconds, and energies in hartree."""
        listed = np.array(energies, np.float64).reshape(-1, 2)
        self._energies = listed[listed[:, 0] >= listed[-1, 0] - _SPAN] if len(listed) else listed
        self._pointed = None
        self.update()

    # ---- energies and pixels

    def _points(self) -> Any:
        """Where the energies are, shape (n, 2), in pixels."""
        times, energies = self._energies.T
        span = max(float(times[-1] - times[0]), 1.0)
        height = self.height() - _TOP - _BOTTOM
        x = _LEFT + (self.width() - _LEFT - _RIGHT) * (times - times[0]) / span
        y = _TOP + height * (1 - (energies - energies.min()) / self._range())
        return np.stack([x, y], axis=1)

    def _range(self) -> float:
        return max(float(np.ptp(self._energies[:, 1])), _LEAST)

    # ---- how it looks

    def paintEvent(self, event: Any) -> None:
        painter = QtGui.QPainter(self)
        painter.fillRect(self.rect(), self.palette().base())
        painter.setRenderHint(QtGui.QPainter.Antialiasing)
        small = painter.font()
        small.setPointSizeF(max(7.0, small.pointSizeF() * 0.85))
        painter.setFont(small)
        if len(self._energies):
            self._paint_axis(painter)
            self._paint_line(painter)
        painter.end()

    def _paint_axis(self, painter: Any) -> None:
        bottom, right = self.height() - _BOTTOM, self.width() - _RIGHT
        painter.setPen(faded(self.palette()))
        painter.drawLine(_LEFT - 4, _TOP, _LEFT - 4, bottom)
        painter.setPen(QtGui.QPen(faded(self.palette()), 1, Qt.DotLine))
        painter.drawLine(_LEFT - 4, bottom, right, bottom)
        painter.setPen(faded(self.palette()))
        line = painter.fontMetrics().height()
        top = self._range() / kilocalorie_per_mole
        for y, text in ((_TOP - 3, f"{top:.3g}"), ((self.height() - line) // 2, "kcal/mol"), (bottom - line + 3, "0")):
            painter.drawText(QtCore.QRect(0, int(y), _LEFT - 8, line), int(Qt.AlignRight | Qt.TextDontClip), text)

    def _paint_line(self, painter: Any) -> None:
        points = self._points()
        line = QtGui.QPolygonF([QtCore.QPointF(x, y) for x, y in points.tolist()])
        painter.setPen(QtGui.QPen(mark_colour("HOMO", self.palette()), 1.4))
        painter.drawPolyline(line)
        for at, colour in ((len(points) - 1, "HOMO"), (self._pointed, "LUMO")):
            if at is not None:
                painter.setPen(Qt.NoPen)
                painter.setBrush(mark_colour(colour, self.palette()))
                painter.drawEllipse(line[at], 3, 3)

    # ---- what the user does

    def mouseMoveEvent(self, event: Any) -> None:
        pointed = self._nearest(event.pos())
        if pointed != self._pointed:
            self._pointed = pointed
            self.update()

    def leaveEvent(self, event: Any) -> None:
        self._pointed = None
        self.update()

    def event(self, event: Any) -> bool:
        if event.type() == QtCore.QEvent.ToolTip:
            QtWidgets.QToolTip.showText(event.globalPos(), self._told_of(self._nearest(event.pos())), self)
            return True
        return super().event(event)

    def _nearest(self, point: Any) -> int | None:
        if not len(self._energies):
            return None
        distances = np.abs(self._points()[:, 0] - point.x())
        nearest = int(distances.argmin())
        return nearest if distances[nearest] < _NEAR else None

    def _told_of(self, at: int | None) -> str:
        if at is None:
            return "Energy of the live molecule in the last minute, above the lowest"
        seconds, energy = self._energies[at]
        above = (energy - self._energies[:, 1].min()) / kilocalorie_per_mole
        return f"{above:.2f} kcal/mol above the lowest, {energy:.7f} hartree, after {seconds:.1f} s"
