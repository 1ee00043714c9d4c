"""Cells of periodic systems: where one begins, what lies in it, and how far its images are from it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from .wavefunction import Wavefunction

_INSIDE = 1e-9
"""Part of a vector of the cell by which what lies at a face may lie outside it, from rounding."""

_AT_A_FACE = 1e-4
"""Part of a vector of the cell by which atoms at its faces may lie outside it, as files round them."""

_MOST_IMAGES = 1 << 14
"""Images of the cell that are looked at, at most."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A parallelepiped that fills space when it repeats.

    Attributes
    ----------
    origin : ndarray, shape (3,)
        Corner from which the vectors go out, in bohr.
    vectors : ndarray, shape (3, 3)
        One a row, in bohr.
    """

    origin: Reals
    vectors: Reals

    @property
    def volume(self) -> float:
        """In bohr^3."""
        return float(abs(np.linalg.det(self.vectors)))

    @property
    def heights(self) -> Reals:
        """Distances of opposite faces in bohr, shape (3,)."""
        return 1 / np.linalg.norm(np.linalg.inv(self.vectors), axis=0)

    def fractions(self, points: Reals) -> Reals:
        """Coordinates along the vectors, from the origin on: 0 to 1 in the cell; shape as that of the points."""
        return (points - self.origin) @ np.linalg.inv(self.vectors)

    def wrapped(self, points: Reals) -> Reals:
        """The images of points that lie in the cell, in bohr, shape (n, 3); points of the cell stay as they are."""
        fractions = self.fractions(points)
        outside = (fractions < -_INSIDE) | (fractions > 1 + _INSIDE)
        return points - np.where(outside, np.floor(fractions), 0.0) @ self.vectors

    def holds(self, points: Reals) -> bool:
        """Whether all points lie in the cell or on its faces."""
        fractions = self.fractions(points)
        return bool(np.all((fractions > -_INSIDE) & (fractions < 1 + _INSIDE)))

    def distances(self, points: Reals) -> Reals:
        """Distances of points from the cell in bohr, shape (n,); 0 within it.

        The nearest point of the cell lies inside, on a face, an edge or a corner: where the coordinates that are held
        at 0 or 1 leave the others within these bounds, it is a candidate, and the nearest of all of them counts.
        """
        metric = self.vectors @ self.vectors.T
        fractions = self.fractions(points)
        if np.all(np.abs(metric - np.diag(np.diag(metric))) < 1e-12 * metric.max()):
            away = fractions - np.clip(fractions, 0, 1)
            return np.sqrt(away**2 @ np.diag(metric))
        least = np.full(len(points), np.inf)
        for held in product((None, 0.0, 1.0), repeat=3):
            away = np.zeros_like(fractions)
            fixed = [n for n in range(3) if held[n] is not None]
            free = [n for n in range(3) if held[n] is None]
            away[:, fixed] = np.array([held[n] for n in fixed], float) - fractions[:, fixed]
            if free and fixed:
                away[:, free] = (
                    -away[:, fixed] @ np.linalg.solve(metric[np.ix_(free, free)], metric[np.ix_(free, fixed)]).T
                )
            there = fractions[:, free] + away[:, free]
            fits = np.all((there >= -_INSIDE) & (there <= 1 + _INSIDE), axis=1)
            square = np.einsum("ni,ij,nj->n", away, metric, away)
            least = np.where(fits, np.minimum(least, square), least)
        return np.sqrt(np.maximum(least, 0))

    def shortest(self, separations: Reals) -> Reals:
        """From points to the nearest images of others: the shortest of the vectors that differ by images of the cell.

        Parameters
        ----------
        separations : ndarray, shape (n, 3)
            Of the points and any image of each, in bohr.
        """
        fractions = separations @ np.linalg.inv(self.vectors)
        fractions = fractions - np.rint(fractions)
        near = np.array(list(product((0, -1, 1), repeat=3)), float)  # of skewed cells that one may not be the nearest
        candidates = (fractions[:, None] + near) @ self.vectors
        nearest = np.argmin(np.einsum("nid,nid->ni", candidates, candidates), axis=1)
        return candidates[np.arange(len(candidates)), nearest]

    def corners(self) -> Reals:
        """Its eight corners in bohr, shape (8, 3), those of the last vector next to each other."""
        return self.origin + np.array(list(product((0.0, 1.0), repeat=3))) @ self.vectors

    def edges(self) -> Reals:
        """The ends of its twelve edges in bohr, shape (12, 2, 3)."""
        corners = self.corners()
        return np.array([(corners[i], corners[i | bit]) for i in range(8) for bit in (1, 2, 4) if not i & bit])

    def with_faces(self, points: Reals) -> tuple[NDArray[np.intp], Reals]:
        """Points, and the images of those at a face that lie at the opposite one: which they are, and where in bohr."""
        fractions = self.fractions(points)
        which, places = [np.arange(len(points))], [points]
        for step in product((-1, 0, 1), repeat=3):
            moved = fractions + step
            at_face = np.all((moved > -_AT_A_FACE) & (moved < 1 + _AT_A_FACE), axis=1) & bool(any(step))
            which.append(np.flatnonzero(at_face))
            places.append(points[at_face] + np.array(step, float) @ self.vectors)
        return np.concatenate(which), np.concatenate(places)

    def images_within(self, reach: float) -> Reals:
        """Translations to the cells that come within a distance of this one, itself first, in bohr, shape (n, 3).

        Some that do not come as close may be among them.

        Raises
        ------
        OrbitileError
            When they are too many: the cell is much smaller than what is to repeat in it.
        """
        most = np.floor(reach / self.heights).astype(np.int64) + 1
        count = float(np.prod(2.0 * most + 1))
        if not count <= _MOST_IMAGES:
            raise OrbitileError(
                f"cell of {self.volume:.3g} bohr^3: its functions reach over {count:.3g} images of it; expected a cell "
                "that is not as small, or functions that are not as diffuse"
            )
        ranges = [np.arange(-n, n + 1) for n in most.tolist()]
        steps = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, 3)
        steps = steps[np.argsort(np.abs(steps).sum(axis=1), kind="stable")]
        gaps = (np.maximum(np.abs(steps) - 1, 0) * self.heights).max(axis=1)
        return steps[gaps <= reach] @ self.vectors


def cell_of(wavefunction: Wavefunction) -> Cell | None:
    """The cell in which a wavefunction is shown; None for a molecule.

    It begins at the origin of the coordinates, as programs and viewers have it, along each vector along which all atoms
    lie in it then; along the others it is centred on the atoms.
    """
    if not len(wavefunction.cell):
        return None
    fractions = wavefunction.positions @ np.linalg.inv(wavefunction.cell)
    low, high = fractions.min(axis=0), fractions.max(axis=0)
    inside = (low >= -_AT_A_FACE) & (high <= 1 + _AT_A_FACE)
    return Cell(np.where(inside, 0.0, (low + high) / 2 - 0.5) @ wavefunction.cell, wavefunction.cell)


def molecules_only(wavefunction: Wavefunction, what: str, reason: str) -> None:
    """Refuse a wavefunction that repeats with a cell.

    Raises
    ------
    OrbitileError
        With what is refused, and the reason.
    """
    if len(wavefunction.cell):
        raise OrbitileError(f"{what}: not of a periodic system: {reason}")
