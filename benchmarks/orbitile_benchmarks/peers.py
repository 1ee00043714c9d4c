"""Other programs on the same points, in the same process.

Each function measures one program on one case; what it raises becomes a row that says why there is no time. A program
that would take long is measured on part of the points, and the row says on how many.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitile.model.units import angstrom

from .gpu_peers import GPU_PEERS
from .measurement import PATIENCE, SAMPLE, Array, Case, Peer, Row, Timing, peer_row, released, timed, worst

BLOCK = 7168
"""Points that PySCF is handed at once: 128 of its blocks of 56."""


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _stride(case: Case, evaluate: Callable[[Any], object], most: int = 16) -> int:
    """Least power of two such that every so manieth point along each axis takes no longer than our patience."""
    stride = most
    while stride > 1:
        begin = time.perf_counter()
        evaluate(case.every(stride))
        if (time.perf_counter() - begin) * 8 > PATIENCE:
            break
        stride //= 2
    return stride


def pyscf(case: Case, vertices: Array) -> Iterator[Row]:
    """PySCF: basis functions in blocks with its screening, and a product with the coefficients; its integrals."""
    from pyscf import dft, lib

    assert case.molecule is not None  # the import above would have failed
    molecule, coefficients, occupations = case.molecule
    column = coefficients[:, case.homo]
    n = case.lattice.n_points

    def orbital(points: Array) -> Array:
        return np.asarray(dft.numint.eval_ao(molecule, points, cutoff=1e-10) @ column)

    def density(points: Array) -> Array:
        values = dft.numint.eval_ao(molecule, points, cutoff=1e-10)
        return np.asarray(dft.numint.eval_rho2(molecule, values, coefficients, occupations, xctype="LDA"))

    threads = _better_threads(case, orbital, lib.num_threads)
    name, note = f"PySCF {released('pyscf')}", f"threads: {threads}, the better of 1 and {_cpus()}"
    timing, measured = _in_blocks(case, orbital)
    error = worst(orbital(case.sample_points), case.orbital_reference)
    yield peer_row("orbital", case, f"{name} eval_ao, screened", timing, n, error, measured, note=note)
    yield from _guarded("orbital", case, f"{name} cubegen", lambda: _cubegen(case, molecule, column, f"{name} cubegen"))
    if case.system.whole:
        timing, measured = _in_blocks(case, density)
        error = worst(density(case.sample_points), case.density_reference)
        yield peer_row("density", case, f"{name} eval_rho2, screened", timing, n, error, measured, note=note)
        few = vertices[: _few_vertices(case)]
        timing = timed(lambda: case.potential_at(few))
        yield peer_row("potential", case, f"{name} int1e_grids", timing, len(vertices), None, len(few), note=note)


def _few_vertices(case: Case) -> int:
    """Vertices at which potentials are compared: integrals take their time."""
    return int(np.clip(2e8 // case.wavefunction.n_basis**2, 20, 1000))


def _better_threads(case: Case, evaluate: Callable[[Array], Array], use: Callable[[int], object]) -> int:
    """One thread or all, whichever is faster on some blocks, and set so.

    Threads of OpenMP wait for each other at the end of every block; where other work has one of the processors, two are
    slower than one, by far.
    """
    first = case.lattice.n_points // 2
    blocks = [case.points_of(np.arange(first + i * BLOCK, min(first + (i + 1) * BLOCK, case.lattice.n_points)))
              for i in range(8)]  # fmt: skip
    seconds: dict[int, float] = {}
    for threads in (1, _cpus(), 1, _cpus()):
        use(threads)
        begin = time.perf_counter()
        for points in blocks:
            evaluate(points)
        seconds[threads] = min(time.perf_counter() - begin, seconds.get(threads, np.inf))
    better = min(seconds, key=seconds.__getitem__)
    use(better)
    return better


def _in_blocks(case: Case, evaluate: Callable[[Array], Array]) -> tuple[Timing, int]:
    """Time blocks of neighbouring points, spread over the lattice, until all are done or patience ends."""
    n = case.lattice.n_points
    blocks = -(-n // BLOCK)
    order = np.random.default_rng(2).permutation(blocks)
    evaluate(case.points_of(np.arange(0, min(BLOCK, n))))
    spent = used = 0.0
    done = 0
    for block in order:
        points = case.points_of(np.arange(block * BLOCK, min(n, (block + 1) * BLOCK)))
        begin, before = time.perf_counter(), time.process_time()
        evaluate(points)
        spent += time.perf_counter() - begin
        used += time.process_time() - before
        done += len(points)
        if spent > PATIENCE:
            break
    return Timing(spent, spent, 1, used / spent), 0 if done == n else done


def _cubegen(case: Case, molecule: Any, column: Array, name: str) -> Iterator[Row]:
    """PySCF's cube file of 40 points along each axis of its own box, its text included."""
    from pyscf.tools import cubegen

    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "homo.cube")
        timing = timed(lambda: cubegen.orbital(molecule, file, column, nx=40, ny=40, nz=40), most=2)
    points = cubegen.Cube(molecule, 40, 40, 40).get_coords()[::16]
    error = worst(timing.result.reshape(-1)[::16], case.orbital_at(points))
    yield peer_row("orbital", case, name, timing, case.lattice.n_points, error, 40**3)


def gbasis(case: Case, vertices: Array) -> Iterator[Row]:
    """qc-gbasis, whose time is proportional to the number of points."""
    from gbasis.evals.density import evaluate_density
    from gbasis.evals.electrostatic_potential import electrostatic_potential
    from gbasis.evals.eval import evaluate_basis
    from gbasis.wrappers import from_iodata
    from iodata import load_one

    from orbitile.readers.iodata import dialects_of_iodata

    with dialects_of_iodata(package="iodata"):  # its own takes minutes for a large molecule
        data = load_one(str(case.path))
    basis, name, n = from_iodata(data), f"qc-gbasis {released('qc-gbasis')}", case.lattice.n_points
    few = int(np.clip(4_000_000 // case.wavefunction.n_basis, 500, 5000))
    points = case.sample_points[:few]
    row = data.mo.coeffs.T[case.homo : case.homo + 1]
    timing = timed(lambda: evaluate_basis(basis, points, transform=row, screen_basis=False)[0], most=3)
    yield peer_row("orbital", case, name, timing, n, worst(timing.result, case.orbital_reference[:few]), few)
    if not case.system.whole:
        return
    matrix = (data.mo.coeffs * data.mo.occs) @ data.mo.coeffs.T
    few = few // 5
    timing = timed(lambda: evaluate_density(matrix, basis, case.sample_points[:few]), most=3)
    yield peer_row("density", case, name, timing, n, worst(timing.result, case.density_reference[:few]), few)
    if case.wavefunction.n_basis > 1000:
        raise RuntimeError("potential not tried: one point takes longer than half a minute")
    few = 20 if case.wavefunction.n_basis < 500 else 1
    charges, where = np.asarray(data.atnums, float), np.asarray(data.atcoords)
    timing = timed(lambda: electrostatic_potential(basis, matrix, vertices[:few], where, charges), most=1)
    error = worst(timing.result, case.potential_at(vertices[:few]))
    yield peer_row("potential", case, name, timing, len(vertices), error, few)


def avogadro(case: Case, vertices: Array) -> Iterator[Row]:
    """The library of Avogadro 2: float32 cubes."""
    from avogadro.core import GaussianSetTools, Molecule
    from avogadro.io import FileFormatManager

    molecule = Molecule()
    FileFormatManager().read_file(molecule, str(case.path), "molden")
    order = np.argsort(molecule.basis_set.mo_energy(), kind="stable")  # in the order of the file, as far as seen
    if len(order) != len(case.wavefunction.alpha):
        raise RuntimeError(f"reads {len(order)} of {len(case.wavefunction.alpha)} orbitals")
    cube, tools = molecule.add_cube(), GaussianSetTools(molecule)

    def fill(lattice: Any, evaluate: Callable[[], bool]) -> NDArray[np.float32]:
        last = lattice.origin + (np.array(lattice.shape) - 1) * lattice.spacings
        cube.set_limits(lattice.origin / angstrom, last / angstrom, np.array(lattice.shape, np.int32))
        if not evaluate():
            raise RuntimeError("declines")
        return np.asarray(cube.data)

    parts = [("orbital", lambda: tools.calculate_molecular_orbital(cube, case.homo))]
    if case.system.whole:
        parts.append(("density", lambda: tools.calculate_electron_density(cube)))
    for part, evaluate in parts:
        filled = partial(fill, evaluate=evaluate)
        name, stride = f"Avogadro {released('avogadro')}", _stride(case, filled)
        yield _on_sublattice(part, case, name, stride, filled, precision="single")


def _on_sublattice(
    part: str, case: Case, name: str, stride: int, evaluate: Callable[[Any], NDArray[np.floating]], **more: Any
) -> Row:
    lattice = case.every(stride)
    timing = timed(lambda: evaluate(lattice), most=5)
    values = np.asarray(timing.result).reshape(-1)
    if stride == 1:
        index, where = case.sample, case.sample_points
    else:
        index = np.random.default_rng(4).integers(0, lattice.n_points, min(SAMPLE, 4000))
        where = lattice.origin + np.stack(np.unravel_index(index, lattice.shape), axis=1) @ lattice.axes
    exact = case.orbital_at(where) if part == "orbital" else case.density_at(where)
    measured = 0 if stride == 1 else lattice.n_points
    return peer_row(part, case, name, timing, case.lattice.n_points, worst(values[index], exact), measured, **more)


_CCLIB_ORDER = {0: [0], 1: [0, 1, 2], 2: [0, 3, 5, 1, 4, 2], 3: list(range(10))}
"""Places, among our components, of cclib's: xx yy zz xy yz xz."""


def cclib_mojo(case: Case, vertices: Array) -> Iterator[Row]:
    """cclib-mojo: the volumes of cclib by a compiled kernel."""
    from cclib_mojo import density_on_grid, native_available, wavefunction_on_grid

    wavefunction = case.wavefunction
    highest = max(shell.angular_momentum for shell in wavefunction.shells)
    if highest > 3 or any(shell.pure for shell in wavefunction.shells):
        raise RuntimeError("has Cartesian functions up to f only")
    basis: list[list[Any]] = [[] for _ in range(wavefunction.n_atoms)]
    order: list[list[int]] = [[] for _ in range(wavefunction.n_atoms)]
    first = 0
    for shell in wavefunction.shells:
        primitives = list(zip(shell.exponents.tolist(), shell.coefficients.tolist(), strict=True))
        basis[shell.atom].append(("SPDF"[shell.angular_momentum], primitives))
        order[shell.atom] += [first + place for place in _CCLIB_ORDER[shell.angular_momentum]]
        first += shell.n_functions
    orbitals = wavefunction.alpha
    coefficients = orbitals.coefficients[[n for one in order for n in one]].T
    occupied = np.ascontiguousarray(coefficients[orbitals.occupations > 0.5])
    atoms = wavefunction.positions / 1.8897261245  # its constants, so that both have the same lengths in bohr

    def at(lattice: Any) -> tuple[Any, ...]:
        return lattice.origin * 0.5291772109, lattice.spacings * 0.5291772109, lattice.shape

    name = f"cclib-mojo {released('cclib-mojo')}" + ("" if native_available() else ", NumPy fallback")

    def orbital(lattice: Any) -> Any:
        return wavefunction_on_grid(basis, atoms, coefficients[case.homo], *at(lattice))

    def density(lattice: Any) -> Any:
        return 2 * density_on_grid(basis, atoms, occupied, *at(lattice))

    yield _on_sublattice("orbital", case, name, _stride(case, orbital), orbital)
    if case.system.whole:
        yield _on_sublattice("density", case, name, _stride(case, density), density)


def moldenviz(case: Case, vertices: Array) -> Iterator[Row]:
    """moldenViz: all basis functions at all points, then a product."""
    from moldenViz.tabulator import Tabulator

    table = Tabulator(filename=str(case.path))
    few = min(SAMPLE, (1 << 27) // case.wavefunction.n_basis)
    table.set_grid(case.sample_points[:few])

    def call() -> Any:
        table.tabulate_gtos()
        return table.tabulate_mos(case.homo)

    timing = timed(call, most=3)
    error = worst(timing.result, case.orbital_reference[:few])
    yield peer_row("orbital", case, f"moldenViz {released('moldenViz')}", timing, case.lattice.n_points, error, few)


PEERS: dict[str, Peer] = {
    "PySCF": pyscf,
    "qc-gbasis": gbasis,
    "Avogadro": avogadro,
    "cclib-mojo": cclib_mojo,
    "moldenViz": moldenviz,
}
"""Programs for the CPU, by name."""


def peer_rows(case: Case, vertices: Array, gpu: bool, names: Collection[str] = ()) -> Iterator[Row]:
    """Rows of all peers on one case, or of those named; `vertices` are the points of potentials, in bohr."""
    for name, peer in (PEERS | (GPU_PEERS if gpu else {})).items():
        if not names or name in names:
            yield from _guarded("orbital", case, name, partial(peer, case, vertices))


def _guarded(part: str, case: Case, name: str, rows: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    """The rows, and in place of what a program raises a row that tells it."""
    try:
        yield from rows()
    except ModuleNotFoundError as error:
        yield _failed(part, case, name, f"not installed (no module {error.name})")
    except Exception as error:  # another program may fail in any way, and the others are still of interest
        yield _failed(part, case, name, f"{type(error).__name__}: {' '.join(str(error).split())[:120]}")


def _failed(part: str, case: Case, name: str, note: str) -> Row:
    return Row(part, case.system.name, name, "", "", case.lattice.n_points, None, note=note)
