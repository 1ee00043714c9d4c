"""All kernels for orbitals on the six systems of Stone et al. (GPGPU 2009, table 3): time and error.

    python benchmarks/kernels.py [--data FOLDER] [--device cpu,cuda,vulkan] [--systems ...] [--record]

Prints a table in Markdown for each device: the HOMO on the lattices of `orbitile bench`, milliseconds for a whole call
that leaves the result in a NumPy array and, on a GPU, for one that leaves it there; least of several, kernels taking
turns. The error is the largest difference from values in double precision by the separable kernel, as a share of the
largest value.

--record measures what `kernel="auto"` goes by instead, in both precisions, and writes it to the package: orthogonal,
upright (one axis at right angles to the other two) and skewed lattices at 0.15 Angstrom, and points. The time kept is
the geometric mean over the systems.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import orbitile as ob
from orbitile.gaussians.kernels import kernel_modules
from orbitile.gaussians.kernels._sums import upright
from orbitile.model.units import angstrom
from orbitile_benchmarks.orbitile_rows import ready
from orbitile_benchmarks.systems import STONE

RECORD = Path(__file__).parents[1] / "plugin" / "orbitile" / "data" / "kernels.json"
RECORDED = ("c60b", "thrb", "krb")
SYSTEMS = {Path(system.file).stem: system for system in STONE}
UPRIGHT = np.array([[1.0, 0.0, 0.0], [0.3, 1.0, 0.0], [0.0, 0.0, 1.0]])
SKEW = np.array([[1.0, 0.0, 0.0], [0.2, 1.0, 0.0], [0.1, 0.3, 1.0]])


def least_times(calls: dict[str, Callable[[], object]], seconds: float = 2.0, most: int = 15) -> dict[str, float]:
    """Least seconds of each call, in turns, until the time for each is used up."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(most):
        for name, call in calls.items():
            if not times[name] or sum(times[name]) < seconds:
                begin = time.perf_counter()
                call()
                times[name].append(time.perf_counter() - begin)
    return {name: min(values) for name, values in times.items()}


def measure(
    wavefunction: ob.Wavefunction,
    lattice: ob.Lattice,
    kernels: Sequence[str],
    device: str = "cpu",
    precision: str = "single",
    field: str = "homo",
) -> dict[str, dict[str, Any]]:
    """Time and error of kernels for one wavefunction and lattice, in turns.

    Returns
    -------
    dict
        For each kernel `seconds` of a whole call, `seconds_on_device` where the result stays on a GPU (None on a CPU),
        `error` as a share of the largest value, `refused` (None, or why the kernel does not serve; the others are None
        then).
    """
    rows: dict[str, dict[str, Any]] = {}
    calls: dict[str, Callable[[], object]] = {}
    exact = reference(wavefunction, lattice, device, field)
    largest = np.abs(exact).max()
    for kernel in kernels:
        chosen = {"device": device, "precision": precision, "kernel": kernel}
        home = partial(ob.compute, wavefunction, field, lattice, **chosen)
        row = rows[kernel] = dict.fromkeys(("seconds", "seconds_on_device", "error", "refused"))
        row["refused"] = ready(home)
        if row["refused"] is None:
            row["error"] = float(np.abs(home().values - exact).max() / largest)
            calls[f"{kernel} seconds"] = home
            if device != "cpu":
                stays = partial(ob.compute_on_device, wavefunction, field, lattice, **chosen)
                calls[f"{kernel} seconds_on_device"] = stays
    for name, seconds in least_times(calls).items():
        kernel, what = name.split(" ")
        rows[kernel][what] = seconds
    return rows


def reference(wavefunction: ob.Wavefunction, lattice: ob.Lattice, device: str, field: str) -> np.ndarray:
    """Values in double precision: separable where it serves, direct elsewhere."""
    kernel = "separable" if upright(lattice) else "direct"
    return ob.compute(wavefunction, field, lattice, device=device, precision="double", kernel=kernel).values


def table(data: Path, device: str, systems: list[str]) -> None:
    """Print the table of one device."""
    from taichi_kernels.devices import probe

    names = list(kernel_modules())
    rows: dict[str, list[str]] = {name: [] for name in names}
    stay: dict[str, list[str]] = {name: [] for name in names}
    for system in systems:
        wavefunction = ob.load(data / f"{system}.molden")
        lattice = SYSTEMS[system].lattice(wavefunction)
        for name, found in measure(wavefunction, lattice, names, device).items():
            if found["refused"] is not None:
                rows[name].append("-")
                stay[name].append("-")
                print(f"{SYSTEMS[system].name}, {name}: {found['refused']}", file=sys.stderr)
                continue
            rows[name].append(f"{found['seconds'] * 1e3:.1f} ({found['error']:.0e})")
            if device != "cpu":
                stay[name].append(f"{found['seconds_on_device'] * 1e3:.2f}")
    print(f"\n{date.today()}, {probe(device).detail}: ms (error)\n")
    _print(rows, systems)
    if device != "cpu":
        print("\nms, result left on the device\n")
        _print(stay, systems)


def _print(rows: dict[str, list[str]], systems: list[str]) -> None:
    print("| kernel | " + " | ".join(SYSTEMS[system].name for system in systems) + " |")
    print("|---" * (len(systems) + 1) + "|")
    for name, cells in rows.items():
        print(f"| {name} | " + " | ".join(cells) + " |")


def record(data: Path, device: str) -> None:
    """Measure what `auto` goes by, and write it to the package."""
    from taichi_kernels.devices import probe

    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    apart = ("molecule-specific", "matrix-product")  # compiled for each molecule; taken where sums are small
    exact = [name for name, module in kernel_modules().items() if module.EXACT and name not in apart]
    times: dict[tuple[str, str, str], list[float]] = {}
    for system in RECORDED:
        wavefunction = ob.load(data / f"{system}.molden")
        fine = SYSTEMS[system].lattice(wavefunction)
        shape = tuple(-(-n // 2) for n in fine.shape)
        lattices = {
            "orthogonal lattice": ob.Lattice(fine.origin, 2 * fine.axes, shape),
            "upright lattice": ob.Lattice(fine.origin, 2 * UPRIGHT @ fine.axes, shape),
            "skewed lattice": ob.Lattice(fine.origin, 2 * SKEW @ fine.axes, shape),
        }
        low, high = wavefunction.positions.min(axis=0) - 3 * angstrom, wavefunction.positions.max(axis=0) + 3 * angstrom
        points = np.random.default_rng(0).uniform(low, high, (200_000, 3))
        for precision in ("single", "double"):
            if precision == "double" and not probe(device).double:
                continue
            same: dict[str, Any] = {"device": device, "precision": precision}
            for place in (*lattices, "points"):
                if place == "points":
                    call = partial(ob.evaluate, wavefunction, "homo", points, **same)
                else:
                    on_lattice = ob.compute if device == "cpu" else ob.compute_on_device
                    call = partial(on_lattice, wavefunction, "homo", lattices[place], **same)
                of_each = {name: partial(call, kernel=name) for name in exact}
                calls = {name: call for name, call in of_each.items() if ready(call) is None}
                for name, seconds in least_times(calls, 2.0, 7).items():
                    times.setdefault((place, precision, name), []).append(seconds)
    hardware = {"hardware": probe(device).detail, "date": str(date.today())}
    for place, precision in dict.fromkeys((place, precision) for place, precision, _ in times):
        means = {
            name: float(f"{np.exp(np.mean(np.log(seconds))):.3g}")
            for (where, what, name), seconds in times.items()
            if (where, what) == (place, precision) and len(seconds) == len(RECORDED)
        }
        known.setdefault(place, {}).setdefault(device, {})[precision] = hardware | {"seconds": means}
    RECORD.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    print(f"{RECORD}: {device}")


def main() -> None:
    """Run what the options say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with the Molden files (default: data)")
    parser.add_argument("--device", default="cpu", help="devices, with commas between (default: cpu)")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="which of the six (default: all)")
    parser.add_argument("--record", action="store_true", help="measure what auto goes by, in place of the table")
    options = parser.parse_args()
    for device in options.device.split(","):
        if options.record:
            record(options.data, device)
        else:
            table(options.data, device, options.systems.split(","))


if __name__ == "__main__":
    main()
