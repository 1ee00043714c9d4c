"""A trajectory as a viewer shows it: followed, aligned, interpolated, on one lattice, at one isovalue."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OrbitileError
from ..evaluation.boxes import enclosing_lattice
from ..evaluation.requests import field_of
from ..fields import References
from ..fields.localised import localised_orbital
from ..fields.orbital import orbital_of
from ..model.lattice import Lattice
from ..model.trajectory import Trajectory
from ..model.wavefunction import Wavefunction
from ..pictures.request import Request
from ..pictures.surface import isovalue_of
from ..readers import load
from ..readers._series import SeriesFrames
from ..readers.cclib_frames import LogFrames
from ..trajectories.paths import AlignedFrames, FollowedFrames, LocalisedFrames, interpolate, localisation_for
from ..trajectories.tracking import pinned
from .source import Source, UnchangedFrames

T = TypeVar("T")

_MOST = 3.0
"""Points of a lattice that serves all frames, in points of one that serves the first."""


_FEW = 3
"""Frames of a log that may be the first and the last of many geometries, and one more for frequencies."""

_KEPT = 64
"""Lattices and isovalues that are kept of a trajectory."""

_SLACK = 0.5
"""Room in bohr beyond that of the first frame, since orbitals grow and shrink on the way."""


@dataclass(frozen=True, eq=False)
class _Frames:
    """Frames of one kind of orbitals: what follows them, if anything does, and the path as it is shown."""

    followed: FollowedFrames | None
    path: Trajectory


class ShownTrajectory:
    """A trajectory as a viewer shows it.

    Parameters
    ----------
    source : Source
    load
        Reads a file as one wavefunction; the caller may keep what it reads.

    Attributes
    ----------
    path : Trajectory
        The frames as they are shown, read when they are asked for.
    """

    def __init__(self, source: Source, load: Callable[[str], Wavefunction] = load) -> None:
        if source.between and not source.track:
            raise OrbitileError("frames can be interpolated where orbitals are followed only: track=1")
        self.source = source if source.contents else source.noted()
        self.raw = self.source.opened()
        self._canonical = self._frames(self.raw)
        self.path = self._canonical.path
        self._localised: OrderedDict[Any, _Frames] = OrderedDict()
        self._lattices: OrderedDict[Any, Lattice] = OrderedDict()
        self._isovalues: OrderedDict[Any, float] = OrderedDict()
        self._load = load

    def _frames(self, trajectory: Trajectory) -> _Frames:
        """Frames as the source says that they are shown."""
        followed = FollowedFrames(trajectory) if self.source.track else None
        path = trajectory if followed is None else Trajectory(followed)
        path = Trajectory(AlignedFrames(path)) if self.source.align else path
        return _Frames(followed, interpolate(path, self.source.between))

    def _frames_for(self, field: str) -> _Frames:
        """Frames whose orbitals are those that a field is one of: localised ones for one of these."""
        how = localisation_for(self.first, field) if field and self.source.track else None
        if how is None:
            return self._canonical
        return _found(self._localised, how, lambda: self._frames(Trajectory(LocalisedFrames(self.raw, *how))))

    @cached_property
    def is_one_file(self) -> bool:
        """Whether it is shown as one wavefunction: a file of one, or a log with orbitals at few of its geometries.

        Programs print them at the first and the last geometry of an optimisation unless told otherwise. Then all
        geometries are shown, and the orbitals of the last.
        """
        assert isinstance(self.raw.source, UnchangedFrames)  # `Source.opened` made it
        frames = self.raw.source.frames
        if not isinstance(frames, LogFrames):
            return len(self.raw) == 1 and not isinstance(frames, SeriesFrames)
        if len(self.raw) == 1 or len(self.raw) > _FEW:
            return len(self.raw) == 1
        try:
            geometries = self._load(self.source.files[0]).geometries
        except OrbitileError:  # its last orbitals cannot be read, others perhaps
            return False
        n = len(np.unique(geometries.round(5), axis=0))
        return n == 1 or len(self.raw) < n - 1

    @cached_property
    def _beginning(self) -> tuple[int, Wavefunction]:
        for found in self.path.frames():
            return found
        raise OrbitileError(
            f"{self.path.name}: no frame can be read: {next(iter(self.path.problems.values()), 'it has none')}"
        )

    @property
    def first(self) -> Wavefunction:
        """The first frame that can be read, after which orbitals are named.

        Raises
        ------
        OrbitileError
            When there is none.
        """
        return self._beginning[1]

    @property
    def at_first(self) -> int:
        """Which one that is, from 0; errors are the same."""
        return self._beginning[0]

    @cached_property
    def geometries(self) -> NDArray[np.float64]:
        """Positions of the atoms in all frames, shape (n_frames, n_atoms, 3), in bohr.

        A frame that cannot be read has those of the frame before.
        """
        return self.path.geometries()

    def frame(
        self,
        index: int,
        progress: Callable[[float], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
        field: str = "",
    ) -> Wavefunction:
        """One frame; the orbitals of those before it are followed first.

        Where the field is a localised orbital, those are followed, and the frame has them in place of its own.

        Raises
        ------
        FileChanged
            When its file holds something else by now.
        """
        self.require_unchanged(index)
        frames = self._frames_for(field)
        if frames.followed is not None:
            frames.followed.reach(self._raw_index(index), progress, cancelled)
        return frames.path[index]

    def require_unchanged(self, index: int) -> None:
        """Refuse a frame whose file holds something else by now; errors as for `frame`."""
        assert isinstance(self.raw.source, UnchangedFrames)  # `Source.opened` made it
        self.raw.source.require_unchanged(self._raw_index(index))

    def _raw_index(self, index: int) -> int:
        """Frame of the files that a frame is; of one between two the later."""
        return min(-(-index // (self.source.between + 1)), len(self.raw) - 1)

    def confidence(self, field: str, index: int) -> float | None:
        """How surely an orbital was followed to a frame that was reached; None where none was followed."""
        followed = self._frames_for(field).followed
        orbital = orbital_of(self.first, field) or localised_orbital(self.first, field)
        if followed is None or orbital is None:
            return None
        return followed.confidence(self._raw_index(index), orbital.index, orbital.spin)

    def field(self, name: str) -> str:
        """Name of a field in all frames: orbitals that are followed are named as in the first one."""
        return pinned(self.first, name) if self.source.track else name

    def lattice(self, request: Request, spacing: float, references: References | None = None) -> Lattice:
        """Lattice of all frames: as much room about the atoms, wherever they come, as about those of the first frame.

        That of the first frame alone where the other would have several times as many points.

        Parameters
        ----------
        request : Request
            With an isovalue, and with the room that the atoms take in all frames.
        spacing : float
            In bohr.
        references : References, optional
            Reads the files that the name of the field refers to.
        """
        isovalue, room = request.isovalue, request.room
        assert isovalue is not None  # who asks has both
        assert room is not None

        def made() -> Lattice:
            field = field_of(self.first, request.field, references)
            first = enclosing_lattice(self.first, field, isovalue, spacing=spacing)
            low, high = self.first.positions.min(axis=0), self.first.positions.max(axis=0)
            whole = Lattice.box(
                room[0] + (first.origin - low) - _SLACK, room[1] + (first.far_corner - high) + _SLACK, spacing
            )
            return whole if whole.n_points <= _MOST * first.n_points else first

        return _found(self._lattices, (request.field, isovalue, spacing, room, request.references), made)

    def isovalue(self, request: Request, references: References | None = None) -> float:
        """Isovalue of all frames: the one that is asked for, or the default of the first one."""
        key = request.field, request.share, request.device, request.references, bool(request.color_by)

        def make() -> float:
            field = field_of(self.first, self.field(request.field), references)
            return isovalue_of(request, self.first, field)

        return _found(self._isovalues, key, make) if request.isovalue is None else request.isovalue


def _found(known: OrderedDict[Any, T], key: Any, make: Callable[[], T]) -> T:
    """What is known under a key, made if it is not there; the latest few are kept."""
    if key not in known:
        known[key] = make()
        while len(known) > _KEPT:
            known.popitem(last=False)
    return known[key]
