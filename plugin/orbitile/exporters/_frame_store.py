"""Zarr stores of frames, written: `orbitile.files.frame_stores` says what they are."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from ..files.frame_stores import FRAME, frames_of, grows, read_heading, without_shape
from ..files.writing import written_atomically
from ..files.zarr import ATTRIBUTE, HEADING, library

_STEP = 64
"""Frames by which the metadata of each array grow."""

_SMALL = 16 << 10
"""Bytes of a frame below which many are put into a chunk: reading one then reads the others."""

_CHUNK = 256 << 10
"""Bytes of such a chunk."""

_MOST_IN_CHUNK = 4096

_SHARD = 32 << 20
"""Bytes of a shard before they are compressed, and of a chunk, unless the frame is larger."""

_MOST_IN_SHARD = 256
"""Frames of a shard: its index is read with each of them, and takes 16 bytes for each."""


_CONFIGURATION = {"write_empty_chunks": True}
"""A chunk that is not there is one that was lost, and not one of fill values."""


@dataclass(frozen=True)
class Grid:
    """Chunks of an array of frames, and how many of them are in one file.

    Attributes
    ----------
    chunks : tuple of int
    shards : tuple of int or None
        None where each chunk is a file.
    """

    chunks: tuple[int, ...]
    shards: tuple[int, ...] | None = None


def grid_of(shape: tuple[int, ...], itemsize: int, most: int | None = None) -> Grid:
    """The chunks for frames of a shape; for so many frames at most, where that is known."""
    shape = tuple(max(n, 1) for n in shape)
    n_bytes = itemsize * math.prod(shape)
    if n_bytes < _SMALL:
        return Grid((min(_CHUNK // n_bytes, most or _MOST_IN_CHUNK, _MOST_IN_CHUNK), *shape))
    width = max(1, shape[-1] * _SHARD // n_bytes) if n_bytes > _SHARD else shape[-1]
    frames = min(max(1, _SHARD // n_bytes), most or _MOST_IN_SHARD, _MOST_IN_SHARD)
    return Grid((1, *shape[:-1], width), (frames, *shape[:-1], -(-shape[-1] // width) * width))


class FrameStoreWriter:
    """A store of frames that is being written.

    Parameters
    ----------
    path
        Its folder.
    new
        Whether there is none yet; otherwise the one that is there is continued.
    """

    def __init__(self, path: Path, *, new: bool) -> None:
        zarr = library(path.name)
        self._path = path
        self._metadata: dict[str, dict[str, Any]] = {}
        self._arrays: dict[str, Any] = {}
        if new:
            self._group = zarr.create_group(path, zarr_format=3)
            self.n_frames = self._room = 0
            return
        for leftover in (*path.rglob("*.partial"), *path.glob(".orbitile-*")):  # of a writer that was killed
            leftover.unlink(missing_ok=True)
        self._group = zarr.open_group(path, mode="r+", use_consolidated=False)
        heading = read_heading(path)
        self.n_frames = frames_of(heading)
        self._metadata = heading["consolidated_metadata"]["metadata"]
        for name in self._metadata:
            array = self._group[name]
            if without_shape(json.loads((path / name / HEADING).read_bytes())) != without_shape(self._metadata[name]):
                raise FileError(f"{name}: the metadata of this array are others than those of the group")
            self._arrays[name] = array.with_config(_CONFIGURATION)
        self._room = min(self._arrays[name].shape[0] for name in self._growing())

    def _growing(self) -> Iterator[str]:
        return (name for name, metadata in self._metadata.items() if grows(metadata))

    def put(self, name: str, values: NDArray[Any], dimensions: Sequence[str], unit: str = "") -> None:
        """Write an array that is not of frames."""
        grid = Grid(tuple(max(n, 1) for n in values.shape))
        self._create(name, values.shape, values.dtype, grid, dimensions, unit)
        self._arrays[name][...] = values

    def add(
        self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], dimensions: Sequence[str], unit: str, grid: Grid
    ) -> None:
        """Add an array of frames, of which each has a shape and dimensions of these names."""
        self._create(name, (self._room, *shape), dtype, grid, (FRAME, *dimensions), unit)

    def _create(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        grid: Grid,
        dimensions: Sequence[str],
        unit: str,
    ) -> None:
        from zarr.codecs import BloscCodec, Crc32cCodec

        fill = {"f": np.nan, "i": -1}.get(dtype.kind, 0)
        self._arrays[name] = self._group.create_array(
            name,
            shape=shape,
            dtype=dtype,
            chunks=grid.chunks,
            shards=grid.shards,
            compressors=[BloscCodec(cname="lz4", clevel=5, shuffle="shuffle", typesize=dtype.itemsize), Crc32cCodec()],
            fill_value=fill,
            dimension_names=tuple(dimensions),
            attributes={"units": unit} if unit else {},
            config=_CONFIGURATION,
        )
        self._metadata[name] = json.loads((self._path / name / HEADING).read_bytes())

    def width(self, name: str) -> int:
        """Length of the last axis of an array."""
        return int(self._arrays[name].shape[-1])

    def widen(self, name: str, width: int) -> None:
        """Lengthen the last axis of an array; there is nothing of it in the frames before."""
        shape = (*self._arrays[name].shape[:-1], width)
        self._arrays[name].resize(shape)
        self._metadata[name]["shape"][-1] = width

    def make_room(self, n_frames: int) -> None:
        """Make sure that frames can be written, up to a number of them."""
        if n_frames > self._room:
            self._resize(-(-n_frames // _STEP) * _STEP)

    def _resize(self, n_frames: int) -> None:
        for name in self._growing():
            array = self._arrays[name]
            array.resize((n_frames, *array.shape[1:]))
        self._room = n_frames

    def write(self, name: str, start: int, values: NDArray[Any]) -> None:
        """Write what frames have of an array, from a first one on; of the last axis as much as there is."""
        array = self._arrays[name]
        missing = array.shape[-1] - values.shape[-1] if values.ndim > 1 else 0
        if missing:
            values = np.pad(values, [*[(0, 0)] * (values.ndim - 1), (0, missing)], constant_values=array.fill_value)
        array[start : start + len(values)] = values

    def commit(self, n_frames: int, attributes: Mapping[str, Any], coordinates: Sequence[str]) -> None:
        """Make so many frames count, and say what is said of the whole; `coordinates` are those of xarray."""
        for name in self._growing():
            self._metadata[name]["shape"][0] = n_frames
        heading = {
            "zarr_format": 3,
            "node_type": "group",
            "attributes": {
                ATTRIBUTE: {**attributes, "frames": n_frames},
                "coordinates": " ".join(coordinates),
            },
            "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": self._metadata},
        }
        with written_atomically(self._path / HEADING) as temporary:
            temporary.write_text(json.dumps(heading, indent=1), encoding="utf-8")
        self.n_frames = n_frames

    def close(self) -> None:
        """Have the metadata of each array say how many frames there are."""
        if self._room != self.n_frames:
            self._resize(self.n_frames)
