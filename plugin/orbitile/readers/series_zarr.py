"""The series in a Zarr store: a trajectory of wavefunctions, appended frame by frame, that xarray opens too.

Parts and shapes are those of `orbitile.readers.series`, with an underscore in place of the stroke: `alpha_energies`.
Dimensions have names (`DIMENSIONS`), `units` are attributes of the arrays, and what HDF5 has as attributes of the file
stands in the attribute `orbitile` of the group, with `kind` (trajectory) and `frames`. Columns beyond the orbitals of a
frame are NaN. How frames are committed is said in `orbitile.files.zarr`.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..base.errors import FileError
from ..files.zarr import FrameStore, status_of, translated
from ._series import SPINS, VERSION, SeriesFrames, frame_shapes

DESCRIPTION = "series of Orbitile in Zarr stores"
PATTERNS = ("*.series.zarr",)
FOLDERS = PATTERNS
KIND = "trajectory"
BINARY = True

STORE = "trajectory"

DIMENSIONS = {
    "positions": ("atom", "xyz"),
    "number": (),
    **{
        f"{spin}/{part}": axes
        for spin, orbital in (("alpha", "orbital"), ("beta", "beta_orbital"))
        for part, axes in (
            ("coefficients", ("basis_function", orbital)),
            ("occupations", (orbital,)),
            ("energies", (orbital,)),
            ("n_orbitals", ()),
        )
    },
}
"""Dimensions of the parts that grow, after the one of frames."""


def stored_name(name: str) -> str:
    """Name of the array that holds a part."""
    return name.replace("/", "_")


def read(path: Path) -> SeriesFrames:
    """Frames of a series in a store, which needs the package zarr."""
    return ZarrFrames(path)


class ZarrFrames(SeriesFrames):
    """Frames of a series in a Zarr store.

    Raises
    ------
    FileError
        When it is no series, of a later version, or damaged.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._guarded():
            self._status = status_of(path)
            self._store = FrameStore(path, STORE, VERSION)
            self._shared = self._read_shared()
            for name, shape in frame_shapes(self._shared, self._spins).items():
                there = self._store.shape(stored_name(name))[1:]
                if len(there) != len(shape) or any(n not in (None, m) for n, m in zip(shape, there, strict=True)):
                    raise FileError(f"{name}: expected frames of shape {shape}, got {there}")

    def __len__(self) -> int:
        with self._guarded():
            status = status_of(self._path)
            if status != self._status:
                self._store = FrameStore(self._path, STORE, VERSION)
                self._status = status
            return self._store.n_frames

    def _attribute(self, name: str) -> Any:
        return self._store.attributes[name]

    def _whole(self, name: str) -> NDArray[Any]:
        return self._store.whole(stored_name(name))

    def _of_frame(self, name: str, index: int, width: int | None = None) -> NDArray[Any]:
        region = [slice(None)] * len(DIMENSIONS[name])
        if width is not None:
            region[-1] = slice(width)
        return self._reaching(index + 1).frame(stored_name(name), index, tuple(region))

    def _of_frames(self, name: str, start: int, stop: int) -> NDArray[Any]:
        return self._reaching(stop).frames(stored_name(name), start, stop)

    def _reaching(self, n_frames: int) -> FrameStore:
        """The store, as it is now if it had fewer frames before."""
        if self._store.n_frames < n_frames and len(self) < n_frames:
            raise FileError(f"has {self._store.n_frames} frames")
        return self._store

    def _size(self, name: str) -> int:
        shape, itemsize = self._store.shape(stored_name(name)), self._store.dtype(stored_name(name)).itemsize
        return math.prod(shape[1:]) * itemsize

    @property
    def _spins(self) -> tuple[str, ...]:
        return tuple(spin for spin in SPINS if stored_name(f"{spin}/energies") in self._store)

    def _guarded(self) -> AbstractContextManager[None]:
        return translated(self._path)

    def close(self) -> None:
        """There is nothing open between two frames."""
