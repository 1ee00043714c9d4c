r"""Two-electron repulsion integrals over basis functions, for whoever asks for them by themselves.

.. math::  (pq|rs) = \iint \frac{\chi_p(r_1) \chi_q(r_1) \chi_r(r_2) \chi_s(r_2)}{|r_1 - r_2|}\, dr_1\, dr_2

They are computed shell by shell from the list of `pairs`: a product of two basis functions is a sum of Hermite
Gaussians (`shell_products`), and so

.. math::  (pq|rs) = \sum_{Pn} \sum_{Qm} E^{pq}_{Pn}\, (L_n|L_m)\, E^{rs}_{Qm}

Kernels compute :math:`(L_n|L_m)`, NumPy's products of matrices do the rest. The Coulomb matrix needs none of this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.hermite_tables import powers_of
from taichi_kernels.target import Target

from ..base.errors import OrbitileError
from ..base.memory import require_memory, share
from ..base.watch import checkpoint
from ..gaussians.expansion import starts
from ..model.wavefunction import Basis, Wavefunction
from .shell_products import TOLERANCE, ShellProducts, check_shells, shell_products

Reals = NDArray[np.float64]
Integers = NDArray[np.int32]

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
    spread = np.take(integrals, _sums(bra.degree, ket.degree).reshape(-1), axis=1)
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
def _sums(a: int, b: int) -> NDArray[np.intp]:
    """Places of n + m among the orders up to a + b, shape (orders up to a, orders up to b)."""
    place = {order: n for n, order in enumerate(powers_of(a + b))}
    return np.array([[place[t + p, u + q, v + w] for p, q, w in powers_of(b)] for t, u, v in powers_of(a)], np.intp)
