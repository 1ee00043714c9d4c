"""The conventions page, checked against mathematics and against an independent table."""

import numpy as np
import pytest
from iodata.convert import HORTON2_CONVENTIONS
from iodata.overlap_cartpure import tfs
from scipy.special import gamma

from orbitile.model.conventions import (
    angular_normalization,
    cartesian_powers,
    component_names,
    n_components,
    pure_from_cartesian,
    radial_normalization,
)


@pytest.mark.parametrize("momentum", range(2, 8))
def test_pure_functions_agree_with_the_table_of_iodata(momentum):
    assert pure_from_cartesian(momentum) == pytest.approx(tfs[momentum], abs=1e-12)


@pytest.mark.parametrize("momentum", range(9))
def test_order_is_that_of_iodata(momentum):
    assert list(component_names(momentum, pure=False)) == HORTON2_CONVENTIONS[momentum, "c"]
    if momentum > 1:
        assert list(component_names(momentum, pure=True)) == HORTON2_CONVENTIONS[momentum, "p"]


@pytest.mark.parametrize("momentum", range(2, 11))
def test_pure_functions_are_harmonic(momentum):
    """The Laplacian of each row, as a polynomial, is zero."""
    powers = cartesian_powers(momentum)
    for row in pure_from_cartesian(momentum):
        laplacian: dict[tuple[int, ...], float] = {}
        for value, p in zip(row * [angular_normalization(p) for p in powers], powers, strict=True):
            for axis in range(3):
                if p[axis] > 1:
                    lower = tuple(n - 2 * (a == axis) for a, n in enumerate(p))
                    laplacian[lower] = laplacian.get(lower, 0.0) + value * p[axis] * (p[axis] - 1)
        assert max(abs(value) for value in laplacian.values()) < 1e-12 * np.abs(row).max()


@pytest.mark.parametrize("momentum", range(9))
def test_primitives_are_normalised_one_by_one(momentum):
    """The integral of x^2i exp(-2 a x^2) over a line is Gamma(i + 1/2) / (2 a)^(i + 1/2)."""
    exponents = np.array([1e-4, 0.7, 3e6])
    for powers in cartesian_powers(momentum):
        norms = radial_normalization(exponents, momentum) * angular_normalization(powers)
        lines = [gamma(i + 0.5) / (2 * exponents) ** (i + 0.5) for i in powers]
        assert norms**2 * np.prod(lines, axis=0) == pytest.approx(np.ones(3), rel=1e-12)


def test_numbers_of_components():
    assert [n_components(l, pure=False) for l in range(5)] == [1, 3, 6, 10, 15]
    assert [n_components(l, pure=True) for l in range(5)] == [1, 3, 5, 7, 9]
