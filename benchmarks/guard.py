"""Has something become slower? python benchmarks/guard.py [--device cpu] [--only WORD] [--update]

Takes about a minute on two cores with compiled kernels. What users wait for most, each as a multiple of a reference of
its own kind that takes turns with it in the same run, against the multiples in guard.json:

- calls, with one thread, against a little of everything that a processor does;
- programs from start to end, against the start of Python with NumPy;
- a call that all threads share, against the same call with one thread.

The first two count time of processors, not by the clock, so that neighbours on a machine disturb little; the third is
not judged while they keep all processors busy. (On a GPU, calls are timed by the clock.) What exceeds its multiple by
more than a tolerance is measured again, longer, and counts as slower only if it exceeds it again. Exit status 1 then.

Multiples depend on the kind of processor: beside one of another kind than the recorded, tolerances are wider. --update
records what is found; do that on a quiet machine, and look at what changed.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LP_NUM_THREADS", "ORBITILE_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402 - it reads the environment when it is imported

import orbitile as ob  # noqa: E402 - as NumPy, which it imports
from orbitile.model.units import angstrom  # noqa: E402 - as NumPy

RECORD = Path(__file__).with_suffix(".json")
TOLERANCE, ELSEWHERE = 1.5, 2.5
"""Factors by which a multiple may exceed the recorded one, on the same kind of processor and on another."""

MOLECULE = str(files("orbitile") / "data" / "benzene.molden")


@dataclass(frozen=True)
class Row:
    """Something to be measured.

    Attributes
    ----------
    call, reference : callable
        Each does it once, after a first time, and returns seconds.
    rounds : int
        How often, in turns.
    by_clock : bool
        Whether seconds are those of the clock, and mean nothing where others keep all processors busy.
    """

    call: Callable[[], float]
    reference: Callable[[], float]
    rounds: int
    by_clock: bool = False


def measured(row: Row, rounds: int) -> tuple[float, float]:
    """Least seconds of a row, and what multiple of its reference it is, in turns.

    The multiple is that of the least times, or the middle one of the multiples of all turns if that is less: neighbours
    disturb the one if they come and go, the other if they stay. What has become slower is so in both.
    """
    row.call(), row.reference()
    times = np.array([(row.call(), row.reference()) for _ in range(rounds)])
    least, reference = times.min(axis=0).tolist()
    return least, min(least / reference, float(np.median(times[:, 0] / times[:, 1])))


def timed(call: Callable[[], object], clock: Callable[[], float]) -> float:
    """Seconds of a call."""
    begin = clock()
    call()
    return clock() - begin


def everything(matrix: np.ndarray, numbers: np.ndarray) -> None:
    """A little of everything that a processor does: products, functions, memory, sorting, Python."""
    for _ in range(4):
        matrix @ matrix
    np.exp(numbers)
    np.sort(numbers[:40_000])
    sum(k * k for k in range(20_000))


def calls(device: str) -> dict[str, Callable[[], object]]:
    """What is called, by name."""
    benzene = ob.load(MOLECULE)
    fine, coarse = (ob.enclosing_lattice(benzene, "homo", 0.01, spacing=h * angstrom) for h in (0.06, 0.12))
    volume = ob.compute(benzene, "homo", fine, device=device)
    points = np.random.default_rng(0).uniform(-8, 8, (20_000, 3))
    vertices = ob.compute_surface(benzene, "density", 0.001, device=device).vertices
    compute, evaluate = partial(ob.compute, benzene, device=device), partial(ob.evaluate, benzene, device=device)
    return {
        "orbital on a lattice": lambda: compute("homo", fine),
        "orbital in double precision": lambda: compute("homo", fine, precision="double"),
        "orbital at points": lambda: evaluate("homo", points),
        "density on a lattice": lambda: compute("density", fine),
        "density at points": lambda: evaluate("density", points),
        "Laplacian on a lattice": lambda: compute("laplacian", coarse),
        "ELF on a lattice": lambda: compute("elf", coarse),
        "potential at points": lambda: evaluate("esp", points),
        "potential at vertices": lambda: evaluate("esp", vertices),
        "isosurface of a volume": lambda: ob.isosurface(volume, 0.03),
        "isosurface of a wavefunction": lambda: ob.compute_surface(benzene, "homo", 0.03, fine, device=device),
    }


FIRST_CALL = f"""
import orbitile as ob
benzene = ob.load({MOLECULE!r})
ob.compute(benzene, "homo", ob.enclosing_lattice(benzene, "homo", 0.03, spacing=0.4))
"""

MANY_CALLS = f"""
import time
import orbitile as ob
benzene = ob.load({MOLECULE!r})
lattice = ob.enclosing_lattice(benzene, "homo", 0.01, spacing=0.08)
times = []
for _ in range(60):
    begin = time.perf_counter()
    ob.compute(benzene, "homo", lattice, device="cpu")
    times.append(time.perf_counter() - begin)
print(min(times))
"""


def processor_seconds(arguments: list[str], environment: dict[str, str]) -> float:
    """Processor time of a program and of what it starts, or its own time by the clock where nobody counts that."""
    begin = time.perf_counter()
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None  # a pipe
    complaint = process.stderr.read().decode(errors="replace")
    if not hasattr(os, "wait4"):
        status, seconds = process.wait(), time.perf_counter() - begin
    else:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode, seconds = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}:\n{complaint}")
    return seconds


def programs(device: str, folder: Path) -> dict[str, list[str]]:
    """What is run, by name."""
    render = ["-m", "orbitile", "render", MOLECULE, "homo", "--device", device, "-q", "-o", str(folder / "homo.png")]
    return {
        "import and first orbital": [sys.executable, "-c", FIRST_CALL],
        "orbitile render": [sys.executable, *render],
    }


def with_threads(number: int) -> float:
    """Seconds by the clock of an orbital with so many threads, least of many, in a process of its own."""
    environment = os.environ | {"ORBITILE_THREADS": str(number)}
    arguments = [sys.executable, "-c", MANY_CALLS]
    return float(subprocess.run(arguments, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout)


def rows(device: str, folder: Path) -> dict[str, Row]:
    """All that is measured, by name."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    rng = np.random.default_rng(1)
    matrix, numbers = rng.random((300, 300), np.float32), rng.random(200_000)
    reference = partial(timed, partial(everything, matrix, numbers), clock)
    found = {name: Row(partial(timed, call, clock), reference, 15) for name, call in calls(device).items()}
    environment = os.environ | {"ORBITILE_DEVICE": device}
    start = partial(processor_seconds, [sys.executable, "-c", "import numpy"], environment)
    for name, arguments in programs(device, folder).items():
        found[name] = Row(partial(processor_seconds, arguments, environment), start, 3)
    threads = os.cpu_count() or 1
    if device == "cpu" and threads > 1:
        found["orbital with all threads"] = Row(
            partial(with_threads, threads), partial(with_threads, 1), 2, by_clock=True
        )
    return found


def is_busy() -> bool:
    """Whether more programs want to run than processors are there for, as far as the system says."""
    return hasattr(os, "getloadavg") and os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1)


def kind_of_processor() -> str:
    """What multiples depend on: "x86_64 with avx512f"."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:  # not Linux: the architecture tells nearly as much
        flags = []
    wide = next((name for name in ("avx512f", "avx2") if name in flags), "")
    return f"{platform.machine()} with {wide}" if wide else platform.machine()


def main() -> int:
    """Measure, compare, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="", metavar="WORD", help="rows with this word in their names")
    parser.add_argument("--update", action="store_true", help="record what is found")
    options = parser.parse_args()
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    known = record.get(options.device, {})
    kind, slower = kind_of_processor(), []
    tolerance = TOLERANCE if known.get("processor") == kind else ELSEWHERE
    multiples = dict(known.get("multiples", {}))
    print(f"{kind}: up to {tolerance} times what was recorded on {known.get('processor', 'nothing')}")
    with tempfile.TemporaryDirectory() as folder:
        for name, row in rows(options.device, Path(folder)).items():
            if options.only not in name:
                continue
            seconds, multiple = measured(row, row.rounds)
            before = multiples.get(name)
            if before is not None and multiple > tolerance * before and not options.update:
                again, multiple_again = measured(row, 2 * row.rounds)
                seconds, multiple = min(seconds, again), min(multiple, multiple_again)
            verdict = "" if before is None else f"recorded {before:8.3f}, now {multiple / before:5.2f} times that"
            if before is not None and multiple > tolerance * before:
                if row.by_clock and is_busy():
                    verdict += "  (not judged: the machine is busy)"
                else:
                    slower.append(name)
                    verdict += "  SLOWER"
            if options.update:
                multiples[name] = round(multiple, 3)
            print(f"{name:30s} {1e3 * seconds:9.2f} ms = {multiple:8.3f} references  {verdict}", flush=True)
    if options.update:
        record[options.device] = {"processor": kind, "multiples": multiples}
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        return 0
    if not known:
        print(f"nothing is recorded for {options.device}: --update does it")
    if slower:
        print(f"slower: {', '.join(slower)}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
