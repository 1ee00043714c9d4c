"""Where and how exactly kernels compute."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .devices import DEVICES

if TYPE_CHECKING:
    from .arrays import DeviceArray

PRECISIONS = ("single", "double")

_DTYPES = {name: np.dtype(name) for name in PRECISIONS}  # NumPy knows them by these names too


@dataclass(frozen=True)
class Target:
    """A device and the precision of what is computed on it.

    Attributes
    ----------
    device : str
        cuda, vulkan or cpu.
    precision : str
        single or double.

    Raises
    ------
    ValueError
        For another device or precision.
    """

    device: str
    precision: str

    def __post_init__(self) -> None:
        for name, value, expected in (("device", self.device, DEVICES), ("precision", self.precision, PRECISIONS)):
            if value not in expected:
                raise ValueError(f"{name}: expected {' or '.join(expected)}, got {value!r}")

    @property
    def dtype(self) -> "np.dtype[np.floating]":
        """NumPy's type of the numbers."""
        return _DTYPES[self.precision]

    @property
    def on_host(self) -> bool:
        """Whether kernels fill NumPy arrays."""
        return self.device == "cpu"

    def empty(self, shape: tuple[int, ...]) -> "np.ndarray | DeviceArray":
        """Uninitialised array that kernels can fill: an ndarray on the host, otherwise an array on the device.

        Inside a session of the device.
        """
        if self.on_host:
            return np.empty(shape, self.dtype)
        from .arrays import allocate

        return allocate(shape, self.dtype)
