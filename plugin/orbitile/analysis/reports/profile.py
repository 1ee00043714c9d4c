"""A field along a line between two atoms: also a line cut of a tunnelling microscope."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from ...base.arguments import ATOMS, COUNT, NUMBER, POSITIVE_NUMBER, TEXT, Argument
from ...model.report import Curve, Paths, Plot, Report, Table, atom_names, column
from ...model.units import angstrom
from ...model.wavefunction import Wavefunction
from .charges import unavailable as without_electrons

TITLE = "Profile along a line"
HELP = "values of a field along a line, or the heights above it at which the field has a value (STM line cuts)"
GROUP = "Density"
PLOTS = True
PRIORITY = 65
PARAMETERS = (
    Argument("field", TEXT, "field, such as density or stm:-2", "density", "density", completes="fields"),
    Argument("atoms", ATOMS, "two atoms that the line goes through", (), "the farthest two"),
    Argument("height", NUMBER, "height in Angstrom of the line above them, across the molecule's plane", 0.0, "0"),
    Argument("beyond", POSITIVE_NUMBER, "how far in Angstrom the line goes on beyond them", 2.0, "2"),
    Argument("isovalue", POSITIVE_NUMBER, "value whose height above the line is drawn", None, "none: values are drawn"),
    Argument("points", COUNT, "points of the line", 201, "201"),
)
EXAMPLES = ("orb_profile", "orb_profile field=stm:-2, atoms=1 4, height=3", "orb_profile field=stm:-2, isovalue=1e-6")


def unavailable(wavefunction: Wavefunction) -> str:
    """Why there is no line."""
    return "a line goes through two atoms" if wavefunction.n_atoms < 2 else without_electrons(wavefunction)


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """A profile; parameters as stated, see `orbitile.analysis.profiles`."""
    from ..profiles import extrema, profile

    apart = squareform(pdist(wavefunction.positions))
    atoms = parameters["atoms"] or tuple(int(n) for n in np.unravel_index(np.argmax(apart), apart.shape))
    found = profile(
        wavefunction,
        parameters["field"],
        atoms,
        beyond=parameters["beyond"] * angstrom,
        height=parameters["height"] * angstrom,
        n_points=parameters["points"],
        isovalue=parameters["isovalue"],
        device=device,
    )
    i, j = atoms
    x, names = found.distances / angstrom, atom_names(wavefunction.atomic_numbers)
    listed = [("begin", 0), *extrema(found.values), ("end", len(x) - 1)]
    places = [place for _, place in listed]
    decimals = max(3, 4 - int(np.floor(np.log10(max(np.abs(found.values).max(), 1e-12)))))
    columns = (
        column("kind", (kind for kind, _ in listed)),
        column("distance", x[places], "Angstrom", 3, f"from {names[i]}"),
        column("value", found.values[places], found.unit, decimals, found.quantity),
    )
    title = f"{found.quantity[:1].upper()}{found.quantity[1:]} along a line from {names[i]} to {names[j]}"
    marks = ((0.0, names[i]), (float(apart[i, j]) / angstrom, names[j]))
    unit = f" / {found.unit}" if found.unit else ""
    plot = Plot(
        "profile", title, f"distance from {names[i]} / Angstrom", f"value{unit}", (Curve("", x, found.values),), marks
    )
    line = Paths("line", (found.points,), radius=0.05)
    return Report("profile", title, (Table("profile", title, columns),), (plot,), (line,))
