r"""Enthalpy, entropy and free energy of an ideal gas from vibrations: rigid rotor, harmonic oscillators.

Partition functions are those of D. A. McQuarrie, *Statistical Mechanics*, chapters 5, 6 and 8. The harmonic entropy of
a mode has no bound as its wavenumber goes to zero, so low modes may be treated otherwise: `LOW_MODES`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..model.normal_modes import is_linear
from ..model.units import dalton, kelvin, pascal, wavenumber
from ..model.vibrations import Vibrations

LOW_MODES = ("harmonic", "grimme", "truhlar")
"""How low modes are treated: as all others; their entropy goes over to that of free rotors below 100 cm^-1 (S. Grimme,
Chem. Eur. J. 2012, 18, 9955); in the entropy and the energy they have 100 cm^-1 (R. F. Ribeiro, A. V. Marenich, C. J.
Cramer, D. G. Truhlar, J. Phys. Chem. B 2011, 115, 14556)."""

TEMPERATURE, PRESSURE = 298.15, 101325.0
"""In K and Pa, where nothing else is asked for."""

_LOW = 100.0 * wavenumber
"""In hartree, of both treatments of low modes."""

_MOMENT = 1e-44 / 2.55088724e-51
"""Moment of inertia that free rotors of low modes have at most, 1e-44 kg m^2, in m_e bohr^2."""

_SAME_PLACE, _OFF_CENTRE = 0.1, 0.5
"""Distance in bohr by which a rotation may miss an atom, and that from which on an atom is not at the centre, or on an
axis."""


@dataclass(frozen=True)
class Contribution:
    """What one kind of motion contributes, in hartree and hartree/K: translation, rotation, vibration, electrons."""

    name: str
    energy: float
    entropy: float
    heat_capacity: float


@dataclass(frozen=True)
class Thermochemistry:
    """An ideal gas of molecules.

    Attributes
    ----------
    temperature, pressure : float
        In K and Pa.
    symmetry_number, multiplicity : int
    low_modes : str
        Of `LOW_MODES`.
    electronic_energy, zero_point_energy : float
        In hartree; the former NaN where unknown.
    contributions : tuple of Contribution
        Energies without those at 0 K.
    """

    temperature: float
    pressure: float
    symmetry_number: int
    multiplicity: int
    low_modes: str
    electronic_energy: float
    zero_point_energy: float
    contributions: tuple[Contribution, ...]

    @property
    def enthalpy_correction(self) -> float:
        """Enthalpy less the electronic energy, in hartree: the zero-point energy, thermal energies, and kT for pV."""
        thermal = sum(part.energy for part in self.contributions)
        return self.zero_point_energy + thermal + kelvin * self.temperature

    @property
    def entropy(self) -> float:
        """In hartree/K."""
        return sum(part.entropy for part in self.contributions)

    @property
    def free_energy_correction(self) -> float:
        """Gibbs free energy less the electronic energy, in hartree."""
        return self.enthalpy_correction - self.temperature * self.entropy

    @property
    def heat_capacity(self) -> float:
        """At constant pressure, in hartree/K."""
        return sum(part.heat_capacity for part in self.contributions) + kelvin


def thermochemistry(
    vibrations: Vibrations,
    temperature: float = TEMPERATURE,
    pressure: float = PRESSURE,
    *,
    symmetry_number: int | None = None,
    multiplicity: int | None = None,
    low_modes: str = LOW_MODES[0],
    scale: float = 1.0,
) -> Thermochemistry:
    """Enthalpy, entropy and free energy of a molecule in an ideal gas. Imaginary modes are left out.

    Parameters
    ----------
    vibrations
    temperature, pressure
        In K and Pa.
    symmetry_number
        Rotations that map the molecule onto itself; by default it is found, see `symmetry_number_of`.
    multiplicity
        Degeneracy of the electronic state; by default that of the file, 1 where it does not tell.
    low_modes
        One of `LOW_MODES`.
    scale
        Factor for all wavenumbers.

    Raises
    ------
    OrbitileError
        When the molecule is no gas, in the field of charges; when a number is not positive.
    """
    n = len(vibrations.masses)
    if vibrations.n_modes == 3 * n:
        raise OrbitileError("thermochemistry: the molecule is in the field of charges, and no ideal gas")
    if low_modes not in LOW_MODES:
        raise OrbitileError(f"low modes: expected {', '.join(LOW_MODES)}, got {low_modes!r}")
    sigma = symmetry_number_of(vibrations) if symmetry_number is None else symmetry_number
    degeneracy = (vibrations.multiplicity or 1) if multiplicity is None else multiplicity
    given = (temperature, pressure, sigma, degeneracy, scale)
    for name, value in zip(("temperature", "pressure", "symmetry number", "multiplicity", "scale"), given, strict=True):
        if not 0 < value < np.inf:
            raise OrbitileError(f"{name}: expected more than 0, got {value:g}")
    energies = scale * wavenumber * vibrations.wavenumbers[vibrations.wavenumbers > 0]
    return Thermochemistry(
        temperature,
        pressure,
        sigma,
        degeneracy,
        low_modes,
        vibrations.energy,
        0.5 * float(energies.sum()),
        (
            _translation(vibrations.masses, temperature, pressure),
            _rotation(vibrations, temperature, sigma),
            _vibration(energies, temperature, low_modes),
            Contribution("electrons", 0.0, kelvin * float(np.log(degeneracy)), 0.0),
        ),
    )


def _translation(masses: Reals, temperature: float, pressure: float) -> Contribution:
    thermal = kelvin * temperature
    states = (masses.sum() * dalton * thermal / (2 * np.pi)) ** 1.5 * thermal / (pressure * pascal)
    return Contribution("translation", 1.5 * thermal, kelvin * (2.5 + float(np.log(states))), 1.5 * kelvin)


def _rotation(vibrations: Vibrations, temperature: float, sigma: int) -> Contribution:
    positions, masses = vibrations.positions, vibrations.masses * dalton
    if len(masses) == 1:
        return Contribution("rotation", 0.0, 0.0, 0.0)
    from_centre = positions - masses @ positions / masses.sum()
    tensor = np.einsum("a,ai,aj->ij", masses, from_centre, from_centre)
    moments = np.linalg.eigvalsh(np.trace(tensor) * np.eye(3) - tensor)
    thermal = kelvin * temperature
    if is_linear(positions):
        states, halves = 2 * moments[2] * thermal / sigma, 2
    else:
        states, halves = np.sqrt(np.pi * np.prod(2 * moments * thermal)) / sigma, 3
    return Contribution(
        "rotation", halves / 2 * thermal, kelvin * (halves / 2 + float(np.log(states))), halves / 2 * kelvin
    )


def _vibration(energies: Reals, temperature: float, low_modes: str) -> Contribution:
    thermal = kelvin * temperature
    if low_modes == "truhlar":
        energies = np.maximum(energies, _LOW)
    x = energies / thermal
    occupation = 1 / np.expm1(x)
    entropies = x * occupation - np.log(-np.expm1(-x))
    if low_modes == "grimme":
        moments = 1 / (2 * energies)
        moments = moments * _MOMENT / (moments + _MOMENT)
        of_rotor = 0.5 + np.log(np.sqrt(2 * np.pi * moments * thermal))
        weight = 1 / (1 + (_LOW / energies) ** 4)
        entropies = weight * entropies + (1 - weight) * of_rotor
    heat = kelvin * float((x**2 * occupation * (occupation + 1)).sum())
    return Contribution("vibration", float((energies * occupation).sum()), kelvin * float(entropies.sum()), heat)


def symmetry_number_of(vibrations: Vibrations) -> int:
    """How many rotations map the molecule onto itself, every atom to within 0.1 bohr of one of its isotope.

    1 for an atom; a linear molecule is mapped onto itself by turning it about its axis, which does not count.
    """
    masses = np.round(vibrations.masses, 3)
    kinds = np.unique(np.column_stack([vibrations.atomic_numbers, masses]), axis=0, return_inverse=True)[1].ravel()
    positions = vibrations.positions - masses @ vibrations.positions / masses.sum()
    if len(masses) == 1:
        return 1
    if is_linear(positions):
        return 2 if _maps(-np.eye(3), positions, kinds) else 1
    radii = np.linalg.norm(positions, axis=1)
    alike = (kinds[:, None] == kinds) & (np.abs(radii[:, None] - radii) < 2 * _SAME_PLACE)
    choices = alike.sum(axis=1)
    # the images of two atoms that are not on a line with the centre determine a rotation
    first = int(np.argmin(np.where(radii > _OFF_CENTRE, choices, len(masses) + 1)))
    beside = np.linalg.norm(np.cross(positions[first], positions), axis=1) / radii[first] > _OFF_CENTRE
    second = int(np.argmin(np.where(beside, choices, len(masses) + 1)))
    frame, distance = _frame(positions[first], positions[second]), np.linalg.norm(positions[first] - positions[second])
    images = [
        (a, b)
        for a in np.flatnonzero(alike[first])
        for b in np.flatnonzero(alike[second])
        if abs(np.linalg.norm(positions[a] - positions[b]) - distance) < 2 * _SAME_PLACE
    ]
    return sum(_maps(_frame(positions[a], positions[b]).T @ frame, positions, kinds) for a, b in images)


def _frame(along: Reals, aside: Reals) -> Reals:
    """Orthonormal axes as rows: along a vector, in the plane with another one, and across it."""
    axes = np.array([along, np.cross(np.cross(along, aside), along), np.cross(along, aside)])
    return axes / np.linalg.norm(axes, axis=1, keepdims=True)


def _maps(rotation: Reals, positions: Reals, kinds: NDArray[np.integer]) -> bool:
    """Whether each atom comes to the place of one of its kind."""
    distances = np.linalg.norm((positions @ rotation.T)[:, None] - positions, axis=2)
    nearest = distances.argmin(axis=1)
    return bool(np.all(distances.min(axis=1) < _SAME_PLACE) and np.array_equal(kinds[nearest], kinds))
