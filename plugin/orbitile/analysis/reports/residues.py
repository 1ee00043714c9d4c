"""Residues around a region by what they do to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...base.arguments import ATOMS, POSITIVE_NUMBER, Argument
from ...base.errors import FileError, OrbitileError
from ...model.report import Report
from ...model.units import angstrom
from ...model.wavefunction import Wavefunction
from ...readers._surroundings import check_vacuum, file_of, region_file, vacuum_file

TITLE = "Residues around it"
HELP = "residues by their energy with a region, their potential at an atom or their field along a bond"
GROUP = "Surroundings"
PRIORITY = 40
PARAMETERS = (
    Argument(
        "atoms",
        ATOMS,
        "one atom: the potential there; two: the field along the bond, positive from the one named first",
        (),
        "none: energies",
    ),
    Argument(
        "arrows",
        POSITIVE_NUMBER,
        "spacing in Angstrom of a lattice in the region, on which the field around it is drawn as arrows, such as 1.5",
        None,
        "no arrows",
    ),
)
EXAMPLES = ("orb_residues ligand", "orb_residues ligand, atoms=4,3", "orb_residues ligand, atoms=pk1 pk2")


def unavailable(wavefunction: Wavefunction) -> str:
    """The reason why a wavefunction has no residues around it, or ""."""
    if "in the field of" not in wavefunction.method:
        return "it was not computed in the field of charges around it"
    if not file_of(wavefunction):
        return "what is around it stands beside no file, as that of a live molecule"
    file = region_file(file_of(wavefunction))
    return "" if file.exists() else f"there is no {file.name}, which tells what is around it"


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """What residues do; parameters as stated, see `orbitile.analysis.residues.residue_report`."""
    from ...readers import load_trajectory
    from ...scf.region_file import region_of
    from ..residues import residue_report

    atoms, spacing = parameters["atoms"], parameters["arrows"]
    if len(atoms) > 2:
        raise OrbitileError(f"atoms: expected one, or two for a bond, got {len(atoms)}")
    file, remark = vacuum_file(file_of(wavefunction)), ""
    vacuum = load_trajectory(file)[0] if file.exists() else None
    if vacuum is not None:
        try:
            check_vacuum(wavefunction, vacuum)
        except FileError as error:
            vacuum, remark = None, f"shifts from vacuum are left out: {error}"
    found = residue_report(
        wavefunction,
        region_of(wavefunction),
        atom=atoms[0] if len(atoms) == 1 else None,
        bond=tuple(atoms) if len(atoms) == 2 else None,
        spacing=None if spacing is None else spacing * angstrom,
        vacuum=vacuum,
        device=device,
    )
    return replace(found, remarks=(*filter(None, [remark]), *found.remarks))
