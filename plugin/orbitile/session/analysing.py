"""Analyses of the molecules of a viewer: asked for in words, computed in the worker process, kept for a while."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..analysis.reports import analyse, analysis_named, values_of
from ..base.arguments import ATOMS, FRAGMENTS, Argument, atom_list, is_atom_list
from ..base.errors import OrbitileError
from ..base.watch import Cancel, Progress
from ..model.geometry import Geometry
from ..model.report import Report
from .host import TrajectoryViewer, Viewer
from .sampling import WORKER_WAVEFUNCTIONS, WavefunctionCache
from .source import is_promolecule, is_trajectory, is_volume_file

_KEPT = 16
"""Reports kept in memory."""


_MOVED = 1e-3
"""Bohr by which an atom may be elsewhere than it was when something was ordered, as by the digits of a viewer."""

Atoms = tuple[()] | tuple[tuple[int, ...], tuple[tuple[float, ...], ...]]
"""Atomic numbers and positions in bohr, or nothing."""


@dataclass(frozen=True)
class AnalysisOrder:
    """What is asked for: an analysis of what a source holds, or of the atoms alone.

    Attributes
    ----------
    name : str
        Of the analysis.
    source : str
        Of the wavefunction or the trajectory, what its files hold included; empty for atoms without one.
    frame : int or None
        Of a trajectory, for an analysis of one geometry.
    parameters : tuple of (str, str)
        As text, atoms by their numbers.
    device : str
    atoms : tuple
        Atomic numbers, and positions in bohr, where there is no source.
    """

    name: str
    source: str
    frame: int | None
    parameters: tuple[tuple[str, str], ...]
    device: str
    atoms: Atoms = ()


def order_of(viewer: Viewer, name: str, molecule: str, given: Mapping[str, Any], device: str) -> AnalysisOrder:
    """The order for an analysis of a molecule of a viewer; `given` may name atoms as the viewer does.

    Raises
    ------
    OrbitileError
        When the molecule does not have what the analysis needs, or a parameter cannot be read.
    """
    module = analysis_named(name)
    stated = {argument.name: argument for argument in module.PARAMETERS}
    texts = {
        key: _in_numbers(viewer, molecule, stated[key], str(value)) if key in stated else str(value)
        for key, value in given.items()
        if str(value).strip()
    }
    values_of(name, texts)
    source, frame = source_of(viewer, molecule), None
    atoms: Atoms = ()
    if not source and module.KIND != "atoms":
        raise OrbitileError(f"{name}: {molecule} has no wavefunction: orb_load loads one")
    if not source:
        geometry = geometry_of(viewer, molecule)
        places = tuple(tuple(map(float, place)) for place in geometry.positions)
        atoms = tuple(map(int, geometry.atomic_numbers)), places
    elif is_trajectory(source):
        if module.KIND != "trajectory":
            frame = _frame(viewer, molecule)
    elif module.KIND == "trajectory":
        raise OrbitileError(f"{name}: {molecule} is no path: it has one geometry")
    return AnalysisOrder(name, source, frame, tuple(sorted(texts.items())), device, atoms)


def source_of(viewer: Viewer, molecule: str) -> str:
    """Where the wavefunctions of a molecule are; empty for one without, such as free atoms."""
    source = viewer.molecules().get(molecule, "")
    return "" if is_volume_file(source) or is_promolecule(source) else source


def geometry_of(viewer: Viewer, molecule: str) -> Geometry:
    """The atoms of a molecule, where they are now.

    Raises
    ------
    OrbitileError
        When the viewer cannot hand them over.
    """
    numbers, geometries = viewer.geometries(molecule)
    at = viewer.positions(molecule)
    return Geometry(numbers, geometries[-1] if at is None else at)


def _frame(viewer: Viewer, molecule: str) -> int:
    return viewer.frame(molecule) or 0 if isinstance(viewer, TrajectoryViewer) else 0


def is_as_ordered(viewer: Viewer, molecule: str, order: AnalysisOrder) -> bool:
    """Whether a molecule is as an analysis was ordered of it: of the same source, at the same frame, as it stood."""
    if order.atoms:
        at = viewer.positions(molecule)
        expected = np.array(order.atoms[1])
        return at is None or (at.shape == expected.shape and bool(np.abs(at - expected).max() < _MOVED))
    if source_of(viewer, molecule) != order.source:
        return False
    return order.frame is None or _frame(viewer, molecule) == order.frame


def _in_numbers(viewer: Viewer, molecule: str, argument: Argument, text: str) -> str:
    """A parameter with atoms by their numbers, where the user may have named them as the viewer does."""
    if argument.kind is ATOMS:
        return text if is_atom_list(text) else atom_list(viewer.atoms(molecule, text))
    if argument.kind is not FRAGMENTS:
        return text
    pieces = []
    for piece in filter(None, map(str.strip, text.split(";"))):
        name, equals, listed = piece.rpartition("=")
        if is_atom_list(listed):
            pieces.append(piece)
        else:
            pieces.append(f"{name.strip() if equals else piece} = {atom_list(viewer.atoms(molecule, listed.strip()))}")
    return "; ".join(pieces)


def answer_analysis(order: AnalysisOrder) -> Report:
    """Do an analysis in a worker, with what was kept from those before.

    Raises
    ------
    OrbitileError
        When it cannot be done, or is withdrawn.
    """
    return analysed(order, WORKER_WAVEFUNCTIONS)


def analysed(
    order: AnalysisOrder, cache: WavefunctionCache, progress: Progress | None = None, cancelled: Cancel | None = None
) -> Report:
    """Do an analysis in this process.

    Raises
    ------
    OrbitileError
        When it cannot be done, or is withdrawn.
    """
    subject: Any
    if order.atoms:
        subject = Geometry(np.array(order.atoms[0]), np.array(order.atoms[1]))
    elif analysis_named(order.name).KIND == "trajectory":
        subject = cache.trajectory(order.source).path
    else:
        subject = cache.get(order.source, order.frame)
    try:
        return analyse(
            subject,
            order.name,
            device=order.device,
            progress=progress,
            cancelled=cancelled,
            **dict(order.parameters),
        )
    except MemoryError as error:
        raise OrbitileError(f"{order.name}: no memory is left for this") from error


class ReportCache:
    """The latest reports, by what was asked for; used from several threads."""

    def __init__(self) -> None:
        self._held: OrderedDict[AnalysisOrder, Report] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, order: AnalysisOrder) -> Report | None:
        """The report of an order, if it is there."""
        with self._lock:
            if order in self._held:
                self._held.move_to_end(order)
            return self._held.get(order)

    def put(self, order: AnalysisOrder, report: Report) -> None:
        """Keep the report of an order whose source says what its files hold."""
        with self._lock:
            self._held[order] = report
            while len(self._held) > _KEPT:
                self._held.popitem(last=False)
