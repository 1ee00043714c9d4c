"""Objects from one process to another: arrays through shared memory, what is around them as a pickle.

`pack` copies the arrays of an object to one segment of shared memory, `unpack` lays arrays over it; neither process
copies them again. A segment has a name until the receiver has opened it, and its memory is given back when the last
array is dropped. An array made by `shared_array` is not copied at all: processes that are handed it, or a part of it,
read and write the same memory.

Names are a prefix and one of a few numbers, so that whoever is left when a process was killed can remove them without
having been told which there are. `multiprocessing.shared_memory` is not used: before Python 3.13 it starts a process
that watches over names with `sys.executable`, which in PyMOL is PyMOL, and takes a segment away from everybody when
one process ends. These are the same calls of the system.
"""

from __future__ import annotations

import errno
import itertools
import mmap
import os
import pickle
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import DTypeLike, NDArray

if os.name == "posix":
    import _posixshmem  # type: ignore[import-not-found]  # mypy has no description of it

_SMALL = 1 << 15
"""Bytes from which on an array goes through shared memory: what is less is copied faster than mapped."""
_ALIGNED = 64
"""Arrays begin at multiples of this many bytes."""
MOST = 64
"""Segments of a process that have a name at a time. Each has it for moments, or as long as a computation takes."""


@dataclass(frozen=True)
class Segment:
    """A segment of shared memory; its number tells it from others that had the name before."""

    name: str
    number: int
    size: int


@dataclass(frozen=True)
class _Array:
    """An array of a packed object: it lies in the bytes here, in the segment of the object, or in a shared one."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    writable: bool
    place: bytearray | int | tuple[Segment, int]


@dataclass(frozen=True)
class Packed:
    """An object on its way to another process."""

    pickled: bytes
    arrays: tuple[_Array, ...]
    segment: Segment | None

    def remove(self) -> None:
        """Give the memory back where nobody has unpacked it."""
        if self.segment is not None:
            _remove(self.segment.name)


def pack(item: Any) -> tuple[Packed, mmap.mmap | None]:
    """Copy an object, to be sent. Memory that is returned, on Windows, is to be kept until it has been unpacked.

    Where shared memory is full or missing, as in a container that allows 64 MiB, arrays are sent with the rest.

    Raises
    ------
    Exception
        Whatever `pickle` or the object raises where it cannot be pickled.
    """
    stream = BytesIO()
    pickler = _Pickler(stream)
    pickler.dump(item)
    if not pickler.arrays:
        return Packed(stream.getvalue(), (), None), None
    places: list[bytearray | int | tuple[Segment, int] | None] = [_shared_place(array) for array in pickler.arrays]
    arrays = [_compact(array) if place is None else array for array, place in zip(pickler.arrays, places, strict=True)]
    large = {n: array for n, array in enumerate(arrays) if places[n] is None and array.nbytes >= _SMALL}
    segment = memory = None
    if large:
        *offsets, size = itertools.accumulate((_aligned(array.nbytes) for array in large.values()), initial=0)
        with suppress(OSError):
            segment, memory = _written(size, dict(zip(offsets, large.values(), strict=True)))
            for n, offset in zip(large, offsets, strict=True):
                places[n] = offset
    described = tuple(
        _Array(
            array.dtype.str,
            array.shape,
            array.strides,
            original.flags.writeable,
            bytearray(array.tobytes("A")) if place is None else place,
        )
        for array, original, place in zip(arrays, pickler.arrays, places, strict=True)
    )
    return Packed(stream.getvalue(), described, segment), memory


def unpack(packed: Packed) -> Any:
    """The object, whose arrays are where they were left; the name of their memory is removed.

    Raises
    ------
    Exception
        Whatever is raised where an object cannot be made again, as when its module is missing here.
    """
    memory = None
    if packed.segment is not None:
        memory = _opened(packed.segment)
        packed.remove()
    return _Unpickler(BytesIO(packed.pickled), [_restored(array, memory) for array in packed.arrays]).load()


@contextmanager
def shared_array(shape: tuple[int, ...], dtype: DTypeLike) -> Iterator[NDArray[Any] | None]:
    """An array that other processes work on in place when it is sent to them within the block; it outlives the block.

    None where there is not so much shared memory.
    """
    dtype = np.dtype(dtype)
    size = max(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize, 1)
    try:
        if sys.platform == "linux":  # who writes where there is no room is ended by a signal
            room = os.statvfs("/dev/shm")
            if size > room.f_bavail * room.f_frsize:
                raise OSError(errno.ENOSPC, "shared memory is full")
        segment, handle = _created(size)
    except OSError:
        yield None
        return
    memory = _shared[segment] = _mapped(segment, handle)
    try:
        yield np.ndarray(shape, dtype, memory)
    finally:
        del _shared[segment]
        _remove(segment.name)


def own_prefix() -> str:
    """What the names of this process begin with."""
    return _prefix


def use_prefix(prefix: str = "") -> None:
    """Begin names otherwise from now on: as given, or as nobody else does."""
    global _prefix
    _prefix = prefix or new_prefix()


def new_prefix() -> str:
    """What no other names begin with; macOS allows 30 characters."""
    return f"orbitile-{secrets.token_hex(6)}-"


def remove_all(prefix: str) -> None:
    """Remove the names that begin so and are still there."""
    for number in range(MOST if os.name == "posix" else 0):
        _remove(f"{prefix}{number}")


_prefix = new_prefix()
_numbers = itertools.count()
_shared: WeakValueDictionary[Segment, mmap.mmap] = WeakValueDictionary()
"""What `shared_array` made, and what was opened of others' here, while there is an array over it."""


class _Pickler(pickle.Pickler):
    """Leaves arrays of numbers out."""

    def __init__(self, stream: BytesIO) -> None:
        super().__init__(stream, protocol=5)
        self.arrays: list[NDArray[Any]] = []
        self._numbers: dict[int, int] = {}

    def persistent_id(self, item: Any) -> int | None:
        if type(item) is not np.ndarray or item.dtype.kind not in "biufc":
            return None
        if id(item) not in self._numbers:
            self._numbers[id(item)] = len(self.arrays)
            self.arrays.append(item)
        return self._numbers[id(item)]


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: BytesIO, arrays: list[NDArray[Any]]) -> None:
        super().__init__(stream)
        self._arrays = arrays

    def persistent_load(self, number: int) -> NDArray[Any]:
        return self._arrays[number]


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _compact(array: NDArray[Any]) -> NDArray[Any]:
    """An array without gaps, its first or its last index the fastest."""
    return array if array.flags.forc else np.ascontiguousarray(array)


def _restored(array: _Array, memory: mmap.mmap | None) -> NDArray[Any]:
    buffer: bytearray | mmap.mmap | None
    buffer, offset = memory, 0
    if isinstance(array.place, bytearray):
        buffer = array.place
    elif isinstance(array.place, int):
        offset = array.place
    else:
        segment, offset = array.place
        buffer = _shared.get(segment)
        if buffer is None:
            buffer = _shared[segment] = _opened(segment)
    found: NDArray[Any] = np.ndarray(array.shape, array.dtype, buffer, offset, array.strides)
    found.flags.writeable = array.writable
    return found


def _shared_place(array: NDArray[Any]) -> tuple[Segment, int] | None:
    """Where a shared array lies: its segment, and the byte there of its first element."""
    address = array.__array_interface__["data"][0]
    for segment, memory in list(_shared.items()):
        begin = np.frombuffer(memory, np.uint8).__array_interface__["data"][0]
        if begin <= address < begin + segment.size:
            return segment, address - begin
    return None


def _written(size: int, arrays: dict[int, NDArray[Any]]) -> tuple[Segment, mmap.mmap | None]:
    """A segment with compact arrays at these places."""
    segment, handle = _created(size)
    if sys.platform != "linux":  # elsewhere shared memory can only be mapped
        memory = _mapped(segment, handle)
        for offset, array in arrays.items():
            np.ndarray(array.shape, array.dtype, memory, offset, array.strides)[...] = array
        return segment, memory if os.name == "nt" else None
    try:
        for offset, array in arrays.items():  # takes half the time of mapping memory that nobody has touched
            data = (array.T if array.flags.fnc else array).reshape(-1).view(np.uint8).data
            while data:
                n_written = os.pwrite(handle, data, offset)
                data, offset = data[n_written:], offset + n_written
    except OSError:
        _remove(segment.name)
        raise
    finally:
        os.close(handle)
    return segment, None


def _created(size: int) -> tuple[Segment, int]:
    """A new segment and, but for Windows, its handle."""
    for _ in range(MOST):
        number = next(_numbers)
        if os.name == "nt":
            return Segment(f"{_prefix}{number}", number, size), -1
        name = f"{_prefix}{number % MOST}"
        with suppress(FileExistsError):
            handle = _posixshmem.shm_open(f"/{name}", os.O_RDWR | os.O_CREAT | os.O_EXCL, mode=0o600)
            os.ftruncate(handle, size)
            return Segment(name, number, size), handle
    raise OSError(errno.EMFILE, "too many arrays are on their way")


def _opened(segment: Segment) -> mmap.mmap:
    """The memory of a segment that another process made."""
    return _mapped(segment, -1 if os.name == "nt" else _posixshmem.shm_open(f"/{segment.name}", os.O_RDWR, mode=0o600))


def _mapped(segment: Segment, handle: int) -> mmap.mmap:
    if sys.platform == "win32":
        return mmap.mmap(-1, segment.size, tagname=segment.name)
    try:
        return mmap.mmap(handle, segment.size)
    finally:
        os.close(handle)


def _remove(name: str) -> None:
    if os.name == "posix":  # Windows gives memory back with the last handle
        with suppress(FileNotFoundError):
            _posixshmem.shm_unlink(f"/{name}")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=use_prefix)
