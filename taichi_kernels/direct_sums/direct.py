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

import numpy as np

from .._taichi import ti
from ..arrays import DeviceArray
from ..cells import split_position
from ..kept_arrays import KeptArrays
from ..launching import launch
from ..pace import Checkpoint, Pace
from ..target import Target
from .direct_kernels import direct_kernels
from .shells import BRICK, BX, LANES, Place, Shells, bricks_of

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
            direct_kernels(radial, target, out.dtype).on_lattice,
            plane,
            n_bricks,
            radius * (1 + 1e-5),
            ny,
            nz,
            planes * ny * -(-nz // lanes),
            len(step),
            *place.steps(target),
            _held.operand(target, "lattice steps", step - np.array([plane, 0, 0], np.int32), np.int32, 3),
            _held.operand(target, "lattice rest", rest, target.dtype, 3),
            *operands,
            np.empty(n_listed, np.int32) if target.on_host else _held.array("atoms of bricks", ti.i32, (n_listed,)),
            out,
        )

    work = np.full(layers, float(BX * ny * nz * max(len(step), 1)))
    _pace_of_bricks(radial, target).run(work, evaluate, checkpoint)


@lru_cache
def _pace_of_bricks(radial: str, target: Target) -> Pace:
    """How many points times atoms make a piece for `direct_on_lattice`."""
    return Pace(1 << 20)


@lru_cache
def pace_of_points(radial: str, target: Target) -> Pace:
    """How many points times atoms make a piece for `direct_at_points`."""
    return Pace(1 << 20)


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
        direct_kernels(radial, target, real).at_points,
        groups,
        len(atom_cell),
        np.ascontiguousarray(cell, np.int32),
        np.ascontiguousarray(rest, real),
        _held.operand(target, "point cells", atom_cell, np.int32, 3),
        _held.operand(target, "point rest", atom_rest, real, 3),
        *_operands(shells, coefficient, shell_reach, radial, target),
        out,
    )
    return out.reshape(-1)[: len(points)]


def _operands(shells, coefficient, shell_reach, radial, target):
    """What both kernels read, on the device."""
    first, a, b = _radial_operands(shells, radial, target.precision)
    limits = reach_of(shells, shell_reach, radial) ** 2
    return (
        *(
            _held.operand(target, name, getattr(shells, name), np.int32)
            for name in (
                "atom_basis",
                "atom_first_coefficient",
                "atom_first_shell",
                "basis_first_shell",
                "shell_angular_momentum",
            )
        ),
        *(
            _held.operand(target, f"{radial}: {name}", values, dtype)
            for name, values, dtype in (
                ("first", first, np.int32),
                ("a", a, target.dtype),
                ("b", b, target.dtype),
            )
        ),
        *(
            _held.operand(target, name, values, target.dtype)
            for name, values in (
                ("coefficient", coefficient),
                ("shell reach", limits),
                ("atom reach", np.maximum.reduceat(limits, shells.atom_first_shell)),
            )
        ),
    )


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
