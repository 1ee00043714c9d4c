"""What is computed for each frame of a series: method, basis set, charge and spin, by names as people give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import inf

import numpy as np

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.packages import install_command
from ..integrals.method_names import semiempirical, split_name
from ..integrals.solvents import dielectric_constant
from ..model.external_charges import ExternalCharges
from ..model.geometry import Geometry
from ..model.wavefunction import Wavefunction
from .lennard_jones import LennardJones

_ONE_PLACE = 0.01
"""Atoms closer than this in bohr are at one place: basis functions on them are the same, and no engine can tell."""

HISTORY = 5
"""Frames from which the next one begins; more of them do not come closer to it."""


@dataclass(frozen=True)
class Calculation:
    """What is computed for each frame.

    Attributes
    ----------
    method : str
        "hf", or a density functional by its name in libxc: "pbe", "b3lyp", "wb97x-v" ... Orbitals are restricted where
        no electron is unpaired, and unrestricted otherwise; "u" or "ro" in front of the name make them unrestricted or
        restricted open-shell ("uhf", "rohf", "rob3lyp"). A name that is known as a whole is that functional: "rpbe".
        "gfn1" and "gfn2" are semi-empirical: GFN1-xTB and GFN2-xTB, of valence electrons only, by the package tblite.
        With a dispersion correction at the end, by the packages dftd3 and dftd4: "b3lyp-d3bj" or "b3lyp-d3(bj)" with
        damping as by Becke and Johnson, "m06-2x-d3zero" to zero, "-d3" with the former where the functional has
        parameters for it, otherwise the latter; "pbe0-d4".
    basis : str
        A basis set by its name, "6-31g*", with its effective core potentials; def2-SVP where none is named. A
        semi-empirical method has functions of its own, and none is named for it.
    charge : int
        Of the molecule.
    unpaired : int
        Electrons of spin alpha less those of spin beta, the multiplicity less one.
    cartesian : bool
        Cartesian d and f functions, with which sets as 6-31G* were made, in place of pure ones.
    solvent : str
        A solvent by its name, "water", or its dielectric constant, "78.4", around the molecule as a conductor-like
        polarisable continuum (C-PCM); empty, or "vacuum", for none.
    smearing : float
        Electronic temperature in kelvin for occupations by Fermi and Dirac, with as many electrons of each spin as
        without; 0 for none.
    external_charges : ExternalCharges or None
        Charges around the molecule, in whose field it is. Energies have no part of these charges with each other.
    lennard_jones : LennardJones or None
        Repulsion and dispersion between the molecule and what is around it, a part of the energy.

    Raises
    ------
    OrbitileError
        When the method has no name, or a part that is not computed, such as the perturbation theory of a double hybrid,
        a basis set is named for a semi-empirical method, the number of unpaired electrons or the temperature is
        negative, the solvent is not known, or there are both a solvent and external charges.
    """

    method: str = "hf"
    basis: str = ""
    charge: int = 0
    unpaired: int = 0
    cartesian: bool = False
    solvent: str = ""
    smearing: float = 0.0
    external_charges: ExternalCharges | None = None
    lennard_jones: LennardJones | None = None

    def __post_init__(self) -> None:
        if not self.method.strip():
            raise OrbitileError("method: expected a name, got none")
        split_name(self.method)
        if not semiempirical(self.method):
            object.__setattr__(self, "basis", self.basis.strip() or "def2-svp")
        elif self.basis or self.cartesian:
            got = repr(self.basis) if self.basis else "Cartesian ones"
            raise OrbitileError(f"method {self.method}: it has functions of its own, expected no basis set, got {got}")
        if self.unpaired < 0:
            raise OrbitileError(f"unpaired electrons: expected 0 or more, got {self.unpaired}")
        if not 0 <= self.smearing < inf:
            raise OrbitileError(f"smearing: expected a temperature of 0 K or more, got {self.smearing:g}")
        if self.solvent.strip().lower() == "vacuum":
            object.__setattr__(self, "solvent", "")
        if self.solvent:
            dielectric_constant(self.solvent)
            if self.external_charges is not None:
                raise OrbitileError(
                    f"solvent {self.solvent} and external charges: the continuum would be where the charges are; give "
                    "one of them"
                )

    def __str__(self) -> str:
        return (
            f"{self.method.lower()}{self.basis and '/'}{self.basis.lower()}, charge {self.charge}, "
            f"unpaired electrons {self.unpaired}"
            f"{', Cartesian functions' if self.cartesian else ''}"
            f"{f', solvent {self.solvent.lower()}' if self.solvent else ''}"
            f"{f', smearing {self.smearing:g} K' if self.smearing else ''}"
            f"{f', in the field of {self.external_charges}' if self.external_charges is not None else ''}"
            f"{', with Lennard-Jones terms' if self.lennard_jones is not None else ''}"
        )


def check_electrons(n: int, n_core: int, calculation: Calculation) -> None:
    """Refuse charges and unpaired electrons that do not go together with n electrons."""
    unpaired = calculation.unpaired
    charge = f"a charge of {calculation.charge:+d}" if calculation.charge else "no charge"
    left = f"{n} electrons" + (f" beside {n_core} in effective core potentials" if n_core else "")
    if n <= 0:
        raise OrbitileError(f"with {charge} there are {left}; expected 1 or more")
    if unpaired > n or (n - unpaired) % 2:
        raise OrbitileError(
            f"with {charge} there are {left}, so {'an odd' if n % 2 else 'an even'} number up to {n} of them is "
            f"unpaired; got {unpaired} unpaired electrons (multiplicity {unpaired + 1})"
        )


def check_room(n_alpha: int, n_orbitals: int, calculation: Calculation) -> None:
    """Refuse more alpha electrons than there are orbitals."""
    if n_alpha > n_orbitals:
        raise OrbitileError(
            f"{calculation}: {n_alpha} alpha electrons do not fit into the {n_orbitals} orbitals of this basis set; "
            "choose a larger one, or fewer unpaired electrons"
        )


class NotConverged(OrbitileError):
    """The self-consistent field of one geometry was not reached; that of another one may be."""


class Response:
    """What an engine learnt from a self-consistent field, for the next geometry of the same atoms; each has its own."""


@dataclass(frozen=True, eq=False)
class FockResponse(Response):
    """Changes of Fock matrices with those of density matrices, over Loewdin's functions; the latest last.

    Attributes
    ----------
    fock, densities : ndarray, shape (n, n_spins, n_basis, n_basis)
        32 MB at most.
    """

    fock: Reals
    densities: Reals


@dataclass(frozen=True, eq=False)
class Solution:
    """A self-consistent field.

    Attributes
    ----------
    wavefunction : Wavefunction
        Its orbitals, occupied from the lowest.
    energy : float
        Total energy in hartree, the repulsion of the nuclei and all parts among it.
    n_iterations : int
        Fock matrices that it took.
    response : Response or None
        What was learnt, for the next geometry of the same atoms; None where the engine tells nothing.
    parts : dict
        Parts of the energy that have a name of their own, in hartree, as far as there are any: "dispersion";
        "Lennard-Jones";
        "solvation", half of the energy of the molecule in the field of the solvent; "smearing", -TS of the electrons.
    """

    wavefunction: Wavefunction
    energy: float
    n_iterations: int
    response: Response | None = None
    parts: Mapping[str, float] = field(default_factory=dict)


def method_of(calculation: Calculation, known: Callable[[str], str]) -> tuple[str, str] | None:
    """Kind of orbitals, "r", "u" or "ro", and functional of a calculation; None where the functional is not known.

    Parameters
    ----------
    calculation
        Its method is a functional, with "u", "ro" or "r" in front or without; a name that is known as a whole is that.
    known
        The functional of a name, empty where it is none.

    Raises
    ------
    OrbitileError
        When orbitals are to be restricted though electrons are unpaired.
    """
    name = calculation.method.strip().lower()
    for kind in ("", "ro", "u", "r"):
        found = known(name.removeprefix(kind)) if name.startswith(kind) else ""
        if not found:
            continue
        if kind == "r" and calculation.unpaired:
            raise OrbitileError(
                f"method {calculation.method!r}: expected no unpaired electrons, got {calculation.unpaired}; ask for "
                f"ro{name[1:]} (restricted open-shell) or u{name[1:]} (unrestricted)"
            )
        return kind or ("u" if calculation.unpaired else "r"), found
    return None


def sound(geometry: Geometry, before: Geometry | Wavefunction | None = None) -> Geometry:
    """The geometry, unless it is of other atoms than the frame before, or two of its atoms are at one place.

    Raises
    ------
    NotConverged
        Otherwise: other geometries may be sound.
    """
    if before is not None and not np.array_equal(geometry.atomic_numbers, before.atomic_numbers):
        raise NotConverged("its atoms differ from those before, or are in another order")
    from scipy.spatial import cKDTree

    close = cKDTree(geometry.positions).query_pairs(_ONE_PLACE)
    if close:
        one, other = min(close)
        raise NotConverged(f"atoms {one + 1} and {other + 1} are at one place")
    return geometry


def require_apart(geometry: Geometry, external: ExternalCharges) -> None:
    """Refuse external charges at the place of an atom, where the energy has no end.

    Raises
    ------
    NotConverged
        Then: other geometries may be sound.
    """
    from scipy.spatial import cKDTree

    distances, charges = cKDTree(external.positions).query(geometry.positions)
    if np.min(distances, initial=inf) < _ONE_PLACE:
        atom = int(np.argmin(distances))
        raise NotConverged(
            f"external charge {charges[atom] + 1} is at the place of atom {atom + 1}; leave out the charges of atoms "
            "that are computed"
        )


def require_ase() -> None:
    """Refuse a Python that lacks what moves atoms by forces.

    Raises
    ------
    OrbitileError
        When ASE is missing.
    """
    if find_spec("ase") is None:
        raise OrbitileError(f"forces need the package ase: {install_command('ase')}")
