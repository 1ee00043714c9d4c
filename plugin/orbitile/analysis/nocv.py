r"""The interaction of fragments in numbers: energies of pairs of NOCV, which fragment gives, and displaced charge.

**Energies.** In the extended transition state method the energy that the orbitals gain from the orthogonal fragments
on is :math:`\Delta E_{orb} = \operatorname{Tr} \Delta P\, F^{TS}` (T. Ziegler, A. Rauk, Theor. Chim. Acta 1977, 46, 1),
and the part of a pair (M. Mitoraj, A. Michalak, T. Ziegler, J. Chem. Theory Comput. 2009, 5, 962)

.. math::  \Delta E_k = v_k\, (F^{TS}_{k,k} - F^{TS}_{-k,-k}) .

F^TS is the mean Fock matrix along the way from the density matrix of the fragments to that of the whole, here by
Simpson's rule, :math:`F^{TS} = (F(P^0) + 4 F(\tfrac12(P^0 + P)) + F(P)) / 6`: exact for Hartree-Fock, whose energy is
quadratic in P, and to the fifth order in :math:`\Delta P` for functionals.

**Charge displacement** along an axis z, that is how many electrons a change of the density moves across a plane against
the direction of the axis (L. Belpassi, I. Infante, F. Tarantelli, L. Visscher, J. Am. Chem. Soc. 2008, 130, 1048),

.. math::  \Delta q(z) = \int_{-\infty}^z dz' \int dx\, dy\, \Delta\rho(x, y, z') .

Of sums of Gaussians it is exact: over planes from Gamma functions, along the axis from error functions and a recursion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import gamma
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import erf

from ..base.arrays import Reals
from ..base.errors import Cancelled, OrbitileError
from ..base.memory import share
from ..base.watch import checkpoint
from ..fields.nocv import Deformation
from ..gaussians.expansion import GaussianExpansion, by_degree
from ..gaussians.fragments import filled_orbitals
from ..gaussians.overlap import dense, inverse_root, own_overlap, shell_overlap
from ..gaussians.rotation import rotate_terms
from ..model.geometry import Geometry
from ..model.wavefunction import Basis, Wavefunction

if TYPE_CHECKING:
    from taichi_kernels.target import Target

    from ..scf.calculation import Calculation

_VALUES = share("lists", 8)
"""Integrals of Gaussians up to planes that are held at once."""


# ---- charge displacement


@dataclass(frozen=True, eq=False)
class Axis:
    """A line that planes cross at right angles.

    Attributes
    ----------
    origin : ndarray, shape (3,)
        Where heights are counted from, in bohr.
    direction : ndarray, shape (3,)
        Of length 1.
    length : float
        Height in bohr of the second of the two atoms that it goes through; the first is at the origin.
    atoms : tuple of int
        These atoms, from 0.
    """

    origin: Reals
    direction: Reals
    length: float
    atoms: tuple[int, int]


def axis_through(wavefunction: Wavefunction, first: int, second: int) -> Axis:
    """The axis from one atom to another.

    Raises
    ------
    OrbitileError
        When there are no such atoms, or they are at one place.
    """
    n = wavefunction.n_atoms
    if not (0 <= first < n and 0 <= second < n):
        raise OrbitileError(f"axis: expected atoms from 1 to {n}, got {first + 1} and {second + 1}")
    along = wavefunction.positions[second] - wavefunction.positions[first]
    length = float(np.linalg.norm(along))
    if length < 1e-3:
        raise OrbitileError(f"axis: expected two atoms apart from each other, got {first + 1} and {second + 1}")
    return Axis(wavefunction.positions[first], along / length, length, (first, second))


def shortest_axis(found: Deformation) -> Axis:
    """The axis through the two atoms of the first fragment and another that are closest to each other."""
    positions = found.whole.positions
    ours = np.array(found.fragments[0].atoms)
    others = np.array([atom for fragment in found.fragments[1:] for atom in fragment.atoms])
    distances = np.linalg.norm(positions[ours, None] - positions[others], axis=2)
    one, other = np.unravel_index(int(distances.argmin()), distances.shape)
    return axis_through(found.whole, int(ours[one]), int(others[other]))


def charge_displacement(density: GaussianExpansion, axis: Axis, heights: Reals) -> Reals:
    """Integral of a density over all that is below each height along an axis, in e; heights in bohr, shape (n,)."""
    frame = _frame(axis.direction)
    terms = rotate_terms(density.terms, density.degree, frame)
    rotated = GaussianExpansion(
        (density.centre - axis.origin) @ frame.T, density.exponent, density.degree, density.first_term, terms
    )
    result = np.zeros(len(heights))
    for degree, which, powers, values in by_degree(rotated):
        across = _over_planes(powers, values, rotated.exponent[which], degree)
        few = max(1, _VALUES // (len(heights) * (degree + 1)))
        for first in range(0, len(which), few):
            checkpoint()
            some = slice(first, first + few)
            below = heights - rotated.centre[which[some], 2, None]
            result += _below(across[some], rotated.exponent[which[some], None], below)
    return result


def _frame(direction: Reals) -> Reals:
    """Three axes at right angles, shape (3, 3), the last of which is a direction."""
    start = np.eye(3)[int(np.argmin(np.abs(direction)))]
    x = np.cross(direction, start)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(direction, x), direction])


def _over_planes(powers: Any, values: Reals, exponent: Reals, degree: int) -> Reals:
    """Integrals of Gaussians over x and y: factors of the powers of z, shape (n, degree + 1)."""
    result = np.zeros((len(values), degree + 1))
    for (i, j, k), terms in zip(powers.tolist(), values.T, strict=True):
        if i % 2 == 0 and j % 2 == 0:
            result[:, k] += terms * gamma((i + 1) / 2) * gamma((j + 1) / 2) / exponent ** ((i + j + 2) / 2)
    return result


def _below(factors: Reals, exponent: Reals, heights: Reals) -> Reals:
    """Sums over Gaussians of the integrals of polynomials times them, from minus infinity to heights, shape (n, m)."""
    with np.errstate(under="ignore"):
        edge = np.exp(-exponent * heights**2) / (2 * exponent)
        last, before = 0.5 * np.sqrt(np.pi / exponent) * (1 + erf(np.sqrt(exponent) * heights)), -edge
        result: Reals = factors[:, 0] @ last
        for k in range(1, factors.shape[1]):
            if k > 1:
                last, before = before, -(heights ** (k - 1)) * edge + (k - 1) / (2 * exponent) * last
            result = result + factors[:, k] @ before
    return result


def isodensity_boundary(found: Deformation, axis: Axis, device: str | None = None) -> float | None:
    """Height in bohr between the atoms of an axis at which two frozen fragments are as dense; None if they never are.

    Of several fragments that of the first atom is compared with all others.
    """
    from ..evaluation.points import evaluate

    own = np.array([axis.atoms[0] in fragment.atoms for fragment in found.fragments])

    def excess(heights: Reals) -> Reals:
        points = axis.origin + heights[:, None] * axis.direction
        densities = [evaluate(other, "density", points, device=device, precision="double") for other in found.others]
        return np.asarray(np.where(own, 1.0, -1.0) @ np.array(densities))

    low, high, height = 0.0, axis.length, None
    for _ in range(_NARROWED):
        heights = np.linspace(low, high, _STEPS)
        values = excess(heights)
        falls = np.flatnonzero((values[:-1] > 0) & (values[1:] <= 0))
        if not len(falls):
            return height
        n = int(falls[np.argmin(np.abs(heights[falls] - axis.length / 2))])
        low, high = float(heights[n]), float(heights[n + 1])
        height = low + (high - low) * float(values[n] / (values[n] - values[n + 1]))
    return height


_STEPS, _NARROWED = 60, 3
"""Points at which densities are compared, and how often: then between the two on either side of the boundary."""


# ---- what fragments give


def gained_electrons(found: Deformation) -> list[Reals]:
    """Electrons that each pair of each spin takes to each fragment, (n_pairs, n_fragments), by Loewdin's populations.

    Atoms of no fragment are ghosts of the whole; what they gain is nobody's.
    """
    whole = found.whole
    values, axes = np.linalg.eigh(dense(own_overlap(whole)))
    root = (axes * np.sqrt(np.maximum(values, 0))) @ axes.T
    atoms = np.repeat([shell.atom for shell in whole.shells], [shell.n_functions for shell in whole.shells])
    changes = [p.values * ((root @ p.gaining) ** 2 - (root @ p.losing) ** 2) for p in found.pairs]
    members = [np.isin(atoms, fragment.atoms) for fragment in found.fragments]
    return [np.stack([change[those].sum(axis=0) for those in members], axis=1) for change in changes]


# ---- energies


@dataclass(frozen=True, eq=False)
class OrbitalEnergies:
    """What orbitals gain by the interaction, in hartree.

    Attributes
    ----------
    total : float
        Trace of the change of the density matrix with the Fock matrix of the transition state.
    difference : float
        The energy of the whole less that of the orthogonal fragments.
    of_pairs : tuple of ndarray, shape (n_pairs,)
        Of each spin.
    interaction : float
        The energy of the whole less those of the fragments; NaN where that of one cannot be computed.
    method : str
        By which functional.
    """

    total: float
    difference: float
    of_pairs: tuple[Reals, ...]
    interaction: float
    method: str


_STATIONARY = 0.02
"""Largest element, over orthonormal functions, of F P - P F, in hartree, of orbitals that are those of a functional."""

_ORBITAL = 2e-3
"""Hartree by which energies of occupied orbitals may differ from those in a file."""


def orbital_energies(found: Deformation, method: str = "", device: str | None = None) -> OrbitalEnergies:
    """Energies of pairs by the method of the whole, or by one that is named.

    Raises
    ------
    OrbitileError
        When the method is not known, is not among ours, or has not made the orbitals.
    """
    from ..evaluation.devices import device_session, exact_precision

    calculation = _calculation(found.whole, method)
    with device_session(device, exact_precision(device)) as target:
        fock = _fock(found.whole, calculation, target)
        way = [found.before + part * (found.after - found.before) for part in (0.0, 0.5, 1.0)]
        energies, matrices = zip(*map(fock, way), strict=True)
        try:
            apart = sum(_fock(other, calculation, target)(_densities(other))[0] for other in found.others)
        except Cancelled:
            raise
        except OrbitileError:  # as of core potentials beside ghosts
            apart = np.nan
    _check_orbitals(found, matrices[2], calculation.method)
    mean: Reals = (matrices[0] + 4 * matrices[1] + matrices[2]) / 6
    of_pairs = tuple(
        pairs.values * (_expected(fock, pairs.gaining) - _expected(fock, pairs.losing))
        for pairs, fock in zip(found.pairs, mean, strict=True)
    )
    total = float(np.sum((found.after - found.before) * mean))
    return OrbitalEnergies(total, energies[2] - energies[0], of_pairs, energies[2] - apart, calculation.method)


def _expected(matrix: Reals, orbitals: Reals) -> Reals:
    """Expectation values of a matrix for orbitals, one a column."""
    values: Reals = np.einsum("mi,mi->i", orbitals, matrix @ orbitals)
    return values


def _calculation(whole: Wavefunction, method: str) -> Calculation:
    """The calculation of a file, if it names a method that is among ours, or by the method that is given."""
    from ..integrals.method_names import split_name
    from ..scf.engines.orbitile import check
    from ..scf.from_file import calculation_for

    calculation, remarks = calculation_for(whole, {"method": method} if method else {})
    if not method and (doubts := [remark for remark in remarks if "method" in remark]):
        raise OrbitileError(f"{doubts[0].partition(':')[0]}; method=pbe, for example, tells it")
    calculation = replace(calculation, method=split_name(calculation.method)[0])  # dispersion knows no orbitals
    check(calculation)
    return calculation


def _fock(
    wavefunction: Wavefunction, calculation: Calculation, target: Target
) -> Callable[[Reals], tuple[float, Reals]]:
    """What takes density matrices over the functions of a wavefunction to their energy and their Fock matrices."""
    from ..scf.engines.orbitile import hamiltonian_of
    from ..scf.from_file import electrons_of

    charge, unpaired = electrons_of(wavefunction)
    calculation = replace(calculation, charge=charge, unpaired=unpaired)
    geometry = Geometry(wavefunction.atomic_numbers, wavefunction.positions)
    basis, to_basis = _functions(wavefunction, calculation)
    operator = hamiltonian_of(geometry, wavefunction.core_charges, basis, calculation, target, close=True)

    def of(densities: Reals) -> tuple[float, Reals]:
        checkpoint()
        if to_basis is None:
            return operator.fock(densities, exact=True)
        energy, matrices = operator.fock(to_basis @ densities @ to_basis.T, exact=True)
        return energy, to_basis.T @ matrices @ to_basis

    return of


def _densities(wavefunction: Wavefunction) -> Reals:
    """Density matrices of both spins, or one of closed shells, shape (n_spins, n_basis, n_basis)."""
    of_spins = np.array([c @ c.T for c in filled_orbitals(wavefunction)])
    return of_spins.sum(axis=0, keepdims=True) if wavefunction.kind == "restricted" else of_spins


def _functions(whole: Wavefunction, calculation: Calculation) -> tuple[Basis, Reals | None]:
    """Functions for Fock matrices, and what takes coefficients of those of the file to them; None where they are these.

    Core potentials are known over the functions of a basis set in our order only.
    """
    from ..scf.level_of_theory import shells_of

    own = Basis(whole.shells, whole.positions)
    if np.all(whole.core_charges == whole.atomic_numbers):
        return own, None
    basis = Basis(shells_of(Geometry(whole.atomic_numbers, whole.positions), calculation), whole.positions)
    overlap = dense(own_overlap(basis))
    between = dense(shell_overlap(basis.shells, basis.positions, own.shells, own.positions))
    to_basis: Reals = np.asarray(np.linalg.solve(overlap, between), np.float64)
    lost = float(np.abs(np.diag(to_basis.T @ overlap @ to_basis) / np.diag(dense(own_overlap(own))) - 1).max())
    if basis.n_basis != own.n_basis or lost > _LOST:
        raise OrbitileError(
            f"effective core potentials are those of a basis set, and the functions of the file are not those of "
            f"{calculation.basis!r}"
        )
    return basis, to_basis


_LOST = 1e-5
"""Part of the norm of a function that may lack in those of the basis set that its file is by."""


def _check_orbitals(found: Deformation, matrices: Reals, method: str) -> None:
    """Refuse orbitals of the whole that another method has made, by the equations that they solve."""
    whole = found.whole
    overlap = dense(own_overlap(whole))
    root = inverse_root(overlap)
    products = root @ (matrices @ found.after).sum(axis=0) @ overlap @ root
    error = float(np.abs(products - products.T).max())
    reason = f"F P - P F has elements of {error:.1e} hartree, expected {_STATIONARY:g} at most"
    if error < _STATIONARY:
        if whole.kind == "restricted open-shell":  # energies of its orbitals are a matter of convention
            return
        off = [0.0]
        for orbitals, fock in zip(whole.sets, matrices, strict=False):
            those = (orbitals.occupations > 0.5) & np.isfinite(orbitals.energies)
            off += (_expected(fock, orbitals.coefficients[:, those]) - orbitals.energies[those]).tolist()
        largest = float(np.abs(off).max())
        if whole.localised or whole.unordered or largest < _ORBITAL:
            return
        reason = f"energies of its orbitals differ by {largest:.1e} hartree, expected {_ORBITAL:g} at most"
    raise OrbitileError(f"the orbitals are not those of {method}: {reason}; name the method that has made them")
