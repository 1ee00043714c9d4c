"""Sums of Gaussians on lattices and at points: from an expansion to the kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.orders import PLAIN, Orders
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
        return _on_upright_slabs(expansion, lattice, tolerance, target, orders)

    def evaluate(start: int, stop: int, out: Any) -> None:
        slab = lattice.slab(start, stop)
        nx, ny, nz = (slab.shape[i] for i in order)
        turned = Lattice(slab.origin, slab.axes[list(order)], (nx, ny, nz))
        values = np.empty(turned.shape, out.dtype)
        _gather(_on_upright_slabs(expansion, turned, tolerance, target), values, target)
        back = values.transpose(np.argsort(order))
        if target.on_host:
            out[...] = back
        else:
            out.from_numpy(np.ascontiguousarray(back))

    return evaluate


def shares_derivatives(lattice: Lattice) -> bool:
    """Whether derivatives of a sum share their work: along axes that are those of the lattice."""
    return np.count_nonzero(lattice.axes) == 3 and bool(np.all(np.diagonal(lattice.axes) > 0))


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


def _on_upright_slabs(
    expansion: GaussianExpansion,
    lattice: Lattice,
    tolerance: float | NDArray[np.float64],
    target: Target,
    orders: Orders = PLAIN,
) -> Callable[[int, int, Any], None]:
    """Evaluator for slabs of a lattice whose third axis is at right angles to the first two."""
    from taichi_kernels.arrays import allocate, to_numpy
    from taichi_kernels.layout import BRICK, layout
    from taichi_kernels.orbital_lattice import orbital_on_lattice

    many = len(expansion) > MANY
    limit, highest = float(np.min(tolerance)) / (2 * len(expansion)), max(map(sum, orders))
    if many:
        expansion = reaching(expansion, limit, highest)
    shear = 0.0
    if lattice.is_orthogonal:
        local, (hx, hy, hz) = in_frame(expansion, lattice)
    else:
        frame, spacings, shear = _sheared_frame(lattice)
        local, (hx, hy, hz) = _turned(expansion, lattice.origin, frame), spacings.tolist()
    inside = tolerance / 2 if many else tolerance
    plane = lattice.shape[1:]
    ends_y, ends_z = (plane[0] - 1) * hy, (plane[1] - 1) * hz
    # all Gaussians that lie in the lattice reach it, which a device need not be told one by one
    holds_all = many and lattice.is_orthogonal and not target.on_host and _holds(lattice, local.centre)
    if many and not holds_all:
        x, y, z = np.ascontiguousarray(local.centre.T)
        across = _beyond(z, 0.0, ends_z) if shear else _beyond(z, 0.0, ends_z) + _beyond(y, 0.0, ends_y)
    elif many:
        x, across = local.centre[:, 0], np.zeros(1)
    if local.terms.ndim > 1:
        terms = np.ascontiguousarray(local.terms.T)
        local = GaussianExpansion(local.centre, local.exponent, local.degree, local.first_term, terms)

    def planes_at_once(count: int) -> int:
        step = PLANES if many and target.on_host and orders == PLAIN else count
        if shear:
            bytes_a_plane = target.dtype.itemsize * (plane[0] + BRICK[1]) * int((local.degree + 1).sum())
            step = min(step, max(_SHEARED_BYTES // bytes_a_plane // BRICK[0], 1) * BRICK[0])
        return step

    def evaluate(start: int, stop: int, out: Any) -> None:
        step = planes_at_once(stop - start)
        in_parts = step < stop - start
        gathered = np.empty((stop - start, *plane), out.dtype) if in_parts else None
        for first in range(start, stop, step):
            last = min(first + step, stop)
            chosen = local
            if many and not (holds_all and last - first == lattice.shape[0]):
                squares = across + _beyond(x, first * hx, (last - 1) * hx)
                if shear:
                    shifts = (first * shear, (last - 1) * shear)
                    squares += _beyond(y, min(shifts), ends_y + max(shifts))
                reached = squares < reach(expansion, limit, highest) ** 2
                if target.on_host or reached.mean() < _MOST:
                    chosen = local.chosen(reached)
            checkpoint()
            plan = layout(chosen.degree)
            checkpoint()
            part = out
            if in_parts:
                shape = (last - first, *plane)
                part = out[first - start : last - start] if target.on_host else allocate(shape, out.dtype)
            with stage((first - start) / (stop - start), (last - start) / (stop - start)):
                orbital_on_lattice(
                    plan,
                    chosen.centre,
                    chosen.exponent,
                    chosen.terms,
                    (hx, hy, hz),
                    (last - first, *plane),
                    first,
                    inside,
                    target,
                    part,
                    shear,
                    watcher(),
                    orders,
                )
                if last < stop:
                    checkpoint(1.0)
            if gathered is not None and not target.on_host:
                to_numpy(part, gathered[first - start : last - start])
        if gathered is not None and not target.on_host:
            out.from_numpy(gathered)

    return evaluate


def _holds(lattice: Lattice, points: NDArray[np.float64]) -> bool:
    """Whether points lie between the first and the last ones of a lattice, in whose frame they are."""
    ends = (np.array(lattice.shape) - 1) * lattice.spacings
    return bool((points.min(axis=0) >= 0).all() and (points.max(axis=0) <= ends).all())


def _beyond(x: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Square of the distance of each coordinate from a range."""
    outside: NDArray[np.float64] = np.maximum(np.maximum(low - x, x - high), 0.0)
    return outside * outside


_SHEARED_BYTES = share("tables")
"""Memory that the tables of shifted planes may take; 8 planes are computed at once at least."""


def _sheared_frame(lattice: Lattice) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Orthonormal axes, of which the first is normal to the planes and the second along the second axis.

    With them the distance of planes, the spacings along the other two axes, and the shift of a plane along the second.
    """
    second, third = lattice.axes[1] / lattice.spacings[1], lattice.axes[2] / lattice.spacings[2]
    shear = float(lattice.axes[0] @ second)
    normal = lattice.axes[0] - shear * second - (lattice.axes[0] @ third) * third
    height = float(np.linalg.norm(normal))
    frame = np.array([normal / height, second, third])
    return frame, np.array([height, lattice.spacings[1], lattice.spacings[2]]), shear


def at_points(
    expansion: GaussianExpansion, tolerance: float, target: Target
) -> Callable[[NDArray[np.float64]], NDArray[np.floating]]:
    """Evaluator for arbitrary points; parameters as for `on_slabs`."""
    from taichi_kernels.gaussians_at_points import gaussians_at_points

    radius = reach(expansion, tolerance / len(expansion))

    def evaluate(points: NDArray[np.float64]) -> NDArray[np.floating]:
        return gaussians_at_points(
            points,
            expansion.centre,
            expansion.exponent,
            expansion.degree,
            expansion.first_term,
            expansion.terms,
            radius,
            target,
            watcher(),
        )

    return evaluate
