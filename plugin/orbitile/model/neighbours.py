"""Which places are near each other: all distances of a few, a tree for many.

The tree is SciPy's, whose import takes as long as to read most molecules.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Indices, Reals

_MOST = 1 << 18
"""Distances that are computed at once, some milliseconds and 8 MB."""

_MOST_TO_NEAREST = 1 << 22
"""Distances to look through for the nearest in less time than the import of SciPy takes, whose tree is faster."""


def pairs_within(places: Reals, others: Reals, reach: float | Reals) -> tuple[Indices, Indices]:
    """All pairs of a place and another one that are no further apart than the reach.

    Parameters
    ----------
    places, others : ndarray, shape (n, 3) and (m, 3)
    reach : float or ndarray, shape (n,)
        In the unit of the places; one for each of them, or for all.

    Returns
    -------
    ndarray, ndarray
        Numbers of the places and of the others, in ascending order.
    """
    if len(places) * len(others) <= _MOST:
        near = np.nonzero(_squares(places, others) <= np.square(np.broadcast_to(reach, len(places)))[:, None])
        return near[0], near[1]
    from scipy.spatial import cKDTree

    found = cKDTree(others).query_ball_point(places, reach, return_sorted=True)
    return (
        np.repeat(np.arange(len(places)), [len(near) for near in found]),
        np.concatenate([np.asarray(near, np.intp) for near in found]),
    )


def pairs_among(places: Reals, reach: float) -> tuple[Indices, Indices]:
    """All pairs of different places no further apart than the reach, each once: the first has the smaller number."""
    one, other = pairs_within(places, places, reach)
    return one[one < other], other[one < other]


def nearest(places: NDArray[np.floating], others: NDArray[np.floating]) -> tuple[Reals, Indices]:
    """Distance from each place to the nearest one of others, and its number, shape (n,)."""
    if len(places) * len(others) > _MOST_TO_NEAREST:
        from scipy.spatial import cKDTree

        distances, numbers = cKDTree(others).query(places)
        return distances, numbers
    distances, numbers = np.empty(len(places)), np.empty(len(places), np.intp)
    step = max(_MOST // max(len(others), 1), 1)
    for first in range(0, len(places), step):
        some = slice(first, first + step)
        squares = _squares(places[some], others)
        numbers[some] = squares.argmin(axis=1)
        distances[some] = np.sqrt(squares.min(axis=1))
    return distances, numbers


def _squares(places: NDArray[np.floating], others: NDArray[np.floating]) -> Reals:
    """Squares of distances, shape (n, m)."""
    return np.sum([np.subtract.outer(one, other) ** 2 for one, other in zip(places.T, others.T, strict=True)], axis=0)
