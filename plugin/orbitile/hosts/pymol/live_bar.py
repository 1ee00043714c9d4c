"""A live molecule in the window: what makes one, what there is to say of it, and what moves its atoms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Any

from pymol.Qt import QtCore, QtWidgets

from ...session.live.live import LiveStatus
from ...session.live.scan import ScanStatus
from ...session.window.view import Playback
from .energy_plot import EnergyPlot
from .frame_bar import FrameSlider
from .tints import stage_colour
from .widgets import row

Qt = QtCore.Qt

_METHODS = ("pbe", "blyp", "b3lyp", "pbe0", "hf")
_BASES = ("sto-3g", "3-21g", "6-31g*", "def2-svp")
_SIGNS = {"starting": "◌", "converging": "◌", "converged": "●", "failed": "✕"}
_UNITS = {"degrees": "°", "Angstrom": "Å"}
_AS_IN_FILE = "as in file"
"""What stands for the method and the basis set of the file that a molecule came from."""

_PATIENCE = 6000
"""Milliseconds for which it is said why something cannot be done with the live molecule."""

_HARDNESS = 100
"""Steps of the slider that says how hard."""


class LiveBar(QtWidgets.QWidget):  # type: ignore[misc]  # Qt has no types here
    """What makes a molecule live, and what is done with it then.

    Parameters
    ----------
    level
        What was kept of an earlier run: method and basis set, by these words; anything else is passed over.

    Attributes
    ----------
    begun : signal of str, str, str, int or None, int or None
        A molecule is to be live: its name, empty for the one that is listed; basis set, method, charge, unpaired
        electrons, empty or None for those of its file.
    ended : signal
        It is to be so no longer.
    relaxed : signal of float or None
        Forces are to move the atoms this hard, from 0 to 1, or no longer.
    scanned : signal of int
        The atoms are to be at this geometry of the scan, from 0.
    """

    begun = QtCore.Signal(str, str, str, object, object)
    ended = QtCore.Signal()
    relaxed = QtCore.Signal(object)
    scanned = QtCore.Signal(int)

    def __init__(self, level: Any, parent: Any = None) -> None:
        super().__init__(parent)
        self._status: LiveStatus | None = None
        self._has_set_electrons = False
        self._patience = QtCore.QTimer(self, singleShot=True, interval=_PATIENCE)
        self._patience.timeout.connect(lambda: self.show_status(self._status))
        self.menu = QtWidgets.QMenu(self)
        self.button = QtWidgets.QToolButton()
        self.button.setText("Live")
        self.button.setCheckable(True)
        self.button.setPopupMode(QtWidgets.QToolButton.MenuButtonPopup)
        self.button.setMenu(self.menu)
        self.button.setToolTip(
            "Have the electrons follow the atoms when these are moved; the arrow lists all molecules"
        )
        self.button.clicked.connect(lambda on: self._begin("") if on else self.ended.emit())
        self.text = QtWidgets.QLabel()
        self.text.setTextFormat(Qt.RichText)
        self.text.setWordWrap(True)
        self.text.setAlignment(Qt.AlignLeft | Qt.AlignTop)
        self.text.setSizePolicy(QtWidgets.QSizePolicy.Ignored, QtWidgets.QSizePolicy.Fixed)
        self.text.setFixedHeight(2 * self.fontMetrics().height() + 2)
        self.settings = self._made_settings(level if isinstance(level, dict) else {})
        self.moving = self._made_moving()
        self.scanning = self._made_scanning()
        self.plot = EnergyPlot()
        self.controls = QtWidgets.QStackedWidget()  # as wide as either: the window does not grow when they change
        self.controls.setSizePolicy(QtWidgets.QSizePolicy.Preferred, QtWidgets.QSizePolicy.Fixed)
        for widget in (self.settings, self.moving):
            self.controls.addWidget(widget)
        first = row(self.button, self.controls)
        first.setStretch(1, 1)
        rows = QtWidgets.QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(4)
        rows.addLayout(first)
        rows.addWidget(self.scanning)
        rows.addWidget(self.text)
        rows.addWidget(self.plot)
        self._fit()

    def _made_settings(self, level: dict[str, Any]) -> Any:
        self.method_box = _words(_METHODS, level.get("method"), "Functional, or hf")
        self.basis_box = _words(_BASES, level.get("basis"), "Basis set")
        self.charge_box = QtWidgets.QSpinBox()
        self.charge_box.setRange(-20, 20)
        self.charge_box.setToolTip("Charge of the molecule")
        self.unpaired_box = QtWidgets.QSpinBox()
        self.unpaired_box.setRange(0, 20)
        self.unpaired_box.setToolTip("Unpaired electrons")
        for box in (self.charge_box, self.unpaired_box):
            box.valueChanged.connect(self._set_electrons)
        self._words = self.method_box.currentText(), self.basis_box.currentText()
        settings = QtWidgets.QWidget()
        charge, unpaired = QtWidgets.QLabel("charge"), QtWidgets.QLabel("unpaired")
        boxes = row(self.method_box, self.basis_box, charge, self.charge_box, unpaired, self.unpaired_box)
        boxes.setContentsMargins(0, 0, 0, 0)
        boxes.setStretch(0, 1)
        boxes.setStretch(1, 1)
        settings.setLayout(boxes)
        return settings

    def _made_moving(self) -> Any:
        self.relax_box = QtWidgets.QCheckBox("Relax")
        self.relax_box.setToolTip("Forces pull the atoms along; those that you drag are held")
        self.relax_box.clicked.connect(lambda: self._relax())
        self.hardness_slider = QtWidgets.QSlider(Qt.Horizontal)
        self.hardness_slider.setRange(0, _HARDNESS)
        self.hardness_slider.setMinimumWidth(50)
        self.hardness_slider.setToolTip("How hard")
        self.hardness_slider.valueChanged.connect(lambda: self._relax())
        self.undo_button = QtWidgets.QPushButton("Undo")
        self.undo_button.setToolTip("Back to where the atoms rested before")
        self.path_button = QtWidgets.QPushButton("Save path…")
        self.path_button.setToolTip("Write the geometries and their orbitals as a trajectory")
        self.scan_button = QtWidgets.QPushButton("Scan")
        self.scan_button.setCheckable(True)
        self.scan_button.setToolTip(
            "Have a distance, an angle or a dihedral computed ahead: click on two, three or four atoms before, in "
            "editing mode"
        )
        moving = QtWidgets.QWidget()
        boxes = row(self.relax_box, self.hardness_slider, self.undo_button, self.path_button, self.scan_button)
        boxes.setContentsMargins(0, 0, 0, 0)
        boxes.setStretch(1, 1)
        moving.setLayout(boxes)
        return moving

    def _made_scanning(self) -> Any:
        self.scan_text = QtWidgets.QLabel()
        self.scan_slider = FrameSlider()
        self.scan_slider.setToolTip("Value of the scan. Strip: blue where it has been computed, red where that failed")
        self.scan_slider.valueChanged.connect(self.scanned)
        scanning = QtWidgets.QWidget()
        boxes = row(self.scan_text, self.scan_slider)
        boxes.setContentsMargins(0, 0, 0, 0)
        boxes.setStretch(1, 1)
        scanning.setLayout(boxes)
        return scanning

    # ---- what it is told

    def offer(self, molecules: Sequence[str]) -> None:
        """List molecules that can be made live."""
        self.menu.clear()
        for name in molecules:
            action = self.menu.addAction(name, partial(self._begin, name))
            action.setCheckable(True)
            action.setChecked(self._status is not None and self._status.molecule == name)
        if not molecules:
            self.menu.addAction("PyMOL has no molecule").setEnabled(False)

    def show_electrons(self, electrons: tuple[int, int] | None) -> None:
        """Stand at the charge and the unpaired electrons of another molecule that is listed; None for one without."""
        charge, unpaired = electrons or (0, 0)
        for box, value in ((self.charge_box, charge), (self.unpaired_box, unpaired)):
            box.blockSignals(True)
            box.setValue(value)
            box.blockSignals(False)
        self._has_set_electrons = False
        words = self.method_box.currentText(), self.basis_box.currentText()
        if _AS_IN_FILE not in words:
            self._words = words
        for box, word in zip((self.method_box, self.basis_box), self._words, strict=True):
            box.setCurrentText(_AS_IN_FILE if electrons else word)
        if self._status is None:
            self._show("", "")
            self._fit()

    def _set_electrons(self) -> None:
        self._has_set_electrons = True

    def refuse(self, reason: str) -> None:
        """Say why nothing is live, or for a while why what was wanted of the live molecule cannot be."""
        self._show("", reason)
        self.button.setChecked(self._status is not None)
        self._fit()
        if self._status is not None:
            self._patience.start()

    def show_status(self, status: LiveStatus | None) -> None:
        """Show what there is to say of the live molecule; None where none is."""
        before, self._status = self._status, status
        self.button.setChecked(status is not None)
        if status is None:
            self._show("", "")
        else:
            self._show(status.stage, status.text)
            self.text.setToolTip(f"{status.molecule}, {status.calculation}\n{status.text}")
            if before is None or before.energies != status.energies:
                self.plot.show_energies(status.energies)
            for widget in (self.relax_box, self.hardness_slider):
                widget.blockSignals(True)
            self.relax_box.setChecked(status.relaxes)
            if not self.hardness_slider.isSliderDown():
                self.hardness_slider.setValue(round(_HARDNESS * status.hardness))
            for widget in (self.relax_box, self.hardness_slider):
                widget.blockSignals(False)
            self.undo_button.setEnabled(status.can_undo)
            self.path_button.setEnabled(bool(status.energies))
            if status.scan is not None:
                self._show_scan(status.scan)
        self._fit()

    def _show_scan(self, scan: ScanStatus) -> None:
        known = frozenset(at for at, one in enumerate(scan.known) if one)
        refused = frozenset(at for at, problem in enumerate(scan.problems) if problem)
        playback = Playback(scan.index, len(scan.values), False, known, frozenset(), refused, "")
        self.scan_slider.show_playback(playback)
        self.scan_text.setText(f"{scan.name}: {scan.values[scan.index]:.4g} {_UNITS.get(scan.unit, scan.unit)}")

    def _show(self, stage: str, text: str) -> None:
        colour = stage_colour(stage, self.palette()).name()
        sign = f'<b style="color: {colour}">{_SIGNS[stage]} {stage}</b> ' if stage else ""
        self.text.setText(f"{sign}{escape(text)}" if text else "")
        self.text.setToolTip(text)

    def _fit(self) -> None:
        """Show what there is room and use for."""
        is_live = self._status is not None
        self.controls.setCurrentWidget(self.moving if is_live else self.settings)
        self.text.setVisible(bool(self.text.text()))
        self.plot.setVisible(is_live)
        scans = self._status is not None and self._status.scan is not None
        self.scanning.setVisible(scans)
        self.scan_button.setChecked(scans)

    # ---- what the user does

    def _begin(self, name: str) -> None:
        if self._status is not None and name == self._status.molecule:
            self.ended.emit()
            return
        self._show("", "")
        words = (box.currentText().strip() for box in (self.basis_box, self.method_box))
        basis, method = ("" if word == _AS_IN_FILE else word for word in words)
        electrons = (self.charge_box.value(), self.unpaired_box.value()) if self._has_set_electrons else (None, None)
        self.begun.emit(name, basis, method, *electrons)

    def _relax(self) -> None:
        hardness = self.hardness_slider.value() / _HARDNESS
        self.relaxed.emit(hardness if self.relax_box.isChecked() else None)


def _words(words: Sequence[str], first: Any, tip: str) -> Any:
    """A box of words, which takes others too."""
    box = QtWidgets.QComboBox()
    box.setEditable(True)
    box.addItems(words)
    box.setCurrentText(first if isinstance(first, str) and first else words[0])
    box.setToolTip(tip)
    box.setMinimumContentsLength(6)
    box.setSizePolicy(QtWidgets.QSizePolicy.Ignored, QtWidgets.QSizePolicy.Fixed)
    return box
