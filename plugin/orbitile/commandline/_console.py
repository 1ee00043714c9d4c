"""What commands tell on standard error, and how they are stopped."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from types import FrameType
from typing import Any, TextIO, cast

from ..base.errors import Cancelled, printable


@contextmanager
def standard_streams() -> Iterator[None]:
    """Streams for a command: those that were closed (`>&-`) lead nowhere, and what a terminal would obey is escaped.

    Otherwise the next file that is opened would take the place of one that is closed.
    """
    before = sys.stdout, sys.stderr
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
    for stream in before:
        if isinstance(stream, TextIOWrapper):  # an encoding of old may lack our Greek letters, as on Windows in a pipe
            stream.reconfigure(errors="replace")
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        sys.stdout, sys.stderr = (cast("TextIO", _Printable(stream or nowhere)) for stream in before)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


class _Printable:
    """A stream to which no characters are written that a terminal would obey."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(printable(text, "\n\t"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def tell(line: str) -> None:
    """Print a line that everybody should see."""
    print(f"orbitile: {line}", file=sys.stderr)


def note(options: argparse.Namespace, text: str) -> None:
    """Print a line for who sits at a terminal."""
    if not options.quiet and sys.stderr.isatty():
        print(text, file=sys.stderr)


@contextmanager
def progress_bar(options: argparse.Namespace, what: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on a terminal, for work that takes over a second.

    Where none is shown, shares are taken all the same: only work that somebody follows is done in pieces, and only
    between these Ctrl-C is heard.
    """
    if options.quiet or not sys.stderr.isatty():
        yield lambda share: None
        return
    from threading import Timer

    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    terminal = Console(file=getattr(sys.stderr, "_stream", sys.stderr))  # which moves the cursor
    with Progress(console=terminal, transient=True, disable=False) as bar:
        task = bar.add_task(escape(printable(what)), total=1.0, visible=False)
        appearance = Timer(1.0, bar.update, (task,), {"visible": True})
        appearance.daemon = True
        appearance.start()
        try:
            yield lambda share: bar.update(task, completed=share)
        finally:
            appearance.cancel()


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed, for work that asks; pressed again it ends at once.

    An exception that comes while an object is finalised is lost, and drawing finalises many.
    """
    import signal

    pressed: list[int] = []

    def note_signal(number: int, frame: Any) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)

    before = signal.signal(signal.SIGINT, note_signal)
    try:
        yield lambda: bool(pressed)
    except Cancelled as error:
        raise KeyboardInterrupt from error
    finally:
        signal.signal(signal.SIGINT, before)


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
