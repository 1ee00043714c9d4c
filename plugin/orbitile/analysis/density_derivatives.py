r"""The density, its gradient and its second derivatives at scattered points, in double precision.

From the orbitals, as matrix products over the basis functions that reach the points:

.. math::  \rho = \sum_i n_i \psi_i^2, \quad \rho_a = 2 \sum_i n_i \psi_i \psi_{i,a}, \quad
    \rho_{ab} = 2 \sum_i n_i (\psi_{i,a} \psi_{i,b} + \psi_i \psi_{i,ab})

The last term is :math:`2 \sum_\mu \varphi_{\mu,ab}\, y_\mu` with :math:`y = C n C^T \varphi`: second derivatives of
basis functions are summed up as they are made, and none of the orbitals is needed. For scattered points this takes a
tenth of the time of the sum over products of Gaussians, of which there are many more than basis functions.

**Basis functions.** A component of a Cartesian shell is :math:`\varphi = P(u)\,R(u^2)`, with u the vector from the
atom, P a monomial, and

.. math::  R(q) = \sum_p c_p e^{-\zeta_p q}, \quad R' = -\sum_p c_p \zeta_p e^{-\zeta_p q}, \quad
    R'' = \sum_p c_p \zeta_p^2 e^{-\zeta_p q}

so that

.. math::  \partial_a \varphi = P_a R + 2 u_a P R', \qquad
    \partial_{ab} \varphi = P_{ab} R + 2 (u_a P_b + u_b P_a + \delta_{ab} P) R' + 4 u_a u_b P R'', \qquad
    \nabla^2 \varphi = \nabla^2 P\, R + (4 l + 6) P R' + 4 u^2 P R''

Shells of one angular momentum, whatever their atoms, are one array: everything is done for all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from taichi_kernels.cells import sorted_into_cells
from taichi_kernels.target import Target

from ..base.arrays import Indices, Reals
from ..base.caches import Derived
from ..base.memory import share
from ..base.watch import checkpoint
from ..evaluation.points import checked_points
from ..fields.density import occupied
from ..gaussians.packing import PackedShells, packed_shells
from ..model.conventions import Powers, cartesian_powers
from ..model.wavefunction import Wavefunction

if TYPE_CHECKING:
    from taichi_kernels.orbitals_at_points import ScatteredShells

LEFT_OUT = 1e-12
"""What a shell may be, or its second derivatives, where it is left out; in bohr^-3/2 for a coefficient of one."""

_RADII = np.geomspace(0.02, 100.0, 250)
"""Distances in bohr at which it is looked how far a shell reaches, 3 % apart."""

_DEEPEST = -690.0
"""Exponent of the smallest Gaussian that is computed; smaller ones would be denormal numbers, which are slow."""


@dataclass(frozen=True, eq=False)
class Shells:
    """Shells of one molecule, sorted by angular momentum.

    Attributes
    ----------
    atom_position : ndarray, shape (n_atoms, 3)
        Of the atoms that carry them, in bohr.
    atom, angular_momentum : ndarray of int, shape (n_shells,)
    first_coefficient : ndarray of int, shape (n_shells,)
        First of the components of each among the Cartesian coefficients that it was made with.
    reach : ndarray, shape (n_shells,)
        Distance in bohr beyond which it is left out.
    gaussian_atom : ndarray of int, shape (n_gaussians,)
    exponent : ndarray, shape (n_gaussians,)
        In bohr^-2. Shells of an atom share Gaussians of one exponent.
    contraction : csr_matrix, shape (n_shells, n_gaussians)
        Normalised contraction coefficients.
    """

    atom_position: Reals
    atom: Indices
    angular_momentum: Indices
    first_coefficient: Indices
    reach: Reals
    gaussian_atom: Indices
    exponent: Reals
    contraction: csr_matrix

    def near(self, low: Reals, high: Reals) -> Shells:
        """Those that reach into a box."""
        away = np.maximum(np.maximum(low - self.atom_position, self.atom_position - high), 0.0)
        kept = np.flatnonzero(self.reach > np.sqrt((away * away).sum(axis=1))[self.atom])
        if len(kept) == len(self.atom):
            return self
        rows = self.contraction[kept]
        gaussians = np.unique(rows.indices)
        atoms, where = np.unique(self.atom[kept], return_inverse=True)
        new_atom = np.zeros(len(self.atom_position), np.intp)
        new_atom[atoms] = np.arange(len(atoms))
        return Shells(
            self.atom_position[atoms],
            where.reshape(-1),
            self.angular_momentum[kept],
            self.first_coefficient[kept],
            self.reach[kept],
            new_atom[self.gaussian_atom[gaussians]],
            self.exponent[gaussians],
            rows[:, gaussians],
        )

    @cached_property
    def slices(self) -> tuple[tuple[int, slice], ...]:
        """Each angular momentum and the shells that have it."""
        momenta, first = np.unique(self.angular_momentum, return_index=True)
        ends = [*first.tolist(), len(self.angular_momentum)][1:]
        return tuple((int(l), slice(int(a), b)) for l, a, b in zip(momenta, first, ends, strict=True))

    @cached_property
    def coefficients(self) -> Indices:
        """The Cartesian coefficients in the order of the components: by angular momentum, component, shell."""
        parts = []
        for l, some in self.slices:
            components = np.arange(len(cartesian_powers(l)))
            parts.append((components[:, None] + self.first_coefficient[some]).reshape(-1))
        return np.concatenate(parts) if parts else np.zeros(0, np.intp)

    @cached_property
    def scattered(self) -> ScatteredShells:
        """As the kernel for scattered points takes them."""
        from taichi_kernels.orbitals_at_points import ScatteredShells

        rows = self.contraction
        return ScatteredShells(
            self.atom_position[self.atom],
            self.angular_momentum,
            rows.indptr.astype(np.int32),
            self.exponent[rows.indices],
            rows.data,
        )

    @cached_property
    def weighted(self) -> tuple[csr_matrix, csr_matrix, csr_matrix]:
        """Contractions of the radial parts, and of their first and second derivatives by the square of the distance."""
        columns = self.contraction.indices
        made = [self.contraction]
        for _ in range(2):
            last = made[-1]
            made.append(csr_matrix((-last.data * self.exponent[columns], columns, last.indptr), shape=last.shape))
        return made[0], made[1], made[2]


def shells_of(packed: PackedShells) -> Shells:
    """The shells of packed ones; `first_coefficient` counts the packed Cartesian coefficients."""
    atom, momentum, first, which = [], [], [], []
    for n, basis in enumerate(packed.atom_basis):
        of_basis = np.arange(packed.basis_first_shell[basis], packed.basis_first_shell[basis + 1])
        l = packed.shell_angular_momentum[of_basis]
        sizes = (l + 1) * (l + 2) // 2
        atom.append(np.full(len(of_basis), n))
        momentum.append(l)
        first.append(packed.atom_first_coefficient[n] + np.concatenate([[0], np.cumsum(sizes)[:-1]]))
        which.append(of_basis)
    order = np.argsort(np.concatenate(momentum), kind="stable")
    atoms, chosen = np.concatenate(atom)[order], np.concatenate(which)[order]
    gaussians: dict[tuple[int, float], int] = {}
    values, columns, ends = [], [], [0]
    for n, shell in zip(atoms.tolist(), chosen.tolist(), strict=True):
        some = slice(packed.shell_first_primitive[shell], packed.shell_first_primitive[shell + 1])
        values.append(packed.contraction[some])
        keys = [(n, exponent) for exponent in packed.exponent[some].tolist()]
        columns += [gaussians.setdefault(key, len(gaussians)) for key in keys]
        ends.append(len(columns))
    contraction = csr_matrix((np.concatenate(values), columns, ends), shape=(len(chosen), len(gaussians)))
    contraction.sum_duplicates()
    reach = np.array([_reach(packed, shell) for shell in range(len(packed.shell_angular_momentum))])
    return Shells(
        packed.atom_position,
        atoms.astype(np.intp),
        np.concatenate(momentum)[order].astype(np.intp),
        np.concatenate(first)[order].astype(np.intp),
        reach[chosen],
        np.array([atom for atom, _ in gaussians], np.intp),
        np.array([exponent for _, exponent in gaussians]),
        contraction,
    )


def _reach(packed: PackedShells, shell: int) -> float:
    """Distance beyond which neither a shell nor its second derivatives matter."""
    some = slice(packed.shell_first_primitive[shell], packed.shell_first_primitive[shell + 1])
    zeta, height = packed.exponent[some], np.abs(packed.contraction[some])
    l = int(packed.shell_angular_momentum[shell])
    with np.errstate(under="ignore"):
        steep = 1.0 + (2 * np.outer(_RADII, zeta) + l / _RADII[:, None]) ** 2
        bound = (_RADII**l)[:, None] * steep * np.exp(-np.outer(_RADII**2, zeta))
    above = np.flatnonzero(bound @ height > LEFT_OUT)
    return float(_RADII[min(above[-1] + 1, len(_RADII) - 1)]) if len(above) else 0.0


class ShellsAtPoints:
    """The components of some shells at some points.

    Parameters
    ----------
    shells
    points : ndarray, shape (n_points, 3)
        In bohr. Memory: some (20 + 4 for each component) numbers for each shell and point.
    second
        Whether second derivatives will be asked for.
    """

    def __init__(self, shells: Shells, points: Reals, second: bool) -> None:
        self._shells = shells
        self._n = len(points)
        away = [points[:, axis] - shells.atom_position[:, axis, None] for axis in range(3)]
        square = away[0] * away[0] + away[1] * away[1] + away[2] * away[2]
        exponent = square[shells.gaussian_atom]
        exponent *= -shells.exponent[:, None]
        np.maximum(exponent, _DEEPEST, out=exponent)
        gaussian = np.exp(exponent, out=exponent)
        radial = [matrix @ gaussian for matrix in shells.weighted[: 3 if second else 2]]
        radial[1] *= 2
        if second:
            radial[2] *= 4
        self._radial = radial
        self._square = square
        self._powers = []
        for l, some in shells.slices:
            u = [axis[shells.atom[some]] for axis in away]
            self._powers.append([_powers(along, max(l, 1)) for along in u])

    def values(self) -> Reals:
        """Components and their gradients, shape (n_components, 4, n_points)."""
        result = np.empty((len(self._shells.coefficients), 4, self._n))
        row = 0
        for (l, some), powers in zip(self._shells.slices, self._powers, strict=True):
            R, R1 = (part[some] for part in self._radial[:2])
            u_R1 = [along[1] * R1 for along in powers]
            for component in cartesian_powers(l):
                here = slice(row, row + len(R))
                P = _monomial(powers, component)
                np.multiply(P, R, out=result[here, 0])
                for axis in range(3):
                    np.multiply(P, u_R1[axis], out=result[here, 1 + axis])
                    if component[axis]:
                        result[here, 1 + axis] += _derivative(powers, component, axis) * R
                row += len(R)
        return result

    def contracted_hessian(self, factors: Reals) -> Reals:
        """Second derivatives of the components times factors of shape (n_components, n_points), summed over them.

        Returns
        -------
        ndarray, shape (3, 3, n_points)
        """
        result = np.zeros((3, 3, self._n))
        row = 0
        for (l, some), powers in zip(self._shells.slices, self._powers, strict=True):
            R, R1, R2 = (part[some] for part in self._radial)
            zeroth = np.zeros_like(R)
            first = [np.zeros_like(R) for _ in range(3)]
            for component in cartesian_powers(l):
                factor = factors[row : row + len(R)]
                zeroth += factor * _monomial(powers, component)
                for a in range(3):
                    if not component[a]:
                        continue
                    of_a = _derivative(powers, component, a)
                    first[a] += factor * of_a
                    once = _lowered(component, a)
                    scaled = factor * component[a] * R
                    for b in range(a, 3):
                        if once[b]:
                            result[a, b] += np.einsum("sp,sp->p", scaled, _derivative(powers, once, b))
                row += len(R)
            q_R1, q_R2 = zeroth * R1, zeroth * R2
            for a in range(3):
                result[a, a] += q_R1.sum(axis=0)
                u_a, q_a = powers[a][1], first[a] * R1
                for b in range(a, 3):
                    u_b = powers[b][1]
                    result[a, b] += np.einsum("sp,sp->p", q_a, u_b)
                    result[a, b] += np.einsum("sp,sp->p", first[b] * R1, u_a)
                    result[a, b] += np.einsum("sp,sp->p", q_R2 * u_a, u_b)
        for a, b in ((0, 1), (0, 2), (1, 2)):
            result[b, a] = result[a, b]
        return result


def _powers(along: Reals, most: int) -> list[Reals]:
    """Powers of distances along an axis from 0 up, by products."""
    powers = [np.ones_like(along), along]
    for _ in range(most - 1):
        powers.append(powers[-1] * along)
    return powers


def _lowered(component: Powers, axis: int) -> Powers:
    """Powers with one less along an axis."""
    i, j, k = (power - (n == axis) for n, power in enumerate(component))
    return i, j, k


def _monomial(powers: list[list[Reals]], component: Powers) -> Reals:
    x, y, z = (of_axis[power] for of_axis, power in zip(powers, component, strict=True))
    product: Reals = x * y
    product *= z
    return product


def _derivative(powers: list[list[Reals]], component: Powers, axis: int) -> Reals:
    """Derivative of a monomial that has the coordinate."""
    result = _monomial(powers, _lowered(component, axis))
    result *= component[axis]
    return result


_EDGE, _AT_ONCE = 2.5, 192
"""Edge in bohr of the smallest cells that points are sorted into, and the most points that are evaluated at once."""

_POINTS_A_CELL, _FEWEST, _FUNCTIONS_A_CELL = 512, 4, 50_000
"""Points that a cell should have: as many, and no fewer, and such a number by that of basis functions: the larger the
molecule, the more is saved by leaving out what does not reach a cell."""

_NOT_SORTED = 1 << 14
"""Points times basis functions, and a quarter of the coefficients, up to which that saves less than sorting takes."""

_WIDE_EDGE, _POINTS_A_WIDE_CELL, _LARGER_ON_GPUS = 6.0, 2048, 16
"""The same for a kernel, which takes longer to prepare; and how many times as many points a cell should have where it
runs on a GPU, for which that holds all the more."""

_NUMBERS_AT_ONCE = share("large matrix", 4)
"""Numbers of basis functions and orbitals at the points that a kernel deals with at once."""

_NUMBERS = share("matrix", 8)
"""Numbers of the largest array that is made; of the largest molecules fewer points are evaluated at once."""


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

    def overlaps(self, points: Reals, weights: Reals, target: Target) -> Reals:
        r"""Overlaps of the orbitals in a region, :math:`S_{ij} = \sum_g w_g \psi_i(r_g) \psi_j(r_g)`.

        Parameters
        ----------
        points : ndarray, shape (n, 3)
            Of a quadrature of the region, in bohr.
        weights : ndarray, shape (n,)
            In bohr^3.
        target
            The device of the current session, and the precision of values at points.

        Returns
        -------
        ndarray, shape (n_orbitals, n_orbitals)
        """
        return self._integrals(points, weights, "density", target)[0]

    def overlaps_and_laplacian(self, points: Reals, weights: Reals, target: Target) -> tuple[Reals, float]:
        """Overlaps, and the integral of the Laplacian of the density in e bohr^-2; parameters as for `overlaps`."""
        return self._integrals(points, weights, "laplacian", target)

    def _integrals(self, points: Reals, weights: Reals, wanted: str, target: Target) -> tuple[Reals, float]:
        """Overlaps, and the integral of the last of what is wanted of the density."""
        total, last = np.zeros((len(self.weights), len(self.weights))), 0.0
        for some, orbitals, density in self._by_kernel(points, wanted, target):
            total += (orbitals * weights[some].astype(orbitals.dtype)) @ orbitals.T
            last += float(density[-1].astype(np.float64) @ weights[some])
        return total, last

    def electrons_and_laplacian(self, points: Reals, weights: Reals, target: Target) -> tuple[float, float]:
        """Electrons and the integral of the Laplacian in e bohr^-2, without overlaps; parameters as for `overlaps`."""
        total = np.zeros(2)
        for some, _, density in self._by_kernel(points, "laplacian", target):
            total += density[[0, -1]].astype(np.float64) @ weights[some]
        return float(total[0]), float(total[1])

    def gradient_by_kernel(self, points: Reals, target: Target) -> tuple[Reals, Reals]:
        """Density and gradient on the device of the current session; parameters and values as for `gradient`."""
        values = np.zeros((len(points), 4))
        for some, _, density in self._by_kernel(points, "gradient", target):
            values[some] = density.T
        return values[:, 0], values[:, 1:]

    def _by_kernel(
        self, points: Reals, wanted: str, target: Target
    ) -> Iterator[tuple[Indices, NDArray[np.floating], NDArray[np.floating]]]:
        """Points that are near to each other and that something reaches, orbitals there, and what is wanted of them."""
        from taichi_kernels.orbitals_at_points import NUMBERS, orbitals_at_points

        places, reach = self.shells.atom_position, self.shells.reach.max(initial=0.0)
        low, high = places.min(axis=0, initial=np.inf) - reach, places.max(axis=0, initial=-np.inf) + reach
        within = np.flatnonzero(np.all((points > low) & (points < high), axis=1))
        if not len(within):
            return
        few = _POINTS_A_WIDE_CELL * (1 if target.on_host else _LARGER_ON_GPUS)
        cells = sorted_into_cells(points[within], _WIDE_EDGE, few, 1)
        for cell in range(len(cells)):
            of_cell = within[cells.placed[cells.first_slot[cell] : cells.first_slot[cell + 1]]]
            shells = self.shells.near(cells.low[cell], cells.high[cell])
            coefficients = self.coefficients[shells.coefficients]
            if not len(coefficients):
                continue
            at_once = max(8, _NUMBERS_AT_ONCE // (NUMBERS[wanted] * len(coefficients) + len(self.weights)))
            for begin in range(0, len(of_cell), at_once):
                checkpoint()
                some = of_cell[begin : begin + at_once]
                yield (
                    some,
                    *orbitals_at_points(shells.scattered, coefficients, self.weights, points[some], wanted, target),
                )

    def _pieces(self, points: Reals, slopes: bool) -> Iterator[tuple[NDArray[np.intp], _Piece]]:
        """Points that are near to each other, and what is needed there."""
        if not len(points):
            return
        if max(len(points) * len(self.coefficients), self.coefficients.size // 4) <= _NOT_SORTED:
            shells = self.shells
            piece = _Piece(shells, self.coefficients[shells.coefficients], self.weights, points, slopes)
            yield np.arange(len(points)), piece
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
        # one product for orbitals and their gradients
        wanted = self._values if slopes else self._values[:, :1]
        shape = wanted.shape[1], len(points)
        flat = wanted.reshape(len(wanted), shape[0] * shape[1])  # far away there may be no functions
        self._orbitals = _product(coefficients.T, flat).reshape(len(weights), *shape)

    def density(self) -> Reals:
        orbitals = self._orbitals[:, 0]
        weighted = orbitals * self._weights
        # y: what a change of each basis function does to half the density
        self._y = _product(self._coefficients, weighted)
        return np.einsum("ip,ip->p", weighted, orbitals)

    def gradient(self) -> Reals:
        return 2 * np.einsum("nap,np->pa", self._values[:, 1:], self._y)

    def hessian(self) -> Reals:
        result = self._functions.contracted_hessian(self._y)
        slopes = self._orbitals[:, 1:]
        for a in range(3):
            weighted = slopes[:, a] * self._weights
            for b in range(3):
                result[a, b] += np.einsum("ip,ip->p", weighted, slopes[:, b])
        return 2 * np.moveaxis(result, 2, 0)

    def kinetic(self) -> Reals:
        slopes = self._orbitals[:, 1:]
        return 0.5 * np.einsum("iap,iap,i->p", slopes, slopes, self._weights[:, 0])


_BY_ONE_THREAD, _MOST_PARTS = 1 << 18, 16
"""Multiplications up to which OpenBLAS multiplies matrices in the thread that calls it, and the most such parts that a
product is cut into."""


def _product(left: Reals, right: Reals) -> Reals:
    """The product of two matrices. A small one is cut into parts so small that BLAS wakes no threads for them.

    On a busy machine, waiting for woken threads takes ten times as long as a small product itself.
    """
    columns = _BY_ONE_THREAD // max(left.size, 1)
    if columns >= right.shape[1] or columns * _MOST_PARTS < right.shape[1]:
        return left @ right
    result = np.empty((len(left), right.shape[1]))
    for begin in range(0, right.shape[1], columns):
        some = slice(begin, begin + columns)
        result[:, some] = left @ right[:, some]
    return result


_DERIVATIVES = Derived[DensityDerivatives]("analyses")


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
        return DensityDerivatives(shells_of(packed), packed.rows @ coefficients, weights)

    return _DERIVATIVES.of(wavefunction, which, make)
