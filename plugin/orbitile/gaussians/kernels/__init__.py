"""Kernels for orbitals: ways to compute the same values, one module each, found by name.

A module offers

- `SUMMARY`: what it is;
- `EXACT`: whether its error is that of rounding and screening (below 2e-6 of the largest value, in double precision
  1e-12), or larger by design;
- `on_slabs(orbital, lattice)`: evaluator for slabs of a lattice;
- `at_points(orbital)`: evaluator for arbitrary points.

Both raise an `OrbitileError` that says why where the kernel does not serve. The name is that of the module, with
hyphens.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ...base.errors import OrbitileError
from ...base.registry import modules_of
from ...model.lattice import Lattice
from ..expansion import GaussianExpansion
from ..extent import ShellEnvelopes, shell_reach
from ..packing import MergedPrimitives, PackedShells
from ._sums import upright

AUTO = "auto"
"""The name that stands for the kernel that measurements speak for."""

Reals = NDArray[np.float64]
Slabs = Callable[[int, int, Any], None]
Points = Callable[[Reals], NDArray[np.floating]]


@dataclass(frozen=True, eq=False)
class PreparedOrbital:
    """An orbital in the forms that kernels read, and how exact it is to be.

    Attributes
    ----------
    packed : PackedShells
    coefficients : ndarray
        Packed Cartesian coefficients.
    envelopes : ShellEnvelopes
        Bounds of the shells with these coefficients.
    primitives : MergedPrimitives
    terms : ndarray
        Polynomial coefficients of the merged primitives.
    tolerance : float
        Bound on what screening may cost at any point, in bohr^-3/2.
    target : Target
        Device of the current session, and precision of the values.
    working : Target
        The same device, and precision of the sums.
    """

    packed: PackedShells
    coefficients: Reals
    envelopes: ShellEnvelopes
    primitives: MergedPrimitives
    terms: Reals
    tolerance: float
    target: Target
    working: Target

    @cached_property
    def expansion(self) -> GaussianExpansion:
        """As a sum of Gaussians times polynomials."""
        p = self.primitives
        return GaussianExpansion(p.centre, p.exponent, p.degree, p.first_term, self.terms)

    @cached_property
    def reach(self) -> Reals:
        """Distance beyond which each shell of each atom is left out, in bohr."""
        return shell_reach(self.envelopes, self.tolerance)


class Kernel(Protocol):
    """What a module of a kernel offers."""

    SUMMARY: str
    EXACT: bool

    def on_slabs(self, orbital: PreparedOrbital, lattice: Lattice) -> Slabs:
        """Evaluator for slabs of a lattice."""

    def at_points(self, orbital: PreparedOrbital) -> Points:
        """Evaluator for arbitrary points."""


def kernel_modules() -> dict[str, Kernel]:
    """All kernels by name."""
    return {name.replace("_", "-"): module for name, module in modules_of(__name__, Kernel).items()}


def _kernel(name: str) -> Kernel:
    """The kernel of a name that there is."""
    return modules_of(__name__, Kernel)[name.replace("-", "_")]


def kernel_names() -> list[tuple[str, str]]:
    """Names of all kernels, each with what it is."""
    return [
        (AUTO, "the fastest exact kernel in the recorded benchmarks"),
        *((n, m.SUMMARY) for n, m in kernel_modules().items()),
    ]


def checked_name(name: str) -> str:
    """A name of a kernel, or `auto`.

    Raises
    ------
    OrbitileError
        When there is no such kernel.
    """
    if name != AUTO and name not in kernel_modules():
        raise OrbitileError(f"kernel: expected one of {', '.join(n for n, _ in kernel_names())}, got {name!r}")
    return name


def class_of(lattice: Lattice) -> str:
    """What kind of problem a lattice is: `orthogonal lattice`, `upright lattice` or `skewed lattice`.

    An upright one has an axis at right angles to the other two: hexagonal and monoclinic cells.
    """
    if lattice.is_orthogonal:
        return "orthogonal lattice"
    return "upright lattice" if upright(lattice) else "skewed lattice"


def kernel_for(name: str, place: str, target: Target) -> Kernel:
    """The kernel for a name, `auto` included.

    Parameters
    ----------
    name
        From `checked_name`.
    place
        From `class_of`, or `points`.
    target
        Device of the current session, and the precision that was asked for.

    Raises
    ------
    OrbitileError
        When double precision is asked of a kernel that is not exact.
    """
    module = _kernel(recorded_choice(place, target) if name == AUTO else name)
    if target.precision == "double" and not module.EXACT:
        exact = ", ".join(n for n, m in kernel_modules().items() if m.EXACT)
        raise OrbitileError(
            f"kernel {name}: it approximates Gaussians, so it has no double precision; use single "
            f"precision, or one of {exact}"
        )
    return module


@lru_cache
def record() -> dict[str, Any]:
    """The measurements that `auto` rests on, by class of problem, device and precision; `benchmarks/kernels.py`."""
    text = (files("orbitile") / "data" / "kernels.json").read_text(encoding="utf-8")
    return json.loads(text)


def recorded_choice(place: str, target: Target) -> str:
    """The exact kernel that took the least time in the record. A device without one is taken for a CPU."""
    devices = record()[place]
    by_precision = devices.get(target.device, devices["cpu"])
    times: dict[str, float] = by_precision[target.precision]["seconds"]
    return min(times, key=lambda name: times[name])
