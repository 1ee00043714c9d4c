r"""How densities on the list change when atoms move and take their basis functions with them.

A density :math:`\rho = \sum_{\mu\nu} D_{\mu\nu}\chi_\mu\chi_\nu` in a fixed field, of which the integrals v with the
Hermite Gaussians are known, has the energy :math:`\sum_P \sum_n H_n v_n`. When the centre A of the left primitive of a
pair moves, the coefficients of its products change along each axis by

.. math::  \partial_A E^{ij}_t + \tfrac{\alpha}{z} E^{ij}_{t-1} = 2\alpha E^{i+1,j}_t - i E^{i-1,j}_t,

in which the second term on the left is the motion of P, since :math:`\partial_P L_n = L_{n+e}`; when both centres move,
the list moves as a whole. The sums over powers and orders are done axis by axis.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..base.memory import share
from ..base.watch import checkpoint
from ..gaussians.packing import polynomial_powers
from ..model.wavefunction import Basis, Wavefunction
from .hermite_list import Block
from .hermite_map import runs_of
from .one_electron import derivative_pairs, integrals_over_space
from .pairs import PairClass, Pairs, hermite_coefficients_along_axes, place

Reals = NDArray[np.float64]

_NUMBERS = share("small matrix", 8)
"""Numbers that are held at once for some pairs."""


def to_gradient(pairs: Pairs, matrix: Reals, raised_values: Reals) -> Reals:
    r"""Derivatives of :math:`\sum_P \sum_n H_n v_n` when atoms move with their basis functions, at a fixed matrix.

    Parameters
    ----------
    pairs
        Of the basis set.
    matrix : ndarray, shape (n_basis, n_basis)
        Symmetric.
    raised_values : ndarray, shape (pairs.list.raised().n_coefficients,)
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


def kinetic_gradient(basis: Basis | Wavefunction, matrix: Reals) -> Reals:
    r"""Derivatives of :math:`\sum_{\mu\nu} D_{\mu\nu} T_{\mu\nu}` at a fixed matrix.

    Those of the overlaps of derivatives of basis functions, as in `one_electron.kinetic`.

    Parameters
    ----------
    basis
        Shells and positions.
    matrix : ndarray, shape (n_basis, n_basis)
        Symmetric.

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
        for one in along:
            columns += one @ (one[rows] @ (0.5 * matrix)).T
        return columns.T

    return _gradient(pairs, over_terms, integrals_over_space(pairs.list.raised()))


def _gradient(pairs: Pairs, over_terms: Callable[[slice], Reals], raised_values: Reals) -> Reals:
    """The same for a matrix over the terms of primitives, of which some rows are asked for at a time."""
    result = np.zeros((pairs.n_atoms, 3))
    blocks = pairs.list.raised().blocks
    for rows, chosen in runs_of(pairs):
        matrix = np.ascontiguousarray(over_terms(rows))
        for class_, some in zip(pairs.classes, chosen, strict=True):
            degree = class_.left_degree + class_.right_degree + 1
            block = next(one for one in blocks if one.degree == degree)
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
