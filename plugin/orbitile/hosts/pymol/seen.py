"""What PyMOL shows and from where: for a picture by Orbitile, for PyMOL's ray tracer, and as commands."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.temporary import own_folder
from ...model.units import angstrom
from ...pictures.writing import Pixels
from ...renderer import Camera
from ...scenes import Molecule
from ...session.declaration import PYMOL
from ...session.picture import Pane
from ...session.recipe import calls
from ...session.session import Session
from ...session.viewpoint import Viewpoint
from ...surfaces.colour_maps import RGB
from .drawings import SAVED as DRAWINGS
from .graphics import drawing_of
from .molecules import SAVED

_STICKS, _SPHERES, _SMALL_SPHERES, _LINES, _CROSSES = 1, 2, 16, 128, 2048  # bits of what an atom is shown as
_OTHERS = ("cartoon", "ribbon", "surface", "mesh", "dots", "labels")
"""What PyMOL calls the other things that it draws of atoms."""
_THIN = 0.03
"""Radius of lines and crosses in Angstrom, which PyMOL draws a pixel wide or two."""
_NOT_TRACED = ("object:map", "object:group", "object:ramp")
_LEFT_OUT = ("orbitile", *SAVED, DRAWINGS, "wizard", "cache", "moviescenes")
"""Parts of a session that have nothing to do with what is seen."""


def viewpoint_of(cmd: Any, n_frames: int = 0, titles: Set[str] = frozenset()) -> Viewpoint:
    """What can be seen in a PyMOL: atoms drawn as spheres, sticks or lines.

    Parameters
    ----------
    cmd
        The `cmd` of a PyMOL.
    n_frames : int
        States from the first on for which it is also told where the atoms are.
    titles : set of str
        Objects that say what a legend says.
    """
    width, height = cmd.get_viewport()
    view = np.array(cmd.get_view())
    molecule, paths = _molecule(cmd, n_frames)
    others = "".join(f" and not %{title}" for title in titles)
    return Viewpoint(
        _camera(view, bool(cmd.get_setting_int("orthoscopic"))),
        molecule,
        view[12:15] * angstrom,
        _colour(cmd, cmd.get_setting_int("bg_rgb")),
        (int(width), int(height)),
        paths,
        ", ".join(kind for kind in _OTHERS if cmd.count_atoms(f"visible and rep {kind}{others}")),
    )


def _camera(view: np.ndarray[Any, Any], orthographic: bool) -> Camera:
    """The camera of the 18 numbers that PyMOL has for a view: rotation, shift, centre, depths, field of view."""
    left, _, right = np.linalg.svd(view[:9].reshape(3, 3).T)  # at right angles, to more than single precision
    rotation, shift, centre = left @ right, view[9:12], view[12:15]
    eye = (centre - rotation.T @ shift) * angstrom
    field_of_view = abs(float(view[17]))
    height = -2 * float(shift[2]) * np.tan(np.radians(field_of_view) / 2) * angstrom
    near, far = (max(float(depth), 0.0) * angstrom for depth in view[15:17])
    return Camera(rotation, eye, field_of_view, orthographic, height if orthographic else None, (near, far))


def _molecule(cmd: Any, n_frames: int) -> tuple[Molecule, NDArray[np.float64]]:
    """Balls and sticks of all atoms that can be seen, and where the atoms are in the first states."""
    paths = [np.zeros((n_frames, 0, 3))]
    centres: list[tuple[float, ...]] = []
    radii: list[float] = []
    colours: list[int] = []
    bonds: list[tuple[int, int]] = []
    stick_radii: list[float] = []
    seen = set(cmd.get_object_list("visible") or ())
    for name in (name for name in cmd.get_names_of_type("object:molecule") if name in seen):
        state = cmd.get_object_state(name)
        if not 1 <= state <= cmd.count_states(name):  # PyMOL stands where this object has nothing
            continue
        first = len(centres)
        atoms = _atoms(cmd, name, state)
        radii += [atom.radius for atom in atoms]
        centres += [atom.centre for atom in atoms]
        colours += [atom.colour for atom in atoms]
        paths.append(_paths(cmd, name, [atom.centre for atom in atoms], n_frames))
        for a, b, _ in cmd.get_bonds(_drawn(name), state):
            both = atoms[a].shown_as & atoms[b].shown_as
            if both & (_STICKS | _LINES):
                radius = min(atoms[a].stick, atoms[b].stick) if both & _STICKS else _THIN
                bonds.append((first + a, first + b))
                stick_radii.append(radius)
                for end in (first + a, first + b):
                    radii[end] = max(radii[end], radius)
    inks = {colour: _colour(cmd, colour) for colour in set(colours)}
    molecule = Molecule(
        np.array(centres, np.float64).reshape(-1, 3) * angstrom,
        np.array(radii, np.float64) * angstrom,
        np.array([inks[colour] for colour in colours], np.float64).reshape(-1, 3),
        np.array(bonds, np.int64).reshape(-1, 2),
        np.array(stick_radii, np.float64) * angstrom,
    )
    return molecule, np.concatenate(paths, axis=1) * angstrom


def _paths(cmd: Any, name: str, now: list[tuple[float, ...]], n_frames: int) -> NDArray[np.float64]:
    """Where the atoms of an object are in the first states, in Angstrom; where they are now, without such a state."""
    last = cmd.count_states(name)
    paths = np.empty((n_frames, len(now), 3))
    for frame in range(n_frames):
        found = cmd.get_coords(_drawn(name), frame + 1) if 1 < last > frame else None
        paths[frame] = now if found is None or len(found) != len(now) else found
    return paths


@dataclass(frozen=True)
class _Atom:
    """An atom as PyMOL draws it: lengths in Angstrom, what it is shown as in bits, its colour by number."""

    centre: tuple[float, float, float]
    shown_as: int
    colour: int
    radius: float
    stick: float


def _atoms(cmd: Any, name: str, state: int) -> list[_Atom]:
    """The atoms of an object that are drawn as balls, sticks or lines, in the order in which bonds name them."""
    found: list[_Atom] = []

    def add(x: float, y: float, z: float, shown_as: int, colour: int, element: str, sizes: tuple[float, ...]) -> None:
        sphere, small, stick, share = sizes
        radius = sphere if shown_as & _SPHERES else small if shown_as & _SMALL_SPHERES else 0.0
        radius = max(radius, _THIN if shown_as & _CROSSES else 0.0)
        found.append(_Atom((x, y, z), shown_as, colour, radius, stick * (share if element == "H" else 1)))

    sizes = "(vdw * s.sphere_scale, s.nb_spheres_size, s.stick_radius, s.stick_h_scale)"
    cmd.iterate_state(state, _drawn(name), f"add(x, y, z, reps, color, elem, {sizes})", space={"add": add})
    return found


def _drawn(name: str) -> str:
    """Selects the atoms of an object that are drawn as balls, sticks or lines."""
    return f"%{name} and rep sticks+spheres+nb_spheres+lines+nonbonded"


def _colour(cmd: Any, index: int) -> RGB:
    """A colour by its number; grey for those that differ from place to place, as those of a ramp do."""
    red, green, blue = cmd.get_color_tuple(index) if index >= 0 else (0.7, 0.7, 0.7)
    return red, green, blue


def scene_of(cmd: Any, surfaces: Set[str]) -> dict[str, Any]:
    """What can be seen in a PyMOL but for some surfaces, as a session of PyMOL.

    Surfaces go to the second PyMOL by themselves: PyMOL has them in lists of numbers, which take it a second.
    """
    others = set(cmd.get_names("objects", enabled_only=1)) - surfaces
    others.difference_update(*(cmd.get_names_of_type(kind) for kind in _NOT_TRACED))
    session = cmd.get_session(" ".join(sorted(others)) or "none", partial=0)
    return {part: value for part, value in session.items() if part not in _LEFT_OUT}


def trace(scene: dict[str, Any], pane: Pane, size: tuple[int, int], paper: RGB | None) -> Pixels:
    """Trace a pane together with a scene in this process; see `orbitile.session.picture.DrawPane`."""
    import pymol2  # type: ignore[import-untyped]  # PyMOL has no types
    from PIL import Image

    with pymol2.PyMOL() as instance, tempfile.TemporaryDirectory(dir=own_folder()) as folder:
        cmd = instance.cmd
        cmd.set_session(scene)
        cmd.set("grid_mode", 0)
        for drawn in pane:
            look = drawn.shown.look
            cmd.load_cgo(drawing_of(drawn.surface, look), drawn.name, zoom=0)
            cmd.set("cgo_transparency", look.transparency, drawn.name)
        cmd.set("two_sided_lighting", 1)  # the inside of a surface that is cut is black without
        cmd.set("ray_opaque_background", 0 if paper is None else 1)
        if paper is not None:
            cmd.set_color("orbitile_paper", list(paper))
            cmd.bg_color("orbitile_paper")
        target = Path(folder) / "traced.png"
        cmd.png(str(target), *size, ray=1, quiet=1)
        with Image.open(target) as picture:
            return np.array(picture.convert("RGBA"))


def pymol_lines(session: Session, cmd: Any, names: Sequence[str]) -> list[str]:
    """Lines for PyMOL's prompt or a .pml file that show surfaces again, from where they are seen now.

    Parameters
    ----------
    session : Session
    cmd
        The `cmd` of a PyMOL.
    names : sequence of str
        Surfaces.

    Raises
    ------
    OrbitileError
        When there is no such surface.
    """
    shelf = session.shelf
    asked = calls(session, names)
    lines = [PYMOL.line(call) for call in asked]
    frames = [session.frame(shelf[name].molecule) for name in names]
    moved = [f"frame {frame + 1}" for frame in frames if frame][:1]
    loads = [line for line, call in zip(lines, asked, strict=True) if call.command == "orb_load"]
    grid = [f"set grid_slot, {place}, {name}" for place, name in enumerate(shelf.grid, 1) if name in names]
    grid = ["set grid_mode, 1", "set grid_slot, -2, *", *grid] if grid else []  # -2: in all places
    view = ", ".join(f"{number:.6g}" for number in cmd.get_view())
    return [*loads, *moved, *lines[len(loads) :], *grid, f"set_view ({view})"]
