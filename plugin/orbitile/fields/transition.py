r"""Excited states: transition densities and natural transition orbitals, where the file has amplitudes.

.. math::  \rho_T(r) = \sqrt 2 \sum_{ia} c_{ia}\, \psi_i(r)\, \psi_a(r)

for a singlet whose spins share orbitals; for spin orbitals without the factor. The orbitals are those of R. L. Martin
(J. Chem. Phys. 2003, 118, 4775): the singular vectors of the amplitudes, hole and electron of each pair with the share
of the excitation that it carries.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import FieldError
from ..gaussians.expansion import integrals
from ..gaussians.products import transition_products
from ..model.wavefunction import Excitation, Orbitals, Spin, Wavefunction
from ._field import References
from ._sums import SMALL, SumField
from .orbital import Orbital

PRIORITY = 30
GROUP = "Excited states"
NAMES = (
    ("nto:N:hole", "The orbital that the electron leaves in the Nth excited state (nto:N:hole:2 for the second pair)"),
    ("nto:N:electron", "The orbital that it enters (natural transition orbital)"),
    ("transition:N", "How the density oscillates on excitation to the Nth excited state (transition density)"),
)

_WEAK, _FAINT = 1.1, 0.01
"""Oscillator strengths agree that differ by no more than this factor and this number together."""

_NAME = re.compile(r"(?:transition:(\d+)|nto:(\d+):(hole|electron)(?::(\d+))?)")


_NO_STATES = "no excited states with amplitudes"


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
    density, pair_of, part, pair = match.groups()
    number = int(density or pair_of)
    count = len(wavefunction.excitations)
    if not 1 <= number <= count:
        have = f"{count} excited state(s)" if count else _NO_STATES
        raise FieldError(f"field {name!r}: the file holds {have}")
    excitation = wavefunction.excitations[number - 1]
    if density:
        return _transition_density(wavefunction, excitation, number)
    return _natural_orbital(wavefunction, excitation, number, part, int(pair or 1))


def _transition_density(wavefunction: Wavefunction, excitation: Excitation, number: int) -> SumField:
    left, right = [], []
    for spin, source, target in zip(excitation.spins, excitation.source, excitation.target, strict=True):
        coefficients = wavefunction.orbitals("beta" if spin else "alpha").coefficients
        left.append(coefficients[:, source])
        right.append(coefficients[:, target])
    weights = excitation.amplitudes * (np.sqrt(2) if wavefunction.beta is None else 1.0)
    expansion = transition_products(wavefunction, np.stack(left, axis=1) * weights, np.stack(right, axis=1))
    quantity = f"transition density of state {number} ({excitation.label})".replace(" ()", "")
    quantity += _remark(excitation, integrals(expansion)[1])
    return SumField((expansion,), quantity, "e bohr^-3", 0.002, expansion, wavefunction.positions, fewest_points=SMALL)


def _remark(excitation: Excitation, dipole: NDArray[np.float64]) -> str:
    """What does not fit: amplitudes may be printed in part, or belong to orbitals of other signs than the printed."""
    found, printed = 2 / 3 * excitation.energy * float(dipole @ dipole), excitation.strength
    forbidden = excitation.label.lower().startswith("triplet")
    if forbidden or not np.isfinite(printed) or max(found, printed) < _WEAK * min(found, printed) + _FAINT:
        return ""
    return f"; oscillator strength {found:.3f} from its amplitudes, {printed:.3f} in the file"


def natural_transition_orbitals(
    wavefunction: Wavefunction, excitation: Excitation
) -> list[tuple[float, Spin, NDArray[np.float64], NDArray[np.float64]]]:
    """Share, spin, and coefficients of hole and electron of each pair; the largest share first.

    De-excitations are left out: they have no hole among the occupied orbitals. Shares are of the rest.
    """
    found: list[tuple[float, Spin, NDArray[np.float64], NDArray[np.float64]]] = []
    for number, spin in enumerate(("alpha", "beta")):
        orbitals = wavefunction.orbitals("beta" if number else "alpha")
        matrix = np.zeros((len(orbitals), len(orbitals)))
        forward = (excitation.spins == number) & (
            orbitals.occupations[excitation.source % len(orbitals)]
            > orbitals.occupations[excitation.target % len(orbitals)]
        )
        if not forward.any():
            continue
        np.add.at(matrix, (excitation.source[forward], excitation.target[forward]), excitation.amplitudes[forward])
        holes, values, electrons = np.linalg.svd(matrix)
        for n in np.flatnonzero(values > 1e-6):
            hole, electron = orbitals.coefficients @ holes[:, n], orbitals.coefficients @ electrons[n]
            found.append((float(values[n] ** 2), "beta" if spin == "beta" else "alpha", hole, electron))
    total = sum(share for share, *_ in found)
    shares = [(share / total, spin, hole, electron) for share, spin, hole, electron in found]
    return sorted(shares, key=lambda pair: -pair[0])


def _natural_orbital(wavefunction: Wavefunction, excitation: Excitation, number: int, part: str, pair: int) -> Orbital:
    pairs = natural_transition_orbitals(wavefunction, excitation)
    if not 1 <= pair <= len(pairs):
        raise FieldError(f"field 'nto:{number}:{part}:{pair}': state {number} has {len(pairs)} pair(s)")
    share, spin, hole, electron = pairs[pair - 1]
    of_spin = "" if wavefunction.beta is None else f" {spin}"
    quantity = f"{part} of state {number}, pair {pair}{of_spin} ({100 * share:.0f} %)"
    alone = Orbitals((hole if part == "hole" else electron)[:, None], np.ones(1))
    return Orbital(replace(wavefunction, alpha=alone, beta=None, natural=True, excitations=()), "alpha", 0, quantity)
