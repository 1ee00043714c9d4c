"""What 100,000 charges around a molecule cost beside a Fock matrix, in processor time: run, best of three.

python benchmarks/far_charges.py MOLECULE.xyz [METHOD]
"""

import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

from orbitile.evaluation.devices import device_session
from orbitile.integrals.external_charges import field_of_charges, gradient_at_atoms, gradient_at_charges
from orbitile.integrals.pairs import pairs_of
from orbitile.model.external_charges import ExternalCharges
from orbitile.model.units import angstrom
from orbitile.model.wavefunction import Basis
from orbitile.readers import load_geometries
from orbitile.scf.calculation import Calculation
from orbitile.scf.engines.orbitile import hamiltonian_of
from orbitile.scf.level_of_theory import shells_of
from orbitile.scf.starting_densities import superposed_densities
from taichi_kernels.target import Target

N = 100_000
_SPACING = 2.15 * angstrom
"""Of the charges: 0.1 in a cubic Angstrom, as atoms of water."""


def charges_around(positions: np.ndarray) -> ExternalCharges:
    """Charges with a mean of zero about a molecule, 2 Angstrom away and more."""
    rng, half = np.random.default_rng(1), int(np.ceil(N ** (1 / 3) / 2)) + 8
    steps = np.arange(-half, half + 1)
    places = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3) * _SPACING
    places = places + rng.uniform(-0.3, 0.3, places.shape) * _SPACING + positions.mean(axis=0)
    places = places[cKDTree(positions).query(places)[0] > 2 * angstrom]
    places = places[np.argsort(np.linalg.norm(places - positions.mean(axis=0), axis=1))[:N]]
    charges = rng.normal(0, 0.4, N)
    return ExternalCharges(places, charges - charges.mean())


def timed(what: str, call: Callable[..., object], *arguments: object) -> None:
    """Print the processor time of the best of three calls."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        call(*arguments)
        times.append(time.process_time() - begin)
    print(f"{what:20s} {min(times):.3f} s", flush=True)


def main(path: str, method: str = "pbe") -> None:
    """Measure it for a molecule in 6-31G*."""
    geometry = load_geometries(path).read(0)
    nuclei, positions = geometry.atomic_numbers.astype(float), geometry.positions
    calculation = Calculation(method, "6-31g*", int(nuclei.sum()) % 2)
    basis = Basis(shells_of(geometry, calculation), positions)
    density = superposed_densities(geometry.atomic_numbers, basis.shells)
    external, double = charges_around(positions), Target("cpu", "double")
    print(f"{len(nuclei)} atoms, {basis.n_basis} functions, {N} charges, {method}/6-31G*")
    with device_session("cpu", "single") as target:
        hamiltonian = hamiltonian_of(geometry, nuclei, basis, calculation, target, close=True)
        changes = iter(np.linspace(1.0, 1.03, 3))
        timed("a Fock matrix", lambda: hamiltonian.fock(next(changes) * density[None]))
        pairs = pairs_of(basis)
        timed("the field's matrix", field_of_charges, pairs.list, positions, external, double, pairs.bound)
        of_molecule = external, pairs, density, nuclei, positions, double
        timed("forces on atoms", gradient_at_atoms, *of_molecule)
        timed("forces on charges", gradient_at_charges, *of_molecule)


if __name__ == "__main__":
    main(*sys.argv[1:])
