r"""From Gaussians times polynomials to Hermite Gaussians, the derivatives of a Gaussian with respect to its centre.

.. math::  x^n e^{-p x^2} = \sum_k \frac{n!}{2^n\, k!\, (n - 2k)!}\, p^{k - n}\, \partial_P^{\,n - 2k} e^{-p x^2}
"""

from __future__ import annotations

from math import factorial, sqrt

import numpy as np
from numpy.typing import NDArray

from ..base.watch import checkpoint
from .expansion import GaussianExpansion
from .packing import polynomial_powers

Reals = NDArray[np.float64]


def hermite_coefficients(expansion: GaussianExpansion, degree: int, orders: tuple[tuple[int, int, int], ...]) -> Reals:
    """Hermite coefficients of the Gaussians of one degree, shape (n, number of orders).

    Parameters
    ----------
    expansion
        All its Gaussians are of this degree.
    degree
        Of the polynomials.
    orders
        Orders (t, u, v) of the derivatives, in the order in which the coefficients are wanted.
    """
    powers = polynomial_powers(degree)
    terms = expansion.terms.reshape(-1, len(powers))
    result = np.zeros((len(expansion), len(orders)))
    place = {order: n for n, order in enumerate(orders)}
    for column, (i, j, k) in enumerate(powers):
        for t, weight_x in _one_axis(i):
            for u, weight_y in _one_axis(j):
                for v, weight_z in _one_axis(k):
                    halves = (i + t + j + u + k + v) // 2
                    weight = weight_x * weight_y * weight_z * expansion.exponent**-halves
                    result[:, place[t, u, v]] += weight * terms[:, column]
    return result


def largest_potentials(hermite: Reals, exponent: Reals, orders: tuple[tuple[int, int, int], ...]) -> Reals:
    r"""Bound on the magnitude of the potential of each distribution, anywhere; shape (n,).

    Of :math:`R_{tuv} = p^{n/2} \int_0^1 s^n H_t(s x) H_u(s y) H_v(s z) e^{-s^2 r^2} ds`, n = t + u + v, with Cramer's
    inequality :math:`|H_t(x)| e^{-x^2/2} < 1.0865 \sqrt{2^t t!}`.

    Parameters
    ----------
    hermite : ndarray, shape (n, number of orders)
        Hermite coefficients times 2 pi / exponent.
    exponent : ndarray, shape (n,)
    orders
        Of the coefficients.
    """
    bound = np.zeros(len(exponent))
    for column, order in enumerate(orders):
        bound += np.abs(hermite[:, column]) * exponent ** (sum(order) / 2) * _largest(order)
    return bound


def _largest(order: tuple[int, int, int]) -> float:
    t, u, v = order
    n = t + u + v
    return 1.0865**3 * sqrt(2.0**n * factorial(t) * factorial(u) * factorial(v)) / (n + 1) if n else 1.0


def sum_of_magnitudes(
    point: Reals, centre: Reals, hermite: Reals, exponent: Reals, orders: tuple[tuple[int, int, int], ...]
) -> float:
    r"""Sum of the magnitudes of the potentials of all Hermite Gaussians at a point, from above.

    Far from its centre, that of order n is at most :math:`\tfrac12\sqrt{\pi/p}\; n!/R^{n+1}`.
    """
    distance = np.maximum(np.sqrt(((point - centre) ** 2).sum(axis=1)), 1e-6)
    total = 0.0
    for column, order in enumerate(orders):
        checkpoint()
        n = sum(order)
        far = 0.8863 / np.sqrt(exponent) * factorial(n) / distance ** (n + 1)
        total += float((np.abs(hermite[:, column]) * np.minimum(exponent ** (n / 2) * _largest(order), far)).sum())
    return total


def _one_axis(n: int) -> list[tuple[int, float]]:
    """Orders and weights of x^n, without the power of the exponent, which is -(n + order) / 2."""
    return [(n - 2 * k, factorial(n) / (2**n * factorial(k) * factorial(n - 2 * k))) for k in range(n // 2 + 1)]
