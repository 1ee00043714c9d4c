"""The kernels of marching cubes, which count and write; see `marching_cubes` for the steps that they take."""

from functools import lru_cache

from ._taichi import number, quick, ti
from .cube_cells import above_level, bits_of, corner, lowest_bit, pattern_of, put_vertex, tiling_of, vertex_on
from .target import Target

GROUP = 64
"""Rows whose counts a thread adds up."""

_TINY = 2.0**-52
"""Added to distances from the level before they are divided by."""


@lru_cache
def marching_cubes_kernels(target: Target) -> tuple:
    """The counting and the writing kernel for values of one precision on one device."""
    Values = ti.types.ndarray(number(target.dtype), 3)
    Integers, Words = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(ti.u32, 1)
    Pairs, Edges = ti.types.ndarray(ti.types.vector(2, ti.i32), 1), ti.types.ndarray(ti.types.vector(4, ti.u32), 1)
    Points, Triangles = ti.types.ndarray(ti.f32, 2), ti.types.ndarray(ti.i32, 2)
    Rotation = ti.types.ndarray(ti.f32, 2)
    u32 = ti.u32

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
                    cell = tiling_of(pattern, phase, i, j, 32 * w + bit, level, values, faces, tests, interior, tiling)
                    m += (cell >> 1) & 15
                    n += cell & 1
                b00, b01, b10, b11 = n00, n01, n10, n11
            row[r] = ti.Vector([n, m])

        # sums over all rows before each, by groups of rows and groups of those
        n_parts = (2 * n_rows + GROUP - 1) // GROUP
        for g in range(n_parts):
            total = ti.Vector([0, 0])
            for r in range(g * GROUP, ti.min((g + 1) * GROUP, 2 * n_rows)):
                size = row[r]
                row[r] = total
                total += size
            parts[g] = total
            if g * GROUP < n_rows:
                least, most = 0x7FFFFFFF, 0
                for r in range(g * GROUP, ti.min((g + 1) * GROUP, n_rows)):
                    least, most = ti.min(least, extent[r][0]), ti.max(most, extent[r][1])
                ti.atomic_min(summary[4], least)
                ti.atomic_max(summary[5], most)

        n_groups = (n_parts + GROUP - 1) // GROUP
        for g in range(n_groups):
            total = ti.Vector([0, 0])
            for part in range(g * GROUP, ti.min((g + 1) * GROUP, n_parts)):
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
            part = r // GROUP
            before = row[r] + parts[part] + parts[n_parts + part // GROUP]
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
                            n, phase, i, j, k, move, share * move, nx, ny, nz, turned, values, vertices, normals
                        )
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
                        cell = tiling_of(pattern, phase, i, j, k, level, values, faces, tests, interior, tiling)
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
                                n, phase, i, j, k, ti.Vector([1, 1, 1]), share / weights,
                                nx, ny, nz, turned, values, vertices, normals,
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
