"""Whether what is being computed is still wanted, and how far it has come.

Whoever is asked for something keeps watch over it: `with watched(progress, cancelled):`. What is called inside, however
deep, comes to a `checkpoint` every few tens of milliseconds, where it ends by `Cancelled` or the share that is done is
told; `stage` says which share of the whole a stage of the work is. The watch goes with the context of the caller (a
`ContextVar`), so that sums of products or tables need no parameters for it, and other threads do not see it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TypeVar

from .errors import Cancelled

Progress = Callable[[float], None]
Cancel = Callable[[], bool]

_Result = TypeVar("_Result")

_INTERVAL = 0.03
"""Seconds between two reports from inside a stage."""


class _Report:
    """Calls `progress` with shares that only grow, and from checkpoints some thirty times a second at most."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._told, self._when = progress, 0.0, time.monotonic()

    def __call__(self, share: float, at_once: bool) -> None:
        now = time.monotonic()
        if share > self._told + 1e-9 and (at_once or now - self._when > _INTERVAL):
            self._told, self._when = share, now
            self._progress(min(share, 1.0))


@dataclass(frozen=True)
class _Span:
    """The share of a watched request that the work at hand is."""

    cancels: tuple[Cancel, ...]
    report: Callable[[float, bool], None]
    begin: float = 0.0
    length: float = 1.0

    def stage(self, begin: float, end: float) -> _Span:
        return replace(self, begin=self.begin + self.length * begin, length=self.length * (end - begin))

    def ask(self) -> None:
        with _unwatched():
            if any(cancelled() for cancelled in self.cancels):
                raise Cancelled("cancelled")

    def tell(self, share: float, at_once: bool) -> None:
        with _unwatched():
            self.report(self.begin + self.length * share, at_once)


_now: ContextVar[_Span | None] = ContextVar("watch", default=None)


@contextmanager
def _unwatched() -> Iterator[None]:
    """What a callback computes for its own ends is no part of the request."""
    token = _now.set(None)
    try:
        yield
    finally:
        _now.reset(token)


class Watch:
    """What a caller gave to follow a request: for a generator, which keeps watch between two of its values only.

    Parameters
    ----------
    progress, cancelled
        As for `orbitile.compute`. Without them those of the request of which this one is a part remain in force;
        `cancelled` is asked beside theirs.
    """

    def __init__(self, progress: Progress | None = None, cancelled: Cancel | None = None) -> None:
        self._cancels = () if cancelled is None else (cancelled,)
        self._report = None if progress is None else _Report(progress)

    @contextmanager
    def stage(self, begin: float = 0.0, end: float = 1.0) -> Iterator[None]:
        """Watch over what is done in the block, a share of the request."""
        outer = _now.get()
        if outer is None:
            if not self._cancels and self._report is None:
                yield
                return
            span = _Span(self._cancels, self._report or _nowhere)
        elif self._report is None:
            span = replace(outer, cancels=(*outer.cancels, *self._cancels))
        else:
            span = _Span((*outer.cancels, *self._cancels), self._report)
        span = span.stage(begin, end)
        token = _now.set(span)
        try:
            yield
        finally:
            _now.reset(token)


def _nowhere(share: float, at_once: bool) -> None:
    """Nobody asked for progress."""


@contextmanager
def watched(progress: Progress | None = None, cancelled: Cancel | None = None) -> Iterator[None]:
    """Keep watch over a block; parameters as for `Watch`. Inside another watch, both are in force."""
    with Watch(progress, cancelled).stage():
        yield


@contextmanager
def stage(begin: float, end: float) -> Iterator[None]:
    """A block that does a share of what is watched over here, by whomever."""
    outer = _now.get()
    token = _now.set(outer and outer.stage(begin, end))
    try:
        yield
    finally:
        _now.reset(token)


def checkpoint(share: float = 0.0) -> None:
    """Go on if that is wanted, and tell the share of the stage at hand that is done.

    Raises
    ------
    Cancelled
        When the request was withdrawn.
    """
    span = _now.get()
    if span is not None:
        span.ask()
        span.tell(share, False)


def pieces(n: int, at_once: int) -> Iterator[slice]:
    """Parts of what is done piece by piece, `at_once` of n or one at least, with a checkpoint before each."""
    step = max(1, at_once)
    for first in range(0, n, step):
        checkpoint(first / n)
        yield slice(first, min(first + step, n))


def tell(share: float) -> None:
    """Tell the share of the stage at hand that is done, at once: what callers count on, such as slabs."""
    span = _now.get()
    if span is not None:
        span.tell(share, True)


def patiently(call: Callable[[], _Result]) -> _Result:
    """What a call gives that comes to no checkpoint, but lets other threads run, as a product of matrices.

    Where somebody watches, it runs in a thread of its own, and checkpoints go on meanwhile; whoever ends at one leaves
    it alone.
    """
    if _now.get() is None:
        return call()
    future: Future[_Result] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    while not wait([future], timeout=_INTERVAL).done:
        checkpoint()
    return future.result()


def watcher() -> Progress | None:
    """`checkpoint` where somebody watches, for a kernel that is computed in pieces then; otherwise None."""
    return checkpoint if _now.get() is not None else None
