"""The screened product of tables, for lattices with an axis at right angles: `taichi_kernels.orbital_lattice`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.layout import Layout, PackedSums

from ...base.caches import Derived
from ...base.errors import LatticeError
from ...base.watch import checkpoint, watcher
from ...model.lattice import Lattice
from . import PreparedOrbital, Slabs
from ._family import lattices_only
from ._sums import MANY, shares_derivatives
from ._sums import on_slabs as expansion_on_slabs

SUMMARY = "screened product of one-dimensional tables; lattices with an axis at right angles to the others"
EXACT = True


def on_slabs(orbital: PreparedOrbital, lattice: Lattice) -> Slabs:
    """Evaluator for slabs of a lattice with an axis at right angles to the other two.

    Raises
    ------
    LatticeError
        When there is no such axis: a Gaussian does not separate then.
    """
    if len(orbital.primitives.exponent) <= MANY and shares_derivatives(lattice):
        return _aligned(orbital, lattice)
    evaluate = expansion_on_slabs(orbital.expansion, lattice, orbital.tolerance, orbital.working)
    if evaluate is None:
        raise LatticeError(
            "kernel separable: expected a lattice with an axis at right angles to the other two, got a skewed one; "
            "use direct or auto"
        )
    return evaluate


at_points = lattices_only("separable")


@dataclass(frozen=True, eq=False)
class _Placed:
    """The Gaussians of all orbitals on one lattice, as `taichi_kernels` takes them; the device has them already."""

    plan: Layout
    primitives: NDArray[np.floating]
    spacing: tuple[float, float, float]


_PLACED: Derived[_Placed] = Derived("packed functions", most=4)


def _aligned(orbital: PreparedOrbital, lattice: Lattice) -> Slabs:
    """Evaluator for slabs of a lattice along x, y and z: orbitals that follow one another share all but their terms."""
    from taichi_kernels.layout import layout
    from taichi_kernels.orbital_lattice import evaluate as evaluate_packed
    from taichi_kernels.orbital_lattice import placed

    gaussians, working = orbital.primitives, orbital.working

    def place(start: int = 0) -> NDArray[np.floating]:
        primitives = placed(gaussians.centre - lattice.origin, gaussians.exponent, spacing, working.dtype, start)
        primitives.setflags(write=False)  # sent to a device once
        return primitives

    spacing = tuple(lattice.spacings.tolist())
    key = lattice.origin.tobytes(), lattice.axes.tobytes(), working.precision
    whole = _PLACED.of(gaussians, key, lambda: _Placed(layout(gaussians.degree), place(), spacing))

    def evaluate(start: int, stop: int, out: Any) -> None:
        checkpoint()
        primitives = place(start) if start else whole.primitives
        shape = stop - start, *lattice.shape[1:]
        packed = PackedSums(whole.plan, primitives, orbital.terms, whole.spacing, shape)
        evaluate_packed(packed, start, orbital.tolerance, working, out, checkpoint=watcher())

    return evaluate
