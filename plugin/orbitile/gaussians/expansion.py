r"""Sums of Gaussians times polynomials: what densities and their derivatives are made of.

.. math::  f(r) = \sum_p e^{-\zeta_p |r - P_p|^2} \sum_{i+j+k \le L_p} C^p_{ijk} x^i y^j z^k, \quad (x, y, z) = r - P_p

Derivatives of such a sum are such sums again, of one degree more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gamma

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Indices, Reals
from ..base.caches import Derived
from ..base.watch import checkpoint

Integers = NDArray[np.int32]

_FARTHEST = 120.0
_HALVINGS = 24


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

    def degrees(self) -> list[int]:
        """The degrees that occur, lowest first: np.unique would import numpy.ma, which takes longer than an orbital."""
        return sorted(set(self.degree.tolist()))

    def __len__(self) -> int:
        return len(self.exponent)

    @cached_property
    def corners(self) -> tuple[Reals, Reals]:
        """Smallest and largest coordinates of the centres along each axis, in bohr."""
        columns = np.ascontiguousarray(self.centre.T)  # three at a time would take five times as long
        return columns.min(axis=1), columns.max(axis=1)

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> GaussianExpansion:
        """Some of its Gaussians, by a mask or by their indices."""
        indices = np.flatnonzero(which) if which.dtype == np.bool_ else which
        counts = np.diff(self.first_term)[indices]
        terms = self.terms[runs(self.first_term[indices], counts)]
        return GaussianExpansion(
            self.centre[indices], self.exponent[indices], self.degree[indices], starts(counts), terms
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


@lru_cache
def polynomial_powers(degree: int) -> tuple[tuple[int, int, int], ...]:
    """Powers (i, j, k) of the terms of a polynomial, k slowest and i fastest: the order of the lattice kernel."""
    n = degree
    return tuple((i, j, k) for k in range(n + 1) for j in range(n - k + 1) for i in range(n - k - j + 1))


def starts(counts: NDArray[np.integer] | Sequence[int]) -> Integers:
    """Where each of several runs begins that follow one another, and where the last one ends; from their lengths."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def runs(first: NDArray[np.integer], counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """The numbers of several runs, one run after the other, from where each begins and how many it has."""
    return np.arange(int(counts.sum())) + np.repeat(first - (np.cumsum(counts) - counts), counts)


def term_counts(degree: NDArray[np.integer]) -> NDArray[np.int64]:
    """Number of polynomial coefficients for each degree."""
    d = degree.astype(np.int64)
    return (d + 1) * (d + 2) * (d + 3) // 6


def by_degree(expansion: GaussianExpansion) -> Iterator[tuple[int, Indices, NDArray[np.int64], Reals]]:
    """Degree by degree, the Gaussians that have it, the powers of its terms, and the terms of each Gaussian."""
    for degree in expansion.degrees():
        checkpoint()
        which, powers = np.flatnonzero(expansion.degree == degree), np.array(polynomial_powers(degree))
        yield degree, which, powers, expansion.terms[expansion.first_term[which][:, None] + np.arange(len(powers))]


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
    terms = np.zeros(int(first_term[-1]))
    np.add.at(terms, runs(first_term[place], np.diff(whole.first_term)), whole.terms)
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
    for d, which, powers, values in by_degree(expansion):
        down, up = _beside(d, axis)
        more = (1,) * (expansion.terms.ndim - 1)
        zeta, power = expansion.exponent[which].reshape((-1, 1, *more)), powers[:, axis].reshape((1, -1, *more))
        begin = first[which][:, None]
        terms[begin + up] -= 2 * zeta * values  # each target is met once by each of the two
        lowered = np.flatnonzero(powers[:, axis])
        if len(lowered):
            terms[begin + down[lowered]] += (power * values)[:, lowered]
    origin = origin_of(expansion)
    i, j, k = (n + (along == axis) for along, n in enumerate(origin.order))
    return GaussianExpansion(
        expansion.centre, expansion.exponent, degree, first, terms, Origin(origin.expansion, (i, j, k))
    )


def gradient(expansion: GaussianExpansion) -> tuple[GaussianExpansion, GaussianExpansion, GaussianExpansion]:
    """The partial derivatives along x, y and z."""
    return derivative(expansion, 0), derivative(expansion, 1), derivative(expansion, 2)


def times_coordinate(expansion: GaussianExpansion, axis: int, origin: float) -> GaussianExpansion:
    """A sum times x, y or z (axis 0, 1, 2) counted from an origin in bohr, of one degree more."""
    degree = (expansion.degree + 1).astype(np.int32)
    first = starts(term_counts(degree))
    terms = np.zeros((int(first[-1]), *expansion.terms.shape[1:]))
    for d, which, _, values in by_degree(expansion):
        _, up = _beside(d, axis)
        same, begin = _within(d, d + 1), first[which][:, None]
        centre = expansion.centre[which, axis].reshape((-1,) + (1,) * expansion.terms.ndim) - origin
        terms[begin + up] += values
        terms[begin + same] += centre * values
    return GaussianExpansion(expansion.centre, expansion.exponent, degree, first, terms)


def of_degree(expansion: GaussianExpansion, more: int) -> GaussianExpansion:
    """The same sum with room for powers that are so much higher, whose coefficients are zero."""
    degree = (expansion.degree + more).astype(np.int32)
    first = starts(term_counts(degree))
    terms = np.zeros((int(first[-1]), *expansion.terms.shape[1:]))
    for d, which, _, values in by_degree(expansion):
        terms[first[which][:, None] + _within(d, d + more)] = values
    return GaussianExpansion(expansion.centre, expansion.exponent, degree, first, terms)


@lru_cache
def _within(degree: int, higher: int) -> Indices:
    """Places of the terms of a polynomial in one of a higher degree."""
    place = {powers: n for n, powers in enumerate(polynomial_powers(higher))}
    return np.array([place[powers] for powers in polynomial_powers(degree)], np.intp)


@lru_cache
def _beside(degree: int, axis: int) -> tuple[Indices, Indices]:
    """Places of the terms of a polynomial in one of a degree more, the power along an axis one lower and one higher."""
    place = {powers: n for n, powers in enumerate(polynomial_powers(degree + 1))}

    def moved(powers: tuple[int, int, int], step: int) -> int:
        i, j, k = (p + step * (n == axis) for n, p in enumerate(powers))
        return place.get((i, j, k), 0)

    powers = polynomial_powers(degree)
    return np.array([moved(p, -1) for p in powers], np.intp), np.array([moved(p, 1) for p in powers], np.intp)


def largest_magnitudes(expansion: GaussianExpansion) -> Reals:
    r"""Bound on the magnitude of each Gaussian times its polynomial, anywhere; shape (n,).

    The maximum of :math:`|x|^i e^{-\zeta x^2}` is :math:`(i / (2 e \zeta))^{i/2}`; along three axes they multiply.
    """
    largest = np.zeros(len(expansion))
    for _, which, powers, terms in by_degree(expansion):
        factor = np.prod(np.where(powers > 0, (powers / (2 * np.e)) ** (powers / 2), 1.0), axis=1)
        size = expansion.exponent[which][:, None] ** (-powers.sum(axis=1) / 2)
        largest[which] = (np.abs(terms) * factor * size).sum(axis=1)
    return largest


def radial_bounds(expansion: GaussianExpansion) -> Reals:
    r"""Coefficients b of a bound :math:`\sum_n b_n d^n e^{-\zeta d^2}` at distance d; shape (n, highest degree + 1).

    A monomial of degree n on a sphere is at most :math:`d^n \sqrt{i^i j^j k^k / n^n}`.
    """
    highest = int(expansion.degree.max(initial=0))
    bounds = np.zeros((len(expansion), highest + 1))
    for d, which, powers, terms in by_degree(expansion):
        total = powers.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(powers > 0, powers * np.log(powers), 0).sum(axis=1)
            factor = np.exp(0.5 * (logs - np.where(total > 0, total * np.log(total), 0)))
        magnitude = np.abs(terms) * factor
        for n in range(d + 1):
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
    for degree, which, powers, terms in by_degree(density):
        orders = np.arange(degree + 3)
        even = np.array([gamma((n + 1) / 2) * (n % 2 == 0) for n in orders])
        line = even / density.exponent[which, None] ** ((orders + 1) / 2)  # integral of each power of one coordinate
        # by order of the moment: integrals of u^n, of x u^n and of x^2 u^n for x = P + u
        lines = []
        for axis in range(3):
            at, p = powers[:, axis], density.centre[which, axis, None]
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


HALVINGS = 40
"""Steps after which a range of a thousand bohr has become one of 1e-9."""


def fallen(is_above: Callable[[float], bool], low: float, high: float, *, width: float = -np.inf) -> float:
    """Where a function that falls from `low` to `high` is no longer above a limit, by bisection.

    Parameters
    ----------
    is_above
        Whether it is above its limit at an argument.
    low, high
        It may be above at the lower end, and is taken not to be at the upper one.
    width
        The search ends when the range is no wider, and else after `HALVINGS` steps.
    """
    for _ in range(HALVINGS):
        if not high - low > width:
            break
        checkpoint()
        middle = (low + high) / 2
        low, high = (middle, high) if is_above(middle) else (low, middle)
    return high


def all_fallen(
    is_above: Callable[[Reals], NDArray[np.bool_]], low: Reals, high: Reals, halvings: int = HALVINGS
) -> Reals:
    """The same of many functions at once, shape (n,): `is_above` takes an argument of each."""
    for _ in range(halvings):
        checkpoint()
        middle = (low + high) / 2
        above = is_above(middle)
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return high


def box_outside_which(
    bound: Callable[[Reals], float],
    isovalue: float,
    centre: Reals,
    *,
    before: float,
    beyond: float,
    width: float = -np.inf,
) -> tuple[Reals, Reals]:
    """Corners (bohr) of a box outside which a sum of functions about centres is smaller than an isovalue, guaranteed.

    Beyond a plane every function is at least as far away as its centre is from the plane, so the sum of their bounds at
    those distances bounds the sum on the whole half-space.

    Parameters
    ----------
    bound
        Takes a distance from each centre, shape (n,), to the sum of what the functions can have there or farther away.
    isovalue
        Positive.
    centre : ndarray, shape (n, 3)
        In bohr.
    before, beyond
        Faces are looked for between these distances before the first and beyond the last centre.
    width
        Range in which a face may be found to lie; its far end counts.
    """

    def face(height: Reals) -> float:
        """How far the functions reach along an axis on which their centres are at these heights."""
        low, high = float(height.min()) - before, float(height.max()) + beyond
        return fallen(lambda plane: bound(plane - height) > isovalue, low, high, width=width)

    lower, upper = (np.array([sign * face(sign * height) for height in centre.T]) for sign in (-1.0, 1.0))
    return lower, upper
