r"""The density, its gradient and its second derivatives at scattered points, in double precision.

From the orbitals, as matrix products over the basis functions that reach the points:

.. math::  \rho = \sum_i n_i \psi_i^2, \quad \rho_a = 2 \sum_i n_i \psi_i \psi_{i,a}, \quad
    \rho_{ab} = 2 \sum_i n_i (\psi_{i,a} \psi_{i,b} + \psi_i \psi_{i,ab})

The last term is :math:`2 \sum_\mu \varphi_{\mu,ab}\, y_\mu` with :math:`y = C n C^T \varphi`: second derivatives of
basis functions are summed up as they are made, and none of the orbitals is needed. For scattered points this takes a
tenth of the time of the sum over products of Gaussians, of which there are many more than basis functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from taichi_kernels.cells import sorted_into_cells

from ...evaluation.points import checked_points
from ...fields.density import occupied
from ...gaussians.packing import packed_shells
from ...model.derived import Derived
from ...model.wavefunction import Wavefunction
from ...watch import checkpoint
from .basis_functions import Shells, ShellsAtPoints, shells_of

Reals = NDArray[np.float64]

_EDGE, _AT_ONCE = 2.5, 192
"""Edge in bohr of the smallest cells that points are sorted into, and the most points that are evaluated at once."""

_POINTS_A_CELL, _FEWEST, _FUNCTIONS_A_CELL = 96, 4, 50_000
"""Points that a cell should have: as many, and no fewer, and such a number by that of basis functions: the larger the
molecule, the more is saved by leaving out what does not reach a cell."""

_NUMBERS = 1 << 22
"""Numbers of the largest array that is made: 32 MiB; of the largest molecules fewer points are evaluated at once."""


@dataclass(frozen=True, eq=False)
class DensityDerivatives:
    """A density that can be evaluated with its derivatives.

    Attributes
    ----------
    shells : Shells
        The basis functions.
    coefficients : ndarray, shape (n_coefficients, n_orbitals)
        Cartesian coefficients of the orbitals, as the shells count them.
    weights : ndarray, shape (n_orbitals,)
        Of their squares.
    """

    shells: Shells
    coefficients: Reals
    weights: Reals

    def __call__(self, points: ArrayLike) -> tuple[Reals, Reals, Reals]:
        """Density, gradient and Hessian.

        Parameters
        ----------
        points : array_like, shape (n, 3)
            In bohr.

        Returns
        -------
        density : ndarray, shape (n,)
            In e bohr^-3.
        gradient : ndarray, shape (n, 3)
            In e bohr^-4.
        hessian : ndarray, shape (n, 3, 3)
            In e bohr^-5.
        """
        where = checked_points(points)
        density, gradient, hessian = np.zeros(len(where)), np.zeros((len(where), 3)), np.zeros((len(where), 3, 3))
        for some, piece in self._pieces(where, slopes=True):
            density[some], gradient[some] = piece.density(), piece.gradient()
            hessian[some] = piece.hessian()
        return density, gradient, hessian

    def gradient(self, points: ArrayLike) -> tuple[Reals, Reals]:
        """Density and gradient alone, in half the time; parameters and values as for the call."""
        where = checked_points(points)
        density, gradient = np.zeros(len(where)), np.zeros((len(where), 3))
        for some, piece in self._pieces(where, slopes=False):
            density[some], gradient[some] = piece.density(), piece.gradient()
        return density, gradient

    def kinetic(self, points: ArrayLike) -> Reals:
        r"""The positive definite kinetic energy density :math:`G = \frac12 \sum_i n_i |\nabla\psi_i|^2`.

        Parameters
        ----------
        points : array_like, shape (n, 3)
            In bohr.

        Returns
        -------
        ndarray, shape (n,)
            In hartree bohr^-3.
        """
        where = checked_points(points)
        kinetic = np.zeros(len(where))
        for some, piece in self._pieces(where, slopes=True):
            kinetic[some] = piece.kinetic()
        return kinetic

    def overlaps(self, points: ArrayLike, weights: Reals) -> Reals:
        r"""Overlaps of the orbitals in a region, :math:`S_{ij} = \sum_g w_g \psi_i(r_g) \psi_j(r_g)`.

        Parameters
        ----------
        points : array_like, shape (n, 3)
            Of a quadrature of the region, in bohr.
        weights : ndarray, shape (n,)
            In bohr^3.

        Returns
        -------
        ndarray, shape (n_orbitals, n_orbitals)
        """
        total = np.zeros((len(self.weights), len(self.weights)))
        for some, piece in self._pieces(checked_points(points), slopes=False):
            total += piece.overlaps(weights[some])
        return total

    def _pieces(self, points: Reals, slopes: bool) -> Iterator[tuple[NDArray[np.intp], _Piece]]:
        """Points that are near to each other, and what is needed there."""
        if not len(points):
            return
        few = max(_FEWEST, min(_POINTS_A_CELL, _FUNCTIONS_A_CELL // max(len(self.coefficients), 1)))
        cells = sorted_into_cells(points, _EDGE, few, 1)
        at_once = max(8, min(_AT_ONCE, _NUMBERS // (4 * max(len(self.coefficients), 1))))
        for cell in range(len(cells)):
            of_cell = cells.placed[cells.first_slot[cell] : cells.first_slot[cell + 1]]
            shells = self.shells.near(cells.low[cell], cells.high[cell])
            coefficients = self.coefficients[shells.coefficients]
            if not len(coefficients):  # so far out that there is nothing
                continue
            for begin in range(0, len(of_cell), at_once):
                checkpoint()
                some = of_cell[begin : begin + at_once]
                yield some, _Piece(shells, coefficients, self.weights, points[some], slopes)


class _Piece:
    """Some points and the basis functions that reach them."""

    def __init__(self, shells: Shells, coefficients: Reals, weights: Reals, points: Reals, slopes: bool) -> None:
        self._functions = ShellsAtPoints(shells, points, slopes)
        self._values = self._functions.values()
        self._coefficients, self._weights = coefficients, weights[:, None]
        # one product for orbitals and their gradients: every call of it wakes threads
        wanted = self._values if slopes else self._values[:, :1]
        shape = wanted.shape[1], len(points)
        flat = wanted.reshape(len(wanted), shape[0] * shape[1])  # far away there may be no functions
        self._orbitals = (coefficients.T @ flat).reshape(len(weights), *shape)

    def density(self) -> Reals:
        orbitals = self._orbitals[:, 0]
        weighted = orbitals * self._weights
        # y: what a change of each basis function does to half the density
        self._y = self._coefficients @ weighted
        total: Reals = np.einsum("ip,ip->p", weighted, orbitals)
        return total

    def gradient(self) -> Reals:
        result: Reals = 2 * np.einsum("nap,np->pa", self._values[:, 1:], self._y)
        return result

    def hessian(self) -> Reals:
        result = self._functions.contracted_hessian(self._y)
        slopes = self._orbitals[:, 1:]
        for a in range(3):
            weighted = slopes[:, a] * self._weights
            for b in range(3):
                result[a, b] += np.einsum("ip,ip->p", weighted, slopes[:, b])
        moved: Reals = 2 * np.moveaxis(result, 2, 0)
        return moved

    def overlaps(self, weights: Reals) -> Reals:
        orbitals = self._orbitals[:, 0]
        result: Reals = (orbitals * weights) @ orbitals.T
        return result

    def kinetic(self) -> Reals:
        slopes = self._orbitals[:, 1:]
        total: Reals = 0.5 * np.einsum("iap,iap,i->p", slopes, slopes, self._weights[:, 0])
        return total


_DERIVATIVES = Derived[DensityDerivatives](most=2)


def density_derivatives(wavefunction: Wavefunction, which: str = "total") -> DensityDerivatives:
    """The density of a wavefunction with its derivatives; made once, and kept as long as the wavefunction lives.

    Parameters
    ----------
    wavefunction
    which
        total, alpha, beta or spin, as for `fields.density.occupied`.

    Raises
    ------
    FieldError
        As `fields.density.occupied`.
    """

    def make() -> DensityDerivatives:
        packed = packed_shells(wavefunction)
        coefficients, weights = occupied(wavefunction, which)
        return DensityDerivatives(shells_of(packed), np.asarray(packed.from_basis @ coefficients), weights)

    return _DERIVATIVES.of(wavefunction, which, make)
