"""Paths that users give, before anybody opens them."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from ..errors import FileError
from ..files.reading import neighbour, user_path
from ._formats import folder_patterns

ACCEPTED = "!accept-damaged"
"""Behind the name of a file: it is opened though its orbitals are not orthonormal, with a warning that stays."""


def accepted(path: str | PathLike[str]) -> tuple[str, bool]:
    """A name without the mark for damaged files, and whether it was there."""
    text = fspath(path)
    plain = text.removesuffix(ACCEPTED)
    return plain, plain != text


def checked_path(path: str | PathLike[str], *, folders: bool = False) -> Path:
    """A file that is there and is not empty; a folder where it has the name of one that is read, or `folders` may be.

    Raises
    ------
    FileError
        When there is no such file, or it cannot be read.
    """
    file = user_path(path)
    try:
        if not folders and file.is_dir() and not any(file.match(pattern) for pattern in folder_patterns()):
            raise FileError(f"{file}: is a folder, expected a file")
        if not file.exists():
            raise FileError(f"{file}: no such file{neighbour(file)}")
        if file.is_file() and file.stat().st_size == 0:
            raise FileError(f"{file.name}: the file is empty")
    except OSError as error:
        raise FileError(f"{file}: cannot be read ({error.strerror})") from error
    except ValueError as error:  # a NUL character in the name
        raise FileError(f"{str(file)!r}: not a file name ({error})") from error
    return file
