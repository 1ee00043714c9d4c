"""Arrays that a device keeps between calls: what it has already is not sent again, room is not asked for again."""

import numpy as np
import taichi as ti

from . import runtime


class Uploads:
    """Arrays on a device by name, renewed when Taichi starts anew. On a CPU the arrays themselves will do."""

    def __init__(self) -> None:
        self._generation = -1
        self._held: dict[str, tuple[np.ndarray, ti.Ndarray]] = {}
        self._room: dict[str, ti.Ndarray] = {}

    def __call__(self, device: str, name: str, values: np.ndarray, dtype: type, lanes: int = 0) -> object:
        """Values for a kernel to read; with lanes, their last axis becomes a vector that is an element of the array."""
        if device == "cpu":
            return np.ascontiguousarray(values, dtype)
        self._forget_lost()
        name = f"{name}, {np.dtype(dtype)}"
        known = self._held.get(name)
        if known is not None and np.array_equal(known[0], values):
            return known[1]
        number = {"int32": ti.i32, "float32": ti.f32, "float64": ti.f64}[np.dtype(dtype).name]
        shape = values.shape[:-1] if lanes else values.shape
        array = runtime.array_of(ti.types.vector(lanes, number) if lanes else number, shape)
        runtime.send(array, np.ascontiguousarray(values, dtype))
        self._held[name] = (values.copy(), array)
        return array

    def room(self, device: str, name: str, size: int) -> object:
        """Whole numbers for a kernel to write down; what was there before is of no use to anyone."""
        if device == "cpu":
            return np.empty(size, np.int32)
        self._forget_lost()
        if name not in self._room or self._room[name].shape[0] < size:
            self._room.pop(name, None)
            self._room[name] = runtime.array_of(ti.i32, (size + size // 4,))
        return self._room[name]

    def _forget_lost(self) -> None:
        if self._generation != runtime.generation():
            self._held.clear()
            self._room.clear()
            self._generation = runtime.generation()
