"""Orbitals of a trajectory of geometries by an engine: frame by frame, or in rows.

Rows are stretches of consecutive frames that do not need each other, for many processes. A row begins from superposed
atoms, and each of its other frames from those before it in the row. Where rows begin follows from their length alone,
so the orbitals do not depend on who computes them, nor on how many do.

What an executor runs is some frames of a row, as many as are done in a few seconds; they come back, and the rest of the
row is asked for. They are written to a part, a series file of the row, so that no more than these seconds are lost,
whoever ends. Parts lie in a folder beside the series, `NAME.parts`; a row that is complete is appended to the series
when all before it are there, and its part removed.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ..base.errors import FileError, OrbitileError
from ..base.memory import share
from ..base.watch import checkpoint, tell, watched
from ..exporters._series import SeriesWriter, series_target
from ..files.writing import claim, refuse_inputs
from ..model.geometry import Geometries, Geometry
from ..model.trajectory import Trajectory
from ..model.wavefunction import Wavefunction
from ..readers import load_geometries
from ..readers.series import SeriesFrames
from ..workers import WorkerEnded, ahead, awaited, first_done, local_workers
from .calculation import HISTORY, Calculation, NotConverged, sound
from .engines import AUTO, engine_of, engine_of_program
from .from_file import calculation_of_geometries

ROW = 32
"""Frames of a row: beginning anew takes as long as three more of them."""

_SECONDS = 5.0
"""Seconds for which a process computes before its frames come back: what is lost when it ends, or one frame."""

_BYTES = share("large matrix")
"""Memory of orbitals that come back at once, at most, where it is more than one frame."""

Report: TypeAlias = "Callable[[str], None] | None"

_STORE = ".zarr"
_FILE = ".h5"


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
        "orbitile", "pyscf", "gpu4pyscf", "xtb", or "auto" for the first that serves (`orbitile.scf.engines`). It is no
        part of what a series is: all that have a method converge to the same numbers. But a series is not continued by
        another engine than began it, so that no step in it comes from that; `auto` stands for that one then.
    device, precision
        As for `orbitile.compute`, where the engine has a choice. In single precision matrix elements are right to 2e-6
        hartree, in double precision to 1e-9.
    executor
        Other processes that compute: those of `orbitile.workers.local_workers`, or of a cluster. The trajectory is
        cut into rows then, which do not need each other.
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
    report: Report = None,
    *,
    executor: Executor | None = None,
    row: int | None = None,
) -> Trajectory:
    """The same for geometries that have been read, under the watch of the caller (`orbitile.base.watch`)."""
    target = series_target(path)
    if row is None:
        row = _row_length_in(target) or (None if executor is None else ROW)
    if row is None:
        _continue_one_by_one(geometries, target, means, report)
    else:
        with local_workers(1) if executor is None else nullcontext(executor) as workers:
            _compute_rows(geometries, target, means, workers, row, report)
    if not target.exists():
        raise OrbitileError(f"{geometries.name}: no frame could be computed with {means.calculation}")
    return Trajectory(SeriesFrames(target))


def _continue_one_by_one(geometries: Geometries, target: Path, means: Means, report: Report) -> None:
    """Compute each frame from those before it, in this process."""
    engine, settings = means.engine, _settings(means.calculation, None)
    before = deque((frame for _, frame in _last_frames(target, geometries, settings)), HISTORY)
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


# ---- files


def _last_frames(target: Path, geometries: Geometries, settings: str) -> list[tuple[int, Wavefunction]]:
    """The frames to go on from with their numbers, the latest last; none where there is no series of these settings.

    Raises
    ------
    FileError
        When the file does not belong to these geometries.
    """
    if not target.exists():
        return []
    with closing(SeriesFrames(target)) as series:
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


def _settings(calculation: Calculation, length: int | None) -> str:
    """What a series of these settings notes: one in rows is not continued without them, nor in others."""
    return str(calculation) if length is None else f"{calculation}, rows of {length} frames"


def _row_length_in(target: Path) -> int | None:
    """Length of the rows of what was begun; None where nothing was, or frame after frame."""
    files = [target, *_parts_in(folder_of_parts(target))]
    begun = next((file for file in files if file.exists()), None)
    if begun is None:
        return None
    with closing(SeriesFrames(begun)) as series:
        found = re.search(r", rows of (\d{1,9}) frames$", series.settings)
    return int(found[1]) if found else None


def folder_of_parts(target: Path) -> Path:
    """Where the rows of a series lie until it is their turn."""
    return target.with_name(f"{target.name}.parts")


def _part_from(folder: Path, start: int) -> Path:
    """The part that begins at a frame, counted from 0: of the kind of the series."""
    suffix = _STORE if folder.stem.lower().endswith(_STORE) else _FILE
    return folder / f"{start + 1:08d}{suffix}"


def _parts_in(folder: Path) -> list[Path]:
    """All parts, in their order."""
    return sorted(path for path in folder.glob("[0-9]*") if path.suffix in (_STORE, _FILE))


def _remove_part(part: Path) -> None:
    """Remove a part at once: what is half removed is none any more."""
    away = part.rename(part.with_name(f".{part.name}"))
    if away.is_dir():
        shutil.rmtree(away, ignore_errors=True)
    else:
        away.unlink()


def _first_frames(folder: Path, settings: str) -> list[Wavefunction]:
    """The first frame of each part.

    Raises
    ------
    FileError
        When a part was computed with other settings.
    """
    found = []
    for part in _parts_in(folder):
        with closing(SeriesFrames(part)) as frames:
            if frames.settings != settings:
                raise FileError(
                    f"{folder.name}: holds frames that were computed with other settings ({frames.settings}), expected "
                    f"{settings}; use these, or remove that folder"
                )
            found += [frames.read(0, check=False)] if len(frames) else []
    return found


@contextmanager
def claimed_folder(target: Path, is_kept: Callable[[Path], object]) -> Iterator[Path]:
    """The folder of the parts of a series, for this process alone; removed when all is done, or it need not be kept.

    Raises
    ------
    FileError
        When another process computes the series, or nobody may write there.
    """
    folder = folder_of_parts(target)
    lock = folder / f"{target.name}.lock"
    try:
        folder.mkdir(exist_ok=True)
        lock.touch()
    except OSError as error:
        raise FileError(f"{folder}: cannot be written ({error.strerror})") from error
    descriptor = claim(lock)
    try:
        yield folder
    except BaseException:
        if not is_kept(folder):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    else:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


# ---- what is computed, wherever


@dataclass(frozen=True)
class Means:
    """How frames are computed, as for `orbitile.compute_series`."""

    calculation: Calculation
    engine: str = AUTO
    device: str | None = None
    precision: str = "single"


@dataclass(frozen=True, eq=False)
class Stretch:
    """Frames of a row that are done.

    Attributes
    ----------
    frames : list of (int, Wavefunction)
        With their numbers.
    left_out : list of (int, str)
        Those that did not converge, and why.
    """

    frames: list[tuple[int, Wavefunction]]
    left_out: list[tuple[int, str]]

    def __len__(self) -> int:
        """Number of frames that were gone through."""
        return len(self.frames) + len(self.left_out)


def solve_stretch(
    geometries: Sequence[tuple[int, Geometry]], before: Sequence[Wavefunction], means: Means, seconds: float
) -> Stretch:
    """Compute frames of a row, one at least, until the seconds are over.

    Parameters
    ----------
    geometries
        With their numbers; one at least.
    before
        Frames of the row that are done, the latest last.
    means
    seconds

    Raises
    ------
    OrbitileError
        What no other geometry can mend, as `orbitile.compute_series` does.
    """
    until = time.monotonic() + seconds
    last = deque(before, HISTORY)
    frames: list[tuple[int, Wavefunction]] = []
    left_out: list[tuple[int, str]] = []
    room = _BYTES
    solver = engine_of(means.engine, geometries[0][1], means.calculation)
    for number, geometry in geometries:
        try:
            frame = solver.solve(geometry, means.calculation, last, means.device, means.precision).wavefunction
        except NotConverged as error:
            left_out.append((number, str(error)))
        else:
            frames.append((number, frame))
            last.append(frame)
            room -= sum(o.coefficients.nbytes for o in frame.sets)
        if time.monotonic() > until or room < 0:
            break
    return Stretch(frames, left_out)


def chosen_engine(name: str, geometry: Geometry, calculation: Calculation) -> str:
    """The engine that a name stands for where this runs: all rows have the same."""
    return engine_of_program(engine_of(name, geometry, calculation).engine.PROGRAM) or name


# ---- sharing out


def _compute_rows(
    geometries: Geometries, target: Path, means: Means, executor: Executor, length: int = ROW, report: Report = None
) -> None:
    """Compute the frames that a series in rows lacks, under the watch of the caller.

    Parameters
    ----------
    geometries
    target
        The series file.
    means
    executor
        Runs `solve_stretch`, in as many processes as it has.
    length
        Frames of a row.
    report
        As for `orbitile.compute_series`.

    Raises
    ------
    OrbitileError
        As `orbitile.compute_series` does. When processes end again and again at one frame.
    """
    if length < 1:
        raise OrbitileError(f"rows: expected frames of a row, 1 or more, got {length}")
    settings = _settings(means.calculation, length)
    there = _last_frames(target, geometries, settings)
    with claimed_folder(target, _parts_in) as folder, SeriesWriter(target, settings=settings) as series:
        if there and there[-1][0] + 1 >= len(geometries):
            return
        atoms = _first_sound(geometries)
        begun = _first_frames(folder, settings)
        engine = means.engine
        for frame in [frame for _, frame in there[:1]] + begun:
            engine = engine_of_series(target, frame, engine)
        engine = awaited(executor.submit(chosen_engine, engine, atoms, means.calculation))
        rows = _Rows(geometries, folder, series, settings, length, atoms, report)
        try:
            rows.compute(executor, replace(means, engine=engine), there)
        finally:
            rows.close()


def _first_sound(geometries: Geometries) -> Geometry:
    """The first geometry that can be read, whose atoms all others are to have."""
    problem: OrbitileError | None = None
    for index in range(len(geometries)):
        try:
            return sound(geometries.read(index))
        except (FileError, NotConverged) as error:
            problem = problem or error
    raise OrbitileError(f"{geometries.name}: no frame can be computed: {problem or 'it has none'}")


@dataclass(eq=False)
class _Row:
    """A row that is under way.

    Attributes
    ----------
    number : int
    part : Path
        Series file of what is done.
    remaining : list of (int, Geometry)
        Frames to be computed, with their numbers.
    before : deque of Wavefunction
        The last ones that are done.
    one_by_one : bool
        Whether a process has ended at it, so that each frame comes back by itself.
    """

    number: int
    part: Path
    remaining: list[tuple[int, Geometry]]
    before: deque[Wavefunction] = field(default_factory=lambda: deque(maxlen=HISTORY))
    one_by_one: bool = False


class _Rows:
    """The rows of one computation."""

    def __init__(
        self,
        geometries: Geometries,
        folder: Path,
        series: SeriesWriter,
        settings: str,
        length: int,
        atoms: Geometry,
        report: Report,
    ) -> None:
        self._geometries, self._folder, self._series, self._settings = geometries, folder, series, settings
        self._length, self._atoms, self._report = length, atoms, report
        self._next = series.numbers[-1] + 1 if series.numbers else 0
        self._row = self._next // length
        self._complete: dict[int, Path] = {}
        self._writers: dict[int, SeriesWriter] = {}
        self._n_done = self._next

    def compute(self, executor: Executor, means: Means, there: Sequence[tuple[int, Wavefunction]]) -> None:
        """Compute all that is missing, and append it."""
        rows = self._rows(there)
        running: dict[Future[Stretch], _Row] = {}

        def run(row: _Row) -> None:
            seconds = 0.0 if row.one_by_one else _SECONDS
            future = executor.submit(solve_stretch, tuple(row.remaining), tuple(row.before), means, seconds)
            running[future] = row

        try:
            while True:
                while len(running) < ahead(executor) and (row := next(rows, None)) is not None:
                    run(row)
                if not running:
                    return
                for future in sorted(first_done(running), key=lambda one: running[one].number):
                    row = running.pop(future)
                    self._take(row, future)
                    if row.remaining:
                        run(row)
                    else:
                        self._finish(row)
        finally:
            for future in running:
                future.cancel()

    def close(self) -> None:
        """Leave parts as files that can be continued."""
        while self._writers:
            self._writers.popitem()[1].close()

    def _rows(self, there: Sequence[tuple[int, Wavefunction]]) -> Iterator[_Row]:
        """Rows that are to be computed, in order; those that are complete already are appended."""
        for number in range(self._row, -(-len(self._geometries) // self._length)):
            checkpoint()
            start = number * self._length
            part = _part_from(self._folder, start)
            row = _Row(number, part, [])
            done = [frame for frame in there if frame[0] >= start]
            done += [frame for frame in _last_frames(part, self._geometries, self._settings) if frame[0] >= self._next]
            row.before.extend(frame for _, frame in done)
            first = max([start, self._next, *(number + 1 for number, _ in done)])
            self._n_done += first - max(start, self._next)
            for index in range(first, min(start + self._length, len(self._geometries))):
                try:
                    row.remaining.append((index, sound(self._geometries.read(index), self._atoms)))
                except (FileError, NotConverged) as error:
                    self._leave_out(index, str(error))
                    self._n_done += 1
            if row.remaining:
                yield row
            else:
                self._finish(row)

    def _take(self, row: _Row, future: Future[Stretch]) -> None:
        """Keep what was computed of a row."""
        try:
            stretch = future.result()
        except WorkerEnded as error:
            if row.one_by_one:
                number = row.remaining[0][0] + 1
                raise WorkerEnded(f"frame {number}: {error}; the same call continues from there") from error
            row.one_by_one = True
            return
        row.one_by_one = False
        del row.remaining[: len(stretch)]
        for number, frame in stretch.frames:
            if row.number not in self._writers:
                self._writers[row.number] = SeriesWriter(row.part, settings=self._settings, most=self._length)
            self._writers[row.number].append(frame, number)
            row.before.append(frame)
        for number, reason in stretch.left_out:
            self._leave_out(number, reason)
        self._n_done += len(stretch)
        tell(self._n_done / len(self._geometries))

    def _leave_out(self, index: int, reason: str) -> None:
        if self._report is not None:
            self._report(f"frame {index + 1} left out: {reason}")

    def _finish(self, row: _Row) -> None:
        """Append the rows whose turn it is."""
        if row.number in self._writers:
            self._writers.pop(row.number).close()
        self._complete[row.number] = row.part
        while self._row in self._complete:
            part = self._complete.pop(self._row)
            if part.exists():
                self._append(part)
            self._row += 1

    def _append(self, part: Path) -> None:
        with closing(SeriesFrames(part)) as frames:
            for index in range(len(frames)):
                checkpoint()
                if frames.number(index) >= self._next:  # others were appended before an interruption
                    self._series.append(frames.read(index, check=False), frames.number(index))
        _remove_part(part)
