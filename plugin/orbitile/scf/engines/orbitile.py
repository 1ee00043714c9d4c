"""Kohn-Sham theory by kernels of our own, on the CPU and on any GPU, with exact exchange: Hartree-Fock among it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec

import numpy as np

from taichi_kernels.devices import probe
from taichi_kernels.target import Target

from ... import __version__
from ...base.arrays import Reals, one_thread_of_blas
from ...base.errors import OrbitileError
from ...base.memory import require_memory
from ...base.packages import install_command
from ...evaluation.devices import device_session
from ...gaussians.orthonormality import checked
from ...integrals.exchange import exchange_of
from ...integrals.external_charges import gradient_at_atoms
from ...integrals.forces import kohn_sham_gradient
from ...integrals.functionals import functional
from ...integrals.grids import exchange_grid_of, grid_of
from ...integrals.one_electron import overlap
from ...integrals.pairs import pairs_of
from ...integrals.quadrature import quadrature_of
from ...integrals.solvent import cavity_of, solvation_gradient, without_radius
from ...integrals.solvents import dielectric_constant
from ...model.geometry import Geometry
from ...model.units import kelvin
from ...model.wavefunction import Basis, Orbitals, Wavefunction
from ..calculation import Calculation, FockResponse, Response, Solution, check_electrons, check_room, method_of
from ..core_potentials import CorePotential, core_potential_gradient, core_potential_matrix, core_potentials
from ..kohn_sham import LEVEL, LIGHT, Criteria, Field, Hamiltonian, self_consistent_field
from ..level_of_theory import core_electrons, shells_of
from ..occupation import Occupation
from ..starting_densities import extrapolated_densities, superposed_densities

PRIORITY = 20
SLOW = ("hf",)
PROGRAM = "Orbitile"

_HIGHEST = 8
"""Angular momentum up to which there are kernels for the products of two functions."""

_CRITERIA = {"single": Criteria(1e-7, 1e-5), "double": Criteria(1e-9, 3e-6)}
"""By precision: an energy of terms in single precision does not settle to more digits. Energies of orbitals are off by
about the gradient: by up to 4e-5 hartree with 3e-5."""

_WITH_SOLVENT = 3e-6
"""Gradient where the energy of solvation is told: what is left of that part falls with the gradient, not with its
square, and is some 3e-8 hartree then."""

_ROUGH = Criteria(1e-5, 3e-4, settled=False)
"""Where the atoms are about to be elsewhere."""

_TIGHT = Criteria(1e-10, 1e-6)
"""Where forces are compared, in double precision."""

_OPEN_SHELLS = [*range(21, 30), *range(39, 48), *range(57, 80), *range(89, 112)]
"""Atomic numbers with d or f shells that may be partly filled: DIIS often ends on a saddle point of their energy."""

_MATRICES = 32
"""Matrices over basis functions and spin that are held at once: DIIS has three times eight."""

_OF_TAU = 18
"""The same for a functional of tau: two matrices over derivatives of basis functions."""

_POINTS = 14_000
"""Points of the grid of an atom, at most; those of hydrogen are half as many."""

_BYTES_A_POINT = 400


def check(calculation: Calculation) -> None:
    """Refuse a method that is not among ours."""
    if reason := _unserved(calculation):
        raise OrbitileError(f"engine orbitile: {reason}")


def obstacle(geometry: Geometry, calculation: Calculation) -> str:
    """Why this engine cannot compute it, empty where it can; errors of basis sets are those of `shells_of`."""
    if reason := _unserved(calculation):
        return reason
    if core_electrons(geometry, calculation) and not find_spec("pyscf"):
        return (
            f"basis set {calculation.basis!r} has effective core potentials for these atoms, whose integrals need the "
            f"package pyscf: {install_command('pyscf')}"
        )
    if calculation.solvent and (missing := without_radius(geometry.atomic_numbers)):
        return missing
    highest = max((shell.angular_momentum for shell in shells_of(geometry, calculation)), default=0)
    return f"its functions go up to l = {_HIGHEST}, got l = {highest}" if highest > _HIGHEST else ""


def _unserved(calculation: Calculation) -> str:
    found = method_of(calculation, _known)
    if found is None:
        return f"method {calculation.method!r} is no functional of the density, its gradient and tau alone"
    return "restricted open shells have no smearing" if found[0] == "ro" and calculation.smearing else ""


def _known(name: str) -> str:
    try:
        return functional(name).name
    except OrbitileError:
        return ""


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
    """Self-consistent field, begun from densities extrapolated from frames before or from superposed atoms.

    Raises
    ------
    NotConverged
        When it does not converge; says by how much.
    OrbitileError
        When charge and unpaired electrons do not go together, there is no such basis set, or not enough memory.
    """
    check(calculation)
    kind, _ = method_of(calculation, _known) or ("", "")
    potentials = core_potentials(geometry, calculation)
    core = np.array([potentials[n].electrons if n in potentials else 0 for n in geometry.atomic_numbers.tolist()])
    charges = (geometry.atomic_numbers - core).astype(np.float64)
    electrons = int(charges.sum()) - calculation.charge
    check_electrons(electrons, int(core.sum()), calculation)
    basis = Basis(shells_of(geometry, calculation), geometry.positions)
    beta = (electrons - calculation.unpaired) // 2
    check_room(beta + calculation.unpaired, basis.n_basis, calculation)
    occupation = Occupation(
        (beta,) if kind == "r" else (beta + calculation.unpaired, beta), kind == "ro", calculation.smearing * kelvin
    )
    n_spins = len(occupation.occupied)
    _require_memory(basis, n_spins, calculation)
    with device_session(device, precision) as target, one_thread_of_blas(basis.n_basis):
        hamiltonian = hamiltonian_of(geometry, charges, basis, calculation, target, close=bool(before), rough=rough)
        if before:
            start = extrapolated_densities(before, hamiltonian.overlap)
        else:
            start = _of_atoms(
                geometry, basis, potentials, n_spins, symmetric=bool(calculation.unpaired) or kind == "ro"
            )
        criteria = _CRITERIA[precision]
        known = response if isinstance(response, FockResponse) else None
        if rough or tight:
            criteria = _ROUGH if rough else _TIGHT
        elif calculation.solvent:
            criteria = replace(criteria, gradient=_WITH_SOLVENT)
        # two spins with as many electrons often become closed shells; frames after the first stay as they are
        many = not calculation.unpaired or np.isin(geometry.atomic_numbers, _OPEN_SHELLS).any()
        downhill = bool(n_spins == 2 and many and not (before or rough or calculation.smearing))
        field = self_consistent_field(hamiltonian, occupation, start, criteria, str(calculation), known, downhill)
        found = _wavefunction(geometry, charges, basis, calculation, field)
    parts = {"solvation": hamiltonian.solvation} if calculation.solvent else {}
    if calculation.smearing:
        parts["smearing"] = field.smearing
    return Solution(found, field.energy, field.n_iterations, field.response, parts)


def gradient(
    wavefunction: Wavefunction, calculation: Calculation, device: str | None = None, precision: str = "single"
) -> Reals:
    """Derivatives of the energy with respect to the positions of the atoms, shape (n_atoms, 3), in hartree/bohr.

    Parameters
    ----------
    wavefunction
        As `solve` gives it.
    calculation, device, precision
        As for `solve`.
    """
    kind, name = method_of(calculation, _known) or ("", "")
    geometry = Geometry(wavefunction.atomic_numbers, wavefunction.positions)
    sets = [(o.coefficients, o.occupations, o.energies) for o in wavefunction.sets]
    if kind == "ro":
        ((c, n, e),) = sets
        sets = [(c, (n > least).astype(np.float64), e) for least in (0.5, 1.5)]
    densities = [(c[:, n > 0] * n[n > 0]) @ c[:, n > 0].T for c, n, _ in sets]
    with device_session(device, precision) as target, one_thread_of_blas(wavefunction.n_basis):
        if kind == "ro":
            basis = Basis(wavefunction.shells, wavefunction.positions)
            hamiltonian = hamiltonian_of(geometry, wavefunction.core_charges, basis, calculation, target, close=True)
            _, matrices = hamiltonian.fock(np.array(densities), exact=True)
            weighted = sum(d @ fock @ d for d, fock in zip(densities, matrices, strict=True))
        else:
            weighted = sum((c[:, n > 0] * (n * e)[n > 0]) @ c[:, n > 0].T for c, n, e in sets)
        on_grid = target
        if wavefunction.atomic_numbers.max() > LIGHT and probe(target.device).double:
            on_grid = Target(target.device, "double")
        grid = grid_of(wavefunction.atomic_numbers, wavefunction.positions, target, LEVEL)
        pairs, charges = pairs_of(wavefunction), wavefunction.core_charges
        numbers, positions = wavefunction.atomic_numbers, wavefunction.positions
        quadrature, exchange = quadrature_of(pairs, grid, on_grid), None
        if functional(name).is_hybrid:
            points = exchange_grid_of(numbers, positions, target, "finest")
            exchange = exchange_of(wavefunction, points, overlap(pairs, target), on_grid)
        result = kohn_sham_gradient(
            wavefunction,
            charges,
            densities,
            weighted,
            quadrature,
            functional(name),
            target,
            exchange,
            atoms_with_points=numbers if precision == "double" else None,
        )
        if calculation.solvent:
            cavity = cavity_of(numbers, positions, dielectric_constant(calculation.solvent))
            result += solvation_gradient(cavity, pairs, np.sum(densities, axis=0), charges, positions, target)
        if (external := calculation.external_charges) is not None:
            result += gradient_at_atoms(external, pairs, np.sum(densities, axis=0), charges, positions, target)
    if np.any(wavefunction.core_charges != wavefunction.atomic_numbers):
        result += core_potential_gradient(geometry, calculation, np.sum(densities, axis=0))
    return result


def hamiltonian_of(
    geometry: Geometry,
    charges: Reals,
    basis: Basis,
    calculation: Calculation,
    target: Target,
    *,
    close: bool,
    rough: bool = False,
) -> Hamiltonian:
    """The operator of a calculation; charges are those that the electrons see."""
    _, name = method_of(calculation, _known) or ("", "")
    cores = core_potential_matrix(geometry, calculation) if np.any(charges != geometry.atomic_numbers) else None
    dielectric = dielectric_constant(calculation.solvent) if calculation.solvent else 0.0
    return Hamiltonian(
        geometry.atomic_numbers,
        basis,
        functional(name),
        target,
        close,
        rough,
        charges,
        cores,
        dielectric,
        calculation.external_charges,
    )


def _require_memory(basis: Basis, n_spins: int, calculation: Calculation) -> None:
    _, name = method_of(calculation, _known) or ("", "")
    of_tau = _OF_TAU if name and functional(name).needs_tau else 0
    matrices = 8 * (_MATRICES * n_spins + of_tau) * basis.n_basis**2
    grid = _BYTES_A_POINT * _POINTS * len(basis.positions)
    require_memory(matrices + grid, f"{calculation} of {basis.n_basis} functions", "choose a smaller basis set")


def _of_atoms(
    geometry: Geometry, basis: Basis, potentials: Mapping[int, CorePotential], n_spins: int, *, symmetric: bool
) -> Reals:
    """Density matrices of superposed atoms; not `symmetric`, spins alternate from atom to atom.

    Orbitals that are to be unrestricted though no electron is unpaired would stay restricted otherwise.
    """
    density = superposed_densities(geometry.atomic_numbers, basis.shells, potentials)
    if n_spins == 1:
        return density[None]
    atoms = np.repeat([shell.atom for shell in basis.shells], [shell.n_functions for shell in basis.shells])
    share = np.zeros(len(atoms)) if symmetric else 0.5 * (-1.0) ** atoms
    return np.array([0.5 * (1 + share[:, None]) * density, 0.5 * (1 - share[:, None]) * density])


def _wavefunction(
    geometry: Geometry,
    charges: Reals,
    basis: Basis,
    calculation: Calculation,
    field: Field,
) -> Wavefunction:
    sets = [Orbitals(*each) for each in zip(field.coefficients, field.occupations, field.orbital_energies, strict=True)]
    return checked(
        Wavefunction(
            atomic_numbers=geometry.atomic_numbers,
            positions=geometry.positions,
            core_charges=charges,
            shells=basis.shells,
            alpha=sets[0],
            beta=sets[1] if len(sets) > 1 else None,
            program=f"{PROGRAM} {__version__}",
            method=str(calculation),
        )
    )
