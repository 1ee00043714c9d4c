"""The kernel of `lattice_rows` on a GPU: tables along the axes, and lists of the rows that matter.

Each function below does one task of one step; the kernel at the end goes through the tasks of all steps.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ._taichi import number, ti, with_vectors
from .layout import BX, BY, BZ
from .orders import Families, Orders
from .rows_lists import share_of_rows
from .rows_tables import WIDE, tables_of
from .target import Target


@lru_cache
def rows_kernel(target: Target, sheared: bool, orders: Orders) -> Callable[..., Any]:
    """The kernel for one GPU and precision of tables and sums, and some derivatives.

    On a sheared lattice each plane has tables along y of its own, and there are no derivatives.
    """
    kinds = Families(orders)
    pairs, n_y, n_z = kinds.pairs, len(kinds.y), len(kinds.z)
    real = number(target.dtype)
    vector, array, given = ti.types.vector, ti.types.ndarray, ti.template()
    few = 64  # threads of a block where there are few
    I1, R1, Largest = array(ti.i32, 1), array(real, 1), array(vector(1, real), 1)
    Pairs, Rows = (array(vector(n, ti.i32), 1) for n in (2, 4))
    Offsets, Somes, Eights, Sixteens = (array(vector(n, real), 1) for n in (2, WIDE[target.device], 8, 16))
    tables, share_of = tables_of(target, sheared, orders), share_of_rows(real)

    @ti.func
    def rows_of_plane(
        bx, part, parts, longest, n_rows, bricks_x, n_tables, n_tables_x, budget, rows: given, largest_x: given,
        top_y: given, top_z: given, plane_count: given, plane_rows: given,
    ):  # fmt: skip
        """One part of the rows that matter to one plane of bricks."""
        layer = bx * n_tables if ti.static(sheared) else 0
        n = 0
        spare = budget
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

    @ti.func
    def rows_of_column(
        bx, by, part, parts, longest, capacity, bricks_x, bricks_y, n_tables, n_tables_x, tables_y, budget,
        rows: given, largest_x: given, largest_y: given, top_z: given, plane_count: given, plane_rows: given,
        column_count: given, column_rows: given, column_size: given, needed: given,
    ):  # fmt: skip
        """One part of the rows that matter to a column."""
        spare = budget
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
                if n < capacity:
                    column_rows[column * capacity + n] = r
                    for family in ti.static(range(n_z)):
                        column_size[n_z * (column * capacity + n) + family] = size[family]
                n += 1
            else:
                spare -= whole
        column_count[column] = ti.min(n, capacity)
        if n > needed[0]:
            ti.atomic_max(needed[0], n)

    @ti.func
    def rows_of_brick(
        column, bz, part, brick_parts, shared, column_capacity, capacity, bricks_z, n_tables, budget,
        rows: given, largest_z: given, column_count: given, column_rows: given, column_size: given,
        brick_count: given, brick_rows: given, needed: given,
    ):  # fmt: skip
        """One part of the rows that matter to a brick, of some parts of the list of its column."""
        spare = budget
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
                    if n < capacity:
                        brick_rows[brick * capacity + n] = r
                    n += 1
                else:
                    spare -= whole
                left -= 1
        brick_count[brick] = ti.min(n, capacity)
        if n > needed[1]:
            ti.atomic_max(needed[1], n)

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
        columns (or none), the lists of the bricks of some columns, the sums of some bricks.
        """
        bricks_x, bricks_y, bricks_z = (nx + BX - 1) // BX, (ny + BY - 1) // BY, (nz + BZ - 1) // BZ
        brick_parts = parts // shared
        tables_y = (bricks_x if ti.static(sheared) else 1) * n_tables
        n_chosen = to_primitive - from_primitive

        for task in range(n_chosen * bricks_x):
            tables.along_x(
                from_primitive + task // bricks_x, task % bricks_x, bricks_x, n_tables_x, n_terms, n_sums, step_x,
                primitive, first_table_x, table, terms, weight, x, largest_x,
            )  # fmt: skip
        for task in range((bricks_x if ti.static(sheared) else 1) * n_chosen * bricks_y):
            layer = task // (n_chosen * bricks_y) if ti.static(sheared) else 0
            tables.along_y(
                from_primitive + task // bricks_y - layer * n_chosen, task % bricks_y, layer, nx, bricks_y, n_tables,
                n_tables_x, tables_y, step_y, negligible, primitive, first_table, first_table_x, offset, y,
                largest_x, largest_y,
            )  # fmt: skip
        for task in range(n_chosen * bricks_z):
            p = from_primitive + task // bricks_z
            tables.along_z(p, task % bricks_z, bricks_z, n_tables, step_z, primitive, first_table, z, largest_z)
        for t in range(lists * n_y * tables_y):
            top_y[t] = tables.largest(t, bricks_y, tables_y, largest_y)
        for t in range(lists * n_z * n_tables):
            top_z[t] = tables.largest(t, bricks_z, n_tables, largest_z)

        ti.loop_config(block_dim=few)
        for task in range(lists * bricks_x * parts):
            rows_of_plane(
                task // parts, task % parts, parts, longest, n_rows, bricks_x, n_tables, n_tables_x, plane_budget,
                rows, largest_x, top_y, top_z, plane_count, plane_rows,
            )  # fmt: skip
        for i in range(2):
            if (i == 0 and lists != 0) or (i == 1 and to_column > from_column):
                needed[i] = 0
        ti.loop_config(block_dim=few)
        for task in range(lists * bricks_x * bricks_y * parts):
            rows_of_column(
                task // (bricks_y * parts), task % bricks_y, (task // bricks_y) % parts, parts, longest,
                column_capacity, bricks_x, bricks_y, n_tables, n_tables_x, tables_y, column_budget, rows,
                largest_x, largest_y, top_z, plane_count, plane_rows, column_count, column_rows, column_size, needed,
            )  # fmt: skip
        ti.loop_config(block_dim=2 * few)
        for task in range((to_column - from_column) * bricks_z * brick_parts):
            rows_of_brick(
                from_column + task // (bricks_z * brick_parts), task % bricks_z, (task // bricks_z) % brick_parts,
                brick_parts, shared, column_capacity, brick_capacity, bricks_z, n_tables, brick_budget,
                rows, largest_z, column_count, column_rows, column_size, brick_count, brick_rows, needed,
            )  # fmt: skip

    return with_vectors(evaluate)
