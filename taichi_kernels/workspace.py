"""Arrays on the device that live from call to call."""

import numpy as np
import taichi as ti

from . import runtime
from .gaussian import DTYPES


class Workspace:
    """Arrays on the device, kept between calls and grown when needed."""

    def __init__(self, precision: str) -> None:
        self._real = DTYPES[precision]
        self._arrays: dict[str, ti.Ndarray] = {}
        self._sources: dict[str, np.ndarray] = {}
        self._launches: dict[object, runtime.Launch] = {}
        self.capacity = (32, 32)
        """Entries that lists have room for, grown when one is too short."""
        self.latest: tuple[object, int, int] | None = None
        """Layout of the latest call, its lists of rows of bricks (or words), and the capacity of each."""

    def launch(self, kernel: object, *arguments: object) -> None:
        """Launch a kernel that takes arrays on the device and returns nothing."""
        if kernel not in self._launches:
            self._launches[kernel] = runtime.Launch(kernel, arguments)
        self._launches[kernel](*arguments)

    def upload(self, name: str, values: np.ndarray, dtype: type, lanes: int = 0) -> "ti.Ndarray":
        """Values on the device. What is there already is not sent again: a transfer takes longer than a comparison."""
        held = self._sources.get(name)
        if held is not None and (held is values or np.array_equal(held, values)):
            return self._arrays[name]
        self._sources.pop(name, None)
        element = ti.i32 if dtype is np.int32 else self._real
        array = self._array(name, ti.types.vector(lanes, element) if lanes else element, values.shape[:1])
        runtime.send(array, np.ascontiguousarray(values, dtype))
        self._sources[name] = values.copy() if values.flags.writeable else values
        return array

    def vectors(self, name: str, shape: tuple[int, ...], lanes: int) -> "ti.Ndarray":
        """Uninitialised array of vectors of reals."""
        return self._array(name, ti.types.vector(lanes, self._real), shape)

    def reals(self, name: str, shape: tuple[int, ...]) -> "ti.Ndarray":
        """Uninitialised array of reals."""
        return self._array(name, self._real, shape)

    def integers(self, name: str, shape: tuple[int, ...]) -> "ti.Ndarray":
        """Uninitialised array of integers of 32 bits."""
        return self._array(name, ti.i32, shape)

    def _array(self, name: str, element: object, shape: tuple[int, ...]) -> "ti.Ndarray":
        """Array of the shape, or longer along its first axis: to make one costs more than to fill it."""
        held = self._arrays.get(name)
        if held is None or tuple(held.shape)[1:] != shape[1:] or held.shape[0] < shape[0]:
            self._arrays.pop(name, None)
            longest = max(16, shape[0] + shape[0] // 4)
            self._arrays[name] = runtime.array_of(element, (longest, *shape[1:]))
        return self._arrays[name]
