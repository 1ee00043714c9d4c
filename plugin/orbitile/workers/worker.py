"""The client side of workers: processes that run functions for this one, restarted when they die or hang."""

from __future__ import annotations

import atexit
import os
import secrets
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager, suppress
from contextvars import Context
from functools import partial
from itertools import islice
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Listener
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar
from weakref import WeakSet

from ..base.errors import OrbitileError
from ..base.imports import isolated
from ..base.temporary import PREFIX, own_folder, remove
from ..base.watch import Progress, checkpoint, stage, tell, watched
from . import transport
from .child_process import ChildProcess, ProcessError, environment, interpreter, n_cores
from .transport import Failure, WorkerEnded, WorkerNotStarted

_START = 60.0
"""Seconds that a worker may take to start and connect."""
_EVERY = 0.01
"""Polling interval in seconds: whether an answer or a job is still wanted, and a worker goes on."""
_FAREWELL = 2.0
"""Seconds for which the end of a worker is waited for; it may take longer, to keep what Taichi has compiled."""
_COMPLETION = 60.0
"""Seconds after which one that is still at work of its own is ended all the same."""
_LINES = 20
"""Of what a worker wrote last, for the cause of an error."""
_FAMILY = "AF_PIPE" if os.name == "nt" else "AF_UNIX"
_LONGEST = 100
"""Bytes that the path of a socket may have on all systems, where 104 or 108 hold it with a zero at its end."""

_Result = TypeVar("_Result")


class Worker:
    """A process that runs functions for this one, one after the other; started at the first, and anew after its end.

    Parameters
    ----------
    name : str
        For messages: "the worker".
    python : str, optional
        Interpreter to run it with; otherwise the one of this process.
    settings : callable, optional
        Asked for its environment whenever it is started; by default `environment`.
    patience : float
        Seconds that it may go on with what is not wanted any more before it is replaced; with 0 it is ended at once.
    idle : float
        Seconds without work after which it ends; 0 for never.
    nice : int
        How far it steps back for other processes.
    """

    def __init__(
        self,
        name: str,
        *,
        python: str | None = None,
        settings: Callable[[], Mapping[str, str]] = environment,
        patience: float = 5.0,
        idle: float = 0.0,
        nice: int = 0,
    ) -> None:
        self.name = name
        self._python, self._settings, self._patience = python, settings, patience
        self._options = (str(idle), str(nice))
        self._lock = threading.Lock()
        self._process: _Process | None = None
        _workers.add(self)

    @property
    def process_id(self) -> int | None:
        """Number of its process, while it runs."""
        process = self._process
        return process.process_id if process is not None and process.running() else None

    def call(self, function: Callable[..., _Result], /, *arguments: Any, **keywords: Any) -> _Result:
        """What a function returns, run in the worker.

        It is under the watch of the caller (`base.watch`), as if it ran here. When the worker was stopped, or had
        ended before it began, another one runs the function.

        Parameters
        ----------
        function
            Found by the names of its module and of itself in the worker too.
        arguments, keywords
            What can be pickled. Arrays go through shared memory (`orbitile.workers.transport`).

        Raises
        ------
        OrbitileError
            What the function raised: the same class, the same message. When the arguments cannot be pickled.
        WorkerEnded
            When the worker died at it, or stood still twice.
        WorkerNotStarted
            When it cannot be started.
        WorkerError
            When the function raised anything else: an internal error.
        Cancelled
            When the watch says that the result is not wanted any more.
        """
        with self._claimed():
            process, answer = self._asked((function, arguments, keywords))
        if isinstance(answer, Failure):
            raise answer.error(self.name, process.said[-_LINES:])
        return transport.unpack(answer)

    def _asked(self, call: object) -> tuple[_Process, transport.Packed | Failure]:
        for last in (False, True):
            process = self._running()
            try:
                process.ready(self._patience)
                return process, process.ask(call, self._patience > 0)
            except _Lost as lost:
                self._drop()
                if last or not lost.again:
                    error = WorkerEnded(f"{self.name} ended ({lost}); the next request starts another")
                    error.status = lost.status
                    raise error from None
            except BaseException as error:
                if isinstance(error, WorkerNotStarted) or not process.is_in_order:
                    self._drop()
                raise
        raise AssertionError  # the second time there is an answer, or an error

    def end(self, seconds: float = _FAREWELL) -> None:
        """End the process, if there is one, and wait for it so many seconds; then it is left to complete its end.

        What is called later starts another process. One that computes is not waited for twice as long.
        """
        is_idle = self._lock.acquire(timeout=seconds)
        process, self._process = self._process, None
        if process is not None:
            process.end(seconds) if is_idle else process.kill()
        if is_idle:
            self._lock.release()

    @contextmanager
    def _claimed(self) -> Iterator[None]:
        while not self._lock.acquire(timeout=_EVERY):
            checkpoint()
        try:
            yield
        finally:
            self._lock.release()

    def _running(self) -> _Process:
        process = self._process
        if process is None or not process.running():
            self._drop()
            python = self._python or interpreter()
            process = self._process = _Process(self.name, python, self._settings(), self._options)
        return process

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def _forget(self) -> None:
        """In a fork: the process works for the one that started it, whose threads hold the lock or do not."""
        self._lock = threading.Lock()
        process, self._process = self._process, None
        if process is not None:
            process.forget()


class _Lost(Exception):
    """The process has ended, or stands still; `again` says whether another one may be asked the same."""

    def __init__(self, text: str, again: bool, status: int | None) -> None:
        super().__init__(text)
        self.again, self.status = again, status


class _Process(ChildProcess):
    """One process of a worker and the connection to it.

    Attributes
    ----------
    is_in_order : bool
        Whether it can be asked again after an error: it has not been left in the middle of a message.
    """

    def __init__(self, name: str, python: str, settings: Mapping[str, str], options: tuple[str, ...]) -> None:
        self._key = secrets.token_bytes(32)
        self._prefix = transport.new_prefix()
        self._connection: transport.Channel | None = None
        self._is_ready = False
        self._withdrawn: float | None = None
        self.is_in_order = True
        self._folder = ""
        try:
            self._folder = tempfile.mkdtemp(dir=own_folder())
            address = None if _FAMILY == "AF_PIPE" else _address()
            self._listener = Listener(address, _FAMILY, authkey=self._key)
        except OSError as error:  # the temporary folder has no room, above all
            remove(Path(self._folder))
            raise WorkerNotStarted(f"{name} cannot be connected to ({error})") from error
        told = (str(self._listener.address), self._prefix, transport.own_prefix(), self._folder, *options)
        command = isolated(python, "from orbitile.workers.serving import main; main()", *told)
        try:
            super().__init__(name, command, settings)
        except ProcessError as error:
            self._close()
            remove(Path(self._folder))
            raise WorkerNotStarted(str(error)) from error
        self._deadline = time.monotonic() + _START
        with suppress(OSError):  # it has ended already, which is noticed below
            self.feed(memoryview(self._key.hex().encode() + b"\n"))
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        with suppress(OSError, EOFError, AuthenticationError):  # nobody came
            self._connection = self._listener.accept()

    def ready(self, patience: float) -> None:
        """Wait until it is connected, and done with what was withdrawn; a `Cancelled` leaves that to the next caller.

        Raises
        ------
        WorkerNotStarted
            When it did not start.
        _Lost
            When it stands still.
        """
        while not self._is_ready:
            self._accepting.join(_EVERY)
            if self._connection is not None:
                self._close()
                self._is_ready = True
                break
            if not self.running():
                raise WorkerNotStarted(f"{self.name} did not start ({self.ending()})")
            if self.stands_still():
                raise _Lost("it was stopped", True, None)
            if time.monotonic() > self._deadline:
                raise WorkerNotStarted(f"{self.name} did not answer within {_START:g} s")
            checkpoint()
        while self._withdrawn is not None:
            kind, answer = self._next()
            if kind == "done":
                answer.remove()
            if kind in ("done", "failed"):
                self._withdrawn = None
            elif time.monotonic() - self._withdrawn > patience:
                raise _Lost("it did not go on, and was ended", True, None)
            checkpoint()

    def ask(self, call: object, is_patient: bool) -> transport.Packed | Failure:
        """Have a function run, and wait for what comes of it."""
        try:
            packed, memory = transport.pack(call)
        except Exception as error:  # whatever an object of a caller raises
            raise OrbitileError(f"{self.name} cannot be sent this ({type(error).__name__}: {error})") from error
        try:
            self.is_in_order = False
            if not self._send("run", packed):
                self.wait(5)
                raise _Lost(self.ending(), True, self.status)
            while True:
                kind, answer = self._next()
                if kind in ("done", "failed"):
                    self.is_in_order = True
                    return answer
                try:
                    if kind == "progress":
                        tell(answer)
                    checkpoint()
                except BaseException:
                    if is_patient:
                        self._send("withdraw")
                        self._withdrawn = time.monotonic()
                        self.is_in_order = True
                    raise
        finally:
            packed.remove()
            del memory

    def _send(self, kind: str, call: transport.Packed | None = None) -> bool:
        """Send a message; says whether the process can have had it."""
        assert self._connection is not None  # it is ready
        try:
            transport.send(self._connection, kind, call)
        except (OSError, ValueError):  # it has ended
            return False
        return True

    def _next(self) -> tuple[str, Any]:
        """A message: "progress" with a share, "done" with a result, "failed" with a failure, or "nothing" as yet."""
        assert self._connection is not None  # it is ready
        try:
            if self._connection.poll(_EVERY):
                return transport.receive(self._connection)
        except (EOFError, OSError) as error:
            self.wait(5)
            unread = isinstance(error, ConnectionError)  # it ended before it read the last message
            raise _Lost(self.ending(), unread, self.status) from None
        if self.stands_still():
            raise _Lost("it did not go on, and was ended", True, None)
        return "nothing", None

    def end(self, seconds: float) -> None:
        """Ask it to end and wait so long; then it is left alone with what it completes, or killed if it stands still.

        One that has stopped working completes its end alone. One that does something of its own, as a kernel that is
        compiled for the next request, has as long as this process lives, and no longer than `_COMPLETION`.
        """
        if self._connection is not None:
            self._send("end")
        else:
            self.terminate()
        self._wait_while_it_goes_on(seconds)
        if not self.running() or self.is_stopped() or self._withdrawn is not None:
            self.kill()
        elif self._has_stopped_working():
            self.hang_up()
        else:
            threading.Thread(target=self._complete, daemon=True).start()

    def _complete(self) -> None:
        self._wait_while_it_goes_on(_COMPLETION)
        self.kill()

    def _wait_while_it_goes_on(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self.running() and time.monotonic() < until and not self.is_stopped():
            self.wait(_EVERY)

    def _has_stopped_working(self) -> bool:
        """Whether it has closed the connection, and only its end is to be completed."""
        try:
            while self._connection is not None and self._connection.poll():
                transport.receive(self._connection)
        except (EOFError, OSError):
            return True
        return False

    def kill(self) -> None:
        """End it at once, with its guard, and remove what it has left."""
        if sys.platform != "win32":
            with suppress(OSError):  # both have gone
                os.killpg(self.process_id, signal.SIGKILL)
        super().kill()
        self.forget()
        self._close()
        transport.remove_all(self._prefix)
        remove(Path(self._folder))

    def forget(self) -> None:
        """Let go of the connection: the process has ended, or works for another one."""
        if self._connection is not None:
            self._connection.close()

    def _close(self) -> None:
        """Accept no connection any more."""
        if self._connection is None:
            with suppress(OSError):  # somebody who knows no key ends the waiting
                Client(self._listener.address).close()
        self._listener.close()


def _address() -> str:
    """A path for the socket of a worker, which is gone as soon as that has connected.

    It lies in /tmp where the temporary folder has too long a name, as it may for a worker of a worker. Nobody else can
    write to the socket, and so connect to it.
    """
    address = str(own_folder() / secrets.token_hex(3))
    return address if len(os.fsencode(address)) <= _LONGEST else f"/tmp/{PREFIX}{secrets.token_hex(8)}"


# ---- several workers as an executor of `concurrent.futures`


class Job(Future[_Result]):
    """What a worker is going to return. It can be cancelled also while it is computed.

    Attributes
    ----------
    share : float
        What is done of it.
    progress : callable or None
        Called with that share from another thread, when it has grown.
    """

    def __init__(self) -> None:
        super().__init__()
        self.share = 0.0
        self.progress: Progress | None = None

    def tell(self, share: float) -> None:
        """Take note of the share that is done."""
        self.share = share
        if self.progress is not None:
            self.progress(share)


class Workers(Executor):
    """Runs functions in workers, each as soon as one has nothing else to do.

    Parameters
    ----------
    workers : sequence of Worker
        Started when they are needed, and used by this executor alone.
    attempts : int
        Processes that are tried for one function: one that ends at it, or at its start, is followed by another.
    """

    def __init__(self, workers: Sequence[Worker], attempts: int = 1) -> None:
        self.workers, self._attempts = tuple(workers), attempts
        self._forget()
        _executors.add(self)

    def _forget(self) -> None:
        """Begin without jobs: at first, and in a fork, where there are no threads and jobs are another process's."""
        self._lock = threading.Lock()
        self._waiting: SimpleQueue[Callable[[Worker], None] | None] = SimpleQueue()
        self._jobs: WeakSet[Job[Any]] = WeakSet()
        self._threads: list[threading.Thread] = []
        self._is_shut_down = False

    def submit(self, function: Callable[..., _Result], /, *arguments: Any, **keywords: Any) -> Job[_Result]:
        """Have a function run; arguments and errors as for `Worker.call`.

        Raises
        ------
        RuntimeError
            After `shutdown`.
        """
        job: Job[_Result] = Job()

        def run(worker: Worker) -> None:
            try:
                with watched(job.tell, job.cancelled):
                    result = self._called(worker, function, arguments, keywords)
            except BaseException as error:
                if job.set_running_or_notify_cancel():
                    job.set_exception(error)
            else:
                if job.set_running_or_notify_cancel():
                    job.set_result(result)

        with self._lock:
            if self._is_shut_down:
                raise RuntimeError("the workers were shut down")
            self._jobs.add(job)
            self._waiting.put(run)
            if not self._threads:
                self._threads = [
                    threading.Thread(target=_serve, args=(worker, self._waiting), daemon=True)
                    for worker in self.workers
                ]
                for thread in self._threads:
                    thread.start()
        return job

    def _called(
        self,
        worker: Worker,
        function: Callable[..., _Result],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> _Result:
        for _ in range(self._attempts - 1):
            checkpoint()
            with suppress(WorkerEnded, WorkerNotStarted):
                return worker.call(function, *arguments, **keywords)
        checkpoint()
        return worker.call(function, *arguments, **keywords)

    @property
    def width(self) -> int:
        """Functions that are run at a time."""
        return len(self.workers)

    def on_each(self, function: Callable[..., object], /, *arguments: Any) -> None:
        """Run a function in each worker that has a process, after what it is doing; whoever watches does not matter."""
        for worker in self.workers:
            if worker.process_id is not None:
                Context().run(worker.call, function, *arguments)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers when they have done what was submitted, or at once if that is cancelled.

        Parameters
        ----------
        wait
            Whether to return when they have ended only; one that has much to complete is left alone after a moment.
        cancel_futures
            Whether to cancel what was submitted, also what is computed now.
        """
        with self._lock:
            if not self._is_shut_down:
                self._is_shut_down = True
                for _ in self._threads:
                    self._waiting.put(None)
        if cancel_futures:
            for job in list(self._jobs):
                job.cancel()
        for thread in self._threads if wait else ():
            thread.join()


def _serve(worker: Worker, waiting: SimpleQueue[Callable[[Worker], None] | None]) -> None:
    while (run := waiting.get()) is not None:
        run(worker)
        del run  # and with it arguments and result
    worker.end()


def awaited(future: Future[_Result]) -> _Result:
    """The result of a future of any executor, which is cancelled when whoever watches does not want it any more.

    Raises
    ------
    Cancelled
        When it is not wanted.
    Exception
        What the future raises.
    """
    try:
        while not wait([future], timeout=_EVERY).done:
            tell(getattr(future, "share", 0.0))
            checkpoint()
    except BaseException:
        future.cancel()
        raise
    return future.result()


def first_done(futures: Collection[Future[Any]]) -> set[Future[Any]]:
    """Those that are done, as soon as there is one; whoever watches is asked meanwhile whether any is wanted.

    Raises
    ------
    Cancelled
        When none is; the futures are as they were.
    """
    while True:
        checkpoint()
        if done := wait(futures, timeout=_EVERY, return_when=FIRST_COMPLETED).done:
            return done


def in_order(
    executor: Executor, function: Callable[..., _Result], calls: Iterable[tuple[Any, ...]]
) -> Generator[_Result, None, None]:
    """The results of many calls in the order of the calls, a few of which are under way at a time.

    Parameters
    ----------
    executor
        Runs them; what is under way is cancelled when the iterator is closed or fails.
    function
        Of a module.
    calls
        Arguments of each call; gone through as results are taken.
    """
    waiting: deque[Future[_Result]] = deque()
    remaining = iter(calls)
    try:
        while True:
            more = max(0, ahead(executor) - len(waiting))  # it is less when a worker has gone
            with stage(0.0, 0.0):  # what is done of one call says nothing of all of them
                waiting.extend(executor.submit(function, *call) for call in islice(remaining, more))
                if not waiting:
                    return
                result = awaited(waiting.popleft())
            yield result
            del result
    finally:
        for future in waiting:
            future.cancel()


def ahead(executor: Executor) -> int:
    """Calls to have under way, so that nobody waits for the next one: two for each that an executor runs at a time.

    That is its `width`, which may change; where it has none, it is taken for one of this machine.
    """
    width: int = getattr(executor, "width", n_cores())
    return 2 * max(1, width)


_MOST = 1024
"""Workers of one machine: larger numbers are taken for typing errors; each takes some hundred megabytes."""

_ATTEMPTS = 3
"""Processes that one function may end: the first may have ended for another reason, such as another's use of memory."""


def local_workers(n: int | None = None) -> Workers:
    """Workers of this machine, an executor: `with local_workers(4) as workers: ...` ends them in order.

    Parameters
    ----------
    n
        How many; by default as many as there are cores for this process.

    Raises
    ------
    OrbitileError
        When the number is none.

    Notes
    -----
    Linear algebra (`OMP_NUM_THREADS`, `OPENBLAS_NUM_THREADS`, `MKL_NUM_THREADS`) has one thread in each, so that what
    they compute does not depend on their number; kernels and drawing, whose results do not depend on threads, have
    their share of the cores (`ORBITILE_THREADS`, `LP_NUM_THREADS`). What the environment says about these remains.
    """
    n = n_cores() if n is None else n
    if not 1 <= n <= _MOST:
        raise OrbitileError(f"workers: expected 1 to {_MOST}, got {n}")
    settings = partial(_settings, max(1, n_cores() // n))
    return Workers([Worker(f"worker {number}", settings=settings) for number in range(1, n + 1)], _ATTEMPTS)


def _settings(share: int) -> Mapping[str, str]:
    """Environment of a worker that has so many cores."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    several = dict.fromkeys(("ORBITILE_THREADS", "LP_NUM_THREADS"), str(share))
    return {**one, **several, **environment()}


# ---- the end of this process, and forks of it

_workers: WeakSet[Worker] = WeakSet()
_executors: WeakSet[Workers] = WeakSet()


@atexit.register
def _end_all() -> None:
    for executor in list(_executors):
        executor.shutdown(wait=False, cancel_futures=True)
    for executor in list(_executors):
        executor.shutdown()
    for worker in list(_workers):
        worker.end()
    transport.remove_all(transport.own_prefix())


def _after_fork() -> None:
    for executor in list(_executors):
        executor._forget()
    for worker in list(_workers):
        worker._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
