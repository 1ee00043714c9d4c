"""What Blender is made to show: molecules, surfaces, frames; its views and timers."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...base.errors import OrbitileError
from ...files.writing import read_settings, replace_settings
from ...model.geometry import Molecule
from ...model.report import Drawing
from ...model.surface import Colouring, Surface
from ...model.units import angstrom
from ...model.volume import Volume
from ...pictures.look import Look
from ...scenes import Mesh, dots, wires
from ...session.host import TrajectoryViewer
from . import molecules, things
from .things import data_of_mesh, set_opacity


def views() -> Iterator[tuple[Any, Any, Any]]:
    """The views of three dimensions that are open, each with its window and the region that is drawn to."""
    manager = bpy.context.window_manager
    for window in manager.windows if manager is not None else ():
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                region = next((region for region in area.regions if region.type == "WINDOW"), None)
                if region is not None:
                    yield window, area, region


def redraw() -> None:
    """Have the sidebars drawn anew."""
    for _, area, _ in views():
        area.tag_redraw()


def look_at(things: Sequence[Any]) -> None:
    """Bring objects and what belongs to them into view; what is selected stays so."""
    view = next(views(), None)
    if view is None or not things:
        return
    window, area, region = view
    everything = {part for thing in things for part in (thing, *thing.children_recursive)}
    selected = list(bpy.context.selected_objects)
    with bpy.context.temp_override(window=window, area=area, region=region):
        for thing in bpy.context.view_layer.objects:
            thing.select_set(thing in everything)
        bpy.ops.view3d.view_selected()
        for thing in bpy.context.view_layer.objects:
            thing.select_set(thing in selected)


def directions() -> NDArray[np.float64] | None:
    """What points to the right, up, and towards the user, shape (3, 3); None without a view."""
    view = next(views(), None)
    if view is None:
        return None
    return np.array(view[1].spaces.active.region_3d.view_matrix, np.float64)[:3, :3]


class Timers:
    """Timers of Blender, one a function; in the background Blender calls none."""

    def __init__(self) -> None:
        self._running: dict[Callable[[], None], Callable[[], float | None]] = {}

    def every(self, milliseconds: int, function: Callable[[], None]) -> bool:
        """Call a function every so often; see `Viewer.every`."""
        if bpy.app.background:
            return False
        if function not in self._running:
            self._running[function] = _again(milliseconds / 1000, function)
            bpy.app.timers.register(self._running[function], first_interval=milliseconds / 1000, persistent=True)
        return True

    def stop(self) -> None:
        """Call none any more."""
        for running in self._running.values():
            if bpy.app.timers.is_registered(running):
                bpy.app.timers.unregister(running)
        self._running.clear()


TIMERS = Timers()
"""Those of this Blender."""


def _again(seconds: float, function: Callable[[], None]) -> Callable[[], float | None]:
    def run() -> float | None:
        try:
            function()
        except Exception:  # Blender would drop it without a word, and the panel would stand still
            traceback.print_exc()
        return seconds

    return run


_LONGEST_NAME = 60
"""Bytes of a name that is given to an object, and begins those of its parts; before Blender 5 there was room for 63."""
_BYTES_A_FACE = 100
_WIRE, _DOT = 0.02 * angstrom, 0.03 * angstrom
"""Radius in bohr of what meshes and dots are drawn with."""


class BlenderViewer(TrajectoryViewer):
    """The Blender of this process as a host; see `orbitile.session.host`."""

    # ---- molecules

    def add_molecule(self, name: str, atoms: Molecule, geometry: int) -> None:
        surfaces = [thing.name for thing in self._surfaces_of(name)]
        root = molecules.add(name, atoms, geometry)
        root[things.ORDER] = (
            max((int(one.get(things.ORDER, 0)) for one in things.all_of(things.MOLECULE)), default=0) + 1
        )
        for surface in surfaces:
            bpy.data.objects[surface].parent = root
        self.adopt(name, atoms.source)

    def adopt(self, name: str, source: str) -> None:
        root = things.get(name, things.MOLECULE)
        if root is not None:
            root[things.SOURCE] = source

    def molecules(self) -> dict[str, str]:
        roots = sorted(things.all_of(things.MOLECULE), key=lambda root: int(root.get(things.ORDER, 0)))
        return {root.name: str(root[things.SOURCE]) for root in roots if things.SOURCE in root}

    def renamed(self) -> dict[str, str]:
        names = {}
        there = {root.name: root for root in things.all_of(things.MOLECULE)}
        for name, root in there.items():
            old = str(root.get(things.NAMED, name))
            if old != name:
                root[things.NAMED] = name
                if old not in there:  # otherwise it is a copy
                    names[old] = name
        return names

    def structures(self) -> list[str]:
        return [root.name for root in things.all_of(things.MOLECULE)]

    def geometries(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        root = self._molecule(name)
        scene, now, paths = bpy.context.scene, bpy.context.scene.frame_current, []
        n_frames = int(root.get(things.FRAMES, 1))
        for frame in range(n_frames) if n_frames > 1 else ():
            things.go_to(frame)
            paths.append(molecules.positions_of(root))
        if n_frames > 1:
            scene.frame_set(now)
        return molecules.numbers_of(root), np.array(paths or [molecules.positions_of(root)])

    def positions(self, molecule: str) -> NDArray[np.float64] | None:
        root = things.get(molecule, things.MOLECULE)
        return None if root is None else molecules.positions_of(root)

    def move(self, molecule: str, positions: NDArray[np.float64]) -> None:
        molecules.move(self._molecule(molecule), positions)

    def as_held(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        return (positions / angstrom).astype(np.float32).astype(np.float64) * angstrom

    def rebond(self, molecule: str) -> None:
        molecules.rebond(self._molecule(molecule))

    def selected(self, molecule: str) -> tuple[int, ...]:
        root = things.get(molecule, things.MOLECULE)
        balls = [] if root is None else molecules.atoms_of(root)
        return tuple(index for index, ball in enumerate(balls) if ball.select_get())

    def select(self, molecule: str, atoms: Sequence[int]) -> None:
        root = things.get(molecule, things.MOLECULE)
        for index, ball in enumerate([] if root is None else molecules.atoms_of(root)):
            ball.select_set(index in atoms)

    def _molecule(self, name: str) -> Any:
        root = things.get(name, things.MOLECULE)
        if root is None:
            raise OrbitileError(f"no molecule that Orbitile has loaded is called {name!r}")
        return root

    # ---- what there is

    def objects(self) -> set[str]:
        return {thing.name for thing in things.all_of(things.MOLECULE, things.SURFACE)}

    def names(self) -> set[str]:
        return {thing.name for thing in bpy.data.objects}

    def legal_name(self, name: str) -> str:
        return name.encode()[:_LONGEST_NAME].decode(errors="ignore").strip()

    def _surfaces_of(self, molecule: str) -> list[Any]:
        root = things.get(molecule, things.MOLECULE)
        return [] if root is None else things.parts_of(root, things.SURFACE)

    # ---- surfaces

    def drawing(self, surface: Surface, look: Look) -> Mesh:
        mesh = Mesh.of(surface, *look.colours, _of_a_wall(look.transparency))
        if look.style == "mesh":
            return wires(mesh, _WIRE)
        return dots(mesh, _DOT) if look.style == "dots" else mesh

    def put_surface(
        self,
        name: str,
        molecule: str,
        drawing: Mesh,
        look: Look,
        colouring: Colouring | None,
        frame: int | None = None,
    ) -> None:
        root = self._molecule(molecule)
        self.bring_back(molecule)
        there = things.get(name, things.SURFACE)
        if there is not None and (there.type == "EMPTY") != (frame is not None):
            self.remove(name)
            there = None
        collection = things.collection_of(root)
        if frame is None:
            self._put(
                there, name, drawing, look, lambda data: things.made(name, data, things.SURFACE, collection, root)
            )
            return
        film = there or things.made(name, None, things.SURFACE, collection, root)
        film.empty_display_size = 0.1
        known = self._frame_of(film, frame)
        shown = f"{name} {frame + 1}"
        thing = self._put(
            known, shown, drawing, look, lambda data: things.made(shown, data, things.FRAME, collection, film)
        )
        thing[things.INDEX] = frame
        things.show_in(thing, frame)
        bpy.context.scene.frame_set(bpy.context.scene.frame_current)

    def _put(self, there: Any, name: str, drawing: Mesh, look: Look, make: Callable[[Any], Any]) -> Any:
        """Have an object show what was drawn: one that is there, which stays where it is, or a new one."""
        if there is not None:
            things.require_object_mode(there)
        old = None if there is None else there.data
        data = data_of_mesh(name, drawing)
        if there is None:
            there = make(data)
        else:
            there.data = data
            things.drop(old)
        data.name = name
        for key, value in drawing.facts.items():
            there[key] = value
        self._set_opacity(there, _of_a_wall(look.transparency))
        return there

    def _frame_of(self, film: Any, frame: int) -> Any:
        parts = things.parts_of(film, things.FRAME)
        return next((part for part in parts if part.get(things.INDEX) == frame), None)

    def set_transparency(self, name: str, transparency: float) -> None:
        surface = things.get(name, things.SURFACE)
        if surface is not None:
            for thing in (surface, *things.parts_of(surface, things.FRAME)):
                self._set_opacity(thing, _of_a_wall(transparency))

    def _set_opacity(self, thing: Any, opacity: float) -> None:
        for material in thing.data.materials if thing.data is not None else ():
            if material is not None:
                set_opacity(material, opacity)

    def remove(self, name: str) -> None:
        surface = things.get(name, things.SURFACE)
        if surface is not None:
            things.remove(*things.parts_of(surface, things.FRAME), surface)

    def put_drawings(self, molecule: str, name: str, drawings: Sequence[Drawing]) -> None:
        root = things.get(molecule, things.MOLECULE)
        if root is not None:
            molecules.put_drawings(root, name, drawings)

    # ---- frames

    def frame(self, molecule: str) -> int | None:
        root = things.get(molecule, things.MOLECULE)
        return None if root is None else things.frame_now(int(root.get(things.FRAMES, 1)))

    def go_to(self, molecule: str, frame: int) -> None:
        things.go_to(frame)

    def put_volume(self, name: str, molecule: str, volume: Volume, frame: int | None = None) -> None:
        pass  # Blender has volumes in files only: `orb_export` writes one

    def drop(self, name: str, frame: int) -> None:
        film = things.get(name, things.SURFACE)
        thing = None if film is None else self._frame_of(film, frame)
        if thing is not None:
            things.remove(thing)

    def size(self, surface: Surface, volume: Volume) -> int:
        return _BYTES_A_FACE * len(surface.faces)

    # ---- what is visible

    def set_aside(self, molecule: str, surfaces: Sequence[str]) -> None:
        self._set_collection(molecule, hidden=True)

    def bring_back(self, molecule: str) -> None:
        self._set_collection(molecule, hidden=False)

    def _set_collection(self, molecule: str, *, hidden: bool) -> None:
        root = things.get(molecule, things.MOLECULE)
        if root is not None:
            collection = things.collection_of(root)
            collection.hide_viewport = collection.hide_render = hidden

    def hidden(self, surfaces: Mapping[str, str]) -> set[str]:
        found = set()
        for name in surfaces:
            thing = things.get(name, things.SURFACE)
            if thing is not None and (
                thing.hide_viewport or things.collection_of(thing).hide_viewport or _is_off(thing)
            ):
                found.add(name)
        return found

    def set_visible(self, name: str, molecule: str, visible: bool) -> None:
        surface = things.get(name, things.SURFACE)
        if surface is None:
            return
        surface.hide_viewport = surface.hide_render = not visible
        for part in things.parts_of(surface, things.FRAME):
            part.scale = (1.0, 1.0, 1.0) if visible else (0.0, 0.0, 0.0)  # whether it is seen is for its keys to say
        if visible:
            self.bring_back(molecule)
            if _is_off(surface):
                surface.hide_set(False)

    def look_at(self, names: Sequence[str], how: str) -> None:
        if how != "nothing":
            look_at([thing for thing in map(bpy.data.objects.get, names) if thing is not None])

    def directions(self) -> NDArray[np.float64] | None:
        return directions()

    # ---- the program

    def say(self, text: str) -> None:
        print(f"Orbitile: {text}")

    def every(self, milliseconds: int, function: Callable[[], None]) -> bool:
        return TIMERS.every(milliseconds, function)

    def has_window(self) -> bool:
        return not bpy.app.background

    def settings(self) -> dict[str, Any]:
        try:
            kept = json.loads(read_settings(_settings_file()))
        except (OrbitileError, ValueError):  # there are none yet, or they are damaged
            return {}
        return kept if isinstance(kept, dict) else {}

    def keep_settings(self, settings: dict[str, Any]) -> None:
        file = _settings_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_settings(file, json.dumps(settings, indent=1))


def _is_off(thing: Any) -> bool:
    """Whether the user has closed the eye of an object in the list of what there is."""
    try:
        return bool(thing.hide_get())
    except RuntimeError:  # it is in another scene
        return False


def _settings_file() -> Path:
    return Path(bpy.utils.user_resource("CONFIG")) / "orbitile.json"


def _of_a_wall(transparency: float) -> float:
    """Opacity of one of the two walls of a lobe, which lets so much light through altogether."""
    return 1 - float(np.sqrt(transparency))
