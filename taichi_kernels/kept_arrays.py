"""What kernels keep from call to call: arrays on the device, and compiled kernels."""

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ._taichi import Launch, number, ti
from .arrays import array_of, send
from .launching import Pace
from .session import generation
from .target import Target


@lru_cache
def vector_of(lanes: int, element: object) -> object:
    """The compiler's type for vectors of so many numbers, which takes it longer to make than a kernel to launch."""
    return ti.types.vector(lanes, element)


class KeptArrays:
    """Arrays on the device by name, each of one type; made anew when the compiler starts anew.

    Arrays are as long along the first axis as they ever had to be, or longer: to make one costs more than to fill it.
    """

    def __init__(self) -> None:
        self._generation = -1
        self._arrays: dict[str, ti.Ndarray] = {}
        self._sources: dict[str, np.ndarray] = {}

    def upload(self, name: str, values: np.ndarray, dtype: type, lanes: int = 0) -> "ti.Ndarray":
        """Values on the device; with lanes, their last axis becomes a vector that is an element of the array.

        What is there already is not sent again: a transfer takes longer than a comparison.
        """
        self.forget_lost()
        held = self._sources.get(name)
        if held is not None and (held is values or (held.shape == values.shape and (held == values).all())):
            return self._arrays[name]
        self._sources.pop(name, None)
        shape = values.shape[:-1] if lanes else values.shape
        element = vector_of(lanes, number(dtype)) if lanes else number(dtype)
        array = self.array(name, element, shape)
        send(array, np.ascontiguousarray(values, dtype))
        self._sources[name] = values.copy() if values.flags.writeable else values
        return array

    def operand(self, target: Target, name: str, values: np.ndarray, dtype: type, lanes: int = 0) -> object:
        """The same for a kernel that takes arrays of any kind: on a CPU the array itself will do."""
        if target.on_host:
            return np.ascontiguousarray(values, dtype)
        return self.upload(f"{name}, {np.dtype(dtype).char}", values, dtype, lanes)

    def exactly(self, name: str, element: object, shape: tuple[int, ...]) -> "ti.Ndarray":
        """Uninitialised array of a type of the compiler and of just this shape."""
        self.forget_lost()
        held = self._arrays.get(name)
        if held is None or tuple(held.shape) != shape:
            self._arrays.pop(name, None)
            self._arrays[name] = array_of(element, shape)
        return self._arrays[name]

    def array(self, name: str, element: object, shape: tuple[int, ...]) -> "ti.Ndarray":
        """Uninitialised array of a type of the compiler, of the shape or longer along its first axis."""
        self.forget_lost()
        held = self._arrays.get(name)
        if held is None or tuple(held.shape)[1:] != shape[1:] or held.shape[0] < shape[0]:
            self._arrays.pop(name, None)
            self._arrays[name] = array_of(element, (_length(shape[0]), *shape[1:]))
        return self._arrays[name]

    def forget_lost(self) -> None:
        """Begin anew where the compiler was started anew."""
        if self._generation != generation():
            self._arrays.clear()
            self._sources.clear()
            self._begin()
            self._generation = generation()

    def _begin(self) -> None:
        """Forget what else belongs to one run of the compiler."""


class Workspace(KeptArrays):
    """Arrays of one precision, compiled kernels, and what the latest call left in the arrays."""

    def __init__(self, real: "np.dtype[np.floating]") -> None:
        super().__init__()
        self._real = number(real)
        self._launches: dict[object, Launch] = {}
        self._begin()

    def _begin(self) -> None:
        self._launches.clear()
        self.paces: defaultdict[str, Pace] = defaultdict(lambda: Pace(1 << 18))
        """How much of each step makes a piece: rows, products or tables times bricks."""
        self.capacity = (32, 32)
        """Entries that lists have room for, grown when one is too short."""
        self.latest: tuple[object, int, tuple[str, int, int] | None] | None = None
        """Layout of the latest call, how many counts of bricks (or words) it left, and which lists, `Call.listed`."""

    def launch(self, kernel: Any, **arguments: Any) -> None:
        """Launch a kernel that takes arrays on the device and returns nothing."""
        self._launch_of(kernel, arguments).launch_with(arguments)

    def launch_with(self, kernel: Any, values: Mapping[str, Any]) -> None:
        """Launch a kernel with those of some values that have the names of its arguments."""
        self._launch_of(kernel, values)(values)

    def _launch_of(self, kernel: Any, values: Mapping[str, Any]) -> Launch:
        self.forget_lost()
        if kernel not in self._launches:
            self._launches[kernel] = Launch(kernel, values)
        return self._launches[kernel]

    def vectors(self, name: str, shape: tuple[int, ...], lanes: int) -> "ti.Ndarray":
        """Uninitialised array of vectors of reals."""
        return self.array(name, vector_of(lanes, self._real), shape)

    def reals(self, name: str, shape: tuple[int, ...]) -> "ti.Ndarray":
        """Uninitialised array of reals."""
        return self.array(name, self._real, shape)

    def integers(self, name: str, shape: tuple[int, ...]) -> "ti.Ndarray":
        """Uninitialised array of integers of 32 bits."""
        return self.array(name, ti.i32, shape)


def _length(least: int) -> int:
    """A length of at least so many, up to half as many more: one of few, so that arrays that died serve again."""
    length = 16
    while length < least:
        length = length * 3 // 2 if length & (length - 1) == 0 else length // 3 * 4
    return length
