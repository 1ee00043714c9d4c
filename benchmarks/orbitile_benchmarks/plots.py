"""Plots of cost against size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .report import Results, milliseconds


def draw(results: Results, folder: Path) -> list[Path]:
    """Write the plots as PNG, by Matplotlib's object interface; returns the files.

    Parameters
    ----------
    results
        Of a run.
    folder
        Where they go: `cost-atoms.png`, `cost-points.png` and, where several programs were measured,
        `orbital-programs.png`.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    def figure(width: float = 6.4) -> Any:
        one = Figure(figsize=(width, 4.0), dpi=150, layout="constrained")
        FigureCanvasAgg(one)
        return one

    def tidy(*axes: Any) -> None:
        """Numbers in place of powers of ten."""
        for axis in axes:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
            axis.set_minor_formatter(NullFormatter())

    devices = [peak["device"] for peak in results.peaks]
    written = []

    one = figure(8.4)
    left, right = one.subplots(1, 2)
    for device in devices:
        rows = [row for row in results.atoms if row["device"] == device]
        atoms = [row["atoms"] for row in rows]
        left.loglog(atoms, [row["seconds"] * 1e6 / row["atoms"] for row in rows], "o-", label=device)
        right.loglog(atoms, [row["seconds"] * 1e9 / row["points"] for row in rows], "o-", label=device)
    for axes, unit in ((left, "microseconds an atom"), (right, "nanoseconds a point")):
        axes.set(xlabel="atoms", ylabel=unit)
        tidy(axes.yaxis)
        axes.set_xticks(atoms, [f"{n:,}" for n in atoms], rotation=45, fontsize=8)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.3, which="both")
    left.legend()
    one.suptitle("Water clusters, an orbital spread over all molecules, 3,087 points an atom", fontsize=10)
    written.append(folder / "cost-atoms.png")
    one.savefig(written[-1])

    one = figure()
    axes = one.subplots()
    for device in devices:
        rows = [row for row in results.points if row["device"] == device]
        axes.loglog([row["points"] for row in rows], [row["seconds"] * 1e3 for row in rows], "o-", label=device)
    axes.set(xlabel="points", ylabel="milliseconds", title=f"HOMO of {results.points[0]['system']}, cubes of points")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    written.append(folder / "cost-points.png")
    one.savefig(written[-1])

    measured = [row for row in results.rows if row.part == "orbital" and row.seconds and "way home" not in row.program]
    system = "C60-b" if any(row.system == "C60-b" for row in measured) else measured[0].system
    chosen = [row for row in measured if row.system == system]
    one = figure(8.0)
    axes = one.subplots()
    names = [f"{row.program}, {row.device} {row.precision}" + (" *" if row.measured else "") for row in chosen]
    bars = axes.barh(names, [row.seconds * 1e3 for row in chosen if row.seconds], color="#2166ac")
    axes.bar_label(bars, [milliseconds(row.seconds) for row in chosen if row.seconds], padding=3, fontsize=8)
    axes.set(xscale="log", xlabel="milliseconds (* extrapolated from part of the points)", title=f"HOMO of {system}")
    axes.margins(x=0.15)
    axes.invert_yaxis()
    written.append(folder / "orbital-programs.png")
    one.savefig(written[-1])
    return written
