"""Wavefunction files through qc-iodata: Molden in all its dialects, fchk, mkl, wfn, wfx and mwfn.

The parsers and the repairs of known mistakes are qc-iodata's. Its test of whether a file needs a repair rests on an
overlap matrix computed in nested Python loops, which takes seconds for a medium-sized molecule; ours stands in for it
while a file is read.
"""

from __future__ import annotations

import re
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConventionError, FileError, OrbitileError
from ..gaussians.overlap import contraction_norms, orbital_norms
from ..model.conventions import ANGULAR_MOMENTUM_LETTERS, component_names
from ..model.core_potentials import named_ghosts, settled_charges
from ..model.wavefunction import Orbitals, Shell, Wavefunction, are_natural
from ._molden_orbitals import why_not_normalised
from ._saved_orbitals import REMARK, saved_orbitals
from ._statements import Statements, statements

Reals = NDArray[np.float64]

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

_NO_CELL = np.empty(0)
"""Stands for the vectors of the cell of a molecule."""

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
    from iodata.utils import FileFormatError, LoadError, LoadWarning

    with path.open(encoding="utf-8", errors="replace") as stream:
        head = stream.read(4096)
    format_name = _format_of(head, path.name)
    if format_name is None:
        raise FileError(f"{path.name}: none of the formats {', '.join(FORMATS)} (its beginning fits none of them)")
    content = path.read_bytes()  # which may take its time, and is not to hold up who reads other files
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = statements(format_name, content)
            with _plain(path, found.copy) as file:
                data, cell = _first_that_fits(file, format_name, found.cells or (_NO_CELL,))
        except FileError as error:
            raise FileError(f"{path.name}: damaged or incomplete {format_name} file ({error})") from error
        except OrbitileError as error:  # of a cell that its functions do not fit
            raise FileError(f"{path.name}: {error}") from error
        except (LoadError, FileFormatError) as error:
            raise _translated(error, path, format_name, content) from error
        except (
            ValueError,
            TypeError,
            ArithmeticError,
            LookupError,
            AttributeError,
            UnicodeError,
            MemoryError,
        ) as error:
            raise FileError(f"{path.name}: damaged {format_name} file ({type(error).__name__}: {error})") from error
    repairs = [_repair(str(w.message)) for w in caught if issubclass(w.category, LoadWarning)]
    try:
        return _wavefunction(data, found, cell, path, format_name, [repair for repair in repairs if repair])
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        raise FileError(f"{path.name}: damaged {format_name} file ({type(error).__name__}: {error})") from error


def _first_that_fits(file: Path, format_name: str, cells: tuple[Reals, ...]) -> tuple[Any, Reals]:
    """What qc-iodata reads, and the first of the cells with which the orbitals are normalised.

    Raises
    ------
    LoadError, FileFormatError
        With the last cell, when there is none.
    """
    from iodata.api import load_one
    from iodata.utils import LoadError

    for cell in cells[:-1]:
        try:
            with fast_normalisation_test(cell):
                return load_one(str(file), fmt=format_name), cell
        except (LoadError, OrbitileError):  # a cell may also be too small to be one
            continue
    with fast_normalisation_test(cells[-1]):
        return load_one(str(file), fmt=format_name), cells[-1]


@contextmanager
def _plain(path: Path, copy: bytes | None) -> Iterator[Path]:
    """The file, or the copy that stands for it."""
    if copy is None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="orbitile-") as folder:
        file = Path(folder, path.name)
        file.write_bytes(copy)
        yield file


def _format_of(head: str, name: str) -> str | None:
    lowered = head.lower()
    for format_name, marks in _MARKS.items():
        if all(mark in lowered for mark in marks):
            return format_name
    for format_name, patterns in FORMATS.items():
        if any(Path(name.lower()).match(pattern) for pattern in patterns):
            return format_name
    return None


def _translated(error: Exception, path: Path, format_name: str, content: bytes) -> OrbitileError:
    text = str(next(iter(error.args), error)).split("\n")[0]  # without the path, which may be that of a copy
    if "contains errors" in text:
        return ConventionError(
            f"{path.name}: the orbitals are not normalised in any known {format_name} dialect (as written, ORCA, Psi4, "
            "Turbomole, CFOUR, unnormalised contractions): "
            + (why_not_normalised(content) or "order, sign or norm of its basis functions is unknown")
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
    data: Any,
    found: Statements,
    cell: Reals,
    path: Path,
    format_name: str,
    repairs: list[str],
) -> Wavefunction:
    for name, what in (("atcoords", "atoms"), ("obasis", "basis set"), ("mo", "orbitals")):
        if getattr(data, name, None) is None:
            raise FileError(f"{path.name}: this {format_name} file holds no {what}, so there are no orbitals to show")
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
    coefficients = mo.coeffs[order] * signs[:, None]
    occupations = np.zeros(coefficients.shape[1]) if mo.occs is None else mo.occs
    energies = np.empty(0) if mo.energies is None else mo.energies
    remarked, density, spin_density = _other_density(data), np.empty(0), np.empty(0)
    if remarked:
        density, spin_density = (_density(data, name, order, signs) for name in ("scf", "scf_spin"))
        parts = [coefficients] if mo.kind == "restricted" else np.split(coefficients, [mo.norba], axis=1)
        spins = spin_density if spin_density.size else None
        saved = saved_orbitals(shells, data.atcoords, parts, mo.energies, density, spins)
        if saved is None:
            density = spin_density = np.empty(0)
        else:
            occupations, remarked = saved.occupations, (REMARK,)
            energies = energies if saved.are_energies else np.empty(0)
    labels = () if mo.irreps is None else tuple("" if str(label) == "??" else str(label) for label in mo.irreps)
    numbers = data.atnums if found.numbers is None else found.numbers
    if set(labels) == {"X"} and mo.kind == "restricted" and _are_of_one_spin(occupations, numbers):
        occupations = 2 * occupations
        remarks = (*remarks, "each orbital is stated to hold one electron: two are taken, one of each spin")
    charges, assumed = settled_charges(
        numbers, found.charges or (data.atcorenums,), float(occupations.sum()), found.whole.charge
    )
    if mo.kind == "restricted":
        alpha, beta = Orbitals(coefficients, occupations, energies, labels), None
    else:
        alpha, beta = (
            Orbitals(
                coefficients[:, part],
                occupations[part],
                energies[part],
                labels[part],
            )
            for part in (slice(0, mo.norba), slice(mo.norba, None))
        )
    energy = None if data.energy is None else float(data.energy)
    return Wavefunction(
        atomic_numbers=numbers,
        positions=data.atcoords,
        core_charges=charges,
        shells=shells,
        alpha=alpha,
        beta=beta,
        natural=are_natural(occupations),
        title=(data.title or "").strip(),
        source=str(path),
        program="; ".join([format_name, *repairs]),
        density_matrix=density if density.size else _density(data, "post_scf_ao", order, signs),
        spin_density_matrix=spin_density if density.size else _density(data, "post_scf_spin_ao", order, signs),
        geometries=_geometries(path) if format_name == "fchk" else np.empty(0),
        method="/".join(part.upper() for part in (data.lot, data.obasis_name) if part),
        stated=replace(found.whole, energy=energy if energy is not None and np.isfinite(energy) else None),
        remarks=(
            *named_ghosts(np.where(numbers > 0, data.atnums, 0), charges),
            *assumed,
            *found.remarks,
            *remarks,
            *remarked,
        ),
        cell=cell,
    )


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


def _density(data: Any, name: str, order: NDArray[np.intp], signs: NDArray[np.float64]) -> NDArray[np.float64]:
    """A density matrix in our order of basis functions, if the file has it."""
    matrix = (data.one_rdms or {}).get(name)
    if matrix is None:
        return np.empty(0)
    ours: NDArray[np.float64] = matrix[np.ix_(order, order)] * signs[:, None] * signs
    return ours


def _geometries(path: Path) -> NDArray[np.float64]:
    """Geometries of an optimisation, scan or reaction path in a formatted checkpoint file; none where it has none."""
    from iodata.api import load_many
    from iodata.utils import FileFormatError, LoadError

    if not re.search(rb"^(Opt|IRC) point +\d+ Geometries", path.read_bytes(), re.MULTILINE):
        return np.empty(0)
    damaged = (LoadError, FileFormatError, ValueError, LookupError, TypeError, ArithmeticError, AttributeError)
    try:
        geometries = np.array([frame.atcoords for frame in load_many(str(path), fmt="fchk")], float)
    except damaged:  # which takes nothing from the orbitals
        return np.empty(0)
    return geometries if np.all(np.isfinite(geometries)) else np.empty(0)


def shells_and_order(basis: Any) -> tuple[tuple[Shell, ...], NDArray[np.intp], NDArray[np.float64]]:
    """Shells of a basis of qc-iodata, and the order and signs that take its coefficients to our conventions."""
    shells: list[Shell] = []
    order: list[int] = []
    signs: list[float] = []
    for general in basis.shells:
        for momentum, kind, column in zip(general.angmoms, general.kinds, general.coeffs.T, strict=True):
            l, pure = int(momentum), kind == "p"
            shells.append(Shell(general.icenter, l, pure, general.exponents, column))
            try:
                theirs = list(basis.conventions[l, str(kind)])
            except KeyError as error:
                letter = ANGULAR_MOMENTUM_LETTERS[l]
                form = "pure" if pure else "Cartesian"
                raise FileError(f"{form} {letter} functions have no defined order in this file format") from error
            place = {name.lstrip("-"): n for n, name in enumerate(theirs)}
            first = len(order)
            for name in component_names(l, pure):
                n = place[name]
                order.append(first + n)
                signs.append(-1.0 if theirs[n].startswith("-") else 1.0)
    return tuple(shells), np.array(order, np.intp), np.array(signs)


_NORMALISED = 1e-3
"""Largest deviation of the norm of a contraction from 1, from digits that a file leaves out."""

_patching = threading.Lock()


@contextmanager
def fast_normalisation_test(cell: Reals = _NO_CELL) -> Iterator[None]:
    """Our overlap in place of qc-iodata's slow one, while a file is read; the periodic one where there is a cell."""
    from iodata.formats import molden

    def is_normalized(
        basis: Any, positions: NDArray[np.float64], alpha: NDArray[np.float64], beta: Any, threshold: float = 1e-4
    ) -> bool:
        shells, order, signs = shells_and_order(basis)
        # with images an overlap takes seconds, and dialects differ in norms first
        if len(cell) and np.any(np.abs(contraction_norms(shells) - 1) > _NORMALISED):
            return False
        coefficients = alpha if beta is None else np.hstack([alpha, beta])
        norms = orbital_norms(shells, positions, coefficients[order] * signs[:, None], cell)
        return bool(np.all(np.abs(norms - 1) <= threshold))

    with _patching:
        original = molden._is_normalized_properly
        molden._is_normalized_properly = is_normalized
        try:
            yield
        finally:
            molden._is_normalized_properly = original
