r"""Electrons of the atoms by parts of space: A. D. Becke's fuzzy cells and F. L. Hirshfeld's shares.

.. math::  N_A = \int w_A(r)\, \rho(r)\, dr, \qquad \sum_A w_A = 1

Becke's w (J. Chem. Phys. 1988, 88, 2547) are those that his quadrature has for itself, with borders shifted by the
radii of the atoms. Hirshfeld's (Theor. Chim. Acta 1977, 44, 129) are the shares of free atoms in the promolecule, whose
densities are spherical: :math:`w_A = \rho_A / \sum_B \rho_B`. Of the latter only the difference is integrated,

.. math::  N_A = N_A^\mathrm{free} + \int w_A \Big( \rho - \sum_B \rho_B \Big) dr

for it has no peaks at the nuclei, so that much fewer points do. With core potentials :math:`\rho` and the sum are
without the cores, which would cancel.

**Charge model 5** corrects Hirshfeld charges for the polarity of bonds, so that they have the dipole moment.

.. math::  q_A = q_A^\mathrm{Hirshfeld} + \sum_{B} T_{AB}\, e^{-\alpha (r_{AB} - R_A - R_B)}, \qquad
    T_{AB} = D_A - D_B

A. V. Marenich, S. V. Jerome, C. J. Cramer and D. G. Truhlar, J. Chem. Theory Comput. 2012, 8, 527, equations 1 to 4,
with their parameters (table 1; of pairs, table 2) and the covalent radii that they took from M. Mantina, R. Valero, C.
J. Cramer and D. G. Truhlar (CRC Handbook of Chemistry and Physics, 91st edition, pages 9-49 and 9-50).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...base.watch import checkpoint
from ...model.free_atoms import FreeAtom, free_atom
from ...model.units import angstrom

if TYPE_CHECKING:
    from ...model.wavefunction import Wavefunction


LEVEL = 4
"""Level of the quadrature."""

_SAMPLED_AT_ONCE = 1 << 21
"""Points at which the density is computed together: those of a hundred atoms; the lists of what reaches them are 1 GB.
"""

_AT_ONCE = 2048
"""Points that are shared out together: they are neighbours, and few atoms reach them."""

_FAINT = 1e-10
"""Density of a free atom in e bohr^-3 beyond which it is left out."""

_VANISHED = 36.0
"""Exponent at which a Gaussian is left out, of 2e-16."""


@dataclass(frozen=True, eq=False)
class SampledDensity:
    """Electron density at the points of a quadrature.

    Attributes
    ----------
    points : ndarray, shape (n_points, 3)
        In bohr; those that follow one another are close.
    weights : ndarray, shape (n_points,)
        In bohr^3.
    atom : ndarray of int, shape (n_points,)
        The atom in whose cell each is.
    densities : ndarray, shape (1 or 2, n_points)
        Of all electrons, and where there are unpaired ones of alpha less beta electrons, in e bohr^-3.
    """

    points: Reals
    weights: Reals
    atom: NDArray[np.int32]
    densities: Reals


def sampled_density(
    wavefunction: Wavefunction, *, spin: bool = False, device: str | None = None, level: int = LEVEL
) -> SampledDensity:
    """The density at the points of Becke's quadrature.

    Parameters
    ----------
    wavefunction
    spin
        Whether the spin density is wanted too.
    device
        As for `orbitile.evaluate`.
    level
        As for `orbitile.integrals.grids.grid_of`. At level 4 some 22,000 points an atom, of 100 bytes each.

    Raises
    ------
    OrbitileError
        When there are no atoms but ghosts, or two are at one place.
    """
    from ...evaluation.devices import device_session
    from ...integrals.grids import Grid, grid_of
    from ...integrals.pairs import pairs_of, to_hermite
    from ...integrals.quadrature import quadrature_of
    from .._quadrature import density_matrix

    found = []
    with device_session(device, "single") as target:
        grid = grid_of(wavefunction.atomic_numbers, wavefunction.positions, target, level, "becke")
        pairs = pairs_of(wavefunction)
        matrices = [density_matrix(wavefunction, which) for which in ("total", "spin")[: 1 + spin]]
        coefficients = [to_hermite(pairs, matrix, target) for matrix in matrices]
        for first in range(0, len(grid), _SAMPLED_AT_ONCE):
            some = slice(first, first + _SAMPLED_AT_ONCE)
            quadrature = quadrature_of(pairs, Grid(grid.points[some], grid.weights[some], grid.atom[some]), target)
            # of one array on the device, which the next density fills again
            densities = [np.array(quadrature.density(one, False)[0], np.float64) for one in coefficients]
            found.append((quadrature.points, quadrature.weights, quadrature.atom, np.stack(densities)))
            checkpoint(min(first + _SAMPLED_AT_ONCE, len(grid)) / len(grid))
    points, weights, atom, values = zip(*found, strict=True)
    return SampledDensity(np.concatenate(points), np.concatenate(weights), np.concatenate(atom), np.hstack(values))


def becke_populations(wavefunction: Wavefunction, sampled: SampledDensity) -> Reals:
    """Electrons in the fuzzy cells, shape (1 or 2, n_atoms): all, and alpha less beta."""
    return np.stack(
        [np.bincount(sampled.atom, sampled.weights * density, wavefunction.n_atoms) for density in sampled.densities]
    )


def hirshfeld_populations(wavefunction: Wavefunction, sampled: SampledDensity) -> Reals:
    """Electrons by the shares of free atoms, shape (1 or 2, n_atoms): all, and alpha less beta.

    Where core potentials replace electrons, the cores of the free atoms stand in for them: the shares are those of
    whole atoms, which have no nodes, and the electrons of a core are not counted.

    Raises
    ------
    OrbitileError
        When there is no free atom of an element.
    """
    real = np.flatnonzero(~wavefunction.is_ghost)
    places, numbers = wavefunction.positions[real], wavefunction.atomic_numbers[real]
    cores = np.rint(numbers - wavefunction.core_charges[real]).astype(int)
    free = [free_atom(number) for number in numbers.tolist()]
    without_cores = {n: free_atom(int(numbers[n]), int(cores[n])) for n in np.flatnonzero(cores)}
    reach_of = {atom.number: _reach(atom) for atom in free}
    reaches = np.array([reach_of[atom.number] for atom in free])
    found = np.zeros((len(sampled.densities), len(real)))
    n_points = len(sampled.points)
    for first in range(0, n_points, _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        points, weights = sampled.points[some], sampled.weights[some]
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        radius = np.sqrt(((points - middle) ** 2).sum(axis=1).max())
        near = np.flatnonzero(np.sqrt(((places - middle) ** 2).sum(axis=1)) < reaches + radius)
        parts = np.array([_density(free[n], points, places[n]) for n in near]).reshape(len(near), len(points))
        whole = parts.sum(axis=0)
        promolecule = whole.copy()
        for row, n in enumerate(near):
            if n in without_cores:
                promolecule += _density(without_cores[n], points, places[n]) - parts[row]
        excess = sampled.densities[:, some] * weights
        excess[0] -= promolecule * weights
        reached = whole > 0
        found[:, near] += (excess[:, reached] / whole[reached]) @ parts[:, reached].T
        checkpoint(min(first + _AT_ONCE, n_points) / n_points)
    result = np.zeros((len(found), wavefunction.n_atoms))
    result[:, real] = found
    result[0, real] += wavefunction.core_charges[real]
    return result


def _reach(atom: FreeAtom) -> float:
    """Distance in bohr beyond which an atom is fainter than what counts."""
    radii = np.linspace(0, 60, 1201)
    return float(radii[np.flatnonzero(atom.density(radii) > _FAINT).max() + 1])


def _density(atom: FreeAtom, points: Reals, place: Reals) -> Reals:
    """Density of a free atom at points, shape (n_points,), without the Gaussians that reach none of them."""
    squares = ((points - place) ** 2).sum(axis=1)
    there = atom.exponents * squares.min() < _VANISHED
    exponents = atom.exponents[there]
    heights = atom.electrons[there] * (exponents / np.pi) ** 1.5
    density: Reals = heights @ np.exp(-exponents[:, None] * squares)
    return np.maximum(density, 0.0)


_ALPHA = 2.474 / angstrom
"""In bohr^-1."""

_RADII = """
    0.00 0.32 0.37 1.30 0.99 0.84 0.75 0.71 0.64 0.60 0.62 1.60 1.40 1.24 1.14 1.09 1.04 1.00 1.01 2.00 1.74 1.59 1.48
    1.44 1.30 1.29 1.24 1.18 1.17 1.22 1.20 1.23 1.20 1.20 1.18 1.17 1.16 2.15 1.90 1.76 1.64 1.56 1.46 1.38 1.36 1.34
    1.30 1.36 1.40 1.42 1.40 1.40 1.37 1.36 1.36 2.38 2.06 1.94 1.84 1.90 1.88 1.86 1.85 1.83 1.82 1.81 1.80 1.79 1.77
    1.77 1.78 1.74 1.64 1.58 1.50 1.41 1.36 1.32 1.30 1.30 1.32 1.44 1.45 1.50 1.42 1.48 1.46 2.42 2.11 2.01 1.90 1.84
    1.83 1.80 1.80 1.73 1.68 1.68 1.68 1.65 1.67 1.73 1.76 1.61 1.57 1.49 1.43 1.41 1.34 1.29 1.28 1.21 1.22 1.36 1.43
    1.62 1.75 1.65 1.57
""".split()
"""Covalent radii from 1 to 118 in Angstrom."""

_ATOMS = {
    1: 0.0056, 2: -0.1543, 4: 0.0333, 5: -0.1030, 6: -0.0446, 7: -0.1072, 8: -0.0802, 9: -0.0629, 10: -0.1088,
    11: 0.0184, 13: -0.0726, 14: -0.0790, 15: -0.0756, 16: -0.0565, 17: -0.0444, 18: -0.0767, 19: 0.0130,
    31: -0.0512, 32: -0.0557, 33: -0.0533, 34: -0.0399, 35: -0.0313, 36: -0.0541, 37: 0.0092, 49: -0.0361,
    50: -0.0393, 51: -0.0376, 52: -0.0281, 53: -0.0220, 54: -0.0381, 55: 0.0065, 81: -0.0255, 82: -0.0277,
    83: -0.0265, 84: -0.0198, 85: -0.0155, 86: -0.0269, 87: 0.0046, 113: -0.0179, 114: -0.0195, 115: -0.0187,
    116: -0.0140, 117: -0.0110, 118: -0.0189,
}  # fmt: skip
"""D in e by atomic number; 0 for all others."""

_PAIRS = {(1, 6): 0.0502, (1, 7): 0.1747, (1, 8): 0.1671, (6, 7): 0.0556, (6, 8): 0.0234, (7, 8): -0.0346}
"""T in e of pairs of elements that have one of their own."""

_FAR = 16.0 * angstrom
"""Beyond this distance no pair has 1e-11 e."""


def cm5_corrections(atomic_numbers: NDArray[np.integer], positions: Reals) -> Reals:
    """What CM5 adds to Hirshfeld charges.

    Parameters
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
        0 for ghosts, which get and give nothing.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.

    Returns
    -------
    ndarray, shape (n_atoms,)
        In e; they add up to 0.
    """
    from scipy.spatial import cKDTree

    i, j = cKDTree(positions).query_pairs(_FAR, output_type="ndarray").T
    real = (atomic_numbers[i] > 0) & (atomic_numbers[j] > 0)
    i, j = i[real], j[real]
    distances = np.linalg.norm(positions[i] - positions[j], axis=1)
    radii = np.array(_RADII, float)[atomic_numbers] * angstrom
    polarity = np.array([_polarity(int(a), int(b)) for a, b in zip(atomic_numbers[i], atomic_numbers[j], strict=True)])
    moved = polarity * np.exp(-_ALPHA * (distances - radii[i] - radii[j]))
    ends, added = np.concatenate([i, j]), np.concatenate([moved, -moved])
    return np.bincount(ends, added, len(positions)).astype(np.float64)


def _polarity(one: int, other: int) -> float:
    """T of two elements; of opposite sign when they change places."""
    if one > other:
        return -_polarity(other, one)
    return _PAIRS.get((one, other), _ATOMS.get(one, 0.0) - _ATOMS.get(other, 0.0))
