"""Fields: what can be shown of a wavefunction, one module a family, found by name.

A module offers `NAMES` (pairs of a name as a user writes it, and a sentence that says what it shows) and
`resolve(wavefunction, name, references)`, which returns a `Field`, or None for a name that is not of its family.
References read the files that a name refers to. It may offer `GROUP`, the title under which menus list its names,
`PRIORITY`, by which groups and families are ordered, the highest first, `DRAWN_ON`, `COLOURED_BY` and
`default_colours`, see `as_drawn`, and `unavailable`, see the function of this name.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.errors import FieldError
from ..base.registry import modules_of
from ..gaussians.extent import Spread
from ..gaussians.kernels import AUTO, checked_name
from ..model.lattice import Lattice
from ..model.volume import PointCharges
from ..model.wavefunction import DAMAGED, Wavefunction

SlabEvaluator = Callable[[int, int, Any], None]
"""Writes the values of the slab start <= i < stop into an array (NumPy, or on the device)."""

PointEvaluator = Callable[[Reals], NDArray[np.floating]]
"""Values at points of shape (n, 3), in bohr."""


class Field(ABC):
    """A scalar field of one wavefunction: the base class of all of them.

    A field has a quantity and a unit, evaluates itself at points, and knows a box that encloses it. All else has
    defaults, which a field replaces that can do more.

    Attributes
    ----------
    quantity, unit : str
        Shown to people.
    isovalue : float or None
        The field's default; None for a field that has a `spread`, from which it follows.
    coloured_isovalue : float or None
        The default where a second field colours the surface; None for the same.
    absence : str
        What it means that nothing reaches its isovalue, as a sentence; empty where that says nothing.
    fewest_points : int
        Points of a lattice below which isosurfaces look rough: a finer one is taken. 0 where any lattice will do.
    most_points : int
        Points of a lattice of medium quality beyond which a wider one is taken, as about a protein. 0 for any number.
    is_bounded : bool
        Whether `enclosing_box` is a proof; an estimate otherwise, beyond which there may be more.
    is_local : bool
        Whether it is of a part of the molecule: a lattice need not hold the atoms outside its box.
    is_smooth : bool
        Whether isosurfaces look round on a lattice of any quality: a finer one is not worth its time.
    peaks_at_nuclei : bool
        Whether it is larger by far near nuclei: where it colours a surface, such values do not tell what its colours
        span.
    jumps : bool
        Whether its values jump: where it colours a surface, colours are blended across the jump.
    colour_range : float or None
        Where the field colours a surface, the colours span minus this to plus this by convention; None: its values.
    colour_map : str or None
        Name of the colours that are the convention for it, see `orbitile.surfaces.colour_maps`.
    kernel : str
        Name of the kernel that computes it, or `auto`.
    """

    quantity: str
    unit: str
    isovalue: float | None
    coloured_isovalue: float | None = None
    absence: str = ""
    fewest_points: int = 0
    most_points: int = 0
    is_bounded: bool = True
    is_local: bool = False
    is_smooth: bool = False
    peaks_at_nuclei: bool = False
    jumps: bool = False
    colour_range: float | None = None
    colour_map: str | None = None
    kernel: str = AUTO

    @abstractmethod
    def at_points(self, target: Target) -> PointEvaluator:
        """Evaluator for arbitrary points; within a session of the device."""

    @abstractmethod
    def enclosing_box(self, isovalue: float) -> tuple[Reals, Reals]:
        """Corners of a box outside which the field is guaranteed to be smaller in magnitude, in bohr."""

    def on_slabs(self, lattice: Lattice, target: Target) -> SlabEvaluator | None:
        """Evaluator for slabs of a lattice, or None where only points will do."""
        return None

    def launches(self, lattice: Lattice, target: Target, together: int = 1) -> bool:
        """Whether kernels are launched for its values on a lattice, or for those of some fields by `together`."""
        return True

    def at_few(self, n_points: int) -> Field | None:
        """The same field as it is computed on a CPU without kernels, at so many points; None where they are needed."""
        return None

    def joins(self, other: Field) -> bool:
        """Whether it may be evaluated together with another field, by `together`."""
        return False

    def together(self, others: Sequence[Field], lattice: Lattice, target: Target) -> SlabEvaluator | None:
        """Evaluator for slabs of this field and others that it joins, which costs less than one after the other.

        The slabs of the fields follow one another along the first axis of the array that it writes to. None for a
        lattice where nothing can be shared.
        """
        return None

    def with_kernel(self, kernel: str) -> Field:
        """The same field, computed by a kernel of one's choice; as it is for `auto`.

        Raises
        ------
        OrbitileError
            When there is no such kernel.
        FieldError
            When the field has no choice of kernels.
        """
        if checked_name(kernel) != AUTO:
            raise FieldError(
                f"kernel {kernel}: only orbitals have a choice of kernels, not {self.quantity}; leave it at auto"
            )
        return self

    def is_enclosed(self, low: Reals, high: Reals, isovalue: float) -> bool:
        """Whether the field is proven smaller in magnitude outside a box (bohr); False where that is not known.

        Quicker by far than `enclosing_box`.
        """
        return False

    @property
    def spread(self) -> Spread | None:
        """Estimate of how far it reaches about each atom.

        A field that has one is shown by the isovalue that encloses a share of its square, on lattices whose spacing
        follows from how close the surface comes to the atoms.
        """
        return None

    @property
    def degenerate_set(self) -> DegenerateSet:
        """The fields that are to be shown alike, of which it is one; it alone where there are no others."""
        return DegenerateSet((self,), self, (), np.zeros(1), 0)

    @property
    def is_even_or_odd(self) -> bool:
        """Whether it keeps its magnitude under inversion at the only atom; False where that is not known."""
        return False

    def neighbour(self, step: int) -> str | None:
        """Name of the field some steps further on in the file; None where fields have no order.

        Raises
        ------
        FieldError
            When there is none so far on.
        """
        return None


def _marked(field: Field) -> Field:
    """The field of a damaged file, which says so in its name."""
    if DAMAGED in field.quantity:
        return field
    result = copy(field)
    object.__setattr__(result, "quantity", f"{field.quantity} {DAMAGED}")
    return result


@dataclass(frozen=True, eq=False)
class DegenerateSet:
    """Fields that are to be shown alike.

    Attributes
    ----------
    fields : tuple of Field
        By rising energy, the same for each of them.
    owner : object
        What they are fields of, such as a wavefunction: what follows from the set is kept with it.
    key : tuple
        What tells the set from others of the owner.
    energies : ndarray, shape (n,)
        In hartree.
    place : int
        Which of the fields it is whose set was asked for.
    """

    fields: tuple[Field, ...]
    owner: object
    key: tuple[object, ...]
    energies: Reals
    place: int


class References(Protocol):
    """Reads the files that names of fields refer to."""

    def wavefunction(self, file: str) -> Wavefunction:
        """The wavefunction of a file."""

    def charges(self, file: str) -> PointCharges:
        """The point charges of a file."""


# ---- families


def _no_colours(wavefunction: Wavefunction, name: str) -> str:
    """Of a family that is shown in two colours, for two signs."""
    return ""


def _all_available(wavefunction: Wavefunction) -> Mapping[str, str]:
    """Of a family that every wavefunction has."""
    return {}


class Family(Protocol):
    """What a module of a family of fields offers."""

    NAMES: tuple[tuple[str, str], ...]
    GROUP: str = "Other fields"
    DRAWN_ON: Mapping[str, str] = {}
    COLOURED_BY: Mapping[str, str] = {}
    unavailable: Callable[[Wavefunction], Mapping[str, str]] = _all_available
    default_colours: Callable[[Wavefunction, str], str] = _no_colours

    def resolve(self, wavefunction: Wavefunction, name: str, references: References) -> Field | None:
        """The field that a name stands for, or None for a name that is not of this family."""


def field_modules() -> Mapping[str, Family]:
    """All families of fields by the names of their modules."""
    return modules_of(__name__, Family)


def field_names() -> list[tuple[str, str]]:
    """Names of all fields as a user writes them, each with what it shows."""
    return [pair for module in field_modules().values() for pair in module.NAMES]


def field_groups() -> list[tuple[str, list[tuple[str, str]]]]:
    """The same in groups, each with its title: those first that are wanted most."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for module in field_modules().values():
        groups.setdefault(module.GROUP, []).extend(module.NAMES)
    return list(groups.items())


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """Names, as in `field_names`, that a wavefunction does not have, each with the reason: found quickly, for menus."""
    return {name: why for module in field_modules().values() for name, why in module.unavailable(wavefunction).items()}


def as_drawn(field: str, color_by: str = "", wavefunction: Wavefunction | None = None) -> tuple[str, str]:
    """The field whose surface is drawn when a field is asked for, and the one that colours it.

    That is the field itself, unless it is no field for isosurfaces: `nci` colours that of `rdg`, `ionisation` that of
    the density. Some are coloured by convention: `igm:1-6` by `nci:1-6`. What stands behind a colon stays.

    Parameters
    ----------
    field : str
        Name of the field.
    color_by : str
        Name of the field that is to colour the surface; empty for none.
    wavefunction
        What it is a field of, if that is known: complex orbitals are coloured by their phases.
    """
    wanted = field.strip().lower()
    family, colon, rest = wanted.partition(":")
    for module in field_modules().values():
        if family in module.DRAWN_ON:
            on = module.DRAWN_ON[family]
            return f"{on}{colon}{rest}" if on else rest, color_by or wanted
        if family in module.COLOURED_BY:
            return field, color_by or f"{module.COLOURED_BY[family]}{colon}{rest}"
    if wavefunction is not None and not color_by:
        defaults = (module.default_colours(wavefunction, field) for module in field_modules().values())
        return field, next(filter(None, defaults), "")
    return field, color_by


_SELECTED = re.compile(r"(?:(?:\d+|alpha|beta|to|from)\s*(?::\s*|$))*", re.IGNORECASE)
"""What may stand before the files in a name that selects something of them, as in `nocv:1:to:FILE`."""


def without_files(name: str) -> tuple[str, tuple[str, ...]]:
    """The name of a field up to the files that it refers to, with its last colon, and these files; none for most."""
    family, colon, rest = name.partition(":")
    patterns = [
        pattern
        for pattern, _ in field_names()
        if "FILE" in pattern and pattern.partition(":")[0] == family.strip().lower()
    ]
    if not patterns:
        return name, ()
    selected = _SELECTED.match(rest) if any(pattern.count(":") > 1 for pattern in patterns) else None
    at = selected.end() if selected else 0
    head, rest = f"{family}{colon}{rest[:at]}", rest[at:]
    if not rest.strip():
        return name, ()
    files = [rest] if os.path.isfile(os.path.expanduser(rest.strip())) else rest.split(",")
    return head, tuple(file.strip() for file in files if file.strip())


def files_in(name: str) -> tuple[str, ...]:
    """Files that the name of a field refers to, as in `difference:cation.molden`; none for most fields."""
    return without_files(name)[1]


def with_absolute_files(name: str) -> str:
    """The same field by a name that means the same in every folder."""
    head, files = without_files(name)
    return f"{head}{','.join(os.path.abspath(os.path.expanduser(file)) for file in files)}" if files else name


def resolve(wavefunction: Wavefunction, name: str, references: References) -> Field:
    """The field of a wavefunction that a name stands for.

    Parameters
    ----------
    wavefunction
        What it is a field of.
    name
        As a user writes it.
    references
        Reads files that the name refers to.

    Raises
    ------
    FieldError
        When there is no such field, or the wavefunction does not have it.
    """
    if not isinstance(name, str):
        raise FieldError(f"field: expected a name such as 'homo' or a Field, got {name!r}")
    wanted = name.strip()
    for module in field_modules().values():
        field = module.resolve(wavefunction, wanted, references)
        if field is not None:
            return _marked(field) if wavefunction.damaged else field
    from difflib import get_close_matches

    known = [pattern for pattern, _ in field_names()]
    close = get_close_matches(wanted.lower(), known, 1, cutoff=0.4)
    hint = f" Nearest match: {close[0]}." if close else ""
    raise FieldError(f"field: there is no {name!r}. Known: {', '.join(known)}.{hint}")
