"""Analyses in a window: which there are for a molecule, one asked for, what it found, and what its rows show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...analysis.presentation import FORMATS, draw_plots, write_tables
from ...analysis.reports import FILE_KINDS, Analysis, analysis_groups, analysis_named, values_of
from ...base.errors import Cancelled, OrbitileError
from ...model.report import Drawing, Report, Table
from ...pictures.words import of_error
from ..analysing import AnalysisOrder, file_source, geometry_of, is_as_ordered, order_of, source_of
from ..computing import Advance, Asked, in_thread
from ..source import is_trajectory
from .activity import Activity
from .molecules import Molecules
from .vibrating import Vibrating
from .view import Finding

_ROOM, _SECONDS = 0.3, 3.0
"""As of `Asking`."""
_LOOK = 0.1
"""Polling interval in seconds: whether the molecule is still as it was analysed."""


@dataclass(frozen=True)
class OfferedAnalysis:
    """An entry of a menu of analyses.

    Attributes
    ----------
    name : str
    module : Analysis
    reason : str
        Why the molecule does not have it; empty where it has.
    """

    name: str
    module: Analysis
    reason: str


class Analysing(Activity):
    """Analyses of the molecules of the viewer, one at a time.

    Attributes
    ----------
    finding : Finding or None
        What was asked for last.
    follows : bool
        Whether it is asked for again when the molecule moves on.
    vibrating : Vibrating
        The mode that is shown of vibrations.
    """

    def __init__(self, molecules: Molecules) -> None:
        self.molecules, self.showing = molecules, molecules.showing
        self.session, self.view = self.showing.session, self.showing.view
        self.finding: Finding | None = None
        self.follows = False
        self.vibrating = Vibrating(self.showing)
        self._noticed: tuple[str, Future[tuple[str, ...]] | None] = "", None
        self._analysing: Future[Report] | None = None
        self._analysed = Advance(_ROOM, _SECONDS)

    # ---- what there is

    def offered(self, molecule: str) -> list[tuple[str, list[OfferedAnalysis]]]:
        """All analyses in groups, with the reason for those that a molecule does not have."""
        subjects: dict[str, Any] = {}
        return [
            (title, [OfferedAnalysis(name, module, self._reason(molecule, module, subjects)) for name, module in those])
            for title, those in analysis_groups()
        ]

    def _reason(self, molecule: str, module: Analysis, subjects: dict[str, Any]) -> str:
        """Why a molecule does not have an analysis; subjects are kept from one to the next."""
        if not molecule:
            return "there is no molecule" if module.KIND == "atoms" else "no molecule with orbitals is open"
        source = source_of(self.session.host, molecule)
        if module.KIND in FILE_KINDS:
            return "" if self._file_has(module.KIND, molecule) else f"the file of {molecule} has no {module.KIND}"
        if not source and module.KIND != "atoms":
            return f"{molecule} has no wavefunction"
        if module.KIND == "trajectory" and not is_trajectory(source):
            return f"{molecule} is no trajectory: it has one geometry"
        try:
            if module.KIND not in subjects:
                subjects[module.KIND] = self._subject(molecule, source, module.KIND)
            return module.unavailable(subjects[module.KIND])
        except OrbitileError as error:
            return str(error)

    def _subject(self, molecule: str, source: str, kind: str, frame: int | None = None) -> Any:
        wavefunctions = self.session.computing.wavefunctions
        if kind == "trajectory":
            return wavefunctions.trajectory(source).path
        if kind in FILE_KINDS:
            return wavefunctions.of_file(kind, source)
        return wavefunctions.get(source, frame) if source else geometry_of(self.session.host, molecule)

    def subjects(self, name: str) -> list[str]:
        """Molecules that an analysis may be of."""
        host, kind = self.session.host, analysis_named(name).KIND
        if kind == "atoms":
            return host.structures()
        if kind in FILE_KINDS:
            return [molecule for molecule in host.molecules() if self._file_has(kind, molecule)]
        known = [molecule for molecule in host.molecules() if source_of(host, molecule)]
        return [molecule for molecule in known if kind != "trajectory" or is_trajectory(host.molecules()[molecule])]

    def noticed(self, molecule: str) -> tuple[str, ...]:
        """Which of `FILE_KINDS` the file of a molecule is known to have by now; it is looked through in a thread."""
        source = file_source(self.session.host, molecule) if molecule else ""
        if source != self._noticed[0]:
            has = self.session.computing.wavefunctions.has

            def look() -> tuple[str, ...]:
                return tuple(kind for kind in FILE_KINDS if has(kind, source))

            self._noticed = source, in_thread(look) if source else None
        looked = self._noticed[1]
        return looked.result() if looked is not None and looked.done() else ()

    def _file_has(self, kind: str, molecule: str) -> bool:
        source = file_source(self.session.host, molecule)
        return bool(source) and self.session.computing.wavefunctions.has(kind, source)

    @property
    def share(self) -> float:
        """Share of the analysis that is done, while it runs."""
        return self._analysed.share

    def warning(self, name: str, molecule: str, given: Mapping[str, str]) -> str:
        """What there is to say before an analysis: that it will take long; empty for nothing.

        Raises
        ------
        OrbitileError
            When it cannot be done.
        """
        order, module = self._order(name, molecule, given), analysis_named(name)
        if self.session.computing.reports.get(order) is not None:
            return ""
        subject = self._subject(molecule, order.source, module.KIND)
        if reason := module.unavailable(subject):
            raise OrbitileError(reason)
        return module.warning(subject, **values_of(name, dict(order.parameters)))

    def _order(self, name: str, molecule: str, given: Mapping[str, str]) -> AnalysisOrder:
        return order_of(self.session.host, name, molecule, given, self.session.computing.device)

    # ---- asking

    def analyse(self, name: str, molecule: str, given: Mapping[str, str]) -> str:
        """Ask for an analysis in place of the one before; returns the reason why not, or ""."""
        try:
            order = self._order(name, molecule, given)
        except Exception as error:
            return of_error(error)
        self.cancel()
        self.finding = Finding(molecule, order, dict(given))
        known = self.session.computing.reports.get(order)
        if known is not None:
            self._found(known)
            return ""
        self._analysed = Advance(_ROOM, _SECONDS)
        self._analysing = self.session.computing.ask_report(order, self._analysed.tell)
        self.view.show_analysis(self.finding)
        return ""

    def cancel(self) -> None:
        """Ask no more for the analysis that runs."""
        running, self._analysing = self._analysing, None
        if running is not None and self.finding is not None:
            running.cancel()
            self.follows = False
            self._tell(replace(self.finding, problem="Cancelled."))

    def forget(self) -> None:
        """Leave an analysis for another one; what it has drawn makes room."""
        self.cancel()
        self.vibrating.stop()
        self.show_drawings(())
        self.finding = None

    # ---- what is under way

    def tick(self) -> None:
        """Show a report that has come, and look at the molecule now and then."""
        if self._analysing is not None and self._analysing.done():
            self._arrived_report(self._analysing)
        if self._look_at_molecule not in self.showing.agenda:
            self.showing.agenda.later(self._look_at_molecule, _LOOK)

    def is_busy(self) -> bool:
        """Whether an analysis runs."""
        return self._analysing is not None

    def at_rest(self) -> bool:
        """Whether neither an analysis runs nor a file is looked through for vibrations and spectra."""
        looked = self._noticed[1]
        return not self.is_busy() and (looked is None or looked.done())

    def _arrived_report(self, job: Future[Report]) -> None:
        self._analysing, finding = None, self.finding
        if finding is None:
            return
        try:
            report = job.result()
        except Cancelled:
            self._tell(replace(finding, problem="Cancelled."))
        except Exception as error:
            self._tell(replace(finding, problem=of_error(error) or "Cancelled."))
        else:
            self.session.computing.reports.put(finding.order, report)
            self._found(report)

    def _found(self, report: Report) -> None:
        """Show what was found, and draw it if its molecule is still there."""
        finding = self.finding
        if finding is None:
            return
        molecule = self.session.shelf.molecule_now(finding.molecule)
        is_there = molecule in self.session.host.objects()
        if is_there:
            try:
                self.session.draw(molecule, finding.order, report.drawings)
                self.session.drawn.follow()
            except OrbitileError as error:  # the molecule has other atoms by now
                self.view.say(str(error), error=True)
        self._tell(replace(finding, molecule=molecule, report=report, is_stale=self._is_stale(molecule, finding.order)))

    def _tell(self, finding: Finding) -> None:
        self.finding = finding
        self.view.show_analysis(finding)

    def _is_stale(self, molecule: str, order: AnalysisOrder) -> bool:
        host = self.session.host
        return molecule not in host.objects() or not is_as_ordered(host, molecule, order)

    def _look_at_molecule(self) -> None:
        """Take note of a molecule that moves on, and analyse it again where that is wanted."""
        finding = self.finding
        if finding is None or finding.is_running:
            return
        molecule = self.session.shelf.molecule_now(finding.molecule)
        is_stale = self._is_stale(molecule, finding.order)
        if is_stale and self.follows and molecule in self.session.host.objects():
            if self.analyse(finding.order.name, molecule, finding.given):
                self.follows = False  # it cannot be analysed any more, which is told
        elif (is_stale, molecule) != (finding.is_stale, finding.molecule):
            self._tell(replace(finding, molecule=molecule, is_stale=is_stale))

    # ---- what the user does with what was found

    def choose_row(self, table: Table, row: int) -> None:
        """Show what a row of a table is about: its field, else its atoms, and where it is."""
        finding = self.finding
        if finding is None or not 0 <= row < len(table):
            return
        if table.fields and table.fields[row]:
            self.show_field(table.fields[row])
        elif table.atoms:
            self._select(finding.molecule, table.atoms[row])
        if finding.is_stale:
            return
        if table.residues and self.session.host.show_residue(table.residues[row]):
            return
        if table.places:
            self.session.host.centre(table.places[row])

    def _select(self, molecule: str, atoms: Sequence[int]) -> None:
        if molecule in self.session.host.objects():
            self.session.host.select(molecule, atoms)

    def show_field(self, field: str) -> None:
        """Show a field that belongs to a row, or to a point of a plot, of the molecule that was analysed.

        A mode is no field: the molecule moves along it.
        """
        if self.finding is not None and (mode := re.fullmatch(r"mode:(\d+)", field)):
            self.vibrating.choose(self.finding.molecule, int(mode[1]))
            return
        if self.finding is not None and self.choose_subject(self.finding.molecule):
            if " " in field:
                self.showing.ask_for_several([Asked(name) for name in field.split()])
            else:
                self.showing.ask_for_named(field)

    def choose_subject(self, molecule: str) -> bool:
        """Act on the molecule that was analysed; says whether it is there. Mere atoms are a promolecule."""
        host = self.session.host
        if molecule not in host.objects():
            self.view.say(f"{molecule} was deleted.", error=True)
            return False
        if not source_of(host, molecule) and not self._as_free_atoms(molecule):
            return False
        self.molecules.choose(molecule)
        return self.showing.wavefunction is not None

    def _as_free_atoms(self, molecule: str) -> bool:
        """Have an object without a wavefunction be a promolecule, where its atoms are now; says whether it can be."""
        try:
            if self.session.adopt_free_atoms(molecule) and molecule == self.showing.molecule:
                self.showing.wavefunction = None  # that of where the atoms were
        except OrbitileError as error:
            self.view.say(str(error), error=True)
            return False
        return True

    def show_surfaces(self) -> None:
        """Show the surfaces that belong to what was found."""
        finding = self.finding
        if finding is None or finding.report is None or not self.choose_subject(finding.molecule):
            return
        self.showing.ask_for_several(
            [Asked(one.field, one.isovalue, one.color_by, one.color_range) for one in finding.report.surfaces]
        )

    def drawings_shown(self) -> tuple[Drawing, ...]:
        """What is drawn of what was found."""
        finding = self.finding
        if finding is None or finding.report is None:
            return ()
        return self.session.drawn.drawings(finding.molecule, finding.report)

    def show_drawings(self, drawings: Sequence[Drawing]) -> None:
        """Draw these of what was found, and none of the others."""
        finding = self.finding
        if finding is not None and finding.molecule in self.session.host.objects():
            self.session.draw(finding.molecule, finding.order, drawings)
            self.session.drawn.follow()

    def save(self, path: Path) -> str:
        """Write the tables of what was found, or its plots, as the suffix says; returns the reason why not, or ""."""
        if self.finding is None or self.finding.report is None:
            return "there is no result yet: run the analysis first"
        is_plot = path.suffix.lower() in FORMATS
        try:
            written = (draw_plots if is_plot else write_tables)(self.finding.report, path)
        except Exception as error:
            return of_error(error)
        self.view.say(f"Wrote {', '.join(file.name for file in written)}", detail="\n".join(map(str, written)))
        return ""
