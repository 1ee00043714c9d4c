"""What is to be done in a moment, by one thread that looks at it again and again."""

from __future__ import annotations

import time
from collections.abc import Callable


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
