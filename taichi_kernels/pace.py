"""Work in pieces, between which somebody may look at how far it is, or end it."""

import time
from collections.abc import Callable

import numpy as np

Checkpoint = Callable[[float], None]
"""Called between two pieces with the share that is done; ends the work by raising."""

PIECE = 0.045
"""Seconds that a piece should take: nobody waits for 0.1 s, and launching it is below 1 %."""

_FASTER = 4.0
"""Times by which the next piece may be larger or smaller."""


class Pace:
    """How much work of one kind makes a piece, learned from the pieces before.

    Parameters
    ----------
    work
        Of the first piece, in whatever unit the caller counts.
    """

    def __init__(self, work: float) -> None:
        self.work = work

    def run(
        self,
        work: np.ndarray,
        launch: Callable[[int, int], None],
        checkpoint: Checkpoint | None,
        wait: Callable[[], None] | None = None,
    ) -> None:
        """Do some units of work in order, in pieces where there is a checkpoint, otherwise at once.

        Parameters
        ----------
        work : ndarray, shape (n_units,)
            Of each unit.
        launch
            Called with the first unit of a piece and the one behind its last.
        checkpoint
            Called between two pieces.
        wait
            Waits for what was launched, if `launch` does not. Short work is not waited for.
        """
        n = len(work)
        if checkpoint is None or n == 0:
            launch(0, n)
            return
        ends = np.cumsum(work, dtype=np.float64)
        total, done, first = max(float(ends[-1]), 1.0), 0.0, 0
        while first < n:
            last = max(first + 1, int(np.searchsorted(ends, done + self.work, side="right")))
            begin = time.perf_counter()
            launch(first, last)
            size = float(ends[last - 1]) - done
            if wait is None or last < n or self.tells(size):
                if wait is not None:
                    wait()
                self.learn(size, time.perf_counter() - begin)
            done, first = done + size, last
            if first < n:
                checkpoint(done / total)

    def fits(self, work: float) -> bool:
        """Whether some work is not too much for a piece."""
        return work <= self.work

    def tells(self, size: float) -> bool:
        """Whether the time of that much work says how much makes a piece: of less it is that of launching it."""
        return size > self.work / 2

    def learn(self, size: float, seconds: float) -> None:
        """Take note of how long some work took."""
        if self.tells(size) or seconds > PIECE:
            wanted = size * PIECE / max(seconds, 1e-6)
            self.work = min(max(wanted, self.work / _FASTER), self.work * _FASTER)
