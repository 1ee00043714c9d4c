r"""Electron localisation function and localised orbital locator, which show bonds and lone pairs.

With the densities :math:`\rho_\sigma` of the spins, their gradients and
:math:`\tau = \frac12\sum_i n_i|\nabla\psi_i|^2` (Becke and Edgecombe, J. Chem. Phys. 1990, 92, 5397; for open shells
Kohout and Savin, Int. J. Quantum Chem. 1996, 60, 875; Schmider and Becke, J. Mol. Struct. THEOCHEM 2000, 527, 51):

.. math::  ELF = \frac{1}{1 + (D/D_0)^2},\quad
           D = \tau - \sum_\sigma \frac{|\nabla\rho_\sigma|^2}{8\rho_\sigma},\quad
           D_0 = \tfrac{3}{10}(6\pi^2)^{2/3} \sum_\sigma \rho_\sigma^{5/3}
.. math::  LOL = \frac{D_0/\tau}{1 + D_0/\tau}

Where all electrons are paired, both spins have half the density, and one sum stands for them.

These ratios do not die out with the density: far from a molecule they tell about the tails of the basis set. Each
therefore means something down to a density that is stated here. Below it both fade to 0 over a decade of the density,
and so smoothly that their isosurfaces end along a contour of the density, on any lattice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import asin, log, sin
from typing import Any

import numpy as np

from taichi_kernels.expressions import Value, at_least, at_most, cbrt, log1p

from ..base.errors import FieldError
from ..gaussians.expansion import GaussianExpansion
from ..gaussians.kernels._tolerances import tolerances
from ..model.wavefunction import COMPLEX, Wavefunction
from . import References
from ._sums import SumField
from .density import density_of, occupied
from .derivatives import gradient_of, kinetic_of

PRIORITY = 70
GROUP = "Bonds and lone pairs"
NAMES = (
    ("elf", "Where electrons are paired: bonds, lone pairs, shells (electron localisation function)"),
    ("lol", "Where electrons move slowly, as in bonds and lone pairs (localised orbital locator)"),
)

Combine = Callable[..., Any]

DECADE = 10.0
"""Factor in the density over which values fade to 0."""

_FERMI = 0.3 * (6 * np.pi**2) ** (2 / 3)
"""Of the kinetic energy density of uniform electrons of one spin."""
_PAIRED = 2 ** (-2 / 3)
"""What two spins of half the density each have of it, in terms of the whole density."""

_LOCALISED = 1e-3
"""Density in e bohr^-3 above which they are shown as they are: that of the surface of a molecule."""

_ABSENT = 1e-20
"""Density of a spin that counts as none: roots are of numbers above 0."""

_THIN = 1 << 18
"""Points of a lattice below which the shells of lone pairs have ragged edges."""


def faded(values: Value, density: Value, least: float) -> Value:
    """Values where the density is above `least`, 0 where it is below a tenth of that, smooth between."""
    place = log1p(at_least(density * (DECADE / least), 1.0) - 1.0)
    place = at_most(place * ((1 + 1e-6) / log(DECADE)), 1.0)  # a little more, so that it is 1 after rounding too
    return place * place * (3.0 - 2.0 * place) * values


def density_at(share: float, least: float) -> float:
    """Density at which a share of the values is left, of `faded`."""
    # the root of 3 x^2 - 2 x^3 = share between 0 and 1
    place = 0.5 - sin(asin(1 - 2 * min(max(share, 0.0), 1.0)) / 3)
    return float(least * DECADE ** (place - 1))


def electron_localisation(*values: Value, paired: bool) -> Value:
    """ELF from density and gradient of each spin, or of both where they are paired; the kinetic energy density last."""
    *spins, kinetic = values
    total, fermi = _total(spins[::4], paired)
    excess, known = kinetic, tolerances(kinetic.dtype).density
    for density, x, y, z in zip(*[iter(spins)] * 4, strict=True):
        excess = excess - (x * x + y * y + z * z) / (8.0 * at_least(density, known))
    ratio = at_least(excess, 0.0) / fermi
    return faded(1.0 / (1.0 + ratio * ratio), total, _LOCALISED)


def localised_orbital_locator(*values: Value, paired: bool) -> Value:
    """LOL from the density of each spin, or of both where they are paired; the kinetic energy density last."""
    *spins, kinetic = values
    total, fermi = _total(spins, paired)
    return faded(fermi / (fermi + at_least(kinetic, 0.0)), total, _LOCALISED)


def _total(densities: list[Any], paired: bool) -> tuple[Any, Any]:
    """Density and kinetic energy density of uniform electrons, from the densities of the spins or of both."""
    total = densities[0] if len(densities) == 1 else densities[0] + densities[1]
    least = _LOCALISED / DECADE
    if paired:
        return total, _FERMI * _PAIRED * _to_five_thirds(at_least(total, least))
    fermi = _FERMI * _to_five_thirds(at_least(densities[0], _ABSENT))
    for density in densities[1:]:
        fermi = fermi + _FERMI * _to_five_thirds(at_least(density, _ABSENT))
    return total, at_least(fermi, _FERMI * _PAIRED * least ** (5 / 3))


def _to_five_thirds(density: Any) -> Any:
    root = cbrt(density)
    return density * (root * root)


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


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """All names, with the reason, of complex orbitals."""
    return dict.fromkeys(dict(NAMES), COMPLEX) if wavefunction.spinors is not None else {}


def resolve(wavefunction: Wavefunction, name: str, references: References) -> SumField | None:
    """The field that a name stands for, or None."""
    wanted = name.lower()
    if wanted not in dict(NAMES):
        return None
    wavefunction.require_real()  # the currents of complex ones would have to be taken from the kinetic energy
    spins = unpaired(wavefunction)
    density, kinetic = density_of(wavefunction), kinetic_of(wavefunction)
    densities = [density_of(wavefunction, spin) for spin in spins] or [density]
    parts: tuple[GaussianExpansion, ...] = ()
    if wanted == "lol":
        parts, quantity, isovalue = tuple(densities), "localised orbital locator", 0.5
        combine: Combine = partial(localised_orbital_locator, paired=not spins)
    else:
        for spin, of_spin in zip(spins or ("total",), densities, strict=True):
            parts += (of_spin, *gradient_of(wavefunction, spin))
        quantity, isovalue = "electron localisation function", 0.8
        combine = partial(electron_localisation, paired=not spins)
    visible = partial(density_at, least=_LOCALISED)  # neither exceeds 1
    return SumField(
        (*parts, kinetic),
        quantity,
        "",
        isovalue,
        density,
        wavefunction.positions,
        visible,
        combine,
        fewest_points=_THIN,
    )
