"""What analyses draw at the molecules of a PyMOL: objects of points and paths, and marks on atoms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from pymol import cgo, editing

from ...model.report import AtomValues, Drawing, Paths, Points
from ...model.surface import Colouring
from ...model.units import angstrom
from ...session.shown import numbered
from .atom_values import MarkedAtoms, limit_of, read_labels
from .molecules import delete

SAVED = "orbitile_drawings"
"""Part of a saved session: which objects are drawings, and what marked atoms had before."""

_HEAD = 0.35
"""Angstrom that the head of an arrow is long."""

Key = tuple[str, str]
"""A molecule, and the name of an analysis."""


class Drawings:
    """The drawings of one PyMOL, in groups: one for each analysis of a molecule, within that of the molecule.

    Parameters
    ----------
    cmd
        Of the PyMOL.
    group
        Puts objects into the group of a molecule.
    put_scale
        Puts the explanation of colours, given its name, the molecule and the colours; of none, takes it away.
    """

    def __init__(
        self,
        cmd: Any,
        group: Callable[[str, str], None],
        put_scale: Callable[[str, str, Colouring | None], None],
    ) -> None:
        self._cmd, self._group, self._put_scale = cmd, group, put_scale
        self._objects: dict[Key, list[str]] = {}
        self._marked: dict[str, tuple[str, MarkedAtoms]] = {}

    def put(self, molecule: str, name: str, drawings: Sequence[Drawing]) -> None:
        """As `Viewer.put_drawings` says; the values of one analysis at a time mark the atoms of a molecule."""
        self.remove(molecule, name)
        names = []
        for drawing in drawings:
            if isinstance(drawing, AtomValues):
                names += self._mark(molecule, name, drawing)
            else:
                free = self._free(f"{molecule}_{name}_{drawing.name}")
                _PUT[type(drawing)](self._cmd, free, drawing)
                names.append(free)
        if not names:
            return
        group = self._free(f"{molecule}_{name}")
        self._cmd.group(group, " ".join(names))
        self._group(molecule, group)
        self._objects[molecule, name] = [*names, group]

    def _mark(self, molecule: str, name: str, drawing: AtomValues) -> list[str]:
        """Mark the atoms of a molecule, unless they are by the same analysis; gives the name of the explanation."""
        if molecule in self._marked:
            other, _ = self._marked[molecule]
            if other == name:
                return []
            self._unmark(molecule)
        self._marked[molecule] = name, MarkedAtoms.mark(self._cmd, molecule, drawing)
        scale, limit = self._free(f"{molecule}_{name}_scale"), limit_of(drawing)
        self._put_scale(scale, molecule, Colouring(np.zeros(0, np.float32), -limit, limit, drawing.name, drawing.unit))
        return [scale]

    def remove(self, molecule: str, name: str) -> None:
        """Take away what an analysis has drawn at a molecule, which may be gone."""
        if self._marked.get(molecule, ("",))[0] == name:
            self._unmark(molecule)
        for one in self._objects.pop((molecule, name), ()):
            if one in self._cmd.get_names_of_type("object:group"):
                self._cmd.group(one, action="empty")  # what the user has put into it stays
            delete(self._cmd, one)

    def _unmark(self, molecule: str) -> None:
        name, marked = self._marked.pop(molecule)
        if molecule in self._cmd.get_names("objects"):
            marked.take_away(self._cmd, molecule)
        scales = [one for one in self._objects.get((molecule, name), ()) if one.endswith("_scale")]
        for scale in scales:
            self._put_scale(scale, molecule, None)
            self._objects[molecule, name].remove(scale)

    def names(self) -> set[str]:
        """Objects that are drawings, groups of them included."""
        return {one for those in self._objects.values() for one in those}

    def rename(self, old: str, new: str) -> None:
        """The drawings of a molecule follow its new name; scales keep theirs, since PyMOL crashes at a second one."""
        for molecule, name in [key for key in self._objects if key[0] == old]:
            renamed, there = [], set(self._cmd.get_names("objects"))
            for one in self._objects.pop((molecule, name)):
                wanted = self._free(new + one.removeprefix(old)) if one.startswith(old) else one
                if one in there and wanted != one and not one.endswith("_scale"):
                    editing.set_name(one, wanted, _self=self._cmd)
                    one = wanted
                renamed.append(one)
            self._objects[new, name] = renamed
        if old in self._marked:
            self._marked[new] = self._marked.pop(old)

    def regroup(self, molecule: str) -> None:
        """Put the drawings of a molecule into its group, which may have another name by now."""
        for (of, _), names in self._objects.items():
            if of == molecule:
                self._group(molecule, names[-1])

    def drop_gone(self) -> None:
        """Take away the drawings of molecules that are gone."""
        there = self._cmd.get_names("objects")
        for molecule, name in [key for key in {*self._objects, *self._marks()} if key[0] not in there]:
            self.remove(molecule, name)

    def _marks(self) -> list[Key]:
        return [(molecule, name) for molecule, (name, _) in self._marked.items()]

    def _free(self, wanted: str) -> str:
        """A name that nothing has."""
        taken = {name.lower() for name in self._cmd.get_names("all")}
        legal: Iterator[str] = map(self._cmd.get_legal_name, numbered(wanted))
        return next(name for name in legal if name.lower() not in taken)

    # ---- saved sessions

    def saved(self) -> dict[str, Any]:
        """What is kept with a session, in plain types."""
        return {
            "objects": [[*key, names] for key, names in self._objects.items()],
            "marked": [[molecule, name, marked.saved()] for molecule, (name, marked) in self._marked.items()],
        }

    def restore(self, saved: Any) -> None:
        """Take up what `saved` gave, as far as it is not damaged; it may be merged into what is there."""
        if not isinstance(saved, Mapping):
            return
        there = set(self._cmd.get_names("objects"))
        self._objects = {key: names for key, names in self._objects.items() if there & set(names)}
        self._marked = {of: marked for of, marked in self._marked.items() if of in there}
        try:
            objects = {(str(of), str(name)): list(map(str, names)) for of, name, names in saved.get("objects", ())}
            marked = {str(of): (str(name), MarkedAtoms(**parts)) for of, name, parts in saved.get("marked", ())}
        except (TypeError, ValueError):
            return
        self._objects |= {key: names for key, names in objects.items() if key[0] in there and there & set(names)}
        self._marked |= {of: what for of, what in marked.items() if of in there}


def _put_points(cmd: Any, name: str, drawing: Points) -> None:
    """Atoms of no element, so that they can be picked, selected and measured from."""
    from chempy import Atom, models  # PyMOL's own

    model = models.Indexed()
    labels = drawing.labels or ("",) * len(drawing.positions)
    for number, (place, label) in enumerate(zip(drawing.positions / angstrom, labels, strict=True), 1):
        atom = Atom()
        atom.coord, atom.symbol, atom.name, atom.resn = place.tolist(), "PS", drawing.name[:4].upper(), "PSD"
        atom.resi, atom.resi_number, atom.id, atom.label = str(number), number, number, label
        atom.vdw, atom.hetatm = drawing.radius / angstrom, 1
        model.atom.append(atom)
    cmd.load_model(model, name, zoom=0)
    cmd.show_as("spheres labels", name)
    cmd.set("sphere_scale", 1.0, name)
    read_labels(cmd, name)
    cmd.color("0x{:02x}{:02x}{:02x}".format(*(round(255 * part) for part in drawing.colour)), name)


def _put_paths(cmd: Any, name: str, drawing: Paths) -> None:
    radius, colour = drawing.radius / angstrom, list(drawing.colour)
    instructions: list[float] = []
    for line in drawing.lines:
        points = (np.asarray(line) / angstrom).tolist()
        if drawing.heads and len(points) > 1:
            tip, before = np.array(points[-1]), np.array(points[-2])
            length = float(np.linalg.norm(np.subtract(points[-1], points[0])))
            base = tip - (tip - before) / max(float(np.linalg.norm(tip - before)), 1e-9) * min(_HEAD, length / 2)
            instructions += [cgo.CONE, *base, *tip, 2.5 * radius, 0.0, *colour, *colour, 1.0, 0.0]
            points[-1] = base.tolist()
        for start, end in pairwise(points):
            instructions += [cgo.SAUSAGE, *start, *end, radius, *colour, *colour]
    cmd.load_cgo(list(map(float, instructions)), name, zoom=0)


_PUT: dict[type, Callable[[Any, str, Any], None]] = {Points: _put_points, Paths: _put_paths}
