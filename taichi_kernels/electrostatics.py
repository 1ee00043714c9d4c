r"""The electrostatic potential of Gaussian charge distributions at points.

A distribution is a sum of Hermite Gaussians, derivatives of a Gaussian with respect to its centre P. By McMurchie and
Davidson (J. Comput. Phys. 1978, 26, 218) its potential is

.. math::  V(r) = \sum_P \frac{2\pi}{p} \sum_{tuv} H_{tuv} R_{tuv}(p, P - r)

with R from the Boys functions F_m(p |P - r|^2) by R^m_{000} = (-2p)^m F_m and

.. math::  R^m_{t+1,u,v} = t R^{m+1}_{t-1,u,v} + (P_x - x) R^{m+1}_{t,u,v}

Far from them, many distributions together have the potential of multipoles on a site, sums of irregular solid
harmonics, by

.. math::  I_m^m = (2m - 1)\, \frac{x + iy}{r^2}\, I_{m-1}^{m-1}, \qquad
    I_{l+1}^m = \frac{(2l + 1)\, z\, I_l^m - (l^2 - m^2)\, I_{l-1}^m}{r^2}

Points are sorted into cells, and what is near and what is far is listed for each cell. The recurrences of each degree
are written out as source text, one variable a quantity: on a GPU a thread takes one point; on a CPU sixteen points of
a cell are taken at a time, as vectors that are elements of arrays, which Taichi turns into SIMD code. Distributions of
a degree beyond `_WRITTEN_OUT` have a kernel with loops.

Boys functions: the highest one from a table by a Taylor series (its derivatives are higher Boys functions), the others
by downward recurrence; beyond the table by their asymptotic form and upward recurrence, which is stable there.
"""

import linecache
import time
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ._taichi import number, ti
from .arrays import sent
from .cells import CELL, Cells, sorted_into_cells, split_position
from .devices import probe
from .launching import launch
from .pace import Checkpoint, Pace
from .target import Target

LANES = 16
"""Points that a CPU takes at once."""

_EDGE, _POINTS_A_CELL = 1.0, 8
"""Edge of the cells in bohr, and how many points they should hold."""

_BLOCK = {"cpu": 16, "cuda": 128, "vulkan": 128}

_WRITTEN_OUT = 6
_HIGHEST = 16
"""Degree of a product of two functions with angular momentum 8."""

_FAR, _ALL = -1, 99
"""Stand for the multipoles, and for everything, where others have a degree."""

_RUN = 64
"""Slots that stay together when the work is done in pieces; a multiple of `LANES`."""

_BOYS, _EACH = 20, 8
"""For an estimate of the work: what Boys functions cost, in coefficients, and of how many cells one is looked at."""

_STEP = 0.1
_TABLE_END = {"single": 26.0, "double": 44.0}
"""Beyond it exp(-T) does not matter beside the Boys functions, which fall with powers of T."""
_TAYLOR = {"single": 4, "double": 7}


@dataclass(frozen=True, eq=False)
class Distributions:
    """Hermite Gaussians of one degree.

    Attributes
    ----------
    degree : int
    centre : ndarray of float64, shape (n, 3)
        In bohr.
    exponent : ndarray of float64, shape (n,)
        In bohr^-2.
    hermite : ndarray of float64, shape (n, number of orders)
        Hermite coefficients times 2 pi / exponent, in the order of `powers_of`, for a charge in units of e.
    ranges : ndarray of int32, shape (n_rows, 2)
        The distributions that a row of the lists stands for.
    """

    degree: int
    centre: np.ndarray
    exponent: np.ndarray
    hermite: np.ndarray
    ranges: np.ndarray


@dataclass(frozen=True, eq=False)
class Multipoles:
    """What stands for distributions that are far.

    Attributes
    ----------
    order : int
        Highest order.
    site : ndarray of float64, shape (n_rows, 3)
        In bohr.
    moments : ndarray of float64, shape (n_rows, (order + 1) (order + 2))
        Factors of the harmonics, m slowest, then l, then real before imaginary part (which there is for m = 0 too).
    """

    order: int
    site: np.ndarray
    moments: np.ndarray


def powers_of(degree: int) -> tuple[tuple[int, int, int], ...]:
    """Orders (t, u, v) of the Hermite Gaussians up to a degree, those of low degree first."""
    return tuple((t, n - t - v, v) for n in range(degree + 1) for v in range(n + 1) for t in range(n - v, -1, -1))


def cells_of(points: np.ndarray, target: Target) -> Cells:
    """Points sorted for `potential_in_cells`."""
    return sorted_into_cells(points, _EDGE, _POINTS_A_CELL, LANES if target.on_host else 32)


def potential_in_cells(
    points: np.ndarray,
    cells: Cells,
    rows: np.ndarray,
    distributions: list[Distributions],
    multipoles: Multipoles,
    target: Target,
    checkpoint: Checkpoint | None = None,
) -> np.ndarray:
    """Potential of Gaussian charge distributions at points.

    Parameters
    ----------
    points : ndarray of float64, shape (n_points, 3)
        In bohr. Memory is about 100 bytes a point, and what the lists need: the caller hands over tiles.
    cells
        Of these points.
    rows : ndarray of int32, shape (n_cells, n_sites)
        Rows of the lists: for each cell and site one.
    distributions, multipoles
        The distributions that are near, for each row, and the multipoles of those that are far.
    target
        The device of the current session, and the precision. Single: terms are evaluated in single precision and
        summed up in double precision where the device has it; double: all in double precision.
    checkpoint
        Called some thirty times a second with the share that is done, between pieces of the work; what it raises ends
        it. Without one all is done at once.

    Returns
    -------
    ndarray of float64, shape (n_points,)
        In hartree / e.
    """
    real = target.dtype
    sums = np.dtype(np.float64) if probe(target.device).double else real
    lanes = LANES if target.on_host else 1
    whole, rest = split_position(points[cells.placed])
    rest = np.ascontiguousarray(rest, real)
    out = np.zeros(len(cells.placed), sums)
    sums_in_lanes = out.reshape(-1, lanes) if lanes > 1 else out
    cell = cells.of_slots(lanes)
    there = _in_lanes(whole, lanes), _in_lanes(rest, lanes)
    near = np.zeros(len(multipoles.moments), bool)
    for one in distributions:
        near |= one.ranges[:, 1] > one.ranges[:, 0]

    fits, estimate = checkpoint is None, 0.0
    if checkpoint is not None:
        estimate = _work(cells, rows, distributions, multipoles)
        fits = _pace(target, _ALL).fits(estimate)
    begin = time.perf_counter()

    def in_pieces(
        kernel: object, kind: int, numbers: tuple[int, ...], lists: tuple, size: np.ndarray, arrays: tuple, n: int
    ) -> None:
        """Launch a kernel for all slots; `size` says how much work a row of the lists is, `n` how many came before."""
        first, listed = lists
        places, of_place, values = (
            (cells.of_slots(), (whole, rest), out) if kind > _WRITTEN_OUT else (cell, there, sums_in_lanes)
        )
        if checkpoint is None or fits:
            launch(kernel, len(places), *numbers, places, first, listed, *of_place, *arrays, values)
            return
        run = _RUN * len(places) // len(out)
        kept = [sent(array, target) for array in arrays]

        def piece(begin: int, end: int) -> None:
            here = slice(begin * run, min(end * run, len(places)))
            low, high = int(places[here.start]), int(places[here.stop - 1]) + 1
            some = listed[first[low] : first[high]]
            if len(some):
                launch(
                    kernel,
                    here.stop - here.start,
                    *numbers,
                    places[here] - np.int32(low),
                    first[low : high + 1] - first[low],
                    some,
                    *(array[here] for array in of_place),
                    *kept,
                    values[here],
                )

        of_cell = np.diff(np.concatenate([[0.0], np.cumsum(size[listed], dtype=np.float64)])[first]) + 1
        _pace(target, kind).run(
            of_cell[places[::run]] * run, piece, lambda share: checkpoint((n + share) / (len(distributions) + 1))
        )

    lists = _lists(rows, near)
    for n, one in enumerate(distributions if len(lists[1]) else ()):
        centre_whole, centre_rest = split_position(one.centre)
        arrays = (
            one.ranges,
            centre_whole,
            np.ascontiguousarray(np.column_stack([centre_rest, one.exponent]), real),
            np.ascontiguousarray(one.hermite, real),
            _boys_table(target.precision, one.degree),
        )
        written_out = one.degree <= _WRITTEN_OUT
        if written_out:
            kernel = _written_out(target, sums, one.degree)
        else:
            kernel, arrays = _with_loops(target.precision, sums), (*arrays, _recurrence(one.degree))
        size = one.ranges[:, 1] - one.ranges[:, 0]
        in_pieces(kernel, one.degree, () if written_out else (one.degree,), lists, size, arrays, n)
    far = np.any(multipoles.moments != 0, axis=1)
    lists = _lists(rows, far)
    if len(lists[1]):
        site_whole, site_rest = split_position(multipoles.site)
        arrays = (
            site_whole,
            np.ascontiguousarray(site_rest, real),
            np.ascontiguousarray(multipoles.moments, real),
        )
        kernel = _far(target, sums)
        in_pieces(kernel, _FAR, (multipoles.order,), lists, far.astype(np.int64), arrays, len(distributions))
    if checkpoint is not None:
        _pace(target, _ALL).learn(estimate, time.perf_counter() - begin)
    return cells.by_point(out).astype(np.float64, copy=False)


def _work(cells: Cells, rows: np.ndarray, distributions: list[Distributions], multipoles: Multipoles) -> float:
    """About how much there is to do for all slots, from some cells: in coefficients that are multiplied."""
    of_row = np.any(multipoles.moments != 0, axis=1) * float(multipoles.moments.shape[1])
    for one in distributions:
        of_row += (one.ranges[:, 1] - one.ranges[:, 0]) * float(one.hermite.shape[1] + _BOYS)
    some = rows[::_EACH]
    return float(of_row[some].sum()) / len(some) * len(cells.placed)


@lru_cache
def _pace(target: Target, kind: int) -> Pace:
    return Pace(1 << 15 if kind < _ALL else 1 << 20)


def _in_lanes(array: np.ndarray, lanes: int) -> np.ndarray:
    """From (n, columns) to (n / lanes, columns, lanes)."""
    if lanes == 1:
        return array
    return np.ascontiguousarray(array.reshape(-1, lanes, array.shape[1]).transpose(0, 2, 1))


def _lists(rows: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each cell, where its list begins; and the lists of rows that are wanted."""
    chosen = wanted[rows]
    first = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))]).astype(np.int32)
    return first, np.ascontiguousarray(rows[chosen], np.int32)


@lru_cache
def _boys_table(precision: str, degree: int) -> np.ndarray:
    """F_degree(T), those above that its Taylor series needs, and exp(-T), on the grid; shape (points, n)."""
    end, highest = _TABLE_END[precision], degree + _TAYLOR[precision]
    t = np.arange(0, round(end / _STEP) + 2) * _STEP
    decay = np.exp(-t)
    # F_m(T) = exp(-T) sum_i (2T)^i / ((2m+1)(2m+3)...(2m+2i+1)), then downwards
    term = np.full(len(t), 1.0 / (2 * highest + 1))
    series = term.copy()
    for i in range(1, 400):
        term = term * 2 * t / (2 * highest + 2 * i + 1)
        series += term
    columns = [decay, decay * series]
    for m in range(highest, degree, -1):
        columns.append((2 * t * columns[-1] + decay) / (2 * m - 1))
    return np.ascontiguousarray(np.stack(columns[::-1], axis=1), np.dtype(precision))


@lru_cache
def _recurrence(degree: int) -> np.ndarray:
    """For each order: places of the two it is made of, the axis, and the factor of the second; shape (orders, 4)."""
    powers = powers_of(degree)
    place = {p: n for n, p in enumerate(powers)}
    rows = []
    for p in powers:
        axis = next((n for n in range(3) if p[n] > 0), 0)
        once = tuple(q - (n == axis) for n, q in enumerate(p))
        twice = tuple(q - 2 * (n == axis) for n, q in enumerate(p))
        rows.append((place.get(once, 0), place.get(twice, 0), axis, max(p[axis] - 1, 0)))
    return np.array(rows, np.int32)


def _block(statements: list[str], depth: int) -> str:
    return "".join("    " * depth + statement + "\n" for statement in statements)


def _near_source(degree: int, n_taylor: int, vectors: bool) -> str:
    """Source of the kernel for distributions of one degree; for vectors or for numbers."""
    powers, rules = powers_of(degree), _recurrence(degree).tolist()
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
    lines += [f"value = h[q, 0] * {held[0]}"] + [f"value += h[q, {s}] * {held[s]}" for s in range(1, len(powers))]
    taylor = [f"b{degree} = f{n_taylor}"]
    taylor += [f"b{degree} = b{degree} * (x * real({1.0 / (k + 1)!r})) + f{k}" for k in range(n_taylor - 1, -1, -1)]
    exponential = ["e = L(1.0)"] + [f"e = 1.0 + e * (x * real({1.0 / k!r}))" for k in range(n_taylor, 0, -1)]
    downward = [f"b{m - 1} = (2.0 * u * b{m} + decay) * real({1.0 / (2 * m - 1)!r})" for m in range(degree, 0, -1)]
    upward = [f"a{m + 1} = a{m} * (inverse * real({m + 0.5}))" for m in range(degree)]
    scaled = ["factor = -2.0 * p"] if degree else []
    for m in range(1, degree + 1):
        scaled += [f"b{m} *= factor"] + (["factor *= -2.0 * p"] if m < degree else [])
    smallest, element = ("t.min()", "[s]") if vectors else ("t", "")
    looked_up = [f"f{k} = L(0.0)" for k in range(n_taylor + 2)]
    return (
        "@ti.kernel\n"
        "def kernel(n: ti.i32, cell: I1, first: I1, listed: I1, whole: IL, rest: RL, ranges: I2, c: I2, g: R2, h: R2, "
        "table: R2, out: WL):\n"
        "    ti.loop_config(block_dim=BLOCK)\n"
        "    for i in range(n):\n"
        "        total = W(0.0)\n"
        "        for entry in range(first[cell[i]], first[cell[i] + 1]):\n"
        "            row = listed[entry]\n"
        "            for q in range(ranges[row, 0], ranges[row, 1]):\n"
        + _block(
            [
                f"d{n} = ti.cast(c[q, {n}] - whole[i, {n}], real) * real(CELL) + (g[q, {n}] - rest[i, {n}])"
                for n in range(3)
            ]
            + ["p = g[q, 3]", "t = p * (d0 * d0 + d1 * d1 + d2 * d2)", "inverse = 1.0 / t"]
            + ["a0 = ti.sqrt(inverse) * real(0.886226925452758)", *upward]
            + [f"b{m} = a{m}" for m in range(degree + 1)]
            + [f"if {smallest} < END:"],
            4,
        )
        + _block(
            ["u = ti.min(t, END)", "place = ti.cast(u * real(1 / STEP) + real(0.5), ti.i32)"]
            + ["x = real(STEP) * ti.cast(place, real) - u", *looked_up]
            + ["for s in range(LANES):"],
            5,
        )
        + _block([f"f{k}{element} = table[place{element}, {k}]" for k in range(n_taylor + 2)], 6)
        + _block(
            [*taylor, *exponential, f"decay = e * f{n_taylor + 1}", *downward, "far = t >= END"]
            + [f"b{m} = ti.select(far, a{m}, b{m})" for m in range(degree + 1)],
            5,
        )
        + _block([*scaled, *lines, "total += ti.cast(value, WIDE)"], 4)
        + "        out[i] = out[i] + total\n"
    )


@lru_cache
def _written_out(target: Target, sums: "np.dtype[np.floating]", degree: int) -> object:
    source = _near_source(degree, _TAYLOR[target.precision], target.on_host)
    return _compiled(source, f"<potential of degree {degree}, {target.precision}, {target.device}>", target, sums)


def _types(target: Target, sums: "np.dtype[np.floating]") -> tuple:
    """Types of a term, of a sum, and of arrays of integers, terms and sums: vectors on a CPU, numbers on a GPU."""
    vector, ndarray, real = ti.types.vector, ti.types.ndarray, number(target.dtype)
    kinds = ti.i32, real, number(sums)
    i, r, w = (vector(LANES, kind) for kind in kinds) if target.on_host else kinds
    return r, w, ndarray(ti.i32, 1), ndarray(ti.i32, 2), ndarray(real, 2), ndarray(i, 2), ndarray(r, 2), ndarray(w, 1)


def _compiled(text: str, file: str, target: Target, sums: "np.dtype[np.floating]") -> object:
    """A kernel from its source."""
    names = {
        "ti": ti,
        "real": number(target.dtype),
        "WIDE": number(sums),
        "CELL": CELL,
        "STEP": _STEP,
        "END": _TABLE_END[target.precision],
        "LANES": LANES if target.on_host else 1,
        "BLOCK": _BLOCK[target.device],
        **dict(zip(("L", "W", "I1", "I2", "R2", "IL", "RL", "WL"), _types(target, sums), strict=True)),
    }
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # where Taichi looks for the source
    exec(compile(text, file, "exec"), names)
    return names["kernel"]


@lru_cache
def _far(target: Target, sums: "np.dtype[np.floating]") -> object:
    """Kernel for multipoles of any order."""
    real, wide = number(target.dtype), number(sums)
    L, W, I1, I2, R2, IL, RL, WL = _types(target, sums)
    block = _BLOCK[target.device]

    @ti.kernel
    def kernel(
        n: ti.i32,
        order: ti.i32,
        cell: I1,
        first: I1,
        listed: I1,
        whole: IL,
        rest: RL,
        site_whole: I2,
        site_rest: R2,
        moments: R2,
        out: WL,
    ):
        ti.loop_config(block_dim=block)
        for i in range(n):
            total = W(0.0)
            for entry in range(first[cell[i]], first[cell[i] + 1]):
                row = listed[entry]
                x = ti.cast(whole[i, 0] - site_whole[row, 0], real) * real(CELL) + (rest[i, 0] - site_rest[row, 0])
                y = ti.cast(whole[i, 1] - site_whole[row, 1], real) * real(CELL) + (rest[i, 1] - site_rest[row, 1])
                z = ti.cast(whole[i, 2] - site_whole[row, 2], real) * real(CELL) + (rest[i, 2] - site_rest[row, 2])
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
            out[i] = out[i] + total

    return kernel


@lru_cache
def _with_loops(precision: str, sums: "np.dtype[np.floating]") -> object:
    real, wide = number(precision), number(sums)
    n_taylor, end = _TAYLOR[precision], _TABLE_END[precision]
    vector = ti.types.vector
    I1, I2, R2 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(ti.i32, 2), ti.types.ndarray(real, 2)
    W1 = ti.types.ndarray(wide, 1)
    most = len(powers_of(_HIGHEST))

    @ti.kernel
    def kernel(
        n: ti.i32,
        degree: ti.i32,
        cell: I1,
        first: I1,
        listed: I1,
        whole: I2,
        rest: R2,
        ranges: I2,
        centre_whole: I2,
        centre: R2,  # remainder and exponent
        hermite: R2,
        table: R2,
        rule: I2,  # (orders, 4)
        out: W1,
    ):
        ti.loop_config(block_dim=32)
        for i in range(n):
            total = ti.cast(0.0, wide)
            n_all = (degree + 1) * (degree + 2) * (degree + 3) // 6
            for entry in range(first[cell[i]], first[cell[i] + 1]):
                row = listed[entry]
                for q in range(ranges[row, 0], ranges[row, 1]):
                    d = vector(3, real)(0.0)
                    for axis in ti.static(range(3)):
                        cells = ti.cast(centre_whole[q, axis] - whole[i, axis], real)
                        d[axis] = cells * real(CELL) + (centre[q, axis] - rest[i, axis])
                    p = centre[q, 3]
                    T = p * d.dot(d)
                    boys = vector(_HIGHEST + 1, real)(0.0)
                    if T < real(end):
                        place = ti.cast(T * real(1 / _STEP) + real(0.5), ti.i32)
                        x = real(_STEP) * ti.cast(place, real) - T
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

    return kernel
