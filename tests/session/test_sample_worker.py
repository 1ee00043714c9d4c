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
from orbitile.base import caches
from orbitile.pictures.request import Request
from orbitile.session.computing import SampleCache, SampleWorker
from orbitile.session.shown import Shown, object_name
from orbitile.session.source import OneFile
from orbitile.workers import WorkerEnded, WorkerError
from orbitile.workers.transport import own_prefix
from tests.conftest import SAMPLES
from tests.workers.test_workers import alive, seconds_until

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


@pytest.fixture
def worker():
    one = SampleWorker()
    yield one
    one.close()


@pytest.fixture(scope="module")
def shared_worker():
    """For tests that leave it as it was: a start and the first kernels take three seconds."""
    one = SampleWorker()
    yield one
    one.close()


def request(field: str = "homo", **changes) -> Request:
    return Request(**{"path": BENZENE, "field": field, "quality": "coarse", "device": "cpu", **changes})


@pytest.mark.linux
def test_samples_are_those_of_this_process(shared_worker):
    shares: list[float] = []
    found = shared_worker.submit(request(isovalue=0.03), shares.append).result(60)
    wavefunction = ob.load(BENZENE)
    lattice = ob.enclosing_lattice(wavefunction, "homo", 0.03, quality="coarse")
    assert np.array_equal(found.volume.values, ob.compute(wavefunction, "homo", lattice, device="cpu").values)
    assert np.array_equal(found.surface.faces, ob.isosurface(found.volume, 0.03).faces)
    assert shares[-1] == 1.0
    assert found.device == "cpu"
    assert left_by(shared_worker.process_id) == []  # the arrays live in memory alone


@pytest.mark.slow
def test_a_refused_request_is_told_and_the_next_one_served(shared_worker):
    with pytest.raises(ob.OrbitileError, match="orbitals 1 to 31"):
        shared_worker.submit(request("mo:99")).result(60)
    with pytest.raises(ob.OrbitileError, match="no such file"):
        shared_worker.submit(Request("/missing.molden", "homo")).result(60)
    assert shared_worker.submit(request()).result(60).volume.quantity == "HOMO (orbital 21)"


def test_a_file_that_changed_is_refused_and_what_it_holds_now_is_served(shared_worker, tmp_path):
    """The worker reads files by name: what they are to hold is part of the request."""
    job = tmp_path / "job.molden"
    for name in ("nh3_molden_cart.molden", "neon_turbomole_def2-qzvp.molden"):
        shutil.copy(SAMPLES / name, job)
        source = OneFile(str(job)).noted()
        wanted = request(path=str(source))
        found = shared_worker.submit(wanted).result(120)
        points = found.volume.lattice.points()[::31]
        expected = ob.evaluate(ob.load(job), "homo", points, device="cpu")
        assert np.abs(found.volume.values.ravel()[::31] - expected).max() < 1e-4
    shutil.copy(BENZENE, job)
    with pytest.raises(ob.OrbitileError, match="has changed since it was loaded"):
        shared_worker.submit(wanted).result(60)
    with pytest.raises(ob.OrbitileError, match="has changed since it was loaded"):
        shared_worker.submit(request(references=(str(source),))).result(60)
    cache = SampleCache()
    cache.put(found)
    assert wanted in cache
    assert request(path=str(OneFile(str(job)).noted())) not in cache


@pytest.mark.slow
@pytest.mark.linux
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


@pytest.mark.linux
def test_withdrawing_is_at_once_and_leaves_nothing(shared_worker):
    shared_worker.submit(request()).result(60)
    pending = shared_worker.submit(request(quality="fine"))
    begin = time.monotonic()
    assert pending.cancel()
    assert time.monotonic() - begin < 0.2
    assert shared_worker.submit(request("lumo")).result(60).volume.quantity.startswith("LUMO")
    assert left_by(shared_worker.process_id) == []


@pytest.mark.linux
def test_an_interpreter_without_orbitile_or_at_all(tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no module named taichi >&2\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(WorkerError, match="exit status 3: no module named taichi"):
        SampleWorker(str(broken)).submit(request()).result(60)
    with pytest.raises(WorkerError, match="cannot be started"):
        SampleWorker("/no/such/python").submit(request()).result(60)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_worker_that_takes_long_to_end_holds_nobody_up_and_ends_in_good_order(worker, slow_to_end):
    worker.submit(request()).result(60)
    process = worker.process_id
    worker.close()
    assert not slow_to_end.exists()
    assert gone(process, 20)
    assert slow_to_end.exists()


@pytest.mark.linux
@pytest.mark.slow
def test_a_worker_that_computes_ends_by_itself(worker):
    worker.submit(request()).result(60)
    pending = [worker.submit(request(quality="fine", device="cpu")) for _ in range(9)]
    process = worker.process_id
    worker.close()
    assert gone(process, 20)
    for one in pending:
        with pytest.raises(concurrent.futures.CancelledError):
            one.result(1)


@pytest.fixture
def flooding(tmp_path, monkeypatch):
    """All Pythons that are started write to standard error and output without end."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, threading\n"
        "def flood():\n"
        "    while True:\n"
        "        for handle in (1, 2): os.write(handle, 4096 * b'x')\n"
        "os.write(2, 500_000 * b'x')\n"
        "threading.Thread(target=flood, daemon=True).start()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)


@pytest.mark.slow
def test_whatever_a_worker_writes_holds_it_up_no_more_than_its_start(worker, flooding):
    for field in ("homo", "lumo", "homo-1"):
        assert worker.submit(request(field)).result(60).isovalue > 0


@pytest.mark.slow
def test_a_verbose_start(worker, monkeypatch):
    monkeypatch.setenv("PYTHONVERBOSE", "1")
    assert worker.submit(request()).result(60).isovalue > 0


@pytest.mark.slow
@pytest.mark.linux
def test_a_worker_that_stands_still_is_replaced(worker):
    worker.submit(request()).result(60)
    first = worker.process_id
    os.kill(first, signal.SIGSTOP)
    assert worker.submit(request("lumo")).result(30).volume.quantity.startswith("LUMO")
    assert worker.process_id not in (None, first)
    assert not alive(first)


@pytest.mark.linux
def test_a_worker_that_stands_still_can_be_closed():
    one = SampleWorker()
    one.submit(request()).result(60)
    process = one.process_id
    os.kill(process, signal.SIGSTOP)
    pending = one.submit(request("lumo"))
    begin = time.monotonic()
    one.close()
    assert time.monotonic() - begin < 2
    assert not alive(process)
    with pytest.raises(concurrent.futures.CancelledError):
        pending.result(1)


@pytest.mark.linux
@pytest.mark.slow
def test_a_file_whose_reading_never_ends_gives_way_when_it_is_withdrawn(tmp_path):
    """Nobody writes it, so that whoever opens it waits for ever; the worker goes on without."""
    worker = SampleWorker(patience=0.5)
    for field in ("homo", "lumo"):  # behind the first one it loads what is faster from the second one on
        worker.submit(request(field)).result(60)
    first = worker.process_id
    os.mkfifo(tmp_path / "endless.molden")
    endless = worker.submit(Request(str(tmp_path / "endless.molden"), "homo"))
    waiting = worker.submit(request("lumo"))
    with pytest.raises(concurrent.futures.TimeoutError):
        waiting.result(1)  # nobody has withdrawn what is before it
    assert endless.cancel()
    assert waiting.result(60).volume.quantity.startswith("LUMO")
    assert worker.process_id == first
    worker.close()


@pytest.mark.slow
@pytest.mark.linux
def test_what_stands_still_again_and_again_is_told(tmp_path):
    """Every process that is started stops itself when it is asked."""
    (tmp_path / "python").write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "import os, signal, sys\n'
        "from orbitile.session import sampling\n"
        "from orbitile.workers.serving import main\n"
        "sampling.sample = lambda *more, **named: os.kill(os.getpid(), signal.SIGSTOP)\n"
        'sys.argv = sys.argv[2:]\nmain()\n" "$@"\n'
    )
    (tmp_path / "python").chmod(0o755)
    one = SampleWorker(str(tmp_path / "python"))
    try:
        with pytest.raises(WorkerEnded, match="did not go on, and was ended"):
            one.submit(request()).result(60)
    finally:
        one.close()


def gone(process: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while alive(process) and time.monotonic() < until:
        time.sleep(0.02)
    return not alive(process)


def left_by(process: int) -> list[str]:
    """Names in shared memory of a worker and of the process that it works for."""
    words = Path(f"/proc/{process}/cmdline").read_text().split("\0")
    prefixes = tuple(word for word in words if word.startswith("orbitile-"))
    assert prefixes[1] == own_prefix()
    return [name for name in os.listdir("/dev/shm") if name.startswith(prefixes)]


@pytest.mark.linux
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_has_a_worker_of_its_own(worker):
    worker.submit(request()).result(60)
    first = worker.process_id
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            worker.submit(request("lumo")).result(60)
            os.write(sending, str(worker.process_id).encode())
            worker.close()
        finally:
            os._exit(0)
    os.close(sending)
    with open(receiving, encoding="ascii") as stream:
        assert int(stream.read()) != first
    os.waitpid(child, 0)
    assert worker.submit(request("lumo")).result(60).isovalue > 0
    assert worker.process_id == first


_HOST = """
import sys, time
from orbitile.pictures.request import Request
from orbitile.session.computing import SampleWorker
worker = SampleWorker()
worker.submit(Request(sys.argv[1], "homo", "coarse", device="cpu")).result(60)
print(worker.process_id, flush=True)
for _ in range(3 if sys.argv[2] == "computing" else 0):
    worker.submit(Request(sys.argv[1], "esp", "fine", 0.03, device="cpu"))
time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.linux
@pytest.mark.parametrize("doing", ["nothing", "computing", "standing still", "ending slowly"])
def test_nothing_is_left_by_a_host_that_is_killed(doing, request):
    if doing == "ending slowly":
        request.getfixturevalue("slow_to_end")
    with subprocess.Popen([sys.executable, "-c", _HOST, BENZENE, doing], stdout=subprocess.PIPE, text=True) as host:
        process = int(host.stdout.readline())
        words = Path(f"/proc/{process}/cmdline").read_text().split("\0")
        prefixes = tuple(word for word in words if word.startswith("orbitile-"))
        if doing == "computing":
            time.sleep(0.3)
        elif doing == "standing still":
            os.kill(process, signal.SIGSTOP)
        host.kill()
    assert gone(process, 4)  # 1.6 s, and what a busy machine takes
    seconds_until(lambda: not any(name.startswith(prefixes) for name in os.listdir("/dev/shm")), 4)


@pytest.mark.linux
@pytest.mark.slow
def test_a_worker_that_is_ended_with_its_host_leaves_nothing(worker):
    """As by a service manager, which sends a signal to all processes."""
    worker.submit(request()).result(60)
    process = worker.process_id
    os.kill(process, signal.SIGTERM)
    assert gone(process, 60)  # it has little of a busy machine, and writes what it has compiled


def test_a_changed_file_is_read_again(shared_worker, tmp_path):
    path = tmp_path / "molecule.molden"
    path.write_bytes(Path(BENZENE).read_bytes())
    wanted = Request(str(path), "homo", "coarse", device="cpu")
    assert shared_worker.submit(wanted).result(60).volume.quantity == "HOMO (orbital 21)"
    text = path.read_text().replace("Occup= 2.0", "Occup= 0.0", 1) + "\n"
    path.write_text(text)
    assert shared_worker.submit(wanted).result(60).volume.quantity == "HOMO (orbital 21)"
    path.write_text("[Molden Format]\n")
    with pytest.raises(ob.OrbitileError, match="damaged"):
        shared_worker.submit(wanted).result(60)


def test_the_cache_keeps_to_its_limit(monkeypatch):
    volume = ob.Volume(np.zeros((10, 10, 10), np.float32), ob.Lattice([0, 0, 0], np.eye(3), (10, 10, 10)))
    empty = np.zeros((0, 3), np.float32)
    surface = ob.Surface(empty, np.zeros((0, 3), np.int32), empty, np.zeros(0, np.int8), 0.1)
    from orbitile.pictures.request import Sample

    cache, made = SampleCache(), []
    monkeypatch.setattr(caches._accounts["samples"], "n_bytes", 3 * (4000 + caches._ENTRY))

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
