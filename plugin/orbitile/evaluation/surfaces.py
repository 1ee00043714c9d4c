"""Isosurfaces of fields."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..base.errors import IsovalueError, NoSurface
from ..base.watch import Cancel, Progress, checkpoint, tell, watched
from ..fields import Field
from ..gaussians.kernels._tolerances import tolerances
from ..model.lattice import Lattice
from ..model.surface import Surface
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction
from ..surfaces.isosurface import isosurface, isosurface_in_session, working_bytes
from ..surfaces.isovalue import on_faces, positive_isovalue
from .boxes import enclosing_lattice
from .devices import device_session, dtype_of
from .lattices import compute
from .points import evaluate
from .requests import field_of
from .slabs import fits_device, launches, on_slabs, require_lattice


def compute_surface(
    wavefunction: Wavefunction,
    field: str | Field,
    isovalue: float,
    lattice: Lattice | None = None,
    *,
    device: str | None = None,
    precision: str = "single",
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> Surface:
    """Isosurface of a field, without its values on a lattice.

    On a GPU the values stay there and only the mesh is copied to the host, where the points of the lattice are 67
    million at most, six times the memory of their values is no more than half of the GPU's, and the field has a kernel
    for it: an orbital on any lattice, other fields (but the electrostatic potential) where an axis is at right angles
    to the other two. Otherwise this is `isosurface` of what `compute` gives.

    Parameters
    ----------
    wavefunction, field, device, precision, progress
        As for `compute`.
    isovalue
        Positive, in atomic units.
    lattice
        Where to sample; without one the `enclosing_lattice` of medium quality.
    cancelled
        Asked now and then; when it says True the computation stops.

    Returns
    -------
    Surface
        As from `isosurface`.

    Raises
    ------
    IsovalueError
        When the isovalue is not a positive number, or the field reaches it nowhere on the lattice.
    OrbitileError
        As `compute` does.
    """
    dtype = dtype_of(precision)
    with watched(progress, cancelled):
        resolved = field_of(wavefunction, field)
        isovalue = positive_isovalue(isovalue, resolved.quantity)
        if isovalue < (faintest := tolerances(dtype).isovalue):
            other = ", or double precision" if isovalue >= tolerances(np.dtype(np.float64)).isovalue else ""
            raise IsovalueError(
                f"isovalue of {resolved.quantity}: values below {faintest:g} are errors of {precision} "
                f"precision, got {isovalue:g}; choose a larger one{other}"
            )
        if lattice is None:
            lattice = enclosing_lattice(wavefunction, resolved, isovalue)
        lattice = lattice.closed
        launching = launches(wavefunction, [resolved], lattice, precision)
        with (
            device_session(device, precision, launching=launching) as target,
            absence_explained(resolved, isovalue),
        ):
            on_device = None
            if not target.on_host and _fits_kernel(lattice) and fits_device(lattice, target):
                on_device = on_slabs(wavefunction, resolved, lattice, target)
            if on_device is not None:
                checkpoint()
                values = target.empty(lattice.shape)
                on_device(0, lattice.shape[0], values)
                tell(1.0)
                return isosurface_in_session(values, lattice, isovalue, resolved.quantity, resolved.unit, target)
            require_lattice(lattice, dtype.itemsize + working_bytes(dtype), " and its isosurface")
            volume = compute(wavefunction, resolved, lattice, device=device, precision=precision)
        checkpoint(1.0)
        with absence_explained(resolved, isovalue):
            return isosurface(volume, isovalue)


@contextmanager
def absence_explained(field: Field, isovalue: float) -> Iterator[None]:
    """Where there is no surface within: what that means for the field, if it has something to say.

    Raises
    ------
    NoSurface
        With the sentence of the field, for its own isovalue or a larger one.
    """
    try:
        yield
    except NoSurface as error:
        if field.absence and field.isovalue is not None and isovalue >= field.isovalue:
            raise NoSurface(field.absence) from error
        raise


def extract_surface(volume: Volume, isovalue: float, *, device: str | None = None) -> Surface:
    """Isosurface of a volume by the kernel that `compute_surface` uses, for a program that extracts many.

    The same surface as from `isosurface`, several times as fast, for half a second at the first call of a process.

    Parameters
    ----------
    volume, isovalue
        As for `isosurface`.
    device
        As for `compute`.

    Returns
    -------
    Surface
        As from `isosurface`.

    Raises
    ------
    IsovalueError, LatticeError
        As `isosurface` does.
    DeviceError
        When the device cannot be used.
    """
    volume = volume.closed
    if not _fits_kernel(volume.lattice):
        return isosurface(volume, isovalue)
    with device_session(device, "single") as target:
        from taichi_kernels.arrays import send

        if not fits_device(volume.lattice, target):
            return isosurface(volume, isovalue)
        values: Any = np.ascontiguousarray(volume.values, target.dtype)
        if not target.on_host:
            home, values = values, target.empty(values.shape)
            send(values, home)
        return isosurface_in_session(values, volume.lattice, isovalue, volume.quantity, volume.unit, target)


def surface_in_motion(
    wavefunction: Wavefunction,
    field: str | Field,
    isovalue: float,
    lattice: Lattice,
    *,
    device: str | None = None,
) -> Surface:
    """Isosurface of one frame of many, as fast as it can be had.

    What frames of one basis set share is kept from one to the next: the packed basis set and the layout of the kernel
    as long as a frame lives that has it, the workspace on the device as long as the lattice stays. On a GPU the values
    stay there; on a CPU the surface is extracted by the kernel too, whose loading takes half a second, once.

    Parameters
    ----------
    wavefunction, field, isovalue, lattice, device
        As for `compute_surface`.

    Returns
    -------
    Surface
        As from `isosurface`.

    Raises
    ------
    OrbitileError
        As `compute_surface` does.
    """
    with device_session(device, "single") as target:
        if not target.on_host:
            return compute_surface(wavefunction, field, isovalue, lattice, device=device)
        return extract_surface(compute(wavefunction, field, lattice, device=device), isovalue, device=device)


def is_cut(
    surface: Surface, wavefunction: Wavefunction, field: str | Field, lattice: Lattice, *, device: str | None = None
) -> bool:
    """Whether an isosurface goes on beyond the lattice that it was extracted from.

    Parameters
    ----------
    surface
        From `compute_surface`.
    wavefunction, field, lattice, device
        With which it was computed.
    """
    if lattice.periodic:
        return False  # beyond its faces is what enters by the opposite ones
    if on_faces(surface, lattice):
        return True
    resolved = field_of(wavefunction, field)
    if resolved.is_bounded:
        return False
    # the outer sheet about an ion, which is round, may lie outside as a whole
    ends = np.array([[0.0, 0, 0], np.array(lattice.shape) - 1.0])
    corners = np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    values = evaluate(wavefunction, resolved, lattice.origin + corners @ lattice.axes, device=device)
    return bool(np.any(np.abs(values) >= surface.isovalue))


def _fits_kernel(lattice: Lattice) -> bool:
    from taichi_kernels.marching_cubes import MOST_POINTS

    return lattice.n_points <= MOST_POINTS
