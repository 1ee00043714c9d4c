"""Lists of the rows that matter to planes of bricks, and to columns of them: screening of `lattice_rows` on a CPU.

Sixteen neighbouring columns are looked at together. What is kept varies, so nothing here branches on it: a row is
written behind the list of each of the sixteen, and the place behind moves on where it is kept. Lists therefore have a
place more than rows. The last of the sixteen may be beyond the lattice; what they write goes to a list of the worker.
"""

from collections.abc import Callable
from functools import lru_cache

from ._taichi import number, ti, with_vectors
from .launching import first_task, next_task, turns_for, worker_of
from .layout import BX, BY, BZ
from .orders import Families, Orders
from .rows_tables import GROUP, tables_of
from .target import Target

_EVEN = 16.0
"""Times its even share of what may still be lost that a row may take. Most take far less, so some can take more: from 8
to 32, lists are within a twentieth of the shortest that there can be, those that leave out the smallest rows."""


def share_of_rows(real: object) -> Callable[..., object]:
    """A Taichi function: the share of what may still be lost that a row may take, given the rows still to come with it.

    It is 1 at most, so no more is lost than may be, however many rows there are; and what the first rows leave is there
    for the last.
    """

    @ti.func
    def share_of(rows: ti.i32):
        return ti.min(ti.cast(_EVEN, real) / ti.cast(rows, real), ti.cast(1.0, real))

    return share_of


@lru_cache
def lists_kernel(target: Target, sheared: bool, orders: Orders) -> Callable[..., None]:
    """The kernel of a CPU: the lists of planes and columns, of what matters to any of some derivatives."""
    families = Families(orders)
    pairs, n_y, n_z = families.pairs, len(families.y), len(families.z)
    real, given, group = number(target.dtype), ti.template(), GROUP[target.device]
    vector, array = ti.types.vector, ti.types.ndarray
    G, GI = vector(group, real), vector(group, ti.i32)
    I1, R1, Largest = array(ti.i32, 1), array(real, 1), array(G, 1)
    Pairs, Rows = (array(vector(n, ti.i32), 1) for n in (2, 4))
    largest_of_bricks, share_of = tables_of(target, sheared, orders).largest, share_of_rows(real)

    @ti.func
    def rows_of_plane(
        bx, bricks_x, n_rows, n_tables, n_tables_x, budget, rows: given, table: given, largest_x: given, top_y: given,
        top_z: given, plane_count: given, plane_rows: given,
    ):  # fmt: skip
        """Rows that matter to one plane of bricks."""
        layer = bx * n_tables if ti.static(sheared) else 0
        n = 0
        spare = budget
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

    @ti.func
    def places(first, limit, capacity, elsewhere):
        """Where the lists of a group begin: the first, those behind it, up to a limit; others are elsewhere."""
        begin = GI(0)
        for s in ti.static(range(group)):
            begin[s] = (first + s) * capacity if s < limit else elsewhere * capacity
        return begin

    @ti.func
    def rows_of_columns(
        bx, groups, junk, n_rows, capacity, bricks_x, bricks_y, n_tables, n_tables_x, tables_y, budget,
        rows: given, table: given, largest_x: given, largest_y: given, top_z: given, plane_count: given,
        plane_rows: given, column_count: given, column_rows: given, column_size: given, needed: given,
    ):  # fmt: skip
        """Rows that matter to each column of a group."""
        first = groups * group
        spare = G(budget)
        n = GI(0)
        layer = groups * tables_y + (bx * n_tables if ti.static(sheared) else 0)
        of_family = (bricks_y + group - 1) // group * tables_y
        at = places(bx * bricks_y + first, bricks_y - first, capacity, junk)
        last = at + (capacity - 1)
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
                column_count[bx * bricks_y + first + s] = ti.min(n[s], capacity - 1)
                if n[s] >= needed[0]:
                    ti.atomic_max(needed[0], n[s] + 1)

    @ti.kernel
    def make_lists(
        n_rows: ti.i32, n_tables: ti.i32, n_tables_x: ti.i32, nx: ti.i32, ny: ti.i32, nz: ti.i32,
        capacity: ti.i32, plane_budget: real, column_budget: real, workers: ti.i32,
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

        for turn in range(turns_for(bricks_x, workers)):
            bx = first_task(turn, bricks_x, taken, 0)
            while bx < bricks_x:
                rows_of_plane(
                    bx, bricks_x, n_rows, n_tables, n_tables_x, plane_budget, rows, table, largest_x, top_y,
                    top_z, plane_count, plane_rows,
                )  # fmt: skip
                bx = next_task(taken, 0)
        n_groups = bricks_x * groups_y
        for turn in range(turns_for(n_groups, workers)):
            task = first_task(turn, n_groups, taken, 1)
            while task < n_groups:
                rows_of_columns(
                    task // groups_y, task % groups_y, columns + worker_of(turn), n_rows, capacity, bricks_x,
                    bricks_y, n_tables, n_tables_x, layers * n_tables, column_budget, rows, table,
                    largest_x, largest_y, top_z, plane_count, plane_rows, column_count, column_rows, column_size,
                    needed,
                )  # fmt: skip
                task = next_task(taken, 1)

    return with_vectors(make_lists)
