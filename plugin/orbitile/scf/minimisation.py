r"""Orbitals of least energy by descent, for fields that do not become self-consistent by extrapolation.

The energy is a function of rotations :math:`C \to C \exp \begin{pmatrix} 0 & -\kappa^T \\ \kappa & 0 \end{pmatrix}` of
occupied into virtual orbitals, with the derivatives :math:`\partial E / \partial \kappa_{ai} = 2 n F_{ai}`, n being the
electrons of an orbital. It is minimised by L-BFGS with :math:`2 n (\varepsilon_a - \varepsilon_i)` for the Hessian to
begin with, as in T. Van Voorhis and M. Head-Gordon, Mol. Phys. 2002, 100, 1713. What is known of the Hessian moves with
the orbitals. A step never goes up, so that small gaps and orbitals that change places do no harm.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Rotation = list[Reals]
"""Of each spin, shape (n_virtual, n_occupied)."""

_LONGEST = 0.4
"""Largest angle of a step, in radians."""

_STIFFEST, _SOFTEST = 1e3, 0.2
"""Differences of orbital energies in hartree that count for the Hessian at most, and at least."""

_KEPT = 12
"""Steps of which changes of the gradient are remembered."""

_SHORTENED, _TIMES = 0.3, 6
"""What a step that goes up is shortened to at most, and how often."""


class Descent:
    """Orbitals that go down in energy, over orthonormal functions.

    Parameters
    ----------
    orbitals : list of ndarray, shape (n, n)
        Of each spin, or of both together; the occupied ones first.
    occupied
        How many are occupied.
    fock
        Takes orbitals to their energy and Fock matrices, shape (n_spins, n, n).
    noise
        What energies may be off by, in hartree.
    """

    def __init__(
        self,
        orbitals: list[Reals],
        occupied: tuple[int, ...],
        fock: Callable[[list[Reals]], tuple[float, Reals]],
        noise: float,
    ) -> None:
        self.orbitals, self._occupied, self._fock, self._noise = orbitals, occupied, fock, noise
        self._factor = 4 / len(occupied)
        self._steps: list[tuple[Rotation, Rotation]] = []
        self.look()

    def look(self) -> None:
        """Compute energy and Fock matrices where the orbitals are."""
        self.energy, self.matrices = self._fock(self.orbitals)
        self._make_canonical()

    def step(self) -> None:
        """Go down a step."""
        gradient = self._gradient
        direction = self._direction()
        slope = _dot(gradient, direction)
        if slope >= 0:
            self._steps.clear()
            direction = self._direction()
            slope = _dot(gradient, direction)
        length = min(1.0, _LONGEST / max(float(np.abs(block).max(initial=1e-300)) for block in direction))
        before, energy = self.orbitals, self.energy
        for _ in range(_TIMES):
            self.orbitals = [c @ _rotated(length * block) for c, block in zip(before, direction, strict=True)]
            self.energy, self.matrices = self._fock(self.orbitals)
            rise = self.energy - energy
            if rise <= self._noise:
                break
            # where a parabola through both energies has its minimum
            length *= float(np.clip(-slope * length / (2 * (rise - slope * length)), 0.05, _SHORTENED))
        moved = [length * block for block in direction]
        change = [new - old for new, old in zip(self._gradients(), gradient, strict=True)]
        if _dot(moved, change) > 0:
            self._steps = [*self._steps[-_KEPT + 1 :], (moved, change)]
        self._make_canonical()

    def _gradients(self) -> Rotation:
        return [
            self._factor * c[:, n:].T @ f @ c[:, :n]
            for c, f, n in zip(self.orbitals, self.matrices, self._occupied, strict=True)
        ]

    def _make_canonical(self) -> None:
        """Turn occupied orbitals, and virtual ones, among themselves, and what is remembered with them."""
        self.energies, turns = [], []
        for spin, n in enumerate(self._occupied):
            c = self.orbitals[spin]
            matrix = c.T @ self.matrices[spin] @ c
            low, inner = np.linalg.eigh(matrix[:n, :n])
            high, outer = np.linalg.eigh(matrix[n:, n:])
            self.orbitals[spin] = np.hstack([c[:, :n] @ inner, c[:, n:] @ outer])
            self.energies.append(np.concatenate([low, high]))
            turns.append((outer, inner))

        def turned(rotation: Rotation) -> Rotation:
            return [outer.T @ block @ inner for block, (outer, inner) in zip(rotation, turns, strict=True)]

        self._steps = [(turned(moved), turned(change)) for moved, change in self._steps]
        self._gradient = self._gradients()
        self._stiffness = [
            self._factor * np.clip(e[n:, None] - e[:n], _SOFTEST, _STIFFEST)
            for e, n in zip(self.energies, self._occupied, strict=True)
        ]

    def _direction(self) -> Rotation:
        """Minus the inverse of the Hessian times the gradient, by two loops (J. Nocedal, Math. Comp. 1980, 35, 773)."""
        left, factors = [block.copy() for block in self._gradient], []
        for moved, change in reversed(self._steps):
            factors.append(_dot(moved, left) / _dot(moved, change))
            left = [one - factors[-1] * other for one, other in zip(left, change, strict=True)]
        result = [block / stiffness for block, stiffness in zip(left, self._stiffness, strict=True)]
        for (moved, change), factor in zip(self._steps, reversed(factors), strict=True):
            more = factor - _dot(change, result) / _dot(moved, change)
            result = [one + more * other for one, other in zip(result, moved, strict=True)]
        return [-block for block in result]


def _dot(one: Rotation, other: Rotation) -> float:
    return float(sum(np.vdot(a, b) for a, b in zip(one, other, strict=True)))


def _rotated(angles: Reals) -> Reals:
    """Matrix of a rotation of occupied into virtual orbitals."""
    from scipy.linalg import expm

    n_virtual, n = angles.shape
    exponent = np.zeros((n + n_virtual, n + n_virtual))
    exponent[n:, :n], exponent[:n, n:] = angles, -angles.T
    result: Reals = expm(exponent)
    return result
