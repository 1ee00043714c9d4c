"""What the residues around a region do to it."""

from __future__ import annotations

from typing import Any

from ...base.arguments import ATOMS, COUNT, Argument
from ...base.errors import OrbitileError
from ...files.beside import region_file, vacuum_file
from ...model.report import Report
from ...model.wavefunction import Wavefunction
from ...readers._surroundings import file_of

TITLE = "Residues around a region"
HELP = "share of each residue in the energy, in the potential at an atom, in the field along a bond, and in the gap"
GROUP = "Surroundings"
PARAMETERS = (
    Argument("atom", COUNT, "atom at which the potential is wanted, from 1", 0, "none"),
    Argument("bond", ATOMS, "two atoms, as 4,5: the field along it, positive towards the second", (), "none"),
)
EXAMPLES = ("orb_residues", "orb_residues atom=4", 'orb_residues bond="4,5"')


def unavailable(wavefunction: Wavefunction) -> str:
    """Why there are no residues around it."""
    file = file_of(wavefunction)
    if file and region_file(file).is_file():
        return ""
    return "it is no region of a protein; `orbitile region` and orb_region compute one in the field of the rest"


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Shares of residues; with those of orbitals in vacuum, if these are in a file beside the wavefunction."""
    from ...readers import load
    from ...scf.region_file import region_of
    from ..residues import residue_report

    atom, bond = parameters["atom"], parameters["bond"]
    if bond and len(bond) != 2:
        raise OrbitileError(f"bond: expected two atoms, such as 4,5, got {len(bond)}")
    file = vacuum_file(file_of(wavefunction))
    return residue_report(
        wavefunction,
        region_of(wavefunction),
        atom=atom - 1 if atom else None,
        bond=(bond[0], bond[1]) if bond else None,
        vacuum=load(file) if file.exists() else None,
        device=device,
    )
