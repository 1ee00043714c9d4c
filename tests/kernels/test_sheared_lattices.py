"""Lattices of which one axis is at right angles to the other two, by the separable kernel, against the oracle."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import orbitile as ob
from orbitile.evaluation.requests import field_of
from orbitile.evaluation.slabs import _direct, slabs_of
from taichi_kernels.session import session
from taichi_kernels.target import Target
from tests.conftest import random_wavefunction
from tests.oracle import orbital

LIMIT = {"single": 2e-6, "double": 1e-12}
FRAME = Rotation.from_euler("xyz", [20, 40, 60], degrees=True).as_matrix()
AXES = {
    "hexagonal": np.array([[0.6, 0, 0], [-0.3, 0.3 * 3**0.5, 0], [0, 0, 0.5]]),
    "monoclinic": np.array([[0.5, 0, 0], [0, 0.6, 0], [-0.2, 0, 0.55]]),
    "orthogonal axis first": np.array([[0.5, 0, 0], [0, 0.6, 0], [0, 0.7, 0.55]]),
    "turned, left-handed": np.array([[0.5, 0, 0], [0.35, -0.4, 0], [0, 0, 0.6]]) @ FRAME,
}
SHAPE = (19, 21, 23)


def lattice_with(axes: np.ndarray, at: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> ob.Lattice:
    return ob.Lattice(np.asarray(at) - (np.array(SHAPE) - 1) / 2 @ axes, axes, SHAPE)


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize("name", AXES)
def test_against_the_oracle(device, precision, name):
    wavefunction, lattice = random_wavefunction(1), lattice_with(AXES[name])
    assert field_of(wavefunction, "mo:2").on_slabs(lattice, Target("cpu", precision)) is not None
    expected = orbital(wavefunction, 1, lattice.points()).reshape(lattice.shape)
    values = ob.compute(wavefunction, "mo:2", lattice, device=device, precision=precision).values
    assert np.abs(values - expected).max() < LIMIT[precision] * np.abs(expected).max()


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("momentum", range(0, 9, 2))
def test_tight_and_diffuse_functions_of_every_angular_momentum(momentum, precision):
    rng = np.random.default_rng(momentum)
    shells = [ob.Shell(atom, momentum, True, np.geomspace(0.05, 2000, 9), rng.normal(size=9)) for atom in (0, 1)]
    n_basis = sum(shell.n_functions for shell in shells)
    wavefunction = ob.Wavefunction(
        [6, 6], [[0, 0, 0], [1.0, 0.5, 0.3]], shells, ob.Orbitals(rng.normal(size=(n_basis, 1)), [2.0])
    )
    lattice = lattice_with(AXES["hexagonal"] / 4)
    expected = orbital(wavefunction, 0, lattice.points()).reshape(lattice.shape)
    values = ob.compute(wavefunction, "homo", lattice, device="cpu", precision=precision).values
    assert np.abs(values - expected).max() < LIMIT[precision] * np.abs(expected).max()


def test_far_from_the_origin_and_across_many_cells():
    """Shifts of many whole steps, as on a long lattice, cost no digits."""
    far = random_wavefunction(2, at=(900.0, -700.0, 500.0))
    axes, shape = np.array([[0.3, 1.7, 0], [0, 0.5, 0], [0, 0, 0.5]]), (1200, 17, 17)
    lattice = ob.Lattice(far.positions.mean(axis=0) - [1194, 8, 8] @ axes, axes, shape)
    values = ob.compute(far, "mo:1", lattice, device="cpu").values[1184:]
    expected = orbital(far, 0, lattice.points(1184)).reshape(values.shape)
    assert np.abs(expected).max() > 0.05
    assert np.abs(values - expected).max() < LIMIT["single"] * np.abs(expected).max()


def test_screening_keeps_its_bound():
    """Double precision: rounding is far below what screening may leave out, and does leave out."""
    from orbitile.gaussians.kernels._tolerances import tolerances

    wavefunction = random_wavefunction(6, n_atoms=12)
    axes = np.array([[0.75, 0, 0], [0.4, 0.65, 0], [0, 0, 0.75]])
    lattice = ob.Lattice(-16 * axes.sum(axis=0), axes, (33, 33, 33))
    values = ob.compute(wavefunction, "homo", lattice, device="cpu", precision="double").values
    expected = orbital(wavefunction, 0, lattice.points()).reshape(lattice.shape)
    assert np.abs(values - expected).max() < 2 * tolerances(np.dtype(np.float64)).orbital * np.abs(expected).max()
    assert np.any(values == 0)


@pytest.mark.parametrize("sheared", [True, False])
@pytest.mark.parametrize("axis", range(3))
def test_atoms_beside_the_lattice_reach_it(axis, sheared, monkeypatch):
    monkeypatch.setattr("orbitile.gaussians.kernels._sums.MANY", 0)
    wavefunction = random_wavefunction(6, n_atoms=12)
    axes = np.array([[0.5, 0, 0], [0.2 * sheared, 0.5, 0], [0, 0, 0.5]])
    beside = wavefunction.positions.max(axis=0) + 2.5
    origin = np.where(np.arange(3) == axis, beside, wavefunction.positions.mean(axis=0) - 2)
    lattice = ob.Lattice(origin, axes, (9, 9, 9))
    expected = orbital(wavefunction, 0, lattice.points()).reshape(lattice.shape)
    values = ob.compute(wavefunction, "homo", lattice, device="cpu").values
    assert np.abs(expected).max() > 1e-3
    assert np.abs(values - expected).max() < 1e-6


@pytest.mark.parametrize("field", ["density", "elf", "laplacian"])
@pytest.mark.parametrize("name", ["hexagonal", "orthogonal axis first"])
def test_densities_agree_with_the_direct_kernel(field, name, benzene):
    lattice = lattice_with(AXES[name])
    values = ob.compute(benzene, field, lattice, device="cpu", precision="double").values
    with session("cpu", "double"):
        # the path that such lattices do not take any more, as a reference
        direct = _direct(field_of(benzene, field).at_points(Target("cpu", "double")), lattice)
        expected = np.empty(lattice.shape)
        for start, stop in direct.cuts:
            direct.fill(start, stop, expected[start:stop])
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", AXES)
def test_values_do_not_depend_on_the_memory_for_tables(name, device, monkeypatch):
    wavefunction, lattice = random_wavefunction(4), lattice_with(AXES[name])
    at_once = ob.compute(wavefunction, "mo:1", lattice, device=device).values
    monkeypatch.setattr("orbitile.gaussians.kernels._sums._SHEARED_BYTES", 1)  # a limit that a small lattice exceeds
    assert np.array_equal(ob.compute(wavefunction, "mo:1", lattice, device=device).values, at_once)


def test_triclinic_lattices_take_the_direct_kernel():
    axes = np.array([[0.6, 0, 0], [0.1, 0.5, 0], [0.0, 0.2, 0.6]])
    wavefunction, lattice = random_wavefunction(1), lattice_with(axes)
    assert field_of(wavefunction, "density").on_slabs(lattice, Target("cpu", "single")) is None
    with pytest.raises(ob.OrbitileError, match="got a skewed one"):
        ob.compute(wavefunction, "mo:1", lattice, device="cpu", kernel="separable")
    with session("cpu") as name:
        assert (
            slabs_of(wavefunction, field_of(wavefunction, "mo:1"), lattice, Target(name, "single")).cuts[-1][1]
            == SHAPE[0]
        )
    expected = orbital(wavefunction, 0, lattice.points()).reshape(lattice.shape)
    values = ob.compute(wavefunction, "mo:1", lattice, device="cpu").values
    assert np.abs(values - expected).max() < LIMIT["single"] * np.abs(expected).max()
