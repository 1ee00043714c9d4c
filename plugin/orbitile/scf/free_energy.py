r"""The free energy of electrons at a temperature as a function of matrices whose eigenvectors they occupy.

Density matrices D are those that some matrices :math:`\eta` have in place of Fock matrices (C. Freysoldt, S. Boeck, J.
Neugebauer, Phys. Rev. B 2009, 79, 241103). When :math:`\eta` changes by d, the free energy changes, in the basis of the
eigenvectors of :math:`\eta`, with the number of electrons kept by the mean :math:`\bar d`, by

.. math::  dG = -\langle F - \eta, d\rangle, \qquad \langle a, d \rangle = -\sum_{ij}
    \frac{f_i - f_j}{\epsilon_i - \epsilon_j}\, a_{ij} (d_{ij} - \bar d\, \delta_{ij}),

so that it falls along :math:`F - \eta`. It is minimised by conjugate gradients (E. Polak, G. Ribiere, 1969) with this
product of matrices.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..base.arrays import Reals
from .occupation import Occupation

_FIRST, _LONGEST = 0.2, 1.0
"""Length of the first step, and of the longest one, in terms of F - eta."""

_TIMES = 6
"""How often a step is shortened."""


class FreeDescent:
    """Matrices that go down in free energy, over orthonormal functions.

    Parameters
    ----------
    matrices : ndarray, shape (n_matrices, n, n)
        To begin with.
    occupation
        With a temperature.
    fock
        Takes orbitals and their energies, of each set, to free energy and Fock matrices.
    noise
        What energies may be off by, in hartree.
    """

    def __init__(
        self,
        matrices: Reals,
        occupation: Occupation,
        fock: Callable[[list[Reals], list[Reals]], tuple[float, Reals]],
        noise: float,
    ) -> None:
        self._eta, self._occupation, self._fock, self._noise = matrices, occupation, fock, noise
        self._length = _FIRST
        self._before: tuple[Reals, Reals, float] | None = None
        self.look()

    def look(self) -> None:
        """Compute free energy and Fock matrices of the electrons where they are."""
        self.energies, self.orbitals = map(list, zip(*map(np.linalg.eigh, self._eta), strict=True))
        self.energy, self.matrices = self._fock(self.orbitals, self.energies)

    def step(self) -> None:
        """Go down a step."""
        steepest, product = self.matrices - self._eta, self._product()
        square = product(steepest, steepest)
        direction = steepest
        if self._before is not None:
            last, way, last_square = self._before
            direction = steepest + max(0.0, product(steepest, steepest - last) / last_square) * way
        slope = -product(steepest, direction)
        if slope >= 0:
            direction, slope = steepest, -square
        origin, energy, length = self._eta, self.energy, self._length
        for _ in range(_TIMES):
            self._eta = origin + length * direction
            self.look()
            ahead = -self._product()(self.matrices - self._eta, direction)
            # where a straight line through both slopes is 0
            best = length * float(np.clip(slope / min(slope - ahead, -1e-300), 0.1, 3.0))
            if self.energy - energy <= self._noise:
                break
            length = min(best, length / 2)
        self._length = min(best, _LONGEST)
        self._before = steepest, direction, square

    def _product(self) -> Callable[[Reals, Reals], float]:
        weights = [
            self._occupation.softness(e, n) for e, n in zip(self.energies, self._occupation.occupied, strict=True)
        ]

        def product(one: Reals, other: Reals) -> float:
            result = 0.0
            for a, b, c, weight in zip(one, other, self.orbitals, weights, strict=True):
                a, b, diagonal = c.T @ a @ c, c.T @ b @ c, np.diag(weight)
                mean = diagonal @ np.diag(b) / max(diagonal.sum(), 1e-300)
                result += float(np.vdot(weight * a, b) - mean * (diagonal @ np.diag(a)))
            return result

        return product
