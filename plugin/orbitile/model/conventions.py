r"""The conventions of our own arrays, stated once.

Everything that enters (readers) is brought into these conventions; everything behind them relies on them.

**Shells.** A shell is segmented: one atom, one angular momentum `l`, one list of contraction coefficients. Readers
split generalised contractions (an SP shell becomes an s and a p shell); packing merges equal exponents again.

**Order of components.** Cartesian shells list the monomials :math:`x^i y^j z^k`, :math:`i + j + k = l`, in
alphabetical order: `xx xy xz yy yz zz`. Pure (real solid harmonic) shells list `c0, c1, s1, c2, s2, ...`: `c{m}` goes
with :math:`\cos m\varphi` and `s{m}` with :math:`\sin m\varphi`, all with a positive sign in front of the term of the
highest power in z (no Condon-Shortley phase). s and p shells are always Cartesian: `1` and `x y z`.

**Normalisation.** Contraction coefficients multiply primitives that are each normalised to one; for a Cartesian shell
that holds component by component, so `xx` and `xy` have different prefactors,

.. math::  N(\zeta, i, j, k) = (2\zeta/\pi)^{3/4} \sqrt{(8\zeta)^l} \sqrt{\frac{i!\,j!\,k!}{(2i)!\,(2j)!\,(2k)!}}

(eq. 5 of Stone et al., GPGPU 2009, doi 10.1145/1513895.1513897). A contraction need not be normalised as a whole: the
coefficients of the file, not ours, decide.

**Orbital coefficients** have shape (basis functions, orbitals), basis functions in the order of the shells.

**Lattices and volumes** are C-ordered `[x, y, z]`; `axes[i]` is the step along index `i`, in bohr.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb, factorial, pi, prod, sqrt

import numpy as np
from numpy.typing import NDArray

Powers = tuple[int, int, int]

ANGULAR_MOMENTUM_LETTERS = "spdfghiklmnoqrtuvwxyzabce"
"""Letters of the angular momenta 0, 1, 2, ... (there is no j, and no second s or p)."""


def n_components(angular_momentum: int, pure: bool) -> int:
    """Number of basis functions in a shell."""
    if pure and angular_momentum > 1:
        return 2 * angular_momentum + 1
    return (angular_momentum + 1) * (angular_momentum + 2) // 2


@lru_cache
def cartesian_powers(angular_momentum: int) -> tuple[Powers, ...]:
    """Powers (i, j, k) of the Cartesian components of a shell, in our order."""
    n = angular_momentum
    return tuple((i, j, n - i - j) for i in range(n, -1, -1) for j in range(n - i, -1, -1))


def component_names(angular_momentum: int, pure: bool) -> tuple[str, ...]:
    """Names of the components of a shell in our order: `1`, `x`, `xy`, ... or `c0`, `c1`, `s1`, ..."""
    if pure and angular_momentum > 1:
        return ("c0", *(f"{kind}{m}" for m in range(1, angular_momentum + 1) for kind in "cs"))
    return tuple("x" * i + "y" * j + "z" * k or "1" for i, j, k in cartesian_powers(angular_momentum))


def radial_normalization(exponents: NDArray[np.float64], angular_momentum: int) -> NDArray[np.float64]:
    """First two factors of the normalisation of a primitive: those of exponent and angular momentum."""
    return (2 * exponents / pi) ** 0.75 * np.sqrt((8 * exponents) ** angular_momentum)


def angular_normalization(powers: Powers) -> float:
    """Last factor of the normalisation of a Cartesian primitive: that of its powers."""
    numerator = denominator = 1
    for power in powers:
        numerator *= factorial(power)
        denominator *= factorial(2 * power)
    return sqrt(numerator / denominator)


@lru_cache
def pure_from_cartesian(angular_momentum: int) -> NDArray[np.float64]:
    r"""Pure components of a shell in terms of its normalised Cartesian components.

    Parameters
    ----------
    angular_momentum
        Angular momentum l of the shell, 2 or more.

    Returns
    -------
    ndarray, shape (2l + 1, (l + 1)(l + 2)/2)
        Row m of it, applied to normalised Cartesian primitives, gives the normalised pure primitive.

    Notes
    -----
    From the closed form of the real solid harmonics (Schlegel and Frisch, Int. J. Quantum Chem. 1995, 54, 83; also
    Helgaker, Jorgensen and Olsen, Molecular Electronic-Structure Theory, eq. 6.4.47),

    .. math::  S_{lm} = N_{lm} \sum_{t,u,v} (-1)^{t+v-v_m} 4^{-t} \binom{l}{t} \binom{l-t}{|m|+t}
        \binom{t}{u} \binom{|m|}{2v} x^{2t+|m|-2(u+v)} y^{2(u+v)} z^{l-2t-|m|}

    with half-integer v for the sine functions. The common factor is fixed by normalising the row.
    """
    l = angular_momentum
    index = {powers: n for n, powers in enumerate(cartesian_powers(l))}
    norms = np.array([angular_normalization(powers) for powers in cartesian_powers(l)])
    matrix = np.zeros((2 * l + 1, len(index)))
    for row, name in enumerate(component_names(l, pure=True)):
        m, sine = int(name[1:]), name[0] == "s"
        for t in range((l - m) // 2 + 1):
            for u in range(t + 1):
                for v2 in range(int(sine), m + 1, 2):  # v2 = 2v, odd for sines
                    sign = (-1) ** (t + (v2 - int(sine)) // 2)
                    value = sign * 0.25**t * comb(l, t) * comb(l - t, m + t) * comb(t, u) * comb(m, v2)
                    matrix[row, index[2 * t + m - 2 * u - v2, 2 * u + v2, l - 2 * t - m]] += value
    matrix /= norms  # now in terms of normalised Cartesian components
    overlap = np.array([[_same_centre_overlap(a, b) for b in index] for a in index])
    matrix /= np.sqrt(np.einsum("ma,ab,mb->m", matrix, overlap, matrix))[:, None]
    matrix.setflags(write=False)
    return matrix


def _same_centre_overlap(a: Powers, b: Powers) -> float:
    """Overlap of two normalised Cartesian primitives of one centre, one exponent and one angular momentum."""
    value = 1.0
    for i, j in zip(a, b, strict=True):
        if (i + j) % 2:
            return 0.0
        half = (i + j) // 2
        moment = factorial(2 * half) / factorial(half)  # proportional to the Gaussian moment of order 2 * half
        value *= moment / sqrt(factorial(2 * i) / factorial(i) * factorial(2 * j) / factorial(j))
    return value


# ---- libcint, the integrals library of PySCF: order and norms of its basis functions, and its spinors. Its p shells
# are x, y, z, other pure ones go from m = -l to l; its Cartesian shells are in our order. From d on it normalises their
# radial part alone, so that the integral of R^2 r^(2l + 2) is 1 and a component x^i y^j z^k has the norm
# 4 pi (2i - 1)!! (2j - 1)!! (2k - 1)!! / (2l + 1)!!. Its spinors are eigenfunctions of total angular momentum: those of
# j = l - 1/2 first, each set from m = -j to j, with the phases of E. U. Condon and G. H. Shortley.


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
