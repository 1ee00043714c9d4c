"""Orbitals of a trajectory of geometries, frame by frame, by an engine that computes self-consistent fields."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from os import PathLike
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from ..errors import FileError, OrbitileError
from ..exporters._series import SeriesWriter
from ..files.writing import checked_target, refuse_inputs
from ..model.geometry import Geometries, Geometry
from ..model.trajectory import Trajectory
from ..model.wavefunction import Wavefunction
from ..readers import load_geometries
from ..readers.series import SeriesFrames
from ..watch import tell, watched
from .calculation import Calculation, NotConverged
from .engines import AUTO, engine_of, engine_of_program

_ONE_PLACE = 0.01
"""Atoms closer than this in bohr are at one place: basis functions on them are the same, and no engine can tell."""

HISTORY = 5
"""Frames from which the next one begins; more of them do not come closer to it."""


def compute_series(
    source: str | PathLike[str],
    path: str | PathLike[str],
    calculation: Calculation | None = None,
    *,
    topology: str | PathLike[str] | None = None,
    engine: str = AUTO,
    device: str | None = None,
    precision: str = "single",
    progress: Callable[[float], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    report: Callable[[str], None] | None = None,
) -> Trajectory:
    """Compute the orbitals of a trajectory of geometries and write them to a series file as they come.

    Each frame starts from the orbitals of the last ones in the file, so a computation that was interrupted, by
    whatever, is taken up by the same call and ends with the same file: to the bit on one thread of linear algebra
    (`OMP_NUM_THREADS=1`), to the convergence of the self-consistent field on several.

    Parameters
    ----------
    source
        Geometries: xyz or extended xyz; DCD, XTC and others with a topology.
    path
        The series file. One that is there is continued if it was computed from the same geometries in the same way.
    calculation
        Method, basis set, charge, unpaired electrons, kind of basis functions.
    topology
        File that names the elements, where `source` does not.
    engine
        "orbitile", "pyscf", "gpu4pyscf", or "auto" for the first that serves (`orbitile.scf.engines`). It is no part of
        what a series is: all of them converge to the same numbers. But a series is not continued by another engine
        than began it, so that no step in it comes from that; `auto` stands for that one then.
    device, precision
        As for `orbitile.compute`, where the engine has a choice. In single precision matrix elements are right to 2e-6
        hartree, in double precision to 1e-9.
    progress
        Called with the share that is done.
    cancelled
        Asked in each iteration; when it says True the frame is given up and all before it are kept.
    report
        Told in one line of each frame that is left out, since it did not converge, its geometry is damaged or its atoms
        are others.

    Returns
    -------
    Trajectory
        The series file, opened.

    Raises
    ------
    FileError
        When the geometries cannot be read, or the file is another series or from another engine.
    OrbitileError
        When no engine knows method and basis set for these atoms; when charge and unpaired electrons do not go
        together; when there is not enough memory; when no frame can be computed.
    Cancelled
        When `cancelled` said so.
    """
    geometries = load_geometries(source, topology)
    refuse_inputs(path, [source] if topology is None else [source, topology])
    with watched(progress, cancelled):
        return continue_series(
            geometries, path, calculation or Calculation(), report, engine=engine, device=device, precision=precision
        )


def continue_series(
    geometries: Geometries,
    path: str | PathLike[str],
    calculation: Calculation,
    report: Callable[[str], None] | None = None,
    *,
    engine: str = AUTO,
    device: str | None = None,
    precision: str = "single",
) -> Trajectory:
    """The same for geometries that have been read, under the watch of the caller (`orbitile.watch`)."""
    target = checked_target(path)
    before = deque(_last_frames(target, geometries, calculation) if target.exists() else [], HISTORY)
    if before:
        engine = engine_of_series(target, before[-1], engine)
    solver = None
    with SeriesWriter(target, settings=str(calculation)) as writer:
        for index in range(writer.numbers[-1] + 1 if writer.numbers else 0, len(geometries)):
            try:
                geometry = sound(geometries.read(index), before[-1] if before else None)
                solver = solver or engine_of(engine, geometry, calculation)
                frame = solver.solve(geometry, calculation, before, device, precision).wavefunction
            except (FileError, NotConverged) as error:
                if report is not None:
                    report(f"frame {index + 1} left out: {error}")
                continue
            writer.append(frame, index)
            before.append(frame)
            tell((index + 1) / len(geometries))
    if not before:
        raise OrbitileError(f"{geometries.name}: no frame could be computed with {calculation}")
    return Trajectory(SeriesFrames(target))


def engine_of_series(target: Path, frame: Wavefunction, engine: str) -> str:
    """The engine to continue a series with, by the program of its frames."""
    began = engine_of_program(frame.program)
    if engine not in (AUTO, began):
        raise FileError(
            f"{target.name}: was begun by {frame.program or 'another program'}, and cannot be continued by engine "
            f"{engine!r}; ask for {began or AUTO!r}, or write to another file"
        )
    return began or engine


def sound(geometry: Geometry, before: Wavefunction | None = None) -> Geometry:
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


def _last_frames(target: Path, geometries: Geometries, calculation: Calculation) -> list[Wavefunction]:
    """The frames to go on from, after a test that the file belongs to these geometries."""
    series = SeriesFrames(target)
    try:
        if series.settings != str(calculation) or not len(series):
            return []
        last = [series.read(index, check=False) for index in range(max(0, len(series) - HISTORY), len(series))]
        for index, positions in enumerate(series.geometries()):
            number = series.number(index)
            there = geometries.read(number) if number < len(geometries) else None
            if (
                there is None
                or not np.array_equal(there.atomic_numbers, last[-1].atomic_numbers)
                or not np.array_equal(there.positions, positions)
            ):
                raise FileError(
                    f"{target.name}: frame {index + 1} has another geometry than frame {number + 1} of "
                    f"{geometries.name}; write to another file"
                )
        return last
    finally:
        series.close()
