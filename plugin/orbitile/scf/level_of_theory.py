"""What PySCF computes (extra `orbitile[scf]`): its functionals, basis sets and core potentials, by their names.

For the shells of a basis set PySCF is asked where it is installed, and basis-set-exchange otherwise (both in the extra
`orbitile[scf]`; docs/decisions/0020).
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable
from contextlib import redirect_stderr, suppress
from difflib import get_close_matches
from functools import lru_cache
from importlib.util import find_spec
from io import StringIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.imports import with_settings_of_the_user
from ..base.packages import install_command
from ..integrals.method_names import WITHOUT_VV10
from ..integrals.solvents import dielectric_constant
from ..model.conventions import functions_of
from ..model.elements import SYMBOLS
from ..model.geometry import Geometry
from ..model.units import kelvin
from ..model.wavefunction import Shell
from .calculation import Calculation, check_electrons, check_room, method_of


def library() -> Any:
    """PySCF.

    Raises
    ------
    OrbitileError
        When it is missing.
    """
    try:
        for module in ("dft", "gto", "qmmm", "scf"):
            with_settings_of_the_user("pyscf", module)
    except ImportError as error:
        raise OrbitileError(f"computing orbitals needs the package pyscf: {install_command('pyscf')}") from error
    return with_settings_of_the_user("pyscf")


def molecule_of(geometry: Geometry, calculation: Calculation) -> Any:
    """Molecule of PySCF, with its basis set; ghosts (element X) have no functions.

    Raises
    ------
    OrbitileError
        When PySCF is missing or has no such basis set for these atoms, or charge and unpaired electrons do not go with
        them.
    """
    symbols = [SYMBOLS[number] for number in geometry.atomic_numbers]
    elements = [symbol for symbol in dict.fromkeys(symbols) if symbol != SYMBOLS[0]]
    sets = {symbol: basis_set(calculation.basis, symbol) for symbol in elements}
    potentials = {symbol: potential for symbol, (_, potential) in sets.items() if potential}
    n_core = sum(potentials[symbol][0] for symbol in symbols if symbol in potentials)
    check_electrons(int(geometry.atomic_numbers.sum()) - n_core - calculation.charge, n_core, calculation)
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
    check_room(molecule.nelec[0], molecule.nao, calculation)
    return molecule


def basis_set(name: str, symbol: str) -> tuple[Any, Any]:
    """Functions and effective core potential of an element, in the form of PySCF.

    Raises
    ------
    OrbitileError
        When PySCF is missing, has no such basis set, or not for this element, or no core potential that it needs.
    """
    held = b""
    if os.path.isfile(name):  # PySCF takes the name of a file too, which may change
        with suppress(OSError), open(name, "rb") as file:
            held = file.read()
    return _basis_set(name, symbol, held)


@lru_cache(maxsize=128)
def _basis_set(name: str, symbol: str, held: bytes) -> tuple[Any, Any]:
    """The same; `held` is what a file of that name holds."""
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


def functional(calculation: Calculation) -> tuple[str, str]:
    """Kind of orbitals, "r", "u" or "ro", and functional, by its name in PySCF or "hf".

    Raises
    ------
    OrbitileError
        When PySCF is missing, there is no such method, or it does not go together with unpaired electrons.
    """
    libxc = library().dft.libxc
    found = method_of(calculation, lambda name: _name_in_pyscf(name, libxc))
    if found is not None:
        return found
    name = calculation.method.strip().lower()
    names = [code.lower() for code in (*libxc.XC_CODES, *libxc.XC_ALIAS) if "_XC_" not in code]
    close = get_close_matches(name, ["hf", "rohf", "uhf", *names], 1, 0.7)
    raise OrbitileError(
        f"method {calculation.method!r}: expected hf, gfn1, gfn2, or a functional that PySCF knows"
        + (f"; did you mean {close[0]}?" if close else ", such as pbe or b3lyp")
    )


def _name_in_pyscf(name: str, libxc: Any) -> str:
    """The functional of a name, empty where it is none."""
    if name.startswith("-") or not re.search("[a-z]", name):
        return ""
    try:
        libxc.parse_xc(name.removesuffix(WITHOUT_VV10))
    except (KeyError, ValueError, IndexError, NotImplementedError):  # what PySCF raises of a text that is no functional
        return ""
    return name


def mean_field(molecule: Any, calculation: Calculation) -> Any:
    """Self-consistent field of PySCF, not computed yet; errors are those of `functional`."""
    pyscf = library()
    kind, name = functional(calculation)
    if name == "hf":
        field = getattr(pyscf.scf, f"{kind.upper()}HF")(molecule)
    else:
        field = getattr(pyscf.dft, f"{kind.upper()}KS")(molecule)
        field.xc = name.removesuffix(WITHOUT_VV10)
        if field.xc != name:
            field.nlc = False
    if calculation.smearing:
        field = pyscf.scf.addons.smearing(field, sigma=calculation.smearing * kelvin, method="fermi", fix_spin=True)
    if calculation.solvent:
        field = field.PCM()  # C-PCM by default, 302 points a sphere
        field.with_solvent.eps = dielectric_constant(calculation.solvent)
    if (external := calculation.external_charges) is not None:
        if np.any(external.widths) and not hasattr(pyscf.qmmm.itrf, "erf"):
            raise OrbitileError(
                f"external charges: PySCF {pyscf.__version__} takes those with a width for points in the field of the "
                "nuclei; choose the engine orbitile, give no widths, or install a newer PySCF"
            )
        radii = np.maximum(external.widths, 1e-8) if np.any(external.widths) else None  # PySCF has both or none
        field = pyscf.qmmm.mm_charge(field, external.positions, external.charges, radii, unit="Bohr")
    return field


def functions_of_pyscf(molecule: Any) -> tuple[NDArray[np.intp], Reals]:
    """Row of PySCF for each of our basis functions, and what a coefficient of PySCF is multiplied by."""
    shells = [(int(molecule.bas_angular(n)), int(molecule.bas_nctr(n))) for n in range(molecule.nbas)]
    return functions_of(shells, bool(molecule.cart))


Contraction = tuple[int, Reals, Reals]
"""Angular momentum, exponents in bohr^-2, coefficients of normalised primitives; normalised as a whole."""


def shells_of(geometry: Geometry, calculation: Calculation) -> tuple[Shell, ...]:
    """Shells of all atoms, atom by atom and by angular momentum; ghosts (element X) have none.

    Raises
    ------
    OrbitileError
        When neither PySCF nor basis-set-exchange is there, or the one that is has no such basis set for an element.
    """
    return tuple(
        Shell(atom, l, not calculation.cartesian, exponents, coefficients)
        for atom, number in enumerate(geometry.atomic_numbers.tolist())
        if number
        for l, exponents, coefficients in _element(calculation.basis, number)[0]
    )


def core_electrons(geometry: Geometry, calculation: Calculation) -> int:
    """Electrons that the effective core potentials of the basis set replace; errors as of `shells_of`."""
    return sum(_element(calculation.basis, number)[1] for number in geometry.atomic_numbers.tolist() if number)


def contractions(name: str, number: int) -> tuple[Contraction, ...]:
    """Contractions of an element, by its atomic number; errors as of `shells_of`."""
    return _element(name, number)[0]


def _element(name: str, number: int) -> tuple[tuple[Contraction, ...], int]:
    """Contractions of an element, by angular momentum, and electrons that its core potential replaces."""
    if not find_spec("pyscf"):
        return _from_basis_set_exchange(name, number)
    functions, potential = basis_set(name, SYMBOLS[number])
    rows = [(shell[0], np.array([row for row in shell[1:] if np.ndim(row)])) for shell in functions]
    found = [(l, row[:, 0], column) for l, row in rows for column in row[:, 1:].T]
    return _order(found), int(potential[0]) if potential else 0


@lru_cache(maxsize=128)
def _from_basis_set_exchange(name: str, number: int) -> tuple[tuple[Contraction, ...], int]:
    try:
        import basis_set_exchange as exchange
    except ImportError as error:
        raise OrbitileError(
            "basis sets by name come from the package basis-set-exchange, or pyscf: "
            f"{install_command('basis-set-exchange')}"
        ) from error
    known = {_plain(title): title for title in exchange.get_all_basis_names()}
    plain = _plain(name)
    if plain not in known:
        close = get_close_matches(plain, known, 1)
        hint = f"; did you mean {known[close[0]]}?" if close else ", such as def2-svp, cc-pvtz, 6-31g*"
        raise OrbitileError(f"basis set {name!r}: expected one that basis-set-exchange knows{hint}")
    try:
        data = exchange.get_basis(known[plain], elements=[number], header=False, optimize_general=True)
    except KeyError as error:
        raise OrbitileError(
            f"basis set {name!r}: basis-set-exchange has no functions of it for {SYMBOLS[number]}; choose another one"
        ) from error
    if data["role"] != "orbital":
        raise OrbitileError(f"basis set {name!r}: expected one for orbitals, got one for {data['role']}")
    element: dict[str, Any] = data["elements"][str(number)]
    found = []
    for shell in element["electron_shells"]:
        momenta = shell["angular_momentum"]  # one for all columns, or one each as in SP shells
        columns = [np.array(column, np.float64) for column in shell["coefficients"]]
        exponents = np.array(shell["exponents"], np.float64)
        momenta = momenta if len(momenta) > 1 else momenta * len(columns)
        found += [(int(l), exponents, column) for l, column in zip(momenta, columns, strict=True)]
    return _order(found), int(element.get("ecp_electrons", 0))


def _plain(name: str) -> str:
    """A name as people vary it: 6-31G(d,p) for 6-31G**, def2svp for def2-SVP."""
    short = re.sub("[-_ ]", "", name.strip().lower())
    return short.replace("(d,p)", "**").replace("(d)", "*")


def _order(contractions: list[Contraction]) -> tuple[Contraction, ...]:
    """Contractions by angular momentum, each normalised and from its highest exponent to the lowest."""
    return tuple(_normalise(*contraction) for contraction in sorted(contractions, key=lambda shell: shell[0]))


def _normalise(l: int, exponents: Reals, coefficients: Reals) -> Contraction:
    r"""The contraction that has the norm 1, without primitives that it does not have.

    Normalised primitives of one centre overlap by :math:`(2 \sqrt{ab} / (a + b))^{l + 3/2}`.
    """
    order = [n for n in np.argsort(-exponents, kind="stable") if coefficients[n]]
    exponents, coefficients = exponents[order], coefficients[order]
    overlap = (2 * np.sqrt(np.outer(exponents, exponents)) / np.add.outer(exponents, exponents)) ** (l + 1.5)
    return l, exponents, coefficients / np.sqrt(coefficients @ overlap @ coefficients)
