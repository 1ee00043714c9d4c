r"""The energy as a function of rotations of orbitals, and how it is minimised.

The energy is a function of rotations :math:`C \to C e^{X - X^T}` that mix orbitals of different occupations, with the
derivatives, where :math:`X = 0` and orbital q holds an electron of density matrix s that p does not hold,

.. math::  \frac{\partial E}{\partial X_{pq}} = 2 n \sum_s F^s_{pq},

n being the electrons of an orbital in a density matrix. It is minimised by L-BFGS with :math:`2 n \sum_s (F^s_{pp} -
F^s_{qq})` for the Hessian to begin with, as in T. Van Voorhis and M. Head-Gordon, Mol. Phys. 2002, 100, 1713. What is
known of the Hessian moves with the orbitals. A step never goes up, so that small gaps and orbitals that change places
do no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, expm

from ..base.arrays import Reals
from .occupation import Occupation

_LONGEST = 0.4
"""Largest angle of a step, in radians."""

_PUSH = 0.3
"""Norm of a random rotation, most along the softest directions, before the first step: from symmetric orbitals the
steps would lead to symmetric ones, which are often a saddle point."""

_STIFFEST, _SOFTEST = 1e3, 0.2
"""Differences of orbital energies in hartree that count for the Hessian at most, and at least."""

_KEPT = 12
"""Steps of which changes of the gradient are remembered."""

_SHORTENED, _TIMES = 0.3, 6
"""Largest factor by which a step that goes up is shortened, and how often that is tried."""


class Rotations:
    """Rotations of n orbitals in each set; each is a vector of the angles X of all sets, one after the other.

    Parameters
    ----------
    occupation
        Which are occupied, the first ones of each set; without a temperature.
    n
        Orbitals of a set.
    """

    def __init__(self, occupation: Occupation, n: int) -> None:
        self._sets, self._n = occupation.sets, n
        self._factor = 2 * occupation.electrons
        rank = np.arange(n)
        self._moves = [(rank[:, None] >= count) & (rank < count) for count in occupation.occupied]
        """Of each density matrix: where electrons of it go from an orbital q to an empty one p."""
        self._free: list[NDArray[np.bool_]] = [
            np.any([self._moves[s] for s in members], axis=0) for members in self._sets
        ]
        self._edges = [sorted({0, n, *(occupation.occupied[s] for s in members)}) for members in self._sets]
        self._ends = np.cumsum([free.sum() for free in self._free])[:-1]

    def matrices(self, rotation: Reals) -> list[Reals]:
        """Angles X of each set, (n, n), where they are free."""
        found = []
        for free, angles in zip(self._free, np.split(rotation, self._ends), strict=True):
            found.append(np.zeros((self._n, self._n)))
            found[-1][free] = angles
        return found

    def vector(self, matrices: list[Reals]) -> Reals:
        """The same the other way round."""
        return np.concatenate([matrix[free] for matrix, free in zip(matrices, self._free, strict=True)])

    def rotated(self, orbitals: list[Reals], rotation: Reals) -> list[Reals]:
        """Orbitals after a rotation."""
        return [c @ expm(x - x.T) for c, x in zip(orbitals, self.matrices(rotation), strict=True)]

    def gradient(self, orbitals: list[Reals], fock: Reals) -> Reals:
        """Derivatives of the energy; Fock matrices of each density matrix over the functions of the orbitals."""
        return self._sum(orbitals, fock, lambda matrix: matrix)

    def stiffness(self, orbitals: list[Reals], fock: Reals) -> Reals:
        """Second derivatives of the energy as if the Fock matrices stayed as they are, within bounds."""
        found = self._sum(orbitals, fock, lambda matrix: np.subtract.outer(np.diag(matrix), np.diag(matrix)))
        return np.clip(found, self._factor * _SOFTEST, self._factor * _STIFFEST)

    def _sum(self, orbitals: list[Reals], fock: Reals, of: Callable[[Reals], Reals]) -> Reals:
        return self._factor * self.vector(
            [
                np.sum([self._moves[s] * of(c.T @ fock[s] @ c) for s in members], axis=0)
                for c, members in zip(orbitals, self._sets, strict=True)
            ]
        )

    def canonical(self, orbitals: list[Reals], fock: Reals) -> tuple[list[Reals], list[Reals]]:
        """By what orbitals of one occupation are turned among themselves to have energies, and these; of each set."""
        turns, energies = [], []
        for c, members, edges in zip(orbitals, self._sets, self._edges, strict=True):
            matrix = c.T @ np.mean(fock[list(members)], axis=0) @ c
            parts = [np.linalg.eigh(matrix[a:b, a:b]) for a, b in pairwise(edges)]
            energies.append(np.concatenate([values for values, _ in parts]))
            turns.append(block_diag(*(vectors for _, vectors in parts)))
        return turns, energies

    def turned(self, rotation: Reals, turns: list[Reals]) -> Reals:
        """A rotation in terms of orbitals that were turned."""
        return self.vector([u.T @ x @ u for x, u in zip(self.matrices(rotation), turns, strict=True)])


class Descent:
    """Orbitals that go down in energy, over orthonormal functions.

    Parameters
    ----------
    orbitals : list of ndarray, shape (n, n)
        Of each set; the occupied ones first.
    occupation
        How many are occupied.
    fock
        Takes orbitals and their energies to the energy and Fock matrices, shape (n_matrices, n, n).
    noise
        What energies may be off by, in hartree.
    """

    def __init__(
        self,
        orbitals: list[Reals],
        occupation: Occupation,
        fock: Callable[[list[Reals], list[Reals]], tuple[float, Reals]],
        noise: float,
    ) -> None:
        self.orbitals, self._fock, self._noise = orbitals, fock, noise
        self._rotations = Rotations(occupation, len(orbitals[0]))
        self.energies = [np.zeros(len(c)) for c in orbitals]
        self._steps: list[tuple[Reals, Reals]] = []
        self.look()
        push = np.random.default_rng(0).normal(size=len(self._gradient)) / self._stiffness
        self.orbitals = self._rotations.rotated(self.orbitals, _PUSH * push / np.linalg.norm(push))
        self.look()

    def look(self) -> None:
        """Compute energy and Fock matrices where the orbitals are."""
        self.energy, self.matrices = self._fock(self.orbitals, self.energies)
        self._make_canonical()

    def step(self) -> None:
        """Go down a step."""
        gradient = self._gradient
        direction = self._direction()
        slope = gradient @ direction
        if slope >= 0:
            self._steps.clear()
            direction = self._direction()
            slope = gradient @ direction
        length = min(1.0, _LONGEST / float(np.abs(direction).max(initial=1e-300)))
        before, energy = self.orbitals, self.energy
        for _ in range(_TIMES):
            self.orbitals = self._rotations.rotated(before, length * direction)
            self.energy, self.matrices = self._fock(self.orbitals, self.energies)
            rise = self.energy - energy
            if rise <= self._noise:
                break
            # where a parabola through both energies has its minimum
            length *= float(np.clip(-slope * length / (2 * (rise - slope * length)), 0.05, _SHORTENED))
        moved = length * direction
        change = self._rotations.gradient(self.orbitals, self.matrices) - gradient
        if moved @ change > 0:
            self._steps = [*self._steps[-_KEPT + 1 :], (moved, change)]
        self._make_canonical()

    def _make_canonical(self) -> None:
        """Turn orbitals of one occupation among themselves, and what is remembered with them."""
        rotations = self._rotations
        turns, self.energies = rotations.canonical(self.orbitals, self.matrices)
        self.orbitals = [c @ u for c, u in zip(self.orbitals, turns, strict=True)]
        self._steps = [
            (rotations.turned(moved, turns), rotations.turned(change, turns)) for moved, change in self._steps
        ]
        self._gradient = rotations.gradient(self.orbitals, self.matrices)
        self._stiffness = rotations.stiffness(self.orbitals, self.matrices)

    def _direction(self) -> Reals:
        """Minus the inverse of the Hessian times the gradient, by two loops (J. Nocedal, Math. Comp. 1980, 35, 773)."""
        left, factors = self._gradient, []
        for moved, change in reversed(self._steps):
            factors.append(moved @ left / (moved @ change))
            left = left - factors[-1] * change
        result = left / self._stiffness
        for (moved, change), factor in zip(self._steps, reversed(factors), strict=True):
            result = result + (factor - change @ result / (moved @ change)) * moved
        return -result
