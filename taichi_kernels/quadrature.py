r"""Gaussians at the points of a quadrature, and values at the points onto Gaussians.

With :math:`y = s\,(r - P)`, s the root of the exponent but for rounding (`scale_of`), Gaussians times polynomials are
summed up, and their gradients with respect to r,

.. math::  \rho(r) = \sum_P e^{-z |r - P|^2} \sum_{ijk} C_{ijk}\, y_x^i y_y^j y_z^k ,

and, with the same lists from the other side, moments of values a and vectors b at the points are taken,

.. math::  M_{ijk} = \sum_g \left(a_g + b_g \cdot \nabla\right) y_x^i y_y^j y_z^k e^{-z |r - P|^2} .

What does not depend on coefficients and values is kept on the device. Terms are of the precision of the target; sums
over many of them are in double precision where the device has it. They have one order: results are the same, digit by
digit, from run to run and on any number of threads.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ._taichi import fill, number, quick, ti
from .arrays import send, to_numpy
from .cells import CELL
from .devices import probe
from .hermite_tables import powers_of
from .kept_arrays import KeptArrays
from .launching import Checkpoint, pace_of, part_of, synchronise
from .quadrature_kernels import WRITTEN_OUT, density_kernel, looping_kernels, moments_kernel, threads_of
from .quadrature_lists import GaussianGroups, Lists, PointCells
from .target import Target

_MOMENTS = 1 << 23
"""Sums of one degree that are held at once, one for each thread: 64 MB."""

_TOGETHER = 256
"""Points that a thread adds up."""


class QuadratureSums:
    """Sums over the Gaussians that reach a point, and over the points that a Gaussian reaches.

    Parameters
    ----------
    cells, groups, lists
        Points, Gaussians, and what reaches what.
    centre, exponent : ndarray of float64
        Of the Gaussians, in bohr and bohr^-2.
    weights : ndarray of float64, shape (n_points,)
        Of the points by cells.
    target
        Memory on it: 16 bytes a point (32 in double precision) and what the lists need, some 30 bytes a point.
    """

    def __init__(
        self,
        cells: PointCells,
        groups: GaussianGroups,
        lists: Lists,
        centre: np.ndarray,
        exponent: np.ndarray,
        weights: np.ndarray,
        target: Target,
    ) -> None:
        self._cells, self._groups, self._lists, self._target = cells, groups, lists, target
        self._sums = np.dtype(np.float64) if probe(target.device).double else target.dtype
        self._kept = KeptArrays()
        self._host: dict[str, np.ndarray] = {}
        whole = np.rint(centre / CELL) * CELL
        scale = scale_of(exponent, target)
        power = -np.log2(np.e) * exponent / scale**2
        high = power.astype(target.dtype).astype(np.float64)
        gaussian = np.column_stack([whole, centre - whole, scale, high, power - high])[np.maximum(groups.row, 0)]
        self._gaussian, self._origin, self._points, self._weights = (
            np.ascontiguousarray(values, dtype)
            for values, dtype in (
                (gaussian, target.dtype),
                (cells.origin, target.dtype),
                (cells.rest.reshape(-1), target.dtype),
                (weights, self._sums),
            )
        )
        constant = (self._gaussian, self._origin, self._points, self._weights)
        for array in (*constant, lists.starts, lists.listed):
            array.setflags(write=False)  # sent to the device once

    @property
    def n_points(self) -> int:
        """Number of points, with those that fill up cells."""
        return len(self._cells.order)

    @property
    def in_double(self) -> bool:
        """Whether sums are in double precision."""
        return bool(self._sums == np.float64)

    @property
    def energies(self) -> Any:
        """Room for one number for each point, shape (n_points,)."""
        return self._space("energies", (self.n_points,))

    def columns(self, name: str, n_spins: int, n_columns: int) -> Any:
        """Room for something that has some numbers for each point, as a density and its gradient; kept by its name.

        Returns
        -------
        array of shape (n_spins, n_columns, n_points)
            On the host or on the device, of the type of sums.
        """
        return self._space(name, (n_spins, n_columns, self.n_points))

    @property
    def weights(self) -> Any:
        """Weights of the points on the device, of the type of sums."""
        return self._kept.operand(self._target, "weights", self._weights, self._sums)

    def clear(self, columns: Any) -> None:
        """Set all to zero."""
        if self._target.on_host:
            columns[...] = 0
        else:
            fill(columns, 0.0)

    def add_density(self, terms: Sequence[np.ndarray], columns: Any, spin: int, checkpoint: Checkpoint | None) -> None:
        """Add a sum of Gaussians, and its gradient if there is room for it, at all points.

        Parameters
        ----------
        terms
            For each degree the coefficients of its polynomials, shape (slots of that degree, number of terms), in the
            order of `powers_of`.
        columns
            Of `columns`, 1 or 4 of them.
        spin
            Which of them.
        checkpoint
            Called between pieces of the work with the share that is done; what it raises ends it.
        """
        target, groups, gradient = self._target, self._groups, columns.shape[1] == 4
        n_degrees, threads = len(groups.degrees), threads_of(target)
        given = self._given("density", starts=self._lists.starts, listed=self._lists.listed)
        sizes = np.diff(self._lists.starts).reshape(len(self._cells), n_degrees) + 1.0
        written_out = bisect_right(groups.degrees, WRITTEN_OUT) if target.on_host else 0
        steps = [list(range(written_out))] * (written_out > 0) + [[k] for k in range(written_out, n_degrees)]
        for n, step in enumerate(steps):
            degrees = tuple(groups.degrees[k] for k in step)
            kernel, orders = self._density_kernel(degrees, gradient)
            of_degrees = {"n_degrees": n_degrees, "spin": spin, "out": columns, **given, **orders}
            for d, k in enumerate(step):
                of_degrees |= {f"which{d}": k, f"first_slot{d}": groups.first_slot[k]}
                of_degrees[f"h{d}"] = self._sent(f"terms {k}", terms[k])

            def piece(first: int, last: int, kernel: Any = kernel, given: dict[str, Any] = of_degrees) -> None:
                kernel(zero=0, n=(last - first) * threads, begin=first, stride=self.n_points, **given)

            work = sizes[:, step].sum(axis=1)
            _run(target, ("density", degrees, gradient), work, piece, checkpoint, n, len(steps))

    def moments(self, columns: Any, spin: int, more: int, checkpoint: Checkpoint | None) -> list[np.ndarray]:
        """Moments of values, and of vectors if there are any, at the points, for each Gaussian.

        Parameters
        ----------
        columns
            Of `columns`: a, or a and the components of b.
        spin
            Which of them.
        more
            By how much moments go beyond the degrees of the Gaussians.
        checkpoint
            As for `add_density`.

        Returns
        -------
        list of ndarray of float64
            For each degree, shape (slots of that degree, number of terms).
        """
        target, groups, gradient = self._target, self._groups, columns.shape[1] == 4
        n_degrees, threads = len(groups.degrees), threads_of(target)
        cell_starts, cells = self._lists.from_slots
        given = self._given("moments", starts=cell_starts, cells=cells)
        values = self._values(columns, spin)
        sizes = np.diff(cell_starts, axis=1)[:, 0] + 1.0
        counts = [(degree + more + 1) * (degree + more + 2) * (degree + more + 3) // 6 for degree in groups.degrees]
        shapes = list(zip(np.diff(groups.first_slot).tolist(), counts, strict=True))
        first = np.concatenate([[0], np.cumsum([n * n_terms for n, n_terms in shapes])]).astype(int).tolist()
        result = self._space("moments", (max(first[-1], 1),))
        for k, degree in enumerate(groups.degrees):
            begin, end, n_terms = groups.first_slot[k], groups.first_slot[k + 1], counts[k]
            kernel, orders = self._moments_kernel(degree + more, gradient)
            most = max(1, _MOMENTS // (n_terms * threads))

            def piece(
                first_slot: int,
                last_slot: int,
                kernel: Any = kernel,
                orders: dict[str, Any] = orders,
                k: int = k,
                most: int = most,
            ) -> None:
                begin, n_terms = groups.first_slot[k], counts[k]
                for one in range(first_slot, last_slot, most):
                    n = min(one + most, last_slot) - one
                    at = first[k] + one * n_terms
                    if target.on_host:  # a thread has all points of a cell: there is nothing to add up
                        sums = result[at : at + n * n_terms].reshape(n, n_terms)
                    else:
                        sums = self._space(f"moments of threads {k}", (n, n_terms * threads))
                    slots = {"zero": 0, "n": n * threads, "first_slot": begin + one, "stride": self.n_points}
                    kernel(**slots, **given, values=values, out=sums, **orders)
                    if not target.on_host:
                        add_up = _small_kernels(target, self._sums).over_threads
                        add_up(n=n * n_terms, threads=threads, first=at, given=sums, out=result)

            _run(target, ("moments", degree + more, gradient), sizes[begin:end], piece, checkpoint, k, n_degrees)
        added = self.to_numpy(result)
        return [
            added[at : at + n * n_terms].reshape(n, n_terms) for at, (n, n_terms) in zip(first, shapes, strict=False)
        ]

    def electrons(self, columns: Any, spin: int) -> float:
        """Sum of the weights times the first column of a spin."""
        if self._target.on_host:
            return float((columns[spin, 0] * self._weights).sum())
        parts = self._space("parts", (-(-self.n_points // _TOGETHER),))
        add_up = _small_kernels(self._target, self._sums).weighted
        add_up(n_points=self.n_points, spin=spin, columns=columns, weights=self.weights, out=parts)
        return float(self.to_numpy(parts).sum(dtype=np.float64))

    def total(self, energy: Any) -> float:
        """Sum of numbers, one for each point."""
        if self._target.on_host:
            return float(energy.sum())
        parts = self._space("parts", (-(-self.n_points // _TOGETHER),))
        _small_kernels(self._target, self._sums).summed(n_points=self.n_points, energy=energy, out=parts)
        return float(self.to_numpy(parts).sum(dtype=np.float64))

    def to_numpy(self, array: Any) -> np.ndarray:
        """Values of one of the arrays in a new one, when kernels have filled it."""
        synchronise()
        return array.copy() if self._target.on_host else to_numpy(array)

    def from_numpy(self, columns: Any, values: np.ndarray) -> None:
        """Fill columns."""
        if self._target.on_host:
            columns[...] = values
        else:
            send(columns, np.ascontiguousarray(values, self._sums))

    def _values(self, columns: Any, spin: int) -> Any:
        """One of the columns, one after the other, in the precision of the target."""
        if self._target.on_host:
            return np.ascontiguousarray(columns[spin].reshape(-1), self._target.dtype)
        n = columns.shape[1] * self.n_points
        values = self._kept.exactly("values", number(self._target.dtype), (n,))
        rounded = _small_kernels(self._target, self._sums).rounded
        rounded(n=n, n_points=self.n_points, spin=spin, columns=columns, out=values)
        return values

    def _given(self, use: str, **lists: np.ndarray) -> dict[str, Any]:
        """Points, Gaussians and lists on the device, these by what the kernel calls them."""
        target, keep = self._target, self._kept.operand
        return {
            "origin": keep(target, "origin", self._origin, target.dtype),
            "points": keep(target, "points", self._points, target.dtype),
            "gaussian": keep(target, "gaussian", self._gaussian, target.dtype),
            **{name: keep(target, f"{name} for {use}", one, np.int32) for name, one in lists.items()},
        }

    def _density_kernel(self, degrees: tuple[int, ...], gradient: bool) -> tuple[Any, dict[str, Any]]:
        """The kernel for some degrees, and what else it takes: one with loops, the orders of the terms."""
        if degrees[0] <= WRITTEN_OUT:
            return density_kernel(self._target, self._sums, degrees, gradient), {}
        return looping_kernels(self._target, self._sums, gradient).density, self._orders(degrees[0])

    def _moments_kernel(self, degree: int, gradient: bool) -> tuple[Any, dict[str, Any]]:
        if degree <= WRITTEN_OUT:
            return moments_kernel(self._target, self._sums, degree, gradient), {}
        return looping_kernels(self._target, self._sums, gradient).moments, self._orders(degree)

    def _orders(self, degree: int) -> dict[str, Any]:
        orders = np.array(powers_of(degree), np.int32)
        there = self._kept.operand(self._target, f"orders {degree}", orders, np.int32)
        return {"n_terms": len(orders), "orders": there}

    def _sent(self, name: str, values: np.ndarray) -> Any:
        """Values of this call on the device."""
        values = np.ascontiguousarray(values, self._target.dtype)
        if self._target.on_host:
            return values
        there = self._kept.exactly(name, number(self._target.dtype), values.shape)
        send(there, values)
        return there

    def _space(self, name: str, shape: tuple[int, ...]) -> Any:
        """Room for sums."""
        if not self._target.on_host:
            return self._kept.exactly(name, number(self._sums), shape)
        held = self._host.get(name)
        if held is None or held.shape != shape:
            held = self._host[name] = np.empty(shape, self._sums)  # kept: a first touch of its pages takes time
        return held


def scale_of(exponent: np.ndarray, target: Target) -> np.ndarray:
    """What distances from a Gaussian are multiplied by: the root of the exponent, rounded as kernels have it."""
    return np.sqrt(exponent).astype(target.dtype).astype(np.float64)


def _run(
    target: Target, kind: tuple, work: np.ndarray, piece: Any, checkpoint: Checkpoint | None, step: int, steps: int
) -> None:
    """Work in pieces, one of several steps."""
    told = part_of(checkpoint, step / steps, 1 / steps)
    pace_of(1 << 16, "quadrature", target, *kind).run(work, piece, told, synchronise)


@lru_cache
def _small_kernels(target: Target, sums: "np.dtype[Any]") -> SimpleNamespace:
    real, wide = number(target.dtype), number(sums)
    R1, W1, W2, W3 = ti.types.ndarray(real, 1), *(ti.types.ndarray(wide, n) for n in (1, 2, 3))

    @ti.kernel
    def over_threads(n: ti.i32, threads: ti.i32, first: ti.i32, given: W2, out: W1):
        """Moments from those of all threads."""
        for i in range(n):
            width = given.shape[1]
            row = i * threads // width
            at = i * threads - row * width
            total = ti.cast(0.0, wide)
            for thread in range(threads):
                total += given[row, at + thread]
            out[first + i] = total

    @ti.kernel
    def weighted(n_points: ti.i32, spin: ti.i32, columns: W3, weights: W1, out: W1):
        for part in range((n_points + _TOGETHER - 1) // _TOGETHER):
            total = ti.cast(0.0, wide)
            for i in range(part * _TOGETHER, ti.min((part + 1) * _TOGETHER, n_points)):
                total += columns[spin, 0, i] * weights[i]
            out[part] = total

    @ti.kernel
    def summed(n_points: ti.i32, energy: W1, out: W1):
        for part in range((n_points + _TOGETHER - 1) // _TOGETHER):
            total = ti.cast(0.0, wide)
            for i in range(part * _TOGETHER, ti.min((part + 1) * _TOGETHER, n_points)):
                total += energy[i]
            out[part] = total

    @ti.kernel
    def rounded(n: ti.i32, n_points: ti.i32, spin: ti.i32, columns: W3, out: R1):
        """One spin, column after column, in the precision of terms."""
        for i in range(n):
            column = i // n_points
            out[i] = ti.cast(columns[spin, column, i - column * n_points], real)

    kernels = (over_threads, weighted, summed, rounded)
    return SimpleNamespace(**{kernel.__name__: quick(kernel) for kernel in kernels})
