"""Sums of Gaussians on a lattice, row by row: on a CPU, and on a GPU where lattices are sheared or rows very many.

See `orbital_lattice` for what a row is. For each brick the rows that matter are listed, in three steps: planes of
bricks, columns of bricks, bricks. What a row can come to there is bounded by the largest magnitudes of its tables.
Small ones are left out as long as all that was left out adds up to less than a share of the tolerance, which therefore
is a bound on what screening costs, at every point. What is small follows from what may still be lost and from the rows
that are still to come (`rows_lists.share_of_rows`).

A CPU has three kernels: tables (`rows_tables`), lists of planes and columns (`rows_lists`), and sums, which find the
rows of bricks as they go (`rows_sums`). A GPU has two, for tables and lists (`rows_kernel`) and for sums
(`rows_columns`), and keeps a list in several parts, each made by a task of its own, since it needs thousands of tasks.
Part c of the plane and column lists deals with rows c, c + parts, c + 2 parts, ..., so that parts fill evenly. Lists
and parts have a fixed capacity; when one overflows, the capacity grows and the screening is done again.

Several sums of the same Gaussians, such as orbitals, can be evaluated at once: they share the tables along y and z and
the lists, which hold what any of them needs. So do a sum and its derivatives, see `orders`, each of which is bounded by
its own tables. Where the first two axes are not at right angles (a *sheared* lattice), y depends on the plane too, and
each plane has tables along y of its own.
"""

import time

import numpy as np

from .arrays import DeviceArray, view
from .layout import Layout, PackedSums
from .orders import PLAIN, Families
from .pace import Checkpoint
from .rows_call import NONE, Call, launch, rows_listed, sizes_of
from .target import Target
from .workspace import Workspace

_SHARES = (0.1, 0.2, 0.7)
"""Of the tolerance, that the three steps of the screening may lose."""

_NEGLIGIBLE = 1e-3
"""Share of what the planes may lose that goes to primitives of which, on a sheared lattice, no tables are made."""

_MARGIN = 2.0
"""Times by which the work of many rows may turn out to be more than before: slabs differ in how much is screened."""

_ONE = np.ones(1)
_ONE.setflags(write=False)  # sent to the device once


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
    budgets = [
        least * share / n for share, n in zip(_SHARES, (sizes.parts, sizes.parts, sizes.brick_parts), strict=True)
    ]
    negligible = 0.0
    if shear:
        negligible = _NEGLIGIBLE * budgets[0] / sizes.primitives
        budgets[0] *= 1 - _NEGLIGIBLE
    weight = _ONE if sizes.sums == 1 else least / np.broadcast_to(tolerance, sizes.sums)
    kind = "" if packed.orders == PLAIN else " of derivatives"  # a field of both would send what is there again
    inputs = {
        "rows": space.upload("rows" + kind, plan.rows, np.int32, 4),
        "primitive": space.upload("primitives" + kind, packed.primitives, real, 8),
        "first_table": space.upload("first_table" + kind, plan.first_table, np.int32),
        "first_table_x": space.upload("first_table_x" + kind, plan.first_table_x, np.int32),
        "table": space.upload("tables_x" + kind, plan.tables_x, np.int32, 2),
        "terms": space.upload(
            "terms" + kind, np.ascontiguousarray(terms).reshape(-1) if sizes.sums > 1 else terms, real
        ),
        "weight": space.upload("weight" + kind, weight, real),
        "families": space.upload("families" + kind, Families(packed.orders).of_results(sizes.sums), np.int32, 4),
        "offset": space.upload(
            "offset" + kind, _offsets(packed.spacing[1], packed.shape[0], start, shear, real), real, 2
        ),
    }
    if checkpoint is not None:
        checkpoint(0.0)  # large tables take a while to be sent
    call = Call(
        target,
        shear != 0,
        packed.orders,
        space,
        sizes,
        packed.shape,
        packed.spacing,
        tuple(budgets),
        negligible,
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
        launch(call, NONE if first else (0, sizes.primitives), first == 0, columns, bricks)

    most = float(sizes.bricks * sizes.rows * sizes.results)
    call.space.paces["planes"].run(np.full(sizes.bricks_x, most / sizes.bricks_x), planes, checkpoint)


def _in_steps(call: Call, plan: Layout, checkpoint: Checkpoint | None) -> None:
    """Many rows: all at once where that is short enough; otherwise tables, lists and sums each in pieces."""
    sizes, paces = call.sizes, call.space.paces
    everything, columns, at_once = (0, sizes.primitives), (0, sizes.columns), paces["at once"]
    most = float(sizes.bricks * sizes.rows * sizes.results)
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
        n_x, n_y, n_z = sizes.families
        counts = np.diff(plan.first_table_x) * sizes.sums * n_x * sizes.bricks_x + np.diff(plan.first_table) * (
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
        pairs = (rows_listed(call, "column_count", sizes.columns, 1) + 1.0) * (sizes.results * depth)
        paces["sums"].run(pairs, lambda first, last: launch(call, bricks=(first * depth, last * depth)), checkpoint)
    else:
        pairs = (rows_listed(call, "brick_count", sizes.bricks, sizes.brick_parts) + 1.0) * sizes.results
        paces["sums"].run(pairs, lambda first, last: launch(call, bricks=(first, last)), checkpoint)
    at_once.learn(most, time.perf_counter() - begin)
