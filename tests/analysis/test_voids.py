"""Voids of crystals: figures by chmpy 1.5.0, whose density of urea on 60^3 points went through scikit-image."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.voids import _above_in_tetrahedra, voids_of
from orbitile.base.errors import FieldError, OrbitileError
from orbitile.fields.voids import crystal_of
from orbitile.model.units import angstrom
from tests.crystals import UREA
from tests.molecules import computed

gemmi = pytest.importorskip("gemmi", reason="gemmi (extra crystals) is not installed")


@pytest.fixture(scope="module")
def urea(tmp_path_factory):
    path = tmp_path_factory.mktemp("crystal") / "urea.cif"
    path.write_text(UREA)
    return ob.load(path)


def test_voids_of_urea_are_those_of_another_program(urea):
    report = ob.voids(urea, device="cpu")
    table = report.table("cell")
    cell, volume, share, area = table["value"]
    assert cell == pytest.approx(145.0598, abs=1e-3)
    assert volume == pytest.approx(22.47, rel=0.01)
    assert area == pytest.approx(64.25, rel=0.01)
    assert share == pytest.approx(100 * volume / cell)
    assert all(closure.holds for closure in table.closures)
    assert report.surfaces[0].field == "void:0.002"


def test_the_crystal_is_whole_and_repeats(urea):
    crystal = crystal_of(urea)
    assert crystal.n_atoms == 16
    place = np.array([[1.0, 0.3, 0.7]])
    there = ob.evaluate(crystal, "density", np.concatenate([place, place + crystal.cell.sum(axis=0)]))
    assert there[0] == pytest.approx(there[1], rel=1e-5)


def test_the_field_is_a_half_where_the_density_is_the_isovalue_and_ends_with_the_cell(urea):
    surface = ob.compute_surface(urea, "void", 0.5)
    low, high = surface.vertices.min(axis=0), surface.vertices.max(axis=0)
    assert (high - low) / angstrom == pytest.approx([5.565, 5.565, 4.684], abs=0.7)
    found = voids_of(urea, 0.002, 0.2 * angstrom, "cpu")
    (void,) = found.parts
    assert 0 < void.least < 0.002
    assert ob.evaluate(crystal_of(urea), "void", np.array([void.place]) + crystal_of(urea).cell[0])[0] > 0.5


def test_shares_of_tetrahedra_are_those_of_random_points():
    rng = np.random.default_rng(1)
    corners = rng.normal(size=(4, 40))
    inside = rng.dirichlet([1] * 4, 20_000) @ corners > 0
    assert _above_in_tetrahedra(corners) == pytest.approx(inside.mean(axis=0), abs=0.015)


def test_molecules_without_a_crystal_are_refused(urea):
    water = computed("O 0 0 0.117; H 0 0.757 -0.469; H 0 -0.757 -0.469", "sto-3g")
    with pytest.raises(OrbitileError, match="there is no crystal"):
        ob.voids(water)
    with pytest.raises(FieldError, match="expected a density"):
        ob.evaluate(urea, "void:wide", [[0.0, 0, 0]])
