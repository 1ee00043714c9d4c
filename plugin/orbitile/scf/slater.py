"""Slater functions as sums of Gaussians (STO-nG), in which the functions of xTB are written.

R. F. Stewart, J. Chem. Phys. 1970, 52, 431: the Gaussians that come closest to a Slater function by least squares, each
angular momentum with exponents of its own. Only those expansions are here that GFN1-xTB and GFN2-xTB ask for.
"""

from __future__ import annotations

from functools import lru_cache
from math import factorial, gamma, inf

import numpy as np
from scipy.integrate import quad

from ..base.arrays import Reals
from ..base.errors import OrbitileError

_EXPONENTS: dict[tuple[int, int, int], tuple[float, ...]] = {
    (1, 0, 3): (2.227660584, 4.057711562e-1, 1.098175104e-1),
    (2, 0, 3): (2.581578398, 1.567622104e-1, 6.018332272e-2),
    (3, 2, 3): (5.229112225e-1, 1.639595876e-1, 6.386630021e-2),
    (4, 2, 3): (1.777717219e-1, 8.040647350e-2, 3.949855551e-2),
    (5, 2, 3): (4.913352950e-1, 7.329090601e-2, 3.594209290e-2),
    (1, 0, 4): (5.216844534, 9.546182760e-1, 2.652034102e-1, 8.801862774e-2),
    (2, 0, 4): (1.161525551e1, 2.000243111, 1.607280687e-1, 6.125744532e-2),
    (3, 0, 4): (1.513265591, 4.262497508e-1, 7.643320863e-2, 3.760545063e-2),
    (4, 0, 4): (3.242212833e-1, 1.663217177e-1, 5.081097451e-2, 2.829066600e-2),
    (5, 0, 4): (8.602284252e-1, 1.189050200e-1, 3.446076176e-2, 1.974798796e-2),
    (2, 1, 4): (1.798260992, 4.662622228e-1, 1.643718620e-1, 6.543927065e-2),
    (3, 1, 4): (1.853180239, 1.915075719e-1, 8.655487938e-2, 4.184253862e-2),
    (4, 1, 4): (1.492607880, 4.327619272e-1, 7.553156064e-2, 3.706272183e-2),
    (5, 1, 4): (3.962838833e-1, 1.838858552e-1, 4.943555157e-2, 2.750222273e-2),
    (3, 2, 4): (9.185846715e-1, 2.920461109e-1, 1.187568890e-1, 5.286755896e-2),
    (4, 2, 4): (1.995825422, 1.823461280e-1, 8.197240896e-2, 4.000634951e-2),
    (5, 2, 4): (4.230617826e-1, 8.293863702e-2, 4.590326388e-2, 2.628744797e-2),
    (2, 0, 6): (2.768496241e1, 5.077140627, 1.426786050, 2.040335729e-1, 9.260298399e-2, 4.416183978e-2),
    (3, 0, 6): (3.273031938, 9.200611311e-1, 3.593349765e-1, 8.636686991e-2, 4.797373812e-2, 2.724741144e-2),
    (6, 0, 6): (5.800292686e-1, 2.718262251e-1, 7.938523262e-2, 4.975088254e-2, 2.983643556e-2, 1.886067216e-2),
    (2, 1, 6): (5.868285913, 1.530329631, 5.475665231e-1, 2.288932733e-1, 1.046655969e-1, 4.948220127e-2),
    (3, 1, 6): (5.077973607, 1.340786940, 2.248434849e-1, 1.131741848e-1, 6.076408893e-2, 3.315424265e-2),
    (6, 1, 6): (6.696537714e-1, 1.395089793e-1, 8.163894960e-2, 4.586329272e-2, 2.961305556e-2, 1.882221321e-2),
}
"""By principal quantum number, angular momentum and number of Gaussians: exponents for a Slater exponent of 1."""

for _l in (0, 1):  # s and p of the fourth and fifth row share exponents in tblite
    _EXPONENTS[4, _l, 6] = (1.365346, 4.393213e-1, 1.877069e-1, 9.360270e-2, 5.052263e-2, 2.809354e-2)
    _EXPONENTS[5, _l, 6] = (0.7701420258, 0.2756268915, 0.130184748, 0.0695344194, 0.04002545502, 0.02348388309)

_COEFFICIENTS = {
    (6, 0): (4.554359511e-3, 5.286443143e-2, -7.561016358e-1, -2.269803820e-1, 1.332494651, 3.622518293e-1),
    (6, 1): (2.782723680e-3, -1.282887780e-1, -2.266255943e-1, 4.682259383e-1, 6.752048848e-1, 1.091534212e-1),
}
"""Of the sixth row, which is xTB's and not Stewart's: 2e-5 from those of least squares, which all others are."""


def slater_expansion(n: int, l: int, n_gaussians: int, exponent: float) -> tuple[Reals, Reals]:
    """Exponents in bohr^-2, and coefficients of normalised Gaussians, for a normalised Slater function.

    Parameters
    ----------
    n, l
        Principal quantum number and angular momentum.
    n_gaussians
        How many Gaussians.
    exponent
        Of the Slater function, in bohr^-1.

    Raises
    ------
    OrbitileError
        When there is no such expansion here.
    """
    try:
        exponents = np.array(_EXPONENTS[n, l, n_gaussians])
    except KeyError:
        raise OrbitileError(f"no expansion of a {n}{'spdf'[l]} Slater function in {n_gaussians} Gaussians") from None
    return exponents * exponent**2, _coefficients(n, l, n_gaussians)


def is_slater_expansion(l: int, exponents: Reals) -> bool:
    """Whether exponents, in bohr^-2, the highest first, are those of an expansion here for some Slater function."""
    ratios = exponents / exponents[0]
    return any(
        momentum == l and n_gaussians == len(exponents) and np.allclose(ratios, np.array(those) / those[0], rtol=1e-4)
        for (_, momentum, n_gaussians), those in _EXPONENTS.items()
    )


@lru_cache(len(_EXPONENTS))
def _coefficients(n: int, l: int, n_gaussians: int) -> Reals:
    """Those of least squares for a function of norm 1: S c is proportional to the overlaps with the Slater function."""
    if (n, l) in _COEFFICIENTS:
        return np.array(_COEFFICIENTS[n, l])
    exponents = np.array(_EXPONENTS[n, l, n_gaussians])
    norms = np.sqrt(2 * (2 * exponents) ** (l + 1.5) / gamma(l + 1.5))
    norm = np.sqrt(2 ** (2 * n + 1) / factorial(2 * n))
    overlaps = [
        quad(lambda r, a=a: norm * r ** (n + l + 1) * np.exp(-r - a * r**2), 0, inf, epsabs=1e-14, epsrel=1e-12)[0]
        for a in exponents
    ]
    found = np.linalg.solve(same_centre(exponents, exponents, l), norms * overlaps)
    return found / np.sqrt(found @ same_centre(exponents, exponents, l) @ found)


def same_centre(one: Reals, other: Reals, l: int) -> Reals:
    """Overlaps of normalised Gaussians of one centre and angular momentum, shape (n_one, n_other)."""
    return (2 * np.sqrt(np.outer(one, other)) / np.add.outer(one, other)) ** (l + 1.5)
