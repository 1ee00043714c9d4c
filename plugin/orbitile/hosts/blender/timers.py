"""Functions that Blender calls again and again, and between which its window lives."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import bpy


class Timers:
    """Timers of Blender, one a function; in the background Blender calls none."""

    def __init__(self) -> None:
        self._running: dict[Callable[[], None], Callable[[], float | None]] = {}

    def every(self, milliseconds: int, function: Callable[[], None]) -> bool:
        """Call a function every so often; see `Viewer.every`."""
        if bpy.app.background:
            return False
        if function not in self._running:
            self._running[function] = _again(milliseconds / 1000, function)
            bpy.app.timers.register(self._running[function], first_interval=milliseconds / 1000, persistent=True)
        return True

    def stop(self) -> None:
        """Call none any more."""
        for running in self._running.values():
            if bpy.app.timers.is_registered(running):
                bpy.app.timers.unregister(running)
        self._running.clear()


TIMERS = Timers()
"""Those of this Blender."""


def _again(seconds: float, function: Callable[[], None]) -> Callable[[], float | None]:
    def run() -> float | None:
        try:
            function()
        except Exception:  # Blender would drop it without a word, and the panel would stand still
            traceback.print_exc()
        return seconds

    return run
