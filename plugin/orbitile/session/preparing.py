"""Kernels made ready in the worker process while nobody asks it for anything else."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any

from ..errors import OrbitileError
from ..evaluation.preparation import FIRST, PREPARING, STEPS, is_prepared, keep, take_step

_Call = tuple[Callable[..., Any], tuple[Any, ...]]

_TYPICAL = 2.0
"""Seconds that a step takes, about: nothing is heard of a compiler while it works."""


class Preparing:
    """Has a worker process compile what was never compiled on this machine, and load what the first picture needs.

    It goes on when `look` is called. What is asked of the worker meanwhile has to wait for one step at most.

    Parameters
    ----------
    run : callable
        Has a function run in the worker, as `SampleWorker.run`.
    device : str
        As for `compute`.

    Attributes
    ----------
    device : str
    text : str
        What is to be told; empty where nothing has to be compiled.
    is_over : bool
        Whether there is no more to be done, or it cannot be.
    error : OrbitileError or None
        Why it cannot be.
    """

    def __init__(self, run: Callable[..., Future[Any]], device: str) -> None:
        self._run, self.device = run, device
        self.text, self.is_over = "", False
        self.error: OrbitileError | None = None
        self._done, self._begun = 0, time.monotonic()
        self._calls = self._in_order()
        self._next: _Call | None = next(self._calls)
        self._running: Future[Any] | None = None

    def _in_order(self) -> Generator[_Call, Any, None]:
        ready = yield is_prepared, (self.device,)
        if not ready:
            for number in range(len(STEPS)):
                self._done, self.text = number, f"{PREPARING}: {number + 1} of {len(STEPS)}"
                yield take_step, (number, self.device)
            self._done = len(STEPS)
            yield keep, (self.device,)
            self.text = ""
        for number in range(FIRST):
            yield take_step, (number, self.device)

    @property
    def share(self) -> float:
        """Share of what has to be compiled that is done; it grows within a step, by the time that one takes."""
        if self._running is None or not self.text:
            return self._done / len(STEPS)
        within = 1 - math.exp((self._begun - time.monotonic()) / _TYPICAL)
        return min(1.0, (self._done + within) / len(STEPS))

    def look(self, is_idle: bool) -> None:
        """Take note of what the worker has done, and have it take the next step if it has nothing else to do."""
        if self._running is not None and self._running.done():
            self._advance(self._running)
        if self._next is not None and self._running is None and is_idle:
            function, arguments = self._next
            self._begun, self._running = time.monotonic(), self._run(function, *arguments)

    def _advance(self, done: Future[Any]) -> None:
        self._running = None
        try:
            self._next = self._calls.send(done.result())
        except StopIteration:
            self.stop()
        except OrbitileError as error:
            self.error = error
            self.stop()

    def stop(self) -> None:
        """Leave the rest for another time; a step under way is completed."""
        self.text, self.is_over, self._next, self._running = "", True, None, None
