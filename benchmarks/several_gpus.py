"""One field on 1, 2, 4 ... GPUs of a machine: seconds, speed-up, and the largest deviation from one GPU.

    python benchmarks/several_gpus.py FILE [--fields homo,density,esp] [--points 1000,500,200] [--file N]

Each field is computed on a cube around the molecule of as many points along an edge as stand in its place of --points.
Times are minima of three calls, after a first one whose time, with the start of the processes, is told too. With
--file N the first field is also written to files of N^3 points without being held (2000: 32 GB as .mrc), one for each
of --formats; the peak of the resident memory of this process is told. --devices replaces the lists of devices, as in
--devices "cpu;cpu,cpu".
"""

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

import orbitile as ob
from orbitile.base.errors import OrbitileError
from orbitile.evaluation.several_devices import end_processes
from taichi_kernels.devices import gpus


def cube_around(wavefunction: ob.Wavefunction, points: int) -> ob.Lattice:
    """A cube of this many points along an edge, 3 bohr beyond the atoms."""
    low, high = wavefunction.positions.min(axis=0), wavefunction.positions.max(axis=0)
    edge = float((high - low).max()) + 6.0
    return ob.Lattice((low + high - edge) / 2, np.eye(3) * edge / (points - 1), (points,) * 3)


def device_lists() -> list[str]:
    """One GPU, two, four, ..., as many as there are."""
    number = len(gpus())
    counts = sorted({1 << k for k in range(8) if 1 << k < number} | {number})
    return [",".join(f"cuda:{k}" for k in range(n)) for n in counts]


def times_of(wavefunction: ob.Wavefunction, field: str, points: int, lists: list[str]) -> None:
    lattice = cube_around(wavefunction, points)
    print(f"\n{field}, {points}^3 points")
    reference, alone = None, 0.0
    for devices in lists:
        end_processes()
        times = []
        values = None
        for _ in range(4):
            values = None  # its memory is given back
            begin = time.perf_counter()
            values = ob.compute(wavefunction, field, lattice, device=devices).values
            times.append(time.perf_counter() - begin)
        best = min(times[1:])
        if reference is None or values is None:
            reference, alone = values, best
        deviation = max(float(np.abs(a - b).max()) for a, b in zip(values, reference, strict=True))
        print(
            f"  {devices:32s} first {times[0]:7.2f} s, warm {best:7.3f} s, speed-up {alone / best:5.2f}, "
            f"largest deviation {deviation:g}",
            flush=True,
        )


def file_of(wavefunction: ob.Wavefunction, field: str, points: int, lists: list[str], suffix: str, folder: str) -> None:
    lattice = cube_around(wavefunction, points)
    print(f"\n{field}, {points}^3 points, {4 * points**3 / 1e9:.1f} GB, to {suffix} in {folder}")
    for devices in lists:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            path = Path(place) / f"a.{suffix}"
            begin, before = time.perf_counter(), os.times()
            ob.compute_to_file(wavefunction, field, lattice, path, device=devices)
            seconds, after = time.perf_counter() - begin, os.times()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            written = [file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file()]
            index = np.random.default_rng(0).integers(0, points, (500, 3))
            at = lattice.origin + index @ lattice.axes
            exact = ob.evaluate(wavefunction, field, at, device="cpu", precision="double")
            error = np.abs(values_at(path, index, lattice.shape) - exact).max()
        print(
            f"  {devices:32s} {seconds:7.1f} s, of processors {after.user - before.user:.0f} s and "
            f"{after.system - before.system:.0f} s in the system, {sum(written) / 1e9:.1f} GB in {len(written)} files, "
            f"largest error {error:.1e}, peak memory {peak:.2f} GB",
            flush=True,
        )


def values_at(path: Path, index: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """Values at some points of a file."""
    if path.suffix == ".mrc":
        return np.memmap(path, np.float32, "r", 1024, shape)[tuple(index.T)]
    stored = ob.open_volume(path)
    return np.array([stored.region((i, j, k), (i + 1, j + 1, k + 1)).values[0, 0, 0] for i, j, k in index.tolist()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--fields", default="homo,density,esp")
    parser.add_argument("--points", default="1000,500,200")
    parser.add_argument("--file", dest="edge", type=int, help="points along an edge of a lattice written to a file")
    parser.add_argument("--formats", default="mrc,zarr", help="suffixes of these files, one after the other")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where to write it")
    parser.add_argument("--devices", help="lists of devices with semicolons between")
    options = parser.parse_args()
    wavefunction = ob.load(options.file)
    lists = options.devices.split(";") if options.devices else device_lists()
    for number, gpu in enumerate(gpus()):
        print(f"cuda:{number}  {gpu}")
    fields = options.fields.split(",")
    for field, points in zip(fields, map(int, options.points.split(",")), strict=True):
        try:
            times_of(wavefunction, field, points, lists)
        except OrbitileError as error:
            print(f"  {error}")
    if options.edge:
        for suffix in options.formats.split(","):
            file_of(wavefunction, fields[0], options.edge, lists, suffix, options.folder)


if __name__ == "__main__":
    main()
