"""What analyses have drawn at molecules: it is seen while the molecule is as it was analysed, and goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.report import AtomValues, Drawing, Report
from .analysing import AnalysisOrder, is_as_ordered
from .host import Viewer
from .shelf import Shelf
from .source import is_trajectory

_MOVED = 1e-2
"""Bohr by which an atom may be elsewhere than where it was drawn at: viewers round."""


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Drawings, the order that they were found by, where the atoms were then, and whether they are seen just now."""

    order: AnalysisOrder
    drawings: tuple[Drawing, ...]
    positions: NDArray[np.float64] | None
    seen: bool = True


class DrawnReports:
    """Drawings of reports, the latest of each analysis of each molecule.

    They are seen while the molecule is not set aside for another one, and is what was analysed: from the same source,
    at the same frame, with its atoms in the same places. When it is so again, they are again.

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
        self._aside: set[str] = set()
        shelf.observe(self)

    def put(self, molecule: str, order: AnalysisOrder, drawings: Sequence[Drawing]) -> None:
        """Draw what an analysis has found at a molecule, in place of what it found before; of none, take that away."""
        self._drawn.pop((molecule, order.name), None)
        self._viewer.put_drawings(molecule, order.name, drawings)
        if drawings:
            at = self._viewer.positions(molecule)
            self._drawn[molecule, order.name] = _Drawn(order, tuple(drawings), at)

    def drawings(self, molecule: str, report: Report) -> tuple[Drawing, ...]:
        """What is drawn of a report at a molecule, seen or waiting for the frame that it belongs to."""
        drawn = self._drawn.get((molecule, report.name))
        return () if drawn is None else tuple(one for one in drawn.drawings if one in report.drawings)

    def follow(self) -> None:
        """Take away what does not belong to what is seen, and draw it again where it does."""
        if not self._drawn:
            return
        there = self._viewer.objects()
        self._aside &= there
        self._aside &= self._viewer.hidden({molecule: molecule for molecule in self._aside})
        for (molecule, name), drawn in list(self._drawn.items()):
            if molecule not in there:
                self._drop(molecule, name)
                continue
            fits = molecule not in self._aside and self._is_as_drawn(molecule, drawn)
            if fits != drawn.seen:
                self._drawn[molecule, name] = replace(drawn, seen=fits)
                self._viewer.put_drawings(molecule, name, drawn.drawings if fits else ())

    def _is_as_drawn(self, molecule: str, drawn: _Drawn) -> bool:
        if not is_as_ordered(self._viewer, molecule, drawn.order):
            return False
        at = self._viewer.positions(molecule)
        if at is None or drawn.positions is None or (drawn.order.frame is None and is_trajectory(drawn.order.source)):
            return True  # of a whole path, or nobody knows
        return at.shape == drawn.positions.shape and bool(np.abs(at - drawn.positions).max() < _MOVED)

    def _drop(self, molecule: str, name: str) -> None:
        del self._drawn[molecule, name]
        self._viewer.put_drawings(molecule, name, ())

    def set_aside(self, molecule: str) -> None:
        """Take away what is drawn at a molecule until it is seen again."""
        self._aside.add(molecule)
        self.follow()

    def forget(self, molecule: str) -> None:
        """Take away all that is drawn at a molecule: it is loaded anew."""
        for of, name in list(self._drawn):
            if of == molecule:
                self._drop(of, name)

    def make_room(self, molecule: str) -> None:
        """Take away values at the atoms of a molecule, with their scale: a field of it is shown, and has its own."""
        for (of, name), drawn in list(self._drawn.items()):
            left = tuple(one for one in drawn.drawings if not isinstance(one, AtomValues))
            if of == molecule and left != drawn.drawings:
                self._drawn[of, name] = replace(drawn, drawings=left)
                self._viewer.put_drawings(of, name, left if drawn.seen else ())
                if not left:
                    del self._drawn[of, name]

    # ---- saved sessions of the viewer

    def saved(self) -> list[Any]:
        """What belongs to what, in plain types, for a viewer that keeps the drawings themselves with its session."""
        return [[molecule, asdict(drawn.order)] for (molecule, _), drawn in self._drawn.items() if drawn.seen]

    def restore(self, saved: Any) -> None:
        """Take up what `saved` gave, once the viewer has its drawings again: they go when they do not belong there."""
        there = self._viewer.objects()
        for molecule, name in [key for key in self._drawn if key[0] not in there]:
            del self._drawn[molecule, name]
        for one in saved if isinstance(saved, list) else ():
            try:
                molecule, parts = one
                tuples = {name: _tuples(parts[name]) for name in ("parameters", "atoms")}
                order = AnalysisOrder(**{**parts, **tuples})
            except (TypeError, ValueError, KeyError):
                continue  # it is damaged: the drawings stay as they were saved
            if molecule in there:
                self._drawn[molecule, order.name] = _Drawn(order, (), self._viewer.positions(molecule))

    # ---- what the shelf tells

    def surface_removed(self, name: str) -> None:
        """Drawings are no surfaces."""

    def surface_renamed(self, old: str, new: str) -> None:
        """Drawings are no surfaces."""

    def molecule_renamed(self, old: str, new: str) -> None:
        """The drawings of a molecule go with it; the viewer has renamed them."""
        self._aside = {new if of == old else of for of in self._aside}
        self._drawn = {(new if of == old else of, name): drawn for (of, name), drawn in self._drawn.items()}


def _tuples(part: Any) -> Any:
    """Lists as the tuples that they were before they were saved."""
    return tuple(map(_tuples, part)) if isinstance(part, list | tuple) else part
