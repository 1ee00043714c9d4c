r"""Basins of a field on a lattice, as shares of each point.

By the method of M. Yu and D. R. Trinkle (J. Chem. Phys. 2011, 134, 064111): what is at a point flows to those of its
neighbours where the field is higher, in proportion to the difference,

.. math::  w_A(X) = \sum_{X'} J_{X X'}\, w_A(X'), \qquad
    J_{XX'} = \frac{a_{XX'} (f_{X'} - f_X) / l_{XX'}}{\sum_{X''} a_{XX''} (f_{X''} - f_X) / l_{XX''}}

over neighbours with a higher value, whose cells touch its own along an area a at a distance l. On a cubic lattice these
are six of equal weight. What is integrated with these shares converges with the square of the spacing.

Points are done in waves: those come next all of whose higher neighbours are done.

**Cells** of a lattice are whole in one basin, or a border runs through them. The shares of `partition` are only about
right near borders: there paths of steepest ascent say which basin a point of the lattice is in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...base.memory import share
from ...base.watch import checkpoint
from ...model.lattice import Lattice
from ...model.wavefunction import Wavefunction
from .ascent import Gradient, Spheres, attractors_of

Integers = NDArray[np.int32]

_MOST = 3_000_000
"""Points of a lattice of a molecule; larger molecules get wider ones."""

SHARED = 4
"""Basins that a point may have shares in: the largest."""

_AT_ONCE = share("large matrix", 4096)
"""Points whose shares are summed at once: they take 5 kB each."""

_FACES = np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)])
_CUBE = np.array([(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if i or j or k])


@dataclass(frozen=True, eq=False)
class Partition:
    """Shares of basins in the points of a cubic lattice.

    Attributes
    ----------
    lattice : Lattice
    basin : ndarray of int32, shape (n_points, SHARED)
        Basins that have a share, the largest first; -1 for none.
    share : ndarray of float32, shape (n_points, SHARED)
        They add up to 1, or 0 where the field is too small.
    """

    lattice: Lattice
    basin: Integers
    share: NDArray[np.float32]

    def nearest(self, points: Reals) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The lattice point nearest to each point, and whether it is on the lattice at all; shapes (n_points,)."""
        shape = np.array(self.lattice.shape)
        place = np.rint((points - self.lattice.origin) / self.lattice.spacings).astype(np.intp)
        there: NDArray[np.bool_] = np.all((place >= 0) & (place < shape), axis=1)
        place = np.clip(place, 0, shape - 1)
        return (place[:, 0] * shape[1] + place[:, 1]) * shape[2] + place[:, 2], there

    def largest(self, points: Reals) -> Integers:
        """The basin with the largest share at each point, -1 for none; shape (n_points,)."""
        place, there = self.nearest(points)
        return np.where(there, self.basin[place, 0], np.int32(-1))


def lattice_about(wavefunction: Wavefunction, density: float, spacing: float) -> Lattice:
    """A lattice of cubes that holds all where the density is above a value.

    Parameters
    ----------
    wavefunction
    density
        In e bohr^-3.
    spacing
        In bohr; wider where there would be more than three million points.
    """
    from ...evaluation.boxes import enclosing_lattice

    lattice = enclosing_lattice(wavefunction, "density", density, spacing=spacing)
    if lattice.n_points <= _MOST:
        return lattice
    return Lattice.box(lattice.origin, lattice.far_corner, spacing * (lattice.n_points / _MOST) ** (1 / 3))


def maxima(values: NDArray[np.floating], least: float) -> NDArray[np.intp]:
    """Points of a lattice, as flat indices, that are above a limit and none of their 26 neighbours above them.

    Of equal neighbours the first one counts.
    """
    padded = np.pad(values, 1, constant_values=-np.inf)
    highest = values > least
    inner = tuple(slice(1, -1) for _ in range(3))
    for move in _CUBE:
        other = padded[tuple(slice(1 + d, n + 1 + d) for d, n in zip(move, values.shape, strict=True))]
        before = tuple(move) < (0, 0, 0)
        highest &= (padded[inner] > other) if before else (padded[inner] >= other)
    return np.flatnonzero(highest)


def partition(values: NDArray[np.floating], lattice: Lattice, least: float, sources: Integers) -> Partition:
    """Share the points of a lattice out to basins.

    Parameters
    ----------
    values : ndarray, shape (nx, ny, nz)
        The field, on a lattice of cubes.
    lattice
        Its lattice.
    least
        Points with smaller values belong to nobody.
    sources : ndarray of int32, shape (n_points,)
        Basin of the points for which it is known, among them all `maxima`; -1 for others.

    Returns
    -------
    Partition
        Memory: some 150 bytes for each point above the limit while it is made, 32 for each point afterwards.
    """
    n_points = values.size
    flat = values.reshape(-1)
    inside = np.flatnonzero(flat > least)
    order = inside[np.argsort(-flat[inside], kind="stable")]
    rank = np.full(np.array(values.shape) + 2, -1, np.int32)
    at = np.stack(np.unravel_index(order, values.shape)) + 1
    rank[tuple(at)] = np.arange(len(order), dtype=np.int32)
    sorted_values = flat[order].astype(np.float64)
    checkpoint()
    neighbours = np.stack([rank[tuple(at + move[:, None])] for move in _FACES], axis=1)
    own = np.arange(len(order), dtype=np.int32)[:, None]
    known = sources[order] >= 0
    flow = np.where((neighbours >= 0) & (neighbours < own) & ~known[:, None], neighbours, -1)
    # on a sharp ridge along a diagonal none of the six may be higher where one of the 26 is
    for n in np.flatnonzero(~known & (flow < 0).all(axis=1)).tolist():
        around = rank[tuple(at[:, n, None] + _CUBE.T)]
        around = around[around >= 0]
        flow[n, 0] = around.min() if len(around) and around.min() < n else -1
    waiting = (flow >= 0).sum(axis=1).astype(np.int8)
    basin, share = np.full((n_points, SHARED), -1, np.int32), np.zeros((n_points, SHARED), np.float32)
    made_basin, made_share = np.full((len(order), SHARED), -1, np.int32), np.zeros((len(order), SHARED), np.float32)
    made_basin[known, 0], made_share[known, 0] = sources[order[known]], 1.0
    below, first_below = _transposed(flow)
    wave = np.flatnonzero(waiting == 0)
    done = 0
    while len(wave):
        checkpoint(done / len(order))
        done += len(wave)
        _settle(wave[~known[wave]], flow, sorted_values, made_basin, made_share)
        counts = first_below[wave + 1] - first_below[wave]
        starts = np.repeat(first_below[wave] - np.cumsum(counts) + counts, counts)
        reached = below[starts + np.arange(len(starts))]
        np.subtract.at(waiting, reached, 1)
        wave = np.unique(reached[waiting[reached] == 0])
    basin[order], share[order] = made_basin, made_share
    return Partition(lattice, basin, share)


def _transposed(flow: Integers) -> tuple[Integers, NDArray[np.int64]]:
    """For each point those that flow to it, one after the other, and where they begin."""
    source, direction = np.nonzero(flow >= 0)
    goal = flow[source, direction]
    order = np.argsort(goal, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(goal, minlength=len(flow)))])
    return source[order].astype(np.int32), first


def _settle(
    points: NDArray[np.intp], flow: Integers, values: Reals, basin: Integers, share: NDArray[np.float32]
) -> None:
    """Shares of points from those of the points that they flow to."""
    for first in range(0, len(points), _AT_ONCE):
        some = points[first : first + _AT_ONCE]
        goals = flow[some]
        there = goals >= 0
        main = basin[goals, 0]
        reference = main[np.arange(len(some)), there.argmax(axis=1)]
        alone = ((share[goals, 0] > 1 - 1e-6) & (main == reference[:, None])) | ~there
        same = alone.all(axis=1) & there.any(axis=1)
        basin[some[same], 0], share[some[same], 0] = reference[same], 1.0
        mixed, goals, there = some[~same], goals[~same], there[~same]
        if not len(mixed):
            continue
        weight = np.where(there, values[goals] - values[mixed][:, None], 0.0) + np.where(there, 1e-30, 0.0)
        weight /= np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
        which = np.where(there[..., None], basin[goals], -1).reshape(len(mixed), -1)
        part = (share[goals] * weight[..., None]).reshape(len(mixed), -1) * (which >= 0)
        together = which[:, :, None] == which[:, None, :]
        total = np.einsum("nij,nj->ni", together, part)
        later = np.tril(together, -1).any(axis=2) | (which < 0)
        total[later] = 0.0
        largest = np.argsort(-total, axis=1, kind="stable")[:, :SHARED]
        kept = np.take_along_axis(total, largest, axis=1)
        kept /= np.maximum(kept.sum(axis=1, keepdims=True), 1e-300)
        share[mixed] = kept
        basin[mixed] = np.where(kept > 0, np.take_along_axis(which, largest, axis=1), -1)


_WORTH = 1e-5
"""Density in e bohr^-3 below which the largest share is good enough."""

EMPTY, MIXED = -1, -2
"""Instead of a basin: of cells where the density is too small, and of those that more than one has corners of."""

_CLEAR = 0.8
"""Share of a basin in a point from which on its path is not followed, unless the basin of a neighbour is another."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Basins of the cells between the points of a lattice.

    Attributes
    ----------
    lattice : Lattice
        Of the corners.
    basin : ndarray of int32, one shorter than the lattice along each axis
        The basin of all corners, EMPTY or MIXED.
    """

    lattice: Lattice
    basin: Integers

    def around(self, points: Reals) -> Integers:
        """Basin of the cell that each point is in, EMPTY outside of the lattice; shape (n_points,)."""
        place = np.floor((points - self.lattice.origin) / self.lattice.spacings).astype(np.intp)
        there = np.all((place >= 0) & (place < self.basin.shape), axis=1)
        place[~there] = 0
        return np.where(there, self.basin[tuple(place.T)], np.int32(EMPTY))


def cells_of(shares: Partition, gradient: Gradient, spheres: Spheres) -> Cells:
    """Sort the cells of a lattice.

    Parameters
    ----------
    shares
        Of the basins in its points.
    gradient
        Of the density.
    spheres
        About all attractors.
    """
    shape = shares.lattice.shape
    basin, clear = shares.basin[:, 0].copy(), shares.share[:, 0] > _CLEAR
    known = basin < 0
    wanted = np.flatnonzero(~known & ~clear)
    while len(wanted):
        at = np.stack(np.unravel_index(wanted, shape), axis=1)
        points = shares.lattice.origin + at * np.asarray(shares.lattice.spacings)
        known[wanted] = True
        some = gradient(points)[0] > _WORTH
        basin[wanted[some]] = attractors_of(points[some], gradient, spheres)
        wanted = np.flatnonzero(_beside_others(basin.reshape(shape)).reshape(-1) & ~known)
    return Cells(shares.lattice, _of_cells(basin.reshape(shape)))


def _beside_others(basin: Integers) -> NDArray[np.bool_]:
    """Points with a neighbour along an axis in another basin."""
    beside = np.zeros(basin.shape, bool)
    for axis in range(3):
        one, other = _slices(axis)
        different = (basin[one] != basin[other]) & (basin[one] >= 0) & (basin[other] >= 0)
        beside[one] |= different
        beside[other] |= different
    return beside


def _slices(axis: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """All but the last, and all but the first, along an axis."""
    whole = [slice(None)] * 3
    first, second = whole.copy(), whole.copy()
    first[axis], second[axis] = slice(None, -1), slice(1, None)
    return tuple(first), tuple(second)


def _of_cells(basin: Integers) -> Integers:
    """The basin that all corners of a cell have that are in any."""
    least, most = np.where(basin < 0, np.iinfo(np.int32).max, basin), basin
    for axis in range(3):
        one, other = _slices(axis)
        least, most = np.minimum(least[one], least[other]), np.maximum(most[one], most[other])
    return np.where(most < 0, EMPTY, np.where(least == most, most, MIXED)).astype(np.int32)
