"""Memory through which processes of this machine hand over slabs: a few of them, again and again.

Shared memory is dear when it is new: 0.6 s a GB, since the system clears it page by page, and processes that touch it
at once wait for each other. So workers write to a little of it that is kept from call to call; CUDA's driver copies to
it at the rate of the bus, for it is pinned. Whoever asked copies a slab on from there while the next ones are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..workers import shared_array

Array = NDArray[Any]

_COPYING = 8
"""Threads that copy a slab: one does not copy as fast as a GPU delivers, above all to memory that is new."""


class Ring:
    """Shared memory of one size, made when it is first wanted.

    Parameters
    ----------
    size
        In bytes.

    Attributes
    ----------
    memory : ndarray of uint8, or None
        All of it, once there is one.
    """

    def __init__(self, size: int) -> None:
        self.memory: Array | None = None
        self._size = size
        self._names = ExitStack()

    @contextmanager
    def array(self, shape: tuple[int, ...], dtype: DTypeLike) -> Iterator[Array | None]:
        """Shared memory of some shape for the block, of which one runs at a time; what does not fit is not kept.

        None where there is not so much shared memory.
        """
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        if size > self._size:
            with shared_array(shape, dtype) as array:
                yield array
            return
        if self.memory is None:
            self.memory = self._names.enter_context(shared_array((self._size,), np.uint8))
        try:
            yield None if self.memory is None else self.memory[:size].view(dtype).reshape(shape)
        except BaseException:
            self.close()  # somebody may still write what is not wanted any more
            raise

    def close(self) -> None:
        """Give the memory back when nobody has it any more."""
        self.memory = None
        self._names.close()


def gather(slabs: Iterable[Array], values: Array) -> None:
    """Copy slabs one behind the other along the first axis of an array, each by several threads."""
    stop = 0
    with ThreadPoolExecutor(_COPYING) as threads:
        for slab in slabs:
            start, stop = stop, stop + len(slab)
            parts = (np.array_split(array, _COPYING) for array in (values[start:stop], slab))
            list(threads.map(np.copyto, *parts))


# ---- in a process that computes


class _Held(NamedTuple):
    memory: Array
    unpin: Callable[[], None]


_held: list[_Held] = []
"""The ring that slabs are written to, if any."""


def hold(memory: Array) -> None:
    """Keep the memory of a ring mapped, and pinned if kernels run on CUDA, in place of another's; in a session."""
    from taichi_kernels.arrays import pin

    if _held and _held[0].memory.ctypes.data == memory.ctypes.data:
        return
    while _held:
        _held.pop().unpin()
    _held.append(_Held(memory, pin(memory)))
