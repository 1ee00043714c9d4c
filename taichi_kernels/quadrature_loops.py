"""The kernels of `quadrature_kernels` with loops over the terms, for Gaussians of a degree beyond those written out.

They take the same arrays, and one more, of the orders of the terms. A thread takes a point of a cell, or on a CPU all
of them, one after the other.
"""

from functools import lru_cache
from types import SimpleNamespace

import numpy as np

from ._taichi import number, ti
from .gaussian import power_of_two
from .hermite_tables import HIGHEST
from .launching import idle, turns_of
from .quadrature_kernels import GROUP, POINTS, difference_of_cells, threads_of
from .target import Target


@lru_cache
def looping_kernels(target: Target, sums: "np.dtype[np.floating]", gradient: bool) -> SimpleNamespace:
    """Kernels `density` and `moments` for any degree up to one more than `HIGHEST`."""
    real, wide, ndarray = number(target.dtype), number(sums), ti.types.ndarray
    power_of_two_of = power_of_two(target)
    threads = threads_of(target)
    together, turns = POINTS // threads, turns_of(target)
    powers, sums_of_point = ti.types.vector(HIGHEST + 3, real), ti.types.vector(4, wide)
    I1, I2, R1, R2 = ndarray(ti.i32, 1), ndarray(ti.i32, 2), ndarray(real, 1), ndarray(real, 2)
    W2, W3 = ndarray(wide, 2), ndarray(wide, 3)

    whole_cells = difference_of_cells(target)

    @ti.func
    def coordinate(
        axis: ti.template(), i: ti.i32, cell: ti.i32, q: ti.i32, stride: ti.i32, origin: R2, points: R1, gaussian: R2
    ):
        """Scaled, about a Gaussian."""
        shift = whole_cells(origin[cell, axis], gaussian[q, axis]) - gaussian[q, axis + 3]
        return (points[axis * stride + i] + shift) * gaussian[q, 6]

    @ti.func
    def powers_of_coordinate(y: real):
        result = powers(0.0)
        power = ti.cast(1.0, real)
        for n in ti.static(range(HIGHEST + 3)):
            result[n] = power
            power *= y
        return result

    @ti.func
    def slope(y: powers, power: ti.i32):
        """Derivative of a power times the Gaussian along an axis, without the Gaussian."""
        result = -2 * y[power + 1]
        if power > 0:
            result += ti.cast(power, real) * y[power - 1]
        return result

    @ti.kernel
    def density(
        zero: ti.i32,
        n: ti.i32,
        begin: ti.i32,
        stride: ti.i32,
        n_degrees: ti.i32,
        which: ti.i32,
        first_slot: ti.i32,
        origin: R2,
        points: R1,
        starts: I1,
        listed: I1,
        gaussian: R2,
        h: R2,
        spin: ti.i32,
        out: W3,
        n_terms: ti.i32,
        orders: I2,  # (n_terms, 3), or longer
    ):
        ti.loop_config(block_dim=32)
        for turn in range(n * together * turns):
            if idle(turn, turns):
                continue
            task = turn // turns
            cell = begin + task // POINTS
            i = begin * POINTS + task
            total = sums_of_point(0.0)
            for entry in range(starts[cell * n_degrees + which], starts[cell * n_degrees + which + 1]):
                for q in range(listed[entry] // GROUP * GROUP, listed[entry] + 1):
                    a = coordinate(0, i, cell, q, stride, origin, points, gaussian)
                    b = coordinate(1, i, cell, q, stride, origin, points, gaussian)
                    c = coordinate(2, i, cell, q, stride, origin, points, gaussian)
                    square = a * a + b * b + c * c
                    value = power_of_two_of(square * gaussian[q, 7], square * gaussian[q, 8], zero)
                    if value > 0:
                        x, y, z = powers_of_coordinate(a), powers_of_coordinate(b), powers_of_coordinate(c)
                        root = value * gaussian[q, 6]
                        for m in range(n_terms):
                            t, u, v = orders[m, 0], orders[m, 1], orders[m, 2]
                            term = h[q - first_slot, m]
                            total[0] += ti.cast(term * value * x[t] * y[u] * z[v], wide)
                            if ti.static(gradient):
                                total[1] += ti.cast(term * root * slope(x, t) * y[u] * z[v], wide)
                                total[2] += ti.cast(term * root * x[t] * slope(y, u) * z[v], wide)
                                total[3] += ti.cast(term * root * x[t] * y[u] * slope(z, v), wide)
            for k in ti.static(range(4 if gradient else 1)):
                out[spin, k, i] += total[k]

    @ti.kernel
    def moments(
        zero: ti.i32,
        n: ti.i32,
        first_slot: ti.i32,
        stride: ti.i32,
        origin: R2,
        points: R1,
        starts: I2,
        cells: I1,
        gaussian: R2,
        values: R1,
        out: W2,
        n_terms: ti.i32,
        orders: I2,  # (n_terms, 3), or longer
    ):
        ti.loop_config(block_dim=32)
        for turn in range(n * turns):
            if idle(turn, turns):
                continue
            task = turn // turns
            slot = task // threads
            thread = task % threads
            q = first_slot + slot
            for m in range(n_terms):
                out[slot, m * threads + thread] = 0.0
            for at in range(starts[q, 0] * together, starts[q, 1] * together):
                cell = cells[at // together]
                i = cell * POINTS + thread * together + at % together
                a = coordinate(0, i, cell, q, stride, origin, points, gaussian)
                b = coordinate(1, i, cell, q, stride, origin, points, gaussian)
                c = coordinate(2, i, cell, q, stride, origin, points, gaussian)
                square = a * a + b * b + c * c
                value = power_of_two_of(square * gaussian[q, 7], square * gaussian[q, 8], zero)
                if value > 0:
                    x, y, z = powers_of_coordinate(a), powers_of_coordinate(b), powers_of_coordinate(c)
                    root = value * gaussian[q, 6]
                    for m in range(n_terms):
                        t, u, v = orders[m, 0], orders[m, 1], orders[m, 2]
                        term = values[i] * value * x[t] * y[u] * z[v]
                        if ti.static(gradient):
                            term += values[stride + i] * root * slope(x, t) * y[u] * z[v]
                            term += values[2 * stride + i] * root * x[t] * slope(y, u) * z[v]
                            term += values[3 * stride + i] * root * x[t] * y[u] * slope(z, v)
                        out[slot, m * threads + thread] += ti.cast(term, wide)

    return SimpleNamespace(density=density, moments=moments)
