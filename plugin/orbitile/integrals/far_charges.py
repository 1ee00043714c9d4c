r"""Many charges around a molecule: those that are far by their multipole series about places in the molecule.

Out of reach of a Hermite Gaussian of exponent z at P a charge has with it the integral of a point with a point, since
the potential of a charge is harmonic there:

.. math::  \int L_n(r)\, \phi(r)\, dr = (\pi/z)^{3/2}\; \partial_P^n\, \phi(P)

About a centre C the potential of charges at R_m is a series of regular solid harmonics of P - C, whose coefficients are
sums over irregular ones of R_m - C (see `gaussians.multipoles`, which has the conventions and the derivatives). The
Gaussians are divided into boxes, these into smaller ones. A charge joins the series of the largest box that it is far
from; series go on to the boxes within by Taylor's theorem, in which the derivatives of a series are series. What is far
from no box is near, and exact. All maps are linear, so that the potential of a density at the charges takes the
transposed way: moments of the smallest boxes, those of larger ones, and irregular harmonics at the charges.

A charge q at a distance d from the centre of a box of radius a is left out beyond order l to no more than

.. math::  \frac{|q|}{d}\, \frac{x^{l+1}}{1 - x}, \qquad x = \frac{a + \sqrt{n/2z}}{d},

in which the second term of x stands for how far Gaussians of degree n reach about P. The order of each charge is chosen
such that these bounds add up to `TOLERANCE`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.hermite_tables import powers_of
from taichi_kernels.solid_harmonics import harmonic_series, harmonic_sums, harmonics_count, regular_harmonics
from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.watch import checkpoint
from ..gaussians.multipoles import harmonics, ladder
from ..model.external_charges import ExternalCharges
from .hermite_list import Block, HermiteList

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TOLERANCE = 1e-9
"""Bound on the error of the potential of all charges at any Gaussian, in hartree/e."""

ORDER = 24
"""Highest order of the series. A charge that needs a higher one is near."""

_STEP = 2
"""Charges are taken together whose orders differ by less."""

_GROUP, _LEAF = 8.0, 5.0
"""Radii in bohr of boxes whose near charges are taken together, and of the smallest boxes."""

_TAIL = 30.0
"""A Gaussian :math:`e^{-p r^2}` ends where p r^2 is this large: exp(-30) is 1e-13."""

_LEVELS = 8
"""Boxes within each other that share the tolerance."""

_BLOCK = 512
"""Gaussians whose harmonics are held at once."""

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Box:
    """Some of the Gaussians, and charges that are far from all of them.

    Attributes
    ----------
    parent : int
        Place in the list of boxes of the one that it is in; -1 for none.
    centre : ndarray, shape (3,)
        In bohr.
    far : list of (int, ndarray of int)
        Orders, and the charges whose series are taken to these.
    within : ndarray of int
        The Gaussians of a smallest box; empty for others.
    near : ndarray of int
        Charges that are exact for all `near_to`; both are empty but in boxes that are divided last.
    near_to : ndarray of int
    """

    parent: int
    centre: Reals
    far: list[tuple[int, Indices]]
    within: Indices = field(default_factory=lambda: np.zeros(0, np.intp))
    near: Indices = field(default_factory=lambda: np.zeros(0, np.intp))
    near_to: Indices = field(default_factory=lambda: np.zeros(0, np.intp))


def boxes_of(gaussians: HermiteList, external: ExternalCharges) -> list[Box]:
    """Boxes of Gaussians with the charges that are far from them, each behind the one that it is in."""
    boxes: list[Box] = []
    reach = np.sqrt(gaussians.degree / (2 * gaussians.exponent))
    wide = float(np.max(external.widths)) ** 2
    tail = np.sqrt(_TAIL * (1 / gaussians.exponent + wide))
    strength = np.maximum(np.abs(external.charges), 1e-300)

    def orders(some: Indices, centre: Reals, charges: Indices) -> NDArray[np.int64]:
        """Order that each of some charges needs; above `ORDER` where it is near."""
        away = np.sqrt(((external.positions[charges] - centre) ** 2).sum(axis=1)) + 1e-9
        radius = np.sqrt(((gaussians.centre[some] - centre) ** 2).sum(axis=1))
        x = np.clip((radius + reach[some]).max() / away, 1e-6, 0.9)
        weight = strength[charges] / away**3
        allowed = TOLERANCE / _LEVELS * weight / weight.sum()
        needed = np.ceil(np.log(allowed * away * (1 - x) / strength[charges]) / np.log(x)) - 1
        is_near = away < (radius + tail[some]).max()
        return np.where(is_near, ORDER + 1, np.maximum(needed, 0)).astype(np.int64)

    def by_order(needed: NDArray[np.int64], charges: Indices) -> list[tuple[int, Indices]]:
        steps = -(-needed // _STEP) * _STEP
        return [(int(order), charges[steps == order]) for order in np.unique(steps)]

    def add(some: Indices, charges: Indices, parent: int) -> None:
        checkpoint()
        centre, radius = _ball(gaussians.centre[some])
        needed = orders(some, centre, charges)
        is_far = needed <= ORDER
        place, rest = len(boxes), charges[~is_far]
        far = by_order(needed[is_far], charges[is_far])
        if radius > _GROUP:
            boxes.append(Box(parent, centre, far))
            for half in _halves(gaussians.centre, some):
                add(half, rest, place)
            return
        leaves = list(_leaves(gaussians.centre, some))
        centres = [_ball(gaussians.centre[leaf])[0] for leaf in leaves]
        of_leaves = [orders(leaf, middle, rest) for leaf, middle in zip(leaves, centres, strict=True)]
        is_near = np.any(np.array(of_leaves) > ORDER, axis=0)
        boxes.append(Box(parent, centre, far, near=rest[is_near], near_to=some))
        for leaf, middle, each in zip(leaves, centres, of_leaves, strict=True):
            boxes.append(Box(place, middle, by_order(each[~is_near], rest[~is_near]), leaf))

    add(np.arange(len(gaussians)), np.arange(len(external)), -1)
    return boxes


def _ball(points: Reals) -> tuple[Reals, float]:
    """Centre of the box about some points, and the distance of the farthest one from it."""
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    return centre, float(np.sqrt(((points - centre) ** 2).sum(axis=1).max()))


def _halves(points: Reals, some: Indices) -> tuple[Indices, Indices]:
    """The two halves of the box about some points, cut where it is longest."""
    low, high = points[some].min(axis=0), points[some].max(axis=0)
    axis = int(np.argmax(high - low))
    is_low = points[some, axis] <= 0.5 * (low + high)[axis]
    return some[is_low], some[~is_low]


def _leaves(points: Reals, some: Indices) -> Iterator[Indices]:
    if _ball(points[some])[1] <= _LEAF:
        yield some
        return
    for half in _halves(points, some):
        yield from _leaves(points, half)


# Series -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _slopes(order: int) -> tuple[csr_array, csr_array, csr_array]:
    """Matrices that take the coefficients of a series to those of its derivative along each axis."""
    from scipy.sparse import csr_array

    place = {h: n for n, h in enumerate(harmonics(order))}
    ours = [place[l, m, part] for l in range(order + 1) for part in range(2) for m in range(l + 1)]
    x, y, z = (csr_array(ladder(order, axis)[np.ix_(ours, ours)].T) for axis in range(3))
    return x, y, z


def _moved(series: Reals, way: Reals, transposed: bool = False) -> Reals:
    """Coefficients of a series about a centre that has moved; transposed, those of moments that move back."""
    step = sum(w * matrix for w, matrix in zip(way, _slopes(ORDER), strict=True))
    step = step.T.tocsr() if transposed else step
    result = term = series
    for k in range(1, ORDER + 1):
        term = step @ term / k
        result = result + term
    return result


@lru_cache
def _steps(degree: int) -> list[tuple[int, int, int]]:
    """Orders of derivatives but the lowest, by rising degree: place, place of the order below it, axis between them."""
    orders = powers_of(degree)
    place, steps = {order: n for n, order in enumerate(orders)}, []
    for order in orders[1:]:
        axis = next(axis for axis in range(3) if order[axis])
        steps.append((place[order], place[tuple(np.subtract(order, np.eye(3, dtype=int)[axis]).tolist())], axis))
    return steps


def far_values(gaussians: HermiteList, external: ExternalCharges, boxes: list[Box], target: Target) -> Reals:
    """Integrals of each Hermite Gaussian with the potential of the charges that are far from it, for electrons.

    Returns
    -------
    ndarray, shape (n_coefficients,)
        In hartree.
    """
    values, series = np.zeros(gaussians.n_coefficients), list[Reals]()
    for box in boxes:
        checkpoint()
        total = np.zeros(harmonics_count(ORDER))
        if box.parent >= 0:
            total = _moved(series[box.parent], box.centre - boxes[box.parent].centre)
        for order, far in box.far:
            places, electrons = external.positions[far] - box.centre, -external.charges[far]
            total[: harmonics_count(order)] += harmonic_sums(places, electrons, order, target)
        series.append(total)
        if len(box.within) == 0:
            continue
        degree = int(gaussians.degree[box.within[-1]])
        derivatives = np.empty((len(powers_of(degree)), len(total)))
        derivatives[0] = total
        for n, below, axis in _steps(degree):
            derivatives[n] = _slopes(ORDER)[axis] @ derivatives[below]
        for block, rows, harmonics_there in _blocks(gaussians, box, target):
            found = derivatives[: len(block.orders)] @ harmonics_there
            block.of(values)[rows - block.rows.start] = (found * (np.pi / gaussians.exponent[rows]) ** 1.5).T
    return values


def far_potentials(
    gaussians: HermiteList, hermite: Reals, external: ExternalCharges, boxes: list[Box], target: Target
) -> Reals:
    """Potential of the part of a density, as of positive charges, that each charge is far from, and its gradient.

    Returns
    -------
    ndarray, shape (n, 4)
        In hartree/e and hartree/(e bohr).
    """
    moments = [np.zeros(harmonics_count(ORDER)) for _ in boxes]
    result = np.zeros((len(external), 4))
    for box, own in zip(reversed(boxes), reversed(moments), strict=True):
        checkpoint()
        degree = int(gaussians.degree[box.within[-1]]) if len(box.within) else 0
        of_orders = np.zeros((len(powers_of(degree)), len(own)))
        for block, rows, harmonics_there in _blocks(gaussians, box, target):
            weights = block.of(hermite)[rows - block.rows.start] * ((np.pi / gaussians.exponent[rows]) ** 1.5)[:, None]
            of_orders[: len(block.orders)] += (harmonics_there @ weights).T
        for n, below, axis in reversed(_steps(degree)):
            of_orders[below] += _slopes(ORDER)[axis].T @ of_orders[n]
        own += of_orders[0]
        if box.parent >= 0:
            moments[box.parent] += _moved(own, box.centre - boxes[box.parent].centre, transposed=True)
        for order, far in box.far:  # a gradient has a series of one order more
            series = np.zeros(harmonics_count(ORDER + 1))
            series[: harmonics_count(order)] = own[: harmonics_count(order)]
            four = np.stack([series, *(-(slope.T @ series) for slope in _slopes(ORDER + 1))], axis=1)
            result[far] += harmonic_series(external.positions[far] - box.centre, four, order + 1, target)
    return result


def _blocks(gaussians: HermiteList, box: Box, target: Target) -> Iterator[tuple[Block, Indices, Reals]]:
    """Gaussians of a box, which rise by degree: the part of the list, some of them there, and regular harmonics."""
    for first in range(0, len(box.within), _BLOCK):
        some = box.within[first : first + _BLOCK]
        found = regular_harmonics(gaussians.centre[some] - box.centre, ORDER, target)
        for block in gaussians.blocks:
            start, stop = np.searchsorted(some, [block.rows.start, block.rows.stop])
            if start < stop:
                yield block, some[start:stop], found[:, start:stop]
