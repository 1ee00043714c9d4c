"""Foreign code on files of unknown origin, in a process of its own: what crashes or hangs there is an error here.

One worker (`orbitile.workers`) serves all readers of this process. It is started when it is first needed, which takes a
tenth of a second, stays as long as it has something to do and some time longer, and is ended at once where a request is
withdrawn: foreign code asks nobody. Requests are functions of ours by name and plain arguments. Whatever a function
opens it may keep open for the next request, but has to do without it when the process is a new one.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from ..base.errors import Cancelled, FileError, OrbitileError
from ..base.watch import Watch, checkpoint
from ..workers import Worker, WorkerEnded, environment

_PATIENCE = 3.0
"""How much longer than its processor time a request may take by the clock, on a busy machine."""

_START = 60.0
"""Seconds that the import of a library may take."""

_BY_OTHERS = [getattr(signal, name, None) for name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")]
"""Signals that no code sends itself by a mistake."""

_SECONDS, _SECONDS_PER_BYTE = 5.0, 2e-6
_MEMORY, _MEMORY_PER_BYTE = 1 << 30, 40
"""What a request may take of processor time and memory, beyond what the process has: many times of what is usual."""


def isolated(
    function: Callable[..., Any],
    *arguments: Any,
    name: str,
    library: str,
    size: int,
    computing: float = 0.0,
    imports: str = "",
) -> Any:
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
    computing
        Seconds of processor time that it may take beyond those for reading.
    imports
        Module that is imported before the time is taken: the first import of a library may compile all of it.

    Raises
    ------
    OrbitileError
        What the function raised.
    Cancelled
        When the request that this is a part of is withdrawn (see `orbitile.base.watch`); the process is ended.
    FileError
        When it raised anything else, crashed, or took more time or memory than it may.
    """
    seconds, memory = _SECONDS + _SECONDS_PER_BYTE * size + computing, _MEMORY + _MEMORY_PER_BYTE * size
    until = time.monotonic() + _START + _PATIENCE * seconds
    try:
        with Watch(cancelled=lambda: time.monotonic() > until).stage():
            return worker.call(
                _limited, function.__module__, function.__qualname__, arguments, seconds, memory, imports
            )
    except _Failed as error:
        raise FileError(f"{name}: {library} cannot read it ({error})") from error
    except WorkerEnded as error:
        if error.status is not None and -error.status in _BY_OTHERS:
            raise FileError(
                f"{name}: the process that read it was ended from outside ({signal.strsignal(-error.status)}), as the "
                "system does when memory runs out; that says nothing of the file. Try again when more memory is free"
            ) from error
        why = _cause(error.status)
    except Cancelled:
        checkpoint()  # it was withdrawn
        why = "did not come to an end"
    raise FileError(f"{name}: {library} {why} on it; the file is damaged, or not what its name says")


worker = Worker(
    "the process for readers",
    settings=lambda: {**environment(), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    patience=0.0,
    idle=120.0,
)
"""Who serves all readers."""


def _cause(status: int | None) -> str:
    """Why a worker ended, as the end of a sentence that begins with the library."""
    if status is None:
        return "did not go on"
    if sys.platform != "win32" and status == -signal.SIGXCPU:
        return "did not come to an end"
    return f"crashed ({signal.strsignal(-status)})" if status < 0 else f"ended with status {status}"


# In the process -----------------------------------------------------------------------------------------------------


class OutOfTime(Exception):
    """A request has taken its processor time."""


class _Failed(OrbitileError):
    """Foreign code raised something, or took too much."""


def _limited(module: str, name: str, arguments: tuple[Any, ...], seconds: float, memory: int, imports: str) -> Any:
    """What a function gives within limits."""
    function = getattr(import_module(module), name)
    if imports:
        with suppress(Exception):  # the function meets it again, and says so
            import_module(imports)
    _limit(seconds, memory)
    try:
        return function(*arguments)
    except OrbitileError:
        raise
    except OutOfTime as error:
        raise _Failed(f"it did not come to an end within {seconds:.0f} s of processor time") from error
    except MemoryError as error:
        raise _Failed(f"it asks for more than {memory / 1e9:.1f} GB of memory") from error
    except RecursionError as error:
        raise _Failed("its parts are nested too deeply") from error
    except Exception as error:  # foreign code raises anything
        raise _Failed(f"{type(error).__name__}: {error}".rstrip(": ").split("\n")[0][:200]) from error
    finally:
        _limit(None, None)


def _limit(seconds: float | None, memory: int | None) -> None:
    """Limits for one request, or none: first an exception, then, for code that does not return, the end.

    Windows has no such limits: there only the clock of `isolated` ends a request. macOS has none of memory.
    """
    if sys.platform != "win32":
        import resource

        _raise_out_of_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds or 0)
        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = resource.RLIM_INFINITY if seconds is None else int(used.ru_utime + used.ru_stime + seconds) + 2
        _set(resource.RLIMIT_CPU, soft)
        size = None if memory is None else _address_space()
        _set(resource.RLIMIT_AS, resource.RLIM_INFINITY if memory is None or size is None else size + memory)


@cache
def _raise_out_of_time() -> None:
    """Have the timer raise an exception in this process, once and for all."""

    def out_of_time(*_: object) -> None:
        raise OutOfTime

    if sys.platform != "win32":
        signal.signal(signal.SIGVTALRM, out_of_time)


def _set(which: int, soft: int) -> None:
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(which)
        if hard != resource.RLIM_INFINITY:
            soft = hard if soft == resource.RLIM_INFINITY else min(soft, hard)
        with suppress(ValueError, OSError):  # not every system knows each limit
            resource.setrlimit(which, (soft, hard))


def _address_space() -> int | None:
    if sys.platform == "linux":
        return int(os.pread(_memory_file(), 64, 0).split()[0]) * os.sysconf("SC_PAGE_SIZE")
    else:
        return None


@cache
def _memory_file() -> int:
    """Handle of what tells the memory of this process: to open it takes ten times as long as to read it."""
    return os.open("/proc/self/statm", os.O_RDONLY)
