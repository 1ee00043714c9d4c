r"""Direct inversion in the iterative subspace: the combination of Fock matrices with the smallest error.

P. Pulay, Chem. Phys. Lett. 1980, 73, 393; J. Comput. Chem. 1982, 3, 556, with the commutator FD - DF as the error. With
the changes :math:`\Delta F_i, \Delta e_i` from other Fock matrices to the last one, the combination is
:math:`F - \sum_i c_i \Delta F_i`, with c the least squares of :math:`e - \sum_i c_i \Delta e_i`.

How Fock matrices change with density matrices depends little on where the atoms are, over functions that move smoothly
with them, those of P.-O. Loewdin (J. Chem. Phys. 1950, 18, 365). So what was learnt of it at one geometry is of use at
the next: changes :math:`\Delta F, \Delta D` of the frames before are taken for changes here, with the errors
:math:`\Delta e = \Delta F\, D + F\, \Delta D - \ldots` to first order.

All matrices are over orthonormal functions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.arrays import Reals
from ..base.memory import share

_KEPT = 8
"""Fock matrices of this geometry that are combined."""

_LEARNT = 40
"""Changes that are passed on to the next geometry: some ten frames."""

_BYTES = share("matrix")
"""Of them, at most."""

_NOISE = 1e-4
"""Relative size of what differs between changes, below which it is left alone: it would come from noise."""


@dataclass(frozen=True, eq=False)
class Response:
    """Changes of Fock matrices with those of density matrices, over Loewdin's functions; the latest last.

    Attributes
    ----------
    fock, densities : ndarray, shape (n, n_spins, n_basis, n_basis)
        32 MB at most.
    """

    fock: Reals
    densities: Reals


class Diis:
    """The combination for the Fock matrices of one geometry, one after the other.

    Parameters
    ----------
    symmetric : ndarray, shape (n_basis, n)
        The orthonormal functions in terms of Loewdin's.
    response
        What was learnt at the geometries before.
    """

    def __init__(self, symmetric: Reals, response: Response | None = None) -> None:
        self._symmetric, self._response = symmetric, response
        self._matrices: list[Reals] = []
        self._densities: list[Reals] = []
        learnt = np.zeros((2, 0, 1, len(symmetric), len(symmetric)))
        if response is not None:
            learnt = np.array([response.fock, response.densities])
        self._learnt = symmetric.T @ learnt @ symmetric

    def add(self, matrices: Reals, densities: Reals) -> None:
        """Take Fock matrices of density matrices, shape (n_spins, n, n)."""
        self._matrices.append(matrices)
        self._densities.append(densities)
        if len(self._matrices) > _KEPT:
            del self._matrices[0], self._densities[0]

    def best(self) -> Reals:
        """The combination of what was taken."""
        last, densities = self._matrices[-1], self._densities[-1]
        error = commutators(last, densities)
        changes = [last - other for other in self._matrices[:-1]]
        errors = [error - commutators(*pair) for pair in zip(self._matrices[:-1], self._densities[:-1], strict=True)]
        fock, density = self._learnt
        all_changes = np.array([*changes, *fock])
        if not len(all_changes):
            return last
        learnt = commutators(fock, densities) + commutators(last, density)
        factors = _least_squares(np.array([*errors, *learnt]).reshape(len(all_changes), -1), error.ravel())
        return last - np.tensordot(factors, all_changes, 1)

    def restart(self, matrices: Reals, densities: Reals) -> None:
        """Forget what was taken, and take others."""
        self._matrices, self._densities = [matrices], [densities]

    def shift(self, change: Reals) -> None:
        """Add to all Fock matrices what a better operator changes: nearly the same for all densities."""
        self._matrices = [matrices + change for matrices in self._matrices]

    def response(self) -> Response:
        """What was learnt here and before."""
        rotated = self._symmetric @ np.array([self._matrices, self._densities]) @ self._symmetric.T
        changes = np.diff(rotated, axis=1)
        if self._response is not None:
            changes = np.concatenate([[self._response.fock, self._response.densities], changes], axis=1)
        first = max(0, changes.shape[1] - min(_LEARNT, _BYTES // rotated[:, 0].nbytes))
        return Response(*changes[:, first:])


def commutators(matrices: Reals, densities: Reals) -> Reals:
    """F D - D F, the derivatives of the energy with respect to rotations of the orbitals but for a factor."""
    products = matrices @ densities
    return products - np.swapaxes(products, -1, -2)


def _least_squares(rows: Reals, wanted: Reals) -> Reals:
    """Factors of rows whose sum is close to what is wanted."""
    length = np.maximum(np.linalg.norm(rows, axis=1), np.finfo(float).tiny)
    rows = rows / length[:, None]
    return np.linalg.lstsq(rows @ rows.T, rows @ wanted, rcond=_NOISE**2)[0] / length
