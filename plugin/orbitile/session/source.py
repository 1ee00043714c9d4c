"""Where the wavefunctions of a molecule come from: one file, a trajectory and how it is shown, or free atoms.

What a file holds is noted as short text: two files share it only where they hold the same, whatever names and times
they have. A file is read for it once, and again when its status says that it may have been written since. A file that
was written less than two seconds before it was read may be written again without a trace in its status, so that one is
always read. Of a file of more than 256 MiB both ends and 256 places in between are read, in less than a second.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from glob import glob
from itertools import zip_longest
from os.path import exists
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.caches import Cache
from ..base.errors import FileChanged, OrbitileError
from ..base.memory import available_memory, share
from ..base.temporary import own_folder
from ..files.hdf5 import MAGIC
from ..files.reading import add_to_digest
from ..files.writing import written_atomically
from ..files.zarr import kind_of_store
from ..model.geometry import Geometry
from ..model.trajectory import Frames, Trajectory
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction
from ..readers import files_of as files_behind
from ..readers import (
    holds_volumes,
    is_there,
    load_atoms,
    load_trajectory,
    load_volumes,
    natural_order,
    open_volume,
    series_in,
)
from ..readers.promolecule import write_promolecule
from ..readers.series import SeriesFrames, feed_frame

_SETTLED = 2 * 10**9
"""Nanoseconds; the coarsest times of common file systems are those of FAT, two seconds."""
_PIECE = share("piece of a file")
_WHOLE = 256 << 20
"""Bytes of a file that is read whole."""
_END = 64 << 20
_PLACES = 256

_Status = tuple[tuple[int, ...], ...]
_known = Cache[tuple[_Status, str]]("numbers")
"""Status and content of files, by their paths and how much of them was looked at."""


def content_of(path: str, like: str = "") -> str:
    """What a file or a folder holds now.

    Parameters
    ----------
    path
        The file.
    like
        An earlier content of a file that may have grown: as much of it as there was then is looked at.

    Returns
    -------
    str
        How much was looked at (bytes, of a series file frames) and a digest of it; empty where it cannot be read.
    """
    extent = int(like.partition("-")[0]) if like else None
    try:
        files = _files(path)
        status = _status(files)
        begin = time.time_ns()
        known = _known.get((path, extent))
        if known is not None and known[0] == status:
            return known[1]
        content = _read(files, extent)
    except (OSError, ValueError, OrbitileError):  # whoever loads it is told what is wrong
        return ""
    if all(begin - max(modified, changed) > _SETTLED for *_, modified, changed in status):
        _known.put((path, extent), (status, content))
    return content


def require_unchanged(path: str, content: str, *, grown: bool = False) -> None:
    """Refuse a file that no longer holds what it held; an empty content stands for any.

    Parameters
    ----------
    path, content
        The file, and what `content_of` gave for it.
    grown
        Whether it may hold more by now.

    Raises
    ------
    FileChanged
        When it holds something else, or cannot be read any more.
    """
    if content and content_of(path, content if grown else "") != content:
        what = "has changed" if os.path.exists(path) else "is missing or has changed"
        raise FileChanged(f"{path}: {what} since it was loaded; load it again to show what it holds now")


def _files(path: str) -> list[str]:
    """The files in which there is what a path stands for: itself, what belongs to it, or what is read of a folder."""
    plain = os.path.expanduser(path)
    if os.path.exists(plain) and not (os.path.isfile(plain) or os.path.isdir(plain)):
        raise OSError(f"{path}: no file")  # whoever opens a pipe may wait for ever
    return [str(file) for file in files_behind(plain)]


def _status(files: list[str]) -> _Status:
    found = map(os.stat, files)
    return tuple((file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns) for file in found)


def _read(files: list[str], extent: int | None) -> str:
    if kind_of_store(Path(files[0])) == "trajectory":
        return _series(Path(files[0]), extent)
    digest = hashlib.sha256()
    looked_at = 0
    for file in files if len(files) > 1 else []:
        if os.path.isdir(file):
            continue
        size = os.path.getsize(file)
        looked_at += size
        digest.update(f"{os.path.basename(file)} {size}\0".encode(errors="surrogateescape"))
        with open(file, "rb") as stream:
            add_to_digest(digest, stream, 0, size)
    if len(files) == 1:
        with open(files[0], "rb") as stream:
            if stream.read(len(MAGIC)) == MAGIC:  # it grows in other places than at its end
                return _series(Path(files[0]), extent)
            size = os.fstat(stream.fileno()).st_size
            looked_at = size if extent is None else min(extent, size)
            if looked_at <= _WHOLE:
                add_to_digest(digest, stream, 0, looked_at)
            else:
                between = range(_END, looked_at - _END, (looked_at - 2 * _END) // _PLACES)
                for start, end in [(0, _END), *((at, at + _PIECE) for at in between), (looked_at - _END, looked_at)]:
                    add_to_digest(digest, stream, start, end)
    return f"{looked_at}-{digest.hexdigest()[:40]}"


def _series(path: Path, extent: int | None) -> str:
    digest, series = hashlib.sha256(), SeriesFrames(path)
    try:
        n_frames = len(series) if extent is None else min(extent, len(series))
        series.feed(digest.update, n_frames)
    finally:
        series.close()
    return f"{n_frames}-{digest.hexdigest()[:40]}"


def content_of_frame(wavefunction: Wavefunction, settings: str) -> str:
    """What `content_of` gives for a series file of this frame alone, without reading it."""
    digest = hashlib.sha256()
    feed_frame(wavefunction, settings, digest.update)
    return f"1-{digest.hexdigest()[:40]}"


_WITHOUT = "without orbitals "


@dataclass(frozen=True)
class OneFile:
    """A file of one wavefunction; as text, a viewer can keep it with a molecule.

    Attributes
    ----------
    path : str
    content : str
        What it held when it was loaded, see `content_of`; empty for whatever it holds.
    without_orbitals : bool
        Whether it holds vibrations or spectra, and no orbitals.
    """

    path: str
    content: str = ""
    without_orbitals: bool = False

    def __str__(self) -> str:
        text = f"content {self.content}: {self.path}" if self.content else self.path
        return f"{_WITHOUT}{text}" if self.without_orbitals else text

    @classmethod
    def read(cls, text: str) -> OneFile:
        """The inverse of `str`."""
        plain = text.removeprefix(_WITHOUT)
        found = re.fullmatch(r"content (\d{1,18}-[0-9a-f]{40}): (.*)", plain, re.DOTALL)
        path, content = (found[2], found[1]) if found else (plain, "")
        return cls(path, content, plain != text)

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

    def has_changed(self) -> bool:
        """Whether it is one file, which is gone or holds something else by now; one that has grown has not changed."""
        if len(self.files) != 1 or not any(self.contents):
            return False
        return content_of(self.files[0], self.contents[0]) != self.contents[0]

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
            found.append(f"{file} is missing")
        elif content and content_of(file, content if grown else "") != content:
            found.append(f"{file} has changed")
    return found


_SUFFIX = ".promolecule"


def is_promolecule(source: str) -> bool:
    """Whether a source is that of free atoms, which follow the atoms of the viewer and not a file."""
    return bool(source) and files_of(source)[0].endswith(_SUFFIX)


def promolecule_source(molecule: str, geometry: Geometry, partial_charges: NDArray[np.float64] | None = None) -> str:
    """The source that stands for free atoms in the places of a molecule's atoms: a file, as long as this process lives.

    With partial charges in e, those are the sources of its electrostatic potential.

    Raises
    ------
    OrbitileError
        When there is no folder for its file.
    """
    parts = geometry.atomic_numbers, geometry.positions, np.zeros(0) if partial_charges is None else partial_charges
    digest = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:12]
    plain = re.sub(r"[^A-Za-z0-9_]", "_", molecule)[:40]
    try:
        path = _promolecule_folder() / f"{plain}-{digest}{_SUFFIX}"
        if not path.exists():
            with written_atomically(path) as temporary:
                write_promolecule(temporary, geometry, partial_charges)
    except OSError as error:
        raise OrbitileError(f"there is no folder to write atoms to ({error}); set TMPDIR to one") from error
    return str(OneFile(str(path)).noted())


@cache
def _promolecule_folder() -> Path:
    folder = Path(mkdtemp(dir=own_folder()))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


MOST_SHOWN = 1 << 30
"""Bytes of a volume that is shown, at most: 645^3 points in single precision."""

_ROOM = 6
"""How many times as much memory as its values a volume needs while it is shown: copies, and surfaces."""

VALUES = "values"
"""Name of the field that such a file holds; of several, `values:2` is the second."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """The atoms of a file of volumes, vibrations or spectra, as a viewer shows those of a wavefunction.

    Attributes
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
    geometries : ndarray, shape (1, n_atoms, 3)
        In bohr.
    source : str
        The file, as `OneFile` as text.
    title : str
    """

    atomic_numbers: NDArray[np.int64]
    geometries: NDArray[np.float64]
    source: str
    title: str

    @property
    def is_ghost(self) -> NDArray[np.bool_]:
        """Which atoms are ghosts, as of a wavefunction."""
        return np.equal(self.atomic_numbers, 0)


def is_volume_file(source: str) -> bool:
    """Whether a source, as text, is a file of volumes."""
    return not is_trajectory(source) and holds_volumes(OneFile.read(source).path)


def is_without_orbitals(source: str) -> bool:
    """Whether a source, as text, is a file of vibrations or spectra without orbitals."""
    return not is_trajectory(source) and OneFile.read(source).without_orbitals


def volumes_of(path: str) -> tuple[Volume, ...]:
    """The volumes in a file as far as they can be shown: of a large store the finest level that fits, which says so.

    Raises
    ------
    OrbitileError
        When the file cannot be read.
    """
    if not Path(path).expanduser().is_dir():
        return load_volumes(path)
    stored = open_volume(path)
    room = available_memory()
    level = stored.within(MOST_SHOWN if room is None else min(MOST_SHOWN, room // _ROOM))
    volume = level.whole()
    if level.first:
        said = f"level {level.first} of its pyramid, {volume.values.shape} of {stored.header.lattice.shape} points"
        volume = replace(volume, quantity=f"{volume.quantity} ({said})")
    return (volume,)


def atoms_of(source: str, volume: Volume) -> Sampled:
    """The atoms of a file of volumes; where it names none, a ghost in the middle of the volume stands for them.

    Raises
    ------
    OrbitileError
        When the file cannot be read.
    """
    geometry = load_atoms(OneFile.read(source).path)
    if geometry is not None:
        return Sampled(geometry.atomic_numbers, geometry.positions[None], source, volume.quantity)
    lattice = volume.lattice
    middle = lattice.origin + (np.array(lattice.shape) - 1) / 2 @ lattice.axes
    return Sampled(np.zeros(1, np.int64), middle[None, None], source, volume.quantity)


def chosen(volumes: Sequence[Volume], field: str, source: str) -> Volume:
    """The volume that a field names.

    Raises
    ------
    OrbitileError
        When there is none of this name.
    """
    found = re.fullmatch(rf"{VALUES}(?::(\d{{1,6}}))?", field.strip().lower())
    number = int(found[1] or 1) if found else 0
    if not 1 <= number <= len(volumes):
        known = VALUES if len(volumes) == 1 else f"{VALUES}:1 to {VALUES}:{len(volumes)}"
        raise OrbitileError(
            f"{OneFile.read(source).path}: holds values on a lattice and no orbitals to compute others from; "
            f"expected {known}, got {field[:80]!r}"
        )
    return volumes[number - 1]
