r"""Excited states: what moves where, from the amplitudes of the file.

With amplitudes :math:`X_{ia}` of excitations and :math:`Y_{ia}` of de-excitations between occupied orbitals i and
unoccupied ones a, whose squares differ by 1 (:math:`\sum X^2 - Y^2 = 1`):

.. math::

    \rho_T(r) &= \sqrt 2 \sum_{ia} (X + Y)_{ia}\, \psi_i(r)\, \psi_a(r) \\
    \rho_{detachment}(r) &= \sum_{ij} (X X^T + Y Y^T)_{ij}\, \psi_i(r)\, \psi_j(r), \quad
    \rho_{attachment}(r) = \sum_{ab} (X^T X + Y^T Y)_{ab}\, \psi_a(r)\, \psi_b(r) \\
    \rho_{hole}(r) &= \sum_{ij} (X X^T - Y Y^T)_{ij}\, \psi_i(r)\, \psi_j(r), \quad
    \rho_{electron}(r) = \sum_{ab} (X^T X - Y^T Y)_{ab}\, \psi_a(r)\, \psi_b(r)

The factor of the transition density :math:`\rho_T` is that of a singlet whose spins share orbitals; for spin orbitals
there is none. Attachment less detachment density is the change of the density, unrelaxed (M. Head-Gordon et al., J.
Phys. Chem. 1995, 99, 14261; with de-excitations F. Furche and R. Ahlrichs, J. Chem. Phys. 2002, 117, 7433, whose
unrelaxed part it is). Hole and electron integrate to 1 (Z. Liu, T. Lu and Q. Chen, Carbon 2020, 165, 461); without
de-excitations they are detachment and attachment. The natural transition orbitals are those of R. L. Martin (J. Chem.
Phys. 2003, 118, 4775): the singular vectors of X, hole and electron of each pair with the share of the excitation that
it carries.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.errors import FieldError
from ..base.watch import patiently
from ..gaussians.expansion import GaussianExpansion, integrals
from ..gaussians.products import density_products, transition_products
from ..model.wavefunction import Excitation, Orbitals, Spin, Wavefunction
from . import References
from ._sums import SumField
from .density import Weighted, density_field
from .orbital import Orbital, of_spin

PRIORITY = 30
GROUP = "Excited states"
NAMES = (
    ("nto:N:hole", "The orbital that the electron leaves in the Nth excited state (nto:N:hole:2 for the second pair)"),
    ("nto:N:electron", "The orbital that it enters (natural transition orbital)"),
    ("change:N", "How the density changes on excitation to the Nth excited state: attachment minus detachment"),
    ("attachment:N", "Where electrons go on this excitation (attachment density)"),
    ("detachment:N", "Where they come from (detachment density)"),
    ("electron:N", "Where the excited electron is: the attachment without de-excitations, one electron in total"),
    ("hole:N", "Where the hole is: the detachment without de-excitations, one hole in total"),
    ("transition:N", "How the density oscillates on excitation to the Nth excited state (transition density)"),
)


_WEAK, _FAINT = 1.1, 0.01
"""Oscillator strengths agree that differ by no more than this factor and this number together."""

_NAME = re.compile(
    r"(?:(transition|attachment|detachment|electron|hole|change):(\d{1,18})|nto:(\d{1,18}):(hole|electron)(?::(\d{1,18}))?)"
)

_PARTS = {"attachment": (0, 1), "detachment": (1, 0), "electron": (0, 1), "hole": (1, 0), "change": (-1, 1)}
"""Signs that the occupied and the unoccupied side count with."""

_SMALLEST = 1e-6
"""Singular values of amplitudes below which a pair of orbitals does not count."""

_NO_STATES = "no excited states with amplitudes"


@dataclass(frozen=True, eq=False)
class Amplitudes:
    """Amplitudes of one spin as matrices.

    Attributes
    ----------
    spin : str
        Of the orbitals; alpha where both spins share them.
    occupied, unoccupied : ndarray of int
        The orbitals that take part, from 0, rising.
    excitations, deexcitations : ndarray, shape (n_occupied, n_unoccupied)
        X and Y.
    """

    spin: Spin
    occupied: NDArray[np.int64]
    unoccupied: NDArray[np.int64]
    excitations: Reals
    deexcitations: Reals


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """All names, with the reason, where a file has no excited states."""
    return {} if wavefunction.excitations else dict.fromkeys(dict(NAMES), f"the file holds {_NO_STATES}")


def resolve(wavefunction: Wavefunction, name: str, references: References) -> SumField | Orbital | None:
    """The field that a name stands for, or None.

    Raises
    ------
    FieldError
        When the file has no such excited state, or the state no such pair.
    """
    match = _NAME.fullmatch(name.strip().lower())
    if match is None:
        return None
    density, density_of, pair_of, part, pair = match.groups()
    number = int(density_of or pair_of)
    count = len(wavefunction.excitations)
    if not 1 <= number <= count:
        have = f"{count} excited state(s)" if count else _NO_STATES
        raise FieldError(f"field {name!r}: the file holds {have}")
    excitation = wavefunction.excitations[number - 1]
    if density == "transition":
        return _transition_density(wavefunction, excitation, number)
    if density:
        return _moved_density(wavefunction, excitation, number, density)
    return _natural_orbital(wavefunction, excitation, number, part, int(pair or 1))


def amplitudes_of(wavefunction: Wavefunction, excitation: Excitation) -> list[Amplitudes]:
    """Amplitudes of a state as matrices, those of each spin that takes part.

    What has a source with more electrons than its target is an excitation.
    """
    found: list[Amplitudes] = []
    spins: tuple[Spin, Spin] = ("alpha", "beta")
    for number, spin in enumerate(spins):
        chosen = excitation.spins == number
        if not chosen.any():
            continue
        source, target, values = excitation.source[chosen], excitation.target[chosen], excitation.amplitudes[chosen]
        occupations = wavefunction.orbitals(spin).occupations
        forward = occupations[source] > occupations[target]
        occupied, row = np.unique(np.where(forward, source, target), return_inverse=True)
        unoccupied, column = np.unique(np.where(forward, target, source), return_inverse=True)
        matrices = np.zeros((2, len(occupied), len(unoccupied)))
        np.add.at(matrices, (np.where(forward, 0, 1), row, column), values)
        found.append(Amplitudes(spin, occupied, unoccupied, matrices[0], matrices[1]))
    return found


def moved(wavefunction: Wavefunction, excitation: Excitation, part: str) -> Weighted:
    """Orbitals and weights that make one of the densities of a state.

    Parameters
    ----------
    wavefunction, excitation
    part
        attachment, detachment, electron, hole, or change, which is attachment less detachment.

    Returns
    -------
    coefficients : ndarray, shape (n_basis, n)
    weights : ndarray, shape (n,)
        Of the squares of these orbitals, in e.
    """
    of_occupied, of_unoccupied = _PARTS[part]
    coefficients, weights = [np.zeros((wavefunction.n_basis, 0))], [np.zeros(0)]
    for block in amplitudes_of(wavefunction, excitation):
        orbitals = wavefunction.orbitals(block.spin).coefficients
        for matrix, sign in ((block.excitations, 1), (block.deexcitations, -1 if part in ("electron", "hole") else 1)):
            holes, values, electrons = _singular(matrix)
            for side, turned, count in (
                (block.occupied, holes, of_occupied),
                (block.unoccupied, electrons.T, of_unoccupied),
            ):
                if count:
                    coefficients.append(orbitals[:, side] @ turned)
                    weights.append(sign * count * values**2)
    return np.hstack(coefficients), np.concatenate(weights)


def _singular(matrix: Reals) -> tuple[Reals, Reals, Reals]:
    """Singular vectors and values, those left out that are too small to count."""
    if not matrix.any():
        return np.zeros((len(matrix), 0)), np.zeros(0), np.zeros((0, matrix.shape[1]))
    left, values, right = patiently(lambda: np.linalg.svd(matrix, full_matrices=False))
    counts = values > _SMALLEST
    return left[:, counts], values[counts], right[counts]


def transition_density(wavefunction: Wavefunction, excitation: Excitation) -> GaussianExpansion:
    """The transition density of a state as a sum of Gaussians, in e bohr^-3."""
    left, right = [], []
    for block in amplitudes_of(wavefunction, excitation):
        coefficients = wavefunction.orbitals(block.spin).coefficients
        holes, values, electrons = _singular(block.excitations + block.deexcitations)
        left.append(coefficients[:, block.occupied] @ (holes * values))
        right.append(coefficients[:, block.unoccupied] @ electrons.T)
    factor = np.sqrt(2) if wavefunction.beta is None else 1.0
    return transition_products(wavefunction, factor * np.hstack(left), np.hstack(right))


def strength_of(excitation: Excitation, density: GaussianExpansion) -> float:
    """Oscillator strength, in the length form, that a transition density stands for."""
    dipole = integrals(density)[1]
    return 2 / 3 * excitation.energy * float(dipole @ dipole)


def is_forbidden(excitation: Excitation) -> bool:
    """Whether its spin alone keeps it from absorbing light, so that its transition density has no dipole to compare."""
    return excitation.label.lower().startswith("triplet")


def _transition_density(wavefunction: Wavefunction, excitation: Excitation, number: int) -> SumField:
    expansion = transition_density(wavefunction, excitation)
    quantity = _named("transition density", excitation, number) + _remark(excitation, expansion)
    return density_field(wavefunction, expansion, quantity, 0.002)


def _named(what: str, excitation: Excitation, number: int) -> str:
    return f"{what} of state {number} ({excitation.label})".replace(" ()", "")


def _remark(excitation: Excitation, density: GaussianExpansion) -> str:
    """What does not fit: amplitudes may be printed in part, or belong to orbitals of other signs than the printed."""
    found, printed = strength_of(excitation, density), excitation.strength
    if (
        is_forbidden(excitation)
        or not np.isfinite(printed)
        or max(found, printed) < _WEAK * min(found, printed) + _FAINT
    ):
        return ""
    return f"; oscillator strength {found:.3f} from its amplitudes, {printed:.3f} in the file"


_DENSITIES = Derived[GaussianExpansion]("sums of Gaussians")


def moved_density(wavefunction: Wavefunction, number: int, part: str) -> GaussianExpansion:
    """One of the densities of a state, as `moved` has them, as a sum of Gaussians in e bohr^-3; kept for a while.

    States are counted from 1.
    """

    def make() -> GaussianExpansion:
        return density_products(wavefunction, *moved(wavefunction, wavefunction.excitations[number - 1], part))

    return _DENSITIES.of(wavefunction, (number, part), make)


def _moved_density(wavefunction: Wavefunction, excitation: Excitation, number: int, part: str) -> SumField:
    expansion = moved_density(wavefunction, number, part)
    what = "change of the density" if part == "change" else f"{part} density"
    return density_field(wavefunction, expansion, _named(what, excitation, number), 0.002, part == "change")


def natural_transition_orbitals(
    wavefunction: Wavefunction, excitation: Excitation
) -> list[tuple[float, Spin, Reals, Reals]]:
    """Share, spin, and coefficients of hole and electron of each pair; the largest share first.

    De-excitations are left out: they have no hole among the occupied orbitals. Shares are of the rest.
    """
    found: list[tuple[float, Spin, Reals, Reals]] = []
    for block in amplitudes_of(wavefunction, excitation):
        orbitals = wavefunction.orbitals(block.spin).coefficients
        left, values, right = _singular(block.excitations)
        holes, electrons = orbitals[:, block.occupied] @ left, orbitals[:, block.unoccupied] @ right.T
        found += [(float(value**2), block.spin, holes[:, n], electrons[:, n]) for n, value in enumerate(values)]
    total = sum(share for share, *_ in found)
    shares = [(share / total, spin, hole, electron) for share, spin, hole, electron in found]
    return sorted(shares, key=lambda pair: -pair[0])


def _natural_orbital(wavefunction: Wavefunction, excitation: Excitation, number: int, part: str, pair: int) -> Orbital:
    pairs = natural_transition_orbitals(wavefunction, excitation)
    if not 1 <= pair <= len(pairs):
        raise FieldError(f"field 'nto:{number}:{part}:{pair}': state {number} has {len(pairs)} pair(s)")
    share, spin, hole, electron = pairs[pair - 1]
    quantity = f"{part} of state {number}, pair {pair}{of_spin(wavefunction, spin)} ({100 * share:.0f} %)"
    alone = Orbitals((hole if part == "hole" else electron)[:, None], np.ones(1))
    return Orbital(replace(wavefunction, alpha=alone, beta=None, natural=True, excitations=()), "alpha", 0, quantity)
