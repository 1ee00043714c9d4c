"""Composition of orbitals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arguments import FRAGMENTS, SHARE, TEXT, Argument, one_of
from ...model.conventions import ANGULAR_MOMENTUM_LETTERS
from ...model.elements import SYMBOLS
from ...model.report import AtomValues, Closure, Isosurface, Report, Table, atom_names, column
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
    Argument("fragments", FRAGMENTS, "atoms to sum over, such as ring=1-6; rest=7-12", (), "none"),
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
"""Share below which negative shares are reported."""

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
    what = "sum of the shares in an orbital (the one with the largest error)"
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
    names = found.names
    unknown = float("nan") if wavefunction.natural else 1.0  # natural orbitals have no energies, whatever a file says
    energies = (of.energies[n] / electronvolt * unknown for of, n in zip(levels, indices, strict=True))
    momenta = found.momenta.sum(axis=0)
    beyond = bool(abs(found.atoms.sum(axis=0) - 1).max() > _BEYOND)
    foremost, atoms = [], atom_names(wavefunction.atomic_numbers)
    for of_atoms in found.atoms.T:
        first = of_atoms.argsort()[::-1][:_NAMED]
        foremost.append(", ".join(f"{atoms[n]} {of_atoms[n]:.0%}" for n in first if of_atoms[n] >= 0.005))
    columns = (
        column("orbital", names),
        column("energy", energies, "eV", 3),
        column("occupation", (of.occupations[n] for of, n in zip(levels, indices, strict=True)), "", 3),
        *(
            column(letter, shares, "", 3, f"share of {letter} functions", False)
            for letter, shares in zip(ANGULAR_MOMENTUM_LETTERS, momenta, strict=False)
        ),
        *((column("elsewhere", 1 - found.atoms.sum(axis=0), "", 3, _ELSEWHERE, False),) * beyond),
        column("foremost", foremost, "", about="atoms with the largest shares"),
    )
    return Table("orbitals", "Orbitals", columns, closures, fields=names)


def _fragments(wavefunction: Wavefunction, found: Composition, fragments: Any, closures: tuple[Closure, ...]) -> Table:
    from ..composition import groups_of_atoms

    groups, labels = groups_of_atoms(wavefunction.n_atoms, fragments)
    columns = [
        column(group, found.atoms[labels == n].sum(axis=0), "", 3, exponents=False) for n, group in enumerate(groups)
    ]
    orbitals = column("orbital", found.names)
    return Table("fragments", "Shares of the fragments", (orbitals, *columns), closures, fields=found.names)


def _atoms(wavefunction: Wavefunction, found: Composition, least: float, closures: tuple[Closure, ...]) -> Table:
    """An atom in an orbital a row, by falling share."""
    rows = [
        (n, int(atom))
        for n, of_atoms in enumerate(found.atoms.T)
        for atom in (-of_atoms).argsort(kind="stable")
        if abs(of_atoms[atom]) >= least
    ]
    names = tuple(found.names[n] for n, _ in rows)
    columns = (
        column("orbital", names),
        column("atom", (atom + 1 for _, atom in rows)),
        column("element", (SYMBOLS[wavefunction.atomic_numbers[atom]] for _, atom in rows)),
        column("share", (found.atoms[atom, n] for n, atom in rows)),
        *(
            column(ANGULAR_MOMENTUM_LETTERS[l], (found.momenta[atom, l, n] for n, atom in rows), exponents=False)
            for l in range(found.momenta.shape[1])
        ),
    )
    title = f"Shares of the atoms, {least:g} or more" if least else "Shares of the atoms"
    return Table("atoms", title, columns, closures, tuple((atom,) for _, atom in rows), names)


def _remarks(wavefunction: Wavefunction, found: Composition, scheme: str) -> list[str]:
    remarks = []
    if found.atoms.min() < _NEGATIVE:
        atom, n = np.unravel_index(int(found.atoms.argmin()), found.atoms.shape)
        remarks.append(
            f"Mulliken's scheme gives negative shares, down to {found.atoms[atom, n]:.3f} of "
            f"{atom_names(wavefunction.atomic_numbers)[atom]} in {found.names[n]}: it halves each overlap "
            "population between two atoms; the other schemes give no negative shares"
        )
    if scheme == "loewdin" and any(shell.angular_momentum > 1 and not shell.pure for shell in wavefunction.shells):
        remarks.append(
            "Loewdin's shares depend slightly on the orientation of the molecule if there are Cartesian d "
            "or f functions (I. Mayer, Chem. Phys. Lett. 2004, 393, 209)"
        )
    if scheme in ("hirshfeld", "becke") and np.any(wavefunction.is_ghost):
        remarks.append("ghost atoms have no share of space: the density at them is assigned to the neighbouring atoms")
    return remarks
