"""Isosurfaces of volumes."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..errors import IsovalueError, LatticeError
from ..memory import require_memory
from ..model.lattice import Lattice
from ..model.surface import Surface
from ..model.volume import Volume
from ..watch import checkpoint
from .isovalue import (
    check_shape,
    name_of,
    no_surface,
    positive_isovalue,
    range_of,
    range_of_magnitude,
    single_precision_level,
)

_SMALL = 1 << 28
"""Bytes below which nobody asks how much memory there is."""


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
    if needed > _SMALL:
        require_memory(needed, "an isosurface on {} x {} x {} points".format(*lattice.shape), "choose a larger spacing")
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
    return _assembled(parts, lattice, isovalue, volume.quantity, volume.unit)


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

    from .cube_cases import cube_cases

    name = quantity or "this volume"
    check_shape(lattice, name)
    isovalue = positive_isovalue(isovalue, name)
    cases = cube_cases()
    mesh = marching_cubes(
        values,
        single_precision_level(isovalue),
        cases.faces,
        cases.tests,
        cases.interior,
        cases.tiling,
        cases.corners,
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
    return _assembled(parts, lattice, isovalue, quantity, unit)


_Part = tuple[int, NDArray[np.float32], NDArray[np.integer], NDArray[np.floating]]
"""Phase, vertices in index coordinates, faces, normals."""


def _assembled(parts: list[_Part], lattice: Lattice, isovalue: float, quantity: str, unit: str) -> Surface:
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
    values: NDArray[np.float32], isovalue: float, axes: NDArray[np.float64]
) -> tuple[NDArray[np.float32], NDArray[np.integer], NDArray[np.float64]] | None:
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


def _index_gradient(values: NDArray[np.float32], indices: NDArray[np.float32]) -> NDArray[np.float64]:
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
