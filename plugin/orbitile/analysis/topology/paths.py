r"""Paths of steepest ascent: from bond points to the atoms that they join, from ring points to the atoms about them.

A step follows the local quadratic model of the density exactly (M. Page, J. W. McIver, J. Chem. Phys. 1988, 88, 922):
in the frame of the eigenvectors of the Hessian the solution of :math:`\dot x = g + H x` is

.. math::  x_i(t) = g_i\, \frac{e^{\lambda_i t} - 1}{\lambda_i}

with t such that the step has the length that is wanted. That stays on a ridge, which steps along the gradient would
cross to and fro. The angle between the gradient where it ends and the one of the model tells the error, by which steps
are accepted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...watch import checkpoint
from .balls import Balls
from .derivatives import DensityDerivatives

Reals = NDArray[np.float64]
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
    result: Reals = vectors / np.maximum(np.sqrt((vectors * vectors).sum(axis=1)), 1e-300)[:, None]
    return result


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
    result: Reals = along * np.where(small, time[:, None], growth)
    return result
