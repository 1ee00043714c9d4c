"""Frames of a series of self-consistent fields: which can be computed, and from which others go on."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from ..errors import FileError
from ..model.geometry import Geometries, Geometry
from ..model.wavefunction import Wavefunction
from ..readers._any_series import open_series
from .calculation import NotConverged
from .engines import AUTO, engine_of_program

_ONE_PLACE = 0.01
"""Atoms closer than this in bohr are at one place: basis functions on them are the same, and no engine can tell."""

HISTORY = 5
"""Frames from which the next one begins; more of them do not come closer to it."""


def sound(geometry: Geometry, before: Geometry | Wavefunction | None = None) -> Geometry:
    """The geometry, unless it is of other atoms than the frame before, or two of its atoms are at one place.

    Raises
    ------
    NotConverged
        Otherwise: other geometries may be sound.
    """
    if before is not None and not np.array_equal(geometry.atomic_numbers, before.atomic_numbers):
        raise NotConverged("its atoms are others than those before, or in another order")
    close = cKDTree(geometry.positions).query_pairs(_ONE_PLACE)
    if close:
        one, other = min(close)
        raise NotConverged(f"atoms {one + 1} and {other + 1} are at one place")
    return geometry


def last_frames(target: Path, geometries: Geometries, settings: str) -> list[tuple[int, Wavefunction]]:
    """The frames to go on from with their numbers, the latest last; none where there is no series of these settings.

    Raises
    ------
    FileError
        When the file does not belong to these geometries.
    """
    if not target.exists():
        return []
    with closing(open_series(target)) as series:
        if series.settings != settings or not len(series):
            return []
        indices = range(max(0, len(series) - HISTORY), len(series))
        last = [(series.number(index), series.read(index, check=False)) for index in indices]
        for index, positions in enumerate(series.geometries()):
            number = series.number(index)
            there = geometries.read(number) if number < len(geometries) else None
            if (
                there is None
                or not np.array_equal(there.atomic_numbers, last[-1][1].atomic_numbers)
                or not np.array_equal(there.positions, positions)
            ):
                raise FileError(
                    f"{target.name}: frame {index + 1} has another geometry than frame {number + 1} of "
                    f"{geometries.name}; write to another file"
                )
        return last


def engine_of_series(target: Path, frame: Wavefunction, engine: str) -> str:
    """The engine to continue a series with, by the program of its frames."""
    began = engine_of_program(frame.program)
    if engine not in (AUTO, began):
        raise FileError(
            f"{target.name}: was begun by {frame.program or 'another program'}, and cannot be continued by engine "
            f"{engine!r}; ask for {began or AUTO!r}, or write to another file"
        )
    return began or engine
