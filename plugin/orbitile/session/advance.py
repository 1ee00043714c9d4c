"""A share that is told now and then, as a bar shows it: it moves on while nothing is heard."""

from __future__ import annotations

import math
import time

_TYPICAL = 2.0
"""Seconds in which it goes most of the way that it may go by itself."""


class Advance:
    """How far some work has come, as far as is known.

    Parameters
    ----------
    room : float
        By how much the share that is shown may be ahead of the one that was told last: a process that starts, and a
        compiler, tell nothing.
    """

    def __init__(self, room: float) -> None:
        self._room = room
        self._told, self._when, self._shown = 0.0, time.monotonic(), 0.0

    def tell(self, share: float) -> None:
        """Take note of the share that is done; from any thread."""
        self._told, self._when = share, time.monotonic()

    @property
    def share(self) -> float:
        """The share to be shown, from 0 to 1; it only grows."""
        ahead = self._room * (1 - math.exp((self._when - time.monotonic()) / _TYPICAL))
        self._shown = max(self._shown, min(1.0, self._told + ahead))
        return self._shown
