"""The kernels of the Coulomb sums between Hermite Gaussians; see `coulomb` for what they compute.

A task is a bra and a chunk of kets; its innermost loop goes through the kets of a tile, one number a quantity, and all
devices have the same source. On a CPU that loop becomes SIMD code, with several kets at once; on a GPU a thread has a
task, and neighbours, which have neighbouring bras, read the same kets. What the tasks of a bra have found is added up
afterwards, always in the same order.

The recurrences of a pair of degrees are written out as source text, the orders of the bra one after the other. Pairs of
degrees for which that would be too long have a kernel with loops, which also serves where there is little to do.

Boys functions: from a table the highest one that is wanted, the highest one of its Taylor series, and exp(-T); the rest
by downward recurrence, at the point of the table or where they are wanted. Beyond the table by their asymptotic form.
"""

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ._taichi import kernel_from, lightly_optimised, number, quick, ti
from .cells import CELL
from .hermite_tables import TABLE_END, boys_function, powers_of
from .launching import idle, loop_over_tasks, turns_of
from .target import Target

TILE = {"cpu": 64, "cuda": 32, "vulkan": 32}
"""Kets that lie together, and whose terms are added up in the precision of the terms. Ranges of kets are multiples: of
a loop of known length the compiler makes half as much code."""

KET_ROWS = 5
"""Numbers of a ket before its coefficients: remainder of the centre, exponent, and one over it."""

_WRITTEN_OUT = 2000
"""Products of an order of the bra and an order of the ket that are written out; to compile so many takes 4 s."""

_SUMMANDS = 100
"""Of a sum in one statement: the compiler goes down by some three calls for each, and Python ends at a thousand."""

STEP, TAYLOR = 1 / 32, {"single": 3, "double": 6}
"""Between two points of the table of Boys functions, and terms of the Taylor series from one of them."""

SMALLEST = 1e-30
"""Square of a distance in bohr^2 that stands for nothing, so that it can be divided by."""

LANES = {"cpu": 16, "cuda": 1, "vulkan": 1}
"""Kets that the kernel with loops takes at once."""

_BLOCK = {"cpu": 16, "cuda": 128, "vulkan": 128}


def is_written_out(bra: int, ket: int) -> bool:
    """Whether a pair of degrees has a kernel of its own."""
    return len(powers_of(bra)) * len(powers_of(ket)) <= _WRITTEN_OUT


TABLE_COLUMNS = 3


@lru_cache
def table_of(precision: str, degree: int) -> np.ndarray:
    """For a sum M of degrees, point by point, F_M, the last F that the series needs, and exp(-T).

    All are times 2 / sqrt(pi) and divided by (2M - 1)!!, see `_boys`.
    """
    t = np.arange(round(TABLE_END[precision] / STEP) + 2) * STEP
    columns = boys_function(degree, t), boys_function(degree + TAYLOR[precision], t), np.exp(-t)
    factor = 2 / np.sqrt(np.pi) / odd_product(degree)
    return np.ascontiguousarray(np.stack(columns, axis=1).reshape(-1) * factor, np.dtype(precision))


def odd_product(m: int) -> float:
    """(2m - 1)!!, the product of the odd numbers below 2m."""
    return math.prod(range(1, 2 * m, 2), start=1.0)


def ladder(degree: int) -> tuple[list[str], list[str]]:
    """Statements for R of all orders up to a degree from g0, g1, ..., and the names that these then have.

    With g_m = (2 alpha)^m F_m and d = Q - P, which take the signs away. Of all orders that may be lowered, one is taken
    that needs the fewest others; what nobody needs in the end is left out.
    """
    powers = powers_of(degree)
    names: dict[tuple[int, tuple[int, ...]], str] = {}
    statements = []
    for m in range(degree, -1, -1):
        names[m, (0, 0, 0)] = f"g{m}"
        for place, p in enumerate(powers):
            if not 0 < sum(p) <= degree - m:
                continue
            axis = min((n for n in range(3) if p[n]), key=lambda n, p=p: (p[n] != 1, p[n] % 2 == 0))
            once, twice = (tuple(q - step * (n == axis) for n, q in enumerate(p)) for step in (1, 2))
            factor = f"{p[axis] - 1}.0 * " if p[axis] > 2 else ""
            again = f" - {factor}{names[m + 1, twice]}" if p[axis] > 1 else ""
            names[m, p] = f"r{m}_{place}"
            statements.append(f"{names[m, p]} = d{axis} * {names[m + 1, once]}{again}")
    result = [names[0, p] for p in powers]
    needed, kept = set(result), []
    for statement in reversed(statements):
        name, _, value = statement.partition(" = ")
        if name in needed:
            kept.append(statement)
            needed.update(re.findall(r"[gr]\d+(?:_\d+)?", value))
    return kept[::-1], result


def _boys(degree: int, precision: str) -> list[str]:
    """Statements for g0, g1, ... from the difference d0, d1, d2 of the centres and the exponents y and z."""
    return [
        f"square = ti.max(d0 * d0 + d1 * d1 + d2 * d2, real({SMALLEST}))",
        "once = 1.0 / ((y + z) * square)",  # one division for two
        "inverse_sum = once * square",
        "inverse_square = once * (y + z)",
        "alpha = y * z * inverse_sum",
        "scale = ti.sqrt(inverse_sum)",
        "far = ti.sqrt(inverse_square * inverse_z * inverse_y)",
        *boys(degree, precision),
    ]


def boys(degree: int, precision: str, result: str = "g") -> list[str]:
    """Statements for g_m = (2 alpha)^m F_m(alpha square) times scale and 2 / sqrt(pi).

    `far` is g_0 where its asymptotic form serves, 1 / sqrt(alpha square) times scale. With G_m = F_m / (2m - 1)!! the
    recurrence is G_(m-1) = 2T G_m + exp(-T) / (2m - 1)!!. Numbers that all terms are multiplied by are whole, or part
    of what was computed in double precision: rounded, they would change all terms alike, and what is the sum of many
    terms by more than these are exact to.
    """
    end, n_taylor = TABLE_END[precision], TAYLOR[precision]
    return [
        "t = alpha * square",
        f"is_far = t >= real({end})",
        f"u = ti.min(t, real({end}))",
        f"place = ti.cast(u * real({1 / STEP}) + real(0.5), ti.i32)",
        f"at_place = real({2 * STEP}) * ti.cast(place, real)",
        "x = real(0.5) * at_place - u",
        f"nearest, f, decay = {', '.join(f'table[{TABLE_COLUMNS} * place + {n}]' for n in range(TABLE_COLUMNS))}",
        "series, exponential = f, real(1.0)",
        *(
            statement
            for k in range(n_taylor - 1, 0, -1)
            for statement in (
                f"f = (at_place * f + decay) * real({1 / (2 * (degree + k) + 1)!r})",
                f"series = series * (x * real({1 / (k + 1)!r})) + f",
            )
        ),
        *(f"exponential = 1.0 + exponential * (x * real({1 / k!r}))" for k in range(n_taylor, 0, -1)),
        "decay *= exponential * scale",
        f"b{degree} = (series * x + nearest) * scale",
        "u *= 2.0",
        *(
            f"b{m - 1} = u * b{m} + decay * real({odd_product(degree) / odd_product(m)!r})"
            for m in range(degree, 0, -1)
        ),
        "alpha *= 2.0",
        "near = real(1.0)",
        f"{result}0 = ti.select(is_far, far, b0)",
        *(
            statement
            for m in range(1, degree + 1)
            for statement in (
                "near, far = near * alpha, far * inverse_square",
                f"{result}{m} = ti.select(is_far, far, near * b{m}) * real({odd_product(m)!r})",
            )
        ),
    ]


def _source(bra: int, ket: int, precision: str, tile: int, turns: int) -> str:
    """Source of the kernel for one pair of degrees."""
    orders, ket_orders = powers_of(bra), powers_of(ket)
    place = {p: n for n, p in enumerate(powers_of(bra + ket))}
    rungs, r = ladder(bra + ket)
    rows = KET_ROWS + len(ket_orders)

    def of_ket(row: int) -> str:
        return f"kets[first + {row * tile} + lane]"

    terms = [[f"h{m} * {r[place[tuple(np.add(p, q).tolist())]]}" for m, q in enumerate(ket_orders)] for p in orders]
    body = [
        *(
            f"d{n} = ti.cast(ket_cells[first_cell + {n * tile} + lane] - cell{n}, real) * real({CELL}) "
            f"+ ({of_ket(n)} - rest{n})"
            for n in range(3)
        ),
        f"y, inverse_y = {of_ket(3)}, {of_ket(4)}",
        *_boys(bra + ket, precision),
        *rungs,
        *(f"h{m} = {of_ket(KET_ROWS + m)}" for m in range(len(ket_orders))),
        *(
            f"sum{n} += {' + '.join(of_order[begin : begin + _SUMMANDS])}"
            for n, of_order in enumerate(terms)
            for begin in range(0, len(of_order), _SUMMANDS)
        ),
    ]
    text = [
        (0, "@ti.kernel"),
        (0, "def kernel(begin: ti.i32, end: ti.i32, n_bras: ti.i32, n_chunks: ti.i32, tiles: ti.i32, bra_cells: I1,"),
        (0, "    bras: R1, at: ti.i32, ends: I1, ket_cells: I1, kets: R1, table: R1, parts: W1):"),
        (1, "ti.loop_config(block_dim=BLOCK)"),
        *((1, line) for line in loop_over_tasks("(end - begin) * n_chunks", turns)),
        (2, "bra = begin + task % (end - begin)"),
        (2, "chunk = task // (end - begin)"),
        *((2, f"cell{n}, rest{n} = bra_cells[{n} * n_bras + bra], bras[{n} * n_bras + bra]") for n in range(3)),
        (2, "z, inverse_z = bras[3 * n_bras + bra], bras[4 * n_bras + bra]"),
        *((2, f"total{n} = ti.cast(0.0, WIDE)") for n in range(len(orders))),
        (2, f"last_tile = ti.min((chunk + 1) * tiles, ends[at + n_bras + bra] // {tile})"),
        (2, f"for tile in range(ti.max(chunk * tiles, ends[at + bra] // {tile}), last_tile):"),
        (3, f"first, first_cell = tile * {tile * rows}, tile * {tile * 3}"),
        *((3, f"sum{n} = real(0.0)") for n in range(len(orders))),
        (3, f"for lane in range({tile}):"),
        *((4, statement) for statement in body),
        *((3, f"total{n} += ti.cast(sum{n}, WIDE)") for n in range(len(orders))),
        *((2, f"parts[(chunk * {len(orders)} + {n}) * n_bras + bra] = total{n}") for n in range(len(orders))),
    ]
    return "".join("    " * depth + statement + "\n" for depth, statement in text)


@lru_cache
def written_out_kernel(target: Target, sums: "np.dtype[np.floating]", bra: int, ket: int) -> Callable[..., Any]:
    """Kernel for one pair of degrees, for which `is_written_out`; `sums` is the type of what it adds up."""
    text = _source(bra, ket, target.precision, TILE[target.device], turns_of(target))
    title = f"Coulomb sums of degrees {bra} and {ket}, {target.precision}, {target.device}"
    array, real, wide = ti.types.ndarray, number(target.dtype), number(sums)
    names = {
        "real": real,
        "WIDE": wide,
        "BLOCK": _BLOCK[target.device],
        **{"I1": array(ti.i32, 1), "R1": array(real, 1), "W1": array(wide, 1)},
    }
    return quick(lightly_optimised(kernel_from(text, title, names)))


@lru_cache
def adding_kernel(sums: "np.dtype[np.floating]") -> Callable[..., Any]:
    """Kernel that adds up what the tasks of each bra have found, in the order of the chunks."""
    W1 = ti.types.ndarray(number(sums), 1)

    @ti.kernel
    def kernel(n_active: ti.i32, n_bras: ti.i32, n_orders: ti.i32, n_chunks: ti.i32, first: ti.i32, parts: W1, out: W1):
        for item in range(n_active * n_orders):
            place = item // n_active * n_bras + item % n_active
            added = out[first + place]
            for chunk in range(n_chunks):
                added += parts[chunk * n_orders * n_bras + place]
            out[first + place] = added

    return kernel


@lru_cache
def looping_kernel(target: Target, sums: "np.dtype[np.floating]") -> Callable[..., Any]:
    """Kernel for any pair of degrees, for several kets at once on a CPU; otherwise as `written_out_kernel`.

    Each worker keeps R of all orders in a place of its own, element s at `worker * worker_step + s * step`.
    """
    lanes, together = LANES[target.device], TILE[target.device] // LANES[target.device]
    vectors, array, real, wide = lanes > 1, ti.types.ndarray, number(target.dtype), number(sums)
    L, I = (ti.types.vector(lanes, kind) if vectors else kind for kind in (real, ti.i32))
    IL, RL, I1, I2 = array(I, 1), array(L, 1), array(ti.i32, 1), array(ti.i32, 2)
    R1, W1 = array(real, 1), array(wide, 1)
    n_taylor, end_of_table = TAYLOR[target.precision], TABLE_END[target.precision]
    turns = turns_of(target, together=1)

    @ti.kernel
    def kernel(
        n_workers: ti.i32,
        worker_step: ti.i32,
        step: ti.i32,
        degree: ti.i32,
        n_orders: ti.i32,
        n_ket_orders: ti.i32,
        rule: I2,  # (orders of the sum of the degrees, 4)
        sum_of_orders: I2,  # (orders of the bra, orders of the ket)
        held: RL,
        begin: ti.i32,
        end: ti.i32,
        n_bras: ti.i32,
        n_chunks: ti.i32,
        tiles: ti.i32,
        bra_cells: I1,
        bras: R1,
        at: ti.i32,
        ends: I1,  # from `at` on, of each bra the first ket, then of each bra the one behind the last
        ket_cells: IL,
        kets: RL,
        table: R1,
        parts: W1,
    ):
        n_all = (degree + 1) * (degree + 2) * (degree + 3) // 6
        n_tasks = (end - begin) * n_chunks
        ti.loop_config(block_dim=1 if ti.static(vectors) else 32)
        for turn_of_worker in range(n_workers * turns):
            if idle(turn_of_worker, turns):
                continue
            worker = turn_of_worker // turns
            mine = worker * worker_step
            for turn in range((n_tasks - worker + n_workers - 1) // n_workers):
                task = worker + turn * n_workers
                bra = begin + task % (end - begin)
                chunk = task // (end - begin)
                z, inverse_z = bras[3 * n_bras + bra], bras[4 * n_bras + bra]
                for n in range(n_orders):
                    parts[(chunk * n_orders + n) * n_bras + bra] = ti.cast(0.0, wide)
                first_block = ti.max(chunk * tiles * together, ends[at + bra] // lanes)
                for block in range(
                    first_block, ti.min((chunk + 1) * tiles * together, ends[at + n_bras + bra] // lanes)
                ):
                    first = block // together * together * (KET_ROWS + n_ket_orders) + block % together
                    first_cell = block // together * together * 3 + block % together
                    c0 = ti.cast(ket_cells[first_cell] - bra_cells[bra], real)
                    c1 = ti.cast(ket_cells[first_cell + together] - bra_cells[n_bras + bra], real)
                    c2 = ti.cast(ket_cells[first_cell + 2 * together] - bra_cells[2 * n_bras + bra], real)
                    d0 = c0 * real(CELL) + (kets[first] - bras[bra])
                    d1 = c1 * real(CELL) + (kets[first + together] - bras[n_bras + bra])
                    d2 = c2 * real(CELL) + (kets[first + 2 * together] - bras[2 * n_bras + bra])
                    y, inverse_y = kets[first + 3 * together], kets[first + 4 * together]
                    square = ti.max(d0 * d0 + d1 * d1 + d2 * d2, real(SMALLEST))
                    inverse_sum, inverse_square = 1.0 / (y + z), 1.0 / square
                    alpha = y * z * inverse_sum
                    t = alpha * square
                    u = ti.min(t, real(end_of_table))
                    place = ti.cast(u * real(1 / STEP) + real(0.5), ti.i32)
                    at_place = real(2 * STEP) * ti.cast(place, real)
                    x = real(0.5) * at_place - u
                    nearest, f, decay = L(0.0), L(0.0), L(0.0)
                    if ti.static(vectors):
                        for s in range(lanes):
                            nearest[s] = table[TABLE_COLUMNS * place[s]]
                            f[s] = table[TABLE_COLUMNS * place[s] + 1]
                            decay[s] = table[TABLE_COLUMNS * place[s] + 2]
                    else:
                        nearest, f = table[TABLE_COLUMNS * place], table[TABLE_COLUMNS * place + 1]
                        decay = table[TABLE_COLUMNS * place + 2]
                    series, exponential = f, L(1.0)
                    for k in ti.static(range(n_taylor - 1, 0, -1)):
                        f = (at_place * f + decay) / ti.cast(2 * (degree + k) + 1, real)
                        series = series * (x * real(1 / (k + 1))) + f
                    for k in ti.static(range(n_taylor, 0, -1)):
                        exponential = 1.0 + exponential * (x * real(1 / k))
                    scale = ti.sqrt(inverse_sum)
                    decay *= exponential * scale
                    series = (series * x + nearest) * scale
                    near, far = L(1.0), ti.sqrt(inverse_square * inverse_z * inverse_y)
                    odd = ti.cast(1.0, real)
                    for m in range(degree + 1):  # what is far, and what the others are to be multiplied by
                        held[mine + (n_all + m) * step] = ti.select(t >= real(end_of_table), far, near) * odd
                        far *= inverse_square
                        near *= 2.0 * alpha
                        odd *= ti.cast(2 * m + 1, real)
                    odd = ti.cast(1.0, real)
                    for back in range(degree + 1):
                        m = degree - back
                        g = held[mine + (n_all + m) * step]
                        held[mine + (n_all + m) * step] = ti.select(t >= real(end_of_table), g, g * series)
                        series = 2.0 * u * series + decay * odd
                        odd *= ti.cast(2 * m - 1, real)
                    for back in range(degree + 1):
                        m = degree - back
                        n_here = (back + 1) * (back + 2) * (back + 3) // 6
                        for before in range(n_here - 1):  # in place: orders are made of lower ones
                            s = n_here - 1 - before
                            along = d0
                            if rule[s, 2] == 1:
                                along = d1
                            if rule[s, 2] == 2:
                                along = d2
                            again = held[mine + rule[s, 1] * step] * ti.cast(rule[s, 3], real)
                            held[mine + s * step] = along * held[mine + rule[s, 0] * step] - again
                        held[mine] = held[mine + (n_all + m) * step]
                    for n in range(n_orders):
                        value = L(0.0)
                        for m in range(n_ket_orders):
                            value += kets[first + (KET_ROWS + m) * together] * held[mine + sum_of_orders[n, m] * step]
                        to = (chunk * n_orders + n) * n_bras + bra
                        if ti.static(vectors):
                            parts[to] = parts[to] + ti.cast(value.sum(), wide)
                        else:
                            parts[to] = parts[to] + ti.cast(value, wide)

    return quick(kernel)
