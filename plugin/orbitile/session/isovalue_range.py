"""Isovalues to slide through."""

from __future__ import annotations

from ..model.volume import Volume

_TIMES = 30.0
"""So many times less and more than the one that is shown."""


def range_about(isovalue: float, volume: Volume | None) -> tuple[float, float]:
    """Least and largest isovalue of a slider; no surface can be had beyond the largest value of the field.

    Parameters
    ----------
    isovalue
        The one that is shown.
    volume
        Values of the field, where they are at hand.
    """
    low, high = isovalue / _TIMES, isovalue * _TIMES
    if volume is not None:
        high = min(high, max(float(volume.values.max()), -float(volume.values.min())) * (1 - 1e-3))
    return low, max(high, isovalue)
