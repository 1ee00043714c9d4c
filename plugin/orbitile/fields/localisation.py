r"""What is made of the density and its derivatives to show bonds, lone pairs and weak interactions.

With the densities :math:`\rho_\sigma` of the spins, their gradients and
:math:`\tau = \frac12\sum_i n_i|\nabla\psi_i|^2` (Becke and Edgecombe, J. Chem. Phys. 1990, 92, 5397; for open shells
Kohout and Savin, Int. J. Quantum Chem. 1996, 60, 875; Schmider and Becke, J. Mol. Struct. THEOCHEM 2000, 527, 51;
Johnson et al., J. Am. Chem. Soc. 2010, 132, 6498; Politzer et al., J. Mol. Model. 2010, 16, 1731):

.. math::  ELF = \frac{1}{1 + (D/D_0)^2},\quad
           D = \tau - \sum_\sigma \frac{|\nabla\rho_\sigma|^2}{8\rho_\sigma},\quad
           D_0 = \tfrac{3}{10}(6\pi^2)^{2/3} \sum_\sigma \rho_\sigma^{5/3}
.. math::  LOL = \frac{D_0/\tau}{1 + D_0/\tau},\quad  s = \frac{|\nabla\rho|}{2(3\pi^2)^{1/3}\rho^{4/3}},\quad
           \bar I = \frac{\sum_i n_i |\epsilon_i| \psi_i^2}{\rho}

Where all electrons are paired, both spins have half the density, and one sum stands for them.

These ratios do not die out with the density: far from a molecule they tell about the tails of the basis set. Each
therefore means something down to a density that is stated here. Below it ELF, LOL and the ionisation energy fade to 0
over a decade of the density, and so smoothly that their isosurfaces end along a contour of the density, on any lattice.
The reduced gradient is not less than a function of the density that reaches 0.5 where the density is 0.07 and 0.0005:
its isosurface at 0.5 ends on these contours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import asin, log, sin
from operator import mul

import numpy as np
from numpy.typing import NDArray

from ..errors import FieldError
from ..gaussians.products import density_products
from ..kernels._tolerances import tolerances
from ..model.wavefunction import Wavefunction
from ._field import References
from ._sums import SumField
from .density import density_of, occupied
from .derivatives import gradient_of, hessian_of, kinetic_of, norm

NAMES = (
    ("elf", "electron localisation function, 0 to 1, where the density is above 0.001"),
    ("lol", "localised orbital locator, 0 to 1, where the density is above 0.001"),
    ("rdg", "reduced density gradient, where the density is below 0.07 and above 0.0005"),
    ("nci", "density times the sign of the second eigenvalue of its Hessian, drawn as colours of rdg"),
    ("ionisation", "average local ionisation energy, where the density is above 0.0001"),
)

DRAWN_ON = {"nci": "rdg"}
"""Fields that jump, and so have no isosurface of their own: the field whose surface they colour."""

Reals = NDArray[np.floating]
Combine = Callable[..., Reals]

_FERMI = 0.3 * (6 * np.pi**2) ** (2 / 3)
"""Of the kinetic energy density of uniform electrons of one spin."""
_PAIRED = 2 ** (-2 / 3)
"""What two spins of half the density each have of it, in terms of the whole density."""
_GRADIENT = 2 * (3 * np.pi**2) ** (1 / 3)

_LOCALISED = 1e-3
"""Density in e bohr^-3 above which ELF and LOL are shown as they are: that of the surface of a molecule."""
_IONISED = 1e-4
"""The same for the ionisation energy, whose values on surfaces of the density down to 0.0004 are of interest."""
_DECADE = 10.0
"""Factor in the density over which they fade to 0."""

_WEAK, _WEAKER = (0.05, 0.07), (1e-3, 5e-4)
"""Densities at which the least reduced gradient is 0 and 0.5: above are bonds, below is vacuum. It goes with the
logarithm of the density."""
_SURFACE = 0.5
"""Reduced gradient of the usual isosurface."""
_MOST = 2.0
"""Reduced gradients are cut off here: they grow without limit away from the molecule."""

_THIN, _FADING, _SMALL = 1 << 20, 1 << 17, 1 << 14
"""Points of lattices below which sheets of a tenth of an Angstrom have holes, the end of a field has bumps, and what
there is about a single atom is passed over."""

_ATTRACTION = 0.04
"""Density at the ends of the colours of `nci`: attraction blue, repulsion red, as in the literature."""


def faded(values: Reals, density: Reals, least: float) -> Reals:
    """Values where the density is above `least`, 0 where it is below a tenth of that, smooth between."""
    place = np.maximum(density, least / _DECADE)
    place *= _DECADE / least
    np.log(place, out=place)
    place *= (1 + 1e-6) / log(_DECADE)  # a little more, so that it is 1 after rounding too
    np.minimum(place, 1, out=place)
    share = place * -2
    share += 3
    share *= place
    share *= place
    share *= values
    return share


def density_at(share: float, least: float) -> float:
    """Density at which a share of the values is left, of `faded`."""
    # the root of 3 x^2 - 2 x^3 = share between 0 and 1
    place = 0.5 - sin(asin(1 - 2 * min(max(share, 0.0), 1.0)) / 3)
    return float(least * _DECADE ** (place - 1))


def electron_localisation(*values: Reals, paired: bool) -> Reals:
    """ELF from density and gradient of each spin, or of both where they are paired; the kinetic energy density last."""
    *spins, kinetic = values
    total, fermi = _total(spins[::4], paired)
    excess = kinetic.copy()
    for density, x, y, z in zip(*[iter(spins)] * 4, strict=True):
        square = x * x
        square += y * y
        square += z * z
        square /= 8 * np.maximum(density, tolerances(density.dtype).density)
        excess -= square
    np.maximum(excess, 0, out=excess)
    excess /= fermi
    excess *= excess
    excess += 1
    return faded(1 / excess, total, _LOCALISED)


def localised_orbital_locator(*values: Reals, paired: bool) -> Reals:
    """LOL from the density of each spin, or of both where they are paired; the kinetic energy density last."""
    *spins, kinetic = values
    total, fermi = _total(spins, paired)
    return faded(fermi / (fermi + np.maximum(kinetic, 0)), total, _LOCALISED)


def _total(densities: list[Reals], paired: bool) -> tuple[Reals, Reals]:
    """Density and kinetic energy density of uniform electrons, from the densities of the spins or of both."""
    total = densities[0] if len(densities) == 1 else densities[0] + densities[1]
    least = _LOCALISED / _DECADE
    if paired:
        return total, _FERMI * _PAIRED * np.maximum(total, least) ** (5 / 3)
    fermi = _FERMI * sum(np.maximum(density, 0) ** (5 / 3) for density in densities)
    return total, np.maximum(fermi, _FERMI * _PAIRED * least ** (5 / 3))


def reduced_gradient(density: Reals, x: Reals, y: Reals, z: Reals) -> Reals:
    """Reduced density gradient, cut off where it is large, and large in bonds and in vacuum."""
    rho = np.maximum(density, _WEAKER[1] * 0.01)
    s = norm(x, y, z) / (_GRADIENT * rho ** (4 / 3))
    place = np.log(rho)
    for none, half in (_WEAK, _WEAKER):
        slope = _SURFACE / log(half / none)
        s = np.maximum(s, slope * place - slope * log(none))
    result: Reals = np.minimum(s, _MOST)
    return result


def signed_density(density: Reals, xx: Reals, yy: Reals, zz: Reals, xy: Reals, xz: Reals, yz: Reals) -> Reals:
    """Density with the sign of the middle eigenvalue of its Hessian."""
    # The middle of three eigenvalues is negative where two or three of them are. How many are, the signs of the trace,
    # the sum of the principal minors and the determinant tell (Descartes).
    trace = xx + yy + zz
    minors = xx * yy + yy * zz + zz * xx - xy * xy - xz * xz - yz * yz
    determinant = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz)
    two_or_three = np.where(determinant > 0, (minors <= 0) | (trace <= 0), (trace < 0) & (minors > 0))
    return np.where(two_or_three, -density, density).astype(density.dtype)


def _density_of_vacuum(isovalue: float) -> float:
    """Density below which the reduced gradient exceeds an isovalue everywhere."""
    none, half = _WEAKER
    return float(none * (half / none) ** (min(isovalue, _MOST) / _SURFACE))


def _density_of_coloured(isovalue: float) -> float:
    """Density to which `nci` is followed: a lattice as that of the surface which it colours."""
    return min(isovalue, _WEAKER[1])


def ionisation_energy(weighted: Reals, density: Reals) -> Reals:
    """Average local ionisation energy, 0 where there is no density."""
    return faded(weighted / np.maximum(density, _IONISED / _DECADE), density, _IONISED)


def unpaired(wavefunction: Wavefunction) -> tuple[str, ...]:
    """The spins whose densities differ: alpha and beta, or alpha alone; none where all electrons are paired.

    Natural orbitals of both spins do not tell them apart: then none, too.
    """
    beta = wavefunction.beta
    if beta is not None and not wavefunction.density_matrix.size:
        alpha = wavefunction.alpha
        if np.array_equal(alpha.occupations, beta.occupations) and np.array_equal(
            alpha.coefficients[:, alpha.occupations > 0], beta.coefficients[:, beta.occupations > 0]
        ):
            return ()
    try:
        if len(occupied(wavefunction, "spin")[1]) == 0:
            return ()
    except FieldError:
        return ()
    found = []
    for spin in ("alpha", "beta"):
        try:
            occupied(wavefunction, spin)
        except FieldError:  # it has no electrons
            continue
        found.append(spin)
    return tuple(found)


def resolve(wavefunction: Wavefunction, name: str, references: References) -> SumField | None:
    """The field that a name stands for, or None.

    Raises
    ------
    FieldError
        For `ionisation`, when the file gives no orbital energies.
    """
    wanted, atoms = name.lower(), wavefunction.positions
    if wanted not in dict(NAMES):
        return None
    density = density_of(wavefunction)
    if wanted in ("elf", "lol"):
        spins = unpaired(wavefunction)
        densities = [density_of(wavefunction, spin) for spin in spins] or [density]
        kinetic = kinetic_of(wavefunction)
        visible = partial(density_at, least=_LOCALISED)  # neither exceeds 1
        if wanted == "lol":
            parts = (*densities, kinetic)
            combine = partial(localised_orbital_locator, paired=not spins)
            return SumField(
                parts, "localised orbital locator", "", 0.55, density, atoms, visible, combine, fewest_points=_SMALL
            )
        parts = ()
        for spin, of_spin in zip(spins or ("total",), densities, strict=True):
            parts += (of_spin, *gradient_of(wavefunction, spin))
        combine = partial(electron_localisation, paired=not spins)
        return SumField(
            (*parts, kinetic),
            "electron localisation function",
            "",
            0.8,
            density,
            atoms,
            visible,
            combine,
            fewest_points=_SMALL,
        )
    if wanted == "rdg":
        parts = (density, *gradient_of(wavefunction))
        return SumField(
            parts,
            "reduced density gradient",
            "",
            _SURFACE,
            density,
            atoms,
            _density_of_vacuum,
            reduced_gradient,
            fewest_points=_THIN,
        )
    if wanted == "nci":
        return SumField(
            (density, *hessian_of(wavefunction)),
            "sign(λ₂)ρ",
            "e bohr^-3",
            0.02,
            density,
            atoms,
            _density_of_coloured,
            signed_density,
            fewest_points=_THIN,
            colour_range=_ATTRACTION,
            colour_map="interaction",
        )
    # of the orbitals that have energies, also where the density is that of a correlated method
    sets = [set_ for set_ in (wavefunction.alpha, wavefunction.beta) if set_]
    coefficients = np.hstack([set_.coefficients[:, np.abs(set_.occupations) > 1e-10] for set_ in sets])
    weights, energies = (
        np.concatenate([getattr(set_, name)[np.abs(set_.occupations) > 1e-10] for set_ in sets])
        for name in ("occupations", "energies")
    )
    if wavefunction.natural or not np.all(np.isfinite(energies)) or not np.any(energies):
        raise FieldError("field 'ionisation': it needs orbital energies, and this file gives none")
    weighted = density_products(wavefunction, coefficients, weights * np.abs(energies))
    if wavefunction.density_matrix.size:
        density = density_products(wavefunction, coefficients, weights)
    # Where the faded ratio is c, the weighted density is c rho over the share that is left, which somewhere is least.
    left = np.linspace(0.01, 1, 200)
    least = min(density_at(float(share), _IONISED) / float(share) for share in left)
    return SumField(
        (weighted, density),
        "average local ionisation energy",
        "hartree",
        0.5,
        weighted,
        atoms,
        partial(mul, least),
        ionisation_energy,
        fewest_points=_FADING,
    )
