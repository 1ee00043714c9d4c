"""Films: a field along a trajectory, over the orbitals of a file, or over isovalues, drawn picture by picture."""

from __future__ import annotations

import importlib
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import Cancelled, FileError, IsovalueError, OrbitileError, RenderError
from .evaluation.boxes import enclosing_lattice, resolving_spacing
from .evaluation.isovalues import default_isovalue
from .evaluation.lattices import compute
from .evaluation.requests import field_of
from .evaluation.surfaces import extract_surface, surface_in_motion
from .fields import Field, as_drawn
from .files.reading import user_path
from .files.writing import checked_target, written_atomically
from .model.lattice import Lattice, spacing_of
from .model.surface import Surface
from .model.trajectory import Trajectory
from .model.volume import Volume
from .model.wavefunction import Wavefunction
from .readers._references import FileReferences
from .renderer import checked_size, margins, render
from .renderer.image import Patches, write_png
from .renderer.scene import Camera, Margins, default_camera
from .trajectories.interpolation import interpolate
from .trajectories.paths import align
from .trajectories.tracking import Tracking
from .workers.child_process import ChildProcess

SUFFIXES = (".mp4", ".gif")

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

_VIEWS = 37
"""Angles of a film that turns at which everything is made to fit, from the first to the last one: each 10 degrees."""

_BALL = 1.0
"""Room for the ball of an atom, in bohr: for the largest one of cesium, and half as much again for the others."""

_BEYOND = 0.5
"""Room around the surfaces that are looked at beforehand, in bohr, since others lie in between."""

_FIRST_PASS = 0.25
"""Share of the work that is done before the first picture: reading all frames, and finding the room that they take."""

_LEGEND = (Patches("quantity", (((0.0, 0.0, 0.0), "+"),)),)
"""Stands for the legend, whose height depends on the number of rows."""


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
    """

    sequence: Callable[[], Iterable[Shot]]
    most: int

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
        What to show. With tracking, an orbital is named as in the first frame and stays the same orbital.
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
            "frames can be interpolated where orbitals are followed only: give a tracking, or none between"
        )
    _check_surface(field)
    name = field if tracking is None else tracking.field(field)
    shown = trajectory if tracking is None else tracking.path
    shown = interpolate(align(shown) if aligned else shown, between)

    reported: set[str] = set()

    def tell(line: str) -> None:
        if report is not None and line not in reported:
            report(line)
        reported.add(line)

    def wavefunctions() -> Iterator[Wavefunction]:
        return (frame for _, frame in shown.frames(tell))

    first = next(wavefunctions(), None)
    if first is None:
        reason = next(iter(trajectory.problems.values()), "it has none")
        raise OrbitileError(f"{trajectory.name}: no frame can be read: {reason}")
    references = FileReferences()
    if isovalue is None:
        isovalue = default_isovalue(first, field_of(first, name, references), device=device)

    def shots() -> Iterator[Shot]:
        for frame in wavefunctions():
            yield Shot(frame, field_of(frame, name, references), isovalue)

    return Shots(shots, len(shown))


def _check_surface(field: str | Field) -> None:
    """Refuse a field that has no isosurface of its own, and only colours that of another."""
    surface, colours = as_drawn(field) if isinstance(field, str) else (field, "")
    if colours:
        raise OrbitileError(f"field {field!r} of a film: it only colours the surface of another field; use {surface}")


def over_orbitals(
    wavefunction: Wavefunction, names: Sequence[str], isovalue: float | None = None, *, device: str | None = None
) -> Shots:
    """Orbitals of one wavefunction one after another, at one isovalue; by default that of the first, from `device`."""
    if not names:
        raise OrbitileError("orbitals of a film: expected one or more, got none")
    for name in names:
        field_of(wavefunction, name)
    value = default_isovalue(wavefunction, names[0], device=device) if isovalue is None else isovalue
    return Shots(lambda: (Shot(wavefunction, name, value) for name in names), len(names))


def over_isovalues(wavefunction: Wavefunction, field: str | Field, isovalues: Sequence[float]) -> Shots:
    """One field at one isovalue after another; the same one again and again for a molecule that only turns."""
    if not len(isovalues):
        raise OrbitileError("isovalues of a film: expected one or more, got none")
    _check_surface(field)
    resolved = field_of(wavefunction, field)
    return Shots(lambda: (Shot(wavefunction, resolved, value) for value in isovalues), len(isovalues))


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
    device: str | None = None,
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
    device
        As for `compute`.
    progress
        Called with the share that is done.
    cancelled
        Asked at each picture, also while the room for all of them is found; when it says True nothing is left behind.
    drawing
        Further arguments of `render`: colors, opacity, scale, orthographic.

    Returns
    -------
    int
        Number of pictures.

    Notes
    -----
    Memory: one picture, one volume and its surface, however long the film is.

    Raises
    ------
    OrbitileError
        When an argument does not fit, or the package imageio-ffmpeg is missing.
    FileError
        When the file cannot be written, or the folder is there already.
    Cancelled
        When `cancelled` said so.
    """
    target = _checked_film(path, size, background)
    if not 0.01 <= rate <= 240:
        raise RenderError(f"rate: expected pictures a second from 0.01 to 240, got {rate}")
    if not (np.isfinite(turn) and np.isfinite(rock)):
        raise RenderError("turn and rock: expected angles in degrees")
    tell = progress or (lambda share: None)
    room = _Room(
        shots,
        spacing,
        follow=follow,
        angle=lambda share: float(turn * share + rock * np.sin(2 * np.pi * share)),
        aspect=size[0] / size[1],
        free=margins(size, _LEGEND if legend else (), bool(drawing.get("scale"))),
        orthographic=bool(drawing.get("scale") or drawing.get("orthographic")),
        device=device,
        progress=lambda share: tell(_FIRST_PASS * share),
        cancelled=cancelled,
    )
    surfaces = _Surfaces(device)

    def pictures() -> Iterator[Pixels]:
        for n, shot in enumerate(islice(shots(), room.n_shots)):  # a trajectory may have grown since
            _ask(cancelled)
            surface = surfaces.of(shot, room.lattice(shot))
            camera = room.camera(shot, n / room.n_shots)
            yield render(
                () if surface is None else surface,
                shot.wavefunction,
                size=size,
                background=background,
                legend=legend,
                camera=camera,
                **drawing,
            )
            tell(_FIRST_PASS + (1 - _FIRST_PASS) * (n + 1) / room.n_shots)

    write = _write_folder if target.suffix == "" else _write_film
    write(pictures(), target, size, rate)
    return room.n_shots


def _ask(cancelled: Callable[[], bool] | None) -> None:
    if cancelled is not None and cancelled():
        raise Cancelled("cancelled")


class _Surfaces:
    """Surfaces of shots in order, each of a frame on one lattice.

    What a shot has in common with the one before is not computed again: the surface where only the view turns, the
    values where the isovalue alone changes. None where nothing has the isovalue.
    """

    def __init__(self, device: str | None) -> None:
        self._device = device
        self._last: tuple[Shot, Surface | None] | None = None
        self._volume: Volume | None = None

    def of(self, shot: Shot, lattice: Lattice) -> Surface | None:
        before = self._last
        if before is not None and shot.looks_like(before[0]):
            return before[1]
        surface = None
        with suppress(IsovalueError):  # the bare molecule is shown then
            if before is None or before[0].wavefunction is not shot.wavefunction or before[0].field != shot.field:
                self._volume = None
                surface = surface_in_motion(shot.wavefunction, shot.field, shot.isovalue, lattice, device=self._device)
            else:
                if self._volume is None:
                    self._volume = compute(shot.wavefunction, shot.field, lattice, device=self._device)
                surface = extract_surface(self._volume, shot.isovalue, device=self._device)
        self._last = shot, surface
        return surface


class _Room:
    """How much room a film takes: a lattice that holds all of it, and a camera that sees all of it.

    Parameters
    ----------
    shots
        Gone through once, one in memory at a time.
    spacing, follow, device, progress, cancelled
        As for `animate`.
    angle
        By which the molecule is turned, in degrees, after a share of the film.
    aspect, free, orthographic
        Width over height of the pictures, what stays free at their edges, and whether they lack perspective.

    Raises
    ------
    IsovalueError
        When none of the shots that are looked at has a surface.
    """

    def __init__(
        self,
        shots: Shots,
        spacing: float | None,
        *,
        follow: bool = False,
        angle: Callable[[float], float] = lambda share: 0.0,
        aspect: float = 4 / 3,
        free: Margins = (0.04, 0.04, 0.04, 0.04),
        orthographic: bool = False,
        device: str | None = None,
        progress: Callable[[float], None] = lambda share: None,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        self._follow, self._angle = follow, angle
        self._step, self._resolving = spacing or spacing_of("medium"), spacing is None
        turns = sorted({angle(share) for share in np.linspace(0, 1, _VIEWS).tolist()})
        box, n_surfaces, problem = _NO_BOX, 0, None
        before: Shot | None = None
        self.n_shots = 0
        for n, shot in enumerate(shots()):
            _ask(cancelled)
            if before is None:
                self._camera = replace(default_camera(shot.wavefunction.positions), orthographic=orthographic)
                seen = _Seen([self._camera.turned(y=turn) for turn in turns], aspect, free)
            if before is None or not shot.looks_like(before):
                middle = self._middle(shot)
                lattice = enclosing_lattice(shot.wavefunction, shot.field, shot.isovalue, spacing=self._step)
                ends = np.array([lattice.origin, lattice.origin + (np.array(lattice.shape) - 1) @ lattice.axes])
                box = _united(box, ends - middle)
                seen.add(shot.wavefunction.positions - middle, _BALL)
                if n % (1 << max(0, n.bit_length() - 3)) == 0 or n == shots.most - 1:  # 0 to 7, 8, 10 ... 16, 20 ...
                    try:
                        seen.add(_outline(shot, device) - middle, _BEYOND)
                        n_surfaces += 1
                    except IsovalueError as error:
                        problem = error
            before, self.n_shots = shot, n + 1
            progress(self.n_shots / shots.most)
        if problem is not None and n_surfaces == 0:
            raise problem
        self._box = box
        self._centre, self._from_centre, self._height = seen.eye()

    def _middle(self, shot: Shot) -> Floats:
        middle: Floats = shot.wavefunction.positions.mean(axis=0)
        return middle if self._follow else np.zeros(3)

    def lattice(self, shot: Shot) -> Lattice:
        """Lattice of a picture: the same points for all, about the middle of the molecule where it is followed.

        A surface that falls between these points, as those of core orbitals do, has a lattice of its own.
        """
        if self._resolving:
            step = resolving_spacing(shot.wavefunction, shot.field, shot.isovalue, "medium")
            if step < self._step:
                return enclosing_lattice(shot.wavefunction, shot.field, shot.isovalue)
        low, high = self._box + self._middle(shot)
        return Lattice.box(low, high, self._step)

    def camera(self, shot: Shot, share: float) -> Camera:
        """Camera of a picture after a share of the film, at one distance from the middle about which it is turned."""
        turned = self._camera.turned(y=self._angle(share))
        eye = self._centre + self._middle(shot) + turned.rotation.T @ self._from_centre
        return replace(turned, eye=eye, height=self._height)


class _Seen:
    """What is to be seen from several views at once, and where the eye is for that.

    Parameters
    ----------
    views
        Cameras without an eye, which differ in their direction.
    aspect, free
        As for `_Room`.
    """

    def __init__(self, views: list[Camera], aspect: float, free: Margins) -> None:
        self._views, self._picture = views, (aspect, free)
        self._reaches = np.full((len(views), 5), -np.inf)
        self._box = _NO_BOX

    def add(self, centres: Floats, radius: float) -> None:
        """Spheres that are to be in the picture."""
        self._box = _united(self._box, centres)
        self._reaches = np.maximum(self._reaches, [view.reach(centres, radius, *self._picture) for view in self._views])

    def eye(self) -> tuple[Floats, Floats, float | None]:
        """The middle about which the views turn; from there, along the axes of each camera, its eye; its height."""
        centre: Floats = self._box.mean(axis=0)
        from_centre = self._reaches - [view.reach(centre[None], 0.0, *self._picture) for view in self._views]
        held = self._views[0].held(from_centre.max(axis=0), *self._picture)
        assert held.eye is not None  # it was just given one
        return centre, held.rotation @ held.eye, held.height


_NO_BOX = np.array([np.full(3, np.inf), np.full(3, -np.inf)])


def _united(box: Floats, points: Floats) -> Floats:
    """The lower and upper corner of what holds a box and some points."""
    return np.array([np.minimum(box[0], points.min(axis=0)), np.maximum(box[1], points.max(axis=0))])


def _outline(shot: Shot, device: str | None) -> Floats:
    """Points of the surface of a shot, computed coarsely."""
    lattice = enclosing_lattice(shot.wavefunction, shot.field, shot.isovalue, quality="coarse")
    surface = surface_in_motion(shot.wavefunction, shot.field, shot.isovalue, lattice, device=device)
    return surface.vertices.astype(np.float64)


# Files ------------------------------------------------------------------------------------------------------------


def _checked_film(path: str | PathLike[str], size: tuple[int, int], background: Any) -> Path:
    """The film to write, refused before the work and not after it."""
    width, height = checked_size(size)
    suffix = Path(path).suffix.lower()
    if suffix == "":
        folder = user_path(path)
        if folder.exists():
            raise FileError(f"{path}: is there already; give a new folder for the pictures")
        if not folder.resolve().parent.is_dir():
            raise FileError(f"{path}: there is no folder {folder.resolve().parent}; create it first")
        return folder
    if suffix not in SUFFIXES:
        raise FileError(f"{path}: expected a film to end in {' or '.join(SUFFIXES)}, or the name of a new folder")
    if background == "transparent":
        raise RenderError(f"{path}: films are opaque; write pictures into a folder, or choose a background")
    if suffix == ".mp4" and (width % 2 or height % 2):
        raise RenderError(f"size of an MP4 film: expected even numbers, got {width} x {height}")
    _ffmpeg()
    return checked_target(path)


def _ffmpeg() -> str:
    """Path of the program ffmpeg."""
    try:
        program: str = importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe()
    except ImportError as error:
        raise OrbitileError(
            "films need the package imageio-ffmpeg: pip install 'orbitile[films]'; a folder of pictures does not"
        ) from error
    except RuntimeError as error:
        raise OrbitileError(f"films need the program ffmpeg, which imageio-ffmpeg does not find: {error}") from error
    return program


def _write_folder(pictures: Iterator[Pixels], folder: Path, size: tuple[int, int], rate: float) -> None:
    """Pictures in a folder, which gets its name when all are there."""
    temporary = folder.with_name(f".orbitile-{secrets.token_hex(6)}")
    try:
        temporary.mkdir()
        for n, pixels in enumerate(pictures, 1):
            write_png(temporary / f"{n:05d}.png", pixels)
        temporary.rename(folder)
    except OSError as error:
        raise FileError(f"{folder}: cannot be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


_ENCODING = {
    ".mp4": ("-c:v", "libx264", "-crf", "10", "-pix_fmt", "yuv420p"),
    # a palette of its own for each picture, so that none has to wait for the others; dithering would flicker
    ".gif": ("-filter_complex", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1:dither=none"),
}


def _write_film(pictures: Iterator[Pixels], target: Path, size: tuple[int, int], rate: float) -> None:
    """Pictures one by one through a pipe to ffmpeg, whose file is put in place when it ended well."""
    suffix = target.suffix.lower()
    rate = min(rate, 50.0) if suffix == ".gif" else rate  # viewers slow down what is faster
    given = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", f"{rate:.6f}", "-i", "-")
    with written_atomically(target) as temporary:
        child = ChildProcess(
            "ffmpeg", [_ffmpeg(), "-loglevel", "error", "-y", *given, *_ENCODING[suffix], str(temporary)]
        )
        try:
            with suppress(BrokenPipeError):  # it says why it ended
                for pixels in pictures:
                    child.feed(np.ascontiguousarray(pixels[..., :3]).data)
            child.finish()
        finally:
            child.kill()
        if child.status:
            reason = child.said or [f"ffmpeg ended: {child.ending()}"]
            raise FileError(f"{target}: cannot be written ({reason[-1].strip()})")
