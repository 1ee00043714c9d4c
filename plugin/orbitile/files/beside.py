"""Files that stand beside that of a wavefunction which was computed in surroundings."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from .reading import user_path


def region_file(path: str | PathLike[str]) -> Path:
    """Where the region is of which a file or store has the wavefunction."""
    file = user_path(path)
    return file.parent / f"{file.stem}.region"


def vacuum_file(path: str | PathLike[str]) -> Path:
    """Where the wavefunction without surroundings is of which a file or store has that in their field."""
    file = user_path(path)
    return file.parent / f"{file.stem}-vacuum{file.suffix}"
