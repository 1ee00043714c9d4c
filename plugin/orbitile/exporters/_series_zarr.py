"""Series in Zarr stores, written frame by frame; `orbitile.readers.series_zarr` says what is in them."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from ..errors import FileError
from ..files.locking import claim
from ..files.zarr import HEADING, library, translated
from ..model.wavefunction import Wavefunction
from ..readers._series import SeriesFrame, attributes_of, may_widen, parts_of, shared_parts
from ..readers.series_zarr import DIMENSIONS, STORE, ZarrFrames, stored_name
from ._frame_store import FrameStoreWriter, grid_of

_UNITS = {
    "positions": "bohr",
    "core_charges": "e",
    "basis/exponents": "bohr^-2",
    **{f"{spin}/energies": "hartree" for spin in ("alpha", "beta")},
}

_COORDINATES = ("number", "atomic_numbers", "core_charges")
"""Arrays that say what frames and atoms are: xarray shows them beside the data."""

_LOCKED = f"atomic_numbers/{HEADING}"
"""A file of the store that is never replaced, by which a writer keeps others out."""


class ZarrSeries:
    """A series in a Zarr store that is being written, as `SeriesWriter` wants it; one that is there is continued."""

    def __init__(self, path: Path, settings: str, most: int | None) -> None:
        library(path.name)
        self._path = path
        self._settings = settings
        self._most = most
        self._store: FrameStoreWriter | None = None
        self._lock: int | None = None
        self.numbers: list[int] = []
        self.first: SeriesFrame | None = None
        if path.is_dir() and any(path.iterdir()):
            self._continue()

    def _continue(self) -> None:
        old = ZarrFrames(self._path)
        old.require_settings(self._settings)
        self._lock = claim(self._path / _LOCKED)
        try:
            with translated(self._path):
                self.numbers = [old.number(index) for index in range(len(old))]
                self._store = FrameStoreWriter(self._path, new=False)
            self.first = SeriesFrame(old.read(0, check=False))
            self._attributes = {"kind": STORE, **attributes_of(old.read(0, check=False), self._settings)}
        except BaseException:
            self._unlock()
            raise

    def append(self, wavefunction: Wavefunction, number: int) -> None:
        """Add a frame that fits to the first one."""
        try:
            if self._store is None:
                self._begin(wavefunction, number)
            else:
                self._write(self._store, wavefunction, number)
        except (OSError, RuntimeError) as error:
            raise FileError(f"{self._path}: cannot be written ({error})") from error
        self.numbers.append(number)

    def _begin(self, first: Wavefunction, number: int) -> None:
        """A store with its first frame, which gets its name when that is committed."""
        temporary = self._path.with_name(f".orbitile-{secrets.token_hex(6)}.zarr")
        try:
            store = FrameStoreWriter(temporary, new=True)
            self._attributes = {"kind": STORE, **attributes_of(first, self._settings)}
            for name, values in shared_parts(first).items():
                axis = "atom" if "/" not in name else "shell"
                axis = "primitive" if name in ("basis/exponents", "basis/coefficients") else axis
                store.put(stored_name(name), values, (axis,), _UNITS.get(name, ""))
            for name, values in parts_of(first, number).items():
                grid = grid_of(values.shape, values.itemsize, self._most)
                store.add(stored_name(name), values.shape, values.dtype, DIMENSIONS[name], _UNITS.get(name, ""), grid)
            self._write(store, first, number)
            if self._path.exists():  # an empty folder
                self._path.rmdir()
            temporary.rename(self._path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        self._lock = claim(self._path / _LOCKED)
        self._store = FrameStoreWriter(self._path, new=False)
        self.first = SeriesFrame(first)

    def _write(self, store: FrameStoreWriter, wavefunction: Wavefunction, number: int) -> None:
        index = len(self.numbers)
        store.make_room(index + 1)
        for name, values in parts_of(wavefunction, number).items():
            if may_widen(name) and values.shape[-1] > store.width(stored_name(name)):
                store.widen(stored_name(name), values.shape[-1])
            store.write(stored_name(name), index, values[None])
        store.commit(index + 1, self._attributes, _COORDINATES)

    def close(self) -> None:
        """Leave the store as one that is complete; it can be continued later."""
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
