"""Some atoms of a molecule against the rest: what lies between the two, by the densities of their free atoms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arguments import atoms_in
from ..base.caches import Derived
from ..base.errors import FieldError, OrbitileError
from ..gaussians.expansion import GaussianExpansion, concatenated, derivative, reach
from ..gaussians.promolecule import promolecular_density
from ..model.wavefunction import Wavefunction
from ._sums import SumField, enclosing_box

Reals = NDArray[np.float64]
Corners = tuple[Reals, Reals]

_FAINT = 1e-8
"""Density in e bohr^-3 of either side below which nothing is between the two."""


@dataclass(frozen=True, eq=False)
class Sides:
    """The two sides, each the sum of the densities of its free atoms, in e bohr^-3.

    Of large molecules, what does not reach where both sides exceed 1e-8 e bohr^-3 is left out.

    Attributes
    ----------
    one, other : GaussianExpansion
        Of the atoms that were named, and of all others.
    """

    one: GaussianExpansion
    other: GaussianExpansion

    def gradients(self) -> tuple[GaussianExpansion, ...]:
        """The three components of the gradient of each side."""
        return tuple(derivative(side, axis) for side in (self.one, self.other) for axis in range(3))

    def both(self) -> GaussianExpansion:
        """The promolecular density near where the sides meet."""
        return concatenated([self.one, self.other])


def sides_of(wavefunction: Wavefunction, field: str, listed: str) -> Sides:
    """The two sides that the name of a field states, as 1-12: these atoms and the rest.

    Raises
    ------
    FieldError
        When the list cannot be read, names atoms that are not there, or leaves no nucleus on one of the sides.
    """
    key = listed.strip()
    return _SIDES.of(wavefunction, key, lambda: _made(wavefunction, field, key))


_SIDES = Derived[Sides]("sums of Gaussians")


def _made(wavefunction: Wavefunction, field: str, listed: str) -> Sides:
    n = wavefunction.n_atoms
    try:
        named = np.array(atoms_in(f"field '{field}'", listed))
    except FieldError:
        raise
    except OrbitileError as error:
        raise FieldError(str(error)) from error
    if named[-1] >= n:
        raise FieldError(f"field '{field}': expected atoms from 1 to {n}, got {named[-1] + 1}")
    which = np.isin(np.arange(n), named)
    sides = []
    for chosen, what in ((which, "there is no nucleus among these atoms"), (~which, "no nucleus is left for the rest")):
        atoms = np.flatnonzero(chosen & (wavefunction.atomic_numbers > 0))
        if not len(atoms):
            raise FieldError(f"field '{field}': expected atoms of one of two sides, but {what}")
        sides.append(promolecular_density(wavefunction, atoms))
    low, high = between(sides[0], sides[1], _FAINT)
    near = [_reaching(side, low, high) for side in sides]
    one, other = near if all(map(len, near)) else sides  # far apart, none is near
    return Sides(one, other)


def _reaching(side: GaussianExpansion, low: Reals, high: Reals) -> GaussianExpansion:
    """The Gaussians that have a part in the density in a box."""
    outside = np.linalg.norm(np.maximum(np.maximum(low - side.centre, side.centre - high), 0.0), axis=1)
    return side.chosen(outside <= reach(side, _FAINT / 100))


def between(one: GaussianExpansion, other: GaussianExpansion, isovalue: float) -> Corners:
    """Corners of a box outside which one of two sums or the other is smaller than an isovalue, in bohr.

    Where they are far apart that is nowhere: the box is then a small one between them.
    """
    (low, high), (low_2, high_2) = enclosing_box(one, isovalue), enclosing_box(other, isovalue)
    low, high = np.maximum(low, low_2), np.minimum(high, high_2)
    if np.any(low >= high):
        middle = (low + high) / 2
        return middle - _LEAST, middle + _LEAST
    return low, high


_LEAST = 0.5
"""Half the edge, in bohr, of a box in which there is nothing."""


@dataclass(frozen=True, eq=False)
class FieldBetween(SumField):
    """A field that is only where two sums both are.

    Attributes
    ----------
    opposite : GaussianExpansion
        The second sum; `extent` is the first, and `extent_isovalue` is for both.
    is_bounded : bool
        Whether the box follows from bounds, or from the free atoms, of which the molecule is not made.
    """

    opposite: GaussianExpansion | None = None
    is_bounded: bool = True
    is_local: bool = True

    def enclosing_box(self, isovalue: float) -> Corners:
        """Corners of a box outside which the field is smaller, in bohr."""
        assert self.opposite is not None
        level: Callable[[float], float] = self.extent_isovalue or float
        return between(self.extent, self.opposite, level(isovalue))
