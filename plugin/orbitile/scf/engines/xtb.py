"""GFN1-xTB and GFN2-xTB (extra `orbitile[xtb]`): semi-empirical, valence electrons only, by the package tblite.

S. Grimme, C. Bannwarth, P. Shushkov, J. Chem. Theory Comput. 2017, 13, 1989; C. Bannwarth, S. Ehlert, S. Grimme, ibid.
2019, 15, 1652; solvents by ALPB, of a dielectric constant alone the electrostatic part (S. Ehlert, M. Stahn, S.
Spicher, S. Grimme, ibid. 2021, 17, 4250). tblite tells coefficients of orbitals, but not of which functions: those are
made from the parameters that it exports.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from platform import machine
from typing import Any

import numpy as np

from ...base.arrays import Reals
from ...base.caches import Cache
from ...base.errors import OrbitileError
from ...base.packages import install_command, required
from ...base.watch import checkpoint, patiently
from ...gaussians.orthonormality import checked
from ...integrals.method_names import SEMIEMPIRICAL, semiempirical
from ...integrals.solvents import dielectric_constant, full_name
from ...model.core_potentials import valence_charges
from ...model.elements import SYMBOLS
from ...model.geometry import Geometry
from ...model.units import kelvin
from ...model.wavefunction import Orbitals, Shell, Wavefunction
from ..calculation import Calculation, NotConverged, Response, Solution, check_electrons, check_room
from ..charges_for_tblite import ChargesForTblite, gradients
from ..charges_for_tblite import obstacle as obstacle_to_charges
from ..slater import same_centre, slater_expansion

PRIORITY = -10
PROGRAM = "tblite"
METHODS = SEMIEMPIRICAL

HEAVIEST = 86
"""Atomic number of radon, the last element of both methods."""

_SOLVENTS = {
    "1,4-dioxane": "dioxane",
    "1-octanol": "octanol",
    "carbon disulfide": "cs2",
    "dichloromethane": "ch2cl2",
    "diethyl ether": "ether",
    "dimethyl sulfoxide": "dmso",
    "dimethylformamide": "dmf",
    "ethyl acetate": "ethylacetate",
    "tetrahydrofuran": "thf",
} | {
    name: name
    for name in (
        *("acetone", "acetonitrile", "aniline", "benzene", "chloroform", "ethanol", "hexadecane", "hexane"),
        *("methanol", "nitromethane", "toluene", "water"),
    )
}
"""Solvents with parameters of ALPB, by our names for them, as tblite calls them."""

_ROUGH = 10.0
"""Times the thresholds of tblite, where the atoms are about to be elsewhere: 6e-7 hartree for 200 atoms, in two thirds
of the cycles."""

_TIGHT = 0.01
"""The same where forces are compared: wavenumbers are right to 0.01 cm^-1 (docs/vibrations.md)."""

_gradients: Cache[Reals] = Cache("numbers")
"""Of what was solved, since tblite computes them with the energy: by calculation, elements and positions. Three
columns; where there are external charges, moments of the atoms follow, and what these add is not in the three."""


@dataclass(frozen=True, eq=False)
class _Result(Response):
    """What tblite begins the next geometry of a calculation from: charges and multipoles of the shells."""

    calculation: Calculation
    atomic_numbers: bytes
    result: Any


def check(calculation: Calculation) -> None:
    """Refuse another method, and a solvent without parameters."""
    if reason := _unserved(calculation):
        raise OrbitileError(f"engine xtb: {reason}")


def obstacle(geometry: Geometry, calculation: Calculation) -> str:
    """Why tblite cannot compute this, empty where it can."""
    if reason := _unserved(calculation):
        return reason
    others = "; hf and functionals, such as pbe, take external charges too" if calculation.external_charges else ""
    if not find_spec("tblite"):
        has_wheels = (sys.platform, machine()) == ("linux", "x86_64")
        how = install_command("tblite") if has_wheels else "for this system conda-forge has it, as tblite-python"
        return f"the package tblite is missing: {how}{others}"
    if others:
        _interface()  # loads linear algebra before anything of tblite
        if reason := obstacle_to_charges():
            return reason + others
    heaviest = int(geometry.atomic_numbers.max(initial=0))
    if heaviest > HEAVIEST:
        return f"its elements go up to {SYMBOLS[HEAVIEST]}, got {SYMBOLS[heaviest]}"
    return "it has no ghost atoms" if np.any(geometry.atomic_numbers == 0) else ""


def _unserved(calculation: Calculation) -> str:
    if not semiempirical(calculation.method):
        return f"its methods are gfn1 and gfn2, got {calculation.method!r}"
    name = full_name(calculation.solvent) if calculation.solvent else ""
    if name and name not in _SOLVENTS:
        constant = dielectric_constant(name)
        return f"ALPB has no parameters for {name}: its dielectric constant, {constant:g}, gives the electrostatic part"
    return ""


def solve(
    geometry: Geometry,
    calculation: Calculation,
    before: Sequence[Wavefunction] = (),
    device: str | None = None,
    precision: str = "single",
    response: Response | None = None,
    rough: bool = False,
    tight: bool = False,
) -> Solution:
    """Self-consistent field, begun from the charges of the solution before where there is its response.

    tblite computes on the CPU and in double precision, whatever is asked for. Electrons are at 300 K, as the methods
    are defined, where no other temperature is asked for; the energy is the free energy then.

    Raises
    ------
    NotConverged
        When it does not converge.
    OrbitileError
        When charge and unpaired electrons do not go together, or the method has no such element.
    """
    check(calculation)
    charges = valence_charges(geometry.atomic_numbers)
    electrons = int(charges.sum()) - calculation.charge
    check_electrons(electrons, 0, calculation)
    shells = shells_of(geometry, calculation)
    check_room((electrons + calculation.unpaired) // 2, sum(shell.n_functions for shell in shells), calculation)
    numbers, lines = geometry.atomic_numbers.tobytes(), list[str]()
    start = None
    if isinstance(response, _Result) and (response.calculation, response.atomic_numbers) == (calculation, numbers):
        start = response.result
    checkpoint()
    result, slopes = patiently(
        lambda: _computed(geometry, calculation, start, lines, _ROUGH if rough else _TIGHT if tight else 1.0)
    )
    _gradients.put(_key(geometry.atomic_numbers, geometry.positions, calculation), slopes)
    rows = _rows(shells)
    orbitals = Orbitals(
        result.get("orbital-coefficients")[rows], result.get("orbital-occupations"), result.get("orbital-energies")
    )
    found = Wavefunction(
        atomic_numbers=geometry.atomic_numbers,
        positions=geometry.positions,
        core_charges=charges,
        shells=shells,
        alpha=orbitals,
        program=f"{PROGRAM} {version(PROGRAM)}",
        method=str(calculation),
    )
    cycles = sum(line.split()[:1] != [] and line.split()[0].isdigit() for line in lines)
    return Solution(checked(found), float(result.get("energy")), cycles, _Result(calculation, numbers, result))


def gradient(
    wavefunction: Wavefunction, calculation: Calculation, device: str | None = None, precision: str = "single"
) -> Reals:
    """Derivatives of the energy by tblite, as of the self-consistent field where that has just been found."""
    return _gradients_of(wavefunction, calculation)[0]


def gradient_at_charges(wavefunction: Wavefunction, calculation: Calculation) -> Reals:
    """Derivatives of the same energy when the external charges move, shape (n_charges, 3), in hartree/bohr."""
    return _gradients_of(wavefunction, calculation)[1]


def _gradients_of(wavefunction: Wavefunction, calculation: Calculation) -> tuple[Reals, Reals]:
    key = _key(wavefunction.atomic_numbers, wavefunction.positions, calculation)
    geometry = Geometry(wavefunction.atomic_numbers, wavefunction.positions)
    known = _gradients.of(key, lambda: patiently(lambda: _computed(geometry, calculation))[1])
    slopes, external = known[:, :3].copy(), calculation.external_charges
    if external is None:
        return slopes, np.zeros((0, 3))
    at_atoms, at_charges = patiently(lambda: gradients(external, geometry.positions, known[:, 3:]))
    return slopes + at_atoms, at_charges


def _key(numbers: Any, positions: Reals, calculation: Calculation) -> tuple[str, bytes, bytes]:
    return str(calculation), numbers.tobytes(), positions.tobytes()


def _computed(
    geometry: Geometry,
    calculation: Calculation,
    start: Any = None,
    lines: list[str] | None = None,
    accuracy: float = 1.0,
) -> tuple[Any, Reals]:
    """What tblite computes, and what `_gradients` keeps of it; `lines` takes what it tells of its cycles."""
    told: list[str] = [] if lines is None else lines
    try:
        calculator = _interface().Calculator(
            semiempirical(calculation.method),
            geometry.atomic_numbers,
            geometry.positions,
            float(calculation.charge),
            calculation.unpaired,
            color=False,
            logger=told.append,
        )
        if calculation.solvent:
            name = full_name(calculation.solvent)
            if name:
                calculator.add("alpb-solvation", _SOLVENTS[name])
            else:
                calculator.add("gbe-solvation", dielectric_constant(calculation.solvent), "p16")
        calculator.set("accuracy", accuracy)
        if calculation.smearing:
            calculator.set("temperature", calculation.smearing * kelvin)
        if calculation.external_charges is None:
            result = calculator.singlepoint(start, copy=start is not None)
            return result, result.get("gradient")
        field = ChargesForTblite(calculation.external_charges, geometry.positions)
        with field.added_to(calculator):
            result = calculator.singlepoint(start, copy=start is not None)
        return result, np.concatenate([result.get("gradient"), field.moments], axis=1)
    except (RuntimeError, ValueError) as error:
        raise NotConverged(f"{calculation}: {' '.join(str(error).split())}") from error


def shells_of(geometry: Geometry, calculation: Calculation) -> tuple[Shell, ...]:
    """Functions of the atoms in the order of tblite, from its parameters.

    Raises
    ------
    OrbitileError
        When tblite is missing, or the method has no such element.
    """
    return _shells(semiempirical(calculation.method), tuple(geometry.atomic_numbers.tolist()))


@lru_cache(2)
def _shells(method: str, numbers: tuple[int, ...]) -> tuple[Shell, ...]:
    """The same of a molecule, whose geometries share them."""
    return tuple(
        Shell(atom, l, True, exponents, coefficients)
        for atom, number in enumerate(numbers)
        for l, exponents, coefficients in _contractions(method, number)
    )


@lru_cache(2 * HEAVIEST)
def _contractions(method: str, number: int) -> tuple[tuple[int, Reals, Reals], ...]:
    """Angular momentum, exponents and coefficients of the shells of an element.

    A second shell of an angular momentum, as of hydrogen in GFN1, is made orthogonal to the first.
    """
    element = _parameters(method).get(SYMBOLS[number])
    if element is None:
        raise OrbitileError(f"{method} has no parameters for {SYMBOLS[number]}")
    found: dict[int, tuple[Reals, Reals]] = {}
    result = []
    for name, n_gaussians, exponent in zip(element["shells"], element["ngauss"], element["slater"], strict=True):
        l = "spdf".index(name[1])
        exponents, coefficients = slater_expansion(int(name[0]), l, n_gaussians, exponent)
        if l in found:
            first, those = found[l]
            share = those @ same_centre(first, exponents, l) @ coefficients
            exponents, coefficients = np.append(exponents, first), np.append(coefficients, -share * those)
            coefficients = coefficients / np.sqrt(coefficients @ same_centre(exponents, exponents, l) @ coefficients)
        found.setdefault(l, (exponents, coefficients))
        result.append((l, exponents, coefficients))
    return tuple(result)


@lru_cache(2)
def _parameters(method: str) -> dict[str, dict[str, Any]]:
    """Parameters of a method by element, as tblite exports them."""
    library = _interface().library
    parameters, table = library.new_param(), library.new_table()
    {"GFN1-xTB": library.export_gfn1_param, "GFN2-xTB": library.export_gfn2_param}[method](parameters)
    library.dump_param(parameters, table)
    return dict(library.table_to_dict(table)["element"])


def _rows(shells: Sequence[Shell]) -> list[int]:
    """Where tblite, which has components from m = -l to l, has each of our functions."""
    rows, start = [], 0
    for shell in shells:
        l = shell.angular_momentum
        order = (1, -1, 0) if l == 1 else (0, *(sign * m for m in range(1, l + 1) for sign in (1, -1)))
        rows += [start + l + m for m in order]
        start += 2 * l + 1
    return rows


@cache
def _interface() -> Any:
    """tblite's interface, which holds its library."""
    _load_faster_linear_algebra()
    return required("tblite.interface", OrbitileError, "GFN1-xTB and GFN2-xTB need the package tblite", "tblite")


def _load_faster_linear_algebra() -> None:
    """Have tblite use PySCF's OpenBLAS where that is installed.

    tblite's wheel brings the BLAS and LAPACK of Netlib, with which 200 atoms take twice as long. Functions of a library
    that is loaded for all come first; it finds its own libraries once one of PySCF's has been loaded.
    """
    found = find_spec("pyscf")
    folder = Path(found.origin).parent / "lib" if found is not None and found.origin else Path()
    for library in folder.glob("libopenblas*.so") if found is not None else ():
        with suppress(OSError):
            ctypes.CDLL(str(folder / "libnp_helper.so"))
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
