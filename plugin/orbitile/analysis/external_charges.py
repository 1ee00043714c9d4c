"""What a molecule does to the charges around it."""

from __future__ import annotations

from ..base.arrays import Reals
from ..evaluation.devices import device_session
from ..integrals.external_charges import gradient_at_charges
from ..integrals.pairs import pairs_of
from ..model.external_charges import ExternalCharges
from ..model.wavefunction import Wavefunction
from ..scf.engines import xtb
from ..scf.from_file import calculation_for
from ._quadrature import density_matrix


def forces_on_charges(
    wavefunction: Wavefunction, external: ExternalCharges, *, device: str | None = None, precision: str = "double"
) -> Reals:
    """Forces of electrons and nuclei on charges around them, shape (n, 3) in hartree/bohr.

    Of orbitals that were computed in the field of these charges they are derivatives of their energy, with its sign
    changed. Those of GFN1-xTB and GFN2-xTB are of the charges, dipoles and quadrupoles of atoms in this field, which
    their energy counts. Forces of the charges on each other are no part of them.

    Parameters
    ----------
    wavefunction
        Its density counts, and the charges of its nuclei.
    external
        The charges.
    device, precision
        As for `orbitile.energies`.

    Raises
    ------
    OrbitileError
        When there is no such device, there are no occupied orbitals, or tblite, whose orbitals these are, is missing.
    """
    if wavefunction.program.startswith(xtb.PROGRAM):
        return -xtb.gradient_at_charges(wavefunction, calculation_for(wavefunction, {"external_charges": external})[0])
    with device_session(device, precision) as target:
        pairs, density, positions = pairs_of(wavefunction), density_matrix(wavefunction), wavefunction.positions
        return -gradient_at_charges(external, pairs, density, wavefunction.core_charges, positions, target)
