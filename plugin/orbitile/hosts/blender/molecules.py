"""Molecules in Blender: an empty with balls and sticks, in a collection of its own.

Balls of an element share a mesh, so that changing one changes all. A half stick hangs on its atom and stretches to the
other one by a constraint: whoever moves an atom, by hand or by keys, moves its bonds. What analyses draw at molecules
is here too: balls, lines, arrows, and texts at points and atoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...analysis.presentation import with_balls
from ...model.elements import SYMBOLS
from ...model.geometry import Geometry, Molecule, find_bonds
from ...model.report import WIDE, AtomValues, Drawing, Paths, Points
from ...model.units import angstrom
from ...scenes import Molecule as Drawn
from ...scenes.scene import STICK_RADIUS
from ...scenes.solids import Shape, unit_ball, unit_stick
from ...surfaces.colour_maps import RGB
from . import things
from .things import data_of_shape, element_material, surface_material

_ALONG_Y = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], np.float64)
"""Turns what stands along z to y, along which constraints stretch; for rows of coordinates."""


def add(name: str, atoms: Molecule, geometry: int) -> Any:
    """Show atoms at one of their geometries, with a key for each where there are several; gives the empty."""
    take_away(name)
    collection = _collection(name)
    root = things.made(name, None, things.MOLECULE, collection)
    root.empty_display_size = 0.2
    n_frames = len(atoms.geometries)
    root[things.NAMED], root[things.FRAMES], root["title"] = root.name, n_frames, atoms.title
    numbers, paths = atoms.atomic_numbers, atoms.geometries / angstrom
    drawn = Drawn.of(Geometry(numbers, atoms.geometries[geometry]))
    for index, number in enumerate(numbers.tolist()):
        ball = things.made(
            f"{name} {SYMBOLS[number]}{index + 1}",
            _ball(SYMBOLS[number], drawn, index),
            things.ATOM,
            collection,
            root,
        )
        ball[things.INDEX], ball["atomic_number"] = index, number
        ball.location = paths[geometry, index]
        if n_frames > 1:
            things.move_along(ball, paths[:, index])
    _bond(root, drawn.bonds)
    things.end_with(max(int(one.get(things.FRAMES, 1)) for one in things.all_of(things.MOLECULE)))
    if n_frames > 1:
        things.go_to(geometry)
    return root


def _collection(name: str) -> Any:
    """The collection of a molecule: one that was made for it before, or a new one beside those of the user."""
    collection = bpy.data.collections.get(name)
    if collection is None or things.KIND not in collection:
        collection = bpy.data.collections.new(name)
        collection[things.KIND] = things.MOLECULE
    inside = bpy.context.scene.collection
    if collection not in inside.children_recursive:
        inside.children.link(collection)
    return collection


def take_away(name: str) -> None:
    """Remove the atoms, bonds and empty of a molecule; its surfaces stay, and lose their parent."""
    root = things.get(name, things.MOLECULE)
    if root is not None:
        balls = things.parts_of(root, things.ATOM)
        sticks = [stick for ball in balls for stick in things.parts_of(ball, things.STICK)]
        things.remove(*sticks, *balls, *things.parts_of(root, things.DRAWING), root)


def atoms_of(root: Any) -> list[Any]:
    """The balls of a molecule that are there, in the order of its atoms."""
    return sorted(_balls(root), key=lambda ball: int(ball[things.INDEX]))


def _balls(root: Any) -> list[Any]:
    return things.parts_of(root, things.ATOM)


def positions_of(root: Any) -> NDArray[np.float64]:
    """Where the atoms are, shape (n_atoms, 3) in bohr, as the molecule counts it, wherever that was moved to."""
    return np.array([ball.location[:] for ball in atoms_of(root)], np.float64).reshape(-1, 3) * angstrom


def numbers_of(root: Any) -> NDArray[np.int64]:
    """Atomic numbers."""
    return np.array([ball["atomic_number"] for ball in atoms_of(root)], np.int64)


def move(root: Any, positions: NDArray[np.float64]) -> None:
    """Put the atoms somewhere else; bonds follow."""
    for ball, place in zip(atoms_of(root), positions / angstrom, strict=True):
        ball.location = place


def rebond(root: Any) -> None:
    """Draw the bonds of where the atoms are now."""
    numbers, positions = numbers_of(root), positions_of(root)
    real = np.flatnonzero(numbers > 0)
    things.remove(*(stick for ball in atoms_of(root) for stick in things.parts_of(ball, things.STICK)))
    _bond(root, real[find_bonds(numbers[real], positions[real])])


def _bond(root: Any, bonds: NDArray[np.int64]) -> None:
    balls = atoms_of(root)
    for pair in bonds.tolist():
        for here, there in (pair, pair[::-1]):
            ball, other = balls[here], balls[there]
            symbol = SYMBOLS[ball["atomic_number"]]
            name = f"{ball.name}-{other.name.rpartition(' ')[2]}"
            stick = things.made(name, _half_stick(symbol, ball), things.STICK, things.collection_of(root), ball)
            stretch = stick.constraints.new("STRETCH_TO")
            stretch.target, stretch.rest_length, stretch.volume = other, 1.0, "NO_VOLUME"


def _ball(symbol: str, drawn: Drawn, index: int) -> Any:
    """The mesh of the balls of an element."""
    name, radius = f"Orbitile ball {symbol}", float(drawn.radii[index]) / angstrom
    data = bpy.data.meshes.get(name)
    if data is None:
        ball = unit_ball(3)
        data = data_of_shape(name, ball._replace(vertices=radius * ball.vertices))
        red, green, blue = drawn.colours[index].tolist()
        data.materials.append(element_material(symbol, (red, green, blue)))
    return data


def _half_stick(symbol: str, ball: Any) -> Any:
    """The mesh of the half sticks of an element, half a unit long, which is half of the rest length."""
    name = f"Orbitile stick {symbol}"
    data = bpy.data.meshes.get(name)
    if data is None:
        radius, stick = STICK_RADIUS / angstrom, unit_stick(24)
        vertices = (stick.vertices * [radius, radius, 0.5]) @ _ALONG_Y
        data = data_of_shape(name, Shape(vertices, stick.faces, stick.normals @ _ALONG_Y))
        data.materials.append(ball.data.materials[0])
    return data


_REPORT = "orbitile_report"
"""Property of a drawing: the name of the analysis that it belongs to."""
_TEXT, _ABOVE, _TEXT_COLOUR = 0.3, 0.3, (0.1, 0.1, 0.1)
"""Height of a text and its distance from what it stands at, in Angstrom; its colour."""


def put_drawings(root: Any, name: str, drawings: Sequence[Drawing]) -> None:
    """Show what an analysis of this name has found at a molecule, in place of what it found before."""
    things.remove(*(one for one in things.parts_of(root, things.DRAWING) if one.get(_REPORT) == name))
    for drawing in with_balls(drawings):
        title = f"{root.name}_{name}_{drawing.name}"
        if isinstance(drawing, Points):
            made = _points(root, title, drawing)
        elif isinstance(drawing, Paths):
            made = [_paths(root, title, drawing)]
        elif isinstance(drawing, AtomValues):
            made = _values(root, title, drawing)
        for one in made:
            one[_REPORT] = name


def _points(root: Any, title: str, drawing: Points) -> list[Any]:
    ball = unit_ball(2)
    data = data_of_shape(title, ball._replace(vertices=drawing.radius / angstrom * ball.vertices))
    data.materials.append(surface_material(title, _rgb(drawing.colour), 1.0))
    made = []
    for index, place in enumerate(drawing.positions / angstrom):
        made.append(_made(root, f"{title} {index + 1}", data, place))
        if drawing.labels and drawing.labels[index]:
            made.append(_text(root, f"{title} label {index + 1}", drawing.labels[index], place))
    return made


def _paths(root: Any, title: str, drawing: Paths) -> Any:
    data = bpy.data.curves.new(title, "CURVE")
    data.dimensions, data.bevel_depth, data.use_fill_caps = "3D", drawing.radius / angstrom, True
    data.materials.append(surface_material(title, _rgb(drawing.colour), 1.0))
    for line, radius in drawing.drawn():
        places, widths = line / angstrom, np.ones(len(line))
        if drawing.heads:
            places, widths = _with_head(places)
        widths = widths * radius / drawing.radius
        spline = data.splines.new("POLY")
        spline.points.add(len(places) - 1)
        spline.points.foreach_set("co", np.hstack([places, np.ones((len(places), 1))]).ravel())
        spline.points.foreach_set("radius", widths)
    return _made(root, title, data, np.zeros(3))


def _with_head(places: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A line whose last piece is the head of an arrow, and how wide it is at each point."""
    neck, tip = places[-2:]
    widths = np.concatenate([np.ones(len(places) - 1), [WIDE, 0.0]])
    return np.concatenate([places[:-1], [neck + 1e-4 * (tip - neck), tip]]), widths


def _values(root: Any, title: str, drawing: AtomValues) -> list[Any]:
    return [
        _text(root, f"{title} {index + 1}", label, np.zeros(3), ball)
        for index, (ball, label) in enumerate(zip(atoms_of(root), drawing.labels, strict=True))
        if label
    ]


def _text(root: Any, name: str, text: str, place: NDArray[np.float64], at: Any = None) -> Any:
    """A text beside a place of the molecule, or an atom that it moves with."""
    data = bpy.data.curves.new(name, "FONT")
    data.body, data.size, data.align_x = text, _TEXT, "CENTER"
    data.materials.append(surface_material("Orbitile text", _TEXT_COLOUR, 1.0))
    made = _made(root, name, data, place + np.array([0, 0, _ABOVE]))
    if at is not None:
        follow = made.constraints.new("COPY_LOCATION")
        follow.target, follow.use_offset = at, True
    return made


def _made(root: Any, name: str, data: Any, place: NDArray[np.float64]) -> Any:
    made = things.made(name, data, things.DRAWING, things.collection_of(root), root)
    made.location = place
    return made


def _rgb(colour: Sequence[float]) -> RGB:
    red, green, blue = colour
    return red, green, blue
