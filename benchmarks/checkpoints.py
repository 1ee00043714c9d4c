"""How long a user waits for Cancel, and how evenly the bar moves: gaps between checkpoints of what a viewer asks for.

    python benchmarks/checkpoints.py FILE... [--quality fine] [--fields homo,density,...] [--device cpu]

For each field of each file, as a worker answers for it, once kernels are loaded: seconds in all, the longest time
without a checkpoint (of the processors or of the clock, whichever is less, so that other programs count little), how
many there were, and the longest time for which the share that is told stood still.
"""

from __future__ import annotations

import argparse
import time
import traceback
from dataclasses import dataclass, field
from itertools import pairwise

from orbitile.base.errors import OrbitileError
from orbitile.evaluation.preparation import STEPS, prepare, take_step
from orbitile.pictures.request import Request
from orbitile.session.sampling import WavefunctionCache, _by_kernel, sample
from orbitile.surfaces.isosurface import isosurface

FIELDS = (
    "homo,density,spin,gradient,laplacian,elf,rdg,nci,ionisation,kinetic,esp,density by esp,density by homo,rdg by nci"
)


@dataclass
class Gaps:
    """What is seen of a request from outside."""

    asked: list[tuple[float, float]] = field(default_factory=lambda: [(time.perf_counter(), time.process_time())])
    told: list[tuple[float, float]] = field(default_factory=list)
    longest: float = 0.0
    where: str = ""

    def cancelled(self) -> bool:
        if self.passed():
            frames = [f for f in traceback.extract_stack(limit=9) if not f.filename.endswith(("watch.py", "points.py"))]
            self.where = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[:-1]))[:110]
        return False

    def passed(self) -> bool:
        """Take note of a checkpoint; says whether none took longer to come to."""
        now = time.perf_counter(), time.process_time()
        gap = min(now[0] - self.asked[-1][0], now[1] - self.asked[-1][1])  # what others compute does not count
        self.asked.append(now)
        is_longest, self.longest = gap > self.longest, max(gap, self.longest)
        return is_longest

    def progress(self, share: float) -> None:
        self.told.append((time.perf_counter(), share))

    def stood_still(self, end: float) -> float:
        """Longest time between two shares."""
        times = [self.asked[0][0], *(when for when, _ in self.told), end]
        return max(after - before for before, after in pairwise(times))


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--quality", default="fine")
    parser.add_argument("--fields", default=FIELDS)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    prepare(options.device)
    for number in range(len(STEPS)):
        take_step(number, options.device)
    print(f"{'':32} {'s':>7} {'gap':>6} {'still':>6} {'asked':>6}  after the longest gap")
    for path in options.files:
        for name in options.fields.split(","):
            shown, _, color_by = name.partition(" by ")
            for extract in (_by_kernel, isosurface):
                row(path, shown, color_by, extract, options)


def row(path: str, shown: str, color_by: str, extract: object, options: argparse.Namespace) -> None:
    """One line of the table."""
    request = Request(path, shown, options.quality, device=options.device, color_by=color_by, most_faces=90_000)
    gaps = Gaps()
    begin = time.perf_counter()
    label = f"{path.rpartition('/')[2][:12]} {shown} {color_by} {extract.__name__[:4]}"
    try:
        found = sample(request, WavefunctionCache(), gaps.progress, gaps.cancelled, extract)
    except OrbitileError as error:
        print(f"{label:32} {error}")
        return
    end = time.perf_counter()
    if gaps.passed():
        gaps.where = "the end"
    print(
        f"{label:32} {end - begin:7.2f} {gaps.longest:6.3f} {gaps.stood_still(end):6.2f} {len(gaps.asked):6}  "
        f"{gaps.where} {found.volume.lattice.shape}",
        flush=True,
    )


if __name__ == "__main__":
    main()
