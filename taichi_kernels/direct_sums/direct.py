"""Orbitals by the direct sum over atoms, shells and primitives, on any lattice and at arbitrary points.

    psi(r) = sum_atoms sum_shells [ sum_m c'_m x^i y^j z^k ] [ sum_p c'_p exp(-zeta_p R^2) ]

(Stone et al., GPGPU 2009, algorithm 1, doi 10.1145/1513895.1513897), over flat arrays in which the basis stands once
per distinct set of shells. How the sum over primitives is had is the choice of a module of `radial`; all else is the
same. Shells are left out beyond a distance of their atom.

A task deals with some points at once, as vectors: sixteen on a CPU, which Taichi turns into SIMD code; four on a GPU,
so that what is loaded serves them all. On a lattice they are neighbours along its last axis, and bricks of 8 x 8 x 16
points have lists of the atoms that reach them, so that the work grows linearly with the size of a molecule.

Positions are relative: an atom stands at a lattice point, in whole steps, and a remainder; a point that is not of a
lattice in a cell, and a remainder. Differences are then exact to the rounding of the difference itself, in single
precision too, wherever in space the molecule lies.
"""

from functools import lru_cache
from importlib import import_module
from types import SimpleNamespace

import numpy as np

from .._taichi import number, ti
from ..arrays import DeviceArray
from ..cells import CELL, split_position
from ..kept_arrays import KeptArrays
from ..launching import Checkpoint, launch, pace_of
from ..target import Target
from .shells import BRICK, BX, BY, BZ, LANES, Place, Shells, bricks_of

_held = KeptArrays()


def direct_on_lattice(
    shells: Shells,
    coefficient: np.ndarray,
    shell_reach: np.ndarray,
    radial: str,
    place: Place,
    target: Target,
    out: "np.ndarray | DeviceArray",
    checkpoint: Checkpoint | None = None,
) -> None:
    """Evaluate an orbital on a slab of a lattice.

    Parameters
    ----------
    shells
        The basis.
    coefficient : ndarray of float64
        Packed Cartesian coefficients of the orbital.
    shell_reach : ndarray of float64, shape (shells of all atoms,)
        Distance from its atom in bohr beyond which a shell is left out. The radial function may have a shorter one.
    radial
        Module of `radial`.
    place
        The slab.
    target
        The device of the current session, and the precision of the sums.
    out : ndarray, or array on the device, of float32 or float64, shape `place.shape`
        Where the values go. Beside it there are the lists: 4 bytes an atom for 1024 points.
    checkpoint
        Called some twenty times a second with the share that is done, between pieces of whole planes of bricks; what it
        raises ends the work. Without one all is done at once.
    """
    lanes = LANES[target.device, target.precision]
    nx, ny, nz = place.shape
    step, rest = place.of_atoms(shells.atom_position)
    layers = -(-nx // BX)
    bricks_a_layer = bricks_of(place.shape) // layers
    # no point of a brick is farther from its middle than half of its longest diagonal
    signs = np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1]])
    half = (np.array(BRICK) - 1) / 2
    radius = float(np.linalg.norm((signs * half) @ place.axes, axis=1).max())
    operands = _operands(shells, coefficient, shell_reach, radial, target)

    def evaluate(first: int, last: int) -> None:
        plane, planes = first * BX, min(last * BX, nx) - first * BX
        n_bricks = (last - first) * bricks_a_layer
        n_listed = n_bricks * (len(step) + 1)
        launch(
            _kernels(radial, target, out.dtype).on_lattice,
            plane=plane,
            n_bricks=n_bricks,
            radius=radius * (1 + 1e-5),
            ny=ny,
            nz=nz,
            n_tasks=planes * ny * -(-nz // lanes),
            n_atoms=len(step),
            **place.steps(target),
            atom_step=_held.operand(target, "lattice steps", step - np.array([plane, 0, 0], np.int32), np.int32, 3),
            atom_rest=_held.operand(target, "lattice rest", rest, target.dtype, 3),
            **operands,
            listed=(
                np.empty(n_listed, np.int32) if target.on_host else _held.array("atoms of bricks", ti.i32, (n_listed,))
            ),
            out=out,
        )

    work = np.full(layers, float(BX * ny * nz * max(len(step), 1)))
    pace_of(1 << 20, "direct sum on a lattice", radial, target).run(work, evaluate, checkpoint)


def direct_at_points(
    shells: Shells,
    coefficient: np.ndarray,
    shell_reach: np.ndarray,
    radial: str,
    points: np.ndarray,
    target: Target,
) -> np.ndarray:
    """Evaluate an orbital at points of shape (n_points, 3), in bohr; otherwise as `direct_on_lattice`.

    Memory is about 60 bytes a point: the caller hands over tiles.
    """
    real = target.dtype
    if len(points) == 0:
        return np.empty(0, real)
    lanes = LANES[target.device, target.precision]
    groups = -(-len(points) // lanes)
    padded = points[np.minimum(np.arange(groups * lanes), len(points) - 1)]
    cell, rest = (part.reshape(groups, lanes, 3).transpose(0, 2, 1) for part in split_position(padded))
    atom_cell, atom_rest = split_position(shells.atom_position)
    out = np.empty((groups, lanes), real)
    launch(
        _kernels(radial, target, real).at_points,
        n_groups=groups,
        n_atoms=len(atom_cell),
        cell=np.ascontiguousarray(cell, np.int32),
        rest=np.ascontiguousarray(rest, real),
        atom_cell=_held.operand(target, "point cells", atom_cell, np.int32, 3),
        atom_rest=_held.operand(target, "point rest", atom_rest, real, 3),
        **_operands(shells, coefficient, shell_reach, radial, target),
        out=out,
    )
    return out.reshape(-1)[: len(points)]


def _operands(shells, coefficient, shell_reach, radial, target):
    """What both kernels read, on the device, by name."""
    first, a, b = _radial_operands(shells, radial, target.precision)
    limits = reach_of(shells, shell_reach, radial) ** 2
    integers = (
        "atom_basis",
        "atom_first_coefficient",
        "atom_first_shell",
        "basis_first_shell",
        "shell_angular_momentum",
    )
    reals = {
        "coefficient": coefficient,
        "shell_reach": limits,
        "atom_reach": np.maximum.reduceat(limits, shells.atom_first_shell),
    }
    return {
        **{name: _held.operand(target, name, getattr(shells, name), np.int32) for name in integers},
        "first_operand": _held.operand(target, f"{radial}: first", first, np.int32),
        "operand_a": _held.operand(target, f"{radial}: a", a, target.dtype),
        "operand_b": _held.operand(target, f"{radial}: b", b, target.dtype),
        **{name: _held.operand(target, name, values, target.dtype) for name, values in reals.items()},
    }


def reach_of(shells: Shells, shell_reach: np.ndarray, radial: str) -> np.ndarray:
    """Distances beyond which shells are left out: the caller's, or those at which the radial function ends."""
    own = import_module(f".radial.{radial}", __package__).reach(shells)
    if own is None:
        return shell_reach
    n = np.diff(np.append(shells.atom_first_shell, len(shell_reach)))
    which = np.repeat(shells.basis_first_shell[shells.atom_basis] - shells.atom_first_shell, n)
    return own[which + np.arange(len(shell_reach))]


def _radial_operands(shells, radial, precision):
    if (radial, precision) not in shells.cache:
        shells.cache[radial, precision] = import_module(f".radial.{radial}", __package__).operands(shells, precision)
    return shells.cache[radial, precision]


@lru_cache
def _kernels(radial: str, target: Target, result: "np.dtype[np.floating]") -> SimpleNamespace:
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
                    a=a, x=d[0] + along * along_z[0], y=d[1] + along * along_z[1], z=d[2] + along * along_z[2],
                    atom_basis=atom_basis, atom_first_coefficient=atom_first_coefficient,
                    atom_first_shell=atom_first_shell, basis_first_shell=basis_first_shell,
                    shell_angular_momentum=shell_angular_momentum, first_operand=first_operand,
                    operand_a=operand_a, operand_b=operand_b, coefficient=coefficient, shell_reach=shell_reach,
                    atom_reach=atom_reach,
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
                x = ti.cast(cell[group, 0] - atom_cell[a][0], real) * real(CELL) + (rest[group, 0] - atom_rest[a][0])
                y = ti.cast(cell[group, 1] - atom_cell[a][1], real) * real(CELL) + (rest[group, 1] - atom_rest[a][1])
                z = ti.cast(cell[group, 2] - atom_cell[a][2], real) * real(CELL) + (rest[group, 2] - atom_rest[a][2])
                total += of_atom(
                    a=a, x=x, y=y, z=z, atom_basis=atom_basis, atom_first_coefficient=atom_first_coefficient,
                    atom_first_shell=atom_first_shell, basis_first_shell=basis_first_shell,
                    shell_angular_momentum=shell_angular_momentum, first_operand=first_operand,
                    operand_a=operand_a, operand_b=operand_b, coefficient=coefficient, shell_reach=shell_reach,
                    atom_reach=atom_reach,
                )  # fmt: skip
            out[group] = total

    return SimpleNamespace(on_lattice=on_lattice, at_points=at_points)
