r"""Solid harmonics of many points: on a CPU, in double precision, eight points at once.

With :math:`I_l^m = (l-m)!\, P_l^m e^{im\phi} / r^{l+1}` the recursions are

.. math::  I_m^m = (2m-1)\, \frac{x + iy}{r^2}\, I_{m-1}^{m-1}, \qquad
    r^2\, I_{l+1}^m = (2l+1)\, z\, I_l^m - (l^2 - m^2)\, I_{l-1}^m

and of regular ones, :math:`R_l^m = r^l P_l^m e^{im\phi} / (l+m)!`,

.. math::  R_m^m = \frac{x + iy}{2m}\, R_{m-1}^{m-1}, \qquad
    [(l+1)^2 - m^2]\, R_{l+1}^m = (2l+1)\, z\, R_l^m - r^2\, R_{l-1}^m

Harmonics are stored by l: real parts for m = 0 to l, then imaginary ones.
"""

from functools import lru_cache
from types import SimpleNamespace

import numpy as np

from ._taichi import ti
from .launching import idle, launch, turns_of
from .target import Target

_LANES = 8

_BLOCKS_A_TASK = 64
"""Blocks of so many points that a task takes; their sums are added up at the end."""


def harmonics_count(order: int) -> int:
    """Real numbers for all harmonics up to an order."""
    return (order + 1) * (order + 2)


def harmonic_sums(points: np.ndarray, weights: np.ndarray, order: int, target: Target) -> np.ndarray:
    """Sums of the harmonics at points, times weights.

    Parameters
    ----------
    points : ndarray of float64, shape (n, 3)
        None of them at the origin.
    weights : ndarray of float64, shape (n,)
    order : int
    target : Target
        A CPU.

    Returns
    -------
    ndarray of float64, shape (harmonics_count(order),)
    """
    blocks = _in_lanes(points, weights)
    tasks = -(-len(blocks) // _BLOCKS_A_TASK)
    out = np.zeros((tasks, harmonics_count(order)))
    launch(_kernels(target).add, tasks=tasks, order=order, block=blocks, out=out)
    return out.sum(axis=0)


def harmonic_series(points: np.ndarray, coefficients: np.ndarray, order: int, target: Target) -> np.ndarray:
    """Four series of harmonics at points.

    Parameters
    ----------
    points, order, target
        As above.
    coefficients : ndarray of float64, shape (harmonics_count(order), 4)

    Returns
    -------
    ndarray of float64, shape (n, 4)
    """
    blocks = _in_lanes(points, np.ones(len(points)))
    out = np.zeros((len(blocks), 4, _LANES))
    tasks = -(-len(blocks) // _BLOCKS_A_TASK)
    by_harmonic = np.ascontiguousarray(coefficients, np.float64)
    launch(_kernels(target).evaluate, tasks=tasks, order=order, block=blocks, series=by_harmonic, out=out)
    return out.transpose(0, 2, 1).reshape(-1, 4)[: len(points)]


def regular_harmonics(points: np.ndarray, order: int, target: Target) -> np.ndarray:
    """Regular harmonics at points, twice where m > 0: what the coefficients of a series about the origin multiply.

    Parameters
    ----------
    points, order, target
        As above; points at the origin too.

    Returns
    -------
    ndarray of float64, shape (harmonics_count(order), n)
    """
    blocks = _in_lanes(points, np.ones(len(points)))
    out = np.empty((harmonics_count(order), len(blocks), _LANES))
    launch(_kernels(target).regular, order=order, block=blocks, out=out)
    return out.reshape(len(out), -1)[:, : len(points)]


def _in_lanes(points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Blocks of x, y, z and weight, shape (n_blocks, 4, lanes); what fills up the last one has no weight."""
    n = -(-len(points) // _LANES) * _LANES
    filled = np.ones((n, 4))
    filled[: len(points), :3], filled[: len(points), 3], filled[len(points) :, 3] = points, weights, 0.0
    return np.ascontiguousarray(filled.reshape(-1, _LANES, 4).transpose(0, 2, 1))


@lru_cache
def _kernels(target: Target) -> SimpleNamespace:
    turns = turns_of(target, together=1)
    lanes = ti.types.vector(_LANES, ti.f64)
    L2, F2 = ti.types.ndarray(lanes, 2), ti.types.ndarray(ti.f64, 2)

    @ti.kernel
    def add(
        tasks: ti.i32,
        order: ti.i32,
        block: L2,  # (blocks, 4) x, y, z, weight
        out: F2,  # (tasks, harmonics) sums
    ):
        for turn in range(tasks * turns):
            if idle(turn, turns):
                continue
            task = turn // turns
            for b in range(task * _BLOCKS_A_TASK, ti.min((task + 1) * _BLOCKS_A_TASK, block.shape[0])):
                x, y, z = block[b, 0], block[b, 1], block[b, 2]
                inverse = 1.0 / (x * x + y * y + z * z)
                x, y, z = x * inverse, y * inverse, z * inverse
                first, second = block[b, 3] * ti.sqrt(inverse), lanes(0.0)  # of l = m
                for m in range(order + 1):
                    re, im, re_before, im_before = first, second, lanes(0.0), lanes(0.0)
                    for l in range(m, order + 1):
                        out[task, l * (l + 1) + m] += re.sum()
                        out[task, (l + 1) * (l + 1) + m] += im.sum()
                        along, back = (2 * l + 1) * z, (l * l - m * m) * inverse
                        re, re_before = along * re - back * re_before, re
                        im, im_before = along * im - back * im_before, im
                    first, second = (2 * m + 1) * (x * first - y * second), (2 * m + 1) * (x * second + y * first)

    @ti.kernel
    def evaluate(
        tasks: ti.i32,
        order: ti.i32,
        block: L2,  # (blocks, 4) x, y, z, 1
        series: F2,  # (harmonics, 4)
        out: L2,  # (blocks, 4)
    ):
        for turn in range(tasks * turns):
            if idle(turn, turns):
                continue
            task = turn // turns
            for b in range(task * _BLOCKS_A_TASK, ti.min((task + 1) * _BLOCKS_A_TASK, block.shape[0])):
                x, y, z = block[b, 0], block[b, 1], block[b, 2]
                inverse = 1.0 / (x * x + y * y + z * z)
                x, y, z = x * inverse, y * inverse, z * inverse
                first, second = ti.sqrt(inverse), lanes(0.0)
                total0, total1, total2, total3 = lanes(0.0), lanes(0.0), lanes(0.0), lanes(0.0)
                for m in range(order + 1):
                    re, im, re_before, im_before = first, second, lanes(0.0), lanes(0.0)
                    for l in range(m, order + 1):
                        r, i = l * (l + 1) + m, (l + 1) * (l + 1) + m
                        total0 += series[r, 0] * re + series[i, 0] * im
                        total1 += series[r, 1] * re + series[i, 1] * im
                        total2 += series[r, 2] * re + series[i, 2] * im
                        total3 += series[r, 3] * re + series[i, 3] * im
                        along, back = (2 * l + 1) * z, (l * l - m * m) * inverse
                        re, re_before = along * re - back * re_before, re
                        im, im_before = along * im - back * im_before, im
                    first, second = (2 * m + 1) * (x * first - y * second), (2 * m + 1) * (x * second + y * first)
                out[b, 0], out[b, 1], out[b, 2], out[b, 3] = total0, total1, total2, total3

    @ti.kernel
    def regular(
        order: ti.i32,
        block: L2,  # (blocks, 4) x, y, z, 1
        out: L2,  # (harmonics, blocks)
    ):
        for turn in range(block.shape[0] * turns):
            if idle(turn, turns):
                continue
            b = turn // turns
            x, y, z = block[b, 0], block[b, 1], block[b, 2]
            square = x * x + y * y + z * z
            first, second = lanes(1.0), lanes(0.0)
            for m in range(order + 1):
                re, im, re_before, im_before = first, second, lanes(0.0), lanes(0.0)
                for l in range(m, order + 1):
                    out[l * (l + 1) + m, b] = re
                    out[(l + 1) * (l + 1) + m, b] = im
                    scale = 1.0 / ti.cast((l + 1) * (l + 1) - m * m, ti.f64)
                    along, back = (2 * l + 1) * scale * z, scale * square
                    re, re_before = along * re - back * re_before, re
                    im, im_before = along * im - back * im_before, im
                half = 1.0 / ti.cast(2 * m + 2, ti.f64)
                if m == 0:
                    half = 1.0
                first, second = half * (x * first - y * second), half * (x * second + y * first)

    return SimpleNamespace(add=add, evaluate=evaluate, regular=regular)
