"""Series files, written frame by frame; `orbitile.readers.series` says what is in them."""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import suppress
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ..errors import FileError
from ..files.hdf5 import MAGIC, USER_BLOCK, library
from ..files.writing import checked_target, make_room
from ..model.cell import molecules_only
from ..model.wavefunction import Wavefunction
from ..readers.series import SeriesFrame, SeriesFrames, orbital_sets

_PIECE = 4 << 20
"""Bytes set aside beyond what a frame needs; given back when the file is closed."""

_MOVES_OPEN_FILES = os.name != "nt"
"""Whether a file that is open can get another name here, or replace one that is."""


def require_series(path: str | PathLike[str]) -> None:
    """Refuse to replace a file that is there and is no series file: it may be somebody's only wavefunction.

    Raises
    ------
    FileError
        When there is such a file.
    """
    target = checked_target(path)
    if target.exists() and target.stat().st_size and not library(target.name).is_hdf5(target):
        raise FileError(f"{path}: is there already and is no series file; choose another name, such as path.h5")


class SeriesWriter:
    """Writes a series file frame by frame; each one is there for good when `append` returns.

    Parameters
    ----------
    path
        The file. One that is there is continued if it is a series, and refused otherwise.
    settings
        Text that says how the frames were computed; a series is continued with the same settings only.
    most
        Frames that it is going to have at most, where that is known: room is set aside for no more.

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

    def __init__(self, path: str | PathLike[str], *, settings: str = "", most: int | None = None) -> None:
        self._h5py = library(Path(path).name)
        self._path = checked_target(path)
        self._settings = settings
        self._most = most
        self._file: Any = None
        self._lock: int | None = None
        self._temporary: Path | None = None
        self._limit = 0
        self.numbers: list[int] = []
        if self._path.exists():
            lock = _claim(self._path)
            try:
                self._continue()
                if _MOVES_OPEN_FILES:
                    self._publish()
            except BaseException:
                self.close()
                raise
            finally:
                os.close(lock)
            self._publish()

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
            for spin, orbitals in orbital_sets(wavefunction):
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
            make_room(self._lock, end, n_bytes + _PIECE, self._path)
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
        molecules_only(first, "series", "such a file does not keep the cell")
        self._first = SeriesFrame(first)
        self._temporary = temporary = self._path.with_name(f".orbitile-{secrets.token_hex(6)}.h5")
        with temporary.open("xb") as stream:
            make_room(stream.fileno(), 0, _room(first), temporary)
        file = self._h5py.File(temporary, "w", libver="latest", userblock_size=USER_BLOCK, locking=False)
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
        for spin, orbitals in orbital_sets(first):
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
        if not _MOVES_OPEN_FILES:
            self._release()
        try:
            os.replace(self._temporary, self._path)
        except OSError as error:
            raise FileError(f"{self._path}: cannot be written ({error.strerror or error})") from error
        self._temporary = None
        if self._file is None:
            self._file = self._h5py.File(self._path, "r+", libver="latest", locking=False)
            self._file.swmr_mode = True
            self._lock = _claim(self._path)

    def _growing(self, name: str, shape: tuple[int, ...], dtype: type = np.float64) -> None:
        """A dataset without frames, in chunks of a frame, or of many that are small."""
        # sets of orbitals may become larger, since linear dependence comes and goes with the geometry
        limits = (*shape[:-1], None) if "/" in name and shape else shape
        per_chunk = max(1, (1 << 16) // (8 * max(1, int(np.prod(shape)))))
        chunks = (min(per_chunk, self._most or per_chunk), *(max(n, 1) for n in shape))
        self._file.create_dataset(name, (0, *shape), dtype, maxshape=(None, *limits), chunks=chunks)

    def close(self) -> None:
        """Leave the file as one that is complete; it can be continued later."""
        self._release()
        if self._temporary is not None:
            with suppress(OSError):  # it is no loss where it stays, and an error that led here is the one to be told
                self._temporary.unlink()
            self._temporary = None

    def _release(self) -> None:
        """Have the file open no more."""
        end = self._limit = 0
        if self._file is not None:
            end = self._file.id.get_filesize()
            self._file.close()
            self._file = None
        if self._lock is not None:
            if os.fstat(self._lock).st_size > end > 0:
                os.ftruncate(self._lock, end)  # room that was not needed
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> SeriesWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _room(wavefunction: Wavefunction) -> int:
    """Bytes that are set aside before a frame is written: HDF5 does not survive a full disk, and this refuses it."""
    numbers = sum(orbitals.coefficients.size + 3 * len(orbitals) for _, orbitals in orbital_sets(wavefunction))
    return 8 * (numbers + wavefunction.positions.size) + (1 << 20)


def _claim(path: Path) -> int:
    """Lock a file against other writers until the descriptor is closed, at the latest when this process ends.

    Raises
    ------
    FileError
        When another process writes it, or nobody may.
    """
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror})") from error
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, _FAR, os.SEEK_SET)  # locks are of bytes there, and forbid to read and write them
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        os.close(descriptor)
        raise FileError(f"{path.name}: another process is writing it; wait for it, or stop it") from error
    except OSError:
        pass  # a file system without locks
    return descriptor


_FAR = 1 << 62
"""Byte that is locked in a file on Windows, far behind its end."""
