"""Something that goes on in a window, and what it has to do in a moment."""

from __future__ import annotations

import time
from collections.abc import Callable


class Activity:
    """Something that goes on in a window while its user does other things: a base with nothing under way."""

    outlives_window = False
    """Whether it goes on when the window is closed."""

    @property
    def share(self) -> float | None:
        """Share of the work under way that is done; None where it is unknown."""
        return None

    def tick(self) -> None:
        """Look at what is under way, and do what is due; called every few milliseconds in the viewer's thread."""

    def is_busy(self) -> bool:
        """Whether the user waits for something that can be cancelled."""
        return False

    def at_rest(self) -> bool:
        """Whether everything that was asked for is shown."""
        return not self.is_busy()

    def cancel(self) -> None:
        """Withdraw what is under way."""


class Agenda:
    """Functions that are due at some time, each at most once."""

    def __init__(self) -> None:
        self._due: dict[Callable[[], None], float] = {}

    def __contains__(self, function: Callable[[], None]) -> bool:
        return function in self._due

    def later(self, function: Callable[[], None], seconds: float = 0.0) -> None:
        """Have a function called so many seconds from now, and not before."""
        self._due[function] = time.monotonic() + seconds

    def soon(self, function: Callable[[], None]) -> None:
        """Have a function called at the next look, unless it waits already."""
        self._due.setdefault(function, 0.0)

    def forget(self, *functions: Callable[[], None]) -> None:
        """Have functions not called."""
        for function in functions:
            self._due.pop(function, None)

    def look(self) -> None:
        """Call what is due; a function may put itself, or others, on the agenda again."""
        now = time.monotonic()
        for function in [function for function, when in self._due.items() if when <= now]:
            if self._due.pop(function, None) is not None:  # it may have been forgotten by one before it
                function()
