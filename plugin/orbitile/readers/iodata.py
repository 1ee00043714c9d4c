"""Wavefunction files through qc-iodata: Molden in all its dialects, fchk, mkl, wfn, wfx and mwfn.

The parsers and the repairs of known mistakes are qc-iodata's, imported without the rest of it (`_qc_iodata`). Programs
write Molden and Molekel files in dialects: the one that makes the orbitals normalised is taken. qc-iodata's test of
each rests on an overlap matrix computed in nested Python loops, which takes seconds for a medium-sized molecule; ours
stands in for it while a file is read, and more dialects follow.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Indices, Reals
from ..base.errors import ConventionError, FileError, OrbitileError
from ..files.reading import DAMAGES, damage_as_error
from ..gaussians.orthonormality import REMEDY, TOLERANCE, accepting_damaged
from ..gaussians.overlap import contraction_norms, orbital_norms, shell_overlap
from ..model.conventions import ANGULAR_MOMENTUM_LETTERS, angular_normalization, radial_normalization
from ..model.core_potentials import lack_cores, named_ghosts, settled_charges
from ..model.wavefunction import Orbitals, Shell, Wavefunction, are_natural
from ._contractions import order_and_signs
from ._decimal_columns import decimals
from ._statements import Statements, statements, why_not_normalised

_NORMALISED = 1e-3
"""Largest deviation of the norm of a contraction from 1, from digits that a file leaves out."""


_NO_CELL = np.empty(0)
"""Stands for the vectors of the cell of a molecule."""

DESCRIPTION = "Molden, formatted checkpoint, Molekel, wfn, wfx and mwfn files"
FORMATS = {
    "molden": ("*.molden", "*.molden.input", "*.molf", "*.mold", "molden.inp", "molden.input"),
    "fchk": ("*.fchk", "*.fch", "*.fchk.txt"),
    "molekel": ("*.mkl",),
    "mwfn": ("*.mwfn",),
    "wfx": ("*.wfx",),
    "wfn": ("*.wfn",),
}
PATTERNS = tuple(pattern for patterns in FORMATS.values() for pattern in patterns)
KIND = "wavefunction"


_MARKS = {
    "molden": ("[molden format]",),
    "molekel": ("$mkl",),
    "fchk": ("number of atoms  ", "multiplicity  ", "charge  "),
    "wfx": ("<title>",),
    "mwfn": ("wfntype=",),
    "wfn": (" mol orbitals", " primitives", " nuclei"),
}


def recognises(head: str) -> bool:
    """Whether the beginning of a file looks like one of these formats."""
    return _format_of(head, "") is not None


def read(path: Path) -> Wavefunction:
    """Read a wavefunction, in whatever dialect makes its orbitals normalised."""
    from ._qc_iodata.utils import LoadError, LoadWarning

    with path.open(encoding="utf-8", errors="replace") as stream:
        head = stream.read(4096)
    format_name = _format_of(head, path.name)
    if format_name is None:
        raise FileError(f"{path.name}: none of the formats {', '.join(FORMATS)} (its beginning fits none of them)")
    attempts = Attempts()
    content = path.read_bytes()  # which may take its time, and is not to hold up who reads other files
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = statements(format_name, content)
            text = content if found.copy is None else found.copy
            data, cell = _first_that_fits(text, path.name, format_name, found.cells or (_NO_CELL,), attempts)
        except FileError as error:
            raise FileError(f"{path.name}: damaged or incomplete {format_name} file ({error})") from error
        except OrbitileError as error:  # of a cell that its functions do not fit
            raise FileError(f"{path.name}: {error}") from error
        except LoadError as error:
            raise _translated(error, path, format_name, content, attempts) from error
        except (*DAMAGES, MemoryError) as error:
            raise FileError(f"{path.name}: damaged {format_name} file ({type(error).__name__}: {error})") from error
    if attempts.may_be_accepted:
        found = replace(found, remarks=(*found.remarks, attempts.explained()))
    repairs = [_repair(str(w.message)) for w in caught if issubclass(w.category, LoadWarning)]
    with damage_as_error(path, f"{format_name} file"):
        return _wavefunction(data, found, cell, path, content, format_name, [repair for repair in repairs if repair])


def _first_that_fits(
    content: bytes, name: str, format_name: str, cells: tuple[Reals, ...], attempts: Attempts
) -> tuple[Any, Reals]:
    """What qc-iodata reads, and the first of the cells with which the orbitals are normalised.

    Raises
    ------
    LoadError
        With the last cell, when there is none.
    """
    from ._qc_iodata.utils import LoadError

    for cell in cells[:-1]:
        try:
            with dialects_of_iodata(cell, attempts):
                return next(_parsed(content, name, format_name)), cell
        except (LoadError, OrbitileError):  # a cell may also be too small to be one
            continue
    with dialects_of_iodata(cells[-1], attempts):
        return next(_parsed(content, name, format_name)), cells[-1]


_PARSERS = f"{__package__}._qc_iodata"


def _parsed(content: bytes, name: str, format_name: str, parser: str = "load_one") -> Iterator[Any]:
    """What a parser of qc-iodata makes of the content of a file: one `IOData`, or as many as `load_many` finds.

    Raises
    ------
    LoadError
        When the parser raises anything, since it does so where a file is damaged.
    """
    from ._qc_iodata.utils import LineIterator, LoadError

    data, module = import_module(f"{_PARSERS}.iodata").IOData, import_module(f"{_PARSERS}.formats.{format_name}")
    lines = LineIterator(name, content)
    try:
        found = getattr(module, parser)(lines)
        for fields in [found] if isinstance(found, dict) else found:
            yield data(**fields)
    except LoadError:
        raise
    except StopIteration as error:
        raise LoadError("the file ends before all was read", lines) from error
    except Exception as error:
        raise LoadError("the parser failed", lines) from error


def _format_of(head: str, name: str) -> str | None:
    lowered = head.lower()
    for format_name, marks in _MARKS.items():
        if all(mark in lowered for mark in marks):
            return format_name
    for format_name, patterns in FORMATS.items():
        if any(Path(name.lower()).match(pattern) for pattern in patterns):
            return format_name
    return None


def _translated(error: Exception, path: Path, format_name: str, content: bytes, attempts: Attempts) -> OrbitileError:
    text = str(next(iter(error.args), error)).split("\n")[0]  # without the path, which may be that of a copy
    if "contains errors" in text:
        return ConventionError(
            f"{path.name}: the orbitals are not normalised in any known {format_name} dialect (as written, ORCA, Psi4, "
            "Turbomole, CFOUR, NWChem, xtb, tblite, unnormalised contractions): "
            + (why_not_normalised(content) or attempts.explained())
            + (f"; {REMEDY}" if attempts.may_be_accepted else "")
        )
    line = getattr(error, "lineno", None) or getattr(getattr(error, "file", None), "lineno", None)
    cause = error.__cause__
    detail = f"{type(cause).__name__}: {cause}" if cause is not None and not isinstance(cause, StopIteration) else text
    where = f", line {line}" if line else ""
    return FileError(f"{path.name}{where}: damaged or incomplete {format_name} file ({detail})")


def _repair(message: str) -> str:
    """Short form of qc-iodata's note on a repair, empty for other notes."""
    start, _, _ = message.partition(" in Molden/MKL file")
    return start.replace("Corrected for", "corrected for").strip() if start.startswith("Corrected") else ""


def _wavefunction(
    data: Any, found: Statements, cell: Reals, path: Path, content: bytes, format_name: str, repairs: list[str]
) -> Wavefunction:
    for name, what in (("atcoords", "atoms"), ("obasis", "basis set"), ("mo", "orbitals")):
        if getattr(data, name, None) is None:
            raise FileError(
                f"{path.name}: this {format_name} file holds no {what}, expected atoms, basis set and orbitals"
            )
    remarks: tuple[str, ...] = ()
    if len(found.cells) > 1:
        unit = "Angstrom" if cell is found.cells[0] else "bohr"
        remarks = (f"the file does not say in which unit its cell is: {unit} is taken",)
    mo = data.mo
    if mo.kind == "generalized":
        raise FileError(f"{path.name}: two-component (generalised) orbitals are not supported")
    if mo.coeffs is None or mo.coeffs.shape[1] == 0:
        raise FileError(f"{path.name}: this {format_name} file holds no orbital coefficients")
    shells, order, signs = shells_and_order(data.obasis)
    n_atoms = len(data.atcoords)
    if strange := [shell.atom for shell in shells if not 0 <= shell.atom < n_atoms]:
        raise FileError(f"{path.name}: shell on atom {strange[0] + 1}: expected an atom from 1 to {n_atoms}")
    coefficients = mo.coeffs[order] * signs[:, None]
    occupations = np.zeros(coefficients.shape[1]) if mo.occs is None else mo.occs
    energies = np.empty(0) if mo.energies is None else mo.energies
    whole, unordered = found.whole, False
    remarked, density, spin_density = _other_density(data), np.empty(0), np.empty(0)
    numbers = data.atnums if found.numbers is None else found.numbers
    sets = [slice(None)] if mo.kind == "restricted" else [slice(0, mo.norba), slice(mo.norba, None)]
    if format_name == "fchk" and are_occupations([energies[s] for s in sets], [occupations[s].sum() for s in sets]):
        occupations, energies, remarked = energies, np.empty(0), (OCCUPATIONS,)
        whole = replace(whole, kinetic=None)  # that of the self-consistent field
    elif remarked:
        density, spin_density = (_density(data, name, order, signs) for name in ("scf", "scf_spin"))
        parts = [coefficients] if mo.kind == "restricted" else np.split(coefficients, [mo.norba], axis=1)
        spins = spin_density if spin_density.size else None
        saved = saved_orbitals(shells, data.atcoords, parts, mo.energies, density, spins)
        if saved is None:
            density = spin_density = np.empty(0)
        else:
            (occupations, are_real), remarked = saved, (REMARK,)
            energies, unordered = (energies, False) if are_real else (np.empty(0), True)
    labels = () if mo.irreps is None else tuple("" if str(label) == "??" else str(label) for label in mo.irreps)
    if set(labels) == {"X"} and mo.kind == "restricted" and _are_of_one_spin(occupations, numbers):
        occupations = 2 * occupations
        remarks = (*remarks, "each orbital is stated to hold one electron: two are taken, one of each spin")
    s_functions = np.bincount([shell.atom for shell in shells if not shell.angular_momentum], minlength=len(numbers))
    coreless = format_name == "molden" and lack_cores(numbers, s_functions)
    charges, assumed = settled_charges(
        numbers, found.charges or (data.atcorenums,), float(occupations.sum()), found.whole.charge, coreless
    )
    density_missing = ""
    if format_name == "fchk" and len(energies):
        has_cores = any(shell.angular_momentum == 0 for shell in shells)  # but in basis sets for tests
        if has_cores and not are_energies(energies, numbers, charges, found.whole.charge or 0.0):
            remarks, unordered = (*remarks, NEITHER), True
            if np.any(energies) and (remarked or "scf" not in (data.one_rdms or {})):
                occupations, density_missing = np.zeros(len(occupations)), "the occupations of its orbitals are unknown"
            energies = np.empty(0)
    elif len(energies) and np.any(energies) and np.array_equal(energies, occupations):
        energies, remarks = np.empty(0), (*remarks, OCCUPATIONS)
    overlapping = False
    if format_name == "wfn" and (len(sets) > 1 or len(numbers) == 1):  # whose overlaps the gate will look at again
        overlap = shell_overlap(shells, data.atcoords, shells, data.atcoords)
        gram = coefficients.T @ (overlap @ coefficients)
        sets, overlapping = _sets_of_wfn(gram, occupations, sets, charges)
        if overlapping:
            energies, remarks, unordered = np.empty(0), (*remarks, AVERAGED), True
            whole = replace(whole, kinetic=None)  # that of one of the states
    orbitals = [Orbitals(coefficients[:, s], occupations[s], energies[s], labels[s]) for s in sets]
    energy = None if data.energy is None else float(data.energy)
    return Wavefunction(
        atomic_numbers=numbers,
        positions=data.atcoords,
        core_charges=charges,
        shells=shells,
        alpha=orbitals[0],
        beta=orbitals[1] if len(orbitals) > 1 else None,
        natural=overlapping or are_natural(occupations),
        title=(data.title or "").strip(),
        source=str(path),
        program="; ".join([format_name, *repairs]),
        density_matrix=density if density.size else _density(data, "post_scf_ao", order, signs),
        spin_density_matrix=spin_density if density.size else _density(data, "post_scf_spin_ao", order, signs),
        geometries=_geometries(content, path.name) if format_name == "fchk" else np.empty(0),
        method="/".join(part.upper() for part in (data.lot, data.obasis_name) if part),
        overlapping=overlapping,
        unordered=unordered,
        density_missing=density_missing,
        stated=replace(whole, energy=energy if energy is not None and np.isfinite(energy) else None),
        remarks=(
            *named_ghosts(np.where(numbers > 0, data.atnums, 0), charges),
            *assumed,
            *found.remarks,
            *remarks,
            *remarked,
        ),
        cell=cell,
    )


_ORTHONORMAL = 1e-4
"""Largest deviation of an element of C^T S C from the unit matrix within a set of orbitals, and of a norm from 1."""

AVERAGED = (
    "the orbitals of this atom overlap, since those of both spins or of several states are in one list: together they "
    "make its density, and there is no HOMO"
)


def _sets_of_wfn(gram: Reals, occupations: Reals, sets: list[slice], charges: Reals) -> tuple[list[slice], bool]:
    """Orbitals of each spin in a wfn file, which does not tell where those of spin beta begin; whether they overlap.

    Those of an atom may be averaged over its states and spins: then they make a density with as many electrons as the
    nucleus has charge, and overlap.

    Parameters
    ----------
    gram
        C^T S C of all orbitals.
    occupations, charges
        Of the orbitals, and of the nuclei in e.
    sets
        What qc-iodata makes of the order of energies and numbers.
    """

    def fit(those: list[slice]) -> bool:
        return all(np.abs(gram[s, s] - np.eye(len(gram[s, s]))).max(initial=0) <= _ORTHONORMAL for s in those)

    if fit(sets):
        return sets, False
    again = np.flatnonzero(np.abs(np.triu(gram, 1)).max(axis=0) > 0.5)  # the first of spin beta is like one of alpha
    if len(again) and occupations.max() <= 1:
        by_overlap = [slice(0, int(again[0])), slice(int(again[0]), None)]
        if fit(by_overlap):
            return by_overlap, False
    neutral = len(charges) == 1 and abs(float(occupations.sum() - charges.sum())) < 1e-4
    is_density = neutral and np.abs(np.diag(gram) - 1).max() <= _ORTHONORMAL
    return ([slice(None)], True) if is_density else (sets, False)


def _are_of_one_spin(occupations: Reals, numbers: NDArray[np.int64]) -> bool:
    """Whether orbitals that hold one electron each are half of a molecule, which is neutral or nearly so.

    Those of a closed shell that Q-Chem writes are: it calls them all `X` and states one electron for each.
    """
    n = float(occupations.sum())
    return n > 2 and bool(np.all((occupations == 0) | (occupations == 1))) and abs(2 * n - numbers.sum()) <= 1


_DENSITY_TOLERANCE = 1e-4
"""Largest deviation of an element of a density matrix from that of the orbitals, in units of its largest element."""


def _other_density(data: Any) -> tuple[str, ...]:
    """A remark where a checkpoint file has a density matrix that its orbitals do not give when filled from below."""
    matrix, mo = (data.one_rdms or {}).get("scf"), data.mo
    if matrix is None or mo.occs is None:
        return ()
    occupied = mo.occs > 0
    deviation = np.abs((mo.coeffs[:, occupied] * mo.occs[occupied]) @ mo.coeffs[:, occupied].T - matrix).max()
    if deviation <= _DENSITY_TOLERANCE * np.abs(matrix).max():
        return ()
    return (
        "the lowest orbitals, filled with its electrons, do not give the density matrix of the file: others are "
        "occupied, or in part, or one of the two is damaged",
    )


def _density(data: Any, name: str, order: Indices, signs: Reals) -> Reals:
    """A density matrix in our order of basis functions, if the file has it."""
    matrix = (data.one_rdms or {}).get(name)
    if matrix is None:
        return np.empty(0)
    return matrix[np.ix_(order, order)] * signs[:, None] * signs


def _geometries(content: bytes, name: str) -> Reals:
    """Geometries of an optimisation, scan or reaction path in a formatted checkpoint file; none where it has none."""
    from ._qc_iodata.utils import LoadError

    if not re.search(rb"^(Opt|IRC) point +\d+ Geometries", content, re.MULTILINE):
        return np.empty(0)
    damaged = (LoadError, ValueError, LookupError, TypeError, ArithmeticError, AttributeError)
    try:
        geometries = np.array([frame.atcoords for frame in _parsed(content, name, "fchk", "load_many")], float)
    except damaged:  # which takes nothing from the orbitals
        return np.empty(0)
    return geometries if np.all(np.isfinite(geometries)) else np.empty(0)


def shells_and_order(basis: Any) -> tuple[tuple[Shell, ...], Indices, Reals]:
    """Shells of a basis of qc-iodata, and the order and signs that take its coefficients to our conventions."""
    shells: list[Shell] = []
    names: list[tuple[str, ...]] = []
    for general in basis.shells:
        for momentum, kind, column in zip(general.angmoms, general.kinds, general.coeffs.T, strict=True):
            l, pure = int(momentum), kind == "p"
            shells.append(Shell(general.icenter, l, pure, general.exponents, column))
            try:
                names.append(tuple(basis.conventions[l, str(kind)]))
            except KeyError as error:
                letter = ANGULAR_MOMENTUM_LETTERS[l]
                form = "pure" if pure else "Cartesian"
                raise FileError(f"{form} {letter} functions have no defined order in this file format") from error
    of_shells = iter(names)
    return tuple(shells), *order_and_signs(shells, lambda _: next(of_shells))


@dataclass
class Attempts:
    """How far the orbitals of a file were from normalised in the dialects that were tried.

    Attributes
    ----------
    least : float
        Largest deviation of a norm from 1 in the dialect that comes closest, among the orbitals looked at.
    closest : tuple
        That dialect: basis set, positions, coefficients of alpha orbitals, and of beta ones.
    """

    least: float = np.inf
    closest: tuple[Any, Reals, Reals, Any] | None = None

    def explained(self) -> str:
        """How far the orbitals are from normalised and what that looks like, in part of a sentence."""
        told = f"in the closest dialect norms of orbitals are off by up to {self.least:.2g}"
        if self.closest is None or not self.may_be_accepted:
            return f"order, sign or norm of its basis functions is unknown; {told}"
        scale = self._scale() if len(self.closest[2]) <= _SCALED else 1.0
        looks = (
            f"with all distances multiplied by {scale:.4f} they would fit: the geometry is that of another step, or in "
            "another unit"
            if scale != 1.0
            else "so little comes of coordinates that are not those of the orbitals, or of other damaged numbers"
        )
        return f"{told}; {looks}"

    @property
    def may_be_accepted(self) -> bool:
        """Whether the dialect is clear, though some numbers are wrong."""
        return self.closest is not None and TOLERANCE < self.least < _SLIGHT

    def _scale(self) -> float:
        """The factor near 1 of all positions that makes the orbitals normalised; 1 where none does."""
        from scipy.optimize import minimize_scalar

        assert self.closest is not None
        basis, positions, alpha, beta = self.closest
        shells, order, signs = shells_and_order(basis)
        coefficients = (alpha if beta is None else np.hstack([alpha, beta]))[order] * signs[:, None]

        def deviation(factor: float) -> float:
            return float(np.abs(orbital_norms(shells, positions * factor, coefficients) - 1).max(initial=0.0))

        found = minimize_scalar(deviation, bounds=(0.97, 1.03), method="bounded", options={"xatol": 1e-6})
        return float(found.x) if found.fun < 1e-3 * _SLIGHT + 0.02 * self.least else 1.0


_SLIGHT = 0.2
"""Deviation of norms below which the dialect is probably right, and numbers are not."""

_LOOKED_AT = 256
"""Orbitals, at most, whose norms tell dialects apart: every so many of them. Later all are tested."""

_SCALED = 500
"""Basis functions up to which a factor of the positions is looked for, which takes some thirty overlap matrices."""

_patching = threading.Lock()


@contextmanager
def dialects_of_iodata(
    cell: Reals = _NO_CELL, attempts: Attempts | None = None, package: str = _PARSERS
) -> Iterator[None]:
    """While a file is read by the parsers of a package: our overlap, the periodic one in a cell, and more dialects."""
    molden: Any = import_module(f"{package}.formats.molden")
    molekel: Any = import_module(f"{package}.formats.molekel")
    utils = import_module(f"{package}.utils")
    record = Attempts() if attempts is None else attempts

    def is_normalised(basis: Any, positions: Reals, alpha: Reals, beta: Any, threshold: float = 1e-4) -> bool:
        shells, order, signs = shells_and_order(basis)
        # with images an overlap takes seconds, and dialects differ in norms first
        if len(cell) and np.any(np.abs(contraction_norms(shells) - 1) > _NORMALISED):
            return False
        some = slice(None, None, -(-alpha.shape[1] // _LOOKED_AT) or None)
        parts = [part[:, some] for part in (alpha, beta) if part is not None]
        norms = orbital_norms(shells, positions, np.hstack(parts)[order] * signs[:, None], cell)
        deviation = float(np.abs(norms - 1).max(initial=0.0))
        if deviation < record.least:
            record.least, record.closest = deviation, (basis, positions, alpha, beta)
        return deviation <= threshold

    def fix(result: dict[str, Any], lines: Any, threshold: float = 1e-4) -> None:
        try:
            known_to_iodata(result, lines, threshold)
            return
        except utils.LoadError as error:
            unknown = error
        from warnings import warn

        basis, mo = result["obasis"], result["mo"]
        for name, changed, factors in _more_dialects(molden, basis):
            coefficients = mo.coeffs if factors is None else mo.coeffs / factors[:, None]
            if is_normalised(changed, result["atcoords"], coefficients, None, threshold):
                warn(utils.LoadWarning(f"Corrected for {name} in Molden/MKL file.", lines.filename), stacklevel=2)
                result["obasis"] = changed
                mo.coeffs[:] = coefficients
                return
        if not (accepting_damaged.get() and record.may_be_accepted and record.closest is not None):
            raise unknown
        result["obasis"], _, alpha, beta = record.closest
        mo.coeffs[:] = alpha if beta is None else np.hstack([alpha, beta])

    with _patching:
        known_to_iodata = molden._fix_molden_from_buggy_codes
        own, line_by_line = molden._is_normalized_properly, molden._load_helper_coeffs
        molden._is_normalized_properly = is_normalised
        if package == _PARSERS:
            molden._load_helper_coeffs = lambda lines: _orbitals_at_once(lines) or line_by_line(lines)
        molden._fix_molden_from_buggy_codes = molekel._fix_molden_from_buggy_codes = fix
        try:
            yield
        finally:
            molden._is_normalized_properly, molden._load_helper_coeffs = own, line_by_line
            molden._fix_molden_from_buggy_codes = molekel._fix_molden_from_buggy_codes = known_to_iodata


def _orbitals_at_once(lines: Any) -> Any:
    """What qc-iodata reads of `[MO]` line by line, which takes longer; None where it is not all as expected.

    Parameters
    ----------
    lines : LineIterator
        The file, at its first orbital: behind the last one after this, or else where it was.

    Returns
    -------
    tuple
        Occupations, coefficients, energies and symmetries of spin alpha, and the same of beta.
    """
    content, at = lines.rest()
    bracket = content.find(b"[", at)
    end = len(content) if bracket < 0 else content.rfind(b"\n", 0, bracket) + 1
    while end > at and not (last := content[content.rfind(b"\n", at, end - 1) + 1 : end]).strip():
        end -= len(last)  # an empty line
    found: tuple[list[Any], list[Any]] = ([], [])
    spans, of_spin = [], []
    try:
        while at < end:
            stated: dict[str, str] = {}
            while (line := content[at : content.find(b"\n", at, end) + 1 or end]).count(b"=") == 1:
                key, _, value = line.decode().partition("=")
                stated[key.strip().lower()] = value.strip()
                at += len(line)
            following = content.find(b"=", at, end)
            stop = end if following < 0 else content.rfind(b"\n", 0, following) + 1
            spans.append((at, stop))
            of_spin.append((stated["spin"].lower() != "alpha", stated))
            at = stop
        for (is_beta, stated), coefficients in zip(of_spin, _Coefficients(content).of_all(spans), strict=True):
            found[is_beta].append((float(stated["occup"]), coefficients, float(stated["ene"]), stated.get("sym", "??")))
        result = [
            (np.array(occupations), np.array(columns).T, np.array(energies), list(symmetries))
            for occupations, columns, energies, symmetries in (
                zip(*orbitals, strict=True) for orbitals in found if orbitals
            )
        ]
    except (KeyError, ValueError):
        return None
    if not (result and found[0]):
        return None
    lines.skip_to(end)
    return result[0], result[1] if found[1] else (None, None, None, [])


class _Coefficients:
    """Coefficients of orbitals, from lines with a number from 1 and a value.

    Parameters
    ----------
    content
        The file.
    """

    def __init__(self, content: bytes) -> None:
        self._content, self._letters = content, np.frombuffer(content, np.uint8)
        self._numbers = np.empty((0, 0), np.uint8)

    def of_all(self, spans: list[tuple[int, int]]) -> Iterator[Reals]:
        """Those of each orbital, from the lines between two places of the file.

        Raises
        ------
        ValueError
            When there are none, or other lines.
        """
        step = max(_AT_ONCE // max(stop - start for start, stop in spans), 1) if spans else 1
        for first in range(0, len(spans), step):
            some = spans[first : first + step]
            together = self._from_columns(some)
            yield from (self._of_one(*span) for span in some) if together is None else together

    def _of_one(self, start: int, stop: int) -> Reals:
        together = self._from_columns([(start, stop)])
        if together is not None:
            return together[0]
        text = self._content[start:stop]
        pairs = np.fromstring(text, sep=" ").reshape(-1, 2)
        n_lines = text.count(b"\n") + (not text.endswith(b"\n"))
        if not len(pairs) or not np.array_equal(pairs[:, 0], np.arange(1, n_lines + 1)):
            raise ValueError
        return pairs[:, 1]

    def _from_columns(self, spans: list[tuple[int, int]]) -> Reals | None:
        """The same of lines that are all as long, shape (n_orbitals, n_lines); None where not all are as usual."""
        start, stop = spans[0]
        length, width = stop - start, self._content.find(b"\n", start, stop) + 1 - start
        if width < 1 or length % width or any(end - begin != length for begin, end in spans):
            return None
        tables = np.stack([self._letters[begin:end].reshape(-1, width) for begin, end in spans])
        table = tables[0]
        if not np.array_equal(table[:, : self._numbers.shape[1]], self._numbers):
            last = b"%d" % len(table)  # no number is longer
            numbers = table[:, : table[-1].tobytes().find(last) + len(last)]
            if [row.tobytes().strip() for row in numbers] != [b"%d" % n for n in range(1, len(table) + 1)]:
                return None
            self._numbers = numbers
        first = self._numbers.shape[1]
        if np.any(tables[1:, :, :first] != self._numbers):
            return None
        lines = tables.reshape(-1, width)
        if not first or np.any(lines[:, first] != ord(" ")) or np.any(lines[:, -1] != ord("\n")):
            return None
        found = decimals(lines[:, first:-1])
        return None if found is None else found.reshape(len(spans), -1)


_AT_ONCE = 1 << 18
"""Bytes of lines that are read at once: so many stay in the second cache."""


def _more_dialects(molden: ModuleType, basis: Any) -> Iterator[tuple[str, Any, Reals | None]]:
    """Name, basis set, and what coefficients of orbitals are divided by, of dialects that qc-iodata does not know."""
    of_primitives = [
        angular_normalization((int(shell.angmoms[0]), 0, 0))
        * radial_normalization(shell.exponents, int(shell.angmoms[0]))[:, None]
        for shell in basis.shells
    ]
    with_norms = _divided(basis, of_primitives)
    yield "norms of primitives in the coefficients, as of NWChem and xtb", with_norms, None
    if (factors := molden._fix_mo_coeffs_psi4(basis)) is not None:
        yield "norms of primitives, those of xx for xy too, as of tblite", with_norms, factors
    norms = contraction_norms(shells_and_order(basis)[0])
    off = [abs(norm - 1) > _NORMALISED for norm, shell in zip(norms, basis.shells, strict=True) if shell.nexp > 1]
    # a single one that is not normalised has a damaged number
    if 2 * sum(off) > len(off) and (factors := molden._fix_mo_coeffs_cfour(basis)) is not None:
        yield "CFOUR errors and unnormalised contractions", _divided(basis, np.sqrt(norms)), factors


def _divided(basis: Any, factors: Any) -> Any:
    """The basis set with contraction coefficients divided by factors, one of each shell."""
    import attrs

    shells = zip(basis.shells, factors, strict=True)
    return attrs.evolve(basis, shells=[attrs.evolve(shell, coeffs=shell.coeffs / factor) for shell, factor in shells])


# ---- what checkpoint files have in place of orbitals and their energies: occupations, zeros, bonds, natural orbitals

# Gaussian (`pop=(NO, saveNO)`), MOKIT and Multiwfn write the occupations of natural orbitals where a checkpoint file
# has energies, since it has no place for them, and the eigenvalues of natural transition orbitals.
#
# Gaussian also writes natural bond orbitals, and others, where molecular orbitals are (`pop=saveNBO`, `saveNLMO`),
# beside the density matrix P of the self-consistent field. That of a determinant is idempotent, PSP = P for each spin,
# which damaged ones are not; the occupations of other orbitals C are then the diagonal elements of C^T S P S C.

_SLACK = 0.1
"""Electrons by which occupations of natural orbitals may be negative, or above what an orbital holds, in perturbation
theory."""

_SAME = 0.01
"""Electrons in sums of printed occupations."""

_OF_CORE = -0.2
"""Energy of a 1s orbital in hartree, times the square of the atomic number, at most: -0.27 in lithium, -0.5 far on."""

_BOUND = -0.05
"""Energy in hartree that the lowest orbital of a neutral molecule is below; in caesium it has -0.12."""

OCCUPATIONS = "the file has occupations of natural orbitals in place of orbital energies, and no energies"

NEITHER = (
    "the orbital energies of the file are neither energies nor occupations (zeros, or eigenvalues of something else): "
    "they are not shown, and the HOMO is unknown"
)


def are_occupations(sets: Sequence[Reals], electrons: Sequence[float]) -> bool:
    """Whether values are the occupations of one set of orbitals, or of one of each spin.

    Parameters
    ----------
    sets
        The values of each set.
    electrons
        Number of electrons of each set.
    """
    capacity = 3 - len(sets)
    return all(
        len(values) > 0
        and bool(np.all((values >= -_SLACK) & (values <= capacity + _SLACK)))
        and abs(float(values.sum()) - number) <= _SAME
        for values, number in zip(sets, electrons, strict=True)
    )


def are_energies(values: Reals, numbers: NDArray[np.int64], core_charges: Reals, charge: float) -> bool:
    """Whether values may be the energies of all orbitals of a molecule, those of the cores among them.

    Parameters
    ----------
    values
        Of all orbitals.
    numbers, core_charges
        Elements, and the charges that the electrons see.
    charge
        Of the molecule, in e: an anion need not bind its electrons.
    """
    if not np.all(np.isfinite(values)) or not np.any(values):
        return False
    heaviest = int(numbers[core_charges == numbers].max(initial=0))
    lowest = float(values.min())
    return lowest < _OF_CORE * heaviest**2 if heaviest > 2 else charge < 0 or lowest < _BOUND


_IDEMPOTENT = 1e-4
"""Largest deviation of an element of PSP from P."""

REMARK = (
    "the orbitals are not those of the self-consistent field, but natural, bond or localised ones that were saved in "
    "their place: their occupations follow from its density matrix"
)


def saved_orbitals(
    shells: tuple[Shell, ...],
    positions: Reals,
    sets: list[Reals],
    energies: Reals | None,
    density: Reals,
    spin_density: Reals | None,
) -> tuple[Reals, bool] | None:
    """The occupations that a density matrix gives orbitals, or None where it is no determinant's, or damaged.

    They are those of alpha orbitals, then of beta ones, where there are two sets. Beside them it is told whether the
    energies of the file are energies, and not these occupations.

    Parameters
    ----------
    shells, positions
        The basis set; positions in bohr.
    sets : list of ndarray, shape (n_basis, n_orbitals)
        Coefficients of the orbitals that both spins share, or of each spin.
    energies : ndarray or None
        What stands where their energies do.
    density, spin_density
        Matrices of both spins together, and of their difference, which may be unknown.
    """
    overlap = shell_overlap(shells, positions, shells, positions)
    if len(sets) == 1:
        matrices = [density / 2]
    elif spin_density is not None:
        matrices = [(density + spin_density) / 2, (density - spin_density) / 2]
    else:
        return None
    found = []
    for matrix, coefficients in zip(matrices, sets, strict=True):
        image = overlap @ coefficients
        norms = np.einsum("mi,mi->i", coefficients, image)
        if np.abs(matrix @ (overlap @ matrix) - matrix).max() > _IDEMPOTENT or np.abs(norms - 1).max() > _ORTHONORMAL:
            return None
        found.append((3 - len(sets)) * np.einsum("mi,mi->i", image, matrix @ image))
    occupations = np.concatenate(found)
    same = energies is not None and any(np.allclose(k * energies, occupations, atol=1e-3) for k in (1, 2))
    return occupations, not same
