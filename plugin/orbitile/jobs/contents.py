"""What is in files, as a digest: by that they are known, not by their names or times."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ..base.errors import FileError
from ..readers import files_of
from ..session.fingerprint import feed


def digest_of(path: str) -> str:
    """Hexadecimal digest of the names, without their folders, and contents of the files that `load` would read.

    Raises
    ------
    FileError
        When one cannot be read.
    """
    found = hashlib.sha256()
    for file in _members(path):
        if not file.is_file():
            raise FileError(f"{file}: is a device or a pipe, expected a file")
        found.update(f"{len(os.fsencode(file.name))}:".encode() + os.fsencode(file.name))
        try:
            size = file.stat().st_size
            found.update(f"{size}:".encode())
            with file.open("rb") as stream:
                feed(found, stream, 0, size)
        except OSError as error:
            raise FileError(f"{file}: cannot be read ({error.strerror or error})") from error
    return found.hexdigest()


def stamp_of(path: str) -> tuple[tuple[int, int], ...]:
    """Sizes and times of these files, to see whether they have changed meanwhile."""
    return tuple((status.st_size, status.st_mtime_ns) for status in (os.stat(file) for file in _members(path)))


def _members(path: str) -> list[Path]:
    """Those files; of a folder that a reader takes for one, what is in it and not in folders within."""
    named = Path(path)
    if named.exists() and not (named.is_file() or named.is_dir()):  # whoever opens a pipe may wait for ever
        raise FileError(f"{path}: is a device or a pipe, expected a file")
    return [file for file in files_of(path) if not file.is_dir()]
