"""Composition of orbitals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arguments import FRAGMENTS, SHARE, TEXT, Argument, one_of
from ...model.conventions import ANGULAR_MOMENTUM_LETTERS
from ...model.elements import SYMBOLS
from ...model.report import AtomValues, Closure, Column, Isosurface, Report, Table
from ...model.units import electronvolt
from ...model.wavefunction import Wavefunction

if TYPE_CHECKING:
    from ..composition import Composition

TITLE = "Composition of orbitals"
HELP = "contributions of atoms, fragments and angular momenta (s, p, d, f) to orbitals"
GROUP = "Orbitals"
PRIORITY = 80
_USUAL = "loewdin; mulliken for large molecules"

PARAMETERS = (
    Argument(
        "orbitals", TEXT, "such as homo-2..lumo+2 or mo:1-10:beta", "", "those around the gap", completes="fields"
    ),
    Argument("fragments", FRAGMENTS, "atoms to add up, such as ring=1-6; rest=7-12", (), "none"),
    Argument("scheme", one_of("mulliken", "loewdin", "iao", "hirshfeld", "becke"), "population scheme", "", _USUAL),
    Argument("least", SHARE, "smallest contribution of an atom that is listed; 0 lists all", 0.01, "0.01"),
)
EXAMPLES = ("orb_composition orbitals=homo", "orb_composition orbitals=homo-2..lumo+2, fragments=ring=1-6; rest=7-12")

_TITLES = {
    "mulliken": "Mulliken's populations",
    "loewdin": "Loewdin's populations",
    "iao": "intrinsic atomic orbitals",
    "hirshfeld": "Hirshfeld's shares",
    "becke": "Becke's cells",
}

_TOLERANCE = {"mulliken": 1e-3, "loewdin": 1e-3, "iao": 1e-3, "hirshfeld": 5e-3, "becke": 5e-3}
"""What a sum of shares may be off: the digits of files, and the quadrature."""

_NEGATIVE = -0.005
"""A share below this is told of: smaller ones are of no account."""

_BEYOND = 0.01
"""What is beyond all atoms before there is a column of it."""

_ELSEWHERE = "what the intrinsic atomic orbitals do not span"

_NAMED = 3
"""Atoms that the summary of an orbital names."""


def warning(wavefunction: Wavefunction, **parameters: Any) -> str:
    """That the root of a large overlap takes long."""
    from ..composition import warning_of_root

    return warning_of_root(wavefunction, parameters["scheme"])


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Shares in orbitals; parameters as stated, see `orbitile.analysis.composition`."""
    from ..composition import composition, orbitals_of, usual_scheme

    scheme = parameters["scheme"] or usual_scheme(wavefunction)
    found = composition(wavefunction, orbitals_of(wavefunction, parameters["orbitals"]), scheme, device)
    closures = _closures(found, scheme)
    tables = [_summary(wavefunction, found, closures), _atoms(wavefunction, found, parameters["least"], closures)]
    if parameters["fragments"]:
        tables.insert(1, _fragments(wavefunction, found, parameters["fragments"], closures))
    alone = len(found.orbitals) == 1
    return Report(
        "composition",
        f"Composition of orbitals by {_TITLES[scheme]}",
        tuple(tables),
        drawings=(AtomValues("share", tuple(found.atoms[:, 0].tolist())),) if alone else (),
        surfaces=(Isosurface(found.orbitals[0].name),) if alone else (),
        remarks=tuple(_remarks(wavefunction, found, scheme)),
    )


def _closures(found: Composition, scheme: str) -> tuple[Closure, ...]:
    sums = found.atoms.sum(axis=0)
    what = "sum of the shares in an orbital, the one that is farthest off"
    if scheme == "iao":  # which do not span unoccupied orbitals
        what = what.replace("an orbital", "an occupied orbital")
        filled = [one.wavefunction.orbitals(one.spin).occupations[one.index] > 0.5 for one in found.orbitals]
        sums = sums[filled]
    if not len(sums):
        return ()
    worst = int(abs(sums - 1).argmax())
    return (Closure(what, float(sums[worst]), 1.0, "", _TOLERANCE[scheme]),)


def _summary(wavefunction: Wavefunction, found: Composition, closures: tuple[Closure, ...]) -> Table:
    """An orbital a row: what it is, its angular momenta, and its foremost atoms."""
    levels = [orbital.wavefunction.orbitals(orbital.spin) for orbital in found.orbitals]
    indices = [orbital.index for orbital in found.orbitals]
    names = _names(found)
    unknown = float("nan") if wavefunction.natural else 1.0  # natural orbitals have no energies, whatever a file says
    energies = tuple(float(of.energies[n] / electronvolt) * unknown for of, n in zip(levels, indices, strict=True))
    momenta = found.momenta.sum(axis=0)
    beyond = bool(abs(found.atoms.sum(axis=0) - 1).max() > _BEYOND)
    foremost = []
    for of_atoms in found.atoms.T:
        first = of_atoms.argsort()[::-1][:_NAMED]
        foremost.append(", ".join(f"{_atom(wavefunction, n)} {of_atoms[n]:.0%}" for n in first if of_atoms[n] >= 0.005))
    columns = (
        Column("orbital", names),
        Column("energy", energies, "eV", 3),
        Column("occupation", tuple(float(of.occupations[n]) for of, n in zip(levels, indices, strict=True)), "", 3),
        *(
            Column(letter, tuple(shares.tolist()), "", 3, f"share of {letter} functions", False)
            for letter, shares in zip(ANGULAR_MOMENTUM_LETTERS, momenta, strict=False)
        ),
        *((Column("elsewhere", tuple((1 - found.atoms.sum(axis=0)).tolist()), "", 3, _ELSEWHERE, False),) * beyond),
        Column("foremost", tuple(foremost), "", about="atoms with the largest shares"),
    )
    return Table("orbitals", "Orbitals", columns, closures, fields=names)


def _fragments(wavefunction: Wavefunction, found: Composition, fragments: Any, closures: tuple[Closure, ...]) -> Table:
    from ..composition import groups_of_atoms

    groups, labels = groups_of_atoms(wavefunction.n_atoms, fragments)
    names = _names(found)
    shares = (found.atoms[labels == n].sum(axis=0) for n in range(len(groups)))
    columns = (
        Column(group, tuple(of.tolist()), "", 3, exponents=False) for group, of in zip(groups, shares, strict=True)
    )
    return Table("fragments", "Shares of the fragments", (Column("orbital", names), *columns), closures, fields=names)


def _atoms(wavefunction: Wavefunction, found: Composition, least: float, closures: tuple[Closure, ...]) -> Table:
    """An atom in an orbital a row, by falling share."""
    rows = [
        (n, int(atom))
        for n, of_atoms in enumerate(found.atoms.T)
        for atom in (-of_atoms).argsort(kind="stable")
        if abs(of_atoms[atom]) >= least
    ]
    names = _names(found)
    in_rows = tuple(names[n] for n, _ in rows)
    columns = [
        Column("orbital", in_rows),
        Column("atom", tuple(atom + 1 for _, atom in rows)),
        Column("element", tuple(_atom(wavefunction, atom, number=False) for _, atom in rows)),
        Column("share", tuple(float(found.atoms[atom, n]) for n, atom in rows)),
    ]
    for momentum in range(found.momenta.shape[1]):
        values = tuple(float(found.momenta[atom, momentum, n]) for n, atom in rows)
        columns.append(Column(ANGULAR_MOMENTUM_LETTERS[momentum], values, exponents=False))
    title = f"Shares of the atoms, from {least:g} on" if least else "Shares of the atoms"
    return Table("atoms", title, tuple(columns), closures, tuple((atom,) for _, atom in rows), in_rows)


def _names(found: Composition) -> tuple[str, ...]:
    return tuple(orbital.name for orbital in found.orbitals)


def _atom(wavefunction: Wavefunction, atom: int, number: bool = True) -> str:
    symbol = SYMBOLS[int(wavefunction.atomic_numbers[atom])]
    return f"{symbol}{atom + 1}" if number else symbol


def _remarks(wavefunction: Wavefunction, found: Composition, scheme: str) -> list[str]:
    remarks = []
    if found.atoms.min() < _NEGATIVE:
        atom, n = np.unravel_index(int(found.atoms.argmin()), found.atoms.shape)
        remarks.append(
            f"Mulliken's scheme gives shares below zero, the least {found.atoms[atom, n]:.3f} of "
            f"{_atom(wavefunction, int(atom))} in {found.orbitals[int(n)].name}: it halves what functions of two atoms "
            "have in common, whatever their sizes; no other scheme gives shares below zero"
        )
    if scheme == "loewdin" and any(shell.angular_momentum > 1 and not shell.pure for shell in wavefunction.shells):
        remarks.append(
            "Loewdin's shares of Cartesian d and f functions change a little as the molecule is turned (I. Mayer, "
            "Chem. Phys. Lett. 2004, 393, 209)"
        )
    if scheme in ("hirshfeld", "becke") and np.any(wavefunction.is_ghost):
        remarks.append("ghost atoms have no part of space: what is at them goes to the atoms next to them")
    return remarks
