r"""Densities at the points of a grid, and what acts on densities there, on the list of Hermite Gaussians.

.. math::  \rho(r_g) = \sum_P \sum_n H_n L_n(r_g), \qquad
    v_n = \sum_g \left[ a_g L_n(r_g) + b_g \cdot \nabla L_n(r_g) \right]

the second being the adjoint of the first. A Gaussian is left out of a cell of 32 points when the part of no product of
two basis functions that it carries can matter there: with A and B the centres, l the highest powers,

.. math::  \Big|\sum_{pq} c_p c_q\, x_A^i \dots e^{-\alpha r_A^2 - \beta r_B^2}\Big|
    \le p_a(r + |PA|)\, p_b(r + |PB|)\, e^{-\frac{\alpha\beta}{z} |AB|^2 - z r^2}

where the polynomials :math:`p_a(r) = \sum_l c_l r^l` have the largest coefficients of any basis function. This times
the weights of the cell bounds what the cell adds to a matrix element of a potential of 1 hartree; it does not depend on
any density matrix.

**Exchange and correlation** of a density have the energy and the potential

.. math::  E = \sum_g w_g\, f(\rho_g, \nabla\rho_g, \tau_g), \qquad
    v_n = \sum_g w_g \left[ \frac{\partial f}{\partial \rho} L_n(r_g)
        + \frac{\partial f}{\partial \nabla\rho} \cdot \nabla L_n(r_g) \right]

The kinetic energy density :math:`\tau = \tfrac12 \sum_{\mu\nu} D_{\mu\nu} \nabla\chi_\mu \cdot \nabla\chi_\nu` is a
density on the list of the derivatives of basis functions, and the potential :math:`\partial f / \partial \tau` has a
matrix by the adjoint: a second quadrature with the same points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.devices import probe
from taichi_kernels.hermite_tables import powers_of
from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.errors import DeviceError
from ..base.watch import watcher
from ..gaussians.expansion import polynomial_powers
from ..gaussians.multipoles import hermite_terms
from ..gaussians.packing import MergedPrimitives
from ..model.wavefunction import Basis, Wavefunction
from .functionals import Functional, at_points
from .grids import Grid, weights_gradient
from .hermite_list import HermiteList
from .one_electron import derivative_pairs, from_derivatives, to_derivatives
from .pairs import Pairs

if TYPE_CHECKING:
    from taichi_kernels.quadrature import QuadratureSums
    from taichi_kernels.quadrature_lists import GaussianGroups, Lists, PointCells


LEFT_OUT = {"single": 1e-11, "double": 1e-14}
"""What a Gaussian may add in a cell of points to a matrix element of a potential of 1 hartree, in hartree, and be left
out."""


NOISE = {"single": 1e-6, "double": 1e-13}
"""What the density of a spin at a point may be off by, as a share of the whole density there: both are sums of the same
Gaussians with coefficients of either sign."""


@dataclass(frozen=True, eq=False)
class Quadrature:
    """A grid and the products of basis functions that reach its points, ready on a device.

    Points are in an order of their own, in which neighbours stand together, and a few stand there twice, the second
    time without weight: everything that has a value for each point goes by `points` and `weights`.

    Attributes
    ----------
    pairs : Pairs
    gaussians : HermiteList
        The list of the pairs, or that list raised by one degree.
    grid : Grid
    weights : ndarray, shape (n_points,)
        In bohr^3.
    target : Target
        Single precision: terms in single, sums in double precision.
    sums : QuadratureSums
        What is ready on the device.
    """

    pairs: Pairs
    gaussians: HermiteList
    grid: Grid
    weights: Reals
    target: Target
    sums: QuadratureSums
    _reached: _Reached
    _parts: tuple[_Part, ...]

    @cached_property
    def points(self) -> Reals:
        """Shape (n_points, 3), in bohr."""
        return self.grid.points[self._reached.cells.order]

    @cached_property
    def atom(self) -> NDArray[np.int32]:
        """The atom that each point goes with, shape (n_points,)."""
        return self.grid.atom[self._reached.cells.order]

    def in_precision(self, target: Target) -> Quadrature:
        """The same points and lists, so that what is left out is the same, with terms in another precision."""
        if target == self.target:
            return self
        return _ready(self.pairs, self.gaussians, self.grid, self.weights, self._reached, target)

    def density(self, coefficients: Reals, gradient: bool) -> NDArray[np.floating]:
        """A density, and its gradient if it is wanted.

        Parameters
        ----------
        coefficients : ndarray, shape (n_coefficients,)
            On the list of the pairs.
        gradient
            Whether it is wanted.

        Returns
        -------
        ndarray, shape (1 or 4, n_points)
            In e bohr^-3; behind it the components of the gradient, in e bohr^-4.
        """
        columns = self.densities([coefficients], gradient)
        return self.sums.to_numpy(columns)[0]

    def densities(
        self, coefficients: Sequence[Reals], gradient: bool, further: bool = False, exact: bool = False
    ) -> Any:
        """Densities of one or two spins, shape (n_spins, 1 or 4, n_points), left on the device until the next ones.

        Those that are a `further` part of the density are added to what the last call left. Terms of those that are to
        be `exact` are in double precision, where the device has it.
        """
        columns = self.sums.columns("density", len(coefficients), 4 if gradient else 1)
        if not further:
            self.sums.clear(columns)
        quadrature = self
        if exact and probe(self.target.device).double:
            quadrature = self.in_precision(Target(self.target.device, "double"))
        quadrature._add_densities(coefficients, columns)
        return columns

    def _add_densities(self, coefficients: Sequence[Reals], columns: Any) -> None:
        blocks = {block.degree: block for block in self.gaussians.blocks}
        for spin, of_spin in enumerate(coefficients):
            terms = [part.polynomials(blocks[part.degree].of(of_spin)) for part in self._parts]
            self.sums.add_density(terms, columns, spin, watcher())

    def values_of(self, columns: Any, spin: int, raised: bool = False) -> Reals:
        """What the Hermite Gaussians of the list make of values and vectors at the points; the adjoint of `density`.

        Parameters
        ----------
        columns : array, shape (n_spins, 1 or 4, n_points)
            On the device: a, or a and the components of b, with the weights.
        spin
            Of which of them.
        raised
            For the list that is raised by one degree, which derivatives ask for.

        Returns
        -------
        ndarray, shape (n_coefficients,)
            Of the list, or the raised one.
        """
        gaussians = self.pairs.list.raised if raised else self.pairs.list
        result = np.zeros(gaussians.n_coefficients)
        blocks = {block.degree: block for block in gaussians.blocks}
        all_moments = self.sums.moments(columns, spin, int(raised), watcher())
        for part, moments in zip(self._parts, all_moments, strict=True):
            block = blocks[part.degree + int(raised)]
            block.of(result)[part.rows[part.filled]] = part.values(moments, block.degree)[part.filled]
        return result

    def moved(self, coefficients: Sequence[Reals], columns: Any) -> Reals:
        r"""How a sum over the points changes when they move through densities that stay, one point after the other.

        .. math::  \sum_s \left(a_s + b_s \cdot \nabla\right) \nabla \rho_s

        Parameters
        ----------
        coefficients : sequence of ndarray, shape (n_coefficients,)
            Densities of one or two spins on the list of the pairs.
        columns : array, shape (n_spins, 1 or 4, n_points)
            On the device: a, or a and the components of b, with the weights.

        Returns
        -------
        ndarray, shape (n_points, 3)
        """
        factors = np.asarray(self.sums.to_numpy(columns), np.float64)
        groups = self._reached.groups
        groups = replace(groups, degrees=tuple(degree + 1 for degree in groups.degrees))
        raised = _ready(
            self.pairs,
            self.pairs.list.raised,
            self.grid,
            self.weights,
            replace(self._reached, groups=groups),
            self.target,
        )
        result = np.empty((len(self.weights), 3))
        for axis in range(3):
            slopes = raised.densities(
                [self.pairs.list.shifted(of_spin, axis) for of_spin in coefficients], columns.shape[1] == 4
            )
            result[:, axis] = (raised.sums.to_numpy(slopes) * factors).sum(axis=(0, 1))
        return result

    def lost(self, coefficients: Reals) -> Reals:
        """What coefficients lose when those of the polynomials are rounded to the precision of the target."""
        result = np.zeros(self.pairs.list.n_coefficients)
        blocks = {block.degree: block for block in self.pairs.list.blocks}
        for part in self._parts:
            block = blocks[part.degree]
            exact = part.polynomials(block.of(coefficients))
            rounded = exact.astype(self.target.dtype)
            block.of(result)[part.rows[part.filled]] = part.coefficients(exact - rounded)[part.filled]
        return result


@dataclass(frozen=True, eq=False)
class _Reached:
    """Points by cells, Gaussians by groups, and which reach which."""

    cells: PointCells
    groups: GaussianGroups
    lists: Lists


@dataclass(frozen=True, eq=False)
class _Part:
    """Gaussians of one degree, in the slots that they have in the lists.

    Attributes
    ----------
    degree : int
    rows : ndarray of int, shape (n_slots,)
        Among those of their degree.
    filled : ndarray of bool, shape (n_slots,)
        Whether there is one.
    exponent, scale : ndarray, shape (n_slots,)
        In bohr^-2; what distances are multiplied by, its square root but for rounding.
    """

    degree: int
    rows: NDArray[np.intp]
    filled: NDArray[np.bool_]
    exponent: Reals
    scale: Reals

    def polynomials(self, coefficients: Reals) -> Reals:
        """Coefficients of polynomials from those of the Hermite Gaussians of the degree."""
        of_orders, of_monomials = self._factors(self.degree)
        return (coefficients[self.rows] * of_orders) @ _monomials(self.degree) * of_monomials

    def coefficients(self, polynomials: Reals) -> Reals:
        """The inverse."""
        of_orders, of_monomials = self._factors(self.degree)
        return (polynomials / of_monomials) @ np.linalg.inv(_monomials(self.degree)) / of_orders

    def values(self, moments: Reals, degree: int) -> Reals:
        """The adjoint for moments up to a degree: what the Hermite Gaussians make of the same."""
        of_orders, of_monomials = self._factors(degree)
        return (moments * of_monomials) @ _monomials(degree).T * of_orders

    def _factors(self, degree: int) -> tuple[Reals, Reals]:
        """Powers of the root, for derivatives to become Hermite polynomials; those of its rounding, for monomials."""

        def make() -> tuple[Reals, Reals]:
            root = np.sqrt(self.exponent)
            totals = [sum(order) for order in powers_of(degree)]
            return np.power.outer(root, totals), np.power.outer(root / self.scale, totals)

        return _FACTORS.of(self, degree, make)


_FACTORS = Derived[tuple[Reals, Reals]]("pairs of functions")


def quadrature_of(pairs: Pairs, grid: Grid, target: Target, left_out: float | None = None) -> Quadrature:
    """Prepare the points of a grid for the products of a basis set.

    Parameters
    ----------
    pairs
        Of the basis set.
    grid
        Points and weights.
    target
        The device of the current session, and the precision. Memory there: some 50 bytes a point.
    left_out
        What a Gaussian may add in a cell of points to a matrix element of a potential of 1 hartree, in hartree, and be
        left out; 1e-11 in single and 1e-14 in double precision unless it is given.

    Raises
    ------
    DeviceError
        For functions beyond g by a Vulkan driver in software, which ends long loops before they are through.
    """
    from taichi_kernels.quadrature_kernels import POINTS, WRITTEN_OUT
    from taichi_kernels.quadrature_lists import cells_of, groups_of, lists_of

    gaussians = pairs.list
    if gaussians.degree.max(initial=0) > WRITTEN_OUT and probe(target.device).software:
        raise DeviceError(
            "vulkan: this software driver cannot compute functions beyond g on a grid; use the device cpu"
        )
    cells = cells_of(grid.points)
    weights = grid.weights[cells.order]
    weights[len(grid.weights) :] = 0.0
    of_cells = np.maximum(np.abs(weights).reshape(-1, POINTS).sum(axis=1), 1e-300)
    least = (left_out or LEFT_OUT[target.precision]) / float(of_cells.max())
    reach = _REACHES.of(pairs, least, lambda: _reach(pairs, least))
    groups = groups_of(gaussians.centre, gaussians.degree, reach)
    fewer = np.log(of_cells.max() / of_cells)
    lists = lists_of(cells, groups, gaussians.centre, gaussians.exponent, reach, fewer)
    return _ready(pairs, gaussians, grid, weights, _Reached(cells, groups, lists), target)


def _ready(
    pairs: Pairs, gaussians: HermiteList, grid: Grid, weights: Reals, reached: _Reached, target: Target
) -> Quadrature:
    """What is known of points and Gaussians, for terms in a precision."""
    from taichi_kernels.quadrature import QuadratureSums, scale_of

    cells, groups = reached.cells, reached.groups
    parts = []
    for n, degree in enumerate(groups.degrees):
        rows = groups.row[groups.first_slot[n] : groups.first_slot[n + 1]]
        filled = rows >= 0
        of_degree = next(block for block in gaussians.blocks if block.degree == degree)
        of_block, z = np.where(filled, rows - of_degree.rows.start, 0), gaussians.exponent[np.maximum(rows, 0)]
        parts.append(_Part(degree, of_block, filled, z, scale_of(z, target)))
    sums = QuadratureSums(cells, groups, reached.lists, gaussians.centre, gaussians.exponent, weights, target)
    return Quadrature(pairs, gaussians, grid, weights, target, sums, reached, tuple(parts))


_REACHES = Derived[Reals]("pairs of functions")


def _reach(pairs: Pairs, least: float) -> Reals:
    """Distance from each Gaussian of the list beyond which no product has more than some value, 0 for none.

    The distance is where the bound on the product is that value, from above: with a smaller one for the polynomials,
    what is found is smaller too, and still no less than the root.
    """
    gaussians, primitives = pairs.list, pairs.primitives
    largest = _largest_coefficients(primitives)
    ends = [(largest[which], primitives.centre[which]) for which in (pairs.left, pairs.right)]
    alpha, beta = (primitives.exponent[which] for which in (pairs.left, pairs.right))
    z = gaussians.exponent
    height = -alpha * beta / z * ((ends[0][1] - ends[1][1]) ** 2).sum(axis=1) - np.log(least)
    away = [np.sqrt(((gaussians.centre - centre) ** 2).sum(axis=1)) for _, centre in ends]

    def next_distance(distance: Reals) -> Reals:
        left = height.copy()
        for (coefficients, _), shift in zip(ends, away, strict=True):
            value = np.zeros(len(z))
            for of_power in coefficients.T[::-1]:
                value = value * (distance + shift) + of_power
            left += np.log(np.maximum(value, 1e-300))
        return np.sqrt(np.maximum(left, 0.0) / z)

    reach = np.full(len(z), _FIRST)
    while np.any(next_distance(reach) > reach):
        reach *= 2
    for _ in range(_STEPS):
        reach = next_distance(reach)
    return reach


_FIRST, _STEPS = 50.0, 8
"""Distance in bohr from which one goes inwards, and how often."""


def _largest_coefficients(primitives: MergedPrimitives) -> Reals:
    """For each primitive and power of the distance, the most that it has in any basis function; shape (n, powers)."""
    from scipy.sparse import csr_matrix

    degrees = primitives.degree.tolist()
    n_powers = max(degrees, default=0) + 1
    orders = [np.array([sum(powers) for powers in polynomial_powers(degree)]) for degree in range(n_powers)]
    rows = np.concatenate([n * n_powers + orders[degree] for n, degree in enumerate(degrees)])
    n_terms = len(rows)
    shape = (len(degrees) * n_powers, n_terms)
    summed = csr_matrix((np.ones(n_terms), (rows, np.arange(n_terms))), shape=shape) @ abs(primitives.from_basis)
    return np.asarray(summed.max(axis=1).todense()).reshape(-1, n_powers)


@lru_cache
def _monomials(degree: int) -> Reals:
    """Products of Hermite polynomials (rows) as sums of monomials (columns), both in the order of `powers_of`."""
    orders = powers_of(degree)
    place = {order: n for n, order in enumerate(orders)}
    along = [
        [(power, (-1) ** k * factor * 2**power) for k, (power, factor) in enumerate(hermite_terms(t))]
        for t in range(degree + 1)
    ]
    result = np.zeros((len(orders), len(orders)))
    for row, (t, u, v) in enumerate(orders):
        for i, x in along[t]:
            for j, y in along[u]:
                for k, z in along[v]:
                    result[row, place[i, j, k]] = x * y * z
    result.setflags(write=False)
    return result


# ---- exchange and correlation


@dataclass(frozen=True, eq=False)
class KineticEnergyDensity:
    """tau of density matrices at the points of a grid, and the matrix of what acts on it.

    In single precision tau is right to some 1e-6 of its largest value, elements of the matrix to 2e-6 hartree for
    potentials of functionals; in double precision, to 1e-9.

    Attributes
    ----------
    quadrature : Quadrature
        Of the derivatives of basis functions; its points are those of any other one of the same grid.
    """

    quadrature: Quadrature

    @classmethod
    def of(cls, basis: Basis | Wavefunction, grid: Grid, target: Target) -> KineticEnergyDensity:
        """That of a basis set at the points of a grid; for target and errors see `quadrature_of`."""
        return cls(quadrature_of(derivative_pairs(basis), grid, target))

    def in_precision(self, target: Target) -> KineticEnergyDensity:
        """The same with terms in another precision."""
        return KineticEnergyDensity(self.quadrature.in_precision(target))

    def coefficients(self, matrices: Sequence[Reals]) -> list[Reals]:
        """On the list, of one density matrix or of those of both spins."""
        return [to_derivatives(self.quadrature.pairs, matrix, self.quadrature.target) for matrix in matrices]

    def densities(self, matrices: Sequence[Reals], further: bool = False, exact: bool = False) -> Any:
        """Values as those of `Quadrature.densities`, shape (n_spins, 1, n_points), in hartree bohr^-3."""
        return self.quadrature.densities(self.coefficients(matrices), False, further, exact)

    def matrix(self, values: Reals) -> Reals:
        """The matrix of values on the list, shape (n_basis, n_basis)."""
        return from_derivatives(self.quadrature.pairs, values, self.quadrature.target)


@dataclass(frozen=True, eq=False)
class ExchangeCorrelation:
    """Exchange and correlation.

    Attributes
    ----------
    energy : float
        In hartree.
    electrons : tuple of float
        Of each spin, or of both together, as the grid has them: how far they are off tells how good it is.
    values : tuple of ndarray, shape (n_coefficients,)
        Derivatives of the energy with respect to the coefficients of each spin, in hartree; `to_matrix` makes matrices
        of them.
    kinetic_values : tuple of ndarray
        The same with respect to those of tau, for a functional of it; `KineticEnergyDensity.matrix` makes matrices.
    """

    energy: float
    electrons: tuple[float, ...]
    values: tuple[Reals, ...]
    kinetic_values: tuple[Reals, ...] = ()


def exchange_correlation(
    quadrature: Quadrature,
    coefficients: Sequence[Reals],
    functional: Functional,
    raised: bool = False,
    kinetic: tuple[KineticEnergyDensity, Sequence[Reals]] | None = None,
) -> ExchangeCorrelation:
    """Exchange and correlation of a density.

    Parameters
    ----------
    quadrature
        Grid and products of basis functions, on the device of the current session.
    coefficients : one or two ndarrays, shape (n_coefficients,)
        The density on the list: of all electrons, or of alpha and of beta electrons.
    functional
        Exact exchange is not among it.
    raised
        Values for the lists that are raised by one degree instead, which forces ask for.
    kinetic : pair of KineticEnergyDensity and sequence of ndarray
        For a functional of tau: of the same grid, and density matrices of the same spins.
    """
    tau, matrices = kinetic or (None, ())
    if len(coefficients) > 1 and functional.needs_gradient and quadrature.sums.in_double and not raised:
        # where a spin has almost no density its potential depends on digits that single precision does not have
        quadrature = quadrature.in_precision(Target(quadrature.target.device, "double"))
        tau = tau and tau.in_precision(quadrature.target)
    density = quadrature.densities(coefficients, functional.needs_gradient)
    of_tau = (tau, tau.densities(matrices)) if tau else None
    found = of_densities(quadrature, density, functional, raised, kinetic=of_tau)
    if quadrature.target.precision == "double" or raised:
        return found
    # an error of a coefficient is the same at all points, so it adds up in the energy; to first order it is known
    lost = sum(float(quadrature.lost(one) @ of_spin) for one, of_spin in zip(coefficients, found.values, strict=True))
    if tau:
        parts = zip(tau.coefficients(matrices), found.kinetic_values, strict=True)
        lost += sum(float(tau.quadrature.lost(one) @ of_spin) for one, of_spin in parts)
    return replace(found, energy=found.energy + lost)


def gradient_of_points(
    quadrature: Quadrature,
    coefficients: Sequence[Reals],
    functional: Functional,
    atomic_numbers: NDArray[np.integer],
    positions: Reals,
    kinetic: tuple[KineticEnergyDensity, Sequence[Reals]] | None = None,
) -> Reals:
    r"""Derivatives of the energy of exchange and correlation when only points and weights move with the atoms.

    .. math::  \sum_{g \in A} w_g \nabla f(r_g) + \sum_g \frac{\partial w_g}{\partial R_A} f(r_g)

    (B. G. Johnson, P. M. W. Gill, J. A. Pople, J. Chem. Phys. 1993, 98, 5612). An exact quadrature would have none.

    Parameters
    ----------
    quadrature, coefficients, functional, kinetic
        Those of the last call of `exchange_correlation`, whose energies and potentials at the points are still there.
    atomic_numbers, positions
        Of the atoms.

    Returns
    -------
    ndarray, shape (n_atoms, 3)
        In hartree/bohr.
    """
    n_spins, sums = len(coefficients), quadrature.sums
    energies = np.asarray(sums.to_numpy(sums.energies), np.float64)
    result = weights_gradient(quadrature.points, quadrature.atom, energies, atomic_numbers, positions)
    n_columns = 4 if functional.needs_gradient else 1
    moved = quadrature.moved(coefficients, sums.columns("potential", n_spins, n_columns))
    if kinetic:
        tau, matrices = kinetic
        potential = tau.quadrature.sums.columns("potential", n_spins, 1)
        moved += tau.quadrature.moved(tau.coefficients(matrices), potential)
    np.add.at(result, quadrature.atom, moved)
    return result


def of_densities(
    quadrature: Quadrature,
    density: Any,
    functional: Functional,
    raised: bool = False,
    exact: bool = False,
    kinetic: tuple[KineticEnergyDensity, Any] | None = None,
) -> ExchangeCorrelation:
    """The same of densities at the points, as `Quadrature.densities` leaves them: `exact` or not; and of tau."""
    noise = NOISE["double" if exact else quadrature.target.precision]
    sums = quadrature.sums
    n_spins, n_columns = density.shape[:2]
    energy = sums.energies
    potential = sums.columns("potential", n_spins, n_columns)
    tau = None
    if kinetic:
        on_derivatives, taus = kinetic[0].quadrature, kinetic[1]
        tau = taus, on_derivatives.sums.columns("potential", n_spins, 1)
    if sums.in_double and functional.by_kernel:
        from taichi_kernels.formulas import functional_at_points

        target, told = quadrature.target, watcher()
        functional_at_points(functional, density, sums.weights, energy, potential, target, told, noise, tau)
    else:
        given = [density, tau[0]] if tau else [density]
        columns = np.concatenate([np.asarray(sums.to_numpy(part), np.float64) for part in given], axis=1)
        of_points, potentials = at_points(functional, columns, quadrature.target, noise)
        sums.from_numpy(energy, of_points * quadrature.weights)
        sums.from_numpy(potential, potentials[:, :n_columns] * quadrature.weights)
        if tau:
            sums.from_numpy(tau[1], potentials[:, n_columns:] * quadrature.weights)
    spins = range(n_spins)
    return ExchangeCorrelation(
        sums.total(energy),
        tuple(sums.electrons(density, spin) for spin in spins),
        tuple(quadrature.values_of(potential, spin, raised) for spin in spins),
        tuple(on_derivatives.values_of(tau[1], spin, raised) for spin in spins) if tau else (),
    )
