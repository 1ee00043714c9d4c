r"""Trajectories made from trajectories: orbitals followed, the molecule held still, frames put in between.

Each is read frame by frame as the one it is made from, so nothing is computed before it is asked for.

**In between**, the other frame is turned onto the one; positions and coefficients are interpolated linearly, and the
orbitals made orthonormal over the basis functions where they are then (symmetrically, as P.-O. Löwdin does, J. Chem.
Phys. 1950, 18, 365): with :math:`C = (1 - t) C_1 + t C_2` and S the overlap of the functions in between,

.. math::  C' = C \, (C^T S C)^{-1/2}.

Where C is orthonormal already, at both ends, it stays as it is. Orientation and place go from one frame to the other
along with t.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import Cancelled, FileChanged, FileError, OrbitileError
from ..gaussians.alignment import (
    aligned,
    aligned_positions,
)
from ..model.trajectory import Trajectory
from ..model.wavefunction import Spin, Wavefunction
from .matching import DEGENERACY, FrameMatch, Reference, first_step, step_to
from .tracking import followed

Floats = NDArray[np.float64]


def follow(trajectory: Trajectory, *, degeneracy: float = DEGENERACY) -> Trajectory:
    """A trajectory with its orbitals in the order and with the phases of the first frame, followed as frames are read.

    What `track` does for all frames at once. A frame far ahead takes as long as all the frames before it, the first
    time.

    Parameters
    ----------
    trajectory, degeneracy
        As for `track`.

    Returns
    -------
    Trajectory
        Memory beyond its frames: a few numbers an orbital and frame, two frames, and the overlap of the functions of
        one.
    """
    return Trajectory(FollowedFrames(trajectory, degeneracy), trajectory.kept)


def align(trajectory: Trajectory) -> Trajectory:
    """A trajectory whose molecule neither moves nor turns: each frame is brought onto the first one by least squares.

    A lattice that stays in place then keeps its place and orientation relative to the molecule.
    """
    return Trajectory(AlignedFrames(trajectory), trajectory.kept)


class FramesOfAnother:
    """What frames made of those of another trajectory share with it."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._trajectory = trajectory

    @property
    def name(self) -> str:
        """Of the trajectory."""
        return self._trajectory.name

    def __len__(self) -> int:
        return len(self._trajectory)

    def geometries(self) -> Floats:
        """Positions of all frames, whose orbitals need not be known for them."""
        return self._trajectory.geometries()


class FollowedFrames(FramesOfAnother):
    """Frames with followed orbitals: `Frames` of a `Trajectory`.

    Parameters
    ----------
    trajectory, degeneracy
        As for `follow`.
    """

    def __init__(self, trajectory: Trajectory, degeneracy: float = DEGENERACY) -> None:
        super().__init__(trajectory)
        self._matches: dict[int, FrameMatch] = {}
        self._degeneracy = degeneracy
        self._reached = -1
        self._reference: Reference | None = None
        self._lock = threading.Lock()

    def reach(
        self,
        index: int,
        progress: Callable[[float], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        """Follow the orbitals as far as a frame; where it was stopped it goes on the next time.

        Raises
        ------
        Cancelled
            When `cancelled` said so.
        """
        with self._lock:
            begin = self._reached
            while self._reached < index:
                if cancelled is not None and cancelled():
                    raise Cancelled("cancelled")
                at = self._reached + 1
                try:
                    frame = self._trajectory[at]
                    if self._reference is None:
                        step = first_step(at, frame, self._later(at), self._degeneracy)
                    else:
                        step = step_to(self._reference, at, frame, self._degeneracy)
                except FileChanged:  # no frame is damaged: it is another trajectory by now
                    raise
                except OrbitileError as error:
                    self._trajectory.problems[at] = str(error)
                    if at == len(self) - 1:
                        return  # it may be completed yet
                else:
                    self._matches[at], self._reference = step.match, step.reference
                self._reached = at
                if progress is not None:
                    progress((at - begin) / (index - begin))

    def _later(self, index: int) -> Iterator[Wavefunction]:
        """Frames after one, as far as they can be read."""
        for at in range(index + 1, len(self)):
            try:
                yield self._trajectory[at]
            except FileChanged:
                raise
            except OrbitileError:
                return

    def confidence(self, index: int, orbital: int, spin: Spin) -> float | None:
        """Confidence of an orbital, from 0, in a frame that was reached; None where it was not followed."""
        match = self._matches.get(index)
        return None if match is None else float(match.of(spin).confidence[orbital])

    def read(self, index: int) -> Wavefunction:
        """Read one frame, follow the orbitals as far as that, and give it with them."""
        self.reach(index)
        wavefunction = self._trajectory[index]
        if index not in self._matches:
            reason = self._trajectory.problems.get(index, "it differs from the frame before")
            raise FileError(f"{self.name}: the orbitals of frame {index + 1} cannot be followed: {reason}")
        return followed(wavefunction, self._matches[index])


class AlignedFrames(FramesOfAnother):
    """Frames turned and moved onto the first sound one: `Frames` of a `Trajectory`."""

    def geometries(self) -> Floats:
        """Positions of all frames."""
        return np.array([aligned_positions(self._one, where) for where in self._trajectory.geometries()])

    @cached_property
    def _one(self) -> Wavefunction:
        """The first sound frame."""
        return next(iter(self._trajectory))

    def read(self, index: int) -> Wavefunction:
        """Read one frame, and turn it."""
        wavefunction = self._trajectory[index]
        if not np.array_equal(self._one.atomic_numbers, wavefunction.atomic_numbers):
            raise FileError(f"{self.name}: frame {index + 1} has other atoms than the first one, or in another order")
        return wavefunction if wavefunction is self._one else aligned(wavefunction, self._one)
