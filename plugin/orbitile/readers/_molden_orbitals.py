"""Orbitals in Molden files: as qc-iodata understands them, and why they may not be normalised.

Some files leave out coefficients that are small, have empty lines between them, or are two files in one, each
of one spin.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ..errors import FileError, OrbitileError
from ..model.conventions import n_components


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
