"""The molecules of a window: files are opened, molecules come, go and are chosen."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path

from ...analysis.information import notes
from ...base.errors import OrbitileError
from ...pictures.orbitals import levels_of
from ...pictures.words import of_error
from .. import commands
from ..commands.loading import usual_view
from ..computing import in_thread
from ..source import Source, is_volume_file, is_without_orbitals
from .activity import Activity
from .live import LiveOrbitals
from .localising import Localising
from .showing import Showing

_RECENT = 10


class Molecules(Activity):
    """The molecules of the viewer, of which one is chosen.

    Attributes
    ----------
    notes : tuple of str
        What is odd about the file of the molecule.
    """

    def __init__(self, showing: Showing, live: LiveOrbitals, localising: Localising) -> None:
        self.showing, self.session, self.view = showing, showing.session, showing.view
        self._live, self._localising = live, localising
        recent = showing.settings["recent"]
        recent = recent if isinstance(recent, list) else []
        showing.settings["recent"] = [path for path in recent if isinstance(path, str)]
        self.notes: tuple[str, ...] = ()
        self._reading: list[tuple[Path, bool, Future[None]]] = []
        self._known: set[str] = set()
        self._refused = False

    # ---- files

    def tick(self) -> None:
        """Show what has been read, in the order in which it was opened."""
        if self._reading and self._reading[0][-1].done():
            path, beside, reading = self._reading.pop(0)
            self._opened(path, beside, reading)

    def is_busy(self) -> bool:
        """Whether files are read."""
        return bool(self._reading)

    def cancel(self) -> None:
        """Read no more."""
        while self._reading:
            self._reading.pop()[-1].cancel()

    def open(self, *paths: str | Path) -> None:
        """Read files, in threads, and show their molecules when that is done, and none that was there before."""
        for file in paths:
            path = Path(file).expanduser().resolve()
            source = Source((str(path),))
            self.view.say(f"Reading {path.name} …")
            reading = in_thread(partial(self.session.computing.read, source))
            self._reading.append((path, bool(self._reading), reading))

    def _opened(self, path: Path, beside: bool, reading: Future[None]) -> None:
        try:
            reading.result()
            name = commands.orb_load.run(self.session, [str(path)], {"hide": not beside}).value or ""
        except Exception as error:
            self.view.say(of_error(error), error=True)
            if self._reading:  # what is said of the next one takes its place
                self.session.host.say(of_error(error))
            return
        recent = [str(path), *(other for other in self.showing.settings["recent"] if other != str(path))]
        self.showing.settings["recent"] = recent[:_RECENT]
        self.showing.remember()
        if not beside:
            self.showing.asking.withdraw()  # it would show what was just hidden
        self.take_up(name)

    def take_up(self, name: str) -> None:
        """Show a molecule that was just loaded: its HOMO, unless something of it is shown already."""
        self.showing.listed, self.showing.molecule = ("", ""), name
        self.showing.choices = replace(self.showing.choices, automatic=True)
        self.follow()
        if self._refused:
            return
        walks = "" if self.showing.wavefunction is None else "; the arrow keys walk through its orbitals"
        self.view.say(f"{name} is open{walks}.")
        homo = next((level for those in self.showing.levels for level in those if level.mark == "HOMO"), None)
        self.view.opened(None if self.showing.current() else homo)

    def follow(self) -> None:
        """Take up what has changed at the viewer's prompt: molecules come and go, surfaces change."""
        self._live.list_orbitals()  # they change where they stand
        self.session.shelf.follow()
        sources = self.session.host.molecules()
        now = self.session.shelf.molecule_now
        known, self._known = {now(name) for name in self._known}, set(sources)
        self.showing.molecule = here = now(self.showing.molecule)
        here = here if here in sources else next(reversed(sources), "")
        new = [name for name in sources if name not in known]
        shown = [self.session.shelf[name].molecule for name in self.session.shelf.present()]
        chosen = next((name for name in reversed([here, *new, *shown]) if name in new), here)
        if (chosen, sources.get(chosen, "")) != self.showing.listed or (chosen and self._refused):
            self.showing.wavefunction = None
            self.choose(chosen)
            return
        rate = self.session.player.rate
        if rate and rate != self.showing.choices.rate:
            self.showing.choices = replace(self.showing.choices, rate=round(rate))
            self.view.show_choices()

    def choose(self, name: str) -> None:
        """List the orbitals of another molecule."""
        showing = self.showing
        if name == showing.molecule and showing.wavefunction is not None:
            return
        self._localising.forget()
        was_refused, self._refused = self._refused and name == self.showing.listed[0], False
        showing.molecule, showing.wavefunction, showing.levels, showing.n_frames = name, None, [[]], 0
        self.notes = ()
        self.showing.listed = name, self.session.host.molecules().get(name, "")
        self.session.host.bring_back(name)
        source = self.showing.listed[1]
        if name and not (is_volume_file(source) or is_without_orbitals(source)):
            try:
                showing.wavefunction = self.session.wavefunction(name)
                showing.levels, self.notes = levels_of(showing.wavefunction), notes(showing.wavefunction)
                showing.n_frames = self.session.n_frames(name)
            except OrbitileError as error:
                self._refused = True
                self.view.say(str(error), error=True)
            else:
                if was_refused:  # its file is back
                    self.view.say("")
        self.view.show_molecule()

    def choose_surface(self, name: str) -> None:
        """Act on another surface, and list the orbitals of its molecule."""
        shelf = self.session.shelf
        if name in shelf:
            self.showing.queue.clear()
            shelf.choose(name)
            self.choose(shelf[name].molecule)
            self.showing.refresh()

    def opening_view(self) -> str:
        """What becomes of the view when a file is opened, of `VIEWS`."""
        return usual_view(self.session)

    def choose_opening_view(self, view: str) -> None:
        """Have another thing become of it from now on."""
        self.showing.remember(opening=view)
