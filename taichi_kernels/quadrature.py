r"""Gaussians at the points of a quadrature, and values at the points onto Gaussians.

With :math:`y = \sqrt{z}\,(r - P)` Gaussians times polynomials are summed up, and their gradients with respect to r,

.. math::  \rho(r) = \sum_P e^{-y^2} \sum_{ijk} C_{ijk}\, y_x^i y_y^j y_z^k ,

and, with the same lists from the other side, moments of values a and vectors b at the points are taken,

.. math::  M_{ijk} = \sum_g \left(a_g + b_g \cdot \nabla\right) y_x^i y_y^j y_z^k e^{-y^2} .

What does not depend on coefficients and values is kept on the device. Terms are of the precision of the target; sums
over many of them are in double precision where the device has it. They have one order: results are the same, digit by
digit, from run to run and on any number of threads.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ._taichi import fill, number, ti
from .arrays import send, to_numpy
from .cells import CELL
from .devices import probe
from .kept_arrays import KeptArrays
from .launching import synchronise
from .pace import Checkpoint, Pace
from .quadrature_kernels import density_kernel, moments_kernel, threads_of
from .quadrature_lists import GaussianGroups, Lists, PointCells
from .target import Target

_MOMENTS = 1 << 23
"""Sums that are held at once, one for each lane: 64 MB."""


class QuadratureSums:
    """Sums over the Gaussians that reach a point, and over the points that a Gaussian reaches.

    Parameters
    ----------
    cells, groups, lists
        Points, Gaussians, and what reaches what.
    centre, exponent : ndarray of float64
        Of the Gaussians, in bohr and bohr^-2.
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
        target: Target,
    ) -> None:
        self._cells, self._groups, self._lists, self._target = cells, groups, lists, target
        self._sums = np.dtype(np.float64) if probe(target.device).double else target.dtype
        self._kept = KeptArrays()
        whole = np.rint(centre / CELL) * CELL
        rows = np.maximum(groups.row, 0)
        self._gaussian = np.column_stack([whole, centre - whole, np.sqrt(exponent)])[rows].astype(target.dtype)
        self._origin = cells.origin.astype(target.dtype)
        self._points = cells.rest.astype(target.dtype).reshape(-1)
        self._host: dict[str, np.ndarray] = {}

    @property
    def n_slots(self) -> int:
        """Number of points, with those that fill up cells."""
        return len(self._cells.order)

    def density(self, terms: Sequence[np.ndarray], gradient: bool, checkpoint: Checkpoint | None) -> np.ndarray:
        """Sum of Gaussians, and its gradient, at all points.

        Parameters
        ----------
        terms
            For each degree the coefficients of its polynomials, shape (slots of that degree, number of terms), in the
            order of `powers_of`.
        gradient
            Whether it is wanted.
        checkpoint
            Called between pieces of the work with the share that is done; what it raises ends it.

        Returns
        -------
        ndarray, shape (1 or 4, n_slots)
        """
        target, groups = self._target, self._groups
        n_degrees, n_sums = len(groups.degrees), 4 if gradient else 1
        out = self._space("density", (n_sums * self.n_slots,))
        if target.on_host:
            out[:] = 0
        else:
            fill(out, 0.0)
        given = self._given("starts", "listed")
        sizes = np.diff(self._lists.starts).reshape(len(self._cells), n_degrees) + 1.0
        threads = threads_of(target)
        for k, degree in enumerate(groups.degrees):
            kernel = density_kernel(target, self._sums, degree, gradient)
            h = self._sent(f"terms {k}", terms[k])

            def piece(first: int, last: int, kernel: Any = kernel, k: int = k, h: Any = h) -> None:
                n = (last - first) * threads
                kernel(n, first, self.n_slots, n_degrees, k, groups.first_slot[k], *given, h, out)

            _run(target, ("density", degree, gradient), sizes[:, k], piece, checkpoint, k, n_degrees)
        return self._received(out, n_sums * self.n_slots).reshape(n_sums, -1)

    def moments(self, values: np.ndarray, more: int, checkpoint: Checkpoint | None) -> list[np.ndarray]:
        """Moments of values, and of vectors, at the points, for each Gaussian.

        Parameters
        ----------
        values : ndarray, shape (1 or 4, n_slots)
            a, or a and the components of b.
        more
            By how much moments go beyond the degrees of the Gaussians.
        checkpoint
            As for `density`.

        Returns
        -------
        list of ndarray of float64
            For each degree, shape (slots of that degree, number of terms).
        """
        target, groups, gradient = self._target, self._groups, len(values) == 4
        n_degrees, threads = len(groups.degrees), threads_of(target)
        given = self._given("cell_starts", "cells")
        there = self._sent("values", values.reshape(-1))
        sizes = np.diff(self._lists.cell_starts, axis=1)[:, 0] + 1.0
        results = []
        for k, degree in enumerate(groups.degrees):
            top, begin, end = degree + more, groups.first_slot[k], groups.first_slot[k + 1]
            n_terms = (top + 1) * (top + 2) * (top + 3) // 6
            kernel = moments_kernel(target, self._sums, top, gradient)
            result = np.empty((end - begin, n_terms))
            most = max(1, _MOMENTS // (n_terms * threads))

            def piece(
                first: int, last: int, kernel: Any = kernel, result: Any = result, begin: int = begin, most: int = most
            ) -> None:
                for one in range(first, last, most):
                    n = min(one + most, last) - one
                    out = self._space("moments", (n, result.shape[1] * threads))
                    kernel(n * threads, begin + one, self.n_slots, *given, there, out)
                    result[one : one + n] = self._added_up(out, n, result.shape[1])

            _run(target, ("moments", top, gradient), sizes[begin:end], piece, checkpoint, k, n_degrees)
            results.append(result)
        return results

    def _given(self, *lists: str) -> list[Any]:
        """Points, lists and Gaussians on the device."""
        target = self._target
        keep = self._kept.operand
        return [
            keep(target, "origin", self._origin, target.dtype),
            keep(target, "points", self._points, target.dtype),
            *(keep(target, name, getattr(self._lists, name), np.int32) for name in lists),
            keep(target, "gaussian", self._gaussian, target.dtype),
        ]

    def _sent(self, name: str, values: np.ndarray) -> Any:
        """Values of this call on the device."""
        values = np.ascontiguousarray(values, self._target.dtype)
        if self._target.on_host:
            return values
        there = self._kept.array(name, number(self._target.dtype), values.shape)
        send(there, values)
        return there

    def _space(self, name: str, shape: tuple[int, ...]) -> Any:
        """Room for sums; along the first axis it may be longer."""
        if not self._target.on_host:
            return self._kept.array(name, number(self._sums), shape)
        held = self._host.get(name)
        if held is None or held.shape[1:] != shape[1:] or len(held) < shape[0]:
            held = self._host[name] = np.empty(shape, self._sums)  # kept: a first touch of its pages takes time
        return held[: shape[0]]

    def _received(self, space: Any, n: int) -> np.ndarray:
        """The first numbers of what kernels have filled, in a new array."""
        synchronise()
        if self._target.on_host:
            return np.array(space[:n])
        return to_numpy(space, np.empty(n, self._sums))

    def _added_up(self, sums: Any, n: int, n_terms: int) -> np.ndarray:
        """Moments of some Gaussians from those of all threads."""
        if self._target.on_host:
            synchronise()
            return sums
        out = self._space("added up", (n * n_terms,))
        _adder(self._sums)(n * n_terms, threads_of(self._target), sums, out)
        return self._received(out, n * n_terms).reshape(n, n_terms)


def _run(
    target: Target, kind: tuple, work: np.ndarray, piece: Any, checkpoint: Checkpoint | None, step: int, steps: int
) -> None:
    """Work in pieces, one of several steps."""
    told = None if checkpoint is None else lambda share: checkpoint((step + share) / steps)
    _pace(target, kind).run(work, piece, told, synchronise)


@lru_cache
def _pace(target: Target, kind: tuple) -> Pace:
    return Pace(1 << 16)


@lru_cache
def _adder(dtype: "np.dtype[Any]") -> Any:
    wide = number(dtype)
    W1, W2 = ti.types.ndarray(wide, 1), ti.types.ndarray(wide, 2)

    @ti.kernel
    def add_up(n: ti.i32, lanes: ti.i32, sums: W2, out: W1):
        for i in range(n):
            width = sums.shape[1]
            row = i * lanes // width
            at = i * lanes - row * width
            total = ti.cast(0.0, wide)
            for lane in range(lanes):
                total += sums[row, at + lane]
            out[i] = total

    return add_up
