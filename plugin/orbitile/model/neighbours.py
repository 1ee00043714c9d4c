"""Which places are near each other: all distances of a few, a tree for many.

The tree is SciPy's, whose import takes as long as to read most molecules.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Indices, Reals

_AT_ONCE = 1 << 18
"""Distances that are computed at once, some milliseconds and 8 MB."""

_MOST = 1 << 22
"""Distances, at most, that are computed in less time than SciPy is imported; its tree is faster."""


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
        limits = np.square(np.broadcast_to(reach, len(places)))[:, None]
        near = [
            (first + one, other)
            for first, squares in _squares(places, others)
            for one, other in [np.nonzero(squares <= limits[first : first + len(squares)])]
        ]
        one, other = (np.concatenate([part[n] for part in near] or [np.empty(0, np.intp)]) for n in (0, 1))
        return one, other
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
    if len(places) * len(others) > _MOST:
        from scipy.spatial import cKDTree

        distances, numbers = cKDTree(others).query(places)
        return distances, numbers
    distances, numbers = np.empty(len(places)), np.empty(len(places), np.intp)
    for first, squares in _squares(places, others):
        some = slice(first, first + len(squares))
        numbers[some] = squares.argmin(axis=1)
        distances[some] = np.sqrt(squares.min(axis=1))
    return distances, numbers


def _squares(places: NDArray[np.floating], others: NDArray[np.floating]) -> Iterator[tuple[int, Reals]]:
    """Squares of distances, shape (some, m), with the number of the first of some places."""
    step = max(_AT_ONCE // max(len(others), 1), 1)
    for first in range(0, len(places), step):
        pairs = zip(places[first : first + step].T, others.T, strict=True)
        yield first, np.sum([np.subtract.outer(one, other) ** 2 for one, other in pairs], axis=0)
