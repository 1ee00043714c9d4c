"""Shards of Zarr 3 arrays, written whole: as the package zarr would, for less than half of the processor time.

Format: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/index.html, its index at the end. Each
chunk goes through the codecs `bytes` (little-endian), `blosc` and `crc32c`, the index through `bytes` and `crc32c`:
`codecs` has them for the metadata. The package zarr reads what is written here, and so does any other.
"""

from __future__ import annotations

import importlib
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import ceil
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

_COMPRESSOR, _LEVEL = "lz4", 5

_NONE = 2**64 - 1
"""Place and length, in the index, of a chunk that is not stored: it lies outside the array."""


def codecs(zarr: ModuleType, itemsize: int) -> list[Any]:
    """What the metadata of an array say of its chunks, for numbers of so many bytes."""
    blosc = zarr.codecs.BloscCodec(cname=_COMPRESSOR, clevel=_LEVEL, shuffle="shuffle", typesize=itemsize)
    return [blosc, zarr.codecs.Crc32cCodec()]


def write_shard(file: Path, values: NDArray[np.floating], chunk: tuple[int, ...], shard: tuple[int, ...]) -> None:
    """Write one shard, whole or not at all; folders around it are made.

    Memory: the compressed shard, at most. What is compressed at a time is as many chunks as there are processors.

    Parameters
    ----------
    file
        Where it belongs.
    values : ndarray
        Of the part of the array that is in this shard, which at its far edges may be smaller than a shard.
    chunk, shard : tuple of int
        Points of a chunk and of a shard along each axis.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    grid = [n // m for n, m in zip(shard, chunk, strict=True)]
    index = np.full((*grid, 2), _NONE, "<u8")
    inside = [ceil(m / n) for n, m in zip(chunk, values.shape, strict=True)]
    places = list(np.ndindex(*inside))
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}-{secrets.token_hex(6)}")
    try:
        with temporary.open("xb") as stream, ThreadPoolExecutor(_threads()) as pool:
            written = 0
            for place, coded in zip(places, pool.map(partial(_coded, values, chunk), places), strict=True):
                index[place] = written, sum(map(len, coded))
                stream.writelines(coded)
                written += int(index[place][1])
            stream.writelines(_summed(index.tobytes()))
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)


def _coded(values: NDArray[np.floating], chunk: tuple[int, ...], place: tuple[int, ...]) -> tuple[bytes, bytes]:
    """A chunk as it is stored: compressed, and its checksum."""
    blosc: Any = importlib.import_module("numcodecs.blosc")  # here, since it comes with zarr, which need not be there
    corner = tuple(slice(i * n, (i + 1) * n) for i, n in zip(place, chunk, strict=True))
    part = values[corner]
    if part.shape != chunk:  # at the far edges
        part = np.pad(part, [(0, n - m) for n, m in zip(chunk, part.shape, strict=True)])
    plain = np.ascontiguousarray(part, values.dtype.newbyteorder("<"))
    return _summed(blosc.Blosc(_COMPRESSOR, _LEVEL, blosc.SHUFFLE, typesize=plain.itemsize).encode(plain))


def _summed(data: bytes) -> tuple[bytes, bytes]:
    import google_crc32c

    return data, int(google_crc32c.value(data)).to_bytes(4, "little")


def _threads() -> int:
    """Chunks that are compressed at a time."""
    return int(os.environ.get("ORBITILE_THREADS", "0")) or os.cpu_count() or 1
