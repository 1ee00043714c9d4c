r"""Molecular orbitals: `homo`, `lumo+1`, `mo:17`, `mo:17:beta`; lists and ranges of them: `homo-2..lumo+2`, `mo:5-10`.

Of a complex orbital with components :math:`\psi_\alpha` and :math:`\psi_\beta` the magnitude is drawn,
:math:`(|\psi_\alpha|^2 + |\psi_\beta|^2)^{1/2}`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.errors import FieldError
from ..base.watch import checkpoint
from ..gaussians.extent import (
    RadialTables,
    ShellEnvelopes,
    Spread,
    encloses,
    enclosing_box,
    radial_tables,
    shell_envelopes,
    spread_of,
)
from ..gaussians.kernels import (
    AUTO,
    PreparedOrbital,
    checked_name,
    class_of,
    kernel_for,
    matrix_product,
    recorded_choice,
)
from ..gaussians.kernels._sums import MANY, PLANES, in_double, on_slabs
from ..gaussians.kernels._tolerances import tolerances
from ..gaussians.localised.localisation import SCHEMES
from ..gaussians.packing import PackedShells, merged_primitives, packed_shells
from ..model.lattice import Lattice
from ..model.wavefunction import DAMAGED, Orbitals, Spin, Spinors, Wavefunction
from . import DegenerateSet, Field, PointEvaluator, References, SlabEvaluator
from ._frontier import degenerate_with, frontier_order, why_no_frontier

PRIORITY = 100
GROUP = "Orbitals"
NAMES = (
    ("homo", "The highest occupied orbital"),
    ("lumo", "The lowest unoccupied orbital"),
    ("homo-N", "The Nth orbital below the highest occupied one"),
    ("lumo+N", "The Nth orbital above the lowest unoccupied one"),
    ("mo:N", "Orbital N, counted from 1 in the order of the file, or its name in the file: mo:BD (1) C 1 - H 2"),
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
        Shown to people.
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
    def _coefficients(self) -> Reals:
        return self.wavefunction.orbitals(self.spin).coefficients[:, self.index]

    @cached_property
    def _packed(self) -> Reals:
        return packed_shells(self.wavefunction).rows @ self._coefficients

    @cached_property
    def _terms(self) -> Reals:
        terms: Reals = merged_primitives(self.wavefunction).rows @ self._coefficients
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

    def enclosing_box(self, isovalue: float) -> tuple[Reals, Reals]:
        """Corners of a box outside which the orbital is guaranteed to be smaller in magnitude, in bohr."""
        return enclosing_box(self._envelopes, isovalue)

    def is_enclosed(self, low: Reals, high: Reals, isovalue: float) -> bool:
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
        expansion = primitives.with_terms(np.stack([orbital._terms for orbital in orbitals], axis=1))
        tolerances = np.array([orbital._tolerance(target) for orbital in orbitals])
        if all(orbital._is_quick(lattice, target, len(orbitals)) for orbital in orbitals):
            return matrix_product.sums_on_slabs(expansion, lattice, tolerances, working.pop())
        return on_slabs(expansion, lattice, tolerances, working.pop())

    def at_points(self, target: Target) -> PointEvaluator:
        """Evaluator for points."""
        module = kernel_for(self.kernel, "points", target)
        in_working_precision = module.at_points(self._prepared(target))

        def evaluate(points: Reals) -> NDArray[np.floating]:
            values: NDArray[np.floating] = in_working_precision(points)
            return values.astype(target.dtype, copy=False)

        return evaluate


_AS_LARGE = 1 - 1e-6
"""Share of the largest coefficient from which on others count as equally large."""

_SMALLEST = 1e-30
"""Magnitude below which an orbital has no phase."""


def parts_of(spinors: Spinors) -> Reals:
    """Real and imaginary parts of the components, the largest coefficient real and positive.

    Returns
    -------
    ndarray, shape (2 n_components, n_basis, n_orbitals)
    """
    flat = spinors.components.reshape(-1, len(spinors))
    magnitudes = np.abs(flat)
    first = np.argmax(magnitudes >= _AS_LARGE * magnitudes.max(axis=0), axis=0)
    largest = np.take_along_axis(flat, first[None], axis=0)[0]
    turned = spinors.components * (largest.conj() / np.maximum(np.abs(largest), _SMALLEST))
    return Spinors(turned, spinors.occupations).parts()


_PARTS = Derived[Wavefunction]("orbitals")


def _real(wavefunction: Wavefunction) -> Wavefunction:
    """The parts of all complex orbitals as real ones, those of one orbital next to each other."""
    spinors = wavefunction.spinors
    assert spinors is not None  # whoever asks has looked

    def make() -> Wavefunction:
        columns = parts_of(spinors).transpose(1, 2, 0).reshape(wavefunction.n_basis, -1)
        return replace(wavefunction, alpha=Orbitals(columns, np.zeros(columns.shape[1])), natural=True, excitations=())

    return _PARTS.of(wavefunction, None, make)


@dataclass(frozen=True, eq=False)
class SpinorOrbital(Orbital):
    """The magnitude of a complex orbital, a `Field`."""

    @cached_property
    def parts(self) -> tuple[Orbital | None, ...]:
        """Real and imaginary part of each component as orbitals; None where one is zero everywhere."""
        real = _real(self.wavefunction)
        count = len(real.alpha) // len(self.wavefunction.alpha)
        there = np.any(real.alpha.coefficients, axis=0).tolist()
        return tuple(
            Orbital(real, "alpha", n, self.quantity, kernel=self.kernel) if there[n] else None
            for n in range(self.index * count, (self.index + 1) * count)
        )

    @cached_property
    def _those(self) -> list[Orbital]:
        return [part for part in self.parts if part is not None]

    @cached_property
    def _coefficients(self) -> Reals:
        """Magnitudes over all parts, by which bounds hold for the whole."""
        real = _real(self.wavefunction)
        return np.linalg.norm([real.alpha.coefficients[:, part.index] for part in self._those], axis=0)

    @cached_property
    def _packed_parts(self) -> Reals:
        real = _real(self.wavefunction)
        columns = np.stack([real.alpha.coefficients[:, part.index] for part in self._those], axis=1)
        return packed_shells(real).rows @ columns

    @cached_property
    def _packed(self) -> Reals:
        return np.linalg.norm(self._packed_parts, axis=1)

    @cached_property
    def spread(self) -> Spread:
        """Estimate of how far it reaches about each atom."""
        packed = packed_shells(self.wavefunction)
        return spread_of(packed, tables_of(packed), self._packed_parts)

    def launches(self, lattice: Lattice, target: Target, together: int = 1) -> bool:
        """Whether kernels are launched for the values of its parts on a lattice."""
        return any(part.launches(lattice, target, len(self._those)) for part in self._those)

    def joins(self, other: Field) -> bool:
        """Never: its own parts are computed together."""
        return False

    def on_slabs(self, lattice: Lattice, target: Target) -> SlabEvaluator:
        """Evaluator for slabs of any lattice, all parts in one pass where the lattice is orthogonal."""
        those = self._those
        joint = those[0].together(those[1:], lattice, target) if len(those) > 1 else None
        each = [] if joint else [part.on_slabs(lattice, target) for part in those]

        def evaluate(start: int, stop: int, out: Any) -> None:
            step = PLANES if target.on_host else stop - start
            home = out if target.on_host else np.empty(out.shape, out.dtype)
            for first in range(start, stop, step):
                last = min(first + step, stop)
                n, plane = last - first, lattice.shape[1:]
                if joint is not None:
                    values = _fill(joint, first, last, (len(those) * n, *plane), out.dtype, target)
                    parts = list(values.reshape(len(those), n, *plane))
                else:
                    parts = [_fill(part, first, last, (n, *plane), out.dtype, target) for part in each]
                home[first - start : last - start] = _magnitude(parts)
                checkpoint()
            if not target.on_host:
                out.from_numpy(home)

        return evaluate

    def at_points(self, target: Target) -> PointEvaluator:
        """Evaluator for points."""
        evaluators = [part.at_points(target) for part in self._those]
        return lambda points: _magnitude([evaluate(points) for evaluate in evaluators])


@dataclass(frozen=True, eq=False, kw_only=True)
class TransformedOrbital(Orbital):
    """An orbital that was made of those of a wavefunction, such as a localised one; known by its family and number.

    Attributes
    ----------
    canonical : Wavefunction
        The wavefunction that it was made of; `wavefunction` has the orbitals that were made.
    family : str
        The word before its number: `ibo`.
    """

    canonical: Wavefunction
    family: str

    @property
    def name(self) -> str:
        """By its family and number: `ibo:12`, `ibo:12:beta`."""
        return name_in_family(self.wavefunction, self.family, self.index, self.spin)

    @cached_property
    def degenerate(self) -> tuple[int, ...]:
        """Itself: equivalent bonds have the same isovalue by their shape."""
        return (self.index,)


def name_in_family(wavefunction: Wavefunction, family: str, index: int, spin: Spin = "alpha") -> str:
    """Name of an orbital by its place in a family, from 0: `ibo:17`, or `ibo:17:beta` where there are two sets."""
    return f"{family}:{index + 1}" + (f":{spin}" if wavefunction.beta is not None else "")


def spin_of(letters: str | None) -> Spin:
    """The spin that the end of a name stands for, `beta` or `b`; alpha where there is none."""
    return "beta" if (letters or "a").startswith("b") else "alpha"


def _fill(
    evaluate: SlabEvaluator, first: int, last: int, shape: tuple[int, ...], dtype: Any, target: Target
) -> NDArray[np.floating]:
    """What an evaluator gives, in a NumPy array."""
    from taichi_kernels.arrays import allocate

    values: Any = np.empty(shape, dtype) if target.on_host else allocate(shape, dtype)
    evaluate(first, last, values)
    return values if target.on_host else values.to_numpy()


def _magnitude(parts: list[NDArray[np.floating]]) -> NDArray[np.floating]:
    with np.errstate(under="ignore"):
        total = parts[0] * parts[0]
        for part in parts[1:]:
            total += part * part
    return np.sqrt(total, out=total)


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
    if (known := _ORBITALS.get(wavefunction, name)) is not None:
        return known
    match = _NAME.fullmatch(name)
    if match is None:
        return (
            _ORBITALS.of(wavefunction, name, lambda: _find_by_label(wavefunction, name))
            if name.startswith("mo:")
            else None
        )
    return _ORBITALS.of(wavefunction, name, lambda: _find(wavefunction, name, match))


def _find(wavefunction: Wavefunction, name: str, match: re.Match[str]) -> Orbital:
    frontier, shift, number, spin_letter = match.groups()
    spin = spin_of(spin_letter)
    orbitals, named_spin = wavefunction.orbitals(spin), of_spin(wavefunction, spin)
    if number is not None:
        index = int(number) - 1
        if not 0 <= index < len(orbitals):
            raise FieldError(
                f"field {name!r}: the file holds{named_spin} orbitals 1 to {len(orbitals)}. Nearest match: "
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
        have = f"{len(occupied)} occupied and {len(unoccupied)} unoccupied{named_spin} orbitals"
        if occupied and unoccupied:
            have += f", homo-{len(occupied) - 1} to lumo+{len(unoccupied) - 1}"
        raise FieldError(f"field {name!r}: there is no such orbital; the file holds {have}")
    described = f"{name.split(':')[0].upper()}{named_spin} (orbital {order[place] + 1})"
    return _orbital(wavefunction, spin, order[place], described)


def _find_by_label(wavefunction: Wavefunction, name: str) -> Orbital:
    """The orbital that the file calls what stands behind `mo:`, blanks and capital letters aside."""
    text = name.removeprefix("mo:")
    spins = wavefunction.spins
    stem, _, ending = text.rpartition(":")
    if stem and ending in ("a", "b", "alpha", "beta"):
        text, spins = stem, (spin_of(ending),)
    wanted = "".join(text.split())
    for spin in spins:
        for index, label in enumerate(wavefunction.orbitals(spin).labels):
            if label and "".join(label.lower().split()) == wanted:
                return numbered(wavefunction, spin, index)
    if not any(wavefunction.alpha.labels):
        raise FieldError(f"field {name!r}: expected a number behind mo:, since the file gives its orbitals no names")
    raise FieldError(
        f"field {name!r}: the file has no orbital of this name; its first is {wavefunction.alpha.labels[0]}"
    )


def numbered(wavefunction: Wavefunction, spin: Spin, index: int) -> Orbital:
    """The orbital at a place in the file, from 0."""
    return _orbital(wavefunction, spin, index, f"orbital {index + 1}" + of_spin(wavefunction, spin))


def of_spin(wavefunction: Wavefunction, spin: Spin) -> str:
    """What tells orbitals of a spin from those of the other: nothing where both share them."""
    return f" {spin}" if wavefunction.beta is not None else ""


def _orbital(wavefunction: Wavefunction, spin: Spin, index: int, quantity: str) -> Orbital:
    """An orbital, what the file calls it added to its description."""
    label = wavefunction.orbitals(spin).labels[index]
    quantity += f": {label}" if label else ""
    quantity += f" {DAMAGED}" if wavefunction.damaged else ""
    if wavefunction.spinors is None:
        return Orbital(wavefunction, spin, index, quantity)
    return SpinorOrbital(wavefunction, spin, index, f"{quantity}, magnitude")


def orbital_name(wavefunction: Wavefunction, index: int, spin: Spin = "alpha") -> str:
    """Name of an orbital by its place in the file, from 0: `mo:17`, or `mo:17:beta` where there are two sets."""
    return name_in_family(wavefunction, "mo", index, spin)


_NUMBERS = re.compile(r"mo:?\s*(\d{1,18})\s*-\s*(\d{1,18})(:\w+)?")


def orbital_list(wavefunction: Wavefunction, text: str) -> list[Orbital] | None:
    """The orbitals that a list or a range stands for: `homo,lumo`, `homo-2..lumo+2`, `mo:1-10`, `mo:1-10:beta`.

    None for a text that is neither a list nor a range of orbitals.

    Raises
    ------
    FieldError
        When there is no such orbital, or a range runs downwards or from one spin to another.
    """
    items = [item.strip().lower() for item in text.split(",")]
    if len(items) == 1 and is_orbital_name(items[0]):
        return None
    found: dict[str, Orbital] = {}
    for item in items:
        orbitals = orbital_range(wavefunction, item)
        if orbitals is None:
            return None
        for orbital in orbitals:
            found.setdefault(orbital.name, orbital)
    return list(found.values())


def orbital_range(wavefunction: Wavefunction, text: str) -> list[Orbital] | None:
    """The orbitals of one range, from its lower end to its upper one; of one name that one; None for anything else.

    `A..B` runs by energy, in the order in which `homo` and `lumo` count, whatever the order of the file; `mo:5-10` by
    number in the file.

    Raises
    ------
    FieldError
        As for `orbital_list`.
    """
    by_number = _NUMBERS.fullmatch(text)
    if by_number is None:
        names = [name.strip() for name in text.split("..")]
    else:
        names = [f"mo:{number}{by_number[3] or ''}" for number in by_number.groups()[:2]]
    ends = [orbital for name in names if (orbital := orbital_of(wavefunction, name)) is not None]
    if len(ends) < len(names) or len(ends) > 2:
        return None
    first, last = ends[0], ends[-1]
    if first.spin != last.spin:
        raise FieldError(f"field {text!r}: expected a range of orbitals of one spin")
    if by_number is None:
        occupied, unoccupied = frontier_order(wavefunction, first.spin, first.spin)
        order = occupied + unoccupied
    else:
        order = list(range(len(wavefunction.orbitals(first.spin))))
    start, stop = order.index(first.index), order.index(last.index)
    if start > stop:
        raise FieldError(f"field {text!r}: expected the lower orbital first; swap the ends of the range")
    named = {orbital.index: orbital for orbital in ends}
    return [named.get(index) or numbered(wavefunction, first.spin, index) for index in order[start : stop + 1]]


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """Names of orbitals that a file lacks, each with the reason."""
    occupied, unoccupied = frontier_order(wavefunction, "alpha")
    alpha, reasons = of_spin(wavefunction, "alpha"), dict[str, str]()
    if reason := why_no_frontier(wavefunction):
        return dict.fromkeys(("homo", "homo-N", "lumo", "lumo+N"), reason)
    if not occupied:
        reasons |= dict.fromkeys(("homo", "homo-N"), f"the file holds no occupied{alpha} orbitals")
    if not unoccupied:
        reasons |= dict.fromkeys(("lumo", "lumo+N"), f"the file holds no unoccupied{alpha} orbitals")
    return reasons
