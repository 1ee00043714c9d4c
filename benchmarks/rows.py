"""What a trajectory costs in rows, and what processes gain: python benchmarks/rows.py [--part price|scf|film|model]

Ethanol swings, each atom about its place, as in dynamics of half a femtosecond a step. `price` counts the Fock matrices
of each frame, begun from the frames before and, every N frames, from superposed atoms. `scf` computes a series one
frame after another in this process, then in rows by one worker and by several, and looks whether rows are the same to
the bit. `film` draws a film of it in this process and by as many workers, and compares all pictures. Processor time,
that of workers and of their start included, tells what several gain also where other work disturbs the clock. `model`
tells what many workers would gain where frames take long.
"""

from __future__ import annotations

import argparse
import heapq
import os
import tempfile
import time
from collections import deque
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))  # as in workers

import numpy as np

import orbitile as ob
from orbitile.pictures.films import along, animate
from orbitile.readers import load_geometries
from orbitile.scf.calculation import HISTORY, Calculation
from orbitile.scf.engines import engine_of
from orbitile.workers import Workers, local_workers

ETHANOL = """C -0.748 -0.015 0.024; C 0.558 0.420 -0.278; H -1.293 -0.202 -0.901; H -1.263 0.754 0.600;
H -0.699 -0.934 0.609; H 0.716 1.404 0.137; H 1.305 -0.279 0.098; O 0.580 0.485 -1.680; H 1.400 0.800 -1.950"""

PERIODS = (20, 45, 90, 200)
"""Of the motions in steps: stretching of bonds to hydrogen, bending, torsion."""


def swinging(path: Path, n: int) -> Path:
    """An xyz file of ethanol in motion, by some hundredths of an Angstrom."""
    symbols, still = zip(*((line.split()[0], line.split()[1:]) for line in ETHANOL.split(";")), strict=True)
    lightness = np.array([1.0 if symbol == "H" else 12.0**-0.5 for symbol in symbols])[:, None]
    swings = np.random.default_rng(1).normal(scale=0.05, size=(len(PERIODS), len(symbols), 3)) * lightness
    lines = []
    for step in range(n):
        moved = sum(np.sin(2 * np.pi * step / p + k) * swings[k] for k, p in enumerate(PERIODS))
        where = np.array(still, float) + moved
        lines += [str(len(symbols)), f"step {step}"]
        lines += [f"{symbol} {x:.8f} {y:.8f} {z:.8f}" for symbol, (x, y, z) in zip(symbols, where, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def price(source: Path, calculation: Calculation, row: int) -> None:
    """Fock matrices and processor time of frames by their place in a row."""
    geometries = load_geometries(source)
    solver = engine_of("auto", geometries.read(0), calculation)
    solver.solve(geometries.read(0), calculation)  # kernels are loaded once
    before: deque[ob.Wavefunction] = deque(maxlen=HISTORY)
    matrices, seconds = [], []
    for index in range(len(geometries)):
        if index % row == 0:
            before.clear()
        begin = time.process_time()
        solution = solver.solve(geometries.read(index), calculation, before)
        seconds.append(time.process_time() - begin)
        matrices.append(solution.n_iterations)
        before.append(solution.wavefunction)
    rows = [slice(start, start + row) for start in range(0, len(geometries) - row + 1, row)]
    print(f"{calculation} ({solver.PROGRAM}): by place in a row of {row}")
    print("    Fock matrices    ", " ".join(f"{n:6.1f}" for n in np.mean([matrices[one] for one in rows], axis=0)))
    mean = np.mean([seconds[one] for one in rows], axis=0)
    print("    processor seconds", " ".join(f"{n:6.2f}" for n in mean))
    later = float(np.mean(mean[row // 2 :]))
    print(f"    beginning costs {(mean.sum() - row * later) / later:.1f} frames more")


class Clock:
    """Wall and processor seconds since it was made; of workers, since they were started (Linux)."""

    def __init__(self) -> None:
        self._wall, self._processor = time.perf_counter(), time.process_time()

    def seconds(self, workers: Workers | None = None) -> tuple[float, float]:
        wall, processor = time.perf_counter() - self._wall, time.process_time() - self._processor
        for worker in () if workers is None else workers.workers:
            fields = Path(f"/proc/{worker.process_id}/stat").read_text().rpartition(")")[2].split()
            processor += sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
        return wall, processor


def scf(source: Path, folder: Path, calculation: Calculation, row: int, n_workers: int) -> None:
    """Wall and processor time of a series, one after another and in rows."""
    clock = Clock()
    series = {"one process": ob.compute_series(source, folder / "whole.h5", calculation)}
    times = {"one process": clock.seconds()}
    for n in dict.fromkeys((1, n_workers)):
        clock, name = Clock(), f"rows, {n} worker(s)"
        with local_workers(n) as workers:
            series[name] = ob.compute_series(source, folder / f"{n}.h5", calculation, executor=workers, row=row)
            times[name] = clock.seconds(workers)
    print(f"{calculation}: {len(series['one process'])} frames in rows of {row}")
    for name, (wall, processor) in times.items():
        print(f"    {name:20s} {wall:7.1f} s, {processor:7.1f} s of processors")
    energies = [np.array([frame.alpha.energies for frame in one]) for one in series.values()]
    same = all(np.array_equal(energies[1], other) for other in energies[2:])
    print(f"    the same bits: {same}; energies differ from the whole by {np.abs(energies[0] - energies[1]).max():.1e}")


def model(n_frames: int, row: int, width: int, extra: float, at_once: int) -> float:
    """How many times as fast as one process, whose frames take 1 each, so many workers are.

    Two rows a worker are under way, whose turn comes after so many frames; a row's beginning takes `extra` more.
    """
    waiting = deque([min(row, n_frames - start) for start in range(0, n_frames, row)])
    queue: deque[tuple[int, bool]] = deque()
    running: list[tuple[float, int]] = []
    now = 0.0
    while waiting or queue or running:
        while waiting and len(queue) + len(running) < 2 * width:
            queue.append((waiting.popleft(), True))
        while queue and len(running) < width:
            left, is_new = queue.popleft()
            n = min(left, at_once)
            heapq.heappush(running, (now + n + extra * is_new, left - n))
        now, left = heapq.heappop(running)
        if left:
            queue.append((left, False))
    return n_frames / now


def film(series: Path, folder: Path, n_workers: int, size: tuple[int, int]) -> None:
    """Wall time of the pictures of a film."""
    shots = along(trajectory := ob.load_trajectory(series), "homo", ob.track(trajectory))
    clock = Clock()
    n = animate(shots, folder / "one", size=size)
    print(f"{n} pictures {size}")
    print("    one process          {:7.1f} s, {:7.1f} s of processors".format(*clock.seconds()))
    clock = Clock()
    with local_workers(n_workers) as workers:
        animate(shots, folder / "many", size=size, executor=workers)
        print("    {} workers            {:7.1f} s, {:7.1f} s of processors".format(n_workers, *clock.seconds(workers)))
    same = all(path.read_bytes() == (folder / "many" / path.name).read_bytes() for path in (folder / "one").iterdir())
    print(f"    the same bytes: {same}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=("price", "scf", "film", "model"), action="append")
    parser.add_argument("--frames", type=int, default=64)
    parser.add_argument("--row", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--method", default="hf")
    parser.add_argument("--basis", default="def2-svp")
    parser.add_argument("--extra", type=float, default=2.5, help="frames that the beginning of a row costs (model)")
    parser.add_argument("--size", type=int, nargs=2, default=(960, 720))
    options = parser.parse_args()
    parts = options.part or ["price", "scf", "film"]
    if "model" in parts:
        for n, row, width in ((1000, 32, 2), (10_000, 32, 100), (1000, 32, 100), (1000, 10, 100), (100_000, 32, 1000)):
            times = model(n, row, width, options.extra, at_once=1)
            print(f"{n} frames in rows of {row}, {width} workers: {times:.2f} times one process")
    calculation = Calculation(options.method, options.basis)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = swinging(folder / "ethanol.xyz", options.frames)
        if "price" in parts:
            price(source, calculation, options.row)
        if "scf" in parts:
            scf(source, folder, calculation, options.row, options.workers)
        if "film" in parts:
            if "scf" not in parts:
                ob.compute_series(source, folder / "whole.h5", calculation)
            film(folder / "whole.h5", folder, options.workers, tuple(options.size))


if __name__ == "__main__":
    main()
