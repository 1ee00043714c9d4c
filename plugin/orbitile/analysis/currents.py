r"""Ring currents: how much current flows through bonds, which orbitals carry it, and how centres of rings are shielded.

The strength of a current through a bond is the integral of the induced current density over half of the plane that cuts
the bond in its middle: the half that begins at the centre of the ring (J. Juselius, D. Sundholm and J. Gauss, J. Chem.
Phys. 2004, 121, 3952). It is positive where it is diatropic: clockwise for who looks against the field. By canonical
orbitals and gauge origins at the points themselves it is a sum over orbitals (E. Steiner and P. W. Fowler, J. Phys.
Chem. A 2001, 105, 9553).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from scipy.spatial import cKDTree

from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.memory import share
from ..base.watch import checkpoint, stage
from ..evaluation.points import evaluate
from ..fields._sums import SumField
from ..fields.currents import AMPERE, current_of, first_order, shielding_of
from ..fields.electrostatic_potential import PotentialOfSum
from ..gaussians.expansion import GaussianExpansion, by_degree, derivative, merged
from ..gaussians.packing import merged_primitives
from ..model.geometry import Geometry, find_bonds
from ..model.units import angstrom
from ..model.wavefunction import Spin, Wavefunction
from .streamlines import Streamline, VectorField, streamlines

LARGEST_RING = 20
"""Atoms of the largest ring that is looked for: the inner one of a porphyrin has 16."""
_BEYOND, _ASIDE = 10.0, 8.0
"""How far a plane goes beyond the bond and to either side of it, in bohr."""
_OFF_PLANE = 2.5
"""Points of a plane belong to the bond if the atom next to them is less than this above or below its ring, in bohr."""
_NODES = 20
"""Points of the quadrature in each piece of a plane, along each side."""
_ALONG = 0.3
"""Cosine between a bond and a current about the field below which the bond counts as one along the field."""
_POINTS = share("lists", 64)
"""Values of terms of basis functions that are held at once."""
_NEGLIGIBLE = 40.0
"""Exponent from which a Gaussian counts as zero."""
_AROUND = 4.0
"""How far beyond the bonds of a ring lines begin, in bohr."""
_SCAN, _HEIGHTS = 5.0 * angstrom, 41
"""How far above a ring its shifts are followed, and at how many points."""
_WEAK = 0.02
"""Strength below which no line begins, in units of the strongest on the same ray; lines end at half of it."""
_FEWEST = 8
"""Points of a line up to which it is only the middle of a vortex."""
_PPM_ERROR = 1e-3
"""What approximations of the potential may cost a shielding, in ppm."""


@dataclass(frozen=True, eq=False)
class Ring:
    """A ring of bonded atoms.

    Attributes
    ----------
    atoms : tuple of int
        From 0, in their order around it.
    centre, normal : ndarray, shape (3,)
        Mean of the positions in bohr, and the direction across it.
    """

    atoms: tuple[int, ...]
    centre: Reals
    normal: Reals

    @property
    def bonds(self) -> list[tuple[int, int]]:
        """Its bonds, the lower number first."""
        after = (*self.atoms[1:], self.atoms[0])
        return [(min(a, b), max(a, b)) for a, b in zip(self.atoms, after, strict=True)]


_RINGS = Derived[tuple[Ring, ...]]("numbers")


def rings_of(molecule: Wavefunction | Geometry) -> tuple[Ring, ...]:
    """The smallest ring through each pair of neighbouring bonds, unless bonds lead across it; small ones first."""
    return _RINGS.of(molecule, None, lambda: tuple(_rings(molecule)))


def _rings(molecule: Wavefunction | Geometry) -> Iterator[Ring]:
    around: dict[int, set[int]] = {}
    for a, b in find_bonds(molecule.atomic_numbers, molecule.positions).tolist():
        around.setdefault(a, set()).add(b)
        around.setdefault(b, set()).add(a)
    ends = [atom for atom, others in around.items() if len(others) == 1]
    while ends:  # what is in no ring
        atom = ends.pop()
        for other in around.pop(atom):
            around[other].discard(atom)
            if len(around[other]) == 1:
                ends.append(other)
            elif not around[other]:
                del around[other]
                ends = [end for end in ends if end != other]
    found: dict[frozenset[int], list[int]] = {}
    for atom, others in around.items():
        for one, other in combinations(sorted(others), 2):
            path = _shortest(around, one, other, LARGEST_RING - 2, without=atom)
            if path and not _is_crossed(around, [atom, *path]):
                found.setdefault(frozenset([atom, *path]), [atom, *path])
    for atoms in sorted(found.values(), key=lambda atoms: (len(atoms), sorted(atoms))):
        places = molecule.positions[atoms]
        centre = places.mean(axis=0)
        normal = np.linalg.svd(places - centre)[2][2]
        yield Ring(tuple(atoms), centre, normal * np.sign(normal[np.argmax(np.abs(normal))]))


def _is_crossed(around: Mapping[int, set[int]], atoms: Sequence[int]) -> bool:
    """Whether bonds lead from one atom of a ring to another in fewer steps than around it."""
    n = len(atoms)
    for i, j in combinations(range(n), 2):
        steps = min(j - i, n - j + i)
        if steps > 1 and _shortest(around, atoms[i], atoms[j], steps - 1):
            return True
    return False


def _shortest(
    around: Mapping[int, set[int]], start: int, end: int, steps: int, without: int | None = None
) -> list[int]:
    """Atoms of a shortest way of so many steps at most, of which an atom is no part; empty for none."""
    before, front = {start: start}, [start]
    for _ in range(steps):
        reached = []
        for atom in front:
            for other in around[atom]:
                if other not in before and other != without:
                    before[other] = atom
                    reached.append(other)
        if end in before:
            path = [end]
            while path[-1] != start:
                path.append(before[path[-1]])
            return path
        front = reached
    return []


@dataclass(frozen=True, eq=False)
class BondCurrent:
    """What flows through the plane across a bond of a ring, in nA/T.

    Attributes
    ----------
    atoms : tuple of int
        Of the bond, from 0.
    ring : int
        Number of the ring, from 0, at whose centre the plane begins.
    diatropic, paratropic : float
        Integrals over the places where the current flows one way and the other; the latter is negative.
    by_orbital : ndarray, shape (n,)
        Contributions of `occupied_orbitals`; their sum is the strength.
    """

    atoms: tuple[int, int]
    ring: int
    diatropic: float
    paratropic: float
    by_orbital: Reals

    @property
    def strength(self) -> float:
        """Diatropic and paratropic together."""
        return self.diatropic + self.paratropic


def occupied_orbitals(wavefunction: Wavefunction) -> list[tuple[Spin, int]]:
    """Spins and indices of the orbitals that carry the current."""
    spins: tuple[Spin, ...] = ("alpha",) if wavefunction.beta is None else ("alpha", "beta")
    return [(spin, n) for spin in spins for n in np.flatnonzero(wavefunction.orbitals(spin).occupations > 0.5).tolist()]


def bond_currents(wavefunction: Wavefunction, rings: Sequence[Ring], axis: Reals) -> list[BondCurrent]:
    """Strengths of the current that a field along an axis induces in the bonds of rings.

    The plane of a bond that two rings share goes from the centre of the one that lies more across the field, else of
    the first, to that of the other. Bonds along the field are left out, as nothing circles there.
    """
    orbitals = _FirstOrder(wavefunction, axis)
    of_bonds: dict[tuple[int, int], list[int]] = {}
    for number, ring in enumerate(rings):
        for bond in ring.bonds:
            of_bonds.setdefault(bond, []).append(number)
    found = []
    for step, (bond, numbers) in enumerate(of_bonds.items()):
        # of several, a current circles in the one that lies most across the field
        number, *others = sorted(numbers, key=lambda n: -round(abs(float(rings[n].normal @ axis)), 3))
        plane = _plane_of(wavefunction, bond, rings[number], rings[others[0]] if others else None, axis)
        if plane is None:
            continue
        with stage(step / len(of_bonds), (step + 1) / len(of_bonds)):
            flow = orbitals.flow(plane.points, plane.direction)
        whole = flow.sum(axis=1)
        found.append(
            BondCurrent(
                bond,
                number,
                AMPERE * float(plane.weights @ np.maximum(whole, 0)),
                AMPERE * float(plane.weights @ np.minimum(whole, 0)),
                AMPERE * (plane.weights @ flow),
            )
        )
    return found


@dataclass(frozen=True, eq=False)
class _Plane:
    """Points and weights of a quadrature over half a plane, and the direction across it that is diatropic."""

    points: Reals
    weights: Reals
    direction: Reals


def _plane_of(
    wavefunction: Wavefunction, bond: tuple[int, int], ring: Ring, other: Ring | None, axis: Reals
) -> _Plane | None:
    ends = wavefunction.positions[list(bond)]
    middle, along = ends.mean(axis=0), ends[1] - ends[0]
    along = along / np.linalg.norm(along)
    # where rings make an angle, their plane has the same to both
    inward = ring.centre - (middle if other is None else other.centre)
    inward = inward - along * (along @ inward)
    out = -inward / np.linalg.norm(inward)
    depth = float(max((middle - ring.centre) @ out, 0.5))
    clockwise = -np.cross(axis, out)
    if abs(clockwise @ along) < _ALONG:
        return None
    direction = along * np.sign(clockwise @ along)
    aside = np.cross(along, out)
    end = _BEYOND
    if other is not None:
        end = float(max((other.centre - middle) @ out, 0.5))
    s, s_weights = _gauss([-depth, 0.0, *((0.4 * end, end) if other is None else (end,))])
    t, t_weights = _gauss([-_ASIDE, -2.5, 0.0, 2.5, _ASIDE])
    points = (middle + s[:, None, None] * out + t[None, :, None] * aside).reshape(-1, 3)
    # a plane through the wall of a cage would go on through the opposite wall
    nearest = wavefunction.positions[cKDTree(wavefunction.positions).query(points)[1]]
    is_here = np.abs((nearest - middle) @ aside) < _OFF_PLANE
    return _Plane(points, np.outer(s_weights, t_weights).ravel() * is_here, direction)


def _gauss(edges: Sequence[float]) -> tuple[Reals, Reals]:
    """Points and weights of Gauss and Legendre's quadrature, piece by piece between edges."""
    x, w = np.polynomial.legendre.leggauss(_NODES)
    pieces = list(pairwise(edges))
    points = np.concatenate([0.5 * (a + b) + 0.5 * (b - a) * x for a, b in pieces])
    return points, np.concatenate([0.5 * (b - a) * w for a, b in pieces])


class _FirstOrder:
    """Occupied orbitals and their first-order changes, to be evaluated orbital by orbital at points."""

    def __init__(self, wavefunction: Wavefunction, axis: Reals) -> None:
        self._axis = axis
        self._centre = wavefunction.positions.mean(axis=0)
        primitives = merged_primitives(wavefunction)
        psi, by_angular, by_linear = first_order(wavefunction, axis)
        self._n = psi.shape[1]
        sides = np.hstack([psi, by_angular, *by_linear])
        self._functions = primitives.with_terms(np.asarray(primitives.from_basis @ sides))
        self._slopes = [derivative(self._functions, k) for k in range(3)]

    def flow(self, points: Reals, direction: Reals) -> Reals:
        """Current along a direction at points by occupied orbital, in atomic units, shape (n_points, n_orbitals)."""
        slope = self._slopes[0]
        terms = sum(direction[k] * self._slopes[k].terms for k in range(3))
        across = np.cross(self._axis, points - self._centre)
        values = _at(self._functions, self._functions.terms, points).reshape(len(points), 5, self._n)
        slopes = _at(slope, np.asarray(terms), points).reshape(len(points), 5, self._n)
        eta = values[:, 1] - np.einsum("pm,pmi->pi", across, values[:, 2:])
        rising = slopes[:, 1] - np.einsum("pm,pmi->pi", across, slopes[:, 2:])
        return np.asarray(eta * slopes[:, 0] - values[:, 0] * rising)


def divergence(wavefunction: Wavefunction, axis: Reals, places: Reals, device: str | None = None) -> float:
    """Largest divergence of the current at some places in bohr, in units of the largest current there, in bohr^-1.

    A current that is exact has none; that of a finite basis set has some, most of it near the nuclei.
    """
    current = current_of(wavefunction, axis)
    found = _values(wavefunction, merged([derivative(part, k) for k, part in enumerate(current)]), places, device)
    size = np.linalg.norm([_values(wavefunction, part, places, device) for part in current], axis=0)
    return float(np.abs(found).max() / size.max())


def _values(wavefunction: Wavefunction, expansion: GaussianExpansion, places: Reals, device: str | None) -> Reals:
    field = SumField((expansion,), "", "", 1.0, expansion, wavefunction.positions, is_difference=True)
    return np.asarray(evaluate(wavefunction, field, places, device=device, precision="double"), np.float64)


def current_at(
    wavefunction: Wavefunction,
    axis: Reals,
    which: Sequence[tuple[Spin, int]] | None = None,
    device: str | None = None,
) -> VectorField:
    """The current that a field along an axis induces, in atomic units, as a function of points in bohr.

    Parameters are those of `orbitile.fields.currents.current_of`.
    """
    parts = current_of(wavefunction, axis, which)
    return lambda points: np.stack([_values(wavefunction, part, points, device) for part in parts], axis=1)


def current_lines(
    wavefunction: Wavefunction,
    rings: Sequence[Ring],
    axis: Reals,
    height: float,
    n_lines: int,
    device: str | None = None,
) -> list[Streamline]:
    """Streamlines of the current that begin on a ray from the middle of each ring outwards, through that of a bond.

    Parameters
    ----------
    wavefunction, rings, axis
    height
        Of the rays above the rings, in bohr.
    n_lines
        Of each ring. Those that would begin at a line of a ring before are left out, as are weak and tiny ones.
    device
        As for `orbitile.evaluate`.
    """
    field = current_at(wavefunction, axis, device=device)
    lines: list[Streamline] = []
    for n, ring in enumerate(rings if n_lines else ()):
        seeds = _on_ray(wavefunction, ring, axis, n_lines) + height * axis
        if lines:
            there = cKDTree(np.concatenate([line.points for line in lines]))
            seeds = seeds[there.query(seeds)[0] > _AROUND / n_lines]
        if len(seeds):
            size = np.linalg.norm(field(seeds), axis=1)
            with stage(n / len(rings), (n + 1) / len(rings)):
                found = streamlines(field, seeds[size > _WEAK * size.max()], weakest=_WEAK / 2 * size.max())
            lines += [line for line in found if len(line.points) > _FEWEST]
    return lines


def _on_ray(wavefunction: Wavefunction, ring: Ring, axis: Reals, n: int) -> Reals:
    """Points at equal distances from the centre of a ring outwards, across a field, shape (n, 3)."""
    middles = [wavefunction.positions[list(bond)].mean(axis=0) - ring.centre for bond in ring.bonds]
    across = np.array([middle - axis * (axis @ middle) for middle in middles])
    extents = np.linalg.norm(across, axis=1)
    out = across[np.argmax(extents)] / extents.max()
    return ring.centre + ((np.arange(n) + 0.5) / n * (extents.max() + _AROUND))[:, None] * out


def is_diatropic(line: Streamline, axis: Reals) -> bool:
    """Whether a line goes around its middle clockwise for who looks against the field."""
    away = line.points - line.points.mean(axis=0)
    return float(np.cross(away[:-1], away[1:]).sum(axis=0) @ axis) < 0


@dataclass(frozen=True, eq=False)
class Shieldings:
    """Nucleus-independent chemical shifts of a ring, in ppm: shieldings with the opposite sign.

    Attributes
    ----------
    centre, above : float
        At its centre, and 1 Angstrom above it; a mean over all directions of the field.
    centre_across, above_across : float
        The same for a field across the ring.
    heights, scan : ndarray, shape (n,)
        For a field across the ring, along its normal; heights in bohr.
    """

    centre: float
    above: float
    centre_across: float
    above_across: float
    heights: Reals
    scan: Reals


def ring_shieldings(wavefunction: Wavefunction, ring: Ring, device: str | None = None) -> Shieldings:
    """Shifts at a ring, after P. von R. Schleyer et al. (J. Am. Chem. Soc. 1996, 118, 6317)."""

    def shift(axis: Reals | None, points: Reals) -> Reals:
        expansion = shielding_of(wavefunction, axis)
        field = PotentialOfSum(expansion, wavefunction.positions, "shielding", "ppm", 1.0, _PPM_ERROR)
        return -np.asarray(evaluate(wavefunction, field, points, device=device, precision="double"), np.float64)

    heights = np.linspace(0.0, _SCAN, _HEIGHTS)
    two = ring.centre + np.array([[0.0], [angstrom]]) * ring.normal
    centre, above = shift(None, two)
    points = np.concatenate([two, ring.centre + heights[:, None] * ring.normal])
    across = shift(ring.normal, points)
    return Shieldings(float(centre), float(above), float(across[0]), float(across[1]), heights, across[2:])


def _at(functions: GaussianExpansion, terms: Reals, points: Reals) -> Reals:
    """Values of sums at points, shape (n_points, n_sums); a few points at a time."""
    n_terms = int(functions.first_term[-1])
    step = max(1, _POINTS // n_terms)
    result = np.empty((len(points), terms.shape[1]))
    for begin in range(0, len(points), step):
        some = points[begin : begin + step]
        monomials = np.zeros((n_terms, len(some)))
        for degree, which, powers, _ in by_degree(functions):
            away = some[None] - functions.centre[which][:, None]
            square = functions.exponent[which][:, None] * np.einsum("npi,npi->np", away, away)
            radial = np.exp(-np.minimum(square, _NEGLIGIBLE))
            x, y, z = [radial], [np.ones_like(radial)], [np.ones_like(radial)]
            for axis, column in enumerate((x, y, z)):
                for _ in range(degree):
                    column.append(column[-1] * away[:, :, axis])
            first = functions.first_term[which]
            for place, (i, j, k) in enumerate(powers.tolist()):
                monomials[first + place] = x[i] * y[j] * z[k]
        result[begin : begin + step] = monomials.T @ terms
        checkpoint()
    return result
