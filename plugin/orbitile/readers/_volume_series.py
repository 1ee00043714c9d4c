"""Series of volumes in Zarr stores, read frame by frame; they may be growing.

The layout is told in docs/stores.md; `orbitile.exporters._volume_series` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError
from ..files.reading import neighbour, user_path
from ..files.zarr import FrameStore, kind_of_store, translated
from ..model.geometry import Geometry
from ..model.lattice import Lattice
from ..model.trajectory import frame_index
from ..model.volume import StoredVolume, VolumeHeader

KIND = "volumes"
"""What the store says that it is."""

VERSION = 1
"""Version of the layout."""

VALUES = "values"
"""Name of the array of values."""

NOT_YET, DONE, HOLE = 0, 1, 2
"""States of a frame: to come; there; missing, since what it would be computed from could not be read."""


class StoredVolumes(Sequence[StoredVolume]):
    """Volumes along a trajectory on one lattice, in a store that may be growing; nothing of them is in memory.

    `len(volumes)` is the number of frames, some of which may be missing or still to come; `volumes[i]` is a
    `StoredVolume`. Iteration gives the frames that are there.

    Attributes
    ----------
    path : Path
        Folder of the store.
    header : VolumeHeader
        Lattice, type and meaning of the values, the same in all frames.
    atomic_numbers : ndarray of int, shape (n_atoms,)

    Raises
    ------
    FileError
        When there is no such store, or it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with translated(path):
            self._store = FrameStore(path, KIND, VERSION)
            told = self._store.attributes["lattice"]
            lattice = Lattice(np.array(told["origin"]), np.array(told["axes"]), tuple(told["shape"]), told["periodic"])
            attributes = self._store.attributes
            dtype = self._store.dtype(VALUES)
            if dtype not in (np.float32, np.float64):
                raise FileError(f"expected values of float32 or float64, got {dtype}")
            self.header = VolumeHeader(lattice, dtype, str(attributes["quantity"]), str(attributes["unit"]))
            self.atomic_numbers = self._store.whole("atomic_numbers")
            for name, shape in ((VALUES, lattice.shape), ("positions", (len(self.atomic_numbers), 3))):
                if self._store.shape(name)[1:] != shape:
                    raise FileError(f"{name}: expected frames of shape {shape}, got {self._store.shape(name)[1:]}")

    @property
    def name(self) -> str:
        """Name of the store."""
        return self.path.name

    def __len__(self) -> int:
        with translated(self.path):
            return self._store.refresh()

    @overload
    def __getitem__(self, index: int) -> StoredVolume: ...
    @overload
    def __getitem__(self, index: slice) -> list[StoredVolume]: ...
    def __getitem__(self, index: Any) -> Any:
        """One frame; negative indices count from the last one.

        Raises
        ------
        FieldError
            When there is no such frame.
        FileError
            When the frame is missing, not there yet or damaged.
        """
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        wanted = frame_index(index, len(self), self.name)
        with translated(self.path):
            state = int(self._store.frame("state", wanted))
            if state != DONE:
                why = self._store.attributes.get("reasons", {}).get(str(wanted), "it could not be computed")
                raise FileError(f"frame {wanted + 1} is {f'missing: {why}' if state == HOLE else 'not there yet'}")
            geometry = Geometry(self.atomic_numbers, self._store.frame("positions", wanted))
        return StoredVolume(_FrameValues(self.path, self._store, wanted), (self.header,), geometry)

    def __iter__(self) -> Iterator[StoredVolume]:
        return (self[index] for index in self.done)

    @property
    def states(self) -> NDArray[np.uint8]:
        """Of each frame: 0 for one to come, 1 for one that is there, 2 for one that is missing."""
        n = len(self)
        with translated(self.path):
            return self._store.frames("state", 0, n) if n else np.empty(0, np.uint8)

    @property
    def done(self) -> list[int]:
        """Frames that are there."""
        return np.flatnonzero(self.states == DONE).tolist()

    @property
    def numbers(self) -> list[int]:
        """Of each frame its number in the trajectory, from 0."""
        n = len(self)
        with translated(self.path):
            return self._store.frames("number", 0, n).tolist() if n else []


class _FrameValues:
    """Values of a frame: `StoredValues` of a `StoredVolume`."""

    def __init__(self, path: Path, store: FrameStore, index: int) -> None:
        self._path, self._store, self._index = path, store, index

    @property
    def name(self) -> str:
        return f"{self._path.name}, frame {self._index + 1}"

    def depth(self, level: int) -> int:
        return self._store.chunks(VALUES)[1]

    def read(self, level: int, start: tuple[int, int, int], stop: tuple[int, int, int]) -> NDArray[np.floating]:
        region = tuple(slice(a, b) for a, b in zip(start, stop, strict=True))
        with translated(self._path):
            try:
                values = self._store.frame(VALUES, self._index, region)
            except FileError as error:
                raise FileError(f"frame {self._index + 1}: {error}") from error
            if not np.isfinite(values).all():
                raise FileError(f"frame {self._index + 1}: has values that are NaN or infinite")
        return values


def open_volumes(path: str | PathLike[str]) -> StoredVolumes:
    """Open a series of volumes, as `compute_volumes` writes it; its values are read when they are asked for.

    Parameters
    ----------
    path
        Folder of the Zarr store. It may be growing.

    Raises
    ------
    FileError
        When there is no such store, or it is damaged.

    Examples
    --------
    >>> lattice = ob.lattice_along("benzene.molden", "homo", 0.05)
    >>> computed = ob.compute_volumes("benzene.molden", "homo", lattice, "frames.zarr")
    >>> volumes = ob.open_volumes("frames.zarr")
    >>> volumes[0].whole().values.shape == volumes.header.lattice.shape
    True
    """
    folder = user_path(path)
    if not folder.exists():
        raise FileError(f"{folder}: no such store{neighbour(folder)}")
    held = kind_of_store(folder)
    if held != KIND:
        what = {"volume": "one volume; read it with load_volumes", "trajectory": "wavefunctions; load_trajectory"}
        raise FileError(f"{folder.name}: expected a Zarr store with a series of volumes, got {what.get(held, 'none')}")
    return StoredVolumes(folder)
