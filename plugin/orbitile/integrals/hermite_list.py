r"""The list of Hermite Gaussians that densities, potentials and matrices over basis functions are made of.

.. math::  L_n(r) = \partial_{P_x}^t\, \partial_{P_y}^u\, \partial_{P_z}^v\, e^{-z |r - P|^2}, \quad n = (t, u, v)

A density is :math:`\rho(r) = \sum_P \sum_n H_n L_n(r)`, with all orders n up to the degree of each Gaussian (L. E.
McMurchie and E. R. Davidson, J. Comput. Phys. 1978, 26, 218).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.hermite_tables import powers_of

from ..base.arrays import Reals
from ..gaussians.expansion import runs, starts, term_counts

POINT = 1e16
"""Exponent in bohr^-2 of the Gaussian that stands for a point charge: its extent is 1e-8 bohr."""


@dataclass(frozen=True)
class Block:
    """The part of a list that is of one degree.

    Attributes
    ----------
    degree : int
    rows : slice
        Its Gaussians.
    coefficients : slice
        Their coefficients.
    """

    degree: int
    rows: slice
    coefficients: slice

    @property
    def orders(self) -> tuple[tuple[int, int, int], ...]:
        """Orders (t, u, v) of the coefficients of each Gaussian."""
        return powers_of(self.degree)

    def of(self, values: Reals) -> Reals:
        """Coefficients of this part, shape (number of Gaussians, number of orders); a view."""
        return values[self.coefficients].reshape(-1, len(self.orders))


@dataclass(frozen=True, eq=False)
class HermiteList:
    """Hermite Gaussians, ordered by degree.

    Attributes
    ----------
    centre : ndarray, shape (n, 3)
        In bohr.
    exponent : ndarray, shape (n,)
        In bohr^-2.
    degree : ndarray of int32, shape (n,)
        Highest order of each; it never falls along the list.
    """

    centre: Reals
    exponent: Reals
    degree: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.exponent)

    @cached_property
    def n_coefficients(self) -> int:
        """Number of coefficients of all Gaussians."""
        return int(term_counts(self.degree).sum())

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Its parts of one degree each."""
        degrees, first, counts = np.unique(self.degree, return_index=True, return_counts=True)
        begin = starts(counts * term_counts(degrees))
        return tuple(
            Block(int(degree), slice(int(row), int(row + count)), slice(int(begin[n]), int(begin[n + 1])))
            for n, (degree, row, count) in enumerate(zip(degrees, first, counts, strict=True))
        )

    def chosen(self, rows: NDArray[np.intp]) -> tuple[HermiteList, NDArray[np.intp]]:
        """Some of them, by rising numbers, and the places of their coefficients among those of all."""
        counts = term_counts(self.degree)
        places = runs(starts(counts)[rows], counts[rows])
        return HermiteList(self.centre[rows], self.exponent[rows], self.degree[rows]), places

    @cached_property
    def raised(self) -> HermiteList:
        """The same Gaussians in the same order, each of one degree more: what derivatives ask for."""
        return HermiteList(self.centre, self.exponent, self.degree + np.int32(1))

    def shifted(self, coefficients: Reals, axis: int) -> Reals:
        """Coefficients on the raised list of the derivative of a density along an axis, for points that move."""
        raised = self.raised
        result = np.zeros(raised.n_coefficients)
        for block, above in zip(self.blocks, raised.blocks, strict=True):
            place = {order: n for n, order in enumerate(above.orders)}
            step = np.eye(3, dtype=int)[axis]
            columns = [place[tuple(np.add(order, step).tolist())] for order in block.orders]
            above.of(result)[:, columns] = -block.of(coefficients)
        return result

    @cached_property
    def coulomb_norms(self) -> Reals:
        r"""Square root of the Coulomb energy of each :math:`L_n` with itself, shape (n_coefficients,), hartree^(1/2).

        .. math::  (L_n|L_n) = \frac{2\pi^{5/2}}{z^2\sqrt{2z}}\, z^N\, \frac{(2t-1)!!\,(2u-1)!!\,(2v-1)!!}{2N + 1},
            \quad N = t + u + v

        from :math:`R_{2n}(\alpha, 0) = (-2\alpha)^N \prod (2t - 1)!! / (2N + 1)` with :math:`\alpha = z/2`.
        """
        norms = np.empty(self.n_coefficients)
        for block in self.blocks:
            z = self.exponent[block.rows, None]
            total = np.array(block.orders).sum(axis=1)
            factor = np.array([odd_factorial(t) * odd_factorial(u) * odd_factorial(v) for t, u, v in block.orders])
            block.of(norms)[:] = np.sqrt(np.sqrt(2.0) * np.pi**2.5 * z ** (total - 2.5) * (factor / (2 * total + 1)))
        norms.setflags(write=False)
        return norms


@lru_cache
def odd_factorial(n: int) -> float:
    """The product of the odd numbers below 2n, (2n - 1)!!, 1 for 0."""
    return float(np.prod(np.arange(1, 2 * n, 2)))


def point_charges(charges: Reals, positions: Reals) -> tuple[HermiteList, Reals]:
    """Point charges as Gaussians of degree 0, and their coefficients.

    Parameters
    ----------
    charges : ndarray, shape (n,)
        In units of e.
    positions : ndarray, shape (n, 3)
        In bohr.
    """
    n = len(charges)
    gaussians = HermiteList(np.asarray(positions, np.float64), np.full(n, POINT), np.zeros(n, np.int32))
    return gaussians, np.asarray(charges, np.float64) * (POINT / np.pi) ** 1.5
