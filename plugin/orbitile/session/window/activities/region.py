"""A region that is computed in its surroundings, and shown when it has come."""

from __future__ import annotations

from ....pictures.words import of_error
from ...region import RegionFound, RunningRegion
from ..activity import Activity
from ..browser import Browser


class Region(Activity):
    """A region that is computed, by the window or at the prompt; closing the window leaves it alone."""

    outlives_window = True

    def __init__(self, browser: Browser) -> None:
        self._session, self._molecules = browser.session, browser.molecules
        self._running: RunningRegion | None = None

    @property
    def share(self) -> float | None:
        """Share of the calculation that is done."""
        return None if self._running is None else self._running.share or None

    def tick(self) -> None:
        """List the orbitals of a region that has come."""
        before, now = self._running, self._session.calculation
        self._running = now if isinstance(now, RunningRegion) else None
        if before is None or before is now:
            return
        view = self._molecules.view
        try:
            found: RegionFound = before.result()
        except Exception as error:
            view.say(of_error(error), error=True)
            return
        if self._session.region(before.molecule) is found:
            self._molecules.take_up(before.molecule)
            view.say(f"{before.molecule}: {'; '.join(found.notes)}")

    def is_busy(self) -> bool:
        """Whether a region is computed."""
        return self._running is not None

    def cancel(self) -> None:
        """End the calculation."""
        if self._running is not None:
            self._session.computing.aside(self._running.cancel)


begin = Region
