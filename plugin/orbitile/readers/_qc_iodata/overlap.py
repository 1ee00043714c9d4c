"""Overlaps and norms of basis functions of qc-iodata by those of ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import Reals
from ...gaussians.overlap import dense, shell_overlap
from ...model.conventions import angular_normalization, radial_normalization
from ..iodata import shells_and_order


def compute_overlap(basis: Any, positions: Reals) -> Reals:
    """Overlap matrix of a basis set in its own order of functions, shape (n_basis, n_basis); positions in bohr."""
    shells, order, signs = shells_and_order(basis)
    matrix = np.empty((len(order), len(order)))
    matrix[np.ix_(order, order)] = dense(shell_overlap(shells, positions, shells, positions)) * signs[:, None] * signs
    return matrix


def gob_cart_normalization(exponent: float, powers: Reals) -> float:
    """What makes a Cartesian Gaussian of such powers of x, y, z have the norm 1; exponent in bohr^-2."""
    i, j, k = (int(power) for power in powers)
    return float(radial_normalization(np.array(exponent), i + j + k)) * angular_normalization((i, j, k))
