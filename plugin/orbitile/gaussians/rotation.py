"""Basis functions and polynomials about an atom, turned."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..model.conventions import angular_normalization, cartesian_powers, pure_from_cartesian
from .block_matrix import starts_of
from .packing import polynomial_powers

Reals = NDArray[np.float64]
Integers = NDArray[np.int32]


@lru_cache(maxsize=64)
def rotation_of_monomials(degree: int, frame: bytes) -> Reals:
    """Homogeneous monomials of one degree under r = u @ frame: column = monomial in r, rows = monomials in u.

    Both in the order of `cartesian_powers`; the frame as the bytes of its matrix of shape (3, 3).
    """
    matrix = np.frombuffer(frame).reshape(3, 3)
    powers = cartesian_powers(degree)
    index = {p: n for n, p in enumerate(powers)}
    result = np.zeros((len(powers), len(powers)))
    for column, monomial in enumerate(powers):
        polynomial: dict[tuple[int, int, int], float] = {(0, 0, 0): 1.0}
        for axis, power in enumerate(monomial):
            for _ in range(power):
                product: dict[tuple[int, int, int], float] = {}
                for (i, j, k), value in polynomial.items():
                    for n, p in enumerate(((i + 1, j, k), (i, j + 1, k), (i, j, k + 1))):
                        product[p] = product.get(p, 0.0) + value * matrix[n, axis]
                polynomial = product
        for p, value in polynomial.items():
            result[index[p], column] = value
    return result


def rotate_terms(terms: Reals, degrees: Integers, frame: Reals) -> Reals:
    """Polynomial coefficients in a rotated frame.

    Parameters
    ----------
    terms : ndarray, shape (n_terms, ...)
        Coefficients of merged primitives, in `polynomial_powers` order.
    degrees : ndarray of int32, shape (n_primitives,)
    frame : ndarray, shape (3, 3)
        Rows are orthonormal axes of the new frame; coordinates there are `r @ frame.T`.
    """
    result = np.empty_like(terms)
    key = np.ascontiguousarray(frame, np.float64).tobytes()
    starts = starts_of([len(polynomial_powers(int(n))) for n in degrees])
    for degree in np.unique(degrees):
        powers = polynomial_powers(int(degree))
        matrix = np.zeros((len(powers), len(powers)))
        index = {p: n for n, p in enumerate(powers)}
        for l in range(int(degree) + 1):
            rows = [index[p] for p in cartesian_powers(l)]
            matrix[np.ix_(rows, rows)] = rotation_of_monomials(l, key)
        at = starts[:-1][degrees == degree][:, None] + np.arange(len(powers))
        result[at] = np.einsum("mn,pn...->pm...", matrix, terms[at])
    return result


@lru_cache(maxsize=64)
def rotation_of_shell(angular_momentum: int, pure: bool, rotation: bytes) -> Reals:
    """Block that takes coefficients of the functions of a shell to those of the shell turned by a rotation R.

    The turned function at r is the function at R^-1 r; the rotation as the bytes of its matrix of shape (3, 3).
    """
    norms = np.array([angular_normalization(powers) for powers in cartesian_powers(angular_momentum)])
    monomials = rotation_of_monomials(angular_momentum, rotation)
    cartesian = np.asarray(monomials * norms / norms[:, None], np.float64)
    if not pure:
        return cartesian
    to_pure = pure_from_cartesian(angular_momentum)
    block = np.linalg.solve(to_pure @ to_pure.T, to_pure @ cartesian @ to_pure.T)
    return np.asarray(block, np.float64)
