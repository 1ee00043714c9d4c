"""Isosurfaces of values on a lattice: marching cubes that copies the mesh to the host, and not the values.

Both signs of a field are done together, as two *phases*: where the values exceed the level, and where their negatives
do. Every step is a loop over rows of the lattice along its last axis, or over words of 32 points of such a row.

1. One bit a point and phase: whether the value exceeds the level. It is the only time that all values are read.
2. From the bits of a word and of its neighbours, with a few operations for 32 points: which lattice edges the surface
   meets, each of which belongs to its first point and owns one vertex, and which cells it crosses. The triangles of
   each crossed cell are counted.
3. Sums of the counts over rows, over groups of rows, over groups of those: every word knows where its vertices and
   triangles begin.
4. Vertices, normals and triangles are written. The number of a vertex is the first of its word plus the number of bits
   before its own, so no table from edges to vertices is needed.

Memory on the device: 1.75 bytes a point for both phases where rows fill their words, a quarter more as a reserve for
larger lattices to come, and the mesh while it is written.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ._taichi import ti
from .arrays import DeviceArray, to_numpy
from .devices import DeviceUnavailable
from .launching import synchronise
from .marching_cubes_kernels import GROUP, marching_cubes_kernels
from .session import generation
from .target import Target
from .workspace import Workspace

MOST_POINTS = 1 << 26
"""Points of a lattice at most: with 12 triangles a cell and phase, the most there are, counts stay within 32 bits."""


class Mesh(NamedTuple):
    """A triangle mesh in index space.

    Attributes
    ----------
    vertices : ndarray of float32, shape (n, 3)
        Index coordinates.
    faces : ndarray of int32, shape (m, 3)
    normals : ndarray of float32, shape (n, 3)
        Unit vectors in real space.
    n_positive : tuple of two int
        Vertices and faces of the positive phase, which come first.
    on_points : int
        Number of vertices that lie on a lattice point: several of them may be one.
    smallest, largest : float
        Least and greatest magnitude of a value; `largest` is infinite where not all values are finite, and then, or
        where there is no surface, the arrays are empty.
    """

    vertices: np.ndarray
    faces: np.ndarray
    normals: np.ndarray
    n_positive: tuple[int, int]
    on_points: int
    smallest: float
    largest: float


def marching_cubes(
    values: "np.ndarray | DeviceArray",
    level: float,
    faces: np.ndarray,
    tests: np.ndarray,
    interior: np.ndarray,
    tiling: np.ndarray,
    corners: np.ndarray,
    to_real: np.ndarray,
    flip: bool,
    target: Target,
) -> Mesh:
    """Surfaces on which values are `level` and `-level`.

    Each lattice edge that a surface meets owns one vertex of it, and faces are the same in every run.

    Parameters
    ----------
    values : ndarray, or array on the device, of the precision of the target, shape (nx, ny, nz)
        2 points or more along each axis, `MOST_POINTS` at most.
    level
        Positive.
    faces, tests, interior, tiling, corners : ndarrays of int32
        The cases of a cell: see `orbitile.surfaces.isosurface`.
    to_real : ndarray, shape (3, 3)
        Takes a gradient with respect to the index, as a column, to one in real space.
    flip
        Whether to turn the triangles round: for a left-handed lattice.
    target
        The device of the current session, and the precision of the values.

    Raises
    ------
    DeviceUnavailable
        When the mesh would have more than 715 million triangles.
    """
    nx, ny, nz = shape = tuple(values.shape)
    if min(shape) < 2 or nx * ny * nz > MOST_POINTS:
        raise ValueError(f"lattice: expected 2 points or more along each axis, {MOST_POINTS} in all, got {shape}")
    count, write = marching_cubes_kernels(target)
    words, held = -(-nz // 32), _workspace(generation())
    tables = [
        held.upload(name, array, np.int32)
        for name, array in zip(_TABLES, (faces, tests, interior, tiling, corners), strict=True)
    ]
    # CUDA's driver copies arrays faster than the compiler does, and kernels that take no others are launched faster
    on_cuda = target.device == "cuda"
    summary: Any = held.integers("summary", (7,)) if on_cuda else np.zeros(7, np.int32)
    run = held.launch if on_cuda else _called
    common = [
        *shape,
        float(level),
        values,
        *tables,
        held.array("above", ti.u32, (2 * nx * ny * words,)),
        held.array("edges", ti.types.vector(4, ti.u32), (2 * nx * ny * words,)),
        held.array("first", ti.types.vector(2, ti.i32), (2 * nx * ny * words,)),
        held.array("row", ti.types.vector(2, ti.i32), (2 * nx * ny,)),
        summary,
    ]
    n_parts = -(-2 * nx * ny // GROUP)
    extent = held.array("extent", ti.types.vector(2, ti.i32), (nx * ny,))
    parts = held.array("parts", ti.types.vector(2, ti.i32), (n_parts + -(-n_parts // GROUP),))
    run(count, *common, extent, parts)
    found = _home(summary)
    n_first, m_first, n, m = found[:4].tolist()
    smallest, largest = found[4:6].view(np.float32).tolist()
    if not np.isfinite(largest):
        largest, n, m = np.inf, 0, 0
    if 3 * m >= 1 << 31:
        raise DeviceUnavailable(f"a surface of {m} triangles is too large; choose another isovalue or lattice")
    vertices, normals = np.empty((n, 3), np.float32), np.empty((n, 3), np.float32)
    triangles = np.empty((m, 3), np.int32)
    if m:
        rotation = held.upload("rotation", np.ascontiguousarray(to_real), np.float32)
        mesh = {"vertices": vertices, "normals": normals, "triangles": triangles}
        written: dict[str, Any] = dict(mesh)
        if on_cuda:
            written = {
                name: held.array(name, ti.i32 if part is triangles else ti.f32, part.shape)
                for name, part in mesh.items()
            }
        run(write, *common, rotation, int(flip), *written.values())
        if on_cuda:
            for name, part in mesh.items():
                to_numpy(written[name], part)
    return Mesh(vertices, triangles, normals, (n_first, m_first), int(_home(summary)[6]) if m else 0, smallest, largest)


_TABLES = ("faces", "tests", "interior", "tiling", "corners")


def _called(kernel: Callable[..., None], *arguments: Any) -> None:
    kernel(*arguments)
    synchronise()


def _home(summary: Any) -> np.ndarray:
    return summary if isinstance(summary, np.ndarray) else to_numpy(summary)


@lru_cache(maxsize=1)
def _workspace(run: int) -> Workspace:
    """What is kept on the device, of one run of the compiler."""
    return Workspace(np.dtype(np.float32))
