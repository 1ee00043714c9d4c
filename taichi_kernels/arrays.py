"""Arrays on the device."""

from typing import Protocol

import numpy as np


class DeviceArray(Protocol):
    """Values on the device, which kernels can fill."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values along each axis."""
        ...

    @property
    def dtype(self) -> "np.dtype[np.floating]":
        """NumPy's type of the values, float32 or float64."""
        ...

    def to_numpy(self) -> np.ndarray:
        """Values in a new array on the host."""
        ...

    def from_numpy(self, values: np.ndarray) -> None:
        """Fill it with values of its shape and type."""
        ...
