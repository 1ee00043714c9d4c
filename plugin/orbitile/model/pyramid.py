"""Lattices made coarser by two, again and again, and values on them: what is looked at first of a large volume.

A point of a coarser lattice stands for 2 x 2 x 2 points of the finer one: it lies in their middle, and its value is
their mean. Along an axis of one point nothing is joined; a last point that has no partner is left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .lattice import Lattice

SMALL = 64
"""Points along the longest edge below which a lattice needs no coarser one."""


def pyramid(lattice: Lattice) -> tuple[Lattice, ...]:
    """A lattice and the coarser ones of it, until the longest edge has no more than `SMALL` points."""
    levels = [lattice]
    while max(levels[-1].shape) > SMALL:
        levels.append(coarser(levels[-1]))
    return tuple(levels)


def coarser(lattice: Lattice) -> Lattice:
    """The lattice of the middles of 2 x 2 x 2 points."""
    shape = np.array(lattice.shape)
    steps = np.where(shape > 1, 2, 1)
    nx, ny, nz = (shape // steps).tolist()
    whole = lattice.periodic and not np.any(shape % steps)
    return Lattice(lattice.origin + (steps - 1) / 2 @ lattice.axes, lattice.axes * steps[:, None], (nx, ny, nz), whole)


def averaged(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """Means over 2 x 2 x 2 values, for the points of the coarser lattice.

    They are added in a fixed order and in the precision of the values: along x, y, then z.

    Parameters
    ----------
    values : ndarray, shape (nx, ny, nz)
        From an even plane on, when they are part of a volume.

    Returns
    -------
    ndarray, shape (nx // 2, ny // 2, nz // 2)
        Of the same type. An edge of one point stays.

    Raises
    ------
    FloatingPointError
        When a sum is beyond the range of the type.
    """
    shape = [max(n // 2, 1) for n in values.shape]
    means = np.empty(shape, values.dtype)
    share = values.dtype.type(np.prod([0.5 if n > 1 else 1.0 for n in values.shape]))
    joined = len(values) > 1
    with np.errstate(over="raise", under="ignore"):
        for i, out in enumerate(means):  # plane by plane, which stay in the caches
            plane = values[2 * i] + values[2 * i + 1] if joined else values[i]
            plane = _pairs(_pairs(plane).T).T
            np.multiply(plane, share, out=out)
    return means


def _pairs(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Sums of rows 0 and 1, 2 and 3, ...; a single row as it is."""
    even = len(rows) // 2 * 2
    summed: NDArray[np.floating] = rows[0:even:2] + rows[1:even:2] if even else rows
    return summed
