"""What the lattice kernels keep from call to call."""

from collections import defaultdict

import numpy as np

from ._taichi import number, ti
from .kept_arrays import KeptArrays, vector_of
from .launching import Launch
from .pace import Pace


class Workspace(KeptArrays):
    """Arrays of one precision, compiled kernels, and what the latest call left in the arrays; of one run of Taichi."""

    def __init__(self, real: "np.dtype[np.floating]") -> None:
        super().__init__()
        self._real = number(real)
        self._launches: dict[object, Launch] = {}
        self.paces: defaultdict[str, Pace] = defaultdict(lambda: Pace(1 << 18))
        """How much of each step makes a piece: rows, products or tables times bricks."""
        self.capacity = (32, 32)
        """Entries that lists have room for, grown when one is too short."""
        self.latest: tuple[object, int, tuple[str, int, int] | None] | None = None
        """Layout of the latest call, how many counts of bricks (or words) it left, and which lists, `Call.listed`."""

    def launch(self, kernel: object, *arguments: object) -> None:
        """Launch a kernel that takes arrays on the device and returns nothing."""
        if kernel not in self._launches:
            self._launches[kernel] = Launch(kernel, arguments)
        self._launches[kernel](*arguments)

    def vectors(self, name: str, shape: tuple[int, ...], lanes: int) -> "ti.Ndarray":
        """Uninitialised array of vectors of reals."""
        return self.array(name, vector_of(lanes, self._real), shape)

    def reals(self, name: str, shape: tuple[int, ...]) -> "ti.Ndarray":
        """Uninitialised array of reals."""
        return self.array(name, self._real, shape)

    def integers(self, name: str, shape: tuple[int, ...]) -> "ti.Ndarray":
        """Uninitialised array of integers of 32 bits."""
        return self.array(name, ti.i32, shape)
