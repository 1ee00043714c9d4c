"""Calls that `limits.py` has timed, in a process that answers requests, one line of JSON each.

    python -m orbitile_benchmarks.limit_rows DEVICE FOLDER SYSTEM=FILE ...

asks nothing but the public interface of Orbitile, so that the same rows are measured of any checkout that is on the
path. FOLDER is shared by all processes of a run: it has the vertices of potentials, so that all have the same points.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

import orbitile as ob

from .measurement import Array, Case
from .orbitile_rows import surface_vertices
from .systems import NAMED, SHIPPED

POINTS = 2000
"""Points at which errors are taken."""

ISOVALUE = 0.03


@dataclass(frozen=True)
class Kind:
    """What is timed.

    Attributes
    ----------
    system : str
        Name of a molecule of the benchmarks.
    field : str
        Name of a field; "isosurface" is that of the HOMO from the wavefunction.
    where : str
        lattice; "device" is a lattice whose values stay on a GPU; vertices are those of the surface of density 0.001.
    precision : str
    """

    system: str
    field: str
    where: str = "lattice"
    precision: str = "single"

    @property
    def name(self) -> str:
        """As the table has it."""
        if self.field == "isosurface":
            return f"{self.system} isosurface of the HOMO, {self.precision}"
        place = {"lattice": "in NumPy", "device": "left there", "vertices": "at vertices"}[self.where]
        return f"{self.system} {self.field}, {place}, {self.precision}"


def kinds(device: str) -> list[Kind]:
    """What is timed on a device.

    Fields made of derivatives of C60 take many seconds on a few processors, and are those of threonine there.
    """
    gpu = device != "cpu"
    left, home = ("device", "lattice") if gpu else ("lattice", "lattice")
    derived = [
        Kind("C60-b" if gpu else "Thr-b", name, left) for name in ("laplacian", "elf", "nci", "lol", "ionisation")
    ]
    rows = [
        *([Kind("C60-b", "homo", "device"), Kind("C60-b", "density", "device")] if gpu else []),
        Kind("C60-b", "homo", home), Kind("C60-b", "density", home), Kind(SHIPPED.name, "homo", left),
        *([] if gpu else [Kind("Thr-b", "density", home)]), *derived,
        Kind("C60-b", "isosurface"), Kind("C60-b", "esp", "vertices"),
    ]  # fmt: skip
    if device != "vulkan":
        rows += [Kind("C60-b", "homo", home, "double")]
        rows += [Kind("Thr-b", name, home, "double") for name in ("density", "laplacian")]
        rows += [Kind("Thr-b", "esp", "vertices", "double")]
    return rows


@dataclass(frozen=True, eq=False)
class Measured:
    """A molecule with what its rows need."""

    case: Case
    folder: Path

    @cached_property
    def vertices(self) -> Array:
        """Vertices of its surface of density 0.001, bohr; made by the first process that asks."""
        file = self.folder / f"{self.case.system.file}.npy"
        if not file.exists():
            partial_file = file.with_suffix(f".{os.getpid()}.npy")
            np.save(partial_file, surface_vertices(self.case))
            partial_file.replace(file)
        return np.asarray(np.load(file))

    def call(self, kind: Kind, device: str) -> Callable[[], Any]:
        """What is timed."""
        wavefunction, lattice = self.case.wavefunction, self.case.lattice
        how: dict[str, Any] = {"device": device, "precision": kind.precision}
        if kind.field == "isosurface":
            return partial(ob.compute_surface, wavefunction, "homo", ISOVALUE, lattice, device=device)
        if kind.where == "vertices":
            return partial(ob.evaluate, wavefunction, kind.field, self.vertices, **how)
        compute = ob.compute_on_device if kind.where == "device" else ob.compute
        return partial(compute, wavefunction, kind.field, lattice, **how)

    def sample(self, kind: Kind, result: Any) -> list[float]:
        """Values of a result where errors are taken; of an isosurface the number of its triangles."""
        if kind.field == "isosurface":
            return [float(len(result.faces))]
        if kind.where == "vertices":
            return [float(value) for value in result[:POINTS]]
        values = result.to_numpy() if kind.where == "device" else result.values
        return [float(value) for value in values.reshape(-1)[self.case.sample[:POINTS]]]

    def exact(self, kind: Kind) -> list[float]:
        """The same in double precision: orbitals and densities by the definition or by PySCF, all else by ours."""
        if kind.field == "isosurface":
            return []
        points = self.vertices[:POINTS] if kind.where == "vertices" else self.case.sample_points[:POINTS]
        if kind.field == "homo":
            values = self.case.orbital_at(points)
        elif kind.field == "density":
            values = self.case.density_at(points)
        else:
            values = np.asarray(
                ob.evaluate(self.case.wavefunction, kind.field, points, device="cpu", precision="double"), float
            )
        return [float(value) for value in values]


class Answers:
    """What a process answers; each request is a list of a verb and its arguments."""

    def __init__(self, device: str, folder: Path, files: dict[str, str]) -> None:
        self.device, self.folder, self.files = device, folder, files
        self.of = cache(self._of)

    def _of(self, system: str) -> Measured:
        one, path = NAMED[system], Path(self.files[system])
        wavefunction = ob.load(path)
        return Measured(Case(one, path, wavefunction, one.lattice(wavefunction)), self.folder)

    def whence(self) -> str:
        """The file of the library that is measured."""
        return str(ob.__file__)

    def make_vertices(self, system: str) -> int:
        """Write the vertices of potentials; how many there are."""
        return len(self.of(system).vertices)

    def exact(self, row: dict[str, str]) -> list[float]:
        """Values that those of a row are compared with."""
        kind = Kind(**row)
        return self.of(kind.system).exact(kind)

    def prepare(self, row: dict[str, str]) -> dict[str, Any]:
        """Do a call twice; seconds of the second, and its values at the sample."""
        kind = Kind(**row)
        measured = self.of(kind.system)
        call = measured.call(kind, self.device)
        call()
        begin = time.perf_counter()
        result = call()
        seconds = time.perf_counter() - begin
        return {"seconds": seconds, "sample": measured.sample(kind, result)}

    def measure(self, row: dict[str, str], times: int) -> list[tuple[float, float]]:
        """Seconds by the clock and by the processor of so many calls, after one that is not counted."""
        kind = Kind(**row)
        call = self.of(kind.system).call(kind, self.device)
        call()
        found = []
        for _ in range(times):
            begin, used = time.perf_counter(), time.process_time()
            result = call()
            found.append((time.perf_counter() - begin, time.process_time() - used))
            del result
        return found

    def peers(self, system: str, names: list[str]) -> list[dict[str, Any]]:
        """Rows of other programs."""
        from .peers import peer_rows

        measured = self.of(system)
        return [asdict(row) for row in peer_rows(measured.case, measured.vertices, self.device != "cpu", names)]


def main() -> None:
    """Answer requests until they end."""
    device, folder, *files = sys.argv[1:]
    answers = Answers(device, Path(folder), dict(file.split("=", 1) for file in files))
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    for line in sys.stdin:
        verb, *arguments = json.loads(line)
        try:
            answer = {"answer": getattr(answers, verb)(*arguments)}
        except Exception as error:  # any: the asker shows it in place of a time, and goes on
            answer = {"failure": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
