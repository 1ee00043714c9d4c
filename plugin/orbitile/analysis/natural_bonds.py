r"""What natural bond orbitals tell: hybrids, and energies of donating electrons from one orbital to another.

A filled orbital i of the Lewis structure gains by mixing with an empty orbital j, by perturbation theory of second
order (A. E. Reed, L. A. Curtiss and F. Weinhold, Chem. Rev. 1988, 88, 899, eq. 16),

.. math::  E^{(2)} = -q\, \frac{F_{ij}^2}{\varepsilon_j - \varepsilon_i},

with the Fock matrix F over natural bond orbitals, its diagonal elements :math:`\varepsilon`, and the q electrons that a
full orbital holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..fields.natural_bonds import NaturalBonds
from ..model.wavefunction import Spin


@dataclass(frozen=True, eq=False)
class Donations:
    """Donor-acceptor interactions of one spin, or of both together, the largest first.

    Attributes
    ----------
    donors, acceptors : ndarray of int, shape (n,)
        Places among the natural bond orbitals, from 0.
    energies : ndarray, shape (n,)
        What the donor gains, in hartree: positive.
    gaps : ndarray, shape (n,)
        Energy of the acceptor less that of the donor, in hartree.
    couplings : ndarray, shape (n,)
        Elements of the Fock matrix, in hartree; their signs depend on phases.
    """

    donors: NDArray[np.int64]
    acceptors: NDArray[np.int64]
    energies: Reals
    gaps: Reals
    couplings: Reals


def donations(bonds: NaturalBonds, spin: Spin, threshold: float) -> Donations:
    """Donor-acceptor interactions above a threshold in hartree; none without a Fock matrix."""
    if spin not in bonds.focks:
        nothing = np.empty(0)
        return Donations(nothing.astype(np.int64), nothing.astype(np.int64), nothing, nothing, nothing)
    found = bonds.sets[spin]
    n = found.n_lewis
    fock = found.vectors.T @ bonds.focks[spin] @ found.vectors
    diagonal = np.diag(fock)
    gaps = diagonal[None, n:] - diagonal[:n, None]
    full = 3 - len(bonds.sets)
    energies = full * fock[:n, n:] ** 2 / np.where(gaps > 0, gaps, np.inf)
    donors, acceptors = np.nonzero(energies > threshold)
    values = energies[donors, acceptors]
    order = np.argsort(-np.round(values, 9), kind="stable")
    donors, acceptors = donors[order], acceptors[order]
    return Donations(donors, acceptors + n, values[order], gaps[donors, acceptors], fock[donors, acceptors + n])


@dataclass(frozen=True)
class Hybrid:
    """What an orbital has of one atom.

    Attributes
    ----------
    atom : int
        From 0.
    share : float
        Its share of the orbital.
    momenta : tuple of float
        Shares of s, p, d, ... functions in it.
    """

    atom: int
    share: float
    momenta: tuple[float, ...]


def hybrids(bonds: NaturalBonds, spin: Spin, index: int) -> tuple[Hybrid, ...]:
    """Hybrids of a natural bond orbital, by its place from 0: one for each of its atoms."""
    found, atomic = bonds.sets[spin], bonds.atomic
    squares = atomic.by_shells(found.vectors[:, index] ** 2)
    result = []
    for atom in found.atoms[index]:
        own = atomic.atoms == atom
        momenta = np.bincount(atomic.angular_momenta[own], squares[own])
        result.append(Hybrid(atom, float(momenta.sum()), tuple((momenta / max(momenta.sum(), 1e-12)).tolist())))
    return tuple(result)
