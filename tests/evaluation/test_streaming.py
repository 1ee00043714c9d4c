"""Volumes written slab by slab: the values of `compute`, whole or not at all, in little memory."""

import os

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import Cancelled, FileError, LatticeError
from orbitile.evaluation.requests import field_of
from orbitile.evaluation.slabs import slabs_of
from orbitile.exporters import exporter_modules
from orbitile.model.units import angstrom
from orbitile.model.volume import VolumeHeader
from taichi_kernels.session import session
from taichi_kernels.target import Target
from tests.conftest import random_wavefunction
from tests.oracle import orbital

AXES = {
    "orthogonal": np.diag([0.4, 0.5, 0.6]),
    "backward": np.diag([-0.4, 0.5, -0.6]),
    "axes exchanged": np.array([[0, 0.4, 0], [0, 0, -0.5], [0.6, 0, 0]]),
    "hexagonal": np.array([[0.5, 0, 0], [-0.25, 0.25 * 3**0.5, 0], [0, 0, 0.6]]),
}


@pytest.fixture(autouse=True)
def small_slabs(monkeypatch):
    monkeypatch.setattr("orbitile.evaluation.slabs.SLAB_POINTS", 1)
    monkeypatch.setattr("orbitile.evaluation.slabs.TILE_POINTS", 700)


def lattice_with(axes: np.ndarray) -> ob.Lattice:
    shape = np.array([21, 17, 19])
    return ob.Lattice(-(shape - 1) / 2 @ axes, axes, tuple(shape))


@pytest.mark.parametrize("name", AXES)
@pytest.mark.parametrize("suffix", ["cube", "dx", "mrc", "npz"])
def test_the_file_holds_what_compute_gives(name, suffix, tmp_path):
    wavefunction, lattice = random_wavefunction(1), lattice_with(AXES[name])
    path = tmp_path / f"a.{suffix}"
    ob.compute_to_file(wavefunction, "mo:2", lattice, path, device="cpu")
    volume = ob.compute(wavefunction, "mo:2", lattice, device="cpu")
    (found,) = ob.load_volumes(path)
    assert (found.quantity, found.unit) == (volume.quantity, volume.unit)
    index = np.linalg.solve(found.lattice.axes.T, (lattice.points() - found.lattice.origin).T).T
    np.testing.assert_allclose(index, np.round(index), atol=1e-4)
    values = found.values[tuple(np.round(index).astype(int).T)].reshape(lattice.shape)
    if suffix in ("mrc", "npz"):
        assert np.array_equal(values, volume.values)
    else:
        ob.save(volume, tmp_path / f"b.{suffix}", wavefunction=wavefunction)
        assert path.read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


@pytest.mark.parametrize("field", ["density", "elf", pytest.param("esp", marks=pytest.mark.slow)])
def test_other_fields_too(field, benzene, tmp_path):
    lattice = ob.Lattice.around(benzene, 1.0, 2.0)
    ob.compute_to_file(benzene, field, lattice, tmp_path / "a.npz", device="cpu", precision="double")
    (found,) = ob.load_volumes(tmp_path / "a.npz")
    assert found.values.dtype == np.float64
    assert np.array_equal(found.values, ob.compute(benzene, field, lattice, device="cpu", precision="double").values)


def test_pymol_reads_the_order_of_the_axes(benzene, tmp_path):
    pymol2 = pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")
    lattice = ob.Lattice(benzene.positions.mean(axis=0) - [4, 5, 3], np.diag([0.4, 0.5, 0.6]), (21, 25, 11))
    ob.compute_to_file(benzene, "homo-1", lattice, tmp_path / "a.mrc", device="cpu")
    with pymol2.PyMOL() as pymol:
        pymol.cmd.set("normalize_ccp4_maps", 0)
        pymol.cmd.load(str(tmp_path / "a.mrc"), "a")
        values = pymol.cmd.get_volume_field("a", 1)
        low, high = pymol.cmd.get_extent("a")
    assert np.array_equal(values, ob.compute(benzene, "homo-1", lattice, device="cpu").values)
    np.testing.assert_allclose(np.array(low) * angstrom, lattice.origin, atol=1e-4)
    np.testing.assert_allclose(np.array(high) * angstrom, lattice.points()[-1], atol=1e-4)


def test_mrcfile_finds_the_header_in_order(benzene, tmp_path):
    mrcfile = pytest.importorskip("mrcfile", reason="mrcfile, which reads the file independently, is not installed")
    lattice = ob.Lattice.around(benzene, 0.8, 3.0)
    ob.compute_to_file(benzene, "homo", lattice, tmp_path / "a.mrc", device="cpu")
    assert mrcfile.validate(tmp_path / "a.mrc")
    with mrcfile.open(tmp_path / "a.mrc") as file:
        assert (file.header.mapc, file.header.mapr, file.header.maps) == (3, 2, 1)
        assert file.header.rms == pytest.approx(file.data.std(dtype=np.float64), rel=1e-5)
        assert file.header.dmean == pytest.approx(file.data.mean(dtype=np.float64), abs=1e-9)


@pytest.mark.parametrize("suffix", ["cube", "mrc", "npz"])
def test_cancelling_leaves_the_old_file(suffix, benzene, tmp_path):
    path = tmp_path / f"a.{suffix}"
    path.write_text("old")
    shares = []
    with pytest.raises(Cancelled):
        ob.compute_to_file(
            benzene,
            "homo",
            ob.Lattice.around(benzene, 0.5, 3.0),
            path,
            device="cpu",
            progress=shares.append,
            cancelled=lambda: len(shares) == 2,
        )
    assert len(shares) == 2
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


def test_refusals_come_before_the_work(benzene, tmp_path):
    huge = ob.Lattice([0, 0, 0], np.eye(3) * 0.01, (30_000, 30_000, 30_000))
    with pytest.raises(FileError, match=r"GB of disk, .* are free"):
        ob.compute_to_file(benzene, "homo", huge, tmp_path / "a.mrc", device="cpu")
    turned = ob.Lattice([0, 0, 0], [[0.25, 0.125, 0], [0, 0.375, 0.125], [-0.0625, 0.125, 0.5]], (9, 9, 9))
    with pytest.raises(FileError, match="use a cube file"):
        ob.compute_to_file(benzene, "homo", turned, tmp_path / "a.mrc", device="cpu")
    with pytest.raises(FileError, match="suffix"):
        ob.compute_to_file(benzene, "homo", huge, tmp_path / "a.volume")
    with pytest.raises(ob.OrbitileError, match="precision"):
        ob.compute_to_file(benzene, "homo", lattice_with(np.eye(3)), tmp_path / "a.mrc", precision="half")
    with pytest.raises(ob.OrbitileError, match="compute_to_file"):
        ob.compute(benzene, "homo", huge, device="cpu")
    assert os.listdir(tmp_path) == []


SINGLE = [name for name, module in exporter_modules().items() if module.largest_size and module.replaces is None]
"""Formats of one file, which are not compressed; of a store only the largest size is known."""


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("nz", [5, 12, 13])
def test_the_space_that_is_asked_for_is_that_of_the_values(tmp_path, name, nz):
    """Negative ones are the longest as text: a file with more of them is larger by no more, and hardly less."""
    module, sizes, allowed = exporter_modules()[name], [], []
    for nx in (20, 60):
        volume = ob.Volume(np.full((nx, 7, nz), -1.5, np.float32), ob.Lattice([0, 0, 0], np.eye(3), (nx, 7, nz)))
        path = tmp_path / f"{nx}{module.PATTERNS[0].removeprefix('*')}"
        ob.save(volume, path)
        sizes.append(path.stat().st_size)
        allowed.append(module.largest_size(VolumeHeader(volume.lattice, volume.values.dtype)))
    assert 0.85 * (allowed[1] - allowed[0]) <= sizes[1] - sizes[0] <= allowed[1] - allowed[0]


def test_files_beyond_32_bits(tmp_path):
    """Sections at 18 GB of a sparse file: along a backward axis the first slab stands at the end."""
    shape = (70_000, 256, 256)
    header = VolumeHeader(ob.Lattice([0, 0, 0], np.diag([-0.1, 0.1, 0.1]), shape), np.dtype(np.float32))
    module = exporter_modules()["mrc"]
    assert module.largest_size(header) == 4 * 70_000 * 65_536
    slab = np.arange(4 * 65_536, dtype=np.float32).reshape(4, 256, 256)

    def slabs():
        yield slab
        raise Cancelled("enough")

    with pytest.raises(Cancelled):
        module.write_slabs(header, slabs(), tmp_path / "a.mrc")
    with (tmp_path / "a.mrc").open("rb") as stream:
        stream.seek(1024 + 4 * (70_000 - 4) * 65_536)
        assert np.array_equal(np.fromfile(stream, np.float32).reshape(slab.shape), slab[::-1])


@pytest.mark.slow
def test_lattices_beyond_32_bits(device):
    """Planes behind point 2^32 of a long thin lattice, at whose far end the molecule lies."""
    shape, step = (1 << 25, 8, 16), 0.3
    wavefunction = random_wavefunction(3)
    lattice = ob.Lattice([-step * (shape[0] - 12), -1.0, -2.0], np.eye(3) * step, shape)
    with session(device) as name:
        slabs = slabs_of(wavefunction, field_of(wavefunction, "mo:1"), lattice, Target(name, "single"))
        start, stop = slabs.cuts[-3]
        values = np.empty((stop - start, *shape[1:]), np.float32)
        slabs.fill(start, stop, values)
    expected = orbital(wavefunction, 0, lattice.points(start, stop)).reshape(values.shape)
    assert np.abs(expected).max() > 0.05
    assert np.abs(values - expected).max() < 2e-6 * np.abs(expected).max()


_QUICK = (("orthogonal", "mo:2"), ("hexagonal", "density"))


@pytest.mark.parametrize(
    ("name", "field"),
    [
        pytest.param(name, field, marks=() if (name, field) in _QUICK else pytest.mark.slow)
        for name in AXES
        for field in ("mo:2", "density", "esp")
    ],
)
def test_planes_that_are_too_large_are_computed_in_strips(name, field, monkeypatch):
    wavefunction, lattice = random_wavefunction(1), lattice_with(AXES[name])
    whole = ob.compute(wavefunction, field, lattice, device="cpu", precision="double").values
    monkeypatch.setattr("orbitile.evaluation.slabs.MOST_POINTS", 8 * 8 * 19)
    shares = []
    strips = ob.compute(
        wavefunction, field, lattice, device="cpu", precision="double", progress=shares.append
    ).values  # of 8, 8 and 1 rows
    np.testing.assert_allclose(strips, whole, rtol=0, atol=1e-12 * np.abs(whole).max())
    assert shares == sorted(shares)
    with pytest.raises(LatticeError, match="rows too long"):
        ob.compute(wavefunction, field, ob.Lattice(lattice.origin, lattice.axes, (8, 8, 20)), device="cpu")


@pytest.mark.slow
def test_planes_of_ten_thousand_by_ten_thousand():
    """As of a lattice of 10^12 points: where strips meet, and at the far corner."""
    shape, step = (10_000, 10_000, 10_000), 0.002
    wavefunction = random_wavefunction(3)
    lattice = ob.Lattice([-10.0, -10.0, -10.0], np.eye(3) * step, shape)
    with session("cpu") as name:
        slabs = slabs_of(wavefunction, field_of(wavefunction, "mo:1"), lattice, Target(name, "single"))
        start, stop = slabs.cuts[len(slabs.cuts) // 2]
        assert stop - start == 8
        values = np.empty((1, *shape[1:]), np.float32)
        slabs.fill(start, start + 1, values)
    rows = np.r_[0:20, 4980:5020, 9980:10_000]
    i, j, k = np.meshgrid([start], rows, np.arange(0, 10_000, 7), indexing="ij")
    points = lattice.origin + np.stack([i, j, k], axis=-1).reshape(-1, 3) * step
    expected = orbital(wavefunction, 0, points).reshape(len(rows), -1)
    assert np.abs(expected).max() > 0.05
    assert np.abs(values[0][rows][:, ::7] - expected).max() < 2e-6 * np.abs(expected).max()
