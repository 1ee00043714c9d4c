"""Analyses of the molecules of a viewer: asked for in words, computed in the worker process, kept for a while.

What they have drawn at molecules is seen while a molecule is as it was analysed, and goes with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..analysis.reports import FILE_KINDS, analyse, analysis_named, values_of
from ..base.arguments import ATOMS, FRAGMENTS, PATHS, Argument, atom_list, is_atom_list
from ..base.errors import OrbitileError
from ..base.watch import Cancel, Progress
from ..model.geometry import Geometry
from ..model.report import AtomValues, Drawing, Report
from .host import TrajectoryViewer, Viewer
from .sampling import WORKER_WAVEFUNCTIONS, WavefunctionCache
from .shelf import Shelf
from .source import OneFile, is_promolecule, is_trajectory, is_volume_file, is_without_orbitals

_MOVED = 1e-3
"""Displacement in bohr below which an atom is where it was when something was ordered: viewers round."""

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
    references : tuple of str
        Files that parameters name, with what they hold now.
    """

    name: str
    source: str
    frame: int | None
    parameters: tuple[tuple[str, str], ...]
    device: str
    atoms: Atoms = ()
    references: tuple[str, ...] = ()


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
    values = values_of(name, texts)
    named = [path for key, argument in stated.items() if argument.kind is PATHS for path in values[key]]
    references = tuple(str(OneFile(str(path)).noted()) for path in named)
    is_of_file = module.KIND in FILE_KINDS
    source, frame = (file_source if is_of_file else source_of)(viewer, molecule), None
    atoms: Atoms = ()
    if is_of_file and not source:
        raise OrbitileError(f"{name}: {molecule} came from no file with {module.KIND}: orb_load loads one")
    if not source and module.KIND != "atoms":
        raise OrbitileError(f"{name}: {molecule} has no wavefunction: orb_load loads one")
    if not source:
        geometry = geometry_of(viewer, molecule)
        places = tuple(tuple(map(float, place)) for place in geometry.positions)
        atoms = tuple(map(int, geometry.atomic_numbers)), places
    elif is_of_file:
        pass
    elif is_trajectory(source):
        if module.KIND != "trajectory":
            frame = _frame(viewer, molecule)
    elif module.KIND == "trajectory":
        raise OrbitileError(f"{name}: {molecule} is no trajectory: it has one geometry")
    return AnalysisOrder(name, source, frame, tuple(sorted(texts.items())), device, atoms, references)


def source_of(viewer: Viewer, molecule: str) -> str:
    """Where the wavefunctions of a molecule are; empty for one without, such as a promolecule."""
    source = viewer.molecules().get(molecule, "")
    return "" if is_volume_file(source) or is_promolecule(source) or is_without_orbitals(source) else source


def file_source(viewer: Viewer, molecule: str) -> str:
    """Where vibrations and spectra of a molecule may be; empty where it came from no file that can have some."""
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
    if viewer.molecules().get(molecule, "") != order.source:
        return False
    return order.frame is None or _frame(viewer, molecule) == order.frame


def _in_numbers(viewer: Viewer, molecule: str, argument: Argument, text: str) -> str:
    """A parameter with atoms by their numbers, where the user may have named them as the viewer does."""
    if argument.kind is PATHS:  # another process computes, in a folder of its own
        return " ".join(f'"{path.absolute()}"' for path in argument.kind.read(argument.name, text))
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
    elif (kind := analysis_named(order.name).KIND) in FILE_KINDS:
        subject = cache.of_file(kind, order.source)
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
        raise OrbitileError(f"{order.name}: not enough memory; close other programs and try again") from error


_DRAWN_WITHIN = 1e-2
"""Displacement in bohr below which an atom is where it was drawn at: viewers round."""


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
        """Take away what does not belong to what is visible, and draw it again where it does."""
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
            return True  # of a whole path, or unknown
        return at.shape == drawn.positions.shape and bool(np.abs(at - drawn.positions).max() < _DRAWN_WITHIN)

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
                tuples["references"] = _tuples(parts.get("references", []))
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
