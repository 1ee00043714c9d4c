r"""Electrons of the atoms by parts of space: A. D. Becke's fuzzy cells and F. L. Hirshfeld's shares.

.. math::  N_A = \int w_A(r)\, \rho(r)\, dr, \qquad \sum_A w_A = 1

Becke's w (J. Chem. Phys. 1988, 88, 2547) are those that his quadrature has for itself, with borders shifted by the
radii of the atoms. Hirshfeld's (Theor. Chim. Acta 1977, 44, 129) are the shares of free atoms in the promolecule, whose
densities are spherical: :math:`w_A = \rho_A / \sum_B \rho_B`. Of the latter only the difference is integrated,

.. math::  N_A = N_A^\mathrm{free} + \int w_A \Big( \rho - \sum_B \rho_B \Big) dr

for it has no peaks at the nuclei, so that much fewer points do. With core potentials :math:`\rho` and the sum are
without the cores, which would cancel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...model.free_atoms import FreeAtom, free_atom
from ...watch import checkpoint

if TYPE_CHECKING:
    from ...model.wavefunction import Wavefunction

Reals = NDArray[np.float64]

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
    from ...integrals.hermite_map import to_hermite
    from ...integrals.pairs import pairs_of
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
