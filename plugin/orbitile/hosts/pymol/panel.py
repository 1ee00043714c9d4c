"""The window Plugin > Orbitile. It computes in the worker process and never waits for it.

A timer in the thread of the window looks at what is under way: one future for the orbital that was asked for last, one
for a neighbour computed ahead, one for a surface that is extracted anew.
"""

from __future__ import annotations

import math
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from pymol.Qt import QtCore, QtWidgets

from ...errors import Cancelled, OrbitileError
from ...fields import field_names, resolve
from ...readers import load
from ...session.request import Request, Sample
from ...session.shown import NEGATIVE, POSITIVE, Shown
from ...surface import isosurface
from ...wavefunction import Wavefunction
from . import adapter, commands
from .widgets import ColourButton, Level, LevelDiagram, OrbitalFilter, OrbitalModel, levels_of

Qt = QtCore.Qt

_LOOK = 10
"""Milliseconds between two looks at what is under way."""
_QUIET = 250
"""Milliseconds after which neighbours are computed ahead, or a surface dragged by the slider is made exact."""
_DRAFT_FACES = 15_000
"""Triangles, about, of the surface that is drawn while the slider moves."""
_AHEAD_POINTS = 8_000_000
"""Samples larger than this are not computed ahead: they would push the others out of the cache."""
_AT_ONCE = 30_000
"""Triangles that are made into drawing instructions without a thread."""
_MOST_FACES = 90_000
"""Triangles that PyMOL can be given without its window standing still; map and export keep all of them."""
_MAP_LATER = 100
"""Milliseconds after the surface in which a larger map follows."""
_MAP_AT_ONCE = 500_000
"""Points of a map that is put together with its surface."""
_LOW, _HIGH = 1e-4, 0.5
_STEPS = 1000
_RECENT = 10
_TWO_COLOURS = "two colours"
_PREFERENCES = "orbitile"


def main_window() -> Any:
    """PyMOL's own window, or None."""
    try:
        from pymol import gui

        return gui.get_qtwindow()
    except Exception:  # there is no window, or the Qt it was made with is gone
        return None


@dataclass
class _Wanted:
    """What was asked for last, and which surface it replaces."""

    request: Request
    molecule: str
    base: str
    future: Future[Sample]


@dataclass
class _Drawn:
    """A surface whose drawing instructions are made in a thread, and which surface it replaces."""

    shown: Shown
    found: Sample
    base: str
    name: str
    future: Future[list[float]]


class Panel(QtWidgets.QDockWidget):  # type: ignore[misc]  # Qt has no types here
    """The window.

    Parameters
    ----------
    cmd
        Of the PyMOL that it controls.
    window
        Main window that it belongs to.
    """

    def __init__(self, cmd: Any, window: Any) -> None:
        super().__init__("Orbitile", window)
        self.setObjectName("orbitile")
        self.cmd = cmd
        self.state = commands.state_of(cmd)
        self._wanted: _Wanted | None = None
        self._ahead: tuple[Request, Future[Sample]] | None = None
        self._reading: tuple[Path, Future[Wavefunction]] | None = None
        self._drawn: _Drawn | None = None
        self._map_due: tuple[str, Sample] | None = None
        self._followed: tuple[str, Request] | None = None
        self._share = 0.0
        self._molecule = ""
        self._wavefunction: Wavefunction | None = None
        self._filling = False
        self._warmed = False
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="orbitile")
        self._threads.submit(_warm_up)
        self._preferences = _preferences()
        self._build()
        self._restore(window)
        self._timer = QtCore.QTimer(self)
        self._timer.timeout.connect(self._look)
        self._timer.start(_LOOK)
        self._census = QtCore.QTimer(self)
        self._census.timeout.connect(self.refresh)
        self._census.start(500)
        self._idle = QtCore.QTimer(self)
        self._idle.setSingleShot(True)
        self._idle.timeout.connect(self._compute_ahead)
        self._map_timer = QtCore.QTimer(self)
        self._map_timer.setSingleShot(True)
        self._map_timer.timeout.connect(self._put_map)
        self._draft = QtCore.QTimer(self)
        self._draft.setSingleShot(True)
        self._draft.timeout.connect(self._extract_draft)
        self._settle = QtCore.QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.timeout.connect(self._extract_exact)
        application = QtWidgets.QApplication.instance()
        application.aboutToQuit.connect(self._leave)
        self.refresh()
        self.say("Open the output of a quantum-chemistry program to see its orbitals." if not self._molecule else "")

    # ---- layout

    def _build(self) -> None:
        inside = QtWidgets.QWidget(self)
        outer = QtWidgets.QVBoxLayout(inside)
        outer.setSpacing(7)
        outer.setContentsMargins(9, 9, 9, 7)

        self.open_button = QtWidgets.QToolButton()
        self.open_button.setText("Open…")
        self.open_button.setPopupMode(QtWidgets.QToolButton.MenuButtonPopup)
        self.open_button.setToolTip("Open the output of a quantum-chemistry program; the arrow lists recent files")
        self.open_button.clicked.connect(self._ask_file)
        self.recent_menu = QtWidgets.QMenu(self)
        self.recent_menu.aboutToShow.connect(self._fill_recent)
        self.open_button.setMenu(self.recent_menu)
        self.molecule_box = QtWidgets.QComboBox()
        self.molecule_box.setToolTip("Molecule whose orbitals are listed")
        self.molecule_box.setSizePolicy(QtWidgets.QSizePolicy.Expanding, QtWidgets.QSizePolicy.Fixed)
        self.molecule_box.activated.connect(lambda at: self._choose_molecule(self.molecule_box.itemText(at)))
        outer.addLayout(_row(self.open_button, self.molecule_box))

        self.summary = QtWidgets.QLabel()
        self.summary.setStyleSheet("color: #666")
        outer.addWidget(self.summary)

        self.filter_edit = QtWidgets.QLineEdit()
        self.filter_edit.setPlaceholderText("Filter: 17, a1g, homo, occ, virt, -20..-5")
        self.filter_edit.setClearButtonEnabled(True)
        self.model = OrbitalModel(self)
        self.proxy = OrbitalFilter(self)
        self.proxy.setSourceModel(self.model)
        self.filter_edit.textChanged.connect(self.proxy.set_text)
        self.table = QtWidgets.QTableView()
        self.table.setModel(self.proxy)
        self.table.verticalHeader().hide()
        self.table.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)
        self.table.setShowGrid(False)
        self.table.setWordWrap(False)
        self.table.setSelectionMode(QtWidgets.QAbstractItemView.SingleSelection)
        self.table.setSelectionBehavior(QtWidgets.QAbstractItemView.SelectRows)
        self.table.selectionModel().currentChanged.connect(self._selected)
        self.diagram = LevelDiagram()
        self.diagram.picked.connect(lambda level: self.select(level.spin, level.index))
        left = QtWidgets.QWidget()
        column = QtWidgets.QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.filter_edit)
        column.addWidget(self.table)
        self.splitter = QtWidgets.QSplitter(Qt.Horizontal)
        self.splitter.addWidget(left)
        self.splitter.addWidget(self.diagram)
        self.splitter.setStretchFactor(0, 3)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setChildrenCollapsible(False)
        outer.addWidget(self.splitter, 1)

        form = QtWidgets.QGridLayout()
        form.setHorizontalSpacing(8)
        form.setVerticalSpacing(6)
        form.setColumnStretch(1, 1)
        outer.addLayout(form)

        self.field_edit = QtWidgets.QLineEdit()
        self.field_edit.setPlaceholderText("homo, lumo+1, mo:17, …")
        names = [name for name, _ in field_names()]
        completer = QtWidgets.QCompleter(names, self)
        completer.setCaseSensitivity(Qt.CaseInsensitive)
        self.field_edit.setCompleter(completer)
        self.field_edit.setToolTip("\n".join(f"{name}: {what}" for name, what in field_names()))
        self.field_edit.returnPressed.connect(self._show_typed)
        self.show_button = QtWidgets.QPushButton("Show")
        self.show_button.clicked.connect(self._show_typed)
        form.addWidget(QtWidgets.QLabel("Field"), 0, 0)
        form.addLayout(_row(self.field_edit, self.show_button), 0, 1)

        self.iso_slider = QtWidgets.QSlider(Qt.Horizontal)
        self.iso_slider.setRange(0, _STEPS)
        self.iso_slider.setToolTip("Isovalue, on a logarithmic scale")
        self.iso_slider.valueChanged.connect(self._slid)
        self.iso_edit = QtWidgets.QLineEdit()
        self.iso_edit.setFixedWidth(self.fontMetrics().horizontalAdvance("0.000000") + 18)
        self.iso_edit.setToolTip("Isovalue in atomic units")
        self.iso_edit.editingFinished.connect(self._iso_typed)
        self.auto_box = QtWidgets.QCheckBox("90 %")
        self.auto_box.setToolTip("For each orbital the isovalue whose surface encloses 90 % of its density")
        self.auto_box.setChecked(True)
        self.auto_box.clicked.connect(lambda: self._ask_again())
        form.addWidget(QtWidgets.QLabel("Isovalue"), 1, 0)
        form.addLayout(_row(self.iso_slider, self.iso_edit, self.auto_box), 1, 1)

        self.quality_box = QtWidgets.QComboBox()
        self.quality_box.addItems(["coarse", "medium", "fine"])
        self.quality_box.setToolTip("Spacing of the lattice: 0.25, 0.15 or 0.075 Å")
        self.quality_box.activated.connect(lambda: self._quality_chosen())
        self.device_box = QtWidgets.QComboBox()
        self.device_box.addItems(["auto", "cuda", "vulkan", "cpu"])
        self.device_box.setToolTip("What computes")
        self.device_box.activated.connect(lambda: self._device_chosen())
        self.keep_box = QtWidgets.QCheckBox("Keep shown")
        self.keep_box.setToolTip("Leave the orbital that is shown, and show the next one beside it")
        form.addWidget(QtWidgets.QLabel("Quality"), 2, 0)
        form.addLayout(_row(self.quality_box, QtWidgets.QLabel("Device"), self.device_box, None, self.keep_box), 2, 1)

        self.positive_button = ColourButton(POSITIVE, "Colour where the field is positive")
        self.negative_button = ColourButton(NEGATIVE, "Colour where the field is negative")
        for button in (self.positive_button, self.negative_button):
            button.changed.connect(self._restyle)
        self.second_box = QtWidgets.QComboBox()
        self.second_box.addItem(_TWO_COLOURS)
        self.second_box.addItems([name for name, _ in field_names() if name.isalpha()])
        self.second_box.setToolTip("Colour the surface by a second field: esp on density at 0.001, above all")
        self.second_box.activated.connect(lambda: self._ask_again())
        self.transparency_slider = QtWidgets.QSlider(Qt.Horizontal)
        self.transparency_slider.setRange(0, 100)
        self.transparency_slider.setValue(35)
        self.transparency_slider.setToolTip("Transparency of the surface")
        self.transparency_slider.valueChanged.connect(self._fade)
        self.export_button = QtWidgets.QPushButton("Export…")
        self.export_button.setToolTip("Write the volume (.cube, .dx, .mrc, .npz) or the surface (.ply, .obj, .glb)")
        self.export_button.clicked.connect(self._ask_export)
        form.addWidget(QtWidgets.QLabel("Colours"), 3, 0)
        form.addLayout(
            _row(self.positive_button, self.negative_button, QtWidgets.QLabel("or by"), self.second_box, None), 3, 1
        )
        form.addWidget(QtWidgets.QLabel("Transparency"), 4, 0)
        form.addLayout(_row(self.transparency_slider, self.export_button), 4, 1)

        self.status = QtWidgets.QLabel()
        self.status.setWordWrap(True)
        self.status.setTextInteractionFlags(Qt.TextSelectableByMouse)
        self.status.setMinimumHeight(self.fontMetrics().height() * 2)
        self.status.setAlignment(Qt.AlignLeft | Qt.AlignVCenter)
        self.progress = QtWidgets.QProgressBar()
        self.progress.setRange(0, 100)
        self.progress.setFixedWidth(110)
        self.progress.setTextVisible(False)
        self.cancel_button = QtWidgets.QPushButton("Cancel")
        self.cancel_button.clicked.connect(lambda: self.cancel())
        for widget in (self.progress, self.cancel_button):
            policy = widget.sizePolicy()
            policy.setRetainSizeWhenHidden(True)
            widget.setSizePolicy(policy)
            widget.hide()
        bottom = _row(self.status, self.progress, self.cancel_button)
        bottom.setStretch(0, 1)
        outer.addLayout(bottom)
        self.setWidget(inside)

    def say(self, text: str, error: bool = False) -> None:
        """Put a message into the status line."""
        self.status.setStyleSheet("color: #b2182b" if error else "")
        self.status.setText(text)

    # ---- molecules

    def open(self, path: str | Path) -> None:
        """Read a file, in a thread, and show its molecule when that is done."""
        path = Path(path).expanduser().resolve()
        self.say(f"Reading {path.name} …")
        self._reading = (path, self._threads.submit(load, path))
        self._busy(True)

    def refresh(self) -> None:
        """Bring the list of molecules up to date: objects come, go and are renamed at PyMOL's prompt too."""
        names = adapter.molecules(self.cmd)
        if names != [self.molecule_box.itemText(at) for at in range(self.molecule_box.count())]:
            self.molecule_box.clear()
            self.molecule_box.addItems(names)
        chosen = self._molecule if self._molecule in names else names[-1] if names else ""
        if chosen != self._molecule or (chosen and self._wavefunction is None):
            self._choose_molecule(chosen)
        else:
            self._follow()
        self.molecule_box.setCurrentIndex(names.index(chosen) if chosen else -1)

    def _choose_molecule(self, name: str) -> None:
        if name == self._molecule and self._wavefunction is not None:
            return
        self._molecule, self._wavefunction = name, None
        levels: list[list[Level]] = [[]]
        summary = ""
        if name:
            try:
                wavefunction = self.state.wavefunctions.get(adapter.source_of(self.cmd, name) or "")
            except OrbitileError as error:
                self.say(str(error), error=True)
                self._molecule = name
            else:
                from ...information import formula

                self._wavefunction, levels = wavefunction, levels_of(wavefunction)
                method = f"{wavefunction.method}, " if wavefunction.method else ""
                summary = f"{formula(wavefunction)}, {method}{wavefunction.kind}, {wavefunction.n_basis} functions"
        self._filling = True
        self.model.fill(levels)
        self.filter_edit.clear()
        behaviour = QtWidgets.QAbstractItemView
        self.table.setSelectionBehavior(behaviour.SelectItems if len(levels) > 1 else behaviour.SelectRows)
        header = self.table.horizontalHeader()
        for column in range(self.model.columnCount()):
            self.table.resizeColumnToContents(column)
        header.setStretchLastSection(True)
        self.diagram.fill(levels)
        self.summary.setText(summary)
        self._filling = False
        homo = next((one for one in levels[0] if one.mark == "HOMO"), None)
        if homo is not None:
            self.table.scrollTo(
                self.proxy.mapFromSource(self.model.index(homo.index, 0)), QtWidgets.QAbstractItemView.PositionAtCenter
            )
        self._enable()

    def _ask_file(self) -> None:
        folder = str(Path(self._preferences["recent"][0]).parent) if self._preferences["recent"] else ""
        path, _ = QtWidgets.QFileDialog.getOpenFileName(
            self,
            "Open the output of a quantum-chemistry program",
            folder,
            "Wavefunctions (*.molden *.input *.fchk *.fch *.mkl *.wfn *.wfx *.mwfn *.log *.out *.h5);;All files (*)",
        )
        if path:
            self.open(path)

    def _fill_recent(self) -> None:
        self.recent_menu.clear()
        for path in self._preferences["recent"]:
            self.recent_menu.addAction(path, lambda path=path: self.open(path))
        if not self._preferences["recent"]:
            self.recent_menu.addAction("No recent files").setEnabled(False)

    # ---- asking for orbitals

    def select(self, spin: str, index: int) -> None:
        """Select an orbital in the table, which shows it."""
        if self._molecule and 0 <= index < self.model.rowCount():
            column = self.model.column_of("beta" if spin == "beta" else "alpha")
            cell = self.proxy.mapFromSource(self.model.index(index, column))
            if not cell.isValid():  # it is filtered away
                self.filter_edit.clear()
                cell = self.proxy.mapFromSource(self.model.index(index, column))
            self.table.setCurrentIndex(cell)

    def _selected(self, current: Any, previous: Any = None) -> None:
        if self._filling or not current.isValid() or self._wavefunction is None:
            return
        cell = self.proxy.mapToSource(current)
        level = self.model.level_at(cell.row(), cell.column())
        if level is not None:
            self.diagram.choose(level.spin, level.index)
            self._ask(self._field_of(level))

    def _field_of(self, level: Level) -> str:
        beta = self._wavefunction is not None and self._wavefunction.beta is not None
        return f"mo:{level.index + 1}" + (f":{level.spin}" if beta else "")

    def _show_typed(self) -> None:
        field = self.field_edit.text().strip()  # as typed: it may name a file
        if not field or self._wavefunction is None:
            return
        try:
            resolve(self._wavefunction, field)
        except OrbitileError as error:
            self.say(str(error), error=True)
        else:
            self._ask(field)

    def _request(self, field: str) -> Request:
        isovalue = None if self.auto_box.isChecked() else self._isovalue()
        path = adapter.source_of(self.cmd, self._molecule) or ""
        quality = self.quality_box.currentText()
        return Request(
            path,
            field,
            quality,
            isovalue,
            device=self.state.device,
            color_by="" if self.second_box.currentText() == _TWO_COLOURS else self.second_box.currentText(),
            most_faces=_MOST_FACES,
            box=self.state.samples.last_box(path, quality),
        )

    def _ask(self, field: str, typing: bool = False) -> None:
        """Show a field: at once if it is in the cache, else when the worker has it. What is being typed stays."""
        self._withdraw()
        self._draft.stop()
        self._settle.stop()
        self._drawn = None
        if not typing:
            self.field_edit.setText(field)
        request = self._request(field)
        current = self._current()
        base = "" if self.keep_box.isChecked() else current
        future: Future[Sample] | None = None
        if request in self.state.samples:
            future = Future()
            future.set_result(self.state.samples.get(request, self.state.sample))
        elif self._ahead is not None and self._ahead[0] == request:
            future = self._ahead[1]
            self._ahead = None
        self._stop_ahead()
        if future is None:
            self._share = 0.0
            future = self.state.worker.submit(request, self._progress)
            self._busy(True)
        self._wanted = _Wanted(request, self._molecule, base, future)
        if future.done():
            self._look()

    def _ask_again(self) -> None:
        current = self._current()
        if current:
            self._ask(self.state.shown[current].request.field, self.field_edit.isModified())

    def _quality_chosen(self) -> None:
        self._ask_again()
        if not self._current():
            self._warmed = False  # the first orbital of another quality takes longest
            self._idle.start(0)

    def _current(self) -> str:
        """Surface that the window acts on: of those of the chosen molecule the one shown last."""
        present = commands.present(self.cmd)
        return next((base for base in reversed(present) if self.state.shown[base].molecule == self._molecule), "")

    def cancel(self) -> bool:
        """Withdraw what is under way; says whether there was anything."""
        busy = self._wanted is not None or self._reading is not None
        self._withdraw()
        self._stop_ahead()
        if self._reading is not None:
            self._reading[1].cancel()
            self._reading = None
        self._busy(False)
        if busy:
            self.say("Cancelled.")
        return busy

    def at_rest(self) -> bool:
        """Whether everything that was asked for is shown."""
        pending = (self._wanted, self._reading, self._drawn, self._map_due)
        waiting = (self._draft, self._settle, self._map_timer)
        return all(one is None for one in pending) and not any(timer.isActive() for timer in waiting)

    def _withdraw(self) -> None:
        if self._wanted is not None:
            self._wanted.future.cancel()
            self._wanted = None

    def _stop_ahead(self) -> None:
        self._idle.stop()
        if self._ahead is not None:
            self._ahead[1].cancel()
            self._ahead = None

    def _progress(self, share: float) -> None:
        self._share = share  # called from another thread: the timer brings it to the bar

    def _busy(self, busy: bool) -> None:
        self.progress.setVisible(busy)
        self.cancel_button.setVisible(busy)
        if busy:
            self.progress.setValue(0)

    # ---- what has come

    def _look(self) -> None:
        wanted = self._wanted
        if wanted is not None:
            self.progress.setValue(int(100 * self._share))
            if wanted.future.done():
                self._wanted = None
                self._busy(self._reading is not None)
                self._arrived(wanted)
        if self._ahead is not None and self._ahead[1].done():
            future = self._ahead[1]
            self._ahead = None
            if not future.cancelled() and future.exception() is None:
                self.state.samples.put_behind(future.result())
                self._idle.start(0)
        if self._reading is not None and self._reading[1].done():
            path, reading = self._reading
            self._reading = None
            self._busy(self._wanted is not None)
            self._opened(path, reading)
        if self._drawn is not None and self._drawn.future.done():
            drawn, self._drawn = self._drawn, None
            self._put(drawn)

    def _put_map(self) -> None:
        """Put a large map in a turn of its own, so that the window is drawn in between."""
        if self._map_due is not None:
            (base, found), self._map_due = self._map_due, None
            if base in commands.present(self.cmd):
                commands.show_map(self.cmd, base, found)

    def _arrived(self, wanted: _Wanted) -> None:
        try:
            found = wanted.future.result()
        except Cancelled:
            return
        except Exception as error:
            self.say(_in_words(error), error=True)
            return
        self.state.samples.put(found)
        colours = (self.positive_button.colour, self.negative_button.colour)
        transparency = self.transparency_slider.value() / 100
        shown = Shown(wanted.molecule, wanted.request, found.isovalue, colours, transparency)
        self._draw(shown, found, wanted.base, "")

    def _draw(self, shown: Shown, found: Sample, base: str, name: str) -> None:
        """Put a surface into PyMOL; large ones are prepared in a thread.

        It takes the place of `base`, and the name `name` or one from its field.
        """
        future: Future[list[float]]
        if shown.isovalue == found.isovalue and len(found.surface.faces) <= _AT_ONCE:
            future = Future()
            future.set_result(adapter.drawing(found.surface, shown.colours))
        else:
            future = self._threads.submit(_instructions, shown, found)
        self._drawn = _Drawn(shown, found, base, name, future)
        if future.done():
            drawn, self._drawn = self._drawn, None
            self._put(drawn)

    def _put(self, drawn: _Drawn) -> None:
        shown, found = drawn.shown, drawn.found
        try:
            if shown.molecule not in self.cmd.get_names("objects"):
                raise OrbitileError(f"{shown.molecule} was deleted meanwhile")
            instructions = drawn.future.result()
            later = found.volume.values.size > _MAP_AT_ONCE
            if drawn.name:
                commands.show(self.cmd, shown, found, drawn.name, instructions, with_map=False)
            else:
                base = commands.show_instead(
                    self.cmd, drawn.base, shown, found, instructions=instructions, with_map=not later
                )
                self._map_due = (base, found) if later else None
                self._map_timer.start(_MAP_LATER)
        except Exception as error:
            self.say(_in_words(error), error=True)
            return
        self._set_isovalue(shown.isovalue)
        self._enable()
        if drawn.name:
            self.say(f"{found.volume.quantity}: isovalue {shown.isovalue:.4g} {found.volume.unit}")
        else:
            took = f"{found.seconds * 1000:.0f} ms" if found.seconds < 1 else f"{found.seconds:.1f} s"
            points = " × ".join(str(n) for n in found.volume.values.shape)
            thin = "; drawn from fewer points" if found.step > 1 else ""
            self.say(f"{found.volume.quantity}: {points} points in {took} on {found.device}{thin}")
        self._idle.start(_QUIET)

    def _opened(self, path: Path, reading: Future[Wavefunction]) -> None:
        try:
            reading.result()
            name = commands.orb_load(str(path), _self=self.cmd)
        except Exception as error:
            self.say(_in_words(error), error=True)
            return
        recent = [str(path), *(one for one in self._preferences["recent"] if one != str(path))]
        self._preferences["recent"] = recent[:_RECENT]
        self._remember()
        self._wavefunction = None
        self._molecule = name
        self.refresh()
        self.say(f"{name}: choose an orbital in the table; the arrow keys walk through them.")
        self.table.setFocus()
        self._idle.start(0)

    def _compute_ahead(self) -> None:
        """Compute the neighbours of the orbital that is shown while nobody waits for anything."""
        if self._wanted is not None or self._ahead is not None or self._wavefunction is None or not self.isVisible():
            return
        current = self._current()
        cell = self.table.currentIndex()
        held = self.state.samples
        if not current:  # the first request is the slowest: the worker starts and Taichi compiles
            marked = [level for level in self.model.levels[0] if level.mark]
            first = self._request(self._field_of(marked[0]) if marked else "mo:1")
            if not self._warmed and first not in held:
                self._warmed = True
                self._ahead = (first, self.state.worker.submit(first))
            return
        if not cell.isValid():
            return
        shown = self.state.shown[current].request
        if shown in held and held.get(shown, self.state.sample).volume.values.size > _AHEAD_POINTS:
            return
        for step in (1, -1):
            neighbour = self.proxy.index(cell.row() + step, cell.column())
            if neighbour.isValid():
                source = self.proxy.mapToSource(neighbour)
                level = self.model.level_at(source.row(), source.column())
                request = None if level is None else self._request(self._field_of(level))
                if request is not None and request not in held:
                    self._ahead = (request, self.state.worker.submit(request))
                    return

    def _follow(self) -> None:
        """Show the isovalue and the second field of a surface that was changed at the prompt."""
        current = self._current()
        if current and self._wanted is None and self._followed != (current, self.state.shown[current].request):
            self._followed = (current, self.state.shown[current].request)
            second = self._followed[1].color_by or _TWO_COLOURS
            if self.second_box.findText(second) < 0:
                self.second_box.addItem(second)
            self.second_box.setCurrentText(second)
        if current and self._wanted is None and not self.iso_slider.isSliderDown() and not self._settle.isActive():
            isovalue = self.state.shown[current].isovalue
            if self._drawn is None and not self.iso_edit.hasFocus() and not math.isclose(isovalue, self._isovalue()):
                self._set_isovalue(isovalue)
        if self.device_box.currentText() != self.state.device:
            self.device_box.setCurrentText(self.state.device)

    # ---- isovalue

    def _isovalue(self) -> float:
        return float(self._value)

    _value = 0.03

    def _set_isovalue(self, isovalue: float) -> None:
        self._value = isovalue
        self.iso_slider.blockSignals(True)
        at = math.log(max(isovalue, 1e-12) / _LOW) / math.log(_HIGH / _LOW)
        self.iso_slider.setValue(round(_STEPS * min(max(at, 0.0), 1.0)))
        self.iso_slider.blockSignals(False)
        self.iso_edit.setText(f"{isovalue:.4g}")

    def _slid(self, at: int) -> None:
        self._value = float(f"{_LOW * (_HIGH / _LOW) ** (at / _STEPS):.3g}")
        self.iso_edit.setText(f"{self._value:.4g}")
        self.auto_box.setChecked(False)
        if self._current():
            self._stop_ahead()
            if not self._draft.isActive():
                self._draft.start(0)  # several moves of the mouse make one surface
            self._settle.start(_QUIET)

    def _iso_typed(self) -> None:
        try:
            value = float(self.iso_edit.text())
            if not 0 < value < math.inf:
                raise ValueError
        except ValueError:
            self.say(f"isovalue: expected a positive number, got {self.iso_edit.text()!r}", error=True)
            self.iso_edit.setText(f"{self._value:.4g}")
            return
        if float(f"{self._value:.4g}") != value:
            self.auto_box.setChecked(False)
            self._set_isovalue(value)
            self._extract_exact()

    def _held(self) -> tuple[str, Shown, Sample] | None:
        """The surface that is shown, with its sample if that is in the cache."""
        current = self._current()
        if not current:
            return None
        shown = self.state.shown[current]
        if shown.request not in self.state.samples:
            return None
        return current, shown, self.state.samples.get(shown.request, self.state.sample)

    def _extract_draft(self) -> None:
        held = self._held()
        if held is None or self._wanted is not None:
            return
        base, shown, found = held
        shown = replace(shown, isovalue=self._value)
        try:
            step = math.ceil(found.step * math.sqrt(len(found.surface.faces) / _DRAFT_FACES))
            surface = isosurface(found.volume.every(step), self._value)
        except OrbitileError as error:
            self.say(str(error), error=True)
            return
        instructions = adapter.drawing(surface, shown.colours)
        state = adapter.state_of_orbitals(self.cmd, shown.molecule)
        adapter.put_drawing(self.cmd, base, instructions, shown.transparency, state)
        self.state.shown[base] = shown

    def _extract_exact(self) -> None:
        """Extract from all points; ask the worker where the lattice may be too small, or a second field colours it."""
        if self.iso_slider.isSliderDown():
            self._settle.start(_QUIET)
            return
        held = self._held()
        if held is None or self._value < held[2].isovalue or held[1].request.color_by:
            self._ask_again()
            return
        base, shown, found = held
        self._draw(replace(shown, isovalue=self._value), found, "", base)

    # ---- looks

    def _restyle(self) -> None:
        self._remember()
        held = self._held()
        if held is not None:
            base, shown, found = held
            colours = (self.positive_button.colour, self.negative_button.colour)
            self._draw(replace(shown, colours=colours), found, "", base)

    def _fade(self, percent: int) -> None:
        current = self._current()
        if current:
            self.state.shown[current] = replace(self.state.shown[current], transparency=percent / 100)
            self.cmd.set("cgo_transparency", percent / 100, current)

    def _device_chosen(self) -> None:
        try:
            commands.orb_device(self.device_box.currentText(), quiet=1, _self=self.cmd)
        except Exception as error:
            self.say(_in_words(error), error=True)
            self.device_box.setCurrentText(self.state.device)
        else:
            self.say(f"Computing on {self.device_box.currentText()}.")
            self._ask_again()

    def _ask_export(self) -> None:
        current = self._current()
        path, _ = QtWidgets.QFileDialog.getSaveFileName(
            self,
            "Export",
            f"{current}.cube",
            "Volumes (*.cube *.dx *.mrc *.npz);;Surfaces (*.ply *.obj *.glb)",
        )
        if path:
            self.export(path)

    def export(self, path: str | Path) -> None:
        """Write what is shown; the suffix of the file decides how."""
        try:
            commands.orb_export(str(path), self._current(), _self=self.cmd)
        except Exception as error:
            self.say(_in_words(error), error=True)
        else:
            self.say(f"Wrote {path}")

    def _enable(self) -> None:
        for widget in (self.table, self.field_edit, self.show_button, self.filter_edit, self.diagram):
            widget.setEnabled(self._wavefunction is not None)
        for widget in (self.iso_slider, self.iso_edit, self.export_button):
            widget.setEnabled(bool(self._current()))

    # ---- what is remembered

    def _remember(self) -> None:
        from pymol.plugins import pref_set

        self._preferences.update(
            quality=self.quality_box.currentText(),
            positive=list(self.positive_button.colour),
            negative=list(self.negative_button.colour),
            transparency=self.transparency_slider.value(),
            floating=self.isFloating(),
            geometry=[self.x(), self.y(), self.width(), self.height()],
        )
        pref_set(_PREFERENCES, dict(self._preferences))

    def _restore(self, window: Any) -> None:
        kept = self._preferences
        self.quality_box.setCurrentText(kept["quality"])
        self.positive_button.set_colour(kept["positive"])
        self.negative_button.set_colour(kept["negative"])
        self.transparency_slider.setValue(int(kept["transparency"]))
        window.addDockWidget(Qt.RightDockWidgetArea, self)
        self.setFloating(bool(kept["floating"]))
        if kept["floating"]:
            screen, host = window.screen().availableGeometry(), window.frameGeometry()
            beside = [min(host.right() + 8, screen.right() - 540), host.top() + 30, 540, min(720, screen.height() - 60)]
            self.setGeometry(*(kept["geometry"] or beside))
        self.splitter.setSizes([300, 150])

    def closeEvent(self, event: Any) -> None:  # noqa: D102 - Qt's name
        self.cancel()
        self._remember()
        super().closeEvent(event)

    def _leave(self) -> None:
        self._remember()
        self._timer.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.state.worker.close()


def _preferences() -> dict[str, Any]:
    from pymol.plugins import pref_get

    standard = {
        "recent": [],
        "quality": "medium",
        "positive": POSITIVE,
        "negative": NEGATIVE,
        "transparency": 35,
        "floating": True,
        "geometry": None,
    }
    kept = pref_get(_PREFERENCES, {})
    return {**standard, **(kept if isinstance(kept, dict) else {})}


def _row(*widgets: Any) -> Any:
    """Widgets side by side; None stretches."""
    row = QtWidgets.QHBoxLayout()
    row.setSpacing(6)
    for widget in widgets:
        if widget is None:
            row.addStretch(1)
        else:
            row.addWidget(widget)
    return row


def _instructions(shown: Shown, found: Sample) -> list[float]:
    return adapter.drawing(commands.surface_of(shown, found), shown.colours)


def _warm_up() -> None:
    """Import what the first surface needs, which would hold the window up."""
    import_module("skimage.measure")


def _in_words(error: Exception) -> str:
    """What to tell of an error."""
    text = str(error).strip() or type(error).__name__
    return text if isinstance(error, OrbitileError) else text.removeprefix("Error: ").strip()
