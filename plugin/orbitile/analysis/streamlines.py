"""Streamlines: curves that follow a vector field, many at once.

They are followed by their length s, :math:`dr/ds = v / |v|`, with the classical Runge-Kutta method of fourth order (W.
Kutta, Z. Math. Phys. 1901, 46, 435). A line that comes back to where it began is closed there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.watch import checkpoint

VectorField = Callable[[Reals], Reals]
"""Vectors at points in bohr, shape (n, 3) each."""

STEP = 0.2
"""Length of a step, in bohr."""
LONGEST = 60.0
"""Length in bohr at which an open line ends, each way from its seed."""


@dataclass(frozen=True, eq=False)
class Streamline:
    """A curve along a vector field.

    Attributes
    ----------
    points : ndarray, shape (n_points, 3)
        In bohr, in the direction of the field; the last is the first where it is closed.
    is_closed : bool
    """

    points: Reals
    is_closed: bool


def streamlines(
    field: VectorField, seeds: Reals, *, weakest: float = 0.0, step: float = STEP, longest: float = LONGEST
) -> list[Streamline]:
    """Streamlines through some points.

    Parameters
    ----------
    field
        Is asked at the ends of all lines at once.
    seeds : ndarray, shape (n, 3)
        In bohr, where the field is stronger than the weakest.
    weakest
        Magnitude of the field below which a line ends.
    step, longest
        In bohr. A line is closed where it comes back to within a step of its seed, through the plane across it there.

    Returns
    -------
    list of Streamline
        One a seed. What does not close is followed against the field too.
    """
    ahead, closed = followed(field, seeds, weakest, step, longest)
    again = np.flatnonzero(~closed)
    behind, _ = followed(lambda points: -field(points), seeds[again], weakest, step, longest)
    for n, before in zip(again.tolist(), behind, strict=True):
        ahead[n] = np.concatenate([before[:0:-1], ahead[n]])
    return [Streamline(points, bool(is_closed)) for points, is_closed in zip(ahead, closed, strict=True)]


def followed(
    field: VectorField, seeds: Reals, weakest: float = 0.0, step: float = STEP, longest: float = LONGEST
) -> tuple[list[Reals], NDArray[np.bool_]]:
    """Points of each line from its seed on, and which of them close; parameters as for `streamlines`."""

    def direction(points: Reals) -> tuple[Reals, Reals]:
        vectors = field(points)
        size = np.linalg.norm(vectors, axis=1)
        return vectors / np.maximum(size, 1e-300)[:, None], size

    paths: list[list[Reals]] = [[seed] for seed in seeds]
    closed = np.zeros(len(seeds), np.bool_)
    going, at, first = np.arange(len(seeds)), seeds.copy(), np.zeros_like(seeds)
    for turn in range(int(np.ceil(longest / step))):
        if not len(going):
            break
        k1, size = direction(at)
        if turn == 0:
            first = k1
        strong = size > weakest
        going, at, k1 = going[strong], at[strong], k1[strong]
        if not len(going):
            break
        k2, _ = direction(at + 0.5 * step * k1)
        k3, _ = direction(at + 0.5 * step * k2)
        k4, _ = direction(at + step * k3)
        reached = at + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        before = np.einsum("ni,ni->n", at - seeds[going], first[going])
        after = np.einsum("ni,ni->n", reached - seeds[going], first[going])
        share = np.clip(before / np.minimum(before - after, -1e-300), 0.0, 1.0)[:, None]
        crossing = at + share * (reached - at)
        near = np.linalg.norm(crossing - seeds[going], axis=1) < step
        comes_back = (before < 0) & (after >= 0) & near
        for line, point, ends in zip(going.tolist(), reached, comes_back, strict=True):
            paths[line].append(seeds[line] if ends else point)
        closed[going[comes_back]] = True
        going, at = going[~comes_back], reached[~comes_back]
        checkpoint()
    return [np.array(path) for path in paths], closed
