"""What users wait for when a process starts, each part in a process of its own.

    python -m orbitile_benchmarks.starts PART FILE FIELD DEVICE BEGUN

prints the steps of a part as JSON; `begun` is when the process was asked for, in seconds of `time.time`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

Step = tuple[str, float, float]
"""Its name, and its seconds by the clock and by the processor."""


class Laps:
    """Steps of this process, by two clocks.

    Parameters
    ----------
    begun : float
        When the first step began, in seconds of `time.time`.
    processor : float
        Seconds of processors that the process had used by then.
    """

    def __init__(self, begun: float, processor: float = 0.0) -> None:
        self.steps: list[Step] = []
        self._last = (begun, processor)

    def lap(self, what: str) -> None:
        """End a step."""
        now = (time.time(), time.process_time())
        self.steps.append((what, now[0] - self._last[0], now[1] - self._last[1]))
        self._last = now


def picture(file: str, field: str, device: str, begun: float) -> list[Step]:
    """The steps of a picture, in this process."""
    laps = Laps(begun)
    laps.lap("start of Python")
    import orbitile as ob

    ob.load  # noqa: B018 - imports what reads files
    laps.lap("import of orbitile")
    wavefunction = ob.load(file)
    laps.lap("read, repair, check")
    isovalue = ob.default_isovalue(wavefunction, field, device=device)
    laps.lap("default isovalue")
    lattice = ob.enclosing_lattice(wavefunction, field, isovalue)
    volume = ob.compute(wavefunction, field, lattice, device=device)
    laps.lap("values on the lattice")
    surface = ob.isosurface(volume, isovalue)
    laps.lap("isosurface")
    with tempfile.TemporaryDirectory() as folder:
        ob.render(surface, wavefunction, Path(folder) / "picture.png")
    laps.lap("picture, 1600 x 1200")
    return laps.steps


def first_compute(file: str, field: str, device: str, begun: float) -> list[Step]:
    """Import of the library and the first call of `compute`, in this process; the file is read in between."""
    laps = Laps(time.time(), time.process_time())
    import orbitile as ob

    ob.compute  # noqa: B018 - imports what computes
    laps.lap("import for compute")
    wavefunction = ob.load(file)
    lattice = ob.Lattice.around(wavefunction, spacing=0.4, margin=5.0)
    laps.lap("read, repair, check, and a lattice")
    ob.compute(wavefunction, field, lattice, device=device)
    laps.lap("first compute")
    return laps.steps


def command(file: str, field: str, device: str, begun: float) -> list[Step]:
    """`orbitile render`, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["render", file, field, "--device", device, "-o", f"{folder}/picture.png"]
        begin, before = time.perf_counter(), os.times()
        subprocess.run([sys.executable, "-m", "orbitile", *words], check=True, capture_output=True)
        after = os.times()
        clock = time.perf_counter() - begin
    return [("orbitile render", clock, sum(after[2:4]) - sum(before[2:4]))]


PARTS: dict[str, Callable[[str, str, str, float], list[Step]]] = {
    "picture": picture,
    "command": command,
    "compute": first_compute,
}


OWN = Path(__file__).resolve().parents[2]
"""The checkout that this file is in."""


def environment_of(checkout: Path) -> dict[str, str]:
    """The environment of a process that uses Orbitile of a checkout, to be started in its folder.

    These benchmarks are our own also there: they ask another checkout by its public interface.
    """
    path = [str(checkout / "plugin"), str(checkout), str(OWN / "benchmarks"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}


def in_new_process(part: str, file: str, field: str, device: str, cache: str, checkout: Path = OWN) -> list[Step]:
    """The steps of a part in a fresh process, with a folder for the compiled kernels and shaders that it keeps."""
    words = [part, str(Path(file).resolve()), field, device, repr(time.time())]
    done = subprocess.run(
        [sys.executable, "-m", "orbitile_benchmarks.starts", *words],
        check=True,
        env={**environment_of(checkout), "XDG_CACHE_HOME": cache},
        cwd=checkout,  # where `-m` looks first
        stdout=subprocess.PIPE,
        text=True,
    )
    return [(name, clock, processor) for name, clock, processor in json.loads(done.stdout.splitlines()[-1])]


def least(runs: list[list[Step]]) -> list[Step]:
    """Each step as quick as it was in any run."""
    return [
        (same[0][0], min(clock for _, clock, _ in same), min(processor for _, _, processor in same))
        for same in zip(*runs, strict=True)
    ]


if __name__ == "__main__":
    part, file, field, device, begun = sys.argv[1:]
    print(json.dumps(PARTS[part](file, field, device, float(begun))))
