"""Activities of a window that nothing else calls, each in a module of its own, found by name.

A window begins them after those that it calls itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ....base.registry import modules_of
from ..activity import Activity

if TYPE_CHECKING:
    from ..browser import Browser


class ActivityModule(Protocol):
    """What a module of an activity offers."""

    __name__: str

    def begin(self, browser: Browser) -> Activity:
        """The activity of a window, which may look at its other activities and say something in its view."""


def begun(browser: Browser) -> list[Activity]:
    """The activities of all modules, for a window."""
    return [module.begin(browser) for module in modules_of(__name__, ActivityModule).values()]
