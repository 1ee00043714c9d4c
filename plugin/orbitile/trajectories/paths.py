r"""Trajectories made from trajectories: orbitals followed, the molecule held still, frames put in between.

Each is read frame by frame as the one it is made from, so nothing is computed before it is asked for.

**In between**, the other frame is turned onto the one; positions and coefficients are interpolated linearly, and the
orbitals made orthonormal over the basis functions where they are then (symmetrically, as P.-O. Löwdin does, J. Chem.
Phys. 1950, 18, 365): with :math:`C = (1 - t) C_1 + t C_2` and S the overlap of the functions in between,

.. math::  C' = C \, (C^T S C)^{-1/2}.

Where C is orthonormal already, at both ends, it stays as it is. Orientation and place go from one frame to the other
along with t.

**Localised orbitals**: each frame is localised, its orbitals in the order of the first one. They are followed as
canonical orbitals are (`orbitile.trajectories.tracking`), by their overlaps with those of the frame before and the best
assignment, but not by their energies. Where localisation leaves open how orbitals are turned among each other, as it
does for lone pairs and cores of one atom, they are turned to be as near to their predecessors as they can. What becomes
of intrinsic bond orbitals is the electron flow of a reaction (G. Knizia and J. E. M. N. Klein, Angew. Chem. Int. Ed.
2015, 54, 5518).
"""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..base.arrays import Reals
from ..base.errors import FileChanged, FileError, OrbitileError
from ..fields.localised import localised_orbital
from ..gaussians.localised.localisation import Scheme, Which, count_of, localisation_near, localised
from ..gaussians.overlap import inverse_root, own_overlap
from ..gaussians.rotation import (
    aligned,
    aligned_positions,
    centre,
    part_of_rotation,
    placed,
    positions_between,
    rotation_onto,
    turned_functions,
)
from ..model.cell import molecules_only
from ..model.trajectory import Trajectory
from ..model.wavefunction import Orbitals, Spin, Wavefunction
from .tracking import DEGENERACY, FollowedFrames, FramesOfAnother, mismatch

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


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


class AlignedFrames(FramesOfAnother):
    """Frames turned and moved onto the first sound one: `Frames` of a `Trajectory`."""

    def geometries(self) -> Reals:
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


_LEAST = 1e-3
"""Coefficients of localised orbitals below which their places are known without them."""

Guide = dict[Spin, "csr_matrix"]
"""About the localised orbitals of a frame, of each spin: enough to find them again."""


class LocalisedFrames(FramesOfAnother):
    """Frames with localised orbitals in place of those of the file: `Frames` of a `Trajectory`.

    There may be several ways to localise orbitals about as well, such as the two Kekule structures of benzene. Each
    frame therefore begins with the orbitals of the frame before, turned with the molecule, and goes uphill from there.

    Parameters
    ----------
    trajectory
    scheme, which
        As for `orbitile.gaussians.localised.localisation.localised`.

    Notes
    -----
    Memory beyond the frames: the large coefficients of the orbitals of each frame that was reached, whose number grows
    with the size of the molecule, not with its square.
    """

    def __init__(self, trajectory: Trajectory, scheme: Scheme = "ibo", which: Which = "occupied") -> None:
        super().__init__(trajectory)
        self._scheme, self._which = scheme, which
        self._guides: dict[int, Guide] = {}
        self._reached = -1
        self._latest: tuple[Wavefunction, Guide] | None = None
        self._lock = threading.Lock()

    def read(self, index: int) -> Wavefunction:
        """Read one frame, and localise it; those before it come first.

        Raises
        ------
        OrbitileError
            When it has no localised orbitals.
        """
        with self._lock:
            while self._reached < index:
                try:
                    self._reach(self._reached + 1)
                except FileChanged:
                    raise
                except OrbitileError:
                    if self._reached + 1 == index:
                        raise
                self._reached += 1
        wavefunction = self._trajectory[index]
        if index not in self._guides:  # it could not be localised
            return localised(wavefunction, self._scheme, self._which)
        near = {spin: guide.toarray().astype(np.float64) for spin, guide in self._guides[index].items()}
        return localisation_near(wavefunction, self._scheme, self._which, near).wavefunction

    def _reach(self, index: int) -> None:
        """Find about the localised orbitals of a frame from those of the one before."""
        wavefunction = self._trajectory[index]
        if self._latest is None or mismatch(self._latest[0], wavefunction):
            found = localised(wavefunction, self._scheme, self._which)
        else:
            before, guide = self._latest
            turn = turned_functions(wavefunction, rotation_onto(before, wavefunction.positions))
            near = {spin: np.asarray((turn @ one).toarray(), np.float64) for spin, one in guide.items()}
            try:
                found = localisation_near(wavefunction, self._scheme, self._which, near).wavefunction
            except OrbitileError:  # other electrons
                found = localised(wavefunction, self._scheme, self._which)
        self._guides[index] = _guide(found)
        self._latest = wavefunction, self._guides[index]


def _guide(wavefunction: Wavefunction) -> Guide:
    from scipy.sparse import csr_matrix

    found = {spin: wavefunction.orbitals(spin).coefficients for spin in wavefunction.spins}
    return {spin: csr_matrix(np.where(np.abs(c) < _LEAST, 0, c).astype(np.float32)) for spin, c in found.items()}


def localisation_for(first: Wavefunction, field: str) -> tuple[Scheme, Which] | None:
    """Scheme, and which orbitals are to be localised, of a localised orbital of a wavefunction; None for other fields.

    Raises
    ------
    OrbitileError
        When the wavefunction does not have this localised orbital.
    """
    orbital = localised_orbital(first, field)
    if orbital is None:
        return None
    occupied, _ = count_of(first, orbital.family, orbital.spin)
    return orbital.family, "occupied" if orbital.index < occupied else "all"


def localised_for(trajectory: Trajectory, first: Wavefunction, field: str) -> Trajectory:
    """The trajectory that a field is to be shown along: with localised orbitals for one of these, otherwise as it is.

    Parameters
    ----------
    trajectory
    first
        Its first frame.
    field
        Name of the field, as ibo:5, which is orbital 5 of the frames that are returned, once they are followed.

    Raises
    ------
    OrbitileError
        When the first frame does not have this localised orbital.
    """
    how = localisation_for(first, field)
    return trajectory if how is None else Trajectory(LocalisedFrames(trajectory, *how), trajectory.kept)


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


class InterpolatedFrames(FramesOfAnother):
    """Frames with others in between: `Frames` of a `Trajectory`."""

    def __init__(self, trajectory: Trajectory, between: int) -> None:
        super().__init__(trajectory)
        self._step = between + 1

    def geometries(self) -> Reals:
        """Positions of all frames."""
        given, atoms = self._trajectory.geometries(), next(iter(self._trajectory))
        dense = np.empty((len(self), *given.shape[1:]))
        for index in range(len(dense)):
            at, part = divmod(index, self._step)
            ends = given[at], given[min(at + 1, len(given) - 1)]
            dense[index] = positions_between(atoms, *ends, part / self._step) if part else ends[0]
        return dense

    def __len__(self) -> int:
        return max(0, (len(self._trajectory) - 1) * self._step + 1)

    def read(self, index: int) -> Wavefunction:
        """Read a frame, or two and give what is between them."""
        at, part = divmod(index, self._step)
        if part == 0:
            return self._trajectory[at]
        return interpolated(self._trajectory[at], self._trajectory[at + 1], part / self._step)
