"""Activities of a window that nothing else calls, each in a module of its own, found by name.

A window begins them after those that it calls itself.
"""

from __future__ import annotations

from typing import Any, Protocol

from ....base.registry import modules_of
from ..activity import Activity


class ActivityModule(Protocol):
    """What a module of an activity offers."""

    __name__: str

    def begin(self, browser: Any) -> Activity:
        """The activity of a `Browser`, which may look at its other activities and say something in its view."""


def begun(browser: Any) -> list[Activity]:
    """The activities of all modules, for a `Browser`."""
    return [module.begin(browser) for module in modules_of(__name__, ActivityModule).values()]
