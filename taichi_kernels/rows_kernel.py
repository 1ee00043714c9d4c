"""The kernel of `lattice_rows`: tables along the axes, lists of the rows that matter, and their sums, brick by brick.

Each function below does one task of one step; the kernel at the end goes through the tasks of all steps.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ._taichi import lightly_optimised, number, ti
from .gaussian import along_axis, exponential
from .layout import BX, BY, BZ
from .target import Target

GROUP = {"cpu": 16, "cuda": 1, "vulkan": 1}
"""Bricks screened at once by a task: a vector of them on a CPU; a GPU wants tasks."""

_WIDE = 2
"""Neighbours along y that a thread of a GPU evaluates together: what it loads for one serves the other."""


@lru_cache
def rows_kernel(target: Target, result: "np.dtype[np.floating]", sheared: bool) -> Callable[..., Any]:
    """The kernel for one device and precision of tables and sums, and one type of the result.

    On a sheared lattice each plane has tables along y of its own.
    """
    real, kept = number(target.dtype), number(result)
    vector, array, given = ti.types.vector, ti.types.ndarray, ti.template()
    group, wide, on_cpu = GROUP[target.device], _WIDE, target.on_host
    few = 1 if on_cpu else 64  # tasks that a thread of a CPU takes at once: there are few, and long ones
    V8, V16, G, GI = vector(8, real), vector(16, real), vector(group, real), vector(group, ti.i32)
    I1, R1, Largest = array(ti.i32, 1), array(real, 1), array(G, 1)
    Pairs, Rows = (array(vector(n, ti.i32), 1) for n in (2, 4))
    Offsets, Eights, Sixteens = (array(vector(n, real), 1) for n in (2, 8, 16))
    Result = array(kept, 1 if on_cpu else 3)
    exp = exponential(target)
    eight_along, sixteen_along = along_axis(8, real, exp), along_axis(16, real, exp)

    @ti.func
    def tables_along_x(
        p, b, bricks_x, n_tables_x, n_terms, n_sums, step, primitive: given, first_table_x: given, table: given,
        terms: given, weight: given, x: given, largest_x: given,
    ):  # fmt: skip
        """Of one primitive and one brick, with the polynomials, and their largest magnitudes."""
        here = primitive[p]
        distance, factor = eight_along(here[0], here[1], here[4], b * BX, step)
        for t in range(first_table_x[p], first_table_x[p + 1]):
            largest = ti.cast(0.0, real)
            for o in range(n_sums):
                last = o * n_terms + table[t][0] + table[t][1] - 1
                value = V8(0.0)
                for i in range(table[t][1]):
                    value = value * distance + terms[last - i]
                value *= factor
                x[(o * bricks_x + b) * n_tables_x + t] = value
                largest = ti.max(largest, weight[o] * ti.abs(value).max())
            largest_x[b * n_tables_x + t] = largest

    @ti.func
    def tables_along_y(
        p, b, layer, nx, bricks_y, n_tables, n_tables_x, tables_y, step, negligible, primitive: given,
        first_table: given, first_table_x: given, offset: given, y: given, largest_x: given, largest_y: given,
    ):  # fmt: skip
        """Of one primitive, one brick and, if sheared, the planes of one layer of bricks."""
        here = primitive[p]
        planes = 1
        if ti.static(sheared):
            planes = ti.min(BX, nx - layer * BX)
            size = ti.cast(0.0, real)
            for t in range(first_table_x[p], first_table_x[p + 1]):
                size += largest_x[layer * n_tables_x + t]
            if size * here[7] < negligible:  # the tables of primitives that far are not needed, nor are their rows
                planes = 0
                for t in range(first_table[p], first_table[p + 1]):
                    largest_y[b // group * tables_y + layer * n_tables + t][b % group] = 0.0
        for s in range(planes if ti.static(sheared) else 1):
            plane = layer * BX + s
            nearest = here[5]
            rest = here[2]
            if ti.static(sheared):
                nearest -= offset[plane][0]
                rest += offset[plane][1]
            distance, factor = eight_along(here[0], rest, nearest, b * BY, step)
            for t in range(first_table[p], first_table[p + 1]):
                y[(plane * bricks_y + b) * n_tables + t] = factor
                largest = ti.abs(factor).max()
                if ti.static(sheared):
                    if s > 0:
                        largest = ti.max(largest, largest_y[b // group * tables_y + layer * n_tables + t][b % group])
                largest_y[b // group * tables_y + layer * n_tables + t][b % group] = largest
                factor *= distance

    @ti.func
    def tables_along_z(p, b, n_tables, step, primitive: given, first_table: given, z: given, largest_z: given):
        """Of one primitive and one brick."""
        here = primitive[p]
        distance, factor = sixteen_along(here[0], here[3], here[6], b * BZ, step)
        for t in range(first_table[p], first_table[p + 1]):
            z[b * n_tables + t] = factor
            largest_z[b // group * n_tables + t][b % group] = ti.abs(factor).max()
            factor *= distance

    @ti.func
    def largest_of_bricks(t, n_bricks, tables: ti.i32, largest: given):
        """Largest magnitude of a table in any brick along its axis."""
        found = ti.cast(0.0, real)
        for b in range(n_bricks):
            found = ti.max(found, largest[b // group * tables + t][b % group])
        return found

    @ti.func
    def rows_of_plane(
        bx, part, parts, longest, n_rows, n_tables, n_tables_x, budget, limit, rows: given, largest_x: given,
        top_y: given, top_z: given, plane_count: given, plane_rows: given,
    ):  # fmt: skip
        """One part of the rows that matter to one plane of bricks."""
        layer = bx * n_tables if ti.static(sheared) else 0
        n = 0
        lost = ti.cast(0.0, real)
        for step in range((n_rows - part + parts - 1) // parts):
            r = part + step * parts
            row = rows[r]
            size = ti.cast(0.0, real)
            for j in range(row[2]):
                size += largest_x[bx * n_tables_x + row[1] + j] * top_y[layer + row[3] + j]
            size *= top_z[row[0]]
            if size > limit or lost + size > budget:
                plane_rows[(bx * parts + part) * longest + n] = r
                n += 1
            else:
                lost += size
        plane_count[bx * parts + part] = n

    @ti.func
    def rows_of_columns(
        bx, groups, part, parts, longest, capacity, bricks_y, n_tables, n_tables_x, tables_y, budget, limit,
        rows: given, largest_x: given, largest_y: given, top_z: given, plane_count: given, plane_rows: given,
        column_count: given, column_rows: given, column_size: given, needed: given,
    ):  # fmt: skip
        """One part of the rows that matter to each column of a group."""
        first = groups * group
        lost = G(0.0)
        n = GI(0)
        plane = bx * parts + part
        layer = bx * n_tables if ti.static(sheared) else 0
        for q in range(plane_count[plane]):
            r = plane_rows[plane * longest + q]
            row = rows[r]
            size = G(0.0)
            for j in range(row[2]):
                size += largest_x[bx * n_tables_x + row[1] + j] * largest_y[groups * tables_y + layer + row[3] + j]
            whole = size * top_z[row[0]]
            keep = ti.abs(ti.cast((whole > limit) or (lost + whole > budget), ti.i32))
            lost += ti.select(keep, 0.0, whole)
            if keep.sum() != 0:
                for s in ti.static(range(group)):
                    if keep[s] != 0 and first + s < bricks_y and n[s] < capacity:
                        at = ((bx * bricks_y + first + s) * parts + part) * capacity + n[s]
                        column_rows[at] = r
                        column_size[at] = size[s]
                n += keep
        for s in ti.static(range(group)):
            if first + s < bricks_y:
                column_count[(bx * bricks_y + first + s) * parts + part] = ti.min(n[s], capacity)
                if n[s] > needed[0]:
                    ti.atomic_max(needed[0], n[s])

    @ti.func
    def rows_of_bricks(
        column, groups, part, brick_parts, shared, column_capacity, capacity, bricks_z, n_tables, budget, limit,
        rows: given, largest_z: given, column_count: given, column_rows: given, column_size: given,
        brick_count: given, brick_rows: given, needed: given,
    ):  # fmt: skip
        """One part of the rows that matter to each brick of a group, of some parts of the list of their column."""
        first = groups * group
        lost = G(0.0)
        n = GI(0)
        for c in range(shared):
            source = (column * brick_parts + part) * shared + c
            for q in range(source * column_capacity, source * column_capacity + column_count[source]):
                r = column_rows[q]
                whole = column_size[q] * largest_z[groups * n_tables + rows[r][0]]
                keep = ti.abs(ti.cast((whole > limit) or (lost + whole > budget), ti.i32))
                lost += ti.select(keep, 0.0, whole)
                if keep.sum() != 0:
                    for s in ti.static(range(group)):
                        if keep[s] != 0 and first + s < bricks_z and n[s] < capacity:
                            at = ((column * bricks_z + first + s) * brick_parts + part) * capacity + n[s]
                            brick_rows[at] = r
                    n += keep
        for s in ti.static(range(group)):
            if first + s < bricks_z:
                brick_count[(column * bricks_z + first + s) * brick_parts + part] = ti.min(n[s], capacity)
                if n[s] > needed[1]:
                    ti.atomic_max(needed[1], n[s])

    @ti.func
    def sum_in_plane(
        o, s, bx, by, bz, brick, nx, ny, nz, bricks_x, bricks_y, n_tables, n_tables_x, capacity, rows: given,
        x: given, y: given, z: given, brick_count: given, brick_rows: given, out: given,
    ):  # fmt: skip
        """Values of one plane of 8 x 16 points of a brick, which stay in registers: the work of a CPU, of one part."""
        j0 = by * BY
        k0 = bz * BZ
        whole = j0 + BY <= ny and k0 + BZ <= nz
        i = o * nx + bx * BX + s
        at_y = ((bx * BX + s if ti.static(sheared) else 0) * bricks_y + by) * n_tables
        c0 = V16(0.0)
        c1 = V16(0.0)
        c2 = V16(0.0)
        c3 = V16(0.0)
        c4 = V16(0.0)
        c5 = V16(0.0)
        c6 = V16(0.0)
        c7 = V16(0.0)
        for q in range(brick * capacity, brick * capacity + brick_count[brick]):
            row = rows[brick_rows[q]]
            a = x[(o * bricks_x + bx) * n_tables_x + row[1]][s] * y[at_y + row[3]]
            for j in range(1, row[2]):
                a += x[(o * bricks_x + bx) * n_tables_x + row[1] + j][s] * y[at_y + row[3] + j]
            b = z[bz * n_tables + row[0]]
            c0 += a[0] * b
            c1 += a[1] * b
            c2 += a[2] * b
            c3 += a[3] * b
            c4 += a[4] * b
            c5 += a[5] * b
            c6 += a[6] * b
            c7 += a[7] * b
        if whole:
            for m, c in ti.static(enumerate((c0, c1, c2, c3, c4, c5, c6, c7))):
                for k in ti.static(range(BZ)):
                    out[(i * ny + j0 + m) * nz + k0 + k] = ti.cast(c[k], kept)
        else:  # rare: a loop that is not unrolled, on a copy, so that c0 ... c7 stay in registers
            for m, c in ti.static(enumerate((c0, c1, c2, c3, c4, c5, c6, c7))):
                if j0 + m < ny:
                    copy = c
                    for k in range(ti.min(BZ, nz - k0)):
                        out[(i * ny + j0 + m) * nz + k0 + k] = ti.cast(copy[k], kept)

    @ti.func
    def sum_in_columns(
        o, s, m, bx, by, bz, brick, nx, ny, nz, bricks_x, bricks_y, n_tables, n_tables_x, brick_parts, capacity,
        rows: given, x: given, y: given, z: given, brick_count: given, brick_rows: given, out: given,
    ):  # fmt: skip
        """Values of some neighbouring columns of 16 points of a brick: the work of a thread of a GPU."""
        at_y = ((bx * BX + s if ti.static(sheared) else 0) * bricks_y + by) * n_tables
        c = ti.Matrix.zero(real, wide, BZ)
        for part in range(brick * brick_parts, (brick + 1) * brick_parts):
            for q in range(part * capacity, part * capacity + brick_count[part]):
                row = rows[brick_rows[q]]
                a = vector(wide, real)(0.0)
                for j in range(row[2]):
                    along = x[(o * bricks_x + bx) * n_tables_x + row[1] + j][s]
                    for n in ti.static(range(wide)):
                        a[n] += along * y[at_y + row[3] + j][m * wide + n]
                b = z[bz * n_tables + row[0]]
                for n in ti.static(range(wide)):
                    for k in ti.static(range(BZ)):
                        c[n, k] += a[n] * b[k]
        i = bx * BX + s
        for n in ti.static(range(wide)):
            j = by * BY + m * wide + n
            if i < nx and j < ny:
                for k in ti.static(range(BZ)):
                    if bz * BZ + k < nz:
                        out[o * nx + i, j, bz * BZ + k] = ti.cast(c[n, k], kept)

    @ti.kernel
    def evaluate(
        n_primitives: ti.i32, n_rows: ti.i32, n_tables: ti.i32, n_tables_x: ti.i32, n_terms: ti.i32, n_sums: ti.i32,
        nx: ti.i32, ny: ti.i32, nz: ti.i32, step_x: real, step_y: real, step_z: real,
        parts: ti.i32, shared: ti.i32,  # of the lists: see `lattice_rows`
        longest: ti.i32, column_capacity: ti.i32, brick_capacity: ti.i32,
        plane_budget: real, plane_limit: real, column_budget: real, column_limit: real, brick_budget: real,
        brick_limit: real, negligible: real,
        from_primitive: ti.i32, to_primitive: ti.i32, lists: ti.i32, from_column: ti.i32, to_column: ti.i32,
        from_brick: ti.i32, to_brick: ti.i32, chunk: ti.i32,  # what is to be done
        rows: Rows,
        primitive: Eights,  # exponent; nearest point less centre; index of that point; bound on factors along y and z
        first_table: I1,  # (primitives + 1)
        first_table_x: I1,  # (primitives + 1)
        table: Pairs,  # (tables along x) first term, number of terms
        terms: R1,  # (sums, terms) polynomial coefficients
        weight: R1,  # (sums) smallest tolerance over that of the sum
        offset: Offsets,  # (planes) if sheared: whole and broken steps along y by which a plane is shifted
        x: Eights,  # (sums, bricks_x, tables): what a brick needs lies together
        y: Eights,  # (planes if sheared, bricks_y, tables)
        z: Sixteens,  # (bricks_z, tables)
        largest_x: R1,  # (bricks_x, tables)
        largest_y: Largest,  # (groups of bricks; bricks_x if sheared, tables)
        largest_z: Largest,  # (groups of bricks, tables)
        top_y: R1,  # (bricks_x if sheared, tables)
        top_z: R1,
        plane_count: I1,  # (bricks_x, parts)
        plane_rows: I1,  # (bricks_x, parts, longest)
        column_count: I1,  # (columns, parts)
        column_rows: I1,  # (columns, parts, capacity) row
        column_size: R1,  # the same: its largest magnitude in the column, without the factor along z
        brick_count: I1,  # (bricks, parts)
        brick_rows: I1,  # (bricks, parts, capacity) row
        needed: I1,  # (2) longest part of a column list and of a brick list
        out: Result,  # (sums * nx, ny, nz)
    ) -> vector(2, ti.i32):  # fmt: skip
        """All steps as one kernel, its loops one after the other: launching costs more than most of them.

        Each step does what it is asked for, which may be nothing: tables of some primitives, the lists of planes and
        columns (or none), the lists of the bricks of some columns, the sums of some bricks.
        """
        bricks_x, bricks_y, bricks_z = (nx + BX - 1) // BX, (ny + BY - 1) // BY, (nz + BZ - 1) // BZ
        groups_y, groups_z = (bricks_y + group - 1) // group, (bricks_z + group - 1) // group
        brick_parts = parts // shared
        tables_y = (bricks_x if ti.static(sheared) else 1) * n_tables
        n_chosen = to_primitive - from_primitive

        for task in range(n_chosen * bricks_x):
            tables_along_x(
                from_primitive + task // bricks_x, task % bricks_x, bricks_x, n_tables_x, n_terms, n_sums, step_x,
                primitive, first_table_x, table, terms, weight, x, largest_x,
            )  # fmt: skip
        for task in range((bricks_x if ti.static(sheared) else 1) * n_chosen * bricks_y):
            layer = task // (n_chosen * bricks_y) if ti.static(sheared) else 0
            tables_along_y(
                from_primitive + task // bricks_y - layer * n_chosen, task % bricks_y, layer, nx, bricks_y, n_tables,
                n_tables_x, tables_y, step_y, negligible, primitive, first_table, first_table_x, offset, y,
                largest_x, largest_y,
            )  # fmt: skip
        for task in range(n_chosen * bricks_z):
            p = from_primitive + task // bricks_z
            tables_along_z(p, task % bricks_z, n_tables, step_z, primitive, first_table, z, largest_z)
        for t in range(lists * (bricks_x if ti.static(sheared) else 1) * n_tables):
            top_y[t] = largest_of_bricks(t, bricks_y, tables_y, largest_y)
        for t in range(lists * n_tables):
            top_z[t] = largest_of_bricks(t, bricks_z, n_tables, largest_z)

        ti.loop_config(block_dim=few)
        for task in range(lists * bricks_x * parts):
            rows_of_plane(
                task // parts, task % parts, parts, longest, n_rows, n_tables, n_tables_x, plane_budget, plane_limit,
                rows, largest_x, top_y, top_z, plane_count, plane_rows,
            )  # fmt: skip
        for i in range(2):
            if (i == 0 and lists != 0) or (i == 1 and to_column > from_column):
                needed[i] = 0
        ti.loop_config(block_dim=few)
        for task in range(lists * bricks_x * groups_y * parts):
            rows_of_columns(
                task // (groups_y * parts), task % groups_y, (task // groups_y) % parts, parts, longest,
                column_capacity, bricks_y, n_tables, n_tables_x, tables_y, column_budget, column_limit, rows,
                largest_x, largest_y, top_z, plane_count, plane_rows, column_count, column_rows, column_size, needed,
            )  # fmt: skip
        ti.loop_config(block_dim=2 * few)
        for task in range((to_column - from_column) * groups_z * brick_parts):
            rows_of_bricks(
                from_column + task // (groups_z * brick_parts), task % groups_z, (task // groups_z) % brick_parts,
                brick_parts, shared, column_capacity, brick_capacity, bricks_z, n_tables, brick_budget, brick_limit,
                rows, largest_z, column_count, column_rows, column_size, brick_count, brick_rows, needed,
            )  # fmt: skip

        bricks = to_brick - from_brick
        if ti.static(on_cpu):
            items = n_sums * BX  # of a brick: planes of sums
            n_items = bricks * items
            ti.loop_config(block_dim=1)
            for task in range((n_items + chunk - 1) // chunk):
                for item in range(task * chunk, ti.min((task + 1) * chunk, n_items)):
                    brick = from_brick + item // items
                    column = brick // bricks_z
                    s = item % BX
                    if column // bricks_y * BX + s < nx:
                        sum_in_plane(
                            item % items // BX, s, column // bricks_y, column % bricks_y, brick % bricks_z, brick,
                            nx, ny, nz, bricks_x, bricks_y, n_tables, n_tables_x, brick_capacity, rows, x, y, z,
                            brick_count, brick_rows, out,
                        )  # fmt: skip
        else:
            ti.loop_config(block_dim=64)
            for thread in range(n_sums * bricks * (64 // wide)):
                o = thread // (64 // wide * bricks)
                brick = from_brick + thread // (64 // wide) - o * bricks
                lane = thread % (64 // wide)
                column = brick // bricks_z
                sum_in_columns(
                    o, lane // (8 // wide), lane % (8 // wide), column // bricks_y, column % bricks_y,
                    brick % bricks_z, brick, nx, ny, nz, bricks_x, bricks_y, n_tables, n_tables_x, brick_parts,
                    brick_capacity, rows, x, y, z, brick_count, brick_rows, out,
                )  # fmt: skip
        return ti.Vector([needed[0], needed[1]])

    return lightly_optimised(evaluate)
