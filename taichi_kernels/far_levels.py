"""What is far from groups of points: how many levels of each site, so that errors add up to less than a tolerance.

The distributions of a site are in levels. A row stands for a site and a number of levels that are far, row = site *
(number of levels + 1) + number. For each group that number is found for all sites together, by their distances from
the box about its points: the most that a common limit on the error of a site allows. Of the limits tolerance,
tolerance / 2, tolerance / 4, ... the first counts whose errors add up to no more than the tolerance, at the latest the
one that is a share of it for each site.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ._taichi import number, quick, ti
from .cells import CELL
from .electrostatics_kernels import TOGETHER
from .target import Target

_HALVINGS = 7
"""Steps that find one of up to 127 distances."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Bounds on the errors of multipoles.

    Attributes
    ----------
    sites : ndarray of float64, shape (n_sites, 3)
        In bohr.
    distances : ndarray of float64, shape (n_distances,)
        Rising, in bohr, 127 at most.
    bounds : ndarray of float64, shape (n_sites, n_levels, n_distances)
        Of the error, in hartree/e, when so many levels and one are far from a point at that distance or farther; they
        grow with the levels.
    tolerance : float
        In hartree/e. At 0 nothing is far.
    """

    sites: np.ndarray
    distances: np.ndarray
    bounds: np.ndarray
    tolerance: float


@dataclass(frozen=True, eq=False)
class LevelTables:
    """What the kernel of `level_kernel` takes beside points.

    Attributes
    ----------
    n_sites, n_limits : int
    tolerance : float
        In hartree/e.
    arrays : tuple
        Sites; distances; numbers of levels within each limit, for each site and distance; bounds on the error of each
        row at each distance; the work that a row is.
    """

    n_sites: int
    n_limits: int
    tolerance: float
    arrays: tuple[Any, ...]


def level_tables(levels: Levels, effort: np.ndarray, wide: "np.dtype[np.floating]") -> LevelTables:
    """Tables of one type of numbers; rounding of single precision makes less far, and never more.

    Parameters
    ----------
    levels
    effort : ndarray, shape (n_rows,)
        About how much work a row is for a point.
    wide
        Type of the numbers.
    """
    n_sites, _, n_distances = levels.bounds.shape
    limits = []
    if levels.tolerance > 0:
        limits.append(levels.tolerance)
        while limits[-1] > levels.tolerance / n_sites:
            limits.append(limits[-1] / 2)
    within = np.zeros((len(limits), n_sites, n_distances), np.int32)
    for table, limit in zip(within, limits, strict=True):
        table[...] = (levels.bounds <= limit).sum(axis=1)
    bounds = np.concatenate([np.zeros((n_sites, 1, n_distances)), levels.bounds], axis=1)
    distances, tolerance = levels.distances, levels.tolerance
    if wide == np.float32:
        extent = np.abs(levels.sites).max() + distances[-1]
        distances = distances * (1 + _ROUNDINGS) + extent * _ROUNDINGS
        tolerance *= 1 - n_sites * _ROUNDINGS
    arrays = (
        np.ascontiguousarray(levels.sites, wide),
        np.ascontiguousarray(distances, wide),
        np.concatenate([within.reshape(-1, n_distances), np.zeros((1, n_distances), np.int32)]),
        np.ascontiguousarray(bounds.reshape(-1, n_distances), wide),
        np.ascontiguousarray(effort, np.float32),
    )
    return LevelTables(n_sites, len(limits), float(tolerance), arrays)


_ROUNDINGS = 8 * float(np.finfo(np.float32).eps)


@lru_cache
def level_kernel(target: Target, sums: "np.dtype[np.floating]") -> Callable[..., None]:
    """Kernel that finds the rows of groups, and the work that they are; `sums` is the type of the tables.

    A group has as many slots as `TOGETHER` says. See `electrostatics.potential_at_points` for points in slots.
    """
    wide, real, together = number(sums), number(target.dtype), TOGETHER[target.device]
    I1, I2, R1, F1, W1, W2 = (
        ti.types.ndarray(ti.i32, 1),
        ti.types.ndarray(ti.i32, 2),
        ti.types.ndarray(real, 1),
        ti.types.ndarray(ti.f32, 1),
        ti.types.ndarray(wide, 1),
        ti.types.ndarray(wide, 2),
    )

    @ti.kernel
    def kernel(
        begin: ti.i32,
        n: ti.i32,
        n_sites: ti.i32,
        n_limits: ti.i32,
        tolerance: wide,
        n_points: ti.i32,
        points: I1,  # (slots)
        whole: I1,  # (3 x points) whole cells of CELL bohr
        rest: R1,  # (3 x points) bohr
        sites: W2,  # (sites, 3) bohr
        distances: W1,  # bohr
        within: I2,  # (limits x sites, distances)
        bounds: W2,  # (rows, distances) hartree/e
        effort: F1,  # (rows)
        rows: I2,  # (groups, sites)
        work: F1,  # (groups)
    ):
        ti.loop_config(block_dim=32)
        for i in range(n):
            b = begin + i
            n_distances, n_rows = distances.shape[0], bounds.shape[0] // n_sites
            low, high = ti.Vector([wide(1e30)] * 3), ti.Vector([wide(-1e30)] * 3)
            for slot in range(b * together, (b + 1) * together):
                p = ti.max(points[slot], -1 - points[slot])
                for axis in ti.static(range(3)):
                    x = ti.cast(whole[axis * n_points + p], wide) * wide(CELL) + ti.cast(
                        rest[axis * n_points + p], wide
                    )
                    low[axis], high[axis] = ti.min(low[axis], x), ti.max(high[axis], x)
            for s in range(n_sites):
                square = wide(0.0)
                for axis in ti.static(range(3)):
                    x = sites[s, axis]
                    outside = ti.max(ti.max(low[axis] - x, x - high[axis]), wide(0.0))
                    square += outside * outside
                distance = ti.sqrt(square)
                place = 0  # how many of the distances are not larger
                for halving in ti.static(range(_HALVINGS)):
                    further = place + (1 << (_HALVINGS - 1 - halving))
                    if further <= n_distances:
                        if distances[further - 1] <= distance:
                            place = further
                rows[b, s] = place - 1
            chosen, found = 0, n_limits == 0
            for limit in range(n_limits):
                if not found:
                    chosen = limit
                    error = wide(0.0)
                    for s in range(n_sites):
                        place = rows[b, s]
                        if place >= 0:
                            error += bounds[s * n_rows + within[limit * n_sites + s, place], place]
                    found = error <= tolerance
            total = ti.f32(0.0)
            for s in range(n_sites):
                place = rows[b, s]
                row = s * n_rows
                if place >= 0 and n_limits > 0:
                    row += within[chosen * n_sites + s, place]
                rows[b, s] = row
                total += effort[row]
            work[b] = total

    return quick(kernel)
