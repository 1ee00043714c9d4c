"""What a worker is asked for: lattices that serve again, surfaces of few enough triangles."""

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

import orbitile as ob
from orbitile.pictures.request import Request, box_of, shared_lattice, surface_within
from orbitile.pictures.surface import Listener, surfaces_of_picture, volume_drawing_of
from orbitile.session.sampling import WavefunctionCache, sample

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


def test_a_lattice_that_reaches_far_enough_serves_again():
    given = ob.Lattice.box([-5, -5, -5], [5, 5, 5], 0.5)
    needed = ob.Lattice.box([-4.7, -4.2, -4], [4.6, 4.8, 4.9], 0.5)
    shared = shared_lattice(needed, box_of(given))
    assert shared.shape == given.shape
    assert shared.origin == pytest.approx(given.origin)


def test_a_lattice_that_is_too_small_is_extended_by_whole_steps():
    given = ob.Lattice.box([-5, -5, -5], [5, 5, 5], 0.5)
    needed = ob.Lattice.box([-6.1, -4, -4], [4, 4, 5.2], 0.5)
    shared = shared_lattice(needed, box_of(given))
    steps = (shared.origin - given.origin) / 0.5
    assert steps == pytest.approx(np.round(steps))
    last = shared.origin + (np.array(shared.shape) - 1) * 0.5
    assert np.all(shared.origin <= needed.origin + 1e-6)
    assert np.all(last >= needed.origin + (np.array(needed.shape) - 1) * 0.5 - 1e-6)


@pytest.mark.parametrize("other", [([-9, -9, -9], [9, 9, 9], 0.5), ([-5, -5, -5], [5, 5, 5], 0.4)])
def test_a_lattice_that_is_much_larger_or_of_other_spacing_is_not_used(other):
    needed = ob.Lattice.box([-4, -4, -4], [4, 4, 4], 0.5)
    assert shared_lattice(needed, box_of(ob.Lattice.box(*other))) is needed


def test_orbitals_walked_through_share_a_lattice():
    cache = WavefunctionCache()
    first = sample(Request(BENZENE, "mo:18", device="cpu"), cache)
    box = box_of(first.volume.lattice)
    second = sample(Request(BENZENE, "mo:17", device="cpu", isovalue=first.isovalue, box=box), cache)
    assert second.volume.lattice.shape == first.volume.lattice.shape
    assert second.volume.lattice.origin == pytest.approx(first.volume.lattice.origin)
    assert Request(BENZENE, "mo:18", box=box) == Request(BENZENE, "mo:18")


def test_a_surface_of_too_many_triangles_is_extracted_from_fewer_points():
    wavefunction = ob.load(BENZENE)
    lattice = ob.enclosing_lattice(wavefunction, "homo", 0.03, quality="fine")
    volume = ob.compute(wavefunction, "homo", lattice, device="cpu")
    whole, step = surface_within(volume, 0.03, None)
    assert step == 1
    assert surface_within(volume, 0.03, len(whole.faces) + 10_000)[1] == 1
    for most in (len(whole.faces) // 2, len(whole.faces) // 10):
        thin, step = surface_within(volume, 0.03, most)
        assert step > 1
        assert most / 4 < len(thin.faces) <= most
        assert np.abs(thin.vertices.max(axis=0) - whole.vertices.max(axis=0)).max() < 0.06


def test_a_second_field_colours_fog_in_the_range_that_it_has_on_the_surface():
    benzene = ob.load(BENZENE)
    request = Request("", "density", isovalue=0.01, color_by="lol", quality="coarse", device="cpu")
    found = volume_drawing_of(request, benzene, None, "slice")
    (surface,) = surfaces_of_picture([request], benzene, None, Listener(), size=(100, 100))
    scale, expected = found.colouring, surface.surface.colouring
    assert (scale.low, scale.high) == pytest.approx((expected.low, expected.high), rel=0.05)  # of another lattice
    assert scale.colour_map == expected.colour_map
    values = ob.evaluate(benzene, "lol", found.volume.lattice.points()[::97], device="cpu")
    assert scale.values[::97] == pytest.approx(values, abs=1e-4)
    assert volume_drawing_of(replace(request, color_by=""), benzene, None, "slice").colouring is None
