r"""Intrinsic atomic orbitals: the orbitals of free atoms, polarised until they hold all electrons of a molecule.

With projectors :math:`O` onto the occupied orbitals, :math:`\tilde O` onto what the minimal basis makes of them, and
:math:`P` onto the basis functions, a function :math:`\tilde\rho` of the minimal basis becomes

.. math::  |\rho\rangle = \bigl[O \tilde O + (1 - O)(1 - \tilde O)\bigr] P |\tilde\rho\rangle ,

which are then made orthonormal by the inverse root of their overlap (G. Knizia, J. Chem. Theory Comput. 2013, 9, 4834,
eqs 1 to 3 and p. 4837).

The minimal basis has the occupied shells of free atoms. Its table, `data/minimal_basis.json`, is written by
`benchmarks/minimal_basis.py`, where its sources stand. For H to Kr it is the basis MINAO of that paper.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...base.caches import Derived
from ...base.errors import OrbitileError
from ...base.memory import require_memory
from ...base.watch import patiently
from ...model.elements import SYMBOLS
from ...model.wavefunction import Basis, Shell, Spin, Wavefunction
from ..overlap import dense, own_overlap, repeated_overlap, shell_overlap

_SPANNED = 1e-3
"""Least square of an overlap of the occupied space with that of the minimal basis: below, a free atom lacks it."""

_DEPENDENT = 1e-8
"""Eigenvalues of the overlap below which basis functions count as dependent, where they cannot be told apart."""

_FRACTION = 1e-4
"""Largest deviation of an occupation from a whole number."""


@dataclass(frozen=True, eq=False)
class IntrinsicAtomicOrbitals:
    """Orthonormal orbitals of atoms that span the occupied orbitals of one spin.

    Attributes
    ----------
    coefficients : ndarray, shape (n_basis, n)
        Over the basis functions of the molecule.
    atoms : ndarray of int, shape (n,)
        The atom of each, from 0, rising.
    shells : tuple of Shell
        Of the minimal basis, whose functions they were made of.
    is_core : ndarray of bool, shape (n,)
        Whether each belongs to a core of its atom.
    """

    coefficients: Reals
    atoms: NDArray[np.int64]
    shells: tuple[Shell, ...]
    is_core: NDArray[np.bool_]


_INTRINSIC = Derived[IntrinsicAtomicOrbitals]("orbitals")


def whole_occupations(wavefunction: Wavefunction, spin: Spin) -> NDArray[np.int64]:
    """Occupations of the orbitals of a spin as whole numbers, shape (n_orbitals,).

    Raises
    ------
    OrbitileError
        When they are fractions, as those of natural orbitals, or none is occupied.
    """
    occupations = wavefunction.orbitals(spin).occupations
    whole: NDArray[np.int64] = np.round(occupations).astype(np.int64)
    if np.any(np.abs(occupations - whole) > _FRACTION):
        raise OrbitileError(
            "localised orbitals: expected orbitals that are fully occupied or empty, got fractional occupations, as "
            "of natural orbitals; use the orbitals of Hartree-Fock or density functional theory"
        )
    return whole


def intrinsic_atomic_orbitals(wavefunction: Wavefunction, spin: Spin = "alpha") -> IntrinsicAtomicOrbitals:
    """Intrinsic atomic orbitals of the occupied orbitals of a spin; kept with the wavefunction.

    Where both spins share orbitals, they are those of all that are occupied, by one electron or by two.

    Parameters
    ----------
    wavefunction
    spin
        alpha or beta.

    Raises
    ------
    OrbitileError
        When occupations are fractions, the minimal basis lacks an element, or an orbital is occupied that no
        combination of orbitals of free atoms resembles.
    """
    one_set = "alpha" if wavefunction.beta is None else spin
    return _INTRINSIC.of(wavefunction, one_set, lambda: _make_orbitals(wavefunction, spin))


def _make_orbitals(wavefunction: Wavefunction, spin: Spin) -> IntrinsicAtomicOrbitals:
    occupied = wavefunction.orbitals(spin).coefficients[:, whole_occupations(wavefunction, spin) > 0]
    minimal = minimal_basis(wavefunction)
    n, m = wavefunction.n_basis, minimal.n_basis
    require_memory(8 * (2 * n * n + 6 * n * m), "intrinsic atomic orbitals", "analyse a part of the molecule")
    if m > n or occupied.shape[1] > m:
        raise NotDescribed(
            f"intrinsic atomic orbitals: expected a basis of at least the {m} functions of the free atoms, and no more "
            f"occupied orbitals than these, got {n} functions and {occupied.shape[1]} occupied orbitals; choose the "
            "scheme boys or pm"
        )
    cell, places = wavefunction.cell, minimal.positions
    mixed = dense(repeated_overlap(wavefunction.shells, wavefunction.positions, minimal.shells, places, cell))
    of_minimal = dense(repeated_overlap(minimal.shells, places, minimal.shells, places, cell))
    overlap = own_overlap(wavefunction)
    projected = patiently(lambda: _solve(dense(overlap), mixed))
    coefficients = patiently(lambda: _polarise(occupied, overlap, projected, mixed, of_minimal))
    sizes = [shell.n_functions for shell in minimal.shells]
    atoms = np.repeat([shell.atom for shell in minimal.shells], sizes)
    coefficients.setflags(write=False)
    return IntrinsicAtomicOrbitals(
        coefficients, atoms, minimal.shells, np.repeat(are_core(wavefunction, minimal.shells), sizes)
    )


def _solve(overlap: Reals, mixed: Reals) -> Reals:
    """The functions of the minimal basis as the basis of the molecule can make them: S^-1 times their overlaps."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        solved: Reals = cho_solve(cho_factor(overlap, check_finite=False), mixed, check_finite=False)
    except LinAlgError:
        values, axes = np.linalg.eigh(overlap)
        axes = axes[:, values > _DEPENDENT]
        solved = axes @ ((axes.T @ mixed) / values[values > _DEPENDENT, None])
    return solved


def _polarise(occupied: Reals, overlap: Reals, projected: Reals, mixed: Reals, of_minimal: Reals) -> Reals:
    depolarised = projected @ np.linalg.solve(of_minimal, mixed.T @ occupied)
    if occupied.shape[1]:
        depolarised = _orthonormalise(depolarised, overlap)
    image = overlap @ projected
    inside, outside = occupied.T @ image, depolarised.T @ image  # O P and O~ P, in their orbitals
    both = occupied @ ((occupied.T @ (overlap @ depolarised)) @ outside)
    return _orthonormalise(projected + 2 * both - occupied @ inside - depolarised @ outside, overlap)


def _orthonormalise(orbitals: Reals, overlap: Reals) -> Reals:
    """The orthonormal orbitals that resemble some orbitals most (P.-O. Loewdin, J. Chem. Phys. 1950, 18, 365)."""
    values, axes = np.linalg.eigh(orbitals.T @ (overlap @ orbitals))
    if values[0] < _SPANNED**2:
        raise NotDescribed(
            "intrinsic atomic orbitals: an occupied orbital is unlike all orbitals of the free atoms, as diffuse ones "
            "are; choose the scheme boys or pm"
        )
    return orbitals @ (axes / np.sqrt(values)) @ axes.T


def in_intrinsic(wavefunction: Wavefunction, atomic: IntrinsicAtomicOrbitals, orbitals: Reals) -> Reals:
    """Orbitals over intrinsic atomic orbitals, shape (n, n_orbitals), from (n_basis, n_orbitals)."""
    return atomic.coefficients.T @ (own_overlap(wavefunction) @ orbitals)


# ---- the minimal basis


_CORES = {
    0: (0, 0, 0, 0),
    2: (1, 0, 0, 0),
    10: (2, 2, 0, 0),
    18: (3, 3, 0, 0),
    28: (3, 3, 3, 0),
    36: (4, 4, 3, 0),
    46: (4, 4, 4, 0),
    54: (5, 5, 4, 0),
    60: (4, 4, 4, 4),
    68: (5, 5, 4, 4),
    78: (5, 5, 5, 4),
    86: (6, 6, 5, 4),
    92: (5, 5, 5, 5),
}
"""Highest principal quantum numbers of s, p, d and f shells in a core, by its electrons; 0 where there is none."""

_WITH_F = (4, 4, 4, 4)
"""Those of lanthanides whose potential holds an open f shell with the core: 46 electrons and some f electrons."""


_INERT = ((2, 0), (10, 2), (18, 10), (30, 18), (36, 28), (48, 36), (54, 46), (70, 54), (80, 68), (86, 78), (118, 86))
"""Electrons that take no part in bonds, up to an atomic number."""


class NotDescribed(OrbitileError):
    """A molecule whose occupied orbitals those of free atoms do not describe."""


@lru_cache(maxsize=1)
def _table() -> dict[str, dict[str, list[Any]]]:
    """Contractions [l, exponents, coefficients] by element and by electrons in a core potential."""
    return json.loads((files("orbitile") / "data" / "minimal_basis.json").read_text(encoding="utf-8"))


@lru_cache(maxsize=64)
def _shells_of_element(number: int, core: int) -> tuple[Shell, ...]:
    """Occupied shells of a free atom outside a core, on atom 0, by angular momentum and then from the inside."""
    if not number:  # a ghost
        return ()
    symbol = SYMBOLS[number]
    known = _table().get(symbol)
    if known is None:
        last = list(_table())[-1]
        raise NotDescribed(
            f"minimal basis: there is none for {symbol}, only for H to {last}; choose the scheme boys or pm"
        )
    gone = _gone(number, core)
    from_core = max(int(electrons) for electrons in known if int(electrons) <= core)
    shells, seen = [], list(_CORES[from_core])
    for l, exponents, coefficients in known[str(from_core)]:
        seen[l] = max(seen[l], l) + 1
        if seen[l] > gone[l]:
            shells.append(_normalise(Shell(0, l, True, np.array(exponents), np.array(coefficients))))
    return tuple(shells)


def levels_of(wavefunction: Wavefunction, shells: Sequence[Shell]) -> list[int]:
    """Principal quantum numbers of the shells of a minimal basis."""
    result, seen = [], dict[tuple[int, int], int]()
    for shell in shells:
        number, l = int(wavefunction.atomic_numbers[shell.atom]), shell.angular_momentum
        gone = _gone(number, round(number - float(wavefunction.core_charges[shell.atom])))
        seen[shell.atom, l] = seen.get((shell.atom, l), max(gone[l], l)) + 1
        result.append(seen[shell.atom, l])
    return result


def are_core(wavefunction: Wavefunction, shells: Sequence[Shell]) -> list[bool]:
    """Which shells of a minimal basis are of the cores: inside the shells that the group of the element is known for.

    The d electrons of groups 13 to 18 count as core, those of groups 3 to 12 do not, nor do f electrons of lanthanides
    and actinides.
    """
    result = []
    for shell, level in zip(shells, levels_of(wavefunction, shells), strict=True):
        inert = next(core for last, core in _INERT if wavefunction.atomic_numbers[shell.atom] <= last)
        result.append(level <= _CORES[inert][shell.angular_momentum])
    return result


def _normalise(shell: Shell) -> Shell:
    """The shell with the norm 1, which published coefficients miss by 1e-6."""
    norm = shell_overlap((shell,), np.zeros((1, 3)), (shell,), np.zeros((1, 3)))[0, 0]
    return replace(shell, coefficients=shell.coefficients / np.sqrt(norm))


def _gone(number: int, core: int) -> tuple[int, int, int, int]:
    """Highest principal quantum numbers of the shells that a core potential replaces."""
    gone = _WITH_F if 57 <= number <= 71 and 46 < core < 60 else _CORES.get(core)
    if gone is None:
        cores = ", ".join(str(core) for core in _CORES)
        raise NotDescribed(
            f"minimal basis of {SYMBOLS[number]}: expected a core potential of {cores} electrons, got {core}; choose "
            "the scheme boys or pm"
        )
    return gone


def minimal_basis(wavefunction: Wavefunction) -> Basis:
    """Occupied shells of the free atoms of a molecule; ghosts have none, nor have shells in core potentials.

    Raises
    ------
    NotDescribed
        When an element is not in the table, or its core potential replaces a number of electrons that no core has.
    """
    shells = [
        replace(shell, atom=atom)
        for atom, (number, core) in enumerate(_elements(wavefunction))
        for shell in _shells_of_element(number, core)
    ]
    return Basis(tuple(shells), wavefunction.positions)


def n_functions(wavefunction: Wavefunction) -> int:
    """Number of functions of `minimal_basis`, which raises the same."""
    return sum(
        count * sum(shell.n_functions for shell in _shells_of_element(*element))
        for element, count in Counter(_elements(wavefunction)).items()
    )


def _elements(wavefunction: Wavefunction) -> list[tuple[int, int]]:
    """Atomic number, and electrons in a core potential, of each atom."""
    numbers = wavefunction.atomic_numbers
    cores = np.round(numbers - wavefunction.core_charges).astype(int)
    return list(zip(numbers.tolist(), cores.tolist(), strict=True))
