r"""What critical points of a density have to add up to where it is not looked at everywhere.

Maxima less bonds plus rings less cages, of the region where the density is above a limit, is the Euler characteristic
of that region (J. Milnor, Morse Theory, Princeton 1963, theorem 5.2): 1 for a molecule without gaps; 2 for two that are
far from each other; 0 for a ring so wide that there is no density within.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .derivatives import DensityDerivatives

Reals = NDArray[np.float64]

_GAP = 7.0
"""Distance in bohr between parts of a molecule from which on there may be no density between them."""

_TAILS = 1e-4
"""Density up to which a limit is one of the tails of atoms, in e bohr^-3."""

_SPACING = {True: 1.1, False: 0.4}
"""Of the lattice on which the region is looked at, in bohr: in the tails of atoms surfaces are smooth."""

_INSIDE = {True: 2.5, False: 0.2}
"""Distance from a nucleus in bohr up to which there is more density than that."""

_MARGIN, _WIDEST = 6.0, 40.0
"""About the nuclei in bohr, at first and at most."""

_MOST = 1 << 22
"""Points of the lattice; beyond, it is made coarser."""


def has_gaps(positions: Reals) -> bool:
    """Whether some nuclei are far from all others."""
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial.distance import pdist, squareform

    tree = minimum_spanning_tree(squareform(pdist(positions)))
    return bool(tree.nnz) and float(tree.max()) > _GAP


def euler_characteristic(field: DensityDerivatives, positions: Reals, least: float) -> int:
    """Of the region where the density is above a limit: parts less tunnels plus voids.

    Parameters
    ----------
    field
        The density.
    positions : ndarray, shape (n, 3)
        Of the nuclei, in bohr.
    least
        The limit in e bohr^-3.
    """
    from scipy.spatial import cKDTree

    tree, margin, tails = cKDTree(positions), _MARGIN, least <= _TAILS
    while True:
        low, high = positions.min(axis=0) - margin, positions.max(axis=0) + margin
        spacing = max(_SPACING[tails], float(np.prod(high - low) / _MOST) ** (1 / 3))
        axes = [np.arange(a, b + spacing, spacing) for a, b in zip(low, high, strict=True)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        distance = tree.query(points.reshape(-1, 3), distance_upper_bound=margin + spacing)[0]
        inside = distance < _INSIDE[tails]
        doubtful = np.flatnonzero(~inside & np.isfinite(distance))
        inside[doubtful] = field.gradient(points.reshape(-1, 3)[doubtful])[0] > least
        within = inside.reshape(points.shape[:3])
        outermost = max(float(distance[inside].max(initial=0.0)), 0.0)
        if outermost < margin - 2 * spacing or margin >= _WIDEST:
            return _of_lattice(within)
        margin *= 1.5


def _of_lattice(within: NDArray[np.bool_]) -> int:
    """Points less edges plus squares less cubes, of those with all corners within."""
    total = 0
    for axes in np.ndindex(2, 2, 2):
        cells = within
        for axis, spans in enumerate(axes):
            if spans:
                first, last = [slice(None)] * 3, [slice(None)] * 3
                first[axis], last[axis] = slice(None, -1), slice(1, None)
                cells = cells[tuple(first)] & cells[tuple(last)]
        total += (-1) ** sum(axes) * int(cells.sum())
    return total
