r"""The exchange matrix, semi-numerically: :math:`K_{ij} = \sum_{kl} D_{kl} (ik|jl)`.

One electron of each integral is at the points of a grid, the other one is integrated exactly; see
`taichi_kernels.exchange`. What the grid makes of :math:`\chi_i` is corrected by what it makes of overlaps
(R. Izsak and F. Neese, J. Chem. Phys. 2011, 135, 144105): with S, and :math:`S^g` as the grid has it,

.. math::  K = \tfrac12 (Q P + P^T Q^T), \qquad Q = S (S^g)^{-1}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.watch import watcher
from ..gaussians.expansion import polynomial_powers
from ..gaussians.packing import MergedPrimitives
from .grids import Grid
from .pairs import Pairs, hermite_coefficients_along_axes, place

if TYPE_CHECKING:
    from taichi_kernels.exchange import ExchangeSums, Interaction, PairGroup, Primitives


@dataclass(frozen=True, eq=False)
class Exchange:
    """A grid and the products of basis functions, ready on a device."""

    sums: ExchangeSums
    correction: Reals

    def matrices(self, densities: Reals, interaction: Interaction, limit: float) -> Reals:
        """Exchange matrices of density matrices, shape (n, n_basis, n_basis), in hartree."""
        half = self.sums.matrices(densities, interaction, limit, watcher())
        half = self.correction @ half
        return 0.5 * (half + half.transpose(0, 2, 1))


def exchange_of(pairs: Pairs, grid: Grid, overlap: Reals, target: Target, batch: int = 2048) -> Exchange:
    """Prepare the exchange of a molecule on a grid."""
    from taichi_kernels.exchange import ExchangeSums
    from taichi_kernels.hermite_map import Sparse
    from taichi_kernels.quadrature_lists import cells_of

    primitives = pairs.primitives
    cells = cells_of(grid.points)
    weights = grid.weights[cells.order]
    weights[len(grid.weights) :] = 0.0
    kinds = _kinds(primitives)
    matrix = primitives.from_basis.tocsr()
    transposed = matrix.T.tocsr()
    from_basis, to_basis = (
        Sparse(m.indptr.astype(np.int32), m.indices.astype(np.int32), m.data.astype(np.float64))
        for m in (matrix, transposed)
    )
    functions = [
        np.unique(matrix[primitives.first_term[p] : primitives.first_term[p + 1]].indices)
        for p in range(len(primitives.exponent))
    ]
    first = np.concatenate([[0], np.cumsum([len(some) for some in functions])]).astype(np.int32)
    column = np.concatenate(functions).astype(np.int32)
    of_primitives = Sparse(first, column, np.ones(len(column)))
    sums = ExchangeSums(
        cells, weights, list(kinds[0]), _groups(pairs, *kinds), from_basis, to_basis, of_primitives, batch, target
    )
    of_grid = sums.overlap(watcher())
    correction = np.linalg.solve(of_grid, overlap).T
    return Exchange(sums, correction)


def _kinds(primitives: MergedPrimitives) -> tuple[list[Primitives], np.ndarray]:
    """Primitives by the terms that they have, and the kind of each."""
    from taichi_kernels.exchange import Primitives

    used = np.diff(primitives.from_basis.tocsr().indptr) > 0
    lowest = np.empty(len(primitives.exponent), np.int64)
    for p, degree in enumerate(primitives.degree.tolist()):
        of_terms = used[primitives.first_term[p] : primitives.first_term[p + 1]]
        lowest[p] = min((sum(t) for t, u in zip(polynomial_powers(degree), of_terms, strict=True) if u), default=degree)
    keys, kind = np.unique(np.column_stack([primitives.degree, lowest]), axis=0, return_inverse=True)
    found = []
    for n, (degree, low) in enumerate(keys.tolist()):
        powers = polynomial_powers(degree)
        offsets = np.array([k for k, some in enumerate(powers) if sum(some) >= low], np.int32)
        here = np.flatnonzero(kind.reshape(-1) == n)
        found.append(
            Primitives(
                tuple(tuple(powers[k]) for k in offsets),
                offsets,
                primitives.first_term[here].astype(np.int32),
                primitives.centre[here],
                primitives.exponent[here],
            )
        )
    return found, kind.reshape(-1)


def _groups(pairs: Pairs, kinds: list[Primitives], kind: np.ndarray) -> list[PairGroup]:
    """Pairs by the kinds of their primitives."""
    from taichi_kernels.exchange import PairGroup
    from taichi_kernels.exchange_kernels import coefficients_of, degree_of

    primitives = pairs.primitives
    left, right = pairs.left, pairs.right
    swapped = kind[left] < kind[right]
    left, right = np.where(swapped, right, left), np.where(swapped, left, right)
    groups = []
    bound = 1.5 * pairs.bound * pairs.list.exponent**0.25
    for a, b in sorted(set(zip(kind[left].tolist(), kind[right].tolist(), strict=True))):
        here = np.flatnonzero((kind[left] == a) & (kind[right] == b))
        here = here[np.lexsort((-bound[here], left[here]))]
        p, q = left[here], right[here]
        m, n = degree_of(kinds[a].terms), degree_of(kinds[b].terms)
        along = hermite_coefficients_along_axes(primitives, p, q, m, n)
        z = pairs.list.exponent[here]
        factor = np.pi**1.5 / z * np.where(p == q, 0.5, 1.0)
        coefficients = coefficients_of(kinds[a].terms, kinds[b].terms, along, place(m, n)) * factor[:, None]
        first = np.flatnonzero(np.diff(p, prepend=-1))
        lefts = np.column_stack([primitives.first_term[p[first]], p[first], first, [*first[1:], len(p)]])
        rights = np.column_stack([primitives.first_term[q], q])
        groups.append(
            PairGroup(
                kinds[a], kinds[b], lefts.astype(np.int32), rights.astype(np.int32),
                pairs.list.centre[here], z, bound[here], coefficients,
            )
        )  # fmt: skip
    return groups
