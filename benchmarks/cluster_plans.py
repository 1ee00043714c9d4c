"""Plans for 1, 100 and 1,000 GPUs, from measured constants: how long they take, and what is in the way first.

    python benchmarks/cluster_plans.py [--gpus 1,100,1000] [--store 100] [--network 0.16] [--cores 8] [--task 0.001]

A plan is a number of tasks of a certain duration, with bytes that go to a store. Its time is that of the slowest of
what works at the same time: the GPUs (rounds of tasks, each computed and then written by the cores beside the GPU,
--cores), the scheduler (--task seconds of it for each), the way to and from the client (--network GB/s), and the store
(--store GB/s for all together). Constants are those
of docs/scaling.md, where each stands with how it was measured.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

AHEAD = 20
"""Tasks a worker that keep what is idle at the end below 1 / AHEAD."""

COMPRESSION = 0.7e9
"""Bytes a core compresses in a second: LZ4 with shuffle and checksums, and an eighth more for coarser levels."""

MEANS = 2.4e9
"""Bytes a second of which one core makes the means for the coarser levels; they are not shared among cores."""

KEPT = 0.7
"""Share of the bytes that is left, between a coarse lattice and a very fine one."""


@dataclass(frozen=True)
class Plan:
    """Work to be done.

    Attributes
    ----------
    name : str
    items : float
        Frames or points.
    rate : float
        Of them a second on one H200.
    bytes : float
        Of an item.
    task : float
        Items of a task, as things are.
    compressed : bool
        Whether what is written is compressed.
    home : float
        Bytes of an item that pass through the client, both ways.
    """

    name: str
    items: float
    rate: float
    bytes: float
    task: float
    compressed: bool = True
    home: float = 0.0


POINTS = 1e12
SLAB = 8 * 1e8  # eight planes of 10,000 x 10,000 points

PLANS = (
    Plan("10^12 points, HOMO", POINTS, 3.9e8, 4, SLAB),
    Plan("10^12 points, HOMO, to the client", POINTS, 3.9e8, 4, SLAB, compressed=False, home=4),
    Plan("10^12 points, density", POINTS, 3.0e8, 4, SLAB),
    Plan("10^12 points, potential", POINTS, 3.4e6, 4, SLAB),
    Plan("1e6 frames, SCF of threonine", 1e6, 2.0 / (1 + 3 / 32), 0.14e6, 10, compressed=False, home=1.5 * 0.14e6),
    Plan("1e6 frames, HOMO of C60", 1e6, 1 / 0.06, 20e6, 1),
    Plan("1e6 logs, picture and numbers", 1e6, 1 / 0.6, 0.3e6, 1, compressed=False, home=2e3),
)


def grouped(plan: Plan, gpus: int, scheduler: float) -> float:
    """Items of a task that keep the scheduler half idle, or those of now where these are more."""
    shortest = 2 * scheduler * gpus
    return max(plan.task, math.ceil(shortest * plan.rate / plan.task) * plan.task)


def row(plan: Plan, gpus: int, scheduler: float, cores: int, store: float, network: float, task: float) -> str:
    """One line of the table."""
    tasks = math.ceil(plan.items / task)
    size = plan.items * plan.bytes
    writing = plan.bytes * (1 / (cores * COMPRESSION) + 1 / MEANS) if plan.compressed else 0.0
    seconds = task * (1 / plan.rate + writing)
    parts = {
        "workers": math.ceil(tasks / gpus) * seconds,
        "scheduler": tasks * scheduler,
        "client": plan.items * plan.home / network,
        "store": size * (KEPT if plan.compressed else 1.0) / store,
    }
    slowest = max(parts, key=lambda part: parts[part])
    times = " | ".join(f"{value:,.3g}" for value in parts.values())
    used = tasks * seconds / gpus / parts[slowest]
    return f"| {plan.name} | {gpus:,} | {tasks:,} | {seconds:.3g} | {times} | {slowest} | {used:.0%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", default="1,100,1000")
    parser.add_argument("--store", type=float, default=100.0, help="GB a second that a shared file system takes")
    parser.add_argument("--network", type=float, default=0.16, help="GB a second through scheduler and client")
    parser.add_argument("--cores", type=int, default=8, help="cores beside each GPU")
    parser.add_argument("--task", type=float, default=0.001, help="seconds of the scheduler that a task takes")
    options = parser.parse_args()
    for title, group in (("as it is", False), ("tasks grouped so that the scheduler is half idle", True)):
        print(f"\n{title}, store of {options.store:g} GB/s, {options.cores} cores a GPU\n")
        print("| | GPUs | tasks | s each | workers, s | scheduler, s | client, s | store, s | slowest | workers busy |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        for plan in PLANS:
            for gpus in map(int, options.gpus.split(",")):
                task = grouped(plan, gpus, options.task) if group else plan.task
                print(row(plan, gpus, options.task, options.cores, options.store * 1e9, options.network * 1e9, task))
    print("\nmost GPUs that a plan can keep busy with 20 tasks each, the scheduler half idle\n")
    for plan in PLANS:
        total = plan.items / plan.rate
        most = math.sqrt(total / (2 * AHEAD * options.task))
        print(f"| {plan.name} | {total:,.0f} s of one GPU | {most:,.0f} GPUs |")


if __name__ == "__main__":
    main()
