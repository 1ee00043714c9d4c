"""A drag: how many converged updates a second, beside PySCF's on the same processors.

    python benchmarks/live.py
    python benchmarks/live.py --systems "ethanol, 6-31G*;benzene, 6-31G*" --steps 10 --peers "" --device cuda
    python benchmarks/live.py --method gfn2 --steps 30

An atom is dragged round a circle in steps of 0.05 Angstrom. An update is a self-consistent field, begun from the frames
before, and the surface of the HOMO at coarse quality. Programs take turns, update by update, so that a busy machine is
busy for all of them. The first update begins from atoms, and is not counted; what the later ones wait for on a machine
that has never compiled the kernels is, so measure twice.

With --method gfn2 alkanes of 20 to 200 atoms are dragged, or molecules of xyz files (--chains 20,caffeine.xyz), in the
field of --charges around them, and the parts of an update are told: what the process of a live molecule does for one
that is passed, with the messages to and from it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np
from scipy.spatial import cKDTree

os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))  # PySCF's kernels

from kohn_sham import clocked, geometry_from, processor, table
from orbitile.evaluation.surfaces import surface_in_motion
from orbitile.integrals.method_names import semiempirical
from orbitile.model.external_charges import ExternalCharges
from orbitile.model.geometry import Geometry
from orbitile.model.lattice import Lattice, spacing_of
from orbitile.model.wavefunction import Wavefunction
from orbitile.pictures.request import Request
from orbitile.scf.calculation import Calculation, Response, Solution
from orbitile.scf.engines import engines, xtb
from orbitile.scf.series import HISTORY
from orbitile.session.live import calculating
from orbitile.session.live.calculating import converged
from orbitile.session.live.order import Level, Order
from orbitile.workers import pack, unpack
from orbitile_benchmarks.fragments import random_rotation
from orbitile_benchmarks.geometries import ETHANOL, alkane, dragged
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


def parts(options: argparse.Namespace) -> Iterable[tuple[Any, ...]]:
    """Of the table of GFN2-xTB: a line for each molecule."""
    for chain in options.chains.split(","):
        atoms = alkane(int(chain)) if chain.isdigit() else "\n".join(Path(chain).read_text().splitlines()[2:])
        at_rest = geometry_from(atoms)
        external = _charges_around(at_rest, options.charges) if options.charges else None
        spent: dict[str, list[float]] = {name: [] for name in _PARTS}
        level = Level(Calculation(options.method, external_charges=external))
        after, isovalue, update, busy = None, None, [], []
        with TemporaryDirectory() as folder, ExitStack() as stack:
            for name, module in _PARTS.items():
                stack.enter_context(mock.patch.object(module, name, _timed(getattr(module, name), spent[name])))
            for text in dragged(atoms, len(at_rest.positions) - 1, options.steps):
                geometry = geometry_from(text)
                request = Request("", "homo", "coarse", isovalue=isovalue, most_faces=12_000)
                what = level, geometry.atomic_numbers, geometry.positions, "m", folder, (request,)
                order = Order(chain, *what, after=after, rough=after is not None)
                found, *seconds = clocked(lambda order=order: unpack(pack(converged(unpack(pack(order)[0])))[0]))
                isovalue, after = found.samples[0].isovalue, replace(found, samples=())
                update.append(seconds[0])
                busy.append(seconds[1])
        yield (
            f"{'alkane' if chain.isdigit() else Path(chain).stem}, {len(at_rest.positions)}",
            *(f"{1000 * np.median(values[2:]):.1f}" for values in spent.values()),
            f"{1000 * np.median(busy[2:]):.1f}",
            f"{1000 * np.median(update[2:]):.1f}",
            f"{1 / np.median(update[2:]):.1f}",
        )


def _charges_around(geometry: Geometry, n: int) -> ExternalCharges:
    """Pairs of opposite charges up to 0.4 e, 2 bohr apart at random in a box of 80 bohr, 4 bohr away from all atoms."""
    generator = np.random.default_rng(0)
    places = generator.uniform(-40, 40, (10 * n, 3)) + geometry.positions.mean(0)
    places = places[cKDTree(geometry.positions).query(places)[0] > 6][: n // 2]
    across = random_rotation(generator)[0] * 2
    charges = generator.uniform(-0.4, 0.4, len(places))
    return ExternalCharges(np.concatenate([places, places + across]), np.concatenate([charges, -charges]))


_PARTS = {"_computed": xtb, "checked": xtb, "_in_order": calculating, "_written": calculating, "_samples": calculating}
"""Functions that are timed, and where they are called from."""


def _timed(function: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        begin = time.process_time()
        try:
            return function(*arguments)
        finally:
            seconds.append(time.process_time() - begin)

    return call


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default=";".join(SYSTEMS), help="with semicolons between")
    parser.add_argument("--method", default="pbe")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--peers", default="pyscf", help="pyscf, gpu4pyscf, or nothing")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--chains", default="6,20,33,66", help="carbon atoms of alkanes, or xyz files, for gfn2")
    parser.add_argument("--charges", type=int, default=0, help="point charges around each molecule, for gfn2")
    options = parser.parse_args()
    load = f"load {os.getloadavg()[0]:.1f} before" if hasattr(os, "getloadavg") else ""
    print(f"{processor()}, {os.cpu_count()} cores, {load}, {date.today():%d %B %Y}, {time.strftime('%H:%M')}")
    print(f"python benchmarks/live.py {' '.join(sys.argv[1:])}\n")
    if semiempirical(options.method):
        names = "tblite, orthonormality, order of orbitals, file, lattice and surface"
        table(
            f"molecule and atoms, ms of processors: {names}, whole update, ms that pass, updates a second",
            parts(options),
        )
        return
    table(
        "molecule, engine, updates a second, seconds (median), worst, of processors (median), iterations (median and "
        "most), largest difference in hartree, last energy less the first",
        lines(options),
    )


if __name__ == "__main__":
    main()
