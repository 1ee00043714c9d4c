"""PySCF (extra `orbitile[scf]`): Hartree-Fock and every functional of libxc, with effective core potentials."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...base.arrays import Reals
from ...base.errors import Cancelled, OrbitileError
from ...base.packages import install_command
from ...base.watch import checkpoint, patiently
from ...gaussians.orthonormality import checked
from ...integrals.solvent import without_radius
from ...model.elements import SYMBOLS
from ...model.geometry import Geometry
from ...model.wavefunction import Orbitals, Shell, Wavefunction
from ..calculation import Calculation, NotConverged, Response, Solution
from ..level_of_theory import functional, functions_of_pyscf, library, mean_field, molecule_of
from ..starting_densities import extrapolated_densities

PROGRAM = "PySCF"

_ROUGH_ENERGY, _ROUGH_GRID = 1e-5, 1
"""Change of the energy in hartree, and level of the grid, where the atoms are about to be elsewhere."""

_TIGHT = 1e-11, 1e-6
"""The same change of the energy, and the gradient, where forces are compared."""


def check(calculation: Calculation) -> None:
    """Refuse a method that PySCF lacks, or that does not go with unpaired electrons, or with smearing."""
    kind, name = functional(calculation)
    if kind == "ro" and calculation.smearing:
        raise OrbitileError(f"{calculation}: PySCF has no smearing of restricted open shells; ask for u{name}")


def obstacle(geometry: Geometry, calculation: Calculation) -> str:
    """Why PySCF cannot compute this, empty where it can."""
    if not find_spec("pyscf"):
        return f"the package pyscf is missing: {install_command('pyscf')}"
    return without_radius(geometry.atomic_numbers) if calculation.solvent else ""


def solve(
    geometry: Geometry,
    calculation: Calculation,
    before: Sequence[Wavefunction] = (),
    device: str | None = None,
    precision: str = "single",
    response: Response | None = None,
    rough: bool = False,
    tight: bool = False,
) -> Solution:
    """Self-consistent field, begun from densities extrapolated from frames before, or from atomic densities.

    PySCF computes on the CPU and in double precision, whatever is asked for.
    """
    return solution(geometry, calculation, before, rough, tight, lambda field: field)


def solution(
    geometry: Geometry,
    calculation: Calculation,
    before: Sequence[Wavefunction],
    rough: bool,
    tight: bool,
    moved: Callable[[Any], Any],
    run: Callable[[Callable[[], Any]], Any] = patiently,
) -> Solution:
    """The same by a mean field of PySCF that was `moved` to whatever computes it.

    What is withdrawn ends at once by default, and PySCF in a thread of its own at its next iteration; otherwise `run`
    says how what computes is called.

    Raises
    ------
    NotConverged
        When neither DIIS nor second order converge.
    OrbitileError
        As `orbitile.compute_series` does.
    """
    molecule = molecule_of(geometry, calculation)
    field = mean_field(molecule, calculation)
    if rough:
        field.conv_tol = _ROUGH_ENERGY
        if hasattr(field, "grids"):
            field.grids.level = _ROUGH_GRID
    elif tight:
        field.conv_tol, field.conv_tol_grad = _TIGHT
    field = moved(field)
    start = _start(molecule, before) if before else None
    iterations, is_withdrawn = [], threading.Event()

    def count(_: Any) -> None:
        checkpoint()
        if is_withdrawn.is_set():
            raise Cancelled("cancelled")
        iterations.append(1)

    def converged() -> Any:
        field.callback = count
        field.kernel(start)
        if field.converged:
            return field
        checkpoint()
        if calculation.smearing:
            return field
        second = field.newton()
        second.kernel(field.mo_coeff, field.mo_occ)
        return second

    checkpoint()
    try:
        field = run(converged)
    except np.linalg.LinAlgError as error:
        raise NotConverged(f"{calculation} broke down ({error}); are atoms too close to each other?") from error
    except BaseException:
        is_withdrawn.set()
        raise
    if not field.converged:
        tried = "by DIIS" if calculation.smearing else "by DIIS nor to second order"
        raise NotConverged(f"{calculation} did not converge, {tried}")
    coefficients, occupations, energies = (
        np.asarray(values.get() if hasattr(values, "get") else values)  # from a GPU
        for values in (field.mo_coeff, field.mo_occ, field.mo_energy)
    )
    found = wavefunction_of(molecule, coefficients, occupations, energies, method=str(calculation))
    energy, parts = float(field.e_tot), {}
    if calculation.solvent:
        parts["solvation"] = float(field.with_solvent.e)
    if calculation.smearing:
        parts["smearing"] = float(field.e_free) - energy
        energy = float(field.e_free)
    return Solution(found, energy, len(iterations), parts=parts)


def gradient(
    wavefunction: Wavefunction, calculation: Calculation, device: str | None = None, precision: str = "single"
) -> Reals:
    """Derivatives of the energy by PySCF, on the CPU and in double precision, whatever is asked for."""
    return gradient_of(wavefunction, calculation, lambda field: field)


def gradient_of(wavefunction: Wavefunction, calculation: Calculation, moved: Callable[[Any], Any]) -> Reals:
    """The same by a mean field of PySCF that was `moved` to whatever computes it.

    Raises
    ------
    OrbitileError
        When PySCF has no derivatives of such an energy.
    """
    molecule = molecule_of(Geometry(wavefunction.atomic_numbers, wavefunction.positions), calculation)
    field = mean_field(molecule, calculation)
    parts = [(_in_pyscf(molecule, o.coefficients), o.occupations, o.energies) for o in wavefunction.sets]
    field.mo_coeff, field.mo_occ, field.mo_energy = parts[0] if len(parts) == 1 else zip(*parts, strict=True)
    field.converged = True
    checkpoint()
    try:
        found = moved(field).nuc_grad_method().kernel()
    except NotImplementedError as error:  # what PySCF raises of methods whose forces it lacks
        raise OrbitileError(f"{calculation}: PySCF has no forces of this method ({error})") from error
    return np.asarray(found.get() if hasattr(found, "get") else found)


def _in_pyscf(molecule: Any, coefficients: Reals) -> Reals:
    """Coefficients of orbitals over PySCF's basis functions."""
    rows, factors = functions_of_pyscf(molecule)
    result = np.empty_like(coefficients)
    result[rows] = coefficients / factors[:, None]
    return result


def _start(molecule: Any, before: Sequence[Wavefunction]) -> Reals:
    """Density matrix that a field begins from: one of all electrons, or one for each spin."""
    rows, factors = functions_of_pyscf(molecule)
    overlap = molecule.intor_symmetric("int1e_ovlp")[rows[:, None], rows] / np.outer(factors, factors)
    densities = extrapolated_densities(before, overlap)
    result = np.empty_like(densities)
    result[:, rows[:, None], rows] = densities / np.outer(factors, factors)
    return result[0] if len(result) == 1 else result


def wavefunction_of(
    molecule: Any, coefficients: Any, occupations: Any, energies: Any, *, method: str = ""
) -> Wavefunction:
    """Wavefunction of a molecule of PySCF.

    Parameters
    ----------
    molecule : pyscf.gto.Mole
    coefficients, occupations, energies
        `mo_coeff`, `mo_occ` and `mo_energy` of a mean field; two of each where spins have orbitals of their own.
    method
        For people.

    Raises
    ------
    ConventionError
        When the orbitals are not orthonormal.
    """
    shells = []
    for n in range(molecule.nbas):
        for column in molecule.bas_ctr_coeff(n).T:
            l = molecule.bas_angular(n)
            shells.append(Shell(molecule.bas_atom(n), l, not molecule.cart, molecule.bas_exp(n), column))
    rows, factors = functions_of_pyscf(molecule)
    sets = (
        zip(coefficients, occupations, energies, strict=True)
        if np.ndim(coefficients) == 3
        else ((coefficients, occupations, energies),)
    )
    parts = [Orbitals(np.asarray(c)[rows] * factors[:, None], o, e) for c, o, e in sets]
    symbols = [molecule.atom_pure_symbol(n) for n in range(molecule.natm)]
    numbers = [0 if symbol.upper().startswith("GHOST") else SYMBOLS.index(symbol) for symbol in symbols]
    return checked(
        Wavefunction(
            atomic_numbers=np.array(numbers),
            positions=molecule.atom_coords(),
            core_charges=molecule.atom_charges().astype(np.float64),
            shells=tuple(shells),
            alpha=parts[0],
            beta=parts[1] if len(parts) > 1 else None,
            program=f"PySCF {library().__version__}",
            method=method,
        )
    )
