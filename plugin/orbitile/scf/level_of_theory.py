"""What PySCF computes (extra `orbitile[scf]`): method, basis set, charge and spin, by names as people give them."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from io import StringIO
from typing import Any

from scipy.linalg import eigh

from ..errors import OrbitileError
from ..model.elements import SYMBOLS
from ..model.geometry import Geometry


@dataclass(frozen=True)
class Calculation:
    """What is computed for each frame.

    Attributes
    ----------
    method : str
        "hf", or a density functional by its name in PySCF: "pbe", "b3lyp", "wb97x-v" ... Orbitals are restricted where
        no electron is unpaired, and unrestricted otherwise; "u" or "ro" in front of the name make them unrestricted or
        restricted open-shell ("uhf", "rohf", "rob3lyp"). A name that PySCF knows as a whole is that functional: "rpbe".
    basis : str
        A basis set by its name in PySCF, with its effective core potentials.
    charge : int
        Of the molecule.
    unpaired : int
        Electrons of spin alpha less those of spin beta, the multiplicity less one.
    cartesian : bool
        Cartesian d and f functions, with which sets as 6-31G* were made, in place of pure ones.

    Raises
    ------
    OrbitileError
        When method or basis set have no name, or the number of unpaired electrons is negative.
    """

    method: str = "hf"
    basis: str = "def2-svp"
    charge: int = 0
    unpaired: int = 0
    cartesian: bool = False

    def __post_init__(self) -> None:
        for what, name in (("method", self.method), ("basis set", self.basis)):
            if not name.strip():
                raise OrbitileError(f"{what}: expected a name, got none")
        if self.unpaired < 0:
            raise OrbitileError(f"unpaired electrons: expected 0 or more, got {self.unpaired}")

    def __str__(self) -> str:
        return (
            f"{self.method.lower()}/{self.basis.lower()}, charge {self.charge}, unpaired electrons {self.unpaired}"
            f"{', Cartesian functions' if self.cartesian else ''}"
        )


def library() -> Any:
    """PySCF.

    Raises
    ------
    OrbitileError
        When it is missing.
    """
    try:
        import pyscf
        import pyscf.dft
        import pyscf.gto
        import pyscf.scf
    except ImportError as error:
        raise OrbitileError("orbitals are computed by the package pyscf: pip install 'orbitile[scf]'") from error
    return pyscf


def molecule_of(geometry: Geometry, calculation: Calculation) -> Any:
    """Molecule of PySCF, with its basis set; ghosts (element X) have no functions.

    Raises
    ------
    OrbitileError
        When PySCF is missing or has no such basis set for these atoms, or charge and unpaired electrons do not go with
        them.
    """
    symbols = [SYMBOLS[number] for number in geometry.atomic_numbers]
    held = b""
    if os.path.isfile(calculation.basis):  # PySCF takes the name of a file too, which may change
        with suppress(OSError), open(calculation.basis, "rb") as file:
            held = file.read()
    elements = [symbol for symbol in dict.fromkeys(symbols) if symbol != SYMBOLS[0]]
    sets = {symbol: _basis_set(calculation.basis, symbol, held) for symbol in elements}
    potentials = {symbol: potential for symbol, (_, potential) in sets.items() if potential}
    n_core = sum(potentials[symbol][0] for symbol in symbols if symbol in potentials)
    _check_electrons(int(geometry.atomic_numbers.sum()) - n_core - calculation.charge, n_core, calculation)
    with redirect_stderr(StringIO()):  # a warning that ghosts have no functions
        molecule = library().gto.M(
            atom=list(zip(symbols, geometry.positions.tolist(), strict=True)),
            unit="Bohr",
            basis={symbol: functions for symbol, (functions, _) in sets.items()},
            ecp=potentials,
            charge=calculation.charge,
            spin=calculation.unpaired,
            cart=calculation.cartesian,
            verbose=0,
        )
    if molecule.nelec[0] > molecule.nao:
        raise OrbitileError(
            f"{calculation}: {molecule.nelec[0]} alpha electrons do not fit into the {molecule.nao} orbitals of this "
            "basis set; choose a larger one, or fewer unpaired electrons"
        )
    return molecule


def _check_electrons(n: int, n_core: int, calculation: Calculation) -> None:
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


@lru_cache(maxsize=128)
def _basis_set(name: str, symbol: str, held: bytes) -> tuple[Any, Any]:
    """Functions and effective core potential of an element, in the form of PySCF; `held` is what a file of it holds.

    Raises
    ------
    OrbitileError
        When PySCF has no such basis set, or not for this element, or no core potential that it needs.
    """
    gto = library().gto
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice to install another package
        try:
            functions = gto.basis.load(name, symbol)
        except (KeyError, RuntimeError, ValueError, OSError, AssertionError, AttributeError) as error:
            raise OrbitileError(_unknown_basis(name, symbol, gto.basis.ALIAS)) from error
        potential = None
        # augmented sets have the potentials of the plain ones
        for family in (name, re.sub("^aug-?", "", name.lower())):
            try:
                potential = potential or gto.basis.load_ecp(family, symbol)
            except (KeyError, RuntimeError, ValueError, OSError, TypeError):  # what it raises of sets without any
                continue
    if not potential and not _holds_core(functions, symbol):
        raise OrbitileError(
            f"basis set {name!r} has no functions for the inner electrons of {symbol}, and PySCF no effective core "
            "potential that goes with it; choose another one"
        )
    return functions, potential


def _holds_core(functions: Any, symbol: str) -> bool:
    """Whether a basis set has room for the 1s electrons of an element: by the energy of one alone with the nucleus.

    It is -Z^2/2 hartree. Sets that hold the core come to 0.93 of this or more; those made for valence electrons beside
    a core potential, or for fitting, do not (all sets of PySCF 2.14, 17 elements from H to Au).
    """
    spherical = [shell for shell in functions if shell[0] == 0]
    if not spherical:
        return False
    number = SYMBOLS.index(symbol)
    atom = library().gto.M(atom=[(symbol, (0, 0, 0))], basis={symbol: spherical}, spin=number % 2, verbose=0)
    hamiltonian = atom.intor("int1e_kin") + atom.intor("int1e_nuc")
    lowest = eigh(hamiltonian, atom.intor("int1e_ovlp"), eigvals_only=True)[0]
    return bool(lowest < -0.9 * number**2 / 2)


def _unknown_basis(name: str, symbol: str, known: Iterable[str]) -> str:
    short = re.sub("[-_ ]", "", name.lower())
    if short in known or re.fullmatch(r"\d-\d+\+*g.*", name.lower()):
        return f"basis set {name!r}: PySCF has no functions of it for {symbol}; choose another one"
    close = get_close_matches(short, known, 1)
    hint = f"; did you mean {close[0]}?" if close else ", such as def2-svp, cc-pvtz, 6-31g*"
    return f"basis set {name!r}: expected one that PySCF knows{hint}"


_DISPERSION = re.compile(r"(.+?)[-_](gd\d.*|d|d\d.*)")
"""Names of functionals with an empirical dispersion correction."""


def functional(calculation: Calculation) -> tuple[str, str]:
    """Kind of orbitals, "r", "u" or "ro", and functional, by its name in PySCF or "hf".

    Raises
    ------
    OrbitileError
        When PySCF is missing, there is no such method, or it does not go together with unpaired electrons.
    """
    libxc = library().dft.libxc
    name = calculation.method.strip().lower()
    for kind in ("", "ro", "u", "r"):
        known = _name_in_pyscf(name.removeprefix(kind), libxc) if name.startswith(kind) else ""
        if not known:
            continue
        if kind == "r" and calculation.unpaired:
            raise OrbitileError(
                f"method {calculation.method!r}: expected no unpaired electrons, got {calculation.unpaired}; ask for "
                f"ro{name[1:]} (restricted open-shell) or u{name[1:]} (unrestricted)"
            )
        return kind or ("u" if calculation.unpaired else "r"), known
    names = [code.lower() for code in (*libxc.XC_CODES, *libxc.XC_ALIAS) if "_XC_" not in code]
    close = get_close_matches(name, ["hf", "rohf", "uhf", *names], 1, 0.7)
    raise OrbitileError(
        f"method {calculation.method!r}: expected hf, or a functional that PySCF knows"
        + (f"; did you mean {close[0]}?" if close else ", such as pbe or b3lyp")
    )


def _name_in_pyscf(name: str, libxc: Any) -> str:
    """The functional of a name, empty where it is none.

    A dispersion correction is a function of the positions, so it has no bearing on orbitals: where libxc has parameters
    made to go with one, as for wb97x-d, the functional is taken by its full name, without the correction.
    """
    if name.startswith("-") or not re.search("[a-z]", name):
        return ""
    corrected = _DISPERSION.fullmatch(name)
    if corrected and name.upper() not in libxc.XC_CODES:
        ending = "_XC_" + name.upper().replace("-", "_")
        full = [code for code in libxc.XC_CODES if code.endswith(ending)]
        if not full and _name_in_pyscf(corrected[1], libxc):
            correction = name[corrected.end(1) :]
            raise OrbitileError(
                f"method: a dispersion correction leaves the orbitals as they are; leave out {correction!r}"
            )
        return full[0] if full else ""
    if name.endswith("-3c"):
        raise OrbitileError(
            f"method {name!r}: expected a functional; corrections as those of 3c leave the orbitals alone"
        )
    try:
        libxc.parse_xc(name)
    except (KeyError, ValueError, IndexError, NotImplementedError):  # what PySCF raises of a text that is no functional
        return ""
    return name


def mean_field(molecule: Any, calculation: Calculation) -> Any:
    """Self-consistent field of PySCF, not computed yet; errors are those of `functional`."""
    pyscf = library()
    kind, name = functional(calculation)
    if name == "hf":
        return getattr(pyscf.scf, f"{kind.upper()}HF")(molecule)
    field = getattr(pyscf.dft, f"{kind.upper()}KS")(molecule)
    field.xc = name
    return field
