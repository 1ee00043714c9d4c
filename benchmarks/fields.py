"""Densities and electrostatic potentials, beside peers: python benchmarks/fields.py FOLDER [--device cpu] [--peers]

FOLDER holds thrb.molden and c60b.molden, as `benchmarks/make_molecules.py` writes them. Times are medians of repeated
calls of the public functions, the error is the largest against double precision at random points.
"""

import argparse
import os
import statistics
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the threads of the BLAS and of PySCF would fight

import numpy as np

import orbitile as ob
from orbitile.fields.electrostatic_potential import ElectrostaticPotential
from orbitile.units import angstrom

SYSTEMS = {"thrb": ("threonine 6-31+G*", (161, 128, 118)), "c60b": ("C60 6-31G*", (172, 173, 169))}


def median_time(function, repeats):
    function()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - begin)
    return statistics.median(times), result


def about(wavefunction, shape):
    """The lattice of the shape at 0.075 Angstrom about the molecule."""
    step = 0.075 * angstrom
    middle = (wavefunction.positions.min(axis=0) + wavefunction.positions.max(axis=0)) / 2
    return ob.Lattice(middle - (np.array(shape) - 1) * step / 2, np.eye(3) * step, shape)


def line(system, what, seconds, points, error, note=""):
    rate = points / seconds
    print(
        f"{system:18s} {what:44s} {seconds * 1e3:10.1f} ms {rate:14,.0f} points/s   error {error:.1e} {note}",
        flush=True,
    )


def surface_points(wavefunction, n):
    """Vertices of the surface of density 0.001."""
    from orbitile.surface import isosurface

    lattice = ob.enclosing_lattice(wavefunction, "density", 0.001, spacing=0.12 * angstrom)
    vertices = isosurface(ob.compute(wavefunction, "density", lattice), 0.001).vertices.astype(float)
    return vertices[np.random.default_rng(0).permutation(np.resize(np.arange(len(vertices)), n))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--peers", action="store_true", help="PySCF and qc-gbasis too, in this process")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    device = options.device
    for file, (system, shape) in SYSTEMS.items():
        wavefunction = ob.load(options.folder / f"{file}.molden")
        lattice = about(wavefunction, shape)
        chosen = np.random.default_rng(1).integers(0, lattice.n_points, 3000)
        where = np.stack(np.unravel_index(chosen, lattice.shape), axis=1) * lattice.spacings + lattice.origin
        exact = ob.evaluate(wavefunction, "density", where, device=device, precision="double")

        begin = time.perf_counter()
        ob.compute(ob.load(options.folder / f"{file}.molden"), "density", lattice, device=device)
        first = time.perf_counter() - begin
        seconds, volume = median_time(
            lambda w=wavefunction, at=lattice: ob.compute(w, "density", at, device=device), options.repeats
        )
        error = np.abs(volume.values.reshape(-1)[chosen] - exact).max()
        note = f"of {volume.values.max():.0f}; with reading and products {first:.2f} s"
        line(system, f"density, {shape[0]} x {shape[1]} x {shape[2]}", seconds, lattice.n_points, error, note)
        if device != "cpu":

            def on_device(w=wavefunction, at=lattice):
                from taichi_kernels import runtime

                ob.evaluation.compute_on_device(w, "density", at, device=device)
                runtime.synchronise()

            seconds, _ = median_time(on_device, options.repeats)
            line(system, "the same, left on the device", seconds, lattice.n_points, error)

        vertices = surface_points(wavefunction, 100_000 if device != "cpu" or file == "thrb" else 20_000)
        direct = ElectrostaticPotential(wavefunction, far_field=False)
        exact_potential = ob.evaluate(wavefunction, direct, vertices[:2000], device=device, precision="double")
        for field, note in ((direct, "without the far field"), ("esp", "")):
            seconds, values = median_time(
                lambda w=wavefunction, f=field, at=vertices: ob.evaluate(w, f, at, device=device), options.repeats
            )
            error = np.abs(values[:2000] - exact_potential).max()
            line(system, f"potential, {len(vertices):,} points of a surface", seconds, len(vertices), error, note)
        exact_potential_there = ob.evaluate(wavefunction, direct, where[:2000], device=device, precision="double")
        seconds, volume = median_time(lambda w=wavefunction, at=lattice: ob.compute(w, "esp", at, device=device), 1)
        values = volume.values.reshape(-1)[chosen[:2000]]
        away = np.linalg.norm(where[:2000, None] - wavefunction.positions, axis=2).min(axis=1) > 0.2
        error = np.abs(values - exact_potential_there)[away].max()
        line(
            system,
            "potential on the whole lattice",
            seconds,
            lattice.n_points,
            error,
            "farther than 0.2 bohr from nuclei",
        )
        if options.peers:
            for peer in (by_pyscf, by_gbasis):
                peer(options.folder / f"{file}.molden", system, where, exact, vertices, exact_potential)


def by_pyscf(path, system, where, exact, vertices, exact_potential) -> None:
    from pyscf import dft, lib
    from pyscf.tools import molden

    lib.num_threads(len(os.sched_getaffinity(0)))
    mol, _, coefficients, occupations, _, _ = molden.load(str(path))
    matrix = (coefficients * occupations) @ coefficients.T

    def density():
        values = dft.numint.eval_ao(mol, points)
        return dft.numint.eval_rho2(mol, values, coefficients, occupations, xctype="LDA")

    points = np.repeat(where, 20, axis=0)
    seconds, values = median_time(density, 2)
    line(system, "PySCF eval_rho2", seconds, len(points), np.abs(values[::20] - exact).max())
    few = vertices[:200] if mol.nao > 500 else vertices[:2000]
    seconds, values = median_time(lambda: -np.einsum("pij,ij->p", mol.intor("int1e_grids", grids=few), matrix), 1)
    distances = np.linalg.norm(few[:, None] - mol.atom_coords(), axis=2)
    values = values + (mol.atom_charges() / distances).sum(axis=1)
    line(system, "PySCF int1e_grids", seconds, len(few), np.abs(values - exact_potential[: len(few)]).max())


def by_gbasis(path, system, where, exact, vertices, exact_potential) -> None:
    from gbasis.evals.density import evaluate_density
    from gbasis.evals.electrostatic_potential import electrostatic_potential
    from gbasis.wrappers import from_iodata
    from iodata import load_one

    data = load_one(str(path))
    matrix, basis = (data.mo.coeffs * data.mo.occs) @ data.mo.coeffs.T, from_iodata(data)
    few, fewer = (2000, 20) if len(matrix) < 500 else (500, 2)
    seconds, values = once(lambda: evaluate_density(matrix, basis, where[:few]))
    line(system, "qc-gbasis evaluate_density", seconds, few, np.abs(values - exact[:few]).max())
    charges = np.asarray(data.atnums, float)
    seconds, values = once(
        lambda: electrostatic_potential(basis, matrix, vertices[:fewer], np.asarray(data.atcoords), charges)
    )
    error = np.abs(values - exact_potential[:fewer]).max()
    line(system, "qc-gbasis electrostatic_potential", seconds, fewer, error)


def once(function):
    begin = time.perf_counter()
    result = function()
    return time.perf_counter() - begin, result


if __name__ == "__main__":
    main()
