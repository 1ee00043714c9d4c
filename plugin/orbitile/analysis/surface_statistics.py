r"""Surfaces as numbers: area, volume, and the statistics and extrema of fields on an isosurface.

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

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.watch import checkpoint
from ..evaluation.boxes import enclosing_lattice
from ..evaluation.points import evaluate
from ..evaluation.requests import field_of
from ..evaluation.surfaces import compute_surface, is_cut
from ..fields import Field
from ..fields.hirshfeld_surface import ShareField, share_at
from ..model.cell import molecules_only
from ..model.geometry import connected_parts, covalent_radius
from ..model.report import atom_names
from ..model.surface import Colouring, Surface
from ..model.units import angstrom, electronvolt, kilocalorie_per_mole
from ..model.wavefunction import Wavefunction
from ..surfaces.subdivision import subdivided

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Values = Callable[[Reals], Reals]
"""Of a field at points, shape (n, 3)."""

_DENSITY = "electron density"
"""How the quantity begins whose gradient is a field."""

_STEP = 0.02
"""Distance in bohr of points for other gradients: single precision allows no less."""

_FIRST, _MOVES, _FARTHEST = 0.05, 3, 0.6
"""First step towards the isovalue in bohr, how many follow, and how far they lead at most, in units of the spacing."""

_ON_SURFACE = 5e-3
"""Share of the isovalue that a field may be off before the last step at a point that gets onto the surface."""

_FAINTEST = 1e-6
"""Values are taken for at least this share of the isovalue, also those of the other sign."""

SAMPLES = (
    np.array(
        [(i, j, k) for i in (1, 4, 7) for j in (1, 4, 7) for k in (1, 4, 7) if i + j + k == 9]
        + [(i, j, k) for i in (2, 5) for j in (2, 5) for k in (2, 5) if i + j + k == 9]
    )
    / 9.0
)
"""Middles of the nine equal parts of a triangle, as shares of its corners."""


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
    n_lost : int
        Points that could not be moved onto the isosurface: they are where the mesh has them.
    is_whole : bool
        Whether it is closed: it does not leave the lattice.
    """

    surface: Surface
    points: Reals
    weights: Reals
    normals: Reals
    volume: float
    n_lost: int
    is_whole: bool

    @property
    def area(self) -> float:
        """In bohr^2."""
        return float(self.weights.sum())

    @cached_property
    def volume_by_flux(self) -> float:
        """The volume again, a third of the flux of the position through the surface, by the gradient of the field."""
        return _integral(self.weights, np.einsum("ni,ni->n", self.points - self.points.mean(axis=0), self.normals)) / 3

    @property
    def vector_area(self) -> float:
        """Length of the integral of the normal, 0 for a closed surface, in bohr^2."""
        return float(np.linalg.norm((self.weights[:, None] * self.normals).sum(axis=0)))

    def statistics(self, values: Reals) -> Statistics:
        """Statistics of a field, from its values at the points."""
        return statistics_of(self.weights, values, sampled_by_sign(self, values))


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
    spacing: float = 0.47,
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
    molecules_only(wavefunction, "surface", "it would be cut at the faces of the cell, and its area with it")
    resolved = field_of(wavefunction, field)
    lattice = enclosing_lattice(wavefunction, resolved, isovalue, spacing=spacing)
    coarse = compute_surface(wavefunction, resolved, isovalue, lattice, device=device)
    whole = not is_cut(coarse, wavefunction, resolved, lattice, device=device)
    checkpoint(0.2)

    def values(points: Reals) -> Reals:
        return evaluate(wavefunction, resolved, points, device=device).astype(np.float64)

    points, lost = _moved(values, coarse, spacing)
    fine = subdivided(replace(coarse, vertices=points.astype(np.float32)))
    n = len(points)
    middles = replace(fine, vertices=fine.vertices[n:], normals=fine.normals[n:], phases=fine.phases[n:])
    checkpoint(0.4)
    further, lost_further = _moved(values, middles, spacing)
    points = np.concatenate([points, further])
    checkpoint(0.7)
    normals = -fine.phases[:, None] * _gradient(wavefunction, resolved, points, values, device)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    weights = (4 * _lumped(points, fine.faces) - _lumped(points, coarse.faces)) / 3
    volume = (4 * _enclosed(points, fine.faces) - _enclosed(points, coarse.faces)) / 3
    surface = replace(fine, vertices=points.astype(np.float32), normals=normals.astype(np.float32))
    return MeasuredSurface(surface, points, weights, normals, volume, lost + lost_further, whole)


def _moved(values: Values, surface: Surface, spacing: float) -> tuple[Reals, int]:
    """Vertices along their normals to where the field has the isovalue, and how many cannot be moved there.

    By the secant method for the logarithm of the field, which densities and orbitals are nearly linear in.
    """
    start, normals = surface.vertices.astype(np.float64), surface.normals.astype(np.float64)
    level = surface.isovalue * surface.phases.astype(np.float64)

    def gap_at(distance: Reals) -> Reals:
        ratio = values(start + distance[:, None] * normals) / level
        return np.asarray(np.log(np.maximum(ratio, _FAINTEST)))

    before, here = np.zeros(len(start)), np.full(len(start), -_FIRST)
    gap_before, gap = gap_at(before), gap_at(here)
    for n in range(_MOVES):
        rise = gap - gap_before
        flat = np.abs(rise) < 1e-9
        step = np.where(flat, 0.0, -gap * (here - before) / np.where(flat, 1.0, rise))
        before, here, gap_before = here, np.clip(here + step, -_FARTHEST * spacing, _FARTHEST * spacing), gap
        if n < _MOVES - 1:
            gap = gap_at(here)
    lost = ~(np.abs(gap) <= _ON_SURFACE)
    return start + np.where(lost, 0.0, here)[:, None] * normals, int(lost.sum())


def _gradient(wavefunction: Wavefunction, field: Field, points: Reals, values: Values, device: str | None) -> Reals:
    """Shape (n, 3): analytic of the density and of shares of it, by central differences of other fields."""
    if isinstance(field, ShareField):
        return share_at(wavefunction, field.sides, points).slope.T
    if field.quantity.startswith(_DENSITY):
        parts = [evaluate(wavefunction, f"gradient:{axis}", points, device=device) for axis in "xyz"]
        return np.stack(parts, axis=1).astype(np.float64)
    shifts = _STEP * np.eye(3)
    return np.stack([values(points + s) - values(points - s) for s in shifts], axis=1) / (2 * _STEP)


def _lumped(points: Reals, faces: NDArray[np.int32]) -> Reals:
    """For each point a third of the area of the triangles about it."""
    thirds = areas_of(points, faces) / 3
    return np.bincount(faces.reshape(-1), np.repeat(thirds, 3), len(points)).astype(np.float64)


def areas_of(points: Reals, faces: NDArray[np.int32]) -> Reals:
    """Areas of triangles, shape (n_faces,), in the square of the unit of the points."""
    a, b, c = (points[corner] for corner in faces.T)
    return np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2


def _enclosed(points: Reals, faces: NDArray[np.int32]) -> float:
    """Volume that triangles enclose, by the divergence theorem."""
    a, b, c = (points[corner] - points.mean(axis=0) for corner in faces.T)
    return float(np.einsum("ni,ni->", a, np.cross(b, c))) / 6


def customary_unit(unit: str) -> tuple[str, float]:
    """The unit in which chemists give values of a field that are in a unit, and the factor to it."""
    known = {"hartree/e": ("kcal/mol", 1 / kilocalorie_per_mole), "hartree": ("eV", 1 / electronvolt)}
    return known.get(unit, (unit, 1.0))


def statistics_of(weights: Reals, values: Reals, by_sign: tuple[Reals, Reals] | None = None) -> Statistics:
    """Statistics of a field on a surface.

    Parameters
    ----------
    weights, values : ndarray, shape (n,)
        Areas that the points stand for, as of `MeasuredSurface`, and the field there.
    by_sign : tuple of ndarray, shapes (m,)
        The same by more points where the field changes its sign, from `sampled_by_sign`; for the parts of either sign.
    """
    area, mean, variance = _moments(weights, values)
    of_parts, split = by_sign or (weights, values)
    up_area, up_mean, up_variance = _moments(of_parts[split > 0], split[split > 0])
    down_area, down_mean, down_variance = _moments(of_parts[split < 0], split[split < 0])
    deviation = _integral(weights, np.abs(values - mean)) / area if area > 0 else np.nan
    least, most = (float(values.min()), float(values.max())) if len(values) else (np.nan, np.nan)
    return Statistics(
        area, up_area, down_area, mean, up_mean, down_mean, variance, up_variance, down_variance, deviation, least, most
    )


def sampled_by_sign(measured: MeasuredSurface, values: Reals) -> tuple[Reals, Reals]:
    """Weights and values of a field on a surface, with `SAMPLES` in the triangles where it changes its sign.

    The samples take over what their triangles have of the weights of the points, so that the sum of the weights is the
    area; values there are interpolated.
    """
    faces, areas = measured.surface.faces, areas_of(measured.points, measured.surface.faces)
    above = values[faces] > 0
    mixed = np.any(above != above[:, :1], axis=1)
    lumped = np.maximum(_lumped(measured.points, faces), 1e-300)
    density = measured.weights / lumped
    weights = [density * _lumped(measured.points, faces[~mixed])]
    sampled = [values]
    for place in SAMPLES:
        weights.append(np.einsum("nk,k->n", density[faces[mixed]], place) * areas[mixed] / len(SAMPLES))
        sampled.append(np.einsum("nk,k->n", values[faces[mixed]], place))
    return np.concatenate(weights), np.concatenate(sampled)


def _moments(weights: Reals, values: Reals) -> tuple[float, float, float]:
    """Area, mean and variance; of no area NaN and no variance."""
    area = float(weights.sum())
    if not area > 0:
        return 0.0, float("nan"), 0.0
    mean = _integral(weights, values) / area
    return area, mean, max(0.0, _integral(weights, (values - mean) ** 2) / area)


def _integral(weights: Reals, values: Reals) -> float:
    """Sum of weighted values, by NumPy: the bits of a dot product of BLAS depend on the number of its threads."""
    return float((weights * values).sum())


def atom_of_points(wavefunction: Wavefunction, points: Reals) -> NDArray[np.intp]:
    """The atom, from 0, that each point goes with: the one whose covalent sphere is the nearest.

    Ghost atoms have no points.
    """
    from scipy.spatial import cKDTree

    numbers = wavefunction.atomic_numbers
    nearest, distance = np.zeros(len(points), np.intp), np.full(len(points), np.inf)
    for number in np.unique(numbers[numbers > 0]):
        atoms = np.flatnonzero(numbers == number)
        away, which = cKDTree(wavefunction.positions[atoms]).query(points)
        away -= covalent_radius(number)
        closer = away < distance
        nearest[closer], distance[closer] = atoms[which[closer]], away[closer]
    return nearest


def shares_of_atoms(wavefunction: Wavefunction, measured: MeasuredSurface) -> csr_matrix:
    """Which share of what each point stands for belongs to each atom, see `atom_of_points`.

    Triangles on the border between two atoms are looked at in `SAMPLES` places, so that equivalent atoms have equal
    areas.

    Returns
    -------
    scipy.sparse.csr_matrix, shape (n_points, n_atoms)
        Rows add up to 1.
    """
    from scipy.sparse import coo_matrix

    faces, points = measured.surface.faces, measured.points
    areas, atoms = areas_of(points, faces), atom_of_points(wavefunction, points)[faces]
    mixed = np.any(atoms != atoms[:, :1], axis=1)
    rows, columns, values = [faces[~mixed].ravel()], [atoms[~mixed].ravel()], [np.repeat(areas[~mixed] / 3, 3)]
    for place in SAMPLES:
        checkpoint()
        at = atom_of_points(wavefunction, np.einsum("k,nkd->nd", place, points[faces[mixed]]))
        rows.append(faces[mixed].ravel())
        columns.append(np.repeat(at, 3))
        values.append(np.outer(areas[mixed] / len(SAMPLES), place).ravel())
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    shares = coo_matrix(entries, shape=(len(points), wavefunction.n_atoms)).tocsr()
    sums = np.maximum(np.asarray(shares.sum(axis=1)).ravel(), 1e-300)
    return shares.multiply(1 / sums[:, None]).tocsr()


def with_values(measured: MeasuredSurface, values: Reals, field: Field) -> Surface:
    """The surface with values of a field at its points, to look for extrema on."""
    colouring = Colouring(
        values.astype(np.float32), float(values.min()), float(values.max()), field.quantity, field.unit
    )
    return replace(measured.surface, colouring=colouring)


_DISTINCT = 0.002
"""Depth of the saddle between two extrema that are told apart, in units of the range of the colours on the surface."""

_APART, _FLAT, _ALONG = 0.3, 0.02, 10.0
"""Distance in bohr within which two extrema are one; in units of that depth, the difference from its surroundings below
which one is not isolated but on a ring, and what the mesh may lose along a ring."""

_DOUBTFUL, _EQUAL = 0.5, 0.02
"""Shares of that depth from which on an extremum counts if one that is deep enough is its equal, and by which values
of equals differ: the mesh alone may tell equivalent ones apart."""

_OFTEN = 2048
"""Vertices that are looked at between two checkpoints, some 20 ms."""

_KINDS = (("maximum", 1.0), ("minimum", -1.0))

_CIRCLE = np.array([(0.0, 0.0), *((np.cos(n * np.pi / 4), np.sin(n * np.pi / 4)) for n in range(8))])
"""Points of a disc: its middle and eight on its rim."""

_QUADRATIC = np.stack([np.ones(9), *_CIRCLE.T, *_CIRCLE.T**2, _CIRCLE.prod(axis=1)], axis=1)
"""Terms 1, u, v, u^2, v^2 and u v at these points."""

_DISC, _ROUNDS, _PROJECTIONS, _NUDGE = 0.15, 8, 3, 0.01
"""Radius in bohr of the disc on which an extremum is looked for first, how often it is, how often points of a disc are
moved to the isovalue, and the step in bohr for the slope along the normal."""


@dataclass(frozen=True)
class Extremum:
    """A place on a surface where the field that colours it is largest or least among its surroundings.

    Attributes
    ----------
    kind : str
        maximum or minimum.
    value : float
        In the unit of the field.
    position : tuple of three float
        In bohr.
    atom : int
        The nearest atom, from 0.
    """

    kind: str
    value: float
    position: tuple[float, float, float]
    atom: int


def extrema(
    surface: Surface,
    wavefunction: Wavefunction,
    field: str | Field | None = None,
    color_by: str | Field | None = None,
    *,
    device: str | None = None,
) -> list[Extremum]:
    """Maxima and minima of the field that colours a surface, the most pronounced of each kind first.

    A place counts between which and any that is more pronounced the field on the surface falls off (or rises) by more
    than `_DISTINCT` of its range: so a ring of equal values, as about an axis of symmetry, is one extremum, given by
    one of its points. On a density surface these are the V_S,max and V_S,min of P. Politzer and J. S. Murray (Theor.
    Chem. Acc. 2002, 108, 134).

    Parameters
    ----------
    surface
        From `coloured`.
    wavefunction
        Its atoms name the places.
    field, color_by
        Of the surface and of its colours. With both, places are moved to where the first one has the isovalue and the
        second one is extreme, in single precision as the colours are; otherwise they are vertices.
    device
        As for `orbitile.evaluate`.

    Raises
    ------
    OrbitileError
        When the surface is not coloured.
    """
    if surface.colouring is None:
        raise OrbitileError("extrema: this surface is not coloured by a field")
    if not len(surface.vertices):
        return []
    values = surface.colouring.values.astype(np.float64)
    least = _DISTINCT * float(np.ptp(values))
    kinds = [(kind, sign, *_peaks(sign * values, surface.faces, _DOUBTFUL * least)) for kind, sign in _KINDS]
    every = [n for _, _, at, _ in kinds for n in at]
    if field is not None and color_by is not None:
        signs = np.array([sign for _, sign, at, _ in kinds for _ in at])
        refined = _refined(surface, every, signs, wavefunction, field, color_by, device, least)
    else:
        refined = surface.vertices[every].astype(np.float64), values[every], np.full(len(every), np.inf)
    found, first = [], 0
    for kind, sign, at, depth in kinds:
        positions, here, drop = (part[first : first + len(at)] for part in refined)
        first += len(at)
        taken: list[int] = []
        for n in np.argsort(-sign * here, kind="stable").tolist():
            apart = np.linalg.norm(positions[taken] - positions[n], axis=1)
            alike = np.abs(here[taken] - here[n]) < 0.1 * least
            flat = np.maximum(drop[taken], drop[n]) < _FLAT * least
            ring = [taken[m] for m in np.flatnonzero(alike & flat)]
            # one that led nowhere, the same place as another, or another point of its ring
            like_a_sure_one = np.any(np.abs(here[(depth > least) & ~np.isnan(drop)] - here[n]) < _EQUAL * least)
            if like_a_sure_one and not (
                np.isnan(drop[n]) or np.any(apart < _APART) or _joined(surface, sign * values, at, n, ring, least)
            ):
                taken.append(n)
        for n in taken:
            x, y, z = (float(c) for c in positions[n])
            atom = int(np.linalg.norm(wavefunction.positions - positions[n], axis=1).argmin())
            found.append(Extremum(kind, float(here[n]), (x, y, z), atom))
    return found


def _peaks(values: Reals, faces: NDArray[np.int32], least: float) -> tuple[list[int], Reals]:
    """Vertices from which one has to go down by more than a number to get to a higher one, the highest first.

    With them by how much; infinite for the highest of a part of the surface.

    Vertices are added from high to low; where two hills meet, the lower one ends, and with it its peak if that is not
    high enough above the place. A patch without a peak above its border has one all the same: each part has a highest.
    """
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    order = np.argsort(-values, kind="stable")
    rank = np.empty(len(values), np.intp)
    rank[order] = np.arange(len(values))
    later, earlier = np.sort(rank[edges], axis=1)[:, ::-1].T
    top = np.arange(len(values))  # of the hill that one gets to by going to the highest neighbour again and again
    np.minimum.at(top, later, earlier)
    while not np.array_equal(top, higher := top[top]):
        top = higher
    between = np.flatnonzero(top[later] != top[earlier])  # hills meet there, and nowhere else
    between = between[np.argsort(later[between], kind="stable")]
    height, hill = values[order], list(range(len(values)))
    depth = np.full(len(height), np.inf)

    def summit(n: int) -> int:
        while hill[n] != n:
            hill[n] = hill[hill[n]]
            n = hill[n]
        return n

    places = (later[between], top[later[between]], top[earlier[between]])
    for n, (place, one, other) in enumerate(zip(*(part.tolist() for part in places), strict=True)):
        if n % _OFTEN == 0:
            checkpoint()
        first, second = sorted((summit(one), summit(other)))
        if first != second:
            hill[second] = first
            depth[second] = height[second] - height[place]
    used = np.zeros(len(values), bool)
    used[edges.reshape(-1)] = True
    kept = np.flatnonzero((top == np.arange(len(values))) & used[order] & (depth > least))
    return order[kept].tolist(), depth[kept]


def _joined(surface: Surface, values: Reals, at: list[int], n: int, others: list[int], least: float) -> bool:
    """Whether one vertex and one of some others are on one hill, which is about as high all the way."""
    if not others:
        return False
    high = values >= min(values[at[m]] for m in (n, *others)) - _ALONG * least
    edges = np.concatenate([surface.faces[:, [0, 1]], surface.faces[:, [1, 2]]])
    edges = edges[high[edges].all(axis=1)]
    part = connected_parts(len(values), edges)
    return any(part[at[n]] == part[at[m]] for m in others)


def _refined(
    surface: Surface,
    at: list[int],
    sign: Reals,
    wavefunction: Wavefunction,
    field: str | Field,
    color_by: str | Field,
    device: str | None,
    least: float,
) -> tuple[Reals, Reals, Reals]:
    """Extrema on the surface of the field itself near some vertices: positions, values, and how isolated they are.

    The last are the least differences to points at a distance of `_DISC`: 0 for a point of a ring, NaN where the search
    has come to no end.

    Points of a disc about each place are moved along its normal to the isovalue, a quadratic is fitted to the colours
    there, and the place goes to where that is extreme. `sign` is 1 for a maximum, -1 for a minimum.
    """
    shown, colour = field_of(wavefunction, field), field_of(wavefunction, color_by)

    def of(resolved: Field, points: Reals) -> Reals:
        values = evaluate(wavefunction, resolved, points.reshape(-1, 3), device=device).astype(np.float64)
        return values.reshape(points.shape[:-1])

    normal = surface.normals[at].astype(np.float64)
    aside = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal), axis=1)])
    aside /= np.linalg.norm(aside, axis=1)[:, None]
    across = np.cross(normal, aside)
    level = surface.isovalue * surface.phases[at].astype(np.float64)[:, None]

    def on_surface(place: Reals, size: Reals) -> Reals:
        """Points of the disc about each place, on the surface to second order in their distance from it."""
        u, v = (size[:, None] * _CIRCLE[:, axis] for axis in (0, 1))
        points: Reals = place[:, None] + u[..., None] * aside[:, None] + v[..., None] * across[:, None]
        both = of(shown, np.stack([points, points + _NUDGE * normal[:, None]])) - level
        slope = (both[1] - both[0]) / _NUDGE
        steep = np.abs(slope) > 1e-12
        gap = both[0]
        for n in range(_PROJECTIONS):
            move = np.clip(np.where(steep, -gap / np.where(steep, slope, 1.0), 0.0), -_DISC, _DISC)
            points = points + move[..., None] * normal[:, None]
            if n < _PROJECTIONS - 1:
                gap = of(shown, points) - level
        return points

    place, size = surface.vertices[at].astype(np.float64), np.full(len(at), _DISC)
    before, gain = np.full(len(at), -np.inf), np.full(len(at), np.inf)
    for _ in range(_ROUNDS):
        points = on_surface(place, size)
        colours = sign[:, None] * of(colour, points)
        gain, before = np.abs(colours[:, 0] - before), colours[:, 0]
        if np.all(gain < _FLAT * least):
            break
        step = _uphill(colours, size)
        place = points[:, 0] + step[:, :1] * aside + step[:, 1:] * across
        size = np.clip(np.linalg.norm(step, axis=1), size / 4, size)
    points = on_surface(place, np.full(len(at), _DISC))
    colours = sign[:, None] * of(colour, points)
    gain = np.maximum(gain, np.abs(colours[:, 0] - before))
    drop = np.where(gain < _FLAT * least, colours[:, 0] - colours[:, 1:].max(axis=1), np.nan)
    return points[:, 0], sign * colours[:, 0], drop


def _uphill(values: Reals, size: Reals) -> Reals:
    """Where a quadratic through the values at points of discs is largest, shape (n, 2), not far beyond their edges."""
    fit = values @ np.linalg.pinv(_QUADRATIC).T
    slope, curvature = fit[:, 1:3], np.empty((len(values), 2, 2))
    curvature[:, 0, 0], curvature[:, 1, 1] = 2 * fit[:, 3], 2 * fit[:, 4]
    curvature[:, 0, 1] = curvature[:, 1, 0] = fit[:, 5]
    bends, axes = np.linalg.eigh(curvature)
    along = np.einsum("nij,ni->nj", axes, slope)
    falls = bends < -1e-9 * np.abs(values).max(axis=1, initial=1e-30)[:, None]
    steps = np.where(falls, -along / np.where(falls, bends, 1.0), np.sign(along))
    return np.einsum("nij,nj->ni", axes, np.clip(steps, -2.0, 2.0)) * size[:, None]


def as_text(found: list[Extremum], wavefunction: Wavefunction, unit: str) -> str:
    """The extrema as a table."""
    has_energy = unit == "hartree/e"
    lines = [f"{'':8s} {unit:>12s} {'kcal/mol' if has_energy else '':>9s}   nearest atom   position / Angstrom"]
    for extremum in found:
        x, y, z = np.array(extremum.position) / angstrom
        atom = atom_names(wavefunction.atomic_numbers)[extremum.atom]
        energy = f"{extremum.value / kilocalorie_per_mole:9.2f}" if has_energy else " " * 9
        lines.append(f"{extremum.kind:8s} {extremum.value:12.5f} {energy}   {atom:12s} {x:9.3f} {y:9.3f} {z:9.3f}")
    return "\n".join(lines)
