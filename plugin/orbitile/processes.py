"""Processes of our own: with which Python, and where it finds these packages."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def interpreter() -> str:
    """The Python of this process, also where a host embeds it and `sys.executable` is the host."""
    if Path(sys.executable or "").name.lower().startswith("python"):
        return sys.executable
    for name in ("python3", "python", "python.exe"):
        candidate = Path(sys.prefix) / ("" if name.endswith(".exe") else "bin") / name
        if candidate.exists():
            return str(candidate)
    return sys.executable or "python3"


def environment() -> dict[str, str]:
    """Our own packages come first on the path of a process, wherever they were imported from."""
    roots = [
        str(root)
        for root in Path(__file__).parents[1:3]
        if (root / "orbitile").exists() or (root / "taichi_kernels").exists()
    ]
    path = os.pathsep.join([*roots, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}
