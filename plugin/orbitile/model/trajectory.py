"""A lazy sequence of wavefunctions along a path: an optimisation, a scan, molecular dynamics."""

from __future__ import annotations

import operator
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FieldError, OrbitileError
from .geometry import Displayed
from .wavefunction import Wavefunction


class Frames(Protocol):
    """Where the frames of a trajectory come from; one class a kind of file, in `orbitile.readers`."""

    @property
    def name(self) -> str:
        """For people: the file, or the first and the last of several."""

    def __len__(self) -> int:
        """Number of frames known now; larger the next time, perhaps, while a file grows."""

    def read(self, index: int) -> Wavefunction:
        """Read one frame, and check it.

        Raises
        ------
        FileError
            When this frame is damaged or incomplete. Others may be sound.
        """


@dataclass(frozen=True, eq=False)
class Trajectory(Displayed):
    """Wavefunctions along a path, read when they are asked for.

    `len(trajectory)` is the number of frames known now, and grows with the file; `trajectory[i]` is a `Wavefunction`.
    Iteration gives the sound frames; those that cannot be read are left out and entered in `problems`. Memory: the
    frames in `kept`, and whatever the caller holds.

    Attributes
    ----------
    source : Frames
        Reads one frame.
    kept : int
        Number of frames that stay in memory, those asked for last.
    """

    source: Frames
    kept: int = 4
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.kept, int) or self.kept < 1:
            raise OrbitileError(f"frames kept in memory: expected a whole number, 1 or more, got {self.kept!r}")

    @property
    def name(self) -> str:
        """What it was read from."""
        return self.source.name

    @cached_property
    def problems(self) -> dict[int, str]:
        """Why frames could not be read, by index: those that were asked for so far."""
        return {}

    @cached_property
    def _recent(self) -> OrderedDict[int, Wavefunction]:
        return OrderedDict()

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> Wavefunction:
        """One frame; negative indices count from the last one known now.

        Raises
        ------
        FieldError
            When there is no such frame.
        FileError
            When the frame cannot be read.
        """
        wanted = self.checked_index(index)
        with self._lock:
            if wanted in self._recent:
                self._recent.move_to_end(wanted)
                return self._recent[wanted]
            try:
                wavefunction = self.source.read(wanted)
            except OrbitileError as error:
                self.problems[wanted] = str(error)
                raise
            self.problems.pop(wanted, None)  # an incomplete last frame has been completed since
            self._recent[wanted] = wavefunction
            while len(self._recent) > self.kept:
                self._recent.popitem(last=False)
            return wavefunction

    def __iter__(self) -> Iterator[Wavefunction]:
        return (wavefunction for _, wavefunction in self.frames())

    def frames(self, report: Callable[[str], None] | None = None) -> Iterator[tuple[int, Wavefunction]]:
        """Sound frames with their indices, from the first to the last one known when it is reached.

        Parameters
        ----------
        report
            Told in one line of each frame that is left out.
        """
        index = 0
        while index < len(self):
            try:
                wavefunction = self[index]
            except OrbitileError as error:
                if report is not None:
                    report(f"frame {index + 1} left out: {error}")
            else:
                yield index, wavefunction
            index += 1

    def geometries(self) -> NDArray[np.float64]:
        """Positions of the atoms in all frames known now, shape (n_frames, n_atoms, 3), in bohr.

        A frame that cannot be read, or has other atoms, has those of the frame before, and is entered in `problems`.
        Where the source knows the positions apart from the orbitals (`geometries` of its own), nothing else is read.

        Raises
        ------
        OrbitileError
            When no frame can be read.
        """
        if hasattr(self.source, "geometries"):
            return self.source.geometries()
        first, positions = None, np.empty((len(self), 0, 3))
        for index, wavefunction in self.frames():
            if first is None:
                first, positions = wavefunction, np.empty((len(self), wavefunction.n_atoms, 3))
                positions[:] = wavefunction.positions
            if np.array_equal(wavefunction.atomic_numbers, first.atomic_numbers):
                positions[index:] = wavefunction.positions
            else:
                self.problems[index] = "its atoms differ from the first frame's, or are in another order"
        if first is None:
            raise OrbitileError(
                f"{self.name}: no frame can be read: {next(iter(self.problems.values()), 'it has none')}"
            )
        return positions

    def checked_index(self, index: int) -> int:
        """A frame as an index from 0.

        Raises
        ------
        FieldError
            When there is no such frame.
        """
        return frame_index(index, len(self), self.name)


def frame_index(index: object, n: int, name: str) -> int:
    """One of so many frames of what is called so, as an index from 0; negative ones count from the last.

    Raises
    ------
    FieldError
        When there is no such frame.
    """
    try:
        wanted = operator.index(index)  # type: ignore[arg-type]  # what it is not is refused here
    except TypeError as error:
        raise FieldError(f"frame of {name}: expected a whole number, got {index!r}") from error
    if not -n <= wanted < n:
        raise FieldError(f"{name}: has {n} frames, counted from 0; there is no frame {wanted}")
    return wanted % n
