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
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from .. import errors
from ..errors import FileError, OrbitileError
from ..watch import checkpoint
from ..workers.child_process import AnsweringProcess, parent
from ..workers.processes import environment, interpreter

_IDLE = 120.0
"""Seconds without a request after which the process ends."""

_PATIENCE = 3.0
"""How much longer than its processor time a request may take by the clock, on a busy machine."""

_START = 60.0
"""Seconds that the import of a library may take."""

_EVERY = 0.05
"""Seconds between two looks at whether the answer is still wanted, and the process goes on."""

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
    Cancelled
        When the request that this is a part of is withdrawn (see `orbitile.watch`); the process is ended.
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


class _StandsStill(Exception):
    """The process was stopped."""


class _Process:
    """The process, while there is one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: AnsweringProcess | None = None

    def answer(self, call: tuple[Any, ...], seconds: float) -> tuple[str, Any]:
        while not self._lock.acquire(timeout=_EVERY):
            checkpoint()
        try:
            for last in (False, True):
                child = self._running()
                try:
                    return _asked(child, call, seconds)
                except (EOFError, OSError):
                    child.wait(5)
                    if last or child.status != 0:
                        raise _Ended(_cause(child)) from None
                    # it had been idle for long enough to end at this very moment
                except _StandsStill:
                    if last:
                        raise _Ended("did not go on") from None
                self.end()
            raise AssertionError  # the second time there is an answer, or an error
        except BaseException:  # an interruption too: the answer to this must not be taken for the next one
            self.end()
            raise
        finally:
            self._lock.release()

    def _running(self) -> AnsweringProcess:
        if self._child is None or not self._child.running():
            self.end()
            settings = {**environment(), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            name, module = "the process for readers", "orbitile.readers._isolation_process"
            self._child = AnsweringProcess(name, interpreter(), module, settings=settings, given_up=_is_not_wanted)
        return self._child

    def forget(self) -> None:
        """In a fork: the process answers the one that started it, whose threads hold the lock or do not."""
        self._lock = threading.Lock()
        if self._child is not None:
            self._child.connection.close()
        self._child = None

    def end(self) -> None:
        """End the process, if there is one of ours."""
        child, self._child = self._child, None
        if child is not None:
            child.connection.close()
            child.kill()


def _is_not_wanted() -> bool:
    checkpoint()
    return False


def _asked(child: AnsweringProcess, call: tuple[Any, ...], seconds: float) -> tuple[str, Any]:
    child.connection.send(call)
    until = time.monotonic() + seconds
    while not child.connection.poll(_EVERY):
        checkpoint()
        if child.stands_still():
            raise _StandsStill
        if time.monotonic() > until:
            raise _Ended("did not come to an end")
    answer: tuple[str, Any] = child.connection.recv()
    return answer


def _cause(child: AnsweringProcess) -> str:
    status = child.status
    if status == -signal.SIGXCPU:
        return "did not come to an end"
    if status is None:
        return "went away"
    return f"crashed ({signal.strsignal(-status)})" if status < 0 else f"ended with status {status}"


_process = _Process()
atexit.register(_process.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.forget)


# In the process -----------------------------------------------------------------------------------------------------


class OutOfTime(Exception):
    """A request has taken its processor time."""


def serve() -> None:
    """Answer requests until there are no more."""
    with suppress(EOFError, OSError), parent(lambda: os._exit(1)) as connection:  # the other process has ended
        while connection.poll(_IDLE):
            connection.send(_answered(*connection.recv()))


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
