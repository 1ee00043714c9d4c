"""Sums of Gaussians times polynomials at arbitrary points.

Points are sorted into cubic cells; for each cell the Gaussians that reach it are listed, and each point of the cell
sums up those. Coordinates are given as whole cells and remainders, see `cells`.
"""

from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ._taichi import number, quick, ti
from .cells import CELL, sorted_into_cells, split_position
from .elementary import exponential
from .launching import Checkpoint, launch, pace_of, part_of, sent
from .target import Target

_EDGE = 2.0
"""Edge of the cells that points are sorted into, in bohr; doubled until there are several points a cell."""

_POINTS_A_CELL = 8

_TOGETHER = {"cpu": 1, "cuda": 32, "vulkan": 32}
"""Threads that go through the same list: cells are filled up to a multiple, or the threads of a GPU would wait for each
other."""

_UNROLLED = 6
"""Degree up to which polynomials are written out by the compiler. It takes a third of the time; and lavapipe ends the
loops of a thread when they have turned 65,535 times all together."""

_PLACE = {
    degree: {
        powers: n
        for n, powers in enumerate(
            (i, j, k) for k in range(degree + 1) for j in range(degree - k + 1) for i in range(degree - k - j + 1)
        )
    }
    for degree in range(7)
}
"""Place of each term of a polynomial, by the powers of x, y and z."""

_RUN = 64
"""Slots that stay together when the work is done in pieces."""

_ROUNDING = 1e-3
"""Of coordinates in single precision, in bohr, added to the reach where lists are made."""

_ENTRIES = 1 << 23
"""Entries of the lists made at once: 32 MiB."""


def gaussians_at_points(
    points: np.ndarray,
    centre: np.ndarray,
    exponent: np.ndarray,
    degree: np.ndarray,
    first_term: np.ndarray,
    terms: np.ndarray,
    reach: np.ndarray,
    target: Target,
    checkpoint: Checkpoint | None = None,
) -> np.ndarray:
    """Evaluate a sum of Gaussians times polynomials at points.

    Parameters
    ----------
    points : ndarray of float64, shape (n_points, 3)
        In bohr.
    centre, exponent, degree, first_term, terms
        The sum: positions (bohr), exponents (bohr^-2), degrees, ranges of coefficients, coefficients ordered with the
        power of z slowest and that of x fastest.
    reach : ndarray of float64, shape (n,)
        Distance in bohr beyond which a Gaussian is left out.
    target
        The device of the current session, and the precision of the sums.
    checkpoint
        Called some thirty times a second with the share that is done, between pieces of the work; what it raises ends
        it. Without one all is done at once.

    Returns
    -------
    ndarray of float32 or float64, shape (n_points,)
    """
    real = target.dtype
    if len(points) == 0 or len(exponent) == 0:
        return np.zeros(len(points), real)
    kernels = _kernels(target)
    cells = sorted_into_cells(points, _EDGE, _POINTS_A_CELL, _TOGETHER[target.device])
    sorted_cell = cells.of_slots()
    whole, remainder = split_position(points[cells.placed])
    whole_centre, remainder_centre = split_position(centre)
    gaussian = np.zeros((len(exponent), 8), real)
    gaussian[:, 0], gaussian[:, 1], gaussian[:, 2:5] = exponent, np.minimum(reach, 1e6) ** 2, remainder_centre
    integer = np.zeros((len(exponent), 8), np.int32)
    integer[:, :3], integer[:, 3], integer[:, 4] = whole_centre, degree, first_term[:-1]
    origin = points.mean(axis=0)
    low, high, position = ((array - origin).astype(np.float32) for array in (cells.low, cells.high, centre))
    radius = (reach + _ROUNDING).astype(np.float32)
    count = np.zeros(len(cells), np.int32)
    looks = np.full(len(cells), float(len(exponent)))

    def look(first: int, last: int) -> None:
        some = slice(first, last)
        boxes = {"n_cells": last - first, "low": low[some], "high": high[some]}
        launch(kernels.count, **boxes, n=len(exponent), position=position, radius=radius, found=count[some])

    asked = part_of(checkpoint, 0.0, 0.0)
    lists, sums = (pace_of(1 << 18, f"{step} of Gaussians at points", target) for step in ("lists", "sums"))
    lists.run(looks, look, asked)
    of_all = {"gaussian": gaussian, "integer": integer, "terms": np.ascontiguousarray(terms, real)}
    kept: dict[str, Any] = {}
    result = np.zeros(len(cells.placed), real)
    ends = np.cumsum(count, dtype=np.int64)
    begin = 0
    while begin < len(cells):
        taken = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, taken + _ENTRIES, side="right")))
        first = np.concatenate([[0], ends[begin:end] - taken]).astype(np.int32)
        listed = np.zeros(max(int(first[-1]), 1), np.int32)
        boxes = low[begin:end], high[begin:end]

        def fill(one: int, other: int, boxes: tuple = boxes, first: np.ndarray = first, listed: Any = listed) -> None:
            here = first[one : other + 1] - first[one]
            launch(
                kernels.fill,
                n_cells=other - one,
                n=len(exponent),
                low=boxes[0][one:other],
                high=boxes[1][one:other],
                position=position,
                radius=radius,
                first=here,
                listed=listed[first[one] : max(first[other], first[one] + 1)],
            )

        lists.run(looks[begin:end], fill, asked)
        slots = slice(int(cells.first_slot[begin]), int(cells.first_slot[end]))
        of_slots = sorted_cell[slots] - np.int32(begin)
        there = whole[slots], np.ascontiguousarray(remainder[slots], real), result[slots]

        def evaluate(
            one: int, other: int, of_slots: np.ndarray = of_slots, there: tuple = there, lists: tuple = (first, listed)
        ) -> None:
            here = slice(one * _RUN, min(other * _RUN, len(of_slots)))
            places, some, (first, listed), shared = of_slots, there, lists, of_all
            if here.stop - here.start < len(of_slots):
                if not kept:
                    lanes = {"gaussian": 8, "integer": 8, "terms": 0}
                    kept.update((name, sent(array, target, lanes[name])) for name, array in of_all.items())
                low, high = int(of_slots[here.start]), int(of_slots[here.stop - 1]) + 1
                places = of_slots[here] - np.int32(low)
                listed = listed[first[low] : max(first[high], first[low] + 1)]
                first = first[low : high + 1] - first[low]
                some, shared = tuple(array[here] for array in there), kept
            launch(
                kernels.evaluate,
                n_points=here.stop - here.start,
                whole=some[0],
                remainder=some[1],
                cell=places,
                first=first,
                listed=listed,
                **shared,
                out=some[2],
            )

        told = part_of(checkpoint, begin / len(cells), (end - begin) / len(cells))
        sums.run((np.diff(first) + 1.0)[of_slots[::_RUN]] * _RUN, evaluate, told)
        begin = end
    return cells.by_point(result)


@lru_cache
def _kernels(target: Target) -> SimpleNamespace:
    real = number(target.dtype)
    exp = exponential(target)
    vector = ti.types.vector
    I1, R1 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(real, 1)
    F1, F3 = ti.types.ndarray(ti.f32, 1), ti.types.ndarray(vector(3, ti.f32), 1)
    I3, R3 = ti.types.ndarray(vector(3, ti.i32), 1), ti.types.ndarray(vector(3, real), 1)
    I8, R8 = ti.types.ndarray(vector(8, ti.i32), 1), ti.types.ndarray(vector(8, real), 1)

    @ti.kernel
    def count(n_cells: ti.i32, n: ti.i32, low: F3, high: F3, position: F3, radius: F1, found: I1):
        for cell in range(n_cells):
            listed = 0
            for p in range(n):
                d = ti.max(ti.max(low[cell] - position[p], position[p] - high[cell]), 0.0)
                if d.dot(d) < radius[p] * radius[p]:
                    listed += 1
            found[cell] = listed

    @ti.kernel
    def fill(n_cells: ti.i32, n: ti.i32, low: F3, high: F3, position: F3, radius: F1, first: I1, listed: I1):
        for cell in range(n_cells):
            at = first[cell]
            for p in range(n):
                d = ti.max(ti.max(low[cell] - position[p], position[p] - high[cell]), 0.0)
                if d.dot(d) < radius[p] * radius[p] and at < first[cell + 1]:
                    listed[at] = p
                    at += 1

    @ti.func
    def polynomial(degree: ti.i32, first: ti.i32, terms: ti.template(), x: real, y: real, z: real):
        """Power of z slowest, that of x fastest; Horner's rule within a line along x."""
        value = ti.cast(0.0, real)
        at = first
        power_z = ti.cast(1.0, real)
        for k in range(degree + 1):
            power = power_z
            for j in range(degree - k + 1):
                size = degree - k - j
                line = ti.cast(0.0, real)
                for i in range(size + 1):
                    line = line * x + terms[at + size - i]
                at += size + 1
                value += power * line
                power *= y
            power_z *= z
        return value

    @ti.func
    def unrolled(degree: ti.template(), first: ti.i32, terms: ti.template(), x: real, y: real, z: real):
        """The same for one degree."""
        value = ti.cast(0.0, real)
        for k in ti.static(range(degree, -1, -1)):
            plane = ti.cast(0.0, real)
            for j in ti.static(range(degree - k, -1, -1)):
                line = ti.cast(0.0, real)
                for i in ti.static(range(degree - k - j, -1, -1)):
                    line = line * x + terms[first + _PLACE[degree][i, j, k]]
                plane = plane * y + line
            value = value * z + plane
        return value

    @ti.kernel
    def evaluate(
        n_points: ti.i32,
        whole: I3,  # (points) whole cells of CELL bohr
        remainder: R3,  # (points) bohr
        cell: I1,  # (points) cell of the lists
        first: I1,  # (cells + 1)
        listed: I1,
        gaussian: R8,  # (n) exponent, square of the reach, remainder of the centre
        integer: I8,  # (n) whole cells of the centre, degree, first term
        terms: R1,
        out: R1,
    ):
        ti.loop_config(block_dim=128)
        for n in range(n_points):
            total = ti.cast(0.0, real)
            for q in range(first[cell[n]], first[cell[n] + 1]):
                g = gaussian[listed[q]]
                m = integer[listed[q]]
                x = ti.cast(whole[n][0] - m[0], real) * CELL + (remainder[n][0] - g[2])
                y = ti.cast(whole[n][1] - m[1], real) * CELL + (remainder[n][1] - g[3])
                z = ti.cast(whole[n][2] - m[2], real) * CELL + (remainder[n][2] - g[4])
                square = x * x + y * y + z * z
                if square < g[1]:
                    value = ti.cast(0.0, real)
                    for degree in ti.static(range(_UNROLLED + 1)):
                        if m[3] == degree:
                            value = unrolled(degree, m[4], terms, x, y, z)
                    if m[3] > _UNROLLED:
                        value = polynomial(m[3], m[4], terms, x, y, z)
                    total += value * exp(-g[0] * square)
            out[n] = total

    return SimpleNamespace(count=quick(count), fill=quick(fill), evaluate=quick(evaluate))
