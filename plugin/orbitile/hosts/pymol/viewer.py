"""What PyMOL is made to show, and tells of its atoms. Here, and only here, lengths become Angstrom."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymol import editing

from ...base.errors import FileError, OrbitileError
from ...model.elements import NUMBERS
from ...model.geometry import Molecule, covalent_radius, find_bonds
from ...model.report import Drawing
from ...model.structure import Residue, Structure
from ...model.surface import Colouring, Surface
from ...model.units import angstrom
from ...model.volume import Volume
from ...pictures.look import VOLUME_STYLES, Look
from ...pictures.writing import Pixels
from ...scf.valences import protonated_nitrogens
from ...session.declaration import PYMOL
from ...session.host import Colour, TrajectoryViewer
from ...session.source import is_promolecule
from ...session.viewpoint import Viewpoint
from ...surfaces.colour_maps import MAPS
from .drawings import Drawings
from .graphics import DrawnVolume, drawing_of, nothing_at, put_fog, put_map, put_slice, upright
from .molecules import Molecules, delete
from .seen import scene_of, trace, viewpoint_of
from .structure import of_atoms, structure_of

_VOLUME_PARTS = ("fog", "slice", "ramp")
"""Endings of the objects that draw a map, in the order in which they can be deleted."""

_SETTINGS = "orbitile"
"""Name under which PyMOL keeps what the user has set."""

_MARGIN = 1.0
"""Margin in Angstrom around what is shown in a cell of the grid."""
_ALL_CELLS = -2
"""PyMOL's number for an object that is seen in all cells of its grid."""

_GLEAMING = "1"
"""PyMOL's own setting of highlights."""

_TITLE_SIZE = 18
"""Height in pixels of a title below a surface that stands beside others."""

_BYTES_A_FACE = 250
"""Bytes of three corners with normals, and of their copy for the GPU."""

_PICKED = ("pk1", "pk2", "pk3", "pk4")
"""Selections of the atoms that were picked in editing mode."""

_OR = re.compile(r"(?:\s+|\s*\|\s*)(?:or\s+)?")
"""Between names of selections, whose order is kept: pk1 pk2, pk1 or pk2, pk1|pk2."""

_ROUNDS = 3
"""Hydrogens that a system of double bonds may lack at nitrogens of rings."""
_AROUND_RESIDUE = 6.0
"""Margin in Angstrom around a residue that is brought into view."""
_MOST_LIGANDS = 20
"""Residues of small molecules that are offered to be computed."""

_CHOSEN = "sele"
"""PyMOL's own selection of what was clicked on."""
_PLACE = "_orbitile_place"
"""Name of an object that is there for a moment, at a place that is brought to the middle."""
_TORN = 1.5
"""Length above which a bond is removed, in sums of covalent radii; a shorter one stays, whoever drew it."""


class PyMOLViewer(TrajectoryViewer):
    """One PyMOL as a host; see `orbitile.session.host.TrajectoryViewer`.

    Parameters
    ----------
    cmd
        The `cmd` of a PyMOL.

    Attributes
    ----------
    drawings : Drawings
        What analyses have drawn.
    loaded : Molecules
        Molecules that came from wavefunctions.
    loaded_last : str
        Last molecule of those that PyMOL's own ways are loading one after the other; empty when that is over.
    """

    syntax = PYMOL
    volume_styles = VOLUME_STYLES

    def __init__(self, cmd: Any) -> None:
        super().__init__()
        self.cmd = cmd
        self.loaded = Molecules(cmd)
        self.loaded_last = ""
        self._places: dict[str, int] = {}
        self._scales: dict[str, tuple[float, float, str]] = {}
        self._volumes: dict[str, DrawnVolume] = {}
        self._specular: str | None = None
        self._titles: set[str] = set()
        self._view_before: tuple[float, ...] | None = None
        self._timers: dict[Callable[[], None], Any] = {}
        self.drawings = Drawings(cmd, self._group, self._put_scale, self._surroundings)

    def names(self) -> set[str]:
        return set(self.cmd.get_names("all"))  # selections too: in commands they go before objects of their name

    def legal_name(self, name: str) -> str:
        return self.cmd.get_legal_name(name)

    def parts(self, name: str) -> set[str]:
        return {name, *(f"{name}_{part}" for part in ("map", "scale", "title", *_VOLUME_PARTS))}

    def add_molecule(self, name: str, atoms: Molecule, geometry: int) -> None:
        self.loaded.add(name, atoms, geometry)

    def molecules(self) -> dict[str, str]:
        return self.loaded.known()

    def adopt(self, name: str, source: str) -> None:
        self.loaded.adopt(name, source)

    def renamed(self) -> dict[str, str]:
        names = self.loaded.renamed()
        for old, new in names.items():
            self.drawings.rename(old, new)
            self.regroup_drawings(new)
        self.follow_drawings()
        self.loaded.follow_user()
        return names

    def regroup_drawings(self, molecule: str) -> None:
        """Have the drawings of an object that was renamed stand in its group."""
        self.drawings.regroup(molecule)
        self.loaded.drop_empty_groups()

    def follow_drawings(self) -> None:
        """Take away the drawings of objects that are gone."""
        self.drawings.drop_gone()
        self.loaded.drop_empty_groups()

    def look_at(self, names: Sequence[str], how: str) -> None:
        self.loaded.look_at(names, how)

    def set_aside(self, molecule: str, surfaces: Sequence[str]) -> None:
        self.loaded.set_aside(molecule, set[str]().union(*map(self.parts, surfaces)))

    def frame(self, molecule: str) -> int | None:
        if molecule not in self.objects():
            return None
        return int(self.cmd.get_state()) - 1

    def go_to(self, molecule: str, frame: int) -> None:
        self.cmd.frame(frame + 1)
        window = main_window()
        if window is not None:  # PyMOL itself looks every 20 ms whether there is anything to be drawn
            from pymol.Qt import QtCore

            QtCore.QMetaObject.invokeMethod(window.pymolwidget, "update", QtCore.Qt.QueuedConnection)

    def every(self, milliseconds: int, function: Callable[[], None]) -> bool:
        window = main_window()
        if function not in self._timers and window is not None:
            from pymol.Qt import QtCore

            timer = self._timers[function] = QtCore.QTimer(interval=milliseconds)
            timer.moveToThread(window.thread())  # before it is connected: the function is called in that thread
            timer.timeout.connect(function)
            QtCore.QMetaObject.invokeMethod(timer, "start", QtCore.Qt.QueuedConnection)
        return function in self._timers

    def has_window(self) -> bool:
        return main_window() is not None

    def wait(self, future: Future[Any]) -> None:
        window = main_window()
        if window is not None:
            from pymol.Qt import QtCore

            if QtCore.QThread.currentThread() == window.thread():
                loop = QtCore.QEventLoop()
                quit = (loop, "quit", QtCore.Qt.QueuedConnection)
                future.add_done_callback(lambda done: QtCore.QMetaObject.invokeMethod(*quit))
                self.cmd.do("/None", 0, 0)  # while a command is busy PyMOL draws without a pause; it no longer is
                loop.exec_()
                if future.cancel() or future.done():  # cancelled: PyMOL quits
                    return
        wait([future])

    def objects(self) -> set[str]:
        return set(self.cmd.get_names("objects"))

    def drawing(self, surface: Surface, look: Look) -> list[float] | DrawnVolume:
        if look.style in VOLUME_STYLES:
            return DrawnVolume(look.style, surface.isovalue, look)
        return drawing_of(surface, look)

    def size(self, surface: Surface, volume: Volume) -> int:
        return volume.values.nbytes + _BYTES_A_FACE * len(surface.faces)

    def put_surface(
        self,
        name: str,
        molecule: str,
        drawing: list[float] | DrawnVolume,
        look: Look,
        colouring: Colouring | None,
        frame: int | None = None,
    ) -> None:
        known = self._volumes.get(name)
        if known is None or frame is None or not isinstance(drawing, DrawnVolume):
            self._drop_volume(name)
        if isinstance(drawing, DrawnVolume):  # the surface stays as an empty object, by which it is known
            self._volumes[name] = drawing if known is None else replace(drawing, state=known.state)
            drawing, colouring = [], None
        if frame is not None and name in self.objects():  # one more state of it; the rest is as it is
            self.cmd.load_cgo(drawing, name, frame + 1, zoom=0)
            before = float(self.cmd.get("cgo_transparency", name))
            if abs(before - look.transparency) > 1e-4:  # setting it draws all states anew
                self.set_transparency(name, look.transparency)
            return
        delete(self.cmd, name)
        if frame is not None:  # room for all: PyMOL copies the states that are there when it makes more
            self.cmd.load_cgo([], name, self._n_states(molecule, frame), zoom=0)
        state = self.loaded.state_of_orbitals(molecule) if frame is None else frame + 1
        self.cmd.load_cgo(drawing, name, state, zoom=0)
        self.set_transparency(name, look.transparency)
        if look.style == "two-sided":
            self.cmd.set("two_sided_lighting", 1, name)
        self._group(molecule, name)
        self._put_scale(f"{name}_scale", molecule, colouring)

    def redraw_surface(
        self,
        name: str,
        molecule: str,
        drawing: list[float] | DrawnVolume,
        look: Look,
        colouring: Colouring | None,
    ) -> None:
        if name not in self.objects():
            return
        if isinstance(drawing, DrawnVolume):  # it is drawn with its map, which follows
            self._volumes[name] = drawing
            return
        self.cmd.load_cgo(drawing, name, self.loaded.state_of_orbitals(molecule), zoom=0)
        if colouring is not None and self._scales.get(f"{name}_scale") != _scale_of(colouring):
            self._put_scale(f"{name}_scale", molecule, colouring)

    def is_dragging(self) -> bool:
        window = main_window()
        if window is None:
            return False
        from pymol.Qt import QtCore, QtWidgets

        return bool(QtWidgets.QApplication.mouseButtons() != QtCore.Qt.NoButton)

    def bring_back(self, molecule: str) -> None:
        self.loaded.bring_back({molecule})

    def hidden(self, surfaces: Mapping[str, str]) -> set[str]:
        off = self.objects() - set(self.cmd.get_names("objects", enabled_only=1))
        return {name for name, molecule in surfaces.items() if {name, self.loaded.group_name(molecule)} & off}

    def set_visible(self, name: str, molecule: str, visible: bool) -> None:
        seen = self.parts(name) - {f"{name}_map"}
        if not visible:
            for part in seen & self.objects():
                self.cmd.disable(part)
            return
        for part in {*seen, self.loaded.group_name(molecule)} & self.objects():
            self.cmd.enable(part)

    def set_grid(self, places: Mapping[str, int]) -> None:
        if places and not self._places:
            self._view_before = self.cmd.get_view()
        self._places = dict(places)
        self.cmd.set("grid_mode", 1 if places else 0)
        if places:
            groups = self.cmd.get_names_of_type("object:group")  # what is set for one is set for all that is in it
            self._put_into_grid([*groups, *(self.objects() - set(groups))])
            self._fit_into_cells(" ".join(places.keys() & self.objects()), len(places))
        elif self._view_before is not None:
            self.cmd.set_view(self._view_before)

    def entitle(self, titles: Mapping[str, tuple[str, str]]) -> None:
        for title in self._titles & self.objects():
            delete(self.cmd, title)
        self._titles = {f"{name}_title" for name in titles}
        if not titles:
            return
        low, high = np.array(self.cmd.get_extent(" ".join(titles)))
        middle, below = ((low + high) / 2).tolist(), float(np.linalg.norm(high - low)) / 2  # the same in all cells
        for name, (molecule, text) in titles.items():
            title = f"{name}_title"
            self.cmd.pseudoatom(title, pos=middle, label=text)
            self.cmd.show_as("labels", title)
            for setting, value in (("label_position", [0.0, -below, 0.0]), ("label_size", _TITLE_SIZE)):
                self.cmd.set(setting, value, title)
            self._group(molecule, title)
            self.cmd.set("grid_slot", self._places.get(name, _ALL_CELLS), title)

    def _fit_into_cells(self, names: str, n_cells: int) -> None:
        """Have objects seen whole in each cell of the grid; PyMOL itself fits them into the whole picture."""
        if not (names and self.cmd.get_setting_boolean("auto_zoom")):
            return
        self.cmd.zoom(names, _MARGIN)
        width, height = self.cmd.get_viewport()
        rows = math.isqrt(n_cells - 1) + 1 if n_cells > 2 else 1
        columns = math.ceil(n_cells / rows)
        narrow = (width / columns) / (height / rows)
        distance = -self.cmd.get_view()[11]
        if narrow < 1:
            self.cmd.move("z", -distance * (1 / narrow - 1))

    def _put_into_grid(self, names: Iterable[str]) -> None:
        """Have objects stand where they are to; those without a place in all cells, in place of a cell of their own."""
        for name in names:
            self.cmd.set("grid_slot", self._places.get(name, _ALL_CELLS), name)

    def _group(self, molecule: str, names: str) -> None:
        self.loaded.group(molecule, names)
        if self._places:
            self._put_into_grid(names.split())

    def viewpoint(self, n_frames: int = 0) -> Viewpoint:
        return viewpoint_of(self.cmd, n_frames, self._titles & self.objects())

    def ray_tracing(self, surfaces: Set[str]) -> tuple[Callable[..., Pixels], Any]:
        if volumes := sorted(surfaces & self._volumes.keys()):
            raise OrbitileError(
                f"ray: PyMOL's ray tracer draws no fog and no slices, as {', '.join(volumes)} is; leave ray out, and "
                "the renderer of Orbitile draws the picture, or choose another style (orb_style surface)"
            )
        return trace, scene_of(self.cmd, surfaces | self._titles)

    def set_transparency(self, name: str, transparency: float) -> None:
        self.cmd.set("cgo_transparency", transparency, name)
        if name in self._volumes:
            drawn = self._volumes[name]
            self._volumes[name] = replace(drawn, look=replace(drawn.look, transparency=transparency))
            self._draw_volume(name)

    def put_volume(self, name: str, molecule: str, volume: Volume, frame: int | None = None) -> None:
        there = frame is not None and f"{name}_map" in self.objects()
        if frame is not None and not there:  # room for all, as for the surface
            put_map(self.cmd, f"{name}_map", nothing_at(volume.lattice.origin), self._n_states(molecule, frame))
        state = None if frame is None else frame + 1
        try:
            put_map(self.cmd, f"{name}_map", volume, state)
        except FileError:  # PyMOL's maps, as crystallographers', have their first axis along x
            put_map(self.cmd, f"{name}_map", upright(volume), state)
            self.say(
                f"{name}: PyMOL cannot hold a map with the axes of this lattice; {name}_map is interpolated on axes "
                "along x, y and z. The surface and what is saved are not."
            )
        if not there:
            self.loaded.group(molecule, f"{name} {name}_map")
        if frame is None or frame == self.frame(molecule):
            self._draw_volume(name, 1 if frame is None else frame + 1)
        self._group_volume(name, molecule)

    def turn_to(self, name: str, molecule: str, frame: int) -> None:
        if name in self._volumes and self._volumes[name].state != frame + 1:
            self._draw_volume(name, frame + 1)
            self._group_volume(name, molecule)

    def _group_volume(self, name: str, molecule: str) -> None:
        for part in (f"{name}_{part}" for part in _VOLUME_PARTS):
            if part in self.objects():
                self._group(molecule, part)

    def _draw_volume(self, name: str, state: int | None = None) -> None:
        """Draw the map of a surface anew that is fog or a slice, in another state of it where one is given."""
        drawn = self._volumes.get(name)
        if drawn is None or f"{name}_map" not in self.objects():
            return
        drawn = drawn if state is None else replace(drawn, state=state)
        self._drop_volume(name)
        self._volumes[name] = drawn
        if drawn.style == "fog":
            put_fog(self.cmd, f"{name}_fog", f"{name}_map", drawn)
        else:
            put_slice(self.cmd, f"{name}_slice", f"{name}_map", f"{name}_ramp", drawn)
        if name not in self.cmd.get_names("objects", enabled_only=1):  # hidden, and new objects are seen
            self.cmd.disable(" ".join(f"{name}_{part}" for part in _VOLUME_PARTS))

    def _drop_volume(self, name: str) -> None:
        """Take away what draws the map of a surface."""
        self._volumes.pop(name, None)
        for part in _VOLUME_PARTS:
            if f"{name}_{part}" in self.objects():
                delete(self.cmd, f"{name}_{part}")

    def put_drawings(self, molecule: str, name: str, drawings: Sequence[Drawing]) -> None:
        self.drawings.put(molecule, name, drawings)
        self.loaded.drop_empty_groups()

    def structures(self) -> list[str]:
        drawn = self.drawings.names() | self._titles
        return [name for name in self.cmd.get_names_of_type("object:molecule") if name not in drawn]

    def drop(self, name: str, frame: int) -> None:
        there = self.objects()
        if name in there:
            self.cmd.load_cgo([], name, frame + 1, zoom=0)
        if f"{name}_map" in there:  # a state cannot be taken away, but it can be made small
            corner = np.array(self.cmd.get_extent(f"{name}_map")[0]) * angstrom
            put_map(self.cmd, f"{name}_map", nothing_at(corner), frame + 1)

    def remove(self, name: str) -> None:
        self._drop_volume(name)
        for part in self.parts(name) & self.objects():
            delete(self.cmd, part)
        self._scales.pop(f"{name}_scale", None)
        self._gleam_or_not()
        self.loaded.drop_empty_groups()

    def rename_parts(self, old: str, new: str, molecule: str, colouring: Colouring | None) -> None:
        """Have the volume of a surface and the explanation of its colours follow the new name of the surface."""
        there = self.objects()
        if f"{old}_map" in there and f"{new}_map" not in there:
            editing.set_name(f"{old}_map", f"{new}_map", _self=self.cmd)
        drawn = self._volumes.get(old)
        self._drop_volume(old)
        if drawn is not None:
            self._volumes[new] = drawn
            self._draw_volume(new)
        delete(self.cmd, f"{old}_scale")  # made anew: PyMOL crashes when a ramp is renamed twice
        self._put_scale(f"{new}_scale", molecule, colouring)
        kept = {new, f"{new}_map", *(f"{new}_{part}" for part in _VOLUME_PARTS)}
        self._group(molecule, " ".join(sorted(kept & self.objects())))

    def _put_scale(self, name: str, molecule: str, colouring: Colouring | None) -> None:
        delete(self.cmd, name)
        self._scales.pop(name, None)
        if colouring is not None:  # a ramp, which PyMOL can colour by too
            self._scales[name] = _scale_of(colouring)
            colours = [list(colour) for colour in MAPS[colouring.colour_map]]
            values = np.linspace(colouring.low, colouring.high, len(colours)).tolist()
            self.cmd.ramp_new(name, "none", values, colours)
            self._group(molecule, name)
        self._gleam_or_not()

    def take_up_scales(self, names: Iterable[str]) -> None:
        """Know scales that came with a saved session, without highlights as it was saved."""
        self._scales |= dict.fromkeys(names, (0.0, 0.0, ""))
        if self._scales and self._specular is None:
            self._specular = _GLEAMING
        self._gleam_or_not()

    def _gleam_or_not(self) -> None:
        """Have nothing gleam while colours stand for values: highlights are white, which would be read as zero.

        PyMOL has one setting for all that it shows. What it was before comes back, unless the user has changed it.
        """
        if self._scales and self._specular is None:
            self._specular = self.cmd.get("specular")
            self.cmd.set("specular", 0)
        elif not self._scales and self._specular is not None:
            if float(self.cmd.get("specular")) == 0:
                self.cmd.set("specular", self._specular)
            self._specular = None

    def colour(self, name: str) -> Colour:
        index = self.cmd.get_color_index(name)
        if index < 0 and not name.startswith("0x"):
            raise OrbitileError(f"colour: PyMOL knows no colour called {name!r}")
        red, green, blue = self.cmd.get_color_tuple(index)
        return red, green, blue

    def say(self, text: str) -> None:
        print(f" Orbitile: {text}")

    def settings(self) -> dict[str, Any]:
        from pymol.plugins import pref_get

        kept = pref_get(_SETTINGS, {})
        return dict(kept) if isinstance(kept, dict) else {}

    def keep_settings(self, settings: dict[str, Any]) -> None:
        from pymol.plugins import pref_set

        pref_set(_SETTINGS, dict(settings))

    def _n_states(self, molecule: str, frame: int) -> int:
        """States of a molecule, at least as many as that of a frame."""
        return max(int(self.cmd.count_states(molecule)) if molecule in self.objects() else 0, frame + 1)

    # ---- atoms

    def geometries(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        if name not in self.cmd.get_names_of_type("object:molecule"):
            raise OrbitileError(f"no molecule is called {name!r}")
        symbols: list[str] = of_atoms(self.cmd, name, "elem.capitalize()", _draw_window)  # files write ZN
        unknown = sorted(set(symbols) - NUMBERS.keys())
        if unknown or not symbols:
            raise OrbitileError(f"{name}: expected atoms of known elements, got {', '.join(unknown) or 'no atoms'}")
        states = [self.cmd.get_coords(name, state + 1) for state in range(self.cmd.count_states(name))]
        if any(coordinates is None or len(coordinates) != len(symbols) for coordinates in states):
            raise OrbitileError(f"{name}: expected the same atoms in all states")
        return np.array([NUMBERS[symbol] for symbol in symbols]), np.array(states, np.float64) * angstrom

    def partial_charges(self, molecule: str) -> NDArray[np.float64] | None:
        charges = np.array(of_atoms(self.cmd, molecule, "partial_charge", _draw_window))
        return charges if charges.any() else None

    def formal_charge(self, molecule: str) -> int:
        charges: list[int] = []
        if molecule in self.objects():
            self.cmd.iterate(f"%{molecule}", "charges.append(formal_charge)", space={"charges": charges})
        return sum(charges)

    def positions(self, molecule: str) -> NDArray[np.float64] | None:
        found = self.cmd.get_coords(f"%{molecule}", self._state_of(molecule)) if molecule in self.objects() else None
        return None if found is None else np.asarray(found, np.float64) * angstrom

    def move(self, molecule: str, positions: NDArray[np.float64]) -> None:
        if molecule not in self.objects():
            raise OrbitileError(f"no molecule is called {molecule!r}")
        self.cmd.load_coords((positions / angstrom).tolist(), f"%{molecule}", self._state_of(molecule))

    def kept_atoms(self, molecule: str) -> Any:
        drawn: list[tuple[int, int]] = []
        self.cmd.iterate(f"%{molecule}", "drawn.append((color, reps))", space={"drawn": drawn})
        return self.cmd.get_model(f"%{molecule}"), drawn

    def restore_atoms(self, molecule: str, kept: Any) -> None:
        (model, drawn), state = kept, self._state_of(molecule)
        title = self.cmd.get_title(molecule, state) or ""  # by which its wavefunction is known
        self.cmd.unpick()
        self.cmd.remove(f"%{molecule}")
        self.cmd.load_model(model, molecule, state, zoom=0)
        self.cmd.set_title(molecule, state, title)
        space = {"drawn": iter(drawn), "next": next}
        self.cmd.alter(f"%{molecule}", "(color, reps) = next(drawn)", space=space)
        self.cmd.rebuild(molecule)

    def as_held(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        return (positions / angstrom).astype(np.float32).astype(np.float64) * angstrom

    def picked(self, molecule: str, names: Sequence[str] = ()) -> tuple[int, ...]:
        there = self.names()
        every = self.cmd.index(f"%{molecule}")
        found = []
        for name in names or [name for name in _PICKED if name in there]:
            atoms = self.cmd.index(f"%{molecule} and %{name}") if name in there else []
            if len(atoms) != 1:
                raise OrbitileError(f"{name}: expected a selection of one atom of {molecule}, got {len(atoms)}")
            found.append(every.index(atoms[0]))
        return tuple(found)

    def rebond(self, molecule: str) -> None:
        numbers, _ = self.geometries(molecule)
        positions = self.positions(molecule)
        if positions is None:
            return
        drawn = {(min(i, j), max(i, j)) for i, j, _ in self.cmd.get_bonds(f"%{molecule}")}
        near = {(i, j) for i, j in find_bonds(numbers, positions).tolist()}
        radii = [covalent_radius(z) for z in numbers]
        torn = {(i, j) for i, j in drawn if np.linalg.norm(positions[i] - positions[j]) > _TORN * (radii[i] + radii[j])}
        for change, pairs in ((self.cmd.unbond, torn), (self.cmd.bond, near - drawn)):
            for i, j in sorted(pairs):
                change(f"%{molecule} and index {i + 1}", f"%{molecule} and index {j + 1}")

    def atoms(self, molecule: str, selection: str) -> tuple[int, ...]:
        from pymol import CmdException

        chosen: list[int] = []
        try:
            self.cmd.iterate(f"%{molecule} and ({selection})", "add(index)", space={"add": chosen.append})
        except CmdException as error:
            raise OrbitileError(f"PyMOL does not know the selection {selection[:80]!r}: {error}") from error
        if not chosen:
            raise OrbitileError(f"{selection[:80]!r} selects no atom of {molecule}")
        words = _OR.split(selection.strip())
        if not set(words) <= {"", *self.cmd.get_names("selections")}:
            return self._places_of(molecule, chosen)
        return tuple(dict.fromkeys(atom for word in filter(None, words) for atom in self._of(molecule, word)))

    def selected(self, molecule: str) -> tuple[int, ...]:
        there = self.names()
        if _CHOSEN in there and (chosen := self._of(molecule, _CHOSEN)):
            return chosen
        return tuple(atom for name in _PICKED if name in there for atom in self._of(molecule, name))

    def _of(self, molecule: str, selection: str) -> tuple[int, ...]:
        """Atoms of a molecule that a selection of a name holds."""
        return self._places_of(molecule, [index for _, index in self.cmd.index(f"%{molecule} and %{selection}")])

    def select(self, molecule: str, atoms: Sequence[int]) -> None:
        every = [index for _, index in self.cmd.index(f"%{molecule}")]
        numbers = "+".join(str(every[atom]) for atom in atoms if atom < len(every))
        self.cmd.select(_CHOSEN, f"%{molecule} and index {numbers}" if numbers else "none", enable=1)

    def structure(self, selection: str, surroundings: str = "") -> tuple[Structure, NDArray[np.int64]]:
        from pymol import CmdException

        try:
            touched = self.cmd.get_object_list(f"({selection})") or []
            others = self.cmd.get_object_list(f"({surroundings})") or [] if surroundings else self._surroundings()
        except CmdException as error:
            raise OrbitileError(f"PyMOL does not know {selection[:80]!r}, or {surroundings[:80]!r}: {error}") from error
        if not touched:
            raise OrbitileError(f"{selection[:80]!r} selects no atom")
        objects = list(dict.fromkeys([*touched, *others]))
        return structure_of(self.cmd, selection, objects, surroundings or "all", _draw_window)

    def regions(self) -> dict[str, str]:
        objects = " ".join(f"%{name}" for name in self._surroundings())
        if not objects:
            return {}
        found = {}
        for name in self.cmd.get_names("public_selections"):
            if n := self.cmd.count_atoms(f"%{name} and ({objects})"):
                found[f"({name}), {n} atoms"] = f"%{name} and ({objects})"
        residues: dict[tuple[str, ...], int] = {}
        count = "count(model, segi, chain, resi, resn)"
        self.cmd.iterate(
            f"({objects}) and organic",
            count,
            space={"count": lambda *key: residues.update({key: residues.get(key, 0) + 1})},
        )
        for (model, segment, chain, number, name), n in list(residues.items())[:_MOST_LIGANDS]:
            selection = f"/{model}/{segment}/{chain}/{name}`{number}"
            found[f"{name} {number}{' of chain ' * bool(chain)}{chain} in {model}, {n} atoms"] = selection
        return found

    def add_hydrogens(self, selection: str) -> None:
        self.cmd.h_add(f"({selection}) or byres neighbor ({selection})")
        # PyMOL takes many NH of rings for N; once one has its hydrogen, another one may turn out to lack it
        for _ in range(_ROUNDS):
            structure, chosen = self.structure(selection, f"({selection}) extend 2")
            inside = np.zeros(len(structure.names), bool)
            inside[chosen] = True
            sites = protonated_nitrogens(structure, inside)
            for site in sites:
                residue = structure.residues[structure.residue_of[site]]
                number = residue.number.replace("-", "\\-")
                where = f"resn {residue.name} and resi {number} and chain '{residue.chain}'"
                at = f'({selection}) and {where} and name "{structure.names[site]}"'
                self.cmd.edit(at)
                self.cmd.attach("H", 1, 1)  # h_add would take its own view of the valence again
                self.cmd.unpick()
            if not sites:
                return

    def show_residue(self, residue: Residue) -> bool:
        objects = " ".join(f"%{name}" for name in self._surroundings())
        number = residue.number.replace("-", "\\-")  # it would be a range
        where = f"({objects}) and resi {number} and resn {residue.name} and chain '{residue.chain}'"
        if not objects or not self.cmd.select(_CHOSEN, where, enable=1):
            return False
        self.cmd.zoom(_CHOSEN, _AROUND_RESIDUE, animate=0.4)
        return True

    def _surroundings(self) -> list[str]:
        """Molecules that are shown, less those that have a wavefunction."""
        computed = {name for name, source in self.molecules().items() if not is_promolecule(source)}
        shown = set(self.cmd.get_names("objects", enabled_only=1))
        return [name for name in self.structures() if name in shown and name not in computed]

    def centre(self, place: Sequence[float]) -> None:
        self.cmd.pseudoatom(_PLACE, pos=[float(part) / angstrom for part in place])
        self.cmd.center(_PLACE, animate=0.4)
        delete(self.cmd, _PLACE)

    def _places_of(self, molecule: str, indices: Sequence[int]) -> tuple[int, ...]:
        """PyMOL's numbers of atoms as places in the order in which it gives coordinates, from 0 and rising."""
        at = {index: number for number, (_, index) in enumerate(self.cmd.index(f"%{molecule}"))}
        return tuple(sorted(at[index] for index in indices))

    def _state_of(self, molecule: str) -> int:
        """The state that is seen of a molecule."""
        n = int(self.cmd.count_states(f"%{molecule}"))
        return min(max(int(self.cmd.get_state()), 1), max(n, 1))


def _scale_of(colouring: Colouring) -> tuple[float, float, str]:
    """What a ramp is made of."""
    return colouring.low, colouring.high, colouring.colour_map


def _draw_window() -> None:
    """Have PyMOL's window drawn, and its timers run, in the middle of something else; users wait."""
    window = main_window()
    if window is not None:
        from pymol.Qt import QtCore

        if QtCore.QThread.currentThread() == window.thread():
            QtCore.QCoreApplication.processEvents(QtCore.QEventLoop.ExcludeUserInputEvents)


def main_window() -> Any:
    """PyMOL's own window, or None where there is none that Qt has made."""
    try:
        from pymol import gui

        return gui.get_qtwindow()
    except Exception:  # there is no window, or the Qt it was made with is gone
        return None
