r"""The self-consistent field: density matrices whose own Fock matrices have their orbitals.

Fock matrices are extrapolated by DIIS. Where that does not converge it is done again with virtual orbitals shifted
upwards (V. R. Saunders and I. H. Hillier, Int. J. Quantum Chem. 1973, 7, 699), which is slower and surer.

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

Reals = NDArray[np.float64]

_SHIFTS = (0.0, 0.5, 2.0)
"""Level shifts of the attempts in hartree."""

_MOST = (50, 150, 150)
"""Fock matrices of each attempt."""

_PATIENCE = 15
"""Iterations without a smaller gradient after which levels are shifted: what oscillates does not stop by itself."""

_DEPENDENT = 1e-7
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

    def fock(self, densities: Reals) -> Fock:
        """Energy and Fock matrices."""
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
    """

    energy: float = 1e-9
    gradient: float = 3e-5


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
    done = 0
    for shift, most in zip(_SHIFTS, _MOST, strict=True):
        extrapolation = Diis(functions.symmetric, None if shift else response)
        attempt = _Attempt(operator, occupied, functions, shift, extrapolation)
        field = attempt.converged(start, criteria, most, most if shift else _PATIENCE)
        done += attempt.n_iterations
        if field is not None:
            return Field(*field, n_iterations=done, response=extrapolation.response())
    raise NotConverged(
        f"{name} did not converge in {done} iterations, by DIIS nor with shifted levels: in the last one the energy "
        f"changed by {attempt.change:.1e} hartree (expected {criteria.energy:.0e}), and the gradient was "
        f"{attempt.gradient:.1e} (expected {criteria.gradient:.0e})"
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
    kept = values > _DEPENDENT
    return OrthonormalFunctions(axes[:, kept] / np.sqrt(values[kept]), axes[:, kept])


def densities_of(coefficients: Sequence[Reals], occupied: tuple[int, ...]) -> Reals:
    """Density matrices of the first orbitals of each set, `occupied` by two electrons or, of two sets, by one."""
    return np.array([2 / len(occupied) * c[:, :n] @ c[:, :n].T for c, n in zip(coefficients, occupied, strict=True)])


class _Attempt:
    """Iterations with one level shift; matrices are over orthonormal functions."""

    def __init__(
        self,
        operator: Operator,
        occupied: tuple[int, ...],
        functions: OrthonormalFunctions,
        shift: float,
        extrapolation: Diis,
    ) -> None:
        self._operator, self._occupied, self._shift, self._extrapolation = operator, occupied, shift, extrapolation
        self._from_basis = functions.coefficients
        self._to_basis = operator.overlap @ self._from_basis
        self.n_iterations = 0
        self.change = self.gradient = self._before = np.inf

    def converged(
        self, start: Reals, criteria: Criteria, most: int, patience: int
    ) -> tuple[float, tuple[Reals, ...], tuple[Reals, ...]] | None:
        """Energy, orbitals and their energies; None where they do not converge."""
        densities, energy = start, np.inf
        rough: Reals | None = None
        least, since = np.inf, 0
        while self.n_iterations < min(most, since + patience):
            checkpoint()
            fock = self._operator.fock(densities)
            self.n_iterations += 1
            matrices = self._from_basis.T @ fock.matrices @ self._from_basis
            projected = self._to_basis.T @ densities @ self._to_basis
            if rough is not None:
                self._extrapolation.shift(matrices - rough)
                rough = None
            self.change, energy = abs(fock.energy - energy), fock.energy
            self._before = self.gradient
            self.gradient = float(np.linalg.norm(commutators(matrices, projected))) / np.sqrt(2)
            if self.gradient < least:
                least, since = self.gradient, self.n_iterations
            if self._within(CLOSE) and self._operator.refine():
                rough = matrices
                continue
            self._extrapolation.add(matrices, projected)
            if self._within(criteria):
                orbitals, energies = zip(*map(self._orbitals, matrices), strict=True)
                return energy, orbitals, energies
            shifted = [self._shifted(*pair) for pair in zip(self._extrapolation.best(), projected, strict=True)]
            densities = densities_of([self._orbitals(matrix)[0] for matrix in shifted], self._occupied)
        return None

    def _orbitals(self, matrix: Reals) -> tuple[Reals, Reals]:
        energies, vectors = np.linalg.eigh(matrix)
        return self._from_basis @ vectors, energies

    def _within(self, criteria: Criteria) -> bool:
        if self.n_iterations == 1:  # the densities need not be of orbitals, and there is no change yet
            return False
        left = self.change * (self.gradient / max(self._before, 1e-100)) ** 2
        return bool(left < criteria.energy and self.gradient < criteria.gradient)

    def _shifted(self, matrix: Reals, density: Reals) -> Reals:
        if not self._shift:
            return matrix
        return matrix + self._shift * (np.eye(len(matrix)) - density * (len(self._occupied) / 2))
