"""Where the wavefunctions of a molecule come from: one file, or a trajectory and how it is shown."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from glob import glob
from itertools import zip_longest
from os.path import exists
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OrbitileError
from ..model.trajectory import Frames, Trajectory
from ..model.wavefunction import Wavefunction
from ..readers import is_there, load_trajectory, natural_order, series_in
from .fingerprint import content_of, require_unchanged


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
        found = re.fullmatch(r"content (\d{1,18}-[0-9a-f]{40}): (.*)", text, re.DOTALL)
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
            files = _frames_in(self.files[0]) if len(self.files) == 1 else self.files
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


def _frames_in(path: str) -> tuple[str, ...]:
    """The frames in a folder, or what a path stands for itself."""
    try:
        return series_in(path) or (path,)
    except OrbitileError:  # whoever opens it is told
        return (path,)


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
        return self.frames.geometries()  # type: ignore[attr-defined]  # it was looked for


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
        if not is_there(file) and not glob(file):
            found.append(f"{file} is not there any more")
        elif content and content_of(file, content if grown else "") != content:
            found.append(f"{file} has changed")
    return found
