"""Charges around a molecule that stay as they are, such as those of a force field."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError


@dataclass(frozen=True, eq=False)
class ExternalCharges:
    r"""Charges around a molecule, points or Gaussians; those of the same content are equal.

    .. math::  \rho(r) = \sum_m q_m\, \frac{e^{-|r - r_m|^2 / w_m^2}}{\pi^{3/2} w_m^3}

    Parameters
    ----------
    positions : array_like, shape (n, 3)
        In bohr.
    charges : array_like, shape (n,)
        In e.
    widths : array_like, shape (n,), or a number
        w in bohr; 0 for point charges. Electrons do not pile up at a Gaussian as they may at a positive point.

    Raises
    ------
    OrbitileError
        When shapes do not go together, a number is not finite or a width is negative.
    """

    positions: Reals
    charges: Reals
    widths: ArrayLike = 0.0

    def __post_init__(self) -> None:
        positions, charges = np.array(self.positions, np.float64), np.array(self.charges, np.float64)
        widths = np.array(self.widths, np.float64)
        if positions.ndim != 2 or positions.shape[1:] != (3,) or charges.shape != positions.shape[:1]:
            raise OrbitileError(
                f"external charges: expected positions of shape (n, 3) and n charges, got {positions.shape} and "
                f"{charges.shape}"
            )
        if widths.shape not in ((), charges.shape):
            raise OrbitileError(f"external charges: expected {len(charges)} widths or one, got shape {widths.shape}")
        if len(charges) == 0 or not (np.all(np.abs(positions) < 1e7) and np.all(np.isfinite(charges))):
            raise OrbitileError("external charges: expected one or more, at finite positions and with finite charges")
        if not np.all((widths >= 0) & np.isfinite(widths)):
            raise OrbitileError("external charges: expected widths in bohr of 0 or more, got others")
        widths = np.broadcast_to(widths, charges.shape).copy()
        for name, array in (("positions", positions), ("charges", charges), ("widths", widths)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @cached_property
    def digest(self) -> str:
        """A short text that differs where their content differs."""
        content = b"".join(np.asarray(part).tobytes() for part in (self.positions, self.charges, self.widths))
        return hashlib.sha256(content).hexdigest()[:16]

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> ExternalCharges:
        """Some of them, one at least."""
        return ExternalCharges(self.positions[which], self.charges[which], np.asarray(self.widths)[which])

    def __len__(self) -> int:
        return len(self.charges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExternalCharges) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __str__(self) -> str:
        return f"{len(self)} charges ({self.digest})"
