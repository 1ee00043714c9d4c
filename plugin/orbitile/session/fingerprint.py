"""What files hold, as short text: two files share it only where they hold the same, whatever names and times they have.

A file is read for it once, and again when its status says that it may have been written since. A file that was written
less than two seconds before it was read may be written again without a trace in its status, so that one is always read.
Of a file of more than 256 MiB both ends and 256 places in between are read, which takes less than a second.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Any, BinaryIO

from ..base.caches import Cache
from ..base.errors import FileChanged, OrbitileError
from ..base.memory import share
from ..files.hdf5 import MAGIC
from ..files.zarr import kind_of_store
from ..readers import files_of
from ..readers.series import SeriesFrames

_SETTLED = 2 * 10**9
"""Nanoseconds; the coarsest times of common file systems are those of FAT, two seconds."""
_PIECE = share("piece of a file")
_WHOLE = 256 << 20
"""Bytes of a file that is read whole."""
_END = 64 << 20
_PLACES = 256

_Status = tuple[tuple[int, ...], ...]
_known = Cache[tuple[_Status, str]]("numbers")
"""Status and content of files, by their paths and how much of them was looked at."""


def content_of(path: str, like: str = "") -> str:
    """What a file or a folder holds now.

    Parameters
    ----------
    path
        The file.
    like
        An earlier content of a file that may have grown: as much of it as there was then is looked at.

    Returns
    -------
    str
        How much was looked at (bytes, of a series file frames) and a digest of it; empty where it cannot be read.
    """
    extent = int(like.partition("-")[0]) if like else None
    try:
        files = _files(path)
        status = _status(files)
        begin = time.time_ns()
        known = _known.get((path, extent))
        if known is not None and known[0] == status:
            return known[1]
        content = _read(files, extent)
    except (OSError, ValueError, OrbitileError):  # whoever loads it is told what is wrong
        return ""
    if all(begin - max(modified, changed) > _SETTLED for *_, modified, changed in status):
        _known.put((path, extent), (status, content))
    return content


def require_unchanged(path: str, content: str, *, grown: bool = False) -> None:
    """Refuse a file that no longer holds what it held; an empty content stands for any.

    Parameters
    ----------
    path, content
        The file, and what `content_of` gave for it.
    grown
        Whether it may hold more by now.

    Raises
    ------
    FileChanged
        When it holds something else, or cannot be read any more.
    """
    if content and content_of(path, content if grown else "") != content:
        what = "has changed" if os.path.exists(path) else "is not there any more, or has changed"
        raise FileChanged(f"{path}: {what} since it was loaded; load it again to show what it holds now")


def _files(path: str) -> list[str]:
    """The files in which there is what a path stands for: itself, what belongs to it, or what is read of a folder."""
    plain = os.path.expanduser(path)
    if os.path.exists(plain) and not (os.path.isfile(plain) or os.path.isdir(plain)):
        raise OSError(f"{path}: no file")  # whoever opens a pipe may wait for ever
    return [str(file) for file in files_of(plain)]


def _status(files: list[str]) -> _Status:
    found = map(os.stat, files)
    return tuple((file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns) for file in found)


def _read(files: list[str], extent: int | None) -> str:
    if kind_of_store(Path(files[0])) == "trajectory":
        return _series(Path(files[0]), extent)
    digest = hashlib.sha256()
    looked_at = 0
    for file in files if len(files) > 1 else []:
        if os.path.isdir(file):
            continue
        size = os.path.getsize(file)
        looked_at += size
        digest.update(f"{os.path.basename(file)} {size}\0".encode(errors="surrogateescape"))
        with open(file, "rb") as stream:
            feed(digest, stream, 0, size)
    if len(files) == 1:
        with open(files[0], "rb") as stream:
            if stream.read(len(MAGIC)) == MAGIC:  # it grows in other places than at its end
                return _series(Path(files[0]), extent)
            size = os.fstat(stream.fileno()).st_size
            looked_at = size if extent is None else min(extent, size)
            if looked_at <= _WHOLE:
                feed(digest, stream, 0, looked_at)
            else:
                between = range(_END, looked_at - _END, (looked_at - 2 * _END) // _PLACES)
                for start, end in [(0, _END), *((at, at + _PIECE) for at in between), (looked_at - _END, looked_at)]:
                    feed(digest, stream, start, end)
    return f"{looked_at}-{digest.hexdigest()[:40]}"


def feed(digest: Any, stream: BinaryIO, start: int, end: int) -> None:
    """Add what is between two places of a file to a digest."""
    stream.seek(start)
    while piece := stream.read(min(_PIECE, end - start)):
        digest.update(piece)
        start += len(piece)


def _series(path: Path, extent: int | None) -> str:
    digest, series = hashlib.sha256(), SeriesFrames(path)
    try:
        n_frames = len(series) if extent is None else min(extent, len(series))
        series.feed(digest.update, n_frames)
    finally:
        series.close()
    return f"{n_frames}-{digest.hexdigest()[:40]}"
