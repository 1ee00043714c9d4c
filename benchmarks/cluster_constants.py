"""Constants for plans of clusters: what stores, files, wavefunctions, workers and the way home cost on this machine.

    python benchmarks/cluster_constants.py c60b.molden [--folder F]
                                           [--parts codecs,strips,files,wavefunction,worker,network]

`codecs`: bytes left and throughput of one core, to and from a Zarr array in memory, for the HOMO on a cube of 320^3
points (131 MB), at the spacing of a picture and forty times finer; of our own writer of shards, of whole stores with
their pyramid, to files, and of the means that a pyramid is made of. `strips`: what is computed at once of lattices of
203^3, 512^3 and 10,000^3 points around the molecule. `files`: small files a second, plain, put in place whole, and as
chunks of Zarr. `wavefunction`: bytes, seconds to pickle and to read, and to send to 1, 2 and 4 worker processes through
Dask's scheduler. `worker`: what a real worker spends on a task that does nothing. `network`: arrays of 32 MB from a
worker to the client, through the scheduler and directly. Times are least of three; those of codecs and strips are
processor time, of codecs in one thread.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np

import orbitile as ob
from orbitile.exporters.zarr import write as write_store
from orbitile.exporters.zarr import write_shard
from orbitile.model.lattice import averaged

EDGE = 320
"""Points along the cube of which codecs are measured."""

FILES = 5000


def least(function: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of the fastest of three calls."""
    times = []
    for _ in range(3):
        begin = clock()
        function()
        times.append(clock() - begin)
    return min(times)


def nothing(*_: object) -> None:
    """A task."""


def array(n_bytes: int) -> np.ndarray:
    """A result of so many bytes."""
    return np.ones(n_bytes, np.uint8)


def codecs(wavefunction: ob.Wavefunction, folder: Path) -> None:
    import numcodecs.blosc
    import zarr
    from zarr.codecs import BloscCodec, Crc32cCodec, ZstdCodec
    from zarr.storage import MemoryStore

    os.environ["ORBITILE_THREADS"] = "1"  # of our writer
    numcodecs.blosc.set_nthreads(1)
    zarr.config.set({"threading.max_workers": 1, "async.concurrency": 1})
    low, high = wavefunction.positions.min(axis=0), wavefunction.positions.max(axis=0)
    edge = float((high - low).max()) + 6.0
    choices = {
        "none": (),
        "zstd 1": (ZstdCodec(level=1),),
        "lz4 5, shuffle": (BloscCodec(cname="lz4", clevel=5, shuffle="shuffle"),),
        "lz4 5, bitshuffle": (BloscCodec(cname="lz4", clevel=5, shuffle="bitshuffle"),),
        "zstd 1, shuffle": (BloscCodec(cname="zstd", clevel=1, shuffle="shuffle"),),
        "zstd 1, bitshuffle": (BloscCodec(cname="zstd", clevel=1, shuffle="bitshuffle"),),
        "zstd 5, shuffle": (BloscCodec(cname="zstd", clevel=5, shuffle="shuffle"),),
    }
    for name, step, first in (
        ("the whole box", edge / (EDGE - 1), (low + high - edge) / 2),
        ("a part, forty times finer", edge / (EDGE - 1) / 40, (low + high) / 2 + [6.0, 0.0, 0.0]),
    ):
        lattice = ob.Lattice(first, np.eye(3) * step, (EDGE,) * 3)
        volume = ob.compute(wavefunction, "homo", lattice, device="cpu")
        values = volume.values
        print(f"\n{name}: spacing {step:.4f} bohr, {values.nbytes / 1e6:.0f} MB, {np.mean(values == 0):.1%} zeros")
        print("| codec | bytes left | write MB/s a core | read MB/s a core |\n|---|---|---|---|")
        for label, compressors in choices.items():
            store = MemoryStore()

            def write(
                values: np.ndarray = values, store: MemoryStore = store, compressors: tuple[object, ...] = compressors
            ) -> None:
                target = zarr.create_array(
                    store,
                    shape=values.shape,
                    chunks=(64, 64, 64),
                    shards=(64, EDGE, EDGE),
                    dtype=values.dtype,
                    compressors=(*compressors, Crc32cCodec()),
                    overwrite=True,
                )
                target[...] = values

            writing = least(write, process_time)
            stored = zarr.open_array(store, mode="r")
            reading = least(lambda stored=stored: stored[...], process_time)
            share, size = stored.nbytes_stored() / values.nbytes, values.nbytes / 1e6
            print(f"| {label} | {share:.1%} | {size / writing:.0f} | {size / reading:.0f} |", flush=True)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            shard, whole = Path(place) / "shard", Path(place) / "store"
            writing = least(partial(write_shard, shard, values, (64, 64, 64), values.shape), process_time)
            share = shard.stat().st_size / values.nbytes
            print(f"| our shards | {share:.1%} | {size / writing:.0f} | |", flush=True)
            writing = least(partial(store_of, volume, whole), process_time)
            print(f"| our stores | | {size / writing:.0f} | |", flush=True)
            writing = least(partial(averaged, values), process_time)
            print(f"| means of 2 x 2 x 2 points | | {size / writing:.0f} | |", flush=True)


def store_of(volume: ob.Volume, path: Path) -> None:
    """Write a store anew."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    write_store(volume, path)


def strips(wavefunction: ob.Wavefunction, folder: Path) -> None:
    del folder
    low, high = wavefunction.positions.min(axis=0), wavefunction.positions.max(axis=0)
    edge = float((high - low).max()) + 6.0
    corner = (low + high - edge) / 2
    print("\n| field | part | of | million points a second of processor | peak of memory, GB |\n|---|---|---|---|---|")
    for field in ("homo", "density"):
        for shape, points in (((203,) * 3, 203), ((32, 512, 512), 512), ((8, 104, 10000), 10000)):
            first = corner + edge * np.array([0.3 if n < points else 0.0 for n in shape])
            lattice = ob.Lattice(first, np.eye(3) * edge / (points - 1), shape)
            seconds = least(partial(ob.compute, wavefunction, field, lattice, device="cpu"), process_time)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            rate = lattice.n_points / seconds / 1e6
            print(f"| {field} | {shape} | {points}^3 | {rate:.1f} | {peak:.2f} |", flush=True)


def files(wavefunction: ob.Wavefunction, folder: Path) -> None:
    import zarr

    del wavefunction
    data = b"x" * 4096

    def plain() -> None:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            for n in range(FILES):
                (Path(place) / str(n)).write_bytes(data)

    def whole() -> None:
        from orbitile.files.writing import written_atomically

        with tempfile.TemporaryDirectory(dir=folder) as place:
            for n in range(FILES):
                with written_atomically(Path(place) / str(n)) as temporary:
                    temporary.write_bytes(data)

    def chunks() -> None:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            target = zarr.create_array(
                Path(place) / "a.zarr", shape=(FILES, 1024), chunks=(1, 1024), dtype="f4", compressors=None
            )
            target[...] = np.ones((FILES, 1024), np.float32)

    print("\n| files of 4 kB, made and removed | a second, by the clock | by the processor |\n|---|---|---|")
    for name, function in (("plain", plain), ("written whole or not at all", whole), ("chunks of Zarr", chunks)):
        rates = [FILES / least(function, clock) for clock in (time.perf_counter, process_time)]
        print(f"| {name} | {rates[0]:,.0f} | {rates[1]:,.0f} |", flush=True)


def wavefunction(wavefunction: ob.Wavefunction, folder: Path) -> None:
    from distributed import Client, LocalCluster

    del folder
    data = pickle.dumps(wavefunction, protocol=5)
    packing = least(lambda: pickle.dumps(wavefunction, protocol=5))
    reading = least(lambda: pickle.loads(data))
    print(
        f"\nwavefunction: {len(data) / 1e6:.2f} MB, pickled in {packing * 1e3:.1f} ms, read in {reading * 1e3:.1f} ms"
    )
    print("| worker processes | 2 MB to all of them, ms | 128 MB to all of them, ms |\n|---|---|---|")
    for n in (1, 2, 4):
        with (
            LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            client.submit(nothing).result()
            times = [
                least(lambda size=size: client.scatter(os.urandom(size), broadcast=True, hash=False))
                for size in (2_000_000, 128_000_000)
            ]
        print(f"| {n} | {times[0] * 1e3:.0f} | {times[1] * 1e3:.0f} |", flush=True)


def worker(wavefunction: ob.Wavefunction, folder: Path) -> None:
    import psutil
    from distributed import Client, LocalCluster, wait

    del wavefunction, folder
    number = 5000
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        process = psutil.Process(client.submit(os.getpid).result())
        client.submit(nothing).result()
        idle = sum(process.cpu_times()[:2])
        time.sleep(5)
        before = sum(process.cpu_times()[:2])
        begin = time.perf_counter()
        wait(client.map(nothing, range(number), pure=False))
        seconds = time.perf_counter() - begin
        spent = sum(process.cpu_times()[:2]) - before
        single = least(lambda: client.submit(nothing, pure=False).result())
    spent, seconds = spent / number * 1e6, seconds / number * 1e6
    print(f"\na worker: {spent:.0f} us of processor time a task, {seconds:.0f} us by the clock")
    print(f"idle {(before - idle) / 5:.1%} of a core; one task there and back alone {single * 1e3:.1f} ms")


def network(wavefunction: ob.Wavefunction, folder: Path) -> None:
    from distributed import Client, LocalCluster

    del wavefunction, folder
    size, number = 32_000_000, 10
    print("\n| from a worker to the client | MB/s |\n|---|---|")
    for direct in (False, True):
        with (
            LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster, direct_to_workers=direct) as client,
        ):

            def home(client: Client = client) -> None:
                for future in client.map(array, [size] * number, pure=False):
                    future.result()

            print(f"| {'directly' if direct else 'through the scheduler'} | {size * number / least(home) / 1e6:.0f} |")


def main() -> None:
    parts = {part.__name__: part for part in (codecs, strips, files, wavefunction, worker, network)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--parts", default=",".join(parts))
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    subject = ob.load(options.file)
    for name in options.parts.split(","):
        parts[name](subject, options.folder)


if __name__ == "__main__":
    main()
