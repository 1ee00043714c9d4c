"""Browsing the orbitals of molecules, as a window does: what is asked for, computed ahead, and drawn when.

It computes in the worker process and never waits for it. The window calls `tick` every few milliseconds, in the thread
that the viewer belongs to; that looks at what is under way: what was asked for last (`Asking`), a surface that is drawn
(`Painter`), files that are read, and what is due in a moment (`Agenda`).
"""

from __future__ import annotations

import math
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..analysis.notes import notes
from ..errors import Cancelled, OrbitileError
from ..fields import as_drawn
from ..fields.orbital import orbital_name
from ..model.wavefunction import Wavefunction
from . import commands
from .agenda import Agenda
from .asking import Asking, Wanted
from .choices import choices_of, settings_of
from .computing import in_thread
from .host import trajectory_viewer
from .orbitals import Level, Levels, levels_of
from .painter import Painter, Painting, account_of
from .playback import Playback, playback_of
from .request import Request, Sample
from .session import Session
from .shown import Shown
from .source import Source
from .view import View
from .words import of_error

QUIET = 0.25
"""Seconds after which neighbours are computed ahead, or a surface dragged by the slider is made exact."""
_AHEAD_POINTS = 8_000_000
"""Samples larger than this are not computed ahead: they would push the others out of the cache."""
_MOST_FACES = 90_000
"""Triangles that a viewer can be given without its window standing still; volume and export keep all of them."""
_VOLUME_LATER = 0.1
"""Seconds after the surface in which a larger volume follows, so that the window is drawn in between."""
_RECENT = 10


class Browsing:
    """What a window shows and does, without the window.

    Parameters
    ----------
    session : Session
        Of the viewer.
    view : View
        The window.

    Attributes
    ----------
    choices : Choices
    molecule : str
        The one whose orbitals are listed; empty for none.
    wavefunction : Wavefunction or None
        Of the molecule.
    levels : list
        Its orbitals.
    playback : Playback or None
        Where it is, if it is a trajectory.
    asking : Asking
        What was asked of the worker process.
    settings : dict
        What is kept from one run to the next; the window may add to it.
    """

    def __init__(self, session: Session, view: View) -> None:
        self.session, self.view = session, view
        self.molecule = ""
        self.wavefunction: Wavefunction | None = None
        self.levels: Levels = [[]]
        self.playback: Playback | None = None
        self.settings: dict[str, Any] = {"recent": [], **session.host.settings()}
        recent = self.settings["recent"]
        recent = recent if isinstance(recent, list) else []
        self.settings["recent"] = [path for path in recent if isinstance(path, str)]
        self.choices = choices_of(self.settings)
        self.asking, self._painter, self._agenda = Asking(session.computing), Painter(session), Agenda()
        self._reading: list[tuple[Path, Future[None]]] = []
        self._followed: tuple[str, Request] | None = None
        self._warmed = False
        self._n_frames = 0
        self._listed = "", ""

    # ---- what is under way

    @property
    def share(self) -> float:
        """Share of the work under way that is done."""
        return self.asking.share

    def tick(self) -> None:
        """Look at what is under way, and do what is due."""
        wanted = self.asking.take()
        if wanted is not None:
            self.view.set_busy(bool(self._reading))
            self._arrived(wanted)
        if self.asking.take_ahead():
            self._agenda.later(self._look_ahead)
        if self._reading and self._reading[0][1].done():  # in the order in which they were opened
            path, reading = self._reading.pop(0)
            self.view.set_busy(bool(self.asking.wanted or self._reading))
            self._opened(path, reading)
        painting = self._painter.take()
        if painting is not None:
            self._put(painting)
        self._agenda.look()
        if self.session.player.rate and (self.view.is_scrubbing() or self.view.is_sliding()):
            self.session.player.linger()
        playback = self._playback()
        if playback != self.playback:
            self.playback = playback
            self.view.show_playback(playback)

    def at_rest(self) -> bool:
        """Whether everything that was asked for is shown."""
        due = (self._draw_draft, self._draw_exact, self._painter.put_volume)
        return not (
            self.asking.wanted
            or self._painter.is_painting
            or self._painter.has_volume_due
            or self._reading
            or any(function in self._agenda for function in due)
        )

    def close(self) -> None:
        """End the worker process and the threads."""
        self._painter.close()
        self.session.player.close()
        self.session.computing.close()

    def cancel(self) -> bool:
        """Withdraw what is under way; says whether there was anything."""
        busy = bool(self.asking.wanted or self._reading)
        self.asking.withdraw()
        self._stop_ahead()
        while self._reading:
            self._reading.pop()[1].cancel()
        self.view.set_busy(False)
        if busy:
            self.view.say("Cancelled.")
        return busy

    def _stop_ahead(self) -> None:
        self._agenda.forget(self._look_ahead)
        self.asking.stop_ahead()

    # ---- molecules

    def open(self, path: str | Path) -> None:
        """Read a file, in a thread, and show its molecule when that is done."""
        path = Path(path).expanduser().resolve()
        self.view.say(f"Reading {path.name} …")
        self._reading.append((path, in_thread(lambda: self.session.computing.read(Source((str(path),))))))
        self.view.set_busy(True)

    def _opened(self, path: Path, reading: Future[None]) -> None:
        try:
            reading.result()
            name = commands.orb_load.run(self.session, [str(path)]).value or ""
        except Exception as error:
            self.view.say(of_error(error), error=True)
            return
        recent = [str(path), *(other for other in self.settings["recent"] if other != str(path))]
        self.settings["recent"] = recent[:_RECENT]
        self.remember()
        self.wavefunction, self.molecule = None, name
        self.follow()
        what = f"{name}: choose an orbital in the table; the arrow keys walk through them."
        odd = notes(self.session.wavefunction(name)) if name else ()
        self.view.say("\n".join([*(f"{name}: {note}" for note in odd), what]))
        self.view.opened()
        self._agenda.later(self._look_ahead)

    def follow(self) -> None:
        """Take up what has changed at the viewer's prompt: molecules come and go, surfaces change."""
        self.session.shelf.follow()
        sources = self.session.host.molecules()
        self.molecule = self.session.shelf.molecule_now(self.molecule)
        chosen = self.molecule if self.molecule in sources else next(reversed(sources), "")
        if (chosen, sources.get(chosen, "")) != self._listed or (chosen and self.wavefunction is None):
            self.wavefunction = None
            self.choose_molecule(chosen)
            return
        rate = self.session.player.rate
        if rate and rate != self.choices.rate:
            self.choices = replace(self.choices, rate=round(rate))
            self.view.show_choices()
        current = self.current()
        if not current or self.asking.wanted is not None:
            return
        shown = self.session.shelf[current]
        request = replace(shown.request, frame=None)
        if self._followed != (current, request):
            self._followed = (current, request)
            self.choices = replace(self.choices, color_by=shown.request.color_by)
            self.view.show_choices()
        drawing = self._painter.is_painting or self._draw_exact in self._agenda
        changing = drawing or self.view.is_sliding() or self.view.is_typing()
        if not changing and not math.isclose(shown.isovalue, self.choices.isovalue):
            self._set_isovalue(shown.isovalue)

    def choose_molecule(self, name: str) -> None:
        """List the orbitals of another molecule."""
        if name == self.molecule and self.wavefunction is not None:
            return
        was_refused = name == self.molecule and name == self._listed[0]
        self.molecule, self.wavefunction, self.levels, self._n_frames = name, None, [[]], 0
        self._listed = name, self.session.host.molecules().get(name, "")
        if name:
            try:
                self.wavefunction = self.session.wavefunction(name)
                self.levels = levels_of(self.wavefunction)
                self._n_frames = self.session.n_frames(name)
            except OrbitileError as error:
                self.view.say(str(error), error=True)
            else:
                if was_refused:  # its file is back
                    self.view.say("")
        self.view.show_molecule()

    def current(self) -> str:
        """Surface that the window acts on: of those of the chosen molecule the one shown last; empty for none."""
        return self.session.shelf.last_of(self.molecule)

    # ---- asking for fields

    def ask_for(self, level: Level) -> None:
        """Show an orbital."""
        if self.wavefunction is not None:
            self.ask(orbital_name(self.wavefunction, level.index, level.spin))

    def ask_for_named(self, field: str) -> None:
        """Show a field that the user names."""
        wavefunction = self.wavefunction
        if wavefunction is None or not field:
            return
        try:
            computing = self.session.computing  # which takes seconds for large molecules
            computing.aside(lambda: computing.wavefunctions.field(wavefunction, field))
        except OrbitileError as error:
            self.view.say(str(error), error=True)
        else:
            if self.wavefunction is wavefunction:  # no other was chosen meanwhile
                self.ask(field)

    def ask(self, field: str) -> None:
        """Show a field: at once if it is in the cache, else when the worker has it."""
        self.asking.withdraw()
        self._agenda.forget(self._draw_draft, self._draw_exact)
        self._painter.stop()
        self.view.show_field(field)
        try:
            request = self._request(field)
        except OrbitileError as error:  # its molecule has gone, or its file
            self.view.say(str(error), error=True)
            return
        base = self.current()
        if self.choices.keep or self.session.shelf.is_named(base):
            base = ""
        self._agenda.forget(self._look_ahead)
        if self.asking.want(request, self.molecule, base):
            self.view.set_busy(True)
        elif self.asking.has_come:
            self.tick()

    def ask_again(self) -> None:
        """Show the field that is shown as the choices are now."""
        current = self.current()
        if current:
            self.ask(self.session.shelf[current].request.field)

    def _request(self, field: str) -> Request:
        field, color_by = as_drawn(field, self.choices.color_by)
        return self.session.request(
            self.molecule,
            field,
            quality=self.choices.quality,
            isovalue=None if self.choices.automatic else self.choices.isovalue,
            color_by=color_by,
            most_faces=_MOST_FACES,
            box=self.session.computing.samples.last_box(self.session.source(self.molecule), self.choices.quality),
        )

    def _look_ahead(self) -> None:
        """Compute the neighbours of the orbital that is shown while nobody waits for anything."""
        if self.session.player.rate:  # the frames to come come first
            self._agenda.later(self._look_ahead, QUIET)
            return
        if self.asking.wanted or self.asking.is_ahead or self.wavefunction is None or not self.view.is_idle():
            return
        current, held = self.current(), self.session.computing.samples
        if not current:  # the first request is the slowest: the worker starts and Taichi compiles
            marked = next((level.index for level in self.levels[0] if level.mark), 0)
            first = self._request(orbital_name(self.wavefunction, marked))
            if not self._warmed and first not in held:
                self._warmed = True
                self.asking.look_ahead(first)
            return
        shown = self.session.shelf[current].request
        if shown in held and self.session.computing.sampled(shown).volume.values.size > _AHEAD_POINTS:
            return
        for level in self.view.neighbours():
            request = self._request(orbital_name(self.wavefunction, level.index, level.spin))
            if request not in held:
                self.asking.look_ahead(request)
                return

    # ---- what has come

    def _arrived(self, wanted: Wanted) -> None:
        try:
            found = wanted.future.result()
        except Cancelled:
            return
        except Exception as error:
            self.view.say(of_error(error), error=True)
            return
        self.session.computing.samples.put(found)
        colours, transparency = self.choices.colours, self.choices.transparency
        shown = Shown(wanted.molecule, wanted.request, found.isovalue, colours, transparency)
        self._draw(shown, found, replaces=wanted.base)

    def _draw(self, shown: Shown, found: Sample, *, replaces: str = "", redraws: str = "") -> None:
        painting = self._painter.begin(shown, found, replaces=replaces, redraws=redraws)
        if painting is not None:
            self._put(painting)

    def _put(self, painting: Painting) -> None:
        try:
            self._painter.put(painting)
        except Exception as error:
            self.view.say(of_error(error), error=True)
            return
        self._agenda.later(self._painter.put_volume, _VOLUME_LATER)
        self._set_isovalue(painting.shown.isovalue)
        self.view.say(account_of(painting))
        self._agenda.later(self._look_ahead, QUIET)

    # ---- the isovalue, and what is kept

    def _set_isovalue(self, isovalue: float) -> None:
        self.choices = replace(self.choices, isovalue=isovalue)
        self.view.show_choices()

    def _held(self) -> tuple[str, Shown, Sample] | None:
        """The surface that is shown, with its sample if that is in the cache."""
        current, computing = self.current(), self.session.computing
        if not current or self.session.shelf[current].request not in computing.samples:
            return None
        shown = self.session.shelf[current]
        return current, shown, computing.sampled(shown.request)

    def _draw_draft(self) -> None:
        held = self._held()
        if held is None or self.asking.wanted is not None:
            return
        base, shown, found = held
        try:
            self._painter.draft(base, replace(shown, isovalue=self.choices.isovalue), found)
        except OrbitileError as error:
            self.view.say(str(error), error=True)

    def _draw_exact(self) -> None:
        """Extract from all points; ask the worker where the lattice may be too small, or a second field colours it."""
        if self.view.is_sliding():
            self._agenda.later(self._draw_exact, QUIET)
            return
        held = self._held()
        if (
            held is None
            or self.choices.isovalue < held[2].isovalue
            or held[1].request.color_by
            or held[1].request.frame is not None
        ):
            self.ask_again()
            return
        base, shown, found = held
        self._draw(replace(shown, isovalue=self.choices.isovalue), found, redraws=base)

    def _playback(self) -> Playback | None:
        if self._n_frames <= 1:
            return None
        frame = trajectory_viewer(self.session.host).frame(self.molecule)
        return None if frame is None else playback_of(self.session.player, self.current(), frame, self._n_frames)

    def remember(self, **more: Any) -> None:
        """Have the viewer keep the settings, with more of the window's own."""
        self.settings.update(settings_of(self.choices), frames_memory=self.session.player.memory, **more)
        self.session.host.keep_settings(self.settings)
