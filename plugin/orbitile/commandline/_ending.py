"""How a command ends when it is told to: by Ctrl-C, and by the signals that end services and terminals."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ONE_END = 1.0
"""Seconds within which several signals are one: who closes a terminal, or a service, sends two or three."""


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

    What Ctrl-C has made of an import of compiled code, which fails then in ways of its own, is a KeyboardInterrupt too.

    Whatever is installed for SIGINT at that moment is called; by default that raises KeyboardInterrupt. A signal that
    is ignored, as under `nohup`, or that somebody else handles stays as it is. In another thread than the main one
    nothing is changed.

    Raises
    ------
    Terminated
        In place of a KeyboardInterrupt that was due to one of these signals.
    """
    came: list[tuple[int, float]] = []
    interrupted: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if came and now - came[-1][1] < _ONE_END:
            return  # it is being cleaned up
        came.append((number, now))
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            handler(number, frame)
        else:  # ignored, as in the background of a shell
            raise KeyboardInterrupt

    def interrupt(number: int, frame: FrameType | None) -> None:
        interrupted.append(number)
        raise KeyboardInterrupt

    handled = [
        number
        for name in ("SIGTERM", "SIGHUP")
        if (number := getattr(signal, name, None)) is not None
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) is signal.SIG_DFL
    ]
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_default and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupt)
    for number in handled:
        signal.signal(number, end)
    try:
        yield
    except (KeyboardInterrupt, Exception) as error:
        if came and (interrupted or isinstance(error, KeyboardInterrupt)):
            raise Terminated(came[0][0]) from error
        if interrupted and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, signal.default_int_handler)
