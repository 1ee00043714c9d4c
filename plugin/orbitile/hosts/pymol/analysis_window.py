"""The window of analyses: parameters of one, what it finds in tabs, and what can be done with that."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pymol.Qt import QtCore, QtWidgets

from ...analysis.reports import Analysis, analysis_named
from ...base.errors import OrbitileError
from ...model.report import AtomValues, Paths, Report
from ...pictures.words import of_error
from ...session.window.analysing import Analysing
from ...session.window.view import Finding
from .analysis_form import ParameterForm
from .help import ANALYSES, add_help, explain, help_button
from .placing import Place, frame_of, kept_place, move, places_with, screen_of
from .report_plot import ReportPlot
from .report_view import ReportView
from .saving import ask_target
from .tints import stage_colour
from .tool_window import ToolWindow
from .widgets import row, take_keys

if TYPE_CHECKING:
    from .panel import Panel

Qt = QtCore.Qt

_LOOK = 60
"""Milliseconds between two looks at how far an analysis is."""
_KEPT = "analysis"
"""Part of the settings: where the window was left."""
_TABLES, _PLOTS = "Tables (*.csv);;Tables (*.json)", "Plots (*.svg);;Plots (*.png)"


class AnalysisWindow(ToolWindow):
    """The window.

    Parameters
    ----------
    analysing : Analysing
        Does what the user wants.
    panel : Panel
        Window that it belongs to.
    """

    def __init__(self, analysing: Analysing, panel: Panel) -> None:
        main = panel.parentWidget()
        super().__init__("Analysis", main)
        self.setObjectName("orbitile_analysis")
        explain(self, ANALYSES)
        self.analysing, self.panel = analysing, panel
        self.name = ""
        self.form: Any = None
        self._given: dict[str, dict[str, str]] = {}
        self._build()
        add_help(self)
        main.addDockWidget(Qt.RightDockWidgetArea, self)
        self._put(main)
        self.placed.connect(self._remember)
        self._timer = QtCore.QTimer(self)
        self._timer.timeout.connect(self._look)
        self._timer.start(_LOOK)

    # ---- how it looks

    def _build(self) -> None:
        self.title = QtWidgets.QLabel()
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        self.molecule_box = QtWidgets.QComboBox()
        self.molecule_box.setToolTip("Molecule that is analysed")
        self.molecule_box.setSizePolicy(QtWidgets.QSizePolicy.Ignored, QtWidgets.QSizePolicy.Fixed)
        self.molecule_box.activated.connect(lambda at: self._changed())
        self.run_button = QtWidgets.QPushButton("Run")
        self.run_button.setDefault(True)
        self.run_button.clicked.connect(self.run)
        self.cancel_button = QtWidgets.QPushButton("Cancel")
        self.cancel_button.clicked.connect(self.analysing.cancel)
        self.progress = QtWidgets.QProgressBar()
        self.progress.setRange(0, 100)
        self.follow_box = QtWidgets.QCheckBox("Follow")
        self.follow_box.setToolTip("Analyse again whenever the molecule moves, or another frame is seen")
        self.follow_box.toggled.connect(self._set_follows)
        self.status = QtWidgets.QLabel()
        self.status.setWordWrap(True)
        self.status.setTextInteractionFlags(Qt.TextSelectableByMouse)
        self.form_place = QtWidgets.QVBoxLayout()
        self.view = ReportView()
        self.view.row_chosen.connect(self.analysing.choose_row)
        self.view.field_chosen.connect(self.analysing.show_field)
        self.view.currentChanged.connect(lambda at: self._enable())
        self.copy_button = _button("Copy", "Copy this tab: a table with tabs between columns, a plot as a picture")
        self.copy_button.clicked.connect(self._copy)
        self.tables_button = _button("Tables…", "Save all tables as .csv, or as one .json")
        self.tables_button.clicked.connect(partial(self._ask, "Save tables", _TABLES))
        self.plot_button = _button("Plot…", "Save the plot of this tab as it is seen, as .svg or .png")
        self.plot_button.clicked.connect(partial(self._ask, "Save plot", _PLOTS))
        self.drawings_button = QtWidgets.QToolButton()
        self.drawings_button.setText("Drawings")
        self.drawings_button.setToolTip("What is drawn at the molecule: all or nothing by a click, else by the arrow")
        self.drawings_button.setCheckable(True)
        self.drawings_button.setPopupMode(QtWidgets.QToolButton.MenuButtonPopup)
        self.drawings_button.setMenu(QtWidgets.QMenu(self))
        self.drawings_button.menu().aboutToShow.connect(self._fill_drawings)
        self.drawings_button.clicked.connect(self._toggle_drawings)
        self.surfaces_button = _button("Surfaces", "Show the surfaces that belong to what was found")
        self.surfaces_button.clicked.connect(self.analysing.show_surfaces)
        inside = QtWidgets.QWidget(self)
        outer = QtWidgets.QVBoxLayout(inside)
        outer.setContentsMargins(8, 8, 8, 6)
        heading = row(self.title, self.molecule_box, help_button(self, ANALYSES))
        heading.setStretch(1, 1)
        outer.addLayout(heading)
        outer.addLayout(self.form_place)
        running = row(self.run_button, self.cancel_button, self.follow_box, self.progress)
        running.setStretch(3, 1)
        outer.addLayout(running)
        outer.addWidget(self.status)
        outer.addWidget(self.view, 1)
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
            table = panel.splitter
            corner = table.mapToGlobal(QtCore.QPoint(0, 0))
            covered = Place(there.x, corner.y(), there.width, table.height())
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
        self.form = ParameterForm(self.module.PARAMETERS, self._selected)
        self.form.fill(self._given.get(name, {}))
        self.form.changed.connect(self._changed)
        self.form.entered.connect(self.run)
        self.form.setVisible(bool(self.module.PARAMETERS))
        self.form_place.addWidget(self.form)
        self._say("")
        self._enable()

    def _selected(self) -> tuple[int, ...]:
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

    def _changed(self) -> None:
        """Parameters, or the molecule, are others than those of what is shown."""
        if self.form.missing(self.module.PARAMETERS):
            self._say("")
        else:
            self._warning()

    # ---- running

    def run(self) -> None:
        """Analyse."""
        missing = self.form.missing(self.module.PARAMETERS)
        if missing:
            self._say(f"{missing.replace('_', ' ')} is needed", "failed")
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
            self._say(_told_of(finding), "warning" if finding.is_stale else "")
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
            self.follow_box.blockSignals(True)
            self.follow_box.setChecked(self.analysing.follows)
            self.follow_box.blockSignals(False)
        running = self.analysing.finding is not None and self.analysing.finding.is_running
        self.progress.setVisible(running)
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
        self.plot_button.setVisible(isinstance(self.view.currentWidget(), ReportPlot))
        self.drawings_button.setVisible(report is not None and bool(report.drawings))
        self.drawings_button.setChecked(bool(self.analysing.drawings_shown()))
        self.surfaces_button.setVisible(report is not None and bool(report.surfaces))

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
        """Write all tables (.csv, .json), or the plot of this tab (.svg, .png)."""
        plot = self.view.currentWidget()
        if path.suffix.lower() in (".svg", ".png") and isinstance(plot, ReportPlot):
            try:
                plot.save(path)
            except (OrbitileError, OSError) as error:
                self._say(of_error(error), "failed")
            else:
                self._say(f"Wrote {path}")
            return
        problem = self.analysing.save(path)
        self._say(problem or f"Wrote {path}", "failed" if problem else "")

    def _fill_drawings(self) -> None:
        menu, report, shown = self.drawings_button.menu(), self._report(), self.analysing.drawings_shown()
        menu.clear()
        for drawing in () if report is None else report.drawings:
            what = "values at atoms" if isinstance(drawing, AtomValues) else _how_many(drawing)
            action = menu.addAction(f"{drawing.name.replace('_', ' ')}: {what}")
            action.setCheckable(True)
            action.setChecked(any(one is drawing for one in shown))
            action.toggled.connect(partial(self._set_drawing, drawing))

    def _set_drawing(self, drawing: Any, shown: bool) -> None:
        report, now = self._report(), [one for one in self.analysing.drawings_shown() if one is not drawing]
        if report is not None:
            wanted = [*now, drawing] if shown else now
            self.analysing.show_drawings([one for one in report.drawings if any(one is other for other in wanted)])
        self._enable()

    def _toggle_drawings(self) -> None:
        report = self._report()
        if report is not None:
            self.analysing.show_drawings(() if self.analysing.drawings_shown() else report.drawings)
        self._enable()

    def closeEvent(self, event: Any) -> None:
        self.analysing.cancel()
        self._remember()
        super().closeEvent(event)


def _button(text: str, tip: str) -> Any:
    button = QtWidgets.QPushButton(text)
    button.setToolTip(tip)
    return button


def _how_many(drawing: Any) -> str:
    if isinstance(drawing, Paths):
        return f"{len(drawing.lines)} lines"
    return f"{len(drawing.positions)} points"


def _told_of(finding: Finding) -> str:
    frame = "" if finding.order.frame is None else f", frame {finding.order.frame + 1}"
    title = finding.report.title if finding.report is not None else ""
    told = f"{title}: {finding.molecule}{frame}"
    return f"{told}. The molecule has moved on: run it again, or have it followed." if finding.is_stale else told
