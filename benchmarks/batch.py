"""`orbitile batch` against a loop of the shell over `orbitile render`, by the clock and by processor time.

    python benchmarks/batch.py logs.txt                 # a name a line; pictures of the HOMO, 1600 x 1200
    python benchmarks/batch.py --many 10000             # small files of hydrogen that are made for it

Rounds of a few files by the loop stand between batches of all of them, so that both see the same machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from math import exp
from pathlib import Path

_ORBITILE = (sys.executable, "-m", "orbitile")

_HYDROGEN = """[Molden Format]
[Atoms] AU
H 1 1 0.0 0.0 0.0
H 2 1 0.0 0.0 {distance:.6f}
[GTO]
1 0
s 1 1.0
 0.4 1.0

2 0
s 1 1.0
 0.4 1.0

[MO]
 Ene= -0.5
 Spin= Alpha
 Occup= 2.0
 1 {bonding:.10f}
 2 {bonding:.10f}
 Ene= 0.2
 Spin= Alpha
 Occup= 0.0
 1 {antibonding:.10f}
 2 -{antibonding:.10f}
"""


def timed(command: Sequence[str]) -> tuple[float, float]:
    """Seconds by the clock and of processors that a command takes with all that it starts; it must succeed."""
    started, used = time.perf_counter(), dict[int, float]()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        used |= _processor_times(process.pid)
        time.sleep(0.05)
    seconds = time.perf_counter() - started
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return seconds, sum(used.values())


def _processor_times(process: int) -> dict[int, float]:
    """Seconds of processors of a process and of those that it has started, as far as they live, on Linux."""
    found: dict[int, float] = {}
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents.setdefault(int(fields[1]), []).append(int(entry.name))
        found[int(entry.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    family = [process]
    for member in family:
        family += parents.get(member, [])
    return {member: found[member] for member in family if member in found}


def against_the_loop(files: list[str], size: str, rounds: int, sample: int) -> None:
    """Print seconds a file of both, and their ratios."""
    chosen = files[:: max(1, len(files) // sample)][:sample]
    loops, batches = [], []
    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder, "names.txt")
        names.write_text("\n".join(files))
        picture = str(Path(folder, "homo.png"))
        for n in range(rounds):
            parts = [
                timed([*_ORBITILE, "render", file, "homo", "-q", "--size", size, "-o", picture]) for file in chosen
            ]
            loops.append([sum(part[k] for part in parts) / len(chosen) for k in (0, 1)])
            out = str(Path(folder, f"out{n}"))
            batch = timed([*_ORBITILE, "batch", f"@{names}", "homo", "-q", "--to", "png", "--size", size, "-o", out])
            batches.append([seconds / len(files) for seconds in batch])
            print(
                f"round {n + 1}: loop {loops[-1][0]:.3f} s a file by the clock, {loops[-1][1]:.3f} of processors; "
                f"batch {batches[-1][0]:.3f}, {batches[-1][1]:.3f}",
                flush=True,
            )
    for k, what in enumerate(("by the clock", "of processors")):
        loop, batch_ = min(row[k] for row in loops), min(row[k] for row in batches)
        print(f"{what}: {loop:.3f} s against {batch_:.3f} s a file, {loop / batch_:.1f} times")


def many(n: int, formats: str, size: str) -> None:
    """Print the rate of a batch of small files, its memory and size on disk, and how long it takes once all is done."""
    with tempfile.TemporaryDirectory() as folder:
        runs, out = Path(folder, "runs"), Path(folder, "out")
        runs.mkdir()
        for number in range(n):
            distance = 1.2 + 1e-4 * number
            overlap = exp(-0.2 * distance**2)
            text = _HYDROGEN.format(
                distance=distance, bonding=(2 + 2 * overlap) ** -0.5, antibonding=(2 - 2 * overlap) ** -0.5
            )
            Path(runs, f"h2_{number}.molden").write_text(text)
        command = [*_ORBITILE, "batch", str(runs / "*"), "homo", "-q", "--to", formats, "--size", size, "-o", str(out)]
        for what in ("from nothing", "all done before"):
            started, most = time.perf_counter(), 0
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            while process.poll() is None:
                most = max(most, _memory(process.pid))
                time.sleep(0.2)
            seconds = time.perf_counter() - started
            print(
                f"{what}: {seconds:.1f} s, {n / seconds:.1f} files a second, main process {most >> 20} MiB", flush=True
            )
        written = [path.stat() for path in out.rglob("*") if path.is_file()]
        used = sum(512 * status.st_blocks for status in written)
        print(f"{len(written)} files, {sum(s.st_size for s in written) / 1e6:.1f} MB, {used / 1e6:.1f} MB on disk")


def _memory(process: int) -> int:
    """Bytes of a process that are in memory, on Linux; 0 where it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="?", help="file with a name of a log a line")
    parser.add_argument("--many", type=int, metavar="N", help="small files to make in place of these")
    parser.add_argument("--to", default="json", help="formats of the many (default: json)")
    parser.add_argument("--size", default="1600x1200")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sample", type=int, default=10, help="files of the loop in each round")
    options = parser.parse_args()
    if options.many:
        many(options.many, options.to, options.size)
    else:
        files = Path(options.names).read_text(encoding="utf-8").split("\n")
        against_the_loop([file for file in files if file], options.size, options.rounds, options.sample)


if __name__ == "__main__":
    main()
