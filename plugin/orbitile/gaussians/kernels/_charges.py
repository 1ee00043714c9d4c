"""The potential of given charges: from charges to the kernel."""

from __future__ import annotations

from functools import partial
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
    from taichi_kernels.charge_mesh import potential_by_mesh

    values, left = np.empty(len(points)), np.arange(len(points))
    for is_wide in (False, True):
        mesh = _MESHES.of(charges, is_wide, partial(_mesh_of, charges, is_wide)) if len(left) else None
        if mesh is None:
            break
        held = mesh.holds(points[left])
        values[left[held]] = potential_by_mesh(points[left[held]], mesh, watcher())
        left = left[~held]
    if len(left):
        values[left] = potential_at(charges, points[left], target)
    return values


_WIDER = 4.0
"""Times the spacing of the mesh for points around the charges, which is as wide again as they on each side."""


def _mesh_of(charges: PointCharges, is_wide: bool) -> ChargeMesh | None:
    from taichi_kernels.charge_mesh import MARGIN, mesh_of, spacing_for

    spacing = spacing_for(charges.positions)
    if not charges.radius < spacing:
        return None
    checkpoint()
    extent = float(np.ptp(charges.positions, axis=0).max())
    margin, spacing = (max(extent, MARGIN), _WIDER * spacing) if is_wide else (MARGIN, spacing)
    return mesh_of(charges.positions, charges.charges, charges.radius, spacing, margin)
