"""The direct sum with a kernel generated for one molecule: `taichi_kernels.direct_sums.molecule_specific`.

The direct kernel serves until the other one is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.errors import OrbitileError
from ...model.lattice import Lattice
from ...workers import Job, Worker, Workers
from . import PreparedOrbital, Slabs, direct
from ._family import SlowSlabs, lattices_only, shells_of

SUMMARY = "direct sum with a kernel generated for the molecule, compiled in the background; lattices only"
EXACT = True

_compilers = Workers([Worker("the compiler", nice=10, idle=5.0, patience=0)])
"""One process, which does not hold up the end of this one."""


def _compile_elsewhere(compile_source: Callable[..., None], *arguments: object) -> Job[None]:
    return _compilers.submit(compile_source, *arguments)


def on_slabs(orbital: PreparedOrbital, lattice: Lattice) -> Slabs:
    """Evaluator for slabs of any lattice.

    Raises
    ------
    OrbitileError
        When the basis sets of the molecule are too large to be written out, or there is no folder to write them to.
    """
    from taichi_kernels.direct_sums.molecule_specific import (
        LARGEST,
        cache_folder,
        kernel_when_ready,
        molecule_on_lattice,
        size_of,
    )
    from taichi_kernels.direct_sums.shells import Place

    target, shells = orbital.working, shells_of(orbital)
    size = size_of(shells)
    if size > LARGEST:
        raise OrbitileError(
            f"kernel molecule-specific: expected distinct basis sets of {LARGEST} exponents, primitives and "
            f"coefficients at most, got {size}, which would take minutes to compile; use direct or auto"
        )
    try:
        kernel = kernel_when_ready(shells, target, orbital.target.precision, _compile_elsewhere)
    except OSError as error:
        raise OrbitileError(
            f"kernel molecule-specific: it keeps its source in {cache_folder()}, which failed ({error}); set "
            "XDG_CACHE_HOME to a writable folder, or use direct or auto"
        ) from error
    if kernel is None:
        return direct.on_slabs(orbital, lattice)

    def evaluate(start: int, stop: int, out: Any) -> None:
        place = Place(lattice.origin, lattice.axes, (stop - start, *lattice.shape[1:]), start)
        molecule_on_lattice(kernel, shells, orbital.coefficients, orbital.reach, place, target, out)

    return SlowSlabs(evaluate) if target.on_host else evaluate


at_points = lattices_only("molecule-specific")
