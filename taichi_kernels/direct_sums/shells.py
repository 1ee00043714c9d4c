"""What the direct sums are taken of and where: packed shells, and the place of a lattice."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._taichi import number, ti
from ..target import Target

LANES = {
    ("cpu", "single"): 16, ("cpu", "double"): 8, ("cuda", "single"): 4, ("cuda", "double"): 4, ("vulkan", "single"): 4,
    ("vulkan", "double"): 4,
}  # fmt: skip
"""Points of a task."""

BX, BY, BZ = BRICK = (8, 8, 16)

_FARTHEST_STEP = 1 << 30


@dataclass(frozen=True, eq=False)
class Shells:
    """The packed shells of a wavefunction.

    Attributes
    ----------
    atom_position : ndarray of float64, shape (n_atoms, 3)
        In bohr.
    atom_basis, atom_first_coefficient, atom_first_shell : ndarray of int32, shape (n_atoms,)
        Distinct basis of each atom, and its first entry among coefficients and among the shells of all atoms.
    basis_first_shell : ndarray of int32, shape (n_bases + 1,)
    shell_angular_momentum : ndarray of int32, shape (n_shells,)
    shell_first_primitive : ndarray of int32, shape (n_shells + 1,)
    exponent, contraction : ndarray of float64, shape (n_primitives,)
        In bohr^-2; normalised.
    """

    atom_position: np.ndarray
    atom_basis: np.ndarray
    atom_first_coefficient: np.ndarray
    atom_first_shell: np.ndarray
    basis_first_shell: np.ndarray
    shell_angular_momentum: np.ndarray
    shell_first_primitive: np.ndarray
    exponent: np.ndarray
    contraction: np.ndarray

    @cached_property
    def cache(self) -> dict[object, object]:
        """What was derived from it and is worth keeping as long as it lives."""
        return {}


@dataclass(frozen=True, eq=False)
class Place:
    """Where a slab of a lattice lies.

    Attributes
    ----------
    origin : ndarray of float64, shape (3,)
        First point of the whole lattice, in bohr.
    axes : ndarray of float64, shape (3, 3)
        Its steps, in bohr.
    shape : tuple of three int
        Points of the slab.
    start : int
        Index along the first axis at which the slab begins.
    """

    origin: np.ndarray
    axes: np.ndarray
    shape: tuple[int, int, int]
    start: int

    def of_atoms(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lattice point nearest to each atom, counted from the first of the slab, and the atom relative to it."""
        steps = np.rint((position - self.origin) @ np.linalg.inv(self.axes))
        steps = np.clip(steps, -_FARTHEST_STEP, _FARTHEST_STEP)
        return steps.astype(np.int32) - np.array([self.start, 0, 0], np.int32), (
            position - self.origin - steps @ self.axes
        )

    def steps(self, target: Target) -> dict[str, object]:
        """Its steps as vectors of the compiler, by what kernels call them."""
        axes = zip(("along_x", "along_y", "along_z"), self.axes, strict=True)
        return {name: ti.Vector(axis.tolist(), number(target.dtype)) for name, axis in axes}


def bricks_of(shape: tuple[int, int, int]) -> int:
    """Number of bricks of a slab. Times the number of atoms, and one, it has to stay below 2^31."""
    nx, ny, nz = (-(-n // b) for n, b in zip(shape, BRICK, strict=True))
    return nx * ny * nz
