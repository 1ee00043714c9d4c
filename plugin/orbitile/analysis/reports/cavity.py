"""The charges with which a solvent answers a molecule, on the cavity that it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arguments import TEXT, Argument
from ...base.arrays import Reals
from ...model.report import Closure, Points, Report, Table, atom_columns, column
from ...model.wavefunction import Wavefunction
from ...surfaces.colour_maps import MAPS, rounded_up
from .charges import unavailable

if TYPE_CHECKING:
    from ...integrals.solvent import Cavity

__all__ = ["unavailable"]

TITLE = "Charges of a solvent around the molecule"
HELP = "apparent charges of a polarisable continuum on the cavity of the molecule, and the energy of solvation"
GROUP = "Surfaces"
PRIORITY = 70
PARAMETERS = (
    Argument("solvent", TEXT, "a solvent such as water or thf, or its dielectric constant", "water", "water"),
)
EXAMPLES = ("orb_cavity", "orb_cavity solvent=thf")

_ESCAPED = 0.2
"""How far apparent charges may be from those by Gauss's law, in e: some electrons are outside of the cavity."""

_SEEN, _RADIUS = 0.1, 0.3
"""Switching function from which on a point is drawn, and the radius of its ball in bohr."""


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Apparent charges for the density of a wavefunction; parameters as stated, see `orbitile.integrals.solvent`."""
    from ...evaluation.devices import device_session
    from ...integrals.pairs import pairs_of, to_hermite
    from ...integrals.solvent import apparent_charges, cavity_of
    from ...integrals.solvents import dielectric_constant
    from .._quadrature import density_matrix

    dielectric = dielectric_constant(parameters["solvent"])
    numbers, positions = wavefunction.atomic_numbers, wavefunction.positions
    with device_session(device, "double") as target:
        pairs = pairs_of(wavefunction)
        cavity = cavity_of(np.where(wavefunction.is_ghost, 0, numbers), positions, dielectric)
        electrons = to_hermite(pairs, density_matrix(wavefunction), target)
        charges, energy = apparent_charges(cavity, pairs.list, electrons, wavefunction.core_charges, positions, target)
    of_atoms, areas = (np.bincount(cavity.atom, of_points, len(numbers)) for of_points in (charges, cavity.areas))
    expected = -cavity.screening * wavefunction.charge
    columns = (
        *atom_columns(numbers),
        column("charge", of_atoms, "e", about="apparent charge on the sphere of the atom"),
        column("area", areas, "bohr^2", 2, "of its sphere outside of all others"),
    )
    closure = Closure("sum of the apparent charges", float(charges.sum()), expected, "e", _ESCAPED)
    quantities = (
        column("quantity", ("energy of solvation", "dielectric constant", "area of the cavity")),
        column("value", (energy, dielectric, float(cavity.areas.sum())), decimals=6),
        column("unit", ("hartree", "", "bohr^2")),
    )
    density = charges / cavity.areas
    limit = rounded_up(float(np.abs(density[cavity.switching > _SEEN]).max()))
    by_atom = "Apparent charges by the atoms whose spheres they are on"
    return Report(
        "cavity",
        f"Apparent charges of the solvent {parameters['solvent']}",
        (
            Table("solvation", "The molecule in the solvent", quantities),
            Table("atoms", by_atom, columns, (closure,), tuple((atom,) for atom in range(len(numbers)))),
        ),
        drawings=tuple(_balls(cavity, density, limit)),
        remarks=(
            f"in a viewer the charges have colours from red, {-limit:.1e} e/bohr^2, to blue, {limit:.1e}",
            "the charges answer the density of the file, which is that of the molecule in the solvent only if it was "
            "computed there",
        ),
    )


def _balls(cavity: Cavity, density: Reals, limit: float) -> list[Points]:
    """Balls on the cavity, in the colours of the density of charge there."""
    colours = MAPS["signed"]
    step = np.clip(((density / limit + 1) / 2 * len(colours)).astype(int), 0, len(colours) - 1)
    step[cavity.switching < _SEEN] = -1
    middle = len(colours) // 2
    return [
        Points(f"q{n - middle:+d}", cavity.points[step == n], colour=colour, radius=_RADIUS)
        for n, colour in enumerate(colours)
        if (step == n).any()
    ]
