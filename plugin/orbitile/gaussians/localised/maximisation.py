r"""The rotation among orbitals that makes a measure of localisation largest: Newton steps within a trust region.

Each step is found by conjugate gradients that end at the border of the region or along a direction of growth (T.
Steihaug, SIAM J. Numer. Anal. 1983, 20, 626), so that saddle points repel; the rotation is Cayley's, which is
orthogonal and agrees with the exponential to second order. Starts are the orbitals as they are, those that a pivoted QR
decomposition picks (A. Damle, L. Lin and L. Ying, J. Chem. Theory Comput. 2015, 11, 1463), and, for few orbitals,
random ones, the same each time; then the best is perturbed until nothing larger is found.

The measures are sums of a power of the expectation values of some operators,
:math:`F = \sum_{iA} \langle i|Q^A|i\rangle^p`.
Under :math:`e^\kappa`, :math:`\kappa` antisymmetric, with :math:`V^A = Q^A\kappa`, :math:`q_i^A = Q^A_{ii}`,
:math:`\delta_i^A = 2 V^A_{ii}` and :math:`X = \sum_A Q^A f'(q^A)`, columns weighted, the second order of F is

.. math::  \langle X - X^T, \kappa\rangle + \tfrac12 \langle H\kappa, \kappa\rangle,\quad
    H\kappa = A - A^T,\; A = \sum_A \bigl[Q^A f''(q^A)\delta^A + V^A f'(q^A)\bigr] - \tfrac12 (X + X^T)\kappa,

which a few products of matrices evaluate (I.-M. Hoyvik, B. Jansik and P. Jorgensen, J. Chem. Theory Comput. 2012, 8,
3137, for the trust region that this is made for).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...base.watch import checkpoint, patiently

_LEAST_CURVATURE = 0.3
"""Of a pair of orbitals, as a share of the mean of all nearest ones: what steps along flat directions are scaled by."""


@dataclass(frozen=True, eq=False)
class Functional(ABC):
    """A measure of localisation, at some orbitals.

    Attributes
    ----------
    operators : ndarray, shape (..., n)
        What stands for all Q. Its product with a matrix of shape (n, n), an *image*, stands for the products of all Q.
    exponent : int
    """

    operators: Reals
    exponent: int

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
        image = self.operators @ rotation
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
    orbitals, G. Knizia, J. Chem. Theory Comput. 2013, 9, 4834, p. 4837. `operators` are the coefficients of the
    orbitals over orthonormal functions of the atoms, those of an atom side by side, shape (n_sites, n).

    Attributes
    ----------
    counts : ndarray of int, shape (n_atoms,)
        Functions of each atom, at least 1.
    """

    counts: NDArray[np.int64]

    def diagonals(self, image: Reals) -> Reals:
        """Sums over the functions of each atom."""
        return np.add.reduceat(self.operators * image, np.cumsum(self.counts) - self.counts, axis=0)

    def weighted(self, *images: tuple[Reals, Reals]) -> Reals:
        """One product of matrices, whatever the number of atoms."""
        columns = np.zeros_like(self.operators)
        for image, weights in images:
            columns += image * np.repeat(weights, self.counts, axis=0)
        return self.operators.T @ columns

    def rotated(self, rotation: Reals) -> Populations:
        """Of the same functions of atoms."""
        return replace(self, operators=self.operators @ rotation)


@dataclass(frozen=True, eq=False)
class Centres(Functional):
    """Squares of the distances of the orbitals' centres from their mean, whose sum grows as their spreads fall.

    S. F. Boys, Rev. Mod. Phys. 1960, 32, 296; J. M. Foster and S. F. Boys, ibid., 300. `operators` are the elements of
    x, y and z between the orbitals, from the mean of their centres, in bohr, shape (3, n, n).
    """

    exponent: int = 2

    def diagonals(self, image: Reals) -> Reals:
        """Of all three."""
        return np.einsum("xii->xi", image)

    def weighted(self, *images: tuple[Reals, Reals]) -> Reals:
        """Sum of all three."""
        total = np.zeros(self.operators.shape[1:])
        for image, weights in images:
            total += np.einsum("xij,xj->ij", image, weights)
        return total

    def rotated(self, rotation: Reals) -> Centres:
        """In the rotated orbitals."""
        return replace(self, operators=rotation.T @ self.operators @ rotation)


_ROUGH, _FINE = 1e-6, 1e-13
"""Growth that a step promises, relative to the value, below which it is the last one: of a trial, and of the result."""

_NEAR = 1e-4
"""Values below the best by more than this, relatively, are not refined."""

_NO_GRADIENT, _NO_STEP = 1e-14, 1e-12
"""Norm of a gradient, relative to the value, and radius of a trust region that are none."""

_MOST_STEPS = 300
_MOST_PRODUCTS = 60
"""Conjugate gradients of a step."""

_LARGER = 1e-10
"""By which share a value has to be larger for other orbitals to be preferred: the first of equals is kept."""

_PERTURBATIONS = (0.02, 0.2, 0.4)
"""Angles, in radian, by which pairs of orbitals are rotated to leave a saddle point, or a maximum that is not the
largest."""

_MANY = 400
"""Orbitals above which only the first of them is tried."""

_MOST_ROUNDS = 5

_SEVERAL = 200
"""Orbitals up to which they themselves are a start."""

_FEW = 60
"""Orbitals up to which random ones are."""

_EFFORT = 150
"""Orbitals times random starts, about."""


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where a functional is largest.

    Attributes
    ----------
    rotation : ndarray, shape (n, n)
        Columns are the rotated orbitals in the given ones.
    functional : Functional
        At the rotated orbitals.
    """

    rotation: Reals
    functional: Functional

    @property
    def gradient_norm(self) -> float:
        """Norm of the gradient."""
        return _gradient_norm(self.functional)


def maximised(functional: Functional, coefficients: Reals, thorough: bool = True) -> Maximum:
    """The largest value of a functional that is found.

    Parameters
    ----------
    functional
        At orthonormal orbitals.
    coefficients : ndarray, shape (any, n)
        Of these orbitals over local functions, for one of the starts.
    thorough
        Whether to look for other maxima; otherwise the one nearest to the start with local functions is found.

    Raises
    ------
    Cancelled
        When the request was withdrawn.
    """
    n = coefficients.shape[1]
    best = Maximum(np.eye(n), functional)
    if n < 2:
        return best
    for start in _starts(coefficients, thorough):
        best = _better(best, functional, start)
    angles = _PERTURBATIONS if thorough and n <= _MANY else _PERTURBATIONS[:1]
    generator = np.random.default_rng(n)
    for _ in range(_MOST_ROUNDS if thorough else 1):
        before = best
        for angle in angles:
            turn = angle * generator.standard_normal((n, n))
            best = _better(best, functional, best.rotation @ _cayley(turn - turn.T))
        if best is before:
            break
    return best


def climbed(functional: Functional) -> Maximum:
    """The maximum of a functional that is reached from the orbitals as they are, uphill all the way: one near them."""
    n = len(functional.gradient)
    return Maximum(np.eye(n), functional) if n < 2 else _climb(functional, np.eye(n), _FINE)


def products_for(n: int) -> int:
    """About how many products of a Hessian and a matrix it takes for n orbitals."""
    return 450 if n <= _MANY else 200


def _better(best: Maximum, functional: Functional, start: Reals) -> Maximum:
    """The best maximum so far, or the one that a start leads to."""
    known = best.functional.value
    unit = max(abs(known), 1.0)
    other = _climb(functional, start, _ROUGH)
    if other.functional.value < known - _NEAR * unit:
        return best
    other = _climb(functional, other.rotation, _FINE)
    return other if other.functional.value > known + _LARGER * unit else best


def _starts(coefficients: Reals, thorough: bool) -> Iterator[Reals]:
    from scipy.linalg import qr

    n = coefficients.shape[1]
    if n <= _SEVERAL and thorough:
        yield np.eye(n)
    _, order = patiently(lambda: qr(coefficients.T, mode="r", pivoting=True))
    left, _, right = patiently(lambda: np.linalg.svd(coefficients[order[:n]].T))
    yield left @ right
    generator = np.random.default_rng(0)
    for _ in range(min(_EFFORT // n, 8) if n <= _FEW and thorough else 0):
        yield np.linalg.qr(generator.standard_normal((n, n)))[0]


def _gradient_norm(functional: Functional) -> float:
    return float(np.linalg.norm(functional.gradient))


def _cayley(rotation: Reals) -> Reals:
    one = np.eye(len(rotation))
    return np.asarray(np.linalg.solve(one - 0.5 * rotation, one + 0.5 * rotation), np.float64)


def _climb(functional: Functional, start: Reals, least: float) -> Maximum:
    rotation, here = start, functional.rotated(start)
    radius = 0.5 * float(np.sqrt(here.scale.mean() * len(start)))
    for step in range(_MOST_STEPS):
        checkpoint(step / _MOST_STEPS)
        unit = max(abs(here.value), 1.0)
        norm = patiently(partial(_gradient_norm, here))
        if norm < _NO_GRADIENT * unit:
            break
        change, promised, length = _step(here, radius, norm)
        turn = patiently(partial(_cayley, change))
        there = here.rotated(turn)
        gained = there.value - here.value
        ratio = gained / promised if promised > _FINE * unit else 1.0
        if ratio < 0.25:
            radius = 0.25 * length
        elif ratio > 0.75 and length > 0.9 * radius:
            radius *= 2
        if gained > -_FINE * unit:
            rotation, here = rotation @ turn, there
        if promised < least * unit or radius < _NO_STEP:
            break
    return Maximum(rotation, functional.rotated(rotation))


def _step(here: Functional, radius: float, norm: float) -> tuple[Reals, float, float]:
    """A step within the trust region, the growth that it promises, and its length in the measure of the region."""
    scale, residual = here.scale, here.gradient.copy()
    change, image = np.zeros_like(residual), np.zeros_like(residual)
    preconditioned = residual / scale
    direction, product = preconditioned, float(np.sum(residual * preconditioned))
    wanted = norm * min(0.1, norm**0.5)
    for _ in range(_MOST_PRODUCTS):
        checkpoint()
        curved = patiently(partial(here.curved, direction))
        curvature = -float(np.sum(direction * curved))
        length = product / curvature if curvature > 0 else np.inf
        border = _to_border(change, direction, scale, radius)
        if length >= border:
            length = border
        change, image = change + length * direction, image + length * curved
        if length == border:
            break
        residual = residual + length * curved
        if np.linalg.norm(residual) < wanted:
            break
        preconditioned = residual / scale
        product, before = float(np.sum(residual * preconditioned)), product
        direction = preconditioned + product / before * direction
    promised = float(np.sum(here.gradient * change) + 0.5 * np.sum(change * image))
    return change, promised, float(np.sqrt(np.sum(scale * change**2)))


def _to_border(change: Reals, direction: Reals, scale: Reals, radius: float) -> float:
    """How much of a direction leads from a place within the region to its border."""
    square, mixed = np.sum(scale * direction**2), np.sum(scale * direction * change)
    left = max(radius**2 - np.sum(scale * change**2), 0.0)
    return float((np.sqrt(mixed**2 + square * left) - mixed) / square)
