"""What marching cubes does with one cell, one lattice edge, or one word of bits: functions of its kernels."""

from ._taichi import ti

u32 = ti.u32


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
