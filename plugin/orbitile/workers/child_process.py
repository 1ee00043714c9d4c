"""Other programs that work for this one: they can neither hold it up nor keep it waiting for ever."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from weakref import WeakSet

from ..base.errors import OrbitileError
from ..base.imports import OWN_FOLDERS, program, safe_environment


def interpreter() -> str:
    """The Python of this process, also where a host embeds it and `sys.executable` is the host."""
    if Path(sys.executable or "").name.lower().startswith("python"):
        return sys.executable
    for name in ("python3", "python", "python.exe"):
        candidate = Path(sys.prefix) / ("" if name.endswith(".exe") else "bin") / name
        if candidate.exists():
            return str(candidate)
    return sys.executable or "python3"


places: list[str] = []
"""Folders in which a host with a Python of its own has found what we need; workers of that Python look there too."""


def environment() -> dict[str, str]:
    """Our own packages come first on the path of a process, wherever they were imported from; then `places`."""
    return safe_environment(*OWN_FOLDERS, *places)


def n_cores() -> int:
    """Cores on which this process may run: fewer than there are, where a queue shares them out."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_STANDSTILL = 1.0
"""Seconds for which a child may be stopped, by SIGSTOP or a debugger, while something is wanted of it."""
_KEPT = 1 << 16
"""Bytes of what a child has written to its standard error that are kept."""
_EVERY = 0.05
"""Polling interval in seconds: a child that is waited for."""

if sys.platform == "win32":
    _BY_ITSELF = subprocess.CREATE_NO_WINDOW  # a console of its own, which is not shown and hears no Ctrl-C of ours
else:
    _BY_ITSELF = 0


class ProcessError(OrbitileError):
    """Another program could not be started."""


class ChildProcess:
    """Another program.

    What it writes to its standard error is read at once, and the end of it kept; its standard output goes nowhere. Its
    standard input is a pipe, which ends when this process does, however that comes. It is in a session of its own, so
    that Ctrl-C and the end of a terminal come to this process alone.

    Parameters
    ----------
    name : str
        For messages: "ffmpeg".
    command : list of str
        Program and arguments.
    settings : mapping, optional
        Its environment; by default that of `environment`.

    Raises
    ------
    ProcessError
        When it cannot be started.
    """

    def __init__(self, name: str, command: list[str], settings: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._stopped_since = 0.0
        self._given_up = False
        self._said = bytearray()
        try:
            self._process = subprocess.Popen(
                [program(command[0]) or command[0], *command[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment() if settings is None else settings,
                start_new_session=True,
                creationflags=_BY_ITSELF,
            )
        except OSError as error:
            raise ProcessError(f"{name} cannot be started with {command[0]} ({error.strerror})") from error
        assert self._process.stdin is not None  # a pipe
        self._stdin = self._process.stdin
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        _children.add(self)

    @property
    def process_id(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def said(self) -> list[str]:
        """Lines of its standard error, the last ones where there are many; all of them once it has ended."""
        if not self.running():
            self._reader.join(1.0)  # unless somebody else writes to it
        return [line for line in bytes(self._said).decode(errors="replace").splitlines() if line.strip()]

    @property
    def status(self) -> int | None:
        """Its exit status, or minus the signal that ended it; None while it runs, and where it was given up."""
        return None if self._given_up else self._process.poll()

    def running(self) -> bool:
        """Whether it has not ended; it may be stopped."""
        return self._process.poll() is None

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it has ended, or for so many seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def feed(self, data: memoryview) -> None:
        """Write to its standard input.

        Raises
        ------
        BrokenPipeError
            When it has ended, or was ended since it stands still.
        """
        handle = self._stdin.fileno()
        data = data.cast("B")
        if sys.platform == "win32":  # which stops no processes, and cannot wait for a pipe
            while data:
                data = data[os.write(handle, data) :]
        else:
            os.set_blocking(handle, False)
            while data:
                if select.select([], [handle], [], _EVERY)[1]:
                    with contextlib.suppress(BlockingIOError):
                        data = data[os.write(handle, data) :]
                elif self.stands_still():
                    self._give_up()
                    raise BrokenPipeError

    def finish(self) -> None:
        """End its standard input and wait for it; one that stands still is ended."""
        self.hang_up()
        while self.running():
            self.wait(_EVERY)
            if self.stands_still():
                self._give_up()

    def hang_up(self) -> None:
        """End its standard input."""
        with contextlib.suppress(OSError):  # nobody reads any more
            self._stdin.close()

    def is_stopped(self) -> bool:
        """Whether it is stopped at this moment."""
        found = None
        if sys.platform != "win32" and hasattr(os, "waitid"):  # Windows stops no processes, macOS has it from 3.13 on
            with contextlib.suppress(ChildProcessError):  # it has ended
                found = os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
            return found is not None and found.si_code in (os.CLD_STOPPED, os.CLD_TRAPPED)
        return False

    def stands_still(self) -> bool:
        """Whether it has been stopped for so long that it is not to be waited for; to be asked while it is wanted."""
        if not self.is_stopped():
            self._stopped_since = 0.0
            return False
        now = time.monotonic()
        self._stopped_since = self._stopped_since or now
        return now - self._stopped_since > _STANDSTILL

    def ending(self) -> str:
        """How it ended, with the last line that it wrote to standard error."""
        if self._given_up:
            return "it did not go on"
        code = self.status
        how = "still running" if code is None else f"signal {-code}" if code < 0 else f"exit status {code}"
        said = self.said
        return f"{how}: {said[-1].strip()[:200]}" if said and code is not None else how

    def terminate(self) -> None:
        """Ask it by a signal to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self.wait(5)  # a driver may keep it for ever
        self.hang_up()

    def _give_up(self) -> None:
        self._given_up = True
        self.kill()

    def _read(self) -> None:
        assert self._process.stderr is not None  # a pipe
        with contextlib.suppress(OSError, ValueError), self._process.stderr as stream:
            while piece := os.read(stream.fileno(), _KEPT):
                self._said += piece
                del self._said[:-_KEPT]

    def _forget(self) -> None:
        """In a process that was forked from this one: not to keep the child alive."""
        with contextlib.suppress(OSError, ValueError):  # it was closed
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stdin.fileno(), inheritable=False)
            os.close(nowhere)


_children: WeakSet[ChildProcess] = WeakSet()


def _after_fork() -> None:
    for child in list(_children):
        child._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
