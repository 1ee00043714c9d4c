"""Fields that are made of the density and its derivatives: milliseconds, in terms of the density, and their errors.

    python benchmarks/derived_fields.py FILE [--device cpu] [--spacing 0.075] [--margin 3] [--runs 3] [--fields elf,lol]

Spacing and margin are in Angstrom. All fields take turns; the least time of each counts, and the least time of
processors. Values stay on a GPU, where the time of bringing them home is that of any field. Errors are those in single
precision at 2,000 points of the lattice, against double precision, in terms of the largest value or of 1.
"""

import argparse
import time

import numpy as np

import orbitile as ob
from orbitile.model.units import angstrom

FIELDS = ("density", "laplacian", "gradient", "rdg", "nci", "elf", "lol", "ionisation")
POINTS = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--spacing", type=float, default=0.075)
    parser.add_argument("--margin", type=float, default=3.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--fields", default=",".join(FIELDS))
    options = parser.parse_args()
    wavefunction = ob.load(options.file)
    lattice = ob.Lattice.around(wavefunction, options.spacing * angstrom, options.margin * angstrom)
    names = options.fields.split(",")
    compute = ob.compute if options.device == "cpu" else ob.compute_on_device
    random = np.random.default_rng(1)
    places = tuple(random.integers(0, n, POINTS) for n in lattice.shape)
    points = lattice.origin + np.transpose(places) @ lattice.axes
    errors = {}
    for name in names:  # sums are made and kernels compiled
        found = compute(wavefunction, name, lattice, device=options.device)
        values = found.values if options.device == "cpu" else found.to_numpy()
        exact = ob.evaluate(wavefunction, name, points, device="cpu", precision="double")
        errors[name] = np.abs(values[places] - exact).max() / max(1.0, float(np.abs(exact).max()))
        del found, values
        if options.device != "cpu":  # double precision was computed elsewhere, where it ended what ran
            compute(wavefunction, name, lattice, device=options.device)
    wall: dict[str, list[float]] = {name: [] for name in names}
    used: dict[str, list[float]] = {name: [] for name in names}
    for name in names * options.runs:
        begin, begin_used = time.perf_counter(), time.process_time()
        found = compute(wavefunction, name, lattice, device=options.device)
        wall[name].append(1e3 * (time.perf_counter() - begin))
        used[name].append(1e3 * (time.process_time() - begin_used))
        del found
    print(f"{options.file}, {' x '.join(map(str, lattice.shape))} points, {options.device}")
    print(f"{'':12}{'ms':>9}{'densities':>11}{'processors':>12}{'densities':>11}{'error':>10}")
    for name in names:
        ratios = (min(values[name]) / min(values[names[0]]) for values in (wall, used))
        of_wall, of_used = ratios
        print(
            f"{name:12}{min(wall[name]):9.1f}{of_wall:11.2f}{min(used[name]):12.1f}{of_used:11.2f}{errors[name]:10.1e}"
        )


if __name__ == "__main__":
    main()
