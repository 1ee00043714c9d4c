r"""Complex orbitals: their magnitudes, drawn as orbitals are, and their phases, which colour them: `phase:homo`.

The magnitude of an orbital with components :math:`\psi_\alpha` and :math:`\psi_\beta` is
:math:`(|\psi_\alpha|^2 + |\psi_\beta|^2)^{1/2}`. Its phase is that of the larger component at each point, which tells
most of what is there: that of spin up where both are as large, as of a spin in the plane. Where the larger one changes
the colours jump. A phase common to all of an orbital means
nothing: it is chosen such that the largest coefficient (the first of those as large) is real and positive. An orbital
that is real but for that phase then has 0 and pi only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.caches import Derived
from ..base.errors import FieldError
from ..base.watch import checkpoint
from ..gaussians.extent import Spread, spread_of
from ..gaussians.kernels._sums import PLANES
from ..gaussians.packing import packed_shells
from ..model.lattice import Lattice
from ..model.wavefunction import Orbitals, Spinors, Wavefunction
from ._field import Field, PointEvaluator, References, SlabEvaluator
from .orbital import Orbital, names_orbital, orbital_of, tables_of

PRIORITY = 96
GROUP = "Orbitals"
NAMES = (("phase:homo", "The phase of a complex orbital, which colours its magnitude (phase:mo:12)"),)
DRAWN_ON = {"phase": ""}

_AS_LARGE = 1 - 1e-6
"""Coefficients of such a share of the largest one are as large."""

_REAL = "the orbitals of this file are real: their signs are shown by two colours"

_LARGER = 1.001
"""How many times as large as that of spin up the component of spin down has to be for its phase to be shown: where a
spin lies in the plane both are as large, but for rounding."""

_SMALLEST = 1e-30
"""Magnitude below which an orbital has no phase."""


def parts_of(spinors: Spinors) -> NDArray[np.float64]:
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
    def _coefficients(self) -> NDArray[np.float64]:
        """Magnitudes over all parts, by which bounds hold for the whole."""
        real = _real(self.wavefunction)
        return np.linalg.norm([real.alpha.coefficients[:, part.index] for part in self._those], axis=0)

    @cached_property
    def _packed_parts(self) -> NDArray[np.float64]:
        real = _real(self.wavefunction)
        columns = np.stack([real.alpha.coefficients[:, part.index] for part in self._those], axis=1)
        return packed_shells(real).from_basis @ columns

    @cached_property
    def _packed(self) -> NDArray[np.float64]:
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
                    values = _filled(joint, first, last, (len(those) * n, *plane), out.dtype, target)
                    parts = list(values.reshape(len(those), n, *plane))
                else:
                    parts = [_filled(one, first, last, (n, *plane), out.dtype, target) for one in each]
                home[first - start : last - start] = _magnitude(parts)
                checkpoint()
            if not target.on_host:
                out.from_numpy(home)

        return evaluate

    def at_points(self, target: Target) -> PointEvaluator:
        """Evaluator for points."""
        evaluators = [part.at_points(target) for part in self._those]
        return lambda points: _magnitude([evaluate(points) for evaluate in evaluators])


def _filled(
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


@dataclass(frozen=True, eq=False)
class Phase(Field):
    """The phase of a complex orbital, from -pi to pi, a `Field` that colours others.

    Attributes
    ----------
    orbital : SpinorOrbital
    quantity, unit : str
        For people.
    """

    orbital: SpinorOrbital
    quantity: str
    unit: str = "rad"
    isovalue: float = np.pi / 2
    is_bounded: bool = False
    colour_range: float = np.pi
    colour_map: str = "phase"

    def at_points(self, target: Target) -> PointEvaluator:
        """Evaluator for points."""
        evaluators = [None if part is None else part.at_points(target) for part in self.orbital.parts]

        def evaluate(points: NDArray[np.float64]) -> NDArray[np.floating]:
            nothing = np.zeros(len(points), target.dtype)
            parts = [nothing if one is None else one(points) for one in evaluators]
            real, imaginary = parts[:2]
            if len(parts) > 2:
                down = np.hypot(parts[2], parts[3]) > _LARGER * np.hypot(real, imaginary)
                real, imaginary = np.where(down, parts[2], real), np.where(down, parts[3], imaginary)
            return np.arctan2(imaginary, real).astype(target.dtype, copy=False)

        return evaluate

    def enclosing_box(self, isovalue: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Corners of a box about most of the orbital, in bohr: phases do not fall off."""
        return self.orbital.enclosing_box(0.01)


def customary_colours(wavefunction: Wavefunction, name: str) -> str:
    """The phase of a complex orbital; nothing for another field."""
    return f"phase:{name.strip()}" if wavefunction.spinors is not None and names_orbital(name) else ""


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """The phase, with the reason, where orbitals are real."""
    return {} if wavefunction.spinors is not None else {NAMES[0][0]: _REAL}


def resolve(wavefunction: Wavefunction, name: str, references: References) -> Phase | None:
    """The phase that a name stands for, or None for another name.

    Raises
    ------
    FieldError
        When the orbitals are real, or there is no such orbital.
    """
    family, _, of = name.strip().partition(":")
    if family.lower() != "phase":
        return None
    if wavefunction.spinors is None:
        raise FieldError(f"field {name!r}: {_REAL}")
    orbital = orbital_of(wavefunction, of.strip() or "homo")
    if not isinstance(orbital, SpinorOrbital):
        raise FieldError(f"field {name!r}: expected an orbital behind the colon, as in phase:homo, phase:mo:12")
    return Phase(orbital, f"phase of {orbital.quantity}")
