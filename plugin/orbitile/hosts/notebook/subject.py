"""What a view is of: the frames of a trajectory, or one wavefunction as the only frame."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from os import PathLike

from ...base.caches import Cache
from ...base.errors import NoSurface, OrbitileError
from ...evaluation.boxes import enclosing_lattice
from ...evaluation.default_isovalue import default_isovalue
from ...evaluation.lattices import compute
from ...evaluation.requests import FileReferences, field_of
from ...evaluation.surfaces import absence_explained, coloured
from ...fields import as_drawn
from ...model.trajectory import Trajectory
from ...model.volume import Volume
from ...model.wavefunction import Wavefunction
from ...readers import load_trajectory
from ...scenes.web import Slide
from ...session.isovalue_range import range_about
from ...session.pages import bare_slide, slide_of
from ...session.request import MOST_FACES, surface_within
from ...trajectories.paths import align, follow
from ...trajectories.tracking import pinned


@dataclass(frozen=True)
class Wish:
    """What is to be seen.

    Attributes
    ----------
    field, color_by : str
        Names as for `orbitile.compute`; the second is empty for the colours of phases.
    isovalue : float or None
        In atomic units; None for the usual one.
    frame : int
        From 0.
    quality : str
        coarse, medium or fine.
    device : str or None
        As for `orbitile.compute`.
    """

    field: str
    color_by: str = ""
    isovalue: float | None = None
    frame: int = 0
    quality: str = "medium"
    device: str | None = None


class Subject:
    """What a view is of, and the slides of it; they are asked for by one thread at a time.

    Parameters
    ----------
    of : Wavefunction, Trajectory or path
        A trajectory is aligned, and its orbitals are followed: they are named as in the first frame.

    Attributes
    ----------
    first : Wavefunction
        The first frame.
    n_frames : int
    """

    def __init__(self, of: Wavefunction | Trajectory | str | PathLike[str]) -> None:
        if isinstance(of, (str, PathLike)):
            of = load_trajectory(of)
        if not isinstance(of, (Wavefunction, Trajectory)):
            raise OrbitileError(
                f"view: expected a Wavefunction, a Trajectory or the name of a file, got {type(of).__name__}"
            )
        self._path = None if isinstance(of, Wavefunction) or len(of) == 1 else align(follow(of))
        self.n_frames = 1 if self._path is None else len(self._path)
        self.first = of if isinstance(of, Wavefunction) else (self._path or of)[0]
        self._references = FileReferences()
        self._isovalues = Cache[float]("numbers")
        self._sampled: tuple[tuple[object, ...], float, Volume] | None = None

    def wavefunction(self, frame: int) -> Wavefunction:
        """One frame, its orbitals followed from the first one."""
        return self.first if self._path is None else self._path[frame]

    def slide(self, wish: Wish) -> Slide:
        """What is wished for; the molecule alone, and why, where the field has no such surface.

        Raises
        ------
        OrbitileError
            When there is no such field or frame, a file has changed, or something cannot be computed.
        """
        wavefunction = self.wavefunction(wish.frame)
        name, color_by = as_drawn(wish.field, wish.color_by, wavefunction)
        name = name if self._path is None else pinned(self.first, name)
        isovalue = wish.isovalue
        try:
            if isovalue is None:
                isovalue = self._usual_isovalue(name, color_by, wish.device)
            volume = self._volume(wavefunction, name, isovalue, wish)
            with absence_explained(field_of(wavefunction, name, self._references), isovalue):
                surface, _ = surface_within(volume, isovalue, MOST_FACES)
        except NoSurface as error:
            bare = bare_slide(wavefunction, name, str(error))
            return replace(bare, color_by=wish.color_by, isovalue=isovalue or 0.0, frame=wish.frame)
        if color_by:
            colour = field_of(wavefunction, color_by, self._references)
            surface = coloured(surface, wavefunction, colour, device=wish.device)
        slide = slide_of(surface, wavefunction, name, color_by)
        usual = self._isovalues.get((name, color_by, wish.device)) or isovalue
        low, high = range_about(usual, volume)
        return replace(slide, frame=wish.frame, range=(min(low, isovalue), max(high, isovalue)))

    def _usual_isovalue(self, name: str, color_by: str, device: str | None) -> float:
        """That which suits the first frame; it is the same for all of them."""

        def make() -> float:
            field = field_of(self.first, name, self._references)
            return default_isovalue(self.first, field, coloured=bool(color_by), device=device)

        return self._isovalues.of((name, color_by, device), make)

    def _volume(self, wavefunction: Wavefunction, name: str, isovalue: float, wish: Wish) -> Volume:
        """Values of a field where the surface is: those of the last time, if they reach as far."""
        key = name, wish.frame, wish.quality
        if self._sampled is not None:
            known, least, volume = self._sampled
            if known == key and isovalue >= least * (1 - 1e-9):
                return volume
            if known == key:  # the user goes down with the isovalue: not a lattice for each step
                isovalue = max(isovalue / _FURTHER, math.ulp(1.0))
        field = field_of(wavefunction, name, self._references)
        lattice = enclosing_lattice(wavefunction, field, isovalue, quality=wish.quality)
        volume = compute(wavefunction, field, lattice, device=wish.device)
        self._sampled = key, isovalue, volume
        return volume


_FURTHER = 2.0
"""A lattice that a surface has grown out of is replaced by one for an isovalue that many times less."""
