"""Ring currents and shifts of benzene, naphthalene and anthracene, by pieces: python benchmarks/currents.py [BASIS]

PySCF makes the orbitals by PBE, whose orbitals respond one by one, and those of benzene also by Hartree-Fock, whose
exchange couples them. Each time is the least of two calls on a molecule that was not asked before; kernels are compiled
beforehand.
"""

import sys
import time
from dataclasses import replace

import numpy as np
from pyscf import dft, gto, scf

import orbitile as ob
from orbitile.analysis.currents import bond_currents, current_lines, ring_shieldings, rings_of
from orbitile.analysis.vectors import plane_arrows
from orbitile.fields.currents import axis_of, first_order
from orbitile.model.units import angstrom
from orbitile.model.wavefunction import Wavefunction
from orbitile.scf.engines.pyscf import wavefunction_of

BASIS = "6-31g*"
_CC, _CH = 1.40, 1.09
"""Bonds in Angstrom."""

_REPEATS = 2


def acene(n: int) -> list[tuple[str, tuple[float, float, float]]]:
    """So many regular hexagons in a row, with hydrogen atoms."""
    width = _CC * np.sqrt(3)
    carbon: set[tuple[float, float]] = set()
    for ring in range(n):
        angles = np.radians(30 + 60 * np.arange(6))
        corners = np.column_stack([np.cos(angles), np.sin(angles)]) * _CC + [ring * width, 0]
        carbon |= {(round(x, 6), round(y, 6)) for x, y in corners.tolist()}
    places = np.array(sorted(carbon))
    atoms = [("C", (x, y, 0.0)) for x, y in places.tolist()]
    for place in places:
        away = np.linalg.norm(places - place, axis=1)
        neighbours = places[(away > 0.1) & (away < 1.1 * _CC)]
        if len(neighbours) == 2:
            out = place - neighbours.mean(axis=0)
            x, y = place + _CH * out / np.linalg.norm(out)
            atoms.append(("H", (float(x), float(y), 0.0)))
    return atoms


def solved(n_rings: int, method: str, basis: str) -> Wavefunction:
    """Orbitals of an acene."""
    molecule = gto.M(atom=acene(n_rings), basis=basis, verbose=0)
    field = scf.RHF(molecule) if method == "hf" else dft.RKS(molecule, xc=method)
    field.run(conv_tol=1e-9)
    made = wavefunction_of(molecule, field.mo_coeff, field.mo_occ, field.mo_energy)
    return replace(made, method=method)


def measured(wavefunction: Wavefunction) -> tuple[dict[str, float], float, float]:
    """Seconds of the pieces, the mean strength in the bonds of the first ring in nA/T, and its NICS(0) in ppm."""
    fresh = replace(wavefunction)  # what is kept with a wavefunction is not kept with its copy
    rings, axis = rings_of(fresh), axis_of(fresh, "normal")
    times = {}

    def timed(name, work):
        start = time.perf_counter()
        result = work()
        times[name] = time.perf_counter() - start
        return result

    timed("response", lambda: first_order(fresh, axis))
    currents = timed("bonds", lambda: bond_currents(fresh, rings, axis))
    shifts = timed("shifts", lambda: [ring_shieldings(fresh, ring) for ring in rings])
    timed("arrows", lambda: plane_arrows(fresh, "current:normal", (), angstrom, 0.4 * angstrom, across=axis))
    timed("lines", lambda: current_lines(fresh, rings, axis, angstrom, 12))
    strength = float(np.mean([found.strength for found in currents if found.ring == 0]))
    return times, strength, shifts[0].centre


def main() -> None:
    basis = sys.argv[1] if len(sys.argv) > 1 else BASIS
    ob.currents(solved(1, "pbe", "sto-3g"))  # compiles
    print(f"{basis}; seconds\n")
    print(
        "| rings | method | functions | response | bonds | shifts | arrows | lines | strength / nA/T | NICS(0) / ppm |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for n_rings, method in ((1, "pbe"), (2, "pbe"), (3, "pbe"), (1, "hf")):
        wavefunction = solved(n_rings, method, basis)
        runs = [measured(wavefunction) for _ in range(_REPEATS)]
        best = [f"{min(times[name] for times, _, _ in runs):.2f}" for name in runs[0][0]]
        _, strength, shift = runs[0]
        row = [str(n_rings), method, str(wavefunction.n_basis), *best, f"{strength:.2f}", f"{shift:.2f}"]
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
