"""The edges of a mesh."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def edges_of(faces: NDArray[np.integer]) -> NDArray[np.int32]:
    """Edges of triangles, each once.

    Parameters
    ----------
    faces : ndarray of int, shape (m, 3)
        Indices of the corners.

    Returns
    -------
    ndarray of int32, shape (n, 2)
        Indices of the two ends, the smaller first, sorted.
    """
    ends = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]).astype(np.int64), axis=1)
    keys = np.unique(ends[:, 0] << 32 | ends[:, 1])
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)
