"""Solid harmonics give the potential of charges about an origin, far from it."""

import numpy as np
import pytest

from taichi_kernels.session import session
from taichi_kernels.solid_harmonics import harmonic_series, harmonic_sums, harmonics_count, regular_harmonics
from taichi_kernels.target import Target

ORDER = 24


@pytest.mark.parametrize("n", [1, 7, 3000])
def test_sums_and_series_are_the_potential_of_charges(n):
    """1 / |r - r'| is a sum of products of harmonics of r and of r'."""
    target = Target("cpu", "double")
    generator = np.random.default_rng(3)
    near = generator.uniform(-1, 1, (5, 3))
    far = generator.normal(size=(n, 3))
    far *= generator.uniform(6, 9, (n, 1)) / np.linalg.norm(far, axis=1, keepdims=True)
    charges = generator.uniform(-1, 1, n)
    inverse = 1 / np.linalg.norm(near[:, None] - far, axis=2)
    with session("cpu", "double"):
        regular = regular_harmonics(near, ORDER, target)
        assert regular.shape == (harmonics_count(ORDER), 5)
        np.testing.assert_allclose(
            harmonic_sums(far, charges, ORDER, target) @ regular, inverse @ charges, atol=1e-11 * n
        )
        np.testing.assert_allclose(harmonic_series(far, regular[:, :4], ORDER, target), inverse[:4].T, atol=1e-11)
