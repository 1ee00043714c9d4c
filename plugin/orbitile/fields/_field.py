"""What a field is, and what it can do beside giving values: all that others know of fields."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.errors import FieldError
from ..gaussians.extent import Spread
from ..gaussians.kernels import AUTO, checked_name
from ..model.charges import PointCharges
from ..model.lattice import Lattice
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
                f"kernel {kernel}: only orbitals have a choice of kernels, and {self.quantity} is none; leave it at "
                "auto"
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


def marked(field: Field) -> Field:
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
