r"""Paths of steepest ascent through a field that is given on lattices, each followed by one thread to its end.

Between the points of a lattice the field is a cubic spline,

.. math::  f(u) = \sum_{ijk} c_{ijk}\, B(u_x - i)\, B(u_y - j)\, B(u_z - k)

with the B-spline B (C. de Boor, A Practical Guide to Splines, New York 1978), whose coefficients have to be found
before. Its gradient has an error of the third power of the spacing, which changes sign between two points and so
hardly moves a path that crosses many cells; a spline of fifth degree takes more than twice the time.

Paths are those of a flow,

.. math::  \frac{dx}{dt} = \nabla f

whose equation is linear near a saddle, where the direction of a path turns within a distance that is as short as it
passes close. They are integrated by the pair of orders 5 and 4 of J. R. Dormand and P. J. Prince (J. Comput. Appl.
Math. 1980, 6, 19), each with steps of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ._taichi import ti
from .arrays import array_of, send
from .launching import launch
from .target import Target

EMPTY, OUTSIDE, INSIDE, UNCLEAR, ASKED, BETWEEN = range(6)
"""Of a point along a ray: where there is too little; in another basin; in its own; in a cell with a border, where it
does not matter; where it does; and where it does, but the border is of two other basins."""

_MOST_STEPS = 300
"""Steps that a path may take."""

_PIECES = ([1, -3, 3, -1], [4, 0, -6, 3], [1, 3, 3, -3], [0, 0, 0, 1])
"""Coefficients of 6 B by powers of the place between two points, for the four points about it."""

SUPPORT = 4
"""Points along an axis that a cubic spline needs."""

_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
"""Shares of the slopes so far in the step to the next one; the last place is where the step ends."""

_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
"""Shares of the seven slopes in the error of a step."""

_FLATTEST = 1e-6
"""Slope in bohr^-1 below which a path is taken to stand still: where steps are not limited by their length."""


@dataclass(frozen=True, eq=False)
class Splines:
    """A field on lattices of cubes, one inside of the other, and between their points too.

    Attributes
    ----------
    coefficient : array of float32, shape (n,)
        Of all lattices, one after the other: of NumPy on a CPU, otherwise on the device.
    shape : ndarray of int32, shape (n_lattices, 3)
    begins : ndarray of int32, shape (n_lattices,)
        Where the coefficients of each begin.
    frame : ndarray of float32, shape (n_lattices, 4)
        First point in bohr, and points in a bohr. The first lattice that has all points about a place counts there.
    """

    coefficient: Any
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


_POLE, _REACHES = 3**0.5 - 2, 20
"""Pole of the filter whose results are the coefficients of cubic splines, and points after which nothing is left of
it: its powers fall off as 0.27^n."""

_SIDE_BY_SIDE = 256
"""Lines that a thread of a CPU filters together, so that it reads what lies together."""


def splines_of(lattices: Sequence[tuple[np.ndarray, np.ndarray, float]], target: Target) -> Splines:
    """Splines through values, shape (nx, ny, nz), on lattices with a first point and a spacing in bohr.

    They have four points or more along each axis. Beyond a face values are those on this side of it, as in a mirror.
    """
    shapes = np.array([values.shape for values, _, _ in lattices], np.int32)
    ends = np.cumsum([values.size for values, _, _ in lattices])
    begins = np.concatenate([[0], ends[:-1]]).astype(np.int32)
    coefficient: Any = np.concatenate([values.reshape(-1).astype(np.float32, copy=False) for values, _, _ in lattices])
    if not target.on_host:
        values, coefficient = coefficient, array_of(ti.f32, coefficient.shape)
        send(coefficient, values)
    for begin, (nx, ny, nz) in zip(begins.tolist(), shapes.tolist(), strict=True):
        for before, n, behind in ((1, nx, ny * nz), (nx, ny, nz), (nx * ny, nz, 1)):
            width = min(behind, _SIDE_BY_SIDE) if target.on_host else 1
            launch(_filter(), begin=begin, before=before, n=n, behind=behind, width=width, values=coefficient)
    frame = np.array([[*origin, 1 / spacing] for _, origin, spacing in lattices], np.float32)
    return Splines(coefficient, shapes, begins, frame)


@cache
def _filter() -> Any:
    """Along one axis: coefficients in place of values (M. Unser, IEEE Signal Process. Mag. 1999, 16 (6), 22)."""

    @ti.kernel
    def of_lines(
        begin: ti.i32,
        before: ti.i32,  # lines along the axes before, and points along those behind
        n: ti.i32,
        behind: ti.i32,
        width: ti.i32,
        values: ti.types.ndarray(dtype=ti.f32, ndim=1),
    ):
        groups = (behind + width - 1) // width
        for task in range(before * groups):
            first = begin + task // groups * n * behind + task % groups * width
            lines = ti.min(width, behind - task % groups * width)
            for line in range(lines):
                share, total = ti.cast(6.0, ti.f32), ti.cast(0.0, ti.f32)
                for k in range(_REACHES):
                    place = k % (2 * n - 2)
                    total += share * values[first + ti.min(place, 2 * n - 2 - place) * behind + line]
                    share *= ti.cast(_POLE, ti.f32)
                values[first + line] = total
            for k in range(1, n):
                for line in range(lines):
                    at = first + k * behind + line
                    values[at] = 6 * values[at] + ti.cast(_POLE, ti.f32) * values[at - behind]
            for line in range(lines):
                at = first + (n - 1) * behind + line
                values[at] = ti.cast(_POLE / (_POLE**2 - 1), ti.f32) * (
                    values[at] + ti.cast(_POLE, ti.f32) * values[at - behind]
                )
            for m in range(1, n):
                for line in range(lines):
                    at = first + (n - 1 - m) * behind + line
                    values[at] = ti.cast(_POLE, ti.f32) * (values[at + behind] - values[at])

    return of_lines


def steepest(values: np.ndarray) -> np.ndarray:
    """Where the way from each point of a lattice of cubes goes up most steeply.

    Parameters
    ----------
    values : ndarray, shape (nx, ny, nz)

    Returns
    -------
    ndarray of int32, shape (nx * ny * nz,)
        The flat index of one of 26 neighbours, or of the point itself where none is higher.
    """
    ahead = np.empty(values.size, np.int32)
    launch(_steepest(), values=np.ascontiguousarray(values, np.float32), ahead=ahead)
    return ahead


@cache
def _steepest() -> Any:
    @ti.kernel
    def find(values: ti.types.ndarray(dtype=ti.f32, ndim=3), ahead: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        nx, ny, nz = values.shape[0], values.shape[1], values.shape[2]
        for row in range(nx * ny):
            i, j = row // ny, row % ny
            for k in range(nz):
                own, most, found = values[i, j, k], ti.cast(0.0, ti.f32), row * nz + k
                for a, b, c in ti.static(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
                    # beyond a face is a neighbour that is looked at with a shorter way, too
                    x, y, z = ti.max(0, ti.min(i + a, nx - 1)), ti.max(0, ti.min(j + b, ny - 1)), k + c
                    z = ti.max(0, ti.min(z, nz - 1))
                    rise = (values[x, y, z] - own) * ti.cast(max(a * a + b * b + c * c, 1) ** -0.5, ti.f32)
                    if rise > most:
                        most, found = rise, (x * ny + y) * nz + z
                ahead[row * nz + k] = found

    return find


@ti.func
def _weights(t: ti.f32):
    """Of the four coefficients about a place, t behind the second of them, and their derivatives."""
    values = ti.Vector([0.0] * 4, dt=ti.f32)
    slopes = ti.Vector([0.0] * 4, dt=ti.f32)
    for n in ti.static(range(4)):
        value, slope = ti.cast(_PIECES[n][3] / 6, ti.f32), ti.cast(0.0, ti.f32)
        for power in ti.static((2, 1, 0)):
            slope = slope * t + value
            value = value * t + _PIECES[n][power] / 6
        values[n], slopes[n] = value, slope
    return values, slopes


@ti.func
def _gradient(
    place: ti.template(), coefficient: ti.template(), shape: ti.template(), first: ti.template(), frame: ti.template()
):
    """The gradient at a place, by the first of the lattices that has all points about it."""
    level = 0
    u = ti.Vector([0.0, 0.0, 0.0], dt=ti.f32)
    for n in range(first.shape[0]):
        u = (place - ti.Vector([frame[n, 0], frame[n, 1], frame[n, 2]])) * frame[n, 3]
        level = n
        if (
            u[0] >= 1
            and u[1] >= 1
            and u[2] >= 1
            and u[0] < shape[n, 0] - 3
            and u[1] < shape[n, 1] - 3
            and u[2] < shape[n, 2] - 3
        ):
            break
    low = ti.Vector([0, 0, 0])
    for axis in ti.static(range(3)):
        low[axis] = ti.max(1, ti.min(int(ti.floor(u[axis])), shape[level, axis] - 3))
    of_x, along_x = _weights(u[0] - low[0])
    of_y, along_y = _weights(u[1] - low[1])
    of_z, along_z = _weights(u[2] - low[2])
    slope = ti.Vector([0.0, 0.0, 0.0], dt=ti.f32)
    for i in ti.static(range(4)):
        row = ti.Vector([0.0, 0.0, 0.0], dt=ti.f32)  # value, along y, along z
        for j in ti.static(range(4)):
            start = first[level] + ((low[0] + i - 1) * shape[level, 1] + low[1] + j - 1) * shape[level, 2] + low[2] - 1
            value, along = ti.cast(0.0, ti.f32), ti.cast(0.0, ti.f32)
            for k in ti.static(range(4)):
                c = coefficient[start + k]
                value += of_z[k] * c
                along += along_z[k] * c
            row += ti.Vector([of_y[j] * value, along_y[j] * value, of_y[j] * along], dt=ti.f32)
        slope += ti.Vector([along_x[i] * row[0], of_x[i] * row[1], of_x[i] * row[2]], dt=ti.f32)
    return slope * frame[level, 3]


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
                k2, k3, k4, k5, k6, ahead = k1, k1, k1, k1, k1, x
                h = ti.cast(0.0, ti.f32)
                end = -1
                step = 0
                stage = 6  # a path begins with a step of no length, which finds its slope
                while step < most:
                    at = x
                    if stage == 1:
                        at = x + h * (_STAGES[0][0] * k1)
                    elif stage == 2:
                        at = x + h * (_STAGES[1][0] * k1 + _STAGES[1][1] * k2)
                    elif stage == 3:
                        at = x + h * (_STAGES[2][0] * k1 + _STAGES[2][1] * k2 + _STAGES[2][2] * k3)
                    elif stage == 4:
                        at = x + h * (_STAGES[3][0] * k1 + _STAGES[3][1] * k2 + _STAGES[3][2] * k3 + _STAGES[3][3] * k4)
                    elif stage == 5:
                        at = x + h * (
                            _STAGES[4][0] * k1
                            + _STAGES[4][1] * k2
                            + _STAGES[4][2] * k3
                            + _STAGES[4][3] * k4
                            + _STAGES[4][4] * k5
                        )
                    else:
                        at = x + h * (
                            _STAGES[5][0] * k1
                            + _STAGES[5][2] * k3
                            + _STAGES[5][3] * k4
                            + _STAGES[5][4] * k5
                            + _STAGES[5][5] * k6
                        )
                        ahead = at
                    k = _gradient(at, coefficient, shape, begins, frame)
                    if stage == 1:
                        k2 = k
                    elif stage == 2:
                        k3 = k
                    elif stage == 3:
                        k4 = k
                    elif stage == 4:
                        k5 = k
                    elif stage == 5:
                        k6 = k
                    stage += 1
                    if stage == 7:
                        stage = 1
                        off = _ERROR[0] * k1 + _ERROR[2] * k3 + _ERROR[3] * k4 + _ERROR[4] * k5 + _ERROR[5] * k6
                        error = h * (off + _ERROR[6] * k).norm()
                        if error <= tolerance or (ahead - x).norm() <= shortest:
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
                        slope = ti.max(k1.norm(), _FLATTEST)
                        if step == 0:
                            h = first / ti.max(slope, 0.1)
                        else:
                            factor = 0.9 * ti.pow(tolerance / ti.max(error, 1e-12), 0.2)
                            h = ti.min(longest / slope, h * ti.max(0.2, ti.min(4.0, factor)))
                        step += 1
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


@cache
def _ray_kernel() -> Any:
    @ti.kernel
    def mark(
        direction: ti.types.ndarray(dtype=ti.types.vector(3, ti.f32), ndim=1),
        basin: ti.types.ndarray(dtype=ti.i32, ndim=3),
        near: ti.types.ndarray(dtype=ti.i32, ndim=3),
        density: ti.types.ndarray(dtype=ti.f32, ndim=3),
        begin: ti.types.vector(3, ti.f32),  # of the rays, in spacings from the first point
        first: ti.f32,  # radius
        step: ti.f32,
        per_bohr: ti.f32,
        own: ti.i32,
        mixed: ti.i32,
        every_other: ti.f32,
        all_of_them: ti.f32,
        state: ti.types.ndarray(dtype=ti.i32, ndim=2),
    ):
        n_radii = state.shape[1]
        for n in range(state.shape[0] * n_radii):
            ray, k = n // n_radii, n % n_radii
            radius = first + step * k
            place = begin + radius * per_bohr * direction[ray]
            cell = ti.Vector([0, 0, 0])
            there = True
            for axis in ti.static(range(3)):
                cell[axis] = int(ti.floor(place[axis]))
                there = there and cell[axis] >= 0 and cell[axis] < basin.shape[axis]
            found = EMPTY
            if k == 0:
                found = INSIDE
            elif there:
                of_cell = basin[cell[0], cell[1], cell[2]]
                if of_cell == own:
                    found = INSIDE
                elif of_cell >= 0:
                    found = OUTSIDE
                elif of_cell == mixed:
                    at = ti.Vector([0, 0, 0])
                    for axis in ti.static(range(3)):
                        at[axis] = int(ti.floor(place[axis] + 0.5))
                    worth = all_of_them if k % 2 == 1 else every_other
                    found = UNCLEAR
                    if density[at[0], at[1], at[2]] * radius * radius > worth:
                        found = ASKED if near[cell[0], cell[1], cell[2]] != 0 else BETWEEN
            state[ray, k] = found

    return mark


def along_rays(
    centre: np.ndarray,
    directions: np.ndarray,
    radii: np.ndarray,
    basin: np.ndarray,
    near: np.ndarray,
    density: np.ndarray,
    frame: tuple[np.ndarray, float],
    own: int,
    mixed: int,
    worth: tuple[float, float],
) -> np.ndarray:
    """What cells of a lattice of cubes say of points along rays.

    Parameters
    ----------
    centre : ndarray, shape (3,)
        Where the rays begin, in bohr: in their own basin.
    directions : ndarray, shape (n_rays, 3)
    radii : ndarray, shape (n_radii,)
        Of the points, in bohr, two or more, evenly spaced. The first is in the basin.
    basin : ndarray of int32, one shorter than the lattice along each axis
        Of cells that are whole in one; below 0 for others.
    near : ndarray of int32, of the same shape
        Not 0 in cells that the own basin may have a part of.
    density : ndarray, shape (nx, ny, nz)
        At the points of the lattice, in e bohr^-3.
    frame : tuple
        First point of the lattice and its spacing, in bohr.
    own, mixed : int
        The basin of the rays, and what stands for cells with a border.
    worth : tuple of float
        Density times the square of the radius, in e per bohr, from which on points near a border are asked: those with
        even numbers, and those with odd ones.

    Returns
    -------
    ndarray of int32, shape (n_rays, n_radii)
        EMPTY, OUTSIDE, INSIDE, UNCLEAR, ASKED or BETWEEN.
    """
    state = np.empty((len(directions), len(radii)), np.int32)
    origin, spacing = frame
    launch(
        _ray_kernel(),
        direction=np.ascontiguousarray(directions, np.float32),
        basin=basin,
        near=near,
        density=np.ascontiguousarray(density, np.float32),
        begin=((centre - origin) / spacing).astype(np.float32),
        first=float(radii[0]),
        step=float(radii[1] - radii[0]),
        per_bohr=1 / spacing,
        own=own,
        mixed=mixed,
        every_other=worth[0],
        all_of_them=worth[1],
        state=state,
    )
    return state
