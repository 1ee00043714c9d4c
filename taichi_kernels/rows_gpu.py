"""The kernels of `lattice_rows` on a GPU: tables and lists of the rows that matter, and their sums."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ._taichi import number, ti, with_vectors
from .layout import BX, BY, BZ, Families, Orders
from .rows_tables import WIDE, share_of_rows, tables_of
from .target import Target

_FEW = 64
"""Threads of a block where there are few."""

_STRIDE = BZ + 1
"""Places from a column of points to the next in shared memory: with 16 they would be in one bank."""

_WARPS = {("cuda", "single"): 16, ("cuda", "double"): 8, ("vulkan", "single"): 4, ("vulkan", "double"): 4}
"""Warps that share the rows of a brick. With 16, the sums of a thread are all that its registers hold; with more, sums
go to memory, and with fewer a heavy brick takes longer."""


@lru_cache
def rows_kernel(target: Target, sheared: bool, orders: Orders) -> Callable[..., Any]:
    """The kernel of a GPU for tables, and for the lists of some derivatives.

    On a sheared lattice each plane has tables along y of its own, and there are no derivatives.
    """
    kinds = Families(orders)
    pairs, n_y, n_z = kinds.pairs, len(kinds.y), len(kinds.z)
    real = number(target.dtype)
    vector, array = ti.types.vector, ti.types.ndarray
    I1, R1, Largest = array(ti.i32, 1), array(real, 1), array(vector(1, real), 1)
    Pairs, Rows = (array(vector(n, ti.i32), 1) for n in (2, 4))
    Offsets, Somes, Eights, Sixteens = (array(vector(n, real), 1) for n in (2, WIDE[target.device], 8, 16))
    tables, share_of = tables_of(target, sheared, orders), share_of_rows(real)

    @ti.kernel
    def evaluate(
        n_primitives: ti.i32, n_rows: ti.i32, n_tables: ti.i32, n_tables_x: ti.i32, n_terms: ti.i32, n_sums: ti.i32,
        nx: ti.i32, ny: ti.i32, nz: ti.i32, step_x: real, step_y: real, step_z: real,
        parts: ti.i32, shared: ti.i32,  # of the lists: see `lattice_rows`
        longest: ti.i32, column_capacity: ti.i32, brick_capacity: ti.i32,
        plane_budget: real, column_budget: real, brick_budget: real, negligible: real,
        from_primitive: ti.i32, to_primitive: ti.i32, lists: ti.i32,  # what is to be done
        from_column: ti.i32, to_column: ti.i32,
        rows: Rows,
        primitive: Eights,  # exponent; nearest point less centre; index of that point; bound on factors along y and z
        first_table: I1,  # (primitives + 1)
        first_table_x: I1,  # (primitives + 1)
        table: Pairs,  # (tables along x) first term, number of terms
        terms: R1,  # (sums, terms) polynomial coefficients
        weight: R1,  # (sums) smallest tolerance over that of the sum
        offset: Offsets,  # (planes) if sheared: whole and broken steps along y by which a plane is shifted
        x: Eights,  # (sums, families, bricks_x, tables): what a brick needs lies together
        y: Somes,  # (families, or planes if sheared; bricks_y, tables)
        z: Sixteens,  # (families, bricks_z, tables)
        largest_x: R1,  # (families, bricks_x, tables)
        largest_y: Largest,  # (families, bricks_y; bricks_x if sheared, tables)
        largest_z: Largest,  # (families, bricks_z, tables)
        top_y: R1,  # (families; bricks_x if sheared, tables)
        top_z: R1,  # (families, tables)
        plane_count: I1,  # (bricks_x, parts)
        plane_rows: I1,  # (bricks_x, parts, longest)
        column_count: I1,  # (columns, parts)
        column_rows: I1,  # (columns, parts, capacity) row
        column_size: R1,  # (the same, families along z) its largest magnitude in the column, without that factor
        brick_count: I1,  # (bricks, parts)
        brick_rows: I1,  # (bricks, parts, capacity) row
        needed: I1,  # (2) longest part of a column list and of a brick list
    ):  # fmt: skip
        """All steps as one kernel, its loops one after the other: launching costs more than most of them.

        Each step does what it is asked for, which may be nothing: tables of some primitives, the lists of planes and
        columns (or none), the lists of the bricks of some columns.
        """
        bricks_x, bricks_y, bricks_z = (nx + BX - 1) // BX, (ny + BY - 1) // BY, (nz + BZ - 1) // BZ
        brick_parts = parts // shared
        tables_y = (bricks_x if ti.static(sheared) else 1) * n_tables
        n_chosen = to_primitive - from_primitive

        for task in range(n_chosen * bricks_x):
            tables.along_x(
                p=from_primitive + task // bricks_x, b=task % bricks_x, bricks_x=bricks_x, n_tables_x=n_tables_x,
                n_terms=n_terms, n_sums=n_sums, step=step_x, primitive=primitive, first_table_x=first_table_x,
                table=table, terms=terms, weight=weight, x=x, largest_x=largest_x,
            )  # fmt: skip
        for task in range((bricks_x if ti.static(sheared) else 1) * n_chosen * bricks_y):
            layer = task // (n_chosen * bricks_y) if ti.static(sheared) else 0
            tables.along_y(
                p=from_primitive + task // bricks_y - layer * n_chosen, b=task % bricks_y, layer=layer, nx=nx,
                bricks_y=bricks_y, n_tables=n_tables, n_tables_x=n_tables_x, tables_y=tables_y, step=step_y,
                negligible=negligible, primitive=primitive, first_table=first_table, first_table_x=first_table_x,
                offset=offset, y=y, largest_x=largest_x, largest_y=largest_y,
            )  # fmt: skip
        for task in range(n_chosen * bricks_z):
            p = from_primitive + task // bricks_z
            tables.along_z(p, task % bricks_z, bricks_z, n_tables, step_z, primitive, first_table, z, largest_z)
        for t in range(lists * n_y * tables_y):
            top_y[t] = tables.largest(t, bricks_y, tables_y, largest_y)
        for t in range(lists * n_z * n_tables):
            top_z[t] = tables.largest(t, bricks_z, n_tables, largest_z)

        # one part of the rows that matter to a plane of bricks
        ti.loop_config(block_dim=_FEW)
        for task in range(lists * bricks_x * parts):
            bx, part = task // parts, task % parts
            layer = bx * n_tables if ti.static(sheared) else 0
            n = 0
            spare = plane_budget
            of_part = (n_rows - part + parts - 1) // parts
            for step in range(of_part):
                r = part + step * parts
                row = rows[r]
                size = ti.cast(0.0, real)
                for pair in ti.static(pairs):
                    product = ti.cast(0.0, real)
                    at_x = (pair.x * bricks_x + bx) * n_tables_x + row[1]
                    for j in range(row[2]):
                        product += largest_x[at_x + j] * top_y[pair.y * n_tables + layer + row[3] + j]
                    for family in ti.static(pair.z):
                        size = ti.max(size, product * top_z[family * n_tables + row[0]])
                if size > spare * share_of(of_part - step):
                    plane_rows[(bx * parts + part) * longest + n] = r
                    n += 1
                else:
                    spare -= size
            plane_count[bx * parts + part] = n

        for i in range(2):
            if (i == 0 and lists != 0) or (i == 1 and to_column > from_column):
                needed[i] = 0

        # one part of the rows that matter to a column
        ti.loop_config(block_dim=_FEW)
        for task in range(lists * bricks_x * bricks_y * parts):
            bx, by, part = task // (bricks_y * parts), task % bricks_y, (task // bricks_y) % parts
            spare = column_budget
            n = 0
            plane = bx * parts + part
            layer = bx * n_tables if ti.static(sheared) else 0
            column = (bx * bricks_y + by) * parts + part
            for q in range(plane_count[plane]):
                r = plane_rows[plane * longest + q]
                row = rows[r]
                size = vector(n_z, real)(0.0)  # the largest of what is multiplied by each family of tables along z
                for pair in ti.static(pairs):
                    product = ti.cast(0.0, real)
                    at_x = (pair.x * bricks_x + bx) * n_tables_x + row[1]
                    at_y = (pair.y * bricks_y + by) * tables_y + layer + row[3]
                    for j in range(row[2]):
                        product += largest_x[at_x + j] * largest_y[at_y + j][0]
                    for family in ti.static(pair.z):
                        size[family] = ti.max(size[family], product)
                whole = ti.cast(0.0, real)
                for family in ti.static(range(n_z)):
                    whole = ti.max(whole, size[family] * top_z[family * n_tables + row[0]])
                if whole > spare * share_of(plane_count[plane] - q):
                    if n < column_capacity:
                        column_rows[column * column_capacity + n] = r
                        for family in ti.static(range(n_z)):
                            column_size[n_z * (column * column_capacity + n) + family] = size[family]
                    n += 1
                else:
                    spare -= whole
            column_count[column] = ti.min(n, column_capacity)
            if n > needed[0]:
                ti.atomic_max(needed[0], n)

        # one part of the rows that matter to a brick, of some parts of the list of its column
        ti.loop_config(block_dim=2 * _FEW)
        for task in range((to_column - from_column) * bricks_z * brick_parts):
            column = from_column + task // (bricks_z * brick_parts)
            bz, part = task % bricks_z, (task // bricks_z) % brick_parts
            spare = brick_budget
            n = 0
            left = 0
            brick = (column * bricks_z + bz) * brick_parts + part
            for c in range(shared):
                left += column_count[(column * brick_parts + part) * shared + c]
            for c in range(shared):
                source = (column * brick_parts + part) * shared + c
                for q in range(source * column_capacity, source * column_capacity + column_count[source]):
                    r = column_rows[q]
                    whole = ti.cast(0.0, real)
                    for family in ti.static(range(n_z)):
                        largest = largest_z[(family * bricks_z + bz) * n_tables + rows[r][0]][0]
                        whole = ti.max(whole, column_size[n_z * q + family] * largest)
                    if whole > spare * share_of(left):
                        if n < brick_capacity:
                            brick_rows[brick * brick_capacity + n] = r
                        n += 1
                    else:
                        spare -= whole
                    left -= 1
            brick_count[brick] = ti.min(n, brick_capacity)
            if n > needed[1]:
                ti.atomic_max(needed[1], n)

    return with_vectors(evaluate)


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
        brick_parts: ti.i32, brick_capacity: ti.i32, from_brick: ti.i32, to_brick: ti.i32,
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
                begin = part * brick_capacity
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
