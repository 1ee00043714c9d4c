r"""Charges of the atoms by any scheme, bond orders and valences.

**By basis functions**: R. S. Mulliken's and P.-O. Loewdin's populations, and bond orders.

With the orbitals' coefficients C, their occupations n and the overlap S of the basis functions, an atom A has

.. math::  N_A = \sum_{\mu \in A} \sum_i n_i\, X_{\mu i} Y_{\mu i}

- Mulliken (J. Chem. Phys. 1955, 23, 1833, equation 7'): X = C, Y = S C, the diagonal of P S;
- Loewdin (J. Chem. Phys. 1950, 18, 365): X = Y = S^(1/2) C, the diagonal of S^(1/2) P S^(1/2);
- intrinsic atomic orbitals (G. Knizia, J. Chem. Theory Comput. 2013, 9, 4834): X = Y, the orbitals over these;
- natural atomic orbitals: see `orbitile.analysis.natural_populations`.

The overlap is sparse where a molecule is large, and no density matrix is made; S^(1/2) alone is a full matrix.

**Bond orders and valences.** With the matrices :math:`T = \sum_i n_i X_i Y_i^T` of all electrons and :math:`T^s` of
alpha less beta electrons,

.. math::  B_{AB} = \sum_{\mu \in A} \sum_{\nu \in B}
    \left[ T_{\mu\nu} T_{\nu\mu} + T^s_{\mu\nu} T^s_{\nu\mu} \right], \qquad
    V_A = 2 N_A - \sum_{\mu, \nu \in A} T_{\mu\nu} T_{\nu\mu}, \qquad F_A = V_A - \sum_{B \ne A} B_{AB}

I. Mayer's bond orders, valences and free valences (Chem. Phys. Lett. 1983, 97, 270; Int. J. Quantum Chem. 1986, 29,
477) are those over the basis functions as they are, T = P S. K. B. Wiberg's (Tetrahedron 1968, 24, 1083) are those over
orthogonal functions, of Loewdin or intrinsic atomic orbitals; with unpaired electrons they have the same second term
here.

Electrons that are shared, half of :math:`B_{AB}`, and those that atoms keep, half of the same sum with B = A, add up to
all electrons of a determinant:

.. math::  \tfrac12 \sum_{AB} B_{AB} = \sum_\sigma \mathrm{Tr}\, T_\sigma T_\sigma = N

**By parts of space**: A. D. Becke's fuzzy cells and F. L. Hirshfeld's shares.

.. math::  N_A = \int w_A(r)\, \rho(r)\, dr, \qquad \sum_A w_A = 1

Becke's w (J. Chem. Phys. 1988, 88, 2547) are those that his quadrature has for itself, with borders shifted by the
radii of the atoms. Hirshfeld's (Theor. Chim. Acta 1977, 44, 129) are the shares of free atoms in the promolecule, whose
densities are spherical: :math:`w_A = \rho_A / \sum_B \rho_B`. Of the latter only the difference is integrated,

.. math::  N_A = N_A^\mathrm{free} + \int w_A \Big( \rho - \sum_B \rho_B \Big) dr

for it has no peaks at the nuclei, so that much fewer points do. With core potentials :math:`\rho` and the sum are
without the cores, which would cancel.

**Iterative Hirshfeld charges** (P. Bultinck, C. Van Alsenoy, P. W. Ayers and R. Carbo-Dorca, J. Chem. Phys. 2007, 126,
144111) have shares of free ions in place of free atoms: those with the electrons that the shares give them,

.. math::  w_A = \frac{\rho_A(q_A)}{\sum_B \rho_B(q_B)}, \qquad q_A = Z_A - \int w_A\, \rho\, dr

`orbitile.model.free_atoms.free_ion` has their densities, linear between whole charges.

**By atoms fitted to the density**: the minimal basis iterative stockholder (MBIS) of T. Verstraelen, S. Vandenbrande,
F. Heidar-Zadeh, L. Vanduyfhuys, V. Van Speybroeck, M. Waroquier and P. W. Ayers (J. Chem. Theory Comput. 2016, 12,
3894).
The shares are those of atoms that are sums of exponential shells, one for each row of the periodic table up to that of
the element, with the electrons and widths that give themselves back:

.. math::  w_A = \frac{\sum_{i \in A} \rho_i}{\sum_j \rho_j}, \qquad
    \rho_i = \frac{N_i}{8 \pi \sigma_i^3}\, e^{-|r - R_A| / \sigma_i}

.. math::  N_i = \int \rho \frac{\rho_i}{\sum_j \rho_j} dr, \qquad
    \sigma_i = \frac{1}{3 N_i} \int |r - R_A|\, \rho \frac{\rho_i}{\sum_j \rho_j} dr

For some elements these equations have several solutions. From the first values of the paper, full shells with widths
in equal ratios from 1 / (2 Z) to 1 / 2 bohr, two shells of manganese in the permanganate ion become one, and its charge
2.22 e. Here the first values are the shells of free atoms, found in the same way from those of the noble gas before and
one of 1 / 2 bohr; they lead to 1.95 e, and to shells whose divergence from the density is less. The equations are
iterated, and extrapolated after every second time by scheme S3 of R. Varadhan and C. Roland (Scand. J. Stat. 2008, 35,
335) in the logarithms, unless the divergence grows by this: a third or a tenth of the iterations is left.

Where core potentials replace electrons, the cores of free atoms are added to :math:`\rho`, so that all atoms have all
shells.

**Charge model 5** corrects Hirshfeld charges for the polarity of bonds, so that they have the dipole moment.

.. math::  q_A = q_A^\mathrm{Hirshfeld} + \sum_{B} T_{AB}\, e^{-\alpha (r_{AB} - R_A - R_B)}, \qquad
    T_{AB} = D_A - D_B

A. V. Marenich, S. V. Jerome, C. J. Cramer and D. G. Truhlar, J. Chem. Theory Comput. 2012, 8, 527, equations 1 to 4,
with their parameters (table 1; of pairs, table 2) and the covalent radii that they took from M. Mantina, R. Valero, C.
J. Cramer and D. G. Truhlar (CRC Handbook of Chemistry and Physics, 91st edition, pages 9-49 and 9-50).

**From the potential**: charges at the nuclei whose potential is that of the molecule at points outside of it, as
nearly as can be.

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..base.arguments import alternatives
from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.errors import Cancelled, OrbitileError
from ..base.memory import share
from ..base.watch import checkpoint, patiently, pieces, stage, watcher
from ..fields.density import occupied, unavailable
from ..gaussians.overlap import own_overlap
from ..model.free_atoms import FreeAtom, free_atom, free_ion
from ..model.geometry import connected_parts, find_bonds
from ..model.units import angstrom
from ..model.wavefunction import Spin, Wavefunction

if TYPE_CHECKING:
    from .natural_populations import NaturalShells

BOTH: tuple[Spin, Spin] = ("alpha", "beta")

_COLUMNS = 256
"""Orbitals that are multiplied with the overlap at once."""


@dataclass(frozen=True, eq=False)
class SharedOrbitals:
    r"""Orbitals over functions that belong to atoms each, with their duals: what populations and bond orders are of.

    Attributes
    ----------
    coefficients, duals : ndarray, shape (n_functions, n_orbitals)
        X and Y, such that :math:`X^T Y` is the overlap of the orbitals.
    weights : ndarray, shape (n_orbitals,)
        Occupations; of the spin density, less than zero for beta orbitals.
    atoms : ndarray of int, shape (n_functions,)
        The atom that each function belongs to, rising.
    n_atoms : int
    """

    coefficients: Reals
    duals: Reals
    weights: Reals
    atoms: NDArray[np.int64]
    n_atoms: int

    @property
    def populations(self) -> Reals:
        """Electrons of the atoms, shape (n_atoms,)."""
        of_functions = np.einsum("fi,fi,i->f", self.coefficients, self.duals, self.weights)
        populations = np.bincount(self.atoms, of_functions, self.n_atoms).astype(np.float64)
        return populations


def mulliken_orbitals(wavefunction: Wavefunction, which: str = "total") -> SharedOrbitals:
    """Orbitals over the basis functions as they are; which density: total, alpha, beta or spin.

    Raises
    ------
    FieldError
        As `orbitile.fields.density.occupied`.
    """
    coefficients, weights = occupied(wavefunction, which)
    overlap = own_overlap(wavefunction)
    return _by_atoms(wavefunction, coefficients, _times(overlap, coefficients), weights)


def loewdin_orbitals(wavefunction: Wavefunction, which: str = "total") -> SharedOrbitals:
    """Orbitals over the basis functions made orthogonal by S^(-1/2); otherwise as `mulliken_orbitals`.

    A full matrix of 8 n_basis^2 bytes is made, and kept with the wavefunction.
    """
    coefficients, weights = occupied(wavefunction, which)
    orthogonal = _times(overlap_root(wavefunction), coefficients)
    return _by_atoms(wavefunction, orthogonal, orthogonal, weights)


def intrinsic_orbitals(wavefunction: Wavefunction, spin: Spin) -> SharedOrbitals:
    """Occupied orbitals of one spin over its intrinsic atomic orbitals, one electron each.

    Raises
    ------
    OrbitileError
        When the density is one that no such orbitals have, and as `intrinsic_atomic_orbitals`.
    """
    from ..gaussians.localised.intrinsic_atomic_orbitals import (
        in_intrinsic,
        intrinsic_atomic_orbitals,
        whole_occupations,
    )

    if wavefunction.density_matrix.size:
        raise OrbitileError(
            "intrinsic atomic orbitals: expected the density of occupied orbitals, got the density matrix of a "
            "correlated method; use mulliken or hirshfeld"
        )
    atomic = intrinsic_atomic_orbitals(wavefunction, spin)
    fewest = 2 if spin == "beta" and wavefunction.beta is None else 1
    there = whole_occupations(wavefunction, spin) >= fewest
    shares = in_intrinsic(wavefunction, atomic, wavefunction.orbitals(spin).coefficients[:, there])
    return SharedOrbitals(shares, shares, np.ones(shares.shape[1]), atomic.atoms, wavefunction.n_atoms)


def spins_unavailable(wavefunction: Wavefunction) -> str:
    """Why there are no spin populations, empty where there are."""
    return unavailable(wavefunction).get("spin", "")


_ROOTS = Derived[Reals]("analyses")


def overlap_root(wavefunction: Wavefunction) -> Reals:
    """The symmetric root S^(1/2) of the overlap of the basis functions, shape (n_basis, n_basis), kept with them."""
    return _ROOTS.of(wavefunction, None, lambda: _made_root(wavefunction))


def _made_root(wavefunction: Wavefunction) -> Reals:
    overlap = own_overlap(wavefunction)
    dense = overlap if isinstance(overlap, np.ndarray) else overlap.toarray()

    def root() -> Reals:
        values, axes = np.linalg.eigh(dense)
        # values of functions that depend on others are zero but for rounding
        return (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T

    return patiently(root)


def _times(matrix: object, coefficients: Reals) -> Reals:
    """A matrix times coefficients, orbitals by pieces so that it can be cancelled."""
    result = np.empty_like(coefficients)
    for some in pieces(coefficients.shape[1], _COLUMNS):
        result[:, some] = matrix @ coefficients[:, some]  # type: ignore[operator]  # dense or sparse
    return result


def _by_atoms(wavefunction: Wavefunction, coefficients: Reals, duals: Reals, weights: Reals) -> SharedOrbitals:
    """With the functions in the order of the atoms."""
    shells = wavefunction.shells
    atoms = np.repeat([shell.atom for shell in shells], [shell.n_functions for shell in shells])
    order = np.argsort(atoms, kind="stable")
    duals_in_order = duals[order]
    same = duals is coefficients
    return SharedOrbitals(
        duals_in_order if same else coefficients[order], duals_in_order, weights, atoms[order], wavefunction.n_atoms
    )


_MATRIX_ELEMENTS = share("matrix", 8)
"""Elements of a matrix over functions that are held at once; four such matrices are."""


@dataclass(frozen=True, eq=False)
class BondOrders:
    """Bond orders of all pairs of atoms.

    Attributes
    ----------
    orders : ndarray, shape (n_atoms, n_atoms)
        Symmetric, with zeros on the diagonal.
    localised : ndarray, shape (n_atoms,)
        Electrons that each atom does not share.
    """

    orders: Reals
    localised: Reals

    @property
    def electrons(self) -> float:
        """Electrons that are shared and that are not."""
        return float(self.localised.sum() + self.orders.sum() / 2)


def bond_orders(total: SharedOrbitals, spin: SharedOrbitals | None = None) -> BondOrders:
    """Bond orders.

    Parameters
    ----------
    total
        Orbitals of all electrons.
    spin
        Over the same functions, of alpha less beta electrons; None where all are paired.

    Returns
    -------
    BondOrders
        Rows of the matrices are made in pieces of 32 MB.
    """
    sums = _exchanged(total)
    return _made(sums if spin is None else sums + _exchanged(spin))


def bond_orders_of_spins(alpha: SharedOrbitals, beta: SharedOrbitals) -> BondOrders:
    """Bond orders of electrons whose spins are over different functions: the same sums are twice those of each spin."""
    return _made(2 * (_exchanged(alpha) + _exchanged(beta)))


def valences(total: SharedOrbitals) -> Reals:
    """Valences of the atoms, shape (n_atoms,), of orbitals of all electrons."""
    result = 2 * total.populations
    for atom in np.unique(total.atoms):
        first, last = np.searchsorted(total.atoms, [atom, atom + 1])
        block = (total.coefficients[first:last] * total.weights) @ total.duals[first:last].T
        result[atom] -= np.sum(block * block.T)
        checkpoint()
    return result


def _made(sums: Reals) -> BondOrders:
    localised = np.diag(sums) / 2
    orders = (sums + sums.T) / 2
    np.fill_diagonal(orders, 0.0)
    return BondOrders(orders, localised)


def _exchanged(orbitals: SharedOrbitals) -> Reals:
    """The sum over the functions of two atoms of T_mn T_nm, shape (n_atoms, n_atoms)."""
    n_functions = len(orbitals.atoms)
    weighted = orbitals.coefficients * orbitals.weights
    result = np.zeros((orbitals.n_atoms, orbitals.n_atoms))
    present, first_function = np.unique(orbitals.atoms, return_index=True)
    for rows in pieces(n_functions, _MATRIX_ELEMENTS // n_functions):
        there = weighted[rows] @ orbitals.duals.T
        back = orbitals.duals[rows] @ weighted.T
        there *= back
        by_column = np.add.reduceat(there, first_function, axis=1)
        some, starts = np.unique(orbitals.atoms[rows], return_index=True)
        result[np.ix_(some, present)] += np.add.reduceat(by_column, starts, axis=0)
    return result


_FRACTION = 1e-4
"""Occupations may be off whole numbers by this much."""


@dataclass(frozen=True, eq=False)
class Bonds:
    """Bond orders by several schemes, and valences by Mayer.

    Attributes
    ----------
    orders : mapping of str to BondOrders
        mayer, wiberg (over Loewdin's orthogonal functions), and where there are intrinsic atomic orbitals wiberg_iao.
    populations, valences : ndarray, shape (n_atoms,)
        By Mulliken, in e; by Mayer.
    n_electrons : float
    is_determinant : bool
        Whether orbitals are occupied or not, so that electrons shared and kept add up to all.
    remarks : tuple of str
        What the molecule does not have, a sentence each.
    """

    orders: Mapping[str, BondOrders]
    populations: Reals
    valences: Reals
    n_electrons: float
    is_determinant: bool
    remarks: tuple[str, ...]


def bonds_of(wavefunction: Wavefunction) -> Bonds:
    """Bond orders and valences.

    Raises
    ------
    FieldError
        When the file gives no occupied orbitals.
    OrbitileError
        When they are complex: spins that point along several axes share electrons in other ways.
    """
    wavefunction.require_real()
    missing = spins_unavailable(wavefunction)
    remarks = []
    if missing and wavefunction.kind != "restricted":
        remarks.append(f"bond orders are those of paired electrons: {missing}")
    total = mulliken_orbitals(wavefunction)
    orders = {
        "mayer": bond_orders(total, None if missing else mulliken_orbitals(wavefunction, "spin")),
        "wiberg": bond_orders(
            loewdin_orbitals(wavefunction), None if missing else loewdin_orbitals(wavefunction, "spin")
        ),
    }
    try:
        orders["wiberg_iao"] = bond_orders_of_spins(*(intrinsic_orbitals(wavefunction, spin) for spin in BOTH))
    except Cancelled:
        raise
    except OrbitileError as error:
        remarks.append(f"wiberg_iao is left out: {error}")
    return Bonds(
        orders,
        total.populations,
        valences(total),
        wavefunction.n_electrons,
        is_determinant(wavefunction),
        tuple(remarks),
    )


def is_determinant(wavefunction: Wavefunction) -> bool:
    """Whether orbitals are occupied or not, so that electrons shared and kept add up to all."""
    whole = all(np.allclose(one.occupations, np.round(one.occupations), atol=_FRACTION) for one in wavefunction.sets)
    return whole and not wavefunction.density_matrix.size


LEVEL = 4
"""Level of the quadrature."""

_SAMPLED_AT_ONCE = 1 << 21
"""Points at which the density is computed together: those of a hundred atoms; the lists of what reaches them are 1 GB.
"""

_WEIGHTLESS = 1e-14
"""Weight in bohr^3 up to which a point is left out: such points about an atom are deep in others."""

_IN_SHARES = 1e-7
"""What shares of Becke's cells may be off by, about: charges in a DNA strand of 256 atoms change by 4e-6 e."""

_LEFT_OUT = 3e-9
"""What a Gaussian may add in a cell of points, in e, and be left out: charges in a DNA strand of 256 atoms change by
5e-7 e, and the sum of them by 3e-5 e."""

_SHARED_AT_ONCE = 2048
"""Points that are shared out together: they are neighbours, and few atoms reach them."""

_FAINT = 1e-10
"""Density of a free atom in e bohr^-3 beyond which it is left out."""

_CONVERGED_IONS, _MOST_ROUNDS_OF_IONS, _REMEMBERED = 1e-5, 200, 6
"""Change in e at which charges of free ions have converged, the number of iterations after which that is given up, and
how many of the last ones are extrapolated."""


@dataclass(frozen=True, eq=False)
class SampledDensity:
    """Electron density at the points of a quadrature.

    Attributes
    ----------
    points : ndarray, shape (n_points, 3)
        In bohr; those that follow one another are close.
    weights : ndarray, shape (n_points,)
        In bohr^3.
    atom : ndarray of int, shape (n_points,)
        The atom in whose cell each is.
    densities : ndarray, shape (1 or 2, n_points)
        Of all electrons, and where there are unpaired ones of alpha less beta electrons, in e bohr^-3.
    device : str
        Name of the device on which they were computed.
    """

    points: Reals
    weights: Reals
    atom: NDArray[np.int32]
    densities: Reals
    device: str


def sampled_density(
    wavefunction: Wavefunction, *, spin: bool = False, device: str | None = None, level: int = LEVEL
) -> SampledDensity:
    """The density at the points of Becke's quadrature.

    Parameters
    ----------
    wavefunction
    spin
        Whether the spin density is wanted too.
    device
        As for `orbitile.evaluate`.
    level
        As for `orbitile.integrals.grids.grid_of`. At level 4 some 22,000 points an atom, of 100 bytes each.

    Raises
    ------
    OrbitileError
        When there are no atoms but ghosts, or two are at one place.
    """
    from ..evaluation.devices import device_session
    from ..integrals.grids import Grid, grid_of
    from ..integrals.pairs import pairs_of, to_hermite
    from ..integrals.quadrature import quadrature_of
    from ._quadrature import density_matrix

    found = []
    with device_session(device, "single") as target:
        grid = grid_of(wavefunction.atomic_numbers, wavefunction.positions, target, level, "becke", _IN_SHARES)
        counts = np.flatnonzero(np.abs(grid.weights) > _WEIGHTLESS)  # some rules have weights below 0
        pairs = pairs_of(wavefunction)
        matrices = [density_matrix(wavefunction, which) for which in ("total", "spin")[: 1 + spin]]
        coefficients = [to_hermite(pairs, matrix, target) for matrix in matrices]
        for piece in pieces(len(counts), _SAMPLED_AT_ONCE):
            some = counts[piece]
            its_grid = Grid(grid.points[some], grid.weights[some], grid.atom[some])
            quadrature = quadrature_of(pairs, its_grid, target, _LEFT_OUT)
            # of one array on the device, which the next density fills again
            densities = [np.array(quadrature.density(one, False)[0], np.float64) for one in coefficients]
            found.append((quadrature.points, quadrature.weights, quadrature.atom, np.stack(densities)))
    points, weights, atom, values = zip(*found, strict=True)
    return SampledDensity(
        np.concatenate(points), np.concatenate(weights), np.concatenate(atom), np.hstack(values), target.device
    )


def becke_populations(wavefunction: Wavefunction, sampled: SampledDensity) -> Reals:
    """Electrons in the fuzzy cells, shape (1 or 2, n_atoms): all, and alpha less beta."""
    return np.stack(
        [np.bincount(sampled.atom, sampled.weights * density, wavefunction.n_atoms) for density in sampled.densities]
    )


def hirshfeld_populations(wavefunction: Wavefunction, sampled: SampledDensity) -> Reals:
    """Electrons by the shares of free atoms, shape (1 or 2, n_atoms): all, and alpha less beta.

    Where core potentials replace electrons, the cores of the free atoms stand in for them: the shares are those of
    whole atoms, which have no nodes, and the electrons of a core are not counted.

    Raises
    ------
    OrbitileError
        When there is no free atom of an element.
    """
    neutral = np.zeros(wavefunction.n_atoms)
    return _shared_by_ions(wavefunction, sampled, neutral)


def hirshfeld_i_populations(wavefunction: Wavefunction, sampled: SampledDensity) -> Reals:
    """Electrons by the shares of free ions that have them, shape (1 or 2, n_atoms): all, and alpha less beta.

    Raises
    ------
    OrbitileError
        When there are no free ions of an element, or the electrons do not converge.
    """
    charges = np.zeros(wavefunction.n_atoms)
    tried: list[Reals] = []
    changes: list[Reals] = []
    left = 1.0
    for _ in range(_MOST_ROUNDS_OF_IONS):
        with stage(1 - left, 1 - left * _LEFT_BY_A_CYCLE):
            populations = _shared_by_ions(wavefunction, sampled, charges)
        left *= _LEFT_BY_A_CYCLE
        change = wavefunction.core_charges - populations[0] - charges
        change[wavefunction.is_ghost] = 0.0
        if np.abs(change).max() < _CONVERGED_IONS:
            return populations
        tried, changes = [*tried, charges][-_REMEMBERED:], [*changes, change][-_REMEMBERED:]
        charges = _extrapolated(tried, changes)
        # an atom cannot lose more than its electrons
        charges = np.minimum(charges, wavefunction.core_charges)
    raise OrbitileError(
        f"iterative Hirshfeld charges: expected changes of less than {_CONVERGED_IONS:g} e within "
        f"{_MOST_ROUNDS_OF_IONS} iterations, got {np.abs(change).max():.1e} e; use hirshfeld or mbis"
    )


def _extrapolated(tried: list[Reals], changes: list[Reals]) -> Reals:
    """Where the changes would vanish if they were linear (D. G. Anderson, J. Assoc. Comput. Mach. 1965, 12, 547)."""
    x, change = tried[-1], changes[-1]
    if len(tried) > 1:
        steps = np.array([change - before for before in changes[:-1]]).T
        moves = np.array([x - before for before in tried[:-1]]).T
        weights = np.linalg.lstsq(steps, change, rcond=1e-8)[0]
        return np.asarray(x + change - (moves + steps) @ weights)
    return np.asarray(x + change)


def _shared_by_ions(wavefunction: Wavefunction, sampled: SampledDensity, charges: Reals) -> Reals:
    """Electrons by the shares of free ions of given charges in e, shape (1 or 2, n_atoms)."""
    real = np.flatnonzero(~wavefunction.is_ghost)
    places, numbers = wavefunction.positions[real], wavefunction.atomic_numbers[real]
    free = [
        free_ion(number, charge) if charge else free_atom(number)
        for number, charge in zip(numbers.tolist(), charges[real].tolist(), strict=True)
    ]
    values = sampled.densities * sampled.weights
    values[0] += _replaced_cores(wavefunction, sampled.points) * sampled.weights
    found = _in_proportion(sampled, values, free, places)
    result = np.zeros((len(found), wavefunction.n_atoms))
    result[:, real] = found
    result[0, real] += (wavefunction.core_charges - charges)[real]
    return result


def _in_proportion(sampled: SampledDensity, values: Reals, free: list[FreeAtom], places: Reals) -> Reals:
    """What free atoms have of values at the points, less themselves in the first row; shape (n_rows, n_atoms)."""
    from taichi_kernels.devices import probe
    from taichi_kernels.spherical_shares import RadialTables, spherical_shares

    from ..evaluation.devices import device_session

    kinds = list(dict.fromkeys(free))
    tables = [_Table.of(atom) for atom in kinds]
    number = {atom: n for n, atom in enumerate(kinds)}
    kind, reach = np.array([number[atom] for atom in free]), np.array([table.reach for table in tables])
    if sampled.device != "vulkan" and probe(sampled.device).double:  # loops of one driver of Vulkan end too early
        radial = RadialTables(
            np.stack([table.coefficients for table in tables]), np.array([table.end for table in tables])
        )
        with device_session(sampled.device, "single") as target:
            return spherical_shares(
                sampled.points, sampled.weights, values, places, kind, reach, radial, target, watcher()
            )
    found = np.zeros((len(values), len(places)))
    for some, near in _neighbourhoods(sampled.points, places, reach[kind]):
        points = sampled.points[some]
        parts = np.array([tables[kind[n]].density(points - places[n]) for n in near]).reshape(len(near), len(points))
        whole = parts.sum(axis=0)
        there = whole > 0
        excess = values[:, some][:, there]
        excess[0] -= (whole * sampled.weights[some])[there]
        found[:, near] += (excess / whole[there]) @ parts[:, there].T
    return found


def _neighbourhoods(points: Reals, places: Reals, reaches: Reals) -> Iterator[tuple[slice, NDArray[np.intp]]]:
    """Pieces of points, and which places are no farther than their reach from any of these points."""
    for some in pieces(len(points), _SHARED_AT_ONCE):
        middle = (points[some].min(axis=0) + points[some].max(axis=0)) / 2
        radius = np.sqrt(((points[some] - middle) ** 2).sum(axis=1).max())
        yield some, np.flatnonzero(np.sqrt(((places - middle) ** 2).sum(axis=1)) < reaches + radius)


@dataclass(frozen=True, eq=False)
class _Table:
    """Density of a free atom by cubic polynomials in the square of the distance, as `RadialTables` has them.

    Attributes
    ----------
    reach : float
        Distance in bohr beyond which the atom is fainter than what counts.
    end : float
        Distance in bohr up to which the table goes: in the tail of an anion there is nothing else to share it by.
    coefficients : ndarray, shape (n_intervals, 4)
        Of the powers of the share of an interval.
    """

    reach: float
    end: float
    coefficients: Reals

    @classmethod
    def of(cls, atom: FreeAtom) -> _Table:
        """The table of an atom; its memory is 213 kB."""
        from taichi_kernels.spherical_shares import interval_ends

        squares = interval_ends()
        radii, widths = np.sqrt(squares), np.diff(squares)
        values, slopes = atom.density(radii), atom.slope(radii) / (2 * radii)
        rise, begin, close = np.diff(values), slopes[:-1] * widths, slopes[1:] * widths
        polynomials = np.stack([values[:-1], begin, 3 * rise - 2 * begin - close, begin + close - 2 * rise], axis=1)
        return cls(_reach(atom, _FAINT), _reach(atom, _EMPTY), polynomials)

    def density(self, away: Reals) -> Reals:
        """Density in e bohr^-3 at places relative to the nucleus, shape (n, 3) in bohr; 0 beyond the end."""
        from taichi_kernels.spherical_shares import interval_ends

        squares = np.einsum("ni,ni->n", away, away)
        ends = interval_ends()
        interval = np.clip(np.searchsorted(ends, squares, side="right") - 1, 0, len(ends) - 2)
        share = np.maximum(squares - ends[interval], 0.0) / (ends[interval + 1] - ends[interval])
        zeroth, first, second, third = self.coefficients[interval].T
        density = zeroth + share * (first + share * (second + share * third))
        return np.where(squares < self.end**2, np.maximum(density, 0.0), 0.0)


def _reach(atom: FreeAtom, least: float) -> float:
    """Distance in bohr beyond which the density of an atom is below a value in e bohr^-3."""
    radii = np.linspace(0, 60, 1201)
    return float(radii[np.flatnonzero(atom.density(radii[:-1]) > least).max(initial=0) + 1])


_NOBLE_GASES = (2, 10, 18, 36, 54, 86, 118)
"""Electrons of full shells."""

_CONVERGED, _SETTLED, _MOST_CYCLES = 1e-6, 1e-3, 500
"""Changes at which shells have converged: of the electrons of any atom, and of any shell (in e, and electrons times
width in e bohr), which can change places within an atom for long; and the number of cycles, of three iterations each,
after which that is given up."""

_OUTER_WIDTH = 0.5
"""First width of the outer shell of a free atom in bohr."""

_NEAR_ENOUGH = 1e-2
"""The same of shells of free atoms, which are only to begin with."""

_EMPTY = 1e-30
"""Electrons of a shell that has none, and keeps its width."""

_SMALLEST, _LARGEST = np.log([[_EMPTY], [1e-4]]), np.log([[1e3], [1e2]])
"""Bounds of what is extrapolated: logarithms of electrons, and of widths in bohr."""

_FACTOR = 4.0
"""By which the longest extrapolation grows when it was good, and shrinks when it was not."""

_SLACK = 1e-2
"""Likeness that an extrapolation may lose, in e."""

_LEFT_BY_A_CYCLE = 0.8
"""Share of the work that is left after a cycle, for the progress: how many cycles there will be is not known."""


@dataclass(frozen=True, eq=False)
class ExponentialShells:
    """Atoms as sums of spherical exponential shells.

    Attributes
    ----------
    atoms : ndarray of int, shape (n_shells,)
        The atom that each shell belongs to, rising; its shells from the inmost.
    electrons : ndarray, shape (n_shells,)
    widths : ndarray, shape (n_shells,)
        In bohr; the mean distance from the nucleus is three times the width.
    """

    atoms: NDArray[np.intp]
    electrons: Reals
    widths: Reals


def mbis_shells(wavefunction: Wavefunction, sampled: SampledDensity) -> ExponentialShells:
    """The shells of MBIS, which hold the electrons of replaced cores too.

    Raises
    ------
    OrbitileError
        When they do not converge, or there is no free atom of an element that has a core potential.
    """
    density = sampled.densities[0] + _replaced_cores(wavefunction, sampled.points)
    atoms = np.flatnonzero(~wavefunction.is_ghost)
    free = [_free_shells(int(number)) for number in wavefunction.atomic_numbers[atoms]]
    first = ExponentialShells(
        np.repeat(atoms, [len(shells.atoms) for shells in free]),
        np.concatenate([shells.electrons for shells in free]),
        np.concatenate([shells.widths for shells in free]),
    )
    return _converged(first, wavefunction.positions, sampled.points, density * sampled.weights)


@lru_cache(maxsize=256)
def _free_shells(number: int) -> ExponentialShells:
    """The shells of a free atom; beyond the elements that there are free atoms of, those that it starts from."""
    noble = max((full for full in _NOBLE_GASES if full < number), default=0)
    inner = _free_shells(noble) if noble else ExponentialShells(*np.zeros((3, 0)))
    first = ExponentialShells(
        np.zeros(len(inner.electrons) + 1, np.intp),
        np.append(inner.electrons, number - noble),
        np.append(inner.widths * (noble / number), _OUTER_WIDTH),
    )
    try:
        atom = free_atom(number)
    except OrbitileError:
        return first
    logarithms = np.linspace(math.log(1e-3 / number), math.log(30.0), 600)
    radii = np.exp(logarithms)
    electrons = 4 * math.pi * radii**3 * (logarithms[1] - logarithms[0]) * np.maximum(atom.density(radii), 0.0)
    with stage(0.0, 0.0):
        return _converged(first, np.zeros((1, 3)), np.outer(radii, [1.0, 0.0, 0.0]), electrons, _NEAR_ENOUGH)


def _converged(
    first: ExponentialShells, positions: Reals, points: Reals, electrons: Reals, settled: float = _SETTLED
) -> ExponentialShells:
    """Shells that electrons at points give back when they are shared out by them."""

    def iterated(logarithms: Reals) -> tuple[Reals, float]:
        """Logarithms of electrons and widths from those before, and how well those before are like the density."""
        before = replace(first, electrons=np.exp(logarithms[0]), widths=np.exp(logarithms[1]))
        shared = _shared_out(before, positions, points, electrons[None])
        found = np.maximum(shared.electrons[0], _EMPTY)
        widths = np.where(found > _EMPTY, np.maximum(shared.radii, _EMPTY) / (3 * found), before.widths)
        return np.log([found, widths]), shared.likeness

    after = np.log([first.electrons, first.widths])
    left, longest = 1.0, _FACTOR
    for _ in range(_MOST_CYCLES):
        before = after
        with stage(1 - left, 1 - left * _LEFT_BY_A_CYCLE):
            once, _ = iterated(before)
            twice, likeness = iterated(once)
            step = once - before
            change = twice - once - step
            sizes = float(np.linalg.norm(step)), float(np.linalg.norm(change))
            length = min(max(1.0, sizes[0] / max(sizes[1], _EMPTY)), longest)
            farther = np.clip(before + 2 * length * step + length**2 * change, _SMALLEST, _LARGEST)
            after, likeness_farther = iterated(farther)
            if likeness_farther < likeness - _SLACK:
                after, longest = twice, max(1.0, length / _FACTOR)
            elif length == longest:
                longest *= _FACTOR
        left *= _LEFT_BY_A_CYCLE
        moved = np.exp([after[0], after.sum(axis=0)]) - np.exp([before[0], before.sum(axis=0)])
        of_atoms = np.abs(np.bincount(first.atoms, moved[0])).max()
        if of_atoms < _CONVERGED and np.abs(moved).max() < settled:
            return replace(first, electrons=np.exp(after[0]), widths=np.exp(after[1]))
    raise OrbitileError(
        f"MBIS: expected electrons of atoms that change by less than {_CONVERGED:g} e, and of shells by less than "
        f"{settled:g} e, within {3 * _MOST_CYCLES} iterations, got {of_atoms:.1e} and "
        f"{np.abs(moved).max():.1e} e; use hirshfeld"
    )


def mbis_populations(wavefunction: Wavefunction, sampled: SampledDensity) -> Reals:
    """Electrons by the shares of MBIS, shape (1 or 2, n_atoms): all, and alpha less beta.

    Electrons of replaced cores are not counted.

    Raises
    ------
    OrbitileError
        As `mbis_shells`.
    """
    shells = mbis_shells(wavefunction, sampled)
    densities = sampled.densities.copy()
    densities[0] += _replaced_cores(wavefunction, sampled.points)
    shared = _shared_out(shells, wavefunction.positions, sampled.points, densities * sampled.weights)
    of_atoms = [np.bincount(shells.atoms, of_shells, wavefunction.n_atoms) for of_shells in shared.electrons]
    result = np.stack(of_atoms).astype(np.float64)
    result[0] -= wavefunction.atomic_numbers - wavefunction.core_charges
    return result


def _replaced_cores(wavefunction: Wavefunction, points: Reals) -> Reals:
    """Density of the electrons that core potentials replace, those of free atoms, in e bohr^-3."""
    density = np.zeros(len(points))
    replaced = np.rint(wavefunction.atomic_numbers - wavefunction.core_charges).astype(int)
    atoms = np.flatnonzero(~wavefunction.is_ghost & (replaced > 0))
    if not len(atoms):
        return density
    pairs = [
        (free_atom(int(n)), free_atom(int(n), int(core)))
        for n, core in zip(wavefunction.atomic_numbers[atoms], replaced[atoms], strict=True)
    ]
    tables = {atom: _Table.of(atom) for pair in pairs for atom in pair}
    places, reaches = wavefunction.positions[atoms], np.array([tables[whole].reach for whole, _ in pairs])
    for some, near in _neighbourhoods(points, places, reaches):
        for n in near:
            whole, without_core = (tables[atom].density(points[some] - places[n]) for atom in pairs[n])
            density[some] += whole - without_core
    return density


@dataclass(frozen=True, eq=False)
class _Shared:
    """Electrons that are shared out to shells.

    Attributes
    ----------
    electrons : ndarray, shape (n_densities, n_shells)
    radii : ndarray, shape (n_shells,)
        Sums over the electrons of the first density of their distances from the nucleus, in bohr.
    likeness : float
        The integral of the first density times the logarithm of the shells' density, less the electrons of the shells:
        most where their divergence (S. Kullback and R. A. Leibler, Ann. Math. Stat. 1951, 22, 79) is least.
    """

    electrons: Reals
    radii: Reals
    likeness: float


def _shared_out(shells: ExponentialShells, positions: Reals, points: Reals, electrons: Reals) -> _Shared:
    """Share out electrons at points, shape (n_densities, n_points)."""
    heights = shells.electrons / (8 * np.pi * shells.widths**3)
    reaches = shells.widths * np.log(np.maximum(heights / _FAINT, 1.0))
    found, radii, likeness = np.zeros((len(electrons), len(heights))), np.zeros(len(heights)), -shells.electrons.sum()
    for some, near in _neighbourhoods(points, positions[shells.atoms], reaches):
        atoms, row = np.unique(shells.atoms[near], return_inverse=True)
        distances = np.linalg.norm(points[some] - positions[atoms, None], axis=2)[row]
        parts = distances / -shells.widths[near, None]
        np.exp(parts, out=parts)
        parts *= heights[near, None]
        whole = parts.sum(axis=0)
        likeness += electrons[0, some] @ np.log(np.maximum(whole, _FAINT))
        ratios = np.divide(electrons[:, some], whole, out=np.zeros_like(electrons[:, some]), where=whole > 0)
        found[:, near] += ratios @ parts.T
        parts *= distances
        radii[near] += parts @ ratios[0]
    return _Shared(found, radii, float(likeness))


_ALPHA = 2.474 / angstrom
"""In bohr^-1."""

_RADII = """
    0.00 0.32 0.37 1.30 0.99 0.84 0.75 0.71 0.64 0.60 0.62 1.60 1.40 1.24 1.14 1.09 1.04 1.00 1.01 2.00 1.74 1.59 1.48
    1.44 1.30 1.29 1.24 1.18 1.17 1.22 1.20 1.23 1.20 1.20 1.18 1.17 1.16 2.15 1.90 1.76 1.64 1.56 1.46 1.38 1.36 1.34
    1.30 1.36 1.40 1.42 1.40 1.40 1.37 1.36 1.36 2.38 2.06 1.94 1.84 1.90 1.88 1.86 1.85 1.83 1.82 1.81 1.80 1.79 1.77
    1.77 1.78 1.74 1.64 1.58 1.50 1.41 1.36 1.32 1.30 1.30 1.32 1.44 1.45 1.50 1.42 1.48 1.46 2.42 2.11 2.01 1.90 1.84
    1.83 1.80 1.80 1.73 1.68 1.68 1.68 1.65 1.67 1.73 1.76 1.61 1.57 1.49 1.43 1.41 1.34 1.29 1.28 1.21 1.22 1.36 1.43
    1.62 1.75 1.65 1.57
""".split()
"""Covalent radii from 1 to 118 in Angstrom."""

_ATOMS = {
    1: 0.0056, 2: -0.1543, 4: 0.0333, 5: -0.1030, 6: -0.0446, 7: -0.1072, 8: -0.0802, 9: -0.0629, 10: -0.1088,
    11: 0.0184, 13: -0.0726, 14: -0.0790, 15: -0.0756, 16: -0.0565, 17: -0.0444, 18: -0.0767, 19: 0.0130,
    31: -0.0512, 32: -0.0557, 33: -0.0533, 34: -0.0399, 35: -0.0313, 36: -0.0541, 37: 0.0092, 49: -0.0361,
    50: -0.0393, 51: -0.0376, 52: -0.0281, 53: -0.0220, 54: -0.0381, 55: 0.0065, 81: -0.0255, 82: -0.0277,
    83: -0.0265, 84: -0.0198, 85: -0.0155, 86: -0.0269, 87: 0.0046, 113: -0.0179, 114: -0.0195, 115: -0.0187,
    116: -0.0140, 117: -0.0110, 118: -0.0189,
}  # fmt: skip
"""D in e by atomic number; 0 for all others."""

_PAIRS = {(1, 6): 0.0502, (1, 7): 0.1747, (1, 8): 0.1671, (6, 7): 0.0556, (6, 8): 0.0234, (7, 8): -0.0346}
"""T in e of pairs of elements that have one of their own."""

_FAR = 16.0 * angstrom
"""Beyond this distance no pair has 1e-11 e."""


def cm5_corrections(atomic_numbers: NDArray[np.integer], positions: Reals) -> Reals:
    """What CM5 adds to Hirshfeld charges.

    Parameters
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
        0 for ghosts, which get and give nothing.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.

    Returns
    -------
    ndarray, shape (n_atoms,)
        In e; they add up to 0.
    """
    from scipy.spatial import cKDTree

    i, j = cKDTree(positions).query_pairs(_FAR, output_type="ndarray").T
    real = (atomic_numbers[i] > 0) & (atomic_numbers[j] > 0)
    i, j = i[real], j[real]
    distances = np.linalg.norm(positions[i] - positions[j], axis=1)
    radii = np.array(_RADII, float)[atomic_numbers] * angstrom
    polarity = np.array([_polarity(int(a), int(b)) for a, b in zip(atomic_numbers[i], atomic_numbers[j], strict=True)])
    moved = polarity * np.exp(-_ALPHA * (distances - radii[i] - radii[j]))
    ends, added = np.concatenate([i, j]), np.concatenate([moved, -moved])
    return np.bincount(ends, added, len(positions)).astype(np.float64)


def _polarity(one: int, other: int) -> float:
    """T of two elements; of opposite sign when they change places."""
    if one > other:
        return -_polarity(other, one)
    return _PAIRS.get((one, other), _ATOMS.get(one, 0.0) - _ATOMS.get(other, 0.0))


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
    neighbours = _neighbours(atomic_numbers, positions)
    molecule = connected_parts(len(atomic_numbers), find_bonds(atomic_numbers, positions))
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

    def result(self, charges: Reals, atoms: NDArray[np.intp], n_atoms: int, equal: Indices) -> PotentialFit:
        left = float(charges @ self.inverse_distances @ charges - 2 * charges @ self.potentials) + self.square
        everywhere = np.zeros(n_atoms)
        everywhere[atoms] = charges
        left = left if left > 0 else 0.0  # but for rounding
        relative = math.sqrt(left / self.square) if self.square else 0.0
        spread = max(float(np.ptp(charges[equal == kind])) for kind in np.unique(equal))
        return PotentialFit(everywhere, math.sqrt(left / self.weight), relative, self.n_points, spread)


def potential_charges(
    wavefunction: Wavefunction, scheme: str, *, dipole: bool = False, device: str | None = None
) -> PotentialFit:
    """Charges of the atoms from the potential.

    Parameters
    ----------
    wavefunction
    scheme
        chelpg; mk, Merz and Kollman's; or resp.
    dipole
        Whether the dipole moment of the charges is to be that of the molecule, beside the total charge; not of resp.
    device
        As for `orbitile.evaluate`.

    Raises
    ------
    OrbitileError
        When the molecule has no atom that is no ghost, charges at its nuclei cannot have its dipole moment, or those of
        RESP do not settle.
    """
    atoms = np.flatnonzero(~wavefunction.is_ghost)
    if not len(atoms):
        raise OrbitileError("charges from the potential: expected at least one atom that is not a ghost, got none")
    numbers, places = wavefunction.atomic_numbers[atoms], wavefunction.positions[atoms]
    points_of = chelpg_points if scheme == "chelpg" else merz_kollman_points
    fit = _fit_at(wavefunction, places, *points_of(numbers, places), device)
    if scheme == "resp":
        charges = _resp(fit, numbers, places, wavefunction.charge)
    else:
        charges = _unrestrained(fit, wavefunction, places, dipole)
    return fit.result(charges, atoms, wavefunction.n_atoms, equal_atoms(numbers, places))


def _fit_at(wavefunction: Wavefunction, places: Reals, points: Reals, weights: Reals, device: str | None) -> _Fit:
    """The normal equations of charges at some places, for the potential at some points."""
    from scipy.spatial.distance import cdist

    from ..evaluation.devices import exact_precision
    from ..evaluation.points import evaluate
    from ..fields.electrostatic_potential import ElectrostaticPotential

    field = ElectrostaticPotential(wavefunction, tolerance=_POTENTIAL)
    potential = evaluate(wavefunction, field, points, device=device, precision=exact_precision(device)).astype(float)
    inverse = np.zeros((len(places), len(places)))
    right = np.zeros(len(places))
    for some in pieces(len(points), _ELEMENTS // len(places)):
        from_atoms = 1 / cdist(points[some], places)
        inverse += (from_atoms * weights[some, None]).T @ from_atoms
        right += (weights[some] * potential[some]) @ from_atoms
    return _Fit(inverse, right, float(weights @ potential**2), float(weights.sum()), len(points))


def _resp(fit: _Fit, numbers: Indices, places: Reals, total: float) -> Reals:
    """Charges of RESP, in two stages."""
    alike, groups = equivalent_atoms(numbers, places), in_methyl_or_methylene(numbers, places)
    restrained = (numbers > 1).astype(float)
    # each atom of a methyl or methylene group is a class of its own at first
    first = np.where(groups, alike.max() + 1 + np.arange(len(alike)), alike)
    charges = _restrained(fit, _sums_of_classes(first), np.zeros(len(numbers)), total, _WEAK * restrained)
    if groups.any():
        kept = np.where(groups, 0.0, charges)
        free = _sums_of_classes(alike)
        free = free[:, groups @ free > 0] * groups[:, None]
        charges = _restrained(fit, free, kept, total - kept.sum(), _STRONG * restrained)
    return charges


def _unrestrained(fit: _Fit, wavefunction: Wavefunction, places: Reals, dipole: bool) -> Reals:
    sums, values = np.ones((1, len(places))), np.array([wavefunction.charge])
    if dipole:
        from ..fields.density import density_of
        from ._quadrature import analytic_moments

        middle = places.mean(axis=0)  # about which the equations are best conditioned
        wanted = analytic_moments(wavefunction, density_of(wavefunction)).dipole - wavefunction.charge * middle
        sums, values = np.vstack([sums, (places - middle).T]), np.append(values, wanted)
    charges = _constrained_minimum(fit.inverse_distances, fit.potentials, sums, values)
    if np.abs(sums @ charges - values).max() > _UNREACHED:
        raise OrbitileError(
            "dipole: charges at these nuclei cannot have the dipole moment of the molecule, which has a component "
            "perpendicular to the line or plane of the nuclei; leave dipole out"
        )
    return charges


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
    raise OrbitileError(f"RESP: the charges did not converge in {_MOST_ROUNDS} iterations; use chelpg")


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


def _nothing() -> Reals:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class AtomicCharges:
    """Charges of the atoms by one scheme.

    Attributes
    ----------
    scheme : str
    charges : ndarray, shape (n_atoms,)
        In e; 0 at ghosts, unless the scheme goes by basis functions and these have electrons.
    spins : ndarray, shape (n_atoms,)
        Alpha less beta electrons; empty where the scheme has none, or all electrons are paired.
    fit : PotentialFit, optional
        Of charges from the potential.
    errors : ndarray, shape (n_atoms,)
        What charges may be off by in e; empty where no estimate is known.
    shells : NaturalShells, optional
        Of natural population analysis.
    """

    scheme: str
    charges: Reals
    spins: Reals = field(default_factory=_nothing)
    fit: PotentialFit | None = None
    errors: Reals = field(default_factory=_nothing)
    shells: NaturalShells | None = None


def atomic_charges(
    wavefunction: Wavefunction, scheme: str, *, dipole: bool = False, device: str | None = None
) -> AtomicCharges:
    """Charges of the atoms: nuclear charge, less the electrons of a core potential, less the atom's electrons.

    Parameters
    ----------
    wavefunction
    scheme
        One of `SCHEMES`.
    dipole
        Whether charges from the potential are to have the molecule's dipole moment: of chelpg and mk.
    device
        As for `orbitile.evaluate`.

    Raises
    ------
    OrbitileError
        For another scheme, and where the molecule does not have it.
    """
    if scheme not in SCHEMES:
        raise OrbitileError(f"charges of atoms: expected {alternatives(list(SCHEMES))}, got {scheme!r}")
    return SCHEMES[scheme](_Work(wavefunction, dipole, device), scheme)


def charges_by_schemes(
    wavefunction: Wavefunction, schemes: Iterable[str], *, dipole: bool = False, device: str | None = None
) -> tuple[list[AtomicCharges], list[str]]:
    """Charges by several schemes, and why the molecule does not have the others, a sentence each.

    Parameters as for `atomic_charges`.
    """
    work, found, missing = _Work(wavefunction, dipole, device), [], []
    names = list(schemes)
    for n, scheme in enumerate(names):
        with stage(n / len(names), (n + 1) / len(names)):
            try:
                found.append(SCHEMES[scheme](work, scheme))
            except Cancelled:
                raise
            except OrbitileError as error:
                missing.append(f"{scheme} is left out: {error}")
    return found, missing


class _Work:
    """A molecule, and what several schemes need of it."""

    def __init__(self, wavefunction: Wavefunction, dipole: bool, device: str | None) -> None:
        self.wavefunction, self.dipole, self.device = wavefunction, dipole, device

    @cached_property
    def densities(self) -> tuple[str, ...]:
        return ("total",) if spins_unavailable(self.wavefunction) else ("total", "spin")

    @cached_property
    def sampled(self) -> SampledDensity:
        return sampled_density(self.wavefunction, spin=len(self.densities) > 1, device=self.device)

    @cached_property
    def by_free_atoms(self) -> Reals:
        share = 0.0 if "sampled" in vars(self) else _share_of_sampling(self.wavefunction)
        with stage(0.0, share):
            sampled = self.sampled
        with stage(share, 1.0):
            return hirshfeld_populations(self.wavefunction, sampled)

    def charges(self, scheme: str, populations: Reals) -> AtomicCharges:
        """Of populations of all electrons and of those that are unpaired, shape (1 or 2, n_atoms)."""
        spins = populations[1] if len(populations) > 1 else _nothing()
        return AtomicCharges(scheme, self.wavefunction.core_charges - populations[0], spins)


_SAMPLING_FOR_MBIS = 0.15
"""About the share of the time of MBIS that sampling the density takes (benzene)."""


def _share_of_sampling(wavefunction: Wavefunction) -> float:
    """About the share of the time of Hirshfeld's charges that sampling the density takes (threonine, a DNA strand)."""
    sampling = 1.0 + wavefunction.n_basis / 60
    free_atoms = 0.026 * wavefunction.n_atoms
    return sampling / (sampling + free_atoms)


def _by_functions(work: _Work, scheme: str) -> AtomicCharges:
    of = {"mulliken": mulliken_orbitals, "loewdin": loewdin_orbitals}[scheme]
    return work.charges(scheme, np.stack([of(work.wavefunction, which).populations for which in work.densities]))


def _iao(work: _Work, scheme: str) -> AtomicCharges:
    alpha, beta = (intrinsic_orbitals(work.wavefunction, spin).populations for spin in BOTH)
    return work.charges(scheme, np.stack([alpha + beta, alpha - beta][: len(work.densities)]))


def _npa(work: _Work, scheme: str) -> AtomicCharges:
    from .natural_populations import natural_shells

    shells = natural_shells(work.wavefunction, spin=len(work.densities) > 1, cores_first=scheme == "npa7")
    found = work.charges(scheme, shells.populations(work.wavefunction.n_atoms))
    return replace(found, shells=shells)


def _becke(work: _Work, scheme: str) -> AtomicCharges:
    return work.charges(scheme, becke_populations(work.wavefunction, work.sampled))


def _hirshfeld(work: _Work, scheme: str) -> AtomicCharges:
    return work.charges(scheme, work.by_free_atoms)


def _hirshfeld_i(work: _Work, scheme: str) -> AtomicCharges:
    share = 0.0 if "sampled" in vars(work) else _SAMPLING_FOR_MBIS
    with stage(0.0, share):
        sampled = work.sampled
    with stage(share, 1.0):
        return work.charges(scheme, hirshfeld_i_populations(work.wavefunction, sampled))


def _mbis(work: _Work, scheme: str) -> AtomicCharges:
    share = 0.0 if "sampled" in vars(work) else _SAMPLING_FOR_MBIS
    with stage(0.0, share):
        sampled = work.sampled
    with stage(share, 1.0):
        return work.charges(scheme, mbis_populations(work.wavefunction, sampled))


def _cm5(work: _Work, scheme: str) -> AtomicCharges:
    wavefunction = work.wavefunction
    corrections = cm5_corrections(wavefunction.atomic_numbers, wavefunction.positions)
    return AtomicCharges(scheme, wavefunction.core_charges - work.by_free_atoms[0] + corrections)


def _fitted(work: _Work, scheme: str) -> AtomicCharges:
    fit = potential_charges(work.wavefunction, scheme, dipole=work.dipole, device=work.device)
    return AtomicCharges(scheme, fit.charges, fit=fit)


def _qtaim(work: _Work, scheme: str) -> AtomicCharges:
    from .qtaim import qtaim_basins

    wavefunction, n_atoms = work.wavefunction, work.wavefunction.n_atoms
    found = qtaim_basins(wavefunction, device=work.device)
    charges = wavefunction.core_charges - found.of_atoms(found.population, n_atoms)
    return AtomicCharges(scheme, charges, errors=found.of_atoms(found.error, n_atoms))


SCHEMES: Mapping[str, Callable[[_Work, str], AtomicCharges]] = {
    "hirshfeld": _hirshfeld,
    "hirshfeld_i": _hirshfeld_i,
    "cm5": _cm5,
    "mbis": _mbis,
    "npa": _npa,
    "npa7": _npa,
    "becke": _becke,
    "mulliken": _by_functions,
    "loewdin": _by_functions,
    "iao": _iao,
    "chelpg": _fitted,
    "mk": _fitted,
    "resp": _fitted,
    "qtaim": _qtaim,
}
"""Schemes by name, those first that depend least on the basis set."""
