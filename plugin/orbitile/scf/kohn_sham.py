r"""The self-consistent field: density matrices whose own Fock matrices have their orbitals.

Fock matrices are extrapolated by DIIS. Where that does not converge the energy is minimised, see `minimisation`, which
is slower and surer.

Density matrices have the shape (n_spins, n_basis, n_basis): one of all electrons, or one for each spin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..watch import checkpoint
from .calculation import NotConverged
from .diis import Diis, Response, commutators
from .minimisation import Descent

Reals = NDArray[np.float64]

_MOST = (50, 250)
"""Fock matrices with DIIS, and by minimisation of the energy."""

_PATIENCE = 15
"""Iterations without a smaller gradient after which DIIS is left: what oscillates does not stop by itself."""

DEPENDENT = 1e-7
"""Eigenvalues of the overlap below it are of functions that depend on others; they are left out."""


@dataclass(frozen=True, eq=False)
class Fock:
    """Energy of density matrices, and its derivatives.

    Attributes
    ----------
    energy : float
        In hartree.
    matrices : ndarray, shape (n_spins, n_basis, n_basis)
        Derivative of the energy with respect to each density matrix.
    """

    energy: float
    matrices: Reals


class Operator(Protocol):
    """What the energy of density matrices is."""

    overlap: Reals

    def fock(self, densities: Reals, exact: bool = False) -> Fock:
        """Energy and Fock matrices; `exact` ones as exact as they can be, whatever was refined."""
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
"""Orbitals that are worth an exact operator."""


@dataclass(frozen=True, eq=False)
class Field:
    """A self-consistent field.

    Attributes
    ----------
    energy : float
        In hartree.
    coefficients : tuple of ndarray, shape (n_basis, n_orbitals)
        Orbitals of each spin, or of both together.
    orbital_energies : tuple of ndarray, shape (n_orbitals,)
    n_iterations : int
        Fock matrices that it took.
    response : Response
        What was learnt, for the next geometry.
    """

    energy: float
    coefficients: tuple[Reals, ...]
    orbital_energies: tuple[Reals, ...]
    n_iterations: int
    response: Response


def self_consistent_field(
    operator: Operator,
    occupied: tuple[int, ...],
    start: Reals,
    criteria: Criteria,
    name: str,
    response: Response | None = None,
) -> Field:
    """Converge, from density matrices to begin with.

    Parameters
    ----------
    operator
        Energy and Fock matrices.
    occupied
        Orbitals with electrons: their number for closed shells, or that of each spin.
    start : ndarray, shape (n_spins, n_basis, n_basis)
        Need not be of orbitals, as those of superposed atoms are not.
    criteria
        When to end. As long as the operator can be refined, `CLOSE` is enough.
    name
        Of the calculation, for the error.
    response
        What was learnt of the same atoms and basis functions, where they were before.

    Raises
    ------
    NotConverged
        When no attempt converges: says by how much energy and gradient still changed.
    """
    functions = orthonormal_functions(operator.overlap)
    n_independent = functions.coefficients.shape[1]
    if max(occupied) > n_independent:
        raise NotConverged(
            f"{name}: {max(occupied)} occupied orbitals do not fit into {n_independent} functions that do not depend "
            "on others; are atoms too close to each other?"
        )
    extrapolation = Diis(functions.symmetric, response)
    attempt = _Attempt(operator, occupied, functions, criteria)
    found = attempt.extrapolated(start, extrapolation) or attempt.minimised(start, extrapolation)
    if found is not None:
        return Field(*found, n_iterations=attempt.n_iterations, response=extrapolation.response())
    raise NotConverged(
        f"{name} did not converge in {attempt.n_iterations} iterations, by DIIS nor by minimisation of the energy: in "
        f"the last one the energy changed by {attempt.change:.1e} hartree (expected {criteria.energy:.0e}), and the "
        f"gradient was {attempt.gradient:.1e} (expected {criteria.gradient:.0e})"
    )


@dataclass(frozen=True, eq=False)
class OrthonormalFunctions:
    """Orthonormal combinations of basis functions, without those that depend on others.

    Attributes
    ----------
    coefficients : ndarray, shape (n_basis, n)
        In terms of the basis functions.
    symmetric : ndarray, shape (n_basis, n)
        In terms of Loewdin's orthonormal functions, S^(-1/2) times the basis functions.
    """

    coefficients: Reals
    symmetric: Reals


def orthonormal_functions(overlap: Reals) -> OrthonormalFunctions:
    """Along the axes of the overlap matrix, shape (n_basis, n_basis)."""
    values, axes = np.linalg.eigh(overlap)
    kept = values > DEPENDENT
    return OrthonormalFunctions(axes[:, kept] / np.sqrt(values[kept]), axes[:, kept])


def densities_of(coefficients: Sequence[Reals], occupied: tuple[int, ...]) -> Reals:
    """Density matrices of the first orbitals of each set, `occupied` by two electrons or, of two sets, by one."""
    return np.array([2 / len(occupied) * c[:, :n] @ c[:, :n].T for c, n in zip(coefficients, occupied, strict=True)])


def _settled(energies: list[Reals]) -> bool:
    """Whether energies of orbitals no longer change; of each Fock matrix those of both spins."""
    if len(energies) in (1, _AT_MOST):
        return len(energies) > 1
    before, last = energies[-2:]
    return bool(np.all(np.abs(last - before) < _SETTLED * (1 + last**2)))


_Found = tuple[float, tuple[Reals, ...], tuple[Reals, ...]]
"""Energy, orbitals and their energies."""


class _Attempt:
    """Iterations; matrices are over orthonormal functions."""

    def __init__(
        self, operator: Operator, occupied: tuple[int, ...], functions: OrthonormalFunctions, criteria: Criteria
    ) -> None:
        self._operator, self._occupied, self._criteria = operator, occupied, criteria
        self._from_basis = functions.coefficients
        self._to_basis = operator.overlap @ self._from_basis
        self.n_iterations = 0
        self._begin()

    def _begin(self) -> None:
        self._energy = self.change = self.gradient = self._before = np.inf
        self._exact = False

    def extrapolated(self, start: Reals, extrapolation: Diis) -> _Found | None:
        """By DIIS; None where it does not converge."""
        densities = start
        rough: Reals | None = None
        least, since = np.inf, 0
        found: list[Reals] = []
        while self.n_iterations < min(_MOST[0], since + _PATIENCE):
            matrices, projected = self._look(densities)
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
                orbitals, energies = zip(*map(self._orbitals, matrices), strict=True)
                found.append(np.array(energies))
                if not self._criteria.settled or len(energies) == 1 or _settled(found):
                    return self._energy, orbitals, energies
                self._exact = True
            densities = densities_of([self._orbitals(matrix)[0] for matrix in extrapolation.best()], self._occupied)
        return None

    def minimised(self, start: Reals, extrapolation: Diis) -> _Found | None:
        """By steps that go down in energy; None where it does not converge."""
        self._begin()
        descent = Descent(self._first_orbitals(start), self._occupied, self._of_orbitals, self._criteria.energy)
        most = self.n_iterations + _MOST[1]
        while self.n_iterations < most:
            if self._within(CLOSE) and self._operator.refine():
                descent.look()
            elif self._within(self._criteria):
                if not self._exact and self._criteria.settled and len(self._occupied) == 2:
                    self._exact = True
                    descent.look()
                    continue
                orbitals = tuple(self._from_basis @ c for c in descent.orbitals)
                extrapolation.restart(descent.matrices, self._projected(descent.orbitals))
                return self._energy, orbitals, tuple(descent.energies)
            descent.step()
        return None

    def _first_orbitals(self, start: Reals) -> list[Reals]:
        """Orbitals of the Fock matrices of densities, or those that hold most of these, whichever have less energy."""
        matrices, projected = self._look(start)
        choices = [[np.linalg.eigh(matrix)[1] for matrix in given] for given in (matrices, -projected)]
        return min(choices, key=lambda orbitals: self._of_orbitals(orbitals)[0])

    def _projected(self, orbitals: list[Reals]) -> Reals:
        return densities_of(orbitals, self._occupied)

    def _of_orbitals(self, orbitals: list[Reals]) -> tuple[float, Reals]:
        matrices, _ = self._look(densities_of([self._from_basis @ c for c in orbitals], self._occupied))
        return self._energy, matrices

    def _look(self, densities: Reals) -> tuple[Reals, Reals]:
        """Fock matrices and densities over orthonormal functions, and how far these are from a field."""
        checkpoint()
        fock = self._operator.fock(densities, exact=self._exact)
        self.n_iterations += 1
        matrices = self._from_basis.T @ fock.matrices @ self._from_basis
        projected = self._to_basis.T @ densities @ self._to_basis
        self.change, self._energy = abs(fock.energy - self._energy), fock.energy
        self._before = self.gradient
        self.gradient = float(np.linalg.norm(commutators(matrices, projected))) / np.sqrt(2)
        return matrices, projected

    def _orbitals(self, matrix: Reals) -> tuple[Reals, Reals]:
        energies, vectors = np.linalg.eigh(matrix)
        return self._from_basis @ vectors, energies

    def _within(self, criteria: Criteria) -> bool:
        if not np.isfinite(self.change):  # the densities need not be of orbitals, and there is no change yet
            return False
        left = self.change * (self.gradient / max(self._before, 1e-100)) ** 2
        return bool(left < criteria.energy and self.gradient < criteria.gradient)
