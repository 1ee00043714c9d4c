"""The colours of a surface as a volume, for viewers that colour their own isosurfaces by a second volume."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..model.lattice import Lattice
from ..model.surface import Surface
from ..model.volume import Volume

_STEP = 1.25
"""Step of the lattice in mean edges of the triangles: most cells that the surface passes have a vertex inside then."""
_MARGIN = 3
"""Points of the lattice beyond the surface, and how far from it values are carried on."""
_MOST = 2_000_000
"""Points of the lattice, at most."""
_REFINEMENTS = 8


def colour_volume(surface: Surface) -> Volume:
    """A volume whose trilinear interpolation has the values of the colouring at the vertices of a surface.

    The second field is known at the vertices alone. Each value is spread over the eight points of the cell around its
    vertex, as weighted means; what the interpolation then still lacks at the vertices is spread in turn, a few times
    (Kaczmarz's method, all equations at once). Points next to those are given the mean of their neighbours, so that
    the colours hold a little beyond the surface; further away there is the middle of the range.

    Parameters
    ----------
    surface : Surface
        With a colouring.

    Returns
    -------
    Volume
        Float32, along x, y and z, of `_MOST` points at most; memory: 40 bytes a point and 300 bytes a vertex.

    Raises
    ------
    OrbitileError
        When the surface has no colouring, or no triangles.
    """
    colouring = surface.colouring
    if colouring is None or len(surface.faces) == 0:
        raise OrbitileError("colours as a volume: expected a surface with a colouring and triangles")
    vertices = surface.vertices.astype(np.float64)
    lattice = _lattice(vertices, surface.faces)
    corners, weights = _corners(vertices, lattice)
    total = np.bincount(corners.ravel(), weights.ravel(), lattice.n_points)
    known = total > 0
    total[~known] = 1.0
    values = np.zeros(lattice.n_points)
    target = colouring.values.astype(np.float64)
    for _ in range(1 + _REFINEMENTS):
        lacking = target - np.sum(weights * values[corners], axis=1)
        values += np.bincount(corners.ravel(), (weights * lacking[:, None]).ravel(), lattice.n_points) / total
    middle = 0.5 * (colouring.low + colouring.high)
    spread = _carry_on(values.reshape(lattice.shape), known.reshape(lattice.shape), middle)
    return Volume(spread.astype(np.float32), lattice, colouring.quantity, colouring.unit)


def _lattice(vertices: Reals, faces: NDArray[np.int32]) -> Lattice:
    edges = np.linalg.norm(vertices[faces[:, 0]] - vertices[faces[:, 1]], axis=1)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    step = max(_STEP * float(edges.mean()), 1e-3)
    while True:
        shape = np.ceil((high - low) / step).astype(int) + 2 * _MARGIN + 1
        if np.prod(shape) <= _MOST:
            nx, ny, nz = (int(n) for n in shape)
            return Lattice(low - _MARGIN * step, np.eye(3) * step, (nx, ny, nz))
        step *= 1.1


def _corners(vertices: Reals, lattice: Lattice) -> tuple[NDArray[np.int64], Reals]:
    """Of the cell around each vertex: flat indices of its eight corners, and their weights; shape (n, 8)."""
    place = (vertices - lattice.origin) / lattice.axes[0, 0]
    cell = np.floor(place).astype(np.int64)
    inside = place - cell
    corners, weights = [], []
    for offset in np.ndindex(2, 2, 2):
        i, j, k = (cell + offset).T
        corners.append((i * lattice.shape[1] + j) * lattice.shape[2] + k)
        weights.append(np.prod(np.where(offset, inside, 1.0 - inside), axis=1))
    return np.stack(corners, axis=1), np.stack(weights, axis=1)


def _carry_on(values: Reals, known: NDArray[np.bool_], otherwise: float) -> Reals:
    """Values with their unknown neighbours filled in by means, `_MARGIN` points far."""
    values = np.where(known, values, 0.0)
    known = known.copy()
    for _ in range(_MARGIN):
        total, count = np.zeros_like(values), np.zeros(values.shape, np.uint8)
        for axis in range(3):
            there, here = [slice(None)] * 3, [slice(None)] * 3
            there[axis], here[axis] = slice(1, None), slice(None, -1)
            for target, source in ((tuple(there), tuple(here)), (tuple(here), tuple(there))):
                total[target] += values[source]
                count[target] += known[source]
        new = ~known & (count > 0)
        values[new] = total[new] / count[new]
        known |= new
    return np.where(known, values, otherwise)
