"""Fields at points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import OrbitileError
from ..base.watch import Cancel, watched
from ..fields import Field
from ..gaussians.kernels._charges import potential_at
from ..model.volume import PointCharges
from ..model.wavefunction import Wavefunction
from .devices import device_session, dtype_of
from .requests import field_of
from .slabs import at_points, at_tiles


def evaluate(
    wavefunction: Wavefunction,
    field: str | Field,
    points: ArrayLike,
    *,
    device: str | None = None,
    precision: str = "single",
    kernel: str = "auto",
    cancelled: Cancel | None = None,
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

    Examples
    --------
    >>> wfn = ob.load("benzene.molden")
    >>> ob.evaluate(wfn, "density", [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0]], precision="double").round(4).tolist()
    [0.0198, 0.0062]
    """
    dtype = dtype_of(precision)
    where = checked_points(points)
    values = np.empty(len(where), dtype)
    with watched(cancelled=cancelled):
        resolved = field_of(wavefunction, field).with_kernel(kernel)
        few = resolved.at_few(len(where))
        with device_session(device, precision, launching=few is None) as target:
            chosen = few if few is not None and target.on_host else resolved
            at_tiles(at_points(wavefunction, chosen, target), where, values)
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
        `single`: terms in single precision, error below 3e-7 of the sum of abs(q) / distance; `double`: 1e-13.

    Returns
    -------
    ndarray of float64, shape (n,)
        In hartree/e. At a point charge it is large and finite.
    """
    where = checked_points(points)
    with device_session(device, precision) as target:
        return potential_at(charges, where, target)


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
