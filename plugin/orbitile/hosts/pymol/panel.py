"""The window Plugin > Orbitile: widgets, and what they say to `orbitile.session.window.browser` and it to them."""

from __future__ import annotations

import math
import traceback
from pathlib import Path
from typing import Any

from pymol.Qt import QtCore, QtGui, QtWidgets

from ...pictures.orbitals import Level, summary
from ...pictures.words import unit_in_print
from ...session.live.status import LiveStatus
from ...session.seen import Listed
from ...session.session import Session
from ...session.window.browser import Browser
from ...session.window.choices import TWO_COLOURS, choices_of
from ...session.window.view import Finding, Playback
from .analysis_window import AnalysisWindow
from .dropping import Dropping
from .file_filters import files_to_export, files_to_open
from .help import add_help
from .layout import STEPS, PanelLayout
from .live_actions import connect_live
from .menus import ask_export, fill_more_menu, fill_surface_menu
from .placing import put_beside
from .saving import SavePicture
from .widgets import breakable, offer, take_keys

Qt = QtCore.Qt

_WELCOME = "Open the output of a quantum-chemistry program, or drop it here."
_LOOK = 10
"""Milliseconds between two looks at what is under way."""
_FOLLOW = 500
"""Milliseconds between two looks at what was changed at PyMOL's prompt."""


class Panel(PanelLayout):
    """The window.

    Parameters
    ----------
    session
        Of the PyMOL that it controls.
    window
        Main window that it belongs to.
    """

    def __init__(self, session: Session, window: Any) -> None:
        kept = session.host.settings()
        super().__init__(window, choices_of(kept), kept.get("live"))
        self.session = session
        self.browser = Browser(session, self)
        self.showing = self.browser.showing
        self._defects: set[str] = set()
        self._analysis_window: AnalysisWindow | None = None
        self._connect()
        self.placed.connect(self._remember)
        add_help(self)
        Dropping(self, lambda paths: self.open(*paths))
        put_beside(self, window, self.showing.settings)
        self._timer = QtCore.QTimer(self)
        self._timer.timeout.connect(self._look)
        self._timer.start(_LOOK)
        self._follow_timer = QtCore.QTimer(self)
        self._follow_timer.timeout.connect(self.refresh)
        self._follow_timer.start(_FOLLOW)
        QtWidgets.QApplication.instance().aboutToQuit.connect(self._leave)
        self.refresh()
        if not self.showing.molecule:
            self.say(_WELCOME)

    def _connect(self) -> None:
        """What the user does to the widgets is done."""
        browser = self.browser
        self.open_button.clicked.connect(self._ask_file)
        menu = self.opening_menu
        menu.aboutToShow.connect(lambda: menu.fill(self.showing.settings["recent"], browser.molecules.opening_view()))
        menu.file_chosen.connect(lambda path: self.open(path))
        menu.view_chosen.connect(browser.molecules.choose_opening_view)
        self.molecule_box.activated.connect(lambda at: browser.molecules.choose(self.molecule_box.itemText(at)))
        self.filter_edit.textChanged.connect(self.table.set_filter)
        self.orbitals_box.activated.connect(lambda at: browser.localising.choose(self.orbitals_box.itemData(at)))
        self.table.chosen.connect(self._selected)
        self.table.unit_changed.connect(self.diagram.set_unit)
        self.diagram.picked.connect(lambda level: self.select(level.spin, level.index))
        self.table.unit_changed.connect(self.showing.choose_unit)
        self.field_menu.field_chosen.connect(self.showing.ask_for_named)
        self.field_menu.preset_chosen.connect(browser.show_preset)
        shown = self.shown_list
        shown.chosen.connect(browser.molecules.choose_surface)
        shown.visibility_changed.connect(self.showing.set_visible)
        shown.kept_changed.connect(self.showing.keep)
        shown.deleted.connect(self.showing.delete)
        shown.colours_asked.connect(self._ask_colours)
        shown.menu_asked.connect(self._open_menu)
        self.more_menu.aboutToShow.connect(lambda: fill_more_menu(self.more_menu, self))
        button = self.analyse_button
        button.menu().aboutToShow.connect(lambda: button.fill(browser.analysing.offered(self.analysis_subject())))
        button.chosen.connect(self.open_analysis)
        self.colour_scale.range_changed.connect(self.showing.choose_range)
        self.frame_bar.played.connect(browser.playing.play)
        self.frame_bar.stepped.connect(browser.playing.step)
        self.frame_bar.moved.connect(browser.playing.go_to)
        self.frame_bar.rated.connect(browser.playing.choose_rate)
        connect_live(self)
        self.field_edit.returnPressed.connect(self._show_typed)
        self.show_button.clicked.connect(self._show_typed)
        self.iso_slider.valueChanged.connect(self._slid)
        self.iso_edit.editingFinished.connect(lambda: self.showing.choose_isovalue(self.iso_edit.text()))
        self.auto_box.clicked.connect(self.showing.choose_automatic)
        self.quality_box.currentTextChanged.connect(self.showing.set_quality)
        self.quality_box.activated.connect(lambda: self.showing.compute_anew())
        self.device_box.activated.connect(lambda: self.showing.choose_device(self.device_box.currentText()))
        self.pair_button.chosen.connect(lambda pair: self.showing.change_look(colours=pair))
        self.second_box.activated.connect(lambda at: self.showing.choose_second(self.second_box.itemText(at)))
        self.transparency_slider.valueChanged.connect(lambda at: self.showing.change_look(transparency=at / 100))
        self.style_box.activated.connect(lambda: self.showing.change_look(style=self.style_box.currentText()))
        self.picture_button.clicked.connect(lambda: SavePicture.ask(self))
        self.export_button.clicked.connect(lambda: ask_export(self, self.showing.current(), files_to_export()))
        self.cancel_button.clicked.connect(lambda: self.cancel())

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
        choices, shown, isovalue = (
            self.showing.choices,
            self.showing.shown(),
            self.showing.isovalue,
        )
        look = choices.look if shown is None else shown.look
        low, high = self.showing.isovalue_range
        at = math.log(max(isovalue, low) / low) / math.log(high / low) if high > low else 0.0
        self.iso_slider.blockSignals(True)
        self.iso_slider.setValue(round(STEPS * min(max(at, 0.0), 1.0)))
        self.iso_slider.blockSignals(False)
        self.iso_edit.setText(f"{isovalue:.4g}" if shown is not None else "")
        self.iso_unit.setText("" if shown is None else unit_in_print(shown.unit))
        self.auto_box.setVisible(self.showing.acts_on_orbital())
        self.auto_box.setChecked(self.showing.is_automatic)
        self.pair_button.show_pair(look.colours)
        self.style_box.setCurrentText(look.style)
        if not self.transparency_slider.isSliderDown():
            self.transparency_slider.blockSignals(True)
            self.transparency_slider.setValue(round(100 * look.transparency))
            self.transparency_slider.blockSignals(False)
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

    def take_up(self, molecule: str) -> None:
        """Show a molecule that was loaded by PyMOL's own ways."""
        self.browser.molecules.take_up(molecule)

    def analysis_window(self) -> AnalysisWindow:
        """The window of analyses, which is made when it is first wanted."""
        if self._analysis_window is None:
            self._analysis_window = AnalysisWindow(self.browser.analysing, self)
        return self._analysis_window

    def analysis_subject(self) -> str:
        """Molecule that analyses are offered for: the chosen one, else any object with atoms."""
        return self.showing.molecule or next(iter(self.session.host.structures()), "")

    def open_analysis(self, name: str) -> None:
        """Open the window of analyses at one of them; it begins at once where nothing has to be asked."""
        self.analysis_window().open(name, self.analysis_subject())

    def export(self, path: str | Path) -> None:
        """Write what is shown; the suffix of the file decides how."""
        self.browser.writing.export(path)

    def cancel(self) -> bool:
        """Withdraw what is under way; says whether there was anything."""
        return self.browser.cancel()

    def at_rest(self) -> bool:
        """Whether everything that was asked for is shown."""
        return self.browser.at_rest()

    def select(self, spin: str, index: int) -> None:
        """Select an orbital in the table, which shows it."""
        level = self.table.choose(spin, index)
        if level is not None:
            self._selected(level)

    def refresh(self) -> None:
        """Follow what was changed at PyMOL's prompt."""
        self.browser.molecules.follow()
        names = list(self.session.host.molecules())
        if names != [self.molecule_box.itemText(at) for at in range(self.molecule_box.count())]:
            self.molecule_box.clear()
            self.molecule_box.addItems(names)
        self.molecule_box.setCurrentIndex(names.index(self.showing.molecule) if self.showing.molecule in names else -1)
        if self.device_box.currentText() != self.session.computing.device:
            self.device_box.setCurrentText(self.session.computing.device)

    # ---- what the user does

    def _look(self) -> None:
        share = self.browser.share
        self.progress.setRange(0, 0 if share is None else 100)  # a bar that moves, where nobody knows how far it is
        self.progress.setValue(int(100 * (share or 0)))
        try:
            self.browser.tick()
        except Exception as error:  # it is called a hundred times a second: told once, where it is seen
            self.say(f"defect of Orbitile: {type(error).__name__}: {error}", error=True)
            if repr(error) not in self._defects:
                self._defects.add(repr(error))
                traceback.print_exc()

    def _selected(self, level: Level) -> None:
        self.diagram.choose(level.spin, level.index)
        self.field_edit.setModified(False)
        self.showing.ask_for(level)

    def _show_typed(self) -> None:
        self.field_edit.completer().popup().hide()
        self.field_edit.setModified(False)
        self.showing.ask_for_named(self.field_edit.text().strip())  # as typed: it may name a file

    def _slid(self, at: int) -> None:
        low, high = self.showing.isovalue_range
        isovalue = min(max(float(f"{low * (high / low) ** (at / STEPS):.3g}"), low), high)
        self.iso_edit.setText(f"{isovalue:.4g}")
        self.showing.slide_to(isovalue)
        self.auto_box.setChecked(self.showing.choices.automatic)

    def _ask_file(self) -> None:
        recent = self.showing.settings["recent"]
        paths, _ = QtWidgets.QFileDialog.getOpenFileNames(
            self,
            "Open the output of quantum-chemistry programs",
            str(Path(recent[0]).parent) if recent else "",
            files_to_open(),
        )
        self.open(*paths)
        take_keys(self)

    def _ask_colours(self, name: str) -> None:
        """Let the user change what the colours of a surface in the list come from: two colours, or a scale."""
        self.browser.molecules.choose_surface(name)
        if self.colour_scale.isVisible():
            self.colour_scale.edit_range()
        else:
            self.pair_button.menu().popup(QtGui.QCursor.pos())

    def _open_menu(self, name: str, where: Any) -> None:
        menu = QtWidgets.QMenu(self)
        fill_surface_menu(menu, self, name)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(where)

    def _enable(self) -> None:
        for widget in (self.table, self.show_button, self.diagram):
            widget.setEnabled(self.showing.wavefunction is not None)
        for widget in (self.iso_slider, self.iso_edit, self.second_box, self.export_button):
            widget.setEnabled(bool(self.showing.current()))

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
