"""What goes on in a window that nobody asked for by name: kernels are compiled, and pictures and films written."""

from __future__ import annotations

from pathlib import Path

from .. import commands
from ..computing import Preparing
from .activity import Activity
from .showing import Showing


class Compiling(Activity):
    """Kernels made ready while nobody waits for anything else; told where that takes long."""

    def __init__(self, showing: Showing) -> None:
        self.showing, self._computing = showing, showing.session.computing
        self._preparing = Preparing(self._computing.worker.run, self._computing.device)

    @property
    def share(self) -> float:
        """Share of what has to be compiled that is done."""
        return self._preparing.share

    def tick(self) -> None:
        """Have the next kernels made ready."""
        showing, computing, before = self.showing, self._computing, self._preparing.text
        if self._preparing.device != computing.device:
            self._preparing = Preparing(computing.worker.run, computing.device)
        asked = showing.asking.wanted or showing.asking.is_ahead or computing.is_waited_for
        self._preparing.look(not (asked or showing.session.player.rate))
        text = self._preparing.text
        if text != before and (
            showing.asking.wanted or not showing.current()
        ):  # else what is said of the picture stays
            showing.view.say(text)

    def is_busy(self) -> bool:
        """Whether kernels are compiled that were not before."""
        return bool(self._preparing.text)

    def at_rest(self) -> bool:
        """True: nobody asked for it."""
        return True

    def cancel(self) -> None:
        """Leave the rest for another time."""
        self._preparing.stop()


class Writing(Activity):
    """What is written into files: pictures and films in the background, volumes and surfaces at once."""

    def __init__(self, showing: Showing) -> None:
        self.showing, self.session = showing, showing.session
        self._was_busy = False

    @property
    def share(self) -> float | None:
        """Share of a film that is done; None where nobody knows."""
        return self.session.saving.share

    def tick(self) -> None:
        """Tell what became of a film."""
        ended, self._was_busy = self._was_busy and not self.session.saving.is_busy, self.session.saving.is_busy
        if ended and self.session.saving.outcome:
            self.showing.view.say(self.session.saving.outcome)
            self.session.saving.outcome = ""

    def is_busy(self) -> bool:
        """Whether a picture or a film is drawn."""
        return self.session.saving.is_busy

    def at_rest(self) -> bool:
        """True: what is seen does not wait for it."""
        return True

    def cancel(self) -> None:
        """Draw no more of it."""
        self.session.saving.cancel()

    def export(self, path: str | Path) -> None:
        """Write what is shown; the suffix of the file decides how."""
        showing = self.showing
        if showing.attempt(lambda: commands.orb_export.run(showing.session, [str(path), showing.current()])):
            showing.view.say(f"Wrote {path}")
