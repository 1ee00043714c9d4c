"""Where rays from an attractor leave its basin, and come back into it.

A lattice of basins says about where; paths of steepest ascent from both sides of the border, by bisection, where
exactly: as exactly as the density there asks for.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ...watch import checkpoint
from .ascent import Gradient, Reals, Spheres, attractors_of
from .partition import Partition

Indices = NDArray[np.intp]

_MOST_ELECTRONS = 1e-3
"""Error of a border in bohr times the density there times the square of the radius, in e: those of many rays are of
both signs."""

_FINEST, _COARSEST = 3e-4, 0.05
"""Bounds on that error, in bohr."""

_STRIDE, _FARTHEST = 0.05, 3.2
"""First stride of the search for a border in bohr, and the last one before it is given up."""


@dataclass(frozen=True, eq=False)
class Rays:
    """Parts of rays from one attractor that are in its basin.

    Attributes
    ----------
    attractor : int
    directions : ndarray, shape (n_rays, 3)
    weights : ndarray, shape (n_rays,)
        Of the directions, which add up to 4 pi.
    ray : ndarray of int, shape (n_parts,)
        Which ray each part is of.
    begin, end : ndarray, shape (n_parts,)
        Distances from the attractor in bohr; infinite where the density falls off before the basin ends.
    """

    attractor: int
    directions: Reals
    weights: Reals
    ray: Indices
    begin: Reals
    end: Reals


@dataclass(frozen=True, eq=False)
class _Borders:
    """About where rays leave a basin, or come back to it, and the direction of each."""

    attractor: Indices
    ray: Indices
    leaves: NDArray[np.bool_]
    guess: Reals
    direction: Reals


def rays_of(
    attractors: list[int],
    spheres: Spheres,
    lattice: Partition,
    gradient: Gradient,
    rules: list[tuple[Reals, Reals]],
) -> list[Rays]:
    """The parts of rays that are in the basins of some attractors, outside of their spheres.

    Parameters
    ----------
    attractors
        Which.
    spheres
        About all attractors.
    lattice
        Shares of the basins on a lattice; beyond it rays stay in the basin in which they are there.
    gradient
        Of the density.
    rules
        Directions, shape (n_rays, 3), and weights of a rule on the sphere for each of them.
    """
    found = [
        _scanned(attractor, spheres, lattice, directions)
        for attractor, (directions, _) in zip(attractors, rules, strict=True)
    ]
    borders = _Borders(*(np.concatenate([getattr(one, part.name) for one in found]) for part in fields(_Borders)))
    origin, along = spheres.centre[borders.attractor], borders.direction
    density = gradient(origin + borders.guess[:, None] * along)[0] if len(along) else np.zeros(0)
    width = _MOST_ELECTRONS / np.maximum(density * borders.guess**2, 1e-12)
    search = BorderSearch(
        borders.guess, spheres.radius[borders.attractor], borders.leaves, np.clip(width, _FINEST, _COARSEST)
    )

    def again(some: Indices, ends: Indices) -> tuple[Indices, Reals]:
        left = search.learn(some, ends == borders.attractor[some])
        return left, origin[left] + search.radius[left, None] * along[left]

    attractors_of(origin + search.radius[:, None] * along, gradient, spheres, again)
    return [
        _parts(attractor, float(spheres.radius[attractor]), *rule, borders, search)
        for attractor, rule in zip(attractors, rules, strict=True)
    ]


def _scanned(attractor: int, spheres: Spheres, lattice: Partition, directions: Reals) -> _Borders:
    """Borders by the lattice."""
    checkpoint()
    centre, first = spheres.centre[attractor], spheres.radius[attractor]
    step = float(lattice.lattice.spacings.min()) / 2
    corners = np.stack([lattice.lattice.origin, lattice.lattice.far_corner])
    farthest = float(np.linalg.norm(np.maximum(*np.abs(corners - centre)))) + step
    radii = first + step * np.arange(max(2, int((farthest - first) / step)))
    points = centre + radii[:, None, None] * directions
    basin = lattice.largest(points.reshape(-1, 3)).reshape(len(radii), len(directions))
    inside = basin == attractor
    inside[0] = True
    outside = basin < 0
    for n in range(1, len(radii)):  # where nothing is, a ray stays where it was
        inside[n] = np.where(outside[n], inside[n - 1], inside[n])
    # what is one step long is a graze, or the lattice
    for before, here, after in zip(inside[:-2], inside[1:-1], inside[2:], strict=True):
        here[:] = np.where(before == after, before, here)
    place, ray = np.nonzero(inside[1:] != inside[:-1])
    return _Borders(np.full(len(ray), attractor), ray, inside[place, ray], radii[place] + step / 2, directions[ray])


class BorderSearch:
    """Borders that are looked for along rays, each at its own pace: by strides that double, then by bisection.

    Parameters
    ----------
    guess : ndarray, shape (n,)
        Radii near which they are, in bohr.
    least : ndarray, shape (n,)
        Radii below which they are not.
    leaves : ndarray of bool, shape (n,)
        Whether what is inside is below the border, or above.
    width : ndarray, shape (n,)
        How exactly they are wanted, in bohr.

    Attributes
    ----------
    radius : ndarray, shape (n,)
        Where it is asked next whether that is inside.
    """

    def __init__(self, guess: Reals, least: Reals, leaves: NDArray[np.bool_], width: Reals) -> None:
        self._guess, self._leaves, self._width = guess, leaves, width
        self._low = np.where(leaves, least, -np.inf)
        self._high = np.full(len(guess), np.inf)
        self._asked_low, self._asked_high = np.zeros(len(guess), bool), np.zeros(len(guess), bool)
        self._stride = np.full(len(guess), _STRIDE)
        self.radius = guess.copy()

    @property
    def found(self) -> NDArray[np.bool_]:
        """Which borders there are, shape (n,)."""
        return self._asked_high & (self._asked_low | self._leaves)

    @property
    def place(self) -> Reals:
        """Where the borders are, shape (n,); where none was found near the guess, the guess.

        A ray that is outside, and inside nowhere near, left before: there what is outside ends it, lest it runs on
        through another attractor.
        """
        high = np.where(self._asked_high, self._high, self._guess)
        low = np.where(self._asked_low, self._low, high)
        return np.where(self.found, (low + high) / 2, self._guess)

    def learn(self, some: Indices, inside: NDArray[np.bool_]) -> Indices:
        """Take the answers for some borders, and say for which of them there is another question."""
        below = inside == self._leaves[some]
        self._low[some[below]] = self.radius[some[below]]
        self._high[some[~below]] = self.radius[some[~below]]
        self._asked_low[some[below]] = self._asked_high[some[~below]] = True
        low, high, stride = self._low[some], self._high[some], self._stride[some]
        between = self._asked_low[some] & self._asked_high[some]
        ahead = np.where(self._asked_low[some], low + stride, np.maximum(high - stride, low))
        self.radius[some] = np.where(between, (low + np.where(between, high, low)) / 2, ahead)
        self._stride[some] = np.where(between, stride, 2 * stride)
        done = (between & (high - low <= self._width[some])) | (stride > _FARTHEST) | (self.radius[some] <= 0)
        left: Indices = some[~done]
        return left


def _parts(
    attractor: int, radius: float, directions: Reals, weights: Reals, borders: _Borders, search: BorderSearch
) -> Rays:
    """Parts of rays inside, from where they leave and come back: of two that leave one after the other, the first."""
    mine = np.flatnonzero((borders.attractor == attractor) & search.found)
    place = np.maximum(search.place[mine], radius)
    order = np.lexsort((place, borders.ray[mine]))
    begin: list[list[float]] = [[radius] for _ in directions]
    end: list[list[float]] = [[] for _ in directions]
    found = zip(
        *(part[mine][order].tolist() for part in (borders.ray, borders.leaves)), place[order].tolist(), strict=True
    )
    for ray, leaves, at in found:
        inside = len(begin[ray]) > len(end[ray])
        if inside and leaves:
            end[ray].append(at)
        elif not inside and not leaves:
            begin[ray].append(at)
    for of_begin, of_end in zip(begin, end, strict=True):
        of_end += [np.inf] * (len(of_begin) - len(of_end))
    ray = np.repeat(np.arange(len(directions)), [len(of_ray) for of_ray in begin])
    first, last = np.concatenate(begin), np.concatenate(end)
    some = last > first
    return Rays(attractor, directions, weights, ray[some], first[some], last[some])
