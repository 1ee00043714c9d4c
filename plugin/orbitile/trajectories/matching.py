"""Orbitals of one frame matched with those of the frame before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..gaussians.localised.localisation import shares_on_atoms
from ..gaussians.overlap import inverse_root, overlap_matrix, own_overlap
from ..gaussians.rotation import rotation_onto, turned_functions
from ..model.wavefunction import Orbitals, Spin, Wavefunction, same_basis

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
        return "its atoms are others than those before, or in another order"
    if not same_basis(before.shells, now.shells):
        return "its basis set is another than that before"
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


# Frame by frame ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mixing:
    """Two followed orbitals have turned into each other between a frame and the one before."""

    frame: int
    spin: Spin
    orbitals: tuple[int, int]
    angle: float


# Crossings --------------------------------------------------------------------------------------------------------


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
