"""Files in: one module a format, found by name; `Reader` says what each of them offers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..errors import FileError, OrbitileError
from ..files import hdf5
from ..files.plain import PlainFile, beginning, name_within
from ..files.reading import user_path
from ..gaussians.orthonormality import checked
from ..model.geometry import Geometries, Geometry
from ..model.trajectory import Frames, Trajectory
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction
from ..registry import modules_of
from ._isolation import isolated

KINDS = ("wavefunction", "trajectory", "volume", "geometries")
"""What a format may hold."""


class Reader(Protocol):
    """What a module offers that reads a format."""

    DESCRIPTION: str
    """For people, such as "Gaussian cube files"."""
    PATTERNS: tuple[str, ...]
    """Names of its files in small letters, such as "*.cube"."""
    KIND: str
    """What it holds, of `KINDS`."""
    read: Callable[..., Any]
    """Read a file, given its path: a wavefunction as a `Wavefunction`, a trajectory as `Frames`, volumes as a tuple of
    `Volume`, geometries as `Geometries` (these given a second path or None too, of a file that names the elements).
    Lengths are in bohr, energies in hartree. Raises a `FileError` when the file is damaged or lacks something, and of
    a wavefunction a `ConventionError` when its orbitals are normalised in no convention that is known."""
    recognises: Callable[[str], bool] | None = None
    """Optional: whether the first characters of a file, as text, give it away whatever its name. Trajectories are
    recognised by these alone."""
    BINARY: bool = False
    """Optional: whether its files hold bytes that are no text."""
    FOLDERS: tuple[str, ...] = ()
    """Optional: those of the names that may be folders."""
    read_beside: Callable[[Path, Path], Any] | None = None
    """Optional, of files that others of the same calculation lie beside: as `read`, given the plain file and the one
    that the user named, which may be compressed."""
    CONTENTS: tuple[str, ...] = ()
    """Optional, of a format within HDF5: names of what stands at the root of its files (groups, datasets, attributes),
    which together give it away whatever the name of the file."""
    read_atoms: Callable[[Path], tuple[Any, Any, Any]] | None = None
    """Optional, of a format of volumes: atomic numbers, core charges and positions in bohr that a file names too."""


def reader_modules() -> Mapping[str, Reader]:
    """All reader modules by name."""
    return modules_of(__name__, Reader, KINDS)


def patterns(*kinds: str) -> list[str]:
    """Names of files that hold something of these kinds: "*.molden", "*.fchk", ..."""
    return list(dict.fromkeys(pattern for reader in _of_kind(*kinds) for pattern in reader.PATTERNS))


def descriptions(*kinds: str) -> list[str]:
    """What files hold something of these kinds, in words."""
    return [reader.DESCRIPTION for reader in _of_kind(*kinds)]


def folder_patterns() -> list[str]:
    """Names of folders that are read as files are."""
    return [pattern for reader in reader_modules().values() for pattern in reader.FOLDERS]


def load(path: str | PathLike[str]) -> Wavefunction:
    """Read a wavefunction from the output of a quantum-chemistry program, and check it.

    Parameters
    ----------
    path
        A Molden, fchk, mkl, wfn, wfx, mwfn or TREXIO file, or a log of Gaussian, ORCA, GAMESS, NWChem, Psi4, Q-Chem or
        Molpro in which basis set and orbital coefficients are printed.

    Raises
    ------
    FileError
        When the file cannot be read, is of no known format, is damaged, or lacks basis set or orbitals.
    ConventionError
        When its orbitals are not orthonormal in any convention that we know; such a file is never drawn.
    """
    file = _checked_path(path)
    with PlainFile(file) as plain, np.errstate(all="ignore"):  # absurd numbers, which are refused
        try:
            wavefunction = checked(_wavefunction_in(plain.path, file))
        except FileError:
            raise
        except OrbitileError as error:  # the model refuses what the reader took for a wavefunction
            raise FileError(f"{file.name}: {error}") from error
    return wavefunction if plain.path == file else replace(wavefunction, source=str(file))


def load_volumes(path: str | PathLike[str]) -> tuple[Volume, ...]:
    """Read the volumes in a cube, OpenDX, MRC/CCP4 or Orbitile `.npz` file.

    Raises
    ------
    FileError
        When the file cannot be read, is of no known format, or is damaged.
    """
    file = _checked_path(path)
    reader = _by_name(file, "volume")
    if reader is None:
        raise FileError(f"{file.name}: not a volume by its name. Known: {_known('volume')}")
    with PlainFile(file) as plain, np.errstate(all="ignore"):  # absurd numbers, which are refused
        volumes: tuple[Volume, ...] = reader.read(plain.path)
    return volumes


def holds_volumes(path: str | PathLike[str]) -> bool:
    """Whether a file is one of volumes, by its name."""
    return _by_name(Path(path), "volume") is not None


def load_atoms(path: str | PathLike[str]) -> Geometry | None:
    """Read the atoms that a file of volumes names; None where it names none.

    Raises
    ------
    FileError
        When the file cannot be read or is damaged.
    """
    file = _checked_path(path)
    reader = _by_name(file, "volume")
    if reader is None or reader.read_atoms is None:
        return None
    with PlainFile(file) as plain:
        numbers, _, positions = reader.read_atoms(plain.path)
    try:
        return Geometry(numbers, positions) if len(numbers) else None
    except OrbitileError as error:
        raise FileError(f"{file.name}: {error}") from error


class FileFrames:
    """Frames in files of their own: `Frames` of a `Trajectory`."""

    def __init__(self, files: tuple[Path, ...]) -> None:
        self._files = files

    @property
    def name(self) -> str:
        """The first and the last file."""
        names = [file.name for file in self._files]
        return names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]}"

    def __len__(self) -> int:
        return len(self._files)

    def read(self, index: int) -> Wavefunction:
        """Read and check the wavefunction of one file."""
        return load(self._files[index])


def load_trajectory(source: str | PathLike[str] | Iterable[str | PathLike[str]], *, kept: int = 4) -> Trajectory:
    """Open a trajectory; its frames are read when they are asked for.

    Parameters
    ----------
    source
        A series file; a Molden file of several frames; a log that prints orbitals at several geometries (many programs
        print them at the first and the last one of an optimisation unless told otherwise); any file that `load` reads,
        for a trajectory of one frame; a pattern such as "scan/*.molden", whose files are taken in natural order (2
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
        files = tuple(_checked_path(path) for path in source)
        if not files:
            raise FileError("trajectory: expected files, got none")
        if len(files) > 1:
            return Trajectory(FileFrames(files), kept)
        source = files[0]
    text = fspath(source)
    if any(letter in text for letter in "*?[") and not _exists(text):
        return load_trajectory(_matching(text), kept=kept)
    file = _checked_path(text)
    reader = _trajectory_reader(file)
    return Trajectory(FileFrames((file,)) if reader is None else reader.read(file), kept)


def load_geometries(path: str | PathLike[str], topology: str | PathLike[str] | None = None) -> Geometries:
    """Open a trajectory of geometries without orbitals.

    Parameters
    ----------
    path
        An xyz or extended xyz file; with a topology DCD, XTC, TRR, NetCDF; PDB, GRO.
    topology
        File that names the elements, where `path` does not.

    Raises
    ------
    FileError
        When a file is missing, damaged, or of no known format.
    """
    file = _checked_path(path)
    reader = _by_name(file, "geometries")
    if reader is None:
        raise FileError(f"{file.name}: not a trajectory of geometries by its name. Known: {_known('geometries')}")
    geometries: Geometries = reader.read(file, None if topology is None else _checked_path(topology))
    return geometries


def natural_order(path: str | PathLike[str]) -> list[tuple[int, int | str]]:
    """Key by which to sort names so that numbers in them count as numbers: frame2 before frame10."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", fspath(path)) if part]


def _exists(text: str) -> bool:
    try:
        return user_path(text).exists()
    except (OSError, FileError, ValueError):  # a name too long, ~name of nobody here, a NUL character
        return False


def _matching(pattern: str) -> list[str]:
    from glob import glob

    found = sorted(glob(str(user_path(pattern))), key=natural_order)
    if not found:
        raise FileError(f"{pattern}: no such file, and none matches this as a pattern")
    return found


def _trajectory_reader(file: Path) -> Reader | None:
    """The module that reads many frames of such a file, or None where one frame is all that it can hold."""
    if not file.is_file():
        return None
    return _recognising(beginning(file), "trajectory")


def _checked_path(path: str | PathLike[str]) -> Path:
    file = user_path(path)
    try:
        if file.is_dir() and not any(file.match(pattern) for pattern in folder_patterns()):
            raise FileError(f"{file}: is a folder, expected a file")
        if not file.exists():
            raise FileError(f"{file}: no such file{_neighbour(file)}")
        if file.is_file() and file.stat().st_size == 0:
            raise FileError(f"{file.name}: the file is empty")
    except OSError as error:
        raise FileError(f"{file}: cannot be read ({error.strerror})") from error
    except ValueError as error:  # a NUL character in the name
        raise FileError(f"{str(file)!r}: not a file name ({error})") from error
    return file


def _neighbour(file: Path) -> str:
    from difflib import get_close_matches

    try:
        names = [entry.name for entry in file.parent.iterdir()]
    except OSError:
        return f" (nor a folder {file.parent})"
    close = get_close_matches(file.name, names, 1)
    return f". Did you mean {close[0]}?" if close else ""


def _of_kind(*kinds: str) -> list[Reader]:
    return [reader for reader in reader_modules().values() if reader.KIND in kinds]


def _recognising(start: bytes, kind: str) -> Reader | None:
    """The first module of a kind that recognises the beginning of a file."""
    head = start.decode("utf-8", errors="replace")
    fitting = (reader for reader in _of_kind(kind) if reader.recognises is not None and reader.recognises(head))
    return next(fitting, None)


def _wavefunction_in(file: Path, original: Path) -> Wavefunction:
    """What a plain file holds; the original is the one that the user named."""

    def read_by(reader: Reader) -> Wavefunction:
        found: Wavefunction = reader.read(file) if reader.read_beside is None else reader.read_beside(file, original)
        return found

    if file.is_file():
        start = beginning(file)
        recognising = _recognising(start, "wavefunction")
        if recognising is not None:
            return read_by(recognising)
        trajectory = _trajectory_reader(file)
        if trajectory is not None:
            return _only_frame(file, trajectory.read(file))
        binary = b"\0" in start
        within = _within_hdf5(file) if start.startswith(hdf5.SIGNATURE) else None
    else:
        binary, within = False, None
    named = within or _by_name(file, "wavefunction")
    if named is not None and (not binary or named.BINARY):
        return read_by(named)
    if _by_name(file, "volume") is not None:
        raise FileError(f"{file.name}: holds a volume, not a wavefunction; read it with load_volumes")
    if binary:
        hint = "; a Gaussian .chk file becomes readable by formchk" if file.suffix.lower() == ".chk" else ""
        raise FileError(f"{file.name}: a binary file of no known format{hint}. Known: {_known('wavefunction')}")
    raise FileError(f"{file.name}: not recognised by its beginning nor by its name. Known: {_known('wavefunction')}")


def _within_hdf5(file: Path) -> Reader | None:
    """The module that knows an HDF5 file by what it contains; None where the library that tells is not installed."""
    if find_spec("h5py") is None:
        return None
    names = isolated(hdf5.root_names, file, name=file.name, library="h5py", size=file.stat().st_size)
    fitting = [reader for reader in _of_kind("wavefunction") if reader.CONTENTS]
    for reader in fitting:
        if names.issuperset(reader.CONTENTS):
            return reader
    known = ", ".join(reader.DESCRIPTION for reader in fitting)
    raise FileError(
        f"{file.name}: an HDF5 file of no known kind; it contains {', '.join(sorted(names)[:8]) or 'nothing'}. "
        f"Known: {known}. Of other programs, a Molden file of the same calculation would do"
    )


def _only_frame(file: Path, frames: Frames) -> Wavefunction:
    n = len(frames)
    if n != 1:
        raise FileError(
            f"{file.name}: holds a trajectory of {n} frames, not one wavefunction; choose one with --frame, in Python "
            "with load_trajectory"
        )
    return frames.read(0)


def _by_name(file: Path, kind: str) -> Reader | None:
    name = Path(name_within(file).lower())
    fitting = (reader for reader in _of_kind(kind) if any(name.match(pattern) for pattern in reader.PATTERNS))
    return next(fitting, None)


def _known(kind: str) -> str:
    return ", ".join(patterns(kind))


__all__ = [
    "KINDS",
    "Reader",
    "descriptions",
    "folder_patterns",
    "holds_volumes",
    "load",
    "load_atoms",
    "load_geometries",
    "load_trajectory",
    "load_volumes",
    "natural_order",
    "patterns",
    "reader_modules",
]
