"""Processes: with which Python our own run, where it finds these packages, and how this one ends when it is told to."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ..imports import OWN_FOLDERS, safe_environment


def interpreter() -> str:
    """The Python of this process, also where a host embeds it and `sys.executable` is the host."""
    if Path(sys.executable or "").name.lower().startswith("python"):
        return sys.executable
    for name in ("python3", "python", "python.exe"):
        candidate = Path(sys.prefix) / ("" if name.endswith(".exe") else "bin") / name
        if candidate.exists():
            return str(candidate)
    return sys.executable or "python3"


places: list[str] = []
"""Folders in which a host with a Python of its own has found what we need; workers of that Python look there too."""


def environment() -> dict[str, str]:
    """Our own packages come first on the path of a process, wherever they were imported from; then `places`."""
    return safe_environment(*OWN_FOLDERS, *places)


def n_cores() -> int:
    """Cores on which this process may run: fewer than there are, where a queue shares them out."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
