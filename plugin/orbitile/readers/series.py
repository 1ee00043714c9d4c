"""Series files of Orbitile (HDF5); `orbitile.series` says what is in them."""

from __future__ import annotations

from pathlib import Path

from ..series import MAGIC, SeriesFrames

DESCRIPTION = "series files of Orbitile"
PATTERNS = ("*.series.h5",)
KIND = "trajectory"
BINARY = True


def recognises(head: str) -> bool:
    """Whether the beginning of a file is that of a series."""
    return head.startswith(MAGIC.decode("ascii"))


def read(path: Path) -> SeriesFrames:
    """Frames of a series file, which needs the package h5py."""
    return SeriesFrames(path)
