"""Frames of trajectories as arguments of functions that other processes run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..base.errors import Cancelled, OrbitileError
from ..files.reading import user_path
from ..model.trajectory import Trajectory
from ..model.wavefunction import Wavefunction
from ..readers import load_trajectory
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
            raise OrbitileError(f"{trajectory.name}: no frame is asked for")
        if len(set(wanted)) < len(wanted):
            raise OrbitileError(f"{trajectory.name}: a frame is asked for twice")
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
