"""Electrons along a vibration, in a series beside the file of the vibrations."""

from __future__ import annotations

import re
from contextlib import closing
from os import PathLike
from pathlib import Path

import numpy as np

from ..base.errors import FileError
from ..files.reading import user_path
from ..model.vibrations import Vibrations, motion_of
from ..model.wavefunction import Wavefunction
from .series import SeriesFrames

_NAME = re.compile(r"(.+)-mode(\d+)")


def mode_file(path: str | PathLike[str], mode: int) -> Path:
    """Where the electrons along a mode, counted from 1, are of which a file has the vibrations; or are looked for."""
    file = user_path(path)
    match = _NAME.fullmatch(file.stem)
    if match and int(match[2]) == mode:
        return file
    store = file.suffix if file.suffix.lower() in (".zarr", ".hdf5") else ".h5"
    return file.parent / f"{match[1] if match else file.stem}-mode{mode}{store}"


def frames_beside(file: Path, mode: int) -> tuple[Vibrations, Wavefunction, Wavefunction]:
    """Vibrations of a molecule, and the last and the first frame of a period of a mode: on either side of rest.

    Raises
    ------
    FileError
        When it is no series along this mode.
    """
    with closing(SeriesFrames(file)) as series:
        vibrations, n = series.vibrations(), len(series)
        before, after = series.read(n - 1), series.read(0)
    if not _is_along(vibrations, mode, before, after):
        raise FileError(
            f"{file.name}: expected electrons along mode {mode}, got another series; orbitile vibrations FILE "
            f"--electrons {mode} computes them"
        )
    return vibrations, before, after


def _is_along(vibrations: Vibrations, mode: int, before: Wavefunction, after: Wavefunction) -> bool:
    if mode > vibrations.n_modes or before.positions.shape != vibrations.positions.shape:
        return False
    motion, step = motion_of(vibrations, mode), after.positions - before.positions
    shift = float((step * motion).sum() / (motion**2).sum())
    middle = (before.positions + after.positions) / 2
    return shift > 0 and bool(
        np.abs(step - shift * motion).max() < 1e-6 and np.abs(middle - vibrations.positions).max() < 1e-6
    )
