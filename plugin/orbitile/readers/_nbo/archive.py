"""NBO archives (.47): what a program hands to NBO, in sections from `$NAME` to `$END`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import FileError
from ...files.reading import check_room, numbers_in_text
from ...model.elements import SYMBOLS
from ...model.units import angstrom, electronvolt
from .basis import HIGHEST, Basis, Primitives, shells_of, within_reach
from .plot_files import symmetric

Reals = NDArray[np.float64]

MARK = "$gennbo"

_COUNT = re.compile(r"\b(NATOMS|NBAS)\s*=\s*(\d{1,9})", re.IGNORECASE)
_LISTS = re.compile(r"\b([A-Z]+)\s*=\s*([^=$]*?)(?=\s*\b[A-Z]+\s*=|\s*$)", re.IGNORECASE)
_OVERLAP = 1e-3
"""Largest deviation of the overlaps in the file from those of its basis set: some programs write six digits of its
exponents."""


@dataclass(frozen=True, eq=False)
class Archive:
    """An archive; matrices in our order and norms of the basis functions.

    Attributes
    ----------
    basis : Basis
    overlap : ndarray, shape (n_basis, n_basis)
        Of the basis functions.
    densities : list of ndarray, shape (n_basis, n_basis)
        Density matrix, or one of each spin; empty where the file has none.
    focks : list of ndarray, shape (n_basis, n_basis)
        Fock matrices in hartree, likewise.
    orbitals : list of ndarray, shape (n_basis, n_orbitals)
        Coefficients of the molecular orbitals, likewise.
    open_shell : bool
        Whether there are two spins.
    """

    basis: Basis
    overlap: Reals
    densities: list[Reals]
    focks: list[Reals]
    orbitals: list[Reals]
    open_shell: bool


def read_archive(path: Path) -> Archive:
    """Read an archive.

    Raises
    ------
    FileError
        When it is damaged, lacks the basis set, or its overlaps are not those of the basis set.
    """
    name, sections = path.name, _sections(path)
    head = sections.get("GENNBO", "")
    options = set(re.sub(r"\S+\s*=\s*\d+", " ", head).upper().split())
    counts = {key.upper(): int(value) for key, value in _COUNT.findall(head)}
    n_atoms, n = counts.get("NATOMS", 0), counts.get("NBAS", 0)
    for number, what in ((n_atoms, "NATOMS"), (n, "NBAS")):
        if number < 1:
            raise FileError(f"{name}: expected {what} in $GENNBO, got none")
        check_room(name, number, path.stat().st_size, 2, what)
    for section in ("COORD", "BASIS", "CONTRACT"):
        if section not in sections:
            raise FileError(f"{name}: this archive has no ${section}, so its basis set is not known")
    if "ORTHO" in options:
        raise FileError(f"{name}: its basis functions are orthogonal ones (ORTHO), which cannot be drawn")
    basis = _basis(name, sections, n_atoms, n, 1.0 if "BOHR" in options else angstrom)
    if "CUBICF" in options and any(shell.angular_momentum == 3 and shell.pure for shell in basis.shells):
        raise FileError(f"{name}: cubic f functions (CUBICF) are not supported")

    ours = basis.overlap()
    values = {
        key: _numbers(name, key, sections[key]) for key in ("OVERLAP", "DENSITY", "FOCK", "LCAOMO") if key in sections
    }
    open_shell, norms = "OPEN" in options, np.ones(n)
    if "OVERLAP" in values:
        overlap = symmetric(values["OVERLAP"], n, name, "$OVERLAP")
        candidates = basis, basis.with_signs_of_orca()
        basis = min(candidates, key=lambda one: float(np.abs(one.of_matrix(overlap) - ours).max()))
        norms = _norms(name, ours, basis.of_matrix(overlap))

    def matrices(key: str, scale: Reals) -> list[Reals]:
        if key not in values:
            return []
        parts = np.array_split(values[key], 2) if open_shell else [values[key]]
        return [basis.of_matrix(symmetric(part, n, name, f"${key}")) * np.outer(scale, scale) for part in parts]

    densities = matrices("DENSITY", norms)
    if "BODM" not in options and densities:  # its elements are then <i|rho|j>
        inverse = np.linalg.pinv(ours, hermitian=True)
        densities = [inverse @ (matrix / np.outer(norms, norms) ** 2) @ inverse for matrix in densities]
    unit = electronvolt if "EV" in options else 1.0
    focks = [unit * matrix for matrix in matrices("FOCK", 1 / norms)]
    found = _orbitals(name, values.get("LCAOMO"), n, open_shell)
    orbitals = [basis.of_orbitals(those) * norms[:, None] for those in found]
    return Archive(basis, ours, densities, focks, orbitals, open_shell)


def _sections(path: Path) -> dict[str, str]:
    text = path.read_text(encoding="utf-8", errors="replace")
    found: dict[str, str] = {}
    at = 0
    while (begin := text.find("$", at)) >= 0:
        word = re.match(r"\$(\w+)", text[begin : begin + 40])
        if word is None or word[1].upper() == "END":
            at = begin + 1
            continue
        end = re.compile(r"\$END\b", re.IGNORECASE).search(text, begin)
        if end is None:
            raise FileError(f"{path.name}: ${word[1]} has no $END: the file is cut off")
        found.setdefault(word[1].upper(), text[begin + len(word[0]) : end.start()])
        at = end.end()
    return found


def _numbers(name: str, key: str, text: str) -> Reals:
    return numbers_in_text(text.replace(",", " ").encode(), f"{name}, ${key}", 1)


def _basis(name: str, sections: dict[str, str], n_atoms: int, n: int, unit: float) -> Basis:
    title, _, rows = sections["COORD"].lstrip(" \t").removeprefix("\n").partition("\n")
    atoms = numbers_in_text(rows.encode(), f"{name}, $COORD", 1)
    if len(atoms) != 5 * n_atoms:
        raise FileError(f"{name}: expected {n_atoms} atoms with numbers, charges and coordinates in $COORD")
    atoms = atoms.reshape(-1, 5)
    if np.any(atoms[:, 0] != np.round(atoms[:, 0])) or not -1 <= atoms[:, 0].max() < len(SYMBOLS):
        raise FileError(f"{name}: expected atomic numbers below {len(SYMBOLS)}, got {atoms[:, 0].max():g}")
    functions, contract = _lists(name, sections["BASIS"]), _lists(name, sections["CONTRACT"])
    for key in ("CENTER", "LABEL"):
        if len(functions.get(key, ())) != n:
            raise FileError(f"{name}: expected {n} numbers {key} in $BASIS, got {len(functions.get(key, ()))}")
    n_shells, n_primitives = (
        int(contract[key][0]) if len(contract.get(key, ())) == 1 else 0 for key in ("NSHELL", "NEXP")
    )
    components, counts, begins = (_whole(name, contract, key, n_shells) for key in ("NCOMP", "NPRIM", "NPTR"))
    letters = [f"C{letter}" for letter in "SPDFGHI"[: HIGHEST + 1]]
    lists = [contract.get(key, np.zeros(n_primitives)) for key in ("EXP", *letters)]
    if (
        n_primitives < 1
        or any(len(one) != n_primitives for one in lists)
        or sum(components) != n
        or min(components) < 1
    ):
        raise FileError(f"{name}: the lists in $CONTRACT are not those of {n_shells} shells, {n_primitives} primitives")
    ends = np.cumsum(components)
    centres, labels = _whole(name, functions, "CENTER", n), _whole(name, functions, "LABEL", n)
    of_shells = [slice(int(end) - count, int(end)) for end, count in zip(ends, components, strict=True)]
    if any(len(set(centres[those])) != 1 for those in of_shells):
        raise FileError(f"{name}: a shell of $CONTRACT has functions on several atoms in $BASIS")
    shells, order = shells_of(
        name,
        [centres[those][0] for those in of_shells],
        [labels[those] for those in of_shells],
        list(zip(begins, counts, strict=True)),
        Primitives(lists[0], lists[1:]),
        n_atoms,
    )
    numbers = np.maximum(atoms[:, 0], 0).astype(np.int64)
    return Basis(
        title.strip(), numbers, atoms[:, 1], within_reach(name, atoms[:, 2:] * unit), shells, order, np.ones(n)
    )


def _lists(name: str, text: str) -> dict[str, Reals]:
    return {key.upper(): numbers_in_text(values.encode(), f"{name}, {key}", 1) for key, values in _LISTS.findall(text)}


def _whole(name: str, lists: dict[str, Reals], key: str, n: int) -> list[int]:
    found = lists.get(key, np.empty(0))
    if len(found) != n or n < 1 or np.any(found != np.round(found)) or np.abs(found).max() > 1e9:
        raise FileError(f"{name}: expected {n} whole numbers {key}, got {len(found)} numbers")
    return [int(value) for value in found]


def _norms(name: str, ours: Reals, theirs: Reals) -> Reals:
    """Roots of the squares of the functions of the file with themselves, once its overlaps are seen to be ours."""
    squares = np.diagonal(theirs)
    if not np.all(squares > 0):
        raise FileError(f"{name}: $OVERLAP has a basis function without a norm")
    norms = np.sqrt(squares)
    deviation = np.abs(theirs / np.outer(norms, norms) - ours)
    if not deviation.max() <= _OVERLAP:
        i, j = np.unravel_index(int(deviation.argmax()), deviation.shape)
        raise FileError(
            f"{name}: the overlap of two basis functions is {ours[i, j]:.5f} by $BASIS and $CONTRACT, and "
            f"{theirs[i, j] / norms[i] / norms[j]:.5f} by $OVERLAP: order, signs or norms of its "
            "functions are unknown"
        )
    return norms


def _orbitals(name: str, values: Reals | None, n: int, open_shell: bool) -> list[Reals]:
    """Coefficients, one orbital after the other; those of functions that depend on others are zeros, and left out."""
    if values is None:
        return []
    parts = np.array_split(values, 2) if open_shell and len(values) % (2 * n) == 0 else [values]
    if any(len(part) % n or not 0 < len(part) <= n * n for part in parts):
        raise FileError(f"{name}: $LCAOMO has {len(values)} numbers, expected {n} of each orbital")
    matrices = [part.reshape(-1, n).T for part in parts]
    return [matrix[:, np.abs(matrix).max(axis=0) > 0] for matrix in matrices]
