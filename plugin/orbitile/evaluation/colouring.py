"""Surfaces coloured by a second field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OrbitileError
from ..base.watch import watched
from ..fields import Field
from ..model.surface import Colouring, Surface
from ..model.wavefunction import Wavefunction
from ..surfaces.colour_maps import round_ends, rounded_up
from .points import evaluate
from .requests import field_of

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
