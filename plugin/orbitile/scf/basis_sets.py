"""Basis sets by name: shells of the atoms of a geometry.

PySCF is asked where it is installed, and basis-set-exchange otherwise (both in the extra `orbitile[scf]`;
docs/decisions/0020).
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OrbitileError
from ..model.elements import SYMBOLS
from ..model.geometry import Geometry
from ..model.wavefunction import Shell
from ..packages import install_command
from .calculation import Calculation
from .level_of_theory import basis_set

Reals = NDArray[np.float64]
Contraction = tuple[int, Reals, Reals]
"""Angular momentum, exponents in bohr^-2, coefficients of normalised primitives; normalised as a whole."""


def shells_of(geometry: Geometry, calculation: Calculation) -> tuple[Shell, ...]:
    """Shells of all atoms, atom by atom and by angular momentum; ghosts (element X) have none.

    Raises
    ------
    OrbitileError
        When neither PySCF nor basis-set-exchange is there, or the one that is has no such basis set for an element.
    """
    return tuple(
        Shell(atom, l, not calculation.cartesian, exponents, coefficients)
        for atom, number in enumerate(geometry.atomic_numbers.tolist())
        if number
        for l, exponents, coefficients in _element(calculation.basis, number)[0]
    )


def core_electrons(geometry: Geometry, calculation: Calculation) -> int:
    """Electrons that the effective core potentials of the basis set replace; errors as of `shells_of`."""
    return sum(_element(calculation.basis, number)[1] for number in geometry.atomic_numbers.tolist() if number)


def contractions(name: str, number: int) -> tuple[Contraction, ...]:
    """Contractions of an element, by its atomic number; errors as of `shells_of`."""
    return _element(name, number)[0]


def _element(name: str, number: int) -> tuple[tuple[Contraction, ...], int]:
    """Contractions of an element, by angular momentum, and electrons that its core potential replaces."""
    if not find_spec("pyscf"):
        return _from_basis_set_exchange(name, number)
    functions, potential = basis_set(name, SYMBOLS[number])
    rows = [(shell[0], np.array([row for row in shell[1:] if np.ndim(row)])) for shell in functions]
    found = [(l, row[:, 0], column) for l, row in rows for column in row[:, 1:].T]
    return _ordered(found), int(potential[0]) if potential else 0


@lru_cache(maxsize=128)
def _from_basis_set_exchange(name: str, number: int) -> tuple[tuple[Contraction, ...], int]:
    try:
        import basis_set_exchange as exchange
    except ImportError as error:
        raise OrbitileError(
            "basis sets by name come from the package basis-set-exchange, or pyscf: "
            f"{install_command('basis-set-exchange')}"
        ) from error
    known = {_plain(one): one for one in exchange.get_all_basis_names()}
    plain = _plain(name)
    if plain not in known:
        close = get_close_matches(plain, known, 1)
        hint = f"; did you mean {known[close[0]]}?" if close else ", such as def2-svp, cc-pvtz, 6-31g*"
        raise OrbitileError(f"basis set {name!r}: expected one that basis-set-exchange knows{hint}")
    try:
        data = exchange.get_basis(known[plain], elements=[number], header=False, optimize_general=True)
    except KeyError as error:
        raise OrbitileError(
            f"basis set {name!r}: basis-set-exchange has no functions of it for {SYMBOLS[number]}; choose another one"
        ) from error
    if data["role"] != "orbital":
        raise OrbitileError(f"basis set {name!r}: expected one for orbitals, got one for {data['role']}")
    element: dict[str, Any] = data["elements"][str(number)]
    found = []
    for shell in element["electron_shells"]:
        momenta = shell["angular_momentum"]  # one for all columns, or one each as in SP shells
        columns = [np.array(column, np.float64) for column in shell["coefficients"]]
        exponents = np.array(shell["exponents"], np.float64)
        momenta = momenta if len(momenta) > 1 else momenta * len(columns)
        found += [(int(l), exponents, column) for l, column in zip(momenta, columns, strict=True)]
    return _ordered(found), int(element.get("ecp_electrons", 0))


def _plain(name: str) -> str:
    """A name as people vary it: 6-31G(d,p) for 6-31G**, def2svp for def2-SVP."""
    short = re.sub("[-_ ]", "", name.strip().lower())
    return short.replace("(d,p)", "**").replace("(d)", "*")


def _ordered(contractions: list[Contraction]) -> tuple[Contraction, ...]:
    """Contractions by angular momentum, each normalised and from its highest exponent to the lowest."""
    return tuple(_normalised(*one) for one in sorted(contractions, key=lambda one: one[0]))


def _normalised(l: int, exponents: Reals, coefficients: Reals) -> Contraction:
    r"""The contraction that has the norm 1, without primitives that it does not have.

    Normalised primitives of one centre overlap by :math:`(2 \sqrt{ab} / (a + b))^{l + 3/2}`.
    """
    order = [n for n in np.argsort(-exponents, kind="stable") if coefficients[n]]
    exponents, coefficients = exponents[order], coefficients[order]
    overlap = (2 * np.sqrt(np.outer(exponents, exponents)) / np.add.outer(exponents, exponents)) ** (l + 1.5)
    return l, exponents, coefficients / np.sqrt(coefficients @ overlap @ coefficients)
