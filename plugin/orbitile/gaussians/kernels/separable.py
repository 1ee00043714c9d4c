"""The screened product of tables, for lattices with an axis at right angles: `taichi_kernels.orbital_lattice`."""

from __future__ import annotations

from ...base.errors import LatticeError
from ...model.lattice import Lattice
from . import PreparedOrbital, Slabs
from ._family import lattices_only
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
    evaluate = expansion_on_slabs(orbital.expansion, lattice, orbital.tolerance, orbital.working)
    if evaluate is None:
        raise LatticeError(
            "kernel separable: expected a lattice with an axis at right angles to the other two, got a skewed one; "
            "use direct or auto"
        )
    return evaluate


at_points = lattices_only("separable")
