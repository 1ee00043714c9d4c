r"""The position as an operator on basis functions: dipole moments, centres and spreads of orbitals.

About its atom A a Cartesian function of angular momentum l becomes, times x, one of l + 1 with the same exponents, so
that :math:`x\,\phi = (x - A_x)\,\phi + A_x\,\phi` is a combination of functions of an enlarged basis, and its integrals
are overlaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..base.caches import Derived
from ..base.watch import checkpoint
from ..model.cell import molecules_only
from ..model.conventions import angular_normalization, cartesian_powers, pure_from_cartesian, radial_normalization
from ..model.wavefunction import Shell, Wavefunction
from .overlap import Matrix, shell_overlap

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Enlarged:
    """A basis, and what is needed to multiply its functions by x, y and z.

    Attributes
    ----------
    shells : tuple of Shell
        The shells of the molecule, and behind them those of l + 1.
    times : tuple of scipy.sparse.csr_matrix, shape (n_enlarged, n_basis)
        Take coefficients of a function to those of x, y and z times it, in bohr.
    """

    shells: tuple[Shell, ...]
    times: tuple[csr_matrix, csr_matrix, csr_matrix]


_ENLARGED = Derived[Enlarged]("packed functions")


def enlarged(wavefunction: Wavefunction) -> Enlarged:
    """The basis of a wavefunction, enlarged; kept with it."""
    return _ENLARGED.of(wavefunction, None, lambda: _made(wavefunction))


def position_integrals(wavefunction: Wavefunction, orbitals: Reals) -> Reals:
    """Elements of x, y and z between orbitals, in bohr.

    Parameters
    ----------
    wavefunction
        Whose basis functions the orbitals are made of.
    orbitals : ndarray, shape (n_basis, n)

    Returns
    -------
    ndarray, shape (3, n, n)

    Raises
    ------
    OrbitileError
        For a periodic system.
    """
    molecules_only(wavefunction, "positions of orbitals", "where an orbital that repeats is has no meaning")
    basis = enlarged(wavefunction)
    positions = wavefunction.positions
    image = shell_overlap(basis.shells, positions, wavefunction.shells, positions) @ orbitals
    elements = np.empty((3, orbitals.shape[1], orbitals.shape[1]))
    for element, times in zip(elements, basis.times, strict=True):
        checkpoint()
        product = (times @ orbitals).T @ image
        element[:] = 0.5 * (product + product.T)
    return elements


def centres_and_spreads(wavefunction: Wavefunction, orbitals: Reals) -> tuple[Reals, Reals]:
    r"""Centres of orbitals and their spreads, :math:`\sqrt{\langle r^2\rangle - \langle r\rangle^2}`.

    Parameters
    ----------
    wavefunction, orbitals
        As for `position_integrals`.

    Returns
    -------
    centres : ndarray, shape (n, 3)
        In bohr.
    spreads : ndarray, shape (n,)
        In bohr.
    """
    basis = enlarged(wavefunction)
    overlap: Matrix = shell_overlap(basis.shells, wavefunction.positions, basis.shells, wavefunction.positions)
    image = overlap[:, : wavefunction.n_basis] @ orbitals
    centres = np.empty((orbitals.shape[1], 3))
    squares = np.zeros(orbitals.shape[1])
    for axis, times in enumerate(basis.times):
        checkpoint()
        moved = times @ orbitals
        centres[:, axis] = np.einsum("mi,mi->i", moved, image)
        # about the centre at once: two large numbers would cancel far from the origin
        moved[: wavefunction.n_basis] -= orbitals * centres[:, axis]
        squares += np.einsum("mi,mi->i", moved, overlap @ moved)
    return centres, np.sqrt(np.maximum(squares, 0.0))


def _made(wavefunction: Wavefunction) -> Enlarged:
    from scipy.sparse import coo_matrix

    shells = wavefunction.shells
    raised = tuple(_raised(shell) for shell in shells)
    n_basis = wavefunction.n_basis
    n_all = n_basis + sum(shell.n_functions for shell in raised)
    times = []
    for axis in range(3):
        rows, columns, values = [np.arange(n_basis)], [np.arange(n_basis)], [np.zeros(n_basis)]
        first, first_raised = 0, n_basis
        for shell, higher in zip(shells, raised, strict=True):
            block = _multiplication(shell.angular_momentum, shell.pure, axis)
            row, column = np.nonzero(block)
            rows.append(first_raised + row)
            columns.append(first + column)
            values.append(block[row, column])
            values[0][first : first + shell.n_functions] = wavefunction.positions[shell.atom, axis]
            first, first_raised = first + shell.n_functions, first_raised + higher.n_functions
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        times.append(coo_matrix(entries, shape=(n_all, n_basis)).tocsr())
    return Enlarged((*shells, *raised), (times[0], times[1], times[2]))


def _raised(shell: Shell) -> Shell:
    """Cartesian functions of l + 1 whose radial part is that of the shell."""
    l = shell.angular_momentum
    ratio = radial_normalization(shell.exponents, l) / radial_normalization(shell.exponents, l + 1)
    return Shell(shell.atom, l + 1, False, shell.exponents, shell.coefficients * ratio)


@lru_cache(maxsize=64)
def _multiplication(angular_momentum: int, pure: bool, axis: int) -> Reals:
    """Matrix that takes the functions of a shell to those of l + 1 when they are multiplied by x - A_x."""
    higher = {powers: n for n, powers in enumerate(cartesian_powers(angular_momentum + 1))}
    block = np.zeros((len(higher), len(cartesian_powers(angular_momentum))))
    for column, powers in enumerate(cartesian_powers(angular_momentum)):
        i, j, k = (power + (axis == n) for n, power in enumerate(powers))
        ratio = angular_normalization(powers) / angular_normalization((i, j, k))
        block[higher[i, j, k], column] = ratio
    return block @ pure_from_cartesian(angular_momentum).T if pure else block
