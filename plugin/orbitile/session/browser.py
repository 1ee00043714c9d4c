"""Browsing the orbitals of molecules, as a window does: what is asked for, computed ahead, and drawn when.

It computes in the worker process and never waits for it. The window calls `tick` every few milliseconds, in the thread
that the viewer belongs to; that looks at what is under way: one future for the orbital that was asked for last, one for
a neighbour computed ahead, one for a surface that is extracted anew.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..analysis.notes import notes
from ..errors import Cancelled, OrbitileError
from ..fields import as_drawn
from ..fields.orbital import orbital_name
from ..model.lattice import QUALITIES
from ..model.wavefunction import Wavefunction
from ..surfaces.isosurface import isosurface
from ..surfaces.isovalue import CUT, reaches_faces
from ..trajectories.tracking import DOUBTFUL
from . import commands
from .orbitals import Level, Levels, levels_of
from .request import Request, Sample
from .session import Session, in_thread, surface_of
from .shown import NEGATIVE, POSITIVE, Shown, are_rows, is_number
from .source import Source

if TYPE_CHECKING:
    from .host import Colour

TWO_COLOURS = "two colours"

_QUIET = 0.25
"""Seconds after which neighbours are computed ahead, or a surface dragged by the slider is made exact."""
_DRAFT_FACES = 15_000
"""Triangles, about, of the surface that is drawn while the slider moves."""
_AHEAD_POINTS = 8_000_000
"""Samples larger than this are not computed ahead: they would push the others out of the cache."""
_AT_ONCE = 30_000
"""Triangles that are made into a drawing without a thread."""
_MOST_FACES = 90_000
"""Triangles that a viewer can be given without its window standing still; volume and export keep all of them."""
_VOLUME_LATER = 0.1
"""Seconds after the surface in which a larger volume follows, so that the window is drawn in between."""
_VOLUME_AT_ONCE = 500_000
"""Points of a volume that is put together with its surface."""
_RECENT = 10


@dataclass(frozen=True)
class Choices:
    """What is set in the window.

    Attributes
    ----------
    quality : str
    isovalue : float
    automatic : bool
        Each orbital gets the isovalue whose surface encloses 90 % of its density, in place of `isovalue`.
    color_by : str
        Second field, empty for two colours.
    colours : pair of (red, green, blue)
        Of the positive and of the negative phase.
    transparency : float
    keep : bool
        What is shown stays, and the next is shown beside it.
    rate : int
        Frames of a trajectory a second, at most, when it is played.
    """

    quality: str = "medium"
    isovalue: float = 0.03
    automatic: bool = True
    color_by: str = ""
    colours: tuple[Colour, Colour] = (POSITIVE, NEGATIVE)
    transparency: float = 0.35
    keep: bool = False
    rate: int = 10


@dataclass(frozen=True)
class Playback:
    """Where the trajectory of the chosen molecule is.

    Attributes
    ----------
    frame : int
        That is shown, from 0; it may lie beyond the last one, where other objects of the viewer have more.
    n_frames : int
    playing : bool
    drawn, doubtful, refused : frozenset of int
        Frames whose surface the viewer has; those of them to which the orbital was followed with a confidence below
        `orbitile.trajectories.tracking.DOUBTFUL`; and frames that have none.
    state : str
        What there is to say of the frame that is shown.
    """

    frame: int
    n_frames: int
    playing: bool
    drawn: frozenset[int]
    doubtful: frozenset[int]
    refused: frozenset[int]
    state: str


class View(Protocol):
    """The window, as the browser sees it."""

    def say(self, text: str, error: bool = False) -> None:
        """Put a message where it is seen."""
        ...

    def set_busy(self, busy: bool) -> None:
        """Show, or no longer, that something is computed and can be cancelled."""
        ...

    def show_molecule(self) -> None:
        """List the orbitals of `Browser.levels`: another molecule was chosen."""
        ...

    def show_choices(self) -> None:
        """Set the controls to `Browser.choices`."""
        ...

    def show_playback(self, playback: Playback | None) -> None:
        """Show where the trajectory is that the molecule is; None where it is none."""
        ...

    def show_field(self, field: str) -> None:
        """Name the field that is asked for, unless another is being typed."""
        ...

    def opened(self) -> None:
        """A file was opened, and its molecule chosen."""
        ...

    def neighbours(self) -> list[Level]:
        """Orbitals next to the one that is selected, the likeliest to be asked for first; empty when none is."""
        ...

    def is_idle(self) -> bool:
        """Whether the window can be seen, so that computing ahead is worth while."""
        ...

    def is_sliding(self) -> bool:
        """Whether the isovalue is being dragged just now."""
        ...

    def is_typing(self) -> bool:
        """Whether an isovalue is being typed just now."""
        ...

    def is_scrubbing(self) -> bool:
        """Whether the slider of the frames is held just now."""
        ...


@dataclass
class _Wanted:
    """What was asked for last, and which surface it replaces."""

    request: Request
    molecule: str
    base: str
    future: Future[Sample]


@dataclass
class _Drawn:
    """A surface whose drawing is made in a thread, and which surface it replaces."""

    shown: Shown
    found: Sample
    base: str
    name: str
    future: Future[Any]


class Browser:
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
    share : float
        Of the work under way that is done.
    settings : dict
        What is kept from one run to the next; the window may add to it.
    """

    def __init__(self, session: Session, view: View) -> None:
        self.session, self.view = session, view
        self.molecule = ""
        self.wavefunction: Wavefunction | None = None
        self.levels: Levels = [[]]
        self.playback: Playback | None = None
        self.share = 0.0
        self.settings: dict[str, Any] = {"recent": [], **session.host.settings()}
        recent = self.settings["recent"]
        self.settings["recent"] = [one for one in recent if isinstance(one, str)] if isinstance(recent, list) else []
        self.choices = _choices(self.settings)
        self._wanted: _Wanted | None = None
        self._ahead: tuple[Request, Future[Sample]] | None = None
        self._reading: list[tuple[Path, Future[None]]] = []
        self._drawn: _Drawn | None = None
        self._volume_due: tuple[str, Sample] | None = None
        self._followed: tuple[str, Request] | None = None
        self._warmed = False
        self._n_frames = 0
        self._listed = "", ""
        self._due: dict[str, float] = {}
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="orbitile")
        self._threads.submit(import_module, "skimage.measure")  # which would hold the first surface up

    # ---- what is under way

    def tick(self) -> None:
        """Look at what is under way, and do what is due."""
        wanted = self._wanted
        if wanted is not None and wanted.future.done():
            self._wanted = None
            self.view.set_busy(bool(self._reading))
            self._arrived(wanted)
        if self._ahead is not None and self._ahead[1].done():
            future = self._ahead[1]
            self._ahead = None
            if not future.cancelled() and future.exception() is None:
                self.session.samples.put_behind(future.result())
                self._later("ahead", 0)
        if self._reading and self._reading[0][1].done():  # in the order in which they were opened
            path, reading = self._reading.pop(0)
            self.view.set_busy(bool(self._wanted or self._reading))
            self._opened(path, reading)
        if self._drawn is not None and self._drawn.future.done():
            drawn, self._drawn = self._drawn, None
            self._put(drawn)
        now = time.monotonic()
        for what in [what for what, when in self._due.items() if when <= now]:
            if self._due.pop(what, None) is not None:
                getattr(self, f"_do_{what}")()
        if self.session.player.rate and (self.view.is_scrubbing() or self.view.is_sliding()):
            self.session.player.linger()
        playback = self._playback()
        if playback != self.playback:
            self.playback = playback
            self.view.show_playback(playback)

    def at_rest(self) -> bool:
        """Whether everything that was asked for is shown."""
        pending = (self._wanted, self._drawn, self._volume_due)
        return (
            all(one is None for one in pending)
            and not self._reading
            and not {"draft", "exact", "volume"} & set(self._due)
        )

    def close(self) -> None:
        """End the worker process and the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.session.player.close()
        self.session.worker.close()

    def _later(self, what: str, seconds: float) -> None:
        self._due[what] = time.monotonic() + seconds

    def cancel(self) -> bool:
        """Withdraw what is under way; says whether there was anything."""
        busy = bool(self._wanted or self._reading)
        self._withdraw()
        self._stop_ahead()
        while self._reading:
            self._reading.pop()[1].cancel()
        self.view.set_busy(False)
        if busy:
            self.view.say("Cancelled.")
        return busy

    def _withdraw(self) -> None:
        if self._wanted is not None:
            self._wanted.future.cancel()
            self._wanted = None

    def _stop_ahead(self) -> None:
        self._due.pop("ahead", None)
        if self._ahead is not None:
            self._ahead[1].cancel()
            self._ahead = None

    def _progress(self, share: float) -> None:
        self.share = share  # called from another thread

    # ---- molecules

    def open(self, path: str | Path) -> None:
        """Read a file, in a thread, and show its molecule when that is done."""
        path = Path(path).expanduser().resolve()
        self.view.say(f"Reading {path.name} …")
        self._reading.append((path, in_thread(lambda: self.session.read(Source((str(path),))))))
        self.view.set_busy(True)

    def _opened(self, path: Path, reading: Future[None]) -> None:
        try:
            reading.result()
            name = commands.orb_load.run(self.session, [str(path)]).value or ""
        except Exception as error:
            self.view.say(in_words(error), error=True)
            return
        recent = [str(path), *(one for one in self.settings["recent"] if one != str(path))]
        self.settings["recent"] = recent[:_RECENT]
        self.remember()
        self.wavefunction, self.molecule = None, name
        self.follow()
        what = f"{name}: choose an orbital in the table; the arrow keys walk through them."
        odd = notes(self.session.wavefunction(name)) if name else ()
        self.view.say("\n".join([*(f"{name}: {note}" for note in odd), what]))
        self.view.opened()
        self._later("ahead", 0)

    def follow(self) -> None:
        """Take up what has changed at the viewer's prompt: molecules come and go, surfaces change."""
        self.session.follow()
        sources = self.session.host.molecules()
        self.molecule = self.molecule if self.molecule in sources else self.session.renamed.get(self.molecule, "")
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
        if not current or self._wanted is not None:
            return
        shown = self.session.shown[current]
        request = replace(shown.request, frame=None)
        if self._followed != (current, request):
            self._followed = (current, request)
            self.choices = replace(self.choices, color_by=shown.request.color_by)
            self.view.show_choices()
        changing = self._drawn is not None or "exact" in self._due or self.view.is_sliding() or self.view.is_typing()
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
        shown = self.session.shown
        return next((base for base in reversed(self.session.present()) if shown[base].molecule == self.molecule), "")

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
            self.session.aside(lambda: self.session.field(wavefunction, field))  # it takes seconds for large molecules
        except OrbitileError as error:
            self.view.say(str(error), error=True)
        else:
            if self.wavefunction is wavefunction:  # no other was chosen meanwhile
                self.ask(field)

    def ask(self, field: str) -> None:
        """Show a field: at once if it is in the cache, else when the worker has it."""
        self._withdraw()
        self._due.pop("draft", None)
        self._due.pop("exact", None)
        self._drawn = None
        self.view.show_field(field)
        try:
            request = self._request(field)
        except OrbitileError as error:  # its molecule has gone, or its file
            self.view.say(str(error), error=True)
            return
        base = self.current()
        if self.choices.keep or base in self.session.named:
            base = ""
        future: Future[Sample] | None = None
        if request in self.session.samples:
            future = _done(self.session.sampled(request))
        elif self._ahead is not None and self._ahead[0] == request:
            future = self._ahead[1]
            self._ahead = None
        self._stop_ahead()
        if future is None:
            self.share = 0.0
            future = self.session.worker.submit(request, self._progress)
            self.view.set_busy(True)
        self._wanted = _Wanted(request, self.molecule, base, future)
        if future.done():
            self.tick()

    def ask_again(self) -> None:
        """Show the field that is shown as the choices are now."""
        current = self.current()
        if current:
            self.ask(self.session.shown[current].request.field)

    def _request(self, field: str) -> Request:
        field, color_by = as_drawn(field, self.choices.color_by)
        return self.session.request(
            self.molecule,
            field,
            quality=self.choices.quality,
            isovalue=None if self.choices.automatic else self.choices.isovalue,
            color_by=color_by,
            most_faces=_MOST_FACES,
            box=self.session.samples.last_box(self.session.source(self.molecule), self.choices.quality),
        )

    def _do_ahead(self) -> None:
        """Compute the neighbours of the orbital that is shown while nobody waits for anything."""
        if self.session.player.rate:  # the frames to come come first
            self._later("ahead", _QUIET)
            return
        if self._wanted is not None or self._ahead is not None or self.wavefunction is None or not self.view.is_idle():
            return
        current, held = self.current(), self.session.samples
        if not current:  # the first request is the slowest: the worker starts and Taichi compiles
            marked = next((level.index for level in self.levels[0] if level.mark), 0)
            first = self._request(orbital_name(self.wavefunction, marked))
            if not self._warmed and first not in held:
                self._warmed = True
                self._ahead = (first, self.session.worker.submit(first))
            return
        shown = self.session.shown[current].request
        if shown in held and self.session.sampled(shown).volume.values.size > _AHEAD_POINTS:
            return
        for level in self.view.neighbours():
            request = self._request(orbital_name(self.wavefunction, level.index, level.spin))
            if request not in held:
                self._ahead = (request, self.session.worker.submit(request))
                return

    # ---- what has come

    def _arrived(self, wanted: _Wanted) -> None:
        try:
            found = wanted.future.result()
        except Cancelled:
            return
        except Exception as error:
            self.view.say(in_words(error), error=True)
            return
        self.session.samples.put(found)
        colours, transparency = self.choices.colours, self.choices.transparency
        shown = Shown(wanted.molecule, wanted.request, found.isovalue, colours, transparency)
        self._draw(shown, found, wanted.base, "")

    def _draw(self, shown: Shown, found: Sample, base: str, name: str) -> None:
        """Have a surface drawn; large ones are prepared in a thread.

        It takes the place of `base`, and the name `name` or one from its field.
        """
        host = self.session.host
        if shown.isovalue == found.isovalue and len(found.surface.faces) <= _AT_ONCE:
            self._put(_Drawn(shown, found, base, name, _done(host.drawing(found.surface, shown.colours))))
        else:
            prepare = lambda: host.drawing(surface_of(shown, found), shown.colours)  # noqa: E731 - of one line
            self._drawn = _Drawn(shown, found, base, name, self._threads.submit(prepare))

    def _put(self, drawn: _Drawn) -> None:
        found = drawn.found
        shown = replace(drawn.shown, molecule=self.session.name_now(drawn.shown.molecule))
        try:
            if shown.molecule not in self.session.host.objects():
                raise OrbitileError(f"{shown.molecule} was deleted meanwhile")
            drawing = drawn.future.result()
            later = found.volume.values.size > _VOLUME_AT_ONCE
            if drawn.name:  # a film is begun anew, with its volumes
                with_volume = shown.request.frame is not None
                self.session.show(shown, found, drawn.name, drawing, with_volume=with_volume)
            else:
                base = self.session.show_instead(drawn.base, shown, found, drawing=drawing, with_volume=not later)
                self._volume_due = (base, found) if later else None
                self._later("volume", _VOLUME_LATER)
        except Exception as error:
            self.view.say(in_words(error), error=True)
            return
        self._set_isovalue(shown.isovalue)
        volume = found.volume
        if drawn.name:
            self.view.say(f"{volume.quantity}: isovalue {shown.isovalue:.4g} {volume.unit}")
        else:
            took = f"{found.seconds * 1000:.0f} ms" if found.seconds < 1 else f"{found.seconds:.1f} s"
            points = " × ".join(str(n) for n in volume.values.shape)
            thin = "; drawn from fewer points" if found.step > 1 else ""
            cut = f"; {CUT}" if reaches_faces(volume, shown.isovalue) else ""
            self.view.say(f"{volume.quantity}: {points} points in {took} on {found.device}{thin}{cut}")
        self._later("ahead", _QUIET)

    def _do_volume(self) -> None:
        if self._volume_due is not None:
            (base, found), self._volume_due = self._volume_due, None
            shown = self.session.shown.get(base)
            if shown is not None and base in self.session.present() and shown.request == found.request:
                self.session.host.put_volume(base, shown.molecule, found.volume, found.request.frame)

    # ---- choices

    def set_quality(self, quality: str) -> None:
        """Compute at another quality from now on."""
        self.choices = replace(self.choices, quality=quality)

    def compute_anew(self) -> None:
        """Compute what is shown at the quality that was set."""
        self.ask_again()
        if not self.current():
            self._warmed = False  # the first orbital of another quality takes longest
            self._later("ahead", 0)

    def choose_device(self, device: str) -> None:
        """Compute on another device."""
        try:
            commands.orb_device.run(self.session, [device])
        except Exception as error:
            self.view.say(in_words(error), error=True)
            self.view.show_choices()
        else:
            self.view.say(f"Computing on {device}.")
            self.ask_again()

    def choose_automatic(self, automatic: bool) -> None:
        """Let each orbital have the isovalue that encloses 90 % of it, or all of them the same."""
        self.choices = replace(self.choices, automatic=automatic)
        self.ask_again()

    def choose_second(self, name: str) -> None:
        """Colour by a second field."""
        self.choices = replace(self.choices, color_by="" if name == TWO_COLOURS else name)
        self.ask_again()

    def choose_keep(self, keep: bool) -> None:
        """Leave what is shown when the next is."""
        self.choices = replace(self.choices, keep=keep)

    def choose_colours(self, positive: Colour, negative: Colour) -> None:
        """Draw in other colours."""
        self.choices = replace(self.choices, colours=(positive, negative))
        self.remember()
        held = self._held()
        if held is None:
            self.ask_again()
        else:
            base, shown, found = held
            self._draw(replace(shown, colours=self.choices.colours), found, "", base)

    def choose_transparency(self, transparency: float) -> None:
        """Draw more or less transparent."""
        self.choices = replace(self.choices, transparency=transparency)
        current = self.current()
        if current:
            self.session.shown[current] = replace(self.session.shown[current], transparency=transparency)
            self.session.host.set_transparency(current, transparency)

    def slide_to(self, isovalue: float) -> None:
        """Draw a draft at another isovalue, and a surface from all points when the slider rests."""
        self.choices = replace(self.choices, isovalue=isovalue, automatic=False)
        if self.current():
            self._stop_ahead()
            self._due.setdefault("draft", 0)  # several moves of the mouse make one surface
            self._later("exact", _QUIET)

    def choose_isovalue(self, text: str) -> None:
        """Draw at an isovalue that was typed."""
        shown = f"{self.choices.isovalue:.4g}"
        if text == shown:
            return
        try:
            isovalue = commands.orb_iso.arguments[0].read(text)
        except OrbitileError as error:
            self.view.say(str(error), error=True)
            self.view.show_choices()
            return
        if isovalue != float(shown):
            self.choices = replace(self.choices, automatic=False)
            self._set_isovalue(isovalue)
            self._do_exact()

    def _set_isovalue(self, isovalue: float) -> None:
        self.choices = replace(self.choices, isovalue=isovalue)
        self.view.show_choices()

    def _held(self) -> tuple[str, Shown, Sample] | None:
        """The surface that is shown, with its sample if that is in the cache."""
        current = self.current()
        if not current or self.session.shown[current].request not in self.session.samples:
            return None
        shown = self.session.shown[current]
        return current, shown, self.session.sampled(shown.request)

    def _do_draft(self) -> None:
        held = self._held()
        if held is None or self._wanted is not None:
            return
        base, shown, found = held
        shown = replace(shown, isovalue=self.choices.isovalue)
        try:
            step = math.ceil(found.step * math.sqrt(len(found.surface.faces) / _DRAFT_FACES))
            surface = isosurface(found.volume.every(max(step, 1)), shown.isovalue)
        except OrbitileError as error:
            self.view.say(str(error), error=True)
            return
        drawing = self.session.host.drawing(surface, shown.colours)
        self.session.host.put_surface(
            base, shown.molecule, drawing, shown.transparency, found.surface.colouring, shown.request.frame
        )
        self.session.shown[base] = shown

    def _do_exact(self) -> None:
        """Extract from all points; ask the worker where the lattice may be too small, or a second field colours it."""
        if self.view.is_sliding():
            self._later("exact", _QUIET)
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
        self._draw(replace(shown, isovalue=self.choices.isovalue), found, "", base)

    # ---- trajectories

    def _playback(self) -> Playback | None:
        frame = self.session.host.frame(self.molecule) if self._n_frames > 1 else None
        if frame is None:
            return None
        player, base = self.session.player, self.current()
        drawn, problems, confidence = player.drawn(base), player.problems(base), player.confidence(base)
        doubtful = frozenset(one for one, value in confidence.items() if value < DOUBTFUL)
        if not base:
            state = "no orbital is shown"
        elif frame in problems:
            state = f"no surface: {problems[frame]}"
        elif frame in drawn:
            state = "surface shown"
            if frame and frame in confidence:
                state += f", tracking confidence {confidence[frame]:.2f}{', doubtful' if frame in doubtful else ''}"
        elif frame < self._n_frames and drawn:
            state = "computing the surface …"
        else:
            state = ""
        return Playback(
            frame,
            self._n_frames,
            player.rate > 0,
            frozenset(drawn),
            doubtful,
            frozenset(problems),
            state,
        )

    def play(self, playing: bool) -> None:
        """Play the trajectory, as `orb_play` does, or stop."""
        base = self.current()
        if playing and not base:
            self.view.say("Choose an orbital in the table: frames are played with its surface.", error=True)
            return
        try:
            commands.orb_play.run(self.session, [self.choices.rate, base] if playing else [0])
        except Exception as error:
            self.view.say(in_words(error), error=True)

    def choose_rate(self, rate: int) -> None:
        """Play by so many frames a second at most, now or the next time."""
        self.choices = replace(self.choices, rate=rate)
        if self.session.player.rate:
            self.play(True)

    def go_to(self, frame: int) -> None:
        """Show another frame; where the trajectory plays, it goes on from there."""
        self.session.host.go_to(self.molecule, frame)

    def step(self, step: int) -> None:
        """Stop, and show the next frame, or the one before; after the last comes the first."""
        self.play(False)
        frame = self.session.host.frame(self.molecule)
        if frame is not None and self._n_frames:
            self.go_to((frame + step) % self._n_frames)

    # ---- export and what is remembered

    def export(self, path: str | Path) -> None:
        """Write what is shown; the suffix of the file decides how."""
        try:
            commands.orb_export.run(self.session, [str(path), self.current()])
        except Exception as error:
            self.view.say(in_words(error), error=True)
        else:
            self.view.say(f"Wrote {path}")

    def remember(self, **more: Any) -> None:
        """Have the viewer keep the settings, with more of the window's own."""
        self.settings.update(
            quality=self.choices.quality,
            positive=list(self.choices.colours[0]),
            negative=list(self.choices.colours[1]),
            transparency=round(100 * self.choices.transparency),
            rate=self.choices.rate,
            frames_memory=self.session.frames_memory,
            **more,
        )
        self.session.host.keep_settings(self.settings)


def _choices(settings: dict[str, Any]) -> Choices:
    """What was set the last time; what is damaged is as at first."""
    colours = tuple(settings.get(name) for name in ("positive", "negative"))
    colours = tuple(tuple(one) if isinstance(one, list | tuple) else one for one in colours)
    quality, rate = settings.get("quality"), settings.get("rate")
    transparency: Any = settings.get("transparency")
    sound: dict[str, Any] = {}
    if isinstance(quality, str) and quality in QUALITIES:
        sound["quality"] = quality
    if are_rows(colours, 0.0, 1.0):
        sound["colours"] = colours
    if is_number(transparency, 0, 100):
        sound["transparency"] = transparency / 100
    if isinstance(rate, int) and is_number(rate, 1, 1000):
        sound["rate"] = rate
    return replace(Choices(), **sound)


def _done(result: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(result)
    return future


def in_words(error: Exception) -> str:
    """What to tell of an error."""
    text = str(error).strip() or type(error).__name__
    return text if isinstance(error, OrbitileError) else text.removeprefix("Error: ").strip()
