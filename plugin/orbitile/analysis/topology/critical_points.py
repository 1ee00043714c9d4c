r"""All critical points of the electron density, and the paths that join atoms.

Searches begin at the nuclei, between neighbours, and on a grid; the theorem of Poincare and Hopf,

.. math::  n_\mathrm{maxima} - n_\mathrm{bonds} + n_\mathrm{rings} - n_\mathrm{cages} = 1

says whether points are missing, and then the grid is made finer (K. Collard, G. G. Hall, Int. J. Quantum Chem. 1977,
12, 623; R. F. W. Bader, Atoms in Molecules, Oxford 1990, chapter 2).

**Core potentials** leave a hole in the density at the nucleus, and no maximum. The valence density is largest on a
sphere about such a nucleus, and has critical points of all kinds on it and within,
which mean nothing. Through a larger sphere on which the density falls outwards everywhere, the theorem of Poincare and
Hopf holds: what is inside counts as much as one maximum. So one is put there, at the nucleus, in place of all that.

**The sum** of maxima less bonds plus rings less cages, of the region where the density is above a limit, is the Euler
characteristic of that region (J. Milnor, Morse Theory, Princeton 1963, theorem 5.2): 1 for a molecule without gaps; 2
for two that are far from each other; 0 for a ring so wide that there is no density within.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...base.caches import Derived
from ...base.errors import OrbitileError
from ...base.watch import stage
from ...gaussians.extent import directions
from ...gaussians.packing import packed_shells
from ...model.cell import molecules_only
from ...model.elements import ATOMIC_RADII
from ...model.wavefunction import Wavefunction
from .derivatives import DensityDerivatives, density_derivatives, shells_of
from .paths import ascents, atoms_about
from .search import Balls, Found, between_atoms, critical_points_near, nothing_found, on_grid, promising

_GAP = 7.0
"""Distance in bohr between parts of a molecule from which on there may be no density between them."""

_TAILS = 1e-4
"""Density up to which a limit is one of the tails of atoms, in e bohr^-3."""

_SPACING = {True: 1.1, False: 0.4}
"""Of the lattice on which the region is looked at, in bohr: in the tails of atoms surfaces are smooth."""

_INSIDE = {True: 2.5, False: 0.2}
"""Distance from a nucleus in bohr up to which there is more density than that."""

_MARGIN, _WIDEST = 6.0, 40.0
"""About the nuclei in bohr, at first and at most."""

_FINEST = 1 << 22
"""Points of the lattice; beyond, it is made coarser."""


def has_gaps(positions: Reals) -> bool:
    """Whether some nuclei are far from all others."""
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial.distance import pdist, squareform

    tree = minimum_spanning_tree(squareform(pdist(positions)))
    return bool(tree.nnz) and float(tree.max()) > _GAP


def euler_characteristic(field: DensityDerivatives, positions: Reals, least: float) -> int:
    """Of the region where the density is above a limit: parts less tunnels plus voids.

    Parameters
    ----------
    field
        The density.
    positions : ndarray, shape (n, 3)
        Of the nuclei, in bohr.
    least
        The limit in e bohr^-3.
    """
    from scipy.spatial import cKDTree

    tree, margin, tails = cKDTree(positions), _MARGIN, least <= _TAILS
    while True:
        low, high = positions.min(axis=0) - margin, positions.max(axis=0) + margin
        spacing = max(_SPACING[tails], float(np.prod(high - low) / _FINEST) ** (1 / 3))
        axes = [np.arange(a, b + spacing, spacing) for a, b in zip(low, high, strict=True)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        distance = tree.query(points.reshape(-1, 3), distance_upper_bound=margin + spacing)[0]
        inside = distance < _INSIDE[tails]
        doubtful = np.flatnonzero(~inside & np.isfinite(distance))
        inside[doubtful] = field.gradient(points.reshape(-1, 3)[doubtful])[0] > least
        within = inside.reshape(points.shape[:3])
        outermost = max(float(distance[inside].max(initial=0.0)), 0.0)
        if outermost < margin - 2 * spacing or margin >= _WIDEST:
            return _of_lattice(within)
        margin *= 1.5


def _of_lattice(within: NDArray[np.bool_]) -> int:
    """Points less edges plus squares less cubes, of those with all corners within."""
    total = 0
    for axes in np.ndindex(2, 2, 2):
        cells = within
        for axis, spans in enumerate(axes):
            if spans:
                first, last = [slice(None)] * 3, [slice(None)] * 3
                first[axis], last[axis] = slice(None, -1), slice(1, None)
                cells = cells[tuple(first)] & cells[tuple(last)]
        total += (-1) ** sum(axes) * int(cells.sum())
    return total


_DIRECTIONS = 60
_RADII = np.arange(0.05, 3.0, 0.05)
"""Of the spheres that are tried, in bohr."""

_SHARE = 0.7
"""Of the distance to the nearest nucleus: how large a sphere may be."""


def with_missing_core(wavefunction: Wavefunction) -> NDArray[np.intp]:
    """Atoms of which some electrons are in a core potential, from 0."""
    missing = wavefunction.core_charges < wavefunction.atomic_numbers - 0.5
    return np.flatnonzero(missing & ~wavefunction.is_ghost)


def radius_of_hole(field: DensityDerivatives, wavefunction: Wavefunction, atom: int) -> float:
    """Radius of the smallest sphere about a nucleus, outside of the hole, on which the density falls everywhere.

    Returns
    -------
    float
        In bohr; NaN where there is none before the next nucleus is near.
    """
    centre = wavefunction.positions[atom]
    others = wavefunction.positions[~wavefunction.is_ghost & (np.arange(wavefunction.n_atoms) != atom)]
    nearest = np.sqrt(((others - centre) ** 2).sum(axis=1)).min(initial=np.inf)
    radii = _RADII[_SHARE * nearest > _RADII]
    along = directions(_DIRECTIONS)
    points = centre + radii[:, None, None] * along
    density, gradient = field.gradient(points.reshape(-1, 3))
    slope = np.einsum("rdi,di->rd", gradient.reshape(points.shape), along).max(axis=1)
    highest = int(np.argmax(density.reshape(len(radii), -1).mean(axis=1)))
    falling = np.flatnonzero(slope[highest:] < 0)
    return float(radii[highest + falling[0]]) if len(falling) else float("nan")


Integers = NDArray[np.int64]

KINDS = ("cage", "ring", "bond", "maximum")
"""Kinds of critical points by the number of directions in which the density falls."""

LEAST = 1e-6
"""Density in e bohr^-3 below which nothing is looked for: tails of Gaussians have critical points that mean nothing."""

_AT_NUCLEUS = 0.3
"""Distance in bohr from a nucleus up to which a maximum is its own."""

_BALLS = (0.3, 0.15)
"""Radii in bohr of the balls that hold nothing but a maximum, about nuclei and about those of hydrogen and helium."""

_AT_NOTHING = 0.1
"""Radius of the ball about a maximum without a nucleus in which paths end."""

_GRIDS = ((0.8, 0.6), (0.55, 1.0), (0.35, 1.0), (0.25, 1.0))
"""Spacings of the grids in bohr, and what Newton's step may be from points that count, in spacings."""

_MOST = 250_000
"""Points of a grid up to which it is used."""


@dataclass(frozen=True, eq=False)
class Topology:
    """Critical points of a density: maxima first, then those on bonds, in rings, in cages.

    Attributes
    ----------
    positions : ndarray, shape (n, 3)
        In bohr.
    kinds : tuple of str
        maximum, bond, ring, cage; degenerate where a curvature vanishes.
    density : ndarray, shape (n,)
        In e bohr^-3.
    eigenvalues : ndarray, shape (n, 3)
        Of the Hessian, rising, in e bohr^-5; NaN for the maximum that stands for a missing core.
    kinetic : ndarray, shape (n,)
        Positive definite kinetic energy density G, in hartree bohr^-3; NaN likewise.
    atoms : tuple of tuple of int
        The nucleus of a maximum; the two atoms of a bond; those about a ring, in order; those about a cage. A negative
        number -k is the k-th maximum without a nucleus.
    bond_paths : tuple of ndarray, shape (n_points, 3)
        From the first atom of each bond to the second, in bohr, in the order of the bonds.
    attractors : Balls
        About the maxima, which are their centres: all paths of steepest ascent that come into one end there.
    missing_cores : tuple of int
        Atoms whose maximum stands for a missing core.
    expected : int
        What the index has to be: 1, but for molecules with gaps, see `region`.
    """

    positions: Reals
    kinds: tuple[str, ...]
    density: Reals
    eigenvalues: Reals
    kinetic: Reals
    atoms: tuple[tuple[int, ...], ...]
    bond_paths: tuple[Reals, ...]
    attractors: Balls
    missing_cores: tuple[int, ...]
    expected: int

    def count(self, kind: str) -> int:
        """How many critical points there are of a kind."""
        return self.kinds.count(kind)

    @property
    def index(self) -> int:
        """Maxima less bonds plus rings less cages: as `expected`, where none is missing."""
        return self.count("maximum") - self.count("bond") + self.count("ring") - self.count("cage")

    @property
    def laplacian(self) -> Reals:
        """The trace of the Hessian, shape (n,), in e bohr^-5."""
        return self.eigenvalues.sum(axis=1)

    @property
    def ellipticity(self) -> Reals:
        r"""How much the density on a bond differs from that about an axis, :math:`\lambda_1/\lambda_2 - 1`, shape (n,).

        NaN for what is no bond (Bader et al., J. Am. Chem. Soc. 1983, 105, 5061).
        """
        bond = np.array([kind == "bond" for kind in self.kinds], bool)
        ratio: Reals = self.eigenvalues[:, 0] / np.where(self.eigenvalues[:, 1] == 0, np.nan, self.eigenvalues[:, 1])
        return np.where(bond, ratio - 1, np.nan)

    @property
    def potential(self) -> Reals:
        r"""Potential energy density by the local virial theorem, :math:`V = \frac14 \nabla^2\rho - 2G`, shape (n,).

        In hartree bohr^-3 (R. F. W. Bader, Atoms in Molecules, Oxford 1990, eq. 6.31).
        """
        return self.laplacian / 4 - 2 * self.kinetic

    @property
    def energy(self) -> Reals:
        """Energy density H = G + V, which is less the kinetic energy density K, shape (n,), in hartree bohr^-3."""
        return self.kinetic + self.potential


_TOPOLOGIES = Derived[Topology]("analyses")


def topology_of(wavefunction: Wavefunction, least: float = LEAST) -> Topology:
    """Find all critical points of the electron density and follow the bond paths.

    Kept as long as the wavefunction lives.

    Parameters
    ----------
    wavefunction
    least
        Density in e bohr^-3 below which nothing is looked for.

    Raises
    ------
    OrbitileError
        When there are no nuclei, or no occupied orbitals.
    """
    molecules_only(wavefunction, "topology", "critical points are looked for about the atoms of one cell alone")
    if bool(wavefunction.is_ghost.all()):
        raise OrbitileError("topology: expected nuclei, got ghost atoms only")
    return _TOPOLOGIES.of(wavefunction, least, partial(_topology, wavefunction, least))


@dataclass(frozen=True, eq=False)
class _Nuclei:
    """Nuclei of a molecule, those whose core is missing apart.

    Attributes
    ----------
    atoms : ndarray of int, shape (n,)
        Which of the atoms they are.
    positions : ndarray, shape (n, 3)
    radii : ndarray, shape (n,)
        Sizes of the atoms, in Angstrom.
    balls : Balls
        About each, in which there is nothing but its maximum.
    hollow : ndarray of bool, shape (n,)
        Whether the maximum is one that stands for a missing core.
    """

    atoms: NDArray[np.intp]
    positions: Reals
    radii: Reals
    balls: Balls
    hollow: NDArray[np.bool_]

    def without_holes(self, found: Found) -> Found:
        """Critical points that are in no hole of a missing core."""
        return found.chosen(~self.balls.chosen(self.hollow).hold(found.positions))


def _nuclei(field: DensityDerivatives, wavefunction: Wavefunction) -> _Nuclei:
    atoms = np.flatnonzero(~wavefunction.is_ghost)
    numbers = wavefunction.atomic_numbers[atoms]
    holes = {int(atom): radius_of_hole(field, wavefunction, atom) for atom in with_missing_core(wavefunction)}
    usual = np.where(numbers > 2, *_BALLS)
    radii = np.array([holes.get(atom, radius) for atom, radius in zip(atoms.tolist(), usual, strict=True)])
    return _Nuclei(
        atoms,
        wavefunction.positions[atoms],
        np.array([ATOMIC_RADII[min(int(number), len(ATOMIC_RADII) - 1)] for number in numbers]),
        # in a hole that nothing encloses there may be any critical point
        Balls(wavefunction.positions[atoms], np.nan_to_num(radii)),
        np.array([np.isfinite(holes.get(atom, np.nan)) for atom in atoms.tolist()]),
    )


def _topology(wavefunction: Wavefunction, least: float) -> Topology:
    field = density_derivatives(wavefunction)
    nuclei = _nuclei(field, wavefunction)
    with stage(0.0, 0.6):
        found, expected = _all_found(field, nuclei, least)
    found = found.chosen(np.argsort(4 * found.degenerate - found.n_negative, kind="stable"))
    hollow = int(nuclei.hollow.sum())
    of_found = np.where(found.degenerate, "degenerate", np.array(KINDS)[found.n_negative])
    kinds = ["maximum"] * hollow + of_found.tolist()
    positions = np.concatenate([nuclei.positions[nuclei.hollow], found.positions])
    maxima = positions[: kinds.count("maximum")]
    owners, balls = _owners(maxima, nuclei)
    attractors = Balls(maxima, balls)
    bonds, rings, cages = (found.chosen(of_found == kind) for kind in ("bond", "ring", "cage"))
    with stage(0.6, 0.9):
        ends, joined, lines = _bond_paths(field, bonds, attractors, owners)
    with stage(0.9, 1.0):
        about = atoms_about(field, rings, cages, attractors, ends)
    atoms: list[tuple[int, ...]] = [(owner,) for owner in owners]
    atoms += [*joined, *(tuple(owners[end] for end in some) for some in about)]
    atoms += [() for _ in range(len(positions) - len(atoms))]
    order = sorted(range(len(positions)), key=lambda n: (_RANK[kinds[n]], [_place_of(atom) for atom in atoms[n]]))
    kinetic = field.kinetic(positions)
    kinetic[:hollow] = np.nan
    of_holes = field.gradient(positions[:hollow])[0]
    return Topology(
        positions[order],
        tuple(kinds[n] for n in order),
        np.concatenate([of_holes, found.density])[order],
        np.concatenate([np.full((hollow, 3), np.nan), found.eigenvalues])[order],
        kinetic[order],
        tuple(atoms[n] for n in order),
        tuple(lines[n - len(maxima)] for n in order if kinds[n] == "bond"),
        attractors.chosen(np.array(order[: len(maxima)], np.intp)),
        tuple(nuclei.atoms[nuclei.hollow].tolist()),
        expected,
    )


_RANK = {"maximum": 0, "bond": 1, "ring": 2, "cage": 3, "degenerate": 4}


def _place_of(owner: int) -> tuple[bool, int]:
    """What critical points are sorted by: atoms, then maxima without a nucleus."""
    return owner < 0, abs(owner)


def _all_found(field: DensityDerivatives, nuclei: _Nuclei, least: float) -> tuple[Found, int]:
    """Critical points outside of holes, looked for until their sum is right or the grid as fine as may be; the sum."""
    hollow = int(nuclei.hollow.sum())
    full = nuclei.positions[~nuclei.hollow]
    near = partial(critical_points_near, field, least=least, avoided=nuclei.balls)
    with stage(0.0, 0.05):
        found = near(full, np.full(len(full), 3), known=nothing_found())
    searched, expected = -1, 0
    for n, (spacing, within) in enumerate(_GRIDS):
        # the first is enough, but for few molecules
        begin, length = (0.05, 0.85) if n == 0 else (0.9 + 0.03 * n, 0.03)
        maxima = found.positions[found.n_negative == 3]
        if len(maxima) > searched or n:
            # maxima without a nucleus have neighbours too; where points are missing, all kinds may be anywhere
            searched = len(maxima)
            seeds, wanted = _between(nuclei, maxima)
            for kind in range(4) if n else (wanted,):
                with stage(begin, begin + 0.5 * length):
                    found = near(seeds, np.broadcast_to(kind, len(seeds)), known=found)
        grid = on_grid(nuclei.positions, spacing, spacing / np.e, _MOST)
        if len(grid):
            with stage(begin + 0.5 * length, begin + 0.8 * length):
                seeds, wanted = promising(field, grid[~nuclei.balls.hold(grid)], within * spacing, least, found)
            with stage(begin + 0.8 * length, begin + length):
                found = near(seeds, wanted, known=found, farthest=1.5 * spacing)
        found = nuclei.without_holes(found)
        index = found.index + hollow
        if n == 0:
            simple = index == 1 and not has_gaps(nuclei.positions)
            expected = 1 if simple else euler_characteristic(field, nuclei.positions, least)
        complete = index == expected and int((found.n_negative == 3).sum()) <= searched
        if complete or not len(grid):
            break
    return found, expected


def _between(nuclei: _Nuclei, maxima: Reals) -> tuple[Reals, Integers]:
    """Seeds between nuclei, and maxima that are at none of them."""
    at_nuclei = Balls(nuclei.positions, np.full(len(nuclei.atoms), _AT_NUCLEUS))
    without = maxima[~at_nuclei.hold(maxima)]
    sizes = np.concatenate([nuclei.radii, np.ones(len(without))])
    return between_atoms(np.concatenate([nuclei.positions, without]), sizes)


def _owners(maxima: Reals, nuclei: _Nuclei) -> tuple[list[int], Reals]:
    """The atom of each maximum, or -1, -2, ... for those without a nucleus; and the radii of the balls about them."""
    owners, balls, without = [], [], 0
    for place in maxima:
        away = np.sqrt(((nuclei.positions - place) ** 2).sum(axis=1))
        nearest = int(away.argmin())
        own = away[nearest] < _AT_NUCLEUS
        without += not own
        owners.append(int(nuclei.atoms[nearest]) if own else -without)
        balls.append(nuclei.balls.radii[nearest] if own else _AT_NOTHING)
    return owners, np.array(balls)


def _bond_paths(
    field: DensityDerivatives, bonds: Found, attractors: Balls, owners: list[int]
) -> tuple[Integers, list[tuple[int, ...]], list[Reals]]:
    """Of each bond: the two attractors, -1 for none; what is there, atoms first; and the path in this order."""
    along = bonds.eigenvectors[:, :, 2]
    directions = np.stack([along, -along], axis=1).reshape(-1, 3)
    paths = ascents(field, np.repeat(bonds.positions, 2, axis=0), directions, attractors)
    ends = paths.ends.reshape(-1, 2)
    atoms, lines = [], []
    for n, pair in enumerate(ends.tolist()):
        places = [_place_of(owners[end]) if end >= 0 else (True, len(owners) + 1) for end in pair]
        first, second = (0, 1) if places[0] <= places[1] else (1, 0)
        atoms.append(tuple(owners[pair[which]] for which in (first, second) if pair[which] >= 0))
        lines.append(np.concatenate([paths.lines[2 * n + first][::-1], paths.lines[2 * n + second][1:]]))
    return ends, atoms, lines


_POINTS = 550
"""Points for each atom at which the density is evaluated with its Hessian: the search, the grid, the paths."""

_FUNCTION, _PRODUCT = 1e-7, 2e-10
"""Seconds for a basis function at a point, and for its product with an orbital."""


def seconds_of_search(wavefunction: Wavefunction) -> float:
    """Estimate of the time that the critical points and bond paths of a molecule take on one core."""
    shells = shells_of(packed_shells(wavefunction))
    atoms = np.flatnonzero(~wavefunction.is_ghost)
    sizes = (shells.angular_momentum + 1) * (shells.angular_momentum + 2) // 2
    some = wavefunction.positions[atoms[:: max(1, len(atoms) // 20)]]
    near = 0.0
    for place in some:
        away = np.sqrt(((shells.atom_position - place) ** 2).sum(axis=1))
        near += float(sizes[shells.reach > away[shells.atom] - _CELL].sum()) / len(some)
    orbitals = wavefunction.n_electrons / 2
    return _POINTS * len(atoms) * near * (_FUNCTION + _PRODUCT * orbitals)


_CELL = 3.0
"""About how far from the middle of a cell its points are, in bohr."""
