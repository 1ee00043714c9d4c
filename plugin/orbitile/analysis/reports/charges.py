"""Charges of atoms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arguments import FLAG, Argument, one_of
from ...base.arrays import Reals
from ...base.errors import OrbitileError
from ...model.conventions import ANGULAR_MOMENTUM_LETTERS
from ...model.elements import SYMBOLS
from ...model.report import AtomValues, Closure, Report, Table, atom_columns, column
from ...model.wavefunction import Wavefunction
from . import takes_long

if TYPE_CHECKING:
    from ..charges import AtomicCharges
    from ..natural_populations import NaturalShells


TITLE = "Charges of atoms"
HELP = "atomic charges and spin populations, by any of several schemes"
GROUP = "Atoms and bonds"
PRIORITY = 90
EXAMPLES = ("orb_charges", "orb_charges scheme=all", "orb_charges scheme=chelpg, dipole=1")

_NAMES = (
    "hirshfeld",
    "hirshfeld_i",
    "cm5",
    "mbis",
    "npa",
    "becke",
    "mulliken",
    "loewdin",
    "iao",
    "chelpg",
    "mk",
    "resp",
)
_ALONE = ("npa7", "qtaim")
"""No part of all: the first is nearly npa, the other takes longer than all others together."""

_ALL = "all"
_TITLES = {
    "hirshfeld_i": "Hirshfeld-I",
    "cm5": "CM5",
    "mbis": "MBIS",
    "npa": "Natural",
    "npa7": "Natural",
    "iao": "IAO",
    "chelpg": "CHELPG",
    "mk": "Merz-Kollman",
    "resp": "RESP",
    "qtaim": "QTAIM",
}
_BY_FUNCTIONS = ("mulliken", "loewdin")
_NATURAL = ("npa", "npa7")
_HELD = ("chelpg", "mk")
"""Schemes that can be held to the dipole moment."""

PARAMETERS = (
    Argument("scheme", one_of(*_NAMES, *_ALONE, _ALL), "population scheme", "hirshfeld", "hirshfeld"),
    Argument("dipole", FLAG, "constrain chelpg and mk charges to the dipole moment of the molecule", False, "0"),
)

_TOLERANCE, _AN_ATOM = 1e-3, 1e-4
"""How far charges may be from adding up to the molecule's, in e: of few atoms, and for each of many."""


def unavailable(wavefunction: Wavefunction) -> str:
    """The reason why a molecule has no electrons in orbitals, or ""."""
    if wavefunction.promolecule:
        return "a promolecule (superposed free atoms) has no orbitals"
    has_electrons = wavefunction.n_electrons > 0 or wavefunction.density_matrix.size
    return "" if has_electrons else "the file has no occupied orbitals"


def warning(wavefunction: Wavefunction, **parameters: Any) -> str:
    """That it takes long, for large molecules."""
    scheme = parameters["scheme"]
    names = _quick(wavefunction) if scheme == _ALL else (scheme,)
    seconds = sum(_seconds(wavefunction, name) for name in names)
    return takes_long(f"{scheme} charges of {wavefunction.n_atoms} atoms take", seconds)


def _quick(wavefunction: Wavefunction) -> tuple[str, ...]:
    """Those of all schemes that do not take long."""
    return tuple(name for name in _NAMES if not takes_long(name, _seconds(wavefunction, name)))


def _seconds(wavefunction: Wavefunction, scheme: str) -> float:
    """On two cores, about."""
    n = wavefunction.n_atoms
    if scheme in ("loewdin", "iao"):
        return 1e-10 * wavefunction.n_basis**3
    if scheme in _NATURAL:
        return 1e-9 * wavefunction.n_basis**3
    # cells of more and more atoms overlap, until the molecule is larger than they reach
    by_neighbours = 0.0 if scheme == "mulliken" else n * min(1 + n / 50, 10)
    return {"hirshfeld": 0.015, "hirshfeld_i": 0.2, "cm5": 0.015, "mbis": 0.3, "becke": 0.011, "qtaim": 0.5}.get(
        scheme, 0.008
    ) * by_neighbours


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Charges of the atoms; parameters as stated, see `orbitile.analysis.charges`."""
    from ..charges import atomic_charges, charges_by_schemes, spins_unavailable

    scheme, dipole = parameters["scheme"], parameters["dipole"]
    if dipole and scheme not in (*_HELD, _ALL):
        raise OrbitileError(
            f"dipole: expected 0 with the scheme {scheme}; only {' and '.join(_HELD)} can be constrained to it"
        )
    if scheme == _ALL:
        quick = _quick(wavefunction)
        found, remarks = charges_by_schemes(wavefunction, quick, dipole=dipole, device=device)
        remarks += [
            f"{name} is left out, since it takes about {_seconds(wavefunction, name):.0f} s; choose it as "
            f"the scheme to get it"
            for name in _NAMES
            if name not in quick
        ]
        title = "Charges by all schemes"
    else:
        found, remarks = [atomic_charges(wavefunction, scheme, dipole=dipole, device=device)], []
        title = f"{_TITLES.get(scheme, scheme.capitalize())} charges"
    named = [(one.scheme if scheme == _ALL else "", one) for one in found]
    charges = _table("atoms", wavefunction, "charge", {name: one.charges for name, one in named}, wavefunction.charge)
    (only, *others) = found
    if not others and len(only.errors):
        error = column("error", only.errors, "e", about="estimated error of the charge")
        charges = replace(charges, columns=(*charges.columns, error))
    spins = {name: one.spins for name, one in named if len(one.spins)}
    tables = [charges, *([_table("spins", wavefunction, "spin", spins, _n_unpaired(wavefunction))] if spins else [])]
    # a viewer has room for one number at an atom: of several schemes the first
    drawings = [
        AtomValues(what, tuple(one[one.columns[2].name].tolist()), "e")
        for what, one in zip(("charge", "spin"), tables, strict=False)
    ]
    if wavefunction.is_ghost.any() and scheme in (*_BY_FUNCTIONS, *_NATURAL, _ALL):
        remarks.append(
            f"{' and '.join((*_BY_FUNCTIONS, _NATURAL[0]))} charges assign electrons to ghost atoms, as these have "
            "basis functions"
        )
    if missing := spins_unavailable(wavefunction):
        remarks += [f"there are no spin populations: {missing}"] if wavefunction.kind != "restricted" else []
    if any(one.fit for one in found):
        tables.append(_fit_table(found))
    if only.shells and not others:
        tables.append(_shells_table(wavefunction, only.shells))
    return Report("charges", title, tuple(tables), drawings=tuple(drawings), remarks=tuple(remarks))


def _table(name: str, wavefunction: Wavefunction, what: str, values: Mapping[str, Reals], total: float) -> Table:
    """A column for each scheme, under its name, or under what they are where that is empty."""
    tolerance = max(_TOLERANCE, _AN_ATOM * wavefunction.n_atoms)
    columns = [column(scheme or what, of_atoms, "e", about=what) for scheme, of_atoms in values.items()]
    closures = tuple(
        Closure(f"sum of {f'{scheme} ' if scheme else ''}{what}s", float(of_atoms.sum()), total, "e", tolerance)
        for scheme, of_atoms in values.items()
    )
    atoms = tuple((atom,) for atom in range(wavefunction.n_atoms))
    title = {"charge": "Charges of the atoms", "spin": "Spin populations: alpha less beta electrons"}[what]
    return Table(name, title, (*atom_columns(wavefunction.atomic_numbers), *columns), closures, atoms)


def _fit_table(found: Sequence[AtomicCharges]) -> Table:
    """How well charges from the potential give it."""
    fits = [one.fit for one in found if one.fit]
    columns = (
        column("scheme", (one.scheme for one in found if one.fit)),
        column("points", (fit.n_points for fit in fits)),
        column("rms_error", (fit.rms_error for fit in fits), "hartree/e", 5, "root mean square error at the points"),
        column(
            "relative_error",
            (fit.relative_error for fit in fits),
            about="relative to the root mean square of the potential",
        ),
        column(
            "spread", (fit.spread for fit in fits), "e", 4, "largest difference between atoms that symmetry makes equal"
        ),
    )
    return Table("fit", "Errors of the fitted potential", columns)


def _shells_table(wavefunction: Wavefunction, shells: NaturalShells) -> Table:
    """Electrons by shells of natural atomic orbitals, the Rydberg shells of each angular momentum together."""
    rows: dict[tuple[int, str, str], Reals] = {}
    electrons = shells.electrons.T
    for n, (atom, l, kind) in enumerate(zip(shells.atoms, shells.angular_momenta, shells.kinds, strict=True)):
        level = "" if kind == "Rydberg" else str(shells.levels[n])
        key = int(atom), f"{level}{ANGULAR_MOMENTUM_LETTERS[l]}", kind
        rows[key] = rows.get(key, 0.0) + electrons[n]
    atoms, names, kinds = zip(*rows, strict=True)
    values = np.array(list(rows.values())).T
    columns = [
        column("atom", (atom + 1 for atom in atoms)),
        column("element", (SYMBOLS[wavefunction.atomic_numbers[atom]] for atom in atoms)),
        column("shell", names),
        column("kind", kinds),
        column("electrons", values[0], "e", 5, "occupancy of all orbitals of the shell, or of all such Rydberg shells"),
    ]
    if len(values) > 1:
        columns.append(column("spin", values[1], "e", 5, "alpha less beta electrons"))
    return Table("shells", "Natural atomic orbitals", tuple(columns), (), tuple((atom,) for atom in atoms))


def _n_unpaired(wavefunction: Wavefunction) -> float:
    """Alpha less beta electrons."""
    if wavefunction.beta is None:
        return wavefunction.n_unpaired
    return float(wavefunction.alpha.occupations.sum() - wavefunction.beta.occupations.sum())
