"""The workers of a Dask cluster: real ones, killed, stopped and left without a scheduler."""

import operator
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import wait
from pathlib import Path

import pytest

from orbitile.base.errors import Cancelled, DeviceError, FieldError, FileError, OrbitileError
from orbitile.base.watch import watched
from orbitile.workers import WorkerEnded, WorkerError, WorkerNotStarted, awaited, environment
from orbitile.workers.dask import DaskExecutor, carry_out, dask_executor
from tests.workers import jobs

distributed = pytest.importorskip("distributed", reason="an optional package: orbitile[cluster]")


@pytest.fixture(scope="module")
def client():
    """A cluster of two workers in this process."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, processes=False, dashboard_address=":0", silence_logs="ERROR"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def executor(client):
    return dask_executor(client)


def test_functions_are_run_by_the_cluster(executor):
    futures = [executor.submit(operator.add, n, 1) for n in range(12)]
    assert [awaited(future) for future in futures] == list(range(1, 13))
    assert awaited(executor.submit(int, "ff", base=16)) == 255
    assert executor.width == 2


def test_a_process_computes_one_task_at_a_time(executor):
    """There are four threads, and one device."""
    alone = [executor.submit(jobs.is_alone, 0.02) for _ in range(6)]
    assert all(awaited(future) for future in alone)


@pytest.mark.parametrize(
    ("kind", "error", "match"),
    [
        ("field", FieldError, r"^no such field$"),
        ("derived", FileError, r"^a.log, line 7$"),
        ("unpicklable", WorkerError, r"internal error in a worker of Dask .*: Unpicklable"),
        ("key", WorkerError, r"internal error in a worker of Dask .*: KeyError"),
    ],
)
def test_errors_are_ours(executor, kind, error, match):
    with pytest.raises(error, match=match):
        awaited(executor.submit(jobs.raised, kind))


def test_what_cannot_be_sent(executor):
    with pytest.raises(OrbitileError, match="cannot be sent"):
        executor.submit(operator.add, lambda: None)


def test_a_task_ends_when_it_is_not_wanted(executor):
    job = executor.submit(jobs.stepping, 60.0)
    until = time.monotonic() + 0.2
    with pytest.raises(Cancelled), watched(cancelled=lambda: time.monotonic() > until):
        awaited(job)
    assert awaited(executor.submit(operator.add, 1, 2)) == 3  # whoever has the device has ended
    assert time.monotonic() < until + 10


def test_what_many_tasks_have_in_common_is_sent_once(executor):
    common = executor.keep(jobs.Counted("a"))
    assert executor.keep(jobs.Counted("a")) is common
    assert [awaited(executor.submit(jobs.text_of, {"nested": common})) for _ in range(5)] == ["a"] * 5
    assert jobs.Counted.unpickled <= 1  # in one process Dask does not need to pickle at all


def test_another_version_is_told():
    """Before anything else is opened of what was sent."""
    failure = carry_out((("Orbitile", "0.0.1"), ("Python", "2.7")), b"no pickle")
    error = failure.error("a worker", ())
    assert type(error) is OrbitileError
    assert "the process that asks has Orbitile 0.0.1, Python 2.7: install the same" in str(error)


def test_which_cluster_is_meant(client, executor, monkeypatch):
    assert dask_executor() is executor  # that of the client of this process
    assert dask_executor(client) is executor
    monkeypatch.setattr(distributed, "default_client", jobs.no_client)
    with pytest.raises(DeviceError, match=r"no Dask client, and DASK_SCHEDULER_ADDRESS is not set.*dask scheduler"):
        dask_executor()
    with pytest.raises(DeviceError, match=r"no scheduler of Dask answers at nowhere \(missing port"):
        dask_executor("nowhere")
    with pytest.raises(DeviceError, match=r"expected a name or a Dask client, got int"):
        dask_executor(5)


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(DeviceError, match=r"-m pip install '?distributed"):
        dask_executor("tcp://127.0.0.1:8786")


# ---- processes


@pytest.fixture
def processes():
    """A cluster of two processes, and an executor of it that has little patience."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield DaskExecutor(client, patience=60)


def numbers_of(executor):
    """Process numbers of the workers, once all are there."""
    for _ in range(600):
        found = set(executor.cluster.connected(bool).run(os.getpid).values())
        if len(found) == 2:
            return found
        time.sleep(0.1)
    raise AssertionError("two workers were expected")


@pytest.mark.slow
@pytest.mark.linux
def test_tasks_of_a_worker_that_is_killed_are_done_elsewhere(processes, tmp_path):
    kept = processes.keep(b"wavefunction" * 100_000)
    futures = [processes.submit(jobs.traced, tmp_path, n, 0.1, kept) for n in range(40)]
    for _ in range(3):
        time.sleep(0.7)
        os.kill(min(numbers_of(processes)), signal.SIGKILL)
    assert [awaited(future) for future in futures] == [(n, 1_200_000) for n in range(40)]
    assert {int(path.name) for path in tmp_path.iterdir()} == set(range(40))


@pytest.mark.slow
@pytest.mark.linux
def test_only_the_task_that_ends_workers_fails(processes):
    """Those that wait behind it in its worker are blamed by Dask with it."""
    futures = [processes.submit(time.sleep, 0.05) for _ in range(10)]
    guilty = processes.submit(os._exit, 7)
    futures += [processes.submit(time.sleep, 0.05) for _ in range(10)]
    with pytest.raises(WorkerEnded, match=r"_exit has ended 8 workers of Dask, .*needs more memory"):
        awaited(guilty)
    assert [awaited(future) for future in futures] == [None] * 20


@pytest.mark.slow
def test_a_slow_worker_gets_less_to_do(processes):
    slow, fast = sorted(numbers_of(processes))
    futures = [processes.submit(jobs.slow_in, slow, 0.5, 0.02) for _ in range(40)]
    found = [awaited(future) for future in futures]
    assert found.count(fast) > 2 * found.count(slow)


@pytest.mark.slow
@pytest.mark.linux
def test_a_worker_that_stands_still_does_not_hold_up_the_others(tmp_path):
    """A scheduler waits for a heartbeat for its worker-ttl, five minutes where nobody says otherwise."""
    import dask

    with (
        dask.config.set({"distributed.scheduler.worker-ttl": "5s"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = DaskExecutor(client)
        futures = [executor.submit(jobs.traced, tmp_path, n, 0.1, b"") for n in range(40)]
        stopped = min(numbers_of(executor))
        os.kill(stopped, signal.SIGSTOP)
        done, _ = wait(futures, timeout=4.5)
        assert len(done) > 20
        assert [awaited(future) for future in futures] == [(n, 0) for n in range(40)]
        assert stopped not in numbers_of(executor)


class _Programs:
    """A scheduler and workers as programs, which can be ended and started again."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self._folder, self._all = folder, []

    def start(self, *arguments):
        settings = environment()
        settings["PYTHONPATH"] += os.pathsep + str(Path(__file__).parents[2])  # where the functions of tests are
        with (self._folder / "log").open("ab") as log:
            program = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:], "--no-dashboard"],
                env=settings,
                stdout=log,
                stderr=log,
            )
        self._all.append(program)
        return program

    def scheduler(self):
        return self.start("dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port))

    def worker(self):
        return self.start("dask_worker", self.address, "--nthreads", "1", "--local-directory", str(self._folder))

    def end(self):
        # Killed, since a worker whose scheduler is gone may take long to end by itself; what a worker with a
        # nanny has started ends with the nanny.
        for program in self._all:
            program.kill()
        for program in self._all:
            program.wait()


@pytest.fixture
def programs(tmp_path):
    programs = _Programs(tmp_path)
    yield programs
    programs.end()


@pytest.mark.slow
@pytest.mark.linux
@pytest.mark.parametrize("seconds", [0.0, 8.0], ids=["at once", "after the client gave up"])
def test_what_a_restarted_scheduler_has_forgotten_is_submitted_again(programs, tmp_path, seconds):
    scheduler = programs.scheduler()
    programs.worker()
    executor = connected(programs.address)
    kept = executor.keep(b"wavefunction" * 1000)
    folder = tmp_path / "done"
    folder.mkdir()
    futures = [executor.submit(jobs.traced, folder, n, 0.2, kept) for n in range(20)]
    wait(futures[:5], timeout=60)
    scheduler.kill()
    scheduler.wait()
    time.sleep(seconds)
    programs.scheduler()
    programs.worker()  # the other one leaves with its scheduler
    assert [awaited(future) for future in futures] == [(n, 12000) for n in range(20)]


@pytest.mark.slow
@pytest.mark.linux
def test_without_a_scheduler_or_a_worker_for_long(programs):
    scheduler = programs.scheduler()
    executor = connected(programs.address)
    executor.cluster.patience = 3.0
    with pytest.raises(WorkerNotStarted, match=r"has had no worker for 3 s; start some with `dask worker tcp://127"):
        awaited(executor.submit(operator.add, 1, 2))
    job = executor.submit(operator.add, 1, 2)
    scheduler.kill()
    with pytest.raises(WorkerNotStarted, match=r"no scheduler of Dask answers at tcp://127.* for 3 s"):
        awaited(job)


@pytest.mark.slow
@pytest.mark.linux
def test_workers_come_and_go_and_those_with_a_gpu_are_asked_for(programs):
    programs.scheduler()
    executor = connected(programs.address)
    futures = [executor.submit(os.getpid) for _ in range(4)]
    programs.worker()
    assert len({awaited(future) for future in futures}) == 1
    gpu = programs.start("dask_worker", programs.address, "--nthreads", "1", "--resources", "CUDA=1", "--no-nanny")
    until = time.monotonic() + 30
    while executor.cluster.resources != {"CUDA": 1} and time.monotonic() < until:
        awaited(executor.submit(time.sleep, 0.1))
    assert {awaited(executor.submit(os.getpid)) for _ in range(4)} == {gpu.pid}
    assert executor.width == 1
    waiting = [executor.submit(time.sleep, 0.5) for _ in range(6)]
    time.sleep(1)
    gpu.kill()
    programs.start("dask_worker", programs.address, "--nthreads", "1", "--resources", "CUDA=1", "--no-nanny")
    assert [awaited(future) for future in waiting] == [None] * 6


def connected(address):
    """The executor of a scheduler that is being started."""
    for _ in range(20):
        try:
            return dask_executor(address)
        except DeviceError:
            time.sleep(0.5)
    raise AssertionError(f"{address} does not answer")


def test_the_thread_ends_with_the_work(executor):
    awaited(executor.submit(operator.add, 1, 2))
    until = time.monotonic() + 5
    while any(thread.name == "orbitile-dask" for thread in threading.enumerate()) and time.monotonic() < until:
        time.sleep(0.01)
    assert not any(thread.name == "orbitile-dask" for thread in threading.enumerate())
