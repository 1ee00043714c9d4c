"""Sparse matrices of blocks below each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Integers = NDArray[np.int32]
Reals = NDArray[np.float64]


def starts_of(counts: list[int]) -> Integers:
    """Where parts of given lengths begin that follow one another, and behind the last where it ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def block_matrix(blocks: list[Reals], columns: list[NDArray[np.int64]], n_columns: int) -> csr_matrix:
    """Sparse matrix with the blocks below each other, each in the columns given for it."""
    from scipy.sparse import csr_matrix

    values, indices, counts = [], [], []
    for block, column in zip(blocks, columns, strict=True):
        i, j = block.nonzero()
        values.append(block[i, j])
        indices.append(column[j])
        counts.append(np.bincount(i, minlength=len(block)))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    return csr_matrix((np.concatenate(values), np.concatenate(indices), starts), shape=(len(starts) - 1, n_columns))
