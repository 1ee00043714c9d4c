r"""Isovalues: which ones a volume has, the one that encloses a share, and surfaces that the box cuts.

The isovalue that encloses a share s of an orbital is the number c with

.. math::  \int_{|\psi| < c} \psi^2 = (1 - s) N

for a norm N that is known beforehand: an orbital is normalised. What is outside the surface is small
everywhere, so that nuclei, where orbitals have cusps, matter little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import IsovalueError, LatticeError, NoSurface
from ..model.lattice import Lattice
from ..model.surface import Surface
from ..model.units import angstrom
from ..model.volume import Volume


def on_faces(surface: Surface, lattice: Lattice) -> bool:
    """Whether a surface ends at the faces of the lattice that it was extracted from, and is open there."""
    indices = (surface.vertices - lattice.origin) @ np.linalg.inv(lattice.axes)
    last = np.array(lattice.shape) - 1
    return bool(np.any((indices < _ON_FACE) | (indices > last - _ON_FACE)))


_ON_FACE = 1e-3
"""Distance from a face of the lattice, in steps of it, within which a vertex lies on it: they are in float32."""


def reaches_faces(volume: Volume, isovalue: float) -> bool:
    """Whether an isosurface goes on beyond the lattice of a volume: cut by its faces, or a sheet outside as a whole.

    That there is one shows where a field is larger than the isovalue on all the faces, but larger still inside: it has
    not yet fallen to it. A field that grows outwards, as the reduced density gradient, has none.
    """
    values = volume.values
    faces = (values[0], values[-1], values[:, 0], values[:, -1], values[:, :, 0], values[:, :, -1])
    magnitudes = [np.abs(face) for face in faces]
    least, most = min(float(face.min()) for face in magnitudes), max(float(face.max()) for face in magnitudes)
    return least < isovalue <= most or (isovalue <= least and most < max(-float(values.min()), float(values.max())))


CUT = "the surface is cut at the faces of the box: it goes on beyond"
"""What users are told of a surface that goes on beyond the box."""


SHARE = 0.9
"""Share of the probability of an orbital that a surface encloses by default."""


def enclosing_isovalue(volume: Volume, share: float = SHARE) -> float:
    r"""Isovalue of the surface that encloses a share of the probability of an orbital.

    Parameters
    ----------
    volume : Volume
        An orbital. The lattice should hold nearly all of it: the share is taken of what the lattice holds.
    share : float
        Between 0 and 1.

    Returns
    -------
    float
        The isovalue c, in the unit of the volume, for which
        :math:`\int_{|\psi| \geq c} \psi^2 = \mathtt{share} \int \psi^2`, to the resolution of the lattice.

    Raises
    ------
    IsovalueError
        When the share is not between 0 and 1, or the volume is zero everywhere.
    LatticeError
        When a value is not a finite number.

    Notes
    -----
    The definition of G. Haranczyk and M. Gutowski, J. Chem. Theory Comput. 2008, 4, 689. It makes orbitals of
    different spread look comparable, which one isovalue for all of them does not.
    """
    check_share(share)
    range_of(volume)
    norm = float(np.square(volume.values, dtype=np.float64).sum()) * volume.lattice.cell_volume
    if norm == 0:
        raise IsovalueError(f"{name_of(volume)} is zero on the whole lattice: no surface encloses a share of it")
    surface = enclosure(volume.values, volume.lattice.cell_volume, share, norm)
    assert surface is not None  # all of the norm is on the lattice
    return surface.isovalue


def suitable_isovalue(volume: Volume, share: float = SHARE) -> float:
    """An isovalue for a volume of which nothing is known but its values.

    A field of both signs is taken for an orbital, whose surface encloses a share of its square. Of one of a single
    sign, 60 % of its square root are enclosed: of densities that is a surface as chemists draw it, from 0.003 for
    lithium hydride to 0.03 for benzene, in which the cores of heavy atoms, badly sampled, count for little. Where such
    a surface goes on beyond the lattice, the largest that does not is taken, unless that one would be small: then half
    the greatest magnitude.

    Returns
    -------
    float
        In the unit of the volume, rounded to four digits.

    Raises
    ------
    IsovalueError, LatticeError
        As for `enclosing_isovalue`, and for a lattice with a single point along an axis.
    """
    check_shape(volume.lattice, name_of(volume))
    low, high = range_of(volume)
    most, values = max(-low, high), volume.values
    if min(-low, high) > _NOISE * most:
        level = enclosing_isovalue(volume, share)
    else:
        fourth_root = np.maximum(values if high > -low else -values, 0) ** 0.25
        level = enclosing_isovalue(Volume(fourth_root, volume.lattice, volume.quantity), _OF_ROOT) ** 4
    if reaches_faces(volume, level):
        edges = [np.abs(face).max() for axis in range(3) for face in (values.take(at, axis) for at in (0, -1))]
        whole = 1.05 * float(max(edges))
        level = whole if whole < _SMALL * most else most / 2
    return float(f"{level:.4g}")


_OF_ROOT = 0.6
"""Share of the square root of a field of a single sign that is enclosed."""

_NOISE, _SMALL = 0.01, 0.8
"""Shares of the greatest magnitude up to which values of the other sign are inaccuracies, and above which a surface is
small."""


def check_share(share: float) -> None:
    """Refuse what is no share of the probability of an orbital.

    Raises
    ------
    IsovalueError
        When it is not between 0 and 1.
    """
    if not 0 < share < 1:
        raise IsovalueError(f"share of the probability to enclose: expected a number between 0 and 1, got {share!r}")


def positive_isovalue(isovalue: float, name: str, volume: Volume | None = None) -> float:
    """The isovalue as a float; with a volume, an error also says which values there are.

    Raises
    ------
    IsovalueError
        When it is not a positive number.
    """
    try:
        number = float(isovalue)
    except (TypeError, ValueError):
        number = float("nan")
    if not (np.isfinite(number) and number > 0):
        known = ""
        if volume is not None:
            smallest, largest = range_of_magnitude(volume)
            known = f"; |value| goes from {smallest:.3g} to {largest:.3g}{_unit(volume.unit)} on this lattice"
        raise IsovalueError(
            f"isovalue of {name}: expected a positive number (both signs of the field are drawn), got {isovalue!r}"
            + known
        )
    return number


def single_precision_level(isovalue: float) -> float:
    """The isovalue, rounded to float32, so that all comparisons with values in float32 agree."""
    with np.errstate(over="ignore"):
        return float(np.float32(isovalue))


def check_shape(lattice: Lattice, name: str) -> None:
    """Refuse a lattice with a single point along an axis.

    Raises
    ------
    LatticeError
        When there is one.
    """
    if min(lattice.shape) < 2:
        raise LatticeError(
            f"isosurface of {name}: expected 2 or more points along each axis, got a lattice of shape "
            f"{lattice.shape}; sample the field on a lattice with a volume"
        )


def no_surface(isovalue: float, name: str, unit: str, smallest: float, largest: float, lattice: Lattice) -> NoSurface:
    """The error for an isovalue that a volume, with values from smallest to largest, does not reach."""
    finer = ""
    if isovalue > largest:
        finer = f", or for a small surface a spacing below {lattice.spacings.max() / angstrom:.3g} Angstrom"
    return NoSurface(
        f"isovalue {isovalue:g} of {name}: nothing has this value on the lattice, where |value| goes from "
        f"{smallest:.3g} to {largest:.3g}{_unit(unit)}; choose an isovalue between the two{finer}"
    )


def range_of(volume: Volume) -> tuple[float, float]:
    """Least and greatest value of a volume, which must be finite."""
    low, high = float(volume.values.min()), float(volume.values.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        bad = int(np.count_nonzero(~np.isfinite(volume.values)))
        raise LatticeError(f"{name_of(volume)}: expected finite values, got {bad} that are NaN or infinite")
    return low, high


def range_of_magnitude(volume: Volume) -> tuple[float, float]:
    """Least and greatest magnitude in a volume."""
    low, high = range_of(volume)
    smallest = max(low, -high, 0.0) if low > 0 or high < 0 else float(np.abs(volume.values).min())
    return smallest, max(abs(low), abs(high))


def name_of(volume: Volume) -> str:
    """Quantity of a volume, for messages."""
    return volume.quantity or "this volume"


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""


# ---- from values on a lattice, or along rays


@dataclass(frozen=True)
class Enclosure:
    """A surface that encloses a share of an orbital, and how well a lattice shows it.

    Attributes
    ----------
    isovalue : float
    variation : float
        Change of the orbital from one point of the lattice to the next at the surface, as a share of the isovalue.
    missing : float
        Estimate of the norm outside the lattice.
    """

    isovalue: float
    variation: float
    missing: float


def enclosure(values: NDArray[np.floating], cell: float, share: float, norm: float) -> Enclosure | None:
    r"""The surface outside which the rest of a known norm is, :math:`\int_{|\psi| < c} \psi^2 = (1 - s) N`.

    What is outside the surface is small everywhere, so that the lattice need not resolve the cusps at nuclei. Each
    point stands for the parallelepiped about it, in which values are taken to be normally distributed, with the mean
    and the variance that the derivatives give: so the integral is a smooth function of the isovalue.

    Parameters
    ----------
    values : ndarray, shape (nx, ny, nz)
        Of an orbital on a lattice, in bohr^-3/2.
    cell : float
        Volume that one point stands for, in bohr^3.
    share : float
        Between 0 and 1.
    norm : float
        Integral of the square of the orbital over all space.

    Returns
    -------
    Enclosure or None
        None where the lattice holds less than the rest of the norm: it has missed the orbital.
    """
    magnitudes = np.abs(values)
    missing = _beyond(magnitudes) * cell
    wanted = max((1 - share) * norm - missing, 0.1 * (1 - share) * norm) / cell
    first = _first_level(magnitudes, wanted)
    if first is None:
        return None
    low, high = first / _BELOW, first * _ABOVE
    far = magnitudes < low
    outside = float(np.square(magnitudes[far], dtype=np.float64).sum())
    far |= magnitudes > high
    near = np.flatnonzero(~far[2:-2, 2:-2, 2:-2]) if min(values.shape) > _STENCIL else np.zeros(0, np.intp)
    if not len(near):
        return Enclosure(first, np.inf, missing)
    centre, sigma, plain = _distribution(values, near)
    # Averages over cells add up to the integral as values at points do, but not over a part of space: the average of
    # psi^2 is psi^2 + h^2/24 laplacian(psi^2), and the second term becomes an integral over the border of the part,
    # which is a sum over the cells there. Below this border points count as such, above it as cells.
    steep = sigma > _STEEP * first  # at a nucleus
    outside += float((plain[steep & (plain < first)] ** 2).sum())
    centre, sigma, plain = centre[~steep], sigma[~steep], plain[~steep]
    border = first / _BORDER
    pointwise = plain < border
    outside += float((plain[pointwise] ** 2).sum()) + border * float((sigma * _normal(border, centre, sigma)).sum())
    centre, sigma = centre[~pointwise], sigma[~pointwise]
    level = first
    for _ in range(_NEWTON):
        rate = float((_normal(level, centre, sigma) / sigma).sum()) * level**2
        step = (wanted - outside - float(_below(level, centre, sigma).sum())) / rate if rate > 0 else 0.0
        level = float(np.clip(level + step, level / 1.2, level * 1.2))
        if abs(step) < 1e-4 * level:
            break
    level = float(np.clip(level, border, high))
    weight = _normal(level, centre, sigma)
    variation = np.sqrt(12) * float((weight * sigma).sum() / weight.sum()) / level if weight.sum() > 0 else np.inf
    return Enclosure(level, variation, missing)


_STENCIL = 4
"""Points beside those for which cells are looked into, along each axis, together."""

_BELOW, _BORDER, _ABOVE = 3.5, 1.9, 2.2
"""Factors within which the magnitude at a point has to be of the isovalue for its cell to be looked into, and between
which cells and points are told apart."""

_STEEP = 0.8
"""Standard deviation in a cell, in units of the isovalue, above which it counts as a point."""

_NEWTON = 8


def _first_level(magnitudes: NDArray[np.floating], wanted: float) -> float | None:
    """Level below which the squares add up to a number, point by point, or None where all are less."""
    step = 1 if magnitudes.size < _FEW_POINTS else _OF_MANY
    ordered = np.sort(magnitudes.reshape(-1)[::step])  # ascending, so that the small squares are summed first
    outside = np.cumsum(np.square(ordered, dtype=np.float64)) * step
    if not outside[-1] > wanted:
        return None
    return float(ordered[np.searchsorted(outside, wanted)])


_FEW_POINTS, _OF_MANY = 1 << 15, 3
"""Number of points beyond which only one in so many is sorted for a first guess."""


def _beyond(magnitudes: NDArray[np.floating]) -> float:
    """What the squares beyond the faces would add up to if they went on falling as they do between the last planes."""
    total = 0.0
    for axis in range(3):
        if magnitudes.shape[axis] < 3:
            continue
        for outer, inner in ((0, 1), (-1, -2)):
            planes = (np.take(magnitudes, index, axis=axis) for index in (outer, inner))
            last, before = (float(np.square(plane, dtype=np.float64).sum()) for plane in planes)
            if last > 0:
                ratio = min(last / before if before > 0 else 1.0, 0.95)
                total += last * ratio / (1 - ratio)
    return total


def _distribution(values: NDArray[np.floating], inner: NDArray[np.intp]) -> tuple[Reals, Reals, Reals]:
    """Mean magnitude and standard deviation in the cells of points, and the magnitude at the points themselves.

    The points are numbered without the two outermost planes on each side.
    """
    _, ny, nz = values.shape
    i, rest = np.divmod(inner, (ny - 4) * (nz - 4))
    j, k = np.divmod(rest, nz - 4)
    at = ((i + 2) * ny + j + 2) * nz + k + 2
    flat = np.ascontiguousarray(values).reshape(-1)
    here = flat[at]
    square, laplacian = np.zeros_like(here), -7.5 * here
    for stride in (ny * nz, nz, 1):
        up, down, farther_up, farther_down = (flat[at + n * stride] for n in (1, -1, 2, -2))
        square += (8 * (up - down) - (farther_up - farther_down)) ** 2
        laplacian += (16 * (up + down) - (farther_up + farther_down)) / 12
    mean = (here + laplacian / 24) * np.sign(here)
    magnitude = np.abs(here)
    sigma = np.sqrt(square / (12 * 144)) + 1e-6 * magnitude
    return mean.astype(np.float64), sigma.astype(np.float64), magnitude.astype(np.float64)


def _normal(level: float, centre: Reals, sigma: Reals) -> Reals:
    """Normal distribution of values in cells at a level, times the standard deviation."""
    return np.exp(-0.5 * ((level - centre) / sigma) ** 2) / np.sqrt(2 * np.pi)


def _below(level: float, centre: Reals, sigma: Reals) -> Reals:
    """Mean of the squares of normally distributed values as far as they are below a level."""
    shape = _normal(level, centre, sigma)
    return (centre**2 + sigma**2) * _share_below((level - centre) / sigma) - sigma * (centre + level) * shape


def _share_below(x: Reals) -> Reals:
    """The normal distribution function, to 7.5e-8: formula 26.2.17 of Abramowitz and Stegun (1964).

    SciPy has one to all digits, but to import it takes longer than the search for an isovalue, which ends at 1e-4.
    """
    t = 1 / (1 + 0.2316419 * np.abs(x))
    powers = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    above = np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi) * powers
    return np.where(x < 0, above, 1 - above)


def enclosure_along_rays(zones: Sequence[tuple[Reals, Reals]], share: float) -> float:
    """The isovalue of a normalised orbital about one atom, along rays that stand for equal parts of the sphere.

    Parameters
    ----------
    zones : sequence of pairs
        Radii in bohr, shape (n_radii,), in a geometric series, six or more, from where the zone before ends; and values
        there in bohr^-3/2, shape (n_radii, n_rays).
    share : float
        Between 0 and 1.
    """
    parts = [_cells_along_rays(radii, values) for radii, values in zones]
    begin, end, first, last, cells = (np.concatenate(column) for column in zip(*parts, strict=True))
    high = np.maximum(begin, end)
    wanted = 1 - share
    order = np.argsort(high)
    reached = min(int(np.searchsorted(np.cumsum(cells[order]), wanted)), len(order) - 1)
    level = float(high[order[reached]])
    low, top = level / _NEARBY, level * _NEARBY
    outside = float(cells[high <= low].sum())
    near = (np.minimum(begin, end) < top) & (high > low)
    begin, end, first, last, cells = (column[near] for column in (begin, end, first, last, cells))
    rise = np.where(np.abs(end - begin) > 1e-9 * level, end - begin, 1e-9 * level)
    cube, whole = first**3, last**3 - first**3
    flat = np.abs(whole) < 1e-6 * (cube + last**3)
    for _ in range(_BISECTIONS):
        level = (low + top) / 2
        at = np.clip((level - begin) / rise, 0, 1)
        part = np.where(flat, at, ((first + (last - first) * at) ** 3 - cube) / np.where(flat, 1.0, whole))
        held = outside + float((cells * np.where(rise > 0, part, 1 - part)).sum())
        low, top = (level, top) if held < wanted else (low, level)
    return level


def _cells_along_rays(radii: Reals, values: Reals) -> tuple[Reals, ...]:
    """Parts of rays: magnitudes at both ends, those times r^1.5, and the integral of the square over each.

    In between both psi and psi r^1.5, whose square is what ln r is integrated over, are taken for straight lines.
    """
    matrix, place = _refinement(len(radii))
    ratio = radii[1] / radii[0]
    magnitudes = np.abs(matrix @ values)
    root = (radii[0] * ratio ** place[:, None]) ** 1.5
    scaled = magnitudes * root
    first, last = scaled[:-1], scaled[1:]
    cells = (4 * np.pi / 3 / values.shape[1] * np.log(ratio) / _FINER) * (first**2 + first * last + last**2)
    return tuple(array.reshape(-1) for array in (magnitudes[:-1], magnitudes[1:], first, last, cells))


@lru_cache
def _refinement(n: int) -> tuple[Reals, Reals]:
    """Takes values at n equidistant nodes to values at more of them, by polynomials through `_NODES`; their places."""
    place = np.linspace(0, n - 1, (n - 1) * _FINER + 1)
    matrix = np.zeros((len(place), n))
    for row, x in zip(matrix, place, strict=True):
        first = min(max(int(x) - _NODES // 2 + 1, 0), n - _NODES)
        nodes = np.arange(first, first + _NODES)
        for i in nodes:
            others = nodes[nodes != i]
            row[i] = np.prod((x - others) / (i - others))
    return matrix, place


_NEARBY = 1.3
"""Factor within which the isovalue is, once whole cells have been counted."""

_NODES, _FINER = 6, 3
"""Points of a ray that a polynomial passes through, and cells between two points of a ray."""

_BISECTIONS = 14
