"""Energies and forces for ASE, the Atomic Simulation Environment (extra `orbitile[optimisation]`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OrbitileError
from ..model.geometry import Geometry
from ..model.units import angstrom, electronvolt
from ..model.wavefunction import Wavefunction
from .calculation import HISTORY, Calculation, require_ase, sound
from .engines import AUTO, Solver, engine_of

require_ase()

from ase import Atoms  # noqa: E402  only where it is there
from ase.calculators.calculator import Calculator, all_changes  # noqa: E402  the same
from ase.calculators.singlepoint import SinglePointCalculator  # noqa: E402  the same
from ase.constraints import FixAtoms  # noqa: E402  the same
from ase.optimize import BFGS  # noqa: E402  the same


class AseCalculator(Calculator):
    """Kohn-Sham or Hartree-Fock energies and forces of molecules, in ASE's units (eV, Angstrom).

        atoms.calc = orbitile.AseCalculator(orbitile.Calculation("pbe", "6-31g*"))

    Each geometry begins from the orbitals of those before. Forces are derivatives of the energy with the points of the
    quadrature held in place, and so need not add up to zero: some 1e-5 hartree/bohr are missing.

    Parameters
    ----------
    calculation
        Method, basis set, charge and unpaired electrons. Where nothing is said, PBE in def2-SVP, with the charge and
        the unpaired electrons to which the initial charges and magnetic moments of ASE's atoms add up.
        `orbitile.calculation_for` has those of a file.
    engine, device, precision
        As for `orbitile.compute_series`.

    Attributes
    ----------
    wavefunction : Wavefunction or None
        Of the last geometry.
    parts : dict of str to float
        Parts of its energy that have a name of their own, in eV: "dispersion", "solvation", "smearing". With smearing
        the forces are derivatives of ASE's `free_energy`, and `energy` is extrapolated to 0 K.

    Raises
    ------
    OrbitileError
        When the charges or magnetic moments of the atoms are other than those of the calculation. When energies are
        asked for: as `orbitile.compute_series` does, when the self-consistent field does not converge, and when the
        atoms are periodic or at one place.
    """

    implemented_properties = ["energy", "free_energy", "forces"]  # noqa: RUF012 - as ASE declares it

    def __init__(
        self,
        calculation: Calculation | None = None,
        *,
        engine: str = AUTO,
        device: str | None = None,
        precision: str = "single",
    ) -> None:
        self._is_given = calculation is not None
        calculation = calculation or Calculation("pbe")
        super().__init__()  # type: ignore[no-untyped-call]  # ASE has no types
        self.calculation = calculation
        self._engine, self._device, self._precision = engine, device, precision
        self._solver: Solver | None = None
        self._recent: deque[Wavefunction] = deque(maxlen=HISTORY)
        self.parts: dict[str, float] = {}

    @property
    def wavefunction(self) -> Wavefunction | None:
        """Of the last geometry."""
        return self._recent[-1] if self._recent else None

    def begin_from(self, wavefunction: Wavefunction) -> None:
        """Take over orbitals that were computed before in the same way; their geometry is the current one then.

        Parameters
        ----------
        wavefunction
            Converged, from the same engine by the same calculation. Its forces are computed without another
            self-consistent field.
        """
        self.reset()  # type: ignore[no-untyped-call]  # ASE has no types
        self._forget_others(wavefunction.atomic_numbers)
        self._recent.append(wavefunction)
        self.atoms = atoms_of(Geometry(wavefunction.atomic_numbers, wavefunction.positions))

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: Sequence[str] = ("energy",),
        system_changes: Sequence[str] = all_changes,
    ) -> None:
        """Compute what ASE asks for; ASE calls this."""
        super().calculate(atoms, properties, system_changes)  # type: ignore[no-untyped-call]  # ASE has no types
        if system_changes:
            self.results = {}
        geometry = sound(geometry_of(self.atoms))
        self._take_electrons()
        self._forget_others(geometry.atomic_numbers)
        if self._solver is None:
            self._solver = engine_of(self._engine, geometry, self.calculation)
        how = (self.calculation, self._device, self._precision)
        if system_changes or not self._recent or {"energy", "free_energy"} & set(properties):
            solution = self._solver.solve(geometry, self.calculation, self._recent, self._device, self._precision)
            self._recent.append(solution.wavefunction)
            energy = solution.energy / electronvolt
            self.parts = {name: part / electronvolt for name, part in solution.parts.items()}
            self.results.update(energy=energy - self.parts.get("smearing", 0.0) / 2, free_energy=energy)
        if "forces" in properties:
            self.results["forces"] = self._solver.gradient(self._recent[-1], *how) * (-angstrom / electronvolt)

    def _take_electrons(self) -> None:
        """Have as many electrons as the atoms of ASE say, where nothing else is given."""
        atoms: Any = self.atoms
        charge = round(float(atoms.get_initial_charges().sum()))
        unpaired = abs(round(float(atoms.get_initial_magnetic_moments().sum())))
        now = replace(self.calculation, charge=charge, unpaired=unpaired)
        if now == self.calculation:
            return
        if not self._is_given:
            self.calculation = now
            self._recent.clear()
            self._solver = None
        elif (charge and charge != self.calculation.charge) or (unpaired and unpaired != self.calculation.unpaired):
            raise OrbitileError(
                f"atoms of ASE: their initial charges and magnetic moments make a charge of {charge:+d} and {unpaired} "
                f"unpaired electrons, the calculation is {self.calculation}; make them agree"
            )

    def _forget_others(self, atomic_numbers: NDArray[np.int64]) -> None:
        """Drop what belongs to other atoms."""
        if self._recent and not np.array_equal(self._recent[-1].atomic_numbers, atomic_numbers):
            self._recent.clear()
            self._solver = None


def atoms_of(geometry: Geometry) -> Atoms:
    """Atoms of ASE."""
    return Atoms(numbers=geometry.atomic_numbers, positions=geometry.positions / angstrom)


def geometry_of(atoms: Any) -> Geometry:
    """Geometry of atoms of ASE.

    Raises
    ------
    OrbitileError
        When they are periodic.
    """
    if atoms.pbc.any():
        raise OrbitileError("atoms: expected a molecule, got a periodic cell; atoms.pbc = False makes it a molecule")
    return Geometry(np.asarray(atoms.numbers, np.int64), atoms.positions * angstrom)


def bfgs(atoms: Atoms) -> BFGS:
    """ASE's optimiser by the method of Broyden, Fletcher, Goldfarb and Shanno, which prints nothing."""
    return BFGS(atoms, logfile=None)


def hold(atoms: Atoms, held: Sequence[int]) -> None:
    """Leave atoms of ASE where they are."""
    atoms.set_constraint(FixAtoms(held))  # type: ignore[no-untyped-call]  # ASE has no types


def give_forces(atoms: Atoms, forces: NDArray[np.float64]) -> None:
    """Let atoms of ASE have forces that are known, shape (n_atoms, 3) in hartree/bohr, as long as they stay there."""
    atoms.calc = SinglePointCalculator(atoms, forces=forces * (angstrom / electronvolt))  # type: ignore[no-untyped-call]  # ASE has no types
