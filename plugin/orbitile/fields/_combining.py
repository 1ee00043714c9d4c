"""Fields that are made of several sums of Gaussians at each point, on a lattice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taichi_kernels.orders import PLAIN, Orders
from taichi_kernels.target import Target

from ..base.watch import checkpoint, stage
from ..gaussians.expansion import GaussianExpansion, origin_of
from ..gaussians.kernels._sums import MANY, PLANES, on_slabs, shares_derivatives
from ..model.lattice import Lattice
from . import SlabEvaluator

Combine = Callable[..., Any]
"""Values of sums to those of a field: a formula of `taichi_kernels.expressions`, of arrays and of numbers to come."""

_POINTS = 1 << 18
"""Points whose values are combined at once on a CPU: some 5 ms."""

_HELD = 1 << 26
"""Values of sums that are held until they are combined: 256 MiB in single precision."""

_BRICK = 8
"""Planes of a brick of the lattice kernel: cuts between them change nothing."""


@dataclass(frozen=True, eq=False)
class _Group:
    """Sums that are evaluated together: derivatives of one.

    Attributes
    ----------
    expansion : GaussianExpansion
    orders : tuple of (int, int, int)
        Of the derivatives along x, y and z.
    places : tuple of int
        Which of the sums they are.
    """

    expansion: GaussianExpansion
    orders: Orders
    places: tuple[int, ...]


def combined(
    parts: Sequence[GaussianExpansion],
    combine: Combine,
    lattice: Lattice,
    tolerance: float,
    working: Target,
    target: Target,
) -> SlabEvaluator | None:
    """Evaluator for slabs of a lattice; None for one without an axis at right angles to the other two.

    A sum and its derivatives share their work where the lattice has the axes of the derivatives.

    Parameters
    ----------
    parts
        The sums.
    combine
        Takes their values to those of the field.
    lattice
        Where.
    tolerance
        Bound on what screening may cost each sum at any point.
    working, target
        Device of the current session, with the precision of sums and of the values.
    """
    groups = _groups(parts) if shares_derivatives(lattice) else [_alone(n, part) for n, part in enumerate(parts)]
    evaluators: list[SlabEvaluator] = []
    for group in groups:
        evaluator = on_slabs(group.expansion, lattice, tolerance, working, group.orders)
        if evaluator is None:
            return None
        evaluators.append(evaluator)
    plane = lattice.shape[1] * lattice.shape[2]
    most = max(_HELD // (len(parts) * plane * _BRICK), 1) * _BRICK
    if target.on_host and max(map(len, parts)) > MANY:  # which deals with so many planes at a time
        most = PLANES
    on_planes = _on_host if target.on_host else _on_device

    def evaluate(start: int, stop: int, out: Any) -> None:
        for first in range(start, stop, most):
            last = min(first + most, stop)
            with stage((first - start) / (stop - start), (last - start) / (stop - start)):
                on_planes(groups, evaluators, combine, (first, last), first - start, target, out)

    return evaluate


def _alone(place: int, part: GaussianExpansion) -> _Group:
    return _Group(part, PLAIN, (place,))


def _groups(parts: Sequence[GaussianExpansion]) -> list[_Group]:
    """Derivatives of one sum in one group; what is alone of its kind as a sum of its own."""
    origins = [origin_of(part) for part in parts]
    members: dict[int, list[int]] = {}
    for n, origin in enumerate(origins):
        members.setdefault(id(origin.expansion), []).append(n)
    return [
        _alone(places[0], parts[places[0]])
        if len(places) == 1
        else _Group(origins[places[0]].expansion, tuple(origins[n].order for n in places), tuple(places))
        for places in members.values()
    ]


def _evaluated(
    groups: Sequence[_Group],
    evaluators: Sequence[SlabEvaluator],
    planes: tuple[int, int],
    new: Callable[[int], Any],
) -> list[tuple[Any, int]]:
    """For each sum, the array that its values are in, and where they begin in that."""
    values: dict[int, tuple[Any, int]] = {}
    n_parts, n = sum(len(group.places) for group in groups), planes[1] - planes[0]
    for group, evaluate in zip(groups, evaluators, strict=True):
        array = new(len(group.places) * n)
        with stage(len(values) / n_parts, (len(values) + len(group.places)) / n_parts):
            evaluate(*planes, array)
            checkpoint(1.0)
        values.update((place, (array, n * k)) for k, place in enumerate(group.places))
    return [values[place] for place in range(n_parts)]


def _on_host(
    groups: Sequence[_Group],
    evaluators: Sequence[SlabEvaluator],
    combine: Combine,
    planes: tuple[int, int],
    place: int,
    target: Target,
    out: Any,
) -> None:
    """Combine sums on some planes of a lattice, which begin at a place of a result on the host."""
    from taichi_kernels.arrays import view

    if not isinstance(out, np.ndarray):  # of the compiler, whose CPU has the same memory
        out = view(out).reshape(out.shape)
    n = planes[1] - planes[0]
    values = _evaluated(groups, evaluators, planes, lambda count: np.empty((count, *out.shape[1:]), out.dtype))
    few = max(1, _POINTS // (out.shape[1] * out.shape[2]))
    for plane in range(0, n, few):
        last = min(plane + few, n)
        with np.errstate(under="ignore"):
            out[place + plane : place + last] = combine(*(array[at + plane : at + last] for array, at in values))
        checkpoint(1.0)


def _on_device(
    groups: Sequence[_Group],
    evaluators: Sequence[SlabEvaluator],
    combine: Combine,
    planes: tuple[int, int],
    place: int,
    target: Target,
    out: Any,
) -> None:
    """The same where values and result stay on the device."""
    from taichi_kernels.arrays import allocate
    from taichi_kernels.pointwise import combine_values

    values = _evaluated(groups, evaluators, planes, lambda count: allocate((count, *out.shape[1:]), out.dtype))
    combine_values(combine, values, planes[1] - planes[0], target, out, place)
