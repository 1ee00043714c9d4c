"""One field in process, on one GPU and on two, called in turn in one process: hosts differ from minute to minute.

    python benchmarks/gpus_in_turn.py c60b.molden density 500 25

File, field, points along an edge of a cube around the molecule, rounds. The workers of all cases stay alive together.
"""

import argparse
import statistics
import time

import numpy as np

import orbitile as ob
from orbitile.evaluation import several_devices
from several_gpus import cube_around

CASES = ("cuda", "cuda:0", "cuda:0,1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("field")
    parser.add_argument("points", type=int)
    parser.add_argument("rounds", type=int)
    options = parser.parse_args()
    wavefunction = ob.load(options.file)
    lattice = cube_around(wavefunction, options.points)
    pools = {case: list[object]() for case in CASES}
    times = {case: list[float]() for case in CASES}
    reference = ob.compute(wavefunction, options.field, lattice, device="cuda").values
    for n in range(options.rounds + 1):
        for case in CASES:
            several_devices._pools[:] = pools[case]  # it keeps the processes of one list of devices only
            begin = time.perf_counter()
            values = ob.compute(wavefunction, options.field, lattice, device=case).values
            seconds = time.perf_counter() - begin
            pools[case] = several_devices._pools[:]
            if n:
                times[case].append(seconds)
            else:  # the first call starts the processes
                assert all(np.array_equal(a, b) for a, b in zip(values, reference, strict=True))
            del values
    print(f"{options.field}, {options.points}^3 points, {options.rounds} calls each, in turn; same bits")
    for case, taken in times.items():
        print(f"  {case:9s} least {min(taken):.4f}, median {statistics.median(taken):.4f} s")
    for pool in pools.values():
        several_devices._pools[:] = pool
        several_devices.end_processes()


if __name__ == "__main__":
    main()
