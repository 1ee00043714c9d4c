"""Regions along a trajectory of molecular dynamics: each frame in the field of its own surroundings."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import FileError
from ..base.watch import stage, tell
from ..integrals.external_charges import fields_along
from ..model.geometry import Geometry
from ..model.structure import Structure
from ..readers.molecular_dynamics import DynamicsPositions
from ..workers import ahead, awaited
from .calculation import HISTORY, Calculation, NotConverged, Solution
from .engines import engine_of
from .region import Region, with_positions
from .series import Means

_AT_ONCE = 4
"""Frames that a process computes one after the other, each from those before it."""


@dataclass(frozen=True, eq=False)
class RegionFrame:
    """A frame.

    Attributes
    ----------
    number : int
        In the trajectory, from 0.
    region : Region
    solution : Solution or None
        None where there is none.
    why : str
        Why there is none.
    """

    number: int
    region: Region
    solution: Solution | None
    why: str = ""


def compute_frames(
    region: Region,
    frames: DynamicsPositions,
    means: Means,
    numbers: Sequence[int],
    executor: Executor | None = None,
) -> Iterator[RegionFrame]:
    """Compute a region at frames of a trajectory, in their order, under the watch of the caller.

    Parameters
    ----------
    region
        Of which the atoms stay the same.
    frames
        Positions of all atoms of its structure.
    means
        Method and basis set, and by what they are computed; its surroundings are those of each frame.
    numbers
        Frames, from 0.
    executor
        Other processes that compute; some frames in a row by the same one.

    Raises
    ------
    OrbitileError
        What no other frame can mend.
    """
    n_at_once = 1 if executor is None else _AT_ONCE
    stretches = deque(numbers[n : n + n_at_once] for n in range(0, len(numbers), n_at_once))
    running: deque[tuple[list[RegionFrame], Future[list[Solution | str]]]] = deque()
    before: list[Solution] = []
    n_done = 0
    while stretches or running:
        while executor is not None and stretches and len(running) < ahead(executor):
            read = [_frame(region, frames, number) for number in stretches.popleft()]
            running.append((read, executor.submit(solve_frames, [_task(frame, means) for frame in read], means)))
        if running:
            read, future = running.popleft()
            with stage(n_done / len(numbers), (n_done + len(read)) / len(numbers)):
                found = awaited(future)
        else:
            read = [_frame(region, frames, number) for number in stretches.popleft()]
            with stage(n_done / len(numbers), (n_done + 1) / len(numbers)):
                found = solve_frames([_task(frame, means) for frame in read], means, before)
            before = [*before, *(solution for solution in found if isinstance(solution, Solution))][-HISTORY:]
        for frame, solution in zip(read, found, strict=True):
            yield replace(frame, why=solution) if isinstance(solution, str) else replace(frame, solution=solution)
        n_done += len(read)
        tell(n_done / len(numbers))


def solve_frames(
    tasks: Sequence[tuple[Geometry, Calculation] | str], means: Means, before: Sequence[Solution] = ()
) -> list[Solution | str]:
    """Solutions of some frames, each from those before it; in place of one that has none, why, as in its place."""
    found: list[Solution | str] = []
    last = deque((one.wavefunction for one in before), HISTORY)
    for task in tasks:
        if isinstance(task, str):
            found.append(task)
            continue
        try:
            solution = engine_of(means.engine, *task).solve(*task, last, means.device, means.precision)
        except NotConverged as error:
            found.append(str(error))
        else:
            found.append(replace(solution, response=None))
            last.append(solution.wavefunction)
    return found


def gathered(structure: Structure, positions: Reals, box: Reals | None, around: NDArray[np.int64]) -> Reals:
    """Positions with each residue whole, at that of its images whose middle is nearest to some atoms.

    Parameters
    ----------
    structure
        Whose residues count; one has to be smaller than half of the box.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    box : ndarray, shape (3, 3), or None
        Vectors of a periodic box as rows, in bohr; without one nothing moves.
    around
        Atoms, the first of which is in the middle of it all.
    """
    if box is None or not np.abs(np.linalg.det(box)) > 0:
        return positions
    inverse = np.linalg.inv(box)
    _, first, of = np.unique(structure.residue_of, return_index=True, return_inverse=True)
    of = of.reshape(-1)
    whole = positions - np.rint((positions - positions[first][of]) @ inverse) @ box
    counts = np.bincount(of)
    middles = np.stack([np.bincount(of, axis) / counts for axis in whole.T], axis=1)
    centre = middles[of[around[0]]]
    result: Reals = whole - (np.rint((middles - centre) @ inverse) @ box)[of]
    return result


def field_along(region: Region, bond: tuple[int, int]) -> float:
    """Field of the surroundings at the midpoint of two atoms of a region, positive along them, in hartree/(e bohr)."""
    if region.external is None:
        return 0.0
    return float(fields_along(region.external, *region.geometry.positions[list(bond)])[1].sum())


def at_frame(region: Region, frames: DynamicsPositions, number: int) -> Region:
    """The region at a frame, from 0, with residues at their nearest images.

    Raises
    ------
    FileError
        When the frame cannot be read.
    """
    positions, box = frames.read(number)
    return with_positions(region, gathered(region.structure, positions, box, region.atoms))


def _frame(region: Region, frames: DynamicsPositions, number: int) -> RegionFrame:
    try:
        return RegionFrame(number, at_frame(region, frames, number), None)
    except FileError as error:
        return RegionFrame(number, region, None, str(error))


def _task(frame: RegionFrame, means: Means) -> tuple[Geometry, Calculation] | str:
    calculation = replace(means.calculation, external_charges=frame.region.external)
    return frame.why or (frame.region.geometry, calculation)
