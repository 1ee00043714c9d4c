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
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...base.watch import checkpoint, patiently
from .functionals import Functional

Reals = NDArray[np.float64]

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
    return Maximum(np.eye(n), functional) if n < 2 else _climbed(functional, np.eye(n), _FINE)


def products_for(n: int) -> int:
    """About how many products of a Hessian and a matrix it takes for n orbitals."""
    return 450 if n <= _MANY else 200


def _better(best: Maximum, functional: Functional, start: Reals) -> Maximum:
    """The best maximum so far, or the one that a start leads to."""
    known = best.functional.value
    unit = max(abs(known), 1.0)
    other = _climbed(functional, start, _ROUGH)
    if other.functional.value < known - _NEAR * unit:
        return best
    other = _climbed(functional, other.rotation, _FINE)
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


def _climbed(functional: Functional, start: Reals, least: float) -> Maximum:
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
