"""What is done by a process of its own while a viewer goes on, and how far it is, as a bar shows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

from ..base.errors import Cancelled
from ..workers import Worker, Workers

_PAUSE = 0.05
"""Polling interval in seconds while a job is waited for."""


class BackgroundJob:
    """A function that runs in a worker of its own, which ends with it.

    Parameters
    ----------
    worker : Worker
    function : callable
        One that can be sent to it, with its arguments.
    """

    def __init__(self, worker: Worker, function: Callable[..., Any], *arguments: Any) -> None:
        self._workers = Workers([worker])
        self._job = self._workers.submit(function, *arguments)

    @property
    def share(self) -> float:
        """Share of it that is done."""
        return self._job.share

    @property
    def process_id(self) -> int | None:
        """Number of its process, while it runs."""
        return self._workers.workers[0].process_id

    def running(self) -> bool:
        """Whether it is not done yet."""
        return not self._job.done()

    def wait(self, look: Callable[[], None]) -> None:
        """Wait until it is done, and look how far it is meanwhile; Ctrl-C cancels it."""
        try:
            while self.running():
                time.sleep(_PAUSE)
                look()
        except KeyboardInterrupt:
            self.cancel()

    def cancel(self) -> None:
        """End it, and its process."""
        self._workers.shutdown(cancel_futures=True)

    def result(self) -> Any:
        """What the function gave, once it has ended.

        Raises
        ------
        Cancelled
            When `cancel` ended it.
        OrbitileError
            When it failed, with the reason.
        """
        try:
            return self._job.result()
        except CancelledError:
            raise Cancelled("cancelled") from None
        finally:
            self._workers.shutdown(wait=False)


_SILENCE = 0.3
"""Seconds without a word after which a share moves on by itself: more than pass between two reports of work that tells
how far it is."""


class Advance:
    """How far some work has come, as far as is known.

    Parameters
    ----------
    room : float
        By how much the share that is shown may be ahead of the one that was told last, in the end: a process that
        starts, and a compiler, tell nothing.
    seconds : float
        In which it goes half of the way to there.
    """

    def __init__(self, room: float, seconds: float) -> None:
        self._room, self._seconds = room, seconds
        self._shown, self._limit, self._when = 0.0, room, time.monotonic()

    def tell(self, share: float) -> None:
        """Take note of the share that is done; from any thread."""
        shown = max(self.share, share)
        self._shown, self._limit, self._when = shown, max(shown, min(1.0, share + self._room)), time.monotonic()

    @property
    def share(self) -> float:
        """The share to be shown, from 0 to 1; it only grows."""
        quiet = max(0.0, time.monotonic() - self._when - _SILENCE)
        return self._shown + (self._limit - self._shown) * quiet / (quiet + self._seconds)
