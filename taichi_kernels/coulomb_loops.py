"""The kernel of the Coulomb sums with loops over orders: for high degrees, and where there is little to do."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ._taichi import number, quick, ti
from .cells import CELL
from .coulomb_kernels import KET_ROWS, SMALLEST, STEP, TABLE_COLUMNS, TAYLOR, TILE
from .hermite_tables import TABLE_END
from .launching import idle, turns_of
from .target import Target

LANES = {"cpu": 16, "cuda": 1, "vulkan": 1}
"""Kets that it takes at once."""


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
                    for s in range(n_all):
                        held[mine + s * step] = L(0.0)
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
