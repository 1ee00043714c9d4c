"""Fields along trajectories, on one lattice: frames are tasks of any executor, and go to one store."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..base.errors import Cancelled, FieldError, FileError, OrbitileError
from ..base.watch import Cancel, Progress, checkpoint, stage, tell, watched
from ..evaluation.boxes import enclosing_lattice
from ..evaluation.devices import dtype_of
from ..evaluation.lattices import compute
from ..evaluation.requests import field_of
from ..exporters._volume_series import VolumeSeriesWriter, write_frames
from ..files.reading import user_path
from ..files.writing import refuse_inputs
from ..model.lattice import Lattice
from ..model.trajectory import Trajectory
from ..model.volume import VolumeHeader
from ..model.wavefunction import Wavefunction
from ..readers import load_trajectory
from ..readers._volume_series import StoredVolumes, open_volumes
from ..workers import in_order
from .tracking import Tracking

Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""Files of a trajectory, as `load_trajectory` takes them."""


@dataclass(frozen=True)
class FrameOfFiles:
    """A frame, for whoever reads it: of files, so that it need not be sent.

    Attributes
    ----------
    files : str or tuple of str
        As `load_trajectory` takes them.
    index : int
        From 0.
    key : str
        Of all frames that are asked for at once: the files are opened once for them.
    """

    files: str | tuple[str, ...]
    index: int
    key: str

    def read(self) -> Wavefunction:
        """Read it; errors as of a `Trajectory`."""
        return _opened(self.files, self.key)[self.index]


@lru_cache(maxsize=1)
def _opened(files: str | tuple[str, ...], key: str) -> Trajectory:
    return load_trajectory(files, kept=1)


Frame = FrameOfFiles | Wavefunction


@dataclass(frozen=True, eq=False)
class ChosenFrames:
    """Frames of a trajectory by their numbers, as they are sent to whoever computes.

    Attributes
    ----------
    trajectory : Trajectory
    numbers : tuple of int
        Those that are wanted, from 0.
    files : str, tuple of str or None
        What it was opened from; without it wavefunctions are read here, and sent.
    tracking : Tracking or None
        Where orbitals are followed: wavefunctions are sent that have them.
    """

    trajectory: Trajectory
    numbers: tuple[int, ...]
    files: str | tuple[str, ...] | None = None
    tracking: Tracking | None = None

    @classmethod
    def of(
        cls, source: Trajectory | Source, numbers: Iterable[int] | None = None, tracking: Tracking | None = None
    ) -> ChosenFrames:
        """Frames of a trajectory or of its files; all there are now, unless their numbers are given.

        Raises
        ------
        OrbitileError
            When it cannot be opened, or has no such frame.
        """
        files: str | tuple[str, ...] | None = None
        if isinstance(source, Trajectory):
            trajectory = source
        elif isinstance(source, (str, os.PathLike)):
            trajectory = load_trajectory(source)
            files = os.path.abspath(user_path(source))
        else:
            trajectory = load_trajectory(source)
            files = tuple(os.path.abspath(user_path(file)) for file in source)
        n = len(trajectory)
        wanted = range(n) if numbers is None else [trajectory.checked_index(number) for number in numbers]
        if not wanted:
            raise OrbitileError(f"{trajectory.name}: expected one frame or more, got none")
        if len(set(wanted)) < len(wanted):
            raise OrbitileError(f"{trajectory.name}: a frame is given twice")
        return cls(trajectory, tuple(wanted), files, tracking)

    def wavefunction(self, number: int) -> Wavefunction:
        """One frame as it is computed from, read here."""
        return self.trajectory[number] if self.tracking is None else self.tracking.followed(number)

    def first(self) -> Wavefunction:
        """The first frame that can be read.

        Raises
        ------
        OrbitileError
            When there is none.
        """
        problem: OrbitileError | None = None
        for number in self.numbers:
            try:
                return self.wavefunction(number)
            except OrbitileError as error:
                problem = problem or error
        raise OrbitileError(f"{self.trajectory.name}: no frame can be read: {problem}") from problem

    def field(self, name: str) -> str:
        """Name of a field in all frames: orbitals that are followed are named as in the first one."""
        return name if self.tracking is None else self.tracking.field(name)

    def positions(self) -> NDArray[np.float64]:
        """Positions of the atoms, shape (n_frames, n_atoms, 3), in bohr; of frames before where they are not known."""
        return self.trajectory.geometries()[list(self.numbers)]

    def sent(self, key: str, numbers: Iterable[int]) -> list[Frame | str]:
        """Frames for another process, or why one cannot be read."""
        if self.files is not None and self.tracking is None:
            return [FrameOfFiles(self.files, number, key) for number in numbers]
        return [_or_reason(self.wavefunction, number) for number in numbers]


def _or_reason(read: Callable[[int], Wavefunction], number: int) -> Wavefunction | str:
    try:
        return replace(read(number))  # without what is kept with it, since it is sent
    except Cancelled:
        raise
    except OrbitileError as error:
        return str(error)


_Result = TypeVar("_Result")


def compute_volumes(
    trajectory: Trajectory | Source,
    field: str,
    lattice: Lattice,
    path: str | os.PathLike[str],
    *,
    frames: Iterable[int] | None = None,
    tracking: Tracking | None = None,
    executor: Executor | None = None,
    device: str | None = None,
    precision: str = "single",
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
    report: Callable[[str], None] | None = None,
) -> StoredVolumes:
    """Evaluate a field in the frames of a trajectory, on one lattice, and write them to a Zarr store as they come.

    A computation that was interrupted, by whatever, is taken up by the same call: frames that are there are not
    computed again. So is one whose trajectory has grown. The values are those of `compute` for each frame, bit by bit,
    whoever computes them.

    Parameters
    ----------
    trajectory
        A trajectory, or its files as for `load_trajectory`: then whoever computes reads them, and has to see them.
    field
        Name of a field.
    lattice
        The same for all frames, as from `lattice_along`.
    path
        Folder of the store, which all processes have to see. One that is there is continued if it holds the same field
        of the same frames on the same lattice.
    frames
        Their numbers, from 0; by default all there are now.
    tracking
        From `track`: orbitals are named as in the first frame, and followed.
    executor
        Whoever computes: `orbitile.workers.local_workers`, a cluster, any executor of `concurrent.futures`; by default
        this process.
    device, precision
        As for `compute`; by default each process computes on the device that it takes by itself.
    progress
        Called with the share that is done.
    cancelled
        Asked now and then; when it says True, what is done is kept.
    report
        Told in one line of each frame that is missing, since it could not be read, or has no such field.

    Returns
    -------
    StoredVolumes
        The store, opened.

    Raises
    ------
    FieldError
        When there is no such field in the first frame.
    FileError
        When the trajectory cannot be read, or the store cannot be written or holds something else.
    LatticeError, DeviceError, Cancelled
        As for `compute`.
    """
    chosen = ChosenFrames.of(trajectory, frames, tracking)
    dtype = dtype_of(precision)
    first = chosen.first()
    name = chosen.field(field)
    resolved = field_of(first, name)
    header = VolumeHeader(lattice, dtype, resolved.quantity, resolved.unit)
    target = user_path(path)
    if chosen.files is not None:
        refuse_inputs(target, [chosen.files] if isinstance(chosen.files, str) else chosen.files)
    settings = f"{name}, {'followed' if tracking else 'as numbered in the files'}"
    with (
        watched(progress, cancelled),
        closing(VolumeSeriesWriter(target, header, first, chosen.numbers, settings)) as writer,
    ):
        _require_same_frames(writer, target, chosen)
        groups = list(_groups(writer.waiting, writer.together))
        key = secrets.token_hex(8)
        calls = (
            (
                os.path.abspath(target),
                tuple(group),
                chosen.sent(key, (chosen.numbers[place] for place in group)),
                name,
                lattice,
                first.atomic_numbers,
                device,
                precision,
            )
            for group in groups
        )
        sizes = [len(group) for group in groups]
        with closing(_results(executor, compute_frames, calls, sizes, len(chosen.numbers))) as results:
            for group, found in zip(groups, results, strict=True):
                writer.tell(group[0], found)
                for place, one in zip(group, found, strict=True):
                    if isinstance(one, str) and report is not None:
                        report(f"frame {chosen.numbers[place] + 1} is missing: {one}")
    return open_volumes(target)


def compute_frames(
    store: str,
    places: Sequence[int],
    frames: Sequence[Frame | str],
    field: str,
    lattice: Lattice,
    atomic_numbers: NDArray[np.int64],
    device: str | None,
    precision: str,
) -> list[NDArray[np.float64] | str]:
    """Compute a field in some frames, and write the values to their places in a store, which are side by side.

    Parameters
    ----------
    store
        Folder of the store.
    places
        Of the frames in it, one after the other.
    frames
        To be read, or read already; or why one cannot be read.
    field, lattice, device, precision
        As for `compute`.
    atomic_numbers
        Of the atoms in all frames.

    Returns
    -------
    list of ndarray of shape (n_atoms, 3), or str
        Of each frame the positions of its atoms, in bohr; or why it is missing.

    Raises
    ------
    OrbitileError
        When frames cannot be computed for a reason that is not theirs, or the store cannot be written.
    """
    values = np.full((len(places), *lattice.shape), np.nan, dtype_of(precision))
    found: list[NDArray[np.float64] | str] = []
    for frame, out in zip(frames, values, strict=True):
        checkpoint()
        try:
            wavefunction = _read(frame, atomic_numbers)
            computed = compute(wavefunction, field, lattice, device=device, precision=precision)
            if not np.isfinite(computed.values).all():
                raise FieldError("the field has values that are NaN or infinite")
        except (FileError, FieldError) as error:
            found.append(str(error))
        else:
            out[...] = computed.values
            found.append(np.array(wavefunction.positions))
    write_frames(Path(store), places[0], values)
    return found


def _results(
    executor: Executor | None,
    function: Callable[..., _Result],
    calls: Iterable[tuple[Any, ...]],
    sizes: Sequence[int],
    n: int,
) -> Generator[_Result, None, None]:
    """Results of calls in their order, of an executor or of this process: each for so many of n frames."""
    done = n - sum(sizes)
    results = in_order(executor, function, calls) if executor is not None else (function(*call) for call in calls)
    with closing(results):
        for size in sizes:
            with stage(done / n, (done + size) / n):
                checkpoint()
                result = next(results)
            yield result
            done += size
            tell(done / n)


def _read(frame: Frame | str, atomic_numbers: NDArray[np.int64]) -> Wavefunction:
    if isinstance(frame, str):
        raise FileError(frame)
    wavefunction = frame.read() if isinstance(frame, FrameOfFiles) else frame
    if not np.array_equal(wavefunction.atomic_numbers, atomic_numbers):
        raise FileError("its atoms differ from the first frame's, or are in another order")
    return wavefunction


def _groups(places: Sequence[int], together: int) -> Iterator[list[int]]:
    """Places that are side by side and in one file."""
    group: list[int] = []
    for place in places:
        if group and (place != group[-1] + 1 or place % together == 0):
            yield group
            group = []
        group.append(place)
    if group:
        yield group


def _require_same_frames(writer: VolumeSeriesWriter, target: Path, chosen: ChosenFrames) -> None:
    """Refuse to continue a store whose frames are of other geometries, by the first and the last that are there."""
    there = writer.done
    if not there:
        return
    stored = open_volumes(target)
    for place in {there[0], there[-1]}:
        geometry = stored[place].geometry
        wavefunction = chosen.wavefunction(chosen.numbers[place])
        if geometry is None or not np.array_equal(geometry.positions, wavefunction.positions):
            raise FileError(
                f"{target.name}: frame {place + 1} has another geometry than frame {chosen.numbers[place] + 1} of "
                f"{chosen.trajectory.name}; write to another file"
            )


def lattice_along(
    trajectory: Trajectory | Source | ChosenFrames,
    field: str,
    isovalue: float,
    *,
    spacing: float | None = None,
    points: int | None = None,
    quality: str = "medium",
    executor: Executor | None = None,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> Lattice:
    """A lattice that holds the isosurface of a field in all frames of a trajectory: see `enclosing_lattice`.

    Parameters
    ----------
    trajectory, field, executor, progress, cancelled
        As for `compute_volumes`.
    isovalue, spacing, points, quality
        As for `enclosing_lattice`; the spacing is that of the frame with the largest one.

    Raises
    ------
    OrbitileError
        When no frame can be read, or there is no such field.
    """
    chosen = trajectory if isinstance(trajectory, ChosenFrames) else ChosenFrames.of(trajectory)
    key = secrets.token_hex(8)
    calls = (
        (chosen.sent(key, [number])[0], chosen.field(field), isovalue, spacing, points, quality)
        for number in chosen.numbers
    )
    lattices, problem = [], ""
    sizes = [1] * len(chosen.numbers)
    with watched(progress, cancelled), closing(_results(executor, enclosed, calls, sizes, len(sizes))) as results:
        for found in results:
            if isinstance(found, str):
                problem = problem or found
            else:
                lattices.append(found)
    if not lattices:
        raise OrbitileError(f"{chosen.trajectory.name}: no frame can be read: {problem}")
    return united(lattices)


def enclosed(
    frame: Frame | str, field: str, isovalue: float, spacing: float | None, points: int | None, quality: str
) -> Lattice | str:
    """The lattice of one frame, or why it cannot be read."""
    try:
        if isinstance(frame, str):
            return frame
        wavefunction = frame.read() if isinstance(frame, FrameOfFiles) else frame
        return enclosing_lattice(wavefunction, field, isovalue, spacing=spacing, points=points, quality=quality)
    except (FileError, FieldError) as error:
        return str(error)


def united(lattices: Sequence[Lattice]) -> Lattice:
    """One lattice of equal spacing that holds others, with the largest of their spacings; of cells the finest one."""
    if lattices[0].periodic:
        return max(lattices, key=lambda one: one.n_points)
    ends = np.array([(one.origin, one.far_corner) for one in lattices])
    return Lattice.box(ends.min(axis=(0, 1)), ends.max(axis=(0, 1)), max(float(one.spacings[0]) for one in lattices))
