"""The compute devices of this machine, found through their driver libraries: no compiler is needed to look."""

import ctypes
import ctypes.util
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

DEVICES = ("cuda", "vulkan", "cpu")
"""Devices in the order in which `auto` prefers them."""


class DeviceUnavailable(RuntimeError):
    """The device asked for cannot be used here, or not in the precision asked for."""


@dataclass(frozen=True)
class Probe:
    """What is known of a device without starting a compiler.

    Attributes
    ----------
    name : str
        cuda, vulkan or cpu.
    available : bool
        Whether kernels should run on it.
    detail : str
        The hardware, or the reason why it cannot be used.
    software : bool
        True for a Vulkan driver that runs on the CPU; `auto` never takes one.
    double : bool
        Whether it computes in double precision.
    memory : int or None
        Bytes of its own memory, or of what it shares with the processor; None for the processor itself, and where the
        driver does not say.
    """

    name: str
    available: bool
    detail: str
    software: bool = False
    double: bool = True
    memory: int | None = None


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
            if found.available and not found.software and sys.platform != "darwin":  # MoltenVK has not been tried
                return candidate
        return "cpu"
    if name not in DEVICES:
        raise DeviceUnavailable(f"device: expected auto, {', '.join(DEVICES)}, got {name!r}")
    return name


def available() -> str:
    """Names of the devices that can be used."""
    return ", ".join(name for name in DEVICES if probe(name).available)


@lru_cache
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
    driver = cuda_driver()
    if driver is None:
        return Probe("cuda", False, "no NVIDIA driver on this machine")
    status = driver.cuInit(0)
    if status:
        return Probe("cuda", False, f"the NVIDIA driver does not start (cuInit returned {status})")
    names = _gpu_names(driver)
    if not names:
        return Probe("cuda", False, "the NVIDIA driver sees no GPU")
    device, memory = ctypes.c_int(), ctypes.c_size_t()
    known = not driver.cuDeviceGet(ctypes.byref(device), 0) and not driver.cuDeviceTotalMem_v2(
        ctypes.byref(memory), device
    )
    return Probe("cuda", True, names[0], memory=memory.value if known else None)


def gpus() -> tuple[str, ...]:
    """Names of the GPUs that CUDA sees, by their numbers; never raises."""
    driver = cuda_driver() if probe("cuda").available else None
    return _gpu_names(driver) if driver is not None else ()


def _gpu_names(driver: ctypes.CDLL) -> tuple[str, ...]:
    """Through a driver that was started."""
    count, name = ctypes.c_int(), ctypes.create_string_buffer(128)
    driver.cuDeviceGetCount(ctypes.byref(count))
    names = []
    for device in range(count.value):
        driver.cuDeviceGetName(name, 128, device)
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


class _MemoryProperties(ctypes.Structure):
    """VkPhysicalDeviceMemoryProperties: types of memory as bytes; of each heap its size, then its flags."""

    _fields_ = (
        ("type_count", ctypes.c_uint32),
        ("types", ctypes.c_byte * 256),
        ("heap_count", ctypes.c_uint32),
        ("heaps", ctypes.c_uint64 * 2 * 16),
    )


_VULKAN_DEVICE_LOCAL = 1  # flag of a heap

_VULKAN_INTEGRATED, _VULKAN_DISCRETE, _VULKAN_VIRTUAL = 1, 2, 3
_SHADER_FLOAT64 = 39  # place of shaderFloat64 in VkPhysicalDeviceFeatures


@lru_cache
def _probe_vulkan() -> Probe:
    driver = _library("vulkan", "libvulkan.so.1", "vulkan-1.dll", *_molten())
    if driver is None:
        return Probe("vulkan", False, "no Vulkan loader on this machine (Debian package libvulkan1)")
    instance = ctypes.c_void_p()
    if driver.vkCreateInstance(ctypes.byref(_InstanceInfo(structure_type=1)), None, ctypes.byref(instance)):
        return Probe("vulkan", False, "no Vulkan driver (for a software one: Debian package mesa-vulkan-drivers)")
    try:
        count = ctypes.c_uint32()
        driver.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), None)
        handles = (ctypes.c_void_p * max(count.value, 1))()
        driver.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), handles)
        found = []
        for handle in handles[: count.value]:
            properties = _DeviceProperties()
            driver.vkGetPhysicalDeviceProperties(ctypes.c_void_p(handle), ctypes.byref(properties))
            features = (ctypes.c_uint32 * 256)()  # VkPhysicalDeviceFeatures: a list of booleans
            driver.vkGetPhysicalDeviceFeatures(ctypes.c_void_p(handle), features)
            double = bool(features[_SHADER_FLOAT64])
            heaps = _MemoryProperties()
            driver.vkGetPhysicalDeviceMemoryProperties(ctypes.c_void_p(handle), ctypes.byref(heaps))
            sizes = [size for size, flags in heaps.heaps[: heaps.heap_count] if flags & _VULKAN_DEVICE_LOCAL]
            found.append((properties.kind, properties.name.decode(errors="replace"), double, max(sizes, default=None)))
    finally:
        driver.vkDestroyInstance(instance, None)
    if not found:
        return Probe("vulkan", False, "the Vulkan loader finds no device")
    for wanted in (_VULKAN_DISCRETE, _VULKAN_INTEGRATED, _VULKAN_VIRTUAL):
        for kind, name, double, memory in found:
            if kind == wanted:
                return Probe("vulkan", True, name, double=double, memory=memory)
    _, name, double, memory = found[0]
    detail = f"{name} (software: used only when asked for)"
    return Probe("vulkan", True, detail, software=True, double=double, memory=memory)


def _molten() -> tuple[str, ...]:
    """Vulkan on top of Metal, for macOS: the compilers' wheels bring it along."""
    compilers = [find_spec(name) for name in ("taichi", "quadrants")] if sys.platform == "darwin" else []
    folders = [Path(found.origin).parent for found in compilers if found is not None and found.origin]
    return tuple(str(folder / "_lib" / "runtime" / "libMoltenVK.dylib") for folder in folders)


def cuda_driver() -> ctypes.CDLL | None:
    """The library of NVIDIA's driver; None where there is none."""
    return _library("cuda", "libcuda.so.1", "nvcuda.dll")


def _library(name: str, *files: str) -> ctypes.CDLL | None:
    for file in files:
        with suppress(OSError):  # the next name may exist
            return ctypes.CDLL(file)
    if sys.platform.startswith("linux"):  # the loader has looked where `find_library` would, by programs that it starts
        return None
    found = ctypes.util.find_library(name)
    with suppress(OSError):
        return ctypes.CDLL(found) if found else None
    return None
