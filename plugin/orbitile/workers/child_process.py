"""Processes that work for this one, and can neither hold it up nor outlive it.

What a child writes to its standard error is read at once, and the end of it kept; its standard output goes nowhere.
Its standard input is a pipe of which this process holds the other end: when this process is gone, however that came,
the child ends, in good order if it can. It is in a session of its own, so that Ctrl-C and the end of a terminal come to
this process alone.

`python -m orbitile.workers.child_process FOLDER MODULE ARGUMENTS` runs a module as such a child, and
removes the folder.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import queue
import runpy
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Client, Connection, Listener
from weakref import WeakSet

from ..errors import OrbitileError
from .processes import environment

_PATIENCE = 60.0
"""Seconds that a child may take to start and connect."""
_STANDSTILL = 1.0
"""Seconds for which a child may be stopped, by SIGSTOP or a debugger, while something is wanted of it."""
_FAREWELL = 1.5
"""Seconds that a child has to end in good order when the process that it works for is gone."""
_COMPLETION = 30.0
"""Seconds that it has once it has removed its folder, which it does when it works no more: Taichi writes what it has
compiled, which takes long where the machine is busy."""
_KEPT = 1 << 16
"""Bytes of what a child has said that are kept."""
_EVERY = 0.05
"""Seconds between two looks at a child that is waited for."""
_FAMILY = "AF_PIPE" if sys.platform == "win32" else "AF_UNIX"


class ProcessError(OrbitileError):
    """A child could not be started, or ended, or stands still."""


class ChildProcess:
    """A child.

    Parameters
    ----------
    name : str
        For messages: "the worker".
    command : list of str
        Interpreter, module, arguments. The module calls `parent` or is run by this one.
    settings : dict, optional
        Environment; by default that of `processes.environment`.

    Raises
    ------
    ProcessError
        When it cannot be started.
    """

    def __init__(self, name: str, command: list[str], settings: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._halted = 0.0
        self._given_up = False
        self._said = bytearray()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment() if settings is None else settings,
                start_new_session=True,
            )
        except OSError as error:
            raise ProcessError(f"{name} cannot be started with {command[0]} ({error.strerror})") from error
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        _children.add(self)

    @property
    def process_id(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def said(self) -> list[str]:
        """Lines of its standard error, the last ones where there are many; all of them once it has ended."""
        if not self.running():
            self._listener.join(1.0)  # unless somebody else writes to it
        return [line for line in bytes(self._said).decode(errors="replace").splitlines() if line.strip()]

    @property
    def status(self) -> int | None:
        """Its exit status, or minus the signal that ended it; None while it runs."""
        return self._process.poll()

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
        assert self._process.stdin is not None  # a pipe
        handle = self._process.stdin.fileno()
        if os.name != "posix":
            os.write(handle, data)
            return
        os.set_blocking(handle, False)
        data = data.cast("B")
        while data:
            if select.select([], [handle], [], _EVERY)[1]:
                with contextlib.suppress(BlockingIOError):
                    data = data[os.write(handle, data) :]
            elif self.stands_still():
                self.give_up()
                raise BrokenPipeError

    def finish(self) -> None:
        """End its standard input and wait for it; one that stands still is ended."""
        self._hang_up()
        while self.running():
            self.wait(_EVERY)
            if self.stands_still():
                self.give_up()

    def stands_still(self) -> bool:
        """Whether it has been stopped for so long that it is not to be waited for; to be asked while it is wanted."""
        if not self._is_stopped():
            self._halted = 0.0
            return False
        now = time.monotonic()
        self._halted = self._halted or now
        return now - self._halted > _STANDSTILL

    def ending(self) -> str:
        """How it ended, with the last line that it wrote to standard error."""
        if self._given_up:
            return "it did not go on"
        code = self.status
        how = "still running" if code is None else f"signal {-code}" if code < 0 else f"exit status {code}"
        said = self.said
        return f"{how}: {said[-1].strip()[:200]}" if said and code is not None else how

    def end(self, seconds: float) -> None:
        """Have it end, and kill it where it takes longer than so many seconds, or stands still."""
        self._dismiss(seconds)
        self.kill()

    def let_go(self, seconds: float) -> None:
        """Have it end, and wait for it so many seconds; then it is left alone, and ends as without its parent."""
        self._dismiss(seconds)
        if os.name != "posix" or self._is_stopped():
            self.kill()
        self._hang_up()

    def _dismiss(self, seconds: float) -> None:
        self._process.terminate()
        until = time.monotonic() + seconds
        while self.running() and time.monotonic() < until and not self._is_stopped():
            self.wait(_EVERY)

    def give_up(self) -> None:
        """End it at once since it does not go on, which `ending` says then."""
        self._given_up = True
        self.kill()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self.wait(5)  # a driver may keep it for ever
        self._hang_up()

    def _hang_up(self) -> None:
        assert self._process.stdin is not None  # a pipe
        with contextlib.suppress(OSError):  # nobody reads any more
            self._process.stdin.close()

    def _is_stopped(self) -> bool:
        if not hasattr(os, "waitid"):  # Windows stops no processes
            return False
        try:
            found = os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # it has ended
            return False
        return found is not None and found.si_code in (os.CLD_STOPPED, os.CLD_TRAPPED)

    def _listen(self) -> None:
        assert self._process.stderr is not None  # a pipe
        with contextlib.suppress(OSError, ValueError), self._process.stderr as stream:
            while piece := os.read(stream.fileno(), _KEPT):
                self._said += piece
                del self._said[:-_KEPT]

    def _let_go(self) -> None:
        """In a process that was forked from this one: not to keep the child alive."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it was closed
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._process.stdin.fileno(), inheritable=False)
            os.close(nowhere)


class AnsweringProcess(ChildProcess):
    """A child with a connection to it; its module calls `parent`.

    Parameters
    ----------
    name, settings
        As for `ChildProcess`.
    python : str
        Interpreter.
    module : str
    arguments : str
    given_up : callable, optional
        Asked while it starts.

    Attributes
    ----------
    connection : Connection
        To talk by.

    Raises
    ------
    ProcessError
        When it cannot be started, or does not connect.
    """

    def __init__(
        self,
        name: str,
        python: str,
        module: str,
        *arguments: str,
        settings: Mapping[str, str] | None = None,
        given_up: Callable[[], bool] = lambda: False,
    ) -> None:
        key = secrets.token_bytes(32)
        with tempfile.TemporaryDirectory(prefix="orbitile-") as folder:
            address = None if _FAMILY == "AF_PIPE" else os.path.join(folder, "socket")
            try:
                listener = Listener(address, _FAMILY, authkey=key)
            except OSError as error:  # the temporary folder has too long a name, above all
                raise ProcessError(f"{name} cannot be connected to ({error})") from error
            with listener:
                super().__init__(name, [python, "-m", module, str(listener.address), *arguments], settings)
                try:
                    self._tell(key.hex().encode() + b"\n")
                    self.connection = self._accepted(listener, given_up)
                except BaseException:
                    self.kill()
                    raise

    def _tell(self, line: bytes) -> None:
        assert self._process.stdin is not None  # a pipe
        with contextlib.suppress(OSError):  # it has ended already: _accepted says how
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def _accepted(self, listener: Listener, given_up: Callable[[], bool]) -> Connection:
        accepted: list[Connection] = []

        def accept() -> None:
            with contextlib.suppress(OSError, EOFError):  # nobody came
                accepted.append(listener.accept())

        waiting = threading.Thread(target=accept, daemon=True)
        waiting.start()
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            waiting.join(_EVERY)
            if accepted:
                return accepted[0]
            if not self.running():
                raise ProcessError(f"{self.name} did not start ({self.ending()})")
            if given_up():
                raise ProcessError(f"{self.name} was not waited for")
            if self.stands_still():
                raise ProcessError(f"{self.name} did not start: it was stopped")
        raise ProcessError(f"{self.name} did not answer within {_PATIENCE:g} s")


_children: WeakSet[ChildProcess] = WeakSet()


def _let_go() -> None:
    for child in list(_children):
        child._let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


# ---- the other side


def parent(end: Callable[[], None], folder: str = "") -> Connection:
    """In a child: the connection to the process that it works for, and a watch of that process.

    Parameters
    ----------
    end
        Called from another thread when that process is gone, or SIGTERM or SIGHUP has come: what is under way is to
        stop, and this process to end.
    folder
        Removed where that process is gone and this one does not end in good order. The child removes it itself when
        it works no more, and then has time to end.

    Raises
    ------
    EOFError, OSError
        When it is gone already.
    """
    key = bytes.fromhex(sys.stdin.readline().strip())
    connection = Client(sys.argv[1], authkey=key)
    _watch(end, folder)
    return connection


def _watch(end: Callable[[], None], folder: str = "") -> None:
    told: queue.SimpleQueue[bool] = queue.SimpleQueue()  # a signal may put while another puts

    def wait_for_the_end() -> None:
        with contextlib.suppress(OSError):  # not by sys.stdin, which could not be closed then at the end
            while os.read(0, 1):  # nothing is written: it ends when nobody holds the other end
                pass
        told.put(True)

    def leave() -> None:
        gone = False
        while not gone:
            gone = told.get()
            end()
        time.sleep(_FAREWELL)
        if folder and not os.path.exists(folder):
            time.sleep(_COMPLETION)
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    for function in (wait_for_the_end, leave):
        threading.Thread(target=function, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is dealt with by the process that asks
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda number, frame: told.put(False))
    if os.name == "posix":
        nowhere = subprocess.DEVNULL
        guard = [sys.executable, "-I", "-S", "-c", _GUARD, str(os.getpid()), str(_FAREWELL), str(_COMPLETION), folder]
        subprocess.Popen(guard, stdout=nowhere, stderr=nowhere)


_GUARD = """
import os, shutil, signal, sys, time
guarded, patience, completion, folder = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
while os.read(0, 1):
    pass
begin = time.monotonic()
while os.getppid() == guarded and time.monotonic() < begin + patience + 0.1:
    time.sleep(0.05)
    if folder and not os.path.exists(folder):
        patience = completion
if os.getppid() == guarded:
    os.kill(guarded, signal.SIGKILL)
    while os.getppid() == guarded:
        time.sleep(0.01)
shutil.rmtree(folder or os.devnull, ignore_errors=True)
"""
"""Ends a child that cannot end itself: it is stopped, or Taichi compiles in it and lets no thread of Python run."""


def _interrupt() -> None:
    _thread.interrupt_main()


def main() -> None:
    """Run a module, in a process that ends with the one that started it."""
    folder = sys.argv[1]
    _watch(_interrupt, folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = sys.argv[2:]
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
