r"""Densities as sums of products of primitives, each again a Gaussian times a polynomial.

With the primitives of all orbitals merged (`packing.merged_primitives`), a density

.. math::  \rho(r) = \sum_i n_i \psi_i(r)^2 = \sum_{pq} \sum_{st} D_{ps,qt}\, \chi_{ps}(r) \chi_{qt}(r)

is a sum over pairs of primitives, and by the Gaussian product theorem (S. F. Boys, Proc. R. Soc. A 1950, 200, 542)

.. math::  e^{-\alpha |r-A|^2} e^{-\beta |r-B|^2} = e^{-\alpha\beta/(\alpha+\beta) |A-B|^2} e^{-(\alpha+\beta) |r-P|^2}

each pair is a Gaussian about :math:`P = (\alpha A + \beta B)/(\alpha+\beta)`, times a polynomial that is found by
moving both polynomials to P. Most pairs are too far apart to matter: their number grows with the number of atoms.

In a periodic system the pairs are those of a primitive of the cell with the images of all that are as diffuse or more
so: by a translation, each other pair is one of these. The images of the products that reach into the cell are then what
the sum is made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import comb

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.memory import share
from ..base.watch import checkpoint, patiently
from ..model.cell import Cell, cell_of
from ..model.wavefunction import Wavefunction
from .expansion import (
    GaussianExpansion,
    concatenated,
    gradient,
    largest_magnitudes,
    polynomial_powers,
    starts,
    term_counts,
)
from .packing import primitives_of_one_cell
from .periodic import images_of, unfolded

TOLERANCE = 1e-11
"""Bound, in e bohr^-3, on what all the products that are left out would add up to at any point."""

SHARE = 0.8
"""Share of the decay between the centres that the first look at a pair makes use of; the rest pays for polynomials."""

_ROWS = share("large matrix", 8)
"""Entries of the density matrix over primitives that are held at once."""

_COLUMNS = share("lists", 8)
"""Pairs of a primitive and an image that are looked at at once."""

_OF_IMAGES = 1e-3
"""Part of the tolerance for products that are left out with all their images; half of it is for single images."""

_PAIRS = share("lists", 8)
"""Entries of polynomials that are moved at once."""


def density_products(
    wavefunction: Wavefunction, coefficients: Reals, occupations: Reals, tolerance: float = TOLERANCE
) -> GaussianExpansion:
    """The density of some orbitals as a sum of Gaussians times polynomials.

    Parameters
    ----------
    wavefunction
        Its atoms and basis set.
    coefficients : ndarray, shape (n_basis, n_orbitals)
        Of the orbitals.
    occupations : ndarray, shape (n_orbitals,)
        Weights of their squares; any sign.
    tolerance
        Bound on the error that leaving products out may cause anywhere, in e bohr^-3.

    Returns
    -------
    GaussianExpansion
        In e bohr^-3.
    """
    primitives = primitives_of_one_cell(wavefunction)
    left: Reals = primitives.rows @ coefficients
    return _products(primitives.with_terms(left), [(left * occupations, left)], tolerance, cell_of(wavefunction))


def transition_products(wavefunction: Wavefunction, left: Reals, right: Reals) -> GaussianExpansion:
    r"""A sum of products of different orbitals, :math:`\sum_k l_k(r)\, r_k(r)`.

    Parameters
    ----------
    wavefunction
        Its atoms and basis set.
    left, right : ndarray, shape (n_basis, n_products)
        Coefficients of the two orbitals of each product.
    """
    primitives = primitives_of_one_cell(wavefunction)
    first, second = (primitives.rows @ coefficients for coefficients in (left, right))
    # half of each order: pairs of primitives are visited once, and taken for both
    factors = [(0.5 * first, second), (0.5 * second, first)]
    return _products(primitives.with_terms(first), factors, TOLERANCE, cell_of(wavefunction))


def kinetic_products(
    wavefunction: Wavefunction, coefficients: Reals, occupations: Reals, tolerance: float = TOLERANCE
) -> GaussianExpansion:
    r"""The positive definite kinetic energy density :math:`\frac12 \sum_i n_i |\nabla\psi_i|^2` as a sum of Gaussians.

    Parameters and result as for `density_products`, in hartree bohr^-3.
    """
    return slope_products(wavefunction, coefficients, 0.5 * occupations, (0, 1, 2), tolerance)


def slope_products(
    wavefunction: Wavefunction,
    coefficients: Reals,
    occupations: Reals,
    axes: Sequence[int],
    tolerance: float = TOLERANCE,
) -> GaussianExpansion:
    r"""Squares of derivatives of orbitals along some axes, :math:`\sum_i n_i \sum_a (\partial_a \psi_i)^2`.

    Parameters and result as for `density_products`, in bohr^-5; axes are 0, 1, 2 for x, y, z.
    """
    primitives = primitives_of_one_cell(wavefunction)
    slopes = gradient(primitives.with_terms(primitives.rows @ coefficients))
    factors = [(slopes[axis].terms * occupations, slopes[axis].terms) for axis in axes]
    return _products(slopes[0], factors, tolerance, cell_of(wavefunction))


def products_of_sums(left: GaussianExpansion, right: GaussianExpansion, tolerance: float) -> GaussianExpansion:
    r"""The sum of products of two lists of functions of a molecule, :math:`\sum_k l_k(r)\, r_k(r)`.

    Parameters
    ----------
    left, right : GaussianExpansion
        With terms of shape (n_terms, n_products).
    tolerance
        Bound on the error that leaving products out may cause anywhere.
    """
    parts: list[GaussianExpansion] = []
    sizes = np.diff(left.first_term)
    n_pairs = len(left) * len(right)
    bounds = [ceilings(replace(side, terms=np.ones(int(side.first_term[-1])))) for side in (left, right)]
    first = 0
    while first < len(left):
        checkpoint()
        rows = np.cumsum(sizes[first:])
        stop = first + max(1, int(np.searchsorted(rows, _ROWS // int(right.first_term[-1]), side="right")))
        offset, end = int(left.first_term[first]), int(left.first_term[stop])
        matrix = patiently(partial(np.matmul, left.terms[offset:end], right.terms.T))
        largest = np.maximum.reduceat(np.abs(matrix), left.first_term[first:stop] - offset, axis=0)
        largest = np.maximum.reduceat(largest, right.first_term[:-1], axis=1)
        alpha, beta = left.exponent[first:stop, None], right.exponent[None]
        distance = ((left.centre[first:stop, None] - right.centre[None]) ** 2).sum(axis=2)
        with np.errstate(under="ignore"):
            rough = largest * bounds[0][first:stop, None] * bounds[1][None]
            rough *= np.exp(-SHARE * alpha * beta / (alpha + beta) * distance)
        p, q = np.nonzero(rough > tolerance / (2 * n_pairs))
        parts += _move_pairs((left, right), matrix, offset, p + first, q, right.centre[q], np.ones(len(p)))
        first = stop
    return concatenated(parts)


@dataclass(frozen=True, eq=False)
class _Images:
    """Images of primitives that primitives of the cell are paired with.

    Attributes
    ----------
    of : ndarray of int, shape (n,)
        Which primitives they are images of, ascending.
    centre : ndarray, shape (n, 3)
        In bohr.
    rank : ndarray of int, shape (n_primitives,)
        Of the primitives by falling exponents: each is paired with the images of those that do not come before it.
    """

    of: NDArray[np.intp]
    centre: Reals
    rank: NDArray[np.intp]


def _images(primitives: GaussianExpansion, factors: list[tuple[Reals, Reals]], tolerance: float, cell: Cell) -> _Images:
    # two of one exponent that are d apart have a product as large as one of them has at d / sqrt(2): the square there
    largest = np.max([np.abs(side).max(axis=1) for factor in factors for side in factor], axis=0)
    of, centre = images_of(replace(primitives, terms=largest), cell, tolerance**2)
    return _Images(of, centre, np.argsort(np.argsort(-primitives.exponent, kind="stable")))


def _products(
    primitives: GaussianExpansion, factors: list[tuple[Reals, Reals]], tolerance: float, cell: Cell | None
) -> GaussianExpansion:
    """Sum over pairs of primitives of the matrix that is the sum of left @ right.T over the factors."""
    counts = np.diff(primitives.first_term)
    images = None if cell is None else _images(primitives, factors, tolerance, cell)
    parts: list[GaussianExpansion] = []
    bounds: list[Reals] = []
    first = 0
    while first < len(primitives):
        checkpoint()
        rows = np.cumsum(counts[first:])
        stop = first + max(1, int(np.searchsorted(rows, _ROWS // int(primitives.first_term[-1]), side="right")))
        here = slice(int(primitives.first_term[first]), int(primitives.first_term[stop]))
        # pairs of a primitive with itself and with those before it; the others are their mirror images
        there = slice(0, here.stop if images is None else None)
        matrix = np.zeros(())
        for left, right in factors:
            matrix = matrix + patiently(partial(np.matmul, left[here], right[there].T))
            checkpoint()
        for part in _block(primitives, matrix, first, stop, tolerance, images):
            parts.append(part)
            bounds.append(largest_magnitudes(part))
        first = stop
    everything, bound = concatenated(parts), np.concatenate(bounds)
    order = np.argsort(bound)
    negligible = tolerance / 2 if images is None else _OF_IMAGES * tolerance
    dropped = order[: int(np.searchsorted(np.cumsum(bound[order]), negligible))]
    kept = np.ones(len(bound), bool)
    kept[dropped] = False
    return unfolded(everything.chosen(kept), cell, tolerance / 2)


def _block(
    primitives: GaussianExpansion, matrix: Reals, first: int, stop: int, tolerance: float, images: _Images | None
) -> list[GaussianExpansion]:
    """Products of the primitives first <= p < stop with q <= p, or images; rows of the matrix are terms of p."""
    offset = primitives.first_term[first]
    heights, widths = np.abs(matrix), np.arange(first, stop)
    checkpoint()
    # largest element of each block of terms, shape (stop - first, stop), all columns where there are images
    by_row = np.maximum.reduceat(heights, primitives.first_term[first:stop] - offset, axis=0)
    checkpoint()
    n_columns = stop if images is None else len(primitives)
    largest = np.maximum.reduceat(by_row, primitives.first_term[:n_columns], axis=1)
    checkpoint()
    ceiling = ceilings(replace(primitives, terms=np.ones(int(primitives.first_term[-1]))))
    if images is None:
        ranges = [(np.arange(stop), primitives.centre[:stop])]
    else:
        step = max(1, _COLUMNS // (stop - first))
        cuts = range(0, len(images.of), step)
        ranges = [(images.of[begin : begin + step], images.centre[begin : begin + step]) for begin in cuts]
    parts = []
    for of, centre in ranges:
        alpha, beta = primitives.exponent[widths][:, None], primitives.exponent[None, of]
        distance = ((primitives.centre[widths][:, None] - centre[None]) ** 2).sum(axis=2)
        with np.errstate(under="ignore"):
            rough = (largest if images is None else largest[:, of]) * ceiling[widths][:, None] * ceiling[None, of]
            rough *= np.exp(-SHARE * alpha * beta / (alpha + beta) * distance)
        checkpoint()
        if images is None:
            meets, pairs = of[None, :] <= widths[:, None], len(primitives) ** 2 / 2
        else:
            meets, pairs = images.rank[of][None, :] >= images.rank[widths][:, None], len(primitives) * len(images.of)
        p, q = np.nonzero((2 * rough > tolerance / (2 * pairs)) & meets)
        weights = np.where(p + first == of[q], 1.0, 2.0)
        parts += _move_pairs((primitives, primitives), matrix, int(offset), p + first, of[q], centre[q], weights)
    return parts


def _move_pairs(
    sides: tuple[GaussianExpansion, GaussianExpansion],
    matrix: Reals,
    offset: int,
    p: NDArray[np.intp],
    q: NDArray[np.intp],
    centre: Reals,
    weights: Reals,
) -> list[GaussianExpansion]:
    """Products of primitives p of one list with q of another about other centres, shape (n, 3), times weights.

    The rows of the matrix are the terms from the one of number `offset` on.
    """
    parts = []
    left, right = sides
    for a in np.unique(left.degree[p]):
        for b in np.unique(right.degree[q]):
            of_class = np.flatnonzero((left.degree[p] == a) & (right.degree[q] == b))
            step = max(1, _PAIRS // ((int(a) + 1) ** 3 * (int(b) + 1) ** 3))
            for begin in range(0, len(of_class), step):
                checkpoint()
                some = of_class[begin : begin + step]
                rows = left.first_term[p[some]][:, None] - offset + np.arange(len(polynomial_powers(int(a))))
                columns = right.first_term[q[some]][:, None] + np.arange(len(polynomial_powers(int(b))))
                blocks = matrix[rows[:, :, None], columns[:, None, :]] * weights[some, None, None]
                exponents = left.exponent[p[some]], right.exponent[q[some]]
                places = left.centre[p[some]], centre[some]
                parts.append(_move(exponents, places, int(a), int(b), blocks))
    return parts


def ceilings(primitives: GaussianExpansion) -> Reals:
    """Bound on each Gaussian times its polynomial, but for the share of the decay that the first look makes use of."""
    return largest_magnitudes(replace(primitives, exponent=(1 - SHARE) * primitives.exponent))


def _move(
    exponents: tuple[Reals, Reals], places: tuple[Reals, Reals], a: int, b: int, blocks: Reals
) -> GaussianExpansion:
    """Products of primitives of degrees a and b about places of shape (n, 3).

    The matrix elements are blocks, shape (n, terms of a, terms of b).
    """
    (alpha, beta), (A, B) = exponents, places
    n, degree = len(alpha), a + b
    exponent = alpha + beta
    centre = (alpha[:, None] * A + beta[:, None] * B) / exponent[:, None]
    decay = np.exp(-alpha * beta / exponent * ((A - B) ** 2).sum(axis=1))
    powers_a, powers_b = np.array(polynomial_powers(a)), np.array(polynomial_powers(b))
    # powers of x about A and B, of y, of z: each pair of axes is taken to powers about the common centre by a matrix
    cube = np.zeros((n, a + 1, b + 1, a + 1, b + 1, a + 1, b + 1))
    (ax, ay, az), (bx, by, bz) = powers_a.T[:, :, None], powers_b.T[:, None, :]
    cube[:, ax, bx, ay, by, az, bz] = blocks * decay[:, None, None]
    x, y, z = (
        _product_of_powers(centre[:, axis] - A[:, axis], centre[:, axis] - B[:, axis], a, b).reshape(n, -1, degree + 1)
        for axis in range(3)
    )
    pairs, powers = (a + 1) * (b + 1), degree + 1
    cube = np.matmul(x.transpose(0, 2, 1), cube.reshape(n, pairs, -1)).reshape(n, powers, pairs, pairs)
    cube = np.matmul(y.transpose(0, 2, 1)[:, None], cube).reshape(n, powers**2, pairs)
    cube = np.matmul(cube, z).reshape(n, powers, powers, powers)
    i, j, k = np.array(polynomial_powers(degree)).T
    terms = cube[:, i, j, k].reshape(-1)
    degrees = np.full(n, degree, np.int32)
    return GaussianExpansion(centre, exponent, degrees, starts(term_counts(degrees)), terms)


def _product_of_powers(to_a: Reals, to_b: Reals, a: int, b: int) -> Reals:
    """Coefficients of u^s in (u + to_a)^i (u + to_b)^j, shape (n, a + 1, b + 1, a + b + 1)."""
    result = np.zeros((len(to_a), a + 1, b + 1, a + b + 1))
    for i in range(a + 1):
        for j in range(b + 1):
            for s, t, weight in _binomial_pairs(i, j):
                result[:, i, j, s + t] += weight * to_a ** (i - s) * to_b ** (j - t)
    return result


@lru_cache
def _binomial_pairs(i: int, j: int) -> tuple[tuple[int, int, float], ...]:
    return tuple((s, t, float(comb(i, s) * comb(j, t))) for s in range(i + 1) for t in range(j + 1))
