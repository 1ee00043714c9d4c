"""Distances at which bounds have fallen to a limit, and boxes that follow from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

HALVINGS = 40


def fallen(
    is_above: Callable[[Reals], NDArray[np.bool_]],
    low: Reals,
    high: Reals,
    *,
    width: float = -np.inf,
    halvings: int = HALVINGS,
) -> Reals:
    """Where functions that fall from `low` to `high` are no longer above a limit, by bisection; shape (n,).

    Parameters
    ----------
    is_above
        Takes n arguments, one for each function, to whether it is above its limit there.
    low, high : ndarray, shape (n,)
        It may be above at the lower ends, and is taken not to be at the upper ones.
    width
        What has been narrowed down to this is left as it is.
    halvings
        Most steps.
    """
    for _ in range(halvings):
        wide = high - low > width
        if not wide.any():
            break
        middle = (low + high) / 2
        above = is_above(middle)
        low, high = np.where(wide & above, middle, low), np.where(wide & ~above, middle, high)
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

    def face(height: Reals) -> Reals:
        """How far the functions reach along an axis on which their centres are at these heights."""

        def is_above(plane: Reals) -> NDArray[np.bool_]:
            return np.array([bound(plane - height) > isovalue])

        low, high = height.min(keepdims=True) - before, height.max(keepdims=True) + beyond
        return fallen(is_above, low, high, width=width)

    lower, upper = (np.concatenate([sign * face(sign * height) for height in centre.T]) for sign in (-1.0, 1.0))
    return lower, upper
