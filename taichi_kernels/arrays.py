"""Arrays on the device: their memory, and copies from and to it. All but `DeviceArray` inside a session."""

import atexit
import ctypes
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np

from .devices import DeviceUnavailable, cuda_driver


class DeviceArray(Protocol):
    """Values on the device, which kernels can fill."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values along each axis."""
        ...

    @property
    def dtype(self) -> "np.dtype[np.floating]":
        """NumPy's type of the values, float32 or float64."""
        ...

    def to_numpy(self) -> np.ndarray:
        """Values in a new array on the host."""
        ...

    def from_numpy(self, values: np.ndarray) -> None:
        """Fill it with values of its shape and type."""
        ...


def allocate(shape: tuple[int, ...], dtype: object) -> DeviceArray:
    """Uninitialised array on the device, of float32 or float64, for kernels to write to.

    The memory of the last one that died is kept. If the next has its shape, it gets that, since to allocate takes more
    time than a fast kernel; if not, it is given back first.
    """
    from ._taichi import number

    key = (np.dtype(dtype), shape)
    if key in _spare:
        array = object.__new__(_result_class())
        array.__dict__.update(_spare.pop(key))
        _arrays.add(array)
        return array
    _free_spare()
    array = array_of(number(dtype), shape)
    array.__class__ = _result_class()
    array.key = key
    return array


_spare: "dict[tuple[np.dtype[Any], tuple[int, ...]], dict[str, Any]]" = {}
"""What is left of a result that died, one at most."""


@lru_cache
def _result_class() -> type:
    from ._taichi import ScalarArray, fill

    class Result(ScalarArray):  # type: ignore[misc]  # known when it is imported
        """Values of a field on the device, with the types of NumPy."""

        @property
        def dtype(self) -> "np.dtype[Any]":
            return self.key[0]

        def to_numpy(self) -> np.ndarray:
            return to_numpy(self)

        def fill(self, value: float) -> None:
            fill(self, value)

        def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:  # globals may be gone by then
            if ends():  # memory goes with the process, and nothing can be imported any more
                return
            _free_spare()
            _spare[self.key] = self.__dict__

    return Result


def _free_spare() -> None:
    """Give back the memory of the result that died. Results die in any thread: each is taken out before it is freed."""
    while _spare:
        try:
            _, held = _spare.popitem()
        except KeyError:  # another thread was faster
            return
        _free(held)


def _free(attributes: dict[str, Any]) -> None:
    """Free the memory of an array that died, in whatever thread: the compiler ends a process where CUDA refuses."""
    from ._taichi import delete, running

    with _driver() if running() == "cuda" else nullcontext():
        delete(attributes)


def array_of(element: object, shape: "int | tuple[int, ...]") -> Any:
    """Uninitialised array on the device, of numbers or vectors of a type of the compiler.

    It may be one that died, of the same type and shape: to make one takes half a millisecond, as long as a fast kernel.
    """
    key = (*_named(element), shape)
    _take_in()
    held = _pool.pop(key, None)
    if held:
        left = held.pop()
        _pooled[0] -= left.size
        array = object.__new__(left.kind)
        vars(array).update(left.attributes)
        if held:
            _pool[key] = held  # behind those that were wanted longer ago
    else:
        array = _made(element, shape)
        array.__class__ = _reusable(type(array))
        vars(array)["key"] = key
    _arrays.add(array)
    return array


@lru_cache(maxsize=256)
def _named(element: Any) -> tuple[Any, ...]:
    """A type of the compiler as texts and numbers, which take it long to make."""
    return str(element), getattr(element, "n", 1), str(getattr(element, "dtype", ""))


def _made(element: object, shape: "int | tuple[int, ...]") -> Any:
    """A new array; where there is no memory for it, after giving back that of arrays that died.

    Raises
    ------
    DeviceUnavailable
        When there is still none.
    """
    from ._taichi import running, ti

    try:
        return ti.ndarray(element, shape)
    except RuntimeError:  # what the compiler raises where memory is used up
        _free_spare()
        _empty_pool()
    try:
        return ti.ndarray(element, shape)
    except RuntimeError as error:
        size = 8 if "64" in str(getattr(element, "dtype", element)) else 4
        n_bytes = size * getattr(element, "n", 1) * int(np.prod(shape))
        raise DeviceUnavailable(
            f"{running()} has no {n_bytes / 1e9:.2f} GB of memory left for an array; choose a larger spacing, end "
            "other programs that use the GPU, or compute on the device cpu"
        ) from error


def _empty_pool() -> None:
    _take_in()
    while _pool:
        _, held = _pool.popitem()
        for left in held:
            _free(left.attributes)
    _pooled[0] = 0


@dataclass(frozen=True)
class _Left:
    """What is left of an array that died."""

    kind: type
    attributes: dict[str, Any]

    @cached_property
    def size(self) -> int:
        """In bytes."""
        array = self.attributes["arr"]
        return int(array.nelement() * array.element_size())


_LARGEST, _MOST = 16 << 20, 192 << 20
"""Bytes of an array that is kept when it dies, and of all of those."""

_pool: "dict[tuple[Any, ...], list[_Left]]" = {}
"""Arrays that died, by type and shape, those first that were wanted longest ago."""

_pooled = [0]
"""Bytes of all of those."""

_died: "deque[_Left]" = deque()
"""Arrays that died since one was wanted: they die in any thread, even while one is being taken."""


def _take_in() -> None:
    """Put what died into the pool, and free what that has no room for."""
    if not _died:
        return
    while _died:
        left = _died.popleft()
        _pool.setdefault(left.attributes["key"], []).append(left)
        _pooled[0] += left.size
    while _pooled[0] > _MOST:
        key = next(iter(_pool))
        left = _pool[key].pop()
        _pooled[0] -= left.size
        _free(left.attributes)
        if not _pool[key]:
            del _pool[key]


@lru_cache
def _reusable(kind: type) -> type:
    """A class like one of the compiler's arrays, whose memory is kept for the next one if it is not much."""

    def died(self: Any, ends: Callable[[], bool] = sys.is_finalizing) -> None:  # globals may be gone by then
        if ends():  # memory goes with the process
            return
        left = _Left(type(self), vars(self))
        if left.size > _LARGEST:
            _free(left.attributes)
        else:
            _died.append(left)

    return type(f"Reusable{kind.__name__}", (kind,), {"__del__": died})


_arrays: "weakref.WeakSet[object]" = weakref.WeakSet()


def results_left() -> bool:
    """Whether somebody has an array that `allocate` made."""
    return any(isinstance(array, _result_class()) for array in _arrays)


def disown() -> None:
    """Part with the arrays of a program of the compiler that ends.

    It frees them itself. An array that dies later would have the next program free whatever is at its address by then.
    """
    for array in list(_arrays):
        # an assignment that type checkers refuse; the finaliser is looked up in the class, so no other way stops it
        array.__class__ = _lost(type(array))  # type: ignore[assignment]
    _arrays.clear()
    _spare.clear()
    _pool.clear()
    _pooled[0] = 0
    _died.clear()


@lru_cache
def _lost(kind: type) -> type:
    """A class like another one, whose objects need not be freed, and have no values any more."""
    from ._taichi import FINALISERS

    def gone(self: object, *arguments: object, **keywords: object) -> None:
        raise DeviceUnavailable("this array is lost: kernels were started anew, for another device, since it was made")

    def nothing(self: object) -> None:
        pass

    methods = dict.fromkeys(FINALISERS, nothing) | dict.fromkeys(("to_numpy", "from_numpy"), gone)
    return type(f"Lost{kind.__name__}", (kind,), methods)


def to_numpy(array: Any, values: "np.ndarray | None" = None) -> np.ndarray:
    """Values of an array of numbers, in a new array, or in one of its shape or shorter along the first axis.

    They are copied from memory, from CUDA by the driver: the compiler's own way runs a kernel, which has to be loaded.
    """
    from ._taichi import copy_to, dtype_of, running, ti

    dtype = dtype_of(array)
    if running() == "cpu":
        there = view(array).reshape(array.shape)
        if values is None:
            return there.copy()
        values[...] = there[: len(values)]
        return values
    if running() != "cuda":
        there = values is not None and values.shape == tuple(array.shape) and _takes(values, dtype)
        copied = values if there else np.empty(array.shape, dtype)
        copy_to(copied, array)
        if values is None or there:
            return copied
        values[...] = copied[: len(values)]
        return values
    if values is not None and not _takes(values, dtype):
        values[...] = to_numpy(array)[: len(values)]
        return values
    if values is None:
        values = np.empty(array.shape, dtype)
    with _cuda_address(array) as (driver, address):
        ti.sync()  # in the context: this may be another thread than the one that started the compiler
        if values.nbytes >= _FEW * _PIECE:
            try:
                _copy_by_threads(driver, _primary_context()[1], int(address.value), values)
                return values
            except RuntimeError:  # memory that the GPU reaches is refused; or the GPU is lost, as the next line says
                pass
        _done(driver.cuMemcpyDtoH_v2(ctypes.c_void_p(values.ctypes.data), address, ctypes.c_size_t(values.nbytes)))
    return values


_FEW = 4
"""Pieces below which one thread copies as fast as several."""


_PIECE = 1 << 21
"""Bytes that are copied at a time."""

_THREADS = 4
"""More wait for each other. All together they hold 16 MiB, from the first large copy on."""

_copying = threading.Lock()
_threads: "list[ThreadPoolExecutor]" = []
_own = threading.local()


def _copy_by_threads(driver: ctypes.CDLL, context: ctypes.c_void_p, address: int, values: np.ndarray) -> None:
    """Copy what lies at an address of the GPU, which is there by now, to a C-ordered array, by some threads at once.

    To copy to memory of a program the driver has one thread take it from memory of its own, which the GPU reaches. Four
    that do the same, each with two pieces of such memory of which one is filled while the other one is emptied, take
    two thirds of the time (20 MB: 0.75 ms in place of 1.23 beside an H200), and find new pages of the array side by
    side.

    Raises
    ------
    RuntimeError
        When the driver refuses.
    """
    with _copying:
        if not _threads:
            _threads.append(ThreadPoolExecutor(_THREADS, "orbitile-copies"))
    pieces = iter(range(0, values.nbytes, _PIECE))  # one for all: each thread takes the next piece
    copies = [_threads[0].submit(_copy_pieces, driver, context, address, values, pieces) for _ in range(_THREADS)]
    wait(copies)  # all of them, since who has the array may write to it afterwards
    for copied in copies:
        copied.result()


def _copy_pieces(
    driver: ctypes.CDLL, context: ctypes.c_void_p, source: int, values: np.ndarray, pieces: Iterator[int]
) -> None:
    """Copy those pieces that no other thread takes; the array lives as long, also where nobody waits for it."""
    if not hasattr(_own, "slots"):
        _done(driver.cuCtxSetCurrent(context))
        _own.slots = _slot(driver), _slot(driver)
    before: Callable[[], None] | None = None
    slots = _own.slots
    for first in pieces:
        size = min(_PIECE, values.nbytes - first)
        stream, buffer = slots[0]
        _done(driver.cuMemcpyDtoHAsync_v2(buffer, ctypes.c_uint64(source + first), ctypes.c_size_t(size), stream))
        if before is not None:
            before()
        before = _emptied(driver, stream, buffer, values.ctypes.data + first, size)
        slots = slots[::-1]
    if before is not None:
        before()


def _emptied(
    driver: ctypes.CDLL, stream: ctypes.c_void_p, buffer: ctypes.c_void_p, target: int, size: int
) -> Callable[[], None]:
    """What waits for a piece and takes it to where it belongs."""

    def empty() -> None:
        _done(driver.cuStreamSynchronize(stream))
        ctypes.memmove(target, buffer.value or 0, size)

    return empty


def _slot(driver: ctypes.CDLL) -> tuple[ctypes.c_void_p, ctypes.c_void_p]:
    """A stream, and memory of the host that the GPU reaches."""
    stream, buffer = ctypes.c_void_p(), ctypes.c_void_p()
    _done(driver.cuStreamCreate(ctypes.byref(stream), 1))  # 1: it does not wait for others
    _done(driver.cuMemHostAlloc(ctypes.byref(buffer), ctypes.c_size_t(_PIECE), 0))
    return stream, buffer


def _takes(values: np.ndarray, dtype: object) -> bool:
    """Whether values of a type can be copied to an array as they lie in memory."""
    return values.flags.c_contiguous and values.dtype == dtype


def aligned(shape: tuple[int, ...], dtype: object) -> np.ndarray:
    """Uninitialised array on the host whose memory begins where vectors of kernels may be: at a multiple of 128 bytes.

    See `_taichi.with_vectors`.
    """
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.empty(n_bytes + _ALIGNMENT, np.uint8)
    begin = -memory.ctypes.data % _ALIGNMENT
    return memory[begin : begin + n_bytes].view(dtype).reshape(shape)


_ALIGNMENT = 128
"""Bytes of the longest vector: 16 numbers in double precision."""


def view(array: Any) -> np.ndarray:
    """Values of an array of numbers of the CPU where they lie, in one dimension. They go when the array does."""
    from ._taichi import address, dtype_of

    pointer = ctypes.cast(address(array), ctypes.POINTER(np.ctypeslib.as_ctypes_type(dtype_of(array))))
    return np.ctypeslib.as_array(pointer, (int(np.prod(array.shape)),))


def send(array: Any, values: np.ndarray) -> None:
    """Copy values, C-ordered and of the type of the array, to the beginning of an array on the device."""
    from ._taichi import address, running

    if running() == "cpu":
        ctypes.memmove(address(array), values.ctypes.data, values.nbytes)
        return
    if running() != "cuda":
        if len(values) < array.shape[0]:
            values = np.concatenate([values, np.zeros((array.shape[0] - len(values), *values.shape[1:]), values.dtype)])
        array.from_numpy(values if values.flags.writeable else values.copy())  # what is read-only is refused
        return
    with _cuda_address(array) as (driver, address):
        _done(driver.cuMemcpyHtoD_v2(address, ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes)))


def pin(values: np.ndarray) -> Callable[[], None]:
    """Have CUDA's driver copy to memory of the host directly, three times as fast, until the result is called.

    It takes about as long as a copy. Where kernels run elsewhere, or the driver refuses, copies take what they took.
    """
    from ._taichi import running

    place = ctypes.c_void_p(values.ctypes.data)
    if running() != "cuda":
        return lambda: None
    with _driver() as driver:
        if driver.cuMemHostRegister_v2(place, ctypes.c_size_t(values.nbytes), ctypes.c_uint(0)):
            return lambda: None

    def unpin() -> None:
        with _driver() as driver:
            driver.cuMemHostUnregister(place)

    return unpin


@contextmanager
def _cuda_address(array: Any) -> "Iterator[tuple[ctypes.CDLL, ctypes.c_uint64]]":
    """CUDA's driver in the context that the compiler uses, and where an array lies."""
    from ._taichi import address

    with _driver() as driver:
        yield driver, ctypes.c_uint64(address(array))


@contextmanager
def _driver() -> "Iterator[ctypes.CDLL]":
    """CUDA's driver in the context that the compiler uses."""
    driver, context = _primary_context()
    _done(driver.cuCtxPushCurrent_v2(context))
    try:
        yield driver
    finally:
        driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


@lru_cache
def end_with_context() -> None:
    """Have the end of this process find CUDA's context, without which the compiler cannot free its memory and aborts.

    The context is current in the thread that has started the compiler; the process ends in its first one.
    """
    driver, context = _primary_context()
    atexit.register(driver.cuCtxSetCurrent, context)


@lru_cache
def _primary_context() -> tuple[ctypes.CDLL, ctypes.c_void_p]:
    driver = cuda_driver()
    assert driver is not None  # kernels run on it
    context = ctypes.c_void_p()
    _done(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    return driver, context


def _done(status: int) -> None:
    if status:
        raise RuntimeError(f"CUDA's driver returned {status} for a copy")
