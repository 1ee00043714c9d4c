"""Basins: atoms in molecules, or cores, bonds and lone pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import Argument, one_of
from ...fields.density import occupied
from ...errors import OrbitileError
from ...model.elements import SYMBOLS
from ...model.report import AtomValues, Closure, Column, Points, Report, Table, atom_columns
from ...model.wavefunction import Wavefunction

if TYPE_CHECKING:
    from ..basins.integration import AtomicBasins

TITLE = "Basins"
HELP = "atoms in molecules (QTAIM) by their density, or cores, bonds and lone pairs by ELF, and what is in them"
GROUP = "Density"
PRIORITY = 70
PARAMETERS = (
    Argument("of", one_of("density", "elf"), "the field whose basins these are", "density", "density"),
    Argument("accuracy", one_of("quick", "normal", "fine"), "how finely space is divided", "normal", "normal"),
)
EXAMPLES = ("", "of=elf", "accuracy=quick")

_ELECTRONS, _LAPLACIAN = 1e-3, 2e-3
"""Errors of the electrons of a molecule of ten atoms, and of the Laplacian of an atom, that may be."""

_SLOW = 10.0
"""Seconds from which on it is said how long it takes."""


def unavailable(wavefunction: Wavefunction) -> str:
    """Why a molecule has no basins."""
    try:
        occupied(wavefunction, "total")
    except OrbitileError as error:
        return str(error)
    return "there are only ghosts, and no atoms" if wavefunction.is_ghost.all() else ""


def warning(wavefunction: Wavefunction, **parameters: Any) -> str:
    """That it takes long, and how long."""
    seconds = estimated_seconds(wavefunction, parameters["of"], parameters["accuracy"])
    if seconds < _SLOW:
        return ""
    time = f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"
    return f"Basins of {wavefunction.n_atoms} atoms will take about {time}."


def estimated_seconds(wavefunction: Wavefunction, of: str, accuracy: str) -> float:
    """About how long it takes on two cores, in seconds: by the atoms, and the basis functions that reach each point."""
    atoms = int((~wavefunction.is_ghost).sum())
    reaching = min(wavefunction.n_basis, 400)
    each = {"quick": 0.4, "normal": 1.0, "fine": 1.6}[accuracy] if of == "density" else 0.3
    return atoms * each * (0.3 + reaching / 150)


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Basins of a field; parameters as stated, see `orbitile.analysis.basins`."""
    if parameters["of"] == "elf":
        from ..basins.elf import elf_basins

        return _of_elf(wavefunction, elf_basins(wavefunction, parameters["accuracy"], device))
    from ..basins.qtaim import qtaim_basins

    return _of_density(wavefunction, qtaim_basins(wavefunction, parameters["accuracy"], device))


def _of_density(wavefunction: Wavefunction, found: AtomicBasins) -> Report:
    n_atoms = wavefunction.n_atoms
    in_atoms = [found.of_atoms(values, n_atoms) for values in (found.population, found.volume, found.laplacian, found.spin)]
    charges = wavefunction.core_charges - in_atoms[0]
    columns = [
        *atom_columns(wavefunction.atomic_numbers),
        Column("charge", _plain(charges), "e", about="charge of the nucleus, or core, less the population"),
        Column("population", _plain(in_atoms[0]), "e", about="electrons in the basin"),
        Column("volume", _plain(in_atoms[1]), "bohr^3", 2, "of the basin where the density is above 0.001 e bohr^-3"),
        Column("laplacian", _plain(in_atoms[2]), "hartree", 5, "-1/4 of the integral of the Laplacian: 0 but for errors"),
    ]
    if np.any(found.spin):
        columns.append(Column("spin", _plain(in_atoms[3]), "e", about="alpha less beta electrons"))
    shared = found.delocalisation
    if len(shared):
        inside = np.diag(shared)
        columns.append(Column("localised", _plain(found.of_atoms(inside, n_atoms)), "e", about="electrons that stay"))
    electrons = wavefunction.n_electrons
    tolerance = _ELECTRONS * max(1.0, len(found.atom) / 10)
    elsewhere = float(found.population[found.atom < 0].sum())
    closures = [
        Closure("sum of the populations of all basins", float(found.population.sum()), electrons, "e", tolerance),
        Closure("sum of the charges", float(charges.sum()) - elsewhere, wavefunction.charge, "e", tolerance),
        Closure("largest Laplacian of an atom", float(np.abs(found.laplacian).max()), 0.0, "hartree", _LAPLACIAN),
    ]
    if np.any(found.spin):
        closures.append(Closure("sum of the spins", float(found.spin.sum()), _spin(wavefunction), "e", tolerance))
    atoms = tuple((atom,) for atom in range(n_atoms))
    tables = [Table("atoms", "Atoms in molecules", tuple(columns), tuple(closures), atoms)]
    if len(shared):
        tables.append(_pairs(wavefunction, found))
    elsewhere_at = np.flatnonzero(found.atom < 0)
    if len(elsewhere_at):
        tables.append(_maxima(found))
    drawings: list[AtomValues | Points] = [AtomValues("charge", _plain(charges), "e")]
    if len(elsewhere_at):
        drawings.append(Points("maxima", found.position[elsewhere_at]))
    return Report("basins", "Basins of the density (QTAIM)", tuple(tables), drawings=tuple(drawings), remarks=_remarks(wavefunction, found))


def _plain(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _spin(wavefunction: Wavefunction) -> float:
    return sum(
        sign * float(occupied(wavefunction, spin)[1] @ norms)
        for spin, sign, norms in ()
    )
