"""Fields of periodic systems anywhere in space: what lies outside the cell is moved into it.

What is made of Gaussians stands for a periodic field within its cell (`orbitile.gaussians.periodic`), which is where
lattices lie as a rule: then all kernels for lattices serve. The points of others are moved, one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from taichi_kernels.target import Target

from ..fields import Field, PointEvaluator, SlabEvaluator
from ..model.cell import cell_of
from ..model.lattice import Lattice
from ..model.wavefunction import Wavefunction


def lies_within(wavefunction: Wavefunction, lattice: Lattice) -> bool:
    """Whether a lattice lies where the Gaussians of a wavefunction stand for it: anywhere, for a molecule."""
    cell = cell_of(wavefunction)
    if cell is None:
        return True
    ends = [np.array(corner) * (np.array(lattice.shape) - 1) for corner in product((0, 1), repeat=3)]
    return cell.holds(lattice.origin + np.array(ends) @ lattice.axes)


def launches(wavefunction: Wavefunction, fields: Sequence[Field], lattice: Lattice, precision: str) -> bool:
    """Whether kernels are launched for fields on a lattice, computed together, where the device is the CPU."""
    target = Target("cpu", precision)
    return not lies_within(wavefunction, lattice) or any(f.launches(lattice, target, len(fields)) for f in fields)


def on_slabs(wavefunction: Wavefunction, field: Field, lattice: Lattice, target: Target) -> SlabEvaluator | None:
    """Evaluator for slabs of a lattice, or None where only points will do; within a session of the device."""
    return field.on_slabs(lattice, target) if lies_within(wavefunction, lattice) else None


def at_points(wavefunction: Wavefunction, field: Field, target: Target) -> PointEvaluator:
    """Evaluator for points anywhere; within a session of the device."""
    evaluate, cell = field.at_points(target), cell_of(wavefunction)
    if cell is None:
        return evaluate
    return lambda points: evaluate(cell.wrapped(points))
