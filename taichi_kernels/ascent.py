r"""Paths of steepest ascent through a field that is given on lattices, each followed by one thread to its end.

Between the points of a lattice the field is a spline of fifth degree,

.. math::  f(u) = \sum_{ijk} c_{ijk}\, B(u_x - i)\, B(u_y - j)\, B(u_z - k)

with the B-spline B (C. de Boor, A Practical Guide to Splines, New York 1978), whose coefficients have to be found
before. Its gradient has an error of the fifth power of the spacing. Paths are integrated by their length as the exact
ones of `orbitile.analysis.qtaim` are: by the pair of orders 3 and 2 of P. Bogacki and L. F. Shampine (Appl. Math. Lett.
1989, 2, 321), with steps of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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

SUPPORT = 6
"""Points along an axis that a spline of fifth degree needs."""


@dataclass(frozen=True, eq=False)
class Splines:
    """A field on lattices of cubes, one inside of the other, and between their points too.

    Attributes
    ----------
    coefficient : ndarray of float32, shape (n,)
        Of all lattices, one after the other.
    shape : ndarray of int32, shape (n_lattices, 3)
    begins : ndarray of int32, shape (n_lattices,)
        Where the coefficients of each begin.
    frame : ndarray of float32, shape (n_lattices, 4)
        First point in bohr, and points in a bohr. The first lattice that has all points about a place counts there.
    """

    coefficient: np.ndarray
    shape: np.ndarray
    begins: np.ndarray
    frame: np.ndarray


@dataclass(frozen=True, eq=False)
class Goals:
    """Where paths end: in cells of a lattice, and in spheres.

    Attributes
    ----------
    cells : ndarray of int32, shape (nx, ny, nz)
        The goal that a cell is; -1 for none, -2 - n for the part of it that is in the n-th sphere.
    corner : ndarray, shape (3,)
        Of the first cell, in bohr.
    edge : float
        Length of a cell in bohr.
    centre, radius : ndarray, shapes (n_spheres, 3) and (n_spheres,)
        In bohr.
    """

    cells: np.ndarray
    corner: np.ndarray
    edge: float
    centre: np.ndarray
    radius: np.ndarray


def splines_of(lattices: Sequence[tuple[np.ndarray, np.ndarray, float]]) -> Splines:
    """Splines through values, shape (nx, ny, nz), on lattices with a first point and a spacing in bohr.

    They have six points or more along each axis.
    """
    from scipy.ndimage import spline_filter

    sizes = [values.size for values, _, _ in lattices]
    return Splines(
        np.concatenate([spline_filter(v, 5, mode="mirror").astype(np.float32).reshape(-1) for v, _, _ in lattices]),
        np.array([values.shape for values, _, _ in lattices], np.int32),
        np.array(np.cumsum([0, *sizes[:-1]]), np.int32),
        np.array([[*origin, 1 / spacing] for _, origin, spacing in lattices], np.float32),
    )


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
def _uphill(
    place: ti.template(), coefficient: ti.template(), shape: ti.template(), first: ti.template(), frame: ti.template()
):
    """Direction of the gradient at a place, by the first of the lattices that has all points about it."""
    level = 0
    u = ti.Vector([0.0, 0.0, 0.0], dt=ti.f32)
    for n in range(first.shape[0]):
        u = (place - ti.Vector([frame[n, 0], frame[n, 1], frame[n, 2]])) * frame[n, 3]
        level = n
        if (
            u[0] >= 2
            and u[1] >= 2
            and u[2] >= 2
            and u[0] < shape[n, 0] - 4
            and u[1] < shape[n, 1] - 4
            and u[2] < shape[n, 2] - 4
        ):
            break
    low = ti.Vector([0, 0, 0])
    for axis in ti.static(range(3)):
        low[axis] = ti.max(2, ti.min(int(ti.floor(u[axis])), shape[level, axis] - 4))
    of_x, along_x = _weights(u[0] - low[0])
    of_y, along_y = _weights(u[1] - low[1])
    of_z, along_z = _weights(u[2] - low[2])
    slope = ti.Vector([0.0, 0.0, 0.0], dt=ti.f32)
    for i in range(6):
        row = ti.Vector([0.0, 0.0, 0.0], dt=ti.f32)  # value, along y, along z
        for j in range(6):
            start = first[level] + ((low[0] + i - 2) * shape[level, 1] + low[1] + j - 2) * shape[level, 2] + low[2] - 2
            value, along = ti.cast(0.0, ti.f32), ti.cast(0.0, ti.f32)
            for k in ti.static(range(6)):
                c = coefficient[start + k]
                value += of_z[k] * c
                along += along_z[k] * c
            row += ti.Vector([of_y[j] * value, along_y[j] * value, of_y[j] * along], dt=ti.f32)
        slope += ti.Vector([along_x[i] * row[0], of_x[i] * row[1], of_x[i] * row[2]], dt=ti.f32)
    return slope / ti.max(slope.norm(), 1e-30)


@cache
def _kernel() -> Any:
    @ti.kernel
    def divide(
        origin: ti.types.ndarray(dtype=ti.types.vector(3, ti.f32), ndim=1),
        along: ti.types.ndarray(dtype=ti.types.vector(3, ti.f32), ndim=1),
        own: ti.types.ndarray(dtype=ti.i32, ndim=1),
        width: ti.types.ndarray(dtype=ti.f32, ndim=1),
        coefficient: ti.types.ndarray(dtype=ti.f32, ndim=1),
        shape: ti.types.ndarray(dtype=ti.i32, ndim=2),
        begins: ti.types.ndarray(dtype=ti.i32, ndim=1),
        frame: ti.types.ndarray(dtype=ti.f32, ndim=2),
        goal: ti.types.ndarray(dtype=ti.i32, ndim=3),
        centre: ti.types.ndarray(dtype=ti.types.vector(3, ti.f32), ndim=1),
        radius: ti.types.ndarray(dtype=ti.f32, ndim=1),
        corner: ti.types.vector(3, ti.f32),
        per_bohr: ti.f32,
        first: ti.f32,
        longest: ti.f32,
        shortest: ti.f32,
        tolerance: ti.f32,
        most: ti.i32,
        low: ti.types.ndarray(dtype=ti.f32, ndim=1),
        high: ti.types.ndarray(dtype=ti.f32, ndim=1),
        found: ti.types.ndarray(dtype=ti.i32, ndim=1),
    ):
        for n in range(found.shape[0]):
            end = 0
            going = True
            while going:
                middle = (low[n] + high[n]) / 2
                x = origin[n] + middle * along[n]
                k1 = ti.Vector([0.0, 0.0, 0.0], dt=ti.f32)
                k2, k3, ahead = k1, k1, x
                h = ti.cast(0.0, ti.f32)
                end = -1
                step = 0
                stage = 2  # a path begins with a step of no length, which finds its direction
                while step < most:
                    at = x
                    if stage == 0:
                        at = x + h / 2 * k1
                    elif stage == 1:
                        at = x + 3 * h / 4 * k2
                    else:
                        ahead = x + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
                        at = ahead
                    k = _uphill(at, coefficient, shape, begins, frame)
                    if stage == 0:
                        k2 = k
                        stage = 1
                    elif stage == 1:
                        k3 = k
                        stage = 2
                    else:
                        error = (h * (-5 * k1 + 6 * k2 + 8 * k3 - 9 * k) / 72).norm()
                        if error <= tolerance or h <= shortest:
                            x = ahead
                            k1 = k
                            place = (x - corner) * per_bohr
                            cell = ti.Vector([0, 0, 0])
                            for axis in ti.static(range(3)):
                                cell[axis] = ti.max(0, ti.min(int(ti.floor(place[axis])), goal.shape[axis] - 1))
                            end = goal[cell[0], cell[1], cell[2]]
                            if end < -1:
                                sphere = -2 - end
                                end = sphere if (x - centre[sphere]).norm() < radius[sphere] else -1
                            if end >= 0:
                                break
                        factor = 0.9 * ti.pow(tolerance / ti.max(error, 1e-12), 1.0 / 3)
                        if step == 0:
                            h = first
                        else:
                            h = ti.max(shortest, ti.min(longest, h * ti.max(0.2, ti.min(3.0, factor))))
                        step += 1
                        stage = 0
                if end >= 0:
                    if (end == own[n]) == (width[n] > 0):
                        low[n] = middle
                    else:
                        high[n] = middle
                going = end >= 0 and high[n] - low[n] > ti.abs(width[n])
            found[n] = end

    return divide


def divide(
    origin: np.ndarray,
    along: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    own: np.ndarray,
    leaves: np.ndarray,
    width: np.ndarray,
    splines: Splines,
    goals: Goals,
    steps: tuple[float, float, float],
    tolerance: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Halve parts of rays at the border of a basin, until they are as short as is wanted.

    Parameters
    ----------
    origin, along : ndarray, shape (n, 3)
        Where rays begin, in bohr, and their directions.
    low, high : ndarray, shape (n,)
        Ends of the part of each ray that has the border, in bohr from its origin.
    own, leaves : ndarray, shape (n,)
        The basin, and whether the ray leaves it (or comes into it).
    width : ndarray, shape (n,)
        How short the part is to be, in bohr. It is halved once at least.
    splines
        Of the field.
    goals
        Where paths end.
    steps : tuple of float
        Length in bohr of the first step, of the longest and of the shortest.
    tolerance : float
        Error of a step in bohr.

    Returns
    -------
    low, high : ndarray, shape (n,)
    found : ndarray of int32, shape (n,)
        Where the last path led to; -1 where a path came to no end, and the part is what it was then.
    """
    found = np.full(len(low), -1, np.int32)
    ends = [np.array(end, np.float32) for end in (low, high)]
    first, longest, shortest = steps
    launch(
        _kernel(),
        origin=np.ascontiguousarray(origin, np.float32),
        along=np.ascontiguousarray(along, np.float32),
        own=np.ascontiguousarray(own, np.int32),
        width=np.where(leaves, width, -np.asarray(width)).astype(np.float32),
        coefficient=splines.coefficient,
        shape=splines.shape,
        begins=splines.begins,
        frame=splines.frame,
        goal=goals.cells,
        centre=np.ascontiguousarray(goals.centre, np.float32),
        radius=np.ascontiguousarray(goals.radius, np.float32),
        corner=np.asarray(goals.corner, np.float32),
        per_bohr=1 / goals.edge,
        first=first,
        longest=longest,
        shortest=shortest,
        tolerance=tolerance,
        most=_MOST_STEPS,
        low=ends[0],
        high=ends[1],
        found=found,
    )
    return ends[0], ends[1], found
