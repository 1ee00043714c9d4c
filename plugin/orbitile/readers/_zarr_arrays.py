"""Arrays of Zarr stores through the package zarr, in the process for foreign code: what they are, and parts of them.

Only arrays of the local file system that the store itself holds are opened, and no more is read of a file than it may
have.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from ..files.zarr import library

_CODECS = ("bytes", "transpose", "sharding_indexed", "blosc", "zstd", "gzip", "crc32c")
"""Codecs of version 3 that are read: none has parameters that could make it run anything."""

_LONGEST_HEADING = 1 << 20
_LARGEST_CHUNK = 1 << 28
"""Bytes of the metadata of an array, and of what is compressed together."""

_LARGEST_SHARD = 1 << 34
_MOST_FILES = 1 << 17

_HEADINGS = {3: "zarr.json", 2: ".zarray"}


class Described(NamedTuple):
    """What an array is; shapes of a chunk, and of what is a file."""

    shape: tuple[int, ...]
    dtype: str
    chunks: tuple[int, ...]
    shards: tuple[int, ...]
    names: tuple[str, ...]


def described(store: str, path: str, version: int) -> Described:
    """What an array of a store is.

    Raises
    ------
    FileError
        When there is none of this path, its metadata make no sense, or it is none that is read.
    """
    array = _opened(store, path, version)
    name = f"{Path(store).name}/{path}"
    chunks, shards = tuple(map(int, array.chunks)), tuple(map(int, array.shards or array.chunks))
    size = array.dtype.itemsize
    if array.dtype.kind not in "fiu":
        raise FileError(f"{name}: holds {array.dtype}, expected real numbers")
    if min((*array.shape, *chunks, *shards), default=0) < 1:
        raise FileError(f"{name}: expected points along each axis, got shape {array.shape} in chunks of {chunks}")
    if _count(chunks) * size > _LARGEST_CHUNK or _count(shards) * size > _LARGEST_SHARD:
        raise FileError(f"{name}: chunks of {chunks} in files of {shards} points are larger than any that are read")
    if version == 3:
        _check_codecs(array.metadata.to_dict()["codecs"], name)
    names = getattr(array.metadata, "dimension_names", None) or ()
    return Described(tuple(map(int, array.shape)), array.dtype.str, chunks, shards, tuple(map(str, names)))


def part(
    store: str, path: str, version: int, start: tuple[int, ...], stop: tuple[int, ...], whole: bool
) -> NDArray[Any]:
    """Values of a part of an array.

    Parameters
    ----------
    store, path, version
        The folder, the array in it, the version of its format.
    start, stop : tuple of int
        First index along each axis, and the one behind the last.
    whole : bool
        Whether all of it has to be there; what is not stored is the fill value otherwise.

    Raises
    ------
    FileError
        When a file is missing, is none, or is damaged; says which.
    """
    zarr = library(Path(store).name)
    array = _opened(store, path, version)
    name = f"{Path(store).name}/{path}"
    shards = tuple(map(int, array.shards or array.chunks))
    most = 2 * _count(shards) * array.dtype.itemsize + _LONGEST_HEADING
    ranges = [range(a // n, (b - 1) // n + 1) for a, b, n in zip(start, stop, shards, strict=True)]
    if _count(tuple(map(len, ranges))) > _MOST_FILES:
        raise FileError(f"{name}: this part lies in more than {_MOST_FILES} files; read smaller ones")
    places = list(product(*ranges))
    for place in places:
        _check_file(Path(store, path, array.metadata.encode_chunk_key(place)), name, most, whole)
    box = tuple(slice(a, b) for a, b in zip(start, stop, strict=True))
    with zarr.config.set({"async.concurrency": 4, "threading.max_workers": 4}):
        try:
            values = np.asarray(array[box])
        except Exception as error:  # foreign code raises whatever comes
            raise _culprit(array, places, shards, start, stop, name) or error from error
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        bad = tuple(int(n) for n in np.argwhere(~np.isfinite(values))[0])
        place = tuple((a + n) // m for a, n, m in zip(start, bad, shards, strict=True))
        where = tuple(a + n for a, n in zip(start, bad, strict=True))
        what = "a chunk is missing, or damaged" if whole else f"is {values[bad]}, expected a finite number"
        raise FileError(f"{name}: the value at point {where}, in {array.metadata.encode_chunk_key(place)}: {what}")
    return values


def _culprit(
    array: Any,
    places: list[tuple[int, ...]],
    shards: tuple[int, ...],
    start: tuple[int, ...],
    stop: tuple[int, ...],
    name: str,
) -> FileError | None:
    """Which of several files it is that cannot be read."""
    for place in places:
        corner = [i * n for i, n in zip(place, shards, strict=True)]
        box = tuple(slice(max(a, c), min(b, c + n)) for a, b, c, n in zip(start, stop, corner, shards, strict=True))
        try:
            array[box]
        except Exception as error:  # foreign code raises whatever comes
            detail = " ".join(str(error).split())[:160]
            key = array.metadata.encode_chunk_key(place)
            return FileError(f"{name}: {key} is damaged ({type(error).__name__}: {detail})")
    return None


def _opened(store: str, path: str, version: int) -> Any:
    zarr = library(Path(store).name)
    folder = Path(store, path)
    name = f"{Path(store).name}/{path}"
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise FileError(f"{name}: an array outside the store, which is not followed")
    _check_file(folder / _HEADINGS[version], name, _LONGEST_HEADING, True)
    try:
        return zarr.open_array(str(folder), mode="r", zarr_format=version)
    except Exception as error:  # foreign code raises whatever comes
        detail = " ".join(str(error).split())[:160]
        raise FileError(f"{name}: its metadata are damaged, or of no kind that is read ({detail})") from error


def _check_file(file: Path, name: str, most: int, needed: bool) -> None:
    """Refuse a file that is missing, is a pipe or a device, or is larger than it can be."""
    shown = file.name if file.name in _HEADINGS.values() else "/".join(file.parts[-4:])
    try:
        found = file.stat()
    except FileNotFoundError as error:
        if needed:
            raise FileError(f"{name}: {shown} is missing; the store is incomplete") from error
        return
    except OSError as error:
        raise FileError(f"{name}: {shown} cannot be read ({error.strerror or error})") from error
    if not stat.S_ISREG(found.st_mode) or found.st_size > most:
        raise FileError(f"{name}: {shown} is no file, or larger than it can be")


def _check_codecs(codecs: Any, name: str) -> None:
    for codec in _all(codecs):
        if codec["name"] not in _CODECS:
            raise FileError(f"{name}: is stored by {codec['name']!r:.40}, expected {', '.join(_CODECS)}")


def _all(codecs: Any) -> Iterator[Any]:
    for codec in codecs:
        yield codec
        configuration = codec.get("configuration") or {}
        yield from _all((*configuration.get("codecs", ()), *configuration.get("index_codecs", ())))


def _count(shape: tuple[int, ...]) -> int:
    product_ = 1
    for n in shape:
        product_ *= n
    return product_
