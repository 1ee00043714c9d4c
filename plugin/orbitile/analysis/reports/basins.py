"""Basins: atoms in molecules, or cores, bonds and lone pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arguments import Argument, one_of
from ...base.errors import OrbitileError
from ...fields.density import occupied
from ...model.report import (
    AtomValues,
    Closure,
    Column,
    Drawing,
    Isosurface,
    Points,
    Report,
    Table,
    atom_columns,
    atom_names,
    column,
    places_of,
)
from ...model.wavefunction import Wavefunction
from . import takes_long

if TYPE_CHECKING:
    from ..elf_basins import ElfBasins
    from ..qtaim import AtomicBasins


TITLE = "Basins"
HELP = "QTAIM atoms (basins of the density), or ELF basins (cores, bonds, lone pairs): populations and volumes"
GROUP = "Density"
PRIORITY = 70
PARAMETERS = (
    Argument("of", one_of("density", "elf"), "field whose basins are integrated", "density", "density"),
    Argument("accuracy", one_of("quick", "normal", "fine"), "accuracy of the integration", "normal", "normal"),
)
EXAMPLES = ("orb_basins", "orb_basins of=elf", "orb_basins accuracy=quick")

_ELECTRONS, _LAPLACIAN = 1e-3, 1e-3
"""Tolerated errors of the electrons of a molecule in e, and of the Laplacian of an atom in hartree."""

_SHARED, _INDICES = 0.005, 0.01
"""Least number of shared electrons for which a pair is listed; tolerated error of their sum, in e."""


def unavailable(wavefunction: Wavefunction) -> str:
    """The reason why a molecule has no basins, or ""."""
    try:
        occupied(wavefunction, "total")
    except OrbitileError as error:
        return str(error)
    return "there are no nuclei, only ghost atoms" if wavefunction.is_ghost.all() else ""


def warning(wavefunction: Wavefunction, **parameters: Any) -> str:
    """That it takes long, and how long."""
    seconds = estimated_seconds(wavefunction, parameters["of"], parameters["accuracy"])
    return takes_long(f"basins of {wavefunction.n_atoms} atoms take", seconds)


def estimated_seconds(wavefunction: Wavefunction, of: str, accuracy: str) -> float:
    """About how long it takes on two cores, in seconds: by the atoms, and the basis functions that reach each point."""
    atoms = int((~wavefunction.is_ghost).sum())
    reaching = min(wavefunction.n_basis, 400)
    each = {"quick": 1.5, "normal": 4.5, "fine": 7.5}[accuracy] if of == "density" else 0.3
    return atoms * each * (0.3 + reaching / 150)


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Basins of a field; parameters as stated, see `orbitile.analysis.qtaim`."""
    if parameters["of"] == "elf":
        from ..elf_basins import elf_basins

        return _of_elf(wavefunction, elf_basins(wavefunction, parameters["accuracy"], device))
    from ..qtaim import qtaim_basins

    return _of_density(wavefunction, qtaim_basins(wavefunction, parameters["accuracy"], device))


def _of_density(wavefunction: Wavefunction, found: AtomicBasins) -> Report:
    n_atoms, at_nuclei = wavefunction.n_atoms, found.atom >= 0
    population, volume, laplacian, spin = (
        found.of_atoms(values, n_atoms) for values in (found.population, found.volume, found.laplacian, found.spin)
    )
    charges = wavefunction.core_charges - population
    columns = [
        *atom_columns(wavefunction.atomic_numbers),
        column("charge", charges, "e", about="charge of the nucleus, or of the core, minus the population"),
        column("error", found.of_atoms(found.error, n_atoms), "e", 5, "estimated error of charge and population"),
        column("population", population, "e", about="electrons in the basin"),
        column("volume", volume, "bohr^3", 2, "of the basin where the density is above 0.001 e bohr^-3"),
        column("laplacian", laplacian, "hartree", 5, "-1/4 of the integral of the Laplacian; exactly 0 without errors"),
    ]
    shared, polarised = found.delocalisation, bool(np.any(found.spin))
    if polarised:
        columns.append(column("spin", spin, "e", about="alpha minus beta electrons"))
    if len(shared):
        localised = found.of_atoms(np.diag(shared), n_atoms)
        columns.append(column("localised", localised, "e", about="electrons that stay in the basin"))
    electrons, elsewhere = float(found.population.sum()), float(found.population[~at_nuclei].sum())
    total = float(charges.sum()) - elsewhere
    closures = [
        Closure("populations of all basins", electrons, wavefunction.n_electrons, "e", _ELECTRONS),
        Closure("sum of the charges, other maxima included", total, wavefunction.charge, "e", _ELECTRONS),
        Closure(
            "largest integrated Laplacian of a basin", float(np.abs(found.laplacian).max()), 0.0, "hartree", _LAPLACIAN
        ),
    ]
    if polarised and not wavefunction.natural:
        closures.append(Closure("spins", abs(float(found.spin.sum())), wavefunction.n_unpaired, "e", _ELECTRONS))
    atoms = tuple((atom,) for atom in range(n_atoms))
    tables = [Table("atoms", "Atoms in molecules", tuple(columns), tuple(closures), atoms)]
    drawings: list[Drawing] = [AtomValues("charge", tuple(charges.tolist()), "e")]
    if len(shared) and at_nuclei.sum() > 1:
        tables.append(_pairs(wavefunction, found))
    if not at_nuclei.all():
        tables.append(_elsewhere(found))
        drawings.append(Points("maxima", found.position[~at_nuclei]))
    remarks = tuple(filter(None, _remarks(wavefunction, found)))
    return Report("basins", "Basins of the density (QTAIM)", tuple(tables), (), tuple(drawings), remarks=remarks)


def _pairs(wavefunction: Wavefunction, found: AtomicBasins) -> Table:
    """Electrons that pairs of atoms share."""
    first, second = np.triu_indices(len(found.atom), 1)
    shared = found.delocalisation[first, second]
    some = np.flatnonzero((found.atom[first] >= 0) & (found.atom[second] >= 0) & (shared > _SHARED))
    some = some[np.argsort(-shared[some], kind="stable")]
    pairs = [(int(found.atom[first[n]]), int(found.atom[second[n]])) for n in some]
    names = atom_names(wavefunction.atomic_numbers)
    columns = (
        column("atoms", (f"{names[a]}-{names[b]}" for a, b in pairs)),
        column("delocalisation", shared[some], "e", about="electrons that the two share, close to the bond order"),
    )
    everything = float(np.diag(found.delocalisation).sum() + found.delocalisation[first, second].sum())
    closure = Closure("sum of localised and delocalised electrons", everything, wavefunction.n_electrons, "e", _INDICES)
    return Table("pairs", "Electrons shared by atoms", columns, (closure,), tuple(pairs))


def _elsewhere(found: AtomicBasins) -> Table:
    """Maxima that are at no nucleus."""
    some = np.flatnonzero(found.atom < 0)
    columns = (
        column("maximum", range(1, len(some) + 1)),
        column("population", found.population[some], "e", about="electrons in the basin"),
        column("volume", found.volume[some], "bohr^3", 2, "where the density is above 0.001 e bohr^-3"),
        column("laplacian", found.laplacian[some], "hartree", 5, "as of atoms"),
    )
    return Table("maxima", "Maxima without a nucleus", columns, places=places_of(found.position[some]))


def _remarks(wavefunction: Wavefunction, found: AtomicBasins) -> list[str]:
    cores = wavefunction.core_charges[~wavefunction.is_ghost] < wavefunction.atomic_numbers[~wavefunction.is_ghost]
    names = atom_names(wavefunction.atomic_numbers)
    without = ", ".join(names[atom] for atom in found.without_maximum)
    wrong = [names[atom] for atom in found.atom[np.abs(found.laplacian) > _LAPLACIAN] if atom >= 0]
    return [
        f"The Laplacian of {', '.join(wrong)} is above {_LAPLACIAN:g} hartree, so the borders of these basins are not "
        "accurate, and populations may be wrong even if their sum is right: use accuracy=fine (--accuracy fine)."
        if wrong
        else "",
        "Some atoms have core potentials, and so only valence electrons and no maximum of the density at the nucleus: "
        "their basins are those of the valence shell around it. Charges are relative to the core charge, and reliable "
        "if no border runs through the region of the core."
        if cores.any()
        else "",
        f"The density has no maximum at {without}: the electrons there belong to the neighbours." if without else "",
        "The density has maxima without a nucleus, with basins of their own, so the charges of the atoms alone do not "
        "add up to that of the molecule."
        if np.any(found.atom < 0)
        else "",
        "The occupations are not whole numbers: delocalisation is estimated from their square roots (Mueller)."
        if len(found.delocalisation) and not _whole(wavefunction)
        else "",
    ]


def _whole(wavefunction: Wavefunction) -> bool:
    occupations = occupied(wavefunction, "total")[1]
    return bool(np.abs(occupations - np.rint(occupations)).max() < 1e-4)


def _of_elf(wavefunction: Wavefunction, found: ElfBasins) -> Report:
    columns = (
        Column("basin", found.names, about="C for core, V for valence, and the atoms that it belongs to"),
        column("population", found.population, "e", about="electrons in the basin"),
        column("volume", found.volume, "bohr^3", 2, "where the density is above 0.001 e bohr^-3"),
        column("elf", found.value, "", 3, "the function at the maximum; 1 for cores"),
    )
    electrons, places = float(found.population.sum()), places_of(found.position)
    closure = Closure("populations of all basins", electrons, wavefunction.n_electrons, "e", _ELECTRONS)
    table = Table("basins", "Cores, bonds and lone pairs", columns, (closure,), found.atoms, places=places)
    valence = np.array([name.startswith("V") for name in found.names])
    labels = tuple(name for name in found.names if name.startswith("V"))
    points = Points("elf", found.position[valence], labels)
    return Report(
        "basins",
        "Basins of the electron localisation function",
        (table,),
        drawings=(points,) if valence.any() else (),
        surfaces=(Isosurface("elf", 0.8),),
    )
