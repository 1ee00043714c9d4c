"""Sums of Gaussians times polynomials made up at random, and their values by the definition, in plain NumPy."""

import numpy as np
from scipy.special import hyp1f1

from orbitile.gaussians.expansion import GaussianExpansion, polynomial_powers

TOGETHER = 20_000
"""Gaussians times points whose polynomials `value_at` holds at a time."""


def powers_of_terms(degree):
    """Powers (i, j, k) of the terms of a polynomial, i fastest: stated anew, so that a change of the order is seen."""
    return [(i, j, k) for k in range(degree + 1) for j in range(degree + 1 - k) for i in range(degree + 1 - k - j)]


def make_sum(centres, exponents, degrees, terms):
    """A sum from the polynomial coefficients of its Gaussians, one list for each."""
    counts = [len(powers_of_terms(degree)) for degree in degrees]
    assert [len(part) for part in terms] == counts
    return GaussianExpansion(
        np.array(centres, float).reshape(-1, 3),
        np.array(exponents, float),
        np.array(degrees, np.int32),
        np.cumsum([0, *counts]).astype(np.int32),
        np.concatenate(terms),
    )


def random_sum(seed, degrees=(0, 1, 2, 3, 5, 10), least=0.05, most=50.0):
    """Gaussians of the given degrees, with exponents over the range given, terms of like size at their widths."""
    rng = np.random.default_rng(seed)
    exponents = np.exp(rng.uniform(np.log(least), np.log(most), len(degrees)))
    terms = [
        np.array([rng.normal() * exponent ** (sum(powers) / 2) for powers in powers_of_terms(degree)])
        for degree, exponent in zip(degrees, exponents, strict=True)
    ]
    return make_sum(rng.uniform(-2, 2, (len(degrees), 3)), exponents, degrees, terms)


def single(powers, exponent=1.0, centre=(0.0, 0.0, 0.0), factor=1.0):
    """One Gaussian times one monomial."""
    degree = sum(powers)
    return make_sum([centre], [exponent], [degree], [[factor * (p == powers) for p in powers_of_terms(degree)]])


def values_of_each(expansion, points):
    """Values of each Gaussian times its polynomial, shape (n, n_points); complex points give complex values."""
    rows = []
    for n, degree in enumerate(expansion.degree):
        x, y, z = (points - expansion.centre[n]).T
        terms = expansion.terms[expansion.first_term[n] : expansion.first_term[n + 1]]
        polynomial = sum(
            term * x**i * y**j * z**k for term, (i, j, k) in zip(terms, powers_of_terms(int(degree)), strict=True)
        )
        rows.append(polynomial * np.exp(-expansion.exponent[n] * (x * x + y * y + z * z)))
    return np.array(rows)


def points_about(expansion, n, seed=0, widths=4.0):
    """Random points about each Gaussian, within some of its widths."""
    rng = np.random.default_rng(seed)
    spread = widths / np.sqrt(expansion.exponent)
    offsets = rng.uniform(-1, 1, (len(expansion), n, 3)) * spread[:, None, None]
    return (expansion.centre[:, None] + offsets).reshape(-1, 3)


def directions_at_random(n, seed=0):
    """Unit vectors, the axes and diagonals of space among them."""
    rng = np.random.default_rng(seed)
    special = np.array([(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if x or y or z], float)
    vectors = np.vstack([rng.normal(size=(n, 3)), special])
    return vectors / np.linalg.norm(vectors, axis=1)[:, None]


def coulomb_of_hermite(order, exponent, away):
    r"""Derivatives of the Boys function :math:`F_0(p r^2)` with respect to the centre; away = points - centre.

    By the recurrence of McMurchie and Davidson (J. Comput. Phys. 1978, 26, 218), with SciPy's confluent hypergeometric
    function; 2 pi / p times it is the potential of a Hermite Gaussian.
    """
    away = -away  # their vector is from the point to the centre of charge
    square = (away**2).sum(axis=1)

    def auxiliary(t, u, v, m):
        for axis, n in enumerate((t, u, v)):
            if n:
                lower = [(t, u, v)[k] - (k == axis) for k in range(3)]
                value = away[:, axis] * auxiliary(*lower, m + 1)
                if n > 1:
                    lowest = [(t, u, v)[k] - 2 * (k == axis) for k in range(3)]
                    value = value + (n - 1) * auxiliary(*lowest, m + 1)
                return value
        boys = hyp1f1(m + 0.5, m + 1.5, -exponent * square) / (2 * m + 1)
        return (-2 * exponent) ** m * boys

    return auxiliary(*order, 0)


def value_at(expansion, points):
    """Plain sum at a few points, shape (n_points,)."""
    total = np.zeros(len(points))
    for d in np.unique(expansion.degree):
        which = np.flatnonzero(expansion.degree == d)
        powers = np.array(polynomial_powers(int(d)))
        terms = expansion.terms[expansion.first_term[which][:, None] + np.arange(len(powers))]
        size = max(1, TOGETHER // len(which))
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
