r"""The kernels between Gaussians and the points of a quadrature; see `quadrature` for what they compute.

With :math:`y = \sqrt{z}\,(r - P)` a Gaussian of degree d is a polynomial of y times :math:`e^{-y^2}`. Each degree has its
sums written out as source text, by Horner's rule and, for the way back, its transposed form: on a GPU a thread takes one
point, 32 neighbours those of a cell; on a CPU they are taken as vectors that are elements of arrays, which become SIMD
code. Degrees beyond `WRITTEN_OUT` have kernels with loops.
"""

import linecache
from functools import lru_cache

import numpy as np

from ._taichi import lightly_optimised, number, ti
from .gaussian import exponential, vector_exponential
from .hermite_tables import HIGHEST, powers_of
from .target import Target

POINTS = 32
"""Points of a cell."""

GROUP = 16
"""Gaussians of a group; one number says which of them, counted from the first, reach a cell."""

WRITTEN_OUT = 8
"""Degree up to which sums are written out."""

_CHUNK = 16
"""Cells that a Gaussian adds up before the sum goes on in double precision."""

_BLOCK = {"cpu": 16, "cuda": 128, "vulkan": 128}


def lanes_of(target: Target) -> int:
    """Points that are one element of an array: a vector of a CPU, one on a GPU."""
    return {"single": 16, "double": 8}[target.precision] if target.on_host else 1


def _vectors_of(target: Target) -> int:
    """Vectors that a thread takes at once."""
    return 2 if target.on_host else 1


def threads_of(target: Target) -> int:
    """Threads that share a cell."""
    return POINTS // (lanes_of(target) * _vectors_of(target))


def _block(statements: list[str], depth: int) -> str:
    return "".join("    " * depth + statement + "\n" for statement in statements)


def _distances(vector: int) -> list[str]:
    """Scaled coordinates x, y, z about the Gaussian, and its value."""
    lines = [f"{axis}{vector} = (points[{n} * stride + at + {vector}] + s{n}) * root" for n, axis in enumerate("xyz")]
    x, y, z = (f"{axis}{vector}" for axis in "xyz")
    return [*lines, f"e{vector} = exp(-({x} * {x} + {y} * {y} + {z} * {z}))"]


_SHIFTS = [f"s{n} = (origin[cell, {n}] - gaussian[q, {n}]) - gaussian[q, {n + 3}]" for n in range(3)]
"""From the origin of a cell to a Gaussian: the difference of the first two is exact."""


class _Horner:
    """Statements of Horner's rule for a value and derivatives, which leave out what is zero."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._n = 0

    def named(self, expression: str) -> str:
        self._n += 1
        self.lines.append(f"t{self._n} = {expression}")
        return f"t{self._n}"

    def step(self, total: str | None, factor: str, added: str | None) -> str | None:
        """total * factor + added, where None is zero."""
        if total is None:
            return added
        return self.named(f"{total} * {factor}" + (f" + {added}" if added is not None else ""))


def _polynomial(degree: int, gradient: bool, vector: int) -> tuple[list[str], list[str]]:
    """Statements for a polynomial and its gradient, and the names of what they leave behind."""
    place = {powers: n for n, powers in enumerate(powers_of(degree))}
    x, y, z = (f"{axis}{vector}" for axis in "xyz")
    rule = _Horner()
    solid: list[str | None] = [None] * 4  # value, derivatives along x, y, z
    for k in range(degree, -1, -1):
        plane: list[str | None] = [None] * 3
        for j in range(degree - k, -1, -1):
            line: list[str | None] = [None] * 2
            for i in range(degree - k - j, -1, -1):
                if gradient:
                    line[1] = rule.step(line[1], x, line[0])
                line[0] = rule.step(line[0], x, f"h[row, {place[i, j, k]}]")
            if gradient:
                plane[2] = rule.step(plane[2], y, plane[0])
                plane[1] = rule.step(plane[1], y, line[1])
            plane[0] = rule.step(plane[0], y, line[0])
        if gradient:
            solid[3] = rule.step(solid[3], z, solid[0])
            solid[1], solid[2] = rule.step(solid[1], z, plane[1]), rule.step(solid[2], z, plane[2])
        solid[0] = rule.step(solid[0], z, plane[0])
    names = [part.replace("t", f"t{vector}_") if part and part[0] == "t" else part or "0.0" for part in solid]
    lines = [_renamed(line, vector) for line in rule.lines]
    return lines, names


def _renamed(line: str, vector: int) -> str:
    """The statement with its own temporary variables for each vector."""
    words = line.split(" ")
    return " ".join(f"t{vector}_{w[1:]}" if w[0] == "t" and w[1:].isdigit() else w for w in words)


def _density_source(degree: int, gradient: bool, vectors: int) -> str:
    n_sums = 4 if gradient else 1
    each = [(k, v) for v in range(vectors) for k in range(n_sums)]
    inner: list[str] = []
    for v in range(vectors):
        lines, (value, *slopes) = _polynomial(degree, gradient, v)
        inner += _distances(v) + lines
        if gradient:
            inner += [f"p{v} = {value} * e{v}", f"part0_{v} += p{v}", f"e{v} *= root", f"p{v} *= 2.0 * root"]
            for n, axis in enumerate("xyz"):
                slope = f"{slopes[n]} * e{v} - " if slopes[n] != "0.0" else "-"
                inner.append(f"part{n + 1}_{v} += {slope}{axis}{v} * p{v}")
        else:
            inner.append(f"part0_{v} += {value} * e{v}")
    return (
        "@ti.kernel\n"
        "def kernel(n: ti.i32, begin: ti.i32, stride: ti.i32, n_degrees: ti.i32, which: ti.i32, first_slot: ti.i32, "
        "origin: R2, points: L1, starts: I1, listed: I1, gaussian: R2, h: R2, out: W1):\n"
        "    ti.loop_config(block_dim=BLOCK)\n"
        "    for task in range(n):\n"
        "        cell = begin + task // THREADS\n"
        "        at = (begin * THREADS + task) * VECTORS\n"
        + _block([f"total{k}_{v} = W(0.0)" for k, v in each], 2)
        + "        for entry in range(starts[cell * n_degrees + which], starts[cell * n_degrees + which + 1]):\n"
        "            last = listed[entry]\n"
        + _block([f"part{k}_{v} = L(0.0)" for k, v in each], 3)
        + "            for q in range(last // GROUP * GROUP, last + 1):\n"
        + _block(["row = q - first_slot", "root = gaussian[q, 6]", *_SHIFTS, *inner], 4)
        + _block([f"total{k}_{v} += ti.cast(part{k}_{v}, WIDE)" for k, v in each], 3)
        + _block([f"out[{k} * stride + at + {v}] += total{k}_{v}" for k, v in each], 2)
    )


def _moments_source(degree: int, gradient: bool, vectors: int) -> str:
    orders = range(len(powers_of(degree)))
    inner = [
        line for v in range(vectors) for line in [*_distances(v), *_weights(gradient, v), *_raised(degree, gradient, v)]
    ]
    return (
        "@ti.kernel\n"
        "def kernel(n: ti.i32, first_slot: ti.i32, stride: ti.i32, origin: R2, points: L1, starts: I2, cells: I1, "
        "gaussian: R2, values: L1, out: W2):\n"
        "    ti.loop_config(block_dim=BLOCK)\n"
        "    for task in range(n):\n"
        "        slot = task // THREADS\n"
        "        lane = task % THREADS\n"
        "        q = first_slot + slot\n"
        "        root = gaussian[q, 6]\n"
        + _block([f"total{n} = W(0.0)" for n in orders], 2)
        + "        for chunk in range((starts[q, 1] - starts[q, 0] + CHUNK - 1) // CHUNK):\n"
        "            begin = starts[q, 0] + chunk * CHUNK\n"
        + _block([f"m{n} = L(0.0)" for n in orders], 3)
        + "            last = cells[ti.min(begin + CHUNK, starts[q, 1]) - 1]\n"
        "            cell = -1\n"
        "            while cell != last:\n"
        "                cell = cells[begin]\n"
        "                begin += 1\n"
        "                at = (cell * THREADS + lane) * VECTORS\n"
        + _block([*_SHIFTS, *inner], 4)
        + _block([f"total{n} += ti.cast(m{n}, WIDE)" for n in orders], 3)
        + _block([f"out[slot, {n} * THREADS + lane] = total{n}" for n in orders], 2)
    )


def _weights(gradient: bool, vector: int) -> list[str]:
    """Statements for what a polynomial is multiplied by, w, and what its derivatives are, bx, by, bz."""
    v = vector
    if not gradient:
        return [f"w{v} = values[at + {v}] * e{v}"]
    return [
        f"r{v} = e{v} * root",
        *(f"b{axis}{v} = values[{n + 1} * stride + at + {v}] * r{v}" for n, axis in enumerate("xyz")),
        f"w{v} = values[at + {v}] * e{v} - 2.0 * (x{v} * bx{v} + y{v} * by{v} + z{v} * bz{v})",
    ]


def _raised(degree: int, gradient: bool, vector: int) -> list[str]:
    """Statements that multiply the weights by the powers of x, y and z, and add them to the moments."""
    v, place = vector, {powers: n for n, powers in enumerate(powers_of(degree))}
    lines = []
    for i in range(2, degree + 1):
        lines.append(f"x{i}_{v} = {f'x{i - 1}_{v}' if i > 2 else f'x{v}'} * x{v}")
        if gradient:
            lines.append(f"d{i}_{v} = {i}.0 * {f'x{i - 1}_{v}' if i > 2 else f'x{v}'}")
    for k in range(degree + 1):
        if k:
            lines.append(f"w{v} = w{v} * z{v}" + (f" + bz{v}" if gradient else ""))
            lines += [f"b{axis}{v} *= z{v}" for axis in "xyz"] if gradient else []
        lines += [f"wy{v} = w{v}"] + ([f"bxy{v} = bx{v}", f"byy{v} = by{v}"] if gradient else [])
        for j in range(degree - k + 1):
            if j:
                lines.append(f"wy{v} = wy{v} * y{v}" + (f" + byy{v}" if gradient else ""))
                lines += [f"bxy{v} *= y{v}", f"byy{v} *= y{v}"] if gradient else []
            for i in range(degree - k - j + 1):
                term = ("wy{v}", "wy{v} * x{v}", "wy{v} * x{i}_{v}")[min(i, 2)]
                if gradient and i:
                    term += (" + bxy{v}", " + bxy{v} * d{i}_{v}")[i > 1]
                lines.append(f"m{place[i, j, k]} += " + term.format(v=v, i=i))
    return lines


@lru_cache
def density_kernel(target: Target, sums: "np.dtype[np.floating]", degree: int, gradient: bool) -> object:
    """Kernel that adds the Gaussians of one degree, up to `WRITTEN_OUT`, to the density, or it and its gradient."""
    source = _density_source(degree, gradient, _vectors_of(target))
    return _compiled(source, f"density of degree {degree}, {gradient}", target, sums)


@lru_cache
def moments_kernel(target: Target, sums: "np.dtype[np.floating]", degree: int, gradient: bool) -> object:
    """Kernel for the moments of one degree, up to `WRITTEN_OUT`, of values at points, or of these and gradients."""
    source = _moments_source(degree, gradient, _vectors_of(target))
    return _compiled(source, f"moments of degree {degree}, {gradient}", target, sums)


def _compiled(text: str, name: str, target: Target, sums: "np.dtype[np.floating]") -> object:
    """A kernel from its source."""
    lanes, real, wide = lanes_of(target), number(target.dtype), number(sums)
    vector, ndarray = ti.types.vector, ti.types.ndarray
    L, W = (vector(lanes, real), vector(lanes, wide)) if target.on_host else (real, wide)
    names = {
        "ti": ti,
        "L": L,
        "W": W,
        "I1": ndarray(ti.i32, 1),
        "I2": ndarray(ti.i32, 2),
        "R2": ndarray(real, 2),
        "L1": ndarray(L, 1),
        "W1": ndarray(W, 1),
        "W2": ndarray(W, 2),
        "WIDE": wide,
        "GROUP": GROUP,
        "CHUNK": _CHUNK,
        "VECTORS": _vectors_of(target),
        "THREADS": threads_of(target),
        "BLOCK": _BLOCK[target.device],
        "exp": vector_exponential(target) if target.on_host else exponential(target),
    }
    file = f"<{name}, {target.precision}, {target.device}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # where the compiler looks for it
    exec(compile(text, file, "exec"), names)
    return lightly_optimised(names["kernel"])
