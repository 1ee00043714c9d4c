"""The workers of a Dask cluster as an executor of `concurrent.futures`.

Dask decides who computes what, gives the tasks of a worker that died to others, and knows which results are where. What
is added here: results are futures of Python, which can be cancelled while they are computed; errors are ours; workers
that offer the resource CUDA are asked for it, so that a GPU gets one task at a time; and what a restarted scheduler has
forgotten is submitted again. One thread talks to the cluster, as long as there is something to compute.

A call travels as a pickle of our own, which is opened after the versions were compared: a worker with another Orbitile
says so, where unpickling would fail in some way. Arguments that many calls have in common are sent apart, once to each
worker; the pickle has their numbers in their place.
"""

from __future__ import annotations

import asyncio
import atexit
import io
import logging
import os
import pickle
import secrets
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar, cast
from weakref import WeakSet

from .. import __version__
from ..base.caches import Cache
from ..base.errors import DeviceError, OrbitileError
from ..base.packages import required
from ..base.watch import Watch, checkpoint
from .transport import Failure, WorkerEnded, WorkerError, WorkerNotStarted
from .worker import Job

Versions = tuple[tuple[str, str], ...]

VERSIONS: Versions = (("Orbitile", __version__), ("Python", f"{sys.version_info.major}.{sys.version_info.minor}"))
"""What has to be the same in both processes."""

_WAITING = 0.02
"""Polling interval in seconds: whether a task that waits for its turn is still wanted."""

_turn = threading.Lock()
"""Held by the task that computes: a process has one device, whose tables and memory are used by one at a time. Dask
runs as many tasks at once in a worker as it has threads."""


class Kept:
    """Stands in the arguments of calls for an item that is sent to each worker once.

    Attributes
    ----------
    item
        What it stands for; anything that can be pickled.
    """

    def __init__(self, item: object) -> None:
        self.item = item


def pickled(call: object) -> tuple[bytes, tuple[Kept, ...]]:
    """A call as bytes, and what is kept of it, in the order of the numbers in these.

    Raises
    ------
    OrbitileError
        When it cannot be pickled.
    """
    stream = io.BytesIO()
    pickler = _Pickler(stream)
    try:
        pickler.dump(call)
    except Exception as error:  # whatever an object of a caller raises
        raise OrbitileError(f"a task for Dask cannot be sent ({type(error).__name__}: {error})") from error
    return stream.getvalue(), tuple(pickler.kept)


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=5)
        self.kept: list[Kept] = []

    def persistent_id(self, item: Any) -> int | None:
        if not isinstance(item, Kept):
            return None
        if item not in self.kept:
            self.kept.append(item)
        return self.kept.index(item)


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, kept: tuple[object, ...]) -> None:
        super().__init__(io.BytesIO(data))
        self._kept = kept

    def persistent_load(self, number: Any) -> object:
        return self._kept[number]


# ---- on a worker of the cluster


def hold(item: object) -> object:
    """The task whose result is what many calls have in common: found anew when the worker that had it is gone."""
    return item


def carry_out(versions: Versions, data: bytes, *kept: object) -> object:
    """The task of a call: the result of its function, or the `Failure` to have one, as data.

    It ends at the next checkpoint (`orbitile.base.watch`) when nobody wants it any more, or its worker is being closed.
    """
    try:
        if versions != VERSIONS:
            raise OrbitileError(f"{_difference(versions)}: install the same environment for workers and client")
        with Watch(cancelled=_unwanted()).stage():
            while not _turn.acquire(timeout=_WAITING):
                checkpoint()
            try:
                checkpoint()
                function, arguments, keywords = _Unpickler(data, kept).load()
                return function(*arguments, **keywords)
            finally:
                _turn.release()
    except Exception as error:  # whatever goes wrong is told, and the worker goes on
        return Failure.of(error)


def _difference(versions: Versions) -> str:
    theirs = ", ".join(f"{name} {version}" for name, version in versions)
    ours = ", ".join(f"{name} {version}" for name, version in VERSIONS)
    return f"the worker of Dask has {ours}, and the process that asks has {theirs}"


def _unwanted() -> Callable[[], bool]:
    """Whether the task of this thread was withdrawn from its worker, which cannot end it."""
    from distributed import Status, get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def unwanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled" or worker.status in (Status.closing, Status.closed)

    return unwanted


START = "start one with `dask scheduler`, and workers with `dask worker tcp://HOST:8786 --nthreads 1`"
"""What to do about a cluster that is not there, for messages."""

PATIENCE = 300.0
"""Seconds for which a cluster may be without a scheduler, or without any worker, before what is asked of it fails."""

RESOURCE = "CUDA"
"""The resource of workers that compute on a GPU: `dask worker --resources CUDA=1`."""

_CONNECTION = 5.0
"""Seconds that one attempt to connect takes."""

_PAUSE = 0.05
"""Polling interval in seconds: whether the client is connected again."""


def library() -> Any:
    """The package distributed.

    Raises
    ------
    DeviceError
        When it is not installed.
    """
    return required("distributed", DeviceError, "computing on a Dask cluster needs the package distributed")


class Cluster:
    """A cluster that is being used: its client, kept connected, and which workers there are.

    Parameters
    ----------
    client : distributed.Client
    patience : float
        Seconds for which it may be without a scheduler, or without any worker.

    Attributes
    ----------
    address : str
        Of the scheduler.
    n_workers : int
        Worker processes; those that offer a GPU where there are such.
    resources : dict of str to int
        What a task asks of its worker: a GPU where there are some.
    """

    def __init__(self, client: Any, patience: float) -> None:
        self.patience = patience
        self.address: str = client.scheduler.address
        self.n_workers = 0
        self.resources: dict[str, int] = {}
        self._client = client
        self._security = client.security
        self._looked = self._without = 0.0
        self._look(client)

    @property
    def is_closed(self) -> bool:
        """Whether its client has given up, or was closed."""
        return self._client.status in ("closed", "closing")

    def has_life(self) -> None:
        """Take note that there was a worker just now, or begin to wait for one."""
        self._without = 0.0

    def connected(self, is_wanted: Callable[[], bool]) -> Any:
        """The client, when it is connected; a new one where it gave up.

        Raises
        ------
        WorkerNotStarted
            When there is no scheduler for longer than `patience`, or nobody wants it any more.
        """
        until = time.monotonic() + self.patience
        while self._client.status != "running":
            if time.monotonic() > until or not is_wanted():
                raise WorkerNotStarted(
                    f"no scheduler of Dask answers at {self.address} for {self.patience:g} s; what it was asked for is "
                    f"submitted again if one is back in that time: {START}"
                )
            if self.is_closed:
                with suppress(OSError):
                    self._client = connected(self.address, self._security)
            time.sleep(_PAUSE)
            self.has_life()
        if not self.n_workers:
            self._look(self._client)
        return self._client

    def watch(self, is_wanted: Callable[[], bool]) -> None:
        """Look now and then which workers there are.

        Time in which nobody looked, since the machine slept or stood still, is not time without workers.

        Raises
        ------
        WorkerNotStarted
            When there is no scheduler, or no worker, for longer than `patience`.
        """
        since = time.monotonic() - self._looked
        if since < _EVERY:
            return
        self._without += min(since, 2 * _EVERY)
        self._look(self.connected(is_wanted))
        if self._without > self.patience:
            raise WorkerNotStarted(
                f"the Dask cluster at {self.address} has had no worker for {self.patience:g} s; start some with "
                f"`dask worker {self.address} --nthreads 1`"
            )

    def _look(self, client: Any) -> None:
        self._looked = time.monotonic()
        try:
            workers = client.scheduler_info()["workers"].values()
        except (OSError, KeyError):  # it has just lost the scheduler
            return
        gpus = sum(worker["resources"].get(RESOURCE, 0) >= 1 for worker in workers)
        self.resources = {RESOURCE: 1} if gpus else {}
        self.n_workers = gpus or len(workers)
        if self.n_workers:
            self.has_life()


def usual() -> Any:
    """The client that this process has made last, otherwise the address that Dask is configured with.

    Raises
    ------
    DeviceError
        When there is neither.
    """
    try:
        return library().default_client()
    except ValueError:
        from dask import config

        address = config.get("scheduler-address", None)
    if not address:
        raise DeviceError(
            "device dask: this process has no Dask client, and DASK_SCHEDULER_ADDRESS is not set; name the scheduler, "
            f"as in dask:tcp://HOST:8786, or {START}"
        )
    return str(address)


def connected(address: str, security: Any = None) -> Any:
    """A client of our own of the scheduler at an address.

    Raises
    ------
    OSError
        When none answers.
    ValueError
        For what is no address.
    """
    distributed = library()
    if not address.startswith("inproc:"):  # which has neither
        distributed.comm.get_address_host_port(address)  # a client of an address that cannot be read would not end
    if not _ours:
        atexit.register(_close_all)  # after distributed has registered its own end, so that ours comes first
    with _quietly():
        client = distributed.Client(address, security=security, timeout=_CONNECTION, set_as_default=False)
    _ours.add(client)
    return client


def reached(address: str) -> Any:
    """The same, with errors for a user.

    Raises
    ------
    DeviceError
        When none answers.
    """
    try:
        return connected(address)
    except (OSError, ValueError) as error:
        text = " ".join(str(error).split())[:200]
        raise DeviceError(f"no scheduler of Dask answers at {address} ({text}); {START}") from error


_ours: WeakSet[Any] = WeakSet()


def _close_all() -> None:
    """Close our clients while their threads still run: at the end of the process each would be waited for in vain."""
    with _quietly():
        for client in list(_ours):
            with suppress(Exception):  # the process ends: whatever state its connection is in
                client.close(timeout=_CONNECTION + 1)


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the log of a client, whose errors are told as ours."""
    log = logging.getLogger("distributed.client")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def defect(error: Any) -> WorkerError:
    """What Dask raises that is neither an error of a function nor a connection that was lost."""
    text = " ".join(str(error).split())
    if isinstance(error, (ImportError, AttributeError)) or "deserializ" in text:
        failure = WorkerError(
            f"the Dask cluster does not have this Orbitile ({type(error).__name__}: {text[:200]}): install the same "
            "environment for scheduler, workers and client"
        )
    else:
        failure = WorkerError(f"the Dask cluster failed ({type(error).__name__}: {text[:300]})")
    failure.__cause__ = error if isinstance(error, BaseException) else None
    return failure


_EVERY = 2.0
"""Polling interval in seconds: the cluster while nothing comes of it."""
_MOST_SENT = 20
"""Times that a task is sent to clusters that forget it."""
_KEPT = 4
"""Items that are kept on the workers between calls: a wavefunction, and a few that change more often."""

_Result = TypeVar("_Result")


class _Call(Job[Any]):
    """A call on its way: what was sent of it, and what of it the cluster has."""

    def __init__(self, name: str, data: bytes, kept: tuple[Kept, ...]) -> None:
        super().__init__()
        self.name, self.data, self.kept = name, data, kept
        self.remote: Any = None  # a future of Dask
        self.times_sent = 0
        self.is_suspect = False


class DaskExecutor(Executor):
    """Runs functions on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        One that is not asynchronous.
    patience : float
        Seconds for which the cluster may be without a scheduler, or without any worker.

    Attributes
    ----------
    cluster : Cluster

    Raises
    ------
    DeviceError
        For an asynchronous client.
    """

    def __init__(self, client: Any, *, patience: float = PATIENCE) -> None:
        if client.asynchronous:
            raise DeviceError("the Dask client is asynchronous: expected one made with asynchronous=False")
        self.cluster = Cluster(client, patience)
        self._lock = threading.Lock()
        self._calls: set[_Call] = set()
        self._events: SimpleQueue[tuple[_Call | None, Any]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_shut_down = False
        self._kept = Cache[Kept]("wavefunctions", most=_KEPT)
        self._remotes: dict[Kept, Any] = {}
        self._suspects: deque[_Call] = deque()
        self._suspect: _Call | None = None

    @property
    def width(self) -> int:
        """Tasks that are computed at a time, 1 or more: worker processes, those with a GPU where there are such."""
        return max(1, self.cluster.n_workers)

    @property
    def is_closed(self) -> bool:
        """Whether it was shut down, or its client was, with nothing under way for which there would be another."""
        return self._is_shut_down or (self.cluster.is_closed and not self._calls)

    def keep(self, item: _Result) -> _Result:
        """What stands for an item in the arguments of many calls, and gives it to their function: it is sent once.

        The last few are remembered: an equal item, which has to have a hash, is not sent again.
        """
        return cast(_Result, self._kept.of(item, lambda: Kept(item)))

    def submit(self, function: Callable[..., _Result], /, *arguments: Any, **keywords: Any) -> Job[_Result]:
        """Have a function run on the cluster, at once if there is a worker, and elsewhere when its worker dies.

        A worker that died may have run it to the end: it has to be one that can be run again. The future raises what
        the function raised; `WorkerEnded` when the function ended all workers that took it; `WorkerNotStarted` when
        there is no cluster, or no worker, for longer than `patience`; `WorkerError` for an internal error.

        Parameters
        ----------
        function
            Of a module that the workers have too.
        arguments, keywords
            What can be pickled.

        Raises
        ------
        OrbitileError
            When an argument cannot be pickled.
        RuntimeError
            After `shutdown`.
        """
        call = _Call(function.__name__, *pickled((function, arguments, keywords)))
        call.add_done_callback(self._done)
        with self._lock:
            if self._is_shut_down:
                raise RuntimeError("the executor was shut down")
            self._calls.add(call)
            self._events.put((call, None))
            if self._thread is None:
                self.cluster.has_life()
                self._thread = threading.Thread(target=self._serve, name="orbitile-dask", daemon=True)
                self._thread.start()
        return call

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more; the cluster and its client are left as they are.

        Parameters
        ----------
        wait
            Whether to return when what was submitted has been done.
        cancel_futures
            Whether to cancel what was submitted, also what is computed now.
        """
        with self._lock:
            self._is_shut_down = True
            calls, thread = list(self._calls), self._thread
        for call in calls if cancel_futures else ():
            call.cancel()
        if wait and thread is not None:
            thread.join()

    def _done(self, job: Future[Any]) -> None:
        """Forget a call that has its result, or is not wanted; wherever that is found."""
        assert isinstance(job, _Call)
        with self._lock:
            self._calls.discard(job)
            remote, job.remote = job.remote, None
        if remote is not None and job.cancelled():
            self._on_loop(remote.client, remote.client.cancel, [remote])
        self._events.put((None, None))

    @staticmethod
    def _on_loop(client: Any, function: Callable[..., Any], *arguments: Any) -> Future[Any] | None:
        """Run a method of a client where it is at home; None where that is closed."""
        with suppress(RuntimeError, AttributeError):  # its loop has ended
            return asyncio.run_coroutine_threadsafe(function(*arguments, asynchronous=True), client.loop.asyncio_loop)
        return None

    # ---- the thread that talks to the cluster

    def _serve(self) -> None:
        while True:
            try:
                call, answer = self._events.get(timeout=_EVERY)
            except Empty:
                call, answer = None, None
            try:
                if call is not None and not call.done():
                    self._serve_one(call, answer)
                self._try_next_suspect()
                if self._calls:
                    self.cluster.watch(self._is_waited_for)
            except Exception as error:  # without a cluster, or by a defect: nobody is to wait for ever
                failure = error if isinstance(error, OrbitileError) else defect(error)
                self._fail_all(failure)
            with self._lock:
                if not self._calls and self._events.empty():
                    self._thread = None
                    return

    def _is_waited_for(self) -> bool:
        return bool(self._calls)

    def _serve_one(self, call: _Call, answer: Any) -> None:
        if answer is None and call.remote is None:
            self._send(call)
        elif answer is None:
            self._fetch(call)
        else:
            self._take(call, answer)

    def _send(self, call: _Call) -> None:
        """Submit a call, or submit it again."""
        distributed = library()
        client = self.cluster.connected(self._is_waited_for)
        call.times_sent += 1
        if call.times_sent > _MOST_SENT:
            self._fail(
                call, WorkerEnded(f"the Dask cluster at {self.cluster.address} has lost a task {_MOST_SENT} times")
            )
            return
        try:
            remote = client.submit(
                carry_out,
                VERSIONS,
                call.data,
                *(self._remote(client, kept) for kept in call.kept),
                key=f"{call.name}-{secrets.token_hex(16)}",
                resources=self.cluster.resources or None,
                pure=False,
            )
        except (OSError, RuntimeError, distributed.CancelledError):  # the connection was lost at this moment
            time.sleep(0.1)
            self._events.put((call, None))
            return
        with self._lock:
            call.remote = remote
        if call.cancelled():  # meanwhile
            self._done(call)
            return
        remote.add_done_callback(lambda _: self._events.put((call, None)))

    def _remote(self, client: Any, kept: Kept) -> Any:
        """The future of Dask for what is kept; made anew where the cluster has lost it."""
        known = self._remotes.get(kept)
        if known is None or known.client is not client or known.status not in ("pending", "finished"):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sending large graph")  # it is sent once
                key = f"hold-{secrets.token_hex(16)}"
                known = client.submit(hold, kept.item, key=key, pure=False)
            self._remotes[kept] = known
        for item in [item for item in self._remotes if item is not kept and item not in self._in_use()]:
            del self._remotes[item]
        return known

    def _in_use(self) -> set[Kept]:
        with self._lock:
            return {kept for call in self._calls for kept in call.kept} | set(self._kept)

    def _fetch(self, call: _Call) -> None:
        """See how a call ended there, and have its result sent."""
        remote = call.remote
        if remote.status == "finished":
            answer = self._on_loop(remote.client, remote.client.gather, remote)
            if answer is None:
                self._lost(call)
            else:
                answer.add_done_callback(lambda answer: self._events.put((call, answer)))
        elif remote.status == "error":
            self._failed(call, remote.exception())
        elif remote.status != "pending":
            self._lost(call)

    def _take(self, call: _Call, answer: Future[Any]) -> None:
        try:
            result = answer.result()
        except Exception as error:
            self._failed(call, error)
            return
        except asyncio.CancelledError:
            self._lost(call)
            return
        self.cluster.has_life()
        if isinstance(result, Failure):
            self._fail(call, result.error("a worker of Dask", ()))
        elif call.set_running_or_notify_cancel():
            call.set_result(result)

    def _lost(self, call: _Call) -> None:
        """The cluster does not know it any more."""
        call.remote = None
        self._send(call)

    def _failed(self, call: _Call, error: Any) -> None:
        distributed = library()
        if isinstance(error, distributed.KilledWorker):
            self.cluster.has_life()  # there are workers, for moments
            self._suspected(call, error)
        elif isinstance(error, (distributed.CancelledError, asyncio.CancelledError, OSError)):
            self._lost(call)
        else:
            self._fail(call, defect(error))

    # Dask blames all tasks that a worker had when it died, those too that waited behind the one that ended it. Those
    # that are blamed too often are tried once more, one at a time: only who ends workers then is guilty.

    def _suspected(self, call: _Call, error: Any) -> None:
        call.remote = None
        if call.is_suspect:
            deaths = 2 * (1 + error.allowed_failures)
            self._fail(
                call,
                WorkerEnded(
                    f"{call.name} has ended {deaths} workers of Dask, the last at {error.last_worker.address}: it "
                    "crashes, or needs more memory than they may take (--memory-limit); their logs say more"
                ),
            )
            return
        call.is_suspect = True
        self._suspects.append(call)

    def _try_next_suspect(self) -> None:
        if self._suspect is not None and self._suspect.done():
            self._suspect = None
        while self._suspect is None and self._suspects:
            call = self._suspects.popleft()
            if not call.done():
                self._suspect = call
                self._send(call)

    def _fail(self, call: _Call, error: BaseException) -> None:
        if call.set_running_or_notify_cancel():
            call.set_exception(error)

    def _fail_all(self, error: BaseException) -> None:
        self._suspects.clear()
        with self._lock:
            calls = list(self._calls)
        for call in calls:
            remote = call.remote
            self._fail(call, error)
            if remote is not None:
                self._on_loop(remote.client, remote.client.cancel, [remote])


_lock = threading.Lock()
_executors: dict[str, DaskExecutor] = {}
"""By the address, or the name of the client that was handed in; closed ones are dropped at the next request."""


def dask_executor(cluster: Any = None) -> DaskExecutor:
    """The executor of a cluster, the same one whenever it is asked for.

    Parameters
    ----------
    cluster : str or distributed.Client, optional
        Address of the scheduler, as "tcp://host:8786", or a client; by default the client that this process has made
        last, then the address in the environment variable DASK_SCHEDULER_ADDRESS.

    Raises
    ------
    DeviceError
        When there is none, it does not answer, or distributed is not installed.
    """
    if cluster is None:
        cluster = usual()
    if not isinstance(cluster, (str, library().Client)):
        raise DeviceError(f"device: expected a name or a Dask client, got {type(cluster).__name__}")
    with _lock:
        for key in [key for key, executor in _executors.items() if executor.is_closed]:
            del _executors[key]
        key = cluster if isinstance(cluster, str) else cluster.id
        if key not in _executors:
            _executors[key] = DaskExecutor(reached(cluster) if isinstance(cluster, str) else cluster)
        return _executors[key]


def _after_fork() -> None:
    """A fork has none of the threads that clients are made of."""
    global _lock
    _lock = threading.Lock()
    _executors.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
