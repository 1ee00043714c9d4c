"""Kernels are compiled while nobody waits for anything else."""

from __future__ import annotations

from ...computing import Preparing
from ..activity import Activity
from ..browser import Browser


class Compiling(Activity):
    """Kernels compiled while nobody waits for anything else; the user is told where that takes long."""

    def __init__(self, browser: Browser) -> None:
        self._browser, self.showing = browser, browser.showing
        self._computing = browser.session.computing
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
        """Leave the rest for another time, unless what is cancelled is something else that the user waits for."""
        if not (self.showing.is_busy() or self._browser.molecules.is_busy()):
            self._preparing.stop()


begin = Compiling
