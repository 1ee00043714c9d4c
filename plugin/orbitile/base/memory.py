"""The memory of a process: how much there is, and which share of it buffers and caches take.

A request that cannot be met is refused before anything is allocated. What is computed piece by piece takes the size of
its pieces from `share`, and what is kept for the next time is bounded by one (`base/caches.py`).
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath

from .errors import OrbitileError

_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30

SHARES = {
    # caches: the values that are kept, all caches of a name together
    "packed functions": _GIB,
    "sums of Gaussians": 2 * _GIB,
    "orbitals": 512 * _MIB,
    "pairs of functions": 2 * _GIB,
    "arrays on a device": 256 * _MIB,
    "analyses": 512 * _MIB,
    "wavefunctions": _GIB,
    "pickled wavefunctions": 16 * _MIB,
    "geometries of live molecules": 256 * _MIB,
    "volumes of files": 2 * _GIB,
    "samples": 512 * _MIB,
    "numbers": 8 * _MIB,
    # buffers: what is held at once of something that is computed, read or sent piece by piece
    "slab": 32 * _MIB,
    "tile": 512 * _KIB,
    "fields at once": 128 * _MIB,
    "sums to combine": 256 * _MIB,
    "slabs under way": 2 * _GIB,
    "exchange on a GPU": 2 * _GIB,
    "fitted exchange": _GIB,
    "tables": 256 * _MIB,
    "large matrix": 64 * _MIB,
    "matrix": 32 * _MIB,
    "lists": 16 * _MIB,
    "small matrix": 8 * _MIB,
    "pages": 4 * _MIB,
    "piece of a file": _MIB,
    # what is left to everything else
    "reserve": 256 * _MIB,
}
"""Shares of the memory of a process in bytes, by name. A buffer's decides how sums are cut, and so their last bits."""

_PROCESS = Path("/proc/self")

_EVERY = 10.0
"""Interval between two times that freed memory is given back, in seconds; once takes some milliseconds."""
_given_back = 0.0

_FILES = {
    "cgroup2": (("memory.max", "memory.high"), "memory.current", "inactive_file"),
    "cgroup": (("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_inactive_file"),
}
"""Of both versions of control groups: files with a limit, with what is used, and the part of that which is given back
when it is needed (pages of files that nobody has read lately)."""


def share(name: str, n_bytes: int = 1) -> int:
    """How many items of so many bytes the share of a name has room for; by default its bytes."""
    return SHARES[name] // n_bytes


def give_back(every: float = _EVERY) -> None:
    """Give freed memory back to the system, unless that was done less than so many seconds ago.

    The allocator of the GNU C library keeps what is freed, but for the end of its heaps. Arrays of many sizes that come
    and go, as the samples of a viewer do, leave ever more free pages between those that are in use.
    """
    global _given_back
    now = time.monotonic()
    if now - _given_back >= every and (trim := _malloc_trim()) is not None:
        _given_back = now
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    """What does it; None where the C library is another one."""
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim.argtypes = [ctypes.c_size_t]
        trim: Callable[[int], int] = library.malloc_trim
        return trim
    return None


def available_memory() -> int | None:
    """Bytes that this process can still have, as far as the system tells; None where it does not."""
    found = [n for n in (_system_memory(), _address_space(), *control_groups()) if n is not None]
    return min(found) if found else None


def require_memory(
    n_bytes: int,
    what: str,
    advice: str | Callable[[int], str],
    error: type[OrbitileError] = OrbitileError,
    small: int = 0,
) -> None:
    """Refuse what would not fit in memory.

    Parameters
    ----------
    n_bytes
        Memory that is needed.
    what
        What needs it, for people.
    advice
        What to do, or what says so, given the bytes that are available.
    error
        Type of the error.
    small
        Bytes up to which nobody asks how much there is: asking takes as long as a small orbital.

    Raises
    ------
    OrbitileError
        Says what needs how much, what there is, and what to do.
    """
    available = available_memory() if n_bytes >= small else None
    if available is not None and n_bytes > available:
        advice = advice if isinstance(advice, str) else advice(available)
        raise error(f"{what} needs {n_bytes / 1e9:.1f} GB of memory, {available / 1e9:.1f} GB are available; {advice}")


def control_groups(process: Path = _PROCESS) -> Iterator[int]:
    """Room in bytes below each limit of the control groups of a process: its own and all around them.

    A container, a batch system or a service sets them, often on a group far above that of the process.

    Parameters
    ----------
    process
        Folder of the process in /proc.
    """
    for kind, folder in _folders(process):
        limits, usage, given_back = _FILES[kind]
        used = _number(folder / usage)
        if used is None:
            continue
        used -= min(_statistic(folder / "memory.stat", given_back), used)
        for limit in limits:
            most = _number(folder / limit)
            if most is not None:
                yield max(most - used, 0)


def _folders(process: Path) -> Iterator[tuple[str, Path]]:
    """Folders of the control groups that count memory, from the innermost outwards, each with its version."""
    try:
        members = [line.split(":", 2) for line in (process / "cgroup").read_text(encoding="utf-8").splitlines()]
        mounts = (process / "mountinfo").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):  # not Linux
        return
    group = {"cgroup2" if number == "0" else "cgroup": path for number, names, path in members
             if number == "0" or "memory" in names.split(",")}  # fmt: skip
    for mount in mounts:
        place, _, system = mount.partition(" - ")
        kind, _, options = system.split(" ", 2)
        if kind not in group or (kind == "cgroup" and "memory" not in options.rpartition(" ")[2].split(",")):
            continue
        root, top = (PurePosixPath(part) for part in place.split(" ")[3:5])
        path = PurePosixPath(group[kind])
        inside = path.relative_to(root) if path.is_relative_to(root) else PurePosixPath()
        for folder in (top / inside, *(top / inside).parents):
            if folder.is_relative_to(top):
                yield kind, Path(folder)


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such limit, or "max"
        return None


def _statistic(file: Path, name: str) -> int:
    try:
        for line in file.read_text(encoding="ascii").splitlines():
            if line.startswith(f"{name} "):
                return int(line.split()[1])
    except (OSError, ValueError):
        pass  # it is only told to count more exactly
    return 0


def _address_space() -> int | None:
    """What `ulimit -v` leaves, on Linux, which alone counts it."""
    if sys.platform == "linux":
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            with suppress(OSError, ValueError):  # no /proc here
                pages = int((_PROCESS / "statm").read_text(encoding="ascii").split()[0])
                return max(limit - pages * resource.getpagesize(), 0)
    return None


def _system_memory() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux
    if sys.platform == "win32":
        return _memory_of_windows()
    else:
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (ValueError, OSError):
            return None


def _memory_of_windows() -> int | None:
    """What GlobalMemoryStatusEx says is free; its structure MEMORYSTATUSEX, of 64 bytes, has that at byte 16."""
    if sys.platform == "win32":
        import ctypes

        status = (ctypes.c_ulonglong * 8)(64)  # the first number, of 32 bits, is the length
        if ctypes.WinDLL("kernel32").GlobalMemoryStatusEx(status):
            return int(status[2])
    return None
