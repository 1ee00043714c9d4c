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

Points are sorted along a curve that fills space, and what is near and what is far is found for each group of those that
follow one another, see `far_levels`. All that does not depend on the points is brought to the device once; a call sends
points and brings values home.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ._taichi import dtype_of, number
from .arrays import array_of, send, to_numpy
from .cells import places_in_order, split_position
from .devices import probe
from .electrostatics_kernels import (
    KEY_BITS,
    TOGETHER,
    WRITTEN_OUT,
    far_kernel,
    key_kernel,
    looping_kernel,
    near_kernel,
)
from .far_levels import Levels, LevelTables, level_kernel, level_tables
from .hermite_tables import boys_table, recurrence
from .launching import synchronise
from .pace import Checkpoint, Pace
from .session import generation
from .target import Target
from .workspace import Workspace

_ROWS = 1 << 25
"""Rows of all groups and sites that are held at once: 128 MiB."""

_BOYS = 20
"""For an estimate of the work: what Boys functions cost, in coefficients."""


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
        The distributions that are near where a row of the levels says what is far.
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


@dataclass(frozen=True, eq=False)
class Sources:
    """Charge distributions where the kernels find them.

    Attributes
    ----------
    levels : LevelTables
        What says which of them are far.
    steps : tuple of (callable, tuple of int, tuple)
        A kernel for each degree and one for the multipoles: with the numbers and the arrays that it takes beside the
        points.
    target : Target
        What they were prepared for.
    """

    levels: LevelTables
    steps: tuple[tuple[Callable[..., Any], tuple[int, ...], tuple[Any, ...]], ...]
    target: Target


def send_sources(distributions: list[Distributions], multipoles: Multipoles, levels: Levels, target: Target) -> Sources:
    """Bring charge distributions to the device of the current session, for any number of calls.

    Parameters
    ----------
    distributions, multipoles
        The distributions that are near, for each row, and the multipoles of those that are far.
    levels
        Which row a group gets for each site.
    target
        The device, and the precision. Single: terms are evaluated in single precision and summed up in double precision
        where the device has it; double: all in double precision.
    """
    real, wide = target.dtype, _wide(target)
    far = np.any(multipoles.moments != 0, axis=1)
    effort = far * float(multipoles.moments.shape[1])
    steps: list[tuple[Callable[..., Any], tuple[int, ...], tuple[Any, ...]]] = []
    for group in distributions:
        counts = group.ranges[:, 1] - group.ranges[:, 0]
        if not counts.any():
            continue
        effort = effort + counts * float(group.hermite.shape[1] + _BOYS)
        whole, rest = split_position(group.centre)
        arrays = (
            _there(group.ranges, np.int32, target),
            _there(whole, np.int32, target),
            _there(np.column_stack([rest, group.exponent]), real, target),
            _there(group.hermite, real, target),
            _there(boys_table(target.precision, group.degree), real, target),
        )
        if group.degree <= WRITTEN_OUT:
            steps.append((near_kernel(target, wide, group.degree), (), arrays))
        else:
            arrays = (*arrays, _there(recurrence(group.degree), np.int32, target))
            steps.append((looping_kernel(target, wide), (group.degree,), arrays))
    if far.any():
        whole, rest = split_position(multipoles.site)
        arrays = (
            _there(far, np.int32, target),
            _there(whole, np.int32, target),
            _there(rest, real, target),
            _there(multipoles.moments, real, target),
        )
        steps.append((far_kernel(target, wide), (multipoles.order,), arrays))
    tables = level_tables(levels, effort, wide)
    there = tuple(_there(array, array.dtype, target) for array in tables.arrays)
    return Sources(LevelTables(tables.n_sites, tables.n_limits, tables.tolerance, there), tuple(steps), target)


def potential_at_points(points: np.ndarray, sources: Sources, checkpoint: Checkpoint | None = None) -> np.ndarray:
    """Potential of Gaussian charge distributions at points.

    Parameters
    ----------
    points : ndarray of float64, shape (n_points, 3)
        One or more, in bohr. Memory is about 100 bytes a point, and 128 MiB at most beside that: the caller hands over
        tiles.
    sources
        From `send_sources`, in the current session and not lost.
    checkpoint
        Called some thirty times a second with the share that is done, between pieces of the work; what it raises ends
        it. Without one all is done at once.

    Returns
    -------
    ndarray of float64, shape (n_points,)
        In hartree / e. That of a point depends on the others only by what is far from its group.
    """
    target, levels = sources.target, sources.levels
    wide, together, n = _wide(target), TOGETHER[target.device], len(points)
    n_groups = -(-n // together)
    if n_groups > 1 and n_groups * levels.n_sites > _ROWS:
        return _in_halves(points, sources, checkpoint)
    device = _Device(target)
    whole, rest = split_position(np.ascontiguousarray(points.T))
    where = device.sent("whole", whole.reshape(-1)), device.sent("rest", rest.reshape(-1).astype(target.dtype))
    slots = device.sent("slots", _slots(whole, where[0], together, device, target))
    if checkpoint is not None:
        checkpoint(0.0)
    rows = device.empty("rows", (n_groups, levels.n_sites), np.int32)
    work = device.empty("work", (n_groups,), np.float32)

    def find(begin: int, end: int) -> None:
        numbers = begin, end - begin, levels.n_sites, levels.n_limits, levels.tolerance
        device.launch(level_kernel(target, wide), *numbers, n, slots, *where, *levels.arrays, rows, work)

    asked = None if checkpoint is None else lambda share: checkpoint(0.0)
    _pace(target, "levels").run(np.full(n_groups, float(levels.n_sites)), find, asked, synchronise)
    effort = np.ones(n_groups) if checkpoint is None else device.home(work, n_groups)
    values = device.sent("values", np.zeros(n, wide))

    def add(begin: int, end: int) -> None:
        some = begin * together, (end - begin) * together
        for kernel, numbers, arrays in sources.steps:
            device.launch(kernel, *some, levels.n_sites, *numbers, n, slots, rows, *where, *arrays, values)

    _pace(target, "sums").run(effort * float(together), add, checkpoint, synchronise)
    synchronise()
    return device.home(values, n).astype(np.float64, copy=False)


def _slots(whole: np.ndarray, there: Any, together: int, device: "_Device", target: Target) -> np.ndarray:
    """Points in an order in which neighbours follow one another, int32; what fills up the last group is -1 - point."""
    n = whole.shape[1]
    low, high = whole.min(axis=1), whole.max(axis=1)
    halvings = max(0, int((high - low).max()).bit_length() - KEY_BITS)
    keys = device.empty("keys", (n,), np.int32)
    device.launch(key_kernel(target), n, *low.tolist(), halvings, there, keys)
    synchronise()
    order = places_in_order(device.home(keys, n))
    return np.concatenate([order, np.full(-n % together, -1 - order[-1])], dtype=np.int32, casting="same_kind")


def _in_halves(points: np.ndarray, sources: Sources, checkpoint: Checkpoint | None) -> np.ndarray:
    """The same for one half of the points after the other."""

    def told(half: int) -> Checkpoint | None:
        return None if checkpoint is None else lambda share: checkpoint((half + share) / 2)

    halves = enumerate(np.array_split(points, 2))
    return np.concatenate([potential_at_points(some, sources, told(half)) for half, some in halves])


class _Device:
    """Arrays of one call: NumPy's on a CPU, those that are kept on the device otherwise."""

    def __init__(self, target: Target) -> None:
        self._on_host, self._kept = target.on_host, _workspace(generation())

    def sent(self, name: str, values: np.ndarray) -> Any:
        if self._on_host:
            return values
        there = self.empty(name, values.shape, values.dtype)
        send(there, values)
        return there

    def empty(self, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
        if self._on_host:
            return np.empty(shape, dtype)
        return self._kept.array(f"{name}, {np.dtype(dtype)}", number(dtype), shape)

    def home(self, array: Any, n: int) -> np.ndarray:
        return array if self._on_host else to_numpy(array, np.empty(n, dtype_of(array)))

    def launch(self, kernel: Callable[..., Any], *arguments: Any) -> None:
        if self._on_host:
            kernel(*arguments)
        else:
            self._kept.launch(kernel, *arguments)


@lru_cache(maxsize=1)
def _workspace(run: int) -> Workspace:
    """What is kept on the device, of one run of the compiler."""
    return Workspace(np.dtype(np.float64))


@lru_cache
def _pace(target: Target, step: str) -> Pace:
    return Pace(1 << 20)


def _wide(target: Target) -> "np.dtype[np.floating]":
    """The type in which terms are summed up."""
    return np.dtype(np.float64) if probe(target.device).double else target.dtype


def _there(array: np.ndarray, dtype: Any, target: Target) -> Any:
    array = np.ascontiguousarray(array, dtype)
    if target.on_host:
        return array
    there = array_of(number(dtype), array.shape)
    send(there, array)
    return there
