"""The calculation that a file came from: charge, spin, method and basis set, as far as an engine has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from os import PathLike
from typing import Any

import numpy as np

from ..base.errors import OrbitileError
from ..integrals.method_names import semiempirical, without_correction
from ..model.core_potentials import valence_charges
from ..model.geometry import Geometries, Geometry
from ..model.wavefunction import Shell, Wavefunction
from ..readers import load_geometries
from .calculation import Calculation
from .engines import AUTO, engine_of, xtb
from .level_of_theory import contractions
from .slater import is_slater_expansion

_SETS = (
    *("sto-3g", "6-31g*", "6-31g**", "6-31g", "3-21g", "def2-svp", "def2-tzvp", "cc-pvdz", "cc-pvtz", "6-31+g*"),
    *("6-31+g**", "6-31++g**", "6-31+g", "6-31++g", "6-311g", "6-311g*", "6-311g**", "6-311+g*", "6-311+g**"),
    *("6-311++g**", "def2-svpd", "def2-tzvpp", "def2-tzvpd", "def2-qzvp", "def2-sv(p)", "aug-cc-pvdz", "aug-cc-pvtz"),
    *("cc-pvqz", "aug-cc-pvqz", "lanl2dz", "sto-6g", "minao", "pc-1", "pc-2", "ano-rcc"),
)
"""Basis sets by which functions are known, the most common first."""

_DIGITS = 2e-4
"""Relative difference of exponents that are the same: programs print, and scale, as many digits."""

_SPELLINGS = {
    "pbe1pbe": "pbe0",
    "pbeh": "pbe0",
    "pbepbe": "pbe",
    "bhhlyp": "bhandhlyp",
    "m062x": "m06-2x",
    "m06l": "m06-l",
    "m052x": "m05-2x",
    "m06hf": "m06-hf",
    "camb3lyp": "cam-b3lyp",
    "wb97xd": "wb97x-d",
    "hseh1pbe": "hse06",
    "tpsstpss": "tpss",
    "b-lyp": "blyp",
    "b-p": "bp86",
    "b3-lyp": "b3lyp",
    "slater": "lda,",
    "hfs": "lda,",
    "xalpha": "lda,",
    "lsda": "svwn",
    "s-vwn": "svwn",
    "lda": "svwn",
    "lcwpbe": "lc-wpbe",
}
"""Methods as programs spell them, by their names in libxc."""

_CORRELATED = re.compile(r"(mp[2-5]|scs-|sos-|cc|qci|ci[sd]|cis|cas|ras|mc|mrci|nevpt|fci|gvb|bd|dmrg|eom|adc|rpa)")
"""How methods begin whose orbitals stand on Hartree-Fock."""

_ELECTRONS = ("charge", "unpaired")

_WHOLE = ("rpbe", "rpw86pbe")
"""Functionals whose names begin as if orbitals were restricted; Gaussian calls restricted PBE RPBEPBE."""

_NO_METHODS = ("", "r", "u", "ro", "dft", "ks", "rks", "uks", "roks", "scf", "canonical")
"""What programs write where they name no method."""

_OURS = re.compile(
    r"(\S+?)(?:/(.+))?, charge (-?\d+), unpaired electrons (\d+)(, Cartesian functions)?"
    r"(?:, solvent (?P<solvent>.+?))?(?:, smearing (?P<smearing>\S+) K)?"
    r"(?:, in the field of (?P<field>\d+ charges) \(\w+\))?(?:, with Lennard-Jones terms)?"
)
"""As `Calculation` writes itself."""


def calculation_for(
    wavefunction: Wavefunction,
    given: Mapping[str, Any] | None = None,
    otherwise: Calculation | None = None,
    engine: str = AUTO,
) -> tuple[Calculation, tuple[str, ...]]:
    """The calculation that a wavefunction came from, as an engine can do it here.

    Parameters
    ----------
    wavefunction
        Of a file.
    given
        Parts of a `Calculation` that are to be other than in the file.
    otherwise
        Method and basis set where those of the file are not known, or no engine has them.
    engine
        As for `orbitile.compute_series`.

    Returns
    -------
    tuple
        The calculation, and a sentence without its end for each part that is another one than in the file.

    Raises
    ------
    OrbitileError
        When no engine can do what is left: the reason.
    """
    otherwise = otherwise or Calculation("pbe")
    given = {} if given is None else dict(given)
    numbers = np.where(wavefunction.core_charges > 0, wavefunction.atomic_numbers, 0)
    geometry, remarks = Geometry(numbers, wavefunction.positions), []
    charge, unpaired = (
        int(given.get(name, its)) for name, its in zip(_ELECTRONS, electrons_of(wavefunction), strict=True)
    )
    if wavefunction.is_ghost.any():
        remarks.append("its ghost atoms have no basis functions here")
    same = not given.keys() & set(_ELECTRONS)
    named, _, rest = wavefunction.method.partition("/")
    ours = _OURS.fullmatch(wavefunction.method)
    named, rest = (ours[1], ours[2] or "") if ours else ("" if named.lower() in _NO_METHODS else named, rest)
    if not named and "basis" not in given and "method" not in given and _has_valence_only(wavefunction):
        named, remark = _by_functions(wavefunction)
        remarks += [remark] if remark else []
    told = {name: value for name, value in (ours.groupdict() if ours else {}).items() if value} | given
    solvent, smearing = str(told.get("solvent", otherwise.solvent)), float(told.get("smearing", otherwise.smearing))
    external = given.get("external_charges", otherwise.external_charges)
    terms = given.get("lennard_jones", otherwise.lennard_jones)
    if external is None and "field" in told:
        remarks.append(
            f"it was computed in the field of {told['field']}, which are not in the file: there are none here"
        )
    if own := semiempirical(str(given.get("method", named))):
        start = Calculation(own[:4].lower(), "", charge, unpaired, False, solvent, smearing, external, terms)
        calculation = replace(start, **{name: given[name] for name in ("basis", "cartesian") if name in given})
        try:
            engine_of(engine, geometry, calculation)
        except OrbitileError:
            if "method" in given:
                raise
        else:
            return calculation, tuple(remarks)
    basis, cartesian = otherwise.basis, bool(given.get("cartesian", otherwise.cartesian))
    if "basis" in given:
        basis = str(given["basis"])
    elif found := _basis_of(wavefunction, rest or named):
        named = "" if found == named.strip().lower() else named
        basis, cartesian = found, bool(given.get("cartesian", _is_cartesian(wavefunction)))
    else:
        if not _all_have(basis, geometry):
            basis = "def2-svp"
        remarks.append(f"its basis set has no known name: {basis} is used")
    start = Calculation(otherwise.method, basis, charge, unpaired, cartesian, solvent, smearing, external, terms)
    if "method" in given:
        return replace(start, method=str(given["method"])), tuple(remarks)
    kind = _kind(wavefunction) if same else ""
    problem = ""
    for method, remark in (*methods_named(named, kind), *_fallbacks(named, otherwise.method, kind)):
        try:
            calculation = replace(start, method=method)
            engine_of(engine, geometry, calculation)
        except OrbitileError as error:
            problem = problem or str(error)
            continue
        return calculation, (*remarks, *([remark] if remark else []))
    raise OrbitileError(problem)


def calculation_of_file(
    source: str | PathLike[str],
    given: Mapping[str, Any],
    otherwise: Calculation,
    topology: str | PathLike[str] | None = None,
    engine: str = AUTO,
) -> tuple[Calculation, tuple[str, ...]]:
    """The same of a file of geometries, which may be one of wavefunctions, or state a charge.

    Raises
    ------
    OrbitileError
        As `calculation_for` and `orbitile.readers.load_geometries` do.
    """
    return calculation_of_geometries(load_geometries(source, topology), given, otherwise, engine)


def calculation_of_geometries(
    geometries: Geometries, given: Mapping[str, Any], otherwise: Calculation, engine: str = AUTO
) -> tuple[Calculation, tuple[str, ...]]:
    """The same of geometries that have been opened."""
    wavefunction = getattr(geometries, "wavefunction", None)
    if wavefunction is not None:
        return calculation_for(wavefunction, given, otherwise, engine)
    stated = dict(getattr(geometries, "stated", {}))
    known = {part.name for part in fields(Calculation)}
    parts = {name: value for name, value in {**stated, **given}.items() if name in known}
    return altered(otherwise, parts), ()


def altered(calculation: Calculation, parts: Mapping[str, Any]) -> Calculation:
    """A calculation with other parts; a semi-empirical method brings its functions, unless a basis set is given too."""
    own = {"basis": ""} if semiempirical(str(parts.get("method", ""))) else {}
    return replace(calculation, **{**own, **parts})


def electrons_of(wavefunction: Wavefunction) -> tuple[int, int]:
    """Charge and unpaired electrons; as few as there can be, where a file does not tell or tells what cannot be."""
    told = wavefunction if wavefunction.n_electrons > 0 else wavefunction.stated
    charge, unpaired = round(told.charge or 0), (told.multiplicity or 1) - 1
    n_electrons = int(wavefunction.atomic_numbers.sum()) - charge
    return charge, unpaired if (n_electrons - unpaired) % 2 == 0 else n_electrons % 2


def semiempirical_method(wavefunction: Wavefunction) -> str:
    """The semi-empirical method that orbitals are of, gfn1 or gfn2, by its name or by its functions; empty for none."""
    ours = _OURS.fullmatch(wavefunction.method)
    if own := semiempirical(ours[1] if ours else wavefunction.method):
        return own[:4].lower()
    unnamed = wavefunction.method.lower() in _NO_METHODS
    return _by_functions(wavefunction)[0] if unnamed and _has_valence_only(wavefunction) else ""


def _has_valence_only(wavefunction: Wavefunction) -> bool:
    """Whether electrons see the charges that they see in xTB, whose own files name no method."""
    numbers = wavefunction.atomic_numbers
    return (
        bool(wavefunction.shells)
        and numbers.min(initial=1) > 0
        and numbers.max(initial=0) <= xtb.HEAVIEST
        and np.array_equal(wavefunction.core_charges, valence_charges(numbers))
    )


def _by_functions(wavefunction: Wavefunction) -> tuple[str, str]:
    """The semi-empirical method that has the functions of a file, and a sentence without its end for people."""
    geometry = Geometry(wavefunction.atomic_numbers, wavefunction.positions)
    mine = _signatures(wavefunction.shells)
    for method in ("gfn2", "gfn1"):
        try:
            theirs = _signatures(xtb.shells_of(geometry, Calculation(method)))
        except OrbitileError as error:  # tblite is missing
            is_xtb = all(is_slater_expansion(s.angular_momentum, s.exponents) for s in wavefunction.shells)
            return "", f"its functions may be those of xTB, but {error}" if is_xtb else ""
        if mine.keys() == theirs.keys() and all(_are_same(mine[atom], theirs[atom]) for atom in mine):
            return method, f"the file does not name its method: its functions are those of {method}"
    return "", ""


def _signatures(shells: Iterable[Shell]) -> dict[int, _Signature]:
    """By atom."""
    by_atom: dict[int, list[tuple[int, Any]]] = {}
    for shell in shells:
        by_atom.setdefault(shell.atom, []).append((shell.angular_momentum, shell.exponents))
    return {atom: _signature(those) for atom, those in by_atom.items()}


def _kind(wavefunction: Wavefunction) -> str:
    """What has to stand in front of a method so that orbitals are of the same kind."""
    if wavefunction.natural or wavefunction.spinors is not None:
        return ""
    if wavefunction.beta is not None:
        return "u"
    return "ro" if wavefunction.n_unpaired else ""


def methods_named(named: str, kind: str) -> Iterator[tuple[str, str]]:
    """Names under which an engine may know the method of a file, each with what is to be said of it."""
    spelled = re.sub(r"[\s()]", "", named.lower()).removeprefix("td-").removeprefix("dft-")
    for prefix in ("",) if spelled in _WHOLE else ("ro", "u", "r", ""):
        name = spelled.removeprefix(prefix) if spelled.startswith(prefix) else ""
        name = _SPELLINGS.get(name, name)
        plain = without_correction(name) or name
        correction, plain = name[len(plain) :], _SPELLINGS.get(plain, plain)
        if not name:
            continue
        if _CORRELATED.match(plain):
            yield f"{kind}hf", f"{named} stands on Hartree-Fock: that is used"
            continue
        yield f"{kind}{plain}{correction}", ""
        if correction:
            yield f"{kind}{plain}", f"the dispersion correction of {named} is not computed: {plain} is used"


def _fallbacks(named: str, method: str, kind: str) -> Iterator[tuple[str, str]]:
    """What is used where no engine has the method of a file, first with orbitals of the same kind."""
    why = f"no engine here has its method, {named}" if named else "the file does not name its method"
    if kind:
        yield f"{kind}{method}", f"{why}: {kind}{method} is used"
    yield method, f"{why}: {method} is used"


def _is_cartesian(wavefunction: Wavefunction) -> bool:
    return any(shell.angular_momentum > 1 and not shell.pure for shell in wavefunction.shells)


_Signature = dict[int, tuple[int, list[float]]]
"""By angular momentum the number of contracted functions, and the exponents that there are, from the highest."""


def _signature(shells: list[tuple[int, Any]]) -> _Signature:
    found: dict[int, tuple[int, set[float]]] = {}
    for momentum, exponents in shells:
        n, those = found.get(momentum, (0, set()))
        found[momentum] = n + 1, those | {float(f"{exponent:.6g}") for exponent in exponents}
    return {momentum: (n, sorted(those, reverse=True)) for momentum, (n, those) in found.items()}


def _are_same(one: _Signature, other: _Signature) -> bool:
    return one.keys() == other.keys() and all(
        n == other[l][0] and len(those) == len(other[l][1]) and np.allclose(those, other[l][1], rtol=_DIGITS)
        for l, (n, those) in one.items()
    )


def _basis_of(wavefunction: Wavefunction, named: str) -> str:
    """Name of the basis set of a wavefunction, by its exponents; empty where it is none that is known."""
    kinds = {(shell.angular_momentum, shell.pure) for shell in wavefunction.shells if shell.angular_momentum > 1}
    if len({pure for _, pure in kinds}) > 1 or wavefunction.cell.size:
        return ""
    by_atom: dict[int, list[Shell]] = {}
    for shell in wavefunction.shells:
        by_atom.setdefault(shell.atom, []).append(shell)
    wanted: dict[int, _Signature] = {}
    for atom, number in enumerate(wavefunction.atomic_numbers.tolist()):
        mine = _signature([(shell.angular_momentum, shell.exponents) for shell in by_atom.get(atom, [])])
        if number and not (mine and _are_same(mine, wanted.setdefault(number, mine))):
            return ""
    first = named.strip().lower()
    for name in (*([first] if first else []), *_SETS):
        try:
            if all(_are_same(mine, _known(name, number)) for number, mine in wanted.items()):
                return name
        except OrbitileError:
            continue
    return ""


def _known(name: str, number: int) -> _Signature:
    return _signature([(momentum, exponents) for momentum, exponents, _ in contractions(name, number)])


def _all_have(name: str, geometry: Geometry) -> bool:
    try:
        return all(contractions(name, number) for number in set(geometry.atomic_numbers.tolist()) if number)
    except OrbitileError:
        return False
