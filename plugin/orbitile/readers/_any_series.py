"""Series of any kind, opened by their path."""

from __future__ import annotations

from pathlib import Path

from ._series import SeriesFrames
from .series import HDF5Frames
from .series_zarr import ZarrFrames


def open_series(path: Path) -> SeriesFrames:
    """Frames of a series: of a Zarr store where there is a folder, otherwise of an HDF5 file.

    Raises
    ------
    FileError
        When it is no series, of a later version, or damaged.
    """
    return ZarrFrames(path) if path.is_dir() else HDF5Frames(path)
