r"""The self-consistent field: density matrices whose own Fock matrices have their orbitals.

Fock matrices are extrapolated by DIIS (P. Pulay, Chem. Phys. Lett. 1980, 73, 393; J. Comput. Chem. 1982, 3, 556) with
the commutator FDS - SDF as the error. Where that does not converge it is done again with virtual orbitals shifted
upwards (V. R. Saunders and I. H. Hillier, Int. J. Quantum Chem. 1973, 7, 699), which is slower and surer.

Density matrices have the shape (n_spins, n_basis, n_basis): one of all electrons, or one for each spin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..watch import checkpoint
from .calculation import NotConverged

Reals = NDArray[np.float64]

_MOST = 50
"""Fock matrices of an attempt."""

_PATIENCE = 15
"""Iterations without a smaller gradient after which an attempt is given up: it oscillates."""

_KEPT = 8
"""Fock matrices that DIIS combines."""

_SHIFTS = (0.0, 0.3, 1.0)
"""Level shifts of the attempts in hartree."""

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
        Largest change of the energy in the last iteration, in hartree.
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
    """

    energy: float
    coefficients: tuple[Reals, ...]
    orbital_energies: tuple[Reals, ...]
    n_iterations: int


def self_consistent_field(
    operator: Operator, occupied: tuple[int, ...], start: Reals, criteria: Criteria, name: str
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

    Raises
    ------
    NotConverged
        When no attempt converges: says by how much energy and gradient still changed.
    """
    orthonormal = orthonormal_functions(operator.overlap)
    n_independent = orthonormal.shape[1]
    if max(occupied) > n_independent:
        raise NotConverged(
            f"{name}: {max(occupied)} occupied orbitals do not fit into {n_independent} functions that do not depend "
            "on others; are atoms too close to each other?"
        )
    done = 0
    for shift in _SHIFTS:
        attempt = _Attempt(operator, occupied, orthonormal, shift)
        field = attempt.converged(start, criteria)
        done += attempt.n_iterations
        if field is not None:
            return Field(*field, n_iterations=done)
    raise NotConverged(
        f"{name} did not converge in {done} iterations, by DIIS nor with shifted levels: in the last one the energy "
        f"changed by {attempt.change:.1e} hartree (expected {criteria.energy:.0e}), and the gradient was "
        f"{attempt.gradient:.1e} (expected {criteria.gradient:.0e})"
    )


def orthonormal_functions(overlap: Reals) -> Reals:
    """Orthonormal combinations of basis functions, shape (n_basis, n), without those that depend on others."""
    values, axes = np.linalg.eigh(overlap)
    kept = values > _DEPENDENT
    result: Reals = axes[:, kept] / np.sqrt(values[kept])
    return result


def densities_of(coefficients: Sequence[Reals], occupied: tuple[int, ...]) -> Reals:
    """Density matrices of the first orbitals of each set, `occupied` by two electrons or, of two sets, by one."""
    return np.array([2 / len(occupied) * c[:, :n] @ c[:, :n].T for c, n in zip(coefficients, occupied, strict=True)])


class _Attempt:
    """Iterations with one level shift."""

    def __init__(self, operator: Operator, occupied: tuple[int, ...], orthonormal: Reals, shift: float) -> None:
        self._operator, self._occupied, self._orthonormal, self._shift = operator, occupied, orthonormal, shift
        self.n_iterations = 0
        self.change = self.gradient = np.inf

    def converged(self, start: Reals, criteria: Criteria) -> tuple[float, tuple[Reals, ...], tuple[Reals, ...]] | None:
        """Energy, orbitals and their energies; None where they do not converge."""
        densities, energy = start, np.inf
        extrapolation = Diis(_KEPT, self._commutators)
        rough: Reals | None = None
        least, since = np.inf, 0
        while self.n_iterations < min(_MOST, since + _PATIENCE):
            checkpoint()
            fock = self._operator.fock(densities)
            self.n_iterations += 1
            if rough is not None:
                extrapolation.shift(fock.matrices - rough)
                rough = None
            self.change, energy = abs(fock.energy - energy), fock.energy
            errors = self._commutators(fock.matrices, densities)
            self.gradient = float(np.linalg.norm(errors)) / np.sqrt(2)
            if self.gradient < least:
                least, since = self.gradient, self.n_iterations
            if self._within(CLOSE) and self._operator.refine():
                rough = fock.matrices
                continue
            if self._within(criteria):
                orbitals, energies = zip(*map(self._orbitals, fock.matrices), strict=True)
                return energy, orbitals, energies
            matrices = extrapolation.next(fock.matrices, densities, errors)
            shifted = [self._shifted(*pair) for pair in zip(matrices, densities, strict=True)]
            densities = densities_of([self._orbitals(matrix)[0] for matrix in shifted], self._occupied)
        return None

    def _orbitals(self, matrix: Reals) -> tuple[Reals, Reals]:
        energies, vectors = np.linalg.eigh(self._orthonormal.T @ matrix @ self._orthonormal)
        return self._orthonormal @ vectors, energies

    def _within(self, criteria: Criteria) -> bool:
        return self.change < criteria.energy and self.gradient < criteria.gradient

    def _commutators(self, matrices: Reals, densities: Reals) -> Reals:
        """F D S - S D F over orthonormal functions."""
        x, overlap = self._orthonormal, self._operator.overlap
        products = [x.T @ f @ d @ overlap @ x for f, d in zip(matrices, densities, strict=True)]
        return np.array([product - product.T for product in products])

    def _shifted(self, matrix: Reals, density: Reals) -> Reals:
        if not self._shift:
            return matrix
        overlap = self._operator.overlap
        return matrix + self._shift * (overlap - overlap @ density @ overlap * (len(self._occupied) / 2))


class Diis:
    """Direct inversion in the iterative subspace: the combination of Fock matrices with the smallest error.

    Parameters
    ----------
    most
        Fock matrices that are kept.
    errors_of
        Errors of Fock matrices and density matrices.
    """

    def __init__(self, most: int, errors_of: Callable[[Reals, Reals], Reals]) -> None:
        self._most, self._errors_of = most, errors_of
        self._matrices: list[Reals] = []
        self._densities: list[Reals] = []
        self._errors: list[Reals] = []
        self._products = np.zeros((0, 0))
        """Of the errors with each other."""

    def next(self, matrices: Reals, densities: Reals, errors: Reals) -> Reals:
        """Take Fock matrices of densities with their errors, and combine all that are kept; factors add up to 1."""
        if len(self._errors) == self._most:
            del self._matrices[0], self._densities[0], self._errors[0]
            self._products = self._products[1:, 1:]
        self._matrices.append(matrices)
        self._densities.append(densities)
        self._errors.append(errors)
        self._products = np.pad(self._products, (0, 1))
        self._products[-1] = self._products[:, -1] = [np.sum(errors * other) for other in self._errors]
        n = len(self._errors)
        equations = np.ones((n + 1, n + 1))
        equations[:n, :n] = self._products
        equations[n, n] = 0
        # errors become small: rows and columns are scaled alike, so that no factor is lost
        scale = np.append(1 / np.sqrt(np.maximum(np.diag(self._products), np.finfo(float).tiny)), 1.0)
        factors = (
            np.linalg.lstsq(equations * scale * scale[:, None], np.append(np.zeros(n), 1.0), rcond=None)[0] * scale
        )
        result: Reals = sum(
            (factor * kept for factor, kept in zip(factors[:n], self._matrices, strict=True)), np.zeros_like(matrices)
        )
        return result

    def shift(self, change: Reals) -> None:
        """Add to all Fock matrices what a better operator changes: nearly the same for all densities."""
        self._matrices = [matrices + change for matrices in self._matrices]
        self._errors = [self._errors_of(f, d) for f, d in zip(self._matrices, self._densities, strict=True)]
        self._products = np.array([[np.sum(a * b) for b in self._errors] for a in self._errors])
