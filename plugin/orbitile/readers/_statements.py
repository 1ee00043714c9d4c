"""What files for qc-iodata state that it passes over: charge, multiplicity, electrons, charges of nuclei.

They are looked up before it reads a file. Where a statement keeps it from reading the file at all (ghosts, core
potentials), it is given a copy without that. Of Molden files such are cells, ghosts, core potentials, shells `sp`,
headings, units, empty lines, exponents with a small d, coefficients that are left out, and files one after another in
one; what they say of the atoms is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import FileError, OrbitileError
from ..model.conventions import n_components
from ..model.core_potentials import gth_charges
from ..model.elements import SYMBOLS
from ..model.geometry import FARTHEST
from ..model.units import angstrom
from ..model.wavefunction import SMALLEST_CELL, Stated

_NOTHING = Stated()


@dataclass(frozen=True, eq=False)
class Statements:
    """What a file states beside its orbitals.

    Attributes
    ----------
    whole : Stated
        Of the molecule.
    numbers : ndarray of int, shape (n_atoms,), or None
        Elements, 0 for ghosts; None for those that qc-iodata finds.
    charges : tuple of ndarray, shape (n_atoms,)
        Core charges as the file may be understood, what it says most plainly first; empty for those of qc-iodata.
    copy : bytes or None
        The file as qc-iodata is to see it, where that is not the file itself.
    cells : tuple of ndarray, shape (3, 3)
        Vectors of the cell in bohr as the file may be understood, the likelier first; none for a molecule.
    remarks : tuple of str
        What does not go together in the file, a sentence each.
    """

    whole: Stated = _NOTHING
    numbers: NDArray[np.int64] | None = None
    charges: tuple[Reals, ...] = ()
    copy: bytes | None = None
    cells: tuple[Reals, ...] = ()
    remarks: tuple[str, ...] = ()


def statements(format_name: str, data: bytes) -> Statements:
    """Look up what a file states.

    Raises
    ------
    FileError
        When it is damaged in a way that qc-iodata would not notice, or its electron counts contradict each other.
    OrbitileError
        When its orbitals are of a kind that is not read.
    """
    reader = _READERS.get(format_name)
    return Statements() if reader is None else reader(data)


def _number_after(pattern: bytes, data: bytes) -> float | None:
    """The number that follows the first match of a pattern at the beginning of a line; None where there is none."""
    found = re.search(rb"^[ \t]*" + pattern + rb"\s*([-+.\dEeDd]+)", data, re.MULTILINE)
    try:
        return None if found is None else float(found[1].replace(b"D", b"E").replace(b"d", b"e"))
    except ValueError:
        return None


def _whole(number: float | None) -> int | None:
    return None if number is None else round(number)


def _kinetic(energy: float | None, ratio: float | None) -> float | None:
    """Kinetic energy T of a total energy T + V and a virial ratio -V/T; None where programs leave 0 or 2 for that."""
    if energy is None or ratio is None or ratio in (0.0, 1.0, 2.0):
        return None
    kinetic = energy / (1 - ratio)
    return kinetic if 0 < kinetic < np.inf else None


# Formatted checkpoint files ---------------------------------------------------------------------------------------

_FIELD = re.compile(rb"(?=\S)(.{40})[ ]{3}([IRCL])(?:   N=)?[ ]+(\S+)[ ]*\r?")
_BASIS = "Number of basis functions"
_OF_VIRIAL = "SCF Energy", "Virial Ratio"
_TYPES = (b"   I   ", b"   R   ", b"   C   ", b"   L   ")


def _fchk(data: bytes) -> Statements:
    values: dict[str, float] = {}
    arrays: dict[str, bytes] = {}
    fields = _fields(data)
    for n, (start, field) in enumerate(fields):
        name = field[1].decode("latin-1").strip()
        if b"N=" not in field[0]:
            if field[2] == b"I":
                values[name] = _integer(name, field[3])
            elif name in _OF_VIRIAL:
                values[name] = float(field[3])
            continue
        if field[2] in (b"I", b"R"):
            if name == "Alpha MO coefficients" and _integer(name, field[3]) > 2 * values.get(_BASIS, np.inf) ** 2:
                raise OrbitileError(
                    "its orbitals are complex or mix the spins (GHF of Gaussian); such orbitals are "
                    "read only from PySCF files"
                )
            end = fields[n + 1][0] if n + 1 < len(fields) else len(data)
            arrays[name] = data[start + field.end() : end]
            _check_array(name, _integer(name, field[3]), arrays[name])
    alpha, beta = values.get("Number of alpha electrons"), values.get("Number of beta electrons")
    electrons, charge = values.get("Number of electrons"), values.get("Charge")
    multiplicity = values.get("Multiplicity")
    if alpha is not None and beta is not None:
        if electrons is not None and alpha + beta != electrons:
            counts = f"{alpha:g} alpha and {beta:g} beta electrons, but {electrons:g} in all"
            raise FileError(f"its electron counts contradict each other: {counts}; so the HOMO is unknown")
        method = next(iter(data.split(b"\n", 2)[1].split()[1:2]), b"") if data.count(b"\n") > 1 else b""
        beta_arrays = (b"\nBeta Orbital Energies  ", b"\nBeta MO coefficients  ")
        if method.upper().startswith(b"U") and not all(heading in data for heading in beta_arrays):
            raise FileError(
                f"it is of an unrestricted calculation ({method.decode('latin-1')}), but its beta orbitals are "
                "missing: cut off, or their heading is damaged"
            )
    for name in ("Alpha Orbital Energies", "Alpha MO coefficients"):
        if name not in arrays:
            raise FileError(
                f"it has no {name!r}: the calculation did not converge, wrote no orbitals, or the heading is damaged"
            )
    if values.get("Number of translation vectors", 0) > 0:
        n_vectors = values["Number of translation vectors"]
        raise OrbitileError(
            f"it is periodic ({n_vectors:g} translation vectors); such systems are read from Molden and TREXIO files"
        )
    independent = values.get("Number of independent functions", values.get("Number of independant functions"))
    kinetic = _kinetic(*map(values.get, _OF_VIRIAL))
    stated = Stated(charge, _whole(multiplicity), alpha, beta, _whole(independent), kinetic=kinetic)
    return Statements(stated, copy=_with_plain_method(data), remarks=_places_of_shells(arrays))


def _with_plain_method(data: bytes) -> bytes | None:
    """The file with method and basis set in one word each, or None where they are: `RHF TD-FC` is two words.

    The second line has 10 characters for the type of the job, 30 for the method and 30 for the basis set.
    """
    start = data.find(b"\n") + 1
    end = data.find(b"\n", start)
    line = data[start:end].rstrip()
    parts = [b"-".join(part.split()) for part in (line[:10], line[10:40], line[40:])]
    if len(line.split()) < 4 or not all(parts):
        return None
    return data[:start] + b" ".join(parts) + data[end:]


_APART = 1e-5
"""Bohr between an atom and its shells, from digits that a program leaves out of one of the two."""


def _places_of_shells(arrays: dict[str, bytes]) -> tuple[str, ...]:
    """A remark where shells of a checkpoint file are elsewhere than the atoms that they belong to: it has both."""
    names = "Current cartesian coordinates", "Coordinates of each shell", "Shell to atom map"
    if not all(name in arrays for name in names):
        return ()
    atoms, shells = (np.array(arrays[name].split(), np.float64).reshape(-1, 3) for name in names[:2])
    owners = np.array(arrays[names[2]].split(), np.int64) - 1
    if len(owners) != len(shells) or owners.min(initial=0) < 0 or owners.max(initial=0) >= len(atoms):
        return ()  # qc-iodata says what is wrong
    apart = np.flatnonzero(~(np.abs(atoms[owners] - shells).max(axis=1, initial=0) <= _APART))
    if not len(apart):
        return ()
    shell, atom = int(apart[0]) + 1, int(owners[apart[0]]) + 1
    return (
        f"shell {shell} of atom {atom} is elsewhere than the atom: a coordinate, or the atom of the shell, is damaged",
    )


def _fields(data: bytes) -> list[tuple[int, re.Match[bytes]]]:
    """Headings and scalars of a checkpoint file, and where they begin."""
    found = {}
    for mark in _TYPES:
        at = data.find(mark)
        while at >= 0:  # an expression would look at every line
            start = data.rfind(b"\n", 0, at) + 1
            end = data.find(b"\n", at)
            end = len(data) if end < 0 else end
            if field := _FIELD.fullmatch(data[start:end]):
                found[start] = field
            at = data.find(mark, end)
    return sorted(found.items())


def _integer(name: str, text: bytes) -> int:
    try:
        return int(text)
    except ValueError:
        raise FileError(f"{name}: expected a whole number, got {text.decode('latin-1')!r}") from None


def _check_array(name: str, n: int, text: bytes) -> None:
    """Refuse an array that has more or fewer values than its heading says: a value or a heading is damaged."""
    # words are parted by white space of ASCII here, and by more than that in qc-iodata, to whom one is then two
    found = len(text.split())
    if found != n and (heading := re.search(rb"\n(?=\S)", text)):  # of a type that is not known here
        text = text[: heading.start()]
        found = len(text.split())
    if found != n or not text.isascii():
        got = f"{found}{'' if text.isascii() else ' with letters between them'}"
        raise FileError(f"{name}: expected {n} numbers, got {got}; a number or the next heading is damaged")


# Others -----------------------------------------------------------------------------------------------------------


def _molekel(data: bytes) -> Statements:
    found = re.search(rb"^\$CHAR_MULT\s+(-?\d+)\s+(-?\d+)", data, re.MULTILINE)
    if found is None:
        return Statements()
    charge, multiplicity = int(found[1]), int(found[2])
    stated = Stated(float(charge), multiplicity)
    rows = [line.split() for line in _block(data, b"$COORD")]
    occupations = [float(word) for name in (b"$OCC_ALPHA", b"$OCC_BETA") for line in _block(data, name)
                   for word in line.split()]  # fmt: skip
    electrons = sum(occupations)
    consistent = sum(int(row[0]) for row in rows) - round(electrons)
    if not occupations or consistent == charge:
        return Statements(stated)
    # qc-iodata knows no core potentials: it is told the charge that the molecule would have without any
    start, end = found.span(1)
    return Statements(stated, copy=data[:start] + str(consistent).encode() + data[end:])


def _block(data: bytes, heading: bytes) -> list[bytes]:
    """Lines between a heading and the next $END."""
    start = data.find(b"\n" + heading)
    end = data.find(b"$END", start)
    return [] if start < 0 or end < 0 else data[start:end].splitlines()[2:]


_WFN_ATOM = re.compile(rb"^([ \t]*)(\S+)(.*\(CENTRE.*CHARGE *=[ ]*)([-+.\dEe]+)[ \t]*\r?$", re.MULTILINE)


_NO_ENERGY = b"\n TOTAL ENERGY =%20s THE VIRIAL(-V/T)=%13s\n" % (b"nan", b"nan")
"""Last line of a wfn file, which some programs leave out."""

_NUMBER = re.compile(rb"[-+]?\d*\.\d*(?:[EeDd][-+]?\d+)?")

_AIMPAC = re.compile(
    rb"^-+ TOP OF INPUT FILE FOR BADER'S AIMPAC PROGRAM -+\s*?\n(.*?)^-+ END OF", re.MULTILINE | re.DOTALL
)
"""A wfn file within the file .dat that GAMESS punches."""

_WFN_ENERGY = re.compile(
    rb"(?:HF|SCF|TOTAL)\s+ENERGY\s*=\s*([-+.\dEeDd]+)\s+(?:THE\s+)?VIRIAL\s*\(-V/T\)\s*=\s*([-+.\dEeDd]+)"
)
"""Of a mean field: energies of other methods do not go with the virial ratio beside them."""


def _wfn(data: bytes) -> Statements:
    within = _AIMPAC.search(data)
    data = data if within is None else within[1]
    end = data.find(b"CENTRE ASSIGNMENTS")
    head = data[: max(end, 0)]
    atoms = list(_WFN_ATOM.finditer(head))
    if not atoms:
        return Statements()
    charges = np.array([float(atom[4]) for atom in atoms])
    parts, at = [], 0
    for n, (atom, charge) in enumerate(zip(atoms, charges.tolist(), strict=True), 1):
        line, numbers = atom[0].rstrip(), atom[3].partition(b")")[2].split()[:3]
        columns = [line[first : first + 12].strip() for first in (24, 36, 48)]
        # the name of a ghost is no element's, and nothing needs it; some programs write other columns
        if charge == 0 or (len(numbers) == 3 and columns != numbers and all(map(_NUMBER.fullmatch, numbers))):
            name = b"H" if charge == 0 else atom[2]
            row = b"%8b    (CENTRE%3d) %12b%12b%12b" % (b"%-4b%4d" % (name[:4], n), n, *(numbers or columns))
            parts += [head[at : atom.start()], row, b"  CHARGE = ", atom[4]]
            at = atom.end(4)
    last_line = data[data.rfind(b"END DATA") :]
    if last_line.startswith(b"END DATA") and b"ENERGY" not in last_line:
        parts, at = [*parts, data[at:].rstrip(), _NO_ENERGY], len(data)
    copy = b"".join([*parts, data[at:]]) if parts or within else None
    last = _WFN_ENERGY.search(data, max(len(data) - 4096, 0))
    numbers = (None, None) if last is None else (float(word.replace(b"D", b"E")) for word in last.groups())
    return Statements(Stated(kinetic=_kinetic(*numbers)), charges=(charges,), copy=copy)


_END_BEHIND = re.compile(rb"^([^<\n]*[^<\s])[ \t]*(</[^>\n]+>)", re.MULTILINE)
"""The end of a section of a wfx file in the line of its last numbers."""

_EMPTY_BETWEEN = re.compile(rb"(</[^>\n]*>[ \t]*\r?\n)\s+")
"""Empty lines below the end of a section of a wfx file."""


def _wfx(data: bytes) -> Statements:
    def value(tag: bytes) -> float | None:
        return _number_after(b"<" + tag + b">", data)

    begin = data.find(b"<")  # ORCA writes a banner above
    plain = _END_BEHIND.sub(rb"\1\n\2", _CORE_DENSITY.sub(b"", data[max(begin, 0) :]))
    plain = _EMPTY_BETWEEN.sub(rb"\1", plain)
    found = re.search(rb"<Nuclear Charges>([^<]*)<", data)
    charges = () if found is None else (np.array([float(word) for word in found[1].split()]),)
    return Statements(
        Stated(
            value(b"Net Charge"),
            _whole(value(b"Electronic Spin Multiplicity")),
            value(b"Number of Alpha Electrons"),
            value(b"Number of Beta Electrons"),
            kinetic=_kinetic(value(rb"Energy\s+= [^>]*"), value(rb"Virial Ratio [^>]*")),
        ),
        charges=charges,
        copy=plain if plain != data else None,
    )


_CORE_DENSITY = re.compile(
    rb"^<Additional Electron Density Function \(EDF\)>.*?^</Additional Electron Density Function \(EDF\)>[^\n]*\n?",
    re.MULTILINE | re.DOTALL,
)
"""Section of a wfx file with the density of the electrons in core potentials, which are those of no orbital."""


_MWFN_GHOST = re.compile(rb"^([ \t]*\d+[ \t]+)(\S+[ \t]+)0([ \t]+0*\.0*[ \t])", re.MULTILINE)


def _mwfn(data: bytes) -> Statements:
    charge, alpha, beta = (_number_after(name + b" *=", data) for name in (b"Charge", b"Naelec", b"Nbelec"))
    stated = Stated(charge, None, alpha, beta)
    end = data.find(b"# Basis function")
    head = data[: max(end, 0)]
    plain = _MWFN_GHOST.sub(rb"\g<1>\g<2>1\g<3>", head)
    return Statements(stated, copy=plain + data[len(head) :] if plain != head else None)


# ---- Molden files


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
    if not _may_have_empty_lines(text) or re.search(rb"\n[ \t\r]*\n", b"\n" + text.rstrip()) is None:
        return None
    return b"".join(line for line in text.splitlines(keepends=True) if line.strip())


def _may_have_empty_lines(text: bytes) -> bool:
    """Whether some line above the last one is empty or ends with a blank.

    An expression takes as long as a tenth of all the rest; it is for such lines.
    """
    letters = np.frombuffer(text, np.uint8)
    filled = len(text.rstrip(b" \t\r\n"))
    if text[:1] == b"\n":
        return True
    for start in range(0, filled, _PIECE):
        ends = np.flatnonzero(letters[start + 1 : min(start + 1 + _PIECE, filled)] == ord("\n"))
        if np.any(letters[start + ends] <= ord(" ")):
            return True
    return False


_PIECE = 1 << 18
"""Bytes that are looked at together: few enough for the cache of a processor."""


def orbitals(text: bytes, n_functions: int) -> bytes | None:
    """The orbitals with all their coefficients and no empty lines between them, or None where they are so.

    What stands between two orbitals may be half of another one: its energy must not be taken for that of the next.
    """
    if (complete := filled_up(text, n_functions)) is not None:
        return complete
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
        raise OrbitileError("it has several sections [MO]; keep the one to read")
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
    raise OrbitileError(f"it is {len(starts)} Molden files one after another; put the one to read into its own file")


def _spins(data: bytes, sections: list[tuple[str, int, int]]) -> set[bytes]:
    """First letters of the spins of the orbitals."""
    stated = (pair for name, start, end in sections if name == "mo" for pair in _stated(data, start, end))
    return {value[:1] for key, value in stated if key.endswith(b"spin")} & {b"a", b"b"}


def _stated(data: bytes, start: int, end: int) -> Iterator[tuple[bytes, bytes]]:
    """What is before and behind each "=" between two places, a few letters of it, small ones: orbitals have few."""
    at = data.find(b"=", start, end)
    while at >= 0:
        yield data[max(at - _LETTERS, start) : at].rstrip(b" \t").lower(), data[at + 1 : at + _LETTERS].lstrip().lower()
        at = data.find(b"=", at + 1, end)


_LETTERS = 16


PURE = {"5d": "df", "5d7f": "df", "5d10f": "d", "7f": "f", "9g": "gh", "5d7f9g": "dfgh", "5d7f9g11h": "dfgh"}
"""Sections that say which functions are pure, and letters of these."""

_SHELL = re.compile(rb"^[ \t]*(sp|[spdfghi])[ \t]+\d+[^\n]*$", re.MULTILINE | re.IGNORECASE)


def functions_of(data: bytes, sections: list[tuple[str, int, int]]) -> tuple[int, bytes | None]:
    """Number of basis functions as the orbitals have them, and the headings that say which of them are pure.

    Some programs leave out which functions are pure, or say so of Cartesian ones too. Where all orbitals have as many
    coefficients as there would be with all functions pure, or all Cartesian, and not as many as the file says, that is
    taken; whether it was right, the overlap of the orbitals shows. The headings are in the words of qc-iodata, and take
    the place of those of the file; None where these will do.
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
    will_do = pure == declared and not any("d7f9g" in name for name in said)
    return _n_functions(shells, pure), None if will_do else b"[5D]\n[9G]\n" if pure else b""


def _n_functions(shells: str, pure: str) -> int:
    return sum(shells.count(letter) * n_components(l, letter in pure) for l, letter in enumerate("spdfghi"))


def _n_coefficients(data: bytes, sections: list[tuple[str, int, int]]) -> int | None:
    """Coefficients of each orbital; None where they have different numbers of them."""
    text = next((data[start:end] for name, start, end in sections if name == "mo"), b"").rstrip()
    filled = without_empty_lines(text)
    text = text if filled is None else filled.rstrip()
    n_orbitals = _n_occupations(text)
    n_lines = text.count(b"\n") + 1 - text.count(b"=")
    return n_lines // n_orbitals if n_orbitals and n_lines % n_orbitals == 0 else None


def _n_occupations(text: bytes) -> int:
    """Orbitals of a section."""
    return sum(key.endswith(b"occup") for key, _ in _stated(text, 0, len(text)))


def filled_up(text: bytes, n_functions: int) -> bytes | None:
    """The orbitals with all their coefficients, or None where none is missing.

    Those that are zero, to the digits of the others, may be left out, as CP2K does; qc-iodata counts lines.

    Raises
    ------
    FileError
        When the number of a coefficient is not that of a basis function.
    """
    n_lines, n_keys = text.count(b"\n") + (not text.endswith(b"\n")), text.count(b"=")
    n_orbitals = _n_occupations(text)
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


def _molden(data: bytes) -> Statements:
    """What a Molden file says of its nuclei, and a copy for qc-iodata where it does not understand the file itself.

    Elements are known by the names of the atoms, core charges by the sections that tell of core potentials, where there
    are any, and by the third column of `[Atoms]`, which is the atomic number by definition and the core charge in files
    of some programs; of CP2K's files without such sections with its usual potentials too. Nothing is stated where
    `[Atoms]` cannot be understood.

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
    changes: list[tuple[int, int, bytes]] = []
    names: list[str] = []
    column: list[float] = []
    stated: dict[int, float] = {}
    cells: tuple[Reals, ...] = ()
    n_functions, kinds = functions_of(data, sections)
    rewritten: dict[str, Callable[[bytes], bytes | None]] = {
        "gto": _basis,
        "mo": partial(orbitals, n_functions=n_functions),
    }
    for n, (name, start, end) in enumerate(sections):
        heading = data.rfind(b"\n", 0, max(start - 1, 0)) + 1
        if n == 0 and name == "molden format" and data[:start].strip() != _HEADER:
            changes.append((0, start, _HEADER + b"\n"))
        elif name == "title" and start == end:
            changes.append((start, end, b"\n"))
        elif name in PURE and kinds is not None:
            changes.append((heading, start, b""))
        elif name == "gto" and kinds is not None:
            changes.append((heading, heading, kinds))
        if name == "cell":
            cells = _cells(data[data.rfind(b"[", 0, start) : start], data[start:end])
        elif name == "atoms":
            names, column, text = _atoms(data[start:end])
            if text is not None:
                changes.append((start, end, text))
        elif name == "gto" and re.fullmatch(rb"\[gto\]\s+\(?au\)?", data[heading:start].strip().lower()):
            changes.append((heading, start, b"[GTO]\n"))
        if name in rewritten and (text := rewritten[name](data[start:end])) is not None:
            changes.append((start, end, text))
    if not names:
        return Statements()
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
                expected = f"a core charge from 0 (a ghost) to {numbers[atom]}"
                raise FileError(
                    f"core potential of atom {atom + 1} ({names[atom]}): expected {expected}, got {charge:g}"
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
    return Statements(numbers=numbers, charges=tuple(charges), copy=copy, cells=cells)


_HEADER = b"[Molden Format]"
"""First line as qc-iodata wants it; some programs write it in capital letters, or something above it."""


def _cells(heading: bytes, text: bytes) -> tuple[Reals, ...]:
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
        got = text.decode("latin-1")[:80]
        raise FileError(f"[Cell]: expected three lines of three numbers, the vectors of a cell, got {got!r}")
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
            expected = f"an atom from 1 to {len(names)} and a number"
            raise FileError(f"[{section}]: expected {expected}, got {line!r}") from None
    return result


_READERS = {"molden": _molden, "fchk": _fchk, "molekel": _molekel, "wfn": _wfn, "wfx": _wfx, "mwfn": _mwfn}
