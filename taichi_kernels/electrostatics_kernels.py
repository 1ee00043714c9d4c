"""The kernels of the electrostatic potential; see `electrostatics` for what they compute.

The recurrences of each degree are written out as source text, one variable a quantity: on a GPU a thread takes one
point; on a CPU sixteen points of a group are taken at a time, as vectors that are elements of arrays, which become SIMD
code. Distributions of a degree beyond `WRITTEN_OUT` have a kernel with loops.

Boys functions: the highest one from a table by a Taylor series (its derivatives are higher Boys functions), the others
by downward recurrence; beyond the table by their asymptotic form and upward recurrence, which is stable there.
"""

from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace

import numpy as np

from ._taichi import kernel_from, number, quick, ti
from .cells import CELL
from .hermite_tables import HIGHEST, STEP, TABLE_END, TAYLOR, powers_of, recurrence
from .hilbert import curve
from .launching import idle, indented, loop_over_tasks, turns_of
from .target import Target

_LANES = 16
"""Points that a CPU takes at once."""

TOGETHER = {"cpu": _LANES, "cuda": 32, "vulkan": 32}
"""Points of a group, which goes through the same rows: the threads of a GPU would wait for each other."""

WRITTEN_OUT = 6
"""Degree up to which recurrences are written out."""

KEY_BITS = 10
"""Bits of a cell along each axis, where it is looked up how far along a curve it is."""

_HALVINGS = 7
"""Steps that find one of up to 127 distances."""

_TASKS = 8
"""Vectors of points that a thread of a CPU is given at a time."""

_BLOCK = {"cpu": 16, "cuda": 128, "vulkan": 128}


def _near_source(degree: int, n_taylor: int, vectors: bool, turns: int) -> str:
    """Source of the kernel for distributions of one degree; for vectors or for numbers."""
    powers, rules = powers_of(degree), recurrence(degree).tolist()
    lines = []
    held: dict[int, str] = {}
    for m in range(degree, -1, -1):
        now = {0: f"b{m}"}
        for s, p in enumerate(powers):
            if s > 0 and sum(p) <= degree - m:
                once, twice, axis, factor = rules[s]
                again = f" + {factor}.0 * {held[twice]}" if factor else ""
                now[s] = f"r{m}_{s}"
                lines.append(f"{now[s]} = d{axis} * {held[once]}{again}")
        held = now
    lines += [f"value = hermite[q, 0] * {held[0]}"] + [
        f"value += hermite[q, {s}] * {held[s]}" for s in range(1, len(powers))
    ]
    taylor = [f"b{degree} = f{n_taylor}"]
    taylor += [f"b{degree} = b{degree} * (x * real({1.0 / (k + 1)!r})) + f{k}" for k in range(n_taylor - 1, -1, -1)]
    exponential = ["e = L(1.0)"] + [f"e = 1.0 + e * (x * real({1.0 / k!r}))" for k in range(n_taylor, 0, -1)]
    downward = [f"b{m - 1} = (2.0 * u * b{m} + decay) * real({1.0 / (2 * m - 1)!r})" for m in range(degree, 0, -1)]
    upward = [f"a{m + 1} = a{m} * (inverse * real({m + 0.5}))" for m in range(degree)]
    scaled = ["factor = -2.0 * p"] if degree else []
    for m in range(1, degree + 1):
        scaled += [f"b{m} *= factor"] + (["factor *= -2.0 * p"] if m < degree else [])
    smallest, element = ("t.min()", "[s]") if vectors else ("t", "")
    loop = loop_over_tasks("n // LANES", turns)
    looked_up = [f"f{k} = L(0.0)" for k in range(n_taylor + 2)]
    return (
        "@ti.kernel\n"
        "def kernel(begin: ti.i32, n: ti.i32, n_sites: ti.i32, n_points: ti.i32, points: I1, rows: I2, whole: I1, "
        "rest: R1, ranges: I2, centre_whole: I2, centre: R2, hermite: R2, table: R2, out: W1):\n"
        "    ti.loop_config(block_dim=BLOCK)\n"
        + indented(loop, 1)
        + indented(
            ["slot = begin + task * LANES", "here = slot // TOGETHER", "total = W(0.0)"]
            + ["w0, w1, w2, v0, v1, v2 = gathered(slot, n_points, points, whole, rest)", "for site in range(n_sites):"],
            2,
        )
        + indented(["row = rows[here, site]", "for q in range(ranges[row, 0], ranges[row, 1]):"], 3)
        + indented(
            [
                f"d{n} = ti.cast(centre_whole[q, {n}] - w{n}, real) * real(CELL) + (centre[q, {n}] - v{n})"
                for n in range(3)
            ]
            + ["p = centre[q, 3]", "t = p * (d0 * d0 + d1 * d1 + d2 * d2)", "inverse = 1.0 / t"]
            + ["a0 = ti.sqrt(inverse) * real(0.886226925452758)", *upward]
            + [f"b{m} = a{m}" for m in range(degree + 1)]
            + [f"if {smallest} < END:"],
            4,
        )
        + indented(
            ["u = ti.min(t, END)", "place = ti.cast(u * real(1 / STEP) + real(0.5), ti.i32)"]
            + ["x = real(STEP) * ti.cast(place, real) - u", *looked_up]
            + ["for s in range(LANES):"],
            5,
        )
        + indented([f"f{k}{element} = table[place{element}, {k}]" for k in range(n_taylor + 2)], 6)
        + indented(
            [*taylor, *exponential, f"decay = e * f{n_taylor + 1}", *downward, "far = t >= END"]
            + [f"b{m} = ti.select(far, a{m}, b{m})" for m in range(degree + 1)],
            5,
        )
        + indented([*scaled, *lines, "total += ti.cast(value, WIDE)"], 4)
        + indented(["add(slot, points, total, out)"], 2)
    )


@lru_cache
def near_kernel(target: Target, sums: "np.dtype[np.floating]", degree: int) -> Callable[..., None]:
    """Kernel for distributions of one degree, up to `WRITTEN_OUT`; `sums` is the type of what it adds up."""
    kind = _kinds(target, sums)
    names = {
        "WIDE": number(sums),
        "CELL": CELL,
        "STEP": STEP,
        "END": TABLE_END[target.precision],
        "BLOCK": _BLOCK[target.device],
        "TOGETHER": TOGETHER[target.device],
        **vars(kind),
    }
    text = _near_source(degree, TAYLOR[target.precision], target.on_host, turns_of(target, _TASKS))
    return quick(kernel_from(text, f"potential of degree {degree}, {target.precision}, {target.device}", names))


@lru_cache
def _kinds(target: Target, sums: "np.dtype[np.floating]") -> SimpleNamespace:
    """Types of the kernels, and functions that read points and write values: vectors on a CPU, numbers on a GPU."""
    vector, ndarray, real, wide = ti.types.vector, ti.types.ndarray, number(target.dtype), number(sums)
    lanes = _LANES if target.on_host else 1
    I, L, W = (vector(lanes, kind) if lanes > 1 else kind for kind in (ti.i32, real, wide))

    @ti.func
    def gathered(slot: ti.i32, n_points: ti.i32, points: ti.template(), whole: ti.template(), rest: ti.template()):
        """Cells and remainders of the points in some slots, along each axis."""
        w0, w1, w2, v0, v1, v2 = I(0), I(0), I(0), L(0.0), L(0.0), L(0.0)
        if ti.static(lanes == 1):
            x = ti.max(points[slot], -1 - points[slot])
            y, z = n_points + x, 2 * n_points + x
            w0, w1, w2, v0, v1, v2 = whole[x], whole[y], whole[z], rest[x], rest[y], rest[z]
        else:
            for s in range(lanes):
                x = ti.max(points[slot + s], -1 - points[slot + s])
                y, z = n_points + x, 2 * n_points + x
                w0[s], w1[s], w2[s] = whole[x], whole[y], whole[z]
                v0[s], v1[s], v2[s] = rest[x], rest[y], rest[z]
        return w0, w1, w2, v0, v1, v2

    @ti.func
    def add(slot: ti.i32, points: ti.template(), total: ti.template(), out: ti.template()):
        """Add values to those of the points in some slots, but for the slots that only fill up a group."""
        if ti.static(lanes == 1):
            if points[slot] >= 0:
                out[points[slot]] += total
        else:
            for s in range(lanes):
                if points[slot + s] >= 0:
                    out[points[slot + s]] += total[s]

    return SimpleNamespace(
        real=real, L=L, W=W, LANES=lanes, gathered=gathered, add=add,
        I1=ndarray(ti.i32, 1), I2=ndarray(ti.i32, 2), R1=ndarray(real, 1), R2=ndarray(real, 2), W1=ndarray(wide, 1),
    )  # fmt: skip


@lru_cache
def far_kernel(target: Target, sums: "np.dtype[np.floating]") -> Callable[..., None]:
    """Kernel for multipoles of any order; otherwise as `near_kernel`."""
    wide, kind = number(sums), _kinds(target, sums)
    real, L, W, lanes, gathered, add = kind.real, kind.L, kind.W, kind.LANES, kind.gathered, kind.add
    I1, I2, R1, R2, W1 = kind.I1, kind.I2, kind.R1, kind.R2, kind.W1
    block, together, turns = _BLOCK[target.device], TOGETHER[target.device], turns_of(target, _TASKS)

    @ti.kernel
    def kernel(
        begin: ti.i32,
        n: ti.i32,
        n_sites: ti.i32,
        order: ti.i32,
        n_points: ti.i32,
        points: I1,
        rows: I2,
        whole: I1,
        rest: R1,
        is_far: I1,
        site_whole: I2,
        site_rest: R2,
        moments: R2,
        out: W1,
    ):
        ti.loop_config(block_dim=block)
        for turn in range(n // lanes * turns):
            if idle(turn, turns):
                continue
            slot = begin + turn // turns * lanes
            here = slot // together
            total = W(0.0)
            w0, w1, w2, v0, v1, v2 = gathered(slot, n_points, points, whole, rest)
            for site in range(n_sites):
                row = rows[here, site]
                if is_far[row] == 0:
                    continue
                x = ti.cast(w0 - site_whole[row, 0], real) * real(CELL) + (v0 - site_rest[row, 0])
                y = ti.cast(w1 - site_whole[row, 1], real) * real(CELL) + (v1 - site_rest[row, 1])
                z = ti.cast(w2 - site_whole[row, 2], real) * real(CELL) + (v2 - site_rest[row, 2])
                inverse = 1.0 / (x * x + y * y + z * z)
                diagonal_re, diagonal_im = ti.sqrt(inverse), L(0.0)
                x, y, z = x * inverse, y * inverse, z * inverse
                value = L(0.0)
                at = 0
                for m in range(order + 1):
                    re, im, re_before, im_before = diagonal_re, diagonal_im, L(0.0), L(0.0)
                    for l in range(m, order + 1):
                        value += moments[row, at] * re + moments[row, at + 1] * im
                        at += 2
                        f, g = ti.cast(2 * l + 1, real) * z, ti.cast(l * l - m * m, real) * inverse
                        re_next, im_next = f * re - g * re_before, f * im - g * im_before
                        re_before, im_before, re, im = re, im, re_next, im_next
                    f = ti.cast(2 * m + 1, real)
                    re_next = f * (x * diagonal_re - y * diagonal_im)
                    diagonal_im = f * (x * diagonal_im + y * diagonal_re)
                    diagonal_re = re_next
                total += ti.cast(value, wide)
            add(slot, points, total, out)

    return quick(kernel)


@lru_cache
def looping_kernel(target: Target, sums: "np.dtype[np.floating]") -> Callable[..., None]:
    """Kernel for distributions of any degree up to `HIGHEST`, point by point; otherwise as `near_kernel`."""
    wide, kind = number(sums), _kinds(target, sums)
    real, I1, I2, R1, R2, W1 = kind.real, kind.I1, kind.I2, kind.R1, kind.R2, kind.W1
    n_taylor, end = TAYLOR[target.precision], TABLE_END[target.precision]
    vector, together = ti.types.vector, TOGETHER[target.device]
    most = len(powers_of(HIGHEST))

    @ti.kernel
    def kernel(
        begin: ti.i32,
        n: ti.i32,
        n_sites: ti.i32,
        degree: ti.i32,
        n_points: ti.i32,
        points: I1,
        rows: I2,
        whole: I1,
        rest: R1,
        ranges: I2,
        centre_whole: I2,
        centre: R2,  # remainder and exponent
        hermite: R2,
        table: R2,
        rule: I2,  # (orders, 4)
        out: W1,
    ):
        ti.loop_config(block_dim=32)
        for slot in range(begin, begin + n):
            i = points[slot]
            if i < 0:
                continue
            total = ti.cast(0.0, wide)
            n_all = (degree + 1) * (degree + 2) * (degree + 3) // 6
            for site in range(n_sites):
                row = rows[slot // together, site]
                for q in range(ranges[row, 0], ranges[row, 1]):
                    d = vector(3, real)(0.0)
                    for axis in ti.static(range(3)):
                        cells = ti.cast(centre_whole[q, axis] - whole[axis * n_points + i], real)
                        d[axis] = cells * real(CELL) + (centre[q, axis] - rest[axis * n_points + i])
                    p = centre[q, 3]
                    T = p * d.dot(d)
                    boys = vector(HIGHEST + 1, real)(0.0)
                    if T < real(end):
                        place = ti.cast(T * real(1 / STEP) + real(0.5), ti.i32)
                        x = real(STEP) * ti.cast(place, real) - T
                        value = table[place, n_taylor]
                        decay = ti.cast(1.0, real)
                        for k in ti.static(range(n_taylor - 1, -1, -1)):
                            value = value * x * real(1.0 / (k + 1)) + table[place, k]
                            decay = 1.0 + decay * x * real(1.0 / (k + 1))
                        decay *= table[place, n_taylor + 1]
                        boys[degree] = value
                        for step in range(degree):
                            m = degree - step
                            boys[m - 1] = (2 * T * boys[m] + decay) / ti.cast(2 * m - 1, real)
                    else:
                        boys[0] = real(0.886226925452758) / ti.sqrt(T)
                        for m in range(degree):
                            boys[m + 1] = boys[m] * (ti.cast(m, real) + real(0.5)) / T
                    factor = ti.cast(1.0, real)
                    for m in range(degree + 1):
                        boys[m] *= factor
                        factor *= -2 * p
                    r = vector(most, real)(0.0)
                    for step in range(degree + 1):
                        top = (step + 1) * (step + 2) * (step + 3) // 6
                        for back in range(top - 1):
                            s = top - 1 - back
                            axis = rule[s, 2]
                            along = d[0]
                            if axis == 1:
                                along = d[1]
                            if axis == 2:
                                along = d[2]
                            r[s] = along * r[rule[s, 0]] + ti.cast(rule[s, 3], real) * r[rule[s, 1]]
                        r[0] = boys[degree - step]
                    value = ti.cast(0.0, real)
                    for s in range(n_all):
                        value += hermite[q, s] * r[s]
                    total += ti.cast(value, wide)
            out[i] = out[i] + total

    return quick(kernel)


@lru_cache
def key_kernel(target: Target) -> Callable[..., None]:
    """Kernel that says how far along a curve that fills space the cells of points are."""
    I1 = ti.types.ndarray(ti.i32, 1)
    along = curve(KEY_BITS)

    @ti.kernel
    def kernel(n: ti.i32, low_x: ti.i32, low_y: ti.i32, low_z: ti.i32, halvings: ti.i32, whole: I1, keys: I1):
        for i in range(n):
            x, y, z = whole[i] - low_x, whole[n + i] - low_y, whole[2 * n + i] - low_z
            _, keys[i] = along(x >> halvings, y >> halvings, z >> halvings)

    return quick(kernel)


@lru_cache
def level_kernel(target: Target, sums: "np.dtype[np.floating]") -> Callable[..., None]:
    """Kernel that finds the rows of groups, and the work that they are; `sums` is the type of the tables.

    A group has as many slots as `TOGETHER` says. See `electrostatics.potential_at_points` for points in slots.
    """
    wide, real, together = number(sums), number(target.dtype), TOGETHER[target.device]
    I1, I2, R1, F1, W1, W2 = (
        ti.types.ndarray(ti.i32, 1),
        ti.types.ndarray(ti.i32, 2),
        ti.types.ndarray(real, 1),
        ti.types.ndarray(ti.f32, 1),
        ti.types.ndarray(wide, 1),
        ti.types.ndarray(wide, 2),
    )

    @ti.kernel
    def kernel(
        begin: ti.i32,
        n: ti.i32,
        n_sites: ti.i32,
        n_limits: ti.i32,
        tolerance: wide,
        n_points: ti.i32,
        points: I1,  # (slots)
        whole: I1,  # (3 x points) whole cells of CELL bohr
        rest: R1,  # (3 x points) bohr
        sites: W2,  # (sites, 3) bohr
        distances: W1,  # bohr
        within: I2,  # (limits x sites, distances)
        bounds: W2,  # (rows, distances) hartree/e
        effort: F1,  # (rows)
        rows: I2,  # (groups, sites)
        work: F1,  # (groups)
    ):
        ti.loop_config(block_dim=32)
        for i in range(n):
            b = begin + i
            n_distances, n_rows = distances.shape[0], bounds.shape[0] // n_sites
            low, high = ti.Vector([wide(1e30)] * 3), ti.Vector([wide(-1e30)] * 3)
            for slot in range(b * together, (b + 1) * together):
                p = ti.max(points[slot], -1 - points[slot])
                for axis in ti.static(range(3)):
                    x = ti.cast(whole[axis * n_points + p], wide) * wide(CELL) + ti.cast(
                        rest[axis * n_points + p], wide
                    )
                    low[axis], high[axis] = ti.min(low[axis], x), ti.max(high[axis], x)
            for s in range(n_sites):
                square = wide(0.0)
                for axis in ti.static(range(3)):
                    x = sites[s, axis]
                    outside = ti.max(ti.max(low[axis] - x, x - high[axis]), wide(0.0))
                    square += outside * outside
                distance = ti.sqrt(square)
                place = 0  # how many of the distances are not larger
                for halving in ti.static(range(_HALVINGS)):
                    further = place + (1 << (_HALVINGS - 1 - halving))
                    if further <= n_distances:
                        if distances[further - 1] <= distance:
                            place = further
                rows[b, s] = place - 1
            chosen, found = 0, n_limits == 0
            for limit in range(n_limits):
                if not found:
                    chosen = limit
                    error = wide(0.0)
                    for s in range(n_sites):
                        place = rows[b, s]
                        if place >= 0:
                            error += bounds[s * n_rows + within[limit * n_sites + s, place], place]
                    found = error <= tolerance
            total = ti.f32(0.0)
            for s in range(n_sites):
                place = rows[b, s]
                row = s * n_rows
                if place >= 0 and n_limits > 0:
                    row += within[chosen * n_sites + s, place]
                rows[b, s] = row
                total += effort[row]
            work[b] = total

    return quick(kernel)
