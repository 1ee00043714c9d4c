r"""What is made of the density and its derivatives to show bonds, lone pairs and weak interactions.

With the density :math:`\rho`, its gradient and :math:`\tau = \frac12\sum_i n_i|\nabla\psi_i|^2`, for a closed shell
(Becke and Edgecombe, J. Chem. Phys. 1990, 92, 5397; Savin et al., Angew. Chem. Int. Ed. 1992, 31, 187; Schmider and
Becke, J. Mol. Struct. THEOCHEM 2000, 527, 51; Johnson et al., J. Am. Chem. Soc. 2010, 132, 6498; Politzer et al.,
J. Mol. Model. 2010, 16, 1731):

.. math::  ELF = \frac{1}{1 + (D/D_0)^2},\quad D = \tau - \frac{|\nabla\rho|^2}{8\rho},\quad
           D_0 = \tfrac{3}{10}(3\pi^2)^{2/3}\rho^{5/3}
.. math::  LOL = \frac{D_0/\tau}{1 + D_0/\tau},\quad  s = \frac{|\nabla\rho|}{2(3\pi^2)^{1/3}\rho^{4/3}},\quad
           \bar I = \frac{\sum_i n_i |\epsilon_i| \psi_i^2}{\rho}
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..errors import FieldError
from ..expansion import GaussianExpansion
from ..products import density_products
from ..sampling import SumField
from ..wavefunction import Wavefunction
from .density import density_of, occupied
from .derivatives import gradient_of, hessian_of, kinetic_of, norm

NAMES = (
    ("elf", "electron localisation function, 0 to 1"),
    ("lol", "localised orbital locator, 0 to 1"),
    ("rdg", "reduced density gradient, where the density is below 0.05"),
    ("nci", "density times the sign of the second eigenvalue of its Hessian"),
    ("ionisation", "average local ionisation energy"),
)

Reals = NDArray[np.floating]
Combine = Callable[..., Reals]

_FERMI = 0.3 * (3 * np.pi**2) ** (2 / 3)
_GRADIENT = 2 * (3 * np.pi**2) ** (1 / 3)
_VACUUM = 1e-5
"""Density in e bohr^-3 below which there is nothing to localise: ELF and LOL are 0 there."""
_WEAK = 0.05
"""Density above which bonds are no weak interactions."""
_MOST = 2.0
"""Reduced gradients are cut off here: they grow without limit away from the molecule."""
_EDGE = 1e-3
"""Density at the faces of the lattice on which these fields are shown."""


def electron_localisation(density: Reals, x: Reals, y: Reals, z: Reals, kinetic: Reals) -> Reals:
    """ELF from density, gradient and kinetic energy density."""
    rho = np.maximum(density, _VACUUM)
    excess = np.maximum(kinetic - (x * x + y * y + z * z) / (8 * rho), 0)
    ratio = excess / (_FERMI * rho ** (5 / 3))
    return np.where(density > _VACUUM, 1 / (1 + ratio * ratio), 0).astype(density.dtype)


def localised_orbital_locator(density: Reals, kinetic: Reals) -> Reals:
    """LOL from density and kinetic energy density."""
    rho = np.maximum(density, _VACUUM)
    fermi = _FERMI * rho ** (5 / 3)
    return np.where(density > _VACUUM, fermi / (fermi + np.maximum(kinetic, 0)), 0).astype(density.dtype)


def reduced_gradient(density: Reals, x: Reals, y: Reals, z: Reals) -> Reals:
    """Reduced density gradient, cut off where it is large and where the density is."""
    rho = np.maximum(density, 1e-12)
    s = norm(x, y, z) / (_GRADIENT * rho ** (4 / 3))
    return np.where(density < _WEAK, np.minimum(s, _MOST), _MOST).astype(density.dtype)


def signed_density(density: Reals, xx: Reals, yy: Reals, zz: Reals, xy: Reals, xz: Reals, yz: Reals) -> Reals:
    """Density with the sign of the middle eigenvalue of its Hessian."""
    # The middle of three eigenvalues is negative where two or three of them are. How many are, the signs of the trace,
    # the sum of the principal minors and the determinant tell (Descartes).
    trace = xx + yy + zz
    minors = xx * yy + yy * zz + zz * xx - xy * xy - xz * xz - yz * yz
    determinant = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz)
    two_or_three = np.where(determinant > 0, (minors <= 0) | (trace <= 0), (trace < 0) & (minors > 0))
    return np.where(two_or_three, -density, density).astype(density.dtype)


def ionisation_energy(weighted: Reals, density: Reals) -> Reals:
    """Average local ionisation energy, 0 where there is no density."""
    return np.where(density > _VACUUM, weighted / np.maximum(density, _VACUUM), 0).astype(density.dtype)


def resolve(wavefunction: Wavefunction, name: str) -> SumField | None:
    """The field that a name stands for, or None.

    Raises
    ------
    FieldError
        For `ionisation`, when the file gives no orbital energies.
    """
    wanted = name.lower()
    if wanted not in dict(NAMES):
        return None
    density = density_of(wavefunction)

    def field(
        parts: tuple[GaussianExpansion, ...], quantity: str, unit: str, isovalue: float, combine: Combine
    ) -> SumField:
        return SumField(parts, quantity, unit, isovalue, density, wavefunction.positions, _EDGE, combine)

    if wanted == "elf":
        parts = (density, *gradient_of(wavefunction), kinetic_of(wavefunction))
        return field(parts, "electron localisation function", "", 0.8, electron_localisation)
    if wanted == "lol":
        return field(
            (density, kinetic_of(wavefunction)), "localised orbital locator", "", 0.55, localised_orbital_locator
        )
    if wanted == "rdg":
        return field((density, *gradient_of(wavefunction)), "reduced density gradient", "", 0.5, reduced_gradient)
    if wanted == "nci":
        return field((density, *hessian_of(wavefunction)), "sign(lambda2) rho", "e bohr^-3", 0.02, signed_density)
    coefficients, weights = occupied(wavefunction, "total")
    energies = np.concatenate(
        [set_.energies[np.abs(set_.occupations) > 1e-10] for set_ in (wavefunction.alpha, wavefunction.beta) if set_]
    )
    if wavefunction.natural or not np.all(np.isfinite(energies)) or not np.any(energies):
        raise FieldError("field 'ionisation': it needs orbital energies, and this file gives none")
    weighted = density_products(wavefunction, coefficients, weights * np.abs(energies))
    return field((weighted, density), "average local ionisation energy", "hartree", 0.5, ionisation_energy)
