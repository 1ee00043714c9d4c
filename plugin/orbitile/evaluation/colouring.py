"""Surfaces coloured by a second field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..errors import OrbitileError
from ..fields import Field
from ..model.surface import Colouring, Surface
from ..model.wavefunction import Wavefunction
from ..surfaces.colour_maps import round_ends, rounded_up
from ..watch import stage, watched
from .points import evaluate
from .requests import field_of

_PREPARED = 0.3
"""Share of the colouring in which the field is prepared, if it was not before."""


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
        The colours span -limit to +limit; by default what is customary for the field, else the largest magnitude on
        the surface, rounded up to a round number. Where the field has one sign, they span the values by default.
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
        with stage(0.0, _PREPARED):
            resolved = field_of(wavefunction, field)
        with stage(_PREPARED, 1.0):
            values = evaluate(wavefunction, resolved, surface.vertices, device=device, precision=precision)
    values = values.astype(np.float32)
    colour_map = resolved.colour_map
    low, high = float(values.min(initial=0)), float(values.max(initial=0))
    if limit is None:
        limit = resolved.colour_range
    if limit is not None:
        low, high = -limit, limit
    elif low < 0 < high:
        high = rounded_up(max(-low, high))
        low = -high
    elif len(values):
        low, high = round_ends(float(values.min()), float(values.max()))
        colour_map = colour_map or ("negative" if high <= 0 else "sequential")
    return replace(
        surface, colouring=Colouring(values, low, high, resolved.quantity, resolved.unit, colour_map or "signed")
    )
