"""The product of tables without screening by bricks, in NumPy: `orbitile.gaussians.matrix_product`.

No compiler is started for it and no kernel loaded, which takes longer than a small sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ...base.errors import DeviceError, LatticeError
from ...base.memory import share
from ...model.lattice import Lattice
from ..expansion import GaussianExpansion
from ..matrix_product import at_points as values_at_points
from ..matrix_product import n_rows
from ..matrix_product import on_slabs as matrices_on_slabs
from . import Points, PreparedOrbital, Slabs
from ._sums import in_frame

SUMMARY = "product of one-dimensional tables as matrices, by NumPy; orthogonal lattices and points, on a CPU"
EXACT = True

NAME = "matrix-product"
"""Of this kernel."""

_MOST = {"single": 300_000_000, "double": 150_000_000}
"""Multiplications with addition of a sum that is small, by precision: 20 ms of one core, two to three times what the
kernel takes once it is loaded, for which it needs a second."""

_TIMES_ONCE = 12
"""How many times as large a sum is small where the process makes one result and ends: a hundred milliseconds, when the
second that a kernel takes to load would be for this result alone."""

_factor = 1
"""By which sums may be larger now."""


@contextmanager
def for_one_result() -> Iterator[None]:
    """While a command computes in this process what it is called for, larger sums than otherwise need no kernel."""
    global _factor
    before, _factor = _factor, _TIMES_ONCE
    try:
        yield
    finally:
        _factor = before


_LONGEST = share("matrix", 8)
"""Numbers of the tables along an axis, at most: on a line of points they would be as many as rows times points."""

_MOST_AT_POINTS = 1_000_000
"""Terms of all Gaussians at all points together of a sum at points that is small: as long."""


def is_quick(degree: NDArray[np.integer], shape: tuple[int, int, int], working: Target, n_sums: int = 1) -> bool:
    """Whether sums of Gaussians on a lattice are so small that no kernel needs to be loaded for them.

    Parameters
    ----------
    degree
        Of the polynomials of the Gaussians.
    shape
        Points of the whole lattice, from which alone it follows: parts of it have the same values.
    working
        The device, and the precision of the sums.
    n_sums
        How many sums of these Gaussians.
    """
    rows = n_rows(degree)
    few = rows * int(np.prod(shape, dtype=np.int64)) * n_sums <= _factor * _MOST[working.precision]
    return working.on_host and few and rows * max(shape) <= _LONGEST


def are_many(first_term: NDArray[np.integer], n_points: int) -> bool:
    """Whether points are so many that a kernel should deal with Gaussians that have these ranges of terms."""
    return int(first_term[-1]) * n_points > _MOST_AT_POINTS


def sums_on_slabs(
    expansion: GaussianExpansion, lattice: Lattice, tolerance: float | NDArray[np.float64], working: Target
) -> Slabs:
    """Evaluator for slabs of an orthogonal lattice; parameters as for `_sums.on_slabs`."""
    local, spacings = in_frame(expansion, lattice)
    evaluate = matrices_on_slabs(local, spacings, lattice.shape, tolerance, working.dtype)

    def filled(start: int, stop: int, out: Any) -> None:
        if isinstance(out, np.ndarray):
            evaluate(start, stop, out)
            return
        values = np.empty(out.shape, out.dtype)  # an array of the compiler
        evaluate(start, stop, values)
        out.from_numpy(values)

    return filled


def on_slabs(orbital: PreparedOrbital, lattice: Lattice) -> Slabs:
    """Evaluator for slabs of an orthogonal lattice.

    Raises
    ------
    DeviceError
        On a GPU, of which NumPy knows nothing.
    LatticeError
        When the lattice has no orthogonal axes.
    """
    _require_host(orbital.working)
    if not lattice.is_orthogonal:
        raise LatticeError(
            f"kernel {NAME}: expected a lattice with orthogonal axes; use separable, direct or auto for others"
        )
    return sums_on_slabs(orbital.expansion, lattice, orbital.tolerance, orbital.working)


def at_points(orbital: PreparedOrbital) -> Points:
    """Evaluator for points, in double precision.

    Raises
    ------
    DeviceError
        On a GPU, of which NumPy knows nothing.
    """
    _require_host(orbital.working)
    return lambda points: values_at_points(orbital.expansion, points)


def _require_host(target: Target) -> None:
    if not target.on_host:
        raise DeviceError(f"kernel {NAME}: expected the device cpu, got {target.device}; use auto there")
