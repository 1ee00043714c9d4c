"""Where the wavefunctions of a molecule come from: one file, or a trajectory and how it is shown."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from glob import glob
from itertools import zip_longest
from os.path import exists
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import OrbitileError
from ..evaluation.boxes import enclosing_lattice
from ..evaluation.isovalues import default_isovalue
from ..evaluation.requests import field_of
from ..fields import Field
from ..fields.orbital import orbital_of
from ..model.lattice import Lattice
from ..model.trajectory import Frames, Trajectory
from ..model.wavefunction import Wavefunction
from ..readers import load, load_trajectory, natural_order
from ..readers.cclib_frames import LogFrames
from ..readers.series import SeriesFrames
from ..trajectories.interpolation import interpolate
from ..trajectories.paths import AlignedFrames, FollowedFrames
from ..trajectories.tracking import pinned
from .content import content_of, require_unchanged
from .request import Corners

T = TypeVar("T")

_MOST = 3.0
"""Points of a lattice that serves all frames, in points of one that serves the first."""


@dataclass(frozen=True)
class OneFile:
    """A file of one wavefunction; as text, a viewer can keep it with a molecule.

    Attributes
    ----------
    path : str
    content : str
        What it held when it was loaded, see `content_of`; empty for whatever it holds.
    """

    path: str
    content: str = ""

    def __str__(self) -> str:
        return f"content {self.content}: {self.path}" if self.content else self.path

    @classmethod
    def read(cls, text: str) -> OneFile:
        """The inverse of `str`."""
        found = re.fullmatch(r"content (\d+-[0-9a-f]{40}): (.*)", text, re.DOTALL)
        return cls(found[2], found[1]) if found else cls(text)

    def noted(self) -> OneFile:
        """The same, with what it holds now."""
        return replace(self, content=content_of(self.path))


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
    contents : tuple of str
        What each file held when the trajectory was loaded, see `content_of`; empty for whatever they hold. One file may
        have grown since.
    """

    files: tuple[str, ...]
    track: bool = True
    align: bool = False
    between: int = 0
    contents: tuple[str, ...] = ()

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
            source = cls(_texts(parts.pop("files")), contents=_texts(parts.pop("contents", [])), **parts)
            if not source.files or len(source.contents) not in (0, len(source.files)):
                raise ValueError("expected a content of each file")
            for value, kind in ((source.track, bool), (source.align, bool), (source.between, int)):
                if type(value) is not kind:
                    raise TypeError(f"expected {kind.__name__}, got {value!r:.40}")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise OrbitileError(f"{text[:80]}: expected the description of a trajectory ({error})") from error
        return source

    def noted(self) -> Source:
        """The same, with all files by name and what they hold now."""
        if len(self.files) == 1 and not exists(self.files[0]):
            files = tuple(sorted(glob(self.files[0]), key=natural_order)) or self.files
        else:
            files = self.files
        return replace(self, files=files, contents=tuple(map(content_of, files)))

    def opened(self) -> Trajectory:
        """The frames as they are in the files, as long as those hold what they held.

        Raises
        ------
        FileError
            When there is no such file, or it is of no known format.
        """
        opened = load_trajectory(self.files if len(self.files) > 1 else self.files[0])
        kind = _UnchangedSeries if hasattr(opened.source, "geometries") else UnchangedFrames
        return Trajectory(kind(opened.source, self), opened.kept)


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"expected a list of texts, got {values!r:.40}")
    return tuple(values)


class UnchangedFrames:
    """Frames that are refused once their file holds something else: `Frames` of a `Trajectory`.

    Parameters
    ----------
    frames : Frames
    source : Source
        Says what the files are to hold.
    """

    def __init__(self, frames: Frames, source: Source) -> None:
        self.frames, self._source = frames, source

    @property
    def name(self) -> str:
        """For people."""
        return self.frames.name

    def __len__(self) -> int:
        return len(self.frames)

    def read(self, index: int) -> Wavefunction:
        """Read one frame.

        Raises
        ------
        FileChanged
            When its file, before or after, holds something else.
        """
        self.require_unchanged(index)
        wavefunction = self.frames.read(index)
        self.require_unchanged(index)
        return wavefunction

    def require_unchanged(self, index: int) -> None:
        """Refuse a frame whose file holds something else by now; errors as for `read`."""
        files, contents = self._source.files, self._source.contents
        if contents:
            at = index if len(files) > 1 else 0
            require_unchanged(files[at], contents[at], grown=len(files) == 1)


class _UnchangedSeries(UnchangedFrames):
    """The same, of a file that knows the positions apart from the orbitals."""

    def geometries(self) -> NDArray[np.float64]:
        """Positions of the atoms in all frames."""
        self.require_unchanged(0)
        known: NDArray[np.float64] = self.frames.geometries()  # type: ignore[attr-defined]  # it was looked for
        return known


def is_trajectory(text: str) -> bool:
    """Whether the source of a molecule, as text, is a trajectory; otherwise it is a file of one wavefunction."""
    return text.startswith("{")


def files_of(text: str) -> tuple[str, ...]:
    """Files of a source that is given as text.

    Raises
    ------
    OrbitileError
        When the text is no source.
    """
    return Source.read(text).files if is_trajectory(text) else (OneFile.read(text).path,)


def changes(text: str) -> list[str]:
    """What has become of the files of a source, given as text, since it was loaded: a sentence each, without its end.

    Raises
    ------
    OrbitileError
        When the text is no source.
    """
    source = Source.read(text) if is_trajectory(text) else OneFile.read(text)
    if isinstance(source, OneFile):
        known, grown = [(source.path, source.content)], False
    else:
        known, grown = list(zip_longest(source.files, source.contents, fillvalue="")), len(source.files) == 1
    found = []
    for file, content in known:
        if not exists(file) and not glob(file):
            found.append(f"{file} is not there any more")
        elif content and content_of(file, content if grown else "") != content:
            found.append(f"{file} has changed")
    return found


_FEW = 3
"""Frames of a log that may be the first and the last of many geometries, and one more for frequencies."""

_KEPT = 64
"""Lattices and isovalues that are kept of a trajectory."""

_SLACK = 0.5
"""Room in bohr beyond that of the first frame, since orbitals grow and shrink on the way."""

Resolve = Callable[[Wavefunction, str], Field]
"""Takes the name of a field of a wavefunction to the field."""


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
        self._followed = FollowedFrames(self.raw) if source.track else None
        path = self.raw if self._followed is None else Trajectory(self._followed)
        path = Trajectory(AlignedFrames(path)) if source.align else path
        self.path = interpolate(path, source.between)
        self._lattices: OrderedDict[Any, Lattice] = OrderedDict()
        self._isovalues: OrderedDict[Any, float] = OrderedDict()
        self._load = load

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
    ) -> Wavefunction:
        """One frame; the orbitals of those before it are followed first.

        Raises
        ------
        FileChanged
            When its file holds something else by now.
        """
        self.require_unchanged(index)
        if self._followed is not None:
            self._followed.reach(self._raw_index(index), progress, cancelled)
        return self.path[index]

    def require_unchanged(self, index: int) -> None:
        """Refuse a frame whose file holds something else by now; errors as for `frame`."""
        assert isinstance(self.raw.source, UnchangedFrames)  # `Source.opened` made it
        self.raw.source.require_unchanged(self._raw_index(index))

    def _raw_index(self, index: int) -> int:
        """Frame of the files that a frame is; of one between two the later."""
        return min(-(-index // (self.source.between + 1)), len(self.raw) - 1)

    def confidence(self, field: str, index: int) -> float | None:
        """How surely an orbital was followed to a frame that was reached; None where none was followed."""
        orbital = None if self._followed is None else orbital_of(self.first, field)
        if self._followed is None or orbital is None:
            return None
        return self._followed.confidence(self._raw_index(index), orbital.index, orbital.spin)

    def field(self, name: str) -> str:
        """Name of a field in all frames: orbitals that are followed are named as in the first one."""
        return pinned(self.first, name) if self.source.track else name

    def lattice(
        self,
        field: str,
        isovalue: float,
        spacing: float,
        room: Corners,
        references: tuple[str, ...] = (),
        resolve: Resolve = field_of,
    ) -> Lattice:
        """Lattice of all frames: as much room about the atoms, wherever they come, as about those of the first frame.

        That of the first frame alone where the other would have several times as many points.
        """

        def made() -> Lattice:
            first = enclosing_lattice(self.first, resolve(self.first, field), isovalue, spacing=spacing)
            low, high = self.first.positions.min(axis=0), self.first.positions.max(axis=0)
            whole = Lattice.box(
                room[0] + (first.origin - low) - _SLACK, room[1] + (first.far_corner - high) + _SLACK, spacing
            )
            return whole if whole.n_points <= _MOST * first.n_points else first

        return _found(self._lattices, (field, isovalue, spacing, room, references), made)

    def isovalue(
        self,
        field: str,
        share: float,
        device: str,
        references: tuple[str, ...] = (),
        resolve: Resolve = field_of,
    ) -> float:
        """Isovalue of all frames: that which suits the first one.

        References are what the files hold that the field refers to, as in a `Request`; `resolve` takes a name to a
        field.
        """
        key = field, share, device, references

        def make() -> float:
            return default_isovalue(self.first, resolve(self.first, self.field(field)), share, device=device)

        return _found(self._isovalues, key, make)


def _found(known: OrderedDict[Any, T], key: Any, make: Callable[[], T]) -> T:
    """What is known under a key, made if it is not there; the latest few are kept."""
    if key not in known:
        known[key] = make()
        while len(known) > _KEPT:
            known.popitem(last=False)
    return known[key]
