"""Browsing molecules, as a window does: files are opened, molecules come, go and are chosen, trajectories play."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..analysis.notes import notes
from ..errors import OrbitileError
from . import commands
from .choices import settings_of
from .computing import in_thread
from .host import trajectory_viewer
from .orbitals import levels_of
from .playback import Playback, playback_of
from .preparing import Preparing
from .session import Session
from .showing import Showing
from .source import Source
from .view import View
from .volume_file import is_volume_file
from .words import of_error

_RECENT = 10


class Browsing(Showing):
    """What a window does with files and molecules; parameters as of `Showing`.

    Attributes
    ----------
    playback : Playback or None
        Where the molecule is, if it is a trajectory.
    notes : tuple of str
        What is odd about the file of the molecule.
    """

    def __init__(self, session: Session, view: View) -> None:
        super().__init__(session, view)
        recent = self.settings["recent"]
        recent = recent if isinstance(recent, list) else []
        self.settings["recent"] = [path for path in recent if isinstance(path, str)]
        self.playback: Playback | None = None
        self.notes: tuple[str, ...] = ()
        self._reading: list[tuple[Path, bool, Future[None]]] = []
        self._known: set[str] = set()
        self._preparing = Preparing(session.computing.worker.run, session.computing.device)
        self._n_frames = 0
        self._listed = "", ""
        self._refused = False
        self._saving = False

    # ---- what is under way

    @property
    def share(self) -> float | None:
        """Share of the work under way that is done; None where nobody knows."""
        if self.asking.wanted is not None:
            return self.asking.share
        return self.session.saving.share if self.session.saving.is_busy else self._preparing.share

    def tick(self) -> None:
        """Look at what is under way, and do what is due."""
        super().tick()
        if self._saving != self.session.saving.is_busy:
            self._saving = self.session.saving.is_busy
            if not self._saving and self.session.saving.outcome:
                self.view.say(self.session.saving.outcome)
                self.session.saving.outcome = ""
            self.view.set_busy(self.is_busy())
        self._prepare()
        if self._reading and self._reading[0][-1].done():  # in the order in which they were opened
            path, beside, reading = self._reading.pop(0)
            self.view.set_busy(self.is_busy())
            self._opened(path, beside, reading)
        if self.session.player.rate and (self.view.is_scrubbing() or self.view.is_sliding()):
            self.session.player.linger()
        playback = self._playback()
        if playback != self.playback:
            self.playback = playback
            self.view.show_playback(playback)

    def is_busy(self) -> bool:
        """Whether the user waits for something that can be cancelled, or kernels are compiled."""
        return super().is_busy() or bool(self._reading or self._preparing.text) or self.session.saving.is_busy

    def _prepare(self) -> None:
        """Have kernels made ready while nobody waits for anything else; told where that takes long."""
        computing, before = self.session.computing, self._preparing.text
        if self._preparing.device != computing.device:
            self._preparing = Preparing(computing.worker.run, computing.device)
        asked = self.asking.wanted or self.asking.is_ahead or computing.is_waited_for or self.session.player.rate
        self._preparing.look(not asked)
        text = self._preparing.text
        if text == before:
            return
        if not (text and before):
            self.view.set_busy(self.is_busy())
        if self.asking.wanted or not self.current():  # else what is said of the picture stays
            self.view.say(text)

    def at_rest(self) -> bool:
        """Whether everything that was asked for is shown."""
        return super().at_rest() and not self._reading

    def close(self) -> None:
        """End the worker process and the threads."""
        self._painter.close()
        self.session.player.close()
        self.session.computing.close()

    def cancel(self, saving: bool = True) -> bool:
        """Withdraw what is under way, pictures and films that are saved too unless told otherwise.

        Says whether there was anything.
        """
        busy = self.is_busy()
        if not (self.asking.wanted or self._reading):
            self._preparing.stop()
        self.asking.withdraw()
        self._queue.clear()
        self._stop_ahead()
        while self._reading:
            self._reading.pop()[-1].cancel()
        if saving:
            self.session.saving.cancel()
        goes_on = self.session.saving.is_busy and not saving
        self.view.set_busy(self.is_busy())
        if busy and not goes_on:
            self.view.say("Cancelled.")
        return busy

    # ---- molecules

    def open(self, *paths: str | Path) -> None:
        """Read files, in threads, and show their molecules when that is done, and none that was there before."""
        for file in paths:
            path = Path(file).expanduser().resolve()
            source = Source((str(path),))
            self.view.say(f"Reading {path.name} …")
            reading = in_thread(partial(self.session.computing.read, source))
            self._reading.append((path, bool(self._reading), reading))
            self.view.set_busy(True)

    def _opened(self, path: Path, beside: bool, reading: Future[None]) -> None:
        try:
            reading.result()
            name = commands.orb_load.run(self.session, [str(path)], {"hide": not beside}).value or ""
        except Exception as error:
            self.view.say(of_error(error), error=True)
            if self._reading:  # what is said of the next one takes its place
                self.session.host.say(of_error(error))
            return
        recent = [str(path), *(other for other in self.settings["recent"] if other != str(path))]
        self.settings["recent"] = recent[:_RECENT]
        self.remember()
        if not beside:
            self.asking.withdraw()  # it would show what was just hidden
        self.take_up(name)

    def take_up(self, name: str) -> None:
        """Show a molecule that was just loaded: its HOMO, unless something of it is shown already."""
        self._listed, self.molecule = ("", ""), name
        self.choices = replace(self.choices, automatic=True)
        self.follow()
        if self._refused:
            return
        walks = "" if self.wavefunction is None else "; the arrow keys walk through its orbitals"
        self.view.say(f"{name} is open{walks}.")
        homo = next((level for those in self.levels for level in those if level.mark == "HOMO"), None)
        self.view.opened(None if self.current() else homo)

    def follow(self) -> None:
        """Take up what has changed at the viewer's prompt: molecules come and go, surfaces change."""
        self.session.shelf.follow()
        sources = self.session.host.molecules()
        now = self.session.shelf.molecule_now
        self.molecule, known, self._known = now(self.molecule), {now(name) for name in self._known}, set(sources)
        here = self.molecule if self.molecule in sources else next(reversed(sources), "")
        new = [name for name in sources if name not in known]
        shown = [self.session.shelf[name].molecule for name in self.session.shelf.present()]
        chosen = next((name for name in reversed([here, *new, *shown]) if name in new), here)
        if (chosen, sources.get(chosen, "")) != self._listed or (chosen and self._refused):
            self.wavefunction = None
            self.choose_molecule(chosen)
            return
        rate = self.session.player.rate
        if rate and rate != self.choices.rate:
            self.choices = replace(self.choices, rate=round(rate))
            self.view.show_choices()

    def choose_molecule(self, name: str) -> None:
        """List the orbitals of another molecule."""
        if name == self.molecule and self.wavefunction is not None:
            return
        was_refused, self._refused = self._refused and name == self._listed[0], False
        self.molecule, self.wavefunction, self.levels, self._n_frames = name, None, [[]], 0
        self.notes = ()
        self._listed = name, self.session.host.molecules().get(name, "")
        self.session.host.bring_back(name)
        if name and not is_volume_file(self._listed[1]):
            try:
                self.wavefunction = self.session.wavefunction(name)
                self.levels, self.notes = levels_of(self.wavefunction), notes(self.wavefunction)
                self._n_frames = self.session.n_frames(name)
            except OrbitileError as error:
                self._refused = True
                self.view.say(str(error), error=True)
            else:
                if was_refused:  # its file is back
                    self.view.say("")
        self.view.show_molecule()

    def _playback(self) -> Playback | None:
        if self._n_frames <= 1:
            return None
        frame = trajectory_viewer(self.session.host).frame(self.molecule)
        return None if frame is None else playback_of(self.session.player, self.current(), frame, self._n_frames)

    def remember(self, **more: Any) -> None:
        """Have the viewer keep the settings, with more of the window's own."""
        self.settings.update(settings_of(self.choices), frames_memory=self.session.player.memory, **more)
        self.session.host.keep_settings(self.settings)
