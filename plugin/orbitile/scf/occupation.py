r"""How electrons occupy orbitals: the lowest ones, or by a temperature.

At an electronic temperature T, orbitals of one spin have the occupations of Fermi and Dirac (N. D. Mermin, Phys. Rev.
1965, 137, A1441), with as many electrons of each spin as without:

.. math::  f_i = \frac{1}{1 + e^{(\epsilon_i - \mu)/kT}}, \qquad
    -TS = kT \sum_i \left[f_i \ln f_i + (1 - f_i) \ln (1 - f_i)\right].

What the orbitals then minimise is the free energy E - TS.

**Restricted open shells.** Both spins share orbitals, of which some have an electron of spin alpha alone. Their Fock
matrix (C. C. J. Roothaan, Rev. Mod. Phys. 1960, 32, 179) is that of spin beta between closed and open shells, that of
spin alpha between open shells and empty orbitals, and the mean of both elsewhere; so its commutator with the density
matrix has the derivatives of the energy. Elements within one kind of orbitals, which give these their energies, could
be others; the mean is what PySCF has too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..base.arrays import Reals


@dataclass(frozen=True)
class Occupation:
    """How electrons occupy orbitals.

    Attributes
    ----------
    occupied : tuple of int
        Orbitals with electrons, of each density matrix: of all electrons, two in each; or one number for each spin.
    shared : bool
        Whether both spins share orbitals: restricted open shells. There are at least as many electrons of spin alpha.
    temperature : float
        kT in hartree; 0: the lowest orbitals are full.
    """

    occupied: tuple[int, ...]
    shared: bool = False
    temperature: float = 0.0

    @property
    def electrons(self) -> float:
        """That an orbital of a density matrix holds at most."""
        return 2 / len(self.occupied)

    @property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """Density matrices that each set of orbitals makes."""
        matrices = tuple(range(len(self.occupied)))
        return (matrices,) if self.shared else tuple((n,) for n in matrices)

    def of_energies(self, energies: Sequence[Reals]) -> tuple[list[Reals], float]:
        """Electrons in each orbital, of each density matrix, and -TS in hartree; energies are those of each set.

        Without a temperature the first orbitals are occupied.
        """
        of_matrices = [energies[n] for n, members in enumerate(self.sets) for _ in members]
        if not self.temperature:
            return [
                np.where(np.arange(len(e)) < n, self.electrons, 0.0)
                for e, n in zip(of_matrices, self.occupied, strict=True)
            ], 0.0
        from scipy.special import xlogy

        shares = [_fermi(e / self.temperature, n) for e, n in zip(of_matrices, self.occupied, strict=True)]
        disorder = sum(float((xlogy(f, f) + xlogy(1 - f, 1 - f)).sum()) for f in shares)
        return [self.electrons * f for f in shares], self.electrons * self.temperature * disorder

    def densities(self, orbitals: Sequence[Reals], numbers: Sequence[Reals]) -> Reals:
        """Density matrices, (n_matrices, n, n), of each set of orbitals with the electrons of each matrix."""
        found = []
        for c, members in zip(orbitals, self.sets, strict=True):
            for n in members:
                some = numbers[n] > 0
                found.append((c[:, some] * numbers[n][some]) @ c[:, some].T)
        return np.array(found)

    def softness(self, energies: Reals, n: int) -> Reals:
        """Minus the differences of occupations of orbitals over those of their energies, (n, n), in 1/hartree."""
        shares = _fermi(energies / self.temperature, n)
        apart = np.subtract.outer(energies, energies)
        slope = np.add.outer(shares * (1 - shares), shares * (1 - shares)) / (2 * self.temperature)
        close = np.abs(apart) < 1e-3 * self.temperature
        return self.electrons * np.where(close, slope, -np.subtract.outer(shares, shares) / np.where(close, 1.0, apart))


def _fermi(energies: Reals, n: int) -> Reals:
    """Occupations of n electrons in orbitals that hold one; energies in kT."""
    from scipy.optimize import brentq
    from scipy.special import expit

    if n in (0, len(energies)):
        return np.full(len(energies), float(n > 0))
    level = brentq(lambda mu: expit(mu - energies).sum() - n, energies[0] - 50, energies[-1] + 50, xtol=1e-13)
    return np.asarray(expit(level - energies))


def roothaan(matrices: Reals, densities: Reals) -> Reals:
    """Roothaan's Fock matrix of open shells, (n, n), from those of both spins; all are over orthonormal functions."""
    alpha, beta = matrices
    mean = (alpha + beta) / 2
    closed, empty = densities[1], np.eye(len(mean)) - densities[0]
    open_ = densities[0] - densities[1]
    half = sum((p @ mean @ p / 2 for p in (closed, open_, empty)), empty @ mean @ closed)
    half += open_ @ beta @ closed + open_ @ alpha @ empty
    return half + half.T
