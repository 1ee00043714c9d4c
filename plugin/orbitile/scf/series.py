"""Orbitals of a trajectory of geometries, frame by frame, by an engine that computes self-consistent fields."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import nullcontext
from os import PathLike
from pathlib import Path

from ..base.errors import FileError, OrbitileError
from ..base.watch import tell, watched
from ..exporters._series import SeriesWriter, series_target
from ..files.writing import refuse_inputs
from ..model.geometry import Geometries
from ..model.trajectory import Trajectory
from ..readers import load_geometries
from ..readers.series import SeriesFrames
from ..workers import local_workers
from .calculation import HISTORY, Calculation, NotConverged, sound
from .engines import AUTO, engine_of
from .from_file import calculation_of_geometries
from .rows import ROW, Means, compute_rows, engine_of_series, last_frames, length_in, settings_of


def compute_series(
    source: str | PathLike[str],
    path: str | PathLike[str],
    calculation: Calculation | None = None,
    *,
    topology: str | PathLike[str] | None = None,
    engine: str = AUTO,
    device: str | None = None,
    precision: str = "single",
    executor: Executor | None = None,
    row: int | None = None,
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
        Geometries: xyz or extended xyz; DCD, XTC and others with a topology; any file of wavefunctions.
    path
        The series file. One that is there is continued if it was computed from the same geometries in the same way.
    calculation
        Method, basis set, charge, unpaired electrons, kind of basis functions. By default those of the file, where it
        tells (`orbitile.calculation_for`), otherwise HF in def2-SVP; `report` is told what differs.
    topology
        File that names the elements, where `source` does not.
    engine
        "orbitile", "pyscf", "gpu4pyscf", or "auto" for the first that serves (`orbitile.scf.engines`). It is no part of
        what a series is: all of them converge to the same numbers. But a series is not continued by another engine
        than began it, so that no step in it comes from that; `auto` stands for that one then.
    device, precision
        As for `orbitile.compute`, where the engine has a choice. In single precision matrix elements are right to 2e-6
        hartree, in double precision to 1e-9.
    executor
        Other processes that compute: those of `orbitile.workers.local_workers`, or of a cluster. The trajectory is
        cut into rows then, which do not need each other (`orbitile.scf.rows`).
    row
        Frames of a row, which is begun from superposed atoms; by default as the file was begun, otherwise 32 with an
        executor, and all frames from those before without. A file is continued with the rows that it has.
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
    if calculation is None:
        calculation, remarks = calculation_of_geometries(geometries, {}, Calculation(), engine)
        for remark in remarks:
            (report or (lambda line: None))(f"{geometries.name}: {remark}")
    means = Means(calculation, engine, device, precision)
    with watched(progress, cancelled):
        return continue_series(geometries, path, means, report, executor=executor, row=row)


def continue_series(
    geometries: Geometries,
    path: str | PathLike[str],
    means: Means,
    report: Callable[[str], None] | None = None,
    *,
    executor: Executor | None = None,
    row: int | None = None,
) -> Trajectory:
    """The same for geometries that have been read, under the watch of the caller (`orbitile.base.watch`)."""
    target = series_target(path)
    if row is None:
        row = length_in(target) or (None if executor is None else ROW)
    if row is None:
        _continue_one_by_one(geometries, target, means, report)
    else:
        with local_workers(1) if executor is None else nullcontext(executor) as workers:
            compute_rows(geometries, target, means, workers, row, report)
    if not target.exists():
        raise OrbitileError(f"{geometries.name}: no frame could be computed with {means.calculation}")
    return Trajectory(SeriesFrames(target))


def _continue_one_by_one(
    geometries: Geometries, target: Path, means: Means, report: Callable[[str], None] | None
) -> None:
    """Compute each frame from those before it, in this process."""
    engine, settings = means.engine, settings_of(means.calculation, None)
    before = deque((frame for _, frame in last_frames(target, geometries, settings)), HISTORY)
    if before:
        engine = engine_of_series(target, before[-1], engine)
    solver = None
    with SeriesWriter(target, settings=settings) as writer:
        for index in range(writer.numbers[-1] + 1 if writer.numbers else 0, len(geometries)):
            try:
                geometry = sound(geometries.read(index), before[-1] if before else None)
                solver = solver or engine_of(engine, geometry, means.calculation)
                frame = solver.solve(geometry, means.calculation, before, means.device, means.precision).wavefunction
            except (FileError, NotConverged) as error:
                if report is not None:
                    report(f"frame {index + 1} left out: {error}")
                continue
            writer.append(frame, index)
            before.append(frame)
            tell((index + 1) / len(geometries))
