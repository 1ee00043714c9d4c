"""A live molecule in the window: what makes one, what there is to say of it, and what moves its atoms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Any

import numpy as np
from pymol.Qt import QtCore, QtGui, QtWidgets

from ...integrals.method_names import semiempirical
from ...model.units import kilocalorie_per_mole
from ...session.live.live import LiveStatus
from ...session.live.scan import ScanStatus
from ...session.window.view import Playback
from .frame_bar import FrameSlider
from .widgets import faded, mark_colour, narrow_box, row, row_widget, shortened_label, stage_colour

Qt = QtCore.Qt

METHODS = ("pbe", "gfn2", "blyp", "b3lyp", "b3lyp-d3bj", "pbe0", "hf")
BASES = ("sto-3g", "3-21g", "6-31g*", "def2-svp")
SOLVENTS = ("vacuum", "water", "acetonitrile", "methanol", "dmso", "thf", "toluene")
_TEMPERATURES = ("0 K", "300 K", "1000 K", "3000 K", "10000 K")
_SIGNS = {"starting": "◌", "converging": "◌", "converged": "●", "failed": "✕"}
_UNITS = {"degrees": "°", "Angstrom": "Å"}
AS_IN_FILE = "as in file"
"""Text that stands for the method, the basis set, the solvent and the smearing of the file of a molecule."""

_PATIENCE = 6000
"""Time in milliseconds for which the bar says why something cannot be done with the live molecule."""

_HARDNESS = 100
"""Steps of the slider that says how strongly forces move the atoms."""

_LEFT, _TOP, _BOTTOM, _RIGHT = 58, 8, 5, 8
"""Margins of the plot in pixels."""
_LEAST = 1.0 * kilocalorie_per_mole
"""Smallest range of energies that is shown, in hartree."""
_SPAN = 60.0
"""Time in seconds that is shown: high energies of long ago would make all else flat."""
_NEAR = 12
"""Distance in pixels up to which a point is the one that is pointed at."""


class LiveBar(QtWidgets.QWidget):  # type: ignore[misc]  # Qt has no types here
    """What makes a molecule live, and what is done with it then.

    Parameters
    ----------
    level
        What was kept of an earlier run: method, basis, solvent and smearing, by these words; anything else is passed
        over.

    Attributes
    ----------
    begun : signal of str, str, str, int or None, int or None, str, str
        A molecule is to be live: its name, empty for the one that is listed; basis set, method, charge, unpaired
        electrons, solvent, smearing, empty or None for those of its file.
    ended : signal
        It is to be so no longer.
    relaxed : signal of float or None
        Forces are to move the atoms this hard, from 0 to 1, or no longer.
    scanned : signal of int
        The atoms are to be at this geometry of the scan, from 0.
    """

    begun = QtCore.Signal(str, str, str, object, object, str, str)
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
        self.button = QtWidgets.QToolButton(
            text="Live",
            checkable=True,
            popupMode=QtWidgets.QToolButton.MenuButtonPopup,
            toolTip="Recompute the orbitals while you move the atoms; the arrow lists all molecules",
        )
        self.button.setMenu(self.menu)
        self.button.clicked.connect(lambda on: self._begin("") if on else self.ended.emit())
        self.text = shortened_label()
        self.text.setTextFormat(Qt.RichText)
        self.text.setWordWrap(True)
        self.text.setAlignment(Qt.AlignLeft | Qt.AlignTop)
        self.text.setFixedHeight(2 * self.fontMetrics().height() + 2)
        self.settings = self._make_settings(level if isinstance(level, dict) else {})
        self.moving = self._make_moving()
        self.scanning = self._make_scanning()
        self.plot = EnergyPlot()
        self.controls = QtWidgets.QStackedWidget()  # as wide as either: the window does not grow when they change
        self.controls.setSizePolicy(QtWidgets.QSizePolicy.Preferred, QtWidgets.QSizePolicy.Fixed)
        for widget in (self.settings, self.moving):
            self.controls.addWidget(widget)
        rows = QtWidgets.QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(4)
        rows.addLayout(row(self.button, self.controls, stretch=1))
        rows.addWidget(self.scanning)
        rows.addWidget(self.text)
        rows.addWidget(self.plot)
        self._fit()

    def _make_settings(self, level: dict[str, Any]) -> Any:
        self.method_box = _words(METHODS, level.get("method"), "Functional, hf, or gfn2 (semi-empirical)")
        self.basis_box = _words(BASES, level.get("basis"), "Basis set")
        self.method_box.currentTextChanged.connect(lambda name: self.basis_box.setDisabled(bool(semiempirical(name))))
        self.solvent_box = _words(SOLVENTS, level.get("solvent"), "Solvent, or its dielectric constant")
        self.smearing_box = _words(
            _TEMPERATURES, level.get("smearing"), "Electronic temperature, at which orbitals are occupied in part"
        )
        self.charge_box = QtWidgets.QSpinBox(minimum=-20, maximum=20, toolTip="Charge of the molecule")
        self.unpaired_box = QtWidgets.QSpinBox(maximum=20, toolTip="Number of unpaired electrons")
        for box in (self.charge_box, self.unpaired_box):
            box.valueChanged.connect(self._set_electrons)
        self._word_boxes = self.basis_box, self.method_box, self.solvent_box, self.smearing_box
        self._words = [box.currentText() for box in self._word_boxes]
        settings = QtWidgets.QWidget()
        grid = QtWidgets.QGridLayout(settings)
        grid.setContentsMargins(0, 0, 0, 0)
        for at, boxes in enumerate(
            (
                (self.method_box, self.basis_box, QtWidgets.QLabel("charge"), self.charge_box),
                (self.solvent_box, self.smearing_box, QtWidgets.QLabel("unpaired"), self.unpaired_box),
            )
        ):
            for column, box in enumerate(boxes):
                grid.addWidget(box, at, column)
        grid.setColumnStretch(0, 1)
        grid.setColumnStretch(1, 1)
        return settings

    def _make_moving(self) -> Any:
        self.relax_box = QtWidgets.QCheckBox("Relax", toolTip="Forces move the atoms; those that you drag stay held")
        self.relax_box.clicked.connect(lambda: self._relax())
        self.hardness_slider = QtWidgets.QSlider(
            Qt.Horizontal, maximum=_HARDNESS, minimumWidth=50, toolTip="How strongly the forces move the atoms"
        )
        self.hardness_slider.valueChanged.connect(lambda: self._relax())
        self.undo_button = QtWidgets.QPushButton("Undo", toolTip="Put the atoms back where they rested before")
        self.path_button = QtWidgets.QPushButton(
            "Save path…", toolTip="Write the geometries and their orbitals as a trajectory"
        )
        self.scan_button = QtWidgets.QPushButton(
            "Scan",
            checkable=True,
            toolTip="Compute a scan of a distance, an angle or a dihedral; first pick two, three or four atoms in "
            "editing mode",
        )
        buttons = (self.undo_button, self.path_button, self.scan_button)
        return row_widget(self.relax_box, self.hardness_slider, *buttons, stretch=1)

    def _make_scanning(self) -> Any:
        self.scan_text = QtWidgets.QLabel()
        self.scan_slider = FrameSlider()
        self.scan_slider.setToolTip("Value of the scan. Strip: blue where it is computed, red where that failed")
        self.scan_slider.valueChanged.connect(self.scanned)
        return row_widget(self.scan_text, self.scan_slider, stretch=1)

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
            with QtCore.QSignalBlocker(box):
                box.setValue(value)
        self._has_set_electrons = False
        words = [box.currentText() for box in self._word_boxes]
        if AS_IN_FILE not in words:
            self._words = words
        for box, word in zip(self._word_boxes, self._words, strict=True):
            box.setCurrentText(AS_IN_FILE if electrons else word)
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
            self.relax_box.setChecked(status.relaxes)
            if not self.hardness_slider.isSliderDown():
                with QtCore.QSignalBlocker(self.hardness_slider):
                    self.hardness_slider.setValue(round(_HARDNESS * status.hardness))
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
        policy = QtWidgets.QSizePolicy
        self.settings.setSizePolicy(policy.Preferred, policy.Ignored if is_live else policy.Preferred)  # two rows
        self.controls.setCurrentWidget(self.moving if is_live else self.settings)
        self.controls.updateGeometry()
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
        words = (box.currentText().strip() if box.isEnabled() else "" for box in self._word_boxes)
        basis, method, solvent, smearing = ("" if word == AS_IN_FILE else word for word in words)
        electrons = (self.charge_box.value(), self.unpaired_box.value()) if self._has_set_electrons else (None, None)
        self.begun.emit(name, basis, method, *electrons, solvent, smearing)

    def _relax(self) -> None:
        hardness = self.hardness_slider.value() / _HARDNESS
        self.relaxed.emit(hardness if self.relax_box.isChecked() else None)


def _words(words: Sequence[str], first: Any, tip: str) -> Any:
    """A box of words, which takes others too."""
    box = narrow_box(tip)
    box.setEditable(True)
    box.setMinimumContentsLength(6)
    box.addItems(words)
    box.setCurrentText(first if isinstance(first, str) and first else words[0])
    return box


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
            QtWidgets.QToolTip.showText(event.globalPos(), self._describe(self._nearest(event.pos())), self)
            return True
        return super().event(event)

    def _nearest(self, point: Any) -> int | None:
        if not len(self._energies):
            return None
        distances = np.abs(self._points()[:, 0] - point.x())
        nearest = int(distances.argmin())
        return nearest if distances[nearest] < _NEAR else None

    def _describe(self, at: int | None) -> str:
        if at is None:
            return "Energy of the live molecule in the last minute, above the lowest"
        seconds, energy = self._energies[at]
        above = (energy - self._energies[:, 1].min()) / kilocalorie_per_mole
        return f"{above:.2f} kcal/mol above the lowest, {energy:.7f} hartree, after {seconds:.1f} s"
