"""Computing in a process of its own: a crash, a fault of the GPU or a hung driver never takes the host along."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Cancelled, OrbitileError
from ..workers.child_process import AnsweringProcess, ProcessError
from ..workers.processes import environment, interpreter
from .request import Request, Sample, take_sample

_FAREWELL = 2.0
"""Seconds for which its end is waited for; it may take longer, to keep what Taichi has compiled."""

_WITHDRAWN = 5.0
"""Seconds that it may go on with a request that was withdrawn, while another waits."""

_LOOK = 0.2
"""Seconds between two looks at whether it stands still."""

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""For the linear algebra of a frame: matrices are small, and several threads take longer to meet than to compute."""


class WorkerError(OrbitileError):
    """The worker process could not be started, or died."""


@dataclass
class _Asked:
    """A request that has not been answered.

    Attributes
    ----------
    request, future, progress
        As for `Worker.submit`.
    attempts : int
        Processes that it was sent to.
    """

    request: Request
    future: Future[Sample]
    progress: Callable[[float], None] | None
    attempts: int = 0


class _Process:
    """One process: what it was sent, and where it leaves arrays.

    Attributes
    ----------
    child : AnsweringProcess
    folder : Path
    given_up : bool
        Whether it was ended because it stood still.
    """

    def __init__(self, python: str, given_up: Callable[[], bool]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="orbitile-", dir=_shared_memory()))
        try:
            self.child = AnsweringProcess(
                "the worker",
                python,
                "orbitile.session.worker_process",
                str(self.folder),
                settings={**_ONE_THREAD, **environment()},
                given_up=given_up,
            )
        except BaseException:
            self._clear()
            raise
        self.given_up = False
        self._lock = threading.Lock()
        self._unanswered: dict[int, float | None] = {}
        self._answered = 0.0

    def send(self, kind: str, number: int, message: Any = None) -> None:
        """Ask for a sample, or withdraw that."""
        with self._lock:
            if kind == "sample":
                self._unanswered[number] = None
            elif number in self._unanswered:
                self._unanswered[number] = time.monotonic()
        self.child.connection.send((kind, number, message))

    def answered(self, number: int) -> None:
        """Take note that a request is done with."""
        with self._lock:
            self._unanswered.pop(number, None)
            self._answered = time.monotonic()

    def stands_still(self) -> bool:
        """Whether it is stopped, or goes on with what was withdrawn: to be asked while something is wanted of it."""
        with self._lock:
            withdrawn = next(iter(self._unanswered.values()), None)  # they are served in this order
        if withdrawn is not None and time.monotonic() - max(withdrawn, self._answered) > _WITHDRAWN:
            return True
        return self.child.stands_still()

    def end(self) -> None:
        """End it at once, and remove what it has left."""
        self.child.end(0)
        self._clear()

    def let_go(self) -> None:
        """Have it end in good order, and remove what it leaves."""
        self.child.let_go(_FAREWELL)
        if not self.child.running():  # otherwise it does so itself
            self._clear()

    def _clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class Worker:
    """One worker process, started at the first request, and replaced after it has died or come to a standstill.

    Parameters
    ----------
    python : str, optional
        Interpreter to run it with, one that has Taichi; otherwise the one that `ORBITILE_PYTHON` names, otherwise
        that of this process.
    """

    def __init__(self, python: str | None = None) -> None:
        self.python = python or os.environ.get("ORBITILE_PYTHON") or interpreter()
        self._begin()

    def _begin(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._outgoing: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
        self._sender: threading.Thread | None = None
        self._process: _Process | None = None
        self._pending: dict[int, _Asked] = {}
        self._number = 0
        self._closed = 0

    def submit(self, request: Request, progress: Callable[[float], None] | None = None) -> Future[Sample]:
        """Ask for a sample; `progress` is called from another thread with the share that is done.

        Returns
        -------
        Future
            Its exception is an `OrbitileError`: what was wrong with the request, or how the worker ended.
        """
        if self._owner != os.getpid():  # this process was forked: the worker and the threads are the other's
            self._begin()
        future: Future[Sample] = Future()
        with self._lock:
            self._number += 1
            number = self._number
            self._pending[number] = _Asked(request, future, progress)
            if self._sender is None:  # one for all requests: a thread of its own for each would hold the caller up
                self._sender = threading.Thread(target=self._send_all, daemon=True)
                self._sender.start()
        future.add_done_callback(lambda done: self._withdraw(number) if done.cancelled() else None)
        self._outgoing.put(("sample", number))
        return future

    @property
    def process_id(self) -> int | None:
        """Process number of the worker, while it runs."""
        process = self._process
        return process.child.process_id if process is not None and process.child.running() else None

    def close(self) -> None:
        """End the worker process; pending requests fail."""
        if self._owner != os.getpid():
            return
        with self._lock:
            process, self._process = self._process, None
            self._closed += 1
        if process is not None:
            process.let_go()
        self._fail(list(self._pending), "the worker was closed")

    def _send_all(self) -> None:
        while True:
            self._send(*self._outgoing.get())

    def _send(self, kind: str, number: int) -> None:
        asked = self._pending.get(number)
        try:
            if kind == "withdraw":
                process = self._process
                if process is not None:
                    with contextlib.suppress(OSError, ValueError):  # it has died, and with it the request
                        process.send(kind, number)
            elif asked is not None:
                process = self._process or self._started()
                asked.attempts += 1
                process.send(kind, number, asked.request.message())
        except OrbitileError as error:
            self._finish(number, error)
        except (OSError, ValueError) as error:
            self._finish(
                number, WorkerError(f"the worker cannot be reached ({error}); the next request starts another")
            )

    def _withdraw(self, number: int) -> None:
        with self._lock:
            self._pending.pop(number, None)
        self._outgoing.put(("withdraw", number))

    def _started(self) -> _Process:
        closed = self._closed
        try:
            process = _Process(self.python, lambda: self._closed != closed)
        except ProcessError as error:
            raise WorkerError(str(error)) from error
        with self._lock:
            if self._closed == closed:
                self._process = process
                threading.Thread(target=self._receive, args=(process,), daemon=True).start()
                return process
        process.end()
        raise WorkerError("the worker was closed")

    def _receive(self, process: _Process) -> None:
        connection = process.child.connection
        try:
            while True:
                if connection.poll(_LOOK):
                    self._answer(process, *connection.recv())
                elif self._pending and process.stands_still():
                    process.given_up = True
                    break
        except Exception:  # it has ended, or sends what cannot be read: either way it is of no more use
            pass
        with self._lock:
            if self._process is not process:
                return  # closed on purpose
            self._process = None
            numbers = list(self._pending)
        process.end() if process.given_up else process.let_go()
        connection.close()
        if process.given_up:
            again = [number for number in numbers if (asked := self._pending.get(number)) and asked.attempts < 2]
            for number in again:
                self._outgoing.put(("sample", number))
            numbers = [number for number in numbers if number not in again]
            why = "the worker process did not go on, and was ended"
        else:
            why = f"the worker process ended unexpectedly ({process.child.ending()})"
        self._fail(numbers, f"{why}; the next request starts another")

    def _answer(self, process: _Process, kind: str, number: int, message: Any) -> None:
        asked = self._pending.get(number)
        if kind == "progress":
            if asked is not None and asked.progress is not None:
                asked.progress(message)
            return
        process.answered(number)
        if kind == "done":
            if asked is None:  # withdrawn meanwhile
                for path, *_ in message["arrays"].values():
                    Path(path).unlink(missing_ok=True)
            else:
                self._finish(number, take_sample(asked.request, message))
        elif kind == "refused":
            self._finish(number, OrbitileError(message))
        else:
            self._finish(number, Cancelled("cancelled"))

    def _finish(self, number: int, result: Sample | OrbitileError) -> None:
        with self._lock:
            asked = self._pending.pop(number, None)
        if asked is None or not asked.future.set_running_or_notify_cancel():
            return
        if isinstance(result, OrbitileError):
            asked.future.set_exception(result)
        else:
            asked.future.set_result(result)

    def _fail(self, numbers: list[int], why: str) -> None:
        for number in numbers:
            self._finish(number, WorkerError(why))


def _shared_memory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
