"""Which maxima are about a ring or a cage: where paths of steepest ascent from its critical point end."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from ...gaussians.extent import directions
from .balls import Balls
from .derivatives import DensityDerivatives
from .paths import ascents
from .search import Found

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

_ABOUT_RING, _ABOUT_CAGE = 8, 60
"""Paths from a ring, in its plane, and from a cage."""

_ROUGH = 0.02
"""Error of a step in bohr: only the end of the path counts."""


def atoms_about(
    field: DensityDerivatives, rings: Found, cages: Found, attractors: Balls, bonds: Integers
) -> list[tuple[int, ...]]:
    """The attractors about each ring, in order about it, and then about each cage, rising.

    A ring of many atoms has some between the ends of two neighbouring paths: those of the shortest way by bonds.

    Parameters
    ----------
    field
        The density.
    rings, cages
        Critical points.
    attractors
        The maxima.
    bonds : ndarray of int, shape (n, 2)
        Attractors that are joined by bond paths.
    """
    angles = 2 * np.pi * (np.arange(_ABOUT_RING) + 0.5) / _ABOUT_RING
    origins, along = [np.zeros((0, 3))], [np.zeros((0, 3))]
    for place, values, vectors in zip(rings.positions, rings.eigenvalues, rings.eigenvectors, strict=True):
        # the steeper of the two directions draws all paths towards it: they begin nearer to the other
        less = values[1] / values[2]
        plane = np.outer(np.cos(angles), vectors[:, 1]) + np.outer(less * np.sin(angles), vectors[:, 2])
        along.append(plane / np.sqrt((plane * plane).sum(axis=1))[:, None])
        origins.append(np.repeat(place[None], _ABOUT_RING, axis=0))
    for place in cages.positions:
        along.append(directions(_ABOUT_CAGE))
        origins.append(np.repeat(place[None], _ABOUT_CAGE, axis=0))
    paths = ascents(field, np.concatenate(origins), np.concatenate(along), attractors, _ROUGH)
    of_rings = paths.ends[: _ABOUT_RING * len(rings)].reshape(len(rings), _ABOUT_RING)
    of_cages = paths.ends[of_rings.size :].reshape(len(cages), _ABOUT_CAGE)
    neighbours: dict[int, set[int]] = {}
    for one, other in bonds.tolist():
        if one >= 0 and other >= 0 and one != other:
            neighbours.setdefault(one, set()).add(other)
            neighbours.setdefault(other, set()).add(one)
    return [
        *(_closed([end for end in ends.tolist() if end >= 0], neighbours) for ends in of_rings),
        *(tuple(int(end) for end in np.unique(ends[ends >= 0])) for ends in of_cages),
    ]


def _closed(ends: list[int], neighbours: dict[int, set[int]]) -> tuple[int, ...]:
    """Ends of neighbouring paths as a cycle, with what is between two that are not bonded; it begins with the least."""
    known = list(dict.fromkeys(ends))
    if len(known) < 2:
        return tuple(known)
    cycle: list[int] = []
    for n, (one, other) in enumerate(zip(known, [*known[1:], known[0]], strict=True)):
        direct = other in neighbours.get(one, ()) and not (len(known) == 2 and n == 1)
        others = set(known) | set(cycle)
        cycle += [one] if direct else [one, *_between(one, other, others, neighbours)]
    first = cycle.index(min(cycle))
    cycle = cycle[first:] + cycle[:first]
    return tuple(cycle if cycle[1] < cycle[-1] else [cycle[0], *cycle[:0:-1]])


def _between(one: int, other: int, taken: set[int], neighbours: dict[int, set[int]]) -> list[int]:
    """What is on the shortest way by bonds from one to the other that avoids what is taken; nothing without a way."""
    before = {one: one}
    waiting = deque([one])
    while waiting:
        here = waiting.popleft()
        for there in sorted(neighbours.get(here, ())):
            if there == other and here != one:
                way = []
                while here != one:
                    way.append(here)
                    here = before[here]
                return way[::-1]
            if there not in before and there not in taken:
                before[there] = here
                waiting.append(there)
    return []
