"""Orbitals around the HOMO, each alone and all together: seconds, and the largest difference.

    python benchmarks/several_orbitals.py FILE [FILE ...] [--number 10] [--device cpu] [--spacing 0.075]

The lattice has a margin of 3 Angstrom around the atoms. All volumes are kept, as a caller would who asks for several.
Minima of alternating runs.
"""

import argparse
import time

import numpy as np

import orbitile as ob
from orbitile.model.units import angstrom

RUNS = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--number", type=int, default=10)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--spacing", type=float, default=0.075, help="in Angstrom")
    options = parser.parse_args()
    for file in options.files:
        wavefunction = ob.load(file)
        lattice = ob.Lattice.around(wavefunction, options.spacing * angstrom, 3 * angstrom)
        names = [f"homo-{n}" if n else "homo" for n in range(options.number)]
        times: dict[str, list[float]] = {"alone": [], "together": []}
        for _ in range(RUNS + 1):
            begin = time.perf_counter()
            alone = [ob.compute(wavefunction, name, lattice, device=options.device).values for name in names]
            times["alone"].append(time.perf_counter() - begin)
            begin = time.perf_counter()
            together = [v.values for v in ob.compute_many(wavefunction, names, lattice, device=options.device)]
            times["together"].append(time.perf_counter() - begin)
            difference = max(float(np.abs(a - b).max()) for a, b in zip(alone, together, strict=True))
            del alone, together
        best = {key: 1e3 * min(values[1:]) for key, values in times.items()}
        print(
            f"{wavefunction.source}: {len(names)} orbitals, {' x '.join(map(str, lattice.shape))} points: alone "
            f"{best['alone']:.1f} ms, together {best['together']:.1f} ms ({best['alone'] / best['together']:.2f}x), "
            f"largest difference {difference:.1e}"
        )


if __name__ == "__main__":
    main()
