"""Files in: one module a format, found by name; `Reader` says what each of them offers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from ..base.errors import FileError, OrbitileError
from ..files import hdf5
from ..files.archives import Entry
from ..files.plain import PlainFile, beginning
from ..files.reading import user_path
from ..gaussians.orthonormality import accepting_damaged, checked
from ..model.geometry import Geometries, Geometry
from ..model.trajectory import Frames, Trajectory
from ..model.wavefunction import Wavefunction
from ._formats import (
    ACCEPTED,
    KINDS,
    Reader,
    accepted,
    by_name,
    checked_path,
    descriptions,
    folder_patterns,
    holds_volumes,
    known,
    load_atoms,
    load_charges,
    load_volumes,
    may_hold_volumes,
    open_volume,
    patterns,
    reader_modules,
    recognising,
    stored_in,
    within_hdf5,
)
from ._places import MEMBER, Place, is_place, within_archive

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
            raise FileError(
                f"{file.name}: not a trajectory of geometries by its name. Known: {known('geometries')}; and no "
                f"wavefunction: {error}"
            ) from error
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


__all__ = [
    "ACCEPTED",
    "KINDS",
    "MEMBER",
    "Reader",
    "descriptions",
    "files_of",
    "folder_patterns",
    "holds_volumes",
    "is_place",
    "is_there",
    "load",
    "load_atoms",
    "load_charges",
    "load_geometries",
    "load_trajectory",
    "load_volumes",
    "may_hold_volumes",
    "natural_order",
    "open_volume",
    "patterns",
    "reader_modules",
    "series_in",
]
