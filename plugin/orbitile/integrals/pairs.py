r"""Products of the primitives of a basis set as Hermite Gaussians, and the map between matrices and these.

The product of two primitives, :math:`x_A^i x_B^j e^{-\alpha x_A^2 - \beta x_B^2}` along each axis, is a sum of Hermite
Gaussians about :math:`P = (\alpha A + \beta B)/z`, :math:`z = \alpha + \beta`, with coefficients that follow from
(L. E. McMurchie and E. R. Davidson, J. Comput. Phys. 1978, 26, 218)

.. math::  E^{00}_0 = e^{-\alpha\beta (A - B)^2/z}, \qquad
    E^{i+1,j}_t = \tfrac{1}{2z} E^{ij}_{t-1} + (P - A) E^{ij}_t + (t + 1) E^{ij}_{t+1}

and the same for j with P - B.

A symmetric matrix D over basis functions stands for the density :math:`\rho = \sum_{\mu\nu} D_{\mu\nu} \chi_\mu
\chi_\nu`. It becomes coefficients H on one list by a linear map T. Values v of integrals with the Hermite Gaussians of
the list become the matrix of the same integrals with products of basis functions by the adjoint of T,
:math:`\mathrm{Tr}(D\, T^*(v)) = T(D) \cdot v`. The map is never formed: of each pair the coefficients along the axes
are kept, and products of three of them are taken as they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.hermite_tables import powers_of
from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.memory import share
from ..base.watch import checkpoint
from ..gaussians.expansion import polynomial_powers, starts
from ..gaussians.packing import MergedPrimitives, merged_primitives
from ..gaussians.products import SHARE, ceilings
from ..model.cell import molecules_only
from ..model.wavefunction import Basis, Wavefunction
from .hermite_list import HermiteList, odd_factorial

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from taichi_kernels.hermite_map import Entries, HermiteMap, Sparse

Integers = NDArray[np.int32]
Powers = tuple[int, int, int]

TOLERANCE = 1e-11
"""Pairs whose products all have a smaller Coulomb norm are left out, in hartree^(1/2)."""

_ROUGH = share("tables", 64)
"""Pairs that are looked at together."""

_ELEMENTS = share("large matrix", 8)
"""Elements of a matrix over primitives that are held at once."""


@dataclass(frozen=True, eq=False)
class PairClass:
    """Pairs of primitives of two degrees, the higher one left.

    Attributes
    ----------
    left_degree, right_degree : int
    rows : slice
        Where they are in the list.
    coefficients : ndarray, shape (n, 3, size)
        For each axis :math:`E^{ij}_t`, in the places that `place` tells.
    """

    left_degree: int
    right_degree: int
    rows: slice
    coefficients: Reals


@dataclass(frozen=True, eq=False)
class Pairs:
    r"""The products of the primitives of a basis set that matter.

    Attributes
    ----------
    primitives : MergedPrimitives
        Of the basis set.
    n_atoms : int
    atom_of_primitive : ndarray of int32, shape (n_primitives,)
    list : HermiteList
        A Gaussian a pair.
    left, right : ndarray of int32, shape (n,)
        Its primitives. Each pair stands for both orders.
    bound : ndarray, shape (n,)
        What the Coulomb norm :math:`\sqrt{(ij|ij)}` of the part of any product of two basis functions that is in the
        pair cannot exceed, in hartree^(1/2).
    classes : tuple of PairClass
    """

    primitives: MergedPrimitives
    n_atoms: int
    atom_of_primitive: Integers
    list: HermiteList
    left: Integers
    right: Integers
    bound: Reals
    classes: tuple[PairClass, ...]


_PAIRS = Derived[Pairs]("pairs of functions")


def pairs_of(basis: Basis | Wavefunction, tolerance: float = TOLERANCE) -> Pairs:
    """The list for a basis set; kept as long as the basis set lives.

    Parameters
    ----------
    basis
        Shells and positions.
    tolerance
        Pairs below it, by `Pairs.bound`, are left out, in hartree^(1/2).

    Raises
    ------
    OrbitileError
        For a periodic system.
    """
    if isinstance(basis, Wavefunction):
        molecules_only(
            basis,
            "integrals over basis functions",
            "they are taken over all space, not over the cell; charges by mulliken, loewdin, iao and npa need none",
        )
    return _PAIRS.of(
        basis, tolerance, lambda: pairs_of_primitives(merged_primitives(basis), basis.positions, tolerance)
    )


def pairs_of_primitives(primitives: MergedPrimitives, positions: Reals, tolerance: float) -> Pairs:
    """The list for primitives: of a basis set, or of its derivatives.

    Parameters
    ----------
    primitives
        Gaussians times polynomials about atoms.
    positions : ndarray, shape (n_atoms, 3)
        Of the atoms, in bohr.
    tolerance
        As for `pairs_of`.
    """
    from scipy.spatial import cKDTree

    left, right = _near(primitives, tolerance)
    swap = primitives.degree[left] < primitives.degree[right]
    left, right = np.where(swap, right, left), np.where(swap, left, right)
    a, b = primitives.degree[left], primitives.degree[right]
    order = np.lexsort((right, left, b, a, a + b))
    left, right, a, b = left[order], right[order], a[order], b[order]
    begins = np.flatnonzero((np.diff(a, prepend=-1) != 0) | (np.diff(b, prepend=-1) != 0)).tolist()
    kept, classes, bounds = [], [], []
    row = 0
    for begin, end in zip(begins, [*begins[1:], len(a)], strict=True):
        checkpoint()
        p, q = left[begin:end], right[begin:end]
        coefficients = hermite_coefficients_along_axes(primitives, p, q, int(a[begin]), int(b[begin]))
        bound = _bounds(primitives, p, q, coefficients)
        strong = bound > tolerance
        if not strong.any():
            continue
        kept.append(begin + np.flatnonzero(strong))
        bounds.append(bound[strong])
        rows = slice(row, row + int(strong.sum()))
        classes.append(PairClass(int(a[begin]), int(b[begin]), rows, coefficients[strong]))
        row = rows.stop
    which = np.concatenate(kept) if kept else np.zeros(0, np.intp)
    left, right = left[which], right[which]
    alpha, beta = primitives.exponent[left], primitives.exponent[right]
    exponent = alpha + beta
    centre = (alpha[:, None] * primitives.centre[left] + beta[:, None] * primitives.centre[right]) / exponent[:, None]
    degree = (primitives.degree[left] + primitives.degree[right]).astype(np.int32)
    _, atom = cKDTree(positions).query(primitives.centre)
    gaussians = HermiteList(centre, exponent, degree)
    bound = np.concatenate([*bounds, np.zeros(0)])
    lefts, rights, atoms = (array.astype(np.int32) for array in (left, right, atom))
    return Pairs(primitives, len(positions), atoms, gaussians, lefts, rights, bound, tuple(classes))


def _near(primitives: MergedPrimitives, tolerance: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    r"""Pairs, each once, that may exceed a tolerance.

    A primitive is at most :math:`c\, e^{-0.8 \alpha r^2}`, with c the largest value of the rest; the product of two
    such functions has the Coulomb norm of one Gaussian.
    """
    ceiling = ceilings(primitives.with_terms(_term_weights(primitives)))
    n = len(primitives.exponent)
    found_p, found_q = [], []
    step = max(1, _ROUGH // max(n, 1))
    for first in range(0, n, step):
        checkpoint()
        some = slice(first, min(first + step, n))
        alpha, beta = primitives.exponent[some, None], primitives.exponent[None, : some.stop]
        z = alpha + beta
        distance = ((primitives.centre[some, None] - primitives.centre[None, : some.stop]) ** 2).sum(axis=2)
        with np.errstate(under="ignore"):
            bound = ceiling[some, None] * ceiling[None, : some.stop] * np.exp(-SHARE * alpha * beta / z * distance)
            bound *= np.sqrt(np.sqrt(2.0) * np.pi**2.5) * (SHARE * z) ** -1.25
        p, q = np.nonzero((bound > tolerance) & (np.arange(some.stop) <= np.arange(some.start, some.stop)[:, None]))
        found_p.append(p + first)
        found_q.append(q)
    return np.concatenate(found_p), np.concatenate(found_q)


def _term_weights(primitives: MergedPrimitives) -> Reals:
    """Largest magnitude that each term has in any basis function, shape (n_terms,)."""
    return np.asarray(abs(primitives.from_basis).max(axis=1).todense()).reshape(-1)


def _terms_a_function(primitives: MergedPrimitives) -> Reals:
    """Most terms that a basis function has in each primitive."""
    matrix = primitives.from_basis.tocoo()
    primitive = np.searchsorted(primitives.first_term, matrix.row, side="right") - 1
    keys, counts = np.unique(primitive.astype(np.int64) * matrix.shape[1] + matrix.col, return_counts=True)
    most = np.ones(len(primitives.exponent))
    np.maximum.at(most, keys // matrix.shape[1], counts)
    return most


@lru_cache
def place(a: int, b: int) -> NDArray[np.intp]:
    """Places of :math:`E^{ij}_t` among the coefficients along an axis, shape (a + 1, b + 1, a + b + 1); -1 for none."""
    result = np.full((a + 1, b + 1, a + b + 1), -1, np.intp)
    at = 0
    for i in range(a + 1):
        for j in range(b + 1):
            result[i, j, : i + j + 1] = np.arange(at, at + i + j + 1)
            at += i + j + 1
    result.setflags(write=False)
    return result


def hermite_coefficients_along_axes(
    primitives: MergedPrimitives, left: NDArray[np.integer], right: NDArray[np.integer], a: int, b: int
) -> Reals:
    """The coefficients :math:`E^{ij}_t` of some pairs for all i up to a and j up to b, shape (n, 3, size); see `place`.

    Parameters
    ----------
    primitives
        Only centres and exponents are looked at.
    left, right : ndarray of int, shape (n,)
    a, b
        Highest powers.
    """
    alpha, beta = primitives.exponent[left][:, None], primitives.exponent[right][:, None]
    z = alpha + beta
    A, B = primitives.centre[left], primitives.centre[right]
    to_a, to_b = beta / z * (B - A), alpha / z * (A - B)  # P - A and P - B, without the digits that P loses
    where = place(a, b)
    result = np.zeros((len(left), 3, int(where.max()) + 1))
    with np.errstate(under="ignore"):
        result[:, :, 0] = np.exp(-alpha * beta / z * (A - B) ** 2)
        for i in range(a + 1):
            for j in range(b + 1):
                if i == j == 0:
                    continue
                # the left power is raised where there is one
                i0, j0, shift = (i - 1, j, to_a) if i else (i, j - 1, to_b)
                for t in range(i + j + 1):
                    value = result[:, :, where[i, j, t]]
                    if t <= i0 + j0:
                        value += shift * result[:, :, where[i0, j0, t]]
                    if t > 0:
                        value += result[:, :, where[i0, j0, t - 1]] / (2 * z)
                    if t + 1 <= i0 + j0:
                        value += (t + 1) * result[:, :, where[i0, j0, t + 1]]
    return result


def terms(a: int, b: int) -> Iterator[tuple[int, int, Powers, Powers]]:
    """Products of primitives of two degrees, term by term: both terms, the order, and the places along the axes."""
    where = place(a, b)
    for s, left in enumerate(polynomial_powers(a)):
        for t, right in enumerate(polynomial_powers(b)):
            tops = [i + j for i, j in zip(left, right, strict=True)]
            for u in range(tops[0] + 1):
                for v in range(tops[1] + 1):
                    for w in range(tops[2] + 1):
                        x, y, z = (int(where[i, j, n]) for i, j, n in zip(left, right, (u, v, w), strict=True))
                        yield s, t, (u, v, w), (x, y, z)


def _bounds(primitives: MergedPrimitives, p: NDArray[np.intp], q: NDArray[np.intp], along_axes: Reals) -> Reals:
    r"""Bound on the Coulomb norm of any product of two basis functions in each pair.

    By the triangle inequality over the orders, with

    .. math::  (L_n|L_n) \le \sqrt2\, \pi^{5/2} z^{-5/2} \prod z^t\, (2t - 1)!!,

    so that the sum over orders is a product of sums along the axes.
    """
    a, b = int(primitives.degree[p[0]]), int(primitives.degree[q[0]])
    z = primitives.exponent[p] + primitives.exponent[q]
    norms = np.sqrt(z[:, None] ** np.arange(a + b + 1) * [odd_factorial(t) for t in range(a + b + 1)])
    where = place(a, b)
    sums = np.empty((a + 1, b + 1, 3, len(p)))
    for i in range(a + 1):
        for j in range(b + 1):
            here = np.abs(along_axes[:, :, where[i, j, : i + j + 1]])
            sums[i, j] = np.einsum("nkt,nt->kn", here, norms[:, : i + j + 1])
    weight, most = _TERM_WEIGHTS.of(
        primitives, None, lambda: (_term_weights(primitives), _terms_a_function(primitives))
    )
    largest = np.zeros(len(p))
    for s, left in enumerate(polynomial_powers(a)):
        for t, right in enumerate(polynomial_powers(b)):
            product = weight[primitives.first_term[p] + s] * weight[primitives.first_term[q] + t]
            for axis, (i, j) in enumerate(zip(left, right, strict=True)):
                product *= sums[i, j, axis]
            np.maximum(largest, product, out=largest)
    return largest * most[p] * most[q] * np.sqrt(np.sqrt(2.0) * np.pi**2.5 * z**-2.5)


_TERM_WEIGHTS = Derived[tuple[Reals, Reals]]("pairs of functions")


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


def block_table(a: int, b: int) -> tuple[Entries, int]:
    """The adjoint of the map of two degrees as entries, row by row of a block, and the number of its columns."""
    _, to_block, (_, _, n_columns) = _tables(a, b)
    return to_block, n_columns


@lru_cache
def _tables(a: int, b: int) -> tuple[Entries, Entries, tuple[int, int, int]]:
    """The map of two degrees and its adjoint as entries; numbers of orders, rows and columns."""
    from taichi_kernels.hermite_map import Entries

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
