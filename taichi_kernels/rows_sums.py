"""Sums of the rows that matter to bricks, which are found at the same time: the last step of `lattice_rows` on a CPU.

A column of bricks, of up to sixteen along z, is a task of one thread. It takes the rows of the column piece by piece:
which of them matter to each brick, as in `rows_lists`, and their column factors, which all bricks of the column share.
What is left is a product of two small matrices for each brick. Sums stay in the cache until all rows are through, and
go to the result in the order in which it lies in memory. Rows are added in the order of the list.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ._taichi import number, ti, with_vectors
from .launching import first_task, next_task, turns_for, worker_of
from .layout import BX, BY, BZ
from .rows_lists import share_of_rows
from .rows_tables import GROUP
from .target import Target

PIECE = 128
"""Rows of a column that are taken at a time: what belongs to them stays in the second cache, 0.1 MB for a thread."""

PLACES = GROUP["cpu"] * (PIECE + 1)
"""For the rows of a piece that matter to each brick, each with a mark at the end."""

_STRIDE = GROUP["cpu"] + 1
"""Vectors of sums from one column of points to the next: with a power of two they would want the same cache lines."""

SUMS = BX * BY * _STRIDE
"""Vectors of sums of a worker."""

_TILE = {"single": 4, "double": 2}
"""Columns of points whose sums stay in registers: 8 of AVX2's 16, as many as keep its two multipliers busy."""


@lru_cache
def sums_kernel(target: Target, result: "np.dtype[np.floating]", sheared: bool) -> Callable[..., None]:
    """The kernel of a CPU: the sums of some columns of bricks, whose lists and tables are there."""
    real, kept, given, group = number(target.dtype), number(result), ti.template(), GROUP[target.device]
    vector, array = ti.types.vector, ti.types.ndarray
    V8, V16, GI, Pair = vector(8, real), vector(16, real), vector(group, ti.i32), vector(2, ti.i32)
    I1, R1, Pairs, Rows = array(ti.i32, 1), array(real, 1), array(Pair, 1), array(vector(4, ti.i32), 1)
    Eights, Sixteens, Largest = array(V8, 1), array(V16, 1), array(vector(group, real), 1)
    tile, share_of = _TILE[target.precision], share_of_rows(real)

    @ti.func
    def column_factors(row, at, at_x, at_y, layer, table: given, x: given, y: given, factors: given):
        """Factors of a row for the columns of points of a brick, plane by plane."""
        a0 = V8(0.0)
        a1 = V8(0.0)
        a2 = V8(0.0)
        a3 = V8(0.0)
        a4 = V8(0.0)
        a5 = V8(0.0)
        a6 = V8(0.0)
        a7 = V8(0.0)
        t = row[1]
        across = at_y + row[3]
        goes_on = True
        while goes_on:
            along = x[at_x + t]
            b = y[across]
            a0 += along[0] * b
            a1 += along[1] * (y[across + layer] if ti.static(sheared) else b)
            a2 += along[2] * (y[across + 2 * layer] if ti.static(sheared) else b)
            a3 += along[3] * (y[across + 3 * layer] if ti.static(sheared) else b)
            a4 += along[4] * (y[across + 4 * layer] if ti.static(sheared) else b)
            a5 += along[5] * (y[across + 5 * layer] if ti.static(sheared) else b)
            a6 += along[6] * (y[across + 6 * layer] if ti.static(sheared) else b)
            a7 += along[7] * (y[across + 7 * layer] if ti.static(sheared) else b)
            goes_on = table[t][1] > 1  # the last table of a row has one term
            t += 1
            across += 1
        for s, a in ti.static(enumerate((a0, a1, a2, a3, a4, a5, a6, a7))):
            factors[at + s * PIECE] = a

    @ti.func
    def add_to_tile(at, m: given, at_factors, at_chosen, at_z, z: given, factors: given, chosen: given, sums: given):
        """Add the rows of a piece that matter to a brick, in some columns of points of a plane, from the m-th.

        A mark ends the loop, so that the compiler does not know how often it runs: it would take several rows at once
        then, for which there are not enough registers.
        """
        c0 = sums[at + m * _STRIDE]
        c1 = sums[at + (m + 1) * _STRIDE]
        c2 = V16(0.0)
        c3 = V16(0.0)
        if ti.static(tile == 4):
            c2 = sums[at + (m + 2) * _STRIDE]
            c3 = sums[at + (m + 3) * _STRIDE]
        q = at_chosen
        one = chosen[q]
        while one[0] >= 0:
            b = z[at_z + one[1]]
            a = at_factors + one[0]
            c0 += factors[a][m] * b
            c1 += factors[a][m + 1] * b
            if ti.static(tile == 4):
                c2 += factors[a][m + 2] * b
                c3 += factors[a][m + 3] * b
            q += 1
            one = chosen[q]
        sums[at + m * _STRIDE] = c0
        sums[at + (m + 1) * _STRIDE] = c1
        if ti.static(tile == 4):
            sums[at + (m + 2) * _STRIDE] = c2
            sums[at + (m + 3) * _STRIDE] = c3

    @ti.func
    def store(worker, planes, lines, bricks, at, ny, nz, sums: given, out: given):
        """Copy sums of a column to the result.

        Values are stored as the k-th of the vector that begins at a point. Stores to out[at + k] would be one by one,
        each with a look at where the array is, since for all that LLVM knows the store before may have changed it.
        """
        for s in range(planes):
            for m in range(lines):
                for b in range(bricks):
                    begin = at + (s * ny + m) * nz + b * BZ
                    c = sums[worker * SUMS + (s * BY + m) * _STRIDE + b]
                    points = nz - begin % nz
                    if points >= BZ:
                        for k in ti.static(range(BZ)):
                            out[begin][k] = ti.cast(c[k], kept)
                    else:
                        for k in range(points):
                            out[begin + k][0] = ti.cast(c[k], kept)

    @ti.kernel
    def add_up(
        nx: ti.i32, ny: ti.i32, nz: ti.i32, n_tables: ti.i32, n_tables_x: ti.i32, n_results: ti.i32,
        n_families_z: ti.i32, capacity: ti.i32, budget: real, from_column: ti.i32, to_column: ti.i32,
        workers: ti.i32,
        rows: Rows, table: Pairs, families: Rows, x: Eights, y: Eights, z: Sixteens, largest_z: Largest,  # as on a GPU
        column_count: I1, column_rows: I1, column_size: R1,  # see `rows_lists`
        brick_count: I1,  # (bricks) rows that matter to the first result
        taken: I1,  # (1) columns that workers have taken
        factors: Eights,  # (workers, planes of a brick, rows of a piece)
        chosen: Pairs,  # (workers, bricks, rows of a piece and 1) row of the piece, table along z
        sums: Sixteens,  # (workers, columns of points, bricks)
        out: array(vector(1, kept), 1),  # (results * nx, ny, nz)
    ):  # fmt: skip
        bricks_x, bricks_y, bricks_z = (nx + BX - 1) // BX, (ny + BY - 1) // BY, (nz + BZ - 1) // BZ
        groups_z = (bricks_z + group - 1) // group
        layer = bricks_y * n_tables if ti.static(sheared) else 0  # from a plane of tables along y to the next
        n_tasks = (to_column - from_column) * groups_z * n_results
        taken[0] = 0
        for turn in range(turns_for(n_tasks, workers)):
            worker = worker_of(turn)
            task = first_task(turn, n_tasks, taken, 0)
            while task < n_tasks:
                o = task % n_results
                column = from_column + task // n_results // groups_z
                groups = task // n_results % groups_z
                family = families[o]
                groups_of_family = family[2] * groups_z + groups
                bx, by, bz = column // bricks_y, column % bricks_y, groups * group
                bricks, planes = ti.min(group, bricks_z - bz), ti.min(BX, nx - bx * BX)
                for n in range(planes * BY * _STRIDE):
                    sums[worker * SUMS + n] = V16(0.0)
                spare = vector(group, real)(budget)
                total = GI(0)
                begin = GI(0)
                for s in ti.static(range(group)):
                    begin[s] = worker * PLACES + s * (PIECE + 1)
                first = column * capacity
                left = column_count[column]
                while left > 0:
                    n = ti.min(PIECE, left)
                    at = begin
                    for q in range(n):
                        row = rows[column_rows[first + q]]
                        size = column_size[n_families_z * (first + q) + family[2]]
                        whole = size * largest_z[groups_of_family * n_tables + row[0]]
                        keep = ti.cast(whole > spare * share_of(left - q), ti.i32)
                        one = Pair(q, row[0])
                        for s in ti.static(range(group)):
                            chosen[at[s]] = one
                        spare += (keep - 1) * whole
                        at += keep
                        column_factors(
                            row, worker * (BX * PIECE) + q, (family[0] * bricks_x + bx) * n_tables_x,
                            bx * BX * layer + (family[1] * bricks_y + by) * n_tables, layer, table, x, y, factors,
                        )  # fmt: skip
                    for s in ti.static(range(group)):
                        chosen[at[s]] = Pair(-1, 0)
                    total += at - begin
                    for b in range(bricks):
                        for s in range(planes):
                            for m in ti.static(range(0, BY, tile)):
                                add_to_tile(
                                    worker * SUMS + s * BY * _STRIDE + b, m, (worker * BX + s) * PIECE,
                                    worker * PLACES + b * (PIECE + 1),
                                    (family[2] * bricks_z + bz + b) * n_tables, z, factors, chosen, sums,
                                )  # fmt: skip
                    first += n
                    left -= n
                for s in ti.static(range(group)):
                    if s < bricks and o == 0:
                        brick_count[column * bricks_z + bz + s] = total[s]
                at_out = ((o * nx + bx * BX) * ny + by * BY) * nz + bz * BZ
                store(worker, planes, ti.min(BY, ny - by * BY), bricks, at_out, ny, nz, sums, out)
                task = next_task(taken, 0)

    return with_vectors(add_up)
