"""What can be seen in a viewer now, and from where, for a picture or a film of the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..base.errors import OrbitileError
from ..model.geometry import Geometry
from ..model.wavefunction import Wavefunction
from ..pictures.look import VOLUME_STYLES, Look, Scale
from ..pictures.orbitals import Level
from ..readers import load_atoms
from ..renderer import checked_size, margins, paper_of
from .picture import DrawnSurface, Moment, Picture, mesh_of, pixels_above, turning
from .session import Session
from .shown import surface_of
from .source import OneFile, is_volume_file
from .viewpoint import Viewpoint, default_viewpoint

_NEAR = 20
"""Orbitals that are counted from the frontier."""


@dataclass(frozen=True)
class Listed:
    """A surface that is shown.

    Attributes
    ----------
    name, molecule : str
        Objects of the viewer.
    text : str
        What it is, for people, such as "HOMO (orbital 21)".
    isovalue : float
    unit : str
        Of the isovalue.
    look : Look
    scale : Scale or None
        What its colours mean, where a second field colours it.
    visible : bool
    kept : bool
        Whether it stays when the next field of the molecule is shown.
    """

    name: str
    molecule: str
    text: str
    isovalue: float
    unit: str
    look: Look
    scale: Scale | None
    visible: bool
    kept: bool


def listed(session: Session) -> list[Listed]:
    """All surfaces that are there, in the order in which they were first shown."""
    shelf = session.shelf
    there = sorted(shelf.present(), key=shelf.place)
    hidden = session.host.hidden({name: shelf[name].molecule for name in there})
    rows = []
    for name in there:
        shown = shelf[name]
        rows.append(
            Listed(
                name,
                shown.molecule,
                shown.quantity or shown.request.field,
                shown.isovalue,
                shown.unit,
                shown.look,
                shown.scale,
                name not in hidden,
                shown.kept,
            )
        )
    return rows


def titled(row: Listed, level: Level | None) -> Listed:
    """A row with what an orbital is counted from the frontier, which its number does not tell, and with its colours."""
    text = row.text
    if level is not None and level.frontier_name not in text and abs(level.place) <= _NEAR:
        text = f"{level.frontier_name} ({text})"
    return replace(row, text=text if row.scale is None else f"{text}, coloured by {row.scale.quantity}")


def visible(session: Session) -> list[str]:
    """Surfaces that are not hidden, in the order in which they were first shown."""
    session.shelf.follow()
    return [row.name for row in listed(session) if row.visible]


def shown_surfaces(session: Session) -> tuple[tuple[DrawnSurface, ...], ...]:
    """Surfaces that can be seen; those that stand side by side apart, each with what is in all places.

    Raises
    ------
    OrbitileError
        When one of them has to be computed again, and cannot be.
    """
    shelf, drawn = session.shelf, {}
    for name in visible(session):
        shown = session.now(name)
        found = session.computing.sampled(shown.request)
        surface = session.computing.aside(partial(surface_of, shown, found))
        volume = found.volume if shown.look.style in VOLUME_STYLES else None
        drawn[name] = DrawnSurface(name, shown, surface, volume)
    everywhere = tuple(surface for name, surface in drawn.items() if name not in shelf.grid)
    places = [(*everywhere, drawn[name]) for name in shelf.grid if name in drawn]
    return tuple(places) or (everywhere,)


def picture_of(
    session: Session, size: tuple[int, int] | None, background: str, legend: bool, n_frames: int = 0
) -> tuple[Picture, Viewpoint]:
    """What can be seen now, and from where.

    Parameters
    ----------
    session : Session
    size : (int, int) or None
        Width and height in pixels; either may be 0 to follow from the other, None for those of the view.
    background : str
        A colour, or transparent; empty for that of the viewer.
    legend : bool
        Whether names, isovalues and scales of colours are written on it.
    n_frames : int
        Frames for which the viewpoint says where the atoms are.

    Raises
    ------
    OrbitileError
        When there is nothing to be seen, or something does not fit.
    """
    panes = shown_surfaces(session)
    seen = session.host.viewpoint(n_frames) or _default(session, panes, size, legend)
    if not len(seen.molecule.centres) and not any(panes):
        raise OrbitileError("nothing is visible that could be drawn: orb_load shows a molecule, orb_mo an orbital")
    paper = paper_of(background) if background else seen.background
    return Picture(panes, seen.molecule, seen.camera, whole_size(size, seen.size), paper, legend), seen


def whole_size(size: tuple[int, int] | None, view: tuple[int, int]) -> tuple[int, int]:
    """Width and height, where one that is 0 follows from the other by the shape of the view.

    Raises
    ------
    RenderError
        When the picture would be too large to draw.
    """
    width, height = size or (0, 0)
    if not width and not height:
        return checked_size(view)
    width, height = (
        width or max(1, round(height * view[0] / view[1])),
        height or max(1, round(width * view[1] / view[0])),
    )
    return checked_size((width, height))


def _default(
    session: Session, panes: Sequence[Sequence[DrawnSurface]], size: tuple[int, int] | None, legend: bool
) -> Viewpoint:
    """The viewpoint for a viewer that has none: the molecules of the surfaces, or else all."""
    drawn = [surface for pane in panes for surface in pane]
    wanted = {surface.shown.molecule: surface.shown.request.frame for surface in drawn}
    molecules = wanted or {name: session.frame(name) for name in session.host.molecules()}
    found = [_atoms(session, session.source(name), frame) for name, frame in molecules.items()]
    atoms = [each for each in found if each is not None]
    width, height = whole_size(size, Viewpoint.size)
    free = margins((width, height), (), scale=False)
    meshes = [mesh_of(surface) for surface in drawn]
    aspect = width / pixels_above(tuple(drawn), (width, height), legend)
    return default_viewpoint(atoms, meshes, aspect, free, session.host.directions())


def film_moments(picture: Picture, seen: Viewpoint, turn: float, n_pictures: int) -> list[Moment]:
    """What the pictures of a film show: the frames there are, or else the same again and again, turned more and more.

    Parameters
    ----------
    picture : Picture
        The first one.
    seen : Viewpoint
        Of the viewer.
    turn : float
        Degrees by which all turns in the course of the film.
    n_pictures : int
        Where there are no frames.
    """
    n_frames = len(seen.paths)
    moments = turning(picture.camera, seen.centre, turn, n_frames or n_pictures)
    if not n_frames:
        return moments
    return [replace(moment, frame=frame, centres=seen.paths[frame]) for frame, moment in enumerate(moments)]


def _atoms(session: Session, source: str, frame: int | None) -> Wavefunction | Geometry | None:
    """The atoms of a source; None for values on a lattice without any."""
    if is_volume_file(source):
        return session.computing.aside(partial(load_atoms, OneFile.read(source).path))
    return session.computing.wavefunctions.get(source, frame)
