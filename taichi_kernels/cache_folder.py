"""The folder for compiled kernels: one of this user's own, since what is in it is run."""

import atexit
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

_INSIDE = ("taichi", "quadrants", "orbitile")
"""Folders in it that the compilers and this package make."""


def ensure_cache_folder() -> None:
    """Where there is no folder of one's own to keep compiled kernels in, as in batch jobs, name one in XDG_CACHE_HOME.

    A compiler ends the whole process where it cannot write, and runs what others have left where they can. Processes
    that this one starts get the same folder.
    """
    wanted, home = os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")
    folder = Path(wanted) if wanted else Path(home) / ".cache" if home else None
    if os.name == "posix" and (folder is None or not _is_usable(folder)):
        os.environ["XDG_CACHE_HOME"] = str(_temporary_folder())


def is_ours(folder: Path, others: int = stat.S_IWOTH) -> bool:
    """Whether a folder is this user's own, or not there yet.

    A folder in which somebody else can put files is none: a link, one that another user owns, or one of which the mode
    has a bit of `others`.
    """
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & others


def folder_for(purpose: str) -> Path:
    """Where this package keeps files for a purpose, beside what compilers keep; it may not be there yet."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "orbitile" / purpose


def made(folder: Path) -> Path:
    """The same folder, which is there.

    Raises
    ------
    OSError
        When it cannot be made, or others could put files in it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "posix" and not all(is_ours(part) for part in (folder, folder.parent)):
        raise PermissionError(f"{folder} belongs to another user, or others can write to it")
    return folder


def _can_write(folder: Path) -> bool:
    """Whether files can be made in a folder, which may yet have to be made itself."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _is_usable(folder: Path) -> bool:
    followed = Path(os.path.realpath(folder))  # a cache may well be a link to a larger disk
    return _can_write(followed) and all(is_ours(part) for part in (followed, *(followed / name for name in _INSIDE)))


def _temporary_folder() -> Path:
    """A folder of this user's alone in the temporary folder: always the same one, unless somebody else made it."""
    folder = Path(tempfile.gettempdir()) / f"orbitile-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
    if is_ours(folder, stat.S_IRWXG | stat.S_IRWXO) and _can_write(folder):
        return folder
    made = tempfile.mkdtemp(prefix="orbitile-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)
