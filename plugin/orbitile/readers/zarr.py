"""Zarr stores of a volume: ours (layout in docs/stores.md), and images in three dimensions by the convention OME-Zarr.

OME-Zarr 0.4 and 0.5: https://ngff.openmicroscopy.org/. An image is read where x, y and z are lengths with units and
there is one point along any other axis; what is not stored of it is its fill value, as the convention has it.

The package zarr is called in the process for foreign code. Only arrays of the local file system that the store itself
holds are opened, and no more is read of a file than it may have.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import FileError, OrbitileError
from ..files.reading import damage_as_error
from ..files.zarr import ATTRIBUTE, HEADINGS, attributes_of, library
from ..model.geometry import Geometry
from ..model.lattice import Lattice, pyramid
from ..model.units import angstrom
from ..model.volume import StoredVolume, Volume, VolumeHeader
from ._isolation import isolated

DESCRIPTION = "Zarr stores of a volume"
PATTERNS = ("*.zarr",)
FOLDERS = ("*.zarr",)
KIND = "volume"
BINARY = True

VALUES = "values"
"""Name of the array of values in the group of each level."""

_LENGTHS = {
    "angstrom": angstrom,
    "picometer": 0.01 * angstrom,
    "nanometer": 10 * angstrom,
    "micrometer": 1e4 * angstrom,
    "millimeter": 1e7 * angstrom,
}
"""Units of OME-Zarr in bohr; an image of anything larger has no atoms in it."""

_MOST_LEVELS = 64

_MOST_KNOWN_BY = 64 << 20
"""Bytes that are read to tell a store from others, about."""


def read(path: Path) -> tuple[Volume, ...]:
    """Read all values of a volume."""
    return (open_volume(path).whole(),)


def read_atoms(path: Path) -> tuple[Any, Any, Any]:
    """Atomic numbers, core charges and positions of the atoms that a store of ours names."""
    attributes, _ = attributes_of(path)
    return _atoms(attributes.get(ATTRIBUTE), path.name)


def others(path: Path) -> tuple[Path, ...]:
    """The files by which a store is known: what describes it, and its coarsest level, which are means of all values."""
    levels = sorted((level for level in path.iterdir() if level.name.isdecimal()), key=lambda level: int(level.name))
    coarsest = [file for level in levels[-1:] for file in level.rglob("*") if file.is_file()]
    if sum(file.stat().st_size for file in coarsest) > _MOST_KNOWN_BY:  # of another program
        coarsest = []
    return (*(path / name for name in HEADINGS if (path / name).is_file()), *sorted(coarsest))


def open_volume(path: Path) -> StoredVolume:
    """Open a store without reading values.

    Raises
    ------
    FileError
        When it is no store of a volume, its metadata are damaged or make no sense, or it is one that we do not read.
    """
    library(path.name)
    attributes, version = attributes_of(path)
    ours = attributes.get(ATTRIBUTE)
    with damage_as_error(path, "metadata of a volume"):
        try:
            return _by_ome(path, attributes, version) if ours is None else _ours(path, ours)
        except FileError:
            raise
        except OrbitileError as error:  # the model refuses what the metadata say
            raise FileError(f"{path.name}: {error}") from error


def _ours(path: Path, ours: Mapping[str, Any]) -> StoredVolume:
    if ours["kind"] == "volumes":
        raise FileError(f"{path.name}: holds a series of volumes, expected one; open_volumes reads them")
    if ours["kind"] != "volume" or ours["version"] != 1:
        got = f"a {ours['kind']!s:.20} of version {ours['version']!s:.20}"
        raise FileError(f"{path.name}: expected a volume of version 1, got {got}")
    stated = ours["lattice"]
    lattice = Lattice(stated["origin"], stated["axes"], tuple(stated["shape"]), bool(stated["periodic"]))
    lattices = pyramid(lattice)
    levels = [_described(path, f"{number}/{VALUES}", 3) for number in range(len(lattices))]
    for number, (level, expected) in enumerate(zip(levels, lattices, strict=True)):
        if level.shape != expected.shape or level.dtype not in ("<f4", "<f8") or level.dtype != levels[0].dtype:
            got = f"{level.shape} points of {level.dtype}, expected {expected.shape} of {levels[0].dtype}"
            raise FileError(f"{path.name}/{number}/{VALUES}: has {got}; the store is damaged")
    quantity, unit = (str(ours[key]) for key in ("quantity", "unit"))
    headers = tuple(VolumeHeader(one, np.dtype(levels[0].dtype[1:]), quantity, unit) for one in lattices)
    numbers, _, positions = _atoms(ours, path.name)
    return StoredVolume(
        StoredArrays(path, 3, tuple(f"{n}/{VALUES}" for n in range(len(levels))), tuple(levels), (0, 1, 2), whole=True),
        headers,
        Geometry(numbers, positions) if len(numbers) else None,
    )


def _atoms(ours: Any, name: str) -> tuple[NDArray[np.int64], Reals, Reals]:
    if ours is None:
        return np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 3))
    try:
        atoms = ours["atoms"]
        numbers = np.array(atoms["atomic_numbers"], np.int64)
        charges = np.array(atoms["core_charges"], np.float64)
        positions = np.array(atoms["positions"], np.float64).reshape(-1, 3)
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        raise FileError(f"{name}: damaged list of atoms ({type(error).__name__}: {error!s:.80})") from error
    if not len(numbers) == len(charges) == len(positions) or numbers.ndim != 1 or charges.ndim != 1:
        raise FileError(f"{name}: {len(numbers)} atoms with {len(charges)} charges and {len(positions)} positions")
    return numbers, charges, positions


# ---- OME-Zarr


def _by_ome(path: Path, attributes: Mapping[str, Any], version: int) -> StoredVolume:
    """An image of another program, where what it says of its axes leaves no doubt."""
    described = attributes.get("ome", attributes) if version == 3 else attributes
    if "multiscales" not in described:
        hint = f"; open an image in it, such as {path.name}/0" if "bioformats2raw.layout" in described else ""
        raise FileError(f"{path.name}: a Zarr group without OME-Zarr's multiscales, which place its values{hint}")
    if len(described["multiscales"]) != 1:
        raise FileError(f"{path.name}: {len(described['multiscales'])} images in one group, expected one")
    (image,) = described["multiscales"]
    names = [str(axis["name"]) for axis in image["axes"]]
    spaces = [n for n, axis in enumerate(image["axes"]) if axis.get("type") == "space"]
    if sorted(names[n] for n in spaces) != ["x", "y", "z"]:
        raise FileError(f"{path.name}: has axes {', '.join(names):.60}, expected x, y and z to be lengths")
    xyz = [names.index(name) for name in "xyz"]
    units = [str(image["axes"][n].get("unit")) for n in xyz]
    if not all(unit in _LENGTHS for unit in units):
        got = ", ".join(dict.fromkeys(units))
        raise FileError(f"{path.name}: expected lengths in {', '.join(_LENGTHS)}, got {got:.60}")
    lengths = np.array([_LENGTHS[unit] for unit in units])
    levels, headers, paths = [], [], []
    for dataset in image["datasets"][:_MOST_LEVELS]:
        name = str(dataset["path"])
        level = _described(path, name, version)
        if len(level.shape) != len(names) or any(n != 1 for axis, n in enumerate(level.shape) if axis not in spaces):
            raise FileError(f"{path.name}/{name}: has shape {level.shape}, expected one point along all but x, y and z")
        steps = [*dataset["coordinateTransformations"], *image.get("coordinateTransformations", [])]
        scale, shift = _placed(steps, len(names), f"{path.name}/{name}")
        nx, ny, nz = (level.shape[n] for n in xyz)
        lattice = Lattice((shift[xyz] * lengths), np.diag(scale[xyz] * lengths), (nx, ny, nz))
        headers.append(VolumeHeader(lattice, _kept(np.dtype(level.dtype)), str(image.get("name") or ""), ""))
        levels.append(level)
        paths.append(name)
    return StoredVolume(
        StoredArrays(path, version, tuple(paths), tuple(levels), tuple(xyz), whole=False), tuple(headers)
    )


def _placed(steps: Sequence[Any], n: int, name: str) -> tuple[Reals, Reals]:
    """Scale and shift of each axis by transformations that follow one another."""
    scale, shift = np.ones(n), np.zeros(n)
    for step in steps:
        kind = step["type"]
        if kind == "scale":
            factors = np.array(step["scale"], np.float64).reshape(n)
            scale, shift = scale * factors, shift * factors
        elif kind == "translation":
            shift = shift + np.array(step["translation"], np.float64).reshape(n)
        elif kind != "identity":
            raise FileError(f"{name}: its points are placed by {kind!r:.40}, expected scale and translation")
    return scale, shift


# ---- the arrays


def _described(path: Path, array: str, version: int) -> Described:
    return isolated(
        described,
        str(path.absolute()),
        array,
        version,
        name=path.name,
        library="the package zarr",
        imports="zarr",
        size=0,
    )


@dataclass(frozen=True)
class StoredArrays:
    """Arrays of a store: `StoredValues` of a `StoredVolume`.

    Attributes
    ----------
    path : Path
        The store.
    version : int
        Of the format.
    paths : tuple of str
        The arrays in it.
    described : tuple of Described
        What each of them is.
    xyz : tuple of int
        Which axes of the arrays are those of the lattice; there is one point along any others.
    whole : bool
        Whether all values have to be stored.
    """

    path: Path
    version: int
    paths: tuple[str, ...]
    described: tuple[Described, ...]
    xyz: tuple[int, ...]
    whole: bool

    @property
    def name(self) -> str:
        """Of the folder."""
        return self.path.name

    def depth(self, level: int) -> int:
        """Planes along the first axis that are stored together."""
        return self.described[level].chunks[self.xyz[0]]

    def read(self, level: int, start: tuple[int, int, int], stop: tuple[int, int, int]) -> NDArray[np.floating]:
        """Values of a part of a level; raises a `FileError` that names what is damaged or missing of it."""
        array = self.described[level]
        low, high = [0] * len(array.shape), [1] * len(array.shape)
        for axis, a, b in zip(self.xyz, start, stop, strict=True):
            low[axis], high[axis] = a, b
        n_bytes = int(np.prod(np.subtract(high, low, dtype=float))) * np.dtype(array.dtype).itemsize
        values: NDArray[Any] = isolated(
            part,
            str(self.path.absolute()),
            self.paths[level],
            self.version,
            tuple(low),
            tuple(high),
            self.whole,
            name=self.path.name,
            library="the package zarr",
            imports="zarr",
            size=n_bytes,
        )
        others = tuple(axis for axis in range(values.ndim) if axis not in self.xyz)
        turned = values.transpose((*self.xyz, *others))
        return np.ascontiguousarray(turned.reshape(turned.shape[:3]), _kept(values.dtype))


def _kept(dtype: np.dtype[Any]) -> np.dtype[np.floating]:
    """In what values are kept: single precision where it has all their digits."""
    single = dtype.itemsize < 4 or dtype == np.dtype(np.float32)
    return np.dtype(np.float32 if single else np.float64)


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
    if prod(chunks) * size > _LARGEST_CHUNK or prod(shards) * size > _LARGEST_SHARD:
        raise FileError(f"{name}: chunks of {chunks} in files of {shards} points are larger than any that are read")
    if version == 3:
        _check_codecs(array.metadata.to_dict()["codecs"], name)
    return Described(tuple(map(int, array.shape)), array.dtype.str, chunks, shards)


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
    most = 2 * prod(shards) * array.dtype.itemsize + _LONGEST_HEADING
    ranges = [range(a // n, (b - 1) // n + 1) for a, b, n in zip(start, stop, shards, strict=True)]
    if prod(map(len, ranges)) > _MOST_FILES:
        raise FileError(f"{name}: this part lies in more than {_MOST_FILES} files; read smaller ones")
    places = list(product(*ranges))
    for place in places:
        _check_file(Path(store, path, array.metadata.encode_chunk_key(place)), name, most, whole)
    box = tuple(slice(a, b) for a, b in zip(start, stop, strict=True))
    with zarr.config.set({"async.concurrency": 4, "threading.max_workers": 4}):
        try:
            values = np.asarray(array[box])
        except Exception as error:  # foreign code raises anything
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
        except Exception as error:  # foreign code raises anything
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
    except Exception as error:  # foreign code raises anything
        detail = " ".join(str(error).split())[:160]
        raise FileError(f"{name}: its metadata are damaged or unsupported ({detail})") from error


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
