"""Steps of the lattice kernel on a CPU by number of threads: seconds, bytes, operations, and how they grow.

    python benchmarks/threads.py c60b.molden [--threads 1,2,4,8,16] [--fields homo,density] [--spacing 0.075]

Each number of threads is a process of its own, with `ORBITILE_THREADS`. The lattice has a margin of 3 Angstrom around
the atoms; C60-b gets that of `orbitile bench`. Steps are timed in whole calls; each is the least of several calls,
and so is the call. Bytes are those of tables, lists and values, counted as often as they are used: what comes from
which cache is not counted. Operations are multiplications and additions; an exponential counts as one.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orbitile as ob
from orbitile.model.units import angstrom
from orbitile_benchmarks.systems import STONE
from taichi_kernels import lattice_rows

RUNS = {"homo": 15, "density": 3}
STEPS = {"make_tables": "tables", "make_lists": "planes and columns", "add_up": "bricks and sums"}

Count = tuple[float, float]
"""Bytes and operations."""


def of_tables(call: lattice_rows.Call, *_: object) -> Count:
    """Values written along the axes; x with its polynomials, y and z with a power each."""
    sizes = call.sizes
    n_x, n_y, n_z = sizes.n_families
    values = [
        8 * sizes.n_sums * n_x * sizes.bricks_x * sizes.n_tables_x,
        8 * n_y * sizes.sheets * sizes.bricks_y * sizes.n_tables,
        16 * n_z * sizes.bricks_z * sizes.n_tables,
    ]
    terms = 2.0 * values[0] * sizes.n_terms / max(sizes.n_tables_x, 1)
    return call.target.dtype.itemsize * float(sum(values)), terms + sum(values)


def of_lists(call: lattice_rows.Call, *_: object) -> Count:
    """Rows of planes with the largest magnitudes of sixteen columns, and what is written for each of them."""
    sizes, size = call.sizes, call.target.dtype.itemsize
    columns = -(-sizes.bricks_y // 16)
    listed = float(lattice_rows.rows_listed(call, "plane_count", sizes.bricks_x, 1).sum())
    per_row = sizes.n_tables_x / sizes.n_rows  # tables
    planes = float(sizes.n_rows * sizes.bricks_x)
    read = planes * (16 + per_row * (2 * size + 8)) + listed * columns * (20 + per_row * (17 * size + 8))
    return read + listed * columns * 16 * (4 + size), 2 * per_row * (planes + 16 * listed * columns)


def of_sums(call: lattice_rows.Call, *_: object) -> Count:
    """Rows of columns with their tables, rows of bricks with theirs along z, and the values.

    Of derivatives the rows of bricks are those of the first: others have some more or fewer.
    """
    sizes, size = call.sizes, call.target.dtype.itemsize
    in_columns = (
        float(lattice_rows.rows_listed(call, "column_count", sizes.columns, 1).sum()) * sizes.groups_z * sizes.n_results
    )
    in_bricks = float(lattice_rows.rows_listed(call, "brick_count", sizes.bricks, 1).sum()) * sizes.n_results
    per_row = sizes.n_tables_x / sizes.n_rows
    used = in_columns * (20 + size + per_row * (16 * size + 8) + 16 * size) + in_bricks * 16 * size
    written = float(sizes.nx * sizes.ny * sizes.nz) * sizes.n_results * call.out.dtype.itemsize
    return used + written, 2 * (in_columns * 64 * per_row + in_bricks * 64 * 16)


COUNTS: dict[str, Callable[..., Count]] = {"make_tables": of_tables, "make_lists": of_lists, "add_up": of_sums}


def lattice_of(wavefunction: ob.Wavefunction, file: str, spacing: float) -> ob.Lattice:
    """That of `orbitile bench`, or one with a margin of 3 Angstrom."""
    for system in STONE:
        if Path(system.file).stem == Path(file).stem and spacing == 0.075:
            return system.lattice(wavefunction)
    return ob.Lattice.around(wavefunction, spacing * angstrom, 3 * angstrom)


def measured(file: str, field: str, spacing: float) -> dict[str, Any]:
    """Least seconds of a call and of its steps, in this process, and bytes and operations of the steps."""
    spent: dict[str, float] = {}
    counted: dict[str, Count] = {}
    counting = True

    def watched(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        def run(call: lattice_rows.Call, *arguments: Any) -> Any:
            begin = time.perf_counter()
            result = step(call, *arguments)
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - begin
            if counting:
                before, now = counted.get(name, (0.0, 0.0)), COUNTS[name](call)
                counted[name] = before[0] + now[0], before[1] + now[1]
            return result

        return run

    for name in STEPS:
        setattr(lattice_rows, name, watched(name, getattr(lattice_rows, name)))
    wavefunction = ob.load(file)
    lattice = lattice_of(wavefunction, file, spacing)
    ob.compute(wavefunction, field, lattice, device="cpu")
    counting, least = False, {}
    for _ in range(RUNS.get(field, 5)):
        spent.clear()
        begin = time.perf_counter()
        ob.compute(wavefunction, field, lattice, device="cpu")
        spent["call"] = time.perf_counter() - begin
        least = {name: min(seconds, least.get(name, seconds)) for name, seconds in spent.items()}
    return {"points": lattice.n_points, "seconds": least, "counted": counted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--threads", default=",".join(str(2**k) for k in range((os.cpu_count() or 1).bit_length())))
    parser.add_argument("--fields", default="homo,density")
    parser.add_argument("--spacing", type=float, default=0.075, help="in Angstrom")
    parser.add_argument("--here", help=argparse.SUPPRESS)  # a field: measure it in this process
    options = parser.parse_args()
    if options.here:
        print(json.dumps(measured(options.file, options.here, options.spacing)))
        return
    for field in options.fields.split(","):
        alone: dict[str, float] = {}
        for threads in options.threads.split(","):
            command = [sys.executable, __file__, options.file, "--here", field, "--spacing", str(options.spacing)]
            environment = {**os.environ, "ORBITILE_THREADS": threads}
            found = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
            seconds = found["seconds"]
            alone = alone or seconds
            print(f"{field}, {found['points']} points, {threads} thread(s)")
            for name, label in STEPS.items():
                if name in seconds:
                    size, operations = found["counted"][name]
                    print(
                        f"  {label:20s} {1e3 * seconds[name]:9.2f} ms {alone[name] / seconds[name]:6.2f}x "
                        f"{size / 1e6:9.1f} MB {size / seconds[name] / 1e9:7.1f} GB/s "
                        f"{operations / 1e6:9.1f} Mop {operations / seconds[name] / 1e9:7.1f} GFLOP/s"
                    )
            print(f"  {'whole call':20s} {1e3 * seconds['call']:9.2f} ms {alone['call'] / seconds['call']:6.2f}x")


if __name__ == "__main__":
    main()
