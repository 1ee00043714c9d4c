r"""Surfaces as numbers: area, volume, and the statistics of fields on an isosurface.

The vertices of marching cubes and the middles of its edges are moved onto the isosurface itself. With weights from the
areas of the triangles, and of the four that each of them is divided into,

.. math::  \int f\, dA \approx \sum_n w_n f_n, \qquad w_n = (4 w_n^{fine} - w_n^{coarse}) / 3

which leaves an error of the fourth order in the spacing (L. F. Richardson, Phil. Trans. R. Soc. A 1911, 210, 307), and
gives an edge's middle a third of the area of a flat triangle, as the rule of degree 2 for triangles does.

Statistics are those of P. Politzer and J. S. Murray: J. S. Murray, T. Brinck, P. Lane, K. Paulsen and P. Politzer, J.
Mol. Struct. (Theochem) 1994, 307, 55; T. Brinck, J. S. Murray and P. Politzer, Mol. Phys. 1992, 76, 609; with areas for
weights as by F. A. Bulat, A. Toro-Labbe, T. Brinck, J. S. Murray and P. Politzer, J. Mol. Model. 2010, 16, 1679.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.devices import probe

from ..evaluation.boxes import enclosing_lattice
from ..evaluation.devices import device_session
from ..evaluation.points import evaluate
from ..evaluation.requests import field_of
from ..evaluation.surfaces import compute_surface, is_cut
from ..model.surface import Colouring, Surface
from ..model.wavefunction import Wavefunction
from ..surfaces.subdivision import subdivided
from ..watch import checkpoint
from .levels import slater_radii

if TYPE_CHECKING:
    from ..fields import Field

Reals = NDArray[np.float64]
Values = Callable[[Reals], Reals]
"""Of a field at points, shape (n, 3)."""

_STEP = 2e-3
"""Distance in bohr of points for a gradient."""

_MOVES, _FARTHEST = 4, 0.5
"""How often points are moved towards the isovalue, and how far at most, in units of the spacing."""

_ON_SURFACE = 1e-4
"""Share of the isovalue that a field may be off at a point that is on the surface."""


@dataclass(frozen=True, eq=False)
class MeasuredSurface:
    """An isosurface with a rule to integrate over it.

    Attributes
    ----------
    surface : Surface
        Finer than marching cubes made it, with its vertices on the isosurface.
    points : ndarray, shape (n, 3)
        Its vertices in double precision, in bohr.
    weights : ndarray, shape (n,)
        In bohr^2; a few are below zero by little.
    normals : ndarray, shape (n, 3)
        Unit vectors along the gradient of the field, pointing outside.
    volume : float
        Enclosed, from the triangles, in bohr^3.
    n_astray : int
        Points that could not be moved onto the isosurface: they are where the mesh has them.
    is_whole : bool
        Whether it is closed: it does not leave the lattice.
    """

    surface: Surface
    points: Reals
    weights: Reals
    normals: Reals
    volume: float
    n_astray: int
    is_whole: bool

    @property
    def area(self) -> float:
        """In bohr^2."""
        return float(self.weights.sum())

    @cached_property
    def volume_by_flux(self) -> float:
        """The volume again, a third of the flux of the position through the surface, by the gradient of the field."""
        return float(self.weights @ np.einsum("ni,ni->n", self.points - self.points.mean(axis=0), self.normals)) / 3

    @property
    def vector_area(self) -> float:
        """Length of the integral of the normal, 0 for a closed surface, in bohr^2."""
        return float(np.linalg.norm(self.weights @ self.normals))


@dataclass(frozen=True)
class Statistics:
    """Statistics of a field on a surface, or a part of one, in the unit of the field and bohr.

    Attributes
    ----------
    area, positive_area, negative_area : float
        Of all, and of where the field is above and below zero.
    mean, positive_mean, negative_mean : float
        Averages over these; NaN where there is no area.
    variance : float
        Of the field about its mean.
    positive_variance, negative_variance : float
        About the means of the two parts.
    deviation : float
        Average magnitude of the difference from the mean; of the potential Pi, the local polarity.
    least, most : float
    """

    area: float
    positive_area: float
    negative_area: float
    mean: float
    positive_mean: float
    negative_mean: float
    variance: float
    positive_variance: float
    negative_variance: float
    deviation: float
    least: float
    most: float

    @property
    def total_variance(self) -> float:
        """Sum of the variances of the two parts."""
        return self.positive_variance + self.negative_variance

    @property
    def balance(self) -> float:
        """Product of the variances of the two parts over the square of their sum: 1/4 where they are equal."""
        total = self.total_variance
        return self.positive_variance * self.negative_variance / total**2 if total > 0 else float("nan")


def measured_surface(
    wavefunction: Wavefunction,
    field: str | Field = "density",
    isovalue: float = 0.001,
    *,
    spacing: float = 0.4,
    device: str | None = None,
) -> MeasuredSurface:
    """An isosurface with a rule to integrate over it.

    Parameters
    ----------
    wavefunction, field, isovalue, device
        As for `orbitile.compute_surface`.
    spacing
        Of the lattice, in bohr. Errors fall with its fourth power.

    Raises
    ------
    OrbitileError
        When the field does not reach the isovalue; otherwise as `orbitile.compute_surface` does.
    """
    resolved = field_of(wavefunction, field)
    lattice = enclosing_lattice(wavefunction, resolved, isovalue, spacing=spacing)
    coarse = compute_surface(wavefunction, resolved, isovalue, lattice, device=device)
    whole = not is_cut(coarse, wavefunction, resolved, lattice, device=device)
    checkpoint(0.3)
    with device_session(device, "single") as target:
        precision = "double" if probe(target.device).double else "single"

    def values(points: Reals) -> Reals:
        flat = points.reshape(-1, 3)
        found = evaluate(wavefunction, resolved, flat, device=device, precision=precision)
        return found.astype(np.float64).reshape(points.shape[:-1])

    def moved(surface: Surface) -> tuple[Reals, NDArray[np.bool_]]:
        start = surface.vertices.astype(np.float64)
        level = isovalue * surface.phases.astype(np.float64)
        return _moved(values, start, level, _FARTHEST * spacing)

    points, _ = moved(coarse)
    normals = _normals(values, points, coarse.phases)
    fine = subdivided(replace(coarse, vertices=points.astype(np.float32), normals=normals.astype(np.float32)))
    n = len(points)
    middles = replace(fine, vertices=fine.vertices[n:], phases=fine.phases[n:])
    checkpoint(0.6)
    further, astray = moved(middles)
    points = np.concatenate([points, further])
    normals = np.concatenate([normals, _normals(values, further, fine.phases[n:])])
    weights = (4 * _lumped(points, fine.faces) - _lumped(points, coarse.faces)) / 3
    volume = (4 * _enclosed(points, fine.faces) - _enclosed(points, coarse.faces)) / 3
    surface = replace(fine, vertices=points.astype(np.float32), normals=normals.astype(np.float32))
    checkpoint(1.0)
    return MeasuredSurface(surface, points, weights, normals, volume, int(astray.sum()), whole)


def _moved(values: Values, points: Reals, level: Reals, farthest: float) -> tuple[Reals, NDArray[np.bool_]]:
    """Points along the gradient to where the field has a level, by Newton's method; and which got nowhere."""
    at = points
    for _ in range(_MOVES):
        gap = values(at) - level
        if np.all(np.abs(gap) < 1e-3 * _ON_SURFACE * np.abs(level)):
            break
        slope = _gradient(values, at)
        steep = np.maximum(np.einsum("ni,ni->n", slope, slope), 1e-300)
        step = -(gap / steep)[:, None] * slope
        length = np.linalg.norm(step, axis=1, keepdims=True)
        at = at + step * np.minimum(1.0, farthest / np.maximum(length, 1e-300))
    astray = np.abs(values(at) - level) > _ON_SURFACE * np.abs(level)
    astray |= np.linalg.norm(at - points, axis=1) > 2 * farthest
    return np.where(astray[:, None], points, at), astray


def _gradient(values: Values, points: Reals) -> Reals:
    """By central differences, shape (n, 3)."""
    shifts = _STEP * np.eye(3)
    return np.stack([values(points + s) - values(points - s) for s in shifts], axis=1) / (2 * _STEP)


def _normals(values: Values, points: Reals, phases: NDArray[np.int8]) -> Reals:
    """Unit vectors to where the field is smaller in magnitude."""
    slope = -_gradient(values, points) * phases[:, None]
    return np.asarray(slope / np.maximum(np.linalg.norm(slope, axis=1, keepdims=True), 1e-300))


def _lumped(points: Reals, faces: NDArray[np.int32]) -> Reals:
    """For each point a third of the area of the triangles about it."""
    a, b, c = (points[corner] for corner in faces.T)
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 6
    return np.bincount(faces.reshape(-1), np.repeat(areas, 3), len(points))


def _enclosed(points: Reals, faces: NDArray[np.int32]) -> float:
    """Volume that triangles enclose, by the divergence theorem."""
    a, b, c = (points[corner] - points.mean(axis=0) for corner in faces.T)
    return float(np.einsum("ni,ni->", a, np.cross(b, c))) / 6


def statistics_of(weights: Reals, values: Reals) -> Statistics:
    """Statistics of a field on a surface.

    Parameters
    ----------
    weights, values : ndarray, shape (n,)
        Areas that the points stand for, as of `MeasuredSurface`, and the field there.
    """
    positive, negative = values > 0, values < 0
    parts = [_moments(weights[which], values[which]) for which in (slice(None), positive, negative)]
    (area, mean, variance), (up_area, up_mean, up_variance), (down_area, down_mean, down_variance) = parts
    deviation = float(weights @ np.abs(values - mean)) / area if area > 0 else np.nan
    least, most = (float(values.min()), float(values.max())) if len(values) else (np.nan, np.nan)
    return Statistics(
        area, up_area, down_area, mean, up_mean, down_mean, variance, up_variance, down_variance, deviation, least, most
    )


def _moments(weights: Reals, values: Reals) -> tuple[float, float, float]:
    """Area, mean and variance; of no area NaN and no variance."""
    area = float(weights.sum())
    if not area > 0:
        return 0.0, float("nan"), 0.0
    mean = float(weights @ values) / area
    return area, mean, max(0.0, float(weights @ (values - mean) ** 2) / area)


def atom_of_points(wavefunction: Wavefunction, points: Reals) -> NDArray[np.intp]:
    """The atom, from 0, that each point goes with: the one whose sphere of J. C. Slater's radius is the nearest.

    Ghost atoms have no points.
    """
    from scipy.spatial import cKDTree

    numbers = wavefunction.atomic_numbers
    nearest, distance = np.zeros(len(points), np.intp), np.full(len(points), np.inf)
    for number in np.unique(numbers[numbers > 0]):
        atoms = np.flatnonzero(numbers == number)
        away, which = cKDTree(wavefunction.positions[atoms]).query(points)
        away -= float(slater_radii(np.array([number]))[0])
        closer = away < distance
        nearest[closer], distance[closer] = atoms[which[closer]], away[closer]
    return nearest


def with_values(measured: MeasuredSurface, values: Reals, field: Field) -> Surface:
    """The surface with values of a field at its points, to look for extrema on."""
    colouring = Colouring(
        values.astype(np.float32), float(values.min()), float(values.max()), field.quantity, field.unit
    )
    return replace(measured.surface, colouring=colouring)
