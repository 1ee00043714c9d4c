"""A quantum region in its surroundings: what is asked for, and the worker that computes it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OrbitileError
from ..base.packages import install_command
from ..base.watch import stage, tell
from ..model.structure import Structure
from ..model.units import electronvolt
from ..model.wavefunction import Wavefunction
from ..scf.region import Region, calculation_of, quantum_region

SEMIEMPIRICAL, FUNCTIONAL = ("gfn2", ""), ("pbe", "6-31g*")
"""Method and basis set of a region for which none is named, and what takes their place where they cannot be."""


@dataclass(frozen=True, eq=False)
class RegionOrder:
    """What is asked for.

    Attributes
    ----------
    structure : Structure
    chosen : ndarray of int
        Atoms of the structure that are to be computed.
    charge, unpaired : int or None
        None for what follows from the atoms.
    method, basis : str
        Empty for GFN2-xTB, where an engine has it in the field of charges, otherwise PBE/6-31G*.
    embed : bool
        Whether the charges of the surroundings act on the region.
    charges : str
        Where they are from, as of `with_charges`; empty for those that the structure has.
    """

    structure: Structure
    chosen: NDArray[np.int64]
    charge: int | None = None
    unpaired: int | None = None
    method: str = ""
    basis: str = ""
    embed: bool = True
    charges: str = ""

    def region(self) -> Region:
        """The region without its surroundings, which takes no long: for what can be said of it at once.

        Raises
        ------
        OrbitileError
            As `quantum_region` does.
        """
        return quantum_region(self.structure, self.chosen, charge=self.charge, unpaired=self.unpaired, embed=False)


PDB2PQR = "pdb2pqr"
"""Where charges of a protein are from by default, where its atoms have none."""


def source_of_charges(structure: Structure, chosen: NDArray[np.int64]) -> str:
    """Where the charges around a region are to be from: empty for its structure, where that has any.

    Raises
    ------
    OrbitileError
        When it has none, and PDB2PQR is not there.
    """
    around = np.delete(structure.partial_charges, chosen)
    if not len(around) or np.isfinite(around).any():
        return ""
    if find_spec(PDB2PQR) is None and not os.environ.get("ORBITILE_PYTHON"):
        raise OrbitileError(
            "nothing around the region has partial charges. The package PDB2PQR finds those of a protein "
            f"({install_command(PDB2PQR)}); charges=FILE.pqr takes those of a file, embed=0 computes in vacuum"
        )
    return PDB2PQR


def computed_region(order: RegionOrder, target: Path) -> tuple[str, ...]:
    """Compute a region, in the field of its surroundings and, from there, without; what is around it goes beside.

    Returns
    -------
    tuple of str
        What there is to say, a sentence each: what was assumed, the calculation, the frontier orbitals.

    Raises
    ------
    OrbitileError
        When it cannot be done.
    """
    from ..scf.engines import AUTO, chosen
    from ..scf.region_file import compute_region
    from ..scf.series import Means

    structure, atoms = order.structure, order.chosen
    if order.embed and order.charges:
        from ..readers.structures import with_charges

        structure = with_charges(structure, order.charges)
        atoms = found_again(order.structure, atoms, structure)
    region = quantum_region(structure, atoms, charge=order.charge, unpaired=order.unpaired, embed=order.embed)
    tell(0.05)
    notes = list(region.notes)
    calculation = calculation_of(region, *((order.method, order.basis) if order.method else SEMIEMPIRICAL))
    if not order.method:
        try:
            chosen(AUTO, region.geometry, calculation)
        except OrbitileError as error:
            calculation = calculation_of(region, *FUNCTIONAL)
            notes.append(f"{'/'.join(FUNCTIONAL)} in place of gfn2: {error}")
    with stage(0.05, 1):
        found, alone = compute_region(region, Means(calculation), target, vacuum=True)
    notes.append(f"{len(region.geometry.atomic_numbers)} atoms: {calculation}")
    if alone is None:
        return (*notes, _frontier(found.wavefunction))
    of_both = zip(("in its surroundings", "in vacuum"), (found, alone), strict=True)
    return (*notes, *(f"{where} {_frontier(solution.wavefunction)}" for where, solution in of_both))


def found_again(before: Structure, atoms: NDArray[np.int64], now: Structure) -> NDArray[np.int64]:
    """Atoms by their names in a structure of the same residues with other hydrogens, and with atoms that were missing.

    What is new, or has another name now, is there where what it is bonded to is.
    """
    chosen = {(before.residue_of[n], before.names[n]) for n in atoms if before.atomic_numbers[n] > 1}
    known = set(zip(before.residue_of, before.names, strict=True))
    keys = list(zip(now.residue_of, now.names, strict=True))
    is_found = np.array([z > 1 and key in chosen for z, key in zip(now.atomic_numbers, keys, strict=True)])
    is_new = np.array([z == 1 or key not in known for z, key in zip(now.atomic_numbers, keys, strict=True)])
    ends = np.concatenate([now.bonds, now.bonds[:, ::-1]])
    ends = ends[is_new[ends[:, 1]]]
    while not is_found[reached := ends[is_found[ends[:, 0]], 1]].all():
        is_found[reached] = True
    return np.flatnonzero(is_found)


def _frontier(wavefunction: Wavefunction) -> str:
    """HOMO, LUMO and gap in eV, of alpha electrons where spins differ."""
    from ..analysis.residues import frontier_energies

    found = frontier_energies(wavefunction).items()
    return ", ".join(f"{name} {energy / electronvolt:.2f} eV" for name, energy in found if energy == energy)
