"""Vibrations of a molecule: normal modes, and how strongly each is seen in spectra."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from .geometry import Displayed, check_atoms
from .wavefunction import frozen, nothing

STRENGTHS = ("infrared", "raman", "rotatory")
"""Attributes of `Vibrations` that say how strongly a mode is seen; empty where a file has none."""

DERIVATIVES = ("hessian", "dipole_derivatives", "polarisability_derivatives")
"""Attributes of `Vibrations` from which modes and strengths follow, also for other isotopes."""

AMPLITUDE = 0.4
"""Largest displacement of an atom in Angstrom in pictures, unless another one is asked for."""
ARROW_COLOUR, ARROW_RADIUS = (0.2, 0.45, 0.85), 0.12
"""Of arrows along a mode; the radius in bohr."""
_LONGEST = 2.0
"""Length in bohr of the longest arrow, at least: it comes out of its ball."""
_LEAST = 0.15
"""Length, in that of the longest, below which an arrow is left out."""


@dataclass(frozen=True, eq=False)
class Vibrations(Displayed):
    """Normal modes of a molecule at a stationary point, translations and rotations left out.

    Attributes
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
    positions : ndarray, shape (n_atoms, 3)
        Of the stationary point, in bohr.
    masses : ndarray, shape (n_atoms,)
        In unified atomic mass units.
    wavenumbers : ndarray, shape (n_modes,)
        In cm^-1, ascending; those of imaginary modes negative.
    displacements : ndarray, shape (n_modes, n_atoms, 3)
        Cartesian displacements d along each mode, of which all squares of a mode add up to 1. Multiplied by the square
        roots of the masses, those of different modes are orthogonal.
    infrared : ndarray, shape (n_modes,)
        Integrated molar absorption coefficients in km/mol; NaN where unknown, empty where all are.
    raman : ndarray, shape (n_modes,)
        Raman activities in Angstrom^4/u, in the same way.
    rotatory : ndarray, shape (n_modes,)
        Rotatory strengths of vibrational circular dichroism in 1e-44 esu^2 cm^2, in the same way.
    symmetries : tuple of str
        Irreducible representations, one a mode; empty where unknown.
    energy : float
        Electronic energy at the stationary point in hartree; NaN where unknown.
    multiplicity : int
        Of the electrons, 1 for closed shells; 0 where unknown.
    hessian : ndarray, shape (3 n_atoms, 3 n_atoms)
        Second derivatives of the energy with the positions in hartree/bohr^2, translations and rotations among them;
        empty where unknown.
    dipole_derivatives : ndarray, shape (3 n_atoms, 3)
        Of the dipole moment, by coordinate, in e; empty where unknown.
    polarisability_derivatives : ndarray, shape (3 n_atoms, 3, 3)
        In bohr^2, in the same way.
    source : str
        The file.
    title : str
    method : str
        Of the calculation, such as B3LYP/6-31G*; empty where unknown.
    remarks : tuple of str
        What the reader should know before believing them, a sentence each.
    """

    atomic_numbers: NDArray[np.int64]
    positions: Reals
    masses: Reals
    wavenumbers: Reals
    displacements: Reals
    infrared: Reals = field(default_factory=nothing)
    raman: Reals = field(default_factory=nothing)
    rotatory: Reals = field(default_factory=nothing)
    symmetries: tuple[str, ...] = ()
    energy: float = math.nan
    multiplicity: int = 0
    hessian: Reals = field(default_factory=nothing)
    dipole_derivatives: Reals = field(default_factory=nothing)
    polarisability_derivatives: Reals = field(default_factory=nothing)
    source: str = ""
    title: str = ""
    method: str = ""
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        numbers = np.asarray(self.atomic_numbers)
        n_atoms, n_modes = len(numbers), len(self.wavenumbers)
        shapes: dict[str, tuple[type, tuple[int, ...]]] = {
            "atomic_numbers": (np.int64, (n_atoms,)),
            "positions": (np.float64, (n_atoms, 3)),
            "masses": (np.float64, (n_atoms,)),
            "wavenumbers": (np.float64, (n_modes,)),
            "displacements": (np.float64, (n_modes, n_atoms, 3)),
        }
        for name, (dtype, shape) in shapes.items():
            object.__setattr__(self, name, frozen(getattr(self, name), dtype, shape, f"{name} of vibrations"))
        for name in STRENGTHS:
            values = getattr(self, name)
            n = n_modes if len(values) else 0
            object.__setattr__(self, name, frozen(values, np.float64, (n,), f"{name} of vibrations", unknown=True))
        n = 3 * n_atoms
        for name, whole in zip(DERIVATIVES, ((n, n), (n, 3), (n, 3, 3)), strict=True):
            values = getattr(self, name)
            known = whole if np.size(values) else (0,)
            object.__setattr__(self, name, frozen(values, np.float64, known, f"{name} of vibrations"))
        check_atoms(self.atomic_numbers, self.positions)
        if self.symmetries and len(self.symmetries) != n_modes:
            raise OrbitileError(f"symmetries of vibrations: expected {n_modes}, got {len(self.symmetries)}")
        if not np.all(self.masses > 0):
            raise OrbitileError(f"masses: expected more than 0 u, got {float(self.masses.min()):g}")

    @property
    def n_modes(self) -> int:
        """Number of modes."""
        return len(self.wavenumbers)

    @property
    def n_imaginary(self) -> int:
        """Number of imaginary modes: 0 at a minimum, 1 at a transition state."""
        return int((self.wavenumbers < 0).sum())

    @property
    def reduced_masses(self) -> Reals:
        """Of the modes in u: sums of masses times squares of displacements, where these squares add up to 1."""
        return np.einsum("a,kax->k", self.masses, self.displacements**2)


def positions_along(vibrations: Vibrations, mode: int, amplitude: float, n_frames: int) -> Reals:
    """Positions of the atoms through one period of a mode, in which all move along straight lines.

    Parameters
    ----------
    vibrations
    mode
        Number of the mode, from 1.
    amplitude
        Largest displacement of any atom in bohr.
    n_frames
        Frames of the period, the first at rest: frame k has the phase 2 pi k / n_frames.

    Returns
    -------
    ndarray, shape (n_frames, n_atoms, 3)
        In bohr.

    Raises
    ------
    OrbitileError
        When there is no mode of this number.
    """
    phases = np.sin(2 * np.pi * np.arange(n_frames) / n_frames)
    return vibrations.positions + amplitude * phases[:, None, None] * motion_of(vibrations, mode)


def motion_of(vibrations: Vibrations, mode: int) -> Reals:
    """Displacements along a mode, counted from 1, of which the largest has the length 1; shape (n_atoms, 3).

    Raises
    ------
    OrbitileError
        When there is no mode of this number.
    """
    if not 1 <= mode <= vibrations.n_modes:
        raise OrbitileError(f"mode: expected a number from 1 to {vibrations.n_modes}, got {mode}")
    displacements = vibrations.displacements[mode - 1]
    return displacements / np.linalg.norm(displacements, axis=1).max()


def arrows_of(displacements: Reals, positions: Reals) -> list[Reals]:
    """Arrows from atoms along their displacements, shape (2, 3) in bohr each; those that hardly move have none.

    Of the two directions of a mode, which mean the same, they show the one that is outwards: not through the molecule.
    """
    lengths = np.linalg.norm(displacements, axis=1)
    if (displacements * (positions - positions.mean(axis=0))).sum() < 0:
        displacements = -displacements
    stretch = max(1.0, _LONGEST / float(lengths.max()))
    moving = np.flatnonzero(lengths > _LEAST * lengths.max())
    return [np.stack([positions[a], positions[a] + stretch * displacements[a]]) for a in moving]


def mode_name(vibrations: Vibrations, mode: int) -> str:
    """A mode for people: mode 7, 1712.3 cm^-1, A1."""
    value = vibrations.wavenumbers[mode - 1]
    symmetry = f", {vibrations.symmetries[mode - 1]}" if vibrations.symmetries else ""
    return f"mode {mode}, {f'{-value:.1f}i' if value < 0 else f'{value:.1f}'} cm^-1{symmetry}"
