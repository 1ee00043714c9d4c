r"""The average local ionisation energy, low where electrons are easily taken away.

.. math::  \bar I = \frac{\sum_i n_i |\epsilon_i| \psi_i^2}{\rho}

(Politzer et al., J. Mol. Model. 2010, 16, 1731). A ratio does not die out with the density: below a density that is
stated here it fades to 0, over a decade of the density.
"""

from __future__ import annotations

from functools import partial
from operator import mul

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.expressions import Value, at_least

from ..base.caches import Derived
from ..base.errors import FieldError
from ..gaussians.expansion import GaussianExpansion
from ..gaussians.products import density_products
from ..model.wavefunction import COMPLEX, Orbitals, Wavefunction
from . import References
from ._sums import SumField
from .density import density_of
from .localisation import DECADE, density_at, faded

PRIORITY = 50
GROUP = "Reactivity"
NAMES = (("ionisation", "How easily an electron is removed at each place (average local ionisation energy)"),)

DRAWN_ON = {"ionisation": "density"}
"""Its own isosurfaces end where the density does, and show little: it colours the surface of the molecule."""

_IONISED = 1e-4
"""Density in e bohr^-3 above which it is shown as it is: its values on surfaces of the density down to 0.0004 are of
interest."""

_FADING = 1 << 17
"""Points of a lattice below which the end of a field has bumps."""


def ionisation_energy(weighted: Value, density: Value) -> Value:
    """Average local ionisation energy, 0 where there is no density."""
    return faded(weighted / at_least(density, _IONISED / DECADE), density, _IONISED)


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """The ionisation energy, with the reason, where a file gives no orbital energies."""
    if wavefunction.spinors is not None:
        return {"ionisation": COMPLEX}
    energies = np.concatenate([np.zeros(0), *(orbitals.energies[which] for orbitals, which in _occupied(wavefunction))])
    if wavefunction.natural or not np.all(np.isfinite(energies)) or not np.any(energies):
        return {"ionisation": "it needs orbital energies, and this file gives none"}
    return {}


def _occupied(wavefunction: Wavefunction) -> list[tuple[Orbitals, NDArray[np.bool_]]]:
    """Orbitals of each spin, or of both, and which of them are occupied."""
    both = (wavefunction.alpha, wavefunction.beta)
    return [(orbitals, np.abs(orbitals.occupations) > 1e-10) for orbitals in both if orbitals]


def _sums_of(wavefunction: Wavefunction) -> tuple[GaussianExpansion, GaussianExpansion]:
    """The density weighted by energies, and the density."""
    # of the orbitals that have energies, also where the density is that of a correlated method
    occupied = _occupied(wavefunction)
    coefficients = np.hstack([orbitals.coefficients[:, which] for orbitals, which in occupied])
    weights = np.concatenate([orbitals.occupations[which] for orbitals, which in occupied])
    energies = np.concatenate([orbitals.energies[which] for orbitals, which in occupied])
    weighted = density_products(wavefunction, coefficients, weights * np.abs(energies))
    if wavefunction.density_matrix.size:
        return weighted, density_products(wavefunction, coefficients, weights)
    return weighted, density_of(wavefunction)


_SUMS = Derived[tuple[GaussianExpansion, GaussianExpansion]]("sums of Gaussians")


def resolve(wavefunction: Wavefunction, name: str, references: References) -> SumField | None:
    """The ionisation energy, or None for another name.

    Raises
    ------
    FieldError
        When the file gives no orbital energies.
    """
    if name.lower() != "ionisation":
        return None
    for field, reason in unavailable(wavefunction).items():
        raise FieldError(f"field {field!r}: {reason}")
    weighted, density = _SUMS.of(wavefunction, name.lower(), lambda: _sums_of(wavefunction))
    # Where the faded ratio is c, the weighted density is c rho over the share that is left, which somewhere is least.
    left = np.linspace(0.01, 1, 200)
    least = min(density_at(float(share), _IONISED) / float(share) for share in left)
    return SumField(
        (weighted, density),
        "average local ionisation energy",
        "hartree",
        0.5,
        weighted,
        wavefunction.positions,
        partial(mul, least),
        ionisation_energy,
        fewest_points=_FADING,
    )
