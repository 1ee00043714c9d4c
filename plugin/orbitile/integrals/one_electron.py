r"""Matrices of one electron from the list: overlap and kinetic energy.

The integral of a Hermite Gaussian over space is :math:`(\pi/z)^{3/2}` for order 0 and nothing for all others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.caches import Derived
from ..gaussians.expansion import polynomial_powers, starts, term_counts
from ..gaussians.packing import MergedPrimitives, SparseRows, merged_primitives
from ..model.wavefunction import Basis, Wavefunction
from .hermite_list import HermiteList
from .pairs import TOLERANCE, Pairs, pairs_of_primitives, to_hermite, to_matrix

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def integrals_over_space(gaussians: HermiteList) -> Reals:
    """Integral of each Hermite Gaussian over space, shape (n_coefficients,), in bohr^3 where it is not 0."""
    values = np.zeros(gaussians.n_coefficients)
    for block in gaussians.blocks:
        block.of(values)[:, 0] = (np.pi / gaussians.exponent[block.rows]) ** 1.5
    return values


def overlap(pairs: Pairs, target: Target) -> Reals:
    """Overlap matrix, shape (n_basis, n_basis)."""
    return to_matrix(pairs, integrals_over_space(pairs.list), target)


def to_derivatives(pairs: Pairs, matrix: Reals, target: Target) -> Reals:
    r"""Coefficients of :math:`\tfrac12 \sum_{\mu\nu} D_{\mu\nu} \nabla\chi_\mu \cdot \nabla\chi_\nu` on a list.

    Parameters
    ----------
    pairs
        Of the derivatives of all basis functions, `derivative_pairs`.
    matrix : ndarray, shape (n_basis, n_basis)
        Symmetric.
    target
        The device of the current session. It takes nine times the memory of the matrix.
    """
    return to_hermite(pairs, np.kron(np.eye(3), 0.5 * matrix).astype(np.float64), target)


def from_derivatives(pairs: Pairs, values: Reals, target: Target) -> Reals:
    """The adjoint of `to_derivatives`: a matrix, shape (n_basis, n_basis), of integrals with the Hermite Gaussians."""
    matrix = to_matrix(pairs, values, target)
    n = len(matrix) // 3
    return 0.5 * sum((matrix[k * n : (k + 1) * n, k * n : (k + 1) * n] for k in range(3)), np.zeros((n, n)))


def derivative_pairs(basis: Basis | Wavefunction) -> Pairs:
    """The list for the derivatives of all basis functions along x, then along y, then along z."""

    def make() -> Pairs:
        from scipy.sparse import hstack

        primitives = merged_primitives(basis)
        degree = (primitives.degree + 1).astype(np.int32)
        along = hstack([_derivative(primitives, axis) @ primitives.from_basis for axis in range(3)]).tocsr()
        raised = replace(primitives, degree=degree, first_term=starts(term_counts(degree)), rows=SparseRows.of(along))
        return pairs_of_primitives(raised, basis.positions, TOLERANCE)

    return _DERIVATIVES.of(basis, None, make)


_DERIVATIVES = Derived[Pairs]("pairs of functions")


def _derivative(primitives: MergedPrimitives, axis: int) -> csr_matrix:
    """Takes the terms of primitives to those of their derivatives: x^i becomes i x^(i-1) - 2 zeta x^(i+1)."""
    from scipy.sparse import csr_matrix

    rows, columns, values = [], [], []
    raised_first = starts(term_counts(primitives.degree + np.int32(1)))
    for degree in np.unique(primitives.degree).tolist():
        which = np.flatnonzero(primitives.degree == degree)
        place = {powers: n for n, powers in enumerate(polynomial_powers(degree + 1))}
        for term, powers in enumerate(polynomial_powers(degree)):
            steps = [(1, -2 * primitives.exponent[which])]
            if powers[axis]:
                steps.append((-1, np.full(len(which), float(powers[axis]))))
            for step, value in steps:
                i, j, k = (power + step * (n == axis) for n, power in enumerate(powers))
                rows.append(raised_first[which] + place[i, j, k])
                columns.append(primitives.first_term[which] + term)
                values.append(value)
    shape = (int(raised_first[-1]), int(primitives.first_term[-1]))
    return csr_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape)
