"""Balls and sticks as triangles, for those who draw nothing else."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .molecule import Molecule
from .scene import Mesh


def solid_of(molecule: Molecule, *, subdivisions: int = 3, sections: int = 24) -> Mesh:
    """All balls and sticks of a molecule as one mesh, each half of a stick in the colour of its ball.

    Parameters
    ----------
    molecule : Molecule
    subdivisions : int
        How often the triangles of an icosahedron are divided into four for a ball.
    sections : int
        Sides of a stick.
    """
    creation: Any = importlib.import_module("trimesh.creation")  # imported here because it takes a second
    ball = creation.icosphere(subdivisions=subdivisions)
    rod = creation.cylinder(radius=1.0, height=1.0, sections=sections)  # about the z axis and the origin
    side = np.abs(rod.face_normals[:, 2]) < 0.5
    parts = [
        (centre + radius * ball.vertices, ball.faces, ball.vertices, colour)
        for centre, radius, colour in zip(molecule.centres, molecule.radii, molecule.colours, strict=True)
    ]
    stick_radii = np.broadcast_to(molecule.stick_radius, len(molecule.bonds))
    for (first, second), radius in zip(molecule.bonds, stick_radii, strict=True):
        start, end = molecule.centres[[first, second]]
        along = (end - start) / max(float(np.linalg.norm(end - start)), 1e-12)
        across = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
        across /= np.linalg.norm(across)
        axes = np.stack([across, np.cross(along, across), along])
        radial = rod.vertices * [1, 1, 0]
        normals = radial / np.maximum(np.linalg.norm(radial, axis=1, keepdims=True), 1e-12) @ axes
        half = np.linalg.norm(end - start) / 2
        for low, colour in ((start, molecule.colours[first]), (start + half * along, molecule.colours[second])):
            height = np.outer((rod.vertices[:, 2] + 0.5) * half, along)
            parts.append((low + height + radius * radial @ axes, rod.faces[side], normals, colour))
    if not parts:
        nothing = np.zeros((0, 3), np.float32)
        return Mesh(nothing, np.zeros((0, 3), np.int32), nothing, np.zeros((0, 4), np.float32), name="molecule")
    starts = np.cumsum([0, *(len(vertices) for vertices, *_ in parts[:-1])])
    return Mesh(
        vertices=np.concatenate([vertices for vertices, *_ in parts]).astype(np.float32),
        faces=np.concatenate([faces + start for (_, faces, *_), start in zip(parts, starts, strict=True)]),
        normals=np.concatenate([normals for _, _, normals, _ in parts]).astype(np.float32),
        colours=np.concatenate([np.tile([*colour, 1.0], (len(vertices), 1)) for vertices, _, _, colour in parts]),
        name="molecule",
    )
