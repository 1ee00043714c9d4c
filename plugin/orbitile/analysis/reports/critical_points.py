"""Critical points of any field, such as the minima of the potential."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arguments import POSITIVE_NUMBER, TEXT, Argument
from ...evaluation.requests import field_of
from ...fields.electrostatic_potential import ElectrostaticPotential
from ...model.report import Points, Report, Table, atom_names, column, places_of
from ...model.units import angstrom
from ...model.wavefunction import Wavefunction
from . import takes_long
from .charges import unavailable

__all__ = ["unavailable"]

TITLE = "Critical points of a field"
HELP = "minima, maxima and saddles of the potential, of the localisation function, or of another field"
GROUP = "Density"
PRIORITY = 75
PARAMETERS = (
    Argument("field", TEXT, "field whose points are found", "esp", "esp", completes="fields"),
    Argument(
        "cutoff", POSITIVE_NUMBER, "lowest density that is searched, in e bohr^-3", None, "0.0003 for esp, else 0.001"
    ),
)
EXAMPLES = ("orb_critical_points", "orb_critical_points field=elf, cutoff=0.01")

_COLOURS = {
    "maximum": (0.84, 0.37, 0.0),
    "bond": (0.95, 0.8, 0.15),
    "ring": (0.2, 0.7, 0.3),
    "minimum": (0.0, 0.45, 0.7),
    "degenerate": (0.1, 0.1, 0.1),
}
_ABOUT = "maximum; bond and ring are saddles with two and one negative curvatures; minimum"

_OF_POTENTIAL, _USUAL = 3e-4, 1e-3
"""Densities above which is searched: fields that are ratios fade below the latter."""

_SECONDS_AN_ATOM, _USUAL_BASIS = 0.6, 8
"""On two cores, with so many basis functions an atom or fewer."""


def warning(wavefunction: Wavefunction, **parameters: Any) -> str:
    """That a large molecule takes long."""
    functions = max(1.0, wavefunction.n_basis / wavefunction.n_atoms / _USUAL_BASIS)
    seconds = _SECONDS_AN_ATOM * wavefunction.n_atoms * functions**2
    return takes_long(f"the search among {wavefunction.n_atoms} atoms takes", seconds)


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Critical points of a field; parameters as stated, see `orbitile.analysis.critical_points`."""
    from ..critical_points import CONVERGED, critical_points

    field = field_of(wavefunction, parameters["field"])
    usual = _OF_POTENTIAL if isinstance(field, ElectrostaticPotential) else _USUAL
    found = critical_points(wavefunction, field, parameters["cutoff"] or usual, device=device)
    kinds = found.kinds
    # what is zero by symmetry is not shown as rounding left it
    positions = np.where(np.abs(found.positions) < CONVERGED, 0.0, found.positions)
    nuclei = np.flatnonzero(wavefunction.atomic_numbers > 0)
    apart = np.linalg.norm(found.positions[:, None] - wavefunction.positions[nuclei], axis=2)
    names = atom_names(wavefunction.atomic_numbers)
    nearest = nuclei[apart.argmin(axis=1)] if len(kinds) else nuclei[:0]
    columns = (
        column("kind", kinds, about=_ABOUT),
        column("value", found.values, field.unit, 5, field.quantity),
        column("nearest_atom", (names[atom] for atom in nearest)),
        column("distance", apart.min(axis=1) / angstrom, "Angstrom", 3, "from it"),
        column("density", found.densities, "e bohr^-3", 5),
        *(column(f"curvature_{n + 1}", found.curvatures[:, n], "", 5, "of the field per bohr^2") for n in range(3)),
        *(column(axis, positions[:, n], "bohr", 4) for n, axis in enumerate("xyz")),
    )
    table = Table(
        "critical_points",
        f"Critical points of the {field.quantity}",
        columns,
        atoms=tuple((int(atom),) for atom in nearest),
        places=places_of(found.positions),
    )
    drawings = []
    for kind, colour in _COLOURS.items():
        of_kind = [n for n, one in enumerate(kinds) if one == kind]
        if of_kind:
            labels = tuple(f"{found.values[n]:.3f}" for n in of_kind)
            drawings.append(Points(kind, found.positions[of_kind], labels, colour))
    remarks = ["points close to nuclei are left out, where fields have shells, cusps or a pole"]
    if found.is_constant:
        remarks = [f"the {field.quantity} has the same value everywhere here, as for two electrons of opposite spin"]
    if "degenerate" in kinds:
        remarks.append(
            "degenerate points are on a line or surface of points that are alike, as around an axis: some of them are "
            "listed, and others are between"
        )
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in _COLOURS if kind in kinds)
    return Report(
        "critical_points",
        f"Critical points of the {field.quantity}: {counts or 'none'}",
        (table,),
        drawings=tuple(drawings),
        remarks=tuple(remarks),
    )
