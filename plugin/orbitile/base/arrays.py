"""Types of arrays, by the numbers that they hold; threads of BLAS."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]


SMALL = 1500
"""Rows and columns up to which a matrix is small."""

_binding = Lock()


@contextmanager
def one_thread_of_blas(rows: int) -> Iterator[None]:
    """Have BLAS compute by one thread meanwhile, where matrices have as many rows as are few.

    OpenBLAS shares out each product among all cores, and waits for the last of them: products of a few hundred rows
    take ten times as long on many busy cores as on one.

    The number of threads is one of the process: whoever asks first binds it, and restores it at its own end. Without
    the package threadpoolctl, which the Python of a viewer may lack, nothing is bound.
    """
    if rows > SMALL or not _binding.acquire(blocking=False):
        yield
        return
    try:
        try:
            libraries = _libraries_of_blas()
        except ImportError:
            yield
            return
        with libraries.limit(limits=1, user_api="blas"):
            yield
    finally:
        _binding.release()


@lru_cache
def _libraries_of_blas() -> Any:
    """Those of NumPy and of SciPy; to look for them takes longer than some calculations."""
    importlib.import_module("scipy.linalg")
    return importlib.import_module("threadpoolctl").ThreadpoolController()
