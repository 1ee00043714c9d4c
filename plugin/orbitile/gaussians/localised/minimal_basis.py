"""The minimal basis that intrinsic atomic orbitals are made of: the occupied shells of free atoms.

Its table, `data/minimal_basis.json`, is written by `benchmarks/minimal_basis.py`, where its sources stand. For H to Kr
it is the basis MINAO of G. Knizia (J. Chem. Theory Comput. 2013, 9, 4834).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from ...base.errors import OrbitileError
from ...model.elements import SYMBOLS
from ...model.wavefunction import Basis, Shell, Wavefunction
from ..overlap import shell_overlap

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
    from_core = max(int(one) for one in known if int(one) <= core)
    shells, seen = [], list(_CORES[from_core])
    for l, exponents, coefficients in known[str(from_core)]:
        seen[l] = max(seen[l], l) + 1
        if seen[l] > gone[l]:
            shells.append(_normalised(Shell(0, l, True, np.array(exponents), np.array(coefficients))))
    return tuple(shells)


def are_core(wavefunction: Wavefunction, shells: Sequence[Shell]) -> list[bool]:
    """Which shells of a minimal basis are of the cores: inside the shells that the group of the element is known for.

    The d electrons of groups 13 to 18 count as core, those of groups 3 to 12 do not, nor do f electrons of lanthanides
    and actinides.
    """
    result, seen = [], dict[tuple[int, int], int]()
    for shell in shells:
        number, l = int(wavefunction.atomic_numbers[shell.atom]), shell.angular_momentum
        gone = _gone(number, round(number - float(wavefunction.core_charges[shell.atom])))
        level = seen.get((shell.atom, l), max(gone[l], l)) + 1
        seen[shell.atom, l] = level
        inert = next(core for last, core in _INERT if number <= last)
        result.append(level <= _CORES[inert][l])
    return result


def _normalised(shell: Shell) -> Shell:
    """With the norm 1, which the digits of published coefficients miss by 1e-6."""
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
