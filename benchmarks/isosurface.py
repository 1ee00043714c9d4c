"""Isosurfaces of an orbital: scikit-image beside the kernel that leaves the volume on the device.

    python benchmarks/isosurface.py [--device cpu,cuda,vulkan] [--isovalues 0.03,0.003] FILE

The HOMO is sampled on the lattice of `orbitile bench` where the file has one of the names there, else on one
that holds the surface, at 0.075 Angstrom. Times are the least of alternating runs, from the volume to both phases of
the mesh in NumPy arrays; for a GPU the volume is there already. "field and mesh" is `compute_surface`, from the
wavefunction. The meshes are compared: distances of nearest vertices, and triangles with the same corners.
"""

import argparse
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree
from skimage.measure import marching_cubes

import orbitile as ob
from orbitile.model.units import angstrom
from orbitile.surfaces.isosurface import isosurface_in_session
from orbitile_benchmarks.systems import STONE
from taichi_kernels.devices import probe
from taichi_kernels.session import session
from taichi_kernels.target import Target

ROUNDS = 10


def whole_lattice(volume: ob.Volume, isovalue: float) -> int:
    """Both phases by scikit-image, each from all cells; the number of triangles."""
    return sum(
        len(marching_cubes(phase * volume.values, isovalue)[1])
        for phase in (1, -1)
        if (phase * volume.values).max() > isovalue
    )


def agreement(found: ob.Surface, expected: ob.Surface) -> str:
    """How far vertices are from each other, and which share of the triangles is the same."""
    distance, same = cKDTree(expected.vertices).query(found.vertices)
    sets = []
    for faces in (same[found.faces], expected.faces):
        first = faces.argmin(axis=1)[:, None]
        sets.append(set(map(tuple, np.take_along_axis(faces, (first + np.arange(3)) % 3, axis=1).tolist())))
    shared = len(sets[0] & sets[1])
    return f"vertices within {distance.max():.1e} bohr, {shared} of {len(sets[1])} triangles the same"


def least(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Least seconds of each call, in turns, after one that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - begin)
    return {name: min(seconds) for name, seconds in times.items()}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--device", default="cpu", help="devices, with commas between (default: cpu)")
    parser.add_argument("--isovalues", default="0.03,0.003", help="(default: 0.03,0.003)")
    options = parser.parse_args()
    wavefunction = ob.load(options.file)
    isovalues = [float(text) for text in options.isovalues.split(",")]
    system = next((system for system in STONE if system.file == options.file.name), None)
    if system is not None:
        lattice = system.lattice(wavefunction)
    else:
        lattice = ob.enclosing_lattice(wavefunction, "homo", min(isovalues), spacing=0.075 * angstrom)
    devices = options.device.split(",")
    print(f"{date.today()}, {options.file.name}, {' x '.join(map(str, lattice.shape))} points")
    print(", ".join(probe(device).detail for device in dict.fromkeys([*devices, "cpu"])))
    volume = ob.compute(wavefunction, "homo", lattice, device=devices[0])
    by_scikit_image = {isovalue: ob.isosurface(volume, isovalue) for isovalue in isovalues}
    for isovalue, surface in by_scikit_image.items():
        times = least(
            {
                f"scikit-image, whole lattice ({whole_lattice(volume, isovalue)} triangles)": lambda v=isovalue: (
                    whole_lattice(volume, v)
                ),
                "scikit-image, crossed cells": lambda v=isovalue: ob.isosurface(volume, v),
            }
        )
        print(f"\nisovalue {isovalue}: {len(surface.faces)} triangles, {len(surface.vertices)} vertices")
        for name, seconds in times.items():
            print(f"  {name:<56}{seconds * 1e3:9.2f} ms")
    for device in devices:  # one after the other: Taichi holds one at a time
        with session(device):
            target = Target(device, "single")
            values = target.empty(lattice.shape)
            if target.on_host:
                values[...] = volume.values
            else:
                values.from_numpy(volume.values)
            for isovalue, expected in by_scikit_image.items():

                def mesh(values: object = values, isovalue: float = isovalue) -> ob.Surface:
                    return isosurface_in_session(values, lattice, isovalue, "HOMO", "", target)  # noqa: B023 - called here

                calls = {
                    "volume on the device to mesh": mesh,
                    "field and mesh": lambda v=isovalue: ob.compute_surface(
                        wavefunction, "homo", v, lattice, device=device  # noqa: B023 - called here
                    ),
                }  # fmt: skip
                begin = time.perf_counter()
                found = mesh()
                first = time.perf_counter() - begin
                print(f"\n{device}, isovalue {isovalue}: {len(found.faces)} triangles, first call {first:.2f} s")
                for name, seconds in least(calls).items():
                    print(f"  {name:<56}{seconds * 1e3:9.2f} ms")
                print(f"  {agreement(found, expected)}")


if __name__ == "__main__":
    main()
