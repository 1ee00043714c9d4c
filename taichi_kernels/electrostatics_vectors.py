"""The potential of Gaussian charge distributions on a CPU: sixteen distributions at a time, as vectors.

The formulas are those of `electrostatics`. Taichi turns arithmetic on vectors that are elements of arrays into SIMD
code, but has no arrays of such vectors among its local variables: the recurrences of each degree are written out as
source text, one variable a quantity. Distributions are sorted so that sixteen neighbours have similar exponents and
places: mostly they are all far from a point, where no table is needed.
"""

import linecache
from functools import lru_cache

import numpy as np
import taichi as ti

from .electrostatics import _STEP, _TABLE_END, _TAYLOR, _boys_table, powers_of
from .gaussian import DTYPES
from .orbital_points import CELL, split_position

LANES = 16


def add_potential(
    points: np.ndarray,
    classes: "list[tuple[int, np.ndarray, np.ndarray, np.ndarray]]",
    precision: str,
    total: np.ndarray,
) -> None:
    """Add the potential of distributions to `total`; arguments as of `electrostatics.potential_at_points`."""
    real = np.float32 if precision == "single" else np.float64
    table = np.ascontiguousarray(_boys_table(precision), real)
    cell, remainder = split_position(points)
    remainder = np.ascontiguousarray(remainder, real)
    for degree, centre, exponent, hermite in classes:
        blocks = -(-len(exponent) // LANES)
        place = np.zeros(blocks * LANES, np.intp)
        place[: len(exponent)] = _coherent(centre, exponent)
        place[len(exponent) :] = place[len(exponent) - 1]
        counts = (np.arange(blocks * LANES) < len(exponent))[:, None]
        centre_cell, centre_remainder = split_position(centre[place])
        _kernel(precision, degree)(
            len(points),
            blocks,
            cell,
            remainder,
            _lanes(centre_cell, np.int32),
            _lanes(np.column_stack([centre_remainder, exponent[place]]), real),
            _lanes(hermite[place] * counts, real),
            table,
            total,
        )
        ti.sync()


def _lanes(array: np.ndarray, dtype: type) -> np.ndarray:
    """From (n, columns) to (blocks, columns, lanes)."""
    return np.ascontiguousarray(array.reshape(-1, LANES, array.shape[1]).transpose(0, 2, 1), dtype)


def _coherent(centre: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Order in which neighbours are of similar exponent and place: octaves of the exponent, then cells of 2 bohr."""
    cells = np.floor((centre - centre.min(axis=0)) / 2.0).astype(np.int64)
    morton = np.zeros(len(centre), np.int64)
    for bit in range(16):
        for axis in range(3):
            morton |= ((cells[:, axis] >> bit) & 1) << (3 * bit + axis)
    return np.lexsort((exponent, morton, np.floor(np.log2(exponent))))


def _source(degree: int, n_taylor: int) -> str:
    """Source of the kernel for one degree."""
    powers = powers_of(degree)
    place = {p: n for n, p in enumerate(powers)}
    lines = []
    held: dict[int, str] = {}
    for m in range(degree, -1, -1):
        now: dict[int, str] = {0: f"b{m}"}
        for s, p in enumerate(powers):
            if s == 0 or sum(p) > degree - m:
                continue
            axis = next(n for n in range(3) if p[n] > 0)
            once = tuple(q - (n == axis) for n, q in enumerate(p))
            expression = f"d{axis} * {held[place[once]]}"
            if p[axis] > 1:
                twice = tuple(q - 2 * (n == axis) for n, q in enumerate(p))
                expression += f" + {p[axis] - 1}.0 * {held[place[twice]]}"
            now[s] = f"r{m}_{s}"
            lines.append(f"{now[s]} = {expression}")
        held = now
    lines += [f"value = h[b, 0] * {held[0]}"] + [f"value += h[b, {s}] * {held[s]}" for s in range(1, len(powers))]
    downward = [f"b{m - 1} = (2.0 * t * b{m} + decay) * real({1.0 / (2 * m - 1)!r})" for m in range(degree, 0, -1)]
    upward = [f"a{m + 1} = a{m} * (inverse * {m + 0.5})" for m in range(degree)]
    scaled = ["factor = -2.0 * p"] if degree else []
    for m in range(1, degree + 1):
        scaled += [f"b{m} *= factor"] + (["factor *= -2.0 * p"] if m < degree else [])
    taylor = [f"f = table[row, {degree + n_taylor}]"] + [
        f"f = f * (x * real({1.0 / (k + 1)!r})) + table[row, {degree + k}]" for k in range(n_taylor - 1, -1, -1)
    ]

    def block(statements: list[str], depth: int) -> str:
        return "".join("    " * depth + statement + "\n" for statement in statements)

    return (
        "@ti.kernel\n"
        "def kernel(n_points: ti.i32, n_blocks: ti.i32, cell: I3, remainder: R3, c: IL, g: RL, h: RL, table: R2, "
        "out: W1):\n"
        "    ti.loop_config(block_dim=16)\n"
        "    for i in range(n_points):\n"
        "        here = cell[i]\n"
        "        rest = remainder[i]\n"
        "        total = W(0.0)\n"
        "        for b in range(n_blocks):\n"
        + block(
            [f"d{n} = ti.cast(c[b, {n}] - here[{n}], real) * real(CELL) + (g[b, {n}] - rest[{n}])" for n in range(3)]
            + ["p = g[b, 3]", "t = p * (d0 * d0 + d1 * d1 + d2 * d2)", "inverse = 1.0 / t"]
            + ["a0 = ti.sqrt(inverse) * real(0.886226925452758)", *upward]
            + [f"b{m} = a{m}" for m in range(degree + 1)]
            + ["if t.min() < END:"],
            3,
        )
        + block([f"b{degree} = L(0.0)", "decay = L(0.0)", "for s in range(LANES):"], 4)
        + block(
            ["u = ti.min(t[s], END)", "row = ti.cast(u * real(1 / STEP) + real(0.5), ti.i32)"]
            + ["x = real(STEP) * ti.cast(row, real) - u", *taylor, f"b{degree}[s] = f"]
            + (["decay[s] = ti.exp(-u)"] if degree else []),
            5,
        )
        + block([*downward, "far = t >= END", *(f"b{m} = ti.select(far, a{m}, b{m})" for m in range(degree + 1))], 4)
        + block([*scaled, *lines, "total += ti.cast(value, ti.f64)"], 3)
        + "        out[i] = out[i] + total.sum()\n"
    )


@lru_cache
def _kernel(precision: str, degree: int) -> object:
    real = DTYPES[precision]
    vector = ti.types.vector
    L = vector(LANES, real)
    names = {
        "ti": ti,
        "real": real,
        "CELL": CELL,
        "STEP": _STEP,
        "END": _TABLE_END[precision],
        "LANES": LANES,
        "L": L,
        "W": vector(LANES, ti.f64),
        "I3": ti.types.ndarray(vector(3, ti.i32), 1),
        "R3": ti.types.ndarray(vector(3, real), 1),
        "IL": ti.types.ndarray(vector(LANES, ti.i32), 2),
        "RL": ti.types.ndarray(L, 2),
        "R2": ti.types.ndarray(real, 2),
        "W1": ti.types.ndarray(ti.f64, 1),
    }
    text = _source(degree, _TAYLOR[precision])
    file = f"<potential of degree {degree}, {precision}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # where Taichi looks for the source
    exec(compile(text, file, "exec"), names)
    return names["kernel"]
