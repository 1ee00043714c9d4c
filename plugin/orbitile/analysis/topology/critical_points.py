r"""All critical points of the electron density, and the paths that join atoms.

Searches begin at the nuclei, between neighbours, and on a grid; the theorem of Poincare and Hopf,

.. math::  n_\mathrm{maxima} - n_\mathrm{bonds} + n_\mathrm{rings} - n_\mathrm{cages} = 1

says whether points are missing, and then the grid is made finer (K. Collard, G. G. Hall, Int. J. Quantum Chem. 1977,
12, 623; R. F. W. Bader, Atoms in Molecules, Oxford 1990, chapter 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...errors import OrbitileError
from ...model.cell import molecules_only
from ...model.derived import Derived
from ...model.elements import ATOMIC_RADII
from ...model.wavefunction import Wavefunction
from ...watch import stage
from .balls import Balls
from .derivatives import DensityDerivatives, density_derivatives
from .missing_cores import radius_of_hole, with_missing_core
from .paths import ascents
from .region import euler_characteristic, has_gaps
from .rings import atoms_about
from .search import Found, critical_points_near, nothing_found, promising
from .seeds import between_atoms, on_grid

Reals = NDArray[np.float64]
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
        trace: Reals = self.eigenvalues.sum(axis=1)
        return trace

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
        result: Reals = self.laplacian / 4 - 2 * self.kinetic
        return result

    @property
    def energy(self) -> Reals:
        """Energy density H = G + V, which is less the kinetic energy density K, shape (n,), in hartree bohr^-3."""
        return self.kinetic + self.potential


_TOPOLOGIES = Derived[Topology](most=2)


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
