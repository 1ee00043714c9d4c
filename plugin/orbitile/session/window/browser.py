"""What a user does in a window, and what goes on in it, without the window."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...base.errors import OrbitileError
from ...fields import with_absolute_files
from .. import commands
from ..computing import Asked
from ..presets import PresetSurface, preset_named, surfaces_of
from ..session import Session
from .activities import begun
from .activity import Activity
from .analysing import Analysing
from .live import LiveOrbitals
from .localising import LISTED_ORBITALS, Localising
from .molecules import Molecules
from .playing import Playing
from .showing import Showing
from .view import View


class Writing(Activity):
    """What is written into files: pictures and films in the background, volumes and surfaces at once."""

    outlives_window = True

    def __init__(self, showing: Showing) -> None:
        self.showing, self.session = showing, showing.session
        self._was_busy = False

    @property
    def share(self) -> float | None:
        """Share of a film that is done; None where it is unknown."""
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
        """True: what is visible does not wait for it."""
        return True

    def cancel(self) -> None:
        """Draw no more of it."""
        self.session.saving.cancel()

    def export(self, path: str | Path) -> None:
        """Write what is shown; the suffix of the file decides how."""
        showing = self.showing
        if showing.attempt(lambda: commands.orb_export.run(showing.session, [str(path), showing.current()])):
            showing.view.say(f"Wrote {path}")


class Browser:
    """What a window shows and does.

    The window calls `tick` every few milliseconds, in the thread that the viewer belongs to, and `molecules.follow`
    now and then.

    Parameters
    ----------
    session : Session
        Of the viewer.
    view : View
        The window.

    Attributes
    ----------
    showing, molecules, localising, playing, live, analysing, writing
        Its activities by name.
    activities : list of Activity
        All of them, and those of `activities`, in the order in which they are looked at.
    """

    def __init__(self, session: Session, view: View) -> None:
        self.session, self.view = session, view
        self.showing = Showing(session, view)
        self.live, self.playing = LiveOrbitals(self.showing), Playing(self.showing)
        self.localising = Localising(self.showing, self.playing)
        self.molecules = Molecules(self.showing, self.live, self.localising)
        self.analysing = Analysing(self.molecules)
        self.writing = Writing(self.showing)
        self.activities: list[Activity] = [
            self.showing,
            self.analysing,
            self.writing,
            self.molecules,
            self.playing,
            self.live,
            self.localising,
            *begun(self),
        ]
        self._is_busy = False

    @property
    def share(self) -> float | None:
        """Share of the work under way that is done; None where it is unknown."""
        shares = (activity.share for activity in self.activities if activity.is_busy())
        return next((share for share in shares if share is not None), None)

    def tick(self) -> None:
        """Look at what is under way, and do what is due."""
        for activity in self.activities:
            activity.tick()
        self._tell_busy()

    def _tell_busy(self) -> None:
        if self._is_busy != self.is_busy():
            self._is_busy = not self._is_busy
            self.view.set_busy(self._is_busy)

    def is_busy(self) -> bool:
        """Whether the user waits for something that can be cancelled."""
        return any(activity.is_busy() for activity in self.activities)

    def at_rest(self) -> bool:
        """Whether everything that was asked for is shown."""
        return all(activity.at_rest() for activity in self.activities)

    def cancel(self, saving: bool = True) -> bool:
        """Withdraw what is under way, also what outlives the window (files, regions) unless told otherwise.

        Says whether there was anything. Kernels are compiled on where something else was waited for.
        """
        busy = self.is_busy()
        for activity in reversed(self.activities):  # those that wait for others see what these do
            if saving or not activity.outlives_window:
                activity.cancel()
        self._tell_busy()
        goes_on = any(activity.outlives_window and activity.is_busy() for activity in self.activities)
        if busy and (saving or not goes_on):
            self.view.say("Cancelled.")
        return busy

    def close(self) -> None:
        """End the worker process and the threads."""
        self.showing.close()
        self.session.player.close()
        self.session.computing.close()

    def show_preset(self, name: str, file: str = "") -> None:
        """Show a preset, one with a file to compare with where it needs that, and list the orbitals that it is of."""
        showing = self.showing
        if showing.wavefunction is None:
            return
        try:
            surfaces = surfaces_of(preset_named(name), showing.wavefunction, file)
        except OrbitileError as error:
            self.view.say(str(error), error=True)
            return
        showing.ask_for_several([self._of_preset(surface) for surface in surfaces], side_by_side=len(surfaces) > 1)
        self.localising.choose(name if name in LISTED_ORBITALS else showing.scheme)

    def _of_preset(self, surface: PresetSurface) -> Asked:
        look, transparency = self.showing.choices.look, surface.transparency
        look = look if transparency is None else replace(look, transparency=transparency)
        return Asked(with_absolute_files(surface.field), surface.isovalue, surface.color_by, look=look)
