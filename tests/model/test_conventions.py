"""The conventions page, checked against mathematics and against an independent table."""

import numpy as np
import pytest
from iodata.convert import HORTON2_CONVENTIONS
from iodata.overlap_cartpure import tfs

from orbitile.model.conventions import (
    angular_normalization,
    cartesian_powers,
    component_names,
    n_components,
    pure_from_cartesian,
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


def test_numbers_of_components():
    assert [n_components(l, pure=False) for l in range(5)] == [1, 3, 6, 10, 15]
    assert [n_components(l, pure=True) for l in range(5)] == [1, 3, 5, 7, 9]
