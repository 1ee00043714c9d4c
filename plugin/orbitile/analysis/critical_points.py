r"""Critical points of any field: where its gradient vanishes, as the minima of the potential and the maxima of ELF.

Minima of the electrostatic potential are where lone pairs and pi electrons attract a cation (S. R. Gadre, S. A.
Kulkarni and I. H. Shrivastava, J. Chem. Phys. 1992, 96, 5253); maxima of the electron localisation function are bonds,
lone pairs and cores (B. Silvi and A. Savin, Nature 1994, 371, 683).

Searches begin at the points of a lattice that are larger or smaller than all neighbours, and at those from which a step
of Newton's method, by differences between neighbours, stays near. The former go uphill or downhill along each
eigenvector of the Hessian. On the way the gradient and the Hessian are differences of the field at 19 points, :math:`h
= 0.01` bohr apart, in double precision where the device has it, until a step is less than 1e-5 bohr. Where a field has
cusps or poles, within a part of the radius of a nucleus, nothing is searched for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Indices, Reals
from ..base.errors import OrbitileError
from ..base.watch import checkpoint, stage
from ..evaluation.boxes import enclosing_lattice
from ..evaluation.devices import exact_precision
from ..evaluation.lattices import compute
from ..evaluation.points import evaluate
from ..evaluation.requests import field_of
from ..fields import Field
from ..model.cell import molecules_only
from ..model.elements import ATOMIC_RADII
from ..model.units import angstrom
from ..model.wavefunction import Wavefunction

Evaluator = Callable[[Reals], Reals]
"""Of a field at points, shape (n, 3)."""

KINDS = ("minimum", "ring", "bond", "maximum")
"""By the number of negative curvatures; ring and bond for saddles of index 1 and 2, as of the density."""

_SPACING, _POINTS = 0.25, 1 << 21
"""Spacing of the lattice in bohr, and how many points it has at most: 16 MB."""

_WITHIN = 1.5
"""Step of Newton's method in units of the spacing from which a point of the lattice is a beginning."""

_MOST = 100_000
"""Beginnings, at most."""

_H, _LONGEST, CONVERGED, _ROUNDS = 0.01, 0.2, 1e-5, 25
"""Distances in bohr: of differences, of a step at most, and of the last one; and how many steps there are."""

_SAME = 0.03
"""Distance in bohr within which two points are one."""

_FLAT = 1e-4
"""Share of the largest curvature below which one counts as none."""

_CONSTANT, _STRAIGHT = 1e-6, 1e-5
"""Shares: of the largest value within which a field is constant, and of the span of values below which curvatures per
bohr^2 are rounding."""

_CORE = 0.55
"""Share of an atom's radius within which nothing is searched for, as fields have shells, cusps or a pole there."""


@dataclass(frozen=True, eq=False)
class CriticalPoints:
    """Points where the gradient of a field vanishes, those of the largest values first.

    Attributes
    ----------
    positions : ndarray, shape (n, 3)
        In bohr.
    values, densities : ndarray, shape (n,)
        Of the field in its unit, and of the electron density in e bohr^-3.
    curvatures : ndarray, shape (n, 3)
        Eigenvalues of the Hessian, rising.
    is_constant : bool
        Whether the field has the same value everywhere.
    """

    positions: Reals
    values: Reals
    densities: Reals
    curvatures: Reals
    is_constant: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of `KINDS`, or degenerate where a curvature vanishes."""
        largest = np.abs(self.curvatures).max(axis=1, initial=0.0)
        flat = np.abs(self.curvatures).min(axis=1, initial=np.inf) < _FLAT * largest
        negative = (self.curvatures < 0).sum(axis=1)
        return tuple("degenerate" if none else KINDS[n] for none, n in zip(flat.tolist(), negative, strict=True))


def critical_points(
    wavefunction: Wavefunction, field: str | Field = "esp", least: float = 3e-4, *, device: str | None = None
) -> CriticalPoints:
    """Find the critical points of a field.

    Parameters
    ----------
    wavefunction, field, device
        As for `orbitile.evaluate`.
    least
        Density in e bohr^-3 below which nothing is searched for.

    Raises
    ------
    OrbitileError
        When there is no such field, or the system is periodic.
    """
    molecules_only(wavefunction, "critical points", "they would have images in other cells")
    resolved, density = field_of(wavefunction, field), field_of(wavefunction, "density")
    box = enclosing_lattice(wavefunction, density, least, spacing=_SPACING)
    if box.n_points > _POINTS:
        spacing = _SPACING * (box.n_points / _POINTS) ** (1 / 3)
        box = enclosing_lattice(wavefunction, density, least, spacing=spacing)
    with stage(0.0, 0.3):
        values = compute(wavefunction, resolved, box, device=device).values
    with stage(0.3, 0.4):
        there = compute(wavefunction, density, box, device=device).values > least
    span = float(np.ptp(values[there])) if there.any() else 0.0
    if span <= _CONSTANT * float(np.abs(values).max(initial=0.0)):  # as the localisation function of two electrons
        nothing = np.zeros(0)
        return CriticalPoints(np.zeros((0, 3)), nothing, nothing, np.zeros((0, 3)), is_constant=True)
    begin, uphill = _beginnings(values, there)
    points = box.origin + begin @ box.axes
    outside = ~_in_core(wavefunction, points)
    points, uphill = points[outside], uphill[outside]
    if len(points) > _MOST:
        raise OrbitileError(
            f"critical points of {resolved.quantity}: expected a field that bends, got {len(points):,} places where it "
            "may have some; give a higher cutoff of the density"
        )

    def at(places: Reals) -> Reals:
        return evaluate(wavefunction, resolved, places, device=device, precision=exact_precision(device)).astype(
            np.float64
        )

    with stage(0.4, 1.0):
        found = _followed(at, wavefunction, points, uphill)
    kept = _each_once(found)
    _, curvatures = _derivatives(at, found[kept])
    densities: Reals = np.asarray(evaluate(wavefunction, density, found[kept], device=device), np.float64)
    enough = (densities > least) & (np.abs(curvatures).max(axis=(1, 2), initial=0.0) > _STRAIGHT * span)
    kept, curvatures, densities = kept[enough], curvatures[enough], densities[enough]
    of_field = at(found[kept]) if len(kept) else np.zeros(0)
    order = np.argsort(-of_field, kind="stable")
    eigenvalues = np.asarray(np.linalg.eigvalsh(curvatures[order]), np.float64)
    return CriticalPoints(
        found[kept][order],
        of_field[order],
        densities[order],
        eigenvalues,
    )


def _beginnings(values: NDArray[np.floating], there: NDArray[np.bool_]) -> tuple[Indices, NDArray[np.int64]]:
    """Points of a lattice near which the gradient vanishes, and which way to go: 1 up, -1 down, 0 either way."""
    from scipy.ndimage import maximum_filter, minimum_filter

    lengths = np.full(values.shape, np.inf)
    if min(values.shape) < 3:
        return np.zeros((0, 3), np.intp), np.zeros(0, np.int64)
    inside = tuple(slice(1, -1) for _ in range(3))
    where = np.argwhere(there[inside]) + 1
    for some in np.array_split(where, max(1, len(where) // _AT_ONCE)):
        neighbours = [values[tuple((some + shift).T)].astype(np.float64) for shift in _STENCIL]
        slope, bend = _from_stencil(np.stack(neighbours), 1.0)
        lengths[tuple(some.T)] = np.abs(_newton_step(slope, bend)).max(axis=1)
        checkpoint()
    # of neighbours that lead to one point, the closest
    either = (lengths < _WITHIN) & (lengths == minimum_filter(lengths, 3))
    up, down = (np.isfinite(lengths) & (values == extreme(values, 3)) for extreme in (maximum_filter, minimum_filter))
    found = [np.argwhere(some) for some in (either, up, down)]
    return np.concatenate(found), np.repeat([0, 1, -1], [len(some) for some in found])


_AT_ONCE = 1 << 16
_STENCIL = np.array(
    [
        [0, 0, 0],
        *(sign * np.eye(3, dtype=int)[axis] for axis in range(3) for sign in (1, -1)),
        *(
            first * np.eye(3, dtype=int)[a] + second * np.eye(3, dtype=int)[b]
            for a, b in ((0, 1), (0, 2), (1, 2))
            for first in (1, -1)
            for second in (1, -1)
        ),
    ]
)
"""A point, its six neighbours, and the twelve next ones: what second differences are made of."""


def _from_stencil(values: Reals, h: float) -> tuple[Reals, Reals]:
    """Gradients, shape (n, 3), and Hessians, shape (n, 3, 3), by values at the points of the stencil, shape (19, n)."""
    middle = values[0]
    slope = np.stack([(values[1 + 2 * axis] - values[2 + 2 * axis]) / (2 * h) for axis in range(3)], axis=1)
    bend = np.zeros((values.shape[1], 3, 3))
    for axis in range(3):
        bend[:, axis, axis] = (values[1 + 2 * axis] + values[2 + 2 * axis] - 2 * middle) / h**2
    for n, (a, b) in enumerate(((0, 1), (0, 2), (1, 2))):
        both, first, second, none = values[7 + 4 * n : 11 + 4 * n]
        bend[:, a, b] = bend[:, b, a] = (both - first - second + none) / (4 * h**2)
    return slope, bend


def _derivatives(at: Evaluator, points: Reals) -> tuple[Reals, Reals]:
    if not len(points):
        return np.zeros((0, 3)), np.zeros((0, 3, 3))
    values = at((points + _H * _STENCIL[:, None]).reshape(-1, 3)).reshape(len(_STENCIL), -1)
    return _from_stencil(values, _H)


def _newton_step(slope: Reals, bend: Reals, uphill: NDArray[np.int64] | None = None) -> Reals:
    """Where the quadratic model has no slope; far away where it is flat. Uphill 1 or downhill -1 where that is told."""
    values, vectors = np.linalg.eigh(bend)
    if uphill is not None:
        values = np.where(uphill[:, None], -uphill[:, None] * np.abs(values), values)
    along = np.einsum("nij,ni->nj", vectors, slope)
    tiny = np.abs(values) < 1e-12
    step = np.where(tiny, 1e6 * np.sign(along), -along / np.where(tiny, 1.0, values))
    result: Reals = np.einsum("nij,nj->ni", vectors, step)
    return result


def _followed(at: Evaluator, wavefunction: Wavefunction, points: Reals, uphill: NDArray[np.int64]) -> Reals:
    """Where Newton's method leads from some points, those that get there."""
    places, start = points.copy(), points
    running, done = np.arange(len(points)), np.zeros(len(points), bool)
    for number in range(_ROUNDS):
        if not len(running):
            break
        step = _newton_step(*_derivatives(at, places[running]), uphill[running])
        length = np.linalg.norm(step, axis=1)
        places[running] += step * np.minimum(1.0, _LONGEST / np.maximum(length, 1e-300))[:, None]
        done[running[length < CONVERGED]] = True
        far = np.linalg.norm(places[running] - start[running], axis=1) > _AWAY
        running = running[(length >= CONVERGED) & ~far & ~_in_core(wavefunction, places[running])]
        # beginnings of one point come together: one of those that go the same way goes on
        running = np.concatenate(
            [some[_each_once(places[some])] for way in (0, 1, -1) if len(some := running[uphill[running] == way])]
            or [running]
        )
        checkpoint((number + 1) / _ROUNDS)
    found = places[done]
    return found[~_in_core(wavefunction, found)]


_AWAY = 1.5
"""Distance in bohr from where a search began beyond which it is given up."""


def _each_once(points: Reals) -> NDArray[np.intp]:
    """Of points that are one, the first."""
    from scipy.spatial import cKDTree

    if not len(points):
        return np.zeros(0, np.intp)
    later = cKDTree(points).query_pairs(_SAME, output_type="ndarray").reshape(-1, 2).max(axis=1)
    return np.setdiff1d(np.arange(len(points)), later)


def _in_core(wavefunction: Wavefunction, points: Reals) -> NDArray[np.bool_]:
    """Which points are within a part of the radius of an atom."""
    result = np.zeros(len(points), bool)
    for number, place in zip(wavefunction.atomic_numbers.tolist(), wavefunction.positions, strict=True):
        if number:
            radius = _CORE * angstrom * ATOMIC_RADII[min(number, len(ATOMIC_RADII) - 1)]
            result |= np.linalg.norm(points - place, axis=1) < radius
    return result
