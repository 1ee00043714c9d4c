"""A region that is computed in its surroundings, and shown when it has come."""

from __future__ import annotations

from ....pictures.words import of_error
from ...region import RunningRegion
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
        now, view = self._session.calculation, self._molecules.view
        if isinstance(now, RunningRegion):
            self._running = now
        if self._running is None or not self._running.is_over:
            return
        ended, self._running = self._running, None
        try:
            notes = ended.result()
        except Exception as error:
            view.say(of_error(error), error=True)
            return
        if ended.shown in self._session.host.molecules():
            self._molecules.take_up(ended.shown)
            view.say(f"{ended.shown}: {'; '.join(notes)}")

    def is_busy(self) -> bool:
        """Whether a region is computed."""
        return self._running is not None

    def cancel(self) -> None:
        """End the calculation."""
        if self._running is not None:
            self._session.computing.aside(self._running.cancel)


begin = Region
