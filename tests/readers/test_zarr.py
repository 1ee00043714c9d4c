"""Zarr stores, read part by part: damage is named, what is not there is not made up, others' are read where clear."""

import json
import os
import shutil

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FileError, LatticeError, OrbitileError
from orbitile.exporters import zarr as stores
from orbitile.model.units import angstrom
from orbitile.readers import files_of, holds_volumes, load_atoms
from orbitile.session.source import atoms_of, is_volume_file, volumes_of

zarr = pytest.importorskip("zarr", reason="stores need zarr (extra stores), which needs Python 3.11")


@pytest.fixture(scope="module")
def volume():
    """Noise."""
    lattice = ob.Lattice([-1.0, 2.0, 3.3], np.diag([0.1, 0.2, 0.3]), (37, 70, 33))
    return ob.Volume(np.random.default_rng(3).normal(size=lattice.shape).astype(np.float32), lattice, "HOMO", "u")


@pytest.fixture(scope="module")
def whole(volume, tmp_path_factory):
    """A store of five rows and several shards in each."""
    path = tmp_path_factory.mktemp("stores") / "whole.zarr"
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, small in (("_ROW_POINTS", 1), ("_SHARD_EDGE", 32), ("_CHUNK_POINTS", 1 << 11)):
            monkeypatch.setattr(stores, name, small)
        ob.save(volume, path)
    return path


@pytest.fixture
def store(whole, tmp_path):
    """A copy to damage."""
    return shutil.copytree(whole, tmp_path / "a.zarr")


def edited(file, change):
    """Change what a file with metadata says."""
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


def test_parts(whole, volume):
    stored = ob.open_volume(whole)
    assert [header.lattice.shape for header in stored.headers] == [(37, 70, 33), (18, 35, 16)]
    assert stored.header.dtype == np.float32
    part = stored.region((3, 5, 7), (20, 6, 33))
    assert np.array_equal(part.values, volume.values[3:20, 5:6, 7:33])
    assert part.lattice.points()[0] == pytest.approx(volume.lattice.origin + [3, 5, 7] @ volume.lattice.axes)
    assert np.array_equal(stored.slab(8, 9).values, volume.values[8:9])
    slabs = list(stored.slabs(10))
    assert [len(slab.values) for slab in slabs] == [10, 10, 10, 7]
    assert np.array_equal(np.concatenate([slab.values for slab in slabs]), volume.values)
    assert sum(len(slab.values) for slab in stored.slabs()) == 37
    coarse = stored.level(1)
    assert (coarse.first, coarse.whole().values.shape, coarse.n_bytes) == (1, (18, 35, 16), 4 * 18 * 35 * 16)
    assert stored.within(10**9).first == 0
    assert stored.within(50_000).first == stored.within(1).first == 1
    for start, stop in (((0, 0, 0), (38, 1, 1)), ((-1, 0, 0), (1, 1, 1)), ((2, 0, 0), (2, 1, 1))):
        with pytest.raises(LatticeError, match="got the part"):
            stored.region(start, stop)
    with pytest.raises(LatticeError, match="levels 0 to 1"):
        stored.level(2)


def test_what_does_not_fit_in_memory_is_refused(whole, monkeypatch):
    monkeypatch.setattr("orbitile.base.memory.available_memory", lambda: 200_000)
    stored = ob.open_volume(whole)
    with pytest.raises(OrbitileError, match="read it by slabs, or a coarser level"):
        stored.whole()
    assert stored.level(1).whole().values.shape == (18, 35, 16)


def test_a_viewer_shows_the_finest_level_that_fits_and_says_so(whole, monkeypatch):
    (shown,) = volumes_of(str(whole))
    assert (shown.values.shape, shown.quantity) == ((37, 70, 33), "HOMO")
    monkeypatch.setattr("orbitile.session.source.MOST_SHOWN", 100_000)
    (shown,) = volumes_of(str(whole))
    assert shown.values.shape == (18, 35, 16)
    assert shown.quantity == "HOMO (level 1 of its pyramid, (18, 35, 16) of (37, 70, 33) points)"
    assert is_volume_file(str(whole))
    assert len(atoms_of(str(whole), shown).atomic_numbers) == 1  # a ghost in their place


def test_atoms_and_files(whole, tmp_path):
    assert load_atoms(whole) is None
    wavefunction = ob.load(ob.__path__[0] + "/data/benzene.molden")
    lattice = ob.Lattice.around(wavefunction, points=8)
    volume = ob.Volume(np.zeros(lattice.shape), lattice)
    ob.save(volume, tmp_path / "a.zarr", wavefunction=wavefunction)
    geometry = load_atoms(tmp_path / "a.zarr")
    assert np.array_equal(geometry.positions, wavefunction.positions)
    names = [str(file.relative_to(tmp_path / "a.zarr")) for file in files_of(tmp_path / "a.zarr")]
    assert "zarr.json" in names
    assert "0/values/c/0/0/0" in names
    assert holds_volumes(whole)


@pytest.mark.parametrize("number", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 40))])
def test_a_flipped_bit_is_found_wherever_it_is(store, number):
    random = np.random.default_rng(number)
    files = sorted(file for file in (store / "0" / "values" / "c").rglob("*") if file.is_file())
    file = files[random.integers(len(files))]
    data = bytearray(file.read_bytes())
    at = random.integers(len(data))
    data[at] ^= 1 << random.integers(8)
    file.write_bytes(data)
    with pytest.raises(FileError, match="c/" + "/".join(file.parts[-3:])):
        ob.open_volume(store).whole()


SHARD = ("0", "values", "c", "1", "0", "0")


def test_missing_and_truncated_shards_are_named(store, volume):
    shard = store.joinpath(*SHARD)
    data = shard.read_bytes()
    stored = ob.open_volume(store)
    for damaged in (data[:-1], data[: len(data) // 2], data[:10], b"", data + b"\0" * (4 << 20)):
        shard.write_bytes(damaged)
        with pytest.raises(FileError, match="c/1/0/0"):
            stored.whole()
    assert np.array_equal(stored.slab(16, 37).values, volume.values[16:])  # others are sound
    shard.unlink()
    with pytest.raises(FileError, match="c/1/0/0 is missing; the store is incomplete"):
        stored.slab(8, 9)
    shard.mkdir()
    with pytest.raises(FileError, match="c/1/0/0 is no file"):
        stored.slab(8, 9)
    shard.rmdir()
    shard.symlink_to("/dev/zero")
    with pytest.raises(FileError, match="c/1/0/0 is no file"):
        stored.slab(8, 9)


def test_a_chunk_that_is_not_there_is_no_value(store):
    """The index of the shard says that it was never stored, and its checksum is right."""
    import google_crc32c

    shard = store.joinpath(*SHARD)
    data = shard.read_bytes()
    n_chunks = 4  # of 8 x 16 x 16 points in 8 x 32 x 32
    at = len(data) - 4 - 16 * n_chunks
    index = np.frombuffer(data[at:-4], "<u8").copy()
    index[2:4] = 2**64 - 1
    shard.write_bytes(data[:at] + index.tobytes() + google_crc32c.value(index.tobytes()).to_bytes(4, "little"))
    with pytest.raises(FileError, match=r"c/1/0/0: a chunk is missing"):
        ob.open_volume(store).whole()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a["lattice"].update(shape=[10**9] * 3), "is missing"),
        (lambda a: a["lattice"].update(shape=[37, 70]), "shape"),
        (lambda a: a["lattice"].update(shape="many"), "shape"),
        (lambda a: a["lattice"].update(shape=[0, 70, 33]), "shape"),
        (lambda a: a["lattice"].update(origin=[float("nan"), 0, 0]), "origin"),
        (lambda a: a["lattice"].update(axes=[[0, 0, 0]] * 3), "axes"),
        (lambda a: a["lattice"].update(axes=[[1e300, 0, 0], [0, 1e300, 0], [0, 0, 1e300]]), "bohr"),
        (lambda a: a.update(lattice=None), "damaged metadata"),
        (lambda a: a.update(kind="trajectory"), "expected a volume"),
        (lambda a: a.update(version=2), "version 2"),
        (lambda a: a.pop("unit"), "damaged metadata"),
        (lambda a: a["atoms"].update(atomic_numbers=[999], core_charges=[1], positions=[[0, 0, 0]]), "atomic numbers"),
        (lambda a: a["atoms"].update(atomic_numbers=[1]), "1 atoms with 0"),
        (lambda a: a["atoms"].update(positions=[[1, 2]]), "list of atoms"),
    ],
)
def test_nonsense_in_our_attributes(store, change, message):
    edited(store / "zarr.json", lambda data: change(data["attributes"]["orbitile"]))
    with pytest.raises(FileError, match=message):
        ob.open_volume(store)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.update(shape=[10**12, 70, 33]), "expected"),
        (lambda a: a.update(shape=[0, 70, 33]), "points"),
        (lambda a: a.update(shape=[37, 70]), "damaged"),
        (lambda a: a.update(data_type="string"), "damaged|real numbers"),
        (lambda a: a.update(data_type="complex128"), "damaged|real numbers"),
        (lambda a: a.update(codecs=[]), "damaged"),
        (lambda a: a["codecs"][0]["configuration"].update(chunk_shape=[0, 16, 16]), "damaged"),
        (lambda a: a["chunk_grid"]["configuration"].update(chunk_shape=[1 << 20] * 3), "larger|damaged"),
        (lambda a: a["codecs"][0]["configuration"]["codecs"].append({"name": "numcodecs.lzma"}), "damaged|stored by"),
        (lambda a: a.pop("shape"), "damaged"),
        (lambda a: a.update(node_type="group"), "damaged"),
    ],
)
def test_nonsense_in_the_metadata_of_an_array(store, change, message):
    edited(store / "0" / "values" / "zarr.json", change)
    with pytest.raises(FileError, match=message) as caught:
        ob.open_volume(store).whole()
    assert "\n" not in str(caught.value)


def test_what_is_no_metadata(store, tmp_path):
    heading = store / "0" / "values" / "zarr.json"
    for text in ("", "{", "[]", "[" * 100_000, '{"zarr_format": 3}', "\0" * 10, "9" * 10_000):
        heading.write_text(text)
        with pytest.raises(FileError, match="metadata are damaged"):
            ob.open_volume(store)
    heading.unlink()
    with pytest.raises(FileError, match=r"zarr\.json is missing"):
        ob.open_volume(store)
    os.mkfifo(heading)
    with pytest.raises(FileError, match="no file"):
        ob.open_volume(store)
    for text in ("", "{", "[]", "[" * 100_000, '{"attributes": 1, "node_type": "group"}'):
        (store / "zarr.json").write_text(text)
        with pytest.raises(FileError, match="no group of Zarr"):
            ob.open_volume(store)
    (store / "zarr.json").unlink()
    with pytest.raises(FileError, match=r"without zarr\.json"):
        ob.load_volumes(store)
    (tmp_path / "a.cube").write_text("")
    with pytest.raises(FileError, match="no such file"):
        ob.open_volume(tmp_path / "none.zarr")


def image(path, values, axes, datasets=None, *, version=3, store=True, **more):
    """A store of another program."""
    group = zarr.open_group(str(path), mode="w", zarr_format=version)
    if store:
        group.create_array(
            "s0", data=values, chunks=values.shape, **({} if version == 3 else {"chunk_key_encoding": None})
        )
    scale = [{"type": "scale", "scale": [1.0] * (values.ndim - 3) + [0.5, 0.4, 0.3]}]
    described = {"axes": axes, "datasets": datasets or [{"path": "s0", "coordinateTransformations": scale}], **more}
    multiscales = {"multiscales": [described]}
    group.attrs.update({"ome": {"version": "0.5", **multiscales}} if version == 3 else multiscales)
    return path


def lengths(names="zyx", unit="nanometer"):
    return [{"name": name, "type": "space", "unit": unit} for name in names]


@pytest.mark.parametrize("version", [3, 2])
def test_an_image_of_another_program(tmp_path, version):
    values = np.arange(2 * 3 * 4, dtype=np.uint16).reshape(1, 2, 3, 4)
    axes = [{"name": "c", "type": "channel"}, *lengths()]
    path = image(
        tmp_path / "a.zarr", values, axes, version=version, name="cells",
        coordinateTransformations=[{"type": "translation", "translation": [0, 3, 2, 1]}],
    )  # fmt: skip
    (volume,) = ob.load_volumes(path)
    assert volume.values.dtype == np.float32
    assert np.array_equal(volume.values, values[0].transpose(2, 1, 0))
    assert np.diag(volume.lattice.axes) == pytest.approx(np.array([3, 4, 5]) * angstrom)
    assert volume.lattice.origin == pytest.approx(np.array([10, 20, 30]) * angstrom)
    assert volume.quantity == "cells"
    part = ob.open_volume(path).region((1, 1, 0), (3, 2, 2))
    assert np.array_equal(part.values, volume.values[1:3, 1:2])


@pytest.mark.parametrize(
    ("axes", "datasets", "message"),
    [
        (lengths(unit=None), None, "got None"),
        (lengths(unit="parsec"), None, "got parsec"),
        (lengths("abc"), None, "expected x, y and z"),
        ([{"name": "t", "type": "time"}, *lengths("yx")], None, "expected x, y and z"),
        (lengths(), [{"path": "s0", "coordinateTransformations": [{"type": "affine"}]}], "affine"),
        (lengths(), [{"path": "../whole.zarr/0/values", "coordinateTransformations": []}], "outside the store"),
        (lengths(), [{"path": "/etc", "coordinateTransformations": []}], "outside the store"),
        (lengths(), [{"path": "none", "coordinateTransformations": []}], "is missing"),
        (lengths(), [{"path": "s0"}], "damaged metadata"),
        (lengths(), [{"path": "s0", "coordinateTransformations": [{"type": "scale", "scale": [1]}]}], "damaged"),
        (lengths(), [{"path": "s0", "coordinateTransformations": [{"type": "scale", "scale": [0, 1, 1]}]}], "axes"),
    ],
)
def test_images_that_are_not_clear_are_refused(tmp_path, axes, datasets, message):
    path = image(tmp_path / "a.zarr", np.zeros((2, 3, 4), np.float32), axes, datasets)
    with pytest.raises(FileError, match=message):
        ob.open_volume(path)


def test_an_array_without_a_place_is_refused(tmp_path):
    zarr.create_group(str(tmp_path / "a.zarr"), zarr_format=3)
    with pytest.raises(FileError, match="without OME-Zarr's multiscales"):
        ob.load_volumes(tmp_path / "a.zarr")
    path = image(tmp_path / "b.zarr", np.full((2, 3, 4), np.nan, np.float32), lengths())
    with pytest.raises(FileError, match="is nan, expected a finite number"):
        ob.load_volumes(path)
    path = image(tmp_path / "c.zarr", np.zeros((2, 2, 3, 4)), [{"name": "c", "type": "channel"}, *lengths()])
    with pytest.raises(FileError, match="one point along all but x, y and z"):
        ob.load_volumes(path)
