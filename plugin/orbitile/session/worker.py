"""Computing in a process of its own: a crash, a fault of the GPU or a hung driver never takes the host along."""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

from ..errors import Cancelled, OrbitileError
from ..processes import environment, interpreter
from .request import Request, Sample, take_sample

_PATIENCE = 60.0
"""Seconds that a worker may take to start and connect."""

_FAREWELL = 3.0
"""Seconds that it may take to end, and to keep what Taichi has compiled."""


_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""For the linear algebra of a frame: matrices are small, and several threads take longer to meet than to compute."""


class WorkerError(OrbitileError):
    """The worker process could not be started, or died."""


class Worker:
    """One worker process, started at the first request and replaced after it has died.

    Parameters
    ----------
    python : str, optional
        Interpreter to run it with, one that has Taichi; otherwise the one that `ORBITILE_PYTHON` names, otherwise
        that of this process.
    """

    def __init__(self, python: str | None = None) -> None:
        self.python = python or os.environ.get("ORBITILE_PYTHON") or interpreter()
        self._lock = threading.RLock()
        self._starting = threading.Lock()
        self._outgoing: queue.SimpleQueue[tuple[int, Request]] = queue.SimpleQueue()
        self._sender: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._pending: dict[int, tuple[Request, Future[Sample], Callable[[float], None] | None]] = {}
        self._number = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def submit(self, request: Request, progress: Callable[[float], None] | None = None) -> Future[Sample]:
        """Ask for a sample; `progress` is called from another thread with the share that is done.

        Returns
        -------
        Future
            Its exception is an `OrbitileError`: what was wrong with the request, or how the worker ended.
        """
        future: Future[Sample] = Future()
        with self._lock:
            self._number += 1
            number = self._number
            self._pending[number] = (request, future, progress)
            if self._sender is None:  # one for all requests: a thread of its own for each would hold the caller up
                self._sender = threading.Thread(target=self._send_all, daemon=True)
                self._sender.start()
        future.add_done_callback(lambda done: self._withdraw(number) if done.cancelled() else None)
        self._outgoing.put((number, request))
        return future

    @property
    def process_id(self) -> int | None:
        """Process number of the worker, while it runs."""
        with self._lock:
            return None if self._process is None or self._process.poll() is not None else self._process.pid

    def close(self) -> None:
        """End the worker process; pending requests fail."""
        with self._starting, self._lock:
            process, connection, folder = self._process, self._connection, self._folder
            self._process = self._connection = self._folder = None
            if connection is not None:
                with contextlib.suppress(OSError, ValueError):  # it has died
                    connection.send(("end", 0, None))
        if process is not None:
            try:
                process.wait(timeout=_FAREWELL)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._fail_all("the worker was closed")
        if folder is not None:
            folder.cleanup()

    def _send_all(self) -> None:
        while True:
            self._send(*self._outgoing.get())

    def _send(self, number: int, request: Request) -> None:
        try:
            with self._starting:  # which takes seconds, and nobody else is to wait for it
                if number in self._pending and self._connection is None:
                    self._start()
            with self._lock:
                if number not in self._pending:
                    return
                if self._connection is None:
                    raise WorkerError("the worker was closed")
                self._connection.send(("sample", number, request.message()))
        except OrbitileError as error:
            self._finish(number, error)
        except (OSError, ValueError) as error:
            self._finish(
                number, WorkerError(f"the worker cannot be reached ({error}); the next request starts another")
            )

    def _withdraw(self, number: int) -> None:
        with self._lock:
            self._pending.pop(number, None)
            if self._connection is not None:
                with contextlib.suppress(OSError, ValueError):  # it has died, and with it the request
                    self._connection.send(("withdraw", number, None))

    def _start(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="orbitile-", dir=_shared_memory())
        try:
            process, connection = _started(self.python, folder.name)
        except BaseException:
            folder.cleanup()
            raise
        with self._lock:
            self._connection, self._process, self._folder = connection, process, folder
        threading.Thread(target=self._receive, args=(connection, process, folder), daemon=True).start()

    def _receive(
        self, connection: Connection, process: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]
    ) -> None:
        try:
            while True:
                self._answer(*connection.recv())
        except (EOFError, OSError):
            connection.close()  # the worker has ended
        with self._lock:
            if self._connection is not connection:
                return  # closed on purpose
            self._connection = self._process = self._folder = None
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
        folder.cleanup()
        self._fail_all(f"the worker process ended unexpectedly ({_death(process)}); the next request starts another")

    def _answer(self, kind: str, number: int, message: Any) -> None:
        with self._lock:
            found = self._pending.get(number)
        if kind == "progress":
            if found is not None and found[2] is not None:
                found[2](message)
        elif kind == "done":
            if found is None:  # withdrawn meanwhile
                for path, *_ in message["arrays"].values():
                    Path(path).unlink(missing_ok=True)
            else:
                self._finish(number, take_sample(found[0], message))
        elif kind == "refused":
            self._finish(number, OrbitileError(message))
        else:
            self._finish(number, Cancelled("cancelled"))

    def _finish(self, number: int, result: Sample | OrbitileError) -> None:
        with self._lock:
            found = self._pending.pop(number, None)
        if found is None or not found[1].set_running_or_notify_cancel():
            return
        if isinstance(result, OrbitileError):
            found[1].set_exception(result)
        else:
            found[1].set_result(result)

    def _fail_all(self, why: str) -> None:
        with self._lock:
            numbers = list(self._pending)
        for number in numbers:
            self._finish(number, WorkerError(why))


_FAMILY = "AF_PIPE" if sys.platform == "win32" else "AF_UNIX"


def _shared_memory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _started(python: str, folder: str) -> tuple[subprocess.Popen[bytes], Connection]:
    """A worker process that leaves arrays in a folder, and the connection to it."""
    key = secrets.token_bytes(32)
    with Listener(family=_FAMILY, authkey=key) as listener:
        command = [python, "-m", "orbitile.session.worker_process", str(listener.address), folder]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={**_ONE_THREAD, **environment()},
            )
        except OSError as error:
            raise WorkerError(f"the worker cannot be started with {python} ({error.strerror})") from error
        assert process.stdin is not None  # it is a pipe
        try:
            with contextlib.suppress(BrokenPipeError):  # it has ended already: _accepted says how
                process.stdin.write(key.hex().encode() + b"\n")
                process.stdin.flush()
            return process, _accepted(listener, process)
        except BaseException:
            process.kill()
            raise


def _accepted(listener: Listener, process: subprocess.Popen[bytes]) -> Connection:
    """The connection of the worker, or an error if it ends or is silent instead."""
    accepted: list[Connection] = []
    waiting = threading.Thread(target=lambda: accepted.append(listener.accept()), daemon=True)
    waiting.start()
    for _ in range(int(_PATIENCE / 0.05)):
        waiting.join(0.05)
        if accepted:
            return accepted[0]
        if process.poll() is not None:
            raise WorkerError(f"the worker did not start ({_death(process)})")
    raise WorkerError(f"the worker did not answer within {_PATIENCE:g} s")


def _death(process: subprocess.Popen[bytes]) -> str:
    """How a process ended, with the last line it wrote to standard error."""
    code = process.poll()
    how = "still running" if code is None else f"signal {-code}" if code < 0 else f"exit status {code}"
    if process.stderr is None or code is None:
        return how
    lines = [line for line in process.stderr.read().decode(errors="replace").splitlines() if line.strip()]
    return f"{how}: {lines[-1].strip()[:200]}" if lines else how
