"""How kernels are launched."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ._taichi import Launch as Launch
from ._taichi import number, ti
from .arrays import array_of, send
from .target import Target


def launch(kernel: Callable[..., object], *arguments: object) -> None:
    """Call a kernel that takes NumPy arrays, and wait for it.

    The compiler writes arrays back when the device is through, and keeps no reference to them: what is made for the
    call only has to live until then.
    """
    kernel(*arguments)
    synchronise()


def synchronise() -> None:
    """Wait until the device has finished what was launched."""
    ti.sync()


def sent(array: np.ndarray, target: Target, lanes: int = 0) -> Any:
    """An array for a kernel that is launched in pieces: a copy on the device if it is large, otherwise itself.

    Small ones travel with each launch in less time than an array on the device takes to make. With lanes, the last
    axis becomes a vector that is an element of the copy.
    """
    if target.on_host or array.nbytes < _LARGE:
        return array
    element = number(array.dtype)
    there = array_of(ti.types.vector(lanes, element) if lanes else element, array.shape[:-1] if lanes else array.shape)
    send(there, np.ascontiguousarray(array))
    return there


_LARGE = 1 << 21
"""Bytes from which an array is sent once rather than with each piece: a copy of it takes 1 % of a piece."""
