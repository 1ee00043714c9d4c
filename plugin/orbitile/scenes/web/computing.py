r"""What a page needs to compute orbitals itself: a basis set and orbital coefficients, as small as is precise enough.

Orbitals are sums of Gaussians times polynomials about the atoms, one for each exponent of an atom
(`orbitile.gaussians.packing`): a sparse matrix takes orbital coefficients to polynomial ones. That matrix, exponents
and places are in float32. A coefficient :math:`c_\mu` is a whole number of steps :math:`\delta / b_\mu`, where
:math:`b_\mu` bounds the magnitude of the basis function; so no coefficient changes an orbital by more than
:math:`\delta / 2` anywhere. The largest magnitude of a term is that at its maximum,

.. math::  \max_r r^l e^{-\zeta r^2} = (l / 2 e \zeta)^{l/2}

Steps are folded into numbers without a sign (0, -1, 1, -2, ... to 0, 1, 2, 3, ...) and their bytes are stored in an
array for each place, since those of the high places are nearly all zero and compress to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...gaussians.expansion import polynomial_powers
from ...gaussians.packing import merged_primitives
from ...model.wavefunction import Wavefunction

STEP = 4e-6
"""In bohr^-3/2: twice what a single coefficient may change an orbital by."""


@dataclass(frozen=True)
class SumOfSquares:
    """A density: orbitals by their rows, and what the square of each counts.

    Attributes
    ----------
    field, title : str
    rows : tuple of int
        Among the orbitals of a `Computing`.
    weights : tuple of float
    signed : bool
        Whether the sum has both signs.
    """

    field: str
    title: str
    rows: tuple[int, ...]
    weights: tuple[float, ...]
    signed: bool = False


@dataclass(frozen=True, eq=False)
class Computing:
    """Orbitals that a page can compute.

    Attributes
    ----------
    centre : ndarray of float32, shape (n_primitives, 3)
        In bohr, relative to the middle of the document.
    exponent : ndarray of float32, shape (n_primitives,)
        In bohr^-2.
    degree : ndarray of uint8, shape (n_primitives,)
        Of the polynomial; its terms are in the order of `polynomial_powers`.
    matrix : ndarray of float32, shape (n_entries,)
        Takes orbital coefficients to polynomial coefficients: the entries that are not zero, row by row.
    columns, counts : ndarray of uint32, shapes (n_entries,) and (n_terms,)
        The basis function of each entry; entries of each row.
    unit : ndarray of float32, shape (n_basis,)
        Step of the coefficient of each basis function.
    planes : tuple of ndarray of uint8, shape (n_orbitals * n_basis,)
        Bytes of the folded numbers of steps, from the lowest place to the highest.
    orbitals : tuple of str
        Names of the orbitals, as `Choice.field`.
    sums : tuple of SumOfSquares
    colours : tuple of tuple of int
        Of the positive and of the negative part: red, green and blue, from 0 to 255.
    opacity : int
        Of a wall of a surface, from 0 to 255.
    finish : float
    """

    centre: NDArray[np.float32]
    exponent: NDArray[np.float32]
    degree: NDArray[np.uint8]
    matrix: NDArray[np.float32]
    columns: NDArray[np.uint32]
    counts: NDArray[np.uint32]
    unit: NDArray[np.float32]
    planes: tuple[NDArray[np.uint8], ...]
    orbitals: tuple[str, ...]
    sums: tuple[SumOfSquares, ...]
    colours: tuple[tuple[int, int, int], tuple[int, int, int]]
    opacity: int
    finish: float


def packed_basis(wavefunction: Wavefunction, middle: Reals) -> dict[str, NDArray[np.generic]]:
    """The arrays of a `Computing` that do not depend on orbitals, by their names."""
    merged = merged_primitives(wavefunction)
    rows = merged.from_basis.tocsr()
    total = np.concatenate([[sum(powers) for powers in polynomial_powers(int(n))] for n in merged.degree])
    exponent = np.repeat(merged.exponent, np.diff(merged.first_term))
    largest = (total / (2 * np.e * exponent)) ** (total / 2)  # 0^0 = 1: a Gaussian by itself
    bound = abs(rows).T @ largest
    return {
        "centre": (merged.centre - middle).astype(np.float32),
        "exponent": merged.exponent.astype(np.float32),
        "degree": merged.degree.astype(np.uint8),
        "matrix": rows.data.astype(np.float32),
        "columns": rows.indices.astype(np.uint32),
        "counts": np.diff(rows.indptr).astype(np.uint32),
        "unit": (STEP / np.maximum(bound, 1e-12)).astype(np.float32),
    }


def packed_coefficients(coefficients: Sequence[Reals], unit: NDArray[np.float32]) -> tuple[NDArray[np.uint8], ...]:
    """Planes of a `Computing` from the coefficients of each orbital, shape (n_basis,)."""
    steps = np.rint(np.stack(coefficients) / unit).astype(np.int64)
    folded = np.where(steps < 0, -2 * steps - 1, 2 * steps).reshape(-1)
    n_bytes = max(1, (int(folded.max()).bit_length() + 7) // 8)
    return tuple((folded >> 8 * place & 255).astype(np.uint8) for place in range(n_bytes))
