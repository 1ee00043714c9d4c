"""Into how many parts a molecule falls where the density between them is hardly there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .derivatives import DensityDerivatives

Reals = NDArray[np.float64]

_FAR = 7.0
"""Distance in bohr up to which there is always density between two neighbours."""

_SAMPLES = 15


def number_of_parts(field: DensityDerivatives, positions: Reals, least: float) -> int:
    """Parts that are joined by less than some density.

    Looked at are the straight lines of the shortest tree that joins all nuclei.

    Parameters
    ----------
    field
        The density.
    positions : ndarray, shape (n, 3)
        Of the nuclei, in bohr.
    least
        The density, in e bohr^-3.
    """
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial.distance import pdist, squareform

    rows, columns = minimum_spanning_tree(squareform(pdist(positions))).nonzero()
    ends = positions[rows], positions[columns]
    far = ((ends[0] - ends[1]) ** 2).sum(axis=1) > _FAR**2
    share = np.linspace(0, 1, _SAMPLES)[:, None, None]
    lines = (1 - share) * ends[0][far] + share * ends[1][far]
    density = field.gradient(lines.reshape(-1, 3))[0].reshape(_SAMPLES, far.sum())
    return 1 + int((density.min(axis=0, initial=np.inf) < least).sum())
