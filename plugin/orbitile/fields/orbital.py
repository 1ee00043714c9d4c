"""Molecular orbitals: `homo`, `lumo+1`, `mo:17`, `mo:17:beta`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.caches import Derived
from ..base.errors import FieldError
from ..gaussians.bounds import ShellEnvelopes, encloses, enclosing_box, shell_envelopes
from ..gaussians.expansion import GaussianExpansion
from ..gaussians.extent import RadialTables, Spread, radial_tables, spread_of
from ..gaussians.kernels import (
    AUTO,
    PreparedOrbital,
    checked_name,
    class_of,
    kernel_for,
    matrix_product,
    recorded_choice,
)
from ..gaussians.kernels._sums import MANY, in_double, on_slabs
from ..gaussians.kernels._tolerances import tolerances
from ..gaussians.localised.schemes import SCHEMES
from ..gaussians.packing import PackedShells, merged_primitives, packed_shells
from ..model.lattice import Lattice
from ..model.wavefunction import DAMAGED, Spin, Wavefunction
from ._degenerate import degenerate_with
from ._field import DegenerateSet, Field, PointEvaluator, References, SlabEvaluator
from ._frontier import frontier_order, why_no_frontier

PRIORITY = 100
GROUP = "Orbitals"
NAMES = (
    ("homo", "The highest occupied orbital"),
    ("lumo", "The lowest unoccupied orbital"),
    ("homo-N", "The Nth orbital below the highest occupied one"),
    ("lumo+N", "The Nth orbital above the lowest unoccupied one"),
    ("mo:N", "Orbital N, counted from 1 in the order of the file, or what the file calls it: mo:BD (1) C 1 - H 2"),
    ("mo:N:alpha", "The same, of one spin (:alpha or :beta, also behind homo and lumo)"),
)

_NAME = re.compile(r"(?:(homo|lumo)([+-]\d{1,18})?|mo:?\s*(\d{1,18}))(?::(a|alpha|b|beta))?")

_SINGLE_SUFFICES = 8.0
"""Sums of terms that are larger than their result by this factor are formed in double precision where the device can,
also for a result in single precision: rounding would show, about 1.2e-7 times that factor. Diffuse bases do it."""


@dataclass(frozen=True, eq=False)
class Orbital(Field):
    """One molecular orbital, a `Field`.

    Attributes
    ----------
    wavefunction : Wavefunction
    spin : str
        Spin whose set of orbitals it is counted in.
    index : int
        From 0, in the order of the file.
    quantity, unit : str
        For people.
    kernel : str
        Name of the kernel that computes it, or `auto`.
    """

    wavefunction: Wavefunction
    spin: Spin
    index: int
    quantity: str
    unit: str = "bohr^-3/2"
    isovalue: None = None
    kernel: str = AUTO

    @property
    def name(self) -> str:
        """By its number: `mo:17`, `mo:17:beta`."""
        return orbital_name(self.wavefunction, self.index, self.spin)

    @cached_property
    def _coefficients(self) -> NDArray[np.float64]:
        return self.wavefunction.orbitals(self.spin).coefficients[:, self.index]

    @cached_property
    def _packed(self) -> NDArray[np.float64]:
        return packed_shells(self.wavefunction).from_basis @ self._coefficients

    @cached_property
    def _terms(self) -> NDArray[np.float64]:
        terms: NDArray[np.float64] = merged_primitives(self.wavefunction).from_basis @ self._coefficients
        terms.setflags(write=False)  # sent to a device once
        return terms

    @cached_property
    def _envelopes(self) -> ShellEnvelopes:
        return shell_envelopes(packed_shells(self.wavefunction), self._packed)

    @cached_property
    def spread(self) -> Spread:
        """Estimate of how far it reaches about each atom."""
        packed = packed_shells(self.wavefunction)
        return spread_of(packed, tables_of(packed), self._packed)

    @cached_property
    def degenerate(self) -> tuple[int, ...]:
        """The orbitals of one energy and occupation that it is one of, itself included, by rising energy.

        The same for each of them. It is alone among natural orbitals, and where a file has no energies.
        """
        return degenerate_with(self.wavefunction, self.spin, self.index)

    @property
    def degenerate_set(self) -> DegenerateSet:
        """The orbitals that it is degenerate with, and itself."""
        members = self.degenerate
        orbitals = tuple(self if index == self.index else self._sibling(index) for index in members)
        energies = self.wavefunction.orbitals(self.spin).energies[list(members)]
        key = self.spin, members, self.kernel
        return DegenerateSet(orbitals, self.wavefunction, key, energies, members.index(self.index))

    def _sibling(self, index: int) -> Orbital:
        return numbered(self.wavefunction, self.spin, index).with_kernel(self.kernel)

    def neighbour(self, step: int) -> str:
        """Name of the orbital some places further on in the file.

        Raises
        ------
        FieldError
            When there is none so far on.
        """
        name = orbital_name(self.wavefunction, self.index + step, self.spin)
        orbital_of(self.wavefunction, name)
        return name

    @property
    def is_even_or_odd(self) -> bool:
        """Whether it keeps its magnitude under inversion at an atom: one of a lone atom, of s and d or of p and f."""
        shells = self.wavefunction.shells
        if len({shell.atom for shell in shells}) > 1:
            return False
        odd = np.repeat([shell.angular_momentum % 2 for shell in shells], [shell.n_functions for shell in shells])
        squares = np.bincount(odd, self._coefficients**2, 2)
        return bool(squares.min() < 1e-8 * squares.max())

    @cached_property
    def _sample(self) -> tuple[float, float]:
        """Largest magnitudes, about the atoms, of the orbital and of the sum of the magnitudes of its terms."""
        value, terms = merged_primitives(self.wavefunction).largest(self._terms)
        return max(value, 1e-12), terms

    def _tolerance(self, target: Target) -> float:
        return tolerances(target.dtype).orbital * self._sample[0]

    def _working(self, target: Target) -> Target:
        value, terms = self._sample
        return in_double(target) if terms > _SINGLE_SUFFICES * value else target

    def enclosing_box(self, isovalue: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Corners of a box outside which the orbital is guaranteed to be smaller in magnitude, in bohr."""
        return enclosing_box(self._envelopes, isovalue)

    def is_enclosed(self, low: NDArray[np.float64], high: NDArray[np.float64], isovalue: float) -> bool:
        """Whether the orbital is proven smaller in magnitude outside a box, as outside `enclosing_box`."""
        return encloses(self._envelopes, isovalue, low, high)

    def _prepared(self, target: Target) -> PreparedOrbital:
        return PreparedOrbital(
            packed_shells(self.wavefunction),
            self._packed,
            self._envelopes,
            merged_primitives(self.wavefunction),
            self._terms,
            self._tolerance(target),
            target,
            self._working(target),
        )

    def with_kernel(self, kernel: str) -> Orbital:
        """The same orbital, computed by a kernel of one's choice; as it is for `auto`.

        Raises
        ------
        OrbitileError
            When there is no such kernel.
        """
        if checked_name(kernel) in (AUTO, self.kernel):
            return self
        return _WITH_KERNELS.of(self, kernel, lambda: replace(self, kernel=kernel))

    def _is_quick(self, lattice: Lattice, target: Target, n_sums: int = 1) -> bool:
        """Whether values on a lattice are to be had before a kernel for them is loaded."""
        if not target.on_host or self.kernel != AUTO or not lattice.is_orthogonal:
            return False
        if recorded_choice(class_of(lattice), target) != "separable":
            return False
        degree = merged_primitives(self.wavefunction).degree
        return matrix_product.is_quick(degree, lattice.shape, self._working(target), n_sums)

    def launches(self, lattice: Lattice, target: Target, together: int = 1) -> bool:
        """Whether kernels are launched for its values on a lattice; not for few."""
        return not self._is_quick(lattice, target, together)

    def at_few(self, n_points: int) -> Field | None:
        """The same orbital as NumPy computes it, where the points are few; None where they are many."""
        if self.kernel != AUTO or matrix_product.are_many(merged_primitives(self.wavefunction).first_term, n_points):
            return None
        return self.with_kernel(matrix_product.NAME)

    def on_slabs(self, lattice: Lattice, target: Target) -> SlabEvaluator:
        """Evaluator for slabs of any lattice."""
        if self._is_quick(lattice, target):
            return matrix_product.on_slabs(self._prepared(target), lattice)
        module = kernel_for(self.kernel, class_of(lattice), target)
        return module.on_slabs(self._prepared(target), lattice)

    def joins(self, other: Field) -> bool:
        """Whether the other one is an orbital of the same wavefunction."""
        return isinstance(other, Orbital) and other.wavefunction is self.wavefunction

    def together(self, others: Sequence[Field], lattice: Lattice, target: Target) -> SlabEvaluator | None:
        """Evaluator for slabs of this orbital and others of the same wavefunction.

        None for a lattice or a wavefunction where nothing can be shared.
        """
        orbitals = [self, *(other for other in others if isinstance(other, Orbital))]
        primitives = merged_primitives(self.wavefunction)
        working = {orbital._working(target) for orbital in orbitals}
        separable = all(orbital.kernel in (AUTO, "separable") for orbital in orbitals)
        if len(primitives.exponent) > MANY or len(working) > 1 or not lattice.is_orthogonal or not separable:
            return None
        expansion = GaussianExpansion(
            primitives.centre,
            primitives.exponent,
            primitives.degree,
            primitives.first_term,
            np.stack([orbital._terms for orbital in orbitals], axis=1),
        )
        tolerances = np.array([orbital._tolerance(target) for orbital in orbitals])
        if all(orbital._is_quick(lattice, target, len(orbitals)) for orbital in orbitals):
            return matrix_product.sums_on_slabs(expansion, lattice, tolerances, working.pop())
        return on_slabs(expansion, lattice, tolerances, working.pop())

    def at_points(self, target: Target) -> PointEvaluator:
        """Evaluator for points."""
        module = kernel_for(self.kernel, "points", target)
        in_working_precision = module.at_points(self._prepared(target))

        def evaluate(points: NDArray[np.float64]) -> NDArray[np.floating]:
            values: NDArray[np.floating] = in_working_precision(points)
            return values.astype(target.dtype, copy=False)

        return evaluate


_RADIAL_TABLES = Derived[RadialTables]("packed functions")


def tables_of(packed: PackedShells) -> RadialTables:
    """Radial functions of a basis, by which the spreads of its orbitals are estimated; kept with it."""
    return _RADIAL_TABLES.of(packed, None, lambda: radial_tables(packed))


def size_of(orbital: Orbital) -> int:
    """Bytes of the coefficients that an orbital gets when it is computed; the wavefunction is not its own."""
    return 3 * 8 * orbital.wavefunction.n_basis


_WITH_KERNELS = Derived[Orbital]("orbitals", size=size_of)

_ORBITALS = Derived[Orbital]("orbitals", size=size_of)
"""By name: the same orbital is asked for again and again, for its isovalue, its lattice, its values."""


def is_orbital_name(name: str) -> bool:
    """Whether a name in small letters is that of one orbital by its number or its place: `mo:7`, `homo-1:beta`."""
    return _NAME.fullmatch(name) is not None


def names_orbital(name: str) -> bool:
    """Whether a name is that of an orbital, localised or natural transition ones also: shown by what they enclose."""
    plain = name.strip().lower()
    return is_orbital_name(plain) or plain.partition(":")[0] in ("mo", "nto", *SCHEMES)


def resolve(wavefunction: Wavefunction, name: str, references: References) -> Orbital | None:
    """The orbital that a name stands for, see `orbital_of`."""
    return orbital_of(wavefunction, name)


def orbital_of(wavefunction: Wavefunction, name: str) -> Orbital | None:
    """The orbital that a name stands for, or None for a name that is not one of an orbital.

    Without a spin the alpha set is meant where there are two.

    Raises
    ------
    FieldError
        When the wavefunction has no such orbital.
    """
    name = name.strip().lower()
    match = _NAME.fullmatch(name)
    if match is None:
        return _ORBITALS.of(wavefunction, name, lambda: _named(wavefunction, name)) if name.startswith("mo:") else None
    return _ORBITALS.of(wavefunction, name, lambda: _found(wavefunction, name, match))


def _found(wavefunction: Wavefunction, name: str, match: re.Match[str]) -> Orbital:
    frontier, shift, number, spin_letter = match.groups()
    spin: Spin = "beta" if (spin_letter or "a").startswith("b") else "alpha"
    orbitals = wavefunction.orbitals(spin)
    of_spin = f" {spin}" if wavefunction.beta is not None else ""
    if number is not None:
        index = int(number) - 1
        if not 0 <= index < len(orbitals):
            raise FieldError(
                f"field {name!r}: the file holds{of_spin} orbitals 1 to {len(orbitals)}. Nearest match: "
                f"{orbital_name(wavefunction, 0 if index < 0 else len(orbitals) - 1, spin)}"
            )
        return numbered(wavefunction, spin, index)
    named = spin if spin_letter else None
    if reason := why_no_frontier(wavefunction):
        raise FieldError(f"field {name!r}: {reason}; choose an orbital by its number, mo:1 to mo:{len(orbitals)}")
    occupied, unoccupied = frontier_order(wavefunction, spin, named)
    order = occupied + unoccupied
    base = len(occupied) - 1 if frontier == "homo" else len(occupied)
    place = base + int(shift or 0)
    if not 0 <= place < len(order):
        have = f"{len(occupied)} occupied and {len(unoccupied)} unoccupied{of_spin} orbitals"
        if occupied and unoccupied:
            have += f", homo-{len(occupied) - 1} to lumo+{len(unoccupied) - 1}"
        raise FieldError(f"field {name!r}: there is no such orbital; the file holds {have}")
    described = f"{name.split(':')[0].upper()}{of_spin} (orbital {order[place] + 1})"
    return _orbital(wavefunction, spin, order[place], described)


def _named(wavefunction: Wavefunction, name: str) -> Orbital:
    """The orbital that the file calls what stands behind `mo:`, blanks and capital letters aside."""
    text = name.removeprefix("mo:")
    spins: tuple[Spin, ...] = ("alpha",) if wavefunction.beta is None else ("alpha", "beta")
    stem, _, ending = text.rpartition(":")
    if stem and ending in ("a", "b", "alpha", "beta"):
        text, spins = stem, ("beta" if ending.startswith("b") else "alpha",)
    wanted = "".join(text.split())
    for spin in spins:
        for index, label in enumerate(wavefunction.orbitals(spin).labels):
            if label and "".join(label.lower().split()) == wanted:
                return numbered(wavefunction, spin, index)
    if not any(wavefunction.alpha.labels):
        raise FieldError(f"field {name!r}: expected a number behind mo:, since the file gives its orbitals no names")
    raise FieldError(f"field {name!r}: the file names no orbital so; the first is {wavefunction.alpha.labels[0]}")


def numbered(wavefunction: Wavefunction, spin: Spin, index: int) -> Orbital:
    """The orbital at a place in the file, from 0."""
    return _orbital(wavefunction, spin, index, f"orbital {index + 1}" + _of_spin(wavefunction, spin))


def _of_spin(wavefunction: Wavefunction, spin: Spin) -> str:
    return f" {spin}" if wavefunction.beta is not None else ""


def _orbital(wavefunction: Wavefunction, spin: Spin, index: int, quantity: str) -> Orbital:
    """An orbital, what the file calls it added to its description."""
    label = wavefunction.orbitals(spin).labels[index]
    quantity += f": {label}" if label else ""
    quantity += f" {DAMAGED}" if wavefunction.damaged else ""
    if wavefunction.spinors is None:
        return Orbital(wavefunction, spin, index, quantity)
    from .spinors import SpinorOrbital  # a kind of orbital itself

    return SpinorOrbital(wavefunction, spin, index, f"{quantity}, magnitude")


def orbital_name(wavefunction: Wavefunction, index: int, spin: Spin = "alpha") -> str:
    """Name of an orbital by its place in the file, from 0: `mo:17`, or `mo:17:beta` where there are two sets."""
    return f"mo:{index + 1}" + (f":{spin}" if wavefunction.beta is not None else "")


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """Names of orbitals that a file lacks, each with the reason."""
    occupied, unoccupied = frontier_order(wavefunction, "alpha")
    of_spin = " alpha" if wavefunction.beta is not None else ""
    reasons: dict[str, str] = {}
    if reason := why_no_frontier(wavefunction):
        return dict.fromkeys(("homo", "homo-N", "lumo", "lumo+N"), reason)
    if not occupied:
        reasons |= dict.fromkeys(("homo", "homo-N"), f"the file holds no occupied{of_spin} orbitals")
    if not unoccupied:
        reasons |= dict.fromkeys(("lumo", "lumo+N"), f"the file holds no unoccupied{of_spin} orbitals")
    return reasons
