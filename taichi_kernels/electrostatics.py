r"""The electrostatic potential of Gaussian charge distributions at points.

A distribution is a sum of Hermite Gaussians, derivatives of a Gaussian with respect to its centre P. By McMurchie and
Davidson (J. Comput. Phys. 1978, 26, 218) its potential is

.. math::  V(r) = \sum_P \frac{2\pi}{p} \sum_{tuv} H_{tuv} R_{tuv}(p, P - r)

with R from the Boys functions F_m(p |P - r|^2) by R^m_{000} = (-2p)^m F_m and

.. math::  R^m_{t+1,u,v} = t R^{m+1}_{t-1,u,v} + (P_x - x) R^{m+1}_{t,u,v}

Each class of distributions, those of one degree, has a kernel with these recurrences written out; beyond `_UNROLLED`
one with loops serves. A thread sums up over all distributions of the class for one point.

Boys functions: the highest one from a table by a Taylor series (its derivatives are higher Boys functions), the others
by downward recurrence; beyond the table by their asymptotic form and upward recurrence, which is stable there.
"""

from functools import lru_cache

import numpy as np
import taichi as ti

from . import runtime
from .gaussian import DTYPES, exponential
from .orbital_points import CELL, split_position

_UNROLLED = 6
_HIGHEST = 16
"""Degree of a product of two functions with angular momentum 8."""

_STEP = 0.1
_TABLE_END = {"single": 26.0, "double": 44.0}
"""Beyond it exp(-T) does not matter beside the Boys functions, which fall with powers of T."""
_TAYLOR = {"single": 4, "double": 7}

_POINTS = 1 << 15


def powers_of(degree: int) -> tuple[tuple[int, int, int], ...]:
    """Orders (t, u, v) of the Hermite Gaussians up to a degree, those of low degree first."""
    return tuple((t, n - t - v, v) for n in range(degree + 1) for v in range(n + 1) for t in range(n - v, -1, -1))


@lru_cache
def _boys_table(precision: str) -> np.ndarray:
    """F_m(T) on the grid, shape (points, orders), by downward recurrence from a series at the highest order."""
    end, orders = _TABLE_END[precision], _HIGHEST + _TAYLOR[precision] + 1
    t = np.arange(0, round(end / _STEP) + 2) * _STEP
    highest = orders - 1
    # F_m(T) = exp(-T) sum_i (2T)^i / ((2m+1)(2m+3)...(2m+2i+1))
    term = np.full(len(t), 1.0 / (2 * highest + 1))
    series = term.copy()
    for i in range(1, 400):
        term = term * 2 * t / (2 * highest + 2 * i + 1)
        series += term
    decay = np.exp(-t)
    table = np.empty((len(t), orders))
    table[:, highest] = decay * series
    for m in range(highest, 0, -1):
        table[:, m - 1] = (2 * t * table[:, m] + decay) / (2 * m - 1)
    return table


def potential_at_points(
    points: np.ndarray,
    classes: "list[tuple[int, np.ndarray, np.ndarray, np.ndarray]]",
    precision: str,
    device: str,
) -> np.ndarray:
    """Potential of Gaussian charge distributions at points.

    Parameters
    ----------
    points : ndarray of float64, shape (n_points, 3)
        In bohr.
    classes : list of (degree, centre, exponent, hermite)
        Distributions by degree: centres (bohr) and exponents (bohr^-2), and Hermite coefficients times 2 pi / exponent,
        shape (n, number of orders), in the order of `powers_of`, for a charge in units of e.
    precision : str
        single: products are evaluated in single precision and summed up in double precision where the device has it;
        double: all in double precision.
    device : str
        The device of the current session.

    Returns
    -------
    ndarray of float64, shape (n_points,)
        In hartree / e.
    """
    total = np.zeros(len(points))
    if len(points) == 0:
        return total
    if device == "cpu":
        from .electrostatics_vectors import add_potential

        low = [one for one in classes if one[0] <= _UNROLLED]
        add_potential(points, low, precision, total)
        classes = [one for one in classes if one[0] > _UNROLLED]
    real = np.float32 if precision == "single" else np.float64
    table = np.ascontiguousarray(_boys_table(precision), real)
    sums = "double" if runtime.probe(device).double else precision
    for first in range(0, len(points), _POINTS) if classes else ():
        some = slice(first, min(first + _POINTS, len(points)))
        cell, remainder = split_position(points[some])
        remainder = np.ascontiguousarray(remainder, real)
        out = np.zeros(some.stop - some.start, np.float64 if sums == "double" else np.float32)
        for degree, centre, exponent, hermite in classes:
            centre_cell, centre_remainder = split_position(centre)
            kernel = _kernel(precision, device, sums, degree if degree <= _UNROLLED else -1)
            kernel(
                len(out),
                len(exponent),
                degree,
                cell,
                remainder,
                centre_cell,
                np.ascontiguousarray(np.column_stack([centre_remainder, exponent]), real),
                np.ascontiguousarray(hermite.reshape(-1), real),
                _recurrence(degree),
                table,
                out,
            )
            ti.sync()
        total[some] += out
    return total


@lru_cache
def _recurrence(degree: int) -> np.ndarray:
    """For each order: places of the two it is made of, the axis, and the factor of the second; shape (orders, 4)."""
    powers = powers_of(degree)
    place = {p: n for n, p in enumerate(powers)}
    rows = []
    for p in powers:
        axis = next((n for n in range(3) if p[n] > 0), 0)
        once = tuple(q - (n == axis) for n, q in enumerate(p))
        twice = tuple(q - 2 * (n == axis) for n, q in enumerate(p))
        rows.append((place.get(once, 0), place.get(twice, 0), axis, max(p[axis] - 1, 0)))
    return np.array(rows, np.int32)


@lru_cache
def _kernel(precision: str, device: str, sums: str, unrolled: int) -> object:
    real, wide = DTYPES[precision], DTYPES[sums]
    exp = exponential(precision, device)
    n_taylor = _TAYLOR[precision]
    end = _TABLE_END[precision]
    vector = ti.types.vector
    I3, R3, R4 = (
        ti.types.ndarray(vector(3, ti.i32), 1),
        ti.types.ndarray(vector(3, real), 1),
        ti.types.ndarray(vector(4, real), 1),
    )
    R1, R2, W1, I2 = (
        ti.types.ndarray(real, 1),
        ti.types.ndarray(real, 2),
        ti.types.ndarray(wide, 1),
        ti.types.ndarray(ti.i32, 2),
    )
    n_orders = len(powers_of(max(unrolled, 0)))
    size = [len(powers_of(n)) for n in range(max(unrolled, 0) + 1)]
    rules = _recurrence(max(unrolled, 0)).tolist()
    most = len(powers_of(_HIGHEST))

    @ti.func
    def highest_boys(degree: ti.i32, T: real, table: ti.template()):
        """F_degree(T) within the table."""
        row = ti.cast(T * real(1 / _STEP) + real(0.5), ti.i32)
        d = real(_STEP) * ti.cast(row, real) - T
        value = table[row, degree + n_taylor]
        for k in ti.static(range(n_taylor - 1, -1, -1)):
            value = value * d * real(1.0 / (k + 1)) + table[row, degree + k]
        return value

    @ti.kernel
    def written_out(
        n_points: ti.i32,
        n: ti.i32,
        degree: ti.i32,
        cell: I3,
        remainder: R3,
        centre_cell: I3,
        centre: R4,  # remainder and exponent
        hermite: R1,
        rule: I2,
        table: R2,
        out: W1,
    ):
        ti.loop_config(block_dim=128)
        for i in range(n_points):
            total = ti.cast(0.0, wide)
            here = cell[i]
            rest = remainder[i]
            for q in range(n):
                c = centre[q]
                offset = centre_cell[q] - here
                d = vector(3, real)(
                    ti.cast(offset[0], real) * real(CELL) + (c[0] - rest[0]),
                    ti.cast(offset[1], real) * real(CELL) + (c[1] - rest[1]),
                    ti.cast(offset[2], real) * real(CELL) + (c[2] - rest[2]),
                )
                p = c[3]
                T = p * d.dot(d)
                boys = vector(unrolled + 1, real)(0.0)
                if T < real(end):
                    boys[unrolled] = highest_boys(unrolled, T, table)
                    if ti.static(unrolled > 0):
                        decay = exp(-T)
                        for m in ti.static(range(unrolled, 0, -1)):
                            boys[m - 1] = (2 * T * boys[m] + decay) * real(1.0 / (2 * m - 1))
                else:
                    inverse = 1 / T
                    boys[0] = real(0.886226925452758) * ti.sqrt(inverse)
                    for m in ti.static(range(unrolled)):
                        boys[m + 1] = boys[m] * (real(m + 0.5) * inverse)
                factor = ti.cast(1.0, real)
                for m in ti.static(range(unrolled + 1)):
                    boys[m] *= factor
                    factor *= -2 * p
                r = vector(n_orders, real)(0.0)
                for m in ti.static(range(unrolled, -1, -1)):
                    # in place, from high orders to low ones: each is made of lower ones of m + 1
                    for s in ti.static(range(size[unrolled - m] - 1, 0, -1)):
                        value = d[rules[s][2]] * r[rules[s][0]]
                        if ti.static(rules[s][3] > 0):
                            value += real(float(rules[s][3])) * r[rules[s][1]]
                        r[s] = value
                    r[0] = boys[m]
                value = ti.cast(0.0, real)
                for s in ti.static(range(n_orders)):
                    value += hermite[q * n_orders + s] * r[s]
                total += ti.cast(value, wide)
            out[i] = out[i] + total

    @ti.kernel
    def with_loops(
        n_points: ti.i32,
        n: ti.i32,
        degree: ti.i32,
        cell: I3,
        remainder: R3,
        centre_cell: I3,
        centre: R4,
        hermite: R1,
        rule: I2,  # (orders, 4)
        table: R2,
        out: W1,
    ):
        ti.loop_config(block_dim=32)
        for i in range(n_points):
            total = ti.cast(0.0, wide)
            here = cell[i]
            rest = remainder[i]
            n_all = (degree + 1) * (degree + 2) * (degree + 3) // 6
            for q in range(n):
                c = centre[q]
                offset = centre_cell[q] - here
                d = vector(3, real)(
                    ti.cast(offset[0], real) * real(CELL) + (c[0] - rest[0]),
                    ti.cast(offset[1], real) * real(CELL) + (c[1] - rest[1]),
                    ti.cast(offset[2], real) * real(CELL) + (c[2] - rest[2]),
                )
                p = c[3]
                T = p * d.dot(d)
                boys = vector(_HIGHEST + 1, real)(0.0)
                if T < real(end):
                    boys[degree] = highest_boys(degree, T, table)
                    decay = exp(-T)
                    for step in range(degree):
                        m = degree - step
                        boys[m - 1] = (2 * T * boys[m] + decay) / ti.cast(2 * m - 1, real)
                else:
                    boys[0] = real(0.886226925452758) / ti.sqrt(T)
                    for m in range(degree):
                        boys[m + 1] = boys[m] * (ti.cast(m, real) + real(0.5)) / T
                factor = ti.cast(1.0, real)
                for m in range(degree + 1):
                    boys[m] *= factor
                    factor *= -2 * p
                r = vector(most, real)(0.0)
                for step in range(degree + 1):
                    top = (step + 1) * (step + 2) * (step + 3) // 6
                    for back in range(top - 1):
                        s = top - 1 - back
                        axis = rule[s, 2]
                        along = d[0]
                        if axis == 1:
                            along = d[1]
                        if axis == 2:
                            along = d[2]
                        r[s] = along * r[rule[s, 0]] + ti.cast(rule[s, 3], real) * r[rule[s, 1]]
                    r[0] = boys[degree - step]
                value = ti.cast(0.0, real)
                for s in range(n_all):
                    value += hermite[q * n_all + s] * r[s]
                total += ti.cast(value, wide)
            out[i] = out[i] + total

    return written_out if unrolled >= 0 else with_loops
