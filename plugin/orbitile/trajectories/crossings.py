"""Crossings of orbitals along a trajectory."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from ..model.wavefunction import Spin
from .matching import Floats, FrameMatch, Mixing

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
        of_spin = [both.beta if spin == "beta" and both.beta is not None else both.alpha for both in matches.values()]
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
            energies: Floats = energies,
            confidence: Floats = confidence,
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


def _changes_of_order(energies: Floats, degeneracy: float) -> list[tuple[tuple[int, int], int, int]]:
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
