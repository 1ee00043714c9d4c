"""Bond orders and valences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...base.arguments import NUMBER, Argument
from ...model.cell import cell_of
from ...model.elements import SYMBOLS
from ...model.report import AtomValues, Closure, Drawing, Points, Report, Table, atom_columns, column, places_of
from ...model.units import angstrom
from ...model.wavefunction import COMPLEX, Wavefunction
from . import takes_long
from .charges import unavailable as without_electrons

if TYPE_CHECKING:
    from ..charges import Bonds

TITLE = "Bonds"
HELP = "bond orders by Mayer and Wiberg, valences and free valences"
GROUP = "Atoms and bonds"
PRIORITY = 85
PARAMETERS = (Argument("threshold", NUMBER, "smallest Mayer bond order that is listed", 0.1, "0.1"),)
EXAMPLES = ("orb_bonds", "orb_bonds threshold=0.02")

_TOLERANCE = 1e-3
"""How far electrons may be from adding up to all, in e."""

_BALL = 0.1
"""Radius of what is drawn at the middle of a bond, in bohr."""


def unavailable(wavefunction: Wavefunction) -> str:
    """The reason why a molecule has no bond orders, or ""."""
    return COMPLEX if wavefunction.spinors is not None else without_electrons(wavefunction)


def warning(wavefunction: Wavefunction, **parameters: Any) -> str:
    """That it takes long, for large molecules."""
    return takes_long(f"bond orders of {wavefunction.n_basis} basis functions take", 2e-10 * wavefunction.n_basis**3)


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Bond orders; parameters as stated, see `orbitile.analysis.charges`."""
    from ..charges import bonds_of

    bonds = bonds_of(wavefunction)
    mayer = bonds.orders["mayer"].orders
    listed = np.argwhere(np.triu(np.abs(mayer) >= parameters["threshold"], 1))
    middles = wavefunction.positions[listed[:, 0]] + _between(wavefunction, listed) / 2
    labels = tuple(f"{mayer[i, j]:.2f}" for i, j in listed)
    atoms = _atom_table(wavefunction, bonds)
    drawings: tuple[Drawing, ...] = (
        Points("bond_order", middles, labels, radius=_BALL),
        *(AtomValues(name, tuple(atoms[name].tolist())) for name in ("valence", "free_valence")),
    )
    tables = (_bond_table(wavefunction, bonds, listed), atoms)
    return Report("bonds", "Bond orders", tables, drawings=drawings, remarks=bonds.remarks)


def _between(wavefunction: Wavefunction, pairs: NDArray[np.intp]) -> NDArray[np.float64]:
    """From the first atom of each pair to the second one, or to its nearest image, in bohr."""
    between = wavefunction.positions[pairs[:, 1]] - wavefunction.positions[pairs[:, 0]]
    cell = cell_of(wavefunction)
    return between if cell is None else cell.shortest(between)


def _bond_table(wavefunction: Wavefunction, bonds: Bonds, listed: NDArray[np.intp]) -> Table:
    """A row for each bond, and the electrons of each scheme that all pairs share and the atoms keep."""
    first, second = listed.T
    between = _between(wavefunction, listed)
    columns = (
        column("atom_1", first + 1),
        column("element_1", (SYMBOLS[z] for z in wavefunction.atomic_numbers[first])),
        column("atom_2", second + 1),
        column("element_2", (SYMBOLS[z] for z in wavefunction.atomic_numbers[second])),
        column("distance", np.linalg.norm(between, axis=1) / angstrom, "Angstrom"),
        *(column(scheme, found.orders[first, second]) for scheme, found in bonds.orders.items()),
    )
    # what natural orbitals add up to is not known beforehand
    closures = [
        Closure(f"sum of kept and shared electrons, {scheme}", one.electrons, bonds.n_electrons, "e", _TOLERANCE)
        for scheme, one in bonds.orders.items()
        if bonds.is_determinant
    ]
    places = places_of(wavefunction.positions[first] + between / 2)
    return Table("bonds", "Bond orders", columns, tuple(closures), tuple(map(tuple, listed.tolist())), places=places)


def _atom_table(wavefunction: Wavefunction, bonds: Bonds) -> Table:
    mayer = bonds.orders["mayer"]
    # without rounding, which would be all that is left where electrons are paired
    free = np.round(bonds.valences - mayer.orders.sum(axis=1), 10) + 0.0
    valences = np.round(bonds.valences, 10) + 0.0
    columns = (
        *atom_columns(wavefunction.atomic_numbers),
        column("electrons", bonds.populations, "e", about="by Mulliken"),
        column("kept", mayer.localised, "e", about="electrons that the atom does not share"),
        column("valence", valences),
        column("free_valence", free, about="valence minus the bond orders"),
    )
    closure = Closure("sum of the electrons", float(bonds.populations.sum()), bonds.n_electrons, "e", _TOLERANCE)
    atoms = tuple((atom,) for atom in range(wavefunction.n_atoms))
    return Table("atoms", "Valences, by Mayer", columns, (closure,), atoms)
