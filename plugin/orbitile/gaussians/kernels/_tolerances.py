"""How exact values of each precision are to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tolerances:
    """What screening and truncation may cost, and what is too small to be known.

    Attributes
    ----------
    orbital : float
        What screening may cost an orbital at any point, as a share of its largest magnitude.
    products : float
        What it may cost a sum of products of basis functions at any point, in atomic units.
    potential : float
        What screening and multipoles may cost the electrostatic potential at any point, in hartree/e, unless the
        caller sets a bound.
    density : float
        Density of one spin, in e bohr^-3, below which its own digits are lost in what screening leaves out.
    isovalue : float
        Isovalue, in atomic units, below which a surface would show errors.
    """

    orbital: float
    products: float
    potential: float
    density: float
    isovalue: float


_TOLERANCES = {
    np.dtype(np.float32): Tolerances(orbital=5e-7, products=5e-6, potential=1e-5, density=1e-7, isovalue=1e-6),
    np.dtype(np.float64): Tolerances(orbital=1e-13, products=1e-11, potential=1e-10, density=1e-13, isovalue=1e-12),
}


def tolerances(dtype: np.dtype[np.floating]) -> Tolerances:
    """The tolerances of values of a type, float32 or float64."""
    return _TOLERANCES[dtype]
