"""Commands that write what is shown to files: fields, pictures, films."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle
from pathlib import Path

import numpy as np

from ...base.arguments import COUNT, NUMBER, PATH, POSITIVE_NUMBER, Argument, one_of
from ...base.arrays import Reals
from ...base.errors import OrbitileError
from ...exporters import exporter_for, kind_of, save, suffixes
from ...pictures.request import BACKGROUND, LEGEND
from ...pictures.vibrations import IN_A_PERIOD
from ...pictures.writing import checked_film
from ...renderer import check_path
from ...surfaces.isosurface import isosurface
from ..declaration import Answer, command
from ..saving import RunningFilm
from ..seen import film_moments, picture_of, visible
from ..session import Session
from ..source import is_volume_file
from ..viewpoint import Viewpoint
from ._arguments import SURFACE

TOPIC, PRIORITY = "files", 70

_WIDTH = Argument("width", COUNT, "in pixels", 0, "that of the view, or in proportion to the height")
_HEIGHT = Argument("height", COUNT, "in pixels", 0, "that of the view, or in proportion to the width")
_LEGEND = replace(LEGEND, default=True, otherwise="1")
_BACKGROUND = replace(BACKGROUND, default="", otherwise="that of the viewer")
_MOST_PICTURES = 100_000
"""Of a film: an hour and more at 25 a second."""


@command(
    f"Write a field that is shown: as a volume ({suffixes('volume')}) or its surface as a mesh ({suffixes('mesh')}).",
    Argument("filename", PATH, "its suffix decides the format", required=True),
    SURFACE,
    related=("orb_mo", "orb_field", "orb_picture"),
)
def orb_export(session: Session, filename: Path, name: str) -> Answer:
    shown = session.now(session.surface(name))
    kind = "mesh" if kind_of(filename) == "mesh" else "volume"
    exporter_for(filename, kind)
    found = session.computing.sampled(shown.request)
    source, frame = shown.request.path, shown.request.frame
    wavefunction = None if is_volume_file(source) else session.computing.wavefunctions.get(source, frame)

    def write() -> None:
        written = isosurface(found.volume, shown.isovalue) if kind == "mesh" else found.volume
        save(written, filename, wavefunction=wavefunction)

    session.computing.aside(write)
    return Answer(None, f"wrote {filename}")


@command(
    "Write a picture of the view: atoms, bonds and all visible surfaces.",
    Argument("filename", PATH, "ends in .png", required=True),
    _WIDTH,
    _HEIGHT,
    Argument(
        "by",
        one_of("orbitile", "ray"),
        "Orbitile's renderer, with exact transparency, or the ray tracer of the viewer",
        "orbitile",
        "orbitile",
    ),
    _BACKGROUND,
    _LEGEND,
    examples=("orb_picture homo.png, 2400", "orb_picture homo.png, 1600, 1200, ray, transparent"),
    related=("orb_film", "orb_export"),
)
def orb_picture(
    session: Session, filename: Path, width: int, height: int, by: str, background: str, legend: bool
) -> Answer:
    target = check_path(filename.absolute())
    picture, seen = picture_of(session, (width, height), background, legend)
    (session.saving.traced_picture if by == "ray" else session.saving.picture)(picture, target)
    without = f", without {seen.left_out}: ray draws that" if seen.left_out and by != "ray" else ""
    return Answer(str(target), f"wrote {filename}, {picture.size[0]} x {picture.size[1]}{without}")


@command(
    "Write a film of the view: all frames of a trajectory, a molecule that moves along a mode (orb_vibrate), or a full "
    "turn of anything else. If there is a window, it is drawn in the background.",
    Argument("filename", PATH, "ends in .mp4 or .gif, or is a new folder for pictures", required=True),
    _WIDTH,
    _HEIGHT,
    Argument("rate", POSITIVE_NUMBER, "pictures a second", None, "10 for a trajectory, 20 for a mode, else 25"),
    Argument("turn", NUMBER, "total rotation in degrees", None, "0 where atoms move, else 360"),
    Argument("pictures", COUNT, "number of pictures, if it is no trajectory", 150, "150"),
    _BACKGROUND,
    _LEGEND,
    examples=("orb_film turn.mp4", "orb_film path.gif, 640, rate=20"),
    related=("orb_picture", "orb_play", "orb_cancel"),
)
def orb_film(
    session: Session,
    filename: Path,
    width: int,
    height: int,
    rate: float | None,
    turn: float | None,
    pictures: int,
    background: str,
    legend: bool,
) -> Answer:
    if session.saving.film is not None:
        raise OrbitileError(f"{session.saving.film.target} is being drawn; orb_cancel stops that")
    if not 1 <= pictures <= _MOST_PICTURES:
        raise OrbitileError(f"pictures: expected 1 to {_MOST_PICTURES}, got {pictures}")
    n_frames, moves = _n_frames(session), session.motion.moves
    if moves:
        session.motion.hold(0.0)
    picture, seen = picture_of(session, (width, height), background, legend, 0 if moves else n_frames)
    even = picture.size[0] // 2 * 2, picture.size[1] // 2 * 2
    picture = replace(picture, size=even if filename.suffix.lower() == ".mp4" else picture.size)
    target = checked_film(filename.absolute(), picture.size, transparent=picture.paper is None)
    moments = film_moments(picture, seen, (0.0 if n_frames or moves else 360.0) if turn is None else turn, pictures)
    if moves:
        moments = [replace(one, centres=at) for one, at in zip(moments, cycle(_swing(session, seen)), strict=False)]
    film = RunningFilm(picture, moments, rate or (20.0 if moves else 10.0 if n_frames else 25.0), target)
    session.saving.begin_film(film)
    doing = "is being drawn in the background; orb_cancel stops it" if session.saving.film is film else "is written"
    return Answer(str(target), f"{filename}, {len(moments)} pictures, {doing}")


def _swing(session: Session, rest: Viewpoint) -> Reals:
    """Where all atoms that are seen are through a period of the mode along which some move; `rest` is seen at rest."""
    session.motion.hold(1.0)
    there = session.host.viewpoint()
    if there is None:
        raise OrbitileError(
            "this viewer does not tell where atoms are seen: orbitile animate FILE --mode N draws a film"
        )
    shares = np.sin(2 * np.pi * np.arange(IN_A_PERIOD) / IN_A_PERIOD)
    places: Reals = rest.molecule.centres + shares[:, None, None] * (there.molecule.centres - rest.molecule.centres)
    return places


def _n_frames(session: Session) -> int:
    """Frames of the longest trajectory whose surfaces can be seen; 0 where nothing moves."""
    of_films = [name for name in visible(session) if session.shelf[name].request.frame is not None]
    return max((session.n_frames(session.shelf[name].molecule) for name in of_films), default=0)
