r"""Derivatives of the Kohn-Sham energy with respect to the positions of the atoms.

When atoms move and the orbitals stay orthonormal, the energy changes as if the density matrix D stayed as it is, but
for the overlaps S (P. Pulay, Mol. Phys. 1969, 17, 197):

.. math::  \frac{dE}{dR} = \mathrm{Tr}\, D \frac{\partial T}{\partial R}
    + \int \frac{\partial \rho}{\partial R} \left(\phi_N + \phi_\rho + v_{xc}\right)
    + \int \rho\, \frac{\partial \phi_N}{\partial R} + \frac{\partial V_{NN}}{\partial R}
    - \mathrm{Tr}\, W \frac{\partial S}{\partial R}, \qquad W = \sum_i n_i \epsilon_i C_i C_i^T

All fields are values on the raised list, so that the second term is one sum over it. The points of the quadrature are
held where they are, with their weights, or move with the atoms.

**Densities on the list** change when atoms move and take their basis functions with them. A density
:math:`\rho = \sum_{\mu\nu} D_{\mu\nu}\chi_\mu\chi_\nu` in a fixed field, of which the integrals v with the Hermite
Gaussians are known, has the energy :math:`\sum_P \sum_n H_n v_n`. When the centre A of the left primitive of a pair
moves, the coefficients of its products change along each axis by

.. math::  \partial_A E^{ij}_t + \tfrac{\alpha}{z} E^{ij}_{t-1} = 2\alpha E^{i+1,j}_t - i E^{i-1,j}_t,

in which the second term on the left is the motion of P, since :math:`\partial_P L_n = L_{n+e}`; when both centres move,
the list moves as a whole. The sums over powers and orders are done axis by axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.memory import share
from ..base.watch import checkpoint
from ..gaussians.expansion import polynomial_powers
from ..model.wavefunction import Basis, Wavefunction
from .coulomb import coulomb_values
from .exchange import Exchange
from .functionals import Functional
from .hermite_list import Block, HermiteList, point_charges
from .one_electron import derivative_pairs, integrals_over_space
from .pairs import PairClass, Pairs, hermite_coefficients_along_axes, place, runs_of, to_hermite
from .quadrature import KineticEnergyDensity, Quadrature, exchange_correlation, gradient_of_points

_NUMBERS = share("small matrix", 8)
"""Numbers that are held at once for some pairs."""


def kohn_sham_gradient(
    basis: Basis | Wavefunction,
    charges: Reals,
    densities: Sequence[Reals],
    weighted: Reals,
    quadrature: Quadrature,
    functional: Functional,
    target: Target,
    exchange: Exchange | None = None,
    atoms_with_points: NDArray[np.integer] | None = None,
) -> Reals:
    """Derivatives of the energy of orbitals that are stationary, or at least orthonormal.

    Parameters
    ----------
    basis
        Shells and positions.
    charges : ndarray, shape (n_atoms,)
        Of the nuclei, in e.
    densities
        Density matrix of all electrons, or of those of spin alpha and of spin beta; each (n_basis, n_basis).
    weighted : ndarray, shape (n_basis, n_basis)
        W, the density matrix with the energies of the orbitals in hartree, of both spins.
    quadrature
        Of the pairs of the basis set.
    functional
        Of exchange and correlation.
    target
        The device of the current session.
    exchange
        Of the basis set, where the functional has exact exchange.
    atoms_with_points : ndarray of int, shape (n_atoms,), optional
        Atomic numbers of the atoms where the points of the quadrature are to move with them, as those of `grid_of` do:
        the derivatives are then those of the energy that the points give. Without it points are held where they are.

    Returns
    -------
    ndarray, shape (n_atoms, 3)
        In hartree/bohr.
    """
    pairs = quadrature.pairs
    hermite = [to_hermite(pairs, matrix, target) for matrix in densities]
    field = electrostatic_field(pairs.list, hermite, charges, basis.positions, target)
    result = kinetic_gradient(basis, np.sum(densities, axis=0))
    result += to_gradient(pairs, np.sum(densities, axis=0), field)
    if functional.is_semilocal:
        kinetic = None
        if functional.needs_tau:
            kinetic = KineticEnergyDensity.of(basis, quadrature.grid, quadrature.target), densities
        own = exchange_correlation(quadrature, hermite, functional, raised=True, kinetic=kinetic)
        if atoms_with_points is not None:
            result += gradient_of_points(quadrature, hermite, functional, atoms_with_points, basis.positions, kinetic)
        for matrix, values in zip(densities, own.values, strict=True):
            result += to_gradient(pairs, matrix, values)
        for matrix, values in zip(densities, own.kinetic_values, strict=False):
            result += kinetic_gradient(basis, matrix, values)
    result -= to_gradient(pairs, weighted, integrals_over_space(pairs.list.raised))
    result += gradient_at_nuclei(pairs.list, np.sum(hermite, axis=0), charges, basis.positions, target)
    if exchange is not None:
        result -= len(densities) * exchange.gradient(np.array(densities), functional.exact)
    return result + repulsion_gradient(charges, basis.positions)


def electrostatic_field(
    gaussians: HermiteList, hermite: Sequence[Reals], charges: Reals, positions: Reals, target: Target
) -> Reals:
    """Integrals of the potential of electrons and nuclei with the raised list, for electrons.

    Parameters
    ----------
    gaussians
        The list.
    hermite
        Densities on it, which add up to that of all electrons; each (n_coefficients,).
    charges, positions
        Of the nuclei.
    target
        The device of the current session.

    Returns
    -------
    ndarray, shape (n_coefficients of the raised list,)
        In hartree; exact enough for the derivatives of the energy of these densities.
    """
    raised = gaussians.raised
    bound = norms_of_derivatives(gaussians, np.sum(np.abs(hermite), axis=0))
    nuclei, coefficients = point_charges(charges, positions)
    electrons = coulomb_values(raised, gaussians, np.sum(hermite, axis=0), target, bra_bound=bound)
    return electrons - coulomb_values(raised, nuclei, coefficients, target, bra_bound=bound)


def norms_of_derivatives(gaussians: HermiteList, coefficients: Reals) -> Reals:
    r"""What the derivatives of a density, one Gaussian after the other, have as Coulomb norms; hartree^(1/2)/bohr.

    When P moves by itself, by the triangle inequality over the orders. What moves within a pair, with factors up to
    :math:`2\alpha\beta/z\, |AB|` in place of :math:`\sqrt z`, is no more than some times as much.
    """
    raised = gaussians.raised
    norms = raised.coulomb_norms
    result = np.empty(len(gaussians))
    for block, above in zip(gaussians.blocks, raised.blocks, strict=True):
        place = {order: n for n, order in enumerate(above.orders)}
        steps = [[place[t + 1, u, v], place[t, u + 1, v], place[t, u, v + 1]] for t, u, v in block.orders]
        largest = above.of(norms)[:, np.array(steps)].max(axis=2)
        result[block.rows] = (np.abs(block.of(coefficients)) * largest).sum(axis=1)
    return result


def gradient_at_nuclei(
    gaussians: HermiteList, density: Reals, charges: Reals, positions: Reals, target: Target
) -> Reals:
    """Derivatives of the attraction of nuclei and a density when the nuclei alone move, shape (n_atoms, 3).

    Parameters
    ----------
    gaussians
        The list.
    density : ndarray, shape (n_coefficients,)
        On it.
    charges, positions
        Of the nuclei.
    target
        The device of the current session.
    """
    return -gradient_at_centres(*point_charges(charges, positions), gaussians, density, target)


def gradient_at_centres(
    moving: HermiteList, coefficients: Reals, gaussians: HermiteList, density: Reals, target: Target
) -> Reals:
    """Derivatives of the repulsion of Gaussians of degree 0 and a density when the Gaussians move, shape (n, 3).

    Parameters
    ----------
    moving, coefficients
        The Gaussians, and their coefficients.
    gaussians, density
        The density, and its coefficients.
    target
        The device of the current session.
    """
    raised, bound = moving.raised, norms_of_derivatives(moving, coefficients)
    values = raised.blocks[0].of(coulomb_values(raised, gaussians, density, target, bra_bound=bound))
    orders = raised.blocks[0].orders
    along = [orders.index(order) for order in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    return coefficients[:, None] * values[:, along]


def repulsion_gradient(charges: Reals, positions: Reals) -> Reals:
    """Derivatives of the repulsion of the nuclei, shape (n_atoms, 3), in hartree/bohr."""
    products = np.outer(charges, charges)
    np.fill_diagonal(products, 0.0)
    apart = positions[:, None] - positions
    cubes = np.linalg.norm(apart, axis=2) ** 3
    strength = np.divide(products, cubes, out=np.zeros_like(products), where=products != 0)
    return -np.einsum("ab,abk->ak", strength, apart)


def to_gradient(pairs: Pairs, matrix: Reals, raised_values: Reals) -> Reals:
    r"""Derivatives of :math:`\sum_P \sum_n H_n v_n` when atoms move with their basis functions, at a fixed matrix.

    Parameters
    ----------
    pairs
        Of the basis set.
    matrix : ndarray, shape (n_basis, n_basis)
        Symmetric.
    raised_values : ndarray, shape (pairs.list.raised.n_coefficients,)
        Integrals v of the field with the Hermite Gaussians, to one order more than the list has.

    Returns
    -------
    ndarray, shape (n_atoms, 3)
        In units of the matrix times the values per bohr.
    """
    from_basis = pairs.primitives.from_basis

    def over_terms(rows: slice) -> Reals:
        half: Reals = from_basis[rows] @ matrix
        return np.asarray(from_basis @ half.T).T

    return _gradient(pairs, over_terms, raised_values)


def kinetic_gradient(basis: Basis | Wavefunction, matrix: Reals, raised_values: Reals | None = None) -> Reals:
    r"""Derivatives of :math:`\sum_{\mu\nu} D_{\mu\nu} T_{\mu\nu}` at a fixed matrix.

    Those of the overlaps of derivatives of basis functions, as in `one_electron.kinetic`; or of a field times tau.

    Parameters
    ----------
    basis
        Shells and positions.
    matrix : ndarray, shape (n_basis, n_basis)
        Symmetric.
    raised_values : ndarray, optional
        Integrals of the field with the Hermite Gaussians of the raised list of `derivative_pairs`.

    Returns
    -------
    ndarray, shape (n_atoms, 3)
        In hartree/bohr for a density matrix.
    """
    pairs = derivative_pairs(basis)
    n = basis.n_basis
    along = [pairs.primitives.from_basis[:, k * n : (k + 1) * n] for k in range(3)]

    def over_terms(rows: slice) -> Reals:
        columns = np.zeros((along[0].shape[0], rows.stop - rows.start))
        for derivatives in along:
            columns += derivatives @ (derivatives[rows] @ (0.5 * matrix)).T
        return columns.T

    return _gradient(
        pairs, over_terms, integrals_over_space(pairs.list.raised) if raised_values is None else raised_values
    )


def _gradient(pairs: Pairs, over_terms: Callable[[slice], Reals], raised_values: Reals) -> Reals:
    """The same for a matrix over the terms of primitives, of which some rows are asked for at a time."""
    result = np.zeros((pairs.n_atoms, 3))
    blocks = pairs.list.raised.blocks
    for rows, chosen in runs_of(pairs):
        matrix = np.ascontiguousarray(over_terms(rows))
        for class_, some in zip(pairs.classes, chosen, strict=True):
            degree = class_.left_degree + class_.right_degree + 1
            block = next(block for block in blocks if block.degree == degree)
            step = _step(class_)
            for first in range(class_.rows.start + some.start, class_.rows.start + some.stop, step):
                checkpoint()
                here = slice(first, min(first + step, class_.rows.start + some.stop))
                values = block.of(raised_values)[here.start - block.rows.start : here.stop - block.rows.start]
                left, both = _class_gradient(pairs, class_, here, matrix, rows.start, block, values)
                np.add.at(result, pairs.atom_of_primitive[pairs.left[here]], left)
                np.add.at(result, pairs.atom_of_primitive[pairs.right[here]], both - left)
    return result


def _step(class_: PairClass) -> int:
    """Pairs of a class that are worked on at once."""
    products = (class_.left_degree + 1) * (class_.right_degree + 1)
    orders = class_.left_degree + class_.right_degree + 2
    return max(1, _NUMBERS // (products**3 + 2 * products**2 * orders + 6 * products * orders**2 + orders**3))


def _class_gradient(
    pairs: Pairs, class_: PairClass, here: slice, matrix: Reals, first_row: int, block: Block, values: Reals
) -> tuple[Reals, Reals]:
    """Derivatives with respect to the left centre, and to both together, of some pairs; shapes (n, 3)."""
    a, b = class_.left_degree, class_.right_degree
    p, q = pairs.left[here], pairs.right[here]
    n, products = len(p), (a + 1) * (b + 1)
    orders = np.array(block.orders)
    # a field that is the same everywhere has integrals of order 0 alone
    used = values.any(axis=0)
    top = int(orders[used].max(initial=0)) + 1
    within = (orders < top).all(axis=1)
    field = np.zeros((n, top, top, top))
    field[:, orders[within, 0], orders[within, 1], orders[within, 2]] = values[:, within]

    # (n, 3, products, top): coefficients of the products along each axis, and how these change with A
    along = hermite_coefficients_along_axes(pairs.primitives, p, q, a + 1, b)
    along = np.concatenate([along, np.zeros((n, 3, 1))], axis=2)[:, :, place(a + 1, b)[..., :top]]
    change = 2 * pairs.primitives.exponent[p][:, None, None, None, None] * along[:, :, 1:]
    change[:, :, 1:] -= np.arange(1, a + 1)[:, None, None] * along[:, :, :a]
    value, change = (part.reshape(n, 3, products, top) for part in (along[:, :, : a + 1], change))

    density = _density(pairs, class_, p, q, matrix, first_row)
    z_value, z_change = (density @ part[:, 2, None] for part in (value, change))  # (n, products, products, top)
    z_value, z_change = (part.transpose(0, 1, 3, 2) for part in (z_value, z_change))
    whole = z_value @ value[:, 1, None]  # (n, products of x, order of z, order of y)
    y_change, z_change = z_value @ change[:, 1, None], z_change @ value[:, 1, None]
    flat = field.transpose(0, 1, 3, 2).reshape(n, top, top * top)
    shape = (n, products, top, top)
    seen, x_change = ((part[:, 0] @ flat).reshape(shape) for part in (value, change))
    x_moved = (value[:, 0, :, : top - 1] @ flat[:, 1:]).reshape(shape)
    left = [_dot(whole, x_change), _dot(y_change, seen), _dot(z_change, seen)]
    both = [
        _dot(whole, x_moved),
        _dot(whole[:, :, :, : top - 1], seen[:, :, :, 1:]),
        _dot(whole[:, :, : top - 1], seen[:, :, 1:]),
    ]
    return np.stack(left, axis=1), np.stack(both, axis=1)


def _density(
    pairs: Pairs, class_: PairClass, p: NDArray[np.int32], q: NDArray[np.int32], matrix: Reals, first_row: int
) -> Reals:
    """The matrix over the terms of some pairs by powers along the axes, shape (n, products, products, products)."""
    a, b = class_.left_degree, class_.right_degree
    first = pairs.primitives.first_term
    left, right = np.array(polynomial_powers(a)), np.array(polynomial_powers(b))
    rows = (first[p] - first_row)[:, None] + np.arange(len(left))
    columns = first[q][:, None] + np.arange(len(right))
    weight = np.where(p == q, 1.0, 2.0)  # a pair stands for both orders
    i, j, k = (left[:, None, axis] * (b + 1) + right[None, :, axis] for axis in range(3))
    products = (a + 1) * (b + 1)
    result = np.zeros((len(p), products, products, products))
    result[:, i, j, k] = matrix[rows[:, :, None], columns[:, None, :]] * weight[:, None, None]
    return result


def _dot(left: Reals, right: Reals) -> Reals:
    """Sum of the products of all numbers of each pair."""
    return np.einsum("nxyz,nxyz->n", left, right)
