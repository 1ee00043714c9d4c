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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import Cancelled, FieldError, FileChanged, FileError, OrbitileError
from ..fields.orbital import orbital_of
from ..gaussians.localised.localisation import shares_on_atoms
from ..gaussians.overlap import inverse_root, overlap_matrix, own_overlap
from ..gaussians.rotation import rotation_onto, turned_functions
from ..model.trajectory import Trajectory
from ..model.wavefunction import Excitation, Orbitals, Spin, Wavefunction, same_basis

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DEGENERACY = 1e-3
"""Orbitals are one set within this many hartree: about kT at room temperature, and above the digits of any log."""

_OCCUPIED = 0.02
"""Orbitals with more electrons than this are occupied, where those of one frame are made orthonormal in the next."""

_WHOLLY = 0.97
"""Share of a localised orbital on an atom from which on it is free to turn into others there: localisation hardly knows
between them."""

_EQUAL = 2e-3
"""Shares on an atom that are equal: geometries of files are linear to some digits."""

_CORE = -4.0
"""Energy in hartree below which orbitals are those of cores."""

_AHEAD = 16
"""Frames that are looked at to see how orbitals of the first one go on."""

_NEIGHBOURS = 0.15
"""Mixing is noted of orbitals that are closer than this in energy, in hartree."""


@dataclass(frozen=True, eq=False)
class Match:
    """Orbitals of one spin in one frame, as followed from the first frame.

    Attributes
    ----------
    order : ndarray of int, shape (n_followed,)
        Orbital of the file, from 0, that each followed orbital is, or is most of.
    rotation : csr_matrix, shape (n_in_file, n_followed)
        Orthonormal columns T: followed orbitals are C T. One entry of 1 or -1 a column but for degenerate sets.
    confidence : ndarray, shape (n_followed,)
        Overlap with the same orbital in the frame before, 0 to 1.
    energies, occupations : ndarray, shape (n_followed,)
        Of the followed orbitals, in hartree and electrons; of rotated ones the expectation values.
    """

    order: NDArray[np.intp]
    rotation: csr_matrix
    confidence: Reals
    energies: Reals
    occupations: Reals


@dataclass(frozen=True, eq=False)
class FrameMatch:
    """Both spins of a frame; `beta` is None where they share orbitals."""

    alpha: Match
    beta: Match | None = None

    def of(self, spin: Spin) -> Match:
        """The match of one spin."""
        return self.beta if spin == "beta" and self.beta is not None else self.alpha


@dataclass(frozen=True, eq=False)
class Reference:
    """What is kept of a frame to compare the next one with: the wavefunction, and its coefficients as followed."""

    wavefunction: Wavefunction
    coefficients: dict[Spin, Reals]
    occupations: dict[Spin, Reals]

    @property
    def n_followed(self) -> dict[Spin, int]:
        """Number of orbitals to find again: that of the first frame, where the file of this one may hold more."""
        return {spin: coefficients.shape[1] for spin, coefficients in self.coefficients.items()}


@dataclass(frozen=True)
class Mixing:
    """Two followed orbitals have turned into each other between a frame and the one before."""

    frame: int
    spin: Spin
    orbitals: tuple[int, int]
    angle: float


@dataclass(frozen=True, eq=False)
class Step:
    """What following a frame gives: its match, what has mixed, and the reference that the next one is compared with."""

    match: FrameMatch
    mixings: list[Mixing]
    reference: Reference


def step_to(before: Reference | None, index: int, wavefunction: Wavefunction, degeneracy: float) -> Step:
    """Follow the orbitals of a frame from the one before, or begin with it.

    Raises
    ------
    OrbitileError
        When it cannot be compared with the one before: says why.
    """
    reason = "" if before is None else mismatch(before.wavefunction, wavefunction, before.n_followed)
    if reason:
        raise OrbitileError(reason)
    matches: dict[Spin, Match] = {}
    mixed: list[Mixing] = []
    if before is None:
        matches = {spin: _as_it_is(orbitals) for spin, orbitals in _sets(wavefunction)}
    else:
        overlaps = _overlaps(before, wavefunction)
        for spin, orbitals in _sets(wavefunction):
            match = matches[spin] = _matched(
                orbitals, overlaps[spin], _sets_free_to_turn(wavefunction, spin, degeneracy)
            )
            if wavefunction.localised:
                match = matches[spin] = _without_turned_energies(match)
            mixed += _noted(index, spin, overlaps[spin] @ match.rotation, match.energies)
    return _step(wavefunction, matches, mixed)


def _step(wavefunction: Wavefunction, matches: dict[Spin, Match], mixings: list[Mixing]) -> Step:
    reference = Reference(
        wavefunction,
        {spin: orbitals.coefficients @ matches[spin].rotation for spin, orbitals in _sets(wavefunction)},
        {spin: match.occupations for spin, match in matches.items()},
    )
    return Step(FrameMatch(matches["alpha"], matches.get("beta")), mixings, reference)


def first_step(index: int, first: Wavefunction, later: Iterable[Wavefunction], degeneracy: float) -> Step:
    """Begin with a frame: as it is, but for orbitals that are free to turn there and no longer in frames after it.

    Programs turn those as they please, such as the two pi orbitals of a molecule that is linear at first. They are
    turned to look as they do where the molecule is bent.

    Parameters
    ----------
    index, first
        The frame.
    later
        Frames after it, in order; a few of them are looked at, where that is needed.
    degeneracy
        As for `step_to`.
    """
    begin = step_to(None, index, first, degeneracy)
    waiting = {
        (spin, tuple(members.tolist()))
        for spin, _ in _sets(first)
        for members in _sets_free_to_turn(first, spin, degeneracy)
        if len(members) > 1 and _is_of_valence(first, spin, members)
    }
    together, split, chain, reference = waiting, set[tuple[Spin, tuple[int, ...]]](), [first], begin.reference
    for now in islice(later if waiting else (), _AHEAD):
        try:
            step = step_to(reference, index, now, degeneracy)
        except OrbitileError:  # it is left out
            break
        chain.append(now)
        reference = step.reference
        free = {spin: _sets_free_to_turn(now, spin, degeneracy) for spin, _ in _sets(now)}
        for spin, members in tuple(together):
            partners = np.flatnonzero(np.abs(step.match.of(spin).rotation[:, list(members)]).sum(axis=1))
            if not any(set(partners.tolist()) <= set(one.tolist()) for one in free[spin]):
                split.add((spin, members))
        together = waiting - split
        if not together:
            break
    if not split:
        return begin
    step = step_to(None, index, chain[-1], degeneracy)
    for before in reversed(chain[:-1]):
        step = step_to(step.reference, index, before, degeneracy)
    turns = {spin: np.eye(len(orbitals)) for spin, orbitals in _sets(first)}
    for spin, members in split:
        turn = step.match.of(spin).rotation.toarray()[list(members)]
        columns = np.flatnonzero((turn**2).sum(axis=0) > 0.5)
        if len(columns) == len(members):
            turns[spin][np.ix_(members, members)] = _nearest_to_one(turn[:, columns])
    return _turned(begin, first, turns)


def _is_of_valence(wavefunction: Wavefunction, spin: Spin, members: NDArray[np.intp]) -> bool:
    """Whether it is worth a look how orbitals that are free to turn go on: not those of cores, or of one atom."""
    if wavefunction.localised:
        return bool(shares_on_atoms(wavefunction, spin)[:, members].max() < _WHOLLY)
    return bool(wavefunction.orbitals(spin).energies[members].min() > _CORE)


def _nearest_to_one(turn: Reals) -> Reals:
    """The same columns in the order, and with the signs, that are nearest to those of the unit matrix."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(-np.abs(turn))
    ordered = np.empty_like(turn)
    ordered[:, rows] = turn[:, columns]
    return ordered * np.where(np.diag(ordered) < 0, -1.0, 1.0)


def _turned(step: Step, wavefunction: Wavefunction, turns: Mapping[Spin, Reals]) -> Step:
    """A first step whose orbitals are turned among each other."""
    from scipy.sparse import csr_matrix

    matches: dict[Spin, Match] = {}
    for spin, orbitals in _sets(wavefunction):
        rotation = csr_matrix(turns[spin])
        squares = rotation.multiply(rotation).T
        energies = squares @ orbitals.energies if np.all(np.isfinite(orbitals.energies)) else orbitals.energies
        n = len(orbitals)
        match = Match(np.arange(n), rotation, np.ones(n), energies, squares @ orbitals.occupations)
        matches[spin] = _without_turned_energies(match) if wavefunction.localised else match
    return _step(wavefunction, matches, step.mixings)


def with_phases_of(like: Wavefunction, wavefunction: Wavefunction) -> Wavefunction:
    """Orbitals in their own order, with the phases of others and degenerate ones turned to look as those do.

    Parameters
    ----------
    like
        A wavefunction of the same atoms where they are, in whatever basis set.
    wavefunction
        What is changed.

    Returns
    -------
    Wavefunction
    """
    parts: list[Orbitals] = []
    across = overlap_matrix(like, wavefunction)
    for spin, orbitals in _sets(wavefunction):
        overlaps = like.orbitals(spin).coefficients.T @ (across @ orbitals.coefficients)
        turn = np.zeros((len(orbitals), len(orbitals)))
        for members in _sets_free_to_turn(wavefunction, spin, DEGENERACY):
            weights = (overlaps[:, members] ** 2).sum(axis=1)
            nearest = np.sort(np.argsort(-weights, kind="stable")[: len(members)])
            left, _, right = np.linalg.svd(overlaps[np.ix_(nearest, members)].T, full_matrices=False)
            turned = left @ right
            if len(nearest) < len(members):  # there are fewer orbitals than these
                turned = np.eye(len(members))
            turn[np.ix_(members, members)] = turned
        energies, occupations = (turn**2).T @ orbitals.energies, (turn**2).T @ orbitals.occupations
        parts.append(Orbitals(orbitals.coefficients @ turn, occupations, energies, orbitals.irreps))
    return replace(wavefunction, alpha=parts[0], beta=parts[1] if len(parts) > 1 else None)


def _sets(wavefunction: Wavefunction) -> list[tuple[Spin, Orbitals]]:
    return list(zip(wavefunction.spins, wavefunction.sets, strict=True))


def mismatch(before: Wavefunction, now: Wavefunction, n_followed: Mapping[Spin, int] | None = None) -> str:
    """Why a frame cannot be compared with the one before; empty where it can.

    `n_followed` orbitals of each spin have to be found in it; without it as many as the one before has.
    """
    if not np.array_equal(before.atomic_numbers, now.atomic_numbers):
        return "its atoms differ from those before, or are in another order"
    if not same_basis(before.shells, now.shells):
        return "its basis set differs from the one before"
    one, other = _sets(before), _sets(now)
    if len(one) != len(other):
        return "it has one set of orbitals for both spins where there were two, or the other way round"
    for (spin, mine), (_, theirs) in zip(one, other, strict=True):
        expected = len(mine) if n_followed is None else n_followed[spin]
        if now.localised and len(theirs) != expected:  # these are all that are occupied, or valence orbitals
            return f"it has {len(theirs)} localised {spin} orbitals instead of {expected}: other electrons"
        if len(theirs) < expected:
            return f"it has {len(theirs)} {spin} orbitals, {expected} expected"
    return ""


def _overlaps(before: Reference, now: Wavefunction) -> dict[Spin, Reals]:
    """Overlaps of the orbitals before, carried along and made orthonormal, with those now: (n_followed, n_in_file)."""
    turn = turned_functions(now, rotation_onto(before.wavefunction, now.positions))
    matrix = own_overlap(now)
    found: dict[Spin, Reals] = {}
    for spin, orbitals in _sets(now):
        carried = turn @ before.coefficients[spin]
        image = matrix @ carried
        norms = np.sqrt(np.einsum("mi,mi->i", carried, image))
        carried, image = carried / norms, image / norms
        gram, overlaps = carried.T @ image, image.T @ orbitals.coefficients
        full = before.occupations[spin] > _OCCUPIED
        occupied = np.linalg.solve(gram[np.ix_(full, full)], np.hstack([gram[np.ix_(full, ~full)], overlaps[full]]))
        share, theirs = np.split(gram[np.ix_(~full, full)] @ occupied, [np.count_nonzero(~full)], axis=1)
        found[spin] = np.empty_like(overlaps)
        found[spin][full] = inverse_root(gram[np.ix_(full, full)]) @ overlaps[full]
        found[spin][~full] = inverse_root(gram[np.ix_(~full, ~full)] - share) @ (overlaps[~full] - theirs)
    return found


def _as_it_is(orbitals: Orbitals) -> Match:
    from scipy.sparse import identity

    n = len(orbitals)
    return Match(np.arange(n), identity(n, format="csr"), np.ones(n), orbitals.energies, orbitals.occupations)


def _matched(orbitals: Orbitals, overlaps: Reals, sets: list[NDArray[np.intp]]) -> Match:
    """Assignment and rotation of the orbitals of a frame.

    Parameters
    ----------
    overlaps : ndarray, shape (n_followed, n_in_file)
        With the followed orbitals of the frame before.
    sets : list of ndarray
        Orbitals that are free to turn into each other; all are in one, most of them alone.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import csr_matrix

    n_followed, n = overlaps.shape
    weights = overlaps**2
    for members in (members for members in sets if len(members) > 1):
        weights[:, members] = weights[:, members].sum(axis=1, keepdims=True)
    slots = np.empty(n, np.intp)
    slots.fill(-1)
    rows, columns = linear_sum_assignment(-weights)
    slots[columns] = rows
    rotation = np.zeros((n, n_followed))
    order = np.empty(n_followed, np.intp)
    single = np.array([members[0] for members in sets if len(members) == 1], np.intp)
    single = single[slots[single] >= 0]
    rotation[single, slots[single]] = np.where(overlaps[slots[single], single] < 0, -1.0, 1.0)
    order[slots[single]] = single
    for members in (members for members in sets if len(members) > 1):
        mine = np.sort(slots[members][slots[members] >= 0])
        if not len(mine):
            continue
        left, _, right = np.linalg.svd(overlaps[np.ix_(mine, members)].T, full_matrices=False)
        turn = left @ right
        rotation[np.ix_(members, mine)] = turn
        at, of = linear_sum_assignment(-(turn**2))
        order[mine[of]] = members[at]
    confidence = np.einsum("ij,ji->i", overlaps, rotation)
    sparse = csr_matrix(rotation)
    squares = sparse.multiply(sparse).T
    return Match(
        order,
        sparse,
        np.clip(confidence, 0, 1),
        squares @ orbitals.energies if np.all(np.isfinite(orbitals.energies)) else orbitals.energies[order],
        squares @ orbitals.occupations,
    )


def _sets_free_to_turn(wavefunction: Wavefunction, spin: Spin, degeneracy: float) -> list[NDArray[np.intp]]:
    """Orbitals that may be turned among each other: degenerate ones; of localised ones those of one atom."""
    orbitals = wavefunction.orbitals(spin)
    if wavefunction.natural:
        return [np.array([i]) for i in range(len(orbitals))]
    return _of_one_atom(wavefunction, spin) if wavefunction.localised else _degenerate(orbitals, degeneracy)


def _of_one_atom(wavefunction: Wavefunction, spin: Spin) -> list[NDArray[np.intp]]:
    """Sets of localised orbitals on one atom and equally occupied; those on several atoms are sets of one."""
    orbitals, shares = wavefunction.orbitals(spin), shares_on_atoms(wavefunction, spin)
    owner = np.where(shares.max(axis=0) > _WHOLLY, np.argmax(shares, axis=0), -1 - np.arange(len(orbitals)))
    for one, other in _indifferent(wavefunction, spin, shares, np.flatnonzero(owner < 0)):
        owner[other] = owner[one]
    keys = np.stack([owner, np.round(orbitals.occupations)])
    return [np.flatnonzero((keys == key[:, None]).all(axis=0)) for key in np.unique(keys, axis=1).T]


def _indifferent(
    wavefunction: Wavefunction, spin: Spin, shares: Reals, among: NDArray[np.intp]
) -> list[tuple[int, int]]:
    """Pairs of localised orbitals that would be as well localised however they were turned: pi pairs along an axis.

    They have equal shares on all atoms, and keep them when they are turned by 45 degrees.
    """
    orbitals, left, pairs = wavefunction.orbitals(spin), list(among.tolist()), []
    while left:
        one = left.pop(0)
        same = (n for n in left if np.abs(shares[:, n] - shares[:, one]).max() < _EQUAL)
        if (other := next(same, None)) is not None and orbitals.occupations[one] == orbitals.occupations[other]:
            left.remove(other)
            pairs.append((one, other))
    if not pairs:
        return []
    turned = orbitals.coefficients.copy()
    for one, other in pairs:
        plus, minus = turned[:, one] + turned[:, other], turned[:, one] - turned[:, other]
        turned[:, one], turned[:, other] = plus / np.sqrt(2), minus / np.sqrt(2)
    changed = replace(orbitals, coefficients=turned)
    is_beta = spin == "beta" and wavefunction.beta is not None
    other_way = replace(wavefunction, beta=changed) if is_beta else replace(wavefunction, alpha=changed)
    again = shares_on_atoms(other_way, spin)
    return [(a, b) for a, b in pairs if np.abs(again[:, [a, b]] - shares[:, [a, b]]).max() < _EQUAL]


def _without_turned_energies(match: Match) -> Match:
    """With NaN for the energies of orbitals that were turned: localised ones have Fock matrix elements in between."""
    turned = np.diff(match.rotation.tocsc().indptr) > 1
    return replace(match, energies=np.where(turned, np.nan, match.energies))


def _degenerate(orbitals: Orbitals, degeneracy: float) -> list[NDArray[np.intp]]:
    """Sets of orbitals within an energy of each other and equally occupied; most are sets of one."""
    energies, occupations = orbitals.energies, orbitals.occupations
    if not np.all(np.isfinite(energies)) or degeneracy <= 0 or not np.any(energies):
        return [np.array([i]) for i in range(len(orbitals))]
    sets: list[NDArray[np.intp]] = []
    for occupation in np.unique(np.round(occupations, 6)):
        members = np.flatnonzero(np.round(occupations, 6) == occupation)
        waiting = [members[np.argsort(energies[members], kind="stable")]]
        while waiting:
            one = waiting.pop()
            if energies[one[-1]] - energies[one[0]] <= degeneracy:
                sets.append(one)
            else:
                cut = int(np.argmax(np.diff(energies[one]))) + 1
                waiting += [one[:cut], one[cut:]]
    return sets


_MIXING = 0.005
"""Rotation of two orbitals into each other between neighbouring frames, in radian, from which on it is noted."""


def _noted(frame: int, spin: Spin, overlaps: Reals, energies: Reals) -> list[Mixing]:
    """Pairs that have turned into each other since the frame before: the antisymmetric part of their overlaps."""
    turned = np.triu(overlaps - overlaps.T, 1) / 2
    one, other = np.nonzero(np.abs(turned) > _MIXING)
    near = np.abs(energies[one] - energies[other]) < _NEIGHBOURS
    if not np.any(energies):  # without energies there are no crossings
        return []
    return [
        Mixing(frame, spin, (int(a), int(b)), float(np.arcsin(np.clip(turned[a, b], -1, 1))))
        for a, b in zip(one[near], other[near], strict=True)
    ]


# ---- crossings

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
