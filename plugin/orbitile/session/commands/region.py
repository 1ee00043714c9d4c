"""The command that computes a region in its surroundings."""

from __future__ import annotations

import os
from pathlib import Path

from ...base.arguments import COUNT, FLAG, PATH, TEXT, WHOLE_NUMBER, Argument
from ...base.errors import OrbitileError
from ...exporters._series import series_target
from ...scf.region import complete_choice
from ...scf.region_file import region_file, require_region
from ..calculation import RunningMolecule
from ..declaration import Answer, command
from ..region import FUNCTIONAL, RegionOrder, computed_region, source_of_charges
from ..session import Session
from .loading import taker

TOPIC, PRIORITY = "calculations and live molecules", 29


@command(
    "Compute the electrons of a part of what is shown, such as a ligand, in the field of the charges around it and in "
    "vacuum, in the background. The region becomes a molecule with orbitals in the place of its atoms. Hydrogen atoms "
    "have to be there; bonds to the rest are cut between carbon atoms, and hydrogens end them.",
    Argument("name", TEXT, "name of the molecule to be made", required=True),
    Argument("selection", TEXT, "the atoms to compute", required=True),
    Argument("charge", WHOLE_NUMBER, "charge of the region", None, "by its residues and formal charges, told"),
    Argument("unpaired", COUNT, "number of unpaired electrons", None, "0"),
    Argument(
        "method",
        TEXT,
        "gfn2, a functional such as pbe or b3lyp-d3bj, or hf",
        "",
        f"gfn2 where it can be had in the field of charges, else {'/'.join(FUNCTIONAL)}",
    ),
    Argument("basis", TEXT, "name of the basis set", "", "def2-svp where a method is named"),
    Argument("embed", FLAG, "whether the charges around it act on the region; 0 for vacuum", True, "1"),
    Argument(
        "charges",
        TEXT,
        "where the charges around it are from: pdb2pqr, a PQR or mol2 file with the same residues and atoms, or none",
        "",
        "partial charges of the objects, where these have none pdb2pqr",
    ),
    Argument("surroundings", TEXT, "a selection of what is around it", "", "all that is shown without orbitals"),
    Argument("filename", PATH, "series file to write or replace", None, "the name, in the current folder"),
    Argument("complete", FLAG, "whether atoms are added until only carbon-carbon single bonds are cut", False, "0"),
    examples=("load complex.pdb", "h_add resn LIG", "orb_region lig, resn LIG, charges=pdb2pqr", "orb_mo lig, homo"),
    related=("orb_scf", "orb_live", "orb_mo", "orb_field", "orb_cancel"),
)
def orb_region(
    session: Session,
    name: str,
    selection: str,
    charge: int | None,
    unpaired: int | None,
    method: str,
    basis: str,
    embed: bool,
    charges: str,
    surroundings: str,
    filename: Path | None,
    complete: bool,
) -> Answer:
    if session.calculation is not None:
        raise OrbitileError(f"{session.calculation.molecule} is being computed; orb_cancel stops that")
    structure, chosen = session.host.structure(selection, surroundings)
    if complete:
        chosen = complete_choice(structure, chosen)
    if charges.strip().lower() == "none":
        charges, embed = "", False
    charges = charges or (source_of_charges(structure, chosen) if embed else "")
    order = RegionOrder(structure, chosen, charge, unpaired, method, basis, embed, charges)
    session.computing.aside(order.region)  # what cannot be is told before anything takes long
    folder = Path.cwd() if os.access(Path.cwd(), os.W_OK) else Path.home()
    target = series_target(folder / (filename or f"{name}.h5"))
    if target.exists() and not region_file(target).exists():
        raise OrbitileError(f"{target}: is there already, and no region; give another filename")
    require_region(target, vacuum=embed)
    session.name_for(name, (str(target),), given=True)

    session.calculate(RunningMolecule(name, target, taker(session, name, target), computed_region, order, target))
    return Answer(name, f"{name}: computed to {target}")
