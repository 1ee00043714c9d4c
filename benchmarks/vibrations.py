"""Computed vibrations beside analytic Hessians of PySCF at the same geometries: wavenumbers and infrared intensities.

python benchmarks/vibrations.py [METHOD [STEP]]
"""

import sys
import time
from dataclasses import replace

import numpy as np
from ase import Atoms
from ase.build import molecule
from pyscf import dft, gto, scf

import orbitile as ob
from orbitile.model.geometry import Geometry
from orbitile.model.normal_modes import modes_of
from orbitile.model.units import angstrom
from orbitile.scf.vibrations import STEP

BASIS, _MOVED = "6-31g*", 0.005
"""Basis set, and displacement in bohr for the derivatives of PySCF's dipole moments."""

_WEAK = 1.0
"""Intensity in km/mol below which errors are not compared."""


def molecules() -> list[tuple[str, Atoms, int, int]]:
    """Names, atoms, charges and unpaired electrons."""
    closed = [(name, molecule(name), 0, 0) for name in ("H2O", "NH3", "CH4", "H2CO", "CO2", "HCN", "C2H4")]
    ammonium = molecule("CH4")
    ammonium.set_atomic_numbers([7 if z == 6 else 1 for z in ammonium.numbers])
    ammonium.positions *= 0.94
    saddle = Atoms("HCN", [[0.25, 1.05, 0.0], [0.0, 0.0, 0.0], [0.0, -0.35, 1.14]])
    return [*closed, ("CH3", molecule("CH3"), 0, 1), ("NH4+", ammonium, 1, 0), ("HCN to HNC", saddle, 0, 0)]


def solved(geometry: Geometry, method: str, charge: int, unpaired: int) -> scf.hf.SCF:
    """A converged field of PySCF."""
    atoms = list(zip(geometry.atomic_numbers.tolist(), geometry.positions.tolist(), strict=True))
    mol = gto.M(atom=atoms, unit="Bohr", basis=BASIS, charge=charge, spin=unpaired, verbose=0)
    if method == "hf":
        field = scf.UHF(mol) if unpaired else scf.RHF(mol)
    else:
        field = dft.UKS(mol, xc=method) if unpaired else dft.RKS(mol, xc=method)
        field.grids.level = 5
    field.conv_tol = 1e-11
    field.kernel()
    return field


def analytic(geometry: Geometry, *how: object) -> tuple[np.ndarray, np.ndarray]:
    """Hessian in hartree/bohr^2, and derivatives of the dipole moment in e."""
    n = geometry.positions.size
    calculation = solved(geometry, *how).Hessian()
    calculation.grid_response = True
    hessian = calculation.kernel().transpose(0, 2, 1, 3).reshape(n, n)
    derivatives = np.zeros((n, 3))
    for coordinate in range(n):
        for sign in (1, -1):
            positions = geometry.positions.copy()
            positions.flat[coordinate] += sign * _MOVED
            moved = solved(Geometry(geometry.atomic_numbers, positions), *how)
            derivatives[coordinate] += sign * moved.dip_moment(unit="AU", verbose=0) / (2 * _MOVED)
    return 0.5 * (hessian + hessian.T), derivatives


def main(method: str = "hf", step: float = STEP) -> None:
    """Print the largest errors of each molecule."""
    for name, atoms, charge, unpaired in molecules():
        geometry = Geometry(atoms.numbers.astype(np.int64), atoms.positions * angstrom)
        hessian, derivatives = analytic(geometry, method, charge, unpaired)
        begin = time.perf_counter()
        calculation = ob.Calculation(method, BASIS, charge=charge, unpaired=unpaired)
        found = ob.compute_vibrations(geometry, None, calculation, step=step, engine="orbitile")
        seconds = time.perf_counter() - begin
        expected = modes_of(replace(found, hessian=hessian, dipole_derivatives=derivatives))
        strong = expected.infrared > _WEAK
        off = np.abs(found.infrared[strong] / expected.infrared[strong] - 1).max(initial=0.0)
        wavenumbers = np.abs(found.wavenumbers - expected.wavenumbers).max()
        print(f"{name:12s} {wavenumbers:6.3f} cm^-1 {100 * off:6.2f} % {seconds:7.1f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(float, sys.argv[2:3]))
