"""The folder for compiled kernels: one of this user's own, since what is in it is run; and Mesa's on a full disk."""

import atexit
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_INSIDE = ("taichi", "quadrants", "orbitile")
"""Folders in it that the compilers and this package make."""
_UNKNOWN = 65534
"""Owner of what belongs to root outside a container."""

_ROOM = 8 << 20
"""Bytes that Mesa may map or write at once."""

_SWITCH = "MESA_SHADER_CACHE_DISABLE"


def ensure_cache_folder() -> None:
    """Where there is no folder of one's own to keep compiled kernels in, as in batch jobs, name one in XDG_CACHE_HOME.

    A compiler ends the whole process where it cannot write, and runs what others have left where they can. Processes
    that this one starts get the same folder.
    """
    wanted, home = os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")
    folder = Path(wanted) if wanted else Path(home) / ".cache" if home else None
    if os.name != "posix":
        return
    if folder is None or not _is_usable(folder):
        folder = _temporary_folder()
        os.environ["XDG_CACHE_HOME"] = str(folder)
    with suppress(OSError):
        for name in _INSIDE:
            _make(Path(os.path.realpath(folder)) / name)


def is_ours(folder: Path | str, others: int = stat.S_IWGRP | stat.S_IWOTH) -> bool:
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
    _make(folder)
    if os.name == "posix" and not all(is_ours(part) for part in (folder, folder.parent)):
        raise PermissionError(f"{folder} belongs to another user, or others can write to it")
    return folder


def _make(folder: Path) -> None:
    """Make a folder, and those that it is in, for this user alone whatever the mask of modes says."""
    for part in reversed((folder, *folder.parents)):
        if not part.exists():
            part.mkdir(mode=0o700, exist_ok=True)


def _cannot_be_replaced(folder: Path) -> bool:
    """Whether nobody else can put another folder in the place of this one, or of one that it is in."""
    for part in folder.parents:
        try:
            found = os.lstat(part)
        except FileNotFoundError:
            continue
        shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX
        if shared or found.st_uid not in (0, os.getuid(), _UNKNOWN):
            return False
    return True


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
    inside = [followed / name for name in _INSIDE]
    below = (os.path.join(top, name) for each in inside for top, names, _ in os.walk(each) for name in names)
    return _can_write(followed) and _cannot_be_replaced(followed) and all(map(is_ours, (followed, *inside, *below)))


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


@contextmanager
def cache_with_room() -> Iterator[None]:
    """Where the disk of its cache is full, a driver of Mesa's that is loaded in this block keeps no compiled shaders.

    Mesa maps a file of the cache into memory before the disk has room for it, and the first write to it then ends the
    process (SIGBUS). https://docs.mesa3d.org/envvars.html names the folders and the switch.
    """
    before = os.environ.get(_SWITCH)
    folders = (os.environ.get(name) for name in ("MESA_SHADER_CACHE_DIR", "MESA_GLSL_CACHE_DIR", "XDG_CACHE_HOME"))
    folder = next(filter(None, folders), None) or os.path.expanduser("~/.cache")
    while folder != os.path.dirname(folder) and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    try:
        if hasattr(os, "posix_fallocate"):
            with tempfile.TemporaryFile(dir=folder) as probe:
                os.posix_fallocate(probe.fileno(), 0, _ROOM)
    except OSError:  # full, or not to be written to
        os.environ[_SWITCH] = "true"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_SWITCH, None)
        else:
            os.environ[_SWITCH] = before
