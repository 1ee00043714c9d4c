r"""Electrons along a vibration: `mode:N:density`, the change of the density with the normal coordinate.

With the mass-weighted normal coordinate Q of mode N, positions :math:`x_0 + Q\, d / \sqrt\mu` for displacements d whose
squares add up to 1 and the reduced mass mu, and the dimensionless :math:`q = Q \sqrt{\omega / \hbar}`, of which the
vibrational ground state has a mean square of 1/2,

.. math::  \frac{\partial\rho}{\partial q} \approx \frac{\rho(q) - \rho(-q)}{2 q}

from two self-consistent fields, in a series beside the file of the vibrations (`readers/_modes.py`). Its integral is
0, and its dipole, with that of the nuclei, is what the infrared intensity is the square of.
"""

from __future__ import annotations

import re

import numpy as np

from ..base.caches import Derived
from ..base.errors import FieldError
from ..files.reading import user_path
from ..gaussians.expansion import GaussianExpansion, merged
from ..model.units import dalton, wavenumber
from ..model.vibrations import Vibrations, mode_name
from ..model.wavefunction import Wavefunction
from ..readers._modes import frames_beside, mode_file
from ..readers._surroundings import at_same_places, file_of
from . import References
from ._sums import SumField
from .density import density_field, density_of

PRIORITY = 28
GROUP = "Vibrations"
NAMES = (("mode:N:density", "How the density changes along the Nth vibration, by its dimensionless coordinate"),)

_NAME = re.compile(r"mode:(\d{1,9}):density")

_ISOVALUE = 0.003

_SOFT = 1.0
"""Wavenumber in cm^-1 below which a mode has no length of its own."""

_CHANGES = Derived[tuple[str, GaussianExpansion]]("sums of Gaussians")


def coordinate_step(vibrations: Vibrations, mode: int, before: Wavefunction, after: Wavefunction) -> float:
    """By how much the dimensionless coordinate of a mode, counted from 1, differs between two geometries along it.

    Raises
    ------
    FieldError
        When its wavenumber is about 0.
    """
    value = float(vibrations.wavenumbers[mode - 1])
    if abs(value) < _SOFT:
        raise FieldError(f"mode {mode}: its wavenumber is {value:.2f} cm^-1, so that it has no length of its own")
    masses, d = vibrations.masses * dalton, vibrations.displacements[mode - 1]
    reduced = float(vibrations.reduced_masses[mode - 1]) * dalton
    along = float(np.einsum("a,ax,ax->", masses, d, after.positions - before.positions)) / np.sqrt(reduced)
    return along * float(np.sqrt(abs(value) * wavenumber))


def change_of_density(vibrations: Vibrations, mode: int, before: Wavefunction, after: Wavefunction) -> SumField:
    """The change of the density with a dimensionless normal coordinate, a field in e bohr^-3.

    Parameters
    ----------
    vibrations
    mode
        Counted from 1.
    before, after
        Of two geometries along it.
    """
    step = coordinate_step(vibrations, mode, before, after)

    def make() -> GaussianExpansion:
        parts = [density_of(wavefunction).scaled(sign / step) for wavefunction, sign in ((after, 1), (before, -1))]
        return merged(parts)

    frozen = " of frozen orbitals" if "frozen orbitals" in after.method else ""
    quantity = f"change of the density{frozen} along {mode_name(vibrations, mode)}"
    return density_field(after, make(), quantity, _ISOVALUE, is_difference=True)


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """The name, with the reason, of a wavefunction that was read from no file of vibrations."""
    file = file_of(wavefunction)
    beside = mode_file(file, 1) if file else None
    if beside is not None and any(beside.parent.glob(f"{beside.stem[:-1]}*{beside.suffix}")):
        return {}
    return {"mode:N:density": _NO_FILE}


_NO_FILE = (
    "electrons along this mode are not beside its file; orb_electrons computes them, and `orbitile vibrations FILE "
    "--electrons N`"
)


def resolve(wavefunction: Wavefunction, name: str, references: References) -> SumField | None:
    """The field that a name stands for, or None for another name.

    Raises
    ------
    FieldError
        When the electrons along the mode are not beside the file of the wavefunction, or are of other atoms.
    FileError
        When they cannot be read.
    """
    match = _NAME.fullmatch(name.strip().lower())
    if match is None:
        return None
    mode, file = int(match[1]), file_of(wavefunction)
    if not file or not (beside := mode_file(file, mode)).exists():
        raise FieldError(f"field {name!r}: {_NO_FILE}")
    vibrations, before, after = frames_beside(beside, mode)
    is_frame = beside.resolve() == user_path(file).resolve()
    real = wavefunction.atomic_numbers > 0
    if not np.array_equal(wavefunction.atomic_numbers[real], vibrations.atomic_numbers) or not (
        is_frame or at_same_places(wavefunction.positions[real], vibrations.positions)
    ):
        raise FieldError(
            f"field {name!r}: {beside.name} has other atoms, or in other places; orbitile vibrations FILE --electrons "
            f"{mode} computes it again"
        )
    return change_of_density(vibrations, mode, before, after)
