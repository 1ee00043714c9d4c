r"""The kernels of semi-numerical exchange; see `exchange` for what they compute.

A product of two primitives has at a point the potential :math:`A_{st} = \sum_n E^{st}_n R_n`, s and t being terms of
their polynomials. It is multiplied by values of the terms as it arises, :math:`G_s \mathrel{+}= A_{st} F_t` and
:math:`G_t \mathrel{+}= A_{st} F_s`, and is nowhere kept. On a GPU a thread takes one point of a cell. On a CPU it takes
all, in innermost loops over the points that LLVM makes SIMD code of. Sums are written out as source text for the terms
that the two primitives have.
"""

from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ._taichi import kernel_from, lightly_optimised, number, quick, ti
from .cells import CELL
from .coulomb_kernels import SMALLEST, boys, ladder
from .devices import probe
from .elementary import power_of_two
from .hermite_tables import TABLE_END, powers_of
from .launching import indented, loop_over_tasks, turns_of
from .quadrature_kernels import POINTS, difference_of_cells, threads_of
from .target import Target

Terms = tuple[tuple[int, int, int], ...]
"""Powers of x, y and z of the terms of a primitive, in the order in which its rows stand."""

_BLOCK = {"cpu": 1, "cuda": 128, "vulkan": 128}

_SUMMANDS = 100
"""Of a sum in one statement: the compiler goes down by some three calls for each, and Python ends at a thousand."""


@lru_cache
def products_of(left: Terms, right: Terms) -> tuple[tuple[int, int, tuple[int, int, int]], ...]:
    """The Hermite coefficients of a pair that need not be zero: both terms, and the order."""
    return tuple(
        (s, t, order)
        for s, a in enumerate(left)
        for t, b in enumerate(right)
        for order in powers_of(sum(a) + sum(b))
        if all(n <= i + j for n, i, j in zip(order, a, b, strict=True))
    )


def degree_of(terms: Terms) -> int:
    """Highest power of a term."""
    return max(map(sum, terms))


def _pairs_source(left: Terms, right: Terms, n_sets: int, long_range: bool, target: Target) -> str:
    on_host, precision = target.on_host, target.precision
    degree = degree_of(left) + degree_of(right)
    rungs, r = ladder(degree)
    place = {order: n for n, order in enumerate(powers_of(degree))}
    at = "[s]" if on_host else ""
    each, more = (["for s in range(POINTS):"], 1) if on_host else ([], 0)
    sets, a, b = range(n_sets), range(len(left)), range(len(right))
    summands: dict[tuple[int, int], list[str]] = {}
    for n, (s, t, order) in enumerate(products_of(left, right)):
        summands.setdefault((s, t), []).append(f"coefficients[first_coefficient + {n}] * {r[place[order]]}")
    distances = [
        *(f"d{k} = points[{k} * n_points + cell * POINTS + s] + c{k}" for k in range(3)),
        f"square = ti.max(d0 * d0 + d1 * d1 + d2 * d2, real({SMALLEST}))",
        "inverse_square = 1.0 / square",
        "outside = ti.sqrt(inverse_square * inverse_z)",
    ]
    beside = ["alpha, scale, far = z, full, outside * full", *boys(degree, precision)]
    away = ["g0 = outside * full", *(f"g{m} = g{m - 1} * inverse_square * {2 * m - 1}.0" for m in range(1, degree + 1))]
    attenuated = []
    if long_range:
        attenuated = ["alpha, scale, far = attenuated, attenuated_scale, outside * beyond"]
        attenuated += [*boys(degree, precision, "h"), *(f"g{m} += h{m}" for m in range(degree + 1))]
    kept = [f"k{m}{at} = g{m}" for m in range(degree + 1)]

    def element(array: str, k: int, row: str, n: int, terms: str) -> str:
        return f"{array}[({k} * n_rows + {row} + {terms}[{n}]) * stride + at + s]"

    body = distances[:3] + [f"g{m} = k{m}{at}" for m in range(degree + 1)] + rungs
    for k in sets:
        body += [f"fa{k}_{n} = {element('given', k, 'row', n, 'left_terms')}" for n in a]
        body += [f"fb{k}_{n} = {element('given', k, 'other', n, 'right_terms')}" for n in b]
        body += [f"sb{k}_{n} = real(0.0)" for n in b]
    for s in a:
        for k in sets:
            body.append(f"sa{k} = ga{k}_{s}{at}")
        for t in b:
            products = summands[s, t]
            body.append(f"a = {' + '.join(products[:_SUMMANDS])}")
            body += [
                f"a += {' + '.join(products[n : n + _SUMMANDS])}" for n in range(_SUMMANDS, len(products), _SUMMANDS)
            ]
            for k in sets:
                body += [f"sa{k} += a * fb{k}_{t}", f"sb{k}_{t} += a * fa{k}_{s}"]
        for k in sets:
            body.append(f"ga{k}_{s}{at} = sa{k}")
    body += [f"gb{k}_{n}{at} = sb{k}_{n}" for k in sets for n in b]

    def added(which: str, row: str, terms: str, numbers: range) -> list[str]:
        return [
            f"{to} = {to} + g{which}{k}_{n}{at}"
            for k in sets
            for n in numbers
            for to in [element("sums", k, row, n, terms)]
        ]

    return (
        "@ti.kernel\n"
        "def kernel(n: ti.i32, begin: ti.i32, stride: ti.i32, n_points: ti.i32, n_cells: ti.i32, n_rows: ti.i32, "
        "n_lefts: ti.i32, limit: real, full: real, beyond: real, omega: real, origin: R2, boxes: R2, points: R1, "
        "lefts: I2, rights: I2, left_terms: I1, right_terms: I1, pairs: R2, bounds: R1, coefficients: R1, table: R1, "
        "largest: R1, around: R1, given: R1, sums: R1):\n"
        "    ti.loop_config(block_dim=BLOCK)\n"
        + indented(loop_over_tasks("n", turns_of(target, 1)), 1)
        + "        cell = begin + task // THREADS\n"
        "        at = (task // THREADS) * POINTS\n"
        + ("" if on_host else "        s = task % THREADS\n")
        + "        for left in range(n_lefts):\n"
        "            if around[left * n_cells + cell - begin] <= limit:\n"
        "                continue\n"
        "            row = lefts[left, 0]\n"
        "            here = largest[lefts[left, 1] * n_cells + cell - begin]\n"
        + indented([f"ga{k}_{n} = L(0.0)" for k in sets for n in a], 3)
        + "            for q in range(lefts[left, 2], lefts[left, 3]):\n"
        "                there = largest[rights[q, 1] * n_cells + cell - begin]\n"
        "                if bounds[q] * ti.max(here, there) > limit:\n"
        + indented(
            ["other = rights[q, 0]", f"first_coefficient = q * {len(products_of(left, right))}"]
            + [f"c{k} = whole_cells(origin[cell, {k}], pairs[q, {k}]) - pairs[q, {k + 3}]" for k in range(3)]
            + ["z, inverse_z = pairs[q, 6], pairs[q, 7]"]
            + (
                ["attenuated = z * omega * omega / (z + omega * omega)"]
                + ["attenuated_scale = beyond * ti.sqrt(attenuated * inverse_z)"]
                if long_range
                else []
            )
            + [f"gb{k}_{n} = L(0.0)" for k in sets for n in b]
            + [f"k{m} = L(0.0)" for m in range(degree + 1)]
            + [
                f"b{k} = ti.max(ti.max(boxes[cell, {k}] + c{k}, -boxes[cell, {k + 3}] - c{k}), real(0.0))"
                for k in range(3)
            ]
            + [f"if z * (b0 * b0 + b1 * b1 + b2 * b2) > real({TABLE_END[precision]}):"],
            5,
        )
        + indented(each, 6)
        + indented([*distances, *away, *attenuated, *kept], 6 + more)
        + indented(["else:"], 5)
        + indented(each, 6)
        + indented([*distances, *beside, *attenuated, *kept], 6 + more)
        + indented(each, 5)
        + indented(body, 5 + more)
        + indented(each, 5)
        + indented(added("b", "other", "right_terms", b), 5 + more)
        + indented(each, 3)
        + indented(added("a", "row", "left_terms", a), 3 + more)
    )


@lru_cache
def pairs_kernel(target: Target, left: Terms, right: Terms, n_sets: int, long_range: bool) -> Callable[..., None]:
    """Kernel for the pairs of primitives with some terms, for one density or two."""
    title = f"exchange of {len(left)} and {len(right)} terms of degrees {degree_of(left)} and {degree_of(right)}"
    return _compiled(_pairs_source(left, right, n_sets, long_range, target), title, target)


def _terms_source(terms: Terms, target: Target) -> str:
    """Source of the kernel for the values of primitives."""
    on_host = target.on_host
    each, more = (["for s in range(POINTS):"], 1) if on_host else ([], 0)
    highest = degree_of(terms)
    lines = [f"{axis}1 = {axis}" for axis in "xyz"]
    lines += [f"{axis}{n} = {axis}{n - 1} * {axis}" for n in range(2, highest + 1) for axis in "xyz"]
    for n, powers in enumerate(terms):
        factors = [f"{axis}{power}" for axis, power in zip("xyz", powers, strict=True) if power]
        lines.append(f"out[(row + terms[{n}]) * stride + at + s] = {' * '.join(['e', *factors])}")
    return (
        "@ti.kernel\n"
        "def kernel(n: ti.i32, zero: ti.i32, begin: ti.i32, stride: ti.i32, n_points: ti.i32, n_primitives: ti.i32, "
        "origin: R2, points: R1, rows: I1, terms: I1, gaussian: R2, out: R1):\n"
        "    ti.loop_config(block_dim=BLOCK)\n"
        + indented(loop_over_tasks("n", turns_of(target, 1)), 1)
        + "        cell = begin + task // THREADS\n"
        "        at = (task // THREADS) * POINTS\n"
        + ("" if on_host else "        s = task % THREADS\n")
        + "        for q in range(n_primitives):\n"
        "            row = rows[q]\n"
        + indented(
            [f"c{k} = whole_cells(origin[cell, {k}], gaussian[q, {k}]) - gaussian[q, {k + 3}]" for k in range(3)]
            + each,
            3,
        )
        + indented(
            [f"{axis} = points[{k} * n_points + cell * POINTS + s] + c{k}" for k, axis in enumerate("xyz")]
            + ["square = x * x + y * y + z * z"]
            + ["e = power_of_two(square * gaussian[q, 6], square * gaussian[q, 7], zero)", *lines],
            3 + more,
        )
    )


@lru_cache
def terms_kernel(target: Target, terms: Terms) -> Callable[..., None]:
    """Kernel for the values at points of primitives with some terms."""
    title = f"values of {len(terms)} terms of degree {degree_of(terms)}"
    return _compiled(_terms_source(terms, target), title, target)


def _compiled(text: str, title: str, target: Target) -> Callable[..., None]:
    real, ndarray = number(target.dtype), ti.types.ndarray
    names: dict[str, Any] = {
        "real": real,
        "L": ti.types.vector(POINTS, real) if target.on_host else real,
        "I1": ndarray(ti.i32, 1),
        "I2": ndarray(ti.i32, 2),
        "R1": ndarray(real, 1),
        "R2": ndarray(real, 2),
        "CELL": CELL,
        "POINTS": POINTS,
        "THREADS": threads_of(target),
        "BLOCK": _BLOCK[target.device],
        "power_of_two": power_of_two(target),
        "whole_cells": difference_of_cells(target),
    }
    return quick(lightly_optimised(kernel_from(text, f"{title}, {target.precision}, {target.device}", names)))


@lru_cache
def small_kernels(target: Target) -> SimpleNamespace:
    """Kernels for rows of numbers, one for each point.

    `rows`: some rows of a sparse matrix, `chosen`, times rows of numbers. `cells`: for each cell the sum over its
    points of the weight times the largest magnitude of any row. `largest`: for each primitive and cell, the largest
    magnitude of a row that has a part in it, times that. `around`: the most that a pair of a left primitive may add.
    `dots`: sums over the points of a cell of the weight, a row, and the row of the same function in another array.
    `copied`: some numbers of an array.
    """
    real, ndarray = number(target.dtype), ti.types.ndarray
    I1, I2, R1 = ndarray(ti.i32, 1), ndarray(ti.i32, 2), ndarray(real, 1)
    together = POINTS // threads_of(target)

    @ti.kernel
    def rows(
        n_rows: ti.i32,
        n_pieces: ti.i32,
        stride: ti.i32,
        chosen: I1,
        first: I1,
        column: I1,
        value: R1,
        given: R1,
        begin_given: ti.i32,
        out: R1,
        begin_out: ti.i32,
    ):
        ti.loop_config(block_dim=128)
        for task in range(n_rows * n_pieces):
            n, at = task // n_pieces, task % n_pieces * together
            row = chosen[n]
            for s in range(together):
                total = ti.cast(0.0, real)
                for e in range(first[row], first[row + 1]):
                    total += value[e] * given[(begin_given + column[e]) * stride + at + s]
                out[(begin_out + n) * stride + at + s] = total

    @ti.kernel
    def cells(n_cells: ti.i32, begin: ti.i32, n_rows: ti.i32, stride: ti.i32, weights: R1, values: R1, out: R1):
        for cell in range(n_cells):
            total = ti.cast(0.0, real)
            for s in range(POINTS):
                most = ti.cast(0.0, real)
                for row in range(n_rows):
                    most = ti.max(most, ti.abs(values[row * stride + cell * POINTS + s]))
                total += most * ti.abs(weights[(begin + cell) * POINTS + s])
            out[cell] = total

    @ti.kernel
    def largest(
        n_primitives: ti.i32,
        n_cells: ti.i32,
        n_rows: ti.i32,
        n_sets: ti.i32,
        stride: ti.i32,
        first: I1,
        column: I1,
        of_cells: R1,
        values: R1,
        out: R1,
    ):
        for task in range(n_primitives * n_cells):
            primitive, cell = task // n_cells, task % n_cells
            found = ti.cast(0.0, real)
            for n in range(first[primitive], first[primitive + 1]):
                for k in range(n_sets):
                    for s in range(POINTS):
                        found = ti.max(found, ti.abs(values[(k * n_rows + column[n]) * stride + cell * POINTS + s]))
            out[primitive * n_cells + cell] = found * of_cells[cell]

    @ti.kernel
    def around(n_lefts: ti.i32, n_cells: ti.i32, lefts: I2, rights: I2, bounds: R1, largest: R1, out: R1):
        for task in range(n_lefts * n_cells):
            left, cell = task // n_cells, task % n_cells
            here = largest[lefts[left, 1] * n_cells + cell]
            found = ti.cast(0.0, real)
            for q in range(lefts[left, 2], lefts[left, 3]):
                found = ti.max(found, bounds[q] * ti.max(here, largest[rights[q, 1] * n_cells + cell]))
            out[left * n_cells + cell] = found

    @ti.kernel
    def dots(
        n_rows: ti.i32,
        n_functions: ti.i32,
        n_cells: ti.i32,
        begin: ti.i32,
        stride: ti.i32,
        weights: R1,
        values: R1,
        others: R1,
        out: R1,
    ):
        for task in range(n_rows * n_cells):
            row, cell = task // n_cells, task % n_cells
            total = ti.cast(0.0, real)
            for s in range(POINTS):
                at = cell * POINTS + s
                product = values[row * stride + at] * others[row % n_functions * stride + at]
                total += weights[begin * POINTS + at] * product
            out[row * n_cells + cell] = total

    @ti.kernel
    def copied(n: ti.i32, first: ti.i32, given: R1, out: R1):
        for i in range(n):
            out[i] = given[first + i]

    kernels = (rows, cells, largest, around, dots, copied)
    return SimpleNamespace(**{kernel.__name__: quick(kernel) for kernel in kernels})


TILE, _DEPTH, _EACH = 64, 16, 4
"""Rows and columns of a block of a product of matrices, how many terms are added up at once, and the rows and columns
that a thread has."""


@lru_cache
def product_kernel(target: Target, transposed: bool) -> Callable[..., None]:
    """Kernel for a product of matrices on a GPU: A B, or parts of A w B^T, a part for each chunk of the columns.

    Matrices are row by row: A is (m, k), B is (k, n) or (n, k), and of (m, n) parts there are `n_chunks`. A part of A B
    is the whole of it.
    """
    real, shared = number(target.dtype), ti.simt.block.SharedArray
    # integrals are added up in double precision where there is one: of overlaps all else is made
    wide = ti.f64 if transposed and probe(target.device).double else real
    R1, W1 = ti.types.ndarray(real, 1), ti.types.ndarray(wide, 1)
    side = TILE // _EACH
    threads = side * side
    matrix = ti.types.matrix(_EACH, _EACH, wide)

    @ti.kernel
    def kernel(m: ti.i32, n: ti.i32, k: ti.i32, n_chunks: ti.i32, begin: ti.i32, weights: R1, a: R1, b: R1, out: W1):
        ti.loop_config(block_dim=threads)
        tiles_m, tiles_n = (m + TILE - 1) // TILE, (n + TILE - 1) // TILE
        for thread in range(tiles_m * tiles_n * n_chunks * threads):
            of_a, of_b = shared((_DEPTH, TILE + 1), real), shared((_DEPTH, TILE + 1), real)
            block, lane = thread // threads, thread % threads
            chunk, tile = block // (tiles_m * tiles_n), block % (tiles_m * tiles_n)
            row, column = tile // tiles_n * TILE, tile % tiles_n * TILE
            width = (k + n_chunks - 1) // n_chunks
            total = matrix(0.0)
            first, last = chunk * width, ti.min((chunk + 1) * width, k)
            for step in range((width + _DEPTH - 1) // _DEPTH):
                for load in ti.static(range(_DEPTH * TILE // threads)):
                    at = load * threads + lane
                    deep, i = at % _DEPTH, at // _DEPTH
                    inner = first + step * _DEPTH + deep
                    value = ti.cast(0.0, real)
                    if row + i < m and inner < last:
                        value = a[(row + i) * k + inner]
                        if ti.static(transposed):
                            value *= weights[begin + inner]
                    of_a[deep, i] = value
                    if ti.static(not transposed):
                        deep, i = at // TILE, at % TILE
                        inner = first + step * _DEPTH + deep
                    value = ti.cast(0.0, real)
                    if column + i < n and inner < last:
                        if ti.static(transposed):
                            value = b[(column + i) * k + inner]
                        else:
                            value = b[inner * n + column + i]
                    of_b[deep, i] = value
                ti.simt.block.sync()
                for deep in range(_DEPTH):
                    for i in ti.static(range(_EACH)):
                        for j in ti.static(range(_EACH)):
                            left, right = of_a[deep, lane // side + i * side], of_b[deep, lane % side + j * side]
                            total[i, j] += ti.cast(left * right, wide)
                ti.simt.block.sync()
            for i in ti.static(range(_EACH)):
                for j in ti.static(range(_EACH)):
                    r, c = row + lane // side + i * side, column + lane % side + j * side
                    if r < m and c < n:
                        out[(chunk * m + r) * n + c] = total[i, j]

    return quick(kernel)


def coefficients_of(left: Terms, right: Terms, along_axes: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Hermite coefficients of pairs in the order of `products_of`, shape (n, products).

    Parameters
    ----------
    left, right
        Terms of the primitives.
    along_axes : ndarray, shape (n, 3, size)
        Coefficients along the axes.
    place : ndarray of int, shape (powers of the left one, of the right one, orders)
        Where they are.
    """
    result = np.empty((len(along_axes), len(products_of(left, right))))
    for n, (s, t, order) in enumerate(products_of(left, right)):
        x, y, z = (along_axes[:, k, place[left[s][k], right[t][k], order[k]]] for k in range(3))
        result[:, n] = x * y * z
    return result
