"""Formats of files in: what a reader offers, which one reads a file, paths that users give, and volumes in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import FileError, LatticeError, OrbitileError
from ..base.packages import install_command
from ..base.registry import modules_of
from ..files import hdf5
from ..files.archives import Entry
from ..files.encodings import text_of
from ..files.plain import PlainFile, beginning, compression_of, matching, name_within
from ..files.reading import neighbour, read_bytes, user_path
from ..files.zarr import kind_of_store
from ..model.geometry import FARTHEST, Geometry
from ..model.lattice import Lattice
from ..model.units import angstrom
from ..model.volume import PointCharges, StoredVolume, Volume
from ._isolation import isolated

KINDS = ("wavefunction", "trajectory", "volume", "geometries", "structure")
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
    `Volume`, geometries as `Geometries`, a structure as a `Structure` (both given a second path or None too, of a file
    that names the elements). Lengths are in bohr, energies in hartree. Raises a `FileError` when the file is damaged or
    lacks something, and of a wavefunction a `ConventionError` when its orbitals are normalised in no convention that is
    known."""
    recognises: Callable[[str], bool] | None = None
    """Optional: whether the first characters of a file, as text, give it away whatever its name. Trajectories are
    recognised by these alone."""
    BINARY: bool = False
    """Optional: whether its files hold bytes that are no text."""
    FOLDERS: tuple[str, ...] = ()
    """Optional: those of the names that may be folders."""
    CONTENTS: tuple[str, ...] = ()
    """Optional, of a format within HDF5: names of what stands at the root of its files (groups, datasets, attributes),
    which together give it away whatever the name of the file."""
    STORE: str = ""
    """Optional, of a format of Zarr stores: what such a store says that it holds, of `orbitile.files.zarr.KINDS`."""
    ALL_DIGITS: bool = True
    """Optional: whether its files have all digits that there are; of a folder, those are read first."""
    others: Callable[[Path], tuple[Path, ...]] | None = None
    """Optional: files beside one of its own that belong to it, so that a change of theirs is seen."""
    read_beside: Callable[[Path, Path], Any] | None = None
    """Optional, of files that others of the same calculation lie beside: as `read`, given the plain file and the one
    that the user named, which may be compressed."""
    read_atoms: Callable[[Path], tuple[Any, Any, Any]] | None = None
    """Optional, of a format of volumes: atomic numbers, core charges and positions in bohr that a file names too."""
    plausible: Callable[[bytes], bool] | None = None
    """Optional, of a format of volumes whose name others use too: whether a file may be one by its first bytes."""
    open_volume: Callable[[Path], StoredVolume] | None = None
    """Optional, of a format of volumes: open one whose values are read part by part."""


def reader_modules() -> Mapping[str, Reader]:
    """All reader modules by name."""
    return modules_of(__package__, Reader, KINDS)


def patterns(*kinds: str) -> list[str]:
    """Names of files that hold something of these kinds: "*.molden", "*.fchk", ..."""
    return list(dict.fromkeys(pattern for reader in of_kind(*kinds) for pattern in reader.PATTERNS))


def descriptions(*kinds: str) -> list[str]:
    """What files hold something of these kinds, in words."""
    return [reader.DESCRIPTION for reader in of_kind(*kinds)]


def folder_patterns() -> list[str]:
    """Names of folders that are read as files are."""
    return [pattern for reader in reader_modules().values() for pattern in reader.FOLDERS]


def of_kind(*kinds: str) -> list[Reader]:
    return [reader for reader in reader_modules().values() if reader.KIND in kinds]


def recognising(start: bytes, kind: str) -> Reader | None:
    """The first module of a kind that recognises the beginning of a file."""
    head = start.decode("utf-8", errors="replace")
    fitting = (reader for reader in of_kind(kind) if reader.recognises is not None and reader.recognises(head))
    return next(fitting, None)


def stored_in(folder: Path, kind: str) -> Reader | None:
    """The module of a kind that reads such a Zarr store of ours, by what the store says that it holds.

    One that says nothing is damaged perhaps, and read by the module that knows its name, which says so.
    """
    held = kind_of_store(folder)
    stores = [reader for reader in of_kind(kind) if reader.STORE]
    named = (reader for reader in stores if not held and matching(reader.PATTERNS).fullmatch(folder.name.lower()))
    return next((reader for reader in stores if held == reader.STORE), next(named, None))


def within_hdf5(file: Path) -> Reader | None:
    """The module that knows an HDF5 file by what it contains; without the library that tells, by its name."""
    if find_spec("h5py") is None:
        named = by_name(file, "wavefunction")
        if named is not None and not file.name.lower().endswith((".h5", ".hdf5")):
            return named
        raise FileError(f"{file.name}: an HDF5 file; reading it needs h5py: {install_command('h5py')}")
    names = isolated(hdf5.root_names, file.absolute(), name=file.name, library="h5py", size=file.stat().st_size)
    fitting = [reader for reader in of_kind("wavefunction") if reader.CONTENTS]
    for reader in fitting:
        if names.issuperset(reader.CONTENTS):
            return reader
    named = by_name(file, "wavefunction")
    if named is not None and named.BINARY and not named.CONTENTS:
        return named
    known, got = ", ".join(reader.DESCRIPTION for reader in fitting), ", ".join(sorted(names)[:8]) or "nothing"
    raise FileError(
        f"{file.name}: an HDF5 file of no known kind, which contains {got}. Known: {known}. Of other programs, try a "
        "Molden file of the same calculation"
    )


def by_name(file: Path, kind: str) -> Reader | None:
    """The first module of a kind that reads files of such a name."""
    name = name_within(file.name).lower()
    return next((reader for reader in of_kind(kind) if matching(reader.PATTERNS).fullmatch(name)), None)


def known(kind: str) -> str:
    return ", ".join(patterns(kind))


def reader_of(entry: Entry, kind: str) -> Reader | None:
    """The module that reads a file by its beginning and its name; text has to be recognised where that is possible."""
    found = recognising(entry.head, kind) if entry.head else None
    named = by_name(Path(entry.name), kind)
    if found is not None or named is None:
        return found
    text = bool(entry.head) and b"\0" not in entry.head and compression_of(entry.head) is None
    return None if text and (named.recognises is not None or named.BINARY) else named


ACCEPTED = "!accept-damaged"
"""Behind the name of a file: it is opened though its orbitals are not orthonormal, with a warning that stays."""


def accepted(path: str | PathLike[str]) -> tuple[str, bool]:
    """A name without the mark for damaged files, and whether it was there."""
    text = fspath(path)
    plain = text.removesuffix(ACCEPTED)
    return plain, plain != text


def checked_path(path: str | PathLike[str], *, folders: bool = False) -> Path:
    """A file that is there and is not empty; a folder where it has the name of one that is read, or `folders` may be.

    Raises
    ------
    FileError
        When there is no such file, or it cannot be read.
    """
    file = user_path(path)
    try:
        if not folders and file.is_dir() and not any(file.match(pattern) for pattern in folder_patterns()):
            raise FileError(f"{file}: is a folder, expected a file")
        if not file.exists():
            raise FileError(f"{file}: no such file{neighbour(file)}")
        if file.is_file() and file.stat().st_size == 0:
            raise FileError(f"{file.name}: the file is empty")
    except OSError as error:
        raise FileError(f"{file}: cannot be read ({error.strerror})") from error
    except ValueError as error:  # a NUL character in the name
        raise FileError(f"{str(file)!r}: not a file name ({error})") from error
    return file


def load_volumes(path: str | PathLike[str]) -> tuple[Volume, ...]:
    """Read the volumes in a cube, OpenDX, MRC/CCP4 or Orbitile `.npz` file or a Zarr store.

    Raises
    ------
    FileError
        When the file cannot be read, is of no known format, or is damaged.
    """
    file = checked_path(path)
    reader = by_name(file, "volume")
    if reader is None:
        raise FileError(f"{file.name}: not a volume by its name. Known: {known('volume')}")
    with PlainFile(file) as plain, np.errstate(all="ignore"):  # absurd numbers, which are refused
        volumes: tuple[Volume, ...] = reader.read(plain.path)
    return volumes


def open_volume(path: str | PathLike[str]) -> StoredVolume:
    """Open a Zarr store of a volume, whose values are read part by part.

    Parameters
    ----------
    path
        A store that Orbitile wrote, or an image in three dimensions by the convention OME-Zarr (0.4, 0.5).

    Raises
    ------
    FileError
        When it cannot be read, is no such store, or its metadata are damaged. What is damaged of the values is told
        when they are read.

    Examples
    --------
    >>> wfn = ob.load("benzene.molden")
    >>> ob.compute_to_file(wfn, "homo", ob.Lattice.around(wfn, points=150), "homo.zarr")
    >>> stored = ob.open_volume("homo.zarr")
    >>> [header.lattice.shape for header in stored.headers]
    [(150, 141, 78), (75, 70, 39), (37, 35, 19)]
    >>> f"{max(abs(slab.values).max() for slab in stored.slabs()):.2f}"
    '0.22'
    >>> stored.within(1 << 20).whole().values.shape
    (75, 70, 39)
    """
    file = checked_path(path)
    reader = by_name(file, "volume")
    opened = None if reader is None or not file.is_dir() else reader.open_volume
    if opened is None:
        raise FileError(f"{file.name}: not a store of a volume by its name; read other files with load_volumes")
    return opened(file)


def holds_volumes(path: str | PathLike[str]) -> bool:
    """Whether a file is one of volumes, by its name; of a store, by what it says to hold."""
    file = Path(path)
    return by_name(file, "volume") is not None and kind_of_store(file) in ("", "volume")


def may_hold_volumes(path: str | PathLike[str]) -> bool:
    """The same, and not another kind of file with such a name, by its beginning.

    Raises
    ------
    FileError
        When it cannot be read.
    """
    file = Path(path).expanduser()
    reader = by_name(file, "volume")
    plausible = None if reader is None or not file.is_file() else reader.plausible
    return holds_volumes(file) and (plausible is None or plausible(beginning(file)))


def load_atoms(path: str | PathLike[str]) -> Geometry | None:
    """Read the atoms that a file of volumes names; None where it names none.

    Raises
    ------
    FileError
        When the file cannot be read or is damaged.
    """
    file = checked_path(path)
    reader = by_name(file, "volume")
    if reader is None or reader.read_atoms is None:
        return None
    with PlainFile(file) as plain:
        numbers, _, positions = reader.read_atoms(plain.path)
    try:
        return Geometry(numbers, positions) if len(numbers) else None
    except OrbitileError as error:
        raise FileError(f"{file.name}: {error}") from error


def lattice_of_file(where: str, origin: Reals, axes: Reals, shape: tuple[int, int, int]) -> Lattice:
    """The lattice that a file states, or a `FileError` that begins with where in the file it stands."""
    try:
        with np.errstate(all="ignore"):  # absurd lengths, which the lattice refuses
            return Lattice(origin, axes, shape)
    except LatticeError as error:
        raise FileError(f"{where}: {error}") from error


def require_finite(values: NDArray[np.floating], name: str) -> None:
    """Refuse values of a file that are not finite, with a `FileError` that names the first."""
    if not np.isfinite(values).all():
        bad = tuple(int(n) for n in np.argwhere(~np.isfinite(values))[0])
        raise FileError(f"{name}: the value at point {bad} is {values[bad]}, expected a finite number")


def load_charges(path: str | Path) -> PointCharges:
    """Read point charges: a .pqr file, or lines of x y z q in Angstrom and e.

    Raises
    ------
    FileError
        When there is no such file, or a line is damaged.
    """
    path = user_path(path)
    with PlainFile(path) as plain:
        lines = text_of(read_bytes(plain.path)).split("\n")
    rows: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        pqr = words[0] in ("ATOM", "HETATM")
        if path.suffix.lower() == ".pqr" and not pqr:
            continue
        # in a PQR file x, y, z, charge and radius are the last five of the fields, whichever of the others are there
        fields = words[-5:-1] if pqr else words[:4]
        try:
            row = [float(field) for field in fields]
        except ValueError:
            row = []
        if len(row) != 4 or not all(abs(number) <= FARTHEST for number in row):
            raise FileError(f"{path.name}, line {number}: expected x y z (Angstrom) and q (e), got {line.strip()!r}")
        rows.append(row)
    if not rows:
        raise FileError(f"{path.name}: no charges in it; expected a .pqr file, or lines of x y z q")
    table = np.array(rows)
    return PointCharges(table[:, :3] * angstrom, table[:, 3])
