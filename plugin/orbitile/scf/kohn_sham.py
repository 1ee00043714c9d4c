r"""The self-consistent field of Kohn-Sham theory: densities consistent with their Fock matrices.

Fock matrices are extrapolated by DIIS. Where that does not converge the energy is minimised (`rotations`), which is
slower and surer; where it is likely to end on a saddle point, DIIS begins close to a minimum.

Density matrices have the shape (n_spins, n_basis, n_basis): one of all electrons, or one for each spin.

**Direct inversion in the iterative subspace** (P. Pulay, Chem. Phys. Lett. 1980, 73, 393; J. Comput. Chem. 1982, 3,
556) takes the combination of Fock matrices with the smallest error, here the commutator FD - DF. With the changes
:math:`\Delta F_i, \Delta e_i` from other Fock matrices to the last one, the combination is :math:`F - \sum_i c_i \Delta
F_i`, with c the least squares of :math:`e - \sum_i c_i \Delta e_i`.

How Fock matrices change with density matrices depends little on where the atoms are, over functions that move smoothly
with them, those of P.-O. Loewdin (J. Chem. Phys. 1950, 18, 365). So what was learnt of it at one geometry is of use at
the next: changes :math:`\Delta F, \Delta D` of the frames before are taken for changes here, with the errors
:math:`\Delta e = \Delta F\, D + F\, \Delta D - \ldots` to first order.

**Energy and Fock matrices**, without exact exchange, are from one list of Gaussians. With :math:`H = T(D)` the density
on the list of Hermite Gaussians, the potential of the electrons and that of exchange and correlation are numbers v on
the same list; both become a matrix at once, :math:`F = h + T^*(v_J + v_{xc})`, and

.. math::  E = \operatorname{Tr} D h + \tfrac12 H \cdot v_J + E_{xc} + E_{nn}.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.devices import probe
from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.memory import share
from ..base.watch import checkpoint
from ..gaussians.overlap import dense, kinetic_matrix, own_overlap
from ..integrals.coulomb import TOLERANCE, coulomb_values, nuclear_repulsion
from ..integrals.exchange import Exchange, exchange_of
from ..integrals.exchange_fitting import FittedExchange, fitted_exchange_of, may_be_fitted
from ..integrals.external_charges import field_of_charges
from ..integrals.functionals import Functional
from ..integrals.grids import Quality, exchange_grid_of, grid_of
from ..integrals.hermite_list import HermiteList, point_charges
from ..integrals.pairs import pairs_of, to_hermite, to_matrix
from ..integrals.quadrature import ExchangeCorrelation, KineticEnergyDensity, of_densities, quadrature_of
from ..integrals.solvent import cavity_of, reaction_field
from ..model.external_charges import ExternalCharges
from ..model.wavefunction import Basis
from .calculation import FockResponse, NotConverged
from .free_energy import FreeDescent
from .occupation import Occupation, roothaan
from .rotations import Descent

_COMBINED = 8
"""Fock matrices of this geometry that are combined."""

_LEARNT = 40
"""Changes that are passed on to the next geometry: some ten frames."""

_BYTES = share("matrix")
"""Memory that they take at most."""

_NOISE = 1e-4
"""Relative size of what differs between changes, below which it is left alone: it would come from noise."""


class Diis:
    """The combination for the Fock matrices of one geometry, one after the other; all are over orthonormal functions.

    Parameters
    ----------
    response
        What was learnt at the geometries before, over the same functions.
    error
        How far Fock matrices and the density matrices that they are of are from a field.
    """

    def __init__(self, response: FockResponse | None, error: Callable[[Reals, Reals], Reals]) -> None:
        self._response, self._error = response, error
        self._matrices: list[Reals] = []
        self._densities: list[Reals] = []
        self._errors: list[Reals] = []
        self._learnt: Reals | None = None

    def add(self, matrices: Reals, densities: Reals) -> None:
        """Take Fock matrices of density matrices, shape (n_spins, n, n)."""
        self._matrices.append(matrices)
        self._densities.append(densities)
        self._errors.append(self._error(matrices, densities))
        if len(self._matrices) > _COMBINED:
            del self._matrices[0], self._densities[0], self._errors[0]

    def best(self) -> Reals:
        """The combination of what was taken."""
        last, density, error = self._matrices[-1], self._densities[-1], self._errors[-1]
        n_own = len(self._matrices) - 1
        if self._learnt is None and self._response:  # once: what changes here are of second order in it
            products = self._response.fock @ density
            products += last @ self._response.densities
            self._learnt = products - np.swapaxes(products, -1, -2)
        learnt = () if self._learnt is None else self._learnt
        if not n_own + len(learnt):
            return last
        rows = np.array([*(error - before for before in self._errors[:-1]), *learnt])
        factors = _least_squares(rows.reshape(len(rows), -1), error.ravel())
        result = last - sum(f * (last - before) for f, before in zip(factors, self._matrices[:-1], strict=False))
        return result - np.tensordot(factors[n_own:], self._response.fock, 1) if self._response else result

    def restart(self, matrices: Reals, densities: Reals) -> None:
        """Forget what was taken, and take others."""
        self._matrices, self._densities, self._errors = [], [], []
        self.add(matrices, densities)

    def shift(self, change: Reals) -> None:
        """Add to all Fock matrices what a better operator changes: nearly the same for all densities."""
        self._matrices = [matrices + change for matrices in self._matrices]
        self._errors = [self._error(*pair) for pair in zip(self._matrices, self._densities, strict=True)]

    def response(self) -> FockResponse:
        """What was learnt here and before."""
        changes = np.diff([self._matrices, self._densities], axis=1)
        if self._response is not None:
            changes = np.concatenate([[self._response.fock, self._response.densities], changes], axis=1)
        first = max(0, changes.shape[1] - min(_LEARNT, _BYTES // self._matrices[0].nbytes // 2))
        return FockResponse(*changes[:, first:])


def commutators(matrices: Reals, densities: Reals) -> Reals:
    """F D - D F, the derivatives of the energy with respect to rotations of the orbitals but for a factor."""
    products = matrices @ densities
    return products - np.swapaxes(products, -1, -2)


def _least_squares(rows: Reals, wanted: Reals) -> Reals:
    """Factors of rows whose sum is close to what is wanted."""
    products = rows @ rows.T
    length = np.maximum(np.sqrt(np.diag(products)), 1e-100)
    scaled = products / np.outer(length, length)
    return np.linalg.lstsq(scaled, (rows @ wanted) / length, rcond=_NOISE**2)[0] / length


# ---- the loop

_MOST = (50, 250)
"""Most Fock matrices with DIIS, and by minimisation of the energy."""

_PATIENCE = 15
"""Iterations without a smaller gradient after which DIIS is left: what oscillates does not stop by itself."""

DEPENDENT = 1e-7
"""Eigenvalue of the overlap below which functions count as linearly dependent, and are left out."""


class Operator(Protocol):
    """What the energy of density matrices is."""

    overlap: Reals

    def fock(self, densities: Reals, exact: bool = False) -> tuple[float, Reals]:
        """Energy in hartree, and its derivative with respect to each density matrix: Fock matrices, of their shape.

        `exact` ones are as exact as they can be, whatever was refined.
        """
        ...

    def refine(self) -> bool:
        """Be as exact as is asked for from now on; False where it is already."""
        ...


@dataclass(frozen=True)
class Criteria:
    """When a field is self-consistent.

    Attributes
    ----------
    energy : float
        Most that the energy may still change, in hartree: its change in the last iteration, times the square of the
        ratio by which the gradient fell, since what is left of the energy falls with its square.
    gradient : float
        Largest norm of the derivatives of the energy with respect to rotations of occupied into virtual orbitals.
    settled : bool
        Whether, of two spins, energies of orbitals are to have settled too, to `_SETTLED`. Where a molecule is torn, a
        spin has almost no density at some of its atoms, and the potential of correlation for that spin grows as its
        density vanishes: energies of empty orbitals there take a better density than the energy does.
    """

    energy: float = 1e-9
    gradient: float = 3e-5
    settled: bool = True


_SETTLED, _AT_MOST = 1e-5, 7
"""Change of energies e of orbitals that is left to be, in hartree and times 1 + e^2, and the number of Fock matrices of
which energies are compared."""

CLOSE = Criteria(1e-3, 1e-3)
"""Convergence at which the fine grid replaces the coarse one."""


@dataclass(frozen=True, eq=False)
class Field:
    """A self-consistent field.

    Attributes
    ----------
    energy : float
        In hartree; at a temperature the free energy.
    coefficients : tuple of ndarray, shape (n_basis, n_orbitals)
        Orbitals of each set: of each spin, or of both together.
    orbital_energies : tuple of ndarray, shape (n_orbitals,)
    occupations : tuple of ndarray, shape (n_orbitals,)
        Electrons in each orbital.
    smearing : float
        -TS in hartree, a part of the energy.
    n_iterations : int
        Fock matrices that it took.
    response : FockResponse
        What was learnt, for the next geometry.
    """

    energy: float
    coefficients: tuple[Reals, ...]
    orbital_energies: tuple[Reals, ...]
    occupations: tuple[Reals, ...]
    smearing: float
    n_iterations: int
    response: FockResponse


def self_consistent_field(
    operator: Operator,
    occupation: Occupation,
    start: Reals,
    criteria: Criteria,
    name: str,
    response: FockResponse | None = None,
    downhill: bool = False,
) -> Field:
    """Converge, from density matrices to begin with.

    Parameters
    ----------
    operator
        Energy and Fock matrices.
    occupation
        How electrons occupy orbitals.
    start : ndarray, shape (n_matrices, n_basis, n_basis)
        Need not be of orbitals, as those of superposed atoms are not.
    criteria
        When to end. As long as the operator can be refined, `CLOSE` is enough.
    name
        Of the calculation, for the error.
    response
        What was learnt of the same atoms and basis functions, where they were before.
    downhill
        Whether the energy is minimised first, roughly, so that DIIS does not end on a saddle point.

    Raises
    ------
    NotConverged
        When no attempt converges: says what was tried, and by how much energy and gradient still changed.
    """
    from_basis = orthonormal_functions(operator.overlap)
    n_basis, n_independent = from_basis.shape
    if max(occupation.occupied) > n_independent:
        raise NotConverged(
            f"{name}: {max(occupation.occupied)} occupied orbitals do not fit into {n_independent} functions that do "
            "not depend on others; are atoms too close to each other?"
        )
    attempt = _Attempt(operator, occupation, from_basis, criteria)
    if response is not None and not (n_independent == n_basis == response.fock.shape[-1]):
        response = None  # it was learnt over other functions
    extrapolation = Diis(response, attempt.error)
    if downhill:
        start = attempt.lowered(start)
    found = attempt.extrapolated(start, extrapolation) or attempt.minimised(start, extrapolation)
    if found is not None:
        return found
    raise NotConverged(
        f"{name} did not converge in {attempt.n_iterations} iterations, by DIIS nor by minimisation of the "
        f"{'free ' if occupation.temperature else ''}energy: in the last one the energy changed by "
        f"{attempt.change:.1e} hartree (expected {criteria.energy:.0e}), and the gradient was {attempt.gradient:.1e} "
        f"(expected {criteria.gradient:.0e})"
    )


def orthonormal_functions(overlap: Reals) -> Reals:
    """Coefficients of orthonormal combinations of basis functions, shape (n_basis, n).

    They are Loewdin's, S^(-1/2); where basis functions depend on others, n < n_basis along the axes of their overlap.
    """
    values, axes = np.linalg.eigh(overlap)
    kept = values > DEPENDENT
    functions = axes[:, kept] / np.sqrt(values[kept])
    return functions @ axes.T if kept.all() else functions


def _settled(energies: list[Reals]) -> bool:
    """Whether energies of orbitals no longer change; of each Fock matrix those of both spins."""
    if len(energies) in (1, _AT_MOST):
        return len(energies) > 1
    before, last = energies[-2:]
    return bool(np.all(np.abs(last - before) < _SETTLED * (1 + last**2)))


class _Attempt:
    """Iterations; matrices are over orthonormal functions."""

    def __init__(self, operator: Operator, occupation: Occupation, from_basis: Reals, criteria: Criteria) -> None:
        self._operator, self._occupation, self._criteria = operator, occupation, criteria
        self._from_basis, self._to_basis = from_basis, operator.overlap @ from_basis
        self.n_iterations = 0

    def _begin(self) -> None:
        self._energy = self.change = self.gradient = self._before = np.inf
        self._exact = False

    def lowered(self, start: Reals) -> Reals:
        """Densities close to a minimum of the energy, without a temperature."""
        self._begin()
        descent = self._descent(start)
        while not self._within(CLOSE) and self.n_iterations < _MOST[1]:
            descent.step()
        numbers, _ = self._occupation.of_energies(descent.energies)
        return self._densities(descent.orbitals, numbers)

    def extrapolated(self, start: Reals, extrapolation: Diis) -> Field | None:
        """By DIIS; None where it does not converge."""
        self._begin()
        densities, smearing = start, 0.0
        rough: Reals | None = None
        least, since, most = np.inf, self.n_iterations, self.n_iterations + _MOST[0]
        found: list[Reals] = []
        while self.n_iterations < min(most, since + _PATIENCE):
            matrices, projected = self._look(densities, smearing)
            if rough is not None:
                extrapolation.shift(matrices - rough)
                rough = None
            if self.gradient < least:
                least, since = self.gradient, self.n_iterations
            if self._within(CLOSE) and self._operator.refine():
                rough = matrices
                continue
            extrapolation.add(matrices, projected)
            if self._within(self._criteria):
                orbitals, energies = self._orbitals(matrices)
                found.append(np.array(energies))
                if not self._criteria.settled or len(energies) == 1 or _settled(found):
                    return self._field(orbitals, energies, extrapolation)
                self._exact = True
            orbitals, energies = self._orbitals(extrapolation.best())
            numbers, smearing = self._occupation.of_energies(energies)
            densities = self._densities(orbitals, numbers)
        return None

    def minimised(self, start: Reals, extrapolation: Diis) -> Field | None:
        """By steps that go down in energy; None where it does not converge."""
        self._begin()
        descent = self._descent(start)
        most = self.n_iterations + _MOST[1]
        while self.n_iterations < most:
            if self._within(CLOSE) and self._operator.refine():
                descent.look()
            elif self._within(self._criteria):
                if not self._exact and self._criteria.settled and len(descent.orbitals) == 2:
                    self._exact = True
                    descent.look()
                    continue
                extrapolation.restart(*self._of_sets)
                return self._field(descent.orbitals, descent.energies, extrapolation)
            descent.step()
        return None

    def _field(self, orbitals: list[Reals], energies: list[Reals], extrapolation: Diis) -> Field:
        numbers, smearing = self._occupation.of_energies(energies)
        return Field(
            self._energy,
            tuple(self._from_basis @ c for c in orbitals),
            tuple(energies),
            tuple(np.sum([numbers[s] for s in members], axis=0) for members in self._occupation.sets),
            smearing,
            self.n_iterations,
            extrapolation.response(),
        )

    def _descent(self, start: Reals) -> Descent | FreeDescent:
        """From the Fock matrices of densities, or from what holds most of these, whichever has less energy."""
        matrices, projected = self._look(start)
        if self._occupation.temperature:
            return FreeDescent(matrices, self._occupation, self._of_orbitals, self._criteria.energy)
        choices = [self._orbitals(given) for given in (matrices, -projected)]
        orbitals, _ = min(choices, key=lambda found: self._of_orbitals(*found)[0])
        return Descent(orbitals, self._occupation, self._of_orbitals, self._criteria.energy)

    def _of_orbitals(self, orbitals: list[Reals], energies: list[Reals]) -> tuple[float, Reals]:
        numbers, smearing = self._occupation.of_energies(energies)
        self._look(self._densities(orbitals, numbers), smearing)
        return self._energy, self._of_densities

    def _densities(self, orbitals: list[Reals], numbers: list[Reals]) -> Reals:
        return self._occupation.densities([self._from_basis @ c for c in orbitals], numbers)

    def _look(self, densities: Reals, smearing: float = 0.0) -> tuple[Reals, Reals]:
        """Fock matrices and densities over orthonormal functions, of each set, and how far these are from a field."""
        checkpoint()
        energy, of_basis = self._operator.fock(densities, exact=self._exact)
        energy += smearing
        self.n_iterations += 1
        matrices = self._from_basis.T @ of_basis @ self._from_basis
        projected = self._to_basis.T @ densities @ self._to_basis
        self._of_densities = matrices
        if self._occupation.shared:
            matrices, projected = roothaan(matrices, projected)[None], projected.sum(axis=0)[None]
        self.change, self._energy = abs(energy - self._energy), energy
        self._before = self.gradient
        error = self._residuals if self._occupation.temperature else commutators
        self.gradient = float(np.linalg.norm(error(matrices, projected))) / np.sqrt(2)
        self._of_sets = matrices, projected
        return self._of_sets

    def _residuals(self, matrices: Reals, densities: Reals) -> Reals:
        """By how much densities at a temperature differ from those that Fock matrices have."""
        orbitals, energies = self._orbitals(matrices)
        return self._occupation.densities(orbitals, self._occupation.of_energies(energies)[0]) - densities

    def error(self, matrices: Reals, densities: Reals) -> Reals:
        """Commutators, and at a temperature occupations that are not those of the energies, times kT."""
        if not self._occupation.temperature:
            return commutators(matrices, densities)
        return commutators(matrices, densities) + self._occupation.temperature * self._residuals(matrices, densities)

    def _orbitals(self, matrices: Reals) -> tuple[list[Reals], list[Reals]]:
        """Eigenvectors of Fock matrices of each set and their energies; occupied ones first.

        Of restricted open shells the open ones are those with the lowest energies for an electron of spin alpha.
        """
        energies, vectors = map(list, zip(*(np.linalg.eigh(matrix) for matrix in matrices), strict=True))
        if self._occupation.shared:
            n_alpha, n_beta = self._occupation.occupied
            of_alpha = np.einsum("ij,ij->j", vectors[0], self._of_densities[0] @ vectors[0])
            rest = n_beta + np.argsort(of_alpha[n_beta:], kind="stable")
            open_, empty = np.split(rest, [n_alpha - n_beta])
            order = np.concatenate([np.arange(n_beta), np.sort(open_), np.sort(empty)])
            vectors, energies = [vectors[0][:, order]], [energies[0][order]]
        return vectors, energies

    def _within(self, criteria: Criteria) -> bool:
        if not np.isfinite(self.change):  # the densities need not be of orbitals, and there is no change yet
            return False
        left = self.change * (self.gradient / max(self._before, 1e-100)) ** 2
        return bool(left < criteria.energy and self.gradient < criteria.gradient)


# ---- energy and Fock matrices

_COARSE = 1
"""Level of the grid until orbitals are close to convergence."""

LEVEL = 3
"""Level of the grid that energies are given on: that of PySCF where it is not told another one."""


def qualities(functional: Functional, target: Target, n_atoms: int) -> tuple[Quality, Quality]:
    """Grids of exact exchange: of densities, and of their changes."""
    if target.precision == "double":
        return "finest", "fine"
    share = functional.exact.full + max(functional.exact.long_range, 0.0)
    is_medium = share < _QUARTER and n_atoms <= _FEW and target.on_host
    return "medium" if is_medium else "fine", "coarse"


_QUARTER = 0.26
"""Share of exact exchange below which it needs fewer points."""

_FEW = 20
"""Atoms up to which it has them: errors add up, to 8e-6 hartree for B3LYP in C60."""

_NEON = 10
"""Largest atomic number with which more exact exchange than that may be fitted: all of it in NaCl (def2-TZVP) is off by
1.2e-6 hartree if changes are."""

LIGHT = 18
"""Largest atomic number with which quadrature is exact enough in single precision. Rounding in the cores makes 1e-6
hartree/bohr of forces for Cl, 6e-6 for Br and 2e-5 for I; of the energy of exact exchange 7e-7 hartree for Br."""

_LEFT_OUT = 1e-9
"""What leaving out integrals may cost an element of the Coulomb matrix in hartree, in each of some ten changes."""


_NEARLY_DEPENDENT = 1e-5
"""Least eigenvalue of the overlap of the functions kept, below which all is in double precision: an error of a Fock
matrix is as much larger over orthonormal functions."""


class Hamiltonian:
    """The operator of a molecule.

    Parameters
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
        0 for ghosts.
    basis : Basis
    functional : Functional
    target : Target
        The device of the current session. In single precision elements of Fock matrices are right to 2e-6 hartree, in
        double precision to 1e-9.
    close : bool
        Whether the first densities are close to the last: the operator is exact from the beginning then.
    rough : bool
        Whether it is not to be exact at all: on a coarse grid energies are right to some 1e-4 hartree.
    core_charges : ndarray, shape (n_atoms,), optional
        Charges that the electrons see, where they are not the atomic numbers.
    core_potential : ndarray, shape (n_basis, n_basis), optional
        Matrix of the effective core potentials, where there are any.
    dielectric : float
        Dielectric constant of a solvent about the molecule; 0 for vacuum.
    external : ExternalCharges, optional
        Charges in whose field the molecule is.

    Attributes
    ----------
    overlap : ndarray, shape (n_basis, n_basis)
    solvation : float
        Part of the last energy, in hartree: that of the apparent charges with the molecule and with each other.
    """

    def __init__(
        self,
        atomic_numbers: NDArray[np.int64],
        basis: Basis,
        functional: Functional,
        target: Target,
        close: bool,
        rough: bool = False,
        core_charges: Reals | None = None,
        core_potential: Reals | None = None,
        dielectric: float = 0.0,
        external: ExternalCharges | None = None,
    ) -> None:
        self._numbers, self._basis, self._functional, self._target = atomic_numbers, basis, functional, target
        self._pairs = pairs_of(basis)
        self.overlap = dense(own_overlap(basis))
        charges = atomic_numbers.astype(np.float64) if core_charges is None else core_charges
        self._qualities = qualities(functional, target, len(atomic_numbers))
        self._is_heavy = bool(atomic_numbers.max() > LIGHT)
        self._exact = Target(target.device, "double") if probe(target.device).double else target
        independent = np.linalg.eigvalsh(self.overlap)
        if independent[independent > DEPENDENT].min(initial=1.0) < _NEARLY_DEPENDENT:
            self._target = target = self._exact
        nuclei = point_charges(-charges, basis.positions)
        attraction = self._coulomb_values(*nuclei, self._exact)
        self._repulsion = nuclear_repulsion(charges, basis.positions)
        if external is not None:
            pairs, exact = self._pairs, self._exact
            values, at_nuclei = field_of_charges(pairs.list, basis.positions, external, exact, pairs.bound)
            attraction, self._repulsion = attraction + values, self._repulsion + float(charges @ at_nuclei[:, 0])
        self._core = dense(kinetic_matrix(basis)) + to_matrix(self._pairs, attraction, target)
        if core_potential is not None:
            self._core += core_potential
        self._cavity = cavity_of(atomic_numbers, basis.positions, dielectric) if dielectric else None
        self.solvation = 0.0
        if self._cavity is not None:
            self._reaction = self._to_nuclei = reaction_field(self._cavity, self._pairs, *nuclei, self._exact)
        self._finest = _COARSE if rough else LEVEL
        self._on_grids: dict[Quality, Exchange] = {}
        self._fitted: FittedExchange | None = None
        is_light = atomic_numbers.max() <= (LIGHT if "medium" in self._qualities else _NEON)
        self._is_fitted = functional.is_hybrid and target.on_host and is_light and may_be_fitted(self._pairs)
        self._coulomb: Reals | float = 0.0
        self._exchange: Reals | float = 0.0
        self._begin(self._finest if close else _COARSE)

    def refine(self) -> bool:
        """Go over to the grid that energies are given on; False where it serves already."""
        if self._level == self._finest:
            return False
        self._begin(self._finest)
        return True

    def _begin(self, level: int) -> None:
        """Use a grid, and compute everything anew for the next densities."""
        self._level = level
        self._grid = grid_of(self._numbers, self._basis.positions, self._target, level)
        is_semilocal = self._functional.is_semilocal
        self._quadrature = quadrature_of(self._pairs, self._grid, self._target) if is_semilocal else None
        needs_tau = self._functional.needs_tau
        self._kinetic = KineticEnergyDensity.of(self._basis, self._grid, self._target) if needs_tau else None
        self._hermite: Reals | None = None
        self._densities: Reals = np.zeros(0)

    def fock(self, densities: Reals, exact: bool = False) -> tuple[float, Reals]:
        """Energy in hartree, and Fock matrices.

        What is linear in the density, its potential and its values at the points, is computed of the change since the
        last densities. Of the first ones, where the fine grid serves, and of `exact` ones it is computed in double
        precision: what single precision makes of the changes is as small as they are.
        """
        hermite = np.array([to_hermite(self._pairs, density, self._target) for density in densities])
        is_change = not exact and self._hermite is not None
        some, matrices = (hermite - self._hermite, densities - self._densities) if is_change else (hermite, densities)
        target = self._exact if exact or (not is_change and self._level == LEVEL) else self._target
        at_points = self._at_points(some, matrices, target, is_change)  # a GPU is at it while more is prepared
        exchange = self._exact_exchange(matrices, is_change)
        potential = self._coulomb_values(self._pairs.list, some.sum(axis=0), target)
        self._coulomb = (self._coulomb if is_change else 0.0) + potential
        reaction = self._reaction_to(some.sum(axis=0), target, anew=not is_change)
        of_grid = self._of_grid(at_points, hermite, target, is_change, exact)
        self._hermite, self._densities = hermite, densities
        energy = self._repulsion + np.vdot(densities.sum(axis=0), self._core) + of_grid.energy + self.solvation
        energy += 0.5 * hermite.sum(axis=0) @ self._coulomb + 0.5 * np.sum(densities * exchange)
        field = self._coulomb + reaction
        result = np.array([to_matrix(self._pairs, field + values, self._target) for values in of_grid.values])
        if self._kinetic:
            result += [self._kinetic.matrix(values) for values in of_grid.kinetic_values]
        return float(energy), result + self._core + exchange

    def _at_points(self, hermite: Reals, densities: Reals, target: Target, is_change: bool) -> tuple[Any, Any]:
        """Densities at the points of the grid, or with their change; and tau where the functional asks for it."""
        if self._quadrature is None:
            return None, None
        gradient, is_double = self._functional.needs_gradient, not is_change and target is self._exact
        values = self._quadrature.densities(list(hermite), gradient, further=is_change, exact=is_double)
        return values, self._kinetic and self._kinetic.densities(list(densities), is_change, is_double)

    def _of_grid(
        self, at_points: tuple[Any, Any], hermite: Reals, target: Target, is_change: bool, exact: bool
    ) -> ExchangeCorrelation:
        """What is integrated on the grid; all in double precision for `exact`."""
        if self._quadrature is None:
            return ExchangeCorrelation(0.0, (), tuple(np.zeros_like(hermite)))
        quadrature = self._quadrature.in_precision(self._exact) if exact else self._quadrature
        values, taus = at_points
        kinetic = (self._kinetic.in_precision(quadrature.target), taus) if self._kinetic else None
        is_double = not is_change and target is self._exact and self._exact.precision == "double"
        return of_densities(quadrature, values, self._functional, exact=is_double, kinetic=kinetic)

    def _exact_exchange(self, densities: Reals, is_change: bool) -> Reals | float:
        """What exact exchange adds to Fock matrices: of a change on the coarse grid, whose error is a share of it.

        Of the first densities, where energies are to be exact, it is computed on a fine grid; where they are not yet,
        all is on the coarsest. In place of the coarse grids products of functions are fitted where that is quicker.
        """
        if not self._functional.is_hybrid:
            return 0.0
        quality, target = self._qualities[is_change], self._target
        if self._level != LEVEL:
            quality = "coarsest"
        elif self._is_heavy and not is_change:
            target = self._exact
        if self._is_fitted and quality in ("coarsest", "coarse"):
            if self._fitted is None:
                self._fitted = fitted_exchange_of(self._pairs, self._functional.exact, target)
            parts = self._fitted.matrices(densities)
        else:
            parts = self._exchange_on(quality, target).matrices(densities, self._functional.exact)
        self._exchange = (self._exchange if is_change else 0.0) - 0.5 * len(densities) * parts
        return self._exchange

    def _exchange_on(self, quality: Quality, target: Target) -> Exchange:
        if quality not in self._on_grids:
            grid = exchange_grid_of(self._numbers, self._basis.positions, target, quality)
            self._on_grids[quality] = exchange_of(self._basis, grid, self.overlap, target)
        return self._on_grids[quality]

    def _reaction_to(self, hermite: Reals, target: Target, anew: bool = False) -> Reals | float:
        """Potential of the solvent on the list; it answers to a density `anew`, or to a change of the last one."""
        if self._cavity is None:
            return 0.0
        answer = reaction_field(self._cavity, self._pairs, self._pairs.list, hermite, target)
        self._reaction = (self._to_nuclei if anew else self._reaction) + answer
        self.solvation = self._reaction.energy
        return self._reaction.values

    def _coulomb_values(self, kets: HermiteList, coefficients: Reals, target: Target) -> Reals:
        limit = min(_LEFT_OUT, TOLERANCE[target.precision])
        bound = self._pairs.bound
        return coulomb_values(self._pairs.list, kets, coefficients, target, tolerance=limit, bra_bound=bound)
