r"""Interactions of some atoms with the rest by the independent gradient model: `igm:1-12`, `igmh:1-12`.

Where two densities meet, their gradients point against each other. How much of them that costs,

.. math::  \delta g = |\nabla\rho_A| + |\nabla\rho_B| - |\nabla\rho_A + \nabla\rho_B|

is zero where one is alone and large between them (C. Lefebvre et al., Phys. Chem. Chem. Phys. 2017, 19, 17928). There,
the magnitude of each component of a gradient is taken, so that the result depends on the axes; with the length of the
gradient, as here, it does not. `igm` takes the densities of the free atoms. `igmh` shares out that of the molecule as
F. L. Hirshfeld did (Theor. Chim. Acta 1977, 44, 129), :math:`\rho_A = \rho P_A / (P_A + P_B)` with the free atoms' P
(T. Lu and Q. Chen, J. Comput. Chem. 2022, 43, 539).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from taichi_kernels.expressions import Value, above, at_least

from ..base.arguments import atoms_in
from ..base.arrays import Indices, Reals
from ..base.caches import Derived
from ..base.errors import FieldError, OrbitileError
from ..gaussians.expansion import GaussianExpansion, concatenated, gradient, reach
from ..gaussians.promolecule import promolecular_density
from ..model.wavefunction import Wavefunction
from . import References
from ._sums import SumField, enclosing_box
from .density import density_of
from .derivatives import gradient_of, norm

PRIORITY = 59
GROUP = "Weak interactions"
NAMES = (
    (
        "igmh:1",
        "Where atom 1 interacts with the rest (or atoms 1-6,9), by Hirshfeld (independent gradient model)",
    ),
    ("igm:1", "The same with the densities of free atoms (independent gradient model)"),
)

COLOURED_BY = {"igm": "nci", "igmh": "nci"}
"""Fields whose surfaces are coloured by another one by convention."""

Corners = tuple[Reals, Reals]

_FAINT = 1e-8
"""Density in e bohr^-3 of either side below which nothing is between the two."""

_LEAST = 0.5
"""Half the edge, in bohr, of a box in which there is nothing."""

_THIN = 1 << 19
"""Points of a lattice below which small surfaces between two atoms have facets."""

MOST_POINTS = 1 << 22
"""Points of a lattice between two large sides of a protein, at most."""

_SHARED = 8.0
"""Gradients of the share of a molecule's density are larger than those of free atoms by no more, where they matter."""

_NOTHING = 1e-12
"""Density in e bohr^-3 below which nothing is shared out."""

_FAR = "nothing is between these atoms and the rest here: they are too far apart"


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
        return *gradient(self.one), *gradient(self.other)

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
    return _SIDES.of(wavefunction, key, lambda: _split(wavefunction, field, key))


_SIDES = Derived[Sides]("sums of Gaussians")


def named_atoms(wavefunction: Wavefunction, field: str, listed: str) -> tuple[Indices, Indices]:
    """Nuclei of the two sides that the name of a field states, as 1-12: these atoms and the rest, from 0.

    Raises
    ------
    FieldError
        When the list cannot be read, names atoms that are not there, or leaves no nucleus on one of the sides.
    """
    n = wavefunction.n_atoms
    try:
        named = np.array(atoms_in(f"field '{field}'", listed))
    except OrbitileError as error:
        raise FieldError(str(error)) from error
    if named.max() >= n:
        raise FieldError(f"field '{field}': expected atoms from 1 to {n}, got {named.max() + 1}")
    which = np.isin(np.arange(n), named)
    atoms = []
    for chosen, what in ((which, "there is no nucleus among these atoms"), (~which, "no nucleus is left for the rest")):
        atoms.append(np.flatnonzero(chosen & (wavefunction.atomic_numbers > 0)))
        if not len(atoms[-1]):
            raise FieldError(f"field '{field}': expected the atoms of one of two fragments, but {what}")
    return atoms[0], atoms[1]


def _split(wavefunction: Wavefunction, field: str, listed: str) -> Sides:
    atoms = named_atoms(wavefunction, field, listed)
    smaller = promolecular_density(wavefunction, min(atoms, key=len))
    low, high = enclosing_box(smaller, _FAINT)  # nothing is between them outside of it
    sides = [promolecular_density(wavefunction, near_atoms(wavefunction, some, low, high)) for some in atoms]
    low, high = between(sides[0], sides[1], _FAINT)
    near = [reaching_gaussians(side, low, high) for side in sides]
    one, other = near if all(map(len, near)) else sides  # far apart, none is near
    return Sides(one, other)


def near_atoms(wavefunction: Wavefunction, atoms: Indices, low: Reals, high: Reals) -> Indices:
    """Those of some atoms that have a part in the density in a box; all where none has."""
    numbers, at = wavefunction.atomic_numbers[atoms], wavefunction.positions[atoms]
    outside = np.linalg.norm(np.maximum(np.maximum(low - at, at - high), 0.0), axis=1)
    near = np.zeros(len(atoms), bool)
    for number in np.unique(numbers).tolist():
        kind = numbers == number
        one = promolecular_density(wavefunction, atoms[kind][:1])
        near |= kind & (outside <= reach(one, _FAINT / 100).max())
    return atoms[near] if near.any() else atoms


def reaching_gaussians(side: GaussianExpansion, low: Reals, high: Reals) -> GaussianExpansion:
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
    most_points: int = 0
    is_bounded: bool = True
    is_local: bool = True

    def enclosing_box(self, isovalue: float) -> Corners:
        """Corners of a box outside which the field is smaller, in bohr."""
        assert self.opposite is not None
        level: Callable[[float], float] = self.extent_isovalue or float
        return between(self.extent, self.opposite, level(isovalue))


def lost_gradient(x: Value, y: Value, z: Value, x_2: Value, y_2: Value, z_2: Value) -> Value:
    """Lengths of two gradients less that of their sum, not negative, in e bohr^-4."""
    return at_least(norm(x, y, z) + norm(x_2, y_2, z_2) - norm(x + x_2, y + y_2, z + z_2), 0.0)


def lost_shared_gradient(
    density: Value, x: Value, y: Value, z: Value, one: Value, other: Value, *gradients: Value
) -> Value:
    r"""The same of a density that two sides share by the densities of their free atoms.

    With the share :math:`w = P_A / P`, :math:`\nabla(w\rho) = w \nabla\rho + \rho (P_B \nabla P_A - P_A \nabla P_B) /
    P^2`, and the rest is the other side's.

    Parameters
    ----------
    density, x, y, z
        Of the molecule, and its gradient.
    one, other
        Densities of the free atoms of both sides.
    *gradients
        Their gradients: x, y, z of the first, then of the second.
    """
    one, other = at_least(one, 0.0), at_least(other, 0.0)
    total = one + other
    there = above(total, _NOTHING)
    inverse = there / at_least(total, _NOTHING)
    share = one * inverse
    first, second = share * density * inverse, (1.0 - share) * density * inverse
    parts = [
        share * whole + second * of_one - first * of_other
        for whole, of_one, of_other in zip((x, y, z), gradients[:3], gradients[3:], strict=True)
    ]
    rest = [whole - part for whole, part in zip((x, y, z), parts, strict=True)]
    return there * lost_gradient(parts[0], parts[1], parts[2], rest[0], rest[1], rest[2])


def _of_gradient(isovalue: float) -> float:
    """What each side's gradient has where the field has an isovalue: no more is lost than twice the shorter one."""
    return isovalue / 2


def _of_shared_gradient(isovalue: float) -> float:
    """The same, of the free atoms, where the density of the molecule is shared."""
    return isovalue / (2 * _SHARED)


def unavailable(wavefunction: Wavefunction) -> Mapping[str, str]:
    """Both, of an atom alone."""
    alone = np.count_nonzero(wavefunction.atomic_numbers) < 2
    return {name: "there is one atom" for name, _ in NAMES} if alone else {}


def resolve(wavefunction: Wavefunction, name: str, references: References) -> FieldBetween | None:
    """The field that a name stands for, or None.

    Raises
    ------
    FieldError
        When the atoms cannot be read, or are none or all of them.
    """
    family, _, listed = name.strip().lower().partition(":")
    if family not in COLOURED_BY:
        return None
    sides = sides_of(wavefunction, name, listed)
    gradients = sides.gradients()
    of_one, of_other = concatenated(list(gradients[:3])), concatenated(list(gradients[3:]))
    # free atoms have the densities that Hirshfeld's shares give them
    shared = family == "igmh" and not wavefunction.promolecule
    whole = (density_of(wavefunction), *gradient_of(wavefunction), sides.one, sides.other) if shared else ()
    return FieldBetween(
        (*whole, *gradients),
        "δg between fragments",
        "e bohr^-4",
        0.005 if shared else 0.01,
        of_one,
        wavefunction.positions,
        _of_shared_gradient if shared else _of_gradient,
        lost_shared_gradient if shared else lost_gradient,
        fewest_points=_THIN,
        absence=_FAR,
        opposite=of_other,
        most_points=MOST_POINTS if wavefunction.promolecule else 0,
        is_bounded=not shared,
    )
