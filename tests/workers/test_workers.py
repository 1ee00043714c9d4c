"""The border between processes: real ones, really stopped, flooded and killed."""

import concurrent.futures
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from orbitile.base.errors import Cancelled, FieldError, FileError, OrbitileError
from orbitile.base.watch import watched
from orbitile.workers import (
    Worker,
    WorkerEnded,
    WorkerError,
    WorkerNotStarted,
    Workers,
    awaited,
    environment,
    pack,
    shared_array,
    unpack,
)
from orbitile.workers.transport import own_prefix
from tests.workers import jobs


@pytest.fixture
def worker():
    worker = Worker("the worker")
    yield worker
    worker.end()


@pytest.fixture
def workers():
    workers = Workers([Worker("the worker"), Worker("the worker")])
    yield workers
    workers.shutdown(cancel_futures=True)


def alive(process: int) -> bool:
    """Whether a process is there that is not merely waiting to be buried."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def seconds_until(condition, limit: float = 20.0) -> float:
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < limit
        time.sleep(0.01)
    return time.monotonic() - begin


def prefixes_of(process: int) -> tuple[str, ...]:
    """What the names in shared memory begin with of a worker and of the process that it works for."""
    words = Path(f"/proc/{process}/cmdline").read_text().split("\0")
    return tuple(word for word in words if word.startswith("orbitile-"))


def names(prefixes: tuple[str, ...]) -> list[str]:
    return [name for name in os.listdir("/dev/shm") if name.startswith(prefixes)]


# ---- what comes back


ARRAYS = {
    "small": np.arange(5),
    "large": np.arange(100_000.0),
    "empty": np.zeros((0, 3)),
    "no dimension": np.array(2.5),
    "columns first": np.asfortranarray(np.random.default_rng(1).random((300, 200))),
    "every other": np.arange(60_000).reshape(200, 300)[::2, ::3],
    "backwards": np.arange(50_000)[::-1],
    "complex": np.full((100, 100), 1 + 2j),
    "truth": np.arange(70_000) % 3 == 0,
    "other byte order": np.arange(9_000, dtype=">f8"),
}


@pytest.mark.linux
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_arrive_as_they_are(name, worker):
    array = ARRAYS[name]
    same, twice, writable = worker.call(jobs.doubled, array)
    assert (same.dtype, same.shape) == (array.dtype, array.shape)
    assert np.array_equal(same, array)
    assert np.array_equal(twice, array * 2)
    assert writable
    same[...] = 0  # what comes is ours
    assert names((*prefixes_of(worker.process_id), own_prefix())) == []


def test_what_must_not_be_written_to_stays_so(worker):
    for n in (10, 100_000):
        array = np.arange(n)
        array.flags.writeable = False
        same, _, writable = worker.call(jobs.doubled, array)
        assert not writable
        assert not same.flags.writeable


def test_an_array_that_is_there_twice_is_one():
    array = np.arange(50_000.0)
    packed, _ = pack([array, {"again": array}, np.array(["text", None], object), array.dtype])
    first, second, texts, dtype = unpack(pickle.loads(pickle.dumps(packed)))
    assert first is second["again"]
    assert texts.tolist() == ["text", None]
    assert dtype == np.float64


@pytest.mark.linux
@pytest.mark.slow
def test_a_large_result(worker):
    """More than a pipe or 32 bits of half of it would take at once, and no copy is kept behind."""
    found = worker.call(jobs.zeros, 400 << 20)
    assert found.nbytes == 400 << 20
    assert (found[0], found[1], found[-1]) == (7, 1, 7)
    assert names(prefixes_of(worker.process_id)) == []


@pytest.mark.linux
def test_small_results_have_no_file_open(worker):
    def handles():
        return len(os.listdir("/proc/self/fd"))

    worker.call(np.ones, 50_000)
    before = handles()
    kept = [worker.call(np.full, 50_000, n) for n in range(20)]
    assert handles() == before
    assert all(np.array_equal(array, np.full(50_000, n)) and array.flags.writeable for n, array in enumerate(kept))


@pytest.mark.linux
def test_memory_is_shared_where_that_is_asked_for(workers):
    with shared_array((4, 1000), np.float64) as values:
        done = [workers.submit(jobs.filled, values[n], n) for n in range(4)]
        rows = [job.result() for job in done]
        assert np.array_equal(values, np.repeat(np.arange(4.0), 1000).reshape(4, 1000))
        assert all(np.shares_memory(row, values[n]) for n, row in enumerate(rows))
        assert len(names((own_prefix(),))) == 1
    assert names((own_prefix(),)) == []
    values += 1  # it outlives its name
    assert values[3, 999] == 4


def test_names_that_are_in_use_are_passed_over():
    """Memory may be shared for as long as a process lives; there are 64 names."""
    with shared_array((3,), np.int64) as kept:
        kept[...] = 7
        for n in range(150):
            with shared_array((3,), np.int64) as other:
                assert other is not None
                other[...] = n
        assert np.array_equal(kept, [7, 7, 7])


def test_where_there_is_no_shared_memory_arrays_are_sent(monkeypatch):
    def refused(*arguments, **keywords):
        raise OSError(28, "no space left")

    monkeypatch.setattr("orbitile.workers.transport._posixshmem.shm_open", refused)
    packed, _ = pack(np.arange(100_000))
    assert np.array_equal(unpack(pickle.loads(pickle.dumps(packed))), np.arange(100_000))
    with shared_array((3,), np.float32) as values:
        assert values is None


# ---- what goes wrong


def test_our_errors_arrive_as_they_are(worker):
    with pytest.raises(FieldError, match=r"^no such field$"):
        worker.call(jobs.raised, "field")
    with pytest.raises(jobs.DerivedError, match=r"^a\.log, line 7$") as caught:
        worker.call(jobs.raised, "derived")
    assert isinstance(caught.value, FileError)


def test_any_other_error_is_a_defect_and_explained(worker):
    process = worker.call(jobs.process_id)
    with pytest.raises(WorkerError, match=r"^internal error in the worker .*: KeyError: 'key'$") as caught:
        worker.call(jobs.raised, "key")
    assert "in raised" in str(caught.value.__cause__)  # where it was, over there
    with pytest.raises(WorkerError, match=r"Unpicklable: .*it holds a lambda"):
        worker.call(jobs.raised, "unpicklable")
    with pytest.raises(WorkerError, match=r"^internal error in the worker [(]please report[)]: MemoryError$"):
        worker.call(jobs.raised, "memory")
    with pytest.raises(WorkerError, match=r"internal error in the worker .*: .*pickle"):
        worker.call(jobs.unpicklable)
    with pytest.raises(OrbitileError, match="the worker cannot be sent this"):
        worker.call(lambda: None)
    assert worker.call(jobs.process_id) == process


@pytest.mark.linux
def test_one_that_dies_says_why_and_is_replaced(worker):
    first = worker.call(jobs.process_id)
    with pytest.raises(WorkerEnded, match=r"the worker ended \(signal 11: the last words\)") as caught:
        worker.call(jobs.signalled, signal.SIGSEGV)
    assert caught.value.status == -signal.SIGSEGV
    with pytest.raises(WorkerEnded, match=r"exit status 3"):
        worker.call(os._exit, 3)
    second = worker.call(jobs.process_id)
    assert not alive(first)
    for number in (signal.SIGKILL, signal.SIGTERM):
        os.kill(second, number)  # while it has nothing to do, so that nothing is lost
        first, second = second, worker.call(jobs.process_id)
        assert first != second


@pytest.mark.linux
def test_one_that_cannot_be_started(tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no module named numpy >&2\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(WorkerNotStarted, match=r"the worker did not start .exit status 3: no module named numpy"):
        Worker("the worker", python=str(broken)).call(jobs.process_id)
    with pytest.raises(WorkerNotStarted, match="the worker cannot be started with /no/such"):
        Worker("the worker", python="/no/such").call(jobs.process_id)


@pytest.mark.slow
@pytest.mark.linux
def test_one_that_is_stopped_is_replaced(worker, tmp_path):
    first = worker.call(jobs.process_id)
    os.kill(first, signal.SIGSTOP)
    begin = time.monotonic()
    second = worker.call(jobs.process_id)
    assert first != second
    assert time.monotonic() - begin < 8
    assert not alive(first)
    third = worker.call(jobs.stopped_once, str(tmp_path / "mark"))  # in the middle of a job as well
    assert third != second
    os.kill(third, signal.SIGSTOP)
    assert worker.call(len, 1_000_000 * "x") == 1_000_000  # more than the connection holds
    assert worker.process_id != third
    with pytest.raises(WorkerEnded, match="did not go on") as caught:
        worker.call(jobs.signalled, signal.SIGSTOP)  # again and again
    assert caught.value.status is None
    assert worker.call(jobs.process_id)


def test_whatever_it_writes_does_not_hold_it_up(worker, capfd):
    assert worker.call(jobs.warned, 1 << 20) == "done"
    assert worker.call(jobs.warned, 1 << 20) == "done"
    assert capfd.readouterr() == ("", "")


# ---- a watch


def test_progress_and_withdrawal_go_by_the_watch_of_the_caller(worker):
    process = worker.call(jobs.process_id)
    shares: list[float] = []
    with watched(shares.append):
        assert worker.call(jobs.stepping, 0.2) == "done"
    assert len(shares) > 2
    assert shares == sorted(shares)
    begin = time.monotonic()
    with pytest.raises(Cancelled), watched(cancelled=lambda: time.monotonic() > begin + 0.1):
        worker.call(jobs.stepping, 60)
    assert worker.call(jobs.process_id) == process  # it has stopped of its own accord
    assert time.monotonic() - begin < 2


@pytest.mark.linux
def test_what_does_not_stop_when_it_is_withdrawn_is_ended():
    worker = Worker("the worker", patience=0.3)
    process = worker.call(jobs.process_id)
    with pytest.raises(Cancelled), watched(cancelled=lambda: True):
        worker.call(jobs.deaf, 60)
    begin = time.monotonic()
    assert worker.call(jobs.process_id) != process
    assert time.monotonic() - begin < 5
    at_once = Worker("the worker", patience=0)
    process = at_once.call(jobs.process_id)
    with pytest.raises(Cancelled), watched(cancelled=lambda: True):
        at_once.call(jobs.deaf, 60)
    assert not alive(process)
    worker.end()


def test_an_error_of_a_callback_leaves_the_worker_in_order(worker):
    process = worker.call(jobs.process_id)

    def progress(share):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), watched(progress):
        worker.call(jobs.stepping, 60)
    assert worker.call(jobs.process_id) == process


def test_threads_take_turns(worker):
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: worker.call(jobs.doubled, np.full(9, n))[1], range(40)))
    assert all((array == 2 * n).all() for n, array in enumerate(found))


def test_one_that_has_nothing_to_do_ends():
    worker = Worker("the worker", idle=0.2)
    process = worker.call(jobs.process_id)
    seconds_until(lambda: worker.process_id is None)
    assert worker.call(jobs.process_id) != process
    worker.end()


# ---- the executor


def test_it_is_an_executor(workers):
    assert isinstance(workers, concurrent.futures.Executor)
    assert list(workers.map(abs, range(-5, 0))) == [5, 4, 3, 2, 1]
    assert len({job.result() for job in [workers.submit(jobs.deaf, 0.2) for _ in range(4)]}) == 2
    assert workers.submit(int, "11", base=2).result() == 3
    with pytest.raises(FieldError):
        workers.submit(jobs.raised, "field").result()
    done, _ = concurrent.futures.wait([workers.submit(abs, -1)], timeout=20)
    assert len(done) == 1


def test_a_job_is_followed_and_cancelled_while_it_runs(workers):
    process = workers.submit(jobs.process_id).result()
    shares: list[float] = []
    job = workers.submit(jobs.stepping, 60)
    job.progress = shares.append
    seconds_until(lambda: len(shares) > 2)
    assert job.share == shares[-1]
    begin = time.monotonic()
    assert job.cancel()
    assert time.monotonic() - begin < 0.1
    with pytest.raises(concurrent.futures.CancelledError):
        job.result()
    seconds_until(lambda: workers.submit(jobs.process_id).result() == process)


@pytest.mark.parametrize("kind", ["ours", "threads"])
def test_a_future_of_any_executor_is_awaited_under_a_watch(kind, workers):
    executor = workers if kind == "ours" else concurrent.futures.ThreadPoolExecutor(1)
    shares: list[float] = []
    with watched(shares.append):
        assert awaited(executor.submit(jobs.stepping, 0.3)) == "done"
    assert bool(shares) == (kind == "ours")
    future = executor.submit(jobs.stepping, 1)
    with pytest.raises(Cancelled), watched(cancelled=lambda: True):
        awaited(future)
    executor.shutdown()


@pytest.mark.linux
def test_shutting_down():
    workers = Workers([Worker("the worker")])
    process = workers.submit(jobs.process_id).result()
    waiting = [workers.submit(jobs.deaf, 0.3) for _ in range(2)]
    workers.shutdown()  # after what was submitted
    assert [job.result() for job in waiting] == [process] * 2
    assert not alive(process)
    with pytest.raises(RuntimeError):
        workers.submit(jobs.process_id)
    workers.shutdown()
    workers = Workers([Worker("the worker")])
    waiting = [workers.submit(jobs.stepping, 60) for _ in range(2)]
    seconds_until(lambda: waiting[0].share > 0)
    begin = time.monotonic()
    workers.shutdown(cancel_futures=True)
    assert all(job.cancelled() for job in waiting)
    assert time.monotonic() - begin < 2.5
    assert workers.workers[0].process_id is None


_FORK = """
import os
import numpy as np
from orbitile.workers import Worker, Workers, shared_array
from orbitile.workers.transport import own_prefix
from tests.workers import jobs
from tests.workers.test_workers import names, prefixes_of

worker, workers = Worker("the worker"), Workers([Worker("the worker"), Worker("the worker")])
ours = worker.call(jobs.process_id), workers.submit(jobs.process_id).result()
with shared_array((100,), np.float64) as values:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            theirs = worker.call(jobs.process_id), workers.submit(jobs.process_id).result()
            status = 0 if not set(ours) & set(theirs) and own_prefix() not in prefixes_of(ours[0]) else 2
            workers.shutdown()
            worker.end()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(names((own_prefix(),))) == 1
    assert (worker.call(jobs.filled, values, 3) == 3).all()
assert worker.call(jobs.process_id) == ours[0]
workers.shutdown()
worker.end()
"""


@pytest.mark.linux
def test_a_fork_has_workers_of_its_own():
    """In a process of its own: the one that runs tests has threads of many libraries, whose locks a fork inherits."""
    done = subprocess.run([sys.executable, "-c", _FORK], capture_output=True, text=True, timeout=60, env=environment())
    assert done.returncode == 0, done.stderr


# ---- the end


_PARENT = """
import os, sys, threading, time
import numpy as np
from orbitile.workers import Worker, shared_array
from tests.workers import jobs
worker, doing = Worker("the worker"), sys.argv[1]
with shared_array((1 << 20,), np.float64) as values:
    worker.call(jobs.filled, values, 1)
    process = worker.call(jobs.process_id)
    todo = {"computing": (jobs.stepping, 60), "asking nobody": (jobs.deaf, 60)}
    todo["compiling"] = (jobs.compiled_cold, sys.argv[2])
    threading.Thread(target=lambda: worker.call(*todo.get(doing, (jobs.process_id,)))).start()
    time.sleep(0.2)
    if doing == "compiling":
        while not os.path.exists(sys.argv[2]):
            time.sleep(0.01)
        time.sleep(0.5)
    print(process, flush=True)
    time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.linux
@pytest.mark.parametrize("doing", ["nothing", "computing", "asking nobody", "compiling", "stopped"])
def test_nothing_outlives_a_process_that_is_killed(doing, tmp_path):
    command = [sys.executable, "-c", _PARENT, doing, str(tmp_path / "mark")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as parent:
        process = int(parent.stdout.readline())
        prefixes = prefixes_of(process)
        group = os.getpgid(process)
        assert len(names(prefixes)) == 1
        if doing == "stopped":
            os.kill(process, signal.SIGSTOP)
        parent.kill()
    seconds_until(lambda: not alive(process))  # its job would last 60 s
    seconds_until(lambda: names(prefixes) == [])
    members = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    seconds_until(lambda: not [n for n in members if alive(n) and _group(n) == group])  # its guard has gone too


def _group(process: int) -> int:
    try:
        return os.getpgid(process)
    except ProcessLookupError:
        return -1


@pytest.mark.linux
@pytest.mark.parametrize("how", ["returns", "raises", "exits", "terminated"])
def test_nothing_outlives_a_process_that_ends(how):
    program = (
        "import os, signal, sys\n"
        "from orbitile.workers import Worker, Workers\n"
        "from tests.workers import jobs\n"
        "worker, workers = Worker('the worker'), Workers([Worker('the worker')])\n"
        "job = workers.submit(jobs.stepping, 60)\n"
        "process = worker.call(jobs.process_id)\n"
        "while not job.share: pass\n"
        "print(process, workers.workers[0].process_id, flush=True)\n"
        "{'raises': lambda: 1 / 0, 'exits': sys.exit, 'returns': int,\n"
        " 'terminated': lambda: os.kill(os.getpid(), signal.SIGTERM)}[sys.argv[1]]()\n"
    )
    command = [sys.executable, "-c", program, how]
    begin = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as parent:
        processes = [int(word) for word in parent.stdout.readline().split()]
        _, err = parent.communicate(timeout=60)
    assert time.monotonic() - begin < 20
    assert ("ZeroDivisionError" in err) == (how == "raises")
    seconds_until(lambda: not any(alive(process) for process in processes), 4)


@pytest.mark.linux
def test_a_worker_that_is_killed_leaves_nothing_in_shared_memory(worker):
    """Whether or not its result has been taken."""
    worker.call(jobs.process_id)
    prefixes = prefixes_of(worker.process_id)
    killer = threading.Thread(target=lambda: (time.sleep(0.25), os.kill(worker.process_id, signal.SIGKILL)))
    killer.start()
    try:
        while True:
            worker.call(jobs.zeros, 30 << 20)
            if not killer.is_alive():
                break
    except WorkerEnded:
        pass
    killer.join()
    worker.call(jobs.process_id)
    assert names((prefixes[0], own_prefix())) == []


@pytest.mark.linux
def test_no_processes_and_threads_pile_up(worker):
    def count():
        return threading.active_count(), len(os.listdir("/proc/self/fd"))

    worker.call(jobs.process_id)
    worker.end()
    before = count()
    for _ in range(5):
        worker.call(jobs.process_id)
        with pytest.raises(WorkerEnded):
            worker.call(os._exit, 1)
        with pytest.raises(WorkerNotStarted):
            Worker("the worker", python="/bin/false").call(jobs.process_id)
    worker.end()
    seconds_until(lambda: count() <= before)


@pytest.mark.linux
def test_a_worker_of_a_worker_where_the_temporary_folder_has_a_long_name(tmp_path):
    folder = tmp_path / ("long" * 25)
    folder.mkdir()
    program = (
        "from orbitile.workers import Worker\n"
        "from tests.workers import jobs\n"
        "worker = Worker('the worker')\n"
        "print(worker.call(jobs.process_of_another), worker.process_id)\n"
    )
    before = set(Path("/tmp").glob("orbitile-*"))
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        env={**environment(), "TMPDIR": str(folder)},
    )
    assert len(set(done.stdout.split())) == 2, done.stderr
    assert not list(folder.iterdir())
    assert not [path for path in set(Path("/tmp").glob("orbitile-*")) - before if path.is_socket()]
