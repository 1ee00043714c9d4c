"""What is timed of Orbitile itself: whole calls of its public functions."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import orbitile as ob
from orbitile.gaussians.packing import merged_primitives
from orbitile.model.units import angstrom

from .measurement import Array, Case, Row, Timing, timed, worst
from .systems import CLUSTERS, STONE, System

POTENTIAL_POINTS = 100_000
"""Vertices at which potentials are timed, at most; fewer where there are fewer."""


def other_kernels() -> tuple[str, ...]:
    """Kernels for orbitals besides the usual one."""
    from orbitile.gaussians.kernels import kernel_modules

    return tuple(name for name in kernel_modules() if name != "separable")


def ready(call: Callable[[], object]) -> str | None:
    """Compile what a call needs, in the background too; None, or why it is refused."""
    from taichi_kernels.direct_sums import molecule_specific

    try:
        call()
        molecule_specific.wait()
        call()
    except ob.OrbitileError as error:
        return str(error)
    return None


def _row(part: str, case: Case, program: str, device: str, precision: str, timing: Timing, error: float | None = None,
         points: int | None = None, note: str = "") -> Row:  # fmt: skip
    n = case.lattice.n_points if points is None else points
    return Row(part, case.system.name, program, device, precision, n, timing.seconds, error, timing.least, timing.runs,
               timing.cores, note=note)  # fmt: skip


def _precisions(device: str) -> tuple[str, ...]:
    from taichi_kernels.devices import probe

    return ("single", "double") if probe(device).double else ("single",)


def orbital_rows(case: Case, device: str, quick: bool) -> Iterator[Row]:
    """The HOMO on the lattice: into NumPy; on a GPU also left there, and the way home apart."""
    w, lattice, most = case.wavefunction, case.lattice, 3 if quick else 15
    for precision in _precisions(device):

        def call(precision: str = precision, **more: Any) -> ob.Volume:
            return ob.compute(w, "homo", lattice, device=device, precision=precision, **more)

        timing = timed(call, most)
        error = case.error(timing.result.values, case.orbital_reference)
        yield _row("orbital", case, "Orbitile", device, precision, timing, error)
        if device != "cpu":
            left = timed(partial(ob.compute_on_device, w, "homo", lattice, device=device, precision=precision), 30)
            error = case.error(left.result.to_numpy(), case.orbital_reference)
            yield _row("orbital", case, "Orbitile, left there", device, precision, left, error)
            home = timed(left.result.to_numpy, most)
            yield _row("orbital", case, "way home of its values", device, precision, home)
        for name in other_kernels() if case.system in STONE else ():
            program, one = f"Orbitile, kernel {name}", partial(call, kernel=name)
            refused = ready(one)
            if refused is not None:
                yield Row("orbital", case.system.name, program, device, precision, lattice.n_points, None, note=refused)
                continue
            timing = timed(one, 3)
            error = case.error(timing.result.values, case.orbital_reference)
            yield _row("orbital", case, program, device, precision, timing, error)


def localised_row(case: Case, device: str) -> Row:
    """The first orbital of a superposition, which is localised on one molecule."""
    w, lattice = case.wavefunction, case.lattice
    timing = timed(lambda: ob.compute(w, "mo:1", lattice, device=device))
    return _row("orbital", case, "Orbitile, an orbital of one molecule", device, "single", timing,
                note="its error is not taken")  # fmt: skip


def density_rows(case: Case, device: str, quick: bool) -> Iterator[Row]:
    """The density on the lattice."""
    w, lattice, most = case.wavefunction, case.lattice, 3 if quick else 7
    for precision in _precisions(device):
        if precision == "double" and device == "cpu" and case.lattice.n_points * w.n_basis > 1e9:
            continue  # takes long, and tells nothing new
        timing = timed(partial(ob.compute, w, "density", lattice, device=device, precision=precision), most)
        error = case.error(timing.result.values, case.density_reference)
        note = f"largest value {timing.result.values.max():.0f}"
        yield _row("density", case, "Orbitile", device, precision, timing, error, note=note)
        if device != "cpu":
            left = timed(partial(ob.compute_on_device, w, "density", lattice, device=device, precision=precision))
            error = case.error(left.result.to_numpy(), case.density_reference)
            yield _row("density", case, "Orbitile, left there", device, precision, left, error)


def surface_vertices(case: Case) -> Array:
    """Vertices of the surface of density 0.001, in random order."""
    w = case.wavefunction
    lattice = ob.enclosing_lattice(w, "density", 0.001, spacing=0.12 * angstrom)
    vertices = ob.isosurface(ob.compute(w, "density", lattice), 0.001).vertices.astype(float)
    return np.asarray(np.random.default_rng(0).permutation(vertices)[:POTENTIAL_POINTS])


def potential_rows(case: Case, device: str, vertices: Array, quick: bool) -> Iterator[Row]:
    """The electrostatic potential at the vertices of a surface."""
    few = vertices[: int(np.clip(2e8 // case.wavefunction.n_basis**2, 20, 1000))]
    exact = case.potential_at(few)
    for precision in _precisions(device):
        timing = timed(
            partial(ob.evaluate, case.wavefunction, "esp", vertices, device=device, precision=precision),
            3 if quick else 5,
        )
        error = worst(timing.result[: len(few)], exact)
        yield _row("potential", case, "Orbitile", device, precision, timing, error, len(vertices),
                   f"error at {len(few)} of them")  # fmt: skip


def surface_rows(case: Case, device: str, quick: bool) -> Iterator[Row]:
    """Isosurface of the HOMO, and everything from file to mesh as `orbitile mesh FILE homo -o homo.ply` does it."""
    w, most = case.wavefunction, 3 if quick else 7
    isovalue = ob.default_isovalue(w, "homo", device=device)
    volume = ob.compute(w, "homo", case.lattice, device=device)
    timing = timed(lambda: ob.isosurface(volume, isovalue), most)
    note = f"{len(timing.result.faces):,} triangles"
    yield _row("isosurface", case, "Orbitile", "cpu", "single", timing, note=note)
    with tempfile.TemporaryDirectory() as folder:

        def from_file() -> ob.Surface:
            one = ob.load(case.path)
            value = ob.default_isovalue(one, "homo", device=device)
            lattice = ob.enclosing_lattice(one, "homo", value)
            surface = ob.isosurface(ob.compute(one, "homo", lattice, device=device), value)
            ob.save(surface, Path(folder) / "homo.ply", wavefunction=one)
            return surface

        timing = timed(from_file, 3)
    note = f"{len(timing.result.faces):,} triangles, spacing 0.15 Angstrom"
    yield _row("end to end", case, "Orbitile, file to mesh", device, "single", timing, points=0, note=note)


def memory_of(case: Case, device: str) -> dict[str, Any]:
    """Memory of one orbital beside its result, in bytes, in a process of its own: see `memory`."""
    arguments = [str(case.path), case.system.name, device]
    done = subprocess.run(
        [sys.executable, "-m", "orbitile_benchmarks.memory", *arguments], capture_output=True, text=True, check=False
    )
    found = json.loads(done.stdout) if done.returncode == 0 else {"peak beyond before": None, "peak": None}
    return {
        "system": case.system.name,
        "device": device,
        "basis functions": case.wavefunction.n_basis,
        "points": case.lattice.n_points,
        "result": 4 * case.lattice.n_points,
        **found,
    }


def peaks_of(device: str) -> dict[str, Any]:
    """Bytes copied and operations done a second, by kernels of the same Taichi that do nothing else."""
    from taichi_kernels.session import session

    from . import peaks

    found: dict[str, Any] = {"device": device}
    for precision in _precisions(device):
        with session(device, precision):
            found[precision] = {
                "bytes per second": peaks.copied_bytes_per_second(precision),
                "operations per second": 2 * peaks.multiply_adds_per_second(precision),
            }
    return found


def share_of_peak(case: Case, device: str, seconds: float, peak: dict[str, Any]) -> dict[str, Any] | None:
    """What the lattice kernel did for the HOMO, beside what the device can do; None where its lists are not whole.

    Operations are those of the products of the rows that screening kept; making tables and screening do others.
    """
    from taichi_kernels.layout import layout
    from taichi_kernels.session import session

    from .lattice_work import latest_work

    with session(device):
        ob.compute_on_device(case.wavefunction, "homo", case.lattice, device=device, kernel="separable")
        plan = layout(merged_primitives(case.wavefunction).degree)
        work, precision = None, "single"
        for precision in _precisions(device):  # of sums that cancel, tables are in double precision
            try:
                work = latest_work(plan, precision)
            except ValueError:
                continue
            break
    if work is None:
        return None
    written = 4 * case.lattice.n_points
    return {
        "system": case.system.name, "device": device, "tables": precision, "seconds": seconds,
        "pairs": work.pairs, "operations": 2 * work.multiply_adds, "bytes": written,
        "share of operations": 2 * work.multiply_adds / seconds / peak[precision]["operations per second"],
        "share of bytes": written / seconds / peak[precision]["bytes per second"],
    }  # fmt: skip


def cost_of_atoms(case: Case, device: str) -> dict[str, Any]:
    """Time of the HOMO of a cluster, which is spread over all of it: a lattice of as many points an atom."""
    timing = _of_lattice(case, case.lattice, device)
    return {"system": case.system.name, "device": device, "atoms": case.wavefunction.n_atoms,
            "points": case.lattice.n_points, "seconds": timing.seconds, "least": timing.least}  # fmt: skip


def cost_of_points(case: Case, device: str, quick: bool) -> Iterator[dict[str, Any]]:
    """Time of the HOMO on cubes of more and more points about the same molecule."""
    low, high = case.lattice.origin, case.lattice.origin + (np.array(case.lattice.shape) - 1) * case.lattice.spacings
    for n in (16, 32, 64) if quick else (16, 32, 64, 128, 192, 256, 344):
        lattice = ob.Lattice(low, np.diag((high - low) / (n - 1)), (n, n, n))
        timing = _of_lattice(case, lattice, device)
        yield {
            "system": case.system.name,
            "device": device,
            "points": lattice.n_points,
            "seconds": timing.seconds,
            "least": timing.least,
        }


def _of_lattice(case: Case, lattice: ob.Lattice, device: str) -> Timing:
    if device == "cpu":
        return timed(lambda: ob.compute(case.wavefunction, "homo", lattice, device=device))
    return timed(lambda: ob.compute_on_device(case.wavefunction, "homo", lattice, device=device), 30)


def clusters(quick: bool) -> tuple[System, ...]:
    """Water clusters that the cost of atoms is measured on."""
    return tuple(system for n, system in CLUSTERS.items() if n <= (2 if quick else 7))
