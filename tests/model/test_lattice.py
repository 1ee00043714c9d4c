"""Lattices, and boxes that are large enough."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.evaluation.slabs import require_lattice
from tests.conftest import random_wavefunction
from tests.oracle import orbital


def test_points_and_slabs():
    lattice = ob.Lattice([1, 2, 3], [[0.5, 0, 0], [0.1, 0.4, 0], [0, 0, -0.3]], (3, 4, 5))
    points = lattice.points().reshape(3, 4, 5, 3)
    assert points[2, 3, 4] == pytest.approx([1 + 1.0 + 0.3, 2 + 1.2, 3 - 1.2])
    assert lattice.points(1, 3) == pytest.approx(points[1:].reshape(-1, 3))
    assert lattice.slab(1, 3).points() == pytest.approx(points[1:].reshape(-1, 3))
    assert lattice.n_points == 60
    assert lattice.cell_volume == pytest.approx(0.5 * 0.4 * 0.3)
    assert not lattice.is_orthogonal


def test_around_encloses_every_atom_by_the_margin():
    wavefunction = random_wavefunction(1)
    lattice = ob.Lattice.around(wavefunction, 0.37, 4.0)
    last = lattice.points()[-1]
    assert np.all(lattice.origin <= wavefunction.positions.min(axis=0) - 4.0 + 1e-9)
    assert np.all(last >= wavefunction.positions.max(axis=0) + 4.0 - 1e-9)
    assert np.all(last - lattice.origin < np.ptp(wavefunction.positions, axis=0) + 8.0 + 2 * 0.37)


def test_lattices_by_number_of_points(benzene):
    assert max(ob.Lattice.around(benzene, points=80, margin=3.0).shape) == 80
    assert max(ob.enclosing_lattice(benzene, "homo", 0.02, points=64).shape) == 64
    for points in (1, 0, 2.5, "many"):
        with pytest.raises(ob.OrbitileError, match="points"):
            ob.Lattice.around(benzene, points=points)
    with pytest.raises(ob.OrbitileError, match="either"):
        ob.Lattice.around(benzene)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("isovalue", [0.1, 1e-2, 1e-4])
def test_an_enclosing_lattice_clips_nothing(seed, isovalue):
    """Nowhere on or outside its faces is the orbital as large as the isovalue."""
    wavefunction = random_wavefunction(seed, momenta=(0, 1, 2, 3), n_atoms=4)
    lattice = ob.enclosing_lattice(wavefunction, "homo", isovalue, spacing=0.5)
    low, high = lattice.points()[[0, -1]]
    rng = np.random.default_rng(seed)
    outside = rng.uniform(low - 6, high + 6, (20000, 3))
    outside = outside[np.any((outside < low) | (outside > high), axis=1)]
    faces = rng.uniform(low, high, (3000, 3))
    axis, side = np.arange(3000) % 3, np.arange(3000) // 3 % 2
    faces[np.arange(3000), axis] = np.where(side, low[axis], high[axis])
    points = np.vstack([outside, faces])
    assert np.abs(orbital(wavefunction, 0, points)).max() < isovalue


def test_an_enclosing_lattice_is_not_wasteful(benzene):
    """At 0.01 the orbital ends at most 2.5 bohr inside the box on each side."""
    lattice = ob.enclosing_lattice(benzene, "homo", 0.01, spacing=0.3)
    above = np.abs(ob.compute(benzene, "homo", lattice, device="cpu").values) >= 0.01
    for axis in range(3):
        planes = np.flatnonzero(above.any(axis=tuple({0, 1, 2} - {axis})))
        assert planes[0] * 0.3 < 2.5
        assert (lattice.shape[axis] - 1 - planes[-1]) * 0.3 < 2.5


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ob.Lattice([0, 0], np.eye(3), (2, 2, 2)), "origin"),
        (lambda: ob.Lattice([0, 0, 0], np.ones((3, 3)), (2, 2, 2)), "independent"),
        (lambda: ob.Lattice([0, 0, 0], np.eye(3), (2, 0, 2)), "shape"),
        (lambda: ob.Lattice([0, 0, np.nan], np.eye(3), (2, 2, 2)), "origin"),
        (lambda: ob.Lattice([0, 0, 0], np.eye(3), "abc"), "shape"),
        (lambda: ob.Lattice.box([0, 0, 0], [1, 1, 1], -0.1), "spacing"),
        (lambda: ob.Lattice.around(random_wavefunction(1), 0.2, float("nan")), "margin"),
    ],
)
def test_malformed_lattices_are_refused(make, words):
    with pytest.raises(ob.OrbitileError, match=words):
        make()


def test_a_lattice_that_cannot_fit_is_refused_before_allocation(benzene):
    lattice = ob.Lattice.around(benzene, 1e-4, 5.0)
    with pytest.raises(ob.OrbitileError, match=r"GB of memory.*would fit"):
        ob.compute(benzene, "homo", lattice)
    require_lattice(ob.Lattice.around(benzene, 0.5, 5.0), 8)
