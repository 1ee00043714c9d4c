"""Has a kernel become slower? python benchmarks/guard.py [--device cpu] [--update]

Times of public calls, as multiples of a product of two NumPy matrices in the same run, against those in guard.json. A
slow machine is slow at both; a slow kernel is not. The two are timed in turns and the least time of each counts, so
that neighbours on a machine disturb little. Exit status 1 when a multiple exceeds the recorded one by more than
TOLERANCE. --update records the multiples found; do that on a quiet machine, and look at what changed.
"""

import argparse
import json
import sys
import time
from importlib.resources import files
from pathlib import Path

import numpy as np

import orbitile as ob
from orbitile.model.units import angstrom

RECORD = Path(__file__).with_suffix(".json")
TOLERANCE = 1.6
ROUNDS = 15


def work(device):
    """Names and calls: what users wait for most."""
    benzene = ob.load(files("orbitile") / "data" / "benzene.molden")
    lattice = ob.enclosing_lattice(benzene, "homo", 0.01, spacing=0.06 * angstrom)
    volume = ob.compute(benzene, "homo", lattice, device=device)
    points = np.random.default_rng(0).uniform(-8, 8, (20_000, 3))
    return {
        "orbital on a lattice": lambda: ob.compute(benzene, "homo", lattice, device=device),
        "orbital in double precision": lambda: ob.compute(benzene, "homo", lattice, device=device, precision="double"),
        "orbital at points": lambda: ob.evaluate(benzene, "homo", points, device=device),
        "density on a lattice": lambda: ob.compute(benzene, "density", lattice, device=device),
        "density at points": lambda: ob.evaluate(benzene, "density", points, device=device),
        "potential at points": lambda: ob.evaluate(benzene, "esp", points, device=device),
        "isosurface": lambda: ob.isosurface(volume, 0.03),
    }


def least(call, reference, rounds):
    """Least time of a call and of the reference, in turns."""
    call(), reference()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        middle = time.perf_counter()
        reference()
        times.append((middle - begin, time.perf_counter() - middle))
    return tuple(min(column) for column in zip(*times, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--update", action="store_true", help="record what is found")
    options = parser.parse_args()
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    known = record.get(options.device, {})
    matrix = np.random.default_rng(1).random((1200, 1200), dtype=np.float32)
    found, slower = {}, []
    for name, call in work(options.device).items():
        seconds, reference = least(call, lambda: matrix @ matrix, ROUNDS)
        found[name] = round(seconds / reference, 3)
        before = known.get(name)
        verdict = "" if before is None else f"recorded {before:8.3f}, now {found[name] / before:5.2f} of it"
        if before is not None and found[name] > TOLERANCE * before:
            slower.append(name)
            verdict += "  SLOWER"
        print(f"{name:28s} {1e3 * seconds:9.2f} ms = {found[name]:8.3f} matrix products  {verdict}", flush=True)
    if options.update:
        RECORD.write_text(json.dumps({**record, options.device: found}, indent=1) + "\n")
        return 0
    if not known:
        print(f"nothing is recorded for {options.device}: --update does it")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
