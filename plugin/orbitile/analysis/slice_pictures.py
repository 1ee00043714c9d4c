"""Slices as pictures: a map of colours with its scale, contours and atoms, drawn by matplotlib."""

from __future__ import annotations

import re
from os import PathLike
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..model.elements import SYMBOLS
from ..model.units import angstrom
from ..surfaces.colour_maps import MAPS, RGB, tick_labels, ticks
from .figures import check_picture, matplotlib_module, new_figure, write_picture
from .planes import NOISE, Slice, colours_of

if TYPE_CHECKING:
    from ..model.wavefunction import Wavefunction

_IN_PLANE = 0.4
"""Atoms nearer to the plane than this, in bohr, are named in black, those farther away in grey."""

_DPI, _FEWEST_DPI, _SMALL = 160, 72, 1000
"""Pixels an inch of a large picture, and of a small one, whose letters are smaller; pixels below which that begins."""

_LETTER = 0.56
"""Mean width of a letter, in units of its height."""


def _on_paper(colour_map: str) -> list[RGB]:
    """The colours of a map with white where the field is zero: a slice is nothing there, as the paper around it."""
    colours = list(MAPS[colour_map])
    if colour_map in ("signed", "sequential"):
        colours[len(colours) // 2 if colour_map == "signed" else 0] = (1.0, 1.0, 1.0)
    return colours


def contour_levels(low: float, high: float, *, even: bool = False) -> NDArray[np.float64]:
    """Levels 1, 2, 5, 10, ... of both signs, over two decades below the highest value; or at equal steps."""
    if even:
        return ticks(low, high, 11)
    top = np.floor(np.log10(high))
    steps = np.array([m * 10.0**e for e in range(int(top) - 2, int(top) + 1) for m in (1, 2, 5)])
    steps = steps[(steps > high / 101) & (steps < high * (1 + 1e-9))]
    return np.concatenate([-steps[::-1], steps]) if low < 0 else steps


def draw_slice(
    drawn: Slice,
    wavefunction: Wavefunction,
    path: str | PathLike[str],
    *,
    limit: float | None = None,
    size: tuple[int, int] = (1600, 1200),
) -> None:
    """Draw a slice: a map of colours with its scale, contours (dashed where negative), and the atoms.

    Parameters
    ----------
    drawn
        From `slice_field`.
    wavefunction
        Its atoms.
    path
        .png, .svg or .pdf. It appears complete or not at all.
    limit
        The colours span -limit to limit; by default see `colour_range`.
    size : (int, int)
        In pixels, of a .png; the others have the same proportions.

    Raises
    ------
    FileError
        When the file has another ending, or cannot be written.
    OrbitileError
        When matplotlib is not installed.
    """
    target = check_picture(path)
    write_picture(slice_figure(drawn, wavefunction, limit=limit, size=size), target)


def slice_figure(
    drawn: Slice, wavefunction: Wavefunction, *, limit: float | None = None, size: tuple[int, int] = (1600, 1200)
) -> Any:
    """The figure of matplotlib that `draw_slice` writes; parameters as there."""
    plane = drawn.plane
    low, high, colour_map = colours_of(drawn, limit)
    shades = matplotlib_module("colors").LinearSegmentedColormap.from_list("orbitile", _on_paper(colour_map), N=512)
    extent = [
        0.0,
        (plane.shape[1] - 1) * plane.spacing / angstrom,
        0.0,
        (plane.shape[0] - 1) * plane.spacing / angstrom,
    ]
    dpi = int(min(max(_DPI * min(size[0], 4 * size[1] / 3) / _SMALL, _FEWEST_DPI), _DPI))
    inches = ((size[0] + 0.01) / dpi, (size[1] + 0.01) / dpi)  # whole pixels, which are rounded down
    figure, axes = new_figure(inches, dpi)
    image = axes.imshow(
        drawn.values, origin="lower", extent=extent, vmin=low, vmax=high, cmap=shades, interpolation="bilinear"
    )
    levels = contour_levels(low, high, even=not drawn.unit)  # what has no unit varies from 0 to about 1
    inside = levels[(levels > drawn.values.min()) & (levels < drawn.values.max())]
    if len(inside):
        dark = colour_map == "sequential"
        axes.contour(
            drawn.values,
            levels=inside,
            extent=extent,
            origin="lower",
            colors=["white" if dark and level > 0.6 * high else "#303030" for level in inside],
            linewidths=0.6,
            linestyles=["dashed" if level < 0 else "solid" for level in inside],
        )
    normal = np.cross(plane.right, plane.up)
    for number, position in zip(wavefunction.atomic_numbers, wavefunction.positions - plane.origin, strict=True):
        near = abs(position @ normal) < _IN_PLANE
        axes.annotate(
            SYMBOLS[int(number)],
            (position @ plane.right / angstrom, position @ plane.up / angstrom),
            ha="center",
            va="center",
            fontsize=9,
            color="black" if near else "#808080",
            bbox={"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.7},
        )
    axes.set_xlabel("Å")
    axes.set_ylabel("Å")
    figure.suptitle(_in_lines(drawn.quantity.replace("$", r"\$"), 12, inches[0]), fontsize=12)
    empty = float(np.abs(drawn.values).max()) <= NOISE
    stated = "0 everywhere on this plane" if empty else _stated(inside, drawn.unit)
    figure.supxlabel(_in_lines(stated, 8, inches[0]), fontsize=8)
    beyond = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    extend = beyond[bool(drawn.values.min() < low), bool(drawn.values.max() > high)]
    marks = ticks(low, high, 9)
    bar = figure.colorbar(image, ax=axes, label=_formatted(drawn.unit), extend=extend, shrink=0.9, ticks=marks)
    bar.ax.set_yticklabels(tick_labels(marks))
    return figure


def _in_lines(text: str, points: float, inches: float) -> str:
    """A text broken into lines that a figure has space for, of letters of so many points."""
    letters = max(int(72 * inches / (_LETTER * points)), 8)
    return "\n".join(wrap(text, letters, break_long_words=False, break_on_hyphens=False))


def _formatted(unit: str) -> str:
    """A unit with its powers raised, as matplotlib writes them."""
    return re.sub(r"\^([-+]?[0-9/]+)", r"$^{\1}$", unit)


def _stated(levels: NDArray[np.float64], unit: str) -> str:
    """At which values there are contours, for people."""
    if not len(levels):
        return "no contours"
    positive, negative = levels[levels > 0], levels[levels < 0]
    if len(positive) and np.array_equal(positive, -negative[::-1]):
        stated = [*(["0"] if np.any(levels == 0) else []), *(f"±{level:g}" for level in positive)]
    else:
        stated = [f"{level:g}".replace("-", "−") for level in levels]
    dashed = "; negative ones dashed" if len(negative) else ""
    return f"contours at {', '.join(stated)} {_formatted(unit)}".rstrip() + dashed
