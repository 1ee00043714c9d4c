"""What moves a molecule along the mode that is chosen: motion, arrows, and how far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pymol.Qt import QtCore, QtWidgets

from ...pictures.words import unit_in_print
from ...session.window.vibrating import Vibrating
from .widgets import row

_LEAST, _MOST, _STEP = 0.05, 1.5, 0.01
"""Amplitudes in Angstrom of the slider, and its step."""
_HINT = "Click on a peak or a row: the molecule moves. The arrow keys walk through the modes."


class MotionBar(QtWidgets.QWidget):  # type: ignore[misc]  # Qt has no types here
    """The bar.

    Parameters
    ----------
    vibrating : Vibrating
        Does what the user wants.
    save_film
        Asks where a film goes.
    """

    def __init__(self, vibrating: Vibrating, save_film: Callable[[], None], parent: Any = None) -> None:
        super().__init__(parent)
        self._vibrating = vibrating
        look = vibrating.look
        self.text = QtWidgets.QLabel(_HINT, wordWrap=True)
        self.motion_box = QtWidgets.QCheckBox(
            "Motion", toolTip="Move the atoms along the mode; surfaces are hidden meanwhile"
        )
        self.motion_box.clicked.connect(lambda on: vibrating.change(moves=on))
        self.arrows_box = QtWidgets.QCheckBox("Arrows", toolTip="Show by arrows where atoms move to")
        self.arrows_box.clicked.connect(lambda on: vibrating.change(arrows=on))
        self.slider = QtWidgets.QSlider(
            QtCore.Qt.Horizontal,
            minimum=round(_LEAST / _STEP),
            maximum=round(_MOST / _STEP),
            value=round(look.amplitude / _STEP),
            minimumWidth=70,
        )
        self.slider.valueChanged.connect(self._slide)
        self.stop_button = QtWidgets.QPushButton("Stop", clicked=vibrating.stop)
        self.amplitude = QtWidgets.QLabel()
        for widget in (self.slider, self.amplitude):
            widget.setToolTip("Largest displacement of an atom in Å")
        outer = QtWidgets.QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.text)
        label = QtWidgets.QLabel("Amplitude")
        self.film_button = QtWidgets.QPushButton("Film…", clicked=save_film, toolTip="Save a film of the motion")
        self.electrons_button = QtWidgets.QPushButton(
            "Electrons", clicked=vibrating.compute_electrons, toolTip="Compute the orbitals along this mode"
        )
        buttons = (self.motion_box, self.arrows_box, label, self.slider, self.amplitude)
        outer.addLayout(row(*buttons, self.electrons_button, self.film_button, self.stop_button, stretch=3))
        self.follow()

    def _slide(self, at: int) -> None:
        self._vibrating.change(amplitude=at * _STEP)
        self.follow()

    def follow(self) -> None:
        """Show what is shown."""
        look, text = self._vibrating.look, self._vibrating.text
        self.text.setText(unit_in_print(text) or _HINT)
        self.motion_box.setChecked(look.moves)
        self.arrows_box.setChecked(look.arrows)
        self.amplitude.setText(f"{look.amplitude:.2f} Å")
        self.stop_button.setEnabled(bool(text))
        self.electrons_button.setEnabled(bool(text))
        self.film_button.setEnabled(bool(text) and look.moves)
