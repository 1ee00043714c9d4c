r"""Paths of steepest ascent through a field that is given on a lattice, each followed by one thread to its end.

Between the points the field is a cubic spline,

.. math::  f(u) = \sum_{ijk} c_{ijk}\, B(u_x - i)\, B(u_y - j)\, B(u_z - k)

with the B-spline B of fifth degree (C. de Boor, A Practical Guide to Splines, New York 1978), whose coefficients have
to be found before. Its gradient has an error of the fifth power of the spacing. Paths are integrated by
their length as the exact ones of `orbitile.analysis.qtaim` are: by the pair of orders 3 and 2 of P. Bogacki and
L. F. Shampine (Appl. Math. Lett. 1989, 2, 321), with steps of their own.
"""

from functools import cache
from typing import Any

import numpy as np

from ._taichi import ti
from .launching import launch

_MOST_STEPS = 300
"""Steps that a path may take."""


_PIECES = (
    [1, -5, 10, -10, 5, -1],
    [26, -50, 20, 20, -20, 5],
    [66, 0, -60, 0, 30, -10],
    [26, 50, 20, -20, -20, 10],
    [1, 5, 10, 10, 5, -5],
    [0, 0, 0, 0, 0, 1],
)
"""Coefficients of 120 B by powers of the place between two points, for the six points about it."""


@ti.func
def _weights(t: ti.f32):
    """Of the six coefficients about a place, t behind the third of them, and their derivatives."""
    values = ti.Vector([0.0] * 6, dt=ti.f32)
    slopes = ti.Vector([0.0] * 6, dt=ti.f32)
    for n in ti.static(range(6)):
        value, slope = ti.cast(_PIECES[n][5] / 120, ti.f32), ti.cast(0.0, ti.f32)
        for power in ti.static((4, 3, 2, 1, 0)):
            slope = slope * t + value
            value = value * t + _PIECES[n][power] / 120
        values[n], slopes[n] = value, slope
    return values, slopes


@ti.func
def _uphill(place: ti.template(), coefficient: ti.template()):
    """Direction of the gradient at a place, in units of the spacing from the first point of the lattice."""
    low = ti.Vector([0, 0, 0])
    for axis in ti.static(range(3)):
        low[axis] = ti.max(2, ti.min(int(ti.floor(place[axis])), coefficient.shape[axis] - 4))
    of_x, along_x = _weights(place[0] - low[0])
    of_y, along_y = _weights(place[1] - low[1])
    of_z, along_z = _weights(place[2] - low[2])
    slope = ti.Vector([0.0, 0.0, 0.0], dt=ti.f32)
    for i in ti.static(range(6)):
        row = ti.Vector([0.0, 0.0, 0.0], dt=ti.f32)  # value, along y, along z
        for j in ti.static(range(6)):
            value, along = ti.cast(0.0, ti.f32), ti.cast(0.0, ti.f32)
            for k in ti.static(range(6)):
                c = coefficient[low[0] + (i - 2), low[1] + (j - 2), low[2] + (k - 2)]
                value += of_z[k] * c
                along += along_z[k] * c
            row += ti.Vector([of_y[j] * value, along_y[j] * value, of_y[j] * along], dt=ti.f32)
        slope += ti.Vector([along_x[i] * row[0], of_x[i] * row[1], of_x[i] * row[2]], dt=ti.f32)
    return slope / ti.max(slope.norm(), 1e-30)


@cache
def _kernel() -> Any:
    @ti.kernel
    def ascend(
        place: ti.types.ndarray(dtype=ti.types.vector(3, ti.f32), ndim=1),
        coefficient: ti.types.ndarray(dtype=ti.f32, ndim=3),
        goal: ti.types.ndarray(dtype=ti.i32, ndim=3),
        first: ti.f32,
        longest: ti.f32,
        shortest: ti.f32,
        tolerance: ti.f32,
        most: ti.i32,
        found: ti.types.ndarray(dtype=ti.i32, ndim=1),
    ):
        for n in range(found.shape[0]):
            x = place[n]
            k1 = _uphill(x, coefficient)
            h = first
            end = -1
            step = 0
            while step < most:
                step += 1
                cell = ti.Vector([0, 0, 0])
                for axis in ti.static(range(3)):
                    cell[axis] = ti.max(0, ti.min(int(ti.floor(x[axis])), goal.shape[axis] - 1))
                end = goal[cell[0], cell[1], cell[2]]
                if end >= 0:
                    break
                k2 = _uphill(x + h / 2 * k1, coefficient)
                k3 = _uphill(x + 3 * h / 4 * k2, coefficient)
                ahead = x + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
                k4 = _uphill(ahead, coefficient)
                error = (h * (-5 * k1 + 6 * k2 + 8 * k3 - 9 * k4) / 72).norm()
                if error <= tolerance or h <= shortest:
                    x = ahead
                    k1 = k4
                factor = 0.9 * ti.pow(tolerance / ti.max(error, 1e-12), 1.0 / 3)
                h = ti.max(shortest, ti.min(longest, h * ti.max(0.2, ti.min(3.0, factor))))
            found[n] = ti.max(end, -1)

    return ascend


def ascend(
    places: np.ndarray,
    coefficients: np.ndarray,
    goals: np.ndarray,
    steps: tuple[float, float, float],
    tolerance: float,
) -> np.ndarray:
    """Where paths of steepest ascent lead to, on the device of the current session.

    Parameters
    ----------
    places : ndarray, shape (n, 3)
        Where they begin, in units of the spacing of a lattice of cubes, from its first point.
    coefficients : ndarray of float32, shape (nx, ny, nz)
        Of the spline; six points or more along each axis.
    goals : ndarray of int32, one shorter along each axis
        What the cells between the points belong to; a path ends in the first one that is not negative.
    steps : tuple of float
        Length of the first step, of the longest and of the shortest, in units of the spacing.
    tolerance : float
        Error of a step, in the same unit.

    Returns
    -------
    ndarray of int32, shape (n,)
        The goal of each path, -1 where it comes to none.
    """
    found = np.full(len(places), -1, np.int32)
    where = np.ascontiguousarray(places, np.float32)
    first, longest, shortest = steps
    launch(
        _kernel(),
        place=where,
        coefficient=coefficients,
        goal=goals,
        first=first,
        longest=longest,
        shortest=shortest,
        tolerance=tolerance,
        most=_MOST_STEPS,
        found=found,
    )
    return found
