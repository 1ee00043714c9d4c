"""Surfaces coloured by a second field: which values the colours span."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.evaluation.surfaces import coloured
from orbitile.fields import Field


class Given(Field):
    """A field of given values, whatever the points."""

    quantity, unit, isovalue = "given", "", 1.0

    def __init__(self, values, peaks):
        self.values, self.peaks_at_nuclei = np.asarray(values, np.float32), peaks

    def at_points(self, target):
        return lambda points: np.resize(self.values, len(points)).astype(target.dtype)

    def enclosing_box(self, isovalue):
        return np.full(3, -1.0), np.full(3, 1.0)


@pytest.fixture(scope="module")
def surface(benzene):
    return ob.compute_surface(benzene, "density", 0.02, ob.Lattice.around(benzene, 0.6, 3.0), device="cpu")


@pytest.fixture
def span(surface, benzene):
    def get(values, peaks=True, **choices):
        colouring = coloured(surface, benzene, Given(values, peaks), device="cpu", **choices).colouring
        return colouring.low, colouring.high, colouring.colour_map

    return get


def test_both_signs_get_the_same_range_and_one_sign_its_values(span):
    assert span([-0.3, 0.1, 0.78]) == (-0.8, 0.8, "signed")
    assert span([0.3, 0.5, 0.8]) == (0.3, 0.8, "sequential")
    assert span([-0.8, -0.5, -0.3]) == (-0.8, -0.3, "negative")
    assert span([-0.3, 0.78], limit=0.5) == (-0.5, 0.5, "signed")


def test_values_at_nuclei_do_not_count(span):
    """One in a hundred, a thousand times as large: half of the surface has more than half of the colours."""
    values = [*np.linspace(-0.1, 0.3, 99), 300.0]
    low, high, _ = span(values)
    assert high == -low == pytest.approx(2 * np.median(np.abs(values)), rel=0.2)
    assert span(values, peaks=False)[1] == 300
    assert span([*np.linspace(0.1, 0.3, 99), 300.0])[:2] == pytest.approx((0.1, 0.3), abs=0.02)


def test_peaks_of_a_difference_count_however_few_they_are(span):
    assert span([*np.full(99, 1e-6), -1e-6, 0.02], peaks=False)[1] == 0.02


def test_where_the_values_are_one_small_differences_are_not_shown(span):
    low, high, _ = span(np.linspace(1.00, 1.02, 50))
    assert low < 0.87
    assert high > 1.15


@pytest.mark.parametrize("value", [0.0, 2.0, -2.0])
def test_a_single_value_lies_within_its_range(span, value):
    low, high, _ = span([value])
    assert low <= value <= high
    assert low < high


def test_an_orbital_coloured_by_the_potential_shows_its_sign(benzene):
    """It passes the nuclei, where the potential is 20 hartree/e; elsewhere it is -0.03 to 0.4."""
    homo = ob.compute_surface(benzene, "homo", ob.default_isovalue(benzene, "homo"), device="cpu")
    colouring = coloured(homo, benzene, "esp", device="cpu").colouring
    assert colouring.values.max() > 5
    assert 0.05 < colouring.high < 0.3


def test_the_density_is_that_of_the_surface_of_the_molecule_where_it_is_coloured(benzene):
    assert ob.default_isovalue(benzene, "density") == 0.02
    assert ob.default_isovalue(benzene, "density", coloured=True) == 0.001
    assert ob.default_isovalue(benzene, "elf", coloured=True) == ob.default_isovalue(benzene, "elf")


def test_colours_are_blended_across_a_jump_and_nowhere_else(surface, benzene):
    """No neighbours have colours as far apart as the jump any more, and those farther off keep theirs."""
    x = surface.vertices[:, 0] + 0.01
    jump = np.where(x > 0, 0.02, -0.01)
    field = Given(jump, peaks=False)
    sharp = coloured(surface, benzene, field, device="cpu").colouring.values
    field.jumps = True
    soft = coloured(surface, benzene, field, device="cpu").colouring.values
    edges = surface.faces[:, [0, 1]]
    assert np.abs(np.diff(sharp[edges])).max() == pytest.approx(0.03)
    assert np.abs(np.diff(soft[edges])).max() < 0.015
    assert np.array_equal(soft[np.abs(x) > 5], sharp[np.abs(x) > 5])
    assert soft.min() >= sharp.min()
    assert soft.max() <= sharp.max()
