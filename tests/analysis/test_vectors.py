"""Vectors in planes and profiles along lines, against integrals of PySCF and against the fields themselves."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.profiles import extrema, profile
from orbitile.analysis.vectors import VOLT_PER_ANGSTROM, gradient_at, plane_arrows, surface_arrows, vectors_at
from orbitile.base.errors import OrbitileError
from orbitile.model.units import angstrom
from orbitile.scf.engines.pyscf import wavefunction_of
from tests.molecules import solved

POINTS = np.random.default_rng(3).normal(size=(8, 3)) + np.array([3.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def pair():
    """Water in the plane x = 0, and PySCF's object."""
    field = solved("O 0 0 0.117; H 0 0.757 -0.469; H 0 -0.757 -0.469", "6-31g")
    return wavefunction_of(field.mol, field.mo_coeff, field.mo_occ, field.mo_energy), field


def test_the_electric_field_is_that_of_pyscf(pair):
    wavefunction, field = pair
    molecule, density = field.mol, field.make_rdm1()
    expected = []
    for point in POINTS:
        away = point - molecule.atom_coords()
        of_nuclei = (molecule.atom_charges() / np.linalg.norm(away, axis=1) ** 3) @ away
        with molecule.with_rinv_origin(point):
            of_electrons = 2 * np.einsum("xij,ij->x", molecule.intor("int1e_iprinv"), density)
        expected.append(of_nuclei + of_electrons)
    found, quantity, unit = vectors_at(wavefunction, "esp", POINTS)
    np.testing.assert_allclose(found * VOLT_PER_ANGSTROM, expected, atol=2e-5)
    assert (quantity, unit) == ("electric field", "V/Angstrom")
    assert pytest.approx(51.4220675, rel=1e-6) == 1 / VOLT_PER_ANGSTROM  # CODATA 2018


def test_gradients_and_currents_are_those_of_the_fields(pair):
    wavefunction, _ = pair
    slope = [ob.evaluate(wavefunction, f"gradient:{axis}", POINTS, precision="double") for axis in "xyz"]
    np.testing.assert_allclose(gradient_at(wavefunction, "density", POINTS), np.transpose(slope), atol=1e-7)
    current = [ob.evaluate(wavefunction, f"current:z:{axis}", POINTS, precision="double") for axis in "xyz"]
    found, quantity, _ = vectors_at(wavefunction, "current:z", POINTS)
    np.testing.assert_allclose(found, np.transpose(current), atol=1e-6)
    assert "along z" in quantity
    component, quantity, _ = vectors_at(wavefunction, "current:z:x", POINTS)  # a field like any other
    assert quantity.startswith("gradient of the x of the current")
    assert np.isfinite(component).all()


def test_arrows_stand_in_the_plane_and_not_at_nuclei(pair):
    wavefunction, _ = pair
    arrows, _, _ = plane_arrows(wavefunction, "density", (), 0.5, 0.8)
    np.testing.assert_allclose(np.abs(arrows.places[:, 0]), 0.5, atol=1e-9)
    apart = np.linalg.norm(arrows.places[:, None] - wavefunction.positions, axis=2).min(axis=1)
    assert apart.min() > 1.2
    report = ob.vectors(wavefunction, field="density", height=0.5)
    table = report.table("vectors")
    assert sum(table.column("arrows").values) == sum(len(drawn.lines) for drawn in report.drawings)
    lengths = [np.linalg.norm(np.diff(line, axis=0)) for drawn in report.drawings for line in drawn.lines]
    np.testing.assert_allclose(lengths, lengths[0])
    with pytest.raises(OrbitileError, match="three atoms or more"):
        plane_arrows(wavefunction, "density", (0, 1), 0.0, 0.8)


def test_arrows_stand_evenly_on_an_isosurface(pair):
    wavefunction, _ = pair
    arrows, _, _ = surface_arrows(wavefunction, "density", "density", 0.002, 1.0)
    values = ob.evaluate(wavefunction, "density", arrows.places, precision="double")
    np.testing.assert_allclose(values, 0.002, rtol=0.1)  # corners of triangles, by linear interpolation
    apart = np.linalg.norm(arrows.places[:, None] - arrows.places, axis=2) + 9.0 * np.eye(len(arrows.places))
    assert apart.min() > 1.0
    assert apart.min(axis=1).max() < 2.0  # and there are no holes
    inward = -(arrows.places - wavefunction.positions.mean(axis=0))
    assert np.all(np.einsum("ni,ni->n", arrows.vectors, inward) > 0)
    report = ob.vectors(wavefunction, field="esp", surface="density", spacing=0.8)
    assert report.title == "Electric field on an isosurface of density"
    for parameters in ({"surface": "density", "height": 1.0}, {"isovalue": 0.01}):
        with pytest.raises(OrbitileError, match=next(iter(parameters))):
            ob.vectors(wavefunction, **parameters)


def test_a_profile_has_the_values_of_the_field_along_its_line(pair):
    wavefunction, _ = pair
    found = profile(wavefunction, "density", (1, 2), height=1.0, n_points=61)
    np.testing.assert_allclose(np.abs(found.points[:, 0]), 1.0, atol=1e-9)
    np.testing.assert_allclose(found.distances[[0, -1]], [-2 * angstrom, 2 * angstrom + 1.514 * angstrom], rtol=1e-9)
    expected = ob.evaluate(wavefunction, "density", found.points, precision="double")
    np.testing.assert_allclose(found.values, expected, atol=1e-9)
    np.testing.assert_allclose(found.values, found.values[::-1], atol=1e-9)  # the molecule is symmetric
    report = ob.profile(wavefunction, field="density", height=0.5)
    kinds = report.table("profile").column("kind").values
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    assert [x for x, _ in report.plots[0].lines] == [0.0, pytest.approx(1.514)]
    with pytest.raises(OrbitileError, match="expected two atoms"):
        profile(wavefunction, "density", (0, 3))
    with pytest.raises(OrbitileError, match="expected two atoms"):
        ob.profile(wavefunction, atoms=[0, 1, 2])


def test_a_profile_at_constant_value_has_it_at_its_heights(pair):
    wavefunction, _ = pair
    found = profile(wavefunction, "stm:-1", (1, 2), isovalue=1e-4, n_points=15)
    reached = found.values > 0
    assert 5 < reached.sum() < 15
    values = ob.evaluate(wavefunction, "stm:-1", found.points[reached], precision="double")
    np.testing.assert_allclose(values, 1e-4, rtol=1e-4)


def test_extrema_are_inside_and_of_their_kind():
    x = np.linspace(0, 2 * np.pi, 101)
    assert extrema(np.sin(x)) == [("maximum", 25), ("minimum", 75)]
    assert extrema(x) == []
