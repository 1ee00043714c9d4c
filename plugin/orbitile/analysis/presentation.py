"""Reports as text for people, as CSV and JSON for programs, and their plots as pictures by matplotlib.

Curves differ in colour, in lightness and in their dashes, so that they are told apart in print without colours and by
all eyes; the colours are those of M. Okabe and K. Ito (Color Universal Design, 2008).

What plots share with slices and correlation diagrams is here too. No pyplot: no window, no state.
"""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections.abc import Mapping, Sequence
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import FileError, OrbitileError
from ..base.imports import with_settings_of_the_user
from ..base.packages import install_command
from ..files.writing import checked_target, written_atomically
from ..model.report import Column, Curve, Drawing, Plot, Points, Report, ResidueValues, Table
from ..surfaces.colour_maps import MAPS

FORMATS = (".png", ".svg", ".pdf")


_STRONGEST, _BALL = 20, 1.0
"""Residues that are drawn as balls, and the radius of these in bohr."""


def with_balls(drawings: Sequence[Drawing]) -> list[Drawing]:
    """Drawings for a viewer that does not know residues: balls where the largest values are, in their colours."""
    drawn: list[Drawing] = []
    colours = MAPS["signed"]
    for drawing in drawings:
        if not isinstance(drawing, ResidueValues):
            drawn.append(drawing)
            continue
        values, centres = drawing.values[:_STRONGEST], drawing.centres[:_STRONGEST]
        limit = max(float(np.abs(values).max(initial=0.0)), 1e-300)
        step = np.clip(((values / limit + 1) / 2 * len(colours)).astype(int), 0, len(colours) - 1)
        for n in np.unique(step).tolist():
            name = f"{drawing.name}{n - len(colours) // 2:+d}"
            drawn.append(Points(name, centres[step == n], colour=colours[n], radius=_BALL))
    return drawn


def check_picture(path: str | PathLike[str]) -> Path:
    """The path of a drawing, if its ending is one of those that can be written and matplotlib is there.

    Raises
    ------
    FileError, OrbitileError
        Otherwise.
    """
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise FileError(f"{target.name}: expected a picture to end in {', '.join(FORMATS)}")
    try:
        matplotlib_module("figure")
    except ImportError as error:
        raise OrbitileError(
            f"slices and diagrams need matplotlib, which is not installed: {install_command('matplotlib')}"
        ) from error
    return target


def matplotlib_module(name: str) -> Any:
    """A module of matplotlib, imported when it is needed."""
    return with_settings_of_the_user("matplotlib", name)


def new_figure(inches: tuple[float, float], dpi: float) -> tuple[Any, Any]:
    """An empty figure of (width, height) inches, and its axes."""
    figure = matplotlib_module("figure").Figure(figsize=inches, dpi=dpi, layout="constrained")
    return figure, figure.add_subplot()


def write_picture(figure: Any, target: Path) -> None:
    """Write a figure of matplotlib, drawn in memory first: on a full disk its own writers end in other errors.

    Raises
    ------
    OrbitileError
        When labels leave no room for what is drawn.
    FileError
        When the file cannot be written.
    """
    drawn = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "constrained_layout not applied", UserWarning)
        try:
            figure.savefig(drawn, format=target.suffix[1:].lower(), dpi=figure.dpi)
        except UserWarning as error:
            width, height = figure.get_size_inches() * figure.dpi
            raise OrbitileError(
                f"{target.name}: a drawing of {width:.0f} x {height:.0f} pixels is too small for its labels; "
                "choose a larger one"
            ) from error
    with written_atomically(target) as file:
        file.write_bytes(drawn.getbuffer())


_DPI = 150

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")

_DASHES = ((), (5, 1.8), (5, 1.5, 1, 1.5), (1.2, 1.2), (9, 2), (3, 1, 1, 1, 1, 1))
"""Of lines, in points; none is a solid line."""

_WHOLE, _STICKS, _MARKS = "0.45", "0.1", "0.35"
"""Greys: of what is filled, of levels, and of marked places."""

_MANY, _PERCENTILE = 4000, 98
"""Points from which on an SVG has them as pixels; share of the magnitudes in percent that their colours tell apart."""

_IN_A_COLUMN = 24
"""Curves in a column of the legend."""

_LETTER = 0.008
"""Share of the width that a letter of a label takes: of labels that would meet, one stands above the other."""

_ROW = 10.0
"""Height of a label in points."""


def draw_plot(plot: Plot, path: str | Path, size: tuple[int, int] = (1350, 800)) -> None:
    """Draw a plot into a file (.png, .svg, .pdf) of a size in pixels.

    Letters of an SVG remain letters, which can be searched for and edited.

    Raises
    ------
    FileError, OrbitileError
        When the file cannot be written, or matplotlib is not there.
    """
    target = check_picture(path)
    style = {"svg.fonttype": "none", "svg.hashsalt": plot.name}
    with matplotlib_module("style").context(style):
        figure, axes = new_figure((size[0] / _DPI, size[1] / _DPI), _DPI)
        _draw_curves(axes, plot.curves)
        _tidy(axes, plot)
        rows = _mark(axes, plot)
        axes.set_title(_typeset(plot.title), fontsize="medium", loc="left", pad=6 + _ROW * rows)
        if any(curve.name for curve in plot.curves):
            handles, names = axes.get_legend_handles_labels()
            look = {"loc": "outside right upper", "fontsize": "small", "frameon": False, "handlelength": 2.6}
            figure.legend(handles, names, ncols=-(-len(names) // _IN_A_COLUMN) or 1, **look)
        write_picture(figure, target)


def _draw_curves(axes: Any, curves: Sequence[Curve]) -> None:
    """Curves of one name alike, and once in the legend."""
    looks: dict[str, int] = {}
    for curve in curves:
        is_new = curve.name not in looks
        drawn = curve.style in ("line", "points")
        look = looks.setdefault(curve.name, len([n for n in looks.values() if n >= 0]) if drawn else -1)
        _draw(axes, curve, look, _typeset(curve.name) if is_new and curve.name else None)


def _draw(axes: Any, curve: Curve, look: int, label: str | None) -> None:
    # the seventh curve has the colour of the first, and other dashes
    colour, dashes = _COLOURS[look % len(_COLOURS)], _DASHES[(look + look // len(_COLOURS)) % len(_DASHES)]
    in_pixels = len(curve.x) > _MANY
    if curve.style == "sticks":
        axes.vlines(curve.x, curve.foot, curve.y, linewidth=0.9, label=label, color=_STICKS, zorder=3)
    elif curve.style == "points" and len(curve.values):
        most = float(np.nanpercentile(np.abs(curve.values), _PERCENTILE)) or 1.0
        shown = {"cmap": "coolwarm", "vmin": -most, "vmax": most, "rasterized": in_pixels}
        dots = axes.scatter(curve.x, curve.y, s=2, c=curve.values, zorder=2, **shown)
        axes.figure.colorbar(dots, ax=axes, label=label, shrink=0.8, pad=0.02)
    elif curve.style == "points":
        axes.plot(curve.x, curve.y, ".", markersize=3, label=label, color=colour, zorder=2, rasterized=in_pixels)
    elif curve.style == "filled":
        axes.fill_between(curve.x, 0.0, curve.y, facecolor="0.88", edgecolor=_WHOLE, linewidth=1.0, label=label)
    else:
        axes.plot(curve.x, curve.y, linewidth=1.5, label=label, color=colour, dashes=dashes or (None, None), zorder=4)


def _tidy(axes: Any, plot: Plot) -> None:
    """Labels, ranges, and no more frame than is read."""
    axes.set_xlabel(_typeset(plot.x_label))
    axes.set_ylabel(_typeset(plot.y_label))
    if plot.x_range is not None:
        axes.set_xlim(plot.x_range)
    if plot.y_range is not None:
        axes.set_ylim(plot.y_range)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    low, high = axes.get_ylim()
    if plot.y_range is None and all(_stands(curve, high) for curve in plot.curves):
        axes.set_ylim(bottom=0.0)
    elif low < 0 < high:
        axes.axhline(0.0, color="0.2", linewidth=0.8, zorder=1)


def _stands(curve: Curve, high: float) -> bool:
    """Whether a curve stands on zero."""
    return curve.style != "points" and float(np.min(curve.y, initial=0.0)) >= -1e-4 * high


def _mark(axes: Any, plot: Plot) -> int:
    """Mark places on the x axis, with labels above that do not meet; returns how many rows these take."""
    low, high = sorted(axes.get_xlim())
    ends: list[float] = []
    for place, what in sorted(plot.lines):
        if not low <= place <= high:
            continue
        axes.axvline(place, color=_MARKS, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        half = 0.5 * _LETTER * (len(what) + 1) * (high - low)
        row = next((row for row, end in enumerate(ends) if place - half > end), len(ends))
        ends[row : row + 1] = [place + half]
        axes.annotate(
            _typeset(what),
            (place, 1.0),
            (0, 2 + _ROW * row),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            fontsize="small",
            color="0.25",
            ha="center",
            va="bottom",
        )
    return len(ends)


def _typeset(text: str) -> str:
    """Exponents of units raised, minus signs as such: eV^-1, e bohr^-3."""
    return re.sub(r"\^(-?\d+)", r"$^{\1}$", text.replace("$", r"\$"))


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


def as_text(report: Report, rows: int | None = None) -> str:
    """All tables of a report, each with its closure; of long ones the first rows, where a number of them is given."""
    parts = [report.title, *(_table(table, rows) for table in report.tables)]
    parts += [f"note: {remark}" for remark in report.remarks]
    return "\n\n".join(parts)


_WIDEST = 116
"""Letters of a line; a wider table goes on below itself, with the columns again that say what its rows are."""


def _table(table: Table, most: int | None) -> str:
    n = len(table) if most is None else min(most, len(table))
    columns = [_lines(column, n) for column in table.columns]
    n_keys = next((at for at, column in enumerate(table.columns) if _holds(column, float)), len(columns))
    keys, others = columns[:n_keys], columns[n_keys:]
    room = _WIDEST - sum(len(key[0]) + 2 for key in keys)
    blocks: list[list[list[str]]] = [[]]
    for column in others:
        if blocks[-1] and sum(len(one[0]) + 2 for one in (*blocks[-1], column)) > room:
            blocks.append([])
        blocks[-1].append(column)
    lines = [
        "  ".join(parts).rstrip()
        for block in blocks
        for parts in zip(*keys, *block, strict=True)
        if "".join(parts).strip()
    ]
    more = [f"... and {len(table) - n} more"] if n < len(table) else []
    closures = [closure.text for closure in table.closures]
    return "\n".join([f"{table.title}:", *(f"  {line}" for line in (*lines, *more, *closures))])


def _lines(column: Column, n: int) -> list[str]:
    """A column, all of one width: its name, its unit, and the first n of its values."""
    cells = [column.name.replace("_", " "), column.unit, *(column.text(row) for row in range(n))]
    width = max(map(len, cells))
    return [cell.ljust(width) if _holds(column, str) else cell.rjust(width) for cell in cells]


def _holds(column: Column, kind: type) -> bool:
    return bool(column.values) and isinstance(column.values[0], kind)


def as_csv(table: Table) -> str:
    """A table as CSV, a head of names first; numbers with all their digits."""
    return _csv([column.name for column in table.columns], *(column.values for column in table.columns))


def plot_as_csv(plot: Plot) -> str:
    """A plot as CSV, a point a row: its curve, its place, and the field that it stands for where there is one."""
    points = [
        (curve.name, x, y, curve.fields[n] if curve.fields else "")
        for curve in plot.curves
        for n, (x, y) in enumerate(zip(curve.x.tolist(), curve.y.tolist(), strict=True))
    ]
    return _csv(["curve", "x", "y", "field"], *zip(*points, strict=True))


def _csv(names: Sequence[str], *columns: Sequence[object]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def as_json(report: Report, more: Mapping[str, Any] | None = None) -> str:
    """A report as one JSON object, with more in it; plots are in files of their own, see `write_tables`."""
    return json.dumps({**report.as_dictionary(), **(more or {})}, indent=1, allow_nan=False)


def check_tables(path: str | Path) -> Path:
    """The path of tables, if they can be written there, before what is in them is computed.

    Raises
    ------
    FileError
        When the ending is neither .json nor .csv, or there is no such folder.
    """
    target = Path(path)
    if target.suffix.lower() not in (".json", ".csv"):
        raise FileError(f"{target.name}: expected tables to end in .csv or .json")
    checked_target(target)
    return target


def write_tables(report: Report, path: str | Path) -> list[Path]:
    """Write all tables of a report, as JSON into one file, or as CSV into a file each.

    Parameters
    ----------
    report
    path
        Ends in .json or .csv. As CSV the curves of plots are written too; of several files each has the name of its
        table or plot behind that of the path.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    FileError
        When the ending is another one, or a file cannot be written.
    """
    target = check_tables(path)
    if target.suffix.lower() == ".json":
        texts = {target: as_json(report) + "\n"}
    else:
        named = {table.name: as_csv(table) for table in report.tables}
        named |= {plot.name: plot_as_csv(plot) for plot in report.plots}
        texts = {
            target.with_name(f"{target.stem}-{name}.csv") if len(named) > 1 else target: text
            for name, text in named.items()
        }
    for file, text in texts.items():
        with written_atomically(file) as unfinished:
            unfinished.write_text(text, encoding="utf-8", newline="")
    return list(texts)
