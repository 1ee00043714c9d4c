"""Isosurfaces of volumes, and the cases of marching cubes: tables in which a kernel looks up the triangles of a cell.

The corners of a cell are numbered 0 to 7: bit c of its *pattern* is set where the value at corner c exceeds the
isovalue. A pattern does not say everything. On a face with two corners above the isovalue, at opposite ends of a
diagonal, and two below, the parts above may be joined or separated, and so may parts inside the cell. E. V. Chernyaev
(CERN CN 95-17, 1995) tells 33 cases apart, T. Lewiner et al. (J. Graph. Tools 2003, 8, 1) tabulate their triangles, and
scikit-image brings these tables as data. Here they are worked up for every outcome of the tests, so that a kernel
makes the tests and nothing else.
"""

from __future__ import annotations

import base64
import importlib
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.errors import IsovalueError, LatticeError
from ..base.memory import require_memory, share
from ..base.watch import checkpoint
from ..model.lattice import Lattice
from ..model.surface import Surface
from ..model.volume import Volume
from .isovalue import (
    check_shape,
    name_of,
    no_surface,
    positive_isovalue,
    range_of,
    range_of_magnitude,
    single_precision_level,
)


def working_bytes(dtype: np.dtype[np.floating]) -> int:
    """Bytes a point that `isosurface` takes beside the values: those of the other sign, and which cells are crossed.

    Double precision is made single first.
    """
    return 10 + (4 if dtype.itemsize > 4 else 0)


def isosurface(volume: Volume, isovalue: float) -> Surface:
    r"""Where a field has the value +isovalue or -isovalue.

    Parameters
    ----------
    volume : Volume
        Any lattice: skewed and left-handed axes are fine; two points or more along each axis.
    isovalue : float
        Magnitude of the field on the surface, positive, in the unit of the volume.

    Returns
    -------
    Surface
        The positive part first, then the negative part; either may be missing, but not both. It is closed unless it
        leaves the lattice, and then it ends at the faces of the lattice; of a periodic one, at those of its cell.

    Raises
    ------
    IsovalueError
        When the isovalue is not a positive number, or the field reaches it nowhere on the lattice.
    LatticeError
        When the lattice has a single point along an axis, or a value is not a finite number.
    OrbitileError
        When memory would not do: 10 bytes a point beside the values, 14 where these are in double precision.

    Notes
    -----
    Marching cubes as in T. Lewiner et al., J. Graph. Tools 2003, 8, 1 (scikit-image). Index coordinates u map to
    positions by :math:`x = o + u A`, so gradients map by :math:`\nabla_x f = A^{-1} \nabla_u f`.

    Examples
    --------
    >>> wfn = ob.load("benzene.molden")
    >>> volume = ob.compute(wfn, "homo", ob.Lattice.around(wfn, spacing=0.4, margin=5.0))
    >>> surface = ob.isosurface(volume, 0.03)
    >>> surface.vertices.shape[1], sorted(set(surface.phases.tolist()))
    (3, [-1, 1])
    """
    volume = volume.closed
    lattice = volume.lattice
    check_shape(lattice, name_of(volume))
    isovalue = positive_isovalue(isovalue, name_of(volume), volume)
    needed = working_bytes(volume.values.dtype) * lattice.n_points
    what = "an isosurface on {} x {} x {} points".format(*lattice.shape)
    require_memory(needed, what, "choose a larger spacing", small=share("reserve"))
    level = single_precision_level(isovalue)
    low, high = range_of(volume)
    # float32 is what marching cubes works in anyway; converting once keeps both parts consistent with each other.
    values = np.ascontiguousarray(volume.values, dtype=np.float32)
    parts: list[_Part] = []
    for phase, (least, most) in ((1, (low, high)), (-1, (-high, -low))):
        checkpoint()
        if least <= level < most:
            part = _one_phase(values if phase > 0 else -values, level, lattice.axes)
            if part is not None:
                parts.append((phase, *part))
    if not parts:
        raise no_surface(isovalue, name_of(volume), volume.unit, *range_of_magnitude(volume), lattice)
    return _assemble(parts, lattice, isovalue, volume.quantity, volume.unit)


def isosurface_in_session(
    values: Any, lattice: Lattice, isovalue: float, quantity: str, unit: str, target: Target
) -> Surface:
    """Isosurface of values that are on the device of the current session: they stay there; only the mesh is copied.

    Parameters
    ----------
    values : array of float32 or float64, shape `lattice.shape`
        On the device; for the CPU an ndarray.
    lattice : Lattice
        At most `taichi_kernels.marching_cubes.MOST_POINTS` points.
    isovalue, quantity, unit
        As in a `Surface`.
    target : Target
        The device of the session, and the precision of the values.

    Returns
    -------
    Surface
        As from `isosurface`.

    Raises
    ------
    IsovalueError, LatticeError
        As `isosurface` does.
    """
    from taichi_kernels.marching_cubes import marching_cubes

    name = quantity or "this volume"
    check_shape(lattice, name)
    isovalue = positive_isovalue(isovalue, name)
    mesh = marching_cubes(
        values,
        single_precision_level(isovalue),
        *cube_cases(),
        np.linalg.inv(lattice.axes),
        bool(np.linalg.det(lattice.axes) < 0),
        target,
    )
    if not np.isfinite(mesh.largest):
        raise LatticeError(f"{name}: expected finite values, got some that are NaN or infinite")
    n, m = mesh.n_positive
    if len(mesh.faces) and not mesh.on_points:
        phases = np.repeat(np.array([1, -1], np.int8), [n, len(mesh.vertices) - n])
        return _surface(mesh.vertices, mesh.faces, mesh.normals, phases, lattice, isovalue, quantity, unit)
    parts: list[_Part] = []
    for phase, vertices, faces in ((1, slice(n), mesh.faces[:m]), (-1, slice(n, None), mesh.faces[m:] - np.int32(n))):
        checkpoint()
        indices, normals = mesh.vertices[vertices], mesh.normals[vertices]
        kept, faces = _merge_at_lattice_points(indices, faces)
        indices, normals = indices[kept], normals[kept]
        if len(faces):
            parts.append((phase, indices, faces, normals))
    if not parts:
        raise no_surface(isovalue, name, unit, mesh.smallest, mesh.largest, lattice)
    return _assemble(parts, lattice, isovalue, quantity, unit)


_Part = tuple[int, NDArray[np.float32], NDArray[np.integer], NDArray[np.floating]]
"""Phase, vertices in index coordinates, faces, normals."""


def _assemble(parts: list[_Part], lattice: Lattice, isovalue: float, quantity: str, unit: str) -> Surface:
    offsets = np.cumsum([0] + [len(indices) for _, indices, _, _ in parts])
    return _surface(
        np.concatenate([indices for _, indices, _, _ in parts]),
        np.concatenate(
            [faces + offset for offset, (_, _, faces, _) in zip(offsets[:-1], parts, strict=True)], dtype=np.int32
        ),
        np.concatenate([normals for _, _, _, normals in parts], dtype=np.float32),
        np.concatenate([np.full(len(indices), phase, np.int8) for phase, indices, _, _ in parts]),
        lattice,
        isovalue,
        quantity,
        unit,
    )


def _surface(
    indices: NDArray[np.float32],
    faces: NDArray[np.int32],
    normals: NDArray[np.float32],
    phases: NDArray[np.int8],
    lattice: Lattice,
    isovalue: float,
    quantity: str,
    unit: str,
) -> Surface:
    """A surface whose vertices are given by index coordinates."""
    vertices = np.empty_like(indices)
    for axis in range(3):
        checkpoint()
        position = np.full(len(indices), lattice.origin[axis])
        for index, step in zip(indices.T, lattice.axes[:, axis].tolist(), strict=True):
            if step:  # a product of matrices would wake the threads of BLAS
                position += np.multiply(index, step, dtype=np.float64)
        vertices[:, axis] = position
    return Surface(vertices, faces, normals, phases, isovalue, quantity, unit)


def lobe(surface: Surface, phase: int) -> Surface:
    """The part of a surface on which the field has one sign.

    Parameters
    ----------
    surface : Surface
    phase : int
        +1 or -1.

    Returns
    -------
    Surface
        Empty (no vertices, no faces) where the field does not have that sign.

    Raises
    ------
    IsovalueError
        When the phase is not +1 or -1.
    """
    if phase not in (1, -1):
        raise IsovalueError(f"phase of a lobe: expected +1 or -1, got {phase!r}")
    kept = surface.phases == phase
    index = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    whole = surface.colouring
    faces = surface.faces[kept[surface.faces[:, 0]]]
    return Surface(
        vertices=surface.vertices[kept],
        faces=index[faces].astype(np.int32),
        normals=surface.normals[kept],
        phases=surface.phases[kept],
        isovalue=surface.isovalue,
        quantity=surface.quantity,
        unit=surface.unit,
        colouring=None if whole is None else replace(whole, values=whole.values[kept]),
    )


def _one_phase(
    values: NDArray[np.float32], isovalue: float, axes: Reals
) -> tuple[NDArray[np.float32], NDArray[np.integer], Reals] | None:
    """Surface around where `values > isovalue`: vertices in index coordinates, faces, normals; None if none."""
    measure = importlib.import_module("skimage.measure")  # imported here because it takes half a second
    crossed = _crossed_cells(values > isovalue)
    box = [_extent(np.asarray(crossed.any(axis=tuple(a for a in range(3) if a != axis)))) for axis in range(3)]
    if any(stop == start for start, stop in box):
        return None
    inside = tuple(slice(start, stop + 1) for start, stop in box)
    mask = np.zeros(tuple(stop - start + 1 for start, stop in box), bool)
    mask[1:, 1:, 1:] = crossed[tuple(slice(start, stop) for start, stop in box)]
    try:
        indices, faces, _, _ = measure.marching_cubes(values[inside], isovalue, mask=mask)
    except (RuntimeError, ValueError):  # values that equal the isovalue, and no surface between them
        return None
    indices += np.array([start for start, _ in box], np.float32)
    kept, faces = _merge_at_lattice_points(indices, faces)
    indices = indices[kept]
    if len(faces) == 0:
        return None
    # For a right-handed frame scikit-image winds clockwise as seen from outside.
    if np.linalg.det(axes) > 0:
        faces = faces[:, ::-1]
    normals = -_index_gradient(values, indices) @ np.linalg.inv(axes).T
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return indices, faces, normals


def _crossed_cells(above: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Cells with corners on both sides: scikit-image is to look at those only; the others take most of its time."""
    every, some = above, above
    for axis in range(3):
        n = above.shape[axis]
        first, second = (tuple(s if a == axis else slice(None) for a in range(3)) for s in (slice(n - 1), slice(1, n)))
        every, some = every[first] & every[second], some[first] | some[second]
    return some & ~every


def _extent(present: NDArray[np.bool_]) -> tuple[int, int]:
    """Where the True entries begin, and behind the last one."""
    (places,) = np.nonzero(present)
    return (int(places[0]), int(places[-1]) + 1) if len(places) else (0, 0)


def _merge_at_lattice_points(
    indices: NDArray[np.float32], faces: NDArray[np.integer]
) -> tuple[NDArray[np.bool_], NDArray[np.integer]]:
    """Merge the vertices that fall on one lattice point, and drop the faces that this makes degenerate.

    Returns which vertices remain, and the faces in terms of them.

    A lattice point with exactly the isovalue gets a vertex from each of its edges. scikit-image's own
    `allow_degenerate=False` drops the degenerate faces without merging, which leaves holes in the mesh.
    """
    (on_lattice,) = np.nonzero((indices == np.rint(indices)).all(axis=1))
    _, first, group = np.unique(indices[on_lattice], axis=0, return_index=True, return_inverse=True)
    if len(first) == len(on_lattice):
        return np.ones(len(indices), bool), faces
    representative = np.arange(len(indices))
    representative[on_lattice] = on_lattice[first][group.reshape(-1)]
    faces = representative[faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    used = np.zeros(len(indices), dtype=bool)
    used[faces] = True
    return used, (np.cumsum(used) - 1)[faces]


def _index_gradient(values: NDArray[np.float32], indices: NDArray[np.float32]) -> Reals:
    """Gradient with respect to the index at points on lattice edges: central differences, interpolated.

    The normals of scikit-image come from one-sided differences: they are off by degrees where the lattice is coarse,
    and highlights on the surface show it.
    """
    low = np.floor(indices).astype(np.intp)
    high = np.ceil(indices).astype(np.intp)
    weight = (indices - low).max(axis=1).astype(np.float64)  # most are off the lattice along one axis
    flat = np.ascontiguousarray(values).reshape(-1)
    strides = (values.shape[1] * values.shape[2], values.shape[2], 1)
    gradient = np.empty(indices.shape)
    for axis in range(3):
        ends = []
        for node in (low, high):
            place, along = node @ strides, node[:, axis]
            before, after = along > 0, along < values.shape[axis] - 1
            rise = flat[place + after * strides[axis]] - flat[place - before * strides[axis]]
            ends.append(rise / (before.astype(np.float32) + after))
        gradient[:, axis] = (1 - weight) * ends[0] + weight * ends[1]
    return gradient


# ---- the cases of marching cubes


_FACES = ((0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0), (0, 3, 2, 1), (4, 7, 6, 5))
"""Corners of the faces of a cell, one after the other around each; face 1 of the tables comes first."""

# Edges 0 to 11 and the centre of the cell: axis along which an edge runs, and its first point relative to corner 0,
# as axis | k << 2 | j << 3 | i << 4. The last axis of the lattice is the first one of the tables.
_PLACES = (2, 5, 10, 1, 18, 21, 26, 17, 0, 4, 12, 8, 3)

_CENTRE = 12
"""Number of the centre of a cell where the tables have the numbers of edges."""

INTERIOR = 64
"""Flag of a pattern for which the inside of the cell may have to be tested."""


class CubeCases(NamedTuple):
    """Tables of the cases.

    Attributes
    ----------
    faces : ndarray of int32, shape (24,)
        Corners of the six faces, one after the other around each.
    tests : ndarray of int32, shape (256,)
        For each pattern: bit f is set where face f is ambiguous, and `INTERIOR` where the inside may be.
    interior : ndarray of int32, shape (256 * 64,)
        For each pattern, times 64, plus the set of ambiguous faces on which the parts above the isovalue are joined:
        what to test inside. 0: nothing. 1: whether they are joined in a plane across the first axis. 2 + place: whether
        they are joined in the plane across an edge, through where the surface meets the edge.
    tiling : ndarray of int32, shape (2 * 256 * 64,)
        For the same, times 2, plus 1 if they are joined inside: where the triangles begin in `corners`, times 32, plus
        twice their number, plus 1 if the centre of the cell is a corner of some.
    corners : ndarray of int32, shape (n,)
        Corners of triangles, as axis | k << 2 | j << 3 | i << 4 of an edge; axis 3 stands for the centre.
    """

    faces: NDArray[np.int32]
    tests: NDArray[np.int32]
    interior: NDArray[np.int32]
    tiling: NDArray[np.int32]
    corners: NDArray[np.int32]


@lru_cache(maxsize=1)
def cube_cases() -> CubeCases:
    """The tables, worked up once."""
    tests = np.array([_ambiguous_faces(pattern) for pattern in range(256)], np.int32)
    interior, tiling = np.zeros(256 * 64, np.int32), np.zeros((256 * 64, 2), np.int32)
    found: dict[_Tiling, int] = {}
    corners: list[int] = []

    def place(rows: _Tiling) -> int:
        """The entry of `tiling` for a row of a table."""
        name, index = rows
        if not name:
            return 0
        edges = _table(name)[index].tolist()
        if rows not in found:
            found[rows] = len(corners)
            corners.extend(_PLACES[edge] for edge in edges)
        return found[rows] << 5 | len(edges) // 3 << 1 | (_CENTRE in edges)

    for pattern in range(256):
        ambiguous = [face for face in range(6) if tests[pattern] >> face & 1]
        for outcome in range(1 << len(ambiguous)):
            joined = {face: outcome >> place & 1 for place, face in enumerate(ambiguous)}
            entry = pattern * 64 + sum(bit << face for face, bit in joined.items())
            kind, apart, together = _resolve_case(pattern, joined)
            interior[entry] = kind
            tiling[entry] = [place(apart), place(together)]
            if kind:
                tests[pattern] |= INTERIOR
    tables = CubeCases(
        np.array(_FACES, np.int32).reshape(-1), tests, interior, tiling.reshape(-1), np.array(corners, np.int32)
    )
    for array in tables:
        array.setflags(write=False)
    return tables


_Tiling = tuple[str, tuple[int, ...]]
"""Name of a table of triangles, and the indices of a row."""

_NOTHING: _Tiling = ("", ())


def _resolve_case(pattern: int, joined: dict[int, int]) -> tuple[int, _Tiling, _Tiling]:
    """What to test inside a cell, and its triangles where parts are apart and where they are joined there.

    `joined` says for each ambiguous face whether the parts above the isovalue are joined on it.
    """
    case, number = _table("CASES")[pattern].tolist()
    if case == 0:
        return 0, _NOTHING, _NOTHING

    def tests() -> list[int]:
        return [int(code) for code in _table(f"TEST{case}")[number].reshape(-1)]

    def positive(code: int) -> int:
        """Outcome of the test of a face: its number, negative where it asks whether the parts below are joined."""
        return joined[abs(code) - 1] ^ (code < 0)

    def inside(code: int, kind: int, yes: _Tiling, no: _Tiling) -> tuple[int, _Tiling, _Tiling]:
        """Two tilings, by the test inside: a positive code asks whether the parts above are apart."""
        return (kind, yes, no) if code > 0 else (kind, no, yes)

    def only(name: str, *index: int) -> tuple[int, _Tiling, _Tiling]:
        return 0, (name, index), (name, index)

    if case in (3, 4, 6, 7, 10, 12, 13):
        code = tests()
    if case == 3:
        return only("TILING3_2" if positive(code[0]) else "TILING3_1", number)
    if case == 4:
        return inside(code[0], 1, ("TILING4_1", (number,)), ("TILING4_2", (number,)))
    if case == 6:
        if positive(code[0]):
            return only("TILING6_2", number)
        return inside(code[1], 2 + _PLACES[code[2]], ("TILING6_1_1", (number,)), ("TILING6_1_2", (number,)))
    if case == 7:
        outcome = [positive(case) for case in code[:3]]
        if sum(outcome) == 3:
            return inside(code[3], 2 + _PLACES[code[4]], ("TILING7_4_2", (number,)), ("TILING7_4_1", (number,)))
        if sum(outcome) == 2:
            return only("TILING7_3", number, 2 - outcome.index(0))
        if sum(outcome) == 1:
            return only("TILING7_2", number, outcome.index(1))
        return only("TILING7_1", number)
    if case in (10, 12):
        outcome = [positive(case) for case in code[:2]]
        name = f"TILING{case}"
        if outcome == [1, 1]:
            return only(f"{name}_1_1_", number)
        if outcome != [0, 0]:
            return only(f"{name}_2" if outcome[0] else f"{name}_2_", number)
        kind = 1 if case == 10 else 2 + _PLACES[code[3]]
        return inside(code[2], kind, (f"{name}_1_1", (number,)), (f"{name}_1_2", (number,)))
    if case == 13:
        outcome = [positive(case) for case in code[:6]]
        which = int(_table("SUBCONFIG13")[sum(bit << place for place, bit in enumerate(outcome))])
        for first, stop, name in (
            (1, 7, "TILING13_2"),
            (7, 19, "TILING13_3"),
            (19, 23, "TILING13_4"),
            (27, 39, "TILING13_3_"),
            (39, 45, "TILING13_2_"),
        ):
            if first <= which < stop:
                return only(name, number, which - first)
        if 23 <= which < 27:
            row = number, which - 23
            kind = 2 + _PLACES[int(_table("TILING13_5_1")[row][0])]
            return inside(code[6], kind, ("TILING13_5_1", row), ("TILING13_5_2", row))
        if which < 0:  # no values of eight corners have this outcome
            return 0, _NOTHING, _NOTHING
        return only("TILING13_1" if which == 0 else "TILING13_1_", number)
    return only(f"TILING{case}", number)


def _ambiguous_faces(pattern: int) -> int:
    """Set of the faces with two corners above the isovalue at opposite ends of a diagonal."""
    above = [pattern >> corner & 1 for corner in range(8)]
    return sum(
        1 << number
        for number, (a, b, c, d) in enumerate(_FACES)
        if above[a] == above[c] != above[b] and above[b] == above[d]
    )


@lru_cache
def _table(name: str) -> NDArray[np.int8]:
    """A table of scikit-image: they are kept there as a shape and text in base 64."""
    shape, text = getattr(importlib.import_module("skimage.measure._marching_cubes_lewiner_luts"), name)
    return np.frombuffer(base64.decodebytes(text.encode()), np.int8).reshape(shape)
