"""What a process and its descendants hold, and whether that grows with the number of commands."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.stats import theilslopes

WARM_UP = 0.3
"""Share of a run after which caches are full."""

_ALLOWED = {"memory": 0.03, "descendants_memory": 0.10, "python_objects": 0.01, "cached_files": 0.01}
"""Share by which a quantity may grow over a run without being called a leak; of counts, one."""


@dataclass(frozen=True)
class Usage:
    """What is held at one time.

    Attributes
    ----------
    memory, descendants_memory : float
        Of the process, and of all that it has started, in MB; memory that processes share is counted in parts, and
        that which only shows a file is not: the system takes it back, and other programs change it.
    handles, descendants_handles : int
        Open files.
    threads : int
        Of the process.
    processes : int
        That it has started.
    shared_segments : int
        Names in shared memory.
    temporary_files, cached_files : int
        Files in the folder for temporary ones, and in that of compiled kernels.
    objects : int
        That the viewer shows.
    python_objects : int
        That the garbage collector of this process knows; 0 of another process.
    """

    memory: float
    descendants_memory: float
    handles: int
    descendants_handles: int
    threads: int
    processes: int
    shared_segments: int
    temporary_files: int
    cached_files: int
    objects: int
    python_objects: int


def usage_of(
    process: int, prefixes: set[str], temporary: Path, cache: Path, objects: int, python_objects: int
) -> Usage:
    """What a process holds now; of names in shared memory those count that begin with one of the prefixes."""
    others = descendants(process)
    return Usage(
        memory=_memory(process),
        descendants_memory=sum(map(_memory, others)),
        handles=_entries(Path(f"/proc/{process}/fd")),
        descendants_handles=sum(_entries(Path(f"/proc/{other}/fd")) for other in others),
        threads=_entries(Path(f"/proc/{process}/task")),
        processes=len(others),
        shared_segments=sum(name.startswith(tuple(prefixes)) for name in os.listdir("/dev/shm")) if prefixes else 0,
        temporary_files=sum(len(found) for _, _, found in os.walk(temporary)),
        cached_files=sum(len(found) for _, _, found in os.walk(cache)),
        objects=objects,
        python_objects=python_objects,
    )


def descendants(process: int) -> list[int]:
    """Processes that this one has started, and those that they have, which have not ended."""
    found = []
    for task in _listed(Path(f"/proc/{process}/task")):
        with suppress(OSError):  # the thread or the process has ended meanwhile
            for child in Path(f"/proc/{process}/task/{task}/children").read_text().split():
                found += [int(child), *descendants(int(child))]
    return found


def prefixes_of(process: int) -> set[str]:
    """What names in shared memory begin with, of a process that has workers and of these: their command lines say."""
    found: set[str] = set()
    for other in descendants(process):
        found.update(word for word in command_line(other).split("\0") if word.startswith("orbitile-"))
    return found


def command_line(process: int) -> str:
    """Words of a process's command line, each ended by a null character; none once it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text()
    return ""


def _memory(process: int) -> float:
    with suppress(OSError):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:"))) / 1024
    return 0.0


def _entries(folder: Path) -> int:
    return len(_listed(folder))


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:  # the process has ended meanwhile
        return []


@dataclass(frozen=True)
class Trend:
    """How a quantity goes with the number of commands, after the warm-up.

    Attributes
    ----------
    quantity : str
    level : float
        Median.
    slope, low, high : float
        A thousand commands: by Theil and Sen, and its interval of 95 %.
    grows : bool
        Whether the whole interval is above 0, and the run has added more than is allowed.
    """

    quantity: str
    level: float
    slope: float
    low: float
    high: float
    grows: bool


def trends(commands: Sequence[int], usages: Sequence[Usage]) -> list[Trend]:
    """The trend of each quantity; `commands` says after how many commands each was measured."""
    done = np.array(commands, float)
    chosen = done >= WARM_UP * done[-1]
    done = done[chosen] / 1000
    rows = [asdict(usage) for usage, is_chosen in zip(usages, chosen, strict=True) if is_chosen]
    return [_trend(quantity, done, np.array([row[quantity] for row in rows], float)) for quantity in rows[0]]


def _trend(quantity: str, done: np.ndarray, values: np.ndarray) -> Trend:
    slope, _, low, high = map(float, theilslopes(values, done))
    level = float(np.median(values))
    allowed = _ALLOWED[quantity] * level if quantity in _ALLOWED else 1.0
    return Trend(quantity, level, slope, low, high, low > 0 and slope * (done[-1] - done[0]) > allowed)
