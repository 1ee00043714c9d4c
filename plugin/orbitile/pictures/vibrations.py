"""Modes in pictures, films and pages: atoms that move along one, and arrows that tell where to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from ..analysis.reports import analyse
from ..base.arrays import Reals
from ..base.watch import Cancel, Progress, stage, watched
from ..model.geometry import Geometry, formula
from ..model.report import Paths, Plot, Report, Table
from ..model.units import angstrom
from ..model.vibrations import (
    AMPLITUDE,
    ARROW_COLOUR,
    ARROW_RADIUS,
    Vibrations,
    arrows_of,
    mode_name,
    motion_of,
    positions_along,
)
from ..renderer import Camera, default_camera, margins
from ..renderer.picture import checked_size, paper_of, render_scene
from ..scenes import Mesh, Molecule, Scene
from ..scenes.drawings import path_mesh
from ..scenes.web import Document, Slide
from .words import unit_in_print
from .writing import Pixels, checked_film, write_pictures

IN_A_PERIOD = 20
"""Pictures of a period in a film."""
_MOST_POINTS = 1500
"""Points of a curve in a page."""


def arrow_mesh(vibrations: Vibrations, mode: int, amplitude: float = AMPLITUDE) -> Mesh:
    """Arrows of a mode, counted from 1, as triangles for `orbitile.render`; errors as of `motion_of`.

    Parameters
    ----------
    vibrations, mode
    amplitude
        Largest displacement of an atom in Angstrom.
    """
    lines = tuple(arrows_of(motion_of(vibrations, mode) * amplitude * angstrom, vibrations.positions))
    arrows = path_mesh(Paths("arrows", lines, ARROW_COLOUR, ARROW_RADIUS, heads=True))
    return replace(arrows, name=mode_name(vibrations, mode))


def film_of_mode(
    vibrations: Vibrations,
    mode: int,
    path: str | PathLike[str],
    *,
    amplitude: float = AMPLITUDE,
    pictures: int = 3 * IN_A_PERIOD,
    rate: float = 20.0,
    size: tuple[int, int] = (960, 720),
    background: str = "white",
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> int:
    """Draw a film of atoms that move along a mode.

    Parameters
    ----------
    vibrations
    mode
        From 1.
    path
        As for `orbitile.animate`.
    amplitude
        Largest displacement of an atom in Angstrom.
    pictures, rate
        Number of pictures, 20 a period, and how many are shown a second.
    size, background, progress, cancelled
        As for `orbitile.animate`.

    Returns
    -------
    int
        Number of pictures.

    Raises
    ------
    OrbitileError
        When there is no such mode, or an argument does not fit.
    FileError
        When the file cannot be written.
    """
    target = checked_film(path, checked_size(size), transparent=background == "transparent")
    paper, rest = paper_of(background), _molecule(vibrations)
    places = positions_along(vibrations, mode, amplitude * angstrom, IN_A_PERIOD)
    camera = _camera(rest, places, size)

    def drawn() -> Iterator[Pixels]:
        for n in range(pictures):
            with stage(n / pictures, (n + 1) / pictures):
                scene = Scene(replace(rest, centres=places[n % IN_A_PERIOD]))
                yield render_scene(scene, camera, size, paper)

    with watched(progress, cancelled):
        write_pictures(drawn(), target, size, rate)
    return pictures


def _molecule(vibrations: Vibrations) -> Molecule:
    return Molecule.of(Geometry(vibrations.atomic_numbers, vibrations.positions))


def _camera(rest: Molecule, places: Reals, size: tuple[int, int]) -> Camera:
    """A camera that sees the atoms wherever they are."""
    every = Molecule(places.reshape(-1, 3), np.tile(rest.radii, len(places)), np.tile(rest.colours, (len(places), 1)))
    return default_camera(rest.centres).framed(Scene(every), size[0] / size[1], margins(size, [], scale=False))


# ---- a page


def document_of_modes(vibrations: Vibrations, report: Report | None = None) -> Document:
    """A page, or a view of a notebook: the molecule that moves, the spectrum and the table of modes.

    Parameters
    ----------
    vibrations
    report
        Of the analysis `vibrations`; by default as that is.
    """
    report = analyse(vibrations, "vibrations") if report is None else report
    molecule = _molecule(vibrations)
    modes = {
        f"mode:{mode}": {
            "title": unit_in_print(mode_name(vibrations, mode)),
            "motion": np.round(motion_of(vibrations, mode), 4).ravel().tolist(),
        }
        for mode in range(1, vibrations.n_modes + 1)
    }
    spectrum = {
        "amplitude": AMPLITUDE * angstrom,
        "modes": modes,
        "plots": [_plot(plot) for plot in report.plots],
        "table": _table(report.table("modes")),
        "first": f"mode:{1 + int(np.argmax(np.nan_to_num(vibrations.infrared)))}"
        if len(vibrations.infrared)
        else "mode:1",
        "remarks": list(report.remarks),
    }
    geometry = Geometry(vibrations.atomic_numbers, vibrations.positions)
    return Document(
        vibrations.title.strip() or formula(geometry),
        (Slide(Scene(molecule), title=f"{vibrations.n_modes} vibrations"),),
        atoms=tuple(f"{symbol}{n}" for n, symbol in enumerate(molecule.symbols, 1)),
        rotation=default_camera(vibrations.positions).rotation,
        middle=(vibrations.positions.min(axis=0) + vibrations.positions.max(axis=0)) / 2,
        spectrum=spectrum,
    )


def _plot(plot: Plot) -> Mapping[str, Any]:
    left, right = plot.x_range or (min(c.x.min() for c in plot.curves), max(c.x.max() for c in plot.curves))
    low, high = plot.y_range or (
        min(0.0, *(float(c.y.min(initial=0.0)) for c in plot.curves)),
        1.05 * max(1e-30, *(float(c.y.max(initial=0.0)) for c in plot.curves)),
    )
    curves = []
    for curve in plot.curves:
        step = max(1, len(curve.x) // _MOST_POINTS) if curve.style == "line" else 1
        x, y = curve.x[::step], curve.y[::step]
        numbers = {"x": [float(f"{v:.6g}") for v in x], "y": [float(f"{v:.5g}") for v in y]}
        curves.append(
            {"name": curve.name, "style": curve.style, "foot": curve.foot, "fields": list(curve.fields), **numbers}
        )
    return {
        "title": unit_in_print(plot.title),
        "x_label": unit_in_print(plot.x_label),
        "y_label": unit_in_print(plot.y_label),
        "x": [float(left), float(right)],
        "y": [low, high],
        "curves": curves,
    }


def _table(table: Table) -> Mapping[str, Any]:
    return {
        "heads": [unit_in_print(column.title) for column in table.columns],
        "rows": [[column.text(row) for column in table.columns] for row in range(len(table))],
        "fields": list(table.fields),
    }
