r"""How far an orbital reaches: rigorous bounds from its primitives.

One shell on one atom, with monomial coefficients c_m and radial part :math:`\sum_p d_p e^{-\zeta_p R^2}`, is nowhere
larger at distance R or beyond than

.. math::  g(R) = \Big[\sum_m |c_m| \sqrt{i^i j^j k^k / l^l}\Big] \sum_p |d_p| \max_{R' \ge R} R'^l e^{-\zeta_p R'^2}

The first factor bounds the monomials on the unit sphere; the maximum in the second is at
:math:`\max(R, \sqrt{l / 2\zeta_p})`. g falls monotonically, so distances follow by bisection.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..model.conventions import cartesian_powers
from .bisection import all_fallen, box_outside_which
from .packing import PackedShells

Reals = NDArray[np.float64]

_FARTHEST = 1e3
"""Reaches are looked for up to this distance in bohr; exponents below 1e-4 bohr^-2 are not in use."""


@dataclass(frozen=True, eq=False)
class ShellEnvelopes:
    """The function g of each shell on each atom.

    Attributes
    ----------
    amplitude : ndarray, shape (n_shells,)
        Bound on the angular factor on the unit sphere; the shells of all atoms in packed order.
    centre : ndarray, shape (n_shells, 3)
        Position of the atom of each, in bohr.
    first_shell : ndarray of int32, shape (n_atoms,)
        First shell of each packed atom.
    first : ndarray, shape (n_shells,)
        First primitive of each shell in the arrays below.
    shell : ndarray, shape (n_primitives,)
        Shell of each primitive.
    exponent, weight, angular_momentum : ndarray, shape (n_primitives,)
    """

    amplitude: Reals
    centre: Reals
    first_shell: NDArray[np.int32]
    first: NDArray[np.intp]
    shell: NDArray[np.intp]
    exponent: Reals
    weight: Reals
    angular_momentum: NDArray[np.int32]

    def at(self, distance: Reals) -> Reals:
        """g of every shell, each at its own distance; both of shape (n_shells,)."""
        l, zeta = self.angular_momentum, self.exponent
        radius = np.maximum(np.maximum(distance, 0)[self.shell], np.sqrt(l / (2 * zeta)))
        value = self.weight * radius**l * np.exp(-zeta * radius**2)
        return self.amplitude * np.add.reduceat(value, self.first)


@lru_cache
def _largest_on_sphere(angular_momentum: int) -> Reals:
    l = angular_momentum
    values = [np.prod([float(p) ** p for p in powers]) / float(l) ** l for powers in cartesian_powers(l)]
    return np.sqrt(np.array(values))


def shell_envelopes(packed: PackedShells, coefficients: Reals) -> ShellEnvelopes:
    """Envelopes of the shells of one orbital, from its packed Cartesian coefficients, shape (n_coefficients,)."""
    shells, atoms = [], []
    n_shells = np.diff(packed.basis_first_shell)[packed.atom_basis]
    for atom, basis in enumerate(packed.atom_basis):
        shells.append(np.arange(packed.basis_first_shell[basis], packed.basis_first_shell[basis + 1]))
        atoms.append(np.full(len(shells[-1]), atom))
    shell, atom_of = np.concatenate(shells), np.concatenate(atoms)
    momentum = packed.shell_angular_momentum[shell]
    size = (momentum + 1) * (momentum + 2) // 2
    ends = np.cumsum(size)
    tables = [_largest_on_sphere(int(l)) for l in packed.shell_angular_momentum]
    weights = np.concatenate(tables)
    starts = np.concatenate([[0], np.cumsum([len(table) for table in tables])])
    of_coefficient = np.arange(ends[-1]) - np.repeat(ends - size - starts[shell], size)
    amplitude = np.add.reduceat(np.abs(coefficients) * weights[of_coefficient], ends - size)
    count = np.diff(packed.shell_first_primitive)[shell]
    last = np.cumsum(count)
    primitive = np.arange(last[-1]) - np.repeat(last - count - packed.shell_first_primitive[shell], count)
    return ShellEnvelopes(
        amplitude=amplitude,
        centre=packed.atom_position[atom_of],
        first_shell=np.concatenate([[0], np.cumsum(n_shells)[:-1]]).astype(np.int32),
        first=last - count,
        shell=np.repeat(np.arange(len(shell)), count),
        exponent=packed.exponent[primitive],
        weight=np.abs(packed.contraction[primitive]),
        angular_momentum=np.repeat(momentum, count),
    )


def shell_reach(envelopes: ShellEnvelopes, tolerance: float) -> Reals:
    """Distances beyond which leaving out every shell changes the orbital by less than a tolerance in all.

    Returns
    -------
    ndarray, shape (n_shells,)
        In bohr.
    """
    n = len(envelopes.amplitude)
    limit = tolerance / n
    high = all_fallen(lambda middle: envelopes.at(middle) > limit, np.zeros(n), np.full(n, _FARTHEST))
    return np.where(envelopes.amplitude > 0, high, 0.0)


def enclosing_box(envelopes: ShellEnvelopes, isovalue: float) -> tuple[Reals, Reals]:
    """Corners (bohr) of a box outside which the orbital is smaller in magnitude than the isovalue, guaranteed."""

    def bound(distance: Reals) -> float:
        return float(envelopes.at(distance).sum())

    return box_outside_which(bound, isovalue, envelopes.centre, before=_FARTHEST, beyond=_FARTHEST)


def encloses(envelopes: ShellEnvelopes, isovalue: float, low: Reals, high: Reals) -> bool:
    """Whether the bound of `enclosing_box` proves an orbital smaller than an isovalue outside a box (bohr).

    The box has to hold the atoms. Six sums, where the search for a box takes hundreds.
    """
    inside = np.all(low <= envelopes.centre) and np.all(envelopes.centre <= high)
    distances = np.concatenate([(high - envelopes.centre).T, (envelopes.centre - low).T])
    return bool(inside) and all(float(envelopes.at(distance).sum()) <= isovalue for distance in distances)
