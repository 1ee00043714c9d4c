"""Both kernels against the plain oracle: every device, precision, angular momentum and kind of lattice."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import orbitile as ob
from tests.conftest import random_wavefunction
from tests.oracle import orbital

LIMIT = {"single": 2e-6, "double": 1e-12}
"""Largest error as a share of the largest value."""

FRAME = Rotation.from_euler("xyz", [20, 40, 60], degrees=True).as_matrix()
LATTICES = {
    "orthogonal": ob.Lattice([-5.0, -5.5, -6.0], np.diag([0.7, 0.6, 0.5]), (15, 19, 23)),
    "one point": ob.Lattice([0.3, 0.2, 0.1], np.eye(3), (1, 1, 1)),
    "negative step": ob.Lattice([5.0, -5.5, -6.0], np.diag([-0.7, 0.6, 0.5]), (15, 9, 40)),
    "axes permuted": ob.Lattice([-5.0, -5.0, -5.0], np.eye(3)[[2, 0, 1]] * 0.6, (17, 18, 19)),
    "rotated": ob.Lattice([-4.0, -6.0, -3.0], FRAME * 0.55, (17, 18, 16)),
    "skewed": ob.Lattice([-4.0, -4.0, -4.0], [[0.6, 0, 0], [0.1, 0.5, 0], [0.0, 0.2, 0.6]], (13, 14, 15)),
}


def errors(values: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(values - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("name", LATTICES)
def test_lattices_of_every_kind(device, precision, name):
    wavefunction, lattice = random_wavefunction(1), LATTICES[name]
    volume = ob.compute(wavefunction, "mo:2", lattice, device=device, precision=precision)
    expected = orbital(wavefunction, 1, lattice.points()).reshape(lattice.shape)
    assert volume.values.dtype == {"single": np.float32, "double": np.float64}[precision]
    assert errors(volume.values, expected) < LIMIT[precision] * (10 if name == "one point" else 1)


@pytest.mark.parametrize(
    "momentum",
    [
        4,
        pytest.param(8, marks=pytest.mark.slow_on("vulkan")),
        *(pytest.param(momentum, marks=pytest.mark.slow) for momentum in (0, 1, 2, 3, 5, 6, 7)),
    ],
)
def test_every_angular_momentum(device, precision, momentum):
    wavefunction = random_wavefunction(momentum, momenta=(momentum,), n_atoms=2)
    lattice = LATTICES["orthogonal"]
    expected = orbital(wavefunction, 0, lattice.points())
    volume = ob.compute(wavefunction, "mo:1", lattice, device=device, precision=precision)
    assert errors(volume.values.ravel(), expected) < LIMIT[precision]
    values = ob.evaluate(wavefunction, "mo:1", lattice.points(), device=device, precision=precision)
    assert errors(values, expected) < LIMIT[precision]


@pytest.mark.slow_on("vulkan")
def test_all_angular_momenta_in_one_basis(device, precision):
    wavefunction = random_wavefunction(11, momenta=tuple(range(9)), n_primitives=2)
    points = np.random.default_rng(0).normal(size=(500, 3)) * 2
    expected = orbital(wavefunction, 1, points)
    assert (
        errors(ob.evaluate(wavefunction, "mo:2", points, device=device, precision=precision), expected)
        < LIMIT[precision]
    )
    lattice = LATTICES["rotated"]
    volume = ob.compute(wavefunction, "mo:2", lattice, device=device, precision=precision)
    expected = orbital(wavefunction, 1, lattice.points()).reshape(lattice.shape)
    assert errors(volume.values, expected) < LIMIT[precision]


def test_a_contraction_of_a_hundred_primitives(device, precision):
    rng = np.random.default_rng(5)
    shells = [ob.Shell(0, l, False, np.geomspace(1e-1, 1e4, 100), rng.normal(size=100)) for l in (0, 1, 2)]
    wavefunction = ob.Wavefunction([36], [[0, 0, 0]], shells, ob.Orbitals(rng.normal(size=(10, 1)), [2.0]))
    points = rng.normal(size=(400, 3)) * np.geomspace(1e-3, 3, 400)[:, None]
    expected = orbital(wavefunction, 0, points)
    assert (
        errors(ob.evaluate(wavefunction, "homo", points, device=device, precision=precision), expected)
        < LIMIT[precision]
    )
    lattice = ob.Lattice([-0.5, -0.4, -0.3], np.eye(3) * 0.05, (20, 18, 17))
    volume = ob.compute(wavefunction, "homo", lattice, device=device, precision=precision)
    assert errors(volume.values.ravel(), orbital(wavefunction, 0, lattice.points())) < LIMIT[precision]


def test_a_molecule_far_from_the_origin_is_as_exact(device):
    far = random_wavefunction(2, at=(900.0, -700.0, 500.0))
    points = far.positions.mean(axis=0) + np.random.default_rng(3).normal(size=(300, 3)) * 2
    assert errors(ob.evaluate(far, "mo:1", points, device=device), orbital(far, 0, points)) < LIMIT["single"]
    lattice = ob.Lattice(far.positions.mean(axis=0) - 4, np.eye(3) * 0.5, (17, 17, 17))
    volume = ob.compute(far, "mo:1", lattice, device=device)
    assert errors(volume.values.ravel(), orbital(far, 0, lattice.points())) < LIMIT["single"]


def test_sums_that_cancel_stay_exact_in_single_precision():
    """Two nearly equal diffuse functions with large opposite coefficients."""
    shells = [ob.Shell(0, 0, False, [0.05], [1.0]), ob.Shell(0, 0, False, [0.0501], [1.0])]
    wavefunction = ob.Wavefunction([1], [[0, 0, 0]], shells, ob.Orbitals([[1000.0], [-1000.0]], [1.0]))
    lattice = ob.Lattice.around(wavefunction, 0.5, 6.0)
    expected = orbital(wavefunction, 0, lattice.points()).reshape(lattice.shape)
    assert errors(ob.compute(wavefunction, "homo", lattice, device="cpu").values, expected) < LIMIT["single"]
    values = ob.evaluate(wavefunction, "homo", lattice.points(), device="cpu")
    assert errors(values.reshape(lattice.shape), expected) < LIMIT["single"]


def test_values_do_not_depend_on_slabs(device, monkeypatch):
    wavefunction = random_wavefunction(4)
    lattice = ob.Lattice([-6.0, -5.5, -6.0], np.eye(3) * 0.3, (41, 37, 35))
    at_once = ob.compute(wavefunction, "homo", lattice, device=device).values
    monkeypatch.setattr("orbitile.evaluation.slabs.SLAB_POINTS", 1)
    shares: list[float] = []
    in_slabs = ob.compute(wavefunction, "homo", lattice, device=device, progress=shares.append).values
    assert np.array_equal(at_once, in_slabs)
    assert len(shares) == 6
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_screening_keeps_its_bound():
    """Many small terms are dropped on a wide lattice; together they stay below the tolerance."""
    from orbitile.gaussians.kernels._tolerances import tolerances

    wavefunction = random_wavefunction(6, n_atoms=12)
    lattice = ob.Lattice([-12.0, -12.0, -12.0], np.eye(3) * 0.75, (33, 33, 33))
    volume = ob.compute(wavefunction, "homo", lattice, device="cpu", precision="double")
    expected = orbital(wavefunction, 0, lattice.points()).reshape(lattice.shape)
    difference = np.abs(volume.values - expected)
    assert difference.max() / np.abs(expected).max() < 2 * tolerances(np.dtype(np.float64)).orbital
    assert np.any(volume.values == 0)  # or nothing would have been screened


def test_the_square_integrates_to_one(device, benzene):
    for name, spacing in (("homo", 0.25), ("lumo", 0.25), ("mo:7", 0.12)):
        lattice = ob.enclosing_lattice(benzene, name, 1e-4, spacing=spacing)
        volume = ob.compute(benzene, name, lattice, device=device)
        assert (volume.values.astype(float) ** 2).sum() * lattice.cell_volume == pytest.approx(1, abs=1e-3)


def test_values_can_stay_on_the_device(device, precision, benzene):
    lattice = ob.Lattice.around(benzene, 0.8, 3.0)
    left = ob.compute_on_device(benzene, "homo", lattice, device=device, precision=precision).to_numpy()
    assert np.array_equal(left, ob.compute(benzene, "homo", lattice, device=device, precision=precision).values)


@pytest.mark.slow_on("vulkan")
def test_values_of_formulas_can_stay_on_the_device(device, benzene):
    lattice = ob.Lattice.around(benzene, 0.8, 3.0)
    left = ob.compute_on_device(benzene, "elf", lattice, device=device).to_numpy()
    assert np.array_equal(left, ob.compute(benzene, "elf", lattice, device=device).values)


def test_cancelling_stops_at_the_next_slab(benzene, monkeypatch):
    monkeypatch.setattr("orbitile.evaluation.slabs.SLAB_POINTS", 1)
    lattice = ob.Lattice.around(benzene, 0.5, 3.0)
    calls = []

    def cancelled() -> bool:
        calls.append(1)
        return len(calls) > 2

    with pytest.raises(ob.OrbitileError, match="cancelled"):
        ob.compute(benzene, "homo", lattice, device="cpu", cancelled=cancelled)
    assert len(calls) == 3
