r"""Sums of Gaussians times polynomials: what densities and their derivatives are made of.

.. math::  f(r) = \sum_p e^{-\zeta_p |r - P_p|^2} \sum_{i+j+k \le L_p} C^p_{ijk} x^i y^j z^k, \quad (x, y, z) = r - P_p

Derivatives of such a sum are such sums again, of one degree more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gamma

import numpy as np
from numpy.typing import NDArray

from ..base.caches import Derived
from ..base.watch import checkpoint
from .bisection import all_fallen
from .packing import polynomial_powers

Reals = NDArray[np.float64]
Integers = NDArray[np.int32]

_FARTHEST = 120.0
_HALVINGS = 24
_TOGETHER = 20_000
"""Gaussians times points whose polynomials `value_at` holds at a time."""


@dataclass(frozen=True, eq=False)
class GaussianExpansion:
    """A sum of Gaussians times polynomials.

    Attributes
    ----------
    centre : ndarray, shape (n, 3)
        In bohr.
    exponent : ndarray, shape (n,)
        In bohr^-2.
    degree : ndarray of int32, shape (n,)
        Degree of the polynomial of each Gaussian.
    first_term : ndarray of int32, shape (n + 1,)
        Range of polynomial coefficients of each, in the order of `packing.polynomial_powers`.
    terms : ndarray, shape (n_terms,) or (n_terms, m)
        Polynomial coefficients; with a second axis, of m sums of the same Gaussians.
    origin : Origin or None
        Which sum it is a derivative of, if it was made by `derivative`.
    """

    centre: Reals
    exponent: Reals
    degree: Integers
    first_term: Integers
    terms: Reals
    origin: Origin | None = None

    def __len__(self) -> int:
        return len(self.exponent)

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> GaussianExpansion:
        """Some of its Gaussians, by a mask or by their indices."""
        indices = np.flatnonzero(which) if which.dtype == np.bool_ else which
        counts = np.diff(self.first_term)[indices]
        first = starts(counts)
        terms = np.arange(first[-1]) + np.repeat(self.first_term[indices] - first[:-1], counts)
        return GaussianExpansion(
            self.centre[indices], self.exponent[indices], self.degree[indices], first, self.terms[terms]
        )

    def scaled(self, factor: float) -> GaussianExpansion:
        """The sum times a number."""
        return GaussianExpansion(self.centre, self.exponent, self.degree, self.first_term, factor * self.terms)


@dataclass(frozen=True, eq=False)
class Origin:
    """The sum that another one is a derivative of, and the orders of the derivative along x, y and z."""

    expansion: GaussianExpansion
    order: tuple[int, int, int]


def origin_of(expansion: GaussianExpansion) -> Origin:
    """The sum that one is a derivative of: itself, if it was not made as one."""
    return expansion.origin or Origin(expansion, (0, 0, 0))


def starts(counts: NDArray[np.integer]) -> Integers:
    """Where each of several runs begins that follow one another, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def term_counts(degree: Integers) -> NDArray[np.int64]:
    """Number of polynomial coefficients for each degree."""
    d = degree.astype(np.int64)
    return (d + 1) * (d + 2) * (d + 3) // 6


def concatenated(expansions: list[GaussianExpansion]) -> GaussianExpansion:
    """The sum of several sums."""
    degree = np.concatenate([expansion.degree for expansion in expansions])
    return GaussianExpansion(
        np.concatenate([expansion.centre for expansion in expansions]),
        np.concatenate([expansion.exponent for expansion in expansions]),
        degree,
        starts(term_counts(degree)),
        np.concatenate([expansion.terms for expansion in expansions]),
    )


def merged(expansions: list[GaussianExpansion]) -> GaussianExpansion:
    """The sum of several sums, in which those Gaussians are one that share centre, exponent and degree.

    In a difference their terms cancel here, in double precision, and not when it is evaluated.
    """
    whole = concatenated(expansions)
    keys = np.column_stack([whole.centre / _SAME, np.log(whole.exponent) / _SAME, whole.degree])
    rows = np.ascontiguousarray(np.rint(keys).astype(np.int64)).view([("", np.int64)] * keys.shape[1]).reshape(-1)
    _, first, group = np.unique(rows, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))[group.reshape(-1)]  # in the order in which they appear
    first = np.sort(first)
    degree = whole.degree[first]
    first_term = starts(term_counts(degree))
    counts = np.diff(whole.first_term)
    target = np.arange(len(whole.terms)) + np.repeat(first_term[place] - whole.first_term[:-1], counts)
    terms = np.zeros(int(first_term[-1]))
    np.add.at(terms, target, whole.terms)
    return GaussianExpansion(whole.centre[first], whole.exponent[first], degree, first_term, terms)


_SAME = 1e-11
"""Centres in bohr, and logarithms of exponents, that are closer differ by rounding only."""


def derivative(expansion: GaussianExpansion, axis: int) -> GaussianExpansion:
    r"""Partial derivative along x, y or z (axis 0, 1, 2), of one degree more.

    From :math:`\partial_x x^i e^{-\zeta x^2} = (i x^{i-1} - 2 \zeta x^{i+1}) e^{-\zeta x^2}`.
    """
    degree = (expansion.degree + 1).astype(np.int32)
    first = starts(term_counts(degree))
    terms = np.zeros((int(first[-1]), *expansion.terms.shape[1:]))
    for d in np.unique(expansion.degree):
        checkpoint()
        which = np.flatnonzero(expansion.degree == d)
        source, down, up = _derivative_table(int(d), axis)
        values = expansion.terms[expansion.first_term[which][:, None] + source]
        shape = (len(which), 1, *(1,) * (expansion.terms.ndim - 1))
        zeta = expansion.exponent[which].reshape(shape)
        power = np.array([p[axis] for p in polynomial_powers(int(d))]).reshape((1, -1, *shape[2:]))
        begin = first[which][:, None]
        terms[begin + up] -= 2 * zeta * values  # each target is met once by each of the two
        lowered = np.flatnonzero(power.reshape(-1) > 0)
        if len(lowered):
            terms[begin + down[lowered]] += (power * values)[:, lowered]
    origin = origin_of(expansion)
    i, j, k = (n + (along == axis) for along, n in enumerate(origin.order))
    return GaussianExpansion(
        expansion.centre, expansion.exponent, degree, first, terms, Origin(origin.expansion, (i, j, k))
    )


@lru_cache
def _derivative_table(degree: int, axis: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """For each term of a polynomial: its place, and the places with the power along the axis one lower and higher."""
    place = {powers: n for n, powers in enumerate(polynomial_powers(degree + 1))}

    def moved(powers: tuple[int, int, int], step: int) -> int:
        i, j, k = (p + step * (n == axis) for n, p in enumerate(powers))
        return place.get((i, j, k), 0)

    powers = polynomial_powers(degree)
    return (
        np.arange(len(powers)),
        np.array([moved(p, -1) for p in powers], np.intp),
        np.array([moved(p, 1) for p in powers], np.intp),
    )


def largest_magnitudes(expansion: GaussianExpansion) -> Reals:
    r"""Bound on the magnitude of each Gaussian times its polynomial, anywhere; shape (n,).

    The maximum of :math:`|x|^i e^{-\zeta x^2}` is :math:`(i / (2 e \zeta))^{i/2}`; along three axes they multiply.
    """
    largest = np.zeros(len(expansion))
    for d in np.unique(expansion.degree):
        checkpoint()
        which = np.flatnonzero(expansion.degree == d)
        powers = np.array(polynomial_powers(int(d)))
        factor = np.prod(np.where(powers > 0, (powers / (2 * np.e)) ** (powers / 2), 1.0), axis=1)
        magnitude = np.abs(expansion.terms[expansion.first_term[which][:, None] + np.arange(len(powers))])
        size = expansion.exponent[which][:, None] ** (-powers.sum(axis=1) / 2)
        largest[which] = (magnitude * factor * size).sum(axis=1)
    return largest


def radial_bounds(expansion: GaussianExpansion) -> Reals:
    r"""Coefficients b of a bound :math:`\sum_n b_n d^n e^{-\zeta d^2}` at distance d; shape (n, highest degree + 1).

    A monomial of degree n on a sphere is at most :math:`d^n \sqrt{i^i j^j k^k / n^n}`.
    """
    highest = int(expansion.degree.max(initial=0))
    bounds = np.zeros((len(expansion), highest + 1))
    for d in np.unique(expansion.degree):
        checkpoint()
        which = np.flatnonzero(expansion.degree == d)
        powers = np.array(polynomial_powers(int(d)), float)
        total = powers.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(powers > 0, powers * np.log(powers), 0).sum(axis=1)
            factor = np.exp(0.5 * (logs - np.where(total > 0, total * np.log(total), 0)))
        magnitude = np.abs(expansion.terms[expansion.first_term[which][:, None] + np.arange(len(powers))]) * factor
        for n in range(int(d) + 1):
            bounds[which, n] = magnitude[:, total == n].sum(axis=1)
    return bounds


def bounds_of_derivatives(expansion: GaussianExpansion, order: int) -> Reals:
    """Coefficients as of `radial_bounds` of a bound on all derivatives of one order; shape (n, highest degree + 1).

    The gradient of a homogeneous polynomial of degree n on a sphere is at most n times as large as the polynomial
    (O. D. Kellogg, Math. Z. 1928, 27, 55), that of the Gaussian 2 zeta d times as large as the Gaussian.
    """
    bounds = radial_bounds(expansion)
    for _ in range(order):
        raised = np.zeros((len(bounds), bounds.shape[1] + 1))
        raised[:, 1:] = 2 * expansion.exponent[:, None] * bounds
        raised[:, : bounds.shape[1] - 1] += np.arange(1, bounds.shape[1]) * bounds[:, 1:]
        bounds = raised
    return bounds


def reach(expansion: GaussianExpansion, limit: float, order: int = 0) -> Reals:
    """Distance from its centre in bohr beyond which each Gaussian stays below a limit; shape (n,).

    With an order, its derivatives up to that order do as well. Beyond the last maximum of a bound, at most at
    d^2 = (degree + order) / (2 exponent), it only falls: the search begins there.
    """

    def make() -> Reals:
        return np.max([_reach(expansion, limit, one) for one in range(order + 1)], axis=0)

    return _REACHES.of(expansion, (limit, order), make)


def reaching(expansion: GaussianExpansion, limit: float, order: int = 0) -> GaussianExpansion:
    """The Gaussians that have a `reach`; kept with the expansion, and so the same object each time."""

    def make() -> GaussianExpansion:
        radius = reach(expansion, limit, order)
        some = expansion.chosen(radius > 0)
        some.terms.setflags(write=False)  # sent to a device once
        _REACHES.of(some, (limit, order), lambda: radius[radius > 0])
        return some

    return _REACHING.of(expansion, (limit, order), make)


_REACHES = Derived[Reals]("sums of Gaussians")
_REACHING = Derived[GaussianExpansion]("sums of Gaussians")


def _reach(expansion: GaussianExpansion, limit: float, order: int) -> Reals:
    bounds = bounds_of_derivatives(expansion, order)
    orders = np.arange(bounds.shape[1])
    low = np.sqrt((expansion.degree + order) / (2 * expansion.exponent))
    high = np.full(len(expansion), _FARTHEST)

    def above(d: Reals) -> NDArray[np.bool_]:
        with np.errstate(under="ignore", over="ignore"):
            value = (bounds * d[:, None] ** orders).sum(axis=1) * np.exp(-expansion.exponent * d**2)
        return value > limit

    if order:
        largest = (bounds * (orders / (2 * np.e * expansion.exponent[:, None])) ** (orders / 2)).sum(axis=1)
    else:
        largest = largest_magnitudes(expansion)
    never = ~above(low) & (largest <= limit)
    return np.where(never, 0.0, all_fallen(above, low, high, _HALVINGS))


def integrals(density: GaussianExpansion) -> tuple[float, Reals, Reals]:
    r"""Integrals of a sum over space, alone, times r and times r r: a number, shape (3,), shape (3, 3).

    From :math:`\int x^n e^{-p x^2} dx = \Gamma(\tfrac{n+1}{2}) / p^{(n+1)/2}` for even n.
    """
    zeroth, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for degree in np.unique(density.degree).tolist():
        some = density.chosen(density.degree == degree)
        powers = np.array(polynomial_powers(degree))
        terms = some.terms.reshape(-1, len(powers))
        orders = np.arange(degree + 3)
        even = np.array([gamma((n + 1) / 2) * (n % 2 == 0) for n in orders])
        line = even / some.exponent[:, None] ** ((orders + 1) / 2)  # integral of each power of one coordinate
        # by order of the moment: integrals of u^n, of x u^n and of x^2 u^n for x = P + u
        lines = []
        for axis in range(3):
            at, p = powers[:, axis], some.centre[:, axis, None]
            lines.append((
                line[:, at], p * line[:, at] + line[:, at + 1],
                p * p * line[:, at] + 2 * p * line[:, at + 1] + line[:, at + 2],
            ))  # fmt: skip
        for i in range(3):
            for j in range(i, 3):
                order = [int(n == i) + int(n == j) for n in range(3)]
                second[i, j] += (terms * lines[0][order[0]] * lines[1][order[1]] * lines[2][order[2]]).sum()
            order = [int(n == i) for n in range(3)]
            first[i] += (terms * lines[0][order[0]] * lines[1][order[1]] * lines[2][order[2]]).sum()
        zeroth += float((terms * lines[0][0] * lines[1][0] * lines[2][0]).sum())
    second = np.triu(second) + np.triu(second, 1).T
    return zeroth, first, second


def value_at(expansion: GaussianExpansion, points: Reals) -> Reals:
    """Plain sum at a few points, shape (n_points,): for samples and tests, not for pictures."""
    total = np.zeros(len(points))
    for d in np.unique(expansion.degree):
        which = np.flatnonzero(expansion.degree == d)
        powers = np.array(polynomial_powers(int(d)))
        terms = expansion.terms[expansion.first_term[which][:, None] + np.arange(len(powers))]
        size = max(1, _TOGETHER // len(which))
        for first in range(0, len(points), size):
            u = points[first : first + size, None].T - expansion.centre[which].T[:, :, None]  # (3, n, points)
            table = [np.ones_like(u)]
            for _ in range(int(d)):
                table.append(table[-1] * u)
            polynomial = np.zeros(u.shape[1:])
            for column, (i, j, k) in zip(terms.T, powers.tolist(), strict=True):
                polynomial += column[:, None] * table[i][0] * table[j][1] * table[k][2]
            radial = np.exp(-expansion.exponent[which, None] * (u * u).sum(axis=0))
            total[first : first + size] += (radial * polynomial).sum(axis=0)
    return total
