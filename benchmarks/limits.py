"""What users wait for, beside the same of another version of Orbitile and beside other programs, in one run.

    python benchmarks/limits.py [--before FOLDER] [--data FOLDER] [--device cpu] [--threads 1,16] [--only WORD,...]
                                [--rounds 5] [--peers PySCF,Avogadro,...] [--json FILE]

FOLDER of `--before` is another checkout. Each version has a process of its own, with the same files, lattices and
points; they take turns, and each row is the least and the median of all turns, of which a first call is not counted.
How many times as fast the later version is goes by the clock, and in brackets by processor time. Values are compared
with double precision at 2,000 points, in terms of the largest value there or of 1; of an isosurface the number of
triangles is told instead. `--threads` are those of the orbital and the density of C60 on a CPU; all other rows have all
threads. Programs are timed from start to end, with a CPU only. `--only` chooses rows by words in their names. Other
programs (`orbitile_benchmarks.peers`) run at the end, one after the other.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from datetime import date
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from orbitile_benchmarks.limit_rows import Kind, kinds
from orbitile_benchmarks.measurement import Row
from orbitile_benchmarks.report import line_of, milliseconds
from orbitile_benchmarks.starts import OWN, environment_of, in_new_process
from orbitile_benchmarks.systems import NAMED, SHIPPED, path_of

TURN = 0.4
"""Seconds that a turn takes at most, unless one call takes longer."""

MOST = 10
"""Calls of a turn at most."""


class Process:
    """A process that answers requests; the next request waits until the last has its answer."""

    def __init__(self, checkout: Path, device: str, threads: str, folder: Path, molecules: dict[str, Path]) -> None:
        words = [device, str(folder), *(f"{name}={path}" for name, path in molecules.items())]
        environment = {**environment_of(checkout), "ORBITILE_DEVICE": device}
        if threads:
            environment["ORBITILE_THREADS"] = threads
        self._process = subprocess.Popen(
            [sys.executable, "-m", "orbitile_benchmarks.limit_rows", *words],
            env=environment, cwd=checkout, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._queue = ThreadPoolExecutor(1)

    def later(self, *request: Any) -> "Future[Any]":
        """Ask, and go on."""
        return self._queue.submit(self._asked, request)

    def ask(self, *request: Any) -> Any:
        """Ask, and wait for the answer."""
        return self.later(*request).result()

    def _asked(self, request: tuple[Any, ...]) -> Any:
        assert self._process.stdin is not None  # pipes
        assert self._process.stdout is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Refused(f"the process ended with {self._process.wait()}")
        found = json.loads(line)
        if "failure" in found:
            raise Refused(found["failure"])
        return found["answer"]

    def end(self) -> None:
        """Let it end."""
        assert self._process.stdin is not None  # a pipe
        self._process.stdin.close()
        self._process.wait()
        self._queue.shutdown()


class Refused(Exception):
    """What a process says in place of an answer."""


@dataclass
class Found:
    """One version on one row: seconds by the clock and by processors, the error, or why there is none."""

    clock: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    error: float | None = None
    note: str = ""

    @property
    def cell(self) -> str:
        """Least and median milliseconds, and the error."""
        if not self.clock:
            return self.note or "none"
        error = f"; {self.error:.0e}" if self.error is not None else ""
        note = f"; {self.note}" if self.note else ""
        return f"{milliseconds(min(self.clock))} ({milliseconds(median(self.clock))}){error}{note}"


def measured(
    kind: Kind, processes: dict[str, Process], prepared: dict[str, Any], exact: Any, rounds: int
) -> dict[str, Found]:
    """All versions on one row, in turns."""
    found = {}
    for name, future in prepared.items():
        try:
            found[name] = checked(kind, future.result()["sample"], exact)
        except Refused as error:
            found[name] = Found(note=str(error))
    able = [name for name, one in found.items() if name in prepared and prepared[name].exception() is None]
    slowest = max((prepared[name].result()["seconds"] for name in able), default=1.0)
    times = int(np.clip(TURN / slowest, 1, MOST))
    if slowest > 5:
        rounds = min(rounds, 2)
    for turn in range(rounds):
        for name in able if turn % 2 else reversed(able):
            for clock, processor in processes[name].ask("measure", asdict(kind), times):
                found[name].clock.append(clock)
                found[name].processor.append(processor)
    return found


def checked(kind: Kind, sample: list[float], exact: Any) -> Found:
    """A row before it is timed: how far its values are from the exact ones."""
    if kind.field == "isosurface":
        return Found(note=f"{sample[0]:.0f} triangles")
    try:
        reference = np.array(exact.result())
    except Refused as error:
        return Found(note=f"no reference: {error}")
    scale = max(1.0, float(np.abs(reference).max()))
    return Found(error=float(np.abs(np.array(sample) - reference).max()) / scale)


def programs(
    checkouts: dict[str, Path], molecule: Path, rounds: int, chosen: Any
) -> Iterator[tuple[str, dict[str, Found]]]:
    """Programs from start to end, in turns: with empty caches, then with those that they left."""
    rows = {
        "orbitile render, benzene": ("command", str(files("orbitile") / "data" / "benzene.molden")),
        "import and first compute, benzene": ("compute", str(files("orbitile") / "data" / "benzene.molden")),
        "import and first compute, C60-b": ("compute", str(molecule)),
    }
    for name, (part, file) in rows.items():
        if not chosen(name):
            continue
        empty = {version: Found() for version in checkouts}
        warm = {version: Found() for version in checkouts}
        for checkout in checkouts.values():  # modules of Python are compiled
            with tempfile.TemporaryDirectory() as cache:
                in_new_process(part, file, "homo", "cpu", cache, checkout)
        for turn in range(min(rounds, 3)):
            for version in list(checkouts) if turn % 2 else reversed(checkouts):
                with tempfile.TemporaryDirectory() as cache:
                    for found in (empty, warm, warm):
                        steps = in_new_process(part, file, "homo", "cpu", cache, checkouts[version])
                        used = [step for step in steps if not step[0].startswith("read")]
                        found[version].clock.append(sum(clock for _, clock, _ in used))
                        found[version].processor.append(sum(processor for _, _, processor in used))
        yield f"{name}, warm caches", warm
        yield f"{name}, empty caches", empty


def shown(name: str, found: dict[str, Found]) -> str:
    """A line of the table."""
    cells = [one.cell for one in found.values()]
    times = ""
    if len(found) == 2:
        before, now = found.values()
        if before.clock and now.clock:
            times = f"{min(before.clock) / min(now.clock):.2f} ({min(before.processor) / min(now.processor):.2f})"
    return f"| {name} | {' | '.join(cells)} | {times} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="another checkout of Orbitile")
    parser.add_argument("--data", type=Path, help="folder with Molden files of the benchmarks")
    parser.add_argument("--device", default="cpu", help="devices, with commas between (default: cpu)")
    parser.add_argument("--threads", default="", help="numbers of threads, with commas between (default: all)")
    parser.add_argument("--only", default="", help="words, with commas between")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", default="", help="other programs, with commas between")
    parser.add_argument("--json", type=Path, dest="json_file")
    options = parser.parse_args()
    words = [word for word in options.only.split(",") if word]

    def chosen(name: str) -> bool:
        return not words or any(word in name for word in words)

    checkouts = {"before": options.before.resolve(), "now": OWN} if options.before else {"now": OWN}
    devices = [device for device in options.device.split(",") if device]
    molecules = {name: path_of(NAMED[name], options.data).resolve() for name in ("C60-b", "Thr-b", SHIPPED.name)}
    document: list[dict[str, Any]] = []

    def told(name: str, found: dict[str, Found]) -> None:
        print(shown(name, found), flush=True)
        document.append({"row": name, **{version: asdict(one) for version, one in found.items()}})

    print(f"{date.today()}, {os.cpu_count()} processors, python benchmarks/limits.py {' '.join(sys.argv[1:])}")
    print("Milliseconds, least and in brackets median; largest error. Load "
          + (f"{os.getloadavg()[0]:.1f} at the beginning." if hasattr(os, "getloadavg") else "not known."))  # fmt: skip
    print(
        f"\n| | {' | '.join(checkouts)} | times as fast (of processors) |\n{'|---' * (len(checkouts) + 2)}|", flush=True
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sessions = list(rows_of(devices, options.threads, chosen))
        reference = Process(OWN, "cpu", "", folder, molecules)
        if any(kind.where == "vertices" for _, _, rows in sessions for kind in rows):
            for system in molecules:
                reference.ask("make_vertices", system)
        exact = {kind: reference.later("exact", asdict(kind)) for kind in {k for _, _, rows in sessions for k in rows}}
        started = []
        for device, threads, rows in sessions:  # all make ready at once, and are measured one after the other
            processes = {v: Process(path, device, threads, folder, molecules) for v, path in checkouts.items()}
            ready = {kind: {v: one.later("prepare", asdict(kind)) for v, one in processes.items()} for kind in rows}
            started.append((device, threads, processes, ready))
        for device, threads, _, ready in started:
            for kind, of_row in ready.items():
                wait([*of_row.values(), exact[kind]])
                print(f"ready: {device} {threads} {kind.name}", file=sys.stderr, flush=True)
        for device, threads, processes, ready in started:
            where = f"{device}, {threads} threads" if threads else device
            for kind, prepared in ready.items():
                told(f"{where}: {kind.name}", measured(kind, processes, prepared, exact[kind], options.rounds))
            for one in processes.values():
                one.end()
        if "cpu" in devices:
            for row, found in programs(checkouts, molecules["C60-b"], options.rounds, chosen):
                told(row, found)
        reference.end()
        gpu = next((device for device in devices if device != "cpu"), "cpu")
        for peer in filter(None, options.peers.split(",")):
            beside = Process(OWN, gpu, "", folder, molecules)  # each its own: what fails may take its process with it
            for system in molecules:
                try:
                    rows = beside.ask("peers", system, [peer])
                except Refused as error:
                    print(f"{system:10s}{peer}: {error}", flush=True)
                    break
                for row in rows:
                    print(line_of(Row(**row)), flush=True)
                    document.append(row)
            beside.end()
    if options.json_file:
        options.json_file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def rows_of(devices: list[str], threads: str, chosen: Any) -> Iterator[tuple[str, str, list[Kind]]]:
    """Devices with numbers of threads, and what is measured on each."""
    for device in devices:
        rows = [kind for kind in kinds(device) if chosen(f"{device}: {kind.name}")]
        if device == "cpu" and threads:
            of_threads = [
                k for k in rows if k.system == "C60-b" and k.field in ("homo", "density") and k.precision == "single"
            ]
            for number in threads.split(","):
                yield device, number, of_threads
            rows = [kind for kind in rows if kind not in of_threads]
        if rows:
            yield device, "", rows


if __name__ == "__main__":
    main()
