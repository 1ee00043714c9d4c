"""Series in HDF5 and in Zarr beside each other: python benchmarks/series_stores.py FOLDER

FOLDER holds thrb.molden and c60b.molden, as `orbitile bench` makes them. Of each a series of frames is made as in
benchmarks/trajectories.py, and of water in 6-31G**, which PySCF computes. Times are the medians of processor time in
milliseconds; bytes are those of the files against those of the numbers. With --compressors the coefficients of a frame
are compressed in several ways, on one thread: bytes that are left, and megabytes a second there and back.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from trajectories import frames

SUFFIXES = (".h5", ".series.zarr")


def size_of(path: Path) -> tuple[int, int]:
    """Bytes and number of the files of a series."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files), len(files)


def numbers_in(wavefunction) -> int:
    """Bytes of the numbers of a frame."""
    orbitals = wavefunction.alpha
    return 8 * (orbitals.coefficients.size + 2 * len(orbitals) + wavefunction.positions.size + 2)


def measure(name: str, given: Iterable, folder: Path) -> None:
    """Print a row of the table for each kind of file."""
    import orbitile as ob
    from orbitile.readers.series import SeriesFrames

    given = list(given)
    numbers = sum(map(numbers_in, given))
    for suffix in SUFFIXES:
        path = folder / f"{name}{suffix}"
        appended = []
        with ob.SeriesWriter(path) as writer:
            for frame in given:
                start = time.process_time()
                writer.append(frame)
                appended.append(time.process_time() - start)
        source, read = SeriesFrames(path), []
        for index in np.random.default_rng(1).permutation(len(given))[:50]:
            start = time.process_time()
            source.read(int(index), check=False)
            read.append(time.process_time() - start)
        n_bytes, n_files = size_of(path)
        print(
            f"| {name}, {len(given)} frames of {numbers / len(given) / 1e3:.4g} kB | {suffix} "
            f"| {1e3 * np.median(appended):.1f} | {1e3 * np.median(read):.1f} "
            f"| {100 * (n_bytes / numbers - 1):+.0f} % | {n_files} |",
            flush=True,
        )


def compressors(name: str, given: Iterable) -> None:
    """Print how the coefficients of a frame are compressed, and how fast, by what Zarr has."""
    from numcodecs import blosc

    blosc.set_nthreads(1)
    data = np.ascontiguousarray(next(iter(given)).alpha.coefficients)
    for codec in ("lz4", "zstd"):
        for level in (1, 3, 5, 9):
            for shuffle, text in ((blosc.SHUFFLE, "bytes"), (blosc.BITSHUFFLE, "bits")):
                there, back = [], []
                for _ in range(5):
                    start = time.perf_counter()
                    packed = blosc.compress(data, codec.encode(), level, shuffle)
                    there.append(time.perf_counter() - start)
                    start = time.perf_counter()
                    blosc.decompress(packed)
                    back.append(time.perf_counter() - start)
                print(
                    f"| {name} | {codec} {level}, {text} | {100 * len(packed) / data.nbytes:.1f} % "
                    f"| {data.nbytes / min(there) / 1e6:.0f} | {data.nbytes / min(back) / 1e6:.0f} |",
                    flush=True,
                )


def water(folder: Path) -> Path:
    """A Molden file of water in 6-31G**."""
    from pyscf import gto, scf
    from pyscf.tools import molden

    field = scf.RHF(gto.M(atom="O 0 0 0; H 0 0.76 0.59; H 0 -0.76 0.59", basis="6-31g**", verbose=0)).run()
    molden.from_scf(field, str(folder / "water.molden"))
    return folder / "water.molden"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--compressors", action="store_true")
    options = parser.parse_args()
    print("load of the machine: {:.1f} {:.1f} {:.1f}".format(*os.getloadavg()))
    if options.compressors:
        for name in ("thrb", "c60b"):
            compressors(name, frames(options.folder / f"{name}.molden", 1))
        return
    with tempfile.TemporaryDirectory() as folder:
        small = water(Path(folder))
        for path, n in ((small, 2000), (options.folder / "thrb.molden", 100), (options.folder / "c60b.molden", 20)):
            measure(path.stem, frames(path, n), Path(folder))


if __name__ == "__main__":
    main()
