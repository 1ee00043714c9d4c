"""Slabs of a lattice on the workers of a Dask cluster: the values are those of one process."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import Cancelled, DeviceError, LatticeError, OrbitileError
from orbitile.commandline import main
from orbitile.evaluation import slabs
from orbitile.evaluation.devices import Cluster, first_device, several
from orbitile.exporters import zarr as stores

distributed = pytest.importorskip("distributed", reason="an optional package: orbitile[cluster]")

FIELDS = [("homo", "single"), ("density", "double"), ("esp", "single"), ("density", "single"), ("homo", "double")]


def local_cluster(n, **options):
    return distributed.LocalCluster(
        n_workers=n, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL", **options
    )


def test_what_a_request_means():
    assert several("dask") == Cluster(None)
    assert several("DASK:tcp://Host.example:8786") == Cluster("tcp://Host.example:8786")
    assert str(several("dask:tcp://Host.example:8786")) == "dask:tcp://Host.example:8786"
    assert first_device("dask") is None  # what is too small for a cluster is computed here


def test_what_computes_on_one_device_only_says_so(benzene):
    with pytest.raises(DeviceError, match=r"^device dask: only volume, .* take clusters; here use cuda"):
        ob.evaluate(benzene, "homo", np.zeros((1, 3)), device="dask")
    lattice = ob.Lattice.around(benzene, 1.0, 2.0)
    with pytest.raises(OrbitileError, match="several devices at once compute with auto only"):
        ob.compute(benzene, "homo", lattice, device="dask", kernel="direct")


@pytest.mark.slow
def test_a_cluster_in_this_process(benzene, tmp_path):
    lattice = ob.Lattice.around(benzene, 0.9, 3.0)
    alone = ob.compute(benzene, "homo", lattice, device="cpu")
    shares = []
    with local_cluster(1, processes=False) as cluster, distributed.Client(cluster) as client:
        found = ob.compute(benzene, "homo", lattice, device=client, progress=shares.append)
        ob.compute_to_file(benzene, "homo", lattice, tmp_path / "a.npz", device="dask")
        with pytest.raises(LatticeError):
            ob.compute(benzene, "homo", ob.Lattice([0, 0, 0], np.eye(3), (2**20,) * 3), device=client)
    assert np.array_equal(found.values, alone.values)
    assert (found.quantity, found.unit) == (alone.quantity, alone.unit)
    assert shares[-1] == 1.0
    assert np.array_equal(ob.load_volumes(tmp_path / "a.npz")[0].values, alone.values)


def _small_slabs():
    """In a worker: many slabs of a small lattice."""
    slabs.SLAB_POINTS = 1 << 15


@pytest.mark.slow
def test_values_are_those_of_one_process(benzene):
    lattices = {"esp": ob.Lattice.around(benzene, 0.6, 3.0)}
    usual = ob.Lattice.around(benzene, 0.22, 5.0)
    with local_cluster(2) as cluster, distributed.Client(cluster) as client:
        client.register_worker_callbacks(_small_slabs)
        for field, precision in FIELDS:
            lattice = lattices.get(field, usual)
            shares = []
            found = ob.compute(benzene, field, lattice, device="dask", precision=precision, progress=shares.append)
            alone = ob.compute(benzene, field, lattice, device="cpu", precision=precision)
            assert found.values.dtype == alone.values.dtype
            assert np.array_equal(found.values, alone.values)
            assert field == "esp" or len(shares) > 8


@pytest.mark.slow
@pytest.mark.linux
def test_workers_that_are_killed_in_the_middle(benzene, tmp_path):
    lattice = ob.Lattice.around(benzene, 0.18, 5.0)
    alone = ob.compute(benzene, "density", lattice, device="cpu", precision="double")
    killed = []

    def kill(share):
        numbers = client.run(os.getpid, on_error="ignore").values()
        if share < 0.9 and len(killed) < 2 and numbers:
            killed.append(min(numbers))
            os.kill(killed[-1], signal.SIGKILL)

    with local_cluster(2) as cluster, distributed.Client(cluster) as client:
        client.register_worker_callbacks(_small_slabs)
        found = ob.compute(benzene, "density", lattice, device="dask", precision="double", progress=kill)
        assert len(killed) == 2
        assert np.array_equal(found.values, alone.values)
        killed.clear()
        path = tmp_path / "a.npz"
        ob.compute_to_file(benzene, "density", lattice, path, device="dask", precision="double", progress=kill)
        assert len(killed) == 2
    assert np.array_equal(ob.load_volumes(path)[0].values, alone.values)


@pytest.mark.slow
@pytest.mark.parametrize("is_seen", [True, False], ids=["by the workers", "by the client"])
def test_a_store_is_written_by_whoever_sees_it(is_seen, benzene, tmp_path, monkeypatch):
    pytest.importorskip("zarr", reason="an optional package: orbitile[stores]")
    lattice = ob.Lattice.around(benzene, 0.2, 5.0)
    ob.compute_to_file(benzene, "homo", lattice, tmp_path / "alone.zarr", device="cpu")
    written = []
    write_rows = stores.write_rows
    monkeypatch.setattr(stores, "write_rows", lambda *arguments: written.append(arguments[2]) or write_rows(*arguments))
    with local_cluster(2) as cluster, distributed.Client(cluster) as client:
        if not is_seen:
            client.run(_hide_stores)
        ob.compute_to_file(benzene, "homo", lattice, tmp_path / "found.zarr", device="dask")
    assert (len(written) == 0) == is_seen
    files = [path.relative_to(tmp_path / "alone.zarr") for path in (tmp_path / "alone.zarr").rglob("*")]
    assert len(files) > 10
    for name in files:
        one, other = tmp_path / "alone.zarr" / name, tmp_path / "found.zarr" / name
        assert other.is_dir() if one.is_dir() else one.read_bytes() == other.read_bytes()


def _hide_stores():
    from orbitile.evaluation import cluster

    cluster._is_seen = lambda store: False


@pytest.mark.slow
def test_the_command_line_takes_a_cluster(tmp_path, capsys, benzene):
    with local_cluster(1) as cluster, distributed.Client(cluster):
        command = ["volume", benzene.source, "homo", "--spacing", "0.4", "-o", str(tmp_path / "a.cube"), "--quiet"]
        assert main([*command, "--device", f"dask:{cluster.scheduler_address}"]) == 0
        (found,) = ob.load_volumes(tmp_path / "a.cube")
    assert main([*command, "--device", "cpu"]) == 0
    (alone,) = ob.load_volumes(tmp_path / "a.cube")
    assert np.array_equal(found.values, alone.values)
    assert main([*command, "--device", "dask:tcp://127.0.0.1:1"]) != 0
    assert "no scheduler of Dask answers at tcp://127.0.0.1:1" in capsys.readouterr().err


@pytest.mark.slow
def test_it_is_cancelled(benzene):
    lattice = ob.Lattice.around(benzene, 0.05, 6.0)
    stop = threading.Event()
    with local_cluster(1) as cluster, distributed.Client(cluster) as client:
        ob.compute(benzene, "homo", ob.Lattice.around(benzene, 1.0, 2.0), device=client)
        threading.Timer(0.5, stop.set).start()
        begin = time.monotonic()
        with pytest.raises(Cancelled):
            ob.compute(benzene, "density", lattice, device=client, precision="double", cancelled=stop.is_set)
        assert time.monotonic() - begin < 3
        until = time.monotonic() + 20
        while any(client.processing().values()) and time.monotonic() < until:
            time.sleep(0.05)
        assert not any(client.processing().values())
