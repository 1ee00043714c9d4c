r"""A molecule in the field of charges that stay as they are.

.. math::  E = \sum_m q_m \Bigl( \sum_A Z_A\, \frac{\operatorname{erf}(r_{Am}/w_m)}{r_{Am}}
    - \int \rho(r)\, \frac{\operatorname{erf}(|r - r_m|/w_m)}{|r - r_m|}\, dr \Bigr)

with 1/r in place of erf(r/w)/r for point charges. The energy of the charges with each other is no part of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import erf

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..model.external_charges import ExternalCharges
from .coulomb import coulomb_values
from .forces import gradient_at_centres, norms_of_derivatives, to_gradient
from .hermite_list import POINT, HermiteList
from .pairs import Pairs, to_hermite


def as_electrons(external: ExternalCharges) -> tuple[HermiteList, Reals]:
    """The charges as Gaussians of degree 0, and their coefficients in a density of electrons: of the other sign."""
    widths = np.asarray(external.widths, np.float64)
    exponents = np.maximum(widths, POINT**-0.5) ** -2
    gaussians = HermiteList(external.positions, exponents, np.zeros(len(external), np.int32))
    return gaussians, -external.charges * (exponents / np.pi) ** 1.5


def energy_of_nuclei(external: ExternalCharges, nuclei: Reals, positions: Reals) -> float:
    """Energy in hartree of nuclei, their charges in e and positions in bohr, with the charges around them."""
    return float(external.charges @ potential_of_nuclei(external, nuclei, positions))


def potential_of_nuclei(external: ExternalCharges, nuclei: Reals, positions: Reals) -> Reals:
    """Potential of nuclei at each of the charges, shape (n,), in hartree/e; of a Gaussian over its width."""
    each = zip(nuclei, potentials(external, positions), strict=True)
    return np.sum([z * values for z, (_, values, _) in each], axis=0)


def potential_of_electrons(external: ExternalCharges, pairs: Pairs, hermite: Reals, target: Target) -> Reals:
    """Potential of a density on the list of the pairs at each of the charges, as if electrons were positive."""
    unit = ExternalCharges(external.positions, -np.ones(len(external)), external.widths)
    gaussians, coefficients = as_electrons(unit)
    return coefficients * coulomb_values(gaussians, pairs.list, hermite, target)


def energy_in_field(
    external: ExternalCharges, pairs: Pairs, hermite: Reals, nuclei: Reals, positions: Reals, target: Target
) -> float:
    """Energy in hartree of electrons, by their density on the list of the pairs, and nuclei with the charges."""
    values = coulomb_values(pairs.list, *as_electrons(external), target, bra_bound=pairs.bound)
    return float(hermite @ values) + energy_of_nuclei(external, nuclei, positions)


def gradient_at_atoms(
    external: ExternalCharges, pairs: Pairs, density: Reals, nuclei: Reals, positions: Reals, target: Target
) -> Reals:
    """Derivatives of the energy when atoms move with their basis functions, at a fixed density matrix.

    Parameters
    ----------
    external
        The charges, which stay where they are.
    pairs
        Of the basis set.
    density : ndarray, shape (n_basis, n_basis)
        Density matrix of all electrons.
    nuclei, positions
        Charges of the nuclei in e, and positions of the atoms in bohr.
    target
        The device of the current session.

    Returns
    -------
    ndarray, shape (n_atoms, 3)
        In hartree/bohr.
    """
    raised, bound = pairs.list.raised, norms_of_derivatives(pairs.list, to_hermite(pairs, density, target))
    values = coulomb_values(raised, *as_electrons(external), target, bra_bound=bound)
    each = zip(nuclei, potentials(external, positions), strict=True)
    return to_gradient(pairs, density, values) + [
        z * ((external.charges * slopes) @ axes) for z, (axes, _, slopes) in each
    ]


def gradient_at_charges(
    external: ExternalCharges, pairs: Pairs, density: Reals, nuclei: Reals, positions: Reals, target: Target
) -> Reals:
    """Derivatives of the energy when the charges alone move, shape (n, 3) in hartree/bohr; the rest as above."""
    result = gradient_at_centres(*as_electrons(external), pairs.list, to_hermite(pairs, density, target), target)
    for z, (axes, _, slopes) in zip(nuclei, potentials(external, positions), strict=True):
        result -= (z * external.charges * slopes)[:, None] * axes
    return result


def potentials(external: ExternalCharges, positions: Reals) -> Iterator[tuple[Reals, Reals, Reals]]:
    """For one position after the other: unit vectors from the charges, potentials of unit charges, their slopes."""
    widths = np.asarray(external.widths, np.float64)
    wide = widths > 0
    for position in positions:
        along = position - external.positions
        r = np.linalg.norm(along, axis=1)
        potential, slope = 1 / r, -1 / r**2
        share = r[wide] / widths[wide]
        potential[wide] *= erf(share)
        slope[wide] *= erf(share) - 2 / np.sqrt(np.pi) * share * np.exp(-(share**2))
        yield along / r[:, None], potential, slope
