"""Places on a surface where the field that colours it is largest or least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import OrbitileError
from ..model.elements import SYMBOLS
from ..model.surface import Surface
from ..watch import checkpoint

if TYPE_CHECKING:
    from ..fields import Field
    from ..model.wavefunction import Wavefunction


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
    from scipy.spatial import cKDTree

    if surface.colouring is None:
        raise OrbitileError("extrema: this surface is not coloured by a field")
    if not len(surface.vertices):
        return []
    values, atoms = surface.colouring.values.astype(np.float64), cKDTree(wavefunction.positions)
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
            found.append(Extremum(kind, float(here[n]), (x, y, z), int(atoms.query(positions[n])[1])))
    return found


def _peaks(
    values: NDArray[np.float64], faces: NDArray[np.int32], least: float
) -> tuple[list[int], NDArray[np.float64]]:
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
    by_later = np.argsort(later, kind="stable")
    earlier = earlier[by_later]
    first = np.searchsorted(later[by_later], np.arange(len(values) + 1)).tolist()
    height, hill, lower = values[order].tolist(), list(range(len(values))), earlier.tolist()
    gone = set()
    depth = np.full(len(height), np.inf)

    def summit(n: int) -> int:
        while hill[n] != n:
            hill[n] = hill[hill[n]]
            n = hill[n]
        return n

    for n in range(len(height)):
        if n % _OFTEN == 0:
            checkpoint()
        tops = sorted({summit(m) for m in lower[first[n] : first[n + 1]]})
        if not tops:
            continue
        hill[n] = tops[0]
        gone.add(n)
        for top in tops[1:]:
            hill[top] = tops[0]
            depth[top] = height[top] - height[n]
            if depth[top] <= least:
                gone.add(top)
    used = np.zeros(len(values), bool)
    used[edges.reshape(-1)] = True
    kept = [n for n in range(len(height)) if n not in gone and used[order[n]]]
    return order[kept].tolist(), depth[kept]


def _joined(
    surface: Surface, values: NDArray[np.float64], at: list[int], n: int, others: list[int], least: float
) -> bool:
    """Whether one vertex and one of some others are on one hill, which is about as high all the way."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not others:
        return False
    high = values >= min(values[at[m]] for m in (n, *others)) - _ALONG * least
    edges = np.concatenate([surface.faces[:, [0, 1]], surface.faces[:, [1, 2]]])
    edges = edges[high[edges].all(axis=1)]
    graph = coo_array((np.ones(len(edges), bool), (edges[:, 0], edges[:, 1])), shape=(len(values), len(values)))
    part = connected_components(graph, directed=False)[1]
    return any(part[at[n]] == part[at[m]] for m in others)


def _refined(
    surface: Surface,
    at: list[int],
    sign: NDArray[np.float64],
    wavefunction: Wavefunction,
    field: str | Field,
    color_by: str | Field,
    device: str | None,
    least: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Extrema on the surface of the field itself near some vertices: positions, values, and how isolated they are.

    The last are the least differences to points at a distance of `_DISC`: 0 for a point of a ring, NaN where the search
    has come to no end.

    Points of a disc about each place are moved along its normal to the isovalue, a quadratic is fitted to the colours
    there, and the place goes to where that is extreme. `sign` is 1 for a maximum, -1 for a minimum.
    """
    from ..evaluation.points import evaluate
    from ..evaluation.requests import field_of

    shown, colour = field_of(wavefunction, field), field_of(wavefunction, color_by)

    def of(resolved: Field, points: NDArray[np.float64]) -> NDArray[np.float64]:
        values = evaluate(wavefunction, resolved, points.reshape(-1, 3), device=device).astype(np.float64)
        return values.reshape(points.shape[:-1])

    normal = surface.normals[at].astype(np.float64)
    aside = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal), axis=1)])
    aside /= np.linalg.norm(aside, axis=1)[:, None]
    across = np.cross(normal, aside)
    level = surface.isovalue * surface.phases[at].astype(np.float64)[:, None]

    def on_surface(place: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points of the disc about each place, on the surface to second order in their distance from it."""
        u, v = (size[:, None] * _CIRCLE[:, axis] for axis in (0, 1))
        points: NDArray[np.float64] = place[:, None] + u[..., None] * aside[:, None] + v[..., None] * across[:, None]
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


def _uphill(values: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where a quadratic through the values at points of discs is largest, shape (n, 2), not far beyond their edges."""
    fit = values @ np.linalg.pinv(_QUADRATIC).T
    slope, curvature = fit[:, 1:3], np.empty((len(values), 2, 2))
    curvature[:, 0, 0], curvature[:, 1, 1] = 2 * fit[:, 3], 2 * fit[:, 4]
    curvature[:, 0, 1] = curvature[:, 1, 0] = fit[:, 5]
    bends, axes = np.linalg.eigh(curvature)
    along = np.einsum("nij,ni->nj", axes, slope)
    falls = bends < -1e-9 * np.abs(values).max(axis=1, initial=1e-30)[:, None]
    steps = np.where(falls, -along / np.where(falls, bends, 1.0), np.sign(along))
    ahead: NDArray[np.float64] = np.einsum("nij,nj->ni", axes, np.clip(steps, -2.0, 2.0)) * size[:, None]
    return ahead


def as_text(found: list[Extremum], wavefunction: Wavefunction, unit: str) -> str:
    """The extrema as a table."""
    from ..model.units import angstrom, kilocalorie_per_mole

    has_energy = unit == "hartree/e"
    lines = [f"{'':8s} {unit:>12s} {'kcal/mol' if has_energy else '':>9s}   nearest atom   position / Angstrom"]
    for extremum in found:
        x, y, z = np.array(extremum.position) / angstrom
        atom = SYMBOLS[int(wavefunction.atomic_numbers[extremum.atom])] + str(extremum.atom + 1)
        energy = f"{extremum.value / kilocalorie_per_mole:9.2f}" if has_energy else " " * 9
        lines.append(f"{extremum.kind:8s} {extremum.value:12.5f} {energy}   {atom:12s} {x:9.3f} {y:9.3f} {z:9.3f}")
    return "\n".join(lines)
