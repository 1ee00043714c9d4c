"""The direct sum with operands in shared memory, on GPUs: `taichi_kernels.direct_sums.shared_memory`."""

from __future__ import annotations

from typing import Any

from ...base.errors import DeviceError, OrbitileError
from ...model.lattice import Lattice
from . import PreparedOrbital, Slabs
from ._family import lattices_only, shells_of

SUMMARY = "direct sum with operands in shared memory; lattices on a GPU, angular momentum 8 at most"
EXACT = True


def on_slabs(orbital: PreparedOrbital, lattice: Lattice) -> Slabs:
    """Evaluator for slabs of any lattice.

    Raises
    ------
    DeviceError
        On a CPU, which has no shared memory.
    OrbitileError
        When a shell has an angular momentum beyond 8.
    """
    if orbital.working.on_host:
        raise DeviceError("kernel shared-memory: expected a GPU (cuda or vulkan), got cpu; use direct or auto")
    from taichi_kernels.direct_sums.shared_memory import HIGHEST, shared_memory_on_lattice
    from taichi_kernels.direct_sums.shells import Place

    highest = int(orbital.packed.shell_angular_momentum.max())
    if highest > HIGHEST:
        raise OrbitileError(
            f"kernel shared-memory: expected angular momenta up to {HIGHEST}, got {highest}; use direct or auto"
        )
    target, shells = orbital.working, shells_of(orbital)

    def evaluate(start: int, stop: int, out: Any) -> None:
        place = Place(lattice.origin, lattice.axes, (stop - start, *lattice.shape[1:]), start)
        shared_memory_on_lattice(shells, orbital.coefficients, orbital.reach, place, target, out)

    return evaluate


at_points = lattices_only("shared-memory")
