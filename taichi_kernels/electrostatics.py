r"""The electrostatic potential of Gaussian charge distributions at points.

A distribution is a sum of Hermite Gaussians, derivatives of a Gaussian with respect to its centre P. By McMurchie and
Davidson (J. Comput. Phys. 1978, 26, 218) its potential is

.. math::  V(r) = \sum_P \frac{2\pi}{p} \sum_{tuv} H_{tuv} R_{tuv}(p, P - r)

with R from the Boys functions F_m(p |P - r|^2) by R^m_{000} = (-2p)^m F_m and

.. math::  R^m_{t+1,u,v} = t R^{m+1}_{t-1,u,v} + (P_x - x) R^{m+1}_{t,u,v}

Far from them, many distributions together have the potential of multipoles on a site, sums of irregular solid
harmonics, by

.. math::  I_m^m = (2m - 1)\, \frac{x + iy}{r^2}\, I_{m-1}^{m-1}, \qquad
    I_{l+1}^m = \frac{(2l + 1)\, z\, I_l^m - (l^2 - m^2)\, I_{l-1}^m}{r^2}

Points are sorted into cells, and what is near and what is far is listed for each cell.
"""

import time
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .cells import Cells, sorted_into_cells, split_position
from .devices import probe
from .electrostatics_kernels import LANES, WRITTEN_OUT, far_kernel, looping_kernel, near_kernel
from .hermite_tables import boys_table, recurrence
from .launching import launch, sent
from .pace import Checkpoint, Pace
from .target import Target

_EDGE, _POINTS_A_CELL = 1.0, 8
"""Edge of the cells in bohr, and how many points they should hold."""

_FAR, _ALL = -1, 99
"""Stand for the multipoles, and for everything, where others have a degree."""

_RUN = 64
"""Slots that stay together when the work is done in pieces; a multiple of `LANES`."""

_BOYS, _EACH = 20, 8
"""For an estimate of the work: what Boys functions cost, in coefficients, and of how many cells one is looked at."""


@dataclass(frozen=True, eq=False)
class Distributions:
    """Hermite Gaussians of one degree.

    Attributes
    ----------
    degree : int
    centre : ndarray of float64, shape (n, 3)
        In bohr.
    exponent : ndarray of float64, shape (n,)
        In bohr^-2.
    hermite : ndarray of float64, shape (n, number of orders)
        Hermite coefficients times 2 pi / exponent, in the order of `powers_of`, for a charge in units of e.
    ranges : ndarray of int32, shape (n_rows, 2)
        The distributions that a row of the lists stands for.
    """

    degree: int
    centre: np.ndarray
    exponent: np.ndarray
    hermite: np.ndarray
    ranges: np.ndarray


@dataclass(frozen=True, eq=False)
class Multipoles:
    """What stands for distributions that are far.

    Attributes
    ----------
    order : int
        Highest order.
    site : ndarray of float64, shape (n_rows, 3)
        In bohr.
    moments : ndarray of float64, shape (n_rows, (order + 1) (order + 2))
        Factors of the harmonics, m slowest, then l, then real before imaginary part (which there is for m = 0 too).
    """

    order: int
    site: np.ndarray
    moments: np.ndarray


def cells_of(points: np.ndarray, target: Target) -> Cells:
    """Points sorted for `potential_in_cells`."""
    return sorted_into_cells(points, _EDGE, _POINTS_A_CELL, LANES if target.on_host else 32)


def potential_in_cells(
    points: np.ndarray,
    cells: Cells,
    rows: np.ndarray,
    distributions: list[Distributions],
    multipoles: Multipoles,
    target: Target,
    checkpoint: Checkpoint | None = None,
) -> np.ndarray:
    """Potential of Gaussian charge distributions at points.

    Parameters
    ----------
    points : ndarray of float64, shape (n_points, 3)
        In bohr. Memory is about 100 bytes a point, and what the lists need: the caller hands over tiles.
    cells
        Of these points.
    rows : ndarray of int32, shape (n_cells, n_sites)
        Rows of the lists: for each cell and site group.
    distributions, multipoles
        The distributions that are near, for each row, and the multipoles of those that are far.
    target
        The device of the current session, and the precision. Single: terms are evaluated in single precision and
        summed up in double precision where the device has it; double: all in double precision.
    checkpoint
        Called some thirty times a second with the share that is done, between pieces of the work; what it raises ends
        it. Without one all is done at once.

    Returns
    -------
    ndarray of float64, shape (n_points,)
        In hartree / e.
    """
    real = target.dtype
    sums = np.dtype(np.float64) if probe(target.device).double else real
    lanes = LANES if target.on_host else 1
    whole, rest = split_position(points[cells.placed])
    rest = np.ascontiguousarray(rest, real)
    out = np.zeros(len(cells.placed), sums)
    sums_in_lanes = out.reshape(-1, lanes) if lanes > 1 else out
    cell = cells.of_slots(lanes)
    there = _in_lanes(whole, lanes), _in_lanes(rest, lanes)
    has_distributions = np.zeros(len(multipoles.moments), bool)
    for group in distributions:
        has_distributions |= group.ranges[:, 1] > group.ranges[:, 0]

    fits, estimate = checkpoint is None, 0.0
    if checkpoint is not None:
        estimate = _work(cells, rows, distributions, multipoles)
        fits = _pace(target, _ALL).fits(estimate)
    begin = time.perf_counter()

    def in_pieces(
        kernel: object, kind: int, numbers: tuple[int, ...], lists: tuple, size: np.ndarray, arrays: tuple, n: int
    ) -> None:
        """Launch a kernel for all slots; `size` says how much work a row of the lists is, `n` how many came before."""
        first, listed = lists
        places, of_place, values = (
            (cells.of_slots(), (whole, rest), out) if kind > WRITTEN_OUT else (cell, there, sums_in_lanes)
        )
        if checkpoint is None or fits:
            launch(kernel, len(places), *numbers, places, first, listed, *of_place, *arrays, values)
            return
        run = _RUN * len(places) // len(out)
        kept = [sent(array, target) for array in arrays]

        def piece(begin: int, end: int) -> None:
            here = slice(begin * run, min(end * run, len(places)))
            low, high = int(places[here.start]), int(places[here.stop - 1]) + 1
            some = listed[first[low] : first[high]]
            if len(some):
                launch(
                    kernel,
                    here.stop - here.start,
                    *numbers,
                    places[here] - np.int32(low),
                    first[low : high + 1] - first[low],
                    some,
                    *(array[here] for array in of_place),
                    *kept,
                    values[here],
                )

        of_cell = np.diff(np.concatenate([[0.0], np.cumsum(size[listed], dtype=np.float64)])[first]) + 1
        _pace(target, kind).run(
            of_cell[places[::run]] * run, piece, lambda share: checkpoint((n + share) / (len(distributions) + 1))
        )

    lists = _lists(rows, has_distributions)
    for n, group in enumerate(distributions if len(lists[1]) else ()):
        centre_whole, centre_rest = split_position(group.centre)
        arrays = (
            group.ranges,
            centre_whole,
            np.ascontiguousarray(np.column_stack([centre_rest, group.exponent]), real),
            np.ascontiguousarray(group.hermite, real),
            boys_table(target.precision, group.degree),
        )
        written_out = group.degree <= WRITTEN_OUT
        if written_out:
            kernel = near_kernel(target, sums, group.degree)
        else:
            kernel, arrays = looping_kernel(target.precision, sums), (*arrays, recurrence(group.degree))
        size = group.ranges[:, 1] - group.ranges[:, 0]
        in_pieces(kernel, group.degree, () if written_out else (group.degree,), lists, size, arrays, n)
    has_moments = np.any(multipoles.moments != 0, axis=1)
    lists = _lists(rows, has_moments)
    if len(lists[1]):
        site_whole, site_rest = split_position(multipoles.site)
        arrays = (
            site_whole,
            np.ascontiguousarray(site_rest, real),
            np.ascontiguousarray(multipoles.moments, real),
        )
        kernel = far_kernel(target, sums)
        in_pieces(kernel, _FAR, (multipoles.order,), lists, has_moments.astype(np.int64), arrays, len(distributions))
    if checkpoint is not None:
        _pace(target, _ALL).learn(estimate, time.perf_counter() - begin)
    return cells.by_point(out).astype(np.float64, copy=False)


def _work(cells: Cells, rows: np.ndarray, distributions: list[Distributions], multipoles: Multipoles) -> float:
    """About how much there is to do for all slots, from some cells: in coefficients that are multiplied."""
    of_row = np.any(multipoles.moments != 0, axis=1) * float(multipoles.moments.shape[1])
    for group in distributions:
        of_row += (group.ranges[:, 1] - group.ranges[:, 0]) * float(group.hermite.shape[1] + _BOYS)
    some = rows[::_EACH]
    return float(of_row[some].sum()) / len(some) * len(cells.placed)


@lru_cache
def _pace(target: Target, kind: int) -> Pace:
    return Pace(1 << 15 if kind < _ALL else 1 << 20)


def _in_lanes(array: np.ndarray, lanes: int) -> np.ndarray:
    """From (n, columns) to (n / lanes, columns, lanes)."""
    if lanes == 1:
        return array
    return np.ascontiguousarray(array.reshape(-1, lanes, array.shape[1]).transpose(0, 2, 1))


def _lists(rows: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each cell, where its list begins; and the lists of rows that are wanted."""
    chosen = wanted[rows]
    first = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))]).astype(np.int32)
    return first, np.ascontiguousarray(rows[chosen], np.int32)
