"""Foreign code on files of unknown origin, in a process of its own: what crashes or hangs there is an error here.

One process serves all readers of this one. It is started when it is first needed, which takes a tenth of a second,
stays as long as it has something to do and some time longer, and ends with this process, however that ends. Requests
are functions of ours by name and plain arguments; answers are arrays, numbers, text, and tuples, lists and dictionaries
of them. Whatever a function opens it may keep open for the next request, but has to do without it when the process is a
new one.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from socket import socketpair
from typing import Any

from . import errors
from .errors import FileError, OrbitileError
from .processes import environment, interpreter

_IDLE = 120.0
"""Seconds without a request after which the process ends."""

_PATIENCE = 3.0
"""How much longer than its processor time a request may take by the clock, on a busy machine."""

_START = 60.0
"""Seconds that the process may take to start."""

_SECONDS, _SECONDS_PER_BYTE = 5.0, 2e-6
_MEMORY, _MEMORY_PER_BYTE = 1 << 30, 40
"""What a request may take of processor time and memory, beyond what the process has: many times of what is usual."""


def isolated(function: Callable[..., Any], *arguments: Any, name: str, library: str, size: int) -> Any:
    """What a function gives, called in the process for foreign code.

    Parameters
    ----------
    function
        A function of a module of this package, found there by its name.
    arguments
        What it is called with: numbers and text.
    name, library
        Of the file that it reads and of what reads it, for messages.
    size
        Bytes of the file, after which the limits go.

    Raises
    ------
    OrbitileError
        What the function raised.
    FileError
        When it raised anything else, crashed, or took more time or memory than it may.
    """
    seconds, memory = _SECONDS + _SECONDS_PER_BYTE * size, _MEMORY + _MEMORY_PER_BYTE * size
    call = (function.__module__, function.__qualname__, arguments, seconds, memory)
    try:
        kind, answer = _process.answer(call, _START + _PATIENCE * seconds)
    except _Ended as error:
        raise FileError(f"{name}: {library} {error} on it; the file is damaged, or not what its name says") from error
    if kind == "given":
        return answer
    if kind == "refused":
        error_class, message = answer
        raise getattr(errors, error_class, FileError)(message)
    raise FileError(f"{name}: {library} cannot read it ({answer})")


class _Ended(Exception):
    """Why there is no answer, as the end of a sentence that begins with the library."""


class _Process:
    """The process, while there is one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def answer(self, call: tuple[Any, ...], seconds: float) -> tuple[str, Any]:
        with self._lock:
            try:
                if not self._is_running():
                    self._start()
                try:
                    return self._asked(call, seconds)
                except (EOFError, OSError):
                    if self._exit_status() != 0:
                        raise _Ended(self._cause()) from None
                # it had been idle for long enough to end at this very moment
                self._start()
                try:
                    return self._asked(call, seconds)
                except (EOFError, OSError):
                    raise _Ended(self._cause()) from None
            except BaseException:  # an interruption too: the answer to this must not be taken for the next one
                self.end()
                raise

    def _asked(self, call: tuple[Any, ...], seconds: float) -> tuple[str, Any]:
        connection = self._connection
        assert connection is not None
        connection.send(call)
        if not connection.poll(seconds):
            raise _Ended("did not come to an end")
        answer: tuple[str, Any] = connection.recv()
        return answer

    def _is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def forget(self) -> None:
        """In a fork: the process answers the one that started it, whose threads hold the lock or do not."""
        self._lock = threading.Lock()
        if self._connection is not None:
            self._connection.close()
        self._process = self._connection = None

    def _start(self) -> None:
        self.end()
        ours, theirs = socketpair()
        with ours, theirs:
            try:
                self._process = subprocess.Popen(
                    [interpreter(), "-c", f"from {__name__} import serve; serve({theirs.fileno()})"],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={**environment(), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                    pass_fds=[theirs.fileno()],
                )
            except OSError as error:
                raise OrbitileError(f"a process for readers cannot be started ({error.strerror or error})") from error
            self._connection = Connection(ours.detach())

    def _exit_status(self) -> int:
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout=5)
        return -1

    def _cause(self) -> str:
        status = self._exit_status()
        if status == -signal.SIGXCPU:
            return "did not come to an end"
        return f"crashed ({signal.strsignal(-status)})" if status < 0 else f"ended with status {status}"

    def end(self) -> None:
        """End the process, if there is one of ours."""
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if process is None:
            return
        if connection is not None:
            connection.close()
        process.kill()
        process.wait()


_process = _Process()
atexit.register(_process.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.forget)


# In the process -----------------------------------------------------------------------------------------------------


class OutOfTime(Exception):
    """A request has taken its processor time."""


def serve(descriptor: int) -> None:
    """Answer requests until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the process that waits for the answer
    connection = Connection(descriptor)
    while connection.poll(_IDLE):
        try:
            call = connection.recv()
        except (EOFError, OSError):  # the other process has ended
            return
        connection.send(_answered(*call))


def _answered(module: str, name: str, arguments: tuple[Any, ...], seconds: float, memory: int) -> tuple[str, Any]:
    function = getattr(import_module(module), name)
    _limit(seconds, memory)
    try:
        return "given", function(*arguments)
    except OrbitileError as error:
        return "refused", (type(error).__name__, str(error))
    except OutOfTime:
        return "failed", f"it did not come to an end within {seconds:.0f} s of processor time"
    except MemoryError:
        return "failed", f"it asks for more than {memory / 1e9:.1f} GB of memory"
    except RecursionError:
        return "failed", "its parts are nested too deeply"
    except Exception as error:  # foreign code raises whatever comes
        return "failed", f"{type(error).__name__}: {error}".rstrip(": ").split("\n")[0][:200]
    finally:
        _limit(None, None)


def _limit(seconds: float | None, memory: int | None) -> None:
    """Limits for one request, or none: first an exception, then, for code that does not return, the end."""
    import resource

    def out_of_time(*_: object) -> None:
        raise OutOfTime

    signal.signal(signal.SIGVTALRM, out_of_time)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds or 0)
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = resource.RLIM_INFINITY if seconds is None else int(used.ru_utime + used.ru_stime + seconds) + 2
    _set(resource.RLIMIT_CPU, soft)
    size = _address_space()
    _set(resource.RLIMIT_AS, resource.RLIM_INFINITY if memory is None or size is None else size + memory)


def _set(which: int, soft: int) -> None:
    import resource

    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        soft = hard if soft == resource.RLIM_INFINITY else min(soft, hard)
    with suppress(ValueError, OSError):  # not every system knows each limit
        resource.setrlimit(which, (soft, hard))


def _address_space() -> int | None:
    if sys.platform != "linux":
        return None
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
