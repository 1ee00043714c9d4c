r"""The phases of complex orbitals, which colour their magnitudes: `phase:homo`.

The phase is that of the larger component at each point, which tells most of what is there: that of spin up where both
are as large, as of a spin in the plane. Where the larger one changes the colours jump. A phase common to all of an
orbital means nothing: it is chosen such that the largest coefficient (the first of those as large) is real and
positive. An orbital that is real but for that phase then has 0 and pi only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.errors import FieldError
from ..model.wavefunction import Wavefunction
from . import Field, PointEvaluator, References
from .orbital import SpinorOrbital, names_orbital, orbital_of

PRIORITY = 96
GROUP = "Orbitals"
NAMES = (("phase:homo", "The phase of a complex orbital, which colours its magnitude (phase:mo:12)"),)
DRAWN_ON = {"phase": ""}

_REAL = "the orbitals of this file are real: their signs are shown by two colours"

_LARGER = 1.001
"""How many times as large as that of spin up the component of spin down has to be for its phase to be shown: where a
spin lies in the plane both are as large, but for rounding."""


@dataclass(frozen=True, eq=False)
class Phase(Field):
    """The phase of a complex orbital, from -pi to pi, a `Field` that colours others.

    Attributes
    ----------
    orbital : SpinorOrbital
    quantity, unit : str
        Shown to people.
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

        def evaluate(points: Reals) -> NDArray[np.floating]:
            nothing = np.zeros(len(points), target.dtype)
            parts = [nothing if evaluate_part is None else evaluate_part(points) for evaluate_part in evaluators]
            real, imaginary = parts[:2]
            if len(parts) > 2:
                down = np.hypot(parts[2], parts[3]) > _LARGER * np.hypot(real, imaginary)
                real, imaginary = np.where(down, parts[2], real), np.where(down, parts[3], imaginary)
            return np.arctan2(imaginary, real).astype(target.dtype, copy=False)

        return evaluate

    def enclosing_box(self, isovalue: float) -> tuple[Reals, Reals]:
        """Corners of a box about most of the orbital, in bohr: phases do not fall off."""
        return self.orbital.enclosing_box(0.01)


def default_colours(wavefunction: Wavefunction, name: str) -> str:
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
