"""Which Gaussians reach which points of a quadrature, from both sides.

Points stand in the order of a curve that fills space, `POINTS` in a row are a cell. Gaussians of one degree do so too,
`GROUP` in a row are a group, in which those that reach far come first: of a group the first few reach a cell, and of
the cells of a group, sorted by how many of its Gaussians reach them, the first many are those of a Gaussian. So both
lists are of cells and groups, a few numbers for each point.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from ._taichi import quick, ti
from .cells import CELL
from .hilbert import hilbert_order
from .launching import launch
from .quadrature_kernels import GROUP, POINTS

_SPAN = 16
"""Groups in a row that are passed over together where they are too far away."""

_ROW = 5 * GROUP
"""Numbers that are known of the slots of a group."""

_CORNERS = ((slice(0, 3), np.minimum), (slice(3, 7), np.maximum))
"""What a box about boxes takes: the lowest corner; the highest one and the largest square of a reach."""

_ROUNDING = 1e-4
"""Of distances in single precision, in bohr, added to the reach where lists are made."""


@dataclass(frozen=True, eq=False)
class PointCells:
    """Points by cells.

    Attributes
    ----------
    order : ndarray of int, shape (n_slots,)
        The point in each slot; the last one fills up the last cell.
    origin : ndarray, shape (n_cells, 3)
        Near the middle of each cell, in bohr; a multiple of `CELL`.
    rest : ndarray, shape (3, n_slots)
        Points less the origin of their cell.
    low, high : ndarray, shape (n_cells, 3)
        Corners of the box about the points of each cell.
    """

    order: np.ndarray
    origin: np.ndarray
    rest: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def __len__(self) -> int:
        return len(self.origin)


@dataclass(frozen=True, eq=False)
class GaussianGroups:
    """Gaussians by groups.

    Attributes
    ----------
    degrees : tuple of int
        Those that there are, rising.
    first_slot : tuple of int
        First slot of each degree, a multiple of `GROUP`, and behind the last.
    row : ndarray of int, shape (n_slots,)
        The Gaussian in each slot; -1 where there is none.
    """

    degrees: tuple[int, ...]
    first_slot: tuple[int, ...]
    row: np.ndarray


@dataclass(frozen=True, eq=False)
class Lists:
    """What reaches what.

    Attributes
    ----------
    starts : ndarray of int32, shape (n_cells * n_degrees + 1,)
        Where the list of each cell and degree begins, and behind the last.
    listed : ndarray of int32
        Of each group that reaches the cell, the last slot that does.
    n_degrees, n_slots : int
    """

    starts: np.ndarray
    listed: np.ndarray
    n_degrees: int
    n_slots: int

    @cached_property
    def from_slots(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the cells of each slot begin and end, shape (n_slots, 2); the cells of each group, rising."""
        from scipy.sparse import csr_matrix

        if not self.n_degrees:
            return np.zeros((0, 2), np.int32), np.zeros(0, np.int32)
        n, n_cells = int(self.starts[-1]), (len(self.starts) - 1) // self.n_degrees
        column = self.listed[:n] ^ (GROUP - 1)  # within its group, counted from the back
        shape = n_cells, self.n_slots
        matrix = csr_matrix((np.ones(n, np.int8), column, self.starts[:: self.n_degrees]), shape=shape).tocsc()
        slot = np.arange(self.n_slots)
        begin, end = slot // GROUP * GROUP, (slot ^ (GROUP - 1)) + 1
        bounds = np.column_stack([matrix.indptr[begin], matrix.indptr[end]]).astype(np.int32)
        cells = matrix.indices.astype(np.int32) if n else np.zeros(1, np.int32)
        for array in (bounds, cells):
            array.setflags(write=False)  # sent to a device once
        return bounds, cells


def cells_of(points: np.ndarray) -> PointCells:
    """Points in cells. Inside a session.

    Parameters
    ----------
    points : ndarray of float64, shape (n, 3)
        One or more, in bohr.
    """
    order = hilbert_order(points)
    order = np.concatenate([order, np.full(-len(order) % POINTS, order[-1])])
    by_cell = np.take(np.ascontiguousarray(points.T), order, axis=1).reshape(3, -1, POINTS)
    low, high = by_cell.min(axis=2), by_cell.max(axis=2)
    origin = np.rint((low + high) / (2 * CELL)) * CELL
    rest = (by_cell - origin[:, :, None]).reshape(3, -1)
    return PointCells(order, origin.T.copy(), rest, low.T.copy(), high.T.copy())


def groups_of(centre: np.ndarray, degree: np.ndarray, reach: np.ndarray) -> GaussianGroups:
    """Gaussians in groups. Inside a session.

    Parameters
    ----------
    centre : ndarray of float64, shape (n, 3)
        In bohr.
    degree : ndarray of int32, shape (n,)
    reach : ndarray of float64, shape (n,)
        In bohr; those that reach nothing, 0, have no slot.
    """
    along = hilbert_order(centre)
    along = along[reach[along] > 0]
    degrees = np.unique(degree[along])
    rows, first_slot = [np.zeros(0, np.intp)], [0]
    for d in degrees:
        here = along[degree[along] == d]
        here = np.concatenate([here, np.full(-len(here) % GROUP, -1)]).reshape(-1, GROUP)
        far = np.where(here < 0, -1.0, reach[here])
        here = np.take_along_axis(here, np.argsort(-far, axis=1, kind="stable"), axis=1)
        rows.append(here.reshape(-1))
        first_slot.append(first_slot[-1] + here.size)
    return GaussianGroups(tuple(degrees.tolist()), tuple(first_slot), np.concatenate(rows))


def lists_of(
    cells: PointCells,
    groups: GaussianGroups,
    centre: np.ndarray,
    exponent: np.ndarray,
    reach: np.ndarray,
    fewer: np.ndarray,
) -> Lists:
    """Which Gaussians reach which cells: those at a distance d with d^2 < reach^2 - fewer / exponent. Inside a session.

    Parameters
    ----------
    cells, groups
    centre, exponent, reach : ndarray of float64
        Of the Gaussians, in bohr and bohr^-2.
    fewer : ndarray of float64, shape (n_cells,)
        Not negative.
    """
    if not groups.degrees:
        nothing = np.zeros(0, np.int32)
        return Lists(np.zeros(1, np.int32), nothing, 0, 0)
    n_degrees, kernels = len(groups.degrees), _kernels()
    middle = cells.origin.mean(axis=0)
    filled = groups.row >= 0
    slots = np.zeros((len(groups.row), 5), np.float32)  # in slots without a Gaussian nothing is reached
    some = groups.row[filled]
    square = (reach[some] + _ROUNDING) ** 2
    slots[filled] = np.column_stack([centre[some] - middle, square, 1 / exponent[some]])
    nearest = np.where(filled, groups.row, np.repeat(groups.row[::GROUP], GROUP))
    of_group = (centre[nearest] - middle).reshape(-1, GROUP, 3)
    boxes = np.concatenate(
        [of_group.min(axis=1), of_group.max(axis=1), slots[:, 3].reshape(-1, GROUP).max(axis=1)[:, None]], axis=1
    ).astype(np.float32)
    first_group = np.array(groups.first_slot, np.int32) // GROUP
    spans = np.concatenate([np.arange(*ends, _SPAN) for ends in pairwise(first_group)])
    of_spans = [of.reduceat(boxes[:, some], spans, axis=0) for some, of in _CORNERS]
    low, high = ((corner - middle).astype(np.float32) for corner in (cells.low, cells.high))
    given = {
        "n_cells": len(cells),
        "n_degrees": n_degrees,
        "first_span": np.searchsorted(spans, first_group).astype(np.int32),
        "span": np.append(spans, first_group[-1]).astype(np.int32),
        "about_spans": np.concatenate(of_spans, axis=1),
        "low": low,
        "high": high,
        "fewer": fewer.astype(np.float32),
        "boxes": boxes,
        "slots": np.ascontiguousarray(slots.reshape(-1, GROUP, 5).transpose(0, 2, 1)).reshape(-1),
    }
    most = np.zeros(len(cells) * n_degrees, np.int32)
    launch(kernels.count, **given, counts=most)
    room = _ends(most)
    found, counts = np.zeros(max(int(room[-1]), 1), np.int32), np.zeros_like(most)
    launch(kernels.fill, **given, room=room, found=found, counts=counts)
    starts = _ends(counts)
    listed = np.zeros(max(int(starts[-1]), 1), np.int32)
    launch(kernels.close_up, n=len(counts), room=room, found=found, starts=starts, listed=listed)
    return Lists(starts, listed, n_degrees, len(groups.row))


def _ends(counts: np.ndarray) -> np.ndarray:
    """Where each of some lists begins, and behind the last."""
    ends = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    if ends[-1] >= 1 << 31:
        raise MemoryError("lists of the quadrature: more than 2^31 entries")
    return ends.astype(np.int32)


@lru_cache
def _kernels() -> SimpleNamespace:
    I1, F1, F2 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(ti.f32, 1), ti.types.ndarray(ti.f32, 2)

    @ti.func
    def apart_from(b: ti.i32, c: ti.i32, low: F2, high: F2, boxes: F2):
        """Square of the distance between a box and that of a cell."""
        apart = ti.cast(0.0, ti.f32)
        for n in ti.static(range(3)):
            d = ti.max(ti.max(low[c, n] - boxes[b, n + 3], boxes[b, n] - high[c, n]), 0.0)
            apart += d * d
        return apart

    @ti.func
    def last_of(g: ti.i32, c: ti.i32, low: F2, high: F2, fewer: F1, boxes: F2, slots: F1):
        """The last slot of a group that reaches a cell, or -1: all are looked at, in SIMD code."""
        last = -1
        if apart_from(g, c, low, high, boxes) < boxes[g, 6]:
            at = ti.min(g * _ROW, (1 << 31) - 2 * _ROW)  # they are not that many: so LLVM sees that nothing overflows
            for s in range(GROUP):
                apart = fewer[c] * slots[at + 4 * GROUP + s] - slots[at + 3 * GROUP + s]
                for n in ti.static(range(3)):
                    centre = slots[at + n * GROUP + s]
                    d = ti.max(ti.max(low[c, n] - centre, centre - high[c, n]), 0.0)
                    apart += d * d
                last = ti.max(last, ti.select(apart < 0, s, -1))
            if last >= 0:
                last += g * GROUP
        return last

    @ti.kernel
    def count(
        n_cells: ti.i32,
        n_degrees: ti.i32,
        first_span: I1,  # (degrees + 1)
        span: I1,  # (spans + 1) first group of each
        about_spans: F2,  # (spans, 7) as for groups
        low: F2,
        high: F2,
        fewer: F1,
        boxes: F2,  # (groups, 7) corners about the centres, largest square of a reach
        slots: F1,  # (groups, 5, GROUP) centres, squares of reaches, 1 / exponents
        counts: I1,
    ):
        for c in range(n_cells):
            for k in range(n_degrees):
                found = 0
                for b in range(first_span[k], first_span[k + 1]):
                    if apart_from(b, c, low, high, about_spans) < about_spans[b, 6]:
                        for g in range(span[b], span[b + 1]):
                            if apart_from(g, c, low, high, boxes) < boxes[g, 6]:
                                found += 1
                counts[c * n_degrees + k] = found

    @ti.kernel
    def fill(
        n_cells: ti.i32,
        n_degrees: ti.i32,
        first_span: I1,
        span: I1,
        about_spans: F2,
        low: F2,
        high: F2,
        fewer: F1,
        boxes: F2,
        slots: F1,
        room: I1,  # (lists + 1) where they begin
        found: I1,
        counts: I1,  # (lists)
    ):
        for c in range(n_cells):
            for k in range(n_degrees):
                at = room[c * n_degrees + k]
                begin = at
                for b in range(first_span[k], first_span[k + 1]):
                    if apart_from(b, c, low, high, about_spans) < about_spans[b, 6]:
                        for g in range(span[b], span[b + 1]):
                            last = last_of(g, c, low, high, fewer, boxes, slots)
                            if last >= 0 and at < room[c * n_degrees + k + 1]:
                                found[at] = last
                                at += 1
                counts[c * n_degrees + k] = at - begin

    @ti.kernel
    def close_up(n: ti.i32, room: I1, found: I1, starts: I1, listed: I1):
        for m in range(n):
            for q in range(starts[m + 1] - starts[m]):
                listed[starts[m] + q] = found[room[m] + q]

    return SimpleNamespace(count=quick(count), fill=quick(fill), close_up=quick(close_up))
