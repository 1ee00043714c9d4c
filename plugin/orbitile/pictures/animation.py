"""`animate`: a film from its shots to its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import Any

import numpy as np

from ..base.errors import IsovalueError, RenderError
from ..base.memory import share
from ..base.watch import checkpoint, stage, tell, watched
from ..evaluation.lattices import compute
from ..evaluation.surfaces import extract_surface, surface_in_motion
from ..model.lattice import Lattice
from ..model.surface import Surface
from ..model.volume import Volume
from ..renderer import Camera, Patches, margins, render
from ..workers import in_order
from .framing import Framing, find_framing
from .shots import Shot, Shots
from .writing import Pixels, checked_film, write_film, write_folder

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
            )
        style = {"size": size, "background": background, "legend": legend, **drawing}
        with stage(_FIRST_PASS, 1.0):
            views = _views(shots, framing)
            if executor is None:
                pictures = _pictures(views, framing.n_shots, device, style)
            else:
                pictures = _pictures_of(executor, views, framing.n_shots, device, style)
            if target.suffix == "":
                write_folder(pictures, target)
            else:
                write_film(pictures, target, size, rate)
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


def _pictures(views: Iterator[View], n_shots: int, device: str | None, style: dict[str, Any]) -> Iterator[Pixels]:
    """The pictures of a film in order; the style is what `render` is told of all of them."""
    surfaces = ShotSurfaces(device)
    for n, view in enumerate(views):
        with stage(n / n_shots, (n + 1) / n_shots):
            pixels = _drawn(view, surfaces, style)
            tell(1.0)
        yield pixels


def _pictures_of(
    executor: Executor, views: Iterator[View], n_shots: int, device: str | None, style: dict[str, Any]
) -> Iterator[Pixels]:
    """The same by other processes, some neighbouring pictures at once: they may have their surface in common."""
    width, height = style["size"]
    n_each = max(1, min(_TOGETHER, _BYTES // (4 * width * height)))
    calls = ((part, device, style) for part in iter(lambda: list(islice(views, n_each)), []))
    n = 0
    for pictures in in_order(executor, drawn_together, calls):
        for pixels in pictures:
            n += 1
            tell(n / n_shots)
            yield pixels


def drawn_together(views: Sequence[View], device: str | None, style: dict[str, Any]) -> list[Pixels]:
    """Pictures of a film that follow each other."""
    surfaces = ShotSurfaces(device)
    return [_drawn(view, surfaces, style) for view in views]


def _drawn(view: View, surfaces: ShotSurfaces, style: dict[str, Any]) -> Pixels:
    checkpoint()
    surface = surfaces.of(view.shot, view.lattice)
    return render(() if surface is None else surface, view.shot.wavefunction, camera=view.camera, **style)


class ShotSurfaces:
    """Surfaces of shots in order, each of a frame on one lattice.

    What a shot has in common with the one before is not computed again: the surface where only the view turns, the
    values where the isovalue alone changes.
    """

    def __init__(self, device: str | None) -> None:
        self._device = device
        self._last: tuple[Shot, Surface | None] | None = None
        self._volume: Volume | None = None

    def of(self, shot: Shot, lattice: Lattice) -> Surface | None:
        """The surface of the next shot; None where nothing has the isovalue."""
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
