"""Voids of a crystal: what its molecules leave free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.arguments import POSITIVE_NUMBER, Argument
from ...fields.voids import EMPTY, HALF, without_crystal
from ...model.report import Closure, Isosurface, Report, Table, column
from ...model.units import angstrom
from ...model.wavefunction import Wavefunction

if TYPE_CHECKING:
    from ..voids import Voids

TITLE = "Voids of a crystal"
HELP = "volume and area of what a crystal leaves free, and its separate parts, from the density of free atoms"
GROUP = "Surfaces"
PRIORITY = 74
PARAMETERS = (
    Argument("isovalue", POSITIVE_NUMBER, "density in e bohr^-3 below which a crystal is empty", EMPTY, "0.002"),
    Argument("spacing", POSITIVE_NUMBER, "lattice spacing in Angstrom", 0.15, "0.15"),
)
EXAMPLES = ("orb_voids", "orb_voids isovalue=0.0003")

_LISTED = 20
"""Voids that are listed, the largest ones."""


def unavailable(wavefunction: Wavefunction) -> str:
    """Why there are none."""
    return without_crystal(wavefunction)


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Voids of a crystal; parameters as stated, see `orbitile.analysis.voids`."""
    from ..voids import voids_of

    isovalue, spacing = parameters["isovalue"], parameters["spacing"] * angstrom
    found = voids_of(wavefunction, isovalue, spacing, device)
    tables = [_whole(found, spacing)]
    if found.parts:
        tables.append(_parts(found))
    return Report(
        "voids",
        f"Voids where the density of free atoms is below {isovalue:g} e bohr^-3",
        tuple(tables),
        surfaces=(Isosurface(f"void:{isovalue:g}", HALF),) if found.parts else (),
        remarks=() if found.parts else ("there are no voids at this isovalue",),
    )


def _whole(found: Voids, spacing: float) -> Table:
    share = 100 / found.cell.volume
    rows = (
        ("volume of the cell", found.cell.volume / angstrom**3, 0.0, "Angstrom^3"),
        ("volume of the voids", found.volume / angstrom**3, found.volume_error / angstrom**3, "Angstrom^3"),
        ("share of the cell", share * found.volume, share * found.volume_error, "%"),
        ("area of the voids", found.area / angstrom**2, found.area_error / angstrom**2, "Angstrom^2"),
    )
    names, values, errors, units = zip(*rows, strict=True)
    columns = (
        column("quantity", names),
        column("value", values, "", 3),
        column("correction", errors, "", 3, "difference from the value before its extrapolation to no spacing"),
        column("unit", units),
    )
    # points are counted right but for those next to the surface, a few of a hundred of which are on the wrong side
    tolerance = (0.1 * spacing * found.area + spacing**3) / angstrom**3
    expected = found.volume / angstrom**3
    by_points = Closure("volume by points", found.counted / angstrom**3, expected, "Angstrom^3", tolerance)
    return Table("cell", "Voids in a cell", columns, (by_points,))


def _parts(found: Voids) -> Table:
    shown = found.parts[:_LISTED]
    places = tuple(void.place for void in shown)
    columns = (
        column("void", range(1, len(shown) + 1)),
        column("volume", (void.volume / angstrom**3 for void in shown), "Angstrom^3", 2, "in a cell"),
        column("least", (void.least for void in shown), "e bohr^-3", 6, "lowest density in it"),
        *(
            column(axis, (place[n] / angstrom for place in places), "Angstrom", 3, "where that is", exponents=False)
            for n, axis in enumerate("xyz")
        ),
    )
    title = f"Separate voids, the largest first, {len(shown)} of {len(found.parts)}"
    return Table("voids", title, columns, places=places)
