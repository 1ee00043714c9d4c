"""Localised orbitals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arguments import Argument, one_of
from ...base.errors import OrbitileError
from ...gaussians.localised.localisation import INTRINSIC, SCHEMES
from ...model.geometry import formula
from ...model.report import Closure, Report, Table, atom_names, column, places_of
from ...model.units import electronvolt
from ...model.wavefunction import Spin, Wavefunction

if TYPE_CHECKING:
    from ...gaussians.localised.localisation import Localisation

TITLE = "Localised orbitals"
HELP = "localised orbitals (bonds, lone pairs, cores): their atoms, energies and spreads"
GROUP = "Orbitals"
PRIORITY = 80
PARAMETERS = (
    Argument("scheme", one_of(*SCHEMES), "localisation scheme", "ibo", "intrinsic bond orbitals"),
    Argument("which", one_of("occupied", "virtual"), "occupied or virtual orbitals", "occupied", "occupied"),
    Argument("spin", one_of("alpha", "beta"), "spin of the orbitals", "alpha", "alpha"),
)
EXAMPLES = ("orb_localise", "orb_localise scheme=boys")


def unavailable(wavefunction: Wavefunction) -> str:
    """Why orbitals cannot be localised by any scheme, in a sentence."""
    from ...gaussians.localised.localisation import why_not

    return why_not(wavefunction, "boys")


def warning(wavefunction: Wavefunction, **parameters: Any) -> str:
    """That it will take long, and how long about."""
    from ...gaussians.localised.localisation import seconds_for

    seconds = seconds_for(
        wavefunction, parameters.get("scheme", "ibo"), "all" if parameters.get("which") == "virtual" else "occupied"
    )
    return f"localising these orbitals takes about {seconds:.0f} s" if seconds > 5 else ""


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Localised orbitals; parameters as stated, see `orbitile.gaussians.localised.localisation`."""
    from ...gaussians.localised.localisation import localisation

    scheme, spin = parameters["scheme"], parameters["spin"]
    if spin == "beta" and wavefunction.beta is None:
        raise OrbitileError("localise: alpha and beta electrons share these orbitals; leave spin at alpha")
    occupied = parameters["which"] == "occupied"
    found = localisation(wavefunction, scheme, "occupied" if occupied else "all")
    of_spin = f", {spin}" if wavefunction.beta is not None else ""
    title = f"{SCHEMES[scheme]} of {formula(wavefunction)}{of_spin}"
    tables = (_orbitals(wavefunction, found, scheme, spin, occupied), _functionals(found))
    remark = _VIRTUALS if not occupied and scheme not in INTRINSIC else ""
    return Report("localise", title, tables, remarks=(remark,) if remark else ())


_VIRTUALS = "for unoccupied orbitals in a large basis the functional has many maxima: other programs may find others"


def _orbitals(wavefunction: Wavefunction, found: Localisation, scheme: Any, spin: Spin, occupied: bool) -> Table:
    from ...fields.orbital import name_in_family
    from ...gaussians.localised.names import main_atoms
    from ...gaussians.overlap import centres_and_spreads, own_overlap

    orbitals, shares = found.wavefunction.orbitals(spin), found.shares[spin]
    rows = np.flatnonzero((orbitals.occupations > 0) == occupied)
    some = orbitals.coefficients[:, rows]
    centres, spreads = centres_and_spreads(wavefunction, some)
    atoms = [main_atoms(shares[:, row]) for row in rows]
    names = atom_names(wavefunction.atomic_numbers)
    listed = (
        " ".join(f"{names[atom]} {100 * shares[atom, row]:.0f}%" for atom in those[:4])
        for row, those in zip(rows, atoms, strict=True)
    )
    columns = (
        column("number", rows + 1),
        column("name", (orbitals.irreps[row] for row in rows)),
        column("energy", orbitals.energies[rows] / electronvolt, "eV", 3),
        column("occupation", orbitals.occupations[rows], "", 0),
        column("shares", listed, about="share of the orbital on each of the atoms that hold most of it"),
        column("spread", spreads, "bohr", 3, "standard deviation of the position"),
    )
    gram = some.T @ (own_overlap(wavefunction) @ some)
    error = float(np.abs(gram - np.eye(len(rows))).max(initial=0.0))
    held = float(np.sum(shares[:, rows] @ orbitals.occupations[rows]))
    closures = [Closure("largest overlap of two orbitals or error of a norm", error, 0.0, "", 1e-6)]
    if occupied:
        expected = float(orbitals.occupations[rows].sum())
        closures.insert(0, Closure("electrons on the atoms", held, expected, "", 1e-6))
    return Table(
        "orbitals",
        "Localised orbitals",
        columns,
        tuple(closures),
        tuple(tuple(sorted(those)) for those in atoms),
        tuple(name_in_family(wavefunction, scheme, int(row), spin) for row in rows),
        places_of(centres),
    )


def _functionals(found: Localisation) -> Table:
    sets = found.sets
    columns = (
        column("spin", (one.spin for one in sets)),
        column("occupation", (one.occupation for one in sets)),
        column("orbitals", (one.last - one.first for one in sets)),
        column("functional", (one.value for one in sets), "", 8, "what localisation maximises"),
        column("gradient", (one.gradient for one in sets), "", 10, "norm of its gradient: 0 at a maximum"),
    )
    return Table("sets", "Sets of orbitals that were localised together", columns)
