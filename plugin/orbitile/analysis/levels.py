r"""Levels: the energies of orbitals, broadened to densities of states, as shares of groups and as overlap populations.

With lines :math:`L` of unit area about the energies :math:`\epsilon_i`,

.. math::  D(E) = \sum_i w_i L(E - \epsilon_i)

is the density of states with weights 1, a partial one with the shares of a group of basis functions (see
`orbitile.analysis.composition`), and the crystal orbital overlap population of R. Hoffmann (Solids and Surfaces, VCH
1988; T. Hughbanks and R. Hoffmann, J. Am. Chem. Soc. 1983, 105, 3528) with the overlap populations of R. S. Mulliken
(J. Chem. Phys. 1955, 23, 1833)

.. math::  w_i = 2 \sum_{\mu \in A} \sum_{\nu \in B} c_{\mu i} S_{\mu\nu} c_{\nu i}

between two groups of atoms, for one electron in the orbital: bonding where it is positive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.memory import share
from ..base.watch import pieces, stage
from ..fields._frontier import frontier_order
from ..gaussians.overlap import own_overlap
from ..model.geometry import find_bonds
from ..model.units import electronvolt
from ..model.wavefunction import Spin, Wavefunction
from .composition import AT_ONCE, functions_by, shares_of_groups

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Labels = NDArray[np.intp]
Line = Literal["gaussian", "lorentzian"]

_AT_ONCE = share("small matrix", 8)
"""Values of lines that are formed at once."""

_ROWS = 256
"""Rows of a density matrix that are formed at once."""

_PER_WIDTH = 20
"""Points of a curve within the full width of a line at half its height."""

_MOST = 20_000
"""Points of a curve at most."""

_MARGIN = 3.0
"""Widths by which a range goes beyond the levels that it was made for."""

_BELOW, _ABOVE = 20.0, 10.0
"""Default range: so many eV below the HOMO and above the LUMO, where there are levels."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Orbitals of one spin, or of both, by rising energy.

    Attributes
    ----------
    spin : str
    index : ndarray of int, shape (n,)
        Which orbitals they are, from 0, in the order of the file.
    energies : ndarray, shape (n,)
        In eV.
    occupations : ndarray, shape (n,)
    homo, lumo : float
        In eV; NaN where there is none.
    """

    spin: Spin
    index: NDArray[np.intp]
    energies: Reals
    occupations: Reals
    homo: float
    lumo: float

    def __len__(self) -> int:
        return len(self.index)


def without_levels(wavefunction: Wavefunction) -> str:
    """Why a wavefunction has no levels, in a sentence; empty where it has."""
    if wavefunction.natural:
        return (
            "natural orbitals have occupations, not energies; take the file of the Hartree-Fock or Kohn-Sham orbitals"
        )
    if not any(np.any(np.isfinite(one.energies) & (one.energies != 0)) for one in wavefunction.sets):
        return "the file gives no energies of orbitals"
    return ""


def levels_of(wavefunction: Wavefunction, spin: Spin = "alpha") -> Levels:
    """The levels of one spin; orbitals without an energy are left out.

    Raises
    ------
    OrbitileError
        When there are none.
    """
    if reason := without_levels(wavefunction):
        raise OrbitileError(f"levels: {reason}")
    orbitals = wavefunction.orbitals(spin)
    occupied, unoccupied = frontier_order(wavefunction, spin)
    order = np.argsort(orbitals.energies, kind="stable")
    order = order[np.isfinite(orbitals.energies[order])]
    energies = orbitals.energies / electronvolt
    return Levels(
        spin,
        order,
        energies[order],
        orbitals.occupations[order],
        float(energies[occupied[-1]]) if occupied else np.nan,
        float(energies[unoccupied[0]]) if unoccupied else np.nan,
    )


def default_range(levels: Sequence[Levels], width: float) -> tuple[float, float]:
    """Energies in eV of a diagram: the valence levels and the first unoccupied ones, with the tails of their lines."""
    homo, lumo = (np.array([getattr(one, which) for one in levels]) for which in ("homo", "lumo"))
    energies = np.concatenate([one.energies for one in levels])
    edges = np.concatenate([homo, lumo])
    edges = edges[np.isfinite(edges)]
    near = energies[(energies >= edges.min() - _BELOW) & (energies <= edges.max() + _ABOVE)]
    return float(near.min() - _MARGIN * width), float(near.max() + _MARGIN * width)


def energies_of_curve(low: float, high: float, width: float) -> Reals:
    """Energies in eV at which a curve of lines of a width has its points, evenly spaced.

    Raises
    ------
    OrbitileError
        When the range is none, or the width is not positive.
    """
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise OrbitileError(f"range of energies: expected the lowest first, got {low:g} to {high:g} eV")
    if not (np.isfinite(width) and width > 0):
        raise OrbitileError(f"width of the lines: expected a positive number in eV, got {width:g}")
    n = int(np.clip(np.ceil((high - low) / width * _PER_WIDTH) + 1, 201, _MOST))
    return np.linspace(low, high, n)


def line(distance: Reals, width: float, shape: Line = "gaussian") -> Reals:
    """A line of unit area at distances from its middle; width is the full one at half its height."""
    if shape == "gaussian":
        return np.asarray(np.sqrt(4 * np.log(2) / np.pi) / width * np.exp(-4 * np.log(2) * (distance / width) ** 2))
    return np.asarray(0.5 * width / np.pi / (distance**2 + (0.5 * width) ** 2))


def line_within(low: Reals, high: Reals, width: float, shape: Line = "gaussian") -> Reals:
    """Area of a line between two distances from its middle."""
    if shape == "gaussian":
        from scipy.special import erf

        scale = 2 * np.sqrt(np.log(2)) / width
        return np.asarray(0.5 * (erf(scale * high) - erf(scale * low)))
    return np.asarray((np.arctan(2 * high / width) - np.arctan(2 * low / width)) / np.pi)


def broadened(at: Reals, energies: Reals, weights: Reals, width: float, shape: Line = "gaussian") -> Reals:
    """Levels as curves: the sum of lines at their energies, times weights.

    Parameters
    ----------
    at : ndarray, shape (n_points,)
        Where the curves are wanted, in eV.
    energies : ndarray, shape (n_levels,)
        In eV.
    weights : ndarray, shape (n_curves, n_levels)
    width : float
        Full width at half maximum in eV.
    shape : str
        gaussian or lorentzian.

    Returns
    -------
    ndarray, shape (n_curves, n_points)
        In eV^-1. Some 8 MB are needed beside it.
    """
    curves = np.zeros((len(weights), len(at)))
    for some in pieces(len(energies), _AT_ONCE // len(at)):
        curves += weights[:, some] @ line(at - energies[some, None], width, shape)
    return curves


Pair = tuple[tuple[int, ...], tuple[int, ...]]
"""Atoms, from 0, of two groups."""


@dataclass(frozen=True, eq=False)
class DensityOfStates:
    """Levels of one spin, what each of them has of some groups and bonds, and curves of these.

    Attributes
    ----------
    levels : Levels
    shares : ndarray, shape (n_groups, n_levels)
    overlaps : ndarray, shape (n_pairs, n_levels)
        Overlap populations for one electron.
    at : ndarray, shape (n_points,)
        Energies of the curves, in eV.
    whole : ndarray, shape (n_points,)
        Orbitals an eV.
    parts : ndarray, shape (n_groups, n_points)
    bonding : ndarray, shape (n_pairs, n_points)
    expected : float
        Orbitals within the range of the curves, by integrating the lines analytically.
    """

    levels: Levels
    shares: Reals
    overlaps: Reals
    at: Reals
    whole: Reals
    parts: Reals
    bonding: Reals
    expected: float

    @property
    def integral(self) -> float:
        """Of the curve of the density of states, by the trapezoidal rule."""
        return float((np.diff(self.at) * (self.whole[1:] + self.whole[:-1])).sum() / 2)


def density_of_states(
    wavefunction: Wavefunction,
    spin: Spin,
    at: Reals,
    groups: tuple[Labels, int],
    pairs: Sequence[Sequence[Pair]] = (),
    *,
    width: float = 0.5,
    shape: Line = "gaussian",
    scheme: str = "mulliken",
) -> DensityOfStates:
    """Densities of states and overlap populations of one spin.

    Parameters
    ----------
    wavefunction, spin
    at : ndarray, shape (n_points,)
        Energies in eV, evenly spaced, as from `energies_of_curve`.
    groups
        The group of each basis function, and how many groups there are, as for `shares_of_groups`.
    pairs
        As for `overlap_populations`.
    width, shape
        As for `broadened`.
    scheme
        mulliken or loewdin, for the shares.

    Raises
    ------
    OrbitileError
        When there are no energies of orbitals.
    """
    levels = levels_of(wavefunction, spin)
    coefficients = wavefunction.orbitals(spin).coefficients[:, levels.index]
    with stage(0.0, 0.5):
        shares = shares_of_groups(wavefunction, coefficients, *groups, scheme)
    with stage(0.5, 0.8):
        overlaps = overlap_populations(wavefunction, coefficients, pairs)
    weights = np.concatenate([np.ones((1, len(levels))), shares, overlaps])
    with stage(0.8, 1.0):
        curves = broadened(at, levels.energies, weights, width, shape)
    within = line_within(at[0] - levels.energies, at[-1] - levels.energies, width, shape)
    n = 1 + len(shares)
    return DensityOfStates(levels, shares, overlaps, at, curves[0], curves[1:n], curves[n:], float(within.sum()))


def overlap_populations(wavefunction: Wavefunction, coefficients: Reals, pairs: Sequence[Sequence[Pair]]) -> Reals:
    """Overlap populations of orbitals, for one electron each.

    Parameters
    ----------
    wavefunction
        Its basis set is meant.
    coefficients : ndarray, shape (n_basis, n_orbitals)
    pairs
        One entry a result: pairs of groups of atoms whose overlap populations are added up, such as all bonds between
        carbon and hydrogen. No atom is in both groups of a pair.

    Returns
    -------
    ndarray, shape (len(pairs), n_orbitals)
        Positive where the orbital is bonding. Beside it a byte for each pair of atoms is needed, and the overlap.
    """
    between = _overlap_between(wavefunction, pairs)
    populations = np.empty((len(pairs), coefficients.shape[1]))
    for some in pieces(coefficients.shape[1], AT_ONCE // len(coefficients)):
        for n, matrix in enumerate(between):
            populations[n, some] = np.einsum("mi,mi->i", coefficients[:, some], matrix @ coefficients[:, some])
    return populations


def overlap_populations_of_density(wavefunction: Wavefunction, pairs: Sequence[Sequence[Pair]]) -> Reals:
    """Overlap populations of all electrons, from the density matrix of the orbitals, shape (len(pairs),)."""
    populations = np.zeros(len(pairs))
    between = _overlap_between(wavefunction, pairs)
    for orbitals in wavefunction.sets:
        occupied = orbitals.occupations != 0
        coefficients, occupations = orbitals.coefficients[:, occupied], orbitals.occupations[occupied]
        for rows in pieces(len(coefficients), _ROWS):
            density = (coefficients[rows] * occupations) @ coefficients.T
            populations += [matrix[rows].multiply(density).sum() for matrix in between]
    return populations


def _overlap_between(wavefunction: Wavefunction, pairs: Sequence[Sequence[Pair]]) -> list[csr_matrix]:
    """The overlap of basis functions with all but the pairs of atoms of each entry set to zero."""
    from scipy.sparse import coo_matrix

    atom_of, _ = functions_by(wavefunction)
    overlap = coo_matrix(own_overlap(wavefunction))
    between = []
    for several in pairs:
        joined = np.zeros((wavefunction.n_atoms, wavefunction.n_atoms), bool)
        for first, second in several:
            joined[np.ix_(first, second)] = joined[np.ix_(second, first)] = True
        chosen = joined[atom_of[overlap.row], atom_of[overlap.col]]
        entries = overlap.data[chosen], (overlap.row[chosen], overlap.col[chosen])
        between.append(coo_matrix(entries, shape=overlap.shape).tocsr())
    return between


def bonds_by_elements(wavefunction: Wavefunction) -> Mapping[tuple[int, int], list[Pair]]:
    """Pairs of bonded atoms, by their two atomic numbers, the most frequent first; no ghosts.

    The lighter element is first, but hydrogen last, as in C-C, C-O, O-H.
    """
    numbers = wavefunction.atomic_numbers
    found: dict[tuple[int, int], list[Pair]] = {}
    for bond in find_bonds(numbers, wavefunction.positions).tolist():
        a, b = sorted(bond, key=lambda n: (numbers[n] == 1, numbers[n], n))
        if numbers[a] and numbers[b]:
            found.setdefault((int(numbers[a]), int(numbers[b])), []).append(((a,), (b,)))
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))
