"""Sums of Gaussians on a lattice, row by row: on a CPU, and on a GPU where lattices are sheared or rows very many.

See `orbital_lattice` for what a row is. For each brick the rows that matter are listed, in three steps: planes of
bricks, columns of bricks, bricks. A row is left out where its largest magnitude, from the largest magnitudes of its
tables, is small *and* all that was left out there adds up to less than a share of the tolerance. The tolerance is
therefore a bound on what screening costs, at every point.

A list is kept in several parts, each made by a task of its own: a GPU needs thousands of tasks, a CPU wants one part.
Part c of the plane and column lists deals with rows c, c + parts, c + 2 parts, ..., so that parts fill evenly. Parts
have a fixed capacity; when one overflows, the capacity grows and the screening is done again.

Several sums of the same Gaussians, such as orbitals, can be evaluated at once: they share the tables along y and z and
the lists, which hold what any of them needs. Where the first two axes are not at right angles (a *sheared* lattice), y
depends on the plane too, and each plane has tables along y of its own.

Arithmetic on vectors becomes SIMD code when the vectors are elements of an array on the device; scalar arrays stay
scalar. That is why tables are arrays of vectors, and why screening looks at 16 neighbouring bricks at once.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import DeviceArray, to_numpy, view
from .devices import DeviceUnavailable
from .layout import BRICK, BX, BY, BZ, Layout, PackedSums
from .pace import Checkpoint
from .rows_kernel import GROUP, rows_kernel
from .target import Target
from .workspace import Workspace

_GPU_PARTS = {False: (128, 8), True: (1024, 16)}
"""Parts of the plane and column lists on a GPU, and how many make a part of a brick list; with few rows, with many."""

_CHUNK = {False: 8, True: 1}
"""Planes of bricks that a thread of a CPU takes at once, with few rows and with many, of which each is long."""

# Shares of the tolerance that the three steps of the screening may lose, and the share below which one row may go.
_SHARES = ((0.1, 1e-3), (0.2, 1e-2), (0.7, 1e-1))

_NEGLIGIBLE = 1e-3
"""Share of what the planes may lose that goes to primitives of which, on a sheared lattice, no tables are made."""

_MARGIN = 2.0
"""Times by which the work of many rows may turn out to be more than before: slabs differ in how much is screened."""

_LONGEST = 1 << 31
"""Entries of the lists of bricks: kernels count in 32 bits."""

Range = tuple[int, int]
"""The first, and the one behind the last."""

_NONE: Range = (0, 0)

_ONE = np.ones(1)
_ONE.setflags(write=False)  # sent to the device once


@dataclass(frozen=True)
class _Sizes:
    """How much the kernel deals with."""

    primitives: int
    rows: int
    tables: int
    tables_x: int
    terms: int
    sums: int
    bricks_x: int
    bricks_y: int
    bricks_z: int
    groups_y: int  # of bricks that are screened at once
    groups_z: int
    layers: int  # of bricks that have tables along y of their own
    sheets: int  # planes that have
    parts: int  # of the plane and column lists
    shared: int  # of them that make a part of the list of a brick

    @property
    def columns(self) -> int:
        return self.bricks_x * self.bricks_y

    @property
    def bricks(self) -> int:
        return self.columns * self.bricks_z

    @property
    def brick_parts(self) -> int:
        return self.parts // self.shared

    @property
    def longest(self) -> int:
        """Rows of a part of the list of a plane or column, at most."""
        return -(-self.rows // self.parts)


def _sizes(packed: PackedSums, sheared: bool, many: bool, target: Target) -> _Sizes:
    plan, terms = packed.plan, packed.terms
    bricks_x, bricks_y, bricks_z = (-(-n // b) for n, b in zip(packed.shape, BRICK, strict=True))
    group = GROUP[target.device]
    rows = len(plan.rows)
    most, together = _GPU_PARTS[many]
    parts = 1 if target.on_host else min(most, -(-rows // 4))
    shared = 1 if target.on_host else min(together, parts)
    return _Sizes(
        primitives=len(plan.first_table) - 1,
        rows=rows,
        tables=int(plan.first_table[-1]),
        tables_x=len(plan.tables_x),
        terms=terms.shape[-1],
        sums=1 if terms.ndim == 1 else len(terms),
        bricks_x=bricks_x,
        bricks_y=bricks_y,
        bricks_z=bricks_z,
        groups_y=-(-bricks_y // group),
        groups_z=-(-bricks_z // group),
        layers=bricks_x if sheared else 1,
        sheets=bricks_x * BX if sheared else 1,
        parts=parts // shared * shared,
        shared=shared,
    )


@dataclass(frozen=True, eq=False)
class _Call:
    """One evaluation: a kernel, its workspace, and those of its arguments that do not change from piece to piece."""

    kernel: Any
    space: Workspace
    sizes: _Sizes
    group: int
    numbers: tuple[float, ...]  # shape and spacing
    limits: tuple[float, ...]
    chunk: int
    inputs: tuple[object, ...]
    out: object


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
    sizes = _sizes(packed, shear != 0, many, target)
    least, real = float(np.min(tolerance)), target.dtype
    limits = [
        least * share * factor / n
        for (share, part), n in zip(_SHARES, (sizes.parts, sizes.parts, sizes.brick_parts), strict=True)
        for factor in (1.0, part)
    ]
    negligible = 0.0
    if shear:
        negligible = _NEGLIGIBLE * limits[0] / sizes.primitives
        limits[0] *= 1 - _NEGLIGIBLE
    weight = _ONE if sizes.sums == 1 else least / np.broadcast_to(tolerance, sizes.sums)
    inputs = (
        space.upload("rows", plan.rows, np.int32, 4),
        space.upload("primitives", packed.primitives, real, 8),
        space.upload("first_table", plan.first_table, np.int32),
        space.upload("first_table_x", plan.first_table_x, np.int32),
        space.upload("tables_x", plan.tables_x, np.int32, 2),
        space.upload("terms", np.ascontiguousarray(terms).reshape(-1) if sizes.sums > 1 else terms, real),
        space.upload("weight", weight, real),
        space.upload("offset", _offsets(packed.spacing[1], packed.shape[0], start, shear, real), real, 2),
    )
    if checkpoint is not None:
        checkpoint(0.0)  # large tables take a while to be sent
    kept: Any = out
    if target.on_host:  # an index along one axis becomes a store of vectors
        kept = out.reshape(-1) if isinstance(out, np.ndarray) else view(out)
    kernel = rows_kernel(target, out.dtype, shear != 0)
    call = _Call(
        kernel,
        space,
        sizes,
        GROUP[target.device],
        (*packed.shape, *packed.spacing),
        (*limits, negligible),
        _CHUNK[many],
        inputs,
        kept,
    )
    space.latest = None  # until all lists are those of this call
    if many:
        _in_steps(call, plan, checkpoint)
    else:
        _in_planes(call, checkpoint)
    capacity = min(space.capacity[1], sizes.longest * sizes.shared)
    space.latest = plan, sizes.bricks * sizes.brick_parts, capacity


def _offsets(step: float, planes: int, start: int, shear: float, real: "np.dtype[np.floating]") -> np.ndarray:
    """The shift of each plane along y as whole steps and a remainder, which keep single precision exact."""
    shift = shear * (start + np.arange(planes)) if shear else np.zeros(1)
    offset = np.empty((len(shift), 2), real)
    offset[:, 0] = np.rint(shift / step)
    offset[:, 1] = shift - np.rint(shift / step) * step
    return offset


def _in_planes(call: _Call, checkpoint: Checkpoint | None) -> None:
    """Few rows: a piece is some planes of bricks, with their lists and sums."""
    sizes = call.sizes

    def planes(first: int, last: int) -> None:
        columns = first * sizes.bricks_y, last * sizes.bricks_y
        bricks = columns[0] * sizes.bricks_z, columns[1] * sizes.bricks_z
        _launch(call, _NONE if first else (0, sizes.primitives), first == 0, columns, bricks)

    most = float(sizes.bricks * sizes.rows * sizes.sums)
    call.space.paces["planes"].run(np.full(sizes.bricks_x, most / sizes.bricks_x), planes, checkpoint)


def _in_steps(call: _Call, plan: Layout, checkpoint: Checkpoint | None) -> None:
    """Many rows: all at once where that is short enough; otherwise tables, lists and sums each in pieces."""
    sizes, paces = call.sizes, call.space.paces
    everything, columns, at_once = (0, sizes.primitives), (0, sizes.columns), paces["at once"]
    most = float(sizes.bricks * sizes.rows * sizes.sums)
    if checkpoint is None or at_once.fits(_MARGIN * most):
        at_once.run(
            np.full(1, most), lambda *_: _launch(call, everything, True, columns, (0, sizes.bricks)), checkpoint
        )
        return
    begin = time.perf_counter()

    def asked(share: float) -> None:
        checkpoint(0.0)

    prepared = paces["prepared"]
    if prepared.fits(_MARGIN * most):
        prepared.run(np.full(1, most), lambda *_: _launch(call, everything, True, columns), asked)
    else:
        counts = np.diff(plan.first_table_x) * sizes.sums * sizes.bricks_x + np.diff(plan.first_table) * (
            sizes.sheets * sizes.bricks_y + sizes.bricks_z
        )
        paces["tables"].run(counts, lambda first, last: _launch(call, (first, last)), asked)
        _launch(call, lists=True)
        asked(0.0)
        pairs = _rows_listed(call, "column_count", sizes.columns, sizes.parts) * sizes.groups_z + 1.0
        paces["lists"].run(pairs, lambda first, last: _launch(call, columns=(first, last)), asked)
        prepared.learn(most, time.perf_counter() - begin)
    asked(0.0)
    pairs = (_rows_listed(call, "brick_count", sizes.bricks, sizes.brick_parts) + 1.0) * sizes.sums
    paces["sums"].run(pairs, lambda first, last: _launch(call, bricks=(first, last)), checkpoint)
    at_once.learn(most, time.perf_counter() - begin)


def _rows_listed(call: _Call, counts: str, places: int, parts: int) -> np.ndarray:
    """How many rows the lists of each column or brick hold."""
    listed = to_numpy(call.space.integers(counts, (places * parts,)))[: places * parts]
    return listed.reshape(places, parts).sum(axis=1)


def _launch(
    call: _Call, primitives: Range = _NONE, lists: bool = False, columns: Range = _NONE, bricks: Range = _NONE
) -> None:
    """Make tables of some primitives, the first lists, those of the bricks of some columns, and sums of bricks."""
    sizes, space = call.sizes, call.space
    while True:
        capacity, brick_capacity = (
            min(room, most)
            for room, most in zip(space.capacity, (sizes.longest, sizes.longest * sizes.shared), strict=True)
        )
        if sizes.bricks * sizes.brick_parts * brick_capacity >= _LONGEST:
            raise DeviceUnavailable(
                f"the lists for {sizes.bricks} bricks of the lattice would be too long: compute takes it in slabs, "
                "where compute_on_device cannot"
            )
        longest_column, longest_brick = call.kernel(
            sizes.primitives,
            sizes.rows,
            sizes.tables,
            sizes.tables_x,
            sizes.terms,
            sizes.sums,
            *call.numbers,
            sizes.parts,
            sizes.shared,
            sizes.longest,
            capacity,
            brick_capacity,
            *call.limits,
            *primitives,
            lists,
            *columns,
            *bricks,
            call.chunk,
            *call.inputs,
            *_tables_and_lists(call, capacity, brick_capacity),
            call.out,
        )
        # of lists that were not made now, nothing is known
        too_short = lists and longest_column > capacity, columns != _NONE and longest_brick > brick_capacity
        if not any(too_short):
            return
        grown = [
            max(have, int(1.25 * n) + 1) if short else have
            for have, n, short in zip(space.capacity, (longest_column, longest_brick), too_short, strict=True)
        ]
        space.capacity = grown[0], grown[1]
        primitives = _NONE
        if bricks == _NONE:  # lists of bricks that were made before have other places now
            columns = 0, columns[1]


def _tables_and_lists(call: _Call, capacity: int, brick_capacity: int) -> tuple[object, ...]:
    """What the kernel writes and reads again, in the order of its arguments."""
    sizes, space, group = call.sizes, call.space, call.group
    return (
        space.vectors("x", (sizes.sums * sizes.bricks_x * sizes.tables_x,), BX),
        space.vectors("y", (sizes.sheets * sizes.bricks_y * sizes.tables,), BY),
        space.vectors("z", (sizes.bricks_z * sizes.tables,), BZ),
        space.reals("largest_x", (sizes.bricks_x * sizes.tables_x,)),
        space.vectors("largest_y", (sizes.groups_y * sizes.layers * sizes.tables,), group),
        space.vectors("largest_z", (sizes.groups_z * sizes.tables,), group),
        space.reals("top_y", (sizes.layers * sizes.tables,)),
        space.reals("top_z", (sizes.tables,)),
        space.integers("plane_count", (sizes.bricks_x * sizes.parts,)),
        space.integers("plane_rows", (sizes.bricks_x * sizes.parts * sizes.longest,)),
        space.integers("column_count", (sizes.columns * sizes.parts,)),
        space.integers("column_rows", (sizes.columns * sizes.parts * capacity,)),
        space.reals("column_size", (sizes.columns * sizes.parts * capacity,)),
        space.integers("brick_count", (sizes.bricks * sizes.brick_parts,)),
        space.integers("brick_rows", (sizes.bricks * sizes.brick_parts * brick_capacity,)),
        space.integers("needed", (2,)),
    )
