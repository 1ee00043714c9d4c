"""Zarr 3 stores of a volume: chunks in shards, compressed, with checksums, and a pyramid of coarser levels.

Layout: docs/stores.md. Formats: https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html with its codecs
`sharding_indexed`, `blosc` and `crc32c`; OME-Zarr 0.5, https://ngff.openmicroscopy.org/0.5/.

A store is written row by row. A row is so many planes along the first axis, the same for all but the last, `rows`; it
becomes a row of shards of each level, which have nothing of other rows. So whoever has a row may write it, in any order
and from any process: `create`, `write_rows` of all rows, `finish`.

Shards are written whole, as the package zarr would, for less than half of the processor time: the index at the end,
each chunk through the codecs `bytes` (little-endian), `blosc` and `crc32c`, the index through `bytes` and `crc32c`.
"""

from __future__ import annotations

import importlib
import os
import secrets
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import FileError
from ..files.zarr import ATTRIBUTE, COMPRESSOR, HEADING, LEVEL, codecs, kind_of_store, library
from ..model.lattice import Lattice, averaged, pyramid
from ..model.units import angstrom
from ..model.volume import Volume, VolumeHeader
from ..model.wavefunction import Wavefunction
from ..readers.zarr import VALUES
from . import Slabs

DESCRIPTION = "Zarr store"
PATTERNS = ("*.zarr",)
KIND = "volume"

_ROW_POINTS = 1 << 27
"""Points of a row, at most, unless it has the fewest planes: 512 MiB in single precision."""

_FEWEST_PLANES, _MOST_PLANES = 8, 64
"""Planes of a row, powers of two. Slabs are computed in multiples of the fewest."""

_CHUNK_POINTS = 1 << 17
"""Points of a chunk, about: 512 KiB in single precision."""

_SHARD_EDGE = 1024
"""Points along the second and third axis of a shard, about."""

_LARGEST = 8 / 7 * 1.02
"""Bytes in a store for each byte of values, at most: coarser levels, padding, indices."""


def write(volume: Volume, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a volume on any lattice, its values in their own precision, and the atoms."""
    write_slabs(volume.header, [volume.values], path, wavefunction)


def write_slabs(header: VolumeHeader, slabs: Slabs, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a volume slab by slab; memory: a row, an eighth of it for means, and a shard compressed."""
    create(path, header, wavefunction)
    for start, values in _gathered(header, slabs):
        write_rows(path, header.lattice, start, values)
    finish(path, header.lattice)


def largest_size(header: VolumeHeader) -> int:
    """Bytes of a store, at most."""
    return ceil(_LARGEST * header.lattice.n_points * header.dtype.itemsize)


def replaces(folder: Path) -> bool:
    """Whether a folder is a store of a volume and nothing else, which another one may replace."""
    known = {HEADING, *map(str, range(64))}
    return kind_of_store(folder) == "volume" and known.issuperset(os.listdir(folder))


# ---- row by row, by whoever has one


def rows(lattice: Lattice) -> tuple[tuple[int, int], ...]:
    """First plane of each row of a store, and the one behind its last."""
    planes, step = lattice.shape[0], _planes(lattice)
    return tuple((start, min(start + step, planes)) for start in range(0, planes, step))


def create(store: Path, header: VolumeHeader, wavefunction: Wavefunction | None = None) -> None:
    """Make the metadata of a store in an empty folder.

    Parameters
    ----------
    store
        The folder, such as one of `orbitile.files.writing.folder_written_atomically`.
    header
        Of the volume.
    wavefunction
        Its atoms are written along.

    Raises
    ------
    FileError
        When zarr is not installed.
    """
    zarr = library(store.name)
    lattice = header.lattice
    names = _axis_names(lattice)
    levels = pyramid(lattice)
    attributes = {
        "ome": {"version": "0.5", "multiscales": [_multiscales(levels, names, header.quantity)]},
        ATTRIBUTE: {
            "kind": "volume",
            "version": 1,
            "lattice": {
                "origin": lattice.origin.tolist(),
                "axes": lattice.axes.tolist(),
                "shape": list(lattice.shape),
                "periodic": lattice.periodic,
            },
            "quantity": header.quantity,
            "unit": header.unit,
            "atoms": _atoms(wavefunction),
        },
    }
    zarr.create_group(str(store), zarr_format=3, attributes=attributes)
    for number, (level, cut) in enumerate(zip(levels, _levels(store, lattice), strict=True)):
        group = zarr.create_group(str(store), path=str(number), zarr_format=3)
        first = _first_point(lattice, level, names)
        group.create_array(
            VALUES,
            shape=level.shape,
            dtype=header.dtype,
            chunks=cut.chunks,
            shards=cut.shards,
            compressors=codecs(header.dtype.itemsize),
            fill_value=np.nan,  # no value is, so what is missing is known
            dimension_names=names,
            attributes={"long_name": header.quantity or VALUES, "units": header.unit},
        )
        for axis, name in enumerate(names):
            coordinate = group.create_array(
                name,
                shape=(level.shape[axis],),
                dtype=np.float64,
                chunks=(level.shape[axis],),
                compressors=codecs(8),
                fill_value=np.nan,
                dimension_names=(name,),
                attributes={"units": "angstrom", **_AXIS_ATTRIBUTES.get(name, _ALONG)},
            )
            coordinate[:] = first[axis] + np.arange(level.shape[axis]) * (level.spacings[axis] / angstrom)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not in the specification yet, and xarray warns where it is not there
        for path in (*map(str, range(len(levels))), ""):
            zarr.consolidate_metadata(str(store), path=path, zarr_format=3)


def write_rows(store: Path, lattice: Lattice, start: int, values: NDArray[np.floating]) -> None:
    """Write one row or several, on all levels that follow from them.

    Parameters
    ----------
    store
        The folder given to `create`.
    lattice
        Of the volume.
    start
        First plane: where a row begins.
    values : ndarray, shape (planes, ny, nz)
        The last plane is the last of a row.

    Raises
    ------
    FileError
        When the planes are not those of rows, a value is not finite, or means are beyond the type of the values.
    """
    shape, step, stop = lattice.shape, _planes(lattice), start + len(values)
    whole = start % step == 0 and (stop % step == 0 or stop == shape[0])
    if values.shape[1:] != shape[1:] or not whole or not 0 <= start < stop <= shape[0]:
        got = f"{values.shape} points from plane {start} on"
        raise FileError(f"expected planes of {shape[1:]} points in rows of {step}, got {got}")
    levels = _levels(store, lattice)[: _halvings(step) + 1]
    for first in range(0, len(values), step):
        row = values[first : first + step]
        if not all(np.isfinite(plane).all() for plane in row):
            raise FileError("the volume has values that are NaN or infinite, which no reader accepts")
        _write_down(levels, start + first, row, first_level=0)


def finish(store: Path, lattice: Lattice) -> None:
    """Write the levels that need several rows, and see that no row is missing.

    Raises
    ------
    FileError
        When a row was not written.
    """
    zarr = library(store.name)
    step = _planes(lattice)
    halvings = _halvings(step)
    levels = _levels(store, lattice)
    for number, level in enumerate(levels[: halvings + 1]):
        for place in np.ndindex(*level.grid):
            if not level.file(*place).is_file():
                first = (place[0] * level.shards[0]) << number
                raise FileError(f"{store.name}: the row of planes from {first} on was not written")
    for base in range(halvings, len(levels) - 1, halvings):
        array = zarr.open_array(str(levels[base].folder), mode="r", zarr_format=3)
        for start in range(0, array.shape[0], step):
            _write_down(levels[base : base + halvings + 1], start, array[start : start + step], first_level=1)


@dataclass(frozen=True)
class _Level:
    """Where the values of a level are, and how they are cut: points of all, of a chunk, of a shard."""

    folder: Path
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    shards: tuple[int, ...]

    @property
    def grid(self) -> tuple[int, ...]:
        """Shards along each axis."""
        return tuple(ceil(n / m) for n, m in zip(self.shape, self.shards, strict=True))

    def file(self, *place: int) -> Path:
        """A shard."""
        return self.folder.joinpath("c", *map(str, place))


def _write_down(levels: Sequence[_Level], start: int, values: NDArray[np.floating], *, first_level: int) -> None:
    """Write planes of the first of some levels, and their means to the others, as far as they make a plane."""
    try:
        for number, level in enumerate(levels):
            if number:
                if len(values) == 1 and levels[number - 1].shape[0] > 1:
                    return  # half a plane
                values, start = averaged(values), start // 2
            if number >= first_level:
                _write_planes(level, start, values)
    except FloatingPointError as error:
        raise FileError("values too large for their means to be computed") from error


def _write_planes(level: _Level, start: int, values: NDArray[np.floating]) -> None:
    """Write planes that begin where a shard does, shard by shard."""
    depth, *edges = level.shards
    for first in range(0, len(values), depth):
        planes = values[first : first + depth]
        for j, k in np.ndindex(*(ceil(n / m) for n, m in zip(values.shape[1:], edges, strict=True))):
            part = planes[:, j * edges[0] : (j + 1) * edges[0], k * edges[1] : (k + 1) * edges[1]]
            write_shard(level.file((start + first) // depth, j, k), part, level.chunks, level.shards)


def _gathered(header: VolumeHeader, slabs: Slabs) -> Iterator[tuple[int, NDArray[np.floating]]]:
    """Slabs of any number of planes as rows, with the first plane of each."""
    cuts = iter(rows(header.lattice))
    start, stop = next(cuts)
    held = np.empty((stop - start, *header.lattice.shape[1:]), header.dtype)
    filled = 0
    for slab in slabs:
        while len(slab):
            part, slab = slab[: stop - start - filled], slab[stop - start - filled :]
            held[filled : filled + len(part)] = part
            filled += len(part)
            if start + filled == stop:
                yield start, held[:filled]
                start, stop = next(cuts, (stop, stop))
                filled = 0


# ---- how it is laid out


def _planes(lattice: Lattice) -> int:
    """Planes of a row: a power of two."""
    _, ny, nz = lattice.shape
    planes = _MOST_PLANES
    while planes > _FEWEST_PLANES and planes * ny * nz > _ROW_POINTS:
        planes //= 2
    return planes


def _halvings(planes: int) -> int:
    """Coarser levels that follow from a row of so many planes."""
    return planes.bit_length() - 1


def _levels(store: Path, lattice: Lattice) -> list[_Level]:
    """The levels of a store and how they are cut."""
    planes = _planes(lattice)
    levels = []
    for number, level in enumerate(pyramid(lattice)):
        depth = min(planes >> ((number - 1) % _halvings(planes) + 1 if number else 0), level.shape[0])
        edge = 1 << (_CHUNK_POINTS // depth).bit_length() // 2
        edges = [min(edge, n) for n in level.shape[1:]]
        shards = [e * ceil(min(_SHARD_EDGE, n) / e) for e, n in zip(edges, level.shape[1:], strict=True)]
        levels.append(_Level(store / str(number) / VALUES, level.shape, (depth, *edges), (depth, *shards)))
    return levels


def _axis_names(lattice: Lattice) -> tuple[str, ...]:
    """The axes of the lattice by name: x, y and z where each runs along one of these, or else a, b and c."""
    along = [np.flatnonzero(axis) for axis in lattice.axes]
    if all(len(found) == 1 and axis[found[0]] > 0 for axis, found in zip(lattice.axes, along, strict=True)):
        return tuple("xyz"[found[0]] for found in along)
    return _OBLIQUE


_OBLIQUE = ("a", "b", "c")
_AXIS_ATTRIBUTES = {name: {"long_name": f"{name} coordinate", "axis": name.upper()} for name in "xyz"}
_ALONG = {"long_name": "distance from the first point along this axis of the lattice"}


def _first_point(lattice: Lattice, level: Lattice, names: tuple[str, ...]) -> Reals:
    """Coordinates along the axes of the first point of a level, in Angstrom."""
    if names == _OBLIQUE:
        steps = np.linalg.solve(lattice.axes.T, level.origin - lattice.origin)
        return np.asarray(steps * lattice.spacings / angstrom)
    return level.origin[["xyz".index(name) for name in names]] / angstrom


def _multiscales(levels: Sequence[Lattice], names: tuple[str, ...], quantity: str) -> dict[str, Any]:
    """What OME-Zarr says of a pyramid; the axes of an oblique lattice are told as lengths along them."""
    datasets = [
        {
            "path": f"{number}/{VALUES}",
            "coordinateTransformations": [
                {"type": "scale", "scale": (level.spacings / angstrom).tolist()},
                {"type": "translation", "translation": _first_point(levels[0], level, names).tolist()},
            ],
        }
        for number, level in enumerate(levels)
    ]
    return {
        "name": quantity or VALUES,
        "axes": [{"name": name, "type": "space", "unit": "angstrom"} for name in names],
        "datasets": datasets,
        "type": "mean",
        "metadata": {"description": "means of 2 x 2 x 2 values of the level before, at their middle"},
    }


def _atoms(wavefunction: Wavefunction | None) -> dict[str, Any]:
    if wavefunction is None:
        return {"atomic_numbers": [], "core_charges": [], "positions": []}
    return {name: np.asarray(getattr(wavefunction, name)).tolist() for name in _ATOMS}


_ATOMS = ("atomic_numbers", "core_charges", "positions")


_NONE = 2**64 - 1
"""Place and length, in the index, of a chunk that is not stored: it lies outside the array."""


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
    return _summed(blosc.Blosc(COMPRESSOR, LEVEL, blosc.SHUFFLE, typesize=plain.itemsize).encode(plain))


def _summed(data: bytes) -> tuple[bytes, bytes]:
    import google_crc32c

    return data, int(google_crc32c.value(data)).to_bytes(4, "little")


def _threads() -> int:
    """Chunks that are compressed at a time."""
    return int(os.environ.get("ORBITILE_THREADS", "0")) or os.cpu_count() or 1
