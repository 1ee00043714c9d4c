"""Files in: one module a format, found by name; `Reader` says what each of them offers."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from os import PathLike, fspath
from pathlib import Path, PurePosixPath
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..base.arguments import listed
from ..base.errors import FileError, OrbitileError
from ..base.temporary import own_folder
from ..files import hdf5
from ..files.archives import MOST_ENTRIES, Entry, entries_of, extract, is_archive, is_hidden, is_named
from ..files.plain import PlainFile, beginning
from ..files.reading import user_path
from ..gaussians.orthonormality import accepting_damaged, checked
from ..model.geometry import Geometries, Geometry
from ..model.trajectory import Frames, Trajectory
from ..model.wavefunction import Wavefunction
from ._formats import ACCEPTED as ACCEPTED
from ._formats import (
    KINDS,
    accepted,
    by_name,
    checked_path,
    folder_patterns,
    known,
    reader_of,
    recognising,
    stored_in,
    within_hdf5,
)
from ._formats import Reader as Reader
from ._formats import descriptions as descriptions
from ._formats import holds_volumes as holds_volumes
from ._formats import load_atoms as load_atoms
from ._formats import load_charges as load_charges
from ._formats import load_volumes as load_volumes
from ._formats import may_hold_volumes as may_hold_volumes
from ._formats import open_volume as open_volume
from ._formats import patterns as patterns
from ._formats import reader_modules as reader_modules
from ._isolation import isolated
from ._spectra import load_spectra as load_spectra
from ._vibrations import load_vibrations as load_vibrations
from ._vibrations import vibrations_in as vibrations_in

_MOST_TRIED = 4
"""Kinds of files of a folder that are tried one after another."""


def load(path: str | PathLike[str], *, accept_damaged: bool = False) -> Wavefunction:
    """Read a wavefunction from the output of a quantum-chemistry program, and check it.

    Parameters
    ----------
    path
        A file of `descriptions("wavefunction")`; a folder or an archive (ZIP, tar) of a calculation, of which the best
        file is read, and `remarks` of the wavefunction say which one; `job.zip!inner.molden` for a file in an archive.
    accept_damaged
        Open a file whose orbitals are not orthonormal, in the dialect that comes closest. `damaged` of the wavefunction
        says what is wrong, and whatever is shown of it says that it is of a damaged file. `FILE!accept-damaged` as a
        name means the same wherever a file is named.

    Raises
    ------
    FileError
        When the file cannot be read, is of no known format, is damaged, or lacks basis set or orbitals.
    ConventionError
        When its orbitals are not orthonormal in any convention that we know; such a file is never drawn.

    Examples
    --------
    >>> wfn = ob.load("benzene.molden")
    >>> wfn.kind, len(wfn.atomic_numbers), len(wfn.alpha)
    ('restricted', 12, 31)
    """
    plain, marked = accepted(path)
    before = accepting_damaged.set(accept_damaged or marked)
    try:
        within = within_archive(plain)
        if within is not None:
            place = Place(checked_path(within[0]))
            return _load_entry(place, place.named(within[1]))
        file = checked_path(plain, folders=True)
        return _load_best(Place(file)) if is_place(file) else _load_file(file)
    finally:
        accepting_damaged.reset(before)


def files_of(path: str | PathLike[str]) -> tuple[Path, ...]:
    """Files in which there is what `load` reads: of a folder the one that it chooses, with those that belong to it.

    Raises
    ------
    FileError
        When the file or folder cannot be read.
    """
    plain, _ = accepted(path)
    within = within_archive(plain)
    file = checked_path(plain if within is None else within[0], folders=True)
    if file.is_dir() and is_place(file):
        place = Place(file)
        choice = place.choices()[0]
        place.one(choice)
        return tuple(other for found in place.files(choice.entries) for other in files_of(found))
    if file.is_dir():
        reader = by_name(file, "volume")
        if reader is not None and reader.others is not None:
            return (file, *reader.others(file))
        return (file, *sorted(entry for entry in file.iterdir() if entry.is_file()))
    reader = recognising(beginning(file), "wavefunction") or by_name(file, "wavefunction")
    return (file,) if reader is None or reader.others is None else tuple(dict.fromkeys((file, *reader.others(file))))


def series_in(path: str | PathLike[str]) -> tuple[str, ...]:
    """Files of a folder that `load_trajectory` takes for frames, in their order; none where it takes one file.

    Raises
    ------
    FileError
        When the folder cannot be read, or has nothing in it.
    """
    folder = user_path(accepted(path)[0])
    if not folder.is_dir() or not is_place(folder):
        return ()
    place = Place(folder)
    files = place.files(place.choices(frames=True)[0].entries)
    return tuple(map(str, files)) if len(files) > 1 else ()


def is_there(path: str) -> bool:
    """Whether there is a file or a folder of that name, or an archive that may hold such a file."""
    path, _ = accepted(path)
    return _exists(path) or within_archive(path) is not None


def _load_file(file: Path) -> Wavefunction:
    """Read and check a wavefunction from a file, or a folder that a reader takes for one."""
    with PlainFile(file) as plain, np.errstate(all="ignore"):  # absurd numbers, which are refused
        try:
            wavefunction = checked(_wavefunction_in(plain.path, file))
        except FileError:
            raise
        except OrbitileError as error:  # the model refuses what the reader took for a wavefunction
            raise FileError(f"{file.name}: {error}") from error
        except OSError as error:  # of a file beside it, such as a folder of that name
            other = Path(os.fsdecode(error.filename)).name if error.filename else "it"
            raise FileError(f"{file.name}: {other} cannot be read ({error.strerror or error})") from error
    return wavefunction if plain.path == file else replace(wavefunction, source=str(file))


def _load_best(place: Place) -> Wavefunction:
    """Read the best file of a folder or an archive, and the next best where that cannot be read."""
    problems: list[OrbitileError] = []
    for choice in place.choices()[:_MOST_TRIED]:
        place.one(choice)
        try:
            wavefunction = _load_entry(place, choice.entries[-1])
        except OrbitileError as error:
            problems.append(error)
            continue
        instead = "".join(f"; {problem}" for problem in problems)
        remark = f"{choice.name} was taken from {place.path.name}, {choice.why}{instead}"
        return replace(wavefunction, remarks=(*wavefunction.remarks, remark))
    if len(problems) == 1:
        raise problems[0]
    raise FileError(f"{place.path}: none of its files can be read: " + "; ".join(map(str, problems)))


def _load_entry(place: Place, entry: Entry) -> Wavefunction:
    """Read one file of a folder or an archive."""
    (file,) = place.files((entry,))
    return replace(_load_file(file), source=place.called(entry))


class FileFrames:
    """Frames in files of their own: `Frames` of a `Trajectory`."""

    def __init__(self, files: tuple[Path, ...], accept_damaged: bool = False) -> None:
        self._files, self._accept_damaged = files, accept_damaged

    @property
    def name(self) -> str:
        """The first and the last file."""
        names = [file.name for file in self._files]
        return names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]}"

    def __len__(self) -> int:
        return len(self._files)

    def read(self, index: int) -> Wavefunction:
        """Read and check the wavefunction of one file."""
        return load(self._files[index], accept_damaged=self._accept_damaged)


class _AcceptedFrames:
    """Frames that are read although their orbitals are not orthonormal."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames

    @property
    def name(self) -> str:
        return self._frames.name

    def __len__(self) -> int:
        return len(self._frames)

    def read(self, index: int) -> Wavefunction:
        before = accepting_damaged.set(True)
        try:
            return self._frames.read(index)
        finally:
            accepting_damaged.reset(before)


def load_trajectory(source: str | PathLike[str] | Iterable[str | PathLike[str]], *, kept: int = 4) -> Trajectory:
    """Open a trajectory; its frames are read when they are asked for.

    Parameters
    ----------
    source
        A series file; a Molden file of several frames; a log that prints orbitals at several geometries (many programs
        print them at the first and the last one of an optimisation unless told otherwise); any file that `load` reads,
        for a trajectory of one frame; a pattern such as `"scan/*.molden"`, whose files are taken in natural order (2
        before 10); or several files, in the order given.
    kept
        Number of frames that stay in memory.

    Raises
    ------
    FileError
        When there is no such file, none matches the pattern, or it is of no known format. A frame that cannot be read
        is no error here, but where it is asked for.
    """
    if not isinstance(source, (str, PathLike)):
        names = [accepted(path) for path in source]
        files = tuple(checked_path(name) for name, _ in names)
        if not files:
            raise FileError("trajectory: expected files, got none")
        if len(files) > 1:
            return Trajectory(FileFrames(files, any(marked for _, marked in names)), kept)
        source = "".join([str(files[0]), ACCEPTED * names[0][1]])
    text, marked = accepted(source)
    if any(letter in text for letter in "*?[") and not _exists(text):
        return load_trajectory([name + ACCEPTED * marked for name in _matching(text)], kept=kept)
    within = within_archive(text)
    file = checked_path(text if within is None else within[0], folders=True)
    if within is not None or is_place(file):
        return Trajectory(_frames_in(Place(file), "" if within is None else within[1], text, marked), kept)
    reader = _trajectory_reader(file)
    frames: Frames = FileFrames((file,), marked) if reader is None else reader.read(file)
    return Trajectory(_AcceptedFrames(frames) if marked else frames, kept)


def _frames_in(place: Place, name: str, text: str, accept_damaged: bool) -> Frames:
    """Frames of a file in a folder or an archive: of that name, or of the best one, numbered files being frames."""
    if name:
        entries: tuple[Entry, ...] = (place.named(name),)
    else:
        choice = place.choices(frames=True)[0]
        place.one(choice)
        entries = choice.entries
    files = place.files(entries)
    reader = _trajectory_reader(files[0]) if len(files) == 1 else None
    frames: Frames
    if len(files) == 1 and reader is None:
        return FileFrames((Path(text),), accept_damaged)
    frames = FileFrames(tuple(files), accept_damaged) if reader is None else reader.read(files[0])
    _held[frames] = place
    return frames


_held: WeakKeyDictionary[Frames, Place] = WeakKeyDictionary()
"""Copies of files in archives last as long as the frames that are read from them."""


def load_geometries(path: str | PathLike[str], topology: str | PathLike[str] | None = None) -> Geometries:
    """Open a trajectory of geometries, without their orbitals.

    Parameters
    ----------
    path
        An xyz or extended xyz file; with a topology DCD, XTC, TRR, NetCDF; PDB, GRO. Or whatever `load` or
        `load_trajectory` reads, of a log the geometry that its orbitals belong to.
    topology
        File that names the elements, where `path` does not.

    Raises
    ------
    FileError
        When a file is missing, damaged, or of no known format.
    """
    file = checked_path(path)
    reader = by_name(file, "geometries")
    if reader is None:
        try:
            return WavefunctionGeometries(file)
        except FileError as error:
            names = f"not a trajectory of geometries by its name. Known: {known('geometries')}"
            raise FileError(f"{file.name}: {names}; and no wavefunction: {error}") from error
    return reader.read(file, None if topology is None else checked_path(topology))


class WavefunctionGeometries:
    """`Geometries` of a file of wavefunctions.

    Attributes
    ----------
    wavefunction : Wavefunction
        The first one.
    """

    def __init__(self, path: Path) -> None:
        from .cclib_frames import LogFrames

        opened = load_trajectory(path)
        if len(opened) == 1 or isinstance(opened.source, LogFrames):
            self.wavefunction = load(path)
            self._geometries = self.wavefunction.positions[None]
        else:
            self.wavefunction, self._geometries = opened[0], opened.geometries()
        self.name = path.name

    def __len__(self) -> int:
        return len(self._geometries)

    def read(self, index: int) -> Geometry:
        """Read one frame."""
        return Geometry(self.wavefunction.atomic_numbers, self._geometries[index])


def natural_order(path: str | PathLike[str]) -> list[tuple[int, int | str]]:
    """Key by which to sort names so that numbers in them count as numbers: frame2 before frame10."""
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d+)", fspath(path)) if part]


def _exists(text: str) -> bool:
    try:
        return user_path(text).exists()
    except (OSError, FileError, ValueError):  # a name too long, unknown user in ~name, a NUL character
        return False


def _matching(pattern: str) -> list[str]:
    from glob import glob

    found = sorted(glob(str(user_path(pattern))), key=natural_order)
    if not found:
        raise FileError(f"{pattern}: no such file, and none matches this as a pattern")
    return found


def _trajectory_reader(file: Path) -> Reader | None:
    """The module that reads many frames of such a file, or None where one frame is all that it can hold."""
    return recognising(beginning(file), "trajectory") if file.is_file() else stored_in(file, "trajectory")


def _wavefunction_in(file: Path, original: Path) -> Wavefunction:
    """What a plain file holds; the original is the one that the user named."""

    def read_by(reader: Reader) -> Wavefunction:
        return reader.read(file) if reader.read_beside is None else reader.read_beside(file, original)

    if file.is_file():
        start = beginning(file)
        recognised = recognising(start, "wavefunction")
        if recognised is not None:
            return read_by(recognised)
        binary = b"\0" in start
        within = within_hdf5(file) if start.startswith(hdf5.SIGNATURE) else None
    else:
        binary, within = False, None
    trajectory = _trajectory_reader(file)
    if trajectory is not None:
        return _only_frame(file, trajectory.read(file))
    named = within or by_name(file, "wavefunction")
    if named is not None and (not binary or named.BINARY):
        return read_by(named)
    sampled = by_name(file, "volume")
    if sampled is not None and may_hold_volumes(file):
        raise FileError(
            f"{file.name}: holds values on a lattice and no orbitals; shown by `orbitile info`, `render`, `mesh` and "
            "in viewers, read by load_volumes in Python"
        )
    if sampled is not None:
        raise FileError(f"{file.name}: no output of a quantum-chemistry program, nor one of {sampled.DESCRIPTION}")
    if binary:
        hint = "; a Gaussian .chk file becomes readable by formchk" if file.suffix.lower() == ".chk" else ""
        raise FileError(f"{file.name}: a binary file of no known format{hint}. Known: {known('wavefunction')}")
    raise FileError(f"{file.name}: not recognised by its beginning nor by its name. Known: {known('wavefunction')}")


def _only_frame(file: Path, frames: Frames) -> Wavefunction:
    n = len(frames)
    if n != 1:
        raise FileError(
            f"{file.name}: holds a trajectory of {n} frames, not one wavefunction; choose one with --frame, in Python "
            "with load_trajectory"
        )
    return frames.read(0)


# ---- folders and archives of calculations: which file of one is read, and files within them (`job.zip!inner.molden`)
#
# Those of the uppermost level that has any are looked at. Files with all digits come before logs; of one kind, the last
# of a numbered series, or the newest. Where none of this decides, nothing does, and the user is asked.

Rank = tuple[bool, int, int]
"""Whether digits are missing, the place of the reader among readers, and of the pattern among its patterns."""

_SAME_TIME = 2.0
"""Seconds that times of files may differ without meaning anything; those of ZIP and FAT are counted in twos."""

_NAMED = 5
"""Files that a message names."""


@dataclass(frozen=True)
class Choice:
    """Files of one kind, of which the last one is the one to be read.

    Attributes
    ----------
    entries : tuple of Entry
        All frames of a numbered series; otherwise one file.
    why : str
        Why it is this one, as the end of a sentence.
    others : tuple of str
        Names of others of this kind between which nothing decides; then there is no choice.
    """

    entries: tuple[Entry, ...]
    why: str
    others: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Path of the file."""
        return self.entries[-1].name


def choices(entries: Iterable[Entry], rank: Callable[[Entry], Rank | None]) -> list[Choice]:
    """What could be read, the best first.

    Parameters
    ----------
    entries
        Files of a folder or an archive.
    rank
        How good a file is, smaller ones being better; None of one without orbitals.
    """
    ranked = [(place, entry) for entry in entries if (place := rank(entry)) is not None]
    if not ranked:
        return []
    top = min(entry.name.count("/") for _, entry in ranked)
    uppermost = ((place, entry) for place, entry in ranked if entry.name.count("/") == top)
    ranked = sorted(uppermost, key=lambda pair: pair[0])
    n_logs = sum(place[0] for place, _ in ranked)
    kinds = groupby(ranked, key=lambda pair: pair[0])
    return [_of_one_kind([entry for _, entry in kind], len(ranked), 0 if place[0] else n_logs) for place, kind in kinds]


def _of_one_kind(entries: list[Entry], n_files: int, n_logs: int) -> Choice:
    """The choice between files that are equally complete, of so many with orbitals, some of which are poorer logs."""
    if len(entries) == 1:
        if n_files == 1:
            return Choice((entries[0],), "the only file there with orbitals")
        digits = " that has all digits, as logs have not" if n_logs == n_files - 1 else ""
        return Choice((entries[0],), f"the one of {n_files} files with orbitals{digits or ' that comes first'}")
    here = len({PurePosixPath(entry.name).parent for entry in entries}) == 1
    if here and len({re.sub(r"\d+", "#", entry.name) for entry in entries}) == 1:
        series = tuple(sorted(entries, key=lambda entry: [*map(int, re.findall(r"\d+", entry.name))]))
        return Choice(series, f"the last of {len(series)} numbered files")
    newest, *rest = sorted(entries, key=lambda entry: -entry.modified)
    if here and newest.modified - rest[0].modified > _SAME_TIME:
        return Choice((newest,), f"the newest of {len(entries)} of its kind")
    return Choice((newest,), "", tuple(entry.name for entry in rest))


MEMBER = "!"
"""What stands between the name of an archive and that of a file in it."""

_DEEPEST = 2
"""Folders within folders that are looked into."""

_MOST_HEADS = 300
"""Files of a folder whose beginnings are read."""


class Place:
    """A folder or an archive.

    Parameters
    ----------
    path
        Where it is.

    Raises
    ------
    FileError
        When it cannot be read, or holds more files than any of ours.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._patterns = tuple(patterns("wavefunction", "trajectory"))
        self._folder = path.is_dir()
        self._entries: tuple[Entry, ...] = (
            self._in_folder() if self._folder else _isolated(entries_of, path, str(path.absolute()), self._patterns)
        )
        self._names = {entry.name for entry in self._entries}

    @property
    def separator(self) -> str:
        """What stands between its name and that of a file in it."""
        return "/" if self._folder else MEMBER

    def choices(self, *, frames: bool = False) -> list[Choice]:
        """What could be read in it, the best first; files of trajectories alone only where `frames` are wanted.

        Raises
        ------
        FileError
            When there is nothing.
        """
        kinds = ("wavefunction", "trajectory") if frames else ("wavefunction",)
        found = choices(self._entries, partial(self._rank, kinds=kinds))
        if not found:
            nested = [entry.name for entry in self._entries if is_named(entry.name, ("*.zip", "*.tar", "*.tgz"))]
            hint = f"; {nested[0]} there may have one, unpack it first" if nested else ""
            what = "a folder" if self._folder else "an archive"
            raise FileError(f"{self.path}: is {what} without a file with orbitals that we read{hint}")
        return found

    def one(self, choice: Choice) -> None:
        """Refuse a choice that is none.

        Raises
        ------
        FileError
            When several files are as good.
        """
        if choice.others:
            names, place = sorted((choice.name, *choice.others)), str(self.path.absolute())
            example = f"{place.rstrip('/')}{self.separator}{names[0]}"
            kind = "folder" if self._folder else "archive"
            raise FileError(
                f"{place}: several equally good files in this {kind}: {listed(names, _NAMED)}. Choose one, as {example}"
            )

    def files(self, entries: tuple[Entry, ...]) -> list[Path]:
        """Files of this place, those of an archive as copies that last as long as this object.

        Raises
        ------
        FileError
            When they cannot be unpacked.
        """
        if self._folder:
            return [self.path / entry.name for entry in entries]
        folder = tempfile.mkdtemp(dir=own_folder())
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        wanted = dict.fromkeys(entry.name for entry in entries)
        for entry in entries:
            reader = reader_of(entry, "wavefunction")
            if reader is not None and reader.read_beside is not None:
                parent = PurePosixPath(entry.name).parent
                wanted |= dict.fromkeys(e.name for e in self._entries if PurePosixPath(e.name).parent == parent)
        if len({PurePosixPath(name).name for name in wanted}) < len(wanted):
            raise FileError(f"{self.path.name}: frames of the same name in several folders; unpack the archive first")
        _isolated(extract, self.path, str(self.path.absolute()), tuple(wanted), folder)
        return [Path(folder, PurePosixPath(entry.name).name) for entry in entries]

    def named(self, name: str) -> Entry:
        """The file of that path.

        Raises
        ------
        FileError
            When there is none.
        """
        for entry in self._entries:
            if entry.name == name:
                return entry
        raise FileError(f"{self.path}: no file {name} in this archive")

    def called(self, entry: Entry) -> str:
        """What a file of this place is called."""
        return f"{self.path}{self.separator}{entry.name}"

    def _rank(self, entry: Entry, kinds: tuple[str, ...]) -> Rank | None:
        """How good a file is."""
        if not is_named(entry.name, self._patterns):
            return None
        reader = next((found for kind in kinds if (found := reader_of(entry, kind)) is not None), None)
        if entry.head.startswith(hdf5.SIGNATURE) and self._folder:
            try:
                reader = within_hdf5(self.path / entry.name) or reader
            except FileError:  # of no kind that we know
                return None
        if reader is None:
            return None
        main = f"{entry.name.rpartition('/')[0]}/{reader.PATTERNS[0]}".lstrip("/")
        if entry.name != main and main in self._names:
            return None  # it belongs to that file
        fitting = (n for n, pattern in enumerate(reader.PATTERNS) if is_named(entry.name, (pattern,)))
        place = list(reader_modules().values()).index(reader)
        return not reader.ALL_DIGITS, place, next(fitting, len(reader.PATTERNS))

    def _in_folder(self) -> tuple[Entry, ...]:
        """Files in this folder and those within; what cannot be looked into is passed over."""
        as_files = tuple(folder_patterns())
        found: list[Entry] = []
        looked_at = 0
        folders = [("", self.path)]
        for prefix, folder in folders:
            for entry in _listed(folder, must=folder == self.path):
                looked_at += 1
                if looked_at > MOST_ENTRIES:
                    raise FileError(f"{self.path}: expected {MOST_ENTRIES} files at most; name the one to read")
                name = f"{prefix}{entry.name}"
                with suppress(OSError):  # what has just been removed
                    is_folder, status = entry.is_dir(follow_symlinks=False), entry.stat()
                    if is_folder and not is_named(name, as_files):
                        if name.count("/") < _DEEPEST and not is_hidden(entry.name):
                            folders.append((f"{name}/", Path(entry.path)))
                    elif (is_folder or (entry.is_file() and status.st_size)) and not is_hidden(entry.name):
                        found.append(Entry(name, status.st_size, status.st_mtime))
        found.sort(key=lambda entry: entry.name)
        wanted = [n for n, entry in enumerate(found) if is_named(entry.name, self._patterns)][:_MOST_HEADS]
        for n in wanted:
            found[n] = replace(found[n], head=_head(self.path / found[n].name))
        return tuple(found)


def _listed(folder: Path, *, must: bool) -> Iterator[os.DirEntry[str]]:
    """What is in a folder; of one that cannot be read nothing, unless it must be."""
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError as error:
        if must:
            raise FileError(f"{folder}: cannot be read ({error.strerror or error})") from error


def is_place(path: Path) -> bool:
    """Whether at a path there is a folder, or an archive, that no reader takes for a file.

    Raises
    ------
    FileError
        When it is a file that cannot be read.
    """
    if path.is_dir():
        return not any(path.match(pattern) for pattern in folder_patterns())
    return path.is_file() and all(by_name(path, kind) is None for kind in KINDS) and is_archive(path)


def within_archive(text: str) -> tuple[Path, str] | None:
    """Archive and path in it, of `job.zip!inner.molden`; None of anything else."""
    text = os.path.expanduser(text)
    at = text.find(MEMBER)
    while at > 0 and not os.path.exists(text):
        if os.path.isfile(text[:at]):
            return Path(text[:at]), text[at + 1 :]
        at = text.find(MEMBER, at + 1)
    return None


def _isolated(function: Callable[..., Any], path: Path, *arguments: object) -> Any:
    return isolated(function, *arguments, name=path.name, library="Python", size=path.stat().st_size)


def _head(path: Path) -> bytes:
    """Beginning of a file; nothing of a folder, or of what cannot be read, which is told where it is chosen."""
    try:
        return beginning(path) if path.is_file() else b""
    except FileError:
        return b""
