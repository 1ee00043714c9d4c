"""Streamlines: of fields whose streamlines are known, and of the ring current of benzene."""

import numpy as np
import pytest

from orbitile.analysis.currents import current_at, current_lines, is_diatropic, rings_of
from orbitile.analysis.streamlines import streamlines

Z = np.array([0.0, 0.0, 1.0])


def vortex(points):
    """Round the z axis, against the clock for who looks from above, of any strength."""
    return np.cross(Z, points) * (1 + points[:, :1] ** 2)


def test_lines_of_a_vortex_are_circles_that_close():
    seeds = np.array([[1.0, 0.0, 0.5], [0.0, 2.0, 0.0], [-1.5, 2.0, -1.0]])
    for line, seed in zip(streamlines(vortex, seeds), seeds, strict=True):
        assert line.is_closed
        np.testing.assert_array_equal(line.points[[0, -1]], [seed, seed])
        np.testing.assert_allclose(np.linalg.norm(line.points[:, :2], axis=1), np.hypot(*seed[:2]), atol=1e-5)
        np.testing.assert_allclose(line.points[:, 2], seed[2])
        assert not is_diatropic(line, Z)
        assert is_diatropic(line, -Z)


def test_the_error_is_of_fourth_order():
    """Of half a turn about the axis of a vortex: half the step, a sixteenth of the error."""
    errors = []
    for step in (0.4, 0.2):
        (line,) = streamlines(vortex, np.array([[1.0, 0.0, 0.0]]), step=step, longest=3.0)
        errors.append(np.abs(np.linalg.norm(line.points, axis=1) - 1).max())
    assert 10 < errors[0] / errors[1] < 40


def test_a_line_that_does_not_close_is_followed_both_ways_and_ends_where_the_field_is_weak():
    def field(points):  # along x, and gone beyond 3
        return np.stack([np.abs(points[:, 0]) < 3, 0 * points[:, 0], 0 * points[:, 0]], axis=1).astype(float)

    (line,) = streamlines(field, np.array([[1.0, 2.0, 0.0]]), weakest=0.5, step=0.25)
    assert not line.is_closed
    np.testing.assert_allclose(line.points[[0, -1], 0], [-3, 3], atol=0.26)
    assert np.all(np.diff(line.points[:, 0]) > 0)
    (helix,) = streamlines(lambda p: np.cross(Z, p) + Z, np.array([[1.0, 0.0, 0.0]]), longest=10.0)
    assert not helix.is_closed
    assert np.ptp(helix.points[:, 2]) == pytest.approx(20 / np.sqrt(2), rel=0.02)


def test_no_seed_gives_no_line():
    assert streamlines(vortex, np.zeros((0, 3))) == []


@pytest.mark.slow
def test_the_pi_current_of_benzene_goes_around_its_ring():
    """1 bohr above the plane: clockwise for who looks against the field, outside and inside of the atoms."""
    from tests.fields.test_currents import converged

    angles = np.pi / 3 * np.arange(6)
    ring = np.array([np.cos(angles), np.sin(angles), 0 * angles]).T
    atoms = [*(("C", place) for place in 1.3915 * ring), *(("H", place) for place in 2.4765 * ring)]
    wavefunction, _ = converged(atoms, "6-31g*")
    pair = [("alpha", 19), ("alpha", 20)]  # the HOMO, which carries it
    (line,) = streamlines(current_at(wavefunction, Z, pair), np.array([[2.6, 0.0, 1.0]]))
    assert line.is_closed
    assert is_diatropic(line, Z)
    np.testing.assert_allclose(np.linalg.norm(line.points[:, :2], axis=1), 2.6, atol=0.3)
    np.testing.assert_allclose(line.points[:, 2], 1.0, atol=0.2)
    turned = np.unwrap(np.arctan2(line.points[:, 1], line.points[:, 0]))
    assert turned[-1] - turned[0] == pytest.approx(-2 * np.pi)
    lines = current_lines(wavefunction, rings_of(wavefunction), Z, 1.0, 6)
    around = [line for line in lines if np.linalg.norm(line.points.mean(axis=0)[:2]) < 0.5 and line.is_closed]
    assert {is_diatropic(line, Z) for line in around} == {True, False}  # inside the ring it is paratropic
