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

from functools import lru_cache
from math import comb, factorial, pi, sqrt

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
