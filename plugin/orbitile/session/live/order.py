"""What is asked of the process that computes a live molecule, and what it answers: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...base.errors import OrbitileError
from ...model.wavefunction import Wavefunction
from ...pictures.request import Request, Sample
from ...scf.calculation import Calculation
from ...scf.engines import AUTO

Positions = NDArray[np.float64]


def energy_text(energy: float, parts: Mapping[str, float] | None = None) -> str:
    """A total energy, in hartree, for people, with its parts that have a name of their own."""
    named = ", ".join(f"{name} {part:.7f}" for name, part in (parts or {}).items())
    return f"{energy:.7f} hartree" + (f" ({named})" if named else "")


@dataclass(frozen=True)
class Level:
    """How a live molecule is computed.

    Attributes
    ----------
    calculation : Calculation
    engine : str
        As for `orbitile.compute_series`.
    device, precision : str
        The same.
    """

    calculation: Calculation
    engine: str = AUTO
    device: str = "auto"
    precision: str = "single"


@dataclass(frozen=True)
class Relaxation:
    """How forces move the atoms.

    Attributes
    ----------
    hardness : float
        From 0 to 1: share of the largest step that an atom may take at once, which is 0.2 Angstrom.
    held : tuple of int
        Atoms that stay where they are, from 0.
    """

    hardness: float
    held: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Order:
    """What is asked for at once: one geometry.

    Attributes
    ----------
    key : str
        Of the live molecule: the process keeps what it knows of the last one.
    level : Level
    atomic_numbers : ndarray of int, shape (n_atoms,)
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    name : str
        Of the molecule.
    folder : str
        Where the wavefunction is written to, to a file named after the molecule.
    fields : tuple of Request
        What is to be sampled; orbitals by the numbers that they had at first, others by name. Where they are from is
        not looked at.
    relaxation : Relaxation or None
        Forces are wanted, and a step along them.
    after : Converged or None
        The converged geometry that it continues from: the self-consistent field begins there, and orbitals are matched
        with those there. Where its positions are the same, it is what is asked for, and only fields are computed. Its
        samples are not looked at.
    compares : bool
        The field of `after` is to be compared with one that begins from atoms, and the lower one is what is asked for:
        where orbitals cross or bonds are torn, what was dragged along may be an excited state.
    rough : bool
        The atoms are about to be elsewhere: a coarse grid and loose criteria do.
    like : Wavefunction or None
        Where nothing was before: what phases are to be as in, and degenerate orbitals, in whatever basis set.
    """

    key: str
    level: Level
    atomic_numbers: NDArray[np.int64]
    positions: Positions
    name: str
    folder: str
    fields: tuple[Request, ...] = ()
    relaxation: Relaxation | None = None
    after: Converged | None = None
    compares: bool = False
    rough: bool = False
    like: Wavefunction | None = None

    def lowered_by(self, found: Converged) -> float:
        """By how much an answer that was to be compared is lower than what it was compared with, in hartree."""
        is_other = self.compares and self.after is not None and self.after.source != found.source
        return self.after.energy - found.energy if is_other and self.after is not None else 0.0


@dataclass(frozen=True, eq=False)
class Converged:
    """A converged geometry.

    Attributes
    ----------
    positions : ndarray, shape (n_atoms, 3)
        In bohr, as they were asked for.
    wavefunction : Wavefunction
        Orbitals in the order of their energies; phases, and degenerate ones, as in the geometry before.
    source : str
        The file it was written to, `OneFile` as text.
    first_names : dict of str to str
        Names that orbitals had in the first geometry, by their names in this one.
    energy : float
        In hartree.
    n_iterations : int
    seconds : float
        Of the self-consistent field.
    samples : tuple of Sample or OrbitileError
        Of the fields that were asked for, in their order; the request of each is of this wavefunction.
    largest_force : float or None
        On an atom that is not held, in hartree/bohr, where forces were wanted.
    relaxed : ndarray of shape (n_atoms, 3), OrbitileError or None
        Where the forces take the atoms, in bohr, or why they do not, where forces were wanted.
    is_compared : bool
        Whether a field that begins from atoms is not lower.
    is_rough : bool
        Whether it was computed as a geometry that is passed, see `Order`: the energy is right to some 1e-4 hartree.
    parts : dict of str to float
        Parts of the energy, see `Solution`.
    """

    positions: Positions
    wavefunction: Wavefunction
    source: str
    first_names: dict[str, str]
    energy: float
    n_iterations: int
    seconds: float
    samples: tuple[Sample | OrbitileError, ...] = ()
    largest_force: float | None = None
    relaxed: Positions | OrbitileError | None = None
    is_compared: bool = False
    is_rough: bool = False
    parts: Mapping[str, float] = field(default_factory=dict)
