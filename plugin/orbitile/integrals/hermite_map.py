r"""From matrices over basis functions to coefficients on the list, and back.

A symmetric matrix D stands for the density :math:`\rho = \sum_{\mu\nu} D_{\mu\nu} \chi_\mu \chi_\nu`. It becomes
coefficients H on the list of `pairs` by a linear map T. Values v of integrals with the Hermite Gaussians of the list
become the matrix of the same integrals with products of basis functions by the adjoint of T,
:math:`\mathrm{Tr}(D\, T^*(v)) = T(D) \cdot v`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..gaussians.expansion import starts
from ..gaussians.packing import polynomial_powers
from ..model.derived import Derived
from ..watch import checkpoint
from .hermite_list import HermiteList
from .pairs import PairClass, Pairs, hermite_coefficients_along_axes, place, places_of, terms

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from taichi_kernels.hermite_map import Entries, HermiteMap, Sparse

Reals = NDArray[np.float64]

_ELEMENTS = 1 << 23
"""Elements of a matrix over primitives that are held at once: 64 MB."""


def to_hermite(pairs: Pairs, matrix: Reals, target: Target) -> Reals:
    """Coefficients of the density that a matrix stands for, on the list.

    Parameters
    ----------
    pairs
        Of the basis set.
    matrix : ndarray, shape (n_basis, n_basis)
        Symmetric.
    target
        The device of the current session. What is computed is in double precision, 64 MB of primitives at once.

    Returns
    -------
    ndarray, shape (n_coefficients,)
        :math:`H_n`, in units of the matrix.
    """
    return _map(pairs).to_hermite(matrix, target, checkpoint)


def to_matrix(pairs: Pairs, values: Reals, target: Target) -> Reals:
    """The matrix over basis functions of what is known of each Hermite Gaussian of the list.

    Parameters
    ----------
    pairs
        Of the basis set.
    values : ndarray, shape (n_coefficients,)
        Integrals with each Hermite Gaussian.
    target
        As for `to_hermite`.

    Returns
    -------
    ndarray, shape (n_basis, n_basis)
        Symmetric, in units of the values.
    """
    return _map(pairs).to_matrix(values, target, checkpoint)


def to_gradient(pairs: Pairs, matrix: Reals, raised_values: Reals) -> Reals:
    r"""How :math:`\sum_P \sum_n H_n v_n` changes when atoms take their basis functions with them, at a fixed matrix.

    With :math:`\partial v_n / \partial P = v_{n+e}`, a function centred on A changes by

    .. math::  \partial_A x_A^i e^{-\alpha x_A^2} = (2\alpha x_A^{i+1} - i x_A^{i-1}) e^{-\alpha x_A^2},

    and when both centres move so does P.

    Parameters
    ----------
    pairs
        Of the basis set.
    matrix : ndarray, shape (n_basis, n_basis)
        Symmetric.
    raised_values : ndarray, shape (pairs.list.raised().n_coefficients,)
        Integrals with the Hermite Gaussians of the list, to one order more than the list has.

    Returns
    -------
    ndarray, shape (n_atoms, 3)
        In units of the matrix times the values per bohr; atoms behind the last that has functions are left out.
    """
    n_atoms = int(pairs.atom_of_primitive.max(initial=-1)) + 1
    result = np.zeros((n_atoms, 3))
    first = raised_first(pairs.list)
    from_basis = pairs.primitives.from_basis
    for rows, chosen in _runs(pairs):
        block = np.ascontiguousarray((from_basis @ np.asarray(from_basis[rows] @ matrix).T).T)
        for class_, some in zip(pairs.classes, chosen, strict=True):
            checkpoint()
            if some.stop == some.start:
                continue
            here = np.arange(class_.rows.start + some.start, class_.rows.start + some.stop)
            values = raised_values[first[here][:, None] + np.arange(first[here[0] + 1] - first[here[0]])]
            left, both = _class_gradient(pairs, class_, here, block, rows.start, values)
            np.add.at(result, pairs.atom_of_primitive[pairs.left[here]], left)
            np.add.at(result, pairs.atom_of_primitive[pairs.right[here]], both - left)
    return result


def raised_first(gaussians: HermiteList) -> NDArray[np.int64]:
    """First coefficient of each Gaussian of a list that is raised, and behind the last: shape (n + 1,)."""
    d = gaussians.degree.astype(np.int64) + 1
    return np.concatenate([[0], np.cumsum((d + 1) * (d + 2) * (d + 3) // 6)])


def _class_gradient(
    pairs: Pairs, class_: PairClass, here: NDArray[np.intp], block: Reals, first_row: int, values: Reals
) -> tuple[Reals, Reals]:
    """Derivatives with respect to the left centre, and to both together, of some pairs; shapes (n, 3)."""
    from taichi_kernels.hermite_tables import powers_of

    a, b = class_.left_degree, class_.right_degree
    primitives = pairs.primitives
    p, q = pairs.left[here], pairs.right[here]
    along = hermite_coefficients_along_axes(primitives, p, q, a + 1, b)
    column = {order: n for n, order in enumerate(powers_of(a + b + 1))}
    row, col = primitives.first_term[p] - first_row, primitives.first_term[q]
    weight = np.where(p == q, 1.0, 2.0)
    alpha = primitives.exponent[p]
    left, both = np.zeros((len(here), 3)), np.zeros((len(here), 3))
    for entry in _derivative_table(a, b):
        s, t, order, places, axis, power = entry
        product = along[:, 0, places[0]] * along[:, 1, places[1]] * along[:, 2, places[2]]
        product *= weight * block[row + s, col + t] * values[:, column[order]]
        if axis >= 3:
            both[:, axis - 3] += product
        else:
            left[:, axis] += 2 * alpha * product if power == 0 else -power * product
    return left, both


@lru_cache
def _derivative_table(
    a: int, b: int
) -> tuple[tuple[int, int, tuple[int, int, int], tuple[int, int, int], int, int], ...]:
    """Terms of the derivatives: both terms of the product, order, places along the axes, and which derivative it is.

    That is an axis for the left centre, with the power that was lowered or 0; or 3 and an axis for both centres.
    """
    where = place(a + 1, b)
    result = []
    for s, left in enumerate(polynomial_powers(a)):
        for t, right in enumerate(polynomial_powers(b)):
            variants = [(3 + axis, 0, left) for axis in range(3)]
            for axis in range(3):
                variants.append((axis, 0, _moved(left, axis, 1)))
                if left[axis]:
                    variants.append((axis, left[axis], _moved(left, axis, -1)))
            for kind, power, powers in variants:
                tops = [i + j for i, j in zip(powers, right, strict=True)]
                for u in range(tops[0] + 1):
                    for v in range(tops[1] + 1):
                        for w in range(tops[2] + 1):
                            order = (u, v, w)
                            places = places_of(where, powers, right, order)
                            raised = _moved(order, kind - 3, 1) if kind >= 3 else order
                            result.append((s, t, raised, places, kind, power))
    return tuple(result)


def _moved(powers: tuple[int, int, int], axis: int, step: int) -> tuple[int, int, int]:
    x, y, z = (power + step * (n == axis) for n, power in enumerate(powers))
    return x, y, z


def _runs(pairs: Pairs) -> list[tuple[slice, list[slice]]]:
    """Runs of the terms of left primitives whose rows fit into memory, and of each class the pairs that have them."""
    first_term = pairs.primitives.first_term
    n, n_terms = len(first_term) - 1, int(first_term[-1])
    runs, begin = [], 0
    while begin < n:
        end = int(np.searchsorted(first_term, first_term[begin] + max(1, _ELEMENTS // max(n_terms, 1)), side="right"))
        end = min(max(end - 1, begin + 1), n)
        lefts = [pairs.left[class_.rows] for class_ in pairs.classes]  # it never falls within a class
        edges = [np.searchsorted(left, [begin, end]).tolist() for left in lefts]
        runs.append((slice(int(first_term[begin]), int(first_term[end])), [slice(*edge) for edge in edges]))
        begin = end
    return runs


def _map(pairs: Pairs) -> HermiteMap:
    from taichi_kernels.hermite_map import HermiteMap, PairBlock, Run

    def make() -> HermiteMap:
        blocks = []
        for class_ in pairs.classes:
            left, right = pairs.left[class_.rows], pairs.right[class_.rows]
            first = pairs.primitives.first_term
            orders, block, shape = _tables(class_.left_degree, class_.right_degree)
            weight = np.where(left == right, 1.0, 2.0)
            blocks.append(
                PairBlock(first[left], first[right], weight, class_.coefficients, shape[0], *shape[1:], orders, block)
            )
        from_basis = pairs.primitives.from_basis
        runs = [
            Run(rows.start, _sparse(from_basis[rows]), _sparse(from_basis[rows].T), chosen)
            for rows, chosen in _runs(pairs)
        ]
        return HermiteMap(blocks, runs, _sparse(from_basis), _sparse(from_basis.T))

    return _MAPS.of(pairs, None, make)


def _sparse(matrix: csr_matrix) -> Sparse:
    from taichi_kernels.hermite_map import Sparse

    rows = matrix.tocsr()
    return Sparse(rows.indptr.astype(np.int32), rows.indices.astype(np.int32), np.asarray(rows.data, np.float64))


@lru_cache
def _tables(a: int, b: int) -> tuple[Entries, Entries, tuple[int, int, int]]:
    """The map of two degrees and its adjoint as entries; numbers of orders, rows and columns."""
    from taichi_kernels.hermite_map import Entries
    from taichi_kernels.hermite_tables import powers_of

    orders = powers_of(a + b)
    place_of = {order: n for n, order in enumerate(orders)}
    n_columns = len(polynomial_powers(b))
    every = np.array([(s, t, place_of[order], *places) for s, t, order, places in terms(a, b)], np.int32)
    s, t, n = every[:, 0], every[:, 1], every[:, 2]
    by_order = np.argsort(n, kind="stable")
    to_orders = Entries(
        starts(np.bincount(n, minlength=len(orders))), np.ascontiguousarray(every[by_order][:, [0, 1, 3, 4, 5]])
    )
    block = s * n_columns + t  # `terms` gives them in this order
    n_rows = len(polynomial_powers(a))
    to_block = Entries(
        starts(np.bincount(block, minlength=n_rows * n_columns)), np.ascontiguousarray(every[:, [2, 2, 3, 4, 5]])
    )
    return to_orders, to_block, (len(orders), n_rows, n_columns)


_MAPS: Derived[HermiteMap] = Derived(most=1)
