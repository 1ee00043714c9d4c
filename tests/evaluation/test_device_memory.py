"""Devices with little memory: they are told of, what does not fit is computed otherwise or refused."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import LatticeError
from orbitile.evaluation.devices import _described
from orbitile.evaluation.slabs import fits_device
from orbitile.evaluation.surfaces import extract_surface
from taichi_kernels import devices
from taichi_kernels.arrays import allocate
from taichi_kernels.devices import DeviceUnavailable, Probe, probe
from taichi_kernels.session import session
from taichi_kernels.target import Target


@pytest.fixture
def with_memory(monkeypatch):
    """Have devices say that they have so many bytes."""

    def say(n_bytes):
        monkeypatch.setattr(devices, "probe", lambda name: replace(probe(name), memory=n_bytes))

    return say


def cube(n):
    return ob.Lattice(np.full(3, -6.0), np.eye(3) * (12 / (n - 1)), (n, n, n))


def test_two_gigabytes_hold_what_most_people_look_at_and_not_the_largest(with_memory):
    with_memory(2 << 30)
    single, double = Target("vulkan", "single"), Target("vulkan", "double")
    assert fits_device(cube(300), single)
    assert not fits_device(cube(400), single)
    assert not fits_device(cube(300), double)
    with_memory(None)
    assert fits_device(cube(400), double)


@pytest.mark.vulkan
def test_a_surface_that_does_not_fit_is_the_same_from_values_at_home(benzene, with_memory):
    lattice = cube(40)
    there = ob.compute_surface(benzene, "homo", 0.03, lattice, device="vulkan")
    with_memory(1 << 20)
    volume = ob.compute(benzene, "homo", lattice, device="vulkan")
    expected = ob.isosurface(volume, 0.03)
    for surface in (
        ob.compute_surface(benzene, "homo", 0.03, lattice, device="vulkan"),
        extract_surface(volume, 0.03, device="vulkan"),
    ):
        assert np.array_equal(surface.vertices, expected.vertices)
        assert np.array_equal(surface.faces, expected.faces)
    assert len(there.faces) == len(expected.faces)


@pytest.mark.vulkan
def test_values_that_do_not_fit_are_refused(benzene, with_memory):
    with_memory(1 << 20)
    with pytest.raises(LatticeError, match=r"64000 points.*half of the 0\.0 GB of vulkan; use compute"):
        ob.compute_on_device(benzene, "homo", cube(40), device="vulkan")


@pytest.mark.vulkan
def test_an_array_for_which_there_is_no_memory_is_refused_and_the_next_one_is_made():
    with session("vulkan"):
        with pytest.raises(DeviceUnavailable, match=r"vulkan has no 4000\.00 GB of memory left"):
            allocate((1_000_000, 1000, 1000), np.float32)
        values = allocate((10, 10, 10), np.float32)
        values.fill(2.0)
        assert np.all(values.to_numpy() == 2.0)


@pytest.mark.vulkan
def test_the_driver_says_how_much_memory_there_is():
    memory = probe("vulkan").memory
    assert memory is not None
    assert 1 << 28 < memory < 1 << 44


def test_people_are_told_what_a_device_has():
    assert _described(Probe("vulkan", True, "a small GPU", double=False, memory=2_147_483_648)) == (
        "a small GPU, 2.1 GB, single precision only"
    )
    assert _described(Probe("cpu", True, "a processor")) == "a processor"
