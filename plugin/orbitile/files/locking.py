"""One writer at a time: locks of files that end with the process that holds them, however it ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ..errors import FileError

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
