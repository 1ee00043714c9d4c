r"""Points and weights for integrals over all space of functions that are like densities: atom-centred quadrature.

About each atom, spheres with the radii of O. Treutler and R. Ahlrichs (J. Chem. Phys. 1995, 102, 346; their map M4),

.. math::  r = \frac{\xi}{\ln 2} (1 + x)^{0.6} \ln \frac{2}{1 - x}, \qquad x_i = \cos \frac{i \pi}{n + 1}

and on each of them a rule of V. I. Lebedev and D. N. Laikov (Dokl. Math. 1999, 59, 477), of fewer points close to the
nucleus and far out, as NWChem prunes them. The atoms share the space by A. D. Becke's fuzzy cells (J. Chem. Phys. 1988,
88, 2547), whose borders are shifted by the square roots of the atoms' radii as Treutler and Ahlrichs do.

These are the points and weights of PySCF's `gen_grid`, so that energies can be set side by side digit by digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.watch import checkpoint, watcher
from ..model.elements import ATOMIC_RADII, SYMBOLS
from ..model.units import angstrom

Borders = Literal["treutler", "becke"]

Quality = Literal["coarsest", "coarse", "medium", "fine", "finest"]

LEVELS = range(10)
"""From the coarsest to the finest."""

_PERIODS = (2, 10, 18, 36, 54, 86, 118)
"""Last element of each."""

_RADIAL = (
    (10, 15, 20, 30, 35, 40, 50),
    (30, 40, 50, 60, 65, 70, 75),
    (40, 60, 65, 75, 80, 85, 90),
    (50, 75, 80, 90, 95, 100, 105),
    (60, 90, 95, 105, 110, 115, 120),
    (70, 105, 110, 120, 125, 130, 135),
    (80, 120, 125, 135, 140, 145, 150),
    (90, 135, 140, 150, 155, 160, 165),
    (100, 150, 155, 165, 170, 175, 180),
    (200, 200, 200, 200, 200, 200, 200),
)
"""Spheres by level and period."""

_DEGREE = (
    (11, 15, 17, 17, 17, 17, 17),
    (17, 23, 23, 23, 23, 23, 23),
    (23, 29, 29, 29, 29, 29, 29),
    (29, 29, 35, 35, 35, 35, 35),
    (35, 41, 41, 41, 41, 41, 41),
    (41, 47, 47, 47, 47, 47, 47),
    (47, 53, 53, 53, 53, 53, 53),
    (53, 59, 59, 59, 59, 59, 59),
    (59, 59, 59, 59, 59, 59, 59),
    (65, 65, 65, 65, 65, 65, 65),
)
"""Degree of the polynomials that the largest rule integrates, by level and period."""

_EXCHANGE: dict[Quality, tuple[float, tuple[int, int, int, int, int]]] = {
    "coarsest": (0.25, (5, 7, 9, 11, 9)),
    "coarse": (0.35, (9, 11, 13, 15, 13)),
    "medium": (0.55, (11, 17, 23, 31, 23)),
    "fine": (0.6, (15, 21, 27, 35, 23)),
    "finest": (0.9, (17, 23, 35, 59, 35)),
}
"""For exact exchange: the share of the spheres of level 3, and the degrees of the rules from the nucleus outwards.
About atoms beyond neon a medium grid is a fine one: that of NaCl would be off by 3e-5 hartree."""

_SHARPER = (1.0, 1.0, 4 / 3, 1.8, 2.1, 2.1, 2.1)
"""By period, how many more of these spheres there are about an atom, whose core is sharper. With 4/3 for all but the
first two the energy of exact exchange in HI (x2c-SVPall) is off by 4e-5 hartree, with these by 3e-7."""

_DEGREES = (11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 35, 41, 47, 53, 59, 65)
"""Degrees for which there are rules, of those that occur."""

_SCALES = tuple(
    float(scale)
    for scale in """
1.0 0.8 0.9 1.8 1.4 1.3 1.1 0.9 0.9 0.9 0.9 1.4 1.3 1.3 1.2 1.1 1.0 1.0 1.0 1.5 1.4 1.3 1.2 1.2 1.2 1.2 1.2 1.2 1.1 1.1
1.1 1.1 1.0 0.9 0.9 0.9 0.9 2.0 1.7 1.5 1.5 1.35 1.35 1.25 1.2 1.25 1.3 1.5 1.5 1.3 1.2 1.2 1.15 1.15 1.15 2.5 2.2 2.5
1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 2.5
2.1 3.685 1.5
""".split()
)
"""xi by atomic number: of Treutler and Ahlrichs up to krypton, then those of Psi4; beyond actinium the last one."""

_BORDERS = ((0.25, 0.5, 1.0, 4.5), (0.1667, 0.5, 0.9, 3.5), (0.1, 0.4, 0.8, 2.5))
"""Radii at which the rule changes, in those of the atom: for the first period, the second, and the others."""

_NEAREST = 1e-3
"""Distance in bohr below which two atoms are at one place."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Points and weights: an integral is the sum of weights times values.

    Attributes
    ----------
    points : ndarray of float64, shape (n_points, 3)
        In bohr, atom by atom; points that follow one another are close.
    weights : ndarray of float64, shape (n_points,)
        In bohr^3.
    atom : ndarray of int32, shape (n_points,)
        The atom that each point goes with.
    """

    points: Reals
    weights: Reals
    atom: NDArray[np.int32]

    def __post_init__(self) -> None:
        for array in (self.points, self.weights, self.atom):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.weights)


def grid_of(
    atomic_numbers: NDArray[np.integer],
    positions: Reals,
    target: Target,
    level: int = 3,
    borders: Borders = "treutler",
    negligible: float | None = None,
) -> Grid:
    """Make the grid of a molecule.

    Parameters
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
        0 for ghosts, which have no points.
    positions : ndarray of float64, shape (n_atoms, 3)
        In bohr.
    target : Target
        The device of the current session; all is computed in double precision.
    level : int
        0 to 9; at level 3 there are 8,000 points about a hydrogen atom and 14,000 about a carbon atom.
    borders : str
        Whose shift of the borders between atoms of different size: Treutler's, or Becke's, whose cells also serve to
        share out the electrons.
    negligible : float
        As for `taichi_kernels.becke.becke_shares`: what shares may be off by, about; without one, all digits are right.

    Raises
    ------
    OrbitileError
        For another level, when there are no atoms, or two are at one place.
    """
    if level not in LEVELS:
        raise OrbitileError(f"level of the quadrature: expected a whole number from 0 to {LEVELS[-1]}, got {level!r}")
    return _grid(atomic_numbers, positions, target, level, borders, negligible)


def exchange_grid_of(atomic_numbers: NDArray[np.integer], positions: Reals, target: Target, quality: Quality) -> Grid:
    """Make the grid of a molecule for exact exchange, which asks for other directions than a density does.

    Parameters
    ----------
    atomic_numbers, positions, target
        As for `grid_of`.
    quality : str
        "coarsest" far from convergence, "coarse" for changes of a density, "medium" for energies with up to a quarter
        of exact exchange, "fine" for other energies, "finest" for more digits: some 450, 1,300, 6,000, 8,000 and 21,000
        points an atom.
    """
    return _grid(atomic_numbers, positions, target, quality, "treutler")


def _grid(
    atomic_numbers: NDArray[np.integer],
    positions: Reals,
    target: Target,
    level: int | Quality,
    borders: Borders,
    negligible: float | None = None,
) -> Grid:
    from taichi_kernels.becke import NEGLIGIBLE, becke_shares
    from taichi_kernels.hilbert import hilbert_order

    atoms = np.flatnonzero(atomic_numbers > 0)
    numbers, places = atomic_numbers[atoms], np.ascontiguousarray(positions[atoms], np.float64)
    _check(atoms, numbers, places)
    elements, kind = np.unique(numbers, return_inverse=True)
    spheres = [_spheres(int(number), level) for number in elements]
    orders = [hilbert_order(points) for points, _ in spheres]  # not by spheres, whose neighbours are far apart far out
    offsets, of_spheres = ([part[n][order] for part, order in zip(spheres, orders, strict=True)] for n in (0, 1))
    shares = becke_shares(places, _shifts(numbers, borders), offsets, kind, target, watcher(), negligible or NEGLIGIBLE)
    return Grid(
        np.concatenate([place + offsets[k] for place, k in zip(places, kind, strict=True)]),
        np.concatenate([of_spheres[k] * share for share, k in zip(shares, kind, strict=True)]),
        np.repeat(atoms.astype(np.int32), [len(share) for share in shares]),
    )


def weights_gradient(
    points: Reals, atom: NDArray[np.integer], values: Reals, atomic_numbers: NDArray[np.integer], positions: Reals
) -> Reals:
    r"""Derivatives of a sum over the points of a grid when atoms move with their points, but values stay.

    With the cell functions :math:`P_i = \prod_j s(\nu_{ij})` of `taichi_kernels.becke`, a weight in the cell of atom A
    changes as

    .. math::  \frac{\partial \ln w}{\partial R_B} = \sum_j M_{Bj} (u_B + \mu_{Bj} e_{Bj}), \qquad
        M_{Bj} = \frac{1}{R_{Bj}} \left( c_j \frac{d \ln s(\nu_{jB})}{d \mu_{jB}}
            - c_B \frac{d \ln s(\nu_{Bj})}{d \mu_{Bj}} \right), \qquad c_i = \delta_{iA} - \frac{P_i}{\sum_j P_j}

    for B other than A, where u points from B to the point and e from j to B, both of length 1. M is antisymmetric. When
    all atoms move alike nothing changes, which gives the derivative for A.

    Parameters
    ----------
    points, atom
        Shape (n_points, 3) in bohr, and the atom of each point; of `grid_of` with Treutler's borders, in any order.
    values : ndarray, shape (n_points,)
        What is summed up, weights included.
    atomic_numbers, positions
        Of all atoms, as for `grid_of`.

    Returns
    -------
    ndarray, shape (n_atoms, 3)
        In units of the values per bohr.
    """
    atoms = np.flatnonzero(atomic_numbers > 0)
    places, shifts = positions[atoms], _shifts(atomic_numbers[atoms], "treutler")
    along = places[:, None] - places
    apart = np.linalg.norm(along, axis=2)
    np.fill_diagonal(apart, np.inf)
    result = np.zeros((len(positions), 3))
    at_once = min(_POINTS_AT_ONCE, max(32, _PAIRS_AT_ONCE // len(atoms)))
    for own, number in enumerate(atoms):
        its = np.flatnonzero((atom == number) & (values != 0))
        for first in range(0, len(its), at_once):
            checkpoint()
            here = its[first : first + at_once]
            result[atoms] += _moved_weights(points[here], values[here], own, places, along, apart, shifts)
    return result


_POINTS_AT_ONCE = 512
"""Points whose weights are differentiated together: close to each other, so that few atoms share them."""

_PAIRS_AT_ONCE = 1 << 17
"""Points times atoms at once, at most: some 200 MB where thirty atoms share them."""

_NO_SHARE = 1e-18
"""Cell function below which an atom is left out."""

_NO_FACTOR = 1e-13
"""Factor of a cell function below which its derivative is left out: it has no more digits."""


def _moved_weights(
    points: Reals, values: Reals, own: int, places: Reals, along: Reals, apart: Reals, shifts: Reals
) -> Reals:
    """For points of one atom: shape (n_atoms, 3)."""
    from_atoms = points[:, None] - places
    r = np.linalg.norm(from_atoms, axis=2)
    directions = from_atoms / np.maximum(r, 1e-300)[..., None]
    nearest = int(np.argmin(r.sum(axis=0)))

    def factors(some: NDArray[np.intp], others: NDArray[np.intp]) -> tuple[Reals, Reals, Reals]:
        """mu, s and d ln s / d mu of some atoms with others, shape (n_points, n_some, n_others)."""
        mu = (r[:, some, None] - r[:, None, others]) / apart[np.ix_(some, others)]
        shift = shifts[np.ix_(some, others)]
        nu = mu + shift * (1 - mu * mu)
        slope = -0.5 * (1 - 2 * shift * mu)
        for _ in range(3):
            slope *= 1.5 * (1 - nu * nu)
            nu *= 1.5 - 0.5 * nu * nu
        s = 0.5 - 0.5 * nu
        return mu, s, np.divide(slope, s, out=np.zeros_like(s), where=s > _NO_FACTOR)

    every = np.arange(len(places))
    _, against_nearest, _ = factors(every, np.array([nearest]))
    sharing = np.flatnonzero((against_nearest[:, :, 0].max(axis=0) > _NO_SHARE) | (every == own))
    mu, s, slopes = factors(sharing, every)
    same = sharing[:, None] == every
    cells = np.where(same, 1.0, s).prod(axis=2)
    c = -cells / cells.sum(axis=1, keepdims=True)
    c[:, sharing == own] += 1.0
    upper = -c[:, :, None] * slopes * (values[:, None, None] / apart[sharing])  # the part of M that is of sharing atoms
    upper[:, same] = 0.0
    ones = upper.sum(axis=2)
    result = np.zeros((len(places), 3))
    result[sharing] += np.einsum("gb,gbk->bk", ones, directions[:, sharing])
    result -= np.einsum("gbj,gjk->jk", upper, directions)
    along_bonds = np.einsum("gbj,gbj->bj", upper, mu)[..., None] * along[sharing] / apart[sharing][..., None]
    result[sharing] += along_bonds.sum(axis=1)
    result -= along_bonds.sum(axis=0)
    result[own] = 0.0
    result[own] = -result.sum(axis=0)
    return result


def _check(atoms: NDArray[np.integer], numbers: NDArray[np.integer], positions: Reals) -> None:
    from scipy.spatial import KDTree

    if not len(atoms):
        raise OrbitileError("quadrature: expected at least one atom that is not a ghost, got none")
    if close := KDTree(positions).query_pairs(_NEAREST):
        one, other = min(close)
        names = " and ".join(f"{SYMBOLS[int(numbers[n])]}{atoms[n] + 1}" for n in (one, other))
        raise OrbitileError(f"quadrature: atoms {names} are at one place; move one, or make it a ghost")


def _shifts(numbers: NDArray[np.integer], borders: Borders) -> Reals:
    r"""By how much the border of each pair of atoms is moved towards the smaller one, shape (n_atoms, n_atoms).

    By Becke (equations A4 to A6) :math:`u / (u^2 - 1)`, u the difference of two radii over their sum, which is
    :math:`(\chi^{-1} - \chi) / 4`, with chi the ratio of the radii; Treutler and Ahlrichs (equation 4) take that of
    their square roots.
    """
    size = np.array([_radius(int(number)) for number in numbers])
    ratio = size[:, None] / size
    if borders == "treutler":
        ratio = np.sqrt(ratio)
    return np.clip(0.25 * (ratio.T - ratio), -0.5, 0.5)


def _radius(number: int) -> float:
    return ATOMIC_RADII[min(number, len(ATOMIC_RADII) - 1)] * angstrom


@lru_cache(maxsize=64)
def _spheres(number: int, level: int | Quality) -> tuple[Reals, Reals]:
    """Points about an atom of an element, relative to it, and their weights without regard to others: 32 B a point."""
    period = int(np.searchsorted(_PERIODS, number))
    if isinstance(level, str):
        share, zones = _EXCHANGE["fine" if level == "medium" and period > 1 else level]
        n_radial = round(share * _SHARPER[period] * _RADIAL[3][period])
    else:
        n_radial, zones = _RADIAL[level][period], _zones(_DEGREE[level][period])
    radii, volumes = _radial_rule(n_radial, _SCALES[min(number, len(_SCALES) - 1)])
    borders = _BORDERS[min(period, 2)]
    degrees = [zones[zone] for zone in np.searchsorted(borders, radii / _radius(number))]
    rules = [lebedev_directions(degree) for degree in degrees]
    points = np.concatenate([radius * directions for radius, (directions, _) in zip(radii, rules, strict=True)])
    weights = np.concatenate([volume * angular for volume, (_, angular) in zip(volumes, rules, strict=True)])
    for array in (points, weights):
        array.flags.writeable = False
    return points, weights


def _radial_rule(n: int, scale: float) -> tuple[Reals, Reals]:
    """Radii in bohr, and weights r^2 dr: Chebyshev's rule of the second kind under the map M4."""
    angle = np.arange(1, n + 1) * np.pi / (n + 1)
    x = np.cos(angle)
    stretch, logarithm = scale / np.log(2) * (1 + x) ** 0.6, np.log((1 - x) / 2)
    radii = -stretch * logarithm
    slope = stretch * (1 / (1 - x) - 0.6 * logarithm / (1 + x))
    return radii, np.pi / (n + 1) * np.sin(angle) * slope * radii**2


def _zones(degree: int) -> tuple[int, int, int, int, int]:
    """Degrees of the rules from the nucleus outwards, of which the largest is given."""
    place = _DEGREES.index(degree)
    if place == 0:
        return 11, 13, 13, 13, 11
    return 11, 15, _DEGREES[place - 1], degree, _DEGREES[place - 1]


@lru_cache(maxsize=32)
def lebedev_directions(degree: int) -> tuple[Reals, Reals]:
    """Lebedev's rule: unit vectors and weights that add up to 4 pi; vectors that follow one another are close."""
    from scipy.integrate import lebedev_rule

    directions, weights = lebedev_rule(degree)
    order = _by_halves(directions.T, np.arange(len(weights)))
    return np.ascontiguousarray(directions.T[order]), weights[order]


def _by_halves(points: Reals, some: NDArray[np.intp]) -> NDArray[np.intp]:
    """Some of the points, halved along their longest axis until few are left together."""
    if len(some) <= 8:
        return some
    axis = int(np.argmax(np.ptp(points[some], axis=0)))
    order = some[np.argsort(points[some, axis], kind="stable")]
    half = len(order) // 2
    return np.concatenate([_by_halves(points, order[:half]), _by_halves(points, order[half:])])
