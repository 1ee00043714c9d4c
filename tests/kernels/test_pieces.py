"""Work in pieces: the same values, asked and told between them, and nothing left of what was withdrawn."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.base import watch
from orbitile.base.errors import Cancelled
from orbitile.evaluation.lattices import computed_slabs
from taichi_kernels import orbital_lattice
from taichi_kernels.launching import Pace
from tests.conftest import random_wavefunction

MANY_SUMS = [pytest.param(name, marks=[pytest.mark.slow, pytest.mark.not_in_software]) for name in ("laplacian", "elf")]
FIELDS = ["mo:1", "density", "esp", *MANY_SUMS]
SKEWED = np.array([[0.6, 0.1, 0], [-0.3, 0.5, 0.1], [0.1, 0, 0.5]])
UPRIGHT = np.diag([0.6, 0.5, 0.5])
SHEARED = np.array([[0.6, 0, 0], [-0.3, 0.5, 0], [0, 0, 0.5]])
SHAPE = (21, 19, 23)


@pytest.fixture(params=["few rows", "many rows"])
def in_small_pieces(request, monkeypatch):
    """A twelfth of the work is a piece, however quick it is; and all of it is told."""
    run = Pace.run

    def in_twelve(self, work, launch, checkpoint, wait=None):
        self.work = float(np.sum(work)) / 12
        run(self, work, launch, checkpoint, wait)

    monkeypatch.setattr(Pace, "run", in_twelve)
    monkeypatch.setattr(Pace, "learn", lambda *_: None)
    monkeypatch.setattr(Pace, "fits", lambda *_: False)
    monkeypatch.setattr(watch, "_INTERVAL", -1.0)
    if request.param == "many rows":  # as densities of large molecules have
        monkeypatch.setattr(orbital_lattice, "_MANY_ROWS", 1)  # a small molecule has few


def lattice_with(axes=UPRIGHT):
    return ob.Lattice(-(np.array(SHAPE) - 1) / 2 @ axes, axes, SHAPE)


def molecule():
    return random_wavefunction(3, momenta=(0, 1, 2), n_atoms=2, n_primitives=2)


@pytest.mark.slow_on("vulkan")
@pytest.mark.usefixtures("in_small_pieces")
@pytest.mark.parametrize("field", FIELDS)
def test_a_single_slab_is_asked_about_told_of_and_left(device, field):
    wavefunction, lattice = molecule(), lattice_with()
    expected = ob.compute(wavefunction, field, lattice, device=device).values
    asked, told = [], []
    kept = ob.compute(
        wavefunction, field, lattice, device=device, progress=told.append, cancelled=lambda: bool(asked.append(1))
    )
    assert np.array_equal(kept.values, expected)
    assert len(asked) >= 3
    assert len(told) >= 3
    assert np.all(np.diff(told) > 0)
    assert told[-1] == 1.0
    for last in np.unique(np.linspace(1, len(asked) - 1, 4, dtype=int)).tolist():
        again: list[int] = []

        def cancelled(again: list[int] = again, last: int = last) -> bool:
            again.append(1)
            return len(again) > last

        with pytest.raises(Cancelled):
            ob.compute(wavefunction, field, lattice, device=device, cancelled=cancelled)
        assert len(again) == last + 1
        assert np.array_equal(ob.compute(wavefunction, field, lattice, device=device).values, expected)


@pytest.mark.slow_on("vulkan")
@pytest.mark.usefixtures("in_small_pieces")
@pytest.mark.parametrize("axes", [SHEARED, SHEARED[[2, 0, 1]], SKEWED], ids=["sheared", "turned", "skewed"])
@pytest.mark.parametrize("field", ["mo:2", "density"])
def test_lattices_of_other_shapes(device, field, axes):
    wavefunction, lattice = molecule(), lattice_with(axes)
    expected = ob.compute(wavefunction, field, lattice, device=device).values
    found = ob.compute(wavefunction, field, lattice, device=device, progress=lambda share: None)
    assert np.array_equal(found.values, expected)


@pytest.mark.usefixtures("in_small_pieces")
def test_an_orbital_on_a_skewed_lattice_is_left_within_a_slab(device):
    wavefunction, lattice = molecule(), lattice_with(SKEWED)

    def values(**watched):
        return ob.compute(wavefunction, "mo:2", lattice, device=device, kernel="direct", **watched).values

    expected = values()
    told: list[float] = []
    assert np.array_equal(values(progress=told.append), expected)
    assert len(told) >= 3
    asked: list[int] = []
    with pytest.raises(Cancelled):
        values(cancelled=lambda: bool(asked.append(1)) or len(asked) > 2)
    assert np.array_equal(values(), expected)


@pytest.mark.usefixtures("in_small_pieces")
def test_lists_that_grow_from_piece_to_piece():
    """Room for two entries is too little everywhere: what was listed before is listed again where it has to be."""
    wavefunction, lattice = random_wavefunction(5, n_atoms=6), lattice_with()
    expected = [ob.compute(wavefunction, field, lattice, device="cpu").values for field in ("mo:1", "density")]
    # only a kernel knows its own lists
    for use in ("few rows", "many rows"):
        orbital_lattice.workspace_of(np.dtype(np.float32), use).capacity = (2, 2)
    for field, values in zip(("mo:1", "density"), expected, strict=True):
        found = ob.compute(wavefunction, field, lattice, device="cpu", progress=lambda share: None)
        assert np.array_equal(found.values, values)


@pytest.mark.slow_on("vulkan")
@pytest.mark.usefixtures("in_small_pieces")
def test_orbitals_that_are_computed_together(device):
    wavefunction, lattice = random_wavefunction(7, n_orbitals=4), lattice_with()
    names = [f"mo:{n}" for n in range(1, 5)]
    expected = [volume.values for volume in ob.compute_many(wavefunction, names, lattice, device=device)]
    told: list[float] = []
    found = ob.compute_many(wavefunction, names, lattice, device=device, progress=told.append)
    for volume, values in zip(found, expected, strict=True):
        assert np.array_equal(volume.values, values)
    assert len(told) > 1
    assert told[-1] == 1.0
    asked: list[int] = []
    withdrawn = ob.compute_many(
        wavefunction, names, lattice, device=device, cancelled=lambda: bool(asked.append(1)) or len(asked) > 2
    )
    with pytest.raises(Cancelled):
        next(withdrawn)


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize("in_small_pieces", ["few rows"], indirect=True)  # there are no rows at points
@pytest.mark.parametrize("field", FIELDS)
def test_at_points(in_small_pieces, device, field):
    wavefunction = molecule()
    points = np.random.default_rng(1).uniform(-6, 6, (3000, 3))
    expected = ob.evaluate(wavefunction, field, points, device=device)
    asked: list[int] = []
    found = ob.evaluate(wavefunction, field, points, device=device, cancelled=lambda: bool(asked.append(1)))
    assert np.array_equal(found, expected)
    assert len(asked) > 3
    n = len(asked) // 2
    asked.clear()
    with pytest.raises(Cancelled):
        ob.evaluate(
            wavefunction, field, points, device=device, cancelled=lambda: bool(asked.append(1)) or len(asked) > n
        )
    assert np.array_equal(ob.evaluate(wavefunction, field, points, device=device), expected)


@pytest.mark.slow
@pytest.mark.usefixtures("in_small_pieces")
def test_surfaces_and_slabs(device):
    wavefunction, lattice = molecule(), lattice_with()
    surface = ob.compute_surface(wavefunction, "density", 0.02, lattice, device=device)
    told: list[float] = []
    again = ob.compute_surface(wavefunction, "density", 0.02, lattice, device=device, progress=told.append)
    assert np.array_equal(again.vertices, surface.vertices)
    assert len(told) > 1
    assert told[-1] == 1.0
    values = ob.compute(wavefunction, "density", lattice, device=device).values
    slabs = computed_slabs(wavefunction, "density", lattice, device=device, progress=told.append)
    assert np.array_equal(np.concatenate([slab.copy() for slab in slabs]), values)
    asked: list[int] = []
    with pytest.raises(Cancelled):
        ob.compute_surface(
            wavefunction,
            "density",
            0.02,
            lattice,
            device=device,
            cancelled=lambda: bool(asked.append(1)) or len(asked) > 2,
        )


def test_products_are_withdrawn_too_and_made_anew():
    """Nothing is kept of a list of products that was not finished."""
    wavefunction, lattice = molecule(), lattice_with()
    asked: list[int] = []
    with pytest.raises(Cancelled):
        ob.compute(wavefunction, "density", lattice, device="cpu", cancelled=lambda: bool(asked.append(1)) or True)
    found = ob.compute(wavefunction, "density", lattice, device="cpu").values
    assert np.array_equal(found, ob.compute(molecule(), "density", lattice, device="cpu").values)
