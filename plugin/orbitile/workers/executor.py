"""Several workers as an executor of `concurrent.futures`."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, wait
from contextvars import Context
from queue import SimpleQueue
from typing import Any, TypeVar

from ..watch import Progress, checkpoint, tell, watched
from .worker import Worker, end_all

_EVERY = 0.01
"""Seconds between two looks at whether the result of a job is still wanted."""

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
    """

    def __init__(self, workers: Sequence[Worker]) -> None:
        self.workers = tuple(workers)
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
                    checkpoint()
                    result = worker.call(function, *arguments, **keywords)
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
