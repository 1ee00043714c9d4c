"""`orbitile energy`: the energy of a wavefunction and its parts."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from ._arguments import (
    CommandParser,
    add_external_charges,
    add_file,
    add_level,
    add_option,
    add_solvent,
    read_external_charges,
)
from ._console import progress_bar, tell
from ._files import wavefunction_of

if TYPE_CHECKING:
    from ..analysis.energies import Energies
    from ..model.wavefunction import Wavefunction
    from ..scf.stability import Stability

HELP = "total energy and its parts, with a density functional"
PRIORITY = 105

_PARTS = (
    ("kinetic", "kinetic energy of the electrons"),
    ("nuclear_attraction", "electrons attracted by the nuclei"),
    ("coulomb", "repulsion of the electrons, self-repulsion included"),
    ("exchange_correlation", "exchange, correlation and the correction for self-repulsion, by the functional"),
    ("nuclear_repulsion", "nuclei repelled by each other"),
    ("dispersion", "{dispersion}, the correction that goes with the functional"),
    ("exact_exchange", "electrons of like spin, with the shares of a hybrid functional"),
    ("solvation", "electrons and nuclei with the charges of the solvent, for this density"),
    ("external_charges", "electrons and nuclei in the field of the charges around them, for this density"),
    ("total", "sum of these"),
)


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_file(parser)
    parser.add_argument(
        "--functional",
        default="pbe",
        metavar="NAME",
        help="exchange-correlation functional, named as in PySCF: pbe, lda,vwn, blyp, revpbe, ... (default: pbe); "
        "with a dispersion correction: pbe-d3bj, pbe-d4. The "
        "density is that of FILE, whichever functional it was computed with",
    )
    add_solvent(parser, "vacuum")
    add_external_charges(parser)
    add_level(parser)
    parser.add_argument(
        "--stability",
        action="store_true",
        help="also test whether the orbitals, which have to be those of this functional, are a minimum of its energy",
    )
    parser.add_argument("--json", action="store_true", help="for programs: one object, energies in hartree")
    add_option(parser, "device")
    add_option(parser, "precision", default="double")


def run(options: argparse.Namespace) -> None:
    """Print a table of energies, or one JSON object."""
    import json

    from ..analysis.energies import energies, remarks_on

    wavefunction = wavefunction_of(options)
    with progress_bar(options, "energy") as progress:
        found = energies(
            wavefunction,
            options.functional,
            solvent=options.solvent or "",
            external_charges=read_external_charges(options),
            level=options.level,
            device=options.device,
            precision=options.precision,
            progress=progress,
        )
        stability = _stability(options, wavefunction) if options.stability else None
    for remark in () if options.quiet else remarks_on(wavefunction):
        tell(f"note: {remark}")
    if options.json:
        print(json.dumps(found.as_dictionary() | ({"stability": asdict(stability)} if stability else {}), indent=1))
        return
    print(_table(found, options.functional, wavefunction.n_electrons))
    if stability:
        print("\n".join(_verdicts(stability)))


def _stability(options: argparse.Namespace, wavefunction: Wavefunction) -> Stability:
    from ..scf.from_file import calculation_for
    from ..scf.stability import stability

    given = {
        "method": options.functional,
        "solvent": options.solvent or "",
        "external_charges": read_external_charges(options),
    }
    calculation, _ = calculation_for(wavefunction, given)
    return stability(wavefunction, calculation, device=options.device, precision=options.precision)


def _verdicts(found: Stability) -> list[str]:
    rows = [("internal", found.internal, found.is_internal, "other orbitals of their kind")]
    if found.external is not None:
        rows.append(("external", found.external, found.is_external, "unrestricted orbitals, as of upbe"))
    lines = ["Stability: lowest second derivative of the energy along rotations of orbitals, in hartree"]
    for name, value, is_stable, towards in rows:
        verdict = "stable" if is_stable else "unstable: energies fall"
        lines.append(f"  {name:20s}{value:18.8f}   {verdict} towards {towards}")
    return lines


def _table(found: Energies, functional: str, electrons: float) -> str:
    from ..scf.calculation import Calculation
    from ..scf.dispersion import KINDS, correction_of

    values, correction = found.as_dictionary(), correction_of(Calculation(functional))
    kind = KINDS[correction.kind] if correction else ""
    lost = found.electrons - electrons
    rows = [
        *((name, what.format(dispersion=kind)) for name, what in _PARTS if name in values),
        ("virial_ratio", "minus potential over kinetic energy; 2 for an exact wavefunction at an equilibrium geometry"),
        ("electrons", f"by quadrature, off by {lost:.1e}; if that is above 1e-3, choose a higher --level"),
    ]
    lines = [f"  {name.replace('_', ' '):20s}{values[name]:18.8f}   {what}" for name, what in rows]
    return "\n".join([f"Energy in hartree, with the functional {functional} of the density:", *lines])
