"""Fields of atoms without a wavefunction, as many as a protein has: surfaces in colours of the potential, interfaces.

    python benchmarks/proteins.py [--atoms 0,10000,50000,100000] [--vertices 100000] [--ligand "resn 478"] FILE

FILE is anything that PyMOL loads. Hydrogens are added, and the structure is repeated on a lattice until it has as many
atoms (0: once). Where the file has no partial charges, elements have charges that stand in for them. Seconds of
processor time and, behind them, of the clock; a process of its own for each row shows its largest memory.
"""

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import orbitile as ob
from orbitile.base.arguments import atom_list
from orbitile.evaluation.points import potential_of_charges
from orbitile.gaussians.promolecule import promolecule
from orbitile.model.elements import SYMBOLS
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom
from orbitile.model.volume import PointCharges

STAND_IN = {"H": 0.06, "C": 0.25, "N": -0.4, "O": -0.5, "S": -0.1}
BETWEEN = (("igm", 0.01, "nci"), ("rdg", 0.3, "nci"))
"""Fields between two sides, their isovalues, and those that colour them."""
GAP = 4.0
"""Distance of copies in bohr."""


def structure(file: Path, ligand: str, n_atoms: int) -> tuple[Geometry, np.ndarray, tuple[int, ...]]:
    """Atoms of so many copies, their charges in e, and those of the first ligand, from 0."""
    import pymol2

    atoms: list[tuple[str, float, bool]] = []
    with pymol2.PyMOL() as session:
        cmd = session.cmd
        cmd.load(str(file), "given")
        cmd.h_add("given")
        chosen: set[int] = set()
        cmd.iterate(f"given and ({ligand or 'none'})", "chosen.add(index)", space={"chosen": chosen})
        space = {"atoms": atoms, "chosen": chosen}
        cmd.iterate("given", "atoms.append((elem, partial_charge, index in chosen))", space=space)
        places = cmd.get_coords("given") * angstrom
    symbols, given, of_ligand = zip(*atoms, strict=True)
    charges = np.array(given) if any(given) else np.array([STAND_IN.get(symbol, 0.0) for symbol in symbols])
    copies = max(1, -(-n_atoms // len(symbols)))
    edge = int(np.ceil(copies ** (1 / 3) - 1e-9))
    shifts = np.stack(np.unravel_index(np.arange(copies), (edge,) * 3), axis=1) * (np.ptp(places, axis=0) + GAP)
    numbers = np.tile([SYMBOLS.index(symbol) for symbol in symbols], copies)
    geometry = Geometry(numbers, (places + shifts[:, None]).reshape(-1, 3))
    return geometry, np.tile(charges, copies), tuple(np.flatnonzero(of_ligand).tolist())


def timed(call: Callable[[], Any]) -> tuple[Any, np.ndarray]:
    """What a call gives, and its seconds of processor and clock."""
    begin = np.array([time.process_time(), time.perf_counter()])
    result = call()
    return result, np.array([time.process_time(), time.perf_counter()]) - begin


def row(file: Path, ligand: str, n_atoms: int, n_vertices: int, device: str) -> str:
    """A row of the table."""
    geometry, charges, of_ligand = structure(file, ligand, n_atoms)
    some = promolecule(Geometry(geometry.atomic_numbers[:900], geometry.positions[:900]), "", charges[:900])
    for field, isovalue, color_by in (("density", 0.01, "esp"), *BETWEEN):  # compiles
        behind = "" if field == "density" else ":1-9"
        shown(some, f"{field}{behind}", isovalue, f"{color_by}{behind}", 1.0, device)
    atoms = promolecule(geometry, "", charges)
    spacing = 2.0
    for _ in range(3):
        count = len(shown(atoms, "density", 0.001, "", spacing, device).vertices)
        spacing *= (count / n_vertices) ** 0.5
    fresh = promolecule(geometry, "", charges)
    surface, whole = timed(lambda: shown(fresh, "density", 0.001, "esp", spacing, device))
    chosen = np.random.default_rng(0).permutation(len(surface.vertices))[:1000]
    places, given = surface.vertices[chosen].astype(float), PointCharges(geometry.positions, charges)
    exact, direct = timed(lambda: potential_of_charges(given, places, device=device, precision="double"))
    _, direct = timed(lambda: potential_of_charges(given, places, device=device))
    error = np.abs(surface.colouring.values[chosen] - exact).max()
    direct *= len(surface.vertices) / len(places)
    cells = [
        f"{len(charges):,}",
        f"{len(surface.vertices):,}",
        f"{spacing / angstrom:.2f}",
        "{:.2f} ({:.2f})".format(*whole),
        "{:.1f} ({:.1f})".format(*direct),
        f"{error:.1e}",
        f"{np.abs(exact).max():.2f}",
    ]
    for field, isovalue, color_by in BETWEEN if of_ligand else ():
        behind = atom_list(of_ligand)
        _, spent = timed(partial(shown, fresh, f"{field}:{behind}", isovalue, f"{color_by}:{behind}", None, device))
        cells.append("{:.1f} ({:.1f})".format(*spent))
    return " | ".join([*cells, f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f}"])


def shown(
    atoms: ob.Wavefunction, field: str, isovalue: float, color_by: str, spacing: float | None, device: str
) -> Any:
    """A surface in colours."""
    lattice = ob.enclosing_lattice(atoms, field, isovalue, spacing=spacing)
    surface = ob.isosurface(ob.compute(atoms, field, lattice, device=device), isovalue)
    return ob.coloured(surface, atoms, color_by, device=device) if color_by else surface


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--atoms", default="0,10000,50000,100000", help="with commas between")
    parser.add_argument("--vertices", type=int, default=100_000, metavar="N", help="about so many, by the spacing")
    parser.add_argument("--ligand", default="", help="a selection of PyMOL")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    between = " δg to the ligand | NCI to the ligand |" if options.ligand else ""
    print(f"{date.today()}, {options.file.name}, {options.device}\n")
    print("| atoms | vertices | spacing, Å | in colours, s | direct sum, s | largest error | largest value |", end="")
    print(f"{between} memory, GB |\n|{'---|' * (10 if options.ligand else 8)}")
    for n_atoms in map(int, options.atoms.split(",")):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            given = (options.file, options.ligand, n_atoms, options.vertices, options.device)
            print("|", pool.apply(row, given), "|", flush=True)


if __name__ == "__main__":
    main()
