"""What a tunnelling microscope sees: windows of energies, tips, and heights at constant current."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FieldError, OrbitileError

POINTS = np.random.default_rng(3).normal(size=(30, 3)) * 3 + (0, 0, 4)


def values(wavefunction, name, points=POINTS):
    return ob.evaluate(wavefunction, name, points, precision="double")


def test_it_is_the_sum_of_the_orbitals_in_the_window(benzene):
    """The HOMO of benzene is a pair, and so is the LUMO."""
    pair = 2 * (values(benzene, "homo") ** 2 + values(benzene, "homo-1") ** 2)
    np.testing.assert_allclose(values(benzene, "stm:-0.1"), pair, atol=1e-12)
    pair = 2 * (values(benzene, "lumo") ** 2 + values(benzene, "lumo+1") ** 2)
    np.testing.assert_allclose(values(benzene, "stm:0.1"), pair, atol=1e-12)
    energies = benzene.alpha.energies * 27.211386
    middle = (energies[20] + energies[21]) / 2
    named = values(benzene, f"stm:{energies[20] - middle - 0.1:.3f}@{middle:.3f}")
    np.testing.assert_allclose(named, values(benzene, "stm:-0.1"), atol=1e-12)


def test_p_waves_see_derivatives(benzene):
    step = 1e-4

    def slope(name, axis):
        shift = step * np.eye(3)[axis]
        return (values(benzene, name, POINTS + shift) - values(benzene, name, POINTS - shift)) / (2 * step)

    expected = 2 * sum(slope(name, axis) ** 2 for name in ("homo", "homo-1") for axis in (0, 1))
    np.testing.assert_allclose(values(benzene, "stm:-0.1:xy"), expected, atol=1e-8)


def test_the_tip_follows_the_isosurface(benzene):
    plane = ob.plane_through(benzene, spacing=1.0)
    heights = ob.topograph(benzene, "stm:-1", plane, 1e-5)
    there = heights.values.ravel() > 0
    places = plane.points + np.outer(heights.values.ravel() * 1.8897261, np.cross(plane.right, plane.up))
    np.testing.assert_allclose(values(benzene, "stm:-1", places[there]), 1e-5, rtol=1e-3)
    assert (values(benzene, "stm:-1", places[~there]) < 1e-5).all()
    assert 0.3 < there.mean() < 0.95
    above = ob.plane_through(benzene, spacing=1.0, height=3.0)
    np.testing.assert_allclose(above.origin - plane.origin, 3 * np.cross(plane.right, plane.up), atol=1e-12)
    with pytest.raises(OrbitileError, match="below 1000 everywhere"):
        ob.topograph(benzene, "stm:-1", plane, 1e3)


def test_what_is_not_there_is_refused(benzene):
    with pytest.raises(FieldError, match=r"no orbital of the file is at 99\.99 to 100\.00 eV"):
        values(benzene, "stm:-0.01@100")
