"""Series, written frame by frame: to an HDF5 file, or to a Zarr store where the name says so."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Protocol

from ..errors import FileError
from ..files.hdf5 import library
from ..files.writing import checked_target, folder_written_atomically, written_atomically
from ..files.zarr import kind_of_store
from ..model.cell import molecules_only
from ..model.wavefunction import Wavefunction
from ..readers._series import SeriesFrame


class _Target(Protocol):
    """Where a series goes."""

    numbers: list[int]
    first: SeriesFrame | None

    def append(self, wavefunction: Wavefunction, number: int) -> None: ...

    def close(self) -> None: ...


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


def replaced_series(path: str | PathLike[str]) -> AbstractContextManager[Path]:
    """Where to write a series that takes the place of the one of that name, if there is one, when it is complete."""
    return folder_written_atomically(path, _is_series) if _is_store(path) else written_atomically(path)


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
        When there is such a file, or such a folder.
    """
    target = series_target(path)
    if target.is_file() and target.stat().st_size and not library(target.name).is_hdf5(target):
        raise FileError(f"{path}: is there already and is no series file; choose another name, such as path.h5")


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

    Raises
    ------
    FileError
        When the file cannot be written, belongs to another writer, is no series, or has other settings.
    """

    def __init__(self, path: str | PathLike[str], *, settings: str = "", most: int | None = None) -> None:
        self._target: _Target
        target = _target_of(path)
        if _is_store(target):
            from ._series_zarr import ZarrSeries

            self._target = ZarrSeries(target, settings, most)
        else:
            from ._series_hdf5 import HDF5Series

            self._target = HDF5Series(target, settings, most)

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
