"""Fields along trajectories in one store: the same bits whoever computes them, nothing done twice, holes told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FieldError, FileError, OrbitileError
from orbitile.commandline import main
from orbitile.commandline.volume import read_frames
from orbitile.trajectories import volumes as module
from orbitile.workers import local_workers

pytest.importorskip("zarr", reason="stores need zarr (extra stores), which needs Python 3.11")
pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")

LATTICE = ob.Lattice.box([-3, -4, -3], [3, 4, 4], 1.0)


class Here(Executor):
    """Runs what is submitted at once, in this process."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments, **keywords))
        except Exception as error:  # handed over, whatever it is, as executors do
            future.set_exception(error)
        return future


@pytest.fixture(scope="module")
def series(tmp_path_factory, water) -> Path:
    """Nine frames of water."""
    path = tmp_path_factory.mktemp("volumes") / "water.h5"
    with ob.SeriesWriter(path) as writer:
        for w in water:
            writer.append(w)
    return path


@pytest.fixture(scope="module")
def expected(water) -> list[np.ndarray]:
    return [ob.compute(w, "homo", LATTICE, device="cpu").values for w in water]


def assert_values(volumes, expected) -> None:
    assert volumes.done == list(range(len(expected)))
    for volume, values in zip(volumes, expected, strict=True):
        np.testing.assert_array_equal(volume.whole().values, values)


def test_values_of_each_frame_and_what_was_done_is_not_done_again(tmp_path, series, water, expected, monkeypatch):
    path = tmp_path / "homo.zarr"
    computed: list[int] = []
    compute = module.compute
    monkeypatch.setattr(module, "compute", lambda *a, **k: (computed.append(1), compute(*a, **k))[1])
    shares: list[float] = []
    volumes = ob.compute_volumes(series, "homo", LATTICE, path, frames=range(4), device="cpu", progress=shares.append)
    assert shares[-1] == 1.0
    assert (len(volumes), len(computed)) == (4, 4)
    # frames that came since, by another executor
    more = ob.compute_volumes(series, "homo", LATTICE, path, device="cpu", executor=Here())
    assert len(computed) == 9
    assert len(volumes) == len(more) == 9
    assert_values(volumes, expected)
    assert more.numbers == list(range(9))
    assert more.header.quantity.startswith("HOMO")
    np.testing.assert_array_equal(more[-1].geometry.positions, water[-1].positions)
    np.testing.assert_array_equal(more[2].region((1, 2, 3), (4, 5, 6)).values, expected[2][1:4, 2:5, 3:6])
    with pytest.raises(FieldError, match="there is no frame 9"):
        more[9]
    for change, told in (
        ({"field": "lumo"}, "another settings"),
        ({"lattice": ob.Lattice.box([-3, -4, -3], [3, 4, 4], 2.0)}, "another lattice"),
        ({"frames": [1, 2]}, "frames that differ"),
        ({"precision": "double"}, "values of float32"),
        ({"trajectory": [series, series]}, "no frame can be read"),
    ):
        arguments = {"trajectory": series, "field": "homo", "lattice": LATTICE, "path": path, **change}
        with pytest.raises(OrbitileError, match=told):
            ob.compute_volumes(**arguments)
    assert len(computed) == 9


def test_a_frame_that_cannot_be_read_is_a_hole(tmp_path, water, expected):
    files = []
    for n, w in enumerate(water[:3]):
        with ob.SeriesWriter(tmp_path / f"{n}.h5") as writer:
            writer.append(w)
        files.append(tmp_path / f"{n}.h5")
    sound = files[1].read_bytes()
    files[1].write_bytes(sound[:700])
    told: list[str] = []
    path = tmp_path / "homo.zarr"
    volumes = ob.compute_volumes(files, "homo", LATTICE, path, device="cpu", report=told.append)
    assert len(told) == 1
    assert told[0].startswith("frame 2 is missing: 1.h5: cut off")
    assert volumes.done == [0, 2]
    assert len([*volumes]) == 2
    with pytest.raises(FileError, match=r"frame 2 is missing: 1\.h5: cut off"):
        volumes[1]
    files[1].write_bytes(sound)  # it is tried again
    assert_values(ob.compute_volumes(files, "homo", LATTICE, path, device="cpu"), expected[:3])
    assert_values(volumes, expected[:3])


@pytest.mark.slow
def test_orbitals_that_are_followed(tmp_path, series):
    trajectory = ob.load_trajectory(series)
    tracking = ob.track(trajectory)
    volumes = ob.compute_volumes(trajectory, "homo", LATTICE, tmp_path / "a.zarr", tracking=tracking, device="cpu")
    one = ob.compute(tracking.followed(5), tracking.field("homo"), LATTICE, device="cpu")
    np.testing.assert_array_equal(volumes[5].whole().values, one.values)


@pytest.mark.slow
def test_xarray_opens_it(tmp_path, series, expected):
    xarray = pytest.importorskip("xarray", reason="a reference that opens stores by itself")
    ob.compute_volumes(series, "homo", LATTICE, tmp_path / "homo.zarr", frames=[2, 5], device="cpu")
    dataset = xarray.open_zarr(tmp_path / "homo.zarr", chunks=None)
    assert dataset["values"].dims == ("frame", "x", "y", "z")
    assert dataset["values"].attrs["units"] == "bohr^-3/2"
    np.testing.assert_array_equal(dataset["number"], [2, 5])
    np.testing.assert_array_equal(dataset["values"].sel(x=dataset["x"][1])[1], expected[5][1])
    np.testing.assert_allclose(dataset["x"], np.arange(-3, 4) * 0.529177210903, rtol=1e-6)


def test_damaged_stores(tmp_path, series):
    path = tmp_path / "homo.zarr"
    ob.compute_volumes(series, "homo", LATTICE, path, frames=range(3), device="cpu")
    volumes = ob.open_volumes(path)
    shard = path / "values/c/1/0/0/0"
    data = bytearray(shard.read_bytes())
    data[20] ^= 1
    shard.write_bytes(data)
    with pytest.raises(FileError, match="frame 2: values is damaged"):
        volumes[1].whole()
    shard.unlink()
    with pytest.raises(FileError, match=r"homo\.zarr: frame 2: the file values/c/1/0/0/0 is missing"):
        volumes[1].whole()
    assert volumes[0].whole().values.shape == LATTICE.shape
    (path / "state/c/0").unlink()
    with pytest.raises(FileError, match="the file state/c/0 is missing"):
        volumes[0]
    (path / "zarr.json").write_text("{}")
    with pytest.raises(FileError, match="expected a Zarr store with a series of volumes, got none"):
        ob.open_volumes(path)
    with pytest.raises(FileError, match="no such store"):
        ob.open_volumes(tmp_path / "nothing.zarr")


def test_frames_as_they_are_listed():
    assert read_frames("all", 3) == [0, 1, 2]
    assert read_frames("2-3,1", 3) == [0, 1, 2]
    assert read_frames("::5", 11) == [0, 5, 10]
    assert read_frames("2:8:3", 11) == [1, 4, 7]
    for text in ("0", "4", "3-2", "x", "", "1-9", "::0"):
        with pytest.raises(OrbitileError, match="--frames: expected"):
            read_frames(text, 3)


@pytest.mark.slow
def test_the_command(tmp_path, series, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["volume", str(series), "homo", "--spacing", "0.5", "--device", "cpu", "--frames"]
    assert main([*command, "::2", "--workers", "2", "-o", "a.zarr"]) == 0
    assert main([*command, "::2", "-o", "b.zarr"]) == 0
    assert "b.zarr: 5 frames" in capsys.readouterr().out
    a, b = ob.open_volumes("a.zarr"), ob.open_volumes("b.zarr")
    assert_values(a, [volume.whole().values for volume in b])
    assert main([*command, "all", "--follow", "-o", "c.zarr"]) == 0
    assert main([*command, "all", "-o", "c.zarr"]) == 2
    assert "another settings" in capsys.readouterr().err
    assert main([*command, "1-3", "-o", "c.cube"]) == 2
    assert "go to a Zarr store" in capsys.readouterr().err
    assert main(["volume", str(series), "homo", "--frame", "1", "--workers", "2", "-o", "c.cube"]) == 2
    assert "give --frames too" in capsys.readouterr().err


@pytest.mark.slow
def test_the_same_bits_whatever_the_number_of_workers(tmp_path, series, expected):
    for n in (1, 3):
        with local_workers(n) as executor:
            volumes = ob.compute_volumes(
                series, "homo", LATTICE, tmp_path / f"{n}.zarr", executor=executor, device="cpu"
            )
        assert_values(volumes, expected)


COMPUTE = """
import sys
import orbitile as ob
from orbitile.workers import local_workers
lattice = ob.Lattice.box([-3, -4, -3], [3, 4, 4], 1.0)
with local_workers(2) as executor:
    ob.compute_volumes(sys.argv[1], "homo", lattice, sys.argv[2], executor=executor, device="cpu",
                       progress=lambda share: print(share, flush=True))
"""


@pytest.mark.linux
@pytest.mark.slow
def test_killed_again_and_again_it_is_completed(tmp_path, series, expected):
    """Everything is killed, workers too; what was there stays, is not computed again, and in the end all is there."""
    path, rng, before = tmp_path / "homo.zarr", np.random.default_rng(), []
    for round_ in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", COMPUTE, str(series), str(path)], stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        ) as process:  # fmt: skip
            for line in process.stdout:
                if float(line) > (len(before) + 1.2) / len(expected):  # one more is done
                    break
            time.sleep(rng.uniform(0, 0.05))
            os.killpg(process.pid, signal.SIGKILL)
        volumes = ob.open_volumes(path)
        done = volumes.done
        assert set(before) <= set(done), round_
        for index in done:
            np.testing.assert_array_equal(volumes[index].whole().values, expected[index])
        before = done
        if len(done) == len(expected):
            break
    assert len(before) >= min(6, len(expected))
    assert_values(ob.compute_volumes(series, "homo", LATTICE, path, device="cpu"), expected)
    assert not [*path.rglob("*.partial")]


@pytest.mark.slow
def test_workers_of_a_cluster(tmp_path, series, expected):
    distributed = pytest.importorskip("distributed", reason="clusters need distributed (extra cluster)")
    from orbitile.workers.dask import dask_executor

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        volumes = ob.compute_volumes(
            series, "homo", LATTICE, tmp_path / "a.zarr", executor=dask_executor(client), device="cpu"
        )
        assert_values(volumes, expected)
