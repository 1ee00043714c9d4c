"""The worker process itself.

It runs one function after the other, under a watch (`base.watch`) that tells the other side how far it has come and
asks it whether the result is still wanted. It ends in good order when the other side says so, on SIGTERM, and when
nothing has come for some time; and within two seconds, whatever it does, when the other side is gone.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

from ..base.temporary import remove, use_folder
from ..base.watch import Watch
from . import transport
from .transport import Failure

_FAREWELL = 1.5
"""Seconds that a worker has to end in good order when the process that it works for is gone."""
_COMPLETION = 30.0
"""Seconds that it has when it was asked to end: Taichi writes what it has compiled, which takes long at times."""
_EVERY = 0.01
"""Polling interval in seconds: whether what is computed is still wanted."""

_afterwards: list[Callable[[], object]] = []


def afterwards(function: Callable[[], object]) -> None:
    """In a worker: call a function when the result of the one that runs has been sent, and nobody waits for it."""
    _afterwards.append(function)


def retire() -> bool:
    """In a worker: end the process when the result of the function that runs has been sent; another does what follows.

    For what cannot be mended in a process, as a GPU that was lost. In any other process this does nothing. Says whether
    this is a worker.
    """
    global _retires
    _retires = _is_worker
    return _is_worker


_is_worker = _retires = False


class _Ended(Exception):
    """A signal has come while there was nothing to do."""


class _Worker:
    """The work, in the main thread."""

    def __init__(self, connection: transport.Channel, idle: float | None) -> None:
        self._connection, self._idle_seconds = connection, idle
        self._waiting = False
        self.is_alone = False
        self._ended = False
        self._withdrawn = False
        self._looked = 0.0
        self._memory: Any = None
        self._result: Any = None
        """The last one: if it were dropped before the next is there, memory would go back to the system and be cleared
        again each time, which takes as long as the transport."""

    def end(self) -> None:
        """End after what is under way, which is told that it is not wanted any more."""
        self._ended = True

    def on_signal(self, number: int, frame: object) -> None:
        """The same, as the handler of a signal."""
        self._ended = True
        if self._waiting:
            raise _Ended

    def serve(self) -> bool:
        """Run what is asked for until there is no more; says whether the other side is still there."""
        try:
            while not self._ended and (message := self._next()) is not None:
                kind, call = message
                if kind == "run":
                    transport.send(self._connection, *self._answer(call))
                    while _afterwards and not _retires:
                        _afterwards.pop(0)()
                self._ended = self._ended or _retires or kind == "end"
        except _Ended:
            pass
        except (EOFError, OSError):
            return False
        return not self.is_alone

    def _next(self) -> tuple[str, Any] | None:
        """The next message, or None when none has come for long."""
        self._waiting = True
        try:
            if self._idle_seconds is not None and not self._connection.poll(self._idle_seconds):
                return None
            return transport.receive(self._connection)
        finally:
            self._waiting = False

    def _answer(self, call: transport.Packed) -> tuple[str, Any]:
        self._withdrawn, self._looked = False, time.monotonic()
        try:
            function, arguments, keywords = transport.unpack(call)
            self._memory = None  # of the last result, which has been taken
            with Watch(self._tell, self._is_unwanted).stage():
                self._result = function(*arguments, **keywords)
                packed, self._memory = transport.pack(self._result)
            return "done", packed
        except Exception as error:  # whatever goes wrong is told, and the next function is run
            return "failed", Failure.of(error)

    def _tell(self, share: float) -> None:
        try:
            transport.send(self._connection, "progress", share)
        except OSError:  # the other side has gone, which is no error of the work: it is not wanted any more
            self._ended = True

    def _is_unwanted(self) -> bool:
        now = time.monotonic()
        if now - self._looked > _EVERY:
            self._looked = now
            try:
                while self._connection.poll():
                    kind, _ = transport.receive(self._connection)
                    self._withdrawn = self._withdrawn or kind == "withdraw"
                    self._ended = self._ended or kind == "end"
            except (EOFError, OSError):
                self._ended = True
        return self._withdrawn or self._ended


# ---- the end


def _watch(worker: _Worker, prefixes: list[str], folder: Path) -> Callable[[], None]:
    """End this process with the one that it works for, and remove what the two have left: shared memory and `folder`.

    Returns a function to be called when the work is done: it leaves the process time to complete its end, and the names
    of the other process to that.
    """
    told: queue.SimpleQueue[None] = queue.SimpleQueue()
    seconds = [_FAREWELL]

    def wait_for_the_end() -> None:
        with suppress(OSError):  # not by sys.stdin, which could not be closed then at the end
            while os.read(0, 1):  # nothing is written: it ends when nobody holds the other end
                pass
        told.put(None)

    def leave() -> None:
        told.get()
        worker.is_alone = True
        worker.end()
        time.sleep(seconds[0])
        for prefix in prefixes:
            transport.remove_all(prefix)
        remove(folder)
        os._exit(1)

    for function in (wait_for_the_end, leave):
        threading.Thread(target=function, daemon=True).start()
    guard: subprocess.Popen[bytes] | None = None
    if os.name == "posix":
        nowhere = subprocess.DEVNULL
        command = [sys.executable, "-I", "-S", "-c", _GUARD, str(os.getpid()), str(_FAREWELL), str(folder), *prefixes]
        guard = subprocess.Popen(command, stdout=nowhere, stderr=nowhere)

    def complete() -> None:
        seconds[0] = _COMPLETION
        prefixes.clear()
        if guard is not None:
            guard.kill()
            guard.wait()

    return complete


_GUARD = f"""
import os, signal, sys, time
from _posixshmem import shm_unlink
guarded, patience, folder, prefixes = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4:]
while os.read(0, 1):
    pass
end = time.monotonic() + patience + 0.1
while os.getppid() == guarded and time.monotonic() < end:
    time.sleep(0.05)
if os.getppid() == guarded:
    os.kill(guarded, signal.SIGKILL)
    while os.getppid() == guarded:
        time.sleep(0.01)
for name in [prefix + str(n) for prefix in prefixes for n in range({transport.MOST})]:
    try:
        shm_unlink("/" + name)
    except OSError:
        pass
import shutil
shutil.rmtree(folder, ignore_errors=True)
"""
"""Ends a worker that cannot end itself: it is stopped, or Taichi compiles in it and lets no thread of Python run. Then
removes what both processes have left in shared memory."""


def main() -> None:
    """Serve the process that started this one."""
    global _is_worker
    _is_worker = True
    address, prefix, others, folder, idle, nice = sys.argv[1:]
    transport.use_prefix(prefix)
    use_folder(Path(folder))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is dealt with by the process that asks
    if hasattr(os, "nice"):
        os.nice(int(nice))
    with suppress(EOFError, OSError):  # the other side has gone: there is nobody to tell
        connection = Client(address, authkey=bytes.fromhex(sys.stdin.readline().strip()))
        worker = _Worker(connection, float(idle) or None)
        complete = _watch(worker, [prefix, others], Path(folder).parent)
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), worker.on_signal)
        if worker.serve():
            complete()
            transport.remove_all(prefix)
            remove(Path(folder))
        connection.close()  # from here on it can be left alone
