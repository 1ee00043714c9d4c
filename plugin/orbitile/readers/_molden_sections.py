"""Parts of Molden files that qc-iodata does not understand: cells, ghosts, core potentials, shells `sp` and others.

The others are headings, units, empty lines, exponents with a small d, coefficients that are left out, and files one
after another in one. All are looked at before it reads the file; where they are there, it is given a copy that it
understands. What the parts say of the atoms is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from ..model.core_potentials import gth_charges
from ..model.elements import SYMBOLS
from ..model.geometry import FARTHEST
from ..model.units import angstrom
from ..model.wavefunction import SMALLEST_CELL
from ._molden_orbitals import (
    PURE,
    filled_up,
    functions_of,
    is_of_cp2k,
    of_both_spins,
    orbitals,
    sections_of,
    without_empty_lines,
)

_GHOST = re.compile(r"(ghost|gh|bq|du|xx|@).*|[xq]([^a-z].*)?|.*[-_:](bq|gh|ghost)|[a-z]+:")
"""Names of atoms without a nucleus, in small letters: those of PySCF, Gaussian, NWChem, ORCA, Psi4, Molden ..."""

_STANDS_IN = "H"
"""Element that a ghost is called towards qc-iodata."""


@dataclass(frozen=True, eq=False)
class Nuclei:
    """What a Molden file says of its nuclei.

    Attributes
    ----------
    numbers : ndarray of int, shape (n_atoms,)
        Elements by the names of the atoms, 0 for those that are named as ghosts.
    charges : tuple of ndarray, shape (n_atoms,)
        Core charges as the file may be understood: by the sections that tell of core potentials, where there are any,
        and by the third column of `[Atoms]`, which is the atomic number by definition and the core charge in files of
        some programs; of CP2K's files without such sections with its usual potentials too.
    cells : tuple of ndarray, shape (3, 3)
        Vectors of the cell in bohr, as the file may be understood: the likelier first; none for a molecule.
    """

    numbers: NDArray[np.int64]
    charges: tuple[NDArray[np.float64], ...]
    cells: tuple[NDArray[np.float64], ...] = ()


def understood(data: bytes) -> tuple[bytes | None, Nuclei | None]:
    """What a Molden file says of its nuclei, and a copy for qc-iodata where it does not understand the file itself.

    Parameters
    ----------
    data
        The file.

    Returns
    -------
    tuple
        The copy, or None where the file will do; the nuclei, or None where its `[Atoms]` cannot be understood.

    Raises
    ------
    FileError
        When a section is missing, `[Atoms]` names no unit, or a section of core potentials or a cell is damaged.
    OrbitileError
        When several calculations follow one another in the file, or its orbitals are those of spin beta alone.
    """
    whole, data = data, of_both_spins(data)
    sections = list(sections_of(data))
    present = {name for name, _, _ in sections}
    missing = [heading for heading in ("[Atoms]", "[GTO]", "[MO]") if heading[1:-1].lower() not in present]
    if missing and "molden format" in present and "sto" not in present:
        raise FileError(f"it has no section {' and no '.join(missing)}; it is cut off, or still being written")
    rewritten = {"gto": _basis, "mo": orbitals}
    changes: list[tuple[int, int, bytes]] = []
    names: list[str] = []
    column: list[float] = []
    stated: dict[int, float] = {}
    cells: tuple[NDArray[np.float64], ...] = ()
    functions = functions_of(data, sections)
    for n, (name, start, end) in enumerate(sections):
        heading = data.rfind(b"\n", 0, max(start - 1, 0)) + 1
        if n == 0 and name == "molden format" and data[:start].strip() != _HEADER:
            changes.append((0, start, _HEADER + b"\n"))
        elif name == "title" and start == end:
            changes.append((start, end, b"\n"))
        elif name in PURE and functions.headings is not None:
            changes.append((heading, start, b""))
        elif name == "gto" and functions.headings is not None:
            changes.append((heading, heading, functions.headings))
        if name == "cell":
            cells = _cells(data[data.rfind(b"[", 0, start) : start], data[start:end])
        elif name == "atoms":
            names, column, text = _atoms(data[start:end])
            if text is not None:
                changes.append((start, end, text))
        elif name == "gto" and re.fullmatch(rb"\[gto\]\s+\(?au\)?", data[heading:start].strip().lower()):
            changes.append((heading, start, b"[GTO]\n"))
        if name == "mo" and (filled := filled_up(data[start:end], functions.number)) is not None:
            changes.append((start, end, filled))
        elif name in rewritten and (text := rewritten[name](data[start:end])) is not None:
            changes.append((start, end, text))
    if not names:
        return None, None
    numbers = np.array([_number(name) for name in names], np.int64)
    for name, start, end in sections:
        if name in _OF_CORES:
            for atom, value in _entries(data[start:end], name, names):
                stated[atom] = _OF_CORES[name](float(numbers[atom]), value)
    by_column = np.where(numbers == 0, 0.0, column)
    charges = [by_column]
    if stated:
        by_sections = np.where(by_column == 0, 0.0, numbers.astype(float))
        for atom, charge in stated.items():
            if not 0 <= charge <= numbers[atom]:
                raise FileError(
                    f"core potential of atom {atom + 1} ({names[atom]}): expected a core charge from 0 (a ghost) to "
                    f"{numbers[atom]}, got {charge:g}"
                )
            by_sections[atom] = charge
        charges.insert(0, by_sections)
    elif is_of_cp2k(data):
        charges.append(np.where(by_column == 0, 0.0, gth_charges(numbers)))
    copy = None if data is whole else data
    if changes:
        parts, at = [], 0
        for start, end, text in sorted(changes):
            parts += [data[at:start], text]
            at = end
        copy = b"".join([*parts, data[at:]])
    return copy, Nuclei(numbers, tuple(charges), cells)


_HEADER = b"[Molden Format]"
"""First line as qc-iodata wants it; some programs write it in capital letters, or something above it."""


def _cells(heading: bytes, text: bytes) -> tuple[NDArray[np.float64], ...]:
    """Vectors of a cell: in the unit of the heading, as CP2K writes it, or else in Angstrom, as Multiwfn asks for.

    CP2K for some time wrote them in bohr without a unit: so they are understood where nothing else fits.
    """
    rows = [line.split() for line in text.decode("latin-1").splitlines() if line.strip()]
    try:
        vectors = np.array([[float(word) for word in row] for row in rows])
    except ValueError:
        vectors = np.empty(0)
    volume = abs(np.linalg.det(vectors)) if vectors.shape == (3, 3) and np.all(np.abs(vectors) < FARTHEST) else 0.0
    if not volume > SMALLEST_CELL:
        raise FileError(
            f"[Cell]: expected three lines of three numbers, the vectors that span a cell, got "
            f"{text.decode('latin-1')[:80]!r}"
        )
    unit = heading.partition(b"]")[2].strip().lower()
    if unit.startswith(b"au"):
        return (vectors,)
    if unit.startswith(b"angs"):
        return (vectors * angstrom,)
    if unit:
        raise FileError(f"[Cell]: expected the unit AU or Angs, got {unit.decode('latin-1')!r}")
    return vectors * angstrom, vectors


def _number(name: str) -> int:
    """Atomic number by the name of an atom, which may carry a number or a label; 0 for a ghost."""
    lowered = name.lower()
    if _GHOST.fullmatch(lowered):
        return 0
    letters = re.match(r"[a-z]*", lowered)
    symbol = letters[0].capitalize() if letters else ""
    if symbol not in SYMBOLS[1:]:
        raise FileError(f"[Atoms]: expected the symbol of an element or of a ghost, got {name!r}")
    return SYMBOLS.index(symbol)


def _atoms(text: bytes) -> tuple[list[str], list[float], bytes | None]:
    """Names of the atoms and the third column; and the lines with names that qc-iodata knows, where that is needed."""
    names: list[str] = []
    column: list[float] = []
    filled = without_empty_lines(text)
    lines = (text if filled is None else filled).splitlines(keepends=True)
    changed = filled is not None
    for n, line in enumerate(lines):
        words = line.decode("latin-1").split()
        if len(words) != 6:
            break
        name, charge = words[0], float(words[2])
        names.append(name)
        column.append(charge)
        number = _number(name)
        plain = SYMBOLS[number] if number else _STANDS_IN
        if name.title() != plain:
            changed = True
            lines[n] = " ".join([plain, *words[1:]]).encode("latin-1") + b"\n"
    return names, column, b"".join(lines) if changed else None


_SMALL_D = re.compile(rb"(?<=[\d.])d(?=[-+]?\d)")


def _basis(text: bytes) -> bytes | None:
    """The basis set with `D` in its numbers and no shells `sp`, or None where it is so."""
    plain = _SMALL_D.sub(b"D", text)
    return _without_sp(plain) or (None if plain == text else plain)


def _without_sp(text: bytes) -> bytes | None:
    """The basis set with an s and a p shell in place of each shell `sp`, or None where there is none."""
    if not re.search(rb"^[ \t]*sp[ \t]", text, re.MULTILINE | re.IGNORECASE):
        return None
    lines = text.splitlines()
    result: list[bytes] = []
    n = 0
    while n < len(lines):
        words = lines[n].split()
        n += 1
        if not words or words[0].lower() != b"sp" or len(words) < 2:
            result.append(lines[n - 1])
            continue
        rows = [line.split() for line in lines[n : n + int(words[1])]]
        if len(rows) < int(words[1]) or any(len(row) < 3 for row in rows):
            raise FileError("[GTO]: expected an exponent and two coefficients in each line of a shell sp")
        n += int(words[1])
        for letter, place in ((b"s", 1), (b"p", 2)):
            result.append(b" ".join([letter, *words[1:]]))
            result += [row[0] + b" " + row[place] for row in rows]
    return b"\n".join(result) + b"\n"


_OF_CORES: dict[str, Callable[[float, float], float]] = {
    "core": lambda number, value: number - value,
    "pseudo": lambda number, value: value,
    "nval": lambda number, value: value,
}
"""Core charge by atomic number and value: `[Core]` has electrons of the core, the others those of the valence."""


def _entries(text: bytes, section: str, names: list[str]) -> list[tuple[int, float]]:
    """Atoms, from 0, and values of a section of core potentials: `1 : 28`, `I 1 25` or `I 25` for all of an element."""
    result: list[tuple[int, float]] = []
    for line in text.decode("latin-1").splitlines():
        words = re.split(r"[\s:=,]+", line.strip())
        if words == [""]:
            continue
        try:
            *which, value = words
            index = [int(word) for word in which if word.isascii() and word.isdigit()]
            symbols = [word.lower() for word in which if word.isalpha()]
            atoms = [index[0] - 1] if index else [n for n, name in enumerate(names) if name.lower() == symbols[0]]
            if index and not 0 <= atoms[0] < len(names):
                raise IndexError
            result += [(atom, float(value)) for atom in atoms]
        except (ValueError, IndexError):
            raise FileError(
                f"[{section}]: expected an atom from 1 to {len(names)} and a number, got {line!r}"
            ) from None
    return result
