"""The energy of a wavefunction and its parts, whatever program it is from."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.errors import FieldError, OrbitileError
from ..base.watch import Cancel, Progress, stage, watched
from ..evaluation.devices import device_session
from ..fields.density import occupied, unavailable
from ..gaussians.overlap import dense, kinetic_matrix
from ..integrals.coulomb import coulomb_values, nuclear_repulsion
from ..integrals.exchange import exchange_of
from ..integrals.external_charges import energy_in_field
from ..integrals.functionals import Functional, at_points
from ..integrals.functionals import functional as functional_of
from ..integrals.grids import Quality, exchange_grid_of, grid_of
from ..integrals.hermite_list import point_charges
from ..integrals.method_names import split_name
from ..integrals.one_electron import overlap
from ..integrals.pairs import pairs_of, to_hermite
from ..integrals.quadrature import KineticEnergyDensity, quadrature_of
from ..integrals.solvent import apparent_charges, cavity_of
from ..integrals.solvents import dielectric_constant
from ..model.external_charges import ExternalCharges
from ..model.geometry import Geometry
from ..model.wavefunction import Wavefunction
from ..scf.calculation import Calculation, require_apart
from ..scf.dispersion import correction_of
from ..scf.from_file import electrons_of, semiempirical_method
from ._quadrature import LEVEL, density_matrix


@dataclass(frozen=True)
class Energies:
    """Energies of a density in hartree, with a functional for what is beyond the mean field.

    Attributes
    ----------
    electrons : float
        Integral of the density over the points of the quadrature; what it is off by tells how far to trust
        `exchange_correlation`.
    kinetic : float
        Of the electrons, from the orbitals.
    nuclear_attraction : float
        Of the electrons by the nuclei.
    coulomb : float
        Repulsion of the density by itself.
    exchange_correlation : float
        Of the functional, but for exact exchange.
    nuclear_repulsion : float
    exact_exchange : float or None
        With the shares that a hybrid functional has of it.
    dispersion : float or None
        Of the correction that goes with the functional, where it was asked for.
    solvation : float or None
        Of the density in the solvent that was asked for: of the molecule with the charges that answer it, and of these
        with each other. The density itself is not changed by them.
    external_charges : float or None
        Of electrons and nuclei in the field of the charges that were given; without these charges with each other.
    """

    electrons: float
    kinetic: float
    nuclear_attraction: float
    coulomb: float
    exchange_correlation: float
    nuclear_repulsion: float
    exact_exchange: float | None = None
    dispersion: float | None = None
    solvation: float | None = None
    external_charges: float | None = None

    @property
    def total(self) -> float:
        """Sum of all of them."""
        return (
            self.kinetic
            + self.nuclear_attraction
            + self.coulomb
            + self.exchange_correlation
            + self.nuclear_repulsion
            + (self.exact_exchange or 0.0)
            + (self.dispersion or 0.0)
            + (self.solvation or 0.0)
            + (self.external_charges or 0.0)
        )

    @property
    def virial_ratio(self) -> float:
        """Potential over kinetic energy, with its sign changed: 2 for an exact solution where no atom feels a force."""
        return (self.kinetic - self.total) / self.kinetic

    def as_dictionary(self) -> dict[str, float]:
        """All of them that there are, by name."""
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        parts = {name: float(part) for name, part in parts.items() if part is not None}
        return {**parts, "total": self.total, "virial_ratio": self.virial_ratio}


def energies(
    wavefunction: Wavefunction,
    functional: str = "pbe",
    *,
    solvent: str = "",
    external_charges: ExternalCharges | None = None,
    level: int = LEVEL,
    device: str | None = None,
    precision: str = "double",
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> Energies:
    """Compute the energy of a wavefunction and its parts from the orbitals, and a functional of their density.

    It is that of one step of a Kohn-Sham calculation: for orbitals of the same functional it is the energy that their
    program printed. Where a file has a density matrix beside its orbitals, that counts. Electrons that a core potential
    stands for, and this potential, are left out.

    Parameters
    ----------
    wavefunction
        Its alpha and beta densities count separately where it tells them apart, see `remarks_on`.
    functional
        By its name in PySCF, such as `pbe` or `lda,vwn`; with a dispersion correction, `pbe-d3bj`, as for a
        `Calculation`.
    solvent
        By its name, `water`, or its dielectric constant; empty for vacuum.
    external_charges
        Charges around the molecule, in place of a solvent.
    level
        Of the quadrature, 0 to 9.
    device
        As for `orbitile.evaluate`.
    precision
        double: errors below 1e-7 hartree beside that of the quadrature; single, which any device has: some 1e-6.
    progress
        Called with the share that is done.
    cancelled
        Asked now and then; when it says True the computation stops.

    Raises
    ------
    OrbitileError
        When there is no such functional, solvent, level or device, or there are no occupied orbitals; when the package
        for the dispersion correction is missing, or has no parameters for the functional; when the orbitals are those
        of a semi-empirical method.
    Cancelled
        When `cancelled` said so.
    """
    if own := semiempirical_method(wavefunction):
        raise OrbitileError(
            f"these are orbitals of {own}, which describes valence electrons by parameters: a functional of their "
            f"density is no energy of the molecule; `orbitile scf FILE` computes that of {own}"
        )
    chosen = functional_of(split_name(functional, "functional")[0])
    asked = Calculation(functional, solvent=solvent, external_charges=external_charges)
    correction = correction_of(asked)
    with watched(progress, cancelled), device_session(device, precision) as target:
        found = _energies(wavefunction, chosen, level, target)
        solvation = _solvation(wavefunction, dielectric_constant(asked.solvent), target) if asked.solvent else None
        external = None if external_charges is None else _external(wavefunction, external_charges, target)
    atoms = Geometry(np.where(wavefunction.is_ghost, 0, wavefunction.atomic_numbers), wavefunction.positions)
    dispersion = correction.energy(atoms, electrons_of(wavefunction)[0]) if correction else None
    return replace(found, dispersion=dispersion, solvation=solvation, external_charges=external)


def remarks_on(wavefunction: Wavefunction) -> tuple[str, ...]:
    """What to know about the energies of a wavefunction, in sentences."""
    remarks = []
    if np.any(wavefunction.core_charges != wavefunction.atomic_numbers):
        remarks.append(
            "core potentials replace some electrons: these are energies of the others, without the energy of the "
            "core potentials, so that the total and the virial ratio are not those of the molecule"
        )
    if wavefunction.density_matrix.size:
        remarks.append("the density is that of the correlated method that the file gives beside its orbitals")
    try:
        occupied(wavefunction, "spin")
    except FieldError as error:
        reason = str(error).partition(": ")[2]
        remarks.append(f"{reason}: the functional takes half of the density for each spin")
    return tuple(remarks)


def _density_matrices(wavefunction: Wavefunction) -> list[Reals]:
    """Those of both spins where they differ, as far as the file tells, otherwise that of all electrons."""
    total = density_matrix(wavefunction, "total")
    if unavailable(wavefunction):
        return [total]
    spin = density_matrix(wavefunction, "spin")
    return [0.5 * (total + spin), 0.5 * (total - spin)]


def _solvation(wavefunction: Wavefunction, dielectric: float, target: Target) -> float:
    """Energy of solvation of the density, in a cavity around the atoms."""
    pairs, positions = pairs_of(wavefunction), wavefunction.positions
    cavity = cavity_of(np.where(wavefunction.is_ghost, 0, wavefunction.atomic_numbers), positions, dielectric)
    electrons = to_hermite(pairs, density_matrix(wavefunction), target)
    return apparent_charges(cavity, pairs.list, electrons, wavefunction.core_charges, positions, target)[1]


def _external(wavefunction: Wavefunction, external: ExternalCharges, target: Target) -> float:
    """Energy of the density and of the nuclei in the field of charges."""
    require_apart(Geometry(wavefunction.atomic_numbers, wavefunction.positions), external)
    pairs = pairs_of(wavefunction)
    electrons = to_hermite(pairs, density_matrix(wavefunction), target)
    return energy_in_field(external, pairs, electrons, wavefunction.core_charges, wavefunction.positions, target)


def _energies(wavefunction: Wavefunction, functional: Functional, level: int, target: Target) -> Energies:
    wavefunction.require_real()  # whose functionals know of spins along one axis only

    numbers, positions, charges = wavefunction.atomic_numbers, wavefunction.positions, wavefunction.core_charges
    matrices = _density_matrices(wavefunction)
    with stage(0.0, 0.2):
        points = grid_of(numbers, positions, target, level)
        pairs = pairs_of(wavefunction)
        hermite = np.array([to_hermite(pairs, matrix, target) for matrix in matrices])
        motion = float(np.vdot(sum(matrices), dense(kinetic_matrix(wavefunction))))
        total = hermite.sum(axis=0)
    exact = _exact_exchange(wavefunction, matrices, functional, target) if functional.is_hybrid else None
    with stage(0.2, 0.6):
        repulsion = 0.5 * float(total @ coulomb_values(pairs.list, pairs.list, total, target, bra_bound=pairs.bound))
        nuclei = coulomb_values(pairs.list, *point_charges(-charges, positions), target, bra_bound=pairs.bound)
    with stage(0.6, 1.0):
        grid = quadrature_of(pairs, points, target)
        columns = np.array([grid.density(one, functional.needs_gradient) for one in hermite], np.float64)
        if functional.needs_tau:
            taus = KineticEnergyDensity.of(wavefunction, points, target).densities(matrices)
            columns = np.concatenate([columns, grid.sums.to_numpy(taus)], axis=1)
        per_volume, _ = at_points(functional, columns, target)
    return Energies(
        electrons=float(columns[:, 0].sum(axis=0) @ grid.weights),
        kinetic=motion,
        nuclear_attraction=float(total @ nuclei),
        coulomb=repulsion,
        exchange_correlation=float(per_volume @ grid.weights),
        nuclear_repulsion=nuclear_repulsion(charges, positions),
        exact_exchange=exact,
    )


def _exact_exchange(wavefunction: Wavefunction, matrices: list[Reals], functional: Functional, target: Target) -> float:
    """Energy of the exact exchange of a functional, on the finest grid in double precision."""
    quality: Quality = "finest" if target.precision == "double" else "fine"
    points = exchange_grid_of(wavefunction.atomic_numbers, wavefunction.positions, target, quality)
    exchange = exchange_of(wavefunction, points, overlap(pairs_of(wavefunction), target), target)
    densities = np.array(matrices)
    return -0.25 * len(densities) * float(np.vdot(densities, exchange.matrices(densities, functional.exact)))
