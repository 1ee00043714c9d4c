"""The electrostatic potential at vertices of the surface of density 0.001: a whole call, and what each step takes.

    python benchmarks/potential.py [--device cpu,cuda,vulkan] [--precision single] [--points 100000] FILE

Milliseconds, least of many calls. Steps are timed in calls of their own, in which the device is waited for after each:
together they take longer than a whole call. "host" is what is left of these: splitting positions, sorting keys.
"""

import argparse
import time
from collections import defaultdict
from datetime import date
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

import orbitile as ob
from orbitile.model.units import angstrom
from taichi_kernels import electrostatics
from taichi_kernels.devices import probe
from taichi_kernels.launching import synchronise

ROUNDS = 10


def vertices(wavefunction: ob.Wavefunction, n: int) -> np.ndarray:
    """Some vertices, in random order, as `orbitile bench` takes them."""
    lattice = ob.enclosing_lattice(wavefunction, "density", 0.001, spacing=0.12 * angstrom)
    surface = ob.isosurface(ob.compute(wavefunction, "density", lattice), 0.001)
    return np.random.default_rng(0).permutation(surface.vertices.astype(float))[:n]


class Steps(electrostatics._Device):
    """Transfers and launches, each of which is waited for and timed."""

    seconds: ClassVar = defaultdict(float)
    launched: ClassVar = []

    def _timed(self, step, call, *arguments):
        synchronise()
        begin = time.perf_counter()
        result = call(*arguments)
        synchronise()
        self.seconds[step] += time.perf_counter() - begin
        return result

    def sent(self, name, values):
        return self._timed(f"sent: {name}", super().sent, name, values)

    def home(self, array, n):
        return self._timed("brought home", super().home, array, n)

    def launch(self, kernel, *arguments):
        if kernel not in self.launched:
            self.launched.append(kernel)
        self._timed(f"kernel {self.launched.index(kernel)}", super().launch, kernel, *arguments)


def steps(call) -> dict[str, float]:
    """Least seconds of each step of a call."""
    plain, electrostatics._Device = electrostatics._Device, Steps
    try:
        found: dict[str, float] = {}
        for _ in range(ROUNDS):
            Steps.seconds.clear()
            begin = time.perf_counter()
            call()
            Steps.seconds["host"] = time.perf_counter() - begin - sum(Steps.seconds.values())
            for name, seconds in Steps.seconds.items():
                found[name] = min(seconds, found.get(name, np.inf))
        return found
    finally:
        electrostatics._Device = plain


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--device", default="cpu", help="devices, with commas between (default: cpu)")
    parser.add_argument("--precision", default="single", choices=("single", "double"))
    parser.add_argument("--points", type=int, default=100_000, metavar="N")
    options = parser.parse_args()
    wavefunction = ob.load(options.file)
    where = vertices(wavefunction, options.points)
    print(f"{date.today()}, {options.file.name}, {len(where)} points, {options.precision} precision")
    for device in options.device.split(","):
        call = partial(ob.evaluate, wavefunction, "esp", where, device=device, precision=options.precision)
        call()
        times, processor = [], []
        for _ in range(ROUNDS):
            begin, spent = time.perf_counter(), time.process_time()
            call()
            times.append(time.perf_counter() - begin)
            processor.append(time.process_time() - spent)
        print(f"\n{probe(device).detail}: {1e3 * min(times):.2f} ms, processor {1e3 * min(processor):.2f} ms")
        Steps.launched.clear()
        for name, seconds in steps(call).items():
            print(f"  {name:20s}{1e3 * seconds:9.3f} ms")
        print("  kernels: keys of the curve, levels, distributions of each degree (nuclei first), multipoles")


if __name__ == "__main__":
    main()
