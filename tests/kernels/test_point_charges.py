"""The potential of given charges, on every device."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.evaluation.devices import device_session
from orbitile.evaluation.points import potential_of_charges
from orbitile.gaussians.kernels._charges import potential_at, potential_near_and_far
from orbitile.model.units import angstrom
from orbitile.model.volume import PointCharges, charges_of_density
from orbitile.readers import load_charges
from taichi_kernels.charge_mesh import mesh_of, potential_by_mesh, spacing_for
from taichi_kernels.target import Target
from tests.conftest import random_wavefunction

LIMIT = {"single": 3e-7, "double": 1e-13}


def direct(charges, points):
    distances = np.linalg.norm(points[:, None] - charges.positions, axis=2)
    return (charges.charges / distances).sum(axis=1), (np.abs(charges.charges) / distances).sum(axis=1)


@pytest.mark.parametrize(("n_charges", "n_points"), [(1, 1), (17, 3), (5000, 40), (300, 3000)])
def test_direct_sum(device, precision, n_charges, n_points):
    rng = np.random.default_rng(n_charges)
    shift = np.array([500.0, -300, 200])
    charges = PointCharges(rng.normal(size=(n_charges, 3)) * 10 + shift, rng.normal(size=n_charges))
    points = rng.normal(size=(n_points, 3)) * 10 + shift
    expected, scale = direct(charges, points)
    values = potential_of_charges(charges, points, device=device, precision=precision)
    assert np.all(np.abs(values - expected) < LIMIT[precision] * scale)
    again = potential_of_charges(charges, points[:1], device=device, precision=precision)
    assert np.abs(again[0] - expected[0]) < LIMIT[precision] * scale[0]


def test_far_charges_by_a_mesh():
    """Also at points that it does not reach, and with charges in one place."""
    rng = np.random.default_rng(3)
    places = np.concatenate([rng.uniform(-60, 60, (9000, 3)), np.tile([[300.0, 40, 5]], (9000, 1))])
    charges = PointCharges(places, rng.normal(size=18000) * 0.3)
    points = np.concatenate([rng.uniform(-70, 70, (300, 3)), [[400, 0, 0], [0, 0, -90], [303, 41, 5]], places[:2]])
    single, double = Target("cpu", "single"), Target("cpu", "double")
    with device_session("cpu", "single"):
        assert spacing_for(places) > 0
        found, expected = potential_near_and_far(charges, points, single), potential_at(charges, points, double)
        assert np.abs(found - expected)[:-2].max() < 5e-5
        assert found[-2:] == pytest.approx(expected[-2:], rel=1e-5)  # at charges


def test_the_error_of_a_mesh_is_bounded_for_each_charge():
    rng = np.random.default_rng(4)
    points, worst = rng.uniform(-16, 16, (2000, 3)), 0.0
    with device_session("cpu", "single"):
        for place in rng.uniform(-0.5, 0.5, (12, 3)):
            mesh = mesh_of(place[None], np.ones(1), 0.0, 1.0)
            exact = 1 / np.linalg.norm(points - place, axis=1)
            error = np.abs(potential_by_mesh(points, mesh) - exact)
            worst = max(worst, float((error - 5e-7 * exact).max()))
    assert 1e-6 < worst < 4e-5 / 8  # the near part ends at eight spacings


def test_inside_a_charged_ball(device):
    ball = PointCharges(np.zeros((1, 3)), [2.0], radius=0.5)
    points = np.array([[0, 0, 0], [0.25, 0, 0], [0.5, 0, 0], [0, 2.0, 0]])
    expected = [2 * 1.5 / 0.5, 2 * (3 - 0.25) / (2 * 0.5), 2 / 0.5, 1.0]
    assert potential_of_charges(ball, points, device=device, precision="double") == pytest.approx(expected)


def test_a_density_on_a_lattice_has_the_potential_of_its_wavefunction():
    wavefunction = random_wavefunction(1, (0, 1))  # without cusps
    lattice = ob.Lattice.around(wavefunction, 0.15, 8.0)
    density = ob.compute(wavefunction, "density", lattice, device="cpu", precision="double")
    nuclei = PointCharges(wavefunction.positions, wavefunction.core_charges)
    points = wavefunction.positions + np.array([[1.1, 0.3, -0.6], [-0.8, 0.9, 0.7], [0.1, -1.2, 0.5]])
    expected = ob.evaluate(wavefunction, "esp", points, device="cpu", precision="double")
    electrons = potential_of_charges(charges_of_density(density), points, device="cpu", precision="double")
    values = electrons + potential_of_charges(nuclei, points, device="cpu", precision="double")
    assert values == pytest.approx(expected, abs=2e-4)


def test_files(tmp_path):
    pqr = tmp_path / "m.pqr"
    pqr.write_text(
        "REMARK  made up\nATOM      1  N   ALA A   1      1.000   2.000  -3.000  0.1414 1.8240\n"
        "HETATM    2  O   HOH     2      0.500   0.000   0.250 -0.8340 1.6612\nEND\n"
    )
    charges = load_charges(pqr)
    assert charges.positions / angstrom == pytest.approx(np.array([[1, 2, -3], [0.5, 0, 0.25]]))
    assert charges.charges == pytest.approx([0.1414, -0.834])
    plain = tmp_path / "m.xyzq"
    plain.write_text("# x y z q\n1 2 -3 0.1414\n0.5 0 0.25 -0.834\n")
    assert load_charges(plain).charges == pytest.approx(charges.charges)


@pytest.mark.parametrize(
    ("text", "message"),
    [("1 2 3\n", "line 1: expected x y z"), ("1 2 3 nan\n", "line 1"), ("a b c d\n", "line 1"), ("\n", "no charges")],
)
def test_damaged_files(tmp_path, text, message):
    path = tmp_path / "m.xyzq"
    path.write_text(text)
    with pytest.raises(ob.errors.OrbitileError, match=message):
        load_charges(path)


def test_wrong_arguments():
    with pytest.raises(ob.errors.OrbitileError, match="shape"):
        PointCharges(np.zeros((2, 3)), [1.0])
    with pytest.raises(ob.errors.OrbitileError, match="finite"):
        PointCharges([[np.nan, 0, 0]], [1.0])
    with pytest.raises(ob.errors.OrbitileError, match="single or double"):
        potential_of_charges(PointCharges(np.zeros((1, 3)), [1.0]), [[1.0, 0, 0]], precision="half")


def test_charges_are_added_to_the_potential_of_a_molecule(benzene, tmp_path):
    path = tmp_path / "around.xyzq"
    path.write_text("3 0 0 0.5\n0 4 1 -0.25\n")
    points = benzene.positions[:4] + np.array([0.2, 0.3, 1.5])
    alone = ob.evaluate(benzene, "esp", points, device="cpu", precision="double")
    both = ob.evaluate(benzene, f"esp:{path}", points, device="cpu", precision="double")
    added, _ = direct(load_charges(path), points)
    assert both - alone == pytest.approx(added)
    with pytest.raises(ob.errors.OrbitileError, match="cannot be read"):
        ob.evaluate(benzene, "esp:/no/such.pqr", points)
