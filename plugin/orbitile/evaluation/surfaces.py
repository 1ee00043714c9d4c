"""Isosurfaces of fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import IsovalueError, NoSurface, OrbitileError
from ..base.watch import Cancel, Progress, checkpoint, tell, watched
from ..fields import Field
from ..gaussians.kernels._tolerances import tolerances
from ..model.lattice import Lattice
from ..model.surface import Colouring, Surface
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction
from ..surfaces.colour_maps import round_ends, rounded_up
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


# ---- surfaces coloured by a second field


_MOST, _OUTLYING = 95, 5.0
"""Percentile of the magnitudes, and how many times as large the largest one is if it is not to count."""

_TYPICAL = 2.0
"""What the colours span then, in units of the median, or up to that percentile: half of the surface has more than half
of its colours."""

_EVEN = 0.3
"""Differences of a share of the largest magnitude that the colours span at least: less is where the vertices lie, by
the spacing of the lattice, and about an atom there is nothing else."""


_PASSES = 6
"""How often the values of a field that jumps are averaged: the teeth of the triangles along a jump are one wide."""


def _blended(values: NDArray[np.float32], faces: NDArray[np.int32]) -> NDArray[np.float32]:
    """Values at vertices, each averaged with those of its neighbours where these lie across a jump of sign.

    Vertices farther from a jump than the passes reach keep theirs.
    """
    first = np.concatenate([faces[:, k] for k in range(3)])
    second = np.concatenate([faces[:, (k + 1) % 3] for k in range(3)])
    near = np.zeros(len(values), bool)
    across = values[first] * values[second] < 0
    near[first[across]] = near[second[across]] = True
    count = np.bincount(first, minlength=len(values)) + 1.0  # in a closed mesh each edge is there both ways
    blended = values.astype(np.float64)
    for _ in range(_PASSES):
        total = blended + np.bincount(first, blended[second], len(values))
        blended = np.where(near, total / count, blended)
        near[first[near[second]]] = True
    return blended.astype(np.float32)


def _range_of(values: NDArray[np.float32], peaks: bool) -> tuple[float, float]:
    """Range of values that colours are to span: round numbers, symmetric about 0 where values have both signs.

    Peaks say that some may be outlying, see `Field.peaks_at_nuclei`.
    """
    if len(values) == 0:
        return -1.0, 1.0
    magnitudes = np.abs(values)
    largest = float(magnitudes.max())
    if peaks:
        median, most = np.percentile(magnitudes, (50, _MOST)).tolist()
        largest = min(_TYPICAL * median, most) if largest > _OUTLYING * most else largest
    low, high = (float(end) for end in np.clip((values.min(), values.max()), -largest, largest))
    if low < 0 < high:
        limit = rounded_up(max(-low, high))
        return -limit, limit
    lacking = max(0.0, _EVEN * largest - (high - low)) / 2
    return round_ends(low - lacking, high + lacking)


def coloured(
    surface: Surface,
    wavefunction: Wavefunction,
    field: str | Field,
    limit: float | None = None,
    *,
    device: str | None = None,
    precision: str = "single",
    cancelled: Callable[[], bool] | None = None,
) -> Surface:
    """A surface with the values of a field at its vertices.

    Parameters
    ----------
    surface
        From `isosurface`.
    wavefunction, field, device, precision
        As for `orbitile.evaluate`.
    limit
        The colours span -limit to +limit; by default the field's own range, else the largest magnitude on
        the surface, rounded up to a round number. Where the field has one sign, they span the values by default. A few
        values that are larger by far, as those of a potential where an orbital passes a nucleus, do not count.
    cancelled
        Asked now and then; when it says True the computation stops.

    Raises
    ------
    OrbitileError
        When the limit is not a positive number; otherwise as `orbitile.evaluate` does.
    Cancelled
        When `cancelled` said so.
    """
    if limit is not None and not (np.isfinite(limit) and limit > 0):
        raise OrbitileError(f"range of colours: expected a positive number, got {limit}")
    with watched(cancelled=cancelled):
        resolved = field_of(wavefunction, field)
        values = evaluate(wavefunction, resolved, surface.vertices, device=device, precision=precision)
    values = values.astype(np.float32)
    colour_map = resolved.colour_map
    if resolved.jumps:
        values = _blended(values, surface.faces)
    if limit is None:
        limit = resolved.colour_range
    low, high = _range_of(values, resolved.peaks_at_nuclei) if limit is None else (-limit, limit)
    if low * high >= 0:
        colour_map = colour_map or ("negative" if high <= 0 else "sequential")
    return replace(
        surface, colouring=Colouring(values, low, high, resolved.quantity, resolved.unit, colour_map or "signed")
    )
