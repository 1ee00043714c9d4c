"""Sums of Gaussians times polynomials, against their values by the definition and exact quadratures."""

import numpy as np
import pytest

from orbitile.gaussians.expansion import (
    concatenated,
    derivative,
    integrals,
    largest_magnitudes,
    merged,
    radial_bounds,
    reach,
    reaching,
    starts,
    term_counts,
)
from tests.gaussians.sums import (
    directions_at_random,
    make_sum,
    points_about,
    powers_of_terms,
    random_sum,
    single,
    value_at,
    values_of_each,
)

EXPONENTS = [1e-3, 1.0, 1e7]
MONOMIALS = [(0, 0, 0), (1, 0, 0), (0, 2, 0), (1, 1, 1), (0, 1, 4), (3, 2, 5)]


def close(value, expected):
    """Equal but for rounding on the scale of the largest."""
    assert value == pytest.approx(expected, abs=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize(("least", "most"), [(0.05, 50.0), (1e-4, 1e-2), (1e3, 1e8)])
def test_values(least, most):
    expansion = random_sum(1, least=least, most=most)
    points = points_about(expansion, 20)
    close(value_at(expansion, points), values_of_each(expansion, points).sum(axis=0))


def test_numbers_of_terms():
    degrees = np.array([0, 1, 2, 3, 4, 5, 10], np.int32)
    assert term_counts(degrees).tolist() == [len(powers_of_terms(int(degree))) for degree in degrees]
    assert starts(np.array([4, 1, 10])).tolist() == [0, 4, 5, 15]
    assert starts(np.array([], int)).tolist() == [0]


@pytest.mark.parametrize("which", [np.array([True, False, False, True, True, False]), np.array([4, 0, 3])])
def test_some_of_its_gaussians(which):
    expansion = random_sum(2)
    points = points_about(expansion, 5)
    some = expansion.chosen(which)
    assert len(some) == 3
    assert np.array_equal(values_of_each(some, points), values_of_each(expansion, points)[which])


def test_none_of_its_gaussians():
    nothing = random_sum(2).chosen(np.zeros(6, bool))
    assert len(nothing) == 0
    assert value_at(nothing, np.zeros((2, 3))).tolist() == [0, 0]
    assert integrals(nothing)[0] == 0


def test_several_sums_and_multiples():
    first, second = random_sum(3), random_sum(4, (2, 0))
    points = points_about(first, 5)
    total = concatenated([first, second.scaled(-2.5)])
    assert total.first_term[-1] == len(total.terms)
    close(value_at(total, points), value_at(first, points) - 2.5 * value_at(second, points))


def test_those_that_share_centre_exponent_and_degree_become_one():
    first, second = random_sum(5, (3, 1, 0)), random_sum(6, (2, 2))
    rounded = make_sum(
        first.centre * (1 + 2e-16), first.exponent * (1 - 2e-16), [3, 1, 0], np.split(first.terms, [20, 24])
    )
    points = points_about(first, 5)
    whole = merged([first, second, rounded.scaled(0.5)])
    assert whole.degree.tolist() == [3, 1, 0, 2, 2]  # in the order in which they appear
    assert np.array_equal(whole.exponent, np.concatenate([first.exponent, second.exponent]))
    close(value_at(whole, points), 1.5 * value_at(first, points) + value_at(second, points))


def test_a_difference_of_equal_sums_cancels_exactly():
    expansion = random_sum(7)
    difference = merged([expansion, expansion.scaled(-1)])
    assert len(difference) == len(expansion)
    assert not difference.terms.any()


@pytest.mark.parametrize(("moved", "ratio", "degree"), [(1e-9, 1, 1), (0, 1 + 1e-9, 1), (0, 1, 2)])
def test_those_that_differ_stay_apart(moved, ratio, degree):
    first = single((1, 0, 0), 2.0, (0.5, 0.25, -1.0))
    other = make_sum(first.centre + moved, first.exponent * ratio, [degree], [np.ones(len(powers_of_terms(degree)))])
    assert len(merged([first, other])) == 2


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(("least", "most"), [(0.05, 50.0), (1e-4, 1e-2), (1e3, 1e8)])
def test_derivatives_against_steps_into_the_complex_plane(axis, least, most):
    """Im f(x + ih) / h is the derivative to machine precision (Squire and Trapp, SIAM Rev. 1998, 40, 110)."""
    expansion = random_sum(8, least=least, most=most)
    points = points_about(expansion, 10)
    step = 1e-30j * np.eye(3)[axis]
    expected = values_of_each(expansion, points + step).imag / 1e-30
    found = derivative(expansion, axis)
    assert found.degree.tolist() == (expansion.degree + 1).tolist()
    for value, wanted in zip(values_of_each(found, points), expected, strict=True):
        close(value, wanted)


def test_derivatives_of_several_sums_of_the_same_gaussians():
    first, second = random_sum(9), random_sum(10)
    both = type(first)(
        first.centre, first.exponent, first.degree, first.first_term, np.stack([first.terms, second.terms], axis=1)
    )
    same = type(first)(first.centre, first.exponent, first.degree, first.first_term, second.terms)
    terms = derivative(both, 1).terms
    assert np.array_equal(terms[:, 0], derivative(first, 1).terms)
    assert np.array_equal(terms[:, 1], derivative(same, 1).terms)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_exceeds_the_largest_magnitude(seed):
    expansion = random_sum(seed, least=1e-3, most=1e6)
    magnitudes = np.abs(values_of_each(expansion, points_about(expansion, 2000, seed)))
    assert np.all(magnitudes.max(axis=1) <= largest_magnitudes(expansion))


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("powers", MONOMIALS)
def test_the_largest_magnitude_of_a_monomial_is_reached(powers, exponent):
    expansion = single(powers, exponent, factor=-3.0)
    top = np.sqrt(np.array([powers], float) / (2 * exponent))  # where the derivative along each axis is 0
    assert np.abs(values_of_each(expansion, top)).item() == pytest.approx(largest_magnitudes(expansion).item())


def bound_at(expansion, distance):
    """The bound that `radial_bounds` stands for, of each Gaussian at a distance."""
    bounds = radial_bounds(expansion)
    return (bounds * distance[:, None] ** np.arange(bounds.shape[1])).sum(axis=1) * np.exp(
        -expansion.exponent * distance**2
    )


@pytest.mark.parametrize("seed", range(4))
def test_nothing_exceeds_the_bound_at_a_distance(seed):
    expansion = random_sum(seed, least=1e-3, most=1e6)
    vectors = directions_at_random(500, seed)
    for share in (0.0, 0.3, 1.0, 1.7, 3.0):
        distance = share / np.sqrt(expansion.exponent)
        points = (expansion.centre[:, None] + distance[:, None, None] * vectors).reshape(-1, 3)
        magnitudes = np.abs(values_of_each(expansion, points)).reshape(len(expansion), len(expansion), -1)
        own = magnitudes[np.arange(len(expansion)), np.arange(len(expansion))].max(axis=1)
        assert np.all(own <= bound_at(expansion, distance) * (1 + 1e-9))


@pytest.mark.parametrize("powers", MONOMIALS)
def test_the_bound_of_a_monomial_is_reached(powers):
    expansion = single(powers, 0.8)
    distance = np.array([1.3])
    point = 1.3 * np.sqrt(np.array([powers], float) / max(sum(powers), 1))
    if sum(powers) == 0:
        point = np.array([[1.3, 0.0, 0.0]])
    assert np.abs(values_of_each(expansion, point)).item() == pytest.approx(bound_at(expansion, distance).item())


@pytest.mark.parametrize("limit", [1e-3, 1e-11])
@pytest.mark.parametrize("seed", range(3))
def test_beyond_its_reach_a_gaussian_is_below_the_limit(seed, limit):
    expansion = random_sum(seed, least=0.02, most=1e6)
    distance = reach(expansion, limit)
    vectors = directions_at_random(300, seed)
    for factor in (1.0, 1.05, 1.5):
        for n, radius in enumerate(distance):
            points = expansion.centre[n] + max(radius, 1e-9) * factor * vectors
            assert np.abs(values_of_each(expansion.chosen(np.array([n])), points)).max() <= limit * (1 + 1e-9)


@pytest.mark.parametrize("exponent", [0.01, 1.0, 1e7])
@pytest.mark.parametrize("powers", MONOMIALS)
def test_the_reach_of_a_monomial_is_where_it_falls_below_the_limit(powers, exponent):
    size = exponent ** (sum(powers) / 2)
    expansion = single(powers, exponent, factor=size)
    radius = reach(expansion, 1e-6)
    assert bound_at(expansion, radius).item() <= 1e-6
    # it is found by halving 120 bohr 24 times
    assert bound_at(expansion, radius - 2 * 120 / 2**24).item() > 1e-6


def test_what_never_exceeds_the_limit_has_no_reach():
    expansion = concatenated([single((0, 0, 0), factor=0.9e-6), single((1, 1, 0)), single((0, 3, 0), factor=1e-7)])
    assert (reach(expansion, 1e-6) > 0).tolist() == [False, True, False]
    some = reaching(expansion, 1e-6)
    assert some.degree.tolist() == [2]
    assert reaching(expansion, 1e-6) is some  # sent to a device once
    assert not some.terms.flags.writeable
    assert np.array_equal(reach(some, 1e-6), reach(expansion, 1e-6)[1:2])
    assert len(reaching(expansion, 1e-8)) == 3  # each limit for itself


@pytest.mark.parametrize(("least", "most"), [(0.05, 50.0), (1e-4, 1e-2), (1e3, 1e8)])
def test_integrals_against_gauss_and_hermite(least, most):
    """A rule of 8 points integrates polynomials up to degree 15 times a Gaussian exactly."""
    expansion = random_sum(11, least=least, most=most)
    nodes, weights = np.polynomial.hermite.hermgauss(8)
    offsets = np.stack(np.meshgrid(nodes, nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 3)
    product = np.prod(np.stack(np.meshgrid(weights, weights, weights, indexing="ij"), axis=-1), axis=-1).reshape(-1)
    zeroth, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    sizes = np.zeros(3)  # of what is added up, for the tolerances
    for n, p in enumerate(expansion.exponent):
        points = expansion.centre[n] + offsets / np.sqrt(p)
        gaussian = expansion.chosen(np.array([n]))
        values = values_of_each(gaussian, points)[0] * np.exp((offsets**2).sum(axis=1)) * product / p**1.5
        zeroth += values.sum()
        first += values @ points
        second += np.einsum("n,ni,nj->ij", values, points, points)
        lengths = np.linalg.norm(points, axis=1)
        sizes += [np.abs(values).sum(), np.abs(values) @ lengths, np.abs(values) @ lengths**2]
    found = integrals(expansion)
    assert found[0] == pytest.approx(zeroth, abs=1e-12 * sizes[0])
    assert found[1] == pytest.approx(first, abs=1e-12 * sizes[1])
    assert found[2] == pytest.approx(second, abs=1e-12 * sizes[2])
