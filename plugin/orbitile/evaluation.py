"""Where a field meets a lattice or points: device, memory, slabs, progress, cancellation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .charges import PointCharges
from .errors import Cancelled, DeviceError, FieldError, LatticeError, OrbitileError
from .fields import Field, resolve
from .fields.orbital import Orbital
from .kernels import AUTO, checked_name
from .lattice import Lattice, spacing_for, spacing_of
from .memory import available_memory
from .units import angstrom
from .volume import Volume
from .wavefunction import Wavefunction

SLAB_POINTS = 1 << 23
"""Points computed between two looks at `cancelled`: about 50 ms on two CPU cores, and 32 MiB on a device."""

TILE_POINTS = 1 << 17
"""Points handed to the direct kernel at once."""

_PLANES = 8
"""Slabs begin at multiples of this many planes, the bricks of the lattice kernel: values do not depend on the cut."""

_MOST_POINTS = 1 << 29
"""Points of one slab, at most: kernels count in 32 bits."""

_RESERVE = 256 << 20
"""Bytes left to everything but the result."""

_SMALL = 1 << 25
"""Bytes of a result below which nobody asks how much memory there is: asking takes as long as a small orbital."""

_FAINT = 2e-3
"""Isovalue of the box in which a default isovalue is looked for, in atomic units."""

Progress = Callable[[float], None]


def compute(
    wavefunction: Wavefunction,
    field: str | Field,
    lattice: Lattice,
    *,
    device: str | None = None,
    precision: str = "single",
    kernel: str = "auto",
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Volume:
    """Evaluate a field on a lattice.

    Parameters
    ----------
    wavefunction
        From `load`.
    field
        Name of a field: `homo`, `lumo+1`, `mo:17:beta`, ...
    lattice
        Where: any origin, axes and shape. Orthogonal axes, in any orientation, are fastest by far.
    device
        `auto` (the default: CUDA, then a real Vulkan GPU, then the CPU), `cuda`, `vulkan` or `cpu`.
    precision
        `single` (error below 2e-6 of the largest value) or `double` (below 1e-12).
    kernel
        Of an orbital: `auto`, the fastest by recorded measurements, or one of `orbitile.kernels.kernel_names()`. Those
        that approximate Gaussians have errors of their own (docs/kernels.md), in single precision only.
    progress
        Called with the share that is done, from 0 to 1.
    cancelled
        Asked now and then; when it says True the computation stops.

    Returns
    -------
    Volume
        Values of float32 or float64, in atomic units.

    Raises
    ------
    FieldError
        For an unknown field, or a kernel other than `auto` for a field that is not an orbital.
    OrbitileError
        For an unknown kernel, or one that does not serve this lattice, device or precision.
    LatticeError
        When the result would not fit in memory; nothing has been allocated then.
    DeviceError
        When the device cannot be used.
    Cancelled
        When `cancelled` said so.
    """
    resolved = _with_kernel(_field(wavefunction, field), kernel)
    dtype = _dtype(precision)
    require_memory(lattice, np.dtype(dtype).itemsize)
    with device_session(device, precision) as name:
        values = np.empty(lattice.shape, dtype)
        evaluate = resolved.on_slabs(lattice, precision, name)
        tell = progress or (lambda share: None)
        stop_now = cancelled or (lambda: False)
        if evaluate is not None:
            _fill_slabs(values, evaluate, name, precision, tell, stop_now)
        else:
            _fill_points(values, lattice, resolved.at_points(precision, name), tell, stop_now)
    return Volume(values, lattice, resolved.quantity, resolved.unit)


def compute_on_device(
    wavefunction: Wavefunction,
    field: str | Field,
    lattice: Lattice,
    *,
    device: str | None = None,
    precision: str = "single",
    kernel: str = "auto",
) -> Any:
    """Evaluate a field on a lattice and leave the values on the device.

    Parameters
    ----------
    wavefunction, field, lattice, device, precision, kernel
        As for `compute`.

    Returns
    -------
    array on the device, shape `lattice.shape`
        `to_numpy()` brings it home. It is lost when another device is asked for.

    Raises
    ------
    LatticeError
        When the axes of the lattice are not orthogonal and the field is not an orbital.
    """
    resolved = _with_kernel(_field(wavefunction, field), kernel)
    _dtype(precision)
    with device_session(device, precision) as name:
        from taichi_kernels import runtime

        evaluate = resolved.on_slabs(lattice, precision, name)
        if evaluate is None:
            raise LatticeError(
                f"values of {resolved.quantity} stay on the device for lattices with orthogonal axes only; use compute"
            )
        if lattice.n_points > _MOST_POINTS:
            raise LatticeError(
                f"values stay on the device for {_MOST_POINTS} points at most, got {lattice.n_points}; use compute"
            )
        out = runtime.allocate(lattice.shape, precision)
        evaluate(0, lattice.shape[0], out)
        runtime.synchronise()
        return out


def evaluate(
    wavefunction: Wavefunction,
    field: str | Field,
    points: ArrayLike,
    *,
    device: str | None = None,
    precision: str = "single",
    kernel: str = "auto",
    cancelled: Callable[[], bool] | None = None,
) -> NDArray[np.floating]:
    """Evaluate a field at points.

    Parameters
    ----------
    wavefunction, field, device, precision, kernel
        As for `compute`.
    points : array_like, shape (n, 3)
        In bohr.
    cancelled
        Asked now and then; when it says True the computation stops.

    Returns
    -------
    ndarray of float32 or float64, shape (n,)
        In atomic units.

    Raises
    ------
    OrbitileError
        When the points have another shape or are not finite numbers; otherwise as for `compute`.
    Cancelled
        When `cancelled` said so.
    """
    resolved = _with_kernel(_field(wavefunction, field), kernel)
    dtype = _dtype(precision)
    where = checked_points(points)
    values = np.empty(len(where), dtype)
    with device_session(device, precision) as name:
        at = resolved.at_points(precision, name)
        for first in range(0, len(where), TILE_POINTS):
            if cancelled is not None and cancelled():
                raise Cancelled("cancelled")
            values[first : first + TILE_POINTS] = at(where[first : first + TILE_POINTS])
    return values


def potential_of_charges(
    charges: PointCharges, points: ArrayLike, *, device: str | None = None, precision: str = "single"
) -> NDArray[np.float64]:
    """Electrostatic potential of given charges at points.

    Parameters
    ----------
    charges
        From `load_charges` or `charges_of_density`. They stay on the device between calls.
    points : array_like, shape (n, 3)
        In bohr.
    device
        As for `compute`.
    precision
        `single`: terms in single precision, error below 3e-7 of the sum of |q| / distance; `double`: 1e-13.

    Returns
    -------
    ndarray of float64, shape (n,)
        In hartree/e. At a point charge it is large and finite.
    """
    where = checked_points(points)
    _dtype(precision)
    with device_session(device, precision) as name:
        return charges.potential_in_session(where, name, precision)


def checked_points(points: ArrayLike) -> NDArray[np.float64]:
    """Points as an array of shape (n, 3).

    Raises
    ------
    OrbitileError
        When they have another shape or are not finite numbers.
    """
    try:
        where = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OrbitileError(f"points: expected numbers of shape (n, 3), got {type(points).__name__}") from error
    if where.ndim != 2 or where.shape[1] != 3:
        raise OrbitileError(f"points: expected shape (n, 3), got {where.shape}")
    if not np.all(np.abs(where) < 1e7):
        raise OrbitileError("points: expected finite coordinates below 1e7 bohr, got NaN, infinity or larger")
    return where


def enclosing_lattice(
    wavefunction: Wavefunction,
    field: str | Field,
    isovalue: float,
    *,
    spacing: float | None = None,
    points: int | None = None,
    quality: str = "medium",
) -> Lattice:
    """A lattice that holds the whole isosurface of a field: outside it the field is smaller than the isovalue, proven.

    Parameters
    ----------
    wavefunction, field
        As for `compute`.
    isovalue
        Positive, in atomic units.
    spacing
        In bohr.
    points
        Number of points along the longest edge, in place of a spacing.
    quality
        Where neither is given: `coarse`, `medium` or `fine`, 0.25, 0.15 or 0.075 Angstrom.
    """
    resolved = _field(wavefunction, field)
    if not (np.isfinite(isovalue) and isovalue > 0):
        raise LatticeError(f"isovalue: expected a positive number, got {isovalue}")
    low, high = resolved.enclosing_box(isovalue)
    # atoms stay inside, and one more point on each side closes the surface
    low, high = (
        np.minimum(low, wavefunction.positions.min(axis=0)),
        np.maximum(high, wavefunction.positions.max(axis=0)),
    )
    if points is not None:
        spacing = spacing_for(low, high, points - 2)
    step = spacing_of(quality) if spacing is None else spacing
    return Lattice.box(low - step, high + step, step)


def default_isovalue(
    wavefunction: Wavefunction, field: str | Field, share: float = 0.9, *, device: str | None = None
) -> float:
    """An isovalue that shows a field well.

    For an orbital, the one whose surface encloses a share of the square of the orbital, whatever its extent; other
    fields have a customary one.

    Parameters
    ----------
    wavefunction, field, device
        As for `compute`.
    share
        0.9 stands for 90 % of the electron that the orbital describes.

    Returns
    -------
    float
        In the unit of the field, rounded to three digits; from a coarse lattice.
    """
    from .surface import enclosing_isovalue

    field = _field(wavefunction, field)
    if field.isovalue is not None:
        return field.isovalue
    lattice = enclosing_lattice(wavefunction, field, _FAINT, quality="coarse")
    volume = compute(wavefunction, field, lattice, device=device)
    return float(f"{enclosing_isovalue(volume, share):.3g}")


def require_memory(lattice: Lattice, itemsize: int) -> None:
    """Refuse a lattice whose values would not fit in memory.

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
        "a lattice of {} x {} x {} points needs {:.1f} GB of memory, {:.1f} GB are available; a spacing of {:.3g} "
        "Angstrom in place of {:.3g} would fit".format(
            *lattice.shape, needed / 1e9, available / 1e9, spacing[0], spacing[0] / factor
        )
    )


def _field(wavefunction: Wavefunction, field: str | Field) -> Field:
    if not isinstance(wavefunction, Wavefunction):
        raise FieldError(f"expected a wavefunction, as from load(...), got {type(wavefunction).__name__}")
    if isinstance(field, str) or not hasattr(field, "at_points"):
        return resolve(wavefunction, field)  # type: ignore[arg-type]  # which refuses what is no name
    return field


def _with_kernel(field: Field, kernel: str) -> Field:
    if isinstance(field, Orbital):
        return field if kernel == AUTO else field.with_kernel(kernel)
    if checked_name(kernel) != AUTO:
        raise FieldError(
            f"kernel {kernel}: only orbitals have a choice of kernels, and {field.quantity} is none; leave it at auto"
        )
    return field


def _dtype(precision: str) -> type[np.float32 | np.float64]:
    if precision not in ("single", "double"):
        raise OrbitileError(f"precision: expected single or double, got {precision!r}")
    return np.float32 if precision == "single" else np.float64


@contextmanager
def device_session(device: str | None, precision: str) -> Iterator[str]:
    """The compute device, with its errors made ours."""
    from taichi_kernels import runtime

    try:
        with runtime.session(device, precision) as name:
            yield name
    except runtime.DeviceUnavailable as error:
        raise DeviceError(str(error)) from error
    except RuntimeError as error:  # what Taichi raises when a device fails or its memory is used up
        raise DeviceError(f"the device failed: {' '.join(str(error).split())[:300]}") from error


def _fill_slabs(
    values: NDArray[np.floating],
    evaluate: Callable[[int, int, Any], None],
    device: str,
    precision: str,
    progress: Progress,
    cancelled: Callable[[], bool],
) -> None:
    from taichi_kernels import runtime

    planes = values.shape[0]
    points = min(SLAB_POINTS, getattr(evaluate, "slab_points", SLAB_POINTS))
    if _PLANES * values.shape[1] * values.shape[2] > _MOST_POINTS:
        raise LatticeError(
            f"a lattice of {values.shape} points has planes too large to compute at once; "
            "let its first axis be the longest"
        )
    step = max(_PLANES, points // (values.shape[1] * values.shape[2]) // _PLANES * _PLANES)
    for start in range(0, planes, step):
        if cancelled():
            raise Cancelled("cancelled")
        stop = min(start + step, planes)
        if device == "cpu":
            evaluate(start, stop, values[start:stop])
        else:
            out: Any = runtime.allocate((stop - start, *values.shape[1:]), precision)
            evaluate(start, stop, out)
            values[start:stop] = out.to_numpy()
        progress(stop / planes)


def _fill_points(
    values: NDArray[np.floating],
    lattice: Lattice,
    at: Callable[[NDArray[np.float64]], NDArray[np.floating]],
    progress: Progress,
    cancelled: Callable[[], bool],
) -> None:
    planes = lattice.shape[0]
    step = max(1, TILE_POINTS // (lattice.shape[1] * lattice.shape[2]))
    for plane in range(0, planes, step):
        points = lattice.points(plane, min(plane + step, planes))
        flat = values[plane : plane + step].reshape(-1)
        for first in range(0, len(points), TILE_POINTS):
            if cancelled():
                raise Cancelled("cancelled")
            flat[first : first + TILE_POINTS] = at(points[first : first + TILE_POINTS])
        progress(min(plane + step, planes) / planes)
