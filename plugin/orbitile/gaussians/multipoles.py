r"""Distributions as Hermite Gaussians, and far away as multipoles on sites: where that is good enough.

Gaussians times polynomials become Hermite Gaussians, the derivatives of a Gaussian with respect to its centre, by

.. math::  x^n e^{-p x^2} = \sum_k \frac{n!}{2^n\, k!\, (n - 2k)!}\, p^{k - n}\, \partial_P^{\,n - 2k} e^{-p x^2}

A Hermite Gaussian :math:`\partial_P^{tuv} e^{-p |r-P|^2}` has the potential of a point multipole wherever its own tail
does not reach. About a site C, with s = P - C, that is

.. math::

    \partial^{tuv} \frac{1}{|r - P|} = \sum_{lm} R_{lm}(s)\, \partial^{tuv} I_{lm}(r - C), \quad
    R_{lm} = \frac{r^l P_l^m e^{im\phi}}{(l+m)!}, \quad I_{lm} = \frac{(l-m)!\, P_l^m e^{im\phi}}{r^{l+1}}

and derivatives with respect to C lead from irregular solid harmonics to others (Hobson, The Theory of Spherical and
Ellipsoidal Harmonics, 1931, chapter IV):

.. math::  \partial_z I_l^m = I_{l+1}^m, \quad (\partial_x + i \partial_y) I_l^m = I_{l+1}^{m+1}, \quad
    (\partial_x - i \partial_y) I_l^m = -I_{l+1}^{m-1}

Two errors are bounded. What a tail would add, at a distance :math:`\rho` from P and with :math:`T = p \rho^2`, is

.. math::  \tfrac{2}{\sqrt\pi} \int_{\sqrt p}^\infty |\partial^{tuv} e^{-u^2 \rho^2}|\, du \le
    \tfrac{2}{\sqrt\pi}\, \rho^{-n-1} \int_{\sqrt T}^\infty v^n q_{tuv}(v)\, e^{-v^2} dv

where q bounds the product of three Hermite polynomials on a sphere. What is left out of the series beyond order N is,
by Laplace's integral for :math:`P_l`, at most :math:`\sum_{l > N} \frac{l!}{(l-n)!} s^{l-n} / d^{l+1}` at a distance d.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import factorial, sqrt

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.memory import share
from ..base.watch import checkpoint
from ..model.neighbours import nearest
from .expansion import GaussianExpansion, polynomial_powers

Orders = tuple[tuple[int, int, int], ...]

RADII = np.array([0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 10, 12, 15, 20])
"""Distances from a site, in bohr, by which its distributions are put into levels."""

DISTANCES = np.geomspace(0.25, 120.0, 80)
"""Distances in bohr at which the bounds are known; between them the one below counts."""

_TAILS = np.linspace(0.0, 90.0, 1801)
_RATIOS = np.concatenate([np.linspace(0.0, 0.96, 385), [1.0]])

_EXPONENTS, _OFFSETS = 1.05, 0.1
"""Distributions share bounds whose exponents differ by this factor, and offsets from the site by this many bohr."""

_ROWS = share("lists", 512)
"""Distributions whose bounds are held at once."""

_TYPICAL = 1e-3
"""Part of the tolerance at which a distribution alone is put into a level."""


@dataclass(frozen=True, eq=False)
class Class:
    """Hermite Gaussians of one degree, scaled and signed for a potential.

    Attributes
    ----------
    degree : int
    centre : ndarray, shape (n, 3)
        In bohr.
    exponent : ndarray, shape (n,)
        In bohr^-2.
    hermite : ndarray, shape (n, number of orders)
        Hermite coefficients times 2 pi / exponent, for a charge in e.
    orders : tuple of (t, u, v)
    """

    degree: int
    centre: Reals
    exponent: Reals
    hermite: Reals
    orders: Orders

    def chosen(self, which: NDArray[np.intp] | NDArray[np.bool_]) -> Class:
        """Some of them."""
        return Class(self.degree, self.centre[which], self.exponent[which], self.hermite[which], self.orders)


@dataclass(frozen=True, eq=False)
class FarField:
    """Distributions by sites and levels, with the multipoles of all levels up to each.

    A row stands for a site and a number of levels that are far: row = site * (number of levels + 1) + number.

    Attributes
    ----------
    sites : ndarray, shape (n_sites, 3)
        In bohr.
    order : int
        Highest order of the multipoles.
    classes : list of Class
        Ordered by site, then level.
    ranges : list of ndarray of int32, shape (n_rows, 2)
        For each class, the distributions that are near when those of the row are far.
    moments : ndarray, shape (n_rows, (order + 1) (order + 2))
        Multipoles of what is far, in the order of `harmonics`.
    bounds : ndarray, shape (n_sites, number of levels, number of distances)
        Bound in hartree/e on the error of those multipoles at each distance.
    """

    sites: Reals
    order: int
    classes: list[Class]
    ranges: list[NDArray[np.int32]]
    moments: Reals
    bounds: Reals


def hermite_terms(n: int) -> list[tuple[int, int]]:
    r"""Powers n - 2k in the Hermite polynomial of degree n, and their coefficients n! / (k! (n - 2k)!).

    :math:`H_n(x) = \sum_k (-1)^k \frac{n!}{k!\, (n - 2k)!} (2x)^{n - 2k}`
    """
    return [(n - 2 * k, factorial(n) // (factorial(k) * factorial(n - 2 * k))) for k in range(n // 2 + 1)]


def hermite_coefficients(expansion: GaussianExpansion, degree: int, orders: Orders) -> Reals:
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
        for t, x in hermite_terms(i):
            for u, y in hermite_terms(j):
                for v, z in hermite_terms(k):
                    halves = (i + t + j + u + k + v) // 2
                    weight = (x / 2**i) * (y / 2**j) * (z / 2**k) * expansion.exponent**-halves
                    result[:, place[t, u, v]] += weight * terms[:, column]
    return result


def largest_potentials(hermite: Reals, exponent: Reals, orders: Orders) -> Reals:
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


def sum_of_magnitudes(point: Reals, centre: Reals, hermite: Reals, exponent: Reals, orders: Orders) -> float:
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


def far_field(classes: list[Class], sites: Reals, order: int, tolerance: float) -> FarField:
    """Gather distributions on the nearest of some sites.

    Parameters
    ----------
    classes
        The distributions.
    sites : ndarray, shape (n_sites, 3)
        In bohr.
    order
        Highest order of the multipoles. Distributions of a higher degree are never far.
    tolerance
        In hartree/e: the bound on what is far that will most probably be asked for.
    """
    n_sites, levels = len(sites), len(RADII)
    moments = np.zeros((n_sites, levels + 1, _size(order)))
    bounds = np.zeros((n_sites, levels, len(DISTANCES)))
    ordered, ranges = [], []
    for class_ in classes:
        offset, site = nearest(class_.centre, sites)
        far_enough = _radii(class_, offset, order, tolerance * _TYPICAL)
        level = np.searchsorted(RADII, far_enough)
        sequence = np.lexsort((level, site))
        class_, offset = class_.chosen(sequence), offset[sequence]
        key = site[sequence] * (levels + 1) + level[sequence]
        edges = np.searchsorted(key, np.arange(n_sites * (levels + 1) + 1)).astype(np.int32)
        near = np.empty((n_sites * (levels + 1), 2), np.int32)
        near[:, 0] = edges[:-1]
        near[:, 1] = np.repeat(edges[levels + 1 :: levels + 1], levels + 1)
        ordered.append(class_)
        ranges.append(near)
        _add_bounds(bounds, class_, offset, key, order)
        _add_moments(moments, class_, sites, edges, order)
    return FarField(
        sites, order, ordered, ranges, moments.cumsum(axis=1).reshape(-1, _size(order)), bounds.cumsum(axis=1)
    )


def _size(order: int) -> int:
    return (order + 1) * (order + 2)


def harmonics(order: int) -> tuple[tuple[int, int, int], ...]:
    """Irregular solid harmonics (l, m, 0 or 1 for real or imaginary part) as the kernel makes them: m slowest."""
    return tuple((l, m, part) for m in range(order + 1) for l in range(m, order + 1) for part in range(2))


def _add_moments(moments: Reals, class_: Class, sites: Reals, edges: NDArray[np.int32], order: int) -> None:
    """Moments of each site and level, those of level k in place k + 1: they are far when k + 1 levels are."""
    rows = moments.shape[1]
    raising = []
    for powers in class_.orders:
        checkpoint()
        raising.append(_raised(order, powers).T)
    scaled = class_.hermite * (0.5 * np.sqrt(np.pi / class_.exponent))[:, None]
    for site, centre in enumerate(sites):
        checkpoint()
        first, last = edges[site * rows], edges[site * rows + rows - 1]
        regular = _regular(class_.centre[first:last] - centre, order)
        for level in np.flatnonzero(np.diff(edges[site * rows : (site + 1) * rows])):
            some = slice(edges[site * rows + level], edges[site * rows + level + 1])
            sums = scaled[some].T @ regular[some.start - first : some.stop - first]
            moments[site, level + 1] += sum(sums[n] @ raised for n, raised in enumerate(raising))


def _regular(s: Reals, order: int) -> Reals:
    """Factors of the irregular harmonics in the potential of a unit charge at s, shape (n, (order + 1) (order + 2))."""
    place = {h: n for n, h in enumerate(harmonics(order))}
    x, y, z = s.T
    square = (s**2).sum(axis=1)
    result = np.empty((len(s), _size(order)))
    diagonal = np.ones(len(s), complex)
    for m in range(order + 1):
        if m:
            diagonal = diagonal * (x + 1j * y) / (2 * m)
        before, here = np.zeros(len(s), complex), diagonal
        for l in range(m, order + 1):
            result[:, place[l, m, 0]] = here.real * (2 if m else 1)
            result[:, place[l, m, 1]] = here.imag * 2
            before, here = here, ((2 * l + 1) * z * here - square * before) / ((l + 1) ** 2 - m**2)
    return result


@lru_cache
def _raised(order: int, powers: tuple[int, int, int]) -> Reals:
    """Matrix that takes factors of harmonics to those of their derivative; what exceeds the order is left out."""
    result = np.eye(_size(order))
    for axis, power in enumerate(powers):
        for _ in range(power):
            result = ladder(order, axis) @ result
    return result


@lru_cache
def ladder(order: int, axis: int) -> Reals:
    """Matrix that takes factors of harmonics to those of the derivative along an axis for a charge that moves."""
    place = {h: n for n, h in enumerate(harmonics(order))}
    matrix = np.zeros((len(place), len(place)))

    def add(l: int, m: int, part: int, source: int, factor: float) -> None:
        if (l, m, part) in place:
            matrix[place[l, m, part], source] += factor

    for (l, m, part), source in place.items():
        if m == 0 and part == 1:
            continue  # the imaginary part is 0
        if axis == 2:
            add(l + 1, m, part, source, 1.0)
        elif axis == 0:
            add(l + 1, m + 1, part, source, 0.5 if m else 1.0)
            if m:
                add(l + 1, m - 1, part, source, -0.5)
        else:
            # -i (I^{m+1} + I^{m-1}) / 2: real and imaginary parts change places
            sign = 1.0 if part == 0 else -1.0
            add(l + 1, m + 1, 1 - part, source, sign * (0.5 if m else 1.0))
            if m:
                add(l + 1, m - 1, 1 - part, source, sign * 0.5)
    return matrix


def _add_bounds(bounds: Reals, class_: Class, offset: Reals, key: NDArray[np.intp], order: int) -> None:
    levels = bounds.shape[1]
    site, level = key // (levels + 1), key % (levels + 1)
    for first in range(0, len(offset), _ROWS):
        checkpoint()
        some = slice(first, first + _ROWS)
        error = _errors(class_, offset, order, some)
        begins = np.flatnonzero(np.diff(key[some], prepend=-1))
        sums = np.add.reduceat(error, begins, axis=0)
        for row, sum_ in zip(begins + first, sums, strict=True):
            if level[row] < levels:
                bounds[site[row], level[row]] += sum_


def _radii(class_: Class, offset: Reals, order: int, limit: float) -> Reals:
    """Distance from the site from which on the error of each distribution is below a limit, shape (n,)."""
    radius = np.empty(len(offset))
    for first in range(0, len(offset), _ROWS):
        checkpoint()
        some = slice(first, first + _ROWS)
        above = _errors(class_, offset, order, some) > limit
        last = above.shape[1] - np.argmax(above[:, ::-1], axis=1)  # the first distance after all that are too near
        radius[some] = np.where(
            above.any(axis=1), np.append(DISTANCES, np.inf)[np.minimum(last, len(DISTANCES))], DISTANCES[0]
        )
    return radius


def _errors(class_: Class, offset: Reals, order: int, some: slice) -> Reals:
    """Bound on the error of the multipoles of some distributions at `DISTANCES`, shape (n, number of distances)."""
    if class_.degree > order:
        return np.full((len(offset[some]), len(DISTANCES)), np.inf)
    exponents = np.floor(np.log(class_.exponent[some]) / np.log(_EXPONENTS)).astype(np.int64)
    offsets = np.ceil(offset[some] / _OFFSETS).astype(np.int64)
    key = (exponents - exponents.min()) * (offsets.max() + 1) + offsets
    _, example, kind = np.unique(key, return_index=True, return_inverse=True)
    p, s = _EXPONENTS ** exponents[example][:, None], offsets[example][:, None] * _OFFSETS
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rho = np.maximum(DISTANCES - s, 0.0)
        ratio = np.minimum(s / DISTANCES, 1.0)
        total = np.zeros((len(offset[some]), len(DISTANCES)))
        for n in range(class_.degree + 1):
            tail = np.exp(np.interp(p * rho**2, _TAILS, _log_tail(n))) / (np.sqrt(p) * rho ** (n + 1))
            rest = 0.5 * np.sqrt(np.pi / p) * np.interp(ratio, _RATIOS, _remainder(n, order)) / DISTANCES ** (n + 1)
            weight = np.abs(class_.hermite[some][:, [sum(powers) == n for powers in class_.orders]]).sum(axis=1)
            total += weight[:, None] * (tail + rest)[kind.reshape(-1)]
    return np.where(np.isnan(total), np.inf, total)


@lru_cache
def _log_tail(n: int) -> Reals:
    r"""Logarithm of :math:`\int_{\sqrt T}^\infty v^n q(v) e^{-v^2} dv` at `_TAILS`, q the largest of order n."""
    v = np.linspace(0.0, 12.0, 24001)
    largest = np.zeros(len(v))
    for t in range(n + 1):
        for u in range(n + 1 - t):
            q = np.zeros(len(v))
            for i, a in hermite_terms(t):
                for j, b in hermite_terms(u):
                    for k, c in hermite_terms(n - t - u):
                        q += float(a * b * c * 2 ** (i + j + k)) * _on_sphere(i, j, k) * v ** (i + j + k)
            largest = np.maximum(largest, q)
    integrand = largest * v**n * np.exp(-(v**2))
    # from above: each step at the larger of its two ends
    steps = np.maximum(integrand[1:], integrand[:-1]) * (v[1] - v[0])
    integral = np.append(np.cumsum(steps[::-1])[::-1], 0.0) + 1e-60
    before = np.maximum(np.searchsorted(v, np.sqrt(_TAILS), side="right") - 1, 0)
    result: Reals = np.log(integral[before])
    # between two entries the logarithm is interpolated: it is concave there or close to it, so take the one before
    return np.append(result[:1], result[:-1])


def _on_sphere(i: int, j: int, k: int) -> float:
    """Maximum of |x^i y^j z^k| on the unit sphere."""
    n = i + j + k
    return sqrt(float(i**i * j**j * k**k) / n**n) if n else 1.0


@lru_cache
def _remainder(n: int, order: int) -> Reals:
    r"""Values of :math:`\sum_{l > N} \frac{l!}{(l-n)!} x^{l-n}` at `_RATIOS`; without bound at 1."""
    result = np.zeros(len(_RATIOS))
    factor = float(factorial(order + 1) // factorial(order + 1 - n))
    power = _RATIOS ** (order + 1 - n)
    for l in range(order + 1, 4000):
        result += factor * power
        factor *= (l + 1) / (l + 1 - n)
        power = power * _RATIOS
    result[-1] = np.inf
    return result
