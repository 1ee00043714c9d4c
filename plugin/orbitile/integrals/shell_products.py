r"""Products of two shells as sums of Hermite Gaussians, those of one kind together.

.. math::  \chi_p \chi_q = \sum_P \sum_n E^{pq}_{Pn} L_n

A kind has two angular momenta, two numbers of functions, and a number of Gaussians. Shells of one atom and one angular
momentum that share their exponents (a general contraction) count as one shell here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.hermite_tables import powers_of

from ..base.errors import OrbitileError
from ..base.memory import require_memory, share
from ..base.watch import checkpoint
from ..gaussians.expansion import starts
from ..gaussians.packing import MergedPrimitives, merged_primitives, polynomial_powers
from ..model.wavefunction import Basis
from .pairs import PairClass, Pairs, pairs_of_primitives, terms

if TYPE_CHECKING:
    from ..model.wavefunction import Wavefunction

Reals = NDArray[np.float64]
Integers = NDArray[np.int32]

TOLERANCE = 1e-12
"""Products of primitives with a smaller Coulomb norm are left out, in hartree^(1/2)."""

_ELEMENTS = share("matrix", 8)
"""Coefficients of products of primitives that are contracted at once."""


@dataclass(frozen=True, eq=False)
class ShellProducts:
    """Products of shells of one kind.

    Attributes
    ----------
    degree : int
    centre : ndarray, shape (n, n_gaussians, 3)
        In bohr.
    exponent : ndarray, shape (n, n_gaussians)
        In bohr^-2.
    coefficients : ndarray, shape (n, n_products, n_gaussians, n_orders)
        Of the products of each pair of shells.
    functions : ndarray of int32, shape (n, n_products, 2)
        The basis functions of which they are products.
    """

    degree: int
    centre: Reals
    exponent: Reals
    coefficients: Reals
    functions: Integers

    def __len__(self) -> int:
        return len(self.centre)

    def some(self, rows: slice) -> ShellProducts:
        """Part of them."""
        return replace(
            self,
            centre=self.centre[rows],
            exponent=self.exponent[rows],
            coefficients=self.coefficients[rows],
            functions=self.functions[rows],
        )


def shell_products(
    basis: Basis | Wavefunction, chosen: Sequence[tuple[int, int]] | None, tolerance: float
) -> list[ShellProducts]:
    """Products of shells by their kinds, each pair of shells once.

    Parameters
    ----------
    basis
        Shells and positions.
    chosen
        Pairs of shells; without them all.
    tolerance
        As for `pairs_of`.

    Raises
    ------
    OrbitileError
        For a shell that is not there, and when the coefficients do not fit in memory.
    """
    check_shells(basis, [shell for pair in chosen or () for shell in pair])
    n_shells = len(basis.shells)
    families = _families(basis)
    wanted = None if chosen is None else {tuple(sorted((families[p], families[q]))) for p, q in chosen}
    involved = {*range(n_shells)} if wanted is None else {family for pair in wanted for family in pair}
    members = [n for n in range(n_shells) if families[n] in involved]
    # each family stands on an atom of its own, so that only its own primitives are merged
    apart = Basis(
        tuple(replace(basis.shells[n], atom=families[n]) for n in members),
        basis.positions[[basis.shells[families.index(family)].atom for family in range(max(families) + 1)]],
    )
    first = starts(np.array([shell.n_functions for shell in basis.shells]))
    numbers = np.concatenate([np.arange(first[n], first[n + 1], dtype=np.int32) for n in members])
    primitives = merged_primitives(apart)
    pairs = pairs_of_primitives(primitives, apart.positions, tolerance)
    contractions = _contractions(primitives, np.repeat([families[n] for n in members], np.diff(first)[members]))
    result: list[ShellProducts] = []
    for class_ in pairs.classes:
        for rows in _kinds(pairs, class_, contractions, wanted):
            checkpoint()
            result.append(_contracted(pairs, class_, rows, contractions, numbers))
    return result


def check_shells(basis: Basis | Wavefunction, shells: Sequence[int]) -> None:
    """Whether a basis set has these shells.

    Raises
    ------
    OrbitileError
        For the first that is not there.
    """
    n = len(basis.shells)
    wrong = [shell for shell in shells if not 0 <= shell < n]
    if wrong:
        raise OrbitileError(f"shell: expected 0 to {n - 1}, got {wrong[0]}")


@dataclass(frozen=True, eq=False)
class _Contraction:
    """A primitive in the functions of its family.

    Attributes
    ----------
    family : int
        -1 for a primitive that no function has.
    functions : ndarray of int, shape (n_functions,)
        Of the family.
    coefficients : ndarray, shape (Cartesian components, n_functions)
    """

    family: int
    functions: NDArray[np.intp]
    coefficients: Reals


def _families(basis: Basis | Wavefunction) -> list[int]:
    """For each shell the number of its family: shells of one atom that differ in their contractions only."""
    known: dict[tuple[object, ...], int] = {}
    return [
        known.setdefault((shell.atom, shell.angular_momentum, shell.pure, shell.exponents.tobytes()), len(known))
        for shell in basis.shells
    ]


def _contractions(primitives: MergedPrimitives, family_of_function: NDArray[np.int64]) -> list[_Contraction]:
    """Of each primitive."""
    members = [np.flatnonzero(family_of_function == family) for family in range(family_of_function.max() + 1)]
    result = []
    for first, degree in zip(primitives.first_term.tolist(), primitives.degree.tolist(), strict=False):
        rows = primitives.from_basis[first + np.array(_terms_of_shell(degree))]
        family = int(family_of_function[rows.indices[0]]) if rows.nnz else -1
        functions = members[family] if rows.nnz else np.zeros(0, np.intp)
        result.append(_Contraction(family, functions, rows[:, functions].toarray()))
    return result


def _kinds(
    pairs: Pairs, class_: PairClass, contractions: list[_Contraction], wanted: set[tuple[int, ...]] | None
) -> Iterator[NDArray[np.intp]]:
    """Rows of the list that are products of shells of one kind, shape (products of shells, n_gaussians)."""
    family = np.array([contraction.family for contraction in contractions])
    width = np.array([len(contraction.functions) for contraction in contractions])
    rows = np.arange(class_.rows.start, class_.rows.stop)
    both = np.column_stack([family[pairs.left[rows]], family[pairs.right[rows]]])
    order = np.lexsort(both.T)
    rows, both = rows[order], both[order]
    begin = np.flatnonzero((np.diff(both, axis=0, prepend=-1) != 0).any(axis=1))
    count = np.diff(np.append(begin, len(rows)))
    kind = np.column_stack([width[pairs.left[rows[begin]]], width[pairs.right[rows[begin]]], count])
    if wanted is not None:
        chosen = [tuple(sorted(pair)) in wanted for pair in both[begin].tolist()]
        begin, kind = begin[chosen], kind[chosen]
    for one in np.unique(kind, axis=0):
        yield rows[begin[(kind == one).all(axis=1)][:, None] + np.arange(one[2])]


def _contracted(
    pairs: Pairs, class_: PairClass, rows: NDArray[np.intp], contractions: list[_Contraction], numbers: Integers
) -> ShellProducts:
    """Products of shells of one kind, from the rows of the list that belong to each."""
    n, n_gaussians = rows.shape
    degree = class_.left_degree + class_.right_degree
    left, right = [[contractions[p].functions for p in side[rows[:, 0]]] for side in (pairs.left, pairs.right)]
    functions = np.empty((n, len(left[0]), len(right[0]), 2), np.int32)
    functions[..., 0] = numbers[np.array(left)][:, :, None]
    functions[..., 1] = numbers[np.array(right)][:, None, :]
    n_products = len(left[0]) * len(right[0])
    n_orders = len(powers_of(degree))
    require_memory(8 * rows.size * n_products * n_orders, "the products of the shells", "ask for fewer shells at once")
    coefficients = np.empty((n, n_gaussians, n_products, n_orders))
    step = max(1, _ELEMENTS // (n_gaussians * n_products * n_orders))
    for begin in range(0, n, step):
        checkpoint()
        some = slice(begin, min(begin + step, n))
        flat = rows[some].reshape(-1)
        coefficients[some] = _of_gaussians(pairs, class_, flat, contractions).reshape(coefficients[some].shape)
    return ShellProducts(
        degree,
        pairs.list.centre[rows],
        pairs.list.exponent[rows],
        np.ascontiguousarray(coefficients.transpose(0, 2, 1, 3)),
        functions.reshape(n, n_products, 2),
    )


def _of_gaussians(pairs: Pairs, class_: PairClass, rows: NDArray[np.intp], contractions: list[_Contraction]) -> Reals:
    """Coefficients of products of functions in each Gaussian, shape (n, left functions, right functions, n_orders)."""
    where, places = _entries(class_.left_degree, class_.right_degree)
    along = class_.coefficients[rows - class_.rows.start]
    p, q = pairs.left[rows], pairs.right[rows]
    left, right = (np.array([contractions[n].coefficients for n in side]) for side in (p, q))
    n, (n_left, f), (n_right, g) = len(rows), left.shape[1:], right.shape[1:]
    of_primitives = np.zeros((n, n_left, n_right, len(powers_of(class_.left_degree + class_.right_degree))))
    of_primitives[:, where[:, 0], where[:, 1], where[:, 2]] = (
        along[:, 0, places[:, 0]] * along[:, 1, places[:, 1]] * along[:, 2, places[:, 2]]
    )
    half = left.transpose(0, 2, 1) @ of_primitives.reshape(n, n_left, -1)
    half = half.reshape(n, f, n_right, -1).transpose(0, 2, 1, 3).reshape(n, n_right, -1)
    result: Reals = (right.transpose(0, 2, 1) @ half).reshape(n, g, f, -1).transpose(0, 2, 1, 3)
    # a pair of primitives of one shell stands for both orders
    family = np.array([contraction.family for contraction in contractions])
    both = np.flatnonzero((family[p] == family[q]) & (p != q))
    if len(both):
        result[both] = result[both] + result[both].transpose(0, 2, 1, 3)
    return result


@lru_cache
def _entries(a: int, b: int) -> tuple[Integers, Integers]:
    """Where the coefficients of products of primitives of two degrees stand, and their places along the axes.

    Shapes (n, 3) for both, the first of term, term and order. A shell has terms of the highest degree only.
    """
    column = {order: n for n, order in enumerate(powers_of(a + b))}
    of_shell = [{n: at for at, n in enumerate(_terms_of_shell(degree))} for degree in (a, b)]
    where, places = [], []
    for s, t, order, along in terms(a, b):
        if s in of_shell[0] and t in of_shell[1]:
            where.append((of_shell[0][s], of_shell[1][t], column[order]))
            places.append(along)
    return np.array(where, np.int32), np.array(places, np.int32)


@lru_cache
def _terms_of_shell(degree: int) -> tuple[int, ...]:
    """Which of the terms of a polynomial are of its degree."""
    return tuple(n for n, powers in enumerate(polynomial_powers(degree)) if sum(powers) == degree)
