"""From process start to a picture: where the time goes, with kernels that were compiled before and without.

    python benchmarks/cold_start.py FILE [--field homo] [--device auto] [--runs 3]

What `orbitile render FILE homo` does, step by step in a fresh process, then the command as a whole, then a first
`compute`. The caches of compiled kernels and shaders are empty folders at first, and those that the same steps have
left afterwards. Each figure is the least of several runs, by the clock and in brackets by the processor.
"""

import argparse
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


def picture(options: argparse.Namespace) -> list[Step]:
    """The steps of a picture, in this process."""
    steps: list[Step] = []
    last = [time.time() - options.begun, 0.0]
    begun = time.time() - last[0]

    def lap(what: str) -> None:
        now = [time.time() - begun, time.process_time()]
        before = last if steps else [0.0, 0.0]
        steps.append((what, now[0] - before[0], now[1] - before[1]))
        last[:] = now

    lap("start of Python")
    import orbitile as ob

    ob.load  # noqa: B018 - imports what reads files
    lap("import of orbitile")
    wavefunction = ob.load(options.file)
    lap("read, repair, check")
    isovalue = ob.default_isovalue(wavefunction, options.field, device=options.device)
    lap("default isovalue")
    lattice = ob.enclosing_lattice(wavefunction, options.field, isovalue)
    volume = ob.compute(wavefunction, options.field, lattice, device=options.device)
    lap("values on the lattice")
    surface = ob.isosurface(volume, isovalue)
    lap("isosurface")
    with tempfile.TemporaryDirectory() as folder:
        ob.render(surface, wavefunction, Path(folder) / "picture.png")
    lap("picture, 1600 x 1200")
    return steps


def first_compute(options: argparse.Namespace) -> list[Step]:
    """The first call of `compute`, in this process."""
    import orbitile as ob

    wavefunction = ob.load(options.file)
    lattice = ob.Lattice.around(wavefunction, spacing=0.4, margin=5.0)
    begin, by_processor = time.perf_counter(), time.process_time()
    ob.compute(wavefunction, options.field, lattice, device=options.device)
    return [("first compute", time.perf_counter() - begin, time.process_time() - by_processor)]


def command(options: argparse.Namespace) -> list[Step]:
    """`orbitile render`, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["render", options.file, options.field, "--device", options.device, "-o", f"{folder}/picture.png"]
        begin, before = time.perf_counter(), os.times()
        subprocess.run([sys.executable, "-m", "orbitile", *words], check=True, capture_output=True)
        after = os.times()
        clock = time.perf_counter() - begin
    return [("orbitile render", clock, sum(after[2:4]) - sum(before[2:4]))]


PARTS: dict[str, Callable[[argparse.Namespace], list[Step]]] = {
    "picture": picture,
    "command": command,
    "compute": first_compute,
}


def in_new_process(part: str, options: argparse.Namespace, cache: str) -> list[Step]:
    """The steps of a part in a fresh process, with a folder for what it keeps."""
    arguments = [options.file, "--field", options.field, "--device", options.device, "--part", part]
    done = subprocess.run(
        [sys.executable, __file__, *arguments, "--begun", repr(time.time())],
        check=True,
        env={**os.environ, "XDG_CACHE_HOME": cache},
        stdout=subprocess.PIPE,
        text=True,
    )
    return [(name, clock, processor) for name, clock, processor in json.loads(done.stdout)]


def least(runs: list[list[Step]]) -> list[Step]:
    """Each step as quick as it was in any run."""
    return [
        (same[0][0], min(clock for _, clock, _ in same), min(processor for _, _, processor in same))
        for same in zip(*runs, strict=True)
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--field", default="homo")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--begun", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(PARTS[options.part](options)))
        return
    empty: list[list[Step]] = []
    warm: list[list[Step]] = []
    for _ in range(options.runs):
        empty.append([])
        warm.append([])
        for part in PARTS:
            with tempfile.TemporaryDirectory() as cache:
                empty[-1] += in_new_process(part, options, cache)
                warm[-1] += in_new_process(part, options, cache)
    print(f"| step | empty caches | warm caches |\n{'|---' * 3}|")
    for (name, *first), (_, *later) in zip(least(empty), least(warm), strict=True):
        print(f"| {name} | {first[0]:.2f} ({first[1]:.2f}) | {later[0]:.2f} ({later[1]:.2f}) |")


if __name__ == "__main__":
    main()
