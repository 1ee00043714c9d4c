"""Frames of a trajectory: the buttons that play it, and a slider that tells which of them have their surface."""

from __future__ import annotations

from typing import Any

from pymol.Qt import QtCore, QtGui, QtWidgets

from ...session.window.view import Playback
from .widgets import row

Qt = QtCore.Qt

_DRAWN, _DOUBTFUL, _REFUSED = "#2166ac", "#e08214", "#b2182b"
_STRIP = 4
"""Height in pixels of the strip below the slider."""


class FrameSlider(QtWidgets.QSlider):  # type: ignore[misc]  # Qt has no types here
    """A slider of frames with a strip of colours below. A click goes to where it is."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(Qt.Horizontal, parent)
        self._playback: Playback | None = None
        self.setToolTip(
            "Frame of the trajectory. Strip: blue where the surface is computed, orange where following the orbital "
            "is doubtful, red where there is no surface"
        )

    def show_playback(self, playback: Playback) -> None:
        """Stand where the trajectory is, unless held."""
        self._playback = playback
        with QtCore.QSignalBlocker(self):
            self.setRange(0, playback.n_frames - 1)
            if not self.isSliderDown():
                self.setValue(playback.frame)
        self.update()

    def sizeHint(self) -> Any:
        size = super().sizeHint()
        return QtCore.QSize(size.width(), size.height() + 2 * _STRIP)

    def paintEvent(self, event: Any) -> None:
        super().paintEvent(event)
        if self._playback is None:
            return
        painter = QtGui.QPainter(self)
        left, top, n_frames = self._handle() / 2, self.height() - _STRIP, self._playback.n_frames
        width = (self.width() - 2 * left) / n_frames
        painter.fillRect(QtCore.QRectF(left, top, width * n_frames, _STRIP), self.palette().midlight())
        for frames, colour in (
            (self._playback.drawn - self._playback.doubtful, _DRAWN),
            (self._playback.doubtful, _DOUBTFUL),
            (self._playback.refused, _REFUSED),
        ):
            for frame in frames:
                place = QtCore.QRectF(left + frame * width, top, max(width, 1), _STRIP)
                painter.fillRect(place, QtGui.QColor(colour))
        painter.end()

    def mousePressEvent(self, event: Any) -> None:
        if event.button() == Qt.LeftButton:
            handle = self._handle()
            at, room = event.pos().x() - handle // 2, self.width() - handle
            self.setValue(QtWidgets.QStyle.sliderValueFromPosition(self.minimum(), self.maximum(), at, room))
        super().mousePressEvent(event)

    def _handle(self) -> int:
        """Pixels that the handle takes along the slider."""
        option = QtWidgets.QStyleOptionSlider()
        self.initStyleOption(option)
        return self.style().pixelMetric(QtWidgets.QStyle.PM_SliderLength, option, self)


class FrameBar(QtWidgets.QWidget):  # type: ignore[misc]  # Qt has no types here
    """What plays a trajectory, and where that is.

    Parameters
    ----------
    rate
        Frames a second, at first.
    """

    played = QtCore.Signal(bool)
    stepped = QtCore.Signal(int)
    moved = QtCore.Signal(int)
    rated = QtCore.Signal(int)

    def __init__(self, rate: int, parent: Any = None) -> None:
        super().__init__(parent)
        self._playing = False
        style = QtWidgets.QStyle
        self._play, self._pause = (
            self.style().standardIcon(icon) for icon in (style.SP_MediaPlay, style.SP_MediaPause)
        )
        self.play_button = _button(self._play, "Play, waiting for surfaces, or stop")
        self.play_button.clicked.connect(lambda: self.played.emit(not self._playing))
        self.back_button = _button(self.style().standardIcon(style.SP_MediaSeekBackward), "Previous frame")
        self.back_button.clicked.connect(lambda: self.stepped.emit(-1))
        self.forward_button = _button(self.style().standardIcon(style.SP_MediaSeekForward), "Next frame")
        self.forward_button.clicked.connect(lambda: self.stepped.emit(1))
        self.slider = FrameSlider()
        self.slider.valueChanged.connect(self.moved)
        self.rate_box = QtWidgets.QSpinBox(
            minimum=1, maximum=1000, suffix=" / s", keyboardTracking=False, toolTip="Maximum number of frames a second"
        )
        self.show_rate(rate)
        self.rate_box.valueChanged.connect(self.rated)
        self.text = QtWidgets.QLabel()
        self.state = QtWidgets.QLabel()
        self.state.setStyleSheet("color: #666")
        self.state.setSizePolicy(QtWidgets.QSizePolicy.Ignored, QtWidgets.QSizePolicy.Preferred)  # it may be long
        rows = QtWidgets.QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(2)
        buttons = (self.back_button, self.play_button, self.forward_button)
        rows.addLayout(row(*buttons, self.slider, self.rate_box, spacing=3))
        rows.addLayout(row(self.text, self.state, spacing=12, stretch=1))

    def show_playback(self, playback: Playback) -> None:
        """Show where the trajectory is."""
        self._playing = playback.playing
        self.play_button.setIcon(self._pause if playback.playing else self._play)
        self.slider.show_playback(playback)
        self.text.setText(f"frame {playback.frame + 1} of {playback.n_frames}")
        self.state.setToolTip(playback.state)
        self._fit()

    def resizeEvent(self, event: Any) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """As much of the state as there is room for."""
        self.layout().activate()
        room = self.state.width()
        self.state.setText(self.state.fontMetrics().elidedText(self.state.toolTip(), Qt.ElideRight, room))

    def show_rate(self, rate: int) -> None:
        """Show another rate."""
        with QtCore.QSignalBlocker(self.rate_box):
            self.rate_box.setValue(rate)


def _button(icon: Any, tip: str) -> Any:
    return QtWidgets.QToolButton(icon=icon, toolTip=tip, autoRaise=True)
