"""Volumes in files, whole or read part by part, and the atoms that such files name."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from ..errors import FileError, OrbitileError
from ..files.plain import PlainFile, beginning
from ..files.zarr import kind_of_store
from ..model.geometry import Geometry
from ..model.stored_volume import StoredVolume
from ..model.volume import Volume
from ._formats import by_name, known
from ._paths import checked_path


def load_volumes(path: str | PathLike[str]) -> tuple[Volume, ...]:
    """Read the volumes in a cube, OpenDX, MRC/CCP4 or Orbitile `.npz` file or a Zarr store.

    Raises
    ------
    FileError
        When the file cannot be read, is of no known format, or is damaged.
    """
    file = checked_path(path)
    reader = by_name(file, "volume")
    if reader is None:
        raise FileError(f"{file.name}: not a volume by its name. Known: {known('volume')}")
    with PlainFile(file) as plain, np.errstate(all="ignore"):  # absurd numbers, which are refused
        volumes: tuple[Volume, ...] = reader.read(plain.path)
    return volumes


def open_volume(path: str | PathLike[str]) -> StoredVolume:
    """Open a Zarr store of a volume, whose values are read part by part.

    Parameters
    ----------
    path
        A store that Orbitile wrote, or an image in three dimensions by the convention OME-Zarr (0.4, 0.5).

    Raises
    ------
    FileError
        When it cannot be read, is no such store, or its metadata are damaged. What is damaged of the values is told
        when they are read.

    Examples
    --------
    >>> wfn = ob.load("benzene.molden")
    >>> ob.compute_to_file(wfn, "homo", ob.Lattice.around(wfn, points=150), "homo.zarr")
    >>> stored = ob.open_volume("homo.zarr")
    >>> [header.lattice.shape for header in stored.headers]
    [(150, 141, 78), (75, 70, 39), (37, 35, 19)]
    >>> f"{max(abs(slab.values).max() for slab in stored.slabs()):.2f}"
    '0.22'
    >>> stored.within(1 << 20).whole().values.shape
    (75, 70, 39)
    """
    file = checked_path(path)
    reader = by_name(file, "volume")
    opened = None if reader is None or not file.is_dir() else reader.open_volume
    if opened is None:
        raise FileError(f"{file.name}: not a store of a volume by its name; read other files with load_volumes")
    return opened(file)


def holds_volumes(path: str | PathLike[str]) -> bool:
    """Whether a file is one of volumes, by its name; of a store, by what it says to hold."""
    file = Path(path)
    return by_name(file, "volume") is not None and kind_of_store(file) in ("", "volume")


def may_hold_volumes(path: str | PathLike[str]) -> bool:
    """The same, and not another kind of file with such a name, by its beginning.

    Raises
    ------
    FileError
        When it cannot be read.
    """
    file = Path(path).expanduser()
    reader = by_name(file, "volume")
    plausible = None if reader is None or not file.is_file() else reader.plausible
    return holds_volumes(file) and (plausible is None or plausible(beginning(file)))


def load_atoms(path: str | PathLike[str]) -> Geometry | None:
    """Read the atoms that a file of volumes names; None where it names none.

    Raises
    ------
    FileError
        When the file cannot be read or is damaged.
    """
    file = checked_path(path)
    reader = by_name(file, "volume")
    if reader is None or reader.read_atoms is None:
        return None
    with PlainFile(file) as plain:
        numbers, _, positions = reader.read_atoms(plain.path)
    try:
        return Geometry(numbers, positions) if len(numbers) else None
    except OrbitileError as error:
        raise FileError(f"{file.name}: {error}") from error
