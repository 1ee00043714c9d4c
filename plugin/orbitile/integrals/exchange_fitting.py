r"""The exchange matrix by density fitting: quick, and right to some 1e-4 hartree. What is exact is in `exchange`.

Products of basis functions are fitted by auxiliary functions P (O. Vahtras, J. Almloef, M. W. Feyereisen, Chem. Phys.
Lett. 1993, 213, 514): with V the Coulomb integrals of these and W those of the interaction,

.. math::  K_{ij} = \sum_{kl} D_{kl} \sum_P B_{ik,P} B_{jl,P}, \qquad B B^T = J V^{-1} W V^{-1} J^T, \qquad
    J_{ij,P} = (ij|P)

The auxiliary functions are Hermite Gaussians about the atoms: exponents in equal ratios from those of the products of
two primitives of an atom, with all orders that these products have there, and one more where there are such, as in the
sets of G. L. Stoychev, A. A. Auer, F. Neese (J. Chem. Theory Comput. 2017, 13, 554). Nothing has to be tabulated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.memory import share
from ..base.watch import checkpoint
from ..gaussians.expansion import starts, term_counts
from .hermite_list import Block, HermiteList
from .pairs import Pairs, block_table
from .two_electron import sums_of_orders

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from taichi_kernels.exchange import Interaction

_RATIO = 2.7
"""Of an exponent of an auxiliary function to the next."""

_HIGHEST = 4
"""Order up to which there are auxiliary functions."""

_DEPENDENT = 1e-10
"""Added to the diagonal of V, which is 1: auxiliary functions may depend on each other."""

_NOTHING = 1e-8
"""Eigenvalue of a density matrix that does not matter."""


@dataclass(frozen=True, eq=False)
class FittedExchange:
    """Fitted products of basis functions.

    Attributes
    ----------
    factors : ndarray of float32, shape (n_basis, n_basis, n_auxiliary)
        B, of an interaction.
    """

    factors: NDArray[np.float32]

    def matrices(self, densities: Reals) -> Reals:
        """Exchange matrices of symmetric density matrices, shape (n, n_basis, n_basis), in hartree."""
        return np.array([self._matrix(density) for density in densities])

    def _matrix(self, density: Reals) -> Reals:
        n = len(density)
        values, vectors = np.linalg.eigh(density)
        result = np.zeros((n, n))
        for sign in (1, -1):
            some = sign * values > _NOTHING
            if some.any():
                orbitals = (vectors[:, some] * np.sqrt(np.abs(values[some]))).astype(np.float32)
                half = (self.factors.transpose(0, 2, 1) @ orbitals).reshape(n, -1)
                result += sign * (half @ half.T)
        return result


def may_be_fitted(pairs: Pairs) -> bool:
    """Whether the factors have room in memory; with as many functions a grid is as quick."""
    n_basis = pairs.primitives.from_basis.shape[1]
    return n_basis**2 * auxiliary_functions(pairs).n_coefficients <= share("fitted exchange", 4)


def fitted_exchange_of(pairs: Pairs, interaction: Interaction, target: Target) -> FittedExchange:
    """Fit the products of the basis functions of a molecule.

    Parameters
    ----------
    pairs
        Of the basis set.
    interaction
        In place of 1/r.
    target
        The device of the current session. What is computed is in double precision; meanwhile it takes one and a half
        times the memory of the result.
    """
    auxiliary = auxiliary_functions(pairs)
    double = Target(target.device, "double")
    # V = L L^T, and W over the functions that V makes orthonormal
    metric = _two_centres(auxiliary, double, 0.0)
    lower = cholesky(metric + _DEPENDENT * np.eye(len(metric)), lower=True)
    integrals = _three_centres(pairs, auxiliary, double).T
    factors = solve_triangular(lower, integrals, lower=True, overwrite_b=True, check_finite=False).T
    del integrals
    if interaction.long_range:
        attenuated = _two_centres(auxiliary, double, interaction.omega)
        half = solve_triangular(lower, attenuated, lower=True)
        weights = interaction.long_range * solve_triangular(lower, half.T, lower=True)
        values, axes = np.linalg.eigh(weights)
        factors = factors @ (axes * np.sqrt(np.maximum(values + interaction.full, 0.0)))
    else:
        factors *= np.sqrt(interaction.full)
    n = pairs.primitives.from_basis.shape[1]
    place = np.zeros((n, n), np.intp)
    low = np.tril_indices(n)
    place[low] = np.arange(len(low[0]))
    place = np.maximum(place, place.T)
    factors = factors.astype(np.float32)
    return FittedExchange(np.take(factors, place, axis=0))


def auxiliary_functions(pairs: Pairs) -> HermiteList:
    """Auxiliary functions for the products of the basis functions."""
    primitives = pairs.primitives
    centres, exponents, degrees = [], [], []
    for atom in range(pairs.n_atoms):
        here = np.flatnonzero(pairs.atom_of_primitive == atom)
        if not len(here):
            continue
        exponent, degree = primitives.exponent[here], primitives.degree[here]
        some = _ladder(exponent, degree)
        centres += [primitives.centre[here[0]]] * len(some)
        exponents += [z for z, _ in some]
        degrees += [n for _, n in some]
    order = np.argsort(degrees, kind="stable")
    return HermiteList(np.array(centres)[order], np.array(exponents)[order], np.array(degrees, np.int32)[order])


def _ladder(exponent: Reals, degree: NDArray[np.int32]) -> list[tuple[float, int]]:
    """Exponents of the auxiliary functions of an atom with some primitives, and the highest order of each."""
    sums = exponent[:, None] + exponent
    lowest, highest = sums.min(), sums.max()
    n = int(np.ceil(np.log(highest / lowest) / np.log(_RATIO))) + 1
    both, lesser = degree[:, None] + degree, np.minimum(degree[:, None], degree)
    ranges = []
    for order in range(min(int(degree.max()) + 1, _HIGHEST) + 1):
        known = min(order, 2 * int(degree.max()))
        ranges.append((sums[both >= known].min(), sums[2 * lesser >= known].max()))
    near = np.sqrt(_RATIO)
    return [
        (z, max((order for order, (low, high) in enumerate(ranges) if low / near <= z <= high * near), default=0))
        for z in (lowest * _RATIO ** np.arange(n)).tolist()
    ]


def _three_centres(pairs: Pairs, auxiliary: HermiteList, target: Target) -> Reals:
    """Coulomb integrals (ij|P), i >= j, shape (n (n + 1) / 2, n_auxiliary)."""
    to_functions = _to_functions(pairs)
    result = np.empty((to_functions.shape[0], auxiliary.n_coefficients))
    for rows, columns, block in _some(auxiliary, share("large matrix", 8) // pairs.list.n_coefficients):
        values = np.empty((pairs.list.n_coefficients, columns.stop - columns.start))
        for bra in pairs.list.blocks:
            checkpoint()
            values[bra.coefficients] = _integrals(pairs.list, bra, auxiliary, block, rows, target)
        result[:, columns] = to_functions @ values
    return result


def _some(auxiliary: HermiteList, most: int) -> Iterator[tuple[slice, slice, Block]]:
    """Gaussians of one degree and their columns, not many more than so many of these."""
    for block in auxiliary.blocks:
        n_orders = len(block.orders)
        step = max(1, most // n_orders)
        for first in range(block.rows.start, block.rows.stop, step):
            rows = slice(first, min(first + step, block.rows.stop))
            begin = block.coefficients.start + (first - block.rows.start) * n_orders
            yield rows, slice(begin, begin + n_orders * (rows.stop - rows.start)), block


def _two_centres(auxiliary: HermiteList, target: Target, omega: float) -> Reals:
    """Integrals of the auxiliary functions with each other, with 1/r or, for an omega, erf(omega r)/r."""
    result = np.empty((auxiliary.n_coefficients, auxiliary.n_coefficients))
    most = share("large matrix", 8) // auxiliary.n_coefficients
    for rows, columns, block in _some(auxiliary, most):
        for bra in auxiliary.blocks:
            result[bra.coefficients, columns] = _integrals(auxiliary, bra, auxiliary, block, rows, target, omega)
    return result / auxiliary.coulomb_norms[:, None]


def _integrals(
    bras: HermiteList,
    bra: Block,
    kets: HermiteList,
    ket: Block,
    rows: slice,
    target: Target,
    omega: float = 0.0,
) -> Reals:
    """Integrals of Hermite Gaussians with auxiliary functions, which are of norm 1, shape (coefficients of both).

    An interaction that is attenuated by erf(omega r) is 1/r between Gaussians of which one is wider.
    """
    from taichi_kernels.two_electron.hermite_integrals import hermite_integrals

    exponent = bras.exponent[bra.rows]
    wider = exponent * omega**2 / (exponent + omega**2) if omega else exponent
    found = hermite_integrals(
        bras.centre[bra.rows], wider, kets.centre[rows], kets.exponent[rows], bra.degree + ket.degree, target
    )
    if omega:
        found *= ((wider / exponent) ** 1.5)[:, None, None]
    n, _, m = found.shape
    n_bra, n_ket = len(bra.orders), len(ket.orders)
    spread = np.take(found, sums_of_orders(bra.degree, ket.degree).reshape(-1), axis=1).reshape(n * n_bra, n_ket, m)
    begin = ket.coefficients.start + (rows.start - ket.rows.start) * n_ket
    signs = np.array([(-1.0) ** sum(order) for order in ket.orders])
    norms = kets.coulomb_norms[begin : begin + n_ket * m].reshape(m, n_ket)
    result: Reals = (spread.transpose(0, 2, 1) * (signs / norms)).reshape(n * n_bra, -1)
    return result


def _to_functions(pairs: Pairs) -> csr_matrix:
    """From values of the Hermite Gaussians of the list to elements of a matrix on and below its diagonal."""
    from scipy.sparse import csr_matrix

    # to products of two terms of primitives
    first_term, begin = pairs.primitives.first_term, starts(term_counts(pairs.list.degree))
    values, columns, counts, terms = [], [], [], []
    for class_ in pairs.classes:
        p, q = pairs.left[class_.rows], pairs.right[class_.rows]
        to_block, n_columns = block_table(class_.left_degree, class_.right_degree)
        order, (x, y, z) = to_block.entry[:, 0], to_block.entry[:, 2:].T
        along = class_.coefficients
        values.append((along[:, 0, x] * along[:, 1, y] * along[:, 2, z]).reshape(-1))
        columns.append((begin[:-1][class_.rows, None] + order).reshape(-1))
        n_entries = np.diff(to_block.first)
        counts.append(np.tile(n_entries, len(p)))
        s, t = np.divmod(np.arange(len(n_entries)), n_columns)
        of_block = np.broadcast_arrays(first_term[p, None] + s, first_term[q, None] + t, (p == q)[:, None])
        terms.append(np.array([array.reshape(-1) for array in of_block]))
    to_terms = csr_matrix(
        (np.concatenate(values), np.concatenate(columns), starts(np.concatenate(counts))),
        shape=(sum(map(len, counts)), int(begin[-1])),
    )
    # and of these to products of two functions
    left, right, is_same = np.concatenate(terms, axis=1)
    basis = pairs.primitives.from_basis.tocsr()
    n, n_functions = basis.shape[1], np.diff(basis.indptr)
    many = n_functions[left] * n_functions[right]
    row = np.repeat(np.arange(len(many)), many)
    inner = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
    i, j = np.divmod(inner, n_functions[right][row])
    i, j = i + basis.indptr[left[row]], j + basis.indptr[right[row]]
    f, g = basis.indices[i].astype(np.intp), basis.indices[j].astype(np.intp)
    # a pair of two primitives stands for both orders, one with itself has both
    factor = np.where(is_same[row] == 1, f >= g, np.where(f == g, 2.0, 1.0)) * basis.data[i] * basis.data[j]
    high, low = np.maximum(f, g), np.minimum(f, g)
    to_functions = csr_matrix((factor, (high * (high + 1) // 2 + low, row)), shape=(n * (n + 1) // 2, len(many)))
    return to_functions @ to_terms
