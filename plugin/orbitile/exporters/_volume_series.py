"""Series of volumes, written frame by frame by as many processes as there are: docs/stores.md says what is in them.

One process makes the store, and says of frames that they are there (`VolumeSeriesWriter`). The values come from any
process that sees the folder (`write_frames`), in any order, each frame from one of them at a time; frames of one file,
`VolumeSeriesWriter.together`, from the same one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import FileError
from ..files.writing import checked_target, claim, folder_written_atomically
from ..files.zarr import LOCKED, FrameStore, FrameStoreWriter, Grid, grid_of, kind_of_store, library, translated
from ..model.lattice import Lattice
from ..model.units import angstrom
from ..model.volume import VolumeHeader
from ..model.wavefunction import Wavefunction
from ..readers._volume_series import DONE, HOLE, KIND, NOT_YET, VALUES, VERSION

_EDGE = 64
"""Points along each edge of a chunk: 1 MiB in single precision. Planes along any axis are read 64 at once."""

_FILE_BYTES = 16 << 20
"""Bytes of a file before they are compressed, about; larger where a frame is."""

_LARGEST_FILE = 1 << 30
"""Bytes of a file, at most: it is in memory twice while it is written."""

_MOST_TOGETHER = 64
"""Frames of a file, at most, which are computed by one process one after another; and files that there are at least, if
there are so many frames: so that there is work for as many processes."""

_MOST_REASONS = 1000
"""Frames that are missing whose reasons are kept; of others it is known that they are missing."""

_LONGEST_REASON = 200
"""Characters."""


class VolumeSeriesWriter:
    """The store of a series of volumes on one lattice: made, or continued where it is there.

    Parameters
    ----------
    path
        Its folder, whose name ends with .zarr.
    header
        Lattice, type and meaning of the values, the same in all frames.
    first : Wavefunction
        Its atoms are those of all frames.
    numbers
        Of the frames in what they are computed from, from 0. A store that is continued has the first of these.
    settings
        Text that says how the values are computed; a store is continued with the same settings only.

    Attributes
    ----------
    together : int
        Frames in one file: those from a multiple of it up to the next.

    Raises
    ------
    FileError
        When the store cannot be written, belongs to another writer, holds something else, or has other settings.
    """

    def __init__(
        self, path: Path, header: VolumeHeader, first: Wavefunction, numbers: Sequence[int], settings: str
    ) -> None:
        library(path.name)
        self._path = path = checked_target(path, _is_ours)
        self.numbers = list(numbers)
        self._attributes = {
            "kind": KIND,
            "version": VERSION,
            "settings": settings,
            "lattice": {
                "origin": header.lattice.origin.tolist(),
                "axes": header.lattice.axes.tolist(),
                "shape": list(header.lattice.shape),
                "periodic": header.lattice.periodic,
            },
            "quantity": header.quantity,
            "unit": header.unit,
        }
        self._n_atoms, self._lattice = first.n_atoms, header.lattice
        if not path.is_dir():
            self._create(header, first)
        self._lock = claim(path / LOCKED)
        try:
            with translated(path):
                self._continue(header)
        except BaseException:
            os.close(self._lock)
            raise

    def _create(self, header: VolumeHeader, first: Wavefunction) -> None:
        with folder_written_atomically(self._path, _is_ours) as folder:
            store = FrameStoreWriter(folder, new=True)
            store.put("atomic_numbers", first.atomic_numbers, ("atom",))
            store.put("core_charges", first.core_charges, ("atom",), "e")
            names, coordinates = coordinates_of(header.lattice)
            for name, values in zip(names, coordinates, strict=True):
                store.put(name, values, (name,), "angstrom")
            for name, shape, axes, dtype, unit in (
                ("number", (), (), np.dtype(np.int64), ""),
                ("state", (), (), np.dtype(np.uint8), ""),
                ("positions", (first.n_atoms, 3), ("atom", "xyz"), np.dtype(np.float64), "bohr"),
            ):
                store.add(name, shape, dtype, axes, unit, grid_of(shape, dtype.itemsize))
            grid = _grid(header, len(self.numbers))
            store.add(VALUES, header.lattice.shape, header.dtype, names, header.unit, grid)
            store.commit(0, self._attributes, ())

    def _continue(self, header: VolumeHeader) -> None:
        """Take up the store that is there, and make room for all frames."""
        there = FrameStore(self._path, KIND, VERSION)
        for name, value in self._attributes.items():
            if there.attributes.get(name) != value:
                got = f"({_short(there.attributes.get(name))}), expected {_short(value)}"
                raise FileError(f"exists already, with another {name} {got}; write to another file")
        if there.dtype(VALUES) != header.dtype:
            raise FileError(f"has values of {there.dtype(VALUES)}, expected {header.dtype}; write to another file")
        known = there.frames("number", 0, there.n_frames).tolist() if there.n_frames else []
        if known != self.numbers[: len(known)]:
            raise FileError("exists already, with frames that differ from the first of these; write to another file")
        self._states = np.full(len(self.numbers), NOT_YET, np.uint8)
        if known:
            self._states[: len(known)] = there.frames("state", 0, len(known))
        self._reasons: dict[str, str] = dict(there.attributes.get("reasons", {}))
        self._store = FrameStoreWriter(self._path, new=False)
        self._store.make_room(len(self.numbers))
        self.together = there.frames_in_file(VALUES)
        if len(known) < len(self.numbers):
            new = slice(len(known), len(self.numbers))
            self._store.write("number", len(known), np.array(self.numbers[new], np.int64))
            self._store.write("state", len(known), self._states[new])
            empty = np.full((len(self.numbers) - len(known), self._n_atoms, 3), np.nan)
            self._store.write("positions", len(known), empty)
            self._commit()

    def _commit(self) -> None:
        names, _ = coordinates_of(self._lattice)
        attributes = {**self._attributes, "reasons": self._reasons}
        self._store.commit(len(self.numbers), attributes, ("number", "atomic_numbers", "core_charges", *names))

    @property
    def waiting(self) -> list[int]:
        """Places of the frames that are not there yet; holes, which may be readable by now, are among them."""
        return np.flatnonzero(self._states != DONE).tolist()

    @property
    def done(self) -> list[int]:
        """Places of the frames that are there."""
        return np.flatnonzero(self._states == DONE).tolist()

    def tell(self, start: int, found: Sequence[Reals | str]) -> None:
        """Say of frames, from a place on, that their values are in the store, or why they are missing.

        Parameters
        ----------
        start
            Place of the first one.
        found
            Of each frame the positions of its atoms, in bohr; or why it is missing.
        """
        before = dict(self._reasons)
        for place, one in enumerate(found, start):
            self._states[place] = HOLE if isinstance(one, str) else DONE
            self._reasons.pop(str(place), None)
            if isinstance(one, str) and len(self._reasons) < _MOST_REASONS:
                self._reasons[str(place)] = one[:_LONGEST_REASON]
        none = np.full((self._n_atoms, 3), np.nan)
        self._store.write("positions", start, np.array([none if isinstance(one, str) else one for one in found]))
        if before != self._reasons:
            self._commit()
        self._store.write("state", start, self._states[start : start + len(found)])

    def close(self) -> None:
        """Leave the store as one that is complete; it can be continued later."""
        try:
            self._store.close()
        finally:
            os.close(self._lock)


def write_frames(path: Path, start: int, values: NDArray[np.floating]) -> None:
    """Write the values of some frames, from a place on: from any process.

    Parameters
    ----------
    path
        The store of a `VolumeSeriesWriter`.
    start
        Place of the first one.
    values : ndarray, shape (frames, nx, ny, nz)

    Raises
    ------
    FileError
        When they cannot be written.
    """
    zarr = library(path.name)
    if not (path / VALUES).is_dir():
        raise FileError(f"{path}: this process does not see the store; give it a folder that all processes share")
    with translated(path):
        array = zarr.open_array(str(path), path=VALUES, mode="r+", config={"write_empty_chunks": True})
        array[start : start + len(values)] = values


def coordinates_of(lattice: Lattice) -> tuple[tuple[str, ...], list[Reals]]:
    """Names of the axes of a lattice, and the places of the points along each of them, in Angstrom.

    They are x, y and z where the axes run along these; otherwise a, b and c, with lengths from the first point.
    """
    straight = np.array_equal(lattice.axes, np.diag(np.diag(lattice.axes))) and (np.diag(lattice.axes) > 0).all()
    first = lattice.origin if straight else np.zeros(3)
    steps = zip(first, lattice.spacings, lattice.shape, strict=True)
    return tuple("xyz" if straight else "abc"), [(start + np.arange(n) * step) / angstrom for start, step, n in steps]


def _grid(header: VolumeHeader, n_frames: int) -> Grid:
    """Chunks of the values, and how many frames are in a file, which are computed by one process."""
    shape = header.lattice.shape
    n_bytes = header.lattice.n_points * header.dtype.itemsize
    chunks = [min(n, _EDGE) for n in shape]
    edges = [-(-n // m) * m for n, m in zip(shape, chunks, strict=True)]
    if n_bytes > _LARGEST_FILE:
        planes = max(1, _LARGEST_FILE // (n_bytes // shape[0]) // chunks[0]) * chunks[0]
        edges[0] = min(planes, edges[0])
    frames = max(1, min(_FILE_BYTES // n_bytes, n_frames // _MOST_TOGETHER, _MOST_TOGETHER))
    return Grid((1, *chunks), (frames, *edges))


def _is_ours(folder: Path) -> bool:
    return kind_of_store(folder) == KIND


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) < 80 else f"{text[:77]}..."
