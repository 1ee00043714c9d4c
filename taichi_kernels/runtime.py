"""The compute device: the only place where Taichi is initialised.

One process computes on one device at a time; asking for another re-initialises Taichi, after which arrays of the old
device are gone. Everything that launches kernels does so inside `session`, which also serialises threads.
"""

import ctypes
import ctypes.util
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

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
        When the device asked for by name cannot be used.
    """
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
    if _state.device is None or len(_results):
        return False
    return _initialise(_state.device) is None


def finish() -> None:
    """End Taichi, whereupon it writes what it has compiled to its cache."""
    import taichi as ti

    _state.device = None
    _disown()
    ti.reset()


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
        with _quiet_stdout():
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
    count = ctypes.c_int()
    library.cuDeviceGetCount(ctypes.byref(count))
    if count.value == 0:
        return Probe("cuda", False, "the NVIDIA driver sees no GPU")
    name = ctypes.create_string_buffer(128)
    library.cuDeviceGetName(name, 128, 0)
    return Probe("cuda", True, name.value.decode(errors="replace"))


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


def allocate(shape: tuple[int, ...], precision: str) -> object:
    """Uninitialised array on the device, for kernels to write to; has `to_numpy()`."""
    import taichi as ti

    array = array_of({"single": ti.f32, "double": ti.f64}[precision], shape)
    _results.add(array)
    return array


def array_of(element: object, shape: "int | tuple[int, ...]") -> object:
    """Uninitialised array on the device, of numbers or vectors of a Taichi type."""
    import taichi as ti

    array = ti.ndarray(element, shape)
    _arrays.add(array)
    return array


_arrays: "weakref.WeakSet[object]" = weakref.WeakSet()
_results: "weakref.WeakSet[object]" = weakref.WeakSet()


def _disown() -> None:
    """Part with the arrays of a program that ends.

    It frees them itself. An array that dies later would have the new program free whatever is at its address by then.
    """
    for array in list(_arrays):
        # an assignment that type checkers refuse; the finaliser is looked up in the class, so no other way stops it
        array.__class__ = _lost(type(array))  # type: ignore[assignment]
    _arrays.clear()
    _results.clear()


@lru_cache
def _lost(kind: type) -> type:
    """A class like another one, whose objects need not be freed, and have no values any more."""

    def gone(self: object, *arguments: object, **keywords: object) -> None:
        raise DeviceUnavailable("this array is lost: Taichi was started anew, for another device, since it was made")

    return type(f"Lost{kind.__name__}", (kind,), {"__del__": lambda self: None, "to_numpy": gone, "from_numpy": gone})


def launch(kernel: Callable[..., object], *arguments: object) -> None:
    """Call a kernel that takes NumPy arrays, and wait for it.

    Taichi writes arrays back when the device is through, and keeps no reference to them: what is made for the call
    only has to live until then.
    """
    kernel(*arguments)
    synchronise()


def synchronise() -> None:
    """Wait until the device has finished what was launched."""
    import taichi as ti

    ti.sync()
