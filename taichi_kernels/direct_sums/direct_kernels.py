"""The kernels of the direct sum, on a lattice and at points; see `direct`."""

from functools import lru_cache
from importlib import import_module
from types import SimpleNamespace

import numpy as np

from .._taichi import number, ti
from ..cells import CELL
from ..target import Target
from .shells import BRICK, BX, BY, BZ, LANES


@lru_cache
def direct_kernels(radial: str, target: Target, result: "np.dtype[np.floating]") -> SimpleNamespace:
    """Kernels `on_lattice` and `at_points` with one radial function, for one target and one type of the result."""
    real, kept = number(target.dtype), number(result)
    lanes = LANES[target.device, target.precision]
    L = ti.types.vector(lanes, real)
    block = 4 if target.on_host else 128
    I1, R1 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(real, 1)
    V3, I3 = ti.types.vector(3, real), ti.types.vector(3, ti.i32)
    Steps, Rests = ti.types.ndarray(I3, 1), ti.types.ndarray(V3, 1)
    Cells = ti.types.ndarray(ti.types.vector(lanes, ti.i32), 2)
    Remainders, Values = ti.types.ndarray(L, 2), ti.types.ndarray(L, 1)
    Result = ti.types.ndarray(kept, 3)
    contracted = import_module(f".radial.{radial}", __package__).function(target.precision, L)
    ramp = [float(n) for n in range(lanes)]
    middle = V3([(n - 1) / 2 for n in BRICK])

    @ti.func
    def polynomial(l: ti.i32, first: ti.i32, coefficient: ti.template(), x, y, z):
        """Homogeneous polynomial, coefficients in alphabetical order, by Horner's rule in x and, within, in y."""
        value = L(0.0)
        at = first
        for step in range(l + 1):  # the power of x is l - step, that of y and z together is step
            inner = L(0.0)
            power = L(1.0)
            for _ in range(step + 1):
                inner = inner * y + coefficient[at] * power
                power *= z
                at += 1
            value = value * x + inner
        return value

    @ti.func
    def of_atom(
        a: ti.i32, x, y, z, atom_basis: ti.template(), atom_first_coefficient: ti.template(),
        atom_first_shell: ti.template(), basis_first_shell: ti.template(), shell_angular_momentum: ti.template(),
        first_operand: ti.template(), operand_a: ti.template(), operand_b: ti.template(), coefficient: ti.template(),
        shell_reach: ti.template(), atom_reach: ti.template(),
    ):  # fmt: skip
        """What the shells of one atom contribute at points x, y, z from it."""
        total = L(0.0)
        square = x * x + y * y + z * z
        nearest = square.min()
        if nearest < atom_reach[a]:
            at = atom_first_coefficient[a]
            first = basis_first_shell[atom_basis[a]]
            for s in range(first, basis_first_shell[atom_basis[a] + 1]):
                l = shell_angular_momentum[s]
                if nearest < shell_reach[atom_first_shell[a] + s - first]:
                    angular = L(0.0) + coefficient[at]
                    if l == 1:
                        angular = coefficient[at] * x + coefficient[at + 1] * y + coefficient[at + 2] * z
                    elif l == 2:
                        angular = (
                            x * (coefficient[at] * x + coefficient[at + 1] * y + coefficient[at + 2] * z)
                            + y * (coefficient[at + 3] * y + coefficient[at + 4] * z)
                            + coefficient[at + 5] * z * z
                        )
                    elif l > 2:
                        angular = polynomial(l, at, coefficient, x, y, z)
                    total += angular * contracted(s, square, first_operand, operand_a, operand_b)
                at += (l + 1) * (l + 2) // 2
        return total

    @ti.kernel
    def on_lattice(
        plane: ti.i32,
        n_bricks: ti.i32,
        radius: real,  # of a sphere about a brick, bohr
        ny: ti.i32,
        nz: ti.i32,
        n_tasks: ti.i32,
        n_atoms: ti.i32,
        along_x: V3,  # steps of the lattice, bohr
        along_y: V3,
        along_z: V3,
        atom_step: Steps,  # (atoms) nearest lattice point
        atom_rest: Rests,  # (atoms) atom relative to it, bohr
        atom_basis: I1,  # (atoms)
        atom_first_coefficient: I1,  # (atoms)
        atom_first_shell: I1,  # (atoms)
        basis_first_shell: I1,  # (bases + 1)
        shell_angular_momentum: I1,  # (shells)
        first_operand: I1,  # (shells + 1) where the operands of each shell begin
        operand_a: R1,
        operand_b: R1,
        coefficient: R1,  # (packed coefficients)
        shell_reach: R1,  # (shells of all atoms) bohr^2
        atom_reach: R1,  # (atoms) bohr^2
        listed: I1,  # (bricks, 1 + atoms) how many atoms reach it, and which
        out: Result,  # (nx, ny, nz)
    ):
        bricks_y, bricks_z = (ny + BY - 1) // BY, (nz + BZ - 1) // BZ
        ti.loop_config(block_dim=block)
        for brick in range(n_bricks):
            corner = ti.Vector(
                [brick // bricks_z // bricks_y * BX, brick // bricks_z % bricks_y * BY, brick % bricks_z * BZ]
            )
            count = 0
            for a in range(n_atoms):
                n = ti.cast(corner - atom_step[a], real) + middle
                d = n[0] * along_x + n[1] * along_y + n[2] * along_z - atom_rest[a]
                reached = radius + ti.sqrt(atom_reach[a])
                if d.dot(d) < reached * reached and atom_reach[a] > 0:
                    count += 1
                    listed[brick * (n_atoms + 1) + count] = a
            listed[brick * (n_atoms + 1)] = count

        ti.loop_config(block_dim=block)
        for task in range(n_tasks):
            groups = (nz + lanes - 1) // lanes
            k = task % groups * lanes
            j = task // groups % ny
            i = task // groups // ny
            along = L(ramp)
            total = L(0.0)
            first = ((i // BX * bricks_y + j // BY) * bricks_z + k // BZ) * (n_atoms + 1)
            for q in range(first + 1, first + 1 + listed[first]):
                a = listed[q]
                n = ti.cast(ti.Vector([i, j, k]) - atom_step[a], real)
                d = n[0] * along_x + n[1] * along_y + n[2] * along_z - atom_rest[a]
                total += of_atom(
                    a, d[0] + along * along_z[0], d[1] + along * along_z[1], d[2] + along * along_z[2],
                    atom_basis, atom_first_coefficient, atom_first_shell, basis_first_shell, shell_angular_momentum,
                    first_operand, operand_a, operand_b, coefficient, shell_reach, atom_reach,
                )  # fmt: skip
            for s in ti.static(range(lanes)):
                if k + s < nz:
                    out[plane + i, j, k + s] = ti.cast(total[s], kept)

    @ti.kernel
    def at_points(
        n_groups: ti.i32,
        n_atoms: ti.i32,
        cell: Cells,  # (groups, 3) whole cells
        rest: Remainders,  # (groups, 3) bohr
        atom_cell: Steps,  # (atoms)
        atom_rest: Rests,  # (atoms) bohr
        atom_basis: I1, atom_first_coefficient: I1, atom_first_shell: I1, basis_first_shell: I1,  # as in `on_lattice`
        shell_angular_momentum: I1, first_operand: I1, operand_a: R1, operand_b: R1, coefficient: R1,
        shell_reach: R1, atom_reach: R1,
        out: Values,  # (groups)
    ):  # fmt: skip
        ti.loop_config(block_dim=block)
        for group in range(n_groups):
            total = L(0.0)
            for a in range(n_atoms):
                total += of_atom(
                    a,
                    ti.cast(cell[group, 0] - atom_cell[a][0], real) * real(CELL) + (rest[group, 0] - atom_rest[a][0]),
                    ti.cast(cell[group, 1] - atom_cell[a][1], real) * real(CELL) + (rest[group, 1] - atom_rest[a][1]),
                    ti.cast(cell[group, 2] - atom_cell[a][2], real) * real(CELL) + (rest[group, 2] - atom_rest[a][2]),
                    atom_basis, atom_first_coefficient, atom_first_shell, basis_first_shell, shell_angular_momentum,
                    first_operand, operand_a, operand_b, coefficient, shell_reach, atom_reach,
                )  # fmt: skip
            out[group] = total

    return SimpleNamespace(on_lattice=on_lattice, at_points=at_points)
