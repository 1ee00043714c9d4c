"""Lattices that would not fit in memory are refused before anything is allocated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import LatticeError
from ..base.memory import available_memory
from ..model.lattice import Lattice
from ..model.units import angstrom

if TYPE_CHECKING:
    from taichi_kernels.target import Target

_RESERVE = 256 << 20
"""Bytes left to everything but the result."""

_SMALL = 1 << 25
"""Bytes of a result below which nobody asks how much memory there is: asking takes as long as a small orbital."""


def require_memory(lattice: Lattice, itemsize: int, what: str = "") -> None:
    """Refuse a lattice that would not fit in memory with so many bytes a point.

    `what` says what they hold beside the values.

    Raises
    ------
    LatticeError
        Says what would fit.
    """
    if lattice.n_points * itemsize < _SMALL:
        return
    needed = lattice.n_points * itemsize + _RESERVE
    available = available_memory()
    if available is None or needed <= available:
        return
    factor = (needed / max(available - _RESERVE, 1 << 20)) ** (1 / 3) * 1.01
    spacing = lattice.spacings / angstrom * factor
    raise LatticeError(
        "a lattice of {} x {} x {} points {}needs {:.1f} GB of memory, {:.1f} GB are available; a spacing of {:.3g} "
        "Angstrom in place of {:.3g} would fit, and `orbitile volume` or compute_to_file write it to a file without "
        "holding it".format(*lattice.shape, what, needed / 1e9, available / 1e9, spacing[0], spacing[0] / factor)
    )


_ON_DEVICE = 6
"""Times the memory of its values that a lattice takes on a device, with lists of what matters where, and a surface."""

_SHARE = 0.5
"""Of the memory of a device: the rest is for the screen, other programs, and what does not grow with a lattice."""


def fits_device(lattice: Lattice, target: Target) -> bool:
    """Whether a device has memory for all values on a lattice at once, and for what is computed beside them."""
    from taichi_kernels.devices import probe

    memory = probe(target.device).memory
    return memory is None or _ON_DEVICE * lattice.n_points * target.dtype.itemsize <= _SHARE * memory
