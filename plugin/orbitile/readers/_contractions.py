"""Contractions of programs that take them as normalised to one, whatever the digits of a basis set add up to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError


def normalised(
    exponents: NDArray[np.float64], coefficients: NDArray[np.float64], angular_momentum: int
) -> NDArray[np.float64]:
    """Coefficients of normalised primitives that make a contraction of norm one.

    Raises
    ------
    FileError
        When the contraction has no norm.
    """
    a, b = exponents[:, None], exponents[None, :]
    norm = float(coefficients @ ((2 * np.sqrt(a * b) / (a + b)) ** (angular_momentum + 1.5)) @ coefficients)
    if not 0 < norm < np.inf:
        raise FileError(f"contraction without a norm: coefficients {coefficients.tolist()}")
    result: NDArray[np.float64] = coefficients / np.sqrt(norm)
    return result
