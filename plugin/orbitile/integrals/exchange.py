r"""The exchange matrix, semi-numerically: :math:`K_{ij} = \sum_{kl} D_{kl} (ik|jl)`.

One electron of each integral is at the points of a grid, the other one is integrated exactly; see
`taichi_kernels.exchange`. What the grid makes of :math:`\chi_i` is corrected by what it makes of overlaps
(R. Izsak and F. Neese, J. Chem. Phys. 2011, 135, 144105): with S, and :math:`S^g` as the grid has it,

.. math::  K = \tfrac12 (Q P + P^T Q^T), \qquad Q = 1 + (S - S^g)\, V (V^T S^g V)^{-1} V^T

V being the axes of S along which it is not small. With all of them Q is :math:`S (S^g)^{-1}`; where functions nearly
depend on each other that would make much of what the grid is off by.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.memory import share
from ..base.watch import watcher
from ..gaussians.expansion import polynomial_powers, starts
from ..gaussians.packing import MergedPrimitives
from ..model.wavefunction import Basis, Wavefunction
from .grids import Grid
from .one_electron import derivative_pairs
from .pairs import Pairs, hermite_coefficients_along_axes, pairs_of, place

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from taichi_kernels.exchange import ExchangeSums, Functions, Interaction, PairGroup, Primitives
    from taichi_kernels.hermite_map import Sparse

_LEFT_OUT = {"single": 1e-9, "double": 1e-11}
"""By precision: what the points of a cell may add to an element of the matrix and be left out, in hartree."""


@dataclass(frozen=True, eq=False)
class Exchange:
    """A grid and the products of basis functions, ready on a device.

    Attributes
    ----------
    basis : Basis or Wavefunction
    sums : ExchangeSums
        What is ready on the device.
    overlap : ndarray, shape (n_basis, n_basis)
        Of the basis functions.
    left_out : float
        What the points of a cell may add to an element of the matrix and be left out, in hartree.
    """

    basis: Basis | Wavefunction
    sums: ExchangeSums
    overlap: Reals
    left_out: float

    def matrices(self, densities: Reals, interaction: Interaction, antisymmetric: bool = False) -> Reals:
        """Exchange matrices.

        Parameters
        ----------
        densities : ndarray, shape (1 or 2, n_basis, n_basis)
            Symmetric, or all of them antisymmetric.
        interaction
            In place of 1/r.
        antisymmetric
            Which of both; exchange matrices are alike.

        Returns
        -------
        ndarray, shape of the densities
            In hartree.
        """
        sign = -1.0 if antisymmetric else 1.0  # P is of transposed densities
        half = sign * self.sums.matrices(densities, interaction, self.left_out, watcher())
        half = self._correction @ half
        return 0.5 * (half + sign * half.transpose(0, 2, 1))

    @cached_property
    def _correction(self) -> Reals:
        """Q."""
        of_grid = self.sums.overlap
        assert of_grid is not None, "matrices come first"
        values, axes = np.linalg.eigh(self.overlap)
        some = axes[:, values > _CORRECTED]
        fitted = np.linalg.solve(some.T @ of_grid @ some, some.T)
        return np.eye(len(of_grid)) + (self.overlap - of_grid) @ some @ fitted

    def gradient(self, densities: Reals, interaction: Interaction) -> Reals:
        r"""Derivatives of :math:`\tfrac14 \sum \mathrm{Tr}\, D\, K[D]` when atoms move with their basis functions.

        The four functions of an integral have the same derivatives, so those of the one that is at the points serve for
        all: the points are held, and Q is not needed where they are many.

        Parameters
        ----------
        densities, interaction
            As for `matrices`; D is held.

        Returns
        -------
        ndarray, shape (n_atoms, 3)
            In hartree/bohr.
        """
        slopes = self.sums.gradient(densities, interaction, self.left_out, _derivatives(self.basis), watcher())
        result = np.zeros((len(self.basis.positions), 3))
        np.add.at(result, _atom_of_functions(self.basis), -slopes.T)
        return result


def exchange_of(basis: Basis | Wavefunction, grid: Grid, overlap: Reals, target: Target) -> Exchange:
    """Prepare the exchange of a molecule on a grid.

    Parameters
    ----------
    basis
        Shells and positions.
    grid : Grid
    overlap : ndarray, shape (n_basis, n_basis)
        Of the basis functions.
    target
        The device of the current session, and the precision of terms.
    """
    from taichi_kernels.exchange import ExchangeSums
    from taichi_kernels.quadrature_lists import cells_of

    cells = cells_of(grid.points)
    weights = grid.weights[cells.order]
    weights[len(grid.weights) :] = 0.0
    products = _PRODUCTS.of(basis, (), lambda: _products(basis))
    n_terms = products.functions.n_terms
    sums = ExchangeSums(
        cells,
        weights,
        products.functions,
        products.from_basis,
        products.of_primitives,
        products.groups,
        basis.positions[_atom_of_functions(basis)],
        products.reach,
        _POINTS[target.device] if target.on_host else share("exchange on a GPU", 3 * n_terms * target.dtype.itemsize),
        target,
    )
    return Exchange(basis, sums, overlap, _LEFT_OUT[target.precision])


@dataclass(frozen=True, eq=False)
class _Products:
    """What there is of a basis set whatever the grid; see `ExchangeSums`."""

    functions: Functions
    from_basis: Sparse
    of_primitives: Sparse
    groups: list[PairGroup]
    reach: Reals


_PRODUCTS = Derived[_Products]("pairs of functions")


def _products(basis: Basis | Wavefunction) -> _Products:
    from taichi_kernels.exchange import Functions
    from taichi_kernels.hermite_map import Sparse

    pairs = pairs_of(basis)
    primitives = pairs.primitives
    kinds, kind = _kinds(primitives)
    terms = primitives.from_basis.tocsr()
    functions = [
        np.unique(terms[first:last].indices) for first, last in itertools.pairwise(primitives.first_term.tolist())
    ]
    first, column = starts(np.array([len(some) for some in functions], np.int32)), np.concatenate(functions)
    return _Products(
        Functions(kinds, int(primitives.first_term[-1]), _sparse(terms.T)),
        _sparse(terms),
        Sparse(first, column.astype(np.int32), np.ones(len(column))),
        _groups(pairs, kinds, kind),
        _reach(primitives),
    )


_CORRECTED = 0.01
"""Eigenvalue of the overlap above which it is corrected. Over orthonormal functions the matrix of benzene in
aug-cc-pVDZ, with eigenvalues down to 2e-6, is off by 8e-5 hartree with this, by 5e-4 with all, by 9e-5 with none."""


_POINTS = {"cpu": 4064}
"""Points that a CPU works on at once: what there is of them stays in its cache. With a power of two all rows of numbers
would compete for the same few lines of it."""


def _atom_of_functions(basis: Basis | Wavefunction) -> NDArray[np.intp]:
    return np.repeat([shell.atom for shell in basis.shells], [shell.n_functions for shell in basis.shells])


def _derivatives(basis: Basis | Wavefunction) -> Functions:
    """Derivatives of the basis functions along x, then along y, then along z."""
    from taichi_kernels.exchange import Functions

    primitives = derivative_pairs(basis).primitives
    terms = primitives.from_basis.tocsr()
    return Functions(_kinds(primitives)[0], int(primitives.first_term[-1]), _sparse(terms.T))


def _sparse(matrix: csr_matrix) -> Sparse:
    from taichi_kernels.hermite_map import Sparse

    rows = matrix.tocsr()
    return Sparse(rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data.astype(np.float64))


def _reach(primitives: MergedPrimitives) -> Reals:
    """Distance beyond which each basis function is below `_SMALLEST`, in bohr; from above."""
    away = np.linspace(0.0, _FARTHEST, 4 * int(_FARTHEST))[1:]
    largest = np.zeros((primitives.from_basis.shape[1], len(away)))
    matrix = abs(primitives.from_basis).tocsr()
    for p, (first, last) in enumerate(itertools.pairwise(primitives.first_term.tolist())):
        powers = [sum(some) for some in polynomial_powers(int(primitives.degree[p]))]
        radial = np.power.outer(away, powers) * np.exp(-primitives.exponent[p] * away**2)[:, None]
        some = matrix[first:last].tocoo()
        np.add.at(largest, some.col, some.data[:, None] * radial.T[some.row])
    behind_last = len(away) - np.argmax(largest[:, ::-1] > _SMALLEST, axis=1)
    return away[np.minimum(behind_last, len(away) - 1)]


_SMALLEST, _FARTHEST = 1e-8, 60.0
"""Value that does not matter, and distance in bohr that no function reaches farther than."""


def _kinds(primitives: MergedPrimitives) -> tuple[list[Primitives], NDArray[np.intp]]:
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


_TERMS = 10
"""Terms of a primitive in one kernel, those of an f function. With all 15 of a g function the first energy and
forces of HF in def2-QZVP take 171 s in single and 264 s in double precision, most of it to compile; in parts 111 and
98 s."""


def _pieces(kind: Primitives) -> list[Primitives]:
    """Primitives with all their terms, in parts of like size."""
    parts = np.array_split(np.arange(len(kind.terms)), -(-len(kind.terms) // _TERMS))
    return [
        replace(kind, terms=kind.terms[part[0] : part[-1] + 1], offsets=kind.offsets[part[0] : part[-1] + 1])
        for part in parts
    ]


def _groups(pairs: Pairs, kinds: list[Primitives], kind: NDArray[np.intp]) -> list[PairGroup]:
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
        first = np.flatnonzero(np.diff(p, prepend=-1))
        lefts = np.column_stack([primitives.first_term[p[first]], p[first], first, [*first[1:], len(p)]])
        rights = np.column_stack([primitives.first_term[q], q])
        for one, other in itertools.product(_pieces(kinds[a]), _pieces(kinds[b])):
            coefficients = coefficients_of(one.terms, other.terms, along, place(m, n)) * factor[:, None]
            groups.append(
                PairGroup(
                    one, other, lefts.astype(np.int32), rights.astype(np.int32),
                    pairs.list.centre[here], z, bound[here], coefficients,
                )
            )  # fmt: skip
    return groups
