"""What the kernels of the direct sum share: they differ in their radial functions only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...base.caches import Derived
from ...base.errors import LatticeError, OrbitileError
from ...base.watch import watcher
from ...model.lattice import Lattice
from . import Points, PreparedOrbital, Slabs

if TYPE_CHECKING:
    from taichi_kernels.direct_sums.shells import Shells

_TOGETHER = 64
"""Points that stay together: a CPU takes some at once, and what one of them needs, all get."""

_MOST_LISTED = 1 << 31
"""Entries of the lists of atoms: kernels count in 32 bits."""


def shells_of(orbital: PreparedOrbital) -> Shells:
    """The packed shells as the kernels take them, made once for a wavefunction."""
    from taichi_kernels.direct_sums.shells import Shells

    packed = orbital.packed

    def make() -> Shells:
        return Shells(
            packed.atom_position,
            packed.atom_basis,
            packed.atom_first_coefficient,
            orbital.envelopes.first_shell,
            packed.basis_first_shell,
            packed.shell_angular_momentum,
            packed.shell_first_primitive,
            packed.exponent,
            packed.contraction,
        )

    return _SHELLS.of(packed, None, make)


_SHELLS: Derived[Shells] = Derived("packed functions")


@dataclass(frozen=True, eq=False)
class SlowSlabs:
    """An evaluator for slabs that asks for smaller ones than a fast kernel does, so that a user can cancel."""

    evaluate: Slabs
    slab_points: int = 1 << 18

    def __call__(self, start: int, stop: int, out: Any) -> None:
        """Write the values of a slab."""
        self.evaluate(start, stop, out)


def on_slabs(radial: str, orbital: PreparedOrbital, lattice: Lattice) -> Slabs:
    """Evaluator for slabs of any lattice, with a radial function."""
    from taichi_kernels.direct_sums.direct import direct_on_lattice
    from taichi_kernels.direct_sums.shells import Place, bricks_of

    target, shells = orbital.working, shells_of(orbital)

    def evaluate(start: int, stop: int, out: Any) -> None:
        place = Place(lattice.origin, lattice.axes, (stop - start, *lattice.shape[1:]), start)
        if bricks_of(place.shape) * (len(shells.atom_basis) + 1) >= _MOST_LISTED:
            raise LatticeError(
                f"the lists of {len(shells.atom_basis)} atoms for {bricks_of(place.shape)} bricks of the lattice are "
                "too long for one computation; use compute, which cuts the lattice into slabs, or a larger spacing"
            )
        direct_on_lattice(shells, orbital.coefficients, orbital.reach, radial, place, target, out, watcher())

    return SlowSlabs(evaluate) if target.on_host else evaluate


def lattices_only(kernel: str) -> Callable[[PreparedOrbital], Points]:
    """What a kernel has in place of an evaluator for points that it does not offer: it raises `OrbitileError`."""

    def at_points(orbital: PreparedOrbital) -> Points:
        raise OrbitileError(f"kernel {kernel}: it evaluates lattices only; for points use direct or auto")

    return at_points


def at_points(radial: str, orbital: PreparedOrbital) -> Points:
    """Evaluator for points, with a radial function."""
    from taichi_kernels.direct_sums.direct import direct_at_points
    from taichi_kernels.launching import pace_of

    target, shells = orbital.working, shells_of(orbital)

    def evaluate(points: NDArray[np.float64]) -> NDArray[np.floating]:
        values: NDArray[np.floating] = np.empty(len(points), target.dtype)

        def some(first: int, last: int) -> None:
            here = slice(first * _TOGETHER, last * _TOGETHER)
            values[here] = direct_at_points(shells, orbital.coefficients, orbital.reach, radial, points[here], target)

        work = np.full(-(-len(points) // _TOGETHER), float(_TOGETHER * len(shells.atom_basis)))
        pace_of(1 << 20, "direct sum at points", radial, target).run(work, some, watcher())
        return values

    return evaluate
