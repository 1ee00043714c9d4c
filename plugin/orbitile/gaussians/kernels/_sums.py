"""Sums of Gaussians on lattices and at points: from an expansion to the kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.layout import PLAIN, Orders
from taichi_kernels.target import Target

from ...base.memory import share
from ...base.watch import checkpoint, stage, watcher
from ...model.lattice import Lattice
from ..expansion import GaussianExpansion, reach, reaching
from ..rotation import rotate_terms

MANY = 1 << 14
"""Gaussians from which on a CPU deals with few planes at a time, each with the Gaussians that reach it."""

PLANES = 32

_MOST = 0.9
"""Where more than this share of the Gaussians reaches the planes, a device is given all, which it may have already:
screening deals with the rest."""


def on_slabs(
    expansion: GaussianExpansion,
    lattice: Lattice,
    tolerance: float | NDArray[np.float64],
    target: Target,
    orders: Orders = PLAIN,
) -> Callable[[int, int, Any], None] | None:
    """Evaluator for slabs of a lattice with an axis at right angles to the other two; None for other lattices.

    Parameters
    ----------
    expansion
        The sum; or, on a lattice with orthogonal axes, several of up to `MANY` Gaussians, whose slabs then follow one
        another along the first axis.
    lattice
        Where, in any orientation.
    tolerance
        Bound on what screening may cost at any point; of several sums, an array.
    target
        Device of the current session, and precision of tables and sums.
    orders
        Derivatives along x, y and z of the sum that are wanted, in place of itself, up to the second along each: of a
        lattice for which `shares_derivatives`, on a CPU of no more than `PLANES` planes at a time. They follow one
        another as several sums do.
    """
    order = (0, 1, 2) if shares_derivatives(lattice) else upright(lattice)
    if order is None:
        return None
    if order == (0, 1, 2):
        return _UprightSlabs(expansion, lattice, tolerance, target, orders)

    def evaluate(start: int, stop: int, out: Any) -> None:
        slab = lattice.slab(start, stop)
        nx, ny, nz = (slab.shape[i] for i in order)
        turned = Lattice(slab.origin, slab.axes[list(order)], (nx, ny, nz))
        values = np.empty(turned.shape, out.dtype)
        _gather(_UprightSlabs(expansion, turned, tolerance, target), values, target)
        back = values.transpose(np.argsort(order))
        if target.on_host:
            out[...] = back
        else:
            out.from_numpy(np.ascontiguousarray(back))

    return evaluate


def shares_derivatives(lattice: Lattice) -> bool:
    """Whether derivatives of a sum share their work: along axes that are those of the lattice."""
    (a, b, c), (d, e, f), (g, h, i) = lattice.axes.tolist()
    return a > 0 and e > 0 and i > 0 and not (b or c or d or f or g or h)


def in_frame(expansion: GaussianExpansion, lattice: Lattice) -> tuple[GaussianExpansion, tuple[float, float, float]]:
    """A sum relative to the first point of a lattice with orthogonal axes and along these, and the spacings."""
    hx, hy, hz = lattice.spacings.tolist()
    frame = None if shares_derivatives(lattice) else lattice.axes / lattice.spacings[:, None]
    return _turned(expansion, lattice.origin, frame), (hx, hy, hz)


def _turned(
    expansion: GaussianExpansion, origin: NDArray[np.float64], frame: NDArray[np.float64] | None
) -> GaussianExpansion:
    """A sum relative to an origin, along orthonormal axes; None for those that it has."""
    centre, terms = expansion.centre - origin, expansion.terms
    if frame is not None:
        centre, terms = centre @ frame.T, rotate_terms(terms, expansion.degree, frame)
    return GaussianExpansion(centre, expansion.exponent, expansion.degree, expansion.first_term, terms)


def in_double(target: Target) -> Target:
    """The same device in double precision; where it has none, as it is."""
    from taichi_kernels.devices import probe

    return replace(target, precision="double") if probe(target.device).double else target


def upright(lattice: Lattice) -> tuple[int, int, int] | None:
    """An order of the axes in which the last one is at right angles to the others; None where there is none."""
    unit = lattice.axes / lattice.spacings[:, None]
    skewed = np.abs(unit @ unit.T - np.eye(3)) > 1e-12
    for order in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
        if not skewed[order[2]].any():
            return order
    return None


def _gather(evaluate: Callable[[int, int, Any], None], values: NDArray[np.floating], target: Target) -> None:
    """All planes of a lattice into a NumPy array, wherever they are computed."""
    from taichi_kernels.arrays import allocate, to_numpy

    if target.on_host:
        evaluate(0, len(values), values)
    else:
        part: Any = allocate(values.shape, values.dtype)
        evaluate(0, len(values), part)
        to_numpy(part, values)


class _UprightSlabs:
    """Evaluator for slabs of a lattice whose third axis is at right angles to the first two.

    Parameters are those of `on_slabs`.
    """

    def __init__(
        self,
        expansion: GaussianExpansion,
        lattice: Lattice,
        tolerance: float | NDArray[np.float64],
        target: Target,
        orders: Orders = PLAIN,
    ) -> None:
        self._target, self._orders, self._shape = target, orders, lattice.shape
        self._many = len(expansion) > MANY
        least = tolerance if isinstance(tolerance, float) else float(np.min(tolerance))
        self._limit, self._highest = least / (2 * len(expansion)), max(map(sum, orders))
        self._tolerance = tolerance / 2 if self._many else tolerance
        if self._many:
            expansion = reaching(expansion, self._limit, self._highest)
        self._expansion = expansion
        if lattice.is_orthogonal:
            self._shear = 0.0
            local, self._spacings = in_frame(expansion, lattice)
        else:
            frame, self._spacings, self._shear = _sheared_frame(lattice)
            local = _turned(expansion, lattice.origin, frame)
        # all Gaussians that lie in the lattice reach it, which a device need not be told one by one
        self._holds_all = self._many and lattice.is_orthogonal and not target.on_host and _holds(lattice, expansion)
        if local.terms.ndim > 1:
            terms = np.ascontiguousarray(local.terms.T)
            local = GaussianExpansion(local.centre, local.exponent, local.degree, local.first_term, terms)
        self._local = local

    def __call__(self, start: int, stop: int, out: Any) -> None:
        """Write the values of some planes, some of them at a time where they are many."""
        from taichi_kernels.arrays import allocate, to_numpy

        count, plane = stop - start, self._shape[1:]
        step = self._planes_at_once(count)
        in_parts, copied = step < count, step < count and not self._target.on_host
        values = np.empty((count, *plane), out.dtype) if copied else out
        for first in range(start, stop, step):
            last = min(first + step, stop)
            part = values[first - start : last - start] if in_parts else out
            written: Any = allocate((last - first, *plane), out.dtype) if copied else part
            with stage((first - start) / count, (last - start) / count):
                self._evaluate(first, last, written)
                if last < stop:
                    checkpoint(1.0)
            if copied:
                to_numpy(written, part)
        if copied:
            out.from_numpy(values)

    def _planes_at_once(self, count: int) -> int:
        from taichi_kernels.layout import BRICK

        step = PLANES if self._many and self._target.on_host and self._orders == PLAIN else count
        if self._shear:
            bytes_a_plane = (
                self._target.dtype.itemsize * (self._shape[1] + BRICK[1]) * int((self._local.degree + 1).sum())
            )
            step = min(step, max(_SHEARED_BYTES // bytes_a_plane // BRICK[0], 1) * BRICK[0])
        return step

    def _evaluate(self, first: int, last: int, out: Any) -> None:
        """Write the values of some planes at once."""
        from taichi_kernels.layout import layout
        from taichi_kernels.orbital_lattice import orbital_on_lattice

        chosen = self._local
        if self._many and not (self._holds_all and last - first == self._shape[0]):
            reached = self._reach(first, last)
            if self._target.on_host or reached.mean() < _MOST:
                chosen = self._local.chosen(reached)
        checkpoint()
        plan = layout(chosen.degree)
        checkpoint()
        orbital_on_lattice(
            plan,
            chosen.centre,
            chosen.exponent,
            chosen.terms,
            spacing=self._spacings,
            shape=(last - first, *self._shape[1:]),
            start=first,
            tolerance=self._tolerance,
            target=self._target,
            out=out,
            shear=self._shear,
            checkpoint=watcher(),
            orders=self._orders,
        )

    def _reach(self, first: int, last: int) -> NDArray[np.bool_]:
        """Which Gaussians reach some planes."""
        (x, y, z), (hx, hy, hz), (_, ny, nz) = self._columns, self._spacings, self._shape
        end_y, end_z = (ny - 1) * hy, (nz - 1) * hz
        squares = _beyond(z, 0.0, end_z)
        if not self._shear:
            squares += _beyond(y, 0.0, end_y)
        squares += _beyond(x, first * hx, (last - 1) * hx)
        if self._shear:
            shifts = (first * self._shear, (last - 1) * self._shear)
            squares += _beyond(y, min(shifts), end_y + max(shifts))
        return squares < self._squares_of_reach

    @cached_property
    def _columns(self) -> NDArray[np.float64]:
        return np.ascontiguousarray(self._local.centre.T)

    @cached_property
    def _squares_of_reach(self) -> NDArray[np.float64]:
        return reach(self._expansion, self._limit, self._highest) ** 2


def _holds(lattice: Lattice, expansion: GaussianExpansion) -> bool:
    """Whether a lattice with orthogonal axes holds the box, along x, y and z, of all centres of a sum."""
    corners = np.array(list(product(*zip(*expansion.corners, strict=True)))) - lattice.origin
    along = corners @ (lattice.axes / lattice.spacings[:, None]).T
    ends = (np.array(lattice.shape) - 1) * lattice.spacings
    return bool((along >= 0).all() and (along <= ends).all())


def _beyond(x: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Square of the distance of each coordinate from a range."""
    outside: NDArray[np.float64] = np.maximum(np.maximum(low - x, x - high), 0.0)
    return outside * outside


_SHEARED_BYTES = share("tables")
"""Memory that the tables of shifted planes may take; 8 planes are computed at once at least."""


def _sheared_frame(lattice: Lattice) -> tuple[NDArray[np.float64], tuple[float, float, float], float]:
    """Orthonormal axes, of which the first is normal to the planes and the second along the second axis.

    With them the distance of planes, the spacings along the other two axes, and the shift of a plane along the second.
    """
    second, third = lattice.axes[1] / lattice.spacings[1], lattice.axes[2] / lattice.spacings[2]
    shear = float(lattice.axes[0] @ second)
    normal = lattice.axes[0] - shear * second - (lattice.axes[0] @ third) * third
    height = float(np.linalg.norm(normal))
    frame = np.array([normal / height, second, third])
    return frame, (height, float(lattice.spacings[1]), float(lattice.spacings[2])), shear


def at_points(
    expansion: GaussianExpansion, tolerance: float, target: Target
) -> Callable[[NDArray[np.float64]], NDArray[np.floating]]:
    """Evaluator for arbitrary points; parameters as for `on_slabs`."""
    from taichi_kernels.gaussians_at_points import gaussians_at_points

    radius = reach(expansion, tolerance / len(expansion))

    def evaluate(points: NDArray[np.float64]) -> NDArray[np.floating]:
        return gaussians_at_points(
            points=points,
            centre=expansion.centre,
            exponent=expansion.exponent,
            degree=expansion.degree,
            first_term=expansion.first_term,
            terms=expansion.terms,
            reach=radius,
            target=target,
            checkpoint=watcher(),
        )

    return evaluate
