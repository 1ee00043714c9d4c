r"""Paths of steepest ascent: from bond points to the atoms that they join, from ring points to the atoms about them.

A step follows the local quadratic model of the density exactly (M. Page, J. W. McIver, J. Chem. Phys. 1988, 88, 922):
in the frame of the eigenvectors of the Hessian the solution of :math:`\dot x = g + H x` is

.. math::  x_i(t) = g_i\, \frac{e^{\lambda_i t} - 1}{\lambda_i}

with t such that the step has the length that is wanted. That stays on a ridge, which steps along the gradient would
cross to and fro. The angle between the gradient where it ends and the one of the model tells the error, by which steps
are accepted.

The maxima about a ring or a cage are those where paths from its critical point end.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...base.watch import checkpoint
from ...gaussians.extent import directions
from .derivatives import DensityDerivatives
from .search import Balls, Found

Integers = NDArray[np.int64]

_FIRST, _LONGEST, _SHORTEST = 0.05, 0.4, 1e-3
"""Steps in bohr."""

_BEGIN = 0.02
"""Distance in bohr from a critical point at which a path begins."""

_ROUNDS = 400
_HALVINGS = 45


@dataclass(frozen=True, eq=False)
class Ascents:
    """Paths of steepest ascent.

    Attributes
    ----------
    lines : tuple of ndarray, shape (n_points, 3)
        In bohr; the first point is the origin of the path, the last one the attractor, where it came to one.
    ends : ndarray of int, shape (n_paths,)
        Attractors, -1 where a path ends elsewhere.
    """

    lines: tuple[Reals, ...]
    ends: Integers

    def lengths(self) -> Reals:
        """Of the paths, shape (n_paths,), in bohr."""
        steps = [np.diff(line, axis=0) for line in self.lines]
        return np.array([float(np.sqrt((step * step).sum(axis=1)).sum()) for step in steps])


def ascents(
    field: DensityDerivatives, origins: Reals, directions: Reals, attractors: Balls, tolerance: float = 2e-3
) -> Ascents:
    """Follow the gradient uphill, all paths at once.

    Parameters
    ----------
    field
        The density.
    origins, directions : ndarray, shape (n, 3)
        Critical points in bohr, and unit vectors along which paths leave them.
    attractors
        Where they end: maxima, each with a ball in which all paths lead to it.
    tolerance
        Error of a step in bohr. It does not add up: ridges draw paths towards them.
    """
    n = len(origins)
    place = origins + _BEGIN * directions
    points = [[origins[path], place[path].copy()] for path in range(n)]
    ends, length = np.full(n, -1), np.full(n, _FIRST)
    alive = np.arange(n)
    _, gradient, hessian = field(place)
    for _ in range(_ROUNDS):
        if not len(alive):
            break
        checkpoint(1 - len(alive) / n)
        step, reached_peak = _steps(gradient[alive], hessian[alive], length[alive])
        ahead = place[alive] + step
        _, new_gradient, new_hessian = field(ahead)
        expected = gradient[alive] + np.einsum("nij,nj->ni", hessian[alive], step)
        size = np.sqrt((step * step).sum(axis=1))
        # the angle by which the model errs grows with the square of the way: a third of it counts, on average
        error = size * np.sqrt(((_unit(new_gradient) - _unit(expected)) ** 2).sum(axis=1)) / 3
        good = (error < tolerance) | (size <= _SHORTEST)
        factor = np.clip(0.9 * np.cbrt(tolerance / np.maximum(error, 1e-12)), 0.3, 2.0)
        length[alive] = np.clip(size * factor, _SHORTEST, _LONGEST)
        moved = alive[good]
        place[moved], gradient[moved], hessian[moved] = ahead[good], new_gradient[good], new_hessian[good]
        arrived = attractors.around(place[moved])
        for path, end in zip(moved.tolist(), arrived.tolist(), strict=True):
            points[path].append(attractors.centres[end] if end >= 0 else place[path].copy())
        ends[moved] = arrived
        stopped = np.zeros(n, bool)
        stopped[moved] = (arrived >= 0) | (reached_peak[good] & (size[good] < _SHORTEST))
        alive = alive[~stopped[alive]]
    return Ascents(tuple(np.array(line) for line in points), ends)


def _unit(vectors: Reals) -> Reals:
    return vectors / np.maximum(np.sqrt((vectors * vectors).sum(axis=1)), 1e-300)[:, None]


def _steps(gradient: Reals, hessian: Reals, length: Reals) -> tuple[Reals, NDArray[np.bool_]]:
    """Steps of given lengths along the paths of the quadratic model, and whether they end at its maximum before."""
    values, vectors = np.linalg.eigh(hessian)
    along = np.einsum("nia,ni->na", vectors, gradient)
    slope = np.sqrt((along * along).sum(axis=1))
    scale = np.abs(values).max(axis=1)
    # between these times the step is far too short, and, but where there is a maximum, far too long
    low = np.log(1e-3 * length / np.maximum(slope, 1e-300))
    high = np.log(60.0 / np.maximum(scale, 1e-300))
    low = np.minimum(low, high - 1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        short = np.sqrt((_moved(along, values, np.exp(middle)) ** 2).sum(axis=1)) < length
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    step = _moved(along, values, np.exp(low))
    peak = (values[:, 2] < 0) & (np.sqrt((step * step).sum(axis=1)) < 0.999 * length)
    return np.einsum("nia,na->ni", vectors, step), peak


def _moved(along: Reals, values: Reals, time: Reals) -> Reals:
    """Where the quadratic model leads in a time, in the frame of the eigenvectors."""
    exponent = values * time[:, None]
    small = np.abs(exponent) < 1e-8
    growth = np.expm1(np.minimum(exponent, 300.0)) / np.where(small, 1.0, values)
    return along * np.where(small, time[:, None], growth)


_ABOUT_RING, _ABOUT_CAGE = 8, 60
"""Paths from a ring, in its plane, and from a cage."""

_ROUGH = 0.02
"""Error of a step in bohr: only the end of the path counts."""


def atoms_about(
    field: DensityDerivatives, rings: Found, cages: Found, attractors: Balls, bonds: Integers
) -> list[tuple[int, ...]]:
    """The attractors about each ring, in order about it, and then about each cage, rising.

    A ring of many atoms has some between the ends of two neighbouring paths: those of the shortest way by bonds.

    Parameters
    ----------
    field
        The density.
    rings, cages
        Critical points.
    attractors
        The maxima.
    bonds : ndarray of int, shape (n, 2)
        Attractors that are joined by bond paths.
    """
    angles = 2 * np.pi * (np.arange(_ABOUT_RING) + 0.5) / _ABOUT_RING
    origins, along = [np.zeros((0, 3))], [np.zeros((0, 3))]
    for place, values, vectors in zip(rings.positions, rings.eigenvalues, rings.eigenvectors, strict=True):
        # the steeper of the two directions draws all paths towards it: they begin nearer to the other
        less = values[1] / values[2]
        plane = np.outer(np.cos(angles), vectors[:, 1]) + np.outer(less * np.sin(angles), vectors[:, 2])
        along.append(plane / np.sqrt((plane * plane).sum(axis=1))[:, None])
        origins.append(np.repeat(place[None], _ABOUT_RING, axis=0))
    for place in cages.positions:
        along.append(directions(_ABOUT_CAGE))
        origins.append(np.repeat(place[None], _ABOUT_CAGE, axis=0))
    paths = ascents(field, np.concatenate(origins), np.concatenate(along), attractors, _ROUGH)
    of_rings = paths.ends[: _ABOUT_RING * len(rings)].reshape(len(rings), _ABOUT_RING)
    of_cages = paths.ends[of_rings.size :].reshape(len(cages), _ABOUT_CAGE)
    neighbours: dict[int, set[int]] = {}
    for one, other in bonds.tolist():
        if one >= 0 and other >= 0 and one != other:
            neighbours.setdefault(one, set()).add(other)
            neighbours.setdefault(other, set()).add(one)
    return [
        *(_closed([end for end in ends.tolist() if end >= 0], neighbours) for ends in of_rings),
        *(tuple(int(end) for end in np.unique(ends[ends >= 0])) for ends in of_cages),
    ]


def _closed(ends: list[int], neighbours: dict[int, set[int]]) -> tuple[int, ...]:
    """Ends of neighbouring paths as a cycle, with what is between two that are not bonded; it begins with the least."""
    known = list(dict.fromkeys(ends))
    if len(known) < 2:
        return tuple(known)
    cycle: list[int] = []
    for n, (one, other) in enumerate(zip(known, [*known[1:], known[0]], strict=True)):
        direct = other in neighbours.get(one, ()) and not (len(known) == 2 and n == 1)
        others = set(known) | set(cycle)
        cycle += [one] if direct else [one, *_between(one, other, others, neighbours)]
    first = cycle.index(min(cycle))
    cycle = cycle[first:] + cycle[:first]
    return tuple(cycle if cycle[1] < cycle[-1] else [cycle[0], *cycle[:0:-1]])


def _between(one: int, other: int, taken: set[int], neighbours: dict[int, set[int]]) -> list[int]:
    """What is on the shortest way by bonds from one to the other that avoids what is taken; nothing without a way."""
    before = {one: one}
    waiting = deque([one])
    while waiting:
        here = waiting.popleft()
        for there in sorted(neighbours.get(here, ())):
            if there == other and here != one:
                way = []
                while here != one:
                    way.append(here)
                    here = before[here]
                return way[::-1]
            if there not in before and there not in taken:
                before[there] = here
                waiting.append(there)
    return []
