r"""Densities of free atoms, hydrogen to lawrencium, as sums of s Gaussians: what promolecules are made of.

.. math::  \rho(r) = \sum_i n_i (a_i / \pi)^{3/2} e^{-a_i r^2}

Neutral atoms in their ground states, spherically averaged: PBE, scalar-relativistic, computed and fitted by
`benchmarks/free_atoms.py`, which says how. Each is exact in the number of electrons and positive where it exceeds
1e-11 e bohr^-3; where it exceeds 1e-5, beyond 0.3 / Z bohr of the nucleus, it is exact to a few thousandths, of light
elements to half of one.

Ions of hydrogen to xenon are computed and fitted in the same way by `benchmarks/free_ions.py`: cations up to +4 that
keep the core of a noble gas, anions of -1 with a started s or p shell, and of -2 of the groups of nitrogen and oxygen.
Anions that are not bound are held by the basis set.

Atoms by Hartree-Fock, whose tails are shorter, are those of published voids in crystals, with a hydrogen atom as it is
in molecules: `benchmarks/hartree_fock_atoms.py`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files

import numpy as np

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from .elements import SYMBOLS


@dataclass(frozen=True, eq=False)
class FreeAtom:
    """An atom alone, as a sum of s Gaussians about its nucleus.

    Attributes
    ----------
    number : int
        Atomic number.
    core : float
        Electrons that an effective core potential replaces; they are left out.
    exponents : ndarray, shape (n,)
        In bohr^-2.
    electrons : ndarray, shape (n,)
        Integral of each Gaussian over space, of either sign: they add up to the electrons of the atom.
    """

    number: int
    core: float
    exponents: Reals
    electrons: Reals

    def density(self, distance: Reals) -> Reals:
        """Density in e bohr^-3 at distances from the nucleus in bohr, of any shape."""
        r = np.asarray(distance, np.float64)
        result = np.zeros(r.shape)
        for a, n in zip(self.exponents, self.electrons, strict=True):
            result += n * (a / np.pi) ** 1.5 * np.exp(-a * r * r)
        return result

    def slope(self, distance: Reals) -> Reals:
        """Derivative of the density with the distance, in e bohr^-4."""
        r = np.asarray(distance, np.float64)
        result = np.zeros(r.shape)
        for a, n in zip(self.exponents, self.electrons, strict=True):
            result -= 2 * a * r * n * (a / np.pi) ** 1.5 * np.exp(-a * r * r)
        return result


@lru_cache(maxsize=256)
def free_atom(number: int, core: float = 0) -> FreeAtom:
    """Density of a free atom.

    Parameters
    ----------
    number
        Atomic number, from 1.
    core
        Electrons that an effective core potential replaces: those of the innermost shells are left out, and the density
        is smooth where they would be the larger part of it. Cores in use are exact, between them there is a mixture.

    Raises
    ------
    OrbitileError
        When there is no such atom, or it has no electrons beyond its core.
    """
    fits = _fits()
    last = max(fits)
    if number not in fits:
        raise OrbitileError(
            f"free atoms: expected an element from H (1) to {SYMBOLS[last]} ({last}), got number {number}"
        )
    if not 0 <= core < number:
        raise OrbitileError(
            f"free atom of {SYMBOLS[number]}: expected a core of 0 to {number - 1} electrons, got {core:g}"
        )
    known = sorted(fits[number])
    place = bisect_right(known, core)
    below = known[place - 1]
    exponents, electrons = fits[number][below]
    if core > below and place < len(known):
        above = known[place]
        share = (core - below) / (above - below)
        others, of_others = fits[number][above]
        exponents = np.concatenate([exponents, others])
        electrons = np.concatenate([(1 - share) * electrons, share * of_others])
    elif core > below:
        electrons = electrons * ((number - core) / (number - below))
    for array in (exponents, electrons):
        array.setflags(write=False)
    return FreeAtom(number, core, exponents, electrons)


@lru_cache(maxsize=128)
def hartree_fock_atom(number: int) -> FreeAtom:
    """Density of an atom by Hartree-Fock, of hydrogen as in molecules; with an open d shell, or beyond xenon, by PBE.

    Raises
    ------
    OrbitileError
        When there is no such atom.
    """
    known = _table("hartree_fock_atoms.npz").get(number)
    return free_atom(number) if known is None else FreeAtom(number, 0, *known[0])


def free_ion(number: int, charge: float) -> FreeAtom:
    r"""Density of a free atom with any number of electrons, between those of the ions of neighbouring charges.

    .. math::  \rho_q = (\lceil q \rceil - q)\, \rho_{\lfloor q \rfloor}
        + (q - \lfloor q \rfloor)\, \rho_{\lceil q \rceil}

    P. Bultinck, C. Van Alsenoy, P. W. Ayers and R. Carbo-Dorca, J. Chem. Phys. 2007, 126, 144111, equation 13. Beyond
    the ions that there are, the density of the last one is scaled to the number of electrons.

    Parameters
    ----------
    number
        Atomic number, from 1.
    charge
        In e; less than the atomic number.

    Raises
    ------
    OrbitileError
        When there are no ions of the element in our table, or an atom without electrons is asked for.
    """
    ions = _ions(number)
    if not charge <= number:
        raise OrbitileError(f"free ion of {SYMBOLS[number]}: expected a charge of {number} at most, got {charge:g}")
    lower, upper = math.floor(charge), math.ceil(charge)
    if lower < min(ions) or upper > max(ions):
        last = ions[min(ions) if lower < min(ions) else max(ions)]
        return replace(last, electrons=last.electrons * ((number - charge) / last.electrons.sum()))
    share = charge - lower
    below, above = ions[lower], ions[upper]
    return replace(
        below,
        exponents=np.concatenate([below.exponents, above.exponents]),
        electrons=np.concatenate([(1 - share) * below.electrons, share * above.electrons]),
    )


@lru_cache(maxsize=128)
def _ions(number: int) -> dict[int, FreeAtom]:
    """Free atoms of an element with whole charges, the neutral one among them; a nucleus alone has no Gaussians."""
    fits = _table("free_ions.npz")
    if number not in fits:
        last = max(fits)
        raise OrbitileError(
            f"free ions: expected elements from H (1) to {SYMBOLS[last]} ({last}), got "
            f"{SYMBOLS[number] if 0 < number < len(SYMBOLS) else 'number'} ({number}); use hirshfeld or mbis"
        )
    ions = {charge: FreeAtom(number, 0, *fit) for charge, fit in fits[number].items()}
    ions[0] = free_atom(number)
    if number == 1:
        ions[1] = FreeAtom(1, 0, np.zeros(0), np.zeros(0))
    return ions


def _fits() -> dict[int, dict[int, tuple[Reals, Reals]]]:
    """Exponents and electrons by atomic number and electrons of the core."""
    return _table("free_atoms.npz")


@lru_cache(maxsize=3)
def _table(name: str) -> dict[int, dict[int, tuple[Reals, Reals]]]:
    """Exponents and electrons by atomic number, and electrons of the core or charge of the ion."""
    with (files("orbitile") / "data" / name).open("rb") as file, np.load(file) as table:
        rows, least, electrons, ratio = (table[key] for key in ("fits", "least", "electrons", "ratio"))
    result: dict[int, dict[int, tuple[Reals, Reals]]] = {}
    first = 0
    for (number, which, count), smallest in zip(rows.tolist(), least.tolist(), strict=True):
        own = smallest * float(ratio) ** np.arange(count), electrons[first : first + count]
        result.setdefault(number, {})[which] = own
        first += count
    return result
