"""Films: a field along a trajectory, over the orbitals of a file, or over isovalues, drawn picture by picture."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .errors import Cancelled, FileError, OrbitileError, RenderError
from .evaluation import compute, default_isovalue, enclosing_lattice, extract_surface, surface_in_motion
from .fields import resolve
from .files import checked_target, written_atomically
from .lattice import Lattice, spacing_of
from .paths import align, interpolate
from .renderer import checked_size, render
from .renderer.image import write_png
from .renderer.scene import Camera, default_camera
from .surface import Surface
from .tracking import Tracking
from .trajectory import Trajectory
from .volume import Volume
from .wavefunction import Wavefunction

SUFFIXES = (".mp4", ".gif")

Pixels = NDArray[np.uint8]

_LOOKS = 8
"""Pictures whose surfaces are computed coarsely beforehand, to see how much room they take."""


@dataclass(frozen=True, eq=False)
class Shot:
    """What one picture of a film shows.

    Attributes
    ----------
    wavefunction : Wavefunction
    field : str
        Name of a field of it.
    isovalue : float
        In atomic units.
    """

    wavefunction: Wavefunction
    field: str
    isovalue: float


Shots = Callable[[], Iterable[Shot]]
"""Gives the shots of a film in order, each time it is called: a film looks at them twice, and keeps one at a time."""


def along(
    trajectory: Trajectory,
    field: str,
    tracking: Tracking | None = None,
    isovalue: float | None = None,
    *,
    aligned: bool = False,
    between: int = 0,
    device: str | None = None,
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

    Raises
    ------
    FieldError
        When there is no such field in the first frame.
    OrbitileError
        When no frame can be read, or frames are to be interpolated without tracking.
    """
    if between and tracking is None:
        raise OrbitileError("frames can be interpolated where orbitals are followed only: give a tracking")
    name = field if tracking is None else tracking.field(field)
    shown = trajectory if tracking is None else tracking.path
    shown = interpolate(align(shown) if aligned else shown, between)

    def wavefunctions() -> Iterator[Wavefunction]:
        return iter(shown)

    first = next(wavefunctions(), None)
    if first is None:
        reason = next(iter(trajectory.problems.values()), "it has none")
        raise OrbitileError(f"{trajectory.name}: no frame can be read: {reason}")
    value = default_isovalue(first, name, device=device) if isovalue is None else isovalue
    return lambda: (Shot(one, name, value) for one in wavefunctions())


def over_orbitals(
    wavefunction: Wavefunction, names: Sequence[str], isovalue: float | None = None, *, device: str | None = None
) -> Shots:
    """Orbitals of one wavefunction one after another, at one isovalue; by default that of the first, from `device`."""
    if not names:
        raise OrbitileError("orbitals of a film: expected one or more, got none")
    for name in names:
        resolve(wavefunction, name)
    value = default_isovalue(wavefunction, names[0], device=device) if isovalue is None else isovalue
    return lambda: (Shot(wavefunction, name, value) for name in names)


def over_isovalues(wavefunction: Wavefunction, field: str, isovalues: Sequence[float]) -> Shots:
    """One field at one isovalue after another; the same one again and again for a molecule that only turns."""
    if not len(isovalues):
        raise OrbitileError("isovalues of a film: expected one or more, got none")
    resolve(wavefunction, field)
    return lambda: (Shot(wavefunction, field, value) for value in isovalues)


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
        MP4 (H.264; needs the package imageio-ffmpeg), GIF, or, without a suffix, a new folder for PNG pictures. A film
        appears complete or not at all.
    rate
        Pictures a second.
    follow
        Move lattice and camera with the middle of the molecule; otherwise both stay, and hold the whole path.
    turn
        Degrees by which the molecule turns about the vertical axis in the course of the film.
    rock
        Degrees by which it rocks about this axis to each side, once in the course of the film.
    spacing
        Of the lattice in bohr; 0.15 Angstrom by default.
    size
        Width and height in pixels, even numbers for MP4.
    background, legend
        As for `render`.
    device
        As for `compute`.
    progress
        Called with the share that is done.
    cancelled
        Asked between pictures; when it says True nothing is left behind.
    drawing
        Further arguments of `render`: colors, opacity, scale.

    Returns
    -------
    int
        Number of pictures.

    Notes
    -----
    Memory: one picture, one volume and its surface; all pictures of a GIF.

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
    if not (np.isfinite(rate) and 0 < rate <= 240):
        raise RenderError(f"rate: expected pictures a second up to 240, got {rate}")
    if not (np.isfinite(turn) and np.isfinite(rock)):
        raise RenderError("turn and rock: expected angles in degrees")
    step = spacing_of("medium") if spacing is None else spacing
    room = _Room(shots, follow, step, device)
    surfaces = _Surfaces(device)

    def pictures() -> Iterator[Pixels]:
        for n, shot in enumerate(shots()):
            if cancelled is not None and cancelled():
                raise Cancelled("cancelled")
            phase = n / room.n_shots
            surface = surfaces.of(shot, room.lattice(shot))
            camera = room.camera(shot, turn * phase + rock * np.sin(2 * np.pi * phase), size)
            yield render(
                surface,
                shot.wavefunction,
                size=size,
                background=background,
                legend=legend,
                camera=camera,
                **drawing,
            )
            if progress is not None:
                progress((n + 1) / room.n_shots)

    with _output(target, size, rate) as write:
        write(pictures())
    return room.n_shots


class _Surfaces:
    """Surfaces of shots in order, each of a frame on one lattice.

    What a shot has in common with the one before is not computed again: the surface where only the view turns, the
    values where the isovalue alone changes.
    """

    def __init__(self, device: str | None) -> None:
        self._device = device
        self._last: tuple[Shot, Surface] | None = None
        self._volume: Volume | None = None

    def of(self, shot: Shot, lattice: Lattice) -> Surface:
        before = self._last
        if before is None or before[0].wavefunction is not shot.wavefunction or before[0].field != shot.field:
            self._volume = None
            surface = surface_in_motion(shot.wavefunction, shot.field, shot.isovalue, lattice, device=self._device)
        elif before[0].isovalue == shot.isovalue:
            surface = before[1]
        else:
            if self._volume is None:
                self._volume = compute(shot.wavefunction, shot.field, lattice, device=self._device)
            surface = extract_surface(self._volume, shot.isovalue, device=self._device)
        self._last = shot, surface
        return surface


class _Room:
    """How much room a film takes: a lattice and a sphere that hold all of it, and the direction of view."""

    def __init__(self, shots: Shots, follow: bool, step: float, device: str | None) -> None:
        self._follow, self._step = follow, step
        self.n_shots = sum(1 for _ in shots())
        looks = set(np.linspace(0, self.n_shots - 1, _LOOKS).astype(int).tolist())
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        extents = []
        for n, shot in enumerate(shots()):
            middle = self._middle(shot)
            box = enclosing_lattice(shot.wavefunction, shot.field, shot.isovalue, spacing=step)
            corners = box.origin, box.origin + (np.array(box.shape) - 1) @ box.axes
            low, high = np.minimum(low, corners[0] - middle), np.maximum(high, corners[1] - middle)
            points = [shot.wavefunction.positions - middle]
            if n in looks:
                coarse = enclosing_lattice(shot.wavefunction, shot.field, shot.isovalue, quality="coarse")
                surface = surface_in_motion(shot.wavefunction, shot.field, shot.isovalue, coarse, device=device)
                points.append(surface.vertices - middle)
            together = np.concatenate(points)
            extents.append((together.min(axis=0), together.max(axis=0)))
            if n == 0:
                self._camera = default_camera(shot.wavefunction.positions)
        self._box = low, high
        least, most = np.min([e[0] for e in extents], axis=0), np.max([e[1] for e in extents], axis=0)
        self._centre, self._radius = (least + most) / 2, float(np.linalg.norm(most - least) / 2) + 1.0

    def _middle(self, shot: Shot) -> NDArray[np.float64]:
        middle: NDArray[np.float64] = shot.wavefunction.positions.mean(axis=0)
        return middle if self._follow else np.zeros(3)

    def lattice(self, shot: Shot) -> Lattice:
        """Lattice of a picture: the same points for all, about the middle of the molecule where it is followed."""
        middle = self._middle(shot)
        return Lattice.box(self._box[0] + middle, self._box[1] + middle, self._step)

    def camera(self, shot: Shot, angle: float, size: tuple[int, int]) -> Camera:
        """Camera of a picture, at one distance from one point."""
        camera = self._camera.turned(y=angle)
        half = np.radians(camera.field_of_view) / 2
        narrow = np.arctan(np.tan(half) * min(1.0, size[0] / size[1]))
        eye = self._centre + self._middle(shot) + camera.rotation[2] * self._radius / np.sin(narrow)
        return Camera(camera.rotation, eye, camera.field_of_view)


# Files ------------------------------------------------------------------------------------------------------------


def _checked_film(path: str | PathLike[str], size: tuple[int, int], background: Any) -> Path:
    """The film to write, refused before the work and not after it."""
    width, height = checked_size(size)
    suffix = Path(path).suffix.lower()
    if suffix == "":
        folder = Path(path).expanduser()
        if folder.exists():
            raise FileError(f"{path}: is there already; give a new folder for the pictures")
        if not folder.resolve().parent.is_dir():
            raise FileError(f"{path}: there is no folder {folder.resolve().parent}; create it first")
        return folder
    if suffix not in SUFFIXES:
        raise FileError(f"{path}: expected a film to end in {' or '.join(SUFFIXES)}, or the name of a new folder")
    if background == "transparent":
        raise RenderError(f"{path}: films are opaque; write pictures into a folder, or choose a background")
    if suffix == ".mp4":
        if width % 2 or height % 2:
            raise RenderError(f"size of an MP4 film: expected even numbers, got {width} x {height}")
        _ffmpeg()
    return checked_target(path)


def _ffmpeg() -> Any:
    try:
        return importlib.import_module("imageio_ffmpeg")
    except ImportError as error:
        raise OrbitileError(
            "MP4 films need the package imageio-ffmpeg: pip install 'orbitile[films]'; GIF films and folders do not"
        ) from error


class _Write(Protocol):
    def __call__(self, pictures: Iterator[Pixels], /) -> None: ...


@contextmanager
def _output(target: Path, size: tuple[int, int], rate: float) -> Iterator[_Write]:
    """What writes the pictures to a film that is put in place at the end, or to a folder."""
    if target.suffix == "":
        yield lambda pictures: _write_folder(pictures, target)
        return
    with written_atomically(target) as temporary:
        if target.suffix.lower() == ".gif":
            yield lambda pictures: _write_gif(pictures, temporary, rate)
        else:
            yield lambda pictures: _write_mp4(pictures, temporary, size, rate)


def _write_folder(pictures: Iterator[Pixels], folder: Path) -> None:
    import shutil

    folder.mkdir()
    try:
        for n, pixels in enumerate(pictures, 1):
            write_png(folder / f"{n:05d}.png", pixels)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _write_gif(pictures: Iterator[Pixels], path: Path, rate: float) -> None:
    from PIL import Image

    first, *rest = (Image.fromarray(np.ascontiguousarray(pixels[..., :3])).quantize(128) for pixels in pictures)
    duration = max(20, round(1000 / rate))  # viewers slow down what is faster
    first.save(path, format="GIF", save_all=True, append_images=rest, duration=duration, loop=0)


def _write_mp4(pictures: Iterator[Pixels], path: Path, size: tuple[int, int], rate: float) -> None:
    writer = _ffmpeg().write_frames(
        str(path), size, fps=rate, codec="libx264", pix_fmt_in="rgb24", macro_block_size=2, quality=8
    )
    writer.send(None)
    try:
        for pixels in pictures:
            writer.send(np.ascontiguousarray(pixels[..., :3]))
    except OSError as error:
        raise FileError(f"the film cannot be written: {str(error).strip().splitlines()[-1]}") from error
    finally:
        writer.close()
