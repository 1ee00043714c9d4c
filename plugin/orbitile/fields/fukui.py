r"""Fukui functions and the dual descriptor, from the densities of three calculations at one geometry.

.. math::  f^+ = \rho_{N+1} - \rho_N, \quad f^- = \rho_N - \rho_{N-1}, \quad f^0 = \tfrac12 (\rho_{N+1} - \rho_{N-1}),
    \quad \Delta f = f^+ - f^-

(R. G. Parr and W. Yang, J. Am. Chem. Soc. 1984, 106, 4049; C. Morell, A. Grand and A. Toro-Labbe, J. Phys. Chem. A
2005, 109, 205). The wavefunction is the one of N electrons; which file is which follows from its electrons.
"""

from __future__ import annotations

import numpy as np

from ..base.errors import FieldError
from ..gaussians.expansion import merged
from ..model.wavefunction import Wavefunction
from . import References
from ._sums import SumField
from .density import density_field, density_of

PRIORITY = 40
GROUP = "Reactivity"
NAMES = (
    ("fukui+:FILE", "Where a nucleophile attacks, f+: with the file of N+1 electrons"),
    ("fukui-:FILE", "Where an electrophile attacks, f-: with the file of N-1 electrons"),
    ("fukui0:FILE,FILE", "Where a radical attacks, f0: with the files of N+1 and N-1 electrons"),
    ("dual:FILE,FILE", "Where either attacks, f+ minus f- (dual descriptor): with the files of N+1 and N-1 electrons"),
)

_WEIGHTS = {
    "fukui+": {1: 1.0, 0: -1.0},
    "fukui-": {0: 1.0, -1: -1.0},
    "fukui0": {1: 0.5, -1: -0.5},
    "dual": {1: 1.0, 0: -2.0, -1: 1.0},
}
"""Weights of the densities by the electrons that they have more than N."""

_QUANTITIES = {
    "fukui+": "Fukui function f+",
    "fukui-": "Fukui function f-",
    "fukui0": "Fukui function f0",
    "dual": "dual descriptor",
}

_MOVED = 1e-3
"""Atoms of two files may be apart by this much, in bohr: coordinates are printed with few digits."""


def resolve(wavefunction: Wavefunction, name: str, references: References) -> SumField | None:
    """The function that a name stands for, or None.

    Raises
    ------
    FieldError
        When files are missing, have other atoms, or other numbers of electrons than wanted.
    """
    family, _, rest = name.partition(":")
    family = family.strip().lower()
    if family not in _WEIGHTS:
        return None
    weights = _WEIGHTS[family]
    wanted = sorted(set(weights) - {0}, reverse=True)
    files = [file.strip() for file in rest.split(",") if file.strip()]
    if len(files) != len(wanted):
        what = " and ".join(f"N{step:+d}" for step in wanted)
        raise FieldError(f"field {name!r}: expected {len(wanted)} file(s), of {what} electrons, got {len(files)}")
    calculations = {0: wavefunction}
    for file in files:
        other = references.wavefunction(file)
        step = other.n_electrons - wavefunction.n_electrons
        if round(step) not in wanted or abs(step - round(step)) > 0.01 or round(step) in calculations:
            numbers = " and ".join(f"{wavefunction.n_electrons + step:g}" for step in wanted)
            raise FieldError(f"field {name!r}: expected {numbers} electrons, got {other.n_electrons:g} in {file}")
        same = np.array_equal(other.atomic_numbers, wavefunction.atomic_numbers)
        if not (same and np.abs(other.positions - wavefunction.positions).max() < _MOVED):
            raise FieldError(f"field {name!r}: the atoms of {file} are not those of {wavefunction.source}")
        calculations[round(step)] = other
    total = merged([density_of(calculations[step]).scaled(weight) for step, weight in weights.items()])
    return density_field(wavefunction, total, _QUANTITIES[family], 0.003, is_difference=True)
