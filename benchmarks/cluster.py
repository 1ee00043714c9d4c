"""What Dask costs on tasks of a second: slabs of a density by a cluster, beside the workers of this machine.

    python benchmarks/cluster.py [FILE] [--workers 2] [--tasks 40] [--seconds 1] [--gpus | --dask ADDRESS]

A task computes a slab of eight million points again and again until its time is over, and tells how long it has
computed. What is lost is the rest of the time of the workers, until the last task is done: 1 - computing / (workers x
wall). Values of a slab (32 MB) come back or do not. Then the same with tasks that sleep for their time, where all
seconds of processors, of workers, scheduler and client, are those of Dask, also on a machine that has other work; then
empty tasks, and whether the values of a whole lattice are those of one process.

Without --dask a cluster of so many processes is started here; with --gpus one process a GPU, each with the resource
CUDA=1 and with the variable by which dask-cuda places workers too, CUDA_VISIBLE_DEVICES.
"""

import argparse
import operator
import os
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from importlib.resources import files

import numpy as np

import orbitile as ob
from orbitile.evaluation.several_devices import planned
from orbitile.workers import Worker, Workers, awaited, environment, in_order
from orbitile.workers.dask import DaskExecutor, dask_executor
from orbitile_benchmarks.slab_task import repeated_slab
from taichi_kernels.devices import gpus


@contextmanager
def cluster_of(n: int, on_gpus: bool) -> Iterator[str]:
    """A cluster of this machine; yields the address of its scheduler."""
    from distributed import Nanny, Scheduler, SpecCluster

    def worker(number: int) -> dict[str, object]:
        settings = settings_of(number, n, on_gpus)
        resources = {"CUDA": 1} if on_gpus else {}
        return {"cls": Nanny, "options": {"nthreads": 1, "env": settings, "resources": resources}}

    scheduler = {"cls": Scheduler, "options": {"dashboard_address": ":0", "host": "127.0.0.1"}}
    with SpecCluster({k: worker(k) for k in range(n)}, scheduler, silence_logs="ERROR") as cluster:
        yield cluster.scheduler_address


def settings_of(number: int, n: int, on_gpus: bool) -> dict[str, str]:
    """Variables of a worker: one GPU, or its share of the cores."""
    threads = str(max(1, (os.cpu_count() or 1) // n))
    device = {"CUDA_VISIBLE_DEVICES": str(number), "ORBITILE_DEVICE": "cuda"}
    processors = {"ORBITILE_DEVICE": "cpu", "ORBITILE_THREADS": threads}
    return {"DASK_LOGGING__DISTRIBUTED": "error", **(device if on_gpus else processors)}


def workers_of(n: int, on_gpus: bool) -> Workers:
    """Workers of this machine, with the same variables."""

    def settings(number: int) -> dict[str, str]:
        return {**environment(), **settings_of(number, n, on_gpus)}

    return Workers([Worker(f"worker {k}", settings=partial(settings, k)) for k in range(n)])


def row(
    name: str, executor: Executor, n: int, options: argparse.Namespace, *, comes_back: bool, asleep: bool = False
) -> None:
    """Measure a number of tasks, and print what is found."""
    wavefunction = ob.load(options.file)
    lattice = ob.Lattice(wavefunction.positions.min(axis=0) - 6, np.eye(3) * 0.1, (200, 200, 200))
    with planned(executor, 1, wavefunction, "density", lattice, "single") as task:
        plan = None if asleep else task.plan
        for _ in in_order(executor, repeated_slab, [(plan, 0.2, False)] * (4 * n)):
            pass  # kernels are compiled, tables are there
        begin, processors = time.perf_counter(), processor_seconds(executor)
        calls = [(plan, options.seconds, comes_back)] * options.tasks
        computing = sum(spent for spent, _ in in_order(executor, repeated_slab, calls))
        wall, processors = time.perf_counter() - begin, processor_seconds(executor) - processors
    cells = [
        name,
        "sleeps" if asleep else "computes",
        "32 MB" if comes_back else "a number",
        f"{wall:.2f}",
        f"{computing / options.tasks:.3f}",
        f"{100 * (1 - computing / (n * wall)):.1f} %",
        f"{1e3 * processors / options.tasks:.0f}" if asleep else "",
    ]
    print("| " + " | ".join(cells) + " |", flush=True)


def processor_seconds(executor: Executor) -> float:
    """Of this process, which may have the scheduler too, and of the workers of a cluster."""
    spent = time.process_time()
    if isinstance(executor, DaskExecutor):
        spent += sum(executor.cluster.connected(lambda: True).run(time.process_time).values())
    return spent


def empty_tasks(executor: Executor, n: int = 400) -> None:
    """Measure what a task costs that does nothing."""
    begin = time.perf_counter()
    for k in range(50):
        awaited(executor.submit(operator.add, k, 1))
    alone = (time.perf_counter() - begin) / 50
    begin = time.perf_counter()
    for _ in in_order(executor, operator.add, [(k, 1) for k in range(n)]):
        pass
    together = (time.perf_counter() - begin) / n
    print(f"\nempty tasks: {1e3 * alone:.1f} ms each one by one, {1e3 * together:.1f} ms side by side")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", default=str(files("orbitile") / "data" / "benzene.molden"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--gpus", action="store_true")
    parser.add_argument("--dask", metavar="ADDRESS")
    options = parser.parse_args()
    n = len(gpus()) if options.gpus else options.workers
    print(f"{options.tasks} tasks of {options.seconds:g} s\n")
    print("| executor | a task | comes back | wall s | s a task | lost | ms of processors a task |")
    print("|---|---|---|---|---|---|---|")
    if not options.dask:
        with workers_of(n, options.gpus) as workers:
            row(f"{n} workers of this machine", workers, n, options, comes_back=True)

    def on(address: str) -> None:
        executor: DaskExecutor = dask_executor(address)
        while not options.dask and executor.width < n:
            awaited(executor.submit(time.sleep, 0.5))
        for asleep in (False, True):
            for comes_back in (False, True):
                name, width = f"{executor.width} workers of Dask", executor.width
                row(name, executor, width, options, comes_back=comes_back, asleep=asleep)
        empty_tasks(executor)
        wavefunction = ob.load(options.file)
        lattice = ob.Lattice.around(wavefunction, 0.07, 5.0)
        begin = time.perf_counter()
        found = ob.compute(wavefunction, "density", lattice, device=f"dask:{address}").values
        print(f"a lattice of {lattice.n_points:,} points by the cluster: {time.perf_counter() - begin:.2f} s")
        alone = ob.compute(wavefunction, "density", lattice, device="cuda" if options.gpus else "cpu").values
        print("the same bits as one process" if np.array_equal(found, alone) else "NOT the bits of one process")

    if options.dask:
        on(options.dask)
    else:
        with cluster_of(n, options.gpus) as address:
            on(address)


if __name__ == "__main__":
    main()
