"""Which files a batch is about, and digests of what is in them: by those they are known, not by names or times."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from glob import glob, has_magic
from pathlib import Path

from ..base.errors import FileError
from ..files.reading import add_to_digest, user_path
from ..readers import files_of, natural_order


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
                add_to_digest(found, stream, 0, size)
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


_MOST = 10_000_000
"""Files of a batch: more are a pattern of too much."""


def files_in(names: Iterable[str | os.PathLike[str]], folder: Path) -> list[str]:
    """Files that are meant by names and patterns, each once, as the user named them.

    Parameters
    ----------
    names
        Files, folders and archives as `load` takes them; patterns, in which ** stands for any folders, whose files are
        taken in natural order (2 before 10); @FILE for the names in a file, one a line.
    folder
        Of the batch, in which nothing is looked for.

    Raises
    ------
    FileError
        When a pattern matches nothing, or a list cannot be read. A file that is not there costs its row.
    """
    found: dict[str, None] = {}
    for name in names:
        text = os.fspath(name)
        if text.startswith("@") and not os.path.exists(text):
            found.update(dict.fromkeys(_listed(text[1:])))
        elif has_magic(text) and not os.path.lexists(user_path(text)):
            found.update(dict.fromkeys(_matching(text, folder)))
        elif text.strip():
            found[text] = None
        if len(found) > _MOST:
            raise FileError(f"{text}: expected {_MOST:,} files at most")
    if not found:
        raise FileError("batch: expected files, got none")
    return list(found)


def _matching(pattern: str, folder: Path) -> list[str]:
    """Files that match a pattern; folders too, where it does not look into them anyway."""
    within, own = "**" in pattern, os.path.realpath(folder) + os.sep
    found = [
        path
        for path in glob(str(user_path(pattern)), recursive=True)
        if not (within and os.path.isdir(path)) and not os.path.realpath(path).startswith(own)
    ]
    if not found:
        raise FileError(f"{pattern}: no file matches this pattern")
    return sorted(found, key=natural_order)


def _listed(path: str) -> list[str]:
    try:
        text = user_path(path).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error})") from error
    return [line.strip() for line in text.splitlines() if line.strip()]
