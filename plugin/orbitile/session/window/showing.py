"""What a window shows of a molecule: which field is asked for, what is computed ahead, and what is drawn when.

It computes in the worker process and never waits for it: what was asked for last (`Asking`), a surface that is drawn
(`Painter`), and what is due in a moment (`Agenda`) are looked at by `tick`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ...base.errors import Cancelled, OrbitileError
from ...fields import as_drawn
from ...fields.orbital import names_orbital, orbital_name
from ...model.surface import Colouring, Surface
from ...model.wavefunction import Wavefunction
from ...pictures.look import VOLUME_STYLES, Look, apart_from
from ...pictures.orbitals import Level, Levels, field_of, level_of
from ...pictures.request import MOST_FACES, Request, Sample
from ...pictures.surface import range_about
from ...pictures.words import of_error, unit_in_print
from ...surfaces.isosurface import isosurface
from ...surfaces.isovalue import CUT, reaches_faces
from .. import commands
from ..computing import Asked, Asking, Wanted
from ..seen import Listed, listed, titled
from ..session import Session
from ..shown import Shown, surface_of
from .activity import Activity, Agenda
from .view import TWO_COLOURS, View, choices_of, settings_of

_DRAFT_FACES = 15_000
"""Triangles, about, of the surface that is drawn while the slider moves."""
_AT_ONCE = 30_000
"""Triangles that are made into a drawing without a thread."""
_VOLUME_AT_ONCE = 500_000
"""Points of a volume that is put together with its surface."""


@dataclass(frozen=True)
class Painting:
    """A surface that is being drawn.

    Attributes
    ----------
    shown : Shown
    found : Sample
    replaces : str
        Surface that gives way to it; empty for none.
    redraws : str
        Surface that it is, drawn in another way; empty for one of a new request.
    drawing : Future
        What the viewer draws it from.
    """

    shown: Shown
    found: Sample
    replaces: str
    redraws: str
    drawing: Future[Any]


class Painter:
    """Draws one surface at a time; what is begun later is drawn in place of what was begun before.

    Parameters
    ----------
    session : Session
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="orbitile")
        self._threads.submit(import_module, "skimage.measure")  # which would hold the first surface up
        self._painting: Painting | None = None
        self._volume_due: tuple[str, Sample] | None = None
        self._colours = _NearColours()

    @property
    def is_painting(self) -> bool:
        """Whether a surface is being drawn in the thread."""
        return self._painting is not None

    @property
    def has_volume_due(self) -> bool:
        """Whether a volume is to follow its surface."""
        return self._volume_due is not None

    def begin(self, shown: Shown, found: Sample, *, replaces: str = "", redraws: str = "") -> Painting | None:
        """Have a surface drawn; gives the painting where it is small, and so done at once; errors as for a drawing."""
        host = self._session.host
        if shown.isovalue == found.isovalue and len(found.surface.faces) <= _AT_ONCE:
            drawing: Future[Any] = Future()
            drawing.set_result(host.drawing(found.surface, shown.look))
            return Painting(shown, found, replaces, redraws, drawing)
        drawing = self._threads.submit(lambda: host.drawing(surface_of(shown, found), shown.look))
        self._painting = Painting(shown, found, replaces, redraws, drawing)
        return None

    def take(self) -> Painting | None:
        """The painting that was begun in the thread, once it is done."""
        if self._painting is None or not self._painting.drawing.done():
            return None
        painting, self._painting = self._painting, None
        return painting

    def stop(self) -> None:
        """Drop what is being drawn."""
        self._painting = None

    def put(self, painting: Painting) -> str:
        """Show what was drawn, and give the name of the surface; a large volume is put by `put_volume`.

        Raises
        ------
        OrbitileError
            When its molecule has gone, or it has no surface.
        """
        found, session = painting.found, self._session
        shown = replace(painting.shown, molecule=session.shelf.molecule_now(painting.shown.molecule))
        if shown.molecule not in session.host.objects():
            raise OrbitileError(f"{shown.molecule} was deleted meanwhile")
        drawing = painting.drawing.result()
        if painting.redraws:  # a film is begun anew, with its volumes
            with_volume = shown.request.frame is not None or session.host.draws_volumes or _is_volume(shown)
            return session.show(shown, found, painting.redraws, drawing, with_volume=with_volume)
        later = found.volume.values.size > _VOLUME_AT_ONCE and not session.host.draws_volumes
        base = session.show_instead(painting.replaces, shown, found, drawing=drawing, with_volume=not later)
        self._volume_due = (base, found) if later else None
        return base

    def put_volume(self) -> None:
        """Put the volume that is to follow, if its surface is still shown."""
        if self._volume_due is not None:
            (base, found), self._volume_due = self._volume_due, None
            shelf = self._session.shelf
            if base in shelf.present() and shelf[base].request == found.request:
                self._session.shelf.put_volume(base, shelf[base], found.volume)

    def draft(self, base: str, shown: Shown, found: Sample) -> None:
        """Draw a surface at once, from as few points as that needs.

        Raises
        ------
        OrbitileError
            When there is none at this isovalue.
        """
        step = math.ceil(found.step * math.sqrt(len(found.surface.faces) / _DRAFT_FACES))
        surface = isosurface(found.volume.every(max(step, 1)), shown.isovalue)
        if found.surface.colouring is not None:
            surface = replace(surface, colouring=self._colours.at(found.surface, surface.vertices))
        drawing = self._session.host.drawing(surface, shown.look)
        self._session.shelf.put(base, shown, drawing, surface.colouring)
        if _is_volume(shown):
            self._session.shelf.put_volume(base, shown, found.volume)

    def close(self) -> None:
        """End the thread."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _is_volume(shown: Shown) -> bool:
    """Whether its volume is drawn, and so has to be put where its isovalue or its look changes."""
    return shown.look.style in VOLUME_STYLES


class _NearColours:
    """Colours of drafts: those of the nearest points of the surface that was coloured last."""

    def __init__(self) -> None:
        self._known: tuple[Surface, cKDTree] | None = None

    def at(self, surface: Surface, points: NDArray[np.float32]) -> Colouring:
        """The colouring of a surface, at points near it, shape (n, 3) in bohr."""
        assert surface.colouring is not None  # the caller has looked
        if self._known is None or self._known[0] is not surface:
            self._known = surface, cKDTree(surface.vertices, leafsize=32, balanced_tree=False)
        _, nearest = self._known[1].query(points)
        return replace(surface.colouring, values=surface.colouring.values[nearest])


def is_near(points: NDArray[np.floating], centres: NDArray[np.floating], radii: NDArray[np.float64] | float) -> bool:
    """Whether all points are within the radius of the nearest of some centres."""
    if not (len(points) and len(centres)):
        return False
    distances, nearest = cKDTree(centres).query(points)
    return bool(np.all(distances <= np.broadcast_to(radii, len(centres))[nearest]))


def account_of(what: str, painting: Painting) -> str:
    """What there is to say of a painting that was put, and whether it is whole."""
    shown, volume = painting.shown, painting.found.volume
    encloses = names_orbital(shown.request.field) and shown.request.isovalue is None
    share = (
        f", encloses {100 * shown.request.share:g} %" if encloses and shown.isovalue == painting.found.isovalue else ""
    )
    cut = f"; {CUT}" if not painting.redraws and reaches_faces(volume, shown.isovalue) else ""
    return f"{what}, isovalue {shown.isovalue:.4g} {unit_in_print(volume.unit)}".rstrip() + share + cut


def origin_of(painting: Painting) -> str:
    """How the values of a painting came about."""
    found, volume = painting.found, painting.found.volume
    took = f"{found.seconds * 1000:.0f} ms" if found.seconds < 1 else f"{found.seconds:.1f} s"
    points = " × ".join(str(n) for n in volume.values.shape)
    thin = "; drawn from fewer points" if found.step > 1 else ""
    return f"{points} points in {took} on {found.device}{thin}"


QUIET = 0.25
"""Seconds after which neighbours are computed ahead, or a surface dragged by the slider is made exact."""
_AHEAD_POINTS = 8_000_000
"""Samples larger than this are not computed ahead: they would push the others out of the cache."""
_VOLUME_LATER = 0.1
"""Seconds after the surface in which a larger volume follows, so that the window is drawn in between."""
_CORE = 1.5
"""Distance in bohr from an atom beyond which no ball hides a surface."""
_LISTED_EVERY = 0.1
"""Polling interval in seconds: what is shown."""


class Showing(Activity):
    """What a window shows, and what all its activities know of.

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
    scheme : str
        What the orbitals that are listed, or on their way, are localised by; empty for those of the file.
    listed : pair of str
        The molecule, and where the wavefunction is that its orbitals are of.
    n_frames : int
        Of its trajectory; 0 for none.
    isovalue : float
        What the controls stand at: that of the surface that they act on, or on its way to it.
    isovalue_range : pair of float
        Isovalues to slide through.
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
        self.scheme, self.listed, self.n_frames = "", ("", ""), 0
        self.isovalue = 0.0
        self.isovalue_range = 1e-3, 1.0
        self._ranged = "", ""
        self.settings: dict[str, Any] = {"recent": [], **session.host.settings()}
        self.choices = choices_of(self.settings)
        self.asking, self._painter, self.agenda = Asking(session.computing), Painter(session), Agenda()
        self._rows: tuple[list[Listed], str] | None = None
        self.queue: list[Asked] = []
        self._together: list[str] | None = None
        self._gives_way: tuple[str, ...] = ()
        self._look: Look | None = None
        self._titles: dict[str, str] = {}
        self._warmed = False

    # ---- what is under way

    def tick(self) -> None:
        """Look at what is under way, and do what is due."""
        wanted = self.asking.take()
        if wanted is not None:
            self._arrived(wanted)
        if self.asking.take_ahead():
            self.agenda.later(self._look_ahead)
        painting = self._painter.take()
        if painting is not None:
            self._put(painting)
        self.agenda.look()
        if self.refresh not in self.agenda:
            self.agenda.later(self.refresh, _LISTED_EVERY)

    def is_busy(self) -> bool:
        """Whether the user waits for something that can be cancelled."""
        return self.asking.wanted is not None

    def at_rest(self) -> bool:
        """Whether everything that was asked for is shown."""
        due = (self._draw_draft, self._draw_exact, self._painter.put_volume)
        return not (
            self.asking.wanted
            or self.queue
            or self._painter.is_painting
            or self._painter.has_volume_due
            or any(function in self.agenda for function in due)
        )

    def cancel(self) -> None:
        """Withdraw what is asked for and what is computed ahead."""
        self.asking.withdraw()
        self.queue.clear()
        self._stop_ahead()

    def close(self) -> None:
        """End the threads."""
        self._painter.close()

    def attempt(self, function: Callable[[], object]) -> bool:
        """Call a function and tell what goes wrong; returns whether all went well."""
        try:
            function()
        except Exception as error:
            self.view.say(of_error(error), error=True)
            return False
        return True

    def _stop_ahead(self) -> None:
        self.agenda.forget(self._look_ahead)
        self.asking.stop_ahead()

    # ---- what there is

    def _fit_range(self, current: str, shown: Shown | None) -> None:
        """Have the isovalues to slide through be those about the one that is shown, unless it is among them already."""
        if shown is None:
            return
        low, high = self.isovalue_range
        about = current, shown.request.field
        if about == self._ranged and low <= self.isovalue <= high:
            return
        self._ranged = about
        held = self._held()
        self.isovalue_range = range_about(self.isovalue, None if held is None else held[2].volume)

    def current(self) -> str:
        """Surface that the window acts on: of those of the chosen molecule the one chosen last; empty for none."""
        return self.session.shelf.last_of(self.molecule)

    def shown(self) -> Shown | None:
        """What the surface shows that the window acts on."""
        current = self.current()
        return self.session.shelf[current] if current else None

    @property
    def is_automatic(self) -> bool:
        """Whether the surface that the controls act on has the field's own isovalue; of none, whether the next has."""
        shown = self.shown()
        return self.choices.automatic if shown is None else self._has_default(shown)

    def refresh(self, anew: bool = False) -> None:
        """List what is shown, where that has changed, or `anew`."""
        current = self.current()
        rows = [self._titled(row) for row in listed(self.session)]
        self._titles = {row.name: row.text for row in rows}
        if (rows, current) == self._rows and not anew:
            return
        self._rows = rows, current
        shown = self.shown()
        drawing = self._painter.is_painting or self._draw_exact in self.agenda
        if shown is not None and not (drawing or self.view.is_sliding() or self.view.is_typing()):
            self.isovalue = shown.isovalue
            if names_orbital(shown.request.field):
                live = self.session.live.now
                follows = live is not None and live.molecule == self.molecule  # there isovalues stay as atoms move
                automatic = self.choices.automatic if follows else self._has_default(shown)
                self.choices = replace(self.choices, isovalue=shown.isovalue, automatic=automatic)
        self._fit_range(current, shown)
        self.view.show_surfaces(rows, current)
        self.view.show_choices()

    def _titled(self, row: Listed) -> Listed:
        """A row with what the levels of the molecule tell of it; those of another molecule have told it before."""
        shown = self.session.shelf[row.name]
        if shown.molecule != self.molecule:
            return replace(row, text=self._titles.get(row.name, row.text))
        return titled(row, self._level_of(shown))

    def level_shown(self) -> Level | None:
        """The orbital that the controls act on, where it is one of those listed."""
        shown = self.shown()
        return None if shown is None else self._level_of(shown)

    def _level_of(self, shown: Shown) -> Level | None:
        if self.wavefunction is None or shown.molecule != self.molecule:
            return None
        live, field = self.session.live.now, shown.request.field
        if live is not None and live.molecule == shown.molecule:  # it may have been drawn of an earlier geometry
            field = live.following.name_now(shown.request.path, field)
        return level_of(self.wavefunction, self.levels, field)

    def acts_on_orbital(self) -> bool:
        """Whether the controls act on an orbital, or on nothing yet."""
        shown = self.shown()
        return shown is None or names_orbital(shown.request.field)

    # ---- asking for fields

    def ask_for(self, level: Level) -> None:
        """Show an orbital."""
        if self.wavefunction is not None:
            self.ask(field_of(self.wavefunction, level))

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
        """Show another field: at once if it is in the cache, else when the worker has it.

        It takes the place of the surfaces of its molecule that are not kept and that the window shows or acts on.
        """
        self.ask_for_several([self._asked(field)])

    def ask_for_several(self, fields: Sequence[Asked], *, side_by_side: bool = False) -> None:
        """Show fields one after the other, in place of what `ask` would take the place of."""
        first, *self.queue = fields
        self._together = [] if side_by_side else None
        self._gives_way = self._giving_way()
        self._ask(first, self._gives_way[0] if self._gives_way else "")

    def ask_again(self, **changes: Any) -> None:
        """Show the field that is shown, changed in some way, as the quality and the device are now.

        Changes are those of an `Asked`.
        """
        shown = self.shown()
        if shown is not None:
            request = shown.request
            mine = None if self._has_default(shown) else shown.isovalue
            self.queue, self._together, self._gives_way = [], None, ()
            asked = Asked(request.field, mine, request.color_by, request.color_range)
            self._ask(replace(asked, **changes), self.current())

    def _asked(self, field: str) -> Asked:
        """A field as it is asked for at first: orbitals at the isovalue of those before."""
        if not names_orbital(field):
            return Asked(field)
        return Asked(field, None if self.choices.automatic else self.choices.isovalue)

    def _has_default(self, shown: Shown) -> bool:
        """Whether nobody has changed the isovalue of a surface."""
        found = self.session.computing.samples.known(shown.request)
        return shown.request.isovalue is None and (found is None or found.isovalue == shown.isovalue)

    def _giving_way(self) -> tuple[str, ...]:
        """Surfaces of the molecule that the next one takes the place of."""
        shelf, there = self.session.shelf, self.session.shelf.present()
        free = [name for name in there if shelf[name].molecule == self.molecule and not shelf[name].kept]
        together = tuple(name for name in free if name in shelf.grid)
        return together or tuple(free[-1:])

    def _ask(self, asked: Asked, base: str) -> None:
        self.asking.withdraw()
        self.agenda.forget(self._draw_draft, self._draw_exact)
        self._painter.stop()
        self._look = asked.look
        self.view.show_field(asked.field)
        try:
            request = self._request(asked)
        except OrbitileError as error:  # its molecule has gone, or its file
            self.view.say(str(error), error=True)
            return
        self.agenda.forget(self._look_ahead)
        if not self.asking.want(request, self.molecule, base) and self.asking.has_come:
            self.tick()

    def _request(self, asked: Asked) -> Request:
        field, color_by = as_drawn(asked.field, asked.color_by, self.wavefunction)
        return self.session.request(
            self.molecule,
            field,
            quality=self.choices.quality,
            isovalue=asked.isovalue,
            color_by=color_by,
            color_range=asked.color_range,
            most_faces=MOST_FACES,
            box=self.session.computing.samples.last_box(self.session.source(self.molecule), self.choices.quality),
        )

    def _look_ahead(self) -> None:
        """Compute the neighbours of the orbital that is shown while nobody waits for anything."""
        if self.session.player.rate:  # the frames to come come first
            self.agenda.later(self._look_ahead, QUIET)
            return
        if self.asking.wanted or self.asking.is_ahead or self.wavefunction is None or not self.view.is_idle():
            return
        if self.molecule not in self.session.host.molecules():  # it was deleted, and that is noticed in a moment
            return
        current, held = self.current(), self.session.computing.samples
        if not current:  # the first request is the slowest: the worker starts and Taichi compiles
            marked = next((level.index for level in self.levels[0] if level.mark), 0)
            first = self._request(self._asked(orbital_name(self.wavefunction, marked)))
            if not self._warmed and first not in held:
                self._warmed = True
                self.asking.look_ahead(first)
            return
        shown = self.session.shelf[current].request
        if shown in held and self.session.computing.sampled(shown).volume.values.size > _AHEAD_POINTS:
            return
        for level in self.view.neighbours():
            request = self._request(self._asked(field_of(self.wavefunction, level)))
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
            self.queue, self._together = [], None
            self.view.say(of_error(error), error=True)
            return
        self.session.computing.samples.put(found)
        shelf = self.session.shelf
        look = self._look or (shelf[wanted.base].look if wanted.base in shelf else self.choices.look)
        if wanted.base not in shelf and self._together is None:  # beside what is kept
            there = [shelf[name] for name in shelf.present() if name not in self._gives_way]
            look = apart_from(
                look, [one.look for one in there if one.molecule == wanted.molecule and one.scale is None]
            )
        kept = wanted.base in shelf and shelf[wanted.base].kept
        shown = self.session.drawable(Shown(wanted.molecule, wanted.request, found.isovalue, look, kept))
        self._draw(shown, found, replaces=wanted.base)

    def _draw(self, shown: Shown, found: Sample, *, replaces: str = "", redraws: str = "") -> None:
        painting = self._painter.begin(shown, found, replaces=replaces, redraws=redraws)
        if painting is not None:
            self._put(painting)

    def _put(self, painting: Painting) -> None:
        try:
            base = self._painter.put(painting)
        except Exception as error:
            self.queue, self._together = [], None
            self.view.say(of_error(error), error=True)
            return
        shelf = self.session.shelf
        for name in self._gives_way[1:]:
            if name in shelf:
                shelf.remove(name)
        self._gives_way = ()
        if self._together is not None:
            self._together.append(base)
        self.agenda.later(self._painter.put_volume, _VOLUME_LATER)
        if base == self.current():  # no other molecule was chosen meanwhile
            self.isovalue = painting.shown.isovalue
            self.refresh()
            row = next((row for row in self._rows[0] if row.name == base), None) if self._rows else None
            what = painting.found.volume.quantity if row is None else row.text
            account = account_of(what, painting)
            if self._is_in_atoms(painting):
                account += "; the spheres of the atoms hide it: draw them smaller"
            self.view.say(account, detail=origin_of(painting))
        if self.queue:
            self._ask(self.queue.pop(0), "")
            return
        if self._together is not None:
            together, self._together = self._together, None
            shelf.arrange(together)
        self.agenda.later(self._look_ahead, QUIET)

    def _is_in_atoms(self, painting: Painting) -> bool:
        """Whether a surface is an orbital's, of a core, that lies inside the balls that atoms are drawn as."""
        surface = painting.found.surface
        if not names_orbital(painting.shown.request.field) or self.wavefunction is None:
            return False
        few = surface.vertices[:: len(surface.vertices) // 50 + 1]
        if not is_near(few, self.wavefunction.positions, _CORE):
            return False
        seen = self.session.host.viewpoint()
        return seen is not None and is_near(surface.vertices, seen.molecule.centres, seen.molecule.radii)

    # ---- the isovalue, and what is kept

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
            self._painter.draft(base, replace(shown, isovalue=self.isovalue), found)
        except OrbitileError as error:
            self.view.say(str(error), error=True)

    def _draw_exact(self) -> None:
        """Extract from all points; ask the worker where the lattice may be too small, or a second field colours it."""
        if self.view.is_sliding():
            self.agenda.later(self._draw_exact, QUIET)
            return
        held = self._held()
        if (
            held is None
            or self.isovalue < held[2].isovalue
            or held[1].request.color_by
            or held[1].request.frame is not None
        ):
            self.ask_again(isovalue=self.isovalue)
            return
        base, shown, found = held
        self._draw(replace(shown, isovalue=self.isovalue), found, redraws=base)

    # ---- what is set

    def set_quality(self, quality: str) -> None:
        """Compute at another quality from now on."""
        self.choices = replace(self.choices, quality=quality)

    def compute_anew(self) -> None:
        """Compute what is shown at the quality that was set."""
        self.ask_again()
        if not self.current():
            self._warmed = False  # the first orbital of another quality takes longest
            self.agenda.later(self._look_ahead)

    def choose_device(self, device: str) -> None:
        """Compute on another device."""
        if self.attempt(lambda: commands.orb_device.run(self.session, [device])):
            self.view.say(f"Computing on {device}.")
            self.ask_again()
        else:
            self.view.show_choices()

    def choose_automatic(self, automatic: bool) -> None:
        """Let each orbital have the isovalue that encloses 90 % of it, or all of them the same."""
        self.choices = replace(self.choices, automatic=automatic, isovalue=self.isovalue)
        self.ask_again(isovalue=None if automatic else self.isovalue)

    def choose_second(self, name: str) -> None:
        """Colour by a second field."""
        color_by = "" if name == TWO_COLOURS else name
        self.ask_again(color_by=color_by, color_range=None)

    def choose_range(self, color_range: float | None) -> None:
        """Have the colours span minus this to plus this; None for a range from the data."""
        self.ask_again(color_range=color_range)

    def choose_unit(self, unit: str) -> None:
        """List energies in another unit."""
        self.choices = replace(self.choices, unit=unit)
        self.remember()

    def remember(self, **more: Any) -> None:
        """Have the viewer keep the settings, with more of the window's own."""
        self.settings.update(settings_of(self.choices), frames_memory=self.session.player.memory, **more)
        self.session.host.keep_settings(self.settings)

    # ---- what is done with what is shown

    def set_visible(self, name: str, visible: bool) -> None:
        """Hide a surface, or show it again."""
        self.attempt(lambda: self.session.shelf.set_visible(name, visible))
        self.refresh()

    def keep(self, name: str, kept: bool) -> None:
        """Have a surface stay when the next field is shown, or no longer."""
        if name in self.session.shelf:
            self.session.shelf.keep(name, kept)
        self.refresh()

    def delete(self, name: str) -> None:
        """Delete a surface and its volume."""
        if name in self.session.shelf:
            if name == self.current():
                self.asking.withdraw()
                self._painter.stop()
            self.attempt(lambda: self.session.shelf.remove(name))
            self.refresh()

    def change_look(self, **changes: Any) -> None:
        """Draw the surface, and those to come, in another way; changes are parts of a `Look`."""
        shown = self.shown()
        reason = "" if shown is None else self.session.why_not_drawn(changes.get("style", ""), shown.request)
        if reason:
            self.view.say(reason, error=True)
            self.view.show_choices()
            return
        self.choices = replace(self.choices, look=replace(self.choices.look, **changes))
        self.remember()
        if shown is None:
            return
        look = replace(shown.look, **changes)
        if set(changes) == {"transparency"}:
            self.session.shelf.set_transparency(self.current(), look.transparency)
            return
        held = self._held()
        if held is None:
            self.ask_again(look=look)
        else:
            self._draw(replace(shown, look=look), held[2], redraws=held[0])

    def slide_to(self, isovalue: float) -> None:
        """Draw a draft at another isovalue, and a surface from all points when the slider rests."""
        self.isovalue = isovalue
        if self.acts_on_orbital():
            self.choices = replace(self.choices, isovalue=isovalue, automatic=False)
        if self.current():
            self._stop_ahead()
            self.agenda.soon(self._draw_draft)  # several moves of the mouse make one surface
            self.agenda.later(self._draw_exact, QUIET)

    def choose_isovalue(self, text: str) -> None:
        """Draw at an isovalue that was typed."""
        shown = f"{self.isovalue:.4g}"
        if text == shown:
            return
        try:
            isovalue = commands.orb_iso.arguments[0].read(text)
        except OrbitileError as error:
            self.view.say(str(error), error=True)
            self.view.show_choices()
            return
        if isovalue != float(shown):
            self.isovalue = isovalue
            if self.acts_on_orbital():
                self.choices = replace(self.choices, isovalue=isovalue, automatic=False)
            self._draw_exact()
