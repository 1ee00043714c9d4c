"""Derivatives of the density, and kinetic energy densities."""

from __future__ import annotations

from taichi_kernels.expressions import Value, sqrt

from ..base.caches import Derived
from ..gaussians.expansion import GaussianExpansion, concatenated, derivative
from ..gaussians.products import kinetic_products
from ..model.wavefunction import Wavefunction
from ._field import References
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
    ("kinetic:k", "The kinetic energy density K, which is G less a quarter of the Laplacian"),
)


_STEEP = 1 << 18
"""Points of a lattice below which the surfaces are rough: they bend about nuclei within a tenth of an Angstrom."""

_PAIRS = ("xx", "yy", "zz", "xy", "xz", "yz")


def gradient_of(wavefunction: Wavefunction, which: str = "total") -> tuple[GaussianExpansion, ...]:
    """The three components of the gradient of the density."""
    density = density_of(wavefunction, which)
    return _DERIVATIVES.of(
        wavefunction, ("gradient", which), lambda: tuple(derivative(density, axis) for axis in range(3))
    )


def hessian_of(wavefunction: Wavefunction) -> tuple[GaussianExpansion, ...]:
    """The second derivatives of the density: xx, yy, zz, xy, xz, yz."""
    x, y, z = gradient_of(wavefunction)
    pairs = ((x, 0), (y, 1), (z, 2), (x, 1), (x, 2), (y, 2))
    return _DERIVATIVES.of(wavefunction, "hessian", lambda: tuple(derivative(part, axis) for part, axis in pairs))


def laplacian_of(wavefunction: Wavefunction) -> GaussianExpansion:
    """The Laplacian of the density, as one sum."""

    def make() -> tuple[GaussianExpansion, ...]:
        xx, yy, zz = (derivative(part, axis) for axis, part in enumerate(gradient_of(wavefunction)))
        terms = xx.terms + yy.terms + zz.terms
        return (GaussianExpansion(xx.centre, xx.exponent, xx.degree, xx.first_term, terms),)

    return _DERIVATIVES.of(wavefunction, "laplacian", make)[0]


def kinetic_of(wavefunction: Wavefunction, which: str = "total") -> GaussianExpansion:
    """The kinetic energy density G, half the sum of the squared gradients of the orbitals."""

    def make() -> tuple[GaussianExpansion, ...]:
        return (kinetic_products(wavefunction, *occupied(wavefunction, which)),)

    return _DERIVATIVES.of(wavefunction, ("kinetic", which), make)[0]


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
        steepest = concatenated(list(parts))
        return SumField(
            parts,
            "gradient of the density",
            "e bohr^-4",
            0.1,
            steepest,
            atoms,
            combine=norm,
            fewest_points=_STEEP,
            share_of_loss=1.0,  # each component as if it were alone
        )
    if family == "gradient" and axes in ("x", "y", "z"):
        expansion = gradient_of(wavefunction)["xyz".index(axes)]
        quantity, unit, isovalue = f"gradient of the density along {axes}", "e bohr^-4", 0.1
    elif family == "hessian" and pair in _PAIRS:
        expansion = hessian_of(wavefunction)[_PAIRS.index(pair)]
        quantity, unit, isovalue = f"second derivative {pair} of the density", "e bohr^-5", 0.3
    elif wanted == "laplacian":
        expansion = laplacian_of(wavefunction)
        quantity, unit, isovalue = "Laplacian of the density", "e bohr^-5", 0.5
    elif wanted in ("kinetic", "kinetic:g"):
        expansion = kinetic_of(wavefunction)
        quantity, unit, isovalue = "kinetic energy density G", "hartree bohr^-3", 0.1
    elif wanted == "kinetic:k":
        expansion = concatenated([kinetic_of(wavefunction), laplacian_of(wavefunction).scaled(-0.25)])
        quantity, unit, isovalue = "kinetic energy density K", "hartree bohr^-3", 0.1
    else:
        return None
    return SumField((expansion,), quantity, unit, isovalue, expansion, atoms, fewest_points=_STEEP)
