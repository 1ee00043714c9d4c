"""Our engine beside PySCF with analytic integrals: energies, orbital energies and forces of fifteen molecules.

    python benchmarks/methods.py molecules [--only HBr,SO2]
    python benchmarks/methods.py reactions
    python benchmarks/methods.py differences

Both have the same basis functions and the same quadrature (level 3); PySCF's field is converged to 1e-11 hartree. Both
hold the points where they are in forces; `differences` tells what that is worth. Errors are ours against PySCF's; times
are seconds of processors for energy and forces, of one call, our kernels loaded from the cache included.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from datetime import date
from functools import cache, partial
from typing import Any

import numpy as np

os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))  # PySCF's kernels

from ase import Atoms
from ase.build import molecule

from kohn_sham import clocked, processor, table
from orbitile.integrals.functionals import functional
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom
from orbitile.scf.calculation import Calculation
from orbitile.scf.engines import orbitile as engine
from orbitile.scf.level_of_theory import mean_field, molecule_of
from orbitile_benchmarks.measurement import worst

METHODS = ("hf", "b3lyp", "pbe0", "cam-b3lyp", "wb97x", "tpss", "r2scan", "m06-2x")

MOLECULES: dict[str, tuple[Any, dict[str, Any], tuple[str, ...]]] = {
    "H2": (None, {"basis": "cc-pvtz"}, tuple(method for method in METHODS if method != "tpss")),
    "LiH": (None, {"basis": "6-311g**", "cartesian": True}, METHODS),
    "H2O": (None, {"basis": "6-31g*", "cartesian": True}, METHODS),
    "HF": (None, {"basis": "def2-qzvp"}, ("hf", "b3lyp", "wb97x", "r2scan")),
    "CN-": ("CN", {"basis": "aug-cc-pvdz", "charge": -1}, ("hf", "pbe0", "cam-b3lyp", "tpss", "m06-2x")),
    "OH-": ("OH", {"basis": "6-31+g*", "charge": -1, "cartesian": True}, METHODS),
    "CH3": (None, {"basis": "def2-svp", "unpaired": 1}, METHODS),
    "NO2": (None, {"basis": "6-31g*", "unpaired": 1, "cartesian": True}, ("hf", "b3lyp", "tpss", "m06-2x")),
    "O2": (None, {"basis": "def2-tzvp", "unpaired": 2}, ("hf", "pbe0", "wb97x", "r2scan")),
    "SiH4": (None, {"basis": "def2-svp"}, ("hf", "b3lyp", "cam-b3lyp", "r2scan")),
    "SO2": (None, {"basis": "6-31g*", "cartesian": True}, ("b3lyp", "wb97x", "tpss", "m06-2x")),
    "NaCl": (None, {"basis": "def2-tzvp"}, ("hf", "pbe0", "cam-b3lyp", "r2scan")),
    "CuH": (1.46, {"basis": "def2-svp"}, ("hf", "b3lyp", "pbe0", "tpss")),
    "HBr": (1.41, {"basis": "def2-tzvp"}, ("hf", "b3lyp", "wb97x", "m06-2x")),
    "HI": (1.61, {"basis": "x2c-svpall"}, ("hf", "pbe0", "cam-b3lyp", "r2scan")),
}
"""A name in the G2 set of ASE where it is another one, or the distance of two atoms in Angstrom; parts of the
calculation; methods. HI has all its electrons. Of TPSS for one orbital libxc gives derivatives that are not those of
its energy: PySCF's energies of empty orbitals of H2 are off by up to 0.07 hartree."""

REACTIONS: dict[str, tuple[Calculation, dict[str, int]]] = {
    "N2 + 3 H2 -> 2 NH3": (Calculation("b3lyp", "def2-svp"), {"N2": -1, "H2": -3, "NH3": 2}),
    "CO + H2O -> CO2 + H2": (Calculation("wb97x", "def2-svp"), {"CO": -1, "H2O": -1, "CO2": 1, "H2": 1}),
    "C2H4 + H2 -> C2H6": (Calculation("hf", "def2-svp"), {"C2H4": -1, "H2": -1, "C2H6": 1}),
    "CH4 + Cl2 -> CH3Cl + HCl": (Calculation("pbe0", "6-31g*"), {"CH4": -1, "Cl2": -1, "CH3Cl": 1, "HCl": 1}),
    "2 H2O2 -> 2 H2O + O2": (Calculation("m06-2x", "6-31+g*"), {"H2O2": -2, "H2O": 2, "O2": 1}),
}
"""Level, and how many of each molecule appear."""

_PRECISIONS = ("single", "double")

_STEPS = np.array([-2, -1, 1, 2])
"""Displacements of a derivative with an error of the fourth power of the step, in units of it."""

_SLOPES = np.array([1, -8, 8, -1]) / 12

_STEP = 0.01
"""In bohr."""


def geometry_of(name: str) -> Geometry:
    """A molecule, turned away from the axes, along which grids have their symmetry."""
    known = MOLECULES.get(name, (None,))[0]
    atoms = Atoms(name, [(0, 0, 0), (0, 0, known)]) if isinstance(known, float) else molecule(known or name)
    atoms.rotate(37, (1, 2, 3))
    return Geometry(np.array(atoms.numbers), atoms.positions * angstrom)


def ours(name: str, calculation: Calculation, precision: str) -> tuple[float, list[Any], Any]:
    """Energy, energies of orbitals, derivatives of the energy."""
    solution = engine.solve(geometry_of(name), calculation, (), "cpu", precision)
    gradient = engine.gradient(solution.wavefunction, calculation, "cpu", precision)
    return solution.energy, [some.energies for some in solution.wavefunction.sets], gradient


def of_pyscf(name: str, calculation: Calculation) -> tuple[float, list[Any], dict[str, Any]]:
    """The same; points of the quadrature move with the atoms for double precision, if they can: not with tau."""
    field = mean_field(molecule_of(geometry_of(name), calculation), calculation)
    field.conv_tol, field.max_cycle = 1e-11, 100
    energy = field.kernel()
    if not field.converged:
        print(f"PySCF did not converge: {name}, {calculation}", file=sys.stderr)
    forces = field.nuc_grad_method()
    held = moving = forces.kernel()
    if calculation.method != "hf" and not functional(calculation.method).needs_tau:
        forces.grid_response = True
        moving = forces.kernel()
    return energy, list(np.atleast_2d(field.mo_energy)), {"single": held, "double": moving}


def molecules(options: argparse.Namespace) -> None:
    """Errors of each molecule with each of its methods."""
    largest: dict[str, list[tuple[float, ...]]] = {precision: [] for precision in _PRECISIONS}

    def lines() -> Iterable[tuple[Any, ...]]:
        for name in options.only.split(",") if options.only else MOLECULES:
            _, parts, methods = MOLECULES[name]
            for method in methods:
                calculation = Calculation(method, **parts)
                (energy, levels, gradient), _, busy = clocked(partial(of_pyscf, name, calculation))
                cells: list[str] = []
                times = [f"{busy:.1f}"]
                for precision in _PRECISIONS:
                    found, _, busy = clocked(partial(ours, name, calculation, precision))
                    of_levels = max(worst(*each) for each in zip(found[1], levels, strict=True))
                    errors = found[0] - energy, of_levels, worst(found[2], gradient[precision])
                    largest[precision].append(tuple(map(abs, errors)))
                    cells += [f"{error:.1e}" for error in errors]
                    times.append(f"{busy:.1f}")
                kind = f"{calculation.basis}{', Cartesian' if calculation.cartesian else ''}"
                yield name, kind, method, *cells, ", ".join([*times[1:], times[0]])
        for precision, errors in largest.items():
            print(f"| largest, {precision} | | | " + " | ".join(f"{one:.1e}" for one in np.max(errors, axis=0)) + " |")

    each = ", ".join(f"{what} {precision}" for precision in _PRECISIONS for what in ("energy", "levels", "forces"))
    table(f"molecule, basis, method, {each}, seconds", lines())


def reactions(options: argparse.Namespace) -> None:
    """Errors of reaction energies."""

    @cache
    def energy(name: str, calculation: Calculation, precision: str) -> float:
        if name == "O2":
            calculation = Calculation(calculation.method, calculation.basis, unpaired=2)
        if precision in _PRECISIONS:
            return engine.solve(geometry_of(name), calculation, (), "cpu", precision).energy
        return of_pyscf(name, calculation)[0]

    def lines() -> Iterable[tuple[Any, ...]]:
        for reaction, (calculation, parts) in REACTIONS.items():
            single, double, reference = (
                sum(n * energy(name, calculation, program) for name, n in parts.items())
                for program in (*_PRECISIONS, "PySCF")
            )
            level = f"{calculation.method}/{calculation.basis}"
            yield reaction, level, f"{reference:.7f}", f"{single - reference:.1e}", f"{double - reference:.1e}"

    table("reaction, level, energy by PySCF in hartree, error single, error double", lines())


def differences(options: argparse.Namespace) -> None:
    """Derivatives beside finite differences of the energy, in double precision."""

    def lines() -> Iterable[tuple[Any, ...]]:
        of_water = [("H2O", method) for method in ("hf", "pbe", "b3lyp", "r2scan")]
        for name, method in (*of_water, ("LiH", "hf"), ("LiH", "cam-b3lyp"), ("CH3", "pbe"), ("OH-", "b3lyp")):
            calculation = Calculation(method, **MOLECULES[name][1])
            start = geometry_of(name)
            solution = engine.solve(start, calculation, (), "cpu", "double")
            gradient = engine.gradient(solution.wavefunction, calculation, "cpu", "double")
            found = np.zeros_like(gradient)
            for place in np.ndindex(found.shape):
                for steps, slope in zip(_STEPS, _SLOPES, strict=True):
                    positions = start.positions.copy()
                    positions[place] += steps * _STEP
                    moved = Geometry(start.atomic_numbers, positions)
                    before = [solution.wavefunction]
                    found[place] += slope / _STEP * engine.solve(moved, calculation, before, "cpu", "double").energy
            sums = (f"{np.abs(some.sum(axis=0)).max():.1e}" for some in (found, gradient))
            yield name, calculation.basis, method, f"{worst(gradient, found):.1e}", *sums

    columns = "molecule, basis, method, largest difference in hartree/bohr"
    table(f"{columns}, largest component of the sum: of differences, of derivatives", lines())


PARTS = {"molecules": molecules, "reactions": reactions, "differences": differences}


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", help=f"some of {', '.join(PARTS)}, with commas between")
    parser.add_argument("--only", help="molecules, with commas between")
    options = parser.parse_args()
    command = f"python benchmarks/methods.py {' '.join(sys.argv[1:])}"
    print(f"{processor()}, {os.cpu_count()} cores, {date.today():%d %B %Y}, {command}\n")
    for part in options.parts.split(","):
        PARTS[part](options)


if __name__ == "__main__":
    main()
