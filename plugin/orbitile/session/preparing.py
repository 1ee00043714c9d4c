"""Kernels made ready in the worker process while nobody asks it for anything else."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import CancelledError, Future
from typing import Any

from ..base.errors import OrbitileError
from ..evaluation.preparation import FIRST, PREPARING, STEPS, is_prepared, keep, take_step
from .advance import Advance
from .sampling import rehearse

_SECONDS = 1.0
"""In which half of a step is done, about."""

_Call = tuple[Callable[..., Any], tuple[Any, ...]]


class Preparing:
    """Has a worker process compile what was never compiled on this machine, and load what every picture needs.

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
        self._advance = Advance(1 / len(STEPS), _SECONDS)
        self._calls = self._in_order()
        self._next: _Call | None = next(self._calls)
        self._running: Future[Any] | None = None

    def _in_order(self) -> Generator[_Call, Any, None]:
        ready = yield is_prepared, (self.device,)
        if not ready:
            for number in range(len(STEPS)):
                self.text = f"{PREPARING}: {number + 1} of {len(STEPS)}"
                self._advance.tell(number / len(STEPS))
                yield take_step, (number, self.device)
            self._advance.tell(1.0)
            yield keep, (self.device,)
            self.text = ""
        for number in range(FIRST):
            yield take_step, (number, self.device)
        yield rehearse, (self.device,)

    @property
    def share(self) -> float:
        """Share of what has to be compiled that is done."""
        return self._advance.share

    def look(self, is_idle: bool) -> None:
        """Take note of what the worker has done, and have it take the next step if it has nothing else to do."""
        if self._running is not None and self._running.done():
            self._go_on(self._running)
        if self._next is not None and self._running is None and is_idle:
            function, arguments = self._next
            self._running = self._run(function, *arguments)

    def _go_on(self, done: Future[Any]) -> None:
        self._running = None
        try:
            self._next = self._calls.send(done.result())
        except (StopIteration, CancelledError):  # that was all; or the worker is closed
            self.stop()
        except OrbitileError as error:
            self.error = error
            self.stop()

    def stop(self) -> None:
        """Leave the rest for another time; a step under way is completed."""
        self.text, self.is_over, self._next, self._running = "", True, None, None
