"""The compute device: the only place where Taichi is initialised.

One process computes on one device at a time; asking for another re-initialises Taichi, after which arrays of the old
device are gone. Everything that launches kernels does so inside `session`, which also serialises threads.
"""

import ctypes
import ctypes.util
import os
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .arrays import DeviceArray
from .shader_cache import cache_with_room
from .target import Target

DEVICES = ("cuda", "vulkan", "cpu")
"""Devices in the order in which `auto` prefers them."""


class DeviceUnavailable(RuntimeError):
    """The device asked for cannot be used here, or not in the precision asked for."""


@dataclass(frozen=True)
class Probe:
    """What is known of a device without initialising Taichi.

    Attributes
    ----------
    name : str
        cuda, vulkan or cpu.
    available : bool
        Whether Taichi should be able to use it.
    detail : str
        The hardware, or the reason why it cannot be used.
    software : bool
        True for a Vulkan driver that runs on the CPU; `auto` never takes one.
    double : bool
        Whether it computes in double precision.
    """

    name: str
    available: bool
    detail: str
    software: bool = False
    double: bool = True


@dataclass
class _State:
    device: str | None = None
    generation: int = 0
    started: float = 0.0
    forked: bool = False


_state = _State()
_lock = threading.RLock()


def probe(name: str) -> Probe:
    """Look for a device through its driver library; never raises."""
    try:
        return {"cuda": _probe_cuda, "vulkan": _probe_vulkan, "cpu": _probe_cpu}[name]()
    except Exception as error:  # a broken driver may fail in any way, and must not take the program with it
        return Probe(name, False, f"its driver failed: {error}")


def choose(request: str | None = None) -> str:
    """Device to use for a request: `auto` or a name; without one `ORBITILE_DEVICE`, then `auto`.

    Raises
    ------
    DeviceUnavailable
        For an unknown name.
    """
    name = (request or "auto").lower()
    if name == "auto":
        name = os.environ.get("ORBITILE_DEVICE", "auto").lower() or "auto"
    if name == "gpu":
        name = "auto"
    if name == "auto":
        for candidate in ("cuda", "vulkan"):
            found = probe(candidate)
            if found.available and not found.software:
                return candidate
        return "cpu"
    if name not in DEVICES:
        raise DeviceUnavailable(f"device: expected auto, {', '.join(DEVICES)}, got {name!r}")
    return name


@contextmanager
def session(request: str | None = None, precision: str = "single") -> Iterator[str]:
    """Hold the compute device: initialise Taichi for it if need be, and keep other threads out.

    Parameters
    ----------
    request
        `auto`, `cuda`, `vulkan`, `cpu`, or None for what `ORBITILE_DEVICE` says.
    precision
        single or double: a device that lacks double precision is not used for it.

    Yields
    ------
    str
        Name of the device in use. A device that was found by `auto` but fails to start is replaced by the CPU with one
        warning; one that was asked for by name is not.

    Raises
    ------
    DeviceUnavailable
        When the device asked for by name cannot be used, or none can, in a process forked from one that has computed.
    """
    if _state.forked:
        raise DeviceUnavailable(
            "Taichi does not survive a fork: this process was forked from one that has computed; start processes with "
            'multiprocessing.get_context("spawn"), or compute in one process only'
        )
    with _lock:
        named = (request or "auto").lower() not in ("auto", "gpu")
        named = named or os.environ.get("ORBITILE_DEVICE", "auto").lower() not in ("", "auto", "gpu")
        name = choose(request)
        if _state.device is not None and not named:
            name = _state.device  # `auto` stays with what is running
        if precision == "double" and not probe(name).double:
            if named:
                raise DeviceUnavailable(
                    f"{name} cannot be used here in double precision: {probe(name).detail} lacks it"
                )
            name = "cpu"
        if _state.device != name:
            _start(name, fall_back=not named)
        assert _state.device is not None  # _start raises otherwise
        with _without_locations():
            yield _state.device


@contextmanager
def _without_locations() -> Iterator[None]:
    """Do without what Taichi prepares for messages about errors in kernels, at a third of the time of its front end.

    For every node of a kernel it lays out the line of source that the node stands in, and for every kernel it looks up
    whether a class surrounds it. The compiled kernels do not depend on either. Another version of Taichi that has
    neither function is left alone.
    """
    from taichi.lang import kernel_impl
    from taichi.lang.ast import ast_transformer_utils

    context = getattr(ast_transformer_utils, "ASTTransformerContext", None)
    replaced = []
    for owner, name, value in (
        (context, "get_pos_info", lambda self, node: f"{self.file}, line {node.lineno + self.lineno_offset}:\n"),
        (kernel_impl, "_inside_class", lambda level_of_class_stackframe: False),
    ):
        if hasattr(owner, name):
            replaced.append((owner, name, getattr(owner, name)))
            setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in replaced:
            setattr(owner, name, value)


def running() -> str | None:
    """Name of the device that Taichi runs on in this process, None before the first session."""
    return _state.device


def generation() -> int:
    """Number that changes whenever Taichi is initialised anew, and arrays on the device are lost."""
    return _state.generation


def started() -> float:
    """When Taichi was initialised, in seconds since the epoch."""
    return _state.started


def renew() -> bool:
    """Start Taichi anew on the device in use, whereupon it finds kernels that other processes have compiled meanwhile.

    Inside a session. Not done, and False, while a result is left on the device, which would be lost.
    """
    import gc

    gc.collect()  # arrays that nobody has any more may still refer to each other
    if _state.device is None or any(isinstance(array, _result_class()) for array in _arrays):
        return False
    return _initialise(_state.device) is None


def finish() -> None:
    """End Taichi, whereupon it writes what it has compiled to its cache."""
    import taichi as ti

    _state.device = None
    _disown()
    ti.reset()


def _after_fork() -> None:
    """Leave Taichi alone in a process that was forked: its threads are not there, and whoever waits for them hangs."""
    global _lock
    _lock = threading.RLock()
    if not _state.generation:
        return
    from taichi.lang import impl

    _state.device, _state.forked = None, True
    _disown()
    program = impl.get_runtime().prog
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(program))  # so that it is not ended with the interpreter either


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _start(name: str, fall_back: bool) -> None:
    found = probe(name)
    if found.available:
        reason = _initialise(name)
        if reason is None:
            return
    else:
        reason = found.detail
    if not fall_back or name == "cpu":
        raise DeviceUnavailable(f"{name} cannot be used here: {reason}. Devices here: {_available()}")
    warnings.warn(f"{name} was found but cannot be used ({reason}): computing on the CPU", RuntimeWarning, stacklevel=4)
    reason = _initialise("cpu")
    if reason is not None:
        raise DeviceUnavailable(f"Taichi cannot be started: {reason}")


def _initialise(name: str) -> str | None:
    """Initialise Taichi; None on success, otherwise the reason why not."""
    import taichi as ti

    settings = _settings()
    _state.generation += 1
    _state.started = time.time()
    _state.device = None
    _disown()
    try:
        with _quiet_stdout(), cache_with_room():
            ti.init(
                arch={"cuda": ti.cuda, "vulkan": ti.vulkan, "cpu": ti.cpu}[name],
                log_level=ti.ERROR,
                offline_cache=True,
                fast_math=True,
                unrolling_limit=0,  # no warnings about loops that are unrolled on purpose
                **settings,
            )
        arch = str(ti.lang.impl.current_cfg().arch).rpartition(".")[2]
    except Exception as error:  # Taichi raises whatever its driver does
        return " ".join(str(error).split()) or type(error).__name__
    if arch not in (("x64", "arm64") if name == "cpu" else (name,)):
        return f"Taichi fell back to {arch}"
    _state.device = name
    return None


def _settings() -> dict[str, object]:
    settings: dict[str, object] = {}
    if threads := os.environ.get("ORBITILE_THREADS"):
        if not threads.isdigit() or int(threads) < 1:
            raise DeviceUnavailable(f"ORBITILE_THREADS: expected a whole number, 1 or more, got {threads!r}")
        settings["cpu_max_num_threads"] = int(threads)
    return settings


@contextmanager
def _quiet_stdout() -> Iterator[None]:
    """Taichi announces its architecture on standard output, where our results go."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        yield


def _available() -> str:
    return ", ".join(name for name in DEVICES if probe(name).available)


def _probe_cpu() -> Probe:
    import platform

    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            model = next((line.split(":", 1)[1].strip() for line in stream if line.startswith("model name")), model)
    except OSError:
        pass  # not Linux: the name of the architecture does
    return Probe("cpu", True, f"{model}, {os.cpu_count()} threads")


@lru_cache
def _probe_cuda() -> Probe:
    library = _library("cuda", "libcuda.so.1", "nvcuda.dll")
    if library is None:
        return Probe("cuda", False, "no NVIDIA driver (libcuda.so.1) on this machine")
    status = library.cuInit(0)
    if status:
        return Probe("cuda", False, f"the NVIDIA driver does not start (cuInit returned {status})")
    names = _gpu_names(library)
    if not names:
        return Probe("cuda", False, "the NVIDIA driver sees no GPU")
    return Probe("cuda", True, names[0])


def gpus() -> tuple[str, ...]:
    """Names of the GPUs that CUDA sees, by their numbers; never raises."""
    library = _library("cuda", "libcuda.so.1", "nvcuda.dll") if probe("cuda").available else None
    return _gpu_names(library) if library is not None else ()


def _gpu_names(library: ctypes.CDLL) -> tuple[str, ...]:
    """Through a driver that was started."""
    count, name = ctypes.c_int(), ctypes.create_string_buffer(128)
    library.cuDeviceGetCount(ctypes.byref(count))
    names = []
    for device in range(count.value):
        library.cuDeviceGetName(name, 128, device)
        names.append(name.value.decode(errors="replace"))
    return tuple(names)


class _InstanceInfo(ctypes.Structure):
    """VkInstanceCreateInfo."""

    _fields_ = (
        ("structure_type", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("application", ctypes.c_void_p),
        ("layer_count", ctypes.c_uint32),
        ("layers", ctypes.c_void_p),
        ("extension_count", ctypes.c_uint32),
        ("extensions", ctypes.c_void_p),
    )


class _DeviceProperties(ctypes.Structure):
    """VkPhysicalDeviceProperties; what follows the name is reserved as bytes."""

    _fields_ = (
        ("api_version", ctypes.c_uint32),
        ("driver_version", ctypes.c_uint32),
        ("vendor", ctypes.c_uint32),
        ("device", ctypes.c_uint32),
        ("kind", ctypes.c_int),
        ("name", ctypes.c_char * 256),
        ("rest", ctypes.c_byte * 2048),
    )


_VULKAN_INTEGRATED, _VULKAN_DISCRETE, _VULKAN_VIRTUAL = 1, 2, 3
_SHADER_FLOAT64 = 39  # place of shaderFloat64 in VkPhysicalDeviceFeatures


@lru_cache
def _probe_vulkan() -> Probe:
    library = _library("vulkan", "libvulkan.so.1", "vulkan-1.dll")
    if library is None:
        return Probe("vulkan", False, "no Vulkan loader (Debian package libvulkan1) on this machine")
    instance = ctypes.c_void_p()
    if library.vkCreateInstance(ctypes.byref(_InstanceInfo(structure_type=1)), None, ctypes.byref(instance)):
        return Probe("vulkan", False, "no Vulkan driver (for a software one: Debian package mesa-vulkan-drivers)")
    try:
        count = ctypes.c_uint32()
        library.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), None)
        handles = (ctypes.c_void_p * max(count.value, 1))()
        library.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), handles)
        found = []
        for handle in handles[: count.value]:
            properties = _DeviceProperties()
            library.vkGetPhysicalDeviceProperties(ctypes.c_void_p(handle), ctypes.byref(properties))
            features = (ctypes.c_uint32 * 256)()  # VkPhysicalDeviceFeatures: a list of booleans
            library.vkGetPhysicalDeviceFeatures(ctypes.c_void_p(handle), features)
            double = bool(features[_SHADER_FLOAT64])
            found.append((properties.kind, properties.name.decode(errors="replace"), double))
    finally:
        library.vkDestroyInstance(instance, None)
    if not found:
        return Probe("vulkan", False, "the Vulkan loader finds no device")
    for wanted in (_VULKAN_DISCRETE, _VULKAN_INTEGRATED, _VULKAN_VIRTUAL):
        for kind, name, double in found:
            if kind == wanted:
                return Probe("vulkan", True, name, double=double)
    _, name, double = found[0]
    return Probe("vulkan", True, f"{name} (software: used only when asked for)", software=True, double=double)


def _library(name: str, *files: str) -> ctypes.CDLL | None:
    for file in (*files, ctypes.util.find_library(name)):
        if file:
            try:
                return ctypes.CDLL(file)
            except OSError:
                continue  # the next name may exist
    return None


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
    from taichi.lang._ndarray import ScalarNdarray

    class Result(ScalarNdarray):  # type: ignore[misc]  # Taichi has no types
        """Values of a field on the device, with the types of NumPy."""

        @property
        def dtype(self) -> "np.dtype[Any]":
            return self.key[0]

        def to_numpy(self) -> "np.ndarray":
            return to_numpy(self)

        def fill(self, value: float) -> None:
            self._fill_by_kernel(value)

        def __del__(self) -> None:
            if sys.is_finalizing():  # memory goes with the process, and nothing can be imported any more
                return
            _free_spare()
            _spare[self.key] = self.__dict__

    return Result


def _free_spare() -> None:
    """Give back the memory of the result that died. Results die in any thread: each is taken out before it is freed."""
    from taichi.lang import impl

    while _spare:
        try:
            _, held = _spare.popitem()
        except KeyError:  # another thread was faster
            return
        impl.get_runtime().prog.delete_ndarray(held["arr"])


def array_of(element: object, shape: "int | tuple[int, ...]") -> Any:
    """Uninitialised array on the device, of numbers or vectors of a Taichi type."""
    import taichi as ti

    array = ti.ndarray(element, shape)
    _arrays.add(array)
    return array


_arrays: "weakref.WeakSet[object]" = weakref.WeakSet()


def _disown() -> None:
    """Part with the arrays of a program that ends.

    It frees them itself. An array that dies later would have the new program free whatever is at its address by then.
    """
    for array in list(_arrays):
        # an assignment that type checkers refuse; the finaliser is looked up in the class, so no other way stops it
        array.__class__ = _lost(type(array))  # type: ignore[assignment]
    _arrays.clear()
    _spare.clear()


def to_numpy(array: Any, values: "np.ndarray | None" = None) -> "np.ndarray":
    """Values of a scalar array on the device, in a new array, or in one of its shape or shorter along the first axis.

    From CUDA they are copied by the driver: Taichi's own way runs a kernel between two copies.
    """
    dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[str(array.element_type)]
    if _state.device != "cuda":
        from taichi._kernels import ndarray_to_ext_arr

        copied = np.empty(array.shape, dtype)
        ndarray_to_ext_arr(array, copied)
        synchronise()
        if values is None:
            return copied
        values[...] = copied[: len(values)]
        return values
    if values is not None and not (values.flags.c_contiguous and values.dtype == dtype):
        values[...] = to_numpy(array)[: len(values)]
        return values
    if values is None:
        values = np.empty(array.shape, dtype)
    synchronise()
    with _cuda_context() as (driver, program):
        address = ctypes.c_uint64(program.get_ndarray_data_ptr_as_int(array.arr))
        _done(driver.cuMemcpyDtoH_v2(ctypes.c_void_p(values.ctypes.data), address, ctypes.c_size_t(values.nbytes)))
    return values


def view(array: Any) -> "np.ndarray":
    """Values of a scalar array of the CPU where they lie, in one dimension. They go when the array does."""
    from taichi.lang import impl

    number = {"f32": ctypes.c_float, "f64": ctypes.c_double}[str(array.element_type)]
    address = impl.get_runtime().prog.get_ndarray_data_ptr_as_int(array.arr)
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(number)), (int(np.prod(array.shape)),))


def send(array: Any, values: "np.ndarray") -> None:
    """Copy values, C-ordered and of the type of the array, to the beginning of an array on the device."""
    if _state.device != "cuda":
        if len(values) < array.shape[0]:
            values = np.concatenate([values, np.zeros((array.shape[0] - len(values), *values.shape[1:]), values.dtype)])
        array.from_numpy(values)
        return
    with _cuda_context() as (driver, program):
        address = ctypes.c_uint64(program.get_ndarray_data_ptr_as_int(array.arr))
        _done(driver.cuMemcpyHtoD_v2(address, ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes)))


@contextmanager
def _cuda_context() -> Iterator[tuple[ctypes.CDLL, Any]]:
    """CUDA's driver with the context that Taichi uses, and Taichi's program."""
    from taichi.lang import impl

    driver, context = _primary_context()
    _done(driver.cuCtxPushCurrent_v2(context))
    try:
        yield driver, impl.get_runtime().prog
    finally:
        driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


@lru_cache
def _primary_context() -> tuple[ctypes.CDLL, ctypes.c_void_p]:
    driver = _library("cuda", "libcuda.so.1", "nvcuda.dll")
    assert driver is not None  # Taichi runs on it
    context = ctypes.c_void_p()
    _done(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    return driver, context


def _done(status: int) -> None:
    if status:
        raise RuntimeError(f"CUDA's driver returned {status} for a copy")


@lru_cache
def _lost(kind: type) -> type:
    """A class like another one, whose objects need not be freed, and have no values any more."""

    def gone(self: object, *arguments: object, **keywords: object) -> None:
        raise DeviceUnavailable("this array is lost: Taichi was started anew, for another device, since it was made")

    return type(f"Lost{kind.__name__}", (kind,), {"__del__": lambda self: None, "to_numpy": gone, "from_numpy": gone})


def sent(array: "np.ndarray", target: Target, lanes: int = 0) -> Any:
    """An array for a kernel that is launched in pieces: a copy on the device if it is large, otherwise itself.

    Small ones travel with each launch in less time than an array on the device takes to make. With lanes, the last
    axis becomes a vector that is an element of the copy.
    """
    if target.on_host or array.nbytes < _LARGE:
        return array
    from ._taichi import number, ti

    element = number(array.dtype)
    there = array_of(ti.types.vector(lanes, element) if lanes else element, array.shape[:-1] if lanes else array.shape)
    send(there, np.ascontiguousarray(array))
    return there


_LARGE = 1 << 21
"""Bytes from which an array is sent once rather than with each piece: a copy of it takes 1 % of a piece."""


def launch(kernel: Callable[..., object], *arguments: object) -> None:
    """Call a kernel that takes NumPy arrays, and wait for it.

    Taichi writes arrays back when the device is through, and keeps no reference to them: what is made for the call
    only has to live until then.
    """
    kernel(*arguments)
    synchronise()


class Launch:
    """A compiled kernel, launched without the checks of Taichi's own call, which take longer than a fast kernel.

    Parameters
    ----------
    kernel
        A kernel without return value.
    arguments
        Those of the first call, from which its types are read: integers, reals and arrays on the device. It is
        compiled, and not yet launched.
    """

    def __init__(self, kernel: Any, arguments: Sequence[Any]) -> None:
        from taichi.lang import impl

        primal = kernel._primal
        self._kernel = primal.compiled_kernels[primal.ensure_compiled(*arguments)]
        self._program = program = impl.get_runtime().prog
        self._compiled = program.compile_kernel(program.config(), program.get_device_caps(), self._kernel)
        self._kinds = [
            "array" if hasattr(argument, "arr") else "real" if isinstance(argument, float) else "integer"
            for argument in arguments
        ]

    def __call__(self, *arguments: Any) -> None:
        """Launch it with arguments of the same types; it may still run when this returns."""
        context = self._kernel.make_launch_context()
        for place, (kind, argument) in enumerate(zip(self._kinds, arguments, strict=True)):
            if kind == "array":
                context.set_arg_ndarray((place,), argument.arr)
            elif kind == "real":
                context.set_arg_float((place,), argument)
            else:
                context.set_arg_int((place,), argument)
        self._program.launch_kernel(self._compiled, context)


def synchronise() -> None:
    """Wait until the device has finished what was launched."""
    import taichi as ti

    ti.sync()
