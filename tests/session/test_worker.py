"""The worker process: real processes, really killed."""

import concurrent.futures
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.session.request import Request
from orbitile.session.shown import SampleCache, Shown, object_name
from orbitile.session.source import OneFile
from orbitile.session.worker import SampleWorker
from orbitile.workers import WorkerEnded, WorkerError
from orbitile.workers.transport import own_prefix
from tests.conftest import SAMPLES

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


@pytest.fixture
def worker():
    one = SampleWorker()
    yield one
    one.close()


def request(field: str = "homo", **changes) -> Request:
    return Request(**{"path": BENZENE, "field": field, "quality": "coarse", "device": "cpu", **changes})


def test_samples_are_those_of_this_process(worker):
    shares: list[float] = []
    found = worker.submit(request(isovalue=0.03), shares.append).result(60)
    wavefunction = ob.load(BENZENE)
    lattice = ob.enclosing_lattice(wavefunction, "homo", 0.03, quality="coarse")
    assert np.array_equal(found.volume.values, ob.compute(wavefunction, "homo", lattice, device="cpu").values)
    assert np.array_equal(found.surface.faces, ob.isosurface(found.volume, 0.03).faces)
    assert shares[-1] == 1.0
    assert found.device == "cpu"
    assert left_by(worker.process_id) == []  # the arrays live in memory alone


def test_a_refused_request_is_told_and_the_next_one_served(worker):
    with pytest.raises(ob.OrbitileError, match="orbitals 1 to 31"):
        worker.submit(request("mo:99")).result(60)
    with pytest.raises(ob.OrbitileError, match="no such file"):
        worker.submit(Request("/missing.molden", "homo")).result(60)
    assert worker.submit(request()).result(60).volume.quantity == "HOMO (orbital 21)"


def test_a_file_that_changed_is_refused_and_what_it_holds_now_is_served(worker, tmp_path):
    """The worker reads files by name: what they are to hold is part of the request."""
    job = tmp_path / "job.molden"
    for name in ("nh3_molden_cart.molden", "neon_turbomole_def2-qzvp.molden"):
        shutil.copy(SAMPLES / name, job)
        source = OneFile(str(job)).noted()
        wanted = request(path=str(source))
        found = worker.submit(wanted).result(120)
        points = found.volume.lattice.points()[::31]
        expected = ob.evaluate(ob.load(job), "homo", points, device="cpu")
        assert np.abs(found.volume.values.ravel()[::31] - expected).max() < 1e-4
    shutil.copy(BENZENE, job)
    with pytest.raises(ob.OrbitileError, match="has changed since it was loaded"):
        worker.submit(wanted).result(60)
    with pytest.raises(ob.OrbitileError, match="has changed since it was loaded"):
        worker.submit(request(references=(str(source),))).result(60)
    cache = SampleCache()
    cache.put(found)
    assert wanted in cache
    assert request(path=str(OneFile(str(job)).noted())) not in cache


def test_a_worker_that_is_killed_is_replaced(worker):
    worker.submit(request()).result(60)
    first = worker.process_id
    begun = threading.Event()
    pending = worker.submit(request("esp", quality="fine", isovalue=0.03), lambda share: begun.set())
    assert begun.wait(60)
    os.kill(first, signal.SIGKILL)
    with pytest.raises(WorkerEnded, match="signal 9"):
        pending.result(10)
    assert worker.submit(request()).result(60).isovalue > 0
    second = worker.process_id
    assert second not in (None, first)
    os.kill(second, signal.SIGKILL)  # while it has nothing to do, so that nothing is lost
    assert worker.submit(request()).result(60).isovalue > 0


def test_withdrawing_is_at_once_and_leaves_nothing(worker):
    worker.submit(request()).result(60)
    pending = worker.submit(request(quality="fine"))
    begin = time.monotonic()
    assert pending.cancel()
    assert time.monotonic() - begin < 0.2
    assert worker.submit(request("lumo")).result(60).volume.quantity.startswith("LUMO")
    assert left_by(worker.process_id) == []


def test_an_interpreter_without_orbitile_or_at_all(tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no module named taichi >&2\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(WorkerError, match="exit status 3: no module named taichi"):
        SampleWorker(str(broken)).submit(request()).result(60)
    with pytest.raises(WorkerError, match="cannot be started"):
        SampleWorker("/no/such/python").submit(request()).result(60)


def test_closing_ends_the_process():
    one = SampleWorker()
    one.submit(request()).result(60)
    process = one.process_id
    one.close()
    assert gone(process, 30)  # at once, unless the machine is busy
    assert one.submit(request()).result(60).isovalue > 0  # by another one
    one.close()


@pytest.mark.slow
def test_a_worker_that_is_closed_keeps_what_it_has_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("TI_OFFLINE_CACHE_FILE_PATH", str(tmp_path))
    one = SampleWorker()
    one.submit(request()).result(60)
    assert not list(tmp_path.rglob("*.tic"))
    process = one.process_id
    one.close()
    assert gone(process, 30)  # on a busy machine it goes on by itself for some time
    assert list(tmp_path.rglob("*.tic"))


@pytest.fixture
def slow_to_end(tmp_path, monkeypatch):
    """All Pythons that are started take 3 seconds for their last step, as Taichi may for what it has compiled."""
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, sys, time\n"
        f"atexit.register(lambda: (time.sleep(3), open({str(tmp_path / 'ended')!r}, 'w').close()))\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    return tmp_path / "ended"


def test_a_changed_file_is_read_again(worker, tmp_path):
    path = tmp_path / "molecule.molden"
    path.write_bytes(Path(BENZENE).read_bytes())
    wanted = Request(str(path), "homo", "coarse", device="cpu")
    assert worker.submit(wanted).result(60).volume.quantity == "HOMO (orbital 21)"
    text = path.read_text().replace("Occup= 2.0", "Occup= 0.0", 1) + "\n"
    path.write_text(text)
    assert worker.submit(wanted).result(60).volume.quantity == "HOMO (orbital 21)"
    path.write_text("[Molden Format]\n")
    with pytest.raises(ob.OrbitileError, match="damaged"):
        worker.submit(wanted).result(60)


def test_the_cache_keeps_to_its_limit():
    volume = ob.Volume(np.zeros((10, 10, 10), np.float32), ob.Lattice([0, 0, 0], np.eye(3), (10, 10, 10)))
    empty = np.zeros((0, 3), np.float32)
    surface = ob.Surface(empty, np.zeros((0, 3), np.int32), empty, np.zeros(0, np.int8), 0.1)
    from orbitile.session.request import Sample

    cache, made = SampleCache(limit=3 * 4000), []

    def make(wanted: Request) -> Sample:
        made.append(wanted.field)
        return Sample(wanted, volume, surface, 0.1, "cpu")

    for name in ("a", "b", "c", "a", "d", "a", "b"):
        cache.get(request(name), make)
    assert made == ["a", "b", "c", "d", "b"]
    assert len(cache) == 3


def test_what_is_shown_survives_as_plain_data():
    import json

    shown = Shown("benzene", request(isovalue=0.03), 0.03)
    assert Shown.from_message(json.loads(json.dumps(shown.message()))) == shown


@pytest.mark.parametrize(
    ("field", "name"), [("homo-1", "m_homo_m1"), ("lumo+2", "m_lumo_p2"), ("mo:17:beta", "m_mo17_beta")]
)
def test_object_names(field, name):
    assert object_name("m", field) == name
