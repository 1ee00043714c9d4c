"""Series in HDF5 files, written frame by frame; `orbitile.readers.series` says what is in them."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from ..files.hdf5 import MAGIC, USER_BLOCK, library
from ..files.locking import claim
from ..files.writing import make_room
from ..model.wavefunction import Wavefunction
from ..readers._series import SeriesFrame, attributes_of, may_widen, orbital_sets, parts_of, shared_parts
from ..readers.series import HDF5Frames

_PIECE = 4 << 20
"""Bytes set aside beyond what a frame needs; given back when the file is closed."""

_MOVES_OPEN_FILES = os.name != "nt"
"""Whether a file that is open can get another name here, or replace one that is."""


class HDF5Series:
    """A series in an HDF5 file that is being written, as `SeriesWriter` wants it.

    Notes
    -----
    HDF5 marks a file that was open for writing when its process ended, and refuses to continue it. Continuing
    therefore copies the committed frames to a new file, which takes the place of the old one when it is complete.
    """

    def __init__(self, path: Path, settings: str, most: int | None) -> None:
        self._h5py = library(path.name)
        self._path = path
        self._settings = settings
        self._most = most
        self._file: Any = None
        self._lock: int | None = None
        self._temporary: Path | None = None
        self._limit = 0
        self.numbers: list[int] = []
        self.first: SeriesFrame | None = None
        if self._path.exists():
            lock = claim(self._path)
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
        old = HDF5Frames(self._path)
        try:
            old.require_settings(self._settings)
            for index in range(len(old)):
                self._write(old.read(index, check=False), old.number(index))
        finally:
            old.close()

    def append(self, wavefunction: Wavefunction, number: int) -> None:
        """Add a frame that fits to the first one."""
        self._write(wavefunction, number)
        self._publish()

    def _write(self, wavefunction: Wavefunction, number: int) -> None:
        try:
            if self._file is None:
                self._create(wavefunction)
            file, index = self._file, len(self.numbers)
            self._set_aside(_room(wavefunction))
            for name, values in parts_of(wavefunction, number).items():
                self._put(name, index, values)
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

    def _put(self, name: str, index: int, values: NDArray[Any]) -> None:
        data = self._file[name]
        needed = (index + 1, *(max(n, m) for n, m in zip(values.shape, data.shape[1:], strict=True)))
        if data.shape != needed:
            data.resize(needed)
        data[(index, *(slice(n) for n in values.shape))] = values

    def _create(self, first: Wavefunction) -> None:
        """A file without frames, in SWMR mode, and under a temporary name."""
        self.first = SeriesFrame(first)
        self._temporary = temporary = self._path.with_name(f".orbitile-{secrets.token_hex(6)}.h5")
        with temporary.open("xb") as stream:
            make_room(stream.fileno(), 0, _room(first), temporary)
        file = self._h5py.File(temporary, "w", libver="latest", userblock_size=USER_BLOCK, locking=False)
        self._file = file
        file.attrs.update(attributes_of(first, self._settings))
        file["frames"] = np.int64(0)
        for name, values in shared_parts(first).items():
            file[name] = values
        for name, values in parts_of(first, 0).items():
            self._growing(name, values.shape, values.dtype)
        file.swmr_mode = True
        with temporary.open("r+b") as stream:
            stream.write(MAGIC)
        self._lock = claim(temporary)

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
            self._lock = claim(self._path)

    def _growing(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        """A dataset without frames, in chunks of a frame, or of many that are small."""
        limits = (*shape[:-1], None) if may_widen(name) else shape
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


def _room(wavefunction: Wavefunction) -> int:
    """Bytes that are set aside before a frame is written: HDF5 does not survive a full disk, and this refuses it."""
    numbers = sum(orbitals.coefficients.size + 3 * len(orbitals) for _, orbitals in orbital_sets(wavefunction))
    return 8 * (numbers + wavefunction.positions.size) + (1 << 20)
