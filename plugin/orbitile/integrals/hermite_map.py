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

from ..base.caches import Derived
from ..base.memory import share
from ..base.watch import checkpoint
from ..gaussians.expansion import starts
from ..gaussians.packing import polynomial_powers
from .pairs import Pairs, terms

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from taichi_kernels.hermite_map import Entries, HermiteMap, Sparse

Reals = NDArray[np.float64]

_ELEMENTS = share("large matrix", 8)
"""Elements of a matrix over primitives that are held at once."""


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


def runs_of(pairs: Pairs) -> list[tuple[slice, list[slice]]]:
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
            for rows, chosen in runs_of(pairs)
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


_MAPS: Derived[HermiteMap] = Derived("pairs of functions")
