"""The compute device in use: the only place where the compiler is started.

One process computes on one device at a time; asking for another starts the compiler anew, after which arrays of the old
device are gone. Everything that launches kernels does so inside `session`, which also serialises threads.
"""

import gc
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from . import arrays, devices
from .devices import DeviceUnavailable


@dataclass
class _State:
    device: str | None = None
    generation: int = 0
    over: str = ""


_state = _State()
_lock = threading.RLock()


@contextmanager
def session(request: str | None = None, precision: str = "single", *, launching: bool = True) -> Iterator[str]:
    """Hold the compute device: start the compiler for it if need be, and keep other threads out.

    Parameters
    ----------
    request
        `auto`, `cuda`, `vulkan`, `cpu`, or None for what `ORBITILE_DEVICE` says.
    precision
        single or double: a device that lacks double precision is not used for it.
    launching
        Whether kernels are launched in it where the device is the CPU; if not, the compiler need not run.

    Yields
    ------
    str
        Name of the device in use. A device that was found by `auto` but fails to start is replaced by the CPU with one
        warning; one that was asked for by name is not.

    Raises
    ------
    DeviceUnavailable
        When the device asked for by name cannot be used, or none can, in a process forked from one that has computed
        or that has lost its device.
    """
    with _lock:
        named = (request or "auto").lower() not in ("auto", "gpu")
        named = named or os.environ.get("ORBITILE_DEVICE", "auto").lower() not in ("", "auto", "gpu")
        name = devices.choose(request)
        if _state.device is not None and not named:
            name = _state.device  # `auto` stays with what is running
        if precision == "double" and not devices.probe(name).double:
            if named:
                raise DeviceUnavailable(
                    f"{name} cannot be used here in double precision: {devices.probe(name).detail} lacks it"
                )
            name = "cpu"
        if name == "cpu" and not launching:
            yield name
            return
        if _state.over:
            raise DeviceUnavailable(_state.over)
        if _state.device != name:
            _start(name, fall_back=not named)
        assert _state.device is not None  # _start raises otherwise
        from . import _taichi

        with _taichi.without_locations():
            yield _state.device


def running() -> str | None:
    """Name of the device that kernels run on in this process, None before the first session."""
    return _state.device


def generation() -> int:
    """Number that changes whenever the compiler is started anew, and arrays on the device are lost."""
    return _state.generation


def renew() -> bool:
    """Start the compiler anew on the device in use: it then finds kernels that other processes have compiled meanwhile.

    Inside a session. Not done, and False, while a result is left on the device, which would be lost.
    """
    gc.collect()  # arrays that nobody has any more may still refer to each other
    if _state.device is None or arrays.results_left():
        return False
    return _initialise(_state.device) is None


def abandon_if_lost() -> bool:
    """After an error of the compiler: whether the device in use was lost, and with it what is on it.

    A GPU is lost when its driver fails or it is reset. This process computes no more then: what runs on a lost device
    cannot be ended without risk to the process, and the compiler runs once in a process.
    """
    with _lock:
        from . import _taichi

        if _state.device is None or _taichi.goes_on():
            return False
        _state.over = f"{_state.device} was lost, and kernels with it: start this process anew"
        _state.device = None
        arrays.disown()
        _taichi.leave_alone()
        return True


def finish() -> None:
    """End the compiler, whereupon it writes what it has compiled to its cache. The next session starts it anew."""
    from . import _taichi

    _state.device = None
    arrays.disown()
    _taichi.end()


def _after_fork() -> None:
    """Leave the compiler alone in a forked process: its threads are not there, and whoever waits for them hangs."""
    global _lock
    _lock = threading.RLock()
    if not _state.generation:
        return
    from . import _taichi

    _state.device = None
    _state.over = (
        "kernels do not survive a fork: this process was forked from one that has computed; start processes with "
        'multiprocessing.get_context("spawn"), or compute in one process only'
    )
    arrays.disown()
    _taichi.leave_alone()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _start(name: str, fall_back: bool) -> None:
    found = devices.probe(name)
    if found.available:
        reason = _initialise(name)
        if reason is None:
            return
    else:
        reason = found.detail
    if not fall_back or name == "cpu":
        raise DeviceUnavailable(f"{name} cannot be used here: {reason}. Devices here: {devices.available()}")
    warnings.warn(f"{name} was found but cannot be used ({reason}): computing on the CPU", RuntimeWarning, stacklevel=4)
    reason = _initialise("cpu")
    if reason is not None:
        raise DeviceUnavailable(f"the compiler of kernels cannot be started: {reason}")


def _initialise(name: str) -> str | None:
    """Start the compiler; None on success, otherwise the reason why not."""
    from . import _taichi

    threads = _threads()
    _state.generation += 1
    _state.device = None
    arrays.disown()
    try:
        found = _taichi.start(name, threads)
    except Exception as error:  # a compiler raises whatever its driver does
        return " ".join(str(error).split()) or type(error).__name__
    if found != name:
        return f"the compiler fell back to {found}"
    _state.device = name
    if name == "cuda":
        arrays.end_with_context()
    return None


def _threads() -> int | None:
    """Threads of the CPU that kernels may use; None: all."""
    threads = os.environ.get("ORBITILE_THREADS")
    if not threads:
        return None
    if not threads.isdigit() or int(threads) < 1:
        raise DeviceUnavailable(f"ORBITILE_THREADS: expected a whole number, 1 or more, got {threads!r}")
    return int(threads)
