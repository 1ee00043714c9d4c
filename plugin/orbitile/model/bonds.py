"""Which atoms are bonded, by their distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .units import angstrom

_CORDERO = """
    0.00 0.31 0.28 1.28 0.96 0.84 0.76 0.71 0.66 0.57 0.58 1.66 1.41 1.21 1.11 1.07 1.05 1.02 1.06 2.03 1.76 1.70
    1.60 1.53 1.39 1.39 1.32 1.26 1.24 1.32 1.22 1.22 1.20 1.19 1.20 1.20 1.16 2.20 1.95 1.90 1.75 1.64 1.54 1.47
    1.46 1.42 1.39 1.45 1.44 1.42 1.39 1.39 1.38 1.39 1.40 2.44 2.15 2.07 2.04 2.03 2.01 1.99 1.98 1.98 1.96 1.94
    1.92 1.92 1.89 1.90 1.87 1.87 1.75 1.70 1.62 1.51 1.44 1.41 1.36 1.36 1.32 1.45 1.46 1.48 1.40 1.50 1.50 2.60
    2.21 2.15 2.06 2.00 1.96 1.90 1.87 1.80 1.69
""".split()
"""Covalent radii from 1 to 96 in Angstrom: B. Cordero et al., Dalton Trans. 2008, 2832; C sp3, Mn to Co low spin."""

BOND_TOLERANCE = 0.4 * angstrom
"""Atoms are bonded up to this much beyond the sum of their covalent radii, in bohr; the rule of most viewers."""

NOT_A_BOND = 0.4 * angstrom
"""Atoms that are closer than this, in bohr, are one atom twice (disorder), and not bonded."""


def covalent_radius(atomic_number: int) -> float:
    """Covalent radius of an element in bohr (Cordero et al.); 1.5 Angstrom beyond curium."""
    z = int(atomic_number)
    return (float(_CORDERO[z]) if 0 <= z < len(_CORDERO) else 1.5) * angstrom


def find_bonds(atomic_numbers: NDArray[np.int64], positions: NDArray[np.float64]) -> NDArray[np.int64]:
    """Pairs of atoms at covalent distance, shape (m, 2), sorted."""
    from scipy.spatial import cKDTree

    radii = np.array([covalent_radius(z) for z in atomic_numbers])
    if len(radii) < 2:
        return np.zeros((0, 2), np.int64)
    pairs = cKDTree(positions).query_pairs(2 * radii.max() + BOND_TOLERANCE, output_type="ndarray").astype(np.int64)
    distances = np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1)
    bonded = (distances < radii[pairs].sum(axis=1) + BOND_TOLERANCE) & (distances > NOT_A_BOND)
    kept: NDArray[np.int64] = pairs[bonded]
    return kept[np.lexsort((kept[:, 1], kept[:, 0]))]
