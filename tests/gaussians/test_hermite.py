"""Hermite Gaussians, against SciPy's Hermite polynomials, and bounds of their potentials against the potentials."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import eval_hermite, factorial

from orbitile.gaussians.multipoles import hermite_coefficients, largest_potentials, sum_of_magnitudes
from tests.gaussians.sums import (
    coulomb_of_hermite,
    directions_at_random,
    points_about,
    powers_of_terms,
    random_sum,
    values_of_each,
)


def hermite_gaussian(order, exponent, away):
    """Derivative of exp(-p |r - P|^2) with respect to P: along each axis p^(n/2) H_n(sqrt(p) x) exp(-p x^2)."""
    root = np.sqrt(exponent)
    parts = [root**n * eval_hermite(n, root * away[:, axis]) for axis, n in enumerate(order)]
    return np.prod(parts, axis=0) * np.exp(-exponent * (away**2).sum(axis=1))


@pytest.mark.parametrize(("least", "most"), [(0.05, 50.0), (1e-3, 1e-2), (1e4, 1e6)])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 6, 10])
def test_a_polynomial_and_its_hermite_gaussians_are_the_same_function(degree, least, most):
    expansion = random_sum(degree, (degree, degree, degree), least, most)
    orders = tuple(reversed(powers_of_terms(degree)))  # any order will do
    coefficients = hermite_coefficients(expansion, degree, orders)
    assert coefficients.shape == (3, len(orders))
    points = points_about(expansion, 30, widths=2.5)
    expected = values_of_each(expansion, points)
    for n, exponent in enumerate(expansion.exponent):
        away = points - expansion.centre[n]
        value = sum(
            c * hermite_gaussian(order, exponent, away) for c, order in zip(coefficients[n], orders, strict=True)
        )
        assert value == pytest.approx(expected[n], abs=1e-10 * np.abs(expected[n]).max())


def charges(seed, degree, n=6, least=0.05, most=1e4):
    """Hermite coefficients of like size at all orders, exponents, and orders."""
    rng = np.random.default_rng(seed)
    orders = tuple(powers_of_terms(degree))
    exponent = np.exp(rng.uniform(np.log(least), np.log(most), n))
    size = exponent[:, None] ** -(np.array([sum(order) for order in orders]) / 2)
    return rng.normal(size=(n, len(orders))) * size, exponent, orders


def potentials(hermite, exponent, orders, away):
    return sum(c * coulomb_of_hermite(order, exponent, away) for c, order in zip(hermite, orders, strict=True))


@pytest.mark.parametrize("degree", [0, 1, 2, 4, 6])
def test_no_potential_exceeds_the_bound(degree):
    hermite, exponent, orders = charges(degree, degree)
    bounds = largest_potentials(hermite, exponent, orders)
    vectors = directions_at_random(60, degree)
    for row, p, bound in zip(hermite, exponent, bounds, strict=True):
        away = (np.linspace(0, 4, 25)[:, None, None] * vectors / np.sqrt(p)).reshape(-1, 3)
        largest = np.abs(potentials(row, p, orders, away)).max()
        assert largest <= bound
        assert bound < 60 * largest  # a bound that is of use


@pytest.mark.parametrize("order", [(1, 0, 0), (0, 2, 1), (3, 0, 4)])
@pytest.mark.parametrize("exponent", [1e-3, 1.0, 1e6])
def test_the_bound_of_one_order(order, exponent):
    """Cramer's inequality below the integral sign: Abramowitz and Stegun, 22.14.17."""
    n = sum(order)
    heights = np.prod([1.0865 * np.sqrt(2.0**power * factorial(power)) for power in order])
    expected = 3.0 * exponent ** (n / 2) * heights * quad(lambda s: s**n, 0, 1)[0]
    found = largest_potentials(np.array([[-3.0]]), np.array([exponent]), (order,))
    assert found.item() == pytest.approx(expected)
    # and it is that of the order alone by which all are bounded near their centres
    near = sum_of_magnitudes(np.zeros(3), np.zeros((1, 3)), np.array([[-3.0]]), np.array([exponent]), (order,))
    assert near == pytest.approx(expected)


@pytest.mark.parametrize("exponent", [1e-3, 1.0, 1e6])
def test_the_bound_of_a_charge_is_its_potential_at_the_centre(exponent):
    value = coulomb_of_hermite((0, 0, 0), exponent, np.zeros((1, 3)))
    assert value == pytest.approx(1.0)
    assert largest_potentials(np.array([[-2.0]]), np.array([exponent]), ((0, 0, 0),)) == pytest.approx(2.0)


@pytest.mark.slow
@pytest.mark.parametrize("degree", [0, 1, 3, 6])
def test_the_sum_of_magnitudes_is_from_above_at_any_distance(degree):
    hermite, exponent, orders = charges(degree, degree)
    centre = np.random.default_rng(1).uniform(-2, 2, (len(exponent), 3))
    for distance in (0.0, 0.1, 1.0, 5.0, 40.0):
        for vector in directions_at_random(5, degree):
            point = centre[0] + distance * vector
            exact = sum(
                np.abs(c * coulomb_of_hermite(order, p, (point - middle)[None]).item())
                for row, p, middle in zip(hermite, exponent, centre, strict=True)
                for c, order in zip(row, orders, strict=True)
            )
            assert exact <= sum_of_magnitudes(point, centre, hermite, exponent, orders) * (1 + 1e-9)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_far_away_the_sum_is_that_of_point_multipoles(n):
    """Along its axis a multipole of order n has the potential n!/R^(n+1), which the bound allows for everywhere."""
    exponent, distance = 0.7, 30.0
    found = sum_of_magnitudes(
        np.array([0.0, 0.0, distance]), np.zeros((1, 3)), np.array([[-3.0]]), np.array([exponent]), ((0, 0, n),)
    )
    exact = 3 * np.abs(coulomb_of_hermite((0, 0, n), exponent, np.array([[0.0, 0.0, distance]]))).item()
    assert exact <= found < 1.001 * exact
