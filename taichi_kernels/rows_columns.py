"""Sums of the rows that matter to bricks: the last step of `lattice_rows` on a GPU."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ._taichi import number, ti, with_vectors
from .layout import BX, BY, BZ
from .rows_tables import WIDE
from .target import Target

_STRIDE = BZ + 1
"""Places from a column of points to the next in shared memory: with 16 they would be in one bank."""

_WARPS = {("cuda", "single"): 16, ("cuda", "double"): 8, ("vulkan", "single"): 4, ("vulkan", "double"): 4}
"""Warps that share the rows of a brick. With 16, the sums of a thread are all that its registers hold; with more, sums
go to memory, and with fewer a heavy brick takes longer."""


@lru_cache
def columns_kernel(target: Target, result: "np.dtype[np.floating]", sheared: bool) -> Callable[..., None]:
    """The kernel of a GPU: the sums of some bricks, whose lists and tables are there.

    A block of threads adds up a brick. Its warps share the rows, since some bricks have a hundred times as many as
    others, and add their sums one after the other, so that each digit is the same in each run. A thread has two
    columns of 16 points: what it loads for one serves the other. All that a row needs is asked for before the first of
    it is used, and the row after it too: most rows have one to three tables, and each wait is longer than their sums.
    """
    real, kept = number(target.dtype), number(result)
    vector, array, wide = ti.types.vector, ti.types.ndarray, WIDE[target.device]
    Some, V16 = vector(wide, real), vector(16, real)
    I1, Rows = array(ti.i32, 1), array(vector(4, ti.i32), 1)
    Eights, Somes, Sixteens = array(vector(8, real), 1), array(Some, 1), array(V16, 1)
    lanes, parts_y = BX * BY // wide, BY // wide
    warps = _WARPS[target.device, target.precision]
    block = lanes * warps

    @ti.kernel
    def add_up(
        nx: ti.i32, ny: ti.i32, nz: ti.i32, n_tables: ti.i32, n_tables_x: ti.i32, n_results: ti.i32,
        brick_parts: ti.i32, capacity: ti.i32, from_brick: ti.i32, to_brick: ti.i32,
        rows: Rows, families: Rows, x: Eights, y: Somes, z: Sixteens, brick_count: I1, brick_rows: I1,
        out: array(kept, 3),  # (results * nx, ny, nz)
    ):  # fmt: skip
        bricks_x, bricks_y, bricks_z = (nx + BX - 1) // BX, (ny + BY - 1) // BY, (nz + BZ - 1) // BZ
        bricks = to_brick - from_brick
        ti.loop_config(block_dim=block)
        for thread in range(n_results * bricks * block):
            total = ti.simt.block.SharedArray((BX * BY * _STRIDE,), real)
            o = thread // (block * bricks)
            brick = from_brick + thread // block - o * bricks
            own = thread % block
            share = own // lanes
            s = own % lanes // parts_y
            m = own % parts_y
            column, bz = brick // bricks_z, brick % bricks_z
            bx, by = column // bricks_y, column % bricks_y
            family = families[o]
            at_x = (family[0] * bricks_x + bx) * n_tables_x
            at_y = (((bx * BX + s if ti.static(sheared) else family[1]) * bricks_y + by) * n_tables) * parts_y + m
            at_z = (family[2] * bricks_z + bz) * n_tables
            c0 = V16(0.0)
            c1 = V16(0.0)
            for step in range((brick_parts - share + warps - 1) // warps):
                part = brick * brick_parts + share + step * warps
                begin = part * capacity
                end = begin + brick_count[part]
                following = rows[brick_rows[begin] if end > begin else 0]
                for q in range(begin, end):
                    row = following
                    following = rows[brick_rows[ti.min(q + 1, end - 1)]]
                    b = z[at_z + row[0]]
                    along, across = at_x + row[1], at_y + parts_y * row[3]
                    second, third = ti.min(row[2] - 1, 1), ti.min(row[2] - 1, 2)
                    x0 = x[along][s]
                    y0 = y[across]
                    x1 = x[along + second][s]
                    y1 = y[across + parts_y * second]
                    x2 = x[along + third][s]
                    y2 = y[across + parts_y * third]
                    a = x0 * y0
                    a += ti.select(second > 0, x1, real(0.0)) * y1
                    a += ti.select(third > 1, x2, real(0.0)) * y2
                    for j in range(3, row[2]):
                        a += x[along + j][s] * y[across + parts_y * j]
                    c0 += a[0] * b
                    c1 += a[1] * b
            for turn in ti.static(range(warps)):
                if share == turn:
                    for n, c in ti.static(enumerate((c0, c1))):
                        for k in ti.static(range(BZ)):
                            place = (s * BY + m * wide + n) * _STRIDE + k
                            if ti.static(turn == 0):
                                total[place] = c[k]
                            else:
                                total[place] = total[place] + c[k]
                ti.simt.block.sync()
            for step in range(BX * BY * BZ // block):
                place = step * block + own
                i, j, k = bx * BX + place // (BY * BZ), by * BY + place // BZ % BY, bz * BZ + place % BZ
                if i < nx and j < ny and k < nz:
                    out[o * nx + i, j, k] = ti.cast(total[place // BZ * _STRIDE + place % BZ], kept)
            ti.simt.block.sync()

    return with_vectors(add_up)
