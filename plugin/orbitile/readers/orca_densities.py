"""ORCA's `.densities`: densities beyond that of the orbitals, which are in the `.gbw` file of the same name.

There is no description of the layout. What is read was found with files of ORCA 5.0, 6.0 and 6.1 that have their
orbitals beside them, whose density is one of those in the file. Matrices over ORCA's basis functions follow each other.
What they are stands below them in ORCA 5, and in a file `.densitiesinfo` from 6 on: number of matrices (32 bits), a
name in 512 bytes, and of each matrix a name in 512 bytes, its place (64 bits), and its numbers of rows and columns (32
bits each).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from ..base.errors import FileError
from ..files.plain import PlainFile, name_within
from ..files.reading import check_room, read_bytes
from ..model.wavefunction import Wavefunction
from . import orca_gbw, orca_json
from ._orca import Density, with_density

DESCRIPTION = "ORCA's .densities files with a .gbw or JSON file beside them"
PATTERNS = ("*.densities",)
KIND = "wavefunction"
BINARY = True
PRIORITY = -1  # of a folder, the orbitals themselves are read first

_ORBITALS = {".gbw": orca_gbw.read, ".json": orca_json.read}
"""Files beside it that hold the orbitals."""

_ABOUT = ".densitiesinfo"
"""What ORCA 6 writes beside it."""

_NAME = 512
_RECORDS = {
    5: np.dtype([("name", f"S{_NAME}"), ("place", "<i8"), ("shape", "<i4", 2), ("rest", "V1")]),
    6: np.dtype([("name", f"S{_NAME}"), ("place", "<i8"), ("other", "<i8"), ("shape", "<i4", 2), ("rest", "V125")]),
}
"""What is said of a matrix, by the first version of ORCA that says it so."""

_MOST = 10_000
"""Matrices in a file."""


def read(path: Path) -> Wavefunction:
    """Read the orbitals beside the file, and with them the last density that is not theirs, if there is one."""
    return read_beside(path, path)


def others(path: Path) -> tuple[Path, ...]:
    """The files beside it that belong to it."""
    return tuple(found for found in map(partial(_beside, path), (*_ORBITALS, _ABOUT)) if found.is_file())


def read_beside(plain: Path, path: Path) -> Wavefunction:
    """The same of a plain copy of a file, the others of the calculation lying beside the original."""
    wavefunction = _orbitals_beside(path)
    densities = list(_densities(read_bytes(plain), path))
    return replace(with_density(wavefunction, densities, path.name), source=str(path))


def _orbitals_beside(path: Path) -> Wavefunction:
    for suffix, reader in _ORBITALS.items():
        if (beside := _beside(path, suffix)).is_file():
            with PlainFile(beside) as plain:
                return reader(plain.path)
    needed = _beside(path, ".gbw").name
    raise FileError(f"{path.name}: densities need the orbitals beside them, {needed} of the same calculation")


def _beside(path: Path, suffix: str) -> Path:
    """A file of the same calculation."""
    return path.with_name(name_within(path.name)).with_suffix(suffix)


def _densities(data: bytes, path: Path) -> Iterator[Density]:
    """All square matrices of the file."""
    information = _beside(path, _ABOUT)
    if information.is_file():
        version, about = 6, read_bytes(information)
    else:
        version = 5
        place = int(np.frombuffer(data[:8].ljust(8, b"\xff"), "<i8")[0])
        if not 8 <= place <= len(data) - 4 - _NAME:
            raise FileError(f"{path.name}: of an unknown layout, or without the {information.name} that ORCA 6 writes")
        about = data[place:]
    record = _RECORDS[version]
    if len(about) < 4 + _NAME:
        raise FileError(f"{path.name}: its list of densities is cut off")
    count = int(np.frombuffer(about, "<i4", 1)[0])
    if not 0 < count <= _MOST:
        raise FileError(f"{path.name}: {count} densities, expected 1 to {_MOST}: damaged")
    check_room(path.name, count, len(about) - 4 - _NAME, record.itemsize, "names of densities")
    for entry in np.frombuffer(about, record, count, 4 + _NAME):
        name = entry["name"].split(b"\0")[0].decode("utf-8", "replace").replace("\\", "/").rpartition("/")[2]
        place, (n, n_columns) = int(entry["place"]), entry["shape"].tolist()
        if place < 0 or n < 0:
            raise FileError(f"{path.name}: {name} is at byte {place}, of {n} rows: damaged")
        if n != n_columns:
            continue
        check_room(path.name, n * n, len(data) - place, 8, "numbers")
        yield Density(_kind(name, _beside(path, "").name), np.frombuffer(data, "<f8", n * n, place).reshape(n, n))


def _kind(name: str, calculation: str) -> str:
    """`scfp` of `job.scfp`."""
    return name.removeprefix(f"{calculation}.") if name.startswith(f"{calculation}.") else name.rpartition(".")[2]
