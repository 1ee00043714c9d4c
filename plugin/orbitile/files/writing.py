"""Writing files, and folders of them: whole or not at all, by one writer at a time, and never over what is read."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import glob
from os import PathLike, fspath
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError

_PATIENCE, _EVERY = 5.0, 0.1
"""Seconds for which a folder is removed again where somebody still writes to it, and between two looks."""

Replaces = Callable[[Path], bool]
"""Whether a folder that is there may be replaced by what is written as a folder."""


@contextmanager
def written_atomically(path: str | PathLike[str]) -> Iterator[Path]:
    """Write a file under a temporary name in its folder, then put it in place: readers see the old file or the new.

    Parameters
    ----------
    path
        The file to write; an existing one is replaced. A symbolic link stays, and the file it points to is replaced.

    Yields
    ------
    Path
        An empty file with the same suffix, to be written. Permissions are those of a new file (umask). It is removed
        when the block is left by any exception, an interruption by the keyboard included.

    Raises
    ------
    FileError
        When the path is a folder or a device, its folder is missing or not writable, or the disk is full.
    """
    target = checked_target(path)
    temporary = target.with_name(f".orbitile-{secrets.token_hex(6)}{target.suffix if len(target.suffix) < 32 else ''}")
    try:
        with temporary.open("xb"):
            pass
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def folder_written_atomically(path: str | PathLike[str], replaces: Replaces) -> Iterator[Path]:
    """Write a folder under a temporary name beside its place, then put it there.

    Parameters
    ----------
    path
        The folder to write. A symbolic link stays, and the folder it points to is replaced.
    replaces
        Whether a folder that is there already may be replaced: it is gone then. It goes once the new one is whole; no
        system exchanges two folders in one step, so for a moment there is none of that name.

    Yields
    ------
    Path
        An empty folder, to be filled. It is removed when the block is left by any exception, an interruption by the
        keyboard included.

    Raises
    ------
    FileError
        When there is a file of that name or a folder that may not be replaced, the folder around it is missing or not
        writable, or the disk is full.
    """
    target = checked_target(path, replaces)
    temporary, old = (target.with_name(f".orbitile-{secrets.token_hex(6)}") for _ in range(2))
    try:
        temporary.mkdir()
        yield temporary
        if target.exists():
            os.replace(target, old)
        try:
            os.replace(temporary, target)
        except OSError:
            if old.exists():
                os.replace(old, target)
            raise
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        for left in (temporary, old):
            _remove(left)


def _remove(folder: Path) -> None:
    """Remove a folder for good: threads of a library may still write to it when an interruption has come."""
    until = time.monotonic() + _PATIENCE
    while folder.exists() and time.monotonic() < until:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(_EVERY)


def make_room(descriptor: int, start: int, n_bytes: int, path: Path) -> None:
    """Make sure that the disk has room for so many bytes of a file that is open, from a place in it on.

    On Linux they are set aside. Elsewhere they are only counted, and others may take them.

    Raises
    ------
    OSError
        When the disk is full.
    """
    if sys.platform == "win32" or sys.platform == "darwin":
        if n_bytes > shutil.disk_usage(path.parent).free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    else:
        os.posix_fallocate(descriptor, start, n_bytes)


def read_settings(path: Path) -> str:
    """Text of a start-up file of another program, empty where there is none; its bytes come back by `replace_settings`.

    Raises
    ------
    FileError
        When the file cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8", errors="surrogateescape") if path.exists() else ""
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error})") from error


def replace_settings(path: Path, text: str) -> None:
    """Replace a start-up file of another program, whole or not at all; its permissions stay.

    Raises
    ------
    FileError
        When the file cannot be written. It is then as it was.
    """
    with written_atomically(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", errors="surrogateescape"))
        if path.exists():
            temporary.chmod(path.stat().st_mode)


def checked_target(path: str | PathLike[str], replaces: Replaces | None = None) -> Path:
    """The file, or folder, that writing to a path would make or replace, symbolic links followed.

    Parameters
    ----------
    path
        Where it is to be.
    replaces
        Of what is written as a folder: which folders it may replace.

    Raises
    ------
    FileError
        When the path is a folder where a file is to be written, a folder that may not be replaced or a file where it
        is a folder that is to be written, a device, or the folder around it is missing.
    """
    try:
        target = _followed(path)
        if replaces is not None and target.is_dir() and not replaces(target):
            raise FileError(
                f"{path}: exists already, as a folder with something else in it, which is not replaced; choose another "
                "name, or remove it first"
            )
        if replaces is not None and target.is_file():
            raise FileError(f"{path}: is a file, expected the name of a folder to write; choose another name")
        if replaces is None and target.is_dir():
            raise FileError(f"{path}: is a folder, expected the name of a file to write")
        if target.exists() and not target.is_file() and not target.is_dir():
            raise FileError(f"{path}: is a device or a pipe, expected the name of a file to write")
        if not target.parent.is_dir():
            raise FileError(f"{path}: there is no folder {target.parent}; create it first")
        if len(os.fsencode(target.name)) > 255:
            raise FileError(f"{path}: the name is too long ({len(target.name)} characters)")
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise _no_name(path, error) from error
    return target


def _followed(path: str | PathLike[str]) -> Path:
    """The path without symbolic links; fails for a loop of links, a user's home that is not there, a NUL in it."""
    return Path(os.path.realpath(Path(fspath(path)).expanduser()))


def _no_name(path: object, error: Exception) -> FileError:
    return FileError(f"{path!r}: not the name of a file to write ({error})")


def refuse_inputs(path: str | PathLike[str], inputs: Iterable[str | PathLike[str]]) -> None:
    """Refuse to write to a file that is read: it may be the only one of its kind, and what is written is less.

    Parameters
    ----------
    path
        The file that is to be written.
    inputs
        Files that are read, or patterns of their names. Those that are not there are passed over.

    Raises
    ------
    FileError
        When one of them is that file, under whatever name.
    """
    try:
        target = _followed(path)
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise _no_name(path, error) from error
    for wanted in inputs:
        for name in glob(fspath(wanted)) or [fspath(wanted)]:
            try:
                same = target.exists() and Path(name).expanduser().samefile(target)
            except (OSError, ValueError, RuntimeError):  # no file of that name
                continue
            if same:
                raise FileError(f"{path}: is read here, and writing would replace it; choose another name")


def write_numbers(
    stream: BinaryIO, rows: NDArray[np.floating], number_format: str, per_line: int, separator: str = ""
) -> None:
    """Write numbers as text, so many a line, each row beginning on a line of its own.

    Parameters
    ----------
    stream
        Open for writing bytes.
    rows : ndarray, shape (n, m)
        The numbers.
    number_format
        As for the `%` operator, which is the fastest way of Python to write many numbers.
    per_line
        Numbers in a line.
    separator
        Between the numbers of a line.
    """
    at_once = 1 << 14
    n_rows, length = rows.shape
    columns = max(at_once // per_line * per_line, per_line)
    step = max(at_once // length, 1)
    formats: dict[int, str] = {}
    for row in range(0, n_rows, step):
        for column in range(0, length, columns):
            part = rows[row : row + step, column : column + columns]
            width = part.shape[1]
            if width not in formats:
                full, rest = divmod(width, per_line)
                lines = [separator.join([number_format] * n) + "\n" for n in [per_line] * full + [rest] * (rest > 0)]
                formats[width] = "".join(lines)
            stream.write(((formats[width] * part.shape[0]) % tuple(part.ravel().tolist())).encode("ascii"))


_FAR = 1 << 62
"""Byte that is locked in a file on Windows, far behind its end."""


def claim(path: Path) -> int:
    """Lock a file against other writers until the descriptor is closed, at the latest when this process ends.

    Raises
    ------
    FileError
        When another process writes it, or nobody may.
    """
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror})") from error
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, _FAR, os.SEEK_SET)  # locks are of bytes there, and forbid to read and write them
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        os.close(descriptor)
        raise FileError(f"{path.name}: another process is writing it; wait for it, or stop it") from error
    except OSError:
        pass  # a file system without locks
    return descriptor
