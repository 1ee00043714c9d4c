"""Fields of free atoms of water clusters of 192 to 9,999 atoms on whole lattices: processor time for each atom.

    ORBITILE_THREADS=1 python benchmarks/free_atom_fields.py [--spacing 0.5] [--runs 2] [--device cpu]

The waters are those of the suite, at the density of the liquid; charges are -0.8 and 0.4 e. The lattice encloses the
density 0.001. Without a GPU, one thread and processor time: other work on the machine hardly matters then.
"""

import argparse
import time
from datetime import date
from functools import cache

import numpy as np

import orbitile as ob
from orbitile.gaussians.promolecule import promolecule
from orbitile.model.elements import SYMBOLS
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom
from orbitile_benchmarks.geometries import atoms_of
from orbitile_benchmarks.systems import WATER, water_places

EDGES = (4, 7, 10, 12, 15)
"""Molecules along an edge of each cluster."""
MOST = 9_999
FIELDS = ("density", "nci", "esp")


@cache
def waters(edge: int) -> Geometry:
    """A cluster, of not more atoms than are shown whole."""
    elements, shape = atoms_of(WATER)
    places = np.concatenate([shape @ r.T + c for r, c in zip(*water_places(edge), strict=True)])[:MOST] * angstrom
    n = len(places) // len(elements)
    numbers = [SYMBOLS.index(element) for element in elements] * n
    return Geometry(np.array(numbers), places)


def seconds(edge: int, field: str, options: argparse.Namespace) -> tuple[int, int, float]:
    """Atoms, points, and the least time of some runs, each with a new wavefunction."""
    least = np.inf
    for _ in range(options.runs):
        geometry = waters(edge)
        atoms = promolecule(geometry, "", np.where(geometry.atomic_numbers == 8, -0.8, 0.4))
        lattice = ob.enclosing_lattice(atoms, "density", 0.001, spacing=options.spacing)
        begin = time.process_time()
        volume = ob.compute(atoms, field, lattice, device=options.device)
        least = min(least, time.process_time() - begin)
    return atoms.n_atoms, volume.values.size, least


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spacing", type=float, default=0.5, help="bohr")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    print(f"{date.today()}, {options.device}, {options.spacing} bohr; seconds, and microseconds an atom\n")
    print(f"| atoms | points | {' | '.join(FIELDS)} |\n|{'---|' * (2 + len(FIELDS))}", flush=True)
    for field in FIELDS:
        seconds(2, field, options)  # compiles
    for edge in EDGES:
        found = [seconds(edge, field, options) for field in FIELDS]
        cells = [f"{least:.2f}, {least / n * 1e6:.0f}" for n, _, least in found]
        print(f"| {found[0][0]:,} | {found[0][1]:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
