"""The device that a request stands for."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np

from taichi_kernels.target import PRECISIONS, Target

from ..base.errors import DeviceError, OrbitileError
from ..base.imports import isolated

if TYPE_CHECKING:
    from distributed import Client

    from taichi_kernels.devices import Probe

Devices: TypeAlias = Union[str, "Client", None]
"""A request for one device, several of this machine, or a Dask cluster."""


@dataclass(frozen=True)
class Cluster:
    """The workers of a Dask cluster, each of which computes on a device of its own choice.

    Attributes
    ----------
    scheduler : str, distributed.Client or None
        Address, or a client; None for the one that `orbitile.workers.dask.dask_executor` finds.
    """

    scheduler: Devices

    def __str__(self) -> str:
        return f"dask:{self.scheduler}" if isinstance(self.scheduler, str) else "dask"


def dtype_of(precision: str) -> np.dtype[np.floating]:
    """NumPy's type of numbers in a precision that was asked for.

    Raises
    ------
    OrbitileError
        When it is neither single nor double.
    """
    if precision not in PRECISIONS:
        raise OrbitileError(f"precision: expected {' or '.join(PRECISIONS)}, got {precision!r}")
    return np.dtype(precision)


def several(device: Devices) -> tuple[str, ...] | Cluster:
    """What a request means that is more than one device of this process; none for `cuda`, `auto`, ...

    The devices that it names one by one, `cuda:0,1`, `cuda:all`, `cpu,cpu`; or a Dask cluster: `dask`,
    `dask:tcp://host:8786`, a client. Without a request, `ORBITILE_DEVICE` is looked at, for devices of this machine.

    Raises
    ------
    DeviceError
        When there is no such GPU here, or one is named twice.
    """
    from taichi_kernels import devices

    if device is not None and not isinstance(device, str):
        return Cluster(device)
    if device is not None and device.lower().partition(":")[0] == "dask":
        return Cluster(device.partition(":")[2] or None)
    if device is None or device.lower() == "auto":
        device = os.environ.get("ORBITILE_DEVICE", "")
    text = device.lower().replace(" ", "")
    if "," not in text and ":" not in text:
        return ()
    gpus = devices.gpus()
    names: list[str] = []
    kind = ""
    for item in text.split(","):
        head, _, number = item.partition(":")
        if head.isdecimal() and kind == "cuda":  # the 1 of cuda:0,1
            head, number = kind, head
        kind = head
        if head == "cuda" and number == "all":
            names += [f"cuda:{n}" for n in range(len(gpus))]
        elif head == "cuda" and number.isdecimal() and len(number) < 10:
            names.append(f"cuda:{int(number)}")
        elif item == "cpu":
            names.append("cpu")
        else:
            raise DeviceError(f"device {device!r}: expected GPUs by number, such as cuda:0,1 or cuda:all, got {item!r}")
    missing = [name for name in names if name != "cpu" and int(name[5:]) >= len(gpus)]
    if missing or not names:
        have = ", ".join(f"cuda:{n} ({gpu})" for n, gpu in enumerate(gpus)) or "none"
        raise DeviceError(f"device {device!r}: there is no {', '.join(missing) or 'GPU'} here. CUDA GPUs here: {have}")
    if len({name for name in names if name != "cpu"}) + names.count("cpu") < len(names):
        raise DeviceError(f"device {device!r}: a GPU is named twice")
    return tuple(names)


def one_device(device: Devices) -> str:
    """Name of the one device that a request stands for, `ORBITILE_DEVICE` where it does not say.

    Raises
    ------
    DeviceError
        When there is no such device, or devices are asked for by number.
    """
    from taichi_kernels.devices import DeviceUnavailable, choose

    if named := several(device):
        name, what = (str(named), "clusters") if isinstance(named, Cluster) else (",".join(named), "devices by number")
        raise DeviceError(
            f"device {name}: only volume, compute, compute_to_file and compute_many take {what}; "
            "here use cuda (CUDA_VISIBLE_DEVICES=1 chooses another GPU) or cpu"
        )
    assert device is None or isinstance(device, str)  # no client
    try:
        return choose(device)
    except DeviceUnavailable as error:
        raise DeviceError(str(error)) from error


def exact_precision(device: Devices) -> str:
    """Double where the device that a request stands for has it, otherwise single.

    Raises
    ------
    DeviceError
        When there is no such device.
    """
    from taichi_kernels.devices import probe

    return "double" if probe(one_device(device)).double else "single"


def first_device(device: Devices) -> str | None:
    """A request for one device, where work is too small for several: of those named one by one, a device as the first.

    In place of a cluster it is the device that this process has without a request.

    Raises
    ------
    DeviceError
        When there is no such device.
    """
    named = several(device)
    if isinstance(named, Cluster):
        return None
    if named:
        return named[0].partition(":")[0]
    assert device is None or isinstance(device, str)  # no client
    return device


@contextmanager
def device_session(device: Devices, precision: str, *, launching: bool = True) -> Iterator[Target]:
    """Hold the device that a request stands for, with its errors made ours.

    Without `launching`, no kernel is launched in it where the device is the CPU, and no compiler started for that.
    """
    from taichi_kernels.devices import DeviceUnavailable
    from taichi_kernels.session import session

    dtype_of(precision)
    one_device(device)
    assert device is None or isinstance(device, str)  # no client
    try:
        with session(device, precision, launching=launching) as name:
            yield Target(name, precision)
    except DeviceUnavailable as error:
        raise DeviceError(str(error)) from error
    except RuntimeError as error:  # what Taichi raises when a device fails or its memory is used up
        raise DeviceError(account_of(error)) from error


def account_of(error: RuntimeError) -> str:
    """What to say of an error of the compiler, after which a device that was lost is left."""
    from taichi_kernels.session import abandon_if_lost

    from ..workers import retire

    text = f"the device failed: {' '.join(str(error).split())[:300]}"
    if not abandon_if_lost():
        return text
    what_now = "ask again, and if it fails again, choose the device cpu" if retire() else "start this process anew"
    return f"{text}; it was lost: {what_now}"


# ---- what can compute and draw on this machine, and why the rest cannot

_PROGRAM = {
    "compute": (
        "from taichi_kernels.arrays import allocate\n"
        "from taichi_kernels.launching import synchronise\n"
        "from taichi_kernels.session import session\n"
        "with session({name!r}):\n"
        "    allocate((8,), 'float32').fill(1.0)\n"
        "    synchronise()\n"
    ),
    "list": "from orbitile.renderer.context import BACKENDS\nprint(*BACKENDS)\n",
    "draw": (
        "import os\n"
        "os.environ['PYOPENGL_PLATFORM'] = {name!r}\n"
        "from orbitile.renderer.context import offscreen\n"
        "with offscreen() as context:\n"
        "    print(context.renderer)\n"
    ),
}
_PATIENCE = 120
"""Seconds that a driver may take to start."""


def device_names() -> list[str]:
    """Names of the devices that a user may ask for."""
    from taichi_kernels.devices import DEVICES

    return ["auto", *DEVICES]


def device_report() -> list[str]:
    """Lines for people: each device and graphics back end, whether it works, and what it is or why it does not.

    Each one is really started, in a process of its own, since a broken driver may crash the process that loads it.
    """
    from taichi_kernels.devices import DEVICES, gpus, probe

    lines, chosen = ["compute (Taichi)"], None
    try:
        chosen = one_device(None)
    except DeviceError as error:
        lines.append(f"  ORBITILE_DEVICE: {error}")
    for name in DEVICES:
        found = probe(name)
        works, note = (False, found.detail)
        if found.available:
            works, reason = _try("compute", name)
            note = _described(found) if works else reason
        lines.append(_line(name, works, note + (" [used by auto]" if works and name == chosen else "")))
        if name == "cuda" and works:
            lines += [f"    cuda:{number}  {gpu}" for number, gpu in enumerate(gpus())]
    lines.append("draw (OpenGL, no window)")
    listed, names = _try("list", "")
    for name in names.split() if listed else []:
        works, note = _try("draw", name)
        lines.append(_line(name, works, note))
    return lines


def _described(found: Probe) -> str:
    """The hardware, how much memory it has, and what it cannot do."""
    memory = "" if found.memory is None else f", {found.memory / 1e9:.1f} GB"
    return found.detail + memory + ("" if found.double else ", single precision only")


def _line(name: str, works: bool, note: str) -> str:
    return f"  {name:<8}{'yes' if works else 'no':<5}{note}"


def _try(purpose: str, name: str) -> tuple[bool, str]:
    from ..workers.child_process import environment, interpreter

    program = _PROGRAM[purpose].format(name=name)
    try:
        done = subprocess.run(
            isolated(interpreter(), f"exec({program!r})"),
            env=environment(),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"its driver did not answer within {_PATIENCE} s"
    if done.returncode == 0:
        return True, done.stdout.strip()
    if done.returncode < 0:
        return False, f"its driver crashed (signal {-done.returncode})"
    last = [line for line in done.stderr.strip().splitlines() if line.strip()]
    return False, last[-1].split(": ", 1)[-1] if last else "its driver failed without a word"
