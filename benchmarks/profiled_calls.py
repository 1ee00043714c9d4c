"""One call of each field, for a profiler that counts what a GPU does meanwhile.

    ncu --profile-from-start off --clock-control none --csv --metrics METRICS \\
        python benchmarks/profiled_calls.py FILE FIELDS [single|double]

Spacing 0.075 Angstrom, margin 3; values stay on the GPU. Each field was computed twice before, so that kernels are
loaded and lists have their lengths.
"""

import sys

import orbitile as ob
from orbitile.model.units import angstrom
from taichi_kernels.devices import cuda_driver


def main() -> None:
    file, fields, precision = (*sys.argv[1:], "single")[:3]
    wavefunction = ob.load(file)
    lattice = ob.Lattice.around(wavefunction, 0.075 * angstrom, 3.0 * angstrom)

    def call_all() -> None:
        for field in fields.split(","):
            ob.compute_on_device(wavefunction, field, lattice, device="cuda", precision=precision)

    call_all(), call_all()
    driver = cuda_driver()
    assert driver is not None  # kernels have run on it
    driver.cuProfilerStart()
    call_all()
    driver.cuProfilerStop()


if __name__ == "__main__":
    main()
