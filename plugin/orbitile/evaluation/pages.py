"""Memory of results, made present by threads of its own while a GPU computes.

A page of new memory is found and cleared when it is first written to, which takes a thread 0.2 s a GB: longer than
a GPU takes for an orbital, and than the copy. Linux does that for many pages at once, when asked (since 5.14, 2021);
elsewhere nothing is done, and the copy finds the pages as before.
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from threading import Event
from typing import Any

from numpy.typing import NDArray

_POPULATE_WRITE = 23
"""MADV_POPULATE_WRITE of Linux: make pages present for writing, whatever is in them stays."""

_THREADS = 4
"""More wait for each other."""

_PIECE = 1 << 22
"""Bytes that a thread deals with at once: a millisecond or two."""

_PAGE = 1 << 12


@contextmanager
def made_present(array: NDArray[Any]) -> Iterator[None]:
    """Make the pages of an array present, from its beginning on, while the block runs; values do not change.

    What is not present when the block ends is left to whoever writes there.

    Parameters
    ----------
    array : ndarray
        One that is not contiguous is left alone.
    """
    populate = _populate()
    if populate is None or array.nbytes < 2 * _PIECE or not array.flags.c_contiguous:
        yield
        return
    begin = -(-array.ctypes.data // _PAGE) * _PAGE
    end = (array.ctypes.data + array.nbytes) // _PAGE * _PAGE
    pieces, over = iter(range(begin, end, _PIECE)), Event()

    def make() -> None:
        for first in pieces:  # one iterator: each thread takes the next piece
            if over.is_set() or populate(first, min(_PIECE, end - first), _POPULATE_WRITE):
                return

    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as threads:
        for _ in range(_THREADS):
            threads.submit(make)
        try:
            yield
        finally:
            over.set()


@lru_cache
def _populate() -> Any:
    """`madvise` of the system, which runs beside Python's threads; None where it does not know this."""
    if platform.system() != "Linux":
        return None
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    return madvise
