"""Series in Zarr stores: whole after a kill, readable while they grow, converted bit by bit, opened by xarray."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from shutil import copytree, rmtree

import numpy as np
import pytest

import orbitile as ob
from orbitile import SeriesWriter
from orbitile.base.errors import FileError, OrbitileError
from orbitile.commandline import main
from orbitile.readers.series import SeriesFrames
from orbitile.session.source import content_of
from tests.conftest import random_wavefunction
from tests.trajectories.test_series import APPEND, assert_same

pytest.importorskip("zarr", reason="stores need zarr (extra stores), which needs Python 3.11")


@pytest.fixture(scope="module")
def store(tmp_path_factory, water) -> Path:
    """Nine frames of water."""
    path = tmp_path_factory.mktemp("stores") / "water.series.zarr"
    with SeriesWriter(path, settings="as they come") as writer:
        for w in water:
            writer.append(w)
    return path


def test_what_is_written_is_read(store, water, tmp_path):
    trajectory = ob.load_trajectory(store)
    assert len(trajectory) == len(water)
    for a, b in zip(water, trajectory, strict=True):
        assert_same(a, b)
    np.testing.assert_array_equal(trajectory.geometries(), [w.positions for w in water])
    with pytest.raises(FileError, match="holds a trajectory of 9 frames, not one wavefunction"):
        ob.load(store)
    with pytest.raises(FileError, match="there is no folder"):
        SeriesWriter(tmp_path / "nowhere" / "water.series.zarr")
    with pytest.raises(FileError, match="other settings"):
        SeriesWriter(store)
    (tmp_path / "a.series.zarr").mkdir()
    (tmp_path / "a.series.zarr" / "letter.txt").write_text("dear")
    with pytest.raises(FileError, match="something else in it"):
        SeriesWriter(tmp_path / "a.series.zarr")
    (tmp_path / "b.series.zarr").write_text("dear")
    with pytest.raises(FileError, match="is a file"):
        SeriesWriter(tmp_path / "b.series.zarr")


def test_two_spins_and_orbitals_that_come_and_go(tmp_path):
    frames = []
    for n in (6, 4, 8):
        w = random_wavefunction(1, n_orbitals=n)
        frames.append(replace(w, beta=ob.Orbitals(w.alpha.coefficients[:, 1:], np.zeros(n - 1))))
    path = tmp_path / "s.series.zarr"
    with SeriesWriter(path) as writer:
        for number, w in zip((0, 5, 6), frames, strict=True):
            writer.append(w, number)
        with pytest.raises(FileError, match="frame 8 has 1 sets of orbitals, expected 2"):
            writer.append(replace(frames[0], beta=None))
        with pytest.raises(FileError, match="another process is writing it"):
            SeriesWriter(path)
    with SeriesWriter(path) as writer:  # goes on in the same folder
        assert writer.numbers == [0, 5, 6]
        writer.append(frames[1])
    source = SeriesFrames(path)
    for index, w in enumerate((*frames, frames[1])):
        assert_same(source.read(index, check=False), w)
    assert [source.number(index) for index in range(4)] == [0, 5, 6, 7]


@pytest.mark.slow
def test_xarray_opens_it(store, water):
    xarray = pytest.importorskip("xarray", reason="a reference that opens stores by itself")
    dataset = xarray.open_zarr(store, chunks=None)
    assert dataset.sizes["frame"] == 9
    assert dataset["positions"].dims == ("frame", "atom", "xyz")
    assert dataset["positions"].attrs["units"] == "bohr"
    assert dataset["alpha_coefficients"].dims == ("frame", "basis_function", "orbital")
    assert dataset["alpha_energies"].attrs["units"] == "hartree"
    assert set(dataset.coords) == {"number", "atomic_numbers", "core_charges"}
    np.testing.assert_array_equal(dataset["alpha_energies"][3], water[3].alpha.energies)
    np.testing.assert_array_equal(dataset["alpha_coefficients"][8], water[8].alpha.coefficients)


def test_read_while_it_grows(tmp_path, water):
    path = tmp_path / "s.series.zarr"
    with SeriesWriter(path) as writer:
        here = None
        for n, w in enumerate(water[:3], 1):
            writer.append(w)
            here = here or ob.load_trajectory(path)
            assert len(here) == n
            assert_same(here[n - 1], w)
            with pytest.raises(OrbitileError, match="there is no frame"):
                here[n]
    assert len(here) == 3


@pytest.mark.slow
def test_there_and_back_bit_by_bit(store, tmp_path, water, capsys):
    h5py = pytest.importorskip("h5py", reason="HDF5 files need h5py (extra trajectories)")
    first, second, third = (tmp_path / name for name in ("one.h5", "two.series.zarr", "three.h5"))
    for source, target in ((store, first), (first, second), (second, third)):
        assert main(["series", "-q", str(source), "-o", str(target)]) == 0
    assert "three.h5: 9 frames" in capsys.readouterr().out
    for path in (first, second, third):
        for a, b in zip(water, ob.load_trajectory(path), strict=True):
            assert_same(a, b)

    def content(file: Path) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        with h5py.File(file) as opened:
            opened.visititems(
                lambda name, item: found.update({name: item[()].tobytes()}) if hasattr(item, "shape") else None
            )
        return found

    assert content(first) == content(third)
    # a series is replaced when the new one is complete, anything else is not
    assert main(["series", "-q", str(first), "-o", str(second)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.h5", "three.h5", "two.series.zarr"]
    (second / "zarr.json").unlink()
    assert main(["series", "-q", str(first), "-o", str(second)]) == 2
    assert "something else in it" in capsys.readouterr().err


# Damage -----------------------------------------------------------------------------------------------------------


def flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 0x10
    file.write_bytes(data)


def heading(path: Path, change) -> None:
    found = json.loads((path / "zarr.json").read_bytes())
    change(found, found["consolidated_metadata"]["metadata"])
    (path / "zarr.json").write_text(json.dumps(found))


def counted(n):
    def change(found, arrays):
        found["attributes"]["orbitile"]["frames"] = n

    return change


def lengthened(n, everywhere=True):
    def change(found, arrays):
        found["attributes"]["orbitile"]["frames"] = n
        for metadata in arrays.values():
            if metadata["dimension_names"][0] == "frame":
                metadata["shape"][0] = n

    return change


def reshaped(name, shape, chunks=None):
    def change(found, arrays):
        arrays[name]["shape"] = shape
        if chunks:
            arrays[name]["chunk_grid"]["configuration"]["chunk_shape"] = chunks

    return change


def codec(found, arrays):
    arrays["positions"]["codecs"] = [{"name": "nonsense"}]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda p: flip(p / "positions/c/0/0/0", 40), "frame 1: positions is damaged .*checksum"),
        (lambda p: flip(p / "alpha_coefficients/c/0/0/0", 100), "frame 1: alpha_coefficients is damaged"),
        (lambda p: flip(p / "alpha_energies/c/0/0", 30), "frame 1: alpha_energies is damaged"),
        (lambda p: (p / "alpha_energies/c/0/0").unlink(), "frame 1: the file alpha_energies/c/0/0 is missing"),
        (lambda p: rmtree(p / "alpha_coefficients"), "frame 1: the file alpha_coefficients/c/0/0/0 is missing"),
        (lambda p: (p / "positions/c/0/0/0").write_bytes(b""), "frame 1: positions is damaged"),
        (lambda p: (p / "basis_exponents/c/0").unlink(), "the file basis_exponents/c/0 is missing"),
        (lambda p: flip(p / "basis_exponents/c/0", 20), "basis_exponents is damaged"),
        (lambda p: (p / "zarr.json").write_bytes(b"{}"), "damaged|not"),
        (lambda p: (p / "zarr.json").write_text((p / "zarr.json").read_text()[:-40]), "damaged|not"),
        (lambda p: heading(p, counted(10)), "expected 10 frames, got an array of shape"),
        (lambda p: heading(p, counted(-1)), "expected 0 or more, got -1"),
        (lambda p: heading(p, lengthened(10**15)), "memory|missing"),
        (lambda p: heading(p, reshaped("positions", [9, 4, 3])), "expected frames of shape"),
        (lambda p: heading(p, reshaped("alpha_coefficients", [9, 14, 7])), "expected frames of shape"),
        (lambda p: heading(p, reshaped("alpha_energies", [9, 10**12], [1, 10**12])), "memory|damaged"),
        (lambda p: heading(p, reshaped("atomic_numbers", [10**12])), "MiB at most|missing"),
        (lambda p: heading(p, codec), "damaged"),
        (lambda p: heading(p, lambda found, arrays: arrays.pop("number")), "damaged Zarr store .*number"),
    ],
)  # fmt: skip
def test_damaged_stores(store, tmp_path, damage, told):
    path = tmp_path / "s.series.zarr"
    copytree(store, path)
    damage(path)
    with pytest.raises(FileError, match=told):
        read_all(path)


def read_all(path):
    frames = ob.load_trajectory(path)
    frames[0]
    frames.geometries()


def test_one_lost_shard_costs_its_frames_only(tmp_path):
    """Frames of two shards: those of the other are read, and those that are lost are told with their numbers."""
    n = 50  # enough for a frame to be a chunk of a shard
    shells = tuple(ob.Shell(0, 0, False, [0.5 + i], [1.0]) for i in range(n))
    w = ob.Wavefunction(
        atomic_numbers=[1], positions=np.zeros((1, 3)), shells=shells,
        alpha=ob.Orbitals(np.eye(n), np.zeros(n)),
    )  # fmt: skip
    with SeriesWriter(tmp_path / "s.series.zarr", most=2) as writer:
        for _ in range(3):
            writer.append(w)
    shard = tmp_path / "s.series.zarr" / "alpha_coefficients/c/0/0/0"
    data = shard.read_bytes()
    source = SeriesFrames(tmp_path / "s.series.zarr")
    shard.write_bytes(data[: len(data) - 10])
    with pytest.raises(FileError, match="frame 2: alpha_coefficients is damaged"):
        source.read(1, check=False)
    shard.unlink()
    with pytest.raises(FileError, match=r"s.series.zarr: frame 1: the file alpha_coefficients/c/0/0/0 is missing"):
        source.read(0, check=False)
    assert_same(source.read(2, check=False), w)


# Other processes --------------------------------------------------------------------------------------------------


def content_is_right(source, index: int) -> None:
    content = np.random.default_rng(index)
    read = source.read(index, check=False)
    np.testing.assert_array_equal(read.positions, content.normal(size=(8, 3)))
    np.testing.assert_array_equal(read.alpha.coefficients, content.normal(size=(24, 24)))
    assert np.all(read.alpha.energies == index)


def killed_again_and_again(path: Path, rounds: int, frames: int) -> int:
    """Append in processes that are killed: the number of frames that are there at last."""
    rng, committed = np.random.default_rng(), 0
    for round_ in range(rounds):
        with subprocess.Popen(
            [sys.executable, "-c", APPEND, str(path), "0"], stdout=subprocess.PIPE, text=True, bufsize=1
        ) as process:
            wanted = committed + int(rng.integers(1, frames))
            for line in process.stdout:
                committed = int(line)
                if committed >= wanted:
                    break
            time.sleep(rng.uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
            rest = process.stdout.read().split()
        told = int(rest[-1]) if rest and rest[-1].isdigit() else committed
        source = SeriesFrames(path)
        committed = len(source)
        assert told <= committed <= told + 1, round_
        for frame in {0, committed // 2, committed - 1}:
            content_is_right(source, frame)
    return committed


@pytest.mark.linux
@pytest.mark.slow
def test_killed_again_and_again_it_loses_nothing(tmp_path):
    """Whatever was reported as appended is there after SIGKILL, at most one frame more, and the series goes on."""
    committed = killed_again_and_again(tmp_path / "s.series.zarr", 7, 40)
    source = SeriesFrames(tmp_path / "s.series.zarr")
    for frame in range(committed):
        content_is_right(source, frame)
    SeriesWriter(tmp_path / "s.series.zarr").close()
    assert not [*(tmp_path / "s.series.zarr").rglob("*.partial")]


@pytest.mark.linux
def test_killed_once_it_loses_nothing(tmp_path):
    """The same, quickly."""
    killed_again_and_again(tmp_path / "s.series.zarr", 1, 4)


@pytest.mark.linux
@pytest.mark.slow
def test_another_process_never_sees_half_a_frame(tmp_path):
    path = tmp_path / "s.series.zarr"
    openings = 0
    with subprocess.Popen([sys.executable, "-c", APPEND, str(path), "0"], stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.stdout.readline()
        trajectory, seen = SeriesFrames(path), 0
        until = time.monotonic() + 8
        while time.monotonic() < until:
            n = len(trajectory)
            assert n >= seen
            for frame in {n - 1, n // 2}:
                content_is_right(trajectory, frame)
                content_is_right(SeriesFrames(path), frame)
            seen, openings = n, openings + 2
        process.kill()
    assert seen > 50
    assert openings > 50


@pytest.mark.linux
@pytest.mark.slow
def test_a_full_disk_does_no_harm(tmp_path):
    """A limit on the size of files stands for it: the writer says so in one line, and all frames are there."""
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000,) * 2)" + APPEND
    done = subprocess.run(
        [sys.executable, "-c", limited, str(tmp_path / "s.series.zarr"), "0"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("orbitile.base.errors.FileError")
    source = SeriesFrames(tmp_path / "s.series.zarr")
    assert len(source) == int(done.stdout.split()[-1]) > 10
    content_is_right(source, len(source) - 1)


@pytest.mark.slow
def test_orbitals_for_geometries_are_continued(tmp_path):
    """`orbitile scf` into a store: what it has is not done again, and a store and a file of HDF5 hold the same."""
    pytest.importorskip("pyscf", reason="an engine of self-consistent fields (extra scf)")
    h2 = "2\n\nH 0 0 0\nH 0 0 {}\n"
    (tmp_path / "short.xyz").write_text("".join(h2.format(0.7 + 0.1 * n) for n in range(2)))
    (tmp_path / "long.xyz").write_text("".join(h2.format(0.7 + 0.1 * n) for n in range(4)))
    for target in ("s.series.zarr", "s.h5"):
        for geometries, n in (("short.xyz", 2), ("long.xyz", 4)):
            options = ["--basis", "sto-3g", "--engine", "pyscf", "-o", str(tmp_path / target)]
            assert main(["scf", "-q", str(tmp_path / geometries), *options]) == 0
            assert len(ob.load_trajectory(tmp_path / target)) == n
    for a, b in zip(ob.load_trajectory(tmp_path / "s.series.zarr"), ob.load_trajectory(tmp_path / "s.h5"), strict=True):
        np.testing.assert_array_equal(a.positions, b.positions)
        np.testing.assert_allclose(a.alpha.energies, b.alpha.energies, atol=1e-8)


def test_content_of_a_store_that_grows(tmp_path, water):
    """What a saved session compares: it stays when frames are added, and changes with the frames that were there."""
    path = tmp_path / "s.series.zarr"
    with SeriesWriter(path) as writer:
        writer.append(water[0])
        before = content_of(str(path))
        writer.append(water[1])
    assert before.startswith("1-")
    assert content_of(str(path)).startswith("2-")
    assert content_of(str(path), before) == before
    rmtree(path)
    with SeriesWriter(path) as writer:
        writer.append(water[1])
    assert content_of(str(path), before) != before
