"""Other ways to draw a mesh than by its triangles: thin wires along its edges, or a dot at each vertex."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..surfaces.edges import corners_of, edges_of
from .scene import Mesh

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
