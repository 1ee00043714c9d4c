"""Fields that are sums of Gaussians, or functions of such sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.layout import PLAIN, Orders
from taichi_kernels.target import Target

from ..base.caches import Derived
from ..base.memory import share
from ..base.watch import checkpoint, stage
from ..gaussians.expansion import GaussianExpansion, box_outside_which, origin_of, radial_bounds
from ..gaussians.kernels._sums import MANY, PLANES, at_points, in_double, on_slabs, shares_derivatives
from ..gaussians.kernels._tolerances import tolerances
from ..model.lattice import Lattice
from . import Field, PointEvaluator, SlabEvaluator

Reals = NDArray[np.floating]

Combine = Callable[..., Any]
"""Values of sums to those of a field: a formula of `taichi_kernels.expressions`, of arrays and of numbers to come."""

_POINTS = 1 << 18
"""Points whose values are combined at once on a CPU: some 5 ms."""

_HELD = share("sums to combine", 4)
"""Values of sums that are held until they are combined: 256 MiB in single precision."""

_BRICK = 8
"""Planes of a brick of the lattice kernel: cuts between them change nothing."""

SMALL = 1 << 14
"""Points of a lattice below which a density about a single atom shows facets, and what is about a nucleus is passed
over."""

MANY_ATOMS = 3 << 17
"""Points of a lattice of medium quality about atoms alone, whose surface has some 90,000 triangles: as many as a window
draws, and a map of them is loaded in 30 ms. Of fine quality there are eight times as many."""

_RATIOS = 1 / 256
"""Part of what screening may cost, for sums that are divided by each other, or differences: small ones are to be known
to several digits too."""

_SINGLE_SUFFICES = 64.0
"""Where the magnitudes of the products add up to more than this, in e bohr^-3 away from the nuclei, they cancel: the
sum is formed in double precision where the device can. Rounding would cost 6e-8 times it."""

_ATOMS = 16
"""Atoms about which cancellation is looked for."""
_DIRECTIONS = np.array([[1.0, 1, 1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1]]) / np.sqrt(3)
_DISTANCE = 1.2
"""Distance from them in bohr."""


@dataclass(frozen=True, eq=False)
class SumField(Field):
    """A field that is a function of sums of Gaussians: a density, its derivatives, and what is made of them.

    Attributes
    ----------
    parts : tuple of GaussianExpansion
        The sums.
    quantity, unit : str
        For people.
    isovalue : float
        One that shows the field well, in its unit.
    extent : GaussianExpansion
        Sum outside whose isosurface the field is smaller in magnitude, or not shown: itself, or a density.
    extent_isovalue : callable or None
        Takes an isovalue of the field to that of `extent` outside whose surface the field is smaller; None where they
        are the same.
    atoms : ndarray, shape (n, 3)
        In bohr.
    combine : callable or None
        Takes the values of the parts, each an array of the same shape, to those of the field; None for one part.
    is_difference : bool
        Whether it is what large sums leave of each other: then small values are of interest, and a sum is formed in
        double precision where its terms still cancel.
    peaks_at_nuclei : bool
        Whether values there do not tell what its colours span: not of differences, whose peaks are of interest.
    share_of_loss : float
        Part of what screening may cost a density that it may cost each sum. By default all for one sum, and 1/256 for
        several, which may be divided by each other, and for a difference.
    jumps : bool
        Whether its values jump: where it colours a surface, colours are blended across the jump.
    coloured_isovalue : float or None
        One that suits it where a second field colours it; None for the same.
    fewest_points : int
        Points of a lattice below which its isosurfaces look rough, as thin ones and those where it bends do.
    colour_range : float or None
        Where the field colours a surface, the colours span minus this to plus this by convention; None: its values.
    colour_map : str or None
        Name of the colours that are the convention for it, see `orbitile.surfaces.colour_maps`.
    absence : str
        What it means that nothing reaches its isovalue, as a sentence; empty where that says nothing.
    """

    parts: tuple[GaussianExpansion, ...]
    quantity: str
    unit: str
    isovalue: float
    extent: GaussianExpansion
    atoms: NDArray[np.float64]
    extent_isovalue: Callable[[float], float] | None = None
    combine: Combine | None = None
    is_difference: bool = False
    fewest_points: int = 0
    colour_range: float | None = None
    colour_map: str | None = None
    coloured_isovalue: float | None = None
    absence: str = ""
    jumps: bool = False
    share_of_loss: float = 0.0
    peaks_at_nuclei: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "peaks_at_nuclei", not self.is_difference)
        if not self.share_of_loss:
            strict = self.combine is not None or self.is_difference
            object.__setattr__(self, "share_of_loss", _RATIOS if strict else 1.0)

    def _cancels(self) -> bool:
        suffices = _SINGLE_SUFFICES * (_RATIOS if self.is_difference else 1.0)
        return any(self._sum_of_magnitudes(part) > suffices for part in self.parts)

    def _sum_of_magnitudes(self, part: GaussianExpansion) -> float:
        points = (self.atoms[:_ATOMS, None] + _DISTANCE * _DIRECTIONS).reshape(-1, 3)
        return _MAGNITUDES.of(part, points.tobytes(), lambda: _magnitude(part, points))

    def _working(self, target: Target) -> Target:
        return in_double(target) if self._cancels() else target

    def _tolerance(self, target: Target) -> float:
        return tolerances(target.dtype).products * self.share_of_loss

    def enclosing_box(self, isovalue: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Corners of a box outside which the field is smaller in magnitude, or not shown, in bohr."""
        return enclosing_box(self.extent, isovalue if self.extent_isovalue is None else self.extent_isovalue(isovalue))

    def on_slabs(self, lattice: Lattice, target: Target) -> SlabEvaluator | None:
        """Evaluator for slabs of a lattice with an axis at right angles to the other two."""
        working, tolerance = self._working(target), self._tolerance(target)
        if self.combine is None:
            return on_slabs(self.parts[0], lattice, tolerance, working)
        return _combined(self.parts, self.combine, lattice, tolerance, working, target)

    def at_points(self, target: Target) -> PointEvaluator:
        """Evaluator for arbitrary points."""
        working, tolerance = self._working(target), self._tolerance(target)
        evaluators = [at_points(part, tolerance, working) for part in self.parts]
        combine = self.combine

        def evaluate(points: NDArray[np.float64]) -> Reals:
            values = []
            for n, evaluate_part in enumerate(evaluators):
                with stage(n / len(evaluators), (n + 1) / len(evaluators)):
                    checkpoint()
                    values.append(evaluate_part(points))
            with np.errstate(under="ignore"):
                result = values[0] if combine is None else combine(*values)
            return result.astype(target.dtype, copy=False)

        return evaluate


_FARTHEST, _WIDTH = 60.0, 0.02
"""Distance in bohr from the last Gaussian within which a face of a box is looked for, and how exactly."""

_MAGNITUDES = Derived[float]("numbers")

_NEGLIGIBLE = 30.0
"""Exponent from which a Gaussian is below 1e-13 of its largest value."""


def _magnitude(expansion: GaussianExpansion, points: NDArray[np.float64]) -> float:
    """Largest sum of the magnitudes of all Gaussians at some points, from above."""
    low, high = points.min(axis=0), points.max(axis=0)
    outside = np.maximum(np.maximum(low - expansion.centre, expansion.centre - high), 0.0)
    expansion = expansion.chosen(expansion.exponent * np.einsum("ni,ni->n", outside, outside) < _NEGLIGIBLE)
    bounds = radial_bounds(expansion)
    orders = np.arange(bounds.shape[1])
    largest = 0.0
    for point in points:
        checkpoint()
        d = np.sqrt(((point - expansion.centre) ** 2).sum(axis=1))
        near = expansion.exponent * d**2 < _NEGLIGIBLE
        value = (bounds[near] * d[near, None] ** orders).sum(axis=1) * np.exp(-expansion.exponent[near] * d[near] ** 2)
        largest = max(largest, float(value.sum()))
    return largest


def enclosing_box(expansion: GaussianExpansion, isovalue: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Corners of a box outside which a sum is guaranteed to be smaller in magnitude than an isovalue, in bohr.

    The bound of a Gaussian falls with the distance from its last maximum on; before that its largest value stands in.
    """
    bounds = radial_bounds(expansion)
    orders = np.arange(bounds.shape[1])
    maximum = np.sqrt(expansion.degree / (2 * expansion.exponent))

    def beyond(distance: NDArray[np.float64]) -> float:
        d = np.maximum(distance, maximum)
        with np.errstate(under="ignore"):
            return float(((bounds * d[:, None] ** orders).sum(axis=1) * np.exp(-expansion.exponent * d**2)).sum())

    return box_outside_which(beyond, isovalue, expansion.centre, before=0.0, beyond=_FARTHEST, width=_WIDTH)


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


def _combined(
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
    from taichi_kernels.formulas import combine_values

    values = _evaluated(groups, evaluators, planes, lambda count: allocate((count, *out.shape[1:]), out.dtype))
    combine_values(combine, values, planes[1] - planes[0], target, out, place)
