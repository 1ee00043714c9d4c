"""Levels, densities of states and overlap populations."""

import json

import numpy as np
import pytest
from scipy.integrate import trapezoid

import orbitile as ob
from orbitile.analysis.levels import (
    bonds_by_elements,
    broadened,
    line,
    line_within,
    overlap_populations,
    overlap_populations_of_density,
)
from orbitile.analysis.presentation import as_json, as_text, draw_plots, write_tables
from orbitile.base.errors import OrbitileError
from orbitile.model.units import electronvolt
from tests.analysis.samples import BENZENE, dihydrogen, hydrogen_atom


@pytest.fixture(scope="module")
def benzene() -> ob.Wavefunction:
    return ob.load(BENZENE)


@pytest.mark.parametrize("shape", ["gaussian", "lorentzian"])
def test_lines_have_unit_area_and_their_width(shape):
    at = np.linspace(-400, 400, 200_001)
    assert trapezoid(line(at, 0.7, shape), at) == pytest.approx(1, abs=1e-3)
    middle, half = line(np.array([0.0, 0.35]), 0.7, shape)
    assert half == pytest.approx(middle / 2)
    some = np.linspace(-0.3, 1.1, 10_001)
    expected = line_within(some[:1], some[-1:], 0.7, shape)
    assert trapezoid(line(some, 0.7, shape), some) == pytest.approx(expected[0], abs=1e-8)


def test_overlap_populations_of_dihydrogen():
    wavefunction = dihydrogen()
    s = ob.overlap_matrix(wavefunction)[0, 1]
    found = overlap_populations(wavefunction, wavefunction.alpha.coefficients, [[((0,), (1,))]])
    assert found[0] == pytest.approx([s / (1 + s), -s / (1 - s)])
    assert overlap_populations_of_density(wavefunction, [[((0,), (1,))]]) == pytest.approx([2 * s / (1 + s)])


def test_bonds_of_benzene(benzene):
    bonds = bonds_by_elements(benzene)
    assert {pair: len(found) for pair, found in bonds.items()} == {(6, 6): 6, (6, 1): 6}


def test_overlap_populations_add_up_to_those_of_the_density(benzene):
    pairs = list(bonds_by_elements(benzene).values())
    by_orbital = overlap_populations(benzene, benzene.alpha.coefficients, pairs) @ benzene.alpha.occupations
    assert by_orbital == pytest.approx(overlap_populations_of_density(benzene, pairs))


@pytest.mark.parametrize("by", ["elements", "angular_momenta", "fragments"])
def test_parts_make_up_the_whole(benzene, by):
    report = ob.analyse(benzene, "levels", by=by, fragments="1-6; 7-12", line="lorentzian", lowest=-20)
    assert all(closure.holds for table in report.tables for closure in table.closures)
    states = report.plots[0]
    whole, *parts = (curve.y for curve in states.curves if curve.style != "sticks")
    assert sum(parts) == pytest.approx(whole, abs=1e-9)


def test_levels_of_benzene(benzene):
    report = ob.analyse(benzene, "levels", fwhm=0.2)
    frontier = report.table("frontier")
    assert frontier["gap"][0] == pytest.approx((benzene.alpha.energies[21] - benzene.alpha.energies[20]) / electronvolt)
    sticks = report.plots[0].curves[-1]
    assert len(sticks.fields) == len(report.table("levels")) == 24
    homos = [y for x, y in zip(sticks.x, sticks.y, strict=True) if abs(x - frontier["homo"][0]) < 0.01]
    assert max(homos) == pytest.approx(2 * min(homos)), "levels of one energy stand on top of each other"
    assert {text for _, text in report.plots[0].lines} == {"HOMO", "LUMO"}


def test_beta_electrons_point_downwards():
    report = ob.analyse(hydrogen_atom(), "levels")
    up, down = (curve for curve in report.plots[0].curves if curve.style == "sticks")
    assert up.y[0] > 0 > down.y[0]
    assert down.fields == ("mo:1:beta",)
    assert "there is no HOMO of beta electrons in this file" in report.remarks
    assert len(report.plots) == 1, "one atom has no bonds"


def test_what_has_no_levels_says_so(benzene):
    from dataclasses import replace

    orbitals = replace(benzene.alpha, energies=np.full(31, np.nan))
    with pytest.raises(OrbitileError, match="no energies of orbitals"):
        ob.analyse(replace(benzene, alpha=orbitals), "levels")
    with pytest.raises(OrbitileError, match="natural orbitals have occupations"):
        ob.analyse(replace(benzene, natural=True), "levels")
    with pytest.raises(OrbitileError, match="expected the lowest first, got 5 to 2 eV"):
        ob.analyse(benzene, "levels", lowest=5, highest=2)


def test_many_levels_are_broadened_in_pieces():
    energies, at = np.linspace(-50, 50, 3000), np.linspace(-60, 60, 1201)
    whole = broadened(at, energies, np.ones((1, 3000)), 0.5)[0]
    assert whole == pytest.approx(sum(line(at - energy, 0.5) for energy in energies))


def test_presented(benzene, tmp_path):
    report = ob.analyse(benzene, "levels")
    text = as_text(report, rows=3)
    assert "mo:8" in text
    assert "... and 21 more" in text
    assert json.loads(as_json(report))["tables"]["levels"]["columns"]["orbital"][0] == "mo:8"
    written = {path.name: path.read_text() for path in write_tables(report, tmp_path / "l.csv")}
    rows = written["l-states.csv"].splitlines()
    assert rows[0] == "curve,x,y,field"
    assert rows[-1].startswith("levels,")
    assert len(rows) == 1 + sum(len(curve.x) for curve in report.plots[0].curves)


@pytest.mark.slow
def test_plots_are_drawn(benzene, tmp_path):
    pytest.importorskip("matplotlib")
    states, overlap = draw_plots(ob.analyse(benzene, "levels"), tmp_path / "dos.svg")
    text = states.read_text()
    assert (states.name, overlap.name) == ("dos-states.svg", "dos-overlap.svg")
    assert all(f">{word}</text>" in text for word in ("HOMO", "LUMO", "levels", "energy / eV"))
