"""Molden files as qc-iodata understands them: without cells, ghosts, core potentials, shells `sp` and others.

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

from ..base.errors import FileError, OrbitileError
from ..model.conventions import n_components
from ..model.core_potentials import gth_charges
from ..model.elements import SYMBOLS
from ..model.geometry import FARTHEST
from ..model.units import angstrom
from ..model.wavefunction import SMALLEST_CELL


def sections_of(data: bytes) -> list[tuple[str, int, int]]:
    """Names of the sections in small letters, and where their lines begin and end."""
    headings: list[tuple[str, int, int]] = []  # and where their own lines begin and end
    bracket = data.find(b"[")
    while bracket >= 0:  # an expression would look at every line
        start = data.rfind(b"\n", 0, bracket) + 1
        newline = data.find(b"\n", bracket)
        end = len(data) if newline < 0 else newline + 1
        name, closed, _ = data[bracket + 1 : end].partition(b"]")
        if closed and not data[start:bracket].strip():
            headings.append((name.decode("latin-1").strip().lower(), start, end))
        bracket = data.find(b"[", end)
    ends = [*(start for _, start, _ in headings[1:]), len(data)]
    return [(name, begin, end) for (name, _, begin), end in zip(headings, ends, strict=False)]


def without_empty_lines(text: bytes) -> bytes | None:
    """A section without the empty lines above its last line, at which it would end; None where there is none."""
    filled = b"\n" + text.rstrip()
    letters = np.frombuffer(filled, np.uint8)
    ends = np.flatnonzero(letters[1:] == ord("\n"))
    # an expression takes as long as a tenth of all the rest; it is for lines that are empty or end with blanks
    if not np.any(letters[ends] <= ord(" ")) or re.search(rb"\n[ \t\r]*\n", filled) is None:
        return None
    return b"".join(line for line in text.splitlines(keepends=True) if line.strip())


def orbitals(text: bytes) -> bytes | None:
    """The orbitals without empty lines between them, or None where there is none.

    What stands between two orbitals may be half of another one: its energy must not be taken for that of the next.
    """
    filled = without_empty_lines(text)
    if filled is None:
        return None
    keys = [line.partition(b"=")[0].strip().lower() for line in filled.splitlines() if b"=" in line]
    counts = {key: keys.count(key) for key in (b"ene", b"spin", b"occup")}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{number} of {key.decode().capitalize()}=" for key, number in counts.items())
        raise FileError(
            f"[MO]: expected one energy, spin and occupation for each orbital, got {told}; recompute the file"
        )
    return filled


_FEW_DIGITS = 5
"""Digits of coefficients behind the point below which norms are off by more than rounding may explain."""


def why_not_normalised(data: bytes) -> str:
    """Why the orbitals of a file may not be normalised though it is sound, in part of a sentence; empty where unknown.

    CP2K writes three digits unless it is told to write more, and no cell unless it is told to.
    """
    at = data.lower().find(b"[mo]")
    written = (
        re.findall(rb"^[ \t]*\d+[ \t]+[-+]?\d*\.(\d+)", data[at : at + _LOOKED_AT], re.MULTILINE) if at >= 0 else []
    )
    digits = max(map(len, written), default=_FEW_DIGITS)
    if digits < _FEW_DIGITS:
        return (
            f"its coefficients have {digits} digits behind the point, too few to tell; let it be written with more "
            "(NDIGITS 9 of CP2K's MO_MOLDEN)"
        )
    if is_of_cp2k(data) and b"[cell]" not in data[:at].lower():
        return (
            "of a periodic system, as this file of CP2K may be, it needs the cell: WRITE_CELL of CP2K's MO_MOLDEN, or "
            "a section [Cell] with the three vectors in Angstrom"
        )
    return ""


def is_of_cp2k(data: bytes) -> bool:
    """Whether a file begins as those of CP2K do, which are indented by one blank."""
    return data.lstrip(b"\r\n").startswith(b" [Molden Format]")


_LOOKED_AT = 1 << 16
"""Bytes of the orbitals whose digits are counted."""


def of_both_spins(data: bytes) -> bytes:
    """The file; of two files in one that have the orbitals of one spin each, as of Molpro, one file with both."""
    sections = list(sections_of(data))
    spins = _spins(data, sections)
    if spins == {b"b"}:
        raise OrbitileError("its orbitals are those of spin beta alone; those of spin alpha are not in the file")
    if [name for name, _, _ in sections].count("mo") < 2:
        return data
    starts = [data.rfind(b"[", 0, start) for name, start, _ in sections if name == "molden format"]
    if len(starts) < 2:
        raise OrbitileError("it has several sections [MO]; keep the one that is wanted")
    first, second = (data[starts[0] : starts[1]], data[starts[1] :])
    parts = [list(sections_of(part)) for part in (first, second)]
    if len(starts) == 2 and [_spins(*one) for one in zip((first, second), parts, strict=True)] == [{b"a"}, {b"b"}]:
        same = [
            [part[start:end] for name, start, end in found if name in ("atoms", "gto")]
            for part, found in zip((first, second), parts, strict=True)
        ]
        if same[0] == same[1]:
            (_, alpha), (start, end) = (next(at for name, *at in found if name == "mo") for found in parts)
            return first[:alpha] + second[start:end] + first[alpha:]
    raise OrbitileError(
        f"it is {len(starts)} Molden files one after another; each starts at a line [Molden Format]: keep the one that "
        "is wanted in a file of its own"
    )


def _spins(data: bytes, sections: list[tuple[str, int, int]]) -> set[bytes]:
    """First letters of the spins of the orbitals."""
    found = (re.findall(rb"^[ \t]*spin[ \t]*=[ \t]*([ab])", data[start:end].lower(), re.MULTILINE)
             for name, start, end in sections if name == "mo")  # fmt: skip
    return {letter for letters in found for letter in letters}


PURE = {"5d": "df", "5d7f": "df", "5d10f": "d", "7f": "f", "9g": "gh", "5d7f9g": "dfgh", "5d7f9g11h": "dfgh"}
"""Sections that say which functions are pure, and letters of these."""

_SHELL = re.compile(rb"^[ \t]*(sp|[spdfghi])[ \t]+\d+[^\n]*$", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class Functions:
    """The basis functions of a file.

    Attributes
    ----------
    shells : str
        Letters of all shells; those of a shell `sp` one after the other.
    pure : str
        Letters of those with pure functions.
    headings : bytes or None
        What says so in the words of qc-iodata, in place of what the file says; None where it will do.
    """

    shells: str
    pure: str
    headings: bytes | None

    @property
    def number(self) -> int:
        """Number of basis functions."""
        return _n_functions(self.shells, self.pure)


def functions_of(data: bytes, sections: list[tuple[str, int, int]]) -> Functions:
    """The basis functions as the orbitals have them.

    Some programs leave out which functions are pure, or say so of Cartesian ones too. Where all orbitals have as many
    coefficients as there would be with all functions pure, or all Cartesian, and not as many as the file says, that is
    taken; whether it was right, the overlap of the orbitals shows.
    """
    shells = "".join(
        found[1].decode().lower()
        for name, start, end in sections
        if name == "gto"
        for found in _SHELL.finditer(data, start, end)
    )
    said = [name for name, _, _ in sections if name in PURE]
    declared = "".join(PURE[name] for name in said)
    pure = declared
    if set(shells) & set("dfgh"):
        n = _n_coefficients(data, sections)
        fitting = (letters for letters in (declared, "dfgh", "") if n == _n_functions(shells, letters))
        pure = next(fitting, declared)
    if pure == declared and not any("d7f9g" in name for name in said):
        return Functions(shells, pure, None)
    return Functions(shells, pure, b"[5D]\n[9G]\n" if pure else b"")


def _n_functions(shells: str, pure: str) -> int:
    return sum(shells.count(letter) * n_components(l, letter in pure) for l, letter in enumerate("spdfghi"))


def _n_coefficients(data: bytes, sections: list[tuple[str, int, int]]) -> int | None:
    """Coefficients of each orbital; None where they have different numbers of them."""
    text = next((data[start:end] for name, start, end in sections if name == "mo"), b"").rstrip()
    filled = without_empty_lines(text)
    text = text if filled is None else filled.rstrip()
    n_orbitals = len(_OCCUPATION.findall(text))
    n_lines = text.count(b"\n") + 1 - text.count(b"=")
    return n_lines // n_orbitals if n_orbitals and n_lines % n_orbitals == 0 else None


_OCCUPATION = re.compile(rb"^[ \t]*occup[ \t]*=", re.MULTILINE | re.IGNORECASE)


def filled_up(text: bytes, n_functions: int) -> bytes | None:
    """The orbitals with all their coefficients, or None where none is missing.

    Those that are zero, to the digits of the others, may be left out, as CP2K does; qc-iodata counts lines.

    Raises
    ------
    FileError
        When the number of a coefficient is not that of a basis function.
    """
    n_lines, n_keys = text.count(b"\n") + (not text.endswith(b"\n")), text.count(b"=")
    n_orbitals = len(_OCCUPATION.findall(text))
    if n_lines - n_keys >= n_orbitals * n_functions:
        return None
    if n_orbitals * n_functions > _MOST_COEFFICIENTS:
        raise FileError(f"[MO]: expected {_MOST_COEFFICIENTS} coefficients at most, got {n_orbitals * n_functions}")
    result: list[bytes] = []
    values: dict[int, bytes] | None = None

    def finish() -> None:
        if values is not None:
            result.extend(b"%d %s\n" % (n, values.get(n, b"0.0")) for n in range(1, n_functions + 1))

    for line in text.splitlines():
        if b"=" in line:
            finish()
            values = None
            result.append(line + b"\n")
            continue
        number, _, value = line.strip().partition(b" ")
        if not number:
            continue
        if not number.isdigit() or not 1 <= int(number) <= n_functions:
            raise FileError(f"[MO]: expected a coefficient of one of {n_functions} functions, got {line[:40]!r}")
        values = {} if values is None else values
        values[int(number)] = value
    finish()
    return b"".join(result)


_MOST_COEFFICIENTS = 1 << 28
"""Coefficients of all orbitals, at most: 2 GiB."""


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
