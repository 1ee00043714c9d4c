"""Coulomb matrix, quadrature and whole calculations beside those of PySCF, and of gpu4pyscf where it is installed.

    python benchmarks/kohn_sham.py coulomb,exchange-correlation --systems threonine,(H2O)6
    python benchmarks/kohn_sham.py errors
    python benchmarks/kohn_sham.py energies --systems water;alkanes --functionals lda,pbe [--reference FILE.json]
    python benchmarks/kohn_sham.py energies --systems caffeine.xyz --functionals b3lyp --peers pyscf,pyscf-df
    python benchmarks/kohn_sham.py path --frames 100
    python benchmarks/kohn_sham.py forces

Programs take turns, call by call, so that a busy machine is busy for all of them; times are the least of the rounds,
medians in brackets, and beside them the least time of processors, which neighbours change least. What a program keeps
from one iteration to the next is made before and has a column of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))  # PySCF's kernels

from orbitile.base.errors import OrbitileError
from orbitile.evaluation.devices import device_session
from orbitile.model.units import angstrom
from orbitile_benchmarks import kohn_sham_programs as programs
from orbitile_benchmarks.geometries import atoms_of, threonine_path
from orbitile_benchmarks.kohn_sham_cases import ODD, Case, odd_cases, timing_case
from orbitile_benchmarks.measurement import worst
from orbitile_benchmarks.reference_energies import BASIS, FUNCTIONALS, SERIES

ROUNDS, PATIENCE = 7, 20.0
"""Most rounds, and seconds after which no further one begins; three at least, unless one takes longer than a minute."""


def table(columns: str, lines: Iterable[tuple[Any, ...]]) -> None:
    """Print a table, each line as soon as it is known."""
    names = columns.split(", ")
    print("| " + " | ".join(names) + " |")
    print("|" + "---|" * len(names), flush=True)
    for line in lines:
        print("| " + " | ".join(str(cell) for cell in line) + " |", flush=True)
    print()


def clocked(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """What a call gives, its seconds, and those of processors."""
    begin, before = time.perf_counter(), time.process_time()
    result = call()
    return result, time.perf_counter() - begin, time.process_time() - before


def in_turns(calls: dict[str, Callable[[], Any]]) -> dict[str, tuple[str, str, Any]]:
    """Of calls that take turns: least and median seconds, those of processors, and results.

    A first round is not counted.
    """
    results = {name: call() for name, call in calls.items()}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    begin = time.perf_counter()
    for n in range(ROUNDS):
        if n and time.perf_counter() - begin > (60 if n < 3 else PATIENCE):
            break
        for name, call in calls.items():
            results[name], wall, busy = clocked(call)
            times[name].append((wall, busy))
    columns = {name: np.array(some).T for name, some in times.items()}
    return {
        name: (f"{wall.min():.4f} ({np.median(wall):.4f})", f"{busy.min():.3f}", results[name])
        for name, (wall, busy) in columns.items()
    }


def compared(
    options: argparse.Namespace, piece: str, difference: Callable[[Case, Any, Any], tuple[str, ...]], *more: str
) -> Iterable[tuple[Any, ...]]:
    """Lines of a table: each system by every program; errors are those against the first of the others."""
    others = [name for name in options.peers.split(",") if name]
    for system in options.systems.split(";"):
        case = timing_case(system)
        with device_session(options.device, "double") as target:
            calls, before = {}, {}
            for name in ("single", "double", *others):
                begin = time.perf_counter()
                if name in others:
                    calls[name] = getattr(programs, f"{name}_{piece}")(case, *more)
                else:  # for a new wavefunction, from which nothing is derived yet
                    fresh = replace(case, wavefunction=replace(case.wavefunction))
                    calls[name] = getattr(programs, f"orbitile_{piece}")(fresh, *more, replace(target, precision=name))
                before[name] = time.perf_counter() - begin
            found = in_turns(calls)
        reference = found[others[0] if others else "double"][2]
        for name, (seconds, of_processors, result) in found.items():
            program = name if name in others else f"Orbitile, {name}, {target.device}"
            yield (
                system,
                *more,
                program,
                seconds,
                of_processors,
                f"{before[name]:.2f}",
                *difference(case, result, reference),
            )


def coulomb(options: argparse.Namespace) -> None:
    """J, and the Coulomb energy."""

    def difference(case: Case, found: Any, reference: Any) -> tuple[str, ...]:
        energies = [0.5 * np.vdot(case.ours(case.total), matrix) for matrix in (found, reference)]
        return f"{worst(found, reference):.1e}", f"{abs(energies[0] - energies[1]):.1e}"

    table(
        "system, program, J in seconds, of processors, prepared in, largest error of J, error of E_J",
        compared(options, "coulomb", difference),
    )


def exchange_correlation(options: argparse.Namespace) -> None:
    """Density and matrix on the quadrature, functional included."""

    def difference(case: Case, found: Any, reference: Any) -> tuple[str, ...]:
        wanted = case.molecule.nelectron
        return (
            f"{worst(found.matrix, reference.matrix):.1e}",
            f"{abs(found.energy - reference.energy):.1e}",
            f"{found.electrons - wanted:.1e}",
        )

    def lines() -> Iterable[tuple[Any, ...]]:
        for functional in options.functionals.split(","):
            yield from compared(options, "exchange_correlation", difference, functional)

    columns = "system, functional, program, density and V_xc in seconds, of processors, prepared in, largest error of V"
    table(f"{columns}, error of E_xc, electrons beyond those of the molecule", lines())


def errors(options: argparse.Namespace) -> None:
    """Ten molecules with functions up to g: the largest errors against PySCF, in both precisions."""

    def lines() -> Iterable[tuple[Any, ...]]:
        for case in odd_cases(options.systems.split(";")):
            j = programs.pyscf_coulomb(case, 1e-18)()
            xc = {name: programs.pyscf_exchange_correlation(case, name, 1e-30)() for name in FUNCTIONALS}
            total = case.ours(case.total)
            for precision in ("single", "double"):
                with device_session(options.device, precision) as target:
                    found = programs.orbitile_coulomb(case, target)()
                    cells = [f"{worst(found, j):.1e}", f"{abs(0.5 * np.vdot(total, found - j)):.1e}"]
                    for name, reference in xc.items():
                        own = programs.orbitile_exchange_correlation(case, name, target)()
                        cells += [f"{worst(own.matrix, reference.matrix):.1e}"]
                        cells += [f"{abs(own.energy - reference.energy):.1e}"]
                kind = "Cartesian" if case.molecule.cart else "pure"
                yield (case.name, case.molecule.basis, kind, case.molecule.nao, precision, *cells)

    table("molecule, basis, functions, n, precision, J, E_J, V LDA, E_xc LDA, V PBE, E_xc PBE", lines())


def energies(options: argparse.Namespace) -> None:
    """Whole calculations by several engines, or beside energies kept in a file; errors against the first of these."""
    from orbitile.scf.calculation import Calculation
    from orbitile.scf.engines import engines

    kept = json.loads(options.reference.read_text(encoding="utf-8")) if options.reference else {}
    names = ["orbitile", *(name for name in options.peers.split(",") if name and not kept)]

    def solve(engine: str, text: str, functional: str) -> Any:
        calculation = Calculation(FUNCTIONALS.get(functional, functional), options.basis, charge=_charge_in(text))
        if engine.endswith("-df"):
            return programs.fitted(geometry_from(text), calculation, on_gpu=engine.startswith("gpu"))
        return engines()[engine].solve(geometry_from(text), calculation, (), options.device, options.precision)

    def lines() -> Iterable[tuple[Any, ...]]:
        for system in options.systems.split(";"):
            molecules = SERIES[system] if system in SERIES else {Path(system).stem: _one_of_the_series(system)}
            for name, make in molecules.items():
                for functional in options.functionals.split(","):
                    if kept and f"{name} {functional}" not in kept:
                        continue
                    found = {}
                    for engine in names:
                        solution, *times = clocked(partial(solve, engine, make(), functional))
                        found[engine] = solution.energy, solution.n_iterations, *(f"{one:.2f}" for one in times)
                    if kept:
                        entry = kept[f"{name} {functional}"]
                        found["PySCF, kept"] = entry["energy"], entry["cycles"], "", ""
                    reference = found[next(islice(found, 1, None), names[0])][0]
                    for engine, (energy, *rest) in found.items():
                        yield name, functional, engine, f"{energy:.9f}", f"{energy - reference:.1e}", *rest

    for functional in options.functionals.split(","):  # compiles or loads the kernels
        for engine in names:
            solve(engine, SERIES["alkanes"]["C2H6"](), functional)
    table("molecule, functional, engine, total energy, difference, iterations, seconds, of processors", lines())


def _one_of_the_series(name: str) -> Callable[[], str]:
    for series in SERIES.values():
        if name in series:
            return series[name]
    if Path(name).suffix == ".xyz":
        return lambda: "# " + Path(name).read_text(encoding="utf-8").partition("\n")[2]
    raise OrbitileError(f"system: expected {', '.join(SERIES)}, a molecule of these or an XYZ file, got {name!r}")


def _charge_in(text: str) -> int:
    """Charge of the molecule, which the comment of an XYZ file may state: charge=1."""
    return int((re.findall(r"charge=(-?\d+)", text) or [0])[0])


def geometry_from(text: str) -> Any:
    """A geometry of the model from atoms as PySCF reads them, where comments begin with #."""
    from orbitile.model.elements import SYMBOLS
    from orbitile.model.geometry import Geometry

    elements, places = atoms_of(text)
    return Geometry(np.array([SYMBOLS.index(element) for element in elements]), places * angstrom)


def path(options: argparse.Namespace) -> None:
    """Frames of threonine, each begun from those before, by both engines."""
    from orbitile.scf.calculation import Calculation
    from orbitile.scf.engines import engines

    geometries = [geometry_from(text) for text in threonine_path(100)][: options.frames]
    calculation = Calculation(FUNCTIONALS["pbe"], BASIS)
    spent: dict[str, list[list[float]]] = {}
    cycles: dict[str, list[int]] = {}
    total: dict[str, list[float]] = {}
    names = ["orbitile", *(name for name in options.peers.split(",") if name)]
    before: dict[str, list[Any]] = {name: [] for name in names}
    for number, geometry in enumerate(geometries):
        for name in names:
            solve = partial(engines()[name].solve, geometry, calculation, before[name])
            solution, *times = clocked(partial(solve, options.device, options.precision))
            spent.setdefault(name, []).append(times)
            cycles.setdefault(name, []).append(solution.n_iterations)
            total.setdefault(name, []).append(solution.energy)
            before[name] = [*before[name][-7:], solution.wavefunction]
        print(
            number + 1,
            *(f"{name} {spent[name][-1][0]:.2f} s, {cycles[name][-1]} iterations" for name in names),
            flush=True,
        )
    reference = np.array(total[names[-1]])

    def lines() -> Iterable[tuple[Any, ...]]:
        for name in names:
            wall, busy = np.array(spent[name]).T
            later = slice(1, None) if len(wall) > 1 else slice(None)
            times = [f"{column.sum():.1f}, {column[0]:.2f}, {np.median(column[later]):.2f}" for column in (wall, busy)]
            median = int(np.median(cycles[name][later]))
            yield name, len(wall), *times, median, f"{worst(np.array(total[name]), reference):.1e}"

    each = "all frames and the first and a later one (median)"
    columns = f"engine, frames, seconds of {each}, of processors, iterations (median), largest difference in hartree"
    table(columns, lines())


def forces(options: argparse.Namespace) -> None:
    """Gradients of converged energies, by both engines, each from its own orbitals."""
    from orbitile.scf.calculation import Calculation
    from orbitile.scf.engines import engines

    names = ["orbitile", *(name for name in options.peers.split(",") if name)]

    def lines() -> Iterable[tuple[Any, ...]]:
        for system in options.systems.split(";"):
            geometry = geometry_from(_one_of_the_series(system)())
            for functional in options.functionals.split(","):
                calculation = Calculation(FUNCTIONALS.get(functional, functional), BASIS)
                found = {}
                for name in names:
                    engine = engines()[name]
                    solution = engine.solve(geometry, calculation, (), options.device, options.precision)
                    begin = time.perf_counter()
                    gradient = engine.gradient(solution.wavefunction, calculation, options.device, options.precision)
                    found[name] = gradient, time.perf_counter() - begin
                reference = found[names[-1]][0]
                for name, (gradient, seconds) in found.items():
                    errors = f"{worst(gradient, reference):.1e}", f"{np.abs(gradient.sum(axis=0)).max():.1e}"
                    yield system, functional, name, f"{seconds:.2f}", *errors

    columns = "molecule, functional, engine, seconds from orbitals to forces, largest difference in hartree/bohr"
    table(f"{columns}, largest component of their sum", lines())


PARTS = {
    "coulomb": (coulomb, "threonine"),
    "exchange-correlation": (exchange_correlation, "threonine"),
    "errors": (errors, ";".join(ODD)),
    "energies": (energies, "threonine"),
    "path": (path, ""),
    "forces": (forces, "threonine"),
}
"""What can be measured, and the systems where none are named."""


def processor() -> str:
    """Its name, where the system tells."""
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        return next(line.partition(": ")[2] for line in told.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", help=f"some of {', '.join(PARTS)}, with commas between")
    parser.add_argument("--systems", help="with semicolons between")
    parser.add_argument("--functionals", default=",".join(FUNCTIONALS))
    parser.add_argument("--basis", default=BASIS, help="of whole calculations")
    parser.add_argument(
        "--peers",
        default="pyscf",
        help="pyscf, gpu4pyscf, or nothing; pyscf-df, gpu4pyscf-df (density-fitted, energies)",
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="single", help="of ours, in whole calculations")
    parser.add_argument("--frames", type=int, default=100)
    parser.add_argument("--reference", type=Path, help="energies by orbitile_benchmarks.reference_energies")
    options = parser.parse_args()
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, ",
        end="",
    )
    print(f"{date.today():%d %B %Y}, python benchmarks/kohn_sham.py {' '.join(sys.argv[1:])}\n")
    given = options.systems
    for part in options.parts.split(","):
        measure, systems = PARTS[part]
        options.systems = systems if given is None else given
        measure(options)


if __name__ == "__main__":
    main()
