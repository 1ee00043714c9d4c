"""What reports draw at a molecule, as parts of a scene: balls, and paths and arrows as tubes of triangles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..model.report import WIDE, Drawing, Paths, Points
from .scene import GLASS, Mesh, Molecule, Scene

_SIDES = 16
"""Sides of a tube."""


def with_drawings(scene: Scene, drawings: Sequence[Mesh | Drawing]) -> Scene:
    """A scene with meshes, points and paths; of other drawings, as values of atoms, nothing is seen.

    Parameters
    ----------
    scene : Scene
    drawings
        Those of a report (`Report.drawings`), or meshes.
    """
    meshes = [one if isinstance(one, Mesh) else path_mesh(one) for one in drawings if isinstance(one, Mesh | Paths)]
    molecule, labels = scene.molecule, list(scene.labels)
    for one in drawings:
        if isinstance(one, Points):
            molecule = _with_balls(molecule, one)
            labels += [(place, text) for place, text in zip(one.positions, one.labels, strict=False) if text]
    seen = tuple(mesh for mesh in meshes if len(mesh.faces))
    return replace(scene, molecule=molecule, meshes=(*scene.meshes, *seen), labels=tuple(labels))


def _with_balls(molecule: Molecule, points: Points) -> Molecule:
    n = len(points.positions)
    return replace(
        molecule,
        centres=np.concatenate([molecule.centres, points.positions]),
        radii=np.concatenate([molecule.radii, np.full(n, points.radius)]),
        colours=np.concatenate([molecule.colours, np.tile(points.colour, (n, 1))]),
        symbols=(*molecule.symbols, *(points.name,) * n) if molecule.symbols or not len(molecule.centres) else (),
    )


def path_mesh(paths: Paths) -> Mesh:
    """Paths as tubes, closed at their ends; the last piece is a cone where they have heads."""
    vertices, normals, faces = [np.zeros((0, 3))], [np.zeros((0, 3))], [np.zeros((0, 3), np.int64)]
    start = 0
    for line, radius in paths.drawn():
        tube = _tube(line, radius, paths.heads)
        if tube is not None:
            vertices.append(tube[0])
            normals.append(tube[1])
            faces.append(tube[2] + start)
            start += len(tube[0])
    every = np.concatenate(vertices)
    colours = np.tile([*paths.colour, 1.0], (len(every), 1))
    return Mesh(every, np.concatenate(faces), np.concatenate(normals), colours, GLASS, paths.name.replace("_", " "))


def _tube(line: Reals, radius: float, has_head: bool) -> tuple[Reals, Reals, NDArray[np.int64]] | None:
    """Vertices, normals and faces of the tube about a line; None for a line of no length.

    Rings of vertices stand about its points, each turned as the one before, so that the tube does not twist. Two rings
    make a wall; caps, the base of a head and the head itself are walls between rings of different radii.
    """
    moves = np.linalg.norm(np.diff(line, axis=0), axis=1) > 1e-9
    line = line[np.concatenate([[True], moves])]
    if len(line) < 2:
        return None
    pieces = np.diff(line, axis=0)
    lengths = np.linalg.norm(pieces, axis=1)
    pieces = pieces / lengths[:, None]
    along = np.concatenate([pieces[:1], pieces[1:] + pieces[:-1], pieces[-1:]])
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    if has_head:
        along[-2:] = pieces[-1]
    across = np.cross(along[0], np.eye(3)[np.argmin(np.abs(along[0]))])
    frames = []
    for direction in along:
        across = across - direction * (direction @ across)
        across /= max(float(np.linalg.norm(across)), 1e-12)
        frames.append((across, np.cross(direction, across)))
    angles = np.arange(_SIDES) * 2 * np.pi / _SIDES
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    outwards = circle @ np.array(frames)  # shape (n_points, sides, 3)

    # rings that follow each other: point, radius, and how much of their normal is outwards and along the line
    last = len(line) - (2 if has_head else 1)
    shaft = [(n, radius, 1.0, 0.0) for n in range(last + 1)]
    walls = [[(0, 0.0, 0.0, -1.0), (0, radius, 0.0, -1.0)], shaft]
    if has_head:
        slope = np.array([lengths[-1], WIDE * radius]) / np.hypot(lengths[-1], WIDE * radius)
        walls += [
            [(last, radius, 0.0, -1.0), (last, WIDE * radius, 0.0, -1.0)],
            [(last, WIDE * radius, *slope), (last + 1, 0.0, *slope)],
        ]
    else:
        walls.append([(last, radius, 0.0, 1.0), (last, 0.0, 0.0, 1.0)])
    first = np.arange(_SIDES)
    second = (first + 1) % _SIDES
    wall = np.concatenate(
        [np.stack([first, second, second + _SIDES], axis=1), np.stack([first, second + _SIDES, first + _SIDES], axis=1)]
    )
    at, radii, out, on = (np.array(part) for part in zip(*(ring for rings in walls for ring in rings), strict=True))
    begins = np.cumsum([0, *(len(rings) for rings in walls)])
    lower = np.setdiff1d(np.arange(begins[-1]), begins[1:] - 1)  # rings that another one of their wall follows
    vertices = line[at][:, None] + radii[:, None, None] * outwards[at]
    normals = out[:, None, None] * outwards[at] + on[:, None, None] * along[at][:, None]
    faces = (lower[:, None, None] * _SIDES + wall).reshape(-1, 3)
    return vertices.reshape(-1, 3), normals.reshape(-1, 3), faces
