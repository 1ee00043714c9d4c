"""What analyses draw at molecules: balls, lines, arrows, and texts at points and atoms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...model.report import AtomValues, Drawing, Paths, Points
from ...model.units import angstrom
from ...scenes.solids import unit_ball
from ...surfaces.colour_maps import RGB
from . import molecules, things
from .materials import surface_material
from .meshes import data_of_shape

_REPORT = "orbitile_report"
"""Property of a drawing: the name of the analysis that it belongs to."""
_HEAD, _WIDE = 0.35, 2.5
"""Length of the head of an arrow in Angstrom, and how much wider than the line it is."""
_TEXT, _ABOVE, _TEXT_COLOUR = 0.3, 0.3, (0.1, 0.1, 0.1)
"""Height of a text and its distance from what it stands at, in Angstrom; its colour."""


def put(root: Any, name: str, drawings: Sequence[Drawing]) -> None:
    """Show what an analysis of this name has found at a molecule, in place of what it found before."""
    things.remove(*(one for one in things.parts_of(root, things.DRAWING) if one.get(_REPORT) == name))
    for drawing in drawings:
        title = f"{root.name}_{name}_{drawing.name}"
        if isinstance(drawing, Points):
            made = _points(root, title, drawing)
        elif isinstance(drawing, Paths):
            made = [_paths(root, title, drawing)]
        else:
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
    for line in drawing.lines:
        places, widths = line / angstrom, np.ones(len(line))
        if drawing.heads and len(line) > 1:
            places, widths = _with_head(places)
        spline = data.splines.new("POLY")
        spline.points.add(len(places) - 1)
        spline.points.foreach_set("co", np.hstack([places, np.ones((len(places), 1))]).ravel())
        spline.points.foreach_set("radius", widths)
    return _made(root, title, data, np.zeros(3))


def _with_head(places: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A line whose last stretch is the head of an arrow, and how wide it is at each point."""
    tip, before = places[-1], places[-2]
    along = (tip - before) / max(float(np.linalg.norm(tip - before)), 1e-12)
    base = tip - min(_HEAD, float(np.linalg.norm(tip - places[0]))) * along
    widths = np.concatenate([np.ones(len(places)), [_WIDE, 0.0]])
    return np.concatenate([places[:-1], [base, base + 1e-4 * along, tip]]), widths


def _values(root: Any, title: str, drawing: AtomValues) -> list[Any]:
    return [
        _text(root, f"{title} {index + 1}", label, np.zeros(3), ball)
        for index, (ball, label) in enumerate(zip(molecules.atoms_of(root), drawing.labels, strict=True))
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
