"""Charges of atoms."""

from __future__ import annotations

from typing import Any

from ...arguments import Argument, one_of
from ...model.report import AtomValues, Closure, Column, Report, Table, atom_columns
from ...model.wavefunction import Wavefunction

TITLE = "Charges of atoms"
HELP = "charges of the atoms, by any of several schemes"
GROUP = "Atoms and bonds"
PRIORITY = 90
PARAMETERS = (Argument("scheme", one_of("becke", "hirshfeld"), "how electrons are shared out", "becke", "becke"),)


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Charges of the atoms; parameters as stated, see `orbitile.analysis.atomic_charges`."""
    from ..atomic_charges import atomic_charges

    scheme = parameters["scheme"]
    found = tuple(atomic_charges(wavefunction, scheme, device).tolist())
    atoms = tuple((atom,) for atom in range(wavefunction.n_atoms))
    closure = Closure("sum of the charges", sum(found), wavefunction.charge, "e", 0.01)
    columns = (*atom_columns(wavefunction.atomic_numbers), Column("charge", found, "e"))
    return Report(
        "charges",
        f"{scheme.title()} charges",
        (Table("atoms", "Charges of the atoms", columns, (closure,), atoms),),
        drawings=(AtomValues("charge", found, "e"),),
    )
