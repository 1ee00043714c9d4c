"""Which orbitals a window lists: those of the file, or localised ones, which the worker process makes of them."""

from __future__ import annotations

import math
import time
from concurrent.futures import Future
from dataclasses import replace

from ...base.errors import Cancelled
from ...fields.orbital import name_in_family
from ...gaussians.localised.localisation import INTRINSIC, SCHEMES, localised, why_not
from ...model.wavefunction import Wavefunction
from ...pictures.orbitals import Levels, levels_of, localised_levels_of
from ...pictures.words import of_error
from ..sampling import WavefunctionCache, in_worker
from .activity import Activity
from .playing import Playing
from .showing import Showing

_EVERY = 0.25
"""Seconds between two frames that are listed, while they play."""

CANONICAL = ""
"""What is listed at first: the orbitals as the file has them."""

LISTED_ORBITALS = {
    CANONICAL: "Canonical",
    "ibo": "IBO",
    "pm": "Pipek-Mezey",
    "pm_iao": "Pipek-Mezey (IAO)",
    "boys": "Boys",
}
"""What can be listed, by schemes of localisation, each with a short title."""


def levels_at(cache: WavefunctionCache, source: str, scheme: str = CANONICAL, frame: int | None = None) -> Levels:
    """The orbitals of a source as a table lists them, at a frame of a trajectory those that are followed.

    Parameters
    ----------
    cache
        What is made of wavefunctions stays there.
    source
    scheme
        What they are localised by, of `LISTED_ORBITALS`.
    frame
        From 0; None for the first one, or for a file of one wavefunction.

    Raises
    ------
    OrbitileError
        When the frame cannot be read, or they cannot be localised.
    """
    if scheme == CANONICAL:
        return levels_of(cache.get(source, frame))
    one = next(one for one in SCHEMES if one == scheme)
    first = cache.get(source)
    if frame is None:
        made = localised(first, one, "all" if one in INTRINSIC else "occupied")
    else:
        made = cache.trajectory(source).frame(frame, field=name_in_family(first, one, 0))
    return localised_levels_of(first, made, scheme)


class Localising(Activity):
    """The lists of orbitals of the molecule that is chosen."""

    def __init__(self, showing: Showing, playing: Playing) -> None:
        self.showing, self.session, self.view = showing, showing.session, showing.view
        self._playing = playing
        self._job: Future[Levels] | None = None
        self._listed_frame: int | None = None
        self._following: tuple[tuple[str, str, int], Future[Levels]] | None = None
        self._next_look = 0.0

    def why_not(self) -> dict[str, str]:
        """Schemes that the molecule does not have, each with the reason."""
        wavefunction = self.showing.wavefunction
        if wavefunction is None:
            return {}
        reasons = {scheme: why_not(wavefunction, scheme) for scheme in SCHEMES}
        return {scheme: reason for scheme, reason in reasons.items() if reason}

    def choose(self, scheme: str) -> None:
        """List localised orbitals, once the worker has made them, or those of the file again."""
        wavefunction = self.showing.wavefunction
        if scheme == self.showing.scheme or scheme not in LISTED_ORBITALS or wavefunction is None:
            return
        if scheme == CANONICAL:
            self._list_canonical(wavefunction)
            return
        self._withdraw()
        self.showing.scheme = scheme
        source = self.session.source(self.showing.molecule)
        self._job = self.session.computing.worker.run(in_worker, levels_at, source, scheme)
        self.view.say(f"Localising: {SCHEMES[next(one for one in SCHEMES if one == scheme)]} …")

    def _list_canonical(self, wavefunction: Wavefunction) -> None:
        self._withdraw()
        self.showing.scheme, self.showing.levels, self._listed_frame = CANONICAL, levels_of(wavefunction), None
        self.view.show_molecule()

    def _withdraw(self) -> bool:
        job, self._job = self._job, None
        if job is not None:
            job.cancel()
        return job is not None

    def forget(self) -> None:
        """List the orbitals as the file has them, of another molecule that is chosen."""
        self._withdraw()
        self.showing.scheme, self._listed_frame = CANONICAL, None

    def tick(self) -> None:
        """List what the worker has made, and follow the frames."""
        if self._job is not None and self._job.done():
            job, self._job = self._job, None
            self._localised(job)
        self._follow_frame()

    def _follow_frame(self) -> None:
        """List the orbitals as they are at the frame that is seen, which the worker reads."""
        here = self.showing.listed[1], self.showing.scheme
        if self._following is not None:
            (source, scheme, frame), job = self._following
            if not job.done():
                return
            self._following = None
            if (source, scheme) == here:
                self._listed_frame = frame
                self._list_frame(job)
        playback = self._playing.playback
        seen = None if playback is None or self._job is not None else playback.frame
        if seen is None or self.showing.wavefunction is None:
            return
        at = self._listed_frame
        if at is None:  # what was listed just now is of the first one
            at = self._listed_frame = self.session.computing.wavefunctions.trajectory(here[0]).at_first
        if seen == at or (self.session.player.rate and time.monotonic() < self._next_look):
            return
        self._next_look = time.monotonic() + _EVERY
        job = self.session.computing.worker.run(in_worker, levels_at, *here, seen)
        self._following = (*here, seen), job

    def _list_frame(self, job: Future[Levels]) -> None:
        try:
            levels = job.result()
        except Cancelled:
            self._listed_frame = -1  # it is asked for again
            return
        except Exception:  # the frame cannot be read, which is told where it would be seen
            levels = [[replace(level, energy=math.nan) for level in those] for those in self.showing.levels]
        asked = self.view.chosen() if self.showing.asking.wanted is not None else None
        self.showing.levels = levels
        same = (
            level
            for those in levels
            for level in those
            if asked and (level.spin, level.index) == (asked.spin, asked.index)
        )
        self.view.show_levels(self.showing.level_shown() if asked is None else next(same, None))
        self.showing.refresh()

    def _localised(self, job: Future[Levels]) -> None:
        try:
            levels = job.result()
        except Exception as error:
            if self.showing.wavefunction is not None:
                self._list_canonical(self.showing.wavefunction)
            if not isinstance(error, Cancelled):
                self.view.say(of_error(error), error=True)
            return
        self.showing.levels, self._listed_frame = levels, None
        self.view.show_molecule()
        self.view.say(
            f"{LISTED_ORBITALS[self.showing.scheme]}: {sum(map(len, levels))} orbitals; "
            "the arrow keys walk through them."
        )
        self.showing.refresh(anew=True)  # what is shown may be one of them

    def is_busy(self) -> bool:
        """Whether orbitals are localised."""
        return self._job is not None

    def cancel(self) -> None:
        """List the orbitals of the file in place of those on their way."""
        if self._withdraw() and self.showing.wavefunction is not None:
            self._list_canonical(self.showing.wavefunction)
