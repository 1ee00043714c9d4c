"""The potential of given charges: from charges to the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ...base.caches import Derived
from ...base.watch import watcher
from ...model.volume import PointCharges

if TYPE_CHECKING:
    from taichi_kernels.point_charges import ChargesOnDevice

_SENT: Derived[ChargesOnDevice] = Derived("arrays on a device")
"""By target, and by how often the device was started: what was on it before is lost."""


def potential_at(charges: PointCharges, points: NDArray[np.float64], target: Target) -> NDArray[np.float64]:
    """Potential of charges in hartree/e at points, shape (n, 3), in bohr; within a session of the device."""
    from taichi_kernels.launching import pace_of
    from taichi_kernels.point_charges import potential_of_charges, send_charges
    from taichi_kernels.session import generation

    def send() -> ChargesOnDevice:
        radii = np.full(len(charges.charges), charges.radius)
        return send_charges(charges.positions, charges.charges, radii, target)

    sent = _SENT.of(charges, (target, generation()), send)
    values = np.empty(len(points))

    def some(first: int, last: int) -> None:
        values[first:last] = potential_of_charges(points[first:last], sent)

    work = np.full(len(points), float(len(charges.charges)))  # points times charges
    pace_of(1 << 22, "charges", target).run(work, some, watcher())
    return values
