"""Arrays on the device that live from call to call."""

from functools import lru_cache

import numpy as np

from ._taichi import number, ti
from .arrays import array_of, send
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
        self._forget_lost()
        held = self._sources.get(name)
        if held is not None and (held is values or np.array_equal(held, values)):
            return self._arrays[name]
        self._sources.pop(name, None)
        shape = values.shape[:-1] if lanes else values.shape
        element = vector_of(lanes, number(dtype)) if lanes else number(dtype)
        array = self.array(name, element, shape)
        send(array, np.array(values, dtype, order="C"))  # a copy: what is read-only is refused
        self._sources[name] = values.copy() if values.flags.writeable else values
        return array

    def operand(self, target: Target, name: str, values: np.ndarray, dtype: type, lanes: int = 0) -> object:
        """The same for a kernel that takes arrays of any kind: on a CPU the array itself will do."""
        if target.on_host:
            return np.ascontiguousarray(values, dtype)
        return self.upload(f"{name}, {np.dtype(dtype)}", values, dtype, lanes)

    def exactly(self, name: str, element: object, shape: tuple[int, ...]) -> "ti.Ndarray":
        """Uninitialised array of a type of the compiler and of just this shape."""
        self._forget_lost()
        held = self._arrays.get(name)
        if held is None or tuple(held.shape) != shape:
            self._arrays.pop(name, None)
            self._arrays[name] = array_of(element, shape)
        return self._arrays[name]

    def array(self, name: str, element: object, shape: tuple[int, ...]) -> "ti.Ndarray":
        """Uninitialised array of a type of the compiler, of the shape or longer along its first axis."""
        self._forget_lost()
        held = self._arrays.get(name)
        if held is None or tuple(held.shape)[1:] != shape[1:] or held.shape[0] < shape[0]:
            self._arrays.pop(name, None)
            self._arrays[name] = array_of(element, (_length(shape[0]), *shape[1:]))
        return self._arrays[name]

    def _forget_lost(self) -> None:
        if self._generation != generation():
            self._arrays.clear()
            self._sources.clear()
            self._generation = generation()


def _length(least: int) -> int:
    """A length of at least so many, up to half as many more: one of few, so that arrays that died serve again."""
    length = 16
    while length < least:
        length = length * 3 // 2 if length & (length - 1) == 0 else length // 3 * 4
    return length
