r"""Weak interactions: the reduced density gradient, and the density with the sign of its curvature that colours it.

.. math::  s = \frac{|\nabla\rho|}{2(3\pi^2)^{1/3}\rho^{4/3}}

(Johnson et al., J. Am. Chem. Soc. 2010, 132, 6498). The reduced gradient is not less than a function of the density
that reaches 0.5 where the density is 0.07 and 0.0005: its isosurface at 0.5 ends on these contours, of bonds and of
vacuum. Followed by atoms, as `nci:1-12`, it is of what lies between these and the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import log

import numpy as np

from taichi_kernels.expressions import Value, above, at_least, at_most, cbrt, log1p

from ..base.errors import FieldError
from ..gaussians.expansion import GaussianExpansion, gradient
from ..model.wavefunction import Wavefunction
from . import Field, References
from ._sums import SumField
from .density import density_of
from .derivatives import gradient_of, hessian_of, norm, second_derivatives
from .igm import MOST_POINTS, FieldBetween, sides_of

PRIORITY = 60
GROUP = "Weak interactions"
NAMES = (
    ("nci", "Hydrogen bonds (blue), van der Waals contacts (green), clashes (red)"),
    ("rdg", "The same surfaces without these colours (reduced density gradient)"),
    ("nci:1", "The same between atom 1 and the rest only (or atoms 1-6,9)"),
)

DRAWN_ON = {"nci": "rdg"}
"""Fields that jump, and so have no isosurface of their own: the field whose surface they colour."""

_GRADIENT = 2 * (3 * np.pi**2) ** (1 / 3)

_WEAK, _WEAKER = (0.05, 0.07), (1e-3, 5e-4)
"""Densities at which the least reduced gradient is 0 and 0.5: above are bonds, below is vacuum. It goes with the
logarithm of the density."""
_NO_DENSITY = 0.01 * _WEAKER[1]
"""Density that smaller ones count as."""
_ABSENT = 1e-30
_SURFACE = 0.5
"""Reduced gradient of the usual isosurface."""
_MOST = 2.0
"""Reduced gradients are cut off here: they grow without limit away from the molecule."""

_SHARED, _ALONE = 0.9, 0.95
"""Shares of a side in the density at which the least reduced gradient between sides is 0 and 0.5: where one has more
than 95 %, it is within that side (J. Contreras-Garcia et al., J. Chem. Theory Comput. 2011, 7, 625)."""
_LEAST_SHARE = 0.01
"""Share of the other side that is looked for at least."""

_NONE = (
    f"there are no weak interactions here: where the density is from {_WEAKER[1]:g} to {_WEAK[1]:g} e bohr^-3, the "
    f"reduced density gradient is nowhere below {_SURFACE:g}"
)

_THIN = 1 << 21
"""Points of a lattice below which sheets of a tenth of an Angstrom have holes."""

_MOST_ATOMS = 10_000
"""Of a structure whose every interaction is shown: 3,196 atoms take 12 s of processor time and 36 million points."""

_UNDIVIDED = 1.0
"""Of what a density may lose to screening: of second derivatives only a sign is shown, which may be wrong where the
middle eigenvalue is within 2e-5 of 0, about contours that are some thousandths of a bohr thick."""

_ATTRACTION = 0.04
"""Density at the ends of the colours of `nci`: attraction blue, repulsion red, as in the literature."""


def plain_gradient(density: Value, x: Value, y: Value, z: Value) -> Value:
    """Reduced density gradient anywhere, cut off where it is large."""
    rho = at_least(density, _NO_DENSITY)
    return at_most(norm(x, y, z) / (_GRADIENT * (rho * cbrt(rho))), _MOST)


def within_range(gradient: Value, density: Value) -> Value:
    """Reduced density gradient made large in bonds and in vacuum, given that and the density."""
    place = log1p(at_least(density * (1 / _NO_DENSITY), 1.0) - 1.0)  # of the logarithm, from that of no density
    s = gradient
    for none, half in (_WEAK, _WEAKER):
        slope = _SURFACE / log(half / none)
        s = at_least(s, slope * place + slope * log(_NO_DENSITY / none))
    return at_most(s, _MOST)


def reduced_gradient(density: Value, x: Value, y: Value, z: Value) -> Value:
    """Reduced density gradient, cut off where it is large, and large in bonds and in vacuum."""
    return within_range(plain_gradient(density, x, y, z), density)


def signed_density(density: Value, xx: Value, yy: Value, zz: Value, xy: Value, xz: Value, yz: Value) -> Value:
    """Density with the sign of the middle eigenvalue of its Hessian."""
    # The middle of three eigenvalues is negative where two or three of them are. How many are, the signs of the trace,
    # the sum of the principal minors and the determinant tell (Descartes): with a positive determinant, two unless
    # trace and minors are positive; otherwise three with a negative trace and positive minors.
    trace = xx + yy + zz
    minors = xx * yy + yy * zz + zz * xx - xy * xy - xz * xz - yz * yz
    determinant = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz)
    positive, convex = above(determinant, 0.0), above(minors, 0.0)
    two = positive * (1.0 - convex * above(trace, 0.0))
    three = (1.0 - positive) * (convex * above(-trace, 0.0))
    return density * (1.0 - 2.0 * (two + three))


def _density_of_vacuum(isovalue: float) -> float:
    """Density below which the reduced gradient exceeds an isovalue everywhere."""
    none, half = _WEAKER
    return float(none * (half / none) ** (min(isovalue, _MOST) / _SURFACE))


def _density_of_coloured(isovalue: float) -> float:
    """Density to which `nci` is followed: a lattice as that of the surface which it colours."""
    return min(isovalue, _WEAKER[1])


def between_sides(gradient: Value, one: Value, other: Value) -> Value:
    """Reduced density gradient made large where one side has nearly all of the density of the free atoms."""
    one, other = at_least(one, _ABSENT), at_least(other, 0.0)  # where neither has any, one has all
    share = at_least(one, other) / (one + other)
    lone = _SURFACE / (_ALONE - _SHARED) * (share - _SHARED)
    return at_most(at_least(gradient, lone), _MOST)


def interfragment_gradient(density: Value, x: Value, y: Value, z: Value, one: Value, other: Value) -> Value:
    """Reduced density gradient between two sides.

    Parameters
    ----------
    density, x, y, z
        Of the molecule, and its gradient.
    one, other
        Densities of the free atoms of both sides.
    """
    return between_sides(reduced_gradient(density, x, y, z), one, other)


def plain(field: Field) -> Field:
    """The field `rdg`, or one between sides, as it is in bonds and in vacuum too: as diagrams show it."""
    assert isinstance(field, SumField)

    def combine(density: Value, x: Value, y: Value, z: Value, *sides: Value) -> Value:
        gradient = plain_gradient(density, x, y, z)
        return between_sides(gradient, *sides) if sides else gradient

    return replace(field, combine=combine)


def _density_of_side(isovalue: float) -> float:
    """Density of a side, of its free atoms, below which the gradient between sides exceeds an isovalue."""
    share = _SHARED + (_ALONE - _SHARED) * min(isovalue, _MOST) / _SURFACE
    return max(1 - share, _LEAST_SHARE) * _density_of_vacuum(isovalue)


def unavailable(wavefunction: Wavefunction) -> Mapping[str, str]:
    """What is between fragments, of an atom alone."""
    if np.count_nonzero(wavefunction.atomic_numbers) < 2:
        return {name: "there is one atom" for name, _ in NAMES if ":" in name}
    return dict.fromkeys(("nci", "rdg"), _too_large(wavefunction)) if wavefunction.n_atoms > _MOST_ATOMS else {}


def _too_large(wavefunction: Wavefunction) -> str:
    return (
        f"a lattice fine enough for all {wavefunction.n_atoms:,} atoms takes minutes to hours; name the atoms of a "
        "fragment, as nci:1-12, for what is between these and the rest"
    )


def resolve(wavefunction: Wavefunction, name: str, references: References) -> SumField | None:
    """The field that a name stands for, or None.

    Raises
    ------
    FieldError
        When the atoms of a fragment cannot be read, or are none or all of them; when none are named of a large
        structure.
    """
    wanted, colon, listed = name.strip().lower().partition(":")
    if wanted not in ("rdg", "nci"):
        return None
    if not colon and wavefunction.n_atoms > _MOST_ATOMS:
        raise FieldError(f"field '{wanted}': {_too_large(wavefunction)}")
    sides = sides_of(wavefunction, name, listed) if colon else None
    if sides is not None and wavefunction.promolecule:  # of a large one, what is near
        density = sides.both()
        slopes: tuple[GaussianExpansion, ...] = gradient(density)
    else:
        density, slopes = density_of(wavefunction), gradient_of(wavefunction)
    if wanted == "nci":
        near = sides is not None and wavefunction.promolecule
        hessian = second_derivatives(slopes) if near else hessian_of(wavefunction)
        return SumField(
            (density, *hessian),
            "sign(λ₂)ρ",
            "e bohr^-3",
            0.02,
            density,
            wavefunction.positions,
            _density_of_coloured,
            signed_density,
            fewest_points=_THIN,
            jumps=True,
            share_of_loss=_UNDIVIDED,
            colour_range=_ATTRACTION,
            colour_map="interaction",
        )
    if sides is None:
        return SumField(
            (density, *slopes),
            "reduced density gradient",
            "",
            _SURFACE,
            density,
            wavefunction.positions,
            _density_of_vacuum,
            reduced_gradient,
            fewest_points=_THIN,
            absence=_NONE,
        )
    return FieldBetween(
        (density, *slopes, sides.one, sides.other),
        "reduced density gradient between fragments",
        "",
        _SURFACE,
        sides.one,
        wavefunction.positions,
        _density_of_side,
        interfragment_gradient,
        fewest_points=_THIN // 4,
        absence=f"between these atoms and the rest {_NONE}",
        opposite=sides.other,
        most_points=MOST_POINTS if wavefunction.promolecule else 0,
        is_bounded=False,
    )
