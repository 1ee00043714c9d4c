r"""Electron flow along a path: which localised orbital becomes which bond, and how far it goes.

Intrinsic bond orbitals are followed from frame to frame (`orbitile.trajectories.paths`). What has become of orbital
i is seen in its electrons on the atoms A, :math:`q_A^i = n_i \sum_{\rho \in A} |\langle\rho|i\rangle|^2` over intrinsic
atomic orbitals: its change since the first frame is

.. math::  d_i(s) = \sqrt{\sum_A \bigl(q_A^i(s) - q_A^i(0)\bigr)^2}

(G. Knizia and J. E. M. N. Klein, Angew. Chem. Int. Ed. 2015, 54, 5518). Orbitals that only watch have a small one; for
an electron pair that leaves an atom for another it is :math:`2\sqrt 2`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.watch import stage
from ..gaussians.localised.localisation import Scheme, localisation, shares_on_atoms
from ..gaussians.overlap import centres_and_spreads
from ..gaussians.rotation import aligned, aligned_positions
from ..model.geometry import find_bonds
from ..model.trajectory import Trajectory
from ..model.wavefunction import Spin, Wavefunction
from ..trajectories.paths import LocalisedFrames
from ..trajectories.tracking import FollowedFrames


@dataclass(frozen=True, eq=False)
class FlowOfSpin:
    """Localised orbitals of one spin along a path; of both where spins share orbitals.

    Attributes
    ----------
    spin : str
    names : tuple of tuple of str
        What each orbital is, frame by frame: C1-F2 sigma.
    electrons : ndarray, shape (n_frames, n_atoms, n_orbitals)
        Of each orbital on each atom, in e.
    centres : ndarray, shape (n_frames, n_orbitals, 3)
        In bohr, each frame brought onto the first one.
    confidence : ndarray, shape (n_frames, n_orbitals)
        Overlap of an orbital with itself in the frame before, 0 to 1; below 0.7 its identity is a matter of taste.
    """

    spin: Spin
    names: tuple[tuple[str, ...], ...]
    electrons: Reals
    centres: Reals
    confidence: Reals

    @property
    def change(self) -> Reals:
        """Change of each orbital since the first frame, in e, shape (n_frames, n_orbitals)."""
        return np.sqrt(np.sum((self.electrons - self.electrons[0]) ** 2, axis=1))

    @property
    def distance(self) -> Reals:
        """From where the centre of each orbital was in the first frame, in bohr, shape (n_frames, n_orbitals)."""
        return np.linalg.norm(self.centres - self.centres[0], axis=2)


@dataclass(frozen=True, eq=False)
class Flow:
    """Electron flow along a path.

    Attributes
    ----------
    first : Wavefunction
        The first frame.
    frames : ndarray of int, shape (n_frames,)
        The frames that were followed, from 0.
    problems : dict of int to str
        Why others were left out.
    positions : ndarray, shape (n_frames, n_atoms, 3)
        In bohr, each frame brought onto the first one.
    spins : tuple of FlowOfSpin
        One where spins share orbitals, otherwise alpha and beta.
    electrons : ndarray, shape (n_frames,)
        In all orbitals of the file.
    missed : float
        How much larger the functional of localisation is, in the last frame, for orbitals sought without those of the
        frames before: 0 but for rounding, unless the followed ones stay with what they were.
    """

    first: Wavefunction
    frames: NDArray[np.int64]
    problems: dict[int, str]
    positions: Reals
    spins: tuple[FlowOfSpin, ...]
    electrons: Reals
    missed: float

    @property
    def length(self) -> Reals:
        """Way of all atoms from the first frame on, in bohr, shape (n_frames,): the root of the sum of their squares.

        Summed over the frames.
        """
        steps = np.sqrt(np.sum(np.diff(self.positions, axis=0) ** 2, axis=(1, 2)))
        return np.concatenate([[0.0], np.cumsum(steps)])

    @property
    def charges(self) -> Reals:
        """Charges of the atoms by these orbitals, in e, shape (n_frames, n_atoms)."""
        return self.first.core_charges - sum(spin.electrons.sum(axis=2) for spin in self.spins)

    @property
    def bonds(self) -> tuple[set[Pair], set[Pair]]:
        """Pairs of atoms that are bonded in the last frame and not in the first, and the other way round.

        Atoms are bonded by their distance. A pair that is bonded on the way alone is among the first.
        """
        numbers = self.first.atomic_numbers
        found = [{(int(a), int(b)) for a, b in find_bonds(numbers, positions)} for positions in self.positions]
        return set[Pair]().union(*found) - found[0], found[0] - found[-1]

    def of_bond(self, pair: Pair) -> tuple[FlowOfSpin, int] | None:
        """The orbital that is a bond of two atoms more than any other, in any frame; None where none is much of one."""
        best = max(
            ((spin, spin.electrons[:, pair[0]] * spin.electrons[:, pair[1]]) for spin in self.spins),
            key=lambda one: float(one[1].max()),
        )
        spin, shared = best
        orbital = int(np.argmax(shared.max(axis=0)))
        return (spin, orbital) if shared[:, orbital].max() > _SHARED else None

    @property
    def exchanged(self) -> list[tuple[int, tuple[int, ...]]]:
        """Frames in which atoms seem to have other numbers than in the frame before, and the atoms, from 0.

        They do where much less would move if some atoms of one element exchanged their numbers.
        """
        from scipy.optimize import linear_sum_assignment

        found = []
        numbers = self.first.atomic_numbers
        other_element = numbers[:, None] != numbers
        for n, (before, now) in enumerate(zip(self.positions[:-1], self.positions[1:], strict=True), 1):
            squares = np.sum((before[:, None] - now) ** 2, axis=2)
            _, nearest = linear_sum_assignment(np.where(other_element, _FAR, squares))
            moved = np.flatnonzero(nearest != np.arange(len(nearest)))
            if np.trace(squares) - squares[np.arange(len(nearest)), nearest].sum() > _EXCHANGE**2:
                found.append((int(self.frames[n]), tuple(moved.tolist())))
        return found


Pair = tuple[int, int]

_SHARED = 0.05
"""Product of the electrons that an orbital has on two atoms, from which on it counts as their bond."""

_FAR = 1e9
"""Stands for the square of a distance that is out of the question."""

_EXCHANGE = 2.0
"""Way in bohr that another numbering of the atoms has to save for it to be likely."""


def flow(trajectory: Trajectory, scheme: Scheme = "ibo") -> Flow:
    """Follow localised orbitals along a path.

    Parameters
    ----------
    trajectory
        Frames of the same atoms, basis set and electrons.
    scheme
        ibo or pm_iao: what has intrinsic atomic orbitals.

    Returns
    -------
    Flow
        Memory while it is made: two frames; of each frame what `FlowOfSpin` has stays.

    Raises
    ------
    OrbitileError
        When fewer than two frames can be followed: says why the others cannot.
    """
    localised = Trajectory(LocalisedFrames(trajectory, scheme), trajectory.kept)
    followed = FollowedFrames(localised)
    path = Trajectory(followed, 1)
    n, problems = len(path), {}
    frames: list[int] = []
    first: Wavefunction | None = None
    positions, electrons = [], []
    names: dict[Spin, list[tuple[str, ...]]] = {}
    parts: dict[Spin, list[tuple[Reals, Reals, Reals]]] = {}
    for index in range(n):
        with stage(index / n, (index + 1) / n):
            try:
                wavefunction = path[index]
            except OrbitileError as error:
                problems[index] = _reason(trajectory, localised, index, str(error))
                continue
            first = wavefunction if first is None else first
            here = aligned(wavefunction, first)
            positions.append(aligned_positions(first, wavefunction.positions))
            electrons.append(wavefunction.n_electrons)
            frames.append(index)
            for spin in first.spins:
                orbitals = here.orbitals(spin)
                centres, _ = centres_and_spreads(here, orbitals.coefficients)
                sure = [followed.confidence(index, orbital, spin) for orbital in range(len(orbitals))]
                shares = shares_on_atoms(wavefunction, spin) * orbitals.occupations
                names.setdefault(spin, []).append(orbitals.irreps)
                parts.setdefault(spin, []).append((shares, centres, np.array(sure, np.float64)))
    if first is None or len(frames) < 2:
        reasons = "; ".join(f"frame {index + 1}: {reason}" for index, reason in list(problems.items())[:3])
        raise OrbitileError(
            f"electron flow: expected a path of at least two frames that can be followed, got {len(frames)}"
            + (f" ({reasons})" if reasons else "")
        )
    spins = tuple(
        FlowOfSpin(spin, tuple(names[spin]), *(np.array(column) for column in zip(*parts[spin], strict=True)))
        for spin in first.spins
    )
    missed = _missed(trajectory[frames[-1]], localised[frames[-1]], scheme)
    return Flow(first, np.array(frames), problems, np.array(positions), spins, np.array(electrons), missed)


def _missed(wavefunction: Wavefunction, found: Wavefunction, scheme: Scheme) -> float:
    """How much larger the functional is elsewhere than at the localised orbitals that were found."""
    power = 4 if scheme == "ibo" else 2
    value = sum(float(np.sum(shares_on_atoms(found, spin) ** power)) for spin in found.spins)
    return sum(one.value for one in localisation(wavefunction, scheme).sets) - value


def _reason(trajectory: Trajectory, localised: Trajectory, index: int, otherwise: str) -> str:
    """Why a frame was left out: what was wrong first."""
    return trajectory.problems.get(index) or localised.problems.get(index) or otherwise
