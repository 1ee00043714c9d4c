r"""Charges at the nuclei whose potential is that of the molecule at points outside of it, as nearly as can be.

.. math::  \chi^2 = \sum_k w_k \left( V_k - \sum_A \frac{q_A}{r_{kA}} \right)^2, \qquad \sum_A q_A = Q

with the exact potential :math:`V_k` of nuclei and electrons, and weights :math:`w_k` of the points. CHELPG and
Merz-Kollman charges are the minimum, on points of their own (`potential_points`).

RESP (C. I. Bayly, P. Cieplak, W. D. Cornell and P. A. Kollman, J. Phys. Chem. 1993, 97, 10269) is on the points of Merz
and Kollman. Charges of all atoms but hydrogen are held back by a hyperbola, as its program has it,

.. math::  \chi^2 + 2 a \sum_A \left( \sqrt{q_A^2 + b^2} - b \right), \qquad b = 0.1\ e

in two stages: first a = 0.0005, with equal charges of atoms that are alike by their bonds, those of methyl and
methylene groups excepted; then these groups alone with a = 0.001, their alike atoms equal, the others kept. Each point
counts by the area w that it stands for in Angstrom^2, so that the hyperbola weighs the same for any number of points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import OrbitileError
from ...watch import checkpoint
from .equivalence import equal_atoms, equivalent_atoms, in_methyl_or_methylene
from .potential_points import chelpg_points, merz_kollman_points

if TYPE_CHECKING:
    from ...model.wavefunction import Wavefunction

Reals = NDArray[np.float64]

_WEAK, _STRONG, _TIGHTNESS = 0.0005, 0.001, 0.1
"""a of both stages in hartree^2/e^3 Angstrom^2, and b in e."""

_SETTLED, _MOST_ROUNDS = 1e-9, 500
"""Change of charges in e at which the hyperbolas have settled, and after how many rounds that is given up."""

_UNREACHED = 1e-6
"""How far a dipole may be from the one that is wanted, in e bohr."""

_POTENTIAL = 1e-6
"""Bound in hartree/e on what is left out of the potential at any point; charges of small molecules then lose 2e-7 e."""

_ELEMENTS = 1 << 22
"""Distances that are held at once: 32 MB."""


@dataclass(frozen=True, eq=False)
class PotentialFit:
    """Charges fitted to the potential.

    Attributes
    ----------
    charges : ndarray, shape (n_atoms,)
        In e; 0 at ghosts.
    rms_error : float
        Root of the mean square of what is left of the potential at the points, in hartree/e.
    relative_error : float
        The same over that of the potential itself.
    n_points : int
    spread : float
        Largest difference between charges of atoms that distances in the molecule make equal, in e: an error of the
        points. 0 where no atoms are equal.
    """

    charges: Reals
    rms_error: float
    relative_error: float
    n_points: int
    spread: float


@dataclass(frozen=True, eq=False)
class _Fit:
    """Normal equations of a fit without constraints: sums over points of w 1/r 1/r, w V/r, w V V and w."""

    inverse_distances: Reals
    potentials: Reals
    square: float
    weight: float
    n_points: int
    classes: NDArray[np.int64]

    def result(self, charges: Reals, atoms: NDArray[np.intp], n_atoms: int) -> PotentialFit:
        left = float(charges @ self.inverse_distances @ charges - 2 * charges @ self.potentials) + self.square
        everywhere = np.zeros(n_atoms)
        everywhere[atoms] = charges
        left = left if left > 0 else 0.0  # but for rounding
        relative = math.sqrt(left / self.square) if self.square else 0.0
        spread = max(float(np.ptp(charges[self.classes == one])) for one in np.unique(self.classes))
        return PotentialFit(everywhere, math.sqrt(left / self.weight), relative, self.n_points, spread)


def chelpg_charges(wavefunction: Wavefunction, *, dipole: bool = False, device: str | None = None) -> PotentialFit:
    """Charges of CHELPG.

    Parameters
    ----------
    wavefunction
    dipole
        Whether the dipole moment of the charges is to be that of the molecule, beside the total charge.
    device
        As for `orbitile.evaluate`.

    Raises
    ------
    OrbitileError
        When the molecule has no atom that is no ghost, or charges at its nuclei cannot have its dipole moment.
    """
    atoms, numbers, places = _atoms(wavefunction)
    fit = _fit_at(wavefunction, numbers, places, *chelpg_points(numbers, places), device)
    return _unrestrained(wavefunction, fit, atoms, dipole)


def merz_kollman_charges(
    wavefunction: Wavefunction, *, dipole: bool = False, device: str | None = None
) -> PotentialFit:
    """Charges of Merz and Kollman; parameters and errors as for `chelpg_charges`."""
    atoms, numbers, places = _atoms(wavefunction)
    fit = _fit_at(wavefunction, numbers, places, *merz_kollman_points(numbers, places), device)
    return _unrestrained(wavefunction, fit, atoms, dipole)


def resp_charges(wavefunction: Wavefunction, *, device: str | None = None) -> PotentialFit:
    """Charges of RESP, in two stages.

    Parameters
    ----------
    wavefunction
    device
        As for `orbitile.evaluate`.

    Raises
    ------
    OrbitileError
        When the molecule has no atom that is no ghost.
    """
    atoms, numbers, places = _atoms(wavefunction)
    fit = _fit_at(wavefunction, numbers, places, *merz_kollman_points(numbers, places), device)
    alike, groups = equivalent_atoms(numbers, places), in_methyl_or_methylene(numbers, places)
    total, restrained = wavefunction.charge, (numbers > 1).astype(float)
    # each atom of a methyl or methylene group is a class of its own at first
    first = np.where(groups, alike.max() + 1 + np.arange(len(alike)), alike)
    charges = _restrained(fit, _sums_of_classes(first), np.zeros(len(atoms)), total, _WEAK * restrained)
    if groups.any():
        kept = np.where(groups, 0.0, charges)
        free = _sums_of_classes(alike)
        free = free[:, groups @ free > 0] * groups[:, None]
        charges = _restrained(fit, free, kept, total - kept.sum(), _STRONG * restrained)
    return fit.result(charges, atoms, wavefunction.n_atoms)


def _atoms(wavefunction: Wavefunction) -> tuple[NDArray[np.intp], NDArray[np.int64], Reals]:
    atoms = np.flatnonzero(~wavefunction.is_ghost)
    if not len(atoms):
        raise OrbitileError("charges from the potential: expected at least one atom that is no ghost, got none")
    return atoms, wavefunction.atomic_numbers[atoms], wavefunction.positions[atoms]


def _fit_at(
    wavefunction: Wavefunction,
    numbers: NDArray[np.int64],
    places: Reals,
    points: Reals,
    weights: Reals,
    device: str | None,
) -> _Fit:
    """The normal equations of some points."""
    from ...evaluation.devices import exact_precision
    from ...evaluation.points import evaluate
    from ...fields.electrostatic_potential import ElectrostaticPotential

    field = ElectrostaticPotential(wavefunction, tolerance=_POTENTIAL)
    potential = evaluate(wavefunction, field, points, device=device, precision=exact_precision(device)).astype(float)
    inverse = np.zeros((len(places), len(places)))
    right = np.zeros(len(places))
    step = max(1, _ELEMENTS // len(places))
    for first in range(0, len(points), step):
        some = slice(first, first + step)
        from_atoms = _inverse_distances(points[some], places)
        inverse += (from_atoms * weights[some, None]).T @ from_atoms
        right += (weights[some] * potential[some]) @ from_atoms
        checkpoint()
    square = float(weights @ potential**2)
    return _Fit(inverse, right, square, float(weights.sum()), len(points), equal_atoms(numbers, places))


def _inverse_distances(points: Reals, places: Reals) -> Reals:
    from scipy.spatial.distance import cdist

    inverse: Reals = 1 / cdist(points, places)
    return inverse


def _unrestrained(wavefunction: Wavefunction, fit: _Fit, atoms: NDArray[np.intp], dipole: bool) -> PotentialFit:
    sums, values = np.ones((1, len(atoms))), np.array([wavefunction.charge])
    if dipole:
        from ...fields.density import density_of
        from ..moments import analytic_moments

        places = wavefunction.positions[atoms]
        middle = places.mean(axis=0)  # about which the equations are best conditioned
        wanted = analytic_moments(wavefunction, density_of(wavefunction)).dipole - wavefunction.charge * middle
        sums, values = np.vstack([sums, (places - middle).T]), np.append(values, wanted)
    charges = _constrained_minimum(fit.inverse_distances, fit.potentials, sums, values)
    if np.abs(sums @ charges - values).max() > _UNREACHED:
        raise OrbitileError(
            "dipole: charges at these nuclei cannot have the dipole moment of the molecule, which has a part across "
            "the line or the plane that they are in; leave it out"
        )
    return fit.result(charges, atoms, wavefunction.n_atoms)


def _restrained(fit: _Fit, classes: Reals, kept: Reals, total: float, strength: Reals) -> Reals:
    """Charges under hyperbolas: those that are kept, and those of the classes, which are equal within each.

    The hyperbola of each charge counts as a parabola of its slope there, until the charges no longer change.
    """
    matrix = fit.inverse_distances
    right = fit.potentials - fit.inverse_distances @ kept
    sums = classes.sum(axis=0)[None]
    charges = kept
    for _ in range(_MOST_ROUNDS):
        held = matrix + np.diag(strength / np.sqrt(charges**2 + _TIGHTNESS**2))
        found = _constrained_minimum(classes.T @ held @ classes, classes.T @ right, sums, np.array([total]))
        before, charges = charges, kept + classes @ found
        if np.abs(charges - before).max() < _SETTLED:
            return charges
        checkpoint()
    raise OrbitileError(f"RESP: the charges did not settle in {_MOST_ROUNDS} rounds; use chelpg")


def _sums_of_classes(classes: NDArray[np.integer]) -> Reals:
    """One column a class, with ones at its atoms."""
    _, number = np.unique(classes, return_inverse=True)
    columns: Reals = np.eye(number.max() + 1)[number]
    return columns


def _constrained_minimum(matrix: Reals, right: Reals, sums: Reals, values: Reals) -> Reals:
    """Where x M x / 2 - x r is least of all x with sums x = values, by Lagrange's multipliers.

    Of sums that follow from others, the shortest multipliers are taken; of atoms that no point tells apart, as two at
    one place, the shortest x.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        factor = cho_factor(matrix)
        solved = cho_solve(factor, np.column_stack([right, sums.T]))
    except LinAlgError:
        solved = np.linalg.lstsq(matrix, np.column_stack([right, sums.T]), rcond=None)[0]
    x: Reals = solved[:, 0]
    shifts = solved[:, 1:]
    for _ in range(2):  # the second time what rounding has left
        x = x + shifts @ np.linalg.lstsq(sums @ shifts, values - sums @ x, rcond=None)[0]
    return x
