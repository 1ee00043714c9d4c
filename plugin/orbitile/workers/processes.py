"""Processes: with which Python our own run, where it finds these packages, and how this one ends when it is told to."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from ..imports import OWN_FOLDERS, safe_environment

_ONE_END = 1.0
"""Seconds within which several signals are one: who closes a terminal, or a service, sends two or three."""


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


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP has come.

    Attributes
    ----------
    status : int
        What the process is to exit with, as a shell reports the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Have SIGTERM and SIGHUP do within the `with` block what Ctrl-C does there, so that everything is cleaned up.

    Whatever is installed for SIGINT at that moment is called; by default that raises KeyboardInterrupt. A signal that
    is ignored, as under `nohup`, or that somebody else handles stays as it is. In another thread than the main one
    nothing is changed.

    Raises
    ------
    Terminated
        In place of a KeyboardInterrupt that was due to one of these signals.
    """
    came: list[tuple[int, float]] = []

    def end(number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if came and now - came[-1][1] < _ONE_END:
            return  # it is being cleaned up
        came.append((number, now))
        interrupt = signal.getsignal(signal.SIGINT)
        if callable(interrupt):
            interrupt(number, frame)
        else:  # ignored, as in the background of a shell
            raise KeyboardInterrupt

    handled = [
        number
        for name in ("SIGTERM", "SIGHUP")
        if (number := getattr(signal, name, None)) is not None
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) is signal.SIG_DFL
    ]
    for number in handled:
        signal.signal(number, end)
    try:
        yield
    except KeyboardInterrupt as error:
        if came:
            raise Terminated(came[0][0]) from error
        raise
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
