"""Turned basis functions, against the same functions at turned points."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from orbitile.gaussians.rotation import rotation_of_monomials, rotation_of_shell
from orbitile.model.conventions import angular_normalization, cartesian_powers, pure_from_cartesian

POINTS = np.random.default_rng(4).normal(size=(40, 3))
TURN = Rotation.from_euler("xyz", (0.3, -1.1, 2.0)).as_matrix()


def monomials(l, points):
    return np.stack([np.prod(points ** np.array(powers), axis=1) for powers in cartesian_powers(l)], axis=1)


def components(l, pure, points):
    norms = np.array([angular_normalization(powers) for powers in cartesian_powers(l)])
    cartesian = monomials(l, points) * norms
    return cartesian @ pure_from_cartesian(l).T if pure else cartesian


@pytest.mark.parametrize("degree", range(7))
def test_monomials(degree):
    matrix = rotation_of_monomials(degree, TURN.tobytes())
    np.testing.assert_allclose(monomials(degree, POINTS) @ matrix, monomials(degree, POINTS @ TURN), atol=1e-10)


@pytest.mark.parametrize(("l", "pure"), [*((l, False) for l in range(7)), *((l, True) for l in range(2, 7))])
def test_a_turned_function_at_r_is_the_function_at_the_place_turned_back(l, pure):
    block = rotation_of_shell(l, pure, TURN.tobytes())
    np.testing.assert_allclose(components(l, pure, POINTS) @ block, components(l, pure, POINTS @ TURN), atol=1e-9)
    back = rotation_of_shell(l, pure, np.ascontiguousarray(TURN.T).tobytes())
    np.testing.assert_allclose(back @ block, np.eye(len(block)), atol=1e-12)
    if pure:  # functions of one norm, at right angles to each other
        np.testing.assert_allclose(block @ block.T, np.eye(len(block)), atol=1e-12)
