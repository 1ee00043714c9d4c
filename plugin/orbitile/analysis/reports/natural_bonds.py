"""Natural bond orbitals, and how much electrons gain by leaving them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arguments import POSITIVE_NUMBER, Argument
from ...fields.natural_bonds import FAMILY, why_not
from ...fields.orbital import name_in_family
from ...model.conventions import ANGULAR_MOMENTUM_LETTERS
from ...model.geometry import formula
from ...model.report import Closure, Report, Table, atom_names, column
from ...model.units import kilocalorie_per_mole
from ...model.wavefunction import Spin, Wavefunction
from . import takes_long

if TYPE_CHECKING:
    from ...fields.natural_bonds import NaturalBonds
    from ..natural_bonds import Hybrid

TITLE = "Natural bond orbitals"
HELP = "natural bond orbitals (NBO): Lewis structure, hybrids, and energies of donation between orbitals"
GROUP = "Orbitals"
PRIORITY = 79
PARAMETERS = (
    Argument("threshold", POSITIVE_NUMBER, "smallest energy of donation that is listed, in kcal/mol", 0.5, "0.5"),
)
EXAMPLES = ("orb_natural_bonds", "orb_natural_bonds threshold=5")

_SECONDS = 2e-8
"""Seconds for the cube of the number of basis functions, on two cores."""

_LOW = 0.75
"""Share of a full orbital below which one of the Lewis structure is remarked on."""


def unavailable(wavefunction: Wavefunction) -> str:
    """Why there are none."""
    return why_not(wavefunction)


def warning(wavefunction: Wavefunction, **parameters: Any) -> str:
    """That large molecules take long."""
    n = wavefunction.n_basis
    return takes_long(f"natural bond orbitals of {n} basis functions take", _SECONDS * n**3)


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Natural bond orbitals; parameters as stated, see `orbitile.analysis.natural_bonds`."""
    from ...fields.natural_bonds import natural_bonds

    bonds = natural_bonds(wavefunction)
    tables = [_orbitals(wavefunction, bonds)]
    if bonds.focks:
        tables.append(_donations(bonds, parameters["threshold"] * kilocalorie_per_mole))
    tables += [_lewis(wavefunction, bonds), _atomic(wavefunction, bonds)]
    title = f"Natural bond orbitals of {formula(wavefunction)}"
    return Report("natural_bonds", title, tuple(tables), remarks=_remarks(bonds))


def _remarks(bonds: NaturalBonds) -> tuple[str, ...]:
    remarks = []
    if bonds.no_energies:
        remarks.append(f"no energies of orbitals and of donation: {bonds.no_energies}")
    full = 3 - len(bonds.sets)
    lowest = min(float(found.occupancies[: found.n_lewis].min(initial=full)) for found in bonds.sets.values())
    if lowest < _LOW * full:
        remarks.append(
            f"an orbital of the Lewis structure holds only {lowest:.2f} electrons: one structure describes these "
            "electrons badly"
        )
    return tuple(remarks)


def _rows(bonds: NaturalBonds) -> list[tuple[Spin, int]]:
    return [(spin, n) for spin, found in bonds.sets.items() for n in range(len(found.kinds))]


def _orbitals(wavefunction: Wavefunction, bonds: NaturalBonds) -> Table:
    from ..natural_bonds import hybrids

    rows = _rows(bonds)
    made, names = bonds.wavefunction, atom_names(wavefunction.atomic_numbers)
    several = [column("spin", (spin for spin, _ in rows))] if len(bonds.sets) > 1 else []
    values = (made.orbitals(spin).energies[n] for spin, n in rows)
    energies = [column("energy", values, "hartree", 5)] if bonds.focks else []
    columns = (
        column("number", (n + 1 for _, n in rows)),
        *several,
        column("name", (made.orbitals(spin).irreps[n] for spin, n in rows)),
        column("occupancy", (bonds.sets[spin].occupancies[n] for spin, n in rows), "e", 5, exponents=False),
        *energies,
        column(
            "hybrids",
            (_hybrids_text(hybrids(bonds, spin, n), names) for spin, n in rows),
            about="share of each atom, and of its s, p, d, ... functions in its hybrid",
        ),
    )
    held = sum(float(found.occupancies.sum()) for found in bonds.sets.values())
    expected = sum(float(np.trace(density)) for density in bonds.densities.values())
    gram = max(
        float(np.abs(found.vectors.T @ found.vectors - np.eye(len(found.kinds))).max()) for found in bonds.sets.values()
    )
    closures = (
        Closure("electrons of all orbitals", held, expected, "e", 1e-6),
        Closure("largest overlap of two orbitals or error of a norm", gram, 0.0, "", 1e-8),
    )
    return Table(
        "orbitals",
        "Natural bond orbitals",
        columns,
        closures,
        tuple(bonds.sets[spin].atoms[n] for spin, n in rows),
        tuple(name_in_family(made, FAMILY, n, spin) for spin, n in rows),
    )


def _hybrids_text(found: Iterable[Hybrid], names: tuple[str, ...]) -> str:
    return "; ".join(
        f"{100 * one.share:.1f}% {names[one.atom]} "
        + " ".join(
            f"{letter}{100 * share:.1f}"
            for letter, share in zip(ANGULAR_MOMENTUM_LETTERS, one.momenta, strict=False)
            if share > 5e-4
        )
        for one in found
    )


def _donations(bonds: NaturalBonds, threshold: float) -> Table:
    from ..natural_bonds import donations

    found = {spin: donations(bonds, spin, threshold) for spin in bonds.sets}
    rows = [(spin, n) for spin, some in found.items() for n in range(len(some.energies))]
    made = bonds.wavefunction
    several = [column("spin", (spin for spin, _ in rows))] if len(found) > 1 else []
    columns = (
        *several,
        *(
            column(what, (made.orbitals(spin).irreps[getattr(found[spin], f"{what}s")[n]] for spin, n in rows))
            for what in ("donor", "acceptor")
        ),
        column("energy", (found[spin].energies[n] / kilocalorie_per_mole for spin, n in rows), "kcal/mol", 2, "-E(2)"),
        column(
            "gap",
            (found[spin].gaps[n] for spin, n in rows),
            "hartree",
            3,
            "energies of acceptor less donor",
        ),
        column("coupling", (abs(found[spin].couplings[n]) for spin, n in rows), "hartree", 4, "Fock matrix element"),
    )
    atoms = tuple(
        tuple(
            sorted({*bonds.sets[spin].atoms[found[spin].donors[n]], *bonds.sets[spin].atoms[found[spin].acceptors[n]]})
        )
        for spin, n in rows
    )
    fields = tuple(name_in_family(made, FAMILY, int(found[spin].acceptors[n]), spin) for spin, n in rows)
    return Table("donations", "Donation from filled to empty orbitals, E(2)", columns, (), atoms, fields)


def _lewis(wavefunction: Wavefunction, bonds: NaturalBonds) -> Table:
    """Electrons of each kind of orbital, and their share of all."""
    kinds = list(dict.fromkeys(kind for found in bonds.sets.values() for kind in found.kinds))
    held = dict.fromkeys(kinds, 0.0)
    lewis = 0.0
    for found in bonds.sets.values():
        lewis += float(found.occupancies[: found.n_lewis].sum())
        for kind, occupancy in zip(found.kinds, found.occupancies, strict=True):
            held[kind] += float(occupancy)
    total = max(sum(held.values()), 1e-12)
    rows = {**held, "Lewis structure": lewis}
    columns = (
        column("orbitals", rows),
        column("electrons", rows.values(), "e", 5),
        column("share", (100 * value / total for value in rows.values()), "%", 3),
    )
    return Table("lewis", "Natural Lewis structure: electrons of its orbitals, and of the others", columns)


def _atomic(wavefunction: Wavefunction, bonds: NaturalBonds) -> Table:
    """Natural atomic orbitals by shells."""
    atomic = bonds.atomic
    n_each = 2 * atomic.angular_momenta + 1
    electrons = np.sum([atomic.by_shells(np.diag(density)) for density in bonds.densities.values()], axis=0)
    names = atom_names(wavefunction.atomic_numbers)
    spins = list(bonds.focks)
    columns = (
        column("atom", (names[atom] for atom in atomic.atoms)),
        column(
            "shell",
            (f"{n}{ANGULAR_MOMENTUM_LETTERS[l]}" for n, l in zip(atomic.levels, atomic.angular_momenta, strict=True)),
        ),
        column("type", atomic.kinds),
        column("electrons", electrons, "e", 5, "of all orbitals of the shell", exponents=False),
        *(
            column(
                "energy" if len(spins) == 1 else f"energy_{spin}",
                atomic.by_shells(np.diag(bonds.focks[spin])) / n_each,
                "hartree",
                5,
                "mean over the orbitals of the shell",
            )
            for spin in spins
        ),
    )
    closure = Closure("electrons of all shells", float(np.sum(electrons)), wavefunction.n_electrons, "e", 1e-3)
    return Table("atomic", "Natural atomic orbitals", columns, (closure,), tuple((int(a),) for a in atomic.atoms))
