"""Sums of Gaussians on lattices and at points: from an expansion to the kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .expansion import GaussianExpansion, radial_bounds, reach, reaching
from .lattice import Lattice
from .packing import rotate_terms
from .watch import checkpoint, stage, watcher

MANY = 1 << 14
"""Gaussians from which on a CPU deals with few planes at a time, each with the Gaussians that reach it."""

_PLANES = 32

_MOST = 0.9
"""Where more than this share of the Gaussians reaches the planes, a device is given all, which it may have already:
screening deals with the rest."""


def on_slabs(
    expansion: GaussianExpansion,
    lattice: Lattice,
    tolerance: float | NDArray[np.float64],
    precision: str,
    device: str,
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
    precision, device
        Of tables and sums: single or double; the device of the current session.
    """
    order = upright(lattice)
    if order is None:
        return None
    if order == (0, 1, 2):
        return _on_upright_slabs(expansion, lattice, tolerance, precision, device)

    def evaluate(start: int, stop: int, out: Any) -> None:
        slab = lattice.slab(start, stop)
        nx, ny, nz = (slab.shape[i] for i in order)
        turned = Lattice(slab.origin, slab.axes[list(order)], (nx, ny, nz))
        values = np.empty(turned.shape, out.dtype)
        _gather(_on_upright_slabs(expansion, turned, tolerance, precision, device), values, device)
        back = values.transpose(np.argsort(order))
        if isinstance(out, np.ndarray):
            out[...] = back
        else:
            out.from_numpy(np.ascontiguousarray(back))

    return evaluate


def upright(lattice: Lattice) -> tuple[int, int, int] | None:
    """An order of the axes in which the last one is at right angles to the others; None where there is none."""
    unit = lattice.axes / lattice.spacings[:, None]
    skewed = np.abs(unit @ unit.T - np.eye(3)) > 1e-12
    for order in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
        if not skewed[order[2]].any():
            return order
    return None


def _gather(evaluate: Callable[[int, int, Any], None], values: NDArray[np.floating], device: str) -> None:
    """All planes of a lattice into an array at home, wherever they are computed."""
    from taichi_kernels.arrays import allocate, to_numpy

    if device == "cpu":
        evaluate(0, len(values), values)
    else:
        part: Any = allocate(values.shape, values.dtype)
        evaluate(0, len(values), part)
        to_numpy(part, values)


def _on_upright_slabs(
    expansion: GaussianExpansion,
    lattice: Lattice,
    tolerance: float | NDArray[np.float64],
    precision: str,
    device: str,
) -> Callable[[int, int, Any], None]:
    """Evaluator for slabs of a lattice whose third axis is at right angles to the first two."""
    from taichi_kernels.arrays import allocate, to_numpy
    from taichi_kernels.layout import BRICK, layout
    from taichi_kernels.orbital_lattice import orbital_on_lattice
    from taichi_kernels.target import Target

    target = Target(device, precision)
    many = len(expansion) > MANY
    limit = float(np.min(tolerance)) / (2 * len(expansion))
    if many:
        expansion = reaching(expansion, limit)
    if lattice.is_orthogonal:
        frame, spacings, shear = lattice.axes / lattice.spacings[:, None], lattice.spacings, 0.0
    else:
        frame, spacings, shear = _sheared_frame(lattice)
    local = GaussianExpansion(
        expansion.centre - lattice.origin,
        expansion.exponent,
        expansion.degree,
        expansion.first_term,
        expansion.terms,
    )
    if not np.array_equal(frame, np.eye(3)):
        terms = rotate_terms(local.terms, local.degree, frame)
        local = GaussianExpansion(local.centre @ frame.T, local.exponent, local.degree, local.first_term, terms)
    hx, hy, hz = spacings.tolist()
    radius = reach(expansion, limit) if many else None
    inside = tolerance / 2 if many else tolerance
    plane = lattice.shape[1:]
    if local.terms.ndim > 1:
        terms = np.ascontiguousarray(local.terms.T)
        local = GaussianExpansion(local.centre, local.exponent, local.degree, local.first_term, terms)

    def planes_at_once(count: int, at_home: bool) -> int:
        step = _PLANES if many and at_home else count
        if shear:
            bytes_a_plane = target.dtype.itemsize * (plane[0] + BRICK[1]) * int((local.degree + 1).sum())
            step = min(step, max(_SHEARED_BYTES // bytes_a_plane // BRICK[0], 1) * BRICK[0])
        return step

    def evaluate(start: int, stop: int, out: Any) -> None:
        at_home = isinstance(out, np.ndarray)
        step = planes_at_once(stop - start, at_home)
        in_parts = step < stop - start
        gathered = np.empty((stop - start, *plane), out.dtype) if in_parts else None
        for first in range(start, stop, step):
            last = min(first + step, stop)
            chosen = local
            if radius is not None:
                ends = (first * shear, (last - 1) * shear)
                low = np.array([first * hx, min(ends), 0.0])
                high = np.array([(last - 1) * hx, (plane[0] - 1) * hy + max(ends), (plane[1] - 1) * hz])
                outside = np.maximum(np.maximum(low - local.centre, local.centre - high), 0.0)
                reached = np.einsum("nd,nd->n", outside, outside) < radius**2
                if at_home or reached.mean() < _MOST:
                    chosen = local.chosen(reached)
            part = out
            if in_parts:
                shape = (last - first, *plane)
                part = out[first - start : last - start] if at_home else allocate(shape, out.dtype)
            with stage((first - start) / (stop - start), (last - start) / (stop - start)):
                orbital_on_lattice(
                    layout(chosen.degree),
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
                )
                if last < stop:
                    checkpoint(1.0)
            if gathered is not None and not at_home:
                to_numpy(part, gathered[first - start : last - start])
        if gathered is not None and not at_home:
            out.from_numpy(gathered)

    return evaluate


_SHEARED_BYTES = 1 << 28
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
    expansion: GaussianExpansion, tolerance: float, precision: str, device: str
) -> Callable[[NDArray[np.float64]], NDArray[np.floating]]:
    """Evaluator for arbitrary points; parameters as for `on_slabs`."""
    from taichi_kernels.gaussians_at_points import gaussians_at_points
    from taichi_kernels.target import Target

    target = Target(device, precision)
    radius = reach(expansion, tolerance / len(expansion))

    def evaluate(points: NDArray[np.float64]) -> NDArray[np.floating]:
        values: NDArray[np.floating] = gaussians_at_points(
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
        return values

    return evaluate


Reals = NDArray[np.floating]

TOLERANCES = {"single": 5e-6, "double": 1e-11}
"""Bound, in atomic units, on what screening may cost a sum of products at any point."""

_RATIOS = 1 / 256
"""Part of that bound for sums that are divided by each other, or differences: small ones are to be known to several
digits too."""

_COMBINED = 1 << 18
"""Points whose values are combined at once: some 20 ms."""

_SINGLE_SUFFICES = 64.0
"""Where the magnitudes of the products add up to more than this, in e bohr^-3 away from the nuclei, they cancel: the
sum is formed in double precision where the device can. Rounding would cost 6e-8 times it."""

_ATOMS = 16
"""Atoms about which cancellation is looked for."""
_DIRECTIONS = np.array([[1.0, 1, 1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1]]) / np.sqrt(3)
_DISTANCE = 1.2
"""Distance from them in bohr."""


@dataclass(frozen=True, eq=False)
class SumField:
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
    fewest_points : int
        Points of a lattice below which its isosurfaces look rough, as thin ones and those where it bends do.
    colour_range : float or None
        Where the field colours a surface, the colours span minus this to plus this by convention; None: its values.
    colour_map : str or None
        Name of the colours that are the convention for it, see `orbitile.colouring`.
    """

    parts: tuple[GaussianExpansion, ...]
    quantity: str
    unit: str
    isovalue: float
    extent: GaussianExpansion
    atoms: NDArray[np.float64]
    extent_isovalue: Callable[[float], float] | None = None
    combine: Callable[..., Reals] | None = None
    is_difference: bool = False
    fewest_points: int = 0
    colour_range: float | None = None
    colour_map: str | None = None
    is_bounded: ClassVar[bool] = True

    def _cancels(self) -> bool:
        suffices = _SINGLE_SUFFICES * (_RATIOS if self.is_difference else 1.0)
        return any(self._sum_of_magnitudes(part) > suffices for part in self.parts)

    def _sum_of_magnitudes(self, part: GaussianExpansion) -> float:
        if "magnitudes" not in part.cache:
            points = (self.atoms[:_ATOMS, None] + _DISTANCE * _DIRECTIONS).reshape(-1, 3)
            part.cache["magnitudes"] = _magnitude(part, points)
        return float(part.cache["magnitudes"])

    def _working(self, precision: str, device: str) -> str:
        from taichi_kernels.devices import probe

        return "double" if self._cancels() and probe(device).double else precision

    def _tolerance(self, precision: str) -> float:
        return TOLERANCES[precision] * (_RATIOS if self.combine is not None or self.is_difference else 1.0)

    def enclosing_box(self, isovalue: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Corners of a box outside which the field is smaller in magnitude, or not shown, in bohr."""
        return enclosing_box(self.extent, isovalue if self.extent_isovalue is None else self.extent_isovalue(isovalue))

    def on_slabs(self, lattice: Lattice, precision: str, device: str) -> Callable[[int, int, Any], None] | None:
        """Evaluator for slabs of a lattice with an axis at right angles to the other two."""
        working, tolerance = self._working(precision, device), self._tolerance(precision)
        evaluators = [on_slabs(part, lattice, tolerance, working, device) for part in self.parts]
        if any(evaluate is None for evaluate in evaluators):
            return None
        combine = self.combine
        if combine is None:
            return evaluators[0]

        def evaluate(start: int, stop: int, out: Any) -> None:
            from taichi_kernels.arrays import allocate

            on_device = not isinstance(out, np.ndarray)
            step = stop - start if on_device else _PLANES
            home = np.empty(out.shape, out.dtype) if on_device else out
            few = max(1, _COMBINED // (lattice.shape[1] * lattice.shape[2]))
            for first in range(start, stop, step):
                last = min(first + step, stop)
                shape = (last - first, *lattice.shape[1:])
                values = []
                for n, one in enumerate(evaluators):
                    assert one is not None  # looked at above
                    part: Any = allocate(shape, out.dtype) if on_device else np.empty(shape, out.dtype)
                    done = (first - start + (last - first) * np.array([n, n + 1]) / len(evaluators)) / (stop - start)
                    with stage(*done.tolist()):
                        one(first, last, part)
                        checkpoint(1.0)
                    values.append(part.to_numpy() if on_device else part)
                for plane in range(0, last - first, few):
                    some = slice(plane, min(plane + few, last - first))
                    with np.errstate(under="ignore"):
                        home[first - start : last - start][some] = combine(*(value[some] for value in values))
                    checkpoint()
            if on_device:
                out.from_numpy(home)

        return evaluate

    def at_points(self, precision: str, device: str) -> Callable[[NDArray[np.float64]], Reals]:
        """Evaluator for arbitrary points."""
        working, tolerance = self._working(precision, device), self._tolerance(precision)
        evaluators = [at_points(part, tolerance, working, device) for part in self.parts]
        combine = self.combine

        def evaluate(points: NDArray[np.float64]) -> Reals:
            values = []
            for n, one in enumerate(evaluators):
                with stage(n / len(evaluators), (n + 1) / len(evaluators)):
                    checkpoint()
                    values.append(one(points))
            with np.errstate(under="ignore"):
                result = values[0] if combine is None else combine(*values)
            return result.astype(np.float32 if precision == "single" else np.float64, copy=False)

        return evaluate


def _magnitude(expansion: GaussianExpansion, points: NDArray[np.float64]) -> float:
    """Largest sum of the magnitudes of all Gaussians at some points, from above."""
    bounds = radial_bounds(expansion)
    orders = np.arange(bounds.shape[1])
    largest = 0.0
    for point in points:
        d = np.sqrt(((point - expansion.centre) ** 2).sum(axis=1))
        near = expansion.exponent * d**2 < 30
        value = (bounds[near] * d[near, None] ** orders).sum(axis=1) * np.exp(-expansion.exponent[near] * d[near] ** 2)
        largest = max(largest, float(value.sum()))
    return largest


def enclosing_box(expansion: GaussianExpansion, isovalue: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Corners of a box outside which a sum is guaranteed to be smaller in magnitude than an isovalue, in bohr.

    Beyond a plane every Gaussian is at least as far away as its centre is from the plane; its bound falls with the
    distance from its last maximum on, and before that its largest value stands in.
    """
    bounds = radial_bounds(expansion)
    orders = np.arange(bounds.shape[1])
    maximum = np.sqrt(expansion.degree / (2 * expansion.exponent))

    def beyond(distance: NDArray[np.float64]) -> float:
        d = np.maximum(distance, maximum)
        with np.errstate(under="ignore"):
            return float(((bounds * d[:, None] ** orders).sum(axis=1) * np.exp(-expansion.exponent * d**2)).sum())

    corners = []
    for sign in (-1.0, 1.0):
        height = sign * expansion.centre
        corner = np.empty(3)
        for axis in range(3):
            low, high = float(height[:, axis].min()), float(height[:, axis].max()) + 60.0
            while high - low > 0.02:
                middle = (low + high) / 2
                low, high = (middle, high) if beyond(middle - height[:, axis]) > isovalue else (low, middle)
            corner[axis] = high
        corners.append(sign * corner)
    return corners[0], corners[1]
