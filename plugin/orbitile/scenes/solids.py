"""Balls and sticks as triangles: one ball and one stick that are placed again and again, or all of them as one mesh.

Meshes may be drawn as thin wires along their edges, or a dot at each vertex, too.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..surfaces.colour_maps import RGB
from ..surfaces.subdivision import corners_of, edges_of
from .scene import Mesh, Molecule


class Shape(NamedTuple):
    """Triangles.

    Attributes
    ----------
    vertices, normals : ndarray, shape (n, 3)
    faces : ndarray of int, shape (m, 3)
    """

    vertices: NDArray[np.floating]
    faces: NDArray[np.integer]
    normals: NDArray[np.floating]


def unit_ball(subdivisions: int = 3) -> Shape:
    """A ball of radius 1 about the origin, from an icosahedron whose triangles are divided into four so often."""
    creation: Any = importlib.import_module("trimesh.creation")  # imported here because it takes a second
    ball = creation.icosphere(subdivisions=subdivisions)
    return Shape(ball.vertices.view(np.ndarray), ball.faces.view(np.ndarray), ball.vertices.view(np.ndarray))


def unit_stick(sections: int = 24) -> Shape:
    """The wall of a cylinder of radius 1 about the z axis, from 0 to 1."""
    angles = np.arange(sections) * 2 * np.pi / sections
    rim = np.stack([np.cos(angles), np.sin(angles), np.zeros(sections)], axis=1)
    first = np.arange(sections)
    second = (first + 1) % sections
    lower = np.stack([first, second, second + sections], axis=1)
    upper = np.stack([first, second + sections, first + sections], axis=1)
    return Shape(
        np.concatenate([rim, rim + np.array([0.0, 0.0, 1.0])]), np.concatenate([lower, upper]), np.tile(rim, (2, 1))
    )


@dataclass(frozen=True, eq=False)
class Placed:
    """A ball, or the half of a stick that belongs to it.

    Attributes
    ----------
    shape : str
        "ball" or "stick": what stands there, `unit_ball` or `unit_stick`.
    name : str
        "C1"; of the half of a stick "C1-H4". Without symbols "atom1".
    material : str
        Symbol of the element, or the colour where that is not known.
    colour : (red, green, blue)
    transform : ndarray, shape (4, 4)
        Where it stands, in bohr: turned, stretched and moved, for columns of coordinates.
    """

    shape: str
    name: str
    material: str
    colour: RGB
    transform: Reals


def placed_parts(molecule: Molecule) -> list[Placed]:
    """The balls and half sticks of a molecule, each where it stands."""
    symbols = molecule.symbols or ("atom",) * len(molecule.centres)
    names = [f"{symbol}{number}" for number, symbol in enumerate(symbols, 1)]
    colours: list[RGB] = [(red, green, blue) for red, green, blue in molecule.colours.tolist()]
    materials = [
        symbol if molecule.symbols else "#{:02x}{:02x}{:02x}".format(*(round(255 * channel) for channel in colour))
        for symbol, colour in zip(symbols, colours, strict=True)
    ]
    parts = []
    for index, (centre, radius) in enumerate(zip(molecule.centres, molecule.radii, strict=True)):
        transform = np.diag([radius, radius, radius, 1.0])
        transform[:3, 3] = centre
        parts.append(Placed("ball", names[index], materials[index], colours[index], transform))
    radii = np.broadcast_to(molecule.stick_radius, len(molecule.bonds))
    for (first, second), radius in zip(molecule.bonds.tolist(), radii, strict=True):
        for here, there in ((first, second), (second, first)):
            transform = stick_between(molecule.centres[here], molecule.centres[there], float(radius))
            transform[:3, 2] /= 2  # to the middle of the bond
            parts.append(Placed("stick", f"{names[here]}-{names[there]}", materials[here], colours[here], transform))
    return parts


def stick_between(start: Reals, end: Reals, radius: float) -> Reals:
    """The transformation, shape (4, 4), that puts `unit_stick` between two points."""
    length = max(float(np.linalg.norm(end - start)), 1e-12)
    along = (end - start) / length
    across = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
    across /= np.linalg.norm(across)
    transform = np.eye(4)
    transform[:3, :3] = np.stack([radius * across, radius * np.cross(along, across), length * along], axis=1)
    transform[:3, 3] = start
    return transform


def joined(parts: Sequence[Placed], *, subdivisions: int = 3, sections: int = 24) -> tuple[Shape, NDArray[np.int64]]:
    """Balls and half sticks as one shape, and which of them each vertex belongs to, from 0.

    Parameters
    ----------
    parts : sequence of Placed
    subdivisions : int
        How often the triangles of an icosahedron are divided into four for a ball.
    sections : int
        Sides of a stick.
    """
    shapes = {"ball": unit_ball(subdivisions), "stick": unit_stick(sections)}
    nothing = np.zeros((0, 3))
    vertices, normals, faces, start = [nothing], [nothing], [np.zeros((0, 3), np.int64)], 0
    for part in parts:
        shape, turn = shapes[part.shape], part.transform[:3, :3]
        vertices.append(shape.vertices @ turn.T + part.transform[:3, 3])
        normals.append(shape.normals @ (turn / np.linalg.norm(turn, axis=0)).T)  # a stick has none along its axis
        faces.append(np.asarray(shape.faces + start, np.int64))
        start += len(shape.vertices)
    whole = Shape(np.concatenate(vertices), np.concatenate(faces), np.concatenate(normals))
    return whole, np.repeat(np.arange(len(parts)), [len(corners) for corners in vertices[1:]])


def solid_of(molecule: Molecule, *, subdivisions: int = 3, sections: int = 24) -> Mesh:
    """All balls and sticks of a molecule as one mesh, each half of a stick in the colour of its ball.

    Parameters are those of `joined`.
    """
    parts = placed_parts(molecule)
    shape, owners = joined(parts, subdivisions=subdivisions, sections=sections)
    colours = np.array([[*part.colour, 1.0] for part in parts]).reshape(-1, 4)
    return Mesh(
        vertices=shape.vertices.astype(np.float32),
        faces=shape.faces,
        normals=shape.normals.astype(np.float32),
        colours=colours[owners],
        name="molecule",
    )


_OCTAHEDRON = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float32)
_OCTANTS = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
_SIDES = np.array([[0, 1, 5], [0, 5, 4], [1, 2, 6], [1, 6, 5], [2, 3, 7], [2, 7, 6], [3, 0, 4], [3, 4, 7]])
"""Triangles of a square rod, whose corners are 0 to 3 at one end and 4 to 7 at the other."""


def wires(mesh: Mesh, radius: float) -> Mesh:
    """Rods along the edges of a mesh, each edge once, in the colours of its ends.

    Parameters
    ----------
    mesh : Mesh
    radius : float
        Of the rods, in bohr.
    """
    edges = edges_of(mesh.faces)
    first, second = mesh.vertices[edges[:, 0]], mesh.vertices[edges[:, 1]]
    along = (second - first).astype(np.float64)
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    least = np.eye(3)[np.argmin(np.abs(along), axis=1)]  # the axis that is most at right angles to the edge
    across = np.cross(along, least)
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-12)
    upwards = np.cross(along, across)
    around = np.stack([across, upwards, -across, -upwards], axis=1)
    normals = np.concatenate([around, around], axis=1)
    ends = np.repeat(np.stack([first, second], axis=1), 4, axis=1)
    colours = np.repeat(mesh.colours[edges], 4, axis=1)
    return _solid(mesh, edges[:, 0], ends, normals, colours, _SIDES, radius)


def dots(mesh: Mesh, radius: float) -> Mesh:
    """Small balls at the vertices of a mesh, in their colours.

    Parameters
    ----------
    mesh : Mesh
    radius : float
        Of the balls, in bohr.
    """
    used = corners_of(mesh.faces)
    normals = np.broadcast_to(_OCTAHEDRON, (len(used), 6, 3))
    centres = np.repeat(mesh.vertices[used][:, None], 6, axis=1)
    colours = np.repeat(mesh.colours[used][:, None], 6, axis=1)
    return _solid(mesh, used, centres, normals, colours, _OCTANTS, radius)


def _solid(
    mesh: Mesh,
    owners: NDArray[np.integer],
    centres: NDArray[np.floating],
    normals: NDArray[np.floating],
    colours: NDArray[np.floating],
    faces: NDArray[np.int64],
    radius: float,
) -> Mesh:
    """Many copies of one body, each with its own centres, normals and colours, shape (copies, corners, ...).

    Each is of the phase of the vertex that owns it.
    """
    copies, corners = centres.shape[:2]
    vertices = (centres + radius * normals).reshape(-1, 3).astype(np.float32)
    every = (np.arange(copies)[:, None, None] * corners + faces).reshape(-1, 3).astype(np.int32)
    inks = colours.reshape(-1, 4).astype(np.float32)
    inks[:, 3] = 1 - np.sqrt(1 - inks[:, 3])  # a line of sight goes through two walls
    return replace(
        mesh,
        vertices=vertices,
        faces=every,
        normals=normals.reshape(-1, 3).astype(np.float32),
        colours=inks,
        phases=np.repeat(mesh.phases[owners], corners) if len(mesh.phases) else mesh.phases,
    )
