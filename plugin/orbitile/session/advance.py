"""A share that is told now and then, as a bar shows it: it moves on while nothing is heard."""

from __future__ import annotations

import time

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
