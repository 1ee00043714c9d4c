"""Kernels made ready for this machine before anybody waits for one: compiled where they never were, else loaded.

A kernel is compiled when it is first called, which takes seconds on a machine that has never done it and a tenth of
one after that, since compilers keep what they have compiled in a folder of the user's. Each step here calls the kernels
of one purpose with as little as there is, what the first picture needs coming first. Whoever takes the steps one by one
can do something else in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.layout import GRADIENT, HESSIAN, PLAIN, Orders
from taichi_kernels.target import Target

from ..base.watch import Cancel, Progress, checkpoint, tell, watched
from ..gaussians.kernels._sums import in_double
from ..model.lattice import Lattice
from ..model.volume import Volume
from .devices import device_session, first_device
from .surfaces import extract_surface

PREPARING = "preparing kernels for this machine, once"
"""What is told while it takes so long that somebody would wonder."""


@dataclass(frozen=True)
class Step:
    """The kernels of one purpose.

    Attributes
    ----------
    purpose : str
        For people: "orbitals".
    call : callable
        Calls them within a session: of a target that the results are for, and one whose precision they work in.
    large : bool
        Whether they are for sums whose terms cancel, and work in double precision where the device has it.
    """

    purpose: str
    call: Callable[[Target, Target], None]
    large: bool = False


def is_prepared(device: str | None = None) -> bool:
    """Whether all kernels were compiled on this machine, for this version of everything, and are still kept.

    Parameters
    ----------
    device
        As for `compute`.

    Raises
    ------
    DeviceError
        When the device cannot be used.
    """
    from taichi_kernels.compiled import are_kept

    with device_session(first_device(device), "single") as target:
        return are_kept(target)


def is_first_use(device: str | None = None) -> bool:
    """Whether nobody has computed with these kernels on this machine, as far as is known; it is noted, and asked once.

    Parameters and errors as for `is_prepared`.
    """
    from taichi_kernels.compiled import note_use

    with device_session(first_device(device), "single") as target:
        return note_use(target)


def take_step(number: int, device: str | None = None) -> None:
    """Make the kernels of a step ready in this process.

    Parameters
    ----------
    number
        Of the step, below `len(STEPS)`.
    device
        As for `compute`.

    Raises
    ------
    DeviceError
        When the device cannot be used.
    """
    from taichi_kernels.session import generation

    with device_session(first_device(device), "single") as target:
        step = STEPS[number]
        step.call(target, in_double(target) if step.large else target)
        _ready[number] = generation()


def is_ready(number: int) -> bool:
    """Whether the kernels of a step were made ready in this process, which has not gone to another device since."""
    from taichi_kernels.session import generation

    return _ready.get(number) == generation()


def keep(device: str | None = None) -> None:
    """Have the compiler write what it has compiled, after the last step, and make a note of it for `is_prepared`.

    Kernels have to be loaded again then. Where a result is left on the device, nothing is done: the compiler writes at
    the end of the process, and the steps are quick then.

    Parameters and errors as for `is_prepared`.
    """
    from taichi_kernels.compiled import note_kept

    with device_session(first_device(device), "single") as target:
        note_kept(target)


def prepare(device: str | None = None, *, progress: Progress | None = None, cancelled: Cancel | None = None) -> None:
    """Compile all kernels that were not compiled on this machine before, so that nobody has to wait for them later.

    Parameters
    ----------
    device
        As for `compute`.
    progress, cancelled
        As for `compute`; both between two steps only.

    Raises
    ------
    DeviceError
        When the device cannot be used.
    Cancelled
        When `cancelled` said so.
    """
    with watched(progress, cancelled):
        if is_prepared(device):
            return
        for number in range(len(STEPS)):
            checkpoint()
            take_step(number, device)
            tell((number + 1) / len(STEPS))
        keep(device)


# ---- the steps

_DEGREES = np.arange(5, dtype=np.int32)
"""Of the Gaussians of a sum; kernels do not depend on them."""
_MANY = np.zeros((1 << 14) + 1, np.int32)
"""Of so many that a GPU has another kernel for them, see `taichi_kernels.orbital_lattice`."""
_HERE = np.zeros((1, 3))


def _on_lattice(degrees: NDArray[np.int32], target: Target, working: Target, orders: Orders = PLAIN) -> None:
    """A sum of Gaussians on one brick of a lattice, or derivatives of one."""
    from taichi_kernels.layout import BRICK, layout
    from taichi_kernels.orbital_lattice import orbital_on_lattice

    n, n_terms = len(degrees), int(_n_terms(degrees).sum())
    spacing = (0.5, 0.5, 0.5)
    orbital_on_lattice(
        layout(degrees),
        np.zeros((n, 3)),
        np.ones(n),
        np.ones(n_terms),
        spacing,
        BRICK,
        0,
        1e-6,
        working,
        target.empty((len(orders) * BRICK[0], *BRICK[1:])),
        orders=orders,
    )


def _n_terms(degrees: NDArray[np.int32]) -> NDArray[np.int32]:
    """Coefficients of polynomials."""
    return (degrees + 1) * (degrees + 2) * (degrees + 3) // 6


def _at_points(target: Target, working: Target) -> None:
    from taichi_kernels.gaussians_at_points import gaussians_at_points

    n, first_term = len(_DEGREES), np.concatenate([[0], np.cumsum(_n_terms(_DEGREES))])
    gaussians_at_points(
        _HERE, np.zeros((n, 3)), np.ones(n), _DEGREES, first_term, np.ones(first_term[-1]), np.full(n, 9.0), working
    )


def _orbitals_at_points(target: Target, working: Target) -> None:
    """Of one atom with one s function."""
    from taichi_kernels.direct_sums.direct import direct_at_points
    from taichi_kernels.direct_sums.shells import Shells

    none, all_ = np.zeros(1, np.int32), np.array([0, 1], np.int32)
    shells = Shells(_HERE, none, none, none, all_, none, all_, np.ones(1), np.ones(1))
    direct_at_points(shells, np.ones(1), np.full(1, 9.0), "exact", _HERE, working)


def _orbitals(target: Target, working: Target) -> None:
    _on_lattice(_DEGREES, target, working)


def _densities(target: Target, working: Target) -> None:
    _on_lattice(_MANY, target, working)


def _derivatives(target: Target, working: Target) -> None:
    for orders in (GRADIENT, GRADIENT[1:], HESSIAN):
        _on_lattice(_DEGREES, target, working, orders)


def _surfaces(target: Target, working: Target) -> None:
    corner = np.zeros((2, 2, 2), np.float32)
    corner[0, 0, 0] = 1
    extract_surface(Volume(corner, Lattice(np.zeros(3), np.eye(3), corner.shape)), 0.5, device=target.device)


def _potential(degrees: range, target: Target, working: Target) -> None:
    """Potential of distributions of some degrees, and of multipoles."""
    from taichi_kernels.electrostatics import Distributions, Levels, Multipoles, potential_at_points, send_sources
    from taichi_kernels.hermite_tables import powers_of

    whole = np.array([[0, 1]], np.int32)
    distributions = [
        Distributions(degree, _HERE, np.ones(1), np.ones((1, len(powers_of(degree)))), whole) for degree in degrees
    ]
    order = 2
    multipoles = Multipoles(order, _HERE, np.ones((1, (order + 1) * (order + 2))))
    nothing_far = Levels(_HERE, np.ones(1), np.ones((1, 0, 1)), 0.0)
    potential_at_points(_HERE + 1.0, send_sources(distributions, multipoles, nothing_far, working))


def _potential_of(degrees: range) -> Callable[[Target, Target], None]:
    return partial(_potential, degrees)


_S_AND_P, _D, _P_AND_F, _F = range(3), range(3, 5), range(5, 6), range(6, 7)
"""Degrees of the products of two functions."""

STEPS = (
    Step("orbitals", _orbitals),
    Step("surfaces", _surfaces),
    Step("orbitals at points", _orbitals_at_points),
    Step("values at points", _at_points),
    Step("densities", _densities),
    Step("potentials of s and p functions", _potential_of(_S_AND_P)),
    Step("derivatives of densities", _derivatives),
    Step("orbitals of large terms", _orbitals, large=True),
    Step("potentials of d functions", _potential_of(_D)),
    Step("densities of large terms", _densities, large=True),
    Step("derivatives of large terms", _derivatives, large=True),
    Step("orbitals of large terms at points", _orbitals_at_points, large=True),
    Step("values of large terms at points", _at_points, large=True),
    Step("potentials of large terms", _potential_of(range(5)), large=True),
    Step("potentials of p and f functions", _potential_of(_P_AND_F)),
    Step("potentials of f functions", _potential_of(_F)),
    Step("potentials of p and f functions with large terms", _potential_of(_P_AND_F), large=True),
    Step("potentials of f functions with large terms", _potential_of(_F), large=True),
)
"""In the order in which they are wanted."""

FIRST = 3
"""So many steps make ready what the first picture of an orbital needs."""

SURFACES = 1
"""Number of the step for surfaces."""

_ready: dict[int, int] = {}
"""Steps that were taken, each with the start of the compiler that it was taken after."""
