"""The window of analyses: parameters of one, what it finds in tabs, and what can be done with that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pymol.Qt import QtCore, QtWidgets

from ...analysis.presentation import FORMATS, draw_plot
from ...analysis.reports import Analysis, analysis_named
from ...base.arguments import ATOMS, FLAG, FRAGMENTS, PATHS, Argument, atom_list
from ...base.errors import OrbitileError
from ...fields import field_names
from ...model.report import AtomValues, Paths, Report, ResidueValues
from ...pictures.words import of_error
from ...session.window.analysing import Analysing
from ...session.window.view import Finding
from .help import ANALYSES, add_help, explain, help_button
from .motion_bar import MotionBar
from .placing import Place, ToolWindow, frame_of, kept_place, move, places_with, screen_of
from .report_view import ReportView
from .saving import SaveFilm, ask_target
from .widgets import narrow_box, row, row_widget, stage_colour, take_keys

Qt = QtCore.Qt

_STEPS = 200
"""Steps of a slider of a parameter."""
_LOOK = 60
"""Interval in milliseconds at which the progress of an analysis is shown."""
_MOMENT = 30
"""Time in milliseconds after which a quick analysis is done anew when a parameter has changed."""
_KEPT = "analysis"
"""Key in the settings under which the place of the window is kept."""
_TABLES, _PLOTS = "Tables (*.csv);;Tables (*.json)", "Plots (*.svg);;Plots (*.png);;Plots (*.pdf)"
_NOTHING_SELECTED = "No atom of this molecule is selected: click on atoms in PyMOL, then here."


class AnalysisWindow(ToolWindow):
    """The window.

    Parameters
    ----------
    analysing : Analysing
        Does what the user wants.
    panel : ToolWindow
        Window that it belongs to.
    list_of
        Part of that window which it may cover where the screen is small.
    """

    def __init__(self, analysing: Analysing, panel: ToolWindow, list_of: Any) -> None:
        main = panel.parentWidget()
        super().__init__("Analysis", main)
        self.setObjectName("orbitile_analysis")
        explain(self, ANALYSES)
        self.analysing, self.panel, self._list_of = analysing, panel, list_of
        self.name = self._mode = ""
        self.form: Any = None
        self._given: dict[str, dict[str, str]] = {}
        self._build()
        add_help(self)
        main.addDockWidget(Qt.RightDockWidgetArea, self)
        self._put(main)
        self.placed.connect(self._remember)
        self._again = QtCore.QTimer(self, timeout=self._run_again, singleShot=True)
        self._timer = QtCore.QTimer(self, timeout=self._look)
        self._timer.start(_LOOK)

    # ---- how it looks

    def _build(self) -> None:
        self.title = QtWidgets.QLabel()
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        self.molecule_box = narrow_box("Molecule that is analysed")
        self.molecule_box.activated.connect(lambda at: self._check_parameters())
        self.run_button = QtWidgets.QPushButton("Run", default=True, clicked=self.run)
        self.cancel_button = QtWidgets.QPushButton("Cancel", clicked=self.analysing.cancel)
        self.progress = QtWidgets.QProgressBar(maximum=100)
        self.follow_box = QtWidgets.QCheckBox(
            "Follow",
            toggled=self._set_follows,
            toolTip="Repeat the analysis when the atoms move or another frame is shown",
        )
        self.status = QtWidgets.QLabel(wordWrap=True, textInteractionFlags=Qt.TextSelectableByMouse)
        self.form_place = QtWidgets.QVBoxLayout()
        self.view = ReportView()
        self.view.row_chosen.connect(self.analysing.choose_row)
        self.view.field_chosen.connect(self.analysing.show_field)
        self.view.currentChanged.connect(lambda at: self._enable())
        button = QtWidgets.QPushButton
        tip = "Copy this tab: a table with tabs between columns, a plot as a picture"
        self.copy_button = button("Copy", clicked=self._copy, toolTip=tip)
        tables, plot = partial(self._ask, "Save tables", _TABLES), partial(self._ask, "Save plot", _PLOTS)
        self.tables_button = button("Tables…", clicked=tables, toolTip="Save all tables as .csv, or as one .json")
        self.plot_button = button("Plot…", clicked=plot, toolTip="Save the plot of this tab as .svg, .png or .pdf")
        self.drawings_button = QtWidgets.QToolButton(
            text="Drawings",
            checkable=True,
            popupMode=QtWidgets.QToolButton.MenuButtonPopup,
            toolTip="Drawings at the molecule: a click shows all or none, the arrow lists them",
        )
        self.drawings_button.setMenu(QtWidgets.QMenu(self))
        self.drawings_button.menu().aboutToShow.connect(self._fill_drawings)
        self.drawings_button.clicked.connect(self._toggle_drawings)
        tip = "Show the surfaces that belong to the result"
        self.surfaces_button = button("Surfaces", clicked=self.analysing.show_surfaces, toolTip=tip)
        inside = QtWidgets.QWidget(self)
        outer = QtWidgets.QVBoxLayout(inside)
        outer.setContentsMargins(8, 8, 8, 6)
        outer.addLayout(row(self.title, self.molecule_box, help_button(self, ANALYSES), stretch=1))
        outer.addLayout(self.form_place)
        outer.addLayout(row(self.run_button, self.cancel_button, self.follow_box, self.progress, stretch=3))
        outer.addWidget(self.status)
        outer.addWidget(self.view, 1)
        self.motion_bar = MotionBar(self.analysing.vibrating, lambda: self.panel.ask_and_save(SaveFilm), self)
        outer.addWidget(self.motion_bar)
        buttons = (self.copy_button, self.tables_button, self.plot_button, self.drawings_button, self.surfaces_button)
        outer.addLayout(row(*buttons, None))
        self.setWidget(inside)
        self._enable()  # a window is as wide as the buttons that are seen

    def _put(self, main: Any) -> None:
        """Where it was left, unless that covers the panel; at first beside both, see `places_with`."""
        kept = self.analysing.showing.settings.get(_KEPT)
        kept = kept if isinstance(kept, dict) else {}
        self.setFloating(bool(kept.get("floating", True)))
        if not self.isFloating():
            return
        screen, panel = screen_of(main, kept), self.panel
        there, place = frame_of(panel), kept_place(kept, screen)
        if place is None or (panel.isVisible() and place.covers(there)):
            corner = self._list_of.mapToGlobal(QtCore.QPoint(0, 0))
            covered = Place(there.x, corner.y(), there.width, self._list_of.height())
            host, beside, place = places_with(frame_of(main), there, covered, screen)
            move(main, host)
            if panel.isFloating():
                move(panel, beside)
        self.setGeometry(*place)

    def _remember(self) -> None:
        self.analysing.showing.remember(**{_KEPT: self.place})

    def _say(self, text: str, kind: str = "") -> None:
        """Tell something: a warning, that something failed, or plain."""
        colour = {"warning": "converging", "failed": "failed"}.get(kind)
        style = f"color: {stage_colour(colour, self.palette()).name()}" if colour else ""
        self.status.setStyleSheet(style)
        self.status.setText(text)
        self.status.setVisible(bool(text))

    # ---- which analysis, of what

    @property
    def module(self) -> Analysis:
        """The analysis that is chosen."""
        return analysis_named(self.name)

    def open(self, name: str, molecule: str) -> None:
        """Turn to an analysis; it begins at once where nothing has to be asked, and it takes no time."""
        if name != self.name:
            self._turn_to(name)
        self._offer_molecules(molecule)
        self.show()
        self.raise_()
        self.activateWindow()
        self.run_button.setFocus()
        if not self.form.missing(self.module.PARAMETERS) and not self._warning():
            self.run()

    def _turn_to(self, name: str) -> None:
        if self.form is not None:
            self._given[self.name] = self.form.given()
            self.form_place.removeWidget(self.form)
            self.form.deleteLater()
        if self.analysing.finding is not None and self.analysing.finding.order.name != name:
            self.analysing.forget()
            self.view.show_report(None)
        self.name = name
        self.title.setText(self.module.TITLE)
        self.setWindowTitle(f"Analysis: {self.module.TITLE}")
        self.form = ParameterForm(self.module.PARAMETERS, self._selected_atoms)
        self.form.fill(self._given.get(name, {}))
        self.form.changed.connect(self._check_parameters)
        self.form.entered.connect(self.run)
        self.form.setVisible(bool(self.module.PARAMETERS))
        self.form_place.addWidget(self.form)
        self._say("")
        self._enable()

    def _selected_atoms(self) -> tuple[int, ...]:
        return self.analysing.session.host.selected(self.molecule_box.currentText())

    def _offer_molecules(self, chosen: str = "") -> None:
        names, before = self.analysing.subjects(self.name), self.molecule_box.currentText()
        if names != [self.molecule_box.itemText(at) for at in range(self.molecule_box.count())]:
            self.molecule_box.clear()
            self.molecule_box.addItems(names)
        wanted = chosen or before
        self.molecule_box.setCurrentIndex(names.index(wanted) if wanted in names else len(names) - 1)

    def _warning(self) -> str:
        """What there is to say before it begins, which is told; empty for nothing."""
        try:
            warning: str = self.analysing.warning(self.name, self.molecule_box.currentText(), self.form.given())
        except OrbitileError as error:
            self._say(str(error), "failed")
            return str(error)
        self._say(warning, "warning")
        return warning

    def _check_parameters(self) -> None:
        """Parameters, or the molecule, are others than those of what is shown."""
        if self.module.INSTANT:
            self._again.start(_MOMENT)
        elif self.form.missing(self.module.PARAMETERS):
            self._say("")
        else:
            self._warning()

    # ---- running

    def _run_again(self) -> None:
        """Do a quick analysis with what is filled in now, once the one before is there."""
        if self.analysing.is_busy():
            self._again.start(_MOMENT)
        elif self._report() is not None:
            self.run()

    def run(self) -> None:
        """Analyse."""
        missing = self.form.missing(self.module.PARAMETERS)
        if missing:
            self._say(f"Fill in {missing.replace('_', ' ')} first.", "failed")
            return
        problem = self.analysing.analyse(self.name, self.molecule_box.currentText(), self.form.given())
        if problem:
            self._say(problem, "failed")

    def _set_follows(self, follows: bool) -> None:
        self.analysing.follows = follows
        if follows and self.analysing.finding is not None and self.analysing.finding.is_stale:
            self.run()

    def show_finding(self, finding: Finding) -> None:
        """Show an analysis that was asked for."""
        if finding.order.name != self.name:
            return
        if finding.report is not None:
            self.view.show_report(finding.report)
            self._say(_describe(finding), "warning" if finding.is_stale else "")
        elif finding.problem:
            self._say(finding.problem, "" if finding.problem == "Cancelled." else "failed")
        self._enable()
        QtCore.QTimer.singleShot(0, self._stay_on_screen)

    def _stay_on_screen(self) -> None:
        """Move up or to the left where what is shown needs more room than there was."""
        there, screen = frame_of(self), Place(*self.screen().availableGeometry().getRect())
        x, y = min(there.x, screen.right - there.width), min(there.y, screen.bottom - there.height)
        if self.isFloating() and (x, y) != (there.x, there.y):
            self.move(max(x, screen.x), max(y, screen.y))

    def _look(self) -> None:
        """Show how far it is, and which molecules there are."""
        if not (self.isVisible() and self.name):
            return
        if self.follow_box.isChecked() != self.analysing.follows:
            with QtCore.QSignalBlocker(self.follow_box):
                self.follow_box.setChecked(self.analysing.follows)
        running = self.analysing.finding is not None and self.analysing.finding.is_running
        self.progress.setVisible(running)
        self.motion_bar.follow()
        now = self.analysing.session.motion.now
        mode = "" if now is None else f"mode:{now.mode}"
        if mode != self._mode:  # at the prompt, too
            self._mode = mode
            self.view.mark(mode)
        self.progress.setValue(round(100 * self.analysing.share))
        self.cancel_button.setEnabled(running)
        self.run_button.setEnabled(self.molecule_box.count() > 0)
        if not self.molecule_box.view().isVisible():
            self._offer_molecules()

    # ---- what can be done with what was found

    def _report(self) -> Report | None:
        return None if self.analysing.finding is None else self.analysing.finding.report

    def _enable(self) -> None:
        report = self._report()
        self.copy_button.setEnabled(report is not None)
        self.tables_button.setEnabled(report is not None and bool(report.tables))
        self.plot_button.setVisible(self.view.plot() is not None)
        self.drawings_button.setVisible(report is not None and bool(report.drawings))
        self.drawings_button.setChecked(bool(self.analysing.drawings_shown()))
        self.surfaces_button.setVisible(report is not None and bool(report.surfaces))
        self.motion_bar.setVisible(report is not None and self.module.KIND == "vibrations")

    def _copy(self) -> None:
        self.view.copy(QtWidgets.QApplication.clipboard())
        self._say("Copied.")

    def _ask(self, title: str, pattern: str, checked: bool = False) -> None:
        finding = self.analysing.finding
        if finding is None:
            return
        path = ask_target(self.panel, title, f"{finding.molecule}-{self.name}", pattern)
        take_keys(self)
        if path is not None:
            self.save(path)

    def save(self, path: Path) -> None:
        """Write all tables (.csv, .json), or the plot of this tab (.svg, .png, .pdf)."""
        plot, problem = self.view.plot(), ""
        if path.suffix.lower() in FORMATS and plot is not None:
            try:
                draw_plot(plot.seen(), path)
            except (OrbitileError, OSError) as error:
                problem = of_error(error)
        else:
            problem = self.analysing.save(path)
        self._say(problem or f"Wrote {path}", "failed" if problem else "")

    def _fill_drawings(self) -> None:
        menu, report, shown = self.drawings_button.menu(), self._report(), self.analysing.drawings_shown()
        menu.clear()
        for drawing in () if report is None else report.drawings:
            content = "values at atoms" if isinstance(drawing, AtomValues) else _how_many(drawing)
            action = menu.addAction(f"{drawing.name.replace('_', ' ')}: {content}")
            action.setCheckable(True)
            action.setChecked(drawing in shown)
            action.toggled.connect(partial(self._set_drawing, drawing))

    def _set_drawing(self, drawing: Any, shown: bool) -> None:
        report, now = self._report(), self.analysing.drawings_shown()
        if report is not None:
            wanted = [other for other in report.drawings if (shown if other is drawing else other in now)]
            self.analysing.show_drawings(wanted)
        self._enable()

    def _toggle_drawings(self) -> None:
        report = self._report()
        if report is not None:
            self.analysing.show_drawings(() if self.analysing.drawings_shown() else report.drawings)
        self._enable()

    def closeEvent(self, event: Any) -> None:
        self.analysing.cancel()
        self.analysing.vibrating.stop()
        self._remember()
        super().closeEvent(event)


def _how_many(drawing: Any) -> str:
    if isinstance(drawing, Paths):
        return f"{len(drawing.lines)} lines"
    if isinstance(drawing, ResidueValues):
        return f"colours of {len(drawing.residues)} residues"
    return f"{len(drawing.positions)} points"


def _describe(finding: Finding) -> str:
    frame = "" if finding.order.frame is None else f", frame {finding.order.frame + 1}"
    title = finding.report.title if finding.report is not None else ""
    told = f"{title}: {finding.molecule}{frame}"
    return f"{told}. The molecule has changed since: press Run, or tick Follow." if finding.is_stale else told


class ParameterForm(QtWidgets.QWidget):  # type: ignore[misc]  # Qt has no types here
    """Widgets for parameters.

    Parameters
    ----------
    parameters : sequence of Argument
    selected : callable
        Gives the atoms, from 0, that the user has selected in the molecule.

    Attributes
    ----------
    changed : signal
        The user has changed a parameter.
    entered : signal
        Return was pressed.
    """

    changed = QtCore.Signal()
    entered = QtCore.Signal()

    def __init__(
        self, parameters: Sequence[Argument], selected: Callable[[], Sequence[int]], parent: Any = None
    ) -> None:
        super().__init__(parent)
        self._selected_atoms = selected
        self.inputs: dict[str, Any] = {}
        self._grid = QtWidgets.QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(4)
        at = 0  # of the halves of rows, that of the next parameter
        for parameter in parameters:
            at = self._add(parameter, at)
        for column in (1, 3):
            self._grid.setColumnStretch(column, 1)

    def _add(self, parameter: Argument, at: int) -> int:
        """Put a parameter into half a row, one of atoms into a whole one; gives the half that is free then."""
        widget, shown = self._input(parameter)
        label = QtWidgets.QLabel(_sentence(parameter.name.replace("_", " ")))
        for part in {widget, shown, label}:
            part.setToolTip(_sentence(parameter.help))
        is_wide = shown is not widget and parameter.slider is None
        at += at % 2 if is_wide else 0
        self._grid.addWidget(label, at // 2, 2 * (at % 2))
        self._grid.addWidget(shown, at // 2, 2 * (at % 2) + 1, 1, 3 if is_wide else 1)
        self.inputs[parameter.name] = widget
        return at + (2 if is_wide else 1)

    def given(self) -> dict[str, str]:
        """What is filled in, by name; what is left empty is left out."""
        texts = {name: _text(widget) for name, widget in self.inputs.items()}
        return {name: text for name, text in texts.items() if text}

    def fill(self, given: dict[str, str]) -> None:
        """Fill in what was given before."""
        for name, text in given.items():
            widget = self.inputs.get(name)
            if isinstance(widget, QtWidgets.QComboBox):
                widget.setCurrentText(text)
            elif isinstance(widget, QtWidgets.QCheckBox):
                widget.setChecked(text == "1")
            elif widget is not None:
                widget.setText(text)

    def missing(self, parameters: Sequence[Argument]) -> str:
        """The first parameter that has to be given and is not; empty for none."""
        given = self.given()
        return next((one.name for one in parameters if one.required and one.name not in given), "")

    def _input(self, parameter: Argument) -> tuple[Any, Any]:
        """The widget that holds a parameter, and the one that it stands in."""
        kind = parameter.kind
        if kind.choices:
            box = QtWidgets.QComboBox()
            box.addItems(list(kind.choices))
            box.setCurrentText(str(parameter.default))
            box.currentIndexChanged.connect(lambda at: self.changed.emit())
            return box, box
        if kind is FLAG:
            check = QtWidgets.QCheckBox(checked=bool(parameter.default))
            check.toggled.connect(lambda on: self.changed.emit())
            return check, check
        edit = QtWidgets.QLineEdit(placeholderText=_placeholder(parameter), clearButtonEnabled=True)
        edit.textChanged.connect(lambda text: self.changed.emit())
        edit.returnPressed.connect(self.entered)
        if parameter.slider is not None:
            return edit, row_widget(_slider(parameter, edit), edit, stretch=0)
        if parameter.completes == "fields":
            names = [name for name, _ in field_names()]
            edit.setCompleter(QtWidgets.QCompleter(names, edit, caseSensitivity=Qt.CaseInsensitive))
        if kind is PATHS:
            button = QtWidgets.QPushButton("Add…", toolTip="Choose files")
            button.clicked.connect(lambda: self._add_files(edit))
            return edit, row_widget(edit, button)
        if kind not in (ATOMS, FRAGMENTS):
            return edit, edit
        text = "From selection" if kind is ATOMS else "Add selection"
        button = QtWidgets.QPushButton(text, toolTip="Take the atoms that are selected in PyMOL")
        button.clicked.connect(lambda: self._take_selection(edit, several=kind is FRAGMENTS))
        return edit, row_widget(edit, button)

    def _add_files(self, edit: Any) -> None:
        paths, _ = QtWidgets.QFileDialog.getOpenFileNames(self, "Add files")
        edit.setText(" ".join([*filter(None, [edit.text().strip()]), *(f'"{path}"' for path in paths)]))
        take_keys(self)

    def _take_selection(self, edit: Any, several: bool) -> None:
        atoms = atom_list(self._selected_atoms())
        if not atoms:
            QtWidgets.QToolTip.showText(edit.mapToGlobal(edit.rect().bottomLeft()), _NOTHING_SELECTED, edit)
            return
        before = edit.text().strip().rstrip(";")
        edit.setText(f"{before}; {atoms}" if several and before else atoms)


def _slider(parameter: Argument, edit: Any) -> Any:
    """A slider that fills in a number, and follows what is typed."""
    assert parameter.slider is not None
    low, high = parameter.slider
    slider = QtWidgets.QSlider(Qt.Horizontal, maximum=_STEPS, minimumWidth=50)
    edit.setMaximumWidth(edit.fontMetrics().horizontalAdvance("000.00") + 26)
    edit.setClearButtonEnabled(False)

    def follow(text: str) -> None:
        try:
            value = parameter.read(text)
        except OrbitileError:
            return
        with QtCore.QSignalBlocker(slider):
            slider.setValue(round(_STEPS * (min(max(value, low), high) - low) / (high - low)))

    slider.valueChanged.connect(lambda at: edit.setText(f"{low + (high - low) * at / _STEPS:.3g}"))
    edit.textChanged.connect(follow)
    follow("")
    return slider


def _text(widget: Any) -> str:
    if isinstance(widget, QtWidgets.QComboBox):
        return str(widget.currentText())
    if isinstance(widget, QtWidgets.QCheckBox):
        return "1" if widget.isChecked() else "0"
    return str(widget.text()).strip()


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _placeholder(parameter: Argument) -> str:
    otherwise = parameter.otherwise or ("" if parameter.default in ("", None) else str(parameter.default))
    if parameter.kind is ATOMS:
        return f"{otherwise or 'atoms'}: 1-6,9 or a selection such as elem C"
    if parameter.kind is PATHS:
        return f"{otherwise or 'files'}: one.molden other.molden, with a blank between"
    if parameter.kind is FRAGMENTS:
        return f"{otherwise or 'fragments'}: 1-6; 7-12 or selections such as ring = resi 1; rest = resi 2"
    return otherwise
