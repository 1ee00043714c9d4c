"""Surfaces as numbers, against spheres."""

import numpy as np
import pytest
from scipy.optimize import brentq

import orbitile as ob
from orbitile.analysis.surface_statistics import (
    atom_of_points,
    measured_surface,
    sampled_by_sign,
    shares_of_atoms,
    statistics_of,
)
from orbitile.base.errors import Cancelled, OrbitileError
from orbitile.model.units import angstrom
from tests.analysis.samples import BENZENE, dihydrogen, hydrogen_atom


def _radius(wavefunction: ob.Wavefunction, isovalue: float) -> float:
    """Where the density of a lone atom at the origin has a value, without any mesh."""

    def above(radius: float) -> float:
        point = [[radius, 0.0, 0.0]]
        return float(ob.evaluate(wavefunction, "density", point, device="cpu", precision="double")[0]) - isovalue

    return float(brentq(above, 0.5, 8.0, xtol=1e-12))


def test_statistics_of_a_plane_of_two_values():
    values, weights = np.array([3.0, 1.0, -2.0]), np.array([1.0, 1.0, 2.0])
    found = statistics_of(weights, values)
    assert (found.area, found.mean, found.positive_mean, found.negative_mean) == (4.0, 0.0, 2.0, -2.0)
    assert (found.positive_variance, found.negative_variance, found.variance) == (1.0, 0.0, 4.5)
    assert (found.deviation, found.balance, found.least, found.most) == (2.0, 0.0, -2.0, 3.0)
    nothing = statistics_of(np.zeros(0), np.zeros(0))
    assert nothing.area == 0
    assert np.isnan(nothing.mean)


def test_points_go_with_the_nearest_sphere():
    wavefunction = ob.load(BENZENE)
    carbon, hydrogen = wavefunction.positions[0], wavefunction.positions[6:]
    near = int(np.argmin(np.linalg.norm(hydrogen - carbon, axis=1))) + 6
    along = wavefunction.positions[near] - carbon
    points = carbon + np.array([[0.6], [0.72], [1.5]]) * along
    assert atom_of_points(wavefunction, points).tolist() == [0, near, near]


@pytest.mark.slow
@pytest.mark.parametrize("spacing", [0.7, 0.47])
def test_a_round_atom(spacing):
    wavefunction = hydrogen_atom()
    radius = _radius(wavefunction, 0.001)
    measured = measured_surface(wavefunction, spacing=spacing, device="cpu")
    within = 1e-4 * (spacing / 0.47) ** 4
    assert measured.area == pytest.approx(4 * np.pi * radius**2, rel=within)
    assert measured.volume == pytest.approx(4 / 3 * np.pi * radius**3, rel=2 * within)
    assert measured.volume_by_flux == pytest.approx(measured.volume, rel=2 * within)
    assert measured.vector_area < 1e-4
    assert measured.is_whole
    assert measured.n_lost == 0
    # one component of the gradient goes with the cosine of an angle
    slope = ob.evaluate(wavefunction, "gradient:x", measured.points, device="cpu").astype(float)
    by_sign = sampled_by_sign(measured, slope)
    found, steepest = statistics_of(measured.weights, slope, by_sign), np.abs(slope).max()
    assert by_sign[0].sum() == pytest.approx(measured.area)
    assert found.mean == pytest.approx(0, abs=1e-5 * steepest)
    assert found.variance == pytest.approx(steepest**2 / 3, rel=2e-3)
    assert found.positive_mean == pytest.approx(steepest / 2, rel=5e-3)
    assert found.positive_variance == pytest.approx(steepest**2 / 12, rel=2e-2)
    assert found.deviation == pytest.approx(steepest / 2, rel=5e-3)
    assert found.balance == pytest.approx(0.25, abs=1e-3)


@pytest.mark.slow
def test_errors_fall_with_the_fourth_power():
    wavefunction = hydrogen_atom()
    area = 4 * np.pi * _radius(wavefunction, 0.002) ** 2
    far, near = (
        abs(measured_surface(wavefunction, "density", 0.002, spacing=h, device="cpu").area - area) for h in (0.6, 0.3)
    )
    assert near < far / 10


@pytest.mark.slow
def test_equivalent_atoms_have_equal_areas():
    wavefunction = ob.load(BENZENE)
    measured = measured_surface(wavefunction, spacing=0.4, device="cpu")
    shares = shares_of_atoms(wavefunction, measured)
    assert np.asarray(shares.sum(axis=1)).ravel() == pytest.approx(1)
    areas = np.asarray(shares.T @ measured.weights).ravel()
    assert areas.sum() == pytest.approx(measured.area)
    for equivalent in (areas[:6], areas[6:]):
        assert np.ptp(equivalent) < 0.02 * equivalent.mean()


@pytest.mark.slow
def test_surface_of_benzene():
    """V_S,min and V_S,max, and the area, in the neighbourhood of what B3LYP/6-31G* gives (Bulat et al. 2010)."""
    report = ob.analyse(ob.load(BENZENE), "surface", fragments="ring=1-6", device="cpu")
    assert all(closure.holds for table in report.tables for closure in table.closures)
    whole = dict(zip(report.table("surface")["quantity"], report.table("surface")["customary"], strict=True))
    assert 115 < whole["area"] < 135
    extrema = report.table("extrema_esp")
    highest = extrema["value"][extrema["kind"] == "maximum"].max()
    assert highest == pytest.approx(report.table("esp")["customary"][2], abs=0.1)
    assert np.unique(extrema["atom"][extrema["value"] > 10]).tolist() == [7, 8, 9, 10, 11, 12]
    lowest = report.table("extrema_ionisation")
    above = lowest["z"][(lowest["kind"] == "minimum") & (lowest["value"] < 12)]
    assert len(above) == 12, "each carbon is easily ionised above and below the ring"
    assert report.table("fragments")["area"].sum() == pytest.approx(report.table("atoms")["area"].sum())
    assert {drawing.name for drawing in report.drawings} >= {"esp_maximum", "esp_minimum"}
    position = np.array(report.table("extrema_esp").places[0]) / angstrom
    assert position == pytest.approx([extrema[axis][0] for axis in "xyz"])


@pytest.mark.slow
def test_surfaces_of_what_is_odd():
    atom = ob.analyse(hydrogen_atom(), "surface", device="cpu")
    assert len(atom.table("extrema_esp")) == 0
    assert "the same everywhere" in " ".join(atom.remarks)
    orbital = ob.analyse(dihydrogen(), "surface", surface="lumo", fields="esp", device="cpu")
    assert all(closure.holds for table in orbital.tables for closure in table.closures)
    areas = orbital.table("atoms")["area"]
    assert areas[0] == pytest.approx(areas[1], rel=1e-3)


def test_a_surface_can_be_cancelled():
    with pytest.raises(Cancelled):
        ob.analyse(hydrogen_atom(), "surface", device="cpu", cancelled=lambda: True)


def test_what_is_large_is_told_of():
    from orbitile.analysis.reports import surface, values_of

    wavefunction = ob.load(BENZENE)
    assert surface.warning(wavefunction, **values_of("surface", {})) == ""
    assert "12 atoms takes about" in surface.warning(wavefunction, **values_of("surface", {"spacing": 0.05}))


def test_what_is_wrong_is_said():
    with pytest.raises(OrbitileError, match="there is no 'nonsense'"):
        ob.analyse(hydrogen_atom(), "surface", fields="nonsense", device="cpu")
