"""Series, written frame by frame: to an HDF5 file, or to a Zarr store where the name says so."""

from __future__ import annotations

import os
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError
from ..files import hdf5, zarr
from ..files.writing import checked_target, claim, folder_written_atomically, make_room, written_atomically
from ..files.zarr import LOCKED, FrameStoreWriter, grid_of, kind_of_store, translated
from ..model.cell import molecules_only
from ..model.vibrations import Vibrations
from ..model.wavefunction import Wavefunction
from ..readers.series import (
    DIMENSIONS,
    STORE,
    SeriesFrame,
    SeriesFrames,
    attributes_of,
    may_widen,
    orbital_sets,
    parts_of,
    shared_parts,
    stored_name,
    vibration_attributes,
    vibration_parts,
)


class _Series(ABC):
    """A series that is being written, as `SeriesWriter` wants it; one that is there is continued."""

    def __init__(self, path: Path, settings: str, most: int | None, vibrations: Vibrations | None) -> None:
        self._path, self._settings, self._most, self._vibrations = path, settings, most, vibrations
        self._lock: int | None = None
        self.numbers: list[int] = []
        self.first: SeriesFrame | None = None

    def append(self, wavefunction: Wavefunction, number: int) -> None:
        """Add a frame that fits to the first one."""
        try:
            self._write(wavefunction, number)
        except (OSError, RuntimeError) as error:
            raise FileError(f"{self._path}: cannot be written ({error})") from error
        self.numbers.append(number)

    def _all_attributes(self, first: Wavefunction) -> dict[str, Any]:
        """What is said of the series as a whole."""
        of_vibrations = {} if self._vibrations is None else vibration_attributes(self._vibrations)
        return {**attributes_of(first, self._settings), **of_vibrations}

    @abstractmethod
    def _write(self, wavefunction: Wavefunction, number: int) -> None:
        """Write a frame, the first one with what all of them share."""

    @abstractmethod
    def close(self) -> None:
        """Leave it as one that is complete; it can be continued later."""


def series_target(path: str | PathLike[str]) -> Path:
    """The file or folder that a series of that name is or is going to be: a folder, where its name ends with .zarr.

    Raises
    ------
    FileError
        When there is something else of that name, nothing is there and the name is that of another format, or the
        folder around it is missing.
    """
    target = _target_of(path)
    if not _is_store(target) and not target.suffix.lower().startswith((".h5", ".hdf")) and not target.exists():
        raise FileError(f"{path}: a series is an HDF5 file or a Zarr store; choose a name that ends with .h5 or .zarr")
    return target


def _target_of(path: str | PathLike[str]) -> Path:
    return checked_target(path, _is_series) if _is_store(path) else checked_target(path)


@contextmanager
def replaced_series(path: str | PathLike[str]) -> Iterator[Path]:
    """Where to write a series that takes the place of the one of that name, if there is one, when it is complete."""
    with folder_written_atomically(path, _is_series) if _is_store(path) else written_atomically(path) as part:
        if part.is_file():
            part.unlink()  # a writer continues what is there, and an empty file is no series
        yield part


def write_series(
    path: str | PathLike[str], wavefunction: Wavefunction, settings: str, vibrations: Vibrations | None = None
) -> None:
    """Write a series of one frame, which may have vibrations, in place of one that is there."""
    with replaced_series(path) as part, SeriesWriter(part, settings=settings, vibrations=vibrations) as writer:
        writer.append(wavefunction)


def _is_store(path: str | PathLike[str]) -> bool:
    return os.fspath(path).lower().endswith(".zarr") or os.path.isdir(path)


def _is_series(folder: Path) -> bool:
    """Whether a folder is a series, or is there to become one."""
    return kind_of_store(folder) == "trajectory" or not any(folder.iterdir())


def require_series(path: str | PathLike[str]) -> None:
    """Refuse to replace what is there and is no series: it may be somebody's only wavefunction.

    Raises
    ------
    FileError
        When there is such a file, or such a folder; before anything is computed also when h5py or zarr is missing, or
        nothing may be written there.
    """
    target = series_target(path)
    if not os.access(target.parent, os.W_OK):
        raise FileError(f"{path}: nothing may be written to {target.parent}; choose a name in another folder")
    h5py = None
    if _is_store(path):
        zarr.library(target.name)
    else:
        h5py = hdf5.library(target.name)
    if h5py and target.is_file() and target.stat().st_size and not h5py.is_hdf5(target):
        raise FileError(f"{path}: exists already and is no series file; choose another name, such as path.h5")


class SeriesWriter:
    """Writes a series frame by frame; each one is there for good when `append` returns.

    Parameters
    ----------
    path
        The file: a Zarr store, which is a folder, where its name ends with .zarr, otherwise HDF5. One that is there is
        continued if it is a series, and refused otherwise.
    settings
        Text that says how the frames were computed; a series is continued with the same settings only.
    most
        Frames that it is going to have at most, where that is known: room is set aside for no more.
    vibrations
        Of the molecule in the first frame, for a series that is not there yet.

    Raises
    ------
    FileError
        When the file cannot be written, belongs to another writer, is no series, or has other settings.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        settings: str = "",
        most: int | None = None,
        vibrations: Vibrations | None = None,
    ) -> None:
        target = _target_of(path)
        kind = ZarrSeries if _is_store(target) else HDF5Series
        self._target: _Series = kind(target, settings, most, vibrations)

    @property
    def numbers(self) -> list[int]:
        """Frames of the source that are in the file."""
        return self._target.numbers

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
        numbers, first = self.numbers, self._target.first
        number = (numbers[-1] + 1 if numbers else 0) if number is None else number
        if first is None:
            molecules_only(wavefunction, "series", "such a file does not keep the cell")
        elif reason := first.mismatch(wavefunction):
            raise FileError(f"frame {number + 1} {reason}; a series file holds one basis set")
        self._target.append(wavefunction, number)

    def close(self) -> None:
        """Leave the file as one that is complete; it can be continued later."""
        self._target.close()

    def __enter__(self) -> SeriesWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


_UNITS = {
    "positions": "bohr",
    "core_charges": "e",
    "basis/exponents": "bohr^-2",
    **{f"{spin}/energies": "hartree" for spin in ("alpha", "beta")},
}

_COORDINATES = ("number", "atomic_numbers", "core_charges")
"""Arrays that say what frames and atoms are: xarray shows them beside the data."""


class ZarrSeries(_Series):
    """A series in a Zarr store."""

    def __init__(self, path: Path, settings: str, most: int | None, vibrations: Vibrations | None = None) -> None:
        super().__init__(path, settings, most, vibrations)
        zarr.library(path.name)
        self._store: FrameStoreWriter | None = None
        if path.is_dir() and any(path.iterdir()):
            self._continue()

    def _continue(self) -> None:
        old = SeriesFrames(self._path)
        old.require_settings(self._settings)
        self._lock = claim(self._path / LOCKED)
        try:
            with translated(self._path):
                self.numbers = [old.number(index) for index in range(len(old))]
                self._store = FrameStoreWriter(self._path, new=False)
            first = old.read(0, check=False)
            self.first, self._attributes = SeriesFrame(first), self._attributes_of(first)
        except BaseException:
            self._unlock()
            raise

    def _attributes_of(self, first: Wavefunction) -> dict[str, Any]:
        return {"kind": STORE, **self._all_attributes(first)}

    def _write(self, wavefunction: Wavefunction, number: int) -> None:
        if self._store is None:
            self._create(wavefunction, number)
        else:
            self._put(self._store, wavefunction, number)

    def _create(self, first: Wavefunction, number: int) -> None:
        """A store with its first frame, which gets its name when that is committed."""
        temporary = self._path.with_name(f".orbitile-{secrets.token_hex(6)}.zarr")
        try:
            store = FrameStoreWriter(temporary, new=True)
            self._attributes = self._attributes_of(first)
            for name, values in shared_parts(first).items():
                axis = "atom" if "/" not in name else "shell"
                axis = "primitive" if name in ("basis/exponents", "basis/coefficients") else axis
                store.put(stored_name(name), values, (axis,), _UNITS.get(name, ""))
            for name, (values, axes) in vibration_parts(self._vibrations).items() if self._vibrations else ():
                store.put(stored_name(name), values, axes)
            for name, values in parts_of(first, number).items():
                grid = grid_of(values.shape, values.itemsize, self._most)
                store.add(stored_name(name), values.shape, values.dtype, DIMENSIONS[name], _UNITS.get(name, ""), grid)
            self._put(store, first, number)
            if self._path.exists():  # an empty folder
                self._path.rmdir()
            temporary.rename(self._path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        self._lock = claim(self._path / LOCKED)
        self._store = FrameStoreWriter(self._path, new=False)
        self.first = SeriesFrame(first)

    def _put(self, store: FrameStoreWriter, wavefunction: Wavefunction, number: int) -> None:
        index = len(self.numbers)
        store.make_room(index + 1)
        for name, values in parts_of(wavefunction, number).items():
            if may_widen(name) and values.shape[-1] > store.width(stored_name(name)):
                store.widen(stored_name(name), values.shape[-1])
            store.write(stored_name(name), index, values[None])
        store.commit(index + 1, self._attributes, _COORDINATES)

    def close(self) -> None:
        try:
            if self._store is not None:
                self._store.close()
        finally:
            self._store = None
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


_PIECE = 4 << 20
"""Bytes set aside beyond what a frame needs; given back when the file is closed."""

_MOVES_OPEN_FILES = os.name != "nt"
"""Whether a file that is open can get another name here, or replace one that is."""


class HDF5Series(_Series):
    """A series in an HDF5 file.

    Notes
    -----
    HDF5 marks a file that was open for writing when its process ended, and refuses to continue it. Continuing
    therefore copies the committed frames to a new file, which takes the place of the old one when it is complete.
    """

    def __init__(self, path: Path, settings: str, most: int | None, vibrations: Vibrations | None = None) -> None:
        super().__init__(path, settings, most, vibrations)
        self._h5py = hdf5.library(path.name)
        self._file: Any = None
        self._temporary: Path | None = None
        self._limit = 0
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
        old = SeriesFrames(self._path)
        try:
            old.require_settings(self._settings)
            for index in range(len(old)):
                super().append(old.read(index, check=False), old.number(index))
        finally:
            old.close()

    def append(self, wavefunction: Wavefunction, number: int) -> None:
        super().append(wavefunction, number)
        self._publish()

    def _write(self, wavefunction: Wavefunction, number: int) -> None:
        if self._file is None:
            self._create(wavefunction)
        file, index = self._file, len(self.numbers)
        self._set_aside(_room(wavefunction))
        for name, values in parts_of(wavefunction, number).items():
            self._put(name, index, values)
        file.flush()
        file["frames"][()] = index + 1
        file.flush()

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
            of_vibrations = vibration_parts(self._vibrations).values() if self._vibrations else ()
            more = sum(values.nbytes for values, _ in of_vibrations)
            make_room(stream.fileno(), 0, _room(first) + more, temporary)
        file = self._h5py.File(temporary, "w", libver="latest", userblock_size=hdf5.USER_BLOCK, locking=False)
        self._file = file
        file.attrs.update(self._all_attributes(first))
        file["frames"] = np.int64(0)
        for name, values in shared_parts(first).items():
            file[name] = values
        for name, (values, _) in vibration_parts(self._vibrations).items() if self._vibrations else ():
            file[name] = values
        for name, values in parts_of(first, 0).items():
            self._growing(name, values.shape, values.dtype)
        file.swmr_mode = True
        with temporary.open("r+b") as stream:
            stream.write(hdf5.MAGIC)
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
