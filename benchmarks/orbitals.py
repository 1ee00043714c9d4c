"""Orbitals on a lattice: the six systems of Stone et al. (GPGPU 2009, table 3), ours beside PySCF and qc-gbasis.

    python benchmarks/orbitals.py [--data FOLDER] [--devices cpu,cuda,vulkan] [--peers] [--json FILE]

One orbital (the HOMO) of each system on the lattice of that paper (C60: 172 x 173 x 169 points) or on the molecule and
a margin, at 0.075 Angstrom. Every time is the median of repeated whole calls after one that compiles; every error is
the largest difference from a float64 reference at random points of the lattice. Molden files are looked for in FOLDER
under the names c60a, c60b, thra, thrb, kra, krb; `make_molecules.py` makes those that are missing.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # BLAS threads fight PySCF's own

import numpy as np

import orbitile as ob
from orbitile.units import angstrom

NAMES = {"c60a": "C60-a", "c60b": "C60-b", "thra": "Thr-a", "thrb": "Thr-b", "kra": "Kr-a", "krb": "Kr-b"}
SPACING = 0.075 * angstrom
SHAPES = {"c60": (172, 173, 169), "thr": (161, 128, 118), "kr": (108, 108, 108)}
SAMPLE = 20_000


def lattice_of(name: str, wavefunction: ob.Wavefunction) -> ob.Lattice:
    """The lattice of the paper, centred on the molecule."""
    shape = next(shape for prefix, shape in SHAPES.items() if name.startswith(prefix))
    middle = (wavefunction.positions.max(axis=0) + wavefunction.positions.min(axis=0)) / 2
    return ob.Lattice(middle - (np.array(shape) - 1) * SPACING / 2, np.eye(3) * SPACING, shape)


def median_time(call: Callable[[], object], repeats: int) -> float:
    """Median of the seconds that a call takes, after one that is not counted."""
    call()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def extra_memory(call: Callable[[], object]) -> float:
    """Largest resident memory in MB while a call runs, beyond what was resident before it; NaN where Linux is not.

    For the first call of a process that includes the compiler and the kernels.
    """
    status = Path("/proc/self/status")
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
        before = status.read_text(encoding="ascii")
        call()
        after = status.read_text(encoding="ascii")
    except OSError:
        return float("nan")
    kilobytes = [int(text.split(f"{name}:")[1].split()[0]) for text, name in ((before, "VmRSS"), (after, "VmHWM"))]
    return (kilobytes[1] - kilobytes[0]) / 1024


class Reference:
    """Values in float64 at random points of a lattice, from PySCF where it is installed, else from our own oracle."""

    def __init__(self, path: Path, wavefunction: ob.Wavefunction, lattice: ob.Lattice, homo: int) -> None:
        self.index = np.random.default_rng(0).integers(0, lattice.n_points, SAMPLE)
        corner = np.stack(np.unravel_index(self.index, lattice.shape), axis=1)
        points = lattice.origin + corner @ lattice.axes
        try:
            from pyscf.dft import numint
            from pyscf.tools import molden
        except ImportError:
            sys.path.insert(0, str(Path(__file__).parents[1]))
            from tests.oracle import orbital

            self.source = "NumPy oracle"
            self.values = np.concatenate([orbital(wavefunction, homo, part) for part in np.array_split(points, 40)])
            return
        self.source = "PySCF"
        molecule, _, coefficients, *_ = molden.load(str(path))
        self.values = np.asarray(numint.eval_ao(molecule, points) @ coefficients[:, homo])

    def error(self, values: np.ndarray) -> float:
        """Largest difference of a whole volume from the reference."""
        return float(np.abs(values.ravel()[self.index] - self.values).max())


def ours(
    wavefunction: ob.Wavefunction, lattice: ob.Lattice, device: str, precision: str, reference: Reference
) -> list[dict[str, Any]]:
    """Whole calls, with the result in a NumPy array and, on a GPU, left on the device."""

    def call() -> ob.Volume:
        return ob.compute(wavefunction, "homo", lattice, device=device, precision=precision)

    begin = time.perf_counter()
    extra = extra_memory(call)
    first = time.perf_counter() - begin
    error = reference.error(call().values)
    rows: list[dict[str, Any]] = [
        {
            "program": f"Orbitile {device} {precision}",
            "seconds": median_time(call, 15),
            "error": error,
            "first": first,
            "extra_MB": extra,
        }
    ]
    if device != "cpu":

        def stay() -> object:
            return ob.compute_on_device(wavefunction, "homo", lattice, device=device, precision=precision)

        rows.append(
            {"program": f"Orbitile {device} {precision}, left there", "seconds": median_time(stay, 30), "error": error}
        )
    return rows


def pyscf_row(path: Path, lattice: ob.Lattice, homo: int, reference: Reference) -> dict[str, Any]:
    """PySCF's evaluator in blocks with its screening of basis functions, then a product with the coefficients."""
    from pyscf.dft import numint
    from pyscf.tools import molden

    molecule, _, coefficients, *_ = molden.load(str(path))
    block = 7168
    points = lattice.points()

    def call() -> np.ndarray:
        values = np.empty(len(points))
        for first in range(0, len(points), block):
            part = slice(first, first + block)
            values[part] = numint.eval_ao(molecule, points[part], cutoff=1e-10) @ coefficients[:, homo]
        return values

    begin = time.perf_counter()
    values = call()
    return {"program": "PySCF", "seconds": time.perf_counter() - begin, "error": reference.error(values)}


def gbasis_row(path: Path, lattice: ob.Lattice, homo: int, reference: Reference) -> dict[str, Any]:
    """qc-gbasis on a few thousand points, scaled to all (its time is proportional to their number)."""
    from gbasis.evals.eval import evaluate_basis
    from gbasis.wrappers import from_iodata
    from iodata import load_one

    from orbitile.readers.iodata import _fast_normalisation_test

    with _fast_normalisation_test():
        data = load_one(str(path))
    basis = from_iodata(data)
    share = SAMPLE // 4
    corner = np.stack(np.unravel_index(reference.index[:share], lattice.shape), axis=1)
    points = lattice.origin + corner @ lattice.axes
    begin = time.perf_counter()
    values = evaluate_basis(basis, points, transform=data.mo.coeffs.T[homo : homo + 1], screen_basis=False)[0]
    seconds = (time.perf_counter() - begin) * lattice.n_points / share
    return {
        "program": f"qc-gbasis (from {share} points)",
        "seconds": seconds,
        "error": float(np.abs(values - reference.values[:share]).max()),
    }


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with the Molden files (default: data)")
    parser.add_argument("--devices", default="cpu", help="devices, with commas between (default: cpu)")
    parser.add_argument("--systems", default=",".join(NAMES), help="which of the six (default: all)")
    parser.add_argument("--peers", action="store_true", help="PySCF and qc-gbasis too")
    parser.add_argument("--double", action="store_true", help="double precision too")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    options = parser.parse_args()
    from taichi_kernels import runtime

    print(f"{date.today()}, " + "; ".join(runtime.probe(name).detail for name in options.devices.split(",")))
    rows = []
    print(
        f"{'system':<8}{'program':<34}{'ms':>11}{'Mpoints/s':>12}{'max error':>12}{'first call s':>14}{'extra MB':>10}"
    )
    for device in options.devices.split(","):  # one device after the other: Taichi holds one at a time
        for name in options.systems.split(","):
            path = options.data / f"{name}.molden"
            if not path.exists():
                sys.exit(f"{path}: not there; make it with benchmarks/make_molecules.py")
            wavefunction = ob.load(path)
            lattice = lattice_of(name, wavefunction)
            homo = int(np.flatnonzero(wavefunction.alpha.occupations > 0.5)[-1])
            reference = Reference(path, wavefunction, lattice, homo)
            found = []
            for precision in ("single", "double") if options.double else ("single",):
                if precision == "single" or runtime.probe(device).double:
                    found += ours(wavefunction, lattice, device, precision, reference)
            if options.peers and device == "cpu":
                found += [pyscf_row(path, lattice, homo, reference), gbasis_row(path, lattice, homo, reference)]
            for row in found:
                row |= {"system": NAMES[name], "points": lattice.n_points, "reference": reference.source}
                speed = lattice.n_points / row["seconds"] / 1e6
                first = f"{row['first']:14.2f}{row['extra_MB']:10.0f}" if "first" in row else ""
                print(
                    f"{row['system']:<8}{row['program']:<34}{row['seconds'] * 1e3:11.3f}{speed:12.3f}"
                    f"{row['error']:12.1e}{first}",
                    flush=True,
                )
            rows += found
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
