"""Isosurfaces of values on a lattice: marching cubes that copies the mesh to the host, and not the values.

Both signs of a field are done together, as two *phases*: where the values exceed the level, and where their negatives
do. Every step is a loop over rows of the lattice along its last axis, or over words of 32 points of such a row.

1. One bit a point and phase: whether the value exceeds the level. It is the only time that all values are read.
2. From the bits of a word and of its neighbours, with a few operations for 32 points: which lattice edges the surface
   meets, each of which belongs to its first point and owns one vertex, and which cells it crosses. The triangles of
   each crossed cell are counted.
3. Sums of the counts over rows, over groups of rows, over groups of those: every word knows where its vertices and
   triangles begin.
4. Vertices, normals and triangles are written. The number of a vertex is the first of its word plus the number of bits
   before its own, so no table from edges to vertices is needed.

Memory on the device: 1.75 bytes a point for both phases where rows fill their words, a quarter more as a reserve for
larger lattices to come, and the mesh while it is written.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ._taichi import number, quick, ti
from .arrays import DeviceArray, to_numpy
from .devices import DeviceUnavailable
from .kept_arrays import Workspace
from .launching import launch
from .target import Target

MOST_POINTS = 1 << 26
"""Points of a lattice at most: with 12 triangles a cell and phase, the most there are, counts stay within 32 bits."""

_GROUP = 64
"""Rows whose counts a thread adds up."""

_TINY = 2.0**-52
"""Added to distances from the level before they are divided by."""

u32 = ti.u32


class Mesh(NamedTuple):
    """A triangle mesh in index space.

    Attributes
    ----------
    vertices : ndarray of float32, shape (n, 3)
        Index coordinates.
    faces : ndarray of int32, shape (m, 3)
    normals : ndarray of float32, shape (n, 3)
        Unit vectors in real space.
    n_positive : tuple of two int
        Vertices and faces of the positive phase, which come first.
    on_points : int
        Number of vertices that lie on a lattice point: several of them may be one.
    smallest, largest : float
        Least and greatest magnitude of a value; `largest` is infinite where not all values are finite, and then, or
        where there is no surface, the arrays are empty.
    """

    vertices: np.ndarray
    faces: np.ndarray
    normals: np.ndarray
    n_positive: tuple[int, int]
    on_points: int
    smallest: float
    largest: float


def marching_cubes(
    values: "np.ndarray | DeviceArray",
    level: float,
    faces: np.ndarray,
    tests: np.ndarray,
    interior: np.ndarray,
    tiling: np.ndarray,
    corners: np.ndarray,
    to_real: np.ndarray,
    flip: bool,
    target: Target,
) -> Mesh:
    """Surfaces on which values are `level` and `-level`.

    Each lattice edge that a surface meets owns one vertex of it, and faces are the same in every run.

    Parameters
    ----------
    values : ndarray, or array on the device, of the precision of the target, shape (nx, ny, nz)
        2 points or more along each axis, `MOST_POINTS` at most.
    level
        Positive.
    faces, tests, interior, tiling, corners : ndarrays of int32
        The cases of a cell: see `orbitile.surfaces.isosurface`.
    to_real : ndarray, shape (3, 3)
        Takes a gradient with respect to the index, as a column, to one in real space.
    flip
        Whether to turn the triangles round: for a left-handed lattice.
    target
        The device of the current session, and the precision of the values.

    Raises
    ------
    DeviceUnavailable
        When the mesh would have more than 715 million triangles.
    """
    nx, ny, nz = shape = tuple(values.shape)
    if min(shape) < 2 or nx * ny * nz > MOST_POINTS:
        raise ValueError(f"lattice: expected 2 points or more along each axis, {MOST_POINTS} in all, got {shape}")
    count, write = _kernels(target)
    words, held = -(-nz // 32), _held
    tables = {"faces": faces, "tests": tests, "interior": interior, "tiling": tiling, "corners": corners}
    # CUDA's driver copies arrays faster than the compiler does, and kernels that take no others are launched faster
    on_cuda = target.device == "cuda"
    summary: Any = held.integers("summary", (7,)) if on_cuda else np.zeros(7, np.int32)
    run = held.launch if on_cuda else launch
    common = {
        "nx": nx,
        "ny": ny,
        "nz": nz,
        "level": float(level),
        "values": values,
        **{name: held.upload(name, table, np.int32) for name, table in tables.items()},
        "above": held.array("above", ti.u32, (2 * nx * ny * words,)),
        "edges": held.array("edges", ti.types.vector(4, ti.u32), (2 * nx * ny * words,)),
        "first": held.array("first", ti.types.vector(2, ti.i32), (2 * nx * ny * words,)),
        "row": held.array("row", ti.types.vector(2, ti.i32), (2 * nx * ny,)),
        "summary": summary,
    }
    n_parts = -(-2 * nx * ny // _GROUP)
    extent = held.array("extent", ti.types.vector(2, ti.i32), (nx * ny,))
    parts = held.array("parts", ti.types.vector(2, ti.i32), (n_parts + -(-n_parts // _GROUP),))
    run(count, **common, extent=extent, parts=parts)
    found = _on_host(summary)
    n_first, m_first, n, m = found[:4].tolist()
    smallest, largest = found[4:6].view(np.float32).tolist()
    if not np.isfinite(largest):
        largest, n, m = np.inf, 0, 0
    if 3 * m >= 1 << 31:
        raise DeviceUnavailable(f"a surface of {m} triangles is too large; choose another isovalue or lattice")
    vertices, normals = np.empty((n, 3), np.float32), np.empty((n, 3), np.float32)
    triangles = np.empty((m, 3), np.int32)
    if m:
        rotation = held.upload("rotation", np.ascontiguousarray(to_real), np.float32)
        mesh = {"vertices": vertices, "normals": normals, "triangles": triangles}
        written: dict[str, Any] = dict(mesh)
        if on_cuda:
            written = {
                name: held.array(name, ti.i32 if part is triangles else ti.f32, part.shape)
                for name, part in mesh.items()
            }
        run(write, **common, rotation=rotation, flip=int(flip), **written)
        if on_cuda:
            for name, part in mesh.items():
                to_numpy(written[name], part)
    return Mesh(
        vertices, triangles, normals, (n_first, m_first), int(_on_host(summary)[6]) if m else 0, smallest, largest
    )


def _on_host(summary: Any) -> np.ndarray:
    return summary if isinstance(summary, np.ndarray) else to_numpy(summary)


_held = Workspace(np.dtype(np.float32))


@lru_cache
def _kernels(target: Target) -> tuple:
    """The counting and the writing kernel for values of one precision on one device."""
    Values = ti.types.ndarray(number(target.dtype), 3)
    Integers, Words = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(ti.u32, 1)
    Pairs, Edges = ti.types.ndarray(ti.types.vector(2, ti.i32), 1), ti.types.ndarray(ti.types.vector(4, ti.u32), 1)
    Points, Triangles = ti.types.ndarray(ti.f32, 2), ti.types.ndarray(ti.i32, 2)
    Rotation = ti.types.ndarray(ti.f32, 2)

    @ti.kernel
    def count(
        nx: ti.i32,
        ny: ti.i32,
        nz: ti.i32,
        level: ti.f32,
        values: Values,  # (nx, ny, nz)
        faces: Integers,  # see `orbitile.surfaces.isosurface`, also for the other tables
        tests: Integers,
        interior: Integers,
        tiling: Integers,
        corners: Integers,
        above: Words,  # (phases, nx, ny, words) one bit a point
        edges: Edges,  # the same: bits of edges that the surface meets along each axis, bits of cells that it crosses
        first: Pairs,  # the same: first vertex and first triangle, counted from the first of the row
        row: Pairs,  # (phases, nx, ny) first vertex and first triangle
        summary: Integers,  # vertices and triangles of the first phase, and in all; least and greatest magnitude
        extent: Pairs,  # (nx, ny) least and greatest magnitude
        parts: Pairs,  # groups of rows, then groups of those: first vertex and first triangle
    ):
        words = (nz + 31) // 32
        n_rows = nx * ny

        for r in range(n_rows):
            i, j = r // ny, r % ny
            # magnitudes in order, and infinities and NaN behind all others: the bits of a float without its sign
            least, most = 0x7FFFFFFF, 0
            for w in range(words):
                positive, negative = u32(0), u32(0)
                if 32 * w + 32 <= nz:
                    for s in range(32):  # a loop of known length, which becomes SIMD code
                        value = ti.cast(values[i, j, 32 * w + s], ti.f32)
                        positive |= ti.cast(value > level, u32) << s
                        negative |= ti.cast(-value > level, u32) << s
                        magnitude = ti.bit_cast(value, ti.i32) & 0x7FFFFFFF
                        least, most = ti.min(least, magnitude), ti.max(most, magnitude)
                else:
                    for s in range(nz - 32 * w):
                        value = ti.cast(values[i, j, 32 * w + s], ti.f32)
                        positive |= ti.cast(value > level, u32) << s
                        negative |= ti.cast(-value > level, u32) << s
                        magnitude = ti.bit_cast(value, ti.i32) & 0x7FFFFFFF
                        least, most = ti.min(least, magnitude), ti.max(most, magnitude)
                above[r * words + w] = positive
                above[(n_rows + r) * words + w] = negative
            extent[r] = ti.Vector([least, most])
            if r == 0:
                summary[4], summary[5], summary[6] = 0x7FFFFFFF, 0, 0

        for r in range(2 * n_rows):
            phase, i, j = r // n_rows, (r // ny) % nx, r % ny
            in_x, in_y = i + 1 < nx, j + 1 < ny
            n, m = 0, 0
            # words of this row and its three neighbours, and what comes next in them
            b00, b01, b10, b11 = above[r * words], u32(0), u32(0), u32(0)
            if in_y:
                b01 = above[(r + 1) * words]
            if in_x:
                b10 = above[(r + ny) * words]
            if in_x and in_y:
                b11 = above[(r + ny + 1) * words]
            for w in range(words):
                here = r * words + w
                n00, n01, n10, n11 = u32(0), u32(0), u32(0), u32(0)
                if w + 1 < words:
                    n00 = above[here + 1]
                    if in_y:
                        n01 = above[here + words + 1]
                    if in_x:
                        n10 = above[here + ny * words + 1]
                    if in_x and in_y:
                        n11 = above[here + (ny + 1) * words + 1]
                s00, s01 = (b00 >> 1) | (n00 << 31), (b01 >> 1) | (n01 << 31)
                s10, s11 = (b10 >> 1) | (n10 << 31), (b11 >> 1) | (n11 << 31)
                last = nz - 1 - 32 * w
                valid = ~u32(0)
                if last < 32:
                    valid = (u32(1) << last) - u32(1)
                along_x, along_y, crossed = u32(0), u32(0), u32(0)
                along_z = (b00 ^ s00) & valid
                if in_x:
                    along_x = b00 ^ b10
                if in_y:
                    along_y = b00 ^ b01
                if in_x and in_y:
                    some = b00 | s00 | b01 | s01 | b10 | s10 | b11 | s11
                    every = b00 & s00 & b01 & s01 & b10 & s10 & b11 & s11
                    crossed = some & ~every & valid
                edges[here] = ti.Vector([along_x, along_y, along_z, crossed])
                first[here] = ti.Vector([n, m])
                n += bits_of(along_x) + bits_of(along_y) + bits_of(along_z)
                while crossed != 0:
                    bit = lowest_bit(crossed)
                    crossed &= crossed - u32(1)
                    pattern = pattern_of(bit, b00, s00, b01, s01, b10, s10, b11, s11)
                    cell = tiling_of(
                        pattern=pattern, phase=phase, i=i, j=j, k=32 * w + bit, level=level, values=values,
                        faces=faces, tests=tests, interior=interior, tiling=tiling,
                    )  # fmt: skip
                    m += (cell >> 1) & 15
                    n += cell & 1
                b00, b01, b10, b11 = n00, n01, n10, n11
            row[r] = ti.Vector([n, m])

        # sums over all rows before each, by groups of rows and groups of those
        n_parts = (2 * n_rows + _GROUP - 1) // _GROUP
        for g in range(n_parts):
            total = ti.Vector([0, 0])
            for r in range(g * _GROUP, ti.min((g + 1) * _GROUP, 2 * n_rows)):
                size = row[r]
                row[r] = total
                total += size
            parts[g] = total
            if g * _GROUP < n_rows:
                least, most = 0x7FFFFFFF, 0
                for r in range(g * _GROUP, ti.min((g + 1) * _GROUP, n_rows)):
                    least, most = ti.min(least, extent[r][0]), ti.max(most, extent[r][1])
                ti.atomic_min(summary[4], least)
                ti.atomic_max(summary[5], most)

        n_groups = (n_parts + _GROUP - 1) // _GROUP
        for g in range(n_groups):
            total = ti.Vector([0, 0])
            for part in range(g * _GROUP, ti.min((g + 1) * _GROUP, n_parts)):
                size = parts[part]
                parts[part] = total
                total += size
            parts[n_parts + g] = total

        for _ in range(1):
            total = ti.Vector([0, 0])
            for g in range(n_parts, n_parts + n_groups):
                size = parts[g]
                parts[g] = total
                total += size
            summary[2], summary[3] = total[0], total[1]

        for r in range(2 * n_rows):
            part = r // _GROUP
            before = row[r] + parts[part] + parts[n_parts + part // _GROUP]
            row[r] = before
            if r == n_rows:
                summary[0], summary[1] = before[0], before[1]

    @ti.kernel
    def write(
        nx: ti.i32,
        ny: ti.i32,
        nz: ti.i32,
        level: ti.f32,
        values: Values,  # as in `count`, down to summary
        faces: Integers,
        tests: Integers,
        interior: Integers,
        tiling: Integers,
        corners: Integers,
        above: Words,
        edges: Edges,
        first: Pairs,
        row: Pairs,
        summary: Integers,  # its seventh is the number of vertices on lattice points
        rotation: Rotation,  # (3, 3)
        flip: ti.i32,
        vertices: Points,  # (n, 3)
        normals: Points,  # (n, 3)
        triangles: Triangles,  # (m, 3)
    ):
        words = (nz + 31) // 32
        n_rows = nx * ny
        for here in range(2 * n_rows * words):
            found = edges[here]
            if (found[0] | found[1] | found[2] | found[3]) != 0:
                r, start = here // words, here % words * 32
                phase, i, j = r // n_rows, (r // ny) % nx, r % ny
                turned = ti.Matrix(
                    [
                        [rotation[0, 0], rotation[0, 1], rotation[0, 2]],
                        [rotation[1, 0], rotation[1, 1], rotation[1, 2]],
                        [rotation[2, 0], rotation[2, 1], rotation[2, 2]],
                    ]
                )
                n, m = row[r][0] + first[here][0], row[r][1] + first[here][1]
                on_points = 0
                for axis in range(3):
                    move = ti.Vector(
                        [ti.cast(axis == 0, ti.i32), ti.cast(axis == 1, ti.i32), ti.cast(axis == 2, ti.i32)]
                    )
                    left = edges[here][axis]
                    while left != 0:
                        k = start + lowest_bit(left)
                        left &= left - u32(1)
                        low = ti.abs(above_level(phase, i, j, k, level, values))
                        high = ti.abs(above_level(phase, i + move[0], j + move[1], k + move[2], level, values))
                        share = low / ti.max(low + high, 1e-37)
                        on_points += put_vertex(
                            n=n, phase=phase, i=i, j=j, k=k, move=move, share=share * move, nx=nx, ny=ny, nz=nz,
                            rotation=turned, values=values, vertices=vertices, normals=normals,
                        )  # fmt: skip
                        n += 1
                left = found[3]
                if left != 0:
                    b00, b01, b10, b11 = above[here], above[here + words], above[here + ny * words], u32(0)
                    b11 = above[here + (ny + 1) * words]
                    n00, n01, n10, n11 = u32(0), u32(0), u32(0), u32(0)
                    if start + 32 < nz:
                        n00, n01 = above[here + 1], above[here + words + 1]
                        n10, n11 = above[here + ny * words + 1], above[here + (ny + 1) * words + 1]
                    s00, s01 = (b00 >> 1) | (n00 << 31), (b01 >> 1) | (n01 << 31)
                    s10, s11 = (b10 >> 1) | (n10 << 31), (b11 >> 1) | (n11 << 31)
                    while left != 0:
                        bit = lowest_bit(left)
                        left &= left - u32(1)
                        k = start + bit
                        pattern = pattern_of(bit, b00, s00, b01, s01, b10, s10, b11, s11)
                        cell = tiling_of(
                            pattern=pattern, phase=phase, i=i, j=j, k=k, level=level, values=values, faces=faces,
                            tests=tests, interior=interior, tiling=tiling,
                        )  # fmt: skip
                        centre = n
                        if cell & 1:
                            # nearer to the corners at which the value is nearer to the level
                            share, weights = ti.Vector([0.0, 0.0, 0.0]), 0.0
                            for c in range(8):
                                offset = ti.Vector([c >> 2, (c >> 1) & 1, (c ^ (c >> 1)) & 1])
                                weight = 1.0 / (ti.abs(corner(c, phase, i, j, k, level, values)) + _TINY)
                                share += weight * offset
                                weights += weight
                            on_points += put_vertex(
                                n=n, phase=phase, i=i, j=j, k=k, move=ti.Vector([1, 1, 1]), share=share / weights,
                                nx=nx, ny=ny, nz=nz, rotation=turned, values=values, vertices=vertices,
                                normals=normals,
                            )  # fmt: skip
                            n += 1
                        for triangle in range((cell >> 1) & 15):
                            for c in range(3):
                                code = corners[(cell >> 5) + 3 * triangle + c]
                                number = centre
                                if (code & 3) != 3:
                                    owner = r + ((code >> 4) & 1) * ny + ((code >> 3) & 1)
                                    number = vertex_on(code & 3, owner, k + ((code >> 2) & 1), words, edges, first, row)
                                at = c
                                if flip != 0:
                                    at = 2 - c
                                triangles[m, at] = number
                            m += 1
                if on_points != 0:
                    ti.atomic_add(summary[6], on_points)

    return quick(count), quick(write)


@ti.func
def bits_of(word):
    """How many bits of a word are set."""
    return ti.cast(ti.math.popcnt(word), ti.i32)


@ti.func
def lowest_bit(word):
    """Place of the lowest bit that is set."""
    return bits_of((word & (~word + u32(1))) - u32(1))


@ti.func
def above_level(phase, i, j, k, level, values: ti.template()):
    """Value less the level, for the negative phase of the negative."""
    value = ti.cast(values[i, j, k], ti.f32)
    return ti.cast(1 - 2 * phase, ti.f32) * value - level


@ti.func
def pattern_of(bit, b00, s00, b01, s01, b10, s10, b11, s11):
    """Corners of a cell that are above the level; s.. are the words of b.. shifted by one point."""
    pattern = 0
    for corner, word in ti.static(enumerate((b00, s00, s01, b01, b10, s10, s11, b11))):
        pattern |= ti.cast((word >> bit) & u32(1), ti.i32) << corner
    return pattern


@ti.func
def corner(c, phase, i, j, k, level, values: ti.template()):
    """Value at a corner of a cell, less the level."""
    return above_level(phase, i + (c >> 2), j + ((c >> 1) & 1), k + ((c ^ (c >> 1)) & 1), level, values)


@ti.func
def tiling_of(
    pattern,
    phase,
    i,
    j,
    k,
    level,
    values: ti.template(),
    faces: ti.template(),
    tests: ti.template(),
    interior: ti.template(),
    tiling: ti.template(),
):
    """Entry of `tiling` for a cell, found by the tests on its faces and inside."""
    entry = 64 * pattern
    joined = 0
    to_test = tests[pattern]
    if to_test != 0:
        for face in range(6):
            if (to_test >> face) & 1:
                # the saddle of the bilinear function on a face is above the level if the product of the values on
                # the diagonal above is the larger one; compared like this, the cells on both sides find the same
                above, below = 1.0, 1.0
                for n in range(4):
                    value = corner(faces[4 * face + n], phase, i, j, k, level, values)
                    if (pattern >> faces[4 * face + n]) & 1:
                        above *= value
                    else:
                        below *= value
                entry += ti.cast(above >= below, ti.i32) << face
        kind = interior[entry]
        if kind == 1:
            joined = joined_across_first_axis(phase, i, j, k, level, values)
        elif kind > 1:
            joined = joined_across_edge(kind - 2, phase, i, j, k, level, values)
    return tiling[2 * entry + joined]


@ti.func
def joined_across_first_axis(phase, i, j, k, level, values: ti.template()):
    """Whether parts above the level are joined in a plane across the first axis.

    The product of the values on one diagonal less that on the other is a t^2 + b t + c at the share t of the axis;
    the plane is the one where that has its extremum.
    """
    low, rise = ti.Vector([0.0, 0.0, 0.0, 0.0]), ti.Vector([0.0, 0.0, 0.0, 0.0])
    for c in range(4):
        low[c] = corner(c, phase, i, j, k, level, values)
        rise[c] = corner(c + 4, phase, i, j, k, level, values) - low[c]
    a = rise[0] * rise[2] - rise[1] * rise[3]
    b = low[2] * rise[0] + low[0] * rise[2] - low[1] * rise[3] - low[3] * rise[1]
    end = 2.0 * ti.abs(a)
    part = ti.select(a < 0.0, b, -b)  # t = -b / 2a, between 0 and 1
    joined = 0
    if part >= 0.0 and part <= end:
        at = low + rise * (part / ti.max(end, 1e-37))
        first, second = at[0] * at[2], at[1] * at[3]
        n = 0
        for c in range(4):
            n += ti.cast(at[c] >= 0.0, ti.i32)
        if n > 2:
            joined = 1
        elif n == 2 and at[0] >= 0.0 and at[2] >= 0.0:
            joined = ti.cast(first > second, ti.i32)
        elif n == 2 and at[1] >= 0.0 and at[3] >= 0.0:
            joined = ti.cast(first < second, ti.i32)
    return joined


@ti.func
def joined_across_edge(place, phase, i, j, k, level, values: ti.template()):
    """Whether parts above the level are joined in the plane across an edge, where the surface meets the edge.

    They are if at least two of the other three parallel edges are above the level in that plane.
    """
    along = 4 >> (place & 3)  # one bit for each axis, the first one highest, as in a place
    start = (place >> 2) & 7
    across, other = 1, 4
    if along == 1:
        across = 2
    elif along == 4:
        other = 2
    t, n = 0.0, 0
    for step in range(4):
        low = start ^ ((step & 1) * across) ^ ((step >> 1) * other)
        high = low ^ along
        f = above_level(phase, i + (low >> 2), j + ((low >> 1) & 1), k + (low & 1), level, values)
        g = above_level(phase, i + (high >> 2), j + ((high >> 1) & 1), k + (high & 1), level, values)
        if step == 0:
            t = f / (f - g)
        else:
            n += ti.cast(f + (g - f) * t >= 0.0, ti.i32)
    return ti.cast(n >= 2, ti.i32)


@ti.func
def gradient(i, j, k, nx, ny, nz, values: ti.template()):
    """With respect to the index."""
    xl, xh = ti.max(i - 1, 0), ti.min(i + 1, nx - 1)
    yl, yh = ti.max(j - 1, 0), ti.min(j + 1, ny - 1)
    zl, zh = ti.max(k - 1, 0), ti.min(k + 1, nz - 1)
    return ti.Vector(
        [
            ti.cast(values[xh, j, k] - values[xl, j, k], ti.f32) / ti.cast(xh - xl, ti.f32),
            ti.cast(values[i, yh, k] - values[i, yl, k], ti.f32) / ti.cast(yh - yl, ti.f32),
            ti.cast(values[i, j, zh] - values[i, j, zl], ti.f32) / ti.cast(zh - zl, ti.f32),
        ]
    )


@ti.func
def put_vertex(
    n,
    phase,
    i,
    j,
    k,
    move,
    share,
    nx,
    ny,
    nz,
    rotation,
    values: ti.template(),
    vertices: ti.template(),
    normals: ti.template(),
):
    """A vertex at `share`, with the gradient between point (i, j, k) and the one at `move`; on how many points."""
    place = ti.Vector([ti.cast(i, ti.f32), ti.cast(j, ti.f32), ti.cast(k, ti.f32)]) + share
    weight = share.max()
    slope = ti.Vector([0.0, 0.0, 0.0])
    for end in range(2):
        part = ti.select(end == 0, 1.0 - weight, weight)
        slope += part * gradient(i + end * move[0], j + end * move[1], k + end * move[2], nx, ny, nz, values)
    normal = rotation @ slope * ti.cast(2 * phase - 1, ti.f32)
    # lengths may lie far outside of what can be squared
    size = ti.max(ti.abs(normal).max(), 1e-37)
    normal /= size
    normal /= ti.max(normal.norm(), 1e-37)
    on_point = 1
    for axis in ti.static(range(3)):
        vertices[n, axis] = place[axis]
        normals[n, axis] = normal[axis]
        if place[axis] != ti.floor(place[axis]):
            on_point = 0
    return on_point


@ti.func
def vertex_on(axis, r, k, words, edges: ti.template(), first: ti.template(), row: ti.template()):
    """Number of the vertex on an edge that begins at point k of row r."""
    here = r * words + (k >> 5)
    on = edges[here]
    before = (u32(1) << (k & 31)) - u32(1)
    n = row[r][0] + first[here][0]
    if axis == 0:
        n += bits_of(on[0] & before)
    elif axis == 1:
        n += bits_of(on[0]) + bits_of(on[1] & before)
    else:
        n += bits_of(on[0]) + bits_of(on[1]) + bits_of(on[2] & before)
    return n
