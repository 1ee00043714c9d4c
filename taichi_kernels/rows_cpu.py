"""The kernels of `lattice_rows` on a CPU: tables, lists of the rows that matter to planes and columns, and sums.

Lists: sixteen neighbouring columns are looked at together. What is kept varies, so nothing branches on it: a row is
written behind the list of each of the sixteen, and the place behind moves on where it is kept. Lists therefore have a
place more than rows. The last of the sixteen may be beyond the lattice; what they write goes to a list of the worker.

Sums: a column of bricks, of up to sixteen along z, is a task of one thread. It takes the rows of the column piece by
piece: which of them matter to each brick, as for the lists, and their column factors, which all bricks of the column
share. What is left is a product of two small matrices for each brick. Sums stay in the cache until all rows are
through, and go to the result in the order in which it lies in memory. Rows are added in the order of the list.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ._taichi import number, ti, with_vectors
from .launching import first_task, next_task, turns_for, worker_of
from .layout import BX, BY, BZ, Families, Orders
from .rows_tables import GROUP, share_of_rows, tables_of
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
def tables_kernel(target: Target, sheared: bool, orders: Orders) -> Callable[..., None]:
    """The kernel of a CPU: tables of some primitives."""
    real = number(target.dtype)
    vector, array = ti.types.vector, ti.types.ndarray
    I1, R1, Largest = array(ti.i32, 1), array(real, 1), array(vector(GROUP[target.device], real), 1)
    Pairs, Offsets = array(vector(2, ti.i32), 1), array(vector(2, real), 1)
    Eights, Sixteens = array(vector(8, real), 1), array(vector(16, real), 1)
    tables = tables_of(target, sheared, orders)

    @ti.kernel
    def make_tables(
        n_tables: ti.i32, n_tables_x: ti.i32, n_terms: ti.i32, n_sums: ti.i32, nx: ti.i32, ny: ti.i32, nz: ti.i32,
        step_x: real, step_y: real, step_z: real, negligible: real, from_primitive: ti.i32, to_primitive: ti.i32,
        primitive: Eights, first_table: I1, first_table_x: I1, table: Pairs, terms: R1, weight: R1, offset: Offsets,
        x: Eights, y: Eights, z: Sixteens, largest_x: R1, largest_y: Largest, largest_z: Largest,  # see `rows_gpu`
    ):  # fmt: skip
        bricks_x, bricks_y, bricks_z = (nx + BX - 1) // BX, (ny + BY - 1) // BY, (nz + BZ - 1) // BZ
        layers = bricks_x if ti.static(sheared) else 1
        n_chosen = to_primitive - from_primitive
        for task in range(n_chosen * bricks_x):
            tables.along_x(
                p=from_primitive + task // bricks_x, b=task % bricks_x, bricks_x=bricks_x, n_tables_x=n_tables_x,
                n_terms=n_terms, n_sums=n_sums, step=step_x, primitive=primitive, first_table_x=first_table_x,
                table=table, terms=terms, weight=weight, x=x, largest_x=largest_x,
            )  # fmt: skip
        for task in range(layers * n_chosen * bricks_y):
            layer = task // (n_chosen * bricks_y) if ti.static(sheared) else 0
            tables.along_y(
                p=from_primitive + task // bricks_y - layer * n_chosen, b=task % bricks_y, layer=layer, nx=nx,
                bricks_y=bricks_y, n_tables=n_tables, n_tables_x=n_tables_x, tables_y=layers * n_tables, step=step_y,
                negligible=negligible, primitive=primitive, first_table=first_table, first_table_x=first_table_x,
                offset=offset, y=y, largest_x=largest_x, largest_y=largest_y,
            )  # fmt: skip
        for task in range(n_chosen * bricks_z):
            p = from_primitive + task // bricks_z
            tables.along_z(p, task % bricks_z, bricks_z, n_tables, step_z, primitive, first_table, z, largest_z)

    return with_vectors(make_tables)


@lru_cache
def lists_kernel(target: Target, sheared: bool, orders: Orders) -> Callable[..., None]:
    """The kernel of a CPU: the lists of planes and columns, of what matters to any of some derivatives."""
    families = Families(orders)
    pairs, n_y, n_z = families.pairs, len(families.y), len(families.z)
    real, group = number(target.dtype), GROUP[target.device]
    vector, array = ti.types.vector, ti.types.ndarray
    G, GI = vector(group, real), vector(group, ti.i32)
    I1, R1, Largest = array(ti.i32, 1), array(real, 1), array(G, 1)
    Pairs, Rows = (array(vector(n, ti.i32), 1) for n in (2, 4))
    largest_of_bricks, share_of = tables_of(target, sheared, orders).largest, share_of_rows(real)

    @ti.kernel
    def make_lists(
        n_rows: ti.i32, n_tables: ti.i32, n_tables_x: ti.i32, nx: ti.i32, ny: ti.i32, nz: ti.i32,
        column_capacity: ti.i32, plane_budget: real, column_budget: real, workers: ti.i32,
        rows: Rows, table: Pairs, largest_x: R1, largest_y: Largest, largest_z: Largest, top_y: R1, top_z: R1,
        plane_count: I1, plane_rows: I1,
        column_count: I1, column_rows: I1, column_size: R1,  # lists of columns, then of workers; sizes of each family
        needed: I1,  # (1) places of the longest list of a column
        taken: I1,  # (2) tasks of each step that workers have taken
    ):  # fmt: skip
        bricks_x, bricks_y, bricks_z = (nx + BX - 1) // BX, (ny + BY - 1) // BY, (nz + BZ - 1) // BZ
        groups_y = (bricks_y + group - 1) // group
        layers = bricks_x if ti.static(sheared) else 1
        columns = bricks_x * bricks_y
        taken[0] = 0
        taken[1] = 0
        needed[0] = 0
        for t in range(n_y * layers * n_tables):
            top_y[t] = largest_of_bricks(t, bricks_y, layers * n_tables, largest_y)
        for t in range(n_z * n_tables):
            top_z[t] = largest_of_bricks(t, bricks_z, n_tables, largest_z)

        # rows that matter to a plane of bricks
        for turn in range(turns_for(bricks_x, workers)):
            bx = first_task(turn, bricks_x, taken, 0)
            while bx < bricks_x:
                layer = bx * n_tables if ti.static(sheared) else 0
                n = 0
                spare = plane_budget
                for r in range(n_rows):
                    row = rows[r]
                    size = ti.cast(0.0, real)
                    for pair in ti.static(pairs):
                        t = row[1]
                        at_x = (pair.x * bricks_x + bx) * n_tables_x
                        at_y = pair.y * n_tables + layer + row[3]
                        product = ti.cast(0.0, real)
                        goes_on = True
                        while goes_on:
                            product += largest_x[at_x + t] * top_y[at_y]
                            goes_on = table[t][1] > 1  # the last table of a row has one term
                            t += 1
                            at_y += 1
                        for family in ti.static(pair.z):
                            size = ti.max(size, product * top_z[family * n_tables + row[0]])
                    if size > spare * share_of(n_rows - r):
                        plane_rows[bx * n_rows + n] = r
                        n += 1
                    else:
                        spare -= size
                plane_count[bx] = n
                bx = next_task(taken, 0)
        # rows that matter to each column of a group
        n_groups = bricks_x * groups_y
        tables_y = layers * n_tables
        for turn in range(turns_for(n_groups, workers)):
            task = first_task(turn, n_groups, taken, 1)
            while task < n_groups:
                bx = task // groups_y
                first = task % groups_y * group
                spare = G(column_budget)
                n = GI(0)
                layer = task % groups_y * tables_y + (bx * n_tables if ti.static(sheared) else 0)
                of_family = groups_y * tables_y
                at = GI(0)  # where the lists of the group begin, and beyond the lattice that of the worker
                for s in ti.static(range(group)):
                    place = bx * bricks_y + first + s if first + s < bricks_y else columns + worker_of(turn)
                    at[s] = place * column_capacity
                last = at + (column_capacity - 1)
                for q in range(plane_count[bx]):
                    r = plane_rows[bx * n_rows + q]
                    row = rows[r]
                    size = G(0.0)  # the largest of what is multiplied by each family of tables along z
                    size_1 = G(0.0)
                    size_2 = G(0.0)
                    for pair in ti.static(pairs):
                        t = row[1]
                        at_x = (pair.x * bricks_x + bx) * n_tables_x
                        at_y = pair.y * of_family + layer + row[3]
                        product = G(0.0)
                        goes_on = True
                        while goes_on:
                            product += largest_x[at_x + t] * largest_y[at_y]
                            goes_on = table[t][1] > 1
                            t += 1
                            at_y += 1
                        if ti.static(0 in pair.z):
                            size = ti.max(size, product)
                        if ti.static(1 in pair.z):
                            size_1 = ti.max(size_1, product)
                        if ti.static(2 in pair.z):
                            size_2 = ti.max(size_2, product)
                    whole = size * top_z[row[0]]
                    if ti.static(n_z > 1):
                        whole = ti.max(whole, size_1 * top_z[n_tables + row[0]])
                    if ti.static(n_z > 2):
                        whole = ti.max(whole, size_2 * top_z[2 * n_tables + row[0]])
                    keep = ti.cast(whole > spare * share_of(plane_count[bx] - q), ti.i32)
                    for s in ti.static(range(group)):
                        column_rows[at[s]] = r
                        column_size[n_z * at[s]] = size[s]
                        if ti.static(n_z > 1):
                            column_size[n_z * at[s] + 1] = size_1[s]
                        if ti.static(n_z > 2):
                            column_size[n_z * at[s] + 2] = size_2[s]
                    spare += (keep - 1) * whole
                    n += keep
                    at = ti.min(at + keep, last)
                for s in ti.static(range(group)):
                    if first + s < bricks_y:
                        column_count[bx * bricks_y + first + s] = ti.min(n[s], column_capacity - 1)
                        if n[s] >= needed[0]:
                            ti.atomic_max(needed[0], n[s] + 1)
                task = next_task(taken, 1)

    return with_vectors(make_lists)


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
        n_families_z: ti.i32, column_capacity: ti.i32, brick_budget: real, from_column: ti.i32, to_column: ti.i32,
        workers: ti.i32,
        rows: Rows, table: Pairs, families: Rows, x: Eights, y: Eights, z: Sixteens, largest_z: Largest,  # as on a GPU
        column_count: I1, column_rows: I1, column_size: R1,  # see `make_lists`
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
                spare = vector(group, real)(brick_budget)
                total = GI(0)
                begin = GI(0)
                for s in ti.static(range(group)):
                    begin[s] = worker * PLACES + s * (PIECE + 1)
                first = column * column_capacity
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
