"""Sums of Gaussians on a lattice, product by product: on a GPU, for one sum of not too many Gaussians, an orbital.

The sum of `orbital_lattice` without its rows: each table along x, with the factors along y and z that it is multiplied
by, is a product of its own,

    psi(x, y, z) = sum over t of  X_t(x) Y_t(y) Z_t(z)

and three steps are all there is: tables, which products matter to which brick, and their sum. What matters is kept in
words of 32 bits, one for 32 products, which have a fixed place: nothing has to be counted, no list can be too short,
and the host need not ask how it went. Bits are added up in the same order in each run, so every digit is the same too.

A thread adds the products up at 4 x 4 neighbouring points along x and y, its neighbours at the next points along z:
they load the same factors along x and y, and store to neighbouring addresses.
"""

from functools import lru_cache

import numpy as np

from ._taichi import number, ti, with_vectors
from .arrays import DeviceArray
from .elementary import along_axis, exponential, largest_of
from .kept_arrays import Workspace
from .launching import Checkpoint, synchronise
from .layout import BRICK, BX, BY, BZ, PackedSums
from .target import Target

_NEAR = 8
"""Products that are looked at by neighbouring threads, which then load what lies together; each thread looks at every
8th product, and has a word of 32 bits for 32 of them."""

_PARTS = 64
"""Threads that share the products of a brick, at most, and with them its tolerance."""


def evaluate_products(
    space: Workspace,
    packed: PackedSums,
    tolerance: "float | np.ndarray",
    target: Target,
    out: DeviceArray,
    checkpoint: Checkpoint | None,
) -> None:
    """Evaluate sums one after the other; arguments are those of `orbital_lattice.orbital_on_lattice`.

    In pieces of whole planes of bricks, each with tables and masks of its own.
    """
    plan = packed.plan
    if checkpoint is None and isinstance(tolerance, float) and packed.terms.ndim == 1:  # most calls, and at once
        space.latest = plan, _launch(space, packed, tolerance, target, out, 0), None
        return
    sums = np.atleast_2d(packed.terms)
    tolerances = [tolerance] * len(sums) if isinstance(tolerance, float) else np.broadcast_to(tolerance, len(sums))
    nx, *plane = packed.shape
    layers = -(-nx // BX)

    def pieces(first: int, last: int) -> None:
        while first < last:  # a piece may begin in one sum and end in another
            number_of_sum, layer = divmod(first, layers)
            until = min(last - number_of_sum * layers, layers)
            primitives = packed.primitives
            if layer:
                primitives = primitives.copy()
                primitives[:, 4] -= layer * BX
            shape = min(until * BX, nx) - layer * BX, plane[0], plane[1]
            piece = PackedSums(plan, primitives, sums[number_of_sum], packed.spacing, shape)
            first_plane = number_of_sum * nx + layer * BX
            n_words = _launch(space, piece, float(tolerances[number_of_sum]), target, out, first_plane)
            space.latest = plan, n_words, None
            first = number_of_sum * layers + until

    bricks = -(-plane[0] // BY) * -(-plane[1] // BZ)
    work = np.full(len(sums) * layers, float(bricks * len(plan.tables_x)))
    space.paces["planes"].run(work, pieces, checkpoint, synchronise)


def _launch(
    space: Workspace,
    packed: PackedSums,
    tolerance: float,
    target: Target,
    out: DeviceArray,
    first_plane: int,
) -> int:
    """Launch the kernel for one sum, of which the values begin with `first_plane` of the result.

    Returns the number of words that say which products matter.
    """
    plan, shape = packed.plan, packed.shape
    n_tables, n_products = int(plan.first_table[-1]), len(plan.tables_x)
    bricks_x, bricks_y, bricks_z = (-(-n // b) for n, b in zip(shape, BRICK, strict=True))
    words = -(-n_products // (32 * _NEAR)) * _NEAR
    real = target.dtype
    parts, n_words = min(words, _PARTS), bricks_x * bricks_y * bricks_z * words
    space.launch(
        _kernel(target, out.dtype),
        n_primitives=len(packed.primitives),
        n_tables=n_tables,
        n_products=n_products,
        nx=shape[0],
        ny=shape[1],
        nz=shape[2],
        step_x=packed.spacing[0],
        step_y=packed.spacing[1],
        step_z=packed.spacing[2],
        first=first_plane,
        parts=parts,
        budget=tolerance / parts,
        primitive=space.upload("primitives", packed.primitives, real, 8),
        product=space.upload("products", plan.products, np.int32, 4),
        terms=space.upload("terms", packed.terms, real),
        xy=space.vectors("xy", (2 * (bricks_x * n_products + bricks_y * n_tables),), 4),
        z=space.reals("z", (BZ * bricks_z * n_tables + (bricks_x + bricks_y + bricks_z) * n_products,)),
        masks=space.integers("masks", (n_words,)),
        out=out,
    )
    return n_words


@lru_cache
def _kernel(target: Target, result: "np.dtype[np.floating]") -> object:
    """The kernel for one device and precision of tables and sums, and one type of the result."""
    real, kept = number(target.dtype), number(result)
    vector = ti.types.vector
    V4, V8 = vector(4, real), vector(8, real)
    I1, R1, R3 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(real, 1), ti.types.ndarray(kept, 3)
    Products = ti.types.ndarray(vector(4, ti.i32), 1)
    Quads, Primitives = ti.types.ndarray(V4, 1), ti.types.ndarray(V8, 1)
    exp = exponential(target)
    eight_along, sixteen_along = along_axis(8, real, exp), along_axis(16, real, exp)

    @ti.kernel
    def evaluate(
        n_primitives: ti.i32,
        n_tables: ti.i32,
        n_products: ti.i32,
        nx: ti.i32,
        ny: ti.i32,
        nz: ti.i32,
        step_x: real,
        step_y: real,
        step_z: real,
        first: ti.i32,
        parts: ti.i32,
        budget: real,
        primitive: Primitives,  # exponent; nearest point less centre; index of that point; unused
        product: Products,  # `Layout.products`
        terms: R1,  # polynomial coefficients
        xy: Quads,  # (bricks_x, tables, 2) of 4 points along x; (bricks_y, tables, 2) along y
        z: R1,  # (bricks_z, tables, 16) along z; (bricks_x + bricks_y + bricks_z, products) largest magnitudes
        masks: I1,  # (bricks, words)
        out: R3,  # (nx, ny, nz)
    ):
        bricks_x, bricks_y, bricks_z = (nx + BX - 1) // BX, (ny + BY - 1) // BY, (nz + BZ - 1) // BZ
        n_columns = bricks_x * bricks_y
        along_y = 2 * bricks_x * n_products  # where tables along y begin
        magnitudes = BZ * bricks_z * n_tables
        words = (n_products + 32 * _NEAR - 1) // (32 * _NEAR) * _NEAR
        # The ends of all loops are known before the first one: each that is not costs a step of its own between loops.
        end_of_tables = n_primitives * (bricks_x + bricks_y + bricks_z)
        end_of_masks = n_columns * bricks_z * parts
        end_of_threads = n_columns * bricks_z * 64

        # tables and their largest magnitudes, of each primitive along each axis of each brick
        for task in range(end_of_tables):
            p = task % n_primitives
            b = task // n_primitives
            bounds = magnitudes + b * n_products  # where those of this brick begin
            here = primitive[p]
            begin, end = product[n_products + p], product[n_products + p + 1]
            degree = end[0] - begin[0] - 1
            if b < bricks_x:
                distance, factor = eight_along(here[0], here[1], here[4], b * BX, step_x)
                for t in range(begin[1], end[1]):
                    last = product[t][0] + product[t][1] - 1
                    value = V8(0.0)
                    for i in range(product[t][1]):
                        value = value * distance + terms[last - i]
                    value *= factor
                    at = b * n_products + t
                    xy[2 * at] = V4(value[0], value[1], value[2], value[3])
                    xy[2 * at + 1] = V4(value[4], value[5], value[6], value[7])
                    z[bounds + t] = largest_of(value)
            elif b < bricks_x + bricks_y:
                b -= bricks_x
                distance, factor = eight_along(here[0], here[2], here[5], b * BY, step_y)
                for t in range(begin[0], end[0]):
                    at = along_y + 2 * (b * n_tables + t)
                    xy[at] = V4(factor[0], factor[1], factor[2], factor[3])
                    xy[at + 1] = V4(factor[4], factor[5], factor[6], factor[7])
                    bound = largest_of(factor)
                    j = t - begin[0]
                    for k in range(degree + 1 - j):
                        z[bounds + begin[1] + k * (2 * degree + 3 - k) // 2 + j] = bound
                    factor *= distance
            else:
                b -= bricks_x + bricks_y
                distance, factor = sixteen_along(here[0], here[3], here[6], b * BZ, step_z)
                for t in range(begin[0], end[0]):
                    at = b * n_tables + t
                    for s in ti.static(range(BZ)):
                        z[at * BZ + s] = factor[s]
                    bound = largest_of(factor)
                    k = t - begin[0]
                    for j in range(degree + 1 - k):
                        z[bounds + begin[1] + k * (2 * degree + 3 - k) // 2 + j] = bound
                    factor *= distance

        # which products matter to each brick
        ti.loop_config(block_dim=64)
        for task in range(end_of_masks):
            part = task % parts
            brick = task // parts
            bz = brick % bricks_z
            column = brick // bricks_z
            bx = column // bricks_y
            by = column % bricks_y
            bound_x, bound_y = magnitudes + bx * n_products, magnitudes + (bricks_x + by) * n_products
            bound_z = magnitudes + (bricks_x + bricks_y + bz) * n_products
            lost = ti.cast(0.0, real)
            for step in range((words - part + parts - 1) // parts):
                word = part + step * parts
                mask = 0
                for bit in range(32):
                    t = word // _NEAR * (32 * _NEAR) + bit * _NEAR + word % _NEAR
                    if t < n_products:
                        size = z[bound_x + t] * z[bound_y + t] * z[bound_z + t]
                        if lost + size > budget:
                            mask |= 1 << bit
                        else:
                            lost += size
                masks[brick * words + word] = mask

        # a thread evaluates 4 x 4 neighbours along x and y, its neighbours do the same at the next points along z
        ti.loop_config(block_dim=128)
        for thread in range(end_of_threads):
            brick = thread // 64
            k = thread % BZ
            half_x = thread % 32 // BZ
            half_y = thread % 64 // 32
            bz = brick % bricks_z
            column = brick // bricks_z
            by = column % bricks_y
            bx = column // bricks_y
            at_x = 2 * bx * n_products + half_x
            at_y = along_y + 2 * by * n_tables + half_y
            at_z = BZ * bz * n_tables + k
            c0 = V4(0.0)
            c1 = V4(0.0)
            c2 = V4(0.0)
            c3 = V4(0.0)
            for word in range(words):
                left = masks[brick * words + word]
                first_of_word = word // _NEAR * (32 * _NEAR) + word % _NEAR
                while left != 0:  # two at a time: factors of the second are asked for before the first is added
                    low = left & -left
                    left ^= low
                    following = left & -left
                    left ^= following
                    t = first_of_word + ti.math.popcnt(low - 1) * _NEAR
                    u = t if following == 0 else first_of_word + ti.math.popcnt(following - 1) * _NEAR
                    one, two = product[t], product[u]
                    a, d = xy[at_x + 2 * t], xy[at_x + 2 * u]
                    y1, y2 = xy[at_y + one[2]], xy[at_y + two[2]]
                    z1, z2 = z[at_z + one[3]], z[at_z + two[3]]
                    b = y1 * z1
                    e = y2 * ti.select(following != 0, z2, real(0.0))
                    c0 += a[0] * b
                    c1 += a[1] * b
                    c2 += a[2] * b
                    c3 += a[3] * b
                    c0 += d[0] * e
                    c1 += d[1] * e
                    c2 += d[2] * e
                    c3 += d[3] * e
            if bz * BZ + k < nz:
                for s, c in ti.static(enumerate((c0, c1, c2, c3))):
                    for m in ti.static(range(4)):
                        i, j = bx * BX + half_x * 4 + s, by * BY + half_y * 4 + m
                        if i < nx and j < ny:
                            out[first + i, j, bz * BZ + k] = ti.cast(c[m], kept)

    return with_vectors(evaluate)
