r"""A molecule in the field of charges that stay as they are.

.. math::  E = \sum_m q_m \Bigl( \sum_A Z_A\, \frac{\operatorname{erf}(r_{Am}/w_m)}{r_{Am}}
    - \int \rho(r)\, \frac{\operatorname{erf}(|r - r_m|/w_m)}{|r - r_m|}\, dr \Bigr)

with 1/r in place of erf(r/w)/r for point charges. The energy of the charges with each other is no part of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..gaussians.potentials import radial_derivatives
from ..model.external_charges import ExternalCharges
from .coulomb import coulomb_values
from .far_charges import boxes_of, far_potentials, far_values
from .forces import norms_of_derivatives, to_gradient
from .hermite_list import POINT, HermiteList, point_charges
from .pairs import Pairs, to_hermite

_MANY = 2000
"""Charges from which on a CPU takes those that are far by series."""


def values_in_field(
    gaussians: HermiteList, external: ExternalCharges, target: Target, bound: Reals | None = None
) -> Reals:
    """Integrals of each Hermite Gaussian with the potential of the charges, for electrons.

    Parameters
    ----------
    gaussians
        Whose integrals are wanted.
    external
        The charges. A CPU takes many of them by series, with an error of `far_charges.TOLERANCE` at most.
    target
        The device of the current session.
    bound
        As for `coulomb_values`.

    Returns
    -------
    ndarray, shape (n_coefficients,)
        In hartree.
    """
    if not _by_series(external, target):
        return coulomb_values(gaussians, *_as_electrons(external), target, bra_bound=bound)
    boxes = boxes_of(gaussians, external)
    values = far_values(gaussians, external, boxes, target)
    for box in boxes:
        if len(box.near):
            some, places = gaussians.chosen(box.near_to)
            near, its = _as_electrons(external.chosen(box.near)), None if bound is None else bound[box.near_to]
            values[places] += coulomb_values(some, *near, target, bra_bound=its)
    return values


def potential_at_charges(external: ExternalCharges, gaussians: HermiteList, hermite: Reals, target: Target) -> Reals:
    """Potential of a density at each of the charges and its gradient, as if electrons were positive.

    At a charge that is a Gaussian it is the mean over it. Parameters are as above.

    Returns
    -------
    ndarray, shape (n, 4)
        In hartree/e, then in hartree/(e bohr).
    """
    if not _by_series(external, target):
        return _potential_at(external, gaussians, hermite, target)
    boxes = boxes_of(gaussians, external)
    result = far_potentials(gaussians, hermite, external, boxes, target)
    for box in boxes:
        if len(box.near):
            some, places = gaussians.chosen(box.near_to)
            result[box.near] += _potential_at(external.chosen(box.near), some, hermite[places], target)
    return result


def _potential_at(external: ExternalCharges, gaussians: HermiteList, hermite: Reals, target: Target) -> Reals:
    points = _gaussians(external).raised
    values = points.blocks[0].of(coulomb_values(points, gaussians, hermite, target))
    return (points.exponent / np.pi)[:, None] ** 1.5 * values


def _by_series(external: ExternalCharges, target: Target) -> bool:
    return target.on_host and len(external) > _MANY


def _gaussians(external: ExternalCharges) -> HermiteList:
    exponents = np.maximum(np.asarray(external.widths, np.float64), POINT**-0.5) ** -2
    return HermiteList(external.positions, exponents, np.zeros(len(external), np.int32))


def _as_electrons(external: ExternalCharges) -> tuple[HermiteList, Reals]:
    """The charges as Gaussians of degree 0, and their coefficients in a density of electrons: of the other sign."""
    gaussians = _gaussians(external)
    return gaussians, -external.charges * (gaussians.exponent / np.pi) ** 1.5


def potential_of_molecule(
    external: ExternalCharges, gaussians: HermiteList, hermite: Reals, nuclei: Reals, positions: Reals, target: Target
) -> Reals:
    """Potential of nuclei less that of electrons at each of the charges and its gradient, as `potential_at_charges`."""
    electrons = potential_at_charges(external, gaussians, hermite, target)
    if _by_series(external, target):
        return potential_at_charges(external, *point_charges(nuclei, positions), target) - electrons
    for z, (axes, values, slopes) in zip(nuclei, potentials(external, positions), strict=True):
        electrons -= z * np.column_stack([values, -slopes[:, None] * axes])
    return -electrons


def field_of_charges(
    gaussians: HermiteList, positions: Reals, external: ExternalCharges, target: Target, bound: Reals
) -> tuple[Reals, Reals]:
    """Integrals of Hermite Gaussians as `values_in_field`, and the potential of the charges at nuclei in one go.

    Returns
    -------
    tuple of ndarray
        The first of shape (n_coefficients,), in hartree. The second of shape (n_atoms, 4): the potential in hartree/e
        and its gradient, which for a list with Gaussians of degree 0 may be missing.
    """
    if not _by_series(external, target):
        q, each = external.charges, potentials(external, positions)
        at_nuclei = [[q @ values, *((q * slopes) @ axes)] for axes, values, slopes in each]
        return values_in_field(gaussians, external, target, bound), np.array(at_nuclei)
    points, coefficients = point_charges(-np.ones(len(positions)), positions)
    points = points.raised if gaussians.degree[0] else points
    both = (
        np.concatenate([one, other])
        for one, other in (
            (points.centre, gaussians.centre),
            (points.exponent, gaussians.exponent),
            (points.degree, gaussians.degree),
        )
    )
    bounds = np.concatenate([np.full(len(points), np.inf), bound])
    values = values_in_field(HermiteList(*both), external, target, bounds)
    at_points, values = np.split(values, [points.n_coefficients])
    return values, coefficients[:, None] * at_points.reshape(len(positions), -1)


def energy_in_field(
    external: ExternalCharges, pairs: Pairs, hermite: Reals, nuclei: Reals, positions: Reals, target: Target
) -> float:
    """Energy in hartree of electrons, by their density on the list of the pairs, and nuclei with the charges."""
    values, at_nuclei = field_of_charges(pairs.list, positions, external, target, pairs.bound)
    return float(hermite @ values + nuclei @ at_nuclei[:, 0])


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
    values, at_nuclei = field_of_charges(raised, positions, external, target, bound)
    return to_gradient(pairs, density, values) + nuclei[:, None] * at_nuclei[:, 1:]


def gradient_at_charges(
    external: ExternalCharges, pairs: Pairs, density: Reals, nuclei: Reals, positions: Reals, target: Target
) -> Reals:
    """Derivatives of the energy when the charges alone move, shape (n, 3) in hartree/bohr; the rest as above."""
    hermite = to_hermite(pairs, density, target)
    potential = potential_of_molecule(external, pairs.list, hermite, nuclei, positions, target)
    return external.charges[:, None] * potential[:, 1:]


def fields_along(external: ExternalCharges, first: Reals, second: Reals) -> Reals:
    """Field of each charge at a first point, halfway, and at a second one, positive towards that, in hartree/(e bohr).

    Returns
    -------
    ndarray, shape (3, n)
    """
    unit = (second - first) / np.linalg.norm(second - first)
    places = potentials(external, np.array([first, 0.5 * (first + second), second]))
    return np.array([-external.charges * slopes * (axes @ unit) for axes, _, slopes in places])


def field_at(external: ExternalCharges, positions: Reals) -> Reals:
    """Field of all charges at positions, both of shape (n, 3), in bohr and in hartree/(e bohr)."""
    found = [-(external.charges * slopes) @ axes for axes, _, slopes in potentials(external, positions)]
    return np.array(found).reshape(-1, 3)


def potentials(external: ExternalCharges, positions: Reals) -> Iterator[tuple[Reals, Reals, Reals]]:
    """For one position after the other: unit vectors from the charges, potentials of unit charges, their slopes."""
    widths = np.asarray(external.widths, np.float64)
    for position in positions:
        along = position - external.positions
        r = np.linalg.norm(along, axis=1)
        potential, slope = radial_derivatives(np.ones(len(r)), r**2, widths, 1)
        yield along / r[:, None], potential, -r * slope
