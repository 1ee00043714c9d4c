r"""Coulomb integrals of each Gaussian of a list with a density that is given on a list; repulsion of nuclei.

What is left out, and what is computed in single precision, follows from bounds. A density of one ket Q has the norm

.. math::  K_Q = \sum_m |H_m(Q)| \sqrt{(L_m|L_m)} \ge \sqrt{(\rho_Q|\rho_Q)}

and by the inequality of Schwarz its share of an element of the matrix is no more than :math:`B_P K_Q` for a bra with
bound :math:`B_P`. Kets of a degree are ordered by K; what each bra leaves out is the tail whose sum does not matter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.watch import watcher
from .hermite_list import HermiteList

TOLERANCE = {"single": 1e-8, "double": 1e-11}
"""Bound on what leaving out kets may cost in what is made of the values of one bra, in hartree. An element of a matrix
is made of a bra for each pair of primitives, some tens."""

_ROUNDED = 3e-8
"""Standard deviation that rounding to single precision may cause, in hartree, in what is added to an element."""

_ROUNDING = 4 * 2.0**-24
"""Error of a term in single precision as a share of its bound: some roundings follow one another."""

_LARGEST = 1e30
"""Powers of twice an exponent up to which single precision is good for; its largest number is 3e38."""


def coulomb_values(
    bras: HermiteList,
    kets: HermiteList,
    coefficients: Reals,
    target: Target,
    *,
    tolerance: float | None = None,
    bra_bound: Reals | None = None,
) -> Reals:
    r"""Coulomb integrals of each Hermite Gaussian with a density.

    .. math::  v_n(P) = \int\!\!\int \frac{L_n(r)\, \rho(r')}{|r - r'|}\, dr\, dr'

    Parameters
    ----------
    bras
        Whose integrals are wanted.
    kets
        What the density is made of.
    coefficients : ndarray, shape (kets.n_coefficients,)
        Of the density, in e.
    target
        The device of the current session, and the precision. Single: terms that may be large are computed in double
        precision, the rest in single, and all are added up in double; double: in double throughout.
    tolerance
        Bound on what leaving out kets may cost in what is made of the values of one bra, in hartree; None:
        `TOLERANCE`.
    bra_bound : ndarray, shape (n_bras,)
        Coulomb norm of the Gaussians with the coefficients that their values will be multiplied by, in hartree^(1/2),
        as `Pairs.bound`. None: nothing is known of them; all kets count, in double precision.

    Returns
    -------
    ndarray, shape (bras.n_coefficients,)
        In hartree.
    """
    from taichi_kernels.coulomb import Gaussians, coulomb_sums

    limit = TOLERANCE[target.precision] if tolerance is None else tolerance
    bound = np.full(len(bras), np.inf) if bra_bound is None else bra_bound
    bra_order = [np.argsort(-bound[block.rows], kind="stable") for block in bras.blocks]
    most = int(bras.degree[-1]) if len(bras) else 0
    norms = kets.coulomb_norms
    ket_order, tails, steep, scattered, sorted_coefficients = [], [], [], [], []
    for block in kets.blocks:
        of_orders = block.of(coefficients)
        norm = (np.abs(of_orders) * block.of(norms)).sum(axis=1)
        is_steep = kets.exponent[block.rows] > 0.5 * _LARGEST ** (1 / max(block.degree + most, 1))
        order = np.lexsort((-norm, ~is_steep))
        ket_order.append(order)
        sorted_coefficients.append(of_orders[order])
        steep.append(int(is_steep.sum()))
        tails.append(_tails(norm[order]))
        scattered.append(np.sqrt(_tails(norm[order] ** 2)))
    n_blocks = len(kets.blocks)

    def ends(b: int, k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """How many kets of a block count for each bra of a block, and how many of them in double precision."""
        here = np.maximum(bound[bras.blocks[b].rows][bra_order[b]], 1e-300)
        counted = np.searchsorted(-tails[k], -limit / (n_blocks * here))
        exact = np.searchsorted(-scattered[k], -_ROUNDED / (np.sqrt(n_blocks) * _ROUNDING * here))
        return counted, np.minimum(np.maximum(exact, steep[k]), counted)

    def groups(gaussians: HermiteList, orders: list[NDArray[np.intp]]) -> list[Gaussians]:
        return [
            Gaussians(block.degree, gaussians.centre[block.rows][order], gaussians.exponent[block.rows][order])
            for block, order in zip(gaussians.blocks, orders, strict=True)
        ]

    sums = coulomb_sums(groups(bras, bra_order), groups(kets, ket_order), sorted_coefficients, ends, target, watcher())
    values = np.empty(bras.n_coefficients)
    for block, order, of_group in zip(bras.blocks, bra_order, sums, strict=True):
        block.of(values)[order] = of_group
    return values


def nuclear_repulsion(charges: Reals, positions: Reals) -> float:
    """Energy of point charges among themselves in hartree; positions in bohr, (n, 3)."""
    from scipy.spatial.distance import pdist

    products = np.outer(charges, charges)[np.triu_indices(len(charges), 1)]
    return float((products[products != 0] / pdist(positions)[products != 0]).sum())


def _tails(values: Reals) -> Reals:
    """Sums of all values from each on, and 0 behind the last; shape (n + 1,)."""
    return np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])
