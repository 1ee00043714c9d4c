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

from collections.abc import Mapping

import numpy as np

from taichi_kernels.expressions import Value, above, at_least

from ..gaussians.expansion import concatenated
from ..model.wavefunction import Wavefunction
from ._field import References
from ._sides import FieldBetween, sides_of
from .density import density_of
from .derivatives import gradient_of, norm

PRIORITY = 59
GROUP = "Weak interactions"
NAMES = (
    (
        "igmh:1",
        "Where atom 1 interacts with the rest (or atoms 1-6,9): gradients that the density lacks",
    ),
    ("igm:1", "The same by the densities of free atoms (independent gradient model)"),
)

COLOURED_BY = {"igm": "nci", "igmh": "nci"}
"""Fields whose surfaces are coloured by another one by convention."""

_THIN = 1 << 19
"""Points of a lattice below which small surfaces between two atoms have facets."""

_SHARED = 8.0
"""Gradients of the share of a molecule's density are larger than those of free atoms by no more, where they matter."""

_NOTHING = 1e-12
"""Density in e bohr^-3 below which nothing is shared out."""

_FAR = "nothing is between these atoms and the rest here: they are too far apart"


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
        is_bounded=not shared,
    )
