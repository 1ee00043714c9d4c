"""Edges and corners of a mesh; finer triangles for a surface that is looked at closely, from its normals alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..model.surface import Surface


def edges_of(faces: NDArray[np.integer]) -> NDArray[np.int32]:
    """Edges of triangles, each once.

    Parameters
    ----------
    faces : ndarray of int, shape (m, 3)
        Indices of the corners.

    Returns
    -------
    ndarray of int32, shape (n, 2)
        Indices of the two ends, the smaller first, sorted.
    """
    first, second = faces.astype(np.int64).ravel(), np.roll(faces, -1, axis=1).astype(np.int64).ravel()
    keys = np.sort(np.minimum(first, second) << 32 | np.maximum(first, second))
    keys = keys[np.diff(keys, prepend=-1) != 0]  # a tenth of the time of numpy.unique
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)


def corners_of(faces: NDArray[np.integer]) -> NDArray[np.int32]:
    """Indices of the vertices that belong to a triangle, each once, shape (n,)."""
    return np.flatnonzero(np.bincount(faces.ravel())).astype(np.int32)


def subdivided(surface: Surface) -> Surface:
    r"""The surface with four triangles in place of each; vertices stay where they are, and new ones lie on the arc.

    The middle of an edge from :math:`p` to :math:`q` with normals :math:`m` and :math:`n` goes to
    :math:`(p + q) / 2 - ((q - p) \cdot m \, m + (p - q) \cdot n \, n) / 8`, the middle of the cubic curve that is at
    right angles to both normals (A. Vlachos et al., Curved PN Triangles, Symposium on Interactive 3D Graphics 2001).
    Values of a second field are those half way.
    """
    edges = edges_of(surface.faces)
    p, q = (surface.vertices[end].astype(np.float64) for end in edges.T)
    m, n = (surface.normals[end].astype(np.float64) for end in edges.T)
    across = q - p
    above = np.einsum("ij,ij->i", across, m)[:, None] * m - np.einsum("ij,ij->i", across, n)[:, None] * n
    middles, normals = (p + q) / 2 - above / 8, m + n
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.where(lengths > 1e-6, normals / np.maximum(lengths, 1e-6), m)  # of two that are opposite, the first

    keys = edges[:, 0].astype(np.int64) << 32 | edges[:, 1]
    corners = surface.faces.astype(np.int64)
    others = np.roll(corners, -1, axis=1)
    wanted = np.minimum(corners, others) << 32 | np.maximum(corners, others)
    ab, bc, ca = (len(surface.vertices) + np.searchsorted(keys, wanted)).T
    a, b, c = corners.T
    faces = np.stack([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]).transpose(2, 0, 1).reshape(-1, 3)

    colouring = surface.colouring
    if colouring is not None:
        half_way = colouring.values[edges].mean(axis=1).astype(colouring.values.dtype)
        colouring = replace(colouring, values=np.concatenate([colouring.values, half_way]))
    return replace(
        surface,
        vertices=np.concatenate([surface.vertices, middles.astype(np.float32)]),
        faces=faces.astype(np.int32),
        normals=np.concatenate([surface.normals, normals.astype(np.float32)]),
        phases=np.concatenate([surface.phases, surface.phases[edges[:, 0]]]),
        colouring=colouring,
    )
