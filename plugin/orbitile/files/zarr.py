"""Zarr stores, ours and others': the library, its errors made ours, and what tells their kinds apart.

A store is a folder. Ours are groups of version 3 whose attribute `orbitile` says what they hold: `KINDS`.
"""

from __future__ import annotations

import json
import stat
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from ..base.errors import FileError
from ..base.packages import required
from .reading import damage_told

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
