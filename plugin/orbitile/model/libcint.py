r"""The conventions of libcint, the integrals library of PySCF: order and norms of its basis functions, and its spinors.

Its p shells are x, y, z, other pure ones go from m = -l to l; its Cartesian shells are in our order. From d on it
normalises their radial part alone, :math:`\int R^2 r^{2l+2} dr = 1`, so that a component has the norm

.. math::  \int x^{2i} y^{2j} z^{2k} d\Omega = 4\pi \frac{(2i-1)!!\,(2j-1)!!\,(2k-1)!!}{(2l+1)!!}.

Its spinors are eigenfunctions of total angular momentum: those of j = l - 1/2 first, each set from m = -j to j, with
the phases of E. U. Condon and G. H. Shortley.
"""

from __future__ import annotations

from functools import lru_cache
from math import pi, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from .conventions import angular_normalization, cartesian_powers, component_names


def functions_of(shells: list[tuple[int, int]], cartesian: bool) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Row of libcint for each of our basis functions, and what a coefficient of libcint is multiplied by.

    Parameters
    ----------
    shells
        Angular momentum and number of contractions of each shell of libcint.
    cartesian
        Whether its functions from d on are Cartesian ones.
    """
    rows: list[int] = []
    factors: list[float] = []
    for l, n_contractions in shells:
        order, scales = list(range(2 * l + 1)), [1.0] * (2 * l + 1)
        if l > 1 and cartesian:
            powers = cartesian_powers(l)
            common = sqrt(4 * pi / (2**l * prod(range(2 * l + 1, 0, -2))))  # (2i)! / i! is 2^i (2i - 1)!!
            order, scales = list(range(len(powers))), [common / angular_normalization(power) for power in powers]
        elif l > 1:
            order = [l + int(name[1:]) * (-1 if name[0] == "s" else 1) for name in component_names(l, pure=True)]
        for _ in range(n_contractions):
            first = len(rows)
            rows += [first + component for component in order]
            factors += scales
    return np.array(rows, np.intp), np.array(factors)


def n_spinors(shells: list[tuple[int, int]]) -> int:
    """Number of spinors over shells, given as to `functions_of`."""
    return sum((4 * l + 2) * n for l, n in shells)


def components_of_spinors(
    shells: list[tuple[int, int]], coefficients: NDArray[np.complex128]
) -> NDArray[np.complex128]:
    """Orbitals over spinors as orbitals over our functions, pure from d on.

    Parameters
    ----------
    shells
        As to `functions_of`.
    coefficients : ndarray of complex, shape (n_spinors, n_orbitals)

    Returns
    -------
    ndarray of complex, shape (2, n_basis, n_orbitals)
        Of spin up and of spin down.
    """
    parts: list[NDArray[np.complex128]] = []
    first = 0
    for l, n_contractions in shells:
        for _ in range(n_contractions):
            block = coefficients[first : first + 4 * l + 2]
            parts.append(np.einsum("sfj,ji->sfi", spinors(l), block))
            first += 4 * l + 2
    return np.concatenate(parts, axis=1)


@lru_cache
def spinors(l: int) -> NDArray[np.complex128]:
    r"""The spinors of one shell over our real functions, shape (2, 2 l + 1, 4 l + 2).

    .. math::

        |l \pm \tfrac12, m\rangle = \pm\sqrt{\frac{l \pm m + 1/2}{2l + 1}}\, Y_l^{m-1/2} \alpha
        + \sqrt{\frac{l \mp m + 1/2}{2l + 1}}\, Y_l^{m+1/2} \beta
    """
    names = ("x", "y", "z") if l == 1 else component_names(l, True) if l else ("c0",)
    place = {"x": "c1", "y": "s1", "z": "c0"}
    at = {place.get(name, name): n for n, name in enumerate(names)}
    harmonics = np.zeros((2 * l + 3, 2 * l + 1), np.complex128)  # of m = -l - 1 to l + 1; the outermost are not there
    harmonics[l + 1, at["c0"]] = 1
    for m in range(1, l + 1):
        harmonics[l + 1 + m, [at[f"c{m}"], at[f"s{m}"]]] = np.array([1, 1j]) * (-1) ** m / sqrt(2)
        harmonics[l + 1 - m, [at[f"c{m}"], at[f"s{m}"]]] = np.array([1, -1j]) / sqrt(2)
    found = []
    for sign in (-1, 1):
        top = 2 * l + sign  # 2 j
        for twice in range(-top, top + 1, 2):
            up, down = (l + 1 + (twice + shift) // 2 for shift in (-1, 1))
            weights = (l + sign * twice / 2 + 0.5) / (2 * l + 1), (l - sign * twice / 2 + 0.5) / (2 * l + 1)
            found.append([sign * sqrt(weights[0]) * harmonics[up], sqrt(weights[1]) * harmonics[down]])
    matrix = np.array(found).transpose(1, 2, 0)
    matrix.setflags(write=False)
    return matrix
