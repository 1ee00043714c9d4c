r"""The kernels between Gaussians and the points of a quadrature; see `quadrature` for what they compute.

With :math:`y = \sqrt{z}\,(r - P)` a Gaussian of degree d is a polynomial of y times :math:`e^{-y^2}`. For each degree
sums are written out as source text, by Horner's rule and, for the way back, by its transposed form. On a GPU a thread
takes one point of a cell. On a CPU it takes all, in innermost loops over the points that LLVM makes SIMD code of, and
sums are arrays of one number a point. Degrees beyond `WRITTEN_OUT` have kernels with loops.
"""

from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ._taichi import kernel_from, lightly_optimised, number, quick, ti
from .cells import CELL
from .elementary import power_of_two
from .hermite_tables import HIGHEST, powers_of
from .launching import idle, indented, loop_over_tasks, turns_of
from .target import Target

POINTS = 32
"""Points of a cell."""

GROUP = 16
"""Gaussians of a group; one number says which of them, counted from the first, reach a cell."""

WRITTEN_OUT = 8
"""Degree up to which sums are written out."""

_CHUNK = 16
"""Cells that a Gaussian adds up before the sum goes on in double precision."""

_BLOCK = {"cpu": 4, "cuda": 128, "vulkan": 128}

_DISTANCES = (
    *(f"{axis} = (points[at{n} + s] + s{n}) * root" for n, axis in enumerate("xyz")),
    "square = x * x + y * y + z * z",
    "e = power_of_two(square * gaussian[q, 7], square * gaussian[q, 8], zero)",
)
"""Scaled coordinates about the Gaussian, and its value.

The scale is rounded, so the exponent has to make up for it, with more digits than one number has: an error of it would
be the same at all points."""

_ROWS = tuple(f"at{n} = ti.min({n} * stride + cell * POINTS, {(1 << 31) - 2 * POINTS})" for n in range(4))
"""Places of the first point of a cell in rows of all points. They are not that large: but so LLVM sees that the places
of the other points do not overflow, and makes no second loop for this case."""

_SHIFTS = tuple(f"s{n} = whole_cells(origin[cell, {n}], gaussian[q, {n}]) - gaussian[q, {n + 3}]" for n in range(3))
"""From the origin of a cell to a Gaussian."""


@lru_cache
def difference_of_cells(target: Target) -> Any:
    """A function of two multiples of `CELL` that gives their difference, exactly.

    GPUs are free to take what is subtracted next first, which rounds; from a difference of integers they cannot.
    """
    real = number(target.dtype)

    @ti.func
    def difference(a: real, b: real):
        if ti.static(target.on_host):
            return a - b
        return ti.cast(ti.cast(a * (1 / CELL), ti.i32) - ti.cast(b * (1 / CELL), ti.i32), real) * CELL

    return difference


def threads_of(target: Target) -> int:
    """Threads that share the points of a cell."""
    return 1 if target.on_host else POINTS


class _Horner:
    """Statements of Horner's rule for a value and derivatives, which leave out what is zero."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def step(self, total: str | None, factor: str, added: str | None) -> str | None:
        """The name of total * factor + added, where None is zero."""
        if total is None:
            return added
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {total} * {factor}" + (f" + {added}" if added is not None else ""))
        return name


def _polynomial(degree: int, gradient: bool, terms: str) -> tuple[list[str], list[str | None]]:
    """Statements for a polynomial of terms and its derivatives; the names of what they leave behind."""
    place = {powers: n for n, powers in enumerate(powers_of(degree))}
    rule = _Horner()
    solid: list[str | None] = [None] * 4  # value, derivatives along x, y, z
    for k in range(degree, -1, -1):
        plane: list[str | None] = [None] * 3
        for j in range(degree - k, -1, -1):
            line: list[str | None] = [None] * 2
            for i in range(degree - k - j, -1, -1):
                if gradient:
                    line[1] = rule.step(line[1], "x", line[0])
                line[0] = rule.step(line[0], "x", f"{terms}[row, {place[i, j, k]}]")
            if gradient:
                plane[2] = rule.step(plane[2], "y", plane[0])
                plane[1] = rule.step(plane[1], "y", line[1])
            plane[0] = rule.step(plane[0], "y", line[0])
        if gradient:
            solid[3] = rule.step(solid[3], "z", solid[0])
            solid[2] = rule.step(solid[2], "z", plane[2])
            solid[1] = rule.step(solid[1], "z", plane[1])
        solid[0] = rule.step(solid[0], "z", plane[0])
    return rule.lines, solid


def _density_source(degrees: tuple[int, ...], gradient: bool, on_host: bool, turns: int) -> str:
    sums = range(4 if gradient else 1)
    at = "[s]" if on_host else ""
    totals = [f"total[{k} * POINTS + s]" if on_host else f"total[{k}]" for k in sums]
    each, more = (["for s in range(POINTS):"], 1) if on_host else ([], 0)
    if on_host:  # one loop, since LLVM writes out many turns of it
        stored = [f"for k in range({len(sums)} * POINTS):", "    out[spin, k // POINTS, at0 + k % POINTS] += total[k]"]
    else:
        stored = [f"out[spin, {k}, at0 + s] += total[{k}]" for k in sums]
    text = (
        "@ti.kernel\n"
        "def kernel(zero: ti.i32, n: ti.i32, begin: ti.i32, stride: ti.i32, n_degrees: ti.i32, origin: R2, points: R1, "
        "starts: I1, listed: I1, gaussian: R2, spin: ti.i32, out: W3, "
        + ", ".join(f"which{d}: ti.i32, first_slot{d}: ti.i32, h{d}: R2" for d in range(len(degrees)))
        + "):\n"
        "    ti.loop_config(block_dim=BLOCK)\n"
        + indented(loop_over_tasks("n", turns), 1)
        + "        cell = begin + task // THREADS\n"
        + indented([*_ROWS[:3]], 2)
        + ("" if on_host else "        s = task % THREADS\n")
        + "        total = W(0.0)\n"
    )
    for d, degree in enumerate(degrees):
        lines, (value, *slopes) = _polynomial(degree, gradient, f"h{d}")
        inner = [*_DISTANCES, *lines, f"p = {value} * e", f"part0{at} += p"]
        if gradient:
            inner += ["e *= root", "p *= 2.0 * root"]
            for n, axis in enumerate("xyz"):
                inner.append(f"part{n + 1}{at} += " + (f"{slopes[n]} * e - " if slopes[n] else "-") + f"{axis} * p")
        text += (
            f"        place = cell * n_degrees + which{d}\n"
            "        for entry in range(starts[place], starts[place + 1]):\n"
            "            last = listed[entry]\n"
            + indented([f"part{k} = L(0.0)" for k in sums], 3)
            + "            for q in range(last // GROUP * GROUP, last + 1):\n"
            + indented([f"row = q - first_slot{d}", "root = gaussian[q, 6]", *_SHIFTS, *each], 4)
            + indented(inner, 4 + more)
            + indented(each, 3)
            + indented([f"{totals[k]} += ti.cast(part{k}{at}, WIDE)" for k in sums], 3 + more)
        )
    return text + indented(stored, 2)


def _moments_source(degree: int, gradient: bool, on_host: bool, turns: int) -> str:
    orders = range(len(powers_of(degree)))
    at = "[s]" if on_host else ""
    inner = [*_DISTANCES, *_weights(gradient), *_raised(degree, gradient, at)]
    added = [f"total{n} += ti.cast(m{n}{at}, WIDE)" for n in orders]
    each, more = (["for s in range(POINTS):"], 1) if on_host else ([], 0)
    return (
        "@ti.kernel\n"
        "def kernel(zero: ti.i32, n: ti.i32, first_slot: ti.i32, stride: ti.i32, origin: R2, points: R1, starts: I2, "
        "cells: I1, gaussian: R2, values: R1, out: W2):\n"
        "    ti.loop_config(block_dim=BLOCK)\n"
        + indented(loop_over_tasks("n", turns), 1)
        + "        slot = task // THREADS\n"
        "        q = first_slot + slot\n"
        "        root = gaussian[q, 6]\n"
        + ("" if on_host else "        s = task % THREADS\n")
        + indented([f"total{n} = ti.cast(0.0, WIDE)" for n in orders], 2)
        + "        for chunk in range((starts[q, 1] - starts[q, 0] + CHUNK - 1) // CHUNK):\n"
        "            begin = starts[q, 0] + chunk * CHUNK\n"
        + indented([f"m{n} = L(0.0)" for n in orders], 3)
        + "            for entry in range(begin, ti.min(begin + CHUNK, starts[q, 1])):\n"
        "                cell = cells[entry]\n"
        + indented([*_ROWS[: 4 if gradient else 3], *_SHIFTS, *each], 4)
        + indented(inner, 4 + more)
        + indented(each, 3)
        + indented(added, 3 + more)
        + indented([f"out[slot, {n}{'' if on_host else ' * THREADS + s'}] = total{n}" for n in orders], 2)
    )


def _weights(gradient: bool) -> list[str]:
    """Statements for what a polynomial is multiplied by, w, and what its derivatives are, bx, by, bz."""
    if not gradient:
        return ["w = values[at0 + s] * e"]
    return [
        "r = e * root",
        *(f"b{axis} = values[at{n + 1} + s] * r" for n, axis in enumerate("xyz")),
        "w = values[at0 + s] * e - 2.0 * (x * bx + y * by + z * bz)",
    ]


def _raised(degree: int, gradient: bool, at: str) -> list[str]:
    """Statements that multiply the weights by the powers of x, y and z, and add them to the moments."""
    place = {powers: n for n, powers in enumerate(powers_of(degree))}
    lines = []
    for i in range(2, degree + 1):
        before = "x" if i == 2 else f"x{i - 1}"
        lines.append(f"x{i} = {before} * x")
        if gradient:
            lines.append(f"d{i} = {i}.0 * {before}")
    for k in range(degree + 1):
        if k:
            lines.append("w = w * z" + (" + bz" if gradient else ""))
            lines += [f"b{axis} *= z" for axis in "xyz"] if gradient else []
        lines += ["wy = w"] + (["bxy = bx", "byy = by"] if gradient else [])
        for j in range(degree - k + 1):
            if j:
                lines.append("wy = wy * y" + (" + byy" if gradient else ""))
                lines += ["bxy *= y", "byy *= y"] if gradient else []
            for i in range(degree - k - j + 1):
                term = ("wy", "wy * x", f"wy * x{i}")[min(i, 2)]
                if gradient and i:
                    term += " + bxy" if i == 1 else f" + bxy * d{i}"
                lines.append(f"m{place[i, j, k]}{at} += {term}")
    return lines


@lru_cache
def density_kernel(target: Target, sums: "np.dtype[np.floating]", degrees: tuple[int, ...], gradient: bool) -> object:
    """Kernel that adds the Gaussians of some degrees, up to `WRITTEN_OUT`, to the density, or it and its gradient.

    On a CPU it is for several degrees at once: most of what LLVM has to do for a kernel is the same for all of them.
    """
    source = _density_source(degrees, gradient, target.on_host, turns_of(target))
    return _compiled(source, f"density of degrees {degrees}", gradient, target, sums)


@lru_cache
def moments_kernel(target: Target, sums: "np.dtype[np.floating]", degree: int, gradient: bool) -> object:
    """Kernel for the moments of one degree, up to `WRITTEN_OUT`, of values at points, or of these and vectors."""
    source = _moments_source(degree, gradient, target.on_host, turns_of(target))
    return _compiled(source, f"moments of degree {degree}", gradient, target, sums)


def _compiled(text: str, name: str, gradient: bool, target: Target, sums: "np.dtype[np.floating]") -> object:
    """A kernel from its source."""
    real, wide, ndarray = number(target.dtype), number(sums), ti.types.ndarray

    def of_points(kind: object) -> object:
        return ti.types.vector(POINTS, kind) if target.on_host else kind

    names = {
        "L": of_points(real),
        "W": ti.types.vector((4 if gradient else 1) * (POINTS if target.on_host else 1), wide),
        "I1": ndarray(ti.i32, 1),
        "I2": ndarray(ti.i32, 2),
        "R1": ndarray(real, 1),
        "R2": ndarray(real, 2),
        "W2": ndarray(wide, 2),
        "W3": ndarray(wide, 3),
        "WIDE": wide,
        "GROUP": GROUP,
        "CHUNK": _CHUNK,
        "POINTS": POINTS,
        "THREADS": threads_of(target),
        "BLOCK": _BLOCK[target.device],
        "power_of_two": power_of_two(target),
        "whole_cells": difference_of_cells(target),
    }
    title = f"{name}, {gradient}, {target.precision}, {target.device}"
    return quick(lightly_optimised(kernel_from(text, title, names)))


@lru_cache
def looping_kernels(target: Target, sums: "np.dtype[np.floating]", gradient: bool) -> SimpleNamespace:
    """Kernels `density` and `moments` for any degree up to one more than `HIGHEST`, with loops over the terms.

    They take one array more, of the orders of the terms. A thread takes a point of a cell, or on a CPU all of them, one
    after the other.
    """
    real, wide, ndarray = number(target.dtype), number(sums), ti.types.ndarray
    power_of_two_of = power_of_two(target)
    threads = threads_of(target)
    together, turns = POINTS // threads, turns_of(target)
    powers, sums_of_point = ti.types.vector(HIGHEST + 3, real), ti.types.vector(4, wide)
    I1, I2, R1, R2 = ndarray(ti.i32, 1), ndarray(ti.i32, 2), ndarray(real, 1), ndarray(real, 2)
    W2, W3 = ndarray(wide, 2), ndarray(wide, 3)

    whole_cells = difference_of_cells(target)

    @ti.func
    def coordinate(
        axis: ti.template(), i: ti.i32, cell: ti.i32, q: ti.i32, stride: ti.i32, origin: R2, points: R1, gaussian: R2
    ):
        """Scaled, about a Gaussian."""
        shift = whole_cells(origin[cell, axis], gaussian[q, axis]) - gaussian[q, axis + 3]
        return (points[axis * stride + i] + shift) * gaussian[q, 6]

    @ti.func
    def powers_of_coordinate(y: real):
        result = powers(0.0)
        power = ti.cast(1.0, real)
        for n in ti.static(range(HIGHEST + 3)):
            result[n] = power
            power *= y
        return result

    @ti.func
    def slope(y: powers, power: ti.i32):
        """Derivative of a power times the Gaussian along an axis, without the Gaussian."""
        result = -2 * y[power + 1]
        if power > 0:
            result += ti.cast(power, real) * y[power - 1]
        return result

    @ti.kernel
    def density(
        zero: ti.i32,
        n: ti.i32,
        begin: ti.i32,
        stride: ti.i32,
        n_degrees: ti.i32,
        origin: R2,
        points: R1,
        starts: I1,
        listed: I1,
        gaussian: R2,
        spin: ti.i32,
        out: W3,
        which0: ti.i32,
        first_slot0: ti.i32,
        h0: R2,
        n_terms: ti.i32,
        orders: I2,  # (n_terms, 3), or longer
    ):
        ti.loop_config(block_dim=32)
        for turn in range(n * together * turns):
            if idle(turn, turns):
                continue
            task = turn // turns
            cell = begin + task // POINTS
            i = begin * POINTS + task
            total = sums_of_point(0.0)
            for entry in range(starts[cell * n_degrees + which0], starts[cell * n_degrees + which0 + 1]):
                for q in range(listed[entry] // GROUP * GROUP, listed[entry] + 1):
                    a = coordinate(0, i, cell, q, stride, origin, points, gaussian)
                    b = coordinate(1, i, cell, q, stride, origin, points, gaussian)
                    c = coordinate(2, i, cell, q, stride, origin, points, gaussian)
                    square = a * a + b * b + c * c
                    value = power_of_two_of(square * gaussian[q, 7], square * gaussian[q, 8], zero)
                    if value > 0:
                        x, y, z = powers_of_coordinate(a), powers_of_coordinate(b), powers_of_coordinate(c)
                        root = value * gaussian[q, 6]
                        for m in range(n_terms):
                            t, u, v = orders[m, 0], orders[m, 1], orders[m, 2]
                            term = h0[q - first_slot0, m]
                            total[0] += ti.cast(term * value * x[t] * y[u] * z[v], wide)
                            if ti.static(gradient):
                                total[1] += ti.cast(term * root * slope(x, t) * y[u] * z[v], wide)
                                total[2] += ti.cast(term * root * x[t] * slope(y, u) * z[v], wide)
                                total[3] += ti.cast(term * root * x[t] * y[u] * slope(z, v), wide)
            for k in ti.static(range(4 if gradient else 1)):
                out[spin, k, i] += total[k]

    @ti.kernel
    def moments(
        zero: ti.i32,
        n: ti.i32,
        first_slot: ti.i32,
        stride: ti.i32,
        origin: R2,
        points: R1,
        starts: I2,
        cells: I1,
        gaussian: R2,
        values: R1,
        out: W2,
        n_terms: ti.i32,
        orders: I2,  # (n_terms, 3), or longer
    ):
        ti.loop_config(block_dim=32)
        for turn in range(n * turns):
            if idle(turn, turns):
                continue
            task = turn // turns
            slot = task // threads
            thread = task % threads
            q = first_slot + slot
            for m in range(n_terms):
                out[slot, m * threads + thread] = 0.0
            for at in range(starts[q, 0] * together, starts[q, 1] * together):
                cell = cells[at // together]
                i = cell * POINTS + thread * together + at % together
                a = coordinate(0, i, cell, q, stride, origin, points, gaussian)
                b = coordinate(1, i, cell, q, stride, origin, points, gaussian)
                c = coordinate(2, i, cell, q, stride, origin, points, gaussian)
                square = a * a + b * b + c * c
                value = power_of_two_of(square * gaussian[q, 7], square * gaussian[q, 8], zero)
                if value > 0:
                    x, y, z = powers_of_coordinate(a), powers_of_coordinate(b), powers_of_coordinate(c)
                    root = value * gaussian[q, 6]
                    for m in range(n_terms):
                        t, u, v = orders[m, 0], orders[m, 1], orders[m, 2]
                        term = values[i] * value * x[t] * y[u] * z[v]
                        if ti.static(gradient):
                            term += values[stride + i] * root * slope(x, t) * y[u] * z[v]
                            term += values[2 * stride + i] * root * x[t] * slope(y, u) * z[v]
                            term += values[3 * stride + i] * root * x[t] * y[u] * slope(z, v)
                        out[slot, m * threads + thread] += ti.cast(term, wide)

    return SimpleNamespace(density=density, moments=moments)
