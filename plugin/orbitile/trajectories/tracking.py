r"""Identity of orbitals along a trajectory: which orbital of a frame is which of the frame before.

Programs number orbitals by energy, give them any sign, and rotate degenerate ones as they please, so that lobes flip
and orbitals jump in a film. Here each frame gets an orthogonal matrix T, and C T are its orbitals in the order and with
the phases of the frame before.

**Measure.** The orbitals of the frame before are carried along: turned with the molecule onto the frame (least squares
over the atoms; W. Kabsch, Acta Cryst. A 1976, 32, 922), and expanded with the coefficients :math:`C_1` that they had in
the basis functions where these are now, with the overlap :math:`S_2`. There they are made orthonormal, the occupied
ones among themselves first, then the others, which give way to them, each set symmetrically (P.-O. Löwdin, J. Chem.
Phys. 1950, 18, 365):

.. math::  O = G^{-1/2}\, C_1^T S_2 C_2, \qquad G = C_1^T S_2 C_1

for a single set. For complete sets of orbitals O is orthogonal, however far the atoms have moved. The overlap in space
:math:`C_1^T S_{12} C_2` is not: it falls with the displacement of the sharpest functions, and core orbitals lose each
other first. `benchmarks/tracking_measures.py` compares the two.

**Assignment.** The permutation that maximises the sum of :math:`O^2` within a spin (H. W. Kuhn, Naval Res. Logist.
1955, 2, 83; SciPy's implementation). Orbitals of a frame that lie within `degeneracy` of each other in energy and are
equally occupied form a set: its members share their weight while the set is assigned, and are then rotated among
themselves to be as near as they can to their predecessors (orthogonal Procrustes problem; P. H. Schönemann,
Psychometrika 1966, 31, 1). A set of one gets its sign in this way.

**The first frame** has no predecessor. Where it has such sets that are none any more within a few frames, as the pi
orbitals of a molecule that is linear at first, they are turned to look as they do there.

**Confidence** of an orbital in a frame is the diagonal element of O T, 0 to 1: 1 where it did not change at all, about
0.7 where two orbitals mix half and half and its identity is a matter of taste.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..base.arrays import Reals
from ..base.errors import Cancelled, FieldError, FileChanged, FileError, OrbitileError
from ..fields.orbital import orbital_of
from ..model.trajectory import Trajectory
from ..model.wavefunction import Excitation, Orbitals, Spin, Wavefunction
from .matching import DEGENERACY, FrameMatch, Match, Mixing, Reference, first_step, step_to

_COUPLED = 0.1
"""Orbitals whose order changes have crossed where they have turned by less than this, in radian; else avoided it."""


@dataclass(frozen=True)
class Crossing:
    r"""Two orbitals that meet in energy.

    Orbitals of different symmetry may cross, those of the same do not (J. von Neumann and E. Wigner, Phys. Z. 1929, 30,
    467): they approach, mix, and part with their characters exchanged, as the two states of
    :math:`\begin{pmatrix} -kt & V \\ V & kt \end{pmatrix}` do, which turn into each other by 90 degrees while their gap
    passes 2V.

    - `avoided` is False: the order in energy of the two followed orbitals changes, and they mix by less than 0.1 radian
      on the way.
    - `avoided` is True: either they turn into each other by 45 degrees or more in consecutive frames, in one sense,
      with the minimum of their gap in between, and keep their order (frames are dense, and what is followed is the
      energy); or their order changes and they mix by 0.1 radian or more (the steps are too long to show the gap, and
      what is followed is the character). Mixing of less than 0.005 radian a frame is not seen.

    Differences in energy below the threshold of degeneracy count as none.

    Attributes
    ----------
    frame : int
        Where the gap is smallest among the frames around, from 0.
    position : float
        Where the energies are equal, between two frames, by linear interpolation; the frame where they stay apart.
    spin : str
        "alpha", or "beta".
    orbitals : (int, int)
        Numbers of the followed orbitals, from 0.
    energies : (float, float)
        In this frame, in hartree.
    overlap : float
        The lower confidence of the two in the frames around.
    mixing : float
        Angle by which they turn into each other on the way, in radian.
    avoided : bool
    """

    frame: int
    position: float
    spin: Spin
    orbitals: tuple[int, int]
    energies: tuple[float, float]
    overlap: float
    mixing: float
    avoided: bool

    def __str__(self) -> str:
        one, other = (number + 1 for number in self.orbitals)
        gap = abs(self.energies[0] - self.energies[1])
        return (
            f"frame {self.frame + 1}: orbitals {one} and {other} {self.spin} "
            f"{'avoid a crossing' if self.avoided else 'cross'}, gap {gap:.5f} hartree, overlap {self.overlap:.2f}"
        )


def crossings_of(matches: dict[int, FrameMatch], mixings: list[Mixing], degeneracy: float) -> tuple[Crossing, ...]:
    """Crossings of followed orbitals, from their matches frame by frame and from how they mix."""
    frames = list(matches)
    place = {frame: n for n, frame in enumerate(frames)}
    spins: list[Spin] = ["alpha"] if matches[frames[0]].beta is None else ["alpha", "beta"]
    found = []
    for spin in spins:
        of_spin = [both.of(spin) for both in matches.values()]
        energies = np.array([match.energies for match in of_spin])
        confidence = np.array([match.confidence for match in of_spin])
        passages = _passages([mixing for mixing in mixings if mixing.spin == spin], place)
        changes = _changes_of_order(energies, degeneracy)

        def crossing(
            pair: tuple[int, int],
            first: int,
            last: int,
            mixing: float,
            avoided: bool,
            spin: Spin = spin,
            energies: Reals = energies,
            confidence: Reals = confidence,
        ) -> Crossing:
            a, b = pair
            gaps = energies[first : last + 1, a] - energies[first : last + 1, b]
            at = first + int(np.argmin(np.abs(gaps)))
            share = gaps[0] / (gaps[0] - gaps[-1]) if gaps[0] * gaps[-1] < 0 else (at - first) / (last - first)
            position = frames[first] + float(share) * (frames[last] - frames[first])
            overlap = float(confidence[first + 1 : last + 1][:, [a, b]].min())
            pair_energies = float(energies[at, a]), float(energies[at, b])
            return Crossing(frames[at], position, spin, pair, pair_energies, overlap, mixing, avoided)

        seen = set()
        for pair, first, last in changes:
            near = [p for p in passages.get(pair, []) if p[0] <= last + 1 and p[1] >= first - 1]
            seen |= {(pair, p[0]) for p in near}
            mixing = max((abs(p[2]) for p in near), default=0.0)
            found.append(crossing(pair, first, last, mixing, mixing >= _COUPLED))
        for pair, all_of_pair in passages.items():
            for first, last, angle in all_of_pair:
                gap = np.abs(energies[first : last + 1, pair[0]] - energies[first : last + 1, pair[1]])
                within = 0 < int(np.argmin(gap)) < len(gap) - 1
                if abs(angle) >= np.pi / 4 and within and (pair, first) not in seen:
                    found.append(crossing(pair, first, last, abs(angle), True))
    return tuple(sorted(found, key=lambda one: (one.frame, one.spin, one.orbitals)))


def _passages(mixings: list[Mixing], place: dict[int, int]) -> dict[tuple[int, int], list[tuple[int, int, float]]]:
    """Runs of frames in which two orbitals turn into each other in one sense: from, to, angle; by pair."""
    by_pair: dict[tuple[int, int], list[tuple[int, float]]] = defaultdict(list)
    for mixing in mixings:
        by_pair[mixing.orbitals].append((place[mixing.frame], mixing.angle))
    passages: dict[tuple[int, int], list[tuple[int, int, float]]] = {}
    for pair, steps in by_pair.items():
        runs: list[tuple[int, int, float]] = []
        for at, angle in steps:
            if runs and at <= runs[-1][1] + 2 and angle * runs[-1][2] > 0:
                runs[-1] = runs[-1][0], at, runs[-1][2] + angle
            else:
                runs.append((at - 1, at, angle))
        passages[pair] = runs
    return passages


def _changes_of_order(energies: Reals, degeneracy: float) -> list[tuple[tuple[int, int], int, int]]:
    """Pairs whose order in energy changes: the pair, the last place before and the first one after."""
    n = energies.shape[1]
    order = np.zeros((n, n), np.int8)
    since = np.zeros((n, n), np.int64)
    changes = []
    for at, row in enumerate(energies):
        difference = row[:, None] - row
        now = np.where(np.abs(difference) > degeneracy, np.sign(difference), 0)
        changed = np.triu((now * order) < 0)
        changes += [((int(a), int(b)), int(since[a, b]), at) for a, b in zip(*np.nonzero(changed), strict=True)]
        clear = now != 0
        order[clear] = now[clear]
        since[clear] = at
    return changes


DOUBTFUL = 0.7
"""Confidence below which the identity of an orbital is a matter of taste: two mix half and half."""


@dataclass(frozen=True, eq=False)
class Tracking:
    """Identity of the orbitals of a trajectory.

    Attributes
    ----------
    trajectory : Trajectory
    matches : dict of int to FrameMatch
        By frame; frames that could not be read or followed are missing.
    crossings : tuple of Crossing
        In the order of frames.
    """

    trajectory: Trajectory
    matches: dict[int, FrameMatch]
    crossings: tuple[Crossing, ...]

    @property
    def frames(self) -> list[int]:
        """Frames that were followed, in order."""
        return list(self.matches)

    def followed(self, index: int) -> Wavefunction:
        """A frame with its orbitals in the order and with the phases of the first frame.

        Raises
        ------
        FieldError
            When there is no such frame, or it was left out.
        """
        wanted = self.trajectory.checked_index(index)
        if wanted not in self.matches:
            reason = self.trajectory.problems.get(wanted, "it was added after the trajectory was followed")
            raise FieldError(f"{self.trajectory.name}: frame {wanted + 1} was not followed: {reason}")
        return followed(self.trajectory[wanted], self.matches[wanted])

    @property
    def path(self) -> Trajectory:
        """The followed frames as a trajectory, one after the other: those that were left out are missing."""
        return Trajectory(_Followed(self), self.trajectory.kept)

    def field(self, name: str) -> str:
        """Name by which followed frames know an orbital that is named in the first frame: `homo` becomes `mo:5`.

        In later frames `homo` is the highest occupied orbital there, which may be another one. Names of other fields
        are returned as they are.
        """
        return pinned(self._first, name)

    def energies(self, spin: Spin = "alpha") -> Reals:
        """Energies of the followed orbitals in hartree, shape (frames, orbitals)."""
        return np.array([self.matches[frame].of(spin).energies for frame in self.matches])

    def confidence(self, spin: Spin = "alpha") -> Reals:
        """Confidence, shape (frames, orbitals); 1 in the first frame."""
        return np.array([self.matches[frame].of(spin).confidence for frame in self.matches])

    def occupations(self, spin: Spin = "alpha") -> Reals:
        """Occupations of the followed orbitals, shape (frames, orbitals)."""
        return np.array([self.matches[frame].of(spin).occupations for frame in self.matches])

    @property
    def has_spins(self) -> bool:
        """Whether alpha and beta electrons have orbitals of their own."""
        return next(iter(self.matches.values())).beta is not None

    @cached_property
    def _first(self) -> Wavefunction:
        return self.followed(self.frames[0])


@dataclass(frozen=True, eq=False)
class _Followed:
    """Followed frames: `Frames` of a `Trajectory`."""

    tracking: Tracking

    @property
    def name(self) -> str:
        return self.tracking.trajectory.name

    def __len__(self) -> int:
        return len(self.tracking.matches)

    def read(self, index: int) -> Wavefunction:
        return self.tracking.followed(self.tracking.frames[index])


def pinned(first: Wavefunction, name: str) -> str:
    """Name by which followed frames know an orbital that is named in the first one; see `Tracking.field`."""
    orbital = orbital_of(first, name.strip())
    return name if orbital is None else orbital.name


def track(
    trajectory: Trajectory,
    *,
    degeneracy: float = DEGENERACY,
    progress: Callable[[float], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    report: Callable[[str], None] | None = None,
) -> Tracking:
    """Follow the orbitals of a trajectory from the first frame to the last one.

    Parameters
    ----------
    trajectory
        Frames of the same atoms and basis set.
    degeneracy
        Energy in hartree within which orbitals are one set, free to rotate; 0 for none.
    progress
        Called with the share that is done.
    cancelled
        Asked between frames; when it says True the work stops.
    report
        Told in one line of each frame that is left out.

    Returns
    -------
    Tracking
        Memory while it is made: two frames and the overlap of the basis functions of one; of each frame a few numbers
        an orbital stay.

    Raises
    ------
    OrbitileError
        When no frame can be read.
    Cancelled
        When `cancelled` said so.
    """
    frames = FollowedFrames(trajectory, degeneracy)
    frames.reach(len(trajectory) - 1, progress, cancelled, report)
    if not frames.matches:
        raise OrbitileError(f"{trajectory.name}: no frame can be read: {next(iter(trajectory.problems.values()), '')}")
    return Tracking(trajectory, frames.matches, crossings_of(frames.matches, frames.mixings, degeneracy))


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

    def geometries(self) -> Reals:
        """Positions of all frames, whose orbitals need not be known for them."""
        return self._trajectory.geometries()


class FollowedFrames(FramesOfAnother):
    """Frames with followed orbitals: `Frames` of a `Trajectory`.

    Parameters
    ----------
    trajectory, degeneracy
        As for `track`.

    Attributes
    ----------
    matches : dict of int to FrameMatch
        Of the frames that were followed so far, in order.
    mixings : list of Mixing
        Orbitals that have turned into each other so far.
    """

    def __init__(self, trajectory: Trajectory, degeneracy: float = DEGENERACY) -> None:
        super().__init__(trajectory)
        self.matches: dict[int, FrameMatch] = {}
        self.mixings: list[Mixing] = []
        self._degeneracy = degeneracy
        self._reached = -1
        self._reference: Reference | None = None
        self._lock = threading.Lock()

    def reach(
        self,
        index: int,
        progress: Callable[[float], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        """Follow the orbitals as far as a frame; where it was stopped it goes on the next time.

        Parameters are those of `track`.

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
                    if report is not None:
                        report(f"frame {at + 1} left out: {error}")
                    if at == len(self) - 1:
                        return  # it may be completed yet
                else:
                    self.matches[at], self._reference = step.match, step.reference
                    self.mixings += step.mixings
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
        match = self.matches.get(index)
        return None if match is None else float(match.of(spin).confidence[orbital])

    def read(self, index: int) -> Wavefunction:
        """Read one frame, follow the orbitals as far as that, and give it with them."""
        self.reach(index)
        wavefunction = self._trajectory[index]
        if index not in self.matches:
            reason = self._trajectory.problems.get(index, "it differs from the frame before")
            raise FileError(f"{self.name}: the orbitals of frame {index + 1} cannot be followed: {reason}")
        return followed(wavefunction, self.matches[index])


def followed(wavefunction: Wavefunction, match: FrameMatch) -> Wavefunction:
    """A wavefunction with its orbitals in the order and with the phases of the frame that it was followed from.

    All fields work on it: orbital N of it is orbital N of the first frame. Excitations follow their orbitals.
    """
    parts = [_transformed(wavefunction.alpha, match.alpha)]
    if wavefunction.beta is not None and match.beta is not None:
        parts.append(_transformed(wavefunction.beta, match.beta))
    rotations = [match.alpha.rotation, *([] if match.beta is None else [match.beta.rotation])]
    return replace(
        wavefunction,
        alpha=parts[0],
        beta=parts[1] if len(parts) > 1 else None,
        excitations=tuple(_excitation(excitation, rotations) for excitation in wavefunction.excitations)
        if all(rotation.shape[0] == rotation.shape[1] for rotation in rotations)
        else (),
    )


def _transformed(orbitals: Orbitals, match: Match) -> Orbitals:
    return Orbitals(
        orbitals.coefficients @ match.rotation,
        match.occupations,
        match.energies,
        tuple(orbitals.irreps[n] for n in match.order),
    )


def _excitation(one: Excitation, rotations: list[Any]) -> Excitation:
    """Amplitudes between followed orbitals: T^T A T, spin by spin."""
    from scipy.sparse import coo_matrix

    parts = []
    for spin, rotation in enumerate(rotations):
        chosen = one.spins == spin
        entries = (one.amplitudes[chosen], (one.source[chosen], one.target[chosen]))
        turned = (rotation.T @ coo_matrix(entries, shape=(rotation.shape[0],) * 2).tocsr() @ rotation).tocoo()
        parts.append((turned.row, turned.col, np.full(turned.nnz, spin), turned.data))
    source, target, spins, amplitudes = (np.concatenate(column) for column in zip(*parts, strict=True))
    return replace(one, source=source, target=target, spins=spins, amplitudes=amplitudes)
