"""Plots of reports as pictures, by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import OrbitileError
from ..model.report import Curve, Plot, Report
from .figures import check_picture, new_figure, write_picture

_DPI = 150


def draw_plot(plot: Plot, path: str | Path, size: tuple[int, int] = (1200, 800)) -> None:
    """Draw a plot into a file (.png, .svg, .pdf) of a size in pixels.

    Raises
    ------
    FileError, OrbitileError
        When the file cannot be written, or matplotlib is not there.
    """
    target = check_picture(path)
    figure, axes = new_figure((size[0] / _DPI, size[1] / _DPI), _DPI)
    for at, curve in enumerate(plot.curves):
        _draw(axes, curve, at)
    for place, what in plot.lines:
        axes.axvline(place, color="0.55", linewidth=0.8, linestyle="--")
        axes.annotate(
            what, (place, 1.0), xycoords=("data", "axes fraction"), fontsize="small", ha="center", va="bottom"
        )
    axes.set_xlabel(plot.x_label)
    axes.set_ylabel(plot.y_label)
    axes.set_title(plot.title, fontsize="medium", pad=14 if plot.lines else None)
    if plot.x_range is not None:
        axes.set_xlim(plot.x_range)
    if plot.y_range is not None:
        axes.set_ylim(plot.y_range)
    if any(curve.name for curve in plot.curves):
        axes.legend(fontsize="small", frameon=False)
    write_picture(figure, target)


def _draw(axes: Any, curve: Curve, at: int) -> None:
    label = curve.name or None
    if curve.style == "sticks":
        axes.vlines(curve.x, 0.0, curve.y, linewidth=1.2, label=label, color=f"C{at}")
    elif curve.style == "points" and len(curve.values):
        most = float(np.abs(curve.values).max()) or 1.0
        axes.scatter(curve.x, curve.y, s=2, c=curve.values, cmap="coolwarm", vmin=-most, vmax=most, label=label)
    elif curve.style == "points":
        axes.plot(curve.x, curve.y, ".", markersize=3, label=label, color=f"C{at}")
    else:
        (line,) = axes.plot(curve.x, curve.y, linewidth=1.2, label=label, color=f"C{at}")
        if curve.style == "filled":
            axes.fill_between(curve.x, 0.0, curve.y, color=line.get_color(), alpha=0.25)


def draw_plots(report: Report, path: str | Path) -> list[Path]:
    """Draw all plots of a report, into a file each; of several, each has the name of its plot behind that of the path.

    Raises
    ------
    OrbitileError
        When it has none, and as `draw_plot`.
    """
    if not report.plots:
        raise OrbitileError(f"{report.title}: there is nothing to plot")
    target = check_picture(path)
    several = len(report.plots) > 1
    targets = [
        target.with_name(f"{target.stem}-{plot.name}{target.suffix}") if several else target for plot in report.plots
    ]
    for plot, one in zip(report.plots, targets, strict=True):
        draw_plot(plot, one)
    return targets
