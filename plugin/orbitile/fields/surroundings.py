"""A region of a protein and the charges around it: `polarisation`, `esp-whole`, `esp-surroundings`.

The charges, and the wavefunction in vacuum, are in files beside that of the wavefunction (`readers/_surroundings.py`).
"""

from __future__ import annotations

from ..base.caches import Derived
from ..base.errors import FieldError
from ..model.volume import PointCharges
from ..model.wavefunction import Wavefunction
from ..readers._surroundings import check_vacuum, file_of, region_file, surroundings_of, vacuum_file
from . import Field, References
from ._sums import SumField
from .density import difference_of
from .electrostatic_potential import ElectrostaticPotential, PotentialOfCharges, default_isovalue

PRIORITY = 75
GROUP = "Surroundings"
NAMES = (
    ("polarisation", "What the surroundings do to the electrons: the density in their field less that in vacuum"),
    ("esp-whole", "The electrostatic potential of the molecule and of the charges around it"),
    ("esp-surroundings", "The electrostatic potential of the charges around the molecule alone"),
)

_CHARGES = Derived[PointCharges]("sums of Gaussians")


def polarisation_density(wavefunction: Wavefunction, vacuum: Wavefunction) -> SumField:
    """Density in the field of surroundings less that in vacuum, a field in e bohr^-3: positive where electrons gather.

    Raises
    ------
    FileError
        When they are not of the same calculation, atoms and places.
    """
    check_vacuum(wavefunction, vacuum)
    return difference_of(wavefunction, [vacuum], "density in the field of the surroundings less that in vacuum")


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """What a wavefunction without such files does not have, with the reason."""
    file, reasons = file_of(wavefunction), dict[str, str]()
    if not file or not region_file(file).is_file():
        reasons = dict.fromkeys(("esp-whole", "esp-surroundings"), _NO_CHARGES)
    if not file or not vacuum_file(file).exists():
        reasons["polarisation"] = _NO_VACUUM
    return reasons


_NO_CHARGES = (
    "it was computed without charges around it, or their file is not beside its own; `orbitile region` and orb_region "
    "compute a part of a protein in the field of the rest"
)
_NO_VACUUM = "the same calculation in vacuum is not beside its file; `orbitile region --vacuum` and orb_region do both"


def resolve(wavefunction: Wavefunction, name: str, references: References) -> Field | None:
    """The field that a name stands for, or None for another name.

    Raises
    ------
    FieldError
        When the files are not there, or of other atoms.
    FileError
        When they cannot be read, or are of other charges.
    """
    wanted = name.lower()
    if wanted not in dict(NAMES):
        return None
    if reason := unavailable(wavefunction).get(wanted):
        raise FieldError(f"field {wanted!r}: {reason}")
    if wanted == "polarisation":
        return polarisation_density(wavefunction, references.wavefunction(str(vacuum_file(file_of(wavefunction)))))

    def make() -> PointCharges:
        external = surroundings_of(wavefunction)
        return PointCharges(external.positions, external.charges)

    charges = _CHARGES.of(wavefunction, None, make)
    around = f"{len(charges.charges)} charges around it"
    if wanted == "esp-whole":
        quantity = f"electrostatic potential with {around}"
        return ElectrostaticPotential(
            wavefunction, quantity, isovalue=default_isovalue(wavefunction, wavefunction.charge), charges=charges
        )
    isovalue = default_isovalue(wavefunction, float(charges.charges.sum()))
    return PotentialOfCharges(charges, f"electrostatic potential of {around}", isovalue)
