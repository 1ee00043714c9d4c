"""Films: a field along a trajectory, over the orbitals of a file, or over isovalues, drawn picture by picture.

shots (what each picture shows) -> framing (one lattice and one camera for all) -> `animate` -> film or folder
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import IsovalueError, OrbitileError, RenderError
from ..base.memory import share
from ..base.watch import checkpoint, stage, tell, watched
from ..evaluation.boxes import enclosing_lattice, resolving_spacing
from ..evaluation.lattices import compute
from ..evaluation.requests import FileReferences, field_of
from ..evaluation.surfaces import extract_surface, surface_in_motion
from ..fields import Field, as_drawn
from ..model.lattice import Lattice, spacing_of
from ..model.trajectory import Trajectory
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction
from ..renderer import Camera, Margins, Patches, default_camera, margins, render
from ..scenes.scene import Drawable, VolumeDrawing
from ..trajectories.paths import align, interpolate, localised_for
from ..trajectories.tracking import Tracking, track
from ..workers import in_order
from .request import Request
from .surface import FAINTEST, isovalue_of
from .writing import Pixels, checked_film, write_pictures


@dataclass(frozen=True, eq=False)
class Shot:
    """What one picture of a film shows.

    Attributes
    ----------
    wavefunction : Wavefunction
    field : str or Field
        Name of a field of it, or the field itself.
    isovalue : float
        In atomic units.
    """

    wavefunction: Wavefunction
    field: str | Field
    isovalue: float

    def looks_like(self, other: Shot) -> bool:
        """Whether it shows the same as another one, but for the view."""
        return self.wavefunction is other.wavefunction and self.field == other.field and self.isovalue == other.isovalue


@dataclass(frozen=True, eq=False)
class Shots:
    """The shots of a film in order, each time it is called: a film goes through them twice, and keeps one at a time.

    Attributes
    ----------
    sequence
        Gives the shots.
    most : int
        Number of shots, or more where frames are left out.
    field : str
        The field that all of them show, by the name of the first frame, where their orbitals are followed; otherwise
        empty.
    """

    sequence: Callable[[], Iterable[Shot]]
    most: int
    field: str = ""

    def __call__(self) -> Iterable[Shot]:
        """The shots from the first one on."""
        return self.sequence()


def along(
    trajectory: Trajectory,
    field: str,
    tracking: Tracking | None = None,
    isovalue: float | None = None,
    *,
    aligned: bool = False,
    between: int = 0,
    device: str | None = None,
    report: Callable[[str], None] | None = None,
) -> Shots:
    """A field along a trajectory, at one isovalue.

    Parameters
    ----------
    trajectory, field
        What to show. With tracking, an orbital is named as in the first frame and stays the same orbital; localised
        orbitals too, which are found and followed then.
    tracking
        From `track`; without it orbitals flip and jump as they do in the files.
    isovalue
        In atomic units; by default that of the first frame.
    aligned
        Turn and move each frame onto the first one, so that the molecule stays where it is.
    between
        Number of interpolated frames between two neighbours, which have to be followed.
    device
        As for `compute`; the isovalue is found on it.
    report
        Told in one line, once, of each frame that is left out.

    Raises
    ------
    FieldError
        When there is no such field in the first frame.
    OrbitileError
        When no frame can be read, or frames are to be interpolated without tracking.
    """
    if between and tracking is None:
        raise OrbitileError(
            "interpolation between frames needs orbitals that are followed: give a tracking, or between=0"
        )
    check_surface(field)
    tracking = tracking and _tracking_for(field, tracking)
    name = field if tracking is None else tracking.field(field)
    shown = trajectory if tracking is None else tracking.path
    shown = interpolate(align(shown) if aligned else shown, between)

    reported: set[str] = set()

    def tell(line: str) -> None:
        if report is not None and line not in reported:
            report(line)
        reported.add(line)

    def wavefunctions() -> Iterator[Wavefunction]:
        return (wavefunction for _, wavefunction in shown.frames(tell))

    first = next(wavefunctions(), None)
    if first is None:
        reason = next(iter(trajectory.problems.values()), "it has none")
        raise OrbitileError(f"{trajectory.name}: no frame can be read: {reason}")
    references = FileReferences()  # the same for all frames
    resolved = field_of(first, name, references)
    value = isovalue_of(Request("", name, isovalue=isovalue, device=device), first, resolved)

    def shots() -> Iterator[Shot]:
        return (Shot(frame, field_of(frame, name, references), value) for frame in wavefunctions())

    return Shots(shots, len(shown), "" if tracking is None else name)


def _tracking_for(field: str, tracking: Tracking) -> Tracking:
    """A tracking that holds for a field: of localised orbitals for one of these, which are not those of the files."""
    trajectory = tracking.trajectory
    first = next((wavefunction for _, wavefunction in trajectory.frames()), None)
    if first is None or first.localised:  # what was localised for the field is followed already
        return tracking
    localised = localised_for(trajectory, first, field)
    return tracking if localised is trajectory else track(localised)


def over_orbitals(
    wavefunction: Wavefunction, names: Sequence[str], isovalue: float | None = None, *, device: str | None = None
) -> Shots:
    """Orbitals of one wavefunction one after another, at one isovalue; by default that of the first, from `device`."""
    if not names:
        raise OrbitileError("orbitals of a film: expected one or more, got none")
    for name in names:
        field_of(wavefunction, name)
    first = Request("", names[0], isovalue=isovalue, device=device)
    value = isovalue_of(first, wavefunction, field_of(wavefunction, names[0]))
    return Shots(lambda: (Shot(wavefunction, name, value) for name in names), len(names))


def over_isovalues(wavefunction: Wavefunction, field: str | Field, isovalues: Sequence[float]) -> Shots:
    """One field at one isovalue after another; the same one again and again for a molecule that only turns."""
    if not len(isovalues):
        raise OrbitileError("isovalues of a film: expected one or more, got none")
    check_surface(field)
    resolved = field_of(wavefunction, field)
    return Shots(lambda: (Shot(wavefunction, resolved, value) for value in isovalues), len(isovalues))


def check_surface(field: str | Field) -> None:
    """Refuse a field that has no isosurface of its own, and only colours that of another."""
    surface, colours = as_drawn(field) if isinstance(field, str) else (field, "")
    if colours:
        raise OrbitileError(f"field {field!r} of a film: it only colours the surface of another field; use {surface}")


Floats = NDArray[np.float64]

_VIEWS = 37
"""Angles of a film that turns at which everything is made to fit, from the first to the last one: each 10 degrees."""

_BALL = 1.0
"""Space for the ball of an atom, in bohr: for the largest one of cesium, and half as much again for the others."""

_BEYOND = 0.5
"""Space around the surfaces that are looked at beforehand, in bohr, since others lie in between."""

_EMPTY_BOX = np.array([np.full(3, np.inf), np.full(3, -np.inf)])


@dataclass(frozen=True, eq=False)
class Framing:
    """Lattices and cameras of the pictures of a film; see `find_framing`.

    Attributes
    ----------
    n_shots : int
        Number of pictures.
    box : ndarray, shape (2, 3)
        Lower and upper corner of what holds the surfaces, in bohr; relative to the middle of the molecule where it is
        followed.
    spacing : float
        Of the lattices, in bohr.
    faintest : float
        Isovalues down to which a lattice holds the field.
    resolving : bool
        Whether a surface that would fall between the points of the lattice has a finer one.
    follow : bool
        Whether lattice and camera move with the middle of the molecule.
    angle : callable
        Angle in degrees by which the molecule is turned after a share of the film.
    view : Camera
        Before the molecule turns, without an eye.
    centre : ndarray, shape (3,)
        About which the molecule turns; relative as the box is.
    from_centre : ndarray, shape (3,)
        From there to the eye, along the axes of the camera.
    height : float or None
        Of an orthographic camera.
    """

    n_shots: int
    box: Floats
    spacing: float
    faintest: float
    resolving: bool
    follow: bool
    angle: Callable[[float], float]
    view: Camera
    centre: Floats
    from_centre: Floats
    height: float | None

    def lattice(self, shot: Shot) -> Lattice:
        """Lattice of a picture: the same points for all, about the middle of the molecule where it is followed.

        A surface that falls between these points, as those of core orbitals do, has a lattice of its own.
        """
        if self.resolving:
            resolving = resolving_spacing(shot.wavefunction, shot.field, shot.isovalue, "medium")
            if resolving < self.spacing:
                return enclosing_lattice(shot.wavefunction, shot.field, self.faintest * shot.isovalue)
        low, high = self.box + _middle(shot, self.follow)
        return Lattice.box(low, high, self.spacing)

    def camera(self, shot: Shot, share: float) -> Camera:
        """Camera of a picture after a share of the film, at one distance from the middle about which it is turned."""
        turned = self.view.turned(y=self.angle(share))
        eye = self.centre + _middle(shot, self.follow) + turned.rotation.T @ self.from_centre
        return replace(turned, eye=eye, height=self.height)


def find_framing(
    shots: Shots,
    spacing: float | None,
    *,
    follow: bool = False,
    angle: Callable[[float], float] = lambda share: 0.0,
    aspect: float = 4 / 3,
    free: Margins = (0.04, 0.04, 0.04, 0.04),
    orthographic: bool = False,
    device: str | None = None,
    faintest: float = 1.0,
) -> Framing:
    """Find the space that a film takes. It is gone through once, one shot in memory at a time.

    Parameters
    ----------
    shots, spacing, follow, device
        As for `animate`.
    angle
        By which the molecule is turned, in degrees, after a share of the film.
    aspect, free, orthographic
        Width over height of the pictures, what stays free at their edges, and whether they lack perspective.
    faintest
        Isovalues down to which lattices hold the fields.

    Raises
    ------
    IsovalueError
        When none of the shots that are looked at has a surface.
    """
    step = spacing or spacing_of("medium")
    turns = sorted({angle(share) for share in np.linspace(0, 1, _VIEWS).tolist()})
    box, n_surfaces, problem = _EMPTY_BOX, 0, None
    before: Shot | None = None
    n_shots = 0
    for n, shot in enumerate(shots()):
        with stage(n / shots.most, (n + 1) / shots.most):
            checkpoint()
            if before is None:
                view = replace(default_camera(shot.wavefunction.positions), orthographic=orthographic)
                views = _Views([view.turned(y=turn) for turn in turns], aspect, free)
            if before is None or not shot.looks_like(before):
                middle = _middle(shot, follow)
                lattice = enclosing_lattice(shot.wavefunction, shot.field, faintest * shot.isovalue, spacing=step)
                ends = np.array([lattice.origin, lattice.far_corner])
                box = _united(box, ends - middle)
                views.add(shot.wavefunction.positions - middle, _BALL)
                if n % (1 << max(0, n.bit_length() - 3)) == 0 or n == shots.most - 1:  # 0 to 7, 8, 10 ... 16, 20 ...
                    try:
                        views.add(_outline(shot, device) - middle, _BEYOND)
                        n_surfaces += 1
                    except IsovalueError as error:
                        problem = error
            before, n_shots = shot, n + 1
            checkpoint(1.0)
    if problem is not None and n_surfaces == 0:
        raise problem
    return Framing(n_shots, box, step, faintest, spacing is None, follow, angle, view, *views.eye())


def _middle(shot: Shot, follow: bool) -> Floats:
    """Position that a picture is relative to: the middle of the molecule where it is followed, else the origin."""
    middle: Floats = shot.wavefunction.positions.mean(axis=0)
    return middle if follow else np.zeros(3)


class _Views:
    """What is to be seen from several views at once, and where the eye is for that.

    Parameters
    ----------
    cameras
        Without an eye; they differ in their direction.
    aspect, free
        As for `find_framing`.
    """

    def __init__(self, cameras: list[Camera], aspect: float, free: Margins) -> None:
        self._cameras, self._picture = cameras, (aspect, free)
        self._reaches = np.full((len(cameras), 5), -np.inf)
        self._box = _EMPTY_BOX

    def add(self, centres: Floats, radius: float) -> None:
        """Spheres that are to be in the picture."""
        self._box = _united(self._box, centres)
        reaches = [camera.reach(centres, radius, *self._picture) for camera in self._cameras]
        self._reaches = np.maximum(self._reaches, reaches)

    def eye(self) -> tuple[Floats, Floats, float | None]:
        """The middle about which the cameras turn; from there, along the axes of each, its eye; its height."""
        centre: Floats = self._box.mean(axis=0)
        from_centre = self._reaches - [camera.reach(centre[None], 0.0, *self._picture) for camera in self._cameras]
        held = self._cameras[0].held(from_centre.max(axis=0), *self._picture)
        assert held.eye is not None  # it was just given one
        return centre, held.rotation @ held.eye, held.height


def _united(box: Floats, points: Floats) -> Floats:
    """The lower and upper corner of what holds a box and some points."""
    return np.array([np.minimum(box[0], points.min(axis=0)), np.maximum(box[1], points.max(axis=0))])


def _outline(shot: Shot, device: str | None) -> Floats:
    """Points of the surface of a shot, computed coarsely."""
    lattice = enclosing_lattice(shot.wavefunction, shot.field, shot.isovalue, quality="coarse")
    surface = surface_in_motion(shot.wavefunction, shot.field, shot.isovalue, lattice, device=device)
    return surface.vertices.astype(np.float64)


_FIRST_PASS = 0.25
"""Share of the work that is done before the first picture: reading all frames, and finding the space that they take."""

_LEGEND = (Patches("quantity", (((0.0, 0.0, 0.0), "+"),)),)
"""Stands for the legend, whose height depends on the number of rows."""

_TOGETHER = 8
"""Pictures that a process draws at once, at most."""

_BYTES = share("lists")
"""Of such pictures, at most, where it is more than one."""


def animate(
    shots: Shots,
    path: str | PathLike[str],
    *,
    rate: float = 10.0,
    follow: bool = False,
    turn: float = 0.0,
    rock: float = 0.0,
    spacing: float | None = None,
    size: tuple[int, int] = (960, 720),
    background: Any = "white",
    legend: bool = True,
    style: str = "surface",
    device: str | None = None,
    executor: Executor | None = None,
    progress: Callable[[float], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    **drawing: Any,
) -> int:
    """Draw a film.

    Parameters
    ----------
    shots
        From `along`, `over_orbitals` or `over_isovalues`.
    path
        MP4 (H.264) or GIF, which need the package imageio-ffmpeg, or, without a suffix, a new folder for PNG pictures.
        A film appears complete or not at all, and so does a folder.
    rate
        Pictures a second.
    follow
        Move lattice and camera with the middle of the molecule; otherwise both stay, and hold the whole path.
    turn
        Degrees by which the molecule turns about the vertical axis in the course of the film.
    rock
        Degrees by which it rocks about this axis to each side, once in the course of the film.
    spacing
        Of the lattice in bohr; by default 0.15 Angstrom, less for a surface that is close to its atoms, see
        `resolving_spacing`.
    size
        Width and height in pixels, even numbers for MP4.
    background, legend
        As for `render`.
    style
        surface; or fog or slice, see `VolumeDrawing`.
    device
        As for `compute`.
    executor
        Other processes that draw the pictures: those of `orbitile.workers.local_workers`, or of a cluster. The film is
        the same where they draw with the same OpenGL.
    progress
        Called with the share that is done.
    cancelled
        Asked now and then, also while the space for all pictures is found; when it says True nothing is left behind.
    drawing
        Further arguments of `render`: colours, opacity, scale, orthographic.

    Returns
    -------
    int
        Number of pictures.

    Notes
    -----
    Memory: one picture, one volume and its surface, however long the film is; with an executor 32 MB of pictures for
    each of its processes.

    Raises
    ------
    OrbitileError
        When an argument does not fit, or the package imageio-ffmpeg is missing.
    FileError
        When the file cannot be written, or the folder is there already.
    Cancelled
        When `cancelled` said so.
    """
    target = checked_film(path, size, transparent=background == "transparent")
    if not 0.01 <= rate <= 240:
        raise RenderError(f"rate: expected pictures a second from 0.01 to 240, got {rate}")
    if style not in FAINTEST:
        raise RenderError(f"style of a film: expected {', '.join(FAINTEST)}, got {style!r}")
    if not (np.isfinite(turn) and np.isfinite(rock)):
        raise RenderError("turn and rock: expected angles in degrees")
    with watched(progress, cancelled):
        with stage(0.0, _FIRST_PASS):
            framing = find_framing(
                shots,
                spacing,
                follow=follow,
                angle=lambda share: float(turn * share + rock * np.sin(2 * np.pi * share)),
                aspect=size[0] / size[1],
                free=margins(size, _LEGEND if legend else (), bool(drawing.get("scale"))),
                orthographic=bool(drawing.get("scale") or drawing.get("orthographic")),
                device=device,
                faintest=FAINTEST[style],
            )
        look = {"size": size, "background": background, "legend": legend, **drawing}
        with stage(_FIRST_PASS, 1.0):
            views = _views(shots, framing)
            if executor is None:
                pictures = _pictures(views, framing.n_shots, device, style, look)
            else:
                pictures = _pictures_of(executor, views, framing.n_shots, device, style, look)
            write_pictures(pictures, target, size, rate)
    return framing.n_shots


@dataclass(frozen=True, eq=False)
class View:
    """A shot, where it is sampled, and from where it is seen."""

    shot: Shot
    lattice: Lattice
    camera: Camera


def _views(shots: Shots, framing: Framing) -> Iterator[View]:
    for n, shot in enumerate(islice(shots(), framing.n_shots)):  # a trajectory may have grown since
        yield View(shot, framing.lattice(shot), framing.camera(shot, n / framing.n_shots))


def _pictures(
    views: Iterator[View], n_shots: int, device: str | None, style: str, look: dict[str, Any]
) -> Iterator[Pixels]:
    """The pictures of a film in order; the look is what `render` is told of all of them."""
    surfaces = ShotSurfaces(device, style)
    for n, view in enumerate(views):
        with stage(n / n_shots, (n + 1) / n_shots):
            pixels = _drawn(view, surfaces, look)
            tell(1.0)
        yield pixels


def _pictures_of(
    executor: Executor, views: Iterator[View], n_shots: int, device: str | None, style: str, look: dict[str, Any]
) -> Iterator[Pixels]:
    """The same by other processes, some neighbouring pictures at once: they may have their surface in common."""
    width, height = look["size"]
    n_each = max(1, min(_TOGETHER, _BYTES // (4 * width * height)))
    calls = ((part, device, style, look) for part in iter(lambda: list(islice(views, n_each)), []))
    n = 0
    for pictures in in_order(executor, drawn_together, calls):
        for pixels in pictures:
            n += 1
            tell(n / n_shots)
            yield pixels


def drawn_together(views: Sequence[View], device: str | None, style: str, look: dict[str, Any]) -> list[Pixels]:
    """Pictures of a film that follow each other."""
    surfaces = ShotSurfaces(device, style)
    return [_drawn(view, surfaces, look) for view in views]


def _drawn(view: View, surfaces: ShotSurfaces, look: dict[str, Any]) -> Pixels:
    checkpoint()
    surface = surfaces.of(view.shot, view.lattice)
    return render(() if surface is None else surface, view.shot.wavefunction, camera=view.camera, **look)


class ShotSurfaces:
    """Surfaces of shots in order, each of a frame on one lattice; or volumes, for another style than surfaces.

    What a shot has in common with the one before is not computed again: the surface where only the view turns, the
    values where the isovalue alone changes.
    """

    def __init__(self, device: str | None, style: str = "surface") -> None:
        self._device, self._style = device, style
        self._last: tuple[Shot, Drawable | None] | None = None
        self._volume: Volume | None = None

    def of(self, shot: Shot, lattice: Lattice) -> Drawable | None:
        """The surface of the next shot; None where nothing has the isovalue."""
        before = self._last
        if before is not None and shot.looks_like(before[0]):
            return before[1]
        surface: Drawable | None = None
        with suppress(IsovalueError):  # the bare molecule is shown then
            new = before is None or before[0].wavefunction is not shot.wavefunction or before[0].field != shot.field
            if new:
                self._volume = None
            if self._style != "surface":
                if self._volume is None:
                    self._volume = compute(shot.wavefunction, shot.field, lattice, device=self._device)
                surface = VolumeDrawing(self._volume, shot.isovalue, self._style)
            elif new:
                surface = surface_in_motion(shot.wavefunction, shot.field, shot.isovalue, lattice, device=self._device)
            else:
                if self._volume is None:
                    self._volume = compute(shot.wavefunction, shot.field, lattice, device=self._device)
                surface = extract_surface(self._volume, shot.isovalue, device=self._device)
        self._last = shot, surface
        return surface
