"""Sums of Gaussians on a lattice, row by row: on a CPU, and on a GPU where lattices are sheared or rows very many.

See `orbital_lattice` for what a row is. For each brick the rows that matter are listed, in three steps: planes of
bricks, columns of bricks, bricks. What a row can come to there is bounded by the largest magnitudes of its tables.
Small ones are left out as long as all that was left out adds up to less than a share of the tolerance, which therefore
is a bound on what screening costs, at every point. What is small follows from what may still be lost and from the rows
that are still to come (`rows_tables.share_of_rows`).

A CPU has three kernels (`rows_cpu`): tables, lists of planes and columns, and sums, which find the rows of bricks as
they go. A GPU has two (`rows_gpu`), for tables and lists and for sums, and keeps a list in several parts, each made by
a task of its own, since it needs thousands of tasks.
Part c of the plane and column lists deals with rows c, c + parts, c + 2 parts, ..., so that parts fill evenly. Lists
and parts have a fixed capacity; when one overflows, the capacity grows and the screening is done again.

Several sums of the same Gaussians, such as orbitals, can be evaluated at once: they share the tables along y and z and
the lists, which hold what any of them needs. So do a sum and its derivatives, see `layout`, each of which is bounded by
its own tables. Where the first two axes are not at right angles (a *sheared* lattice), y depends on the plane too, and
each plane has tables along y of its own.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._taichi import host_threads, ti
from .arrays import DeviceArray, to_numpy, view
from .devices import DeviceUnavailable
from .kept_arrays import Workspace
from .launching import Checkpoint, synchronise
from .layout import BRICK, BX, BY, BZ, PLAIN, Families, Layout, Orders, PackedSums
from .rows_cpu import PIECE, PLACES, SUMS, lists_kernel, sums_kernel, tables_kernel
from .rows_gpu import columns_kernel, rows_kernel
from .rows_tables import GROUP, WIDE
from .target import Target

_SHARES = (0.1, 0.2, 0.7)
"""Of the tolerance, that the three steps of the screening may lose."""

_NEGLIGIBLE = 1e-3
"""Share of what the planes may lose that goes to primitives of which, on a sheared lattice, no tables are made."""

_MARGIN = 2.0
"""Times by which the work of many rows may turn out to be more than before: slabs differ in how much is screened."""

_ONE = np.ones(1)
_ONE.setflags(write=False)  # sent to the device once

_GPU_PARTS = {False: (128, 8), True: (1024, 16)}
"""Parts of the plane and column lists on a GPU, and how many make a part of a brick list; with few rows, with many."""

_LONGEST = 1 << 31
"""Entries of the lists of bricks: kernels count in 32 bits."""

Range = tuple[int, int]
"""The first, and the one behind the last."""

NONE: Range = (0, 0)

Arguments = dict[str, Any]
"""Arguments of kernels by name."""


@dataclass(frozen=True)
class Sizes:
    """How much the kernels deal with; numbers that they take have the names of their arguments."""

    n_primitives: int
    n_rows: int
    n_tables: int
    n_tables_x: int
    n_terms: int
    n_sums: int
    n_results: int  # sums, or derivatives of each
    nx: int
    ny: int
    nz: int
    n_families: tuple[int, int, int]  # of tables along each axis
    bricks_x: int
    bricks_y: int
    bricks_z: int
    groups_y: int  # of bricks that are screened at once
    groups_z: int
    layers: int  # of bricks that have tables along y of their own
    sheets: int  # planes that have
    parts: int  # of the plane and column lists
    shared: int  # of them that make a part of the list of a brick
    brick_parts: int  # of the list of a brick
    longest: int  # rows of a part of the list of a plane or column, at most
    workers: int  # threads of a CPU, each with a list that nobody reads and room for a piece of rows

    @property
    def columns(self) -> int:
        """Columns of bricks."""
        return self.bricks_x * self.bricks_y

    @property
    def bricks(self) -> int:
        """All of them."""
        return self.columns * self.bricks_z


def sizes_of(packed: PackedSums, sheared: bool, many: bool, target: Target) -> Sizes:
    """Sizes of an evaluation; `many` says whether there are so many rows that lists are long."""
    plan, terms = packed.plan, packed.terms
    bricks_x, bricks_y, bricks_z = (-(-n // b) for n, b in zip(packed.shape, BRICK, strict=True))
    group = GROUP[target.device]
    n_rows = len(plan.rows)
    most, together = _GPU_PARTS[many]
    parts = 1 if target.on_host else min(most, -(-n_rows // 4))
    shared = 1 if target.on_host else min(together, parts)
    brick_parts = parts // shared
    parts = brick_parts * shared
    n_sums, families = 1 if terms.ndim == 1 else len(terms), Families(packed.orders)
    nx, ny, nz = packed.shape
    return Sizes(
        n_primitives=len(plan.first_table) - 1,
        n_rows=n_rows,
        n_tables=int(plan.first_table[-1]),
        n_tables_x=len(plan.tables_x),
        n_terms=terms.shape[-1],
        n_sums=n_sums,
        n_results=n_sums * len(families.places),
        nx=nx,
        ny=ny,
        nz=nz,
        n_families=(len(families.x), len(families.y), len(families.z)),
        bricks_x=bricks_x,
        bricks_y=bricks_y,
        bricks_z=bricks_z,
        groups_y=-(-bricks_y // group),
        groups_z=-(-bricks_z // group),
        layers=bricks_x if sheared else 1,
        sheets=bricks_x * BX if sheared else 1,
        parts=parts,
        shared=shared,
        brick_parts=brick_parts,
        longest=-(-n_rows // parts),
        workers=host_threads() if target.on_host else 0,
    )


@dataclass(frozen=True, eq=False)
class Call:
    """One evaluation: where and on what, and arguments of kernels that do not change from piece to piece."""

    target: Target
    sheared: bool
    orders: Orders
    space: Workspace
    sizes: Sizes
    inputs: Arguments
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


def evaluate_rows(
    space: Workspace,
    many: bool,
    packed: PackedSums,
    start: int,
    tolerance: "float | np.ndarray",
    target: Target,
    out: "np.ndarray | DeviceArray",
    shear: float,
    checkpoint: Checkpoint | None,
) -> None:
    """Evaluate sums; arguments are those of `orbital_lattice.orbital_on_lattice`.

    `many` says whether there are so many rows that lists are long.
    """
    plan, terms = packed.plan, packed.terms
    sizes = sizes_of(packed, shear != 0, many, target)
    least, real = float(np.min(tolerance)), target.dtype
    plane_budget, column_budget, brick_budget = (
        least * share / n for share, n in zip(_SHARES, (sizes.parts, sizes.parts, sizes.brick_parts), strict=True)
    )
    negligible = 0.0
    if shear:
        negligible = _NEGLIGIBLE * plane_budget / sizes.n_primitives
        plane_budget *= 1 - _NEGLIGIBLE
    step_x, step_y, step_z = packed.spacing
    weight = _ONE if sizes.n_sums == 1 else least / np.broadcast_to(tolerance, sizes.n_sums)
    kind = "" if packed.orders == PLAIN else " of derivatives"  # a field of both would send what is there again
    inputs = {
        "step_x": step_x,
        "step_y": step_y,
        "step_z": step_z,
        "plane_budget": plane_budget,
        "column_budget": column_budget,
        "brick_budget": brick_budget,
        "negligible": negligible,
        "rows": space.upload("rows" + kind, plan.rows, np.int32, 4),
        "primitive": space.upload("primitives" + kind, packed.primitives, real, 8),
        "first_table": space.upload("first_table" + kind, plan.first_table, np.int32),
        "first_table_x": space.upload("first_table_x" + kind, plan.first_table_x, np.int32),
        "table": space.upload("tables_x" + kind, plan.tables_x, np.int32, 2),
        "terms": space.upload(
            "terms" + kind, np.ascontiguousarray(terms).reshape(-1) if sizes.n_sums > 1 else terms, real
        ),
        "weight": space.upload("weight" + kind, weight, real),
        "families": space.upload("families" + kind, Families(packed.orders).of_results(sizes.n_sums), np.int32, 4),
        "offset": space.upload("offset" + kind, _offsets(step_y, sizes.nx, start, shear, real), real, 2),
    }
    if checkpoint is not None:
        checkpoint(0.0)  # large tables take a while to be sent
    call = Call(
        target,
        shear != 0,
        packed.orders,
        space,
        sizes,
        inputs,
        view(out) if target.on_host and not isinstance(out, np.ndarray) else out,
    )
    space.latest = None  # until all lists are those of this call
    if many:
        _in_steps(call, plan, checkpoint)
    else:
        _in_planes(call, checkpoint)
    space.latest = plan, sizes.bricks * sizes.brick_parts, call.listed


def _offsets(step: float, planes: int, start: int, shear: float, real: "np.dtype[np.floating]") -> np.ndarray:
    """The shift of each plane along y as whole steps and a remainder, which keep single precision exact."""
    shift = shear * (start + np.arange(planes)) if shear else np.zeros(1)
    offset = np.empty((len(shift), 2), real)
    offset[:, 0] = np.rint(shift / step)
    offset[:, 1] = shift - np.rint(shift / step) * step
    return offset


def _in_planes(call: Call, checkpoint: Checkpoint | None) -> None:
    """Few rows: a piece is some planes of bricks, with their lists and sums."""
    sizes = call.sizes

    def planes(first: int, last: int) -> None:
        columns = first * sizes.bricks_y, last * sizes.bricks_y
        bricks = columns[0] * sizes.bricks_z, columns[1] * sizes.bricks_z
        launch(call, NONE if first else (0, sizes.n_primitives), first == 0, columns, bricks)

    most = float(sizes.bricks * sizes.n_rows * sizes.n_results)
    call.space.paces["planes"].run(np.full(sizes.bricks_x, most / sizes.bricks_x), planes, checkpoint)


def _in_steps(call: Call, plan: Layout, checkpoint: Checkpoint | None) -> None:
    """Many rows: all at once where that is short enough; otherwise tables, lists and sums each in pieces."""
    sizes, paces = call.sizes, call.space.paces
    everything, columns, at_once = (0, sizes.n_primitives), (0, sizes.columns), paces["at once"]
    most = float(sizes.bricks * sizes.n_rows * sizes.n_results)
    if checkpoint is None or at_once.fits(_MARGIN * most):
        at_once.run(np.full(1, most), lambda *_: launch(call, everything, True, columns, (0, sizes.bricks)), checkpoint)
        return
    begin = time.perf_counter()

    def asked(share: float) -> None:
        checkpoint(0.0)

    prepared = paces["prepared"]
    if prepared.fits(_MARGIN * most):
        prepared.run(np.full(1, most), lambda *_: launch(call, everything, True, columns), asked)
    else:
        n_x, n_y, n_z = sizes.n_families
        counts = np.diff(plan.first_table_x) * sizes.n_sums * n_x * sizes.bricks_x + np.diff(plan.first_table) * (
            n_y * sizes.sheets * sizes.bricks_y + n_z * sizes.bricks_z
        )
        paces["tables"].run(counts, lambda first, last: launch(call, (first, last)), asked)
        launch(call, lists=True)
        asked(0.0)
        if not call.target.on_host:
            pairs = rows_listed(call, "column_count", sizes.columns, sizes.parts) * sizes.groups_z + 1.0
            paces["lists"].run(pairs, lambda first, last: launch(call, columns=(first, last)), asked)
        prepared.learn(most, time.perf_counter() - begin)
    asked(0.0)
    if call.target.on_host:
        depth = sizes.bricks_z
        pairs = (rows_listed(call, "column_count", sizes.columns, 1) + 1.0) * (sizes.n_results * depth)
        paces["sums"].run(pairs, lambda first, last: launch(call, bricks=(first * depth, last * depth)), checkpoint)
    else:
        pairs = (rows_listed(call, "brick_count", sizes.bricks, sizes.brick_parts) + 1.0) * sizes.n_results
        paces["sums"].run(pairs, lambda first, last: launch(call, bricks=(first, last)), checkpoint)
    at_once.learn(most, time.perf_counter() - begin)


def launch(
    call: Call, primitives: Range = NONE, lists: bool = False, columns: Range = NONE, bricks: Range = NONE
) -> None:
    """Make tables of some primitives, the first lists, those of the bricks of some columns, and sums of bricks.

    On a CPU lists of bricks are made with the sums, which are those of whole columns.
    """
    values = _arguments(call)
    if not call.target.on_host:
        _launch_on_gpu(call, values, primitives, lists, columns, bricks)
        return
    if primitives != NONE:
        make_tables(call, values, primitives)
    if lists:
        values = make_lists(call, values)
    if bricks != NONE:
        add_up(call, values, bricks)


def make_tables(call: Call, values: Arguments, primitives: Range) -> None:
    """Tables of some primitives, on a CPU."""
    kernel = tables_kernel(call.target, call.sheared, call.orders)
    call.space.launch_with(kernel, values | _some("primitive", primitives))


def make_lists(call: Call, values: Arguments) -> Arguments:
    """Lists of planes and columns, on a CPU; gives the arguments with arrays that are long enough for them."""
    space = call.space
    while True:
        space.launch_with(lists_kernel(call.target, call.sheared, call.orders), values)
        needed = int(view(values["needed"])[0])
        if needed <= values["column_capacity"]:
            return values
        space.capacity = int(1.25 * needed) + 1, space.capacity[1]
        values = _arguments(call)


def add_up(call: Call, values: Arguments, bricks: Range) -> None:
    """Sums of the bricks of whole columns, on a CPU."""
    depth = call.sizes.bricks_z
    columns = _some("column", (bricks[0] // depth, bricks[1] // depth))
    call.space.launch_with(sums_kernel(call.target, call.out.dtype, call.sheared), values | columns)


def _launch_on_gpu(
    call: Call, values: Arguments, primitives: Range, lists: bool, columns: Range, bricks: Range
) -> None:
    target, space, sheared = call.target, call.space, call.sheared
    while True:
        capacities = values["column_capacity"], values["brick_capacity"]
        if primitives != NONE or lists or columns != NONE:
            wanted = {"lists": lists, **_some("primitive", primitives), **_some("column", columns)}
            space.launch_with(rows_kernel(target, sheared, call.orders), values | wanted)
        if bricks != NONE:
            space.launch_with(columns_kernel(target, call.out.dtype, sheared), values | _some("brick", bricks))
        synchronise()
        needed = to_numpy(values["needed"])[:2]
        # of lists that were not made now, nothing is known
        too_short = lists and needed[0] > capacities[0], columns != NONE and needed[1] > capacities[1]
        if not any(too_short):
            return
        grown = [
            max(have, int(1.25 * n) + 1) if short else have
            for have, n, short in zip(space.capacity, needed, too_short, strict=True)
        ]
        space.capacity = grown[0], grown[1]
        values = _arguments(call)
        primitives = NONE
        if bricks == NONE:  # lists of bricks that were made before have other places now
            columns = 0, columns[1]


def _some(kind: str, range_of_them: Range) -> Arguments:
    return {f"from_{kind}": range_of_them[0], f"to_{kind}": range_of_them[1]}


def _arguments(call: Call) -> Arguments:
    """What kernels take beside what each launch is to do, by name: each of them takes some of it."""
    target, sizes, space = call.target, call.sizes, call.space
    group, wide = GROUP[target.device], WIDE[target.device]
    n_x, n_y, n_z = sizes.n_families
    column_capacity, brick_capacity = _capacities(call)
    listed = (sizes.columns * sizes.parts + sizes.workers) * column_capacity
    if target.on_host:
        arrays = {
            "taken": space.integers("taken", (2,)),
            "factors": space.vectors("factors", (sizes.workers * BX * PIECE,), BY),
            "chosen": space.array("chosen", ti.types.vector(2, ti.i32), (sizes.workers * PLACES,)),
            "sums": space.vectors("sums", (sizes.workers * SUMS,), BZ),
            "out": call.out.reshape(-1, 1),
        }
    else:
        places = sizes.bricks * sizes.brick_parts * brick_capacity
        if places >= _LONGEST:
            raise DeviceUnavailable(
                f"the lists for {sizes.bricks} bricks of the lattice would be too long: compute takes it in slabs, "
                "where compute_on_device cannot"
            )
        arrays = {"brick_rows": space.integers("brick_rows", (places,)), "out": call.out}
    return {
        **vars(sizes),
        **call.inputs,
        **arrays,
        "n_families_z": n_z,
        "column_capacity": column_capacity,
        "brick_capacity": brick_capacity,
        "x": space.vectors("x", (sizes.n_sums * n_x * sizes.bricks_x * sizes.n_tables_x,), BX),
        "y": space.vectors("y", (n_y * sizes.sheets * sizes.bricks_y * sizes.n_tables * (BY // wide),), wide),
        "z": space.vectors("z", (n_z * sizes.bricks_z * sizes.n_tables,), BZ),
        "largest_x": space.reals("largest_x", (n_x * sizes.bricks_x * sizes.n_tables_x,)),
        "largest_y": space.vectors("largest_y", (n_y * sizes.groups_y * sizes.layers * sizes.n_tables,), group),
        "largest_z": space.vectors("largest_z", (n_z * sizes.groups_z * sizes.n_tables,), group),
        "top_y": space.reals("top_y", (n_y * sizes.layers * sizes.n_tables,)),
        "top_z": space.reals("top_z", (n_z * sizes.n_tables,)),
        "plane_count": space.integers("plane_count", (sizes.bricks_x * sizes.parts,)),
        "plane_rows": space.integers("plane_rows", (sizes.bricks_x * sizes.parts * sizes.longest,)),
        "column_count": space.integers("column_count", (sizes.columns * sizes.parts,)),
        "column_rows": space.integers("column_rows", (listed,)),
        "column_size": space.reals("column_size", (n_z * listed,)),
        "brick_count": space.integers("brick_count", (sizes.bricks * sizes.brick_parts,)),
        "needed": space.integers("needed", (2,)),
    }
