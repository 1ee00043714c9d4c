"""Which orbitals a window lists: those of the file, or localised ones, which the worker process makes of them."""

from __future__ import annotations

import math
import time
from concurrent.futures import Future
from dataclasses import replace

from ..errors import Cancelled
from ..fields.localised import localised_name
from ..localised.localisation import localised, why_not
from ..localised.schemes import INTRINSIC, SCHEMES
from ..model.wavefunction import Wavefunction
from .analysis_browsing import AnalysisBrowsing
from .orbitals import Levels, levels_of, localised_levels_of
from .sampling import WavefunctionCache, in_worker
from .session import Session
from .view import View
from .words import of_error

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
        made = cache.trajectory(source).frame(frame, field=localised_name(first, one, 0))
    return localised_levels_of(first, made, scheme)


class OrbitalBrowsing(AnalysisBrowsing):
    """What a window does with lists of orbitals; parameters as of `AnalysisBrowsing`.

    Attributes
    ----------
    scheme : str
        What the orbitals that are listed, or on their way, are localised by, of `LISTED_ORBITALS`.
    """

    def __init__(self, session: Session, view: View) -> None:
        super().__init__(session, view)
        self.scheme = CANONICAL
        self._localising: Future[Levels] | None = None
        self._listed_frame: int | None = None
        self._following: tuple[tuple[str, str, int], Future[Levels]] | None = None
        self._next_look = 0.0

    def why_not_localised(self) -> dict[str, str]:
        """Schemes that the molecule does not have, each with the reason."""
        wavefunction = self.wavefunction
        if wavefunction is None:
            return {}
        reasons = {scheme: why_not(wavefunction, scheme) for scheme in SCHEMES}
        return {scheme: reason for scheme, reason in reasons.items() if reason}

    def choose_orbitals(self, scheme: str) -> None:
        """List localised orbitals, once the worker has made them, or those of the file again."""
        wavefunction = self.wavefunction
        if scheme == self.scheme or scheme not in LISTED_ORBITALS or wavefunction is None:
            return
        if scheme == CANONICAL:
            self._list_canonical(wavefunction)
            return
        self._withdraw_localising()
        self.scheme = scheme
        source = self.session.source(self.molecule)
        self._localising = self.session.computing.worker.run(in_worker, levels_at, source, scheme)
        self.view.say(f"Localising: {SCHEMES[next(one for one in SCHEMES if one == scheme)]} …")
        self.view.set_busy(True)

    def _list_canonical(self, wavefunction: Wavefunction) -> None:
        self._withdraw_localising()
        self.scheme, self.levels, self._listed_frame = CANONICAL, levels_of(wavefunction), None
        self.view.show_molecule()

    def _withdraw_localising(self) -> bool:
        job, self._localising = self._localising, None
        if job is not None:
            job.cancel()
        return job is not None

    def choose_molecule(self, name: str) -> None:
        """List the orbitals of another molecule, as its file has them."""
        if name != self.molecule or self.wavefunction is None:
            self._withdraw_localising()
            self.scheme, self._listed_frame = CANONICAL, None
        super().choose_molecule(name)

    def tick(self) -> None:
        """Look at what is under way, and do what is due."""
        super().tick()
        if self._localising is not None and self._localising.done():
            job, self._localising = self._localising, None
            self._localised(job)
            self.view.set_busy(self.is_busy())
        self._follow_frame()

    def _follow_frame(self) -> None:
        """List the orbitals as they are at the frame that is seen, which the worker reads."""
        here = self._listed[1], self.scheme
        if self._following is not None:
            (source, scheme, frame), job = self._following
            if not job.done():
                return
            self._following = None
            if (source, scheme) == here:
                self._listed_frame = frame
                self._list_frame(job)
        seen = None if self.playback is None or self._localising is not None else self.playback.frame
        if seen is None or self.wavefunction is None:
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
            levels = [[replace(level, energy=math.nan) for level in those] for those in self.levels]
        asked = self.view.chosen() if self.asking.wanted is not None else None
        self.levels = levels
        same = (
            level
            for those in levels
            for level in those
            if asked and (level.spin, level.index) == (asked.spin, asked.index)
        )
        self.view.show_levels(self.level_shown() if asked is None else next(same, None))
        self._listing()

    def _localised(self, job: Future[Levels]) -> None:
        try:
            levels = job.result()
        except Exception as error:
            if self.wavefunction is not None:
                self._list_canonical(self.wavefunction)
            if not isinstance(error, Cancelled):
                self.view.say(of_error(error), error=True)
            return
        self.levels, self._listed_frame = levels, None
        self.view.show_molecule()
        self.view.say(
            f"{LISTED_ORBITALS[self.scheme]}: {sum(map(len, levels))} orbitals; the arrow keys walk through them."
        )
        self._rows = None  # what is shown may be one of them
        self._listing()

    def is_busy(self) -> bool:
        """Whether the user waits for something that can be cancelled."""
        return super().is_busy() or self._localising is not None

    def at_rest(self) -> bool:
        """Whether everything that was asked for is shown."""
        return super().at_rest() and self._localising is None

    def cancel(self, saving: bool = True) -> bool:
        """Withdraw what is under way, as `Browsing.cancel` says."""
        localising = self._withdraw_localising()
        if localising and self.wavefunction is not None:
            self._list_canonical(self.wavefunction)
        return super().cancel(saving) or localising
