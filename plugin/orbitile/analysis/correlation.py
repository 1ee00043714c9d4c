"""Correlation diagrams: energies of orbitals along a trajectory, each orbital in a colour of its own."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from ..base.errors import FieldError, OrbitileError
from ..fields._frontier import frontier_order
from ..model.units import electronvolt
from ..model.wavefunction import Spin
from ..trajectories.tracking import DOUBTFUL, Tracking
from .presentation import check_picture, matplotlib_module, new_figure, write_picture

_DPI = 200


def draw_correlation(
    tracking: Tracking,
    path: str | PathLike[str],
    *,
    spin: Spin = "alpha",
    around: int = 5,
    size: tuple[int, int] = (1600, 1200),
) -> None:
    """Draw the energies of followed orbitals against the frames.

    One colour is one orbital. Lines are solid where it is occupied and dashed where it is not, dotted where its
    confidence is below 0.7; circles mark crossings, crosses avoided ones. Frames that were left out are gaps.

    Parameters
    ----------
    tracking
        From `track`.
    path
        PNG, SVG or PDF file. It appears complete or not at all.
    spin
        Where there are two sets of orbitals.
    around
        Orbitals on each side of the gap of the first frame; those that are on its edge in another frame come along.
    size
        In pixels, 200 an inch.

    Raises
    ------
    FieldError
        When the orbitals have no energies, or those of beta electrons are asked for and are not apart.
    OrbitileError
        When Matplotlib is missing, or an argument does not fit.
    FileError
        When the file cannot be written.
    """
    target = check_picture(path)
    if isinstance(around, bool) or around < 1:
        raise OrbitileError(f"orbitals on each side of the gap: expected 1 or more, got {around!r}")
    if spin == "beta" and not tracking.has_spins:
        raise FieldError(
            f"{tracking.trajectory.name}: alpha and beta electrons share their orbitals; leave out the spin"
        )
    energies = tracking.energies(spin) / electronvolt
    if not np.all(np.isfinite(energies)):
        raise FieldError(f"{tracking.trajectory.name}: its orbitals have no energies, so there is nothing to draw")
    write_picture(_figure(tracking, spin, energies, orbitals_of_diagram(tracking, spin, around), size), target)


def orbitals_of_diagram(tracking: Tracking, spin: Spin, around: int) -> list[int]:
    """Orbitals, from 0, around the gap of the first frame, and those that are HOMO or LUMO in any other."""
    occupied, unoccupied = frontier_order(tracking.followed(tracking.frames[0]), spin)
    chosen = set(occupied[-around:] + unoccupied[:around])
    energies, occupations = tracking.energies(spin), tracking.occupations(spin)
    for row, filled in zip(energies, occupations, strict=True):
        if np.any(filled > 0.5):
            chosen.add(int(np.argmax(np.where(filled > 0.5, row, -np.inf))))
        if np.any(filled <= 0.5):
            chosen.add(int(np.argmin(np.where(filled <= 0.5, row, np.inf))))
    return sorted(chosen)


def _figure(tracking: Tracking, spin: Spin, energies: Any, chosen: list[int], size: tuple[int, int]) -> Any:
    lines = matplotlib_module("collections").LineCollection
    frames = np.array(tracking.frames) + 1
    occupations, confidence = tracking.occupations(spin), tracking.confidence(spin)
    figure, axes = new_figure((size[0] / _DPI, size[1] / _DPI), _DPI)
    tab10 = matplotlib_module("cm").tab10.colors
    palette = [colour for n, colour in enumerate(tab10) if n != 7]  # without grey
    ends = []
    for n, orbital in enumerate(chosen):
        colour = palette[n % len(palette)]
        points = np.stack([frames, energies[:, orbital]], axis=1)
        segments = np.stack([points[:-1], points[1:]], axis=1)
        together = np.diff(frames) == 1
        filled = (occupations[1:, orbital] > 0.5) & (occupations[:-1, orbital] > 0.5)
        doubtful = confidence[1:, orbital] < DOUBTFUL
        for style, some in (("-", filled & ~doubtful), ("--", ~filled & ~doubtful), (":", doubtful)):
            axes.add_collection(lines(segments[some & together], colors=[colour], linestyles=style, linewidths=1.6))
        axes.plot(*points.T, ".", color=colour, markersize=4)
        ends.append((energies[-1, orbital], orbital, colour))
    _label(axes, ends, frames[-1], 34 / size[1])
    for crossing in tracking.crossings:
        if crossing.spin == spin and set(crossing.orbitals) <= set(chosen):
            place = crossing.position + 1
            middle = np.mean([np.interp(place, frames, energies[:, orbital]) for orbital in crossing.orbitals])
            mark = "x" if crossing.avoided else "o"
            axes.plot(place, middle, mark, color="black", fillstyle="none", markersize=8)
    axes.set_xlabel("frame")
    axes.set_ylabel("energy / eV")
    axes.set_title(tracking.trajectory.name + (f", {spin}" if tracking.has_spins else ""), fontsize="medium")
    axes.xaxis.set_major_locator(matplotlib_module("ticker").MaxNLocator(integer=True))
    axes.autoscale_view()
    return figure


def _label(axes: Any, ends: list[tuple[float, int, Any]], last: int, apart: float) -> None:
    """Numbers of the orbitals at the right end of their lines, apart by a share of the height at least."""
    heights = sorted(ends, key=lambda end: (end[0], end[1]))
    span = max(heights[-1][0] - heights[0][0], 1e-6)
    at = -np.inf
    for energy, orbital, colour in heights:
        at = max(energy, at + apart * span)
        axes.annotate(
            f"{orbital + 1}",
            (last, energy),
            xytext=(1.015, at),
            textcoords=axes.get_yaxis_transform(),
            color=colour,
            fontsize="small",
            va="center",
            annotation_clip=False,
        )
