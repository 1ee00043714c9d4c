r"""What a scanning tunnelling microscope sees of a molecule: orbitals within a window of energies.

By J. Tersoff and D. R. Hamann (Phys. Rev. B 1985, 31, 805), the current to a tip whose foremost orbital is an s wave is
proportional to the local density of states where the tip is, between the Fermi level and the bias away from it:

.. math::  I(r, V) \propto \sum_{E_F < \epsilon_i < E_F + V} |\psi_i(r)|^2

where for a negative bias of the sample the window is below :math:`E_F`. On a surface, a molecule's Fermi level is that
of the surface, which a file does not tell: unless one is named, the HOMO stands for it, or the LUMO if the bias is
positive. For a p wave along an axis, the derivative along it stands for the orbital (C. J. Chen, Phys. Rev. B 1990, 42,
8841); p waves along two axes across the tip are those of a carbon monoxide molecule at its end (L. Gross et al., Phys.
Rev. Lett. 2011, 107, 086101).
"""

from __future__ import annotations

import re

import numpy as np

from ..base.arrays import Reals
from ..base.errors import FieldError
from ..gaussians.products import density_products, slope_products
from ..model.units import electronvolt
from ..model.wavefunction import COMPLEX, Spin, Wavefunction
from . import References
from ._frontier import frontier_order
from ._sums import SumField

PRIORITY = 14
GROUP = "Tunnelling microscopy"
NAMES = (
    ("stm:-2", "What a microscope sees at a bias of -2 V: occupied orbitals, to 2 eV below the HOMO"),
    ("stm:2", "The same at 2 V: unoccupied orbitals above the LUMO (stm:2@-4.5: above a Fermi level in eV)"),
    ("stm:-2:xy", "The same by a tip of p waves along x and y, such as CO when one looks along z"),
)

_NAME = re.compile(r"stm:([+-]?\d+(?:\.\d*)?|[+-]?\.\d+)(?::([xyz]{1,3}))?(?:@([+-]?\d+(?:\.\d*)?))?")
_NO_ENERGIES = "it needs orbital energies, and this file gives none"
_FAINT = 1e-6
"""Usual isovalue, in bohr^-3: some 5 Angstrom above a flat molecule, where tips are."""
_ROUNDING = 1e-9
"""Energies in hartree that differ by less are one."""
_SLIGHT = 1e-13
"""What products left out may add up to: tips are where orbitals have nearly died out."""


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """All names, with the reason, where a file gives no orbital energies."""
    reason = _why_not(wavefunction)
    return dict.fromkeys(dict(NAMES), reason) if reason else {}


def _why_not(wavefunction: Wavefunction) -> str:
    if wavefunction.promolecule:
        return "free atoms have no orbitals"
    if wavefunction.spinors is not None:
        return COMPLEX
    energies = np.concatenate([orbitals.energies for orbitals in wavefunction.sets])
    if wavefunction.localised or wavefunction.unordered or wavefunction.overlapping:
        return "it needs canonical orbitals, and these are localised or in no order of energies"
    if wavefunction.natural or not np.all(np.isfinite(energies)) or not np.any(energies):
        return _NO_ENERGIES
    return ""


def usual_level(wavefunction: Wavefunction, bias: float) -> float:
    """The level in hartree that a bias is counted from where none is named: the HOMO, or the LUMO for a positive one.

    Raises
    ------
    FieldError
        When there is no such orbital.
    """
    spins: tuple[Spin, ...] = ("alpha",) if wavefunction.beta is None else ("alpha", "beta")
    found = []
    for spin in spins:
        energies = wavefunction.orbitals(spin).energies
        occupied, unoccupied = frontier_order(wavefunction, spin)
        found += [energies[some] for some in (occupied if bias < 0 else unoccupied,) if some]
    if not found:
        which = "occupied" if bias < 0 else "unoccupied"
        raise FieldError(f"the file holds no {which} orbitals, so nothing is seen at a bias of {bias:+g} V")
    energies = np.concatenate(found)
    return float(energies.max() if bias < 0 else energies.min())


def _within(wavefunction: Wavefunction, low: float, high: float) -> tuple[Reals, Reals]:
    """Orbitals in a window of energies in hartree, and how many electrons each can hold."""
    chosen = [(of, (of.energies >= low) & (of.energies <= high)) for of in wavefunction.sets]
    coefficients = np.hstack([of.coefficients[:, which] for of, which in chosen])
    return coefficients, np.full(coefficients.shape[1], 2.0 if wavefunction.beta is None else 1.0)


def resolve(wavefunction: Wavefunction, name: str, references: References) -> SumField | None:
    """The field that a name stands for, or None.

    Raises
    ------
    FieldError
        When there are no energies, or no orbital is in the window.
    """
    match = _NAME.fullmatch(name.strip().lower())
    if match is None:
        return None
    if reason := _why_not(wavefunction):
        raise FieldError(f"field {name!r}: {reason}")
    bias, waves = float(match[1]), match[2]
    fermi = float(match[3]) * electronvolt if match[3] else usual_level(wavefunction, bias)
    low, high = sorted((fermi, fermi + bias * electronvolt))
    low, high = low - _ROUNDING, high + _ROUNDING
    coefficients, capacities = _within(wavefunction, low, high)
    if not coefficients.shape[1]:
        window = f"{low / electronvolt:.2f} to {high / electronvolt:.2f} eV"
        raise FieldError(f"field {name!r}: no orbital of the file is at {window}; choose a larger bias")
    if waves is None:
        expansion, unit, tip = density_products(wavefunction, coefficients, capacities, _SLIGHT), "bohr^-3", ""
    else:
        axes = sorted({"xyz".index(axis) for axis in waves})
        expansion = slope_products(wavefunction, coefficients, capacities, axes, _SLIGHT)
        unit, tip = "bohr^-5", f", tip of p waves along {' and '.join('xyz'[axis] for axis in axes)}"
    quantity = f"states at {bias:+g} V from {fermi / electronvolt:.2f} eV{tip}"
    return SumField((expansion,), quantity, unit, _FAINT, expansion, wavefunction.positions)
