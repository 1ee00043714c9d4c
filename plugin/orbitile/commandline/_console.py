"""What commands tell on standard error, and how they are stopped."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import Cancelled


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
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=False) as bar:
        task = bar.add_task(what, total=1.0, visible=False)
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
