"""What files for qc-iodata state that it passes over: charge, multiplicity, electrons, charges of nuclei.

They are looked up before it reads a file. Where a statement keeps it from reading the file at all (ghosts, core
potentials), it is given a copy without that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError, OrbitileError
from ..model.wavefunction import Stated
from . import _molden as molden_sections

Reals = NDArray[np.float64]


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


def _molden(data: bytes) -> Statements:
    copy, nuclei = molden_sections.understood(data)
    if nuclei is None:
        return Statements()
    return Statements(Stated(), nuclei.numbers, nuclei.charges, copy, nuclei.cells)


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
                    "its orbitals are complex or mix the spins (GHF of Gaussian); of such only those in checkpoint "
                    "files of PySCF are read"
                )
            end = fields[n + 1][0] if n + 1 < len(fields) else len(data)
            arrays[name] = data[start + field.end() : end]
            _check_array(name, _integer(name, field[3]), arrays[name])
    alpha, beta = values.get("Number of alpha electrons"), values.get("Number of beta electrons")
    electrons, charge = values.get("Number of electrons"), values.get("Charge")
    multiplicity = values.get("Multiplicity")
    if alpha is not None and beta is not None:
        if electrons is not None and alpha + beta != electrons:
            raise FileError(
                f"its electron counts contradict each other: {alpha:g} alpha and {beta:g} beta electrons, but "
                f"{electrons:g} in all; which orbital is the HOMO is therefore unknown"
            )
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
        raise OrbitileError(
            f"it is of a periodic system ({values['Number of translation vectors']:g} translation vectors); of such "
            "only Molden and TREXIO files of CP2K are read"
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
        raise FileError(
            f"{name}: expected {n} numbers, got {found}{'' if text.isascii() else ' with letters between them'}; "
            "a number or the next heading is damaged"
        )


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
    stated = Stated(
        _number_after(rb"Charge *=", data),
        None,
        _number_after(rb"Naelec *=", data),
        _number_after(rb"Nbelec *=", data),
    )
    end = data.find(b"# Basis function")
    head = data[: max(end, 0)]
    plain = _MWFN_GHOST.sub(rb"\g<1>\g<2>1\g<3>", head)
    return Statements(stated, copy=plain + data[len(head) :] if plain != head else None)


_READERS = {
    "molden": _molden,
    "fchk": _fchk,
    "molekel": _molekel,
    "wfn": _wfn,
    "wfx": _wfx,
    "mwfn": _mwfn,
}
