"""Frames between frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import OrbitileError
from ..gaussians.alignment import (
    centre,
    part_of_rotation,
    placed,
    positions_between,
    rotation_onto,
)
from ..gaussians.overlap import inverse_root, own_overlap
from ..model.cell import molecules_only
from ..model.trajectory import Trajectory
from ..model.wavefunction import Orbitals, Wavefunction
from .matching import mismatch
from .paths import Floats


def interpolate(trajectory: Trajectory, between: int) -> Trajectory:
    """A trajectory with frames in between.

    Parameters
    ----------
    trajectory
        Frames whose orbitals correspond, as from `follow`.
    between
        Frames between two neighbours, 0 or more.

    Raises
    ------
    OrbitileError
        When `between` is no such number.
    """
    if not isinstance(between, int) or isinstance(between, bool) or not 0 <= between <= 1000:
        raise OrbitileError(f"frames in between: expected a whole number from 0 to 1000, got {between!r}")
    return Trajectory(InterpolatedFrames(trajectory, between), trajectory.kept) if between else trajectory


def interpolated(one: Wavefunction, other: Wavefunction, share: float) -> Wavefunction:
    """A wavefunction between two frames.

    Parameters
    ----------
    one, other
        The same atoms and basis set; orbitals that correspond.
    share
        0 gives the first frame, 1 the second.

    Returns
    -------
    Wavefunction
        Orthonormal orbitals, with energies and occupations in between. Density matrices beyond the orbitals and
        excitations are left out.

    Raises
    ------
    OrbitileError
        When atoms, basis sets or kinds of orbitals differ, or the share is not from 0 to 1.
    """
    if not 0 <= share <= 1:
        raise OrbitileError(f"share of the way between two frames: expected a number from 0 to 1, got {share!r}")
    reason = mismatch(one, other)
    if reason:
        raise OrbitileError(f"{other.source or 'frame'}: cannot be interpolated with the one before: {reason}")
    molecules_only(one, "interpolation", "atoms may leave the cell by one face and enter it by the opposite one")
    rotation = rotation_onto(other, one.positions)
    near = placed(other, rotation, centre(one))
    middle = replace(
        one,
        positions=(1 - share) * one.positions + share * near.positions,
        geometries=np.empty(0),
        density_matrix=np.empty(0),
        spin_density_matrix=np.empty(0),
        excitations=(),
        source=f"between {one.source} and {other.source}",
    )
    overlap = own_overlap(middle)

    def between(mine: Orbitals, theirs: Orbitals) -> Orbitals:
        n = len(mine)
        coefficients = (1 - share) * mine.coefficients + share * theirs.coefficients[:, :n]
        return Orbitals(
            coefficients @ inverse_root(coefficients.T @ (overlap @ coefficients)),
            (1 - share) * mine.occupations + share * theirs.occupations[:n],
            (1 - share) * mine.energies + share * theirs.energies[:n],
            mine.irreps,
        )

    beta = None if one.beta is None or near.beta is None else between(one.beta, near.beta)
    middle = replace(middle, alpha=between(one.alpha, near.alpha), beta=beta)
    return placed(middle, part_of_rotation(rotation.T, share), (1 - share) * centre(one) + share * centre(other))


class InterpolatedFrames:
    """Frames with others in between: `Frames` of a `Trajectory`."""

    def __init__(self, trajectory: Trajectory, between: int) -> None:
        self._trajectory, self._step = trajectory, between + 1

    def geometries(self) -> Floats:
        """Positions of all frames."""
        given, atoms = self._trajectory.geometries(), next(iter(self._trajectory))
        dense = np.empty((len(self), *given.shape[1:]))
        for index in range(len(dense)):
            at, part = divmod(index, self._step)
            ends = given[at], given[min(at + 1, len(given) - 1)]
            dense[index] = positions_between(atoms, *ends, part / self._step) if part else ends[0]
        return dense

    @property
    def name(self) -> str:
        """Of the trajectory."""
        return self._trajectory.name

    def __len__(self) -> int:
        return max(0, (len(self._trajectory) - 1) * self._step + 1)

    def read(self, index: int) -> Wavefunction:
        """Read a frame, or two and give what is between them."""
        at, part = divmod(index, self._step)
        if part == 0:
            return self._trajectory[at]
        return interpolated(self._trajectory[at], self._trajectory[at + 1], part / self._step)
