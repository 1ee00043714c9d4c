"""Distances at which bounds have fallen to a limit, and boxes that follow from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..base.watch import checkpoint

Reals = NDArray[np.float64]

HALVINGS = 40
"""Steps after which a range of a thousand bohr has become one of 1e-9."""


def fallen(is_above: Callable[[float], bool], low: float, high: float, *, width: float = -np.inf) -> float:
    """Where a function that falls from `low` to `high` is no longer above a limit, by bisection.

    Parameters
    ----------
    is_above
        Whether it is above its limit at an argument.
    low, high
        It may be above at the lower end, and is taken not to be at the upper one.
    width
        The search ends when the range is no wider, and else after `HALVINGS` steps.
    """
    for _ in range(HALVINGS):
        if not high - low > width:
            break
        checkpoint()
        middle = (low + high) / 2
        low, high = (middle, high) if is_above(middle) else (low, middle)
    return high


def all_fallen(
    is_above: Callable[[Reals], NDArray[np.bool_]], low: Reals, high: Reals, halvings: int = HALVINGS
) -> Reals:
    """The same of many functions at once, shape (n,): `is_above` takes an argument of each."""
    for _ in range(halvings):
        checkpoint()
        middle = (low + high) / 2
        above = is_above(middle)
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return high


def box_outside_which(
    bound: Callable[[Reals], float],
    isovalue: float,
    centre: Reals,
    *,
    before: float,
    beyond: float,
    width: float = -np.inf,
) -> tuple[Reals, Reals]:
    """Corners (bohr) of a box outside which a sum of functions about centres is smaller than an isovalue, guaranteed.

    Beyond a plane every function is at least as far away as its centre is from the plane, so the sum of their bounds at
    those distances bounds the sum on the whole half-space.

    Parameters
    ----------
    bound
        Takes a distance from each centre, shape (n,), to the sum of what the functions can have there or farther away.
    isovalue
        Positive.
    centre : ndarray, shape (n, 3)
        In bohr.
    before, beyond
        Faces are looked for between these distances before the first and beyond the last centre.
    width
        Range in which a face may be found to lie; its far end counts.
    """

    def face(height: Reals) -> float:
        """How far the functions reach along an axis on which their centres are at these heights."""
        low, high = float(height.min()) - before, float(height.max()) + beyond
        return fallen(lambda plane: bound(plane - height) > isovalue, low, high, width=width)

    lower, upper = (np.array([sign * face(sign * height) for height in centre.T]) for sign in (-1.0, 1.0))
    return lower, upper
