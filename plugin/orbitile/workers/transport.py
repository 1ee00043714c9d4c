"""Objects from one process to another: arrays through shared memory, what is around them as a pickle.

`pack` copies the arrays of an object to one segment of shared memory, `unpack` lays arrays over it; neither process
copies them again, unless there is little. A segment has a name until the receiver has opened it, and its memory is
given back when the last array is dropped. An array made by `shared_array` is not copied at all: processes that are
handed it, or a part of it, read and write the same memory.

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
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from io import BytesIO
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..base.errors import OrbitileError

if sys.platform == "win32":
    from multiprocessing.connection import PipeConnection

    Channel: TypeAlias = "Connection[Any, Any] | PipeConnection[Any, Any]"
    _posixshmem: Any = None
else:
    import _posixshmem  # type: ignore[import-not-found]  # mypy has no description of it

    Channel: TypeAlias = "Connection[Any, Any]"

_SMALL = 1 << 15
"""Bytes from which on an array goes through shared memory: what is less is copied faster than mapped."""
_COPIED = 1 << 20
"""Bytes up to which a segment is copied by its receiver: while it is mapped it has a file open, of which a viewer that
keeps many small results would have a hundred."""
_ALIGNED = 64
"""Arrays begin at multiples of this many bytes."""
MOST = 64
"""Segments of a process that have a name at a time. Each has it for moments, or as long as a computation takes."""


class Segment(NamedTuple):
    """A segment of shared memory; its number tells it from others that had the name before."""

    name: str
    number: int


class Packed(NamedTuple):
    """An object on its way to another process: a pickle, and the segment where its arrays are.

    A long pickle is in the segment too, from a byte on and so many long: no message fills a connection then, on which
    a process that is stopped would keep the other one waiting.
    """

    pickled: bytes | tuple[int, int]
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
    for _ in range(MOST):
        pickler = _Pickler(item, _SMALL)
        pickled: bytes | tuple[int, int] = pickler.pickled
        if len(pickled) >= _SMALL:
            pickled = pickler.size, len(pickled)
            pickler.add(np.frombuffer(pickler.pickled, np.uint8))
        if not pickler.large:
            return Packed(pickled, None), None
        try:
            memory = _written(pickler.segment, pickler.size, pickler.large)
            return Packed(pickled, pickler.segment), memory
        except FileExistsError:  # what had the name before is still on its way
            continue
        except OSError:
            break
    return Packed(_Pickler(item, sys.maxsize).pickled, None), None


def unpack(packed: Packed) -> Any:
    """The object, whose arrays are where they were left; the name of their memory is removed.

    Raises
    ------
    Exception
        Whatever is raised where an object cannot be made again, as when its module is missing here.
    """
    try:
        if isinstance(packed.pickled, bytes):
            return pickle.loads(packed.pickled)
        offset, length = packed.pickled
        assert packed.segment is not None  # it was made for the pickle
        return pickle.loads(_restored("|u1", (length,), (1,), False, (packed.segment, offset, False)).data)
    finally:
        packed.remove()


def send(connection: Channel, kind: str, content: Any = None) -> None:
    """Send a message, in half the time of `Connection.send`, which could send more kinds of objects."""
    connection.send_bytes(pickle.dumps((kind, content), protocol=5))


def receive(connection: Channel) -> tuple[str, Any]:
    """Wait for a message."""
    return pickle.loads(connection.recv_bytes())


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
        segment, handle = _new_memory(size)
        memory = _mapped(segment, handle, size)
    except OSError:
        yield None
        return
    _open[segment] = _shared[segment] = memory
    process = os.getpid()
    try:
        yield np.ndarray(shape, dtype, memory)
    finally:
        if os.getpid() == process:  # in a fork it is somebody else's
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
_open: WeakValueDictionary[Segment, mmap.mmap] = WeakValueDictionary()
"""Memory of segments while there is an array over it."""
_shared: WeakValueDictionary[Segment, mmap.mmap] = WeakValueDictionary()
"""Those of them that `shared_array` made, here or in the process that sent them."""


class _Pickler(pickle.Pickler):
    """Leaves arrays of numbers out; `large` are those for shared memory, by the bytes there at which they begin."""

    def __init__(self, item: Any, small: int) -> None:
        stream = BytesIO()
        super().__init__(stream, protocol=5)
        self.large: dict[int, NDArray[Any]] = {}
        self.size = 0
        self._small = small
        self.dump(item)
        self.pickled = stream.getvalue()

    @cached_property
    def segment(self) -> Segment:
        """Where the large arrays are going to be."""
        return _new_segment()

    def add(self, array: NDArray[Any]) -> None:
        """Have an array in shared memory, behind those that are there."""
        self.large[self.size] = array
        self.size += -(-array.nbytes // _ALIGNED) * _ALIGNED

    def reducer_override(self, item: Any) -> Any:
        if type(item) is not np.ndarray or item.dtype.kind not in "biufc":
            return NotImplemented
        writable = item.flags.writeable
        place: bytearray | tuple[Segment, int, bool] | None = _shared_place(item)
        if place is None:
            item = item if item.flags.forc else np.ascontiguousarray(item)
            if item.nbytes < self._small:
                place = bytearray(item.tobytes("A"))
            else:
                place = self.segment, self.size, False
                self.add(item)
        return _restored, (item.dtype.str, item.shape, item.strides, writable, place)


def _restored(
    dtype: str,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    writable: bool,
    place: bytearray | tuple[Segment, int, bool],
) -> NDArray[Any]:
    """An array over these bytes, or over a segment from a byte on, which is shared or came with the pickle."""
    array: NDArray[Any]
    if isinstance(place, bytearray):
        array = np.ndarray(shape, dtype, place, 0, strides)
    else:
        segment, offset, is_shared = place
        memory = _open.get(segment)
        if memory is None:
            handle = -1 if os.name == "nt" else _posixshmem.shm_open(f"/{segment.name}", os.O_RDWR, mode=0o600)
            size = offset + int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
            memory = _mapped(segment, handle, size if os.name == "nt" else 0)
            memory = _open[segment] = memory if is_shared else _unmapped_if_small(memory)
        if is_shared:
            _shared[segment] = memory
        array = np.ndarray(shape, dtype, memory, offset, strides)
    array.flags.writeable = writable
    return array


def _shared_place(array: NDArray[Any]) -> tuple[Segment, int, bool] | None:
    """Where a shared array lies: its segment, and the byte there of its first element."""
    for segment, memory in list(_shared.items()):
        begin, address = (item.__array_interface__["data"][0] for item in (np.frombuffer(memory, np.uint8), array))
        if begin <= address < begin + len(memory):
            return segment, address - begin, True
    return None


def _written(segment: Segment, size: int, arrays: dict[int, NDArray[Any]]) -> mmap.mmap | None:
    """Make a segment with compact arrays at these places."""
    handle = _created(segment, size)
    memory: mmap.mmap | None = None
    if sys.platform == "linux":
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
    else:  # shared memory can only be mapped
        memory = _mapped(segment, handle, size)
        for offset, array in arrays.items():
            np.ndarray(array.shape, array.dtype, memory, offset, array.strides)[...] = array
    return memory if os.name == "nt" else None


def _new_segment() -> Segment:
    number = next(_numbers)
    return Segment(f"{_prefix}{number % MOST if os.name == 'posix' else number}", number)


def _new_memory(size: int) -> tuple[Segment, int]:
    """A segment and its handle, passing over names that are still in use."""
    for _ in range(MOST - 1):
        segment = _new_segment()
        with suppress(FileExistsError):
            return segment, _created(segment, size)
    segment = _new_segment()
    return segment, _created(segment, size)


def _created(segment: Segment, size: int) -> int:
    """Make a segment; returns its handle, but for Windows, where mapping makes it."""
    if os.name == "nt":
        return -1
    handle: int = _posixshmem.shm_open(f"/{segment.name}", os.O_RDWR | os.O_CREAT | os.O_EXCL, mode=0o600)
    os.ftruncate(handle, size)
    return handle


def _mapped(segment: Segment, handle: int, size: int) -> mmap.mmap:
    """The memory of a segment, of all of it with a size of 0."""
    if sys.platform == "win32":
        memory = mmap.mmap(-1, size, tagname=segment.name)
    else:
        try:
            memory = mmap.mmap(handle, size or os.fstat(handle).st_size)  # of which mmap takes no notice on macOS
        finally:
            os.close(handle)
    return memory


def _unmapped_if_small(memory: mmap.mmap) -> mmap.mmap:
    """The memory of a segment; of a small one a copy without an open file, given back to the system when dropped."""
    if sys.platform != "win32" and len(memory) <= _COPIED:
        with memory:
            copy = mmap.mmap(-1, len(memory), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            copy.write(memory)
        return copy
    return memory


def _remove(name: str) -> None:
    if os.name == "posix":  # Windows gives memory back with the last handle
        with suppress(FileNotFoundError):
            _posixshmem.shm_unlink(f"/{name}")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=use_prefix)


# ---- errors: our own arrive as they are, any other as an internal error of the worker


class WorkerError(OrbitileError):
    """A worker failed, rather than the function that it ran."""


class WorkerNotStarted(WorkerError):
    """A worker could not be started, or did not connect."""


class WorkerEnded(WorkerError):
    """A worker died, or hung and was ended.

    Attributes
    ----------
    status : int or None
        Its exit status, or minus the signal that ended it; None when it stood still.
    """

    status: int | None = None


class _InWorker(Exception):
    """The traceback of an error in a worker, and what it wrote last: shown as the cause of the error here."""


class Failure(NamedTuple):
    """What is sent of an error, since an exception itself may not go through a pickle.

    Attributes
    ----------
    classes : tuple of (module, name)
        Of an error of ours: its class and those that it is derived from; none for any other.
    message, traceback : str
    """

    classes: tuple[tuple[str, str], ...]
    message: str
    traceback: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """What is sent of this error."""
        ours = [base for base in type(error).__mro__ if issubclass(base, OrbitileError)]
        message = str(error) if ours else f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
        classes = tuple((base.__module__, base.__qualname__) for base in ours)
        return cls(classes, message, "".join(traceback.format_exception(error)))

    def error(self, name: str, said: Sequence[str]) -> OrbitileError:
        """The error here: of the first of its classes that can be found; `name` and `said` are those of the worker."""
        for module, qualified_name in self.classes:
            with suppress(ImportError, AttributeError):
                found: type[OrbitileError] = getattr(import_module(module), qualified_name)
                error = found.__new__(found)
                OrbitileError.__init__(error, self.message)
                return error
        error = WorkerError(f"internal error in {name} (please report): {self.message[:300]}")
        error.__cause__ = _InWorker("\n".join([self.traceback, *said]))
        return error
