r"""The series file: a trajectory of wavefunctions in one HDF5 file, appended frame by frame.

Layout, version 1. The first 512 bytes (a user block of HDF5) begin with `Orbitile series 1` and a line end. Lengths in
bohr, energies in hartree; F frames, N atoms, B basis functions, M orbitals at most, K shells, P primitives.

===================== ============== ======== =======================================================================
name                  shape          type     meaning
===================== ============== ======== =======================================================================
frames                ()             int64    number of committed frames; whatever lies beyond it is not part of it
atomic_numbers        (N,)           int64    elements, 0 for ghosts
core_charges          (N,)           float64  charges that the electrons see
basis/atom            (K,)           int64    atom of each shell, from 0
basis/momentum        (K,)           int64    angular momentum
basis/pure            (K,)           uint8    1 for real solid harmonics, 0 for Cartesian functions
basis/n_primitives    (K,)           int64    primitives of each shell
basis/exponents       (P,)           float64  shell after shell
basis/coefficients    (P,)           float64  of normalised primitives
positions             (F, N, 3)      float64
number                (F,)           int64    number of the frame in what the series was made from, from 0
SPIN/coefficients     (F, B, M)      float64  SPIN is alpha (or both spins), and beta where there are two sets
SPIN/occupations      (F, M)         float64
SPIN/energies         (F, M)         float64  NaN where unknown
SPIN/n_orbitals       (F,)           int64    orbitals of the frame; columns beyond it hold nothing
===================== ============== ======== =======================================================================

Attributes of the file: `version`, `natural`, `title`, `program`, `method`, `settings` (text of a calculation, empty
otherwise). Order, signs and norms of basis functions are those of `orbitile.conventions`.

A frame is written, flushed, and then counted in `frames`, which is flushed too. The file is in HDF5's mode for a single
writer and many readers (SWMR) from the moment it has its name, so that metadata reach it in an order in which it is
sound at every moment: other processes read it while it grows, and a writer that is killed leaves all committed frames.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import numpy as np

from .check import checked
from .errors import FileError, OrbitileError
from .files import checked_target
from .geometry import check_atoms
from .plain_files import PlainFile
from .wavefunction import Orbitals, Shell, Wavefunction

MAGIC = b"Orbitile series 1\n"

_USER_BLOCK = 512
_PIECE = 4 << 20
"""Bytes set aside beyond what a frame needs; given back when the file is closed."""

_SPINS = ("alpha", "beta")

_FEW_BYTES = 8 << 20
"""Coefficients up to here are all looked at when it is told whether two series are the same."""


def require_series(path: str | PathLike[str]) -> None:
    """Refuse to replace a file that is there and is no series file: it may be somebody's only wavefunction.

    Raises
    ------
    FileError
        When there is such a file.
    """
    target = checked_target(path)
    if target.exists() and target.stat().st_size and not _library(target.name).is_hdf5(target):
        raise FileError(f"{path}: is there already and is no series file; choose another name, such as path.h5")


class SeriesWriter:
    """Writes a series file frame by frame; each one is there for good when `append` returns.

    Parameters
    ----------
    path
        The file. One that is there is continued if it is a series, and refused otherwise.
    settings
        Text that says how the frames were computed; a series is continued with the same settings only.

    Attributes
    ----------
    numbers : list of int
        Frames of the source that are in the file.

    Raises
    ------
    FileError
        When the file cannot be written, belongs to another writer, is no series, or has other settings.

    Notes
    -----
    HDF5 marks a file that was open for writing when its process ended, and refuses to continue it. Continuing
    therefore copies the committed frames to a new file, which takes the place of the old one when it is complete.
    """

    def __init__(self, path: str | PathLike[str], *, settings: str = "") -> None:
        self._h5py = _library(Path(path).name)
        self._path = checked_target(path)
        self._settings = settings
        self._file: Any = None
        self._lock: int | None = None
        self._temporary: Path | None = None
        self._limit = 0
        self.numbers: list[int] = []
        if self._path.exists():
            lock = _claim(self._path)
            try:
                self._continue()
            finally:
                os.close(lock)

    def _continue(self) -> None:
        old = SeriesFrames(self._path)
        try:
            if old.settings != self._settings:
                raise FileError(
                    f"{self._path.name}: was computed with other settings ({old.settings or 'none noted'}), expected "
                    f"{self._settings or 'none'}; use these, or write to another file"
                )
            for index in range(len(old)):
                self._write(old.read(index, check=False), old.number(index))
            self._publish()
        except BaseException:
            self.close()
            raise
        finally:
            old.close()

    def append(self, wavefunction: Wavefunction, number: int | None = None) -> None:
        """Add a frame.

        Parameters
        ----------
        wavefunction
            Same atoms in the same order, same basis set, same spins as in the first frame.
        number
            Of the frame in its source, from 0; by default one more than the last.

        Raises
        ------
        FileError
            When the frame does not fit to the first one, or cannot be written. The file is then as it was.
        """
        self._write(wavefunction, number)
        self._publish()

    def _write(self, wavefunction: Wavefunction, number: int | None) -> None:
        number = (self.numbers[-1] + 1 if self.numbers else 0) if number is None else number
        try:
            if self._file is None:
                self._create(wavefunction)
            reason = self._first.mismatch(wavefunction)
            if reason:
                raise FileError(f"frame {number + 1} {reason}; a series file holds one basis set")
            file, index = self._file, len(self.numbers)
            self._set_aside(_room(wavefunction))
            self._put("positions", index, wavefunction.positions)
            self._put("number", index, number)
            for spin, orbitals in _sets(wavefunction):
                self._put(f"{spin}/coefficients", index, orbitals.coefficients)
                self._put(f"{spin}/occupations", index, orbitals.occupations)
                self._put(f"{spin}/energies", index, orbitals.energies)
                self._put(f"{spin}/n_orbitals", index, len(orbitals))
            file.flush()
            file["frames"][()] = index + 1
            file.flush()
        except (OSError, RuntimeError) as error:
            raise FileError(f"{self._path}: cannot be written ({error})") from error
        self.numbers.append(number)

    def _set_aside(self, n_bytes: int) -> None:
        """Make sure of room on the disk, in pieces of some megabytes, since asking takes longer than a small frame."""
        end = self._file.id.get_filesize()
        if self._lock is not None and end + n_bytes > self._limit:
            os.posix_fallocate(self._lock, end, n_bytes + _PIECE)
            self._limit = end + n_bytes + _PIECE

    def _put(self, name: str, index: int, values: Any) -> None:
        data = self._file[name]
        values = np.asarray(values)
        needed = (index + 1, *(max(n, m) for n, m in zip(values.shape, data.shape[1:], strict=True)))
        if data.shape != needed:
            data.resize(needed)
        data[(index, *(slice(n) for n in values.shape))] = values

    def _create(self, first: Wavefunction) -> None:
        """A file without frames, in SWMR mode, and under a temporary name."""
        self._first = _Frame(first)
        self._temporary = temporary = self._path.with_name(f".orbitile-{secrets.token_hex(6)}.h5")
        with temporary.open("xb") as stream:
            os.posix_fallocate(stream.fileno(), 0, _room(first))
        file = self._h5py.File(temporary, "w", libver="latest", userblock_size=_USER_BLOCK, locking=False)
        self._file = file
        file.attrs.update(
            version=1,
            natural=first.natural,
            title=first.title,
            program=first.program,
            method=first.method,
            settings=self._settings,
        )
        file["frames"] = np.int64(0)
        file["atomic_numbers"], file["core_charges"] = first.atomic_numbers, first.core_charges
        shells = first.shells
        file["basis/atom"] = np.array([shell.atom for shell in shells])
        file["basis/momentum"] = np.array([shell.angular_momentum for shell in shells])
        file["basis/pure"] = np.array([shell.pure for shell in shells], np.uint8)
        file["basis/n_primitives"] = np.array([len(shell.exponents) for shell in shells])
        file["basis/exponents"] = np.concatenate([shell.exponents for shell in shells])
        file["basis/coefficients"] = np.concatenate([shell.coefficients for shell in shells])
        self._growing("positions", (first.n_atoms, 3))
        self._growing("number", (), np.int64)
        for spin, orbitals in _sets(first):
            self._growing(f"{spin}/coefficients", orbitals.coefficients.shape)
            self._growing(f"{spin}/occupations", (len(orbitals),))
            self._growing(f"{spin}/energies", (len(orbitals),))
            self._growing(f"{spin}/n_orbitals", (), np.int64)
        file.swmr_mode = True
        with temporary.open("r+b") as stream:
            stream.write(MAGIC)
        self._lock = _claim(temporary)

    def _publish(self) -> None:
        """Give the file its name, once its first frames are committed."""
        if self._temporary is None:
            return
        try:
            os.replace(self._temporary, self._path)
        except OSError as error:
            raise FileError(f"{self._path}: cannot be written ({error.strerror or error})") from error
        self._temporary = None

    def _growing(self, name: str, shape: tuple[int, ...], dtype: type = np.float64) -> None:
        """A dataset without frames, in chunks of a frame, or of many that are small."""
        # sets of orbitals may become larger, since linear dependence comes and goes with the geometry
        limits = (*shape[:-1], None) if "/" in name and shape else shape
        per_chunk = max(1, (1 << 16) // (8 * max(1, int(np.prod(shape)))))
        chunks = (per_chunk, *(max(n, 1) for n in shape))
        self._file.create_dataset(name, (0, *shape), dtype, maxshape=(None, *limits), chunks=chunks)

    def close(self) -> None:
        """Leave the file as one that is complete; it can be continued later."""
        end = 0
        if self._file is not None:
            end = self._file.id.get_filesize()
            self._file.close()
            self._file = None
        if self._lock is not None:
            if os.fstat(self._lock).st_size > end > 0:
                os.ftruncate(self._lock, end)  # room that was not needed
            os.close(self._lock)
            self._lock = None
        if self._temporary is not None:
            with suppress(OSError):  # it is no loss where it stays, and an error that led here is the one to be told
                self._temporary.unlink()
            self._temporary = None

    def __enter__(self) -> SeriesWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class SeriesFrames:
    """Frames of a series file, which may be growing: `Frames` of a `Trajectory`.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    FileError
        When it is no series, of a later version, or damaged.
    """

    def __init__(self, path: Path) -> None:
        h5py = _library(path.name)
        self._path = path
        self._plain = PlainFile(path)
        with _translated(path):
            with self._plain.path.open("rb") as stream:
                head = stream.read(_USER_BLOCK + 48)
            if not head.startswith(MAGIC):
                raise FileError(f"expected a series file, which begins with {MAGIC.decode().strip()!r}")
            self._growing = _is_open(head[_USER_BLOCK:], self._plain.path.stat().st_size)
            self._file = h5py.File(self._plain.path, "r", libver="latest", swmr=self._growing, locking=False)
            file = self._file
            self.settings = str(file.attrs["settings"])
            ends = np.cumsum(file["basis/n_primitives"][()])
            exponents, contraction = (
                np.split(file[f"basis/{n}"][()], ends[:-1]) for n in ("exponents", "coefficients")
            )
            kinds = (file[f"basis/{n}"][()] for n in ("atom", "momentum", "pure"))
            self._shells = tuple(Shell(*one) for one in zip(*kinds, exponents, contraction, strict=True))
            self._fixed = {
                "atomic_numbers": file["atomic_numbers"][()],
                "core_charges": file["core_charges"][()],
                "shells": self._shells,
                "natural": bool(file.attrs["natural"]),
                **{name: str(file.attrs[name]) for name in ("title", "program", "method")},
            }

    @property
    def name(self) -> str:
        """Name of the file."""
        return self._path.name

    def __len__(self) -> int:
        with _translated(self._path):
            if self._growing:
                self._file["frames"].refresh()
            return int(self._file["frames"][()])

    def geometries(self) -> Any:
        """Positions of all frames, shape (n_frames, n_atoms, 3), in bohr."""
        n = len(self)
        with _translated(self._path):
            data = self._file["positions"]
            if data.shape[0] < n:
                data.refresh()
            positions = data[:n]
            check_atoms(self._fixed["atomic_numbers"], positions)
            return positions

    def feed(self, take: Callable[[bytes], None], n_frames: int) -> None:
        """Hand over what tells the first frames from others: all numbers but coefficients.

        Those too where they are few, otherwise those of the first and of the last frame: they go with the energies.
        """
        with _translated(self._path):
            for name in ("title", "program", "method", "settings", "natural"):
                take(f"{name}={self._file.attrs[name]};".encode())
            names = ["atomic_numbers", "core_charges", *(f"basis/{name}" for name in sorted(self._file["basis"]))]
            for name in names:
                take(self._file[name][()].tobytes())
            parts = ("occupations", "energies", "n_orbitals", "coefficients")
            names = [f"{spin}/{part}" for spin in _SPINS if spin in self._file for part in parts]
            for name in ("positions", "number", *names):
                data = self._file[name]
                if data.shape[0] < n_frames:
                    data.refresh()
                n_bytes = n_frames * data.dtype.itemsize * int(np.prod(data.shape[1:]))
                whole = n_bytes <= _FEW_BYTES or not name.endswith("coefficients")
                for part in (slice(n_frames),) if whole else (slice(1), slice(n_frames - 1, n_frames)):
                    take(data[part].tobytes())

    def number(self, index: int) -> int:
        """Number of a frame in what the series was made from, from 0."""
        with _translated(self._path):
            return int(self._part("number", index))

    def read(self, index: int, *, check: bool = True) -> Wavefunction:
        """Read one frame, and check it unless told otherwise."""
        with _translated(self._path):
            sets: dict[str, Any] = {spin: self._orbitals(spin, index) for spin in _SPINS if spin in self._file}
            positions = self._part("positions", index)
            wavefunction = Wavefunction(
                positions=positions, source=f"{self._path}, frame {index + 1}", **self._fixed, **sets
            )
        return checked(wavefunction) if check else wavefunction

    def _orbitals(self, spin: str, index: int) -> Orbitals:
        n = int(self._part(f"{spin}/n_orbitals", index))
        names = ("coefficients", "occupations", "energies")
        return Orbitals(*(self._part(f"{spin}/{name}", index)[..., :n] for name in names))

    def _part(self, name: str, index: int) -> Any:
        data = self._file[name]
        if data.shape[0] <= index:
            data.refresh()
        return data[index]

    def close(self) -> None:
        """Close the file; frames cannot be read any more."""
        self._file.close()
        self._plain.close()


def _is_open(superblock: bytes, size: int) -> bool:
    """Whether a file is being written, or its writer was killed: as the superblock of HDF5, version 3, says.

    Only then is it read in SWMR mode, which waits for what a writer is about to complete, for ever where there is none
    and the file was cut off.

    Raises
    ------
    FileError
        When the file is shorter than it says.
    """
    end = int.from_bytes(superblock[28:36], "little")
    if size < max(end, _USER_BLOCK + 48):
        raise FileError(f"cut off: {size} bytes, expected {max(end, 560)} at least")
    return superblock[11] != 0


class _Frame:
    """What all frames of a series share."""

    def __init__(self, wavefunction: Wavefunction) -> None:
        self._numbers = wavefunction.atomic_numbers
        self._shells = wavefunction.shells
        self._spins = len(_sets(wavefunction))

    def mismatch(self, other: Wavefunction) -> str:
        """Why a frame cannot follow, empty where it can."""
        if not np.array_equal(self._numbers, other.atomic_numbers):
            return "has other atoms, or the same in another order"
        if len(_sets(other)) != self._spins:
            return f"has {len(_sets(other))} sets of orbitals, expected {self._spins}"
        return "" if same_basis(self._shells, other.shells) else "has another basis set than the first one"


def same_basis(one: tuple[Shell, ...], other: tuple[Shell, ...]) -> bool:
    """Whether two lists of shells stand for the same basis functions, to the digits that files print."""
    return one is other or (
        len(one) == len(other)
        and all(
            (a.atom, a.angular_momentum, a.pure, len(a.exponents))
            == (b.atom, b.angular_momentum, b.pure, len(b.exponents))
            and np.allclose(a.exponents, b.exponents, rtol=1e-6)
            and np.allclose(a.coefficients, b.coefficients, rtol=1e-5, atol=1e-7)
            for a, b in zip(one, other, strict=True)
        )
    )


def _room(wavefunction: Wavefunction) -> int:
    """Bytes that are set aside before a frame is written: HDF5 does not survive a full disk, and this refuses it."""
    numbers = sum(orbitals.coefficients.size + 3 * len(orbitals) for _, orbitals in _sets(wavefunction))
    return 8 * (numbers + wavefunction.positions.size) + (1 << 20)


def _sets(wavefunction: Wavefunction) -> list[tuple[str, Orbitals]]:
    sets = zip(_SPINS, (wavefunction.alpha, wavefunction.beta), strict=True)
    return [(spin, orbitals) for spin, orbitals in sets if orbitals is not None]


def _claim(path: Path) -> int:
    """Lock a file against other writers until the descriptor is closed, at the latest when this process ends.

    Raises
    ------
    FileError
        When another process writes it, or nobody may.
    """
    import fcntl

    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror})") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise FileError(f"{path.name}: another process is writing it; wait for it, or stop it") from error
    except OSError:
        pass  # a file system without locks
    return descriptor


def _library(name: str) -> ModuleType:
    try:
        import h5py
    except ImportError as error:
        raise FileError(f"{name}: series files need the package h5py: pip install 'orbitile[trajectories]'") from error
    module: ModuleType = h5py
    return module


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """What h5py raises of a damaged file, in one line."""
    try:
        yield
    except OrbitileError as error:
        raise FileError(f"{path.name}: {error}") from error
    except (OSError, KeyError, ValueError, TypeError, RuntimeError, IndexError, AttributeError) as error:
        detail = str(error).split("\n")[0]
        raise FileError(f"{path.name}: damaged series file ({type(error).__name__}: {detail})") from error
