"""What is computed in the background: progress, cancellation, and what is shown of it when it has come."""

from __future__ import annotations

from ....pictures.words import of_error
from ...calculation import BackgroundJob, RunningMolecule, RunningPath, RunningVibrations
from ..activity import Activity
from ..browser import Browser


class Calculating(Activity):
    """Orbitals, a region or a path, asked for in the window or at the prompt; closing the window leaves them alone."""

    outlives_window = True

    def __init__(self, browser: Browser) -> None:
        self._session, self._molecules = browser.session, browser.molecules
        self._running: BackgroundJob | None = None

    @property
    def share(self) -> float | None:
        """Share of the calculation that is done."""
        return None if self._running is None else self._running.share or None

    def tick(self) -> None:
        """List the orbitals of a region that has come, and open a path."""
        before, now, view = self._running, self._session.calculation, self._molecules.view
        if before is None or before is now or (isinstance(before, RunningMolecule) and not before.is_over):
            self._running = before or now
            return
        self._running = now
        try:
            found = before.result()
        except Exception as error:
            text = of_error(error)
            view.say(text or "Cancelled.", error=bool(text))
            return
        if isinstance(before, RunningPath | RunningVibrations):
            self._molecules.open(before.target)
        elif isinstance(before, RunningMolecule) and before.shown in self._session.host.molecules():
            self._molecules.take_up(before.shown)
            view.say(f"{before.shown}: {'; '.join(found)}")

    def is_busy(self) -> bool:
        """Whether something is computed."""
        return self._running is not None

    def cancel(self) -> None:
        """End the calculation."""
        if self._running is not None:
            self._session.computing.aside(self._running.cancel)


begin = Calculating
