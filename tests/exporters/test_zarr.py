"""Zarr stores of volumes: every bit and every digit, in any order of rows, whole or not at all."""

import contextlib
import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FileError
from orbitile.commandline import main
from orbitile.exporters import zarr as stores
from orbitile.files.writing import folder_written_atomically
from orbitile.model.lattice import averaged, coarser, pyramid
from orbitile.model.units import angstrom

zarr = pytest.importorskip("zarr", reason="stores need zarr (extra stores), which needs Python 3.11")

BENZENE = str(files("orbitile") / "data" / "benzene.molden")
STRAIGHT = np.diag([0.1, 0.2, 0.3])
OBLIQUE = np.array([[0.1, 0.02, 0.0], [0.0, 0.2, 0.0], [0.0, 0.05, 0.3]])


def made(shape, dtype=np.float32, axes=STRAIGHT, periodic=False):
    """A volume of noise."""
    values = np.random.default_rng(7).normal(size=shape).astype(dtype)
    return ob.Volume(values, ob.Lattice([-1.0, 2.0, 3.3], axes, shape, periodic), "HOMO", "bohr^-3/2")


def contents(store):
    """Every file of a store."""
    return {str(file.relative_to(store)): file.read_bytes() for file in store.rglob("*") if file.is_file()}


@pytest.fixture
def few(monkeypatch):
    """Rows of eight planes and shards of 16 points, so that small volumes have several."""
    monkeypatch.setattr(stores, "_ROW_POINTS", 1)
    monkeypatch.setattr(stores, "_SHARD_EDGE", 16)
    monkeypatch.setattr(stores, "_CHUNK_POINTS", 1 << 9)


def same(store, volume):
    """The store has the volume, bit by bit, and its means on all levels, by the library."""
    group, values, lattice = zarr.open_group(str(store), mode="r"), volume.values, volume.lattice
    for number, level in enumerate(pyramid(lattice)):
        stored = group[f"{number}/values"]
        assert stored.shape == level.shape == values.shape
        assert stored.dtype == volume.values.dtype
        assert np.array_equal(stored[...], values)
        values = averaged(values)
    (found,) = ob.load_volumes(store)
    assert np.array_equal(found.values, volume.values)
    assert np.array_equal(found.lattice.axes, lattice.axes)
    assert np.array_equal(found.lattice.origin, lattice.origin)
    assert (found.lattice.periodic, found.quantity, found.unit) == (lattice.periodic, volume.quantity, volume.unit)


@pytest.mark.parametrize(
    ("shape", "dtype", "axes", "periodic"),
    [
        ((5, 6, 7), np.float32, np.eye(3), False),
        ((1, 1, 1), np.float64, np.eye(3), False),
        ((70, 21, 30), np.float64, OBLIQUE, True),
        pytest.param((300, 1, 2), np.float32, np.eye(3), False, marks=pytest.mark.slow),
        pytest.param((257, 33, 130), np.float32, np.eye(3), False, marks=pytest.mark.slow),
    ],
)
def test_what_is_written_is_read(few, tmp_path, shape, dtype, axes, periodic):
    volume = made(shape, dtype, axes, periodic)
    ob.save(volume, tmp_path / "a.zarr")
    same(tmp_path / "a.zarr", volume)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(5, 6, 7), (100, 70, 90), (65, 1100, 40)])
def test_with_the_sizes_that_are_used(tmp_path, shape):
    volume = made(shape)
    ob.save(volume, tmp_path / "a.zarr")
    same(tmp_path / "a.zarr", volume)


def test_a_point_of_a_level_is_the_middle_and_the_mean_of_eight():
    volume = made((5, 4, 1), np.float64, OBLIQUE, True)
    level, values = coarser(volume.lattice), averaged(volume.values)
    assert level.shape == values.shape == (2, 2, 1)
    assert not level.periodic  # a plane is left out
    points = volume.lattice.points().reshape(5, 4, 1, 3)
    assert level.points().reshape(2, 2, 1, 3)[1, 0] == pytest.approx(points[2:4, 0:2].mean(axis=(0, 1)))
    assert values[1, 0] == pytest.approx(volume.values[2:4, 0:2].mean(axis=(0, 1)))


def test_rows_may_come_in_any_order_from_several(few, tmp_path):
    volume = made((37, 20, 33))
    ob.save(volume, tmp_path / "a.zarr")
    cuts = stores.rows(volume.lattice)
    assert len(cuts) == 5
    with folder_written_atomically(tmp_path / "b.zarr", stores.replaces) as store:
        stores.create(store, volume.header)
        with ThreadPoolExecutor(3) as pool:
            for _ in pool.map(
                lambda cut: stores.write_rows(store, volume.lattice, cut[0], volume.values[slice(*cut)]),
                [*reversed(cuts), cuts[2]],  # one of them twice
            ):
                pass
        stores.finish(store, volume.lattice)
    with folder_written_atomically(tmp_path / "c.zarr", stores.replaces) as store:
        slabs = (volume.values[start : start + 3] for start in range(0, 37, 3))
        stores.write_slabs(volume.header, slabs, store)
    assert contents(tmp_path / "a.zarr") == contents(tmp_path / "b.zarr") == contents(tmp_path / "c.zarr")


def test_what_is_no_row_is_refused(few, tmp_path):
    volume = made((37, 20, 33))
    for start, stop in ((1, 9), (0, 7), (32, 40), (0, 0)):
        with pytest.raises(FileError, match="in rows of 8"):
            stores.write_rows(tmp_path, volume.lattice, start, np.zeros((stop - start, 20, 33), np.float32))
    stores.create(tmp_path, volume.header)
    stores.write_rows(tmp_path, volume.lattice, 8, volume.values[8:])
    with pytest.raises(FileError, match="planes from 0 on was not written"):
        stores.finish(tmp_path, volume.lattice)


def test_values_that_are_none_are_refused(few, tmp_path):
    volume = made((9, 70, 9))
    volume.values[8, 1, 1] = 3e38
    volume.values[8, 1, 2] = 3e38
    volume.values[0, 0, :2] = 3e38
    with pytest.raises(FileError, match="too large for their means"):
        ob.save(volume, tmp_path / "a.zarr")
    volume.values[...] = np.nan
    with pytest.raises(FileError, match="NaN"):
        stores.write_rows(tmp_path, volume.lattice, 0, volume.values)
    assert list(tmp_path.iterdir()) == []


def test_a_store_is_replaced_when_the_next_is_whole_and_nothing_else_is(tmp_path):
    first, second = made((5, 6, 7)), made((4, 3, 2))
    path = tmp_path / "a.zarr"
    ob.save(first, path)
    broken = made((4, 3, 2))
    broken.values[1, 1, 1] = np.inf
    with pytest.raises(FileError, match="infinite"):
        ob.save(broken, path)

    def interrupted():
        yield second.values[:2]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), folder_written_atomically(path, stores.replaces) as store:
        stores.write_slabs(second.header, interrupted(), store)
    same(path, first)
    link = tmp_path / "link.zarr"
    link.symlink_to(path)
    ob.save(second, link)
    same(path, second)
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["a.zarr", "link.zarr"]
    (path / "letter.txt").write_text("dear")
    with pytest.raises(FileError, match="something else in it"):
        ob.save(first, path)
    (tmp_path / "b.zarr").write_text("dear")
    with pytest.raises(FileError, match="is a file, expected the name of a folder"):
        ob.save(first, tmp_path / "b.zarr")
    with pytest.raises(FileError, match="there is no folder"):
        ob.save(first, tmp_path / "nowhere" / "b.zarr")
    same_as_before = sorted(os.listdir(tmp_path))
    assert same_as_before == ["a.zarr", "b.zarr", "link.zarr"]


@pytest.mark.slow
def test_a_field_goes_to_a_store_slab_by_slab(tmp_path, capsys):
    wavefunction = ob.load(BENZENE)
    lattice = ob.Lattice.around(wavefunction, points=70)
    ob.compute_to_file(wavefunction, "homo", lattice, tmp_path / "a.zarr", device="cpu")
    same(tmp_path / "a.zarr", ob.compute(wavefunction, "homo", lattice, device="cpu"))
    stored = ob.open_volume(tmp_path / "a.zarr")
    assert np.array_equal(stored.geometry.atomic_numbers, wavefunction.atomic_numbers)
    assert np.array_equal(stored.geometry.positions, wavefunction.positions)
    main(["volume", BENZENE, "homo", "-o", str(tmp_path / "b.zarr"), "--points", "30", "--device", "cpu", "--quiet"])
    assert capsys.readouterr().out.strip() == str(tmp_path / "b.zarr")
    assert ob.open_volume(tmp_path / "b.zarr").header.quantity == "HOMO (orbital 21)"


def test_without_the_package_one_line_says_what_to_install(tmp_path, monkeypatch):
    ob.save(made((5, 6, 7)), tmp_path / "a.zarr")
    monkeypatch.setitem(sys.modules, "zarr", None)
    for do in (lambda: ob.save(made((5, 6, 7)), tmp_path / "b.zarr"), lambda: ob.load_volumes(tmp_path / "a.zarr")):
        with pytest.raises(FileError, match=r"-m pip install '?zarr"):
            do()
    assert os.listdir(tmp_path) == ["a.zarr"]


def test_a_store_takes_no_more_than_was_asked_for(tmp_path):
    volume = made((100, 90, 70))
    ob.save(volume, tmp_path / "a.zarr")
    taken = sum(map(len, contents(tmp_path / "a.zarr").values()))
    assert 0.6 * stores.largest_size(volume.header) < taken < stores.largest_size(volume.header)


def test_a_full_disk_is_told_before(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1 << 20))
    wavefunction = ob.load(BENZENE)
    with pytest.raises(FileError, match="GB of disk"):
        ob.compute_to_file(wavefunction, "homo", ob.Lattice.around(wavefunction, points=200), tmp_path / "a.zarr")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("axes", "names"), [(STRAIGHT, "xyz"), (np.eye(3)[::-1], "zyx"), (OBLIQUE, "abc")])
def test_what_others_are_told(tmp_path, axes, names):
    volume = made((130, 30, 66), axes=axes)
    ob.save(volume, tmp_path / "a.zarr")
    image = json.loads((tmp_path / "a.zarr" / "zarr.json").read_text())["attributes"]["ome"]["multiscales"][0]
    assert [axis["name"] for axis in image["axes"]] == list(names)
    assert {(axis["type"], axis["unit"]) for axis in image["axes"]} == {("space", "angstrom")}
    levels = pyramid(volume.lattice)
    assert [dataset["path"] for dataset in image["datasets"]] == [f"{n}/values" for n in range(len(levels))]
    for level, dataset in zip(levels, image["datasets"], strict=True):
        scale, shift = dataset["coordinateTransformations"]
        assert scale["scale"] == pytest.approx(level.spacings / angstrom)
        if names != "abc":
            assert shift["translation"] == pytest.approx([level.origin["xyz".index(n)] / angstrom for n in names])
        else:
            along = np.linalg.solve(volume.lattice.axes.T, level.origin - volume.lattice.origin)
            assert shift["translation"] == pytest.approx(along * volume.lattice.spacings / angstrom)


@pytest.mark.slow
def test_xarray_opens_each_level(tmp_path, recwarn):
    xarray = pytest.importorskip("xarray", reason="another reader of stores, which is not needed for ours")
    volume = made((130, 30, 66))
    ob.save(volume, tmp_path / "a.zarr")
    for number, level in enumerate(pyramid(volume.lattice)):
        data = xarray.open_zarr(tmp_path / "a.zarr", group=str(number), chunks=None)["values"]
        assert data.dims == ("x", "y", "z")
        assert data.attrs == {"long_name": "HOMO", "units": "bohr^-3/2"}
        assert data.y.attrs["units"] == "angstrom"
        assert data.y.values == pytest.approx(
            (level.origin[1] + np.arange(level.shape[1]) * level.axes[1, 1]) / angstrom
        )
        if number == 0:
            assert np.array_equal(data.values, volume.values)
            nearest = data.sel(x=0.1, y=2.0, z=4.0, method="nearest")
            index = np.round(([0.1, 2.0, 4.0] * np.array(angstrom) - volume.lattice.origin) / level.spacings).astype(
                int
            )
            assert float(nearest) == volume.values[tuple(index)]
    assert not [warning for warning in recwarn if "onsolidated" in str(warning.message)]


def test_nothing_comes_back_of_a_folder_to_which_threads_still_write(tmp_path):
    def write_on(folder):
        for n in range(30):
            (folder / "deep").mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # the folder may go between the two
                (folder / "deep" / str(n)).touch()
            time.sleep(0.01)

    def interrupted():
        with folder_written_atomically(tmp_path / "a.zarr", lambda folder: True) as folder:
            writer = threading.Thread(target=write_on, args=(folder,))
            writer.start()
            writers.append(writer)
            raise KeyboardInterrupt

    writers = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    writers[0].join()
    assert list(tmp_path.iterdir()) == []
