"""The screened product of one-dimensional tables, for orthogonal lattices: `taichi_kernels.orbital_lattice`."""

from __future__ import annotations

from ..errors import LatticeError, OrbitileError
from ..lattice import Lattice
from ..sampling import on_slabs as expansion_on_slabs
from . import Points, PreparedOrbital, Slabs

SUMMARY = "screened product of one-dimensional tables; orthogonal lattices only"
EXACT = True


def on_slabs(orbital: PreparedOrbital, lattice: Lattice, device: str) -> Slabs:
    """Evaluator for slabs of a lattice with orthogonal axes in any orientation.

    Raises
    ------
    LatticeError
        When the axes are not at right angles: a Gaussian does not separate then.
    """
    evaluate = expansion_on_slabs(orbital.expansion, lattice, orbital.tolerance, orbital.precision, device)
    if evaluate is None:
        raise LatticeError(
            "kernel separable: expected a lattice with axes at right angles, got a skewed one; use direct or auto"
        )
    return evaluate


def at_points(orbital: PreparedOrbital, device: str) -> Points:
    """Refused: points have no axes.

    Raises
    ------
    OrbitileError
        Always.
    """
    raise OrbitileError("kernel separable: it evaluates lattices only; for points use direct or auto")
