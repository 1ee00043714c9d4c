"""Orbitals at arbitrary points: the direct sum over atoms, shells and primitives.

    psi(r) = sum_atoms sum_shells [ sum_m c'_m x^i y^j z^k ] [ sum_p c'_p exp(-zeta_p R^2) ]

(Stone et al., GPGPU 2009, algorithm 1, doi 10.1145/1513895.1513897), over flat arrays in which the basis stands once
per distinct set of shells. Shells are left out beyond a distance of their atom that the caller chooses.

Coordinates are given as a whole number of cells and a remainder. Differences of positions are then exact to the
rounding of the difference itself, in single precision too, wherever in space the molecule lies.
"""

from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import taichi as ti

from . import runtime
from .gaussian import DTYPES, exponential

CELL = 0.0625
"""Edge of a cell in bohr; a power of two, so that multiples of it are exact."""


def split_position(position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions (bohr, float64) as whole cells (int32) and remainders (float64)."""
    cell = np.floor(position / CELL)
    return cell.astype(np.int32), position - cell * CELL


def orbital_at_points(
    points: np.ndarray,
    atom_position: np.ndarray,
    atom_basis: np.ndarray,
    atom_first_coefficient: np.ndarray,
    atom_first_shell: np.ndarray,
    basis_first_shell: np.ndarray,
    shell_angular_momentum: np.ndarray,
    shell_first_primitive: np.ndarray,
    exponent: np.ndarray,
    contraction: np.ndarray,
    coefficient: np.ndarray,
    shell_reach: np.ndarray,
    precision: str,
    device: str,
) -> np.ndarray:
    """Evaluate an orbital at points.

    Parameters
    ----------
    points : ndarray of float64, shape (n_points, 3)
        In bohr. Device memory is about 30 bytes a point: the caller hands over tiles.
    atom_position, ..., contraction
        The packed shells: float64 and int32 arrays.
    atom_first_shell : ndarray of int32, shape (n_atoms,)
        First entry of each atom in `shell_reach`.
    coefficient : ndarray of float64
        Packed Cartesian coefficients of the orbital.
    shell_reach : ndarray of float64, shape (shells of all atoms,)
        Distance from its atom in bohr beyond which a shell is left out; of each shell of each atom.
    precision, device
        Of the sums; and the device of the current session.

    Returns
    -------
    ndarray of float32 or float64, shape (n_points,)
    """
    real = np.float32 if precision == "single" else np.float64
    out = np.empty(len(points), real)
    if len(points) == 0:
        return out
    square = shell_reach**2
    largest = np.maximum.reduceat(square, atom_first_shell)
    cell, remainder = split_position(points)
    atom_cell, atom_remainder = split_position(atom_position)
    runtime.launch(
        _kernel(precision, device).evaluate,
        len(points),
        len(atom_position),
        *(np.ascontiguousarray(a, np.int32) for a in (cell, atom_cell)),
        *(np.ascontiguousarray(a, real) for a in (remainder, atom_remainder)),
        atom_basis,
        atom_first_coefficient,
        atom_first_shell,
        basis_first_shell,
        shell_angular_momentum,
        shell_first_primitive,
        *(np.ascontiguousarray(a, real) for a in (exponent, contraction, coefficient, square, largest)),
        out,
    )
    return out


@lru_cache
def _kernel(precision: str, device: str) -> SimpleNamespace:
    real = DTYPES[precision]
    exp = exponential(precision, device)
    I1, R1 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(real, 1)
    Cells = ti.types.ndarray(ti.types.vector(3, ti.i32), 1)
    Remainders = ti.types.ndarray(ti.types.vector(3, real), 1)

    @ti.func
    def polynomial(l: ti.i32, first: ti.i32, coefficient: ti.template(), x: real, y: real, z: real):
        """Homogeneous polynomial, coefficients in alphabetical order, by Horner's rule in x and, within, in y."""
        value = ti.cast(0.0, real)
        at = first
        for step in range(l + 1):  # the power of x is l - step, that of y and z together is step
            inner = ti.cast(0.0, real)
            power = ti.cast(1.0, real)
            for _ in range(step + 1):
                inner = inner * y + coefficient[at] * power
                power *= z
                at += 1
            value = value * x + inner
        return value

    @ti.kernel
    def evaluate(
        n_points: ti.i32,
        n_atoms: ti.i32,
        cell: Cells,  # (points) whole cells
        atom_cell: Cells,  # (atoms)
        remainder: Remainders,  # (points) bohr
        atom_remainder: Remainders,  # (atoms) bohr
        atom_basis: I1,  # (atoms)
        atom_first_coefficient: I1,  # (atoms)
        atom_first_shell: I1,  # (atoms)
        basis_first_shell: I1,  # (bases + 1)
        shell_angular_momentum: I1,  # (shells)
        shell_first_primitive: I1,  # (shells + 1)
        exponent: R1,  # (primitives) bohr^-2
        contraction: R1,  # (primitives)
        coefficient: R1,  # (packed coefficients)
        shell_reach: R1,  # (shells of all atoms) bohr^2
        atom_reach: R1,  # (atoms) bohr^2
        out: R1,  # (points)
    ):
        ti.loop_config(block_dim=128)
        for n in range(n_points):
            total = ti.cast(0.0, real)
            for a in range(n_atoms):
                d = ti.cast(cell[n] - atom_cell[a], real) * CELL + (remainder[n] - atom_remainder[a])
                square = d.dot(d)
                if square < atom_reach[a]:
                    at = atom_first_coefficient[a]
                    first = basis_first_shell[atom_basis[a]]
                    for s in range(first, basis_first_shell[atom_basis[a] + 1]):
                        l = shell_angular_momentum[s]
                        if square < shell_reach[atom_first_shell[a] + s - first]:
                            radial = ti.cast(0.0, real)
                            for p in range(shell_first_primitive[s], shell_first_primitive[s + 1]):
                                radial += contraction[p] * exp(-exponent[p] * square)
                            angular = coefficient[at]
                            if l == 1:
                                angular = coefficient[at] * d.x + coefficient[at + 1] * d.y + coefficient[at + 2] * d.z
                            elif l > 1:
                                angular = polynomial(l, at, coefficient, d.x, d.y, d.z)
                            total += angular * radial
                        at += (l + 1) * (l + 2) // 2
            out[n] = total

    return SimpleNamespace(evaluate=evaluate)
