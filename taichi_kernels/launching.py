"""How kernels are launched."""

from collections.abc import Callable

from ._taichi import Launch as Launch
from ._taichi import ti


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
