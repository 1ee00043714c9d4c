"""What Dask's scheduler and client cost a task: real ones, with fake workers that compute nothing.

    python benchmarks/cluster_scheduler.py [--shapes slabs,files,chains,tree] [--tasks 1000,10000,100000]
                                           [--workers 10,100,1000] [--ways graph,single,batches,executor] [--seconds 0]

Shapes are those that Orbitile submits: `slabs`, independent tasks with one scattered argument that return next to
nothing; `files`, independent tasks whose records of 2 kB are fetched; `chains`, rows of 100 frames, each frame a task
that waits for the one before; `tree`, levels of a pyramid, each task of eight of the level below. Ways to submit them:
`graph`, all at once; the others, of slabs and files only, with two tasks a worker in flight: `single`, each submitted
and fetched by itself, `batches`, as many as are done by then, and `executor`, by `orbitile.workers.dask`. Each case
has a scheduler, a client and a farm of workers of its own, each a process. A row has the processor time of scheduler
(less what it takes without tasks) and client for each task in microseconds, what their memory grew by for each task in
bytes, the seconds from the submission to the first task at a worker, and to the end.
"""

from __future__ import annotations

import argparse
import itertools
import os
import queue
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context

import psutil
from dask.task_spec import Task, TaskRef
from distributed import Client, Future, as_completed, wait

from orbitile_benchmarks.dask_farm import Farm, farm

CHAIN = 100
"""Frames of a row."""

CHILDREN = 8
"""Parts of one task of the next level of a pyramid."""

AHEAD = 2
"""Tasks a worker in flight, where their number is bounded."""

RECORD = {"name": "x" * 60, "values": {f"quantity_{n}": float(n) for n in range(80)}}
"""A result of about 2 kB."""


def work(*_: object) -> None:
    """The task: fake workers do not call it."""


@dataclass(frozen=True)
class Case:
    """What is measured."""

    shape: str
    tasks: int
    workers: int
    way: str
    seconds: float
    limit: float


@dataclass
class Peak:
    """Largest resident memory of two processes, bytes, sampled."""

    scheduler: int = 0
    client: int = 0


def graph(shape: str, tasks: int) -> tuple[dict[object, object], list[object]]:
    """A graph of about so many tasks, and the keys whose results are wanted."""
    if shape == "chains":
        rows = range(tasks // CHAIN)
        layers = {
            ("frame", row, k): Task(("frame", row, k), work, *([TaskRef(("frame", row, k - 1))] if k else []))
            for row in rows
            for k in range(CHAIN)
        }
        return layers, [("frame", row, CHAIN - 1) for row in rows]
    width = tasks * (CHILDREN - 1) // CHILDREN
    layers = {("level", 0, n): Task(("level", 0, n), work) for n in range(width)}
    level = 0
    while width > 1:
        below, width, level = width, -(-width // CHILDREN), level + 1
        for n in range(width):
            parts = [TaskRef(("level", level - 1, m)) for m in range(n * CHILDREN, min(below, (n + 1) * CHILDREN))]
            layers["level", level, n] = Task(("level", level, n), work, *parts)
    return layers, [("level", level, 0)]


def finished(futures: list[Future]) -> None:
    """Wait for results; without all of them there is no measurement."""
    wait(futures)
    lost = sum(future.status != "finished" for future in futures)
    if lost:
        raise RuntimeError(f"{lost} of {len(futures)} tasks were not done")


def all_at_once(client: Client, case: Case) -> int:
    """Submit one graph and wait for it; returns the number of tasks."""
    if case.shape in ("chains", "tree"):
        layers, wanted = graph(case.shape, case.tasks)
        futures = client.get(layers, wanted, sync=False)
        del layers
        finished(futures)
        return case.tasks
    shared = [client.scatter(b"wavefunction", broadcast=False)] if case.shape == "slabs" else []
    futures = client.map(work, range(case.tasks), *([shared[0]] * case.tasks for _ in shared), pure=False)
    if case.shape == "files":
        for _ in as_completed(futures, with_results=True):
            pass
    else:
        finished(futures)
    return case.tasks


def by_executor(client: Client, case: Case) -> int:
    """Submit to Orbitile's executor with a bounded number in flight; returns the number of tasks."""
    from orbitile.workers.dask import DaskExecutor

    executor = DaskExecutor(client)
    arguments = [executor.keep(b"wavefunction")] if case.shape == "slabs" else []
    numbers = iter(range(case.tasks))
    done: queue.SimpleQueue[object] = queue.SimpleQueue()

    def submit(count: int) -> None:
        for n in itertools.islice(numbers, count):
            executor.submit(work, n, *arguments).add_done_callback(done.put)

    submit(AHEAD * case.workers)
    for _ in range(case.tasks):
        done.get()
        submit(1)
    executor.shutdown()
    return case.tasks


def bounded(client: Client, case: Case) -> int:
    """Submit with a bounded number in flight and fetch the results; returns the number of tasks."""
    arguments = [client.scatter(b"wavefunction", broadcast=False)] if case.shape == "slabs" else []
    numbers = iter(range(case.tasks))

    def single(count: int) -> list[Future]:
        return [client.submit(work, n, *arguments, pure=False) for n in itertools.islice(numbers, count)]

    def together(count: int) -> list[Future]:
        some = list(itertools.islice(numbers, count))
        return client.map(work, some, *([item] * len(some) for item in arguments), pure=False) if some else []

    submit = single if case.way == "single" else together
    pending = as_completed(submit(AHEAD * case.workers), with_results=case.way == "single")
    for done in pending.batches():
        if case.way == "batches":
            client.gather(done)
        futures = [future for future, _ in done] if case.way == "single" else list(done)
        for future in futures:
            future.release()
        pending.update(submit(len(futures)))
    return case.tasks


@contextmanager
def watched(here: Farm, limit: float) -> Iterator[Peak]:
    """Sample memory; beyond the limit (bytes, scheduler and client together) everything ends."""
    peak, ended = Peak(), threading.Event()
    scheduler, client = psutil.Process(here.scheduler), psutil.Process()

    def look() -> None:
        while not ended.wait(0.2):
            peak.scheduler = max(peak.scheduler, scheduler.memory_info().rss)
            peak.client = max(peak.client, client.memory_info().rss)
            if peak.scheduler + peak.client > limit:
                print(f"memory of {(peak.scheduler + peak.client) / 1e9:.1f} GB: given up", flush=True)
                scheduler.kill()
                client.kill()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()


def processor(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def measure(case: Case) -> str:
    """One row of the table."""
    with (
        farm(case.workers, case.seconds, RECORD if case.shape == "files" else None) as here,
        Client(here.address) as client,
        watched(here, case.limit) as peak,
    ):
        time.sleep(1.0)
        idle = processor(here.scheduler)
        time.sleep(4.0)
        idle = (processor(here.scheduler) - idle) / 4.0
        here.talk.send(None)
        here.talk.recv()
        pids = here.scheduler, psutil.Process().pid, here.workers
        before = [processor(pid) for pid in pids]
        memory = [psutil.Process(pid).memory_info().rss for pid in pids]
        peak.scheduler = peak.client = 0
        begin, clock = time.time(), time.perf_counter()
        n = {"graph": all_at_once, "executor": by_executor}.get(case.way, bounded)(client, case)
        seconds = time.perf_counter() - clock
        spent = [(processor(pid) - since) / n * 1e6 for pid, since in zip(pids, before, strict=True)]
        spent[0] -= idle * seconds / n * 1e6
        here.talk.send(None)
        tally = here.talk.recv()
        grown = max(0, peak.scheduler - memory[0]) / n, max(0, peak.client - memory[1]) / n
        return (
            f"| {case.shape} | {case.tasks:,} | {case.workers:,} | {case.way} | {spent[0]:.0f} "
            f"| {spent[1]:.0f} | {spent[2]:.0f} | {grown[0]:.0f} | {grown[1]:.0f} | {tally.first - begin:.2f} "
            f"| {seconds:.1f} | {n / seconds:.0f} | {here.registering:.1f} | {100 * idle:.1f} |"
        )


HEAD = (
    "| shape | tasks | workers | submitted | scheduler us/task | client us/task | farm us/task "
    "| scheduler bytes/task | client bytes/task | first task s | all s | tasks/s | workers there s | idle scheduler % |"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default="slabs,files,chains,tree")
    parser.add_argument("--tasks", default="1000,10000,100000")
    parser.add_argument("--workers", default="10,100,1000")
    parser.add_argument("--ways", default="graph,single,batches,executor")
    parser.add_argument("--seconds", type=float, default=0.0, help="that a task takes")
    parser.add_argument("--limit", type=float, default=8e9, help="bytes of scheduler and client together")
    options = parser.parse_args()
    os.environ.setdefault("DASK_DISTRIBUTED__LOGGING__DISTRIBUTED", "error")  # of the processes that follow
    shapes, numbers, workers, ways = (
        text.split(",") for text in (options.shapes, options.tasks, options.workers, options.ways)
    )
    print(HEAD + "\n" + "|---" * HEAD.count(" | ") + "|---|", flush=True)
    for shape, tasks, n, way in itertools.product(shapes, map(int, numbers), map(int, workers), ways):
        if way != "graph" and shape in ("chains", "tree"):
            continue
        case = Case(shape, tasks, n, way, options.seconds, options.limit)
        with ProcessPoolExecutor(1, get_context("spawn")) as alone:  # memory of one case is not that of the next
            print(alone.submit(measure, case).result(), flush=True)


if __name__ == "__main__":
    main()
