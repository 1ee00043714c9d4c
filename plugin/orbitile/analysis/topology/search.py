"""Critical points of a density near starting points, all starting points at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...watch import checkpoint
from .balls import Balls
from .derivatives import DensityDerivatives

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

CONVERGED = 1e-9
"""Length in bohr of the last step: as steps shrink with their squares, what is left is far less."""

_LONGEST, _ROUNDS = 0.3, 30
"""Longest step in bohr, and steps that are tried."""

_SETTLED, _SHRINKING = 7, 0.75
"""A search leads nowhere, or goes to and fro, if after so many steps one is not shorter than a share of the one before;
at a point where critical points merge each is half as long."""

_ROUNDING = 1e-6
"""Length in bohr of steps that may be due to rounding, where the density is flat."""

_SAME = 1e-4
"""Distance in bohr below which two critical points are one."""

_AT_ONCE = 8192
"""Points of a grid that are looked at at once."""

_NEAR = 0.1
"""Distance in bohr from a critical point at which a search for its like ends."""

DEGENERATE = 1e-5
"""Share of the largest curvature below which one counts as none: the place where critical points merge and vanish."""


@dataclass(frozen=True, eq=False)
class Found:
    """Critical points, none of them twice.

    Attributes
    ----------
    positions : ndarray, shape (n, 3)
        In bohr.
    density : ndarray, shape (n,)
        In e bohr^-3.
    eigenvalues : ndarray, shape (n, 3)
        Of the Hessian, rising, in e bohr^-5.
    eigenvectors : ndarray, shape (n, 3, 3)
        Its columns.
    """

    positions: Reals
    density: Reals
    eigenvalues: Reals
    eigenvectors: Reals

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def degenerate(self) -> NDArray[np.bool_]:
        """Whether a curvature vanishes, shape (n,)."""
        sizes = np.abs(self.eigenvalues)
        result: NDArray[np.bool_] = sizes.min(axis=1) < DEGENERATE * sizes.max(axis=1)
        return result

    @property
    def n_negative(self) -> Integers:
        """Directions in which the density falls: 3 at a maximum, 2 on a bond, 1 in a ring, 0 in a cage; shape (n,)."""
        count: Integers = (self.eigenvalues < 0).sum(axis=1)
        return count

    @property
    def index(self) -> int:
        """What Poincare and Hopf sum up: maxima less bonds plus rings less cages, degenerate points left out."""
        return int(np.sum((-1) ** (3 - self.n_negative[~self.degenerate])))

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Found:
        """Some of them."""
        return Found(self.positions[which], self.density[which], self.eigenvalues[which], self.eigenvectors[which])

    def near(self, points: Reals, n_negative: Integers, distance: float) -> NDArray[np.bool_]:
        """Which points are near to one of them that has as many negative eigenvalues."""
        from scipy.spatial import cKDTree

        result = np.zeros(len(points), bool)
        for count in range(4):
            mine, theirs = self.positions[self.n_negative == count], n_negative == count
            if len(mine) and theirs.any():
                result[theirs] = cKDTree(mine).query(points[theirs])[0] < distance
        return result

    def with_more(self, others: Found) -> Found:
        """These and those of others that are not among them."""
        from scipy.spatial import cKDTree

        both = Found(*(np.concatenate(pair) for pair in zip(_arrays(self), _arrays(others), strict=True)))
        if not len(both):
            return both
        pairs = cKDTree(both.positions).query_pairs(_SAME, output_type="ndarray")
        doubled = np.zeros(len(both), bool)
        doubled[pairs.max(axis=1)] = True
        # of a continuous set, as the circle about an axis, one point stands for all
        loose = np.flatnonzero(both.degenerate & ~doubled)
        for n, point in enumerate(loose):
            earlier = loose[:n]
            same = np.abs(both.density[earlier] - both.density[point]) < 1e-8 * both.density[point]
            doubled[point] = np.any(same & ~doubled[earlier])
        return both.chosen(~doubled)


def _arrays(found: Found) -> tuple[Reals, Reals, Reals, Reals]:
    return found.positions, found.density, found.eigenvalues, found.eigenvectors


def nothing_found() -> Found:
    """No critical points."""
    return Found(np.zeros((0, 3)), np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3, 3)))


def critical_points_near(
    field: DensityDerivatives,
    seeds: Reals,
    n_negative: Integers | None,
    least: float,
    avoided: Balls,
    known: Found,
    farthest: float = 2.5,
) -> Found:
    r"""Follow eigenvectors of the Hessian from starting points to critical points.

    In the frame of the eigenvectors the step is :math:`\pm g_i / |\lambda_i|`, uphill along those with the lowest
    eigenvalues and downhill along the others, whatever the signs of the eigenvalues are yet: Newton's step where they
    are right (P. L. A. Popelier, Chem. Phys. Lett. 1994, 228, 160; A. Banerjee et al., J. Phys. Chem. 1985, 89, 52).
    Who comes upon a critical point that is known ends there.

    Parameters
    ----------
    field
        The density.
    seeds : ndarray, shape (n, 3)
        In bohr.
    n_negative : ndarray of int, shape (n,), optional
        Directions to go uphill from each; without, as many as are at the starting point.
    least
        Density below which nothing is looked for, in e bohr^-3.
    avoided
        Balls about nuclei in which only maxima are looked for.
    known
        What was found before.
    farthest
        Distance from its starting point in bohr at which a search ends.

    Returns
    -------
    Found
        What was known and what is new: points with the curvatures that were wanted, or a vanishing one.
    """
    place = seeds.copy()
    uphill = np.zeros(len(seeds), np.int64) if n_negative is None else n_negative.copy()
    alive = np.arange(len(seeds))
    before = np.full(len(seeds), np.inf)
    for turn in range(_ROUNDS):
        if not len(alive):
            break
        checkpoint(1 - len(alive) / len(seeds))
        density, gradient, hessian = field(place[alive])
        values, vectors = np.linalg.eigh(hessian)
        if n_negative is None and turn == 0:
            uphill = (values < 0).sum(axis=1)
        step = following_step(gradient, values, vectors, uphill[alive])
        length = np.sqrt((step * step).sum(axis=1))
        shrinking = length < _SHRINKING * before[alive]
        converged = length < np.where(shrinking, CONVERGED, _ROUNDING)
        before[alive] = length
        found = Found(place[alive], density, values, vectors)
        as_wanted = (found.n_negative == uphill[alive]) | found.degenerate
        known = known.with_more(found.chosen(converged & as_wanted & (density > least)))
        step *= np.minimum(1.0, _LONGEST / np.maximum(length, 1e-300))[:, None]
        place[alive] += np.where(converged[:, None], 0.0, step)
        away = ((place[alive] - seeds[alive]) ** 2).sum(axis=1) > farthest**2
        lost = away | (density < least) | (avoided.hold(place[alive]) & (uphill[alive] < 3))
        astray = (turn >= _SETTLED) & ~shrinking
        ended = converged | lost | astray | known.near(place[alive], uphill[alive], _NEAR)
        alive = alive[~ended]
    return known


def promising(
    field: DensityDerivatives, points: Reals, within: float, least: float, known: Found
) -> tuple[Reals, Integers]:
    """Those of many points from where Newton's step is short and leads to nothing that is known.

    Parameters
    ----------
    field, points, least, known
        As for `critical_points_near`.
    within
        Length of a step that is short, in bohr.

    Returns
    -------
    points : ndarray, shape (m, 3)
    n_negative : ndarray of int, shape (m,)
    """
    kept, wanted = [np.zeros((0, 3))], [np.zeros(0, np.int64)]
    for begin in range(0, len(points), _AT_ONCE):
        checkpoint(begin / len(points))
        some = points[begin : begin + _AT_ONCE]
        density, gradient, hessian = field(some)
        values, vectors = np.linalg.eigh(hessian)
        uphill = (values < 0).sum(axis=1)
        step = following_step(gradient, values, vectors, uphill)
        short = ((step * step).sum(axis=1) < within**2) & (density > least)
        new = short & ~known.near(some + step, uphill, 2 * _NEAR)
        kept.append(some[new])
        wanted.append(uphill[new])
    return np.concatenate(kept), np.concatenate(wanted)


def following_step(gradient: Reals, values: Reals, vectors: Reals, uphill: Integers) -> Reals:
    """The step of eigenvector following, shape (n, 3), in bohr."""
    along = np.einsum("nia,ni->na", vectors, gradient)
    sign = np.where(np.arange(3) < uphill[:, None], 1.0, -1.0)
    step: Reals = np.einsum("nia,na->ni", vectors, sign * along / np.maximum(np.abs(values), 1e-300))
    return step
