"""The rotation among orbitals that makes a functional largest: Newton steps within a trust region, from several starts.

Each step is found by conjugate gradients that end at the border of the region or along a direction of growth (T.
Steihaug, SIAM J. Numer. Anal. 1983, 20, 626), so that saddle points repel; the rotation is Cayley's, which is
orthogonal and agrees with the exponential to second order. Starts are the orbitals as they are, those that a pivoted QR
decomposition picks (A. Damle, L. Lin and L. Ying, J. Chem. Theory Comput. 2015, 11, 1463), and, for few orbitals,
random ones, the same each time; then the best is perturbed until nothing larger is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..watch import checkpoint
from .functionals import Functional

Reals = NDArray[np.float64]

_CONVERGED = 1e-9
"""Norm of the gradient, relative to the value."""

_MOST_STEPS = 300
_MOST_PRODUCTS = 60
"""Conjugate gradients of a step."""

_LARGER = 1e-10
"""By which share a value has to be larger for other orbitals to be preferred: the first of equals is kept."""

_PERTURBATION = 0.02
"""Angle, in radian, by which pairs of orbitals are rotated to leave a saddle point."""

_EFFORT = 300
"""Orbitals times random starts: with more orbitals than this there is none."""


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
        return float(np.linalg.norm(self.functional.gradient))


def maximised(functional: Functional, coefficients: Reals) -> Maximum:
    """The largest value of a functional that is found.

    Parameters
    ----------
    functional
        At orthonormal orbitals.
    coefficients : ndarray, shape (any, n)
        Of these orbitals over local functions, for one of the starts.

    Raises
    ------
    Cancelled
        When the request was withdrawn.
    """
    n = coefficients.shape[1]
    best = Maximum(np.eye(n), functional)
    if n < 2:
        return best
    for start in _starts(coefficients):
        best = _better(best, _climbed(functional, start))
    generator = np.random.default_rng(n)
    for _ in range(5):
        angles = _PERTURBATION * generator.standard_normal((n, n))
        other = _climbed(functional, best.rotation @ _cayley(angles - angles.T))
        if _better(best, other) is best:
            break
        best = other
    return best


def climbed(functional: Functional) -> Maximum:
    """The maximum of a functional that is reached from the orbitals as they are, uphill all the way: one near them."""
    n = len(functional.gradient)
    return Maximum(np.eye(n), functional) if n < 2 else _climbed(functional, np.eye(n))


def _better(one: Maximum, other: Maximum) -> Maximum:
    larger = other.functional.value - one.functional.value > _LARGER * max(abs(one.functional.value), 1.0)
    return other if larger else one


def _starts(coefficients: Reals) -> Iterator[Reals]:
    from scipy.linalg import qr

    n = coefficients.shape[1]
    yield np.eye(n)
    pivots = qr(coefficients.T, mode="r", pivoting=True)[1][:n]
    left, _, right = np.linalg.svd(coefficients[pivots].T)
    yield left @ right
    generator = np.random.default_rng(0)
    for _ in range(min(_EFFORT // n, 8)):
        yield np.linalg.qr(generator.standard_normal((n, n)))[0].astype(np.float64)


def _cayley(rotation: Reals) -> Reals:
    one = np.eye(len(rotation))
    orthogonal: Reals = np.linalg.solve(one - 0.5 * rotation, one + 0.5 * rotation)
    return orthogonal


def _climbed(functional: Functional, start: Reals) -> Maximum:
    rotation, here = start, functional.rotated(start)
    radius = 0.5 * float(np.sqrt(here.scale.mean() * len(start)))
    for step in range(_MOST_STEPS):
        checkpoint(step / _MOST_STEPS)
        noise = 1e-13 * max(abs(here.value), 1.0)
        norm = float(np.linalg.norm(here.gradient))
        if norm < _CONVERGED * max(abs(here.value), 1.0) ** 0.5:
            break
        change, promised, length = _step(here, radius, norm)
        turn = _cayley(change)
        there = here.rotated(turn)
        gained = there.value - here.value
        ratio = gained / promised if promised > noise else 1.0
        if ratio < 0.25:
            radius = 0.25 * length
        elif ratio > 0.75 and length > 0.9 * radius:
            radius *= 2
        if gained > -noise:
            settled = promised <= noise and np.linalg.norm(there.gradient) > 0.5 * norm
            rotation, here = rotation @ turn, there
            if settled:
                break
        elif radius < 1e-12:
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
        curved = here.curved(direction)
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
