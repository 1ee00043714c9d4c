"""Arrows of a field in a plane or on an isosurface, coloured by their magnitude."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...base.arguments import ATOMS, NUMBER, POSITIVE_NUMBER, TEXT, Argument
from ...base.errors import OrbitileError
from ...model.report import Paths, Report, Table, column
from ...model.units import angstrom
from ...model.wavefunction import Wavefunction
from ...surfaces.colour_maps import colours_along
from .charges import unavailable

__all__ = ["unavailable"]

TITLE = "Vectors in a plane or on a surface"
HELP = "arrows of the electric field, of a current or of the gradient of any field in a plane or on a surface"
GROUP = "Density"
PRIORITY = 70
PARAMETERS = (
    Argument(
        "field", TEXT, "esp for the electric field, current, or a field whose gradient is drawn", "esp", "esp",
        completes="fields",
    ),
    Argument("atoms", ATOMS, "three atoms or more that the plane goes through", (), "all atoms"),
    Argument("height", NUMBER, "height in Angstrom of the plane above them", 0.0, "0"),
    Argument("spacing", POSITIVE_NUMBER, "distance in Angstrom between arrows", 0.4, "0.4"),
    Argument(
        "surface", TEXT, "field whose isosurface has the arrows, in place of a plane", "", "a plane", completes="fields"
    ),
    Argument("isovalue", POSITIVE_NUMBER, "isovalue of that surface in atomic units", None, "0.001 for the density"),
)  # fmt: skip
EXAMPLES = (
    "orb_vectors",
    "orb_vectors field=density, height=1",
    "orb_vectors field=current, atoms=1-3",
    "orb_vectors surface=density, spacing=0.8",
)

_CLASSES = 6
"""Colours of arrows; a remark says so."""


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Vectors in a plane or on a surface; parameters as stated, see `orbitile.analysis.vectors`."""
    from ..vectors import plane_arrows, surface_arrows

    name, atoms, height = parameters["field"], parameters["atoms"], parameters["height"]
    on, isovalue, spacing = parameters["surface"], parameters["isovalue"], parameters["spacing"] * angstrom
    if on and (atoms or height):
        raise OrbitileError(
            "surface: expected no atoms and no height beside a surface, got both; leave out one of them"
        )
    if isovalue is not None and not on:
        raise OrbitileError(
            "isovalue: expected surface, the field whose isosurface has the arrows, got none; try density"
        )
    if on:
        arrows, quantity, unit = surface_arrows(wavefunction, name, on, isovalue, spacing, device)
    else:
        arrows, quantity, unit = plane_arrows(wavefunction, name, atoms, height * angstrom, spacing, device)
    magnitudes = np.linalg.norm(arrows.vectors, axis=1)
    edges = np.quantile(magnitudes, np.linspace(0.0, 1.0, _CLASSES + 1))  # as many arrows of each colour
    number = np.clip(np.searchsorted(edges, magnitudes, side="right") - 1, 0, _CLASSES - 1)
    colours = colours_along("sequential", np.linspace(0.15, 1.0, _CLASSES)).tolist()
    # arrows of one length, or those near nuclei would leave the others too small
    directions = arrows.vectors / np.maximum(magnitudes, 1e-300)[:, None]
    lines = replace(arrows, vectors=directions).paths()
    drawn = []
    for n, (red, green, blue) in enumerate(colours):
        some = tuple(line for line, of in zip(lines.lines, number.tolist(), strict=True) if of == n)
        if some:
            drawn.append(Paths(f"{arrows.name}_{n + 1}", some, (red, green, blue), lines.radius, heads=True))
    columns = (
        column("colour", range(1, _CLASSES + 1), about="from yellow to dark blue"),
        column("from", edges[:-1], unit, 5),
        column("to", edges[1:], unit, 5),
        column("arrows", np.bincount(number, minlength=_CLASSES)),
    )
    remarks = ("all arrows have one length; their colours tell the magnitude, each that of a sixth of them",)
    title = f"{quantity[:1].upper()}{quantity[1:]} {f'on an isosurface of {on}' if on else 'in a plane'}"
    return Report("vectors", title, (Table("vectors", title, columns),), drawings=tuple(drawn), remarks=remarks)
