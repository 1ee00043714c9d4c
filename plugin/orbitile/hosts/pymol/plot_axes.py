"""The axes of a plot: ranges, round marks, and where values are in pixels. No Qt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...model.report import Curve, Plot

_MARGIN = 0.04
"""Of a range that is left free beyond the values."""
_FACTORS = (1.0, 2.0, 2.5, 5.0, 10.0)
_NARROWEST = 1e-6
"""Of the whole range, to which it can be zoomed in."""

Range = tuple[float, float]


@dataclass(frozen=True)
class Axes:
    """What of a plot is seen, and where: `x` from `left` to `right`, `y` from `bottom` to `top`, in pixels."""

    x: Range
    y: Range
    left: float
    top: float
    right: float
    bottom: float

    def pixels(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where values are, shape (n, 2)."""
        across = self.left + (x - self.x[0]) / (self.x[1] - self.x[0]) * (self.right - self.left)
        up = self.bottom - (y - self.y[0]) / (self.y[1] - self.y[0]) * (self.bottom - self.top)
        return np.stack([across, up], axis=1)

    def values(self, x: float, y: float) -> tuple[float, float]:
        """What is at a place."""
        across = self.x[0] + (x - self.left) / (self.right - self.left) * (self.x[1] - self.x[0])
        return across, self.y[0] + (self.bottom - y) / (self.bottom - self.top) * (self.y[1] - self.y[0])

    def zoomed(self, about: tuple[float, float], factor: float, *, across: bool, up: bool) -> Axes:
        """Ranges narrower by a factor about a point that stays where it is."""
        x, y = about
        return replace(
            self, x=_zoomed(self.x, x, factor) if across else self.x, y=_zoomed(self.y, y, factor) if up else self.y
        )

    def shifted(self, right: float, down: float) -> Axes:
        """Ranges moved along with a hand by so many pixels."""
        across = right / (self.right - self.left) * (self.x[1] - self.x[0])
        up = down / (self.bottom - self.top) * (self.y[1] - self.y[0])
        return replace(self, x=(self.x[0] - across, self.x[1] - across), y=(self.y[0] + up, self.y[1] + up))


def _zoomed(span: Range, about: float, factor: float) -> Range:
    low, high = about + (span[0] - about) * factor, about + (span[1] - about) * factor
    return (low, high) if high - low > _NARROWEST * max(abs(low), abs(high), 1e-30) else span


def whole(plot: Plot) -> tuple[Range, Range]:
    """What of a plot is shown first: what it states, else all values, and zero where curves stand on it."""
    x = plot.x_range or _range([curve.x for curve in plot.curves], False)
    stands = any(curve.style in ("filled", "sticks") for curve in plot.curves)
    return x, plot.y_range or _range([_within(curve, x) for curve in plot.curves], stands)


def _within(curve: Curve, x: Range) -> NDArray[np.float64]:
    return np.asarray(curve.y)[(curve.x >= x[0]) & (curve.x <= x[1])]


def _range(values: Sequence[NDArray[np.float64]], with_zero: bool) -> Range:
    every = np.concatenate([np.zeros(int(with_zero)), *values]) if values else np.zeros(0)
    every = every[np.isfinite(every)]
    if not len(every):
        return 0.0, 1.0
    low, high = float(every.min()), float(every.max())
    margin = (high - low) * _MARGIN or max(abs(high) * _MARGIN, 1e-9)
    return low - margin, high + margin


def ticks(span: Range, most: int) -> tuple[list[float], list[str]]:
    """Round values within a range, and how they are written; `most` of them, about."""
    low, high = span
    rough = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in _FACTORS if factor * power >= rough * (1 - 1e-9))
    marks = [step * n for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9) + (1 if f"{step / power:g}" == "2.5" else 0))
    large = max(abs(low), abs(high))
    if large >= 1e5 or decimals > 5:
        return marks, [f"{mark:.3g}" for mark in marks]
    return marks, [f"{mark + 0.0:.{decimals}f}" for mark in marks]
