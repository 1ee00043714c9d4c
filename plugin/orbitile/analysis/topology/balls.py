"""Balls about nuclei, and which points are in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Balls:
    """Balls of which no more than two have a point in common.

    Attributes
    ----------
    centres : ndarray, shape (n, 3)
        In bohr.
    radii : ndarray, shape (n,)
        In bohr.
    """

    centres: Reals
    radii: Reals

    def __len__(self) -> int:
        return len(self.radii)

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Balls:
        """Some of them."""
        return Balls(self.centres[which], self.radii[which])

    def around(self, points: Reals) -> Integers:
        """The ball in which each point is, the one deepest in where there are two; -1 for none; shape (n_points,)."""
        from scipy.spatial import cKDTree

        if not len(self) or not len(points):
            return np.full(len(points), -1)
        near = cKDTree(self.centres).query(points, k=min(2, len(self)))
        distances, which = (np.asarray(part).reshape(len(points), -1) for part in near)
        outside = distances - self.radii[which]
        best = np.argmin(outside, axis=1)
        rows = np.arange(len(points))
        return np.where(outside[rows, best] < 0, which[rows, best], -1)

    def hold(self, points: Reals) -> NDArray[np.bool_]:
        """Which points are in any of them, shape (n_points,)."""
        result: NDArray[np.bool_] = self.around(points) >= 0
        return result
