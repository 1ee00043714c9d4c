"""The temporary folder of a process: removed when it ends, and when it was killed by the next one that needs one."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

PREFIX = "orbitile-"
_OWNER = "owner"
"""File that a process holds locked as long as it lives."""
_MADE = 60.0
"""Seconds that a process may take to lock it, after the folder was made."""

_own: Path | None = None
_held = -1


def own_folder() -> Path:
    """The folder in which all temporary ones of this process lie; nobody else can read it.

    Raises
    ------
    OSError
        When it cannot be made.
    """
    global _own, _held
    if _own is None or not _own.is_dir():
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        _held = os.open(folder / _OWNER, os.O_RDWR | os.O_CREAT, 0o600)
        _lock(_held)
        _own = folder
        _sweep(folder.parent)
    return _own


def use_folder(folder: Path) -> None:
    """Have temporary folders lie in one that another process made, and removes."""
    global _own
    _own = folder


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, as far as that is possible."""
    shutil.rmtree(folder, ignore_errors=True)


def _sweep(place: Path) -> None:
    """Remove folders of this user that processes have left which were killed."""
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX):
                with suppress(OSError):
                    _remove_if_left(entry)


def _remove_if_left(entry: os.DirEntry[str]) -> None:
    status = entry.stat(follow_symlinks=False)
    is_ours = sys.platform == "win32" or status.st_uid == os.getuid()
    if not entry.is_dir(follow_symlinks=False) or not is_ours or time.time() - status.st_mtime < _MADE:
        return
    if sys.platform == "win32":  # which removes no file that somebody has open
        os.unlink(os.path.join(entry.path, _OWNER))
    else:
        handle = os.open(os.path.join(entry.path, _OWNER), os.O_RDWR | os.O_NOFOLLOW)
        try:
            _lock(handle)
        finally:
            os.close(handle)
    remove(Path(entry.path))


def _lock(handle: int) -> None:
    """Lock a file; raises an `OSError` where another process has it locked."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_own() -> None:
    global _own, _held
    folder, handle = _own, _held
    _own, _held = None, -1
    if handle >= 0:
        if sys.platform == "win32":
            os.close(handle)
        if folder is not None:
            remove(folder)


def _after_fork() -> None:
    """A fork makes a folder of its own, and removes none of another."""
    global _own, _held
    if _held >= 0:
        os.close(_held)
    _own, _held = None, -1


atexit.register(_remove_own)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
