r"""Shares of atoms in points of space: the fuzzy cells of A. D. Becke (J. Chem. Phys. 1988, 88, 2547).

For two atoms i and j, at distances r_i and r_j of a point and R_ij of each other,

.. math::  \mu_{ij} = (r_i - r_j) / R_{ij}, \qquad \nu_{ij} = \mu_{ij} + a_{ij} (1 - \mu_{ij}^2), \qquad
    s(\nu) = \tfrac{1}{2} [1 - p(p(p(\nu)))], \quad p(\nu) = \tfrac{1}{2} \nu (3 - \nu^2)

where a shifts the border between atoms of different size. The share of i is its cell function
:math:`P_i = \prod_{j \ne i} s(\nu_{ij})` in the sum of all.

No factor exceeds 1, so an atom whose product has fallen below 1e-17 of the sum so far needs no more of them, and where
this is the atom whose share is wanted, nothing more is needed. Atoms are taken from the nearest one on, and meet others
in this order too; a factor of one atom gives that of the other, since s(nu) + s(-nu) = 1.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ._taichi import number, quick, ti, with_vectors
from .arrays import aligned, array_of
from .devices import probe
from .launching import Checkpoint, idle, launch, pace_of, sent, turns_of
from .target import Target

LANES = 16
"""Points of a block: a CPU takes them at once."""

NEGLIGIBLE = 1e-17
"""Part of the sum of cell functions that none is needed to better than, unless another is given."""

_SINGLE = 1e-8
"""Negligible part from which on single precision is enough, whose errors add up to some 1e-6 of a share."""

_LOOKS = 8
"""Atoms after which it is looked whether more are needed."""

_FACTORS = 0.15
"""Share of the pairs of atoms that are looked at for a point, about, for an estimate of the work."""

_SLOTS = {"cpu": 256, "cuda": 1 << 16, "vulkan": 1 << 16}
"""Points, or blocks of them on a CPU, that are done at once; each keeps something for each atom."""

_KEPT = 1 << 24
"""Atoms times points for which something is kept, at most: 20 bytes each."""

_AT_ONCE = 1 << 19
"""Distances that NumPy holds at once."""


def becke_shares(
    positions: np.ndarray,
    shifts: np.ndarray,
    offsets: Sequence[np.ndarray],
    kind: np.ndarray,
    target: Target,
    checkpoint: Checkpoint | None = None,
    negligible: float = NEGLIGIBLE,
) -> list[np.ndarray]:
    """Share of each atom in the points about it.

    Parameters
    ----------
    positions : ndarray of float64, shape (n_atoms, 3)
        In bohr; no two atoms at one place. Memory is 20 bytes for each pair of atoms, 8 for each point, and some
        300 MiB at most.
    shifts : ndarray of float64, shape (n_atoms, n_atoms)
        a_ij, antisymmetric and within -1/2 ... 1/2.
    offsets : sequence of ndarray of float64, shape (n_points, 3)
        Points about an atom of each kind, relative to it, in bohr. Points that follow one another should be close.
    kind : ndarray of int, shape (n_atoms,)
        Kind of each atom.
    target
        The device of the current session. All is computed in double precision, where the device has none by NumPy;
        in single precision where 1e-8 or more is negligible.
    checkpoint
        Called some thirty times a second with the share that is done, between pieces of the work; what it raises ends
        it. Without one all is done at once.

    negligible
        Part of the sum of cell functions that none is needed to better than, and that no factor of an atom which is
        left out is farther from 1 than.

    Returns
    -------
    list of ndarray of float64, shape (n_points,)
        For each atom. Within 1e-15, or what is negligible.
    """
    apart = np.linalg.norm(positions[:, None] - positions, axis=2)
    nearest = np.argsort(apart, axis=1, kind="stable").astype(np.int32)
    inverse = np.divide(1.0, apart, out=np.zeros_like(apart), where=apart > 0)
    if not probe(target.device).double:
        return [
            _on_host(
                positions[atom] + offsets[kind[atom]], positions, inverse, shifts, nearest[atom], checkpoint, negligible
            )
            for atom in range(len(positions))
        ]
    dtype = np.dtype(np.float32 if negligible >= _SINGLE else np.float64)
    closer = _closer(negligible, float(np.abs(shifts).max(initial=0.0)))
    blocks = [-(-len(some) // LANES) for some in offsets]
    first_block = np.concatenate([[0], np.cumsum(blocks)])
    padded = np.zeros((int(first_block[-1]), LANES, 3), dtype)
    for some, first in zip(offsets, first_block, strict=False):
        padded.reshape(-1, 3)[first * LANES : first * LANES + len(some)] = some
    n_tasks = np.array(blocks)[kind]
    atom = np.repeat(np.arange(len(positions), dtype=np.int32), n_tasks)
    before = np.cumsum(n_tasks) - n_tasks
    block = (np.arange(len(atom)) + np.repeat(first_block[:-1][kind] - before, n_tasks)).astype(np.int32)
    out = aligned((len(atom), LANES), dtype)
    in_lanes = padded.reshape(-1, 3)
    if target.on_host:
        in_lanes = aligned((len(padded), 3, LANES), dtype)
        in_lanes[...] = padded.transpose(0, 2, 1)
    kernel = _kernel(target, dtype)
    given = {"offset": in_lanes, "position": positions, "inverse": inverse, "shift": shifts}
    shared = {name: sent(np.ascontiguousarray(array, dtype), target) for name, array in given.items()}
    shared["nearest"] = sent(nearest, target)
    together = LANES if target.on_host else 1
    slots = min(_SLOTS[target.device], 1 + _KEPT // (together * len(positions)))
    kept = _kept(slots * len(positions), target, dtype)

    def piece(first: int, last: int) -> None:
        some = slice(first, last)
        there = out[some] if target.on_host else out[some].reshape(-1)
        tasks = {"n_blocks": last - first, "slots": slots, "atom": atom[some], "block": block[some]}
        tasks |= {"negligible": negligible, "closer": closer}
        launch(kernel, n_atoms=len(positions), **tasks, **shared, **kept, out=there)

    work = np.full(len(atom), LANES * _FACTORS * len(positions) ** 2)
    pace_of(1 << 22, "shares of atoms", target).run(work, piece, checkpoint)
    ends = (before * LANES).tolist()
    return [out.reshape(-1)[end : end + len(offsets[k])] for end, k in zip(ends, kind, strict=True)]


def _kept(n: int, target: Target, dtype: "np.dtype[Any]") -> dict[str, Any]:
    """Room for what tasks keep; on a CPU of NumPy, since what the compiler gives back there it does not use again."""
    if target.on_host:
        room = {name: aligned((n, LANES), dtype) for name in ("distance", "cell")}
        return {**room, "through": np.empty(n, np.int32)}
    real = number(dtype)
    return {"distance": array_of(real, n), "cell": array_of(real, n), "through": array_of(ti.i32, n)}


def _closer(negligible: float, largest_shift: float) -> float:
    """Share of its distance from the closest atom that another has within which no factor of that one is missed.

    At a distance r from the closest atom, mu of one that is R away from it is no more than 2 r / R above -1. From there
    nu is at most (1 + 2 |a|) times as far, and each of the polynomials makes 3/2 of the square of a distance d from -1,
    so that s falls short of 1 by 27/32 * 81/8 * d^8 = 8.54 d^8 at most.
    """
    return (negligible / 8.55) ** (1 / 8) / (2 * (1 + 2 * largest_shift))


def _element(target: Target, dtype: "np.dtype[Any]") -> object:
    """Type of what a task computes: a block of numbers on a CPU, a number on a GPU."""
    return ti.types.vector(LANES, number(dtype)) if target.on_host else number(dtype)


@lru_cache
def _kernel(target: Target, dtype: "np.dtype[Any]") -> object:
    vectors = target.on_host
    points, turns = 1 if vectors else LANES, turns_of(target, together=1)
    L, real, ndarray = _element(target, dtype), number(dtype), ti.types.ndarray
    smallest = float(np.finfo(dtype).tiny)
    I1, I2, F2, L1, L2 = ndarray(ti.i32, 1), ndarray(ti.i32, 2), ndarray(real, 2), ndarray(L, 1), ndarray(L, 2)

    @ti.func
    def any_above(value: ti.template(), limit: ti.template()):
        if ti.static(vectors):
            above = ti.cast(value > limit, ti.i32)  # joined by "or", of which LLVM makes a few instructions
            found = 0
            for lane in ti.static(range(LANES)):
                found |= above[lane]
            return found != 0
        return value > limit

    @ti.func
    def largest_of(value: ti.template()):
        if ti.static(vectors):
            return value.max()
        return value

    @ti.func
    def distance_from(i: ti.i32, x: ti.template(), y: ti.template(), z: ti.template(), position: ti.template()):
        dx, dy, dz = x - position[i, 0], y - position[i, 1], z - position[i, 2]
        return ti.sqrt(dx * dx + dy * dy + dz * dz)

    @ti.func
    def kept_at(atom: ti.i32, n_atoms: ti.i32, slot: ti.i32, slots: ti.i32):
        """Where numbers of an atom are kept: threads of a GPU that run together should read side by side."""
        if ti.static(vectors):
            return slot * n_atoms + atom
        return atom * slots + slot

    @ti.kernel
    def kernel(
        n_blocks: ti.i32,
        slots: ti.i32,
        n_atoms: ti.i32,
        negligible: real,  # part of the sum of cell functions
        closer: real,  # distance of the closest atom as a share of that between atoms, below which they do not meet
        atom: I1,  # (blocks) atom whose points they are
        block: I1,  # (blocks) row of offsets
        offset: L2,  # (rows, 3) bohr
        position: F2,  # (atoms, 3) bohr
        inverse: F2,  # (atoms, atoms) 1 / bohr
        shift: F2,  # (atoms, atoms)
        nearest: I2,  # (atoms, atoms) atoms by their distance from one
        distance: L1,  # kept: from the atoms, in bohr
        cell: L1,  # kept: cell functions as far as they are known
        through: ti.types.ndarray(ti.i32, 1),  # kept: how many atoms an atom has met, from the nearest one on
        out: L1,
    ):
        for turn in range(slots * turns):
            if idle(turn, turns):
                continue
            slot = turn // turns
            index = slot
            while index < n_blocks * points:
                owner = atom[index // points]
                row = block[index // points] * points + index % points
                x = offset[row, 0] + position[owner, 0]
                y = offset[row, 1] + position[owner, 1]
                z = offset[row, 2] + position[owner, 2]
                around = largest_of(distance_from(owner, x, y, z, position))
                closest = owner
                least = around
                for place in range(1, n_atoms):
                    i = nearest[owner, place]
                    if inverse[owner, i] * (around + least) < 1.0:
                        break  # it is farther from all points, and so are those behind it
                    r = largest_of(distance_from(i, x, y, z, position))
                    if r < least:
                        least = r
                        closest = i
                if inverse[closest, owner] * least < closer and closest != owner:
                    out[index] = L(0.0)
                    index += slots
                    continue
                near = 0
                while near < n_atoms:
                    i = nearest[closest, near]
                    if inverse[closest, i] * least < closer and near > 0:
                        break
                    at = kept_at(i, n_atoms, slot, slots)
                    distance[at] = distance_from(i, x, y, z, position)
                    cell[at] = L(1.0)
                    through[at] = 0
                    near += 1
                total = L(0.0)
                own = kept_at(owner, n_atoms, slot, slots)
                for place in range(near):
                    # what is known of the share only falls: it is the product so far in the sum so far
                    if not any_above(cell[own], negligible * total):
                        break
                    i = nearest[closest, place]
                    here = kept_at(i, n_atoms, slot, slots)
                    mine = cell[here]
                    if any_above(mine, negligible * total):
                        r = distance[here]
                        met = 0
                        while met < near:
                            j = nearest[closest, met]
                            there = kept_at(j, n_atoms, slot, slots)
                            if j != i and through[there] <= place:
                                nu = (r - distance[there]) * inverse[i, j]
                                nu += shift[i, j] * (1.0 - nu * nu)
                                nu *= 1.5 - 0.5 * nu * nu
                                nu *= 1.5 - 0.5 * nu * nu
                                nu *= 0.75 - 0.25 * nu * nu
                                mine *= 0.5 - nu
                                cell[there] *= 0.5 + nu
                            met += 1
                            if met % _LOOKS == 0:
                                if not any_above(mine, negligible * total):
                                    break
                        cell[here] = mine
                        through[here] = met
                        if met == near:
                            total += mine
                share = cell[own] / ti.max(total, real(smallest))  # the sum may be 0 so far where the share is
                out[index] = ti.select(share > negligible, share, L(0.0))
                index += slots

    return quick(with_vectors(kernel))


def _on_host(
    points: np.ndarray,
    positions: np.ndarray,
    inverse: np.ndarray,
    shifts: np.ndarray,
    nearest: np.ndarray,
    checkpoint: Checkpoint | None,
    negligible: float,
) -> np.ndarray:
    """The same by NumPy, for the atom that is the nearest to itself."""
    shares = np.empty(len(points))
    step = 1 + _AT_ONCE // len(positions)
    for first in range(0, len(points), step):
        here = slice(first, first + step)
        r = np.linalg.norm(points[here] - positions[:, None], axis=2)
        mine, total = np.zeros(r.shape[1]), np.zeros(r.shape[1])
        for place, i in enumerate(nearest):
            if checkpoint is not None:
                checkpoint(0.0)
            cell, alive = np.ones(r.shape[1]), np.arange(r.shape[1])
            for j in nearest[nearest != i]:
                nu = (r[i, alive] - r[j, alive]) * inverse[i, j]
                nu += shifts[i, j] * (1 - nu * nu)
                for _ in range(3):
                    nu *= 1.5 - 0.5 * nu * nu
                cell[alive] *= 0.5 - 0.5 * nu
                alive = alive[cell[alive] > negligible * total[alive]]
                if not len(alive):
                    break
            if place == 0:
                mine = cell
            total += cell
        shares[here] = mine / total
    return shares
