"""HDF5 files, ours and others: the library, its errors made ours, and what tells their kinds apart."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from ..base.errors import FileError
from ..base.packages import required
from .reading import damage_told

MAGIC = b"Orbitile series 1\n"

USER_BLOCK = 512

SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""First bytes of an HDF5 file without a user block."""


def library(name: str, what: str = "series files") -> Any:
    """The package h5py, for a file of that name; what sort of file it is, for people.

    Raises
    ------
    FileError
        When it is not installed.
    """
    return required("h5py", FileError, f"{name}: {what} need the package h5py")


def translated(path: Path) -> AbstractContextManager[None]:
    """What h5py raises of a damaged file, in one line."""
    return damage_told(path, "HDF5 file")


def root_names(path: Path) -> frozenset[str]:
    """Names of the groups, datasets and attributes at the root of a file, by which its kind is known.

    Raises
    ------
    FileError
        When it is damaged, or h5py is not installed.
    """
    h5py = library(path.name)
    with translated(path), h5py.File(path, "r") as file:
        return frozenset((*file.keys(), *file.attrs.keys()))
