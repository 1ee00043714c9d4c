"""Critical points of fields, by the symmetry of a molecule, and of functions that are known."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis import critical_points as module
from orbitile.analysis.critical_points import critical_points
from orbitile.base.errors import OrbitileError
from tests.molecules import computed


@pytest.fixture(scope="module")
def water():
    return computed("O 0 0 0.117; H 0 0.757 -0.469; H 0 -0.757 -0.469", "6-31g*")


def test_lone_pairs_of_water_are_minima_of_the_potential(water):
    found = critical_points(water, "esp")
    minima = [n for n, kind in enumerate(found.kinds) if kind == "minimum"]
    assert len(minima) == 2
    one, other = found.positions[minima]
    assert one == pytest.approx(other * [-1, 1, 1], abs=1e-3)
    assert one[1] == pytest.approx(0, abs=1e-3)
    assert abs(one[0]) > 1
    assert found.values[minima] == pytest.approx(found.values.min())
    # no value around is less
    rng = np.random.default_rng(1)
    around = one + 0.05 * rng.normal(size=(50, 3))
    assert ob.evaluate(water, "esp", around, precision="double").min() >= found.values.min() - 1e-9
    # between both is a saddle on the axis, and on each bond one
    saddles = found.positions[[kind in ("bond", "ring") for kind in found.kinds]]
    assert np.abs(saddles[:, :2]).max(axis=1).min() < 1e-3


@pytest.mark.slow
def test_values_and_places_do_not_depend_on_how_the_molecule_lies(water):
    found = critical_points(water, "elf", 0.01)
    assert found.kinds.count("maximum") >= 2
    turned = computed(
        "O 0.117 0 0; H -0.469 0.4542 0.6056; H -0.469 -0.4542 -0.6056", "6-31g*"
    )  # the plane of the molecule is another one
    again = critical_points(turned, "elf", 0.01)
    assert sorted(found.kinds) == sorted(again.kinds)
    assert np.sort(again.values) == pytest.approx(np.sort(found.values), abs=1e-5)


def test_a_field_that_is_constant_has_none_and_rings_of_points_are_told():
    helium = computed("He 0 0 0", "6-31g")
    report = ob.critical_points(helium, field="elf")
    assert len(report.table("critical_points")) == 0
    assert "same value everywhere" in report.remarks[0]
    nitrogen = computed("N 0 0 0.55; N 0 0 -0.55", "6-31g")
    found = critical_points(nitrogen, "esp")
    (lone, other) = (n for n, kind in enumerate(found.kinds) if kind == "minimum")
    assert found.positions[lone] == pytest.approx(-found.positions[other], abs=1e-4)
    report = ob.critical_points(nitrogen, field="elf", cutoff=1e-2)
    kinds = report.table("critical_points")["kind"]
    assert any("degenerate points" in remark for remark in report.remarks) == ("degenerate" in kinds)


def test_newtons_method_goes_to_what_it_is_told():
    def saddle(points):
        x, y, z = points.T
        return np.sin(x) * np.cos(y) + 0.5 * np.cos(z)

    class Nothing:
        atomic_numbers, positions = np.zeros(0, int), np.zeros((0, 3))

    begin = np.array([[1.2, 0.2, 0.3], [0.1, 1.4, 0.2], [1.2, 0.3, 2.9]])
    found = module._followed(saddle, Nothing, begin, np.array([1, 0, 0]))
    assert found == pytest.approx(np.array([[np.pi / 2, 0, 0], [0, np.pi / 2, 0], [np.pi / 2, 0, np.pi]]), abs=1e-4)
    _, bend = module._derivatives(saddle, found)
    assert np.linalg.eigvalsh(bend) == pytest.approx(np.array([[-1, -1, -0.5], [-1, -0.5, 1], [-1, -1, 0.5]]), abs=1e-3)


def test_the_report_says_where_and_what(water):
    report = ob.critical_points(water, cutoff=1e-3)
    assert "minimum" in report.title
    table = report.table("critical_points")
    assert table["nearest_atom"][-1] == "O1"
    assert {drawing.name for drawing in report.drawings} >= {"minimum", "bond"}
    with pytest.raises(OrbitileError, match="there is no 'nonsense'"):
        ob.critical_points(water, field="nonsense")
