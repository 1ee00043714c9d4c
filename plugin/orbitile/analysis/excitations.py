r"""Excited states in numbers: what they consist of, how far charge moves, between which atoms.

- **Pairs** of natural transition orbitals with shares :math:`\lambda_k` that add up to 1. Their participation ratio
  :math:`1 / \sum_k \lambda_k^2` (F. Plasser, M. Wormit and A. Dreuw, J. Chem. Phys. 2014, 141, 024106) is the number of
  pairs that are needed.
- **Distance** D between the centres of hole and electron, and their **overlap** :math:`S = \int \sqrt{\rho_{hole}
  \rho_{electron}}`, 1 where they are in the same place, 0 where an electron is transferred (Z. Liu, T. Lu and Q. Chen,
  Carbon 2020, 165, 461: D and :math:`S_r` there; D after T. Le Bahers, C. Adamo and I. Ciofini, J. Chem. Theory Comput.
  2011, 7, 2498).
- **Charge transfer numbers** :math:`\Omega_{AB}`: the share of the excitation that takes an electron from A to B. With
  the transition density matrix T over functions made orthogonal by Loewdin, its rows those of the hole,

  .. math::  \Omega_{AB} = \sum_{\mu \in A} \sum_{\nu \in B} T_{\mu\nu}^2, \qquad T = S^{1/2} C X C^T S^{1/2}

  (F. Plasser, J. Chem. Phys. 2020, 152, 084108), or over the basis functions as they are, with :math:`D = C X C^T`,

  .. math::  \Omega_{AB} = \frac{1}{2} \sum_{\mu \in A} \sum_{\nu \in B}
             \bigl[ (DS)_{\mu\nu} (SD)_{\mu\nu} + D_{\mu\nu} (SDS)_{\mu\nu} \bigr]

  (F. Plasser and H. Lischka, J. Chem. Theory Comput. 2012, 8, 2777). De-excitations are left out, and
  what is left adds up to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.memory import share
from ..base.watch import checkpoint, pieces, stage
from ..evaluation.devices import device_session
from ..fields._frontier import frontier_name, frontier_order
from ..fields.transition import amplitudes_of, moved, natural_transition_orbitals
from ..gaussians.overlap import own_overlap
from ..integrals.grids import grid_of
from ..integrals.pairs import pairs_of, to_hermite
from ..integrals.quadrature import Quadrature, quadrature_of
from ..model.units import wavenumber
from ..model.wavefunction import Excitation, Spin, Wavefunction
from .charges import overlap_root
from .composition import functions_by

SCHEMES = ("loewdin", "mulliken")

_ROWS = share("small matrix", 8)
"""Entries of a transition density matrix that are held at once."""

_LEVEL = 2
"""Level of the quadrature: what hole and electron integrate to is off by some 1e-5, their centres by 1e-4 bohr."""

_AREA = 4.319e-9
"""Oscillator strength of a band with an area of 1 L mol^-1 cm^-2."""


@dataclass(frozen=True)
class Contribution:
    """An excitation between two orbitals, as a part of a state.

    Attributes
    ----------
    source, target : str
        As counted from HOMO and LUMO, with the spin where spins have orbitals of their own: HOMO-1, LUMO beta.
    share : float
        The square of its amplitude; negative for a de-excitation. All of a state add up to 1.
    """

    source: str
    target: str
    share: float


@dataclass(frozen=True, eq=False)
class Densities:
    """What hole and electron of a state look like as a whole, from a quadrature.

    Attributes
    ----------
    hole, electron : float
        What they integrate to: 1 but for the error of the quadrature.
    hole_centre, electron_centre : ndarray, shape (3,)
        In bohr.
    overlap : float
        S, 0 to 1.
    """

    hole: float
    electron: float
    hole_centre: Reals
    electron_centre: Reals
    overlap: float

    @property
    def distance(self) -> float:
        """D, between the two centres, in bohr."""
        return float(np.linalg.norm(self.electron_centre - self.hole_centre))


def contributions(wavefunction: Wavefunction, excitation: Excitation) -> list[Contribution]:
    """The excitations between two orbitals that make a state, the largest share first."""
    found: dict[tuple[str, str], float] = {}
    for block in amplitudes_of(wavefunction, excitation):
        names = _frontier_names(wavefunction, block.spin)
        for matrix, back in ((block.excitations, False), (block.deexcitations, True)):
            for i, a in np.argwhere(matrix != 0):
                pair = names[block.occupied[i]], names[block.unoccupied[a]]
                found[pair[::-1] if back else pair] = float(matrix[i, a] ** 2) * (-1 if back else 1)
    return [Contribution(*pair, found[pair]) for pair in sorted(found, key=lambda pair: -abs(found[pair]))]


def _frontier_names(wavefunction: Wavefunction, spin: Spin) -> dict[int, str]:
    occupied, unoccupied = frontier_order(wavefunction, spin)
    of_spin = "" if wavefunction.beta is None else f" {spin}"
    order = enumerate(occupied + unoccupied, 1 - len(occupied))
    return {index: frontier_name(place) + of_spin for place, index in order}


def deexcitations(wavefunction: Wavefunction, excitation: Excitation) -> float:
    """The sum of the squares of the de-excitations of a state, of which those of its excitations have 1 more."""
    return sum(float(np.sum(block.deexcitations**2)) for block in amplitudes_of(wavefunction, excitation))


def participation(shares: Sequence[float]) -> float:
    """Number of pairs of natural transition orbitals that a state needs, from their shares."""
    return 1.0 / float(np.sum(np.square(shares)))


def charge_transfer_numbers(
    wavefunction: Wavefunction,
    excitation: Excitation,
    group_of_atom: NDArray[np.integer],
    scheme: str = "loewdin",
) -> Reals:
    """Share of a state that takes an electron from one group of atoms to another.

    Parameters
    ----------
    wavefunction, excitation
    group_of_atom : ndarray of int, shape (n_atoms,)
        The group of each atom, from 0.
    scheme
        loewdin or mulliken.

    Returns
    -------
    ndarray, shape (n_groups, n_groups)
        Rows where the hole is, columns where the electron is; they add up to 1. Memory beyond it: pieces of a
        transition density matrix; Loewdin's scheme makes the root of the overlap, n_basis^2 numbers.

    Raises
    ------
    OrbitileError
        For another scheme, or a state without excitations.
    """
    from scipy.sparse import csr_matrix

    if scheme not in SCHEMES:
        raise OrbitileError(f"charge transfer numbers: expected {' or '.join(SCHEMES)}, got {scheme!r}")
    pairs = natural_transition_orbitals(wavefunction, excitation)
    if not pairs:
        raise OrbitileError("charge transfer numbers: this state has de-excitations only")
    n_groups, group = int(group_of_atom.max()) + 1, group_of_atom[functions_by(wavefunction)[0]]
    n = wavefunction.n_basis
    members = csr_matrix((np.ones(n), (group, np.arange(n))), shape=(n_groups, n))
    omega = np.zeros((n_groups, n_groups))
    for spin in sorted({spin for _, spin, *_ in pairs}):
        those = [pair for pair in pairs if pair[1] == spin]
        holes = np.stack([np.sqrt(share) * hole for share, _, hole, _ in those], axis=1)
        electrons = np.stack([electron for *_, electron in those], axis=1)
        if scheme == "loewdin":
            root = overlap_root(wavefunction)
            products = [(1.0, (root @ holes, root @ electrons), (root @ holes, root @ electrons))]
        else:
            overlap = own_overlap(wavefunction)
            h, e = np.asarray(overlap @ holes), np.asarray(overlap @ electrons)
            products = [(0.5, (holes, e), (h, electrons)), (0.5, (holes, electrons), (h, e))]
        for rows in pieces(n, _ROWS // n):
            for factor, one, other in products:
                entries = (one[0][rows] @ one[1].T) * (other[0][rows] @ other[1].T)
                omega += factor * (members[:, rows] @ (members @ entries.T).T)
    return omega


def densities_of(wavefunction: Wavefunction, states: Sequence[int], device: str | None = None) -> list[Densities]:
    """Hole and electron of some states, counted from 1, as they are in space.

    Parameters
    ----------
    wavefunction, states
    device
        As for `orbitile.evaluate`.
    """
    with device_session(device, "single") as target:
        pairs = pairs_of(wavefunction)
        quadrature = quadrature_of(
            pairs, grid_of(wavefunction.atomic_numbers, wavefunction.positions, target, _LEVEL), target
        )
        found = []
        for n, state in enumerate(states):
            with stage(n / len(states), (n + 1) / len(states)):
                found.append(_densities(wavefunction, wavefunction.excitations[state - 1], quadrature))
    return found


def _densities(wavefunction: Wavefunction, excitation: Excitation, quadrature: Quadrature) -> Densities:
    terms = []
    for part in ("hole", "electron"):
        checkpoint()
        coefficients, weights = moved(wavefunction, excitation, part)
        matrix = (coefficients * weights) @ coefficients.T
        terms.append(to_hermite(quadrature.pairs, matrix, quadrature.target))
    columns = quadrature.sums.to_numpy(quadrature.densities(terms, gradient=False))
    values = np.asarray(columns[:, 0], np.float64)
    electrons = values * quadrature.weights
    totals = electrons.sum(axis=1)
    centres = electrons @ quadrature.points / totals[:, None]
    together = np.sqrt(np.maximum(values[0], 0) * np.maximum(values[1], 0))  # de-excitations may leave less than none
    return Densities(float(totals[0]), float(totals[1]), centres[0], centres[1], float(together @ quadrature.weights))


def absorption(energies: Reals, strengths: Reals, at: Reals, width: float) -> Reals:
    r"""Molar absorption coefficient of bands of Gaussian shape.

    A band of oscillator strength f has the area :math:`f = 4.319 \cdot 10^{-9} \int \epsilon\, d\tilde\nu` (R. S.
    Mulliken, J. Chem. Phys. 1939, 7, 14), in L mol^-1 cm^-1 and cm^-1.

    Parameters
    ----------
    energies, strengths : ndarray, shape (n,)
        Of the bands, energies in hartree.
    at : ndarray, shape (m,)
        Energies at which it is wanted, in hartree.
    width
        Of a band at half its height, in hartree.

    Returns
    -------
    ndarray, shape (m,)
        In L mol^-1 cm^-1.
    """
    spread = width / (2 * np.sqrt(2 * np.log(2)))
    heights = strengths / (_AREA * spread / wavenumber * np.sqrt(2 * np.pi))
    return np.exp(-(((at[:, None] - energies) / spread) ** 2) / 2) @ heights
