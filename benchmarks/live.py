"""A drag: how many converged updates a second, beside PySCF's on the same processors.

    python benchmarks/live.py
    python benchmarks/live.py --systems "ethanol, 6-31G*;benzene, 6-31G*" --steps 10 --peers "" --device cuda

An atom is dragged round a circle in steps of 0.05 Angstrom. An update is a self-consistent field, begun from the frames
before, and the surface of the HOMO at coarse quality. Programs take turns, update by update, so that a busy machine is
busy for all of them. The first update begins from atoms, and is not counted; what the later ones wait for on a machine
that has never compiled the kernels is, so measure twice.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np

os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))  # PySCF's kernels

from kohn_sham import clocked, geometry_from, processor, table
from orbitile.evaluation.surfaces import surface_in_motion
from orbitile.model.geometry import Geometry
from orbitile.model.lattice import Lattice, spacing_of
from orbitile.model.wavefunction import Wavefunction
from orbitile.scf.calculation import Calculation, Response, Solution
from orbitile.scf.engines import engines
from orbitile.scf.series import HISTORY
from orbitile_benchmarks.geometries import ETHANOL, dragged
from orbitile_benchmarks.systems import THREONINE, benzene

SYSTEMS = {
    "ethanol, STO-3G": (ETHANOL, 8, "sto-3g"),
    "ethanol, 6-31G*": (ETHANOL, 8, "6-31g*"),
    "benzene, 6-31G*": (benzene(), 6, "6-31g*"),
    "threonine, 6-31G*": (THREONINE, 16, "6-31g*"),
}
"""Atoms, the one that is dragged, and the basis set."""

ISOVALUE = 0.05


@dataclass
class Drag:
    """What a program has done of a drag."""

    name: str
    device: str
    before: deque[Wavefunction] = field(default_factory=lambda: deque(maxlen=HISTORY))
    response: Response | None = None
    energies: list[float] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    seconds: list[tuple[float, float]] = field(default_factory=list)

    def update(self, geometry: Geometry, calculation: Calculation) -> None:
        """One more update."""
        (solution, _), *seconds = clocked(lambda: self._updated(geometry, calculation))
        self.before.append(solution.wavefunction)
        self.response = solution.response
        self.energies.append(solution.energy)
        self.iterations.append(solution.n_iterations)
        self.seconds.append((seconds[0], seconds[1]))

    def _updated(self, geometry: Geometry, calculation: Calculation) -> tuple[Solution, Any]:
        engine = engines()[self.name]
        solution = engine.solve(geometry, calculation, self.before, self.device, "single", self.response)
        lattice = Lattice.around(solution.wavefunction, spacing_of("coarse"))
        return solution, surface_in_motion(solution.wavefunction, "homo", ISOVALUE, lattice, device=self.device)


def lines(options: argparse.Namespace) -> Iterable[tuple[Any, ...]]:
    """Of the table: a line for each molecule and program."""
    for system in options.systems.split(";"):
        atoms, atom, basis = SYSTEMS[system]
        calculation = Calculation(options.method, basis)
        drags = [Drag(name, options.device) for name in ("orbitile", *options.peers.split(",")) if name]
        for geometry in dragged(atoms, atom, options.steps):
            for drag in drags:
                drag.update(geometry_from(geometry), calculation)
        for drag in drags:
            wall, busy = np.array(drag.seconds[1:]).T
            off = np.abs(np.subtract(drag.energies, drags[-1].energies)).max()
            yield (
                system,
                drag.name,
                f"{1 / np.median(wall):.1f}",
                f"{np.median(wall):.3f}",
                f"{wall.max():.3f}",
                f"{np.median(busy):.3f}",
                f"{np.median(drag.iterations[1:]):.0f}, {max(drag.iterations[1:])}",
                f"{off:.1e}",
                f"{abs(drag.energies[-1] - drag.energies[0]):.1e}",
            )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default=";".join(SYSTEMS), help="with semicolons between")
    parser.add_argument("--method", default="pbe")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--peers", default="pyscf", help="pyscf, gpu4pyscf, or nothing")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    load = f"load {os.getloadavg()[0]:.1f} before" if hasattr(os, "getloadavg") else ""
    print(f"{processor()}, {os.cpu_count()} cores, {load}, {date.today():%d %B %Y}, {time.strftime('%H:%M')}")
    print(f"python benchmarks/live.py {' '.join(sys.argv[1:])}\n")
    table(
        "molecule, engine, updates a second, seconds (median), worst, of processors (median), iterations (median and "
        "most), largest difference in hartree, last energy less the first",
        lines(options),
    )


if __name__ == "__main__":
    main()
