"""Points in the order of a curve that fills space: those that follow one another lie close together."""

from functools import lru_cache
from typing import Any

import numpy as np

from ._taichi import quick, ti
from .cells import places_in_order
from .launching import launch

_BITS = 15
"""Halvings of the box about the points along each axis; keys are of three times as many bits."""


def hilbert_order(points: np.ndarray) -> np.ndarray:
    """Indices of points in the order in which Hilbert's curve meets them.

    Inside a session. By the transposed form of the curve of J. Skilling, AIP Conf. Proc. 707, 381 (2004). Compared with
    a curve that jumps (Z order, a tree), runs of it lie in smaller boxes.

    Parameters
    ----------
    points : ndarray of float64, shape (n, 3)

    Returns
    -------
    ndarray of int, shape (n,)
    """
    if len(points) == 0:
        return np.zeros(0, np.intp)
    columns = np.ascontiguousarray(points.T)  # the smallest of many short rows takes longer than that
    low = columns.min(axis=1)
    edge = max(float((columns.max(axis=1) - low).max()), 1e-6)
    places = ((points - low) * ((1 << _BITS) - 1) / edge).astype(np.int32)
    halves = np.empty((len(points), 2), np.int32)
    launch(_kernel(), n=len(points), places=places, halves=halves)
    return places_in_order(halves[:, 0].astype(np.int64) << 17 | halves[:, 1] >> 13)  # 32 bits: two rounds of sorting


@lru_cache
def _kernel() -> Any:
    I2 = ti.types.ndarray(ti.i32, 2)
    along = curve(_BITS)

    @ti.kernel
    def keys(n: ti.i32, places: I2, halves: I2):
        for i in range(n):
            halves[i, 0], halves[i, 1] = along(places[i, 0], places[i, 1], places[i, 2])

    return quick(keys)


@lru_cache
def curve(bits: int) -> Any:
    """Function of kernels: how far along the curve a cube is, of as many bits along each axis, 15 at most.

    Of three integers it makes two: the digits beyond the lowest 30 bits, and these.
    """

    @ti.func
    def along(i: ti.i32, j: ti.i32, k: ti.i32):
        x = ti.Vector([i, j, k])
        for step in ti.static(range(bits - 1)):
            bit = 1 << (bits - 1 - step)
            for axis in ti.static(range(3)):
                if x[axis] & bit:
                    x[0] ^= bit - 1  # turned round
                else:
                    swapped = (x[0] ^ x[axis]) & (bit - 1)
                    x[0] ^= swapped
                    x[axis] ^= swapped
        x[1] ^= x[0]
        x[2] ^= x[1]
        turned = 0
        for step in ti.static(range(bits - 1)):
            bit = 1 << (bits - 1 - step)
            if x[2] & bit:
                turned ^= bit - 1
        high, low = 0, 0
        for step in ti.static(range(bits)):
            for axis in ti.static(range(3)):
                digit = ((x[axis] ^ turned) >> (bits - 1 - step)) & 1
                if ti.static(step < bits - 10):
                    high = high << 1 | digit
                else:
                    low = low << 1 | digit
        return high, low

    return along
