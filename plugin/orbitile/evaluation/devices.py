"""The device that a request stands for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from taichi_kernels.target import PRECISIONS, Target

from ..errors import DeviceError, OrbitileError


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


def several(device: str | None) -> tuple[str, ...]:
    """The devices that a request names one by one: `cuda:0,1`, `cuda:all`, `cpu,cpu`; none for `cuda`, `auto`, ...

    Without a request, `ORBITILE_DEVICE` is looked at.

    Raises
    ------
    DeviceError
        When there is no such GPU here, or one is named twice.
    """
    from taichi_kernels import devices

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
        if head.isdigit() and kind == "cuda":  # the 1 of cuda:0,1
            head, number = kind, head
        kind = head
        if head == "cuda" and number == "all":
            names += [f"cuda:{n}" for n in range(len(gpus))]
        elif head == "cuda" and number.isdigit():
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


def one_device(device: str | None) -> str:
    """Name of the one device that a request stands for, `ORBITILE_DEVICE` where it does not say.

    Raises
    ------
    DeviceError
        When there is no such device, or devices are asked for by number.
    """
    from taichi_kernels.devices import DeviceUnavailable, choose

    if named := several(device):
        raise DeviceError(
            f"device {','.join(named)}: only volume, compute, compute_to_file and compute_many take devices by number; "
            "here say cuda, with CUDA_VISIBLE_DEVICES=1 for another GPU, or cpu"
        )
    try:
        return choose(device)
    except DeviceUnavailable as error:
        raise DeviceError(str(error)) from error


def exact_precision(device: str | None) -> str:
    """Double where the device that a request stands for has it, otherwise single.

    Raises
    ------
    DeviceError
        When there is no such device.
    """
    from taichi_kernels.devices import probe

    return "double" if probe(one_device(device)).double else "single"


def first_device(device: str | None) -> str | None:
    """A request for one device, where work is too small for several: of those named one by one, a device as the first.

    Raises
    ------
    DeviceError
        When there is no such device.
    """
    named = several(device)
    return named[0].partition(":")[0] if named else device


@contextmanager
def device_session(device: str | None, precision: str) -> Iterator[Target]:
    """Hold the device that a request stands for, with its errors made ours."""
    from taichi_kernels.devices import DeviceUnavailable
    from taichi_kernels.session import session

    dtype_of(precision)
    one_device(device)
    try:
        with session(device, precision) as name:
            yield Target(name, precision)
    except DeviceUnavailable as error:
        raise DeviceError(str(error)) from error
    except RuntimeError as error:  # what Taichi raises when a device fails or its memory is used up
        raise DeviceError(f"the device failed: {' '.join(str(error).split())[:300]}") from error
