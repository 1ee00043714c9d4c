r"""The magnetisation of two-component orbitals: `magnetisation:x`, `:y` and `:z`, and its length `magnetisation`.

With occupations :math:`n_i` and Pauli matrices :math:`\sigma`,

.. math::  m(r) = \sum_i n_i\, \psi_i^\dagger(r)\, \sigma\, \psi_i(r),

so that :math:`m_x + i m_y = 2 \sum_i n_i\, \psi_{i\alpha}^* \psi_{i\beta}` and :math:`m_z` is the spin density.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.expressions import Value, sqrt

from ..base.caches import Derived
from ..base.errors import FieldError
from ..gaussians.expansion import GaussianExpansion
from ..gaussians.products import density_products
from ..model.wavefunction import Wavefunction
from . import References
from ._sums import SMALL, SumField
from .density import density_of

PRIORITY = 85
GROUP = "Electron density"
NAMES = (
    ("magnetisation:x", "The spin density along x of two-component orbitals (or :y, :z)"),
    ("magnetisation", "The magnitude of the magnetisation: how much spin there is, in whichever direction"),
)

_UNIT = "e bohr^-3"
_ISOVALUE = 0.005
_SMALLEST = 1e-12
"""Smallest weight of a matrix that counts, in units of the largest."""

_ABSENT = 1e-6
"""Largest element of a matrix that stands for none: calculations converge to this."""

_ONE_AXIS = "spins of these orbitals point along z only: that is the field spin"

_EXPANSIONS = Derived[GaussianExpansion]("sums of Gaussians")


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """All names, with the reason, where orbitals have one component."""
    return {} if _has_two(wavefunction) else dict.fromkeys(dict(NAMES), _ONE_AXIS)


def resolve(wavefunction: Wavefunction, name: str, references: References) -> SumField | None:
    """The field that a name stands for, or None.

    Raises
    ------
    FieldError
        When the orbitals have one component, or there is no such axis.
    """
    family, _, axis = name.strip().lower().partition(":")
    if family != "magnetisation":
        return None
    if axis not in ("", "x", "y", "z"):
        raise FieldError(f"field {name!r}: expected magnetisation:x, :y or :z, or magnetisation alone")
    if not _has_two(wavefunction):
        raise FieldError(f"field {name!r}: {_ONE_AXIS}")
    parts = tuple(_along(wavefunction, along) for along in (axis or "xyz") if _is_there(wavefunction, along))
    if not parts:
        raise FieldError(f"field {name!r}: {'no spin points along ' + axis if axis else 'all electrons are paired'}")
    density = density_of(wavefunction)
    return SumField(
        parts,
        f"magnetisation along {axis}" if axis else "magnitude of the magnetisation",
        _UNIT,
        _ISOVALUE,
        density,
        wavefunction.positions,
        combine=None if axis else _length,
        is_difference=True,
        fewest_points=SMALL,
    )


def magnetisation_matrix(wavefunction: Wavefunction, axis: str) -> NDArray[np.float64]:
    """Matrix over basis functions, shape (n_basis, n_basis), symmetric, of the magnetisation along x, y or z."""
    spinors = wavefunction.spinors
    assert spinors is not None  # whoever asks has looked
    up, down = spinors.components
    n = spinors.occupations
    if axis == "z":
        matrix = ((up * n) @ up.conj().T - (down * n) @ down.conj().T).real
    else:
        mixed = (down * n) @ up.conj().T
        matrix = 2 * (mixed.real if axis == "x" else mixed.imag)
    return (matrix + matrix.T) / 2


def _is_there(wavefunction: Wavefunction, axis: str) -> bool:
    return float(np.abs(magnetisation_matrix(wavefunction, axis)).max()) > _ABSENT


def _along(wavefunction: Wavefunction, axis: str) -> GaussianExpansion:
    def make() -> GaussianExpansion:
        values, vectors = np.linalg.eigh(magnetisation_matrix(wavefunction, axis))
        counts = np.abs(values) > _SMALLEST * max(np.abs(values).max(), 1e-300)
        return density_products(wavefunction, vectors[:, counts], values[counts])

    return _EXPANSIONS.of(wavefunction, axis, make)


def _length(first: Value, *others: Value) -> Value:
    total = first * first
    for value in others:
        total = total + value * value
    return sqrt(total)


def _has_two(wavefunction: Wavefunction) -> bool:
    return wavefunction.spinors is not None and len(wavefunction.spinors.components) == 2
