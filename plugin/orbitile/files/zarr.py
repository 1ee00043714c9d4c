"""Zarr stores, ours and others': the library, its errors made ours, and what tells their kinds apart.

A store is a folder. Ours are groups of version 3 whose attribute `orbitile` says what they hold: `KINDS`.

Stores of frames have arrays that grow together along their first axis, committed frame by frame. What counts is the
heading of the group, `zarr.json`: it says how many frames there are, and has the metadata of all arrays with that many
(Zarr's consolidated metadata, which zarr and xarray read by themselves). It is replaced as a whole, and after the data.
So whoever opens the store sees frames that are complete, and a writer that is killed leaves what it had committed. The
metadata of each array by itself are ahead of that, by a step, so that they need not be written with every frame.

Arrays with little in a frame have many frames in a chunk. Of others each frame is a chunk, and many of them are in one
file (a shard), which is written anew for each frame that is added. Chunks have checksums (CRC-32C), so have the indices
of shards; a chunk that is missing, which Zarr takes for one of fill values, is an error here.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError, OrbitileError
from ..base.memory import require_memory, share
from ..base.packages import required
from .reading import damage_told
from .writing import written_atomically

ATTRIBUTE = "orbitile"
"""Attribute of the group that says what is in it: `kind`, of `KINDS`, `version`, and what that kind has."""

KINDS = ("volume", "volumes", "trajectory")

HEADING = "zarr.json"
"""File with the metadata of a group or an array of version 3."""

_LONGEST_HEADING = 16 << 20
"""Bytes of the metadata of a group, at most."""


def library(name: str, what: str = "Zarr stores") -> Any:
    """The package zarr, for a store of that name; what sort of store it is, for people.

    Raises
    ------
    FileError
        When it is not installed.
    """
    return required("zarr", FileError, f"{name}: {what} need the package zarr, and Python 3.11 or later")


def translated(path: Path) -> AbstractContextManager[None]:
    """What zarr and its codecs raise of a damaged store, in one line."""
    return damage_told(path, "Zarr store")


COMPRESSOR, LEVEL = "lz4", 5
"""How chunks are compressed by Blosc, with their bytes shuffled."""


def codecs(itemsize: int) -> list[Any]:
    """What the metadata of an array of ours say of its chunks, for numbers of so many bytes."""
    from zarr.codecs import BloscCodec, Crc32cCodec

    return [BloscCodec(cname=COMPRESSOR, clevel=LEVEL, shuffle="shuffle", typesize=itemsize), Crc32cCodec()]


def kind_of_store(path: Path) -> str:
    """What a folder holds that is a store of ours, of `KINDS`; empty for any other. Needs no library."""
    try:
        kind = _heading(path / HEADING)["attributes"][ATTRIBUTE]["kind"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ""
    return kind if kind in KINDS else ""


def attributes_of(path: Path) -> tuple[dict[str, Any], int]:
    """Attributes of the group that a store is, and the version of its format: 3, or 2. Needs no library.

    Raises
    ------
    FileError
        When the folder is no such store, or what describes it is damaged.
    """
    try:
        if (path / HEADING).exists():
            heading, version = _heading(path / HEADING), 3
            attributes = heading["attributes"]
            if heading["node_type"] != "group":
                raise ValueError("an array, expected a group")
        else:
            attributes, version = _heading(path / _ATTRIBUTES_OF_2), 2
        if not isinstance(attributes, dict):
            raise TypeError(f"attributes: expected a dictionary, got {attributes!r:.40}")
    except FileNotFoundError as error:
        raise FileError(f"{path.name}: a folder without {HEADING}, expected a Zarr store") from error
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        detail = str(error).split("\n")[0][:160]
        raise FileError(
            f"{path.name}: no group of Zarr, or a damaged one ({type(error).__name__}: {detail})"
        ) from error
    return attributes, version


_ATTRIBUTES_OF_2 = ".zattrs"

HEADINGS = (HEADING, _ATTRIBUTES_OF_2)
"""Files with the attributes of a group, of both versions."""


def _heading(file: Path) -> Any:
    found = file.stat()
    if not stat.S_ISREG(found.st_mode) or found.st_size > _LONGEST_HEADING:
        raise ValueError(f"{file.name} is no file, or larger than {_LONGEST_HEADING >> 20} MiB")
    return json.loads(file.read_bytes())


# ---- frames


FRAME = "frame"
"""Name of the axis along which a store grows."""

_MOST_IN_SHARD = 1 << 20
"""Chunks of a shard, whose index is read as a whole."""

_LARGEST_SHARED = 256 << 20
"""Bytes of an array that is not of frames, at most."""

_ERRORS = (OSError, LookupError, ValueError, TypeError, RuntimeError, AttributeError, ArithmeticError, MemoryError)
"""What zarr and its codecs raise of damaged data."""

_ADVICE = "the store is damaged, or was made on a larger machine"


class FrameStore:
    """The arrays of a store of frames, to be read as they were committed when it was opened, or refreshed.

    Parameters
    ----------
    path
        Folder of the store.
    kind
        Of `files.zarr.KINDS`.
    version
        Of the layout.

    Attributes
    ----------
    n_frames : int
    attributes : dict
        What is said of the whole.

    Raises
    ------
    FileError
        When it is no such store, of a later version, or damaged.
    """

    def __init__(self, path: Path, kind: str, version: int) -> None:
        self._path, self._kind, self._version = path, kind, version
        self._open()

    def _open(self) -> None:
        zarr = library(self._path.name)
        self._status = _status_of(self._path)
        heading = read_heading(self._path)
        self.n_frames = frames_of(heading)
        self.attributes: dict[str, Any] = heading["attributes"][ATTRIBUTE]
        for name, expected in (("kind", self._kind), ("version", self._version)):
            if self.attributes.get(name) != expected:
                raise FileError(f"expected a store of {name} {expected!r}, got {name} {self.attributes.get(name)!r}")
        self._group = zarr.open_group(self._path, mode="r", use_consolidated=True)
        self._arrays: dict[str, Any] = {}

    def refresh(self) -> int:
        """Number of frames that are committed by now; from now on, they can be read.

        Raises
        ------
        FileError
            As for a new one.
        OSError
            When there is no store any more.
        """
        if _status_of(self._path) != self._status:
            self._open()
        return self.n_frames

    def close(self) -> None:
        """There is nothing open between two frames."""

    def __contains__(self, name: str) -> bool:
        return name in self._group

    def _array(self, name: str) -> Any:
        if name not in self._arrays:
            array = self._group[name]
            if array.shards and math.prod(array.shards) > _MOST_IN_SHARD * math.prod(array.chunks):
                raise FileError(f"{name}: shards of {array.shards} have more chunks than any of ours")
            _require(math.prod(array.chunks) * array.dtype.itemsize, f"a chunk of {name}")
            self._arrays[name] = array
        return self._arrays[name]

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of an array."""
        return tuple(self._array(name).shape)

    def chunks(self, name: str) -> tuple[int, ...]:
        """Shape of what is compressed together of an array."""
        return tuple(self._array(name).chunks)

    def frames_in_file(self, name: str) -> int:
        """Frames of an array that are in one file."""
        array = self._array(name)
        return int((array.shards or array.chunks)[0])

    def dtype(self, name: str) -> np.dtype[Any]:
        """Type of the numbers of an array."""
        return self._array(name).dtype

    def whole(self, name: str) -> NDArray[Any]:
        """An array that is not of frames."""
        array = self._array(name)
        if math.prod(array.shape) * array.dtype.itemsize > _LARGEST_SHARED:
            raise FileError(f"{name}: expected {_LARGEST_SHARED >> 20} MiB at most, got shape {array.shape}")
        everything = _all_of(array.shape)
        return self._read(name, everything, everything)

    def frame(self, name: str, index: int, region: tuple[slice, ...] = ()) -> NDArray[Any]:
        """What one frame has of an array, or a region of that, whose slices have no steps."""
        self._reach(index + 1)
        shape = self._array(name).shape[1:]
        parts = list(_all_of(shape))
        for axis, (n, part) in enumerate(zip(shape, region, strict=False)):
            start, stop = part.start or 0, n if part.stop is None else part.stop
            if not 0 <= start <= stop <= n:
                raise FileError(f"{name}: expected {stop} along axis {axis + 1} of a frame, there are {n}")
            parts[axis] = slice(start, stop)
        selection = (slice(index, index + 1), *parts)
        return self._read(name, selection, selection)[0]

    def frames(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """What frames have of an array, those from a first one up to another."""
        self._reach(stop)
        shape = self._array(name).shape[1:]
        # the last axis may be wider than that of frames before
        return self._read(
            name, (slice(start, stop), *_all_of(shape)), (slice(start, stop), *[slice(0, 1)] * len(shape))
        )

    def _reach(self, n_frames: int) -> None:
        """Refuse to read beyond the frames that are committed by now."""
        if self.n_frames < n_frames and self.refresh() < n_frames:
            raise FileError(f"has {self.n_frames} frames")

    def _read(self, name: str, selection: tuple[slice, ...], stored: tuple[slice, ...]) -> NDArray[Any]:
        """A region of an array, after a look whether the files of another region are there."""
        array = self._array(name)
        _require(math.prod(part.stop - part.start for part in selection) * array.dtype.itemsize, name)
        grid = array.shards or array.chunks
        for place in product(
            *(range(part.start // n, -(-part.stop // n)) for part, n in zip(stored, grid, strict=True))
        ):
            key = array.metadata.encode_chunk_key(place)
            if not (self._path / name / key).is_file():
                raise FileError(f"the file {name}/{key} is missing")
        try:
            values: NDArray[Any] = array[selection]
        except OrbitileError:
            raise
        except _ERRORS as error:
            detail = str(error).split("\n")[0]
            raise FileError(f"{name} is damaged ({type(error).__name__}: {detail})") from error
        return values


def _all_of(shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(0, n) for n in shape)


def _require(n_bytes: int, what: str) -> None:
    """Refuse what would not fit in memory, read and expanded."""
    require_memory(2 * n_bytes, what, _ADVICE, small=2 * share("slab"))


def read_heading(path: Path) -> Any:
    """The metadata of the group, with those of its arrays.

    Raises
    ------
    FileError
        When they are damaged, or the store is none of frames.
    """
    file = path / HEADING
    with suppress(OSError, ValueError, RecursionError):
        if file.is_file() and file.stat().st_size <= _LONGEST_HEADING:
            found = json.loads(file.read_bytes())
            arrays = found["consolidated_metadata"]["metadata"] if _is_group(found) else None
            if isinstance(arrays, dict) and all(isinstance(one, dict) and "shape" in one for one in arrays.values()):
                return found
    raise FileError(f"{HEADING} is damaged, or of another kind of store")


def _is_group(found: Any) -> bool:
    return (
        isinstance(found, dict)
        and isinstance(found.get("attributes"), dict)
        and isinstance(found["attributes"].get(ATTRIBUTE), dict)
        and isinstance(found.get("consolidated_metadata"), dict)
        and "metadata" in found["consolidated_metadata"]
    )


def frames_of(heading: Any) -> int:
    """Number of committed frames, as the heading of the group says; all its arrays have to have that many.

    Raises
    ------
    FileError
        When they have not.
    """
    n = heading["attributes"][ATTRIBUTE].get("frames")
    if not isinstance(n, int) or n < 0:
        raise FileError(f"number of frames: expected 0 or more, got {n!r}")
    for name, metadata in heading["consolidated_metadata"]["metadata"].items():
        if grows(metadata) and metadata["shape"][:1] != [n]:
            raise FileError(f"{name}: expected {n} frames, got an array of shape {metadata['shape']}")
    return n


def _status_of(path: Path) -> tuple[int, int, int]:
    """What changes whenever frames are committed."""
    found = os.stat(path / HEADING)
    return found.st_ino, found.st_mtime_ns, found.st_size


def grows(metadata: Any) -> bool:
    """Whether an array is one of frames, by its metadata."""
    names = metadata.get("dimension_names")
    return isinstance(names, list) and names[:1] == [FRAME]


def without_shape(metadata: Any) -> Any:
    """The metadata of an array, but for its shape."""
    return {name: value for name, value in metadata.items() if name != "shape"}


_STEP = 64
"""Frames by which the metadata of each array grow."""

_SMALL = 16 << 10
"""Bytes of a frame below which many are put into a chunk: reading one then reads the others."""

_CHUNK = 256 << 10
"""Bytes of such a chunk."""

_MOST_IN_CHUNK = 4096

_SHARD = 32 << 20
"""Bytes of a shard before they are compressed, and of a chunk, unless the frame is larger."""

_FRAMES_IN_SHARD = 256
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
    frames = min(max(1, _SHARD // n_bytes), most or _FRAMES_IN_SHARD, _MOST_IN_SHARD)
    return Grid((1, *shape[:-1], width), (frames, *shape[:-1], -(-shape[-1] // width) * width))


LOCKED = f"atomic_numbers/{HEADING}"
"""A file of a store that is never replaced, by which a writer keeps others out."""


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
                raise FileError(f"{name}: the metadata of this array differ from those of the group")
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
        fill = {"f": np.nan, "i": -1}.get(dtype.kind, 0)
        self._arrays[name] = self._group.create_array(
            name,
            shape=shape,
            dtype=dtype,
            chunks=grid.chunks,
            shards=grid.shards,
            compressors=codecs(dtype.itemsize),
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
