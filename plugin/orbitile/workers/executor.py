"""Several workers as an executor of `concurrent.futures`."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import suppress
from contextvars import Context
from functools import partial
from itertools import islice
from queue import SimpleQueue
from typing import Any, TypeVar

from ..base.errors import OrbitileError
from ..base.watch import Progress, checkpoint, stage, tell, watched
from .child_process import environment, n_cores
from .transport import WorkerEnded, WorkerNotStarted
from .worker import Worker, end_all

_EVERY = 0.01
"""Polling interval in seconds: whether the result of a job is still wanted."""

_Result = TypeVar("_Result")


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
        self._jobs: weakref.WeakSet[Job[Any]] = weakref.WeakSet()
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
) -> Iterator[_Result]:
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


_executors: weakref.WeakSet[Workers] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for executor in list(_executors):
        executor.shutdown(wait=False, cancel_futures=True)
    for executor in list(_executors):
        executor.shutdown()
    end_all()


def _after_fork() -> None:
    for executor in list(_executors):
        executor._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


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
