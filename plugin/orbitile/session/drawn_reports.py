"""What analyses have drawn at molecules: it is seen while the molecule is as it was analysed, and goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..model.report import Drawing, Report
from .analysing import AnalysisOrder, is_as_ordered
from .host import Viewer
from .shelf import Shelf


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Drawings, the order that they were found by, and whether they are seen just now."""

    order: AnalysisOrder
    drawings: tuple[Drawing, ...]
    seen: bool


class DrawnReports:
    """Drawings of reports, the latest of each analysis of each molecule.

    Parameters
    ----------
    viewer : Viewer
        Draws them.
    shelf : Shelf
        Tells of molecules that are renamed.
    """

    def __init__(self, viewer: Viewer, shelf: Shelf) -> None:
        self._viewer = viewer
        self._drawn: dict[tuple[str, str], _Drawn] = {}
        shelf.observe(self)

    def put(self, molecule: str, order: AnalysisOrder, drawings: Sequence[Drawing]) -> None:
        """Draw what an analysis has found at a molecule, in place of what it found before; of none, take that away."""
        self._drawn.pop((molecule, order.name), None)
        self._viewer.put_drawings(molecule, order.name, drawings)
        if drawings:
            self._drawn[molecule, order.name] = _Drawn(order, tuple(drawings), True)

    def drawings(self, molecule: str, report: Report) -> tuple[Drawing, ...]:
        """What is drawn of a report at a molecule, seen or waiting for the frame that it belongs to."""
        drawn = self._drawn.get((molecule, report.name))
        return () if drawn is None else tuple(one for one in drawn.drawings if one in report.drawings)

    def follow(self) -> None:
        """Take away what molecules have moved away from, and draw it again where they have come back."""
        there = self._viewer.objects()
        for (molecule, name), drawn in list(self._drawn.items()):
            if molecule not in there:
                del self._drawn[molecule, name]
                self._viewer.put_drawings(molecule, name, ())
                continue
            fits = is_as_ordered(self._viewer, molecule, drawn.order)
            if fits != drawn.seen:
                self._drawn[molecule, name] = replace(drawn, seen=fits)
                self._viewer.put_drawings(molecule, name, drawn.drawings if fits else ())

    def look(self) -> None:
        """The same after a single change, at little cost where no molecule is gone that has drawings."""
        if not {molecule for molecule, _ in self._drawn} <= self._viewer.objects():
            self.follow()

    # ---- what the shelf tells

    def surface_removed(self, name: str) -> None:
        """Drawings are no surfaces."""

    def surface_renamed(self, old: str, new: str) -> None:
        """Drawings are no surfaces."""

    def molecule_renamed(self, old: str, new: str) -> None:
        """The drawings of a molecule go with it; the viewer has renamed them."""
        self._drawn = {(new if of == old else of, name): drawn for (of, name), drawn in self._drawn.items()}
