r"""The product of tables without screening by bricks, in NumPy: where the points are few.

No compiler is started for it and no kernel loaded, which takes longer than a small sum.

A Gaussian times a monomial is a product of three functions of one coordinate each. With U the polynomial in x summed up
for one primitive p and one pair of powers (j, k), Y and Z the plain factors,

.. math::  f(x, y, z) = \sum_{pk} \Big[ \sum_j U_{pjk}(x) Y_{pj}(y) \Big] Z_{pk}(z)

The sum over rows (p, k) is a product of matrices for each plane, and the work of BLAS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ...base.errors import DeviceError, LatticeError
from ...base.memory import share
from ...base.watch import checkpoint
from ...model.lattice import Lattice
from ..expansion import GaussianExpansion, polynomial_powers
from . import Points, PreparedOrbital, Slabs
from ._sums import in_frame

SUMMARY = "product of one-dimensional tables as matrices, by NumPy; orthogonal lattices and points, on a CPU"
EXACT = True

NAME = "matrix-product"
"""Of this kernel."""

Reals = NDArray[np.float64]
Numbers = NDArray[np.floating]

PLANES = 8
"""Planes that are computed at once. Slabs begin at multiples of it, so that values do not depend on them."""

_SMALLEST = {np.dtype(np.float32): -40.0, np.dtype(np.float64): -100.0}
"""Exponent below which a factor is zero: e^-40 is far below what rounding costs, and products of such factors would be
denormal numbers, which are slow."""

_ALONE = 1 << 18
"""Multiplications with addition in a product of matrices that OpenBLAS does in one thread, whatever their number."""

_PAIRS = 1 << 16
"""Pairs of a point and a Gaussian that are looked at together."""

_MOST = {"single": 300_000_000, "double": 150_000_000}
"""Multiplications with addition of a sum that is small, by precision: 20 ms of one core, two to three times what the
kernel takes once it is loaded, for which it needs a second."""

_TIMES_ONCE = 12
"""How many times as large a sum is small where the process makes one result and ends: a hundred milliseconds, when the
second that a kernel takes to load would be for this result alone."""

_factor = 1
"""By which sums may be larger now."""


@contextmanager
def for_one_result() -> Iterator[None]:
    """While a command computes in this process what it is called for, larger sums than otherwise need no kernel."""
    global _factor
    before, _factor = _factor, _TIMES_ONCE
    try:
        yield
    finally:
        _factor = before


_LONGEST = share("matrix", 8)
"""Numbers of the tables along an axis, at most: on a line of points they would be as many as rows times points."""

_MOST_AT_POINTS = 1_000_000
"""Terms of all Gaussians at all points together of a sum at points that is small: as long."""


def is_quick(degree: NDArray[np.integer], shape: tuple[int, int, int], working: Target, n_sums: int = 1) -> bool:
    """Whether sums of Gaussians on a lattice are so small that no kernel needs to be loaded for them.

    Parameters
    ----------
    degree
        Of the polynomials of the Gaussians.
    shape
        Points of the whole lattice, from which alone it follows: parts of it have the same values.
    working
        The device, and the precision of the sums.
    n_sums
        How many sums of these Gaussians.
    """
    rows = _n_rows(degree)
    few = rows * int(np.prod(shape, dtype=np.int64)) * n_sums <= _factor * _MOST[working.precision]
    return working.on_host and few and rows * max(shape) <= _LONGEST


def are_many(first_term: NDArray[np.integer], n_points: int) -> bool:
    """Whether points are so many that a kernel should deal with Gaussians that have these ranges of terms."""
    return int(first_term[-1]) * n_points > _MOST_AT_POINTS


def sums_on_slabs(
    expansion: GaussianExpansion, lattice: Lattice, tolerance: float | NDArray[np.float64], working: Target
) -> Slabs:
    """Evaluator for slabs of an orthogonal lattice; parameters as for `_sums.on_slabs`."""
    local, spacings = in_frame(expansion, lattice)
    evaluate = _matrices_on_slabs(local, spacings, lattice.shape, tolerance, working.dtype)

    def filled(start: int, stop: int, out: Any) -> None:
        if isinstance(out, np.ndarray):
            evaluate(start, stop, out)
            return
        values = np.empty(out.shape, out.dtype)  # an array of the compiler
        evaluate(start, stop, values)
        out.from_numpy(values)

    return filled


def on_slabs(orbital: PreparedOrbital, lattice: Lattice) -> Slabs:
    """Evaluator for slabs of an orthogonal lattice.

    Raises
    ------
    DeviceError
        On a GPU, of which NumPy knows nothing.
    LatticeError
        When the lattice has no orthogonal axes.
    """
    _require_host(orbital.working)
    if not lattice.is_orthogonal:
        raise LatticeError(
            f"kernel {NAME}: expected a lattice with orthogonal axes; use separable, direct or auto for others"
        )
    return sums_on_slabs(orbital.expansion, lattice, orbital.tolerance, orbital.working)


def at_points(orbital: PreparedOrbital) -> Points:
    """Evaluator for points, in double precision.

    Raises
    ------
    DeviceError
        On a GPU, of which NumPy knows nothing.
    """
    _require_host(orbital.working)
    return lambda points: _values_at_points(orbital.expansion, points)


def _require_host(target: Target) -> None:
    if not target.on_host:
        raise DeviceError(f"kernel {NAME}: expected the device cpu, got {target.device}; use auto there")


def _n_rows(degree: NDArray[np.integer]) -> int:
    """Rows of the matrices for Gaussians of some degrees: multiplications with addition for each point."""
    return int((degree.astype(np.int64) + 1).sum())


def _matrices_on_slabs(
    expansion: GaussianExpansion,
    spacings: tuple[float, float, float],
    shape: tuple[int, int, int],
    tolerance: float | Reals,
    dtype: np.dtype[np.floating],
) -> Callable[[int, int, Any], None]:
    """Evaluator for slabs of a lattice.

    Parameters
    ----------
    expansion
        One sum or several, centres relative to the first point of the lattice, along its axes, which are orthogonal.
    spacings
        Distance of neighbouring points along each axis, in bohr.
    shape
        Points of the whole lattice.
    tolerance : float, or ndarray of shape (n_sums,)
        Bound on what is left out at any point, of each sum.
    dtype
        float32 or float64, in which products are added up.

    Returns
    -------
    callable
        `evaluate(start, stop, out)` writes planes to an ndarray of shape (stop - start, ny, nz), those of several sums
        one after the other; `start` is a multiple of `PLANES`.
    """
    n_sums = 1 if expansion.terms.ndim == 1 else expansion.terms.shape[1]
    limits = np.broadcast_to(np.asarray(tolerance, np.float64), n_sums) / len(expansion)
    groups = [_group(expansion, d, spacings, shape, dtype) for d in expansion.degrees()]
    held = np.empty(_n_rows(expansion.degree) * PLANES * shape[1], dtype)

    def evaluate(start: int, stop: int, out: Any) -> None:
        if start % PLANES:
            raise ValueError(f"start of a slab: expected a multiple of {PLANES}, got {start}")
        values = out.reshape(n_sums, stop - start, *shape[1:])
        for first in range(start, stop, PLANES):
            checkpoint()
            last = min(first + PLANES, stop)
            for n, limit in enumerate(limits.tolist()):
                _fill(groups, n, (first, last), limit, held, values[n, first - start : last - start])

    return evaluate


@dataclass(frozen=True, eq=False)
class _Group:
    """The Gaussians of one degree d and their tables, n Gaussians, T pairs (j, k) with j + k <= d.

    Attributes
    ----------
    degree : int
    along_x : ndarray, shape (n_sums, T, n, nx)
        U, k slowest.
    along_y : ndarray, shape (d + 1, n, ny)
    along_z : ndarray, shape (d + 1, n, nz)
    largest : ndarray, shape (T, n)
        Product of the largest magnitudes along y and z.
    """

    degree: int
    along_x: Numbers
    along_y: Numbers
    along_z: Numbers
    largest: Reals


def _group(
    expansion: GaussianExpansion,
    degree: int,
    spacings: tuple[float, float, float],
    shape: tuple[int, int, int],
    dtype: np.dtype[np.floating],
) -> _Group:
    which = np.flatnonzero(expansion.degree == degree)
    powers = polynomial_powers(degree)
    terms = expansion.terms[expansion.first_term[which][:, None] + np.arange(len(powers))].reshape(
        len(which), len(powers), -1
    )
    x, y, z = (
        _tables(degree, expansion.exponent[which], expansion.centre[which, axis], spacings[axis], shape[axis], dtype)
        for axis in range(3)
    )
    pairs = [(j, k) for k in range(degree + 1) for j in range(degree - k + 1)]
    along_x = np.zeros((terms.shape[2], len(pairs), len(which), shape[0]), dtype)
    for place, (i, j, k) in enumerate(powers):
        along_x[:, pairs.index((j, k))] += (terms[:, place].T[:, :, None] * x[i]).astype(dtype)
    top_y, top_z = np.abs(y).max(axis=2), np.abs(z).max(axis=2)
    largest = np.array([top_y[j] * top_z[k] for j, k in pairs])
    return _Group(degree, along_x, y.astype(dtype), z.astype(dtype), largest)


def _tables(degree: int, exponent: Reals, centre: Reals, spacing: float, n: int, dtype: np.dtype[np.floating]) -> Reals:
    """Powers of the distance along an axis, times the Gaussian of it, shape (degree + 1, Gaussians, points)."""
    distance = np.arange(n) * spacing - centre[:, None]
    power = -exponent[:, None] * distance**2
    tables = np.empty((degree + 1, *distance.shape))
    tables[0] = np.where(power > _SMALLEST[dtype], np.exp(power), 0.0)
    for order in range(degree):
        np.multiply(tables[order], distance, out=tables[order + 1])
    return tables


def _fill(groups: list[_Group], n: int, planes: tuple[int, int], limit: float, held: Numbers, values: Numbers) -> None:
    """Write sum n on some planes to an array, by matrices in memory that is held for them.

    A Gaussian is left out that stays below the limit on these planes.
    """
    first, last = planes
    n_planes, n_y, _ = values.shape
    n_kept, factors = 0, []
    rows = held[: len(held) // (n_planes * n_y) * n_planes * n_y].reshape(-1, n_planes, n_y)
    for group in groups:
        along_x = group.along_x[n, :, :, first:last]
        reached = np.flatnonzero((np.abs(along_x).max(axis=2) * group.largest).sum(axis=0) > limit)
        along_x, along_y = along_x[:, reached, :, None], group.along_y[:, reached, None]
        place = 0
        for k in range(group.degree + 1):
            row = rows[n_kept : n_kept + len(reached)]
            np.multiply(along_x[place], along_y[0], out=row)
            for j in range(1, group.degree - k + 1):
                row += along_x[place + j] * along_y[j]
            place += group.degree - k + 1
            n_kept += len(reached)
            factors.append(group.along_z[k, reached])
    if n_kept:
        values[...] = _product(rows[:n_kept].reshape(n_kept, -1).T, np.concatenate(factors)).reshape(values.shape)
    else:
        values[...] = 0


def _product(left: Numbers, right: Numbers) -> Numbers:
    """Product of matrices, in parts so small that BLAS leaves its threads alone: to wake them takes longer."""
    (n, k), m = left.shape, right.shape[1]
    step = max(_ALONE // (k * m), 1)
    whole = n // step * step
    result = np.empty((n, m), left.dtype)
    np.matmul(left[:whole].reshape(-1, step, k), right, out=result[:whole].reshape(-1, step, m))
    np.matmul(left[whole:], right, out=result[whole:])
    return result


def _values_at_points(expansion: GaussianExpansion, points: Reals) -> Reals:
    """Values of one sum at points of shape (n, 3), in double precision."""
    values = np.zeros(len(points))
    for degree in expansion.degrees():
        which = np.flatnonzero(expansion.degree == degree)
        powers = polynomial_powers(degree)
        terms = expansion.terms[expansion.first_term[which][:, None] + np.arange(len(powers))]
        centre, exponent = expansion.centre[which], expansion.exponent[which]
        step = max(_PAIRS // len(which), 1)
        for first in range(0, len(points), step):
            checkpoint()
            x, y, z = np.moveaxis(points[first : first + step, None] - centre, 2, 0)
            total = np.zeros_like(x)
            for place, (i, j, k) in enumerate(powers):
                total += terms[:, place] * x**i * y**j * z**k
            total *= np.exp(-exponent * (x * x + y * y + z * z))
            values[first : first + step] += total.sum(axis=1)
    return values
