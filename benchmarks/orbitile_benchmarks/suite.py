"""`orbitile bench`: everything that is measured, in one run."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import orbitile as ob
from orbitile.base.errors import DeviceError, OrbitileError

from . import orbitile_rows as own
from .measurement import Case, Row
from .optional import needed
from .peers import peer_rows
from .report import Results, as_text, line_of
from .systems import LARGE, System, chosen_systems, path_of

QUICK = "Kr-a,Thr-a"
"""Systems of a quick run, unless others are asked for."""

Tell = Callable[[str], None]


def run(
    *,
    systems: str | None = None,
    devices: str | None = None,
    peers: bool = False,
    quick: bool = False,
    data: Path | None = None,
    json_file: Path | None = None,
    plots: Path | None = None,
    tell: Tell = lambda text: None,
) -> str:
    """Run the benchmarks.

    Parameters
    ----------
    systems, devices
        Names with commas between; without any, all systems, and the device that `auto` takes.
    peers
        Whether other programs are measured too.
    quick
        Fewer runs, small systems, small series.
    data
        Folder whose Molden files are used where it has them.
    json_file, plots
        File for all figures, folder for plots.
    tell
        Is told each measurement when it is made.

    Returns
    -------
    str
        Tables in Markdown.

    Raises
    ------
    OrbitileError
        For an unknown system or device, when Matplotlib is missing for plots or PySCF for a molecule that has to be
        made, or when a file cannot be written.
    """
    chosen = chosen_systems(systems or (QUICK if quick else None))
    names = _devices(devices)
    if data is not None and not data.is_dir():
        raise OrbitileError(f"--data: expected a folder with Molden files, got {data}")
    if plots is not None:
        needed("matplotlib", "draws the plots")
        _writable(plots, "--plots")
    if json_file is not None:
        _writable(json_file.parent, "--json")
    results = Results(environment=_environment(names, data, peers, quick))

    def keep(rows: Iterator[Row]) -> None:
        for row in rows:
            results.rows.append(row)
            tell(line_of(row))

    for device in names:  # one device after the other: Taichi holds one at a time
        peak = own.peaks_of(device)
        results.peaks.append(peak)
        for system in chosen:
            case = _case(system, data, tell)
            keep(own.orbital_rows(case, device, quick))
            fastest = _best(results.rows, system, device)
            if fastest is not None and (share := own.share_of_peak(case, device, fastest, peak)):
                results.shares.append(share)
            vertices = case.sample_points[:0]
            if system.whole:
                keep(own.density_rows(case, device, quick))
                vertices = own.surface_vertices(case)
                keep(own.potential_rows(case, device, vertices, quick))
            else:
                keep(iter([own.localised_row(case, device)]))
            keep(own.surface_rows(case, device, quick))
            if system in LARGE:
                results.memory.append(own.memory_of(case, device))
            if peers and device == names[0]:
                keep(peer_rows(case, vertices, "cuda" in names))
        for system in own.clusters(quick):
            results.atoms.append(own.cost_of_atoms(_case(system, data, tell), device))
            tell("{system}: {seconds:.4f} s".format(**results.atoms[-1]))
        of_points = next((s for s in chosen if s.name == "C60-b"), chosen[0])
        for cost in own.cost_of_points(_case(of_points, data, tell), device, quick):
            results.points.append(cost)
            tell("{system}, {points:,} points: {seconds:.4f} s".format(**cost))
    if json_file is not None:
        document = {**asdict(results), "rows": [asdict(row) for row in results.rows]}
        json_file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if plots is not None:
        from .plots import draw

        for file in draw(results, plots):
            tell(str(file))
    return as_text(results)


def _case(system: System, data: Path | None, tell: Tell) -> Case:
    path = path_of(system, data)
    wavefunction = ob.load(path)
    return Case(system, path, wavefunction, system.lattice(wavefunction))


def _best(rows: list[Row], system: System, device: str) -> float | None:
    """Seconds of the HOMO in single precision, left on the device where it is one that has memory of its own."""
    program = "Orbitile" if device == "cpu" else "Orbitile, left there"
    found = [
        row.seconds
        for row in rows
        if (row.part, row.system, row.program, row.device, row.precision)
        == ("orbital", system.name, program, device, "single")
    ]
    return found[0] if found else None


def _devices(names: str | None) -> list[str]:
    from taichi_kernels.devices import DeviceUnavailable, choose, probe

    try:
        found = list(dict.fromkeys(choose(name.strip()) for name in (names or "auto").split(",")))
    except DeviceUnavailable as error:
        raise DeviceError(str(error)) from error
    for name in found:
        if not probe(name).available:
            raise DeviceError(f"{name} cannot be used here: {probe(name).detail}")
    return found


def _writable(folder: Path, option: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OrbitileError(f"{option}: {folder} cannot be made ({error.strerror})") from error
    if not os.access(folder, os.W_OK):
        raise OrbitileError(f"{option}: {folder} cannot be written to")


def _environment(devices: list[str], data: Path | None, peers: bool, quick: bool) -> dict[str, Any]:
    from taichi_kernels.devices import probe

    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    packages = ["taichi", "numpy", "scipy", "pyscf", "qc-gbasis", "avogadro", "cclib-mojo", "moldenViz"]
    command = ["orbitile bench", *(["--peers"] if peers else []), *(["--quick"] if quick else [])]
    return {
        "date": date.today().isoformat(),
        "command": " ".join([*command, "--device", ",".join(devices), *(["--data FOLDER"] if data else [])]),
        "devices": {name: probe(name).detail for name in devices},
        "load when it began": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "threads": {
            "processors of this process": cpus,
            "ORBITILE_THREADS": os.environ.get("ORBITILE_THREADS", "all"),
            "OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "all"),
        },
        "system": platform.platform(),
        "python": sys.version.split()[0],
        "versions": {"orbitile": ob.__version__} | {name: _version(name) for name in packages},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
