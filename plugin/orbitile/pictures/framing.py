"""How much space a film takes: a lattice that holds all of its surfaces, and a camera that sees all of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..base.errors import IsovalueError
from ..base.watch import checkpoint, stage
from ..evaluation.boxes import enclosing_lattice, resolving_spacing
from ..evaluation.surfaces import surface_in_motion
from ..model.lattice import Lattice, spacing_of
from ..renderer import Camera, Margins, default_camera
from .shots import Shot, Shots

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
                return enclosing_lattice(shot.wavefunction, shot.field, shot.isovalue)
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
                lattice = enclosing_lattice(shot.wavefunction, shot.field, shot.isovalue, spacing=step)
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
    return Framing(n_shots, box, step, spacing is None, follow, angle, view, *views.eye())


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
