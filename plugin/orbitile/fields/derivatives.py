"""Derivatives of the density, and kinetic energy densities."""

from __future__ import annotations

from dataclasses import replace

from taichi_kernels.expressions import Value, sqrt

from ..base.caches import Derived
from ..gaussians.expansion import GaussianExpansion, concatenated, derivative, gradient
from ..gaussians.products import kinetic_products
from ..model.wavefunction import Wavefunction
from . import References
from ._sums import SumField
from .density import density_of, occupied

PRIORITY = 20
GROUP = "Derivatives of the density"
NAMES = (
    ("laplacian", "Where density is concentrated (negative) or depleted (positive): the Laplacian of the density"),
    ("gradient", "How steep the density is: the magnitude of its gradient"),
    ("gradient:x", "One component of the gradient (or :y, :z)"),
    ("hessian:xy", "One second derivative of the density"),
    ("kinetic", "The kinetic energy density G, positive everywhere"),
    ("kinetic:k", "The kinetic energy density K, which is G minus a quarter of the Laplacian"),
)


_STEEP = 1 << 18
"""Points of a lattice below which the surfaces are rough: they bend about nuclei within a tenth of an Angstrom."""

_PAIRS = ("xx", "yy", "zz", "xy", "xz", "yz")


def gradient_of(wavefunction: Wavefunction, which: str = "total") -> tuple[GaussianExpansion, ...]:
    """The three components of the gradient of the density."""
    density = density_of(wavefunction, which)
    return _DERIVATIVES.of(wavefunction, ("gradient", which), lambda: gradient(density))


def hessian_of(wavefunction: Wavefunction) -> tuple[GaussianExpansion, ...]:
    """The second derivatives of the density: xx, yy, zz, xy, xz, yz."""
    return _DERIVATIVES.of(wavefunction, "hessian", lambda: second_derivatives(gradient_of(wavefunction)))


def second_derivatives(slopes: tuple[GaussianExpansion, ...]) -> tuple[GaussianExpansion, ...]:
    """xx, yy, zz, xy, xz, yz of a sum, from the three components of its gradient."""
    return tuple(derivative(slopes["xyz".index(pair[0])], "xyz".index(pair[1])) for pair in _PAIRS)


def laplacian_of(wavefunction: Wavefunction) -> GaussianExpansion:
    """The Laplacian of the density, as one sum."""

    def make() -> tuple[GaussianExpansion, ...]:
        xx, yy, zz = (derivative(part, axis) for axis, part in enumerate(gradient_of(wavefunction)))
        return (replace(xx, terms=xx.terms + yy.terms + zz.terms, origin=None),)

    return _DERIVATIVES.of(wavefunction, "laplacian", make)[0]


def kinetic_of(wavefunction: Wavefunction) -> GaussianExpansion:
    """The kinetic energy density G, half the sum of the squared gradients of the orbitals."""

    def make() -> tuple[GaussianExpansion, ...]:
        return (kinetic_products(wavefunction, *occupied(wavefunction, "total")),)

    return _DERIVATIVES.of(wavefunction, "kinetic", make)[0]


_DERIVATIVES = Derived[tuple[GaussianExpansion, ...]]("sums of Gaussians")


def norm(x: Value, y: Value, z: Value) -> Value:
    """Length of vectors."""
    return sqrt(x * x + y * y + z * z)


def resolve(wavefunction: Wavefunction, name: str, references: References) -> SumField | None:
    """The derivative that a name stands for, or None."""
    wanted, atoms = name.lower(), wavefunction.positions
    family, _, axes = wanted.partition(":")
    pair = "".join(sorted(axes))
    if wanted == "gradient":
        parts = gradient_of(wavefunction)
        quantity, unit, isovalue = "gradient of the density", "e bohr^-4", 0.1
    elif family == "gradient" and axes in ("x", "y", "z"):
        parts = (gradient_of(wavefunction)["xyz".index(axes)],)
        quantity, unit, isovalue = f"gradient of the density along {axes}", "e bohr^-4", 0.1
    elif family == "hessian" and pair in _PAIRS:
        parts = (hessian_of(wavefunction)[_PAIRS.index(pair)],)
        quantity, unit, isovalue = f"second derivative {pair} of the density", "e bohr^-5", 0.3
    elif wanted == "laplacian":
        parts = (laplacian_of(wavefunction),)
        quantity, unit, isovalue = "Laplacian of the density", "e bohr^-5", 0.5
    elif wanted in ("kinetic", "kinetic:g"):
        parts = (kinetic_of(wavefunction),)
        quantity, unit, isovalue = "kinetic energy density G", "hartree bohr^-3", 0.1
    elif wanted == "kinetic:k":
        parts = (concatenated([kinetic_of(wavefunction), laplacian_of(wavefunction).scaled(-0.25)]),)
        quantity, unit, isovalue = "kinetic energy density K", "hartree bohr^-3", 0.1
    else:
        return None
    extent, combine = (parts[0], None) if len(parts) == 1 else (concatenated(list(parts)), norm)
    # each component may lose as much to screening as if it were alone
    return SumField(
        parts, quantity, unit, isovalue, extent, atoms, combine=combine, fewest_points=_STEEP, share_of_loss=1.0
    )
