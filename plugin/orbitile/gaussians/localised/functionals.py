r"""What localised orbitals have the largest value of, as functions of a rotation among orbitals.

All are sums of a power of the expectation values of some operators, :math:`F = \sum_{iA} \langle i|Q^A|i\rangle^p`.
Under :math:`e^\kappa`, :math:`\kappa` antisymmetric, with :math:`V^A = Q^A\kappa`, :math:`q_i^A = Q^A_{ii}`,
:math:`\delta_i^A = 2 V^A_{ii}` and :math:`X = \sum_A Q^A f'(q^A)`, columns weighted, the second order of F is

.. math::  \langle X - X^T, \kappa\rangle + \tfrac12 \langle H\kappa, \kappa\rangle,\quad
    H\kappa = A - A^T,\; A = \sum_A \bigl[Q^A f''(q^A)\delta^A + V^A f'(q^A)\bigr] - \tfrac12 (X + X^T)\kappa,

which a few products of matrices evaluate (I.-M. Hoyvik, B. Jansik and P. Jorgensen, J. Chem. Theory Comput. 2012, 8,
3137, for the trust region that this is made for).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

_LEAST_CURVATURE = 0.3
"""Of a pair of orbitals, as a share of the mean of all nearest ones: what steps along flat directions are scaled by."""


class Functional(ABC):
    """A measure of localisation, at some orbitals."""

    exponent: int

    @property
    @abstractmethod
    def operators(self) -> Reals:
        """What stands for all Q: any array that `image` makes."""

    @abstractmethod
    def image(self, rotation: Reals) -> Reals:
        """What stands for all Q times a matrix of shape (n, n)."""

    @abstractmethod
    def diagonals(self, image: Reals) -> Reals:
        """Diagonals of the products that an image stands for, shape (number of Q, n)."""

    @abstractmethod
    def weighted(self, *images: tuple[Reals, Reals]) -> Reals:
        """Sum of the products that images stand for, columns times weights of shape (number of Q, n)."""

    @abstractmethod
    def rotated(self, rotation: Reals) -> Functional:
        """The measure at orbitals that are a rotation, shape (n, n), of these."""

    @cached_property
    def expectations(self) -> Reals:
        """Expectation values q of the operators, shape (number of Q, n)."""
        return self.diagonals(self.operators)

    @property
    def value(self) -> float:
        """F itself."""
        return float(np.sum(self.expectations**self.exponent))

    @cached_property
    def gradient(self) -> Reals:
        """Antisymmetric matrix, shape (n, n)."""
        return self._slope - self._slope.T

    @cached_property
    def _slope(self) -> Reals:
        return self.weighted((self.operators, self._first))

    @cached_property
    def _first(self) -> Reals:
        return self.exponent * self.expectations ** (self.exponent - 1)

    def curved(self, rotation: Reals) -> Reals:
        """The Hessian times an antisymmetric matrix, shape (n, n)."""
        image = self.image(rotation)
        second = self.exponent * (self.exponent - 1) * self.expectations ** (self.exponent - 2)
        change = 2 * self.diagonals(image)
        half = self.weighted((self.operators, second * change), (image, self._first))
        half -= 0.5 * (self._slope + self._slope.T) @ rotation
        return half - half.T

    @cached_property
    def scale(self) -> Reals:
        """About minus the curvature for each pair of orbitals, shape (n, n); positive."""
        weights, q = self._first, self.expectations
        cross = weights.T @ q
        own = np.diag(cross)
        curvature = 2 * np.abs(own[:, None] + own - cross - cross.T)
        nearest = np.min(curvature + np.diag(np.full(len(own), np.inf)), axis=1)
        mean = float(curvature.mean())
        return curvature + max(_LEAST_CURVATURE * min(float(nearest.mean()), mean), 1e-3 * mean, 1e-6)


@dataclass(frozen=True, eq=False)
class Populations(Functional):
    """Shares of the orbitals on the atoms.

    With the exponent 2 after J. Pipek and P. G. Mezey, J. Chem. Phys. 1989, 90, 4916; with 4, over intrinsic atomic
    orbitals, G. Knizia, J. Chem. Theory Comput. 2013, 9, 4834, p. 4837.

    Attributes
    ----------
    orbitals : ndarray, shape (n_sites, n)
        Coefficients over orthonormal functions of the atoms, those of an atom side by side.
    counts : ndarray of int, shape (n_atoms,)
        Functions of each atom, at least 1.
    exponent : int
    """

    orbitals: Reals
    counts: NDArray[np.int64]
    exponent: int

    @property
    def operators(self) -> Reals:
        """The orbitals."""
        return self.orbitals

    def image(self, rotation: Reals) -> Reals:
        """Combinations of the orbitals, shape (n_sites, n)."""
        return self.orbitals @ rotation

    def diagonals(self, image: Reals) -> Reals:
        """Sums over the functions of each atom."""
        return np.add.reduceat(self.orbitals * image, np.cumsum(self.counts) - self.counts, axis=0)

    def weighted(self, *images: tuple[Reals, Reals]) -> Reals:
        """One product of matrices, whatever the number of atoms."""
        columns = np.zeros_like(self.orbitals)
        for image, weights in images:
            columns += image * np.repeat(weights, self.counts, axis=0)
        return self.orbitals.T @ columns

    def rotated(self, rotation: Reals) -> Populations:
        """Of the same functions of atoms."""
        return replace(self, orbitals=self.orbitals @ rotation)


@dataclass(frozen=True, eq=False)
class Centres(Functional):
    """Squares of the distances of the orbitals' centres from their mean, whose sum grows as their spreads fall.

    S. F. Boys, Rev. Mod. Phys. 1960, 32, 296; J. M. Foster and S. F. Boys, ibid., 300.

    Attributes
    ----------
    positions : ndarray, shape (3, n, n)
        Elements of x, y and z between the orbitals, from the mean of their centres, in bohr.
    """

    positions: Reals
    exponent: int = 2

    @property
    def operators(self) -> Reals:
        """The elements of x, y and z."""
        return self.positions

    def image(self, rotation: Reals) -> Reals:
        """Three products."""
        return self.positions @ rotation

    def diagonals(self, image: Reals) -> Reals:
        """Of all three."""
        return np.einsum("xii->xi", image)

    def weighted(self, *images: tuple[Reals, Reals]) -> Reals:
        """Sum of all three."""
        total = np.zeros(self.positions.shape[1:])
        for image, weights in images:
            total += np.einsum("xij,xj->ij", image, weights)
        return total

    def rotated(self, rotation: Reals) -> Centres:
        """In the rotated orbitals."""
        return replace(self, positions=rotation.T @ self.positions @ rotation)
