"""The potential of given charges: from charges to the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ...base.caches import Derived
from ...base.watch import checkpoint, watcher
from ...model.volume import PointCharges

if TYPE_CHECKING:
    from taichi_kernels.charge_mesh import ChargeMesh
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


_FEWEST = 1000
"""Charges below which they are added up one by one."""

_MESHES: Derived[ChargeMesh | None] = Derived("sums of Gaussians")


def potential_near_and_far(charges: PointCharges, points: NDArray[np.float64], target: Target) -> NDArray[np.float64]:
    """The same, of many charges on a CPU in single precision with far ones by a mesh, see `taichi_kernels.charge_mesh`.

    Where a mesh is no help, and at points away from the charges, it is the direct sum.
    """
    if not target.on_host or target.precision == "double" or len(charges.charges) < _FEWEST:
        return potential_at(charges, points, target)
    from taichi_kernels.charge_mesh import mesh_of, potential_by_mesh, spacing_for

    def make() -> ChargeMesh | None:
        spacing = spacing_for(charges.positions)
        if not charges.radius < spacing:
            return None
        checkpoint()
        return mesh_of(charges.positions, charges.charges, charges.radius, spacing)

    mesh = _MESHES.of(charges, None, make)
    if mesh is None:
        return potential_at(charges, points, target)
    held = mesh.holds(points)
    values = np.empty(len(points))
    values[held] = potential_by_mesh(points[held], mesh, watcher())
    if not held.all():
        values[~held] = potential_at(charges, points[~held], target)
    return values
