r"""Charges at the nuclei whose potential is that of the molecule at points outside of it, as nearly as can be.

.. math::  \chi^2 = \sum_k w_k \left( V_k - \sum_A \frac{q_A}{r_{kA}} \right)^2, \qquad \sum_A q_A = Q

with the exact potential :math:`V_k` of nuclei and electrons, and weights :math:`w_k` of the points. CHELPG and
Merz-Kollman charges are the minimum, on points of their own.

RESP (C. I. Bayly, P. Cieplak, W. D. Cornell and P. A. Kollman, J. Phys. Chem. 1993, 97, 10269) is on the points of Merz
and Kollman. Charges of all atoms but hydrogen are held back by a hyperbola, as its program has it,

.. math::  \chi^2 + 2 a \sum_A \left( \sqrt{q_A^2 + b^2} - b \right), \qquad b = 0.1\ e

in two stages: first a = 0.0005, with equal charges of atoms that are alike by their bonds, those of methyl and
methylene groups excepted; then these groups alone with a = 0.001, their alike atoms equal, the others kept. Each point
counts by the area w that it stands for in Angstrom^2, so that the hyperbola weighs the same for any number of points.

**Points** are outside the atoms:

- CHELPG: a cubic lattice of 0.3 Angstrom, less the points within the van der Waals radius of an atom or farther than
  2.8 Angstrom from all of them (C. M. Breneman and K. B. Wiberg, J. Comput. Chem. 1990, 11, 361).
- Merz-Kollman: spheres about the atoms at 1.4, 1.6, 1.8 and 2.0 times their van der Waals radii, less what is inside
  the sphere of another atom (U. C. Singh and P. A. Kollman, J. Comput. Chem. 1984, 5, 129; B. H. Besler, K. M. Merz and
  P. A. Kollman, J. Comput. Chem. 1990, 11, 431).

Each point stands for a cell, a cube or a piece of a sphere. Of cells that are cut the part outside counts, at its
middle. Were whole cells taken or left by where their points are, as in the first programs, charges would depend on how
the molecule lies among the points: those of atoms that symmetry makes equal differed by some 0.02 e.

Ghosts are no atoms here. Atoms are alike that bonds do not tell apart, such as the hydrogens of a methyl group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...base.errors import OrbitileError
from ...base.memory import share
from ...base.watch import checkpoint
from ...model.geometry import find_bonds
from ...model.units import angstrom

if TYPE_CHECKING:
    from ...model.wavefunction import Wavefunction

Atoms = NDArray[np.integer]

CHELPG_SPACING, CHELPG_REACH = 0.3 * angstrom, 2.8 * angstrom
"""Edge of the lattice of points, and how far from the nearest atom they may be, in bohr."""

LAYERS = (1.4, 1.6, 1.8, 2.0)
"""Radii of the spheres of Merz and Kollman, in van der Waals radii."""

POINTS_AN_AREA = 20.0
"""Points of a sphere in Angstrom^-2. The first programs had one, which leaves more to chance."""

_PARTS_OF_A_PIECE, _PARTS_OF_AN_EDGE = 9, 3
"""Points in a piece of a sphere, and along an edge of a cube, by which it is told how much of it is outside."""

_CHELPG_RADII = {1: 1.45, 6: 1.50, 7: 1.70, 8: 1.70, 9: 1.70}
"""In Angstrom: Breneman and Wiberg; fluorine as its neighbours."""

_MERZ_KOLLMAN_RADII = {1: 1.20, 6: 1.50, 7: 1.50, 8: 1.40, 9: 1.35, 15: 1.80, 16: 1.75, 17: 1.70}
"""In Angstrom: Singh and Kollman, with those of Besler, Merz and Kollman."""

_ALVAREZ = """
    0.00 1.20 1.43 2.12 1.98 1.91 1.77 1.66 1.50 1.46 1.58 2.50 2.51 2.25 2.19 1.90 1.89 1.82 1.83 2.73 2.62 2.58
    2.46 2.42 2.45 2.45 2.44 2.40 2.40 2.38 2.39 2.32 2.29 1.88 1.82 1.86 2.25 3.21 2.84 2.75 2.52 2.56 2.45 2.44
    2.46 2.44 2.15 2.53 2.49 2.43 2.42 2.47 1.99 2.04 2.06 3.48 3.03 2.98 2.88 2.92 2.95 2.92 2.90 2.87 2.83 2.79
    2.87 2.81 2.83 2.79 2.80 2.74 2.63 2.53 2.57 2.49 2.48 2.41 2.29 2.32 2.45 2.47 2.60 2.54
""".split()
"""Van der Waals radii from 1 to 83 in Angstrom: S. Alvarez, Dalton Trans. 2013, 42, 8617; promethium as its neighbours.
"""

_BEYOND = 2.8
"""For elements beyond bismuth: about that of thorium and uranium there."""

_AT_ONCE = share("pages", 64)
"""Points of which the nearest atoms are looked for together."""


def chelpg_points(atomic_numbers: Atoms, positions: Reals) -> tuple[Reals, Reals]:
    """Points of CHELPG.

    The middle of the lattice is that of the box about the nuclei, and its edges go along the axes.

    Parameters
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
        Without ghosts.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.

    Returns
    -------
    points : ndarray, shape (n_points, 3)
        In bohr.
    weights : ndarray, shape (n_points,)
        The part of a cube that counts, at most 1.
    """
    radii = _radii(atomic_numbers, _CHELPG_RADII)
    low, high = positions.min(axis=0), positions.max(axis=0)
    half = np.ceil(((high - low) / 2 + CHELPG_REACH) / CHELPG_SPACING).astype(int)
    ticks = [middle + np.arange(-n, n + 1) * CHELPG_SPACING for middle, n in zip((low + high) / 2, half, strict=True)]
    plane = np.stack(np.meshgrid(ticks[1], ticks[2], indexing="ij"), axis=-1).reshape(-1, 2)
    along = (np.arange(_PARTS_OF_AN_EDGE) - (_PARTS_OF_AN_EDGE - 1) / 2) * (CHELPG_SPACING / _PARTS_OF_AN_EDGE)
    parts = np.stack(np.meshgrid(along, along, along, indexing="ij"), axis=-1).reshape(-1, 3)
    together = max(1, _AT_ONCE // len(plane))
    spheres = _Spheres(positions, radii, CHELPG_REACH)
    found, weights = [], []
    for first in range(0, len(ticks[0]), together):
        some = ticks[0][first : first + together]
        points = np.column_stack([np.repeat(some, len(plane)), np.tile(plane, (len(some), 1))])
        depth = spheres.depth(points)
        points, depth = points[depth > -_HALF_A_CUBE], depth[depth > -_HALF_A_CUBE]
        share = np.ones(len(points))
        cut = np.flatnonzero(depth < _HALF_A_CUBE)
        of_parts = (points[cut, None] + parts).reshape(-1, 3)
        outside = (spheres.depth(of_parts) >= 0).reshape(len(cut), len(parts))
        share[cut] = outside.mean(axis=1)
        points[cut] += outside @ parts / np.maximum(outside.sum(axis=1), 1)[:, None]
        found.append(points[share > 0])
        weights.append(share[share > 0])
        checkpoint()
    return np.concatenate(found), np.concatenate(weights)


_HALF_A_CUBE = math.sqrt(3) / 2 * CHELPG_SPACING
"""From the middle of a cube to its corners, in bohr."""


def merz_kollman_points(
    atomic_numbers: Atoms, positions: Reals, density: float = POINTS_AN_AREA
) -> tuple[Reals, Reals]:
    """Points of Merz and Kollman, evenly on each sphere along a spiral.

    Parameters
    ----------
    atomic_numbers, positions
        As for `chelpg_points`.
    density
        Points in Angstrom^-2.

    Returns
    -------
    points : ndarray, shape (n_points, 3)
        In bohr.
    weights : ndarray, shape (n_points,)
        Areas that they stand for, in Angstrom^2.
    """
    radii = _radii(atomic_numbers, _MERZ_KOLLMAN_RADII)
    margin = angstrom / math.sqrt(density)  # more than from the middle of a piece to its edge
    found, weights = [], []
    for layer in LAYERS:
        spheres = _Spheres(positions, layer * radii)
        for atom, (centre, radius) in enumerate(zip(positions, layer * radii, strict=True)):
            area = 4 * math.pi * (radius / angstrom) ** 2
            n = max(1, round(density * area))
            directions, parts, piece = _pieces(n)
            depth = spheres.depth(centre + radius * directions, atom)
            count = np.where(depth > 0, float(_PARTS_OF_A_PIECE), 0.0)
            middle = directions.copy()
            cut = np.abs(depth) < margin
            some = np.flatnonzero(cut[piece])
            some = some[spheres.depth(centre + radius * parts[some], atom) > 0]
            in_parts = np.column_stack([np.ones(len(some)), parts[some]])
            sums = np.column_stack([np.bincount(piece[some], column, n) for column in in_parts.T])
            count[cut], middle[cut] = sums[cut, 0], sums[cut, 1:]
            there = count > 0
            middle = middle[there] / np.linalg.norm(middle[there], axis=1)[:, None]
            found.append(centre + radius * middle)
            weights.append(count[there] * (area / (n * _PARTS_OF_A_PIECE)))
            checkpoint()
    return np.concatenate(found), np.concatenate(weights)


@lru_cache(maxsize=32)
def _pieces(n: int) -> tuple[Reals, Reals, NDArray[np.intp]]:
    """Directions in the middle of the pieces of a sphere; those of their parts, and the piece of each."""
    from scipy.spatial import cKDTree

    directions, parts = _spiral(n), _spiral(n * _PARTS_OF_A_PIECE)
    return directions, parts, cKDTree(directions).query(parts)[1]


def _radii(atomic_numbers: Atoms, stated: dict[int, float]) -> Reals:
    """Van der Waals radii in bohr."""
    known = [float(radius) for radius in _ALVAREZ]
    of_elements = [stated.get(int(z), known[z] if z < len(known) else _BEYOND) for z in atomic_numbers]
    return np.array(of_elements) * angstrom


class _Spheres:
    """Spheres about the atoms, none of which a point may be in, and how far from a nucleus it may be at most."""

    def __init__(self, positions: Reals, radii: Reals, reach: float = math.inf) -> None:
        from scipy.spatial import cKDTree

        # the radii of a molecule are few: for each, only the nearest of its atoms matters
        self._atoms = [(radius, np.flatnonzero(radii == radius)) for radius in np.unique(radii)]
        self._trees = [cKDTree(positions[atoms]) for _, atoms in self._atoms]
        self._reach = reach

    def depth(self, points: Reals, without: int = -1) -> Reals:
        """How far points are inside of where they may be, negative outside; leaving the sphere of one atom alone."""
        outside, nearest = np.full(len(points), np.inf), np.full(len(points), np.inf)
        for (radius, atoms), tree in zip(self._atoms, self._trees, strict=True):
            if without not in atoms:
                distances = tree.query(points)[0]
            else:  # there are infinities where it is the only one
                distances, which = tree.query(points, k=2)
                distances = distances[np.arange(len(points)), (atoms[which[:, 0]] == without).astype(int)]
            outside = np.minimum(outside, distances - radius)
            nearest = np.minimum(nearest, distances)
        return outside if math.isinf(self._reach) else np.minimum(outside, self._reach - nearest)


def _spiral(n: int) -> Reals:
    """Directions that are spread evenly, shape (n, 3).

    R. Swinbank and R. J. Purser, Q. J. R. Meteorol. Soc. 2006, 132, 1769.
    """
    height = 1 - (2 * np.arange(n) + 1) / n
    angle = np.arange(n) * math.pi * (3 - math.sqrt(5))
    across = np.sqrt(1 - height**2)
    return np.column_stack([across * np.cos(angle), across * np.sin(angle), height])


Indices = NDArray[np.int64]

_HYDROGEN, _CARBON = 1, 6

_EQUAL = 0.01
"""Difference of distances in bohr up to which they are equal."""


def equivalent_atoms(atomic_numbers: Indices, positions: Reals) -> Indices:
    """Classes of atoms that are alike by their bonds.

    Two atoms are of one class when they are the same element, belong to one molecule, and have neighbours of the same
    classes, at any distance (refinement after H. L. Morgan, J. Chem. Doc. 1965, 5, 107). Atoms of two molecules that
    lie side by side are never alike, since their surroundings differ.

    Parameters
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
    positions : ndarray, shape (n_atoms, 3)
        In bohr; bonds are those of `orbitile.model.geometry.find_bonds`.

    Returns
    -------
    ndarray of int, shape (n_atoms,)
        Number of the class of each atom, from 0.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n_atoms = len(atomic_numbers)
    neighbours = _neighbours(atomic_numbers, positions)
    ends = np.array([(a, b) for a, near in enumerate(neighbours) for b in near], np.int64).reshape(-1, 2)
    bonds = coo_matrix((np.ones(len(ends)), ends.T), shape=(n_atoms, n_atoms))
    molecule = connected_components(bonds, directed=False)[1]
    classes = np.unique(np.column_stack([molecule, atomic_numbers]), axis=0, return_inverse=True)[1].ravel()
    while True:
        around = [(int(classes[atom]), *sorted(classes[near].tolist())) for atom, near in enumerate(neighbours)]
        number = {kind: n for n, kind in enumerate(sorted(set(around)))}
        refined = np.array([number[kind] for kind in around], np.int64)
        if refined.max() == classes.max():  # classes are only ever split
            return refined
        classes = refined


def equal_atoms(atomic_numbers: Indices, positions: Reals) -> Indices:
    """Classes of atoms with the same atoms at the same distances: those that symmetry makes equal.

    Parameters and result as for `equivalent_atoms`.
    """
    from scipy.spatial.distance import cdist

    beyond = 2 * float(np.ptp(positions, axis=0).sum()) + 1.0  # so that distances to other elements come later
    distances = cdist(positions, positions) + beyond * atomic_numbers
    distances.sort(axis=1)
    classes = np.full(len(atomic_numbers), -1, np.int64)
    for atom, number in enumerate(atomic_numbers):
        if classes[atom] < 0:
            left = np.flatnonzero((classes < 0) & (atomic_numbers == number))
            same = np.abs(distances[left] - distances[atom]).max(axis=1) < _EQUAL
            classes[left[same]] = classes.max() + 1
    return classes


def in_methyl_or_methylene(atomic_numbers: Indices, positions: Reals) -> NDArray[np.bool_]:
    """Which atoms are carbons with four neighbours, two hydrogens or more among them, or such a hydrogen."""
    neighbours = _neighbours(atomic_numbers, positions)
    chosen = np.zeros(len(atomic_numbers), bool)
    for atom, near in enumerate(neighbours):
        hydrogens = [other for other in near if atomic_numbers[other] == _HYDROGEN]
        if atomic_numbers[atom] == _CARBON and len(near) == 4 and len(hydrogens) >= 2:
            chosen[[atom, *hydrogens]] = True
    return chosen


def _neighbours(atomic_numbers: Indices, positions: Reals) -> list[list[int]]:
    near: list[list[int]] = [[] for _ in atomic_numbers]
    for a, b in find_bonds(atomic_numbers, positions).tolist():
        near[a].append(b)
        near[b].append(a)
    return near


_WEAK, _STRONG, _TIGHTNESS = 0.0005, 0.001, 0.1
"""a of both stages in hartree^2/e^3 Angstrom^2, and b in e."""

_SETTLED, _MOST_ROUNDS = 1e-9, 500
"""Change of charges in e at which the hyperbolas have settled, and after how many rounds that is given up."""

_UNREACHED = 1e-6
"""How far a dipole may be from the one that is wanted, in e bohr."""

_POTENTIAL = 1e-6
"""Bound in hartree/e on what is left out of the potential at any point; charges of small molecules then lose 2e-7 e."""

_ELEMENTS = share("matrix", 8)
"""Distances that are held at once."""


@dataclass(frozen=True, eq=False)
class PotentialFit:
    """Charges fitted to the potential.

    Attributes
    ----------
    charges : ndarray, shape (n_atoms,)
        In e; 0 at ghosts.
    rms_error : float
        Root of the mean square of what is left of the potential at the points, in hartree/e.
    relative_error : float
        The same over that of the potential itself.
    n_points : int
    spread : float
        Largest difference between charges of atoms that distances in the molecule make equal, in e: an error of the
        points. 0 where no atoms are equal.
    """

    charges: Reals
    rms_error: float
    relative_error: float
    n_points: int
    spread: float


@dataclass(frozen=True, eq=False)
class _Fit:
    """Normal equations of a fit without constraints: sums over points of w 1/r 1/r, w V/r, w V V and w."""

    inverse_distances: Reals
    potentials: Reals
    square: float
    weight: float
    n_points: int
    classes: NDArray[np.int64]

    def result(self, charges: Reals, atoms: NDArray[np.intp], n_atoms: int) -> PotentialFit:
        left = float(charges @ self.inverse_distances @ charges - 2 * charges @ self.potentials) + self.square
        everywhere = np.zeros(n_atoms)
        everywhere[atoms] = charges
        left = left if left > 0 else 0.0  # but for rounding
        relative = math.sqrt(left / self.square) if self.square else 0.0
        spread = max(float(np.ptp(charges[self.classes == one])) for one in np.unique(self.classes))
        return PotentialFit(everywhere, math.sqrt(left / self.weight), relative, self.n_points, spread)


def chelpg_charges(wavefunction: Wavefunction, *, dipole: bool = False, device: str | None = None) -> PotentialFit:
    """Charges of CHELPG.

    Parameters
    ----------
    wavefunction
    dipole
        Whether the dipole moment of the charges is to be that of the molecule, beside the total charge.
    device
        As for `orbitile.evaluate`.

    Raises
    ------
    OrbitileError
        When the molecule has no atom that is no ghost, or charges at its nuclei cannot have its dipole moment.
    """
    atoms, numbers, places = _atoms(wavefunction)
    fit = _fit_at(wavefunction, numbers, places, *chelpg_points(numbers, places), device)
    return _unrestrained(wavefunction, fit, atoms, dipole)


def merz_kollman_charges(
    wavefunction: Wavefunction, *, dipole: bool = False, device: str | None = None
) -> PotentialFit:
    """Charges of Merz and Kollman; parameters and errors as for `chelpg_charges`."""
    atoms, numbers, places = _atoms(wavefunction)
    fit = _fit_at(wavefunction, numbers, places, *merz_kollman_points(numbers, places), device)
    return _unrestrained(wavefunction, fit, atoms, dipole)


def resp_charges(wavefunction: Wavefunction, *, device: str | None = None) -> PotentialFit:
    """Charges of RESP, in two stages.

    Parameters
    ----------
    wavefunction
    device
        As for `orbitile.evaluate`.

    Raises
    ------
    OrbitileError
        When the molecule has no atom that is no ghost.
    """
    atoms, numbers, places = _atoms(wavefunction)
    fit = _fit_at(wavefunction, numbers, places, *merz_kollman_points(numbers, places), device)
    alike, groups = equivalent_atoms(numbers, places), in_methyl_or_methylene(numbers, places)
    total, restrained = wavefunction.charge, (numbers > 1).astype(float)
    # each atom of a methyl or methylene group is a class of its own at first
    first = np.where(groups, alike.max() + 1 + np.arange(len(alike)), alike)
    charges = _restrained(fit, _sums_of_classes(first), np.zeros(len(atoms)), total, _WEAK * restrained)
    if groups.any():
        kept = np.where(groups, 0.0, charges)
        free = _sums_of_classes(alike)
        free = free[:, groups @ free > 0] * groups[:, None]
        charges = _restrained(fit, free, kept, total - kept.sum(), _STRONG * restrained)
    return fit.result(charges, atoms, wavefunction.n_atoms)


def _atoms(wavefunction: Wavefunction) -> tuple[NDArray[np.intp], NDArray[np.int64], Reals]:
    atoms = np.flatnonzero(~wavefunction.is_ghost)
    if not len(atoms):
        raise OrbitileError("charges from the potential: expected at least one atom that is no ghost, got none")
    return atoms, wavefunction.atomic_numbers[atoms], wavefunction.positions[atoms]


def _fit_at(
    wavefunction: Wavefunction,
    numbers: NDArray[np.int64],
    places: Reals,
    points: Reals,
    weights: Reals,
    device: str | None,
) -> _Fit:
    """The normal equations of some points."""
    from ...evaluation.devices import exact_precision
    from ...evaluation.points import evaluate
    from ...fields.electrostatic_potential import ElectrostaticPotential

    field = ElectrostaticPotential(wavefunction, tolerance=_POTENTIAL)
    potential = evaluate(wavefunction, field, points, device=device, precision=exact_precision(device)).astype(float)
    inverse = np.zeros((len(places), len(places)))
    right = np.zeros(len(places))
    step = max(1, _ELEMENTS // len(places))
    for first in range(0, len(points), step):
        some = slice(first, first + step)
        from_atoms = _inverse_distances(points[some], places)
        inverse += (from_atoms * weights[some, None]).T @ from_atoms
        right += (weights[some] * potential[some]) @ from_atoms
        checkpoint()
    square = float(weights @ potential**2)
    return _Fit(inverse, right, square, float(weights.sum()), len(points), equal_atoms(numbers, places))


def _inverse_distances(points: Reals, places: Reals) -> Reals:
    from scipy.spatial.distance import cdist

    return 1 / cdist(points, places)


def _unrestrained(wavefunction: Wavefunction, fit: _Fit, atoms: NDArray[np.intp], dipole: bool) -> PotentialFit:
    sums, values = np.ones((1, len(atoms))), np.array([wavefunction.charge])
    if dipole:
        from ...fields.density import density_of
        from .._quadrature import analytic_moments

        places = wavefunction.positions[atoms]
        middle = places.mean(axis=0)  # about which the equations are best conditioned
        wanted = analytic_moments(wavefunction, density_of(wavefunction)).dipole - wavefunction.charge * middle
        sums, values = np.vstack([sums, (places - middle).T]), np.append(values, wanted)
    charges = _constrained_minimum(fit.inverse_distances, fit.potentials, sums, values)
    if np.abs(sums @ charges - values).max() > _UNREACHED:
        raise OrbitileError(
            "dipole: charges at these nuclei cannot have the dipole moment of the molecule, which has a part across "
            "the line or the plane that they are in; leave it out"
        )
    return fit.result(charges, atoms, wavefunction.n_atoms)


def _restrained(fit: _Fit, classes: Reals, kept: Reals, total: float, strength: Reals) -> Reals:
    """Charges under hyperbolas: those that are kept, and those of the classes, which are equal within each.

    The hyperbola of each charge counts as a parabola of its slope there, until the charges no longer change.
    """
    matrix = fit.inverse_distances
    right = fit.potentials - fit.inverse_distances @ kept
    sums = classes.sum(axis=0)[None]
    charges = kept
    for _ in range(_MOST_ROUNDS):
        held = matrix + np.diag(strength / np.sqrt(charges**2 + _TIGHTNESS**2))
        found = _constrained_minimum(classes.T @ held @ classes, classes.T @ right, sums, np.array([total]))
        before, charges = charges, kept + classes @ found
        if np.abs(charges - before).max() < _SETTLED:
            return charges
        checkpoint()
    raise OrbitileError(f"RESP: the charges did not settle in {_MOST_ROUNDS} rounds; use chelpg")


def _sums_of_classes(classes: NDArray[np.integer]) -> Reals:
    """One column a class, with ones at its atoms."""
    _, number = np.unique(classes, return_inverse=True)
    return np.eye(number.max() + 1)[number]


def _constrained_minimum(matrix: Reals, right: Reals, sums: Reals, values: Reals) -> Reals:
    """Where x M x / 2 - x r is least of all x with sums x = values, by Lagrange's multipliers.

    Of sums that follow from others, the shortest multipliers are taken; of atoms that no point tells apart, as two at
    one place, the shortest x.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        factor = cho_factor(matrix)
        solved = cho_solve(factor, np.column_stack([right, sums.T]))
    except LinAlgError:
        solved = np.linalg.lstsq(matrix, np.column_stack([right, sums.T]), rcond=None)[0]
    x: Reals = solved[:, 0]
    shifts = solved[:, 1:]
    for _ in range(2):  # the second time what rounding has left
        x = x + shifts @ np.linalg.lstsq(sums @ shifts, values - sums @ x, rcond=None)[0]
    return x
