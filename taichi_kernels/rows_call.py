"""One evaluation by rows: its sizes, its arrays, and how the kernels of its steps are launched; see `lattice_rows`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._taichi import host_threads, ti
from .arrays import to_numpy, view
from .devices import DeviceUnavailable
from .launching import synchronise
from .layout import BRICK, BX, BY, BZ, PackedSums
from .orders import Families, Orders
from .rows_columns import columns_kernel
from .rows_kernel import rows_kernel
from .rows_lists import lists_kernel
from .rows_sums import PIECE, PLACES, SUMS, sums_kernel
from .rows_tables import GROUP, WIDE, tables_kernel
from .target import Target
from .workspace import Workspace

_GPU_PARTS = {False: (128, 8), True: (1024, 16)}
"""Parts of the plane and column lists on a GPU, and how many make a part of a brick list; with few rows, with many."""

_LONGEST = 1 << 31
"""Entries of the lists of bricks: kernels count in 32 bits."""

Range = tuple[int, int]
"""The first, and the one behind the last."""

NONE: Range = (0, 0)


@dataclass(frozen=True)
class Sizes:
    """How much the kernels deal with."""

    primitives: int
    rows: int
    tables: int
    tables_x: int
    terms: int
    sums: int
    results: int  # sums, or derivatives of each
    families: tuple[int, int, int]  # of tables along each axis
    bricks_x: int
    bricks_y: int
    bricks_z: int
    groups_y: int  # of bricks that are screened at once
    groups_z: int
    layers: int  # of bricks that have tables along y of their own
    sheets: int  # planes that have
    parts: int  # of the plane and column lists
    shared: int  # of them that make a part of the list of a brick
    workers: int  # threads of a CPU, each with a list that nobody reads and room for a piece of rows

    @property
    def columns(self) -> int:
        """Columns of bricks."""
        return self.bricks_x * self.bricks_y

    @property
    def bricks(self) -> int:
        """All of them."""
        return self.columns * self.bricks_z

    @property
    def brick_parts(self) -> int:
        """Parts of the list of a brick."""
        return self.parts // self.shared

    @property
    def longest(self) -> int:
        """Rows of a part of the list of a plane or column, at most."""
        return -(-self.rows // self.parts)


def sizes_of(packed: PackedSums, sheared: bool, many: bool, target: Target) -> Sizes:
    """Sizes of an evaluation; `many` says whether there are so many rows that lists are long."""
    plan, terms = packed.plan, packed.terms
    bricks_x, bricks_y, bricks_z = (-(-n // b) for n, b in zip(packed.shape, BRICK, strict=True))
    group = GROUP[target.device]
    rows = len(plan.rows)
    most, together = _GPU_PARTS[many]
    parts = 1 if target.on_host else min(most, -(-rows // 4))
    shared = 1 if target.on_host else min(together, parts)
    sums, families = 1 if terms.ndim == 1 else len(terms), Families(packed.orders)
    return Sizes(
        primitives=len(plan.first_table) - 1,
        rows=rows,
        tables=int(plan.first_table[-1]),
        tables_x=len(plan.tables_x),
        terms=terms.shape[-1],
        sums=sums,
        results=sums * len(families.places),
        families=(len(families.x), len(families.y), len(families.z)),
        bricks_x=bricks_x,
        bricks_y=bricks_y,
        bricks_z=bricks_z,
        groups_y=-(-bricks_y // group),
        groups_z=-(-bricks_z // group),
        layers=bricks_x if sheared else 1,
        sheets=bricks_x * BX if sheared else 1,
        parts=parts // shared * shared,
        shared=shared,
        workers=host_threads() if target.on_host else 0,
    )


@dataclass(frozen=True, eq=False)
class Call:
    """One evaluation: where and on what, and those arguments that do not change from piece to piece."""

    target: Target
    sheared: bool
    orders: Orders
    space: Workspace
    sizes: Sizes
    shape: tuple[int, ...]
    spacing: tuple[float, ...]
    budgets: tuple[float, ...]  # what lists of planes, columns and bricks may leave out
    negligible: float
    inputs: dict[str, Any]
    out: Any

    @property
    def listed(self) -> tuple[str, int, int]:
        """Which lists tell what was added up, how many they are, and the capacity of each."""
        columns, bricks = _capacities(self)
        if self.target.on_host:
            return "column", self.sizes.columns, columns
        return "brick", self.sizes.bricks * self.sizes.brick_parts, bricks


def rows_listed(call: Call, counts: str, places: int, parts: int) -> np.ndarray:
    """How many rows the lists of each column or brick hold."""
    listed = to_numpy(call.space.integers(counts, (places * parts,)))[: places * parts]
    return listed.reshape(places, parts).sum(axis=1)


def _capacities(call: Call) -> tuple[int, int]:
    """Places of the lists of columns and bricks: as many as were ever needed, and not more than rows and one."""
    column, brick = call.space.capacity
    return min(column, call.sizes.longest + 1), min(brick, call.sizes.longest * call.sizes.shared + 1)


def launch(
    call: Call, primitives: Range = NONE, lists: bool = False, columns: Range = NONE, bricks: Range = NONE
) -> None:
    """Make tables of some primitives, the first lists, those of the bricks of some columns, and sums of bricks.

    On a CPU lists of bricks are made with the sums, which are those of whole columns.
    """
    if call.target.on_host:
        if primitives != NONE:
            make_tables(call, primitives)
        if lists:
            make_lists(call)
        if bricks != NONE:
            add_up(call, bricks)
        return
    sizes, space = call.sizes, call.space
    while True:
        capacities = _capacities(call)
        if sizes.bricks * sizes.brick_parts * capacities[1] >= _LONGEST:
            raise DeviceUnavailable(
                f"the lists for {sizes.bricks} bricks of the lattice would be too long: compute takes it in slabs, "
                "where compute_on_device cannot"
            )
        arrays = _arrays(call)
        if primitives != NONE or lists or columns != NONE:
            space.launch(
                rows_kernel(call.target, call.sheared, call.orders),
                *(sizes.primitives, sizes.rows, sizes.tables, sizes.tables_x, sizes.terms, sizes.sums),
                *(*call.shape, *call.spacing, sizes.parts, sizes.shared, sizes.longest, *capacities),
                *(*call.budgets, call.negligible, *primitives, lists, *columns),
                *(array for name, array in arrays.items() if name != "families"),
            )
        if bricks != NONE:
            names = ("rows", "families", "x", "y", "z", "brick_count", "brick_rows")
            space.launch(
                columns_kernel(call.target, call.out.dtype, call.sheared),
                *(*call.shape, sizes.tables, sizes.tables_x, sizes.results, sizes.brick_parts, capacities[1], *bricks),
                *(arrays[name] for name in names),
                call.out,
            )
        synchronise()
        needed = to_numpy(arrays["needed"])[:2]
        # of lists that were not made now, nothing is known
        too_short = lists and needed[0] > capacities[0], columns != NONE and needed[1] > capacities[1]
        if not any(too_short):
            return
        grown = [
            max(have, int(1.25 * n) + 1) if short else have
            for have, n, short in zip(space.capacity, needed, too_short, strict=True)
        ]
        space.capacity = grown[0], grown[1]
        primitives = NONE
        if bricks == NONE:  # lists of bricks that were made before have other places now
            columns = 0, columns[1]


def make_tables(call: Call, primitives: Range) -> None:
    """Tables of some primitives, on a CPU."""
    sizes, arrays = call.sizes, _arrays(call)
    names = ("primitive", "first_table", "first_table_x", "table", "terms", "weight", "offset")
    made = ("x", "y", "z", "largest_x", "largest_y", "largest_z")
    call.space.launch(
        tables_kernel(call.target, call.sheared, call.orders),
        *(sizes.tables, sizes.tables_x, sizes.terms, sizes.sums),
        *(*call.shape, *call.spacing, call.negligible, *primitives),
        *(arrays[name] for name in names + made),
    )


def make_lists(call: Call) -> None:
    """Lists of planes and columns, on a CPU."""
    sizes, space = call.sizes, call.space
    names = ("rows", "table", "largest_x", "largest_y", "largest_z", "top_y", "top_z", "plane_count", "plane_rows")
    made = ("column_count", "column_rows", "column_size", "needed")
    while True:
        arrays, capacity = _arrays(call), _capacities(call)[0]
        space.launch(
            lists_kernel(call.target, call.sheared, call.orders),
            *(sizes.rows, sizes.tables, sizes.tables_x, *call.shape, capacity, *call.budgets[:2], sizes.workers),
            *(arrays[name] for name in names + made),
            space.integers("taken", (2,)),
        )
        needed = int(view(arrays["needed"])[0])
        if needed <= capacity:
            return
        space.capacity = int(1.25 * needed) + 1, space.capacity[1]


def add_up(call: Call, bricks: Range) -> None:
    """Sums of the bricks of whole columns, on a CPU."""
    sizes, space, arrays = call.sizes, call.space, _arrays(call)
    names = ("rows", "table", "families", "x", "y", "z", "largest_z")
    names += ("column_count", "column_rows", "column_size", "brick_count")
    columns = (brick // sizes.bricks_z for brick in bricks)
    space.launch(
        sums_kernel(call.target, call.out.dtype, call.sheared),
        *(*call.shape, sizes.tables, sizes.tables_x, sizes.results, sizes.families[2], _capacities(call)[0]),
        *(call.budgets[2], *columns, sizes.workers),
        *(arrays[name] for name in names),
        space.integers("taken", (2,)),
        space.vectors("factors", (sizes.workers * BX * PIECE,), BY),
        space.array("chosen", ti.types.vector(2, ti.i32), (sizes.workers * PLACES,)),
        space.vectors("sums", (sizes.workers * SUMS,), BZ),
        call.out.reshape(-1, 1),
    )


def _arrays(call: Call) -> dict[str, Any]:
    """What kernels read, write and read again, in the order of the arguments of `rows_kernel`."""
    sizes, space = call.sizes, call.space
    group = GROUP[call.target.device]
    n_x, n_y, n_z = sizes.families
    capacity, brick_capacity = _capacities(call)
    listed = (sizes.columns * sizes.parts + sizes.workers) * capacity
    arrays = {
        "x": space.vectors("x", (sizes.sums * n_x * sizes.bricks_x * sizes.tables_x,), BX),
        "y": space.vectors(
            "y",
            (n_y * sizes.sheets * sizes.bricks_y * sizes.tables * (BY // WIDE[call.target.device]),),
            WIDE[call.target.device],
        ),
        "z": space.vectors("z", (n_z * sizes.bricks_z * sizes.tables,), BZ),
        "largest_x": space.reals("largest_x", (n_x * sizes.bricks_x * sizes.tables_x,)),
        "largest_y": space.vectors("largest_y", (n_y * sizes.groups_y * sizes.layers * sizes.tables,), group),
        "largest_z": space.vectors("largest_z", (n_z * sizes.groups_z * sizes.tables,), group),
        "top_y": space.reals("top_y", (n_y * sizes.layers * sizes.tables,)),
        "top_z": space.reals("top_z", (n_z * sizes.tables,)),
        "plane_count": space.integers("plane_count", (sizes.bricks_x * sizes.parts,)),
        "plane_rows": space.integers("plane_rows", (sizes.bricks_x * sizes.parts * sizes.longest,)),
        "column_count": space.integers("column_count", (sizes.columns * sizes.parts,)),
        "column_rows": space.integers("column_rows", (listed,)),
        "column_size": space.reals("column_size", (n_z * listed,)),
        "brick_count": space.integers("brick_count", (sizes.bricks * sizes.brick_parts,)),
    }
    if not call.target.on_host:
        places = sizes.bricks * sizes.brick_parts * brick_capacity
        arrays["brick_rows"] = space.integers("brick_rows", (places,))
    return call.inputs | arrays | {"needed": space.integers("needed", (2,))}
