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
follow one another. All that does not depend on the points is brought to the device once; a call sends
points and brings values home.
"""

from collections.abc import Callable
from dataclasses import dataclass
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
    level_kernel,
    looping_kernel,
    near_kernel,
)
from .hermite_tables import boys_table, recurrence
from .kept_arrays import Workspace
from .launching import Checkpoint, pace_of, part_of, synchronise
from .target import Target

_ROWS = 1 << 25
"""Rows of all groups and sites that are held at once: 128 MiB."""

_BOYS = 20
"""For an estimate of the work: what Boys functions cost, in coefficients."""


_ROUNDINGS = 8 * float(np.finfo(np.float32).eps)
"""By how much single precision rounds what adds up over a few steps, as a share."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Bounds on the errors of multipoles.

    Attributes
    ----------
    sites : ndarray of float64, shape (n_sites, 3)
        In bohr.
    distances : ndarray of float64, shape (n_distances,)
        Rising, in bohr, 127 at most.
    bounds : ndarray of float64, shape (n_sites, n_levels, n_distances)
        Of the error, in hartree/e, when so many levels and one are far from a point at that distance or farther; they
        grow with the levels.
    tolerance : float
        In hartree/e. At 0 nothing is far.
    """

    sites: np.ndarray
    distances: np.ndarray
    bounds: np.ndarray
    tolerance: float


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
    levels : dict
        Arguments of the kernel that finds which of them are far, beside the points.
    steps : tuple of (callable, dict)
        A kernel for each degree and one for the multipoles: with its arguments beside the points.
    target : Target
        What they were prepared for.
    """

    levels: dict[str, Any]
    steps: tuple[tuple[Callable[..., Any], dict[str, Any]], ...]
    target: Target


def level_tables(levels: Levels, effort: np.ndarray, wide: "np.dtype[np.floating]") -> dict[str, Any]:
    """What `level_kernel` takes beside points, by name; rounding of single precision makes less far, and never more.

    Parameters
    ----------
    levels
    effort : ndarray, shape (n_rows,)
        About how much work a row is for a point.
    wide
        Type of the numbers.
    """
    n_sites, _, n_distances = levels.bounds.shape
    limits = []
    if levels.tolerance > 0:
        limits.append(levels.tolerance)
        while limits[-1] > levels.tolerance / n_sites:
            limits.append(limits[-1] / 2)
    within = np.zeros((len(limits), n_sites, n_distances), np.int32)
    for table, limit in zip(within, limits, strict=True):
        table[...] = (levels.bounds <= limit).sum(axis=1)
    bounds = np.concatenate([np.zeros((n_sites, 1, n_distances)), levels.bounds], axis=1)
    distances, tolerance = levels.distances, levels.tolerance
    if wide == np.float32:
        extent = np.abs(levels.sites).max() + distances[-1]
        distances = distances * (1 + _ROUNDINGS) + extent * _ROUNDINGS
        tolerance *= 1 - n_sites * _ROUNDINGS
    return {
        "n_sites": n_sites,
        "n_limits": len(limits),
        "tolerance": float(tolerance),
        "sites": np.ascontiguousarray(levels.sites, wide),
        "distances": np.ascontiguousarray(distances, wide),
        "within": np.concatenate([within.reshape(-1, n_distances), np.zeros((1, n_distances), np.int32)]),
        "bounds": np.ascontiguousarray(bounds.reshape(-1, n_distances), wide),
        "effort": np.ascontiguousarray(effort, np.float32),
    }


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
    steps: list[tuple[Callable[..., Any], dict[str, Any]]] = []
    for group in distributions:
        counts = group.ranges[:, 1] - group.ranges[:, 0]
        if not counts.any():
            continue
        effort = effort + counts * float(group.hermite.shape[1] + _BOYS)
        whole, rest = split_position(group.centre)
        given = {
            "ranges": _there(group.ranges, np.int32, target),
            "centre_whole": _there(whole, np.int32, target),
            "centre": _there(np.column_stack([rest, group.exponent]), real, target),
            "hermite": _there(group.hermite, real, target),
            "table": _there(boys_table(target.precision, group.degree), real, target),
        }
        if group.degree <= WRITTEN_OUT:
            steps.append((near_kernel(target, wide, group.degree), given))
        else:
            given |= {"degree": group.degree, "rule": _there(recurrence(group.degree), np.int32, target)}
            steps.append((looping_kernel(target, wide), given))
    if far.any():
        whole, rest = split_position(multipoles.site)
        given = {
            "order": multipoles.order,
            "is_far": _there(far, np.int32, target),
            "site_whole": _there(whole, np.int32, target),
            "site_rest": _there(rest, real, target),
            "moments": _there(multipoles.moments, real, target),
        }
        steps.append((far_kernel(target, wide), given))
    tables = {
        name: _there(value, value.dtype, target) if isinstance(value, np.ndarray) else value
        for name, value in level_tables(levels, effort, wide).items()
    }
    return Sources(tables, tuple(steps), target)


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
    target, n_sites = sources.target, sources.levels["n_sites"]
    wide, together, n = _wide(target), TOGETHER[target.device], len(points)
    n_groups = -(-n // together)
    if n_groups > 1 and n_groups * n_sites > _ROWS:
        return _in_halves(points, sources, checkpoint)
    device = _Device(target)
    whole, rest = split_position(np.ascontiguousarray(points.T))
    there = device.sent("whole", whole.reshape(-1))
    where = {
        "n_points": n,
        "points": device.sent("slots", _slots(whole, there, together, device, target)),
        "whole": there,
        "rest": device.sent("rest", rest.reshape(-1).astype(target.dtype)),
        "rows": device.empty("rows", (n_groups, n_sites), np.int32),
    }
    if checkpoint is not None:
        checkpoint(0.0)
    work = device.empty("work", (n_groups,), np.float32)

    def find(begin: int, end: int) -> None:
        device.launch(level_kernel(target, wide), begin=begin, n=end - begin, **sources.levels, **where, work=work)

    work_of_levels = np.full(n_groups, float(n_sites))
    pace_of(1 << 20, "levels", target).run(work_of_levels, find, part_of(checkpoint, 0.0, 0.0), synchronise)
    effort = np.ones(n_groups) if checkpoint is None else device.to_host(work, n_groups)
    values = device.sent("values", np.zeros(n, wide))

    def add(begin: int, end: int) -> None:
        some = {"begin": begin * together, "n": (end - begin) * together, "n_sites": n_sites}
        for kernel, given in sources.steps:
            device.launch(kernel, **some, **where, **given, out=values)

    pace_of(1 << 20, "potential", target).run(effort * float(together), add, checkpoint, synchronise)
    synchronise()
    return device.to_host(values, n).astype(np.float64, copy=False)


def _slots(whole: np.ndarray, there: Any, together: int, device: "_Device", target: Target) -> np.ndarray:
    """Points in an order in which neighbours follow one another, int32; what fills up the last group is -1 - point."""
    n = whole.shape[1]
    low, high = whole.min(axis=1), whole.max(axis=1)
    halvings = max(0, int((high - low).max()).bit_length() - KEY_BITS)
    keys = device.empty("keys", (n,), np.int32)
    low_x, low_y, low_z = low.tolist()
    corner = {"low_x": low_x, "low_y": low_y, "low_z": low_z}
    device.launch(key_kernel(target), n=n, **corner, halvings=halvings, whole=there, keys=keys)
    synchronise()
    order = places_in_order(device.to_host(keys, n))
    return np.concatenate([order, np.full(-n % together, -1 - order[-1])], dtype=np.int32, casting="same_kind")


def _in_halves(points: np.ndarray, sources: Sources, checkpoint: Checkpoint | None) -> np.ndarray:
    """The same for one half of the points after the other."""
    halves = enumerate(np.array_split(points, 2))
    return np.concatenate(
        [potential_at_points(some, sources, part_of(checkpoint, half / 2, 0.5)) for half, some in halves]
    )


class _Device:
    """Arrays of one call: NumPy's on a CPU, those that are kept on the device otherwise."""

    def __init__(self, target: Target) -> None:
        self._on_host = target.on_host

    def sent(self, name: str, values: np.ndarray) -> Any:
        if self._on_host:
            return values
        there = self.empty(name, values.shape, values.dtype)
        send(there, values)
        return there

    def empty(self, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
        if self._on_host:
            return np.empty(shape, dtype)
        return _kept.array(f"{name}, {np.dtype(dtype)}", number(dtype), shape)

    def to_host(self, array: Any, n: int) -> np.ndarray:
        return array if self._on_host else to_numpy(array, np.empty(n, dtype_of(array)))

    def launch(self, kernel: Callable[..., Any], **arguments: Any) -> None:
        if self._on_host:
            kernel(**arguments)
        else:
            _kept.launch(kernel, **arguments)


_kept = Workspace(np.dtype(np.float64))


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
