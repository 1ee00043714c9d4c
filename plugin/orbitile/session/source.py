"""Where the wavefunctions of a molecule come from: one file, or a trajectory and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from glob import glob
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import OrbitileError
from ..evaluation import default_isovalue, enclosing_lattice
from ..fields.orbital import resolve
from ..lattice import Lattice
from ..paths import AlignedFrames, FollowedFrames, interpolate
from ..readers import load, load_trajectory
from ..readers.cclib import LogFrames
from ..series import SeriesFrames
from ..tracking import pinned
from ..trajectory import Trajectory
from ..wavefunction import Wavefunction
from .request import Corners

_MOST = 3.0
"""Points of a lattice that serves all frames, in points of one that serves the first."""


@dataclass(frozen=True)
class Source:
    """A trajectory and how it is shown; as text, a viewer can keep it with a molecule.

    Attributes
    ----------
    files : tuple of str
        A file, a pattern, or several files.
    track : bool
        Orbitals are followed from the first frame on.
    align : bool
        Each frame is turned and moved onto the first one.
    between : int
        Interpolated frames between two neighbours.
    """

    files: tuple[str, ...]
    track: bool = True
    align: bool = False
    between: int = 0

    def __str__(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Source:
        """The inverse of `str`.

        Raises
        ------
        OrbitileError
            When the text is not one of a trajectory.
        """
        try:
            parts = json.loads(text)
            return cls(tuple(parts.pop("files")), **parts)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise OrbitileError(f"{text[:80]}: expected the description of a trajectory ({error})") from error

    def missing(self) -> list[str]:
        """Files that are not there any more; patterns that match none."""
        return [file for file in self.files if not Path(file).exists() and not glob(file)]

    def state(self) -> list[tuple[str, int, int]]:
        """Files with their times and sizes: whether they have changed."""
        files = [one for file in self.files for one in ([file] if Path(file).exists() else sorted(glob(file)))]
        return [(file, Path(file).stat().st_mtime_ns, Path(file).stat().st_size) for file in files]

    def opened(self) -> Trajectory:
        """The frames as they are in the files."""
        return load_trajectory(self.files if len(self.files) > 1 else self.files[0])


def is_trajectory(text: str) -> bool:
    """Whether the source of a molecule, as text, is a trajectory; otherwise it is the path of a file."""
    return text.startswith("{")


_FEW = 3
"""Frames of a log that may be the first and the last of many geometries, and one more for frequencies."""

_SLACK = 0.5
"""Room in bohr beyond that of the first frame, since orbitals grow and shrink on the way."""


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
        self.source = source
        self.raw = source.opened()
        self._followed = FollowedFrames(self.raw) if source.track else None
        path = self.raw if self._followed is None else Trajectory(self._followed)
        path = Trajectory(AlignedFrames(path)) if source.align else path
        self.path = interpolate(path, source.between)
        self._lattices: dict[tuple[str, float, float, Corners], Lattice] = {}
        self._isovalues: dict[tuple[str, float], float] = {}
        self._state, self._load = source.state(), load

    def is_current(self) -> bool:
        """Whether the files are as they were when it was opened."""
        return self._state == self.source.state()

    @cached_property
    def is_one_file(self) -> bool:
        """Whether it is shown as one wavefunction: a file of one, or a log with orbitals at few of its geometries.

        Programs print them at the first and the last geometry of an optimisation unless told otherwise. Then all
        geometries are shown, and the orbitals of the last.
        """
        frames = self.raw.source
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
    ) -> Wavefunction:
        """One frame; the orbitals of those before it are followed first."""
        if self._followed is not None:
            self._followed.reach(self._raw_index(index), progress, cancelled)
        return self.path[index]

    def _raw_index(self, index: int) -> int:
        """Frame of the files that a frame is; of one between two the later."""
        return min(-(-index // (self.source.between + 1)), len(self.raw) - 1)

    def confidence(self, field: str, index: int) -> float | None:
        """How surely an orbital was followed to a frame that was reached; None where none was followed."""
        orbital = None if self._followed is None else resolve(self.first, field)
        if self._followed is None or orbital is None:
            return None
        return self._followed.confidence(self._raw_index(index), orbital.index, orbital.spin)

    def field(self, name: str) -> str:
        """Name of a field in all frames: orbitals that are followed are named as in the first one."""
        return pinned(self.first, name) if self.source.track else name

    def lattice(self, field: str, isovalue: float, spacing: float, room: Corners) -> Lattice:
        """Lattice of all frames: as much room about the atoms, wherever they come, as about those of the first frame.

        That of the first frame alone where the other would have several times as many points.
        """
        key = field, isovalue, spacing, room
        if key not in self._lattices:
            first = enclosing_lattice(self.first, field, isovalue, spacing=spacing)
            end = first.origin + (np.array(first.shape) - 1) * spacing
            low, high = self.first.positions.min(axis=0), self.first.positions.max(axis=0)
            whole = Lattice.box(room[0] + (first.origin - low) - _SLACK, room[1] + (end - high) + _SLACK, spacing)
            self._lattices[key] = whole if whole.n_points <= _MOST * first.n_points else first
        return self._lattices[key]

    def isovalue(self, field: str, share: float, device: str) -> float:
        """Isovalue of all frames: that which suits the first one."""
        if (field, share) not in self._isovalues:
            self._isovalues[field, share] = default_isovalue(self.first, self.field(field), share, device=device)
        return self._isovalues[field, share]
