"""What is shown of a live molecule: its surfaces go with the atoms until those of the new geometry are there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.errors import OrbitileError
from ...model.lattice import Lattice
from ...model.surface import Surface
from ...model.volume import Volume
from ...model.wavefunction import Wavefunction
from ...pictures.orbitals import level_of, levels_of
from ...pictures.request import Request, Sample
from ..computing import Computing
from ..host import Viewer
from ..shelf import Shelf
from ..shown import Shown
from .calculating import numbered_name, of_geometry
from .order import Converged, Positions

_ATOMS = 4
"""Atoms that take a point along."""

_SLAB = 100_000
"""Points of a volume that are moved at once, about."""


def moved_along(surface: Surface, before: NDArray[np.float64], after: NDArray[np.float64]) -> Surface:
    """A surface whose points have gone with the atoms about them.

    Each point moves by the mean of what the nearest atoms have moved, by the inverse fourth powers of their distances:
    one beside an atom goes with that atom, one between two goes half the way of each.

    Parameters
    ----------
    surface
        Of the geometry before; it stays as it is.
    before, after : ndarray, shape (n_atoms, 3)
        Positions in bohr.

    Returns
    -------
    Surface
        Its triangles, phases and colours are those it had; normals are not turned.
    """
    steps = after - before
    if not np.any(steps):
        return surface
    moved = _moved(surface.vertices, before, steps).astype(surface.vertices.dtype)
    return replace(surface, vertices=surface.vertices + moved)


def volume_moved_along(volume: Volume, before: NDArray[np.float64], after: NDArray[np.float64]) -> Volume:
    """A volume whose values have gone with the atoms, for viewers that draw surfaces from volumes.

    The value at a point is that at the place it has come from: backwards along the mean of what the atoms have moved
    that are nearest now. Where the atoms have left the lattice, it is larger than before.

    Parameters
    ----------
    volume
        Of the geometry before; it stays as it is.
    before, after : ndarray, shape (n_atoms, 3)
        Positions in bohr.

    Returns
    -------
    Volume
        By trilinear interpolation; zero where the values have come from outside. Memory: 4 bytes a point, and 20 MB.
    """
    steps = after - before
    if not np.any(steps):
        return volume
    from scipy.ndimage import map_coordinates

    lattice = _with_room_for(volume.lattice, steps)
    values = np.empty(lattice.shape, np.float32)
    nx, ny, nz = lattice.shape
    n = max(1, _SLAB // (ny * nz))
    for start in range(0, nx, n):
        stop = min(start + n, nx)
        points = lattice.points(start, stop)
        places = (points - _moved(points, after, steps) - volume.lattice.origin) @ np.linalg.inv(volume.lattice.axes)
        values[start:stop] = map_coordinates(volume.values, places.T, order=1).reshape(stop - start, ny, nz)
    return replace(volume, values=values, lattice=lattice)


def _moved(points: NDArray[np.floating], atoms: NDArray[np.float64], steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far points go with the atoms that are nearest to them, shape (n_points, 3)."""
    from scipy.spatial import cKDTree

    k = min(_ATOMS, len(atoms))
    distances, nearest = cKDTree(atoms).query(points, k=list(range(1, k + 1)))
    shares = 1 / np.maximum(distances, 1e-3) ** 4
    shares /= shares.sum(axis=1, keepdims=True)
    return np.einsum("va,vax->vx", shares, steps[nearest])


def _with_room_for(lattice: Lattice, steps: NDArray[np.float64]) -> Lattice:
    """A lattice of the same points and of those that its box passes on the way of each step, up to its own width."""
    places = steps @ np.linalg.inv(lattice.axes)
    below = np.minimum(np.ceil(np.maximum(-places.min(axis=0), 0)), lattice.shape)
    above = np.minimum(np.ceil(np.maximum(places.max(axis=0), 0)), lattice.shape)
    nx, ny, nz = (int(n) for n in lattice.shape + below + above)
    return Lattice(lattice.origin - below @ lattice.axes, lattice.axes, (nx, ny, nz))


_MOVING_FACES = 12_000
"""Triangles of a surface that moves, about."""

_PALER = 0.3
"""What is added to the transparency of a surface that is only moved along."""

_FIRST = "homo"
"""What is shown of a molecule of which nothing is shown."""

_KEPT = 32
"""Converged geometries that are remembered, and those by which surfaces are understood that are shown."""


Show = Callable[[Shown, Sample], str]


@dataclass(frozen=True, eq=False)
class _Known:
    """A field of a surface, at the geometry where it was sampled, and what was asked for, see `Following.request`."""

    found: Sample
    asked: Request
    source: str
    positions: Positions
    rests: bool


@dataclass(frozen=True, eq=False)
class _Drawing:
    """A surface on its way to the viewer: a field, drawn where the atoms were then."""

    known: _Known
    positions: Positions
    moved: Future[tuple[Surface, Volume | None, Any]] | None = None


class Following:
    """The surfaces of a live molecule.

    Parameters
    ----------
    viewer : Viewer
    shelf : Shelf
        What it shows.
    computing : Computing
        Where samples are kept for all else that is done with them.
    molecule : str
        Object of the viewer.
    show : callable
        Shows a new surface, and gives its name.
    isovalues : mapping of str to float, optional
        Of surfaces of another calculation, those that nobody has chosen: they are shown at the default isovalue of the
        first solution, which stays then.

    Attributes
    ----------
    molecule : str
        The same, when it was given another name.
    """

    def __init__(
        self,
        viewer: Viewer,
        shelf: Shelf,
        computing: Computing,
        molecule: str,
        show: Show,
        isovalues: Mapping[str, float] | None = None,
    ) -> None:
        self._viewer, self._shelf, self._computing, self.molecule = viewer, shelf, computing, molecule
        self._show = show
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="orbitile-live")
        self._recent: list[Converged] = []
        self._known: dict[str, _Known] = {}
        self._drawn: dict[str, _Drawing] = {}
        self._coming: tuple[str, _Drawing] | None = None
        self._absent: dict[str, str] = {}
        self._before: dict[str, float] = dict(isovalues or {})
        self._defaults: dict[str, float] = {}
        shelf.observe(self)

    def surfaces(self) -> list[str]:
        """Those that are there; before anything has converged and where there are none, "" for the first one."""
        there = [name for name in self._shelf.present() if self._shelf[name].molecule == self.molecule]
        return there if there or self._recent else [""]

    # ---- what happens to surfaces

    def surface_removed(self, name: str) -> None:
        """Forget what belongs to a surface."""
        for known in (self._known, self._drawn, self._absent, self._before, self._defaults):
            known.pop(name, None)

    def surface_renamed(self, old: str, new: str) -> None:
        """Follow a surface that was given another name."""
        tables: tuple[dict[str, Any], ...] = (self._known, self._drawn, self._before, self._defaults)
        for known in tables:
            if old in known:
                known[new] = known.pop(old)

    def molecule_renamed(self, old: str, new: str) -> None:
        """Follow a molecule that was given another name."""
        self.molecule = new if self.molecule == old else self.molecule

    # ---- fields

    def take(self, asked: Mapping[str, Request], found: Converged, rests: bool) -> None:
        """Take the fields that were asked for some surfaces, as finely as they are wanted or as they move."""
        used = {found.source, *self._sources()}
        others = [one for one in self._recent if one.source != found.source]
        older, recent = others[: 1 - _KEPT], others[1 - _KEPT :]
        self._recent = [*(one for one in older if one.source in used), *recent, replace(found, samples=())]
        for (name, request), sample in zip(asked.items(), found.samples, strict=True):
            if isinstance(sample, OrbitileError):
                self._has_none(name, found, str(sample))
            elif not name or name in self._shelf:
                there = name or self._show(Shown(self.molecule, sample.request, sample.isovalue), sample)
                if not name:
                    self._defaults[there] = sample.isovalue
                wanted = _apart_from_fineness(request if name else self.request(there, True))
                self._known[there] = _Known(sample, wanted, found.source, found.positions, rests or not name)
                self._absent.pop(there, None)
        if rests:
            self._viewer.rebond(self.molecule)

    def _has_none(self, name: str, found: Converged, reason: str) -> None:
        """Take note that there is no such surface of a wavefunction; the one before stays, and can be changed."""
        if name not in self._absent:  # once, until there is one again
            self._viewer.say(f"{name or _FIRST}: {reason}")
        self._absent[name] = reason
        self._known.pop(name, None)
        if name in self._shelf:
            shown, request = self._shelf[name], of_geometry(self.request(name, True), found)
            self._shelf.note(name, replace(shown, request=replace(request, isovalue=shown.request.isovalue)))
            self._viewer.set_transparency(name, min(1.0, shown.look.transparency + _PALER))

    def recall(self, found: Converged, rests: bool) -> None:
        """Take what is known already of the fields of a geometry, be it coarse or fine."""
        if not self._recent or self._recent[-1].source != found.source:
            self.take({}, replace(found, samples=()), rests)
        for finely in (False, True):
            asked, samples = {}, []
            for name in self.wanted(finely and rests):
                request = self.request(name, finely)
                sample = self._computing.samples.known(of_geometry(request, found))
                if sample is not None:
                    asked[name] = request
                    samples.append(sample)
            if asked:
                self.take(asked, replace(found, samples=tuple(samples)), finely)

    def _sources(self) -> set[str]:
        """Geometries by which surfaces that are shown, or are going to be, are understood."""
        known = [*self._known.values(), *([] if self._coming is None else [self._coming[1].known])]
        return {one.source for one in known} | {self._shelf[name].request.path for name in self.surfaces() if name}

    def wanted(self, rests: bool) -> list[str]:
        """Surfaces whose field of the last converged geometry is not known, or not as finely as it is wanted."""
        return [name for name in self.surfaces() if not self._is_known(name, rests)]

    def _is_known(self, name: str, rests: bool) -> bool:
        if not self._recent:
            return False
        known, found = self._known.get(name), self._recent[-1]
        if known is None:
            return self._shelf[name].request.path == found.source  # somebody else has shown it
        is_same = known.source == found.source and known.asked == _apart_from_fineness(self.request(name, True))
        return is_same and (known.rests or not rests)

    def request(self, name: str, rests: bool) -> Request:
        """What to ask for to see a surface: orbitals by their first names, of no geometry."""
        if not name:
            return Request("", _FIRST)
        shown = self._shelf[name]
        request = replace(
            shown.request,
            path="",
            isovalue=None if self._before.get(name) == shown.isovalue else shown.isovalue,
            field=self._first_name(shown.request.path, shown.request.field),
            color_by=self._first_name(shown.request.path, shown.request.color_by),
        )
        return request if rests else replace(request, quality="coarse", most_faces=_MOVING_FACES)

    def is_default(self, name: str) -> bool:
        """Whether the isovalue of a surface is the default one, which nobody has chosen."""
        return name in self._shelf and self._shelf[name].isovalue in (self._before.get(name), self._defaults.get(name))

    def name_now(self, source: str, name: str) -> str:
        """Name that an orbital of an earlier geometry has in the last one that has converged."""
        names = {first: now for now, first in self._recent[-1].first_names.items()} if self._recent else {}
        return names.get(self._first_name(source, name), name)

    def knows(self, source: str) -> bool:
        """Whether surfaces of a converged geometry are understood: it is one of the last."""
        return any(one.source == source for one in self._recent)

    def requests(self) -> list[Request]:
        """What to ask for to see all surfaces, as coarsely and as finely as ever."""
        return [self.request(name, finely) for name in self.surfaces() for finely in (False, True)]

    def _first_name(self, source: str, name: str) -> str:
        of = next((one for one in reversed(self._recent) if one.source == source), None)
        return name if of is None else of.first_names.get(numbered_name(of.wavefunction, name), name)

    # ---- drawing

    def draw(self, positions: Positions, failed: bool) -> None:
        """Hand one surface over to the viewer, and have the next one drawn in a thread.

        Parameters
        ----------
        positions
            Where the atoms are, in bohr.
        failed
            Whether there is no field there: surfaces stay where the last ones were then.
        """
        if self._coming is not None:
            name, drawing = self._coming
            assert drawing.moved is not None  # it is under way
            if not drawing.moved.done():
                return
            self._coming = None
            if name in self._shelf.present():
                self._put(name, drawing, failed)
            return
        following = self._next(positions, failed)
        if following is not None:
            name, drawing = following
            look, viewer = self._shelf[name].look, self._viewer

            def draw() -> tuple[Surface, Volume | None, Any]:
                known, places = drawing.known, (drawing.known.positions, drawing.positions)
                surface = moved_along(known.found.surface, *places)
                volume = volume_moved_along(known.found.volume, *places) if viewer.draws_volumes else None
                return surface, volume, viewer.drawing(surface, look)

            self._coming = name, replace(drawing, moved=self._threads.submit(draw))

    def is_drawn(self, positions: Positions, failed: bool) -> bool:
        """Whether all surfaces are drawn as they are to be."""
        return self._coming is None and self._next(positions, failed) is None

    def _next(self, positions: Positions, failed: bool) -> tuple[str, _Drawing] | None:
        """A surface that is not drawn as it is to be."""
        for name in self.surfaces():
            known, drawn = self._known.get(name), self._drawn.get(name)
            if known is None:
                continue
            there = known.positions if failed else positions
            if drawn is None or drawn.known is not known or not np.array_equal(drawn.positions, there):
                return name, _Drawing(known, there)
        return None

    def _put(self, name: str, drawing: _Drawing, failed: bool) -> None:
        assert drawing.moved is not None  # it is done
        surface, moved, instructions = drawing.moved.result()
        known, shown, drawn = drawing.known, self._shelf[name], self._drawn.get(name)
        if drawn is None or drawn.known is not known:
            request = replace(known.found.request, quality=shown.request.quality, most_faces=shown.request.most_faces)
            volume = known.found.volume
            shown = replace(shown, request=request, quantity=volume.quantity, unit=volume.unit)
            if request.isovalue is None and self._before.pop(name, None) == shown.isovalue:
                shown = replace(shown, isovalue=known.found.isovalue)
                self._defaults[name] = shown.isovalue
                known = self._known[name] = replace(known, asked=replace(known.asked, isovalue=shown.isovalue))
                drawing = replace(drawing, known=known)
        self._shelf.redraw(name, shown, instructions, surface.colouring)
        if moved is not None:
            self._shelf.put_volume(name, shown, moved)
        is_moved = not np.array_equal(drawing.positions, known.positions)
        self._viewer.set_transparency(name, min(1.0, shown.look.transparency + _PALER * (is_moved or failed)))
        self._drawn[name] = replace(drawing, moved=None)
        if known.rests and not is_moved:
            self._computing.samples.put(known.found)
            if moved is None:
                self._shelf.put_volume(name, shown, known.found.volume)

    def close(self) -> None:
        """End the thread, and follow nothing any more."""
        self._shelf.leave(self)
        self._threads.shutdown(wait=False, cancel_futures=True)


def counted_from_frontier(wavefunction: Wavefunction, name: str) -> str:
    """Name of an orbital that is named by its number, "mo:4" as "homo-1"; any other name as it is."""
    level = level_of(wavefunction, levels_of(wavefunction), name) if name.lower().startswith("mo:") else None
    if level is None or not level.counted:
        return name
    return level.frontier_name.lower() + (f":{level.spin}" if wavefunction.beta is not None else "")


def _apart_from_fineness(request: Request) -> Request:
    """What tells fields from each other, however finely they are sampled."""
    return replace(request, quality="coarse", most_faces=None, references=())
