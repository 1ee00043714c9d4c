"""How samples that have come are drawn: large surfaces in a thread, large volumes a moment after their surface."""

from __future__ import annotations

import math
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ...base.errors import OrbitileError
from ...fields.orbital import names_orbital
from ...model.surface import Colouring, Surface
from ...pictures.request import Sample
from ...pictures.words import unit_in_print
from ...surfaces.isosurface import isosurface
from ...surfaces.isovalue import CUT, reaches_faces
from ..session import Session
from ..shown import Shown, surface_of

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
            with_volume = shown.request.frame is not None or session.host.draws_volumes
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

    def close(self) -> None:
        """End the thread."""
        self._threads.shutdown(wait=False, cancel_futures=True)


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
