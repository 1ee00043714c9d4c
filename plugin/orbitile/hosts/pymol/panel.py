"""The window Plugin > Orbitile: its widgets, and what they and `orbitile.session.window.browser` say to each other."""

from __future__ import annotations

import math
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pymol.Qt import QtCore, QtGui, QtWidgets

from ...evaluation.devices import device_names
from ...exporters import suffixes
from ...fields import field_names
from ...model.lattice import QUALITIES
from ...pictures.orbitals import EXPLANATION, Level, summary
from ...pictures.words import of_error, plain_fields, quality_spacings, share_in_words, unit_in_print
from ...session import commands
from ...session.declaration import Command
from ...session.live.live import LiveStatus
from ...session.recipe import render_line
from ...session.seen import Listed, visible
from ...session.session import Session
from ...session.source import is_without_orbitals
from ...session.window.browser import Browser
from ...session.window.localising import LISTED_ORBITALS
from ...session.window.view import TWO_COLOURS, Choices, Finding, Playback, choices_of
from ...surfaces.colour_maps import PAIRS
from .analysis_window import AnalysisWindow
from .colours import ColourScale, PairButton
from .file_filters import SERIES, files_to_export, files_to_open, suffix_of, surfaces_to_export, volumes_to_export
from .frame_bar import FrameBar
from .help import (
    ANALYSES,
    COMMANDS,
    FIELDS,
    LIVE,
    OPENING,
    ORBITALS,
    REGIONS,
    SHOWN,
    TRAJECTORIES,
    add_help,
    explain,
    help_button,
    open_manual,
)
from .live_bar import LiveBar
from .menus import AnalyseButton, FieldMenu
from .orbitals import LevelDiagram, OrbitalTable
from .path_dialog import ask_path, states_of
from .placing import ToolWindow
from .region_dialog import ComputeButton, ask_region
from .saving import SaveFilm, SavePicture, ask_target
from .seen import pymol_lines
from .shown_list import ShownList
from .widgets import Dropping, breakable, narrow_box, offer, row, shortened_label, take_keys

Qt = QtCore.Qt

_STEPS = 1000
"""Steps of the slider of the isovalue."""
_WELCOME = (
    "Open the output of a quantum-chemistry program, or drop it here. Compute finds the electrons of a ligand, or of "
    "selected atoms, that PyMOL shows."
)
_VIEWS = {"zoom": "Zoom to it", "orient": "Zoom, and look along its axes", "nothing": "Leave the view"}
"""What can become of the view when a file is opened, by the words of `orb_load`."""
_LOOK = 10
"""Interval in milliseconds at which the browser goes on with what is under way."""
_FOLLOW = 500
"""Interval in milliseconds at which changes made at PyMOL's prompt are taken up."""


class Panel(ToolWindow):
    """The window.

    Parameters
    ----------
    session
        Session of the PyMOL that it controls.
    window
        Main window that it belongs to.
    """

    def __init__(self, session: Session, window: Any) -> None:
        super().__init__("Orbitile", window)
        self.setObjectName("orbitile")
        kept = session.host.settings()
        self.session = session
        self._build(choices_of(kept), kept.get("live"))
        self.browser = Browser(session, self)
        self.showing = self.browser.showing
        self._reported_errors: set[str] = set()
        self._analysis_window: AnalysisWindow | None = None
        self._connect()
        self._connect_live()
        self.placed.connect(self._remember)
        add_help(self)
        Dropping(self, lambda paths: self.open(*paths))
        self.put_beside(self.showing.settings)
        self._timer = QtCore.QTimer(self, timeout=self._look)
        self._timer.start(_LOOK)
        self._follow_timer = QtCore.QTimer(self, timeout=self.refresh)
        self._follow_timer.start(_FOLLOW)
        QtWidgets.QApplication.instance().aboutToQuit.connect(self._leave)
        self.refresh()
        if not self.showing.molecule:
            self.say(_WELCOME)

    # ---- how it looks

    def _build(self, choices: Choices, live_level: Any) -> None:
        """Make the widgets, which stand at some choices; `live_level` is what was kept of the `LiveBar`."""
        inside = QtWidgets.QWidget(self)
        outer = QtWidgets.QVBoxLayout(inside)
        outer.setSpacing(6)
        outer.setContentsMargins(8, 8, 8, 6)
        self._add_molecules(outer)
        self._add_orbitals(outer)
        for energies in (self.table, self.diagram):
            energies.set_unit(choices.unit)
        self.frame_bar = FrameBar(choices.rate)
        self.frame_bar.hide()
        self.live_bar = LiveBar(live_level)
        for bar in (self.frame_bar, self.live_bar):
            outer.addWidget(bar)
        self._add_fields(outer)
        form = QtWidgets.QGridLayout()
        form.setHorizontalSpacing(8)
        form.setVerticalSpacing(5)
        form.setColumnStretch(1, 1)
        outer.addLayout(form)
        self._add_isovalue(form)
        self._add_look(form, choices)
        self._add_computing(form, choices)
        self._add_status(outer)
        self.setWidget(inside)
        for widget, heading in (
            (self.open_button, OPENING),
            (self.splitter, ORBITALS),
            (self.field_menu, FIELDS),
            (self.field_edit, FIELDS),
            (self.shown_list, SHOWN),
            (self.analyse_button, ANALYSES),
            (self.compute_button, REGIONS),
            (self.frame_bar, TRAJECTORIES),
            (self.live_bar, LIVE),
        ):
            explain(widget, heading)

    def _add_molecules(self, outer: Any) -> None:
        self.opening_menu = QtWidgets.QMenu(self)
        self.open_button = QtWidgets.QToolButton(
            text="Open…",
            popupMode=QtWidgets.QToolButton.MenuButtonPopup,
            toolTip="Open the output of a quantum-chemistry program; the arrow lists recent files",
        )
        self.open_button.setMenu(self.opening_menu)
        self.molecule_box = narrow_box("Molecule whose orbitals are listed")
        self.more_menu = QtWidgets.QMenu(self)
        self.more_button = QtWidgets.QToolButton(
            text="More",
            popupMode=QtWidgets.QToolButton.InstantPopup,
            toolTip="Save a picture or a film, copy commands, help",
        )
        self.more_button.setMenu(self.more_menu)
        self.analyse_button = AnalyseButton()
        self.compute_button = ComputeButton(
            lambda: self.session.host.regions(), lambda: len(states_of(self.session.host)) > 1
        )
        buttons = (self.compute_button, self.analyse_button, self.more_button, help_button(self))
        outer.addLayout(row(self.open_button, self.molecule_box, *buttons, stretch=1))
        self.summary, self.notes = shortened_label(), shortened_label()
        self.notes.hide()
        self.line_buttons = {
            kind: QtWidgets.QPushButton(text, toolTip=f"{about} that the file of this molecule has", visible=False)
            for kind, text, about in (
                ("vibrations", "Vibrations…", "Normal modes and their spectra"),
                ("spectra", "Spectra…", "UV, ECD and NMR spectra"),
            )
        }
        outer.addLayout(row(self.summary, *self.line_buttons.values(), stretch=0))
        outer.addWidget(self.notes)

    def _add_orbitals(self, outer: Any) -> None:
        self.filter_edit = QtWidgets.QLineEdit(
            placeholderText="Filter: homo-3..lumo+3, 7-9, occ, a1g, -20..-5",
            toolTip=EXPLANATION,
            clearButtonEnabled=True,
        )
        self.table = OrbitalTable()
        self.diagram = LevelDiagram()
        left = QtWidgets.QWidget()
        column = QtWidgets.QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        self.orbitals_box = QtWidgets.QComboBox(
            toolTip="Orbitals as the file has them, or localised: bonds, lone pairs and cores",
            sizeAdjustPolicy=QtWidgets.QComboBox.AdjustToMinimumContentsLengthWithIcon,
            minimumContentsLength=8,
        )
        for scheme, title in LISTED_ORBITALS.items():
            self.orbitals_box.addItem(title, scheme)
        column.addLayout(row(self.orbitals_box, self.filter_edit, spacing=4, stretch=1))
        column.addWidget(self.table)
        self.splitter = QtWidgets.QSplitter(Qt.Horizontal)
        self.splitter.addWidget(left)
        self.splitter.addWidget(self.diagram)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setChildrenCollapsible(False)
        outer.addWidget(self.splitter, 1)

    def _add_fields(self, outer: Any) -> None:
        self.field_menu = FieldMenu()
        self.field_edit = QtWidgets.QLineEdit(
            placeholderText="or its name: homo, lumo+1, mo:17, density …", toolTip="Name of a field; Return shows it"
        )
        names = [name for name, _ in field_names()]
        self.field_edit.setCompleter(QtWidgets.QCompleter(names, self, caseSensitivity=Qt.CaseInsensitive))
        self.show_button = QtWidgets.QPushButton("Show")
        outer.addLayout(row(self.field_menu, self.field_edit, self.show_button))
        self.shown_list = ShownList()
        outer.addWidget(self.shown_list)

    def _add_isovalue(self, form: Any) -> None:
        self.iso_slider = QtWidgets.QSlider(
            Qt.Horizontal, maximum=_STEPS, minimumWidth=60, toolTip="Isovalue, on a logarithmic scale"
        )
        self.iso_edit = QtWidgets.QLineEdit(toolTip="Isovalue in atomic units")
        self.iso_edit.setFixedWidth(self.fontMetrics().horizontalAdvance("0.000000") + 18)
        self.iso_unit = QtWidgets.QLabel()
        self.auto_box = QtWidgets.QCheckBox(
            share_in_words(),
            checked=True,
            toolTip=f"Choose for each orbital the isovalue whose surface encloses {share_in_words()} of its density",
        )
        form.addWidget(QtWidgets.QLabel("Isovalue"), 0, 0)
        form.addLayout(row(self.iso_slider, self.iso_edit, self.iso_unit, self.auto_box), 0, 1)

    def _add_look(self, form: Any, choices: Choices) -> None:
        self.pair_button = PairButton(PAIRS)
        self.pair_button.show_pair(choices.look.colours)
        self.second_box = QtWidgets.QComboBox(
            toolTip="Colour the surface by a second field, for example esp on density at 0.001"
        )
        self.second_box.addItems([TWO_COLOURS, *plain_fields()])
        self.colour_scale = ColourScale()
        form.addWidget(QtWidgets.QLabel("Colours"), 1, 0)
        form.addLayout(row(self.pair_button, QtWidgets.QLabel("or by"), self.second_box, None), 1, 1)
        form.addWidget(self.colour_scale, 2, 1)
        self.style_box = QtWidgets.QComboBox(
            toolTip="Triangles lit from outside or from both sides; their edges; their corners; the volume as fog, or "
            "a slice through it"
        )
        self._offer_styles(self.session.styles_of(None), choices.look.style)
        self.transparency_slider = QtWidgets.QSlider(
            Qt.Horizontal,
            maximum=100,
            value=round(100 * choices.look.transparency),
            minimumWidth=60,
            toolTip="Transparency of the surface",
        )
        form.addWidget(QtWidgets.QLabel("Drawn as"), 3, 0)
        form.addLayout(row(self.style_box, QtWidgets.QLabel("transparent"), self.transparency_slider), 3, 1)

    def _add_computing(self, form: Any, choices: Choices) -> None:
        self.quality_box = QtWidgets.QComboBox(toolTip=f"Spacing of the lattice: {quality_spacings()} Å")
        self.quality_box.addItems(list(QUALITIES))
        self.quality_box.setCurrentText(choices.quality)
        self.device_box = QtWidgets.QComboBox(toolTip="Device that computes")
        self.device_box.addItems(device_names())
        self.picture_button = QtWidgets.QPushButton("Picture…", toolTip="Save the view as a picture")
        self.export_button = QtWidgets.QPushButton(
            "Export…", toolTip=f"Write the volume ({suffixes('volume')}) or the surface ({suffixes('mesh')})"
        )
        boxes = (self.quality_box, QtWidgets.QLabel("on"), self.device_box)
        form.addWidget(QtWidgets.QLabel("Quality"), 4, 0)
        form.addLayout(row(*boxes, None, self.picture_button, self.export_button), 4, 1)

    def _add_status(self, outer: Any) -> None:
        policy = QtWidgets.QSizePolicy(QtWidgets.QSizePolicy.Ignored, QtWidgets.QSizePolicy.Minimum)
        policy.setHeightForWidth(True)  # a long sentence takes of the table what it needs
        self.status = QtWidgets.QLabel(
            wordWrap=True,
            textInteractionFlags=Qt.TextSelectableByMouse,
            minimumHeight=self.fontMetrics().height() * 2 + 2,
            sizePolicy=policy,
            alignment=Qt.AlignLeft | Qt.AlignVCenter,
        )
        self.progress = QtWidgets.QProgressBar(maximum=100)
        self.progress.setFixedWidth(90)
        self.cancel_button = QtWidgets.QPushButton("Cancel")
        for widget in (self.progress, self.cancel_button):
            widget.hide()
        outer.addLayout(row(self.status, self.progress, self.cancel_button, stretch=0))

    def _connect(self) -> None:
        """Have the browser do what the user does to the widgets."""
        browser, showing = self.browser, self.showing
        self.open_button.clicked.connect(self._ask_file)
        self.opening_menu.aboutToShow.connect(self._fill_opening_menu)
        self.molecule_box.activated.connect(lambda at: browser.molecules.choose(self.molecule_box.itemText(at)))
        self.filter_edit.textChanged.connect(self.table.set_filter)
        self.orbitals_box.activated.connect(lambda at: browser.localising.choose(self.orbitals_box.itemData(at)))
        self.table.chosen.connect(self._show_selected)
        self.table.unit_changed.connect(self.diagram.set_unit)
        self.table.unit_changed.connect(showing.choose_unit)
        self.diagram.picked.connect(lambda level: self.select(level.spin, level.index))
        self.field_menu.field_chosen.connect(showing.ask_for_named)
        self.field_menu.preset_chosen.connect(browser.show_preset)
        self.shown_list.chosen.connect(browser.molecules.choose_surface)
        self.shown_list.visibility_changed.connect(showing.set_visible)
        self.shown_list.kept_changed.connect(showing.keep)
        self.shown_list.deleted.connect(showing.delete)
        self.shown_list.colours_asked.connect(self._ask_colours)
        self.shown_list.menu_asked.connect(self._open_surface_menu)
        self.more_menu.aboutToShow.connect(self._fill_more_menu)
        button = self.analyse_button
        button.menu().aboutToShow.connect(lambda: button.fill(browser.analysing.offered(self._analysis_subject())))
        button.chosen.connect(self._open_analysis)
        for kind, opener in self.line_buttons.items():
            opener.clicked.connect(lambda *_, kind=kind: self._open_analysis(kind))
        self.compute_button.chosen.connect(self._ask_region)
        self.compute_button.path_chosen.connect(
            lambda: ask_path(self.session.host, self, partial(self.run, commands.orb_path_between))
        )
        self.colour_scale.range_changed.connect(showing.choose_range)
        self.frame_bar.played.connect(browser.playing.play)
        self.frame_bar.stepped.connect(browser.playing.step)
        self.frame_bar.moved.connect(browser.playing.go_to)
        self.frame_bar.rated.connect(browser.playing.choose_rate)
        self.field_edit.returnPressed.connect(self._show_typed)
        self.show_button.clicked.connect(self._show_typed)
        self.iso_slider.valueChanged.connect(self._slide)
        self.iso_edit.editingFinished.connect(lambda: showing.choose_isovalue(self.iso_edit.text()))
        self.auto_box.clicked.connect(showing.choose_automatic)
        self.quality_box.currentTextChanged.connect(showing.set_quality)
        self.quality_box.activated.connect(lambda: showing.compute_anew())
        self.device_box.activated.connect(lambda: showing.choose_device(self.device_box.currentText()))
        self.pair_button.chosen.connect(lambda pair: showing.change_look(colours=pair))
        self.second_box.activated.connect(lambda at: showing.choose_second(self.second_box.itemText(at)))
        self.transparency_slider.valueChanged.connect(lambda at: showing.change_look(transparency=at / 100))
        self.style_box.activated.connect(lambda: showing.change_look(style=self.style_box.currentText()))
        self.picture_button.clicked.connect(lambda: self.ask_and_save(SavePicture))
        self.export_button.clicked.connect(lambda: self._ask_export(showing.current(), files_to_export()))
        self.cancel_button.clicked.connect(lambda: browser.cancel())

    def _connect_live(self) -> None:
        bar, live, tell = self.live_bar, self.browser.live, self._tell_live
        bar.menu.aboutToShow.connect(lambda: bar.offer(self.session.host.structures()))
        bar.begun.connect(self._begin_live)
        bar.ended.connect(lambda: tell(live.end()))
        bar.relaxed.connect(lambda hardness: tell(live.relax(hardness)))
        bar.undo_button.clicked.connect(lambda: tell(live.undo()))
        bar.scan_button.clicked.connect(lambda: tell(live.scan()))
        bar.scanned.connect(lambda index: tell(live.scan_to(index)))
        bar.path_button.clicked.connect(self._ask_path)

    # ---- what the browser asks of its window

    def say(self, text: str, error: bool = False, detail: str = "") -> None:
        """Put a message into the status line, and more behind it."""
        self.status.setStyleSheet("color: #b2182b" if error else "")
        self.status.setText(breakable(text))
        self.status.setToolTip(detail or text)

    def set_busy(self, busy: bool) -> None:
        """Show or hide the bar and the button that cancels."""
        self.progress.setVisible(busy)
        self.cancel_button.setVisible(busy)
        if busy:
            self.progress.setValue(0)

    def show_molecule(self) -> None:
        """Fill table and diagram."""
        levels, wavefunction = self.showing.levels, self.showing.wavefunction
        self.filter_edit.clear()
        self.table.fill(levels)
        self.diagram.fill(levels)
        self.splitter.setSizes([self.table.sizeHint().width(), self.diagram.sizeHint().width()])
        self.field_menu.show_molecule(wavefunction)
        self.orbitals_box.setCurrentIndex(self.orbitals_box.findData(self.showing.scheme))
        offer(self.orbitals_box, self.browser.localising.why_not())
        for label, text in (
            (self.summary, "" if wavefunction is None else summary(wavefunction)),
            (self.notes, "; ".join(self.browser.molecules.notes)),
        ):
            label.setText(text)
            label.setToolTip(text)
        self.notes.setVisible(bool(self.browser.molecules.notes))
        self.live_bar.show_electrons(self.browser.live.electrons())
        if not self.showing.molecule:
            self.field_edit.clear()
            self.say(_WELCOME)
        elif self.showing.shown() is None and wavefunction is not None:
            self.say(f"{self.showing.molecule}: choose an orbital in the table, or a field.")
        self._enable()

    def show_levels(self, chosen: Level | None) -> None:
        """Change table and diagram in place."""
        self.table.follow(self.showing.levels, chosen)
        self.diagram.follow(self.showing.levels, chosen)

    def show_live(self, status: LiveStatus | None) -> None:
        """Tell how the live molecule is."""
        self.live_bar.show_status(status)

    def show_analysis(self, finding: Finding) -> None:
        """Show an analysis in the window of analyses."""
        self.analysis_window().show_finding(finding)

    def chosen(self) -> Level | None:
        """The orbital that is selected in the table."""
        return self.table.orbitals.chosen

    def show_choices(self) -> None:
        """Set isovalue, second field, device and rate to what they are."""
        choices, shown, isovalue = self.showing.choices, self.showing.shown(), self.showing.isovalue
        look = choices.look if shown is None else shown.look
        low, high = self.showing.isovalue_range
        at = math.log(max(isovalue, low) / low) / math.log(high / low) if high > low else 0.0
        with QtCore.QSignalBlocker(self.iso_slider):
            self.iso_slider.setValue(round(_STEPS * min(max(at, 0.0), 1.0)))
        self.iso_edit.setText(f"{isovalue:.4g}" if shown is not None else "")
        self.iso_unit.setText("" if shown is None else unit_in_print(shown.unit))
        self.auto_box.setVisible(self.showing.acts_on_orbital())
        self.auto_box.setChecked(self.showing.is_automatic)
        self.pair_button.show_pair(look.colours)
        self._offer_styles(self.session.styles_of(None if shown is None else shown.request), look.style)
        if not self.transparency_slider.isSliderDown():
            with QtCore.QSignalBlocker(self.transparency_slider):
                self.transparency_slider.setValue(round(100 * look.transparency))
        second = ("" if shown is None else shown.request.color_by) or TWO_COLOURS
        if self.second_box.findText(second) < 0:
            self.second_box.addItem(second)
        self.second_box.setCurrentText(second)
        self.device_box.setCurrentText(self.session.computing.device)
        self.frame_bar.show_rate(choices.rate)
        self._enable()

    def show_surfaces(self, rows: list[Listed], current: str) -> None:
        """List what is shown, and mark the orbital that the controls act on."""
        self.shown_list.fill(rows, current)
        scale = next((row.scale for row in rows if row.name == current), None)
        self.colour_scale.setVisible(scale is not None)
        self.pair_button.setEnabled(scale is None)
        shown = self.showing.shown()
        if scale is not None and shown is not None:
            limit = shown.request.color_range
            self.colour_scale.show_scale(scale.colour_map, scale.low, scale.high, unit_in_print(scale.unit), limit)
        level = self.showing.level_shown()
        if self.showing.asking.wanted is not None:
            return
        if level is not None:
            self.table.choose(level.spin, level.index)
            self.diagram.choose(level.spin, level.index)
        elif current:  # something else than an orbital
            self.table.forget()
            self.diagram.forget()

    def show_playback(self, playback: Playback | None) -> None:
        """Show where a trajectory is; hide the bar of frames where there is none."""
        self.frame_bar.setVisible(playback is not None)
        if playback is not None:
            self.frame_bar.show_playback(playback)

    def show_field(self, field: str) -> None:
        """Put the name of a field where names are typed, unless one is being typed."""
        if not self.field_edit.isModified():
            self.field_edit.setText(field)

    def opened(self, first: Level | None) -> None:
        """Show an orbital of a file that was opened, and let the arrow keys walk through the table."""
        self.refresh()
        if first is not None:
            self.select(first.spin, first.index)
        self.raise_()
        self.activateWindow()  # a dialog gives the keys back to PyMOL's own window
        self.table.setFocus()
        source = self.showing.listed[1]
        if is_without_orbitals(source) and (kind := self.session.computing.wavefunctions.lines_in(source)):
            self._open_analysis(kind)

    def neighbours(self) -> list[Level]:
        """Orbitals below and above the one that is selected in the table."""
        return self.table.neighbours()

    def is_idle(self) -> bool:
        """Whether the window can be seen."""
        return self.isVisible()

    def is_sliding(self) -> bool:
        """Whether the slider of the isovalue is held."""
        return self.iso_slider.isSliderDown()

    def is_typing(self) -> bool:
        """Whether the keys go to the isovalue."""
        return self.iso_edit.hasFocus()

    def is_scrubbing(self) -> bool:
        """Whether the slider of the frames is held."""
        return self.frame_bar.slider.isSliderDown()

    # ---- what others ask of it

    def open(self, *paths: str | Path) -> None:
        """Read files, in threads, and show their molecules when that is done."""
        self.browser.molecules.open(*paths)

    def analysis_window(self) -> AnalysisWindow:
        """The window of analyses, which is made when it is first wanted."""
        if self._analysis_window is None:
            self._analysis_window = AnalysisWindow(self.browser.analysing, self, self.splitter)
        return self._analysis_window

    def select(self, spin: str, index: int) -> None:
        """Select an orbital in the table, which shows it."""
        level = self.table.choose(spin, index)
        if level is not None:
            self._show_selected(level)

    def refresh(self) -> None:
        """Follow what was changed at PyMOL's prompt."""
        self.browser.molecules.follow()
        names = list(self.session.host.molecules())
        if names != [self.molecule_box.itemText(at) for at in range(self.molecule_box.count())]:
            self.molecule_box.clear()
            self.molecule_box.addItems(names)
        noticed = self.browser.analysing.noticed(self.showing.molecule)
        for kind, button in self.line_buttons.items():
            button.setVisible(kind in noticed)
        self.molecule_box.setCurrentIndex(names.index(self.showing.molecule) if self.showing.molecule in names else -1)
        if self.device_box.currentText() != self.session.computing.device:
            self.device_box.setCurrentText(self.session.computing.device)

    def run(self, command: Command, arguments: Sequence[Any]) -> None:
        """Run a command; the status line says what came of it, or PyMOL where the window was closed meanwhile."""
        try:
            text, failed = command.run(self.session, arguments).text, False
        except Exception as error:
            text, failed = of_error(error), True
        self.say(text, error=failed)
        if text and not self.isVisible():
            self.session.host.say(text)

    def ask_and_save(self, kind: type[SavePicture | SaveFilm]) -> None:
        """Ask how a picture or a film is to be, then where it goes, and save it."""
        dialog = kind(self.session, self)
        if dialog.exec_() == QtWidgets.QDialog.Accepted:
            start = f"{self.showing.current() or self.showing.molecule or 'orbitile'}.{suffix_of(dialog.pattern)}"
            path = ask_target(self, dialog.title, start, dialog.pattern)
            if path is not None:
                self.say(f"Drawing {path.name} …")
                self.run(*dialog.call(path))
        dialog.deleteLater()
        take_keys(self)

    # ---- what the user does

    def _look(self) -> None:
        share = self.browser.share
        self.progress.setRange(0, 0 if share is None else 100)  # a bar that moves, where nobody knows how far it is
        self.progress.setValue(int(100 * (share or 0)))
        try:
            self.browser.tick()
        except Exception as error:  # it is called a hundred times a second: told once, where it is seen
            self.say(f"internal error (please report): {type(error).__name__}: {error}", error=True)
            if repr(error) not in self._reported_errors:
                self._reported_errors.add(repr(error))
                traceback.print_exc()

    def _show_selected(self, level: Level) -> None:
        self.diagram.choose(level.spin, level.index)
        self.field_edit.setModified(False)
        self.showing.ask_for(level)

    def _show_typed(self) -> None:
        self.field_edit.completer().popup().hide()
        self.field_edit.setModified(False)
        self.showing.ask_for_named(self.field_edit.text().strip())  # as typed: it may name a file

    def _slide(self, at: int) -> None:
        low, high = self.showing.isovalue_range
        isovalue = min(max(float(f"{low * (high / low) ** (at / _STEPS):.3g}"), low), high)
        self.iso_edit.setText(f"{isovalue:.4g}")
        self.showing.slide_to(isovalue)
        self.auto_box.setChecked(self.showing.choices.automatic)

    def _ask_file(self) -> None:
        recent = self.showing.settings["recent"]
        folder = str(Path(recent[0]).parent) if recent else ""
        title = "Open the output of quantum-chemistry programs"
        paths, _ = QtWidgets.QFileDialog.getOpenFileNames(self, title, folder, files_to_open())
        self.open(*paths)
        take_keys(self)

    def _ask_colours(self, name: str) -> None:
        """Let the user change what the colours of a surface in the list come from: two colours, or a scale."""
        self.browser.molecules.choose_surface(name)
        if self.colour_scale.isVisible():
            self.colour_scale.edit_range()
        else:
            self.pair_button.menu().popup(QtGui.QCursor.pos())

    def _ask_export(self, name: str, pattern: str) -> None:
        """Ask where a surface or its volume is to be written, and write it; the suffix of the file decides how."""
        path = ask_target(self, "Save", name, pattern)
        take_keys(self)
        if path is not None:
            self.run(commands.orb_export, [str(path), name])

    def _analysis_subject(self) -> str:
        """Molecule that analyses are offered for: the chosen one, else any object with atoms."""
        return self.showing.molecule or next(iter(self.session.host.structures()), "")

    def _open_analysis(self, name: str) -> None:
        """Open the window of analyses at one of them; it begins at once where nothing has to be asked."""
        self.analysis_window().open(name, self._analysis_subject())

    def _enable(self) -> None:
        for widget in (self.table, self.show_button, self.diagram):
            widget.setEnabled(self.showing.wavefunction is not None)
        for widget in (self.iso_slider, self.iso_edit, self.second_box, self.export_button):
            widget.setEnabled(bool(self.showing.current()))

    # ---- menus

    def _fill_opening_menu(self) -> None:
        """Offer recent files, and what becomes of the view when one is opened."""
        menu, molecules, recent = self.opening_menu, self.browser.molecules, self.showing.settings["recent"]
        menu.clear()
        for path in recent:
            menu.addAction(path, partial(self.open, path))
        if not recent:
            menu.addAction("No recent files").setEnabled(False)
        menu.addSection("When a file is opened")
        for name, text in _VIEWS.items():
            action = menu.addAction(text, partial(molecules.choose_opening_view, name))
            action.setCheckable(True)
            action.setChecked(name == molecules.opening_view())

    def _offer_styles(self, styles: list[str], style: str) -> None:
        """Offer the styles in which the surface can be drawn, and the one that it is drawn in."""
        offered = styles if style in styles else [*styles, style]
        if offered != [self.style_box.itemText(n) for n in range(self.style_box.count())]:
            self.style_box.clear()
            self.style_box.addItems(offered)
        self.style_box.setCurrentText(style)

    def _open_surface_menu(self, name: str, where: Any) -> None:
        """Offer what can be done with a surface."""
        menu, showing, shown = QtWidgets.QMenu(self), self.showing, self.session.shelf[name]
        is_visible = name in visible(self.session)
        menu.addAction("Hide" if is_visible else "Show", lambda: showing.set_visible(name, not is_visible))
        kept = menu.addAction("Keep", lambda: showing.keep(name, not shown.kept))
        kept.setCheckable(True)
        kept.setChecked(shown.kept)
        styles = menu.addMenu("Style")
        for style in self.session.styles_of(shown.request):
            action = styles.addAction(style.capitalize(), partial(self._restyle, name, style))
            action.setCheckable(True)
            action.setChecked(style == shown.look.style)
        menu.addAction("Colours…", partial(self._ask_colours, name))
        menu.addSeparator()
        menu.addAction("Save volume…", partial(self._ask_export, name, volumes_to_export()))
        menu.addAction("Save surface…", partial(self._ask_export, name, surfaces_to_export()))
        menu.addAction("Save picture…", partial(self.ask_and_save, SavePicture))
        menu.addSeparator()
        self._add_copying(menu, [name])
        menu.addSeparator()
        menu.addAction("Delete", lambda: showing.delete(name))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(where)

    def _restyle(self, name: str, style: str) -> None:
        self.browser.molecules.choose_surface(name)
        self.showing.change_look(style=style)

    def _fill_more_menu(self) -> None:
        """Offer what can be done with all that is shown."""
        menu = self.more_menu
        menu.clear()
        menu.addAction("Save picture…", partial(self.ask_and_save, SavePicture))
        menu.addAction("Save film…", partial(self.ask_and_save, SaveFilm))
        menu.addSeparator()
        self._add_copying(menu, visible(self.session))
        menu.addSeparator()
        menu.addAction("Manual\tF1", lambda: open_manual(self))  # the key is that of the window
        menu.addAction("List of commands", lambda: open_manual(self, COMMANDS))

    def _add_copying(self, menu: Any, names: Sequence[str]) -> None:
        cmd = self.session.host.cmd  # type: ignore[attr-defined]  # it is a PyMOLViewer
        for text, lines in (
            ("Copy commands", lambda: "\n".join(pymol_lines(self.session, cmd, names))),
            ("Copy orbitile render line", lambda: render_line(self.session, names)),
        ):
            menu.addAction(text, partial(self._copy, lines)).setEnabled(bool(names))

    def _copy(self, lines: Any) -> None:
        """Copy the text that a function gives."""
        try:
            text = lines()
        except Exception as error:
            self.say(of_error(error), error=True)
            return
        QtWidgets.QApplication.clipboard().setText(text)
        first, *others = text.splitlines()
        self.say(f"Copied: {first}" + (f", and {len(others)} more lines" if others else ""), detail=text)

    def _ask_region(self, title: str, selection: str) -> None:
        ask_region(self.session, title, selection, self, partial(self.run, commands.orb_region))

    # ---- a live molecule

    def _begin_live(self, name: str, *level: Any) -> None:
        name = name or self.showing.molecule or next(reversed(self.session.host.structures()), "")
        if name:
            self._tell_live(self.browser.live.start(name, *level))
        else:
            self.live_bar.refuse("PyMOL has no molecule: load one, or build one (Build > Fragment)")

    def _tell_live(self, problem: str) -> None:
        if problem:
            self.live_bar.refuse(problem)

    def _ask_path(self) -> None:
        live = self.browser.live.status
        path = None if live is None else ask_target(self, "Save path", f"{live.molecule}.h5", SERIES)
        take_keys(self)
        if path is not None:
            self._tell_live(self.browser.live.save_path(path))

    # ---- where it is

    def _remember(self) -> None:
        self.showing.remember(**self.place)

    def closeEvent(self, event: Any) -> None:
        self.browser.cancel(saving=False)
        self._remember()
        super().closeEvent(event)

    def _leave(self) -> None:
        self._remember()
        self._timer.stop()
        self.browser.close()
