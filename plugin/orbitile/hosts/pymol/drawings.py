"""What analyses draw at the molecules of a PyMOL: points, paths, and values at atoms as labels and colours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from pymol import cgo, editing

from ...base.errors import OrbitileError
from ...model.report import WIDE, AtomValues, Drawing, Paths, Points, ResidueValues
from ...model.surface import Colouring
from ...model.units import angstrom
from ...session.shown import numbered
from ...surfaces.colour_maps import colours_along, rounded_up
from .molecules import delete

SAVED = "orbitile_drawings"
"""Part of a saved session: which objects are drawings, and what marked atoms had before."""

Key = tuple[str, str]
"""A molecule, and the name of an analysis."""

_LABELLED = 8
"""Residues that are labelled: those of the largest values."""
_CALPHA = "CA"
"""Atom of a residue that is labelled, where there is one; otherwise the first."""

_MAP = "signed"
_LABELS = 8
"""Bit that stands for labels among what an atom is shown as."""

_NEARER = 3.0
_READ = {"float_labels": 1, "label_outline_color": "back", "label_position": [0.0, 0.0, _NEARER]}
"""Settings by which labels are read before atoms and surfaces, 3 Angstrom nearer to the user, on any colour."""

_LETTER = 0.62
"""Width of a letter of a label, in units of its height."""
_STEPS, _MOST_SPREAD = 5, 400
"""Largest shift of a label in halves of its height; largest number of labels that are moved apart."""

Marks = tuple[int, str, float]
"""Number of the colour, label and partial charge of an atom."""


class Drawings:
    """The drawings of one PyMOL, in groups: one for each analysis of a molecule, within that of the molecule.

    Parameters
    ----------
    cmd
        The `cmd` of a PyMOL.
    group
        Puts objects into the group of a molecule.
    put_scale
        Puts the explanation of colours, given its name, the molecule and the colours; of none, takes it away.
    surroundings
        Names the objects whose residues are coloured.
    """

    def __init__(
        self,
        cmd: Any,
        group: Callable[[str, str], None],
        put_scale: Callable[[str, str, Colouring | None], None],
        surroundings: Callable[[], list[str]],
    ) -> None:
        self._cmd, self._group, self._put_scale, self._surroundings = cmd, group, put_scale, surroundings
        self._objects: dict[Key, list[str]] = {}
        self._residues: dict[Key, dict[str, MarkedAtoms]] = {}
        self._marked: dict[str, tuple[str, MarkedAtoms]] = {}

    def put(self, molecule: str, name: str, drawings: Sequence[Drawing]) -> None:
        """As `Viewer.put_drawings` says; the values of one analysis at a time mark the atoms of a molecule."""
        self.remove(molecule, name)
        names = []
        for drawing in drawings:
            if isinstance(drawing, AtomValues):
                names += self._mark(molecule, name, drawing)
            elif isinstance(drawing, ResidueValues):
                names += self._mark_residues(molecule, name, drawing)
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
        limit = limit_of(drawing.values)
        self._marked[molecule] = name, MarkedAtoms.mark(self._cmd, molecule, drawing, drawing.labels, limit)
        return [self._scale(molecule, name, drawing, limit)]

    def _mark_residues(self, molecule: str, name: str, drawing: ResidueValues) -> list[str]:
        """Mark the residues of what is around a molecule; gives the name of the explanation."""
        limit = limit_of(drawing.values)
        keys = [(residue.chain, residue.number, residue.name) for residue in drawing.residues]
        values = dict(zip(keys, drawing.values.tolist(), strict=True))
        labels = {key: f"{key[2]} {key[1]}" for key in keys[:_LABELLED]}
        marked = self._residues[molecule, name] = {}
        for one in self._surroundings():
            atoms: list[tuple[tuple[str, str, str], str]] = []
            self._cmd.iterate(f"%{one}", "add(((chain, resi, resn), name))", space={"add": atoms.append})
            of_atoms = [values.get(residue, math.nan) for residue, _ in atoms]
            if all(map(math.isnan, of_atoms)):
                continue
            labelled = [(at, residue, atom) for at, (residue, atom) in enumerate(atoms) if residue in labels]
            first = {residue: at for at, residue, _ in reversed(labelled)}
            first |= {residue: at for at, residue, atom in labelled if atom == _CALPHA}
            texts = [""] * len(atoms)
            for residue, at in first.items():
                texts[at] = labels[residue]
            of_residues = AtomValues(drawing.name, tuple(of_atoms), drawing.unit)
            marked[one] = MarkedAtoms.mark(self._cmd, one, of_residues, texts, limit)
        return [self._scale(molecule, name, drawing, limit)]

    def _scale(self, molecule: str, name: str, drawing: AtomValues | ResidueValues, limit: float) -> str:
        """Put the explanation of colours; gives its name."""
        scale = self._free(f"{molecule}_{name}_scale")
        self._put_scale(scale, molecule, Colouring(np.zeros(0, np.float32), -limit, limit, drawing.name, drawing.unit))
        return scale

    def remove(self, molecule: str, name: str) -> None:
        """Take away what an analysis has drawn at a molecule, which may be gone."""
        if self._marked.get(molecule, ("",))[0] == name:
            self._unmark(molecule)
        for one, marked in self._residues.pop((molecule, name), {}).items():
            if one in self._cmd.get_names("objects"):
                marked.take_away(self._cmd, one)
        for drawn in self._objects.pop((molecule, name), ()):
            if drawn.endswith("_scale"):
                self._put_scale(drawn, molecule, None)
            if drawn in self._cmd.get_names_of_type("object:group"):
                self._cmd.group(drawn, action="empty")  # what the user has put into it stays
            delete(self._cmd, drawn)

    def _unmark(self, molecule: str) -> None:
        name, marked = self._marked.pop(molecule)
        if molecule in self._cmd.get_names("objects"):
            marked.take_away(self._cmd, molecule)
        for scale in [drawn for drawn in self._objects.get((molecule, name), ()) if drawn.endswith("_scale")]:
            self._put_scale(scale, molecule, None)
            self._objects[molecule, name].remove(scale)

    def names(self) -> set[str]:
        """Objects that are drawings, groups of them included."""
        return set[str]().union(*self._objects.values())

    def rename(self, old: str, new: str) -> None:
        """The drawings of a molecule follow its new name; scales keep theirs, since PyMOL crashes at a second one."""
        for molecule, name in [key for key in self._objects if key[0] == old]:
            renamed, there = [], set(self._cmd.get_names("objects"))
            for drawn in self._objects.pop((molecule, name)):
                wanted = self._free(new + drawn.removeprefix(old)) if drawn.startswith(old) else drawn
                if drawn in there and wanted != drawn and not drawn.endswith("_scale"):
                    editing.set_name(drawn, wanted, _self=self._cmd)
                    drawn = wanted
                renamed.append(drawn)
            self._objects[new, name] = renamed
        if old in self._marked:
            self._marked[new] = self._marked.pop(old)
        self._residues = {(new if of == old else of, name): marked for (of, name), marked in self._residues.items()}
        for marked in self._residues.values():
            if old in marked:
                marked[new] = marked.pop(old)

    def regroup(self, molecule: str) -> None:
        """Put the drawings of a molecule into its group, which may have another name by now."""
        for (of, _), names in self._objects.items():
            if of == molecule:
                self._group(molecule, names[-1])

    def drop_gone(self) -> None:
        """Take away the drawings of molecules that are gone."""
        there = self._cmd.get_names("objects")
        marks = [(molecule, name) for molecule, (name, _) in self._marked.items()]
        for molecule, name in [key for key in {*self._objects, *marks} if key[0] not in there]:
            self.remove(molecule, name)

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
            "residues": [
                [*key, {one: marked.saved() for one, marked in those.items()}] for key, those in self._residues.items()
            ],
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
            residues = {
                (str(of), str(name)): {str(one): MarkedAtoms(**parts) for one, parts in those.items()}
                for of, name, those in saved.get("residues", ())
            }
        except (AttributeError, TypeError, ValueError):
            return
        self._objects |= {key: names for key, names in objects.items() if key[0] in there and there & set(names)}
        self._marked |= {of: what for of, what in marked.items() if of in there}
        self._residues |= {key: what for key, what in residues.items() if key[0] in there}


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
    colour = list(drawing.colour)
    instructions: list[float] = []
    for line, width in drawing.drawn():
        radius = width / angstrom
        *points, tip = (line / angstrom).tolist()
        if drawing.heads:
            instructions += [cgo.CONE, *points[-1], *tip, WIDE * radius, 0.0, *colour, *colour, 1.0, 0.0]
        else:
            points.append(tip)
        for start, end in pairwise(points):
            instructions += [cgo.SAUSAGE, *start, *end, radius, *colour, *colour]
    cmd.load_cgo(list(map(float, instructions)), name, zoom=0)


_PUT: dict[type, Callable[[Any, str, Any], None]] = {Points: _put_points, Paths: _put_paths}


def limit_of(values: Iterable[float]) -> float:
    """Half of the range that the colours of values span, about zero."""
    return rounded_up(max((abs(value) for value in values if math.isfinite(value)), default=0.0))


def read_labels(cmd: Any, name: str) -> None:
    """Have the labels of an object seen before surfaces, on any ground."""
    for setting, value in _READ.items():
        cmd.set(setting, value, name)


class MarkedAtoms:
    """What the atoms of a molecule had before they were marked by values, and what they have since.

    Parameters
    ----------
    before, since : mapping of int to tuple
        By the numbers that PyMOL gives to atoms for good; see `_Numbers`.
    had_labels : bool
        Whether any atom had a label.
    """

    def __init__(self, before: Mapping[int, Marks], since: Mapping[int, Marks], had_labels: bool) -> None:
        self.before, self.since, self.had_labels = dict(before), dict(since), had_labels

    @classmethod
    def mark(cls, cmd: Any, molecule: str, drawing: AtomValues, labels: Sequence[str], limit: float) -> MarkedAtoms:
        """Mark the atoms of a molecule that have values, by colours up to a limit, and by labels that are not empty.

        Raises
        ------
        OrbitileError
            When it has other atoms than there are values.
        """
        before: dict[int, Marks] = {}
        shown: list[bool] = []
        told_apart = _Numbers()

        def note(number: int, colour: int, label: str, charge: float, shown_as: int) -> None:
            before[told_apart.of(number)] = int(colour), str(label), float(charge)
            shown.append(bool(label and shown_as & _LABELS))

        cmd.iterate(f"%{molecule}", "note(ID, color, label, partial_charge, reps)", space={"note": note})
        if len(before) != len(drawing.values):
            n_values = len(drawing.values)
            raise OrbitileError(
                f"{molecule} has {len(before)} atoms now, but {n_values} values of {drawing.name}; "
                "run the analysis again"
            )
        since = {}
        shares = (np.clip(np.nan_to_num(np.array(drawing.values)) / limit, -1, 1) + 1) / 2
        is_charge = drawing.unit == "e"
        different = np.unique(shares)  # of a large structure many atoms have the value of their residue
        inks = {
            share: _index(cmd, ink)
            for share, ink in zip(different.tolist(), colours_along(_MAP, different), strict=True)
        }
        for (number, (colour, label, charge)), value, text, share in zip(
            before.items(), drawing.values, labels, shares.tolist(), strict=True
        ):
            if math.isfinite(value):
                since[number] = inks[share], text or label, float(value) if is_charge else charge
            else:
                since[number] = colour, label, charge
        marked = cls(before, since, any(shown))
        marked._change(cmd, molecule, before, since)
        cmd.show("labels", f"%{molecule}")
        read_labels(cmd, molecule)
        _spread_labels(cmd, molecule, labels)
        return marked

    def take_away(self, cmd: Any, molecule: str) -> None:
        """Give the atoms back what they had; what the user has changed since stays."""
        self._change(cmd, molecule, self.since, self.before)
        if not self.had_labels:
            cmd.hide("labels", f"%{molecule} and label ''")
        for setting in _READ:
            cmd.unset(setting, molecule)
        cmd.unset("label_position", f"%{molecule} and all")

    def _change(self, cmd: Any, molecule: str, old: Mapping[int, Marks], new: Mapping[int, Marks]) -> None:
        told_apart = _Numbers()

        def changed(number: int, *now: Any) -> Any:
            number = told_apart.of(number)
            if number not in old:
                return now
            return tuple(new[number][at] if _same(value, old[number][at]) else value for at, value in enumerate(now))

        cmd.alter(
            f"%{molecule}",
            "color, label, partial_charge = changed(ID, color, label, partial_charge)",
            space={"changed": changed},
        )
        cmd.recolor(f"%{molecule}")
        cmd.rebuild(f"%{molecule}", "labels")

    def saved(self) -> dict[str, Any]:
        """In plain types."""
        return {"before": self.before, "since": self.since, "had_labels": self.had_labels}


def _spread_labels(cmd: Any, molecule: str, labels: Sequence[str]) -> None:
    """Move labels up or down that would cover each other as the molecule is seen now, so that no sign is lost."""
    view = np.array(cmd.get_view())
    where = cmd.get_coords(f"%{molecule}", cmd.get_object_state(molecule))
    if where is None or len(where) != len(labels) or len(labels) > _MOST_SPREAD:
        return
    pixel = -2 * view[11] * np.tan(np.radians(abs(view[17])) / 2) / max(cmd.get_viewport()[1], 1)
    size = float(cmd.get("label_size"))
    size = -size if size < 0 else size * pixel  # a negative one is in Angstrom
    x, y, z = view[:9].reshape(3, 3).T @ (where - view[12:15]).T
    widths = np.array([_LETTER * size * len(label) for label in labels])
    placed: list[int] = []
    up = np.zeros(len(labels))
    for at in sorted(range(len(labels)), key=lambda at: -z[at]):  # the nearest stay where they are
        if not labels[at]:
            continue
        near = [other for other in placed if abs(x[at] - x[other]) < (widths[at] + widths[other]) / 2]
        for step in sorted(range(-_STEPS, _STEPS + 1), key=abs):
            up[at] = step * size / 2
            if all(abs(y[at] + up[at] - y[other] - up[other]) >= size for other in near):
                break
        else:
            up[at] = 0.0
        placed.append(at)
        if up[at]:
            cmd.set("label_position", [0.0, float(up[at]), _NEARER], f"%{molecule} and index {at + 1}")


class _Numbers:
    """Numbers of the atoms of an object, one after the other, told apart where PyMOL has given one to several.

    It does where an object was made of others.
    """

    def __init__(self) -> None:
        self._seen: Counter[int] = Counter()

    def of(self, number: int) -> int:
        """The number of the next atom."""
        again = self._seen[number]
        self._seen[number] += 1
        return int(number) + (again << 32)


def _same(value: Any, other: Any) -> bool:
    return abs(value - other) < 1e-5 if isinstance(value, float) else bool(value == other)


def _index(cmd: Any, ink: Any) -> int:
    red, green, blue = (round(255 * float(part)) for part in ink)
    return cmd.get_color_index(f"0x{red:02x}{green:02x}{blue:02x}")
