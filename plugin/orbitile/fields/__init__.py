"""Fields: what can be shown of a wavefunction, one module a family, found by name.

A module offers `NAMES` (pairs of a name as a user writes it, and what it is) and `resolve(wavefunction, name)`, which
returns a `Field`, or None for a name that is not of its family. It may offer `DRAWN_ON`, see `as_drawn`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..errors import FieldError
from ..model.lattice import Lattice
from ..model.wavefunction import Wavefunction

SlabEvaluator = Callable[[int, int, Any], None]
"""Writes the values of the slab start <= i < stop into an array (NumPy, or on the device)."""

PointEvaluator = Callable[[NDArray[np.float64]], NDArray[np.floating]]
"""Values at points of shape (n, 3), in bohr."""


class Field(Protocol):
    """A scalar field of one wavefunction.

    Attributes
    ----------
    quantity, unit : str
        For people.
    """

    @property
    def quantity(self) -> str:
        """What the values are."""

    @property
    def unit(self) -> str:
        """Unit of the values."""

    @property
    def isovalue(self) -> float | None:
        """One that shows the field well; None for an orbital, where it depends on how far the orbital spreads."""

    @property
    def fewest_points(self) -> int:
        """Points of a lattice below which isosurfaces look rough: a finer one is taken. 0 where any lattice will do."""

    @property
    def is_bounded(self) -> bool:
        """Whether `enclosing_box` is a proof; an estimate otherwise, beyond which there may be more."""

    def on_slabs(self, lattice: Lattice, target: Target) -> SlabEvaluator | None:
        """Evaluator for slabs of the lattice, or None where only points will do (skewed lattices)."""

    def at_points(self, target: Target) -> PointEvaluator:
        """Evaluator for arbitrary points."""

    def enclosing_box(self, isovalue: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Corners of a box outside which the field is guaranteed to be smaller in magnitude, in bohr."""


@lru_cache
def field_modules() -> dict[str, ModuleType]:
    """All field modules by name."""
    return {
        info.name: import_module(f"{__name__}.{info.name}")
        for info in iter_modules(__path__)
        if not info.name.startswith("_")
    }


def field_names() -> list[tuple[str, str]]:
    """Names of all fields as a user writes them, each with what it is."""
    return [pair for module in field_modules().values() for pair in module.NAMES]


def as_drawn(field: str, color_by: str = "") -> tuple[str, str]:
    """The field whose surface is drawn when a field is asked for, and the one that colours it.

    That is the field itself, unless it has no isosurface of its own: `nci` colours that of `rdg`.

    Parameters
    ----------
    field : str
        Name of the field.
    color_by : str
        Name of the field that is to colour the surface; empty for none.
    """
    for module in field_modules().values():
        wanted = field.strip().lower()
        drawn_on: str | None = getattr(module, "DRAWN_ON", {}).get(wanted)
        if drawn_on is not None:
            return drawn_on, color_by or wanted
    return field, color_by


def files_in(name: str) -> tuple[str, ...]:
    """Files that the name of a field refers to, as in `difference:cation.molden`; none for most fields."""
    family, _, rest = name.partition(":")
    referring = {pattern.partition(":")[0] for pattern, _ in field_names() if "FILE" in pattern}
    if family.strip().lower() not in referring or not rest.strip():
        return ()
    files = [rest] if os.path.isfile(os.path.expanduser(rest.strip())) else rest.split(",")
    return tuple(file.strip() for file in files if file.strip())


def with_absolute_files(name: str) -> str:
    """The same field by a name that means the same in every folder."""
    files = files_in(name)
    if not files:
        return name
    return f"{name.partition(':')[0]}:{','.join(os.path.abspath(os.path.expanduser(file)) for file in files)}"


def resolve(wavefunction: Wavefunction, name: str) -> Field:
    """The field of a wavefunction that a name stands for.

    Raises
    ------
    FieldError
        When there is no such field, or the wavefunction does not have it.
    """
    if not isinstance(name, str):
        raise FieldError(f"field: expected a name such as 'homo', got {name!r}")
    wanted = name.strip()
    for module in field_modules().values():
        field: Field | None = module.resolve(wavefunction, wanted)
        if field is not None:
            return field
    from difflib import get_close_matches

    known = [pattern for pattern, _ in field_names()]
    close = get_close_matches(wanted.lower(), known, 1, cutoff=0.4)
    hint = f" Nearest match: {close[0]}." if close else ""
    raise FieldError(f"field: there is no {name!r}. Known: {', '.join(known)}.{hint}")
