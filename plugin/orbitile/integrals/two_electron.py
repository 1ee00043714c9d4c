r"""Two-electron repulsion integrals over basis functions, for whoever asks for them by themselves.

.. math::  (pq|rs) = \iint \frac{\chi_p(r_1) \chi_q(r_1) \chi_r(r_2) \chi_s(r_2)}{|r_1 - r_2|}\, dr_1\, dr_2

They are computed shell by shell from the list of `pairs`: a product of two basis functions is a sum of Hermite
Gaussians, and so

.. math::  \chi_p \chi_q = \sum_P \sum_n E^{pq}_{Pn} L_n, \qquad
    (pq|rs) = \sum_{Pn} \sum_{Qm} E^{pq}_{Pn}\, (L_n|L_m)\, E^{rs}_{Qm}

Products of two shells of one *kind* are computed together: it has two angular momenta, two numbers of functions, and a
number of Gaussians. Shells of one atom and one angular momentum that share their exponents (a general contraction)
count as one shell. Kernels compute :math:`(L_n|L_m)`, NumPy's products of matrices do the rest. The Coulomb matrix
needs none of this.

Integrals over contracted s functions alone are also computed by the three mappings of I. S. Ufimtsev and T. J. Martinez
(J. Chem. Theory Comput. 2008, 4, 222, doi 10.1021/ct700268q), see `s_integrals`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.hermite_tables import powers_of
from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.memory import require_memory, share
from ..base.watch import checkpoint, watcher
from ..gaussians.expansion import polynomial_powers, starts
from ..gaussians.packing import MergedPrimitives, merged_primitives
from ..model.conventions import radial_normalization
from ..model.wavefunction import Basis, Wavefunction
from .pairs import PairClass, Pairs, pairs_of_primitives, terms

if TYPE_CHECKING:
    from taichi_kernels.two_electron.s_functions import ContractedPairs

Integers = NDArray[np.int32]

TOLERANCE = 1e-12
"""Products of primitives with a smaller Coulomb norm are left out, in hartree^(1/2)."""

_ELEMENTS = share("small matrix", 8)
"""Integrals between Hermite Gaussians that are held at once, and as much again twice."""


@dataclass(frozen=True, eq=False)
class RepulsionBlock:
    """Integrals (pq|rs) of some pairs of basis functions with others.

    Attributes
    ----------
    left : ndarray of int32, shape (n, 2)
        Basis functions p, q.
    right : ndarray of int32, shape (m, 2)
        Basis functions r, s.
    values : ndarray of float32 or float64, shape (n, m)
        In hartree.
    """

    left: Integers
    right: Integers
    values: NDArray[np.floating]


def repulsion_integrals(
    basis: Basis | Wavefunction,
    target: Target,
    *,
    left: Sequence[tuple[int, int]] | None = None,
    right: Sequence[tuple[int, int]] | None = None,
    tolerance: float = TOLERANCE,
) -> Iterator[RepulsionBlock]:
    """Integrals (pq|rs), block by block: pairs of shells of one kind with pairs of shells of another.

    Parameters
    ----------
    basis
        Shells and positions.
    target
        The device of the current session, and the precision.
    left, right
        Pairs of shells. A pair of a general contraction brings all of its functions. Without both, all unique
        integrals come: of those that are equal by symmetry, (pq|rs) = (qp|rs) = (rs|pq), one at least. Pairs whose
        products all vanish have no block.
    tolerance
        As for `pairs_of`.

    Yields
    ------
    RepulsionBlock
        Memory is that of the products of the shells, 8 bytes a coefficient, and some 30 MB for a block, as a pair of
        shells is not divided.

    Raises
    ------
    OrbitileError
        For a shell that is not there, and for exponents whose powers are beyond single precision.
    """
    bras = shell_products(basis, left, tolerance)
    kets = bras if left is None and right is None else shell_products(basis, right, tolerance)
    for n, bra in enumerate(bras):
        for ket in kets[: n + 1] if kets is bras else kets:
            for i in _runs(bra, ket, min(len(ket), _SOME)):
                for j in _runs(ket, bra, i.stop - i.start):
                    if kets is bras and ket is bra and j.start >= i.stop:
                        continue  # came with the two exchanged
                    checkpoint()
                    yield _block(bra.some(i), ket.some(j), target)


def repulsion_of_shells(basis: Basis | Wavefunction, shells: tuple[int, int, int, int], target: Target) -> Reals:
    """Integrals (pq|rs) of four shells.

    Parameters
    ----------
    basis
        Shells and positions.
    shells
        Of p, q, r and s.
    target
        As for `repulsion_integrals`.

    Returns
    -------
    ndarray, shape (functions of p, of q, of r, of s)
        In hartree.

    Raises
    ------
    OrbitileError
        For a shell that is not there.
    """
    p, q, r, s = shells
    n_functions = np.array([shell.n_functions for shell in basis.shells])
    check_shells(basis, shells)
    first = starts(n_functions)
    result = np.zeros(n_functions[list(shells)])
    for block in repulsion_integrals(basis, target, left=[(p, q)], right=[(r, s)]):
        rows, columns = _inside(block.left, first, p, q), _inside(block.right, first, r, s)
        (n, i, j), (m, k, l) = rows, columns
        result[i[:, None], j[:, None], k, l] = block.values[n[:, None], m]
    return result


def repulsion_tensor(basis: Basis | Wavefunction, target: Target, *, tolerance: float = TOLERANCE) -> Reals:
    """All integrals (pq|rs) of a small basis set.

    Parameters
    ----------
    basis, target, tolerance
        As for `repulsion_integrals`.

    Returns
    -------
    ndarray, shape (n_basis, n_basis, n_basis, n_basis)
        In hartree.

    Raises
    ------
    OrbitileError
        When that does not fit in memory.
    """
    n = basis.n_basis
    require_memory(
        8 * n**4, f"the array of all integrals over {n} basis functions", "take them by blocks (repulsion_integrals)"
    )
    result = np.zeros((n, n, n, n))
    for block in repulsion_integrals(basis, target, tolerance=tolerance):
        (p, q), (r, s) = block.left.T[..., None], block.right.T
        for a, b in ((p, q), (q, p)):
            for c, d in ((r, s), (s, r)):
                result[a, b, c, d] = block.values
                result[c, d, a, b] = block.values
    return result


def _inside(functions: Integers, first: Integers, p: int, q: int) -> tuple[NDArray[np.intp], Integers, Integers]:
    """Products of a function of one shell and one of another: which they are, and the functions within the shells."""
    found, left, right = [], [], []
    for one, other in ((0, 1), (1, 0)):
        i, j = functions[:, one] - first[p], functions[:, other] - first[q]
        n = np.flatnonzero(
            (i >= 0) & (functions[:, one] < first[p + 1]) & (j >= 0) & (functions[:, other] < first[q + 1])
        )
        found.append(n)
        left.append(i[n])
        right.append(j[n])
    return np.concatenate(found), np.concatenate(left), np.concatenate(right)


def _runs(products: ShellProducts, others: ShellProducts, together: int) -> list[slice]:
    """Parts of some products that fit into memory with so many of the others."""
    integrals = int(np.prod(products.coefficients.shape[2:] + others.coefficients.shape[2:]))
    step = max(1, _ELEMENTS // (integrals * together))
    return [slice(n, min(n + step, len(products))) for n in range(0, len(products), step)]


_SOME = 16
"""Pairs of shells of the other side that there should be room for."""


def _block(bra: ShellProducts, ket: ShellProducts, target: Target) -> RepulsionBlock:
    """All integrals of some products with some others."""
    from taichi_kernels.two_electron.hermite_integrals import hermite_integrals

    n, n_products, n_gaussians, n_orders = bra.coefficients.shape
    m, m_products, m_gaussians, m_orders = ket.coefficients.shape
    integrals = hermite_integrals(
        bra.centre.reshape(-1, 3),
        bra.exponent.reshape(-1),
        ket.centre.transpose(1, 0, 2).reshape(-1, 3),  # Gaussians slow, pairs of shells fast
        ket.exponent.T.reshape(-1),
        bra.degree + ket.degree,
        target,
    )
    spread = np.take(integrals, sums_of_orders(bra.degree, ket.degree).reshape(-1), axis=1)
    left = bra.coefficients.reshape(n, n_products, -1).astype(target.dtype)
    half = left @ spread.reshape(n, n_gaussians * n_orders, -1)
    half = half.reshape(n * n_products, m_orders, m_gaussians, m).transpose(3, 2, 1, 0)
    signs = np.array([(-1) ** sum(order) for order in powers_of(ket.degree)])
    right = (ket.coefficients * signs).reshape(m, m_products, -1).astype(target.dtype)
    values = right @ half.reshape(m, m_gaussians * m_orders, n * n_products)
    if not np.isfinite(values).all():
        raise OrbitileError(
            f"repulsion integrals: powers of exponents exceed {target.precision} precision; ask for double precision"
        )
    return RepulsionBlock(
        bra.functions.reshape(-1, 2), ket.functions.reshape(-1, 2), values.reshape(m * m_products, -1).T
    )


@lru_cache
def sums_of_orders(a: int, b: int) -> NDArray[np.intp]:
    """Places of n + m among the orders up to a + b, shape (orders up to a, orders up to b)."""
    place = {order: n for n, order in enumerate(powers_of(a + b))}
    return np.array([[place[t + p, u + q, v + w] for p, q, w in powers_of(b)] for t, u, v in powers_of(a)], np.intp)


# ---- products of two shells as sums of Hermite Gaussians


_COEFFICIENTS = share("matrix", 8)
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
            result.append(_contract(pairs, class_, rows, contractions, numbers))
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
    for row in np.unique(kind, axis=0):
        yield rows[begin[(kind == row).all(axis=1)][:, None] + np.arange(row[2])]


def _contract(
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
    step = max(1, _COEFFICIENTS // (n_gaussians * n_products * n_orders))
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


# ---- s functions, by the mappings of Ufimtsev and Martinez


S_TOLERANCE = 1e-10
"""How much an integral may lose, in hartree."""

_LARGEST = share("large matrix", 4)
"""Integrals of a block, in single precision."""


@dataclass(frozen=True, eq=False)
class SPairs:
    """Pairs of s functions, those with the most products of primitives first.

    Attributes
    ----------
    functions : ndarray of int32, shape (n_pairs, 2)
        The basis functions i >= j of each.
    packed : ContractedPairs
        What the kernels read.
    tolerance : float
        What an integral may lose by products that were left out, in hartree.
    """

    functions: Integers
    packed: ContractedPairs
    tolerance: float


def s_pairs(basis: Basis | Wavefunction, tolerance: float = S_TOLERANCE) -> SPairs:
    r"""All pairs of the functions of a basis set that has only s functions.

    A product of primitives is left out where :math:`\sqrt{[pp|pp]}`, added up for its pair, is so small that by the
    inequality of Schwarz no integral loses more than the tolerance.

    Parameters
    ----------
    basis
        Shells and positions.
    tolerance
        In hartree.

    Returns
    -------
    SPairs
        To make it takes 200 bytes for each product of two primitives, as many for each pair as the longest contraction
        has; what is kept takes 90 bytes a product.

    Raises
    ------
    OrbitileError
        For a shell that is not an s shell, and when that does not fit in memory.
    """
    from taichi_kernels.two_electron.s_functions import grouped

    highest = max((shell.angular_momentum for shell in basis.shells), default=-1)
    if highest != 0:
        found = f"angular momentum {highest}" if highest > 0 else "no shell"
        raise OrbitileError(f"kernels for s functions: expected s shells, got {found}; use repulsion_integrals")
    most = max(len(shell.exponents) for shell in basis.shells)
    n_products = basis.n_basis * (basis.n_basis + 1) // 2 * most**2
    require_memory(200 * n_products, f"pairs of {basis.n_basis} s functions", "use repulsion_integrals")
    exponent, coefficient = np.ones((basis.n_basis, most)), np.zeros((basis.n_basis, most))
    for n, shell in enumerate(basis.shells):
        count = len(shell.exponents)
        exponent[n, :count] = shell.exponents
        coefficient[n, :count] = shell.coefficients * radial_normalization(shell.exponents, 0)
    centre = basis.positions[[shell.atom for shell in basis.shells]]
    centre = centre - centre.mean(axis=0)  # wherever it is, single precision has digits for distances only
    checkpoint()
    i, j = np.tril_indices(basis.n_basis)
    a, b = exponent[i][:, :, None], exponent[j][:, None, :]
    between = ((centre[i] - centre[j]) ** 2).sum(axis=1)[:, None, None]
    z = a + b
    products = np.empty((*z.shape, 5))
    products[..., :3] = (a[..., None] * centre[i][:, None, None] + b[..., None] * centre[j][:, None, None]) / z[
        ..., None
    ]
    products[..., 3] = z
    decay = np.exp(-a * b / z * between)
    products[..., 4] = np.sqrt(2) * np.pi**1.25 * coefficient[i][:, :, None] * coefficient[j][:, None, :] * decay / z
    checkpoint()
    products = products.reshape(len(i), -1, 5)
    norm = np.abs(products[..., 4]) / (2 * products[..., 3]) ** 0.25
    falling = np.argsort(-norm, axis=1, kind="stable")
    products = np.take_along_axis(products, falling[..., None], axis=1)
    norm = np.take_along_axis(norm, falling, axis=1)
    bound = norm.sum(axis=1)
    left_out = np.cumsum(norm[:, ::-1], axis=1)[:, ::-1]  # by leaving out this one and all behind it
    counts = (left_out * bound.max() > tolerance / 2).sum(axis=1)
    order = np.lexsort((-bound, -counts))
    packed = grouped(products[order], counts[order], bound[order])
    return SPairs(np.column_stack([i, j])[order].astype(np.int32), packed, tolerance)


def s_integrals(pairs: SPairs, target: Target, mapping: str = "1T1CI") -> Iterator[RepulsionBlock]:
    """Integrals (ij|kl) over s functions, block by block: each of all unique ones once.

    Parameters
    ----------
    pairs
        Of the basis set.
    target
        The device of the current session, and the precision.
    mapping
        1B1CI (a block of threads an integral), 1T1CI (a thread an integral) or 1T1PI (a thread a primitive integral).

    Yields
    ------
    RepulsionBlock
        Of some bras with all pairs up to the last of them, 64 MB in single and 128 MB in double precision. Where the
        ket comes after the bra in `pairs` the value is zero, and the integral in another place.

    Raises
    ------
    OrbitileError
        For another mapping.
    """
    from taichi_kernels.two_electron.s_functions import GROUP, MAPPINGS, integrals_of_s_functions

    if mapping not in MAPPINGS:
        raise OrbitileError(f"mapping: expected {', '.join(MAPPINGS)}, got {mapping!r}")
    for first, last in s_blocks(pairs):
        fetch = integrals_of_s_functions(pairs.packed, first, last, mapping, pairs.tolerance, target, watcher())
        bras, kets = pairs.functions[first * GROUP : last * GROUP], pairs.functions[: last * GROUP]
        yield RepulsionBlock(bras, kets, fetch()[: len(bras), : len(kets)])


def s_blocks(pairs: SPairs) -> list[tuple[int, int]]:
    """Groups of pairs that are bras together, the first of each block and the one behind its last."""
    from taichi_kernels.two_electron.s_functions import GROUP

    blocks, first, n = [], 0, pairs.packed.n_groups
    while first < n:
        last = first + 1
        while last < n and (last + 1 - first) * (last + 1) * GROUP**2 <= _LARGEST:
            last += 1
        blocks.append((first, last))
        first = last
    return blocks
