"""Orbitals on a lattice with orthogonal axes: a screened matrix product of one-dimensional tables.

A Gaussian times a monomial is a product of three functions of one coordinate each. With U the polynomial in x summed up
for one primitive p and one pair of powers (j, k), Y and Z the plain factors,

    psi(x, y, z) = sum over p, k of  [ sum_j U_pjk(x) Y_pj(y) ]  Z_pk(z)

so a lattice needs exponentials along its three axes only; the rest is multiplications and additions. A pair (p, k) is a
*row*: it owns one table along z and degree - k + 1 tables along x, and shares the tables of its primitive along y.

The lattice is cut into bricks of 8 x 8 x 16 points. For each brick the rows that matter are listed, in three steps:
planes of bricks, columns of bricks, bricks. A row is left out where its largest magnitude, from the largest magnitudes
of its tables, is small *and* all that was left out there adds up to less than a share of the tolerance. The tolerance
is therefore a bound on what screening costs, at every point.

A list is kept in several parts, each made by a task of its own: a GPU needs thousands of tasks, a CPU wants one part.
Part c of the plane and column lists deals with rows c, c + parts, c + 2 parts, ..., so that parts fill evenly. Parts
have a fixed capacity; when one overflows, the capacity grows and the screening is done again.

Several sums of the same Gaussians, such as orbitals, can be evaluated at once: they share the tables along y and z and
the lists, which hold what any of them needs. Where the first two axes are not at right angles (a *sheared* lattice), y
depends on the plane too, and each plane has tables along y of its own.

Taichi turns arithmetic on vectors into SIMD code when the vectors are elements of an ndarray; scalar arrays stay
scalar. That is why tables are arrays of vectors, and why screening looks at 16 neighbouring bricks at once.
"""

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from . import orbital_lattice_gpu
from ._taichi import number, ti
from .arrays import DeviceArray, to_numpy, view
from .devices import DeviceUnavailable
from .gaussian import exponential
from .launching import synchronise
from .layout import BRICK, BX, BY, BZ, Layout
from .pace import Checkpoint
from .session import generation
from .target import Target
from .workspace import Workspace

_GROUP = {"cpu": 16, "cuda": 1, "vulkan": 1}
"""Bricks screened at once by a task: a vector of them on a CPU; a GPU wants tasks."""

_WIDE = 2
"""Neighbours along y that a thread of a GPU evaluates together: what it loads for one serves the other."""

_GPU_PARTS = {False: (128, 8), True: (1024, 16)}
"""Parts of the plane and column lists on a GPU, and how many make a part of a brick list; with few rows, with many."""

_CHUNK = {False: 8, True: 1}
"""Planes of bricks that a thread of a CPU takes at once, with few rows and with many, of which each is long."""

# Shares of the tolerance that the three steps of the screening may lose, and the share below which one row may go.
_SHARES = ((0.1, 1e-3), (0.2, 1e-2), (0.7, 1e-1))


def orbital_on_lattice(
    plan: Layout,
    centre: np.ndarray,
    exponent: np.ndarray,
    terms: np.ndarray,
    spacing: tuple[float, float, float],
    shape: tuple[int, int, int],
    start: int,
    tolerance: "float | np.ndarray",
    target: Target,
    out: "np.ndarray | DeviceArray",
    shear: float = 0.0,
    checkpoint: Checkpoint | None = None,
) -> None:
    """Evaluate a sum of Gaussians times polynomials on (a slab of) a lattice.

    Parameters
    ----------
    plan
        `layout` of the degrees of the primitives.
    centre : ndarray of float64, shape (n_primitives, 3)
        Centres relative to the first point of the whole lattice, along its axes, in bohr.
    exponent : ndarray of float64, shape (n_primitives,)
        In bohr^-2.
    terms : ndarray of float64, shape (n_terms,) or (n_sums, n_terms)
        Polynomial coefficients; with a first axis, of several sums of the same Gaussians: they share the tables along
        y and z and the lists, which hold what any of them needs.
    spacing
        Distance of neighbouring points along each axis, in bohr.
    shape
        Points of the slab along each axis.
    start
        Index along the first axis at which the slab starts: a multiple of 8, so that slabs meet at bricks and the
        values do not depend on how the lattice is cut.
    tolerance : float, or ndarray of shape (n_sums,)
        Bound on the error of screening, of each sum.
    target
        The device of the current session, and the precision of tables and sums.
    out : ndarray, or array on the device, of float32 or float64, shape `shape`
        Where the values go; those of several sums follow one another along the first axis, shape (n_sums * nx, ny, nz).
    shear
        By how much a step along the first axis also moves along y, in bohr. Then there are tables along y for each
        plane: 8 values for each table, each 8 points and each plane.
    checkpoint
        Called some twenty times a second with the share that is done, between pieces of the work; what it raises ends
        it. Without one all is done at once.
    """
    if start % BX:
        raise ValueError(f"start of a slab: expected a multiple of {BX}, got {start}")
    if isinstance(out, np.ndarray) and not out.flags.c_contiguous:
        raise ValueError("result of the lattice kernel: expected a C-ordered array")
    n_sums, n_terms = (1, len(terms)) if terms.ndim == 1 else terms.shape
    least = float(np.min(tolerance))
    real = target.dtype
    # Positions relative to the nearest point keep float32 tables exact to rounding wherever the molecule lies.
    step = np.asarray(spacing)
    primitives = np.zeros((len(exponent), 8), real)
    nearest = np.rint(centre / step)
    primitives[:, 0] = exponent
    primitives[:, 1:4] = nearest * step - centre
    primitives[:, 4:7] = nearest - [start, 0, 0]

    many = len(plan.rows).bit_length() > _MANY_ROWS
    if not target.on_host and not many and not shear:
        _on_gpu(plan, primitives, terms, spacing, shape, tolerance, target, out, checkpoint)
        return
    space = _workspace(target.dtype, "many rows" if many else "few rows")
    kernel = _kernel(target, out.dtype, n_sums > 1, shear != 0)
    bricks_x, bricks_y, bricks_z = tuple(-(-n // b) for n, b in zip(shape, BRICK, strict=True))
    group = _GROUP[target.device]
    groups_y, groups_z = -(-bricks_y // group), -(-bricks_z // group)
    n_rows, n_tables, n_tables_x = len(plan.rows), int(plan.first_table[-1]), len(plan.tables_x)
    # the shift of each plane along y as whole steps and a remainder, for the same reason
    shift = shear * (start + np.arange(shape[0])) if shear else np.zeros(1)
    offset = np.empty((len(shift), 2), real)
    offset[:, 0] = np.rint(shift / step[1])
    offset[:, 1] = shift - np.rint(shift / step[1]) * step[1]
    layers, sheets = (bricks_x, bricks_x * BX) if shear else (1, 1)

    most, together = _GPU_PARTS[many]
    parts = 1 if target.on_host else min(most, -(-n_rows // 4))
    shared = 1 if target.on_host else min(together, parts)
    parts = parts // shared * shared
    brick_parts = parts // shared
    n_columns, n_bricks = bricks_x * bricks_y, bricks_x * bricks_y * bricks_z
    weight = _ONE if n_sums == 1 else least / np.broadcast_to(tolerance, n_sums)
    if n_sums > 1:
        terms = np.ascontiguousarray(terms).reshape(-1)
    limits = [
        least * share * factor / n
        for (share, part), n in zip(_SHARES, (parts, parts, brick_parts), strict=True)
        for factor in (1.0, part)
    ]
    negligible = 0.0
    if shear:
        primitives[:, 7] = _largest_factors(exponent, np.diff(plan.first_table) - 1)
        negligible = 1e-3 * limits[0] / len(exponent)
        limits[0] *= 1 - 1e-3  # its share of what the planes may lose
    longest = -(-n_rows // parts)
    inputs = (
        space.upload("rows", plan.rows, np.int32, 4),
        space.upload("primitives", primitives, real, 8),
        space.upload("first_table", plan.first_table, np.int32),
        space.upload("first_table_x", plan.first_table_x, np.int32),
        space.upload("tables_x", plan.tables_x, np.int32, 2),
        space.upload("terms", terms, real),
        space.upload("weight", weight, real),
        space.upload("offset", offset, real, 2),
    )
    kept: Any = out
    if target.on_host:  # an index along one axis becomes a store of vectors
        kept = out.reshape(-1) if isinstance(out, np.ndarray) else view(out)

    def launch(primitives: Range = _NONE, lists: bool = False, columns: Range = _NONE, bricks: Range = _NONE) -> None:
        """Make tables of some primitives, the first lists, those of the bricks of some columns, and sums of bricks."""
        while True:
            capacity, brick_capacity = min(space.capacity[0], longest), min(space.capacity[1], longest * shared)
            if n_bricks * brick_parts * brick_capacity >= 1 << 31:
                raise DeviceUnavailable(
                    f"the lists for {n_bricks} bricks of the lattice would be too long: compute takes it in slabs, "
                    "where compute_on_device cannot"
                )
            longest_column, longest_brick = kernel(
                len(exponent),
                n_rows,
                n_tables,
                n_tables_x,
                n_terms,
                n_sums,
                *shape,
                *spacing,
                parts,
                shared,
                longest,
                capacity,
                brick_capacity,
                *limits,
                negligible,
                *primitives,
                lists,
                *columns,
                *bricks,
                _CHUNK[many],
                *inputs,
                space.vectors("x", (n_sums * bricks_x * n_tables_x,), BX),
                space.vectors("y", (sheets * bricks_y * n_tables,), BY),
                space.vectors("z", (bricks_z * n_tables,), BZ),
                space.reals("largest_x", (bricks_x * n_tables_x,)),
                space.vectors("largest_y", (groups_y * layers * n_tables,), group),
                space.vectors("largest_z", (groups_z * n_tables,), group),
                space.reals("top_y", (layers * n_tables,)),
                space.reals("top_z", (n_tables,)),
                space.integers("plane_count", (bricks_x * parts,)),
                space.integers("plane_rows", (bricks_x * parts * longest,)),
                space.integers("column_count", (n_columns * parts,)),
                space.integers("column_rows", (n_columns * parts * capacity,)),
                space.reals("column_size", (n_columns * parts * capacity,)),
                space.integers("brick_count", (n_bricks * brick_parts,)),
                space.integers("brick_rows", (n_bricks * brick_parts * brick_capacity,)),
                space.integers("needed", (2,)),
                kept,
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

    space.latest = None  # until all lists are those of this call
    everything = 0, len(exponent)
    most, at_once = float(n_bricks * n_rows * n_sums), space.paces["at once"]
    if not many:

        def planes(first: int, last: int) -> None:
            columns = first * bricks_y, last * bricks_y
            bricks = columns[0] * bricks_z, columns[1] * bricks_z
            launch(_NONE if first else everything, first == 0, columns, bricks)

        space.paces["planes"].run(np.full(bricks_x, most / bricks_x), planes, checkpoint)
    elif checkpoint is None or at_once.fits(most):
        at_once.run(np.full(1, most), lambda *_: launch(everything, True, (0, n_columns), (0, n_bricks)), checkpoint)
    else:
        begin = time.perf_counter()

        def asked(share: float) -> None:
            checkpoint(0.0)

        prepared = space.paces["prepared"]
        if prepared.fits(most):
            prepared.run(np.full(1, most), lambda *_: launch(everything, True, (0, n_columns)), asked)
        else:
            counts = np.diff(plan.first_table_x) * n_sums * bricks_x + np.diff(plan.first_table) * (
                sheets * bricks_y + bricks_z
            )
            space.paces["tables"].run(counts, lambda first, last: launch((first, last)), asked)
            launch(lists=True)
            asked(0.0)
            rows_of = to_numpy(space.integers("column_count", (n_columns * parts,)))[: n_columns * parts]
            pairs = rows_of.reshape(n_columns, parts).sum(axis=1) * groups_z + 1.0
            space.paces["lists"].run(pairs, lambda first, last: launch(columns=(first, last)), asked)
            prepared.learn(most, time.perf_counter() - begin)
        asked(0.0)
        n_lists = n_bricks * brick_parts
        rows_of = to_numpy(space.integers("brick_count", (n_lists,)))[:n_lists]
        pairs = (rows_of.reshape(n_bricks, brick_parts).sum(axis=1) + 1.0) * n_sums
        space.paces["sums"].run(pairs, lambda first, last: launch(bricks=(first, last)), checkpoint)
        at_once.learn(most, time.perf_counter() - begin)
    capacity = min(space.capacity[1], longest * shared)
    space.latest = plan, n_bricks * brick_parts, capacity


def _on_gpu(
    plan: Layout,
    primitives: np.ndarray,
    terms: np.ndarray,
    spacing: tuple[float, float, float],
    shape: tuple[int, int, int],
    tolerance: "float | np.ndarray",
    target: Target,
    out: DeviceArray,
    checkpoint: Checkpoint | None,
) -> None:
    """Not too many Gaussians on a GPU: in pieces of whole planes of bricks, each with tables and masks of its own."""
    space = _workspace(target.dtype, "on a GPU")
    basis = plan.first_table, plan.first_table_x, plan.products
    sums = np.atleast_2d(terms)
    tolerances = np.broadcast_to(tolerance, len(sums)).tolist()
    nx, *plane = shape
    layers = -(-nx // BX)

    def launch(first: int, last: int) -> None:
        while first < last:  # a piece may begin in one sum and end in another
            one, layer = divmod(first, layers)
            until = min(last - one * layers, layers)
            here = primitives
            if layer:
                here = primitives.copy()
                here[:, 4] -= layer * BX
            part = min(until * BX, nx) - layer * BX, plane[0], plane[1]
            n_words = orbital_lattice_gpu.evaluate(
                space,
                *basis,
                here,
                sums[one],
                spacing,
                part,
                tolerances[one],
                target,
                out,
                one * nx + layer * BX,
            )
            space.latest = plan, n_words, 0
            first = one * layers + until

    bricks = -(-plane[0] // BY) * -(-plane[1] // BZ)
    work = np.full(len(sums) * layers, float(bricks * len(plan.products)))
    space.paces["planes"].run(work, launch, checkpoint, synchronise)


Range = tuple[int, int]
"""The first, and the one behind the last."""

_NONE: Range = (0, 0)


@dataclass(frozen=True)
class Work:
    """What the last step of the kernel did.

    Attributes
    ----------
    pairs : int
        Rows that screening kept, over all bricks; on a GPU, products of three tables.
    multiply_adds : int
        Multiplications with addition that their products take, counting bricks at the edge as whole ones.
    """

    pairs: int
    multiply_adds: int


def latest_work(plan: Layout, precision: str) -> Work:
    """Work of the latest call for this layout, in this precision of tables and sums, read from the lists it left.

    Raises
    ------
    ValueError
        When the latest call was for another layout, so that its lists are gone.
    """
    spaces = [_workspace(np.dtype(precision), use) for use in ("on a GPU", "few rows", "many rows")]
    space = next((space for space in spaces if space.latest is not None and space.latest[0] is plan), None)
    if space is None or space.latest is None:
        raise ValueError("the lists of that call are gone: another one came after it")
    if space is spaces[0]:
        words = space.integers("masks", (space.latest[1],)).to_numpy()[: space.latest[1]]
        kept = int(np.unpackbits(words.view(np.uint8)).sum())
        return Work(kept, kept * BX * BY * BZ)
    _, n_lists, capacity = space.latest
    counts = space.integers("brick_count", (n_lists,)).to_numpy()[:n_lists]
    rows = space.integers("brick_rows", (n_lists * capacity,)).to_numpy()[: n_lists * capacity].reshape(n_lists, -1)
    listed = rows[np.arange(capacity) < counts[:, None]]
    # per row and plane of a brick: a column factor of as many terms as it has tables, times a vector along z
    columns = int(plan.rows[listed, 2].sum()) * BX * BY
    return Work(len(listed), columns + len(listed) * BX * BY * BZ)


def _largest_factors(exponent: np.ndarray, degree: np.ndarray) -> np.ndarray:
    """Bounds on |y^j z^k exp(-zeta (y^2 + z^2))| for all powers up to the degree: (n / 2 e zeta)^(n/2) for each."""
    power = np.arange(1, max(int(degree.max()), 1) + 1)
    largest = (power / (2 * np.e * exponent[:, None])) ** (power / 2)
    return np.maximum(1.0, np.where(power <= degree[:, None], largest, 0.0).max(axis=1)) ** 2


_ONE = np.ones(1)
_ONE.setflags(write=False)  # sent to the device once

_MANY_ROWS = 14
"""Bits of a number of rows that is large: densities have lists, and so a workspace, of a size of their own."""

_workspaces: dict["tuple[np.dtype[np.floating], str]", tuple[int, Workspace]] = {}


def _workspace(real: "np.dtype[np.floating]", use: str) -> Workspace:
    """The arrays of one use: those of another differ in type or size."""
    now = generation()
    held = _workspaces.get((real, use))
    if held is None or held[0] != now:
        held = _workspaces[real, use] = (now, Workspace(real))
    return held[1]


@lru_cache
def _kernel(target: Target, result: "np.dtype[np.floating]", several: bool, sheared: bool) -> object:
    """The kernel for one device and precision of tables and sums, one type of the result, one sum or several.

    On a sheared lattice each plane has tables along y of its own.
    """
    real, kept = number(target.dtype), number(result)
    vector = ti.types.vector
    at_once, wide, on_cpu = _GROUP[target.device], _WIDE, target.on_host
    few = 1 if on_cpu else 64  # tasks that a thread of a CPU takes at once: there are few, and long ones
    V8, V16, G = vector(8, real), vector(16, real), vector(at_once, real)
    GI = vector(at_once, ti.i32)
    I1 = ti.types.ndarray(ti.i32, 1)
    R1 = ti.types.ndarray(real, 1)
    Pairs, Rows = (ti.types.ndarray(vector(n, ti.i32), 1) for n in (2, 4))
    Primitives = ti.types.ndarray(
        vector(8, real), 1
    )  # exponent; nearest point less centre; index of that point; bound on factors along y and z
    Offsets = ti.types.ndarray(vector(2, real), 1)
    X, Z, Largest = ti.types.ndarray(V8, 1), ti.types.ndarray(V16, 1), ti.types.ndarray(G, 1)
    Result = ti.types.ndarray(kept, 1 if on_cpu else 3)
    exp = exponential(target)

    @ti.kernel
    def evaluate(
        n_primitives: ti.i32,
        n_rows: ti.i32,
        n_tables: ti.i32,
        n_tables_x: ti.i32,
        n_terms: ti.i32,
        n_sums: ti.i32,
        nx: ti.i32,
        ny: ti.i32,
        nz: ti.i32,
        step_x: real,
        step_y: real,
        step_z: real,
        parts: ti.i32,
        shared: ti.i32,
        longest: ti.i32,
        column_capacity: ti.i32,
        brick_capacity: ti.i32,
        plane_budget: real,
        plane_limit: real,
        column_budget: real,
        column_limit: real,
        brick_budget: real,
        brick_limit: real,
        negligible: real,
        from_primitive: ti.i32,
        to_primitive: ti.i32,
        lists: ti.i32,
        from_column: ti.i32,
        to_column: ti.i32,
        from_brick: ti.i32,
        to_brick: ti.i32,
        chunk: ti.i32,
        rows: Rows,
        primitive: Primitives,
        first_table: I1,  # (primitives + 1)
        first_table_x: I1,  # (primitives + 1)
        table: Pairs,  # (tables along x) first term, number of terms
        terms: R1,  # (sums, terms) polynomial coefficients
        weight: R1,  # (sums) smallest tolerance over that of the sum
        offset: Offsets,  # (planes) if sheared: whole and broken steps along y by which a plane is shifted
        x: X,  # (sums, bricks_x, tables) of 8: what a brick needs lies together
        y: X,  # (planes if sheared, bricks_y, tables) of 8
        z: Z,  # (bricks_z, tables) of 16
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
    ) -> vector(2, ti.i32):
        """All steps as one kernel, its loops one after the other: launching costs more than most of them.

        Each step does what it is asked for, which may be nothing: tables of some primitives, the lists of planes and
        columns (or none), the lists of the bricks of some columns, the sums of some bricks.
        """
        bricks_x, bricks_y, bricks_z = (nx + BX - 1) // BX, (ny + BY - 1) // BY, (nz + BZ - 1) // BZ
        groups_y, groups_z = (bricks_y + at_once - 1) // at_once, (bricks_z + at_once - 1) // at_once
        brick_parts = parts // shared
        tables_y = (bricks_x if ti.static(sheared) else 1) * n_tables
        n_chosen = to_primitive - from_primitive

        # tables along x, with the polynomials, and their largest magnitudes
        for task in range(n_chosen * bricks_x):
            p = from_primitive + task // bricks_x
            b = task % bricks_x
            here = primitive[p]
            distance = V8(0.0)
            factor = V8(0.0)
            for s in ti.static(range(BX)):
                distance[s] = here[1] + (ti.cast(b * BX + s, real) - here[4]) * step_x
                factor[s] = exp(-here[0] * distance[s] * distance[s])
            for t in range(first_table_x[p], first_table_x[p + 1]):
                largest = ti.cast(0.0, real)
                for o in range(n_sums if ti.static(several) else 1):
                    last = o * n_terms + table[t][0] + table[t][1] - 1
                    value = V8(0.0)
                    for i in range(table[t][1]):
                        value = value * distance + terms[last - i]
                    value *= factor
                    x[(o * bricks_x + b) * n_tables_x + t] = value
                    largest = ti.max(largest, weight[o] * ti.abs(value).max())
                largest_x[b * n_tables_x + t] = largest

        # along y and z
        for task in range((bricks_x if ti.static(sheared) else 1) * n_chosen * bricks_y):
            layer = task // (n_chosen * bricks_y) if ti.static(sheared) else 0
            p = from_primitive + task // bricks_y - layer * n_chosen
            b = task % bricks_y
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
                        largest_y[b // at_once * tables_y + layer * n_tables + t][b % at_once] = 0.0
            for s in range(planes if ti.static(sheared) else 1):
                plane = layer * BX + s
                nearest = here[5]
                rest = here[2]
                if ti.static(sheared):
                    nearest -= offset[plane][0]
                    rest += offset[plane][1]
                distance = V8(0.0)
                factor = V8(0.0)
                for m in ti.static(range(BY)):
                    distance[m] = rest + (ti.cast(b * BY + m, real) - nearest) * step_y
                    factor[m] = exp(-here[0] * distance[m] * distance[m])
                for t in range(first_table[p], first_table[p + 1]):
                    y[(plane * bricks_y + b) * n_tables + t] = factor
                    largest = ti.abs(factor).max()
                    if ti.static(sheared):
                        if s > 0:
                            largest = ti.max(
                                largest, largest_y[b // at_once * tables_y + layer * n_tables + t][b % at_once]
                            )
                    largest_y[b // at_once * tables_y + layer * n_tables + t][b % at_once] = largest
                    factor *= distance
        for task in range(n_chosen * bricks_z):
            p = from_primitive + task // bricks_z
            b = task % bricks_z
            here = primitive[p]
            distance = V16(0.0)
            factor = V16(0.0)
            for s in ti.static(range(BZ)):
                distance[s] = here[3] + (ti.cast(b * BZ + s, real) - here[6]) * step_z
                factor[s] = exp(-here[0] * distance[s] * distance[s])
            for t in range(first_table[p], first_table[p + 1]):
                z[b * n_tables + t] = factor
                largest_z[b // at_once * n_tables + t][b % at_once] = ti.abs(factor).max()
                factor *= distance
        for t in range(lists * (bricks_x if ti.static(sheared) else 1) * n_tables):
            largest = ti.cast(0.0, real)
            for b in range(bricks_y):
                largest = ti.max(largest, largest_y[b // at_once * tables_y + t][b % at_once])
            top_y[t] = largest
        for t in range(lists * n_tables):
            largest = ti.cast(0.0, real)
            for b in range(bricks_z):
                largest = ti.max(largest, largest_z[b // at_once * n_tables + t][b % at_once])
            top_z[t] = largest

        # rows of each plane of bricks
        ti.loop_config(block_dim=few)
        for task in range(lists * bricks_x * parts):
            bx = task // parts
            layer = bx * n_tables if ti.static(sheared) else 0
            n = 0
            lost = ti.cast(0.0, real)
            for step in range((n_rows - task % parts + parts - 1) // parts):
                r = task % parts + step * parts
                row = rows[r]
                size = ti.cast(0.0, real)
                for j in range(row[2]):
                    size += largest_x[bx * n_tables_x + row[1] + j] * top_y[layer + row[3] + j]
                size *= top_z[row[0]]
                if size > plane_limit or lost + size > plane_budget:
                    plane_rows[task * longest + n] = r
                    n += 1
                else:
                    lost += size
            plane_count[task] = n

        # of each column
        for i in range(2):
            if (i == 0 and lists != 0) or (i == 1 and to_column > from_column):
                needed[i] = 0
        ti.loop_config(block_dim=few)
        for task in range(lists * bricks_x * groups_y * parts):
            group = task % groups_y
            part = (task // groups_y) % parts
            bx = task // (groups_y * parts)
            first = group * at_once
            lost = G(0.0)
            n = GI(0)
            plane = bx * parts + part
            layer = bx * n_tables if ti.static(sheared) else 0
            for q in range(plane_count[plane]):
                r = plane_rows[plane * longest + q]
                row = rows[r]
                size = G(0.0)
                for j in range(row[2]):
                    size += largest_x[bx * n_tables_x + row[1] + j] * largest_y[group * tables_y + layer + row[3] + j]
                whole = size * top_z[row[0]]
                keep = ti.abs(ti.cast((whole > column_limit) or (lost + whole > column_budget), ti.i32))
                lost += ti.select(keep, 0.0, whole)
                if keep.sum() != 0:
                    for s in ti.static(range(at_once)):
                        if keep[s] != 0 and first + s < bricks_y and n[s] < column_capacity:
                            at = ((bx * bricks_y + first + s) * parts + part) * column_capacity + n[s]
                            column_rows[at] = r
                            column_size[at] = size[s]
                    n += keep
            for s in ti.static(range(at_once)):
                if first + s < bricks_y:
                    column_count[(bx * bricks_y + first + s) * parts + part] = ti.min(n[s], column_capacity)
                    if n[s] > needed[0]:
                        ti.atomic_max(needed[0], n[s])

        # of each brick
        ti.loop_config(block_dim=2 * few)
        for task in range((to_column - from_column) * groups_z * brick_parts):
            group = task % groups_z
            part = (task // groups_z) % brick_parts
            column = from_column + task // (groups_z * brick_parts)
            first = group * at_once
            lost = G(0.0)
            n = GI(0)
            for c in range(shared):
                source = (column * brick_parts + part) * shared + c
                for q in range(source * column_capacity, source * column_capacity + column_count[source]):
                    r = column_rows[q]
                    whole = column_size[q] * largest_z[group * n_tables + rows[r][0]]
                    keep = ti.abs(ti.cast((whole > brick_limit) or (lost + whole > brick_budget), ti.i32))
                    lost += ti.select(keep, 0.0, whole)
                    if keep.sum() != 0:
                        for s in ti.static(range(at_once)):
                            if keep[s] != 0 and first + s < bricks_z and n[s] < brick_capacity:
                                brick_rows[
                                    ((column * bricks_z + first + s) * brick_parts + part) * brick_capacity + n[s]
                                ] = r
                        n += keep
            for s in ti.static(range(at_once)):
                if first + s < bricks_z:
                    brick_count[(column * bricks_z + first + s) * brick_parts + part] = ti.min(n[s], brick_capacity)
                    if n[s] > needed[1]:
                        ti.atomic_max(needed[1], n[s])

        if ti.static(on_cpu):
            # an item is a plane of 8 x 16 points of a brick, which stay in registers; a task is some items
            items = (n_sums if ti.static(several) else 1) * BX
            n_items = (to_brick - from_brick) * items
            ti.loop_config(block_dim=1)
            for task in range((n_items + chunk - 1) // chunk):
                for item in range(task * chunk, ti.min((task + 1) * chunk, n_items)):
                    brick = from_brick + item // items
                    bz = brick % bricks_z
                    by = (brick // bricks_z) % bricks_y
                    bx = brick // (bricks_z * bricks_y)
                    o = item % items // BX if ti.static(several) else 0
                    s = item % BX
                    if bx * BX + s >= nx:
                        continue
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
                    for q in range(
                        brick * brick_capacity, brick * brick_capacity + brick_count[brick]
                    ):  # a CPU has one part
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
        else:
            # a thread evaluates some neighbouring columns of 16 points of a brick
            bricks = to_brick - from_brick
            ti.loop_config(block_dim=64)
            for thread in range((n_sums if ti.static(several) else 1) * bricks * (64 // wide)):
                o = thread // (64 // wide * bricks) if ti.static(several) else 0
                brick = from_brick + thread // (64 // wide) - o * bricks
                lane = thread % (64 // wide)
                s, m = lane // (8 // wide), lane % (8 // wide)
                bz = brick % bricks_z
                by = (brick // bricks_z) % bricks_y
                bx = brick // (bricks_z * bricks_y)
                at_y = ((bx * BX + s if ti.static(sheared) else 0) * bricks_y + by) * n_tables
                c = ti.Matrix.zero(real, wide, BZ)
                for part in range(brick * brick_parts, (brick + 1) * brick_parts):
                    for q in range(part * brick_capacity, part * brick_capacity + brick_count[part]):
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
        return ti.Vector([needed[0], needed[1]])

    return evaluate
